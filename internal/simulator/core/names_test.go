package core_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestNames_shareOneProcess(t *testing.T) {
	t.Parallel()
	both := "[" + simtest.ByAgent + " " + simtest.ByAddress + "]"
	for name, test := range map[string]struct {
		knobs                []func(*simulator.Server)
		first, second, third string
	}{
		"one-entry":      {nil, "[" + simtest.ByAddress + "] true true", "[" + simtest.ByAddress + "] true true", "[] false true"},
		"entry-per-name": {[]func(*simulator.Server){simtest.EntryPerName}, "[" + simtest.ByAddress + "] true true", both + " true true", "[" + simtest.ByAgent + "] false true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.TwoNames(t, test.knobs...)
			c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
			c.Over(simtest.ByAddress, simulator.OpStart, simulator.CodeOK)
			if got := c.Entries(); got != test.first {
				t.Errorf("hosted by address: %s, want %s", got, test.first)
			}
			pid := c.Sim.Machine(simtest.ByAgent).Process("web", "nginx").PID
			c.Over(simtest.ByAgent, simulator.OpStart, simulator.CodeAlreadyRunning)
			c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
			if got := c.Entries(); got != test.second {
				t.Errorf("hosted by agent id: %s, want %s", got, test.second)
			}
			c.Over(simtest.ByAddress, simulator.OpUnhost, simulator.CodeOK)
			if got := c.Entries(); got != test.third {
				t.Errorf("unhosted by address: %s, want %s", got, test.third)
			}
			if now := c.Sim.Machine(simtest.ByAgent).Process("web", "nginx").PID; now != pid {
				t.Errorf("pid %d, was %d", now, pid)
			}
			c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
			c.Over(simtest.ByAddress, simulator.OpStop, simulator.CodeOK)
			c.Over(simtest.ByAgent, simulator.OpUnhost, simulator.CodeOK)
			if got := c.Entries(); got != "[] false false" {
				t.Errorf("unhosted by both: %s", got)
			}
		})
	}
}

// Each name has its own row, spec and labels; both rows show the same running and hosted state.
func TestNames_eachHasARow(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	if err := c.Sim.Register(simtest.ByAddress, "web", "nginx", map[string]string{"by": "address"}, simtest.RegisterSpec); err != nil {
		t.Fatal(err)
	}
	if rows := c.GatewayRows(simtest.Agents(simtest.ByAgent)); len(rows) != 0 {
		t.Errorf("a row under a name that was never used: %v", rows)
	}
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
	c.Over(simtest.ByAgent, simulator.OpStart, simulator.CodeOK)
	for selector, want := range map[string]string{
		simtest.CloudHosts("10.0.0.1"):  "map[by:address] true 1",
		simtest.Agents(simtest.ByAgent): "map[from:gateway] true 1",
	} {
		rows := c.GatewayRows(selector)
		if len(rows) != 1 {
			t.Fatalf("%s: %v", selector, rows)
		}
		meta, _ := rows[0]["meta"].(map[string]any)
		if got := fmt.Sprint(meta["labels"], rows[0]["isauto"], rows[0]["status"]); got != want {
			t.Errorf("%s: %s, want %s", selector, got, want)
		}
	}
	if got := len(simtest.GatewayRowsOf(t, c.Gateway("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`))); got != 2 {
		t.Errorf("%d rows in the list", got)
	}
}

func TestUpgradeToAgentID(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.Over(simtest.ByAddress, simulator.OpStart, simulator.CodeOK)
	pid := c.Sim.Machine(simtest.ByAddress).Process("web", "nginx").PID

	if got := c.Upgrade("10.0.0.1", simtest.ByAgent); got != "[0:10.0.0.1] []" {
		t.Errorf("upgrade: %s", got)
	}
	if rows := c.GatewayRows(simtest.Agents(simtest.ByAgent)); len(rows) != 1 || int(rows[0]["pid"].(float64)) != pid { //nolint:forcetypeassert // a test
		t.Errorf("rows by agent id: %v", rows)
	}
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
	if got := c.Entries(); got != "["+simtest.ByAddress+"] true true" {
		t.Errorf("after the upgrade: %s", got)
	}

	if got := c.Upgrade("10.0.0.1", simtest.ByAddress); got != "[0:10.0.0.1] []" {
		t.Errorf("rollback: %s", got)
	}
	if rows := c.GatewayRows(simtest.Agents(simtest.ByAgent)); len(rows) != 0 {
		t.Errorf("rows by agent id after the rollback: %v", rows)
	}
	if rows := c.GatewayRows(simtest.CloudHosts("10.0.0.1")); len(rows) != 1 {
		t.Errorf("rows by address after the rollback: %v", rows)
	}
}

// Of two entries the later one stays; it runs where either did.
func TestUpgradeToAgentID_mergesTwoEntries(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]string{
		"the-address-first":  {simtest.ByAddress, simtest.ByAgent},
		"the-agent-id-first": {simtest.ByAgent, simtest.ByAddress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{EntryPerName: true}
			sim.AddAgent(simtest.AgentA, simtest.ByAddress)
			mergeEntries(t, sim, order)
			if p := sim.Machine(simtest.ByAddress).Process("web", "nginx"); p.Entries[0].Labels["by"] != order[1] {
				t.Errorf("%+v", p)
			}
		})
	}
}

