package histories

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Invariant is the number of a sentence that holds whatever happens.
type Invariant int

const (
	// EndsAsDeclared: once the faults stop, whatever is declared and reachable becomes as declared
	// within two applies, and the next plan is empty.
	EndsAsDeclared Invariant = iota + 1
	// LeavesOthersAlone: what belongs to another owner is never changed, stopped or unregistered.
	LeavesOthersAlone
	// DoesNoMore: a declared process is never stopped, started, restarted, killed or unregistered unless the configuration said so.
	DoesNoMore
	// ReachesOnce: no operation reaches an agent twice.
	ReachesOnce
	// TellsTheTruth: after a destroy that exits 0, nothing of the object is hosted, and state never omits a host that the object owns.
	TellsTheTruth
	// PlansTheTruth: a plan that says "no changes" is followed by an apply that changes nothing.
	PlansTheTruth
	// Refuses: a change that takes two applies is refused before any call, and nothing else is refused.
	Refuses
)

// Breach is an invariant that did not hold.
type Breach struct {
	Invariant Invariant
	Kind      string // what went wrong, in a word; a shrunk history must break in the same way
	Step      int    // from 1; the steps' number plus one is the end of the history
	Machine   int
	Text      string
}

func (b *Breach) String() string {
	return fmt.Sprintf("invariant %d (%s) does not hold after step %d, machine %d:\n%s", b.Invariant, b.Kind, b.Step, b.Machine, b.Text)
}

// Truth is the real state of the process on one machine.
type Truth = simulator.MachineProcess

// console is the owner of what no configuration registered.
const console = "console"

// claim says who owns the process on a machine.
type claim struct {
	owner string // an object, the console, or empty
	// lapsed is the object that owned it until another one unregistered it.
	lapsed string
	// unaware are the earlier owners that have not looked since another object registered the process. If that object
	// unregisters it, they see their own registration gone.
	unaware map[string]bool
	// unsure: the design leaves open who owns it.
	unsure bool
}

// overtaken returns the objects that are unaware of it once another owner has registered the process.
func (c claim) overtaken(by string) map[string]bool {
	unaware := make(map[string]bool)
	maps.Copy(unaware, c.unaware)
	for _, was := range []string{c.owner, c.lapsed} {
		if was != "" && was != console {
			unaware[was] = true
		}
	}
	delete(unaware, by)
	return unaware
}

// model maps each machine to its claim. It follows what happens on the machines, not what the provider says or does.
type model map[int]claim

// unit describes what one apply of one object was to do, and the result.
type unit struct {
	object    string
	want      *declaration    // nil for a destroy
	had       map[int]bool    // machines in the object's state before
	hadAs     map[string]bool // their names there
	letGo     []string        // the values of on_destroy, earlier and current
	moves     map[int]bool    // machines in the state of its successor
	replaced  bool            // destroyed and then created
	first     bool            // there was nothing in state
	failed    bool
	killed    bool // nothing was saved
	calm      bool // no fault was active and nothing interrupted it
	current   bool // the cached status was read, and is current
	perName   bool // the platform keeps an entry for each name of a machine
	timeless  bool // no agent shows that a process is registered that it does not host
	before    map[int]Truth
	after     map[int]Truth
	done      map[int][]simulator.Execution
	named     map[int]bool // machines in its state afterwards
	outOfSync map[int]bool
	said      string
}

var operations = []string{"start", "stop", "restart", "reload", "kill"}

// judge compares what was done with who owns it, and records the new owner. It returns the first breach.
func (m model) judge(u unit) *Breach {
	var found *Breach
	machines := slices.Sorted(maps.Keys(u.before))
	for _, machine := range machines {
		for _, check := range []func(unit, int) *Breach{m.others, m.more, m.twice} {
			if b := check(u, machine); b != nil && found == nil {
				b.Machine = machine
				b.Text += fmt.Sprintf("\nit was %s\n%s", m[machine], u.seen(machine))
				found = b
			}
		}
	}
	for _, machine := range machines {
		if b := m.gone(u, machine); b != nil && found == nil {
			found = b
		}
		m.learn(u, machine)
		if b := m.forgotten(u, machine); b != nil && found == nil {
			found = b
		}
		if found != nil && found.Machine == 0 {
			found.Machine = machine
			found.Text += "\n" + u.seen(machine)
		}
	}
	return found
}

func (m model) others(u unit, machine int) *Breach {
	c, before, after := m[machine], u.before[machine], u.after[machine]
	if c.unsure || reflect.DeepEqual(before, after) || u.timeless && !before.Hosted {
		return nil
	}
	declared := u.want.has(machine)
	switch {
	case c.owner == console && (!declared || !u.want.Adopt) && !besides(before, after):
		return &Breach{Invariant: LeavesOthersAlone, Kind: "foreign", Text: "it belongs to another owner, and was changed"}
	case c.owner == "" && c.lapsed != u.object && !c.unaware[u.object] && !declared:
		return &Breach{Invariant: LeavesOthersAlone, Kind: "undeclared", Text: "it is not declared, and was changed"}
	case c.owner != "" && c.owner != console && c.owner != u.object && !declared && !putBack(before, after) && (u.current || !leftOthers(before, after)):
		return &Breach{Invariant: LeavesOthersAlone, Kind: "sibling", Text: "it belongs to another object, and was changed"}
	}
	return nil
}

// besides reports whether the only change is an entry under the machine's other name, and the process was
// neither hosted nor running. No platform reports such an entry.
func besides(before, after Truth) bool {
	return !before.Hosted && (!before.Running || before.PID == after.PID) && len(after.Entries) > len(before.Entries) &&
		!slices.ContainsFunc(before.Entries, func(was simulator.Entry) bool {
			return !slices.ContainsFunc(after.Entries, func(is simulator.Entry) bool { return reflect.DeepEqual(was, is) })
		})
}

func (m model) more(u unit, machine int) *Breach {
	c, before, after := m[machine], u.before[machine], u.after[machine]
	var (
		declared = u.want.has(machine)
		ours     = c.owner == u.object || c.lapsed == u.object || c.unsure || c.owner == "" && c.unaware[u.object]
		// If another object unregistered it, the object that still declares it may replace it.
		orphaned = c.owner == "" && declared && u.replaced && u.had[machine]
		leaves   = ours && (!declared || u.replaced) || orphaned
		mayStop  = leaves && (slices.Contains(u.letGo, "stop") || slices.Contains(u.letGo, "kill"))
		// A replacement starts again what it stopped, unless ensure = "registered".
		mayStart = declared && (u.want.Ensure == "running" || u.want.Ensure != "registered" && before.Running && mayStop)
	)
	switch {
	case before.Running && !after.Running && !mayStop:
		return &Breach{Invariant: DoesNoMore, Kind: "stopped", Text: "it ran, and was stopped"}
	case before.Running && after.Running && before.PID != after.PID && (!mayStop || !mayStart):
		return &Breach{Invariant: DoesNoMore, Kind: "restarted", Text: "it runs with another pid"}
	case !before.Running && after.Running && !mayStart:
		return &Breach{Invariant: DoesNoMore, Kind: "started", Text: "it was started, which was not declared"}
	case before.Hosted && !after.Hosted && u.calm && declared && c.owner == u.object && !u.replaced:
		return &Breach{Invariant: DoesNoMore, Kind: "let-go", Text: "it is declared, was hosted and is not any more"}
	}
	return nil
}

func (m model) twice(u unit, machine int) *Breach {
	reached := make(map[string]bool)
	for _, e := range u.done[machine] {
		if !slices.Contains(operations, e.Action) {
			continue
		}
		if reached[e.Action] {
			return &Breach{Invariant: ReachesOnce, Kind: e.Action, Text: "it reached the agent twice in one apply"}
		}
		reached[e.Action] = true
	}
	return nil
}

// gone checks that a successful destroy has unregistered everything, and stopped it if on_destroy says so.
func (m model) gone(u unit, machine int) *Breach {
	c, after := m[machine], u.after[machine]
	if u.want != nil || u.failed || c.unsure {
		return nil
	}
	ours := c.owner == u.object
	switch {
	case ours && after.Hosted:
		return &Breach{Invariant: TellsTheTruth, Kind: "still-hosted", Text: "the destroy is done, and it is hosted"}
	case ours && after.Registered() && !leftOthers(u.before[machine], after) && !u.leftTheirs(after):
		return &Breach{Invariant: TellsTheTruth, Kind: "still-registered", Text: "the destroy is done, and it is registered"}
	case (ours || c.lapsed == u.object) && u.had[machine] && !u.moves[machine] && u.anyLeft() && after.Running && !slices.Contains(u.letGo, "unregister"):
		return &Breach{Invariant: TellsTheTruth, Kind: "still-running", Text: "the destroy was to stop it and is done, and it runs"}
	}
	return nil
}

