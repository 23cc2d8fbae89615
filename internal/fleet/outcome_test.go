package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

func TestResults(t *testing.T) {
	t.Parallel()
	results := fleet.Results{
		host(1): {Verdict: fleet.Done, TaskID: "task-b"},
		host(2): {Verdict: fleet.Failed, TaskID: "task-a"},
		host(3): {Verdict: fleet.Pending, TaskID: "task-b"},
		host(4): {Verdict: fleet.Lost},
		host(5): {Verdict: fleet.NotTried},
		host(6): {Verdict: fleet.Done, AlreadyDone: true},
	}
	// Host 7 has no result, so it is not one that succeeded.
	if diff := cmp.Diff(hosts(6, 1), results.Succeeded(hosts(7, 6, 5, 4, 3, 2, 1)), byString); diff != "" {
		t.Errorf("Succeeded (-want +got):\n%s", diff)
	}
	failures := byNumber(results.Failures())
	if len(failures) != 4 || failures[1].TaskID != "" || failures[2].TaskID != "task-a" {
		t.Errorf("Failures: got %v, want hosts 2 to 5", failures)
	}
	if diff := cmp.Diff([]string{"task-a", "task-b"}, results.TaskIDs()); diff != "" {
		t.Errorf("TaskIDs (-want +got):\n%s", diff)
	}
	results.Merge(fleet.Results{host(2): {Verdict: fleet.Done}, host(7): {Verdict: fleet.Failed}})
	if !results[host(2)].OK() || results[host(7)].OK() || len(results) != 7 {
		t.Errorf("Merge: got %v, want the later results to win", byNumber(results))
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	want := fleet.Outcome{Verdict: fleet.Failed, Code: 117}
	wantResults(t, byHost{1: want, 2: want}, fleet.Same(hosts(1, 2), want))
}

func TestEnded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		err                error
		ended, interrupted bool
	}{
		"nil":      {nil, false, false},
		"other":    {errors.New("down"), false, false},
		"canceled": {fmt.Errorf("waiting: %w", context.Canceled), true, true},
		"deadline": {fmt.Errorf("waiting: %w", context.DeadlineExceeded), true, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := fleet.Ended(test.err); got != test.ended {
				t.Errorf("Ended: got %t, want %t", got, test.ended)
			}
			if got := fleet.Interrupted(test.err); got != test.interrupted {
				t.Errorf("Interrupted: got %t, want %t", got, test.interrupted)
			}
		})
	}
}
