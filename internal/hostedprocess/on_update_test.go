package hostedprocess_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A host that did not get a declaration still runs by the previous one, so a revert does not restart it.
//
// Promised in rolling-restart.md: If you go back to the old `spec`, only hosts that had the new one, or may have got it, are restarted.
func TestOnUpdate_revertedBeforeItCame(t *testing.T) {
	t.Parallel()
	took := failing
	took.Apply = true
	for name, fails := range map[string]func(*world){
		"away":                  func(w *world) { w.sim.SetReachable(providertest.Address(3), false) },
		"refused":               func(w *world) { w.on("update_proc_info", failing, 3) },
		"refused-and-took-hold": func(w *world) { w.on("update_proc_info", took, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				more := map[string]any{"max_unreachable_hosts": "1", "on_update": "restart", "ensure": "running"}
				o := w.object()
				o.Applied(w.declares(3, more))
				before := w.at(3).PID
				fails(w)
				o.Protocol = w.open()
				o.Apply(w.changed(3, more))
				w.repair()
				w.sim.SetReachable(providertest.Address(3), true)
				o.Protocol = w.open()
				_, said := o.Apply(w.declares(3, more))
				providertest.Check(t, !said.Failed() && w.at(3).PID == before && w.at(1).PID != before, "process %d became %d; said: %s", before, w.at(3).PID, said)
			})
		})
	}
}

// Hosts that a release never reached are not restarted by its revert, although their processes have been restarted since
// the last apply.
func TestOnUpdate_revertedAfterOtherRestarts(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.ReregisteringKeepsTime = w.by == gateway
		more := map[string]any{"on_update": "restart", "rollout": map[string]any{"batch_size": 1}}
		o := w.object()
		o.Applied(w.declares(4, more))
		w.do(w.sim.StartProcess, 1, 2, 3) // no apply has seen them
		o.Protocol = w.open()
		o.Apply(w.changed(4, more))
		w.do(w.sim.KillProcess, 2, 3)
		w.sim.Tick()
		w.onOp(simulator.OpRestart, failing, 1)
		o.Protocol = w.open()
		o.Apply(startedBy(w.by, "./start.sh -z", 4, more))
		w.repair()
		before := pids(w.sim, 3)
		o.Protocol = w.open()
		o.Applied(w.changed(4, more))
		after := pids(w.sim, 3)
		providertest.Check(w, after[0] != before[0] && slices.Equal(after[1:], before[1:]), "processes %d became %d", before, after)
	})
}

// A revert that was killed after its restart does not restart again without an error, and does not count what another
// killed apply has started as the declaration that came back.
func TestOnUpdate_revertedAndKilled(t *testing.T) {
	t.Parallel()
	type object struct {
		*providertest.Core
		old, new map[string]any
	}
	killed := func(o object, config map[string]any) {
		before := *o.Kept
		o.Apply(config)
		*o.Kept = before
	}
	for name, c := range map[string]struct {
		ensure  string
		befalls func(*world, object)
		again   int // restarts by the first revert
	}{
		"restarted by a killed revert": {"running", func(w *world, o object) {
			w.on("update_proc_info", simulator.Fault{Drop: "after"}, 1)
			o.Apply(o.new)
			w.repair()
			w.do(w.sim.KillProcess, 1)
			w.sim.Tick()
			killed(o, o.old)
		}, 0},
		"restarted by a killed release": {"hosted", func(w *world, o object) {
			w.do(w.sim.StartProcess, 1) // no apply has seen its pid
			killed(o, o.new)
			w.sim.SetReachable(providertest.Address(1), false)
			o.Apply(o.new)
			w.sim.SetReachable(providertest.Address(1), true)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.sim.StartingKeepsTime, w.sim.ReregisteringKeepsTime, w.sim.HostingKeepsTime = true, true, true
				more := map[string]any{"on_update": "restart", "ensure": c.ensure}
				o := object{w.objectOfCLI(), w.declares(1, more), w.changed(1, more)}
				o.Applied(o.old)
				c.befalls(w, o)
				w.sim.ResetCalls()
				_, said := o.Apply(o.old)
				got := w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*")
				providertest.Check(w, got == c.again && said.Failed() == (got == 0), "%d restarts; said: %s", got, said)
				o.Apply(o.old)
				providertest.Same(w, "restarts in all", 1, w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*"))
			})
		})
	}
}

