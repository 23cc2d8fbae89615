package hostile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const agent = "0200000007525400f355781710390005465c"

// newTwoNamed is a gateway that keeps an entry for each name of a machine.
func newTwoNamed(t *testing.T) hostile {
	t.Helper()
	h := newHostile(t, providertest.FaceGateway)
	h.sim.EntryPerName = true
	h.sim.AddAgent(agent, providertest.Address(1))
	return h
}

// If the platform keeps an entry for each name of a machine, an object unregisters only its own. The
// process that another configuration registered by the other name does not change. An agent hosts one
// process, the one registered last.
//
// Promised in shared-hosts.md: leaves the machine alone, with the warning *Machines Belong To Another Resource*.
// Promised in shared-hosts.md: If the other one used another name of the machine, it is *Machines
// Belong To Another Resource*.
func TestOvertaken_byTheOtherName(t *testing.T) {
	t.Parallel()
	names := map[string]map[string]any{"address": {"hosts": providertest.HostsOf(1)}, "agent-id": {"hosts": map[string]string{"a": agent}}}
	for name, c := range map[string]struct {
		own    string
		turn   func(h hostile, own *providertest.Core)
		leaves bool // it is taken out of hosts, and not destroyed
		ours   bool
	}{
		"by-address":       {own: "address"},
		"by-agent-id":      {own: "agent-id"},
		"taken-out":        {own: "address", leaves: true},
		"rows-by-agent-id": {own: "address", turn: func(h hostile, _ *providertest.Core) { h.sim.RowsWithoutHost = true }},
		"unregistered": {own: "address", turn: func(h hostile, _ *providertest.Core) {
			h.unregister()
			h.must(h.sim.Host(agent, "web", "nginx"))
		}},
		"agents-know-no-names": {own: "address", turn: func(h hostile, _ *providertest.Core) {
			theirs := h.sim.Machine(agent).Process("web", "nginx").Entries
			latest := max(theirs[0].RegisterTime, theirs[1].RegisterTime)
			h.onQuery(simulator.Fault{Code: new(0), Content: told(12, latest)})
		}},
		"imported": {own: "address", turn: func(_ hostile, own *providertest.Core) {
			own.State = tftypes.NewValue(own.State.Type(), nil)
			own.Imports("web:nginx@" + providertest.Address(1))
		}},
		"registered-again": {own: "address", ours: true, turn: func(h hostile, own *providertest.Core) {
			own.Applied(h.config("./newer.sh", "running", "kill", names["address"]))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTwoNamed(t)
			other := map[string]string{"address": "agent-id", "agent-id": "address"}[c.own]
			own := h.applied(h.config("./start.sh", "running", "kill", names[c.own]))
			h.object().Applied(h.config("./theirs.sh", "running", "kill", names[other]))
			if c.turn != nil {
				c.turn(h, own)
			}
			before := h.sim.Machine(providertest.Address(1)).Process("web", "nginx")
			var (
				said providertest.Diagnostics
				next map[string]any
			)
			if c.leaves {
				next = h.config("./start.sh", "running", "kill", map[string]any{"hosts": map[string]string{"b": providertest.Address(2)}})
			}
			_, said = own.Apply(next)
			after := h.sim.Machine(providertest.Address(1)).Process("web", "nginx")
			switch {
			case said.Failed():
				t.Errorf("said: %s", said)
			case c.ours && (after.Hosted || after.Running || len(after.Entries) != 1):
				t.Errorf("it is %+v", after)
			case c.ours:
			case !cmp.Equal(before, after):
				t.Errorf("it was %+v\nit is  %+v", before, after)
			case !strings.Contains(said.String(), "Machines Belong To Another Resource"):
				t.Errorf("said: %s", said)
			}
		})
	}
}

// An update that renames a host dies once the new name is registered, and Terraform keeps the earlier
// state. State has only the old name, under which nothing is registered. The machine is this object's by
// the new name, so it must not be forgotten.
func TestNames_diedInRename(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]simulator.Fault{
		"refused": {Code: new(simulator.CodeFailed)}, "unconfirmed": {Pending: -1, Code: new(simulator.CodeFailed)},
	} {
		for way, stays := range map[string]map[string]string{"destroyed": nil, "leaves": {"web-2": providertest.Address(2)}} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				h := newTwoNamed(t)
				own := h.fresh()
				config := func(hosts map[string]string) map[string]any {
					return h.config("./start.sh", "hosted", "unregister", map[string]any{
						"hosts": hosts, "rollout": map[string]any{"waves": []any{"1"}, "wave_timeout": "1s", "max_failed_hosts": "2"},
					})
				}
				fault := refused
				fault.API, fault.Op, fault.Hosts = "operate_proc_multi", new(simulator.OpHost), []string{providertest.Address(1)}
				h.sim.Inject(fault)
				own.Apply(config(providertest.HostsOf(2)))
				h.sim.Repair()
				before := *own.Kept
				own.Apply(config(map[string]string{"web-1": agent, "web-2": providertest.Address(2)}))
				own.State, own.Private, own.Identity, own.Tainted = before.State, nil, before.Identity, before.Tainted
				var next map[string]any
				if stays != nil {
					next = config(stays)
				}
				_, said := own.Apply(next)
				if p := h.sim.Machine(agent).Process("web", "nginx"); !said.Failed() && p.Hosted {
					t.Errorf("it is forgotten: %+v; said: %s", p, said)
				}
			})
		}
	}
}
