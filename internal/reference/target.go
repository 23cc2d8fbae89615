package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

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

// TimeoutOf is one of the methods of timeouts.Value.
type TimeoutOf func(ctx context.Context, defaultTimeout time.Duration) (time.Duration, diag.Diagnostics)

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
