package simulator_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// twoNames is a client of a simulator with one machine that has two names, and another
// one that has only an address.
func twoNames(t *testing.T, knobs ...func(*simulator.Server)) *client {
	t.Helper()
	sim := &simulator.Server{}
	for _, knob := range knobs {
		knob(sim)
	}
	sim.AddAgent(agentA, "0:10.0.0.1")
	sim.AddHost("0:10.0.0.2")
	return newClient(t, sim)
}

func entryPerName(sim *simulator.Server) { sim.EntryPerName = true }

const (
	byAddress = "0:10.0.0.1"
	byAgent   = agentA
)

// over operates by one name of the machine and wants a code.
func (c *client) over(name string, op, want int) {
	c.t.Helper()
	selector := agents(name)
	if name == byAddress {
		selector = cloudHosts("10.0.0.1")
	}
	if got := c.gatewayOperate(op, selector, name); got.code != want {
		c.t.Errorf("op %d by %s: %+v, want %d", op, name, got, want)
	}
}

// entries are the names under which web:nginx is on file, and what the machine does.
func (c *client) entries() string {
	p := c.sim.Machine(byAddress).Process("web", "nginx")
	var names []string
	for _, e := range p.Entries {
		names = append(names, e.Host)
	}
	return fmt.Sprint(names, p.Hosted, p.Running)
}

func (c *client) upgrade(ip, agentID string) string {
	c.t.Helper()
	got := c.gateway("upgrade_to_agent_id", fmt.Sprintf(`{"hosts":[{"ip":%q,"bk_cloud_id":0,"bk_agent_id":%q}]}`, ip, agentID))
	if got.code != 0 {
		c.t.Fatalf("upgrade: %+v", got.body)
	}
	return fmt.Sprint(got.data["success"], got.data["failed"])
}
