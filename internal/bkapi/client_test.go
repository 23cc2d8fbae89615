package bkapi_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestClient_credentials(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*bkapi.Config){
		"bk_username":  func(*bkapi.Config) {},
		"bk_token":     func(cfg *bkapi.Config) { cfg.Username, cfg.Token = "", "admin" },
		"access_token": func(cfg *bkapi.Config) { cfg.Username, cfg.AccessToken = "", "admin" },
	} {
		for _, gateway := range bkapi.Gateways() {
			s := newServer(t, ok(`{}`))
			cfg := testConfig(s.URL)
			cfg.Gateway = gateway
			set(&cfg)
			_, err := newClient(t, cfg).Call(t.Context(), query, map[string]any{"op_type": 2}, nil)
			procapitest.NoError(t, err)
			body, header := `{"op_type":2}`, ""
			if creds := `"bk_app_code":"bk-test","bk_app_secret":"s3cr3t-of-the-app","` + name + `":"admin"}`; gateway == bkapi.ESB {
				body = `{"op_type":2,` + creds
			} else {
				header = "{" + creds
			}
			got := s.received()[0]
			diff := procapitest.DiffJSON(t, []byte(body), got.body)
			procapitest.Check(t, diff == "", "%s, %s: body (-want +got): %s", gateway, name, diff)
			if value := got.header.Get("X-Bkapi-Authorization"); value == "" && header != "" || value != "" && procapitest.DiffJSON(t, []byte(header), []byte(value)) != "" {
				t.Errorf("%s, %s: header %q, want %q", gateway, name, value, header)
			}
		}
	}
}

func TestClient_request(t *testing.T) {
	t.Parallel()
	s := newServer(t, ok(`{}`))
	cfg := testConfig(s.URL + "/esb/")
	cfg.TenantID, cfg.UserAgent = "system", "terraform-provider-bk/1.2.3"
	client := newClient(t, cfg)
	for range 2 {
		_, err := client.Call(t.Context(), query, nil, nil)
		procapitest.NoError(t, err)
	}
	got, second := s.received()[0], s.received()[1]
	procapitest.Check(t, got.method == http.MethodPost && got.path == "/esb/api/c/compapi/v2/gse/get_proc_status_v2/", "got %s %s", got.method, got.path)
	for name, want := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "X-Bk-Tenant-Id": "system", "User-Agent": "terraform-provider-bk/1.2.3", "Cookie": ""} {
		procapitest.WantEqual(t, name, want, got.header.Get(name))
	}
	if a, b := got.header.Get("X-Bkapi-Request-Id"), second.header.Get("X-Bkapi-Request-Id"); len(a) != 32 || a == b {
		t.Errorf("request ids of two calls are %q and %q", a, b)
	}
}

func TestClient_requestNotBuilt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, out any }{"not-encodable": {in: map[string]any{"f": func() {}}}, "no-pointer": {out: map[string]any{}}, "nil": {out: (*struct{})(nil)}} {
		s := newServer(t, ok(`{}`))
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, test.in, test.out)
		if got := failureOf(t, err); got.Kind != bkapi.KindRequest || got.Sent || len(s.received()) > 0 {
			t.Errorf("%s: got %+v after %d requests", name, got, len(s.received()))
		}
	}
}

func TestClient_out(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		data  string
		want  map[string]int
		fails bool
	}{
		"replaced-as-a-whole":  {`{"new":2}`, map[string]int{"new": 2}, false},
		"null":                 {`null`, map[string]int{"old": 1}, false},
		"empty-string":         {`""`, map[string]int{"old": 1}, false},
		"untouched-by-failure": {`{"old":2,"odd":"text"}`, map[string]int{"old": 1}, true},
	} {
		out := map[string]int{"old": 1}
		_, err := newClient(t, testConfig(newServer(t, ok(test.data)).URL)).Call(t.Context(), query, nil, &out)
		if errors.As(err, new(*json.UnmarshalTypeError)) != test.fails || (err != nil) != test.fails || !maps.Equal(test.want, out) {
			t.Errorf("%s: got %v and %v, want %v and a mismatch: %t", name, out, err, test.want, test.fails)
		}
	}
}

