package reference_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// jobMapping is a scope and a process in a configuration. Requests have the fields of the process under the same names.
type jobMapping struct {
	scope, process object
	registration   string
	wantScope      string
	// key is the agent's key of the process.
	key string
}

// wholeJOB has a different value in every field.
func wholeJOB(kind int) jobMapping {
	return jobMapping{
		scope: object{"scope": object{"type": "biz_set", "id": "51"}},
		process: object{
			"proc_name": "proc-name", "setup_path": "/setup/path", "pid_path": "/pid/path", "value_key": "value-key",
			"proc_owner": "proc-owner", "contact": "contact-name", "account": "account-name", "cfg_path": "/cfg/path", "log_path": "/log/path",
			"start_cmd": "start-cmd", "stop_cmd": "stop-cmd", "restart_cmd": "restart-cmd", "reload_cmd": "reload-cmd", "kill_cmd": "kill-cmd",
			"func_id": "func-id", "instance_id": "instance-id", "type": kind, "cycle_time": 21, "cpu_lmt": 22, "mem_lmt": 23,
			"instance_num": 24, "op_timeout": 25, "start_check_begin_time": 26, "start_check_end_time": 27,
		},
		wantScope: `"bk_scope_type": "biz_set", "bk_scope_id": "51"`,
		key:       "value-key",
	}
}

func manageJOB() jobMapping {
	m := wholeJOB(1)
	m.registration = "manage_proc"
	return m
}

func leastJOB() jobMapping {
	return jobMapping{
		scope:     object{"bk_biz_id": 52},
		process:   object{"proc_name": "proc-name", "setup_path": "/setup/path", "pid_path": "/pid/path", "cycle_time": 21},
		wantScope: `"bk_biz_id": 52`, key: "/setup/path/proc-name",
	}
}

// zeroJOB sets optional fields to 0 and "". The 0 is sent, and an empty text is not.
func zeroJOB() jobMapping {
	m := leastJOB()
	m.scope = object{"scope": object{"type": "biz", "id": "53"}}
	m.wantScope = `"bk_scope_type": "biz", "bk_scope_id": "53"`
	maps.Copy(m.process, object{
		"value_key": "", "proc_owner": "", "contact": "", "account": "", "cfg_path": "", "log_path": "", "func_id": "", "instance_id": "",
		"start_cmd": "", "stop_cmd": "", "restart_cmd": "", "reload_cmd": "", "kill_cmd": "", "type": 0, "cpu_lmt": 0, "mem_lmt": 0, "instance_num": 0,
		"op_timeout": 0, "start_check_begin_time": 0, "start_check_end_time": 0,
	})
	return m
}

// Reference is scope, process and hosts as an object has them.
func (m jobMapping) Reference() object {
	config := maps.Clone(m.scope)
	config["process"], config["hosts"] = m.process, mappedHosts
	return config
}

// hosted is a bk_job_hosted_process, with other values in some fields.
func (m jobMapping) hosted(other object) object {
	config := m.Reference()
	config["process"] = maps.Clone(m.process)
	for field, value := range other {
		set(config, "process."+field, value)
	}
	if m.registration != "" {
		config["registration_api"] = m.registration
	}
	return config
}

// body is the body of an operation, by its API: contact is sent only by operate_process, and proc_owner by manage_proc.
func (m jobMapping) body(api string, op int) string {
	process := maps.Clone(m.process)
	delete(process, map[bool]string{true: "contact", false: "proc_owner"}[api == "manage_proc"])
	return `{` + mappedCaller + `, ` + m.wantScope + `, "op_type": ` + strconv.Itoa(op) +
		`, "process_infos": [` + strings.TrimSuffix(jsonOf(process), "}") + `, "ip_list": ` + mappedHostsV2 + `}]}`
}