// If a declaration took effect although the apply was interrupted or the platform reported a failure, the next apply of
// it restarts the process, whatever came in between.
func TestOnUpdate_tookEffect(t *testing.T) {
	t.Parallel()
	more := map[string]any{"on_update": "restart", "ensure": "running"}
	fails := func(f simulator.Fault) func(*world, *providertest.Core) {
		f.Apply = true
		return func(w *world, o *providertest.Core) {
			w.on("update_proc_info", f, 1)
			o.Apply(w.changed(2, more))
			w.repair()
		}
	}
	cut := func(calls int, then func(*world, *providertest.Core)) func(*world, *providertest.Core) {
		return func(w *world, o *providertest.Core) {
			api, op := w.by.FaultOn("update_proc_info")
			seen := 0
			w.sim.CutAt(func(call simulator.Call) bool {
				if seen > 0 || call.API == api && (op == nil || call.Op == *op) {
					seen++
				}
				return seen == calls
			}).Apply(o, w.changed(2, more))
			w.repair()
			then(w, o)
		}
	}
	another := func(w *world, o *providertest.Core) { // fails on the host
		w.on("update_proc_info", away, 1)
		o.Protocol = w.open()
		o.Apply(startedBy(w.by, "./start.sh -z", 2, more))
		w.repair()
	}
	for name, c := range map[string]func(*world, *providertest.Core){
		"failed": fails(failing), "bad-gateway": fails(simulator.Fault{HTTPStatus: 502}),
		"away-meanwhile": fails(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Pending: 1}),
		"interrupted":    cut(2, func(*world, *providertest.Core) {}), "another-in-between": cut(1, another), "another-in-between-later": cut(2, another),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				w.sim.StartingKeepsTime = true
				o := w.object()
				o.Applied(w.declares(2, more))
				before := w.at(1).PID
				c(w, o)
				for range 2 { // the first may report that it is unknown
					o.Protocol = w.open()
					o.Apply(w.changed(2, more))
				}
				providertest.Check(t, w.at(1).PID != before && len(codes(o)) == 0, "process %d became %d; out_of_sync %v", before, w.at(1).PID, codes(o))
			})
		})
	}
}

// If an apply is interrupted when a host is registered and the operation was not yet sent there, the next apply sends it.
func TestOnUpdate_registeredThenInterrupted(t *testing.T) {
	t.Parallel()
	for operation, op := range map[string]int{"reload": simulator.OpReload, "restart": simulator.OpRestart} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.settings["max_hosts_per_request"], w.settings["max_concurrent_requests"] = 1, 1
				more := attribute("on_update", operation)
				o := w.object()
				o.Applied(w.declares(2, more))
				w.do(w.sim.StartProcess, 1, 2)
				w.sim.CutAt(func(call simulator.Call) bool { return call.Op == op && strings.HasPrefix(call.API, "operate_") }).Apply(o, w.changed(2, more))
				sent := w.sim.Calls().OfOp(op).HostCalls("operate_*")
				left := slices.Sorted(maps.Values(codes(o)))
				providertest.Check(w, sent == 1 && slices.Equal(left, []string{"not_operated", "operation_unconfirmed"}), "%d were sent it; out_of_sync: %v", sent, codes(o))
				w.sim.ResetCalls()
				o.Protocol = w.open()
				_, said := o.ApplyUnrefreshed(w.changed(2, more))
				again := w.sim.Calls().OfOp(op).HostCalls("operate_*")
				providertest.Check(w, !said.Failed() && len(codes(o)) == 0 && again > 0, "%d were operated, out_of_sync %v; said: %s", again, codes(o), said)
			})
		})
	}
}

// If an apply is interrupted while a host is being registered, the next apply operates there, and needs no other.
func TestOnUpdate_interruptedRegistering(t *testing.T) {
	t.Parallel()
	for operation, op := range map[string]int{"reload": simulator.OpReload, "restart": simulator.OpRestart} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			through(t, []providertest.Face{gateway, job}, func(w *world) { // where registering is a task
				cut, pass := w.polled()
				more := map[string]any{"ensure": "running", "on_update": operation}
				o := w.object()
				o.Applied(w.declares(2, more))
				w.onOp(simulator.OpHost, simulator.Fault{Takes: time.Hour}, 2)
				cut.Apply(o, w.changed(2, more))
				w.repair()
				pass()
				o.Protocol = w.open()
				_, said := o.Apply(w.changed(2, more))
				operated := w.sim.Calls().OfOp(op).HostCalls("operate_*")
				providertest.Check(w, len(said) == 0 && operated == 2, "%d were operated; said: %s", operated, said)
			})
		})
	}
}

// What a killed apply has registered is not taken for what a slow registration of the next apply is yet to do.
func TestOnUpdate_killedThenInterruptedRegistering(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	cut, pass := w.polled()
	o, more := w.objectOfCLI(), map[string]any{"on_update": "restart", "ensure": "running"}
	o.Applied(w.declares(1, more))
	pass()
	before := *o.Kept
	o.Applied(w.changed(1, more))
	*o.Kept = before // killed with Terraform
	w.onOp(simulator.OpHost, simulator.Fault{Takes: time.Hour}, 1)
	cut.Apply(o, w.changed(1, more))
	w.repair()
	said := cut.Apply(o, w.changed(1, more))
	providertest.Fails(w, said, "hosting it by an earlier apply is still under way")
	pass()
	o.Applied(w.changed(1, more))
}

// If a retry is killed after its restart, a revert restarts the host, and another retry does not.
func TestOnUpdate_retryKilled(t *testing.T) {
	t.Parallel()
	const restart = "operate_proc_v2/7"
	more := map[string]any{"on_update": "restart", "ensure": "running", "rollout": map[string]any{"batch_size": 1}}
	for name, c := range map[string]struct {
		fails    func(*world)
		config   func(*world) map[string]any
		restarts []string
	}{
		"reverted": {
			func(w *world) { w.on("update_proc_info", away, 1) }, func(w *world) map[string]any { return w.declares(2, more) }, []string{on(restart, 1), on(restart, 2)},
		},
		"repeated": {func(w *world) { w.onOp(simulator.OpRestart, failing, 1) }, func(w *world) map[string]any { return w.changed(2, more) }, nil},
	} {
		for _, keeps := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/keeps-time-%t", name, keeps), func(t *testing.T) {
				t.Parallel()
				through(t, gse, func(w *world) {
					w.sim.StartingKeepsTime = keeps
					pass := w.passing()
					o := w.object()
					o.Applied(w.declares(2, more))
					pass()
					c.fails(w)
					o.Protocol = w.open()
					o.Apply(w.changed(2, more))
					w.repair()
					kept := *o.Kept
					pass()
					o.Protocol = w.open()
					o.Applied(w.changed(2, more))
					*o.Kept = kept // killed with Terraform
					w.sim.ResetCalls()
					o.Protocol = w.open()
					o.ApplyUnrefreshed(c.config(w))
					var restarts []string
					for _, call := range w.sim.Changes() {
						if strings.HasPrefix(call, "operate_proc_v2/7") {
							restarts = append(restarts, call)
						}
					}
					providertest.Same(t, "restarts", w.by.Changes(c.restarts...), restarts)
				})
			})
		}
	}
}

