package face_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anyHosts is a client of a simulator that admits every host and every credential of the contract.
func anyHosts(t *testing.T) *simtest.Client {
	t.Helper()
	sim := &simulator.Server{AdmitAgents: true}
	if strings.Contains(t.Name(), "/job/") {
		sim.AppCode, sim.AppSecret, sim.Token = "esb_test", "xxx", "xxx"
	}
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	sim.Admit(netip.MustParsePrefix("2001:db8::/32"))
	return simtest.NewClient(t, sim)
}

// Each case of the contract is accepted, and answered in the contract's shape. JOB has two names.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, of := range contract.Cases("esb", "apigw", "job") {
		for _, component := range map[string][]string{"esb": {"gse"}, "apigw": {"proc"}, "job": {"jobv3", "job"}}[of.Face] {
			if component == "job" && !strings.Contains(of.Endpoint, "proc") {
				continue // the older one has no scripts
			}
			t.Run(of.ID()+"-"+component, func(t *testing.T) {
				t.Parallel()
				c := anyHosts(t)
				request := tree(t, of.Request)
				if first, ok := firstOf[of.ID()]; ok {
					for _, fault := range first.faults {
						c.Sim.Inject(fault)
					}
					before := contract.Get(first.of)
					body := tree(t, before.Request)
					if first.edit != nil {
						first.edit(body)
					}
					data := exchange(c, component, before, body).Data
					if result, nested := data["result"].(map[string]any); nested {
						data = result
					}
					for member, id := range data {
						if _, asked := request[member]; asked { // the task's
							request[member] = id
						}
					}
				}
				got, want := exchange(c, component, of, request), tree(t, of.Response)
				simtest.Want(t, "code", got.Body["code"], want["code"])
				for _, problem := range unlike("", want, got.Body, says[of.Face]) {
					t.Errorf("%s: %v", problem, got.Body)
				}
				if strings.HasPrefix(of.ID(), "esb/") && strings.HasSuffix(of.Endpoint, "_proc_info") {
					simtest.Want(t, "data", got.Body["data"], want["data"])
				}
				call := c.Sim.Calls().Last()
				simtest.Want(t, "recorded", call.Face+"/"+call.API, of.Face+"/"+of.Endpoint)
			})
		}
	}
}

// Requests of other clients are accepted. What no document describes in them is a finding.
func TestSeen(t *testing.T) {
	t.Parallel()
	finds := map[string][]string{
		"apigw/operate_proc_multi/nodeman":      {"proc_operate_req[0].nodeman_spec: unknown field"},
		"apigw/operate_proc_multi/nodeman-host": {"proc_operate_req[0].nodeman_spec: unknown field"},
		"esb/operate_proc_multi/nodeman":        {"proc_operate_req[0].hosts[0].bk_agent_id: unknown field", "proc_operate_req[0].nodeman_spec: unknown field"},
		"apigw/operate_proc_v2/nodemgr-query": {
			"spec.alive_monitor_policy: required field is missing", "spec.control: required field is missing",
			"spec.identity.pid_path: required field is missing", "spec.identity.setup_path: required field is missing", "spec.identity.user: required field is missing",
		},
	}
	for _, asked := range contract.Asked() {
		t.Run(asked.ID(), func(t *testing.T) {
			t.Parallel()
			c := anyHosts(t)
			simtest.Want(t, "code", exchange(c, map[string]string{"esb": "gse", "apigw": "proc", "job": "jobv3"}[asked.Face], contract.Case{Face: asked.Face, Endpoint: asked.Endpoint, Name: asked.Name}, tree(t, asked.Body)).Code, 0)
			executions := 1
			if asked.Endpoint == "upgrade_to_agent_id" || asked.Endpoint == "async_execute_script" || asked.Name == "nodemgr-query" {
				executions = 0
			}
			simtest.Want(t, "executions", len(c.Sim.Executions()), executions)
			for _, done := range c.Sim.Executions() {
				if done.Code != 0 && done.Action != "reload" { // nothing runs there
					t.Errorf("%+v", done)
				}
			}
			var found []string
			for _, finding := range finds[asked.ID()] {
				found = append(found, asked.Endpoint+": "+finding)
			}
			simtest.Want(t, "findings", c.Sim.Violations(), found)
			c.Sim.ResetViolations()
		})
	}
}

// first prepares a case, so that there is something to report.
type first struct {
	of     string // the case that is sent
	edit   func(body map[string]any)
	faults []simulator.Fault
}

