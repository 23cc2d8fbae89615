package rollouts

import (
	"context"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// startsSlowly is a create over two hosts that is interrupted while the start is under way
// on the first. The second runs.
func startsSlowly(t *testing.T, by providertest.Face) (*rollout, *slow) {
	t.Helper()
	s := &slow{sim: providertest.NewSim(t), op: simulator.OpStart}
	s.sim.Now, s.sim.OnCall = s.now, s.count
	r := &rollout{t: t, sim: s.sim, by: by, hosts: 2, kept: &providertest.Kept{}, config: by.Reference("./v1.sh", 2)}
	r.config["ensure"] = "running"
	r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Hosts: providertest.AddressList([]int{1}), Takes: time.Hour})
	if said := r.cutAtPoll(s, 4); said.Failed() {
		t.Fatalf("said: %s", said)
	}
	r.want("under way", "v1 down", "v1 start")
	r.wantLeft(map[string]string{"web-1": "not_running"})
	r.sim.ClearFaults()
	return r, s
}

// cutAtPoll applies the configuration, and interrupts that when the result was asked for so
// often from now on.
func (r *rollout) cutAtPoll(s *slow, polls int64) providertest.Diagnostics {
	r.t.Helper()
	ctx, cut := context.WithCancel(r.t.Context())
	defer cut()
	from := s.polls.Load()
	s.after(func(n int64) {
		if n == from+polls {
			cut()
		}
	})
	r.sim.ResetCalls()
	r.anew()
	r.resource.Until = ctx
	_, said := r.resource.Apply(r.config)
	s.after(func(int64) {})
	return said
}

// starts is how often a start came to the first host, over all applies.
func (r *rollout) starts() int {
	starts := 0
	for _, done := range r.sim.Executions() {
		if done.Action == "start" && done.Host == providertest.Address(1) {
			starts++
		}
	}
	return starts
}

// A start of ensure = "running" that is still under way when its apply ends reaches its
// agent once: the next apply asks for its task, and waits for it where it still is.
func TestEnsureRunning_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then func(*slow)
		sent int // what more is sent
	}{
		"over":       {(*slow).ends, 0},
		"waited-for": {(*slow).endsWhileAsked, 0},
		"failed-and-runs": {func(s *slow) {
			s.sim.Inject(simulator.Fault{
				API: "get_proc*", Op: new(simulator.OpStart), Hosts: providertest.AddressList([]int{1}), Code: new(simulator.CodeCommandFailed), Times: 1,
			})
			s.ends()
		}, 0},
		"forgotten": {func(s *slow) {
			for _, task := range s.sim.Tasks() {
				s.sim.ExpireTask(task.ID)
			}
		}, 1},
	} {
		for _, by := range faces {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				r, s := startsSlowly(t, by)
				c.then(s)
				r.apply("")
				r.want("asked for", "v1 start", "v1")
				if n := r.starts(); n != 1 {
					t.Errorf("started %d times", n)
				}
				if sent := len(r.sim.Calls().OfOp(simulator.OpStart).On(providertest.Address(1)).Of("operate_*")); sent != c.sent {
					t.Errorf("sent %d times more", sent)
				}
				r.wantSettled()
			})
		}
	}
}

// Who waits in vain keeps the task, also where its declaration has changed, and asks once
// more. What it started is restarted then.
func TestEnsureRunning_underWayForLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		declared string
		left     map[string]string
		want     []string
	}{
		"as-before": {"./v1.sh", map[string]string{"web-1": "not_running"}, []string{"v1 start", "v1"}},
		"anew":      {"./v2.sh", map[string]string{"web-1": "other_spec", "web-2": "other_spec"}, []string{"v2 start restart", "v2 restart"}},
	} {
		for _, by := range faces {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				r, s := startsSlowly(t, by)
				r.config["on_update"] = "restart"
				r.declare(c.declared)
				if said := r.cutAtPoll(s, 4); !said.Failed() {
					t.Errorf("it went well: %s", said)
				}
				r.wantLeft(c.left)
				if changes := r.sim.Changes(); len(changes) > 0 {
					t.Errorf("sent %v", changes)
				}
				s.ends()
				r.apply("")
				r.want("asked once more", c.want...)
				if n := r.starts(); n != 1 {
					t.Errorf("started %d times", n)
				}
				r.wantSettled()
			})
		}
	}
}
