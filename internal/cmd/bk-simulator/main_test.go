package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// asCommand has this binary be the command itself.
const asCommand = "BK_TEST_AS_SIMULATOR"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// buffer is written by the command and read by the test.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// start runs the command and returns its URL and a function that ends it and
// returns its error.
func start(t *testing.T, stderr io.Writer, args ...string) (url string, stop func() error) {
	t.Helper()
	url, _, stop = greeted(t, stderr, args...)
	return url, stop
}

// greeted is start that also returns what the command prints when it is ready.
func greeted(t *testing.T, stderr io.Writer, args ...string) (url, greeting string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), in, stderr)
		_ = in.CloseWithError(err)
		done <- err
	}()
	// It is written at once, and so it is read.
	text := make([]byte, 4096)
	n, err := out.Read(text)
	if err != nil {
		cancel()
		t.Fatalf("not ready: %v, %v", err, <-done)
	}
	greeting = string(text[:n])
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			return errors.New("it does not end")
		}
	})
	t.Cleanup(func() { _ = stop() })
	line, _, _ := strings.Cut(greeting, "\n")
	url, found := strings.CutPrefix(line, "listening on ")
	if !found {
		t.Fatalf("ready line %q", line)
	}
	return url, greeting, stop
}

func get(t *testing.T, url string) string {
	t.Helper()
	return send(t, http.MethodGet, url, "")
}

// send adds the credentials of registration, which a simulator with others than the
// default ones wants at its control endpoint.
func send(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "shh")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: HTTP %d, %v: %s", method, url, resp.StatusCode, err, data)
	}
	return string(data)
}

const registration = `{"bk_app_code":"app","bk_app_secret":"shh","bk_username":"admin",
	"meta":{"namespace":"web","name":"nginx"},"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}],
	"spec":{"identity":{"proc_name":"nginx","setup_path":"/opt","pid_path":"/run/nginx.pid","user":"root"},
	"control":{},"resource":{"cpu":1,"mem":1},"monitor_policy":{"auto_type":1}}}`

func TestRun_servesAndRemembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state, ready := filepath.Join(dir, "state.json"), filepath.Join(dir, "ready")
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("shh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-hosts", "0:10.0.0.1,0:10.0.0.2", "-admit", "10.1.0.0/16", "-app-code", "app", "-app-secret-file", secret,
		"-state", state, "-ready-file", ready,
	}
	var log buffer
	url, stop := start(t, &log, args...)

	answer := send(t, http.MethodPost, url+"/api/c/compapi/v2/gse/register_proc_info/", registration)
	if !strings.Contains(answer, `"0:0:10.0.0.1:web:nginx":{"content":"","error_code":0`) {
		t.Errorf("answer: %s", answer)
	}
	if index := get(t, url+"/_sim/"); !strings.Contains(index, "curl") {
		t.Errorf("index: %s", index)
	}
	if !strings.Contains(log.String(), " register_proc_info web:nginx hosts=1 code=0 ") {
		t.Errorf("log: %s", log.String())
	}
	if data, err := os.ReadFile(ready); err != nil || string(data) != url+"\n" {
		t.Errorf("ready file: %q, %v", data, err)
	}
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := os.Stat(ready); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ready file is still there: %v", err)
	}

	var quiet buffer
	url, _ = start(t, &quiet, append(args, "-quiet")...)
	if processes := get(t, url+"/_sim/processes"); !strings.Contains(processes, `"registered": true`) {
		t.Errorf("after a restart: %s", processes)
	}
	send(t, http.MethodPost, url+"/api/c/compapi/v2/gse/register_proc_info/", registration)
	if quiet.String() != "" {
		t.Errorf("quiet: %s", quiet.String())
	}
}