var firstOf = map[string]first{
	"esb/update_proc_info":                  {of: "esb/register_proc_info"},
	"esb/unregister_proc_info":              {of: "esb/register_proc_info"},
	"esb/get_proc_status_v2":                {of: "esb/register_proc_info"},
	"esb/sync_proc_status":                  {of: "esb/register_proc_info"},
	"esb/get_proc_operate_result_v2":        {of: "esb/operate_proc_v2"},
	"esb/get_proc_operate_result_v2/query":  {of: "esb/operate_proc_v2", edit: asQuery},
	"esb/get_proc_operate_result_v2/queued": {of: "esb/operate_proc_v2", faults: queued},
	"esb/get_proc_operate_result_v2/mixed": {
		of: "esb/operate_proc_v2", edit: func(body map[string]any) { body["hosts"] = cloudOne(1, 2, 3, 4, 5, 6) },
		faults: []simulator.Fault{{Hosts: []string{"1:10.0.0.2"}, Pending: -1}, fails(3, 828), fails(4, 836), fails(5, 65535), fails(6, 117)},
	},

	"apigw/get_proc_operate_result_v2":        {of: "apigw/operate_proc_v2", edit: asQuery},
	"apigw/get_proc_operate_result_v2/hosts":  {of: "apigw/operate_proc_v2", edit: toAddress},
	"apigw/get_proc_operate_result_v2/queued": {of: "apigw/operate_proc_v2", faults: queued},
	"apigw/get_proc_status_v2":                {of: "apigw/operate_proc_multi/agents"},
	"apigw/get_proc_status_v2/hosts":          {of: "apigw/operate_proc_v2", edit: toAddress},
	"apigw/sync_proc_status":                  {of: "apigw/operate_proc_multi/agents"},

	"apigw/get_execute_script_result":   {of: "apigw/async_execute_script"},
	"job/get_job_instance_status":       {of: "job/fast_execute_script"},
	"job/batch_get_job_instance_ip_log": {of: "job/fast_execute_script"},

	"job/get_proc_result":        {of: "job/operate_process", edit: asJobQuery},
	"job/get_proc_result/biz":    {of: "job/operate_process", edit: asJobQuery},
	"job/get_proc_result/queued": {of: "job/operate_process", faults: queued},
}

var queued = []simulator.Fault{{Queued: -1}}

func fails(n, code int) simulator.Fault {
	return simulator.Fault{Hosts: []string{fmt.Sprintf("1:10.0.0.%d", n)}, Code: &code}
}

func cloudOne(numbers ...int) (hosts []any) {
	for _, n := range numbers {
		hosts = append(hosts, map[string]any{"ip": fmt.Sprintf("10.0.0.%d", n), "bk_cloud_id": 1})
	}
	return hosts
}

func asQuery(body map[string]any) { body["op_type"] = simulator.OpQuery }

func toAddress(body map[string]any) {
	delete(body, "agent_id_list")
	body["hosts"] = cloudOne(1)
}

// asJobQuery turns a body into a query of the process in get_proc_result's sample.
func asJobQuery(body map[string]any) {
	asQuery(body)
	for _, info := range body["process_infos"].([]any) { //nolint:forcetypeassert // a panic is as good as a failure
		info := info.(map[string]any) //nolint:forcetypeassert // the same
		info["setup_path"], info["proc_name"] = "/usr/local/gse/gseagent/plugins/unifyTlogc/sbin", "bk_gse_unifyTlogc"
	}
}

// says are members of the simulator's answers that the contract lacks, by face.
var says = map[string][]string{
	"esb": {
		"request_id", // of the ESB itself
		"isauto",     // in sync_proc_status as well: GSEKit reads it there
		"freeVMem",   // in JOB's sample of the same content
	},
	"apigw": {"freeVMem"},
	"job": {
		"request_id", "permission", // in the tables
		"bk_host_id",                                                                     // newer releases'
		"version", "health", "isAuto", "register_time", "last_start_time", "report_time", // newer agents', by BSCP's type
	},
}

// exchange sends a body in the form of a case's face.
func exchange(c *simtest.Client, component string, of contract.Case, body map[string]any) simtest.Reply {
	c.T.Helper()
	path, header := "/api/c/compapi/v2/"+component+"/"+of.Endpoint+"/", map[string]string{}
	if of.Face == "apigw" {
		if strings.HasSuffix(of.Endpoint, "execute_script") || strings.HasSuffix(of.Endpoint, "script_result") {
			component = "task/extensions"
		}
		path, header["X-Bkapi-Authorization"] = simtest.GatewayStage+"/api/v2/"+component+"/"+of.Endpoint, simtest.GatewayAuth
	}
	sent, err := json.Marshal(body)
	simtest.Must(c.T, err)
	got := c.Request(http.MethodPost, path, string(sent), header)
	if got.Status != http.StatusOK {
		c.T.Fatalf("%s: HTTP %d %v", of.ID(), got.Status, got.Body)
	}
	return got
}

func tree(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var object map[string]any
	simtest.Must(t, json.Unmarshal(text, &object))
	return object
}

