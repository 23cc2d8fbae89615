package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/belief"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// asCommand makes this test binary run as the command itself.
const asCommand = "BK_TEST_AS_SIMULATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

type running struct {
	t        *testing.T
	url      string
	greeting string // printed when it is ready
	stop     func() error
}

func start(t *testing.T, stderr io.Writer, args ...string) running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), in, stderr)
		_ = in.CloseWithError(err)
		done <- err
	}()
	// The greeting is written at once, so one read returns all of it.
	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err != nil {
		cancel()
		t.Fatalf("not ready: %v, %v", err, <-done)
	}
	stop := sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("it does not end")
		}
	})
	t.Cleanup(func() { _ = stop() })
	line, _, _ := strings.Cut(string(text[:n]), "\n")
	url, found := strings.CutPrefix(line, "listening on ")
	simtest.Want(t, "ready line", found, true)
	return running{t, url, string(text[:n]), stop}
}

// send adds the credentials of registration, which the control endpoint requires if they are not the default ones.
func (r running) send(method, path, body string) string {
	r.t.Helper()
	status, text := r.request(method, path, body, "app", "shh")
	if status != http.StatusOK {
		r.t.Fatalf("%s %s: HTTP %d: %s", method, path, status, text)
	}
	return text
}

// request sends a request with the credentials of the control endpoint, unless there is no secret.
func (r running) request(method, path, body, code, secret string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	simtest.Must(r.t, err)
	if secret != "" {
		req.SetBasicAuth(code, secret)
	}
	resp, err := http.DefaultClient.Do(req)
	simtest.Must(r.t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	simtest.Must(r.t, err)
	return resp.StatusCode, string(data)
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	simtest.Must(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const registration = `{"bk_app_code":"app","bk_app_secret":"shh","bk_username":"admin",
	"meta":{"namespace":"web","name":"nginx"},"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}],
	"spec":{"identity":{"proc_name":"nginx","setup_path":"/opt","pid_path":"/run/nginx.pid","user":"root"},
	"control":{},"resource":{"cpu":1,"mem":1},"monitor_policy":{"auto_type":1}}}`

func TestRun_servesAndRemembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ready := filepath.Join(dir, "ready")
	args := []string{
		"-hosts", "0:10.0.0.1,0:10.0.0.2", "-admit", "10.1.0.0/16", "-app-code", "app", "-app-secret-file", put(t, "secret", "shh\n"),
		"-state", filepath.Join(dir, "state.json"), "-ready-file", ready,
	}
	var log simtest.Buffer
	first := start(t, &log, args...)
	simtest.WantIn(t, "answer", first.send(http.MethodPost, simtest.ESB("register_proc_info"), registration), `"0:0:10.0.0.1:web:nginx":{"content":"","error_code":0`)
	simtest.WantIn(t, "index", first.send(http.MethodGet, "/_sim/", ""), "curl")
	simtest.WantIn(t, "log", log.String(), " register_proc_info web:nginx hosts=1 code=0 ")
	simtest.Want(t, "ready file", simtest.ReadFile(t, ready), first.url)
	simtest.Must(t, first.stop())
	_, err := os.Stat(ready)
	simtest.Check(t, errors.Is(err, os.ErrNotExist), "the ready file is still there: %v", err)
	var quiet simtest.Buffer
	second := start(t, &quiet, append(args, "-quiet")...)
	simtest.WantIn(t, "after a restart", second.send(http.MethodGet, "/_sim/processes", ""), `"registered": true`)
	second.send(http.MethodPost, simtest.ESB("register_proc_info"), registration)
	simtest.Want(t, "what a quiet one prints", quiet.String(), "")
}

func TestRun_refusesFlags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"every-interface": {[]string{"-listen", "0.0.0.0:8091", "-local"}, `"0.0.0.0" is not a loopback address`},
		"no-interface":    {[]string{"-listen", ":8091", "-local"}, `"" is not a loopback address`},
		"another-machine": {[]string{"-listen", "192.0.2.1:8091", "-local"}, "not a loopback address"},
		"every-ipv6":      {[]string{"-listen", "[::]:8091", "-local"}, `"::" is not a loopback address`},
		"lookalike":       {[]string{"-listen", "localhost.example.com:8091", "-local"}, "not a loopback address"},
		"short-zero":      {[]string{"-listen", "0:8091", "-local"}, `"0" is not a loopback address`},
		"no-secret-file":  {[]string{"-local", "-app-secret-file", "/nonexistent"}, "no such file"},
		"empty-secret":    {[]string{"-local", "-app-secret-file", os.DevNull}, "it is empty"},
		"known-secret":    {[]string{"-local", "-app-secret", simulator.DefaultAppSecret}, "is public"},
		"no-port":         {[]string{"-listen", "127.0.0.1", "-local"}, "missing port"},
		"no-hosts":        {nil, "no host is declared"},
		"bad-host":        {[]string{"-hosts", "web-1"}, `host "web-1": want "cloud:ip"`},
		"bad-prefix":      {[]string{"-admit", "10.0.0.0"}, "10.0.0.0"},
		"root-alone":      {[]string{"-root", "x", "-hosts", "0:10.0.0.1"}, "-root is for -local hosts"},
		"row-label":       {[]string{"-local", "-row-label", "bk"}, "want name=value"},
		"argument":        {[]string{"-local", "now"}, `unexpected argument "now"`},
		"no-profile":      {[]string{"-local", "-platform", "/nonexistent"}, "file or directory"},
		"bad-profile":     {[]string{"-local", "-platform", put(t, "platform.json", `{"format": 1, "beliefs": {"hosting-onze": "yes"}}`)}, `did you mean "hosting-once"`},
		"no-switch":       {[]string{"-local", "-with", "manage-proc"}, `"manage-proc" is not one of`},
	} {
		var stderr simtest.Buffer
		err := run(t.Context(), test.args, io.Discard, &stderr)
		simtest.Check(t, errors.Is(err, errUsage) && strings.Contains(stderr.String(), test.want), "%s: got %v: %s", name, err, stderr.String())
	}
}

