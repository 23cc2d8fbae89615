package simulator_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestNames_shareOneProcess(t *testing.T) {
	t.Parallel()
	both := "[" + byAgent + " " + byAddress + "]"
	for name, test := range map[string]struct {
		knobs                []func(*simulator.Server)
		first, second, third string
	}{
		"one-entry":      {nil, "[" + byAddress + "] true true", "[" + byAddress + "] true true", "[] false true"},
		"entry-per-name": {[]func(*simulator.Server){entryPerName}, "[" + byAddress + "] true true", both + " true true", "[" + byAgent + "] false true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := twoNames(t, test.knobs...)
			c.over(byAddress, simulator.OpHost, simulator.CodeOK)
			c.over(byAddress, simulator.OpStart, simulator.CodeOK)
			if got := c.entries(); got != test.first {
				t.Errorf("hosted by address: %s, want %s", got, test.first)
			}
			pid := c.sim.Machine(byAgent).Process("web", "nginx").PID
			c.over(byAgent, simulator.OpStart, simulator.CodeAlreadyRunning)
			c.over(byAgent, simulator.OpHost, simulator.CodeOK)
			if got := c.entries(); got != test.second {
				t.Errorf("hosted by agent id: %s, want %s", got, test.second)
			}
			c.over(byAddress, simulator.OpUnhost, simulator.CodeOK)
			if got := c.entries(); got != test.third {
				t.Errorf("let go by address: %s, want %s", got, test.third)
			}
			if now := c.sim.Machine(byAgent).Process("web", "nginx").PID; now != pid {
				t.Errorf("pid %d, was %d", now, pid)
			}
			c.over(byAgent, simulator.OpHost, simulator.CodeOK)
			c.over(byAddress, simulator.OpStop, simulator.CodeOK)
			c.over(byAgent, simulator.OpUnhost, simulator.CodeOK)
			if got := c.entries(); got != "[] false false" {
				t.Errorf("let go by both: %s", got)
			}
		})
	}
}

