package face_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

const (
	scriptHost = "0:10.0.0.1"
	wholeFile  = "bk-hosted begin\n" + `{"proc":[]}` + "\nbk-hosted end\n"
)

var readHosted = contract.Script("read_hosted.sh")

// scripts is a simulator with two hosts that answer a script alike, and two agents.
func scripts(t *testing.T, knobs ...func(*simulator.Server)) *simtest.Client {
	t.Helper()
	c := simtest.NewGateway(t, knobs...)
	c.Sim.AddHost("0:10.0.0.2")
	for _, name := range []string{scriptHost, "0:10.0.0.2", simtest.AgentA, simtest.AgentB} {
		c.Sim.SetProcFile(name, simulator.ProcFile{Odd: "no-entries"})
	}
	return c
}

// outcome is a short form of one result.
func outcome(row map[string]any) string {
	return fmt.Sprint(row["status"], " ", row["error_code"], " ", row["script_exit_code"], " ", row["screen"])
}

// Each agent's result shows its progress, in the forms that clients know.
func TestScript_results(t *testing.T) {
	t.Parallel()
	half := wholeFile[:len(wholeFile)/2]
	for name, test := range map[string]struct {
		faults []simulator.Fault
		away   bool
		want   []string // poll by poll; "" for no result
	}{
		"at once":         {want: []string{"2 0 0 " + wholeFile}},
		"slow":            {faults: []simulator.Fault{{API: "async_execute_script", Pending: 3}}, want: []string{"1 0 0 " + half, "1 115 0 " + half, "1 115 0 " + half, "2 0 0 " + wholeFile}},
		"for ever":        {faults: []simulator.Fault{{Unreachable: "pending"}}, want: []string{"1 0 0 ", "1 115 0 ", "1 115 0 "}},
		"away":            {faults: []simulator.Fault{{Unreachable: "117"}}, want: []string{"5 117 0 "}},
		"cut off":         {away: true, want: []string{"5 117 0 "}},
		"agent restarted": {faults: []simulator.Fault{{API: "async_*", Pending: 1, ScriptStatus: 6}}, want: []string{"1 0 0 " + half, "6 0 0 " + half}},
		"task lost":       {faults: []simulator.Fault{{API: "async_*", Pending: 1, Code: new(-1), Message: "no such task"}}, want: []string{"1 0 0 ", "5 -1 0 "}},
		"left out":        {faults: []simulator.Fault{{Missing: 1}}, want: []string{"", "2 0 0 " + wholeFile}},
		"prints else":     {faults: []simulator.Fault{{Code: new(0), Content: "bk-hosted begin\n"}}, want: []string{"2 0 0 bk-hosted begin\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scripts(t)
			for _, fault := range test.faults {
				fault.Hosts = []string{scriptHost}
				c.Sim.Inject(fault)
			}
			c.Sim.SetReachable(scriptHost, !test.away)
			id := c.RunScript(readHosted, simulator.DefaultProcPath, simtest.AgentA, scriptHost)
			for i, want := range test.want {
				rows := c.Screens(id, 0, 0, scriptHost)
				got := ""
				if len(rows) == 1 {
					got = outcome(rows[0])
				}
				if got != want {
					t.Errorf("poll %d: got %q, want %q", i+1, got, want)
				}
			}
			if rows := c.Screens(id, 0, 0, simtest.AgentA); len(rows) != 1 || outcome(rows[0]) != "2 0 0 "+wholeFile {
				t.Errorf("the other agent: %v", rows)
			}
			if done := c.Sim.Executions(); len(done) != 0 {
				t.Errorf("to read is to do %v", done)
			}
		})
	}
}

// A poll requests some agents and a part of each screen, and gets those in its order.
func TestScript_pages(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 7} {
		c := scripts(t, func(s *simulator.Server) { s.ScreenPage = size })
		text := "bk-hosted begin\n{\"x启动启动\":0}\n"
		c.Sim.Inject(simulator.Fault{Hosts: []string{scriptHost}, Code: new(0), Content: text})
		id := c.RunScript(readHosted, simulator.DefaultProcPath, scriptHost, simtest.AgentA, simtest.AgentB)
		read := ""
		for range 40 {
			rows := c.Screens(id, len(read), 9, scriptHost)
			part, _ := rows[0]["screen"].(string)
			if limit := max(size, 9-9*min(size, 1)); len(part) > limit {
				t.Errorf("page %q is larger than %d", part, limit)
			}
			if read += part; part == "" {
				break
			}
		}
		if read != text {
			t.Errorf("pages of %d: got %q, want %q", size, read, text)
		}
		rows := c.Screens(id, 0, 1, simtest.AgentB, simtest.AgentA, "0:10.0.0.9")
		if len(rows) != 2 || rows[0]["bk_agent_id"] != simtest.AgentB || rows[1]["screen"] != "b" {
			t.Errorf("answer: %v", rows)
		}
	}
}

