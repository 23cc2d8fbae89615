package reference

import (
	"sync"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// inventories caches the hosts that were parsed last. A refresh and a plan of one object parse its hosts six
// times, and they are nearly always the same.
var inventories recentInventories

// manyInventories is the size of the cache: by default, Terraform handles that many objects at a time.
const manyInventories = 10

type recentInventories struct {
	mu     sync.Mutex
	parsed []parsedHosts
	oldest int
}

// parsedHosts is an entry of the cache. Its inventory must not be changed.
type parsedHosts struct {
	hosts     HostMap
	supplier  int
	inventory fleet.Inventory
	faults    []*fleet.AddressError
}

// of parses hosts, or returns the cached result.
func (r *recentInventories) of(hosts HostMap, supplier int) (fleet.Inventory, []*fleet.AddressError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parsed {
		if p.supplier == supplier && p.hosts.StringValue.Equal(hosts.StringValue) {
			return p.inventory, p.faults
		}
	}
	inventory, faults := fleet.NewInventory(hosts.Known(), supplier)
	if len(r.parsed) < manyInventories {
		r.parsed = append(r.parsed, parsedHosts{})
	}
	r.parsed[r.oldest] = parsedHosts{hosts, supplier, inventory, faults}
	r.oldest = (r.oldest + 1) % manyInventories
	return inventory, faults
}
