package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

var (
	well    = fleet.Outcome{Verdict: fleet.Done}
	noop    = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true, Code: 828}
	taken   = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Code: 850}
	away    = fleet.Outcome{Verdict: fleet.Failed, Code: 117}
	wasIdle = fleet.Outcome{Verdict: fleet.Done, WasIdle: true}
	errDown = errors.New("down")

	registered = desired(fleet.EnsureRegistered)
)

func left(o fleet.Outcome, what fleet.Code) fleet.Outcome {
	o.Left = what
	return o
}

func repeated(o fleet.Outcome) fleet.Outcome {
	o.Repeated = true
	return o
}

type (
	byHost   = map[int]fleet.Outcome
	byOp     = map[fleet.Operation]byHost
	byStatus = map[int]fleet.Status
	tasks    = map[fleet.Host]fleet.Task
)

func TestReconcile(t *testing.T) {
	t.Parallel()
	var (
		register, registerTwo = fleet.Change{Register: hosts(1)}, fleet.Change{Register: hosts(1, 2)}
		settle, settleTwo     = fleet.Change{Settle: hosts(1)}, fleet.Change{Settle: hosts(1, 2)}
		registerAndSettle     = fleet.Change{Register: hosts(1), Settle: hosts(2)}
		sent                  = fleet.Outcome{Verdict: fleet.Pending, TaskID: "T"}
		notTried              = fleet.Outcome{Verdict: fleet.NotTried, Err: context.Canceled}
		takenAt5              = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Code: 850, RegisterTime: 5}

		both    = byHost{1: well, 2: well}
		hosted  = desired(fleet.EnsureHosted)
		running = desired(fleet.EnsureRunning)
		bare    = row(fleet.Stopped, false, 5) // as a registration leaves it
		fail    = cannotSay(errDown)
		unread  = fleet.Outcome{Verdict: fleet.Failed, Err: errDown, Meaning: "registered, but its status could not be read back"}
		idle    = row(fleet.Stopped, true, 5)
		unsure  = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: "no agent", Meaning: "registered, but whether it runs is not known"}
	)
	unsureAndAway := unsure
	unsureAndAway.Away = true
	for name, test := range map[string]struct {
		want    fleet.Desired
		change  fleet.Change
		process process
		calls   string
		results byHost
	}{
		"nothing-to-do": {hosted, fleet.Change{}, process{}, "", nil},
		"order-decides": {registered, fleet.Change{Register: hosts(1, 2, 3), Order: hosts(3, 1, 7)}, process{}, "register 3 1, live 3 1", byHost{3: well, 1: well}},
		"each-its-own-call": {
			registered, fleet.Change{Register: hosts(1), Reregister: hosts(2), Settle: hosts(3)}, process{},
			"register 1, reregister 2, live 1 2 3", byHost{1: well, 2: well, 3: well},
		},
		"register-fails": {registered, registerTwo, process{register: done(byHost{2: away})}, "register 1 2, live 1", byHost{1: well, 2: left(away, fleet.NotRegistered)}},
		"register-goes-on": { // on hosts that had no registration
			registered, register, process{register: done(byHost{1: sent})}, "register 1",
			byHost{1: left(goesOn(sent, fleet.Task{ID: "T", Operation: fleet.Supervise, Fingerprint: ownPrint, Fresh: true}), fleet.NotRegistered)},
		},
		"reregister-fails": {
			hosted, fleet.Change{Reregister: hosts(1, 2)}, process{reregister: done(byHost{2: away})}, "reregister 1 2, live 1, live 2",
			byHost{1: well, 2: left(away, fleet.OtherSpec)},
		},
		"taken-and-adopted": {
			hosted, fleet.Change{Register: hosts(1, 2), Adopt: true}, process{register: done(byHost{2: taken})},
			"register 1 2, cached 2, reregister 2, live 1 2", byHost{1: well, 2: well},
		},
		"adoption-fails": {
			registered, fleet.Change{Register: hosts(1), Adopt: true}, process{register: done(byHost{1: taken}), reregister: done(byHost{1: away})},
			"register 1, cached 1, reregister 1", byHost{1: left(away, fleet.NotRegistered)},
		},
		"adoption-fails-as-a-whole": { // it may be this object's by now
			registered, fleet.Change{Register: hosts(1), Adopt: true}, process{register: done(byHost{1: taken}), reregister: done(byHost{1: {Verdict: fleet.Failed, Err: errDown}})},
			"register 1, cached 1, reregister 1", byHost{1: {Verdict: fleet.Lost, Err: errDown, Left: fleet.NotRegistered}},
		},
		"adoption-is-not-tried": {
			registered, fleet.Change{Register: hosts(1), Adopt: true}, process{register: done(byHost{1: taken}), reregister: done(byHost{1: notTried})},
			"register 1, cached 1, reregister 1", byHost{1: left(notTried, fleet.NotRegistered)},
		},
		"adoption-goes-on": { // over what the agent had at that time
			registered, fleet.Change{Register: hosts(1), Adopt: true}, process{register: done(byHost{1: takenAt5}), reregister: done(byHost{1: sent})},
			"register 1, cached 1, reregister 1",
			byHost{1: left(goesOn(sent, fleet.Task{ID: "T", Operation: fleet.Supervise, Fingerprint: ownPrint, RegisterTime: 5}), fleet.NotRegistered)},
		},
		"registered-and-nothing-was-to-be-done": {registered, register, process{register: done(byHost{1: noop})}, "register 1, live 1", byHost{1: noop}},
		"reregister-goes-on": { // over what was there
			registered, fleet.Change{Reregister: hosts(1)}, process{reregister: done(byHost{1: sent})}, "reregister 1, live 1",
			byHost{1: left(goesOn(sent, fleet.Task{ID: "T", Operation: fleet.Supervise, Fingerprint: ownPrint}), fleet.OtherSpec)},
		},
		"reregister-is-not-tried": {
			registered, fleet.Change{Reregister: hosts(1)}, process{reregister: done(byHost{1: notTried})}, "reregister 1", byHost{1: left(notTried, fleet.OtherSpec)},
		},
		"failed-is-not-adopted": {
			registered, fleet.Change{Register: hosts(1), Adopt: true}, process{register: done(byHost{1: repeated(away)})},
			"register 1", byHost{1: left(repeated(away), fleet.NotRegistered)},
		},

		// If registering found the agent idle, it is not asked again before the next step.
		"hosted/was-idle": {hosted, registerTwo, process{register: done(byHost{1: wasIdle})}, "register 1 2, live 2, host 1, live 1", both},
		"hosted/was-idle-and-to-register-is-to-host": {hosted, register, process{register: done(byHost{1: wasIdle}), hostingRegisters: true}, "register 1, live 1", byHost{1: wasIdle}},
		"running/was-idle":                           {running, registerTwo, process{register: done(byHost{1: wasIdle})}, "register 1 2, live 2, start 1, live 1", both},
		"running/was-idle-and-to-register-is-to-host": {
			running, register, process{register: done(byHost{1: wasIdle}), hostingRegisters: true},
			"register 1, start 1, live 1", byHost{1: well},
		},
		"hosted/only-the-bare": {
			hosted, fleet.Change{Register: hosts(1), Reregister: hosts(2), Settle: hosts(3, 4)},
			process{live: first(says(byStatus{1: bare, 4: hostingUnknown(healthy)}))},
			"register 1, reregister 2, live 1 2 3 4, host 1 4, live 1 4", byHost{1: well, 2: well, 3: well, 4: well},
		},
		"hosted/not-the-failed": {
			hosted, registerTwo, process{register: done(byHost{1: away}), live: first(answer(bare))},
			"register 1 2, live 2, host 2, live 2", byHost{1: left(away, fleet.NotRegistered), 2: well},
		},
		"hosted/but-the-agent-denies-it": {
			hosted, settleTwo, process{live: says(byStatus{1: bare})}, "live 1 2, host 1, live 1",
			byHost{1: {
				Verdict: fleet.Failed, Left: fleet.NotHosted, Meaning: "the platform says that it is hosted, but its agent then reports that it is not",
			}, 2: well},
		},
		"running/but-the-agent-denies-it": { // the start found it running
			running, settleTwo, process{live: says(byStatus{1: idle}), operate: doneOps(byOp{fleet.Start: {1: noop}})}, "live 1 2, start 1, host 1, live 1",
			byHost{1: {
				Verdict: fleet.Failed, Left: fleet.NotRunning, Meaning: "the platform says that it runs, but its agent then reports that it does not",
			}, 2: well},
		},
		"running/but-the-agent-denies-the-start": {
			running, settleTwo, process{live: says(byStatus{1: idle}), denies: true}, "live 1 2, start 1, live 1",
			byHost{1: {
				Verdict: fleet.Failed, Left: fleet.NotRunning, Meaning: "the platform says that it runs, but its agent then reports that it does not",
			}, 2: well},
		},
		"registered/which-the-agent-denies": {
			registered, register, process{register: done(byHost{1: wasIdle}), live: answer(bare), hostingRegisters: true}, "register 1, live 1",
			byHost{1: {
				Verdict: fleet.Lost, WasIdle: true, Left: fleet.NotRegistered,
				Meaning: "the platform says that it is registered, but its agent then reports that it is not hosted",
			}},
		},
		"registered/and-not-hosted": {registered, register, process{register: done(byHost{1: wasIdle}), live: answer(bare)}, "register 1, live 1", byHost{1: wasIdle}},
		"hosted/hosting-fails": {
			hosted, registerAndSettle, process{live: answer(bare), operate: doneOps(byOp{fleet.Supervise: {1: away, 2: away}})},
			"register 1, live 1 2, host 1 2, live 1 2", byHost{1: left(away, fleet.NotHosted), 2: left(away, fleet.NotHosted)},
		},
		"hosted/cached-status-fails": { // nothing reads it
			hosted, fleet.Change{Reregister: hosts(1), Settle: hosts(2)},
			process{cached: fail, live: first(answer(bare))},
			"reregister 1, live 1 2, host 1 2, live 1 2",
			both,
		},
		"hosted/agents-silent": {
			hosted, registerAndSettle, process{cached: answer(bare), live: fail}, "register 1, live 1 2",
			byHost{1: left(unread, fleet.NotHosted), 2: left(unread, fleet.NotHosted)},
		},
		"running/only-those-down": {running, registerAndSettle, process{live: says(byStatus{1: bare})}, "register 1, live 1 2, start 1, live 1", both},
		"running/state-unknown": {
			running, settle, process{live: answer(fleet.Status{State: fleet.Unknown, Code: 117, Message: "no agent"})}, "live 1",
			byHost{1: left(unsure, fleet.NotRunning)},
		},
		"running/agent-away": {
			running, settle, process{live: answer(fleet.Status{State: fleet.Unknown, Code: 117, Message: "no agent", Away: true})}, "live 1",
			byHost{1: left(unsureAndAway, fleet.NotRunning)},
		},
		"running/denied-without-labels": { // nothing else that the agents know is kept
			fleet.Desired{Ensure: fleet.EnsureRunning}, settleTwo, process{live: says(byStatus{1: idle}), operate: doneOps(byOp{fleet.Start: {1: noop}, fleet.Supervise: {1: noop}})},
			"live 1 2, start 1, host 1, live 1",
			byHost{1: {
				Verdict: fleet.Failed, Code: 828, Left: fleet.NotRunning, Meaning: "the platform says that it runs, but its agent then reports that it does not",
			}, 2: well},
		},
		"running/state-unknown-on-some": {
			running, fleet.Change{Register: hosts(1), Settle: hosts(2, 3)},
			process{live: says(byStatus{1: bare, 2: {State: fleet.Unknown, Code: 117, Message: "no agent"}})},
			"register 1, live 1 2 3, start 1, live 1", byHost{1: well, 2: left(unsure, fleet.NotRunning), 3: well},
		},
		"running/found-running": { // a start that had nothing to do hosts nothing
			running, settleTwo,
			process{live: first(answer(bare)), operate: doneOps(byOp{fleet.Start: {1: noop}})},
			"live 1 2, start 1 2, host 1, live 1 2", both,
		},
		"running/but-bare": {running, settle, process{live: first(answer(row(fleet.Running, false, 5)))}, "live 1, host 1, live 1", byHost{1: well}},
		"running/start-fails": {
			running, settleTwo, process{live: answer(bare), operate: doneOps(byOp{fleet.Start: {1: away}})},
			"live 1 2, start 1 2, live 1 2", byHost{1: left(away, fleet.NotRunning), 2: well},
		},
		"running/hosting-fails": {
			running, settleTwo,
			process{
				live:    says(byStatus{1: bare, 2: row(fleet.Running, false, 5)}),
				operate: doneOps(byOp{fleet.Start: {1: noop}, fleet.Supervise: {1: away, 2: away}}),
			},
			"live 1 2, start 1, host 1 2, live 1 2", byHost{1: left(away, fleet.NotHosted), 2: left(away, fleet.NotHosted)},
		},
		"running/agents-silent": {running, settle, process{live: fail}, "live 1", byHost{1: left(unread, fleet.NotRunning)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.change.Order == nil {
				test.change.Order = hosts(1, 2, 3, 4)
			}
			results := fleet.NewReconciliation(&test.process, test.want, test.change).Run(t.Context())
			wantResults(t, test.results, results)
			test.process.wantCalls(t, test.calls)
		})
	}
}

