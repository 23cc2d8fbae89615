package simulator

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// hostKey names a host in its one canonical form, "cloud:ip", or its agent id if
// no address is known for it. The supplier is no part of it: the second
// generation of the API knows the same hosts without.
type hostKey string

// target is a host as one request spelt it.
type target struct {
	key      hostKey
	cloud    int64
	supplier int64
	ip       netip.Addr
	// spelling is the ip as it was sent: result keys repeat it, so that an
	// IPv6 address in a long form comes back in that form.
	spelling string
	// agent is the agent id, if the request named the host by it.
	agent string
}

func newTarget(cloud, supplier int64, ip string) (target, error) {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Zone() != "" {
		return target{}, fmt.Errorf("%q is not an IP address", ip)
	}
	return target{
		key:      hostKey(strconv.FormatInt(cloud, 10) + ":" + addr.String()),
		cloud:    cloud,
		supplier: supplier,
		ip:       addr,
		spelling: ip,
	}, nil
}

// parseTarget reads "cloud:ip", "cloud:supplier:ip", for IPv6 with a supplier
// "cloud:supplier:[ip]", or an agent id.
func parseTarget(addr string) (target, error) {
	bad := func() (target, error) {
		return target{}, fmt.Errorf(`host %q: want "cloud:ip", "cloud:supplier:ip" or an agent id`, addr)
	}
	if agentIDPattern.MatchString(addr) {
		return agentTarget(addr), nil
	}
	head, rest, ok := strings.Cut(addr, ":")
	if !ok {
		return bad()
	}
	cloud, err := strconv.ParseInt(head, 10, 64)
	if err != nil {
		return bad()
	}
	if t, err := newTarget(cloud, 0, rest); err == nil {
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
	t, err := newTarget(cloud, supplier, rest)
	if err != nil {
		return bad()
	}
	return t, nil
}

// AddHost declares hosts, each "cloud:ip", "cloud:supplier:ip" or an agent id (32
// to 64 hexadecimal characters).
func (g *GSE) AddHost(addrs ...string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, addr := range addrs {
		t, err := parseTarget(addr)
		if err != nil {
			return err
		}
		g.hosts[g.resolveLocked(t).key] = true
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

// SetReachable cuts a host's agent off (every operation on it answers 117 and
// does nothing, while its cached status keeps its old row) or brings it back.
// A host that nobody declared is declared by it.
func (g *GSE) SetReachable(addr string, reachable bool) error {
	t, err := parseTarget(addr)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t = g.resolveLocked(t)
	g.hosts[t.key] = true
	if reachable {
		delete(g.unreachable, t.key)
	} else {
		g.unreachable[t.key] = true
	}
	g.changedLocked()
	return nil
}

// answersLocked reports whether a host is known and its agent alive.
func (g *GSE) answersLocked(t target) bool {
	return !g.unreachable[t.key] && g.knownLocked(t)
}

func (g *GSE) knownLocked(t target) bool {
	if g.hosts[t.key] || g.isLocal(t) || (g.AdmitAgents && !t.ip.IsValid()) {
		return true
	}
	for _, prefix := range g.admitted {
		if prefix.Contains(t.ip) {
			return true
		}
	}
	return false
}

// isLocal reports whether commands for this host really run.
func (g *GSE) isLocal(t target) bool {
	return g.Local && t.ip.Is4() && t.ip.IsLoopback()
}

// CheckHost says what is wrong with a host's address, for those who got it from
// a user and do not want AddHost to panic.
func CheckHost(addr string) error {
	_, err := parseTarget(addr)
	return err
}

// cloudIP is the part of a key that names a host by its address, as it was
// spelt.
func (t target) cloudIP() string {
	return strconv.FormatInt(t.cloud, 10) + ":" + t.spelling
}
