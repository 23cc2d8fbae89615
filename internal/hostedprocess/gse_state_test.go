package hostedprocess_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// If the provider crashes in an update, private state is lost and Terraform keeps only the attributes. Drift is found
// nevertheless, and another owner's registrations are left alone.
func TestHostedProcess_keptAttributesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 3)
	config, resource := w.declares(3, attribute("ensure", "registered")), w.object()
	w.play(resource,
		step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true, left: codesOf("registered_by_other", 3), says: "Hosted Process Created In Part"},
		step{
			name: "registered by others", befalls: func(w *world) {
				w.sim.Colleague(t, "web", "nginx", nil, 1)
				resource.Private = nil
			},
			config: config, calls: []string{on("register_proc_info", 3), on("update_proc_info", 1)}, left: codesOf("registered_by_other", 3), says: "registered already", fails: true,
		},
	)
	for _, e := range w.sim.Executions() {
		if e.Host != providertest.Address(1) && e.Code == simulator.CodeOK {
			t.Errorf("called without a reason: %+v", e)
		}
	}
}

// If the provider was killed in an update, an older row does not show that a host is still as it was before.
func TestHostedProcess_keptAttributesAndOldRow(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		resource := w.object()
		resource.Protocol = w.open()
		resource.Applied(w.declares(1))
		w.sim.FreezeStatus()
		kept := *resource.Kept
		resource.Apply(w.changed(1))
		*resource.Kept, resource.Private = kept, nil // killed
		w.sim.ResetCalls()
		resource.Protocol = w.open()
		resource.Apply(w.declares(1, attribute("on_destroy", "stop")))
		providertest.Same(w, "calls that change something", w.by.Changes(on("update_proc_info", 1)), w.sim.Changes())
		providertest.Check(w, strings.Contains(string(w.at(1).Spec), `"./start.sh"`), "web-1 has %+v", w.at(1))
	})
}

// A destroy that fails on some hosts keeps what is known of them.
func TestHostedProcess_partialDestroyKeepsReasons(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		resource := w.object()
		w.onOp(simulator.OpStart, simulator.Fault{Code: new(simulator.CodeCommandFailed)}, 3)
		resource.Apply(w.declares(3, attribute("ensure", "running")))
		known := resource.Reasons("out_of_sync")
		w.on("unregister_proc_info", away, 2, 3)

		said := resource.DestroyUnrefreshed()

		if len(providertest.ReasonRows(said.String())) != 2 || !strings.HasPrefix(said.String(), "ERROR: Unable to Unregister Hosted Process") {
			t.Errorf("said: %s", said)
		}
		providertest.Same(t, "hosts", addresses(2, 3), resource.Reasons("hosts"))
		diff := cmp.Diff(known, resource.Reasons("out_of_sync"))
		providertest.Check(t, diff == "" && len(known) == 1 && strings.Contains(known["web-3"], "65535"), "out_of_sync was %v (-was +is):\n%s", known, diff)
	})
}

// The destroy of a replacement uses the on_destroy that was applied last, whatever its plan declares.
func TestHostedProcess_replacedAsApplied(t *testing.T) {
	t.Parallel()
	for ending, after := range map[string]string{"kill": "unregister", "unregister": "kill"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			running, resource := attribute("ensure", "running"), w.object()
			resource.Applied(w.declares(1, running, attribute("on_destroy", ending)))
			resource.Applied(w.declares(1, running, attribute("on_destroy", after), otherProcess))
			killed := w.sim.Calls().OfOp(simulator.OpKill).HostCalls("operate_*")
			providertest.Check(t, killed > 0 == (ending == "kill"), "%d hosts were killed", killed)
		})
	}
}

var otherProcess = attribute("meta", map[string]any{"namespace": "web", "name": "other"})

