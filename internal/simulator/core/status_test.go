package core_test

import (
	"fmt"
	"net/netip"
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

func TestStatus_freeze(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	shown := func() string {
		rows := c.Rows("10.0.0.1", "10.0.0.2")
		return fmt.Sprint(len(rows), " ", rows["10.0.0.1"]["status"])
	}
	c.Call("register_proc_info", "10.0.0.1")
	c.Sim.FreezeStatus()
	c.Do(simulator.OpStart, "10.0.0.1")
	c.Call("register_proc_info", "10.0.0.2")
	simtest.Want(t, "frozen", shown(), "1 2")
	if live := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1")); live["pid"] == -1.0 {
		t.Errorf("a query is not live: %v", live)
	}
	c.Sim.ThawStatus()
	simtest.Want(t, "thawed", shown(), "2 1")
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

// With a lag in time, the rows show the state before a change until that time has passed.
func TestStatus_lagsInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := simtest.NewVirtual(t, &simulator.Server{Lag: time.Minute, Now: func() time.Time { return now }})
	after := func(d time.Duration, want string) {
		t.Helper()
		now = now.Add(d)
		rows := c.Rows("10.0.0.1")
		got := "none"
		if row := rows["10.0.0.1"]; row != nil {
			got = fmt.Sprint(row["status"])
		}
		simtest.Want(t, fmt.Sprint("status at ", now), got, want)
		simtest.Want(t, fmt.Sprint("rows in the list at ", now), len(c.Sync(0, 10)), len(rows))
	}
	c.Call("register_proc_info", "10.0.0.1")
	after(59*time.Second, "none")
	after(time.Second, "2")
	c.Do(simulator.OpStart, "10.0.0.1")
	after(0, "2")
	after(time.Minute, "1")
	c.Call("unregister_proc_info", "10.0.0.1")
	c.Do(simulator.OpStop, "10.0.0.1")
	after(0, "1")
	after(time.Minute, "none")
}

// An agent without times reports none, whether the process runs or not.
func TestStatus_withoutTimes(t *testing.T) {
	t.Parallel()
	for without, want := range map[bool]bool{false: true, true: false} {
		c := simtest.NewVirtual(t, &simulator.Server{AgentsWithoutTimes: without})
		c.Call("register_proc_info", "10.0.0.1")
		c.Do(simulator.OpStart, "10.0.0.1")
		live := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
		simtest.Want(t, "register_time", live["register_time"] != 0.0, want)
		simtest.Want(t, "last_start_time", live["last_start_time"] != 0.0, want)
	}
}
