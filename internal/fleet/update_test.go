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

// runsAs returns the status of a process that runs with this pid.
func runsAs(pid int64) fleet.Status {
	return fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: pid}
}

func TestReconcile_operation(t *testing.T) {
	t.Parallel()
	const restart, reload = fleet.Restart, fleet.Reload
	var (
		both   = byHost{1: well, 2: well}
		runs   = answer(runsAs(7))
		down   = row(fleet.Stopped, true, 5)
		silent = fleet.Status{State: fleet.Unknown, Code: 117, Message: "no agent"}
		broken = fleet.Outcome{Verdict: fleet.Failed, Code: 65535}
		lost   = fleet.Outcome{Verdict: fleet.Lost, Err: errDown}
		asked  = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: "no agent", Meaning: "left as it is, because whether it runs is not known"}
	)
	gone, excused := silent, asked
	gone.Away, excused.Away = true, true
	type due = map[fleet.Host]fleet.Runs
	one, two := due{host(1): {}}, due{host(1): {}, host(2): {}}
	for name, test := range map[string]struct {
		operation  fleet.Operation
		reregister []fleet.Host
		settle     []fleet.Host
		due        due
		process    process
		calls      string
		results    byHost
	}{
		"restarts-what-runs": {restart, hosts(1, 2), nil, two, process{live: says(byStatus{1: runsAs(7), 2: down})}, "live 1 2, reregister 1 2, restart 1, live 1 2", both},
		"reloads":            {reload, hosts(1), nil, one, process{live: runs}, "live 1, reregister 1, reload 1, live 1", byHost{1: well}},
		"only-where-due":     {restart, hosts(1, 2), hosts(3), due{host(2): {}}, process{live: runs}, "live 2, reregister 1 2, restart 2, live 1 2 3", byHost{1: well, 2: well, 3: well}},
		"no-operation":       {"", hosts(1), nil, one, process{live: runs}, "reregister 1, live 1", byHost{1: well}},
		"not-registered-not-operated": {
			restart, hosts(1, 2), nil, two, process{live: runs, reregister: done(byHost{1: away})},
			"live 1 2, reregister 1 2, restart 2, live 2, live 1", byHost{1: left(away, fleet.OtherSpec), 2: well},
		},
		"not-asked-not-touched": {
			restart, hosts(1, 2), nil, two, process{live: says(byStatus{1: silent, 2: runsAs(7)})},
			"live 1 2, reregister 2, restart 2, live 2", byHost{1: left(asked, fleet.OtherSpec), 2: well},
		},
		"agents-silent": {
			restart, hosts(1), nil, one, process{live: cannotSay(errDown)},
			"live 1", byHost{1: {Verdict: fleet.Failed, Err: errDown, Meaning: asked.Meaning, Left: fleet.OtherSpec}},
		},
		"operation-fails": {
			restart, hosts(1, 2), nil, two, process{live: runs, operate: doneOps(byOp{restart: {1: broken}})},
			"live 1 2, reregister 1 2, restart 1 2, live 2, live 1", byHost{1: left(broken, fleet.NotOperated), 2: well},
		},
		"answer-lost": {
			restart, hosts(1), nil, one, process{live: runs, operate: doneOps(byOp{restart: {1: lost}})},
			"live 1, reregister 1, restart 1, live 1", byHost{1: left(lost, fleet.OperationUnconfirmed)},
		},
		"in-doubt-and-done": {
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryUnseen}}, process{live: answer(runsAs(8))},
			"live 1, live 1", byHost{1: {Verdict: fleet.Done, AlreadyDone: true}},
		},
		"in-doubt-and-not-done":    {restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryUnseen}}, process{live: runs}, "live 1, restart 1, live 1", byHost{1: well}},
		"in-doubt-without-a-trace": {restart, nil, hosts(1), due{host(1): {Tried: fleet.TryUnseen}}, process{live: runs}, "live 1, restart 1, live 1", byHost{1: well}},
		"in-doubt-and-no-pid": {
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryUnseen}}, process{live: answer(runsAs(0))},
			"live 1", byHost{1: {Verdict: fleet.Failed, Left: fleet.OperationUnconfirmed, Meaning: "left as it is, because its agent does not report " +
				"the pid, which would show whether the restart of an earlier apply worked"}},
		},
		"in-doubt-and-not-asked": {
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryUnseen}}, process{live: answer(silent)},
			"live 1", byHost{1: left(asked, fleet.OperationUnconfirmed)},
		},
		"time-is-up": {
			restart, hosts(1), nil, one, process{live: cannotSay(context.DeadlineExceeded)},
			"live 1", byHost{1: {Verdict: fleet.NotTried, Err: context.DeadlineExceeded, Meaning: fleet.StoppedByDeadline, Left: fleet.OtherSpec}},
		},
		"agent-away": {restart, hosts(1), nil, one, process{live: answer(gone)}, "live 1", byHost{1: left(excused, fleet.OtherSpec)}},
		"in-doubt-and-agent-away": { // max_unreachable_hosts must not excuse it
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryUnseen}}, process{live: answer(gone)},
			"live 1", byHost{1: left(asked, fleet.OperationUnconfirmed)},
		},
		"unsure-and-agent-away": {
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryUnsure}}, process{live: answer(gone)},
			"live 1", byHost{1: left(asked, fleet.OperationUnconfirmed)},
		},
		"failed-before": { // perhaps revived by its agent, but operated again
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryFailed}}, process{live: answer(runsAs(8))},
			"live 1, restart 1, live 1", byHost{1: well},
		},
		"taken-down-before": {reload, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryFailed}}, process{live: answer(down)}, "live 1, start 1, live 1", byHost{1: well}},
		"taken-down-before-and-still-broken": {
			restart, nil, hosts(1), due{host(1): {PID: 7, Tried: fleet.TryFailed}}, process{live: answer(down), operate: doneOps(byOp{fleet.Start: {1: broken}})},
			"live 1, start 1", byHost{1: left(broken, fleet.NotOperated)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := fleet.Change{
				Reregister: test.reregister, Settle: test.settle, Order: hosts(1, 2, 3), Operate: fleet.Operate{Operation: test.operation, Runs: test.due},
			}
			r := fleet.NewReconciliation(&test.process, desired(fleet.EnsureHosted), change)
			wantResults(t, test.results, r.Run(t.Context()))
			test.process.wantCalls(t, test.calls)
			for h, o := range test.results { // by this pid the next apply sees whether it worked
				if before, operated := r.Found().Operated[host(h)]; operated && before != 7 && o.Left != "" {
					t.Errorf("host %d: pid before the operation is %d, want 7", h, before)
				}
			}
		})
	}
}

