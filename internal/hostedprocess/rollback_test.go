package hostedprocess_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

var failing = simulator.Fault{Code: new(simulator.CodeCommandFailed), Message: "no such file"}

// once makes a fault apply only once.
func once(f simulator.Fault) simulator.Fault {
	f.Times = 1
	return f
}

// after makes a fault skip the first match.
func after(f simulator.Fault) simulator.Fault {
	f.Skip = 1
	return f
}

// A rollback leaves this in state, and this for the next apply to do.
func TestRollback(t *testing.T) {
	t.Parallel()
	const restart = "operate_proc_v2/7"
	more := map[string]any{"on_update": "restart", "rollout": map[string]any{"batch_size": 1, "on_failure": "rollback"}}
	// The previous apply did not restart all hosts and, in waves, did not register all.
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

// kindOf returns the kind of plan that makes these calls.
func kindOf(calls []string) providertest.PlanKind {
	if len(calls) == 0 {
		return providertest.PlanNothing
	}
	return providertest.PlanUpdate
}

// Promised in rolling-restart.md: After an import, after the provider was killed, or with other `default_labels`, the
// update stops instead.
//
// A host goes back only to a declaration that is known to have been registered and to have run there. Others keep the
// new one, and the next apply of the previous declaration changes them.
func TestRollback_onlyToWhatWas(t *testing.T) {
	t.Parallel()
	const restart = "operate_proc_v2/7"
	roll := attribute("rollout", map[string]any{"batch_size": 1, "on_failure": "rollback"})
	restarts := attribute("on_update", "restart")
	const unknown = "Not rolled back, because what was registered before this update cannot be registered again as it was"
	for name, c := range map[string]struct {
		more     map[string]any
		settings map[string]any
		before   func(w *world, o *providertest.Core, more map[string]any) // precedes the update that fails on web-2
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

// A host that had not passed its gate before an update that is rolled back still has to pass it.
func TestRollback_unhealthyBefore(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]map[string]any{
		"started":              {"ensure": "running"},
		"restarted":            {"on_update": "restart"},
		"restarted-or-started": {"ensure": "running", "on_update": "restart"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				gated := func(failure string) map[string]any {
					with := maps.Clone(more)
					with["rollout"] = map[string]any{"waves": []any{"100%"}, "healthy": map[string]any{"stable_for": "1m"}, "on_failure": failure}
					return with
				}
				resource := w.object()
				applies := func(config map[string]any, left map[string]string) {
					w.Helper()
					resource.Protocol = providertest.ConfiguredBy(w.T, &providertest.Clock{}, w.settings)
					_, said := resource.Apply(config)
					providertest.Same(w, "out_of_sync after "+said.String(), left, codes(resource))
				}
				for _, op := range []int{simulator.OpStart, simulator.OpRestart} {
					w.onOp(op, simulator.Fault{Dies: 2, Revived: true}, 1)
				}
				if more["on_update"] == "restart" {
					resource.Applied(startedBy(w.by, "./earlier.sh", 2, attribute("on_update", "restart")))
					w.do(w.sim.StartProcess, 1, 2)
				}
				applies(w.declares(2, gated("stop")), codesOf("unhealthy", 1))
				w.on("update_proc_info", once(away), 2)
				applies(w.changed(2, gated("rollback")), codesOf("unhealthy", 1))
				applies(w.declares(2, gated("rollback")), codesOf("unhealthy", 1))
				w.repair()
				w.do(w.sim.StopProcess, 1)
				applies(w.declares(2, gated("rollback")), map[string]string{})
			})
		})
	}
}

// Hosts that joined in a rollout that was rolled back stay, with the previous declaration, until the next apply of the
// previous configuration.
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

// A host joins in an update that is rolled back, and may be registered although that was refused, or found the
// registration of an apply that was killed. It stays in state, so that it is unregistered later.
func TestRollback_mayHaveJoined(t *testing.T) {
	t.Parallel()
	more := attribute("rollout", map[string]any{"batch_size": 9, "on_failure": "rollback"})
	for name, c := range map[string]struct {
		faces   []providertest.Face
		befalls func(*world, *providertest.Core)
	}{
		"refused": {each, func(w *world, _ *providertest.Core) {
			w.on("register_proc_info", once(simulator.Fault{Code: new(simulator.CodeFailed), Apply: true}), 3)
		}},
		"killed": {gse, func(w *world, o *providertest.Core) {
			o.Refresh()
			kept := *o.Kept
			w.sim.FreezeStatus()
			o.Apply(w.changed(3, more))
			*o.Kept = kept // killed with Terraform
			o.Protocol = w.open()
			w.on("update_proc_info", once(failing), 1)
			w.onOp(simulator.OpQuery, after(away), 3) // whether it hosts the process is known, and not by whom
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				o := w.object()
				o.Applied(w.declares(2, more))
				c.befalls(w, o)
				_, said := o.Apply(w.changed(3, more))
				if codes(o)["web-3"] != "unconfirmed" || !tells(said, "These hosts joined and are in state now") {
					w.Errorf("out_of_sync is %v; said: %s", codes(o), said)
				}
				w.repair()
				w.sim.ThawStatus()
				w.play(o, step{name: "as before", config: w.declares(2, more), anyCalls: true})
				p := w.at(3)
				providertest.Check(w, !p.Registered && !p.Hosted, "web-3 is %+v", p)
			})
		})
	}
}

