package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// README.md says what each direct dependency is for.
func TestReadme_givesReasonForEachDirectDependency(t *testing.T) {
	t.Parallel()
	var required []string
	for _, line := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+/\S+) v\S+(.*)$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		if !strings.Contains(line[2], "// indirect") {
			required = append(required, line[1])
		}
	}
	_, table, _ := strings.Cut(read(t, "README.md"), "| Direct dependency | Why |\n|---|---|\n")
	table, _, _ = strings.Cut(table+"\n\n", "\n\n")
	var listed []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || strings.TrimSpace(cells[2]) == "" {
			t.Errorf("no dependency and reason: %s", row)
			continue
		}
		for _, module := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			listed = append(listed, module[1])
		}
	}
	slices.Sort(required)
	slices.Sort(listed)
	providertest.Same(t, "direct dependencies of go.mod, and of README.md", required, listed)
}

// A newcomer's first steps: make install, then init and validate of an example that has
// modules and functions of the provider, without a network.
func TestAccInstall(t *testing.T) {
	t.Parallel()
	cli := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if os.Getenv("TF_ACC") == "" || cli == "" {
		t.Skip("TF_ACC and TF_ACC_TERRAFORM_PATH are not set")
	}
	for name, where := range map[string]func(home string) (dir, config string){
		"at-home": func(string) (dir, config string) { return "", "" },
		"shared": func(home string) (dir, config string) {
			dir = filepath.Join(home, "plugins of ours")
			return dir, "provider_installation {\n filesystem_mirror {\n path = \"" + dir + "\"\n }\n}\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			dir, config := where(home)
			settings := filepath.Join(home, "cli.tfrc")
			providertest.NoError(t, os.WriteFile(settings, []byte(config), 0o600))
			environment := append(homeOf(t, home), "TF_CLI_CONFIG_FILE="+settings)
			run := func(in, command string, args ...string) string {
				t.Helper()
				process := exec.CommandContext(t.Context(), command, args...)
				process.Dir, process.Env = in, environment
				output, err := process.CombinedOutput()
				if err != nil {
					t.Fatalf("%s %v: %s\n%s", command, args, err, output)
				}
				return string(output)
			}

			printed := run(".", "tools/install", "0.0.1", dir)
			snippet := `source = "blueking/bk"`
			providertest.Check(t, strings.Contains(printed, snippet), "it printed no %s:\n%s", snippet, printed)
			if hint := `path    = "` + dir + `"`; dir != "" && !strings.Contains(printed, hint) {
				t.Errorf("it printed no %s:\n%s", hint, printed)
			}
			examples := filepath.Join(home, "examples")
			providertest.NoError(t, os.CopyFS(examples, os.DirFS("examples")))
			teams := filepath.Join(examples, "two-teams")
			run(teams, cli, "init", "-no-color")
			run(teams, cli, "validate", "-no-color")
			lock, err := os.ReadFile(filepath.Join(teams, ".terraform.lock.hcl"))
			providertest.Check(t, err == nil && strings.Contains(string(lock), `"h1:`), "the lock file: %v\n%s", err, lock)
		})
	}
}

// homeOf is the environment of a user with this home directory, without a network.
func homeOf(t *testing.T, home string) []string {
	t.Helper()
	environment := append(os.Environ(), "HTTPS_PROXY=http://127.0.0.1:1", "CHECKPOINT_DISABLE=1")
	for _, variable := range []string{"GOPATH", "GOCACHE", "GOMODCACHE"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", variable).Output()
		providertest.NoError(t, err)
		environment = append(environment, variable+"="+strings.TrimSpace(string(value)))
	}
	return append(environment, "HOME="+home)
}

// The user's own settings may keep the CLI from looking where the provider was put.
func TestAccInstall_hiddenByABlock(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set")
	}
	home := t.TempDir()
	const block = "provider_installation {\n direct {}\n}\n"
	atHome, elsewhere := filepath.Join(home, ".terraformrc"), filepath.Join(home, "elsewhere.tfrc")
	providertest.NoError(t, os.WriteFile(elsewhere, []byte(block), 0o600))
	for _, c := range []struct{ inVariable, hides string }{
		{"", ""},
		{elsewhere, elsewhere},
		{"", atHome},
	} {
		if c.hides == atHome {
			providertest.NoError(t, os.WriteFile(atHome, []byte(block), 0o600))
		}
		install := exec.CommandContext(t.Context(), "make", "install", "VERSION=0.0.1")
		install.Env = append(homeOf(t, home), "MAKEFLAGS=", "TF_CLI_CONFIG_FILE="+c.inVariable)
		said, err := install.CombinedOutput()
		providertest.Check(t, err == nil, "%s\n%s", err, said)
		_, found, hidden := strings.Cut(string(said), "But ")
		providertest.Check(t, hidden == (c.hides != "") && strings.HasPrefix(found, c.hides), "with settings in %q it says:\n%s", c.hides, said)
	}
}

func TestInstall_refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ version, dir, says string }{
		"v-in-front": {"v1.2.3", "", "v1.2.3: a version is three numbers"},
		"two-parts":  {"1.2", "", "1.2: a version is three numbers"},
		"a-path":     {"1.2.3/..", "", "a version is three numbers"},
		"relative":   {"1.2.3-rc.1", "plug", "plug: give the whole path, from /"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			install := exec.CommandContext(t.Context(), "tools/install", c.version, c.dir)
			install.Env = homeOf(t, t.TempDir())
			said, err := install.CombinedOutput()
			providertest.Check(t, install.ProcessState.ExitCode() == 2 && strings.Contains(string(said), c.says), "%v\n%s", err, said)
		})
	}
}

// The structs that decide about hosts have few fields. Answers of the platform and models of
// Terraform are exempt, because they have as many fields as those.
func TestStructs_haveTenFieldsAtMost(t *testing.T) {
	t.Parallel()
	const most = 10
	answers := map[string]bool{"Status": true, "Outcome": true, "lifecycleModel": true}
	found := 0
	for _, folder := range []string{"fleet", "hostedprocess", "ownership"} {
		files := providertest.Glob(t, filepath.Join("internal", folder, "*.go"))
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			providertest.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				spec, isType := n.(*ast.TypeSpec)
				if !isType || strings.HasSuffix(name, "_test.go") {
					return true
				}
				if of, isStruct := spec.Type.(*ast.StructType); isStruct {
					found++
					if n := fieldsOf(of); n > most && !answers[spec.Name.Name] {
						t.Errorf("%s: %s has %d fields, more than %d", name, spec.Name.Name, n, most)
					}
				}
				return true
			})
		}
	}
	providertest.Check(t, found >= 20, "only %d structs were found", found)
}

func fieldsOf(of *ast.StructType) int {
	n := 0
	for _, field := range of.Fields.List {
		n += max(1, len(field.Names))
	}
	return n
}
