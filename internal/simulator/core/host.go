package core

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// HostKey is the canonical name of a host: "cloud:ip", or its agent id if no address is known. It has no
// supplier, since the second generation of the API names the same hosts without one.
type HostKey string

// Target is a host as one request named it.
type Target struct {
	// Key is the name under which the platform stores data about the host.
	Key HostKey
	// Machine is the same for every name of one machine.
	Machine  HostKey
	Cloud    int64
	Supplier int64
	IP       netip.Addr
	// Spelling is the ip as it was sent. Result keys repeat it, so a long form of an IPv6 address is
	// returned unchanged.
	Spelling string
	// Agent is the agent id, if the request named the host by it.
	Agent string
}

// NewTarget returns a host that a request named by its address.
func NewTarget(cloud, supplier int64, ip string) (Target, error) {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Zone() != "" {
		return Target{}, fmt.Errorf("%q is not an IP address", ip)
	}
	key := HostKey(strconv.FormatInt(cloud, 10) + ":" + addr.String())
	return Target{
		Key:      key,
		Machine:  key,
		Cloud:    cloud,
		Supplier: supplier,
		IP:       addr,
		Spelling: ip,
	}, nil
}

// ParseTarget reads "cloud:ip", "cloud:supplier:ip", for IPv6 with a supplier
// "cloud:supplier:[ip]", or an agent id.
func ParseTarget(addr string) (Target, error) {
	bad := func() (Target, error) {
		return Target{}, fmt.Errorf(`host %q: want "cloud:ip", "cloud:supplier:ip" or an agent id`, addr)
	}
	if agentIDPattern.MatchString(addr) {
		return AgentTarget(addr), nil
	}
	head, rest, ok := strings.Cut(addr, ":")
	if !ok {
		return bad()
	}
	cloud, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return bad()
	}
	if t, err := NewTarget(cloud, 0, rest); err == nil {
		return t, nil
	}
	head, rest, ok = strings.Cut(rest, ":")
	if !ok {
		return bad()
	}
	supplier, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return bad()
	}
	if inner, found := strings.CutPrefix(rest, "["); found {
		rest = strings.TrimSuffix(inner, "]")
	}
	t, err := NewTarget(cloud, supplier, rest)
	if err != nil {
		return bad()
	}
	return t, nil
}

// AddHost declares hosts, each "cloud:ip", "cloud:supplier:ip" or an agent id (16
// to 64 characters without colon or white space).
func (g *GSE) AddHost(addrs ...string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, addr := range addrs {
		t, err := ParseTarget(addr)
		if err != nil {
			return err
		}
		g.hosts[g.resolveLocked(t).Machine] = true
	}
	return nil
}

// Admit declares every address in prefix, in any cloud area. It costs nothing
// per host, so a prefix may hold tens of thousands.
func (g *GSE) Admit(prefix netip.Prefix) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.admitted = append(g.admitted, prefix.Masked())
}

// SetReachable disconnects or reconnects a host's agent. While it is disconnected, every operation
// answers 117 and does nothing, and the cached status keeps its old row. It declares an unknown host.
func (g *GSE) SetReachable(addr string, reachable bool) error {
	t, err := ParseTarget(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t = g.resolveLocked(t)
	g.hosts[t.Machine] = true
	if reachable {
		delete(g.unreachable, t.Machine)
	} else {
		g.unreachable[t.Machine] = true
	}
	g.changedLocked()
	return nil
}

// answersLocked reports whether a host is known and its agent alive.
func (g *GSE) answersLocked(t Target) bool {
	return !g.unreachable[t.Machine] && g.knownLocked(t)
}

func (g *GSE) knownLocked(t Target) bool {
	if g.hosts[t.Machine] || g.isLocal(t) || (g.AdmitAgents && t.Agent != "") {
		return true
	}
	for _, prefix := range g.admitted {
		if prefix.Contains(t.IP) {
			return true
		}
	}
	return false
}

// isLocal reports whether commands for this host really run.
func (g *GSE) isLocal(t Target) bool {
	return g.Local && t.IP.Is4() && t.IP.IsLoopback()
}

// CheckHost returns an error if addr is neither an address nor an agent id.
func CheckHost(addr string) error {
	_, err := ParseTarget(addr)
	return err
}

// CloudIP returns "cloud:ip" with the ip as it was sent, as in result keys.
func (t Target) CloudIP() string {
	return strconv.FormatInt(t.Cloud, 10) + ":" + t.Spelling
}

// AddMachine declares a host by an agent id, an address, or both. A name that it lacks is "".
func (g *GSE) AddMachine(agentID, addr string) error {
	switch {
	case agentID != "" && addr != "":
		return g.AddAgent(agentID, addr)
	case agentID != "":
		return g.AddHost(agentID)
	case addr != "":
		return g.AddHost(addr)
	}
	return nil
}
