package providertest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Same fails the test where two values differ. Nothing and an empty list or map of one type
// are the same.
func Same(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Changed fails the test unless the calls that changed something, as Changes lists them, are
// these.
func (s *Sim) Changed(tb testing.TB, want ...string) {
	tb.Helper()
	Same(tb, "calls that change something", want, s.Changes())
}

// Operated is how Changes lists an operation of GSE on hosts by number.
func Operated(op int, hosts ...int) string {
	return fmt.Sprintf("operate_proc_v2/%d %s", op, Addresses(hosts...))
}
