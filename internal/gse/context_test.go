package gse

import (
	"context"
	"log/slog"
	"sync"
	"testing"
)

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

// tries is a slog.Handler that counts the tries of an API.
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
