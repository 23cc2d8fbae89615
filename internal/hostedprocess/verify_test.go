package hostedprocess_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// verifying runs a test whose provider reads what agents host, through the gateway's own script API or, with the ESB, JOB's.
func verifying(t *testing.T, play func(*world)) {
	t.Helper()
	through(t, gse, func(w *world) {
		w.settings["verify"] = "agent"
		if w.by == esb {
			w.settings["hosted_specs"] = map[string]any{"job_scope": map[string]any{"type": "biz", "id": "3"}}
		}
		play(w)
		trouble := w.sim.Violations()
		providertest.Check(w, len(trouble) == 0, "violations: %v", trouble)
	})
}

// edited edits an entry in the file of a host's agent.
func (w *world) edited(n int, fields map[string]any) func(*world) {
	return func(w *world) {
		w.Helper()
		providertest.NoError(w, w.sim.EditProc(providertest.Address(n), "web", "nginx", fields))
	}
}

// hosted registers and hosts the process as declared, from a console.
func (w *world) hosted(hosts ...int) {
	w.Helper()
	w.hostedAs(nil, hosts...)
}

// hostedAs is like hosted, with another identity in the spec.
func (w *world) hostedAs(identity map[string]any, hosts ...int) {
	w.Helper()
	declared, _ := w.declares(1)["spec"].(map[string]any)
	own, _ := declared["identity"].(map[string]any)
	maps.Copy(own, identity)
	spec, err := json.Marshal(declared)
	providertest.NoError(w, err)
	w.do(func(host, namespace, name string) error {
		return w.sim.Register(host, namespace, name, nil, string(spec))
	}, hosts...)
	w.do(w.sim.Host, hosts...)
}

// beside makes the agent of a host also host another process.
func (w *world) beside(n int, namespace, name string) {
	w.Helper()
	entry := fmt.Sprintf(`{"contact":%q,"valuekey":"%s:%s","procName":%q,"setupPath":"/srv/web","pidPath":"/srv/web/%s.pid","user":"root","type":1}`, namespace, namespace, name, name, name)
	providertest.NoError(w, w.sim.AddProc(providertest.Address(n), entry))
}

// secretless fails the test if a secret of the agents' files is in a message or in state.
func (w *world) secretless(object *providertest.Core, said providertest.Diagnostics) {
	w.Helper()
	for _, secret := range []string{simulator.SecretPassword, simulator.SecretUserPwd} {
		text := said.String() + fmt.Sprint(object.State)
		providertest.Check(w, !strings.Contains(text, secret), "%q is in a message or in state", secret)
	}
}

func TestVerify_noWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	_, said := w.object().Plan(w.declares(2, attribute("verify", "agent")))
	providertest.Fails(t, said, `reads a file on each host: JOB runs the script that reads it, and hosted_specs.job_scope is not set. Set it to the business of the hosts in the provider block: hosted_specs = { job_scope = { id = "2" } }`)
	w.sim.Changed(t)
}

// A process that is hosted otherwise than declared is drift, which names the fields, and the apply repairs it.
//
// Promised in reference: Defaults to the provider's `verify`.
// Promised in verify.md: Somebody edits the agent's file by hand | is not found | is found |.
func TestVerify_drift(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		config, object := w.declares(2), w.object()
		w.play(object, step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true})
		w.edited(2, map[string]any{"stopCmd": "./stop.sh -9", "memlmt": 50, "type": 0})(w)
		object.Protocol = w.open()
		_, said := object.Plan(config)
		const want = `other_spec: hosted with stop_cmd "./stop.sh" → "./stop.sh -9", mem 10 → 50, auto_type 1 → 0`
		got := object.Reasons("out_of_sync")["web-2"]
		providertest.Check(t, got == want && len(said) == 0, "out_of_sync has %q, want %q; said: %s", got, want, said)
		w.play(object, step{name: "repaired", config: config, calls: []string{on("update_proc_info", 2)}})
		w.secretless(object, said)
	})
}

