package hostedprocess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A registration that was there before the resource stays its owner's. Until it is adopted, no apply takes it over and
// no destroy removes it.
//
// Promised in troubleshooting.md: `Hosts Of Another Owner` | the same, in a plan: the apply will
// leave these hosts alone and end with an error.
func TestHostedProcess_foreignOwner(t *testing.T) {
	t.Parallel()
	kill := attribute("on_destroy", "kill")
	for name, last := range map[string]func(w *world) step{
		"leaves": func(w *world) step { return step{name: "leaves", config: w.declares(1, kill)} },
		"destroyed": func(*world) step {
			return step{name: "destroyed", calls: []string{on("operate_proc_v2/9", 1), on("unregister_proc_info", 1)}}
		},
		"adopted": func(w *world) step {
			calls := []string{on("update_proc_info", 2)}
			if w.by == esb {
				calls = append([]string{on("operate_proc_v2/3", 2), on("register_proc_info", 2)}, calls...)
			}
			return step{name: "adopted", config: w.declares(2, kill, attribute("adopt_existing", true)), calls: calls, takes: "web-2 (0:10.0.0.3): registered before; it was not hosted, and is now"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.sim.Colleague(w.T, "web", "nginx", map[string]string{"owner": "other-team"}, 2)
				before, theirs := w.at(2), codesOf("registered_by_other", 2)
				asked := []string{}
				first := []string{on("operate_proc_v2/3", 1), on("register_proc_info", 1, 2)}
				if w.by == esb { // the gateway reads the status before it registers
					asked = []string{on("register_proc_info", 2)}
				} else {
					first = []string{on("register_proc_info", 1)}
				}
				resource := w.objectOfCLI()
				w.play(resource, step{name: "created", config: w.declares(2, kill), kind: providertest.PlanCreate, calls: first, left: theirs, says: "Created In Part … the process is registered already, with the labels owner=other-team … retries these hosts alone. Where it is registered already, somebody else did that"})
				resource.Refresh()
				if reason := resource.Reasons("out_of_sync")["web-2"]; !strings.HasPrefix(reason, "registered_by_other: ") || !strings.Contains(reason, "the process is registered already") {
					t.Errorf("after a refresh it is %q", reason)
				}
				w.sim.ResetCalls()
				waves := attribute("rollout", map[string]any{"waves": []any{"100%"}})
				plan, said := resource.Plan(w.declares(2, kill, waves))
				if does := providertest.Plain(w.T, plan.Planned(w.T)["rollout_plan"]); does != "register what is nobody else's on 1 host: web-2" ||
					said.Failed() || !strings.Contains(words(said.String()), "web:nginx is registered by somebody else on 1 of 2 hosts, and adopt_existing is not set") {
					t.Errorf("planned %q; said: %s", does, said)
				}
				if _, said := resource.Plan(w.declares(2, kill, attribute("adopt_existing", true))); len(said) > 0 || len(w.sim.Changes()) > 0 {
					t.Errorf("the plan to adopt it: %s; called %v", said, w.sim.Changes())
				}
				end := last(w)
				w.play(resource, step{name: "once more", config: w.declares(2, kill), calls: asked, left: theirs, says: "adopt_existing = true", fails: true})
				if name == "adopted" {
					failed := step{name: "cannot be adopted", config: end.config, anyCalls: true, left: codesOf("unconfirmed", 2), says: "agent is away", fails: true}
					failed.befalls = func(w *world) { w.on("update_proc_info", away, 2) }
					w.play(resource, failed)
				}
				w.repair()
				w.play(resource, end)
				if after := w.at(2); name != "adopted" && !cmp.Equal(before, after) {
					t.Errorf("the process of the other team was %+v and is %+v", before, after)
				}
			})
		})
	}
}

// A refresh names the owner that has taken a host over, even if the ledger is lost.
func TestHostedProcess_takenOverUnkept(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		first, second := w.object(), w.object()
		first.Applied(w.declares(2))
		second.Applied(w.declares(1))
		first.Private = nil // its provider was killed
		said := first.Refresh()
		owner := fmt.Sprintf("other_labels: registered by another resource, owner %s", second.Attribute("owner"))
		providertest.Check(w, !said.Failed() && first.Reasons("out_of_sync")["web-1"] == owner, "out_of_sync %v; said: %s", first.Reasons("out_of_sync"), said)
	})
}

