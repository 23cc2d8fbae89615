package hostedprocess_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The provider's supplier id is for hosts that join: the others keep theirs, also where a later
// apply, a way back or a host that cannot leave writes state anew, and are unregistered with it.
//
// Promised in changing-hosts.md: Every host keeps the `bk_supplier_id` that it was registered with.
// Promised in changing-hosts.md: The provider's setting is for hosts that join, and changing it affects no other host.
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
		step{name: "destroyed", befalls: (*world).repair, anyCalls: true},
	)
	w.expectNothing()
}

// Labels that the platform adds by itself are no drift; one that was declared and is gone is.
//
// Promised in partial-failure.md: Labels that the platform adds by itself are no drift.
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

// A changed default label registers every host anew, and the plan says so while a host is out of sync.
//
// Promised in partial-failure.md: A changed `spec` or label, the provider's `default_labels` among them,
// registers all of the resource's hosts anew, not only those in `out_of_sync`.
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

// unlimited is a process on hosts web-1 to web-n without limits.
func unlimited(start string, n int, more ...map[string]any) map[string]any {
	config := startedBy(esb, start, n, more...)
	values{"spec.resource": nil}.put(config)
	return config
}

// A process without limits is registered by hosting it: register_proc_info would not
// take it. Limits may come and go, and what hosting left is taken away as well.
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

// To host replaces what somebody else hosts without a word, so the agents are asked. Who adopts it takes it over as it runs.
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

// Through the ESB such a process cannot be registered alone. The plan says so, and so
// does an apply whose plan was made without the provider's settings.
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
