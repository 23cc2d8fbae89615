package histories

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// settle ends every history: faults are repaired, everything is applied until it is as declared, and then destroyed.
func (w *world) settle() {
	w.repair()
	w.sim.ThawStatus()
	w.sim.SetLag(0)
	w.unsteady, w.stale = false, false
	for machine := 1; machine <= w.history.Machines; machine++ {
		w.sim.SetReachable(address(machine), true)
	}
	for _, c := range w.configs {
		clear(c.want.Doubled)
	}
	w.givesIn()
	if w.byAgent() { // the ESB does not know agent ids
		w.settings["gateway"] = string(providertest.FaceGateway)
	}
	if w.compete() && !w.ends(w.configs[B]) {
		w.fail(&Breach{Invariant: EndsAsDeclared, Kind: "destroy-fails", Text: "nothing is wrong any more, and b cannot be destroyed"})
	}
	for _, name := range []string{A, B} {
		c := w.configs[name]
		if c.name == B && w.compete() {
			continue
		}
		if len(c.want.Forms) > 0 || c.object.last != nil {
			w.converge(c)
		}
	}
	if w.op.name != "" {
		w.operate(Step{})
		w.operate(Step{})
		for machine := range w.configs[A].want.Forms {
			if w.op.tried[machine] != w.op.key() {
				w.fail(&Breach{Invariant: EndsAsDeclared, Kind: "never-ran", Machine: machine, Text: "the operation " + w.op.key() + " never reached it"})
			}
		}
	}
	for _, name := range []string{B, A} {
		if !w.ends(w.configs[name]) {
			w.fail(&Breach{Invariant: EndsAsDeclared, Kind: "destroy-fails", Text: "nothing is wrong any more, and " + name + " cannot be destroyed"})
		}
	}
}

// compete reports whether both configurations declare or hold the same machine. Then each undoes what the other does.
func (w *world) compete() bool {
	a, b := w.configs[A], w.configs[B]
	held := w.inState(b.object, "hosts")
	for machine := range b.want.Forms {
		held[machine] = true
	}
	for _, o := range b.deposed {
		for machine := range w.inState(o, "hosts") {
			held[machine] = true
		}
	}
	for machine := range held {
		if a.want.has(machine) || w.inState(a.object, "hosts")[machine] {
			return b.object.last != nil || len(b.want.Forms) > 0
		}
	}
	return false
}

// converge applies at most twice, after which nothing is left to do.
func (w *world) converge(c *config) {
	w.leavesFirst(c)
	w.apply(c, Step{})
	ended := w.apply(c, Step{Planned: true})
	if c.object.kept.Tainted && w.undecided(nil, c.object) {
		return // what cannot be unregistered cannot be replaced
	}
	open := false // if a machine belongs to another owner, there is no end, and waves stop
	for machine := 1; machine <= w.history.Machines; machine++ {
		if !c.want.has(machine) {
			continue
		}
		w.concede(c, machine)
		claim := w.model[machine]
		if claim.unsure || claim.owner == console && !c.want.Adopt {
			open = true
		}
	}
	for machine := 1; machine <= w.history.Machines; machine++ {
		claim := w.model[machine]
		if !c.want.has(machine) || claim.unsure || claim.owner == console && !c.want.Adopt || open && c.want.Waves > 0 {
			continue
		}
		if wrong := w.wrongWith(&c.want, machine); wrong != "" {
			w.fail(&Breach{Invariant: EndsAsDeclared, Kind: "not-as-declared", Machine: machine, Text: fmt.Sprintf(
				"%s: %s\nstate: %s", wrong, describe(w.look(process)[machine]), w.stateOf(c.object))})
		}
	}
	if open || ended || len(c.want.Forms) == 0 || w.undecided(nil, c.deposed...) || w.undecided(&c.want, c.object) || w.apply(c, Step{Planned: true}) {
		return
	}
	w.fail(&Breach{Invariant: EndsAsDeclared, Kind: "plan-not-empty", Text: "after two applies there is something to do\nstate: " + w.stateOf(c.object)})
}

// concede leaves a machine to the console if the console has the entry under the declared name, on a
// platform with an entry per name. No platform reports the other entry.
func (w *world) concede(c *config, machine int) {
	if !w.history.EntryPerName || w.upgraded[machine] {
		return
	}
	name := nameOnFile(machine, c.want.Forms[machine])
	if slices.ContainsFunc(w.look(process)[machine].Entries, func(e simulator.Entry) bool { return e.Host == name && theirs(e) }) {
		w.model[machine] = claim{owner: console, unsure: true}
	}
}

