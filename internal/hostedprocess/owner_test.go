package hostedprocess_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// When a tainted object is replaced, Terraform passes no private state to its destroy. What the object registered is
// unregistered nevertheless, but not what an object with the same declaration has taken over since.
func TestHostedProcess_taintedReplacement(t *testing.T) {
	t.Parallel()
	for name, takenOver := range map[string]bool{"its-own": false, "taken-over": true} {
		for way, apply := range applies {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				faces, want := each, providertest.AddressList([]int{1, 2})
				if takenOver {
					faces, want = gse, nil // JOB has no cached status, so nothing shows it
				}
				through(t, faces, func(w *world) {
					config, object := w.declares(2, attribute("on_destroy", "stop")), w.object()
					object.Applied(config)
					if takenOver {
						w.object().Applied(config)
					}
					object.Tainted, object.Protocol = true, w.open()
					w.sim.ResetCalls()

					kind, said := apply(object, config)

					undone := slices.Compact(undoneOn(w.sim))
					if kind != providertest.PlanReplace || said.Failed() || strings.Contains(said.String(), anothers) != takenOver || !slices.Equal(undone, want) {
						t.Errorf("%s: unregistered %v; said: %s", kind, undone, said)
					}
				})
			})
		}
	}
}

// anothers is the summary of the warning about hosts that another resource has registered since.
const anothers = "Hosts Belong To Another Resource"

// applies has an apply, and one with -refresh=false.
var applies = map[string]func(*providertest.Core, map[string]any) (providertest.PlanKind, providertest.Diagnostics){
	"refreshed": (*providertest.Core).Apply, "unrefreshed": (*providertest.Core).ApplyUnrefreshed,
}

// Some platforms may replace the registration at a start. An operation sends no owner and, through the ESB, no limits.
// A refresh finds registrations without an owner, and the next apply registers them again.
func TestHostedProcess_operationReplaces(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.StartReplaces = true
		resource, config := w.object(), w.declares(2)
		resource.Applied(config)
		operation := w.declares(2)
		operation["operation"] = "start"
		w.open().CoreOf(providertest.ActionType, &providertest.Kept{}).Applied(operation)
		if p := w.at(1); p.Labels["tf_spec_owner"] != "" || limits(p) != (w.by == gateway) {
			t.Fatalf("the start left %+v", p)
		}

		resource.Refresh()
		lost := resource.Reasons("out_of_sync")
		providertest.Check(t, len(lost) == 2 && strings.HasPrefix(lost["web-1"], "other_labels"), "out_of_sync is %v", lost)
		w.play(resource, step{name: "repaired", config: config, calls: []string{on("update_proc_info", 1, 2)}})

		if p := w.at(1); p.Labels["tf_spec_owner"] != resource.Attribute("owner") || !p.Running || !limits(p) {
			t.Errorf("it is %+v", p)
		}
	})
}

// limits reports whether the agent has the declared limits.
func limits(p simulator.Process) bool { return strings.Contains(string(p.Spec), `"cpu":30`) }

// At the gateway, the object's own start keeps the limits. Through the ESB, if the start replaced the registration, a
// refresh finds that, and the next apply registers again, once, and starts nothing. That holds even if the answer to the
// start was lost.
func TestHostedProcess_limitsAreKept(t *testing.T) {
	t.Parallel()
	running, restart := attribute("ensure", "running"), attribute("on_update", "restart")
	for name, c := range map[string]struct {
		before, runs bool // created before, and runs
		lost         bool // answers to the start are lost
		killed       bool // the create is killed after its starts
	}{
		"created": {}, "raised": {before: true}, "restarted": {before: true, runs: true}, "not-seen": {before: true, lost: true}, "killed": {killed: true},
	} {
		for _, replaces := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/start-replaces-%t", name, replaces), func(t *testing.T) {
				t.Parallel()
				through(t, gse, func(w *world) {
					w.sim.StartReplaces = replaces
					resource, config, left := w.object(), w.declares(2, running), map[string]string{}
					if c.before {
						resource.Applied(w.declares(2))
					}
					if c.runs {
						w.do(w.sim.StartProcess, 1, 2)
						config = w.changed(2, running, restart)
					}
					if c.killed {
						w.object().Applied(config) // its state is lost
					}
					started := w.at(1).PID
					if c.lost {
						w.onOp(simulator.OpStart, simulator.Fault{Drop: "after"})
					}
					resource.Apply(config)
					w.sim.Repair()
					ran := pids(w.sim, 2)
					if c.killed && ran[0] != started {
						w.Errorf("process %d became %d", started, ran[0])
					}
					if replaces && w.by == esb && !c.killed {
						left = codesOf("other_labels", 1, 2)
					}
					resource.Refresh()
					providertest.Same(w, "out_of_sync", left, codes(resource))
					if len(left) > 0 {
						said := resource.Reasons("out_of_sync")["web-1"]
						providertest.Check(w, said == "other_labels: replaced by a start without its limits", "it says %s", said)
						w.play(resource, step{name: "registered again", config: config, calls: []string{on("update_proc_info", 1, 2)}})
					}
					w.play(resource, step{name: "again", config: config, kind: providertest.PlanNothing})
					for n := 1; n <= 2; n++ {
						if p := w.at(n); !limits(p) || !p.Running || p.Labels["tf_spec"] != resource.Attribute("fingerprint") || p.Labels["tf_spec_owner"] != resource.Attribute("owner") {
							w.Errorf("web-%d has %v and %s; running: %t", n, p.Labels, p.Spec, p.Running)
						}
					}
					now := pids(w.sim, 2)
					providertest.Check(w, slices.Equal(ran, now), "started again: %v, then %v", ran, now)
				})
			})
		}
	}
}

