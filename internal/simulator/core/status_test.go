package core_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Rows follow the process, and a query is always live.
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

// The status and an agent's file follow the clock, whether anybody polls or not.
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
	if p, _ := second.Sim.Process("0:10.0.0.2", "web", "nginx"); p.RegisterTime <= gone.RegisterTime {
		t.Errorf("register_time %d is not after %d", p.RegisterTime, gone.RegisterTime)
	}
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