// If the platform says that a host is registered already, the cached status shows whether by this object, which
// goes on, by another one, or that it is unknown.
func TestReconcile_taken(t *testing.T) {
	t.Parallel()
	const unread = "the process is registered already; who registered it could not be read"
	var (
		bare      = row(fleet.Stopped, false, 5) // as a registration leaves it
		foreign   = labelled(bare, carrying("v1-ffffffffffffffff"))
		absent    = fleet.Status{State: fleet.Unregistered}
		unlabeled = fleet.Desired{Ensure: fleet.EnsureRegistered}
		already   = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}
		// at adds the time of the registration.
		at = func(registered int64) fleet.Outcome {
			o := taken
			o.RegisterTime = registered
			return o
		}
		theirs = func(o fleet.Outcome) fleet.Outcome { return left(o, fleet.RegisteredByOther) }
		named  = func(labels string, o fleet.Outcome) fleet.Outcome {
			o.Meaning = ", with the labels " + labels
			return theirs(o)
		}
		many   = map[string]string{"f": "6", "e": "5", "d": "4", "c": "3", "b": "2\n", "a": "1", "aa": "", label: "v1-f"}
		unsaid = func(o fleet.Outcome) fleet.Outcome {
			o.Unread, o.Meaning = true, unread
			return theirs(o)
		}
		maybe = fleet.Outcome{
			Verdict: fleet.Lost, Code: 850, Repeated: true, Left: fleet.NotRegistered,
			Meaning: "registered already, and whether an earlier request of this apply did that could not be read",
		}
		owned    = theirs(taken)
		maybeAt6 = maybe
		five     = map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"}
	)
	maybeAt6.RegisterTime = 6
	owned.Meaning, owned.Owner = `, owner them\n`, "them\n"
	for name, c := range map[string]struct {
		want  fleet.Desired
		found fleet.Outcome // of registering
		file  fleet.Status
		then  string // calls after the cached status was read
		is    fleet.Outcome
	}{
		"by-another":             {registered, taken, foreign, "", named("team=sre", taken)},
		"by-many-labels":         {registered, taken, labelled(bare, many), "", named(`a=1, b=2\n, c=3, d=4, e=5, …`, taken)},
		"without-labels":         {registered, taken, labelled(bare, nil), "", unsaid(taken)},
		"lagging":                {registered, taken, absent, "", unsaid(taken)},
		"own":                    {registered, taken, bare, "live 1", already},
		"own-by-a-start":         {registered, taken, labelled(bare, started()), "reregister 1, live 1", well},
		"own-as-declared-before": {registered, taken, labelled(bare, map[string]string{label: "v1-ffffffffffffffff", label + "_owner": "us"}), "reregister 1, live 1", well},
		"own-brought-up":         {desired(fleet.EnsureHosted), taken, bare, "live 1, host 1, live 1", well},
		"by-an-owner":            {registered, taken, labelled(bare, map[string]string{label: "v1-f", label + "_owner": "them\n"}), "", owned},
		"no-fingerprints":        {unlabeled, taken, bare, "", named("team=sre, tf_spec=v1-0123456789abcdef, tf_spec_owner=us", taken)},
		// A registration made by an operation that hosts has no owner label.
		"own-without-an-owner": {registered, taken, labelled(bare, carrying(ownPrint)), "", named("team=sre", taken)},
		// The agent knows of a later registration than the row.
		"since-the-row":     {registered, at(6), foreign, "", unsaid(at(6))},
		"own-by-an-old-row": {registered, at(6), bare, "", unsaid(at(6))},
		"as-the-row-says":   {registered, at(5), foreign, "", named("team=sre", at(5))},
		// A cached status that lags may lack the row, or show an earlier owner's.
		"repeated-lagging":              {registered, repeated(taken), absent, "", maybe},
		"repeated-by-unknown":           {registered, repeated(taken), foreign, "", maybe},
		"repeated-by-another":           {registered, repeated(at(5)), foreign, "", named("team=sre", repeated(at(5)))},
		"repeated-without-fingerprints": {unlabeled, repeated(taken), foreign, "", already},
		"repeated-and-own":              {registered, repeated(taken), bare, "live 1", already},
		"repeated-since-the-row":        {registered, repeated(at(6)), bare, "", maybeAt6},
		// The agent had the time of an earlier registration, so the first request registered nothing.
		"repeated-without-fingerprints-but-timed": {unlabeled, repeated(at(5)), foreign, "", named("team=sre, tf_spec=v1-ffffffffffffffff", repeated(at(5)))},
		// An interrupted create, whose owner is lost, has registered this declaration.
		"own-of-a-lost-create": {registered, taken, labelled(bare, ownedBy("them")), "reregister 1, live 1", well},
		"by-five-labels":       {registered, taken, labelled(bare, five), "", named("a=1, b=2, c=3, d=4, e=5", taken)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{register: done(byHost{1: c.found}), cached: answer(c.file), live: first(answer(bare))}
			results := fleet.NewReconciliation(&p, c.want, fleet.Change{Register: hosts(1), Order: hosts(1)}).Run(t.Context())
			wantResults(t, byHost{1: c.is}, results)
			p.wantCalls(t, strings.Trim("register 1, cached 1, "+c.then, ", "))
		})
	}
	t.Run("cached-status-fails", func(t *testing.T) {
		t.Parallel()
		p := process{register: done(byHost{1: taken}), cached: cannotSay(errDown)}
		results := fleet.NewReconciliation(&p, registered, fleet.Change{Register: hosts(1), Order: hosts(1)}).Run(t.Context())
		wantResults(t, byHost{1: {Verdict: fleet.Failed, Code: 850, Err: errDown, Unread: true, Meaning: unread, Left: fleet.RegisteredByOther}}, results)
		p.wantCalls(t, "register 1, cached 1")
	})
}