// If the provider of a retry is killed after the restart, and private state is lost, the next apply reports that
// before it restarts again.
func TestOnUpdate_retryKilledAlone(t *testing.T) {
	t.Parallel()
	more := map[string]any{"on_update": "restart", "ensure": "running", "rollout": map[string]any{"batch_size": 1}}
	for name, fails := range map[string]func(*world){
		"failed": func(w *world) { w.onOp(simulator.OpRestart, failing, 1) },
		"unseen": func(w *world) { w.onOp(simulator.OpRestart, simulator.Fault{Drop: "after"}, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				pass := w.passing()
				o := w.object()
				o.Applied(w.declares(2, more))
				pass()
				fails(w)
				o.Protocol = w.open()
				o.Apply(w.changed(2, more))
				w.repair()
				state := o.State
				pass()
				o.Protocol = w.open()
				o.Applied(w.changed(2, more))
				o.State, o.Private = state, nil
				restarted := w.at(1).PID
				o.Protocol = w.open()
				_, said := o.Apply(w.changed(2, more))
				providertest.Check(t, w.at(1).PID == restarted && tells(said, "whether an interrupted apply has operated it"),
					"process %d became %d; said: %s", restarted, w.at(1).PID, said)
				o.Protocol = w.open()
				_, said = o.Apply(w.changed(2, more))
				providertest.Check(t, !said.Failed() && len(codes(o)) == 0, "out_of_sync %v; said: %s", codes(o), said)
			})
		})
	}
}

// The operation of on_update is due until it has ended, and runs once. A host on which it is due is not renamed until
// it is done, whatever else has changed.
func TestOnUpdate_due(t *testing.T) {
	t.Parallel()
	byAgent := map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)}
	const restarts, reloads = simulator.OpRestart, simulator.OpReload
	for name, c := range map[string]struct {
		operation string
		op        int
		befalls   func(*world)
		left      string
		says      string
		relabels  bool // labels change while it is under way
	}{
		"fails":            {"restart", restarts, func(w *world) { w.onOp(restarts, failing, 1) }, "not_operated", "Fix the cause and apply again: only these hosts are called.", false},
		"under-way":        {"restart", restarts, func(w *world) { w.onOp(restarts, simulator.Fault{Takes: time.Hour}, 1) }, "operation_unconfirmed", "Where the end of the restart was not seen, the next apply first asks … the same pid as before. To leave such hosts alone, apply once with on_update = \"register\" (and without rollout.healthy, unless ensure is \"running\").", false},
		"reload-under-way": {"reload", reloads, func(w *world) { w.onOp(reloads, simulator.Fault{Takes: time.Hour}, 1) }, "operation_unconfirmed", "Where the end of the reload was not seen … the same pid as before, which a reload often does not change. To", false}, // its pid tells nothing
		"not-registered":   {"restart", restarts, func(w *world) { w.on("update_proc_info", away, 1) }, "other_spec", "is not as declared on 1 of 2 hosts of this update.", false},
		"relabelled":       {"restart", restarts, func(w *world) { w.onOp(restarts, simulator.Fault{Takes: time.Hour}, 1) }, "other_spec", "web-1 (0:10.0.0.2): interrupted (115, still in progress)", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, false)
			var hours, polls atomic.Int64
			w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
			cut := w.sim.CutAt(func(call simulator.Call) bool {
				return call.API == w.by.ResultAPI() && call.Op == c.op && polls.Add(1)%5 == 0
			})
			updates := attribute("on_update", c.operation)
			resource := w.object()
			resource.Applied(w.declares(2, updates))
			w.do(w.sim.StartProcess, 1, 2)
			c.befalls(w)
			said := cut.Apply(resource, w.changed(2, updates))
			if c.relabels {
				updates = attribute("on_update", c.operation)
				maps.Copy(updates, labelled(map[string]any{"team": "sre"}))
				said = cut.Apply(resource, w.changed(2, updates))
			}
			left := codes(resource)["web-1"]
			providertest.Check(t, left == c.left && said.Failed() && tells(said, c.says), "it is %q, want %q; said: %s", left, c.left, said)
			w.sim.Repair()
			hours.Add(2)
			w.sim.ResetCalls()
			resource.Protocol = w.open()
			_, said = resource.Apply(w.changed(0, updates, attribute("hosts", byAgent)))
			providertest.Fails(t, said, "it is out of sync ("+c.left+"); apply with its old name until it is as declared, then rename it and apply again")
			w.sim.Changed(t)
			config := w.changed(2, updates)
			resource.Protocol = w.open()
			if _, said := resource.Apply(config); len(said) > 0 || len(codes(resource)) > 0 {
				t.Errorf("it is %v; said: %s", codes(resource), said)
			}
			resource.Protocol = w.open()
			if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
				t.Errorf("something was left to do: %s; said: %s", kind, said)
			}
			operated := 0
			for _, e := range w.sim.Executions() {
				if e.Action == c.operation && e.Code == simulator.CodeOK && e.Host != providertest.Address(2) {
					operated++
				}
			}
			providertest.Same(t, fmt.Sprintf("operations: %+v", w.sim.Executions()), 1, operated)
			w.play(resource, step{name: "renamed", config: w.changed(0, updates, attribute("hosts", byAgent)), anyCalls: true})
		})
	}
}