// The owner is read from the label that it was written to, even if the provider block names another label when hosts are
// unregistered.
func TestHostedProcess_labelOfBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	first := w.object()
	first.Applied(w.declares(2))
	w.object().Applied(w.declares(2))
	w.settings["spec_fingerprint_label"] = "other"
	w.expectSpared(first, anothers)
}

// expectSpared destroys an object in its own run, without a refresh. The destroy must unregister and stop nothing, and
// say so.
func (w *world) expectSpared(object *providertest.Core, says string) {
	w.Helper()
	w.sim.ResetCalls()
	object.Protocol = w.open()
	said := object.DestroyUnrefreshed()
	providertest.Check(w, !said.Failed() && strings.Contains(said.String(), says) && len(undoneOn(w.sim)) == 0, "unregistered %v; said: %s", undoneOn(w.sim), said)
}

// If no label shows the owner, an object that is destroyed after another one has registered the same hosts in this run
// leaves them alone, without a warning.
//
// Promised in ownership.md: A host that another resource has registered in the same run is left alone without asking and without a warning.
func TestHostedProcess_replacedFirstWithoutLabels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faces []providertest.Face
		label string
		lags  bool
	}{
		"no-labels":          {[]providertest.Face{job}, "tf_spec", false},
		"label-off":          {gse, "", false},
		"cached-status-lags": {gse, "tf_spec", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				w.settings["spec_fingerprint_label"] = c.label
				config, old := w.declares(2, attribute("adopt_existing", true)), w.object()
				old.Applied(config)
				if c.lags {
					w.sim.FreezeStatus()
				}
				run := w.open()
				run.CoreOf(w.by.TypeName(providertest.OnCreate), &providertest.Kept{}).Applied(config)
				w.sim.ResetCalls()
				old.Protocol = run
				said := old.DestroyUnrefreshed()
				providertest.Check(t, len(said) == 0 && len(undoneOn(w.sim)) == 0, "unregistered %v; said: %s", undoneOn(w.sim), said)
			})
		})
	}
}

// A registration that another object has made since is not unregistered, even if the cached status still names this
// object. Registrations that the agents show to be this object's are unregistered at once, others once the cached status
// shows the owner.
//
// Promised in ownership.md: The host stays in `hosts`, and the apply ends with an error that says why.
func TestHostedProcess_overtakenUnseen(t *testing.T) {
	t.Parallel()
	frozen := func(w *world) { w.sim.FreezeStatus() }
	unplaced := func(w *world) { w.sim.RowsWithoutHost = true }
	asked := func(f simulator.Fault) func(*world) { return func(w *world) { w.onOp(simulator.OpQuery, f) } }
	const later, untimed = "cannot be read yet", "gave no registration time"
	for name, c := range map[string]struct {
		by            providertest.Face
		before, after func(*world) // the apply of this object
		overtaken     bool
		says          string // if not "", nothing is unregistered
		looks         int    // at the cached status
	}{
		"hosted-again":              {esb, nil, nil, false, "", 1},
		"frozen":                    {esb, nil, frozen, true, later, 60},
		"frozen-gateway":            {gateway, nil, frozen, true, later, 60},
		"never-seen":                {esb, frozen, nil, true, later, 60},
		"nothing-is-placed":         {gateway, unplaced, nil, true, later, 60},
		"agent-silent":              {esb, nil, asked(away), false, untimed, 0},
		"agent-unreadable":          {esb, nil, asked(simulator.Fault{ContentShape: "broken"}), false, untimed, 60},
		"its-own":                   {gateway, nil, frozen, false, "", 1},
		"its-own-never-seen":        {gateway, frozen, nil, false, "", 1},
		"its-own-nothing-is-placed": {gateway, unplaced, nil, false, "", 1},
		"hosted-late":               {esb, func(w *world) { w.sim.SetLag(3) }, nil, false, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.by)
			pass := w.passing()
			if c.before != nil {
				c.before(w)
			}
			first := w.object()
			first.Applied(w.declares(2))
			if name == "hosted-again" { // renews the registration time
				pass()
				w.do(w.sim.Unhost, 1, 2)
				first.Between = func() { w.sim.FreezeStatus() }
				first.Applied(w.declares(2))
				first.Between = nil
			}
			if c.after != nil {
				c.after(w)
			}
			if c.overtaken {
				w.object().Applied(w.declares(2, attribute("adopt_existing", true)))
			}
			w.sim.ResetCalls()
			first.Protocol = w.open()

			said := first.DestroyUnrefreshed()

			undone, text := slices.Compact(undoneOn(w.sim)), words(said.String())
			if said.Failed() != (c.says != "") || !strings.Contains(text, c.says) || (len(undone) == 0) != said.Failed() || first.State.IsNull() == said.Failed() {
				t.Errorf("unregistered %v; said: %s", undone, said)
			}
			providertest.Same(t, "reads of the cached status", c.looks, w.sim.Calls().Count("get_proc_status_v2"))
		})
	}
}

