package rollouts

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// slow is a platform on which an operation takes an hour by a clock of its own, that counts
// how often it is asked for the result.
type slow struct {
	sim   *providertest.Sim
	op    int
	ahead atomic.Int64
	polls atomic.Int64
	// then is told of each poll by its number, if it is set.
	then atomic.Pointer[func(int64)]
}

func (s *slow) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func (s *slow) count(call simulator.Call) {
	if !strings.HasPrefix(call.API, "get_proc") || call.Op != s.op {
		return
	}
	n := s.polls.Add(1)
	if then := s.then.Load(); then != nil {
		(*then)(n)
	}
}

// ends has what is under way come to its end.
func (s *slow) ends() { s.ahead.Store(int64(2 * time.Hour)) }

// endsWhileAsked has it come to its end at the fourth poll from now.
func (s *slow) endsWhileAsked() {
	from := s.polls.Load()
	s.after(func(n int64) {
		if n >= from+4 {
			s.ends()
		}
	})
}

func (s *slow) after(then func(int64)) { s.then.Store(&then) }

// beginsSlowly is a rollout over two hosts that ends while the operation of on_update is
// under way on the first.
func beginsSlowly(t *testing.T, by providertest.Face, onUpdate string, op int) (*rollout, *slow) {
	t.Helper()
	s := &slow{sim: providertest.NewSim(t), op: op}
	s.sim.Now, s.sim.OnCall = s.now, s.count
	r := begunAt(t, s.sim, by, 2, map[string]any{"on_update": onUpdate})
	r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(op), Hosts: providertest.AddressList([]int{1}), Takes: time.Hour})
	r.declare("./v2.sh")
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	s.after(func(n int64) {
		if n == 4 {
			cut()
		}
	})
	r.anew()
	r.resource.Until = ctx
	if _, said := r.resource.Apply(r.config); !said.Failed() {
		t.Fatal("it went well")
	}
	r.want("under way", "v2", "v1")
	r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
	r.sim.ClearFaults()
	s.after(func(int64) {})
	return r, s
}

// An operation of on_update that is still under way when its apply ends reaches its agent
// once: the next apply asks for its task, and waits for it where it still is.
func TestOnUpdate_underWay(t *testing.T) {
	t.Parallel()
	for onUpdate, op := range map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload} {
		for name, c := range map[string]struct {
			then func(*slow)
			want string // of the first host
		}{
			"over":       {(*slow).ends, "v2 " + onUpdate},
			"waited-for": {(*slow).endsWhileAsked, "v2 " + onUpdate},
			"failed": {func(s *slow) {
				s.sim.Inject(simulator.Fault{API: "get_proc*", Op: new(op), Hosts: providertest.AddressList([]int{1}), Code: new(simulator.CodeCommandFailed), Times: 1})
				s.ends()
			}, "v2 " + onUpdate + " " + onUpdate},
			"forgotten": {func(s *slow) {
				for _, task := range s.sim.Tasks() {
					s.sim.ExpireTask(task.ID)
				}
			}, "v2 " + onUpdate},
		} {
			for _, by := range faces {
				t.Run(onUpdate+"/"+name+"/"+string(by), func(t *testing.T) {
					t.Parallel()
					r, s := beginsSlowly(t, by, onUpdate, op)
					c.then(s)
					r.apply("")
					r.want("asked for", c.want, "v2 "+onUpdate)
					sent := len(r.sim.Calls().OfOp(op).On(providertest.Address(1)))
					if again := name == "failed" || name == "forgotten"; (sent > 0) != again {
						t.Errorf("it was sent again: %t", !again)
					}
					r.wantSettled()
				})
			}
		}
	}
}

// Who waits in vain keeps the task, and asks once more.
func TestOnUpdate_underWayForLong(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r, s := beginsSlowly(t, by, "reload", simulator.OpReload)
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			from := s.polls.Load()
			s.after(func(n int64) {
				if n == from+4 {
					cut()
				}
			})
			r.sim.ResetCalls()
			r.anew()
			r.resource.Until = ctx
			if _, said := r.resource.Apply(r.config); !said.Failed() {
				t.Errorf("it went well: %s", said)
			}
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
			if changes := r.sim.Changes(); len(changes) > 0 {
				t.Errorf("sent %v", changes)
			}
			s.ends()
			r.apply("")
			r.want("asked once more", "v2 reload", "v2 reload")
			r.wantSettled()
		})
	}
}

// What is under way for one declaration says nothing of the next.
func TestOnUpdate_underWayAndDeclaredAnew(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			r, s := beginsSlowly(t, by, "restart", simulator.OpRestart)
			s.ends()
			r.declare("./v3.sh")
			r.apply("")
			r.want("declared anew", "v3 restart restart", "v3 restart")
			r.wantSettled()
		})
	}
}

