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

// Invariant is one of the sentences that hold whatever happens, by its number.
type Invariant int

const (
	// EndsAsDeclared: what is declared and reachable ends as declared after the faults
	// stop, in at most two applies, and the plan after that is empty.
	EndsAsDeclared Invariant = iota + 1
	// LeavesOthersAlone: what is not ours is never changed, stopped or unregistered.
	LeavesOthersAlone
	// DoesNoMore: a declared process is never stopped, started, restarted, killed or unregistered unless the configuration said so.
	DoesNoMore
	// ReachesOnce: no operation reaches an agent twice.
	ReachesOnce
	// TellsTheTruth: after a destroy that exits 0 nothing of ours is hosted, and state never names less than what is ours.
	TellsTheTruth
	// PlansTheTruth: a plan that says "no changes" is followed by an apply that changes nothing.
	PlansTheTruth
	// Refuses: what takes two applies is refused in one, which changes nothing; and nothing else is.
	Refuses
)

// Breach is an invariant that did not hold.
type Breach struct {
	Invariant Invariant
	Kind      string // what went wrong, in a word: a shrunk history breaks the same
	Step      int    // from 1; one more than there are for what is done at the end
	Machine   int
	Text      string
}

func (b *Breach) String() string {
	return fmt.Sprintf("invariant %d (%s) does not hold after step %d, machine %d:\n%s", b.Invariant, b.Kind, b.Step, b.Machine, b.Text)
}

// Truth is what is true of the process on one machine.
type Truth = simulator.MachineProcess

// console owns what no configuration does.
const console = "console"

// claim is whose the process on a machine is.
type claim struct {
	owner string // an object, the console or nobody
	// lapsed is the object whose it was until somebody else unregistered it.
	lapsed string
	// unheard are the objects whose it was before another registered it, and that have not looked since. When that one
	// has unregistered, it looks to them like their own that somebody has unregistered.
	unheard map[string]bool
	// unsure: the design leaves open whose it is.
	unsure bool
}

// overtaken are the objects that have not heard of it once another has registered it.
func (c claim) overtaken(by string) map[string]bool {
	unheard := make(map[string]bool)
	maps.Copy(unheard, c.unheard)
	for _, was := range []string{c.owner, c.lapsed} {
		if was != "" && was != console {
			unheard[was] = true
		}
	}
	delete(unheard, by)
	return unheard
}

// model is all that is known of the machines. It sees what is true on them, and not what the provider says or does.
type model map[int]claim

// unit is what one apply of one object was to do, and its result.
type unit struct {
	object    string
	want      *declaration    // nil of a destroy
	had       map[int]bool    // machines in its state before
	hadAs     map[string]bool // their names there
	letGo     []string        // on_destroy, as it was and as it is
	moves     map[int]bool    // machines that its successor has in state
	replaced  bool            // destroyed and then created
	first     bool            // there was nothing in state
	failed    bool
	calm      bool // nothing went wrong at the platform, and nobody interrupted
	heard     bool // the cached status was read, and is as it should be
	perName   bool // the platform keeps an entry for each name of a machine
	before    map[int]Truth
	after     map[int]Truth
	done      map[int][]simulator.Execution
	named     map[int]bool // machines in its state afterwards
	outOfSync map[int]bool
	said      string
}

var operations = []string{"start", "stop", "restart", "reload", "kill"}

