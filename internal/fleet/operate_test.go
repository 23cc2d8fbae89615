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

func TestRun(t *testing.T) {
	t.Parallel()
	var (
		up        = live(fleet.Running, true, 5)
		stopped   = live(fleet.Stopped, false, 5)
		idle      = live(fleet.Stopped, true, 5) // hosted and not running
		maybeIdle = hostingUnknown(stopped)
		silent    = fleet.Status{State: fleet.Unknown, Code: 117, Message: "the agent is abnormal or not found"}
		both      = byHost{1: well, 2: well}
		already   = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}
	)
	for name, test := range map[string]struct {
		op      fleet.Operation
		unsure  []int
		process process
		calls   string
		results byHost
	}{
		"start":   {fleet.Start, nil, process{}, "start 1 2", both},
		"restart": {fleet.Restart, nil, process{}, "restart 1 2", both},
		"stop":    {fleet.Stop, nil, process{}, "stop 1 2", both},
		"fails":   {fleet.Kill, nil, process{operate: doneOps(byOp{fleet.Kill: {1: away}})}, "kill 1 2", byHost{1: away, 2: well}},

		"start-found-running": {fleet.Start, nil, process{operate: doneOps(byOp{fleet.Start: {1: noop}})}, "start 1 2", byHost{1: noop, 2: well}},
		"kill-found-idle-on-one": {
			fleet.Kill, nil, process{operate: doneOps(byOp{fleet.Kill: {1: noop, 2: noop}}), live: says(byStatus{1: stopped, 2: idle})},
			"kill 1 2, live 1 2, unhost 2", byHost{1: noop, 2: well},
		},

		"unsure-start-worked":         {fleet.Start, []int{1}, process{live: answer(up)}, "live 1, start 2", byHost{1: already, 2: well}},
		"unsure-start-did-not":        {fleet.Start, []int{1, 2}, process{live: says(byStatus{2: stopped})}, "live 1 2, start 2", byHost{1: already, 2: well}},
		"unsure-stop-worked":          {fleet.Stop, []int{1}, process{live: answer(stopped)}, "live 1, stop 2", byHost{1: already, 2: well}},
		"unsure-stop-of-all":          {fleet.Stop, []int{1, 2}, process{live: answer(stopped)}, "live 1 2", byHost{1: already, 2: already}},
		"unsure-stop-did-not":         {fleet.Stop, []int{1}, process{live: answer(up)}, "live 1, stop 1 2", both},
		"unsure-stop-only-unhosted":   {fleet.Stop, []int{1}, process{live: answer(live(fleet.Running, false, 5))}, "live 1, stop 1 2", both},
		"unsure-kill-left-hosting":    {fleet.Kill, []int{1}, process{live: answer(idle)}, "live 1, kill 1 2", both},
		"unsure-stop-hosting-unknown": {fleet.Stop, []int{1}, process{live: answer(maybeIdle)}, "live 1, stop 1 2", both},
		"unsure-stop-left-idle":       {fleet.Stop, []int{1}, process{operate: doneOps(byOp{fleet.Stop: {1: noop}}), live: answer(idle)}, "live 1, stop 1 2, live 1, unhost 1", both},
		"unsure-agent-silent": {
			fleet.Stop, []int{1}, process{live: answer(silent)}, "live 1, stop 2",
			byHost{1: {Verdict: fleet.Lost, Code: 117, Message: silent.Message, Meaning: "whether an earlier stop worked is not known"}, 2: well},
		},
		"unsure-cannot-be-asked": {
			fleet.Start, []int{1}, process{live: cannotSay(errDown)}, "live 1, start 2",
			byHost{1: {Verdict: fleet.Lost, Err: errDown, Meaning: "whether an earlier start worked could not be asked"}, 2: well},
		},
		"unsure-elsewhere": {fleet.Start, []int{9}, process{}, "start 1 2", both},
		// Agents cannot show whether a restart or a reload worked.
		"unsure-restart": {fleet.Restart, []int{1}, process{}, "restart 1 2", both},
		"unsure-reload":  {fleet.Reload, []int{1, 2}, process{}, "reload 1 2", both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unsure := make(map[fleet.Host]fleet.Task)
			for _, n := range test.unsure {
				unsure[host(n)] = fleet.Task{}
			}
			results := runOne(t.Context(), &test.process, test.op, hosts(1, 2), unsure, fleet.Rollout{})
			wantResults(t, test.results, results)
			test.process.wantCalls(t, test.calls)
		})
	}
}

