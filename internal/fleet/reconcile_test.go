package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

var (
	well    = fleet.Outcome{Verdict: fleet.Done}
	noop    = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true, Code: 828}
	taken   = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Code: 850}
	away    = fleet.Outcome{Verdict: fleet.Failed, Code: 117}
	wasIdle = fleet.Outcome{Verdict: fleet.Done, WasIdle: true}
	errDown = errors.New("down")
)

// left is an outcome that leaves something to do.
func left(o fleet.Outcome, what fleet.Code) fleet.Outcome {
	o.Left = what
	return o
}

func repeated(o fleet.Outcome) fleet.Outcome {
	o.Repeated = true
	return o
}

type (
	byHost = map[int]fleet.Outcome
	byOp   = map[fleet.Operation]byHost
)

func TestReconcile(t *testing.T) {
	t.Parallel()
	var (
		registered  = desired(fleet.EnsureRegistered)
		hosted      = desired(fleet.EnsureHosted)
		running     = desired(fleet.EnsureRunning)
		bare        = row(fleet.Stopped, false, 5) // as a registration leaves it
		foreign     = labelled(bare, carrying("v1-ffffffffffffffff"))
		fail        = cannotSay(errDown)
		absent      = fleet.Status{State: fleet.Unregistered}
		unread      = fleet.Outcome{Verdict: fleet.Failed, Err: errDown, Meaning: "registered, but its status could not be read back"}
		takenUnread = fleet.Outcome{Verdict: fleet.Failed, Code: 850, AlreadyDone: true, Unread: true, Meaning: "the process is registered already; by whom could not be read"}
		takenAt     = func(registered int64) fleet.Outcome {
			o := taken
			o.RegisterTime = registered
			return o
		}
		takenUnreadAt = func(registered int64) fleet.Outcome {
			o := takenUnread
			o.RegisterTime = registered
			return o
		}
		unsure = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Message: "no agent", Meaning: "registered, but whether it runs is not known"}
	)
	tests := map[string]struct {
		want    fleet.Desired
		change  fleet.Change
		process process
		calls   []string
		results byHost
	}{
		"nothing-to-do": {hosted, fleet.Change{}, process{}, nil, nil},
		"order-decides": {
			registered, fleet.Change{Register: hosts(1, 2, 3), Order: hosts(3, 1, 7)}, process{},
			[]string{"register 3 1", "live 3 1"}, byHost{3: well, 1: well},
		},
		"each-its-own-call": {
			registered, fleet.Change{Register: hosts(1), Reregister: hosts(2), Settle: hosts(3)}, process{},
			[]string{"register 1", "reregister 2", "live 1 2 3"}, byHost{1: well, 2: well, 3: well},
		},
		"register-fails": {
			registered, fleet.Change{Register: hosts(1, 2)},
			process{register: done(byHost{2: away})},
			[]string{"register 1 2", "live 1"}, byHost{1: well, 2: left(away, fleet.NotRegistered)},
		},
		"reregister-fails": {
			hosted, fleet.Change{Reregister: hosts(1, 2)},
			process{reregister: done(byHost{2: away})},
			[]string{"reregister 1 2", "live 1", "live 2"}, byHost{1: well, 2: left(away, fleet.OtherSpec)},
		},

		"taken-by-another": {
			hosted, fleet.Change{Register: hosts(1, 2)},
			process{register: done(byHost{2: taken}), cached: says(map[int]fleet.Status{2: foreign})},
			[]string{"register 1 2", "cached 2", "live 1"}, byHost{1: well, 2: left(taken, fleet.RegisteredByOther)},
		},
		"taken-without-labels": {
			hosted, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(labelled(bare, nil))},
			[]string{"register 1", "cached 1"}, byHost{1: left(takenUnread, fleet.RegisteredByOther)},
		},
		"taken-lagging": {
			hosted, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(absent)},
			[]string{"register 1", "cached 1"}, byHost{1: left(takenUnread, fleet.RegisteredByOther)},
		},
		"taken-and-file-closed": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: fail},
			[]string{"register 1", "cached 1"}, byHost{1: left(fleet.Outcome{Verdict: fleet.Failed, Code: 850, Err: errDown, Unread: true, Meaning: takenUnread.Meaning}, fleet.RegisteredByOther)},
		},
		"taken-and-adopted": {
			hosted, fleet.Change{Register: hosts(1, 2), Adopt: true},
			process{register: done(byHost{2: taken})},
			[]string{"register 1 2", "cached 2", "reregister 2", "live 1 2"}, byHost{1: well, 2: tookOver(well)},
		},
		"adoption-fails": {
			registered, fleet.Change{Register: hosts(1), Adopt: true},
			process{register: done(byHost{1: taken}), reregister: done(byHost{1: away})},
			[]string{"register 1", "cached 1", "reregister 1"}, byHost{1: tookOver(left(away, fleet.NotRegistered))},
		},
		"failed-is-not-adopted": {
			registered, fleet.Change{Register: hosts(1), Adopt: true},
			process{register: done(byHost{1: away})},
			[]string{"register 1"}, byHost{1: left(away, fleet.NotRegistered)},
		},
		"own-fingerprint": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(bare)},
			[]string{"register 1", "cached 1", "live 1"}, byHost{1: {Verdict: fleet.Done, AlreadyDone: true}},
		},
		"own-by-a-start": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(labelled(bare, started()))},
			[]string{"register 1", "cached 1", "reregister 1", "live 1"}, byHost{1: tookOver(well)},
		},
		"own-fingerprint-is-brought-up": {
			hosted, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(bare), live: answer(bare)},
			[]string{"register 1", "cached 1", "live 1", "host 1", "live 1"}, byHost{1: well},
		},
		// The agent knows of a later registration than the file.
		"taken-since-the-file": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: takenAt(6)}), cached: answer(foreign)},
			[]string{"register 1", "cached 1"}, byHost{1: left(takenUnreadAt(6), fleet.RegisteredByOther)},
		},
		"own-by-an-old-file": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: takenAt(6)}), cached: answer(bare)},
			[]string{"register 1", "cached 1"}, byHost{1: left(takenUnreadAt(6), fleet.RegisteredByOther)},
		},
		"taken-as-the-file-says": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: takenAt(5)}), cached: answer(foreign)},
			[]string{"register 1", "cached 1"}, byHost{1: left(takenAt(5), fleet.RegisteredByOther)},
		},
		"taken-by-an-owner": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(labelled(bare, map[string]string{label: "v1-f", label + "_owner": "them\n"}))},
			[]string{"register 1", "cached 1"}, byHost{1: {
				Verdict: fleet.Failed, AlreadyDone: true, Code: 850, Meaning: `, owner them\n`, Left: fleet.RegisteredByOther,
			}},
		},
		// What an operation hosted by itself names nobody.
		"own-fingerprint-without-an-owner": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(labelled(bare, carrying(ownPrint)))},
			[]string{"register 1", "cached 1"}, byHost{1: left(taken, fleet.RegisteredByOther)},
		},
		"repeated-lagging": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: repeated(taken)}), cached: answer(absent)},
			// A file that lags does not say whose it is.
			[]string{"register 1", "cached 1"}, byHost{1: {
				Verdict: fleet.Lost, Code: 850, Repeated: true, Left: fleet.NotRegistered,
				Meaning: "registered already, and whether by an earlier request of this apply could not be read",
			}},
		},
		"repeated-taken-by-another": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: repeated(takenAt(5))}), cached: answer(foreign)},
			[]string{"register 1", "cached 1"}, byHost{1: left(repeated(takenAt(5)), fleet.RegisteredByOther)},
		},
		// The file may show who was there before.
		"repeated-taken-by-nobody-known": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: repeated(taken)}), cached: answer(foreign)},
			[]string{"register 1", "cached 1"}, byHost{1: {
				Verdict: fleet.Lost, Code: 850, Repeated: true, Left: fleet.NotRegistered,
				Meaning: "registered already, and whether by an earlier request of this apply could not be read",
			}},
		},
		"repeated-without-fingerprints": {
			fleet.Desired{Ensure: fleet.EnsureRegistered}, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: repeated(taken)}), cached: answer(foreign)},
			[]string{"register 1", "cached 1"}, byHost{1: {Verdict: fleet.Done, AlreadyDone: true}},
		},
		"taken-without-fingerprints": {
			fleet.Desired{Ensure: fleet.EnsureRegistered}, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: taken}), cached: answer(bare)},
			[]string{"register 1", "cached 1"}, byHost{1: left(taken, fleet.RegisteredByOther)},
		},
		"repeated-and-failed-otherwise": {
			registered, fleet.Change{Register: hosts(1)},
			process{register: done(byHost{1: repeated(away)})},
			[]string{"register 1"}, byHost{1: left(repeated(away), fleet.NotRegistered)},
		},

		// What agents said just before is not asked once more where it says what is to be done.
		"hosted/was-idle": {
			hosted, fleet.Change{Register: hosts(1, 2)}, process{register: done(byHost{1: wasIdle})},
			[]string{"register 1 2", "live 2", "host 1", "live 1"}, byHost{1: well, 2: well},
		},
		"hosted/was-idle-and-to-register-is-to-host": {
			hosted, fleet.Change{Register: hosts(1)}, process{register: done(byHost{1: wasIdle}), hostingRegisters: true},
			[]string{"register 1", "live 1"}, byHost{1: wasIdle},
		},
		"running/was-idle": {
			running, fleet.Change{Register: hosts(1, 2)}, process{register: done(byHost{1: wasIdle})},
			[]string{"register 1 2", "live 2", "start 1", "live 1"}, byHost{1: well, 2: well},
		},
		"running/was-idle-and-to-register-is-to-host": {
			running, fleet.Change{Register: hosts(1)}, process{register: done(byHost{1: wasIdle}), hostingRegisters: true},
			[]string{"register 1", "start 1", "live 1"}, byHost{1: well},
		},
		"hosted/only-the-bare": {
			hosted, fleet.Change{Register: hosts(1), Reregister: hosts(2), Settle: hosts(3, 4)},
			process{live: says(map[int]fleet.Status{1: bare, 4: hostingUnknown(healthy)})},
			[]string{"register 1", "reregister 2", "live 1 2 3 4", "host 1 4", "live 1 4"}, byHost{1: well, 2: well, 3: well, 4: well},
		},
		"hosted/not-the-failed": {
			hosted, fleet.Change{Register: hosts(1, 2)},
			process{register: done(byHost{1: away}), live: answer(bare)},
			[]string{"register 1 2", "live 2", "host 2", "live 2"}, byHost{1: left(away, fleet.NotRegistered), 2: well},
		},
		"hosted/hosting-fails": {
			hosted, fleet.Change{Register: hosts(1), Settle: hosts(2)},
			process{live: answer(bare), operate: doneOps(byOp{fleet.Supervise: {1: away, 2: away}})},
			[]string{"register 1", "live 1 2", "host 1 2", "live 1 2"}, byHost{1: left(away, fleet.NotHosted), 2: left(away, fleet.NotHosted)},
		},
		"hosted/file-closed": { // which nobody reads
			hosted, fleet.Change{Reregister: hosts(1), Settle: hosts(2)},
			process{cached: fail, live: answer(bare)},
			[]string{"reregister 1", "live 1 2", "host 1 2", "live 1 2"},
			byHost{1: well, 2: well},
		},
		"hosted/agents-silent": {
			hosted, fleet.Change{Register: hosts(1), Settle: hosts(2)},
			process{cached: answer(bare), live: fail},
			[]string{"register 1", "live 1 2"},
			byHost{1: left(unread, fleet.NotHosted), 2: left(unread, fleet.NotHosted)},
		},
		// The file may be of a registration before this one.
		"hosted/file-stale-after-register": {
			hosted, fleet.Change{Register: hosts(1), Reregister: hosts(2)},
			process{cached: answer(healthy), live: answer(bare)},
			[]string{"register 1", "reregister 2", "live 1 2", "host 1 2", "live 1 2"}, byHost{1: well, 2: well},
		},
		"running/file-stale-after-register": {
			running, fleet.Change{Register: hosts(1), Reregister: hosts(2)},
			process{cached: answer(healthy), live: answer(bare)},
			[]string{"register 1", "reregister 2", "live 1 2", "start 1 2", "live 1 2"}, byHost{1: well, 2: well},
		},
		"hosted/file-says-hosted-and-agent-does-not": {
			hosted, fleet.Change{Settle: hosts(1)},
			process{cached: answer(healthy), live: answer(bare)},
			[]string{"live 1", "host 1", "live 1"}, byHost{1: well},
		},
		"hosted/file-says-bare-and-agent-does-not": {
			hosted, fleet.Change{Settle: hosts(1)},
			process{cached: answer(bare), live: answer(healthy)},
			[]string{"live 1"}, byHost{1: well},
		},
		"running/file-says-running-and-agent-does-not": {
			running, fleet.Change{Settle: hosts(1)},
			process{cached: answer(healthy), live: answer(bare)},
			[]string{"live 1", "start 1", "live 1"}, byHost{1: well},
		},
		"running/only-those-down": {
			running, fleet.Change{Register: hosts(1), Settle: hosts(2)},
			process{live: says(map[int]fleet.Status{1: bare})},
			[]string{"register 1", "live 1 2", "start 1", "live 1"}, byHost{1: well, 2: well},
		},
		"running/state-unknown": {
			running, fleet.Change{Settle: hosts(1)},
			process{live: answer(fleet.Status{State: fleet.Unknown, Code: 117, Message: "no agent"})},
			[]string{"live 1"}, byHost{1: left(unsure, fleet.NotRunning)},
		},
		"running/state-unknown-on-some": {
			running, fleet.Change{Register: hosts(1), Settle: hosts(2, 3)},
			process{live: says(map[int]fleet.Status{1: bare, 2: {State: fleet.Unknown, Code: 117, Message: "no agent"}})},
			[]string{"register 1", "live 1 2 3", "start 1", "live 1"}, byHost{1: well, 2: left(unsure, fleet.NotRunning), 3: well},
		},
		"running/found-running": { // a start that had nothing to do hosts nothing
			running, fleet.Change{Settle: hosts(1, 2)},
			process{live: answer(bare), operate: doneOps(byOp{fleet.Start: {1: noop}})},
			[]string{"live 1 2", "start 1 2", "host 1", "live 1 2"}, byHost{1: well, 2: well},
		},
		"running/but-bare": {
			running, fleet.Change{Settle: hosts(1)},
			process{live: answer(row(fleet.Running, false, 5))},
			[]string{"live 1", "host 1", "live 1"}, byHost{1: well},
		},
		"running/start-fails": {
			running, fleet.Change{Settle: hosts(1, 2)},
			process{live: answer(bare), operate: doneOps(byOp{fleet.Start: {1: away}})},
			[]string{"live 1 2", "start 1 2", "live 1 2"}, byHost{1: left(away, fleet.NotRunning), 2: well},
		},
		"running/hosting-fails": {
			running, fleet.Change{Settle: hosts(1, 2)},
			process{
				live:    says(map[int]fleet.Status{1: bare, 2: row(fleet.Running, false, 5)}),
				operate: doneOps(byOp{fleet.Start: {1: noop}, fleet.Supervise: {1: away, 2: away}}),
			},
			[]string{"live 1 2", "start 1", "host 1 2", "live 1 2"}, byHost{1: left(away, fleet.NotHosted), 2: left(away, fleet.NotHosted)},
		},
		"running/agents-silent": {
			running, fleet.Change{Settle: hosts(1)},
			process{live: fail},
			[]string{"live 1"}, byHost{1: left(unread, fleet.NotRunning)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.change.Order == nil {
				test.change.Order = hosts(1, 2, 3, 4)
			}
			results := fleet.NewReconciliation(&test.process, test.want, test.change).Run(t.Context())
			wantResults(t, test.results, results)
			test.process.wantCalls(t, test.calls...)
		})
	}
}