// The first update with on_update restarts the processes that an earlier apply has started, whatever the cached status
// shows. It does not restart again what a killed one has restarted.
func TestOnUpdate_first(t *testing.T) {
	t.Parallel()
	const interrupted = "it is unknown whether an interrupted apply has operated it"
	first := map[string]any{"ensure": "running", "on_update": "restart"}
	for name, c := range map[string]struct {
		frozen int // the number of applies before the cached status shows nothing new
		rows   string
		starts []string // of the declarations
	}{
		"the-status-lags":   {0, "both", []string{"./start.sh", "./start.sh -v"}},
		"rows-name-no-host": {-1, "none", []string{"./start.sh", "./start.sh -v"}},
		"comes-back":        {1, "both", []string{"./start.sh", "./start.sh -v", "./start.sh"}},
	} {
		for _, keeps := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/times-kept-%t", name, keeps), func(t *testing.T) {
				t.Parallel()
				through(t, gse, func(w *world) {
					w.sim.StartingKeepsTime, w.sim.ReregisteringKeepsTime, w.sim.HostingKeepsTime = keeps, keeps, keeps
					pass := w.passing()
					w.sim.Inject(simulator.Fault{API: "*proc_status*", Rows: c.rows})
					o := w.object()
					last := len(c.starts) - 1
					for n, start := range c.starts[:last] {
						if n == c.frozen {
							w.sim.FreezeStatus()
						}
						o.Protocol = w.open()
						o.Applied(startedBy(w.by, start, 2, attribute("ensure", "running")))
						pass()
					}
					before, config := *o.Kept, startedBy(w.by, c.starts[last], 2, first)
					w.sim.ResetCalls()
					o.Protocol = w.open()
					o.Applied(config)
					providertest.Same(w, "restarts", 2, w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*"))
					*o.Kept = before
					pass()
					w.sim.ResetCalls()
					o.Protocol = w.open()
					_, said := o.Apply(config)
					again := w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*")
					providertest.Check(w, again == 0 && (len(said) == 0 || tells(said, interrupted)), "%d were restarted again; said: %s", again, said)
				})
			})
		}
	}
}

// A process that was restarted by an update killed with Terraform is not restarted again, although nothing of that
// update is in state. If private state is lost too, one apply reports that, and the one after it restarts.
func TestOnUpdate_killed(t *testing.T) {
	t.Parallel()
	const interrupted = "it is unknown whether an interrupted apply has operated it"
	for name, c := range map[string]struct {
		says  string
		again int // restarted by the apply after that
		faces []providertest.Face
	}{"kept": {"", 0, gse}, "lost": {interrupted, 2, gse}, "lost-and-not-hosted": {interrupted, 2, []providertest.Face{esb}}} { // where registering does not host
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				api, op := w.by.FaultOn("update_proc_info")
				says, pass := c.says, w.passing()
				w.sim.StartingKeepsTime = true
				w.sim.OnCall = func(call simulator.Call) {
					if call.API == api && (op == nil || call.Op == *op) { // so that the restart is later
						pass()
					}
				}
				restart, resource := attribute("on_update", "restart"), w.object()
				resource.Applied(w.declares(2, restart))
				w.do(w.sim.StartProcess, 1, 2)
				resource.Refresh()
				before := *resource.Kept
				resource.Applied(w.changed(2, restart))
				*resource.Kept = before
				if c.says != "" {
					resource.Private = nil
				}
				for _, again := range []int{0, c.again} {
					w.repair()
					if name == "lost-and-not-hosted" && again == 0 {
						w.do(w.sim.Unhost, 1, 2)
						w.onOp(simulator.OpHost, failing, 1, 2)
					}
					w.sim.ResetCalls()
					resource.Protocol = w.open()
					_, said := resource.Apply(w.changed(2, restart))
					got := w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*")
					providertest.Check(w, got == again && tells(said, says) && said.Failed() == (says != ""), "%d were restarted again; said: %s", got, said)
					says = ""
				}
			})
		})
	}
}

// Labels that change after an update was killed do not make the next apply restart again, without an error, what that
// update has restarted.
func TestOnUpdate_killedThenRelabelled(t *testing.T) {
	t.Parallel()
	for _, keeps := range []bool{false, true} {
		t.Run(fmt.Sprintf("keeps-time-%t", keeps), func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.sim.StartingKeepsTime, w.sim.ReregisteringKeepsTime, w.sim.HostingKeepsTime = keeps, keeps, keeps
				pass, restart, o := w.passing(), attribute("on_update", "restart"), w.objectOfCLI()
				o.Applied(w.declares(1, restart))
				w.do(w.sim.StartProcess, 1)
				pass()
				before := *o.Kept
				o.Applied(w.changed(1, restart))
				*o.Kept = before
				restarted := w.at(1).PID
				pass()
				_, said := o.Apply(w.changed(1, restart, labelled(map[string]any{"team": "sre"})))
				now := w.at(1)
				providertest.Check(w, now.PID == restarted && now.Labels["team"] == "sre", "process %d became %d, with %v", restarted, now.PID, now.Labels)
				providertest.Check(w, !said.Failed() || tells(said, "it is unknown whether an interrupted apply has operated it"), "said: %s", said)
			})
		})
	}
}

