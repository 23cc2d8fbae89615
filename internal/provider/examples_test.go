package provider_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Every published example is applied, a second plan is empty, and it is destroyed. Each is a module of
// its own, with a platform of its own.
func TestAccExamples(t *testing.T) {
	t.Parallel()
	applied := map[string]string{ // example → what it refers to
		"provider/provider.tf":                              "",
		providertest.HostedExample:                          "",
		"resources/bk_process_operation/resource.tf":        providertest.HostedExample,
		"data-sources/bk_process_status/data-source.tf":     providertest.HostedExample,
		"data-sources/bk_registrations/data-source.tf":      providertest.HostedExample,
		"data-sources/bk_hosted_specs/data-source.tf":       providertest.HostedExample,
		providertest.JobHostedExample:                       "",
		"resources/bk_job_process_operation/resource.tf":    providertest.JobHostedExample,
		"data-sources/bk_job_process_status/data-source.tf": providertest.JobHostedExample,
		"data-sources/bk_cmdb_processes/data-source.tf":     "",
		"data-sources/bk_hosts/data-source.tf":              "",
		"guides/partial-failure/main.tf":                    "",
		"guides/drift-in-ci/main.tf":                        "",
		"guides/rolling-restart/main.tf":                    "",
		"guides/cookbook/java.tf":                           "",
		"guides/cookbook/one-shot.tf":                       "",
		"guides/cookbook/instances.tf":                      "",
		"start-order/main.tf":                               "",
		"start-order/job/main.tf":                           "",
		"functions/expand/function.tf":                      "",
		"functions/host/function.tf":                        "",
		"functions/hosts/function.tf":                       "",
		"functions/match/function.tf":                       "",
		"functions/parse_host/function.tf":                  "",
		"functions/waves/function.tf":                       "",
	}
	elsewhere := map[string]string{ // a file, or all of a directory
		"resources/bk_hosted_process/import-by-string-id.tf": "TestAccExamples_import",
		"resources/bk_hosted_process/import-by-identity.tf":  "TestAccExamples_importByIdentity",
		"demo/main.tf":                               "make demo",
		"demo/job/main.tf":                           "make demo FACE=job",
		"demo/adopt/main.tf":                         "make demo STORY=adopt",
		"actions/bk_process_operation/action.tf":     "TestAccExamples_actions",
		"actions/bk_job_process_operation/action.tf": "TestAccExamples_actions",
		"modules/business":                           "TestAccModule_business",
		"modules/hosted-service":                     "TestAccModule_simulator",
		"modules/cmdb-service":                       "TestAccModule_fromGit",
		"modules/ordered-service":                    "TestAccModule_ordered",
		"modules/windows-service":                    "TestAccModule_fromGit",
		"scenarios/silent-agents":                    "TestAccScenarios",
		"scenarios/colleague":                        "TestAccScenarios",
		"scenarios/lagging-status":                   "TestAccScenarios",
		"scenarios/lost-answer":                      "TestAccScenarios",
		"scenarios/agent-ids":                        "TestAccScenarios",
		"two-teams/main.tf":                          "TestAccModule_twoTeams",
		"guides/large-fleets/main.tf":                "TestAccExamples_largeFleets",
		"guides/first-steps/main.tf":                 "TestAccExamples_firstSteps",
		"guides/bad-release/main.tf":                 "TestAccExamples_badRelease",
		"guides/safe-rollouts/main.tf":               "TestAccExamples_safeRollouts",
	}
	cli, root, sims := providertest.NewEmptyCLI(t), "", make(map[string]*providertest.Sim)
	for _, file := range exampleFiles(t) {
		if elsewhere[file] != "" || elsewhere[path.Dir(file)] != "" {
			continue
		}
		needs, known := applied[file]
		if !known {
			t.Errorf("examples/%s is applied by no test", file)
			continue
		}
		delete(applied, file)
		sim := providertest.NewSimOf(t, exampleTopology)
		sims[file] = sim
		name := strings.NewReplacer("/", "-", ".", "-").Replace(file)
		root += fmt.Sprintf("module %q {\n  source = \"./%s\"\n", name, name)
		text := exampleText(t, sim, file)
		if needs != "" {
			text += providertest.ReadExample(t, needs)
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
	for file := range applied {
		t.Errorf("examples/%s does not exist", file)
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
// Promised in README.md: the plan says which host and why, and with
// `-detailed-exitcode` it exits with 2.
// Promised in first-steps.md: by default (`on_destroy = "unregister"`) the processes run on, and
// nobody revives them.
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

// The ids of the import example belong to the process of the resource example.
func TestAccExamples_import(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	text := providertest.ReadExample(t, "resources/bk_hosted_process/import.sh") + providertest.ReadExample(t, "resources/bk_hosted_process/import-by-string-id.tf")
	ids := regexp.MustCompile(`['"](web:[^'"]+)['"]`).FindAllStringSubmatch(text, -1)
	if len(ids) != 4 {
		t.Fatalf("found %d import ids in the examples, want 4: %v", len(ids), ids)
	}
	config := sim.ProviderConfig() + providertest.ReadExample(t, providertest.HostedExample)
	steps := []resource.TestStep{{Config: config}}
	for _, id := range ids {
		steps = append(steps, resource.TestStep{
			ResourceName: "bk_hosted_process.web", ImportState: true, ImportStateId: id[1],
			ImportStateVerify: true, ImportStateVerifyIgnore: []string{"spec", "hosts", "labels_all", "process", "rollout_plan"},
		})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: providertest.Factories, Steps: steps})
}

// exampleTopology is the CMDB that the examples expect.
const exampleTopology = `{"businesses": [{"id": 3, "name": "game", "sets": [
  {"name": "gz-[1-3]", "modules": [{"name": "nginx-1", "hosts": [{"count": 2, "ip": "10.3.0.1"}],
    "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx", "work_path": "/srv", "pid_file": "/run/nginx.pid", "user": "root"}]}]}]}]}`

// exampleText is an unchanged example, except that the simulator replaces the platform in its provider
// block.
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

// exampleFiles are the .tf files below examples, with slashes.
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
