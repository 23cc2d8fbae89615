package reference

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Whatever was parsed before, hosts are those of the map, with the faults and the supplier of the request.
func TestInventories(t *testing.T) {
	t.Parallel()
	var (
		recent recentInventories
		all    sync.WaitGroup
		maps   = []HostMap{UnknownHostMap(), {}, NewHostMap(nil), NewHostMap(map[string]string{"a": "no address", "b": "0:10.0.0.1", "c": "0:10.0.0.1"})}
	)
	for i := range 2 * manyInventories {
		maps = append(maps, NewHostMap(map[string]string{"web": fmt.Sprintf("0:10.0.0.%d", i+1)}))
	}
	for range 4 {
		for _, hosts := range append(maps, maps[:8]...) {
			for supplier := range 2 {
				all.Go(func() {
					got, gotFaults := recent.of(hosts, supplier)
					want, wantFaults := fleet.NewInventory(hosts.Known(), supplier)
					if diff := cmp.Diff(want, got, cmp.AllowUnexported(fleet.Inventory{}), cmp.Comparer(func(a, b fleet.Host) bool { return a == b })); diff != "" {
						t.Errorf("hosts (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(fmt.Sprint(wantFaults), fmt.Sprint(gotFaults)); diff != "" {
						t.Errorf("faults (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
	all.Wait()
}
