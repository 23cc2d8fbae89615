package rollouts

import (
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// cutAtPoll applies the configuration, and interrupts that when the result was asked for so often from now on.
func (r *rollout) cutAtPoll(s *providertest.Slow, polls int64) providertest.Diagnostics {
	r.t.Helper()
	r.sim.ResetCalls()
	r.anew()
	return s.Cut(r.resource, r.config, polls)
}

// waitsInVain is an apply that is cut off while it waits for what is under way, and sends nothing.
func (r *rollout) waitsInVain(s *providertest.Slow, left map[string]string) {
	r.t.Helper()
	if said := r.cutAtPoll(s, 4); !said.Failed() {
		r.t.Errorf("it went well: %s", said)
	}
	r.wantLeft(left)
	if changes := r.sim.Changes(); len(changes) > 0 {
		r.t.Errorf("sent %v", changes)
	}
}

func (r *rollout) wantSent(op, times int) {
	r.t.Helper()
	if sent := r.sim.Calls().OfOp(op).On(providertest.Address(1)).Of("operate_*"); len(sent) != times {
		r.t.Errorf("sent %v, want it %d times", sent.APIs(), times)
	}
}

var onUpdateOps = map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload}

func failsFirst(s *providertest.Slow) { s.Fails(1) }

// beginsSlowly is a rollout over two hosts that ends while the operation of on_update is under way on the first.
func beginsSlowly(t *testing.T, by providertest.Face, onUpdate string) (*rollout, *providertest.Slow) {
	t.Helper()
	s := providertest.NewSlow(t, onUpdateOps[onUpdate])
	r := begunAt(t, s.Sim, by, 2, map[string]any{"on_update": onUpdate})
	s.Hangs(1)
	r.declare("./v2.sh")
	if said := r.cutAtPoll(s, 4); !said.Failed() {
		t.Fatal("it went well")
	}
	r.want("v2", "v1")
	r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
	r.sim.ClearFaults()
	return r, s
}

// startsSlowly is a create over two hosts that is interrupted while the start is under way
// on the first. The second runs.
func startsSlowly(t *testing.T, by providertest.Face) (*rollout, *providertest.Slow) {
	t.Helper()
	s := providertest.NewSlow(t, simulator.OpStart)
	r := newRollout(t, s.Sim, by, providertest.OnRun, 2, ensure("running"))
	s.Hangs(1)
	if said := r.cutAtPoll(s, 4); said.Failed() {
		t.Fatalf("said: %s", said)
	}
	r.want("v1 down", "v1 start")
	r.wantLeft(map[string]string{"web-1": "not_running"})
	r.sim.ClearFaults()
	return r, s
}

func onEach(t *testing.T, name string, at []providertest.Face, play func(*testing.T, providertest.Face)) {
	t.Helper()
	for _, by := range providertest.Through(t, name, at) {
		t.Run(name+"/"+string(by), func(t *testing.T) {
			t.Parallel()
			play(t, by)
		})
	}
}

// An operation of on_update that is in progress when its apply ends reaches its agent once. The next
// apply polls its task, and waits while it is in progress.
//
// Promised in rolling-restart.md: A restart that was still under way when its wave ended is
// waited for by the next apply, and not sent again.
func TestOnUpdate_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at       []providertest.Face
		onUpdate string
		then     func(*providertest.Slow)
		sent     int    // what more is sent to the first host
		first    string // what it is after that
	}{
		"restart-waited-for": {faces, "restart", (*providertest.Slow).EndsWhileAsked, 0, "v2 restart"},
		"restart-failed":     {twoFaces, "restart", failsFirst, 1, "v2 restart restart"},
		"restart-forgotten":  {twoFaces, "restart", (*providertest.Slow).Forgets, 1, "v2 restart"},
		"reload-over":        {faces, "reload", (*providertest.Slow).Ends, 0, "v2 reload"},
	} {
		onEach(t, name, c.at, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := beginsSlowly(t, by, c.onUpdate)
			c.then(s)
			r.apply("", c.first, "v2 "+c.onUpdate)
			r.wantSent(onUpdateOps[c.onUpdate], c.sent)
			r.wantSettled()
		})
	}
	// Who waits in vain keeps the task, and asks once more.
	onEach(t, "for-long", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r, s := beginsSlowly(t, by, "reload")
		r.waitsInVain(s, map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
		s.Ends()
		r.apply("", "v2 reload", "v2 reload")
		r.wantSettled()
	})
}

// The same goes for the start of ensure = "running".
func TestEnsureRunning_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then func(*providertest.Slow)
		sent int // what more is sent
	}{
		"over": {(*providertest.Slow).Ends, 0}, "waited-for": {(*providertest.Slow).EndsWhileAsked, 0}, "failed-and-runs": {failsFirst, 0}, "forgotten": {(*providertest.Slow).Forgets, 1},
	} {
		onEach(t, name, faces, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := startsSlowly(t, by)
			c.then(s)
			r.apply("", "v1 start", "v1")
			r.wantSent(simulator.OpStart, c.sent)
			r.wantExecuted("start", 1)
			r.wantSettled()
		})
	}
}

// What is under way when a rollback ends is waited for as well, by who stays with the declaration that came back.
func TestRollback_underWay(t *testing.T) {
	t.Parallel()
	onEach(t, "restart", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		s := providertest.NewSlow(t, simulator.OpRestart)
		r := begunAt(t, s.Sim, by, 2, rollsBack(nil))
		r.declare("./v2.sh")
		r.failOnce(2)
		s.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{1}), Command: "./v1.sh", Takes: time.Hour})
		if said := r.cutAtPoll(s, 12); !strings.Contains(said.String(), "Rolled Back In Part") {
			t.Errorf("said: %s", said)
		}
		r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
		r.sim.ClearFaults()
		s.Ends()
		r.update("./v1.sh", "", "v1 restart", "v1")
		r.wantSent(simulator.OpRestart, 0)
		r.wantSettled()
	})
}