// Agents are asked with the previous declaration, by which the process runs. A wave is not asked before it begins.
func TestReconcile_operationInWaves(t *testing.T) {
	t.Parallel()
	broken := fleet.Outcome{Verdict: fleet.Failed, Code: 65535}
	stopped := fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}
	prior := &process{live: answer(runsAs(7))}
	p := &process{operate: doneOps(byOp{fleet.Restart: {2: broken}})}
	results := fleet.NewReconciliation(p, desired(fleet.EnsureHosted), fleet.Change{
		Reregister: hosts(1, 2, 3), Settle: hosts(4, 5), Order: hosts(1, 2, 3, 4, 5),
		Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {}, host(2): {}, host(3): {}, host(4): {}}}, Inherited: fleet.Inherited{Prior: prior},
	}).Run(t.Context())
	prior.wantCalls(t, "live 1", "live 2")
	p.wantCalls(t, "reregister 1", "restart 1", "live 1", "reregister 2", "restart 2", "live 2")
	broken.Left = fleet.NotOperated
	wantResults(t, byHost{1: well, 2: broken, 3: left(stopped, fleet.OtherSpec), 4: left(stopped, fleet.NotOperated), 5: left(stopped, fleet.NotHosted)}, results)
}

// Back undoes what Run has changed, the last wave first, even if hosts fail. What was operated is operated again,
// what is down is started, and the rest keeps running.
func TestReconciliation_back(t *testing.T) {
	t.Parallel()
	var (
		down     = row(fleet.Stopped, true, 5)
		fails    = doneOps(byOp{fleet.Restart: {3: {Verdict: fleet.Failed, Code: 65535}}})
		refused  = done(byHost{2: away})
		notTried = fleet.Outcome{Verdict: fleet.NotTried, Err: context.Canceled, Meaning: fleet.StoppedByInterrupt, Left: fleet.OtherSpec}
		both     = byHost{1: well, 2: well}
	)
	for name, test := range map[string]struct {
		operation fleet.Operation
		process   process                          // by the new declaration
		again     func([]fleet.Host) fleet.Results // registers the previous declaration
		cannot    bool                             // host 2 cannot go back
		calls     string                           // of Back
		asked     string                           // with the declaration that failed
		results   byHost
	}{
		"last-wave-first": {
			operation: fleet.Restart, process: process{live: answer(runsAs(8)), operate: fails},
			calls: "reregister 3, restart 3, live 3, reregister 2, restart 2, live 2, reregister 1, restart 1, live 1",
			asked: "live 3, live 2, live 1", results: byHost{1: well, 2: well, 3: well},
		},
		"taken-down": {
			operation: fleet.Restart, process: process{live: says(byStatus{1: runsAs(8), 2: runsAs(8), 3: down}), operate: fails},
			calls: "reregister 3, start 3, live 3, reregister 2, restart 2, live 2, reregister 1, restart 1, live 1",
			asked: "live 3, live 2, live 1", results: byHost{1: well, 2: well, 3: well},
		},
		"not-operated": { // not registered, so not operated either
			operation: fleet.Restart, process: process{live: answer(runsAs(8)), reregister: refused},
			calls: "reregister 2, live 2, reregister 1, restart 1, live 1", asked: "live 1", results: both,
		},
		"registered-alone": {process: process{reregister: refused}, calls: "reregister 2, live 2, reregister 1, live 1", results: both},
		"going-back-fails": {
			process: process{reregister: refused}, again: refused,
			calls: "reregister 2, live 2, reregister 1, live 1", results: byHost{1: well, 2: left(away, fleet.OtherSpec)},
		},
		"cannot":                 {process: process{reregister: refused}, cannot: true, calls: "reregister 1, live 1", results: byHost{1: well}},
		"interrupted":            {process: process{reregister: refused}, results: byHost{1: notTried, 2: notTried}},
		"interrupted-and-cannot": {process: process{reregister: refused}, cannot: true, results: byHost{1: notTried}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, runs, prior := hosts(1, 2, 3, 4), make(map[fleet.Host]fleet.Runs), process{live: answer(runsAs(7)), reregister: test.again}
			for _, h := range all {
				runs[h] = fleet.Runs{}
			}
			r := fleet.NewReconciliation(&test.process, desired(fleet.EnsureHosted), fleet.Change{
				Reregister: all, Order: all, Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Operate: fleet.Operate{Operation: test.operation, Runs: runs}, Inherited: fleet.Inherited{Prior: &prior},
			})
			if results := r.Run(t.Context()); !r.TooManyFailed(results) {
				t.Fatalf("the run did not fail: %v", results)
			}
			prior.calls, test.process.calls = nil, nil
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.calls == "" {
				cancel()
			}

			was := desired(fleet.EnsureHosted)
			was.Spec = "old"
			results := r.Back(ctx, was, func(h fleet.Host) bool { return !test.cannot || number(h) != 2 })

			wantResults(t, test.results, results)
			prior.wantCalls(t, test.calls)
			test.process.wantCalls(t, test.asked)
		})
	}
}