// ends reports whether a configuration can be destroyed. If a platform keeps an entry for each
// name, a machine may first have to be unregistered under one of them.
func (w *world) ends(c *config) bool {
	ended := func() bool { return !w.destroy(c, Step{}) || w.undecided(nil, c.objectsLeft()...) }
	return ended() || w.history.EntryPerName && ended()
}

// undecided reports whether objects are right to keep hosts that are not declared. The agents of these machines host the process,
// and no platform reports whether it has another owner under the other name. With waves, the remaining hosts are then not tried.
func (w *world) undecided(declared *declaration, objects ...*object) bool {
	stays := make(map[string]bool)
	if declared != nil {
		for machine, form := range declared.Forms {
			stays[nameOnFile(machine, form)] = true
		}
	}
	truths, left, own, waves := w.look(process), 0, false, false
	for _, o := range objects {
		waves = waves || o.last != nil && o.last.Waves > 0
		owner, _ := w.idle.CoreOf(providertest.HostedType, o.kept).Attribute("owner").(string)
		for name := range w.namesInState(o) {
			is := truths[machineOf(name)]
			if stays[name] {
				continue
			}
			if !is.Hosted || slices.ContainsFunc(is.Entries, func(e simulator.Entry) bool { return e.Host == name || owner != "" && e.Labels[ownerLabel] == owner }) {
				own = true
				continue
			}
			left++
		}
	}
	return left > 0 && (!own || waves)
}

func (w *world) stateOf(o *object) string {
	core := w.idle.CoreOf(providertest.HostedType, o.kept)
	return fmt.Sprint(core.Reasons("hosts"), core.Reasons("out_of_sync"))
}

// overtakes reports whether another object registered under the given name after the entry e under the other name.
func overtakes(is Truth, name string, e simulator.Entry) bool {
	return slices.ContainsFunc(is.Entries, func(later simulator.Entry) bool {
		return later.Host == name && later.Labels[ownerLabel] != e.Labels[ownerLabel] && later.RegisterTime > e.RegisterTime
	})
}

func (w *world) wrongWith(d *declaration, machine int) string {
	truth := w.look(process)[machine]
	entries := truth.Entries
	if w.history.EntryPerName && !w.upgraded[machine] {
		// Another owner's entry under the other name stays if no platform reports it, or if unregistering
		// it would unregister this one. So does what an operation has left there.
		name := nameOnFile(machine, d.Forms[machine])
		entries = slices.DeleteFunc(slices.Clone(entries), func(e simulator.Entry) bool {
			return theirs(e) || e.Host != name && (e.Labels[ownerLabel] == "" || overtakes(truth, name, e))
		})
		switch {
		case len(entries) > 1:
			return "there are entries under both names"
		case len(entries) == 1 && entries[0].Host != name:
			return "there is no entry under its name"
		}
	}
	switch {
	case len(entries) == 0:
		return "it is not registered"
	case !strings.Contains(entries[0].Spec, fmt.Sprintf("%q:%q", "start_cmd", d.Start)):
		return "it is registered with another spec"
	case entries[0].Labels["team"] != d.Label, entries[0].Labels["site"] != w.labels["site"]:
		return "it is registered with other labels"
	case d.Ensure != "registered" && !truth.Hosted:
		return "it is not hosted"
	case d.Ensure == "running" && !truth.Running:
		return "it does not run"
	}
	return ""
}

// refuses returns why an apply must be refused, or "".
func (w *world) refuses(o *object, u unit) string {
	if u.want == nil || u.first || o.kept.Tainted {
		return ""
	}
	for machine, form := range u.want.Forms {
		if form == ByAgent && u.want.Doubled[machine] {
			form = otherForm(form)
		}
		if id, held := o.suppliers[machine]; held && form != ByAgent && fmt.Sprint(id) != fmt.Sprint(o.suppliedBy(form)) {
			return "which it keeps: write"
		}
	}
	return ""
}

// suppliedBy returns the supplier id of a machine of the object by its form of address.
func (o *object) suppliedBy(form string) any {
	if form == BySupplier {
		return ownSupplier
	}
	return o.supplier
}

var refusals = []string{"which it keeps: write"}

// notRenamed is the summary of a refused rename. Whether one is refused depends on the refresh before, so it is not predicted.
const notRenamed = "Hosts Cannot Be Renamed Now"

