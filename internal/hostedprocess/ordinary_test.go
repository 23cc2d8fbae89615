package hostedprocess_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Where nobody else is about and nothing fails, an object is created, changed, reduced and
// destroyed one apply after the other, without an error, a warning or a wait, however late the
// cached status is, and whether or not calls renew the time at which a process was registered.
func TestOrdinaryLife(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		faces      []providertest.Face
		late, kept bool
	}{
		"current":                 {each, false, false},
		"late":                    {gse, true, false},
		"late-and-times-are-kept": {gse, true, true},
	} {
		for _, ensure := range fleet.Ensures() {
			for onUpdate, leaving := range map[fleet.OnUpdate]fleet.OnDestroy{fleet.UpdateRegister: fleet.DestroyUnregister, fleet.UpdateRestart: fleet.DestroyStop} {
				t.Run(fmt.Sprintf("%s/%s-%s-%s", name, ensure, onUpdate, leaving), func(t *testing.T) {
					t.Parallel()
					through(t, c.faces, func(w *world) {
						w.sim.ReregisteringKeepsTime, w.sim.StartingKeepsTime, w.sim.HostingKeepsTime = c.kept, c.kept, c.kept
						if c.late {
							w.sim.FreezeStatus()
						}
						more := map[string]any{"ensure": string(ensure), "on_update": string(onUpdate), "on_destroy": string(leaving)}
						object := w.object()
						w.play(object,
							step{name: "created", config: w.declares(4, more), kind: providertest.PlanCreate, anyCalls: true},
							step{name: "changed", config: w.changed(4, more), anyCalls: true},
							step{name: "reduced", config: w.changed(3, more), anyCalls: true},
						)
						object.Protocol, object.Replacing = w.open(), true
						if kind, said := object.Apply(w.changed(3, more)); kind != providertest.PlanReplace || len(said) > 0 {
							w.Errorf("replaced: %s; said: %s", kind, said)
						}
						object.Replacing = false
						w.play(object,
							step{name: "reduced once replaced", config: w.changed(2, more), anyCalls: true},
							step{name: "destroyed", anyCalls: true},
						)
						w.expectNothing()
						if reads := w.sim.Calls().Count("get_proc_status_v2"); reads > 3 {
							w.Errorf("the cached status was read %d times", reads)
						}
					})
				})
			}
		}
	}
}