// A host with a call under way does not go back: the call could later undo what was restored.
func TestReconciliation_Back_underWay(t *testing.T) {
	t.Parallel()
	goesOn := byHost{2: {Verdict: fleet.Pending, TaskID: "T"}}
	for name, c := range map[string]struct {
		process   process
		operation fleet.Operation
		calls     string // of Back
	}{
		"hosting": {process{reregister: done(goesOn)}, "", "look 2, wait 2, reregister 1, live 1"},
		"restart": {process{live: answer(runsAs(7)), operate: doneOps(byOp{fleet.Restart: goesOn})}, fleet.Restart, "look 2, wait 2, reregister 1, restart 1, live 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prior := &process{live: answer(runsAs(7)), look: goesOn, wait: goesOn}
			change := fleet.Change{
				Reregister: hosts(1, 2), Order: hosts(1, 2), Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Inherited: fleet.Inherited{Prior: prior},
				Operate: fleet.Operate{Operation: c.operation, Runs: map[fleet.Host]fleet.Runs{host(1): {}, host(2): {}}},
			}
			r := fleet.NewReconciliation(&c.process, desired(fleet.EnsureHosted), change)
			r.Run(t.Context())
			prior.calls = nil
			was := desired(fleet.EnsureHosted)
			was.Spec = "old"
			results := r.Back(t.Context(), was, func(fleet.Host) bool { return true })
			prior.wantCalls(t, strings.Split(c.calls, ", ")...)
			if o := results[host(2)]; o.Verdict != fleet.Pending || o.Left != fleet.OtherSpec || o.Underway.ID != "T" || !results[host(1)].OK() {
				t.Errorf("results are %v", byNumber(results))
			}
		})
	}
}

// A host goes back if another pid shows that its restart worked, even if the platform says that it is pending.
func TestReconciliation_Back_worked(t *testing.T) {
	t.Parallel()
	goesOn := byHost{1: {Verdict: fleet.Pending, TaskID: "T"}}
	prior, p := &process{live: answer(runsAs(7)), look: goesOn, wait: goesOn}, &process{live: answer(runsAs(8)), operate: doneOps(byOp{fleet.Restart: goesOn})}
	r := fleet.NewReconciliation(p, desired(fleet.EnsureHosted), fleet.Change{
		Reregister: hosts(1), Order: hosts(1), Inherited: fleet.Inherited{Prior: prior},
		Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {}}},
	})
	r.Run(t.Context())
	prior.calls = nil
	results := r.Back(t.Context(), desired(fleet.EnsureHosted), func(fleet.Host) bool { return true })
	prior.wantCalls(t, "look 1", "reregister 1", "restart 1", "live 1")
	wantResults(t, byHost{1: well}, results)
}

// After Back, the registration time is that of the previous declaration.
func TestReconciliation_Back_registered(t *testing.T) {
	t.Parallel()
	prior := &process{live: answer(row(fleet.Running, true, 9))}
	change := fleet.Change{Reregister: hosts(1, 2), Order: hosts(1, 2), Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Inherited: fleet.Inherited{Prior: prior}}
	r := fleet.NewReconciliation(&process{reregister: done(byHost{2: away}), live: answer(row(fleet.Running, true, 5))}, desired(fleet.EnsureHosted), change)
	r.Run(t.Context())
	r.Back(t.Context(), desired(fleet.EnsureHosted), func(h fleet.Host) bool { return h == host(1) })
	got := byNumber(r.Found().Registered)
	fleettest.Check(t, got[1] == 9, "registered %v, want host 1 at 9", got)
}