func renames(u unit) bool {
	var leaves, comes [2]bool // by address, by agent id
	for name := range u.hadAs {
		byID := 0
		if name == agentID(machineOf(name)) {
			byID = 1
		}
		if !u.want.has(machineOf(name)) || nameOnFile(machineOf(name), u.want.Forms[machineOf(name)]) != name {
			leaves[byID] = true
		}
	}
	for machine, form := range u.want.Forms {
		byID := 0
		if form == ByAgent {
			byID = 1
		}
		if !u.hadAs[nameOnFile(machine, form)] {
			comes[byID] = true
		}
	}
	return leaves[0] && comes[1] || leaves[1] && comes[0]
}

func (w *world) refusal(u unit, kind providertest.PlanKind, why, said string) *Breach {
	switch changes := w.sim.Changes(); {
	case kind == providertest.PlanCreate, kind == providertest.PlanReplace: // the earlier object no longer exists
		return nil
	case why != "" && !u.failed:
		return &Breach{Invariant: Refuses, Kind: "done", Text: "it is not refused\n" + said}
	case why != "" && len(changes) > 0:
		return &Breach{Invariant: Refuses, Kind: "called", Text: fmt.Sprintf("it is to be refused, and called %v\n%s", changes, said)}
	case strings.Contains(said, notRenamed) && !renames(u):
		return &Breach{Invariant: Refuses, Kind: "refused", Text: "nothing is renamed\n" + said}
	case strings.Contains(said, notRenamed) && len(changes) > 0:
		return &Breach{Invariant: Refuses, Kind: "called", Text: fmt.Sprintf("it is refused, and called %v\n%s", changes, said)}
	case why == "" && slices.ContainsFunc(refusals, func(words string) bool { return strings.Contains(said, words) }):
		return &Breach{Invariant: Refuses, Kind: "refused", Text: "nothing forbids it\n" + said}
	}
	return nil
}

func (w *world) ownerOf(o *object) any {
	return w.idle.CoreOf(providertest.HostedType, o.kept).Attribute("owner")
}

// supplied records the supplier id of machines, from their address or else from the object, which has that of the
// provider when it was created. They keep it as long as the object with this owner has them.
func (w *world) supplied(o *object, u unit, owner any) {
	names, replaced := w.namesInState(o), w.ownerOf(o) != owner
	if replaced {
		o.supplier = w.settings["bk_supplier_id"]
	}
	for machine := 1; machine <= w.history.Machines; machine++ {
		switch at := address(machine); {
		case !names[at]:
			delete(o.suppliers, machine)
		case !u.hadAs[at] || replaced:
			o.suppliers[machine] = o.supplier
			if u.want != nil {
				o.suppliers[machine] = o.suppliedBy(u.want.Forms[machine])
			}
		}
	}
}

// givesIn changes the configurations so that nothing in them is refused.
func (w *world) givesIn() {
	for _, c := range w.configs {
		names := w.namesInState(c.object)
		for machine, form := range c.want.Forms {
			switch {
			case c.object.kept.Tainted:
			case form == ByAgent && names[address(machine)]:
				c.want.Forms[machine] = ByAddress
			case form != ByAgent && names[agentID(machine)]:
				c.want.Forms[machine] = ByAgent
			}
		}
		for machine, form := range c.want.Forms {
			id, held := c.object.suppliers[machine]
			if !held || form == ByAgent || fmt.Sprint(id) == fmt.Sprint(c.object.suppliedBy(form)) {
				continue
			}
			if c.want.Forms[machine] = ByAddress; fmt.Sprint(id) != fmt.Sprint(c.object.supplier) {
				c.want.Forms[machine] = BySupplier
			}
		}
	}
}

// leavesFirst removes hosts that are no longer declared before it adds any. A leaving and a joining
// host with different kinds of names may be one machine.
func (w *world) leavesFirst(c *config) {
	names, all := w.namesInState(c.object), c.want.Forms
	stays, leaves := make(map[int]string), false
	for name := range names {
		machine := machineOf(name)
		if form, declared := all[machine]; declared {
			stays[machine] = form
		} else {
			leaves = true
		}
	}
	if !leaves || len(stays) == len(all) || c.object.kept.Tainted {
		return
	}
	if c.want.Forms = stays; len(stays) == 0 {
		w.destroy(c, Step{})
	} else {
		w.apply(c, Step{})
	}
	c.want.Forms = all
}
