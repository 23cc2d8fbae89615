package hostedprocess_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

var inTwos = attribute("rollout", map[string]any{"batch_size": 2})

func TestHostedProcess_ensureRunning(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(4, inTwos, attribute("ensure", "running"))
		w.play(w.object(),
			step{name: "created", config: config, kind: providertest.PlanCreate, calls: []string{
				on("operate_proc_v2/0", 1, 2), on("operate_proc_v2/0", 3, 4), on("register_proc_info", 1, 2), on("register_proc_info", 3, 4),
			}},
			step{name: "stopped", befalls: func(w *world) { w.do(w.sim.StopProcess, 3) }, config: config, calls: []string{on("operate_proc_v2/0", 3)}},
			step{name: "died", befalls: func(w *world) { w.do(w.sim.KillProcess, 2) }, config: config, calls: []string{on("operate_proc_v2/0", 2)}},
			step{name: "unhosted", befalls: func(w *world) { w.do(w.sim.Unhost, 1) }, config: config, calls: []string{on("operate_proc_v2/3", 1)}},
		)
	})
}

// A registration has the provider's default labels, the object's own labels, which win, and the fingerprint.
func TestHostedProcess_labelsOfTheProvider(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config, resource := w.declares(2, labelled(map[string]any{"team": "sre"})), w.object()
		for _, s := range []struct {
			step
			env, team string // by default
		}{
			{step{name: "created", kind: providertest.PlanCreate, calls: []string{on("operate_proc_v2/3", 1, 2), on("register_proc_info", 1, 2)}}, "prod", "none"},
			{step{name: "another default", calls: []string{on("update_proc_info", 1, 2)}}, "test", "none"},
			{step{name: "a default that is hidden", kind: providertest.PlanNothing}, "test", "other"},
		} {
			s.config, s.settings = config, attribute("default_labels", map[string]string{"env": s.env, "team": s.team})
			w.play(resource, s.step)
			labels := w.at(1).Labels
			providertest.Check(t, regexp.MustCompile(`^v1-[0-9a-f]{16}$`).MatchString(labels["tf_spec"]),
				"%s: the fingerprint is %q", s.name, labels["tf_spec"])
			delete(labels, "tf_spec")
			delete(labels, "tf_spec_owner") // each object has its own
			providertest.Same(t, s.name+": labels", map[string]string{"env": s.env, "team": "sre"}, labels)
		}
	})
}

// With on_destroy = "stop" or "kill", a host is unregistered only after its process has ended.
//
// Promised in reference: where that fails, the host stays registered.
func TestHostedProcess_onDestroy(t *testing.T) {
	t.Parallel()
	for how, op := range map[string]int{"stop": simulator.OpStop, "kill": simulator.OpKill} {
		ends := func(hosts ...int) string { return on(fmt.Sprintf("operate_proc_v2/%d", op), hosts...) }
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				more := map[string]any{"ensure": "running", "on_destroy": how}
				inUse := func(w *world) {
					w.onOp(op, simulator.Fault{Code: new(simulator.CodeCommandFailed), Message: "still in use"}, 2)
				}
				w.play(w.object(),
					step{name: "created", config: w.declares(3, more), kind: providertest.PlanCreate, anyCalls: true},
					step{name: "a host leaves", config: w.declares(2, more), calls: []string{ends(3), on("unregister_proc_info", 3)}},
					step{
						name: "one cannot be ended", befalls: inUse, calls: []string{ends(1, 2), on("unregister_proc_info", 1)},
						hosts: addresses(2), says: "still in use", fails: true,
					},
					step{name: "destroyed", befalls: (*world).repair, calls: []string{ends(2), on("unregister_proc_info", 2)}},
				)
			})
		})
	}
}

