package simulator_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What reached an agent is counted by task, whatever was answered.
func TestMachines_countWhatReachedTheAgent(t *testing.T) {
	t.Parallel()
	c := twoNames(t, entryPerName)
	c.sim.Inject(simulator.Fault{API: "operate_proc_multi", Drop: "after", Times: 1})
	body := `{"proc_operate_req":[` + gatewayBody(simulator.OpStart, `{}`, agents(byAgent)) + `]}`
	lost, err := c.raw("operate_proc_multi", body)
	if err == nil {
		t.Errorf("the answer is there: %s", lost)
	}
	c.over(byAddress, simulator.OpStart, simulator.CodeAlreadyRunning)
	p := c.sim.Machine(byAddress).Process("web", "nginx")
	if len(p.Operations) != 2 || p.Operations[0].TaskID == p.Operations[1].TaskID {
		t.Fatalf("%+v", p.Operations)
	}
	for i, want := range []int{simulator.CodeOK, simulator.CodeAlreadyRunning} {
		if got := p.Operations[i]; got.Action != "start" || got.Code != want || got.Times != 1 || got.TaskID != c.sim.Tasks()[i].ID {
			t.Errorf("%+v, want %d", got, want)
		}
	}
	if m := c.sim.Machines(); len(m) != 1 || m[0].Host != byAddress || m[0].AgentID != byAgent {
		t.Errorf("%+v", m)
	}
	if p := c.sim.Machine("0:10.0.0.2").Process("web", "nginx"); p.Registered() || p.Hosted || p.Running || p.PID != -1 {
		t.Errorf("%+v", p)
	}
}

func TestMachines_overTheControlEndpoint(t *testing.T) {
	t.Parallel()
	c := twoNames(t, entryPerName)
	if _, got := c.switchOn("POST", "act", `{"action":"upgrade","host":"0:10.0.0.1","agent_id":"`+agentA+`"}`); strings.TrimSpace(got) != "{}" {
		t.Errorf("upgrade: %s", got)
	}
	c.switchOn("POST", "act", `{"action":"register","host":"`+agentA+`","namespace":"web","name":"nginx"}`)
	_, got := c.switchOn("GET", "machines", "")
	for _, want := range []string{`"host": "0:10.0.0.1"`, `"agent_id": "` + agentA + `"`, `"registered": true`, `"operations": []`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if status, _ := c.switchOn("POST", "act", `{"action":"upgrade","host":"0:10.0.0.2","agent_id":"`+agentA+`"}`); status != 400 {
		t.Errorf("upgrade to another's agent id: HTTP %d", status)
	}
}