// A difference that was found stays in out_of_sync while the file cannot be read: the labels do not show that it is gone.
func TestVerify_driftUnread(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		config, object := w.declares(2), w.object()
		object.Applied(config)
		w.edited(2, map[string]any{"memlmt": 50})(w)
		object.Protocol = w.open()
		object.Refresh()
		differs := object.Reasons("out_of_sync")
		providertest.Same(w, "out_of_sync", codesOf("other_spec", 2), codes(object))
		w.sim.SetProcFile(providertest.Address(2), simulator.ProcFile{Odd: "unreadable"})
		object.Protocol = w.open()
		object.Refresh()
		providertest.Same(w, "out_of_sync, unread", differs, object.Reasons("out_of_sync"))
		w.sim.ResetCalls()
		object.Apply(config)
		providertest.Same(w, "calls that change something", w.by.Changes(on("update_proc_info", 2)), w.sim.Changes())
		providertest.Same(w, "out_of_sync, repaired", map[string]string{}, codes(object))
	})
}

// If a difference goes away by itself, a process that is still the same is not restarted.
func TestVerify_driftThatWentAway(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		config, object := w.declares(2, attribute("on_update", "restart"), attribute("ensure", "running")), w.object()
		object.Applied(config)
		pid := w.at(2).PID
		w.edited(2, map[string]any{"memlmt": 50})(w)
		object.Protocol = w.open()
		object.Refresh()
		providertest.Same(w, "out_of_sync", codesOf("other_spec", 2), codes(object))
		w.edited(2, map[string]any{"memlmt": 10})(w)
		object.Protocol = w.open()
		object.Apply(config)
		providertest.Check(w, w.at(2).PID == pid && len(codes(object)) == 0, "process %d became %d; %v", pid, w.at(2).PID, codes(object))
	})
}

// A refresh uses the verify in the resource's state, so a change of it counts only after its apply. The provider's
// counts at once. Back with "labels", the fields are no longer drift, and no host is called.
//
// Promised in verify.md: In the provider block, `verify` counts at once.
// Promised in verify.md: On a resource, a change of it counts from the first refresh after its apply.
func TestVerify_switched(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		w.settings["verify"] = "labels"
		config, agent := w.declares(2), w.declares(2, attribute("verify", "agent"))
		created := func() *providertest.Core {
			object := w.object()
			w.play(object, step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true})
			w.edited(2, map[string]any{"stopCmd": "kill"})(w)
			return object
		}
		expect := func(object *providertest.Core, when string, config map[string]any, action providertest.PlanKind, differs bool) {
			w.Helper()
			object.Protocol = w.open()
			plan, said := object.Plan(config)
			if _, found := object.Reasons("out_of_sync")["web-2"]; plan.Action != action || found != differs || len(said) > 0 {
				w.Errorf("%s: %s, web-2 differs: %t; said: %s", when, plan.Action, found, said)
			}
		}
		object := created()
		expect(object, "labels", config, providertest.PlanNothing, false)
		expect(object, "agent, not applied yet", agent, providertest.PlanUpdate, false)
		w.sim.ResetCalls()
		object.Apply(agent)
		w.sim.Changed(w.T)
		expect(object, "agent", agent, providertest.PlanUpdate, true)
		w.settings["verify"] = "agent"
		expect(object, "agent by the provider", config, providertest.PlanUpdate, true)
		object.Apply(config)
		expect(object, "repaired", config, providertest.PlanNothing, false)
		w.edited(2, map[string]any{"stopCmd": "kill"})(w)
		w.settings["verify"] = "labels"
		expect(object, "labels again", config, providertest.PlanNothing, false)
	})
}

