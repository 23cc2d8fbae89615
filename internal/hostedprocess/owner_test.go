package hostedprocess_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Terraform gives the destroy of a tainted object that is replaced no private state. What
// it registered is unregistered all the same; what an object with the very same declaration
// has taken over since is not.
func TestHostedProcess_taintedReplacement(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
		for name, takenOver := range map[string]bool{"its-own": false, "taken-over": true} {
			if takenOver && by == providertest.FaceJOB {
				continue // JOB keeps no file, so nothing tells
			}
			for way, apply := range map[string]func(*providertest.Core, map[string]any) (providertest.PlanKind, providertest.Diagnostics){
				"refreshed": (*providertest.Core).Apply, "unrefreshed": (*providertest.Core).ApplyUnrefreshed,
			} {
				t.Run(string(by)+"/"+name+"/"+way, func(t *testing.T) {
					t.Parallel()
					sim := providertest.NewSim(t)
					open := func(kept *providertest.Kept) *providertest.Core {
						fresh := func() *providertest.Protocol { return providertest.ConfiguredWith(t, sim.SettingsFor(by)) }
						core := fresh().CoreOf(by.TypeName(providertest.OnCreate), kept)
						core.Fresh = fresh
						return core
					}
					kept := &providertest.Kept{}
					config := by.Reference("./start.sh", 2)
					config["on_destroy"] = "stop"
					open(kept).Applied(config)
					if takenOver {
						open(&providertest.Kept{}).Applied(config)
					}
					kept.Tainted = true
					sim.ResetCalls()

					kind, said := apply(open(kept), config)

					if kind != providertest.PlanReplace || said.Failed() || strings.Contains(said.String(), "Hosts Belong To Another Resource") != takenOver {
						t.Errorf("%s: %s", kind, said)
					}
					undone := slices.Compact(letGo(sim))
					if want := providertest.AddressList([]int{1, 2}); takenOver != (len(undone) == 0) || !takenOver && !slices.Equal(undone, want) {
						t.Errorf("unregistered %v", undone)
					}
				})
			}
		}
	}
}

// Some platforms may replace what is registered when the process is started, by an operation
// that has no owner to send, and through the ESB no limits. A refresh finds what names nobody,
// and the next apply registers all of it again.
func TestHostedProcess_operationReplaces(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.StartReplaces = true
		resource, config := w.object(), w.declares(2)
		resource.Applied(config)
		operation := w.declares(2)
		operation["operation"] = "start"
		w.open().CoreOf(providertest.ActionType, &providertest.Kept{}).Applied(operation)
		if p := w.at(1); p.Labels["tf_spec_owner"] != "" || limits(p) != (w.by == gateway) {
			t.Fatalf("the start left %+v", p)
		}

		resource.Refresh()
		if lost := resource.Reasons("out_of_sync"); len(lost) != 2 || !strings.HasPrefix(lost["web-1"], "other_labels") {
			t.Errorf("out_of_sync is %v", lost)
		}
		w.play(resource, step{name: "repaired", config: config, calls: []string{on("update_proc_info", 1, 2)}})

		if p := w.at(1); p.Labels["tf_spec_owner"] != resource.Attribute("owner") || !p.Running || !limits(p) {
			t.Errorf("it is %+v", p)
		}
	})
}

// limits reports whether the agent has the limits that are declared.
func limits(p simulator.Process) bool { return strings.Contains(string(p.Spec), `"cpu":30`) }

