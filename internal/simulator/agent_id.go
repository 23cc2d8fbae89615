package simulator

import (
	"fmt"
	"regexp"
	"strings"
)

// agentIDPattern is what an agent id of GSE 2.0 looks like, such as
// "0200000007525400f355781710390005465c". A request may hold anything of up to
// 64 characters; whoever declares a host means this.
var agentIDPattern = regexp.MustCompile(`^[0-9a-fA-F]{32,64}$`)

// agentTarget is a host that a request named by its agent id. Which address it
// has is for resolveLocked to say.
func agentTarget(id string) target { return target{key: hostKey(id), agent: id} }

// AddAgent declares a host that is known by an agent id and by an address: what
// is done to it under one name is seen under the other. Without it, an agent id
// is a host of its own, and a process that was registered under the address of
// the same machine is another process; so it is with the real server until
// upgrade_to_agent_id is called. It is for the time before the first request,
// since it moves nothing.
func (g *GSE) AddAgent(agentID, addr string) error {
	if !agentIDPattern.MatchString(agentID) {
		return fmt.Errorf("agent id %q: want 32 to 64 hexadecimal characters", agentID)
	}
	t, err := parseTarget(addr)
	if err != nil {
		return err
	}
	if t.agent != "" {
		return fmt.Errorf("host %q is an agent id, not an address", addr)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hosts[t.key] = true
	g.addresses[agentID] = t
	g.agentIDs[t.key] = agentID
	return nil
}

// Resolve gives the hosts of items that were named by agent ids the addresses that
// are known for them.
func (g *GSE) Resolve(items []*item) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, it := range items {
		for i, t := range it.targets {
			it.targets[i] = g.resolveLocked(t)
		}
	}
}

// HostKey is the one name of a host, which may be given by any.
func (g *GSE) HostKey(addr string) (hostKey, error) {
	t, err := parseTarget(addr)
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resolveLocked(t).key, nil
}

// resolveLocked gives a host that was named by its agent id the address that is
// known for it, if there is one.
func (g *GSE) resolveLocked(t target) target {
	if known, ok := g.addresses[t.agent]; ok && t.agent != "" {
		agent := t.agent
		t = known
		t.agent = agent
	}
	return t
}

// agentIDLocked is the agent id of a host, nothing if it is known by its address
// alone.
func (g *GSE) agentIDLocked(t target) string {
	if t.ip.IsValid() {
		return g.agentIDs[t.key]
	}
	return string(t.key)
}

// targetOf reads a hostKey.
func targetOf(key string) (target, error) {
	if !strings.Contains(key, ":") {
		return agentTarget(key), nil
	}
	return parseTarget(key)
}

// name is how the request named the host, with an address in its canonical
// form.
func (t target) name() string {
	if t.agent != "" {
		return t.agent
	}
	return string(t.key)
}

// address is the ip in its canonical form, nothing if none is known.
func (t target) address() string {
	if !t.ip.IsValid() {
		return ""
	}
	return t.ip.String()
}
