package versions_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	tfjson "github.com/hashicorp/terraform-json"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func installation(w workspace) {
	w.Configure(providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String())
	w.Expect(0, "init")
	lock := providertest.ReadFile(w.T, w.Dir, ".terraform.lock.hcl")
	providertest.Says(w.T, lock, `/blueking/bk" { version = "0.0.1"`, `"h1:`)
	w.Expect(0, "init", "-lockfile=readonly")
	providertest.Says(w.T, w.Expect(0, "validate"), "The configuration is valid")
	w.Configure(providertest.HostedConfig{Hosts: `{ web-1 = "10.0.0" }`}.String())
	providertest.Says(w.T, w.Expect(1, "validate"), "10.0.0")
}

func life(w workspace) {
	const first, all = "first.tfplan", "0:10.0.0.2 0:10.0.0.3"
	configure := func(start string) {
		w.Configure(providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Start: start, More: `ensure = "running"`}.String() +
			`
resource "bk_process_operation" "test" {
  process       = bk_hosted_process.test.process
  operation     = "restart"
  run_on_create = false
  triggers      = { spec = bk_hosted_process.test.fingerprint }
}
` + providertest.StatusConfig(providertest.WithSpec) + `
output "states" {
  value = [for status in data.bk_process_status.test.statuses : status.state]
}
`)
	}
	configure("./start.sh")
	w.Expect(0, "init")
	w.Expect(2, "plan", "-detailed-exitcode", "-out="+first)
	var plan tfjson.Plan
	providertest.Decode(w.T, w.Expect(0, "show", "-json", first), &plan)
	providertest.Check(w.T, len(plan.ResourceChanges) >= 2, "the plan's JSON has %d changes", len(plan.ResourceChanges))
	w.Expect(0, "apply", first)
	w.running(1, 2)
	providertest.Same(w.T, "status", `["running","running"]`, w.Output("states"))
	w.sim.ResetCalls()
	w.Expect(0, "plan", "-detailed-exitcode")
	w.sim.Changed(w.T)

	configure("./start.sh --fast")
	w.Expect(0, "apply", "-auto-approve")
	w.sim.ExpectOperated(w.T, map[int]int{simulator.OpRestart: 2})
	w.Expect(0, "plan", "-detailed-exitcode")

	providertest.NoError(w.T, w.sim.StopProcess(providertest.Address(2), "web", "nginx"))
	providertest.Says(w.T, w.Expect(2, "plan", "-detailed-exitcode"), `"web-2" = "not_hosted: not running, not hosted"`)
	w.Expect(0, "apply", "-auto-approve")
	w.running(1, 2)
	w.Expect(0, "plan", "-detailed-exitcode")

	w.Expect(0, "destroy", "-auto-approve")
	for _, p := range w.sim.Processes() {
		providertest.Check(w.T, !p.Registered && !p.Hosted, "left behind on %s: %+v", p.Host, p)
	}
}

func (w workspace) running(hosts ...int) {
	w.T.Helper()
	for _, n := range hosts {
		p, _ := w.sim.Process(providertest.Address(n), "web", "nginx")
		providertest.Check(w.T, p.Running && p.Hosted, "web-%d: %+v", n, p)
	}
}

func importing(w workspace) {
	w.sim.Registered(w.T, 2)
	const id = "web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3"
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String()
	w.Configure(config)
	w.Expect(0, "init")
	w.Expect(0, "import", providertest.HostedAddress, id)
	w.sim.Changed(w.T)
	state, _ := w.InState()
	providertest.Check(w.T, state["id"] == "web:nginx", "in state: %v", state)
	w.Expect(0, "state", "rm", providertest.HostedAddress)

	w.Configure(config + fmt.Sprintf("import {\n  to = %s\n  id = %q\n}\n", providertest.HostedAddress, id))
	providertest.Says(w.T, w.Expect(0, "plan", "-out=import.tfplan"), "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy.")
	w.sim.Changed(w.T)
	w.Expect(0, "apply", "import.tfplan")
	w.Expect(0, "plan", "-detailed-exitcode")
}