// A start of the object's own takes no limits away at the gateway. Through the ESB a platform on
// which it replaces what is registered shows that, a refresh finds it, and the next apply registers
// it again, once, and starts or restarts nothing. That holds where the end of the start was not seen.
func TestHostedProcess_limitsAreKept(t *testing.T) {
	t.Parallel()
	running, restart := attribute("ensure", "running"), attribute("on_update", "restart")
	for name, c := range map[string]struct {
		created bool
		config  func(w *world) map[string]any
		lost    bool // the answers about the start
	}{
		"created":   {config: func(w *world) map[string]any { return w.declares(2, running) }},
		"raised":    {created: true, config: func(w *world) map[string]any { return w.declares(2, running) }},
		"restarted": {created: true, config: func(w *world) map[string]any { return w.changed(2, running, restart) }},
		"not-seen":  {created: true, config: func(w *world) map[string]any { return w.declares(2, running) }, lost: true},
	} {
		for _, replaces := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/start-replaces-%t", name, replaces), func(t *testing.T) {
				t.Parallel()
				through(t, gse, func(w *world) {
					w.sim.StartReplaces = replaces
					resource, config, left := w.object(), c.config(w), map[string]string{}
					if c.created {
						resource.Applied(w.declares(2))
						w.do(w.sim.StartProcess, 1, 2)
						if name != "restarted" {
							w.do(w.sim.StopProcess, 1, 2)
						}
					}
					if c.lost {
						w.onOp(simulator.OpStart, simulator.Fault{Drop: "after"})
					}
					resource.Apply(config)
					w.sim.Repair()
					ran := pids(w.sim, 2)
					if replaces && w.by == esb {
						left = codesOf("other_labels", 1, 2)
					}
					resource.Refresh()
					if diff := cmp.Diff(left, codes(resource)); diff != "" {
						w.Errorf("out_of_sync (-want +got):\n%s", diff)
					}
					if len(left) > 0 {
						if said := resource.Reasons("out_of_sync")["web-1"]; said != "other_labels: replaced by a start without its limits" {
							w.Errorf("it says %s", said)
						}
						w.play(resource, step{name: "registered again", config: config, calls: []string{on("update_proc_info", 1, 2)}})
					}
					w.play(resource, step{name: "again", config: config, kind: providertest.PlanNothing})
					for n := 1; n <= 2; n++ {
						if p := w.at(n); !limits(p) || !p.Running || p.Labels["tf_spec"] != resource.Attribute("fingerprint") || p.Labels["tf_spec_owner"] != resource.Attribute("owner") {
							w.Errorf("web-%d has %v and %s; running: %t", n, p.Labels, p.Spec, p.Running)
						}
					}
					if now := pids(w.sim, 2); !slices.Equal(ran, now) {
						w.Errorf("started again: %v, then %v", ran, now)
					}
				})
			})
		}
	}
}

// A create that was cut off after its starts is taken over by the next one, with the limits.
func TestHostedProcess_limitsAfterACreateThatWasCutOff(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.sim.StartReplaces = true
		config := w.declares(2, attribute("ensure", "running"))
		w.object().Applied(config) // its state is lost
		ran, resource := pids(w.sim, 2), w.object()
		resource.Applied(config)
		w.play(resource, step{name: "again", config: config, kind: providertest.PlanNothing})
		if p := w.at(1); !limits(p) || p.Labels["tf_spec_owner"] != resource.Attribute("owner") || !slices.Equal(ran, pids(w.sim, 2)) {
			w.Errorf("it has %v and %s", p.Labels, p.Spec)
		}
	})
}

// The provider block may name another label by the time that hosts are unregistered: whose
// they are is read where it was written.
func TestHostedProcess_labelOfBefore(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := providertest.FaceESB.Reference("./start.sh", 2)
	kept := &providertest.Kept{}
	sim.Configured(t).CoreOf(providertest.HostedType, kept).Applied(config)
	sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{}).Applied(config)
	sim.ResetCalls()

	said := sim.Configured(t, map[string]any{"spec_fingerprint_label": "other"}).CoreOf(providertest.HostedType, kept).DestroyUnrefreshed()

	if said.Failed() || !strings.Contains(said.String(), "Hosts Belong To Another Resource") || len(letGo(sim)) > 0 {
		t.Errorf("unregistered %v; said: %s", letGo(sim), said)
	}
}

