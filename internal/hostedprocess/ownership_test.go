package hostedprocess_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Of two configurations that declare the same process, only the one that registered it
// last unregisters it.
//
// Promised in large-fleets.md: it takes over the registration, which has the same declaration. The
// other resource leaves the host alone with a warning.
//
// Promised in shared-hosts.md: A destroy of the other unregisters nothing, with the warning *Hosts
// Belong To Another Resource*.
// Promised in shared-hosts.md: are left alone, hosted and running. The warning is *Hosts Belong To
// Another Resource*.
func TestOwnership_twoConfigurations(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(2)
		first, second := w.object(), w.object()
		first.Applied(config)
		second.Applied(config)
		w.play(first, step{name: "the first is destroyed", says: "Hosts Belong To Another Resource"})
		expectHosted(w.T, w.sim, 2)
		w.play(second,
			step{name: "the second has nothing to do", config: config, kind: providertest.PlanNothing},
			step{name: "the second is destroyed", calls: []string{on("unregister_proc_info", 1, 2)}},
		)
		w.expectNothing()
	})
}

// A tainted object that is replaced does not unregister what another has registered since.
func TestOwnership_taintedAndTakenOver(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(2, attribute("on_destroy", "stop"))
		first, second := w.object(), w.object()
		first.Applied(config)
		second.Applied(config)
		taint := func(*world) { first.Tainted = true }
		w.play(first,
			step{
				name: "taken over", befalls: taint, config: config, kind: providertest.PlanReplace, says: "Hosts Belong To Another Resource",
				calls: []string{on("update_proc_info", 1, 2)},
			},
			step{name: "its own", befalls: taint, config: config, kind: providertest.PlanReplace, anyCalls: true},
		)
		w.sim.ResetCalls()
		first.Tainted = true
		if first.Apply(config); len(letGo(w.sim)) == 0 {
			t.Error("what is its own was not unregistered")
		}
	})
}

// A destroy is over when the platform says so, whatever a file shows that lags, or whose
// rows name no host.
func TestOwnership_destroyRefused(t *testing.T) {
	t.Parallel()
	refused := simulator.Fault{EnvelopeCode: new(1306101), EnvelopeMessage: "no permission"}
	for name, c := range map[string]struct {
		faces       []providertest.Face
		fault       simulator.Fault
		says        string
		unrefreshed bool
		unnamed     bool // rows name no host, of which the gateway alone has any; otherwise the file never hears of it
	}{
		"per-host":          {gse, away, "agent is away", true, false},
		"as-whole":          {gse, simulator.Fault{HTTPStatus: 403, Body: `{"code": 1640301, "message": "app has no permission"}`}, "app has no permission", false, false},
		"result-is-false":   {gse, refused, "no permission", false, false},
		"rows-without-host": {[]providertest.Face{gateway}, refused, "no permission", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				w.sim.RegisterHosts = true // so its own registration is known by its time
				if c.unnamed {
					w.sim.RowsWithoutHost, w.sim.RowsWithoutAgentID = true, true
				} else {
					w.sim.FreezeStatus()
				}
				resource := w.object()
				resource.Applied(w.declares(2))
				w.on("unregister_proc_info", c.fault)
				resource.Protocol = w.open()
				destroy := resource.DestroyUnrefreshed
				if !c.unrefreshed {
					destroy = func() providertest.Diagnostics { _, said := resource.Apply(nil); return said }
				}
				if said := destroy(); !said.Failed() || !strings.Contains(said.String(), c.says) || len(resource.Reasons("hosts")) != 2 {
					w.Errorf("hosts are %v; said: %s", resource.Reasons("hosts"), said)
				}
				expectHosted(w.T, w.sim, 2)
				w.sim.Repair()
				w.sim.ThawStatus()
				w.play(resource, step{name: "repaired", calls: []string{on("unregister_proc_info", 1, 2)}})
				w.expectNothing()
			})
		})
	}
}

// What is to be stopped before it goes is stopped, also where somebody unregistered it.
func TestOwnership_stopsWhatWasUnregistered(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		resource := w.object()
		resource.Applied(w.declares(2, map[string]any{"ensure": "running", "on_destroy": "stop"}))
		w.do(w.sim.Unregister, 1, 2)
		w.play(resource, step{name: "destroyed", anyCalls: true})
		if stop := on("operate_proc_v2/1", 1, 2); !slices.Contains(w.sim.Changes(), stop) || w.at(1).Running || w.at(2).Running {
			w.Errorf("%v were called, and not %s; %+v and %+v", w.sim.Changes(), stop, w.at(1), w.at(2))
		}
	})
}