// A resource that takes over another owner's registration, because the declaration is the same or by adopt_existing,
// warns whose it was, and whether hosting it is new. The previous owner plans drift and takes it back. Then the other
// one leaves it alone.
//
// Promised in shared-hosts.md: The create takes it over, and a warning (*Hosts Taken Over*) names the host and that
// owner, whose next refresh finds drift.
func TestHostedProcess_takenOver(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		notices := func(resource *providertest.Core, owner any, what string) {
			w.Helper()
			said := words(resource.Notices.String())
			providertest.Check(w, strings.Contains(said, "WARNING: Hosts Taken Over") && strings.Contains(said, fmt.Sprintf(what, owner)),
				"said: %s, want %s", said, fmt.Sprintf(what, owner))
		}
		first, second := w.object(), w.object()
		first.Applied(w.declares(2))
		second.Applied(w.declares(1))
		notices(second, first.Attribute("owner"), "on 1 of 1 host, and this apply has taken them over. web-1 (0:10.0.0.2): registered before, owner %s If a resource with")
		if _, said := first.Plan(nil); !strings.Contains(words(said.String()), "web:nginx: unregister 1 host: web-2; unregister what is this resource's on 1 host: web-1.") {
			w.Errorf("the plan to destroy the first: %s", said)
		}
		w.play(first, step{
			name: "takes it back", config: w.declares(2), calls: []string{on("update_proc_info", 1)}, takes: fmt.Sprintf("web-1 (0:10.0.0.2): registered by another resource, owner %s", second.Attribute("owner")),
		})
		w.sim.ResetCalls()
		if plan, said := second.Plan(w.declares(1)); plan.Action != providertest.PlanUpdate || len(said) > 0 {
			w.Errorf("the second plans %s: %s", plan.Action, said)
		}
		if left, want := second.Reasons("out_of_sync")["web-1"], fmt.Sprintf("other_labels: registered by another resource, owner %s", first.Attribute("owner")); left != want {
			w.Errorf("out_of_sync is %q, want %q", left, want)
		}
		second.Apply(nil)
		w.sim.Changed(w)
		for _, ensure := range []string{"registered", "hosted"} {
			w.do(w.sim.Unregister, 1)
			w.sim.Colleague(w.T, "web", "nginx", map[string]string{"tf_spec_owner": "them"}, 1)
			third, hosts := w.object(), "; it was not hosted, and is now"
			if w.by == esb && ensure == "registered" { // on the gateway registering is hosting
				hosts = ""
			}
			third.Applied(w.declares(1, map[string]any{"adopt_existing": true, "ensure": ensure}))
			notices(third, "them", "web-1 (0:10.0.0.2): registered before, owner %s"+hosts+" If a resource with")
		}
	})
}

// An added host with another owner's registration is neither registered over nor unregistered, as at create. At the
// gateway, where hosting replaces, that holds even if the cached status names the host only by agent id, or lacks it.
func TestHostedProcess_addedHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faces []providertest.Face
		set   func(*world)
	}{
		"in-the-cached-status": {gse, func(*world) {}},
		"rows-by-agent-id": {[]providertest.Face{gateway}, func(w *world) {
			w.sim.RowsWithoutHost = true
			w.sim.AddAgent("0200000007525400f355781710390005465c", providertest.Address(1))
			w.sim.AddAgent("0200000007525400f355781710390005465d", providertest.Address(2))
		}},
		"cached-status-lags": {gse, func(w *world) { w.sim.FreezeStatus() }},
		"job-says":           {[]providertest.Face{job}, func(w *world) { w.on("register_proc_info", simulator.Fault{Code: new(850)}, 2) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				c.set(w)
				w.colleague(2)
				before := w.at(2)
				kill := attribute("on_destroy", "kill")
				resource := w.object()
				resource.Applied(w.declares(1, kill))
				_, said := resource.Apply(w.declares(2, kill))
				if left := codes(resource)["web-2"]; !said.Failed() || left != "registered_by_other" && left != "unconfirmed" {
					t.Errorf("it is %q; said: %s", left, said)
				}
				w.sim.ThawStatus()
				if _, said := resource.Apply(nil); said.Failed() {
					t.Error(said)
				}
				after := w.at(2)
				providertest.Check(t, cmp.Equal(before, after), "the colleague's process was %+v and is %+v", before, after)
			})
		})
	}
}