// Commands run in a directory of their host, so the path of the host's tree that they get must be absolute.
func TestParseOptions_root(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	simtest.Must(t, err)
	for root, want := range map[string]string{"./sandbox": filepath.Join(here, "sandbox"), "/srv/hosts": "/srv/hosts", "": ""} {
		o, err := parseOptions([]string{"-local", "-root", root}, io.Discard)
		simtest.Must(t, err)
		sim, err := o.server(io.Discard)
		simtest.Must(t, err)
		simtest.Want(t, "root of "+root, sim.Root, want)
	}
}

// The greeting has all that is needed to use the simulator, but no secret of a file.
func TestRun_printsHowItIsReached(t *testing.T) {
	t.Parallel()
	const ofFile = "of a file"
	file := put(t, "it's a secret", ofFile+"\n")
	seen := make(map[string]bool)
	for name, test := range map[string]struct {
		args         []string
		code, secret string // "" for a random one
		want         string
	}{
		"random":        {[]string{"-local"}, "bk_test", "", " BK_APP_CODE=bk_test BK_APP_SECRET="},
		"random-again":  {[]string{"-local"}, "bk_test", "", " BK_USERNAME=admin\n"},
		"virtual-hosts": {[]string{"-hosts", "0:10.0.0.1"}, "bk_test", "", " BK_APP_CODE=bk_test BK_APP_SECRET="},
		"of-a-file":     {[]string{"-local", "-app-secret-file", file}, "bk_test", ofFile, `it'\''s a secret')" BK_USERNAME=admin`},
		"of-a-flag":     {[]string{"-local", "-app-secret", "o'ne $HOME"}, "bk_test", "o'ne $HOME", `BK_APP_SECRET='o'\''ne $HOME' `},
		"all-given": {
			[]string{"-local", "-app-code", "app", "-app-secret", "shh", "-username", "joe", "-tenant", "system"}, "app", "shh",
			" BK_APP_CODE=app BK_APP_SECRET=shh BK_USERNAME=joe BK_TENANT_ID=system\n",
		},
	} {
		r := start(t, io.Discard, append([]string{"-quiet"}, test.args...)...)
		page := "\nIts page:      " + r.url + "/#app_code=" + test.code + "&app_secret="
		if test.secret == ofFile {
			page = "\nIts page:      " + r.url + "/\n"
		}
		for _, want := range []string{"\nexport BK_ENDPOINT=" + r.url + " ", test.want, r.url + "/_sim/", page} {
			simtest.Check(t, strings.Contains(r.greeting, want) && !strings.Contains(r.greeting, ofFile), "%s: want %s: %s", name, want, r.greeting)
		}
		if test.secret == "" {
			_, after, _ := strings.Cut(r.greeting, "BK_APP_SECRET=")
			test.secret, _, _ = strings.Cut(after, " ")
			simtest.Check(t, len(test.secret) >= 20 && !seen[test.secret], "%s: the secret is %q", name, test.secret)
			seen[test.secret] = true
		}
		for secret, want := range map[string]int{test.secret: http.StatusOK, simulator.DefaultAppSecret: http.StatusUnauthorized, "": http.StatusUnauthorized} {
			status, _ := r.request(http.MethodPost, "/_sim/tick", "", test.code, secret)
			simtest.Want(t, name+": the switches, with the secret "+secret, status, want)
		}
	}
}

