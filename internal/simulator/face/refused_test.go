package face_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestFaces_refuseWhatNoDocumentAllows(t *testing.T) {
	t.Parallel()
	register := simtest.FirstBody("register_proc_info", `{"team":"sre"}`, "10.0.0.1")
	operate := `{` + simtest.Meta("{}") + `,` + simtest.CloudHosts("10.0.0.1") + `,"op_type":0,"spec":` + simtest.OperateSpec + `}`
	first := `{` + simtest.Meta("{}") + `,` + simtest.SupplierHosts("10.0.0.1") + `,"op_type":0}`
	multi := `{"proc_operate_req":[` + operate + `,` + operate + `]}`
	agents := simtest.GatewayBody(0, "{}", simtest.Agents(simtest.AgentA, simtest.AgentB))
	status := `{` + simtest.Meta("{}") + `,` + simtest.Agents(simtest.AgentA) + `}`
	infos := simtest.JobBody(0, simtest.JobInfo("", "10.0.0.1"))
	manage := simtest.JobBody(1, simtest.JobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))
	poll := `{"bk_biz_id":2,"bk_gse_taskid":"GSETASK:1"}`
	const run, result = "task/extensions/async_execute_script", "task/extensions/get_execute_script_result"
	const no = "the simulator runs no script but the one that reads what an agent hosts, and cat or type of a .proc"
	script, screens := simtest.ScriptBody(readHosted, simulator.DefaultProcPath, scriptHost), simtest.ScreensBody("T", 0, 0, scriptHost)
	jobScript, jobStatus := simtest.JobScriptBody(readHosted, simulator.DefaultProcPath, "10.0.0.1"), `{"bk_biz_id":2,"job_instance_id":1}`
	for name, test := range map[string]struct {
		api, body string
		old, new  string
		want      string
	}{
		"esb/case-counts":               {"register_proc_info", register, `"cpu"`, `"CPU"`, "spec.resource.cpu: required field is missing"},
		"esb/newer-policy-name":         {"register_proc_info", register, `"monitor_policy"`, `"alive_monitor_policy"`, "spec.monitor_policy: required field is missing"},
		"esb/missing-supplier":          {"register_proc_info", register, `,"bk_supplier_id":7`, ``, "hosts[0].bk_supplier_id: required field is missing"},
		"esb/missing-user":              {"register_proc_info", register, `,"user":"root"`, ``, "spec.identity.user: required field is missing"},
		"esb/null-name":                 {"register_proc_info", register, `"name":"nginx"`, `"name":null`, "meta.name: want a string, got null"},
		"esb/paths-of-a-start":          {"operate_proc_v2", operate, `"/run/nginx.pid"`, `""`, "spec.identity.pid_path: must be an absolute path"},
		"esb/missing-memory":            {"register_proc_info", register, `,"mem":10`, ``, "spec.resource.mem: required field is missing"},
		"esb/cloud-not-an-integer":      {"register_proc_info", register, `"bk_cloud_id":0`, `"bk_cloud_id":"0"`, "hosts[0].bk_cloud_id: want an integer, got a string"},
		"esb/cloud-fractional":          {"register_proc_info", register, `"bk_cloud_id":0`, `"bk_cloud_id":0.5`, "hosts[0].bk_cloud_id: want an integer, got 0.5"},
		"esb/not-an-address":            {"register_proc_info", register, `10.0.0.1`, `web-1`, `hosts[0].ip: "web-1" is not an IP address`},
		"esb/relative-path":             {"register_proc_info", register, `"/opt/nginx"`, `"opt/nginx"`, "spec.identity.setup_path: must be an absolute path"},
		"esb/empty-name":                {"register_proc_info", register, `"name":"nginx"`, `"name":""`, "meta.name: must not be empty"},
		"esb/auto-type":                 {"register_proc_info", register, `"auto_type":1`, `"auto_type":3`, "spec.monitor_policy.auto_type: must be 0, 1 or 2"},
		"esb/negative-limit":            {"register_proc_info", register, `30.5`, `-1`, "spec.resource.cpu: must not be negative"},
		"esb/no-hosts":                  {"operate_proc_v2", operate, simtest.CloudHosts("10.0.0.1"), `"hosts":[]`, "hosts: must not be empty"},
		"esb/two-policies":              {"operate_proc_v2", operate, `"alive_monitor_policy"`, `"monitor_policy":{"auto_type":1},"alive_monitor_policy"`, "spec.monitor_policy: is another name of alive_monitor_policy, which is given too"},
		"esb/no-policy":                 {"operate_proc_v2", operate, `,"alive_monitor_policy":{"auto_type":1,"op_timeout":60}`, ``, "spec.alive_monitor_policy: required field is missing"},
		"esb/missing-op-type":           {"operate_proc_v2", operate, `"op_type":0,`, ``, "op_type: required field is missing"},
		"esb/spec-missing-from-an-item": {"operate_proc_multi", multi, `},` + operate, `},{` + simtest.Meta("{}") + `,` + simtest.CloudHosts("10.0.0.1") + `,"op_type":0}`, "proc_operate_req[1].spec: required field is missing"},
		"esb/empty-task":                {"get_proc_operate_result_v2", `{"task_id":""}`, "", "", "task_id: must not be empty"},
		"esb/page-too-large":            {"sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1001}}`, "", "", "page.limit: must be between 1 and 1000"},

		"esb/first-without-supplier": {"operate_proc", first, `,"bk_supplier_id":7`, ``, "hosts[0].bk_supplier_id: required field is missing"},
		"esb/first-without-op":       {"operate_proc", first, `,"op_type":0`, ``, "op_type: required field is missing"},
		"esb/first-result":           {"get_proc_operate_result", `{"task_id":1}`, "", "", "task_id: want a string, got the number 1"},
		"esb/first-status":           {"get_proc_status", first, `"name":"nginx",`, ``, "meta.name: required field is missing"},
		"esb/agents-without-hosts":   {"get_agent_status", `{"bk_supplier_account":"0"}`, "", "", "hosts: required field is missing"},
		"esb/agents-without-cloud":   {"get_agent_info", `{"bk_supplier_account":"0","hosts":[{"ip":"10.0.0.1"}]}`, "", "", "hosts[0].bk_cloud_id: required field is missing"},

		"apigw/no-agents":             {"cluster/list_agent_state", `{"agent_id_list":[]}`, "", "", "agent_id_list: must have between 1 and 1000 elements"},
		"apigw/too-many-agents":       {"cluster/list_agent_state", `{` + simtest.Agents(slices.Repeat([]string{"a"}, 1001)...) + `}`, "", "", "agent_id_list: must have between 1 and 1000 elements"},
		"apigw/an-empty-agent":        {"cluster/list_agent_info", `{` + simtest.Agents(simtest.AgentA, "") + `}`, "", "", "agent_id_list[1]: must not be empty"},
		"apigw/hosts-for-agents":      {"cluster/list_agent_info", `{` + simtest.CloudHosts("10.0.0.1") + `}`, "", "", "agent_id_list: required field is missing"},
		"apigw/state-of-no-task":      {"task/get_task_state", `{` + simtest.Agents(simtest.AgentA) + `}`, "", "", "task_id: required field is missing"},
		"apigw/no-selector":           {"get_proc_status_v2", status, `,` + simtest.Agents(simtest.AgentA), ``, "agent_id_list: required field is missing, or hosts"},
		"apigw/empty-agent-id":        {"operate_proc_v2", agents, simtest.AgentB, ``, "agent_id_list[1]: must not be empty"},
		"apigw/long-agent-id":         {"operate_proc_v2", agents, simtest.AgentB, strings.Repeat("0", 65), "agent_id_list[1]: must not be longer than 64 characters"},
		"apigw/no-agent-ids":          {"get_proc_status_v2", status, simtest.Agents(simtest.AgentA), `"agent_id_list":[]`, "agent_id_list: must not be empty"},
		"apigw/agent-id-not-a-string": {"get_proc_status_v2", status, simtest.Agents(simtest.AgentA), `"agent_id_list":[1]`, "agent_id_list[0]: want a string, got the number 1"},
		"apigw/no-hosts":              {"get_proc_status_v2", status, simtest.Agents(simtest.AgentA), `"hosts":[]`, "hosts: must not be empty"},
		"apigw/two-policies":          {"operate_proc_v2", agents, `"alive_monitor_policy"`, `"monitor_policy":{"auto_type":1},"alive_monitor_policy"`, "spec.monitor_policy: is another name of alive_monitor_policy, which is given too"},
		"apigw/no-spec":               {"operate_proc_v2", agents, `,"spec":` + simtest.OperateSpec, ``, "spec: required field is missing"},
		"apigw/no-spec-for-update":    {"update_proc_info", status, "", "", "spec: required field is missing"},
		"apigw/not-json":              {"get_proc_status_v2", "{", "", "", "the body is not JSON: unexpected EOF"},
		"apigw/not-an-object":         {"get_proc_status_v2", "[]", "", "", "want an object, got an array"},
		"apigw/page":                  {"sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1001}}`, "", "", "page.limit: must be between 1 and 1000"},

		"job/no-scope":          {"operate_process", infos, `"bk_biz_id":2,`, ``, "bk_scope_type: required field is missing, or bk_biz_id"},
		"job/both-scopes":       {"operate_process", infos, `"bk_biz_id":2`, `"bk_biz_id":2,"bk_scope_type":"biz","bk_scope_id":"2"`, "bk_biz_id: is another way to say bk_scope_type and bk_scope_id, which are given too"},
		"job/scope-type-alone":  {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_type":"biz"`, "bk_scope_id: required field is missing"},
		"job/scope-id-alone":    {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_id":"2"`, "bk_scope_type: required field is missing"},
		"job/scope-type":        {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_type":"set","bk_scope_id":"2"`, `bk_scope_type: must be "biz" or "biz_set"`},
		"job/scope-id-a-number": {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_scope_type":"biz","bk_scope_id":2`, "bk_scope_id: want a string, got the number 2"},
		"job/biz-id-zero":       {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_biz_id":0`, "bk_biz_id: must be at least 1"},
		"job/no-such-op":        {"operate_process", infos, `"op_type":0`, `"op_type":5`, "op_type: no such operation"},
		"job/negative-op":       {"operate_process", infos, `"op_type":0`, `"op_type":-2`, "op_type: no such operation"},
		"job/null-proc-name":    {"operate_process", infos, `"proc_name":"nginx"`, `"proc_name":null`, "process_infos[0].proc_name: want a string, got null"},
		"job/biz-id-a-string":   {"get_proc_result", poll, `"bk_biz_id":2`, `"bk_biz_id":"2"`, "bk_biz_id: want an integer, got a string"},
		"job/task-id-of-gse":    {"get_proc_result", poll, `bk_gse_taskid`, `task_id`, "bk_gse_taskid: required field is missing"},
		"job/no-infos":          {"operate_process", simtest.JobBody(0), "", "", "process_infos: must not be empty"},
		"job/no-hosts":          {"operate_process", infos, simtest.CloudHosts("10.0.0.1")[len(`"hosts":`):], `[]`, "process_infos[0].ip_list: must not be empty"},
		"job/no-proc-name":      {"operate_process", infos, `"proc_name":"nginx",`, ``, "process_infos[0].proc_name: required field is missing"},
		"job/no-setup-path":     {"operate_process", infos, `"setup_path":"/opt/nginx",`, ``, "process_infos[0].setup_path: required field is missing"},
		"job/blank-pid-path":    {"operate_process", infos, `"/run/nginx.pid"`, `""`, "process_infos[0].pid_path: must be an absolute path"},
		"job/type":              {"operate_process", infos, `"type":1`, `"type":3`, "process_infos[0].type: must be 0, 1 or 2"},
		"job/limit-fractional":  {"operate_process", infos, `"type":1`, `"cpu_lmt":0.5,"type":1`, "process_infos[0].cpu_lmt: want an integer, got 0.5"},
		"job/op-type-in-manage": {"manage_proc", manage, `"op_type":1`, `"op_type":3`, "op_type: must be 1 or 2"},

		"apigw/another-script":      {run, simtest.ScriptBody("rm -rf /", "", scriptHost), "", "", "scripts[0].script_content: " + no},
		"apigw/a-changed-script":    {run, simtest.ScriptBody(readHosted+"\n", "/x/.proc", scriptHost), "", "", "scripts[0].script_content: " + no},
		"apigw/cat-of-another-file": {run, simtest.ScriptBody("cat /etc/shadow", "", scriptHost), "", "", "scripts[0].script_content: " + no},
		"apigw/cat-and-more":        {run, simtest.ScriptBody("cat /x/.proc; id", "", scriptHost), "", "", "scripts[0].script_content: " + no},
		"apigw/no-file":             {run, simtest.ScriptBody(readHosted, "", scriptHost), "", "", "scripts[0].script_content: the script has 0 arguments, want the file that it reads"},
		"apigw/two-files":           {run, simtest.ScriptBody(readHosted, "/x/.proc /y", scriptHost), "", "", "scripts[0].script_content: the script has 2 arguments, want the file that it reads"},
		"apigw/unquoted":            {run, simtest.ScriptBody(readHosted, "/x/.proc;id", scriptHost), "", "", "atomic_tasks[0].command: a shell would not take ; as it is; quote it"},
		"apigw/open-quote":          {run, simtest.ScriptBody(readHosted, "'/x/.proc", scriptHost), "", "", "atomic_tasks[0].command: a quote is not closed"},
		"apigw/another-command":     {run, script, `"/tmp/bk_terraform/read.sh `, `"/tmp/read.sh `, "atomic_tasks[0].command: it does not run the script, /tmp/bk_terraform/read.sh"},
		"apigw/no-account":          {run, script, `"user":"root"`, `"user":""`, "agents[0].user: must not be empty"},
		"apigw/no-time":             {run, script, `"timeout_seconds":60`, `"timeout_seconds":0`, "atomic_tasks[0].timeout_seconds: must be at least 1"},
		"apigw/no-agent":            {run, simtest.ScriptBody(readHosted, "/x/.proc"), "", "", "agents: must not be empty"},
		"apigw/blank-agent":         {run, script, scriptHost, "", "agents[0].bk_agent_id: must not be empty"},
		"apigw/no-relations":        {run, script, `,"atomic_tasks_relations":[{"atomic_task_id":0,"atomic_task_id_idx":[]}]`, "", "atomic_tasks_relations: required field is missing"},
		"apigw/relative-folder":     {run, script, `"script_store_dir":"/`, `"script_store_dir":"`, "scripts[0].script_store_dir: must be an absolute path"},
		"apigw/no-agents-tasks":     {result, screens, `"agent_tasks"`, `"agents"`, "agent_tasks: required field is missing"},
		"apigw/no-offset":           {result, screens, `"offset":0,`, "", "agent_tasks[0].atomic_tasks[0].offset: required field is missing"},
		"apigw/negative-offset":     {result, screens, `"offset":0,`, `"offset":-1,`, "agent_tasks[0].atomic_tasks[0].offset: must not be negative"},

		"job/another-script":  {"fast_execute_script", simtest.JobScriptBody("id", "", "10.0.0.1"), "", "", "script_content: " + no},
		"job/another-tongue":  {"fast_execute_script", jobScript, `"script_language":1`, `"script_language":5`, "script_language: it is 1 for this script"},
		"job/no-base64":       {"fast_execute_script", jobScript, `"script_content":"`, `"script_content":"%`, "script_content: it is not in base64"},
		"job/no-account":      {"fast_execute_script", jobScript, `"account_alias":"root",`, "", "account_alias: required field is missing, or account_id"},
		"job/no-time":         {"fast_execute_script", jobScript, `"timeout":60`, `"timeout":0`, "timeout: must be between 1 and 86400"},
		"job/no-host":         {"fast_execute_script", jobScript, `"ip_list":[{"ip":"10.0.0.1","bk_cloud_id":0}]`, "", "target_server.ip_list: the simulator knows hosts by address alone; name some"},
		"job/script-no-scope": {"fast_execute_script", jobScript, `"bk_scope_type":"biz",`, "", "bk_scope_type: required field is missing"},
		"job/text-for-number": {"get_job_instance_status", jobStatus, "1}", `"1"}`, "job_instance_id: want an integer, got a string"},
		"job/text-for-bool":   {"get_job_instance_status", jobStatus, "1}", `1,"return_ip_result":"true"}`, "return_ip_result: want a boolean, got a string"},
		"job/too-many-logs":   {"batch_get_job_instance_ip_log", `{"bk_biz_id":2,"job_instance_id":1,"step_instance_id":2,"ip_list":` + hostList(501) + `}`, "", "", "ip_list: must have 500 elements at most"},
		"job/no-step":         {"batch_get_job_instance_ip_log", jobStatus, "", "", "ip_list: required field is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewGateway(t)
			face, _, _ := strings.Cut(name, "/")
			got := c.OnFace(face, test.api, simtest.Changed(t, test.body, test.old, test.new))
			want := map[string]simtest.Reply{
				"esb":   {Status: http.StatusOK, Code: simulator.CodeArgumentError, Message: "Parameters error, " + test.want},
				"apigw": {Status: http.StatusBadRequest, Code: simulator.CodeInvalidArgs, Message: `Parameters error [reason="` + test.want + `"]`},
				"job":   {Status: http.StatusOK, Code: simulator.CodeJobIllegalParameter, Message: "Illegal parameter: " + test.want},
			}[face]
			if got.Status != want.Status || got.Code != want.Code || got.Message != want.Message || got.Data != nil || got.Body["result"] == true {
				t.Errorf("got HTTP %d %d %q with %v, want %+v", got.Status, got.Code, got.Message, got.Data, want)
			}
			c.WantOneViolation(path.Base(test.api) + ": " + want.Message)
			simtest.Want(t, "tasks", len(c.Sim.Tasks()), 0)
		})
	}
}

func TestFaces_maxHostsPerRequest(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.MaxHostsPerRequest = 1 })
	for face, selector := range map[string]string{"esb": simtest.CloudHosts("10.0.0.1", "10.0.0.2"), "apigw": simtest.Agents(simtest.AgentA, simtest.AgentB)} {
		got := c.OnFace(face, "operate_proc_v2", simtest.GatewayBody(simulator.OpQuery, "{}", selector))
		simtest.Check(t, got.Code != 0 && strings.Contains(got.Message, "2 hosts are more than 1"),
			"%s: HTTP %d %d %s", face, got.Status, got.Code, got.Message)
	}
	c.Sim.ResetViolations()
}

// What a platform accepts is accepted. What no document has is still a finding, because our own client must not send it.
func TestFaces_findings(t *testing.T) {
	t.Parallel()
	const esb, apigw, job = "esb", "apigw", "job"
	register := simtest.FirstBody("register_proc_info", `{"team":"sre"}`, "10.0.0.1")
	operate := `{` + simtest.Meta("{}") + `,` + simtest.CloudHosts("10.0.0.1") + `,"op_type":0,"spec":` + simtest.OperateSpec + `}`
	unhost := strings.Replace(operate, `"op_type":0`, `"op_type":4`, 1)
	query := strings.Replace(operate, `"op_type":0`, `"op_type":2`, 1)
	sync := `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`
	agents := simtest.GatewayBody(0, "{}", simtest.Agents(simtest.AgentA))
	info := simtest.JobInfo("", "10.0.0.1")
	tests := map[string]struct {
		face, api, body string
		old, new        string
		want            []string
	}{
		"at-the-root":         {esb, "register_proc_info", register, `{"meta"`, `{"no_request":true,"meta"`, []string{"no_request: unknown field"}},
		"deep-down":           {esb, "register_proc_info", register, `"start_cmd"`, `"run_cmd"`, []string{"spec.control.run_cmd: unknown field"}},
		"op-timeout":          {esb, "register_proc_info", register, `"auto_type":1`, `"auto_type":1,"op_timeout":60`, []string{"spec.monitor_policy.op_timeout: unknown field"}},
		"supplier":            {esb, "operate_proc_v2", operate, `"bk_cloud_id":0`, `"bk_cloud_id":0,"bk_supplier_id":0`, []string{"hosts[0].bk_supplier_id: unknown field"}},
		"label-a-number":      {esb, "register_proc_info", register, `"sre"`, `5`, []string{"meta.labels.team: want a string, got the number 5"}},
		"null-command":        {esb, "register_proc_info", register, `"./stop.sh"`, `null`, []string{"spec.control.stop_cmd: is null"}},
		"null-user":           {esb, "operate_proc_v2", operate, `"root"`, `null`, []string{"spec.identity.user: is null"}},
		"null-times":          {esb, "operate_proc_v2", operate, `"op_timeout":60`, `"op_timeout":null,"start_check_secs":null`, []string{"spec.alive_monitor_policy.op_timeout: is null", "spec.alive_monitor_policy.start_check_secs: is null"}},
		"name-in-sync":        {esb, "sync_proc_status", sync, `"web"`, `"web","name":"nginx"`, []string{"meta.name: unknown field"}},
		"total":               {apigw, "sync_proc_status", sync, `"limit":10`, `"limit":10,"return_total":true`, []string{"page.return_total: unknown field"}},
		"spec-in-unregister":  {esb, "unregister_proc_info", register, "", "", []string{"spec: unknown field"}},
		"unhost-no-path":      {esb, "operate_proc_v2", unhost, `"/run/nginx.pid"`, `""`, []string{"spec.identity.pid_path: must be an absolute path"}},
		"query-no-path":       {esb, "operate_proc_v2", query, `"/opt/nginx"`, `""`, []string{"spec.identity.setup_path: must be an absolute path"}},
		"query-by-binary":     {apigw, "operate_proc_v2", query, simtest.OperateSpec, `{"identity":{"proc_name":"nginx"}}`, []string{"spec.alive_monitor_policy: required field is missing", "spec.control: required field is missing", "spec.identity.pid_path: required field is missing", "spec.identity.setup_path: required field is missing", "spec.identity.user: required field is missing"}},
		"item":                {apigw, "operate_proc_multi", `{"proc_operate_req":[` + agents + `]}`, `{"meta"`, `{"nodeman_spec":{"a":1},"meta"`, []string{"proc_operate_req[0].nodeman_spec: unknown field"}},
		"credentials-in-body": {apigw, "operate_proc_v2", agents, `{"meta"`, `{"bk_app_code":"bk_test","meta"`, []string{"bk_app_code: unknown field"}},
		"both-selectors":      {apigw, "operate_proc_v2", agents, `"op_type"`, simtest.CloudHosts("10.0.0.1") + `,"op_type"`, []string{"hosts: is ignored beside agent_id_list"}},
		"job-supplier":        {job, "operate_process", simtest.JobBody(0, info), `"bk_cloud_id":0`, `"bk_cloud_id":0,"bk_supplier_id":0`, []string{"process_infos[0].ip_list[0].bk_supplier_id: unknown field"}},
		"job-shell":           {job, "operate_process", simtest.JobBody(0, info), `"kill_cmd":"./kill.sh"`, `"kill_cmd":null,"cmd_shell_ext":"sh"`, []string{"process_infos[0].cmd_shell_ext: unknown field", "process_infos[0].kill_cmd: is null"}},
		"script-misspelt":     {apigw, "task/extensions/async_execute_script", simtest.ScriptBody(readHosted, simulator.DefaultProcPath, scriptHost), `"pwd"`, `"password"`, []string{"agents[0].password: unknown field"}},
		"screens-more":        {apigw, "task/extensions/get_execute_script_result", simtest.ScreensBody("T", 0, 0, scriptHost), `"limit":0`, `"limit":0,"size":1`, []string{"agent_tasks[0].atomic_tasks[0].size: unknown field"}},
		"job-owner":           {job, "manage_proc", simtest.JobBody(1, info), "", "", []string{"process_infos[0].proc_owner: required field is missing"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewGateway(t)
			body := simtest.Changed(t, test.body, test.old, test.new)
			if got := c.OnFace(test.face, test.api, body); got.Code != 0 && got.Code != simulator.CodeTaskQueued {
				t.Errorf("refused: %s", got.Message)
			}
			for i, want := range test.want {
				test.want[i] = path.Base(test.api) + ": " + want
			}
			simtest.Want(t, "found", c.Sim.Violations(), test.want)
			c.Sim.ResetViolations()
			if name == "both-selectors" {
				_, reached := c.Sim.Process("0:10.0.0.1", "web", "nginx")
				simtest.Check(t, !reached, "the hosts were not ignored")
			}
			if p, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx"); name == "label-a-number" && p.Labels["team"] != "5" {
				t.Errorf("labels %v", p.Labels)
			}
		})
	}
}

const (
	registerPath = "/api/c/compapi/v2/gse/register_proc_info/"
	gatewayPath  = "/api/bk-gse/prod/api/v2/proc/operate_proc_v2"
	jobPath      = "/api/c/compapi/v2/jobv3/operate_process/"
	scriptPath   = "/api/bk-gse/prod/api/v2/task/extensions/async_execute_script"
)

// hostList is n hosts in the form of the first generation.
func hostList(n int) string {
	host := `{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}`
	return "[" + strings.Repeat(host+",", n-1) + host + "]"
}

func signed(members string) string { return simtest.Signed("{" + members + "}") }

// FuzzServer sends a fault and then a request. With any input, the server does not panic and answers a valid request afterwards.
func FuzzServer(f *testing.F) {
	valid := simtest.Signed(simtest.FirstBody("register_proc_info", "{}", "10.0.0.1"))
	operate := `{` + simtest.Meta("{}") + `,"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}],"op_type":0,"spec":` + simtest.OperateSpec + `}`
	for _, seed := range []struct{ fault, path, body string }{
		{`{}`, registerPath, valid},
		{`{"hosts":["0:10.0.0.1"],"pending":-1,"apply":true}`, registerPath, valid},
		{`{"extra_keys":{"a":null},"spelling":"errcode","keys":"agent"}`, gatewayPath, operate},
		{`{"delay":"1h","http_status":200,"header":{"a\r\nb":"c\n"}}`, gatewayPath, operate},
		{`{"envelope":{"code":"00","data":[]},"drop":"mid"}`, jobPath, simtest.Signed(simtest.JobBody(1, simtest.JobInfo("", "10.0.0.1")))},
		{`{"task_id":"","queued":-1,"queued_data":{}}`, "/api/c/compapi/v2/gse/get_proc_operate_result_v2/", signed(`"task_id":"x"`)},
		{`{"missing":1,"api":"get_*"}`, "/api/c/compapi/v2/gse/sync_proc_status/", signed(`"meta":{"namespace":"web"},"page":{"start":0,"limit":1000}`)},
		{`{"content_shape":"broken","code":-1,"content":[1]}`, "/_sim/act", `{"action":"register","host":"0:10.0.0.1","namespace":"web","name":"nginx","spec":{}}`},
		{`{"content":{}}`, scriptPath, simtest.ScriptBody(readHosted, simulator.DefaultProcPath, scriptHost)},
		{`{"code":0,"content":1}`, scriptPath, simtest.ScriptBody("cat /x/.proc", "'a\"", scriptHost)},
		{`{"pending":1}`, "/api/c/compapi/v2/jobv3/fast_execute_script/", simtest.Signed(simtest.JobScriptBody(readHosted, "/x/.proc", "10.0.0.1"))},
		{`{}`, "/_sim/act", `{"action":"proc_file","host":"0:10.0.0.1","file":{"odd":"gbk","path":"c:"}}`},
		{`{}`, "/_sim/act", `{"action":"add_entry","host":"0:10.0.0.1","entry":{"valuekey":1,"proc":[]}}`},
		{`{}`, registerPath, strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)},
		{`{}`, registerPath, signed(`"meta":7,"hosts":null,"spec":null,"meta":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000))},
		{`{}`, registerPath, strings.NewReplacer(`"web"`, "\"\xff\u0000\"", `"bk_cloud_id":0`, `"bk_cloud_id":1e999999999`, `30.5`, `1e999999999`).Replace(valid)},
		{`{}`, jobPath, simtest.Signed(simtest.JobBody(1<<62, simtest.JobInfo("", "10.0.0.1")))},
		{`{"http_status":99}`, "/api/c/compapi/v2/gse/../../../../../_sim/calls", `{}`},
		{`{"hosts":{"a":1}}`, "/api/bk-gse/prod/api/v2/proc/\x00", `[]`},
		{`{"takes":"1ns"}`, "/_sim/agents", `{"host":"0:10.0.0.1","agent_id":"0200000007525400f355781710390005465c"}`},
	} {
		f.Add(seed.fault, seed.path, []byte(seed.body))
	}
	f.Fuzz(func(t *testing.T, fault, path string, body []byte) {
		sim := &simulator.Server{}
		sim.AddHost("0:10.0.0.1")
		defer func() {
			simtest.Must(t, sim.Close())
		}()
		serve(t, sim, "/_sim/faults", []byte(fault))
		serve(t, sim, path, body)
		// Operate on what the request may have registered, and read the result of each task.
		serve(t, sim, gatewayPath, []byte(operate))
		for _, task := range sim.Tasks() {
			serve(t, sim, "/api/c/compapi/v2/gse/get_proc_operate_result_v2/", []byte(signed(fmt.Sprintf(`"task_id":%q`, task.ID))))
			serve(t, sim, strings.Replace(scriptPath, "async_execute_script", "get_execute_script_result", 1), []byte(simtest.ScreensBody(task.ID, 0, 0, scriptHost)))
			job := signed(fmt.Sprintf(`"bk_biz_id":1,"return_ip_result":true,"job_instance_id":%s`, task.ID))
			serve(t, sim, "/api/c/compapi/v2/jobv3/get_job_instance_status/", []byte(job))
		}
		sim.Tick()
		_ = sim.Calls()
		sim.ClearFaults()
		rec := serve(t, sim, registerPath, []byte(valid))
		simtest.Check(t, rec.Code == http.StatusOK && strings.Contains(rec.Body.String(), `"error_code"`), "afterwards: HTTP %d: %s", rec.Code, rec.Body)
	})
}

// serve passes a request to the server without a connection. Its context has ended, so that no fault can make it wait.
func serve(t *testing.T, sim *simulator.Server, path string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", bytes.NewReader(body))
	req.URL.Path, req.RemoteAddr = path, "127.0.0.1:40000"
	req.Header.Set("X-Bkapi-Authorization", simtest.GatewayAuth)
	rec := httptest.NewRecorder()
	defer func() {
		// A handler closes the connection in this way; any other panic is an error.
		if cause := recover(); cause != nil {
			if err, ok := cause.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
		}
	}()
	sim.ServeHTTP(rec, req)
	return rec
}
