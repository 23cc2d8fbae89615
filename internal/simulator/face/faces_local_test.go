//go:build unix

package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// A daemon on a local host, started at the gateway by agent id, seen through the
// ESB by address.
func TestLocal_atTheGateway(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	c.Sim.AddAgent(simtest.AgentA, "0:"+simtest.LocalIP)
	started := c.Gateway("operate_proc_v2", fmt.Sprintf(`{%s,%s,"op_type":0,"spec":%s}`, simtest.Meta("{}"), simtest.Agents(simtest.AgentA), simtest.LocalSpec("", "")))
	id, _ := started.Data["task_id"].(string)
	var v simtest.Verdict
	c.Eventually("the start", func() bool {
		v = simtest.VerdictOf(t, c.GatewayPoll(id).Data, simtest.AgentA+":web:nginx")
		return v.Code != simulator.CodePending
	})
	if v.Code != 0 || !simtest.Alive(c.PID()) {
		t.Fatalf("start: %+v", v)
	}
	row := c.Rows(simtest.LocalIP)[simtest.LocalIP]
	simtest.Want(t, "row", fmt.Sprint(row["pid"], row["isauto"]), fmt.Sprint(c.PID(), true))
	row = c.GatewayRows(simtest.Agents(simtest.AgentA))[0]
	simtest.Want(t, "row at the gateway", fmt.Sprint(row["pid"], row["bk_agent_id"]), fmt.Sprint(c.PID(), simtest.AgentA))
}

func TestLocal_throughJob(t *testing.T) {
	t.Parallel()
	c := simtest.LocalHost(t)
	do := func(op, code int) simtest.Verdict {
		t.Helper()
		info := `{"proc_name":"sleep","setup_path":"/opt/app","pid_path":"/opt/app/run.pid","type":1,"start_check_begin_time":2,"op_timeout":500,` +
			`"start_cmd":"sleep 600 & echo $! > run.pid","stop_cmd":"kill $(cat run.pid)","ip_list":` +
			strings.TrimPrefix(simtest.CloudHosts(simtest.LocalIP), `"hosts":`) + `}`
		id := c.JobStart("operate_process", simtest.JobBody(op, info))
		var v simtest.Verdict
		c.Eventually("a verdict", func() bool {
			status, results := c.JobPoll(id)
			v = simtest.VerdictOf(t, results, "/opt/app/sleep:0:"+simtest.LocalIP)
			return status != simulator.CodePending
		})
		simtest.WantCode(t, fmt.Sprint("op ", op), v, code)
		return v
	}
	do(simulator.OpStart, 0)
	pid := c.PID()
	live := simtest.Instance(t, do(simulator.OpQuery, 0))
	simtest.Want(t, "query", fmt.Sprint(simtest.Alive(pid), live["pid"], live["isAuto"]), fmt.Sprint(true, pid, true))
	do(simulator.OpStop, 0)
	c.Eventually("the daemon's end", func() bool { return !simtest.Running(pid) })
	do(simulator.OpReload, simulator.CodeCheckFailed)
}
