package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// Host is the parsed form of a host address. It is comparable: two addresses
// that name the same host, however they are spelt, parse to equal Hosts.
type Host struct {
	id       HostID
	supplier int
}

// HostID is what tells hosts apart: an agent id, or a bk_cloud_id and an IP. The
// operate and status APIs carry no more than that of a host.
type HostID struct {
	agentID string
	cloud   int
	ip      netip.Addr
}

// AddressForms tells users what an address looks like; error messages end with it.
const AddressForms = "an address is `<bk_cloud_id>:<ip>` (`0:10.0.0.1`, `0:2001:db8::1`), " +
	"`<bk_cloud_id>:<bk_supplier_id>:<ip>` (`0:0:10.0.0.1`, `0:0:[2001:db8::1]`), " +
	"or a GSE 2.0 agent id (16 to 64 characters without a colon, in their own case)"

var (
	// Of an agent id nothing is known but that it is one word. What cannot be seen, or
	// was no text to begin with, is no part of one.
	agentIDForm = regexp.MustCompile(`^[^:\s\pZ\pC\x{FFFD}]{16,64}$`)
	errAddress  = errors.New("not a host address")
)

// ParseHost reads a host address. supplier is used where the address names none.
func ParseHost(address string, supplier int) (Host, error) {
	cloudText, rest, found := strings.Cut(address, ":")
	if !found {
		if agentIDForm.MatchString(address) {
			return Host{id: HostID{agentID: address}}, nil
		}
		return Host{}, fmt.Errorf("%w: %q has no bk_cloud_id; %s", errAddress, address, AddressForms)
	}
	cloud, err := parseID(cloudText)
	if err != nil {
		return Host{}, fmt.Errorf("%w: %q: bk_cloud_id %w; %s", errAddress, address, err, AddressForms)
	}
	// What follows is an IP, or a supplier id and an IP. An IPv6 address is
	// itself full of colons, which is why it stands in brackets behind a
	// supplier id: without them `1:2:3::4` could be read both ways.
	supplierText, ipText, found := strings.Cut(rest, ":")
	bracketed := strings.HasPrefix(ipText, "[") && strings.HasSuffix(ipText, "]")
	if found && (bracketed || !strings.Contains(ipText, ":")) {
		if supplier, err = parseID(supplierText); err != nil {
			return Host{}, fmt.Errorf("%w: %q: bk_supplier_id %w; %s", errAddress, address, err, AddressForms)
		}
		rest = ipText
		if bracketed {
			rest = ipText[1 : len(ipText)-1]
		}
	}
	ip, err := netip.ParseAddr(rest)
	if err != nil {
		return Host{}, fmt.Errorf("%w: %q: %q is not an IP address; %s", errAddress, address, rest, AddressForms)
	}
	if ip.Zone() != "" {
		return Host{}, fmt.Errorf("%w: %q: an IPv6 zone means nothing to another machine; leave out %%%s", errAddress, address, ip.Zone())
	}
	return NewHost(cloud, supplier, ip), nil
}

// NewHost is the Host of an IP as the platform's own answers carry it.
func NewHost(cloud, supplier int, ip netip.Addr) Host {
	return Host{id: HostID{cloud: cloud, ip: ip.Unmap()}, supplier: supplier}
}

func parseID(text string) (int, error) {
	id, err := strconv.Atoi(text)
	if err != nil || id < 0 || strconv.Itoa(id) != text {
		return 0, fmt.Errorf("%q is not a whole number from 0", text)
	}
	return id, nil
}

// AgentID is the GSE 2.0 agent id, or "" for a host that is addressed by IP.
func (h Host) AgentID() string { return h.id.agentID }

// CloudID is the bk_cloud_id of a host that is addressed by IP.
func (h Host) CloudID() int { return h.id.cloud }

// SupplierID is the bk_supplier_id of a host that is addressed by IP.
func (h Host) SupplierID() int { return h.supplier }

// IP is the zero Addr for a host that is addressed by agent id.
func (h Host) IP() netip.Addr { return h.id.ip }

// WithoutSupplier is the key of maps in which a supplier id makes no other host.
func (h Host) WithoutSupplier() HostID { return h.id }

// Address is the short canonical spelling, `<bk_cloud_id>:<ip>` or the agent id:
// what messages show, and what an import uses as a key.
func (h Host) Address() string { return h.id.Address() }

// IsAgentID reports whether it is an agent id rather than an address.
func (id HostID) IsAgentID() bool { return id.agentID != "" }

// Address is that of the hosts which have the id.
func (id HostID) Address() string {
	if id.agentID != "" {
		return id.agentID
	}
	return strconv.Itoa(id.cloud) + ":" + id.ip.String()
}

// String is the full canonical spelling. ParseHost reads it back to the same Host.
func (h Host) String() string {
	if h.AgentID() != "" {
		return h.AgentID()
	}
	ip := h.IP().String()
	if h.IP().Is6() {
		ip = "[" + ip + "]"
	}
	return fmt.Sprintf("%d:%d:%s", h.CloudID(), h.supplier, ip)
}
