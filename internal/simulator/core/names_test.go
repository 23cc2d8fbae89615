package core_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestUpgradeToAgentID(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.Over(simtest.ByAddress, simulator.OpStart, simulator.CodeOK)
	pids := func(selector string) (out []any) {
		for _, row := range c.GatewayRows(selector) {
			out = append(out, row["pid"])
		}
		return out
	}
	pid := float64(c.Sim.Machine(simtest.ByAddress).Process("web", "nginx").PID)
	simtest.Want(t, "upgrade", c.Upgrade("10.0.0.1", simtest.ByAgent), "[0:10.0.0.1] []")
	simtest.Want(t, "rows by agent id", pids(simtest.Agents(simtest.ByAgent)), []any{pid})
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
	simtest.Want(t, "after the upgrade", c.Entries(), "["+simtest.ByAddress+"] true true")
	simtest.Want(t, "rollback", c.Upgrade("10.0.0.1", simtest.ByAddress), "[0:10.0.0.1] []")
	simtest.Want(t, "rows by agent id after the rollback", pids(simtest.Agents(simtest.ByAgent)), nil)
	simtest.Want(t, "rows by address after the rollback", pids(simtest.CloudHosts("10.0.0.1")), []any{pid})
}

// Of two entries that turn out to be of one machine the later one stays; it runs where either did.
func TestUpgradeToAgentID_merges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		perName bool
		order   []string
	}{
		"the-address-first":  {true, []string{simtest.ByAddress, simtest.ByAgent}},
		"the-agent-id-first": {true, []string{simtest.ByAgent, simtest.ByAddress}},
		"two-hosts":          {false, []string{simtest.ByAgent, simtest.ByAddress}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{EntryPerName: test.perName}
			if test.perName {
				sim.AddAgent(simtest.AgentA, simtest.ByAddress)
			} else {
				sim.AddHost(simtest.AgentA, simtest.ByAddress)
			}
			c := simtest.NewClient(t, sim)
			for _, name := range test.order {
				simtest.Must(t, sim.Register(name, "web", "nginx", map[string]string{"by": name}, ""))
			}
			simtest.Must(t, sim.StartProcess(simtest.ByAddress, "web", "nginx"))
			c.Upgrade("10.0.0.1", simtest.ByAgent)
			p := sim.Machine(simtest.ByAddress).Process("web", "nginx")
			if len(p.Entries) != 1 || !p.Running || test.perName && p.Entries[0].Labels["by"] != test.order[1] {
				t.Errorf("%+v", p)
			}
			simtest.Want(t, "processes", len(sim.Processes()), 1)
		})
	}
}

func TestUpgradeToAgentID_fails(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	for name, test := range map[string][2]string{
		"unknown-host":      {"10.9.9.9", simtest.AgentB},
		"another's-id":      {"10.0.0.2", simtest.ByAgent},
		"no-id":             {"10.0.0.1", "x"},
		"another-address":   {"10.0.0.1", "0:10.0.0.2"},
		"no-address-at-all": {"10.0.0.1", "0:web"},
	} {
		simtest.Want(t, name, c.Upgrade(test[0], test[1]), "[] [0:"+test[0]+"]")
	}
	c.Sim.Inject(simulator.Fault{API: "upgrade_to_agent_id", Hosts: []string{simtest.ByAddress}, Code: new(simulator.CodeFailed), Times: 1})
	simtest.Want(t, "a fault", c.Upgrade("10.0.0.1", simtest.ByAgent), "[] [0:10.0.0.1]")
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
	simtest.Want(t, "nothing was upgraded", c.Entries(), "["+simtest.ByAgent+" "+simtest.ByAddress+"] true false")
}

// Both names, an upgrade and what is hosted by agent id survive a restart.
func TestNames_surviveARestart(t *testing.T) {
	t.Parallel()
	live := simtest.Lives(t, func(sim *simulator.Server) {
		sim.EntryPerName = true
		sim.AddAgent(simtest.AgentA, simtest.ByAddress)
		sim.AddHost("0:10.0.0.2", simtest.AgentB)
	})
	sim := live().Sim
	simtest.Must(t, sim.UpgradeToAgentID(simtest.AgentB, "0:10.0.0.2"))
	for _, name := range []string{simtest.ByAddress, simtest.ByAgent, simtest.AgentB} {
		simtest.Must(t, sim.Register(name, "web", "nginx", nil, simtest.RegisterSpec), sim.Host(name, "web", "nginx"))
	}
	want := sim.Processes()
	c := live()
	sim = c.Sim
	simtest.Want(t, "processes", sim.Processes(), want)
	simtest.Want(t, "rows", len(c.GatewayRows(simtest.Agents(simtest.AgentA, simtest.AgentB))), 2)
	simtest.Must(t, sim.StartProcess(simtest.ByAgent, "web", "nginx"))
	p, _ := sim.Process(simtest.ByAddress, "web", "nginx")
	simtest.Want(t, "one process on the machine", p.Running, true)
	for _, name := range []string{"0:10.0.0.2", simtest.AgentB} {
		p, _ := sim.Process(name, "web", "nginx")
		simtest.Want(t, name+" is registered", p.Registered, true)
	}
}
