// Package fleettest makes hosts for tests, and checks values.
package fleettest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Inventory has hosts h01, h02 and so on at 0:10.0.0.1, 0:10.0.0.2 and so on.
func Inventory(tb testing.TB, n int) (fleet.Inventory, []fleet.Host) {
	tb.Helper()
	addresses := make(map[string]string, n)
	for i := range n {
		addresses[fmt.Sprintf("h%02d", i+1)] = fmt.Sprintf("0:10.0.0.%d", i+1)
	}
	inventory, faults := fleet.NewInventory(maps.All(addresses), 0)
	if len(faults) > 0 {
		tb.Fatal(faults)
	}
	return inventory, inventory.Hosts()
}