// A restarted process that did not stay up is started by the next apply, not restarted again.
func TestOnUpdate_unhealthy(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		open := func() *providertest.Protocol {
			return providertest.ConfiguredBy(w.T, &providertest.Clock{}, w.settings)
		}
		gated := map[string]any{"on_update": "restart", "rollout": map[string]any{"waves": []any{"100%"}, "healthy": map[string]any{"stable_for": "1m"}}}
		resource := open().CoreOf(providertest.HostedType, &providertest.Kept{})
		resource.Applied(w.declares(2, gated))
		w.do(w.sim.StartProcess, 1, 2)
		w.onOp(simulator.OpRestart, simulator.Fault{Dies: 2}, 1)
		resource.Protocol = open()
		_, said := resource.Apply(w.changed(2, gated))
		providertest.Check(w, said.Failed() && codes(resource)["web-1"] == "unhealthy", "out_of_sync is %v; said: %s", codes(resource), said)
		w.repair()
		w.sim.ResetCalls()
		resource.Protocol = open()
		resource.Applied(w.changed(2, gated))
		providertest.Same(w, "calls that change something", w.by.Changes(on("operate_proc_v2/0", 1)), w.sim.Changes())
	})
}

// A host that did not pass its gate stays unhealthy until it does, whether it is found down, running, or not asked.
func TestOnUpdate_unhealthyStays(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		gated := map[string]any{"ensure": "running", "rollout": map[string]any{"waves": []any{"100%"}, "healthy": map[string]any{"stable_for": "1m"}}}
		config, resource := w.declares(2, gated), w.object()
		stays := func(when string, left map[string]string) {
			w.Helper()
			resource.Protocol = providertest.ConfiguredBy(w.T, &providertest.Clock{}, w.settings)
			resource.Refresh()
			providertest.Same(w, "out_of_sync, "+when, left, codes(resource))
		}
		applies := func() {
			w.Helper()
			resource.Protocol = providertest.ConfiguredBy(w.T, &providertest.Clock{}, w.settings)
			resource.ApplyUnrefreshed(config)
		}
		w.onOp(simulator.OpStart, simulator.Fault{Dies: 2}, 1)
		applies()
		stays("created", codesOf("unhealthy", 1))
		w.repair()
		w.do(w.sim.StopProcess, 1)
		stays("down", codesOf("unhealthy", 1))
		w.do(w.sim.StartProcess, 1)
		w.do(w.sim.Host, 1)
		stays("up", codesOf("unhealthy", 1))
		w.onOp(simulator.OpQuery, failing, 1)
		applies()
		w.repair()
		stays("not asked", codesOf("unhealthy", 1))
		applies()
		stays("passed", map[string]string{})
	})
}

// A changed spec does not restart a process that this object has not registered, as what it runs is unknown. That is so
// after an import without a spec, and on a host taken over from another owner.
func TestOnUpdate_notOurs(t *testing.T) {
	t.Parallel()
	more := map[string]any{"on_update": "restart", "adopt_existing": true}
	for name, c := range map[string]struct {
		begin     func(*world, *providertest.Core)
		restarted bool // web-1 is
	}{
		"imported": {func(_ *world, o *providertest.Core) { o.Imports("web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3") }, false},
		"taken-over": {func(w *world, o *providertest.Core) {
			w.do(w.sim.Unregister, 1)
			o.Apply(w.declares(2)) // registers only web-1
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.colleague(1, 2)
				o := w.object()
				c.begin(w, o)
				pids := [2]int{w.at(1).PID, w.at(2).PID}
				w.play(o, step{name: "changed", config: w.changed(2, more), anyCalls: true})
				restarted := [2]bool{w.at(1).PID != pids[0], w.at(2).PID != pids[1]}
				providertest.Check(w, restarted == [2]bool{c.restarted, false} && pids[0] > 0 && pids[1] > 0, "processes %v became %d and %d", pids, w.at(1).PID, w.at(2).PID)
			})
		})
	}
}

// A host with an unconfirmed restart that does not get the next declaration is registered with it by a later apply.
func TestOnUpdate_unseenThenAway(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(*world){
		"down":                func(w *world) { w.sim.SetReachable(providertest.Address(1), false) },
		"away-at-registering": func(w *world) { w.on("update_proc_info", away, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				cut, pass := w.polled()
				more := map[string]any{"on_update": "restart", "max_unreachable_hosts": "1"}
				o := w.object()
				o.Applied(w.declares(2, more))
				w.do(w.sim.StartProcess, 1, 2)
				w.onOp(simulator.OpRestart, simulator.Fault{Takes: time.Minute}, 1)
				cut.Apply(o, w.changed(2, more))
				w.repair()
				pass()
				fails(w)
				next := startedBy(w.by, "./start.sh -z", 2, more)
				o.Protocol = w.open()
				o.Apply(next)
				w.repair()
				w.sim.SetReachable(providertest.Address(1), true)
				o.Protocol = w.open()
				o.Applied(next)
				providertest.Check(w, strings.Contains(string(w.at(1).Spec), "start.sh -z"), "web-1 is registered with %s", w.at(1).Spec)
			})
		})
	}
}

