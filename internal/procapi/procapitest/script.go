package procapitest

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Exchange is a request that a test expects, and the answer to it.
type Exchange struct {
	API   string
	Reply http.HandlerFunc
	Times int // 0 means once, ForEver any number, including none
}

// ForEver is for the last exchange of a script, whose requests are not counted.
const ForEver = -1

// Times returns e, expected n times.
func Times(n int, e Exchange) Exchange {
	e.Times = n
	return e
}

// OfContract returns the API and the answer of a case of the corpus.
func OfContract(id string) Exchange {
	c := contract.Get(id)
	return Exchange{API: c.Endpoint, Reply: Answer(http.StatusOK, string(c.Response))}
}

// Seen returns an answer that was observed on a real platform.
func Seen(id string) Exchange {
	s := contract.Answer(id)
	return Exchange{API: s.Endpoint, Reply: Answer(http.StatusOK, string(s.Body))}
}

// Script is a server that expects certain requests in order. An unexpected or a missing request fails the test.
type Script struct {
	tb   testing.TB
	path string

	mu     sync.Mutex
	steps  []Exchange
	bodies []json.RawMessage
}

// NewScript serves a script and returns its address. path is the path of an API, with %s in place of its name.
func NewScript(tb testing.TB, path string, steps ...Exchange) (*Script, string) {
	tb.Helper()
	s := &Script{tb: tb, path: path, steps: slices.Clone(steps)}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	tb.Cleanup(func() {
		server.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, step := range s.steps {
			if step.Times != ForEver {
				tb.Errorf("%s was not called", step.API)
			}
		}
	})
	return s, server.URL
}

// ServeHTTP gives the next answer of the script.
func (s *Script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.next(r.URL.Path, body)(w, r)
}

func (s *Script) next(path string, body []byte) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) == 0 || fmt.Sprintf(s.path, s.steps[0].API) != path {
		s.tb.Errorf("unexpected call of %s: %s", path, body)
		return Refusal(1, "not in the script", "null")
	}
	s.bodies = append(s.bodies, body)
	step := s.steps[0]
	switch step.Times {
	case ForEver:
	case 0, 1:
		s.steps = s.steps[1:]
	default:
		s.steps[0].Times--
	}
	return step.Reply
}

// Requests returns the bodies of the requests so far.
func (s *Script) Requests() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// RequestID is the request id in every answer.
const RequestID = "req-1"

// Answer answers with any status and body.
func Answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Bkapi-Request-Id", RequestID)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Data answers with success and this data.
func Data(body string) http.HandlerFunc {
	return Answer(http.StatusOK, `{"result":true,"code":0,"message":"success","data":`+body+`,"permission":null}`)
}

// Refusal answers that the platform refuses the request.
func Refusal(code int, message, data string) http.HandlerFunc {
	return Answer(http.StatusOK, fmt.Sprintf(`{"result":false,"code":%d,"message":%q,"data":%s}`, code, message, data))
}

// Gone reads the request and never answers.
func Gone(w http.ResponseWriter, _ *http.Request) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// Hang calls then, and does not answer until the client closes the connection.
func Hang(then func()) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		then()
		<-r.Context().Done()
	}
}

// Serve serves a simulator that knows every host of 10.0.0.0/8, and returns its address. A request that no
// document describes fails the test.
func Serve(tb testing.TB, sim *simulator.Server) string {
	tb.Helper()
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	server := httptest.NewServer(sim)
	tb.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			tb.Error(err)
		}
		for _, violation := range sim.Violations() {
			tb.Errorf("violation: %s", violation)
		}
	})
	return server.URL
}

// ClosedEndpoint returns an address that refuses connections until the test ends. Another test might reuse the
// port of a closed server. This port is held, as the near end of a connection.
func ClosedEndpoint(tb testing.TB) string {
	tb.Helper()
	far, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = far.Close() })
	conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", far.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return "http://" + conn.LocalAddr().String()
}