func TestClient_requestID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step http.HandlerFunc
		want string
	}{
		"header-wins": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Bkapi-Request-Id", "from-header")
			reply(http.StatusOK, `{"code":5,"request_id":"from-body"}`)(w, r)
		}, "from-header"},
		"body":         {reply(http.StatusOK, `{"code":5,"request_id":"from-body"}`), "from-body"},
		"number":       {reply(http.StatusOK, `{"code":5,"request_id":17}`), "17"},
		"status":       {reply(http.StatusForbidden, `{"code":5,"request_id":"from-body"}`), "from-body"},
		"null-is-ours": {reply(http.StatusOK, `{"code":5,"request_id":null}`), ""},
	} {
		s := newServer(t, test.step)
		_, err := newClient(t, testConfig(s.URL)).Call(t.Context(), query, nil, nil)
		want := cmp.Or(test.want, s.received()[0].header.Get("X-Bkapi-Request-Id"))
		failure := failureOf(t, err)
		procapitest.Check(t, failure.RequestID == want, "%s: got %v, want request id %q", name, err, want)
	}
}

// TestClient_operationIsNotResentByTransport tests net/http itself, which repeats requests if a kept-alive connection dies under them.
func TestClient_operationIsNotResentByTransport(t *testing.T) {
	t.Parallel()
	for _, step := range []http.HandlerFunc{reset, raw("")} {
		s := newServer(t, ok(`{}`), step, ok(`{}`))
		client := newClient(t, testConfig(s.URL))
		if _, err := client.Call(t.Context(), operate, nil, nil); err != nil {
			t.Fatal(err)
		}
		_, err := client.Call(t.Context(), operate, nil, nil)
		posts := s.received()
		procapitest.Check(t, len(posts) == 2 && posts[0].remote == posts[1].remote, "got %d requests, want 2 on one connection", len(posts))
		procapitest.Check(t, bkapi.IsOutcomeUnknown(err), "got %v, want an unknown outcome", err)
	}
}

func TestClient_fails(t *testing.T) {
	t.Parallel()
	to := func(target string, status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(status)
		}
	}
	impatient := func(cfg *bkapi.Config) { cfg.MaxRetries, cfg.RequestTimeout = 0, time.Second }
	https := func(cfg *bkapi.Config) { cfg.Endpoint = strings.Replace(cfg.Endpoint, "http:", "https:", 1) }
	for name, test := range map[string]struct {
		step     http.HandlerFunc
		set      func(*bkapi.Config)
		time     time.Duration // of the operation, 0 if it was canceled before
		want     bkapi.Error   // Kind, Status, Sent, Attempts and Err
		says     string
		requests int
	}{
		"canceled-before":     {ok(`{}`), nil, 0, bkapi.Error{Kind: bkapi.KindCanceled, Err: context.Canceled}, "", 0},
		"request-takes-long":  {hang, impatient, time.Minute, bkapi.Error{Kind: bkapi.KindLost, Sent: true, Attempts: 1}, "no answer within 1s", 1},
		"body-takes-long":     {headersThenHang, impatient, time.Minute, bkapi.Error{Kind: bkapi.KindLost, Status: 200, Sent: true, Attempts: 1}, "no answer within 1s", 1},
		"http-behind-https":   {ok(`{}`), https, time.Minute, bkapi.Error{Kind: bkapi.KindTLS, Attempts: 1}, "", 0},
		"redirect-to-no-url":  {to("http://[::login", 302), nil, time.Minute, bkapi.Error{Kind: bkapi.KindRedirect, Status: 302, Sent: true}, "redirect not followed: its target is not a URL", 1},
		"redirect-to-login":   {to("https://login.example.com/x?from=s3cr3t", 307), nil, time.Minute, bkapi.Error{Kind: bkapi.KindRedirect, Status: 307, Sent: true}, "https://login.example.com", 1},
		"redirect-to-nothing": {to("", 302), nil, time.Minute, bkapi.Error{Kind: bkapi.KindStatus, Status: 302, Sent: true}, "", 1},
		"multiple-choices":    {reply(300, ""), nil, time.Minute, bkapi.Error{Kind: bkapi.KindStatus, Status: 300, Sent: true}, "", 1},
		"not-modified":        {reply(304, ""), nil, time.Minute, bkapi.Error{Kind: bkapi.KindStatus, Status: 304, Sent: true}, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, test.step)
			cfg := testConfig(s.URL)
			if test.set != nil {
				test.set(&cfg)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			switch test.time {
			case 0:
				cancel()
			default:
				ctx, cancel = context.WithTimeout(ctx, test.time)
				defer cancel()
			}
			_, err := newClient(t, cfg).Call(ctx, query, nil, nil)
			got := failureOf(t, err)
			procapitest.Check(t, got.Kind == test.want.Kind && got.Status == test.want.Status && got.Sent == test.want.Sent,
				"got %+v, want %+v", got, test.want)
			if test.want.Attempts != 0 && got.Attempts != test.want.Attempts || test.want.Err != nil && !errors.Is(err, test.want.Err) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if n := len(s.received()); n != test.requests || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "from=") {
				t.Errorf("got %v after %d requests, want %q after %d", err, n, test.says, test.requests)
			}
		})
	}
}

