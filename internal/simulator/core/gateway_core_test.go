package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestGateway_hostingIsRegistering(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	row := func() string {
		rows := c.GatewayRows(simtest.Agents(simtest.AgentA))
		if len(rows) == 0 {
			return "none"
		}
		return fmt.Sprint(rows[0]["flag"], rows[0]["status"], rows[0]["isauto"])
	}
	held := func() string {
		p, ok := c.Sim.Process(simtest.AgentA, "web", "nginx")
		return fmt.Sprint(ok, p.Registered, p.Hosted, p.Running)
	}
	for _, step := range []struct {
		what      string
		op, code  int
		row, held string
	}{
		{"unhost what is not there", simulator.OpUnhost, 829, "none", "false false false false"},
		{"host", simulator.OpHost, 0, "1 2 true", "true true true false"},
		{"host again", simulator.OpHost, 0, "1 2 true", "true true true false"},
		{"start", simulator.OpStart, 0, "1 1 true", "true true true true"},
		{"stop", simulator.OpStop, 0, "2 2 false", "true true false false"},
		{"unhost", simulator.OpUnhost, 0, "none", "false false false false"},
		{"start what is not hosted", simulator.OpStart, 0, "1 1 true", "true false true true"},
		{"unhost what goes on running", simulator.OpUnhost, 0, "none", "true false false true"},
		{"unhost what runs alone", simulator.OpUnhost, 829, "none", "true false false true"},
		{"host what runs", simulator.OpHost, 0, "1 1 true", "true true true true"},
		{"kill", simulator.OpKill, 0, "2 2 false", "true true false false"},
	} {
		simtest.WantCode(t, step.what, c.ByAgent(step.op), step.code)
		simtest.Want(t, step.what, row()+", "+held(), step.row+", "+step.held)
	}
}

func TestGateway_update(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.UpdateRefuses = true })
	update := func() simtest.Verdict {
		body := `{` + simtest.Meta(`{"v":"2"}`) + `,` + simtest.Agents(simtest.AgentA) + `,"spec":` + simtest.RegisterSpec + `}`
		return simtest.VerdictOf(t, c.Gateway("update_proc_info", body).Data, simtest.AgentA+":web:nginx")
	}
	simtest.WantCode(t, "before", update(), simulator.CodeNotRegistered)
	c.ByAgent(simulator.OpStart)
	simtest.WantCode(t, "after a start", update(), 0)
	p, _ := c.Sim.Process(simtest.AgentA, "web", "nginx")
	simtest.Want(t, "label", p.Labels["v"], "2")
}

func TestAgentID_keys(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	c.Sim.AddAgent(simtest.AgentB, "0:10.0.0.2")
	for _, test := range []struct{ fault, selector, key string }{
		{"", simtest.Agents(simtest.AgentA), simtest.AgentA},
		{"", simtest.Agents(simtest.AgentB), simtest.AgentB},
		{"", simtest.CloudHosts("10.0.0.2"), "0:10.0.0.2"},
		{"address", simtest.Agents(simtest.AgentB), "0:10.0.0.2"},
		{"address", simtest.Agents(simtest.AgentA), simtest.AgentA}, // it has no address
		{"agent", simtest.CloudHosts("10.0.0.2"), simtest.AgentB},
		{"agent", simtest.CloudHosts("10.0.0.1"), "0:10.0.0.1"}, // it has no agent id
		{"agent", simtest.Agents(simtest.AgentB), simtest.AgentB},
		{"", simtest.Agents(simtest.AgentA, simtest.AgentA), simtest.AgentA}, // given twice
	} {
		c.Sim.ClearFaults()
		c.Sim.Inject(simulator.Fault{Keys: test.fault})
		started := c.Gateway("operate_proc_v2", simtest.GatewayBody(simulator.OpQuery, "{}", test.selector))
		id, _ := started.Data["task_id"].(string)
		results := c.GatewayPoll(id).Data
		simtest.WantCode(t, test.selector, simtest.VerdictOf(t, results, test.key+":web:nginx"), 0)
		simtest.Want(t, test.selector, len(results), 1)
	}
}

// An agent id is opaque: hosts are declared and found with any characters in it. Where any is admitted, no address is.
func TestAgentID_opaque(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{
		"shortest": strings.Repeat("z", 16), "longest": strings.Repeat("Z", 64), "real": "02000000005254008d6e1691487566400_v2", "signs": "agent/of-host.nr=1~",
		"admitted": "any-id",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewGateway(t, func(sim *simulator.Server) {
				if sim.AdmitAgents = name == "admitted"; !sim.AdmitAgents {
					sim.AddAgent(id, "0:10.0.0.2")
				}
			})
			simtest.WantCode(t, "by id", c.GatewayOperate(simulator.OpHost, simtest.Agents(id), id), 0)
			p, _ := c.Sim.Process(id, "web", "nginx")
			simtest.Want(t, "hosted", p.Hosted, !c.Sim.AdmitAgents) // any-id is no name of a host
			rows := c.GatewayRows(simtest.Agents(id))
			simtest.Check(t, len(rows) == 1 && rows[0]["bk_agent_id"] == id, "rows %v", rows)
			simtest.WantCode(t, "by address", c.GatewayOperate(simulator.OpHost, simtest.CloudHosts("10.9.9.9"), "0:10.9.9.9"), simulator.CodeAgentAbnormal)
		})
	}
}

func TestAgentID_bad(t *testing.T) {
	t.Parallel()
	for _, test := range [][2]string{
		{"short", "0:10.0.0.1"}, {strings.Repeat("z", 15), "0:10.0.0.1"}, {strings.Repeat("z", 65), "0:10.0.0.1"},
		{"agent-of-a-host:1", "0:10.0.0.1"}, {"agent of a host 1", "0:10.0.0.1"}, {simtest.AgentA, "web-1"}, {simtest.AgentA, simtest.AgentB},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("AddAgent(%q, %q) does not panic", test[0], test[1])
				}
			}()
			(&simulator.Server{}).AddAgent(test[0], test[1])
		}()
	}
}

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
