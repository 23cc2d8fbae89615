package reference_test

import (
	"maps"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Every value that the platform returns is in its own attribute, and every host is counted by its state.
func TestMappingStatus(t *testing.T) {
	t.Parallel()
	running := map[string]any{
		"state": "running", "hosted": true, "health": "health-text", "pid": 11, "version": "version-text", "cpu_usage": 12, "mem_usage": 13, "error_code": nil, "error_message": nil,
	}
	stopped := map[string]any{
		"state": "stopped", "hosted": false, "health": nil, "pid": nil, "version": nil, "cpu_usage": nil, "mem_usage": nil, "error_code": nil, "error_message": nil,
	}
	unknown := map[string]any{
		"state": "unknown", "hosted": nil, "health": nil, "pid": nil, "version": nil, "cpu_usage": nil, "mem_usage": nil,
		"error_code": 117, "error_message": "the agent is abnormal or not found: the agent is away",
	}
	unregistered := map[string]any{
		"state": "unregistered", "hosted": nil, "health": nil, "pid": nil, "version": nil, "cpu_usage": nil, "mem_usage": nil, "error_code": nil, "error_message": nil,
	}
	for name, c := range map[string]struct {
		face   providertest.Face
		mode   string
		query  string
		last   map[string]any
		counts map[string]any
	}{
		"live-esb":       {providertest.FaceESB, "live", "operate_proc_v2", unknown, map[string]any{"unknown_count": 1, "unregistered_count": 0}},
		"live-gateway":   {providertest.FaceGateway, "live", "operate_proc_v2", unknown, map[string]any{"unknown_count": 1, "unregistered_count": 0}},
		"live-job":       {providertest.FaceJOB, "live", "operate_process", unknown, map[string]any{"unknown_count": 1, "unregistered_count": 0}},
		"cached-esb":     {providertest.FaceESB, "cached", "", unregistered, map[string]any{"unknown_count": 0, "unregistered_count": 1}},
		"cached-gateway": {providertest.FaceGateway, "cached", "", unregistered, map[string]any{"unknown_count": 0, "unregistered_count": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			// It runs on three and not on two; the last one is unknown.
			var answers []any
			for n := 1; n <= 5; n++ {
				providertest.NoError(t, sim.Register(providertest.Address(n), "web", "nginx", nil, "{}"))
				row := map[string]any{"status": 2, "isauto": false, "pid": -1, "version": ""}
				if n <= 3 {
					row = map[string]any{"status": 1, "isauto": true, "pid": 11, "version": "version-text", "cpu_usage": 12, "mem_usage": 13}
				}
				row["meta"] = map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{}}
				row["host"] = map[string]any{"ip": hostIP(n), "bk_cloud_id": 0}
				answers = append(answers, row)
			}
			if c.mode == "cached" {
				sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": answers}})
			} else {
				instance := map[string]any{"isAuto": true, "pid": 11, "version": "version-text", "health": "health-text\n", "cpuUsage": 12, "phyMemUsage": 13}
				sim.Inject(simulator.Fault{
					API: c.query, Hosts: providertest.AddressList([]int{1, 2, 3}), Code: new(0),
					Content: map[string]any{"process": []any{map[string]any{"instance": []any{instance}}}},
				})
				sim.Inject(simulator.Fault{API: c.query, Hosts: providertest.AddressList([]int{6}), Code: new(117), Message: "the agent is away"})
			}
			running := maps.Clone(running)
			if c.mode == "cached" {
				running["health"] = nil // no row has it
			}
			config := c.face.Reference("./start.sh", 6)
			if c.face != providertest.FaceJOB {
				config["mode"] = c.mode
			}

			values, said := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).ReadData(c.face.TypeName(providertest.OnStatus), config)

			if said.Failed() {
				t.Fatal(said)
			}
			want := map[string]any{
				"running_count": 3, "stopped_count": 2, "unknown_count": c.counts["unknown_count"], "unreachable_count": c.counts["unknown_count"], "unregistered_count": c.counts["unregistered_count"],
				"statuses": map[string]any{
					"web-1": running, "web-2": running, "web-3": running, "web-4": stopped, "web-5": stopped, "web-6": c.last,
				},
			}
			got := map[string]any{}
			for attribute := range want {
				got[attribute] = values[attribute]
			}
			providertest.Same(t, "values", want, got)
		})
	}
}

func hostIP(n int) string { return providertest.Address(n)[len("0:"):] }