// While a destroy waits for the cached status of one host, another tool registers the process on a host that was the
// object's before the wait.
func TestHostedProcess_overtakenMeanwhile(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		pass := w.passing()
		first := w.object()
		first.Applied(w.declares(2))
		w.sim.FreezeStatus()
		pass()
		w.object().Applied(w.declares(0, attribute("hosts", addresses(2)), attribute("adopt_existing", true)))
		pass()
		var reads atomic.Int64
		w.sim.OnCall = func(call simulator.Call) {
			if call.API == "get_proc_status_v2" && reads.Add(1) == 3 {
				w.colleague(1)
			}
		}
		w.sim.ResetCalls()
		first.Protocol = w.open()
		said := first.DestroyUnrefreshed()
		let := undoneOn(w.sim)
		providertest.Check(w, len(let) == 0 && said.Failed() && len(first.Reasons("hosts")) == 2 && reads.Load() >= 3, "unregistered %v; said: %s", let, said)
	})
}

// A host whose owner cannot be determined in its wave counts toward the limit of the rollout, so no further wave begins.
func TestHostedProcess_heldInItsWave(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		resource := w.object()
		resource.Applied(w.declares(3, attribute("rollout", map[string]any{"batch_size": 1})))
		w.sim.OnCall = func(call simulator.Call) {
			if call.API == "unregister_proc_info" || call.Op == simulator.OpUnhost { // of the first wave
				w.sim.OnCall = nil
				w.onOp(simulator.OpQuery, away, 2)
			}
		}
		resource.Protocol = w.open()
		said := resource.DestroyUnrefreshed()
		providertest.Fails(w, said, "its agent did not answer", "too many hosts had failed before its wave")
		providertest.Same(w, "hosts in state", addresses(2, 3), resource.Reasons("hosts"))
		providertest.Check(w, !w.at(1).Registered && w.at(2).Registered && w.at(3).Registered, "they are %+v, %+v and %+v", w.at(1), w.at(2), w.at(3))
	})
}

// If private state is lost and the cached status does not show what may be stopped, nothing is stopped or unregistered.
func TestHostedProcess_stoppedOnlyIfRead(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		resource := w.object()
		resource.Applied(w.declares(2, attribute("ensure", "running"), attribute("on_destroy", "stop")))
		resource.Private = nil
		w.on("get_proc_status_v2", after(simulator.Fault{HTTPStatus: 403})) // the first shows the owner
		w.sim.ResetCalls()
		resource.Protocol = w.open()
		said := resource.DestroyUnrefreshed()
		providertest.Fails(w, said, "who registered it could not be read", "on 2 of 2 hosts", "HTTP 403")
		providertest.Check(w, len(undoneOn(w.sim)) == 0 && len(resource.Reasons("hosts")) == 2, "undone on %v; hosts in state: %v", undoneOn(w.sim), resource.Reasons("hosts"))
	})
}

