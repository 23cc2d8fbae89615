package hostedprocess_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The life of a process on a real CLI, through each API.
func TestAccHostedProcessResource_basic(t *testing.T) {
	t.Parallel()
	for _, by := range each {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := func(start string) string {
				return providertest.HostedConfig{Hosts: providertest.HostsConfig(3), Start: start}.String()
			}
			block := providertest.ProviderBlock(fmt.Sprintf("gateway = %q", by))
			if by == job {
				config = func(start string) string {
					return providertest.JobConfig{Hosts: providertest.HostsConfig(3), Process: providertest.JobProcess(start)}.String()
				}
				block = sim.JobProvider()
			}
			cli := providertest.NewCLI(t, sim, "")
			for _, start := range []string{"./start.sh", "./other.sh"} {
				cli.ConfigureWith(block, config(start))
				cli.Expect(0, "apply", "-auto-approve")
				cli.Expect(0, "plan", "-detailed-exitcode")
			}
			if state, _ := cli.InState(); state["ensure"] != "hosted" || len(providertest.Texts(state["out_of_sync"])) > 0 || len(sim.Processes()) != 3 {
				t.Errorf("state holds %v, and the platform %v", state, sim.Processes())
			}
			cli.Expect(0, "destroy", "-auto-approve")
			if left := sim.Processes(); by != job && len(left) > 0 || slices.ContainsFunc(left, func(p simulator.Process) bool { return p.Hosted }) {
				t.Errorf("still registered or hosted: %v", left)
			}
		})
	}
}

// Every kind of update makes these calls and no others.
//
// Promised in partial-failure.md: a changed `op_timeout` is registered on every host all the same.
func TestHostedProcess_updateDifference(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		sre := labelled(map[string]any{"team": "sre"})
		renamed, respelt := addresses(1, 3), addresses(1, 3)
		renamed["frontend-2"], respelt["frontend-2"], respelt["web-1"] = providertest.Address(2), providertest.Address(2), "0:0:10.0.0.2"
		other := attribute("hosts", addresses(1, 2, 5))
		slow := w.declares(2, sre, other)
		values{"spec.monitor_policy.op_timeout": 90}.put(slow)
		var timeoutSent []string // hosting sends op_timeout, and at the gateway registering is hosting
		if w.by == gateway {
			timeoutSent = []string{on("update_proc_info", 1, 2, 5)}
		}
		resource := w.objectOfCLI()
		w.play(resource,
			step{name: "created", config: w.declares(3), kind: providertest.PlanCreate, calls: []string{on("operate_proc_v2/3", 1, 2, 3), on("register_proc_info", 1, 2, 3)}},
			step{name: "the same", config: w.declares(3), kind: providertest.PlanNothing},
			step{name: "another key", config: w.declares(3, attribute("hosts", renamed))},
			step{name: "spelt otherwise", config: w.declares(3, attribute("hosts", respelt))},
			step{name: "as before", config: w.declares(3)},
			step{name: "a host joins", config: w.declares(4), calls: []string{on("operate_proc_v2/3", 4), on("register_proc_info", 4)}},
			step{name: "a host leaves", config: w.declares(3), calls: []string{on("unregister_proc_info", 4)}},
			step{name: "another spec", config: w.changed(3), calls: []string{on("update_proc_info", 1, 2, 3)}},
			step{name: "other labels", config: w.changed(3, sre), calls: []string{on("update_proc_info", 1, 2, 3)}},
			step{name: "all of it", config: w.declares(2, sre, other), calls: []string{
				on("operate_proc_v2/3", 5), on("register_proc_info", 5), on("unregister_proc_info", 3), on("update_proc_info", 1, 2),
			}},
			step{name: "ensure lowered", config: w.declares(2, sre, other, attribute("ensure", "registered"))},
			step{name: "on_destroy", config: w.declares(2, sre, other, attribute("on_destroy", "stop"))},
			step{name: "neither", config: w.declares(2, sre, other)},
			step{name: "op_timeout", config: slow, calls: timeoutSent},
			step{
				name: "another process", config: w.declares(1, attribute("meta", map[string]any{"namespace": "web", "name": "proxy"})), kind: providertest.PlanReplace,
				calls: []string{on("operate_proc_v2/3", 1), on("register_proc_info", 1), on("unregister_proc_info", 1, 2, 5)},
			},
			step{name: "destroyed", calls: []string{on("unregister_proc_info", 1)}},
		)
		w.expectNothing()
	})
}

