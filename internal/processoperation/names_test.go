package processoperation_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The cached status of an agent may have its address without the cloud area. That is not the machine of
// area 0, which a destroy must not skip.
func TestProcessOperation_destroyInAnotherArea(t *testing.T) {
	t.Parallel()
	const by, address = providertest.FaceGateway, "0:10.0.0.9"
	sim := providertest.NewSim(t)
	sim.AddAgent(agentID, "5:10.0.0.9")
	for _, host := range []string{"5:10.0.0.9", address} {
		fine(t, sim.Register(host, "web", "nginx", nil, "{}"), sim.StartProcess(host, "web", "nginx"))
	}
	config := restartConfig(by, 1, map[string]any{"hosts": map[string]string{"a": agentID, "b": address}, "on_destroy": "stop"})
	kept := &providertest.Kept{}
	providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf("bk_process_operation", kept).Applied(config)
	sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": []any{map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{}},
		"host": map[string]any{"ip": "10.0.0.9"}, "bk_agent_id": agentID, "status": 1, "isauto": true,
	}}}})
	resource := providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf("bk_process_operation", kept)
	if _, said := resource.Apply(nil); len(said) > 0 {
		t.Error(said)
	}
	for _, host := range []string{"5:10.0.0.9", address} {
		if process, _ := sim.Process(host, "web", "nginx"); process.Running {
			t.Errorf("%s still runs", host)
		}
	}
}