// A restart that goes on is not called a registration, for which the way out is another one.
func TestRollback_underWay(t *testing.T) {
	t.Parallel()
	for _, by := range providertest.Through(t, "", each) {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				more := map[string]any{"ensure": "running", "on_update": "restart", "rollout": map[string]any{"batch_size": 9, "wave_timeout": "5m", "on_failure": "rollback"}}
				object := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				object.Applied(fleetOf(by, 2, more))
				sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: []string{providertest.Address(2)}, Takes: time.Hour})
				_, said := object.Apply(restartedBy(by, 2, more))
				providertest.Fails(t, said, "Rolled Back In Part", "a restart of an earlier apply is still under way; if that never ends, restart the process by hand")
				providertest.SaysNot(t, said.String(), "terraform state rm")
			})
		})
	}
}

// If a rollout is rolled back, a host that joined stays in state if it may be registered, and not if that was refused.
func TestRollback_joinedUnconfirmed(t *testing.T) {
	t.Parallel()
	const stays = "These hosts joined and are in state now, as the process is or may be registered there: web-4."
	for name, c := range map[string]struct {
		befalls func(*world)
		hosts   map[string]string
		left    map[string]string
		joined  bool
	}{
		"the-answer-was-lost": {func(w *world) { w.on("register_proc_info", simulator.Fault{Drop: "after"}, 4) }, addresses(1, 2, 3, 4), codesOf("unconfirmed", 4), true},
		"refused":             {func(w *world) { w.on("register_proc_info", away, 4) }, addresses(1, 2, 3), map[string]string{}, false},
		"another-tool-has-it": {func(w *world) { w.colleague(4) }, addresses(1, 2, 3), map[string]string{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				waves := attribute("rollout", map[string]any{"batch_size": 1, "on_failure": "rollback", "canary": []string{"web-4"}})
				before := w.declares(3, attribute("rollout", map[string]any{"batch_size": 1}))
				o := w.object()
				o.Applied(before)
				c.befalls(w)
				o.Protocol = w.open()
				_, said := o.Apply(w.changed(4, waves))
				providertest.Check(w, said.Failed() && tells(said, "No host had been changed by then, so there was nothing to roll back.") && tells(said, stays) == c.joined, "said: %s", said)
				providertest.Same(w, "hosts in state", c.hosts, o.Reasons("hosts"))
				providertest.Same(w, "out_of_sync", c.left, codes(o))
				w.repair()
				o.Protocol = w.open()
				o.Apply(before)
				providertest.Check(w, w.at(4).Registered == (name == "another-tool-has-it"), "web-4 has %+v", w.at(4))
			})
		})
	}
}

// After a rollback, the next apply does not restart a process that already runs as declared, and starts one that an
// earlier restart may have stopped.
func TestRollback_behind(t *testing.T) {
	t.Parallel()
	plain := map[string]any{"on_update": "restart", "max_unreachable_hosts": "1"}
	back := map[string]any{"on_update": "restart", "max_unreachable_hosts": "1", "rollout": map[string]any{"on_failure": "rollback"}}
	for name, c := range map[string]struct {
		begin   func(*world, *providertest.Core) // leaves web-2 behind
		next    func(*world) map[string]any      // fails on web-1, and is rolled back
		then    func(*world) map[string]any
		started bool // web-2 is started again
	}{
		"runs-it": {
			func(w *world, o *providertest.Core) {
				o.Applied(w.declares(2, plain))
				w.do(w.sim.StartProcess, 1, 2)
				o.Protocol = w.open()
				o.Applied(w.declares(2, plain, attribute("ensure", "running"))) // its pid is known
				w.sim.SetReachable(providertest.Address(2), false)
				o.Protocol = w.open()
				o.Apply(w.changed(2, plain))
				w.sim.SetReachable(providertest.Address(2), true)
			},
			func(w *world) map[string]any { return w.declares(2, back) }, func(w *world) map[string]any { return w.declares(2, back) }, false,
		},
		"taken-down": {
			func(w *world, o *providertest.Core) {
				o.Applied(startedBy(w.by, "./earlier.sh", 2, plain))
				w.do(w.sim.StartProcess, 1, 2)
				w.onOp(simulator.OpRestart, failing, 2)
				o.Protocol = w.open()
				o.Apply(w.declares(2, plain))
				w.repair()
				w.do(w.sim.StopProcess, 2)
				w.on("update_proc_info", once(failing), 2)
			},
			func(w *world) map[string]any { return w.changed(2, back) }, func(w *world) map[string]any { return w.declares(2, back) }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				o := w.object()
				c.begin(w, o)
				before := w.at(2).PID
				w.on("update_proc_info", once(failing), 1)
				o.Protocol = w.open()
				_, said := o.Apply(c.next(w))
				providertest.Says(w, said.String(), "Rolled Back")
				w.repair()
				o.Protocol = w.open()
				_, said = o.Apply(c.then(w))
				if now := w.at(2); said.Failed() || !now.Running || now.PID != before == !c.started {
					w.Errorf("process %d became %d; codes %v; said: %s", before, now.PID, codes(o), said)
				}
			})
		})
	}
}