// Each kind of drift is found, and repaired with the calls that it needs.
func TestHostedProcess_driftIsRepaired(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		namespace, name := w.by.Process()
		replaced := func(n int, labels map[string]string) func(*world) {
			return func(w *world) { w.sim.Colleague(w.T, namespace, name, labels, n) }
		}
		resource := w.objectOfCLI()
		w.play(resource,
			step{name: "created", config: w.declares(5), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "unregistered", befalls: func(w *world) { w.do(w.sim.Unregister, 2) }, config: w.declares(5),
				calls: []string{on("operate_proc_v2/3", 2), on("register_proc_info", 2)},
			},
			step{name: "unhosted", befalls: func(w *world) { w.do(w.sim.Unhost, 3) }, config: w.declares(5), calls: []string{on("operate_proc_v2/3", 3)}},
			step{name: "registered by others", befalls: replaced(4, map[string]string{"who": "somebody"}), config: w.declares(5), calls: []string{on("update_proc_info", 4)}},
		)

		w.do(w.sim.Unregister, 1)
		w.do(w.sim.Unhost, 3)
		replaced(5, nil)(w)
		resource.Refresh()
		if diff := cmp.Diff(map[string]string{
			"web-1": "unregistered: the platform no longer knows the process here", "web-3": "not_hosted: not hosted", "web-5": "other_spec: registered anew by another tool",
		}, resource.Reasons("out_of_sync")); diff != "" {
			t.Errorf("out_of_sync (-want +got):\n%s", diff)
		}

		made := w.at(2)
		for _, n := range []int{1, 5} {
			err := w.sim.Register(providertest.Address(n), namespace, name, made.Labels, string(made.Spec))
			providertest.NoError(t, errors.Join(err, w.sim.Host(providertest.Address(n), namespace, name)))
		}
		w.do(w.sim.Host, 3)
		w.play(resource, step{name: "repaired by others", config: w.declares(5), kind: providertest.PlanNothing})
	})
}

// The attribute for operations and statuses is unknown while the object is replaced, by a new name or by -replace.
func TestHostedProcess_wholeOfReplaced(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		attribute := map[bool]string{true: "declaration", false: "process"}[w.by == job]
		other, object := otherProcess, w.object()
		if w.by == job {
			process, _ := w.declares(1)["process"].(map[string]any)
			other = map[string]any{"process": with(process, "setup_path", "/srv/other")}
		}
		for name, c := range map[string]struct {
			config   map[string]any
			replaces bool
			kind     providertest.PlanKind
			known    bool
		}{
			"renamed":   {w.declares(1, other), false, providertest.PlanReplace, false},
			"requested": {w.declares(1), true, providertest.PlanReplace, false},
			"changed":   {w.changed(1), false, providertest.PlanUpdate, true},
		} {
			if object.State.IsNull() {
				plan, said := object.Plan(w.declares(1))
				providertest.Check(w, !said.Failed() && plan.Planned(w)[attribute].IsFullyKnown(), "it is known in the plan of a create")
				object.Applied(w.declares(1))
			}
			object.Replacing = c.replaces
			plan, _ := object.Plan(c.config)
			if got := plan.Planned(w)[attribute].IsFullyKnown(); got != c.known || plan.Action != c.kind {
				w.Errorf("%s: %s, %s known: %t", name, plan.Action, attribute, got)
			}
		}
	})
}

// A process that is no longer registered anywhere stays in state, and is registered again by an update.
func TestHostedProcess_disappears(t *testing.T) {
	t.Parallel()
	gone := func(w *world) { w.do(w.sim.Unregister, 1, 2) }
	anew := []string{on("operate_proc_v2/3", 1, 2), on("register_proc_info", 1, 2)}
	for name, c := range map[string]struct {
		befalls func(*world)
		killed  bool // the provider, so that private state is lost
		calls   []string
	}{
		"everywhere":  {gone, false, anew},
		"once-killed": {gone, true, anew},
		"on-one-host": {func(w *world) { w.do(w.sim.Unregister, 1) }, false, []string{on("operate_proc_v2/3", 1), on("register_proc_info", 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				config := w.declares(2)
				resource := w.object()
				resource.Applied(config)
				if c.killed {
					*resource.Kept = providertest.Kept{State: resource.State, Identity: resource.Identity}
				}
				w.play(resource, step{name: name, befalls: c.befalls, config: config, calls: c.calls})
			})
		})
	}
	t.Run("agents-do-not-know", func(t *testing.T) { // whether a process that is not hosted is registered
		t.Parallel()
		w := newWorld(t, esb)
		config := w.declares(2, attribute("ensure", "registered"))
		resource := w.object()
		resource.Applied(config)
		w.play(resource, step{name: "registered alone", befalls: gone, config: config, calls: []string{on("register_proc_info", 1, 2)}})
	})
	t.Run("job-hosts-again", func(t *testing.T) { // a stop on every host may have ended the hosting
		t.Parallel()
		w := newWorld(t, job)
		resource := w.object()
		resource.Applied(w.declares(2))
		w.play(resource, step{name: "unhosted everywhere", befalls: func(w *world) { w.do(w.sim.Unhost, 1, 2) }, config: w.declares(2), calls: []string{on("operate_proc_v2/3", 1, 2)}})
	})
}