// An agent that does not answer keeps only its own host in state.
func TestHostedProcess_destroyedBesideSilentAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		query simulator.Fault
		says  string
	}{
		"in-progress": {
			simulator.Fault{Pending: 1 << 20},
			"An agent that is still in progress (115) may be slow … do the same again later. … remove the resource with terraform state rm once no other host is left in it.",
		},
		"away": {
			simulator.Fault{Code: new(simulator.CodeAgentAbnormal)},
			"If a machine is gone for good, set forget_unreachable = true … reduce hosts to the hosts named above, declare all else as it was, and apply that … Then destroy or replace it again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			resource := w.object()
			resource.Applied(w.declares(2, attribute("timeouts", map[string]any{"delete": "8s"}))) // asking the agents may take a quarter of it
			w.onOp(simulator.OpQuery, c.query, 1)
			w.sim.ResetCalls()
			said := resource.DestroyUnrefreshed()
			if want := []string{providertest.Address(2)}; !said.Failed() || !slices.Equal(undoneOn(w.sim), want) || !tells(said, c.says) {
				t.Errorf("unregistered %v; said: %s", undoneOn(w.sim), said)
			}
		})
	}
}

// A machine that is gone keeps an object from being destroyed or replaced. What the message says to do forgets it.
func TestHostedProcess_destroyedBesideGoneMachine(t *testing.T) {
	t.Parallel()
	renamed := attribute("meta", map[string]any{"namespace": "web", "name": "apache"})
	for name, c := range map[string]struct {
		create, then map[string]any // what is declared, then nil to destroy
		tainted      bool
	}{
		"destroyed":        {},
		"replaced":         {then: renamed},
		"tainted":          {create: attribute("on_partial_create", "error"), then: map[string]any{}, tainted: true},
		"tainted-and-more": {create: attribute("on_partial_create", "error"), tainted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				object := w.object()
				if c.tainted {
					w.on("register_proc_info", away, 3)
				}
				object.Apply(w.declares(3, c.create))
				w.repair()
				w.onOp(simulator.OpQuery, away, 1)
				w.onOp(simulator.OpHost, away, 1)
				config := func(hosts ...int) map[string]any {
					if c.then == nil {
						return nil
					}
					return w.declares(0, c.create, c.then, attribute("hosts", addresses(hosts...)))
				}
				object.Protocol = w.open()
				_, said := object.Apply(config(1, 2, 3))
				providertest.Check(w, said.Failed() && object.Tainted == c.tainted && tells(said, "hosts named above … `terraform untaint` comes before."), "tainted: %t; said: %s", object.Tainted, said)
				providertest.Same(w, "hosts in state", addresses(1), object.Reasons("hosts"))

				if c.tainted {
					object.Untaint()
				}
				object.Protocol = w.open()
				object.Apply(w.declares(1, c.create, attribute("forget_unreachable", true)))
				w.sim.ResetCalls()
				object.Protocol = w.open()
				object.Replacing = c.then != nil
				_, said = object.Apply(config(2, 3))
				providertest.Check(w, !said.Failed() && tells(said, "Unreachable Hosts Forgotten") && object.State.IsNull() == (c.then == nil) && len(undoneOn(w.sim)) == 0, "said: %s", said)
			})
		})
	}
}

// A host whose agent never answers cannot leave. The way out does not depend on an import, which JOB does not have.
func TestHostedProcess_leavesNever(t *testing.T) {
	t.Parallel()
	for _, by := range each {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				object := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				object.Applied(fleetOf(by, 2))
				sim.Inject(simulator.Fault{API: "*", Hosts: providertest.AddressList([]int{2}), Unreachable: "pending"})
				const out = "remove the resource with terraform state rm, and create it again on the other hosts with adopt_existing = true."
				if _, said := object.ApplyUnrefreshed(fleetOf(by, 1)); !said.Failed() || !tells(said, "(115) may be slow … "+out) {
					t.Errorf("said: %s", said)
				}
				again := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				again.Applied(fleetOf(by, 1, attribute("adopt_existing", true)))
			})
		})
	}
}

