package core_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A machine is one cell, under any name, with its last operation and the result that the platform reported.
// An operation in progress is distinguished from a finished one.
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
	lost, err := c.Exchange(t.Context(), http.MethodPost, simtest.ESB("operate_proc_v2"), body, nil)
	simtest.Check(t, err != nil, "the answer is there: %s", lost.Text)
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
	// An operation that a fault prevents is not recorded. One whose result a fault hides is.
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

func TestStatus_rowsFollowTheProcess(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	row := func() string {
		r := c.Rows("10.0.0.1")["10.0.0.1"]
		if r == nil {
			return "none"
		}
		return fmt.Sprint(r["flag"], r["status"], r["isauto"])
	}
	simtest.Want(t, "nothing", row(), "none")
	c.Call("register_proc_info", "10.0.0.1")
	simtest.Want(t, "registered", row(), "2 2 false")
	for _, step := range []struct {
		what string
		op   int
		want string
	}{
		{"host", simulator.OpHost, "1 2 true"},
		{"start", simulator.OpStart, "1 1 true"},
		{"unhost", simulator.OpUnhost, "1 1 false"},
		{"stop", simulator.OpStop, "2 2 false"},
	} {
		c.Do(step.op, "10.0.0.1")
		simtest.Want(t, step.what, row(), step.want)
	}
	c.Call("unregister_proc_info", "10.0.0.1")
	simtest.Want(t, "unregistered", row(), "none")
	c.Do(simulator.OpStart, "10.0.0.1")
	simtest.Want(t, "started without a registration", row(), "1 1 true")
	c.Do(simulator.OpUnhost, "10.0.0.1")
	simtest.Want(t, "unhosted without a registration", row(), "none")
	c.Call("register_proc_info", "10.0.0.1")
	c.Sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{"0:10.0.0.1"}, Missing: 1, Times: 1})
	simtest.Want(t, "a row that is missing once", row(), "none")
	simtest.Want(t, "and then", row() != "none", true)
}

func TestStatus_lag(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t, &simulator.Server{LagCalls: 2})
	c.Call("register_proc_info", "10.0.0.1")
	for i, want := range []int{0, 0, 1, 1} {
		simtest.Want(t, fmt.Sprint("rows after registering, answer ", i+1), len(c.Rows("10.0.0.1")), want)
	}
	c.Call("unregister_proc_info", "10.0.0.1")
	for i, want := range []int{1, 1, 0} {
		simtest.Want(t, fmt.Sprint("rows after unregistering, answer ", i+1), len(c.Sync(0, 10)), want)
	}
}

// The status and an agent's file follow the clock, even without polls.
func TestStatus_inTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	c := simtest.NewVirtual(t, &simulator.Server{Lag: 10 * time.Second, Now: func() time.Time { return now }})
	c.Call("register_proc_info", "10.0.0.1")
	c.Sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Takes: 5 * time.Second})
	c.Operate(simulator.OpStart, "10.0.0.1")
	for after, want := range []string{"<nil> false", "2 true", "1 true"} { // each eleven seconds later
		hosted := strings.Contains(c.Sim.ProcFile(host), "web:nginx")
		simtest.Want(t, fmt.Sprint("after ", after), fmt.Sprint(c.Rows("10.0.0.1")["10.0.0.1"]["status"], " ", hosted), want)
		now = now.Add(11 * time.Second)
	}
	c.Sim.ClearFaults()
	c.Sim.Inject(simulator.Fault{Takes: 5 * time.Second})
	script := c.RunScript(shellScript, simulator.DefaultProcPath, host)
	now = now.Add(6 * time.Second)
	simtest.Want(t, "status of a script", c.Screens(script, 0, 0, host)[0]["status"], any(2.0))
}