// Going back to other labels restarts no process that Run has just restarted, only one on which that failed.
func TestReconciliation_Back_relabelled(t *testing.T) {
	t.Parallel()
	p, prior := &process{live: answer(runsAs(7)), operate: doneOps(byOp{fleet.Restart: {2: {Verdict: fleet.Failed, Code: 65535}}})}, &process{live: answer(runsAs(7))}
	change := fleet.Change{
		Reregister: hosts(1, 2), Order: hosts(1, 2), Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Inherited: fleet.Inherited{Prior: prior},
		Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {Tried: fleet.TryFailed}, host(2): {Tried: fleet.TryFailed}}},
	}
	r := fleet.NewReconciliation(p, desired(fleet.EnsureHosted), change)
	r.Run(t.Context())
	prior.calls = nil
	r.Back(t.Context(), desired(fleet.EnsureHosted), func(fleet.Host) bool { return true })
	prior.wantCalls(t, "reregister 2, restart 2, live 2, reregister 1, live 1")
}

// After Back, the pids are those of the previous declaration. Where the change has started the process, the operation
// runs again only if the agents are to run another spec.
func TestReconciliation_Back_operated(t *testing.T) {
	t.Parallel()
	down := row(fleet.Stopped, true, 5)
	for name, c := range map[string]struct {
		was   string // the spec of before
		calls string // of Back
		pid   int64  // before the operation
	}{
		"another-spec": {"old", "reregister 1, restart 1, live 1", 8}, "other-labels": {"new", "reregister 1, live 1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, was := desired(fleet.EnsureRunning), desired(fleet.EnsureRunning)
			want.Spec, was.Spec = "new", c.was
			prior := &process{live: answer(runsAs(7))}
			p := &process{reregister: done(byHost{2: away}), live: says(byStatus{1: down})}
			change := fleet.Change{
				Reregister: hosts(1, 2), Order: hosts(1, 2), Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Inherited: fleet.Inherited{Prior: prior},
				Operate: fleet.Operate{Operation: fleet.Restart},
			}
			r := fleet.NewReconciliation(p, want, change)
			results := r.Run(t.Context())
			operated, started := byNumber(r.Found().Operated)[1]
			fleettest.Check(t, started && operated == 0 && r.TooManyFailed(results), "operated: %v", r.Found().Operated)
			prior.calls, p.calls = nil, nil
			p.live = answer(runsAs(8))
			r.Back(t.Context(), was, func(h fleet.Host) bool { return h == host(1) })
			prior.wantCalls(t, c.calls)
			fleettest.Same(t, "pid", int64(7), r.Found().Running[host(1)])
			fleettest.Same(t, "pid before the operation", c.pid, r.Found().Operated[host(1)])
		})
	}
}

// As many hosts may fail as the rollout tolerates.
func TestReconciliation_TooManyFailed(t *testing.T) {
	t.Parallel()
	for tolerated, want := range map[int]bool{1: true, 2: false} {
		p := &process{reregister: done(byHost{1: away, 2: away})}
		r := fleet.NewReconciliation(p, registered, fleet.Change{Reregister: hosts(1, 2, 3), Order: hosts(1, 2, 3), Rollout: fleet.Rollout{MaxFailed: fleet.UpTo(tolerated)}})
		fleettest.Same(t, "too many", want, r.TooManyFailed(r.Run(t.Context())))
	}
}

