package hostedprocess_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A host is unregistered with the supplier id that it was registered with, whatever the
// provider block says by then.
//
// Promised in changing-hosts.md: Every host keeps the `bk_supplier_id` that it was registered with.
func TestHostedProcess_supplierOfBefore(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway knows no supplier ids")
	for name, destroy := range map[string]bool{"destroyed": true, "leaves": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.SuppliersApart = true
			kept := &providertest.Kept{}
			config := providertest.FaceESB.Reference("./start.sh", 2)
			sim.Configured(t, map[string]any{"bk_supplier_id": 3}).CoreOf(providertest.HostedType, kept).Applied(config)
			sim.ResetCalls()
			later := sim.Configured(t, map[string]any{"bk_supplier_id": 5}).CoreOf(providertest.HostedType, kept)
			if destroy {
				if said := later.DestroyUnrefreshed(); len(said) > 0 {
					t.Error(said)
				}
			} else {
				config["hosts"] = providertest.HostsOf(1)
				later.Applied(config)
			}
			calls := sim.Calls().Of("unregister_proc_info")
			if len(calls) == 0 {
				t.Fatal("nothing was unregistered")
			}
			for _, call := range calls {
				if body := string(call.Body); !strings.Contains(body, `"bk_supplier_id":3`) || strings.Contains(body, `"bk_supplier_id":5`) {
					t.Errorf("sent %s", body)
				}
			}
		})
	}
}

// The provider's supplier id is for hosts that join: the others keep theirs, also where a later
// apply, a way back or a host that cannot leave writes state anew.
//
// Promised in changing-hosts.md: The provider's setting is for hosts that join, and changing it
// affects no other host.
func TestHostedProcess_supplierKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb) // the gateway knows no supplier ids
	w.sim.SuppliersApart = true
	w.settings["bk_supplier_id"] = 3
	resource := w.object()
	resource.Applied(w.declares(2))
	w.settings["bk_supplier_id"] = 5
	waves := map[string]any{"rollout": map[string]any{"batch_size": 1, "on_failure": "rollback", "canary": []string{"web-4"}}}
	w.play(resource,
		step{name: "changed in the provider", config: w.declares(2), kind: providertest.PlanNothing},
		step{name: "one joins", config: w.declares(3), anyCalls: true},
		step{name: "named by its own", config: w.declares(0, attribute("hosts", map[string]string{
			"web-1": "0:3:10.0.0.2", "web-2": providertest.Address(2), "web-3": "0:5:10.0.0.4",
		})), anyCalls: true},
		step{name: "another spec", config: w.changed(3), calls: []string{on("update_proc_info", 1, 2, 3)}},
		step{
			name: "rolled back", befalls: func(w *world) { w.on("update_proc_info", away, 2) }, config: w.declares(4, waves), anyCalls: true,
			hosts: addresses(1, 2, 3, 4), left: codesOf("other_spec", 2), says: "Hosted Process Rolled Back", fails: true,
		},
		step{
			name: "one cannot leave", befalls: func(w *world) { w.sim.Repair(); w.on("unregister_proc_info", away, 3) }, config: w.changed(2),
			hosts: addresses(1, 2, 3), anyCalls: true, says: "agent is away", fails: true,
		},
		step{name: "destroyed", befalls: func(w *world) { w.sim.Repair() }, anyCalls: true},
	)
	w.expectNothing()
}

