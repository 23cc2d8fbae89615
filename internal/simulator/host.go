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
// to 64 hexadecimal characters). It panics on anything else: an address in a
// test is a constant.
func (s *Server) AddHost(addrs ...string) {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, addr := range addrs {
		t, err := parseTarget(addr)
		if err != nil {
			panic("simulator: " + err.Error())
		}
		s.hosts[s.resolveLocked(t).key] = true
	}
}

// Admit declares every address in prefix, in any cloud area. It costs nothing
// per host, so a prefix may hold tens of thousands.
func (s *Server) Admit(prefix netip.Prefix) {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admitted = append(s.admitted, prefix.Masked())
}

// SetReachable cuts a host's agent off (every operation on it answers 117 and
// does nothing, while its cached status keeps its old row) or brings it back.
// A host that nobody declared is declared by it. It panics on a bad address.
func (s *Server) SetReachable(addr string, reachable bool) {
	t, err := parseTarget(addr)
	if err != nil {
		panic("simulator: " + err.Error())
	}
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	t = s.resolveLocked(t)
	s.hosts[t.key] = true
	if reachable {
		delete(s.unreachable, t.key)
	} else {
		s.unreachable[t.key] = true
	}
	s.changedLocked()
}

// answersLocked reports whether a host is known and its agent alive.
func (s *Server) answersLocked(t target) bool {
	return !s.unreachable[t.key] && s.knownLocked(t)
}

func (s *Server) knownLocked(t target) bool {
	if s.hosts[t.key] || s.isLocal(t) || (s.AdmitAgents && !t.ip.IsValid()) {
		return true
	}
	for _, prefix := range s.admitted {
		if prefix.Contains(t.ip) {
			return true
		}
	}
	return false
}

// isLocal reports whether commands for this host really run.
func (s *Server) isLocal(t target) bool {
	return s.Local && t.ip.Is4() && t.ip.IsLoopback()
}

// CheckHost says what is wrong with a host's address, for those who got it from
// a user and do not want AddHost to panic.
func CheckHost(addr string) error {
	_, err := parseTarget(addr)
	return err
}