// Where no label tells whose a registration is, an object that is destroyed after another
// has registered the same hosts in this run leaves them alone, and says nothing of it.
//
// Promised in ownership.md: A host that another resource has registered in the same run is left
// alone without asking and without a warning.
func TestHostedProcess_replacedFirstWithoutLabels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face     providertest.Face
		settings map[string]any
	}{
		"job":               {providertest.FaceJOB, nil},
		"esb-label-off":     {providertest.FaceESB, map[string]any{"spec_fingerprint_label": ""}},
		"gateway-label-off": {providertest.FaceGateway, map[string]any{"spec_fingerprint_label": ""}},
		"esb-file-lags":     {providertest.FaceESB, nil},
		"gateway-file-lags": {providertest.FaceGateway, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			settings := sim.SettingsFor(c.face)
			for key, value := range c.settings {
				settings[key] = value
			}
			open := func(p *providertest.Protocol, kept *providertest.Kept) *providertest.Core {
				return p.CoreOf(c.face.TypeName(providertest.OnCreate), kept)
			}
			config := c.face.Reference("./start.sh", 2)
			config["adopt_existing"] = true
			old := &providertest.Kept{}
			open(providertest.ConfiguredWith(t, settings), old).Applied(config)
			if strings.Contains(name, "lags") {
				sim.FreezeStatus()
			}
			run := providertest.ConfiguredWith(t, settings)
			open(run, &providertest.Kept{}).Applied(config)
			sim.ResetCalls()

			said := open(run, old).DestroyUnrefreshed()

			if len(said) > 0 || len(letGo(sim)) > 0 {
				t.Errorf("unregistered %v; said: %s", letGo(sim), said)
			}
		})
	}
}

// An object that is destroyed after another has registered its machines by their other
// names in this run leaves them alone, although the file reports no more than its own
// registration. Where the names cannot be asked nothing is unregistered either.
func TestHostedProcess_replacedFirstByAnotherName(t *testing.T) {
	t.Parallel()
	agents := map[string]string{"web-1": "0200000007525400f355781710390005465c", "web-2": "0200000007525400f355781710390005465d"}
	for name, c := range map[string]struct {
		was, is map[string]string
		unread  bool
	}{
		"agent-id-to-address":     {agents, providertest.HostsOf(2), false},
		"address-to-agent-id":     {providertest.HostsOf(2), agents, false},
		"names-that-are-not-told": {agents, providertest.HostsOf(2), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.AdmitAgents, sim.RowsWithoutHost = true, c.unread
			for key, address := range providertest.HostsOf(2) {
				if !c.unread {
					sim.AddAgent(agents[key], address)
				}
			}
			settings := sim.SettingsFor(providertest.FaceGateway)
			open := func(p *providertest.Protocol, kept *providertest.Kept) *providertest.Core {
				return p.CoreOf(providertest.HostedType, kept)
			}
			config := providertest.FaceGateway.Reference("./start.sh", 2)
			config["adopt_existing"] = true
			config["hosts"] = c.was
			old := &providertest.Kept{}
			open(providertest.ConfiguredWith(t, settings), old).Applied(config)
			sim.FreezeStatus()
			run := providertest.ConfiguredWith(t, settings)
			config["hosts"] = c.is
			open(run, &providertest.Kept{}).Applied(config)
			if c.unread {
				sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), HTTPStatus: 403})
			}
			sim.ResetCalls()

			said := open(run, old).DestroyUnrefreshed()

			want := "Hosts Belong To Another Resource"
			if c.unread {
				want = "by another name could not be asked"
			}
			if said.Failed() != c.unread || !strings.Contains(strings.Join(strings.Fields(said.String()), " "), want) || len(letGo(sim)) > 0 {
				t.Errorf("unregistered %v; said: %s", letGo(sim), said)
			}
		})
	}
}