// A process that is already hosted as declared is adopted without a call, and is then the object's.
//
// Promised in verify.md: `adopt_existing` | registers every host again | calls nothing on hosts that are as declared already |.
func TestVerify_adopted(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		w.hosted(1, 2, 3)
		w.edited(3, map[string]any{"stopCmd": "kill"})(w)
		adopts := attribute("adopt_existing", true)
		w.play(w.object(),
			step{name: "adopted", config: w.declares(3, adopts), kind: providertest.PlanCreate, calls: []string{on("update_proc_info", 3)}},
			step{name: "a host joins", config: w.declares(4, adopts), calls: []string{on("operate_proc_v2/3", 4), on("register_proc_info", 4)}},
			step{name: "another spec", config: w.changed(4, adopts), calls: []string{on("update_proc_info", 1, 2, 3, 4)}},
			step{name: "destroyed", calls: []string{on("unregister_proc_info", 1, 2, 3, 4)}},
		)
		w.hosted(1, 2)
		w.play(w.object(), // this object has never registered it
			step{name: "adopted as it is", config: w.declares(2, adopts), kind: providertest.PlanCreate},
			step{name: "and destroyed", calls: []string{on("unregister_proc_info", 1, 2)}},
		)
	})
}

// A host is adopted as it is after another object had it. That object's registration is gone by then, so the destroy
// unregisters the host.
func TestVerify_adoptedAfterAnother(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		object, another := w.object(), w.object()
		another.Applied(w.changed(0, attribute("hosts", addresses(2))))
		w.play(object, step{
			name: "not here", config: w.declares(2), kind: providertest.PlanCreate, anyCalls: true, left: codesOf("registered_by_other", 2), says: "Created In Part",
		})
		object.Refresh()
		another.Applied(nil)
		w.hosted(2)
		w.play(object,
			step{name: "adopted", config: w.declares(2, attribute("adopt_existing", true))},
			step{name: "destroyed", calls: []string{on("unregister_proc_info", 1, 2)}},
		)
	})
}

// A cached status that lags may hide another object's registration, so the host is registered again.
func TestVerify_adoptedLate(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		pass := w.passing()
		w.hosted(1, 2)
		w.sim.FreezeStatus()
		pass()
		adopts := attribute("adopt_existing", true)
		w.play(w.object(), step{
			name: "another's", config: w.declares(1, adopts, attribute("verify", "labels")), kind: providertest.PlanCreate, calls: []string{on("update_proc_info", 1)},
		})
		w.play(w.object(), step{name: "adopted", config: w.declares(2, adopts), kind: providertest.PlanCreate, calls: []string{on("update_proc_info", 1)}})
	})
}