// Changed labels restart nothing, not even on a host that did not get them at first.
//
// Promised in rolling-restart.md: changed labels restart nothing.
func TestOnUpdate_labels(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(*world){
		"away":    func(w *world) { w.sim.SetReachable(providertest.Address(2), false) },
		"refused": func(w *world) { w.on("update_proc_info", failing, 2) },
	} {
		for _, before := range []string{"restart", "register"} {
			t.Run(name+"/"+before, func(t *testing.T) {
				t.Parallel()
				through(t, gse, func(w *world) {
					o := w.object()
					o.Applied(w.declares(2, attribute("on_update", before), attribute("ensure", "running")))
					pid := w.at(2).PID
					w.settings["default_labels"] = map[string]string{"team": "sre"}
					config := w.declares(2, attribute("on_update", "restart"), attribute("ensure", "running"))
					fails(w)
					o.Protocol = w.open()
					o.Apply(config)
					w.repair()
					w.sim.SetReachable(providertest.Address(2), true)
					o.Protocol = w.open()
					o.Applied(config)
					providertest.Check(w, w.at(2).PID == pid && w.at(2).Labels["team"] == "sre", "process %d became %d, with %v", pid, w.at(2).PID, w.at(2).Labels)
				})
			})
		}
	}
}

// What somebody else has registered with another spec is repaired. The process is restarted only if it is not the one
// that the last apply has seen.
//
// Promised in rollouts.md: operates the host when it is repaired.
func TestOnUpdate_replacedByAnotherSpec(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"runs-on": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				pass, o := w.passing(), w.object()
				config := w.declares(1, attribute("on_update", "restart"), attribute("ensure", "running"))
				o.Applied(config)
				made := w.at(1)
				pass()
				labels := maps.Clone(made.Labels)
				delete(labels, "tf_spec")
				providertest.NoError(w, w.sim.Register(made.Host, made.Namespace, made.Name, labels, strings.ReplaceAll(string(made.Spec), "start.sh", "other.sh")))
				w.do(w.sim.Host, 1)
				if restarted {
					w.do(w.sim.KillProcess, 1)
				}
				found := w.at(1).PID
				providertest.Check(w, (found != made.PID) == restarted, "process %d became %d", made.PID, found)
				pass()
				o.Protocol = w.open()
				o.Refresh()
				providertest.Same(w, "out_of_sync", codesOf("other_spec", 1), codes(o))
				_, said := o.Apply(config)
				now := w.at(1)
				providertest.Check(w, now.Labels["tf_spec"] == made.Labels["tf_spec"] && (now.PID != found || said.Failed()) == restarted, "process %d became %d, with %v; said: %s", found, now.PID, now.Labels, said)
				if said.Failed() {
					o.Applied(config)
					providertest.Check(w, w.at(1).PID != found, "process %d was not restarted", found)
				}
			})
		})
	}
}

// The task of a restart under way is queried before its host is unregistered, whatever was applied in between.
func TestOnUpdate_awaited(t *testing.T) {
	t.Parallel()
	on := func(operation string, n int) func(*world) map[string]any {
		return func(w *world) map[string]any {
			return w.changed(n, attribute("on_update", operation), attribute("on_destroy", "stop"))
		}
	}
	another := func(w *world) map[string]any {
		return startedBy(w.by, "./start.sh -z", 2, attribute("on_update", "restart"), attribute("on_destroy", "stop"), attribute("max_unreachable_hosts", "1"))
	}
	for name, c := range map[string]struct {
		befalls   func(*world)
		next, end func(*world) map[string]any // nil destroys
	}{
		"leaves":                  {nil, on("restart", 1), on("restart", 1)},
		"leaves-without-restart":  {nil, on("register", 1), on("register", 1)},
		"leaves-and-destroyed":    {nil, on("register", 1), nil},
		"switched-and-destroyed":  {nil, on("register", 2), nil},
		"away-and-destroyed":      {func(w *world) { w.sim.SetReachable(providertest.Address(2), false) }, another, nil},
		"not-changed-and-leaves":  {func(w *world) { w.on("update_proc_info", failing, 2) }, another, on("restart", 1)},
		"not-changed-and-destroy": {func(w *world) { w.on("update_proc_info", failing, 2) }, another, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				o, cut, pass := w.restarting(attribute("on_destroy", "stop"))
				if c.befalls != nil {
					c.befalls(w)
				}
				cut.Apply(o, c.next(w))
				w.sim.SetReachable(providertest.Address(2), true)
				var end map[string]any
				if c.end != nil {
					end = c.end(w)
				}
				said := cut.Apply(o, end)
				providertest.Check(w, w.at(2).Registered && said.Failed(), "web-2 is unregistered; said: %s", said)
				w.repair()
				pass()
				o.Protocol = w.open()
				o.Applied(end)
				providertest.Check(w, !w.at(2).Registered && !w.at(2).Running, "web-2 has %+v", w.at(2))
			})
		})
	}
}

