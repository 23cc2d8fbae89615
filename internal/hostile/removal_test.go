package hostile_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A destroy does not change a process that this object never registered.
func TestRemoval_neverItsOwn(t *testing.T) {
	t.Parallel()
	// two declares two hosts, of which the first is refused or another team's.
	two := map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}
	plays(t, labelled, map[string]func(hostile){
		// A process that another team had registered, and has unregistered, is not killed.
		"unregistered": func(h hostile) {
			h.colleague()
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "kill", two))
			h.unregister()
			h.spares(resource)
		},
		// Nor is it after this object's update was rolled back because of it.
		"rolled-back": func(h hostile) {
			resource, more := h.object(), map[string]any{"adopt_existing": false, "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}
			resource.Applied(h.config("./start.sh", "hosted", "kill", more))
			h.unregister()
			resource.Between = h.colleague
			resource.Apply(h.config("./new.sh", "hosted", "kill", more))
			resource.Between = nil
			if h.spares(resource); !h.process().Registered {
				h.Error("the other team's process was unregistered")
			}
		},
		// Nor is it if registrations have no labels.
		"refused-without-labels": func(h hostile) {
			h.settings["spec_fingerprint_label"] = ""
			h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed)})
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "kill", two))
			h.sim.Repair()
			h.colleague()
			if h.leaves(resource); !h.process().Registered {
				h.Errorf("it is %+v", h.process())
			}
		},
		"unread-without-labels": func(h hostile) {
			h.settings["spec_fingerprint_label"] = ""
			h.colleague()
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{providertest.Address(1)}, Missing: -1})
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "kill", two))
			h.sim.Repair()
			if h.leaves(resource); !h.process().Registered {
				h.Errorf("it is %+v", h.process())
			}
		},
	})
	// JOB has no labels at all.
	plays(t, []providertest.Face{providertest.FaceJOB}, map[string]func(hostile){"refused": func(h hostile) {
		resource := h.object()
		h.sim.Inject(simulator.Fault{API: "operate_process", Op: new(simulator.OpHost), Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed), Times: 1})
		config := h.by.Reference("./start.sh", 2)
		config["on_destroy"] = "kill"
		resource.Apply(config)
		ns, name := h.by.Process()
		h.must(h.sim.Register(providertest.Address(1), ns, name, nil, `{"identity":{}}`), h.sim.Host(providertest.Address(1), ns, name))
		_, said := resource.Apply(nil)
		providertest.Check(h, h.process().Hosted, "it is %+v; said: %s", h.process(), said)
	}})
}

// A host does not count as unregistered if a call says that nothing is there, the time is up, or its row
// is missing. The agent's answer decides.
func TestRemoval_goneBySayingSo(t *testing.T) {
	t.Parallel()
	forgetful := map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "2s"}}
	for name, c := range map[string]struct {
		more map[string]any
		turn func(hostile)
	}{
		"not-running": {nil, func(h hostile) {
			if h.by == providertest.FaceGateway { // agents do not know what the ESB unregisters
				h.onRelease(simulator.Fault{Code: new(simulator.CodeNotRunning)})
			}
		}},
		"forget-unreachable": {forgetful, func(h hostile) {
			h.onRelease(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
		}},
		"forget-unreachable-and-no-agent-to-ask": {forgetful, func(h hostile) {
			h.onRelease(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
			// The agents are asked before hosts are unregistered, and once the time is up.
			h.onQuery(simulator.Fault{HTTPStatus: 403, Skip: 1})
		}},
		"registered-alone": {map[string]any{"ensure": "registered"}, func(h hostile) {
			h.hide()
			if h.by == providertest.FaceESB {
				h.onQuery(simulator.Fault{Code: new(0), Content: untimed()})
			}
		}},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			resource := h.applied(h.config("./start.sh", "hosted", "unregister", c.more))
			c.turn(h)
			h.keeps(resource)
		}})
	}
	plays(t, labelled, map[string]func(hostile){
		"imported": func(h hostile) {
			h.object().Applied(h.config("./start.sh", "hosted", "unregister"))
			resource := h.object()
			resource.Imports("web:nginx")
			h.hide()
			if resource.Refresh(); resource.State.IsNull() {
				h.Error("it is gone from state because its row is missing")
			}
		},
		// An agent that does not say whether it hosts the process may host it.
		"refreshed": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			h.hide()
			h.onQuery(simulator.Fault{Code: new(0), Content: agentReportsPID(77)})
			if said := resource.Refresh(); resource.State.IsNull() && h.process().Hosted {
				h.Errorf("a refresh removed it from state, and it is %+v; said: %s", h.process(), said)
			}
		},
	})
}

