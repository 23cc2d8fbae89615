package reference_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const mappedAgent = "0200000007525400f355781710390005465c"

// gseMapping is meta.labels and spec in a configuration. Requests have its fields under the same names, in the places that body says.
type gseMapping struct {
	fingerprintLabel, fingerprint string
	labels                        map[string]string
	spec                          object
}

// wholeGSE has a different value in every field.
func wholeGSE(autoType int, fingerprint string) gseMapping {
	return gseMapping{
		fingerprintLabel: "fingerprint", fingerprint: fingerprint,
		labels: map[string]string{"team": "label-team", "tier": "label-tier"},
		spec: object{
			"identity": object{
				"proc_name": "proc-name", "setup_path": "/setup/path", "pid_path": "/pid/path", "user": "user-name",
				"config_path": "/config/path", "log_path": "/log/path", "index_key": "index-key",
			},
			"control": object{
				"start_cmd": "start-cmd", "stop_cmd": "stop-cmd", "restart_cmd": "restart-cmd", "reload_cmd": "reload-cmd",
				"kill_cmd": "kill-cmd", "version_cmd": "version-cmd", "health_cmd": "health-cmd",
			},
			"resource": object{"cpu": 31.5, "mem": 32.25, "fd": 33, "disk": 34, "net": 35},
			"monitor_policy": object{
				"auto_type": autoType, "start_check_secs": 21, "stop_check_secs": 22, "start_retries": 23,
				"start_interval": 24, "crontab_rule": "crontab-rule", "op_timeout": 25,
			},
			"warn_report_policy": object{"report_id": 41},
			"configmap": []any{
				object{"path": "/file/one", "md5": "0123456789abcdef0123456789abcdef"},
				object{"path": "/file/two", "md5": "FEDCBA9876543210FEDCBA9876543210"},
			},
		},
	}
}

var gseMappings = map[string]gseMapping{
	"periodic": wholeGSE(0, "v1-0d081666deb74748"),
	"resident": wholeGSE(1, "v1-00a1253b106f04c2"),
	"one-shot": wholeGSE(2, "v1-fbbdb9dccee0d512"),
	"least": {spec: object{
		"identity":       object{"proc_name": "proc-name", "setup_path": "/setup/path", "pid_path": "/pid/path", "user": "user-name"},
		"control":        object{"start_cmd": "start-cmd", "stop_cmd": "stop-cmd"},
		"resource":       object{"cpu": 31.5, "mem": 32.25},
		"monitor_policy": object{"auto_type": 1},
	}},
	// A 0 is sent, and an empty text is not.
	"zeros": {spec: object{
		"identity": object{
			"proc_name": "proc-name", "setup_path": "/setup/path", "pid_path": "/pid/path", "user": "user-name", "config_path": "", "log_path": "", "index_key": "",
		},
		"control":            object{"start_cmd": "start-cmd", "stop_cmd": "stop-cmd", "restart_cmd": "", "reload_cmd": "", "kill_cmd": "", "version_cmd": "", "health_cmd": ""},
		"resource":           object{"cpu": 31.5, "mem": 32.25, "fd": 0, "disk": 0, "net": 0},
		"monitor_policy":     object{"auto_type": 0, "stop_check_secs": 0, "start_retries": 0, "start_interval": 0, "crontab_rule": ""},
		"warn_report_policy": object{"report_id": 0},
		"configmap":          []any{object{}, object{"path": "", "md5": ""}, object{"path": "/file/one", "md5": ""}},
	}},
}

// Reference is meta, hosts and spec as an object has them.
func (m gseMapping) Reference(hosts map[string]string) object {
	meta := object{"namespace": "name-space", "name": "process-name"}
	if m.labels != nil {
		meta["labels"] = m.labels
	}
	return object{"meta": meta, "hosts": hosts, "spec": m.spec}
}

// altered is another definition, from which a change back to this one is possible.
func (m gseMapping) altered(hosts map[string]string) object {
	config := m.Reference(hosts)
	config["spec"] = maps.Clone(m.spec)
	set(config, "spec.control", object{"start_cmd": "start-cmd", "stop_cmd": "stop-cmd", "health_cmd": "another-health-cmd"})
	return config
}