// If the platform says that a process does not run, its agent decides: what is still hosted is unhosted, and a
// process that runs was not stopped.
func TestRun_foundNothing(t *testing.T) {
	t.Parallel()
	var (
		idle      = live(fleet.Stopped, true, 5) // hosted and not running
		maybeIdle = hostingUnknown(live(fleet.Stopped, false, 5))
		silent    = fleet.Status{State: fleet.Unknown, Code: 117, Message: "the agent is abnormal or not found"}
	)
	for name, c := range map[string]struct {
		op        fleet.Operation
		live      func([]fleet.Host) (map[fleet.Host]fleet.Status, error)
		unhosting fleet.Outcome
		calls     string // after the operation
		is        fleet.Outcome
	}{
		"idle":                 {fleet.Stop, answer(idle), well, "live 1, unhost 1", well},
		"hosting-not-said":     {fleet.Stop, answer(maybeIdle), well, "live 1, unhost 1", well},
		"unhosting-fails":      {fleet.Stop, answer(idle), away, "live 1, unhost 1", away},
		"stays-hosted":         {fleet.Stop, answer(idle), noop, "live 1, unhost 1, live 1", hostedAfter(noop)},
		"hosting-never-said":   {fleet.Stop, answer(maybeIdle), noop, "live 1, unhost 1", noop},
		"agent-silent":         {fleet.Stop, answer(silent), well, "live 1", restUnknown(silent)},
		"cannot-be-asked":      {fleet.Stop, cannotSay(errDown), well, "live 1", restUnasked},
		"it-runs":              {fleet.Stop, answer(live(fleet.Running, true, 5)), well, "live 1", runsAfter(noop)},
		"kill-and-it-runs":     {fleet.Kill, answer(live(fleet.Running, false, 5)), well, "live 1", runsAfter(noop)},
		"kill-and-not-hosting": {fleet.Kill, answer(live(fleet.Stopped, false, 5)), well, "live 1", noop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{operate: doneOps(byOp{c.op: {1: noop}, fleet.Unsupervise: {1: c.unhosting}}), live: c.live}
			results := runOne(t.Context(), &p, c.op, hosts(1, 2), nil, fleet.Rollout{})
			wantResults(t, byHost{1: c.is, 2: well}, results)
			p.wantCalls(t, string(c.op)+" 1 2", c.calls)
		})
	}
}

func TestRun_waves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &process{live: answer(live(fleet.Stopped, false, 0))}
		start := time.Now()
		runOne(t.Context(), p, fleet.Stop, hosts(1, 2, 3, 4, 5), tasks{host(2): {}, host(4): {}},
			fleet.Rollout{Waves: fleet.BatchesOf(2), Pause: 30 * time.Second})
		p.wantCalls(t, "live 2", "stop 1", "live 4", "stop 3", "stop 5")
		fleettest.Same(t, "two pauses", time.Minute, time.Since(start))
	})
}

// Agents that do not answer whether the process is still hosted do not use the time of the next wave.
func TestRun_stillHostedUnasked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		op      fleet.Operation
		oneShot bool
		hosted  bool // before
		calls   string
	}{
		"idle":     {fleet.Stop, false, true, "stop %[1]d, live %[1]d, unhost %[1]d, live %[1]d"},
		"one-shot": {fleet.Start, true, false, "live %[1]d, start %[1]d, unhost %[1]d, live %[1]d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := process{
					oneShot: c.oneShot, waits: true, live: answer(live(fleet.Stopped, c.hosted, 5)),
					operate: doneOps(byOp{fleet.Stop: {1: noop, 2: noop}, fleet.Unsupervise: {1: noop, 2: noop}}),
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				runOne(ctx, &p, c.op, hosts(1, 2), nil, fleet.Rollout{Waves: fleet.BatchesOf(1), MaxFailed: fleet.UpTo(1)})
				p.wantCalls(t, fmt.Sprintf(c.calls, 1), fmt.Sprintf(c.calls, 2))
			})
		})
	}
}

