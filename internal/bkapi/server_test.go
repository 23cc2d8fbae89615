package bkapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

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