// Hosts that leave are released as they were registered. If state does not show how, as after an edit by hand, no call
// is made and state is unchanged.
func TestHostedProcess_unreadableState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	resource := w.object()
	resource.Applied(w.declares(2, attribute("ensure", "registered")))
	set(resource, "hosts", map[string]string{"web-1": providertest.Address(1), "web-2": "10.0.0.3"})
	before := resource.State
	w.sim.ResetCalls()

	_, said := resource.ApplyUnrefreshed(w.declares(1, attribute("ensure", "registered")))

	calls := w.sim.Calls()
	providertest.Check(t, strings.Contains(said.String(), "10.0.0.3") && said.Failed() && len(calls) == 0, "called: %v; said: %s", calls.APIs(), said)
	providertest.Check(t, resource.State.Equal(before), "state is now %s", resource.State)
}

// set overwrites an attribute of the state, which another release may have written otherwise.
func set(c *providertest.Core, name string, value any) {
	c.T.Helper()
	attributes := providertest.AttributesOf(c.T, c.State)
	attributes[name] = providertest.ValueOf(attributes[name].Type(), value)
	c.State = tftypes.NewValue(c.State.Type(), attributes)
}

// A state of an earlier release, without unreachable, gets it with an update, even without a refresh.
func TestHostedProcess_stateWithoutUnreachable(t *testing.T) {
	t.Parallel()
	for _, config := range []map[string]any{fleetOf(providertest.FaceESB, 2, nil), restartedBy(providertest.FaceESB, 2, nil)} {
		resource := hostedBy(t, providertest.NewSim(t), providertest.FaceESB)
		resource.Applied(fleetOf(providertest.FaceESB, 2, nil))
		set(resource, "unreachable", nil)
		if kind, said := resource.ApplyUnrefreshed(config); kind != providertest.PlanUpdate || len(said) > 0 || len(resource.Reasons("unreachable")) > 0 {
			t.Errorf("%s: %s", kind, said)
		}
		if kind, said := resource.ApplyUnrefreshed(config); kind != providertest.PlanNothing {
			t.Errorf("the plan after it: %s: %s", kind, said)
		}
	}
}

// A host that could not leave while the declaration changed is out of sync if it comes back. State shows that, even if
// the platform does not.
func TestHostedProcess_stuckHostReturns(t *testing.T) {
	t.Parallel()
	for name, apply := range applies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				registered, resource := attribute("ensure", "registered"), w.object()
				resource.Applied(w.declares(2, registered))
				w.play(resource, step{
					name: "one cannot leave", befalls: func(w *world) { w.on("unregister_proc_info", away, 2) }, config: w.changed(1, registered),
					anyCalls: true, hosts: addresses(1, 2), left: codesOf("other_spec", 2), says: "agent is away", fails: true,
				})
				w.sim.Repair()
				w.sim.ResetCalls()

				_, said := apply(resource, w.changed(2, registered))
				providertest.Check(t, len(said) == 0, "said: %s", said)

				for n := 1; n <= 2; n++ {
					p := w.at(n)
					providertest.Check(t, strings.Contains(string(p.Spec), `"./start.sh -v"`), "web-%d has %s", n, p.Spec)
				}
				providertest.Same(t, "calls that change something", w.by.Changes(on("update_proc_info", 2)), w.sim.Changes())
			})
		})
	}
}

// A host that could not leave because its agent does not answer is out of sync as well if it comes back: what is
// registered there is the previous declaration.
func TestHostedProcess_stuckAwayReturns(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		more := map[string]any{"ensure": "running", "max_unreachable_hosts": "1"}
		resource := w.object()
		resource.Applied(w.declares(2, more))
		w.do(w.sim.KillProcess, 2)
		w.sim.SetReachable(providertest.Address(2), false)
		w.play(resource, step{
			name: "one cannot leave", config: w.changed(1, more), anyCalls: true, hosts: addresses(1, 2), left: codesOf("other_spec", 2),
			says: "could not be unregistered on 1 of 1 host", fails: true,
		})
		w.sim.SetReachable(providertest.Address(2), true)
		w.do(w.sim.StartProcess, 2)
		w.play(resource, step{name: "it comes back", config: w.changed(2, more), calls: []string{on("update_proc_info", 2)}})
	})
}