// A host that an adoption did not reach is not this object's, so it is not stopped or unregistered when it leaves or is
// destroyed. A host that was reached is, even after a rollback.
func TestVerify_adoptedInPart(t *testing.T) {
	t.Parallel()
	adopts := func(canary, failure string) map[string]any {
		return map[string]any{
			"rollout": map[string]any{"canary": []string{canary}, "waves": []any{"100%"}, "on_failure": failure},
			"ensure":  "running", "adopt_existing": true, "on_destroy": "stop",
		}
	}
	for name, play := range map[string]func(*world, *providertest.Core){
		"created": func(w *world, o *providertest.Core) {
			w.hosted(2)
			w.on("register_proc_info", failing, 1)
			o.Apply(w.declares(2, adopts("web-1", "stop")))
			providertest.Check(w, len(o.Reasons("hosts")) == 0, "state has %v", o.Reasons("hosts"))
		},
		// A failed adoption does not count as a failed create.
		"not started": func(w *world, o *providertest.Core) {
			w.hosted(2)
			w.onOp(simulator.OpStart, failing)
			o.Apply(w.declares(0, adopts("web-2", "stop"), attribute("hosts", addresses(2))))
			providertest.Check(w, len(o.Reasons("hosts")) == 1 && !o.Tainted, "state has %v, tainted: %t", o.Reasons("hosts"), o.Tainted)
		},
		"leaves": func(w *world, o *providertest.Core) {
			o.Applied(w.changed(1, adopts("web-1", "stop")))
			w.hosted(2)
			w.do(w.sim.StartProcess, 2)
			w.on("update_proc_info", away, 1)
			w.play(o,
				step{name: "joins", config: w.declares(2, adopts("web-1", "stop")), calls: []string{on("update_proc_info", 1)}, left: map[string]string{"web-1": "other_spec", "web-2": "not_registered"}, says: "agent is away", fails: true},
				step{name: "leaves", befalls: (*world).repair, config: w.declares(1, adopts("web-1", "stop")), calls: []string{on("update_proc_info", 1)}, says: "Hosts Registered Without An Owner"},
			)
		},
		// By then a refresh has found that it is another owner's.
		"destroyed": func(w *world, o *providertest.Core) {
			o.Applied(w.changed(1, adopts("web-1", "stop")))
			w.hosted(2)
			w.on("update_proc_info", away, 1)
			o.Apply(w.declares(2, adopts("web-1", "stop")))
			w.repair()
			w.play(o, step{name: "destroyed", calls: []string{on("operate_proc_v2/1", 1), on("unregister_proc_info", 1)}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verifying(t, func(w *world) {
				play(w, w.object())
				p := w.at(2)
				providertest.Check(t, p.Registered && p.Hosted && p.Labels["tf_spec_owner"] == "", "web-2 has %+v", p)
			})
		})
	}
	t.Run("rolled-back", func(t *testing.T) {
		t.Parallel()
		verifying(t, func(w *world) {
			o := w.object()
			o.Applied(w.changed(1, adopts("web-1", "rollback")))
			w.hosted(2)
			w.on("update_proc_info", once(away), 1)
			w.play(o,
				step{
					name: "rolled back", config: w.declares(2, adopts("web-2", "rollback")), anyCalls: true, hosts: addresses(1, 2),
					says: "These hosts joined and are in state now, as the process is or may be registered there: web-2.", fails: true,
				},
				step{name: "destroyed", anyCalls: true},
			)
			w.expectNothing()
		})
	})
}

// An import includes the spec, so the first plan is empty, and a later change calls no other host.
//
// Promised in verify.md: `spec` is what the agents host, and the generated configuration plans empty, but for fields that the file does not keep |.
func TestVerify_imported(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		w.hosted(1)
		w.beside(1, "web", "proxy")
		object := w.object()
		// With one host only: unlike a CLI, this writes the hosts of plan and state in any order.
		said := object.Imports("web:nginx@web-1=" + providertest.Address(1))
		providertest.Check(t, len(said) == 0, "said: %s", said)
		w.play(object,
			step{name: "as imported", config: w.declares(1), kind: providertest.PlanNothing},
			step{name: "edited", befalls: w.edited(1, map[string]any{"stopCmd": "kill"}), config: w.declares(1), calls: []string{on("update_proc_info", 1)}},
			step{name: "a host joins", config: w.declares(2), calls: []string{on("operate_proc_v2/3", 2), on("register_proc_info", 2)}},
			step{name: "destroyed", calls: []string{on("unregister_proc_info", 1, 2)}},
		)
	})
}

// Hosts on which the Linux script fails are read as Windows hosts.
func TestVerify_importedFromWindows(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		w.hostedAs(map[string]any{"setup_path": `C:\app`, "pid_path": `C:\app\nginx.pid`}, 1, 2)
		for n := 1; n <= 2; n++ {
			w.sim.SetProcFile(providertest.Address(n), simulator.ProcFile{Path: `c:\gse2_bkte\agent\etc\.proc`})
		}
		object := w.object()
		said := object.Imports("web:nginx")
		providertest.Check(t, len(said) == 0 && object.Attribute("spec") != nil, "spec is %v; said: %s", object.Attribute("spec"), said)
	})
}

