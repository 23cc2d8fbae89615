package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
)

// Target is a process, and the hosts that it is about, as the clients know them.
type Target struct {
	// ID is the object's id in Terraform, Title how a sentence about the process begins.
	ID, Title string
	Hosts     fleet.Inventory
	Process   fleet.Process
	// Desired is what registrations are compared with. Ensure is for the caller to set.
	Desired fleet.Desired
	// ImportAdvice says how to import a registration that somebody else made. It begins
	// with a space, and is empty if the object cannot be imported.
	ImportAdvice string
}

// TimeoutOf is a method of timeouts.Value, such as Create: it returns the configured
// timeout, or else the default.
type TimeoutOf func(ctx context.Context, defaultTimeout time.Duration) (time.Duration, diag.Diagnostics)

// Begin prepares the calls of a resource's method: it converts the model and sets the
// one deadline. It appends to diags if the calls cannot be made. cancel must be called in
// any case.
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

// Only returns the entries of a map by host key that belong to failed hosts.
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
