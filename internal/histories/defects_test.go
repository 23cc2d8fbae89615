package histories

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The tests find a provider with a defect. Each invariant is broken on purpose, by a change after an
// apply as if the provider had made it.
func TestInvariants_canFail(t *testing.T) {
	t.Parallel()
	applied := []Step{{Do: Join, On: A, Hosts: []int{1}, To: ByAddress}, {Do: Apply, On: A}}
	running := append([]Step{{Do: SetEnsure, On: A, To: "running"}}, applied...)
	foreign := append([]Step{{Do: Console, To: actRegister, Hosts: []int{2}}}, applied...)
	operated := append(append([]Step{}, running...), Step{Do: Operate, To: "restart"})
	for name, c := range map[string]struct {
		steps     []Step
		after     Action
		defect    func(*world, *object)
		invariant Invariant
		kind      string
	}{
		"registers-something-else": {applied, Apply, func(w *world, _ *object) {
			w.fine(w.sim.Register(address(1), namespace, process, map[string]string{"team": "one"}, consoleSpec))
		}, EndsAsDeclared, "not-as-declared"},
		"never-content": {applied, Apply, func(w *world, _ *object) {
			w.sim.SetRowLabels(map[string]string{"team": "another"})
			w.fine(w.sim.Register(address(1), namespace, process, nil, ""))
		}, EndsAsDeclared, "not-as-declared"},
		"changes-a-stranger": {foreign, Apply, func(w *world, _ *object) {
			w.fine(w.sim.Register(address(2), namespace, process, map[string]string{"team": "one"}, consoleSpec))
		}, LeavesOthersAlone, "foreign"},
		"lets-a-stranger-go": {foreign, Apply, func(w *world, _ *object) {
			w.fine(w.sim.Unregister(address(2), namespace, process))
		}, LeavesOthersAlone, "foreign"},
		"stops-another-process": {applied, Apply, func(w *world, _ *object) {
			w.fine(w.sim.StopProcess(address(1), namespace, bystander))
		}, LeavesOthersAlone, "bystander"},
		"registers-undeclared-hosts": {foreign[1:], Apply, func(w *world, _ *object) {
			w.fine(w.sim.Register(address(2), namespace, process, nil, consoleSpec))
		}, LeavesOthersAlone, "undeclared"},
		"takes-from-another-object": {
			append(applied, Step{Do: Join, On: B, Hosts: []int{2}, To: ByAddress}, Step{Do: Apply, On: B}), Apply, func(w *world, o *object) {
				if o.id == "b1" {
					w.fine(w.sim.Unhost(address(1), namespace, process))
				}
			}, LeavesOthersAlone, "sibling",
		},
		"stops": {append(running, Step{Do: Apply, On: A}), Apply, func(w *world, _ *object) {
			if w.step > len(running) {
				w.fine(w.sim.StopProcess(address(1), namespace, process))
			}
		}, DoesNoMore, "stopped"},
		"restarts": {append(running, Step{Do: Apply, On: A}), Apply, func(w *world, _ *object) {
			w.fine(w.sim.KillProcess(address(1), namespace, process))
			w.fine(w.sim.StartProcess(address(1), namespace, process))
		}, DoesNoMore, "restarted"},
		"starts": {applied, Apply, func(w *world, _ *object) {
			w.fine(w.sim.StartProcess(address(1), namespace, process))
		}, DoesNoMore, "started"},
		"lets-go": {append(applied, Step{Do: Apply, On: A}), Apply, func(w *world, _ *object) {
			if w.step > len(applied) {
				w.fine(w.sim.Unhost(address(1), namespace, process))
			}
		}, DoesNoMore, "let-go"},
		"operates-twice": {operated, Operate, func(w *world, _ *object) { operateAgain(w, 1) }, ReachesOnce, "restart"},
		"operates-anew": {append(operated, Step{Do: Operate}), Operate, func(w *world, _ *object) {
			if w.step == len(operated)+1 {
				operateAgain(w, 1)
			}
		}, ReachesOnce, "again"},
		"operates-elsewhere": {operated, Operate, func(w *world, _ *object) { operateAgain(w, 2) }, DoesNoMore, "operated"},
		"says-that-it-is-destroyed": {append(applied, Step{Do: Destroy, On: A}), Destroy, func(w *world, _ *object) {
			w.fine(w.sim.Register(address(1), namespace, process, nil, consoleSpec))
			w.fine(w.sim.Host(address(1), namespace, process))
		}, TellsTheTruth, "still-hosted"},
		"says-that-it-is-unregistered": {append(applied, Step{Do: Destroy, On: A}), Destroy, func(w *world, _ *object) {
			w.fine(w.sim.Register(address(1), namespace, process, nil, consoleSpec))
		}, TellsTheTruth, "still-registered"},
		"forgets": {applied, Apply, func(_ *world, o *object) {
			o.kept.State = tftypes.NewValue(o.kept.State.Type(), nil)
		}, TellsTheTruth, "forgotten"},
		"changes-what-is-as-planned": {append(applied, Step{Do: Apply, On: A, Planned: true}), Apply, func(w *world, _ *object) {
			is := w.look(process)[1].Entries[0]
			w.fine(w.sim.Register(address(1), namespace, process, is.Labels, is.Spec))
		}, PlansTheTruth, "changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := History{Machines: 2, Steps: c.steps}
			if breach := play(history, nil); breach != nil {
				t.Fatalf("without the defect: %s", breach)
			}
			breach := play(history, map[Action]func(*world, *object){c.after: c.defect})
			if breach == nil || breach.Invariant != c.invariant || breach.Kind != c.kind {
				t.Errorf("found %v, want invariant %d (%s)", breach, c.invariant, c.kind)
			}
		})
	}
}

// operateAgain restarts the process on a machine once more.
func operateAgain(w *world, machine int) {
	d := w.configs[A].want.copied()
	d.Forms = map[int]string{machine: ByAddress}
	w.provider().Invoke(w.ctx, providertest.ActionType, map[string]any{
		"meta": d.meta(), "hosts": d.hosts(), "spec": d.spec(), "operation": "restart",
	})
}

// What a machine does while a history is shrunk is what it does when it is played: the
// same steps break the same.
func TestPlay_repeats(t *testing.T) {
	t.Parallel()
	history := found["cut-off-beside-a-stranger"].history
	defect := map[Action]func(*world, *object){Apply: func(w *world, _ *object) {
		if w.step == len(history.Steps) {
			w.fine(w.sim.Unregister(address(1), namespace, process))
		}
	}}
	first := play(history, defect)
	for range 5 {
		if again := play(history, defect); first == nil || again == nil || first.Step != again.Step || first.Kind != again.Kind {
			t.Fatalf("first %v, then %v", first, again)
		}
	}
}
