package reference

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Target is a process and its hosts, in the terms of package fleet.
type Target struct {
	// ID is the object's id in Terraform. Title begins sentences about the process.
	ID, Title string
	// OnHost identifies the process on a host, whichever object declares it.
	OnHost  string
	Hosts   fleet.Inventory
	Process fleet.Process
	// Desired is compared with registrations. The caller sets its Ensure.
	Desired fleet.Desired
	// Spec is the spec of which Desired has fingerprints, as registering sends it. Only GSE has it.
	Spec any
	// ImportAdvice is a sentence on how to import a registration of another owner. It begins with a space,
	// and is empty if the object cannot be imported.
	ImportAdvice string
	// Runs are the operations that a wave may run. The caller sets it.
	Runs []fleet.Operation
}

// TimeoutOf is a method of timeouts.Value, such as Create. It returns the configured timeout or the default.
type TimeoutOf func(ctx context.Context, defaultTimeout time.Duration) (time.Duration, diag.Diagnostics)

// WithDeadline returns ctx with the configured or default deadline of a resource's method. The caller must
// call the cancel function, even after an error.
func WithDeadline(ctx context.Context, timeout TimeoutOf, defaultTimeout time.Duration, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	limit, d := timeout(ctx, defaultTimeout)
	diags.Append(d...)
	return context.WithTimeout(ctx, limit)
}

// Only returns the entries of byKey, which is keyed by host key, that belong to failed hosts.
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
