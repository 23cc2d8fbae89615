package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// A plan builds the inventory of every resource more than once.
func BenchmarkInventory10000(b *testing.B) {
	addresses := make(map[string]string, 10000)
	for i := range 10000 {
		addresses[fmt.Sprintf("web-%d", i)] = fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	b.ReportAllocs()
	for b.Loop() {
		if inventory, faults := fleet.NewInventory(maps.All(addresses), 0); len(faults) > 0 || inventory.Len() != 10000 {
			b.Fatal(faults)
		}
	}
}

func BenchmarkInspect10000(b *testing.B) {
	all := make([]fleet.Host, 10000)
	statuses := make(map[fleet.Host]fleet.Status, len(all))
	for i := range all {
		h, err := fleet.ParseHost(fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255), 0)
		fleettest.NoError(b, err)
		all[i], statuses[h] = h, row(fleet.Running, true, 5)
	}
	b.ReportAllocs()
	for b.Loop() {
		if report, err := fleet.Inspect(b.Context(), onFile{nil, statuses}, all, desired(fleet.EnsureRunning), nil, nil); err != nil || len(report.Drift) > 0 {
			b.Fatal(report.Drift, err)
		}
	}
}

// onFile is a fleet.Process that knows the cached status alone.
type onFile struct {
	fleet.Process

	statuses map[fleet.Host]fleet.Status
}

func (f onFile) SharedStatus(context.Context, []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return f.statuses, nil
}
