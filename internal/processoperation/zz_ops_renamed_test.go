package processoperation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A task is asked for by the name that its host was sent it by, also when the host has been
// called otherwise for more than one run, and nothing tells its former name any more.
func TestProcessOperation_underWayRenamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"to-agent-id": {providertest.Address(1), agentID},
		"to-address":  {agentID, providertest.Address(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceGateway
			config := by.Reference("./start.sh", 1)
			config["operation"], config["hosts"] = "restart", map[string]string{"web-1": c.before}
			config["timeouts"] = map[string]any{"update": "2s"}
			u := &underWay{sim: providertest.NewSim(t)}
			u.sim.EntryPerName = true
			u.sim.Now = func() time.Time { return time.Now().Add(time.Duration(u.late.Load())) }
			u.sim.AddAgent(agentID, providertest.Address(1))
			for _, err := range []error{u.sim.Register(c.before, "web", "nginx", nil, "{}"), u.sim.StartProcess(c.before, "web", "nginx")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			anew := func() *providertest.Protocol { return providertest.ConfiguredWith(t, u.sim.SettingsFor(by)) }
			u.Core = anew().CoreOf("bk_process_operation", &providertest.Kept{})
			u.Fresh = anew
			u.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Takes: time.Hour})
			config["timeouts"] = map[string]any{"create": "2s", "update": "2s"}
			u.Apply(config)
			u.Untaint()
			u.sim.ClearFaults()
			u.sim.ResetCalls()
			config["hosts"] = map[string]string{"web-1": c.after}
			if _, said := u.Apply(config); !said.Failed() {
				t.Fatalf("it is over; said: %s", said)
			}
			u.late.Store(int64(2 * time.Hour))
			if _, said := u.Apply(config); len(said) > 0 {
				t.Errorf("said: %s", said)
			}
			if diff := cmp.Diff([]string(nil), u.sim.Changes(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("sent again (-want +got):\n%s", diff)
			}
		})
	}
}
