package provider_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Every published example is applied, a second plan is empty, and it is destroyed. Each is a module of its own, with a platform of its own.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	elsewhere := make(map[string]bool) // files, or all of a directory
	for _, files := range map[string]string{
		"TestExamples_import":              "resources/bk_hosted_process/import-by-string-id.tf",
		"TestAccExamples_importByIdentity": "resources/bk_hosted_process/import-by-identity.tf",
		"make demo":                        "demo/main.tf demo/job/main.tf demo/adopt/main.tf",
		"TestAccExamples_actions":          "actions/bk_process_operation/action.tf actions/bk_job_process_operation/action.tf",
		"TestAccModule_…":                  "modules/business modules/hosted-service modules/cmdb-service modules/ordered-service modules/windows-service two-teams",
		"TestAccScenarios":                 "scenarios/silent-agents scenarios/colleague scenarios/lagging-status scenarios/lost-answer scenarios/agent-ids",
		"TestAccExamples_…":                "guides/large-fleets guides/first-steps guides/bad-release guides/safe-rollouts",
	} {
		for file := range strings.FieldsSeq(files) {
			elsewhere[file] = true
		}
	}
	cli, root, sims := providertest.NewEmptyCLI(t), "", make(map[string]*providertest.Sim)
	for _, file := range exampleFiles(t) {
		if elsewhere[file] || elsewhere[path.Dir(file)] {
			continue
		}
		sim := providertest.NewSimOf(t, exampleTopology)
		sims[file] = sim
		name := strings.NewReplacer("/", "-", ".", "-").Replace(file)
		root += fmt.Sprintf("module %q {\n  source = \"./%s\"\n", name, name)
		text := exampleText(t, sim, file)
		for of, example := range map[string]string{"bk_hosted_process": providertest.HostedExample, "bk_job_hosted_process": providertest.JobHostedExample} {
			if regexp.MustCompile(`\b`+of+`\.web\b`).MatchString(text) && !strings.Contains(text, "resource \""+of+"\"") {
				text += providertest.ReadExample(t, example)
			}
		}
		if !strings.Contains(text, "required_providers") {
			text = requiredProvider + text
		}
		if strings.Contains(text, `provider "bk"`) {
			root += "}\n"
		} else {
			root += fmt.Sprintf("  providers = { bk = bk.%s }\n}\n%s", name, sim.JobProvider(fmt.Sprintf("alias = %q", name), `hosted_specs = { job_scope = { id = "2" } }`))
		}
		cli.Write(filepath.Join(name, "main.tf"), text)
	}
	cli.Write("main.tf", requiredProvider+root)
	cli.Expect(0, "get")
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	cli.Expect(0, "destroy", "-auto-approve", "-refresh=false")
	for file, sim := range sims {
		offline := file == "provider/provider.tf" || strings.HasPrefix(file, "functions/")
		if calls := len(sim.Calls()); (calls == 0) != offline {
			t.Errorf("%s made %d calls", file, calls)
		}
	}
}

const requiredProvider = "terraform {\n  required_providers {\n    bk = {\n      source = \"blueking/bk\"\n    }\n  }\n}\n\n"

// The output in the first steps is what a new user sees.
//
// Promised in README.md: the plan says which host and why, and with `-detailed-exitcode` it exits with 2.
// Promised in first-steps.md: by default (`on_destroy = "unregister"`) the processes keep running, and no agent revives them.
func TestAccExamples_firstSteps(t *testing.T) {
	t.Parallel()
	page := providertest.ReadFile(t, "../../templates/guides/first-steps.md.tmpl")
	// The output of the apply, and of the plan after a process was stopped by hand.
	shown := regexp.MustCompile("(?s)\n\n```\n(.*?)\n```\n").FindAllStringSubmatch(page, -1)
	if len(shown) != 2 {
		t.Fatalf("the page shows %d outputs, want 2", len(shown))
	}
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, "")
	cli.Write("main.tf", providertest.ReadExample(t, "guides/first-steps/main.tf"))
	providertest.Says(t, cli.Expect(0, "apply", "-auto-approve"), shown[0][1])
	providertest.NoError(t, sim.StopProcess("0:10.0.0.2", "web", "nginx"))
	providertest.Says(t, cli.Expect(2, "plan", "-detailed-exitcode"), shown[1][1])
	sim.ResetCalls()
	cli.Expect(0, "apply", "-auto-approve")
	if changes := strings.Join(sim.Changes(), "\n"); !strings.Contains(changes, "10.0.0.2") || strings.Contains(changes, "10.0.0.1") {
		t.Errorf("the apply should have called web-2 alone:\n%s", changes)
	}
	cli.Expect(0, "destroy", "-auto-approve")
	for _, address := range []string{"0:10.0.0.1", "0:10.0.0.2"} {
		if process, _ := sim.Process(address, "web", "nginx"); process.Registered || process.Hosted || !process.Running {
			t.Errorf("after the destroy, %s has %+v", address, process)
		}
	}
}

// The ids of the import example are those of a process on its hosts.
func TestExamples_import(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	text := providertest.ReadExample(t, "resources/bk_hosted_process/import.sh") + providertest.ReadExample(t, "resources/bk_hosted_process/import-by-string-id.tf")
	ids := regexp.MustCompile(`['"](web:[^'"]+)['"]`).FindAllStringSubmatch(text, -1)
	if len(ids) != 4 {
		t.Fatalf("found %d import ids in the examples, want 4: %v", len(ids), ids)
	}
	hosts := []string{"0:10.0.0.1", "0:10.0.0.2"} // of providertest.HostedExample
	for _, host := range hosts {
		providertest.NoError(t, sim.Register(host, "web", "nginx", nil, "{}"))
	}
	for _, id := range ids {
		core := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
		said := core.Imports(id[1])
		providertest.Same(t, "said of "+id[1], "", said.String())
		providertest.Same(t, "hosts of "+id[1], hosts, slices.Sorted(maps.Values(core.Reasons("hosts"))))
	}
}

const exampleTopology = `{"businesses": [{"id": 3, "name": "game", "sets": [
  {"name": "gz-[1-3]", "modules": [{"name": "nginx-1", "hosts": [{"count": 2, "ip": "10.3.0.1"}],
    "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx", "work_path": "/srv", "pid_file": "/run/nginx.pid", "user": "root"}]}]}]}]}`

// exampleText is an unchanged example, except that the simulator replaces the platform in its provider block.
func exampleText(t *testing.T, s *providertest.Sim, file string) string {
	t.Helper()
	text := providertest.ReadExample(t, file)
	if file != "provider/provider.tf" {
		return text
	}
	for old, replacement := range map[string]string{
		`"https://paas.example.com"`: fmt.Sprintf("%q", s.URL),
		`"platform-infra"`:           fmt.Sprintf("%q", simulator.DefaultAppCode),
		"  # app_secret comes from":  fmt.Sprintf("  app_secret = %q #", simulator.DefaultAppSecret),
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("%s does not have %q", file, old)
		}
		text = strings.Replace(text, old, replacement, 1)
	}
	return text
}

func exampleFiles(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "examples")
	var files []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".tf") {
			relative, _ := filepath.Rel(root, path)
			files = append(files, filepath.ToSlash(relative))
		}
		return err
	})
	providertest.NoError(t, err)
	return files
}

const scenarios = "../../examples/scenarios"

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
