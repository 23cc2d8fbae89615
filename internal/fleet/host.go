package fleet

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Host is a parsed host address. It is comparable: addresses of the same host parse to equal Hosts, however
// they are spelt.
type Host struct {
	id       HostID
	supplier int
}

// HostID identifies a host by its agent id, or by bk_cloud_id and IP. The operate and status APIs use nothing
// else. It is one short text because a map finds that faster than a struct of its parts.
type HostID struct {
	text string // an agent id, or `<bk_cloud_id>:<ip>`
}

// location holds the parts of a HostID that is not an agent id.
type location struct {
	cloud int
	ip    netip.Addr
}

// AddressForms describes addresses to users. Error messages end with it.
const AddressForms = "an address is `<bk_cloud_id>:<ip>` (`0:10.0.0.1`, `0:2001:db8::1`), " +
	"`<bk_cloud_id>:<bk_supplier_id>:<ip>` (`0:0:10.0.0.1`, `0:0:[2001:db8::1]`), " +
	"or a GSE 2.0 agent id (16 to 64 characters without a colon; upper and lower case matter)"

var (
	errAddress = errors.New("not a host address")
	domainName = regexp.MustCompile(`^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}$`)
)

// ParseHost parses a host address. supplier is the supplier id if the address has none.
func ParseHost(address string, supplier int) (Host, error) {
	if strings.ContainsFunc(address, unicode.IsSpace) {
		return Host{}, spaced(address, supplier)
	}
	if meant := narrowed(address); meant != address {
		if _, err := ParseHost(meant, supplier); err == nil && strings.Contains(meant, ":") {
			return Host{}, fmt.Errorf("%w: %q has full-width characters; did you mean %q?", errAddress, address, meant)
		}
	}
	cloudText, rest, found := strings.Cut(address, ":")
	if !found {
		if isAgentID(address) && !isDomainName(address) {
			return Host{id: HostID{address}}, nil
		}
		return Host{}, notOneWord(address)
	}
	host, err := parseIP(address, cloudText, rest, supplier)
	if err == nil && host.IP().Is4() {
		return host, nil
	}
	if meant, why := meantFor(address); meant != "" {
		return Host{}, fmt.Errorf("%w: %q %s; did you mean %q?", errAddress, address, why, meant)
	}
	return host, err
}

// isAgentID reports whether text may be an agent id: one word, without invisible characters or invalid text.
// The limits on its length are the provider's own, and generous compared to the ids in samples.
func isAgentID(text string) bool {
	length := utf8.RuneCountInString(text)
	return length >= 16 && length <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return r == ':' || r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r)
	})
}

// isDomainName reports whether text may be a domain name, as those can be as long as agent ids. No agent id
// was ever seen to have the form of one, and most have no dot.
func isDomainName(text string) bool {
	return strings.Contains(text, ".") && domainName.MatchString(text)
}

// parseIP parses what follows a bk_cloud_id: an IP, or a supplier id and an IP. An IPv6 address after a
// supplier id is in brackets, because `1:2:3::4` could be read both ways.
func parseIP(address, cloudText, rest string, supplier int) (Host, error) {
	cloud, err := parseID(cloudText)
	if err != nil {
		return Host{}, fmt.Errorf("%w: %q: bk_cloud_id %w; %s", errAddress, address, err, AddressForms)
	}
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
		why := ""
		if strings.ContainsFunc(rest, unicode.IsLetter) && !strings.Contains(rest, ":") {
			why = ", and hosts are known by their IP rather than by a name"
		}
		return Host{}, fmt.Errorf("%w: %q: %q is not an IP address%s; %s", errAddress, address, rest, why, AddressForms)
	}
	if ip.Zone() != "" {
		return Host{}, fmt.Errorf("%w: %q: an IPv6 zone means nothing to another machine; leave out %%%s", errAddress, address, ip.Zone())
	}
	return NewHost(cloud, supplier, ip), nil
}

// NewHost returns the Host of an IP as it appears in the platform's answers.
func NewHost(cloud, supplier int, ip netip.Addr) Host {
	return Host{id: location{cloud, ip.Unmap()}.id(), supplier: supplier}
}

// notOneWord returns what is wrong with an address that has no colon and is no agent id.
func notOneWord(address string) error {
	switch ip, err := netip.ParseAddr(address); {
	case address == "":
		return fmt.Errorf("%w: it is empty; %s", errAddress, AddressForms)
	case err == nil:
		return fmt.Errorf("%w: %q has no bk_cloud_id; did you mean %q?", errAddress, address, "0:"+ip.String())
	case isDomainName(address):
		return fmt.Errorf("%w: %q is a host name, and hosts are known by their IP; %s", errAddress, address, AddressForms)
	}
	return fmt.Errorf("%w: %q has no bk_cloud_id, and is neither an IP address nor an agent id; %s", errAddress, address, AddressForms)
}

// spaced returns the error for an address with white space, and suggests the one that was probably meant.
func spaced(address string, supplier int) error {
	meant := strings.Join(strings.Fields(address), "")
	if _, err := ParseHost(meant, supplier); err != nil {
		return fmt.Errorf("%w: %q has a space in it; %s", errAddress, address, AddressForms)
	}
	return fmt.Errorf("%w: %q has a space in it; did you mean %q?", errAddress, address, meant)
}

