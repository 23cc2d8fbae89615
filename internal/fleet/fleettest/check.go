package fleettest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same fails the test if two values differ.
func Same(tb testing.TB, what string, want, got any, options ...cmp.Option) {
	tb.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Check fails the test unless something holds. The text says what is the case in place of it.
func Check(tb testing.TB, holds bool, format string, args ...any) {
	tb.Helper()
	if !holds {
		tb.Errorf(format, args...)
	}
}

// NoError ends the test if there is an error.
func NoError(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}
