package face_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Lists of agents report unreachable ones, as operations do, for any cause.
func TestAgents(t *testing.T) {
	t.Parallel()
	const (
		agents  = `{"agent_id_list":["` + simtest.AgentA + `","` + simtest.AgentB + `","0:10.0.0.1"]}`
		hosts   = `{"bk_supplier_account":"0","hosts":[{"ip":"10.0.0.1","bk_cloud_id":0},{"ip":"10.0.0.2","bk_cloud_id":0},{"ip":"10.0.0.9","bk_cloud_id":0}]}`
		strange = `{"agent_id_list":["stranger-0123456789"]}`
	)
	gone := []string{simtest.AgentB, "0:10.0.0.2"}
	away := map[string]func(*simulator.Server){
		"cut off": func(sim *simulator.Server) { sim.SetReachable(gone[0], false); sim.SetReachable(gone[1], false) },
		"fault":   func(sim *simulator.Server) { sim.Inject(simulator.Fault{Hosts: gone, Unreachable: "117"}) },
		"code": func(sim *simulator.Server) {
			sim.Inject(simulator.Fault{Hosts: gone, Code: new(simulator.CodeAgentAbnormal)})
		},
	}
	for name, test := range map[string]struct {
		face, api, body string
		code            int
		want            string // the answer's data
	}{
		"states": {"apigw", "cluster/list_agent_state", agents, 0, `[
			{"bk_agent_id":"` + simtest.AgentA + `","bk_cloud_id":0,"version":"2.1.6","run_mode":1,"status_code":2,"report_time":1700000000000},
			{"bk_agent_id":"` + simtest.AgentB + `","bk_cloud_id":0,"version":"2.1.6","run_mode":1,"status_code":5,"report_time":0},
			{"bk_agent_id":"0:10.0.0.1","bk_cloud_id":0,"version":"2.1.6","run_mode":1,"status_code":2,"report_time":1700000000000}]`},
		"infos": {"apigw", "cluster/list_agent_info", strings.Replace(agents, `"`+simtest.AgentA+`",`, "", 1), 0, `[
			{"bk_agent_id":"` + simtest.AgentB + `","bk_cloud_id":0,"version":"2.1.6","run_mode":1,"status_code":5,"report_time":0,
			 "bk_host_ip":"","bk_os_type":"linux","bk_cpu_architecture":"x86_64","parent_ip":"","parent_port":28668,"cpu_rate":0,"mem_rate":0,"cpu_num":1,"mem_size":1073741824,
			 "start_time":0,"last_work_time":0,"conn_cycle_time":"0","status":"stopped","last_status_code":5,"last_status":"stopped","remark":""},
			{"bk_agent_id":"0:10.0.0.1","bk_cloud_id":0,"version":"2.1.6","run_mode":1,"status_code":2,"report_time":1700000000000,
			 "bk_host_ip":"10.0.0.1","bk_os_type":"linux","bk_cpu_architecture":"x86_64","parent_ip":"10.0.0.1","parent_port":28668,"cpu_rate":0,"mem_rate":0,"cpu_num":1,"mem_size":1073741824,
			 "start_time":0,"last_work_time":1700000000,"conn_cycle_time":"0","status":"running","last_status_code":2,"last_status":"running","remark":""}]`},
		"unknown":       {"apigw", "cluster/list_agent_state", strange, 1011003, `null`},
		"unknown infos": {"apigw", "cluster/list_agent_info", strange, 0, `[]`},
		"first status": {"esb", "get_agent_status", hosts, 0, `{
			"0:10.0.0.1":{"ip":"10.0.0.1","bk_cloud_id":0,"bk_agent_alive":1},
			"0:10.0.0.2":{"ip":"10.0.0.2","bk_cloud_id":0,"bk_agent_alive":0},
			"0:10.0.0.9":{"ip":"10.0.0.9","bk_cloud_id":0,"bk_agent_alive":0}}`},
		"first info": {"esb", "get_agent_info", hosts, 0, `{
			"0:10.0.0.1":{"ip":"10.0.0.1","bk_cloud_id":0,"version":"2.1.6","parent_ip":"10.0.0.1","parent_port":28668},
			"0:10.0.0.2":{"ip":"10.0.0.2","bk_cloud_id":0,"version":"2.1.6","parent_ip":"10.0.0.2","parent_port":28668}}`},
	} {
		for how, cut := range away {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.Now = func() time.Time { return time.Unix(1700000000, 0) } })
				c.Sim.AddHost("0:10.0.0.2")
				cut(c.Sim)
				got := c.OnFace(test.face, test.api, test.body)
				simtest.Want(t, "code", got.Code, test.code)
				simtest.Want(t, "data", got.Body["data"], tree(t, []byte(`{"data":`+test.want+`}`))["data"])
				simtest.Want(t, "executions", len(c.Sim.Executions()), 0)
			})
		}
	}
}

