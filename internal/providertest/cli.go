package providertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// CLI runs a real CLI with a real provider process, for tests of signals, exit codes and output. These do not
// show with a provider in the test's own process.
type CLI struct {
	T   *testing.T
	Dir string   // working directory, with the configuration and the state
	Env []string // whole environment of the CLI
}

// ProviderBinary returns the directory of the provider binary: BK_TEST_PROVIDER, into which make has built it
// for all packages. If that is not set, the provider is built once for this package.
var ProviderBinary = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("BK_TEST_PROVIDER"); built != "" {
		return built, nil
	}
	dir, err := os.MkdirTemp("", "terraform-provider-bk")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "terraform-provider-bk"), "../..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return dir, nil
})

// NewCLI returns a CLI with a configuration. The provider block is empty: the environment has the settings
// for the simulator.
func NewCLI(t *testing.T, sim *Sim, config string) *CLI {
	t.Helper()
	c := NewEmptyCLI(t)
	c.Configure(config)
	c.Env = append(c.Env,
		"BK_ENDPOINT"+"="+sim.URL, "BK_APP_CODE"+"="+simulator.DefaultAppCode, "BK_APP_SECRET"+"="+simulator.DefaultAppSecret, "BK_USERNAME"+"=admin", "BK_GATEWAY"+"="+string(Gateway),
		"BK_CMDB_ENDPOINT"+"="+sim.CMDBEndpoint())
	return c
}

// NewEmptyCLI returns a CLI without a configuration. It skips the test unless TF_ACC is set.
func NewEmptyCLI(t *testing.T) *CLI {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("Acceptance tests skipped unless env 'TF_ACC' set")
	}
	binary, err := ProviderBinary()
	NoError(t, err)
	c := &CLI{T: t, Dir: t.TempDir()}
	c.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"blueking/bk\" = %q\n  }\n  direct {}\n}\n", binary))
	c.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(c.Dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0")
	return c
}

// Configure replaces the configuration, apart from the provider block, which is empty.
func (c *CLI) Configure(config string) {
	c.T.Helper()
	c.ConfigureWith("provider \"bk\" {}\n", config)
}

// ConfigureWith replaces the configuration and the provider block.
func (c *CLI) ConfigureWith(provider, config string) {
	c.T.Helper()
	c.Write("main.tf", "terraform {\n  required_providers {\n    bk = {\n      source = \"blueking/bk\"\n    }\n  }\n}\n\n"+provider+config)
}

// Write writes a file in the CLI's directory, or below it.
func (c *CLI) Write(name, text string) {
	c.T.Helper()
	file := filepath.Join(c.Dir, name)
	NoError(c.T, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)))
}

// Command returns a command of the CLI, not started yet, and the builder that will contain its output.
func (c *CLI) Command(ctx context.Context, args ...string) (*exec.Cmd, *strings.Builder) {
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		path = "terraform"
	}
	var out strings.Builder
	cmd := exec.CommandContext(ctx, path, append(args, "-no-color")...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, &out, &out
	cmd.WaitDelay = 10 * time.Second
	return cmd, &out
}

// Run runs a command and returns its exit code, and its output on stdout and stderr.
func (c *CLI) Run(args ...string) (int, string) {
	c.T.Helper()
	cmd, out := c.Command(c.T.Context(), args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.T.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// Expect is Run for an expected exit code. Any other one ends the test.
func (c *CLI) Expect(code int, args ...string) string {
	c.T.Helper()
	got, out := c.Run(args...)
	if got != code {
		c.T.Fatalf("%s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// Interrupt runs a command, interrupts it like Ctrl-C once isTime returns true, and returns the output. It
// fails the test if the command does not end soon after: uninterrupted, it would take an hour.
func (c *CLI) Interrupt(command string, isTime func() bool, more ...string) string {
	c.T.Helper()
	cmd, out := c.Command(c.T.Context(), append([]string{command, "-auto-approve"}, more...)...)
	NoError(c.T, cmd.Start())
	Eventually(c.T, command+" is far enough", isTime)
	NoError(c.T, cmd.Process.Signal(os.Interrupt))
	pressed := time.Now()
	_ = cmd.Wait() // the CLI decides the exit code of an interrupted command
	c.T.Logf("%s ended %s after the interrupt", command, time.Since(pressed))
	if took := time.Since(pressed); took > 10*time.Second {
		c.T.Errorf("%s ended %s after the interrupt\n%s", command, took, out)
	}
	return out.String()
}

// Eventually polls until check returns true, and ends the test after a generous time.
func Eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen in time: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
