package hostedprocess_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// inTwos has two hosts in a wave.
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

// A changed spec goes out in waves; what did not get its turn is out of sync,
// with the call that it needs, and not more.
func TestHostedProcess_rollout(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.play(w.object(),
			step{name: "created", config: w.declares(6, inTwos), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "one fails", befalls: func(w *world) { w.on("update_proc_info", away, 3) }, config: w.changed(6, inTwos),
				calls: []string{on("update_proc_info", 1, 2), on("update_proc_info", 3, 4)}, left: codesOf("other_spec", 3, 5, 6),
				says: "web-3 (0:10.0.0.4): 117, the agent is abnormal or not found agent is away web-5, web-6 (2 hosts): not tried: too many hosts had failed", fails: true,
			},
			step{
				name: "repaired", befalls: func(w *world) { w.sim.Repair() }, config: w.changed(6, inTwos),
				calls: []string{on("update_proc_info", 3, 5), on("update_proc_info", 6)},
			},
		)
	})
}

// The labels of the provider block are written beside the object's own, which win, and the
// fingerprint.
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
			if !regexp.MustCompile(`^v1-[0-9a-f]{16}$`).MatchString(labels["tf_spec"]) {
				t.Errorf("%s: the fingerprint is %q", s.name, labels["tf_spec"])
			}
			delete(labels, "tf_spec")
			delete(labels, "tf_spec_owner") // each object has its own
			if diff := cmp.Diff(map[string]string{"env": s.env, "team": "sre"}, labels); diff != "" {
				t.Errorf("%s: labels (-want +got):\n%s", s.name, diff)
			}
		}
	})
}

// Without a fingerprint another spec is not seen.
func TestHostedProcess_fingerprintOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.settings["spec_fingerprint_label"] = ""
	config := w.declares(2, attribute("ensure", "registered"))
	w.play(w.object(),
		step{name: "created", config: config, kind: providertest.PlanCreate, calls: []string{on("register_proc_info", 1, 2)}},
		step{
			name: "registered by others", config: config, kind: providertest.PlanNothing,
			befalls: func(w *world) { w.sim.Colleague(t, "web", "nginx", nil, 1) },
		},
	)
}

// A registration that the cached status does not show yet is not drift.
func TestHostedProcess_laggingStatus(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.play(w.object(),
			step{name: "created", config: w.declares(2), kind: providertest.PlanCreate, anyCalls: true},
			step{name: "the file lags", befalls: func(w *world) { w.sim.FreezeStatus() }, config: w.changed(2), calls: []string{on("update_proc_info", 1, 2)}},
			step{name: "the file is there", befalls: func(w *world) { w.sim.ThawStatus() }, config: w.changed(2), kind: providertest.PlanNothing},
		)
	})
}

func TestHostedProcess_onDestroy(t *testing.T) {
	t.Parallel()
	for how, op := range map[string]string{"stop": "operate_proc_v2/1", "kill": "operate_proc_v2/9"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				more := map[string]any{"ensure": "running", "on_destroy": how}
				w.play(w.object(),
					step{name: "created", config: w.declares(3, more), kind: providertest.PlanCreate, anyCalls: true},
					step{name: "a host leaves", config: w.declares(2, more), calls: []string{on(op, 3), on("unregister_proc_info", 3)}},
					step{name: "destroyed", calls: []string{on(op, 1, 2), on("unregister_proc_info", 1, 2)}},
				)
			})
		})
	}
}

// An import whose hosts carry the declared fingerprint calls none of them.
//
// Promised in import-and-adoption.md: A host whose fingerprint matches isn't called.
func TestHostedProcess_importThenApply(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		hosts := map[string]string{"0:10.0.0.2": "0:10.0.0.2", "0:10.0.0.3": "0:10.0.0.3"}
		config := w.declares(0, labelled(map[string]any{"team": "sre"}), attribute("hosts", hosts))
		created := w.object()
		w.play(created, step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true})
		own := w.sim.Processes()
		w.play(created, step{name: "destroyed", anyCalls: true})
		for _, p := range own {
			if err := w.sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)); err != nil {
				t.Fatal(err)
			}
		}
		w.do(w.sim.Host, 1, 2)
		w.sim.Colleague(t, "web", "nginx", map[string]string{"team": "sre"}, 2) // one of the two
		imported := w.object()
		if said := imported.Imports("web:nginx"); said.Failed() {
			t.Fatal(said)
		}
		w.play(imported, step{name: "applied", config: config, calls: []string{on("update_proc_info", 2)}})
	})
}

