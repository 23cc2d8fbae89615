package providertest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Same fails the test if two values differ. Nil and an empty list or map of the same type are equal.
func Same(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Check fails the test, with this message, unless something holds.
func Check(tb testing.TB, holds bool, format string, args ...any) {
	tb.Helper()
	if !holds {
		tb.Errorf(format, args...)
	}
}

// Changed fails the test unless Changes returns exactly these calls.
func (s *Sim) Changed(tb testing.TB, want ...string) {
	tb.Helper()
	Same(tb, "calls that change something", want, s.Changes())
}

// Operated returns an operation of GSE on hosts by number, as Changes lists it.
func Operated(op int, hosts ...int) string {
	return fmt.Sprintf("operate_proc_v2/%d %s", op, Addresses(hosts...))
}