// A declaration comes back, by hand or by a rollback, and fails on a host. The cached status still shows its first
// registration there, with the time of the latest one. A refresh does not take that for a success.
func TestHostedProcess_comesBackInPart(t *testing.T) {
	t.Parallel()
	more := attribute("rollout", map[string]any{"batch_size": 9, "on_failure": "rollback"})
	for name, play := range map[string]func(*world, *providertest.Core){
		"by-hand": func(w *world, o *providertest.Core) {
			o.Applied(w.changed(2, more))
			w.on("update_proc_info", failing, 2)
			o.Apply(w.declares(2))
		},
		"rolled-back": func(w *world, o *providertest.Core) {
			w.on("update_proc_info", once(failing), 1)
			w.on("update_proc_info", after(failing), 2)
			o.Apply(w.changed(2, more))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.sim.ReregisteringKeepsTime = true
				object := w.object()
				object.Applied(w.declares(2, more))
				w.sim.FreezeStatus()
				play(w, object)
				w.play(object,
					step{name: "again", befalls: (*world).repair, config: w.declares(2, more), calls: []string{on("update_proc_info", 2)}},
				)
			})
		})
	}
}

// A host could not leave, or be destroyed, and was stopped on the way. If it comes back while the cached status still
// shows it from before, the agents are asked.
func TestHostedProcess_stoppedAndStuckReturns(t *testing.T) {
	t.Parallel()
	for name, hosts := range map[string]int{"leaves": 1, "destroyed": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				more, resource := map[string]any{"ensure": "running", "on_destroy": "stop"}, w.object()
				resource.Applied(w.declares(2, more))
				w.sim.FreezeStatus()
				w.on("unregister_proc_info", simulator.Fault{Code: new(65535)}, 2)
				var config map[string]any // destroys
				if hosts > 0 {
					config = w.declares(hosts, more)
				}
				_, said := resource.Apply(config)
				providertest.Check(t, tells(said, "could not be unregistered on 1 of"), "said: %s", said)
				providertest.Check(t, !w.at(2).Running, "web-2 still runs")
				w.sim.Repair()

				resource.Applied(w.declares(2, more))

				p := w.at(2)
				providertest.Check(t, p.Running && p.Hosted, "web-2 runs: %t, is hosted: %t", p.Running, p.Hosted)
				w.sim.ResetCalls()
				resource.Refresh()
				providertest.Check(t, len(resource.Reasons("out_of_sync")) == 0, "out of sync: %v", resource.Reasons("out_of_sync"))
			})
		})
	}
}

// What an apply saw on a host is not undone by a cached status that is older: the next plan still shows the host.
func TestHostedProcess_failedWhileStatusLags(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		was, ensure, left string
		op                int // that fails
	}{
		"not-started": {"hosted", "running", "not_running", 0},
		"not-hosted":  {"registered", "hosted", "not_hosted", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				config, resource := w.declares(2, attribute("ensure", tt.ensure)), w.object()
				resource.Applied(w.declares(2, attribute("ensure", "running")))
				resource.Applied(w.declares(2, attribute("ensure", tt.was)))
				w.sim.FreezeStatus()
				w.do(w.sim.StopProcess, 2)
				w.onOp(tt.op, simulator.Fault{Code: new(65535)}, 2)
				resource.Apply(config)
				reason := resource.Reasons("out_of_sync")["web-2"]
				providertest.Check(t, strings.HasPrefix(reason, tt.left+": 65535"), "web-2 is %q", reason)
				w.sim.Repair()

				resource.Applied(config)

				p := w.at(2)
				providertest.Check(t, p.Hosted && (p.Running || tt.ensure != "running"), "web-2 is hosted: %t, runs: %t", p.Hosted, p.Running)
				resource.Settled(config)
			})
		})
	}
}

