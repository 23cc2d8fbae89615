package hostedspec_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
)

func TestScripts_areTheContracts(t *testing.T) {
	t.Parallel()
	if hostedspec.ShellScript != contract.Script("read_hosted.sh") || hostedspec.PowerShellScript != contract.Script("read_hosted.ps1") {
		t.Error("copy the scripts to internal/contract/testdata/script")
	}
	_, list, _ := strings.Cut(hostedspec.ShellScript, `split("`)
	list, _, _ = strings.Cut(list, `"`)
	if keys := strings.ReplaceAll(list, " ", "|"); !strings.Contains(hostedspec.PowerShellScript, "'"+keys+"'") {
		t.Errorf("the scripts print other keys; the shell's are %s", keys)
	}
}

// shells are those of this machine, each with the awks that are there: they are not alike.
func shells(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{"sh": {"sh"}}
	if busybox, err := exec.LookPath("busybox"); err == nil {
		found["busybox"] = []string{"env", "PATH=", busybox, "sh"}
	}
	for _, awk := range []string{"mawk", "gawk", "original-awk"} {
		path, err := exec.LookPath(awk)
		if err != nil {
			continue
		}
		folder := t.TempDir()
		fine(t, os.Symlink(path, filepath.Join(folder, "awk")))
		found[awk] = []string{"env", "PATH=" + folder + ":" + os.Getenv("PATH"), "sh"}
	}
	return found
}

func run(t *testing.T, shell []string, file string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "read_hosted.sh")
	fine(t, os.WriteFile(script, []byte(hostedspec.ShellScript), 0o600))
	out, err := exec.CommandContext(t.Context(), shell[0], append(shell[1:], script, file)...).Output()
	fine(t, err)
	return string(out)
}

func TestShellScript(t *testing.T) {
	t.Parallel()
	const entry = `"valuekey":"ns:web","startCmd":"./start.sh \"a b\" \\","type":1`
	const kept = `{"proc":[{` + entry + `}]}`
	cases := map[string]struct{ file, want string }{
		"as agents write it":      {kept, kept},
		"empty":                   {"", ""},
		"on many lines":           {strings.ReplaceAll(kept, ",", ",\r\n\t "), strings.ReplaceAll(kept, ",", ",\t ")},
		"password":                {`{"proc":[{"password":"canary",` + entry + `}]}`, `{"proc":[{"-":"",` + entry + `}]}`},
		"with blanks":             {`{"userPwd" : "canary" }`, `{"-" : "" }`},
		"on lines of its own":     {"{\"userPwd\"\n:\n\"can\nary\"\n}", `{"-":""}`},
		"with quotes":             {`{"userPwd":"canary\"canary\\\"canary"}`, `{"-":""}`},
		"ends in a backslash":     {`{"userPwd":"canary\\","type":2}`, `{"-":"","type":2}`},
		"number":                  {`{"password":12345678,"cpulmt":-1.5e+2}`, `{"-":0,"cpulmt":-1.5e+2}`},
		"list":                    {`{"password":["canary",12345678,{"type":"x"}]}`, `{"-":["",0,{"type":"x"}]}`},
		"object":                  {`{"password":{"canary":"canary"}}`, `{"-":{"-":""}}`},
		"key in escapes":          {`{"\u0070assword":"canary","p\u0061ssword":"canary"}`, `{"-":"","-":""}`},
		"key in capitals":         {`{"PASSWORD":"canary","user_pwd":"canary"}`, `{"-":"","-":""}`},
		"unknown key":             {`{"token":"canary","nested":{"a":true}}`, `{"-":"","-":{"-":0}}`},
		"list under a known key":  {`{"startCmd":["canary"]}`, `{"startCmd":[""]}`},
		"no colon":                {`{"password" "canary", "password","canary"}`, `{"" "", "",""}`},
		"no quotes":               {`{password:canary,"userPwd":canary}`, `{0:0,"-":0}`},
		"single quotes":           {`{'password':'canary','userPwd':'a"canary"'}`, `{0:0,0:0""0}`},
		"quote before the text":   {`a " {"password":"canary","type":1}`, `0 ""0""0""0`},
		"text around it":          {"canary " + kept + " canary", "0 " + kept + " 0"},
		"ends within a secret":    {`{"proc":[{"type":1,"password":"canary`, `{"proc":[{"type":1,"-":`},
		"ends within a key":       {`{"proc":[{"type":1,"startC`, `{"proc":[{"type":1,`},
		"ends within a command":   {`{"startCmd":"./st`, `{"startCmd":`},
		"UTF-16":                  {"\xff\xfe" + strings.Join(strings.Split(`{"password":"canary","type":1}`, ""), "\x00") + "\x00", `0{"-":"","type":1}`},
		"GBK that escapes":        {"{\"startCmd\":\"\x95\x5c\",\"password\":\"canary\"}", "{\"startCmd\":\"\x95\x5c\",\"0\"\"0"},
		"UTF-8":                   {`{"startCmd":"启动 %s %d"}`, `{"startCmd":"启动 %s %d"}`},
		"secret in a known key's": {`{"startCmd":"x","startCmd" :"y" ,"password":"canary"}`, `{"startCmd":"x","startCmd" :"y" ,"-":""}`},
	}
	for name, shell := range shells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for title, c := range cases {
				file := filepath.Join(t.TempDir(), ".proc")
				fine(t, os.WriteFile(file, []byte(c.file), 0o600))
				got := run(t, shell, file)
				if strings.Contains(got, "canary") || strings.Contains(got, "12345678") {
					t.Errorf("%s: a secret leaves the host: %s", title, got)
				}
				if want := "bk-hosted begin\n" + c.want + "\nbk-hosted end\n"; got != want {
					t.Errorf("%s:\ngot  %q\nwant %q", title, got, want)
				}
			}
		})
	}
}

