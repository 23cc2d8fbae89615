package processoperation_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A failing platform refuses requests once or twice. That does not mean that a restart in progress is
// forgotten, and may be sent again.
func TestProcessOperation_underWayRefusedOnce(t *testing.T) {
	t.Parallel()
	onFaces(t, "", faces, func(s trial) {
		t, by := s.t, s.by
		config := by.Reference("./start.sh", 1)
		config["operation"] = "restart"
		u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{1}))
		u.sim.Inject(simulator.Fault{API: "get_proc*", Op: new(simulator.OpRestart), EnvelopeCode: new(1306000), EnvelopeMessage: "system error", Times: 2})
		u.wakes()
		if _, said := u.Apply(config); len(said) > 0 {
			t.Errorf("said: %s", said)
		}
		u.sim.Changed(t)
	})
}

// A task is polled with the name by which the operation was sent to its host. That is so even if the host
// was renamed several runs ago, and its earlier name is not known any more.
func TestProcessOperation_underWayRenamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"to-agent-id": {providertest.Address(1), agentID},
		"to-address":  {agentID, providertest.Address(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceGateway
			sim := providertest.NewSim(t)
			sim.EntryPerName = true
			var late, polls atomic.Int64
			sim.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
			sim.AddAgent(agentID, providertest.Address(1))
			fine(t, sim.Register(c.before, "web", "nginx", nil, "{}"), sim.StartProcess(c.before, "web", "nginx"))
			anew := func() *providertest.Protocol { return providertest.ConfiguredWith(t, sim.SettingsFor(by)) }
			resource := anew().CoreOf("bk_process_operation", &providertest.Kept{})
			resource.Fresh = anew
			cut := sim.CutAt(func(call simulator.Call) bool {
				return call.API == "get_proc_operate_result_v2" && call.Op == simulator.OpRestart && polls.Add(1)%5 == 0
			})
			config := by.Reference("./start.sh", 1)
			config["operation"], config["hosts"] = "restart", map[string]string{"web-1": c.before}
			sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Takes: time.Hour})
			cut.Apply(resource, config)
			if resource.Tainted {
				resource.Untaint()
			}
			sim.ClearFaults()
			sim.ResetCalls()
			config["hosts"] = map[string]string{"web-1": c.after}
			if said := cut.Apply(resource, config); !said.Failed() {
				t.Fatalf("it is over; said: %s", said)
			}
			late.Store(int64(2 * time.Hour))
			if _, said := resource.Apply(config); len(said) > 0 {
				t.Errorf("said: %s", said)
			}
			sim.Changed(t)
		})
	}
}
