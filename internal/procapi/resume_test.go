package procapi

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// Resume asks for an earlier run's operation, once or until it is over, and sends nothing. It waits for a
// host in progress. It does not wait for ever for a host that the task does not mention, since a
// forgotten task may look like a queued one.
func TestTasks_Resume(t *testing.T) {
	t.Parallel()
	var (
		none  = said(nil)
		first = said(map[string]int64{one1: 0})
		both  = said(map[string]int64{one1: 0, two2: 0})
		busy  = said(map[string]int64{one1: 0, two2: 115})
		later = func(a answer, n int) []answer {
			return append(slices.Repeat([]answer{a}, n), both)
		}
	)
	const unread = "the platform's result could not be read"
	for name, c := range map[string]struct {
		answers []answer // the last is repeated
		wait    bool
		want    fleet.Verdict // of the second host
		meaning string
		asked   int
		err     bool
	}{
		"look-done":        {[]answer{both}, false, fleet.Done, "", 1, false},
		"look-failed":      {[]answer{said(map[string]int64{one1: 0, two2: 65535})}, false, fleet.Failed, Meaning(65535, ""), 1, false},
		"look-in-progress": {[]answer{busy}, false, fleet.Pending, "still in progress", 1, false},
		"look-missing":     {[]answer{first}, false, fleet.Pending, "the platform's result did not mention the host", 1, false},
		"look-queued":      {[]answer{failing(taskQueued)}, false, fleet.Pending, "the task was still queued", 1, false},
		"look-bad-gateway": {[]answer{failing(badGateway)}, false, fleet.Pending, unread, 1, false},
		"look-refused":     {[]answer{failing(noSuchTask)}, false, fleet.Pending, unread, 1, false},

		"done":                   {[]answer{both}, true, fleet.Done, "", 1, false},
		"in-progress-for-long":   {later(busy, 30), true, fleet.Done, "", 31, false},
		"in-progress-then-gone":  {append([]answer{busy}, later(none, 30)...), true, fleet.Done, "", 32, false},
		"missing-at-first":       {later(first, silentLooks-1), true, fleet.Done, "", silentLooks, false},
		"queued-at-first":        {later(failing(taskQueued), silentLooks-1), true, fleet.Done, "", silentLooks, false},
		"missing":                {[]answer{first}, true, fleet.Lost, "the platform's result did not mention the host", silentLooks, false},
		"empty":                  {[]answer{none}, true, fleet.Lost, "the platform's result did not mention the host", silentLooks, false},
		"queued":                 {[]answer{failing(taskQueued)}, true, fleet.Lost, "the task was still queued", silentLooks, false},
		"queued-in-other-words":  {[]answer{failing(ErrQueued)}, true, fleet.Lost, "the task was still queued", silentLooks, false},
		"bad-gateway":            {[]answer{failing(badGateway)}, true, fleet.Pending, unread, silentLooks, false},
		"refused":                {[]answer{failing(noSuchTask)}, true, fleet.Lost, unread, silentLooks, true},
		"refused-at-first":       {later(failing(noSuchTask), silentLooks-1), true, fleet.Done, "", silentLooks, false},
		"in-progress-to-refused": {[]answer{busy, failing(noSuchTask)}, true, fleet.Pending, "still in progress", silentLooks + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &platform{t: t, answers: c.answers}
				hosts := procapitest.Parse(t, one1, two2)
				got := p.tasks().Resume(t.Context(), Resumption{Task: "T", Call: CallOf(fleet.Start, false), Hosts: hosts, Wait: c.wait})[hosts[1]]
				if got.Verdict != c.want || got.Meaning != c.meaning || got.TaskID != "T" || (got.Err != nil) != c.err {
					t.Errorf("got %+v, want verdict %d, %q", got, c.want, c.meaning)
				}
				if p.asked != c.asked || p.sent > 0 {
					t.Errorf("asked %d times, want %d; sent %d times", p.asked, c.asked, p.sent)
				}
			})
		})
	}
}

// If the caller ends the wait, the task does not count as forgotten.
func TestTasks_Resume_timeUp(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{"in-progress": said(map[string]int64{two2: 115}), "missing": said(nil), "queued": failing(taskQueued)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				p := &platform{t: t, answers: []answer{a}}
				hosts := procapitest.Parse(t, two2)
				got := p.tasks().Resume(ctx, Resumption{Task: "T", Call: CallOf(fleet.Start, false), Hosts: hosts, Wait: true})[hosts[0]]
				if got.Verdict != fleet.Pending || !errors.Is(got.Err, context.DeadlineExceeded) || !strings.Contains(got.Err.Error(), "task T") {
					t.Errorf("got %+v, want pending", got)
				}
			})
		})
	}
}

// One host is in progress, and the task does not mention the other. The wait for the first does not
// change the verdict on the second.
func TestTasks_Resume_sideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := said(map[string]int64{one1: 115})
		p := &platform{t: t, answers: append(slices.Repeat([]answer{busy}, 40), said(map[string]int64{one1: 0}))}
		hosts := procapitest.Parse(t, one1, two2)
		var observed int
		results := p.tasks().Resume(t.Context(), Resumption{
			Task: "T", Call: CallOf(fleet.Start, false), Hosts: hosts, Wait: true, Observe: func(fleet.Results) { observed++ },
		})
		if !results[hosts[0]].OK() || results[hosts[1]].Verdict != fleet.Lost || observed != 1 {
			t.Errorf("got %+v, observed verdicts %d times", results, observed)
		}
	})
}

func TestByTask(t *testing.T) {
	t.Parallel()
	hosts := procapitest.Parse(t, one1, two2, "0:10.0.0.3")
	restart := fleet.Task{ID: "T", Operation: fleet.Restart}
	over := restart
	over.Over, over.Fresh = 5, true
	groups := 0
	for group := range ByTask(map[fleet.Host]fleet.Task{hosts[0]: restart, hosts[1]: over, hosts[2]: {ID: "T", Operation: fleet.Start}}) {
		groups++
		if alone := group[0] == hosts[2]; alone != (len(group) == 1) {
			t.Errorf("together: %v", group)
		}
	}
	if groups != 2 {
		t.Errorf("got %d groups, want 2", groups)
	}
}
