package hostedprocess_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A host that moves between two resources of one process is as declared after that one apply, whichever resource comes
// first. Neither reports another owner, and the process is not left stopped.
//
// Promised in shared-hosts.md: The host ends as declared in that apply, whichever resource comes first.
// Promised in shared-hosts.md: The resource that loses the host says nothing about it, and does not stop its process,
// whatever `on_destroy` says.
func TestMove(t *testing.T) {
	t.Parallel()
	orders := map[string]func(*moving){
		"gained-first": (*moving).gainedFirst, "gained-early": (*moving).gainedEarly, "left-first": (*moving).leftFirst, "left-before": (*moving).leftBefore,
	}
	stopped := map[fleet.Ensure]fleet.OnDestroy{fleet.EnsureRunning: fleet.DestroyStop}
	both := map[fleet.Ensure]fleet.OnDestroy{fleet.EnsureHosted: fleet.DestroyUnregister, fleet.EnsureRunning: fleet.DestroyStop}
	for _, c := range []struct {
		by    providertest.Face
		late  bool // the cached status
		begin func(*moving)
		what  string
		lives map[fleet.Ensure]fleet.OnDestroy
	}{
		{esb, false, (*moving).oneHost, "host", stopped},
		{esb, true, (*moving).oneHost, "host", both},
		{esb, true, (*moving).allHosts, "all", stopped},
		{gateway, true, (*moving).oneHost, "host", stopped},
	} {
		for ensure, leaving := range c.lives {
			for order, apply := range orders {
				t.Run(fmt.Sprintf("%s/%s/late-%t/%s/%s", c.by, c.what, c.late, leaving, order), func(t *testing.T) {
					t.Parallel()
					inMoves(t, c.by, leaving, func(m *moving) {
						c.begin(m)
						if c.late {
							m.sim.FreezeStatus()
						}
						m.start, m.more["ensure"] = "./start.sh -v", string(ensure)
						c.begin(m)
						before := m.pid()
						m.inOneRun()

						apply(m)

						// The process is restarted only if the leaver stopped it before it could know of the gainer.
						m.expect(c.late, leaving == fleet.DestroyUnregister || order != "left-before", before)
					})
				})
			}
		}
	}
}

// A host that leaves one object and is imported into another in the same apply stays as it is, although both objects
// have the owner id of its registration.
func TestMove_imported(t *testing.T) {
	t.Parallel()
	for order, apply := range map[string]func(*moving){
		"gained-first": (*moving).gainedFirst, "gained-early": (*moving).gainedEarly, "left-first": (*moving).leftFirst, "left-before": (*moving).leftBefore,
	} {
		for _, by := range gse {
			for _, leaving := range []fleet.OnDestroy{fleet.DestroyUnregister, fleet.DestroyStop} {
				t.Run(fmt.Sprintf("%s/%s/%s", by, leaving, order), func(t *testing.T) {
					t.Parallel()
					inMoves(t, by, leaving, func(m *moving) {
						m.alike = true
						m.leaver.Applied(m.declares(m.leaver, 1, 2, 3))
						providertest.Silent(m, m.gainer.Imports("web:nginx@web-3="+providertest.Address(3)))
						m.left, m.gained = []int{1, 2}, []int{3}
						before := m.pid()
						m.inOneRun()
						apply(m)
						m.expect(false, leaving == fleet.DestroyUnregister || order != "left-before", before)
					})
				})
			}
		}
	}
}

// A host also moves between two resources with the same declaration. The gainer warns that it has taken the host over
// only if it is done before the leaver begins.
//
// Promised in shared-hosts.md: If both have the same declaration and the one that gains the host is done before the other begins, it
// ends with *Hosts Taken Over*.
func TestMove_alike(t *testing.T) {
	t.Parallel()
	const fine = "or a resource that this apply takes the host out of, nothing needs to be done."
	oneByOne := func(m *moving) { m.applyGainer(); m.applyLeaver() }
	for _, by := range gse {
		for order, apply := range map[string]func(*moving){"gained-first": (*moving).gainedFirst, "left-first": (*moving).leftFirst, "one-by-one": oneByOne} {
			t.Run(string(by)+"/"+order, func(t *testing.T) {
				t.Parallel()
				inMoves(t, by, fleet.DestroyStop, func(m *moving) {
					m.alike = true
					m.oneHost()
					before := m.pid()
					m.inOneRun()
					apply(m)
					m.expect(false, true, before)
					notices := m.gainer.Notices.String()
					providertest.Check(m, strings.Contains(notices, "Hosts Taken Over") == (order == "one-by-one") && strings.Contains(notices, fine) == (order == "one-by-one"), "said: %s", notices)
				})
			})
		}
	}
}

// inMoves runs a test with two objects, in synthetic time.
func inMoves(t *testing.T, by providertest.Face, leaving fleet.OnDestroy, play func(*moving)) {
	t.Helper()
	providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
		t.Helper()
		m := &moving{T: t, sim: sim, by: by, start: "./start.sh", more: map[string]any{"ensure": "running", "on_destroy": string(leaving)}}
		m.leaver, m.gainer = m.object(), m.object()
		play(m)
	})
}

// inOneRun makes one run of the provider apply both objects from now on.
func (m *moving) inOneRun() {
	m.Helper()
	run := m.sim.ConfiguredFor(m.T, m.by)
	m.leaver.Protocol, m.gainer.Protocol = run, run
}

// moving is a test in which hosts, always number 3, move from leaver to gainer.
type moving struct {
	*testing.T
	sim            *providertest.Timed
	by             providertest.Face
	start          string
	more           map[string]any
	alike          bool // both declare the same labels
	leaver, gainer *providertest.Core
	left, gained   []int // hosts declared from now on
	said           [2]providertest.Diagnostics
}

func (m *moving) object() *providertest.Core {
	m.Helper()
	return m.sim.ConfiguredFor(m.T, m.by).CoreOf(providertest.HostedType, &providertest.Kept{})
}

// oneHost moves one of several hosts.
func (m *moving) oneHost() {
	m.leaver.Applied(m.declares(m.leaver, 1, 2, 3))
	m.gainer.Applied(m.declares(m.gainer, 4, 5))
	m.left, m.gained = []int{1, 2}, []int{3, 4, 5}
}

// allHosts moves the only host, as if the resource were renamed without a moved block.
func (m *moving) allHosts() {
	m.leaver.Applied(m.declares(m.leaver, 3))
	m.gained = []int{3}
}

// declares returns the configuration of an object on some hosts, nil on none. Unless alike, the two differ in labels.
func (m *moving) declares(of *providertest.Core, hosts ...int) map[string]any {
	if len(hosts) == 0 {
		return nil
	}
	role := "leaver"
	if of == m.gainer && !m.alike {
		role = "gainer"
	}
	return startedBy(m.by, m.start, 0, m.more, labelled(map[string]any{"role": role}), attribute("hosts", addresses(hosts...)))
}

func (m *moving) applyLeaver() {
	_, m.said[0] = m.leaver.ApplyUnrefreshed(m.declares(m.leaver, m.left...))
}

func (m *moving) applyGainer() {
	_, m.said[1] = m.gainer.ApplyUnrefreshed(m.declares(m.gainer, m.gained...))
}

// leftBefore applies the leaver before anything is known of the gainer.
func (m *moving) leftBefore() {
	m.applyLeaver()
	m.applyGainer()
}

// gainedFirst lets the gainer lock its hosts first.
func (m *moving) gainedFirst() { m.during(m.applyGainer, m.applyLeaver) }

// gainedEarly starts the leaver two seconds after the gainer.
func (m *moving) gainedEarly() {
	m.during(m.applyGainer, func() {
		<-time.After(2 * time.Second)
		m.applyLeaver()
	})
}

// leftFirst lets the leaver lock its hosts first.
func (m *moving) leftFirst() { m.during(m.applyLeaver, m.applyGainer) }

// during starts the second apply at the first call of the first one.
func (m *moving) during(first, second func()) {
	m.Helper()
	var (
		once  sync.Once
		other sync.WaitGroup
	)
	m.sim.OnCall = func(simulator.Call) {
		once.Do(func() {
			other.Go(second)
			synctest.Wait() // until it waits for its hosts
		})
	}
	first()
	other.Wait()
	m.sim.OnCall = nil
}

func (m *moving) pid() int {
	return m.sim.Machine(providertest.Address(3)).Process("web", "nginx").PID
}

func (m *moving) expect(late, runsOn bool, before int) {
	m.Helper()
	for i, said := range m.said {
		providertest.Check(m, len(said) == 0, "%s: %s", []string{"leaver", "gainer"}[i], said)
	}
	for object, hosts := range map[*providertest.Core][]int{m.leaver: m.left, m.gainer: m.gained} {
		providertest.Same(m, "hosts in state", addresses(hosts...), object.Reasons("hosts"))
		left := object.Reasons("out_of_sync")
		providertest.Check(m, len(left) == 0, "out_of_sync: %v", left)
		for _, n := range hosts {
			p, _ := m.sim.Process(providertest.Address(n), "web", "nginx")
			providertest.Check(m, p.Registered && p.Hosted && p.Running && p.Labels["tf_spec_owner"] == object.Attribute("owner"),
				"host %d is %+v, want owner %v", n, p, object.Attribute("owner"))
		}
		if late || len(hosts) == 0 {
			continue
		}
		object.Protocol = m.sim.ConfiguredFor(m.T, m.by)
		object.Settled(m.declares(object, hosts...))
	}
	after := m.pid()
	providertest.Check(m, runsOn == (after == before), "process %d became %d", before, after)
}

// If the gainer ends before the leaver begins, the move takes a second apply.
//
// Promised in shared-hosts.md: the host is `registered_by_other`, and the next apply registers it.
func TestMove_oneByOne(t *testing.T) {
	t.Parallel()
	for _, by := range gse {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			inMoves(t, by, fleet.DestroyStop, func(m *moving) {
				m.oneHost()
				before := m.pid()
				m.inOneRun()

				m.applyGainer()
				m.applyLeaver()

				if left := codes(m.gainer); !m.said[1].Failed() || left["web-3"] != "registered_by_other" || len(m.said[0]) > 0 {
					m.Errorf("out_of_sync %v; said: %v", left, m.said)
				}
				m.gainer.Protocol = m.sim.ConfiguredFor(m.T, by)
				m.gainer.Refresh()
				m.applyGainer()
				m.expect(false, true, before)
			})
		})
	}
}

// eitherFirst has the orders in which the applies overlap.
var eitherFirst = map[string]func(*moving){"gained-first": (*moving).gainedFirst, "left-first": (*moving).leftFirst}

// The gainer does not start a process that did not run when its host was left, or that ended by itself since.
func TestMove_notRunning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leaving fleet.OnDestroy
		before  bool // it ends before its host is left, not after
	}{"ended-since": {fleet.DestroyUnregister, false}, "ended-before": {fleet.DestroyStop, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMoves(t, esb, c.leaving, func(m *moving) {
				m.oneHost()
				m.more["ensure"] = "hosted"
				m.inOneRun()
				end := func() {
					providertest.NoError(m, m.sim.StopProcess(providertest.Address(3), "web", "nginx"))
				}
				if c.before {
					end()
				}
				m.applyLeaver()
				if !c.before {
					end()
				}
				m.applyGainer()
				p, _ := m.sim.Process(providertest.Address(3), "web", "nginx")
				providertest.Check(m, !p.Running && p.Hosted && !m.said[1].Failed(), "it is %+v; said: %s", p, m.said[1])
			})
		})
	}
}