// Registered has the agent's time after the last call, for hosts that were registered and those that had this
// object's registration before the call.
func TestReconciliation_Registered(t *testing.T) {
	t.Parallel()
	bare, up := row(fleet.Stopped, false, 5), row(fleet.Running, true, 5)
	for name, c := range map[string]struct {
		ensure  fleet.Ensure
		change  fleet.Change
		process process
		want    map[int]int64
	}{
		"as-the-agents-say": {
			fleet.EnsureHosted, fleet.Change{Register: hosts(1), Reregister: hosts(2), Settle: hosts(3)},
			process{live: says(byStatus{1: up, 2: row(fleet.Running, true, 9), 3: up})}, map[int]int64{1: 5, 2: 9},
		},
		"hosted-since":  {fleet.EnsureHosted, fleet.Change{Register: hosts(1, 2), Settle: hosts(3)}, process{live: says(byStatus{1: bare, 2: up, 3: bare})}, map[int]int64{1: 5, 2: 5}},
		"started-since": {fleet.EnsureRunning, fleet.Change{Register: hosts(1, 2)}, process{live: says(byStatus{1: bare, 2: up})}, map[int]int64{1: 5, 2: 5}},
		"started-and-ours-before": {
			fleet.EnsureRunning, fleet.Change{Settle: hosts(1, 2, 3), Inherited: fleet.Inherited{Times: map[fleet.Host]int64{host(1): 5, host(2): 4}}},
			process{live: answer(bare)}, map[int]int64{1: 5},
		},
		"operated-before": {
			fleet.EnsureHosted, fleet.Change{Reregister: hosts(1), Settle: hosts(2), Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {}, host(2): {}}}},
			process{live: answer(up)}, map[int]int64{1: 5},
		},
		"agents-not-asked": {fleet.EnsureRegistered, fleet.Change{Register: hosts(1)}, process{}, map[int]int64{1: 0}},
		"agents-fail":      {fleet.EnsureHosted, fleet.Change{Register: hosts(1)}, process{live: cannotSay(errDown)}, map[int]int64{1: 0}},
		"refused":          {fleet.EnsureHosted, fleet.Change{Register: hosts(1)}, process{register: done(byHost{1: away}), live: answer(up)}, map[int]int64{}},
		"nothing-is-done":  {fleet.EnsureHosted, fleet.Change{Settle: hosts(1)}, process{live: answer(up)}, map[int]int64{}},
		"times-not-known":  {fleet.EnsureHosted, fleet.Change{Settle: hosts(1)}, process{live: first(answer(live(fleet.Stopped, false, 0)))}, map[int]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.change.Order = hosts(1, 2, 3)
			r := fleet.NewReconciliation(&c.process, desired(c.ensure), c.change)
			r.Run(t.Context())
			fleettest.Same(t, "registered", c.want, byNumber(r.Found().Registered))
		})
	}
}

// unasked is the outcome of a host that is not registered but may still be hosted.
func unasked(o fleet.Outcome) fleet.Outcome {
	o.Verdict, o.Meaning = fleet.Failed, "not registered, and whether its agent hosts it all the same could not be asked"
	return o
}

// release unregisters hosts wave by wave, as the provider does.
func release(ctx context.Context, p *process, hosts []fleet.Host, first fleet.OnDestroy, spared map[fleet.Host]bool, rollout fleet.Rollout) fleet.Results {
	return rollout.Run(ctx, hosts, func(ctx context.Context, wave fleet.Wave) fleet.Results {
		results, _ := fleet.Release(ctx, p, wave.Hosts, first, spared, nil)
		return results
	})
}

// Release begins nothing once its context has ended.
func TestRelease_ended(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &process{}
	results, _ := fleet.Release(ctx, p, hosts(1), fleet.DestroyStop, nil, nil)
	p.wantCalls(t)
	wantResults(t, byHost{1: {Verdict: fleet.NotTried, Err: context.Canceled, Meaning: fleet.StoppedByInterrupt}}, results)
}