// Every field of a scope, a process and its hosts is in its place in every request to JOB, of either generation.
//
// Promised in reference: Defaults to these two.
func TestMappingJOB(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]jobMapping{
		"periodic":    wholeJOB(0),
		"resident":    wholeJOB(1),
		"one-shot":    wholeJOB(2),
		"manage-proc": manageJOB(),
		"least":       leastJOB(),
		"zeros":       zeroJOB(),
	} {
		for _, generation := range []string{"job", "jobv3"} {
			t.Run(name+"-"+generation, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				settings := sim.SettingsFor(providertest.FaceJOB)
				settings["job_api"], settings["bk_supplier_id"] = generation, mappedSupplier
				p := impatient(t, providertest.ConfiguredWith(t, settings))
				resource := p.CoreOf("bk_job_hosted_process", &providertest.Kept{})
				register, unregister := providertest.Target{API: "operate_process", Op: new(simulator.OpHost)}, providertest.Target{API: "operate_process", Op: new(simulator.OpUnhost)}
				registered, unregistered := m.body("operate_process", 3), m.body("operate_process", 4)
				if m.registration == "manage_proc" {
					// The simulator records the op type that reaches the agent.
					register.API, unregister.API = "manage_proc", "manage_proc"
					registered, unregistered = m.body("manage_proc", 1), m.body("manage_proc", 2)
				}
				resource.Applied(m.hosted(nil))
				expectSent(t, sim, register, registered)
				questions := []string{m.body("operate_process", 2)}
				if m.registration == "manage_proc" { // its effect is read back
					questions = append(questions, questions...)
				}
				expectSent(t, sim, providertest.Target{API: "operate_process", Op: new(simulator.OpQuery)}, questions...)
				expectAsked(t, sim, "get_proc_result", `{`+mappedCaller+`, `+m.wantScope+`, "bk_gse_taskid": "TASK"}`)
				for _, call := range sim.Calls() {
					providertest.Check(t, strings.HasPrefix(call.Path, "/api/c/compapi/v2/"+generation+"/"), "%s went to %s", call.API, call.Path)
				}
				resource.Applied(m.hosted(object{"log_path": "/another/path"}))
				sim.ResetCalls()
				resource.Applied(m.hosted(nil))
				expectSent(t, sim, register, registered)
				if start, _ := m.process["start_cmd"].(string); start != "" {
					for operation, op := range mappedOperations {
						if operation == "restart" && name == "one-shot" {
							continue // is refused
						}
						operateMapped(sim, p, "bk_job_process_operation", operation, m.Reference(), mappedHosts, "job", m.key)
						expectSent(t, sim, providertest.Target{API: "operate_process", Op: new(op)}, m.body("operate_process", op))
					}
				}
				sim.ResetCalls()
				providertest.Silent(t, resource.DestroyUnrefreshed())
				expectSent(t, sim, unregister, unregistered)
			})
		}
	}
}

// Every value that the platform returns is in its own attribute, and every host is counted by its state.
func TestMappingStatus(t *testing.T) {
	t.Parallel()
	// status is one of a host, with all attributes.
	status := func(state string, more map[string]any) map[string]any {
		all := map[string]any{"state": state, "hosted": nil, "health": nil, "pid": nil, "version": nil, "cpu_usage": nil, "mem_usage": nil, "error_code": nil, "error_message": nil}
		maps.Copy(all, more)
		return all
	}
	running := status("running", map[string]any{"hosted": true, "health": "health-text", "pid": 11, "version": "version-text", "cpu_usage": 12, "mem_usage": 13})
	stopped, unregistered := status("stopped", map[string]any{"hosted": false}), status("unregistered", nil)
	unknown := status("unknown", map[string]any{"error_code": 117, "error_message": "the agent is abnormal or not found: the agent is away"})
	for name, c := range map[string]struct {
		face  providertest.Face
		mode  string
		query string
	}{
		"live-esb":       {providertest.FaceESB, "live", "operate_proc_v2"},
		"live-gateway":   {providertest.FaceGateway, "live", "operate_proc_v2"},
		"live-job":       {providertest.FaceJOB, "live", "operate_process"},
		"cached-esb":     {providertest.FaceESB, "cached", ""},
		"cached-gateway": {providertest.FaceGateway, "cached", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			// It runs on three hosts and not on two, and is unknown on the last one.
			var answers []any
			for n := 1; n <= 5; n++ {
				providertest.NoError(t, sim.Register(providertest.Address(n), "web", "nginx", nil, "{}"))
				row := map[string]any{"status": 2, "isauto": false, "pid": -1, "version": ""}
				if n <= 3 {
					row = map[string]any{"status": 1, "isauto": true, "pid": 11, "version": "version-text", "cpu_usage": 12, "mem_usage": 13}
				}
				row["meta"] = map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{}}
				row["host"] = map[string]any{"ip": hostIP(n), "bk_cloud_id": 0}
				answers = append(answers, row)
			}
			if c.mode == "cached" {
				sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": answers}})
			} else {
				instance := map[string]any{"isAuto": true, "pid": 11, "version": "version-text", "health": "health-text\n", "cpuUsage": 12, "phyMemUsage": 13}
				sim.Inject(simulator.Fault{
					API: c.query, Hosts: providertest.AddressList([]int{1, 2, 3}), Code: new(0),
					Content: map[string]any{"process": []any{map[string]any{"instance": []any{instance}}}},
				})
				sim.Inject(simulator.Fault{API: c.query, Hosts: providertest.AddressList([]int{6}), Code: new(117), Message: "the agent is away"})
			}
			running, last, away := maps.Clone(running), unknown, 1
			if c.mode == "cached" {
				running["health"] = nil // no row has it
				last, away = unregistered, 0
			}
			config := c.face.Reference("./start.sh", 6)
			if c.face != providertest.FaceJOB {
				config["mode"] = c.mode
			}
			values, said := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).ReadData(c.face.TypeName(providertest.OnStatus), config)
			if said.Failed() {
				t.Fatal(said)
			}
			want := map[string]any{
				"running_count": 3, "stopped_count": 2, "unknown_count": away, "unreachable_count": away, "unregistered_count": 1 - away,
				"statuses": map[string]any{"web-1": running, "web-2": running, "web-3": running, "web-4": stopped, "web-5": stopped, "web-6": last},
			}
			got := map[string]any{}
			for attribute := range want {
				got[attribute] = values[attribute]
			}
			providertest.Same(t, "values", want, got)
		})
	}
}