// Change.Leaving is asked if the cached status names another object, or cannot show who registered.
func TestReconcile_leaving(t *testing.T) {
	t.Parallel()
	at := taken
	at.RegisterTime = 5
	p := &process{register: done(byHost{1: at, 2: at, 3: at, 4: at}), cached: says(byStatus{
		4: row(fleet.Stopped, false, 5), // its own
		1: labelled(row(fleet.Stopped, false, 5), map[string]string{label: "v1-ffffffffffffffff", label + "_owner": "them"}), 2: labelled(row(fleet.Stopped, false, 5), carrying("v1-ffffffffffffffff")), 3: {State: fleet.Unregistered},
	})}
	change := fleet.Change{Register: hosts(1, 2, 3, 4), Order: hosts(1, 2, 3, 4)}
	change.Leaving = func(_ context.Context, found map[fleet.Host]fleet.Owned) []fleet.Host {
		fleettest.Same(t, "asked about", map[int]fleet.Owned{1: {Owner: "them", At: 5}, 3: {At: 5}}, byNumber(found))
		return hosts(1)
	}
	results := fleet.NewReconciliation(p, desired(fleet.EnsureRegistered), change).Run(t.Context())
	p.wantCalls(t, "register 1 2 3 4", "cached 1 2 3 4", "reregister 1", "live 1 4")
	fleettest.Check(t, results[host(2)].Left == fleet.RegisteredByOther && results[host(3)].Left == fleet.RegisteredByOther, "results: %+v", results)
}