// Whether another object leaves a host is asked where the cached status names that object, or cannot
// say who registered.
func TestReconcile_leaving(t *testing.T) {
	t.Parallel()
	at := taken
	at.RegisterTime = 5
	p := &process{register: done(byHost{1: at, 2: at, 3: at}), cached: says(map[int]fleet.Status{
		1: labelled(row(fleet.Stopped, false, 5), map[string]string{label: "v1-ffffffffffffffff", label + "_owner": "them"}), 2: labelled(row(fleet.Stopped, false, 5), carrying("v1-ffffffffffffffff")), 3: {State: fleet.Unregistered},
	})}
	change := fleet.Change{Register: hosts(1, 2, 3), Order: hosts(1, 2, 3)}
	change.Leaving = func(_ context.Context, found map[fleet.Host]fleet.Owned) []fleet.Host {
		if diff := cmp.Diff(map[int]fleet.Owned{1: {Owner: "them", At: 5}, 3: {At: 5}}, byNumber(found)); diff != "" {
			t.Errorf("asked about (-want +got):\n%s", diff)
		}
		return hosts(1)
	}
	results := fleet.NewReconciliation(p, desired(fleet.EnsureRegistered), change).Run(t.Context())
	p.wantCalls(t, "register 1 2 3", "cached 1 2 3", "reregister 1", "live 1")
	if results[host(2)].Left != fleet.RegisteredByOther || results[host(3)].Left != fleet.RegisteredByOther {
		t.Errorf("results: %+v", results)
	}
}

