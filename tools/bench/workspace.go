package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// workspace is a directory in which a CLI runs one configuration with one provider.
type workspace struct {
	dir string
	cli string
	env []string
}

// newWorkspace creates a workspace for the provider at path, or for the floor if path is empty.
func newWorkspace(cli, path string) (*workspace, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	w := &workspace{dir: dir, cli: cli}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	overrides := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"blueking/bk\" = %q\n  }\n  direct {}\n}\n", dir)
	err = errors.Join(
		os.Symlink(self, filepath.Join(dir, "terraform-provider-bk")),
		os.WriteFile(filepath.Join(dir, "cli.tfrc"), []byte(overrides), 0o600))
	w.env = append(plainEnv(),
		"TF_CLI_CONFIG_FILE="+filepath.Join(dir, "cli.tfrc"), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0",
		envRole+"="+roleMeter, envProvider+"="+path, envPeak+"="+w.path("peak"), envAnswer+"="+w.path("answer"))
	return w, err
}

// plainEnv returns the environment without variables that would change a measurement.
func plainEnv() []string {
	var kept []string
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "TF_") && !strings.HasPrefix(setting, "BK_") {
			kept = append(kept, setting)
		}
	}
	return kept
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workspace) configure(text string) error {
	return os.WriteFile(w.path("main.tf"), []byte(text), 0o600)
}

// reset deletes the state.
func (w *workspace) reset() error {
	return errors.Join(os.RemoveAll(w.path("terraform.tfstate")), os.RemoveAll(w.path("terraform.tfstate.backup")))
}

func (w *workspace) close() error { return os.RemoveAll(w.dir) }

// usage is the cost of one run of a CLI.
type usage struct {
	wall  time.Duration
	cpu   time.Duration // of the CLI and its child processes
	peak  int64         // of the provider, in bytes
	state int64         // in bytes, without the CLI's own fields and indentation
}

// run runs a step. It returns an error unless the CLI exits with the step's code.
func (w *workspace) run(ctx context.Context, of step) (usage, error) {
	if err := os.RemoveAll(w.path("peak")); err != nil {
		return usage{}, err
	}
	output, err := os.Create(w.path("output"))
	if err != nil {
		return usage{}, err
	}
	defer func() { _ = output.Close() }() // it stays for reading after a failure
	cmd := exec.CommandContext(ctx, w.cli, slices.Concat(of.args, []string{"-no-color"})...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.dir, slices.Concat(w.env, of.env), output, output
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }

	began := time.Now()
	err = cmd.Run()
	took := usage{wall: time.Since(began)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return took, err
	}
	if got := cmd.ProcessState.ExitCode(); got != of.code {
		said, _ := os.ReadFile(w.path("output"))
		return took, fmt.Errorf("%s: exit code %d, want %d\n%s", strings.Join(of.args, " "), got, of.code, tail(said, 4000))
	}
	took.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if took.state, err = w.stateBytes(); err != nil {
		return took, err
	}
	took.peak, err = w.peak()
	return took, err
}

// stateBytes returns the size of the resources in state: attributes and private data, 0 if there is none.
func (w *workspace) stateBytes() (int64, error) {
	text, err := os.ReadFile(w.path("terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var state struct {
		Resources []struct {
			Mode      string
			Instances []struct {
				Attributes json.RawMessage
				Private    string
			}
		}
	}
	if err := json.Unmarshal(text, &state); err != nil {
		return 0, err
	}
	var bytes int64
	for _, r := range state.Resources {
		for _, instance := range r.Instances {
			if r.Mode == "managed" {
				compact, err := json.Marshal(instance.Attributes)
				if err != nil {
					return 0, err
				}
				bytes += int64(len(compact) + len(instance.Private))
			}
		}
	}
	return bytes, nil
}

// peak returns the largest peak memory of the provider's processes. A CLI starts several.
func (w *workspace) peak() (int64, error) {
	text, err := os.ReadFile(w.path("peak"))
	if err != nil {
		return 0, err
	}
	var largest int64
	for line := range strings.Lines(string(text)) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, err
		}
		largest = max(largest, n)
	}
	return largest, nil
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }
