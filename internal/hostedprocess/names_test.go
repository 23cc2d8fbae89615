package hostedprocess_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// An object that is destroyed after another one has registered its machine by the other name in this run leaves it
// alone, since unregistering one name may end what is hosted by the other. If the platform keeps an entry for each
// name, the old entry stays. If the names cannot be asked, nothing is unregistered either.
func TestNames_replacedFirst(t *testing.T) {
	t.Parallel()
	names := map[string]map[string]string{"address": addresses(1), "agent-id": {"web-1": agents["web-1"]}}
	for old, other := range map[string]string{"address": "agent-id", "agent-id": "address"} {
		for name, c := range map[string]struct{ perName, lags bool }{"one-entry": {}, "entry-per-name": {perName: true}, "cached-status-lags": {lags: true}} {
			t.Run(old+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newNames(t, c.perName)
				config := func(by string) map[string]any {
					return w.declares(0, map[string]any{"ensure": "running", "adopt_existing": true, "hosts": names[by]})
				}
				first := w.object()
				first.Applied(config(old))
				if c.lags {
					w.sim.FreezeStatus()
				}
				run := w.open()
				second := run.CoreOf(providertest.HostedType, &providertest.Kept{})
				second.Applied(config(other))
				before := pids(w.sim, 1)
				w.sim.ResetCalls()
				first.Protocol = run

				said := first.DestroyUnrefreshed()

				p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
				if said.Failed() || !strings.Contains(said.String(), anothers) || len(undoneOn(w.sim)) > 0 || !first.State.IsNull() || !cmp.Equal(before, pids(w.sim, 1)) {
					t.Errorf("unregistered %v; said: %s", undoneOn(w.sim), said)
				}
				owned := false
				for _, entry := range p.Entries {
					owned = owned || entry.Labels["tf_spec_owner"] == second.Attribute("owner")
				}
				providertest.Check(t, p.Hosted && p.Running && (len(p.Entries) == 2) == c.perName && owned, "it is %+v", p)
			})
		}
	}
	t.Run("another-machine", func(t *testing.T) {
		t.Parallel()
		w := newNames(t, false)
		first, run := w.object(), w.open()
		first.Applied(w.declares(1))
		run.CoreOf(providertest.HostedType, &providertest.Kept{}).Applied(w.declares(0, attribute("hosts", map[string]string{"web-2": agents["web-2"]})))
		first.Protocol = run
		providertest.Silent(t, first.DestroyUnrefreshed())
		providertest.Check(t, !w.at(1).Registered && w.at(2).Hosted, "they are %+v and %+v", w.at(1), w.at(2))
	})
	t.Run("names-unknown", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, gateway)
		w.sim.AdmitAgents, w.sim.RowsWithoutHost = true, true
		adopts, first := attribute("adopt_existing", true), w.object()
		first.Applied(w.declares(0, adopts, attribute("hosts", names["agent-id"])))
		w.sim.FreezeStatus()
		run := w.open()
		run.CoreOf(providertest.HostedType, &providertest.Kept{}).Applied(w.declares(1, adopts))
		w.onOp(simulator.OpQuery, simulator.Fault{HTTPStatus: 403})
		w.sim.ResetCalls()
		first.Protocol = run
		said := first.DestroyUnrefreshed()
		if !said.Failed() || !strings.Contains(words(said.String()), "by another name could not be asked") || len(undoneOn(w.sim)) > 0 {
			t.Errorf("unregistered %v; said: %s", undoneOn(w.sim), said)
		}
	})
}

// An object that leaves a machine waits while another object of the run still registers hosts, one of which is that
// machine by its other name. The platform shows it only later: here the cached status lags, and agents keep the time.
func TestNames_replacedMeanwhile(t *testing.T) {
	t.Parallel()
	names := map[string]map[string]string{"address": addresses(1, 2), "agent-id": {"web-1": agents["web-1"], "web-2": agents["web-2"]}}
	for old, other := range map[string]string{"address": "agent-id", "agent-id": "address"} {
		t.Run(old, func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				sim.ReregisteringKeepsTime, sim.HostingKeepsTime = true, true
				for key, agent := range agents {
					sim.AddAgent(agent, addresses(1, 2)[key])
				}
				one := attribute("hosts", map[string]string{"web-1": names[old]["web-1"]})
				first := sim.ConfiguredFor(t, gateway).CoreOf(providertest.HostedType, &providertest.Kept{})
				first.Applied(fleetOf(gateway, 0, one))
				sim.FreezeStatus()
				sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpHost), Hosts: []string{names[other]["web-2"]}, Takes: time.Minute})
				run := sim.ConfiguredFor(t, gateway)
				second := run.CoreOf(providertest.HostedType, &providertest.Kept{})
				first.Protocol = run
				var (
					begun atomic.Bool
					said  providertest.Diagnostics
					left  sync.WaitGroup
				)
				sim.OnCall = func(call simulator.Call) {
					if call.Op == simulator.OpHost && slices.Contains(call.Hosts, names[other]["web-2"]) && begun.CompareAndSwap(false, true) {
						left.Go(func() { said = first.DestroyUnrefreshed() })
						synctest.Wait() // until it waits for its host
					}
				}

				second.Applied(fleetOf(gateway, 0, map[string]any{"adopt_existing": true, "rollout": map[string]any{"batch_size": 1}, "hosts": names[other]}))
				left.Wait()

				providertest.Check(t, begun.Load() && !said.Failed() && strings.Contains(said.String(), anothers) && len(undoneOn(sim.Sim)) == 0, "unregistered %v; said: %s", undoneOn(sim.Sim), said)
				p := sim.Machine(providertest.Address(1)).Process("web", "nginx")
				providertest.Check(t, p.Hosted, "it is %+v", p)
			})
		})
	}
}

// The object that comes waits while another one still leaves the machine by its address. Only the agent that is asked
// by the address gives both names: the cached status has no row yet.
func TestNames_leftMeanwhile(t *testing.T) {
	t.Parallel()
	providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
		t.Helper()
		sim.ReregisteringKeepsTime, sim.HostingKeepsTime = true, true
		for key, agent := range agents {
			sim.AddAgent(agent, addresses(1, 2)[key])
		}
		sim.FreezeStatus()
		inWaves := attribute("rollout", map[string]any{"batch_size": 1})
		first := sim.ConfiguredFor(t, gateway).CoreOf(providertest.HostedType, &providertest.Kept{})
		first.Applied(fleetOf(gateway, 2))
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpHost), Hosts: providertest.AddressList([]int{4}), Takes: 10 * time.Second})
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpHost), Hosts: providertest.AddressList([]int{3}), Takes: time.Minute})
		run := sim.ConfiguredFor(t, gateway)
		second := run.CoreOf(providertest.HostedType, &providertest.Kept{})
		first.Protocol = run
		var (
			begun atomic.Bool
			comes sync.WaitGroup
		)
		sim.OnCall = func(call simulator.Call) {
			if call.Op == simulator.OpHost && begun.CompareAndSwap(false, true) {
				comes.Go(func() {
					second.Applied(fleetOf(gateway, 0, inWaves, map[string]any{"adopt_existing": true, "hosts": map[string]string{"web-2": agents["web-2"], "web-3": providertest.Address(3)}}))
				})
				synctest.Wait() // until it waits for its hosts
			}
		}

		first.ApplyUnrefreshed(fleetOf(gateway, 0, attribute("hosts", addresses(1, 4))))
		comes.Wait()

		p := sim.Machine(providertest.Address(2)).Process("web", "nginx")
		providertest.Check(t, begun.Load() && p.Hosted, "it is %+v", p)
	})
}

// A host moves between two objects of one run that name it in two forms. Its process is not stopped, whatever on_destroy
// says, whichever object comes first.
//
// Promised in shared-hosts.md: If one names it by address and the other by agent id, its process isn't stopped either. The resource that loses it may warn of *Hosts Belong To Another Resource*.
func TestNames_moved(t *testing.T) {
	t.Parallel()
	names := map[string]map[string]string{"address": addresses(1, 2), "agent-id": agents}
	for old, other := range map[string]string{"address": "agent-id", "agent-id": "address"} {
		for order, late := range map[string][2]time.Duration{"together": {0, 0}, "left-first": {0, time.Second}, "gained-first": {time.Second, 0}} {
			for entries, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
				t.Run(old+"/"+order+"/"+entries, func(t *testing.T) {
					t.Parallel()
					providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
						t.Helper()
						sim.EntryPerName = perName
						for key, agent := range agents {
							sim.AddAgent(agent, addresses(1, 2)[key])
						}
						declares := func(hosts map[string]string) map[string]any {
							return fleetOf(gateway, 0, map[string]any{"ensure": "running", "on_destroy": "stop", "hosts": hosts})
						}
						leaver := sim.ConfiguredFor(t, gateway).CoreOf(providertest.HostedType, &providertest.Kept{})
						leaver.Applied(declares(map[string]string{"web-1": names[old]["web-1"], "web-2": names[old]["web-2"]}))
						gainer := sim.ConfiguredFor(t, gateway).CoreOf(providertest.HostedType, &providertest.Kept{})
						gainer.Applied(declares(addresses(3)))
						before := pids(sim.Sim, 2)
						run := sim.ConfiguredFor(t, gateway)
						leaver.Protocol, gainer.Protocol = run, run
						left, gained := declares(map[string]string{"web-1": names[old]["web-1"]}), declares(map[string]string{"web-2": names[other]["web-2"], "web-3": providertest.Address(3)})
						sim.Inject(simulator.Fault{API: "*", Delay: 3 * time.Second}) // so that the second one begins before the first one ends
						var (
							both sync.WaitGroup
							said [2]providertest.Diagnostics
						)
						both.Go(func() {
							time.Sleep(late[0])
							_, said[0] = leaver.ApplyUnrefreshed(left)
						})
						both.Go(func() {
							time.Sleep(late[1])
							_, said[1] = gainer.ApplyUnrefreshed(gained)
						})
						both.Wait()
						sim.Repair()
						providertest.Check(t, slices.Equal(before, pids(sim.Sim, 2)) && (len(said[0]) == 0 || strings.Contains(said[0].String(), anothers)) && len(said[1]) == 0, "processes %v became %v; said: %v", before, pids(sim.Sim, 2), said)
						leaver.Protocol, gainer.Protocol = sim.ConfiguredFor(t, gateway), sim.ConfiguredFor(t, gateway)
						leaver.Settled(left)
						gainer.Settled(gained)
						p, _ := sim.Process(names[other]["web-2"], "web", "nginx")
						providertest.Check(t, p.Hosted && p.Labels["tf_spec_owner"] == gainer.Attribute("owner"), "it is %+v", p)
					})
				})
			}
		}
	}
}

// A host that could not be unregistered by its old name keeps that name, and the apply fails there. A host that could
// not be registered by its new name has the new name, and the next apply registers it. Its process keeps running.
//
// Promised in changing-hosts.md: If it cannot be unregistered it keeps its old name, with an error; if it cannot be registered, `out_of_sync` lists it under the new one.
func TestNames_notRenamed(t *testing.T) {
	t.Parallel()
	old := addresses(1, 2)
	renamed := map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)}
	for name, c := range map[string]struct {
		op    int
		fault simulator.Fault
		hosts map[string]string
		left  map[string]string
		then  providertest.PlanKind // what a refresh leaves to do
		more  map[string]any
	}{
		"not-unregistered": {simulator.OpUnhost, away, old, map[string]string{}, providertest.PlanUpdate, nil},
		"away":             {simulator.OpUnhost, away, old, map[string]string{}, providertest.PlanUpdate, attribute("max_unreachable_hosts", "1")},
		"not-registered":   {simulator.OpHost, away, renamed, map[string]string{"web-1": "unregistered"}, providertest.PlanUpdate, nil},
		"unconfirmed":      {simulator.OpHost, simulator.Fault{Takes: time.Hour}, renamed, map[string]string{"web-1": "unconfirmed"}, providertest.PlanNothing, nil},
		"lost":             {simulator.OpHost, simulator.Fault{Drop: "after"}, renamed, map[string]string{"web-1": "unconfirmed"}, providertest.PlanNothing, nil},
	} {
		for entries, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
			if perName && c.then == providertest.PlanNothing {
				continue // the new name took effect, as with one entry
			}
			t.Run(name+"/"+entries, func(t *testing.T) {
				t.Parallel()
				w := newNames(t, perName)
				var hours atomic.Int64
				w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
				more := map[string]any{"timeouts": map[string]any{"update": "4s"}, "ensure": "running", "on_destroy": "stop"}
				maps.Copy(more, c.more)
				after := w.declares(0, more, attribute("hosts", renamed))
				resource := w.object()
				resource.Applied(w.declares(2, more))
				before := pids(w.sim, 2)
				w.onOp(c.op, c.fault)
				_, said := resource.Apply(after)
				diff := cmp.Diff(c.hosts, resource.Reasons("hosts"))
				providertest.Check(t, diff == "" && said.Failed(), "hosts in state (-want +got):\n%s\nsaid: %s", diff, said)
				providertest.Same(t, "out_of_sync", c.left, codes(resource))
				w.sim.Repair()
				hours.Add(2)
				w.play(resource, step{name: "again", config: after, kind: c.then, anyCalls: true})
				providertest.Check(t, cmp.Equal(before, pids(w.sim, 2)), "processes %v became %v", before, pids(w.sim, 2))
				w.play(resource, step{name: "destroyed", anyCalls: true})
				w.expectNothing()
			})
		}
	}
}

// A host that could not be registered by its new name was this object's by its old one. If it is destroyed then, its
// process is stopped, as on_destroy says.
func TestNames_notRenamedAndDestroyed(t *testing.T) {
	t.Parallel()
	for entries, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
		t.Run(entries, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, perName)
			running := map[string]any{"ensure": "running", "on_destroy": "stop"}
			object := w.object()
			object.Applied(w.declares(1, running))
			w.onOp(simulator.OpHost, away)
			object.Apply(w.declares(0, running, attribute("hosts", map[string]string{"web-1": agents["web-1"]})))
			providertest.Same(t, "out_of_sync", codesOf("unregistered", 1), codes(object))
			w.repair()
			w.play(object, step{name: "destroyed", anyCalls: true})
			p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
			providertest.Check(t, !p.Running && !p.Hosted && !p.Registered(), "it is %+v", p)
		})
	}
}

// A machine that another tool has meanwhile registered by its new name keeps its old one.
func TestNames_newNameTaken(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int64{"earlier": 0, "later": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, true)
			pass := w.passing()
			object := w.object()
			object.Applied(w.declares(1))
			for range at {
				pass()
			}
			byAgent := w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"]}))
			object.Between = func() {
				err := w.sim.Register(agents["web-1"], "web", "nginx", map[string]string{"owner": "other-team"}, `{"identity":{}}`)
				providertest.NoError(t, err)
			}
			_, said := object.Apply(byAgent)
			if diff := cmp.Diff(addresses(1), object.Reasons("hosts")); diff != "" || !said.Failed() || !strings.Contains(said.String(), "somebody else has registered it by its new name") {
				t.Errorf("hosts (-want +got):\n%s\nsaid: %s", diff, said)
			}
			changes := w.sim.Changes()
			providertest.Check(t, len(undoneOn(w.sim)) == 0, "changed %v", changes)
		})
	}
}

// If the cached status does not show who has the new name, the host keeps its old one.
func TestNames_newNameUnread(t *testing.T) {
	t.Parallel()
	w := newNames(t, true)
	object := w.object()
	object.Applied(w.declares(1))
	object.Between = func() {
		w.sim.OnCall = func(call simulator.Call) {
			if call.Op == simulator.OpQuery { // the agent is asked whose the old name is
				w.sim.OnCall = nil
				w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403, Skip: 2}) // the first two, one for each name, show the owner
			}
		}
	}
	w.sim.ResetCalls()
	object.Protocol = w.open()
	_, said := object.ApplyUnrefreshed(w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"]})))
	providertest.Fails(t, said, "not renamed, because its old name could not be unregistered: who registered it could not be read", "HTTP 403")
	providertest.Same(t, "hosts in state", addresses(1), object.Reasons("hosts"))
	providertest.Check(t, len(w.sim.Changes()) == 0 && w.at(1).Hosted, "changed %v", w.sim.Changes())
}

// If the names of machines cannot be asked, no process is stopped and nothing is unregistered on hosts that are named
// in both ways, because two of them may be one machine.
func TestNames_unreadAtTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	w.sim.AdmitAgents = true // whose addresses the platform does not tell
	object := w.object()
	object.Applied(w.declares(0, map[string]any{"ensure": "running", "on_destroy": "stop", "hosts": map[string]string{"web-1": providertest.Address(1), "web-2": agents["web-2"]}}))
	w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403, Skip: 2}) // the first two, one for each form, show the owner
	w.sim.ResetCalls()
	object.Protocol = w.open()
	said := object.DestroyUnrefreshed()
	providertest.Fails(t, said, "not stopped, because whether another of the hosts is the same machine could not be asked", "on 2 of 2 hosts", "HTTP 403")
	providertest.Check(t, len(undoneOn(w.sim)) == 0 && len(object.Reasons("hosts")) == 2, "undone on %v; hosts in state: %v", undoneOn(w.sim), object.Reasons("hosts"))
}

// A rename together with another change is refused, by the plan or by an apply whose plan did not know it. The error
// names the two applies to use instead, and nothing is changed.
//
// Promised in changing-hosts.md: Anything else is refused with an error before anything is changed. The message says which two applies get there.
func TestNames_refused(t *testing.T) {
	t.Parallel()
	byAgent := map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)}
	unknown := map[string]string{"web-2": providertest.Address(2), "web-9": "0200000007525400f3557817103900054999"}
	const first, changes = "apply with its old name until it is as declared, then rename it and apply again", "what it is registered with changes as well"
	for name, c := range map[string]struct {
		befalls func(*world, *providertest.Core)
		start   string         // "./start.sh" by default
		more    map[string]any // declared besides
		hosts   map[string]string
		says    string
	}{
		"out-of-sync": {befalls: func(w *world, _ *providertest.Core) { w.do(w.sim.Unhost, 1) }, hosts: byAgent, says: "it is out of sync (not_hosted); " + first},
		"overtaken": {
			befalls: func(w *world, _ *providertest.Core) {
				w.object().Applied(w.changed(1, attribute("adopt_existing", true)))
			},
			hosts: byAgent, says: first,
		},
		"nothing-recorded": {befalls: func(_ *world, r *providertest.Core) { r.Private = nil }, hosts: byAgent, says: "nothing is known of its last apply; with its old name, apply a change of anything else"},
		"another-spec":     {start: "./start.sh -v", hosts: byAgent, says: changes + "; rename it and apply, then make the change and apply again"},
		"another-label":    {more: labelled(map[string]any{"team": "sre"}), hosts: byAgent, says: changes},
		"names-unknown":    {hosts: unknown, says: "the platform does not say whether it is one machine with web-9; take it out and apply, then add the other and apply again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway)
			if w.sim.AdmitAgents = name == "names-unknown"; !w.sim.AdmitAgents {
				w.named(false)
			}
			resource := w.object()
			resource.Applied(w.declares(2))
			if c.befalls != nil {
				c.befalls(w, resource)
			}
			start := "./start.sh"
			if c.start != "" {
				start = c.start
			}
			config := func(hosts any) map[string]any {
				return startedBy(w.by, start, 0, c.more, attribute("hosts", hosts))
			}
			w.sim.ResetCalls()
			resource.Protocol = w.open()
			if _, said := resource.Plan(config(map[string]any{"a": providertest.NotKnown{}, "web-2": providertest.Address(2), "web-9": unknown["web-9"]})); said.Failed() {
				t.Errorf("while a host is not known the plan says: %s", said)
			}
			if _, said := resource.Plan(config(c.hosts)); !said.Failed() || !strings.Contains(said.String(), c.says) {
				t.Errorf("the plan says: %s", said)
			}
			resource.Protocol = w.open()
			if _, said := resource.ApplyResolved(config(providertest.NotKnown{}), config(c.hosts)); !said.Failed() || !strings.Contains(said.String(), c.says) {
				t.Errorf("the apply says: %s", said)
			}
			w.sim.Changed(t)
		})
	}
}

// After an import that plans nothing, the message names the way to a rename.
func TestNames_importedAndRenamed(t *testing.T) {
	t.Parallel()
	w := newNames(t, false)
	w.settings["verify"] = "agent"
	w.hosted(1)
	object, byAgent := w.object(), attribute("hosts", map[string]string{"web-1": agents["web-1"]})
	providertest.Silent(t, object.Imports("web:nginx@web-1="+providertest.Address(1)))
	const says = "nothing is known of its last apply; with its old name, apply a change of anything else, such as timeouts, until it is as declared, then rename it and apply again"
	for range 2 {
		w.play(object, step{name: "its old name alone", config: w.declares(1), kind: providertest.PlanNothing})
		object.Protocol = w.open()
		_, said := object.Plan(w.declares(0, byAgent))
		providertest.Fails(t, said, says)
	}
	more := attribute("timeouts", map[string]any{"update": "9m"})
	w.play(object,
		step{name: "another change", config: w.declares(1, more)},
		step{name: "renamed", config: w.declares(0, more, byAgent), anyCalls: true},
	)
}

// If the platform does not say which names are one machine, the refused plan allocates as much for each of many hosts
// as for each of few. For ten thousand hosts it once took minutes.
func TestNames_refusedAllocates(t *testing.T) { //nolint:paralleltest // allocations of other tests would count
	perHost := func(hosts int) float64 {
		w := newWorld(t, gateway)
		w.sim.AdmitAgents, w.sim.RowsWithoutAgentID = true, true
		object, byAgent := w.object(), make(map[string]string, hosts)
		object.Applied(w.declares(hosts))
		for n := range hosts {
			byAgent[providertest.HostKey(n+1)] = fmt.Sprintf("0200000007525400f35578171039%08d", n)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, said := object.PlanUnrefreshed(w.declares(0, attribute("hosts", byAgent)))
		runtime.ReadMemStats(&after)
		providertest.Check(t, strings.Contains(said.String(), "Hosts Cannot Be Renamed Now"), "said: %s", said)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(hosts)
	}
	few, many := perHost(200), perHost(800)
	providertest.Check(t, many < 1.5*few, "a plan allocates %.0f bytes for each of 200 hosts, and %.0f for each of 800", few, many)
}

// If the hosts become known only in the apply, its rollout_plan is the same as that of a plan that knows them. Whether
// hosts are renamed may change until the apply, so it says both.
func TestRolloutPlan_knownLater(t *testing.T) {
	t.Parallel()
	waves := attribute("rollout", map[string]any{"waves": []any{"1"}})
	for name, c := range map[string]struct {
		hosts map[string]string
		want  string
	}{
		"leaves":           {addresses(1), "unregister 1 host: web-2"},
		"joins":            {addresses(1, 2, 3), "register 1 host: web-3"},
		"both":             {addresses(1, 3), "register 1 host: web-3\nthen unregister 1 host: web-2"},
		"renamed":          {map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)}, "rename or register 1 host: web-1\nthen unregister what is not renamed on 1 host: web-1"},
		"renamed-and-left": {map[string]string{"web-1": agents["web-1"]}, "rename or register 1 host: web-1\nthen unregister what is not renamed on 2 hosts: web-1, web-2"},
		"stays":            {addresses(1, 2), "calls no host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, false)
			resource := w.object()
			resource.Applied(w.declares(2, waves))
			plan, said := resource.Plan(w.declares(0, waves, attribute("hosts", c.hosts)))
			if does := plan.Planned(t)["rollout_plan"]; name != "stays" && providertest.Plain(t, does) != c.want || said.Failed() {
				t.Errorf("with all known it plans %s, want %q; said: %s", does, c.want, said)
			}
			unknown := w.declares(0, waves, attribute("hosts", c.hosts))
			values{"spec.control.start_cmd": providertest.NotKnown{}}.put(unknown)
			if _, said := resource.Plan(unknown); said.Failed() {
				t.Errorf("with a command that is not known: %s", said)
			}
			unknown = w.declares(2, waves, attribute("hosts", providertest.NotKnown{}))
			if _, said := resource.ApplyResolved(unknown, w.declares(0, waves, attribute("hosts", c.hosts))); len(said) > 0 {
				t.Error(said)
			}
			if got := resource.Attribute("rollout_plan"); got != c.want && name != "stays" {
				t.Errorf("rollout_plan is %q, want %q", got, c.want)
			}
		})
	}
}

// agentReports returns what an agent reports about the process that it hosts.
func agentReports(pid int, registered int64) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid, "isAuto": true, "register_time": registered}}}}}
}

// A process of another object, whose registration a refresh has seen, is not killed by a destroy, even if clocks differ
// or the resource is tainted, so that private state is lost.
func TestOvertaken_notKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		skewed  int64 // seconds by which the agent's clock is ahead of the platform's
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
				if c.skewed != 0 { // the second query reads back the registration
					w.onOp(simulator.OpQuery, after(simulator.Fault{Code: new(0), Content: agentReports(-1, 1795000000+c.skewed)}))
				}
				first.Applied(config)
				w.sim.Repair()
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

// An unconfirmed registration is not dropped by a refresh or a destroy as long as nothing shows whether it exists.
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
		w.sim.Repair()
		untimed := map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
		end := func() providertest.Diagnostics { return resource.DestroyUnrefreshed() }
		if w.by == esb { // its agents do not know of processes that are only registered
			w.onOp(simulator.OpQuery, simulator.Fault{Code: new(0), Content: untimed})
			end = resource.Refresh
		}
		if said := end(); resource.State.IsNull() && w.at(1).Registered {
			t.Errorf("it is forgotten, and is %+v; said: %s", w.at(1), said)
		}
	})
}

// A host with an unconfirmed registration does not count as unreachable once its agent is away.
func TestUnconfirmed_unreachable(t *testing.T) {
	t.Parallel()
	through(t, gse, func(w *world) {
		w.on("register_proc_info", once(simulator.Fault{Drop: "after"}))
		w.on("register_proc_info", after(simulator.Fault{HTTPStatus: 403}))
		resource := w.object()
		resource.Apply(w.declares(1, attribute("max_unreachable_hosts", "1")))
		w.repair()
		w.sim.FreezeStatus()
		w.sim.SetReachable(providertest.Address(1), false)
		if said := resource.Refresh(); codes(resource)["web-1"] != "unconfirmed" || len(resource.Reasons("unreachable")) > 0 {
			w.Errorf("out_of_sync %v, unreachable %v; said: %s", codes(resource), resource.Reasons("unreachable"), said)
		}
	})
}

// After a create whose end was not seen, the next apply warns that the registration may still take effect.
func TestUnconfirmed_mayComeYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	var polls atomic.Int64
	cut := w.sim.CutAt(func(call simulator.Call) bool {
		return call.API == w.by.ResultAPI() && call.Op == simulator.OpHost && polls.Add(1)%5 == 0
	})
	w.on("register_proc_info", simulator.Fault{Takes: time.Hour})
	resource := w.object()
	cut.Apply(resource, w.declares(1))
	w.sim.Repair()
	resource.Protocol = w.open()
	said := cut.Apply(resource, w.declares(1))
	providertest.Check(t, strings.Contains(said.String(), "Registration May Come Yet"), "%v; said: %s", resource.Reasons("out_of_sync"), said)
}

// A create whose answer was lost stays in state while its agent hosts nothing, and a destroy gives the same warning.
func TestUnconfirmed_withoutATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	w.on("register_proc_info", simulator.Fault{Takes: time.Hour})
	w.on("register_proc_info", simulator.Fault{Drop: "after"})
	resource := w.object()
	resource.Apply(w.declares(1))
	w.sim.Repair()
	w.play(resource, step{name: "destroyed", says: "Registration May Come Yet … check these hosts later … web-1"})
}

// An object of which nothing is left stays in state while a hosting or a restart of an earlier apply may still host the
// process.
func TestUnconfirmed_staysWhileItMayCome(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*world) (o *providertest.Core, pass func()){
		"hosting": func(w *world) (*providertest.Core, func()) {
			cut, pass := w.polled()
			o := w.object()
			o.Applied(w.declares(2))
			w.do(w.sim.Unregister, 1, 2)
			w.on("register_proc_info", simulator.Fault{Takes: time.Hour}, 2)
			cut.Apply(o, w.declares(2))
			w.do(w.sim.Unregister, 1)
			return o, pass
		},
		"restart": func(w *world) (*providertest.Core, func()) {
			o, _, pass := w.restarting()
			w.do(w.sim.StopProcess, 1, 2)
			w.do(w.sim.Unregister, 1, 2)
			return o, pass
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway) // its agents know whether it is registered
			o, pass := begin(w)
			o.Protocol = w.open()
			said := o.Refresh()
			providertest.Check(t, !o.State.IsNull(), "no longer in state; said: %s", said)
			w.repair()
			pass()
			o.Protocol = w.open()
			o.Apply(nil)
			w.expectNothing()
		})
	}
}

// A host registered with another supplier id than the provider's is imported with that id.
func TestImport_supplier(t *testing.T) {
	t.Parallel()
	w := newWorld(t, esb)
	w.settings["bk_supplier_id"] = 2
	w.object().Applied(w.declares(1))
	w.settings["bk_supplier_id"] = 0
	resource := w.object()
	said := resource.Imports("web:nginx")
	diff := cmp.Diff(map[string]string{"0:10.0.0.2": "0:2:10.0.0.2"}, resource.Reasons("hosts"))
	providertest.Check(t, diff == "" && len(said) == 0, "hosts (-want +got):\n%s\n%s", diff, said)
}

// agents has the agent ids of machines 1 and 2 in tests about names.
var agents = map[string]string{"web-1": "0200000007525400f355781710390005465c", "web-2": "0200000007525400f355781710390005465d"}

// newNames returns a world through the gateway in which machines 1 and 2 also have agent ids.
func newNames(t *testing.T, entryPerName bool) *world {
	t.Helper()
	w := newWorld(t, gateway)
	w.named(entryPerName)
	return w
}

// named gives machines 1 and 2 agent ids.
func (w *world) named(entryPerName bool) {
	w.sim.EntryPerName = entryPerName
	for n := 1; n <= 2; n++ {
		w.sim.AddAgent(agents[providertest.HostKey(n)], providertest.Address(n))
	}
}

// Through the gateway, a resource may name hosts by agent id and by address. One request never mixes the two, because
// the platform would ignore the addresses.
func TestGateway_agentIDs(t *testing.T) {
	t.Parallel()
	first, second := agents["web-1"], agents["web-2"]
	w := newWorld(t, gateway)
	w.sim.TenantID, w.settings["tenant_id"], w.settings["endpoint"] = "acme", "acme", w.sim.URL+"/api/bk-gse/prod"
	w.sim.AdmitAgents = true
	config := w.declares(0, attribute("hosts", map[string]string{"a": first, "b": second, "c": "0:10.0.0.2"}))
	resource := w.object()
	w.play(resource,
		step{name: "created", config: config, kind: providertest.PlanCreate, calls: []string{"update_proc_info " + first + " " + second, "update_proc_info 0:10.0.0.2"}},
		step{
			name: "one is unregistered", config: config, calls: []string{"update_proc_info " + second},
			befalls: func(w *world) {
				providertest.NoError(t, w.sim.Unregister(second, "web", "nginx"))
			},
		},
	)
	status, said := w.open().ReadData("bk_process_status", map[string]any{"meta": config["meta"], "hosts": config["hosts"], "spec": config["spec"]})
	providertest.Check(t, len(said) == 0 && status["stopped_count"] == 3, "status is %v; said: %s", status, said)
	w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403, Skip: 2}) // unregistering does not need the other names
	resource.Protocol = w.open()
	providertest.Silent(t, resource.DestroyUnrefreshed())
}

// A machine that is in state by both of its names, because the platform did not report them, is stopped once. It is
// unhosted by the other name before that, so that nothing starts it again.
func TestNames_twiceInState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	w.sim.EntryPerName, w.sim.AdmitAgents = true, true
	resource := w.object()
	resource.Applied(w.declares(0, map[string]any{"ensure": "running", "on_destroy": "stop", "hosts": map[string]string{"a": agents["web-1"], "b": providertest.Address(1)}}))
	w.sim.AddAgent(agents["web-1"], providertest.Address(1))
	w.play(resource, step{name: "destroyed", calls: []string{
		"operate_proc_multi/4 " + agents["web-1"], "operate_proc_multi/4 " + providertest.Address(1), "operate_proc_v2/1 " + providertest.Address(1),
	}})
	for _, call := range w.sim.Calls() {
		if call.Op == simulator.OpUnhost || call.Op == simulator.OpStop {
			providertest.Same(t, "the first of them", simulator.OpUnhost, call.Op)
			break
		}
	}
}

// If such a machine is to lose one of its names, and that cannot be unregistered, state keeps both. The other name has
// the declaration that it had.
func TestNames_twiceAndStays(t *testing.T) {
	t.Parallel()
	more, both := map[string]any{"ensure": "running", "on_destroy": "stop"}, map[string]string{"a": agents["web-1"], "b": providertest.Address(1)}
	alone := attribute("hosts", map[string]string{"b": providertest.Address(1)})
	for name, c := range map[string]struct {
		declares func(*world, int, ...map[string]any) map[string]any
		left     map[string]string
	}{
		"changed":  {(*world).changed, map[string]string{"a": "other_spec", "b": "other_spec"}},
		"as-it-is": {(*world).declares, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, gateway)
			w.sim.EntryPerName, w.sim.AdmitAgents = true, true
			resource := w.object()
			resource.Applied(w.declares(0, more, attribute("hosts", both)))
			w.sim.AddAgent(agents["web-1"], providertest.Address(1))
			stays := step{
				name: "one leaves",
				befalls: func(w *world) {
					w.sim.Inject(simulator.Fault{API: "operate_proc_multi", Op: new(simulator.OpUnhost), Hosts: []string{agents["web-1"]}, Code: new(simulator.CodeAgentAbnormal)})
				},
				config: c.declares(w, 0, more, alone), hosts: both,
				calls: []string{"operate_proc_multi/4 " + agents["web-1"]},
				left:  c.left, says: "its old name could not be unregistered", fails: true,
			}
			again := stays
			again.name, again.befalls = "it still cannot", nil
			w.play(resource, stays, again, step{name: "destroyed", befalls: (*world).repair, anyCalls: true})
			p := w.sim.Machine(providertest.Address(1)).Process("web", "nginx")
			providertest.Check(t, len(p.Entries) == 0 && !p.Hosted, "it is %+v", p)
		})
	}
}

