//go:build unix

package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A daemon on a local host, started at the gateway by agent id, seen through the
// ESB by address.
func TestLocal_atTheGateway(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	c.sim.AddAgent(agentA, "0:"+localIP)
	started := c.gateway("operate_proc_v2", fmt.Sprintf(`{%s,%s,"op_type":0,"spec":%s}`, meta("{}"), agents(agentA), localSpec("", "")))
	id, _ := started.data["task_id"].(string)
	var v verdict
	c.eventually("the start", func() bool {
		v = verdictOf(t, c.gatewayPoll(id).data, agentA+":web:nginx")
		return v.code != simulator.CodePending
	})
	if v.code != 0 || !alive(c.pid()) {
		t.Fatalf("start: %+v", v)
	}
	if row := c.rows(localIP)[localIP]; row["pid"] != float64(c.pid()) || row["isauto"] != true {
		t.Errorf("row: %v", row)
	}
	if row := c.gatewayRows(agents(agentA))[0]; row["pid"] != float64(c.pid()) || row["bk_agent_id"] != agentA {
		t.Errorf("row at the gateway: %v", row)
	}
}

func TestLocal_throughJob(t *testing.T) {
	t.Parallel()
	c := localHost(t)
	do := func(op int) verdict {
		info := `{"proc_name":"sleep","setup_path":"/opt/app","pid_path":"/opt/app/run.pid","type":1,"start_check_begin_time":2,"op_timeout":500,` +
			`"start_cmd":"sleep 600 & echo $! > run.pid","stop_cmd":"kill $(cat run.pid)","ip_list":` +
			strings.TrimPrefix(cloudHosts(localIP), `"hosts":`) + `}`
		id := c.jobStart("operate_process", jobBody(op, info))
		var v verdict
		c.eventually("a verdict", func() bool {
			status, results := c.jobPoll(id)
			v = verdictOf(t, results, "/opt/app/sleep:0:"+localIP)
			return status != simulator.CodePending
		})
		return v
	}
	if v := do(simulator.OpStart); v.code != 0 || !alive(c.pid()) {
		t.Fatalf("start: %+v", v)
	}
	pid := c.pid()
	if live := jobInstance(t, do(simulator.OpQuery)); live["pid"] != float64(pid) || live["isAuto"] != true {
		t.Errorf("query: %v", live)
	}
	if v := do(simulator.OpStop); v.code != 0 {
		t.Errorf("stop: %+v", v)
	}
	c.eventually("the daemon's end", func() bool { return !running(pid) })
	if v := do(simulator.OpReload); v.code != simulator.CodeCheckFailed {
		t.Errorf("reload after stop: %+v", v)
	}
}
