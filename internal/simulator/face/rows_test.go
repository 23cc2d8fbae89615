package face_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// Rows of the gateway name their host by either name, by both or by none.
func TestRows_names(t *testing.T) {
	t.Parallel()
	knob := func(host, agent bool) func(*simulator.Server) {
		return func(sim *simulator.Server) { sim.RowsWithoutHost, sim.RowsWithoutAgentID = !host, !agent }
	}
	for name, test := range map[string]struct {
		knob func(*simulator.Server)
		rows string
		want []string
	}{
		"both":             {knob(true, true), "", []string{"bk_agent_id", "host"}},
		"host":             {knob(true, false), "", []string{"host"}},
		"agent":            {knob(false, true), "", []string{"bk_agent_id"}},
		"none":             {knob(false, false), "", nil},
		"fault-host":       {knob(true, true), "host", []string{"host"}},
		"fault-agent":      {knob(true, true), "agent", []string{"bk_agent_id"}},
		"fault-none":       {knob(true, true), "none", nil},
		"fault-both-again": {knob(false, false), "both", []string{"bk_agent_id", "host"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.TwoNames(t, test.knob)
			if test.rows != "" {
				c.Sim.Inject(simulator.Fault{API: "*proc_status*", Rows: test.rows})
			}
			c.Over(simtest.ByAgent, simulator.OpHost, simulator.CodeOK)
			list := simtest.GatewayRowsOf(t, c.Gateway("sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":10}}`))
			for _, row := range append(list, c.GatewayRows(simtest.Agents(simtest.ByAgent))...) {
				var got []string
				for _, member := range []string{"bk_agent_id", "host"} {
					if _, there := row[member]; there {
						got = append(got, member)
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("%v, want %v", got, test.want)
				}
			}
		})
	}
}

func TestRows_labelsOfThePlatform(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t, func(sim *simulator.Server) { sim.RowLabels = map[string]string{"from": "platform", "bk": "1"} })
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	labels := func() string {
		meta, _ := c.GatewayRows(simtest.Agents(simtest.ByAgent))[0]["meta"].(map[string]any)
		return fmt.Sprint(meta["labels"])
	}
	simtest.Want(t, "labels", labels(), "map[bk:1 from:gateway]")
	c.SwitchOn("POST", "status", `{"labels":{"bk":"2"}}`)
	simtest.Want(t, "labels", labels(), "map[bk:2 from:gateway]")
	if p, _ := c.Sim.Process(simtest.ByAddress, "web", "nginx"); len(p.Labels) != 1 {
		t.Errorf("declared labels %v", p.Labels)
	}
}

// The cached status shows the state before the last change.
func TestSetLag_beforeTheLastChange(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t)
	c.Over(simtest.ByAddress, simulator.OpHost, simulator.CodeOK)
	c.SwitchOn("POST", "status", `{"lag":-1}`)
	status := func() string {
		rows := c.GatewayRows(simtest.CloudHosts("10.0.0.1"))
		if len(rows) != 1 {
			return fmt.Sprint(len(rows))
		}
		return fmt.Sprint(rows[0]["status"], rows[0]["isauto"])
	}
	for _, step := range []struct {
		op   int
		want string
	}{
		{simulator.OpStart, "2 true"}, {simulator.OpUnhost, "1 true"}, {simulator.OpStop, "0"}, {simulator.OpHost, "0"}, {simulator.OpStart, "2 true"},
	} {
		c.Over(simtest.ByAgent, step.op, simulator.CodeOK)
		for range 3 {
			if got := status(); got != step.want {
				t.Errorf("after op %d: %s, want %s", step.op, got, step.want)
			}
		}
	}
	c.Sim.SetLag(1)
	c.Over(simtest.ByAgent, simulator.OpUnhost, simulator.CodeOK)
	c.SwitchOn("POST", "status", `{"lag":0}`)
	simtest.Want(t, "up to date", status(), "0")
}

func TestRegister_withoutASpec(t *testing.T) {
	t.Parallel()
	c := simtest.TwoNames(t)
	simtest.Must(t, c.Sim.Register(simtest.ByAddress, "web", "nginx", nil, ""))
	if p, ok := c.Sim.Process(simtest.ByAddress, "web", "nginx"); !ok || !p.Registered || string(p.Spec) != "null" || len(p.Labels) != 0 {
		t.Errorf("%+v", p)
	}
	if calls := c.Sim.Calls(); len(calls) != 0 {
		t.Errorf("a console's act is a call: %v", calls.APIs())
	}
}