// judge compares what was done with whose it was, and notes whose it is now. It gives the first thing that is wrong.
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
	if c.unsure || reflect.DeepEqual(before, after) {
		return nil
	}
	declared := u.want.has(machine)
	switch {
	case c.owner == console && (!declared || !u.want.Adopt) && !besides(before, after):
		return &Breach{Invariant: LeavesOthersAlone, Kind: "foreign", Text: "it is somebody else's, and was changed"}
	case c.owner == "" && c.lapsed != u.object && !c.unheard[u.object] && !declared:
		return &Breach{Invariant: LeavesOthersAlone, Kind: "undeclared", Text: "nobody declared it, and it was changed"}
	case c.owner != "" && c.owner != console && c.owner != u.object && !declared && !putBack(before, after) && (u.heard || !leftOthers(before, after)):
		return &Breach{Invariant: LeavesOthersAlone, Kind: "sibling", Text: "it is another object's, and was changed"}
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
		ours     = c.owner == u.object || c.lapsed == u.object || c.unsure || c.owner == "" && c.unheard[u.object]
		// What nobody holds any more, another object having unregistered it, is for the object that still declares it to replace.
		orphaned = c.owner == "" && declared && u.replaced && u.had[machine]
		leaves   = ours && (!declared || u.replaced) || orphaned
		mayStop  = leaves && (slices.Contains(u.letGo, "stop") || slices.Contains(u.letGo, "kill"))
		// What a replacement has stopped is started again, but with ensure = "registered".
		mayStart = declared && (u.want.Ensure == "running" || u.want.Ensure != "registered" && before.Running && mayStop)
	)
	switch {
	case before.Running && !after.Running && !mayStop:
		return &Breach{Invariant: DoesNoMore, Kind: "stopped", Text: "it ran, and was stopped"}
	case before.Running && after.Running && before.PID != after.PID && (!mayStop || !mayStart):
		return &Breach{Invariant: DoesNoMore, Kind: "restarted", Text: "it runs with another pid"}
	case !before.Running && after.Running && !mayStart:
		return &Breach{Invariant: DoesNoMore, Kind: "started", Text: "nobody wanted it started"}
	case before.Hosted && !after.Hosted && u.calm && declared && c.owner == u.object && !u.replaced:
		return &Breach{Invariant: DoesNoMore, Kind: "let-go", Text: "it is declared, was hosted and is not any more"}
	}
	return nil
}

func (m model) twice(u unit, machine int) *Breach {
	heard := make(map[string]bool)
	for _, e := range u.done[machine] {
		if !slices.Contains(operations, e.Action) {
			continue
		}
		if heard[e.Action] {
			return &Breach{Invariant: ReachesOnce, Kind: e.Action, Text: "the agent heard of it twice in one apply"}
		}
		heard[e.Action] = true
	}
	return nil
}

// gone: a destroy that says it is done has unregistered everything, and stopped it if it was to.
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

// theirs reports whether an entry is the console's, which also hosts without a spec.
func theirs(e simulator.Entry) bool { return strings.Contains(e.Spec, "./console.sh") || e.Spec == "" }

// leftOthers reports whether only one of two entries is left, which another owner registered: the console, or another object by the
// machine's other name. It may not be hosted any more, because an agent uses one name, or it may have been restored.
func leftOthers(before, after Truth) bool {
	if len(before.Entries) < 2 || len(after.Entries) != 1 || after.Hosted && !putBack(before, after) {
		return false
	}
	left := after.Entries[0]
	return !slices.ContainsFunc(before.Entries, func(e simulator.Entry) bool {
		return e.Host != left.Host && e.Labels[ownerLabel] == left.Labels[ownerLabel]
	})
}

// putBack reports whether a process is hosted as it was, with an entry less.
func putBack(before, after Truth) bool {
	return before.Hosted && after.Hosted && before.Running == after.Running && before.PID == after.PID &&
		len(before.Entries) == 2 && len(after.Entries) == 1 && slices.ContainsFunc(before.Entries, func(e simulator.Entry) bool {
		left := after.Entries[0]
		return e.Host == left.Host && e.Spec == left.Spec && maps.Equal(e.Labels, left.Labels)
	})
}

// leftTheirs reports whether the only entry left is one that the console registered under a name that the object never
// had. Of what the console has overwritten, only the object's own entry could be unregistered.
func (u unit) leftTheirs(after Truth) bool {
	return after.Registered() && !after.Hosted && !slices.ContainsFunc(after.Entries, func(e simulator.Entry) bool {
		return !theirs(e) || u.hadAs[e.Host]
	})
}

// namesOwner reports whether an entry names an object. A process that keeps running after it was unregistered keeps its
// labels in the simulator. A later hosting then carries that object's label, which cannot be distinguished.
func namesOwner(is Truth) bool {
	return slices.ContainsFunc(is.Entries, func(e simulator.Entry) bool { return e.Labels[ownerLabel] != "" })
}

// ownerLabel carries the id of the object that registered.
const ownerLabel = "tf_spec_owner"

// anyLeft reports whether there was anything to destroy: a process that is registered nowhere any more is no resource.
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

