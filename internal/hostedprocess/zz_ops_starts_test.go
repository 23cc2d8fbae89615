package hostedprocess_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A start that is under way is not sent once more because its host is called otherwise by
// then.
func TestHostedProcess_startUnderWayRenamed(t *testing.T) {
	t.Parallel()
	const agentID = "0200000007525400b95ba81710390009e1d7"
	for name, after := range map[string]string{"same-name": providertest.Address(1), "renamed": agentID} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceGateway
			sim := providertest.NewSim(t)
			var late atomic.Int64
			sim.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
			sim.AddAgent(agentID, providertest.Address(1))
			anew := func() *providertest.Protocol { return providertest.ConfiguredWith(t, sim.SettingsFor(by)) }
			resource := anew().CoreOf(providertest.HostedType, &providertest.Kept{})
			resource.Fresh = anew
			config := by.Reference("./start.sh", 1)
			config["ensure"] = "running"
			config["timeouts"] = map[string]any{"create": "3s", "update": "3s"}
			sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Takes: time.Hour})
			resource.Apply(config)
			resource.Untaint()
			config["hosts"] = map[string]string{"web-1": after}
			resource.Apply(config)
			late.Store(int64(2 * time.Hour))
			if _, said := resource.Apply(config); said.Failed() || len(resource.Reasons("out_of_sync")) > 0 {
				t.Errorf("%v; said: %s", resource.Reasons("out_of_sync"), said)
			}
			if sent := sim.Calls().OfOp(simulator.OpStart).Of("operate_*"); len(sent) != 1 {
				t.Errorf("sent %d starts", len(sent))
			}
		})
	}
}
