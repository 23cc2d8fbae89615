package cmdb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Host is a host of a business.
type Host struct {
	ID int64
	// CloudID is nil if CMDB has none.
	CloudID *int64
	// IP and IPv6 are the first of the host's inner addresses, "" if it has none.
	IP, IPv6 string
	// AgentID is "" if the host has no agent, or one older than GSE 2.0.
	AgentID string
	// Dynamic reports that the host's addresses may later belong to other hosts.
	Dynamic bool
	Name    string
	// OS is CMDB's number: "1" for Linux, "" if CMDB has none.
	OS string
	// Places are all modules that the host is in.
	Places []Place
	// unplaced reports that CMDB did not name them all.
	unplaced bool
}

// Place is a module and the set above it.
type Place struct {
	SetID      int64
	SetName    string
	ModuleID   int64
	ModuleName string
}

// String returns "<set>/<module>", as in messages and map keys.
func (p Place) String() string { return p.SetName + "/" + p.ModuleName }

// hostFields names the fields to return. Without it, CMDB returns a hundred.
var hostFields = []string{"bk_host_id", "bk_cloud_id", "bk_host_innerip", "bk_host_innerip_v6", "bk_agent_id", "bk_addressing", "bk_host_name", "bk_os_type"}

// hostFieldsRow holds these fields. An empty field is null.
type hostFieldsRow struct {
	ID         int64  `json:"bk_host_id"`
	CloudID    *int64 `json:"bk_cloud_id"`
	IP         string `json:"bk_host_innerip"`
	IPv6       string `json:"bk_host_innerip_v6"`
	AgentID    string `json:"bk_agent_id"`
	Addressing string `json:"bk_addressing"`
	Name       string `json:"bk_host_name"`
	OS         string `json:"bk_os_type"`
}

func (r hostFieldsRow) host() Host {
	return Host{
		ID: r.ID, CloudID: r.CloudID, IP: firstOf(r.IP), IPv6: firstOf(r.IPv6), AgentID: r.AgentID,
		Dynamic: r.Addressing == "dynamic", Name: r.Name, OS: r.OS,
	}
}

// hostRow is a row of list_biz_hosts_topo.
type hostRow struct {
	Host hostFieldsRow `json:"host"`
	Topo []struct {
		SetID   int64  `json:"bk_set_id"`
		SetName string `json:"bk_set_name"`
		Modules []struct {
			ID   int64  `json:"bk_module_id"`
			Name string `json:"bk_module_name"`
		} `json:"module"`
	} `json:"topo"`
}

func (r hostRow) id() int64 { return r.Host.ID }

func (r hostRow) host() Host {
	h := r.Host.host()
	h.unplaced = len(r.Topo) == 0
	for _, set := range r.Topo {
		h.unplaced = h.unplaced || len(set.Modules) == 0
		for _, m := range set.Modules {
			h.Places = append(h.Places, Place{SetID: set.SetID, SetName: set.SetName, ModuleID: m.ID, ModuleName: m.Name})
		}
	}
	// CMDB collects the sets in a map (rearrangeBizHostTopo in findhost.go), so their order differs each time.
	slices.SortFunc(h.Places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.SetID, b.SetID), cmp.Compare(a.ModuleID, b.ModuleID))
	})
	return h
}

// firstOf returns the first of several addresses, which CMDB separates with commas.
func firstOf(addresses string) string {
	first, _, _ := strings.Cut(addresses, ",")
	return strings.TrimSpace(first)
}

// BeyondError reports a row that was not requested: CMDB ignored the filter.
type BeyondError struct {
	API string
	// What describes the row.
	What string
}

func (e *BeyondError) Error() string {
	return fmt.Sprintf("the answer of %s has %s, which was not asked for: CMDB ignored the filter", e.API, e.What)
}

// UnplacedError reports that CMDB did not return the modules of a host.
type UnplacedError struct{ API, Host string }

func (e *UnplacedError) Error() string {
	return fmt.Sprintf("the answer of %s does not say in which modules %s is, so its processes cannot be read", e.API, e.Host)
}

// maxFilter is the largest number of ids in one filter.
const maxFilter = 500

// HostsInModules returns the hosts of some modules, each once, sorted by id. Their places are only these
// modules.
func (c *Client) HostsInModules(ctx context.Context, biz int64, modules []int64) ([]Host, error) {
	return c.hosts(ctx, biz, "module_property_filter", "bk_module_id", modules, func(p Place) int64 { return p.ModuleID })
}

// HostsInSets does the same for sets.
func (c *Client) HostsInSets(ctx context.Context, biz int64, sets []int64) ([]Host, error) {
	return c.hosts(ctx, biz, "set_property_filter", "bk_set_id", sets, func(p Place) int64 { return p.SetID })
}

// HostsByID returns hosts by their ids. An id that the business does not have is an [UnknownError].
func (c *Client) HostsByID(ctx context.Context, biz int64, ids []int64) ([]Host, error) {
	found, err := c.hosts(ctx, biz, "host_property_filter", "bk_host_id", ids, nil)
	if err != nil {
		return nil, err
	}
	have := make(map[int64]bool, len(found))
	for _, h := range found {
		have[h.ID] = true
	}
	var missing []string
	for _, id := range ids {
		if !have[id] {
			missing = append(missing, fmt.Sprint(id))
		}
	}
	if len(missing) > 0 {
		return nil, &UnknownError{What: "host", Name: strings.Join(firstFew(missing), ", "), Business: biz}
	}
	return found, nil
}

// hosts returns the hosts with one of these values in a field, in as many requests as that takes. of returns
// the field's value of a place; it is nil if the field is the host's id.
func (c *Client) hosts(ctx context.Context, biz int64, filter, field string, values []int64, of func(Place) int64) ([]Host, error) {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	chunks := slices.Collect(slices.Chunk(values, maxFilter))
	found, err := steady(listHosts.name, len(chunks), func() ([]Host, error) {
		return inChunks(chunks, func(chunk []int64) ([]Host, error) {
			list := listing[hostRow, int64]{endpoint: listHosts, limit: 500, sort: "bk_host_id", id: hostRow.id, params: params{
				"bk_biz_id": biz, "fields": hostFields,
				filter: params{"condition": "AND", "rules": []params{{"field": field, "operator": "in", "value": chunk}}},
			}}
			rows, err := list.read(ctx, c)
			hosts := make([]Host, len(rows))
			for i, row := range rows {
				hosts[i] = row.host()
			}
			return hosts, err
		})
	})
	if err != nil {
		return nil, err
	}
	asked := make(map[int64]bool, len(values))
	for _, value := range values {
		asked[value] = true
	}
	hosts := make([]Host, 0, len(values))
	seen := make(map[int64]bool)
	for _, h := range found {
		meant := asked[h.ID]
		if of != nil {
			h.Places = slices.DeleteFunc(h.Places, func(p Place) bool { return !asked[of(p)] })
			meant = len(h.Places) > 0
		}
		if h.ID <= 0 || !meant {
			return nil, &BeyondError{API: listHosts.name, What: h.String()}
		}
		if !seen[h.ID] { // it may be in modules of several requests
			seen[h.ID] = true
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, func(a, b Host) int { return cmp.Compare(a.ID, b.ID) })
	return hosts, nil
}

// String names a host in messages.
func (h Host) String() string {
	for _, name := range []string{h.IP, h.IPv6, h.Name} {
		if name != "" {
			return fmt.Sprintf("host %d (%s)", h.ID, name)
		}
	}
	return fmt.Sprintf("host %d", h.ID)
}