func TestStatus_sync(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.Admit(netip.MustParsePrefix("10.1.0.0/24"))
	c := simtest.NewClient(t, sim)
	var ips []string
	for i := range 25 {
		ips = append(ips, fmt.Sprintf("10.1.0.%d", i))
	}
	c.Send("register_proc_info", simtest.FirstBody("register_proc_info", "{}", ips...))
	simtest.Must(t, sim.Register("0:10.1.0.1", "other", "x", nil, simtest.RegisterSpec))
	seen := make(map[string]bool)
	for start, want := range map[int]int{0: 10, 10: 10, 20: 5, 30: 0} {
		page := c.Sync(start, 10)
		simtest.Want(t, fmt.Sprint("rows of the page at ", start), len(page), want)
		for _, ip := range page {
			seen[ip] = true
		}
	}
	simtest.Want(t, "hosts on the pages", len(seen), len(ips))
	env := c.Send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`)
	simtest.Want(t, "count", env.Data["count"], any(25.0))
	// The host has the supplier of its registration.
	simtest.Want(t, "host", simtest.RowsOf(t, env)[0]["host"], any(map[string]any{"ip": "10.1.0.0", "bk_cloud_id": 0.0, "bk_supplier_id": 7.0}))
}

func TestState_survivesARestart(t *testing.T) {
	t.Parallel()
	fixed := time.Unix(1_700_000_000, 0)
	live := simtest.Lives(t, func(sim *simulator.Server) {
		sim.Now = func() time.Time { return fixed }
		sim.AddHost("0:10.0.0.1", "0:10.0.0.2")
	})
	first := live()
	file := first.Sim.StateFile
	first.Call("register_proc_info", "10.0.0.1")
	first.Do(simulator.OpStart, "10.0.0.1")
	first.JobDo(simulator.OpStart, "")
	first.Call("register_proc_info", "10.0.0.2")
	gone, _ := first.Sim.Process("0:10.0.0.2", "web", "nginx")
	first.Call("unregister_proc_info", "10.0.0.2")
	first.Sim.SetReachable("0:10.0.0.2", false)
	task := first.Operate(simulator.OpQuery, "10.0.0.1")
	want := first.Sim.Processes()
	first.Eventually("a save while it runs", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), `"unreachable":["0:10.0.0.2"]`)
	})
	second := live()
	simtest.Want(t, "processes", len(want), 2)
	simtest.Want(t, "processes", second.Sim.Processes(), want)
	rows := simtest.ByIP(simtest.RowsOf(t, second.Send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`)))
	host, _ := rows["10.0.0.1"]["host"].(map[string]any)
	simtest.Want(t, "supplier of a registration", host["bk_supplier_id"], any(7.0))
	simtest.WantCode(t, "the agent that was away", second.Call("register_proc_info", "10.0.0.2"), 117)
	simtest.Want(t, "a task of an earlier life", second.Poll(task).Code, simulator.CodeTaskQueued)
	second.Sim.SetReachable("0:10.0.0.2", true)
	second.Call("register_proc_info", "10.0.0.2")
	p, _ := second.Sim.Process("0:10.0.0.2", "web", "nginx")
	simtest.Check(t, p.RegisterTime > gone.RegisterTime, "register_time %d is not after %d", p.RegisterTime, gone.RegisterTime)
	second.Does(simulator.OpStart, 828, "RHr")
	simtest.Must(t, second.Sim.KillProcess("0:10.0.0.1", "job", "/opt/nginx/nginx"))
	second.Sim.Tick()
	simtest.Want(t, "a process of JOB that is revived", simtest.JobState(second.Sim), "true true")
	left, err := filepath.Glob(file + ".*")
	simtest.Must(t, err)
	simtest.Want(t, "left behind", len(left), 0)
}

func TestState_refusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"no-json": "{", "other-version": `{"version":99}`} {
		file := filepath.Join(t.TempDir(), name)
		simtest.Must(t, os.WriteFile(file, []byte(content), 0o600))
		simtest.WantError(t, (&simulator.Server{StateFile: file}).Start(), file)
	}
}

func TestState_withCMDB(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"b"}]}`, func(sim *simulator.Server) { sim.StateFile = file })
	simtest.Must(t, c.Sim.Start(), c.Sim.Close())
	simtest.WantIn(t, "state", simtest.ReadFile(t, file), `"cmdb"`)
}

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

// An agent id is opaque: it may contain any characters. If every agent id is admitted, addresses are not.
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
				simtest.Check(t, recover() != nil, "AddAgent(%q, %q) does not panic", test[0], test[1])
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

// If two entries turn out to belong to one machine, the later one stays. Its process runs if either did.
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
