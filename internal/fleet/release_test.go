package fleet_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// unasked is a host that is not registered and may be hosted all the same.
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

// What was not begun before the end of its time is not begun after it.
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
		silent = fleet.Status{State: fleet.Unknown, Code: 117}

		unreachable = away
		all         = byHost{1: well, 2: well, 3: well}
		stillHosted = fleet.Outcome{
			Verdict: fleet.Failed, Meaning: "the platform says that nothing is hosted there, and its agent says afterwards that it hosts the process",
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
		// No document says that to unregister is to unhost.
		"unregister-and-agents-go-on": {
			unregister, process{live: says(byStatus{1: idle, 2: gone, 3: silent}), operate: doneOps(byOp{fleet.Unsupervise: {1: away}})},
			"unregister 1 2 3, live 1 2 3, unhost 1", byHost{1: away, 2: well, 3: well},
		},
		"unregister-and-nobody-to-ask": {unregister, process{live: cannotSay(errDown)}, "unregister 1 2 3, live 1 2 3", all},
		// An agent may host what is not registered.
		"unregister-finds-nothing": {
			unregister,
			process{unregister: done(byHost{1: already, 2: already, 3: already}), live: says(byStatus{1: idle, 2: gone, 3: silent})},
			"unregister 1 2 3, live 1 2 3, unhost 1", byHost{1: well, 2: already, 3: unasked(fleet.Outcome{Code: 117, Unreachable: true})},
		},
		"unregister-finds-nothing-where-to-register-is-to-host": {
			unregister,
			process{unregister: done(byHost{1: already, 2: already}), live: says(byStatus{1: idle, 2: gone}), hostingRegisters: true},
			"unregister 1 2 3, live 1 2", byHost{1: stillHosted, 2: already, 3: well},
		},
		"unregister-finds-nothing-and-agents-cannot-be-asked": {
			unregister, process{unregister: done(byHost{1: already}), live: cannotSay(errDown)},
			"unregister 1 2 3, live 1 2 3", byHost{1: unasked(fleet.Outcome{Err: errDown}), 2: well, 3: well},
		},
		// It is hosted.
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
		// What is registered and stopped looks no other than what is not registered.
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
		// It proves nothing of any host, whatever is said of them afterwards.
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
		"stop":            {stop, process{hostingRegisters: true}, "stop 1 2 3, unregister 1 2 3", all},
		"kill":            {kill, process{hostingRegisters: true}, "kill 1 2 3, unregister 1 2 3", all},
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

// In waves of two, each is stopped and unregistered before the next one.
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
	p.wantCalls(t, "kill 2", "live 2", "unregister 1")
	wantResults(t, byHost{
		1: well, 2: away,
		3: {Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}, 4: {Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures},
	}, results)
}

// A host of which an answer does not speak is not one without a registration.
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

// What is hosted by a registration that was made meanwhile is somebody else's. What was not hosted before is not asked about.
func TestRelease_registeredMeanwhile(t *testing.T) {
	t.Parallel()
	h := hosts(1, 2, 3, 4)
	p := &process{live: says(byStatus{1: live(fleet.Running, true, 7), 2: live(fleet.Running, true, 5), 3: live(fleet.Running, true, 9)})}
	results, _ := fleet.Release(t.Context(), p, h, fleet.DestroyUnregister, nil, map[fleet.Host]fleet.Status{
		h[0]: live(fleet.Running, true, 5), h[1]: live(fleet.Running, true, 5), h[3]: live(fleet.Stopped, false, 5),
	})
	p.wantCalls(t, "unregister 1 2 3 4", "live 1 2 3", "unhost 2 3")
	o := results[h[0]]
	fleettest.Check(t, !o.OK() && len(results.Succeeded(h)) == 3, "got %+v", results)
}