// The open socket decides whether an address is loopback, not its spelling.
func TestListen_asksTheSocket(t *testing.T) {
	t.Parallel()
	for address, loopback := range map[string]bool{"127.0.0.1:0": true, "127.0.0.2:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false} {
		listener, err := listen(t.Context(), address)
		if (err == nil) != loopback || err != nil && !strings.Contains(err.Error(), "is not a loopback address") {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			_ = listener.Close()
		}
	}
}

// Ending by an interrupt or SIGTERM is not an error.
func TestMain_endsWhenAsked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals can be sent")
	}
	for _, asked := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-listen", "127.0.0.1:0", "-hosts", "0:10.0.0.1")
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, err := cmd.StdoutPipe()
		simtest.Must(t, err, cmd.Start())
		_, err = out.Read(make([]byte, 1)) // it is ready
		simtest.Must(t, err, cmd.Process.Signal(asked), cmd.Wait())
	}
}

// Requests may contain control characters, which the log does not print as they are.
func TestCallLine_isOneLineOfText(t *testing.T) {
	t.Parallel()
	line := callLine(simulator.Call{API: "x\n\x1b[2Jforged", Namespace: "web\r", Name: "nginx", Op: -1, Message: "\x1b", Code: 1, Status: 200})
	simtest.Check(t, !strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\n\r\x1b"), "%q", line)
	if line := callLine(simulator.Call{API: "operate_proc_v2", Namespace: "网络", Name: "nginx", Op: 1}); !strings.Contains(line, " operate_proc_v2 op=1 网络:nginx ") {
		t.Errorf("%q", line)
	}
}

// A start that fails is an error. If the port is taken, the error says how to choose another.
func TestRun_cannotStart(t *testing.T) {
	t.Parallel()
	r := start(t, io.Discard, "-hosts", "0:10.0.0.1")
	state := put(t, "state.json", "{")
	for want, args := range map[string][]string{
		"make simulator SIMFLAGS='… -listen 127.0.0.1:0'": {"-listen", strings.TrimPrefix(r.url, "http://"), "-hosts", "0:10.0.0.1"},
		state: {"-listen", "127.0.0.1:0", "-local", "-state", state},
	} {
		simtest.WantError(t, run(t.Context(), args, io.Discard, io.Discard), want)
	}
}

func served(t *testing.T, args ...string) *simulator.Server {
	t.Helper()
	o, err := parseOptions(append([]string{"-quiet", "-local"}, args...), io.Discard)
	simtest.Must(t, err)
	sim, err := o.server(io.Discard)
	simtest.Must(t, err)
	return sim
}

// field returns the field of the simulator that has the name of a switch.
func field(sim *simulator.Server, name string) reflect.Value {
	name = strings.ReplaceAll(name, "-", "")
	return reflect.ValueOf(sim).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
}

// Each switch sets the field of its name in the simulator, and is a row of the table of beliefs. The only exception is the switch
// that test networks need. The same is true of a profile. The help explains each with what holds without it, and the other flags.
func TestQuirks(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	_, err := parseOptions([]string{"-h"}, &help)
	simtest.Want(t, "error of the help", errors.Is(err, flag.ErrHelp), true)
	wants := []string{"-admit CIDR", "-root directory", "-tenant", "export BK_ENDPOINT=http://127.0.0.1:8091", "BK_GATEWAY=apigw", "/api/v2/proc/", "/jobv3/", "/_sim/"}
	for _, name := range simulator.Switches() {
		b, known := belief.Find(name)
		wants = append(wants, name, strings.ReplaceAll(b.Holds.English, "`", ""))
		set := field(served(t, "-with", name), name)
		simtest.Check(t, set.IsValid() && set.Bool(), "-with: the field of %s is not set", name)
		if name == "admit-agents" {
			continue
		}
		simtest.Check(t, known && b.Switch && b.Expected == belief.No && b.Kind == belief.YesNo, "%s is no switch among the beliefs: %+v", name, b)
		if !field(served(t, "-platform", put(t, "platform.json", `{"format": 1, "beliefs": {"`+name+`": "yes"}}`)), name).Bool() {
			t.Errorf("-platform: the field of %s is not set", name)
		}
	}
	for _, b := range belief.All() {
		if b.Switch && !slices.Contains(simulator.Switches(), b.ID) {
			t.Errorf("the simulator has no switch %s", b.ID)
		}
	}
	simtest.WantIn(t, "help", help.String(), wants...)
}

// Assumptions that are not switches are followed too, or the greeting names them as not simulated.
func TestPlatform(t *testing.T) {
	t.Parallel()
	file := put(t, "platform.json", `{"format": 1, "beliefs": {"status-lag": "90s", "labels-added": "yes", "start-replaces": "no", "second-stop": "0"}}`)
	sim := served(t, "-platform", file, "-with", "hosting-once")
	simtest.Check(t, sim.Lag == 90*time.Second && len(sim.RowLabels) == 1 && !sim.StartReplaces && sim.HostingOnce,
		"lag %s, labels %v, start-replaces %t, hosting-once %t", sim.Lag, sim.RowLabels, sim.StartReplaces, sim.HostingOnce)
	sim = served(t, "-platform", file, "-row-label", "bk=1", "-tenant", "system", "-hosts", "0:10.0.0.1,"+simtest.AgentA)
	simtest.Want(t, "labels of a flag", sim.RowLabels, map[string]string{"bk": "1"})
	simtest.Want(t, "tenant", sim.TenantID, "system")
	simtest.Must(t, sim.Register("0:10.0.0.1", "web", "nginx", nil, ""), sim.Register(simtest.AgentA, "web", "nginx", nil, ""))
	r := start(t, io.Discard, "-quiet", "-local", "-platform", file)
	simtest.WantIn(t, "greeting", r.greeting, "Of this platform, not simulated: second-stop = 0.", "Not in the profile, so simulated as the provider believes: register-hosts,")
}

// Every boolean that distinguishes platforms has a switch.
func TestQuirks_complete(t *testing.T) {
	t.Parallel()
	own := map[string]bool{"Local": true, "StopProcesses": true} // flags of their own
	for f := range reflect.TypeFor[simulator.Server]().Fields() {
		if f.Type.Kind() != reflect.Bool || !f.IsExported() || own[f.Name] {
			continue
		}
		if !slices.ContainsFunc(simulator.Switches(), func(name string) bool { return strings.EqualFold(strings.ReplaceAll(name, "-", ""), f.Name) }) {
			t.Errorf("no switch for %s", f.Name)
		}
	}
}

// A simulator starts with the hosts and faults that its scenario declares. A bad scenario is refused.
func TestRun_scenario(t *testing.T) {
	t.Parallel()
	const steps = `,"steps":[{"say":"away","fault":{"unreachable":"117"}}]}`
	var log simtest.Buffer
	scenario := put(t, "scenario.json", `{"title":"t","simulator":{"hosts":"0:10.0.0.1"}`+steps)
	r := start(t, &log, "-quiet", "-app-code", "app", "-app-secret", "shh", "-scenario", scenario)
	simtest.WantIn(t, "answer", r.send(http.MethodPost, simtest.ESB("register_proc_info"), registration), `"error_code":117`)
	simtest.Want(t, "log", log.String(), "scenario: 1 of 1: away\n")
	for want, text := range map[string]string{
		`scenario.json:2: "titel" is not known here; did you mean "title"?`:           "{\n\"titel\":\"t\"}",
		`simulator: a scenario cannot set "root", only admit, hosts, row-label, with`: `{"title":"t","simulator":{"root":"/"}` + steps,
		`simulator: admit: `:  `{"title":"t","simulator":{"admit":"10"}` + steps,
		"no host is declared": `{"title":"t"` + steps,
	} {
		var stderr simtest.Buffer
		err := run(t.Context(), []string{"-scenario", put(t, "scenario.json", text)}, io.Discard, &stderr)
		simtest.Check(t, err != nil && strings.Contains(stderr.String(), want), "want %s: %v: %s", want, err, stderr.String())
	}
}

// Hosts of a topology are those of the process service and of CMDB.
func TestRun_topology(t *testing.T) {
	t.Parallel()
	sim := served(t, "-topology", put(t, "topology.json", `{"businesses":[{"id":3,"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","hosts":[{"ip":"10.0.0.1","agent_id":"`+simtest.AgentA+`"}]}]}]}]}`))
	simtest.Must(t, sim.Register(simtest.AgentA, "web", "nginx", nil, ""), sim.CMDB().Remove("0:10.0.0.1"))
}
