package core_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestFleet_ordersHostsAsPeopleDo(t *testing.T) {
	t.Parallel()
	want := []string{"0:9.0.0.1", "0:10.0.0.9", "0:10.0.0.10", "0:2001:db8::1", "2:10.0.0.1", "10:10.0.0.1", simtest.AgentA}
	got := slices.Clone(want)
	slices.Reverse(got)
	if slices.SortFunc(got, core.CompareHosts); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// A machine is one cell, under any name, with its last operation and the platform's result. An operation
// in progress is distinguished from a finished one.
func TestFleet(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	g := core.New()
	g.Configure(core.Settings{EntryPerName: true, Now: func() time.Time { return now }, Faults: slow{}})
	for _, err := range []error{g.AddAgent(simtest.AgentA, "0:10.0.0.1"), g.AddHost("0:10.0.0.2"), g.SetReachable("0:10.0.0.2", false)} {
		simtest.Must(t, err)
	}
	for _, name := range []string{"0:10.0.0.1", simtest.AgentA} {
		simtest.Must(t, g.Register(name, "web", "nginx", nil, simtest.RegisterSpec))
	}
	target, err := core.ParseTarget("0:10.0.0.1")
	simtest.Must(t, err)
	spec := &core.Spec{}
	g.Operate("operate_proc_v2", []*core.Item{{Op: simulator.OpStop, Namespace: "web", Name: "nginx", Spec: spec, Targets: []core.Target{target}}})
	want := []core.Cell{
		{Host: "0:10.0.0.2", Away: true},
		{Host: "0:10.0.0.1", AgentID: simtest.AgentA, Namespace: "web", Name: "nginx", Registered: true, Busy: true},
	}
	simtest.Want(t, "under way", g.Fleet(), want)
	now = now.Add(time.Minute)
	want[1].Busy, want[1].Last = false, core.Last{Action: "stop", Code: core.CodeNotRunning, Message: core.CodeMessage(core.CodeNotRunning), At: time.Unix(1_700_000_005, 0)}
	simtest.Want(t, "ended", g.Fleet(), want)
	g.Operate("operate_proc_v2", []*core.Item{{Op: simulator.OpStart, Namespace: "web", Name: "apache", Spec: spec, Targets: []core.Target{target}}})
	now = now.Add(time.Minute)
	failed := core.Last{Action: "start", Code: core.CodeCommandFailed, Message: "start_cmd is not given", At: time.Unix(1_700_000_065, 0)}
	missed := core.Cell{Host: "0:10.0.0.1", AgentID: simtest.AgentA, Namespace: "web", Name: "apache", Last: failed}
	simtest.Want(t, "of no process", g.Fleet(), []core.Cell{want[0], missed, want[1]})
	g.ResetExecutions()
	simtest.Want(t, "forgotten", g.Fleet(), want)
}

// slow makes every operation take five seconds.
type slow struct{}

func (slow) OnHost(met *core.Met, _ string, _ core.Affected) []core.Trouble {
	if len(*met) > 0 {
		return nil
	}
	*met = append(*met, 1)
	return []core.Trouble{{Takes: 5 * time.Second}}
}

func (slow) OnTask(*core.Met, string, []*core.Item) []core.Queue { return nil }
func (slow) HidesRow(string, core.ProcKey) bool                  { return false }

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
	m := c.Sim.Machines()
	simtest.Check(t, len(m) == 1 && m[0].Host == simtest.ByAddress && m[0].AgentID == simtest.ByAgent, "%+v", m)
	p := c.Sim.Machine("0:10.0.0.2").Process("web", "nginx")
	simtest.Check(t, !p.Registered() && !p.Hosted && !p.Running && p.PID == -1, "%+v", p)
}

func TestExecutions(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Call("register_proc_info", "10.0.0.1")
	c.Call("register_proc_info", "10.0.0.1")
	for _, op := range []int{simulator.OpStart, simulator.OpStart, simulator.OpQuery, simulator.OpRestart, simulator.OpStop} {
		c.Do(op, "10.0.0.1")
	}
	// If a fault keeps an operation from a host, it is not recorded there; if a fault hides it, it is.
	for _, applied := range []bool{false, true} {
		c.Sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Hosts: []string{"0:10.0.0.2"}, Code: new(simulator.CodeFailed), Apply: applied, Times: 1})
		c.Do(simulator.OpStart, "10.0.0.2")
	}
	simtest.Want(t, "executions", c.Executed(), []string{
		"0:10.0.0.1 web:nginx register 0", "0:10.0.0.1 web:nginx register 850",
		"0:10.0.0.1 web:nginx start 0", "0:10.0.0.1 web:nginx start 828",
		"0:10.0.0.1 web:nginx restart 0", "0:10.0.0.1 web:nginx stop 0",
		"0:10.0.0.2 web:nginx start 0",
	})
	c.Sim.ResetCalls()
	simtest.Want(t, "after ResetCalls", c.Executed(), []string{})
	few := simtest.NewVirtual(t, &simulator.Server{MaxCalls: 2})
	for _, op := range []int{simulator.OpStart, simulator.OpRestart, simulator.OpStop} {
		few.Do(op, "10.0.0.1")
	}
	simtest.Want(t, "bounded", few.Executed(), []string{"0:10.0.0.1 web:nginx restart 0", "0:10.0.0.1 web:nginx stop 0"})
}