// A machine that is gone for good can be removed, and not by mistake.
//
// Promised in changing-hosts.md: The apply ends with an error, and the host stays in `hosts`.
// Promised in changing-hosts.md: With it, hosts that leave `hosts` or are destroyed, and whose
// agents do not answer, go from state with a warning that names them.
// Promised in reference: Hosts that leave `hosts`, or are destroyed, leave state with a warning, although their agents do not answer.
// Promised in reference: Without it they stay in state and the apply fails.
func TestOwnership_forgetUnreachable(t *testing.T) {
	t.Parallel()
	through(t, each, func(w *world) {
		gone := func(n int) func(*world) {
			return func(w *world) { w.sim.SetReachable(providertest.Address(n), false) }
		}
		forget := attribute("forget_unreachable", true)
		resource := w.object()
		w.play(resource,
			step{name: "created", config: w.declares(3), kind: providertest.PlanCreate, anyCalls: true},
			step{
				name: "one cannot leave", befalls: gone(3), config: w.declares(2), hosts: addresses(1, 2, 3), anyCalls: true,
				says: "set forget_unreachable = true to remove it from state", fails: true,
			},
			step{name: "it is forgotten", config: w.declares(2, forget), anyCalls: true, says: "web-3 (0:10.0.0.4): "},
		)
		gone(2)(w)
		_, said := resource.Apply(nil)
		if said.Failed() || !strings.Contains(said.String(), "Unreachable Hosts Forgotten") || !strings.Contains(said.String(), "web-2 (0:10.0.0.3): ") || strings.Contains(said.String(), "web-1 (") || !resource.State.IsNull() || w.at(1).Hosted {
			w.Errorf("state is %s; web-1 has %+v; said: %s", resource.State, w.at(1), said)
		}
	})
}

// passing gives what lets a minute pass by the platform's clock: times of registrations are whole
// seconds.
func (w *world) passing() func() {
	var minutes atomic.Int64
	w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
	return func() { minutes.Add(1) }
}

// expectLeft fails the test if something of a host was ended.
func (w *world) expectLeft(said providertest.Diagnostics) {
	w.Helper()
	p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
	if let := letGo(w.sim); len(let) > 0 || !p.Hosted {
		w.Errorf("unregistered %v, and it is %+v; said: %s", let, p, said)
	}
}

// A host that could not be registered anew has the registration of before: what its agent says
// then is another object's, if one has registered since.
func TestEvidence_notRegisteredAnew(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		pass := w.passing()
		first := w.object()
		first.Applied(w.declares(1))
		pass()
		w.object().Applied(w.declares(1, attribute("adopt_existing", true)))
		w.on("update_proc_info", away, 1)
		first.Protocol = w.open()
		if _, said := first.ApplyUnrefreshed(w.changed(1)); !said.Failed() {
			t.Fatalf("said: %s", said)
		}
		w.sim.Repair()
		w.sim.ResetCalls()
		first.Protocol = w.open()
		w.expectLeft(first.DestroyUnrefreshed())
	})
}

// Right after a create, without a refresh, a machine that another has registered by its other name
// is left alone.
func TestEvidence_otherName(t *testing.T) {
	t.Parallel()
	for name, hosts := range map[string][2]map[string]string{
		"address-first":  {addresses(1), {"web-1": agents["web-1"]}},
		"agent-id-first": {{"web-1": agents["web-1"]}, addresses(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, true)
			pass := w.passing()
			first := w.object()
			first.Applied(w.declares(0, attribute("hosts", hosts[0])))
			pass()
			w.object().Applied(w.declares(0, attribute("hosts", hosts[1]), attribute("adopt_existing", true)))
			w.sim.ResetCalls()
			first.Protocol = w.open()
			w.expectLeft(first.DestroyUnrefreshed())
		})
	}
}

