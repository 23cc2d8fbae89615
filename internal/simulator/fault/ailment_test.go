package fault_test

import (
	"cmp"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// A process of a bad release dies after a number of queries, is restarted if it is hosted, and prints the
// given output. Started again with a good release, it is healthy.
func TestFault_ailing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  simulator.Fault
		op     int
		unhost bool
		pids   []int // since the operation, the first that was seen is 1; -1 for none
		health string
	}{
		"dies":          {simulator.Fault{Command: "start.sh", Dies: 2}, simulator.OpStart, false, []int{1, -1, -1}, ""},
		"dies-at-once":  {simulator.Fault{Dies: 1}, simulator.OpStart, false, []int{-1, -1}, ""},
		"flaps":         {simulator.Fault{Dies: 2, Revived: true}, simulator.OpRestart, false, []int{1, 2, 2, 3, 3, 4}, ""},
		"not-hosted":    {simulator.Fault{Dies: 2, Revived: true}, simulator.OpStart, true, []int{1, -1, -1}, ""},
		"prints":        {simulator.Fault{Health: "disk full"}, simulator.OpStart, false, []int{1, 1}, "disk full"},
		"other-command": {simulator.Fault{Command: "v2", Dies: 1, Health: "disk full"}, simulator.OpStart, false, []int{1, 1}, ""},
		"other-op":      {simulator.Fault{Op: new(simulator.OpReload), Dies: 1}, simulator.OpStart, false, []int{1, 1}, ""},
		"of-no-start":   {simulator.Fault{Op: new(simulator.OpStop), Dies: 1}, simulator.OpStart, false, []int{1, 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewVirtual(t)
			query := func() (pid int, health any) {
				instance := simtest.Instance(t, c.Do(simulator.OpQuery, "10.0.0.1"))
				number, _ := instance["pid"].(float64)
				return int(number), instance["health"]
			}
			c.Sim.Inject(test.fault)
			c.Do(test.op, "10.0.0.1")
			if test.unhost {
				c.Do(simulator.OpUnhost, "10.0.0.1")
			}
			var got []int
			first := 0
			for range test.pids {
				pid, health := query()
				if pid > 0 {
					first = cmp.Or(first, pid)
					pid += 1 - first
				}
				got = append(got, pid)
				simtest.Want(t, "health", health, any(test.health))
			}
			simtest.Want(t, "pids", got, test.pids)

			c.Sim.ClearFaults()
			c.Does(simulator.OpRestart, 0, "-Hr")
			for range 3 {
				if pid, health := query(); pid <= 0 || health != "" {
					t.Errorf("after a good release: pid %d, %v", pid, health)
				}
			}
			c.WantState("then", "-Hr")
		})
	}
}
