package face_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// What a platform accepts is accepted. What no document has is still a finding, because our own client
// must not send it.
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
				if _, reached := c.Sim.Process("0:10.0.0.1", "web", "nginx"); reached {
					t.Error("the hosts were not ignored")
				}
			}
			if p, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx"); name == "label-a-number" && p.Labels["team"] != "5" {
				t.Errorf("labels %v", p.Labels)
			}
		})
	}
}

// Only a limited number of findings is kept per request.
func TestFaces_manyFindings(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	hosts := slices.Repeat([]string{`{"ip":"10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0}`}, 1000)
	got := c.Send("get_proc_status_v2", `{`+simtest.Meta("{}")+`,"hosts":[`+strings.Join(hosts, ",")+`]}`)
	simtest.Want(t, "code and findings", []int{got.Code, len(c.Sim.Violations())}, []int{0, 20})
	c.Sim.ResetViolations()
}
