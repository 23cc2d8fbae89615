package hostedprocess_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Of two configurations that declare the same process, only the one that registered it
// last lets it go.
//
// Promised in large-fleets.md: it takes the registration over, which is of the very same
// declaration, and the other leaves the host alone with a warning.
//
// Promised in partial-failure.md: A destroy of the other unregisters nothing, with the warning *Hosts
// Belong To Another Resource*.
// Promised in ownership.md: They are left alone, hosted and running, with the warning *Hosts Belong To Another Resource*.
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
// Promised in partial-failure.md: the apply ends with an error, and the host stays in `hosts`
// Promised in partial-failure.md: With it, hosts that leave `hosts` or are destroyed, and whose
// agents do not answer, go from state with a warning that names them.
// Promised in reference: Let hosts that leave `hosts`, or are destroyed, go from state
// although their agent does not answer, with a warning that names them.
// Promised in reference: Without it such a host stays in state, and the apply fails.
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
				says: "set forget_unreachable = true to let it go", fails: true,
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