// An address with another supplier id is another registration through the ESB. The plan refuses it on both gateways, as
// the object may be applied through either, and so does the apply if the plan did not know the address.
//
// Promised in changing-hosts.md: A plan that gives a host another id is an error: through the ESB, that is another registration.
func TestHostedProcess_supplierInTheAddress(t *testing.T) {
	t.Parallel()
	through(t, []providertest.Face{esb, gateway}, func(w *world) {
		config := func(addresses any) map[string]any { return w.declares(1, attribute("hosts", addresses)) }
		another := config(map[string]string{"a": "0:2:10.0.0.2"})
		resource := w.object()
		resource.Applied(config(map[string]string{"a": "0:10.0.0.2"}))
		w.sim.ResetCalls()
		const says = "0:10.0.0.2 would have the bk_supplier_id 2, and is registered with 0, which it keeps: write 0:0:10.0.0.2; to register it with another one, " +
			"take it out of hosts and apply, then add it and apply again"
		if _, said := resource.Plan(another); !said.Failed() || !strings.Contains(said.String(), says) {
			w.Errorf("the plan says: %s", said)
		}
		if _, said := resource.ApplyResolved(config(providertest.NotKnown{}), another); !said.Failed() || !strings.Contains(said.String(), says) {
			w.Errorf("the apply says: %s", said)
		}
		w.sim.Changed(w)
		w.play(resource, step{name: "its own", config: config(map[string]string{"a": "0:0:10.0.0.2"}), kind: providertest.PlanUpdate})
	})
}

// Through JOB, hosts have no supplier ids, and an address that names one is the same host.
func TestHostedProcess_supplierWithoutMeaning(t *testing.T) {
	t.Parallel()
	through(t, []providertest.Face{job}, func(w *world) {
		resource := w.object()
		resource.Applied(w.declares(1))
		w.play(resource, step{name: "named", config: w.declares(0, attribute("hosts", map[string]string{"web-1": "0:2:10.0.0.2"})), kind: providertest.PlanUpdate})
	})
}

// Without a fingerprint the cached status cannot show that a registration was repaired, so a failure stays in
// out_of_sync until an apply has succeeded.
func TestHostedProcess_failureIsRemembered(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.settings["spec_fingerprint_label"] = ""
		calls := []string{on("update_proc_info", 1, 2)}
		if w.by == esb { // it may not be registered
			calls = append([]string{on("register_proc_info", 2)}, calls...)
		}
		w.play(w.object(),
			step{name: "created", config: w.declares(2), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "one fails", befalls: func(w *world) { w.on("update_proc_info", simulator.Fault{Code: new(65535), Message: "disk full"}, 2) }, config: w.changed(2),
				calls: calls, left: codesOf("other_spec", 2), says: "disk full", fails: true,
			},
			step{name: "repaired", befalls: (*world).repair, config: w.changed(2), calls: []string{on("update_proc_info", 2)}},
			step{name: "another spec is not seen", befalls: func(w *world) { w.colleague(1) }, config: w.changed(2), kind: providertest.PlanNothing},
		)
	})
}

