package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What the platform says is done, and the agent denies before and after, is not done.
func TestSaidDone_denied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ensure   string
		op, code int
	}{
		"hosted":          {"hosted", simulator.OpHost, simulator.CodeOK},
		"running-already": {"running", simulator.OpStart, simulator.CodeAlreadyRunning},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.sim.Inject(simulator.Fault{API: "operate*", Op: &c.op, Code: &c.code})
			resource := h.object()
			if _, said := resource.Apply(h.config("./start.sh", c.ensure, "unregister")); !said.Failed() && len(resource.Reasons("out_of_sync")) == 0 {
				h.Errorf("all is well, and it is %+v", h.process())
			}
		}})
	}
}