// It stays hosted by the name that it keeps, also if its agent gives both names only by that one.
func TestNames_twiceAndAskedByOne(t *testing.T) {
	t.Parallel()
	both := map[string]string{"a": agents["web-1"], "b": providertest.Address(1)}
	for key, name := range both {
		t.Run(key+"-stays", func(t *testing.T) {
			t.Parallel()
			w := newNames(t, false)
			w.sim.RowsWithoutHost = true
			resource := w.object()
			resource.Applied(w.declares(0, attribute("hosts", map[string]string{"a": agents["web-1"]})))
			w.sim.SetReachable(providertest.Address(1), false)
			resource.Apply(w.declares(0, attribute("hosts", both)))
			providertest.Same(t, "hosts in state", both, resource.Reasons("hosts"))
			w.sim.SetReachable(providertest.Address(1), true)
			resource.Fresh = w.open // has not heard what the refresh has
			alone := w.declares(0, attribute("hosts", map[string]string{key: name}))
			w.play(resource, step{name: "one leaves", config: alone, anyCalls: true}, step{name: "again", config: alone, kind: providertest.PlanNothing})
			providertest.Check(t, w.at(1).Hosted, "it is %+v", w.at(1))
		})
	}
}

// If it loses one of its names and gets a new declaration in one apply, its process is restarted as the plan says.
func TestNames_twiceAndRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, gateway)
	w.sim.EntryPerName, w.sim.AdmitAgents = true, true
	more := map[string]any{"ensure": "running", "on_update": "restart"}
	resource := w.object()
	resource.Applied(w.declares(0, more, attribute("hosts", map[string]string{"a": agents["web-1"], "b": providertest.Address(1)})))
	w.sim.AddAgent(agents["web-1"], providertest.Address(1))
	w.play(resource, step{
		name: "one leaves", config: w.changed(0, more, attribute("hosts", map[string]string{"b": providertest.Address(1)})),
		calls: []string{"operate_proc_multi/3 " + providertest.Address(1), "operate_proc_multi/4 " + agents["web-1"], "operate_proc_v2/7 " + providertest.Address(1)},
	})
}

// A renamed machine is the same machine: no process is stopped, started, restarted or left unhosted. A machine under
// both of its names is refused before any call.
func TestOwnership_renamed(t *testing.T) {
	t.Parallel()
	for name, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, perName)
			declared := func(hosts map[string]string) map[string]any {
				return w.declares(0, map[string]any{"ensure": "running", "on_destroy": "stop", "hosts": hosts})
			}
			twice := step{name: "one machine twice", config: declared(map[string]string{"web-1": providertest.Address(1), "twin": agents["web-1"]}), says: "name each machine once", fails: true, hosts: map[string]string{}}
			resource := w.object()
			created := twice
			created.kind = providertest.PlanCreate
			w.play(resource, created, step{name: "by address", config: declared(addresses(1, 2)), kind: providertest.PlanCreate, anyCalls: true})
			before := pids(w.sim, 2)
			for _, hosts := range []map[string]string{{"web-1": agents["web-1"], "web-2": providertest.Address(2)}, agents, addresses(1, 2)} {
				w.play(resource, step{name: "named otherwise", config: declared(hosts), anyCalls: true})
				for _, m := range w.sim.Machines() {
					for _, p := range m.Processes {
						providertest.Check(t, p.Hosted && p.Running, "it is %+v", p)
					}
				}
			}
			twice.hosts = addresses(1, 2) // web-2 leaves in it but is not stopped
			w.play(resource, twice)
			after := pids(w.sim, 2)
			providertest.Check(t, slices.Equal(before, after), "processes %v became %v", before, after)
			w.play(resource, step{name: "by both", config: declared(map[string]string{"web-1": agents["web-1"], "web-2": providertest.Address(2)}), anyCalls: true}, step{name: "destroyed", anyCalls: true})
			providertest.Check(t, !w.at(1).Running && !w.at(2).Running, "one is not stopped: %+v and %+v", w.at(1), w.at(2))
		})
	}
}

// If another configuration has since registered a machine by its agent id, that process keeps running, although the
// platform also keeps an entry for the address.
func TestOwnership_theOtherName(t *testing.T) {
	t.Parallel()
	w := newNames(t, true)
	more := map[string]any{"ensure": "running", "on_destroy": "kill", "adopt_existing": true}
	second := w.declares(0, more, attribute("hosts", map[string]string{"a": agents["web-1"]}))
	first, other := w.object(), w.object()
	first.Applied(w.declares(1, more))
	other.Applied(second)
	before := pids(w.sim, 1)
	w.play(first, step{name: "destroyed", says: "registered by another resource since, as " + agents["web-1"]})
	if after, p := pids(w.sim, 1), w.sim.Machine(agents["web-1"]).Process("web", "nginx"); !slices.Equal(before, after) || !p.Hosted {
		t.Errorf("processes %v became %v; it is %+v", before, after, p)
	}
	w.play(other, step{name: "the other", config: second, kind: providertest.PlanNothing})
}