// A create that reached its deadline on every host ends with an error. It may have registered, so it is in state, tainted.
func TestHostedProcess_createAtDeadline(t *testing.T) {
	t.Parallel()
	for _, by := range gse {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				unlabelled := attribute("spec_fingerprint_label", "")
				config := fleetOf(by, 1, attribute("ensure", "registered"))
				object := sim.ConfiguredFor(t, by, unlabelled).CoreOf(providertest.HostedType, &providertest.Kept{})
				api, op := by.FaultOn("register_proc_info")
				sim.Inject(simulator.Fault{API: api, Op: op, Pending: -1, Apply: true})
				_, said := object.Apply(with(config, "timeouts", map[string]any{"create": "2m"}))
				providertest.Says(t, words(said.String()), "is not as declared on any of its 1 hosts, as far as is known. web-1 (0:10.0.0.2): no verdict when the time was up")
				providertest.Same(t, "out_of_sync", codesOf("unconfirmed", 1), codes(object))
				sim.Repair()
				sim.ResetCalls()
				object.Protocol = sim.ConfiguredFor(t, by, unlabelled)
				kind, said := object.Apply(config)
				providertest.Check(t, kind == providertest.PlanReplace && !said.Failed(), "%s; said: %s", kind, said)
				providertest.Same(t, "calls", by.Changes(on("register_proc_info", 1), on("unregister_proc_info", 1)), sim.Changes())
			})
		})
	}
}

// What an interrupted create has registered itself is taken over without a warning.
func TestHostedProcess_createGoesOn(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config, resource := w.declares(1, attribute("adopt_existing", true)), w.object()
		w.on("register_proc_info", simulator.Fault{Pending: -1, Apply: true})
		resource.Apply(with(config, "timeouts", map[string]any{"create": "2s"}))
		resource.Untaint()
		w.repair()
		resource.Protocol = w.open()
		_, said := resource.ApplyUnrefreshed(config)
		providertest.Check(w, len(said) == 0 && !strings.Contains(resource.Notices.String(), "Hosts Taken Over"), "said: %s %s", said, resource.Notices)
	})
}

// An unknown default label of the provider block is unknown in the plan.
func TestHostedProcess_labelsKnownLater(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.settings["default_labels"] = map[string]string{"rev": "a"}
		resource := w.object()
		resource.Applied(w.declares(2))
		w.settings["default_labels"] = map[string]any{"rev": providertest.NotKnown{}}
		resource.Protocol, resource.Fresh = w.open(), w.open
		w.settings["default_labels"] = map[string]string{"rev": "b"}
		_, said := resource.ApplyUnrefreshed(w.declares(3))
		providertest.Check(t, len(said) == 0 && len(codes(resource)) == 0 && w.at(1).Labels["rev"] == "b" && w.at(3).Labels["rev"] == "b",
			"out_of_sync is %v; %v and %v; said: %s", codes(resource), w.at(1).Labels, w.at(3).Labels, said)
	})
}

// A host that was never registered can leave and be destroyed.
func TestHostedProcess_neverRegistered(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(*world) step{
		"leaves":    func(w *world) step { return step{name: "leaves", config: w.declares(1)} },
		"destroyed": func(*world) step { return step{name: "destroyed", calls: []string{on("unregister_proc_info", 1)}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.play(w.object(),
					step{
						name: "one is away", befalls: func(w *world) {
							w.sim.Inject(simulator.Fault{Hosts: []string{providertest.Address(2)}, Unreachable: "117", API: "[ruo]*"})
						},
						config: w.declares(2), kind: providertest.PlanCreate, anyCalls: true, left: codesOf("not_registered", 2), says: "Hosted Process Created In Part",
					},
					last(w),
				)
			})
		})
	}
}

// If ensure is raised the agents are asked, as the cached status may be older than a stop.
func TestHostedProcess_ensureRaised(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		calls := []string{on("operate_proc_v2/0", 2)}
		if w.by == esb { // on the gateway registering is hosting, so what runs is hosted already
			calls = append(calls, on("operate_proc_v2/3", 1))
		}
		w.play(w.object(),
			step{name: "registered", config: w.declares(2, attribute("ensure", "registered")), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "running", befalls: func(w *world) {
					w.do(w.sim.StartProcess, 1, 2)
					w.sim.FreezeStatus()
					w.do(w.sim.StopProcess, 2)
				},
				config: w.declares(2, attribute("ensure", "running")), calls: calls,
			},
			step{name: "the file is current", befalls: func(w *world) { w.sim.ThawStatus() }, config: w.declares(2, attribute("ensure", "running")), kind: providertest.PlanNothing},
		)
	})
}

