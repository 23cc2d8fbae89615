package fleet_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// The results of a task of an earlier run, as the client returns them.
var (
	byTask    = fleet.Outcome{Verdict: fleet.Done, TaskID: "T"}
	inTask    = fleet.Outcome{Verdict: fleet.Pending, Code: 115, TaskID: "T"}
	failedBy  = fleet.Outcome{Verdict: fleet.Failed, Code: 65535, TaskID: "T", Ran: true}
	forgotten = fleet.Outcome{Verdict: fleet.Lost, TaskID: "T"}
)

// goesOn returns an outcome that is still under way, which the next run asks for.
func goesOn(o fleet.Outcome, task fleet.Task) fleet.Outcome {
	o.Underway = task
	return o
}

// An operation whose task is known from an earlier run is queried and not sent again, unless it failed or the platform
// has forgotten the task.
func TestRun_resumes(t *testing.T) {
	t.Parallel()
	const start, restart, reload = fleet.Start, fleet.Restart, fleet.Reload
	var (
		up      = live(fleet.Running, true, 5)
		stopped = live(fleet.Stopped, false, 5)
		idle    = live(fleet.Stopped, true, 5)
		silent  = fleet.Status{State: fleet.Unknown, Code: 117, Message: "away"}
		noop829 = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true, Code: 829, TaskID: "T"}
		sent    = fleet.Outcome{Verdict: fleet.Pending, TaskID: "U"}
		gone    = fleet.Outcome{Verdict: fleet.Lost, TaskID: "U"}
		unasked = fleet.Outcome{Verdict: fleet.Lost, Code: 117, Message: "away", Meaning: "whether an earlier start worked is not known"}
	)
	for name, test := range map[string]struct {
		op      fleet.Operation
		process process
		calls   string
		result  fleet.Outcome // of host 1, the only one in doubt
	}{
		"restart-done":          {restart, process{look: byHost{1: byTask}}, "look 1, restart 2", byTask},
		"reload-done":           {reload, process{look: byHost{1: byTask}}, "look 1, reload 2", byTask},
		"reload-failed":         {reload, process{look: byHost{1: failedBy}}, "look 1, reload 1 2", well},
		"restart-forgotten":     {restart, process{look: byHost{1: forgotten}}, "look 1, restart 1 2", well},
		"restart-waited-for":    {restart, process{look: byHost{1: inTask}, wait: byHost{1: byTask}}, "look 1, wait 1, restart 2", byTask},
		"restart-fails-at-last": {restart, process{look: byHost{1: inTask}, wait: byHost{1: failedBy}}, "look 1, wait 1, restart 1 2", well},
		"restart-goes-on":       {restart, process{look: byHost{1: inTask}, wait: byHost{1: inTask}}, "look 1, wait 1, restart 2", goesOn(inTask, fleet.Task{ID: "T", Operation: restart})},
		"restart-silent":        {restart, process{look: byHost{1: inTask}, wait: byHost{1: forgotten}}, "look 1, wait 1, restart 1 2", well},
		"restart-sent-again-and-goes-on": {
			restart, process{look: byHost{1: forgotten}, operate: doneOps(byOp{restart: {1: sent}})}, "look 1, restart 1 2",
			goesOn(sent, fleet.Task{ID: "U", Operation: restart}),
		},
		"restart-sent-again-and-unread": {
			restart, process{look: byHost{1: failedBy}, operate: doneOps(byOp{restart: {1: gone}})}, "look 1, restart 1 2",
			goesOn(gone, fleet.Task{ID: "U", Operation: restart}),
		},
		"start-runs": { // the agent shows it before the task does
			start, process{look: byHost{1: inTask}, live: answer(up)}, "look 1, live 1, start 2",
			fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true},
		},
		"start-waited-for": {start, process{look: byHost{1: inTask}, wait: byHost{1: byTask}, live: answer(stopped)}, "look 1, live 1, wait 1, start 2", byTask},
		"start-goes-on": {
			start, process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: answer(silent)}, "look 1, live 1, wait 1, start 2",
			goesOn(inTask, fleet.Task{ID: "T", Operation: start}),
		},
		"start-forgotten": {start, process{look: byHost{1: forgotten}, live: answer(stopped)}, "look 1, live 1, start 1 2", well},
		"start-forgotten-and-silent": {
			start, process{look: byHost{1: forgotten}, live: answer(silent)}, "look 1, live 1, start 2",
			goesOn(unasked, fleet.Task{ID: "T", Operation: start}),
		},
		"stop-found-idle": { // unhosted, as if this run had sent the stop
			fleet.Stop, process{look: byHost{1: noop829}, live: answer(idle)}, "look 1, stop 2, live 1, unhost 1", well,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unsure := tasks{host(1): {ID: "T", Operation: test.op}}
			results := runOne(t.Context(), &test.process, test.op, hosts(1, 2), unsure, fleet.Rollout{})
			wantResults(t, byHost{1: test.result, 2: well}, results)
			test.process.wantCalls(t, test.calls)
		})
	}
}