// Registering at the gateway is hosting, which sends op_timeout: a change of it reaches
// the platform, although no registration of the ESB would carry it.
//
// Promised in partial-failure.md: a changed `op_timeout` is registered on every host all the same.
func TestHostedProcess_opTimeoutReachesTheGateway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gateway string
		sent    bool
	}{"esb": {"esb", false}, "gateway": {"apigw", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := sim.Configured(t, map[string]any{"gateway": c.gateway}).CoreOf(providertest.HostedType, &providertest.Kept{})
			config := providertest.FaceESB.Reference("./start.sh", 2)
			spec, _ := config["spec"].(map[string]any)
			policy, _ := spec["monitor_policy"].(map[string]any)
			policy["op_timeout"] = 30
			resource.Applied(config)
			sim.ResetCalls()
			policy["op_timeout"] = 90
			resource.Applied(config)
			sent := false
			for _, call := range sim.Calls().Of("operate_proc_multi") {
				sent = sent || strings.Contains(string(call.Body), `"op_timeout":90`)
			}
			if sent != c.sent {
				t.Errorf("sent to the platform: %t, want %t; calls: %v", sent, c.sent, sim.Calls())
			}
			if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
				t.Errorf("there was something left to do: %s %s", kind, said)
			}
		})
	}
}

// Labels that the platform adds by itself are no drift; one that was declared and is gone is.
//
// Promised in partial-failure.md: Labels that the platform adds by itself are no drift.
// Promised in drift-in-ci.md: With the fingerprint label (on by default), two more cases count:
// another spec was registered (`other_spec`), or a declared label is missing or changed
// (`other_labels`).
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
		if err := w.sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)); err != nil {
			t.Fatal(err)
		}
		resource.Refresh()
		if diff := cmp.Diff(codesOf("other_labels", 2), codes(resource)); diff != "" {
			t.Errorf("out_of_sync (-want +got):\n%s", diff)
		}
		w.play(resource, step{name: "repaired", config: config, calls: []string{on("update_proc_info", 2)}})
	})
}

// A changed default label registers every host anew, and the plan says so while a host is out
// of sync.
//
// Promised in partial-failure.md: A changed `spec` or label, the provider's `default_labels` among them,
// registers all of the resource's hosts anew, not only those in `out_of_sync`.
// Promised in rolling-restart.md: It changes with every change of `spec` or labels, default
// labels among them:.
func TestHostedProcess_defaultLabels(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	kept := &providertest.Kept{}
	config := providertest.HostedConfigOf(providertest.HostsOf(3))
	labelled := func(tier string) *providertest.Core {
		return sim.Configured(t, map[string]any{"default_labels": map[string]string{"tier": tier}}).CoreOf(providertest.HostedType, kept)
	}
	sim.FailHosts("register_proc_info", []int{3}, simulator.CodeAgentAbnormal, "agent is away")
	before := labelled("silver")
	before.Apply(config)
	if reasons := before.Reasons("out_of_sync"); len(reasons) != 1 {
		t.Fatalf("out of sync: %v", reasons)
	}
	marked := before.Attribute("fingerprint")
	after := labelled("gold")
	plan, said := after.Plan(config)
	planned := plan.Planned(t)
	labels := providertest.Plain(t, planned["labels_all"])
	mark := providertest.Plain(t, planned["fingerprint"])
	if diff := cmp.Diff(map[string]any{"tier": "gold"}, labels); diff != "" || mark == marked {
		t.Errorf("planned %v, it was %v; labels (-want +got):\n%s\nsaid: %s", mark, marked, diff, said)
	}
	sim.Repair()
	after.Applied(config)
	for n := 1; n <= 3; n++ {
		if p, _ := sim.Process(providertest.Address(n), "web", "nginx"); p.Labels["tier"] != "gold" {
			t.Errorf("web-%d is registered with %v", n, p.Labels)
		}
	}
}

// unlimited is a process on two hosts without limits.
func unlimited(start string) map[string]any {
	config := providertest.FaceESB.Reference(start, 2)
	spec, _ := config["spec"].(map[string]any)
	delete(spec, "resource")
	return config
}