func functions(w workspace) {
	w.Configure(`
output "all" {
  value = [
    provider::bk::expand("10.0.0.[1-2]"),
    provider::bk::host("10.0.0.1", 0),
    provider::bk::hosts(["10.0.0.1"], 3),
    provider::bk::match("gz-[1-3]", ["gz-1", "gz-10"]),
    provider::bk::parse_host("2:10.0.0.1").ip,
    provider::bk::waves(["1", "100%"], 28),
  ]
}
`)
	w.Expect(0, "init")
	w.Expect(0, "apply", "-auto-approve")
	want := `[["10.0.0.1","10.0.0.2"],"0:10.0.0.1",{"10.0.0.1":"3:10.0.0.1"},["gz-1"],"10.0.0.1",[1,27]]`
	providertest.Same(w.T, "results", want, w.Output("all"))
}

func (w workspace) copyExamples() string {
	w.T.Helper()
	to := filepath.Join(w.T.TempDir(), "examples")
	providertest.NoError(w.T, os.CopyFS(to, os.DirFS(filepath.Join("..", "..", "examples"))))
	return to
}

func examples(w workspace) {
	root := w.copyExamples()
	w.Dir = root
	w.Expect(0, "fmt", "-check", "-diff", "-recursive")
	stand := 0
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".tf" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "required_providers") {
			stand++
			w.Dir = filepath.Dir(path)
			w.Expect(0, "init", "-backend=false")
			w.Expect(0, "validate")
		}
		return err
	})
	providertest.Check(w.T, err == nil && stand >= 10, "%d examples stand by themselves: %v", stand, err)
}

func modules(w workspace) {
	root := w.copyExamples()
	for module, runs := range map[string]int{"hosted-service": 12, "business": 5, "ordered-service": 5, "windows-service": 4, "cmdb-service": 3} {
		w.Dir = filepath.Join(root, "modules", module)
		w.Expect(0, "init")
		providertest.Says(w.T, w.Expect(0, "test"), fmt.Sprintf("Success! %d passed, 0 failed.", runs))
	}
	calls := len(w.sim.Calls())
	providertest.Check(w.T, calls <= 0, "tests on mocks made %d calls", calls)
}

// schemas compares the provider's schemas with what the command line prints of them, which editors and tfplugindocs read.
func schemas(w workspace) {
	w.Expect(0, "init")
	served, err := exec.CommandContext(w.T.Context(), "go", "run", "../cmd/bk-schema").Output()
	providertest.NoError(w.T, err)
	printed := w.Expect(0, "providers", "schema", "-json")
	want, got := theProvider(w, string(served)), theProvider(w, printed)

	// An older release omits the kinds of objects that it does not support, and nothing else.
	for kind, since := range map[string]since{
		"resource_identity_schemas": sinceIdentity, "action_schemas": sinceActions, "list_resource_schemas": sinceActions,
	} {
		_, known := got[kind]
		providertest.Check(w.T, known == w.at.has(since), "%s has %s: %t", w.at, kind, known)
		if got[kind] == nil {
			delete(want, kind)
		}
	}
	providertest.Same(w.T, "schemas of the provider, and of the command line", want, got)
}

// theProvider returns the schemas of the only provider, without values that are false, empty or 0.
func theProvider(w workspace, text string) map[string]any {
	w.T.Helper()
	var all struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	providertest.Decode(w.T, text, &all)
	for address, one := range all.Schemas {
		providertest.Check(w.T, strings.HasSuffix(address, "/bk"), "the provider is %s", address)
		dropEmpty(one)
		return one
	}
	return nil
}

func dropEmpty(value map[string]any) {
	for name, v := range value {
		switch inner := v.(type) {
		case map[string]any:
			dropEmpty(inner)
		case []any:
			for _, element := range inner {
				if object, ok := element.(map[string]any); ok {
					dropEmpty(object)
				}
			}
		}
		switch fmt.Sprint(v) {
		case "map[]", "[]", "<nil>", "false", "", "0":
			delete(value, name)
		}
	}
}

// Features that only releases after the oldest supported one have. An older release rejects the configuration or the command.

