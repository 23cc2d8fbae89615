package core_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

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
