package procapitest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// WantMade compares what a client returns for an answer of the corpus. Other tests check the texts of
// outcomes.
func WantMade(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(fleet.Outcome{}, "Meaning", "RequestID", "Err")); diff != "" {
		tb.Errorf("made of the answer (-want +got):\n%s", diff)
	}
}

// WantAllTried fails the test for each case of the corpus that a table lacks.
func WantAllTried[C interface{ ID() string }](tb testing.TB, cases []C, tried map[string]bool) {
	tb.Helper()
	for _, c := range cases {
		if !tried[c.ID()] {
			tb.Errorf("%s is not tried", c.ID())
		}
	}
}

// WantRequest compares a request with that of a case.
func WantRequest(tb testing.TB, of string, got []byte) {
	tb.Helper()
	if diff := DiffJSON(tb, contract.Get(of).Request, got); diff != "" {
		tb.Errorf("request (-contract +sent):\n%s", diff)
	}
}
