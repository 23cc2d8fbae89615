package processstatus_test

import (
	"encoding/json"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Each host has the output of the health command. Hosts on which the process runs and the command printed
// nothing are counted, if there is such a command and the agents were asked.
//
// Promised in reference: Number of hosts on which the process runs and its `health_cmd`
// printed nothing.
func TestProcessStatusDataSource_health(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command any
		mode    string
		want    any
		health  any
	}{
		"live":        {"./health.sh", "live", 1, "fine"},
		"as-process":  {"./health.sh", "process", 1, "fine"},
		"no-command":  {nil, "live", nil, "fine"},
		"cached":      {"./health.sh", "cached", nil, nil},
		"not-running": {"./health.sh", "down", 0, "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Colleague(t, "web", "nginx", nil, 1, 2)
			says := func(n int, health string) {
				pid := map[bool]int{true: -1, false: 11}[c.mode == "down"]
				instance := map[string]any{"isAuto": true, "pid": pid, "health": health}
				sim.Inject(simulator.Fault{
					API: "operate_proc_v2", Hosts: []string{providertest.Address(n)}, Code: new(0),
					Content: map[string]any{"process": []any{map[string]any{"instance": []any{instance}}}},
				})
			}
			says(1, "fine\n")
			says(2, " ")
			config := providertest.FaceESB.Reference("./start.sh", 2)
			if c.mode == "cached" {
				config["mode"] = c.mode
			}
			if c.command != nil {
				spec := providertest.WholeSpec("./start.sh")
				spec["control"].(map[string]any)["health_cmd"] = c.command //nolint:forcetypeassert // it is made so
				config["spec"] = spec
			}
			if c.mode == "process" { // the same values in one object
				text, err := json.Marshal(config)
				providertest.NoError(t, err)
				config = map[string]any{"process": string(text)}
			}

			values, said := sim.Configured(t).ReadData("bk_process_status", config)

			if said.Failed() {
				t.Fatal(said)
			}
			providertest.Same(t, "unhealthy_count", c.want, values["unhealthy_count"])
			for key, want := range map[string]any{"web-1": c.health, "web-2": nil} {
				status, _ := values["statuses"].(map[string]any)[key].(map[string]any)
				providertest.Same(t, "health of "+key, want, status["health"])
			}
		})
	}
}
