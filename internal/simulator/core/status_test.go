package core_test

import (
	"fmt"
	"net/netip"
	"testing"

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