// The state of a task groups its agents by their progress.
func TestTaskState(t *testing.T) {
	t.Parallel()
	short := strings.NewReplacer(simtest.AgentA, "A", simtest.AgentB, "B", "0:10.0.0.1", "0", " ", "", "[", "", "]", "")
	for name, test := range map[string]struct {
		fault  simulator.Fault
		task   string // "" for the one that was started
		agents string
		want   string
	}{
		"done":      {want: "successed successed=AB0"},
		"one":       {agents: `,` + simtest.Agents(simtest.AgentB), want: "successed successed=B"},
		"executing": {fault: simulator.Fault{Hosts: []string{simtest.AgentB}, Pending: -1}, want: "executing pending=B successed=A0"},
		"left out":  {fault: simulator.Fault{Hosts: []string{simtest.AgentB}, Missing: -1}, want: "executing pending=B successed=A0"},
		"failed":    {fault: simulator.Fault{Hosts: []string{"0:10.0.0.1"}, Code: new(65535)}, want: "failed failed=0 successed=AB"},
		"away":      {fault: simulator.Fault{Hosts: []string{simtest.AgentA}, Unreachable: "117"}, want: "failed offline=A successed=B0"},
		"queued":    {fault: simulator.Fault{Queued: -1}, want: "pending"},
		"forgotten": {task: "GSETASK:S:1:1", want: "pending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewGateway(t)
			c.Sim.Inject(test.fault)
			started := c.Gateway("operate_proc_v2", simtest.GatewayBody(simulator.OpStart, "{}", simtest.Agents(simtest.AgentA, simtest.AgentB, "0:10.0.0.1")))
			id, _ := started.Data["task_id"].(string)
			task := cmp.Or(test.task, id)
			result, _ := c.Gateway("task/get_task_state", fmt.Sprintf(`{"task_id":%q%s}`, task, test.agents)).Data["result"].(map[string]any)
			got := fmt.Sprint(result["state"])
			for _, list := range []string{"failed", "offline", "pending", "restarted", "successed", "timeout"} {
				ids, there := result[list+"_agents"].([]any)
				simtest.Check(t, there, "no %s_agents: %v", list, result)
				if len(ids) > 0 {
					got += " " + list + "=" + short.Replace(fmt.Sprint(ids))
				}
			}
			simtest.Want(t, "state", got, test.want)
			last := c.Sim.Calls().Last()
			simtest.Want(t, "recorded", last.API+" of "+last.TaskID, "get_task_state of "+task)
		})
	}
}

// The first generation operates on the registration's spec, and result keys have the supplier.
func TestESB_firstGeneration(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	operate := func(op int, ip string) simtest.Verdict {
		started := c.Send("operate_proc", fmt.Sprintf(`{%s,%s,"op_type":%d}`, simtest.Meta("{}"), simtest.SupplierHosts(ip), op))
		id, _ := started.Data["task_id"].(string)
		if !strings.HasPrefix(id, "GSETASK:") {
			t.Fatalf("operate %d: %+v", op, started)
		}
		return simtest.VerdictOf(t, c.Send("get_proc_operate_result", fmt.Sprintf(`{"task_id":%q}`, id)).Data, "0:7:"+ip+":web:nginx")
	}
	simtest.WantCode(t, "start of what is not registered", operate(simulator.OpStart, "10.0.0.1"), simulator.CodeNotRegistered)
	if v := operate(simulator.OpStart, "2001:db8::1"); v.Code != simulator.CodeFailed || !strings.Contains(v.Message, "IPv4") {
		t.Errorf("start on IPv6: %+v", v)
	}
	simtest.Want(t, "executions", len(c.Sim.Executions()), 0)
	c.Call("register_proc_info", "10.0.0.1")
	registered, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx")
	for _, step := range []struct {
		op, code int
		state    string
		content  string
	}{
		{simulator.OpStart, 0, "RHr", `"procName": "nginx"`},
		{simulator.OpStart, simulator.CodeAlreadyRunning, "RHr", `"setupPath": "/opt/nginx"`},
		{simulator.OpQuery, 0, "RHr", `"cmdline": "./start.sh"`},
		{simulator.OpUnhost, 0, "R-r", ""},
		{simulator.OpHost, 0, "RHr", ""},
		{simulator.OpStop, 0, "R--", `"result": "success"`},
	} {
		v := operate(step.op, "10.0.0.1")
		c.WantState(fmt.Sprint("after op ", step.op), step.state)
		simtest.Check(t, v.Code == step.code && strings.Contains(v.Text(), step.content), "op %d: %+v", step.op, v)
		if p, _ := c.Sim.Process("0:10.0.0.1", "web", "nginx"); string(p.Spec) != string(registered.Spec) || p.Labels["team"] != "sre" {
			t.Errorf("op %d changed the registration: %s %v", step.op, p.Spec, p.Labels)
		}
	}
	c.Sim.SetReachable("0:10.0.0.1", false)
	simtest.WantCode(t, "start without an agent", operate(simulator.OpStart, "10.0.0.1"), simulator.CodeAgentAbnormal)
	row := simtest.RowsOf(t, c.Send("get_proc_status", `{`+simtest.Meta("{}")+`,`+simtest.SupplierHosts("10.0.0.1")+`}`))[0]
	host, _ := row["host"].(map[string]any)
	simtest.Want(t, "row", fmt.Sprint(row["status"], host["bk_supplier_id"]), "2 7")
}