// Hosts that leave are stopped with the spec that they were registered with, and only until too many hosts have failed.
func TestHostedProcess_leavingHosts(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		more := map[string]any{"ensure": "running", "on_destroy": "stop", "rollout": map[string]any{"batch_size": 1}}
		resource := w.object()
		w.play(resource,
			step{name: "created", config: w.declares(4, more), kind: providertest.PlanCreate, anyCalls: true},
			step{name: "one leaves", config: w.changed(3, more), calls: []string{
				on("operate_proc_v2/1", 4), on("unregister_proc_info", 4), on("update_proc_info", 1), on("update_proc_info", 2), on("update_proc_info", 3),
			}},
		)
		for _, call := range w.sim.Calls().OfOp(simulator.OpStop) {
			providertest.Check(t, strings.Contains(string(call.Spec), "./start.sh") && !strings.Contains(string(call.Spec), "-v"),
				"a host that left was stopped with the new spec: %s", call.Spec)
		}
		w.play(resource,
			step{
				name: "another fails", befalls: func(w *world) { w.on("update_proc_info", away, 1) }, config: w.declares(2, more), hosts: addresses(1, 2, 3),
				calls: []string{on("update_proc_info", 1)}, left: codesOf("other_spec", 1, 2, 3), says: "web-3 (0:10.0.0.4): not tried: too many hosts had failed", fails: true,
			},
			step{name: "repaired", befalls: (*world).repair, config: w.declares(2, more), calls: []string{
				on("operate_proc_v2/1", 3), on("unregister_proc_info", 3), on("update_proc_info", 1), on("update_proc_info", 2),
			}},
		)
	})
}

// With a percentage, hosts stay as well once too many of those that come or stay have failed, however many are to leave.
func TestHostedProcess_leavingAfterFailures(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		more := map[string]any{"ensure": "running", "on_destroy": "stop", "rollout": map[string]any{"batch_size": 2, "max_failed_hosts": "50%"}}
		after, resource := w.declares(0, more, attribute("hosts", addresses(3, 4))), w.object()
		resource.Applied(w.declares(2, more))
		w.play(resource,
			step{
				name: "none can come", befalls: func(w *world) { w.on("register_proc_info", away, 3, 4) }, config: after, hosts: addresses(1, 2, 3, 4),
				calls: []string{on("register_proc_info", 3, 4)}, left: codesOf("not_registered", 3, 4), says: "web-1, web-2 (2 hosts): not tried: too many hosts had failed", fails: true,
			},
			step{name: "repaired", befalls: (*world).repair, config: after, anyCalls: true},
		)
		providertest.Check(w, w.at(3).Running && w.at(4).Running && !w.at(1).Hosted && !w.at(2).Hosted, "they are %+v", w.sim.Processes())
	})
}

// After Ctrl-C, hosts that were to leave have not failed, and are asked nothing.
func TestHostedProcess_leavingInterrupted(t *testing.T) {
	t.Parallel()
	for name, rollout := range map[string]any{"one-wave": nil, "waves": map[string]any{"batch_size": 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				more := map[string]any{"on_destroy": "stop", "rollout": rollout}
				resource := w.object()
				resource.Applied(w.declares(2, more))
				api, op := w.by.FaultOn("update_proc_info")
				said := w.sim.CutAt(func(call simulator.Call) bool { return call.API == api && (op == nil || call.Op == *op) }).Apply(resource, w.changed(1, more))
				providertest.Fails(w, said, "web-2 (0:10.0.0.3): not tried: interrupted before its wave")
			})
		})
	}
}

