package hostedprocess_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// An object is destroyed after another has registered its machine by the other name in this
// run. Where the platform keeps an entry for each name the old one goes; what the other
// object has registered stays, hosted.
func TestNames_replacedFirst(t *testing.T) {
	t.Parallel()
	names := map[string]map[string]string{"address": addresses(1), "agent-id": {"web-1": agents["web-1"]}}
	for old, other := range map[string]string{"address": "agent-id", "agent-id": "address"} {
		for name, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
			t.Run(old+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newNames(t, perName)
				config := func(by string) map[string]any {
					return w.declares(0, map[string]any{"ensure": "running", "adopt_existing": true, "hosts": names[by]})
				}
				first := w.object()
				first.Applied(config(old))
				run := w.open()
				second := run.CoreOf(providertest.HostedType, &providertest.Kept{})
				second.Applied(config(other))
				before := pids(w.sim, 1)
				first.Protocol, first.Fresh = run, nil

				said := first.DestroyUnrefreshed()

				p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
				if said.Failed() || !first.State.IsNull() || !p.Hosted || !p.Running || len(p.Entries) != 1 || !cmp.Equal(before, pids(w.sim, 1)) {
					t.Errorf("it is %+v; said: %s", p, said)
				}
				if p.Entries[0].Labels["tf_spec_owner"] != second.Attribute("owner") {
					t.Errorf("the owner is %v, want %v", p.Entries[0].Labels, second.Attribute("owner"))
				}
			})
		}
	}
}

// Where nobody knows whether a machine came to be registered by its new name, state has it by
// both, and a destroy unregisters both. Where it was refused, state has the old one alone.
func TestNames_notRegistered(t *testing.T) {
	t.Parallel()
	both := map[string]string{"web-1": agents["web-1"], "0:0:10.0.0.2": providertest.Address(1), "web-2": providertest.Address(2)}
	for name, c := range map[string]struct {
		fault simulator.Fault
		hosts map[string]string
	}{
		"refused":     {away, addresses(1, 2)},
		"unconfirmed": {simulator.Fault{Takes: time.Hour}, both},
		"lost":        {simulator.Fault{Drop: "after"}, both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, true)
			var hours atomic.Int64
			w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
			more := attribute("timeouts", map[string]any{"update": "4s"})
			resource := w.object()
			resource.Applied(w.declares(2, more))
			fault := c.fault
			fault.API, fault.Op, fault.Hosts = "operate_proc_multi", new(simulator.OpHost), []string{agents["web-1"]}
			w.sim.Inject(fault)
			_, said := resource.Apply(w.declares(0, more, attribute("hosts", map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)})))
			if diff := cmp.Diff(c.hosts, resource.Reasons("hosts")); diff != "" || !said.Failed() {
				t.Errorf("hosts in state (-want +got):\n%s\nsaid: %s", diff, said)
			}
			w.sim.Mend()
			hours.Add(2)
			w.play(resource, step{name: "destroyed", anyCalls: true})
			w.expectNothing()
		})
	}
}

// What is known once the names are, or the hosts, is told by the apply.
func TestRolloutPlan_knownLater(t *testing.T) {
	t.Parallel()
	waves := attribute("rollout", map[string]any{"waves": []any{"1"}})
	for name, c := range map[string]struct {
		hosts map[string]string
		want  string
	}{
		"leaves":           {addresses(1), "unregister 1 host: web-2"},
		"joins":            {addresses(1, 2, 3), "register 1 host: web-3"},
		"both":             {addresses(1, 3), "register 1 host: web-3; then unregister 1 host: web-2"},
		"renamed":          {map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)}, "register anew 1 host: web-1; then unregister 1 host: web-1"},
		"renamed-and-left": {map[string]string{"web-1": agents["web-1"]}, "register anew 1 host: web-1; then unregister 2 hosts in 2 waves of 1: web-1, web-2"},
		"stays":            {addresses(1, 2), "calls no host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, false)
			resource := w.object()
			resource.Applied(w.declares(2, waves))
			unknown := w.declares(2, waves, attribute("hosts", providertest.NotKnown{}))
			if _, said := resource.ApplyResolved(unknown, w.declares(0, waves, attribute("hosts", c.hosts))); len(said) > 0 {
				t.Error(said)
			}
			if got := resource.Attribute("rollout_plan"); got != c.want && name != "stays" {
				t.Errorf("rollout_plan is %q, want %q", got, c.want)
			}
		})
	}
}

