package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a simulator, sets the environment for it, and returns its clock, on which only pauses take time.
func serve(t *testing.T, sim *simulator.Server) *providertest.Clock {
	t.Helper()
	c := &providertest.Clock{}
	sim.Now = c.Now
	sim.AddHost("0:10.0.0.9")
	server := httptest.NewServer(sim)
	t.Cleanup(func() { server.Close(); _ = sim.Close() })
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "BK_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("BK_ENDPOINT", server.URL)
	t.Setenv("BK_APP_CODE", simulator.DefaultAppCode)
	t.Setenv("BK_APP_SECRET", simulator.DefaultAppSecret)
	t.Setenv("BK_USERNAME", "admin")
	return c
}

type said struct {
	code     int
	out, err string
}

func command(ctx context.Context, t *testing.T, c poll.Clock, args ...string) said {
	t.Helper()
	var stdout, stderr strings.Builder
	got := said{run(ctx, args, &stdout, &stderr, c), stdout.String(), stderr.String()}
	providertest.Check(t, !strings.Contains(got.out+got.err, simulator.DefaultAppSecret), "the secret is printed: %+v", got)
	return got
}

// refuses runs commands that cannot begin, and requires their errors.
func refuses(t *testing.T, c poll.Clock, commands map[string][]string) {
	t.Helper()
	for says, args := range commands {
		got := command(t.Context(), t, c, args...)
		providertest.Check(t, got.code == exitError && strings.Contains(got.err, says), "%v: want %q: %+v", args, says, got)
	}
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	simtest.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Promised in your-platform.md: Exit code 0: all is well. 2: something needs to be done, or differs from what the
// provider believes. 1: it could not begin, was interrupted, or left something behind.
func TestCheck(t *testing.T) {
	c := serve(t, &simulator.Server{})
	if got := command(t.Context(), t, c, "check", "-host", "0:10.0.0.9"); got.code != exitWell || !strings.Contains(got.out, "✓ register_proc_info: granted") || got.err != "" {
		t.Errorf("%+v", got)
	}
	t.Setenv("BK_CMDB_ENDPOINT", "http://cmdb.invalid")
	got := command(t.Context(), t, c, "check", "-json")
	var report struct {
		Command string
		Lines   []struct{ ID, State, Found string }
	}
	simtest.Must(t, json.Unmarshal([]byte(got.out), &report))
	if got.code != exitFound || report.Command != "check" || len(report.Lines) < 15 || report.Lines[0].State != "found" || !strings.Contains(report.Lines[0].Found, "not encrypted") {
		t.Errorf("%+v", got)
	}
}

// Probe adds its findings to an existing profile, which contains neither an address nor a secret.
func TestProbe(t *testing.T) { //nolint:paralleltest // it sets the environment
	c := serve(t, &simulator.Server{StartReplaces: true})
	file := put(t, "platform.json", `{"format": 1, "beliefs": {"hosting-once": "yes", "start-replaces": "no"}}`)
	got := command(t.Context(), t, c, "probe", "-host", "0:10.0.0.9", "-namespace", "bk_doctor", "-out", file)
	if got.code != exitFound || !strings.Contains(got.out, "✗ A start keeps the registered spec and labels: no") || !strings.Contains(got.err, "bk-simulator -platform") {
		t.Errorf("%+v", got)
	}
	text := simtest.ReadFile(t, file)
	profile, err := belief.ParseProfile(file, []byte(text))
	if err != nil || strings.Join(profile.Switches(), " ") != "hosting-once start-replaces" || strings.Contains(text, "10.0.0") || strings.Contains(text, "127.0.0") {
		t.Errorf("%v: %s", err, text)
	}
}

// A command that cannot begin does nothing on any host.
func TestRun_refuses(t *testing.T) {
	sim := &simulator.Server{}
	c := serve(t, sim)
	bad := put(t, "platform.json", "{\n\"format\": 2}")
	probe := []string{"probe", "-host", "0:10.0.0.9", "-namespace", "n"}
	refuses(t, c, map[string][]string{
		"bk-doctor check ":                          nil,
		"probe takes one -host":                     {"probe", "-namespace", "n"},
		"probe takes -namespace":                    {"probe", "-host", "0:10.0.0.9"},
		`unexpected argument "now"`:                 {"check", "now"},
		"-calls is -5; it cannot be below 0":        {"check", "-calls", "-5"},
		"-watch is -5s; it cannot be below 0":       append(probe, "-watch", "-5s"),
		"-patience is -1s; it cannot be below 0":    append(probe, "-patience", "-1s"),
		`-host "web-1": `:                           {"check", "-host", "web-1"},
		`-also "web-1": `:                           append(probe, "-also", "web-1", "-out", filepath.Join(t.TempDir(), "p")),
		bad + ":2: the format is 2; this release":   append(probe, "-out", bad),
		"flag provided but not defined: -calls":     append(probe, "-calls", "1"),
		"the agent of 0:10.9.9.9 reports no status": {"probe", "-host", "0:10.9.9.9", "-namespace", "n", "-out", filepath.Join(t.TempDir(), "p")},
	})
	t.Setenv("BK_APP_SECRET", "")
	t.Setenv("BK_CA_CERT_FILE", "/nonexistent")
	refuses(t, c, map[string][]string{"bk-doctor: app_secret is not set. Set the environment variable BK_APP_SECRET.\n": {"check"}, "BK_CA_CERT_FILE": {"check"}})
	simtest.Want(t, "executions", len(sim.Executions()), 0)
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
	got := command(ctx, t, c, "probe", "-host", "0:10.0.0.9", "-namespace", "n", "-out", file)
	_, err := os.Stat(file)
	providertest.Check(t, got.code == exitError && strings.Contains(got.err, "bk-doctor: interrupted") && err != nil, "profile %v: %+v", err, got)
	simtest.Want(t, "processes that are left", len(sim.Processes()), 0)
}

func TestBeliefs(t *testing.T) {
	t.Parallel()
	got := command(t.Context(), t, nil, "beliefs")
	simtest.Want(t, "exit code", got.code, exitWell)
	for _, b := range belief.All() {
		providertest.Check(t, strings.Contains(got.out, b.ID+"\n  "+b.Holds.English), "%s is not printed", b.ID)
	}
}

// Promised in your-platform.md: Exit code 2: something differs.
//
// A tape contains no names of the platform. Verify reports where the platform differs from the simulator, unless its profile says so.
func TestRecordAndVerify(t *testing.T) {
	c := serve(t, &simulator.Server{RowsWithoutHost: true})
	t.Setenv("BK_GATEWAY", "apigw")
	direct := os.Getenv("BK_ENDPOINT") + "/api/bk-gse/prod"
	t.Setenv("BK_ENDPOINT", direct)
	dir := t.TempDir()
	file, profile := filepath.Join(dir, "tape.jsonl"), filepath.Join(dir, "platform.json")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	printed, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"record", "-listen", "127.0.0.1:0", "-out", file}, w, w, nil)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(printed)
	endpoint := ""
	for endpoint == "" && lines.Scan() {
		_, endpoint, _ = strings.Cut(lines.Text(), "export BK_ENDPOINT=")
	}
	t.Setenv("BK_ENDPOINT", endpoint)
	if got := command(t.Context(), t, c, "probe", "-host", "0:10.0.0.9", "-namespace", "bk_doctor", "-out", profile); got.code != exitFound {
		t.Errorf("probe through the proxy: %+v", got)
	}
	t.Setenv("BK_ENDPOINT", direct)
	end()
	for lines.Scan() {
		if strings.Contains(lines.Text(), "bk-doctor: ") || !strings.Contains(lines.Text(), "exchanges are on "+file) {
			t.Error(lines.Text())
		}
	}
	simtest.Want(t, "exit code of record", <-done, exitWell)
	http.DefaultClient.CloseIdleConnections()
	info, err := os.Stat(file)
	simtest.Must(t, err)
	simtest.Want(t, "mode", info.Mode().Perm(), 0o600)
	tape := simtest.ReadFile(t, file)
	for _, original := range []string{"10.0.0.9", "127.0.0.1", "bk_doctor", "sleep", simulator.DefaultAppCode, simulator.DefaultAppSecret} {
		providertest.Check(t, !strings.Contains(tape, original), "%q is on the tape", original)
	}
	if got := command(t.Context(), t, nil, "verify", file); got.code != exitFound || !strings.Contains(got.out, "data.proc_infos[].host: absent on the platform, an object in the simulator") || !strings.Contains(got.out, "### bk-doctor verify") {
		t.Errorf("%+v", got)
	}
	if got := command(t.Context(), t, nil, "verify", "-platform", profile, file); strings.Contains(got.out, "proc_infos[].host") {
		t.Errorf("with the profile: %+v", got)
	}
	if got := command(t.Context(), t, nil, "verify", "-json", file); got.code != exitFound || !strings.Contains(got.out, `"where": "data.proc_infos[].host"`) {
		t.Errorf("%+v", got)
	}
}