// A changed spec restarts processes that ran by the previous one, but not a process that already runs on a host that joins.
func TestHostedProcess_joinsRunning(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		restarts := attribute("on_update", "restart")
		w.play(w.object(),
			step{name: "created", config: w.declares(2, restarts), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "one joins", config: w.changed(3, restarts), calls: []string{
					on("operate_proc_v2/3", 3), on("operate_proc_v2/7", 1, 2), on("register_proc_info", 3), on("update_proc_info", 1, 2),
				},
				befalls: func(w *world) {
					w.do(w.sim.StartProcess, 1, 2)
					w.colleague(3)
					w.do(w.sim.Unregister, 3)
					w.do(w.sim.StartProcess, 3)
				},
			},
			step{
				name: "other labels, not everywhere", befalls: func(w *world) { w.on("update_proc_info", away, 1) }, config: w.changed(3, restarts, labelled(map[string]any{"a": "b"})),
				anyCalls: true, left: codesOf("other_spec", 1), says: "agent is away", fails: true,
			},
			step{name: "nor restarted then", befalls: (*world).repair, config: w.changed(3, restarts, labelled(map[string]any{"a": "b"})), calls: []string{on("update_proc_info", 1)}},
		)
	})
}

// A host whose agent did not answer the last refresh comes right after the first wave.
func TestHostedProcess_silentBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	waves := attribute("rollout", map[string]any{"batch_size": 1})
	object := w.object()
	object.Applied(w.declares(3, waves))
	w.do(w.sim.Unhost, 3)
	w.onOp(simulator.OpQuery, away, 3)
	object.Refresh()
	w.repair()
	w.sim.ResetCalls()
	object.ApplyUnrefreshed(w.changed(3, waves))
	var order []string
	for _, call := range w.sim.Calls().Of("update_proc_info") {
		order = append(order, call.Hosts...)
	}
	providertest.Same(t, "registered anew", providertest.AddressList([]int{1, 3, 2}), order)
}

// Hosts whose agents do not answer are not failures up to max_unreachable_hosts. A plan with no other change is empty.
//
// Promised in drift-in-ci.md: The apply fails, the plan has exit code 2, and the message says which number would have been enough.
// Promised in reference: Defaults to the provider's `max_unreachable_hosts`, which defaults to `0`
// Promised in faq.md: Must every apply fail?** No.
// Promised in drift-in-ci.md: - An apply goes on without these hosts, and ends with one warning and exit code 0
// Promised in drift-in-ci.md: A plan with no other change is empty and has exit code 0
// Promised in drift-in-ci.md: Once an agent answers, its host is a line of the next plan (exit code 2), and that apply brings it up to date
// Promised in safe-rollouts.md: It ends with one warning.
func TestHostedProcess_unreachable(t *testing.T) {
	t.Parallel()
	most := func(value string) map[string]any { return attribute("max_unreachable_hosts", value) }
	goes := func(answers bool, hosts ...int) func(*world) {
		return func(w *world) {
			for _, n := range hosts {
				w.sim.SetReachable(providertest.Address(n), answers)
			}
		}
	}
	const warns = "Agents Not Reachable"
	rollsBack := attribute("rollout", map[string]any{"on_failure": "rollback"})
	through(t, each, func(w *world) {
		one, several := most("25%"), attribute("max_unreachable_hosts", 2)
		looked, said, resource := map[string]string(nil), "", w.object()
		if w.by == providertest.FaceJOB { // it has no cached status, so each plan asks the agents
			looked, said = codesOf("", 3), warns
		}
		w.play(resource,
			step{name: "created", befalls: goes(false, 2), config: w.declares(4, inTwos, one), kind: providertest.PlanCreate, anyCalls: true, says: warns, away: codesOf("not_registered", 2)},
			step{name: "nothing else", config: w.declares(4, inTwos, one), kind: providertest.PlanNothing, says: warns, away: codesOf("not_registered", 2)},
			step{name: "changed", config: w.changed(4, inTwos, one), anyCalls: true, says: warns, away: codesOf("not_registered", 2)},
			step{name: "a host joins", config: w.changed(5, inTwos, one), anyCalls: true, says: warns, away: codesOf("not_registered", 2)},
			step{name: "answers again", befalls: goes(true, 2), config: w.changed(5, inTwos, one), anyCalls: true},
			step{name: "another is dead", befalls: goes(false, 3), config: w.changed(5, inTwos, one), kind: providertest.PlanNothing, says: said, away: looked},
			step{name: "changed back", config: w.declares(5, inTwos, one), anyCalls: true, says: warns, away: codesOf("other_spec", 3)},
			step{name: "it answers", befalls: goes(true, 3), config: w.declares(5, inTwos, one), anyCalls: true},
			step{
				name: "two are dead", befalls: goes(false, 3, 4), config: w.changed(5, one), anyCalls: true,
				says: `allows 1. With 2 or more, an apply or action goes on`, left: codesOf("other_spec", 3, 4), fails: true,
			},
			step{name: "two may be", config: w.changed(5, several), anyCalls: true, says: warns, away: codesOf("other_spec", 3, 4)},
			step{name: "the limit is taken away", config: w.changed(5), anyCalls: true, left: codesOf("other_spec", 3, 4), says: "allows 0. With 2 or more", fails: true},
			step{name: "the provider's", settings: most("2"), config: w.changed(5), kind: providertest.PlanNothing, says: warns, away: codesOf("other_spec", 3, 4)},
			step{name: "both answer", befalls: goes(true, 3, 4), config: w.changed(5), anyCalls: true},
			step{name: "rolled back", befalls: goes(false, 3, 4), config: w.declares(5, one, rollsBack), anyCalls: true, says: "Rolled Back … allows 1. With 2 or more, an apply or action goes on", left: codesOf("other_spec", 3, 4), fails: true},
			step{name: "destroyed", befalls: goes(true, 3, 4), anyCalls: true},
		)
		w.expectNothing()
	})
}

