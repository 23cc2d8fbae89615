package hostile_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The platform's word that nothing is registered is not the agent's.
//
// Promised in changing-hosts.md: Otherwise, or if the agent cannot be asked, the host stays, with an
// error.
func TestRemoval_nothingRegistered(t *testing.T) {
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