// After hosting was ended, agents that do not answer are waited for at most a minute.
func TestRun_unhostsInSilence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		op      fleet.Operation
		oneShot bool
	}{"one-shot": {fleet.Start, true}, "nothing-to-stop": {fleet.Stop, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				p := &process{oneShot: test.oneShot}
				p.operate = func(_ context.Context, op fleet.Operation, on []fleet.Host, _ fleet.Observer) fleet.Results {
					p.waits = op == fleet.Unsupervise
					return fleet.Same(on, noop)
				}
				p.live = answer(live(fleet.Stopped, !test.oneShot, 5))
				began := time.Now()
				runOne(ctx, p, test.op, hosts(1), nil, fleet.Rollout{})
				took := time.Since(began)
				fleettest.Check(t, took <= time.Minute, "took %s", took)
				fleettest.Same(t, "last call", "live 1", p.calls[len(p.calls)-1])
			})
		})
	}
}

func TestRun_leavesTime(t *testing.T) {
	t.Parallel()
	for op, want := range map[fleet.Operation]time.Duration{
		fleet.Start: 0, fleet.Stop: 2 * fleet.Quick, fleet.Kill: 2 * fleet.Quick, fleet.Restart: 0, fleet.Reload: 0,
	} {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				p := &process{operate: func(ctx context.Context, _ fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
					if deadline, _ := ctx.Deadline(); time.Until(deadline) != time.Hour-want {
						t.Errorf("it has %s of an hour", time.Until(deadline))
					}
					return fleet.Same(hosts, well)
				}}
				runOne(ctx, p, op, hosts(1), nil, fleet.Rollout{})
			})
		})
	}
}