// theirs reports whether an entry is the console's. The console also hosts without a spec.
func theirs(e simulator.Entry) bool { return strings.Contains(e.Spec, "./console.sh") || e.Spec == "" }

// leftOthers reports whether one of two entries is left, and another owner registered it: the console, or another object under the
// machine's other name. An agent uses one name, so the process may no longer be hosted, or may be hosted again as before.
func leftOthers(before, after Truth) bool {
	if len(before.Entries) < 2 || len(after.Entries) != 1 || after.Hosted && !putBack(before, after) {
		return false
	}
	left := after.Entries[0]
	return !slices.ContainsFunc(before.Entries, func(e simulator.Entry) bool {
		return e.Host != left.Host && e.Labels[ownerLabel] == left.Labels[ownerLabel]
	})
}

// putBack reports whether a process is hosted and running as before, with one entry less.
func putBack(before, after Truth) bool {
	return before.Hosted && after.Hosted && before.Running == after.Running && before.PID == after.PID &&
		len(before.Entries) == 2 && len(after.Entries) == 1 && slices.ContainsFunc(before.Entries, func(e simulator.Entry) bool {
		left := after.Entries[0]
		return e.Host == left.Host && e.Spec == left.Spec && maps.Equal(e.Labels, left.Labels)
	})
}

// leftTheirs reports whether the only entry left is one that the console registered under a name that the object never
// had. If the console overwrote a registration, only the object's own entry could be unregistered.
func (u unit) leftTheirs(after Truth) bool {
	return after.Registered() && !after.Hosted && !slices.ContainsFunc(after.Entries, func(e simulator.Entry) bool {
		return !theirs(e) || u.hadAs[e.Host]
	})
}

// namesOwner reports whether an entry has an owner label. In the simulator, a process that keeps running after it was unregistered
// keeps its labels. If it is hosted again later, its entry has that object's label.
func namesOwner(is Truth) bool {
	return slices.ContainsFunc(is.Entries, func(e simulator.Entry) bool { return e.Labels[ownerLabel] != "" })
}

// ownerLabel holds the id of the object that registered the process.
const ownerLabel = "tf_spec_owner"

// anyLeft reports whether there was anything to destroy. Terraform drops a resource that is registered nowhere.
func (u unit) anyLeft() bool {
	for machine := range u.had {
		if held(u.before[machine]) {
			return true
		}
	}
	return false
}

func held(is Truth) bool { return is.Hosted || is.Registered() }

func registers(e simulator.Execution) bool {
	return e.Code == simulator.CodeOK && slices.Contains([]string{"register", "update", "host"}, e.Action)
}

func starts(e simulator.Execution) bool { return e.Code == simulator.CodeOK && e.Action == "start" }

// learn records the new owner: the object that registered last, or the one that has had it in state since its create.
func (m model) learn(u unit, machine int) {
	c := m[machine]
	// Starting a process that is not hosted also hosts it, with the labels of the start.
	registered := slices.ContainsFunc(u.done[machine], registers) || !held(u.before[machine]) && held(u.after[machine])
	taken := u.first && u.want.has(machine) && !u.failed && u.named[machine] && !u.outOfSync[machine] && c.owner != console
	if u.sees(machine) && c.owner != u.object {
		delete(c.unaware, u.object)
	}
	if registered || taken {
		c = claim{owner: u.object, unsure: c.owner == console && !u.want.Adopt, unaware: c.overtaken(u.object)}
	}
	if c.owner != u.object && len(u.before[machine].Entries) > 1 && slices.ContainsFunc(u.done[machine], starts) {
		c = claim{unsure: true} // starting a process that is hosted under the other name only also hosts it under this one
	}
	if leftOthers(u.before[machine], u.after[machine]) || c.owner == u.object && !u.named[machine] && u.leftTheirs(u.after[machine]) {
		c = claim{unsure: true}
	}
	if is := u.after[machine]; c.owner == u.object && u.named[machine] && !held(is) {
		c.unaware = c.overtaken("") // it was unregistered, and the object is unaware of that
	}
	if c.lapsed == u.object && !u.named[machine] {
		c.lapsed = ""
	}
	m[machine] = c.nowThat(u.after[machine])
}

