package hostile_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The platform's word that nothing is registered is not the agent's.
//
// Promised in partial-failure.md: otherwise, or where it cannot be asked, the host stays, with an error.
func TestLetGo_nothingRegistered(t *testing.T) {
	t.Parallel()
	for by, before := range map[providertest.Face]int{ // how often the agents are asked before
		providertest.FaceESB: 1, providertest.FaceGateway: 1, providertest.FaceJOB: 0,
	} {
		for name, c := range map[string]struct{ silent, stays bool }{
			"hosts-it":      {silent: false, stays: by != providertest.FaceESB},
			"does-not-tell": {silent: true, stays: true},
		} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := newHostile(t, by)
				resource := providertest.ConfiguredWith(t, h.settings).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
				resource.Applied(h.config("./start.sh", "running", "unregister"))
				unregister := by.Target(providertest.OnDelete)
				h.sim.Inject(simulator.Fault{API: unregister.API, Op: unregister.Op, Code: new(simulator.CodeNotRunning)})
				if c.silent {
					h.sim.Inject(simulator.Fault{API: "operate_proc*", Op: new(simulator.OpQuery), Unreachable: "117", Skip: before})
				}
				said := resource.DestroyUnrefreshed()
				namespace, process := by.Process()
				p := h.sim.Machine(providertest.Address(1)).Process(namespace, process)
				if said.Failed() != c.stays || resource.State.IsNull() == c.stays || p.Hosted != c.stays || !p.Running {
					t.Errorf("it is %+v; said: %s", p, said)
				}
				if c.silent && !strings.Contains(said.String(), "117") {
					t.Errorf("said: %s", said)
				}
			})
		}
	}
}

// Of a tainted object that is replaced nothing is kept but its attributes, and these do not say
// under which supplier id it registered. A platform that keeps them apart finds nothing under
// another, and has the registration all the same.
//
// Promised in partial-failure.md: is no proof, and the host stays, with an error.
func TestLetGo_underAnotherSupplier(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ensure string
		unread bool
	}{
		"on-file": {ensure: "registered"}, "on-file-and-hosted": {ensure: "hosted"},
		"file-unread": {ensure: "registered", unread: true}, "file-unread-and-hosted": {ensure: "hosted", unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, providertest.FaceESB)
			h.sim.SuppliersApart = true
			kept := &providertest.Kept{}
			as := func(supplier int) *providertest.Core {
				return h.elsewhere(kept, map[string]any{"bk_supplier_id": supplier, "max_retries": 0})
			}
			as(3).Applied(h.config("./start.sh", c.ensure, "unregister"))
			before := h.process()
			kept.Private = nil
			h.sim.ResetCalls()
			if c.unread { // once the platform has been told to unregister
				h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 503, Skip: 1})
			}
			said := as(5).DestroyUnrefreshed()
			after := h.process()
			if !said.Failed() || kept.State.IsNull() || !after.Registered || after.Hosted != before.Hosted || len(h.sim.Calls().Of("unregister_proc_info")) != 1 {
				t.Errorf("it is %+v; said: %s", after, said)
			}
			why := "set bk_supplier_id to what it was then"
			if c.unread {
				why = "who registered it could not be read"
			}
			if !strings.Contains(said.String(), why) {
				t.Errorf("it does not say %q: %s", why, said)
			}
			h.sim.Mend()
			if said := as(3).DestroyUnrefreshed(); said.Failed() || !kept.State.IsNull() || h.process().Registered {
				t.Errorf("it is %+v; said: %s", h.process(), said)
			}
		})
	}
}
