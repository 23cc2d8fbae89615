package pipelines_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// opaBinary builds OPA, unless it is there, and returns its path.
var opaBinary = sync.OnceValues(func() (string, error) {
	var stderr strings.Builder
	build := exec.Command(filepath.Join("..", "..", "tools", "build"), "opa")
	build.Stderr = &stderr
	out, err := build.Output()
	if err != nil {
		return "", errors.Join(err, errors.New(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
})

func needOPA(t *testing.T) string {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("Acceptance tests skipped unless env 'TF_ACC' set")
	}
	opa, err := opaBinary()
	providertest.NoError(t, err)
	return opa
}

// examples is the absolute path of examples/pipelines.
func examples(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "pipelines"))
	providertest.NoError(t, err)
	return dir
}

// pipeline is a working directory of a CI, with a configuration in it, and the scripts.
type pipeline struct {
	*providertest.CLI
	scripts string
}

// newPipeline returns one whose CLI finds the provider as users' CLIs do, so that init
// works: in a mirror, and not by a development override.
func newPipeline(t *testing.T, sim *providertest.Sim, config string) *pipeline {
	t.Helper()
	opa := needOPA(t)
	p := &pipeline{CLI: providertest.NewCLI(t, sim, config), scripts: examples(t)}
	p.UseMirror()
	cli := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if cli == "" {
		cli = "terraform"
	}
	p.Env = append(p.Env, "CLI="+cli, "OPA="+opa)
	return p
}

// script runs one of the scripts and returns what it printed.
func (p *pipeline) script(code int, name string, env ...string) string {
	p.T.Helper()
	got, out := p.try(name, env...)
	if got != code {
		p.T.Fatalf("%s: exit code %d, want %d\n%s", name, got, code, out)
	}
	return out
}

// try runs one of the scripts, however it ends.
func (p *pipeline) try(name string, env ...string) (int, string) {
	p.T.Helper()
	run := exec.CommandContext(p.T.Context(), "sh", filepath.Join(p.scripts, name))
	run.Dir, run.Env = p.Dir, append(slices.Clip(p.Env), env...)
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.T.Fatal(err)
	}
	return run.ProcessState.ExitCode(), string(out)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s\n%s", err, text)
	}
	return value
}
