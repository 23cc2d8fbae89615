// Package hostile tests the provider on a hostile platform. Each test is a case in which the provider
// once lost a host or stopped another owner's process. Or it reported something that it had not done.
package hostile_test

import (
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// hostile is a platform that does all it can to make the provider lose a host, and a process on one host.
type hostile struct {
	*testing.T
	sim      *providertest.Sim
	by       providertest.Face
	settings map[string]any
	passed   *atomic.Int64 // hours by which the platform's clock is ahead
}

func (h hostile) clock() time.Time { return time.Now().Add(time.Duration(h.passed.Load()) * time.Hour) }

var labelled = []providertest.Face{providertest.FaceESB, providertest.FaceGateway}

func plays(t *testing.T, at []providertest.Face, cases map[string]func(hostile)) {
	t.Helper()
	for name, play := range cases {
		for _, by := range at {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				play(newHostile(t, by))
			})
		}
	}
}

func newHostile(t *testing.T, by providertest.Face) hostile {
	t.Helper()
	sim := providertest.NewSim(t)
	return hostile{t, sim, by, sim.SettingsFor(by), new(atomic.Int64)}
}

func (h hostile) object() *providertest.Core {
	return h.objectIn(&providertest.Kept{}, nil)
}

func (h hostile) applied(config map[string]any) *providertest.Core {
	resource := h.object()
	resource.Applied(config)
	return resource
}

// objectIn returns the object in a run with other settings of the provider.
func (h hostile) objectIn(kept *providertest.Kept, settings map[string]any) *providertest.Core {
	all := maps.Clone(h.settings)
	maps.Copy(all, settings)
	return providertest.ConfiguredWith(h.T, all).CoreOf(h.by.TypeName(providertest.OnCreate), kept)
}

// fresh returns an object that has a new run of the provider for each apply.
func (h hostile) fresh() *providertest.Core {
	resource := h.object()
	resource.Fresh = func() *providertest.Protocol { return providertest.ConfiguredWith(h.T, h.settings) }
	return resource
}

func (h hostile) config(start, ensure, onDestroy string, more ...map[string]any) map[string]any {
	config := h.by.Reference(start, 1)
	config["ensure"], config["on_destroy"], config["adopt_existing"] = ensure, onDestroy, true
	for _, replaced := range more {
		maps.Copy(config, replaced)
	}
	return config
}

func (h hostile) at(n int) simulator.Process {
	namespace, name := h.by.Process()
	p, _ := h.sim.Process(providertest.Address(n), namespace, name)
	return p
}

func (h hostile) process() simulator.Process { return h.at(1) }

func (h hostile) hide() { h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Missing: -1}) }

func (h hostile) onReregister(f simulator.Fault) { h.onEither("update_proc_info", simulator.OpHost, f) }

func (h hostile) onRelease(f simulator.Fault) {
	h.onEither("unregister_proc_info", simulator.OpUnhost, f)
}

// onEither injects a fault of a call of the ESB, and of the operation that does the same at the gateway.
func (h hostile) onEither(api string, op int, f simulator.Fault) {
	f.API = api
	h.sim.Inject(f)
	f.API, f.Op = "operate_proc_multi", &op
	h.sim.Inject(f)
}

func (h hostile) onQuery(f simulator.Fault) {
	f.API, f.Op = "operate_proc_v2", new(simulator.OpQuery)
	h.sim.Inject(f)
}

func agentReports(pid int, registered int64) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid, "isAuto": true, "register_time": registered}}}}}
}

func agentReportsPID(pid int) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid}}}}}
}

func untimed() any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
}

func (h hostile) must(errs ...error) {
	h.Helper()
	if err := errors.Join(errs...); err != nil {
		h.Error(err) // not Fatal, which must not be called from the platform's goroutine
	}
}

func (h hostile) started(name string) {
	h.must(h.sim.Host(name, "web", "nginx"), h.sim.StartProcess(name, "web", "nginx"))
}

// colleague registers, hosts and starts the process for another team, as no object would.
func (h hostile) colleague() {
	h.sim.Colleague(h.T, "web", "nginx", map[string]string{"owner": "other-team"}, 1)
	h.started(providertest.Address(1))
}

// another registers, hosts and starts the process for another object, by a name of a machine.
func (h hostile) another(name string) {
	h.must(h.sim.Register(name, "web", "nginx", map[string]string{"tf_spec": "v1-0000000000000000", "tf_spec_owner": "ANOTHER"}, ""))
	h.started(name)
}

