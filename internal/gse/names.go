package gse

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// learn keeps that the platform gave two names to one host.
func (c *Client) learn(agent, address fleet.HostID) {
	c.aliases.Store(agent, address)
	c.aliases.Store(address, agent)
}

// names are those that a row has for its host. Where it has two, they are learnt.
func (c *Client) names(row procRow) []fleet.Host {
	agent, byAgent := row.agent()
	address, byAddress := row.host(0)
	switch {
	case byAgent && byAddress:
		c.learn(agent.WithoutSupplier(), address.WithoutSupplier())
		return []fleet.Host{agent, address}
	case byAgent:
		return []fleet.Host{agent}
	case byAddress:
		return []fleet.Host{address}
	}
	return nil
}

// alias is the other name of a host, where the platform has told it.
func (c *Client) alias(id fleet.HostID) (fleet.HostID, bool) {
	other, known := c.aliases.Load(id)
	if !known {
		return fleet.HostID{}, false
	}
	alias, ok := other.(fleet.HostID)
	return alias, ok
}

// unnamed are the hosts whose other name is not known.
func (c *Client) unnamed(hosts []fleet.Host) []fleet.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool {
		_, known := c.alias(h.WithoutSupplier())
		return known
	})
}

// OtherNames implements fleet.Process. A row tells both names of a host, and where none
// does an agent may, whether it has the process or not.
func (p *Process) OtherNames(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.HostID, error) {
	if !p.client.face.renames() {
		return nil, nil //nolint:nilnil // no host has another name here
	}
	if unnamed := p.client.unnamed(hosts); len(unnamed) > 0 {
		if _, err := p.file(ctx, unnamed); err != nil {
			return nil, err
		}
	}
	if unnamed := p.client.unnamed(hosts); len(unnamed) > 0 && p.spec != nil {
		// Agents that keep silent tell no name.
		_, err := fleet.LiveStatusWithin(ctx, p, p.client.askPatience, unnamed)
		if outOfPatience := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; err != nil && !outOfPatience {
			return nil, err
		}
	}
	return p.KnownNames(hosts), nil
}

// KnownNames implements fleet.Process.
func (p *Process) KnownNames(hosts []fleet.Host) map[fleet.Host]fleet.HostID {
	others := make(map[fleet.Host]fleet.HostID, len(hosts))
	for _, h := range hosts {
		if other, known := p.client.alias(h.WithoutSupplier()); known {
			others[h] = other
		}
	}
	return others
}

// learnFrom takes the names of hosts from what their agents said: the key of a result
// has one, and its content may have the other.
func (p *Process) learnFrom(answers procapi.ResultMap, asked []fleet.Host) {
	process := ":" + p.meta.Namespace + ":" + p.meta.Name
	for key, answer := range answers {
		name, ours := strings.CutSuffix(key, process)
		if !ours || answer.Code != procapi.CodeOK {
			continue
		}
		host, err := fleet.ParseHost(name, 0)
		if err != nil || host.Address() != name {
			continue
		}
		id := host.WithoutSupplier()
		if _, known := p.client.alias(id); known {
			continue
		}
		said := rowNames(answer.Content)
		if agent, ok := said.agent(); ok && host.AgentID() == "" {
			p.client.learn(agent.WithoutSupplier(), id)
		}
		address, ok := said.host(0)
		if !ok || host.AgentID() == "" {
			continue
		}
		if said.Host.CloudID.Known {
			p.client.learn(id, address.WithoutSupplier())
			continue
		}
		// Without its cloud area, 0 being one like any other, an address is a host's only
		// where one host alone was asked that has it.
		if same := sameIP(asked, address); len(same) == 1 {
			p.client.learn(id, same[0].WithoutSupplier())
		}
	}
}

// sameIP are the hosts with the IP of another, in any cloud area.
func sameIP(hosts []fleet.Host, as fleet.Host) []fleet.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool { return h.IP() != as.IP() || h.AgentID() != "" })
}