// A command that cannot begin says why in one sentence, and writes no tape.
func TestTape_refuses(t *testing.T) { //nolint:paralleltest // it sets the environment
	serve(t, &simulator.Server{})
	cmdb := put(t, "cmdb", `{"tape":1}`+"\n"+`{"at_ms":0,"took_ms":1,"method":"POST","path":"/api/c/compapi/v2/cc/a/","status":200,"response":{}}`)
	bad, there := put(t, "bad", "{\"tape\":1}\n{\"at\":1}"), put(t, "there", "")
	fresh := filepath.Join(t.TempDir(), "fresh")
	refuses(t, nil, map[string][]string{
		"verify takes one tape":                      {"verify"},
		bad + `:2: "at" is not a member`:             {"verify", bad},
		"no such file":                               {"verify", fresh},
		"no exchange of this tape could be played":   {"verify", cmdb},
		there + ":1: the file is empty":              {"verify", there},
		"platform.json: no such file":                {"verify", "-platform", filepath.Join(t.TempDir(), "platform.json"), cmdb},
		there + " exists already; choose another":    {"record", "-listen", "127.0.0.1:0", "-out", there},
		"the platform at 127.0.0.1:1 cannot be reac": {"record", "-target", "http://127.0.0.1:1", "-out", fresh},
		"-target: want a URL":                        {"record", "-target", "paas.example.com", "-out", fresh},
		"-listen: 0.0.0.0:0 is not a loopback":       {"record", "-listen", "0.0.0.0:0", "-out", fresh},
		`unexpected argument "x"`:                    {"record", "x"},
	})
	_, err := os.Stat(fresh)
	providertest.Check(t, err != nil, "a tape was written")
}