// A refresh asks an agent that did not answer before apart from the others, so that it costs less time.
func TestHostedProcess_silentAskedApart(t *testing.T) {
	t.Parallel()
	for limit, applies := range map[string]int{"1": 1, "0": 2} { // the refresh of the second one sees it
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				config := w.changed(3, attribute("max_unreachable_hosts", limit))
				o := w.object()
				o.Applied(w.declares(3, attribute("max_unreachable_hosts", limit)))
				w.sim.SetReachable(providertest.Address(2), false)
				for range applies {
					o.Protocol = w.open()
					o.Apply(config)
				}
				w.do(w.sim.Unhost, 3)
				w.sim.ResetCalls()
				o.Protocol = w.open()
				o.Plan(config)
				var asked []string
				for _, call := range w.sim.Calls().OfOp(simulator.OpQuery) {
					if strings.HasPrefix(call.API, "operate_") {
						asked = append(append(asked, call.Hosts...), "")
					}
				}
				providertest.Same(w, "agents asked", []string{providertest.Address(2), "", providertest.Address(3), ""}, asked)
			})
		})
	}
}

// A refresh warns of hosts that look changed and whose agents do not answer. It does not name those in out_of_sync,
// because the plan shows what is to be done there.
func TestHostedProcess_unasked(t *testing.T) {
	t.Parallel()
	const looks = "may have changed on 1 of 3 hosts, and the agents there could not be asked. That is no drift: state stays as it was. web-2 (0:10.0.0.3): 117, "
	for name, c := range map[string]struct {
		fails string // on host 3, whose agent does not answer then
		looks bool   // host 2 is unhosted, and its agent does not answer
		says  string
	}{
		"looks-changed":         {"", true, looks},
		"never-registered":      {"register_proc_info", false, ""},
		"some-never-registered": {"register_proc_info", true, looks},
		"out-of-sync":           {"update_proc_info", false, ""},
		"some-out-of-sync":      {"update_proc_info", true, looks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				resource := w.object()
				if c.fails != "register_proc_info" {
					resource.Applied(w.declares(3))
				}
				if c.fails != "" {
					w.on(c.fails, away, 3)
					resource.Apply(w.changed(3))
					w.repair()
				}
				w.sim.SetReachable(providertest.Address(3), c.fails == "")
				if c.looks {
					w.do(w.sim.Unhost, 2)
				}
				w.sim.SetReachable(providertest.Address(2), !c.looks)
				resource.Protocol = w.open()
				said := resource.Refresh()
				if c.says == "" {
					providertest.Silent(w, said)
				} else if said.Failed() || !tells(said, "Process \"nginx\" in namespace \"web\" "+c.says+" … Check the agents on these hosts in NodeMan.") {
					w.Errorf("said: %s", said)
				}
			})
		})
	}
}

