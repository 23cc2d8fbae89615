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