// What is left to do at a host that no wave reached is what was to be done there.
func TestReconcile_leftOfWavesNotTried(t *testing.T) {
	t.Parallel()
	change := fleet.Change{
		Register: hosts(1, 2), Reregister: hosts(3), Settle: hosts(4), Order: hosts(1, 2, 3, 4),
		Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)},
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
			}, results)
		})
	}
}

// A wave is brought up before the next one is registered. Hosts that are not to
// be touched take no place in it.
func TestReconcile_waves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &process{live: answer(row(fleet.Stopped, false, 5))}
		start := time.Now()
		results := fleet.NewReconciliation(p, desired(fleet.EnsureRunning), fleet.Change{
			Register: hosts(1, 2, 3), Reregister: hosts(4), Order: hosts(4, 7, 3, 8, 2, 1),
			Rollout: fleet.Rollout{Waves: fleet.BatchesOf(2), Pause: time.Minute},
		}).Run(t.Context())
		p.wantCalls(t,
			"register 3", "reregister 4", "live 4 3", "start 4 3", "live 4 3",
			"register 2 1", "live 2 1", "start 2 1", "live 2 1",
		)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("took %s, want one pause", took)
		}
		if failures := results.Failures(); len(failures) > 0 {
			t.Errorf("failures: %v", failures)
		}
	})
}

