package face_test

import (
	"cmp"
	"fmt"
	"net/http"
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

func outcomes(rows []map[string]any) (text string) {
	for _, row := range rows {
		text += fmt.Sprint(row["status"], " ", row["error_code"], " ", row["script_exit_code"], " ", row["screen"])
	}
	return text
}

// Each agent's result shows its progress, in the forms that clients know.
func TestScript_results(t *testing.T) {
	t.Parallel()
	half := wholeFile[:len(wholeFile)/2]
	for name, test := range map[string]struct {
		fault simulator.Fault
		away  bool
		want  []string // poll by poll; "" for no result
	}{
		"at once":         {want: []string{"2 0 0 " + wholeFile}},
		"slow":            {fault: simulator.Fault{API: "async_execute_script", Pending: 3}, want: []string{"1 0 0 " + half, "1 115 0 " + half, "1 115 0 " + half, "2 0 0 " + wholeFile}},
		"for ever":        {fault: simulator.Fault{Unreachable: "pending"}, want: []string{"1 0 0 ", "1 115 0 ", "1 115 0 "}},
		"away":            {fault: simulator.Fault{Unreachable: "117"}, want: []string{"5 117 0 "}},
		"cut off":         {away: true, want: []string{"5 117 0 "}},
		"agent restarted": {fault: simulator.Fault{API: "async_*", Pending: 1, ScriptStatus: 6}, want: []string{"1 0 0 " + half, "6 0 0 " + half}},
		"task lost":       {fault: simulator.Fault{API: "async_*", Pending: 1, Code: new(-1), Message: "no such task"}, want: []string{"1 0 0 ", "5 -1 0 "}},
		"left out":        {fault: simulator.Fault{Missing: 1}, want: []string{"", "2 0 0 " + wholeFile}},
		"prints else":     {fault: simulator.Fault{Code: new(0), Content: "bk-hosted begin\n"}, want: []string{"2 0 0 bk-hosted begin\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scripts(t)
			test.fault.Hosts = []string{scriptHost}
			c.Sim.Inject(test.fault)
			c.Sim.SetReachable(scriptHost, !test.away)
			id := c.RunScript(readHosted, simulator.DefaultProcPath, simtest.AgentA, scriptHost)
			for i, want := range test.want {
				simtest.Want(t, fmt.Sprint("poll ", i+1), outcomes(c.Screens(id, 0, 0, scriptHost)), want)
			}
			simtest.Want(t, "the other agent", outcomes(c.Screens(id, 0, 0, simtest.AgentA)), "2 0 0 "+wholeFile)
			simtest.Want(t, "reading operates", len(c.Sim.Executions()), 0)
		})
	}
}

// A poll requests some agents and a part of each screen, and gets those in its order.
func TestScript_pages(t *testing.T) {
	t.Parallel()
	for size, limit := range map[int]int{0: 9, 7: 7} {
		c := scripts(t, func(s *simulator.Server) { s.ScreenPage = size })
		text := "bk-hosted begin\n{\"x启动启动\":0}\n"
		c.Sim.Inject(simulator.Fault{Hosts: []string{scriptHost}, Code: new(0), Content: text})
		id := c.RunScript(readHosted, simulator.DefaultProcPath, scriptHost, simtest.AgentA, simtest.AgentB)
		read := ""
		for range 40 {
			part, _ := c.Screens(id, len(read), 9, scriptHost)[0]["screen"].(string)
			simtest.Check(t, len(part) <= limit, "page %q is larger than %d", part, limit)
			if read += part; part == "" {
				break
			}
		}
		simtest.Want(t, fmt.Sprint("pages of ", size), read, text)
		rows := c.Screens(id, 0, 1, simtest.AgentB, simtest.AgentA, "0:10.0.0.9")
		simtest.Check(t, len(rows) == 2 && rows[0]["bk_agent_id"] == simtest.AgentB && rows[1]["screen"] == "b", "answer: %v", rows)
	}
}

// A task of scripts is polled only as such. A forgotten task stays queued. A request without permission starts none.
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
	simtest.Want(t, "as a task of processes", c.GatewayPoll(id).Code, simulator.CodeTaskQueued)
	simtest.Want(t, "a task of processes", ask(c.Operate(simulator.OpQuery, "10.0.0.1")), simulator.CodeTaskQueued)
	result, _ := c.Gateway("task/get_task_state", fmt.Sprintf(`{"task_id":%q}`, id)).Data["result"].(map[string]any)
	simtest.Want(t, "state", result["state"], any("successed"))
	c.Sim.ExpireTask(id)
	simtest.Want(t, "forgotten", ask(id), simulator.CodeTaskQueued)

	quoted := simtest.ScriptBody(readHosted, `'`+simulator.DefaultProcPath+`'`, scriptHost)
	quoted = simtest.Changed(t, quoted, `"/tmp/bk_terraform/read.sh`, `"sh /tmp/bk_terraform/read.sh`)
	simtest.Want(t, "with an interpreter, and quoted", c.Gateway("task/extensions/async_execute_script", quoted).Code, 0)
	tasks := len(c.Sim.Tasks())
	c.Sim.Inject(simulator.Fault{API: "async_*", HTTPStatus: http.StatusForbidden, Body: `{"code":1640301}`})
	simtest.Want(t, "no permission", c.Gateway("task/extensions/async_execute_script", quoted).Status, http.StatusForbidden)
	simtest.Want(t, "tasks", len(c.Sim.Tasks()), tasks)
}