func (h hostile) unregister() {
	h.must(h.sim.Unregister(providertest.Address(1), "web", "nginx"))
}

// keeps fails the test if a destroy forgets a registration, or if a destroy cannot unregister it once the platform is
// repaired.
func (h hostile) keeps(resource *providertest.Core) {
	if _, said := resource.Apply(nil); resource.State.IsNull() && (h.process().Registered || h.process().Hosted) {
		h.Errorf("our own registration is forgotten: %+v; said: %s", h.process(), said)
	}
	h.sim.Repair()
	h.sim.ThawStatus()
	if _, said := resource.Apply(nil); said.Failed() || !resource.State.IsNull() || h.process().Registered || h.process().Hosted {
		h.Errorf("the platform is repaired, and it is %+v; said: %s", h.process(), said)
	}
}

// spares fails the test if a destroy stops the process, or fails.
func (h hostile) spares(resource *providertest.Core) {
	_, said := resource.Apply(nil)
	providertest.Check(h, !said.Failed() && h.process().Running, "it is %+v; said: %s", h.process(), said)
}

// leaves fails the test if a destroy stops or unhosts the other object's process.
func (h hostile) leaves(resource *providertest.Core) {
	_, said := resource.Apply(nil)
	providertest.Check(h, h.process().Running && h.process().Hosted, "it is %+v; said: %s", h.process(), said)
}

// remembers fails the test if a destroy without an error forgets a host that is still hosted or registered.
func (h hostile) remembers(resource *providertest.Core, before ...any) {
	if _, said := resource.Apply(nil); !said.Failed() && resource.State.IsNull() && (h.process().Hosted || h.process().Registered || h.at(2).Hosted || h.at(2).Registered) {
		h.Errorf("they are %+v and %+v; before: %v; said: %s", h.process(), h.at(2), before, said)
	}
}

const agent = "0200000007525400f355781710390005465c"

// newTwoNamed returns a gateway that keeps an entry for each name of a machine.
func newTwoNamed(t *testing.T) hostile {
	t.Helper()
	h := newHostile(t, providertest.FaceGateway)
	h.sim.EntryPerName = true
	h.sim.AddAgent(agent, providertest.Address(1))
	return h
}

// If the platform keeps an entry for each name of a machine, an object unregisters only its own. The process that another
// configuration registered by the other name does not change. An agent hosts one process, the one registered last.
//
// Promised in shared-hosts.md: leaves the machine alone, with the warning *Machines Belong To Another Resource*.
// Promised in shared-hosts.md: If the other one used another name of the machine, it is *Machines Belong To Another Resource*.
func TestOvertaken_byTheOtherName(t *testing.T) {
	t.Parallel()
	names := map[string]map[string]any{"address": {"hosts": providertest.HostsOf(1)}, "agent-id": {"hosts": map[string]string{"a": agent}}}
	for name, c := range map[string]struct {
		own    string
		turn   func(h hostile, own *providertest.Core)
		leaves bool // the host is removed from hosts; otherwise the object is destroyed
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
			h.onQuery(simulator.Fault{Code: new(0), Content: agentReports(12, latest)})
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

// A host that was registered_by_other leaves without a warning, even if its machine has since been registered by its
// other name.
//
// Promised in shared-hosts.md: Hosts that were `registered_by_other` leave with neither.
func TestOvertaken_notByTheOtherName(t *testing.T) {
	t.Parallel()
	h := newTwoNamed(t)
	h.applied(h.config("./theirs.sh", "running", "kill"))
	own := h.object()
	own.Apply(h.config("./start.sh", "running", "kill", map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}))
	if left := providertest.Texts(own.Attribute("out_of_sync")); !strings.HasPrefix(left["web-1"], "registered_by_other") {
		t.Fatalf("out_of_sync is %v", left)
	}
	h.applied(h.config("./third.sh", "running", "kill", map[string]any{"hosts": map[string]string{"a": agent}}))
	before := h.sim.Machine(agent).Process("web", "nginx")
	said := own.DestroyUnrefreshed()
	after := h.sim.Machine(agent).Process("web", "nginx")
	providertest.Check(t, !said.Failed() && !strings.Contains(said.String(), "Belong To Another") && cmp.Equal(before, after), "it was %+v\nit is  %+v\nsaid: %s", before, after, said)
}

// An update that renames a host is killed once the new name is registered, so state has only the old name, under which
// nothing is registered. By the new name the machine is this object's, so it must not be forgotten.
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