// If an earlier apply may have been interrupted, the error says so even for a host that cannot be registered.
func TestOnUpdate_unsureAndRefused(t *testing.T) {
	t.Parallel()
	const unsure = "it was started or registered after the last apply in state, and it is unknown whether an interrupted apply has operated it"
	for name, c := range map[string]struct {
		fails simulator.Fault
		says  string
	}{
		"refused": {failing, "web-2 (0:10.0.0.3): 65535, the command failed; " + unsure},
		"away":    {away, "web-2 (0:10.0.0.3): 117, the agent is abnormal or not found; " + unsure},
		"all":     {simulator.Fault{EnvelopeCode: new(1210001)}, "web-1, web-2 (2 hosts): " + unsure},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.sim.StartingKeepsTime = true
				more := map[string]any{"on_update": "restart", "ensure": "running", "max_unreachable_hosts": "1"}
				o, pass := w.object(), w.passing()
				o.Applied(w.declares(2, more))
				pass()
				kept := *o.Kept
				o.Protocol = w.open()
				o.Applied(w.changed(2, more))
				*o.Kept = kept
				o.Private = nil
				w.on("update_proc_info", c.fails, 2)
				o.Protocol = w.open()
				_, said := o.Apply(w.changed(2, more))
				providertest.Check(w, said.Failed() && tells(said, c.says), "said: %s", said)
			})
		})
	}
}

// A host that could not leave because a restart was under way, and comes back, is restarted with the declaration of then.
func TestOnUpdate_comesBack(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		next := func(n int) map[string]any {
			return startedBy(w.by, "./start.sh -z", n, attribute("on_update", "restart"))
		}
		o, cut, pass := w.restarting()
		w.repair()
		for range 2 { // the first is interrupted before web-2 leaves
			cut.Apply(o, next(1))
		}
		pass()
		pid := w.at(2).PID
		o.Protocol = w.open()
		o.Applied(next(2))
		providertest.Check(w, w.at(2).PID != pid && w.at(2).Registered, "process %d became %d", pid, w.at(2).PID)
	})
}

// If the platform never reports the end of a restart but another pid shows that it worked, its host can be changed and leave.
func TestOnUpdate_neverTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		switched bool // on_update is register in between
		next     func(*world) map[string]any
	}{
		"next": {false, func(w *world) map[string]any {
			return startedBy(w.by, "./start.sh -z", 2, attribute("on_update", "restart"))
		}},
		"switched-and-next": {true, func(w *world) map[string]any {
			return startedBy(w.by, "./start.sh -z", 2, attribute("on_update", "restart"))
		}},
		"destroyed":              {false, func(*world) map[string]any { return nil }},
		"switched-and-destroyed": {true, func(*world) map[string]any { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				cut, _ := w.polled()
				o := w.object()
				o.Applied(w.declares(2, attribute("on_update", "restart")))
				w.do(w.sim.StartProcess, 1, 2)
				never := simulator.Fault{API: w.by.ResultAPI(), Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2}), Code: new(115)}
				if w.by == job {
					never.Code, never.EnvelopeCode = nil, new(1210001)
				}
				w.sim.Inject(never)
				cut.Apply(o, w.changed(2, attribute("on_update", "restart")))
				if c.switched {
					o.Protocol = w.open()
					o.Apply(w.changed(2, attribute("on_update", "register")))
				}
				w.sim.OnCall = func(call simulator.Call) { // the end of operations sent now is reported
					if strings.HasPrefix(call.API, "operate_") && call.Op == simulator.OpRestart {
						w.sim.ClearFaults()
					}
				}
				o.Protocol = w.open()
				o.Applied(c.next(w))
			})
		})
	}
}

// The task of a restart under way is queried before a destroy, even if on_update was register in between.
func TestOnUpdate_switchedBack(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		on := func(operation string) map[string]any {
			return w.changed(2, attribute("on_update", operation), attribute("on_destroy", "stop"))
		}
		o, cut, pass := w.restarting(attribute("on_destroy", "stop"))
		for _, operation := range []string{"register", "restart"} {
			o.Protocol = w.open()
			o.Applied(on(operation))
		}
		said := cut.Apply(o, nil)
		providertest.Check(w, w.at(2).Registered && said.Failed(), "web-2 is unregistered; said: %s", said)
		w.repair()
		pass()
		o.Protocol = w.open()
		o.Applied(nil)
		providertest.Check(w, !w.at(2).Running, "web-2 has %+v", w.at(2))
	})
}

// The task of a start is queried before a destroy, even if an older restart is long over.
func TestOnUpdate_besideAStart(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		on := func(operation, ensure string) map[string]any {
			return w.changed(2, attribute("on_update", operation), attribute("on_destroy", "stop"), attribute("ensure", ensure))
		}
		o, cut, pass := w.restarting(attribute("on_destroy", "stop"))
		w.repair()
		pass()
		o.Protocol = w.open()
		o.Applied(on("register", "hosted"))
		w.do(w.sim.StopProcess, 2)
		w.onOp(simulator.OpStart, simulator.Fault{Takes: 5 * time.Hour}, 2)
		cut.Apply(o, on("register", "running"))
		said := cut.Apply(o, nil)
		providertest.Check(w, tells(said, "web-2 (0:10.0.0.3): not unregistered, because an earlier apply has sent what would host or start it there"), "said: %s", said)
	})
}

