package reference_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// document is a sample request of one of the platform's documents (see the package contract), which users
// copy into a configuration.
type document struct {
	id   string // of the contract
	face providertest.Face
	typ  string
	// config makes the configuration: all values of the request, including empty texts.
	config func(request object) object
	// warns is a warning of the plan.
	warns string
}

var documents = map[string]document{
	"register_proc_info": {
		id: "esb/register_proc_info", face: providertest.FaceESB, typ: "bk_hosted_process",
		config: func(request object) object {
			return object{"meta": request["meta"], "hosts": hostMapOf(request["hosts"]), "spec": request["spec"]}
		},
	},
	"operate_proc_v2": {
		id: "esb/operate_proc_v2", face: providertest.FaceESB, typ: "bk_process_operation",
		config: func(request object) object {
			spec, _ := request["spec"].(object)
			spec["monitor_policy"] = spec["alive_monitor_policy"]
			delete(spec, "alive_monitor_policy")
			return object{"meta": request["meta"], "hosts": hostMapOf(request["hosts"]), "spec": spec, "operation": "start"}
		},
	},
	"manage_proc": {
		id: "job/manage_proc", face: providertest.FaceJOB, typ: "bk_job_hosted_process",
		config: func(request object) object {
			config := managed(request)
			config["scope"] = object{"type": request["bk_scope_type"], "id": request["bk_scope_id"]}
			return config
		},
	},
	"manage_proc-biz": {
		id: "job/manage_proc/biz", face: providertest.FaceJOB, typ: "bk_job_hosted_process",
		config: func(request object) object {
			config := managed(request)
			config["bk_biz_id"] = request["bk_biz_id"]
			return config
		},
	},
	"operate_process": {
		id: "job/operate_process", face: providertest.FaceJOB, typ: "bk_job_process_operation",
		config: func(request object) object {
			config := managed(request)
			delete(config, "registration_api")
			config["bk_biz_id"], config["operation"] = request["bk_biz_id"], "stop"
			return config
		},
		warns: "Attribute process.stop_cmd: ",
	},
}

// managed is the process and the hosts of a request to JOB.
func managed(request object) object {
	infos, _ := request["process_infos"].([]any)
	process, _ := infos[0].(object)
	hosts := hostMapOf(process["ip_list"])
	delete(process, "ip_list")
	return object{"process": process, "hosts": hosts, "registration_api": "manage_proc"}
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

// decoded is a request without its credentials.
func decoded(t *testing.T, body []byte) object {
	t.Helper()
	var request object
	providertest.Decode(t, string(body), &request)
	for name := range request {
		if strings.HasPrefix(name, "bk_app_") || name == "bk_token" || name == "bk_username" {
			delete(request, name)
		}
	}
	return request
}

// The samples of the platform's own documents can be declared unchanged. They plan and apply, and state has what was
// written. What is sent is what TestMappingGSE and TestMappingJOB say.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, d := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := impatient(t, providertest.ConfiguredWith(t, sim.SettingsFor(d.face)))
			request := contract.Get(d.id).Request
			config := d.config(decoded(t, request))
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
			if plan, said := resource.Plan(config); plan.Action != providertest.PlanNothing || len(said) > 0 {
				t.Errorf("the plan after it: %s %s", plan.Action, said)
			}
			if _, said := resource.Apply(nil); len(said) > 0 {
				t.Errorf("destroy: %s", said)
			}
		})
	}
}

// An empty text counts as not set: setting or removing one registers nothing and replaces nothing.
func TestDocuments_emptyIsNone(t *testing.T) {
	t.Parallel()
	for name, d := range documents {
		if strings.HasSuffix(d.typ, "operation") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := impatient(t, providertest.ConfiguredWith(t, sim.SettingsFor(d.face)))
			resource := p.CoreOf(d.typ, &providertest.Kept{})
			config := func(empty any) object {
				config := d.config(decoded(t, contract.Get(d.id).Request))
				if spec, ok := config["spec"].(object); ok {
					identity, _ := spec["identity"].(object)
					identity["index_key"], spec["configmap"] = empty, nil
					if empty != nil {
						spec["configmap"] = []any{object{"path": empty, "md5": empty}}
					}
				} else if process, ok := config["process"].(object); ok {
					process["value_key"], process["func_id"], process["cfg_path"] = empty, empty, empty
				}
				return config
			}
			resource.Applied(config(nil))
			sim.ResetCalls()
			for _, empty := range []any{"", nil} {
				if kind, said := resource.Apply(config(empty)); kind != providertest.PlanUpdate || len(said) > 0 {
					t.Errorf("%v: %s %s", empty, kind, said)
				}
			}
			sim.Changed(t)
		})
	}
}
