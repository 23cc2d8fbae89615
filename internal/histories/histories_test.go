package histories

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // plans are short-lived, and collecting them took a fifth of the time
	providertest.Main(m)
}

// Every [Invariant] holds in random histories. A history that fails is shrunk and printed, to be read and put
// into testdata/found.txt.
//
// BK_TEST_WITH is a comma-separated list of names in knownBroken, or "all", that are played as well.
func TestHistories(t *testing.T) {
	t.Parallel()
	without := make(map[string]bool)
	for name := range knownBroken {
		without[name] = true
	}
	for name := range strings.SplitSeq(os.Getenv("BK_TEST_WITH"), ",") {
		delete(without, name)
		if name == "all" {
			clear(without)
		}
	}
	providertest.InRounds(t, 150, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		history := generate(chance, without)
		breach := play(history, nil)
		if breach == nil {
			return
		}
		shortest := shrink(history, func(h History) bool {
			b := play(h, nil)
			return b != nil && b.Invariant == breach.Invariant && b.Kind == breach.Kind
		})
		if b := play(shortest, nil); b != nil {
			breach = b
		}
		t.Errorf("%s\n\n%s", breach, shortest)
	})
}

// A history of testdata/found.txt passes if its defect is fixed, and fails in the expected way if it is in knownBroken.
func TestFound(t *testing.T) {
	t.Parallel()
	for name, f := range found {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breach := play(f.history, nil)
			switch {
			case f.open == "" && breach != nil:
				t.Error(breach)
			case f.open == "":
			case knownBroken[f.open] == "":
				t.Errorf("%q is not known to be broken", f.open)
			case breach == nil:
				t.Errorf("it is fixed: take %q from knownBroken, and what it breaks from testdata/found.txt", f.open)
			case breach.Invariant != f.invariant || breach.Kind != f.kind:
				t.Errorf("it fails in another way: %s", breach)
			}
		})
	}
}

// knownBroken says what is not fixed, and why. The generator leaves out what it has under one of these names. What it has no name
// for is too rare to matter. Each entry has a history in TestFound that fails. When it passes, remove the entry from this table.
var knownBroken = map[string]string{
	"times-kept-by-others": "an agent whose registration time stays when another object registers: where the file names that object, nothing can be destroyed, " +
		"and where the file is old, the other's registration goes",
	"killed-rename": "an apply that is killed while it renames a host, after it has registered the new name: on a platform with an entry for each name, " +
		"the old name can be neither renamed nor unregistered",
	"old-rows-without-times": "an old row that names an earlier object, where agents give no times: nothing shows that it is old, and where the ledger is lost, " +
		"nothing shows that the earlier object is a predecessor",
	"two-suppliers-of-one-machine": "where two resources name one machine by two supplier ids, and the cached status is old, hosting by the one gives the other's registration " +
		"an owner who unregisters by another id",
}

type finding struct {
	history   History
	open      string // the entry of knownBroken that it shows, or empty if that is fixed
	invariant Invariant
	kind      string
}

//go:embed testdata/found.txt
var foundText string

// found maps the name of a finding to its history, in the shortest form.
var found = findings(foundText)

// findings parses testdata/found.txt. A line before a history may say which invariant it still breaks.
func findings(text string) map[string]finding {
	all := make(map[string]finding)
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		name, rest, _ := strings.Cut(block, "\n")
		if strings.HasPrefix(name, "#") {
			continue
		}
		var f finding
		if breaks, after, _ := strings.Cut(rest, "\n"); strings.HasPrefix(breaks, "breaks") {
			if _, err := fmt.Sscanf(breaks, "breaks invariant %d by %s known as %s", &f.invariant, &f.kind, &f.open); err != nil {
				panic(fmt.Sprintf("%s: %v", name, err))
			}
			rest = after
		}
		history, err := historyOf(strings.Split(rest, "\n"))
		if _, twice := all[name]; twice || err != nil {
			panic(fmt.Sprintf("%s: twice: %t, %v", name, twice, err))
		}
		f.history = history
		all[name] = f
	}
	return all
}

// shrink returns the shortest history for which fails is still true. It drops steps in ever smaller pieces, and then simplifies the rest.
func shrink(h History, fails func(History) bool) History {
	for {
		before := h.size()
		h = dropSteps(h, fails)
		h = simplify(h, fails)
		if h.size() == before {
			return h
		}
	}
}

// size is the length of the printed history. Fewer machines and an earlier interruption make it smaller.
func (h History) size() int {
	size := 10*h.Machines + len(h.String())
	for _, s := range h.Steps {
		size += s.Cut
	}
	return size
}