// The same holds if the other object registers it between two waves of the destroy.
func TestOwnership_theOtherNameBetweenWaves(t *testing.T) {
	t.Parallel()
	w := newNames(t, true)
	more := map[string]any{"ensure": "running", "adopt_existing": true}
	first := w.object()
	first.Applied(w.declares(2, more, map[string]any{"on_destroy": "kill", "rollout": map[string]any{"waves": []any{"1"}}}))
	before := pids(w.sim, 2)
	second := w.object() // of another run: in one run they wait for each other
	var once sync.Once
	w.sim.OnCall = func(call simulator.Call) {
		if call.Op == simulator.OpUnhost { // of the first wave
			once.Do(func() {
				second.Applied(w.declares(0, more, attribute("hosts", map[string]string{"a": agents["web-2"]})))
			})
		}
	}
	first.Protocol = w.open()

	said := first.DestroyUnrefreshed()

	p := w.sim.Machine(agents["web-2"]).Process("web", "nginx")
	if said.Failed() || !p.Hosted || pids(w.sim, 2)[1] != before[1] || pids(w.sim, 2)[0] > 0 {
		t.Errorf("processes %v became %v; it is %+v; said: %s", before, pids(w.sim, 2), p, said)
	}
}

// A host on which a start is under way is not renamed until the start is over, even if it is no longer wanted.
func TestHostedProcess_startUnderWayRenamed(t *testing.T) {
	t.Parallel()
	w := newNames(t, false)
	var hours, polls atomic.Int64
	w.sim.Now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
	cut := w.sim.CutAt(func(call simulator.Call) bool {
		return call.API == w.by.ResultAPI() && call.Op == simulator.OpStart && polls.Add(1)%5 == 0
	})
	running := attribute("ensure", "running")
	resource := w.object()
	resource.Applied(w.declares(1))
	w.onOp(simulator.OpStart, simulator.Fault{Takes: time.Hour})
	cut.Apply(resource, w.declares(1, running))
	w.sim.ResetCalls()
	resource.Protocol = w.open()
	byAgent := attribute("hosts", map[string]string{"web-1": agents["web-1"]})
	_, said := resource.Apply(w.declares(0, running, byAgent))
	if changes := w.sim.Changes(); len(changes) > 0 || !said.Failed() || !strings.Contains(said.String(), "Hosts Cannot Be Renamed Now") {
		t.Errorf("changed %v; said: %s", changes, said)
	}
	hours.Add(2)
	w.play(resource,
		step{name: "no longer to run", config: w.declares(1), anyCalls: true},
		step{name: "renamed", config: w.declares(0, byAgent), anyCalls: true},
	)
}

// Nor is a host on which a restart is under way that is no longer wanted.
func TestHostedProcess_restartUnderWayRenamed(t *testing.T) {
	t.Parallel()
	w := newNames(t, false)
	o, cut, pass := w.restarting()
	cut.Apply(o, w.changed(2, attribute("on_update", "register")))
	w.sim.ResetCalls()
	renamed := w.changed(0, attribute("on_update", "register"), attribute("hosts", map[string]string{"web-1": providertest.Address(1), "web-2": agents["web-2"]}))
	o.Protocol = w.open()
	_, said := o.Apply(renamed)
	providertest.Fails(t, said, "Hosts Cannot Be Renamed Now", "an operation of an earlier apply is under way on it")
	w.sim.Changed(t)
	w.repair()
	pass()
	w.play(o, step{name: "renamed", config: renamed, anyCalls: true})
}

// If the names of machines cannot be asked, hosts that are named in both ways are not changed, because two of them may
// be one machine.
func TestHostedProcess_namesUnread(t *testing.T) {
	t.Parallel()
	for name, exists := range map[string]bool{"create": false, "update": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, false)
			mixed := w.declares(0, attribute("hosts", map[string]string{"web-1": providertest.Address(1), "web-2": agents["web-2"]}))
			resource := w.object()
			if exists {
				resource.Applied(w.declares(1))
			}
			w.sim.ResetCalls()
			resource.Between = func() { w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403}) }
			_, said := resource.Apply(mixed)
			providertest.Fails(t, said, "Unable to Tell Hosts Apart", "whether two of them are one machine could not be asked")
			calls := w.sim.Changes()
			providertest.Check(t, len(calls) == 0 && resource.State.IsNull() != exists, "called %v; state is %s", calls, resource.State)
			w.sim.Repair()
			resource.Between, resource.Tainted = nil, false
			resource.Applied(mixed)
		})
	}
	t.Run("interrupted", func(t *testing.T) { // before an agent has said which machine it is
		t.Parallel()
		w := newNames(t, false)
		w.sim.RowsWithoutHost = true
		cut := w.sim.CutAt(func(call simulator.Call) bool { return call.Op == simulator.OpQuery && call.API == w.by.ResultAPI() })
		resource := w.object()
		resource.Applied(w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"]})))
		w.sim.ResetCalls()
		said := cut.Apply(resource, w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"], "twin": providertest.Address(1)})))
		providertest.Fails(t, said, "Unable to Tell Hosts Apart", "whether two of them are one machine could not be asked")
		providertest.Check(t, len(w.sim.Changes()) == 0, "called %v", w.sim.Changes())
		providertest.Same(t, "hosts in state", map[string]string{"web-1": agents["web-1"]}, resource.Reasons("hosts"))
	})
	t.Run("rename", func(t *testing.T) {
		t.Parallel()
		w := newNames(t, false)
		resource := w.object()
		resource.Applied(w.declares(1))
		w.sim.ResetCalls()
		resource.Fresh = w.open // has not heard the names
		resource.Between = func() { w.on("get_proc_status_v2", simulator.Fault{HTTPStatus: 403}) }
		_, said := resource.Apply(w.declares(0, attribute("hosts", map[string]string{"web-1": agents["web-1"]})))
		providertest.Fails(t, said, "Unable to Tell Hosts Apart", "hosts leave that are named in another form than hosts that stay or come")
		providertest.Check(t, len(w.sim.Changes()) == 0, "called %v", w.sim.Changes())
		providertest.Same(t, "hosts in state", addresses(1), resource.Reasons("hosts"))
	})
}
