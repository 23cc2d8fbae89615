package job

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// exchange is a request that a test expects, and the answer to it.
type exchange struct {
	api   string
	reply http.HandlerFunc
	times int // 0 means once; forEver means as often as it is asked
}

const forEver = -1

// script is a JOB that knows the requests to come. One that it does not expect
// fails the test, and so does one that never came.
type script struct {
	t    *testing.T
	base string

	mu     sync.Mutex
	steps  []exchange
	bodies []json.RawMessage
}

func newScript(t *testing.T, steps ...exchange) (*script, string) {
	t.Helper()
	s := &script{t: t, base: "/api/c/compapi/v2/jobv3/", steps: steps}
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
	if len(s.steps) == 0 || s.base+s.steps[0].api+"/" != path {
		s.t.Errorf("unexpected call of %s: %s", path, body)
		return answer(http.StatusOK, `{"result":false,"code":1,"message":"not in the script"}`)
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
	return answer(http.StatusOK, `{"result":true,"code":0,"message":"success","data":`+body+`,"permission":null}`)
}

// refusal is the platform's no.
func refusal(code int, message string) http.HandlerFunc {
	return answer(http.StatusOK, fmt.Sprintf(`{"result":false,"code":%d,"message":%q,"data":null}`, code, message))
}

// gone reads the request and never answers.
func gone(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// closing calls end before it replies.
func closing(end func(), reply http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		end()
		reply(w, r)
	}
}

func times(n int, e exchange) exchange {
	e.times = n
	return e
}

var (
	// accepted and registered are operations that became task T.
	accepted   = exchange{api: apiOperate, reply: data(`{"bk_gse_taskid":"T"}`)}
	registered = exchange{api: apiManage, reply: data(`{"bk_gse_taskid":"T"}`)}
)

// result is one answer about task T, with the status of the document's sample.
func result(body string) exchange {
	return exchange{api: apiResult, reply: data(`{"status":115,"result":` + body + `}`)}
}

// foundOn is the query that follows a manage_proc, and what the agents of these
// hosts say.
func foundOn(instance string, numbers ...int) []exchange {
	pairs := make([]string, 0, 2*len(numbers))
	for _, n := range numbers {
		pairs = append(pairs, key(n), answered(instance))
	}
	return []exchange{accepted, result(said(pairs...))}
}

// quick is a client of endpoint that waits a millisecond between polls and does
// not repeat requests by itself.
func quick(t *testing.T, endpoint string) *Client {
	t.Helper()
	return newTestClient(t, endpoint, nil)
}

// newTestClient lets edit change the configuration first.
func newTestClient(t *testing.T, endpoint string, edit func(*bkapi.Config, *Options)) *Client {
	t.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB,
		AppCode: "esb_test", AppSecret: "xxx", Token: "xxx",
		RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	}
	opts := Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return NewClient(api, opts)
}

// deadline is a context whose time is up when the test says so.
type deadline struct {
	context.Context

	done chan struct{}
	once sync.Once
}

func newDeadline(t *testing.T) *deadline {
	t.Helper()
	d := &deadline{Context: context.WithoutCancel(t.Context()), done: make(chan struct{})}
	t.Cleanup(d.expire)
	return d
}

func (d *deadline) expire() { d.once.Do(func() { close(d.done) }) }

func (d *deadline) Done() <-chan struct{} { return d.done }

func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}