// An object keeps the supplier id that the provider had at its create or import, for hosts that join as well, whatever is
// lost or fails. Its hosts are unregistered with that id.
//
// Promised in changing-hosts.md: An object keeps the `bk_supplier_id` that the provider had when it was created or imported, for hosts that join as well.
// Promised in changing-hosts.md: The provider's setting is for new objects, and changing it affects no other.
func TestHostedProcess_supplierKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb) // the gateway knows no supplier ids
	w.sim.SuppliersApart = true
	w.settings["bk_supplier_id"] = 3
	resource := w.object()
	resource.Applied(w.declares(2))
	w.settings["bk_supplier_id"] = 5
	waves := map[string]any{"rollout": map[string]any{"batch_size": 1, "on_failure": "rollback", "canary": []string{"web-4"}}}
	named := attribute("hosts", map[string]string{"web-1": "0:3:10.0.0.2", "web-2": providertest.Address(2), "web-3": providertest.Address(3), "web-5": "0:5:10.0.0.6"})
	w.play(resource,
		step{name: "changed in the provider", config: w.declares(2), kind: providertest.PlanNothing},
		step{name: "one joins", config: w.declares(3), anyCalls: true},
		step{name: "one joins with its own", config: w.declares(0, named), anyCalls: true},
		step{name: "another spec", config: w.changed(3), calls: []string{on("unregister_proc_info", 5), on("update_proc_info", 1, 2, 3)}},
		step{
			name: "rolled back", befalls: func(w *world) { w.on("update_proc_info", away, 2) }, config: w.declares(4, waves), anyCalls: true,
			hosts: addresses(1, 2, 3, 4), left: codesOf("other_spec", 2), says: "Hosted Process Rolled Back", fails: true,
		},
		step{
			name: "one cannot leave", befalls: func(w *world) { w.sim.Repair(); w.on("unregister_proc_info", away, 3) }, config: w.changed(2),
			hosts: addresses(1, 2, 3), anyCalls: true, says: "agent is away", fails: true,
		},
		step{name: "destroyed", befalls: (*world).repair, anyCalls: true},
	)
	w.expectNothing()
}

// The supplier id outlives private state: an object whose provider was killed, or that is imported or tainted, unregisters
// its hosts with it.
//
// Promised in changing-hosts.md: It is in state as `bk_supplier_id`, and isn't lost with private state.
func TestHostedProcess_supplierOfLostLedger(t *testing.T) {
	t.Parallel()
	for name, befalls := range map[string]func(*world, *providertest.Core, int){
		"destroyed": func(*world, *providertest.Core, int) {},
		"changed":   func(w *world, o *providertest.Core, _ int) { o.Applied(w.changed(2)) },
		"as-it-was": func(w *world, o *providertest.Core, _ int) { o.Apply(w.declares(2)) },
		"one-joins": func(w *world, o *providertest.Core, _ int) { o.Applied(w.declares(3)) },
		"tainted":   func(w *world, o *providertest.Core, _ int) { o.Tainted = true; o.Apply(w.declares(2)) },
		"import": func(w *world, o *providertest.Core, id int) {
			w.settings["bk_supplier_id"] = id
			o.Protocol = w.open()
			*o.Kept = providertest.Kept{}
			providertest.Silent(w, o.Imports("web:nginx"))
			w.settings["bk_supplier_id"] = 5
			o.Protocol = w.open()
		},
	} {
		for _, id := range []int{3, 0} { // 0 is not in state
			t.Run(fmt.Sprintf("%s/%d", name, id), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, esb)
				w.sim.SuppliersApart = true
				w.settings["bk_supplier_id"] = id
				resource := w.object()
				resource.Applied(w.declares(2))
				w.settings["bk_supplier_id"] = 5
				resource.Protocol, resource.Private = w.open(), nil
				befalls(w, resource, id)
				resource.Apply(nil)
				w.expectNothing()
			})
		}
	}
}

// An address that would give its host another supplier id than it has is refused. One that says which it has is not.
func TestHostedProcess_otherSupplier(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ was, now, says string }{
		"own-written":   {"0:10.0.0.2", "0:3:10.0.0.2", ""},
		"own-unwritten": {"0:3:10.0.0.2", "0:10.0.0.2", ""},
		"left-out":      {"0:2:10.0.0.2", "0:10.0.0.2", "0:10.0.0.2 would have the bk_supplier_id 3, and is registered with 2, which it keeps: write 0:2:10.0.0.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, esb)
			w.settings["bk_supplier_id"] = 3
			resource := w.object()
			resource.Applied(w.declares(1, attribute("hosts", map[string]string{"web-1": c.was})))
			w.sim.ResetCalls()
			_, said := resource.Apply(w.declares(1, attribute("hosts", map[string]string{"web-1": c.now})))
			providertest.Check(t, said.Failed() == (c.says != "") && tells(said, c.says), "said: %s", said)
			w.sim.Changed(t)
		})
	}
}

