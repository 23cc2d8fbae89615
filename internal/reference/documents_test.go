package reference_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// documents are sample requests of the platform's documents (see the package contract), which users copy into a
// configuration: the object that declares each, its operation, and a warning of its plan.
var documents = map[string]struct{ typ, operation, warns string }{
	"esb/register_proc_info": {typ: "bk_hosted_process"},
	"esb/operate_proc_v2":    {typ: "bk_process_operation", operation: "start"},
	"job/manage_proc":        {typ: "bk_job_hosted_process"},
	"job/manage_proc/biz":    {typ: "bk_job_hosted_process"},
	"job/operate_process":    {typ: "bk_job_process_operation", operation: "stop", warns: "Attribute process.stop_cmd: "},
}

// declaredAs is the configuration of a request: all its values, including empty texts.
func declaredAs(request object, operation string) object {
	config := object{}
	if infos, ok := request["process_infos"].([]any); ok {
		process, _ := infos[0].(object)
		config["process"], config["hosts"] = process, hostMapOf(process["ip_list"])
		delete(process, "ip_list")
		if config["bk_biz_id"] = request["bk_biz_id"]; request["bk_scope_type"] != nil {
			config["scope"] = object{"type": request["bk_scope_type"], "id": request["bk_scope_id"]}
		}
		if operation == "" {
			config["registration_api"] = "manage_proc"
		}
	} else {
		config["meta"], config["hosts"], config["spec"] = request["meta"], hostMapOf(request["hosts"]), request["spec"]
		if spec, _ := request["spec"].(object); spec["alive_monitor_policy"] != nil {
			spec["monitor_policy"] = spec["alive_monitor_policy"]
			delete(spec, "alive_monitor_policy")
		}
	}
	if operation != "" {
		config["operation"] = operation
	}
	return config
}

// hostMapOf is a list of hosts as a map of addresses.
func hostMapOf(list any) map[string]string {
	addresses := make(map[string]string)
	hosts, _ := list.([]any)
	for i, host := range hosts {
		host, _ := host.(object)
		address := fmt.Sprint(host["bk_cloud_id"])
		if supplier, ok := host["bk_supplier_id"]; ok {
			address += fmt.Sprint(":", supplier)
		}
		addresses[fmt.Sprint("host-", i+1)] = fmt.Sprint(address, ":", host["ip"])
	}
	return addresses
}

// The samples of the platform's own documents can be declared unchanged. They plan and apply, and state has what was
// written. What is sent is in the tests of mappings.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for id, d := range documents {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			var request object
			providertest.Decode(t, string(contract.Get(id).Request), &request)
			config := declaredAs(request, d.operation)
			p := impatient(t, providertest.ConfiguredWith(t, providertest.NewSim(t).SettingsFor(providertest.FaceESB)))
			resource := p.CoreOf(d.typ, &providertest.Kept{})
			said := resource.Validate(config)
			if said.Failed() || (d.warns == "") != (len(said) == 0) || !strings.Contains(said.String(), d.warns) {
				t.Fatalf("said: %s", said)
			}
			if kind, said := resource.Apply(config); kind != providertest.PlanCreate || len(said) > 0 {
				t.Fatalf("%s: %s", kind, said)
			}
			for attribute, value := range config {
				written := providertest.ValueOf(providertest.AttributesOf(t, resource.State)[attribute].Type(), value)
				if !written.Equal(providertest.AttributesOf(t, resource.State)[attribute]) {
					t.Errorf("%s is not in state as it was written", attribute)
				}
			}
			resource.Settled(config)
			resource.Destroyed()
		})
	}
}

// An empty text counts as not set: setting or removing one registers nothing and replaces nothing.
func TestEmptyIsNone(t *testing.T) {
	t.Parallel()
	for block, empty := range map[string]object{
		hostedBlock:    {"spec.identity.index_key": "", "spec.configmap": []any{object{"path": "", "md5": ""}}},
		jobHostedBlock: {"process.value_key": "", "process.func_id": "", "process.cfg_path": ""},
	} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB)).CoreOf(strings.TrimPrefix(block, "resource "), &providertest.Kept{})
			resource.Applied(configOf(block, nil))
			sim.ResetCalls()
			for _, values := range []object{empty, nil} {
				if kind, said := resource.Apply(configOf(block, values)); kind != providertest.PlanUpdate || len(said) > 0 {
					t.Errorf("%v: %s %s", values, kind, said)
				}
			}
			sim.Changed(t)
		})
	}
}
