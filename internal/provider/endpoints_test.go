package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// permitted is an object that makes every call it can make.
type permitted struct {
	*providertest.Protocol
	sim *providertest.Sim
	by  providertest.Face
}

func (p permitted) applied(on providertest.Operation, configs ...map[string]any) {
	p.T.Helper()
	resource := p.CoreOf(p.by.TypeName(on), &providertest.Kept{})
	for _, config := range append(configs, nil) {
		if _, said := resource.Apply(config); len(said) > 0 {
			p.T.Error(said)
		}
	}
}

func (p permitted) read(typ string, config map[string]any, says string) {
	p.T.Helper()
	_, said := p.ReadData(typ, config)
	if (len(said) > 0) != (says != "") || !strings.Contains(said.String(), says) {
		p.T.Errorf("said: %s", said)
	}
}

func (p permitted) hosts() {
	config := p.by.Reference("./a.sh", 2)
	verified := p.by.Reference("./b.sh", 2)
	verified["verify"] = "agent"
	p.applied(providertest.OnCreate, config, p.by.Reference("./b.sh", 2), verified)
	resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
	resource.Applied(config)
	providertest.NoError(p.T, p.sim.Unhost(providertest.Address(2), "web", "nginx"))
	resource.Applied(config)
	if said := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Imports("web:nginx"); said.Failed() {
		p.T.Error(said)
	}
}

func (p permitted) hostsByJob() {
	owned := p.by.Reference("./start.sh", 2)
	owned["registration_api"] = "manage_proc"
	process, _ := owned["process"].(map[string]any)
	process["proc_owner"] = "sre"
	p.applied(providertest.OnCreate, p.by.Reference("./start.sh", 2), owned)
}

func (p permitted) operates() {
	process := func(name string) map[string]any {
		config := p.by.Reference("./start.sh", 2)
		if hosts, ok := config["hosts"].(map[string]string); ok && p.by == providertest.FaceGateway {
			// The platform is asked whether an address and an agent id are one machine.
			p.sim.AdmitAgents = true
			hosts["web-2"] = strings.Repeat("0a", 18)
		}
		if p.by == providertest.FaceJOB {
			of, _ := config["process"].(map[string]any)
			of["proc_name"], of["setup_path"], of["pid_path"] = name, "/srv/"+name, "/srv/"+name+"/it.pid"
			return config
		}
		config["meta"] = map[string]any{"namespace": "web", "name": name}
		return config
	}
	one, first, second := process("nginx"), process("nginx"), process("redis")
	one["operation"], first["priority"], second["priority"] = "start", 1, 1
	p.applied(providertest.OnOperate, one, map[string]any{
		"operation": "start", "triggers": map[string]string{"run": "2"}, "processes": map[string]any{"one": first, "other": second},
	})
}

func (p permitted) asks() {
	config := p.by.Reference("./start.sh", 2)
	p.read(p.by.TypeName(providertest.OnStatus), config, "")
	if p.by != providertest.FaceJOB {
		p.read(p.by.TypeName(providertest.OnStatus), map[string]any{"meta": config["meta"], "hosts": config["hosts"], "mode": "cached"}, "")
	}
}

const oneModule = `{"businesses": [{"id": 3, "name": "game", "templates": [{"name": "web",
  "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx", "work_path": "/srv", "pid_file": "/run/nginx.pid", "user": "root"}]}], "groups": [{"name": "all", "object": "host"}],
  "sets": [{"name": "gz", "modules": [{"name": "nginx", "template": "web", "hosts": [{"ip": "10.3.0.1"}]}]}]}]}`

// looksUp reads a data source in every scope, and once for a business that does not exist.
func (p permitted) looksUp(typ string) {
	for _, scope := range []map[string]any{{"topology": map[string]any{"env": "3"}}, {"dynamic_group": "all"}, {"service_template": "web"}} {
		scope["bk_biz_id"] = 3
		p.read(typ, scope, "")
	}
	if typ == "bk_cmdb_processes" { // it has another way if the first is refused
		p.sim.Inject(simulator.Fault{API: "list_process_related_info", EnvelopeCode: new(9900403), Times: 1})
		p.read(typ, map[string]any{"bk_biz_id": 3, "topology": map[string]any{}}, "")
	}
	p.read(typ, map[string]any{"bk_biz_id": 4, "topology": map[string]any{}}, "There is no business 4")
}

// Each object calls exactly the APIs that the table lists for it, as does the Chinese one.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	table, err := providertest.EndpointTable()
	providertest.NoError(t, err)
	chinese, err := providertest.EndpointTableInChinese()
	providertest.NoError(t, err)
	providertest.Same(t, "table in Chinese", table, chinese)
	scenarios := map[string]func(permitted){
		"bk_hosted_process": permitted.hosts, "bk_job_hosted_process": permitted.hostsByJob,
		"bk_process_operation": permitted.operates, "bk_job_process_operation": permitted.operates,
		"bk_process_status": permitted.asks, "bk_job_process_status": permitted.asks,
		"bk_registrations": func(p permitted) { p.read("bk_registrations", map[string]any{"namespace": "web"}, "") },
		"bk_hosted_specs": func(p permitted) {
			p.sim.Registered(p.T, 1)
			p.read("bk_hosted_specs", map[string]any{"namespace": "web", "hosts": providertest.HostsOf(1)}, "")
		},
		"bk_hosts":          func(p permitted) { p.looksUp("bk_hosts") },
		"bk_cmdb_processes": func(p permitted) { p.looksUp("bk_cmdb_processes") },
	}
	providertest.Same(t, "objects of the table, and of this test", names(table), names(scenarios))
	for object, drive := range scenarios {
		faces := map[providertest.Face]bkapi.Gateway{providertest.FaceESB: bkapi.ESB, providertest.FaceGateway: bkapi.APIGW}
		if strings.HasPrefix(object, "bk_job_") {
			faces = map[providertest.Face]bkapi.Gateway{providertest.FaceJOB: bkapi.ESB}
		}
		for by, gateway := range faces {
			t.Run(object+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSimOf(t, oneModule)
				settings := sim.SettingsFor(by)
				settings["hosted_specs"] = map[string]any{"job_scope": map[string]any{"id": "2"}}
				if by == providertest.FaceGateway {
					settings["cmdb_endpoint"] = sim.URL + "/api/bk-cmdb/prod"
				}
				drive(permitted{providertest.ConfiguredWith(t, settings), sim, by})
				providertest.Same(t, "APIs of the table, and called", table[object][gateway], slices.Compact(slices.Sorted(slices.Values(sim.Calls().APIs()))))
			})
		}
	}
}
