package hostedprocess_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// If two configurations declare the same process, only the one that registered it last unregisters it.
//
// Promised in shared-hosts.md: A destroy of the other unregisters nothing, with the warning *Hosts Belong To Another Resource*.
// Promised in shared-hosts.md: are left alone, hosted and running. The warning is *Hosts Belong To Another Resource*.
func TestOwnership_twoConfigurations(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(2)
		first, second := w.object(), w.object()
		first.Applied(config)
		second.Applied(config)
		w.play(first, step{name: "the first is destroyed", says: anothers})
		expectHosted(w.T, w.sim, 2)
		w.play(second,
			step{name: "the second has nothing to do", config: config, kind: providertest.PlanNothing},
			step{name: "the second is destroyed", calls: []string{on("unregister_proc_info", 1, 2)}},
		)
		w.expectNothing()
	})
}

// The first apply of an import asks the agents of hosts that leave, by the declared spec. So a process that another
// object has registered since is not stopped, even if the cached status still names the earlier owner. If there is no
// other object, the host leaves at once.
func TestOwnership_importedLeaves(t *testing.T) {
	t.Parallel()
	for _, overtaken := range []bool{true, false} {
		t.Run(fmt.Sprintf("overtaken-%t", overtaken), func(t *testing.T) {
			t.Parallel()
			through(t, gse, func(w *world) {
				running := attribute("ensure", "running")
				w.object().Applied(w.declares(2, running))
				w.sim.FreezeStatus()
				if overtaken {
					w.object().Applied(w.changed(0, running, attribute("hosts", addresses(2)), attribute("adopt_existing", true)))
				}
				object := w.object()
				providertest.Silent(w, object.Imports("web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3"))
				_, said := object.Apply(w.declares(1, running, attribute("on_destroy", "stop")))
				p := w.at(2)
				providertest.Check(w, said.Failed() == overtaken && tells(said, "so whose that is cannot be read yet") == overtaken &&
					p.Registered == overtaken && p.Hosted == overtaken && p.Running == overtaken, "it is %+v; said: %s", p, said)
			})
		})
	}
}

// A destroy that is refused keeps its hosts, even if the cached status lags or its rows name no host.
func TestOwnership_destroyRefused(t *testing.T) {
	t.Parallel()
	refused := simulator.Fault{EnvelopeCode: new(1306101), EnvelopeMessage: "no permission"}
	for name, c := range map[string]struct {
		faces       []providertest.Face
		fault       simulator.Fault
		says        string
		unrefreshed bool
		unnamed     bool // rows name no host, which only the gateway has; otherwise the cached status is frozen
	}{
		"per-host":          {gse, away, "agent is away", true, false},
		"as-whole":          {gse, simulator.Fault{HTTPStatus: 403, Body: `{"code": 1640301, "message": "app has no permission"}`}, "app has no permission", false, false},
		"result-is-false":   {gse, refused, "no permission", false, false},
		"rows-without-host": {[]providertest.Face{gateway}, refused, "no permission", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				w.sim.RegisterHosts = true // the object knows its own registration by the time
				if c.unnamed {
					w.sim.RowsWithoutHost, w.sim.RowsWithoutAgentID = true, true
				} else {
					w.sim.FreezeStatus()
				}
				resource := w.object()
				resource.Applied(w.declares(2))
				w.on("unregister_proc_info", c.fault)
				resource.Protocol = w.open()
				destroy := resource.DestroyUnrefreshed
				if !c.unrefreshed {
					destroy = func() providertest.Diagnostics { _, said := resource.Apply(nil); return said }
				}
				if said := destroy(); !said.Failed() || !strings.Contains(said.String(), c.says) || len(resource.Reasons("hosts")) != 2 {
					w.Errorf("hosts are %v; said: %s", resource.Reasons("hosts"), said)
				}
				expectHosted(w.T, w.sim, 2)
				w.sim.Repair()
				w.sim.ThawStatus()
				w.play(resource, step{name: "repaired", calls: []string{on("unregister_proc_info", 1, 2)}})
				w.expectNothing()
			})
		})
	}
}