// Labels that the platform adds are not drift. A declared label that is gone is.
//
// Promised in partial-failure.md: Labels that the platform adds by itself are not drift.
// Promised in drift-in-ci.md: With the fingerprint label (on by default), two more cases count: another spec was registered (`other_spec`),
// or a declared label is missing or changed (`other_labels`).
func TestHostedProcess_labelsOfThePlatform(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(2, labelled(map[string]any{"team": "sre"}))
		resource := w.object()
		resource.Applied(config)
		w.sim.SetRowLabels(map[string]string{"bk_biz_id": "3"})
		w.play(resource, step{name: "labels are added", config: config, kind: providertest.PlanNothing})
		p := w.at(2)
		delete(p.Labels, "team")
		providertest.NoError(t, w.sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)))
		resource.Refresh()
		providertest.Same(t, "out_of_sync", codesOf("other_labels", 2), codes(resource))
		w.play(resource, step{name: "repaired", config: config, calls: []string{on("update_proc_info", 2)}})
	})
}

// A changed default label registers every host again, and the plan says so even while a host is out of sync.
//
// Promised in partial-failure.md: A changed `spec` or label, the provider's `default_labels` among them, registers all
// of the resource's hosts again, not only those in `out_of_sync`.
// Promised in rolling-restart.md: It changes with every change of `spec` or labels, default labels among them:.
func TestHostedProcess_defaultLabels(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.settings["default_labels"] = map[string]string{"tier": "silver"}
		w.on("register_proc_info", away, 3)
		resource := w.object()
		resource.Apply(w.declares(3))
		left, marked := codes(resource), resource.Attribute("fingerprint")
		w.sim.Repair()
		w.settings["default_labels"] = map[string]string{"tier": "gold"}
		resource.Protocol = w.open()
		plan, said := resource.Plan(w.declares(3))
		planned := plan.Planned(t)
		labels, mark := providertest.Plain(t, planned["labels_all"]), providertest.Plain(t, planned["fingerprint"])
		if diff := cmp.Diff(map[string]any{"tier": "gold"}, labels); diff != "" || mark == marked || len(left) != 1 {
			t.Errorf("planned %v, it was %v; labels (-want +got):\n%s\nsaid: %s", mark, marked, diff, said)
		}
		resource.Applied(w.declares(3))
		for n := 1; n <= 3; n++ {
			p := w.at(n)
			providertest.Check(t, p.Labels["tier"] == "gold", "web-%d is registered with %v", n, p.Labels)
		}
	})
}

// unlimited declares a process without limits on hosts web-1 to web-n.
func unlimited(start string, n int, more ...map[string]any) map[string]any {
	config := startedBy(esb, start, n, more...)
	values{"spec.resource": nil}.put(config)
	return config
}

// A process without limits is registered by hosting it, because register_proc_info does not accept it. Limits can be
// added and removed, and a destroy also removes what hosting registered.
func TestHostedProcess_unlimited(t *testing.T) {
	t.Parallel()
	for _, by := range gse {
		hosts := on("operate_proc_v2/3", 1, 2)
		limited, ended := []string{on("update_proc_info", 1, 2)}, []string{on("operate_proc_v2/4", 1, 2), on("unregister_proc_info", 1, 2)}
		if by == gateway {
			hosts, limited, ended = on("operate_proc_multi/3", 1, 2), []string{on("operate_proc_multi/3", 1, 2)}, []string{on("operate_proc_multi/4", 1, 2)}
		}
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, by)
			resource := w.object()
			for _, s := range []struct {
				name   string
				config map[string]any
				calls  []string
				limits bool
			}{
				{"created", unlimited("./start.sh", 2), []string{hosts}, false},
				{"another command", unlimited("./b.sh", 2), []string{hosts}, false},
				{"limited", startedBy(by, "./b.sh", 2), limited, true},
				{"unlimited again", unlimited("./b.sh", 2), []string{hosts}, false},
				{"destroyed", nil, ended, false},
			} {
				w.sim.ResetCalls()
				_, said := resource.Apply(s.config)
				diff := cmp.Diff(s.calls, w.sim.Changes())
				providertest.Check(t, diff == "" && len(said) == 0, "%s: calls that change something (-want +got):\n%s\nsaid: %s", s.name, diff, said)
				for n := 1; n <= 2; n++ {
					if p := w.at(n); p.Hosted != (s.config != nil) || p.Registered && s.config == nil || strings.Contains(string(p.Spec), `"resource"`) != s.limits {
						t.Errorf("%s: web-%d has %+v", s.name, n, p)
					}
				}
				if kind, said := resource.Apply(s.config); kind != providertest.PlanNothing || len(said) > 0 {
					t.Errorf("%s: something was left to do: %s\n%s", s.name, kind, said)
				}
			}
		})
	}
}

// Limits can also be added if the platform does not update what is not registered, as a hosted process without limits.
func TestHostedProcess_unlimitedNotUpdated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.sim.UpdateRefuses = true
	w.play(w.object(),
		step{name: "created", config: unlimited("./a.sh", 2), kind: providertest.PlanCreate, anyCalls: true},
		step{name: "limited", config: startedBy(esb, "./a.sh", 2), calls: []string{on("register_proc_info", 1, 2), on("update_proc_info", 1, 2)}},
		step{name: "changed", config: startedBy(esb, "./b.sh", 2), calls: []string{on("update_proc_info", 1, 2)}},
	)
}

