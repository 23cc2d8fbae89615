package bkapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// journal keeps what is logged, at every level.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(j, &slog.HandlerOptions{Level: bkapi.LevelTrace}))
}

// lines returns the log without its times.
func (j *journal) lines(t *testing.T) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for line := range strings.Lines(j.String()) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("reading the log: %v", err)
		}
		lines = append(lines, fields)
	}
	return lines
}

// warningHandler calls a function at every warning.
type warningHandler struct {
	slog.Handler
	call func()
}

func (h warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (h warningHandler) Handle(context.Context, slog.Record) error {
	h.call()
	return nil
}

func onWarning(call func()) *slog.Logger {
	return slog.New(warningHandler{slog.DiscardHandler, call})
}

func TestClient_logging(t *testing.T) {
	t.Parallel()
	s := newServer(t,
		reply(http.StatusBadGateway, ""),
		reply(http.StatusOK, `{"result":true,"code":0,"data":{},"request_id":"platform-1"}`),
	)
	j := &journal{}
	cfg := testConfig(s.URL)
	cfg.Logger = j.logger()
	in := map[string]string{"start_cmd": "./run --secret " + cfg.AppSecret}
	if _, err := newClient(t, cfg).Call(t.Context(), query, in, nil); err != nil {
		t.Fatal(err)
	}
	ours := s.received()[0].header.Get("X-Bkapi-Request-Id")
	url := s.URL + "/" + query.Path
	want := []map[string]any{
		{"level": "DEBUG-4", "msg": "calling API", "api": query.Name, "url": url, "request_id": ours, "body": `{"start_cmd":"./run --secret ***"}`},
		{"level": "DEBUG", "msg": "called API", "api": query.Name, "request_id": ours, "status": 502.0, "code": 0.0, "kind": "status"},
		{"level": "WARN", "msg": "repeating API call", "api": query.Name, "request_id": ours, "attempt": 1.0, "reason": "HTTP 502 Bad Gateway from " + url},
		{"level": "DEBUG", "msg": "called API", "api": query.Name, "request_id": "platform-1", "attempt": 2.0, "code": 0.0},
	}
	ignored := cmpopts.IgnoreMapEntries(func(key string, _ any) bool {
		return key == "time" || key == "ms" || key == "wait_ms"
	})
	if diff := cmp.Diff(want, j.lines(t), ignored); diff != "" {
		t.Errorf("log (-want +got): %s", diff)
	}
}

// accepted is an answer that chooses what is logged of it.
type accepted struct {
	TaskID string `json:"task_id"`
}

func (a *accepted) LogValue() slog.Value {
	return slog.GroupValue(slog.String("task_id", a.TaskID))
}

// A call's line has the caller's fields, and never a secret.
func TestClient_logFields(t *testing.T) {
	t.Parallel()
	cfg := testConfig("")
	s := newServer(t, reply(http.StatusOK, `{"result":true,"code":0,"data":{"task_id":"T1 `+cfg.AppSecret+`"}}`))
	j := &journal{}
	cfg = testConfig(s.URL)
	cfg.Logger = j.logger()
	ctx := bkapi.WithLogFields(t.Context(), slog.String("hosts", "0:10.0.0.1"))
	one, other := bkapi.WithLogFields(ctx, slog.Int("n", 1)), bkapi.WithLogFields(ctx, slog.Int("n", 2))
	for _, ctx := range []context.Context{one, other} {
		if _, err := newClient(t, cfg).Call(ctx, query, nil, &accepted{}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for _, line := range j.lines(t) {
		if line["msg"] != "called API" {
			continue
		}
		n++
		if line["hosts"] != "0:10.0.0.1" || line["n"] != float64(n) || line["task_id"] != "T1 ***" {
			t.Errorf("line %d: %v", n, line)
		}
	}
	if n != 2 {
		t.Errorf("%d calls were logged, want 2", n)
	}
}