// An agent without times does not know processes that are registered but not hosted. If the row is missing too, that
// does not show that the process is unregistered.
func TestRemoval_unhostedWithoutTimes(t *testing.T) {
	t.Parallel()
	plays(t, labelled[:1], map[string]func(hostile){"refreshed": func(h hostile) {
		h.sim.AgentsWithoutTimes = true
		resource := h.applied(h.config("./start.sh", "hosted", "unregister"))
		h.must(h.sim.Unhost(providertest.Address(1), "web", "nginx"))
		h.hide()
		said := resource.Refresh()
		providertest.Check(h, !resource.State.IsNull(), "a refresh removed it from state, and it is %+v; said: %s", h.process(), said)
	}, "destroyed-after-a-lost-answer": func(h hostile) {
		h.sim.AgentsWithoutTimes = true
		h.sim.Inject(simulator.Fault{API: "register_proc_info", Drop: "after"})
		resource := h.object()
		resource.Apply(h.config("./start.sh", "hosted", "kill"))
		h.must(h.sim.StartProcess(providertest.Address(1), "web", "nginx")) // by hand
		h.must(h.sim.Unhost(providertest.Address(1), "web", "nginx"))
		h.hide()
		_, said := resource.Apply(nil)
		providertest.Check(h, !said.Failed() && !h.process().Registered && h.sim.Machine(providertest.Address(1)).Process("web", "nginx").Running,
			"it is %+v; said: %s", h.process(), said)
	}})
}

// A console unregisters a process, and the answer to registering it again is lost. What runs there is still this object's,
// and a destroy stops it.
func TestRemoval_lostOnceMore(t *testing.T) {
	t.Parallel()
	for name, untimed := range map[string]bool{"with-times": false, "without-times": true} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.sim.AgentsWithoutTimes = untimed
			config := h.config("./start.sh", "running", "stop", map[string]any{"adopt_existing": false})
			resource := h.applied(config)
			h.must(h.sim.Unhost(providertest.Address(1), "web", "nginx"))
			h.unregister()
			h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Drop: "before"})
			for range 2 { // what is uncertain stays so
				_, said := resource.Apply(config)
				left := resource.Reasons("out_of_sync")["web-1"]
				providertest.Check(h, strings.HasPrefix(left, "unconfirmed"), "out of sync %q; said: %s", left, said)
			}
			h.sim.Repair()
			_, said := resource.Apply(nil)
			p := h.sim.Machine(providertest.Address(1)).Process("web", "nginx")
			providertest.Check(h, !said.Failed() && resource.State.IsNull() && !p.Running, "it is %+v; said: %s", p, said)
		}})
	}
}

// The answer to registering a process is lost, and its agent hosts and starts it. A destroy stops it.
func TestRemoval_unconfirmedIsStopped(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceGateway, providertest.FaceJOB} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, by)
			h.sim.Inject(simulator.Fault{API: "operate_proc*", Op: new(simulator.OpHost), Drop: "after"})
			config, resource := by.Reference("./start.sh", 1), h.object()
			config["on_destroy"] = "stop"
			resource.Apply(config)
			h.sim.Repair()
			ns, name := by.Process()
			h.must(h.sim.StartProcess(providertest.Address(1), ns, name))
			_, said := resource.Apply(nil)
			p := h.sim.Machine(providertest.Address(1)).Process(ns, name)
			providertest.Check(t, !said.Failed() && !p.Hosted && !p.Running, "it is %+v; said: %s", p, said)
		})
	}
}