// A task is one of scripts or one of processes. A forgotten one stays queued.
func TestScript_tasks(t *testing.T) {
	t.Parallel()
	c := scripts(t)
	c.Sim.Inject(simulator.Fault{API: "async_*", Queued: 1, Times: 1})
	id := c.RunScript(readHosted, simulator.DefaultProcPath, scriptHost)
	ask := func(id string) int {
		return c.Gateway("task/extensions/get_execute_script_result", simtest.ScreensBody(id, 0, 0, scriptHost)).Code
	}
	simtest.Want(t, "queued", ask(id), simulator.CodeTaskQueued)
	simtest.Want(t, "then", ask(id), 0)
	if got := c.GatewayPoll(id); got.Code != simulator.CodeTaskQueued {
		t.Errorf("as a task of processes: %v", got.Body)
	}
	simtest.Want(t, "a task of processes", ask(c.Operate(simulator.OpQuery, "10.0.0.1")), simulator.CodeTaskQueued)
	state := c.Gateway("task/get_task_state", fmt.Sprintf(`{"task_id":%q}`, id))
	if result, _ := state.Data["result"].(map[string]any); result["state"] != "successed" {
		t.Errorf("state: %v", state.Body)
	}
	c.Sim.ExpireTask(id)
	simtest.Want(t, "forgotten", ask(id), simulator.CodeTaskQueued)
}

