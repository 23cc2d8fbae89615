package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A process that another tool hosts without labels is left alone. If its agent does not report isAuto, the registration
// time shows that it is hosted.
func TestHostedByAnother_isAutoUnknown(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]string{"said": "", "not-said": "no-isauto"} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.must(h.sim.Host(providertest.Address(1), "web", "nginx"), h.sim.StartProcess(providertest.Address(1), "web", "nginx"))
			if shape != "" {
				h.onQuery(simulator.Fault{ContentShape: shape})
			}
			pid := h.process().PID
			resource := h.object()
			_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"adopt_existing": false}))
			if p := h.process(); !said.Failed() || p.PID != pid || len(p.Labels) > 0 {
				h.Errorf("it is %+v; said: %s", p, said)
			}
		}})
	}
}
