package histories

import (
	"fmt"
	"maps"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

type declaration struct {
	Forms     map[int]string // of the machines that it has
	Rekeyed   map[int]bool
	Doubled   map[int]bool // those that stand there by both names, which is a mistake
	Start     string
	Label     string
	Ensure    string
	OnDestroy string
	Waves     int
	Adopt     bool
}

func newDeclaration() declaration {
	return declaration{
		Forms: make(map[int]string), Rekeyed: make(map[int]bool), Doubled: make(map[int]bool),
		Start: "./a.sh", Label: "one", Ensure: "hosted", OnDestroy: "unregister",
	}
}

func (d *declaration) has(machine int) bool {
	if d == nil {
		return false
	}
	_, is := d.Forms[machine]
	return is
}

func (d *declaration) copied() *declaration {
	c := *d
	c.Forms, c.Rekeyed, c.Doubled = maps.Clone(d.Forms), maps.Clone(d.Rekeyed), maps.Clone(d.Doubled)
	return &c
}

func address(machine int) string { return fmt.Sprintf("0:10.0.0.%d", machine) }

func agentID(machine int) string { return fmt.Sprintf("0200000007525400f355781710390005%04x", machine) }

// ownSupplier is the supplier id of a name that has one.
const ownSupplier = 2

func nameOf(machine int, form string) string {
	switch form {
	case ByAgent:
		return agentID(machine)
	case BySupplier:
		return fmt.Sprintf("0:%d:10.0.0.%d", ownSupplier, machine)
	default:
		return address(machine)
	}
}

// nameOnFile is the name under which the platform keeps a machine that goes by a form.
func nameOnFile(machine int, form string) string {
	if form == ByAgent {
		return agentID(machine)
	}
	return address(machine)
}

func machineOf(name string) int {
	var n int
	if strings.Contains(name, ":") {
		_, _ = fmt.Sscan(name[strings.LastIndexByte(name, '.')+1:], &n)
		return n
	}
	_, _ = fmt.Sscanf(name[len(name)-4:], "%x", &n)
	return n
}

func (d *declaration) hosts() map[string]string {
	hosts := make(map[string]string)
	for machine, form := range d.Forms {
		key := fmt.Sprintf("web-%d", machine)
		if d.Rekeyed[machine] {
			key = fmt.Sprintf("www-%d", machine)
		}
		hosts[key] = nameOf(machine, form)
		if d.Doubled[machine] {
			hosts["also-"+key] = nameOf(machine, otherForm(form))
		}
	}
	return hosts
}

func (d *declaration) meta() map[string]any {
	return map[string]any{"namespace": namespace, "name": process, "labels": map[string]string{"team": d.Label}}
}

func (d *declaration) hosted() map[string]any {
	config := map[string]any{
		"meta": d.meta(), "hosts": d.hosts(), "spec": providertest.WholeSpec(d.Start), "ensure": d.Ensure, "on_destroy": d.OnDestroy,
		"adopt_existing": d.Adopt, "on_partial_create": "warn",
	}
	if d.Waves > 0 {
		config["rollout"] = map[string]any{"batch_size": d.Waves}
	}
	return config
}

func otherForm(form string) string {
	if form == ByAgent {
		return ByAddress
	}
	return ByAgent
}
