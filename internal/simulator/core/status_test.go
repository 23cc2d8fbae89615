package core_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

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
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"nothing", func() {}, "none"},
		{"register", func() { c.Call("register_proc_info", "10.0.0.1") }, "2 2 false"},
		{"host", func() { c.Do(simulator.OpHost, "10.0.0.1") }, "1 2 true"},
		{"start", func() { c.Do(simulator.OpStart, "10.0.0.1") }, "1 1 true"},
		{"unhost", func() { c.Do(simulator.OpUnhost, "10.0.0.1") }, "1 1 false"},
		{"stop", func() { c.Do(simulator.OpStop, "10.0.0.1") }, "2 2 false"},
		{"unregister", func() { c.Call("unregister_proc_info", "10.0.0.1") }, "none"},
		{"start what is not registered", func() { c.Do(simulator.OpStart, "10.0.0.1") }, "1 1 true"},
		{"unhost what is not registered", func() { c.Do(simulator.OpUnhost, "10.0.0.1") }, "none"},
	} {
		step.do()
		if got := row(); got != step.want {
			t.Errorf("after %s: row %s, want %s", step.what, got, step.want)
		}
	}
}

func TestStatus_freeze(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Call("register_proc_info", "10.0.0.1")
	c.Sim.FreezeStatus()
	c.Do(simulator.OpStart, "10.0.0.1")
	c.Call("register_proc_info", "10.0.0.2")
	if rows := c.Rows("10.0.0.1", "10.0.0.2"); len(rows) != 1 || rows["10.0.0.1"]["status"] != 2.0 {
		t.Errorf("frozen: %v", rows)
	}
	if live := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1")); live["pid"] == -1.0 {
		t.Errorf("a query is not live: %v", live)
	}
	c.Sim.ThawStatus()
	if rows := c.Rows("10.0.0.1", "10.0.0.2"); len(rows) != 2 || rows["10.0.0.1"]["status"] != 1.0 {
		t.Errorf("thawed: %v", rows)
	}
}

func TestStatus_lag(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t, &simulator.Server{LagCalls: 2})
	c.Call("register_proc_info", "10.0.0.1")
	for i, want := range []int{0, 0, 1, 1} {
		if got := len(c.Rows("10.0.0.1")); got != want {
			t.Errorf("answer %d after registering: %d rows, want %d", i+1, got, want)
		}
	}
	c.Call("unregister_proc_info", "10.0.0.1")
	for i, want := range []int{1, 1, 0} {
		if got := len(c.Sync(0, 10)); got != want {
			t.Errorf("answer %d after unregistering: %d rows, want %d", i+1, got, want)
		}
	}
}

func TestStatus_missingRow(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t)
	c.Call("register_proc_info", "10.0.0.1")
	c.Sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{"0:10.0.0.1"}, Missing: 1, Times: 1})
	if a, b := len(c.Rows("10.0.0.1")), len(c.Rows("10.0.0.1")); a != 0 || b != 1 {
		t.Errorf("%d rows, then %d", a, b)
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
	if err := sim.Register("0:10.1.0.1", "other", "x", nil, simtest.RegisterSpec); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for start, want := range map[int]int{0: 10, 10: 10, 20: 5, 30: 0} {
		page := c.Sync(start, 10)
		if len(page) != want {
			t.Errorf("page at %d has %d rows, want %d", start, len(page), want)
		}
		for _, ip := range page {
			seen[ip] = true
		}
	}
	if len(seen) != len(ips) {
		t.Errorf("the pages have %d hosts, want %d", len(seen), len(ips))
	}
	env := c.Send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`)
	if env.Data["count"] != 25.0 {
		t.Errorf("count: %v", env.Data["count"])
	}
	if host := simtest.RowsOf(t, env)["10.1.0.0"]["host"]; !reflect.DeepEqual(host, map[string]any{"ip": "10.1.0.0", "bk_cloud_id": 0.0, "bk_supplier_id": 7.0}) {
		t.Errorf("host: %v, want the supplier of its registration", host)
	}
}

func BenchmarkServer_thousandHosts(b *testing.B) {
	sim := &simulator.Server{MaxCalls: 10, MaxTasks: 10}
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	bench := simtest.NewBench(b, sim)
	var ips []string
	for i := range 1000 {
		ips = append(ips, fmt.Sprintf("10.1.%d.%d", i/250, i%250))
	}
	register := simtest.FirstBody("register_proc_info", "{}", ips...)
	query := fmt.Sprintf(`{%s,%s,"op_type":2,"spec":%s}`, simtest.Meta("{}"), simtest.CloudHosts(ips...), simtest.OperateSpec)
	status := `{"meta":{"namespace":"web","name":"nginx"},` + simtest.CloudHosts(ips...) + `}`
	for _, call := range [][2]string{
		{"register_proc_info", register}, {"operate_proc_v2", query}, {"get_proc_status_v2", status},
	} {
		b.Run(call[0], func(b *testing.B) {
			for b.Loop() {
				bench(call[0], call[1])
			}
		})
	}
}

// With a lag in time, the rows show the state before a change until that time has passed.
func TestStatus_lagsInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := simtest.NewVirtual(t, &simulator.Server{Lag: time.Minute, Now: func() time.Time { return now }})
	seen := func() string {
		rows := c.Rows("10.0.0.1")
		listed := rowsInNamespace(c)
		if (len(rows) == 0) != (listed == 0) {
			t.Errorf("%d rows, %d listed", len(rows), listed)
		}
		if row := rows["10.0.0.1"]; row != nil {
			return fmt.Sprint(row["status"])
		}
		return "none"
	}
	c.Call("register_proc_info", "10.0.0.1")
	for _, step := range []struct {
		after time.Duration
		do    func()
		want  string
	}{
		{59 * time.Second, func() {}, "none"},
		{time.Second, func() {}, "2"},
		{0, func() { c.Do(simulator.OpStart, "10.0.0.1") }, "2"},
		{time.Minute, func() {}, "1"},
		{0, func() { c.Call("unregister_proc_info", "10.0.0.1"); c.Do(simulator.OpStop, "10.0.0.1") }, "1"},
		{time.Minute, func() {}, "none"},
	} {
		step.do()
		now = now.Add(step.after)
		if got := seen(); got != step.want {
			t.Errorf("after %s: row %s, want %s", step.after, got, step.want)
		}
	}
}

// rowsInNamespace is how many rows a listing of the namespace counts.
func rowsInNamespace(c *simtest.Client) int {
	answer := c.Send("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1000}}`)
	rows, _ := answer.Data["proc_infos"].([]any)
	return len(rows)
}

// An agent without times reports none, whether the process runs or not.
func TestQuery_withoutTimes(t *testing.T) {
	t.Parallel()
	for without, want := range map[bool]bool{false: true, true: false} {
		c := simtest.NewVirtual(t, &simulator.Server{AgentsWithoutTimes: without})
		c.Call("register_proc_info", "10.0.0.1")
		c.Do(simulator.OpStart, "10.0.0.1")
		instance := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
		if has := instance["register_time"] != 0.0 && instance["last_start_time"] != 0.0; has != want {
			t.Errorf("without times %t: %v", without, instance)
		}
	}
}