// A time of 0 in a policy means the default.
func TestJob_life(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	for _, step := range []struct {
		what     string
		op, code int
		want     string
	}{
		{"query what is not there", simulator.OpQuery, 0, "none"},
		{"unhost what is not there", simulator.OpUnhost, 829, "none"},
		{"host", simulator.OpHost, 0, "true false"},
		{"start", simulator.OpStart, 0, "true true"},
		{"start what runs", simulator.OpStart, 828, "true true"},
		{"restart", simulator.OpRestart, 0, "true true"},
		{"reload", simulator.OpReload, 0, "true true"},
		{"unhost what runs", simulator.OpUnhost, 0, "false true"},
		{"host what runs", simulator.OpHost, 0, "true true"},
		{"host again", simulator.OpHost, 0, "true true"},
		{"kill", simulator.OpKill, 0, "none"},
		{"stop what is not there", simulator.OpStop, 829, "none"},
	} {
		simtest.WantCode(t, step.what, c.JobDo(step.op, `,"op_timeout":0,"start_check_begin_time":0`), step.code)
		simtest.Want(t, step.what, simtest.JobState(c.Sim), step.want)
	}
	simtest.Want(t, "pid", simtest.Instance(t, c.JobDo(simulator.OpQuery, ""))["pid"], any(-1.0))
}

func TestJob_keepsWhatTheServerMakesOfIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ api, more, want string }{
		"limits":         {"operate_process", `,"cpu_lmt":50,"mem_lmt":100`, `"cpu_lmt":50`},
		"limit-too-high": {"operate_process", `,"cpu_lmt":150,"mem_lmt":1`, `"cpu_lmt":0`},
		"limit-negative": {"operate_process", `,"cpu_lmt":1,"mem_lmt":-1`, `"mem_lmt":0`},
		"limit-missing":  {"operate_process", ``, `"cpu_lmt":0`},
		"end-is-begin":   {"operate_process", `,"start_check_begin_time":3,"start_check_end_time":9`, `"start_check_end_time":3`},
		"end-stays":      {"manage_proc", `,"proc_owner":"a","start_check_begin_time":3,"start_check_end_time":9`, `"start_check_end_time":9`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			op := map[string]int{"operate_process": simulator.OpHost, "manage_proc": 1}[test.api]
			c.JobStart(test.api, simtest.JobBody(op, simtest.JobInfo(test.more, "10.0.0.1")))
			p, _ := c.Sim.Process("0:10.0.0.1", "job", "/opt/nginx/nginx")
			simtest.Check(t, strings.Contains(string(p.Spec), test.want) && !strings.Contains(string(p.Spec), "ip_list"),
				"kept %s, want %s", p.Spec, test.want)
		})
	}
}

// The server of manage_proc refuses what its document allows, so this is no violation.
func TestJob_refusesWhatTheDocumentAllows(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	manage := simtest.JobBody(1, simtest.JobInfo(`,"proc_owner":"admin"`, "10.0.0.1"))
	for _, change := range [][2]string{
		{`"setup_path":"/opt/nginx",`, ``},
		{`"/opt/nginx"`, `""`},
		{`"pid_path":"/run/nginx.pid",`, ``},
		{`"/run/nginx.pid"`, `""`},
	} {
		got := c.Job("manage_proc", simtest.Changed(t, manage, change[0], change[1]))
		simtest.Want(t, change[0], fmt.Sprint(got.Code, got.Message), fmt.Sprint(simulator.CodeJobIllegalParameter, "Illegal parameter"))
	}
	simtest.Want(t, "account", c.Job("manage_proc", simtest.Changed(t, manage, `"type"`, `"account":"www","type"`)).Code, 0)
}

