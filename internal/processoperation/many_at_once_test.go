package processoperation_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A plan that takes down more than a hundred hosts at once brings a warning, unless waves are set.
func TestProcessOperation_manyAtOnce(t *testing.T) {
	t.Parallel()
	waves := func(size any) map[string]any { return map[string]any{"rollout": map[string]any{"batch_size": size}} }
	for name, c := range map[string]struct {
		operation string
		hosts     int
		more      map[string]any
		warns     bool
	}{
		"restart":       {"restart", 101, nil, true},
		"stop":          {"stop", 101, nil, true},
		"kill":          {"kill", 101, nil, true},
		"start":         {"start", 101, nil, false},
		"reload":        {"reload", 101, nil, false},
		"hundred":       {"restart", 100, nil, false},
		"waves":         {"restart", 101, waves(10), false},
		"all-at-once":   {"restart", 101, waves(101), false},
		"unknown-waves": {"restart", 101, waves(providertest.NotKnown{}), false},
		"no-waves":      {"restart", 101, waves(nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.NewSim(t).Configured(t)
			config := restartConfig(providertest.FaceESB, 0, map[string]any{"hosts": manyHosts(c.hosts), "operation": c.operation})
			maps.Copy(config, c.more)
			planned := func(config map[string]any) string {
				_, said := p.CoreOf(providertest.ActionType, &providertest.Kept{}).Plan(config)
				return said.String()
			}
			for on, text := range map[string]string{
				"resource": planned(config), "process": planned(asProcess(t, config)), "action": p.PlanAction(providertest.ActionType, config),
			} {
				warned := strings.Contains(text, c.operation+" goes to "+fmt.Sprint(c.hosts)+" hosts at the same time: web-001…web-")
				if warned != c.warns || strings.Contains(text, "ERROR") {
					t.Errorf("%s: %q", on, text)
				}
			}
		})
	}
}

// The hosts on which it runs now count. A change that runs on few or none does not warn, and a destroy
// does if it stops the process.
//
// Promised in rolling-restart.md: A plan that stops, restarts or kills a process on more than
// 100 hosts at once brings a warning.
func TestProcessOperation_manyAtOnceLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after map[string]any // a nil after is a destroy
		warns         bool
	}{
		"created-not-run": {nil, map[string]any{"run_on_create": false}, false},
		"trigger":         {map[string]any{"run_on_create": false}, map[string]any{"triggers": map[string]string{"n": "2"}}, true},
		"added":           {map[string]any{"run_on_create": false, "hosts": manyHosts(90)}, map[string]any{"run_on_create": true}, false},
		"many-added":      {map[string]any{"run_on_create": false, "hosts": manyHosts(10)}, map[string]any{"run_on_create": true}, true},
		"many-recorded":   {map[string]any{"run_on_create": false, "hosts": manyHosts(10)}, map[string]any{}, false},
		"destroy":         {map[string]any{"run_on_create": false}, nil, false},
		"destroy-stops":   {map[string]any{"run_on_create": false, "on_destroy": "stop"}, nil, true},
		"destroy-waves":   {map[string]any{"run_on_create": false, "on_destroy": "stop", "rollout": map[string]any{"batch_size": 9}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := operationOf(t, sim, providertest.FaceESB)
			config := restartConfig(providertest.FaceESB, 0, map[string]any{"hosts": manyHosts(120)})
			if c.before != nil {
				maps.Copy(config, c.before)
				resource.Applied(config)
				config["hosts"] = manyHosts(120)
			}
			maps.Copy(config, c.after)
			if c.after == nil {
				config = nil
			}
			_, said := resource.Plan(config)
			if warned := strings.Contains(said.String(), "Many Hosts At Once"); warned != c.warns || said.Failed() {
				t.Errorf("%q", said)
			}
		})
	}
}

// A host on which the first process failed is not tried for the others. That is one failed machine, as many as allowed.
func TestProcesses_actionTolerates(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB))
	restart, code := simulator.OpRestart, 65535
	sim.Inject(simulator.Fault{Op: &restart, Name: "db", Hosts: []string{providertest.Address(2)}, Code: &code})
	more := map[string]any{"rollout": map[string]any{"waves": []any{"100%"}, "max_failed_hosts": "1"}}
	_, end := p.Invoke(t.Context(), providertest.ActionType, operation("restart", stack(), more))
	if !strings.Contains(end, "WARNING: Unable to Restart Process") || !strings.Contains(end, "so the action counts as done") {
		t.Errorf("it should count as done, with a warning:\n%s", end)
	}
}
