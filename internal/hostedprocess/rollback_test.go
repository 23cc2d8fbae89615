package hostedprocess_test

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

var failing = simulator.Fault{Code: new(simulator.CodeCommandFailed), Message: "no such file"}

// once is a fault that ends after it applied once.
func once(f simulator.Fault) simulator.Fault {
	f.Times = 1
	return f
}

// after is a fault that lets the first match through.
func after(f simulator.Fault) simulator.Fault {
	f.Skip = 1
	return f
}

// What a rollout that goes back has left, in state and for the next apply.
func TestRollback(t *testing.T) {
	t.Parallel()
	const restart = "operate_proc_v2/7"
	more := map[string]any{"on_update": "restart", "rollout": map[string]any{"batch_size": 1, "on_failure": "rollback"}}
	// The apply before it restarted not all, and in waves not all was registered.
	unfinished := map[string]map[string]any{"goes-back": nil, "did-not-have-it": attribute("rollout", map[string]any{"batch_size": 1})}
	for name, c := range map[string]struct {
		befalls  func(*world)
		calls    []string
		left     map[string]string
		says     string
		repaired []string // by an apply of the previous declaration
	}{
		"goes-back": {
			func(w *world) { w.onOp(simulator.OpRestart, once(failing), 2) },
			[]string{on(restart, 1), on(restart, 1), on(restart, 2), on(restart, 2), on("update_proc_info", 1), on("update_proc_info", 1), on("update_proc_info", 2), on("update_proc_info", 2)},
			nil, "hosts that this update had changed have the previous declaration again, and the process was restarted by it where it ran: web-1, web-2.", nil,
		},
		"not-registered-again": {
			func(w *world) {
				w.onOp(simulator.OpRestart, once(failing), 2)
				w.on("update_proc_info", after(away), 1)
			},
			[]string{on(restart, 1), on(restart, 2), on(restart, 2), on("update_proc_info", 1), on("update_proc_info", 1), on("update_proc_info", 2), on("update_proc_info", 2)},
			codesOf("other_spec", 1), "Not rolled back, and in out_of_sync, on 1 of 2 hosts: web-1 (0:10.0.0.2): 117",
			[]string{on(restart, 1), on("update_proc_info", 1)},
		},
		"not-restarted-again": {
			func(w *world) { w.onOp(simulator.OpRestart, failing, 2) },
			[]string{on(restart, 1), on(restart, 1), on(restart, 2), on(restart, 2), on("update_proc_info", 1), on("update_proc_info", 1), on("update_proc_info", 2), on("update_proc_info", 2)},
			codesOf("not_operated", 2), "Not rolled back, and in out_of_sync, on 1 of 2 hosts: web-2 (0:10.0.0.3): ", []string{on(restart, 2)},
		},
		"did-not-have-it": {
			func(w *world) { w.on("update_proc_info", away, 3) },
			[]string{on(restart, 1), on(restart, 1), on("update_proc_info", 1), on("update_proc_info", 1), on("update_proc_info", 2), on("update_proc_info", 3)},
			codesOf("other_spec", 2, 3), "Not rolled back, and in out_of_sync, on 2 of 3 hosts (2 not tried): web-2, web-3 (2 hosts): it did not run with the previous declaration either",
			[]string{on(restart, 2), on(restart, 3), on("update_proc_info", 2), on("update_proc_info", 3)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				config := w.declares(3, more)
				resource := w.object()
				resource.Applied(config)
				w.do(w.sim.StartProcess, 1, 2, 3)
				if waves, is := unfinished[name]; is {
					config = w.declares(3, waves, attribute("on_update", "restart"))
					resource.Applied(w.changed(3, waves, attribute("on_update", "restart")))
					w.onOp(simulator.OpRestart, failing, 1)
					resource.Apply(config)
					w.repair()
				}
				w.play(resource,
					step{name: "rolled back", befalls: c.befalls, config: w.changed(3, more), calls: c.calls, left: c.left, says: c.says, fails: true},
					step{name: "repaired", befalls: (*world).repair, config: config, kind: kindOf(c.repaired), calls: c.repaired},
				)
				for n := 1; n <= 3; n++ {
					p := w.at(n)
					providertest.Check(t, p.Running && p.Hosted && strings.Contains(string(p.Spec), `"./start.sh"`), "web-%d has %+v", n, p)
				}
			})
		})
	}
}