func TestJob_keys(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	info := simtest.JobInfo("", "10.0.0.1")
	valued := simtest.JobInfo(`,"value_key":"web"`, "10.0.0.1")
	for _, test := range []struct{ info, fault, want string }{
		{info, "", "/opt/nginx/nginx:0:10.0.0.1"},
		{strings.Replace(info, `"/opt/nginx"`, `"/opt/nginx/"`, 1), "", "/opt/nginx/nginx:0:10.0.0.1"},
		{strings.Replace(info, `"/opt/nginx"`, `"C:\\gse"`, 1), "", `C:\gse/nginx:0:10.0.0.1`},
		{valued, "", "web:0:10.0.0.1"},
		{valued, "path", "/opt/nginx/nginx:0:10.0.0.1"},
		{valued, "host-first", "0:10.0.0.1:web"},
	} {
		c.Sim.ClearFaults()
		c.Sim.Inject(simulator.Fault{Keys: test.fault})
		_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpHost, test.info)))
		simtest.WantCode(t, test.want, simtest.VerdictOf(t, results, test.want), 0)
		simtest.Want(t, test.want, len(results), 1)
	}
	simtest.Want(t, "processes, one per key", len(c.Sim.Processes()), 3)
	_, results := c.JobPoll(c.JobStart("operate_process", simtest.JobBody(simulator.OpQuery, simtest.JobInfo("", "10.0.0.1", "10.0.0.2"), simtest.JobInfo(`,"value_key":"b"`, "10.0.0.1"))))
	simtest.Want(t, "results of two processes on three hosts", len(results), 3)
}

func TestJob_content(t *testing.T) {
	t.Parallel()
	const object = "an object"
	for name, test := range map[string]struct {
		fault simulator.Fault
		op    int
		want  any // nil for null
	}{
		"query":           {simulator.Fault{}, simulator.OpQuery, object},
		"host":            {simulator.Fault{}, simulator.OpHost, ""},
		"empty":           {simulator.Fault{ContentShape: "empty"}, simulator.OpQuery, ""},
		"not-json":        {simulator.Fault{ContentShape: "broken"}, simulator.OpQuery, nil},
		"null":            {simulator.Fault{ContentShape: "null"}, simulator.OpQuery, nil},
		"object-already":  {simulator.Fault{ContentShape: "object"}, simulator.OpQuery, object},
		"words-of-a-user": {simulator.Fault{Code: new(int), Content: "it works"}, simulator.OpQuery, nil},
	} {
		c := simtest.NewVirtual(t)
		c.Sim.Inject(test.fault)
		got := c.JobDo(test.op, "").Content
		if members, isObject := got.(map[string]any); isObject && members["process"] != nil {
			got = object
		}
		simtest.Want(t, name, got, test.want)
	}
	c := simtest.NewVirtual(t)
	c.JobDo(simulator.OpHost, "")
	simtest.Want(t, "isAuto", simtest.Instance(t, c.JobDo(simulator.OpQuery, ""))["isAuto"], any(true))
	c.Sim.Inject(simulator.Fault{ContentShape: "no-isauto"})
	_, has := simtest.Instance(t, c.JobDo(simulator.OpQuery, ""))["isAuto"]
	simtest.Want(t, "isAuto is there", has, false)
}

func TestJob_status(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Sim.Inject(simulator.Fault{Queued: 1, Times: 1})
	c.Sim.Inject(simulator.Fault{Hosts: []string{"0:10.0.0.2"}, Pending: 1, Times: 1})
	c.Sim.Inject(simulator.Fault{API: "get_proc_result", JobStatus: new(115), Skip: 2, Times: 1})
	type said struct{ status, results, pending int }
	poll := func(id string) said {
		status, results := c.JobPoll(id)
		got := said{status, len(results), 0}
		for key := range results {
			if simtest.VerdictOf(t, results, key).Code == simulator.CodePending {
				got.pending++
			}
		}
		return got
	}
	id := c.JobStart("operate_process", simtest.JobBody(simulator.OpStart, simtest.JobInfo("", "10.0.0.1", "10.0.0.2")))
	simtest.Want(t, "queued, which is a success with nothing in it", poll(id), said{115, 0, 0})
	simtest.Want(t, "pending", poll(id), said{115, 2, 1})
	simtest.Want(t, "status 115 beside hosts that have finished", poll(id), said{115, 2, 0})
	simtest.Want(t, "done", poll(id), said{0, 2, 0})
	simtest.Want(t, "an unknown task", poll("GSETASK:unknown"), said{115, 0, 0})
}