// On a host that no wave reached, everything that was due is left to do.
func TestReconcile_leftOfWavesNotTried(t *testing.T) {
	t.Parallel()
	change := fleet.Change{
		Register: hosts(1, 2), Reregister: hosts(3), Settle: hosts(4, 6), AsFound: hosts(5), Order: hosts(1, 2, 3, 4, 5, 6),
		Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, Operate: fleet.Operate{
			Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(6): {Tried: fleet.TryUnsure}},
		},
	}
	for ensure, settle := range map[fleet.Ensure]fleet.Code{fleet.EnsureHosted: fleet.NotHosted, fleet.EnsureRunning: fleet.NotRunning} {
		t.Run(string(ensure), func(t *testing.T) {
			t.Parallel()
			p := &process{register: done(byHost{1: away})}
			results := fleet.NewReconciliation(p, desired(ensure), change).Run(t.Context())
			p.wantCalls(t, "register 1")
			stopped := fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}
			wantResults(t, byHost{
				1: left(away, fleet.NotRegistered), 2: left(stopped, fleet.NotRegistered),
				3: left(stopped, fleet.OtherSpec), 4: left(stopped, settle),
				5: left(stopped, fleet.NotRegistered), 6: left(stopped, fleet.OperationUnconfirmed),
			}, results)
		})
	}
}