// Among several processes, one whose earlier operation is awaited keeps its place in the order, and nothing is sent
// for it.
func TestRun_severalResume(t *testing.T) {
	t.Parallel()
	first := &process{look: byHost{1: inTask}, wait: byHost{1: byTask}}
	second := &process{}
	results := fleet.Run(t.Context(), fleet.Restart, fleet.Ascending, []fleet.Member{
		{Process: first, Priority: 1, Hosts: hosts(1), Unsure: tasks{host(1): {ID: "T", Operation: fleet.Restart}}},
		{Process: second, Priority: 2, Hosts: hosts(1)},
	}, hosts(1), fleet.Rollout{})
	wantResults(t, byHost{1: byTask}, results[0])
	wantResults(t, byHost{1: well}, results[1])
	first.wantCalls(t, "look 1", "wait 1")
	second.wantCalls(t, "restart 1")
}

// A one-shot process is left hosted, or not, as it was before the run that sent the operation.
func TestRun_resumesOneShot(t *testing.T) {
	t.Parallel()
	var (
		bare   = live(fleet.Stopped, false, 5)
		hosted = live(fleet.Stopped, true, 5)
		sent   = fleet.Outcome{Verdict: fleet.Pending, TaskID: "T"}
	)
	for name, c := range map[string]struct {
		before fleet.Status
		bare   bool
		then   string
	}{
		"not-hosted-before": {bare, true, "look 1, unhost 1, live 1"},
		"hosted-before":     {hosted, false, "look 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := fleet.Task{ID: "T", Operation: fleet.Start, Bare: c.bare}
			p := process{oneShot: true, live: answer(c.before), operate: doneOps(byOp{fleet.Start: {1: sent}})}
			results := runOne(t.Context(), &p, fleet.Start, hosts(1), nil, fleet.Rollout{})
			wantResults(t, byHost{1: goesOn(sent, task)}, results)

			p = process{oneShot: true, live: answer(bare), look: byHost{1: byTask}}
			results = runOne(t.Context(), &p, fleet.Start, hosts(1), tasks{host(1): task}, fleet.Rollout{})
			wantResults(t, byHost{1: byTask}, results)
			p.wantCalls(t, c.then)
		})
	}
}