// A one-shot process that was not hosted is unhosted after its start, or the agent would run it again.
//
// Promised in cookbook.md: Where agents do not report whether they host a process, it stays hosted, as it may have been before.
func TestRun_oneShot(t *testing.T) {
	t.Parallel()
	var (
		bare    = live(fleet.Stopped, false, 5)
		hosted  = live(fleet.Stopped, true, 5)
		unsaid  = hostingUnknown(bare)
		silent  = fleet.Status{State: fleet.Unknown, Code: 117, Message: "away"}
		ended   = fleet.Outcome{Verdict: fleet.Done, Code: 836}
		broken  = fleet.Outcome{Verdict: fleet.Failed, Code: 65535, Ran: true}
		notRun  = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: "away", Meaning: "not run, because its agent does not say whether it hosts it"}
		remains = fleet.Outcome{Verdict: fleet.Failed, Meaning: "it was run, and is hosted now, so the agent may run it again: its agent reports afterwards that it is still hosted"}
		lost    = fleet.Outcome{Verdict: fleet.Lost}
		stuck   = away
		worked  = fleet.Task{Operation: fleet.Start, Bare: true, Worked: true} // must not be run again
		left    = func(at int64, why string) fleet.Outcome {                   // if there was nothing to unhost
			o := goesOn(hostedAfter(noop), worked)
			o.Ran = true
			o.Underway.RegisterTime = at
			o.Meaning = "it was run, and is hosted now, so the agent may run it again: " + why
			return o
		}
	)
	gone := fleet.Outcome{Verdict: fleet.Failed, Code: 117, Away: true}
	terminated := fleet.Outcome{Verdict: fleet.Failed, Code: 126}
	refused := fleet.Outcome{Verdict: fleet.Failed, Err: errors.New("refused")}
	brokenAndHosted := broken
	brokenAndHosted.Meaning = "it could not be unhosted, so the agent may run it again"
	stuck.Meaning = "it was run, and is hosted now, so the agent may run it again"
	if away.Meaning != "" {
		stuck.Meaning += ": " + away.Meaning
	}
	stuck.Underway, remains.Underway = worked, worked
	remains.Underway.RegisterTime = 5 // by which a later run knows the registration that this one has left
	stuck.Ran, remains.Ran = true, true
	ranAndHosted := func(err error) fleet.Outcome {
		return fleet.Outcome{Verdict: fleet.Failed, Ran: true, Err: err, Meaning: remains.Meaning[:strings.Index(remains.Meaning, ":")], Underway: worked}
	}
	for name, test := range map[string]struct {
		op            fleet.Operation
		before, after byStatus // not hosted by default
		operate       byOp
		calls         string
		results       byHost
	}{
		"start":           {fleet.Start, nil, nil, byOp{fleet.Start: {1: ended, 2: well}}, "live 1 2, start 1 2, unhost 1 2, live 1 2", byHost{1: ended, 2: well}},
		"stop":            {fleet.Stop, nil, nil, nil, "stop 1 2", byHost{1: well, 2: well}},
		"hosted-before":   {fleet.Start, byStatus{1: hosted, 2: hosted}, nil, nil, "live 1 2, start 1 2", byHost{1: well, 2: well}},
		"never-said":      {fleet.Start, byStatus{1: unsaid, 2: unsaid}, nil, nil, "live 1 2, start 1 2", byHost{1: well, 2: well}},
		"fails-and-hosts": {fleet.Start, nil, nil, byOp{fleet.Start: {1: broken, 2: gone}}, "live 1 2, start 1 2, unhost 1, live 1", byHost{1: broken, 2: gone}},
		"may-have-hosted": {fleet.Start, nil, nil, byOp{fleet.Start: {1: terminated, 2: refused}}, "live 1 2, start 1 2, unhost 1, live 1", byHost{1: terminated, 2: refused}},
		"agent-silent":    {fleet.Start, byStatus{1: silent}, nil, nil, "live 1 2, start 2, unhost 2, live 2", byHost{1: notRun, 2: well}},
		"not-unhosted":    {fleet.Start, nil, nil, byOp{fleet.Unsupervise: {1: away}}, "live 1 2, start 1 2, unhost 1 2, live 1 2", byHost{1: stuck, 2: well}},
		// What follows the start does not change that it has run, whatever became of the call.
		"unhosting-interrupted-or-refused": {
			fleet.Start, nil, nil, byOp{fleet.Unsupervise: {1: {Verdict: fleet.NotTried, Err: context.Canceled}, 2: refused}}, "live 1 2, start 1 2, unhost 1 2, live 1 2",
			byHost{1: ranAndHosted(context.Canceled), 2: ranAndHosted(refused.Err)},
		},
		"fails-and-stays-hosted": {
			fleet.Start, nil, nil, byOp{fleet.Start: {1: broken}, fleet.Unsupervise: {1: away}}, "live 1 2, start 1 2, unhost 1 2, live 1 2",
			byHost{1: goesOn(brokenAndHosted, fleet.Task{Operation: fleet.Start, Bare: true}), 2: well},
		},
		"answer-lost": {
			fleet.Start, byStatus{2: hosted}, nil, byOp{fleet.Start: {1: lost, 2: lost}}, "live 1 2, start 1 2, live 1",
			byHost{1: goesOn(lost, fleet.Task{Operation: fleet.Start, Bare: true}), 2: lost},
		},
		"nothing-to-unhost": {fleet.Start, nil, nil, byOp{fleet.Unsupervise: {1: noop}}, "live 1 2, start 1 2, unhost 1 2, live 1 2", byHost{1: well, 2: well}},
		"nothing-to-unhost-and-hosted-or-silent": {
			fleet.Start, nil, byStatus{1: hosted, 2: silent}, byOp{fleet.Unsupervise: {1: noop, 2: noop}},
			"live 1 2, start 1 2, unhost 1 2, live 1 2", byHost{1: left(5, "its agent reports afterwards that it is still hosted"), 2: left(0, "the platform says that it does not run, but whether it is still hosted is not known")},
		},
		"hosted-afterwards": {fleet.Start, nil, byStatus{1: hosted, 2: silent}, nil, "live 1 2, start 1 2, unhost 1 2, live 1 2", byHost{1: remains, 2: well}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{oneShot: true, operate: doneOps(test.operate)}
			asked := test.before
			p.live = func(hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
				statuses := make(map[fleet.Host]fleet.Status)
				for _, h := range hosts {
					statuses[h] = bare
					if s, said := asked[number(h)]; said {
						statuses[h] = s
					}
				}
				asked = test.after
				return statuses, nil
			}
			results := runOne(t.Context(), &p, test.op, hosts(1, 2), nil, fleet.Rollout{})
			p.wantCalls(t, test.calls)
			wantResults(t, test.results, results)
		})
	}
}

