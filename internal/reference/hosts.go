package reference

import (
	"context"
	"fmt"
	"strings"

	datasource "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fold"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// hostsDescription describes the attribute hosts of every object.
const hostsDescription = "Host key to address. A key is a name of your choice; renaming it makes no calls. An address is `<bk_cloud_id>:<ip>`, " +
	"`<bk_cloud_id>:<bk_supplier_id>:<ip>` or a GSE 2.0 agent id ([forms](../functions/parse_host.md)). At least one host, and none twice."

// hostsAttribute declares hosts: a map of strings to users, a string to the framework. See package fold.
func hostsAttribute() schema.StringAttribute {
	return schema.StringAttribute{
		MarkdownDescription: hostsDescription,
		Required:            true,
		CustomType:          fold.Type{},
		Validators:          []validator.String{hostsValidator{}},
	}
}

// HostsOfDataSource declares hosts for a data source that has no process.
func HostsOfDataSource() datasource.Attribute {
	return DataSourceAttributes(map[string]schema.Attribute{"hosts": hostsAttribute()})["hosts"]
}

// jobHostsAttribute declares hosts for JOB, which does not accept agent ids.
func jobHostsAttribute() schema.StringAttribute {
	attribute := hostsAttribute()
	attribute.MarkdownDescription += " JOB does not accept agent ids."
	return attribute
}

// manyHosts is the number of hosts above which a resource is better split into shards.
const manyHosts = 50000

// NullAddress is the message for a host without an address.
const NullAddress = "the address is null; give the host an address or leave it out; " + fleet.AddressForms

// hostsValidator checks a folded hosts map.
type hostsValidator struct{}

func (hostsValidator) Description(context.Context) string {
	return "must contain at least one host; every value must be a host address, and each host may appear only once"
}

func (v hostsValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v hostsValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	resp.Diagnostics.Append(checkHostMap(req.Path, HostMap{StringValue: req.ConfigValue})...)
}

// checkHostMap checks the hosts at a path.
func checkHostMap(at path.Path, hosts HostMap) diag.Diagnostics {
	var diags diag.Diagnostics
	if hosts.IsNull() || hosts.IsUnknown() {
		return diags
	}
	if hosts.Len() == 0 {
		diags.Append(diagnose.About(at, diag.NewErrorDiagnostic("Invalid Attribute Value", "Attribute "+at.String()+" must contain at least one host, and is empty. "+
			"If the hosts come from CMDB or a variable, look there first. To unregister a hosted process everywhere, remove its resource or run terraform destroy; "+
			"its on_destroy says whether it is stopped.")))
		return diags
	}
	if hosts.Len() > manyHosts {
		addWarning(&diags, at, "Many Hosts", fmt.Sprintf("a resource with %d hosts is slow to plan, and there is much to look "+
			"through when something fails. If there are more than %d, split the map into shards and use for_each; the guide \"Large fleets\" "+
			"in the provider's documentation has an example", hosts.Len(), manyHosts))
	}
	for key, address := range hosts.All() {
		if strings.TrimSpace(key) == "" {
			AddInvalid(&diags, at.AtMapKey(key), diagnose.SummaryInvalidHost,
				"the host key is empty; give the host a name of your choice, such as web-1, by which messages and results call it")
		}
		if !IsPrintable(key) {
			AddInvalid(&diags, at.AtMapKey(key), diagnose.SummaryInvalidHost, notPrintable("the host key", key))
		}
		if address.Null {
			AddInvalid(&diags, at.AtMapKey(key), diagnose.SummaryInvalidHost, NullAddress)
		}
	}
	// Duplicates are found without regard to the supplier id: see fleet.HostID.
	_, faults := inventories.of(hosts, 0)
	for _, fault := range faults {
		AddInvalid(&diags, at.AtMapKey(fault.Key), diagnose.SummaryInvalidHost, fault.Err.Error())
	}
	return diags
}

// InventoryOf parses a hosts map; supplier is the supplier id of addresses without one. An invalid
// address is an error at its key. Hosts with an unknown address are left out, so an apply must not use the
// result before all are known.
func InventoryOf(hosts HostMap, supplier int) (fleet.Inventory, diag.Diagnostics) {
	return inventoryAt(HostsPath(), hosts, supplier)
}

func inventoryAt(at path.Path, hosts HostMap, supplier int) (fleet.Inventory, diag.Diagnostics) {
	var diags diag.Diagnostics
	inventory, faults := inventories.of(hosts, supplier)
	for _, fault := range faults {
		AddInvalid(&diags, at.AtMapKey(fault.Key), diagnose.SummaryInvalidHost, fault.Err.Error())
	}
	return inventory, diags
}

// HostsPath is the path of hosts in every object.
func HostsPath() path.Path { return path.Root("hosts") }

// CheckHosts reports errors in hosts that depend on the provider's settings, such as an agent id that the
// platform does not accept. It also reports reserved labels and a process without a spec. It reports
// nothing while the provider is not configured, and skips unknown hosts.
func CheckHosts(ctx context.Context, p *platform.Platform, m Model) diag.Diagnostics {
	if !p.Ready() {
		return nil
	}
	_, diags := checkedInventory(ctx, p, m)
	diags.Append(m.checkLabels(p)...)
	if !diags.HasError() && !m.HasSpec(ctx) {
		AddMissingSpec(&diags, m)
	}
	return diags
}

// checkedInventory returns the hosts, and what CheckHosts reports about them.
func checkedInventory(ctx context.Context, p *platform.Platform, m Model) (fleet.Inventory, diag.Diagnostics) {
	at := m.base().AtName("hosts")
	inventory, diags := inventoryAt(at, m.HostsMap(ctx), p.Supplier)
	diags.Append(m.Check(ctx, p)...)
	if m.takesAgentIDs(p) {
		return inventory, diags
	}
	for key, host := range inventory.All {
		if host.AgentID() != "" {
			AddInvalid(&diags, at.AtMapKey(key), diagnose.SummaryInvalidHost, "only GSE's API gateway accepts agent ids. "+
				"Give the host as <bk_cloud_id>:<ip>, or, unless this object goes through JOB, set gateway = \"apigw\" in the provider block")
		}
	}
	return inventory, diags
}