// The task of a one-shot process is kept until the process is no longer hosted. A run that worked is not
// repeated.
func TestRun_resumesOneShotThen(t *testing.T) {
	t.Parallel()
	var (
		task    = fleet.Task{ID: "T", Operation: fleet.Start, Bare: true}
		noID    = fleet.Task{Operation: fleet.Start, Bare: true}
		worked  = fleet.Task{ID: "T", Operation: fleet.Start, Bare: true, Worked: true}
		hosted  = live(fleet.Stopped, true, 5)
		runs    = live(fleet.Running, true, 5)
		silent  = fleet.Status{State: fleet.Unknown, Code: 117, Message: "away"}
		already = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}
		lost    = fleet.Outcome{Verdict: fleet.Lost}
		gone    = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Away: true}
		notRun  = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: "away", Meaning: "not run, because its agent does not say whether it hosts it"}
		stays   = fleet.Outcome{Verdict: fleet.Failed, Ran: true, Meaning: "it was run, and is hosted now, so the agent may run it again: its agent reports afterwards that it is still hosted"}
	)
	at := func(task fleet.Task, time int64) fleet.Task {
		task.RegisterTime = time
		return task
	}
	unasked := fleet.Outcome{Verdict: fleet.Failed, Ran: true, Code: 117, Message: "away", Meaning: "it was run, and is hosted now, so the agent may run it again: whether somebody has hosted it since could not be asked"}
	for name, c := range map[string]struct {
		before  fleet.Task
		process process
		calls   string
		want    fleet.Outcome
	}{
		"no-id":               {noID, process{live: answer(hosted)}, "live 1, live 1, start 1, unhost 1, live 1", goesOn(stays, fleet.Task{Operation: fleet.Start, Bare: true, Worked: true, RegisterTime: 5})},
		"no-id-runs":          {noID, process{live: answer(hostingUnknown(runs))}, "live 1, unhost 1, live 1", already},
		"no-id-lost-again":    {noID, process{live: answer(hosted), operate: doneOps(byOp{fleet.Start: {1: lost}})}, "live 1, live 1, start 1, live 1", goesOn(lost, fleet.Task{Operation: fleet.Start, Bare: true, RegisterTime: 5})},
		"forgotten-runs":      {task, process{live: answer(hostingUnknown(runs)), look: byHost{1: forgotten}}, "look 1, live 1, unhost 1, live 1", already},
		"failed-silent":       {task, process{live: answer(silent), look: byHost{1: failedBy}}, "look 1, live 1", goesOn(notRun, task)},
		"failed-not-tried":    {task, process{live: answer(hosted), look: byHost{1: failedBy}, operate: doneOps(byOp{fleet.Start: {1: gone}})}, "look 1, live 1, start 1", goesOn(gone, task)},
		"worked":              {worked, process{live: answer(live(fleet.Stopped, false, 5))}, "unhost 1, live 1", byTask},
		"anew":                {fleet.Task{Operation: fleet.Start, Bare: true, Anew: true}, process{live: answer(hostingUnknown(runs))}, "live 1, start 1, unhost 1, live 1", well},
		"worked-stays-hosted": {worked, process{live: answer(hosted)}, "unhost 1, live 1", goesOn(stays, at(worked, 5))},
		// Somebody has hosted it since, as the agent's other time shows, or may have.
		"worked-same-time":   {at(worked, 5), process{live: answer(hosted)}, "live 1, unhost 1, live 1", goesOn(stays, at(worked, 5))},
		"worked-no-time":     {at(worked, 5), process{live: answer(live(fleet.Stopped, true, 0))}, "live 1, unhost 1, live 1", goesOn(stays, at(worked, 5))},
		"worked-hosted-anew": {at(worked, 4), process{live: answer(hosted)}, "live 1", byTask},
		"worked-silent":      {at(worked, 5), process{live: answer(silent)}, "live 1", goesOn(unasked, at(worked, 5))},
		"failed-hosted-anew": {at(task, 4), process{live: answer(hosted), look: byHost{1: failedBy}}, "look 1, live 1, start 1", well},
		"hosted-anew-anew":   {fleet.Task{Operation: fleet.Start, Bare: true, Anew: true, RegisterTime: 4}, process{live: answer(hosted)}, "live 1, start 1", well},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.process.oneShot = true
			results := runOne(t.Context(), &c.process, fleet.Start, hosts(1), tasks{host(1): c.before}, fleet.Rollout{})
			wantResults(t, byHost{1: c.want}, results)
			c.process.wantCalls(t, c.calls)
		})
	}
}

