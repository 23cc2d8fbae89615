package core

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// agentIDPattern is the form of an agent id of GSE 2.0, such as "0200000007525400f355781710390005465c".
// It is opaque, and not necessarily hexadecimal. A request may contain any text of up to 64 characters; a
// declared host has this form.
var agentIDPattern = regexp.MustCompile(`^[^:\s\pZ\pC\x{FFFD}]{16,64}$`)

// AgentTarget returns a host that a request named by its agent id. resolveLocked finds its address. The
// id of a host without an agent of GSE 2.0 is its address.
func AgentTarget(id string) Target {
	t := Target{Key: HostKey(id), Machine: HostKey(id)}
	if cloud, ip, found := strings.Cut(id, ":"); found {
		if n, err := strconv.ParseInt(cloud, 10, 64); err == nil {
			if addressed, err := NewTarget(n, 0, ip); err == nil {
				t = addressed
			}
		}
	}
	t.Agent = id
	return t
}

// AddAgent declares a host that has an agent id and an address: changes under one name are visible under
// the other. Without it, an agent id is a host of its own. A process registered under the address of the
// same machine is then another process. The real server does the same until upgrade_to_agent_id is
// called. Call AddAgent before the first request, because it does not move processes.
func (g *GSE) AddAgent(agentID, addr string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.linkLocked(agentID, addr)
}

func (g *GSE) linkLocked(agentID, addr string) error {
	if !agentIDPattern.MatchString(agentID) {
		return fmt.Errorf("agent id %q: want 16 to 64 characters without colon or white space", agentID)
	}
	t, err := ParseTarget(addr)
	if err != nil {
		return err
	}
	if t.Agent != "" {
		return fmt.Errorf("host %q is an agent id, not an address", addr)
	}
	g.hosts[t.Machine] = true
	g.addresses[agentID] = t
	g.agentIDs[t.Machine] = agentID
	g.status.machines = nil
	return nil
}

// Resolve sets the known addresses of hosts that items name by agent id.
func (g *GSE) Resolve(items []*Item) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, it := range items {
		for i, t := range it.Targets {
			it.Targets[i] = g.resolveLocked(t)
		}
	}
}

// HostKey returns the machine of a host that is given by any of its names.
func (g *GSE) HostKey(addr string) (HostKey, error) {
	t, err := ParseTarget(addr)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resolveLocked(t).Machine, nil
}

// resolveLocked sets the known address of a host that was named by its agent id.
func (g *GSE) resolveLocked(t Target) Target {
	if known, ok := g.addresses[t.Agent]; ok && t.Agent != "" {
		agent := t.Agent
		t = known
		t.Agent = agent
		if g.separateLocked(t.Machine) {
			t.Key = HostKey(agent)
		}
	}
	return t
}

// agentIDLocked returns the agent id of a host, "" if only its address is known and the request did not
// use an id.
func (g *GSE) agentIDLocked(t Target) string {
	if t.IP.IsValid() {
		return cmp.Or(g.agentIDs[t.Machine], t.Agent)
	}
	return string(t.Key)
}

// targetOf parses a HostKey.
func targetOf(key string) (Target, error) {
	if !strings.Contains(key, ":") {
		return AgentTarget(key), nil
	}
	return ParseTarget(key)
}

// Name returns the host's name in the request, with an address in its canonical form.
func (t Target) Name() string {
	if t.Agent != "" {
		return t.Agent
	}
	return string(t.Key)
}

// address returns the ip in its canonical form, "" if none is known.
func (t Target) address() string {
	if !t.IP.IsValid() {
		return ""
	}
	return t.IP.String()
}
