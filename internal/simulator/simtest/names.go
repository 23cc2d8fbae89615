package simtest

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// TwoNames returns a client of a simulator with one machine that has two names, and another that has only
// an address.
func TwoNames(t *testing.T, knobs ...func(*simulator.Server)) *Client {
	t.Helper()
	sim := &simulator.Server{}
	for _, knob := range knobs {
		knob(sim)
	}
	sim.AddAgent(AgentA, "0:10.0.0.1")
	sim.AddHost("0:10.0.0.2")
	return NewClient(t, sim)
}

// EntryPerName sets the switch of the same name.
func EntryPerName(sim *simulator.Server) { sim.EntryPerName = true }

// The names of the machine.
const (
	ByAddress = "0:10.0.0.1"
	ByAgent   = AgentA
)

// Over operates on the machine by one of its names and requires a code.
func (c *Client) Over(name string, op, want int) {
	c.T.Helper()
	selector := Agents(name)
	if name == ByAddress {
		selector = CloudHosts("10.0.0.1")
	}
	if got := c.GatewayOperate(op, selector, name); got.Code != want {
		c.T.Errorf("op %d by %s: %+v, want %d", op, name, got, want)
	}
}

// Entries returns the names under which web:nginx is in the cached status, and its state on the machine.
func (c *Client) Entries() string {
	p := c.Sim.Machine(ByAddress).Process("web", "nginx")
	var names []string
	for _, e := range p.Entries {
		names = append(names, e.Host)
	}
	return fmt.Sprint(names, p.Hosted, p.Running)
}

// Upgrade calls upgrade_to_agent_id and returns the succeeded and the failed hosts.
func (c *Client) Upgrade(ip, agentID string) string {
	c.T.Helper()
	got := c.Gateway("upgrade_to_agent_id", fmt.Sprintf(`{"hosts":[{"ip":%q,"bk_cloud_id":0,"bk_agent_id":%q}]}`, ip, agentID))
	if got.Code != 0 {
		c.T.Fatalf("upgrade: %+v", got.Body)
	}
	return fmt.Sprint(got.Data["success"], got.Data["failed"])
}