func TestShellScript_withoutAFile(t *testing.T) {
	t.Parallel()
	for name, shell := range shells(t) {
		folder := t.TempDir()
		fine(t, os.Symlink("nowhere", filepath.Join(folder, "link")))
		for file, want := range map[string]string{
			filepath.Join(folder, ".proc"):      "missing",
			filepath.Join(folder, "x", ".proc"): "missing-directory",
			".proc":                             "missing-directory",
			folder:                              "unreadable",
			filepath.Join(folder, "link"):       "unreadable",
		} {
			if got := run(t, shell, file); got != "bk-hosted "+want+"\n" {
				t.Errorf("%s: %s is %q, want %s", name, file, got, want)
			}
		}
	}
}

// Script and parser keep what agents write unchanged.
func TestShellScript_parses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), ".proc")
	fine(t, os.WriteFile(file, []byte(`{"proc":[`+strings.Replace(nginx, `"-":""`, `"password":"canary"`, 1)+"\n]}"), 0o600))
	for name, shell := range shells(t) {
		if got := hostedspec.Parse(run(t, shell, file)); got.Why != "" || len(got.Entries) != 1 || got.Entries[0] != nginxEntry {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Many entries take no time, so script and parser read as they print.
func TestShellScript_withManyEntries(t *testing.T) {
	t.Parallel()
	entries := make([]string, 4_000)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"valuekey":"ns:web-%d","password":"canary","startCmd":"%s"}`, i, strings.Repeat("x", 500))
	}
	file := filepath.Join(t.TempDir(), ".proc")
	fine(t, os.WriteFile(file, []byte(`{"proc":[`+strings.Join(entries, ",")+"]}"), 0o600))
	for name, shell := range shells(t) {
		got := run(t, shell, file)
		read := hostedspec.Parse(got).Entries
		if len(read) != len(entries) || read[len(read)-1].Name != "web-3999" || strings.Contains(got, "canary") {
			t.Errorf("%s: %d of %d entries", name, len(read), len(entries))
		}
	}
}

// The script goes where its system has it, and a reason has the call that said so.
func TestSource(t *testing.T) {
	t.Parallel()
	for path, windows := range map[string]bool{`\\host\x`: true, "d:/app": true, "/srv": false, "x": false} {
		run := hostedspec.Source{}.On(hostedspec.IsWindows(path))
		if hostedspec.IsWindows(path) != windows || strings.HasSuffix(run.Name, ".ps1") != windows || !strings.HasSuffix(run.Command, run.Path) {
			t.Errorf("%s: %+v", path, run)
		}
	}
	for want, reading := range map[string]hostedspec.Reading{
		"": {Call: "task 1"}, "away": {Why: "away"}, "away (task 1)": {Why: "away", Call: "task 1"}, "away (code 117, task 1)": {Why: "away (code 117)", Call: "task 1"},
	} {
		if got := reading.Reason(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
