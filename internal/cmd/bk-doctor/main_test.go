package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is one on which only pauses take time.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Pause(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	return poll.Pause(ctx, 0)
}

// serve is a simulator that the environment leads to.
func serve(t *testing.T, sim *simulator.Server) *clock {
	t.Helper()
	c := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	sim.Now = c.Now
	sim.AddHost("0:10.0.0.9")
	server := httptest.NewServer(sim)
	t.Cleanup(func() { server.Close(); _ = sim.Close() })
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "BK_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{
		"BK_ENDPOINT": server.URL, "BK_APP_CODE": simulator.DefaultAppCode, "BK_APP_SECRET": simulator.DefaultAppSecret, "BK_USERNAME": "admin",
	} {
		t.Setenv(name, value)
	}
	return c
}

// command runs it.
func command(t *testing.T, c *clock, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = run(t.Context(), args, &stdout, &stderr, c)
	if strings.Contains(stdout.String()+stderr.String(), simulator.DefaultAppSecret) {
		t.Errorf("the secret is printed:\n%s%s", stdout.String(), stderr.String())
	}
	return code, stdout.String(), stderr.String()
}

// Promised in your-platform.md: Exit code 0: all is well. 2: something is to be done, or is otherwise than the provider believes. 1: it could not begin, was interrupted, or left something behind.
func TestCheck(t *testing.T) {
	c := serve(t, &simulator.Server{})
	code, out, said := command(t, c, "check", "-host", "0:10.0.0.9")
	if code != exitWell || !strings.Contains(out, "✓ register_proc_info: granted") || said != "" {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	t.Setenv("BK_CMDB_ENDPOINT", "http://cmdb.invalid")
	code, out, _ = command(t, c, "check", "-json")
	var report struct {
		Command string
		Lines   []struct{ ID, State, Found string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitFound || report.Command != "check" || len(report.Lines) < 15 || report.Lines[0].State != "found" || !strings.Contains(report.Lines[0].Found, "not encrypted") {
		t.Errorf("exit code %d, %v: %s", code, err, out)
	}
}

// A profile is written, without an address or a secret, and a later one adds to it.
func TestProbe(t *testing.T) { //nolint:paralleltest // it sets the environment
	c := serve(t, &simulator.Server{StartReplaces: true})
	file := filepath.Join(t.TempDir(), "platform.json")
	if err := os.WriteFile(file, []byte(`{"format": 1, "beliefs": {"hosting-once": "yes", "start-replaces": "no"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, said := command(t, c, "probe", "-host", "0:10.0.0.9", "-namespace", "bk_doctor", "-out", file)
	if code != exitFound || !strings.Contains(out, "✗ A start keeps the registered spec and labels: no") || !strings.Contains(said, "bk-simulator -platform") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := belief.ParseProfile(file, text)
	if err != nil || strings.Join(profile.Switches(), " ") != "hosting-once start-replaces" || strings.Contains(string(text), "10.0.0") || strings.Contains(string(text), "127.0.0") {
		t.Errorf("%v: %s", err, text)
	}
}

// What cannot begin says why, and touches nothing.
func TestRun_refuses(t *testing.T) {
	sim := &simulator.Server{}
	c := serve(t, sim)
	bad := filepath.Join(t.TempDir(), "platform.json")
	if err := os.WriteFile(bad, []byte("{\n\"format\": 2}"), 0o600); err != nil {
		t.Fatal(err)
	}
	probe := []string{"probe", "-host", "0:10.0.0.9", "-namespace", "n"}
	for says, args := range map[string][]string{
		"bk-doctor check ":                          nil,
		"probe takes one -host":                     {"probe", "-namespace", "n"},
		"probe takes -namespace":                    {"probe", "-host", "0:10.0.0.9"},
		`unexpected argument "now"`:                 {"check", "now"},
		`-host "web-1": `:                           {"check", "-host", "web-1"},
		`-also "web-1": `:                           append(probe, "-also", "web-1", "-out", filepath.Join(t.TempDir(), "p")),
		bad + ":2: the format is 2; this release":   append(probe, "-out", bad),
		"flag provided but not defined: -calls":     append(probe, "-calls", "1"),
		"the agent of 0:10.9.9.9 does not tell: co": {"probe", "-host", "0:10.9.9.9", "-namespace", "n", "-out", filepath.Join(t.TempDir(), "p")},
	} {
		if code, out, said := command(t, c, args...); code != exitError || !strings.Contains(said, says) {
			t.Errorf("%v: exit code %d, want %q: %s%s", args, code, says, out, said)
		}
	}
	t.Setenv("BK_APP_SECRET", "")
	t.Setenv("BK_CA_CERT_FILE", "/nonexistent")
	if code, _, said := command(t, c, "check"); code != exitError || !strings.Contains(said, "the environment variable BK_APP_SECRET") || !strings.Contains(said, "BK_CA_CERT_FILE") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if done := sim.Executions(); len(done) > 0 {
		t.Errorf("something was done: %+v", done)
	}
}

// An interrupt removes the process and writes no profile.
func TestProbe_interrupted(t *testing.T) { //nolint:paralleltest // it sets the environment
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	sim := &simulator.Server{OnCall: func(c simulator.Call) {
		if c.Op == simulator.OpStart {
			interrupt()
		}
	}}
	c, file := serve(t, sim), filepath.Join(t.TempDir(), "platform.json")
	var stdout, stderr strings.Builder
	code := run(ctx, []string{"probe", "-host", "0:10.0.0.9", "-namespace", "n", "-out", file}, &stdout, &stderr, c)
	if _, err := os.Stat(file); code != exitError || !strings.Contains(stderr.String(), "bk-doctor: interrupted") || err == nil {
		t.Errorf("exit code %d, profile %v: %s", code, err, stderr.String())
	}
	for _, p := range sim.Processes() {
		t.Errorf("left: %+v", p)
	}
}

func TestBeliefs(t *testing.T) {
	t.Parallel()
	code, out, _ := command(t, nil, "beliefs")
	for _, b := range belief.All() {
		if code != exitWell || !strings.Contains(out, b.ID+"\n  "+b.Holds.English) {
			t.Errorf("%s is not printed", b.ID)
		}
	}
}