// A failed run may have hosted the process, so what it was before that run counts.
func TestRun_resumesFailedOneShot(t *testing.T) {
	t.Parallel()
	p := process{oneShot: true, live: answer(live(fleet.Stopped, true, 5)), look: byHost{1: failedBy}}
	runOne(t.Context(), &p, fleet.Start, hosts(1), tasks{host(1): {ID: "T", Operation: fleet.Start, Bare: true}}, fleet.Rollout{})
	p.wantCalls(t, "look 1", "live 1", "start 1", "unhost 1", "live 1")
}

// The task of an operation of on_update is queried first, then the process. Only then is the operation awaited or
// sent again.
func TestReconcile_resumes(t *testing.T) {
	t.Parallel()
	var (
		runs   = answer(runsAs(7))
		down   = row(fleet.Stopped, true, 5)
		silent = fleet.Status{State: fleet.Unknown, Code: 117, Message: "no agent"}
		task   = fleet.Task{ID: "T", Operation: fleet.Restart, Was: 7}
		began  = fleet.Task{ID: "U", Operation: fleet.Start, Was: 7}
		had    = func(o fleet.Outcome, task fleet.Task, left fleet.Code) fleet.Outcome {
			o.Underway, o.Left = task, left
			return o
		}
		asked = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: "no agent", Meaning: "left as it is, because whether it runs is not known"}
		sent  = fleet.Outcome{Verdict: fleet.Pending, TaskID: "U"}
	)
	for name, test := range map[string]struct {
		process process
		calls   string
		result  fleet.Outcome
	}{
		"done":                 {process{look: byHost{1: byTask}, live: runs}, "look 1, live 1", byTask},
		"reload-done":          {process{look: byHost{1: byTask}, live: runs}, "look 1, live 1", byTask},
		"done-and-anew":        {process{look: byHost{1: byTask}, live: runs}, "look 1, reregister 1, live 1", byTask},
		"failed":               {process{look: byHost{1: failedBy}, live: answer(runsAs(8))}, "look 1, live 1, restart 1, live 1", well},
		"failed-down":          {process{look: byHost{1: failedBy}, live: answer(down)}, "look 1, live 1, start 1, live 1", well},
		"forgotten":            {process{look: byHost{1: forgotten}, live: runs}, "look 1, live 1, restart 1, live 1", well},
		"forgotten-done":       {process{look: byHost{1: forgotten}, live: answer(runsAs(8))}, "look 1, live 1, live 1", fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}},
		"forgotten-and-silent": {process{look: byHost{1: forgotten}, live: answer(silent)}, "look 1, live 1", had(asked, task, fleet.OperationUnconfirmed)},
		"other-pid": { // it has worked, even if its check still waits
			process{look: byHost{1: inTask}, live: answer(runsAs(8))}, "look 1, live 1, live 1", fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true},
		},
		"waited-for":            {process{look: byHost{1: inTask}, wait: byHost{1: byTask}, live: runs}, "look 1, live 1, wait 1, live 1", byTask},
		"down-and-waited-for":   {process{look: byHost{1: inTask}, wait: byHost{1: byTask}, live: answer(down)}, "look 1, live 1, wait 1, live 1", byTask},
		"silent-and-waited-for": {process{look: byHost{1: inTask}, wait: byHost{1: byTask}, live: answer(silent)}, "look 1, live 1, wait 1, live 1, host 1, live 1", well},
		"unasked-and-waited-for": {
			process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: cannotSay(errDown)}, "look 1, live 1, wait 1",
			had(inTask, task, fleet.OperationUnconfirmed),
		},
		"goes-on":                 {process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: runs}, "look 1, live 1, wait 1", had(inTask, task, fleet.OperationUnconfirmed)},
		"reload-goes-on-and-anew": {process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: runs}, "look 1, live 1, wait 1", had(inTask, task, fleet.OtherSpec)},
		"fails-at-last":           {process{look: byHost{1: inTask}, wait: byHost{1: failedBy}, live: runs}, "look 1, live 1, wait 1, live 1, restart 1, live 1", well},
		"sent-again-and-goes-on": {
			process{look: byHost{1: failedBy}, live: runs, operate: doneOps(byOp{fleet.Restart: {1: sent}})},
			"look 1, live 1, restart 1", had(sent, fleet.Task{ID: "U", Operation: fleet.Restart, Was: 7}, fleet.OperationUnconfirmed),
		},
		"started-and-goes-on": {
			process{look: byHost{1: failedBy}, live: answer(down), operate: doneOps(byOp{fleet.Start: {1: sent}})},
			"look 1, live 1, start 1", had(sent, began, fleet.OperationUnconfirmed),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operation := fleet.Restart
			if strings.HasPrefix(name, "reload") {
				operation = fleet.Reload
			}
			change := fleet.Change{
				Settle: hosts(1), Order: hosts(1), Operate: fleet.Operate{Operation: operation, Runs: map[fleet.Host]fleet.Runs{host(1): {PID: 7, Tried: fleet.TryUnseen, Task: task}}},
			}
			if strings.HasSuffix(name, "anew") { // it is also to be registered
				change.Reregister, change.Settle = change.Settle, nil
			}
			results := fleet.NewReconciliation(&test.process, desired(fleet.EnsureHosted), change).Run(t.Context())
			wantResults(t, byHost{1: test.result}, results)
			test.process.wantCalls(t, test.calls)
			runs := change.Runs[host(1)]
			fleettest.Check(t, runs.Task == task && runs.Tried == fleet.TryUnseen, "the caller's record became %+v", runs)
		})
	}
}