// dropSteps is delta debugging: halves, quarters and so on, down to single steps.
func dropSteps(h History, fails func(History) bool) History {
	for piece := max(1, len(h.Steps)/2); piece >= 1; {
		dropped := false
		for at := len(h.Steps) - piece; at >= 0; at -= piece {
			less := h
			less.Steps = slices.Concat(h.Steps[:at], h.Steps[at+piece:])
			if fails(less) {
				h, dropped = less, true
			}
			at = min(at, len(h.Steps))
		}
		if !dropped || piece > len(h.Steps) {
			piece /= 2
		}
	}
	return h
}

func simplify(h History, fails func(History) bool) History {
	try := func(change func(*History)) {
		simpler := h.copied()
		change(&simpler)
		if simpler.size() < h.size() && fails(simpler) {
			h = simpler
		}
	}
	for i := range traitsOf(&h) {
		try(func(h *History) { *traitsOf(h)[i].has = false })
	}
	for i := range h.Steps {
		for host := len(h.Steps[i].Hosts) - 1; host >= 0; host-- {
			try(func(h *History) {
				if hosts := h.Steps[i].Hosts; len(hosts) > 1 && host < len(hosts) {
					h.Steps[i].Hosts = slices.Delete(hosts, host, host+1)
				}
			})
		}
		for _, simpler := range []func(*Step){
			func(s *Step) { s.Hosts = nil }, func(s *Step) { s.Cut, s.Late, s.Killed = 0, false, false }, func(s *Step) { s.Cut = max(s.Cut-1, min(s.Cut, 1)) },
			func(s *Step) { s.Blind = false }, func(s *Step) { s.Times = 0 }, func(s *Step) { s.Planned = false },
		} {
			try(func(h *History) { simpler(&h.Steps[i]) })
		}
	}
	for machine := h.Machines; machine > 1; machine-- {
		try(func(h *History) { *h = h.without(machine) })
	}
	return h
}

func (h History) without(machine int) History {
	h = h.copied()
	h.Machines--
	for i := range h.Steps {
		hosts := slices.DeleteFunc(h.Steps[i].Hosts, func(n int) bool { return n == machine })
		for j := range hosts {
			if hosts[j] > machine {
				hosts[j]--
			}
		}
		h.Steps[i].Hosts = hosts
	}
	return h
}

func (h History) copied() History {
	h.Steps = slices.Clone(h.Steps)
	for i := range h.Steps {
		h.Steps[i].Hosts = slices.Clone(h.Steps[i].Hosts)
	}
	return h
}

// A provider with a defect is found out. Each case breaks one invariant on purpose, by a change after an apply as if the provider had made it.
func TestInvariants_canFail(t *testing.T) {
	t.Parallel()
	applied := []Step{{Do: Join, On: A, Hosts: []int{1}, To: ByAddress}, {Do: Apply, On: A}}
	running := append([]Step{{Do: SetEnsure, On: A, To: "running"}}, applied...)
	foreign := append([]Step{{Do: Console, To: actRegister, Hosts: []int{2}}}, applied...)
	operated := append(append([]Step{}, running...), Step{Do: Operate, To: "restart"})
	// registers and does return changes of a process. since makes a change only after that many steps.
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
			providertest.Check(t, breach != nil && breach.Invariant == c.invariant && breach.Kind == c.kind,
				"found %v, want invariant %d (%s)", breach, c.invariant, c.kind)
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

// defect is one that the provider had, or nearly had. Replacing Code in File by Instead puts it back. FoundBy names the
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

// Each defect is found by a history, and the code that fixes it is in the file that the table names.
func TestDefects(t *testing.T) {
	t.Parallel()
	for _, d := range defects(t) {
		providertest.Check(t, len(d.FoundBy) > 0, "%s: no history finds it", d.Title)
		d.without(t)
		for _, name := range d.FoundBy {
			_, is := found[name]
			providertest.Check(t, is, "%s: there is no history %q", d.Title, name)
		}
	}
}

// Each defect, put back alone, is found by the histories that it names. This builds the provider once for each
// defect, so only the long job runs it, with BK_TEST_DEFECTS=all.
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
			said, _ := run.CombinedOutput() // the tests are expected to fail
			var finds []string
			for _, match := range failed.FindAllStringSubmatch(string(said), -1) {
				finds = append(finds, match[1])
			}
			for _, name := range d.FoundBy {
				providertest.Check(t, slices.Contains(finds, name), "%s does not find it, only %v\n%s", name, finds, said)
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
