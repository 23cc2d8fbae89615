package core_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Operations that reached an agent are counted by task, whatever the answer was.
func TestMachines_countWhatReachedTheAgent(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Sim.Inject(simulator.Fault{API: "operate_proc_multi", Drop: "after", Times: 1})
	body := `{"proc_operate_req":[` + simtest.GatewayBody(simulator.OpStart, `{}`, simtest.Agents(simtest.ByAgent)) + `]}`
	if lost, err := c.Raw("operate_proc_multi", body); err == nil {
		t.Errorf("the answer is there: %s", lost)
	}
	c.Over(simtest.ByAddress, simulator.OpStart, simulator.CodeAlreadyRunning)
	var got, want []string
	for i, code := range []int{simulator.CodeOK, simulator.CodeAlreadyRunning} {
		want = append(want, fmt.Sprint("start ", code, " once by ", c.Sim.Tasks()[i].ID))
	}
	for _, o := range c.Sim.Machine(simtest.ByAddress).Process("web", "nginx").Operations {
		got = append(got, fmt.Sprint(o.Action, " ", o.Code, map[int]string{1: " once by "}[o.Times], o.TaskID))
	}
	simtest.Want(t, "operations", got, want)
	if m := c.Sim.Machines(); len(m) != 1 || m[0].Host != simtest.ByAddress || m[0].AgentID != simtest.ByAgent {
		t.Errorf("%+v", m)
	}
	if p := c.Sim.Machine("0:10.0.0.2").Process("web", "nginx"); p.Registered() || p.Hosted || p.Running || p.PID != -1 {
		t.Errorf("%+v", p)
	}
}