// A try for another declaration is awaited. However it ended, the operation then runs for the present declaration.
func TestReconcile_awaitsWhatWasTriedBefore(t *testing.T) {
	t.Parallel()
	p := &process{look: byHost{1: byTask}, live: answer(runsAs(7))}
	fleet.NewReconciliation(p, desired(fleet.EnsureHosted), fleet.Change{
		Settle: hosts(1), Order: hosts(1), Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {PID: 7, Tried: fleet.TryFailed, Task: fleet.Task{ID: "T", Operation: fleet.Restart}}}},
	}).Run(t.Context())
	p.wantCalls(t, "look 1", "live 1", "restart 1", "live 1")
}

// The task of an unconfirmed start is queried before anything else is done to its host. The agents then decide what
// is left to do.
func TestReconcile_resumesStarts(t *testing.T) {
	t.Parallel()
	var (
		stopped = row(fleet.Stopped, true, 5)
		silent  = fleet.Status{State: fleet.Unknown, Code: 117, Message: "no agent"}
		task    = fleet.Task{ID: "T", Operation: fleet.Start}
		sent    = fleet.Outcome{Verdict: fleet.Pending, TaskID: "U"}
		unsent  = fleet.Outcome{Verdict: fleet.Lost}
		waits   = func(left fleet.Code) fleet.Outcome {
			o := goesOn(inTask, task)
			o.Left, o.Meaning = left, "a start of an earlier apply is still under way; if that never ends, start the process by hand, and apply again"
			return o
		}
		resent = goesOn(left(sent, fleet.NotRunning), fleet.Task{ID: "U", Operation: fleet.Start})
		again  = byOp{fleet.Start: {1: sent}}

		settle    = fleet.Change{Settle: hosts(1, 2)}
		anew      = fleet.Change{Reregister: hosts(1, 2)}
		restarted = fleet.Change{Reregister: hosts(1, 2), Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {}}}}
		runs      = says(byStatus{2: stopped})
	)
	for name, test := range map[string]struct {
		change  fleet.Change
		process process
		calls   string
		result  fleet.Outcome // of host 1, the only one that was sent a start
	}{
		"done": {settle, process{look: byHost{1: byTask}, live: runs}, "look 1, live 1 2, start 2, live 2", well},
		"done-and-down-since": { // a task reports the past
			settle, process{look: byHost{1: byTask}, live: answer(stopped)}, "look 1, live 1 2, start 1 2, live 1 2", well,
		},
		"runs": { // the agent shows it before the task does
			settle, process{look: byHost{1: inTask}, live: runs}, "look 1, live 1, live 1 2, start 2, live 2", well,
		},
		"failed":        {settle, process{look: byHost{1: failedBy}, live: answer(stopped)}, "look 1, live 1 2, start 1 2, live 1 2", well},
		"fails-at-last": {settle, process{look: byHost{1: inTask}, wait: byHost{1: failedBy}, live: answer(stopped)}, "look 1, live 1, wait 1, live 1 2, start 1 2, live 1 2", well},
		"forgotten":     {settle, process{look: byHost{1: forgotten}, live: answer(stopped)}, "look 1, live 1 2, start 1 2, live 1 2", well},
		"goes-on": {
			settle, process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: answer(stopped)},
			"look 1, live 1, wait 1, live 2, start 2, live 2", waits(fleet.NotRunning),
		},
		"goes-on-and-agent-silent": {
			settle, process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: says(byStatus{1: silent, 2: stopped})},
			"look 1, live 1, wait 1, live 2, start 2, live 2", waits(fleet.NotRunning),
		},
		"goes-on-and-is-to-be-anew": {
			anew, process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: answer(stopped)},
			"look 1, live 1, wait 1, reregister 2, live 2, start 2, live 2", waits(fleet.OtherSpec),
		},
		"done-and-is-to-be-anew": { // the process runs by the previous declaration
			restarted,
			process{look: byHost{1: byTask}, live: runs}, "look 1, live 1, reregister 1 2, restart 1, live 1 2, start 2, live 2", well,
		},
		"goes-on-and-is-due": {
			restarted, process{look: byHost{1: inTask}, wait: byHost{1: inTask}, live: answer(stopped)},
			"look 1, live 1, wait 1, reregister 2, live 2, start 2, live 2", waits(fleet.OtherSpec),
		},
		"sent-again-and-goes-on": {settle, process{look: byHost{1: failedBy}, live: answer(stopped), operate: doneOps(again)}, "look 1, live 1 2, start 1 2, live 1 2", resent},
		"sent-again-and-answer-lost": { // there is no task to query
			settle, process{look: byHost{1: failedBy}, live: answer(stopped), operate: doneOps(byOp{fleet.Start: {1: unsent}})},
			"look 1, live 1 2, start 1 2, live 1 2", left(unsent, fleet.NotRunning),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.change.Order, test.change.Underway = hosts(1, 2), tasks{host(1): task}
			results := fleet.NewReconciliation(&test.process, desired(fleet.EnsureRunning), test.change).Run(t.Context())
			wantResults(t, byHost{1: test.result, 2: well}, results)
			test.process.wantCalls(t, test.calls)
		})
	}
}