// forget_unreachable does not forget a host whose agent answers, in whatever way.
//
// Promised in changing-hosts.md: An agent that answers late or with an error has answered, and its host stays.
func TestRemoval_keepsHostsThatAnswer(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]simulator.Fault{
		"broken":         {ContentShape: "broken"},
		"no-instance":    {ContentShape: "no-instance"},
		"terminated":     {Code: new(126)},
		"command":        {Code: new(simulator.CodeCommandFailed), Message: "version_cmd: exit status 1"},
		"not-registered": {Code: new(832)},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister", map[string]any{"forget_unreachable": true}))
			h.onRelease(simulator.Fault{Code: new(simulator.CodeFailed)})
			h.onQuery(query)
			h.keeps(resource)
		}})
	}
	// An agent that needs more time than is left still counts as answering.
	plays(t, labelled, map[string]func(hostile){"slow": func(h hostile) {
		resource := h.applied(h.config("./start.sh", "hosted", "unregister", map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "1s"}}))
		h.onQuery(simulator.Fault{Takes: 600 * time.Millisecond})
		said := resource.DestroyUnrefreshed()
		providertest.Check(h, said.Failed() && !strings.Contains(said.String(), "set forget_unreachable"), "said: %s", said)
		h.keeps(resource)
	}})
}

// A host that could not leave is kept, although a new host has its address as a key.
func TestRemoval_keyInUse(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"leaves": func(h hostile) {
		resource := h.applied(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{"a": providertest.Address(1)}}))
		h.onRelease(simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed)})
		_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{
			"a": providertest.Address(2), "0:0:10.0.0.2": providertest.Address(3),
		}}))
		hosts := providertest.Texts(resource.Attribute("hosts"))
		if len(hosts) != 3 && h.process().Hosted && h.at(2).Hosted && h.at(3).Hosted {
			h.Errorf("hosts are %v; said: %s", hosts, said)
		}
	}})
}

// No document says that unregistering also unhosts. At the ESB, the platform's answer is not sufficient to show that
// the agent no longer hosts the process.
//
// Promised in changing-hosts.md: If an agent gives no answer then, the host stays, with an error.
func TestRemoval_unregistersAtTheESB(t *testing.T) {
	t.Parallel()
	plays(t, labelled[:1], map[string]func(hostile){
		"and-it-is-hosted": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(simulator.CodeOK)}) // and does nothing
			_, said := resource.Apply(nil)
			providertest.Check(h, !said.Failed() && !h.process().Hosted && h.process().Running, "it is %+v; said: %s", h.process(), said)
		},
		// The host stays in state until its agent answers again.
		"and-its-agent-is-away": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(simulator.CodeOK)})
			h.sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Unreachable: "117", Skip: 1}) // it has told the time
			said := resource.DestroyUnrefreshed()
			providertest.Check(h, said.Failed() && strings.Contains(said.String(), "set forget_unreachable = true"), "said: %s", said)
			h.keeps(resource)
		},
		// So it does if the question fails, or if the answer cannot be read.
		"and-its-agent-cannot-be-asked": func(h hostile) {
			for _, query := range []simulator.Fault{{HTTPStatus: 403}, {ContentShape: "broken"}} {
				resource := h.applied(h.config("./start.sh", "running", "unregister"))
				h.sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(simulator.CodeOK)})
				query.Skip = 1
				h.onQuery(query)
				said := resource.DestroyUnrefreshed()
				providertest.Check(h, said.Failed() && strings.Contains(said.String(), "could not be asked"), "said: %s", said)
				h.keeps(resource)
			}
		},
		"and-its-agent-does-not-say-so": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(simulator.CodeOK)})
			h.onQuery(simulator.Fault{ContentShape: "no-isauto"})
			_, said := resource.Apply(nil)
			providertest.Check(h, !said.Failed() && !h.process().Hosted, "it is %+v; said: %s", h.process(), said)
		},
		// A registration that another object has made meanwhile stays hosted.
		"and-another-registers": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			var once sync.Once
			h.sim.OnCall = func(call simulator.Call) {
				if call.API == "unregister_proc_info" {
					once.Do(func() { h.another(providertest.Address(1)) })
				}
			}
			if _, said := resource.Apply(nil); !h.process().Hosted || !h.process().Running || !strings.Contains(said.String(), "another owner's is left alone") {
				h.Errorf("it is %+v; said: %s", h.process(), said)
			}
			if _, said := resource.Apply(nil); said.Failed() || !h.process().Hosted {
				h.Errorf("then it is %+v; said: %s", h.process(), said)
			}
		},
	})
}