// jobSays returns what JOB reports about a job: finished, job, host, exit code, error code, log.
func jobSays(c *simtest.Client, job, step int64) string {
	c.T.Helper()
	status := c.Job("get_job_instance_status", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","job_instance_id":%v,"return_ip_result":true}`, job))
	log := c.Job("batch_get_job_instance_ip_log", fmt.Sprintf(`{"bk_scope_type":"biz","bk_scope_id":"2","job_instance_id":%v,"step_instance_id":%v,%s}`, job, step,
		strings.Replace(simtest.CloudHosts("10.0.0.1", "10.0.0.9"), "hosts", "ip_list", 1)))
	instance, _ := status.Data["job_instance"].(map[string]any)
	steps, _ := status.Data["step_instance_list"].([]any)
	logs, _ := log.Data["script_task_logs"].([]any)
	if status.Code != 0 || log.Code != 0 || len(steps) != 1 || len(logs) != 1 {
		c.T.Fatalf("%v, %v", status.Body, log.Body)
	}
	first, _ := steps[0].(map[string]any)
	simtest.Want(c.T, "step", first["step_instance_id"], any(float64(step)))
	hosts, _ := first["step_ip_result_list"].([]any)
	host := "none"
	if len(hosts) == 1 {
		h, _ := hosts[0].(map[string]any)
		host = fmt.Sprint(h["status"], " ", h["exit_code"], " ", h["error_code"])
	}
	line, _ := logs[0].(map[string]any)
	return fmt.Sprint(status.Data["finished"], " ", instance["status"], " ", host, " ", line["log_content"])
}

// JOB runs the same script on hosts by address, and has its own numbers for the result.
func TestScript_job(t *testing.T) {
	t.Parallel()
	half := wholeFile[:len(wholeFile)/2]
	for name, test := range map[string]struct {
		fault simulator.Fault
		file  string
		want  []string // poll by poll
	}{
		"at once":     {want: []string{"true 3 9 0 0 " + wholeFile}},
		"slow":        {fault: simulator.Fault{Pending: 2}, want: []string{"false 2 7 0 115 " + half, "false 2 7 0 115 " + wholeFile, "true 3 9 0 0 " + wholeFile}},
		"away":        {fault: simulator.Fault{Unreachable: "117"}, want: []string{"true 4 1 0 117 agent abnormal or not found"}},
		"stopped":     {fault: simulator.Fault{ScriptStatus: 4}, want: []string{"true 4 11 0 0 " + half}},
		"failed":      {fault: simulator.Fault{Code: new(-1), Message: "the agent restarted"}, want: []string{"true 4 11 0 -1 the agent restarted"}},
		"queued":      {fault: simulator.Fault{Queued: 1}, want: []string{"false 2 none " + wholeFile, "true 3 9 0 0 " + wholeFile}},
		"other place": {file: "/x/.proc", want: []string{"true 3 9 0 0 bk-hosted no-directory\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scripts(t, func(s *simulator.Server) { s.JobRemoved = true }) // scripts stay
			test.fault.API = "fast_execute_script"
			c.Sim.Inject(test.fault)
			job, step := c.JobRunScript(readHosted, cmp.Or(test.file, simulator.DefaultProcPath), "10.0.0.1")
			for i, want := range test.want {
				simtest.Want(t, fmt.Sprint("poll ", i+1), jobSays(c, job, step), want)
			}
		})
	}
}