// sees reports whether an object finds the latest registration of a machine under its own name for it.
func (u unit) sees(machine int) bool {
	entries := u.before[machine].Entries
	return u.current && len(entries) == 1 && (!u.perName || u.hadAs[entries[0].Host])
}

// nowThat drops the claim if the process is neither hosted nor registered.
func (c claim) nowThat(is Truth) claim {
	if held(is) {
		return c
	}
	return claim{lapsed: c.lapsed, unaware: c.unaware}
}

func (m model) forgotten(u unit, machine int) *Breach {
	c := m[machine]
	if u.killed && c.owner == u.object && !u.named[machine] { // state was never written
		c.unsure = true
		m[machine] = c
	}
	if !c.unsure && c.owner == u.object && !u.named[machine] {
		return &Breach{Invariant: TellsTheTruth, Kind: "forgotten", Text: "the object owns it, and state does not name it"}
	}
	return nil
}

// note drops a claim if an operation ended the process. What an operation leaves where nothing was
// registered has no owner: an operation does not register and sends no owner. On some platforms it takes the owner away.
func (m model) note(machine int, is Truth) {
	c := m[machine]
	if held(is) && (c.owner == "" || c.owner != console && !namesOwner(is)) {
		c.unsure = true
	}
	m[machine] = c.nowThat(is)
}

// acted records an act at the console. objects are those whose state names the machine. inDoubt says that
// one of them does not know whether its registration took effect.
func (m model) acted(act string, machine int, before, after Truth, objects []string, inDoubt bool) {
	c := m[machine]
	if leftOthers(before, after) {
		c = claim{unsure: true}
	}
	if act == actRegister || act == actHost {
		switch {
		case c.owner == "" && (c.lapsed != "" || len(objects) > 0 || namesOwner(after)):
			c = claim{owner: console, unsure: true, unaware: c.overtaken(console)}
		case c.owner == "":
			c = claim{owner: console, unaware: c.unaware}
		case c.owner != console && (len(objects) > 1 || inDoubt):
			c.unsure = true
		}
	}
	if !held(after) {
		lapsed := c.lapsed
		if c.owner != console && c.owner != "" {
			lapsed = c.owner
		}
		c = claim{lapsed: lapsed, unaware: c.unaware}
	}
	m[machine] = c
}

func (u unit) seen(machine int) string {
	return seen(u.before[machine], u.after[machine], u.done[machine], u.said)
}

func seen(before, after Truth, done []simulator.Execution, said string) string {
	return fmt.Sprintf("before: %s\nafter:  %s\ndone:   %s\nsaid:   %s", describe(before), describe(after), describeDone(done), strings.TrimSpace(said))
}

func describe(is Truth) string {
	words := []string{"not hosted", "not running"}
	if is.Hosted {
		words[0] = "hosted"
	}
	if is.Running {
		words[1] = fmt.Sprintf("running (pid %d)", is.PID)
	}
	for _, e := range is.Entries {
		_, start, _ := strings.Cut(e.Spec, `"start_cmd":`)
		start, _, _ = strings.Cut(start, ",")
		words = append(words, fmt.Sprintf("entry %s: %s %v", e.Host, start, e.Labels))
	}
	return strings.Join(words, ", ")
}

func describeDone(done []simulator.Execution) string {
	words := make([]string, len(done))
	for i, e := range done {
		words[i] = fmt.Sprintf("%s %s (%d)", e.Action, e.Host, e.Code)
	}
	return strings.Join(words, ", ")
}

func (c claim) String() string {
	words := []string{cmp.Or(c.owner, "no one") + "'s"}
	if c.lapsed != "" {
		words = append(words, "once "+c.lapsed+"'s")
	}
	if c.unsure {
		words = append(words, "perhaps")
	}
	return strings.Join(words, ", ")
}
