package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// InventoryOf parses a hosts map; supplier is the supplier id of addresses that name
// none. An address that cannot be used is an error at its key. Hosts whose address is
// not known yet are left out, so before an apply acts on the result, all must be known.
func InventoryOf(hosts HostMap, supplier int) (fleet.Inventory, diag.Diagnostics) {
	var diags diag.Diagnostics
	inventory, faults := fleet.NewInventory(hosts.Known(), supplier)
	for _, fault := range faults {
		AddInvalid(&diags, path.Root("hosts").AtMapKey(fault.Key), diagnose.SummaryInvalidHost, fault.Err.Error())
	}
	return inventory, diags
}

// HostsPath is where the hosts stand in every object.
func HostsPath() path.Path { return path.Root("hosts") }

// CheckHosts reports errors in hosts that depend on the provider's settings, such as an
// agent id where the platform takes none. It reports nothing while the provider is not
// configured, and skips hosts that are not known yet.
func CheckHosts(p *platform.Platform, m Model) diag.Diagnostics {
	if !p.Ready() {
		return nil
	}
	_, diags := checkedInventory(p, m)
	return diags
}

// checkedInventory returns the hosts, and what CheckHosts reports about them.
func checkedInventory(p *platform.Platform, m Model) (fleet.Inventory, diag.Diagnostics) {
	inventory, diags := InventoryOf(*m.HostsMap(), p.Supplier)
	diags.Append(m.Check(p)...)
	if m.takesAgentIDs(p) {
		return inventory, diags
	}
	for key, host := range inventory.All {
		if host.AgentID() != "" {
			AddInvalid(&diags, path.Root("hosts").AtMapKey(key), diagnose.SummaryInvalidHost, "only GSE's API gateway accepts agent ids. "+
				"Give the host as <bk_cloud_id>:<ip>, or, unless this object goes through JOB, set gateway = \"apigw\" in the provider block")
		}
	}
	return inventory, diags
}
