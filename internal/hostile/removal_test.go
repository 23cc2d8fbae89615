package hostile_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What this object never registered is not its own, and a destroy does not change it.
func TestRemoval_neverItsOwn(t *testing.T) {
	t.Parallel()
	// two are two hosts, of which the first is refused or another team's.
	two := map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}
	plays(t, labelled, map[string]func(hostile){
		// What another team had registered before is not killed when that team has unregistered it.
		"unregistered": func(h hostile) {
			h.colleague()
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "kill", two))
			h.unregister()
			h.spares(resource)
		},
		// Nor when this object's update was rolled back on meeting it.
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
		// Nor because registrations carry no label.
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
			if h.by == providertest.FaceGateway { // agents know nothing of what the ESB unregisters
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
				h.Error("it is gone from state by a file without a row")
			}
		},
		// An agent that does not say whether it hosts the process has not said that it does not.
		"refreshed": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			h.hide()
			h.onQuery(simulator.Fault{Code: new(0), Content: mum(77)})
			if said := resource.Refresh(); resource.State.IsNull() && h.process().Hosted {
				h.Errorf("gone from state by a refresh, and it is %+v; said: %s", h.process(), said)
			}
		},
	})
}

// An agent that tells no times does not know what is registered and not hosted. A row that is missing as well
// is not the end of a registration.
func TestRemoval_unhostedWithoutTimes(t *testing.T) {
	t.Parallel()
	plays(t, labelled[:1], map[string]func(hostile){"refreshed": func(h hostile) {
		h.sim.AgentsWithoutTimes = true
		resource := h.applied(h.config("./start.sh", "hosted", "unregister"))
		h.must(h.sim.Unhost(providertest.Address(1), "web", "nginx"))
		h.hide()
		said := resource.Refresh()
		providertest.Check(h, !resource.State.IsNull(), "gone from state by a refresh, and it is %+v; said: %s", h.process(), said)
	}})
}

// forget_unreachable forgets hosts whose agents do not answer. These do.
//
// Promised in changing-hosts.md: An agent that answers late or with an error has answered, and its host stays.
func TestRemoval_forgetsWhoAnswers(t *testing.T) {
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
	// An agent that takes longer than there is time answers all the same.
	plays(t, labelled, map[string]func(hostile){"slow": func(h hostile) {
		resource := h.applied(h.config("./start.sh", "hosted", "unregister", map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "1s"}}))
		h.onQuery(simulator.Fault{Takes: 600 * time.Millisecond})
		said := resource.DestroyUnrefreshed()
		providertest.Check(h, said.Failed() && !strings.Contains(said.String(), "set forget_unreachable"), "said: %s", said)
		h.keeps(resource)
	}})
}

// Two hosts under one key: the one that could not leave, and the one that has its address for a key.
func TestRemoval_keyOfTheStuck(t *testing.T) {
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

// No document says that unregistering unhosts. At the ESB, the platform's answer is not sufficient to
// show that the agent has unregistered it.
func TestRemoval_unregistersAtTheESB(t *testing.T) {
	t.Parallel()
	plays(t, labelled[:1], map[string]func(hostile){
		"and-it-is-hosted": func(h hostile) {
			resource := h.applied(h.config("./start.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(simulator.CodeOK)}) // and does nothing
			_, said := resource.Apply(nil)
			providertest.Check(h, !said.Failed() && !h.process().Hosted && h.process().Running, "it is %+v; said: %s", h.process(), said)
		},
		// What another object has registered meanwhile is its own, and hosted on.
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

// The platform's word that nothing is registered is not the agent's.
//
// Promised in changing-hosts.md: If the process is still hosted there, or the agent cannot be asked (through the ESB too), the host stays, with an error.
func TestRemoval_nothingRegistered(t *testing.T) {
	t.Parallel()
	for by, before := range map[providertest.Face]int{ // how often the agents are asked before
		providertest.FaceESB: 1, providertest.FaceGateway: 1, providertest.FaceJOB: 0,
	} {
		for name, c := range map[string]struct{ silent, stays bool }{
			"hosts-it":      {silent: false, stays: by != providertest.FaceESB},
			"does-not-tell": {silent: true, stays: true},
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

// Two hosts are to be stopped, and run nothing. The agent of one does not say whether that
// is so, and the other is unregistered before the time is up.
func TestMute_stopped(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"destroyed": func(h hostile) {
		resource := h.applied(h.config("./start.sh", "hosted", "stop", map[string]any{"hosts": providertest.HostsOf(2), "timeouts": map[string]any{"delete": "8s"}}))
		// Before that the agents are asked when the process was registered.
		h.onQuery(simulator.Fault{Hosts: []string{providertest.Address(2)}, Pending: -1, Skip: 1})
		_, said := resource.Apply(nil)
		left := providertest.Texts(resource.Attribute("hosts"))
		providertest.Check(h, said.Failed() && len(left) == 1 && left["web-2"] != "", "hosts are %v; said: %s", left, said)
		providertest.Check(h, !h.process().Registered && !h.process().Hosted, "it is %+v", h.process())
	}})
}

// Two hosts are renamed where the platform keeps an entry for each name, and to unregister the old one is to unhost the machine.
// The agent of one does not say whether it is hosted still, and the other is hosted again before the time is up.
func TestMute_renamed(t *testing.T) {
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

// A request that was sent twice, and refused the second time, may never have arrived: what is there is not what it wanted.
func TestRefused_resentInVain(t *testing.T) {
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

// A registration that failed by its code may have taken effect all the same: its agent tells, whatever the file does not.
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
		// It is tried again while the file lags.
		"and-again": func(h hostile) {
			h.tookEffect(simulator.CodeFailed)
			resource := h.object()
			config := h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(2), "adopt_existing": false})
			resource.Apply(config)
			h.lags()
			_, again := resource.Apply(config)
			h.remembers(resource, resource.Reasons("out_of_sync"), again)
		},
		// No state names it where it is the only host.
		"alone": func(h hostile) {
			h.tookEffect(simulator.CodeFailed)
			resource := h.object()
			_, created := resource.Apply(h.config("./start.sh", "hosted", "unregister"))
			if resource.State.IsNull() && h.process().Registered {
				h.Errorf("no state names it: %+v; created: %s", h.process(), created)
			}
		},
	})
}