// told is what an agent says of the process that it hosts.
func told(pid int, registered int64) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid, "isAuto": true, "register_time": registered}}}}}
}

// What another object had, and this one has seen, is not killed when it is removed: whatever
// the clocks say, and where this object has lost what it knew.
func TestOvertaken_notKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		skewed  int64 // the agent's clock, against the file's
		tainted bool
		says    string
	}{
		"clocks-agree": {0, false, "Hosts Last Registered By Another Resource"},
		"clock-ahead":  {10_000_000_000, false, "Hosts Last Registered By Another Resource"},
		"tainted":      {0, true, "Processes Not Stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				config := w.declares(1, attribute("on_destroy", "kill"), attribute("adopt_existing", true))
				first, second := w.object(), w.object()
				if c.skewed != 0 { // it is the second query that reads back what was registered
					w.onOp(simulator.OpQuery, after(simulator.Fault{Code: new(0), Content: told(-1, 1795000000+c.skewed)}))
				}
				first.Applied(config)
				w.sim.Mend()
				second.Applied(w.changed(1, attribute("ensure", "running"), attribute("adopt_existing", true)))
				first.Refresh()
				second.Applied(nil)
				before := w.at(1)
				first.Tainted = c.tainted
				end := map[string]any(nil)
				if c.tainted {
					end = config
				}
				if _, said := first.Apply(end); said.Failed() || !strings.Contains(said.String(), c.says) || !w.at(1).Running || w.at(1).PID != before.PID {
					t.Errorf("it was %+v and is %+v; said: %s", before, w.at(1), said)
				}
			})
		})
	}
}

// What may be registered is neither forgotten by a refresh nor by a destroy while nothing tells.
func TestUnconfirmed_kept(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.SetLag(-1)
		w.on("register_proc_info", once(simulator.Fault{Drop: "after"}))
		w.on("register_proc_info", after(simulator.Fault{HTTPStatus: 403}))
		resource := w.object()
		_, created := resource.Apply(w.declares(1))
		if codes(resource)["web-1"] != "unconfirmed" {
			t.Fatalf("it is %v; said: %s", resource.Reasons("out_of_sync"), created)
		}
		w.sim.Mend()
		untimed := map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
		end := func() providertest.Diagnostics { return resource.DestroyUnrefreshed() }
		if w.by == esb { // whose agents know nothing of what is registered alone
			w.onOp(simulator.OpQuery, simulator.Fault{Code: new(0), Content: untimed})
			end = resource.Refresh
		}
		if said := end(); resource.State.IsNull() && w.at(1).Registered {
			t.Errorf("it is forgotten, and is %+v; said: %s", w.at(1), said)
		}
	})
}

// A tainted create whose end nobody saw says that it may still take effect.
func TestUnconfirmed_mayComeYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	w.on("register_proc_info", simulator.Fault{Takes: time.Hour})
	resource := w.object()
	resource.Apply(w.declares(1, attribute("timeouts", map[string]any{"create": "1s"})))
	w.sim.Mend()
	_, said := resource.Apply(w.declares(1))
	if !strings.Contains(said.String(), "Registration May Come Yet") {
		t.Errorf("%v; said: %s", resource.Reasons("out_of_sync"), said)
	}
}

// A host that is registered under another supplier id than the provider's is imported with it.
func TestImport_supplier(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.settings["bk_supplier_id"] = 2
	w.object().Applied(w.declares(1))
	w.settings["bk_supplier_id"] = 0
	resource := w.object()
	said := resource.Imports("web:nginx")
	if diff := cmp.Diff(map[string]string{"0:10.0.0.2": "0:2:10.0.0.2"}, resource.Reasons("hosts")); diff != "" || len(said) > 0 {
		t.Errorf("hosts (-want +got):\n%s\n%s", diff, said)
	}
}