// A process without limits is registered by hosting it: register_proc_info would not
// take it. Limits may come and go, and what hosting left is taken away as well.
func TestHostedProcess_unlimited(t *testing.T) {
	t.Parallel()
	limited := providertest.FaceESB.Reference("./b.sh", 2)
	on := " " + providertest.Addresses(1, 2)
	steps := []struct {
		config       map[string]any // nil destroys
		esb, gateway []string
		limits       bool
	}{
		{unlimited("./a.sh"), []string{"operate_proc_v2/3" + on}, []string{"operate_proc_multi/3" + on}, false},
		{unlimited("./b.sh"), []string{"operate_proc_v2/3" + on}, []string{"operate_proc_multi/3" + on}, false},
		{limited, []string{"update_proc_info" + on}, []string{"operate_proc_multi/3" + on}, true},
		{unlimited("./b.sh"), []string{"operate_proc_v2/3" + on}, []string{"operate_proc_multi/3" + on}, false},
		{nil, []string{"operate_proc_v2/4" + on, "unregister_proc_info" + on}, []string{"operate_proc_multi/4" + on}, false},
	}
	for _, face := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(face), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(face)).CoreOf(providertest.HostedType, &providertest.Kept{})
			for i, step := range steps {
				sim.ResetCalls()
				want := step.esb
				if face == providertest.FaceGateway {
					want = step.gateway
				}
				if step.config == nil {
					if said := resource.DestroyUnrefreshed(); len(said) > 0 {
						t.Error(said)
					}
				} else {
					resource.Applied(step.config)
				}
				if diff := cmp.Diff(want, sim.Changes()); diff != "" {
					t.Errorf("step %d: calls that change something (-want +got):\n%s", i, diff)
				}
				for _, n := range []int{1, 2} {
					process, found := sim.Process(providertest.Address(n), "web", "nginx")
					if process.Hosted != (step.config != nil) || (step.config == nil && found) {
						t.Errorf("step %d: %s has %+v", i, providertest.Address(n), process)
					}
					if limits := strings.Contains(string(process.Spec), `"resource"`); limits != step.limits {
						t.Errorf("step %d: %s is registered with %s", i, providertest.Address(n), process.Spec)
					}
				}
				if step.config == nil {
					continue
				}
				if kind, said := resource.Apply(step.config); kind != providertest.PlanNothing || len(said) > 0 {
					t.Errorf("step %d: something was left to do: %s\n%s", i, kind, said)
				}
			}
		})
	}
}

// To host replaces what somebody else hosts without a word, so the agents are asked.
// Who adopts it takes it over as it runs.
func TestHostedProcess_unlimitedAdopted(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	for _, act := range []func(string, string, string) error{sim.Host, sim.StartProcess} {
		if err := act(providertest.Address(1), "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	before, _ := sim.Process(providertest.Address(1), "web", "nginx")
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := unlimited("./a.sh")
	config["hosts"] = providertest.HostsOf(1)

	if _, said := resource.Apply(config); !said.Failed() || !strings.Contains(said.String(), "registered already") {
		t.Errorf("said: %s", said)
	}
	if changes := sim.Changes(); len(changes) > 0 {
		t.Errorf("changed what is somebody else's: %v", changes)
	}

	config["adopt_existing"] = true
	resource.Applied(config)
	after, _ := sim.Process(providertest.Address(1), "web", "nginx")
	if after.PID != before.PID || !after.Hosted || !providertest.StartsWith(after, "./a.sh") {
		t.Errorf("it was %+v and is %+v", before, after)
	}
}

// Through the ESB such a process cannot be registered alone. The plan says so, and so
// does an apply whose plan was made without the provider's settings.
func TestHostedProcess_unlimitedAndRegistered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face    providertest.Face
		refused bool
	}{"esb": {providertest.FaceESB, true}, "gateway": {providertest.FaceGateway, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).CoreOf(providertest.HostedType, &providertest.Kept{})
			config := unlimited("./a.sh")
			config["ensure"] = "registered"
			_, said := resource.Apply(config)
			if said.Failed() != c.refused || (c.refused && !strings.Contains(said.String(), `Set spec.resource, or ensure = "hosted".`)) {
				t.Errorf("said: %s", said)
			}
			if changes := sim.Changes(); c.refused && len(changes) > 0 {
				t.Errorf("changed %v", changes)
			}
		})
	}
}