// body fills in a template: META, HOSTS1, HOSTS2, and the spec as registering (REGISTERED), operations
// (OPERATED) and hosting (HOSTING) send it.
func (m gseMapping) body(template string) string { return m.labelled(template, nil) }

// owned is body as a hosted process sends it, with the owner label.
func (m gseMapping) owned(template string) string {
	return m.labelled(template, map[string]string{m.fingerprintLabel + "_owner": someOwner})
}

func (m gseMapping) labelled(template string, owner map[string]string) string {
	named := object{"namespace": "name-space", "name": "process-name"}
	labels := map[string]string{"region": "label-region"}
	maps.Copy(labels, m.labels)
	if m.fingerprintLabel != "" {
		labels[m.fingerprintLabel] = m.fingerprint
		maps.Copy(labels, owner)
	}
	meta, registered := maps.Clone(named), maps.Clone(m.spec)
	meta["labels"] = labels
	policy, _ := m.spec["monitor_policy"].(object)
	// Only operations have the time of one. They call the policy by another name, and have no limits.
	registered["monitor_policy"] = maps.Clone(policy)
	set(registered, "monitor_policy.op_timeout", "")
	hosting := maps.Clone(m.spec)
	hosting["alive_monitor_policy"] = policy
	delete(hosting, "monitor_policy")
	operated := maps.Clone(hosting)
	delete(operated, "resource")
	return strings.NewReplacer(
		"CALLER", mappedCaller, "META", jsonOf(meta), "NAME", jsonOf(named),
		"REGISTERED", jsonOf(registered), "OPERATED", jsonOf(operated), "HOSTING", jsonOf(hosting), "HOSTS1", mappedHostsV1, "HOSTS2", mappedHostsV2,
	).Replace(template)
}

func mapped(t *testing.T, s *providertest.Sim, f providertest.Face, m gseMapping) *providertest.Protocol {
	t.Helper()
	settings := s.SettingsFor(f)
	settings["bk_supplier_id"] = mappedSupplier
	settings["default_labels"] = map[string]string{"region": "label-region"}
	settings["spec_fingerprint_label"] = m.fingerprintLabel
	return impatient(t, providertest.ConfiguredWith(t, settings))
}

// Every field of meta, hosts and spec is in its place in every request on the ESB.
func TestMappingGSE_esb(t *testing.T) {
	t.Parallel()
	for name, m := range gseMappings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := mapped(t, sim, providertest.FaceESB, m)
			resource := p.CoreOf("bk_hosted_process", &providertest.Kept{})
			config := m.Reference(mappedHosts)
			resource.Applied(config)
			expectSent(t, sim, providertest.Target{API: "register_proc_info"}, m.owned(`{CALLER, "meta": META, "hosts": HOSTS1, "spec": REGISTERED}`))
			asked := 1 // before it is registered
			if m.fingerprintLabel != "" {
				asked++ // and at the end, for the time of the registration
			}
			expectSent(t, sim, providertest.Target{API: "operate_proc_v2", Op: new(simulator.OpQuery)},
				slices.Repeat([]string{m.owned(`{CALLER, "meta": META, "hosts": HOSTS2, "op_type": 2, "spec": OPERATED}`)}, asked)...)
			expectSent(t, sim, providertest.Target{API: "operate_proc_v2", Op: new(simulator.OpHost)},
				m.owned(`{CALLER, "meta": META, "hosts": HOSTS2, "op_type": 3, "spec": HOSTING}`))
			expectAsked(t, sim, "get_proc_operate_result_v2", m.owned(`{CALLER, "task_id": "TASK"}`))
			resource.Applied(m.altered(mappedHosts))
			sim.ResetCalls()
			resource.Applied(config)
			expectSent(t, sim, providertest.Target{API: "get_proc_status_v2"}, m.owned(`{CALLER, "meta": NAME, "hosts": HOSTS2}`))
			expectSent(t, sim, providertest.Target{API: "update_proc_info"}, m.owned(`{CALLER, "meta": META, "hosts": HOSTS1, "spec": REGISTERED}`))
			if m.labels != nil {
				for operation, op := range mappedOperations {
					operateMapped(sim, p, "bk_process_operation", operation, config, mappedHosts, "name-space", "process-name")
					expectSent(t, sim, providertest.Target{API: "operate_proc_v2", Op: new(op)},
						m.body(`{CALLER, "meta": META, "hosts": HOSTS2, "op_type": `+strconv.Itoa(op)+`, "spec": OPERATED}`))
				}
			}
			sim.ResetCalls()
			providertest.Silent(t, resource.DestroyUnrefreshed())
			expectSent(t, sim, providertest.Target{API: "unregister_proc_info"}, m.owned(`{CALLER, "meta": META, "hosts": HOSTS1}`))
		})
	}
}