// A wave is brought up before the next one is registered. Unchanged hosts do not count in its size.
func TestReconcile_waves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &process{live: answer(row(fleet.Stopped, false, 5))}
		start := time.Now()
		results := fleet.NewReconciliation(p, desired(fleet.EnsureRunning), fleet.Change{
			Register: hosts(1, 2, 3), Reregister: hosts(4), Order: hosts(4, 7, 3, 8, 2, 1),
			Rollout: fleet.Rollout{Waves: fleet.BatchesOf(2), Pause: time.Minute},
		}).Run(t.Context())
		p.wantCalls(t, "register 3", "reregister 4", "live 4 3", "start 4 3", "live 4 3", "register 2 1", "live 2 1", "start 2 1", "live 2 1")
		fleettest.Same(t, "one pause", time.Minute, time.Since(start))
		failures := results.Failures()
		fleettest.Check(t, len(failures) == 0, "failures: %v", failures)
	})
}

func TestReconcile_keepsTheCallersSlices(t *testing.T) {
	t.Parallel()
	order := hosts(1, 2, 3, 4)
	fleet.NewReconciliation(&process{}, desired(fleet.EnsureRegistered), fleet.Change{Register: hosts(4), Order: order}).Run(t.Context())
	fleettest.Same(t, "Order", hosts(1, 2, 3, 4), order, byString)
}

