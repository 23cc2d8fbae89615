//go:build unix

package face_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

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