// A process that did not get the new declaration also stops. The refresh that finds it stopped keeps other_spec, which
// JOB does not show.
func TestHostedProcess_oldDeclarationAndStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job)
	running, resource := attribute("ensure", "running"), w.object()
	resource.Applied(w.declares(2, running))
	w.on("update_proc_info", away, 2)
	resource.Apply(w.changed(2, running))
	w.sim.Repair()
	w.do(w.sim.KillProcess, 2)

	resource.Refresh()
	reason := resource.Reasons("out_of_sync")["web-2"]
	providertest.Check(t, strings.HasPrefix(reason, "other_spec: 117"), "web-2 is %q", reason)
	resource.Applied(w.changed(2, running))

	if p := w.at(2); !p.Running || !p.Hosted || !strings.Contains(string(p.Spec), `"./start.sh -v"`) {
		t.Errorf("web-2 runs: %t, is hosted: %t, with %s", p.Running, p.Hosted, p.Spec)
	}
}

// A host that did not get a new declaration may run by the previous one, which state does not have. If a destroy finds
// nothing to stop there, it warns.
func TestHostedProcess_oldDeclarationNotStopped(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		more := map[string]any{"ensure": "running", "on_destroy": "stop"}
		resource := w.object()
		resource.Applied(w.declares(2, more))
		w.on("update_proc_info", away, 2)
		resource.Apply(w.changed(2, more))
		w.sim.Repair()
		w.do(w.sim.KillProcess, 2)
		w.play(resource, step{name: "destroyed", says: "was to be stopped or killed on 1 of 2 hosts, where it was registered with another declaration", anyCalls: true})
	})
}

// A resource returns its identity in every response, even if the CLI has none because the state is older than
// identities.
func TestHostedProcess_identity(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"kept": true, "from-an-older-cli": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			resource := w.object()
			for _, s := range []struct {
				name string
				does func()
			}{
				{"created", func() { resource.Applied(w.declares(2)) }},
				{"refreshed", func() { resource.Refresh() }},
				{"updated", func() { resource.ApplyUnrefreshed(w.declares(2, attribute("adopt_existing", true))) }},
			} {
				s.does()
				want := any(map[string]any{"namespace": "web", "name": "nginx"})
				providertest.Same(t, s.name, want, resource.IdentityOf(resource.Identity))
				if !keeps {
					resource.Identity = nil
				}
			}
		})
	}
}

// An import by identity finds the same as one by id, and both return the identity before any refresh.
func TestHostedProcess_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := sim.Configured(t)
	created := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	created.Applied(providertest.FaceESB.Reference("./start.sh", 2))

	resp, err := p.Server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, ID: "web:nginx"})
	p.Fine(err, resp.Diagnostics)
	providertest.Same(t, "identity of an import by id", p.IdentityOf(created.Identity), p.IdentityOf(resp.ImportedResources[0].Identity))
	resp, err = p.Server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: providertest.HostedType, Identity: created.Identity})
	p.Fine(err, resp.Diagnostics)

	byID := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	providertest.Silent(t, byID.Imports("web:nginx"))
	byIdentity := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	imported := resp.ImportedResources[0]
	byIdentity.State, byIdentity.Private, byIdentity.Identity = byIdentity.Unwire(imported.State), imported.Private, imported.Identity
	providertest.Silent(t, byIdentity.Refresh())
	diff := cmp.Diff(providertest.Plain(t, byID.State), providertest.Plain(t, byIdentity.State))
	providertest.Check(t, diff == "", "state (-by id +by identity):\n%s", diff)
	providertest.Same(t, "identity by id, and by identity", p.IdentityOf(byID.Identity), p.IdentityOf(byIdentity.Identity))
}