// An agent that does not answer does not prevent hosting on the others of its wave.
func TestReconcile_silentAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := &process{live: says(byStatus{1: row(fleet.Stopped, false, 5), 2: {State: fleet.Unknown}}), waits: true}
		results := fleet.NewReconciliation(p, desired(fleet.EnsureRunning), fleet.Change{Register: hosts(1, 2), Order: hosts(1, 2)}).Run(ctx)
		p.wantCalls(t, "register 1 2", "live 1 2", "start 1", "live 1")
		fleettest.Check(t, ctx.Err() == nil && results[host(1)].OK() && results[host(2)].Left == fleet.NotRunning, "%v: %v", ctx.Err(), byNumber(results))
	})
}

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
	failures := byNumber(results.Failures())
	fleettest.Check(t, len(failures) == 4 && failures[1].TaskID == "" && failures[2].TaskID == "task-a", "Failures: got %v, want hosts 2 to 5", failures)
	fleettest.Same(t, "TaskIDs", []string{"task-a", "task-b"}, results.TaskIDs())
	results.Merge(fleet.Results{host(2): {Verdict: fleet.Done}, host(7): {Verdict: fleet.Failed}})
	fleettest.Check(t, results[host(2)].OK() && !results[host(7)].OK() && len(results) == 7,
		"Merge: got %v, want the later results to win", byNumber(results))
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

