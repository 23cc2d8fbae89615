package hostedprocess

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// silentKey is where private state keeps the addresses of hosts whose agents did not answer the last refresh.
// They are no drift and cause no plan; only the order of waves depends on them.
const silentKey = "silent"

// saveSilent saves the addresses of these hosts.
func saveSilent(ctx context.Context, before reference.PrivateReader, to reference.PrivateWriter, unreachable map[fleet.Host]fleet.Status) diag.Diagnostics {
	addresses := make([]string, 0, len(unreachable))
	for host := range unreachable {
		addresses = append(addresses, host.Address())
	}
	slices.Sort(addresses)
	return reference.KeepPrivate(ctx, before, to, silentKey, addresses, len(addresses) == 0)
}

// loadSilent returns those of the hosts that saveSilent has saved.
func loadSilent(ctx context.Context, from reference.PrivateReader, hosts ...[]fleet.Host) map[fleet.HostID]bool {
	addresses, _ := reference.LoadPrivate[[]string](ctx, from, silentKey) // fails only for the framework's own keys
	silent := make(map[fleet.HostID]bool)
	for _, host := range slices.Concat(hosts...) {
		if _, found := slices.BinarySearch(addresses, host.Address()); found {
			silent[host.WithoutSupplier()] = true
		}
	}
	return silent
}
