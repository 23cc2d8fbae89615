package provider

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

// testCLI runs a real CLI with a real provider process, for what a provider
// served by the test process cannot show: signals, exit codes, what is printed.
type testCLI struct {
	t   *testing.T
	dir string
	env []string
}

// providerBinary is built once for all tests of a run.
var providerBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "terraform-provider-bk")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "terraform-provider-bk"), "../..")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return dir, nil
})

// newCLI is a directory with a configuration for the simulator.
func newCLI(t *testing.T, sim *testSim, config string) *testCLI {
	t.Helper()
	c := newEmptyCLI(t)
	c.configure(config)
	c.env = append(c.env,
		"BK_ENDPOINT"+"="+sim.url, "BK_APP_CODE"+"="+simulator.DefaultAppCode, "BK_APP_SECRET"+"="+simulator.DefaultAppSecret, "BK_USERNAME"+"=admin", "BK_GATEWAY"+"="+string(testGateway))
	return c
}

// newEmptyCLI is a directory without a configuration.
func newEmptyCLI(t *testing.T) *testCLI {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("Acceptance tests skipped unless env 'TF_ACC' set")
	}
	binary, err := providerBinary()
	if err != nil {
		t.Fatal(err)
	}
	c := &testCLI{t: t, dir: t.TempDir()}
	c.write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"blueking/bk\" = %q\n  }\n  direct {}\n}\n", binary))
	c.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(c.dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0")
	return c
}

// configure replaces the configuration.
func (c *testCLI) configure(config string) {
	c.t.Helper()
	c.configureWith("provider \"bk\" {}\n", config)
}

// configureWith also replaces the provider block.
func (c *testCLI) configureWith(provider, config string) {
	c.t.Helper()
	c.write("main.tf", "terraform {\n  required_providers {\n    bk = {\n      source = \"blueking/bk\"\n    }\n  }\n}\n\n"+provider+config)
}

func (c *testCLI) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// command is the CLI with arguments, in the directory.
func (c *testCLI) command(ctx context.Context, args ...string) (*exec.Cmd, *strings.Builder) {
	path := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if path == "" {
		path = "terraform"
	}
	var out strings.Builder
	cmd := exec.CommandContext(ctx, path, append(args, "-no-color")...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, &out, &out
	cmd.WaitDelay = 10 * time.Second
	return cmd, &out
}

// run gives the exit code and what was printed.
func (c *testCLI) run(args ...string) (int, string) {
	c.t.Helper()
	cmd, out := c.command(c.t.Context(), args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("%v: %s", err, out)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// expect runs and wants an exit code.
func (c *testCLI) expect(code int, args ...string) string {
	c.t.Helper()
	got, out := c.run(args...)
	if got != code {
		c.t.Fatalf("%s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out
}

// interrupt runs a command, presses Ctrl-C when it is time, and gives what was
// printed. It fails the test where the command goes on for long: what it waits for
// would take an hour.
func (c *testCLI) interrupt(command string, isTime func() bool) string {
	c.t.Helper()
	cmd, out := c.command(c.t.Context(), command, "-auto-approve")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, command+" is far enough", isTime)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		c.t.Fatal(err)
	}
	pressed := time.Now()
	_ = cmd.Wait() // the exit code of an interrupted command is the CLI's business
	c.t.Logf("%s ended %s after the interrupt", command, time.Since(pressed))
	if took := time.Since(pressed); took > 10*time.Second {
		c.t.Errorf("%s ended %s after the interrupt\n%s", command, took, out)
	}
	return out.String()
}

// eventually polls until check is true, and fails the test after a generous time.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !check() {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen in time: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
