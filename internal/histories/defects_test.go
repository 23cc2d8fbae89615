package histories

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

func operateAgain(w *world, machine int) {
	d := w.configs[A].want.copied()
	d.Forms = map[int]string{machine: ByAddress}
	w.provider().Invoke(w.ctx, providertest.ActionType, map[string]any{
		"meta": d.meta(), "hosts": d.hosts(), "spec": providertest.WholeSpec(d.Start), "operation": "restart",
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
	for range 2 {
		if again := play(history, defect); first == nil || again == nil || first.Step != again.Step || first.Kind != again.Kind {
			t.Fatalf("first %v, then %v", first, again)
		}
	}
}

// defect is one that the provider had, or nearly had: it is back when Code in File is
// Instead. FoundBy are the histories of TestFound that find it. The guide about faults
// lists them.
type defect struct {
	Title   string   `json:"title"`
	File    string   `json:"file"`
	Code    string   `json:"code"`
	Instead string   `json:"instead"`
	FoundBy []string `json:"found_by"`
}

func defects(t *testing.T) []defect {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "defects.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []defect
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// Each defect is found by a history, and what repairs it stands where it is said to.
func TestDefects(t *testing.T) {
	t.Parallel()
	for _, d := range defects(t) {
		if len(d.FoundBy) == 0 {
			t.Errorf("%s: no history finds it", d.Title)
		}
		d.without(t)
		for _, name := range d.FoundBy {
			if _, is := found[name]; !is {
				t.Errorf("%s: there is no history %q", d.Title, name)
			}
		}
	}
}

// Each defect is put back, one at a time, and is found by the histories that it names.
// This builds the provider anew for each: BK_TEST_DEFECTS=all in the long job.
//
//nolint:paralleltest // one build at a time
func TestDefects_putBack(t *testing.T) {
	if os.Getenv("BK_TEST_DEFECTS") != "all" {
		t.Skip("set BK_TEST_DEFECTS=all")
	}
	failed := regexp.MustCompile(`--- FAIL: TestFound/(\S+)`)
	for _, d := range defects(t) {
		t.Run(d.Title, func(t *testing.T) {
			file, err := filepath.Abs(filepath.Join("..", "..", d.File))
			if err != nil {
				t.Fatal(err)
			}
			back := filepath.Join(t.TempDir(), "back.go")
			if err := os.WriteFile(back, []byte(strings.Replace(d.without(t), d.Code, d.Instead, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			raw, err := json.Marshal(map[string]any{"Replace": map[string]string{file: back}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^TestFound$", ".")
			said, _ := run.CombinedOutput() // what fails is to fail
			var finds []string
			for _, match := range failed.FindAllStringSubmatch(string(said), -1) {
				finds = append(finds, match[1])
			}
			for _, name := range d.FoundBy {
				if !slices.Contains(finds, name) {
					t.Errorf("%s does not find it, only %v\n%s", name, finds, said)
				}
			}
		})
	}
}

func (d defect) without(t *testing.T) string {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("..", "..", d.File))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(code), d.Code); n != 1 {
		t.Fatalf("%s: the code that repairs it is in %s %d times: put it right in testdata/defects.json", d.Title, d.File, n)
	}
	return string(code)
}