// Requests that no client sends are refused or are findings, and no other script runs.
func TestScript_refused(t *testing.T) {
	t.Parallel()
	body := simtest.ScriptBody(readHosted, simulator.DefaultProcPath, scriptHost)
	screens := simtest.ScreensBody("T", 0, 0, scriptHost)
	const run, result = "async_execute_script", "get_execute_script_result"
	const no = "the simulator runs no script but the one that reads what an agent hosts, and cat or type of a .proc"
	for name, test := range map[string]struct {
		api, body, old, with string
		want                 string
		taken                bool // and found
	}{
		"another script":      {run, simtest.ScriptBody("rm -rf /", "", scriptHost), "", "", "scripts[0].script_content: " + no, false},
		"a changed script":    {run, simtest.ScriptBody(readHosted+"\n", "/x/.proc", scriptHost), "", "", "scripts[0].script_content: " + no, false},
		"cat of another file": {run, simtest.ScriptBody("cat /etc/shadow", "", scriptHost), "", "", "scripts[0].script_content: " + no, false},
		"cat and more":        {run, simtest.ScriptBody("cat /x/.proc; id", "", scriptHost), "", "", "scripts[0].script_content: " + no, false},
		"no file":             {run, simtest.ScriptBody(readHosted, "", scriptHost), "", "", "scripts[0].script_content: the script has 0 arguments, want the file that it reads", false},
		"two files":           {run, simtest.ScriptBody(readHosted, "/x/.proc /y", scriptHost), "", "", "scripts[0].script_content: the script has 2 arguments, want the file that it reads", false},
		"unquoted":            {run, simtest.ScriptBody(readHosted, "/x/.proc;id", scriptHost), "", "", "atomic_tasks[0].command: a shell would not take ; as it is; quote it", false},
		"open quote":          {run, simtest.ScriptBody(readHosted, "'/x/.proc", scriptHost), "", "", "atomic_tasks[0].command: a quote is not closed", false},
		"another command":     {run, body, `"/tmp/bk_terraform/read.sh `, `"/tmp/read.sh `, "atomic_tasks[0].command: it does not run the script, /tmp/bk_terraform/read.sh", false},
		"no account":          {run, body, `"user":"root"`, `"user":""`, "agents[0].user: must not be empty", false},
		"no time":             {run, body, `"timeout_seconds":60`, `"timeout_seconds":0`, "atomic_tasks[0].timeout_seconds: must be at least 1", false},
		"no agent":            {run, simtest.ScriptBody(readHosted, "/x/.proc"), "", "", "agents: must not be empty", false},
		"blank agent":         {run, body, scriptHost, "", "agents[0].bk_agent_id: must not be empty", false},
		"no relations":        {run, body, `,"atomic_tasks_relations":[{"atomic_task_id":0,"atomic_task_id_idx":[]}]`, "", "atomic_tasks_relations: required field is missing", false},
		"relative folder":     {run, body, `"script_store_dir":"/`, `"script_store_dir":"`, "scripts[0].script_store_dir: must be an absolute path", false},
		"misspelt":            {run, body, `"pwd"`, `"password"`, "agents[0].password: unknown field", true},
		"no agents' tasks":    {result, screens, `"agent_tasks"`, `"agents"`, "agent_tasks: required field is missing", false},
		"no offset":           {result, screens, `"offset":0,`, "", "agent_tasks[0].atomic_tasks[0].offset: required field is missing", false},
		"negative offset":     {result, screens, `"offset":0,`, `"offset":-1,`, "agent_tasks[0].atomic_tasks[0].offset: must not be negative", false},
		"more":                {result, screens, `"limit":0`, `"limit":0,"size":1`, "agent_tasks[0].atomic_tasks[0].size: unknown field", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scripts(t)
			got := c.Gateway("task/extensions/"+test.api, simtest.Changed(t, test.body, test.old, test.with))
			if (got.Status == http.StatusOK) != test.taken || !test.taken && got.Code != simulator.CodeInvalidArgs {
				t.Errorf("HTTP %d %v", got.Status, got.Body)
			}
			want := test.api + ": " + test.want
			if !test.taken {
				want = test.api + ": Parameters error [reason=\"" + test.want + "\"]"
			}
			c.WantOneViolation(want)
		})
	}
	c := scripts(t)
	quoted := simtest.Changed(t, simtest.ScriptBody(readHosted, `'`+simulator.DefaultProcPath+`'`, scriptHost), `"/tmp/bk_terraform/read.sh`, `"sh /tmp/bk_terraform/read.sh`)
	if got := c.Gateway("task/extensions/"+run, quoted); got.Code != 0 {
		t.Errorf("with an interpreter, and quoted: %v", got.Body)
	}
	c.Sim.Inject(simulator.Fault{API: run, HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"code_name":"APP_NO_PERMISSION","message":"App has no permission","data":null,"result":false}`})
	if got := c.Gateway("task/extensions/"+run, quoted); got.Status != http.StatusForbidden || len(c.Sim.Tasks()) != 1 {
		t.Errorf("no permission: %v, %v", got.Body, c.Sim.Tasks())
	}
}

// JOB runs the same script on hosts by address, and has its own numbers for the result.
func TestScript_job(t *testing.T) {
	t.Parallel()
	half := wholeFile[:len(wholeFile)/2]
	for name, test := range map[string]struct {
		fault simulator.Fault
		file  string
		want  []string // poll by poll: finished, job, host, exit code, error code, log
	}{
		"at once":     {want: []string{"true 3 9 0 0 " + wholeFile}},
		"slow":        {fault: simulator.Fault{Pending: 2}, want: []string{"false 2 7 0 115 " + half, "false 2 7 0 115 " + wholeFile, "true 3 9 0 0 " + wholeFile}},
		"away":        {fault: simulator.Fault{Unreachable: "117"}, want: []string{"true 4 1 0 117 agent abnormal or not found"}},
		"stopped":     {fault: simulator.Fault{ScriptStatus: 4}, want: []string{"true 4 11 0 0 " + half}},
		"failed":      {fault: simulator.Fault{Code: new(-1), Message: "the agent restarted"}, want: []string{"true 4 11 0 -1 the agent restarted"}},
		"queued":      {fault: simulator.Fault{Queued: 1}, want: []string{"false 2 none " + wholeFile, "true 3 9 0 0 " + wholeFile}},
		"other place": {file: "/x/.proc", want: []string{"true 3 9 0 0 bk-hosted missing-directory\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scripts(t, func(s *simulator.Server) { s.JobRemoved = true }) // scripts stay
			test.fault.API = "fast_execute_script"
			c.Sim.Inject(test.fault)
			file := simulator.DefaultProcPath
			if test.file != "" {
				file = test.file
			}
			job, step := c.JobRunScript(readHosted, file, "10.0.0.1")
			for i, want := range test.want {
				status := c.Job("get_job_instance_status", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","job_instance_id":%v,"return_ip_result":true}`, job))
				log := c.Job("batch_get_job_instance_ip_log", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","job_instance_id":%v,"step_instance_id":%v,%s}`, job, step,
					strings.Replace(simtest.CloudHosts("10.0.0.1", "10.0.0.9"), "hosts", "ip_list", 1)))
				instance, _ := status.Data["job_instance"].(map[string]any)
				steps, _ := status.Data["step_instance_list"].([]any)
				logs, _ := log.Data["script_task_logs"].([]any)
				if status.Code != 0 || log.Code != 0 || len(steps) != 1 || len(logs) != 1 {
					t.Fatalf("poll %d: %v, %v", i+1, status.Body, log.Body)
				}
				first, _ := steps[0].(map[string]any)
				hosts, _ := first["step_ip_result_list"].([]any)
				host := "none"
				if len(hosts) == 1 {
					h, _ := hosts[0].(map[string]any)
					host = fmt.Sprint(h["status"], " ", h["exit_code"], " ", h["error_code"])
				}
				line, _ := logs[0].(map[string]any)
				if got := fmt.Sprint(status.Data["finished"], " ", instance["status"], " ", host, " ", line["log_content"]); got != want || first["step_instance_id"] != float64(step) {
					t.Errorf("poll %d: got %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

// JOB refuses what its document does not allow, and the simulator refuses any other script.
func TestScript_jobRefuses(t *testing.T) {
	t.Parallel()
	body := simtest.JobScriptBody(readHosted, simulator.DefaultProcPath, "10.0.0.1")
	status := `{"bk_biz_id":2,"job_instance_id":1}`
	for name, test := range map[string]struct{ api, body, old, with, want string }{
		"another script":  {"fast_execute_script", simtest.JobScriptBody("id", "", "10.0.0.1"), "", "", "script_content: the simulator runs no script but the one that reads what an agent hosts, and cat or type of a .proc"},
		"another tongue":  {"fast_execute_script", body, `"script_language":1`, `"script_language":5`, "script_language: it is 1 for this script"},
		"no base64":       {"fast_execute_script", body, `"script_content":"`, `"script_content":"%`, "script_content: it is not in base64"},
		"no account":      {"fast_execute_script", body, `"account_alias":"root",`, "", "account_alias: required field is missing, or account_id"},
		"no time":         {"fast_execute_script", body, `"timeout":60`, `"timeout":0`, "timeout: must be between 1 and 86400"},
		"no host":         {"fast_execute_script", body, `"ip_list":[{"ip":"10.0.0.1","bk_cloud_id":0}]`, "", "target_server.ip_list: the simulator knows hosts by address alone; name some"},
		"no scope":        {"fast_execute_script", body, `"bk_scope_type":"biz",`, "", "bk_scope_type: required field is missing"},
		"text for number": {"get_job_instance_status", status, "1}", `"1"}`, "job_instance_id: want an integer, got a string"},
		"text for bool":   {"get_job_instance_status", status, "1}", `1,"return_ip_result":"true"}`, "return_ip_result: want a boolean, got a string"},
		"too many logs":   {"batch_get_job_instance_ip_log", `{"bk_biz_id":2,"job_instance_id":1,"step_instance_id":2,"ip_list":` + hostList(501) + `}`, "", "", "ip_list: must have 500 elements at most"},
		"no step":         {"batch_get_job_instance_ip_log", status, "", "", "ip_list: required field is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scripts(t)
			got := c.Job(test.api, simtest.Changed(t, test.body, test.old, test.with))
			if got.Code != simulator.CodeJobIllegalParameter || len(c.Sim.Tasks()) != 0 {
				t.Errorf("%v", got.Body)
			}
			c.WantOneViolation(test.api + ": Illegal parameter: " + test.want)
		})
	}
	c := scripts(t)
	for _, api := range []string{"get_job_instance_status", "batch_get_job_instance_ip_log"} {
		log := `{"bk_biz_id":2,"job_instance_id":1,"step_instance_id":2,` + strings.Replace(simtest.CloudHosts("10.0.0.1"), "hosts", "ip_list", 1) + `}`
		if got := c.Job(api, map[bool]string{true: log, false: status}[strings.HasPrefix(api, "batch")]); got.Code != simulator.CodeJobNoInstance {
			t.Errorf("%s of a job that is not known: %v", api, got.Body)
		}
	}
	job, _ := c.JobRunScript(readHosted, simulator.DefaultProcPath, "10.0.0.2", "10.0.0.1")
	got := c.Job("get_job_instance_status", fmt.Sprintf(`{"bk_biz_id":2,"job_instance_id":%v}`, job))
	steps, _ := got.Data["step_instance_list"].([]any)
	if first, _ := steps[0].(map[string]any); first["step_ip_result_list"] != nil || got.Data["finished"] != true {
		t.Errorf("hosts that were not requested: %v", got.Body)
	}
	if apis := c.Sim.Calls().APIs(); !slices.Contains(apis, "fast_execute_script") || len(c.Sim.Calls().On("0:10.0.0.2")) != 1 {
		t.Errorf("calls: %v", apis)
	}
}