// kindOf is what is planned where these calls are to be made.
func kindOf(calls []string) providertest.PlanKind {
	if len(calls) == 0 {
		return providertest.PlanNothing
	}
	return providertest.PlanUpdate
}

// Promised in rolling-restart.md: After an import, after a provider that was killed, or with other `default_labels`, the update stops instead.
//
// Hosts go back only to a declaration that is known to have been registered, and to have run. The others keep
// the new one, and the next apply of the previous declaration finds them.
func TestRollback_onlyToWhatWas(t *testing.T) {
	t.Parallel()
	const restart = "operate_proc_v2/7"
	roll := attribute("rollout", map[string]any{"batch_size": 1, "on_failure": "rollback"})
	restarts := attribute("on_update", "restart")
	const unknown = "Not rolled back, because what was registered before this update cannot be registered again as it was"
	for name, c := range map[string]struct {
		more     map[string]any
		settings map[string]any
		before   func(w *world, o *providertest.Core, more map[string]any) // the update that fails on web-2
		left     map[string]string
		says     string
		repaired []string // by an apply of the previous declaration
	}{
		"killed": {nil, nil, func(w *world, o *providertest.Core, more map[string]any) {
			kept := *o.Kept
			w.on("update_proc_info", away, 2)
			o.Apply(w.changed(2, more))
			*o.Kept, o.Private = kept, nil // killed
			w.repair()
		}, codesOf("other_spec", 2), unknown, []string{on("update_proc_info", 1), on("update_proc_info", 2)}},
		"labels-of-the-provider": {
			nil, attribute("default_labels", map[string]string{"env": "new"}), func(*world, *providertest.Core, map[string]any) {},
			codesOf("other_spec", 2), unknown, []string{on("update_proc_info", 1), on("update_proc_info", 2)},
		},
		"restart-due": {restarts, nil, func(w *world, o *providertest.Core, more map[string]any) {
			o.Applied(startedBy(w.by, "./earlier.sh", 2, more))
			w.onOp(simulator.OpRestart, failing, 1)
			o.Apply(w.declares(2, attribute("on_update", "restart")))
			w.repair()
			w.on("update_proc_info", once(away), 1)
		}, codesOf("other_spec", 1), "web-1 (0:10.0.0.2): it did not run with the previous declaration either", []string{on(restart, 1)}},
		"restart-unsure": {restarts, nil, func(w *world, o *providertest.Core, more map[string]any) {
			o.Refresh()
			kept := *o.Kept
			o.Applied(w.changed(2, more))
			*o.Kept = kept // killed with Terraform
		}, codesOf("other_spec", 1, 2), "web-1, web-2 (2 hosts): it did not run with the previous declaration either", []string{on(restart, 1), on(restart, 2), on("update_proc_info", 1), on("update_proc_info", 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.settings["default_labels"] = map[string]string{"env": "old"}
				more := maps.Clone(roll)
				maps.Copy(more, c.more)
				o := w.object()
				o.Protocol = w.open()
				o.Applied(w.declares(2, more))
				w.do(w.sim.StartProcess, 1, 2)
				c.before(w, o, more)
				if name != "restart-due" {
					w.on("update_proc_info", once(away), 2)
				}
				w.play(o,
					step{name: "fails", settings: c.settings, config: w.changed(2, more), anyCalls: true, left: c.left, says: c.says, fails: true},
					step{name: "repaired", befalls: (*world).repair, settings: attribute("default_labels", map[string]string{"env": "old"}), config: w.declares(2, more), calls: c.repaired},
				)
			})
		})
	}
}

// Hosts that joined a rollout which went back stay, with the previous declaration, and leave
// with the next apply of the previous configuration.
func TestRollback_joined(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		more := map[string]any{"rollout": map[string]any{"batch_size": 1, "on_failure": "rollback", "canary": []string{"web-4"}}}
		before := w.declares(3, attribute("rollout", map[string]any{"batch_size": 1}))
		resource := w.object()
		resource.Applied(before)
		w.play(resource,
			step{
				name: "rolled back", befalls: func(w *world) { w.on("update_proc_info", once(away), 1) }, config: w.changed(4, more), hosts: addresses(1, 2, 3, 4), anyCalls: true,
				says: "These hosts joined and are in state now, as the process is or may be registered there: web-4.", fails: true,
			},
			step{name: "as before", config: before, calls: []string{on("unregister_proc_info", 4)}},
		)
	})
}