func TestReconcile_interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{
		live: answer(row(fleet.Stopped, false, 5)),
		operate: func(ctx context.Context, _ fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
			cancel()
			return fleet.Same(hosts, fleet.Outcome{Verdict: fleet.Pending, Err: ctx.Err()})
		},
	}
	results := fleet.NewReconciliation(p, desired(fleet.EnsureHosted), fleet.Change{
		Register: hosts(1, 2), Order: hosts(1, 2), Rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)},
	}).Run(ctx)
	p.wantCalls(t, "register 1", "live 1", "host 1", "live 1")
	wantResults(t, byHost{
		1: {Verdict: fleet.Pending, Err: context.Canceled, Left: fleet.NotHosted},
		2: {Verdict: fleet.NotTried, Err: context.Canceled, Left: fleet.NotRegistered, Meaning: fleet.StoppedByInterrupt},
	}, results)
}

func TestReconcile_keepsTheCallersSlices(t *testing.T) {
	t.Parallel()
	order := hosts(1, 2, 3, 4)
	fleet.NewReconciliation(&process{}, desired(fleet.EnsureRegistered), fleet.Change{Register: hosts(4), Order: order}).Run(t.Context())
	if diff := cmp.Diff(hosts(1, 2, 3, 4), order, byString); diff != "" {
		t.Errorf("Order (-want +got):\n%s", diff)
	}
}

// tookOver is an outcome where a registration was there before.
func tookOver(o fleet.Outcome) fleet.Outcome {
	o.TookOver = true
	return o
}

// An agent that says nothing does not keep the others of its wave from being hosted.
func TestReconcile_mute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := &process{live: says(map[int]fleet.Status{1: row(fleet.Stopped, false, 5), 2: {State: fleet.Unknown}}), waits: true}
		results := fleet.NewReconciliation(p, desired(fleet.EnsureRunning), fleet.Change{Register: hosts(1, 2), Order: hosts(1, 2)}).Run(ctx)
		p.wantCalls(t, "register 1 2", "live 1 2", "start 1", "live 1")
		if ctx.Err() != nil || !results[host(1)].OK() || results[host(2)].Left != fleet.NotRunning {
			t.Errorf("%v: %v", ctx.Err(), byNumber(results))
		}
	})
}
