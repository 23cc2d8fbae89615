package histories

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// refuses says why an apply is to be refused, "" where it is not.
func (w *world) refuses(o *object, u unit) string {
	if u.want == nil || u.first || o.kept.Tainted {
		return ""
	}
	for machine, form := range u.want.Forms {
		if id, held := o.suppliers[machine]; held && form == BySupplier && fmt.Sprint(id) != fmt.Sprint(ownSupplier) {
			return "which it keeps; to register it with another one"
		}
	}
	return ""
}

var refusals = []string{"which it keeps; to register it with another one"}

// notRenamed is what is said of a rename that is refused. It depends on what the refresh before it
// found, so it need not be foretold.
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
	case kind == providertest.PlanCreate, kind == providertest.PlanReplace: // what was there is gone
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

// supplied notes with which supplier ids machines joined: that of their address, or that of the
// provider. They keep it as long as the object that was, which had this owner, has them.
func (w *world) supplied(o *object, u unit, owner any) {
	names, replaced := w.namesInState(o), w.ownerOf(o) != owner
	for machine := 1; machine <= w.history.Machines; machine++ {
		switch at := address(machine); {
		case !names[at]:
			delete(o.suppliers, machine)
		case !u.hadAs[at] || replaced:
			o.suppliers[machine] = w.settings["bk_supplier_id"]
			if u.want != nil && u.want.Forms[machine] == BySupplier {
				o.suppliers[machine] = ownSupplier
			}
		}
	}
}

// resupply has bk_supplier_id say with which id an object that is tainted has registered its
// machines: Terraform hands on nothing but its attributes. What it has registered with another
// one, and has by an address that does not name it, nobody finds.
func (w *world) resupply(o *object) {
	if !o.kept.Tainted || !o.exists() {
		return
	}
	explicit := make(map[int]bool)
	for _, name := range w.idle.CoreOf(providertest.HostedType, o.kept).Reasons("hosts") {
		explicit[machineOf(name)] = strings.Count(name, ":") == 2
	}
	var chosen any // nil where bk_supplier_id was not set
	is := false
	for _, machine := range slices.Sorted(maps.Keys(o.suppliers)) {
		switch id := o.suppliers[machine]; {
		case explicit[machine]:
		case !is:
			chosen, is = id, true
			w.settings["bk_supplier_id"] = id
		case id != chosen && w.history.SuppliersApart:
			w.model[machine] = claim{unsure: true}
		}
	}
}

// givesIn has the configurations declare nothing that is refused.
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
			if held && form == BySupplier && fmt.Sprint(id) != fmt.Sprint(ownSupplier) {
				c.want.Forms[machine] = ByAddress
			}
		}
	}
}

// leavesFirst removes hosts that are not declared any more before it adds any. A leaving and a joining
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