// Another pid does not show that a restart worked whose answer was lost, if another tool has registered and started the
// process since and no refresh has found that. The host is registered as declared, and restarted by the next apply.
func TestOnUpdate_lostAndTakenOver(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		more := map[string]any{"on_update": "restart", "ensure": "running"}
		o := w.object()
		o.Applied(w.declares(1, more))
		w.onOp(simulator.OpRestart, simulator.Fault{Drop: "before"}, 1)
		o.Protocol = w.open()
		o.Apply(w.changed(1, more))
		providertest.Same(w, "out_of_sync", codesOf("operation_unconfirmed", 1), codes(o))
		w.repair()
		w.do(w.sim.StopProcess, 1)
		w.colleague(1)
		w.sim.ResetCalls()
		o.Protocol = w.open()
		_, said := o.ApplyUnrefreshed(w.changed(1, more))
		providertest.Says(w, said.String(), "registered and not operated: it was started or registered after the last apply in state")
		providertest.Check(w, strings.Contains(string(w.at(1).Spec), "-v"), "web-1 is registered with %s", w.at(1).Spec)
		providertest.Same(w, "restarts", 0, len(w.sim.Calls().OfOp(simulator.OpRestart)))
		o.Protocol = w.open()
		o.Applied(w.changed(1, more))
		providertest.Check(w, len(w.sim.Calls().OfOp(simulator.OpRestart).On(providertest.Address(1))) > 0, "not restarted: %v", w.sim.Changes())
	})
}

// A rollback of labels alone keeps the task of a restart under way.
func TestRollback_keepsTheTask(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		on := func(operation string) map[string]any {
			return w.changed(2, attribute("on_update", operation), attribute("on_destroy", "stop"),
				attribute("rollout", map[string]any{"batch_size": 1, "canary": []string{"web-2"}, "on_failure": "rollback"}))
		}
		o, cut, _ := w.restarting(attribute("on_destroy", "stop"))
		for _, operation := range []string{"register", "restart"} {
			o.Protocol = w.open()
			o.Applied(on(operation))
		}
		config := on("restart")
		config["meta"] = labelled(map[string]any{"team": "sre"})["meta"]
		w.on("update_proc_info", failing, 1)
		o.Protocol = w.open()
		_, said := o.Apply(config)
		providertest.Says(w, said.String(), "Rolled Back")
		said = cut.Apply(o, nil)
		providertest.Check(w, w.at(2).Registered && said.Failed(), "web-2 is unregistered; said: %s", said)
	})
}

// If the platform never reports the end of a start, after a failed restart, later declarations are applied once the
// process runs.
func TestOnUpdate_startNeverTold(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		cut, _ := w.polled()
		more := attribute("on_update", "restart")
		o := w.object()
		o.Applied(w.declares(2, more))
		w.do(w.sim.StartProcess, 1, 2)
		w.onOp(simulator.OpRestart, failing, 2)
		o.Protocol = w.open()
		o.Apply(w.changed(2, more))
		w.repair()
		w.do(w.sim.StopProcess, 2)
		w.sim.Inject(simulator.Fault{API: w.by.ResultAPI(), Op: new(simulator.OpStart), Hosts: providertest.AddressList([]int{2}), Code: new(115)})
		cut.Apply(o, startedBy(w.by, "./start.sh -z", 2, more))
		providertest.Check(w, w.at(2).Running, "web-2 does not run")
		o.Protocol = w.open()
		o.Applied(startedBy(w.by, "./start.sh -y", 2, more))
	})
}

// polled returns cut, which interrupts applies at every fifth answer about a task, and pass, which advances two hours.
func (w *world) polled() (cut *providertest.Cut, pass func()) {
	var hours, polls atomic.Int64
	w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
	return w.sim.CutAt(func(call simulator.Call) bool {
		return call.API == w.by.ResultAPI() && polls.Add(1)%5 == 0
	}), func() { hours.Add(2) }
}

// restarting returns an object whose update was interrupted while web-2 restarts, which takes an hour.
func (w *world) restarting(more ...map[string]any) (o *providertest.Core, cut *providertest.Cut, pass func()) {
	cut, pass = w.polled()
	o, more = w.object(), append(more, attribute("on_update", "restart"))
	o.Applied(w.declares(2, more...))
	w.do(w.sim.StartProcess, 1, 2)
	w.onOp(simulator.OpRestart, simulator.Fault{Takes: time.Hour}, 2)
	cut.Apply(o, w.changed(2, more...))
	return o, cut, pass
}

// A restart whose end was not seen can be waived as the message says, also where a gate watches restarted hosts.
func TestOnUpdate_waivedWithGate(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		restarts, registers := attribute("on_update", "restart"), attribute("on_update", "register")
		gate := attribute("rollout", map[string]any{"waves": []any{"100%"}, "healthy": map[string]any{"stable_for": "1s"}})
		object := w.object()
		object.Applied(w.declares(1, restarts, gate))
		w.do(w.sim.StartProcess, 1)
		w.onOp(simulator.OpRestart, simulator.Fault{Drop: "before"})
		_, said := object.Apply(w.changed(1, restarts, gate))
		providertest.Fails(w, said, `To leave such hosts alone, apply once with on_update = "register" (and without rollout.healthy, unless ensure is "running").`)
		w.repair()
		providertest.Check(w, object.Validate(w.changed(1, registers, gate)).Failed(), "the gate watches nothing, and is accepted")
		providertest.Silent(w, object.Validate(w.changed(1, registers)))
		w.play(object, step{name: "waived", config: w.changed(1, registers)})
		w.play(object, step{name: "as before", config: w.changed(1, restarts, gate)})
	})
}
