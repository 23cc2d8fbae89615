package procapitest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
)

// Ending returns a context and a function that ends it with cause. cause is context.Canceled or
// context.DeadlineExceeded, for which no time has to pass.
func Ending(tb testing.TB, cause error) (context.Context, func()) {
	tb.Helper()
	if errors.Is(cause, context.DeadlineExceeded) {
		d := &deadline{Context: context.WithoutCancel(tb.Context()), done: make(chan struct{})}
		tb.Cleanup(d.expire)
		return d, d.expire
	}
	ctx, cancel := context.WithCancel(tb.Context())
	tb.Cleanup(cancel)
	return ctx, cancel
}

// deadline is a context whose deadline passes when the test says so.
type deadline struct {
	context.Context

	done chan struct{}
	once sync.Once
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

// OnCall returns a logger for a bkapi.Config that calls then after each attempt of an API, once its answer has
// been read. So a test can end a context between two polls.
func OnCall(api string, then func(n int)) *slog.Logger {
	return slog.New(&tries{api: api, then: then})
}

// tries is a slog.Handler that counts the attempts of an API.
type tries struct {
	api  string
	then func(n int)

	mu sync.Mutex
	n  int
}

func (h *tries) Handle(_ context.Context, record slog.Record) error {
	if record.Message != "called API" {
		return nil
	}
	record.Attrs(func(a slog.Attr) bool {
		if a.Key == "api" && a.Value.String() == h.api {
			h.mu.Lock()
			h.n++
			n := h.n
			h.mu.Unlock()
			h.then(n)
		}
		return a.Key != "api"
	})
	return nil
}

func (h *tries) Enabled(context.Context, slog.Level) bool { return true }
func (h *tries) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *tries) WithGroup(string) slog.Handler            { return h }