// Where a machine has two names, and what is registered by the other cannot be read, it is kept.
func TestEvidence_otherNameUnread(t *testing.T) {
	t.Parallel()
	w := newNames(t, true)
	pass := w.passing()
	first := w.object()
	first.Applied(w.declares(1))
	first.Refresh()
	pass()
	w.object().Applied(w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"]}), attribute("adopt_existing", true)))
	w.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
	w.sim.ResetCalls()
	first.Protocol = w.open()
	said := first.DestroyUnrefreshed()
	w.expectLeft(said)
	if !said.Failed() || !strings.Contains(words(said.String()), "who registered it could not be read") {
		t.Errorf("said: %s", said)
	}
}

// Where registering again does not renew the time, the row of another object that has the very time
// of the ledger keeps the host.
func TestEvidence_timeKept(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.ReregisteringKeepsTime = true
		first := w.object()
		first.Applied(w.declares(1))
		w.object().Applied(w.declares(1, attribute("adopt_existing", true)))
		w.sim.ResetCalls()
		first.Protocol = w.open()
		said := first.DestroyUnrefreshed()
		w.expectLeft(said)
		if !said.Failed() {
			t.Errorf("said: %s", said)
		}
	})
}

// The new object of a replacement keeps what both are about.
//
// Promised in shared-hosts.md: the destroy of the old one leaves them alone, without a warning.
func TestAccOwnership_createBeforeDestroy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ own, dependent string }{
		"its-own":             {createFirst, ""},
		"that-of-a-dependent": {"", dependent("triggers_replace = bk_hosted_process.test.owner\n  " + createFirst)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: "ensure = \"running\"\n  " + c.own}.String()+c.dependent)
			cli.Expect(0, "apply", "-auto-approve")
			before := pids(sim, 3)
			cli.Expect(0, "taint", "bk_hosted_process.test")
			out := cli.Expect(0, "apply", "-auto-approve")
			if strings.Contains(out, "Hosts Belong To Another Resource") {
				t.Errorf("the old object said:\n%s", out)
			}
			expectHosted(t, sim, 3)
			if after := pids(sim, 3); !slices.Equal(before, after) {
				t.Errorf("processes %v became %v", before, after)
			}
			cli.Expect(0, "plan", "-detailed-exitcode")
			cli.Expect(0, "destroy", "-auto-approve")
			if left := sim.Processes(); slices.ContainsFunc(left, func(p simulator.Process) bool { return p.Hosted }) {
				t.Errorf("left behind: %+v", left)
			}
		})
	}
}

const createFirst = "lifecycle { create_before_destroy = true }"

// dependent is an object that depends on the process, or the process on it.
func dependent(more string) string {
	return "resource \"terraform_data\" \"dependent\" {\n  " + more + "\n}\n"
}

// A rename without a moved block is a create and a destroy, which come in either order. A
// dependent settles which: one that is replaced before it is destroyed has the destroy wait,
// and one that the new object depends on the create.
func TestAccOwnership_renamedWithoutMoved(t *testing.T) {
	t.Parallel()
	renamed := strings.NewReplacer(`"bk_hosted_process" "test"`, `"bk_hosted_process" "renamed"`, "process.test", "process.renamed")
	for name, c := range map[string]struct {
		before, after, more string
		letsGo              []string
	}{
		"create-first": {
			dependent("triggers_replace = [1, bk_hosted_process.test.owner]\n  " + createFirst),
			dependent("triggers_replace = [2, bk_hosted_process.test.owner]\n  " + createFirst), "", []string{},
		},
		"destroy-first": {
			dependent("input = bk_hosted_process.test.owner"), dependent("input = 2"),
			"depends_on = [terraform_data.dependent]", providertest.AddressList([]int{1, 2}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			process := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "ensure = \"running\""}
			cli := providertest.NewCLI(t, sim, process.String()+c.before)
			cli.Expect(0, "apply", "-auto-approve")
			before := pids(sim, 2)
			sim.ResetCalls()
			process.More += "\n  " + c.more
			cli.Configure(renamed.Replace(process.String() + c.after))
			out := cli.Expect(0, "apply", "-auto-approve")
			if undone := letGo(sim); !slices.Equal(undone, c.letsGo) || strings.Contains(out, "Hosts Belong To Another Resource") {
				t.Errorf("unregistered %v, and said:\n%s", undone, out)
			}
			expectHosted(t, sim, 2)
			if after := pids(sim, 2); !slices.Equal(before, after) {
				t.Errorf("processes %v became %v", before, after)
			}
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}