// An agent that never answers does not keep a refresh from finding drift on other hosts.
func TestHostedProcess_driftBesideSilentAgent(t *testing.T) {
	t.Parallel()
	for _, by := range each {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				object := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				object.Applied(fleetOf(by, 3))
				namespace, name := by.Process()
				for _, n := range []int{2, 3} {
					providertest.NoError(t, sim.Unhost(providertest.Address(n), namespace, name))
				}
				sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: providertest.AddressList([]int{3}), Pending: -1})
				object.Protocol = sim.ConfiguredFor(t, by)
				said := object.Refresh()
				_, found := codes(object)["web-2"]
				providertest.Check(t, len(codes(object)) == 1 && found && tells(said, "may have changed on 1 of 3 hosts, and the agents"), "out_of_sync: %v; said: %s", codes(object), said)
			})
		})
	}
}

// A wrong address looks like an agent that is down. If nothing is registered and the agent does not answer, the
// advice is to check the address, and not to raise max_unreachable_hosts.
func TestHostedProcess_wrongAddress(t *testing.T) {
	t.Parallel()
	const check = "the address may be wrong: check it and its bk_cloud_id"
	through(t, each, func(w *world) {
		w.sim.SetReachable(providertest.Address(2), false)
		for name, config := range map[string]map[string]any{
			"nothing": w.declares(0, attribute("hosts", addresses(2))), "in-part": w.declares(2), "allowed": w.declares(2, attribute("max_unreachable_hosts", "50%")),
		} {
			object := w.object()
			_, said := object.Apply(config)
			providertest.Check(w, tells(said, check) && !strings.Contains(said.String(), "goes on without such hosts"), "%s: %s", name, said)
			object.Apply(nil)
		}
	})
}