func TestRun_tenantAndAgentIDs(t *testing.T) {
	t.Parallel()
	const agentID = "0200000007525400f355781710390005465c"
	url, _ := start(t, io.Discard, "-quiet", "-hosts", "0:10.0.0.1,"+agentID, "-tenant", "system", "-app-secret", "shh")
	for tenant, want := range map[string]int{"system": http.StatusOK, "other": http.StatusForbidden} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/bk-gse/prod/api/v2/proc/get_proc_status_v2",
			strings.NewReader(`{"meta":{"namespace":"web","name":"nginx"},"agent_id_list":["`+agentID+`"]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Bkapi-Authorization", `{"bk_app_code":"bk_test","bk_app_secret":"shh","bk_username":"admin"}`)
		req.Header.Set("X-Bk-Tenant-Id", tenant)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("tenant %s: HTTP %d, want %d", tenant, resp.StatusCode, want)
		}
	}
}

func TestRun_addsLabelsToRows(t *testing.T) {
	t.Parallel()
	url, _ := start(t, io.Discard, "-quiet", "-hosts", "0:10.0.0.1", "-app-code", "app", "-app-secret", "shh", "-row-label", "bk=1")
	send(t, http.MethodPost, url+"/api/c/compapi/v2/gse/register_proc_info/", registration)
	rows := send(t, http.MethodPost, url+"/api/c/compapi/v2/gse/sync_proc_status/",
		`{"bk_app_code":"app","bk_app_secret":"shh","bk_username":"admin","meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`)
	if !strings.Contains(rows, `"labels":{"bk":"1"}`) {
		t.Errorf("rows: %s", rows)
	}
}

func TestRun_refusesFlags(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want string
	}{
		"every-interface": {[]string{"-listen", "0.0.0.0:8091", "-local"}, `"0.0.0.0" is not a loopback address`},
		"no-interface":    {[]string{"-listen", ":8091", "-local"}, `"" is not a loopback address`},
		"another-machine": {[]string{"-listen", "192.0.2.1:8091", "-local"}, "not a loopback address"},
		"every-ipv6":      {[]string{"-listen", "[::]:8091", "-local"}, `"::" is not a loopback address`},
		"private-address": {[]string{"-listen", "10.0.0.1:8091", "-local"}, "not a loopback address"},
		"public-name":     {[]string{"-listen", "example.com:8091", "-local"}, `"example.com" is not a loopback address`},
		"lookalike":       {[]string{"-listen", "localhost.example.com:8091", "-local"}, "not a loopback address"},
		"short-zero":      {[]string{"-listen", "0:8091", "-local"}, `"0" is not a loopback address`},
		"no-secret-file":  {[]string{"-local", "-app-secret-file", "/nonexistent"}, "no such file"},
		"empty-secret":    {[]string{"-local", "-app-secret-file", os.DevNull}, "it is empty"},
		"known-secret":    {[]string{"-local", "-app-secret", simulator.DefaultAppSecret}, "everybody knows"},
		"no-port":         {[]string{"-listen", "127.0.0.1", "-local"}, "missing port"},
		"no-hosts":        {nil, "no host is declared"},
		"bad-host":        {[]string{"-hosts", "web-1"}, `host "web-1": want "cloud:ip"`},
		"bad-prefix":      {[]string{"-admit", "10.0.0.0"}, "10.0.0.0"},
		"root-alone":      {[]string{"-root", "x", "-hosts", "0:10.0.0.1"}, "-root is for -local hosts"},
		"row-label":       {[]string{"-local", "-row-label", "bk"}, "want name=value"},
		"argument":        {[]string{"-local", "now"}, `unexpected argument "now"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stderr buffer
			err := run(t.Context(), test.args, io.Discard, &stderr)
			if !errors.Is(err, errUsage) || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("got %v: %s", err, stderr.String())
			}
		})
	}
}

// The simulator prints everything that is needed to use it.
func TestRun_printsHowItIsReached(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "it's a secret")
	if err := os.WriteFile(file, []byte("of a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for name, test := range map[string]struct {
		args         []string
		code, secret string // "" for a random one
		want         string
	}{
		"random":        {[]string{"-local"}, "bk_test", "", " BK_APP_CODE=bk_test BK_APP_SECRET="},
		"random-again":  {[]string{"-local"}, "bk_test", "", " BK_USERNAME=admin\n"},
		"virtual-hosts": {[]string{"-hosts", "0:10.0.0.1"}, "bk_test", "", " BK_APP_CODE=bk_test BK_APP_SECRET="},
		"of-a-file":     {[]string{"-local", "-app-secret-file", file}, "bk_test", "of a file", `it'\''s a secret')" BK_USERNAME=admin`},
		"of-a-flag":     {[]string{"-local", "-app-secret", "o'ne $HOME"}, "bk_test", "o'ne $HOME", `BK_APP_SECRET='o'\''ne $HOME' `},
		"all-given": {
			[]string{"-local", "-app-code", "app", "-app-secret", "shh", "-username", "joe", "-tenant", "system"}, "app", "shh",
			" BK_APP_CODE=app BK_APP_SECRET=shh BK_USERNAME=joe BK_TENANT_ID=system\n",
		},
	} {
		url, greeting, _ := greeted(t, io.Discard, append([]string{"-quiet"}, test.args...)...)
		if !strings.Contains(greeting, "\nexport BK_ENDPOINT="+url+" ") || !strings.Contains(greeting, test.want) || !strings.Contains(greeting, url+"/_sim/") {
			t.Errorf("%s: %s", name, greeting)
		}
		if test.secret == "of a file" && strings.Contains(greeting, test.secret) {
			t.Errorf("%s: the secret is printed: %s", name, greeting)
		}
		page := "\nIts page:      " + url + "/#app_code=" + test.code + "&app_secret="
		if test.secret == "of a file" {
			page = "\nIts page:      " + url + "/\n"
		}
		if !strings.Contains(greeting, page) {
			t.Errorf("%s: no page: %s", name, greeting)
		}
		if test.secret == "" {
			_, after, _ := strings.Cut(greeting, "BK_APP_SECRET=")
			test.secret, _, _ = strings.Cut(after, " ")
			if len(test.secret) < 20 || seen[test.secret] {
				t.Errorf("%s: the secret is %q", name, test.secret)
			}
			seen[test.secret] = true
		}
		for secret, want := range map[string]int{test.secret: http.StatusOK, simulator.DefaultAppSecret: http.StatusUnauthorized, "": http.StatusUnauthorized} {
			if got := switched(t, url, test.code, secret); got != want {
				t.Errorf("%s: with %q the switches answer HTTP %d, want %d", name, secret, got, want)
			}
		}
	}
}

// switched is what the control endpoint answers to credentials, or to none.
func switched(t *testing.T, url, code, secret string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/_sim/tick", nil)
	if err != nil {
		t.Fatal(err)
	}
	if secret != "" {
		req.SetBasicAuth(code, secret)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// What a name means is not for its spelling to say.
func TestListen_asksTheSocket(t *testing.T) {
	t.Parallel()
	for address, loopback := range map[string]bool{"127.0.0.1:0": true, "127.0.0.2:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false} {
		listener, err := listen(t.Context(), address)
		if (err == nil) != loopback {
			t.Errorf("%s: %v", address, err)
		}
		if err == nil {
			_ = listener.Close()
		} else if !strings.Contains(err.Error(), "is not a loopback address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Requests may contain anything, and the simulator's terminal prints them safely.
// Who asks it to end has not met a failure.
func TestMain_endsWhenAsked(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals can be sent")
	}
	for _, asked := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-listen", "127.0.0.1:0", "-hosts", "0:10.0.0.1")
		cmd.Env = append(os.Environ(), asCommand+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, unread := out.Read(make([]byte, 1)) // it is ready
		sent := cmd.Process.Signal(asked)
		if err := cmd.Wait(); unread != nil || sent != nil || err != nil {
			t.Errorf("%v: it ended with %v (%v, %v)", asked, err, unread, sent)
		}
	}
}

// If a port is taken, the error says how to choose another.
func TestRun_portIsTaken(t *testing.T) {
	t.Parallel()
	url, _ := start(t, io.Discard, "-hosts", "0:10.0.0.1")
	err := run(t.Context(), []string{"-listen", strings.TrimPrefix(url, "http://"), "-hosts", "0:10.0.0.1"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "make simulator SIMFLAGS='… -listen 127.0.0.1:0'") {
		t.Errorf("said %v", err)
	}
}

func TestCallLine_isOneLineOfText(t *testing.T) {
	t.Parallel()
	line := callLine(simulator.Call{API: "x\n\x1b[2Jforged", Namespace: "web\r", Name: "nginx", Op: -1, Message: "\x1b", Code: 1, Status: 200})
	if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\n\r\x1b") {
		t.Errorf("%q", line)
	}
	if line := callLine(simulator.Call{API: "operate_proc_v2", Namespace: "网络", Name: "nginx", Op: 1}); !strings.Contains(line, " operate_proc_v2 op=1 网络:nginx ") {
		t.Errorf("%q", line)
	}
}

func TestRun_help(t *testing.T) {
	t.Parallel()
	var stderr buffer
	err := run(t.Context(), []string{"-h"}, io.Discard, &stderr)
	if !errors.Is(err, flag.ErrHelp) {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"-admit CIDR", "-root directory", "-tenant", "export BK_ENDPOINT=http://127.0.0.1:8091", "BK_GATEWAY=apigw", "/api/v2/proc/", "/jobv3/", "/_sim/"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in the help:\n%s", want, stderr.String())
		}
	}
}

func TestRun_reportsAStateFileItCannotRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-local", "-state", file}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