// If the platform says that nothing is registered, the agent is asked.
//
// Promised in changing-hosts.md: If an agent cannot be asked, or if registering is hosting and the process is still hosted, the host stays, with an error.
func TestRemoval_nothingRegistered(t *testing.T) {
	t.Parallel()
	for by, before := range map[providertest.Face]int{ // number of earlier queries to the agents
		providertest.FaceESB: 1, providertest.FaceGateway: 1, providertest.FaceJOB: 0,
	} {
		for name, c := range map[string]struct{ silent, stays bool }{
			"hosts-it":        {silent: false, stays: by != providertest.FaceESB},
			"does-not-answer": {silent: true, stays: true},
		} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				h := newHostile(t, by)
				resource := h.applied(h.config("./start.sh", "running", "unregister"))
				unregister := by.Target(providertest.OnDelete)
				h.sim.Inject(simulator.Fault{API: unregister.API, Op: unregister.Op, Code: new(simulator.CodeNotRunning)})
				if c.silent {
					h.sim.Inject(simulator.Fault{API: "operate_proc*", Op: new(simulator.OpQuery), Unreachable: "117", Skip: before})
				}
				said := resource.DestroyUnrefreshed()
				namespace, process := by.Process()
				p := h.sim.Machine(providertest.Address(1)).Process(namespace, process)
				providertest.Check(t, said.Failed() == c.stays && resource.State.IsNull() != c.stays && p.Hosted == c.stays && p.Running,
					"it is %+v; said: %s", p, said)
				if c.silent && !strings.Contains(said.String(), "117") {
					t.Errorf("said: %s", said)
				}
			})
		}
	}
}

// The platform says of two hosts that nothing runs. The agent of one does not answer whether that is so, and the other
// host is unregistered before the deadline.
func TestSilent_stopped(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"destroyed": func(h hostile) {
		resource := h.applied(h.config("./start.sh", "hosted", "stop", map[string]any{"hosts": providertest.HostsOf(2), "timeouts": map[string]any{"delete": "8s"}}))
		// The first query asks for the registration time.
		h.onQuery(simulator.Fault{Hosts: []string{providertest.Address(2)}, Pending: -1, Skip: 1})
		_, said := resource.Apply(nil)
		left := providertest.Texts(resource.Attribute("hosts"))
		providertest.Check(h, said.Failed() && len(left) == 1 && left["web-2"] != "", "hosts are %v; said: %s", left, said)
		providertest.Check(h, !h.process().Registered && !h.process().Hosted, "it is %+v", h.process())
	}})
}

// A rename unhosts the old name, and the answer is lost. The next apply with the old name hosts it again, although the
// cached status still shows it as hosted.
func TestSilent_notRenamed(t *testing.T) {
	t.Parallel()
	h := newHostile(t, providertest.FaceGateway)
	h.sim.AddAgent(agent, providertest.Address(1))
	config := func(address string) map[string]any {
		return h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{"web-1": address}, "timeouts": map[string]any{"update": "8s"}})
	}
	resource := h.applied(config(providertest.Address(1)))
	h.sim.FreezeStatus()
	h.onRelease(simulator.Fault{Drop: "after"})
	_, said := resource.Apply(config(agent))
	unhosted := !h.sim.Machine(providertest.Address(1)).Process("web", "nginx").Hosted
	h.sim.Repair()
	_, again := resource.Apply(config(providertest.Address(1)))
	providertest.Check(t, said.Failed() && unhosted && !again.Failed() && h.process().Hosted, "it is %+v; said: %s, and then: %s", h.process(), said, again)
}