// An agent that gives the registration time only under the machine's other name shows whether the row under the
// first name is old. An old row does not make the registration this object's.
func TestReconcile_datedByAnotherName(t *testing.T) {
	t.Parallel()
	want := desired(fleet.EnsureRegistered)
	ours := labelled(row(fleet.Stopped, true, 5), ownedBy("us"))
	cases := map[string]struct {
		other fleet.Status // by the other name, which is host 2
		reads bool         // whether the row counts
	}{
		"registered-since": {row(fleet.Stopped, true, 9), false},
		"registered-then":  {row(fleet.Stopped, true, 5), true},
		"reports-no-time":  {healthy, true},
		"does-not-answer":  {fleet.Status{State: fleet.Unknown}, false},
		"unreadable":       {fleet.Status{State: fleet.Unknown, Unread: true}, false},
		"cannot-be-asked":  {healthy, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{
				register: done(byHost{1: taken}), cached: says(byStatus{1: ours}), live: says(byStatus{2: c.other}),
				others: map[fleet.Host]fleet.HostID{host(1): host(2).WithoutSupplier()},
			}
			if name == "cannot-be-asked" {
				p.live = cannotSay(errDown)
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

// A hosting whose task is still pending has taken effect if the agent shows a registration that was not there
// before, and the cached status shows that it is this object's.
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
		"fresh-and-no-time":       {fresh, hostedAt(0), oursAt(6), true},
		"fresh-and-an-old-row":    {fresh, hostedAt(7), oursAt(6), false},
		"fresh-and-no-row":        {fresh, hostedAt(6), fleet.Status{State: fleet.Unregistered}, false},
		"fresh-and-anothers":      {fresh, hostedAt(6), theirs, false},
		"fresh-and-an-earlier":    {fresh, hostedAt(6), another, false},
		"fresh-and-not-hosted":    {fresh, row(fleet.Stopped, false, 0), oursAt(6), false},
		"fresh-and-silent":        {fresh, fleet.Status{State: fleet.Unknown}, oursAt(6), false},
		"over-another":            {fleet.Task{RegisterTime: 5}, hostedAt(6), oursAt(6), true},
		"over-the-same":           {fleet.Task{RegisterTime: 5}, hostedAt(5), oursAt(5), false},
		"over-one-and-no-time":    {fleet.Task{RegisterTime: 5}, hostedAt(0), oursAt(6), false},
		"over-one-without-a-time": {fleet.Task{}, hostedAt(6), oursAt(6), false},
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
			pending.Meaning = "hosting it by an earlier apply is still under way; if that never ends, remove the resource with terraform state rm, and create it again with adopt_existing = true"
			wantResults(t, byHost{1: pending}, results)
			p.wantCalls(t, append(asked, "wait 1")...)
		})
	}
}

// Agents are asked afterwards only for what is kept: the time of a registration with labels, or the pid.
func TestReconcile_asksForWhatIsKept(t *testing.T) {
	t.Parallel()
	unlabelled := fleet.Desired{Ensure: fleet.EnsureRegistered}
	for name, c := range map[string]struct {
		want      fleet.Desired
		operation fleet.Operation
		calls     string
	}{
		"nothing": {unlabelled, "", "register 1"}, "the-time": {registered, "", "register 1, live 1"}, "the-pid": {unlabelled, fleet.Restart, "register 1, live 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{}
			fleet.NewReconciliation(p, c.want, fleet.Change{Register: hosts(1), Order: hosts(1), Operate: fleet.Operate{Operation: c.operation}}).Run(t.Context())
			p.wantCalls(t, c.calls)
		})
	}
}