// If a gateway does not replace a hosting but says that the process is hosted already, it is unhosted and hosted
// again. A host that cannot be unhosted stays as it is.
func TestHostedProcess_gatewayHostsOnce(t *testing.T) {
	t.Parallel()
	hosts, unhosts := "operate_proc_multi/3", "operate_proc_multi/4"
	for name, c := range map[string]struct {
		fails []int // hosts that cannot be unhosted
		calls []string
	}{
		"all":                    {nil, []string{on(hosts, 1, 2, 3), on(unhosts, 1, 2, 3), on(hosts, 1, 2, 3)}},
		"one-cannot-be-unhosted": {[]int{2}, []string{on(hosts, 1, 2, 3), on(unhosts, 1, 2, 3), on(hosts, 1, 3)}},
		"none-can-be-unhosted":   {[]int{1, 2, 3}, []string{on(hosts, 1, 2, 3), on(unhosts, 1, 2, 3)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway)
			w.sim.HostingOnce = true
			resource := w.object()
			resource.Applied(w.declares(3))
			if len(c.fails) > 0 {
				w.onOp(simulator.OpUnhost, simulator.Fault{Code: new(simulator.CodeCommandFailed)}, c.fails...)
			}
			w.sim.ResetCalls()

			_, said := resource.Apply(w.changed(3))

			var calls []string // in order
			for _, call := range w.sim.Calls().Of("operate_proc_multi") {
				if call.Op != simulator.OpQuery {
					calls = append(calls, fmt.Sprintf("%s/%d %s", call.API, call.Op, strings.Join(call.Hosts, " ")))
				}
			}
			if diff := cmp.Diff(c.calls, calls); diff != "" || said.Failed() != (len(c.fails) > 0) {
				t.Errorf("calls (-want +got):\n%s\nsaid: %s", diff, said)
			}
			if diff := cmp.Diff(codesOf("other_spec", c.fails...), codes(resource)); diff != "" || strings.Count(fmt.Sprint(resource.Reasons("out_of_sync")), "65535") != len(c.fails) {
				t.Errorf("out_of_sync (-want +got):\n%s", diff)
			}
			for n := 1; n <= 3; n++ {
				start := "./start.sh -v"
				if slices.Contains(c.fails, n) {
					start = "./start.sh"
				}
				p := w.at(n)
				providertest.Check(t, p.Hosted && providertest.StartsWith(p, start), "web-%d should be hosted with %s and is %+v", n, start, p)
			}
		})
	}
}

// Hosts on which something fails are in out_of_sync, and the next apply calls only those.
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
						hosts: addresses(bad...), says: "Unable to Unregister Hosted Process … that were to be destroyed. … Fix the cause and repeat the apply or destroy: only these hosts are called. What was applied last counts, timeouts too.", fails: true,
					},
					step{name: "destroy goes on", befalls: repaired, calls: []string{on("unregister_proc_info", bad...)}},
				)
				w.expectNothing()
			})
		})
	}
}

// With on_partial_create = "error", a create that fails on some hosts is tainted and replaced.
//
// Promised in partial-failure.md: With `on_partial_create = "error"` the warnings in this table are errors, and the resource is tainted.
// Promised in partial-failure.md: `on_partial_create = "error"` ends the create with an error.
// Promised in faq.md: An error would taint the resource, and the next apply would unregister every host.
// Promised in reference: with an error; Terraform taints the resource, and the next apply unregisters every host first.
func TestHostedProcess_partialCreateAsError(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(3, attribute("on_partial_create", "error"))
		resource := w.object()
		w.play(resource,
			step{
				name: "one fails", befalls: func(w *world) { w.on("register_proc_info", away, 2) }, config: config, kind: providertest.PlanCreate,
				calls: []string{on("operate_proc_v2/3", 1, 3), on("register_proc_info", 1, 2, 3)}, left: codesOf("not_registered", 2), fails: true,
				says: "Hosted Process Created In Part … is not as declared on 1 of 3 hosts, which are in out_of_sync. … Because on_partial_create is \"error\", Terraform now taints the resource",
			},
			step{
				name: "begun anew", befalls: (*world).repair, config: config, kind: providertest.PlanReplace,
				calls: []string{on("operate_proc_v2/3", 1, 2, 3), on("register_proc_info", 1, 2, 3), on("unregister_proc_info", 1, 3)},
			},
		)
	})
}

