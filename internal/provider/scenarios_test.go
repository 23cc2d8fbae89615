package provider_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const scenarios = "../../examples/scenarios"

// move is one step of a scenario, and its result.
type move struct {
	cli  string // arguments, or "" for the next step of the scenario
	code int
	says []string // each is in the README
	not  string
}

// Each shipped scenario runs with its configuration, as its README says.
func TestAccScenarios(t *testing.T) {
	t.Parallel()
	apply, plan, next := "apply -auto-approve", "plan -detailed-exitcode", move{}
	readme := providertest.ReadFile(t, scenarios, "README.md")
	plays := map[string]struct {
		moves []move
		did   map[string]int // operations on hosts, with their number
	}{
		"silent-agents": {[]move{
			{cli: apply},
			{cli: apply + " -var release=2", code: 1, says: []string{
				"web-0365…web-0374 (10 hosts): 117, left as it is, because whether it runs is not known",
				"web-0401…web-1000 (600 hosts): not tried: too many hosts had failed before its wave",
			}},
			next,
			{cli: apply + " -var release=2", says: []string{"in 13 waves of 50"}},
			{cli: plan + " -var release=2"},
		}, map[string]int{"start": 1000, "restart": 1000}},
		"colleague": {[]move{
			{cli: apply}, next, next,
			{cli: plan, code: 2, says: []string{
				`- "web-2" = "not_hosted: not running, not hosted"`, `- "web-3" = "other_spec: registered anew by another tool"`,
			}, not: `"web-1" =`},
			{cli: apply},
			{cli: plan, says: []string{"No changes"}},
		}, map[string]int{"register": 6, "update": 1, "start": 7}},
		"lagging-status": {[]move{
			{cli: apply},
			{cli: plan, says: []string{"No changes"}},
		}, map[string]int{"register": 6, "start": 6}},
		"lost-answer": {[]move{
			{cli: apply, says: []string{"web-4…web-6 (3 hosts): outcome unknown (the operation was sent and its answer got lost)"}},
			{cli: apply, says: []string{"0 added, 0 changed, 0 destroyed"}},
		}, map[string]int{"start": 6}},
		"agent-ids": {[]move{
			{cli: apply}, next, next,
			{cli: plan, says: []string{"No changes"}},
			{cli: apply + " -var agent_ids=true", says: []string{`~ "web-1" = "0:10.0.0.1" -> "0200000007525400f355781710390005465c"`}},
			{cli: plan + " -var agent_ids=true", says: []string{"No changes"}},
		}, map[string]int{"start": 2, "stop": 0, "restart": 0}},
	}
	shipped, err := filepath.Glob(filepath.Join(scenarios, "*", "scenario.json"))
	if err != nil || len(shipped) != len(plays) {
		t.Errorf("%d scenarios are shipped, and %d are played: %v", len(shipped), len(plays), slices.Sorted(maps.Keys(plays)))
	}
	for name, play := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := providertest.NewEmptyCLI(t)
			text := providertest.ReadFile(t, scenarios, name, "scenario.json")
			sim := providertest.NewSim(t)
			if sim.Scenario, err = simulator.ParseScenario(name, []byte(text)); err != nil {
				t.Fatal(err)
			}
			sim.EntryPerName = sim.Scenario.Simulator["with"] == "entry-per-name"
			cli.Env = append(cli.Env, "BK_APP_CODE="+simulator.DefaultAppCode, "BK_APP_SECRET="+simulator.DefaultAppSecret, "BK_USERNAME=admin", "BK_GATEWAY=esb", "BK_ENDPOINT="+sim.URL)
			if name == "agent-ids" {
				cli.Env = append(cli.Env, "BK_ENDPOINT="+sim.URL+"/api/bk-gse/prod")
			}
			config := providertest.ReadFile(t, scenarios, name, "main.tf")
			cli.Write("main.tf", strings.Replace(config, `pause = "1s"`, `pause = "1ms"`, 1))
			for _, move := range play.moves {
				if move.cli == "" {
					providertest.NoError(t, sim.NextStep())
					continue
				}
				out := cli.Expect(move.code, strings.Fields(move.cli)...)
				for _, want := range move.says {
					providertest.Says(t, out, want)
					providertest.Says(t, readme, want)
				}
				if move.not != "" && strings.Contains(out, move.not) {
					t.Errorf("%s says %q: %s", move.cli, move.not, out)
				}
			}
			did := make(map[string]int)
			for _, execution := range sim.Executions() {
				did[execution.Action]++
			}
			for action, want := range play.did {
				if did[action] != want {
					t.Errorf("%d of %s, want %d", did[action], action, want)
				}
			}
		})
	}
}