// What another object has registered since is not unregistered, although the cached status
// names this one still. What the agents show to be this object's own goes at once, and what
// they do not once the file knows it.
//
// Promised in ownership.md: The host stays in `hosts`, and the apply ends with an error that says why.
func TestHostedProcess_overtakenUnheard(t *testing.T) {
	t.Parallel()
	esb, gateway := providertest.FaceESB, providertest.FaceGateway
	frozen := func(sim *providertest.Sim) { sim.FreezeStatus() }
	for name, c := range map[string]struct {
		face          providertest.Face
		before, after func(*providertest.Sim) // this object's apply
		overtaken     bool
		says          string // and lets nothing go
		looks         int    // at the file
	}{
		"frozen":            {esb, nil, frozen, true, "cannot be read yet", 60},
		"frozen-gateway":    {gateway, nil, frozen, true, "cannot be read yet", 60},
		"never-heard":       {esb, frozen, nil, true, "cannot be read yet", 60},
		"nothing-is-placed": {gateway, func(sim *providertest.Sim) { sim.RowsWithoutHost = true }, nil, true, "cannot be read yet", 60},
		"agent-silent": {esb, nil, func(sim *providertest.Sim) {
			sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(simulator.CodeAgentAbnormal), Message: "agent is away"})
		}, false, "did not say when that was", 0},
		"agent-unreadable": {esb, nil, func(sim *providertest.Sim) {
			sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), ContentShape: "broken"})
		}, false, "did not say when that was", 60},
		"its-own":                   {gateway, nil, frozen, false, "", 1},
		"its-own-never-heard":       {gateway, frozen, nil, false, "", 1},
		"its-own-nothing-is-placed": {gateway, func(sim *providertest.Sim) { sim.RowsWithoutHost = true }, nil, false, "", 1},
		"hosted-late":               {esb, func(sim *providertest.Sim) { sim.SetLag(3) }, nil, false, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			open := func() *providertest.Core {
				return providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).CoreOf(providertest.HostedType, &providertest.Kept{})
			}
			config := c.face.Reference("./start.sh", 2)
			if c.before != nil {
				c.before(sim)
			}
			first := open()
			first.Applied(config)
			if c.after != nil {
				c.after(sim)
			}
			if c.overtaken {
				config["adopt_existing"] = true
				open().Applied(config)
			}
			sim.ResetCalls()

			said := first.DestroyUnrefreshed()

			undone, text := slices.Compact(letGo(sim)), words(said.String())
			if said.Failed() != (c.says != "") || !strings.Contains(text, c.says) || (len(undone) == 0) != said.Failed() || first.State.IsNull() == said.Failed() {
				t.Errorf("unregistered %v; said: %s", undone, said)
			}
			if looks := sim.Calls().Count("get_proc_status_v2"); looks != c.looks {
				t.Errorf("the file was read %d times", looks)
			}
		})
	}
}

// An agent that says nothing keeps its own host, and no other.
func TestHostedProcess_letsGoBesideTheMute(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	config := providertest.FaceESB.Reference("./start.sh", 2)
	config["timeouts"] = map[string]any{"delete": "8s"} // of which the asking takes a quarter
	resource.Applied(config)
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Hosts: []string{providertest.Address(1)}, Pending: 1 << 20})
	sim.ResetCalls()
	said := resource.DestroyUnrefreshed()
	if want := []string{providertest.Address(2)}; !said.Failed() || !slices.Equal(letGo(sim), want) {
		t.Errorf("unregistered %v; said: %s", letGo(sim), said)
	}
}

// A rename without a moved block whose destroy comes first: in one run the hosts are unregistered
// and registered once more, and what runs there runs on.
func TestHostedProcess_replacedAfterwards(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := fleetOf(by, 2, map[string]any{"ensure": "running"})
			old, renamed := hostedBy(t, sim, by), &providertest.Kept{}
			old.Applied(config)
			before := pids(sim, 2)
			said := old.DestroyUnrefreshed()
			if undone := slices.Compact(letGo(sim)); !slices.Equal(undone, providertest.AddressList([]int{1, 2})) {
				t.Errorf("unregistered %v", undone)
			}
			resource := old.CoreOf(providertest.HostedType, renamed)
			resource.Applied(config)
			expectHosted(t, sim, 2)
			if after := pids(sim, 2); len(said) > 0 || !slices.Equal(before, after) {
				t.Errorf("processes %v became %v; said: %s", before, after, said)
			}
			if kind, said := resource.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
				t.Errorf("%s: %s", kind, said)
			}
		})
	}
}