// A destroy waits for another apply on its hosts until its own deadline.
func TestMove_destroyWaits(t *testing.T) {
	t.Parallel()
	inMoves(t, esb, fleet.DestroyUnregister, func(m *moving) {
		m.more["timeouts"] = map[string]any{"delete": "2s", "update": "1m"}
		m.oneHost()
		m.inOneRun()
		m.sim.Inject(simulator.Fault{API: "update_proc_info", Takes: 10 * time.Second})
		m.start = "./start.sh -v"
		m.left = []int{1, 2, 3}
		var said providertest.Diagnostics
		m.during(m.applyLeaver, func() {
			other := m.leaver.CoreOf(providertest.HostedType, &providertest.Kept{State: m.leaver.State, Private: m.leaver.Private})
			said = other.DestroyUnrefreshed()
		})
		if p, _ := m.sim.Process(providertest.Address(3), "web", "nginx"); !strings.Contains(said.String(), "was not unregistered, because another resource was still changing it") || !p.Hosted {
			m.Errorf("it is %+v; said: %s", p, said)
		}
	})
}

// An update waits as well, and says for what.
func TestMove_updateWaits(t *testing.T) {
	t.Parallel()
	inMoves(t, esb, fleet.DestroyUnregister, func(m *moving) {
		m.more["timeouts"] = map[string]any{"update": "1m"}
		m.oneHost()
		m.inOneRun()
		m.sim.Inject(simulator.Fault{API: "update_proc_info", Takes: 10 * time.Second})
		m.start = "./start.sh -v"
		m.left = []int{1, 2, 3}
		var said providertest.Diagnostics
		m.during(m.applyLeaver, func() {
			other := m.leaver.CoreOf(providertest.HostedType, &providertest.Kept{State: m.leaver.State, Private: m.leaver.Private})
			m.more["timeouts"] = map[string]any{"update": "2s"}
			_, said = other.ApplyUnrefreshed(m.declares(other, 1, 2))
		})
		providertest.Fails(m, said, "was left as it is, because another resource was still changing it")
	})
}

// A registration that a third object, of another configuration, has made since stays that object's, although the
// leaver is leaving the host.
func TestMove_anothers(t *testing.T) {
	t.Parallel()
	for by, statuses := range map[providertest.Face][]string{esb: {"current", "late", "unreadable"}, gateway: {"late"}} {
		for _, status := range statuses {
			for order, apply := range eitherFirst {
				t.Run(fmt.Sprintf("%s/%s/%s", by, status, order), func(t *testing.T) {
					t.Parallel()
					inMoves(t, by, fleet.DestroyStop, func(m *moving) {
						m.sim.ReregisteringKeepsTime, m.sim.HostingKeepsTime = status == "unreadable", status == "unreadable"
						m.oneHost()
						if status == "late" {
							m.sim.FreezeStatus()
						}
						third := m.object()
						third.Applied(startedBy(by, "./start.sh -3", 0, m.more, attribute("adopt_existing", true), attribute("hosts", addresses(3))))
						if status == "unreadable" { // the leaver has seen the third object's registration
							m.leaver.Refresh()
							m.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
						}
						before := m.pid()
						m.inOneRun()

						apply(m)

						left, want := codes(m.gainer), "unconfirmed" // the owner could not be read
						if status == "current" {
							want = "registered_by_other"
						}
						providertest.Check(m, m.said[1].Failed() && left["web-3"] == want, "out_of_sync %v; said: %s", left, m.said[1])
						p, _ := m.sim.Process(providertest.Address(3), "web", "nginx")
						providertest.Check(m, p.Hosted && p.Labels["tf_spec_owner"] == third.Attribute("owner") && m.pid() == before, "it is %+v", p)
					})
				})
			}
		}
	}
}

