package hostedprocess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// What fails on some hosts is in out_of_sync, and the next apply calls those alone.
//
// Promised in from-gsekit.md: If a host fails, the apply ends with a warning, the host is in
// `out_of_sync`, and the next apply tries that host alone.
// Promised in partial-failure.md: So a create that did part of its work ends with a warning, and
// the work that is left shows in the next plan.
//
// Promised in troubleshooting.md: apply again: only those are called.
// Promised in faq.md: It ended with a warning.
func TestHostedProcess_partial(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ Hosts, Failing int }{"one-of-5": {5, 1}, "24-of-25": {25, 24}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				registered := attribute("ensure", "registered")
				all, bad := providertest.HostNumbers(c.Hosts), providertest.Failing(c.Hosts, c.Failing)
				failing := func(api string) func(*world) {
					return func(w *world) { w.on(api, away, bad...) }
				}
				repaired := func(w *world) { w.sim.Repair() }
				only := fmt.Sprintf("on %d of %d host", c.Failing, c.Failing)
				resource := w.object()
				w.play(resource,
					step{
						name: "create fails", befalls: failing("register_proc_info"), config: w.declares(c.Hosts, registered), kind: providertest.PlanCreate,
						calls: []string{on("register_proc_info", all...)}, left: codesOf("not_registered", bad...), says: fmt.Sprintf("is not as declared on %d of %d hosts", c.Failing, c.Hosts),
					},
					step{
						name: "it still fails", config: w.declares(c.Hosts, registered),
						calls: []string{on("register_proc_info", bad...)}, left: codesOf("not_registered", bad...), says: only, fails: true,
					},
					step{name: "create goes on", befalls: repaired, config: w.declares(c.Hosts, registered), calls: []string{on("register_proc_info", bad...)}},
					step{
						name: "update fails", befalls: failing("update_proc_info"), config: w.changed(c.Hosts, registered),
						calls: []string{on("update_proc_info", all...)}, left: codesOf("other_spec", bad...), says: "Unable to Update Hosted Process", fails: true,
					},
					step{name: "update goes on", befalls: repaired, config: w.changed(c.Hosts, registered), calls: []string{on("update_proc_info", bad...)}},
				)
				w.play(resource,
					step{
						name: "destroy fails", befalls: failing("unregister_proc_info"), calls: []string{on("unregister_proc_info", all...)},
						hosts: addresses(bad...), says: "Unable to Unregister Hosted Process", fails: true,
					},
					step{name: "destroy goes on", befalls: repaired, calls: []string{on("unregister_proc_info", bad...)}},
				)
				w.expectNothing()
			})
		})
	}
}

// A create that is to fail where a host does is tainted, and begun anew.
//
// Promised in partial-failure.md: With `on_partial_create = "error"` the warnings in this table
// are errors, and the resource is tainted.
// Promised in partial-failure.md: `on_partial_create = "error"` ends the create with an error.
// Promised in faq.md: An error would taint the resource, and the next apply would unregister
// every host.
// Promised in reference: with an error; Terraform taints the resource, and the next apply unregisters every host first.
func TestHostedProcess_partialCreateAsError(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(3, attribute("on_partial_create", "error"))
		resource := w.object()
		w.play(resource,
			step{
				name: "one fails", befalls: func(w *world) { w.on("register_proc_info", away, 2) }, config: config, kind: providertest.PlanCreate,
				calls: []string{on("operate_proc_v2/3", 1, 3), on("register_proc_info", 1, 2, 3)}, left: codesOf("not_registered", 2), says: "Hosted Process Created In Part", fails: true,
			},
			step{
				name: "begun anew", befalls: (*world).repair, config: config, kind: providertest.PlanReplace,
				calls: []string{on("operate_proc_v2/3", 1, 2, 3), on("register_proc_info", 1, 2, 3), on("unregister_proc_info", 1, 3)},
			},
		)
	})
}

// Of a create that registered nowhere nothing is kept.
//
// Promised in partial-failure.md: a create, on every host | ends with an error, exit code 1 |
// nothing | a create.
func TestHostedProcess_createFailsEverywhere(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		resource := w.object()
		w.play(resource, step{
			name: "fails", befalls: func(w *world) { w.on("register_proc_info", away, 1, 2) }, config: w.declares(2), kind: providertest.PlanCreate, calls: []string{on("register_proc_info", 1, 2)},
			hosts: map[string]string{}, says: "could not be registered on 2 of 2 hosts. web-1, web-2 (2 hosts): 117", fails: true,
		})
		if !resource.State.IsNull() {
			w.Errorf("state is %s", resource.State)
		}
		w.play(resource, step{
			name: "begun anew", befalls: (*world).repair, config: w.declares(2), kind: providertest.PlanCreate,
			calls: []string{on("operate_proc_v2/3", 1, 2), on("register_proc_info", 1, 2)},
		})
	})
}

// A host that could not be unregistered stays in state until it is, under a key of its own
// where another machine has got its key.
func TestHostedProcess_partialRemoval(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		moved := addresses(1)
		moved["web-2"] = providertest.Address(8) // another machine
		stuck := map[string]string{"web-1": providertest.Address(1), "web-2": providertest.Address(8), "0:0:10.0.0.3": providertest.Address(2)}
		resource := w.object()
		w.play(resource,
			step{name: "created", config: w.declares(2), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "cannot leave", befalls: func(w *world) { w.on("unregister_proc_info", away, 2) }, config: w.declares(2, attribute("hosts", moved)), hosts: stuck,
				calls: []string{on("operate_proc_v2/3", 8), on("register_proc_info", 8), on("unregister_proc_info", 2)}, says: "web-2 (0:10.0.0.3): 117", fails: true,
			},
			step{name: "leaves", befalls: (*world).repair, config: w.declares(2, attribute("hosts", moved)), calls: []string{on("unregister_proc_info", 2)}},
		)
	})
}

// A process that is registered already is left alone, and the error names the ways to take it over.
// What a create that was cut off has left is its own.
//
// Promised in shared-hosts.md: A host on which the process is registered already fails a
// create (`the process is registered already`).
func TestHostedProcess_existing(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.colleague(1, 2)
		_, said := w.object().Apply(w.declares(2))
		for _, says := range []string{"ERROR", "the process is registered already", "adopt_existing = true", "import", "web:nginx"} {
			if !strings.Contains(said.String(), says) || len(w.sim.Changes()) > 0 && w.by == gateway {
				w.Errorf("%q is not named: %s", says, said)
			}
		}
		w.do(w.sim.Unregister, 1, 2)
		w.object().Applied(w.declares(2)) // whose state is lost
		w.play(w.object(), step{name: "its own", config: w.declares(2), kind: providertest.PlanCreate, calls: []string{on("update_proc_info", 1, 2)}})
	})
}