func TestRelease(t *testing.T) {
	t.Parallel()
	const unregister, stop, kill = fleet.DestroyUnregister, fleet.DestroyStop, fleet.DestroyKill
	var (
		absent  = fleet.Status{State: fleet.Unregistered}
		already = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}
		refused = fleet.Outcome{Verdict: fleet.Failed, Err: errDown}

		gone   = live(fleet.Stopped, false, 0)
		idle   = live(fleet.Stopped, true, 0)
		bare   = live(fleet.Running, false, 0)
		dated  = live(fleet.Stopped, false, 5)
		unsaid = hostingUnknown(gone)
		silent = fleet.Status{State: fleet.Unknown, Code: 117, Away: true}
		late   = fleet.Status{State: fleet.Unknown, Code: 115, Away: true, Late: true}
		unsure = fleet.Status{State: fleet.Unknown, Message: "the task was still queued"}

		unreachable = away
		all         = byHost{1: well, 2: well, 3: well}
		stillHosted = fleet.Outcome{
			Verdict: fleet.Failed, Meaning: "the platform says that nothing is hosted there, but its agent then reports that it hosts the process",
		}
	)
	unreachable.Unreachable = true
	for name, test := range map[string]struct {
		first   fleet.OnDestroy
		process process
		calls   string
		results byHost
	}{
		"unregister": {unregister, process{hostingRegisters: true}, "unregister 1 2 3", all},
		// No document says that unregistering also unhosts.
		"unregister-and-agents-go-on": {
			unregister, process{live: says(byStatus{1: idle, 2: gone, 3: silent}), operate: doneOps(byOp{fleet.Unsupervise: {1: away}})},
			"unregister 1 2 3, live 1 2 3, unhost 1", byHost{1: away, 2: well, 3: unasked(fleet.Outcome{Code: 117, Unreachable: true, Away: true})},
		},
		"unregister-and-agents-cannot-be-asked": {
			unregister, process{live: cannotSay(errDown)},
			"unregister 1 2 3, live 1 2 3", byHost{1: unasked(fleet.Outcome{Err: errDown}), 2: unasked(fleet.Outcome{Err: errDown}), 3: unasked(fleet.Outcome{Err: errDown})},
		},
		"unregister-and-nothing-is-known-of-agents": {
			unregister, process{live: says(byStatus{1: late, 2: unsure, 3: gone})},
			"unregister 1 2 3, live 1 2 3", byHost{1: unasked(fleet.Outcome{Code: 115, Away: true}), 2: unasked(fleet.Outcome{Message: unsure.Message}), 3: well},
		},
		// An agent may host a process that is not registered.
		"unregister-finds-nothing": {
			unregister,
			process{unregister: done(byHost{1: already, 2: already, 3: already}), live: says(byStatus{1: idle, 2: gone, 3: silent})},
			"unregister 1 2 3, live 1 2 3, unhost 1", byHost{1: well, 2: already, 3: unasked(fleet.Outcome{Code: 117, Unreachable: true, Away: true})},
		},
		"unregister-finds-nothing-where-to-register-is-to-host": {
			unregister,
			process{unregister: done(byHost{1: already, 2: already}), live: says(byStatus{1: idle, 2: gone}), hostingRegisters: true},
			"unregister 1 2 3, live 1 2", byHost{1: stillHosted, 2: already, 3: well},
		},
		"unregister-finds-nothing-and-agents-cannot-be-asked": {
			unregister, process{unregister: done(byHost{1: already}), live: cannotSay(errDown), hostingRegisters: true},
			"unregister 1 2 3, live 1", byHost{1: unasked(fleet.Outcome{Err: errDown}), 2: well, 3: well},
		},
		// If registering does not host, an agent that does not say so may host it.
		"hosting-is-unknown": {
			unregister, process{unregister: done(byHost{1: already, 2: already}), live: says(byStatus{1: unsaid, 2: gone, 3: unsaid})},
			"unregister 1 2 3, live 1 2 3, unhost 1 3", byHost{1: well, 2: already, 3: well},
		},
		"unregister-finds-nothing-and-hosting-is-unknown-where-to-register-is-to-host": {
			unregister, process{unregister: done(byHost{1: already}), live: answer(unsaid), hostingRegisters: true},
			"unregister 1 2 3, live 1", byHost{1: already, 2: well, 3: well},
		},
		// The agent hosts it.
		"unregister-fails": {unregister, process{unregister: done(byHost{2: away}), hostingRegisters: true}, "unregister 1 2 3, live 2", byHost{1: well, 2: away, 3: well}},
		"unregister-fails-where-nothing-is": {
			unregister,
			process{unregister: done(byHost{1: away, 2: away, 3: away}), live: says(byStatus{1: idle, 2: gone, 3: silent}), hostingRegisters: true},
			"unregister 1 2 3, live 1 2 3", byHost{1: away, 2: already, 3: unreachable},
		},
		"unregister-fails-where-something-may-be": {
			unregister,
			process{unregister: done(byHost{1: away, 2: away, 3: away}), live: says(byStatus{1: bare, 2: dated, 3: unsaid}), hostingRegisters: true},
			"unregister 1 2 3, live 1 2 3", byHost{1: away, 2: away, 3: away},
		},
		// To the agent, a stopped process that is registered looks like one that is not.
		"unregister-fails-where-agents-know-of-hosting-alone": {
			unregister,
			process{unregister: done(byHost{1: away, 2: away, 3: away}), live: says(byStatus{1: gone, 2: gone, 3: silent}), cached: answer(absent)},
			"unregister 1 2 3, live 1 2 3", byHost{1: away, 2: away, 3: unreachable},
		},
		"unregister-fails-and-agents-cannot-be-asked": {
			unregister,
			process{unregister: done(byHost{2: away}), live: cannotSay(errDown), cached: answer(absent), hostingRegisters: true},
			"unregister 1 2 3, live 2", byHost{1: well, 2: away, 3: well},
		},
		// A refused call shows nothing about any host, and neither does a later answer.
		"unregister-refused-as-a-whole": {
			unregister,
			process{unregister: done(byHost{1: refused, 2: refused, 3: refused}), live: answer(gone), cached: answer(absent), hostingRegisters: true},
			"unregister 1 2 3", byHost{1: refused, 2: refused, 3: refused},
		},
		"only-failures-are-looked-up": {
			unregister,
			process{
				unregister: done(byHost{1: {Verdict: fleet.Pending}, 2: {Verdict: fleet.Lost}, 3: {Verdict: fleet.NotTried}}),
				live:       answer(gone), cached: answer(absent), hostingRegisters: true,
			},
			"unregister 1 2 3", byHost{1: {Verdict: fleet.Pending}, 2: {Verdict: fleet.Lost}, 3: {Verdict: fleet.NotTried}},
		},
		"stop": {stop, process{hostingRegisters: true}, "stop 1 2 3, unregister 1 2 3", all},
		"kill": {kill, process{hostingRegisters: true}, "kill 1 2 3, unregister 1 2 3", all},
		"stop-and-no-time-to-unregister": {
			stop, process{hostingRegisters: true, unregister: done(byHost{1: {Verdict: fleet.NotTried, Err: context.Canceled}})},
			"stop 1 2 3, unregister 1 2 3", byHost{1: {Verdict: fleet.Failed, Err: context.Canceled, Meaning: "its process was ended, and it was not unregistered"}, 2: well, 3: well},
		},
		"nothing-to-stop": {stop, process{hostingRegisters: true, operate: doneOps(byOp{fleet.Stop: {1: noop}}), live: answer(idle)}, "stop 1 2 3, live 1, unregister 1 2 3", all},
		"nothing-to-kill-and-it-runs": {
			kill,
			process{hostingRegisters: true, operate: doneOps(byOp{fleet.Kill: {1: noop, 2: noop}}), live: says(byStatus{1: bare, 2: silent})},
			"kill 1 2 3, live 1 2, unregister 3", byHost{1: runsAfter(noop), 2: restUnknown(silent), 3: well},
		},
		"nothing-to-stop-and-agents-cannot-be-asked": {
			stop, process{hostingRegisters: true, operate: doneOps(byOp{fleet.Stop: {1: noop}}), live: cannotSay(errDown)},
			"stop 1 2 3, live 1, unregister 2 3", byHost{1: restUnasked, 2: well, 3: well},
		},
		"unregister-finds-nothing-and-neither-does-unhosting": {
			unregister,
			process{unregister: done(byHost{1: already}), operate: doneOps(byOp{fleet.Unsupervise: {1: noop}}), live: answer(idle)},
			"unregister 1 2 3, live 1 2 3, unhost 1 2 3, live 1", byHost{1: hostedAfter(noop), 2: well, 3: well},
		},
		"stop-fails": {
			stop, process{hostingRegisters: true, operate: doneOps(byOp{fleet.Stop: {1: away, 3: {Verdict: fleet.Lost}}})},
			"stop 1 2 3, live 1, unregister 2", byHost{1: away, 2: well, 3: {Verdict: fleet.Lost}},
		},
		"stop-fails-and-agents-are-silent": {
			stop,
			process{hostingRegisters: true, operate: doneOps(byOp{fleet.Stop: {1: away, 2: away}}), live: says(byStatus{1: silent, 2: idle})},
			"stop 1 2 3, live 1 2, unregister 3", byHost{1: unreachable, 2: away, 3: well},
		},
		// An agent that has not answered yet may be slow, and one that was not asked is unknown.
		"stop-fails-and-nothing-is-known-of-agents": {
			stop,
			process{hostingRegisters: true, operate: doneOps(byOp{fleet.Stop: {1: away, 2: away}}), live: says(byStatus{1: late, 2: unsure})},
			"stop 1 2 3, live 1 2, unregister 3", byHost{1: away, 2: away, 3: well},
		},
		"every-stop-fails": {kill, process{operate: doneOps(byOp{fleet.Kill: {1: away, 2: away, 3: away}})}, "kill 1 2 3, live 1 2 3", byHost{1: away, 2: away, 3: away}},
		"every-stop-fails-where-nothing-is": {
			stop,
			process{operate: doneOps(byOp{fleet.Stop: {1: away, 2: away, 3: away}}), live: answer(gone), cached: answer(absent), hostingRegisters: true},
			"stop 1 2 3, live 1 2 3", byHost{1: away, 2: away, 3: away},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := release(t.Context(), &test.process, hosts(1, 2, 3), test.first, nil, fleet.Rollout{})
			wantResults(t, test.results, results)
			test.process.wantCalls(t, test.calls)
		})
	}
}

