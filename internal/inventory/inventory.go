package inventory

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Values of address.
const (
	byEither  = "auto"
	byAgentID = "agent_id"
	byIP      = "ip"
)

// naming says how hosts are named: their keys and their addresses.
type naming struct {
	key keyFormat
	by  string
	// agents is true if the platform accepts agent ids.
	agents bool
}

// inventory holds hosts of CMDB as maps of addresses.
type inventory struct {
	addresses    map[string]string
	keys         map[int64]string // by the id of the host
	byModule     map[string]map[string]string
	withoutAgent []string
	// unusable describes hosts without a key or an address, and clashes those that share one with another
	// host.
	unusable, clashes []string
}

// newInventory names hosts, in their order.
func newInventory(hosts []cmdb.Host, n naming) *inventory {
	in := &inventory{
		addresses: make(map[string]string, len(hosts)), keys: make(map[int64]string, len(hosts)), byModule: make(map[string]map[string]string),
		withoutAgent: []string{},
	}
	byKey, byAddress := make(map[string]cmdb.Host, len(hosts)), make(map[string]cmdb.Host, len(hosts))
	for _, h := range hosts {
		key, err := n.key.of(h)
		if err != nil {
			in.unusable = append(in.unusable, fmt.Sprintf("%s: %s", h, err))
			continue
		}
		address, err := n.address(h)
		if err != nil {
			in.unusable = append(in.unusable, fmt.Sprintf("%s: %s", h, err))
			continue
		}
		if other, taken := byKey[key]; taken {
			in.clashes = append(in.clashes, fmt.Sprintf("%s and %s both have the key %q", other, h, key))
			continue
		}
		if other, taken := byAddress[address]; taken {
			in.clashes = append(in.clashes, fmt.Sprintf("%s and %s both have the address %s", other, h, address))
			continue
		}
		byKey[key], byAddress[address] = h, h
		in.add(h, key, address)
	}
	return in
}

func (in *inventory) add(h cmdb.Host, key, address string) {
	in.addresses[key], in.keys[h.ID] = address, key
	if h.AgentID == "" {
		in.withoutAgent = append(in.withoutAgent, key)
	}
	for _, place := range h.Places {
		module := norm.NFC.String(place.String())
		if in.byModule[module] == nil {
			in.byModule[module] = make(map[string]string)
		}
		in.byModule[module][key] = address
	}
}

// address returns the address of a host, or an error that says why it has none.
func (n naming) address(h cmdb.Host) (string, error) {
	if n.by == byAgentID || (n.by == byEither && n.agents && h.AgentID != "") {
		return agentAddress(h)
	}
	switch {
	case h.Dynamic && n.by == byEither && h.AgentID != "":
		return "", errors.New("its addresses are dynamic, so they may be another host's later, and the ESB does not accept agent ids")
	case h.Dynamic:
		return "", errors.New("its addresses are dynamic, so they may be another host's later")
	case h.CloudID == nil:
		return "", errors.New("CMDB has no bk_cloud_id for it")
	}
	text := h.IP
	if text == "" {
		text = h.IPv6
	}
	if text == "" {
		return "", errors.New("CMDB has no inner address for it")
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return "", fmt.Errorf("its inner address %q is not an IP address", text)
	}
	return fleet.NewHost(int(*h.CloudID), 0, ip).Address(), nil
}

func agentAddress(h cmdb.Host) (string, error) {
	if h.AgentID == "" {
		return "", errors.New("CMDB has no agent id for it")
	}
	host, err := fleet.ParseHost(h.AgentID, 0)
	if err != nil || host.AgentID() == "" {
		return "", fmt.Errorf("its agent id %q is not valid", h.AgentID)
	}
	return host.Address(), nil
}
