package gse

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// names holds the other names of hosts. After a machine was reinstalled, the cached status may list its address
// for two agents, so a name may have several others until an agent itself answers.
type names struct {
	mu      sync.RWMutex
	others  map[fleet.HostID][]fleet.HostID
	certain map[fleet.HostID]bool // both names were in an answer of the agent itself
}

func (n *names) of(id fleet.HostID) []fleet.HostID {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.others[id]
}

func (n *names) isCertain(id fleet.HostID) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.certain[id]
}

// learn notes two names of one host. certain says that both were in an answer of its agent.
func (c *Client) learn(agent, address fleet.HostID, certain bool) {
	n := &c.names
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, pair := range [][2]fleet.HostID{{agent, address}, {address, agent}} {
		switch name, other := pair[0], pair[1]; {
		case certain:
			n.others[name], n.certain[name] = []fleet.HostID{other}, true
		case !n.certain[name] && !slices.Contains(n.others[name], other):
			n.others[name] = append(slices.Clip(n.others[name]), other)
		}
	}
}

// learnNames returns the names of a row's host. If it has two, they are remembered as names of one host.
func (c *Client) learnNames(row procRow) []fleet.HostID {
	agent, byAgent := row.byAgent()
	address, byAddress := row.byAddress(0)
	switch {
	case byAgent && byAddress:
		if !row.assumed { // the address may be another machine's, in another cloud area
			c.learn(agent.WithoutSupplier(), address.WithoutSupplier(), false)
		}
		return []fleet.HostID{agent.WithoutSupplier(), address.WithoutSupplier()}
	case byAgent:
		return []fleet.HostID{agent.WithoutSupplier()}
	case byAddress:
		return []fleet.HostID{address.WithoutSupplier()}
	}
	return nil
}

// learnFromCache learns the other names of hosts, because results may use those. Errors are ignored, because
// results may also use the names in the request.
func (p *Process) learnFromCache(ctx context.Context, hosts []fleet.Host) {
	_, _ = p.readCached(ctx, hosts)
}

// alias returns the other name of a host, if the platform has given one and no more.
func (c *Client) alias(id fleet.HostID) (fleet.HostID, bool) {
	if others := c.names.of(id); len(others) == 1 {
		return others[0], true
	}
	return fleet.HostID{}, false
}

// claims returns the number of hosts that have each name. A result under a name that two have belongs to
// neither.
func (c *Client) claims(hosts []fleet.Host) map[fleet.HostID]int {
	claims := make(map[fleet.HostID]int)
	for _, h := range hosts {
		claims[h.WithoutSupplier()]++
		for _, other := range c.names.of(h.WithoutSupplier()) {
			claims[other]++
		}
	}
	return claims
}

// unanswered returns the hosts whose other name is unknown, and whose agents have not answered under their own
// name.
func (c *Client) unanswered(hosts []fleet.Host) []fleet.Host {
	return slices.DeleteFunc(c.unnamed(hosts), func(h fleet.Host) bool {
		_, answers := c.answersBy.Load(h.WithoutSupplier())
		return answers
	})
}

// unnamed returns the hosts whose other name is unknown.
func (c *Client) unnamed(hosts []fleet.Host) []fleet.Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h fleet.Host) bool {
		_, known := c.alias(h.WithoutSupplier())
		return known
	})
}

// OtherNames implements fleet.Process. The names come from rows that have both. If no row of a host does, its
// agent may report them, whether it hosts the process or not.
func (p *Process) OtherNames(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.HostID, error) {
	if !p.client.face.renames() {
		return nil, nil //nolint:nilnil // no host has another name here
	}
	if _, err := p.readCached(ctx, p.client.unnamed(hosts)); err != nil {
		return nil, err
	}
	if p.spec != nil {
		// Agents that do not answer report no name.
		_, err := fleet.LiveStatusWithin(ctx, p, p.client.askPatience, p.client.unnamed(hosts))
		if ctx.Err() != nil { // what was not asked is no answer
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
	return p.KnownNames(hosts), nil
}

// KnownNames implements fleet.Process.
func (p *Process) KnownNames(hosts []fleet.Host) map[fleet.Host]fleet.HostID {
	if !p.client.face.renames() {
		return nil // agents could not be asked for another name here either
	}
	others := make(map[fleet.Host]fleet.HostID, len(hosts))
	for _, h := range hosts {
		if other, known := p.client.alias(h.WithoutSupplier()); known {
			others[h] = other
		}
	}
	return others
}

// learnFrom learns the names of hosts from the answers of their agents. The key of a result contains one name,
// and its content may contain the other. A result under one agent's id with another agent's content becomes a
// failure.
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
		id, said := host.WithoutSupplier(), rowNames(answer.Content)
		agent, byAgent := said.byAgent()
		if byAgent && id.IsAgentID() && agent.WithoutSupplier() != id {
			answers[key] = procapi.HostResult{Code: -1, Message: "the answer came from agent " + agent.AgentID()}
			continue
		}
		p.client.answersBy.Store(id, true)
		switch {
		case p.client.names.isCertain(id):
		case id.IsAgentID():
			if address, ok := said.among(asked).byAddress(0); ok {
				p.client.learn(id, address.WithoutSupplier(), true)
			}
		case byAgent:
			p.client.learn(agent.WithoutSupplier(), id, true)
		}
	}
}

// among completes a row that names no cloud area from the hosts in the request. It does so only if exactly one
// host in the request has the row's address. The area must not be taken as 0, which is an area like any other.
func (r procRow) among(asked []fleet.Host) procRow {
	if r.Host.CloudID.Known || !r.ip().IsValid() {
		return r
	}
	same := slices.DeleteFunc(slices.Clone(asked), func(h fleet.Host) bool { return h.IP() != r.ip() })
	if len(same) == 1 {
		r.Host.CloudID, r.assumed = procapi.Number{Value: float64(same[0].CloudID()), Known: true}, true
	}
	return r
}