// Each name has its own row, spec and labels; whether the process runs and is hosted is
// the same in both.
func TestNames_eachHasARow(t *testing.T) {
	t.Parallel()
	c := twoNames(t, entryPerName)
	if err := c.sim.Register(byAddress, "web", "nginx", map[string]string{"by": "address"}, registerSpec); err != nil {
		t.Fatal(err)
	}
	if rows := c.gatewayRows(agents(byAgent)); len(rows) != 0 {
		t.Errorf("a row under a name that was never used: %v", rows)
	}
	c.over(byAgent, simulator.OpHost, simulator.CodeOK)
	c.over(byAgent, simulator.OpStart, simulator.CodeOK)
	for selector, want := range map[string]string{
		cloudHosts("10.0.0.1"): "map[by:address] true 1",
		agents(byAgent):        "map[from:gateway] true 1",
	} {
		rows := c.gatewayRows(selector)
		if len(rows) != 1 {
			t.Fatalf("%s: %v", selector, rows)
		}
		meta, _ := rows[0]["meta"].(map[string]any)
		if got := fmt.Sprint(meta["labels"], rows[0]["isauto"], rows[0]["status"]); got != want {
			t.Errorf("%s: %s, want %s", selector, got, want)
		}
	}
	if got := len(gatewayRowsOf(t, c.gateway("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`))); got != 2 {
		t.Errorf("%d rows in the list", got)
	}
}

func TestUpgradeToAgentID(t *testing.T) {
	t.Parallel()
	c := twoNames(t, entryPerName)
	c.over(byAddress, simulator.OpHost, simulator.CodeOK)
	c.over(byAddress, simulator.OpStart, simulator.CodeOK)
	pid := c.sim.Machine(byAddress).Process("web", "nginx").PID

	if got := c.upgrade("10.0.0.1", byAgent); got != "[0:10.0.0.1] []" {
		t.Errorf("upgrade: %s", got)
	}
	if rows := c.gatewayRows(agents(byAgent)); len(rows) != 1 || int(rows[0]["pid"].(float64)) != pid { //nolint:forcetypeassert // a test
		t.Errorf("rows by agent id: %v", rows)
	}
	c.over(byAgent, simulator.OpHost, simulator.CodeOK)
	if got := c.entries(); got != "["+byAddress+"] true true" {
		t.Errorf("after the upgrade: %s", got)
	}

	if got := c.upgrade("10.0.0.1", byAddress); got != "[0:10.0.0.1] []" {
		t.Errorf("rollback: %s", got)
	}
	if rows := c.gatewayRows(agents(byAgent)); len(rows) != 0 {
		t.Errorf("rows by agent id after the rollback: %v", rows)
	}
	if rows := c.gatewayRows(cloudHosts("10.0.0.1")); len(rows) != 1 {
		t.Errorf("rows by address after the rollback: %v", rows)
	}
}

// Of two entries that of the agent id stays.
func TestUpgradeToAgentID_mergesTwoEntries(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		knobs []func(*simulator.Server)
		link  func(*simulator.Server)
	}{
		"two-names": {[]func(*simulator.Server){entryPerName}, func(sim *simulator.Server) { sim.AddAgent(agentA, byAddress) }},
		// Nobody knew that the two are one machine.
		"two-hosts": {nil, func(sim *simulator.Server) { sim.AddHost(agentA, byAddress) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			for _, knob := range test.knobs {
				knob(sim)
			}
			test.link(sim)
			c := newClient(t, sim)
			for _, name := range []string{byAgent, byAddress} {
				if err := sim.Register(name, "web", "nginx", map[string]string{"by": name}, ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := sim.StartProcess(byAddress, "web", "nginx"); err != nil {
				t.Fatal(err)
			}
			c.upgrade("10.0.0.1", byAgent)
			p := sim.Machine(byAddress).Process("web", "nginx")
			if len(p.Entries) != 1 || p.Entries[0].Labels["by"] != byAgent || !p.Running {
				t.Errorf("%+v", p)
			}
			if all := sim.Processes(); len(all) != 1 {
				t.Errorf("%+v", all)
			}
		})
	}
}

func TestUpgradeToAgentID_fails(t *testing.T) {
	t.Parallel()
	c := twoNames(t, entryPerName)
	for name, test := range map[string][2]string{
		"unknown-host":      {"10.9.9.9", agentB},
		"another's-id":      {"10.0.0.2", byAgent},
		"no-id":             {"10.0.0.1", "x"},
		"another-address":   {"10.0.0.1", "0:10.0.0.2"},
		"no-address-at-all": {"10.0.0.1", "0:web"},
	} {
		if got := c.upgrade(test[0], test[1]); got != "[] [0:"+test[0]+"]" {
			t.Errorf("%s: %s", name, got)
		}
	}
	c.sim.Inject(simulator.Fault{API: "upgrade_to_agent_id", Hosts: []string{byAddress}, Code: new(simulator.CodeFailed), Times: 1})
	if got := c.upgrade("10.0.0.1", byAgent); got != "[] [0:10.0.0.1]" {
		t.Errorf("a fault: %s", got)
	}
	c.over(byAddress, simulator.OpHost, simulator.CodeOK)
	c.over(byAgent, simulator.OpHost, simulator.CodeOK)
	if got := c.entries(); got != "["+byAgent+" "+byAddress+"] true false" {
		t.Errorf("something was upgraded: %s", got)
	}
}

func TestNames_surviveARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	begin := func() *simulator.Server {
		sim := &simulator.Server{StateFile: file, EntryPerName: true}
		sim.AddAgent(agentA, byAddress)
		sim.AddHost("0:10.0.0.2", agentB)
		if err := sim.Start(); err != nil {
			t.Fatal(err)
		}
		return sim
	}
	sim := begin()
	if err := sim.UpgradeToAgentID(agentB, "0:10.0.0.2"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{byAddress, byAgent, agentB} {
		if err := sim.Register(name, "web", "nginx", nil, registerSpec); err != nil {
			t.Fatal(err)
		}
	}
	if err := sim.Close(); err != nil {
		t.Fatal(err)
	}
	sim = begin()
	defer sim.Close()
	if err := sim.StartProcess(byAgent, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	if p, _ := sim.Process(byAddress, "web", "nginx"); !p.Running {
		t.Errorf("two processes on one machine: %+v", sim.Processes())
	}
	if p, ok := sim.Process("0:10.0.0.2", "web", "nginx"); !ok || !p.Registered {
		t.Errorf("the upgrade is forgotten: %+v", sim.Processes())
	}
}

// A console may call a machine by either name, too, and a fault is the machine's.
func TestNames_ofAConsoleAndOfFaults(t *testing.T) {
	t.Parallel()
	c := twoNames(t, entryPerName)
	c.over(byAddress, simulator.OpHost, simulator.CodeOK)
	for _, act := range []func(addr, namespace, name string) error{c.sim.StartProcess, c.sim.KillProcess} {
		if err := act(byAgent, "web", "nginx"); err != nil {
			t.Error(err)
		}
	}
	c.sim.Tick()
	if got := c.entries(); got != "["+byAddress+"] true true" {
		t.Errorf("killed by agent id: %s", got)
	}
	if err := c.sim.Unhost(byAgent, "web", "nginx"); err != nil {
		t.Error(err)
	}
	if got := c.entries(); got != "["+byAddress+"] false true" {
		t.Errorf("unhosted by agent id: %s", got)
	}
	c.sim.SetReachable(byAddress, false)
	c.over(byAgent, simulator.OpHost, simulator.CodeAgentAbnormal)
	c.sim.SetReachable(byAgent, true)
	c.sim.Inject(simulator.Fault{Hosts: []string{byAddress}, Code: new(simulator.CodeCommandFailed)})
	c.over(byAgent, simulator.OpHost, simulator.CodeCommandFailed)
}