func (w workspace) configureEphemeral() {
	w.T.Helper()
	w.ConfigureWith(`
variable "app_secret" {
  type      = string
  ephemeral = true
}

provider "bk" {
  app_secret = var.app_secret
}
`, providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String())
}

func ephemeral(w workspace) {
	w.configureEphemeral()
	w.Env = append(w.Env, "BK_APP_SECRET=", "TF_VAR_app_secret="+simulator.DefaultAppSecret)
	w.Expect(0, "init")
	w.Expect(0, "plan", "-out=saved.tfplan")
	plan := w.Expect(0, "show", "-json", "saved.tfplan")
	w.Expect(0, "apply", "saved.tfplan")
	state := providertest.ReadFile(w.T, w.Dir, "terraform.tfstate")
	for what, text := range map[string]string{"plan": plan, "state": state} {
		providertest.Check(w.T, !strings.Contains(text, simulator.DefaultAppSecret), "the %s has the secret:\n%s", what, text)
	}
	w.Expect(0, "plan", "-detailed-exitcode")
}

func noEphemeral(w workspace) {
	w.configureEphemeral()
	providertest.Says(w.T, w.Expect(1, "init"), `An argument named "ephemeral" is not expected here.`)
}

func (w workspace) configureIdentity() {
	w.T.Helper()
	w.sim.Colleague(w.T, "web", "nginx", map[string]string{"team": "sre"}, 1, 2)
	w.Configure(providertest.ReadExample(w.T, providertest.HostedExample) +
		providertest.ReadExample(w.T, "resources/bk_hosted_process/import-by-identity.tf"))
}

func identity(w workspace) {
	w.configureIdentity()
	w.Expect(0, "init")
	providertest.Says(w.T, w.Expect(0, "plan"), "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy.")
}

func noIdentity(w workspace) {
	w.configureIdentity()
	providertest.Says(w.T, w.Expect(1, "init"), `An argument named "identity" is not expected here.`)
}

func (w workspace) configureActions(workers string) {
	w.T.Helper()
	w.Configure(providertest.ReadExample(w.T, providertest.HostedExample) +
		strings.Replace(providertest.ReadExample(w.T, "actions/bk_process_operation/action.tf"), "worker_processes 4", "worker_processes "+workers, 1))
}

func actions(w workspace) {
	const restart = "operate_proc_v2/7 0:10.0.0.1 0:10.0.0.2"
	w.configureActions("4")
	w.Expect(0, "init")
	w.Expect(0, "apply", "-auto-approve")
	w.sim.ResetCalls()
	providertest.Says(w.T, w.Expect(0, "apply", "-auto-approve", "-invoke=action.bk_process_operation.restart"), "restart web:nginx: 2/2 done, 0 failed")
	w.sim.Changed(w.T, restart)
	w.configureActions("8")
	w.sim.ResetCalls()
	w.Expect(0, "apply", "-auto-approve")
	w.sim.Changed(w.T, restart)
	w.Expect(0, "plan", "-detailed-exitcode")
}

func noActions(w workspace) {
	w.configureActions("4")
	providertest.Says(w.T, w.Expect(1, "init"), `Blocks of type "action" are not expected here.`)
}

const listFile = "list.tfquery.hcl"

func (w workspace) configureList() {
	w.T.Helper()
	w.sim.Colleague(w.T, "web", "nginx", map[string]string{"team": "sre"}, 1, 2)
	w.Write(listFile, providertest.ReadExample(w.T, "list-resources/bk_hosted_process/list-resource.tfquery.hcl"))
}

func lists(w workspace) {
	w.configureList()
	w.Expect(0, "init")
	providertest.Says(w.T, w.Expect(0, "query", "-generate-config-out=found.tf"), "name=nginx,namespace=web")
	found := providertest.ReadFile(w.T, w.Dir, "found.tf")
	providertest.Says(w.T, found, `resource "bk_hosted_process" "web_0"`, "identity = {")
}

func noLists(w workspace) {
	w.configureList()
	w.Expect(0, "init") // does not read the file
	code, out := w.Run("query")
	providertest.Check(w.T, code != 0 && !strings.Contains(out, "nginx"), "it has the command: exit code %d\n%s", code, out)
}