// learn notes whose it is now: whoever registered it last, or who says since its create that it has it.
func (m model) learn(u unit, machine int) {
	c := m[machine]
	// To start what nobody holds hosts it too, by the labels that the start was sent with.
	registered := slices.ContainsFunc(u.done[machine], registers) || !held(u.before[machine]) && held(u.after[machine])
	taken := u.first && u.want.has(machine) && !u.failed && u.named[machine] && !u.outOfSync[machine] && c.owner != console
	if u.sees(machine) && c.owner != u.object {
		delete(c.unheard, u.object)
	}
	if registered || taken {
		c = claim{owner: u.object, unsure: c.owner == console && !u.want.Adopt, unheard: c.overtaken(u.object)}
	}
	if c.owner != u.object && len(u.before[machine].Entries) > 1 && slices.ContainsFunc(u.done[machine], starts) {
		c = claim{unsure: true} // to start what is not hosted by this name, and is by the other, is to host it by this one
	}
	if leftOthers(u.before[machine], u.after[machine]) || c.owner == u.object && !u.named[machine] && u.leftTheirs(u.after[machine]) {
		c = claim{unsure: true}
	}
	if is := u.after[machine]; c.owner == u.object && u.named[machine] && !held(is) {
		c.unheard = c.overtaken("") // it was unregistered, and the object has not heard of that
	}
	if c.lapsed == u.object && !u.named[machine] {
		c.lapsed = ""
	}
	m[machine] = c.nowThat(u.after[machine])
}

// sees reports whether an object finds the latest registration of a machine by its own name of it.
func (u unit) sees(machine int) bool {
	entries := u.before[machine].Entries
	return u.heard && len(entries) == 1 && (!u.perName || u.hadAs[entries[0].Host])
}

// nowThat drops a claim to what is not there any more.
func (c claim) nowThat(is Truth) claim {
	if held(is) {
		return c
	}
	return claim{lapsed: c.lapsed, unheard: c.unheard}
}

func (m model) forgotten(u unit, machine int) *Breach {
	if c := m[machine]; !c.unsure && c.owner == u.object && !u.named[machine] {
		return &Breach{Invariant: TellsTheTruth, Kind: "forgotten", Text: "it is ours, and state does not name it"}
	}
	return nil
}

// note drops a claim to what an operation has ended. What one has left where nothing was
// registered is nobody's: an operation is no registration, and names no owner.
func (m model) note(machine int, is Truth) {
	c := m[machine]
	if c.owner == "" && held(is) {
		c.unsure = true
	}
	m[machine] = c.nowThat(is)
}

// acted notes what somebody did at the console. objects are those whose state names
// the machine, and inDoubt whether one of them never heard whether it was registered.
func (m model) acted(act string, machine int, before, after Truth, objects []string, inDoubt bool) {
	c := m[machine]
	if leftOthers(before, after) {
		c = claim{unsure: true}
	}
	if act == actRegister || act == actHost {
		switch {
		case c.owner == "" && (c.lapsed != "" || len(objects) > 0 || namesOwner(after)):
			c = claim{owner: console, unsure: true, unheard: c.overtaken(console)}
		case c.owner == "":
			c = claim{owner: console, unheard: c.unheard}
		case c.owner != console && (len(objects) > 1 || inDoubt):
			c.unsure = true
		}
	}
	if !held(after) {
		lapsed := c.lapsed
		if c.owner != console && c.owner != "" {
			lapsed = c.owner
		}
		c = claim{lapsed: lapsed, unheard: c.unheard}
	}
	m[machine] = c
}

func (u unit) seen(machine int) string {
	return seen(u.before[machine], u.after[machine], u.done[machine], u.said)
}

func seen(before, after Truth, done []simulator.Execution, said string) string {
	return fmt.Sprintf("before: %s\nafter:  %s\ndone:   %s\nsaid:   %s", told(before), told(after), toldDone(done), strings.TrimSpace(said))
}

func told(is Truth) string {
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

func toldDone(done []simulator.Execution) string {
	words := make([]string, len(done))
	for i, e := range done {
		words[i] = fmt.Sprintf("%s %s (%d)", e.Action, e.Host, e.Code)
	}
	return strings.Join(words, ", ")
}

func (c claim) String() string {
	words := []string{cmp.Or(c.owner, "nobody") + "'s"}
	if c.lapsed != "" {
		words = append(words, "once "+c.lapsed+"'s")
	}
	if c.unsure {
		words = append(words, "perhaps")
	}
	return strings.Join(words, ", ")
}