// An import of this provider's registration has a default only if it was declared, or the first plan would register
// again. It lacks what the agent's file does not keep, and the plan says so.
//
// Promised in verify.md: the first plan of the import says so, and registers again.
func TestVerify_importedAgain(t *testing.T) {
	t.Parallel()
	const notKept = "other_spec: registered with another spec (in what the agent's file does not keep)"
	for name, c := range map[string]struct {
		policy map[string]any
		reason string
	}{
		"default-left-out":   {policy: map[string]any{"auto_type": 1}},
		"default-declared":   {policy: map[string]any{"auto_type": 1, "start_check_secs": 5}},
		"another-value":      {policy: map[string]any{"auto_type": 1, "start_check_secs": 7}},
		"not-kept-by-agents": {policy: map[string]any{"auto_type": 1, "start_retries": 3}, reason: notKept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verifying(t, func(w *world) {
				w.settings["default_labels"] = map[string]any{"by": "terraform"}
				config := w.declares(1, labelled(map[string]any{"team": "sre"}))
				spec, _ := config["spec"].(map[string]any)
				spec["monitor_policy"] = c.policy
				w.play(w.object(), step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true})
				for id, key := range map[string]string{"web:nginx@web-1=" + providertest.Address(1): "web-1", "web:nginx": providertest.Address(1)} {
					object := w.object()
					said := object.Imports(id)
					if got := object.Reasons("out_of_sync")[key]; got != c.reason || len(said) > 0 {
						w.Errorf("%s: out_of_sync has %q, want %q; said: %s", id, got, c.reason, said)
					}
					imported, _ := object.Attribute("spec").(map[string]any)
					policy, _ := imported["monitor_policy"].(map[string]any)
					if got, want := fmt.Sprint(policy["start_check_secs"]), fmt.Sprint(c.policy["start_check_secs"]); got != want {
						w.Errorf("%s: start_check_secs is %s, want %s", id, got, want)
					}
				}
			})
		})
	}
}

// A list of whole resources reads what agents host, and each resource is as an import has it. If hosts differ it has no spec.
//
// Promised in verify.md: Import, and `terraform query -generate-config-out` |.
func TestVerify_listed(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		w.hosted(1, 2)
		p := w.open()
		listed := func() (map[string]any, string) {
			results, said := p.List(tfprotov6.ListResourceRequest{IncludeResource: true}, map[string]any{"namespace": "web"})
			if len(results) != 1 {
				w.Fatalf("listed %v; said: %s", results, said)
			}
			resource, _ := results[0].Resource.(map[string]any)
			return resource, said
		}
		object := w.object()
		object.Imports("web:nginx")
		resource, said := listed()
		providertest.Same(w.T, "spec", object.Attribute("spec"), resource["spec"])
		providertest.Check(w, resource["spec"] != nil && said == "", "spec: %v; said: %s", resource["spec"], said)
		w.edited(2, map[string]any{"stopCmd": "kill"})(w)
		if resource, said = listed(); resource["spec"] != nil || !strings.Contains(words(said), "is hosted with 2 different specs, so spec is not imported") {
			w.Errorf("spec: %v; said: %s", resource["spec"], said)
		}
	})
}

// If an agent stores a field in its own way, repairing has no effect, and the next plan warns.
//
// Promised in verify.md: the plan after it warns.
func TestVerify_neverAsDeclared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	w.settings["verify"] = "agent"
	config, object := w.declares(2), w.object()
	w.play(object, step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true})
	w.sim.SetProcFile(providertest.Address(2), simulator.ProcFile{Odd: "twice"})
	for i, warns := range []bool{false, true, true} {
		object.Protocol = w.open()
		kind, said := object.Apply(config)
		again, twice := strings.Contains(said.String(), "Hosted Otherwise Again"), strings.Contains(said.String(), "web:nginx once more")
		providertest.Check(t, kind == providertest.PlanUpdate && !said.Failed() && again == warns && twice, "apply %d: %s; said: %s", i, kind, said)
	}
}