// Each wave is stopped and unregistered before the next one.
func TestRelease_waves(t *testing.T) {
	t.Parallel()
	gone, already := live(fleet.Stopped, false, 0), fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}
	for name, test := range map[string]struct {
		process process
		calls   string
		results byHost
	}{
		"wave-by-wave": {process{hostingRegisters: true}, "stop 1 2, unregister 1 2, stop 3, unregister 3", byHost{1: well, 2: well, 3: well}},
		"stopped-by-failures": {
			process{hostingRegisters: true, operate: doneOps(byOp{fleet.Stop: {2: away}})},
			"stop 1 2, live 2, unregister 1", byHost{1: well, 2: away, 3: {Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}},
		},
		"stopped-and-nothing-is": {
			process{unregister: done(byHost{2: away}), live: answer(gone), hostingRegisters: true},
			"stop 1 2, unregister 1 2, live 2, stop 3, unregister 3", byHost{1: well, 2: already, 3: well},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			results := release(t.Context(), &test.process, hosts(1, 2, 3), fleet.DestroyStop, nil, fleet.Rollout{Waves: fleet.BatchesOf(2)})
			wantResults(t, test.results, results)
			test.process.wantCalls(t, test.calls)
		})
	}
}

// Spared hosts count in the same waves as the others.
func TestRelease_spared(t *testing.T) {
	t.Parallel()
	h := hosts(1, 2, 3, 4)
	p := &process{operate: doneOps(byOp{fleet.Kill: {2: away}}), hostingRegisters: true}
	results := release(t.Context(), p, h, fleet.DestroyKill, map[fleet.Host]bool{h[0]: true, h[3]: true}, fleet.Rollout{Waves: fleet.BatchesOf(2)})
	p.wantCalls(t, "unregister 1", "kill 2", "live 2")
	wantResults(t, byHost{
		1: well, 2: away,
		3: {Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}, 4: {Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures},
	}, results)
}

