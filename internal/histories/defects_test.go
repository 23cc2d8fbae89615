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
	// registers and does are changes of a process, and since are changes once so many steps were taken.
	type defect = func(*world, *object)
	registers := func(machine int, labels map[string]string, spec string) defect {
		return func(w *world, _ *object) { w.fine(w.sim.Register(address(machine), namespace, process, labels, spec)) }
	}
	does := func(do func(*providertest.Sim, string, string, string) error, machine int, name string) defect {
		return func(w *world, _ *object) { w.fine(do(w.sim, address(machine), namespace, name)) }
	}
	since := func(steps int, do defect) defect {
		return func(w *world, o *object) {
			if w.step > steps {
				do(w, o)
			}
		}
	}
	both := func(one, two defect) defect { return func(w *world, o *object) { one(w, o); two(w, o) } }
	stops, kills, starts := (*providertest.Sim).StopProcess, (*providertest.Sim).KillProcess, (*providertest.Sim).StartProcess
	hosts, unhosts, unregisters := (*providertest.Sim).Host, (*providertest.Sim).Unhost, (*providertest.Sim).Unregister
	one := map[string]string{"team": "one"}
	sibling := append(append([]Step{}, applied...), Step{Do: Join, On: B, Hosts: []int{2}, To: ByAddress}, Step{Do: Apply, On: B})
	with := func(steps []Step, more Step) []Step { return append(append([]Step{}, steps...), more) }
	again, destroyed := Step{Do: Apply, On: A}, Step{Do: Destroy, On: A}
	for name, c := range map[string]struct {
		steps     []Step
		after     Action
		defect    defect
		invariant Invariant
		kind      string
	}{
		"registers-something-else": {applied, Apply, registers(1, one, consoleSpec), EndsAsDeclared, "not-as-declared"},
		"never-content": {applied, Apply, func(w *world, o *object) {
			w.sim.SetRowLabels(map[string]string{"team": "another"})
			registers(1, nil, "")(w, o)
		}, EndsAsDeclared, "not-as-declared"},
		"changes-a-stranger":         {foreign, Apply, registers(2, one, consoleSpec), LeavesOthersAlone, "foreign"},
		"lets-a-stranger-go":         {foreign, Apply, does(unregisters, 2, process), LeavesOthersAlone, "foreign"},
		"stops-another-process":      {applied, Apply, does(stops, 1, bystander), LeavesOthersAlone, "bystander"},
		"registers-undeclared-hosts": {applied, Apply, registers(2, nil, consoleSpec), LeavesOthersAlone, "undeclared"},
		"takes-from-another-object":  {sibling, Apply, since(len(sibling)-1, does(unhosts, 1, process)), LeavesOthersAlone, "sibling"},
		"stops":                      {with(running, again), Apply, since(len(running), does(stops, 1, process)), DoesNoMore, "stopped"},
		"restarts":                   {with(running, again), Apply, both(does(kills, 1, process), does(starts, 1, process)), DoesNoMore, "restarted"},
		"starts":                     {applied, Apply, does(starts, 1, process), DoesNoMore, "started"},
		"lets-go":                    {with(applied, again), Apply, since(len(applied), does(unhosts, 1, process)), DoesNoMore, "let-go"},
		"operates-twice":             {operated, Operate, func(w *world, _ *object) { operateAgain(w, 1) }, ReachesOnce, "restart"},
		"operates-anew":              {with(operated, Step{Do: Operate}), Operate, since(len(operated), func(w *world, _ *object) { operateAgain(w, 1) }), ReachesOnce, "again"},
		"operates-elsewhere":         {operated, Operate, func(w *world, _ *object) { operateAgain(w, 2) }, DoesNoMore, "operated"},
		"says-that-it-is-destroyed": {
			with(applied, destroyed), Destroy, both(registers(1, nil, consoleSpec), does(hosts, 1, process)), TellsTheTruth, "still-hosted",
		},
		"says-that-it-is-unregistered": {with(applied, destroyed), Destroy, registers(1, nil, consoleSpec), TellsTheTruth, "still-registered"},
		"forgets":                      {applied, Apply, func(_ *world, o *object) { o.kept.State = tftypes.NewValue(o.kept.State.Type(), nil) }, TellsTheTruth, "forgotten"},
		"changes-what-is-as-planned": {with(applied, Step{Do: Apply, On: A, Planned: true}), Apply, func(w *world, o *object) {
			is := w.look(process)[1].Entries[0]
			registers(1, is.Labels, is.Spec)(w, o)
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

// defect is one that the provider had, or nearly had: it is back when Code in File is Instead. FoundBy are the
// histories of TestFound that find it.
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
	providertest.NoError(t, err)
	var all []defect
	providertest.NoError(t, json.Unmarshal(raw, &all))
	return all
}

// Each defect is found by a history, and the code that repairs it is where the table says.
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
			providertest.NoError(t, err)
			back := filepath.Join(t.TempDir(), "back.go")
			providertest.NoError(t, os.WriteFile(back, []byte(strings.Replace(d.without(t), d.Code, d.Instead, 1)), 0o600))
			overlay := filepath.Join(t.TempDir(), "overlay.json")
			raw, err := json.Marshal(map[string]any{"Replace": map[string]string{file: back}})
			providertest.NoError(t, err)
			providertest.NoError(t, os.WriteFile(overlay, raw, 0o600))
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
	providertest.NoError(t, err)
	if n := strings.Count(string(code), d.Code); n != 1 {
		t.Fatalf("%s: the code that repairs it is in %s %d times: put it right in testdata/defects.json", d.Title, d.File, n)
	}
	return string(code)
}
