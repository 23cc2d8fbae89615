package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
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
	fleettest.Same(t, "Succeeded", hosts(6, 1), results.Succeeded(hosts(7, 6, 5, 4, 3, 2, 1)), byString)
	if failures := byNumber(results.Failures()); len(failures) != 4 || failures[1].TaskID != "" || failures[2].TaskID != "task-a" {
		t.Errorf("Failures: got %v, want hosts 2 to 5", failures)
	}
	fleettest.Same(t, "TaskIDs", []string{"task-a", "task-b"}, results.TaskIDs())
	results.Merge(fleet.Results{host(2): {Verdict: fleet.Done}, host(7): {Verdict: fleet.Failed}})
	if !results[host(2)].OK() || results[host(7)].OK() || len(results) != 7 {
		t.Errorf("Merge: got %v, want the later results to win", byNumber(results))
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err                error
		ended, interrupted bool
	}{
		"nil":      {nil, false, false},
		"other":    {errors.New("down"), false, false},
		"canceled": {fmt.Errorf("waiting: %w", context.Canceled), true, true},
		"deadline": {fmt.Errorf("waiting: %w", context.DeadlineExceeded), true, false},
	} {
		if ended, interrupted := fleet.Ended(test.err), fleet.Interrupted(test.err); ended != test.ended || interrupted != test.interrupted {
			t.Errorf("%s: ended: %t, interrupted: %t", name, ended, interrupted)
		}
	}
}

// A registration that the agent dates by another name of the machine alone is not what is on
// file by the name that is asked for, however that looks.
func TestReconcile_datedByAnotherName(t *testing.T) {
	t.Parallel()
	want := desired(fleet.EnsureRegistered)
	ours := labelled(row(fleet.Stopped, true, 5), ownedBy("us"))
	cases := map[string]struct {
		told  fleet.Status // by the other name, which is host 2
		reads bool         // the cached status counts
	}{
		"registered-since": {row(fleet.Stopped, true, 9), false},
		"registered-then":  {row(fleet.Stopped, true, 5), true},
		"tells-no-times":   {healthy, true},
		"does-not-answer":  {fleet.Status{State: fleet.Unknown}, false},
		"unreadable":       {fleet.Status{State: fleet.Unknown, Unread: true}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{
				register: done(byHost{1: taken}), cached: says(byStatus{1: ours}), live: says(byStatus{2: c.told}),
				others: map[fleet.Host]fleet.HostID{host(1): host(2).WithoutSupplier()},
			}
			results := fleet.NewReconciliation(p, want, fleet.Change{Register: hosts(1), Order: hosts(1)}).Run(t.Context())
			calls := []string{"register 1", "cached 1", "live 2"}
			if results[host(1)].OK() {
				calls = append(calls, "live 1")
			}
			p.wantCalls(t, calls...)
			o := results[host(1)]
			fleettest.Check(t, o.OK() == c.reads && o.Unread != c.reads, "got %+v", o)
		})
	}
}

// A hosting that is still under way by its task has taken effect where the agent shows a
// registration that was not there before, and the file shows whose that is.
func TestReconcile_hostingUnderWay(t *testing.T) {
	t.Parallel()
	var (
		hostedAt = func(at int64) fleet.Status { return row(fleet.Stopped, true, at) }
		oursAt   = func(at int64) fleet.Status { return labelled(hostedAt(at), ownedBy("us")) }
		theirs   = labelled(hostedAt(6), ownedBy("them"))
		another  = labelled(hostedAt(6), map[string]string{label: "v1-ffffffffffffffff", label + "_owner": "us"})
		fresh    = fleet.Task{Fresh: true}
	)
	for name, c := range map[string]struct {
		task       fleet.Task
		live, file fleet.Status
		tookEffect bool
	}{
		"fresh":                   {fresh, hostedAt(6), oursAt(6), true},
		"fresh-and-tells-no-time": {fresh, hostedAt(0), oursAt(6), true},
		"fresh-and-an-old-file":   {fresh, hostedAt(7), oursAt(6), false},
		"fresh-and-no-row":        {fresh, hostedAt(6), fleet.Status{State: fleet.Unregistered}, false},
		"fresh-and-anothers":      {fresh, hostedAt(6), theirs, false},
		"fresh-and-an-earlier":    {fresh, hostedAt(6), another, false},
		"fresh-and-not-hosted":    {fresh, row(fleet.Stopped, false, 0), oursAt(6), false},
		"fresh-and-silent":        {fresh, fleet.Status{State: fleet.Unknown}, oursAt(6), false},
		"over-another":            {fleet.Task{Over: 5}, hostedAt(6), oursAt(6), true},
		"over-the-same":           {fleet.Task{Over: 5}, hostedAt(5), oursAt(5), false},
		"over-what-tells-none":    {fleet.Task{Over: 5}, hostedAt(0), oursAt(6), false},
		"over-what-told-none":     {fleet.Task{}, hostedAt(6), oursAt(6), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pending := fleet.Outcome{Verdict: fleet.Pending, TaskID: "T"}
			p := &process{look: byHost{1: pending}, wait: byHost{1: pending}, live: answer(c.live), cached: answer(c.file)}
			c.task.ID, c.task.Operation, c.task.Fingerprint = "T", fleet.Supervise, ownPrint
			reconciliation := fleet.NewReconciliation(p, desired(fleet.EnsureRegistered), fleet.Change{
				Reregister: hosts(1), Order: hosts(1), Inherited: fleet.Inherited{Underway: tasks{host(1): c.task}},
			})
			results := reconciliation.Run(t.Context())
			fleettest.Same(t, "ended", c.tookEffect, reconciliation.Found().Ended[host(1)])
			asked := []string{"look 1", "live 1"}
			if c.live.Hosted {
				asked = append(asked, "cached 1")
			}
			if c.tookEffect {
				wantResults(t, byHost{1: well}, results)
				p.wantCalls(t, append(asked, "reregister 1", "live 1")...)
				return
			}
			pending.Left, pending.Underway = fleet.OtherSpec, c.task
			wantResults(t, byHost{1: pending}, results)
			p.wantCalls(t, append(asked, "wait 1")...)
		})
	}
}
