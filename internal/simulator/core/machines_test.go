package core_test

import (
	"net/http"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Operations that reached an agent are counted by task, whatever the answer was.
func TestMachines_countWhatReachedTheAgent(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Sim.Inject(simulator.Fault{API: "operate_proc_v2", Drop: "after", Times: 1})
	body := simtest.Signed(simtest.GatewayBody(simulator.OpStart, `{}`, simtest.CloudHosts("10.0.0.1")))
	if lost, err := c.Exchange(t.Context(), http.MethodPost, simtest.ESB("operate_proc_v2"), body, nil); err == nil {
		t.Errorf("the answer is there: %s", lost.Text)
	}
	c.Over(simtest.ByAgent, simulator.OpStart, simulator.CodeAlreadyRunning)
	tasks := c.Sim.Tasks()
	simtest.Want(t, "operations", c.Sim.Machine(simtest.ByAddress).Process("web", "nginx").Operations, []core.Reached{
		{Action: "start", Code: simulator.CodeOK, TaskID: tasks[0].ID, Times: 1},
		{Action: "start", Code: simulator.CodeAlreadyRunning, TaskID: tasks[1].ID, Times: 1},
	})
	if m := c.Sim.Machines(); len(m) != 1 || m[0].Host != simtest.ByAddress || m[0].AgentID != simtest.ByAgent {
		t.Errorf("%+v", m)
	}
	if p := c.Sim.Machine("0:10.0.0.2").Process("web", "nginx"); p.Registered() || p.Hosted || p.Running || p.PID != -1 {
		t.Errorf("%+v", p)
	}
}
