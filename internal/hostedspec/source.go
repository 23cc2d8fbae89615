package hostedspec

import (
	"cmp"
	"path"
	"strings"
)

// Source says where agents keep what they host, and as which account their files are read. An empty field
// means its default.
type Source struct {
	Path, WindowsPath       string
	Account, WindowsAccount string
}

// Defaults of a Source. The root directory of agents differs between platforms.
const (
	DefaultPath           = "/usr/local/gse2_bkte/agent/etc/.proc"
	DefaultWindowsPath    = `c:\gse2_bkte\agent\etc\.proc`
	DefaultAccount        = "root"
	DefaultWindowsAccount = "Administrator"
)

// Run is how the file of a host is read.
type Run struct {
	Name, Dir, Script string // of the script, as it is stored on the host
	Command           string // that runs it there
	Path, Account     string
}

// On returns how the file is read on Windows or other hosts.
func (s Source) On(windows bool) Run {
	if windows {
		r := Run{
			Name: "read_hosted.ps1", Dir: `C:\Windows\Temp\bk_terraform`, Script: PowerShellScript,
			Path: cmp.Or(s.WindowsPath, DefaultWindowsPath), Account: cmp.Or(s.WindowsAccount, DefaultWindowsAccount),
		}
		r.Command = `powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File ` + r.Dir + `\` + r.Name + " " + r.Path
		return r
	}
	r := Run{
		Name: "read_hosted.sh", Dir: "/tmp/bk_terraform", Script: ShellScript,
		Path: cmp.Or(s.Path, DefaultPath), Account: cmp.Or(s.Account, DefaultAccount),
	}
	r.Command = path.Join(r.Dir, r.Name) + " " + r.Path
	return r
}

// IsWindows reports whether path is a Windows path.
func IsWindows(path string) bool {
	return strings.Contains(path, `\`) || len(path) > 1 && path[1] == ':'
}
