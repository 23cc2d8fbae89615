package provider

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
	"github.com/blueking/terraform-provider-bk/internal/fold"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// reference is the part of a model that says which process it is about, and
// where. GSE and JOB name processes differently; all that follows is the same.
type reference interface {
	// open gives the process on the platform. Every value must be known.
	open(ctx context.Context, p *platform.Platform) (openedProcess, diag.Diagnostics)
	// identifier is the id, unknown while what it is made of is.
	identifier(ctx context.Context) types.String
	// check finds what the platform would refuse or silently change. p is nil while
	// only the configuration is known.
	check(p *platform.Platform) diag.Diagnostics
	// takesAgentIDs tells whether hosts may be given by agent id.
	takesAgentIDs(p *platform.Platform) bool
	// hostsMap is the hosts map of the model.
	hostsMap() *fold.Map
	// definition is everything else: when it changes, the process is another, or
	// is to run otherwise.
	definition() []attr.Value
	// commands are the object that holds the commands of operations, and where it
	// stands in the configuration.
	commands(ctx context.Context, config tfsdk.Config) (types.Object, path.Path)
}

// openedProcess is a process as the clients know it.
type openedProcess struct {
	// id is what Terraform calls it, title how a sentence about it begins.
	id, title string
	hosts     fleet.Inventory
	process   fleet.Process
	// desired is what its registrations are held against, but for Ensure.
	desired fleet.Desired
	// importAdvice tells how to import a registration that somebody else made, while
	// the resource is not in state; empty where it cannot be imported.
	importAdvice string
}

// begin is what the methods of a resource have in common before their calls: the
// clients' view of its model, and the one deadline.
func begin[M, O any](ctx context.Context, p *platform.Platform, m M, toAPI func(context.Context, M, *platform.Platform) (O, diag.Diagnostics),
	timeout timeoutOf, defaultTimeout time.Duration, diags *diag.Diagnostics,
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

// sameDefinition tells whether two models are about the same process, run in the
// same way.
func sameDefinition(a, b reference) bool {
	theirs := b.definition()
	for i, value := range a.definition() {
		if !value.Equal(theirs[i]) {
			return false
		}
	}
	return true
}

// checkHosts finds what only the provider block can tell of hosts. Hosts that are
// not known yet are left out.
func checkHosts(p *platform.Platform, m reference) diag.Diagnostics {
	if !p.Ready() {
		return nil
	}
	_, diags := checkedInventory(p, m)
	return diags
}

// checkedInventory are the hosts, and what checkHosts finds.
func checkedInventory(p *platform.Platform, m reference) (fleet.Inventory, diag.Diagnostics) {
	inventory, diags := inventoryOf(*m.hostsMap(), p.Supplier)
	diags.Append(m.check(p)...)
	if m.takesAgentIDs(p) {
		return inventory, diags
	}
	for key, host := range inventory.All {
		if host.AgentID() != "" {
			addInvalid(&diags, path.Root("hosts").AtMapKey(key), diagnose.SummaryInvalidHost, "an agent id is only understood by GSE's API gateway. "+
				"Give the host as <bk_cloud_id>:<ip>, or, for an object that does not go through JOB, set gateway = \"apigw\" in the provider block")
		}
	}
	return inventory, diags
}

// only keeps what a map by host key says of hosts that did not come out well.
func only(byKey map[string]string, inventory fleet.Inventory, failures fleet.Results) map[string]string {
	left := make(map[string]string, len(failures))
	for key, host := range inventory.All {
		_, failed := failures[host]
		if value, said := byKey[key]; failed && said {
			left[key] = value
		}
	}
	return left
}
