package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// Model is the part of a model that says which process it is about, and
// where. GSE and JOB name processes differently; all that follows is the same.
type Model interface {
	// Open gives the process on the platform. Every value must be known.
	Open(ctx context.Context, p *platform.Platform) (Target, diag.Diagnostics)
	// Identifier is the id, unknown while what it is made of is.
	Identifier(ctx context.Context) types.String
	// Check finds what the platform would refuse or silently change. p is nil while
	// only the configuration is known.
	Check(p *platform.Platform) diag.Diagnostics
	// takesAgentIDs tells whether hosts may be given by agent id.
	takesAgentIDs(p *platform.Platform) bool
	// HostsMap is the hosts map of the model.
	HostsMap() *HostMap
	// definition is everything else: when it changes, the process is another, or
	// is to run otherwise.
	definition() []attr.Value
	// commands are the object that holds the commands of operations, and where it
	// stands in the configuration.
	commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path)
}

// Target is a process as the clients know it.
type Target struct {
	// id is what Terraform calls it, title how a sentence about it begins.
	ID, Title string
	Hosts     fleet.Inventory
	Process   fleet.Process
	// desired is what its registrations are held against, but for Ensure.
	Desired fleet.Desired
	// importAdvice tells how to import a registration that somebody else made, while
	// the resource is not in state; empty where it cannot be imported.
	ImportAdvice string
}

// Begin is what the methods of a resource have in common before their calls: the
// clients' view of its model, and the one deadline.
func Begin[M, O any](ctx context.Context, p *platform.Platform, m M, toAPI func(context.Context, M, *platform.Platform) (O, diag.Diagnostics),
	timeout TimeoutOf, defaultTimeout time.Duration, diags *diag.Diagnostics,
) (o O, deadlined context.Context, cancel context.CancelFunc) {
	if diags.HasError() {
		return o, ctx, func() {}
	}
	if !p.Ready() {
		diags.Append(p.NotReady())
		return o, ctx, func() {}
	}
	limit, d := timeout(ctx, defaultTimeout)
	diags.Append(d...)
	o, d = toAPI(ctx, m, p)
	diags.Append(d...)
	deadlined, cancel = context.WithTimeout(ctx, limit)
	return o, deadlined, cancel
}

// SameDefinition tells whether two models are about the same process, run in the
// same way.
func SameDefinition(a, b Model) bool {
	theirs := b.definition()
	for i, value := range a.definition() {
		if !value.Equal(theirs[i]) {
			return false
		}
	}
	return true
}

// CheckHosts finds what only the provider block can tell of hosts. Hosts that are
// not known yet are left out.
func CheckHosts(p *platform.Platform, m Model) diag.Diagnostics {
	if !p.Ready() {
		return nil
	}
	_, diags := checkedInventory(p, m)
	return diags
}

// checkedInventory are the hosts, and what CheckHosts finds.
func checkedInventory(p *platform.Platform, m Model) (fleet.Inventory, diag.Diagnostics) {
	inventory, diags := InventoryOf(*m.HostsMap(), p.Supplier)
	diags.Append(m.Check(p)...)
	if m.takesAgentIDs(p) {
		return inventory, diags
	}
	for key, host := range inventory.All {
		if host.AgentID() != "" {
			AddInvalid(&diags, path.Root("hosts").AtMapKey(key), diagnose.SummaryInvalidHost, "an agent id is only understood by GSE's API gateway. "+
				"Give the host as <bk_cloud_id>:<ip>, or, for an object that does not go through JOB, set gateway = \"apigw\" in the provider block")
		}
	}
	return inventory, diags
}

// Only keeps what a map by host key says of hosts that did not come out well.
func Only(byKey map[string]string, inventory fleet.Inventory, failures fleet.Results) map[string]string {
	left := make(map[string]string, len(failures))
	for key, host := range inventory.All {
		_, failed := failures[host]
		if value, said := byKey[key]; failed && said {
			left[key] = value
		}
	}
	return left
}