// A host that did not get a declaration runs what came before, so that a revert does not restart it.
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

// What may have been registered, although the apply was cut off or the platform said that it failed, is operated once it is there, whatever
// came in between.
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
	another := func(w *world, o *providertest.Core) { // does not reach the host
		w.on("update_proc_info", away, 1)
		o.Protocol = w.open()
		o.Apply(startedBy(w.by, "./start.sh -z", 2, more))
		w.repair()
	}
	for name, c := range map[string]func(*world, *providertest.Core){
		"failed": fails(failing), "bad-gateway": fails(simulator.Fault{HTTPStatus: 502}),
		"away-meanwhile": fails(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Pending: 1}),
		"cut-off":        cut(2, func(*world, *providertest.Core) {}), "another-in-between": cut(1, another), "another-in-between-later": cut(2, another),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				w.sim.StartingKeepsTime = true
				o := w.object()
				o.Applied(w.declares(2, more))
				before := w.at(1).PID
				c(w, o)
				for range 2 { // the first may say that it does not know
					o.Protocol = w.open()
					o.Apply(w.changed(2, more))
				}
				providertest.Check(t, w.at(1).PID != before && len(codes(o)) == 0, "process %d became %d; out_of_sync %v", before, w.at(1).PID, codes(o))
			})
		})
	}
}

// A retry that was killed after it restarted is neither forgotten by a revert, nor done once more.
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

// The operation of on_update is due until it has ended, once. A host on which it is due is not
// renamed, and can be once it is not, whatever else changed meanwhile.
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
		"under-way":        {"restart", restarts, func(w *world) { w.onOp(restarts, simulator.Fault{Takes: time.Hour}, 1) }, "operation_unconfirmed", "Where nobody saw how the restart ended, the next apply asks … the same pid as before. To leave such hosts alone, apply once with on_update = \"register\".", false},
		"reload-under-way": {"reload", reloads, func(w *world) { w.onOp(reloads, simulator.Fault{Takes: time.Hour}, 1) }, "operation_unconfirmed", "Where nobody saw how the reload ended … the same pid as before, which a reload may well leave. To", false}, // its pid tells nothing
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

// What an update that was killed with Terraform has restarted is not restarted again, although
// nothing of that update is kept. Where nothing tells, the apply after that restarts it.
func TestOnUpdate_killed(t *testing.T) {
	t.Parallel()
	const cutOff = "whether an apply that was cut off has operated it already is not known"
	for name, c := range map[string]struct {
		says  string
		again int // restarted by the apply after that
		faces []providertest.Face
	}{"kept": {"", 0, gse}, "lost": {cutOff, 2, gse}, "lost-and-not-hosted": {cutOff, 2, []providertest.Face{esb}}} { // there to register is not to host
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				api, op := w.by.FaultOn("update_proc_info")
				says, pass := c.says, w.passing()
				w.sim.StartingKeepsTime = true
				w.sim.OnCall = func(call simulator.Call) {
					if call.API == api && (op == nil || call.Op == *op) { // so the restart is later
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

// A process that was restarted and did not stay up is started by the next apply, and not restarted again.
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

// What runs on a host that this object has not registered is not known, so a changed spec does not restart it: after an import without a spec,
// and on a host that is taken over from somebody else.
func TestOnUpdate_notOurs(t *testing.T) {
	t.Parallel()
	more := map[string]any{"on_update": "restart", "adopt_existing": true}
	for name, c := range map[string]struct {
		begin     func(*world, *providertest.Core)
		restarted bool // host 1
	}{
		"imported": {func(_ *world, o *providertest.Core) { o.Imports("web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3") }, false},
		"taken-over": {func(w *world, o *providertest.Core) {
			w.do(w.sim.Unregister, 1)
			o.Apply(w.declares(2)) // gets host 1 alone
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