// The task of an unconfirmed start is queried even if the start is no longer wanted, as it could host the process later.
func TestReconcile_resumesStartThatIsNotWanted(t *testing.T) {
	t.Parallel()
	p := &process{live: answer(row(fleet.Stopped, true, 5))}
	results := fleet.NewReconciliation(p, desired(fleet.EnsureHosted), fleet.Change{
		Settle: hosts(1), Order: hosts(1), Inherited: fleet.Inherited{Underway: tasks{host(1): {ID: "T", Operation: fleet.Start}}},
	}).Run(t.Context())
	wantResults(t, byHost{1: well}, results)
	p.wantCalls(t, "look 1, live 1")
}

// The task of an unconfirmed hosting is marked fresh only if the agent said that the process was not hosted before.
func TestReconcile_hostsAfresh(t *testing.T) {
	t.Parallel()
	settle, register := fleet.Change{Settle: hosts(1), Order: hosts(1)}, fleet.Change{Register: hosts(1), Order: hosts(1)}
	for name, c := range map[string]struct {
		change fleet.Change
		seen   fleet.Status
		fresh  bool
	}{
		"not-hosted":           {settle, row(fleet.Stopped, false, 5), true},
		"idle-when-registered": {register, row(fleet.Stopped, false, 5), true},
		"hosting-unknown":      {settle, fleet.Status{State: fleet.Stopped, Labels: ownedBy("us")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{register: done(byHost{1: wasIdle}), live: answer(c.seen), operate: func(_ context.Context, _ fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
				return fleet.Results{hosts[0]: {Verdict: fleet.Pending, TaskID: "T"}}
			}}
			results := fleet.NewReconciliation(p, desired(fleet.EnsureHosted), c.change).Run(t.Context())
			o := results[host(1)]
			fleettest.Check(t, o.Underway.ID == "T" && o.Underway.Fresh == c.fresh, "under way: %+v", o.Underway)
		})
	}
}