func TestClient_tls(t *testing.T) {
	t.Parallel()
	ca := func(cfg *bkapi.Config, s *server) {
		cfg.CACert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	}
	for name, test := range map[string]struct {
		versions *tls.Config
		set      func(*bkapi.Config, *server)
		fails    bool
	}{
		"known-ca": {&tls.Config{}, ca, false},
		"insecure": {&tls.Config{}, func(cfg *bkapi.Config, _ *server) { cfg.InsecureSkipVerify = true }, false},
		"wrong-host": {&tls.Config{}, func(cfg *bkapi.Config, s *server) {
			ca(cfg, s)
			cfg.Endpoint = strings.Replace(cfg.Endpoint, "127.0.0.1", "localhost", 1)
		}, true},
		//nolint:gosec // a server that is too old
		"tls-1.1": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, ca, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstartedServer(t, ok(`{}`))
			s.TLS = test.versions
			s.StartTLS()
			cfg := testConfig(s.URL)
			test.set(&cfg, s)
			_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)
			got := len(s.received())
			procapitest.Check(t, (got == 0) == test.fails && (err != nil) == test.fails, "got %v after %d requests", err, got)
			if !test.fails {
				return
			}
			failure := failureOf(t, err)
			procapitest.Check(t, failure.Kind == bkapi.KindTLS && !failure.Sent, "got %+v, want a KindTLS and nothing sent", failure)
		})
	}
}