// Two hosts are renamed on a platform that keeps an entry for each name, where unregistering the old one unhosts the
// machine. The agent of one does not answer whether it is still hosted, and the other is hosted again before the deadline.
func TestSilent_renamed(t *testing.T) {
	t.Parallel()
	agents := map[string]string{"web-1": "0200000007525400f355781710390005465c", "web-2": "0200000007525400f355781710390005465d"}
	h := newHostile(t, providertest.FaceGateway)
	h.sim.EntryPerName = true
	for n, key := range []string{"web-1", "web-2"} {
		h.sim.AddAgent(agents[key], providertest.Address(n+1))
	}
	resource := h.object()
	config := func(hosts map[string]string) map[string]any {
		return h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": hosts, "timeouts": map[string]any{"update": "8s"}})
	}
	resource.Applied(config(providertest.HostsOf(2)))
	h.sim.ResetCalls()
	released := false
	h.sim.OnCall = func(call simulator.Call) {
		if !released && call.Op == simulator.OpUnhost {
			released = true
			h.onQuery(simulator.Fault{Hosts: []string{providertest.Address(2), agents["web-2"]}, Pending: -1})
		}
	}
	_, said := resource.Apply(config(agents))
	first := h.sim.Machine(providertest.Address(1)).Process("web", "nginx")
	providertest.Check(t, released && said.Failed() && first.Hosted, "released: %t; it is %+v; said: %s", released, first, said)
}

// A request that was sent twice and refused the second time may never have taken effect. What is registered need not be
// what it asked for.
func TestRefused_resent(t *testing.T) {
	t.Parallel()
	plays(t, labelled[1:], map[string]func(hostile){"hosting": func(h hostile) {
		h.sim.HostingOnce = true
		resource := h.applied(h.config("./old.sh", "hosted", "unregister"))
		h.onReregister(simulator.Fault{Drop: "before", Times: 1})
		_, said := resource.Apply(h.config("./new.sh", "hosted", "unregister"))
		if !said.Failed() && len(resource.Reasons("out_of_sync")) == 0 && !providertest.StartsWith(h.process(), "./new.sh") {
			h.Errorf("it is %+v; said: %s", h.process(), said)
		}
	}})
	plays(t, labelled[:1], map[string]func(hostile){"registering-without-labels": func(h hostile) {
		h.settings["spec_fingerprint_label"] = ""
		h.sim.Colleague(h.T, "web", "nginx", map[string]string{"owner": "other-team"}, 1)
		h.sim.Inject(simulator.Fault{API: "register_proc_info", Drop: "before", Times: 1})
		resource := h.object()
		_, said := resource.Apply(h.config("./start.sh", "registered", "unregister", map[string]any{"adopt_existing": false}))
		if resource.Apply(nil); !said.Failed() || !h.process().Registered {
			h.Errorf("it is %+v; said: %s", h.process(), said)
		}
	}})
}

func (h hostile) tookEffect(code int) {
	h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: &code, Apply: true, Times: 1})
}

func (h hostile) lags() {
	h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{providertest.Address(1)}, Missing: -1})
}

// A registration that failed with a code may have taken effect nevertheless. The agent shows that, even if the cached
// status does not.
func TestRefused_tookEffect(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"failed": simulator.CodeFailed, "agent": simulator.CodeAgentAbnormal, "check": 836, "terminated": 126} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.tookEffect(code)
			resource := h.object()
			_, created := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(2)}))
			h.lags()
			h.remembers(resource, created)
		}})
	}
	plays(t, labelled, map[string]func(hostile){
		// It is tried again while the cached status lags.
		"and-again": func(h hostile) {
			h.tookEffect(simulator.CodeFailed)
			resource := h.object()
			config := h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(2), "adopt_existing": false})
			resource.Apply(config)
			h.lags()
			_, again := resource.Apply(config)
			h.remembers(resource, resource.Reasons("out_of_sync"), again)
		},
		// The only host must be in state too, even if its agent cannot be asked.
		"alone-and-unasked": func(h hostile) {
			h.tookEffect(simulator.CodeFailed)
			h.onQuery(simulator.Fault{HTTPStatus: 403, Skip: 1}) // the first query asks whether it is registered
			resource := h.object()
			_, created := resource.Apply(h.config("./start.sh", "hosted", "unregister"))
			providertest.Check(h, !resource.State.IsNull(), "it is not in state: %+v; created: %s", h.process(), created)
		},
		"alone": func(h hostile) {
			h.tookEffect(simulator.CodeFailed)
			resource := h.object()
			_, created := resource.Apply(h.config("./start.sh", "hosted", "unregister"))
			if resource.State.IsNull() && h.process().Registered {
				h.Errorf("it is not in state: %+v; created: %s", h.process(), created)
			}
		},
	})
}
