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
				resource := h.object()
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

// Of a tainted object that is replaced, and of one whose provider died in an update, nothing is
// kept but attributes, and these do not say under which supplier id it registered. A platform
// that keeps them apart finds nothing under another, and has the registration all the same.
//
// Promised in partial-failure.md: is no proof, and the host stays, with an error.
func TestLetGo_underAnotherSupplier(t *testing.T) {
	t.Parallel()
	const (
		other  = "set bk_supplier_id to what it was then"
		unread = "who registered it could not be read"
	)
	for name, c := range map[string]struct {
		untimed bool             // the agent does not say when it was registered
		file    *simulator.Fault // once the platform has been told to unregister
		leaves  bool
		says    string
	}{
		"agent":       {says: other},
		"file":        {untimed: true, says: other},
		"file-unread": {untimed: true, file: &simulator.Fault{HTTPStatus: 503}, says: unread},
		"row-unread":  {untimed: true, file: &simulator.Fault{Replace: map[string]any{"data/proc_infos/*": 7}}, says: unread},
		"row-gone":    {file: &simulator.Fault{Missing: -1}, says: other},
		"leaves":      {leaves: true, says: other},
	} {
		for _, ensure := range []string{"registered", "hosted"} {
			t.Run(name+"/"+ensure, func(t *testing.T) {
				t.Parallel()
				h := newHostile(t, providertest.FaceESB)
				h.sim.SuppliersApart = true
				kept := &providertest.Kept{}
				as := func(supplier int) *providertest.Core {
					return h.objectIn(kept, map[string]any{"bk_supplier_id": supplier, "max_retries": 0})
				}
				config := func(hosts map[string]string) map[string]any {
					return h.config("./start.sh", ensure, "unregister", map[string]any{"hosts": hosts})
				}
				as(3).Applied(config(providertest.HostsOf(2)))
				kept.Private = nil
				if c.untimed {
					h.onQuery(simulator.Fault{Code: new(0), Content: untimed()})
				}
				if c.file != nil {
					fault := *c.file
					fault.API, fault.Skip = "get_proc_status_v2", 1
					h.sim.Inject(fault)
				}
				h.sim.ResetCalls()
				let := func(supplier int) (said providertest.Diagnostics) {
					if !c.leaves {
						return as(supplier).DestroyUnrefreshed()
					}
					_, said = as(supplier).Apply(config(map[string]string{"web-2": providertest.Address(2)}))
					return said
				}
				said := let(5)
				after := h.process()
				if !said.Failed() || as(5).Reasons("hosts")["web-1"] == "" || !after.Registered || len(h.sim.Calls().Of("unregister_proc_info")) != 1 {
					t.Errorf("it is %+v; said: %s", after, said)
				}
				if !strings.Contains(said.String(), c.says) {
					t.Errorf("it does not say %q: %s", c.says, said)
				}
				h.sim.Mend()
				if said := let(3); said.Failed() || h.process().Registered {
					t.Errorf("it is %+v; said: %s", h.process(), said)
				}
			})
		}
	}
}