func TestClient_boundsAnswer(t *testing.T) {
	t.Parallel()
	const limit, endless = 256 << 10, 64 << 20
	written := func(w io.Writer, most int) (n int) {
		for block := []byte(strings.Repeat(" ", 64<<10)); n < most; n += len(block) {
			if _, err := w.Write(block); err != nil {
				return n
			}
		}
		return n
	}
	for name, step := range map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, _ *http.Request) {
			if n := written(w, endless); n > endless/2 { // bytes beyond the limit are in the sockets' buffers
				t.Errorf("%d bytes were read of an endless answer", n)
			}
		},
		"gzip-bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			written(packed, 16*limit)
			_ = packed.Close()
		},
		"at-limit": ok(`"` + strings.Repeat("x", limit-len(`{"result":true,"code":0,"message":"","data":""}`)) + `"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(newServer(t, step).URL)
			cfg.MaxResponseBytes, cfg.MaxRetries = limit, 0
			_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)
			if name == "at-limit" {
				procapitest.Check(t, err == nil, "got %v", err)
			} else if failure := failureOf(t, err); failure.Kind != bkapi.KindFormat {
				t.Errorf("got %v, want a KindFormat", err)
			}
		})
	}
}

func TestClient_noSlotIsHeldDuringBackoff(t *testing.T) {
	t.Parallel()
	limits := bkapi.NewLimits(1, 0)
	other := testConfig(newServer(t, ok(`{}`)).URL)
	other.Limits = limits
	otherClient := newClient(t, other)
	var otherErr error
	cfg := testConfig(newServer(t, reply(http.StatusTooManyRequests, ""), ok(`{}`)).URL)
	cfg.Limits = limits
	cfg.Logger = onWarning(func() { // between the two tries
		_, otherErr = otherClient.Call(t.Context(), query, nil, nil)
	})
	_, err := newClient(t, cfg).Call(t.Context(), query, nil, nil)
	procapitest.Check(t, err == nil, "%s", err)
	procapitest.Check(t, otherErr == nil, "call during the backoff of another: %v", otherErr)
}

func TestClient_rateLimitBeforeDeadline(t *testing.T) {
	t.Parallel()
	cfg := testConfig(newServer(t, ok(`{}`)).URL)
	cfg.Limits = bkapi.NewLimits(1, 0.001)
	client := newClient(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := client.Call(ctx, operate, nil, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.Call(ctx, operate, nil, nil)
	if failure := failureOf(t, err); failure.Kind != bkapi.KindCanceled || failure.Sent || bkapi.IsOutcomeUnknown(err) {
		t.Errorf("got %+v, want a KindCanceled that was not sent", err)
	}
}

// The two kinds of API, as the clients declare them.
var (
	query   = bkapi.API{Name: "get_proc_status_v2", Path: "api/c/compapi/v2/gse/get_proc_status_v2/", Repeatable: true}
	operate = bkapi.API{Name: "operate_proc_v2", Path: "api/c/compapi/v2/gse/operate_proc_v2/"}
)

type post struct {
	method string
	path   string
	header http.Header
	body   []byte
	remote string
}

// server answers with its steps in turn, repeats the last one, and keeps the requests.
type server struct {
	*httptest.Server

	mu    sync.Mutex
	steps []http.HandlerFunc
	posts []post
}

func newServer(t *testing.T, steps ...http.HandlerFunc) *server {
	t.Helper()
	s := newUnstartedServer(t, steps...)
	s.Start()
	return s
}

func newUnstartedServer(t *testing.T, steps ...http.HandlerFunc) *server {
	t.Helper()
	s := &server{steps: steps}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	s.posts = append(s.posts, post{r.Method, r.URL.Path, r.Header, body, r.RemoteAddr})
	step := s.steps[min(len(s.posts), len(s.steps))-1]
	s.mu.Unlock()
	step(w, r)
}

func (s *server) received() []post {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]post(nil), s.posts...)
}

func reply(status int, body string) http.HandlerFunc {
	return replyAs("application/json", status, body)
}

func replyAs(contentType string, status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func ok(data string) http.HandlerFunc {
	return reply(http.StatusOK, fmt.Sprintf(`{"result":true,"code":0,"message":"","data":%s}`, data))
}

// reset breaks the connection after reading the request.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // the server of net/http
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// raw writes text that may not be HTTP, and closes the connection.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack() //nolint:forcetypeassert // the server of net/http
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}
}

// halfAnswer promises more than it sends.
var halfAnswer = raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"result\":tr")

// hang never answers; it ends when the client closes the connection.
func hang(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
}

func redirectTo(target string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, status) }
}

// headersThenHang begins a valid answer and never completes it.
func headersThenHang(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// testConfig is a client of the ESB that waits a millisecond between tries.
func testConfig(endpoint string) bkapi.Config {
	return bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB, AppCode: "bk-test", AppSecret: "s3cr3t-of-the-app", Username: "admin", MaxRetries: 2,
		RetryWaitMin: time.Millisecond, RetryWaitMax: 2 * time.Millisecond, RequestTimeout: 30 * time.Second,
	}
}

func newClient(t *testing.T, cfg bkapi.Config) *bkapi.Client {
	t.Helper()
	client, err := bkapi.New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// failureOf is the *Error that a call ended with. It fails the test if there is none.
func failureOf(t *testing.T, err error) *bkapi.Error {
	t.Helper()
	var failure *bkapi.Error
	if !errors.As(err, &failure) {
		t.Fatalf("got %v, want an *Error", err)
	}
	return failure
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