// If another object registered and unregistered a host, the first one does not stop its process, provided that a refresh
// has seen the other's registration. It does if it has registered again since, or never saw it.
//
// Promised in shared-hosts.md: It is not stopped or killed if an apply of yours (`-refresh-only`
// included) has seen the other's registration.
// Promised in shared-hosts.md: The warning is *Hosts Last Registered By Another Resource*.
func TestHostedProcess_overtakenAndRemoved(t *testing.T) {
	t.Parallel()
	more := map[string]any{"ensure": "running", "on_destroy": "kill"}
	for name, c := range map[string]struct{ seen, again, stopped bool }{
		"seen":                {seen: true},
		"seen-and-registered": {seen: true, again: true, stopped: true},
		"never-seen":          {stopped: true},
	} {
		for way, leaves := range map[string]bool{"destroyed": false, "leaves": true} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				through(t, gse, func(w *world) {
					first, second := w.object(), w.object()
					first.Applied(w.declares(2, more))
					second.Applied(w.declares(1))
					if c.seen {
						first.Refresh()
					}
					second.Applied(nil)
					if c.again {
						first.Applied(w.declares(2, more))
						w.do(w.sim.Unregister, 1)
					}
					end := map[string]any(nil)
					if leaves {
						end = w.declares(0, more, attribute("hosts", addresses(2)))
					}
					first.Protocol = w.open()

					_, said := first.Apply(end)

					overtaken, own := w.at(1), w.at(2)
					if said.Failed() || overtaken.Running == c.stopped || own.Running != leaves ||
						strings.Contains(said.String(), "Hosts Last Registered By Another Resource") == c.stopped {
						t.Errorf("%+v and %+v; said: %s", overtaken, own, said)
					}
				})
			})
		}
	}
}

// While it cannot be read who registered a host, nothing advises to take it over. Once it can, a refresh says whose it is.
func TestHostedProcess_ownerUnread(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		const unread = "registered_by_other: the process is registered already; who registered it could not be read; apply again once that can be read"
		first, second := w.object(), w.object()
		first.Applied(w.declares(1))
		w.on("get_proc_status_v2", simulator.Fault{Missing: -1})
		_, said := second.Apply(w.changed(2))
		providertest.Check(w, tells(said, "Apply again later: the cached status may be minutes late."), "said: %s", said)
		providertest.Same(w, "out_of_sync", map[string]string{"web-1": unread}, second.Reasons("out_of_sync"))
		second.Protocol = w.open()
		_, said = second.Plan(w.changed(2))
		providertest.Check(w, tells(said, "who registered it could not be read … Where who registered it could not be read, apply again before you decide."), "said: %s", said)

		w.repair()
		second.Protocol = w.open()
		_, said = second.Plan(w.changed(2))
		const named = "somebody else registered it, owner %s; take it out of hosts in one of the two resources"
		providertest.Same(w, "out_of_sync", map[string]string{"web-1": fmt.Sprintf("registered_by_other: "+named, first.Attribute("owner"))}, second.Reasons("out_of_sync"))
		providertest.Check(w, !strings.Contains(said.String(), "could not be read"), "said: %s", said)
		w.sim.ResetCalls()
		w.play(second, step{name: "as it says", config: w.changed(0, attribute("hosts", addresses(2)))})
		w.play(first, step{name: "stays the other's", config: w.declares(1), kind: providertest.PlanNothing})
	})
}

// Without labels nothing ever shows who registered a process, so no message advises to wait until that can be read.
func TestHostedProcess_ownerNeverRead(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		if w.colleague(1); w.by == job {
			w.on("register_proc_info", simulator.Fault{Code: new(850), Times: 1}, 1) // as some releases of JOB say
		} else {
			w.settings["spec_fingerprint_label"] = ""
		}
		object := w.object()
		_, said := object.Apply(w.declares(2))
		providertest.Check(w, tells(said, "Set adopt_existing = true to take those hosts over, or take them out of hosts.") && !tells(said, "Apply again later"), "said: %s", said)
		const left = "; set adopt_existing = true to take it over"
		providertest.Check(w, strings.HasSuffix(object.Reasons("out_of_sync")["web-1"], left), "out_of_sync %v", object.Reasons("out_of_sync"))
		w.play(object, step{name: "as it says", config: w.declares(2, attribute("adopt_existing", true)), anyCalls: true})
	})
}
