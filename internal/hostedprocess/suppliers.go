package hostedprocess

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// inventory is the hosts of state, with the supplier ids that they are registered with.
func (a applied) inventory(hosts reference.HostMap) fleet.Inventory {
	inventory, _ := reference.InventoryOf(hosts, a.Supplier) // what cannot be read is reported elsewhere
	for id, addresses := range a.Suppliers {
		others := make(map[string]string, len(addresses))
		for _, address := range addresses {
			others[address] = address
		}
		of, _ := fleet.NewInventory(others, id)
		inventory = inventory.Keeping(of)
	}
	return inventory
}

// otherSuppliers are Suppliers for hosts of state.
func (a applied) otherSuppliers(hosts fleet.Inventory) map[int][]string {
	others := make(map[int][]string)
	for _, host := range hosts.Hosts() {
		if id := host.SupplierID(); host.AgentID() == "" && id != a.Supplier {
			others[id] = append(others[id], host.Address())
		}
	}
	return others
}

// checkSuppliers refuses an address that names another supplier id than its host is registered
// with: that is another registration, and nothing takes the one for the other.
func checkSuppliers(hosts reference.HostMap, prior fleet.Inventory) diag.Diagnostics {
	var diags diag.Diagnostics
	const none = -1
	addresses := hosts.Known()
	for _, key := range slices.SortedFunc(maps.Keys(addresses), fleet.CompareKeys) {
		host, err := fleet.ParseHost(addresses[key], none)
		if err != nil || host.AgentID() != "" || host.SupplierID() == none || !prior.Has(host) || prior.SupplierOf(host) == host.SupplierID() {
			continue
		}
		reference.AddInvalid(&diags, reference.HostsPath().AtMapKey(key), diagnose.SummaryInvalidHost, fmt.Sprintf(
			"%q names the bk_supplier_id %d, and %s is registered with %d, which it keeps; to register it with another one, take it out of hosts and apply, then add it and apply again",
			host, host.SupplierID(), host.Address(), prior.SupplierOf(host)))
	}
	return diags
}
