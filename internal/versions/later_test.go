package versions_test

import (
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Features of releases after the oldest supported one. An older release rejects the configuration or the
// command.

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
		if strings.Contains(text, simulator.DefaultAppSecret) {
			w.T.Errorf("the %s has the secret:\n%s", what, text)
		}
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
	if code, out := w.Run("query"); code == 0 || strings.Contains(out, "nginx") {
		w.T.Errorf("it has the command: exit code %d\n%s", code, out)
	}
}
