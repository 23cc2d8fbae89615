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