// Only a host whose agent does not answer is unreachable. A host that fails in any other way is in out_of_sync.
//
// Promised in drift-in-ci.md: A host whose agent was asked and did not answer counts as it was, and a warning names it.
func TestHostedProcess_notUnreachable(t *testing.T) {
	t.Parallel()
	one := attribute("max_unreachable_hosts", 1)
	restarts := []map[string]any{one, attribute("on_update", "restart"), attribute("ensure", "running")}
	dead := func(n int, answers bool) func(*world) {
		return func(w *world) { w.sim.SetReachable(providertest.Address(n), answers) }
	}
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		through(t, each, func(w *world) {
			resource := w.object()
			w.play(resource,
				step{name: "created", config: w.declares(3, one), kind: providertest.PlanCreate, anyCalls: true},
				step{name: "dead", befalls: func(w *world) { w.do(w.sim.Unhost, 3); dead(3, false)(w) }, config: w.declares(3, one), kind: providertest.PlanNothing, says: "Agents Not Reachable", away: codesOf("", 3)},
				step{name: "changed", befalls: func(*world) { resource.Private = nil }, config: w.changed(3, one), anyCalls: true, says: "Agents Not Reachable", away: codesOf("other_spec", 3)},
				step{name: "answers", befalls: dead(3, true), config: w.changed(3, one), anyCalls: true},
			)
		})
	})
	t.Run("unconfirmed", func(t *testing.T) {
		t.Parallel()
		through(t, gse, func(w *world) {
			more := []map[string]any{one, attribute("ensure", "registered")}
			lost := func(w *world) { w.on("register_proc_info", simulator.Fault{Drop: "after"}, 3) }
			resource := w.object()
			w.play(resource,
				step{name: "created", config: w.declares(2, more...), kind: providertest.PlanCreate, anyCalls: true},
				step{name: "one joins", befalls: lost, config: w.declares(3, more...), anyCalls: true, left: codesOf("unconfirmed", 3), says: "Unable to Update Hosted Process", fails: true},
				step{
					name: "changed", befalls: func(w *world) { w.repair(); dead(3, false)(w) }, config: w.changed(3, more...), anyCalls: true,
					left: codesOf("unconfirmed", 3), says: "Unable to Update Hosted Process", fails: true,
				},
			)
			dead(3, true)(w)
			w.on("register_proc_info", simulator.Fault{Drop: "after"}, 4)
			resource.Apply(w.changed(4, one))
			w.repair()
			w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403})
			resource.Protocol = w.open()
			if _, said := resource.ApplyUnrefreshed(w.changed(4, one)); codes(resource)["web-4"] != "unconfirmed" {
				w.Errorf("the cached status cannot be read, and out_of_sync is %v; said: %s", codes(resource), said)
			}
			w.repair()
			resource.Protocol = w.open()
			resource.Applied(w.changed(4, one)) // the registration is its own, and through the ESB not hosted yet
		})
	})
	t.Run("lost-on-the-way", func(t *testing.T) {
		t.Parallel()
		through(t, gse, func(w *world) {
			w.play(w.object(),
				step{name: "created", config: w.declares(3, restarts...), kind: providertest.PlanCreate, anyCalls: true},
				step{
					name: "changed", befalls: func(w *world) {
						w.onOp(simulator.OpRestart, simulator.Fault{Pending: 2, Code: new(117), Apply: true}, 3)
					},
					config: w.changed(3, restarts...), anyCalls: true, left: codesOf("operation_unconfirmed", 3), says: "Unable to Update Hosted Process", fails: true,
				},
			)
		})
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		through(t, gse, func(w *world) {
			resource := w.object()
			w.play(resource,
				step{name: "created", config: w.declares(3, one), kind: providertest.PlanCreate, anyCalls: true},
				step{name: "changed", befalls: dead(3, false), config: w.changed(3, one), anyCalls: true, says: "Agents Not Reachable", away: codesOf("other_spec", 3)},
			)
			dead(3, true)(w)
			w.onOp(simulator.OpQuery, simulator.Fault{Code: new(126), Message: "terminated"}, 3)
			resource.Refresh()
			providertest.Same(t, "out_of_sync", codesOf("other_spec", 3), codes(resource))
		})
	})
	t.Run("queued", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, gateway)
		all := append(restarts[1:], attribute("max_unreachable_hosts", "100%"), attribute("timeouts", map[string]any{"update": "2s"}))
		w.play(w.object(),
			step{name: "created", config: w.declares(3, all...), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "changed", befalls: func(w *world) { w.onOp(simulator.OpQuery, simulator.Fault{Queued: -1}) }, config: w.changed(3, all...), anyCalls: true,
				left: codesOf("other_spec", 1, 2, 3), says: "Unable to Update Hosted Process", fails: true,
			},
		)
	})
}

// If an operation could not run on a host because its agent was away, it runs on that host once the agent answers.
//
// Promised in drift-in-ci.md: An operation that could not run there runs then as well.
func TestHostedProcess_unreachableOperation(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		w.object().Applied(w.declares(2, attribute("ensure", "running")))
		config := w.declares(2, map[string]any{"operation": "restart", "max_unreachable_hosts": 1})
		operation := w.open().CoreOf(w.by.TypeName(providertest.OnRestart), &providertest.Kept{})
		w.sim.SetReachable(providertest.Address(1), false)
		w.sim.ResetCalls()
		if _, said := operation.Apply(config); said.Failed() || !strings.Contains(said.String(), "Agents Not Reachable") || len(operation.Reasons("unreachable")) != 1 {
			w.Errorf("said: %s", said)
		}
		w.sim.SetReachable(providertest.Address(1), true)
		w.sim.ResetCalls()
		if kind, said := operation.Apply(config); kind != providertest.PlanUpdate || len(said) > 0 {
			w.Errorf("%s: %s", kind, said)
		}
		providertest.Same(w, "calls that change something", w.by.Changes(on("operate_proc_v2/7", 1)), w.sim.Changes())
	})
}