// Hosting silently replaces what another tool hosts, so the agents are asked first. An adopted process keeps running.
func TestHostedProcess_unlimitedAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.do(w.sim.Host, 1)
	w.do(w.sim.StartProcess, 1)
	before, resource := w.at(1), w.object()
	w.play(resource,
		step{name: "left alone", config: unlimited("./a.sh", 1), kind: providertest.PlanCreate, hosts: map[string]string{}, says: "registered already", fails: true},
		step{name: "adopted", config: unlimited("./a.sh", 1, attribute("adopt_existing", true)), kind: providertest.PlanCreate, anyCalls: true},
	)
	after := w.at(1)
	providertest.Check(t, after.PID == before.PID && after.Hosted && providertest.StartsWith(after, "./a.sh"), "it was %+v and is %+v", before, after)
}

// Through the ESB such a process cannot be registered without hosting. The plan refuses it, and so does an apply whose
// plan did not know the provider's settings.
func TestHostedProcess_unlimitedAndRegistered(t *testing.T) {
	t.Parallel()
	for by, says := range map[providertest.Face]string{esb: `Set spec.resource, or ensure = "hosted".`, gateway: ""} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, by)
			_, said := w.object().Apply(unlimited("./a.sh", 2, attribute("ensure", "registered")))
			if changes := w.sim.Changes(); said.Failed() != (says != "") || !strings.Contains(said.String(), says) || said.Failed() && len(changes) > 0 {
				t.Errorf("changed %v; said: %s", changes, said)
			}
		})
	}
}

// An apply that is rolled back also names the owners from whom it has taken hosts over.
func TestRollback_takenOver(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		ours, theirs := w.object(), w.object()
		ours.Applied(w.declares(1))
		theirs.Applied(w.declares(0, attribute("hosts", addresses(2))))
		w.on("update_proc_info", once(away), 1)
		ours.Protocol = w.open()
		_, said := ours.Apply(w.changed(2, attribute("adopt_existing", true),
			attribute("rollout", map[string]any{"canary": []string{"web-2"}, "waves": []any{"100%"}, "on_failure": "rollback"})))
		owner, _ := theirs.Attribute("owner").(string)
		providertest.Check(t, strings.Contains(ours.Notices.String()+said.String(), "Hosts Taken Over") && strings.Contains(said.String()+ours.Notices.String(), owner), "said: %s %s", said, ours.Notices)
	})
}

// A host that cannot leave because its agent does not answer is named only in the error.
func TestHostedProcess_awayLeaves(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		more := attribute("max_unreachable_hosts", "1")
		o := w.object()
		o.Applied(w.declares(3, more))
		w.sim.SetReachable(providertest.Address(3), false)
		o.Protocol = w.open()
		o.Apply(w.changed(3, more)) // from now on it is in unreachable
		o.Protocol = w.open()
		_, said := o.ApplyUnrefreshed(w.changed(2, more))
		providertest.Check(t, strings.Contains(said.String(), "Unable to Unregister") && !strings.Contains(said.String(), "Agents Not Reachable"), "said: %s", said)
	})
}

// Hosts that a killed apply has registered do not count as another owner's while the cached status lags. A destroy keeps
// them in state until it shows the owner.
func TestOwnership_ownRowNotThere(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]func(w *world, o *providertest.Core){
		"ledger-lost": func(_ *world, o *providertest.Core) { o.Private = nil },
		"joined": func(w *world, o *providertest.Core) {
			kept := *o.Kept
			o.Protocol = w.open()
			o.Applied(w.declares(3))
			*o.Kept = kept
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				w.sim.FreezeStatus()
				o := w.object()
				o.Applied(w.declares(2))
				killed(w, o)
				o.Protocol = w.open()
				_, said := o.Apply(w.changed(3))
				providertest.Check(t, said.Failed(), "the owner was found: %s", said)
				o.Protocol = w.open()
				_, said = o.Apply(nil)
				left := o.Reasons("hosts")
				for n := 1; n <= 3; n++ {
					_, kept := left[providertest.HostKey(n)]
					providertest.Check(t, kept || !w.at(n).Registered, "web-%d is registered but not in state; said: %s", n, said)
				}
				w.sim.ThawStatus()
				w.play(o, step{name: "destroyed", anyCalls: true})
				w.expectNothing()
			})
		})
	}
}