// Of two entries that turn out to be of one machine, one stays.
func TestUpgradeToAgentID_mergesTwoHosts(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddHost(simtest.AgentA, simtest.ByAddress)
	mergeEntries(t, sim, []string{simtest.ByAgent, simtest.ByAddress})
}

// mergeEntries registers a process by two names of a machine and upgrades it.
func mergeEntries(t *testing.T, sim *simulator.Server, names []string) {
	t.Helper()
	c := simtest.NewClient(t, sim)
	for _, name := range names {
		if err := sim.Register(name, "web", "nginx", map[string]string{"by": name}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := sim.StartProcess(simtest.ByAddress, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	c.Upgrade("10.0.0.1", simtest.ByAgent)
	if p := sim.Machine(simtest.ByAddress).Process("web", "nginx"); len(p.Entries) != 1 || !p.Running {
		t.Errorf("%+v", p)
	}
	if all := sim.Processes(); len(all) != 1 {
		t.Errorf("%+v", all)
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
		if got := c.Upgrade(test[0], test[1]); got != "[] [0:"+test[0]+"]" {
			t.Errorf("%s: %s", name, got)
		}
	}
	c.Sim.Inject(simulator.Fault{API: "upgrade_to_agent_id", Hosts: []string{simtest.ByAddress}, Code: new(simulator.CodeFailed), Times: 1})
	if got := c.Upgrade("10.0.0.1", simtest.ByAgent); got != "[] [0:10.0.0.1]" {
		t.Errorf("a fault: %s", got)
	}
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
	if got := c.Entries(); got != "["+simtest.ByAgent+" "+simtest.ByAddress+"] true false" {
		t.Errorf("something was upgraded: %s", got)
	}
}

func TestNames_surviveARestart(t *testing.T) {
	t.Parallel()
	live := simtest.Lives(t, func(sim *simulator.Server) {
		sim.EntryPerName = true
		sim.AddAgent(simtest.AgentA, simtest.ByAddress)
		sim.AddHost("0:10.0.0.2", simtest.AgentB)
	})
	sim := live().Sim
	if err := sim.UpgradeToAgentID(simtest.AgentB, "0:10.0.0.2"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{simtest.ByAddress, simtest.ByAgent, simtest.AgentB} {
		if err := sim.Register(name, "web", "nginx", nil, simtest.RegisterSpec); err != nil {
			t.Fatal(err)
		}
	}
	sim = live().Sim
	if err := sim.StartProcess(simtest.ByAgent, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if p, _ := sim.Process(simtest.ByAddress, "web", "nginx"); !p.Running {
		t.Errorf("two processes on one machine: %+v", sim.Processes())
	}
	for _, name := range []string{"0:10.0.0.2", simtest.AgentB} {
		if p, ok := sim.Process(name, "web", "nginx"); !ok || !p.Registered {
			t.Errorf("the upgrade is forgotten: no %s in %+v", name, sim.Processes())
		}
	}
}

// A console may also use either name of a machine, and a fault applies to the machine.
func TestNames_ofAConsoleAndOfFaults(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	for _, act := range []func(addr, namespace, name string) error{c.Sim.StartProcess, c.Sim.KillProcess} {
		if err := act(simtest.ByAgent, "web", "nginx"); err != nil {
			t.Error(err)
		}
	}
	c.Sim.Tick()
	if got := c.Entries(); got != "["+simtest.ByAddress+"] true true" {
		t.Errorf("killed by agent id: %s", got)
	}
	if err := c.Sim.Unhost(simtest.ByAgent, "web", "nginx"); err != nil {
		t.Error(err)
	}
	if got := c.Entries(); got != "["+simtest.ByAddress+"] false true" {
		t.Errorf("unhosted by agent id: %s", got)
	}
	c.Sim.SetReachable(simtest.ByAddress, false)
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeAgentAbnormal)
	c.Sim.SetReachable(simtest.ByAgent, true)
	c.Sim.Inject(simulator.Fault{Hosts: []string{simtest.ByAddress}, Code: new(simulator.CodeCommandFailed)})
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeCommandFailed)
}

// A process that only runs has one entry, and an earlier hosting leaves none.
func TestNames_leaveNothingBehind(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	host := func(name string) {
		t.Helper()
		if err := c.Sim.Host(name, "web", "nginx"); err != nil {
			t.Fatal(err)
		}
	}
	host(simtest.ByAddress)
	host(simtest.ByAgent)
	if err := c.Sim.StartProcess(simtest.ByAddress, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if err := c.Sim.Unhost(simtest.ByAddress, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if got := c.Sim.Processes(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	host(simtest.ByAgent)
	if got := c.Entries(); got != "["+simtest.ByAgent+"] true true" {
		t.Errorf("hosted once more: %s", got)
	}
}

// A change under one name changes both rows, so both lag.
func TestNames_lagTogether(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, simtest.EntryPerName)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
	c.Sim.SetLag(1)
	c.Over(simtest.ByAddress, simulator.OpStart, simulator.CodeOK)
	for i, want := range []float64{2, 1} {
		for _, selector := range []string{simtest.Agents(simtest.ByAgent), simtest.CloudHosts("10.0.0.1")} {
			if rows := c.GatewayRows(selector); len(rows) != 1 || rows[0]["status"] != want {
				t.Errorf("answer %d for %s: %v, want status %v", i+1, selector, rows, want)
			}
		}
	}
}