// If an update is interrupted before its hosts leave, they stay, and the error gives that as the reason.
func TestOwnership_interruptedBefore(t *testing.T) {
	t.Parallel()
	for name, rollout := range map[string]any{"at-once": nil, "in-waves": map[string]any{"batch_size": 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slow := providertest.NewSlow(t, simulator.OpStart)
			w := &world{t, slow.Sim, esb, slow.SettingsFor(esb)}
			more := map[string]any{"ensure": "running", "on_destroy": "stop", "rollout": rollout}
			object := w.object()
			object.Applied(w.declares(1, more))
			slow.Hangs()
			said := slow.Cut(object, w.declares(0, more, attribute("hosts", addresses(2, 3))), 3)
			providertest.Check(t, tells(said, "that were to leave the resource. web-1 (0:10.0.0.2): not tried: interrupted before its wave"), "said: %s", said)
			providertest.Check(t, object.Reasons("hosts")["web-1"] != "" && w.at(1).Running && w.at(1).Hosted, "hosts are %v; it is %+v", object.Reasons("hosts"), w.at(1))
		})
	}
}

// A machine that is gone for good can be removed, but only if forget_unreachable is set. In waves it does not keep the
// hosts of later ones.
//
// Promised in changing-hosts.md: The apply ends with an error, and the host stays in `hosts`.
// Promised in changing-hosts.md: With it, hosts that leave `hosts` or are destroyed go from state with a warning that names each of them and its address.
// Promised in reference: Hosts that leave `hosts`, or are destroyed, leave state with a warning if the platform says their agents do not answer.
// Promised in reference: Without it they stay in state and the apply fails.
func TestOwnership_forgetUnreachable(t *testing.T) {
	t.Parallel()
	for name, waves := range map[string]map[string]any{"at-once": nil, "in-waves": {"rollout": map[string]any{"batch_size": 1}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				gone := func(n int) func(*world) {
					return func(w *world) { w.sim.SetReachable(providertest.Address(n), false) }
				}
				forget := attribute("forget_unreachable", true)
				resource := w.object()
				w.play(resource,
					step{name: "created", config: w.declares(5, waves), kind: providertest.PlanCreate, anyCalls: true},
					step{
						name: "one cannot leave", befalls: gone(5), config: w.declares(4, waves), hosts: addresses(1, 2, 3, 4, 5), anyCalls: true,
						says: "set forget_unreachable = true to remove it from state", fails: true,
					},
					step{name: "it is forgotten", config: w.declares(4, waves, forget), anyCalls: true, says: "web-5 (0:10.0.0.6): "},
				)
				gone(3)(w)
				resource.Protocol = w.open()
				_, said := resource.ApplyUnrefreshed(w.declares(2, waves, forget))
				providertest.Check(w, !said.Failed() && tells(said, "web-3 (0:10.0.0.4): ") && !w.at(4).Hosted, "web-4 has %+v; said: %s", w.at(4), said)
				gone(1)(w)
				_, said = resource.Apply(nil)
				if said.Failed() || !strings.Contains(said.String(), "Unreachable Hosts Forgotten") || !strings.Contains(said.String(), "web-1 (0:10.0.0.2): ") || strings.Contains(said.String(), "web-2 (") || !resource.State.IsNull() || w.at(2).Hosted {
					w.Errorf("state is %s; web-2 has %+v; said: %s", resource.State, w.at(2), said)
				}
			})
		})
	}
}

// A host whose agent answers when it is asked once more is not forgotten, as only the platform is slow.
func TestOwnership_notForgotten(t *testing.T) {
	t.Parallel()
	forgets := attribute("forget_unreachable", true)
	short := attribute("timeouts", map[string]any{"delete": "1m", "update": "1m"})
	for name, imported := range map[string]bool{"destroyed": false, "reduced-after-an-import": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				object := sim.ConfiguredFor(t, gateway).CoreOf(providertest.HostedType, &providertest.Kept{})
				object.Applied(fleetOf(gateway, 2, forgets, short))
				end := object.DestroyUnrefreshed
				if imported {
					object = sim.ConfiguredFor(t, gateway).CoreOf(providertest.HostedType, &providertest.Kept{})
					object.Imports("web:nginx@web-1=0:10.0.0.2,web-2=0:10.0.0.3")
					end = func() providertest.Diagnostics {
						_, said := object.Apply(fleetOf(gateway, 1, forgets, short))
						return said
					}
				}
				sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpUnhost), Takes: time.Hour})
				said := end()
				if !said.Failed() || !strings.Contains(said.String(), "forgets no host whose agent answers when it is asked once more") || len(object.Reasons("hosts")) != 2 {
					t.Errorf("hosts are %v; said: %s", object.Reasons("hosts"), said)
				}
			})
		})
	}
}

// passing returns a function that advances the platform's clock by a minute, as registration times are whole seconds.
func (w *world) passing() func() {
	var minutes atomic.Int64
	w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(minutes.Load()) * time.Minute) }
	return func() { minutes.Add(1) }
}

