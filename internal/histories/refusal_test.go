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

// refusals are the words by which refusals are known.
var refusals = []string{"which it keeps; to register it with another one"}

// refusal: what is to be refused is, and changes nothing.
func (w *world) refusal(u unit, kind providertest.PlanKind, why, said string) *Breach {
	switch changes := w.sim.Changes(); {
	case kind == providertest.PlanCreate, kind == providertest.PlanReplace: // what was there is gone
		return nil
	case why != "" && !u.failed:
		return &Breach{Invariant: Refuses, Kind: "done", Text: "it is not refused\n" + said}
	case why != "" && len(changes) > 0:
		return &Breach{Invariant: Refuses, Kind: "called", Text: fmt.Sprintf("it is to be refused, and called %v\n%s", changes, said)}
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
	var chosen any
	for _, machine := range slices.Sorted(maps.Keys(o.suppliers)) {
		switch id := o.suppliers[machine]; {
		case explicit[machine]:
		case chosen == nil:
			chosen = id
			w.settings["bk_supplier_id"] = id
		case id != chosen && w.history.SuppliersApart:
			w.model[machine] = claim{unsure: true}
		}
	}
}

// givesIn has the configurations declare nothing that is refused.
func (w *world) givesIn() {
	for _, c := range w.configs {
		for machine, form := range c.want.Forms {
			id, held := c.object.suppliers[machine]
			if held && form == BySupplier && fmt.Sprint(id) != fmt.Sprint(ownSupplier) {
				c.want.Forms[machine] = ByAddress
			}
		}
	}
}