// limitedFor is the spec of an operation at the gateway: what leaves the process running has limits.
func limitedFor(op int) string {
	if op == simulator.OpStop || op == simulator.OpKill {
		return "OPERATED"
	}
	return "HOSTING"
}

// The same on the gateway, where hosting registers, and hosts may have agent ids.
func TestMappingGSE_gateway(t *testing.T) {
	t.Parallel()
	for name, m := range gseMappings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.AddHost(mappedAgent)
			hosts := maps.Clone(mappedHosts)
			hosts["fourth"] = mappedAgent
			p := mapped(t, sim, providertest.FaceGateway, m)
			resource := p.CoreOf("bk_hosted_process", &providertest.Kept{})
			config := m.Reference(hosts)
			// Hosts that are named in two ways are in two requests.
			both := func(body func(string) string, template string) []string {
				return []string{body(template), body(strings.ReplaceAll(template, `"hosts": HOSTS2`, `"agent_id_list": ["`+mappedAgent+`"]`))}
			}
			hosting := both(m.owned, `{"proc_operate_req": [{"meta": META, "hosts": HOSTS2, "op_type": 3, "spec": HOSTING}]}`)
			resource.Applied(config)
			// The other names of the hosts are looked up first, in the cached status and from the agents. The agents are asked again before
			// hosting, which would replace a process of another owner, and after it.
			expectSent(t, sim, providertest.Target{API: "get_proc_status_v2"}, both(m.owned, `{"meta": NAME, "hosts": HOSTS2}`)...)
			expectSent(t, sim, providertest.Target{API: "operate_proc_multi", Op: new(simulator.OpHost)}, hosting...)
			expectSent(t, sim, providertest.Target{API: "operate_proc_v2", Op: new(simulator.OpQuery)},
				slices.Repeat(both(m.owned, `{"meta": META, "hosts": HOSTS2, "op_type": 2, "spec": OPERATED}`), 3)...)
			expectAsked(t, sim, "get_proc_operate_result_v2", `{"task_id": "TASK"}`)
			resource.Applied(m.altered(hosts))
			sim.ResetCalls()
			resource.Applied(config)
			expectSent(t, sim, providertest.Target{API: "operate_proc_multi", Op: new(simulator.OpHost)}, hosting...)
			if m.labels != nil {
				for operation, op := range mappedOperations {
					operateMapped(sim, p, "bk_process_operation", operation, config, hosts, "name-space", "process-name")
					expectSent(t, sim, providertest.Target{API: "operate_proc_v2", Op: new(op)},
						both(m.body, `{"meta": META, "hosts": HOSTS2, "op_type": `+strconv.Itoa(op)+`, "spec": `+limitedFor(op)+`}`)...)
				}
			}
			sim.ResetCalls()
			providertest.Silent(t, resource.DestroyUnrefreshed())
			expectSent(t, sim, providertest.Target{API: "operate_proc_multi", Op: new(simulator.OpUnhost)},
				both(m.owned, `{"proc_operate_req": [{"meta": META, "hosts": HOSTS2, "op_type": 4, "spec": OPERATED}]}`)...)
		})
	}
}