// Hosts whose agents do not answer are no failure, as long as there are no more than
// max_unreachable_hosts. A plan with nothing else is empty.
//
// Promised in drift-in-ci.md: The apply fails, the plan has exit code 2, and the message says which
// number would have been enough.
// Promised in reference: Defaults to the provider's `max_unreachable_hosts`, and that to `0`
// Promised in faq.md: Must every apply fail?** No.
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
				says: `allows 1. With 2 or more, an apply goes on`, left: codesOf("other_spec", 3, 4), fails: true,
			},
			step{name: "two may be", config: w.changed(5, several), anyCalls: true, says: warns, away: codesOf("other_spec", 3, 4)},
			step{name: "the limit is taken away", config: w.changed(5), anyCalls: true, left: codesOf("other_spec", 3, 4), says: "allows 0. With 2 or more", fails: true},
			step{name: "the provider's", settings: most("2"), config: w.changed(5), kind: providertest.PlanNothing, says: warns, away: codesOf("other_spec", 3, 4)},
			step{name: "both answer", befalls: goes(true, 3, 4), config: w.changed(5), anyCalls: true},
			step{name: "destroyed", anyCalls: true},
		)
		w.expectNothing()
	})
}

// What is not that an agent does not answer is never unreachable, and no host is left behind.
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
	t.Run("lost-on-the-way", func(t *testing.T) {
		t.Parallel()
		through(t, gse, func(w *world) {
			w.play(w.object(),
				step{name: "created", config: w.declares(3, restarts...), kind: providertest.PlanCreate, anyCalls: true},
				step{
					name: "changed", befalls: func(w *world) {
						w.onOp(simulator.OpRestart, simulator.Fault{Pending: 2, Code: new(117), Apply: true}, 3)
					},
					config: w.changed(3, restarts...), anyCalls: true, left: codesOf("not_operated", 3), says: "Unable to Update Hosted Process", fails: true,
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
			if diff := cmp.Diff(codesOf("other_spec", 3), codes(resource)); diff != "" {
				t.Errorf("out_of_sync (-want +got):\n%s", diff)
			}
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

// One fleet of 500 hosts through a life: a create that fails on some, drift made
// by hand, a rolling restart that stops where it should, and a destroy.
func TestFleetWalk(t *testing.T) {
	t.Parallel()
	const hosts = 500
	through(t, gse, func(w *world) {
		failed, byHand, dead := []int{3, 77, 150, 222, 301, 444, 499}, []int{10, 20, 30}, []int{1, 5, 15, 42} // the last in the first wave
		fleet, resource := w.declares(hosts), w.object()
		all := providertest.HostNumbers(hosts)
		first := []string{on("register_proc_info", all...)}
		if w.by == esb {
			first = append([]string{on("operate_proc_v2/3", slices.DeleteFunc(slices.Clone(all), func(n int) bool { return slices.Contains(failed, n) })...)}, first...)
		}
		w.play(resource,
			step{
				name: "created in part", befalls: func(w *world) { w.on("register_proc_info", away, failed...) }, config: fleet, kind: providertest.PlanCreate,
				calls: first, left: codesOf("not_registered", failed...), says: "Hosted Process Created In Part",
			},
			step{
				name: "repaired", befalls: func(w *world) { w.sim.Repair() }, config: fleet,
				calls: []string{on("operate_proc_v2/3", failed...), on("register_proc_info", failed...)},
			},
			step{
				name: "registered by hand", befalls: func(w *world) {
					w.sim.Colleague(t, "web", "nginx", map[string]string{"who": "somebody"}, byHand...)
					resource.Refresh()
					if diff := cmp.Diff(codesOf("other_spec", byHand...), codes(resource)); diff != "" {
						t.Errorf("after a refresh (-want +got):\n%s", diff)
					}
				}, config: fleet, calls: []string{on("update_proc_info", byHand...)},
			},
		)

		w.sim.ResetCalls()
		w.onOp(simulator.OpRestart, simulator.Fault{Unreachable: "117"}, dead...)
		restart := w.declares(hosts, map[string]any{"operation": "restart", "rollout": map[string]any{"batch_size": 50, "max_failed_hosts": 2}})
		operation := w.open().CoreOf(w.by.TypeName(providertest.OnRestart), &providertest.Kept{})
		operation.Apply(restart)
		reasons := operation.Reasons("failed_hosts")
		// Of the first wave all but the four came through; no other wave began.
		if n := len(reasons); n != hosts-50+len(dead) || reasons["web-42"] != "failed: 117, the agent is abnormal or not found" ||
			reasons["web-99"] != "not_tried: too many hosts had failed before its wave" {
			t.Errorf("%d failed: %v", n, reasons)
		}
		w.expectRestarts(50)
		w.sim.Repair()
		if _, said := operation.Apply(restart); len(said) > 0 || len(operation.Reasons("failed_hosts")) > 0 {
			t.Errorf("said: %s", said)
		}
		w.expectRestarts(append(slices.Repeat([]int{50}, 9), len(dead))...)
		w.play(resource, step{name: "destroyed", anyCalls: true})
		w.expectNothing()
	})
}

// expectRestarts expects restarts of so many hosts each, in order.
func (w *world) expectRestarts(sizes ...int) {
	w.Helper()
	var got []int
	for _, call := range w.sim.Calls().OfOp(simulator.OpRestart).Of("operate_*") {
		got = append(got, len(call.Hosts))
	}
	if diff := cmp.Diff(sizes, got); diff != "" {
		w.Errorf("waves (-want +got):\n%s", diff)
	}
}