// What is under way when a rollback ends is waited for as well, by who stays with the
// declaration that came back.
func TestRollback_underWay(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			s := &slow{sim: providertest.NewSim(t), op: simulator.OpRestart}
			s.sim.Now, s.sim.OnCall = s.now, s.count
			r := begunAt(t, s.sim, by, 2, rollsBack(nil))
			r.declare("./v2.sh")
			r.failOnce(2)
			r.sim.Inject(simulator.Fault{
				API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{1}), Command: "./v1.sh", Takes: time.Hour,
			})
			ctx, cut := context.WithCancel(t.Context())
			defer cut()
			s.after(func(n int64) {
				if n == 12 {
					cut()
				}
			})
			r.anew()
			r.resource.Until = ctx
			if _, said := r.resource.Apply(r.config); !strings.Contains(said.String(), "Rolled Back In Part") {
				t.Errorf("said: %s", said)
			}
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
			r.sim.ClearFaults()
			s.after(func(int64) {})
			s.ends()
			r.declare("./v1.sh")
			r.apply("")
			r.want("went back", "v1 restart", "v1")
			if sent := r.sim.Calls().OfOp(simulator.OpRestart).On(providertest.Address(1)).Of("operate_*"); len(sent) > 0 {
				t.Errorf("sent again: %v", sent.APIs())
			}
			r.wantSettled()
		})
	}
}

// State of a release that kept no tasks goes by the pid alone.
func TestOnUpdate_underWayBefore(t *testing.T) {
	t.Parallel()
	r, s := beginsSlowly(t, providertest.FaceESB, "restart", simulator.OpRestart)
	r.kept.Private = withoutTasks(t, r.kept.Private)
	s.ends()
	r.apply("")
	r.want("by the pid", "v2 restart", "v2 restart")
	r.wantSettled()
}

// withoutTasks is private state as it was before tasks were kept.
func withoutTasks(t *testing.T, private []byte) []byte {
	t.Helper()
	var kept map[string][]byte
	var applied map[string]any
	if err := errors.Join(json.Unmarshal(private, &kept), json.Unmarshal(kept["applied"], &applied)); err != nil {
		t.Fatal(err)
	}
	found := 0
	due, _ := applied["due"].(map[string]any)
	for _, of := range due {
		if of, ok := of.(map[string]any); ok && of["task"] != nil {
			delete(of, "task")
			found++
		}
	}
	raw, err := json.Marshal(applied)
	kept["applied"] = raw
	private, failed := json.Marshal(kept)
	if err := errors.Join(err, failed); err != nil || found == 0 {
		t.Fatalf("%d tasks, %v", found, err)
	}
	return private
}

// A restart that takes longer than its wave may is one failure of the apply, and no second
// restart of the next, which waits for it.
//
// Promised in rolling-restart.md: A restart that was still under way when its wave ended is
// waited for by the next apply, and not sent again.
func TestAccOnUpdate_underWay(t *testing.T) {
	t.Parallel()
	const more = `
  ensure    = "running"
  on_update = "restart"
  rollout   = { waves = ["1"], max_failed_hosts = 1, wave_timeout = "5s" }`
	for name, c := range map[string]struct {
		of      func(*providertest.Sim, string) declaration
		address string
	}{
		"gse": {gseOf, providertest.HostedAddress},
		"job": {jobOf, jobAddress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			s := &slow{sim: sim, op: simulator.OpRestart}
			sim.Now, sim.OnCall = s.now, s.count
			config := c.of(sim, more)
			restarted := func() map[string]int {
				times := make(map[string]int)
				for _, done := range sim.Executions() {
					if done.Action == "restart" {
						times[done.Host]++
					}
				}
				return times
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: config("./v1.sh")},
					{
						PreConfig: func() {
							sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2}), Takes: time.Hour})
							sim.ResetCalls()
						},
						Config:      config("./v2.sh"),
						ExpectError: providertest.Wrapped(`is not as declared on 1 of 6 hosts[\s\S]*web-2 \(0:10.0.0.3\): [\s\S]*still in progress`),
					},
					{
						PreConfig: func() {
							if n := len(sim.Calls().OfOp(simulator.OpRestart).On(providertest.Address(2))); n != 1 || restarted()[providertest.Address(2)] != 0 {
								t.Errorf("web-2: sent %d times, %v restarted", n, restarted())
							}
							sim.ClearFaults()
							s.endsWhileAsked()
						},
						Config: config("./v2.sh"),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(c.address, plancheck.ResourceActionUpdate)},
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
					},
				},
			})
			for _, address := range slices.Sorted(slices.Values(providertest.AddressList([]int{1, 2, 3, 4, 5, 6}))) {
				if n := restarted()[address]; n != 1 {
					t.Errorf("%s was restarted %d times", address, n)
				}
			}
		})
	}
}
