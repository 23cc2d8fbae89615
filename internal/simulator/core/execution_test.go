package core_test

import (
	"reflect"
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
	code := simulator.CodeFailed
	start := simulator.OpStart
	c.Sim.Inject(simulator.Fault{Op: &start, Hosts: []string{"0:10.0.0.2"}, Code: &code, Times: 1})
	c.Do(simulator.OpStart, "10.0.0.2")
	c.Sim.Inject(simulator.Fault{Op: &start, Hosts: []string{"0:10.0.0.2"}, Code: &code, Apply: true, Times: 1})
	c.Do(simulator.OpStart, "10.0.0.2")
	want := []string{
		"0:10.0.0.1 web:nginx register 0", "0:10.0.0.1 web:nginx register 850",
		"0:10.0.0.1 web:nginx start 0", "0:10.0.0.1 web:nginx start 828",
		"0:10.0.0.1 web:nginx restart 0", "0:10.0.0.1 web:nginx stop 0",
		"0:10.0.0.2 web:nginx start 0",
	}
	if got := c.Executed(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.Sim.ResetCalls(); len(c.Executed()) != 0 {
		t.Error("ResetCalls leaves executions")
	}
}

func TestExecutions_bounded(t *testing.T) {
	t.Parallel()
	c := simtest.NewVirtual(t, &simulator.Server{MaxCalls: 2})
	for _, op := range []int{simulator.OpStart, simulator.OpRestart, simulator.OpStop} {
		c.Do(op, "10.0.0.1")
	}
	want := []string{"0:10.0.0.1 web:nginx restart 0", "0:10.0.0.1 web:nginx stop 0"}
	if got := c.Executed(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
