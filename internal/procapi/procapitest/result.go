package procapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Said returns the JSON of a result map. pairs alternates keys and JSON values.
func Said(pairs ...string) string {
	text := "{"
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%q:%s", pairs[i], pairs[i+1])
	}
	return text + "}"
}

// Code returns the result of one host in its documented form.
func Code(n int) string {
	return fmt.Sprintf(`{"error_code":%d,"error_msg":"message %d","content":""}`, n, n)
}

// DiffJSON returns the difference between two documents, apart from the order of members and the spelling of
// numbers.
func DiffJSON(tb testing.TB, want, got []byte) string {
	tb.Helper()
	var values [2]any
	for i, text := range [][]byte{want, got} {
		if err := json.Unmarshal(text, &values[i]); err != nil {
			tb.Fatalf("%v in %s", err, text)
		}
	}
	return cmp.Diff(values[0], values[1])
}

// WantEqual reports any difference between two values as an error of the test.
func WantEqual(tb testing.TB, what string, want, got any, options ...cmp.Option) {
	tb.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Check fails the test unless holds is true. The text says what was found instead.
func Check(tb testing.TB, holds bool, format string, args ...any) {
	tb.Helper()
	if !holds {
		tb.Errorf(format, args...)
	}
}

// WantOf compares what a call returned: outcomes or statuses by address, or only their verdicts or states if
// want has those. It also checks that every failure has a reason.
func WantOf(tb testing.TB, want, made any) {
	tb.Helper()
	switch full := made.(type) {
	case map[string]fleet.Outcome:
		if _, brief := want.(map[string]fleet.Verdict); brief {
			verdicts := make(map[string]fleet.Verdict)
			for address, o := range full {
				if verdicts[address] = o.Verdict; !o.OK() && o.Err == nil && o.Code == 0 && o.Meaning == "" {
					tb.Errorf("%s: no reason in %+v", address, o)
				}
			}
			made = verdicts
		}
	case map[string]fleet.Status:
		if _, brief := want.(map[string]fleet.State); brief {
			states := make(map[string]fleet.State)
			for address, status := range full {
				WantSound(tb, status)
				states[address] = status.State
			}
			made = states
		}
	}
	if diff := cmp.Diff(want, made, cmpopts.EquateErrors()); diff != "" {
		tb.Errorf("made of the answers (-want +got):\n%s", diff)
	}
}

// WantSound checks what is true of any status: it can be stored in state, and it has a message if it is
// unknown.
func WantSound(tb testing.TB, s fleet.Status) {
	tb.Helper()
	for _, usage := range []float64{s.CPUUsage, s.MemUsage} {
		if math.IsNaN(usage) || math.IsInf(usage, 0) {
			tb.Errorf("%v is no usage", usage)
		}
	}
	if (s.State == fleet.Unknown) != (s.Message != "") {
		tb.Errorf("state %s with message %q", s.State, s.Message)
	}
	if s.Hosted && !s.HostedKnown {
		tb.Error("hosted, which is not known")
	}
	if !utf8.ValidString(s.Message) {
		tb.Errorf("message is not UTF-8: %q", s.Message)
	}
	if strings.Contains(s.Version, "\n") {
		tb.Errorf("version is more than a line: %q", s.Version)
	}
}

// WantMade compares what a client returns for an answer of the corpus. Other tests check the texts of outcomes.
func WantMade(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(fleet.Outcome{}, "Meaning", "RequestID", "Err")); diff != "" {
		tb.Errorf("made of the answer (-want +got):\n%s", diff)
	}
}

// WantAllTried fails the test for each case of the corpus that a table does not try.
func WantAllTried[C interface{ ID() string }](tb testing.TB, cases []C, tried map[string]bool) {
	tb.Helper()
	for _, c := range cases {
		if !tried[c.ID()] {
			tb.Errorf("%s is not tried", c.ID())
		}
	}
}

// WantRequest compares a request with the one of a case of the corpus.
func WantRequest(tb testing.TB, of string, got []byte) {
	tb.Helper()
	if diff := DiffJSON(tb, contract.Get(of).Request, got); diff != "" {
		tb.Errorf("request (-contract +sent):\n%s", diff)
	}
}

// NoError ends the test if there is an error.
func NoError(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}