// How operations of an earlier run have ended is awaited for Patience, or for three quarters of the time that is left.
// Half of that is for the agents.
func TestStillUnderWay_patience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ left, want time.Duration }{"no-deadline": {0, time.Minute}, "far": {time.Hour, time.Minute}, "near": {40 * time.Second, 15 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.left > 0 {
					within, cancel := context.WithTimeout(ctx, c.left)
					defer cancel()
					ctx = within
				}
				began := time.Now()
				p := &process{look: byHost{1: inTask}, wait: byHost{1: inTask}, waits: true}
				task := fleet.Task{ID: "T", Operation: fleet.Start}
				still := fleet.StillUnderWay(ctx, p, p, registered, tasks{host(1): task}, nil)
				wantResults(t, byHost{1: goesOn(inTask, task)}, still)
				fleettest.Same(t, "waited", c.want, time.Since(began))
			})
		})
	}
}

// The process was started if it runs after a start, or with another pid than before. A pid that the agent does not
// report shows nothing. If nothing is labelled, no row is read.
func TestStillUnderWay_tookEffect(t *testing.T) {
	t.Parallel()
	hosting := fleet.Task{ID: "T", Operation: fleet.Supervise, Fingerprint: "v1-ffffffffffffffff", Fresh: true}
	unlabelled := fleet.Desired{Ensure: fleet.EnsureHosted}
	for name, c := range map[string]struct {
		want  fleet.Desired
		task  fleet.Task
		live  fleet.Status
		calls string
		done  bool
	}{
		"started":             {registered, fleet.Task{Operation: fleet.Start}, runsAs(8), "look 1, live 1", true},
		"restarted":           {registered, fleet.Task{Operation: fleet.Restart, Was: 7}, runsAs(8), "look 1, live 1", true},
		"the-same":            {registered, fleet.Task{Operation: fleet.Restart, Was: 7}, runsAs(7), "look 1, live 1, wait 1", false},
		"no-pid-before":       {registered, fleet.Task{Operation: fleet.Restart}, runsAs(8), "look 1, live 1, wait 1", false},
		"no-pid-now":          {registered, fleet.Task{Operation: fleet.Restart, Was: 7}, runsAs(-1), "look 1, live 1, wait 1", false},
		"pid-unknown-now":     {registered, fleet.Task{Operation: fleet.Restart, Was: 7}, runsAs(0), "look 1, live 1, wait 1", false},
		"hosted-as-it-sent":   {registered, hosting, live(fleet.Stopped, true, 5), "look 1, live 1, cached 1", true},
		"without-labels":      {unlabelled, hosting, live(fleet.Stopped, true, 5), "look 1, live 1", true},
		"nor-hosted":          {unlabelled, hosting, live(fleet.Stopped, false, 5), "look 1, live 1, wait 1", false},
		"hosted-and-restarts": {registered, fleet.Task{Operation: fleet.Restart, Was: 7}, row(fleet.Stopped, true, 5), "look 1, live 1, wait 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{
				look: byHost{1: inTask}, wait: byHost{1: inTask}, live: answer(c.live),
				cached: answer(labelled(row(fleet.Stopped, true, 5), map[string]string{label: "v1-ffffffffffffffff", label + "_owner": "us"})),
			}
			still := fleet.StillUnderWay(t.Context(), p, p, c.want, tasks{host(1): c.task}, nil)
			fleettest.Check(t, (len(still) == 0) == c.done, "still: %+v", still)
			p.wantCalls(t, c.calls)
		})
	}
}