// Without labels, a host whose answer was lost is registered again. Another tool's registration is not replaced.
func TestHostedProcess_unlabelledAgain(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.settings["spec_fingerprint_label"] = ""
		o := w.object()
		w.on("register_proc_info", simulator.Fault{Drop: "after"}, 2)
		o.Apply(w.declares(2, attribute("rollout", map[string]any{"batch_size": 1, "max_failed_hosts": "1"})))
		providertest.Same(t, "out_of_sync", codesOf("unconfirmed", 2), codes(o))
		w.repair()
		w.colleague(3)
		w.play(o,
			step{name: "again", config: w.declares(3), anyCalls: true, left: codesOf("registered_by_other", 3), says: "registered already", fails: true},
			step{name: "destroyed", anyCalls: true},
		)
		for n, hosted := range map[int]bool{1: false, 2: false, 3: true} {
			providertest.Check(t, w.at(n).Hosted == hosted, "web-%d has %+v", n, w.at(n))
		}
	})
}

// Once labels are turned on, another resource's registration is known by its label, even if this object registered
// without labels before.
func TestHostedProcess_labelledSince(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.settings["spec_fingerprint_label"] = ""
		stops := attribute("on_destroy", "stop")
		o := w.object()
		o.Applied(w.declares(2, stops))
		w.settings["spec_fingerprint_label"] = "tf_spec"
		other := w.object()
		other.Protocol = w.open()
		other.Applied(w.declares(0, attribute("hosts", addresses(2)), attribute("adopt_existing", true), attribute("ensure", "running")))
		o.Protocol = w.open()
		_, said := o.ApplyUnrefreshed(w.declares(1, stops))
		providertest.Check(t, strings.Contains(said.String(), "Hosts Belong To Another Resource") && w.at(2).Running && w.at(2).Hosted, "web-2 has %+v; said: %s", w.at(2), said)
	})
}

// Through JOB, registering again would replace what another tool hosts, so the message does not advise it then. Once the
// other tool has given the host up, it leaves.
func TestOwnership_refusedThroughJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, job)
	o := w.object()
	w.on("register_proc_info", away, 2)
	o.Apply(w.declares(2))
	w.repair()
	w.colleague(2)
	o.Protocol = w.open()
	_, said := o.ApplyUnrefreshed(w.declares(1))
	providertest.Check(t, w.at(2).Hosted && strings.Contains(words(said.String()), "apply once more before you remove it if this resource registered it. If another tool did, do not: that would take it over, and then end it. "+
		"Keep the host out of hosts, and try again once the other tool has given it up"), "said: %s", said)
	w.play(o, step{name: "not yet", config: w.declares(1), hosts: addresses(1, 2), left: codesOf("not_registered", 2), says: "its agent has the process all the same", fails: true})
	providertest.Check(t, w.at(2).Hosted, "it is %+v", w.at(2))
	w.do(w.sim.Unhost, 2)
	w.play(o, step{name: "given up", config: w.declares(1)})
}

// A host whose agent goes down while it is registered again is unreachable like any other, and does not stop the rollout.
func TestHostedProcess_awayWhileRegistered(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		more := map[string]any{"max_unreachable_hosts": "1", "rollout": map[string]any{"batch_size": 1}}
		o := w.object()
		o.Applied(w.declares(3, more))
		f := away
		f.Pending = 1
		w.on("update_proc_info", f, 1)
		o.Protocol = w.open()
		_, said := o.Apply(w.changed(3, more))
		_, unreachable := o.Reasons("unreachable")["web-1"]
		providertest.Check(t, !said.Failed() && unreachable && len(codes(o)) == 0, "out_of_sync %v, unreachable %v; said: %s", codes(o), o.Reasons("unreachable"), said)
	})
}

// An agent that gives no registration times any more keeps its host in state. What the message says to do unregisters it.
func TestHostedProcess_timesNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	object := w.object()
	object.Applied(w.declares(2))
	hosted := map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": true}}}}}
	w.onOp(simulator.OpQuery, simulator.Fault{Code: new(0), Content: hosted})
	changed := labelled(map[string]any{"team": "sre"})
	w.play(object,
		step{
			name: "held", config: w.declares(1), hosts: addresses(1, 2), fails: true,
			says: "its agent gives no registration time any more; with the host in hosts, change a label and apply, which records that, and try again",
		},
		step{name: "recorded", config: w.declares(2, changed), calls: []string{on("update_proc_info", 1), on("update_proc_info", 2)}, anyCalls: true},
		step{name: "leaves", config: w.declares(1, changed), calls: []string{on("unregister_proc_info", 2)}},
	)
}
