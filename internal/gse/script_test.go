package gse

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// exchange is a request that a test expects, and the answer to it.
type exchange struct {
	api   string
	reply http.HandlerFunc
	times int // 0 means once; forEver means as often as it is asked
}

const forEver = -1

// script is a server that knows the requests to come. One that it does not
// expect fails the test, and so does one that never came.
type script struct {
	t    *testing.T
	path string // of an API, by its name

	mu     sync.Mutex
	steps  []exchange
	bodies []json.RawMessage
}

// newScript is the ESB.
func newScript(t *testing.T, steps ...exchange) (*script, string) {
	t.Helper()
	return scriptAt(t, "/api/c/compapi/v2/gse/%s/", steps)
}

func scriptAt(t *testing.T, path string, steps []exchange) (*script, string) {
	t.Helper()
	s := &script{t: t, path: path, steps: steps}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(func() {
		server.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, step := range s.steps {
			if step.times != forEver {
				t.Errorf("%s was not called", step.api)
			}
		}
	})
	return s, server.URL
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.next(r.URL.Path, body)(w, r)
}

func (s *script) next(path string, body []byte) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) == 0 || fmt.Sprintf(s.path, s.steps[0].api) != path {
		s.t.Errorf("unexpected call of %s: %s", path, body)
		return answer(http.StatusOK, `{"result":false,"code":1306404,"message":"not in the script"}`)
	}
	s.bodies = append(s.bodies, body)
	step := s.steps[0]
	switch step.times {
	case forEver:
	case 0, 1:
		s.steps = s.steps[1:]
	default:
		s.steps[0].times--
	}
	return step.reply
}

// requests are the bodies so far.
func (s *script) requests() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]json.RawMessage(nil), s.bodies...)
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Bkapi-Request-Id", "req-1")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// data is a success that carries this.
func data(body string) http.HandlerFunc {
	return answer(http.StatusOK, `{"result":true,"code":0,"message":"success","data":`+body+`}`)
}

// refusal is the platform's no.
func refusal(code int, data string) http.HandlerFunc {
	return answer(http.StatusOK, fmt.Sprintf(`{"result":false,"code":%d,"message":"redis reply is not string","data":%s}`, code, data))
}

// gone reads the request and never answers.
func gone(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// hang calls then, and answers nothing until the client goes away.
func hang(then func()) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		then()
		<-r.Context().Done()
	}
}

// accepted is an operation that became task T.
var accepted = exchange{api: apiOperate, reply: data(`{"task_id":"T"}`)}

// result is one answer about task T.
func result(body string) exchange { return exchange{api: apiResult, reply: data(body)} }

func times(n int, e exchange) exchange {
	e.times = n
	return e
}

// quick is a client of endpoint that waits a millisecond between polls and does
// not repeat requests by itself.
func quick(tb testing.TB, endpoint string) *Client {
	tb.Helper()
	return newTestClient(tb, endpoint, nil)
}

// newTestClient lets edit change the configuration first.
func newTestClient(tb testing.TB, endpoint string, edit func(*bkapi.Config, *procapi.Options)) *Client {
	tb.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB,
		AppCode: "bk_test", AppSecret: "s3cret", Username: "admin",
		RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	}
	opts := procapi.Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(api.Close)
	return NewClient(api, cfg.Gateway, opts)
}

// onCall is a logger that calls then after each try of an API, when its answer
// has been read. A test can so end a context between two polls.
func onCall(api string, then func(n int)) *slog.Logger {
	return slog.New(&tries{api: api, then: then})
}
