package reference_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
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

// Reference returns meta, hosts and spec as an object has them.
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

// owned returns the body that a hosted process sends, with the owner label.
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
	// Only operations have op_timeout. They name the policy differently, and have no limits.
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
					if operation == "restart" && name == "one-shot" {
						continue // is refused
					}
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

// limitedFor returns the spec of an operation at the gateway. Operations that leave the process running send its limits.
func limitedFor(op int) string {
	if op == simulator.OpStop || op == simulator.OpKill {
		return "OPERATED"
	}
	return "HOSTING"
}

// The same on the gateway, where registering means hosting, and hosts may have agent ids.
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
			// Hosts with different forms of names are in separate requests.
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
					if operation == "restart" && name == "one-shot" {
						continue // is refused
					}
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

// In tests of mappings every field has a different value, so a missing or misplaced field shows in the body that was sent.

// mappedHosts have ids with different clouds, suppliers and addresses. The third has the supplier of the provider block.
var mappedHosts = map[string]string{"first": "3:7:10.0.0.1", "second": "4:8:10.0.0.2", "third": "5:10.0.0.3"}

const (
	mappedSupplier = 9
	// mappedHostsV1 and mappedHostsV2 are these hosts in the first and in the second generation of the documents.
	mappedHostsV1 = `[
		{"bk_cloud_id": 3, "bk_supplier_id": 7, "ip": "10.0.0.1"},
		{"bk_cloud_id": 4, "bk_supplier_id": 8, "ip": "10.0.0.2"},
		{"bk_cloud_id": 5, "bk_supplier_id": 9, "ip": "10.0.0.3"}
	]`
	mappedHostsV2 = `[{"bk_cloud_id": 3, "ip": "10.0.0.1"}, {"bk_cloud_id": 4, "ip": "10.0.0.2"}, {"bk_cloud_id": 5, "ip": "10.0.0.3"}]`
	// mappedCaller has the credentials in every body of the ESB.
	mappedCaller = `"bk_app_code": "bk_test", "bk_app_secret": "***", "bk_username": "admin"`
)

// someOwner replaces the id of the object that registers, which is random.
const someOwner = "SOME-OWNER"

var ownerLabel = regexp.MustCompile(`(_owner": ?)"[A-Z2-7]{16}"`)

// expectSent compares the bodies of all requests to a target with JSON texts, in any order. The simulator does not keep the secret.
func expectSent(t *testing.T, s *providertest.Sim, at providertest.Target, want ...string) {
	t.Helper()
	var got []string
	for _, call := range at.Calls(s.Calls()) {
		got = append(got, ownerLabel.ReplaceAllString(string(call.Body), `${1}"`+someOwner+`"`))
	}
	diff := procapitest.DiffJSON(t, sortedJSON(t, want), sortedJSON(t, got))
	providertest.Check(t, diff == "", "bodies sent to %s (-want +got):\n%s", at.API, diff)
}

// sortedJSON is a list of documents, sorted by their canonical texts.
func sortedJSON(t *testing.T, documents []string) []byte {
	t.Helper()
	canonical := make([]string, len(documents))
	for i, document := range documents {
		var tree any
		if err := json.Unmarshal([]byte(document), &tree); err != nil {
			t.Fatalf("%s\n%s", err, document)
		}
		text, err := json.Marshal(tree)
		providertest.NoError(t, err)
		canonical[i] = string(text)
	}
	slices.Sort(canonical)
	return []byte("[" + strings.Join(canonical, ",") + "]")
}

// expectAsked compares the bodies of the requests for results with the tasks that began.
func expectAsked(t *testing.T, s *providertest.Sim, api, body string) {
	t.Helper()
	var want []string
	for _, call := range s.Calls() {
		if call.TaskID != "" && call.API != api {
			want = append(want, strings.ReplaceAll(body, "TASK", call.TaskID))
		}
	}
	expectSent(t, s, providertest.Target{API: api}, want...)
}

// mappedOperations are the operations of a process by their op types.
var mappedOperations = map[string]int{
	"start": simulator.OpStart, "stop": simulator.OpStop, "restart": simulator.OpRestart,
	"reload": simulator.OpReload, "kill": simulator.OpKill,
}

// operateMapped runs one operation on hosts that need it.
func operateMapped(s *providertest.Sim, p *providertest.Protocol, typ, operation string, reference map[string]any, hosts map[string]string, namespace, name string) {
	p.T.Helper()
	prepare := s.StartProcess
	if operation == "start" {
		prepare = s.StopProcess
	}
	for _, address := range hosts {
		providertest.NoError(p.T, errors.Join(s.Host(address, namespace, name), prepare(address, namespace, name)))
	}
	s.ResetCalls()
	config := maps.Clone(reference)
	config["operation"] = operation
	run := p.CoreOf(typ, &providertest.Kept{})
	if said := run.Validate(config); len(said) > 0 {
		p.T.Fatal(said)
	}
	run.Apply(config) // some operations fail for a one-shot process, but the requests are the same
}

// impatient sets a short deadline for results that never come, as when a host was sent under another name.
func impatient(t *testing.T, p *providertest.Protocol) *providertest.Protocol {
	t.Helper()
	until, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	p.Until = until
	return p
}

// jsonOf is an object as requests have it: without empty texts.
func jsonOf(v object) string {
	text, err := json.Marshal(withoutEmpty(v))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// withoutEmpty is a value without empty texts, and without lists and objects that are then empty.
func withoutEmpty(value any) any {
	switch value := value.(type) {
	case object:
		left := object{}
		for name, inner := range value {
			if inner = withoutEmpty(inner); inner != nil {
				left[name] = inner
			}
		}
		if len(left) > 0 {
			return left
		}
		return nil
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
		return nil
	case string:
		if value == "" {
			return nil
		}
	}
	return value
}
