package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Target is a process and its hosts, in the clients' terms.
type Target struct {
	// ID is the object's id in Terraform, Title the beginning of a sentence about the process.
	ID, Title string
	// OnHost identifies the process among others on a host, whoever has declared it.
	OnHost  string
	Hosts   fleet.Inventory
	Process fleet.Process
	// Desired is what registrations are compared with. The caller sets Ensure.
	Desired fleet.Desired
	// ImportAdvice says how to import a registration of another owner. It begins with a space, and is
	// empty if the object cannot be imported.
	ImportAdvice string
	// Runs are the operations that a wave may run. The caller sets it.
	Runs []fleet.Operation
}

// TimeoutOf is a method of timeouts.Value, such as Create: it returns the configured timeout, or the
// default.
type TimeoutOf func(ctx context.Context, defaultTimeout time.Duration) (time.Duration, diag.Diagnostics)

// WithDeadline gives ctx the deadline of a resource's method: the configured timeout, or the default.
// cancel must be called in any case.
func WithDeadline(ctx context.Context, timeout TimeoutOf, defaultTimeout time.Duration, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	limit, d := timeout(ctx, defaultTimeout)
	diags.Append(d...)
	return context.WithTimeout(ctx, limit)
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
