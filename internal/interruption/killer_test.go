//go:build unix

package interruption

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// killer stands before a simulator and kills those who call it, the provider or
// the CLI, without a warning, exactly when a call is made. Or it presses Ctrl-C then.
type killer struct {
	t      *testing.T
	sim    *providertest.Sim
	cli    *providertest.CLI
	victim string // "provider", "cli" or "both", or how often Ctrl-C is pressed: "once" or "twice"
	moment string // "before" a call is taken, "after" it was carried out, or when it was "answered"

	mu      sync.Mutex
	left    int // calls until it strikes, 0 for never
	process *os.Process
	at      string // the call at which it struck
}

// newKiller gives every provider process a life that can be followed: each writes down its process id.
func newKiller(t *testing.T) *killer {
	t.Helper()
	k := &killer{t: t}
	k.sim = providertest.NewSimBehind(t, k.before)
	k.cli = providertest.NewCLI(t, k.sim, "")
	binary, err := providertest.ProviderBinary()
	providertest.NoError(t, err)
	bin := filepath.Join(k.cli.Dir, "bin")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >>%q\nexec %q \"$@\"\n", k.pids(), filepath.Join(binary, "terraform-provider-bk"))
	if err := errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "terraform-provider-bk"), []byte(script), 0o700)); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	k.cli.Write("cli.tfrc", fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"blueking/bk\" = %q\n  }\n  direct {}\n}\n", bin))
	return k
}

func (k *killer) pids() string { return filepath.Join(k.cli.Dir, "pids") }

func (k *killer) before(sim http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !k.strikes(r) {
			sim.ServeHTTP(w, r)
			return
		}
		if k.moment == "answered" && !k.interrupts() {
			sim.ServeHTTP(w, r)
			k.kill(r)
			return
		}
		if k.moment == "before" {
			_, _ = io.Copy(io.Discard, r.Body)
		} else {
			sim.ServeHTTP(httptest.NewRecorder(), r)
		}
		k.kill(r)
		panic(http.ErrAbortHandler)
	})
}

func (k *killer) interrupts() bool { return k.victim == "once" || k.victim == "twice" }

func (k *killer) strikes(r *http.Request) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		return false
	}
	k.left--
	if k.left == 0 {
		k.at = strings.Trim(r.URL.Path, "/")
		k.at = k.at[strings.LastIndex(k.at, "/")+1:]
	}
	return k.left == 0
}

func (k *killer) kill(r *http.Request) {
	switch k.victim {
	case "cli":
		k.must(k.process.Kill())
		return
	case "once", "twice":
		k.must(k.process.Signal(os.Interrupt))
		// The call hangs until it is given up: then the first Ctrl-C has come through.
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Second):
			k.t.Error("Ctrl-C did not end a call")
		}
		if k.victim == "twice" {
			// Too late, maybe, for a CLI that has ended.
			_ = k.process.Signal(os.Interrupt)
		}
		return
	}
	if k.victim == "both" { // the CLI first: it saves what a provider that died leaves
		k.must(k.process.Kill())
	}
	pids, err := os.ReadFile(k.pids())
	k.must(err)
	// The last one is at work; those before it were for earlier steps.
	fields := strings.Fields(string(pids))
	pid, err := strconv.Atoi(fields[len(fields)-1])
	k.must(err)
	k.must(syscall.Kill(pid, syscall.SIGKILL))
}

// must takes no t.Fatal: it runs in the simulator.
func (k *killer) must(err error) {
	if err != nil {
		k.t.Error(err)
	}
}

// Run runs a command and kills the victim at its n-th call, if it makes so many. It gives where that was, "" for
// nowhere. Gone waits until no provider is left of it, and tells how long that took from the end of the CLI.
func (k *killer) Run(n int, args ...string) (at string, gone func() time.Duration) {
	k.t.Helper()
	_ = os.Remove(k.pids())
	cmd, out := k.cli.Command(k.t.Context(), args...)
	// The CLI hands its standard input on to the providers, so its other end tells when the last of them is gone.
	alive, held, err := os.Pipe()
	providertest.NoError(k.t, err)
	cmd.Stdin = held
	k.mu.Lock() // no call before the process is known
	err = errors.Join(cmd.Start(), held.Close())
	k.left, k.at, k.process = n, "", cmd.Process
	k.mu.Unlock()
	providertest.NoError(k.t, err)
	err = cmd.Wait()
	ended := time.Now()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		k.t.Fatalf("%v: %s", err, out)
	}
	var (
		over = make(chan struct{})
		left time.Duration
	)
	go func() {
		defer close(over)
		defer func() { _ = alive.Close() }()
		_ = alive.SetReadDeadline(ended.Add(30 * time.Second)) // or it is read for ever
		_, err = alive.Read(make([]byte, 1))
		left = time.Since(ended)
	}()
	gone = func() time.Duration {
		k.t.Helper()
		if <-over; !errors.Is(err, io.EOF) {
			k.t.Errorf("a provider lives on without its CLI: %v", err)
		}
		return left
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left = 0; k.at == "" && cmd.ProcessState.ExitCode() != 0 {
		k.t.Fatalf("no process was killed, and %v failed: %s", args, out)
	}
	return k.at, gone
}

// restore restores the earlier state if the CLI has left none. A second Ctrl-C may interrupt the CLI
// while it writes its state file, and it warns of that.
func (k *killer) restore() {
	k.t.Helper()
	state := filepath.Join(k.cli.Dir, "terraform.tfstate")
	if raw, err := os.ReadFile(state); err != nil || json.Valid(raw) {
		return
	}
	k.t.Log("the CLI has left a torn state file")
	if err := os.Rename(state+".backup", state); errors.Is(err, os.ErrNotExist) {
		k.must(os.Remove(state)) // there was no state before
	} else {
		k.must(err)
	}
}