// An object that is destroyed without a refresh leaves alone what another object has registered since, whatever evidence
// there is.
func TestEvidence(t *testing.T) {
	t.Parallel()
	byAgent := map[string]string{"web-1": agents["web-1"]}
	for name, c := range map[string]struct {
		faces         []providertest.Face
		first, second map[string]string // hosts
		befalls       func(w *world, first *providertest.Core)
		says          string // if not "", the host stays in state
	}{
		// The first object failed to register again, so it has the previous registration.
		"not-registered-anew": {gse, addresses(1), addresses(1), func(w *world, first *providertest.Core) {
			w.on("update_proc_info", away, 1)
			_, said := first.ApplyUnrefreshed(w.changed(1))
			providertest.Check(w, said.Failed(), "said: %s", said)
			w.sim.Repair()
		}, ""},
		"address-first":  {[]providertest.Face{gateway}, addresses(1), byAgent, nil, ""},
		"agent-id-first": {[]providertest.Face{gateway}, byAgent, addresses(1), nil, ""},
		"other-name-unread": {[]providertest.Face{gateway}, addresses(1), byAgent, func(w *world, _ *providertest.Core) {
			w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403})
		}, "who registered it could not be read"},
		"time-kept": {gse, addresses(1), addresses(1), nil, "Unable to Unregister Hosted Process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, func(w *world) {
				pass := func() {}
				switch name {
				case "time-kept":
					w.sim.ReregisteringKeepsTime = true
				default:
					pass = w.passing()
				}
				if w.by == gateway {
					w.named(true)
				}
				first := w.object()
				first.Applied(w.declares(0, attribute("hosts", c.first)))
				first.Refresh()
				pass()
				w.object().Applied(w.declares(0, attribute("hosts", c.second), attribute("adopt_existing", true)))
				first.Protocol = w.open()
				if c.befalls != nil {
					c.befalls(w, first)
				}
				w.sim.ResetCalls()
				first.Protocol = w.open()
				said := first.DestroyUnrefreshed()
				p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
				if let := undoneOn(w.sim); len(let) > 0 || !p.Hosted || said.Failed() != (c.says != "") || !strings.Contains(words(said.String()), c.says) {
					w.Errorf("unregistered %v, and it is %+v; said: %s", let, p, said)
				}
			})
		})
	}
}

// With create_before_destroy, the hosts of both objects stay the new one's.
//
// Promised in shared-hosts.md: the destroy of the old one leaves them alone, without a warning and whatever its `safety` says.
func TestAccOwnership_createBeforeDestroy(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{
		Hosts: providertest.HostsConfig(3), More: "ensure = \"running\"\n  lifecycle { create_before_destroy = true }",
	}.String())
	cli.Expect(0, "apply", "-auto-approve")
	before := pids(sim, 3)
	cli.Expect(0, "taint", "bk_hosted_process.test")
	out := cli.Expect(0, "apply", "-auto-approve")
	providertest.Check(t, !strings.Contains(out, anothers), "the old object said:\n%s", out)
	expectHosted(t, sim, 3)
	after := pids(sim, 3)
	providertest.Check(t, slices.Equal(before, after), "processes %v became %v", before, after)
	cli.Expect(0, "plan", "-detailed-exitcode")
	cli.Expect(0, "destroy", "-auto-approve")
	left := sim.Processes()
	providertest.Check(t, !slices.ContainsFunc(left, func(p simulator.Process) bool { return p.Hosted }), "left behind: %+v", left)
}

// A console's registration of a host that another resource had taken over may be anyone's. It is left alone, and a
// warning names the host.
func TestOwnership_unowned(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		config := w.declares(2)
		first, second := w.object(), w.object()
		first.Applied(config)
		second.Applied(config)
		first.Refresh()
		w.colleague(1, 2)
		w.play(first, step{name: "destroyed", says: "Hosts Registered Without An Owner"})
		expectHosted(w.T, w.sim, 2)
	})
}

// A registration with another spec names the resource that made it.
func TestRead_otherSpecNamesItsOwner(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		first, second := w.object(), w.object()
		first.Applied(w.declares(2))
		second.ApplyUnrefreshed(w.changed(1, attribute("adopt_existing", true)))
		first.Refresh()
		owner, _ := second.Attribute("owner").(string)
		if why := first.Reasons("out_of_sync")["web-1"]; owner == "" || !strings.HasPrefix(why, "other_spec: ") || !strings.HasSuffix(why, ", owner "+owner) {
			t.Errorf("out_of_sync of web-1 is %q, and the owner is %q", why, owner)
		}
	})
}