// narrowed returns an address that was typed on a Chinese keyboard in ASCII characters.
func narrowed(address string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case '\uFF01' <= r && r <= '\uFF5E': // the full-width forms of ASCII
			return r - '\uFF01' + '!'
		case r == '\u3002': // the Chinese full stop
			return '.'
		}
		return r
	}, address)
}

// meantFor returns the spelling that was probably meant, and what is wrong with the address: a port, or IPv6
// colons that would be misread. Otherwise both are "". `2001:db8::1` would be a host of cloud 2001, and
// `0:0:2001:db8::1` one whose IP begins with 0.
func meantFor(address string) (meant, why string) {
	cloud, rest, _ := strings.Cut(address, ":")
	supplier, behind, _ := strings.Cut(rest, ":")
	if meant = withoutPort(address, rest, behind); meant != "" {
		return meant, "has a port, and a host is known without one"
	}
	switch {
	case inUse(address) && !inUse(rest):
		return "0:" + unbracketed(address), "has no bk_cloud_id"
	case strings.HasPrefix(rest, "[") && inUse(rest):
		return cloud + ":" + unbracketed(rest), "has brackets, which an IPv6 address needs only after a bk_supplier_id"
	case !inUse(rest) && inUse(behind) && !strings.HasPrefix(behind, "["):
		return cloud + ":" + supplier + ":[" + behind + "]", "lacks the brackets that an IPv6 address needs after a bk_supplier_id"
	}
	return "", ""
}

// withoutPort returns an address without the port after its IP, or "" if it has none. ends are ends of the
// address that may be an IP and a port.
func withoutPort(address string, ends ...string) string {
	for _, end := range append([]string{address}, ends...) {
		there, err := netip.ParseAddrPort(end)
		if err != nil {
			continue
		}
		before, ip := strings.TrimSuffix(address, end), there.Addr().String()
		if before == "" {
			before = "0:"
		}
		if there.Addr().Is6() && strings.Count(before, ":") > 1 {
			ip = "[" + ip + "]"
		}
		return before + ip
	}
	return ""
}

// inUse reports whether text is an IPv6 address, in brackets or not, in a range that hosts use: 2000::/3,
// fc00::/7 or fe80::/10.
func inUse(text string) bool {
	ip, err := netip.ParseAddr(unbracketed(text))
	if err != nil || !ip.Is6() {
		return false
	}
	begin := ip.As16()[0]
	return begin>>5 == 1 || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

func unbracketed(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
}

func parseID(text string) (int, error) {
	id, err := strconv.Atoi(text)
	if err != nil || id < 0 || strconv.Itoa(id) != text {
		return 0, fmt.Errorf("%q is not a whole number from 0", text)
	}
	return id, nil
}

// AgentID returns the GSE 2.0 agent id, or "" for a host that is addressed by IP.
func (h Host) AgentID() string {
	if h.id.IsAgentID() {
		return h.id.text
	}
	return ""
}

// CloudID returns the bk_cloud_id of a host that is addressed by IP.
func (h Host) CloudID() int { return h.id.location().cloud }

// SupplierID returns the bk_supplier_id of a host that is addressed by IP.
func (h Host) SupplierID() int { return h.supplier }

// IP returns the zero Addr for a host that is addressed by agent id.
func (h Host) IP() netip.Addr { return h.id.location().ip }

// WithoutSupplier returns a map key under which hosts that differ only in supplier id are the same.
func (h Host) WithoutSupplier() HostID { return h.id }

// Named returns the host under another name of its machine.
func (h Host) Named(other HostID) Host {
	h.id = other
	return h
}

// Address returns the short canonical spelling, `<bk_cloud_id>:<ip>` or the agent id. Messages show it, and
// an import uses it as the key.
func (h Host) Address() string { return h.id.Address() }

// IsAgentID reports whether the id is an agent id rather than an address.
func (id HostID) IsAgentID() bool { return id.text != "" && !strings.Contains(id.text, ":") }

// Address returns the Address of hosts with this id.
func (id HostID) Address() string {
	if strings.Count(id.text, ":") < 2 { // not IPv6
		return id.text
	}
	if meant, _ := meantFor(id.text); meant != "" {
		cloud, ip, _ := strings.Cut(id.text, ":")
		return cloud + ":0:[" + ip + "]"
	}
	return id.text
}

// Compare compares ids in natural order, as CompareKeys does.
func (id HostID) Compare(other HostID) int { return CompareKeys(id.text, other.text) }

// Next returns the id of the next address, the zero value if there is none.
func (id HostID) Next() HostID {
	at := id.location()
	if at.ip = at.ip.Next(); !at.ip.IsValid() {
		return HostID{}
	}
	return at.id()
}

// MarshalText and UnmarshalText write and read ids as private state keeps them.
func (id HostID) MarshalText() ([]byte, error) { return []byte(id.text), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *HostID) UnmarshalText(text []byte) error {
	id.text = string(text)
	return nil
}

// location returns the zero location for an agent id.
func (id HostID) location() location {
	cloudText, ipText, found := strings.Cut(id.text, ":")
	if !found {
		return location{}
	}
	cloud, _ := strconv.Atoi(cloudText) // cannot fail on what location.id wrote
	ip, _ := netip.ParseAddr(ipText)
	return location{cloud, ip}
}

func (l location) id() HostID {
	text := append(strconv.AppendInt(make([]byte, 0, 64), int64(l.cloud), 10), ':')
	return HostID{string(l.ip.AppendTo(text))}
}

// String returns the full canonical spelling, which ParseHost parses to the same Host.
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