// If agents cannot be asked whether they host the process, it is not run.
func TestRun_oneShotUnasked(t *testing.T) {
	t.Parallel()
	p := process{oneShot: true, live: cannotSay(errDown)}
	results := runOne(t.Context(), &p, fleet.Start, hosts(1), nil, fleet.Rollout{})
	p.wantCalls(t, "live 1")
	wantResults(t, byHost{1: {Verdict: fleet.Failed, Err: errDown, Meaning: "not run, because whether it is hosted could not be asked"}}, results)
}

// restUnasked is the outcome if the platform says that the process does not run, and its agent could not be asked.
var restUnasked = fleet.Outcome{Verdict: fleet.Failed, Err: errDown, Meaning: "the platform says that it does not run, but its agent could not be asked whether it runs or is still hosted"}

// restUnknown is the outcome if the agent was asked and does not say.
func restUnknown(s fleet.Status) fleet.Outcome {
	return fleet.Outcome{Verdict: fleet.Failed, Code: s.Code, Message: s.Message, Unreachable: s.Silent(), Away: s.Away, Meaning: "the platform says that it does not run, but whether it runs or is still hosted is not known"}
}

// runsAfter is the outcome if the agent says that the process runs, hostedAfter if it is still hosted.
func runsAfter(o fleet.Outcome) fleet.Outcome {
	o.Verdict, o.AlreadyDone, o.Meaning = fleet.Failed, false, "the platform says that it does not run, but its agent then reports that it runs"
	return o
}

func hostedAfter(o fleet.Outcome) fleet.Outcome {
	o.Verdict, o.AlreadyDone, o.Meaning = fleet.Failed, false, "its agent reports afterwards that it is still hosted"
	return o
}

// If the platform says that there was nothing to unhost, the agent decides.
func TestRun_unhostsNothing(t *testing.T) {
	t.Parallel()
	idle, notSaid := live(fleet.Stopped, true, 5), hostedAfter(noop)
	notSaid.Meaning = "the platform says that it does not run, but whether it is still hosted is not known"
	for name, test := range map[string]struct {
		after map[fleet.Host]fleet.Status
		err   error
		want  fleet.Outcome
	}{
		"unhosted":   {map[fleet.Host]fleet.Status{host(1): live(fleet.Stopped, false, 5)}, nil, noop},
		"hosted":     {map[fleet.Host]fleet.Status{host(1): idle}, nil, hostedAfter(noop)},
		"not-said":   {map[fleet.Host]fleet.Status{host(1): hostingUnknown(idle)}, nil, notSaid},
		"silent":     {map[fleet.Host]fleet.Status{host(1): {State: fleet.Unknown}}, nil, notSaid},
		"not-asked":  {nil, errDown, notSaid},
		"says-later": {map[fleet.Host]fleet.Status{host(1): {State: fleet.Unknown, Hosted: false, HostedKnown: true}}, nil, notSaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{operate: doneOps(byOp{fleet.Kill: {1: noop}, fleet.Unsupervise: {1: noop}})}
			asked := false
			p.live = func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
				if asked {
					return test.after, test.err
				}
				asked = true
				return map[fleet.Host]fleet.Status{host(1): idle}, nil
			}
			results := runOne(t.Context(), &p, fleet.Kill, hosts(1), nil, fleet.Rollout{})
			p.wantCalls(t, "kill 1", "live 1", "unhost 1", "live 1")
			wantResults(t, byHost{1: test.want}, results)
		})
	}
}
