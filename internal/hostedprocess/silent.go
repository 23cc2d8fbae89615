package hostedprocess

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// silentKey is where private state keeps the addresses of hosts whose agents did not answer the last refresh.
// They are no drift and cause no plan; only the order of waves depends on them.
const silentKey = "silent"

// saveSilent saves the addresses of these hosts. It writes nothing if there are none and before has none.
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

// loadSilent returns those of the hosts that saveSilent has saved.
func loadSilent(ctx context.Context, from privateReader, hosts ...[]fleet.Host) map[fleet.HostID]bool {
	raw, _ := from.GetKey(ctx, silentKey)
	var addresses []string
	if len(raw) == 0 || json.Unmarshal(raw, &addresses) != nil {
		return nil // no host is known to be silent
	}
	silent := make(map[fleet.HostID]bool)
	for _, host := range slices.Concat(hosts...) {
		if _, found := slices.BinarySearch(addresses, host.Address()); found {
			silent[host.WithoutSupplier()] = true
		}
	}
	return silent
}