// A create that registered on no host saves no state.
//
// Promised in partial-failure.md: a create, on every host | ends with an error, exit code 1 | nothing | a create.
func TestHostedProcess_createFailsEverywhere(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		resource := w.object()
		w.play(resource, step{
			name: "fails", befalls: func(w *world) { w.on("register_proc_info", away, 1, 2) }, config: w.declares(2), kind: providertest.PlanCreate, calls: []string{on("register_proc_info", 1, 2)},
			hosts: map[string]string{}, fails: true,
			says: "Unable to Register Hosted Process … could not be registered on 2 of 2 hosts. web-1, web-2 (2 hosts): 117 … Fix the cause and apply again. Nothing was saved, so the next apply begins anew.",
		})
		providertest.Check(w, resource.State.IsNull(), "state is %s", resource.State)
		w.play(resource,
			step{
				name: "begun anew", befalls: (*world).repair, config: w.declares(2), kind: providertest.PlanCreate,
				calls: []string{on("operate_proc_v2/3", 1, 2), on("register_proc_info", 1, 2)},
			},
			step{name: "destroyed", anyCalls: true},
			step{
				name: "takes effect", befalls: func(w *world) { w.on("register_proc_info", simulator.Fault{Code: new(65535), Apply: true}) }, config: w.declares(2), kind: providertest.PlanCreate, anyCalls: true,
				left: codesOf("unconfirmed", 1, 2), says: "refused, and its agent has the process all the same", fails: true,
			},
		)
	})
}

// A host that could not be unregistered stays in state, under another key if another machine has taken its own.
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

// If another owner has registered the process on some hosts, a create registers the rest. The next apply registers
// those that the other owner has unregistered since.
//
// Promised in shared-hosts.md: A create does not register a host on which the process is registered already (`the
// process is registered already`).
// Promised in shared-hosts.md: No apply changes it while someone else has it registered.
func TestHostedProcess_existingInPart(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.colleague(1)
		object, config := w.object(), w.declares(2)
		others := codesOf("registered_by_other", 1)
		w.play(object,
			step{name: "created", config: config, kind: providertest.PlanCreate, anyCalls: true, left: others, says: "Hosted Process Created In Part … the process is registered already"},
			step{name: "again", config: config, calls: nil, left: others, fails: true, says: "registered"},
			step{name: "unregistered", befalls: func(w *world) { w.do(w.sim.Unregister, 1) }, config: config, anyCalls: true},
		)
		expectHosted(w.T, w.sim, 2)
	})
}

// A process that is registered already is left alone, and the error says how to take it over. What an interrupted
// create of the same declaration has registered is taken over.
//
// Promised in shared-hosts.md: If that is so on all hosts, the create fails.
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
		w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403})
		_, said = w.object().Apply(w.declares(2))
		// An import of another resource's process would have its owner, and could unregister it.
		if !said.Failed() || strings.Contains(said.String(), "import the existing") ||
			!tells(said, "who registered it could not be read … Where it could not be read who registered it, the host is neither changed nor unregistered. Apply again later") {
			w.Errorf("if the cached status cannot be read: %s", said)
		}
		w.repair()
		w.do(w.sim.Unregister, 1, 2)
		lost := w.object()
		lost.Applied(w.declares(2))
		_, said = w.object().Apply(w.changed(2))
		if owned := fmt.Sprintf("registered already, owner %s … another bk_hosted_process has the host: the one with that attribute owner", lost.Attribute("owner")); !tells(said, owned) ||
			strings.Contains(said.String(), "import the existing") || strings.Contains(said.String(), "Set adopt_existing") {
			w.Errorf("want %s; said: %s", owned, said)
		}
		w.play(w.object(), step{name: "its own", config: w.declares(2), kind: providertest.PlanCreate, calls: []string{on("update_proc_info", 1, 2)}, takes: "web-1 (0:10.0.0.2), web-2 (0:10.0.0.3): registered before, owner "})
	})
}