func TestHostedProcess_waveOfStarts(t *testing.T) {
	t.Parallel()
	providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
		t.Helper()
		object := sim.ConfiguredFor(t, esb).CoreOf(providertest.HostedType, &providertest.Kept{})
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Takes: time.Hour})
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Takes: time.Hour})
		for i, config := range []map[string]any{fleetOf(esb, 2, attribute("ensure", "running")), restartedBy(esb, 2, attribute("on_update", "restart"))} {
			values{"rollout": map[string]any{"batch_size": 1}, "timeouts": map[string]any{"create": "9h", "update": "9h"}, "spec.monitor_policy.start_check_secs": 2*3600 + i}.put(config)
			object.Applied(config)
		}
	})
}

// If no host leaves, an update has all of its time for those that stay.
func TestHostedProcess_wholeTime(t *testing.T) {
	t.Parallel()
	providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
		t.Helper()
		more := map[string]any{"on_update": "restart", "ensure": "running", "timeouts": map[string]any{"update": "20m"}}
		object := sim.ConfiguredFor(t, esb).CoreOf(providertest.HostedType, &providertest.Kept{})
		object.Applied(fleetOf(esb, 1, more))
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Takes: 18 * time.Minute})
		_, said := object.Apply(restartedBy(esb, 1, more))
		providertest.Check(t, !said.Failed(), "%s", said)
	})
}

// Hosts that leave have time to be stopped, although another host takes all the time that an update has before that.
func TestHostedProcess_timeToLeave(t *testing.T) {
	t.Parallel()
	providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
		t.Helper()
		more := map[string]any{"on_update": "restart", "on_destroy": "stop", "ensure": "running", "timeouts": map[string]any{"update": "20m"}}
		object := sim.ConfiguredFor(t, esb).CoreOf(providertest.HostedType, &providertest.Kept{})
		object.Applied(fleetOf(esb, 2, more))
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Takes: 2 * time.Hour})
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStop), Takes: 2 * time.Minute})
		_, said := object.Apply(restartedBy(esb, 1, more))
		p, _ := sim.Process(providertest.Address(2), "web", "nginx")
		providertest.Check(t, said.Failed() && !p.Registered && !p.Hosted, "web-2 has %+v; said: %s", p, said)
		providertest.Same(t, "hosts in state", addresses(1), object.Reasons("hosts"))
	})
}

// If the cached status cannot be read, a refresh fails and keeps state, and an update that depends on it changes nothing.
func TestHostedProcess_cachedStatusUnread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(*world, *providertest.Core)
		apply  func(*world, *providertest.Core) providertest.Diagnostics
		says   string
	}{
		"refresh": {nil, func(_ *world, o *providertest.Core) providertest.Diagnostics { return o.Refresh() }, "could not be looked up. Its state is kept as it was."},
		"ledger-lost": {func(_ *world, o *providertest.Core) { o.Private = nil }, func(w *world, o *providertest.Core) providertest.Diagnostics {
			_, said := o.ApplyUnrefreshed(w.changed(2))
			return said
		}, "reading the cached status"},
		"restart-due": {nil, func(w *world, o *providertest.Core) providertest.Diagnostics {
			_, said := o.ApplyUnrefreshed(w.changed(2, attribute("on_update", "restart")))
			return said
		}, "reading the cached status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				o := w.object()
				o.Applied(w.declares(2))
				w.do(w.sim.StartProcess, 1, 2)
				if c.before != nil {
					c.before(w, o)
				}
				before := o.State
				w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403})
				w.sim.ResetCalls()
				o.Protocol = w.open()
				said := c.apply(w, o)
				providertest.Fails(w, said, c.says, "HTTP 403")
				providertest.Check(w, len(w.sim.Changes()) == 0 && o.State.Equal(before), "changed %v; state is %s", w.sim.Changes(), o.State)
			})
		})
	}
}