func hostIP(n int) string { return providertest.Address(n)[len("0:"):] }

// Everything that the platform lists of a process is in its attribute after an import and in a list. The
// gateway lists no suppliers, and agent ids in place of addresses if it has them.
//
// Promised in drift-in-ci.md: `registered`, `hosted` (the default) or `running`.
func TestMappingGSE_listed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face  providertest.Face
		hosts map[string]string
		want  map[string]any
	}{
		"esb": {providertest.FaceESB, nil, map[string]any{"3:10.0.0.1": "3:7:10.0.0.1", "4:10.0.0.2": "4:8:10.0.0.2", "5:10.0.0.3": "5:10.0.0.3"}},
		"gateway": {providertest.FaceGateway, map[string]string{"fourth": mappedAgent}, map[string]any{
			"3:10.0.0.1": "3:10.0.0.1", "4:10.0.0.2": "4:10.0.0.2", "5:10.0.0.3": "5:10.0.0.3", mappedAgent: mappedAgent,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.AddHost(mappedAgent)
			m := gseMappings["resident"]
			hosts := maps.Clone(mappedHosts)
			maps.Copy(hosts, c.hosts)
			registered := mapped(t, sim, c.face, m).CoreOf(providertest.HostedType, &providertest.Kept{})
			registered.Applied(m.Reference(hosts))
			identity := map[string]any{"namespace": "name-space", "name": "process-name"}
			want := map[string]any{
				"id": "name-space:process-name", "hosts": c.want, "spec": nil, "out_of_sync": map[string]any{},
				"meta": map[string]any{
					"namespace": "name-space", "name": "process-name", "labels": map[string]any{"team": "label-team", "tier": "label-tier"},
				},
				"ensure": "hosted", "on_destroy": "unregister", "on_partial_create": "warn", "on_update": nil,
				"adopt_existing": nil, "forget_unreachable": nil, "max_unreachable_hosts": nil, "unreachable": map[string]any{}, "rollout": nil, "rollout_plan": nil, "safety": nil, "timeouts": nil, "verify": nil,
				"fingerprint": nil, "labels_all": nil, "bk_supplier_id": nil, "owner": nil, "process": nil,
			}
			// The refresh after an import finds the fingerprint and the owner in the cached status, and the process's own values. The
			// supplier id is the provider's.
			refreshed := maps.Clone(want)
			refreshed["fingerprint"], refreshed["owner"] = "v1-00a1253b106f04c2", registered.Attribute("owner")
			process, err := json.Marshal(map[string]any{"meta": want["meta"], "hosts": want["hosts"]})
			providertest.NoError(t, err)
			p := mapped(t, sim, c.face, m)
			resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
			sim.ResetCalls()
			providertest.Silent(t, resource.Imports("name-space:process-name"))
			caller := ""
			if c.face == providertest.FaceESB {
				caller = mappedCaller + ", "
			}
			expectSent(t, sim, providertest.Target{API: "sync_proc_status"}, `{`+caller+`"meta": {"namespace": "name-space"}, "page": {"start": 0, "limit": 1000}}`)
			if diff := procapitest.DiffJSON(t, process, []byte(declarations()["gse"].in(t, resource))); diff != "" {
				t.Errorf("process of an import (-want +got):\n%s", diff)
			}
			refreshed["process"], refreshed["bk_supplier_id"] = declarations()["gse"].in(t, resource), 9
			providertest.Same(t, "imported", refreshed, providertest.Plain(t, resource.State))
			providertest.Same(t, "identity of an import", identity, p.IdentityOf(resource.Identity))
			results, said := p.List(tfprotov6.ListResourceRequest{IncludeResource: true}, map[string]any{"namespace": "name-space"})
			if diff := cmp.Diff([]providertest.Listed{{Name: "name-space:process-name", Identity: identity, Resource: want}}, results); diff != "" || said != "" {
				t.Errorf("listed (-want +got):\n%s%s", diff, said)
			}
		})
	}
}
