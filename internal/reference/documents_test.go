package reference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// document is a sample request of one of the platform's documents (see the package contract), which users
// copy into a configuration.
type document struct {
	id   string // of the contract
	face providertest.Face
	typ  string
	// config makes the configuration: all values of the request, including empty texts.
	config func(request map[string]any) map[string]any
	// at is the request that the configuration causes. It equals the document's, apart from empty values.
	at providertest.Target
	// warns is a warning of the plan.
	warns string
}

var documents = map[string]document{
	"register_proc_info": {
		id: "esb/register_proc_info", face: providertest.FaceESB, typ: "bk_hosted_process",
		config: func(request map[string]any) map[string]any {
			return map[string]any{"meta": request["meta"], "hosts": hostMapOf(request["hosts"]), "spec": request["spec"]}
		},
		at: providertest.Target{API: "register_proc_info"},
	},
	"operate_proc_v2": {
		id: "esb/operate_proc_v2", face: providertest.FaceESB, typ: "bk_process_operation",
		config: func(request map[string]any) map[string]any {
			spec, _ := request["spec"].(map[string]any)
			spec["monitor_policy"] = spec["alive_monitor_policy"]
			delete(spec, "alive_monitor_policy")
			return map[string]any{"meta": request["meta"], "hosts": hostMapOf(request["hosts"]), "spec": spec, "operation": "start"}
		},
		at: providertest.Target{API: "operate_proc_v2", Op: new(simulator.OpStart)},
	},
	"manage_proc": {
		id: "job/manage_proc", face: providertest.FaceJOB, typ: "bk_job_hosted_process",
		config: func(request map[string]any) map[string]any {
			config := managed(request)
			config["scope"] = map[string]any{"type": request["bk_scope_type"], "id": request["bk_scope_id"]}
			return config
		},
		at: providertest.Target{API: "manage_proc"},
	},
	"manage_proc-biz": {
		id: "job/manage_proc/biz", face: providertest.FaceJOB, typ: "bk_job_hosted_process",
		config: func(request map[string]any) map[string]any {
			config := managed(request)
			config["bk_biz_id"] = request["bk_biz_id"]
			return config
		},
		at: providertest.Target{API: "manage_proc"},
	},
	"operate_process": {
		id: "job/operate_process", face: providertest.FaceJOB, typ: "bk_job_process_operation",
		config: func(request map[string]any) map[string]any {
			config := managed(request)
			delete(config, "registration_api")
			config["bk_biz_id"], config["operation"] = request["bk_biz_id"], "stop"
			return config
		},
		at:    providertest.Target{API: "operate_process", Op: new(simulator.OpStop)},
		warns: "Attribute process.stop_cmd: ",
	},
}

// managed is the process and the hosts of a request to JOB.
func managed(request map[string]any) map[string]any {
	infos, _ := request["process_infos"].([]any)
	process, _ := infos[0].(map[string]any)
	hosts := hostMapOf(process["ip_list"])
	delete(process, "ip_list")
	return map[string]any{"process": process, "hosts": hosts, "registration_api": "manage_proc"}
}

// hostMapOf is a list of hosts as a map of addresses.
func hostMapOf(list any) map[string]string {
	addresses := make(map[string]string)
	hosts, _ := list.([]any)
	for i, host := range hosts {
		host, _ := host.(map[string]any)
		address := fmt.Sprint(host["bk_cloud_id"])
		if supplier, ok := host["bk_supplier_id"]; ok {
			address += fmt.Sprint(":", supplier)
		}
		addresses[fmt.Sprint("host-", i+1)] = fmt.Sprint(address, ":", host["ip"])
	}
	return addresses
}

// decoded is a request without its credentials, and without its labels, because registering adds some.
func decoded(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var request map[string]any
	providertest.NoError(t, json.Unmarshal(body, &request))
	for name := range request {
		if strings.HasPrefix(name, "bk_app_") || name == "bk_token" || name == "bk_username" {
			delete(request, name)
		}
	}
	return request
}

func withoutLabels(request map[string]any) map[string]any {
	if meta, ok := request["meta"].(map[string]any); ok {
		delete(meta, "labels")
	}
	return request
}

// withoutEmpty removes empty texts, and lists and objects that are then empty.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if inner = withoutEmpty(inner); inner == nil {
				delete(value, name)
			} else {
				value[name] = inner
			}
		}
		if len(value) > 0 {
			return value
		}
	case []any:
		var left []any
		for _, inner := range value {
			if inner = withoutEmpty(inner); inner != nil {
				left = append(left, inner)
			}
		}
		if left != nil {
			return left
		}
	case string:
		if value != "" {
			return value
		}
	default:
		return value
	}
	return nil
}

// The samples of the platform's own documents can be declared unchanged. They plan and apply, empty
// values are not sent, and state has what was written.
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
			calls := d.at.Calls(sim.Calls())
			if len(calls) != 1 {
				t.Fatalf("%d calls of %s", len(calls), d.at.API)
			}
			want, got := withoutEmpty(withoutLabels(decoded(t, request))), withoutLabels(decoded(t, calls[0].Body))
			providertest.Same(t, "sent", want, any(got))
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
			config := func(empty any) map[string]any {
				config := d.config(decoded(t, contract.Get(d.id).Request))
				if spec, ok := config["spec"].(map[string]any); ok {
					identity, _ := spec["identity"].(map[string]any)
					identity["index_key"], spec["configmap"] = empty, nil
					if empty != nil {
						spec["configmap"] = []any{map[string]any{"path": empty, "md5": empty}}
					}
				} else if process, ok := config["process"].(map[string]any); ok {
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