// A host that the gainer cannot register is in the gainer's state, and its process keeps running.
func TestMove_notGained(t *testing.T) {
	t.Parallel()
	for _, by := range gse {
		for order, apply := range eitherFirst {
			t.Run(fmt.Sprintf("%s/%s", by, order), func(t *testing.T) {
				t.Parallel()
				inMoves(t, by, fleet.DestroyStop, func(m *moving) {
					m.oneHost()
					before := m.pid()
					for _, api := range []string{"register_proc_info", "update_proc_info"} {
						f := away
						f.API, f.Op = by.FaultOn(api)
						f.Hosts = providertest.AddressList([]int{3})
						m.sim.Inject(f)
					}
					m.inOneRun()

					apply(m)

					want := map[string]string{"gained-first": "unconfirmed", "left-first": "not_registered"}[order] // to take it over may have worked
					if left := codes(m.gainer); !m.said[1].Failed() || left["web-3"] != want || m.said[0].Failed() || m.pid() != before {
						m.Errorf("process %d became %d, out_of_sync %v; said: %v", before, m.pid(), left, m.said)
					}
					m.sim.Repair()
					m.said = [2]providertest.Diagnostics{}
					m.applyGainer()
					m.expect(false, true, before)
				})
			})
		}
	}
}

// If the gainer registers nothing and has no state, the host leaves as its on_destroy says.
func TestMove_gainerFailed(t *testing.T) {
	t.Parallel()
	for _, by := range gse {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			inMoves(t, by, fleet.DestroyStop, func(m *moving) {
				m.allHosts()
				f := away
				f.API, f.Op = by.FaultOn("register_proc_info")
				m.sim.Inject(f)
				m.sim.Inject(simulator.Fault{API: "update_proc_info", Code: away.Code})
				m.inOneRun()
				m.applyGainer()
				m.sim.Repair()
				m.applyLeaver()
				p, _ := m.sim.Process(providertest.Address(3), "web", "nginx")
				providertest.Check(m, m.said[1].Failed() && m.gainer.State.IsNull() && len(m.said[0]) == 0 && !p.Running && !p.Hosted,
					"it is %+v; said: %v", p, m.said)
			})
		})
	}
}

// Without labels, only the memory of one run tells two objects apart. The next run must not rely on it.
func TestMove_unlabelled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more map[string]any
		play func(w *world, leaver, gainer *providertest.Core, more map[string]any)
	}{
		"stopped-first": {map[string]any{"on_destroy": "stop", "ensure": "hosted"}, func(w *world, leaver, gainer *providertest.Core, more map[string]any) {
			leaver.ApplyUnrefreshed(w.declares(0, more, attribute("hosts", addresses(1))))
			gainer.ApplyUnrefreshed(w.declares(0, more, attribute("hosts", addresses(3, 4))))
		}},
		"leaver-fails": {
			map[string]any{"on_destroy": "stop", "ensure": "running", "adopt_existing": true, "rollout": map[string]any{"batch_size": 1}},
			func(w *world, leaver, gainer *providertest.Core, more map[string]any) {
				gainer.ApplyUnrefreshed(w.declares(0, more, attribute("hosts", addresses(3, 4))))
				w.on("update_proc_info", away, 1)
				leaver.ApplyUnrefreshed(w.changed(0, more, attribute("hosts", addresses(1))))
				w.repair()
				leaver.Protocol = w.open()
				leaver.Apply(w.changed(0, more, attribute("hosts", addresses(1))))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, each, func(w *world) {
				if w.by != job {
					w.settings["spec_fingerprint_label"] = ""
				}
				leaver, gainer := w.object(), w.object()
				leaver.Protocol, gainer.Protocol = w.open(), w.open()
				leaver.Applied(w.declares(0, c.more, attribute("hosts", addresses(1, 3))))
				gainer.Applied(w.declares(0, c.more, attribute("hosts", addresses(4))))
				w.do(w.sim.StartProcess, 3)
				run := w.open()
				leaver.Protocol, gainer.Protocol = run, run
				c.play(w, leaver, gainer, c.more)
				providertest.Check(w, w.at(3).Running && w.at(3).Hosted, "web-3 has %+v", w.at(3))
			})
		})
	}
}