// unlike reports where got does not have the shape of want: members, types of values, and those of a
// document inside a text. more are members that got may have in addition.
func unlike(path string, want, got any, more []string) (problems []string) {
	if jsonType(want) != jsonType(got) {
		return []string{fmt.Sprintf("%s: %s, want %s", path, jsonType(got), jsonType(want))}
	}
	switch want := want.(type) {
	case map[string]any:
		got := got.(map[string]any) //nolint:forcetypeassert // of the same type
		for name := range want {
			if value, ok := got[name]; ok {
				problems = append(problems, unlike(path+"."+name, want[name], value, more)...)
			} else {
				problems = append(problems, path+"."+name+": missing")
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok && !slices.Contains(more, name) {
				problems = append(problems, path+"."+name+": not in the contract")
			}
		}
	case []any:
		got := got.([]any) //nolint:forcetypeassert // of the same type
		if (len(got) > 0) != (len(want) > 0) {
			return []string{fmt.Sprintf("%s: %d elements, want %d", path, len(got), len(want))}
		}
		for i := range got {
			problems = append(problems, unlike(fmt.Sprintf("%s[%d]", path, i), want[min(i, len(want)-1)], got[i], more)...)
		}
	case string:
		if inside := document(want); inside != nil {
			problems = unlike(path+" (text)", inside, document(got), more)
		}
	}
	return problems
}

// document is the object inside a text, nil if there is none.
func document(text any) any {
	var object map[string]any
	if err := json.Unmarshal([]byte(text.(string)), &object); err != nil { //nolint:forcetypeassert // its type was checked
		return nil
	}
	return object
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case float64:
		return "a number"
	}
	return fmt.Sprintf("a %T", v)
}

const contractTopology = `{"businesses":[
	{"id":3,"name":"shop",
		"templates":[{"id":50,"name":"nginx","processes":[{
			"bk_process_name":"nginx","bk_func_name":"nginx","work_path":"/opt/nginx","pid_file":"/run/nginx-${local_inst_id}.pid","user":"root",
			"start_cmd":"./start.sh","stop_cmd":"./stop.sh","reload_cmd":"./reload.sh","face_stop_cmd":"./kill.sh","proc_num":2,"priority":1,
			"bind_info":[{"enable":true,"ip":"1","port":"80","protocol":"1"}]}]}],
		"sets":[{"id":11,"name":"gz-1","modules":[
			{"id":60,"name":"nginx","template":"nginx","hosts":[{"id":4,"ip":"10.0.0.8","name":"web-1","agent_id":"020000000052540000000117000000000001",
				"labels":{"az":"1"},"fields":{"bk_host_innerip":"10.0.0.8,10.1.0.8"}}]},
			{"id":61,"name":"odd","processes":[],"hosts":[{"id":5,"cloud":1,"no_agent":true,
				"fields":{"bk_host_innerip":"10.0.0.9","bk_host_innerip_v6":"2001:db8::9","bk_addressing":"dynamic","bk_os_type":null}}]}]}],
		"groups":[
			{"id":"c0ffee0000000000a1","name":"web","object":"host","conditions":[{"bk_obj_id":"module","field":"bk_module_name","operator":"$eq","value":"nginx"}]},
			{"id":"c0ffee0000000000a2","name":"production","object":"set","conditions":[{"bk_obj_id":"set","field":"bk_set_name","operator":"$eq","value":"gz-1"}]}],
		"orphans":[{"host":"0:10.0.0.8","processes":[{"bk_process_name":"ghost"}]}]},
	{"id":4,"name":"closed","no_permission":true}]}`

// chosen replaces numbers that a topology cannot set.
var chosen = strings.NewReplacer(`"service_instance_ids":[49]`, `"service_instance_ids":[1]`, `"ids":[49]`, `"ids":[1]`,
	`"service_instance_id":49`, `"service_instance_id":1`, `"bk_process_ids":[45]`, `"bk_process_ids":[1]`, `"process_template_ids":[48]`, `"process_template_ids":[1]`)

// Each case of CMDB's contract is accepted, and answered in the contract's shape.
func TestContract_cmdb(t *testing.T) {
	t.Parallel()
	for _, of := range contract.Cases("cmdb", "cmdb-apigw") {
		t.Run(of.ID(), func(t *testing.T) {
			t.Parallel()
			c := simtest.NewCMDB(t, contractTopology, func(sim *simulator.Server) { sim.OldCMDB = of.Name == "older" })
			path, header := "/api/c/compapi/v2/cc/"+of.Endpoint+"/", map[string]string{}
			if of.Face == "cmdb-apigw" {
				biz, group := int64(3), "c0ffee0000000000a1"
				switch of.Name {
				case "permission":
					biz = 4
				case "sets", "set-ids":
					group = "c0ffee0000000000a2"
				}
				path, header["X-Bkapi-Authorization"] = simtest.CMDBPath(of.Endpoint, biz, group), simtest.GatewayAuth
			}
			sent, err := json.Marshal(tree(t, of.Request))
			simtest.Must(t, err)
			got, want := c.Request(http.MethodPost, path, chosen.Replace(string(sent)), header), tree(t, of.Response)
			for _, member := range []string{"code", "bk_error_code", "message", "permission"} {
				simtest.Want(t, member, got.Body[member], want[member])
			}
			for _, problem := range unlike("", want, got.Body, []string{"request_id"}) {
				t.Errorf("%s: %v", problem, got.Body)
			}
			if data, ok := want["data"].(map[string]any); ok {
				simtest.Want(t, "count", got.Data["count"], data["count"])
			}
			if slices.Contains([]string{"ignored", "limit", "fields", "both"}, of.Name) {
				c.Sim.ResetViolations() // which the cases cause
			}
		})
	}
}
