package histories

import (
	"context"
	"fmt"
	"slices"
	"testing"
)

// recorder is the test of one replay: a history that fails is replayed to shrink it, so
// what fails is kept and not told.
type recorder struct {
	testing.TB // of which only what follows is used
	ctx        context.Context
	failures   []string
	cleanups   []func()
}

// stopped is what a replay panics with when it cannot go on.
type stopped struct{}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any)        { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	panic(stopped{})
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stopped{})
}

// close runs what was left for the end.
func (r *recorder) close() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}