// Hosts that are taken over are noted with what was there, if that was another owner's, or not hosted and not this
// object's.
func TestReconcile_notesWhatItTook(t *testing.T) {
	t.Parallel()
	theirs := labelled(row(fleet.Stopped, true, 5), ownedBy("them"))
	rows := byStatus{
		1: row(fleet.Stopped, true, 5), 2: row(fleet.Stopped, false, 5), 3: theirs, // the first two are this object's
		4: labelled(row(fleet.Stopped, false, 5), carrying("v1-ffffffffffffffff")), 5: labelled(row(fleet.Stopped, true, 5), carrying("v1-ffffffffffffffff")),
		6: hostingUnknown(labelled(row(fleet.Stopped, false, 5), carrying("v1-ffffffffffffffff"))),
	}
	already := byHost{1: taken, 2: taken, 3: taken, 4: taken, 5: taken, 6: taken}
	for name, c := range map[string]struct {
		want  fleet.Desired
		adopt bool
		calls []string
		noted map[int]fleet.Status
	}{
		"adopted": {registered, true, []string{"register 1 2 3 4 5 6", "cached 1 2 3 4 5 6", "reregister 1 2 3 4 5 6", "live 1 2 3 4 5 6"}, map[int]fleet.Status{3: theirs, 4: rows[4]}},
		// The third has the declaration, as of a create that was interrupted.
		"its-own":                {registered, false, []string{"register 1 2 3 4 5 6", "cached 1 2 3 4 5 6", "reregister 3", "live 1 2 3"}, map[int]fleet.Status{3: theirs}},
		"adopted-without-labels": {fleet.Desired{Ensure: fleet.EnsureRegistered}, true, []string{"register 1 2 3 4 5 6", "reregister 1 2 3 4 5 6"}, map[int]fleet.Status{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &process{register: done(already), cached: says(rows)}
			r := fleet.NewReconciliation(p, c.want, fleet.Change{Register: hosts(1, 2, 3, 4, 5, 6), Order: hosts(1, 2, 3, 4, 5, 6), Adopt: c.adopt})
			r.Run(t.Context())
			p.wantCalls(t, c.calls...)
			fleettest.Same(t, "taken", c.noted, byNumber(r.Found().Taken))
		})
	}
}

// Without labels, a registration is this object's if state says that an earlier apply may have made it.
func TestReconcile_sentBefore(t *testing.T) {
	t.Parallel()
	p := &process{register: done(byHost{1: taken, 2: taken}), cached: answer(row(fleet.Stopped, true, 5))}
	results := fleet.NewReconciliation(p, fleet.Desired{Ensure: fleet.EnsureRegistered}, fleet.Change{
		Register: hosts(1, 2), Order: hosts(1, 2), Inherited: fleet.Inherited{Sent: map[fleet.Host]bool{host(1): true}},
	}).Run(t.Context())
	p.wantCalls(t, "register 1 2", "cached 1 2", "reregister 1")
	fleettest.Check(t, results[host(1)].OK() && results[host(2)].Left == fleet.RegisteredByOther, "results: %+v", byNumber(results))
}

// A platform that hosts a process once refuses to host what is registered and unhosted. It is unhosted before it is
// hosted again, unless its agent knows of another registration by then, or does not answer.
func TestReconcile_hostedOnce(t *testing.T) {
	t.Parallel()
	bare := live(fleet.Stopped, false, 5)
	silent := fleet.Status{State: fleet.Unknown, Away: true}
	for name, c := range map[string]struct {
		then  fleet.Status
		calls string
	}{
		"still-unhosted":       {bare, "live 1, host 1, live 1, reregister 1, live 1"},
		"hosted-since":         {live(fleet.Running, true, 7), "live 1, host 1, live 1, live 1"},
		"registered-since":     {live(fleet.Stopped, false, 7), "live 1, host 1, live 1, live 1"},
		"hosted-and-time-kept": {live(fleet.Running, true, 5), "live 1, host 1, live 1, live 1"},
		"silent":               {silent, "live 1, host 1, live 1, live 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			p := &process{hostingRegisters: true, operate: doneOps(byOp{fleet.Supervise: {1: {Verdict: fleet.Done, AlreadyDone: true, Code: 850}}})}
			p.live = func(on []fleet.Host) (map[fleet.Host]fleet.Status, error) {
				if asked++; asked == 1 {
					return answer(bare)(on)
				}
				return answer(c.then)(on)
			}
			fleet.NewReconciliation(p, desired(fleet.EnsureHosted), fleet.Change{Settle: hosts(1), Order: hosts(1)}).Run(t.Context())
			p.wantCalls(t, c.calls)
		})
	}
}
