package rollouts

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// An operation that never ends on web-2 keeps the next release from no other host.
func TestHanging_stillUnderWay(t *testing.T) {
	t.Parallel()
	h := hang{op: simulator.OpRestart, once: []string{"restart"}}
	h.everywhere(t, "restart", func(t *testing.T, sim *providertest.Timed, by providertest.Face, b bound) {
		t.Helper()
		kept, typ := &providertest.Kept{}, by.TypeName(providertest.OnUpdate)
		release := func(start string) map[string]any {
			return h.declared(by, b, map[string]any{"on_update": "restart", "ensure": "running"}, start, hangingHosts)
		}
		sim.ConfiguredFor(t, by).CoreOf(typ, kept).Applied(release("./v1.sh"))
		sim.Inject(h.fault(by))
		for _, start := range []string{"./v2.sh", "./v3.sh"} {
			time.Sleep(time.Minute)
			began := time.Now()
			resource := sim.ConfiguredFor(t, by).CoreOf(typ, kept)
			_, said := resource.Apply(release(start))
			if diff := cmp.Diff([]string{"web-2"}, slices.Sorted(maps.Keys(resource.Reasons("out_of_sync")))); diff != "" {
				t.Errorf("failed (-want +got):\n%s\nsaid: %s", diff, said)
			}
			if took, most := time.Since(began), h.most(by, b); took > most {
				t.Errorf("it took %s, want at most %s", took, most)
			}
			h.wantOnce(t, sim.Sim, began)
		}
	})
}

// A host that hangs while a release is taken back keeps no other from going back.
func TestHanging_rollback(t *testing.T) {
	t.Parallel()
	h := hang{at: providertest.OnUpdate, skip: 1}
	for _, by := range faces {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				release := func(start string) map[string]any {
					return h.declared(by, bound{rollout: map[string]any{"waves": []any{"4"}, "on_failure": "rollback"}},
						map[string]any{"on_update": "restart", "ensure": "running"}, start, hangingHosts)
				}
				resource := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnUpdate), &providertest.Kept{})
				resource.Applied(release("./v1.sh"))
				sim.Inject(h.fault(by))
				sim.Inject(simulator.Fault{
					API: "operate_*", Op: new(simulator.OpRestart), Hosts: []string{providertest.Address(3)}, Code: new(simulator.CodeCommandFailed), Times: 1,
				})
				_, said := resource.Apply(release("./v2.sh"))
				if diff := cmp.Diff([]string{"web-2"}, slices.Sorted(maps.Keys(resource.Reasons("out_of_sync")))); diff != "" {
					t.Errorf("not back (-want +got):\n%s\nsaid: %s", diff, said)
				}
			})
		})
	}
}
