package reference_test

import (
	"maps"
	"strconv"
	"strings"
	"testing"

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

// leastJOB leaves out optional fields.
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
