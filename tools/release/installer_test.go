package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// unpacked returns a directory with the parts of a tarball that install.sh uses, in mirror below it.
func unpacked(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("install.sh needs a shell")
	}
	parent := t.TempDir()
	mirror := filepath.Join(parent, "mirror")
	write := func(content string, path ...string) {
		t.Helper()
		file := filepath.Join(append([]string{mirror}, path...)...)
		fine(t, os.MkdirAll(filepath.Dir(file), 0o700))
		fine(t, os.WriteFile(file, []byte(content), 0o700))
	}
	write(strings.ReplaceAll(readFile(t, filepath.Join("mirror", "install.sh")), "VERSION", "1.2.3"), "install.sh")
	archive := "terraform-provider-bk_1.2.3_" + runtime.GOOS + "_" + runtime.GOARCH + ".zip"
	for _, registry := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		write("a provider", "providers", registry, "blueking", "bk", archive)
	}
	write(fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte("a provider")), archive), "terraform-provider-bk_1.2.3_SHA256SUMS")
	return parent
}

// installs runs install.sh from the directory above its own.
func installs(t *testing.T, parent string, args ...string) (int, string) {
	t.Helper()
	script := exec.Command("mirror/install.sh", args...)
	script.Dir, script.Env = parent, append(os.Environ(), "HOME="+filepath.Join(parent, "home"), "TF_CLI_CONFIG_FILE=")
	said, err := script.CombinedOutput()
	if script.ProcessState == nil {
		t.Fatal(err)
	}
	return script.ProcessState.ExitCode(), string(said)
}

// A refused installation changes nothing.
func TestInstaller_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"help":               {[]string{"--help"}, "usage: ./install.sh "},
		"doctor-relative":    {[]string{"--doctor", "bin"}, "bin: give the whole path, from /"},
		"to-relative":        {[]string{"--to", "plugins"}, "plugins: give the whole path, from /"},
		"undo-of-the-doctor": {[]string{"--undo", "--doctor", "/nowhere"}, "give --doctor alone"},
		"doctor-and-to":      {[]string{"--doctor", "/nowhere", "--to", "/nowhere"}, "give --doctor alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := unpacked(t)
			if code, said := installs(t, parent); code != 0 {
				t.Fatal(code, said)
			}
			before := filesBelow(t, parent)
			code, said := installs(t, parent, c.args...)
			if code != 2 || !strings.Contains(said, c.says) {
				t.Errorf("exit code %d: %s", code, said)
			}
			if after := filesBelow(t, parent); len(after) != len(before) {
				t.Errorf("the files were %q and are %q", before, after)
			}
		})
	}
}

// The user's own CLI configuration may keep the CLI from looking where the provider was installed.
func TestInstaller_hiddenByABlock(t *testing.T) {
	t.Parallel()
	parent := unpacked(t)
	const hint = ".terraformrc has a provider_installation block"
	if code, said := installs(t, parent); code != 0 || strings.Contains(said, hint) {
		t.Errorf("exit code %d: %s", code, said)
	}
	fine(t, os.WriteFile(filepath.Join(parent, "home", ".terraformrc"), []byte("provider_installation {\n  direct {}\n}\n"), 0o600))
	if code, said := installs(t, parent); code != 0 || !strings.Contains(said, hint) {
		t.Errorf("exit code %d: %s", code, said)
	}
}