// If hosts have different specs, or an entry cannot be understood, no spec is imported.
func TestVerify_importedWithoutSpec(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hosts   int
		stopCmd any
		says    string
	}{
		"differing": {6, "kill", "is hosted with 6 different specs, so spec is not imported. The hosts of each: 0:10.0.0.2 0:10.0.0.3 0:10.0.0.4 0:10.0.0.5 0:10.0.0.6 0:10.0.0.7"},
		"odd":       {1, 7, "0:10.0.0.2: its entry in the agent's file has a value of an unknown form"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verifying(t, func(w *world) {
				w.hosted(providertest.HostNumbers(c.hosts)...)
				for n := range c.hosts {
					w.edited(n+1, map[string]any{"stopCmd": c.stopCmd, "cpulmt": 10 * n})(w)
				}
				object := w.object()
				said := object.Imports("web:nginx")
				providertest.Check(t, strings.Contains(words(said.String()), c.says) && object.Attribute("spec") == nil,
					"spec: %v; said: %s", object.Attribute("spec"), said)
				w.secretless(object, said)
			})
		})
	}
}

// A file that cannot be read is not drift. One warning names the host.
//
// Promised in verify.md: Such a host is *not verified*.
// Promised in verify.md: One warning of the refresh names it, with what the platform said.
// Promised in verify.md: If the directory of the file is missing, the path is taken to be wrong.
func TestVerify_oddFiles(t *testing.T) {
	t.Parallel()
	for odd, warns := range map[string]bool{
		"": false, "missing": false, "no-entries": false, "others": false, "around": false, "banner": false, "unknown-keys": false, "many": false,
		"null": false, "styled": false, "texts": false,
		"gbk": true, "empty": true, "other-members": true, "missing-directory": true, "unreadable": true, "truncated": true, "not-json": true, "command-not-found": true,
	} {
		t.Run(odd, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway)
			w.settings["verify"] = "agent"
			config, object := w.declares(2), w.object()
			object.Applied(config)
			w.sim.SetProcFile(providertest.Address(2), simulator.ProcFile{Odd: odd})
			object.Protocol = w.open()
			plan, said := object.Plan(config)
			if plan.Action != providertest.PlanNothing || warns != (len(said) > 0) || warns != strings.Contains(said.String(), "Hosted Spec Not Verified") {
				t.Errorf("the plan is %s; said: %s", plan.Action, said)
			}
			w.secretless(object, said)
		})
	}
}

// A warning names another entry that would start the process again after a stop.
//
// Promised in verify.md: which would start the process again after a stop | is not found | a warning names it |.
func TestVerify_hostedTwice(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		config, object := w.declares(2), w.object()
		w.play(object, step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true})
		w.beside(2, "old", "nginx")
		object.Protocol = w.open()
		plan, said := object.Plan(config)
		if plan.Action != providertest.PlanNothing || !strings.Contains(words(said.String()), "web-2 (0:10.0.0.3): its agent also hosts old:nginx") {
			t.Errorf("the plan is %s; said: %s", plan.Action, said)
		}
	})
}

// A process that was renamed on the platform leaves an entry behind. The warning says how to remove that, of either of the
// two, and the other one goes on.
func TestVerify_hostedTwiceNoMore(t *testing.T) {
	t.Parallel()
	verifying(t, func(w *world) {
		config, object, old := w.declares(2, attribute("ensure", "running")), w.object(), w.object()
		w.object().Applied(w.declares(2, attribute("meta", map[string]any{"namespace": "old", "name": "nginx"})))
		object.Applied(config)
		const says = "One of the two was left behind … Unregister that one alone: import its process and destroy it."
		if said := old.Imports("old:nginx"); said.Failed() || !tells(said, "its agent also hosts web:nginx … "+says) {
			w.Errorf("the import says: %s", said)
		}
		old.Protocol = w.open()
		_, said := old.Apply(nil)
		providertest.Check(w, !said.Failed() && old.State.IsNull(), "the destroy says: %s", said)
		w.play(object, step{name: "alone", config: config, kind: providertest.PlanNothing})
		providertest.Check(w, w.at(1).Hosted && w.at(1).Running && w.at(2).Hosted, "they are %+v and %+v", w.at(1), w.at(2))
	})
}