// A host that is missing in an answer is not taken as unregistered.
func TestRelease_leftOut(t *testing.T) {
	t.Parallel()
	none := func([]fleet.Host) (map[fleet.Host]fleet.Status, error) { return map[fleet.Host]fleet.Status{}, nil }
	for _, p := range []*process{{live: none, hostingRegisters: true}, {live: answer(live(fleet.Stopped, false, 0)), cached: none}} {
		p.unregister = done(byHost{1: away})
		results, _ := fleet.Release(t.Context(), p, hosts(1), fleet.DestroyUnregister, nil, nil)
		wantResults(t, byHost{1: away}, results)
	}
}

func TestRelease_silence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &process{unregister: done(byHost{1: away}), waits: true}
		began := time.Now()
		results, _ := fleet.Release(t.Context(), p, hosts(1), fleet.DestroyUnregister, nil, nil)
		wantResults(t, byHost{1: away}, results)
		waited := time.Since(began)
		fleettest.Check(t, waited <= 15*time.Second, "waited for %s", waited)
	})
}

// A registration made in the meantime is another owner's. Agents are not asked about hosts that were not hosted before.
func TestRelease_registeredMeanwhile(t *testing.T) {
	t.Parallel()
	h := hosts(1, 2, 3, 4, 5)
	p := &process{live: says(byStatus{1: live(fleet.Running, true, 7), 2: live(fleet.Running, true, 5), 3: live(fleet.Running, true, 9), 5: live(fleet.Running, false, 7)})}
	results, _ := fleet.Release(t.Context(), p, h, fleet.DestroyUnregister, nil, map[fleet.Host]fleet.Status{
		h[0]: live(fleet.Running, true, 5), h[1]: live(fleet.Running, true, 5), h[3]: live(fleet.Stopped, false, 5),
		h[4]: live(fleet.Running, true, 5), // unhosted since
	})
	p.wantCalls(t, "unregister 1 2 3 4 5", "live 1 2 3 5", "unhost 2 3")
	o := results[h[0]]
	fleettest.Check(t, o.Verdict == fleet.Failed && len(results.Succeeded(h)) == 4, "got %+v", results)
}

// An update counts as out of time if a host failed at the end of the time for all waves, and not at that of its own.
func TestReconciliation_OutOfTime(t *testing.T) {
	t.Parallel()
	ended := fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Err: context.DeadlineExceeded}
	for name, c := range map[string]struct {
		outcome fleet.Outcome // of host 1, in the first wave
		timeout time.Duration
		want    bool
	}{
		"done":                 {well, 0, false},
		"done-at-the-end":      {fleet.Outcome{Verdict: fleet.Done, Err: context.DeadlineExceeded}, 0, false},
		"fails":                {away, 0, false},
		"out-of-time":          {ended, 0, true},
		"out-of-its-wave-time": {ended, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{reregister: done(byHost{1: c.outcome})}
			r := fleet.NewReconciliation(p, registered, fleet.Change{
				Reregister: hosts(1, 2), Order: hosts(1, 2), Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1), WaveTimeout: c.timeout, MaxFailed: fleet.UpTo(1)},
			})
			r.Run(t.Context())
			fleettest.Same(t, "out of time", c.want, r.Found().OutOfTime)
			fleettest.Check(t, strings.Contains(strings.Join(p.calls, ", "), "reregister 2"), "calls: %v", p.calls)
		})
	}
}

// Only hosts that were sent a registration, or adopted as found, go back.
func TestReconciliation_Changed(t *testing.T) {
	t.Parallel()
	p := &process{register: done(byHost{2: away}), reregister: done(byHost{3: away, 4: {Verdict: fleet.NotTried}})}
	change := fleet.Change{Register: hosts(1, 2), Reregister: hosts(3, 4), Settle: hosts(5), AsFound: hosts(6)}
	change.Order = change.Hosts()
	r := fleet.NewReconciliation(p, registered, change)
	r.Run(t.Context())
	fleettest.Same(t, "changed", hosts(1, 3, 6), r.Changed(), byString)
	fleettest.Check(t, r.Found().TookOver, "not taken over: %+v", r.Found())
}

// If registrations are replaced, that is noted in whichever wave it was.
func TestReconciliation_TookOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change fleet.Change
		want   bool
	}{
		"nothing-was-there": {fleet.Change{Register: hosts(2, 3)}, false},
		"adopted":           {fleet.Change{Register: hosts(1, 2, 3), Adopt: true}, true},
		"adopted-as-found":  {fleet.Change{Register: hosts(2, 3), AsFound: hosts(1)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.change.Order, c.change.Rollout = hosts(1, 2, 3), fleet.Rollout{Waves: fleet.BatchesOf(1)}
			r := fleet.NewReconciliation(&process{register: done(byHost{1: taken})}, registered, c.change)
			r.Run(t.Context())
			fleettest.Same(t, "took over", c.want, r.Found().TookOver)
		})
	}
}
