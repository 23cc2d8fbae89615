package hostedprocess

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// silentKey is where the hosts are kept whose agents did not answer the last refresh, by
// address. They are no drift, and no reason for a plan; only waves take them into account.
const silentKey = "silent"

// saveSilent keeps them. If there are none and before kept none, it writes nothing.
func saveSilent(ctx context.Context, before privateReader, to privateWriter, unreachable map[fleet.Host]fleet.Status) diag.Diagnostics {
	addresses := make([]string, 0, len(unreachable))
	for host := range unreachable {
		addresses = append(addresses, host.Address())
	}
	slices.Sort(addresses)
	kept, diags := before.GetKey(ctx, silentKey)
	if len(addresses) == 0 && len(kept) == 0 {
		return diags
	}
	raw, err := json.Marshal(addresses)
	if err != nil {
		return append(diags, diagnose.Bug(err))
	}
	return append(diags, to.SetKey(ctx, silentKey, raw)...)
}

// loadSilent gives those of the hosts that are kept.
func loadSilent(ctx context.Context, from privateReader, hosts ...[]fleet.Host) map[fleet.HostID]bool {
	raw, _ := from.GetKey(ctx, silentKey)
	var addresses []string
	if len(raw) == 0 || json.Unmarshal(raw, &addresses) != nil {
		return nil // nobody is known to be silent
	}
	silent := make(map[fleet.HostID]bool)
	for _, host := range slices.Concat(hosts...) {
		if _, found := slices.BinarySearch(addresses, host.Address()); found {
			silent[host.WithoutSupplier()] = true
		}
	}
	return silent
}
