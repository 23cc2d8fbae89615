package hostile_test

import (
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What another team had registered before, so that this object never did, is not killed when
// that team has unregistered it; nor when this object's update was rolled back on meeting it.
func TestLetGo_neverItsOwn(t *testing.T) {
	t.Parallel()
	t.Run("unregistered", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			h.colleague()
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "kill", map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}))
			h.unregister()
			h.spares(resource)
		})
	})
	t.Run("rolled-back", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			resource, more := h.object(), map[string]any{"adopt_existing": false, "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}
			resource.Applied(h.config("./start.sh", "hosted", "kill", more))
			h.unregister()
			resource.Between = h.colleague
			resource.Apply(h.config("./new.sh", "hosted", "kill", more))
			resource.Between = nil
			if h.spares(resource); !h.process().Registered {
				h.Error("the other team's process was unregistered")
			}
		})
	})
}

// What this object never registered is not its own because registrations carry no label.
func TestLetGo_neverItsOwnWithoutLabels(t *testing.T) {
	t.Parallel()
	t.Run("not_registered", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			h.settings["spec_fingerprint_label"] = ""
			h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed)})
			resource := h.object()
			_, created := resource.Apply(h.config("./start.sh", "hosted", "kill", map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}))
			h.sim.Mend()
			reasons := resource.Reasons("out_of_sync")
			h.colleague()
			_, said := resource.Apply(nil)
			if !h.process().Registered || !h.process().Running || !h.process().Hosted {
				h.Errorf("it is %+v; %v; created: %s; said: %s", h.process(), reasons, created, said)
			}
		})
	})
	t.Run("registered-by-other-and-unread", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			h.settings["spec_fingerprint_label"] = ""
			h.colleague()
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{providertest.Address(1)}, Missing: -1})
			resource := h.object()
			_, created := resource.Apply(h.config("./start.sh", "hosted", "kill", map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}))
			h.sim.Mend()
			reasons := resource.Reasons("out_of_sync")
			_, said := resource.Apply(nil)
			if !h.process().Registered || !h.process().Running || !h.process().Hosted {
				h.Errorf("it is %+v; %v; created: %s; said: %s", h.process(), reasons, created, said)
			}
		})
	})
}

// JOB has no labels at all: what was refused to this object, and another team hosts, is not
// its own.
func TestLetGo_neverItsOwnOverJOB(t *testing.T) {
	t.Parallel()
	h := newHostile(t, providertest.FaceJOB)
	resource := providertest.ConfiguredWith(t, h.settings).CoreOf(providertest.FaceJOB.TypeName(providertest.OnCreate), &providertest.Kept{})
	h.sim.Inject(simulator.Fault{API: "operate_process", Op: new(simulator.OpHost), Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed), Times: 1})
	config := providertest.FaceJOB.Reference("./start.sh", 2)
	config["on_destroy"] = "kill"
	_, created := resource.Apply(config)
	reasons := resource.Reasons("out_of_sync")
	ns, name := providertest.FaceJOB.Process()
	if err := h.sim.Register(providertest.Address(1), ns, name, nil, `{"identity":{}}`); err != nil {
		t.Fatal(err)
	}
	if err := h.sim.Host(providertest.Address(1), ns, name); err != nil {
		t.Fatal(err)
	}
	_, said := resource.Apply(nil)
	if p, _ := h.sim.Process(providertest.Address(1), ns, name); !p.Hosted {
		t.Errorf("it is hosted=%t; %v; created: %s; said: %s", p.Hosted, reasons, created, said)
	}
}

// No host is let go because a call says that nothing is there, because the time is up, or
// because the file shows no row: its agent answers, and tells.
func TestLetGo_goneBySayingSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more map[string]any
		turn func(hostile)
	}{
		"not-running": {nil, func(h hostile) {
			if h.by == providertest.FaceGateway { // agents know nothing of what the ESB unregisters
				h.onRelease(simulator.Fault{Code: new(simulator.CodeNotRunning)})
			}
		}},
		"forget-unreachable": {map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "2s"}}, func(h hostile) {
			h.onRelease(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
		}},
		"forget-unreachable-and-nobody-to-ask": {map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "2s"}}, func(h hostile) {
			h.onRelease(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
			// The agents are asked before hosts are let go, and once the time is up.
			h.sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), HTTPStatus: 403, Skip: 1})
		}},
		"registered-alone": {map[string]any{"ensure": "registered"}, func(h hostile) {
			h.hide()
			untimed := map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
			if h.by == providertest.FaceESB {
				h.sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(0), Content: untimed})
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				resource := h.object()
				resource.Applied(h.config("./start.sh", "hosted", "unregister", c.more))
				c.turn(h)
				h.keeps(resource)
			})
		})
	}
	t.Run("imported", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			h.object().Applied(h.config("./start.sh", "hosted", "unregister"))
			resource := h.object()
			resource.Imports("web:nginx")
			h.hide()
			if resource.Refresh(); resource.State.IsNull() {
				h.Error("it is gone from state by a file without a row")
			}
		})
	})
}

// An agent that does not say whether it hosts the process has not said that it does not.
func TestLetGo_byRefresh(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		resource := h.object()
		resource.Applied(h.config("./start.sh", "running", "unregister"))
		h.hide()
		h.onQuery(simulator.Fault{Code: new(0), Content: mum(77)})
		if said := resource.Refresh(); resource.State.IsNull() && h.process().Hosted {
			h.Errorf("gone from state by a refresh, and it is %+v; said: %s", h.process(), said)
		}
	})
}

// The same where it is to be hosted, which nobody came to: a refresh forgets what may be
// registered.
func TestLetGo_unconfirmedByRefresh(t *testing.T) {
	t.Parallel()
	h := newHostile(t, providertest.FaceESB)
	untimed := map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
	h.onQuery(simulator.Fault{Code: new(0), Content: untimed})
	h.sim.SetLag(-1)
	h.sim.Inject(simulator.Fault{API: "register_proc_info", Drop: "after", Times: 1})
	h.sim.Inject(simulator.Fault{API: "register_proc_info", HTTPStatus: 403, Skip: 1})
	resource := h.object()
	resource.Apply(h.config("./start.sh", "hosted", "unregister"))
	reasons := resource.Reasons("out_of_sync")
	if said := resource.Refresh(); resource.State.IsNull() && h.process().Registered {
		h.Errorf("it was %v, and is %+v; said: %s", reasons, h.process(), said)
	}
}

// forget_unreachable forgets a host that leaves and whose agent does not answer, and no other.
// Without it the host stays.
func TestLetGo_forgetsWhoIsAway(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, by)
			resource := providertest.ConfiguredWith(t, h.settings).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
			config := func(forget bool, hosts map[string]string) map[string]any {
				return h.config("./start.sh", "hosted", "stop", map[string]any{"forget_unreachable": forget, "hosts": hosts})
			}
			resource.Applied(config(false, providertest.HostsOf(3)))
			h.sim.SetReachable(providertest.Address(3), false)
			_, said := resource.Apply(config(false, providertest.HostsOf(1)))
			if hosts := resource.Reasons("hosts"); !said.Failed() || len(hosts) != 2 || hosts["web-3"] != providertest.Address(3) {
				t.Errorf("hosts are %v; said: %s", hosts, said)
			}
			_, said = resource.Apply(config(true, providertest.HostsOf(1)))
			if said.Failed() || !strings.Contains(said.String(), "Unreachable Hosts Forgotten") || !strings.Contains(said.String(), "web-3 ("+providertest.Address(3)+"): ") {
				t.Errorf("said: %s", said)
			}
			if hosts := resource.Reasons("hosts"); !maps.Equal(hosts, providertest.HostsOf(1)) {
				t.Errorf("hosts are %v", hosts)
			}
			namespace, name := by.Process()
			for n, hosted := range map[int]bool{1: true, 2: false, 3: true} {
				if p, _ := h.sim.Process(providertest.Address(n), namespace, name); p.Hosted != hosted {
					t.Errorf("web-%d has %+v", n, p)
				}
			}
		})
	}
}

// forget_unreachable forgets hosts whose agents do not answer. These do.
//
// Promised in partial-failure.md: An agent that answers late or with an error has answered, and its host stays.
func TestLetGo_forgetsWhoAnswers(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]simulator.Fault{
		"broken":      {ContentShape: "broken"},
		"no-instance": {ContentShape: "no-instance"},
		"terminated":  {Code: new(126)},
		"command":     {Code: new(simulator.CodeCommandFailed), Message: "version_cmd: exit status 1"},
		"not-on-file": {Code: new(832)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				resource := h.object()
				resource.Applied(h.config("./start.sh", "running", "unregister", map[string]any{"forget_unreachable": true}))
				h.onRelease(simulator.Fault{Code: new(simulator.CodeFailed)})
				h.onQuery(query)
				h.keeps(resource)
			})
		})
	}
}

// An agent that takes longer than there is time answers all the same.
func TestLetGo_forgetsWhoIsSlow(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		resource := h.object()
		resource.Applied(h.config("./start.sh", "hosted", "unregister", map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "1s"}}))
		h.onQuery(simulator.Fault{Takes: 600 * time.Millisecond})
		said := resource.DestroyUnrefreshed()
		if !said.Failed() || strings.Contains(said.String(), "set forget_unreachable") {
			h.Errorf("said: %s", said)
		}
		h.keeps(resource)
	})
}

// Two hosts under one key: the one that could not leave, and the one that has its address
// for a key.
func TestLetGo_keyOfTheStuck(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		resource := h.object()
		resource.Applied(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{"a": providertest.Address(1)}}))
		h.onRelease(simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed)})
		_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{
			"a": providertest.Address(2), "0:0:10.0.0.2": providertest.Address(3),
		}}))
		hosts := providertest.Texts(resource.Attribute("hosts"))
		if len(hosts) != 3 && h.process().Hosted && h.at(2).Hosted && h.at(3).Hosted {
			h.Errorf("hosts are %v; said: %s", hosts, said)
		}
	})
}

// No document says that to unregister is to unhost, and at the ESB the platform's word is no
// proof that the agent has let go.
func TestLetGo_unregisteredAndHosted(t *testing.T) {
	t.Parallel()
	h := newHostile(t, providertest.FaceESB)
	resource := h.object()
	resource.Applied(h.config("./start.sh", "running", "unregister"))
	h.sim.Inject(simulator.Fault{API: "unregister_proc_info", Code: new(simulator.CodeOK)}) // and does nothing
	_, said := resource.Apply(nil)
	if said.Failed() || h.process().Hosted || !h.process().Running {
		t.Errorf("it is %+v; said: %s", h.process(), said)
	}
}

// What another object has registered while this one unregisters is its own, and hosted on.
func TestLetGo_registeredMeanwhile(t *testing.T) {
	t.Parallel()
	h := newHostile(t, providertest.FaceESB)
	resource := h.object()
	resource.Applied(h.config("./start.sh", "running", "unregister"))
	var once sync.Once
	h.sim.OnCall = func(call simulator.Call) {
		if call.API == "unregister_proc_info" {
			once.Do(func() { h.other(1) })
		}
	}
	if _, said := resource.Apply(nil); !h.process().Hosted || !h.process().Running || !strings.Contains(said.String(), "somebody else's is left alone") {
		t.Errorf("it is %+v; said: %s", h.process(), said)
	}
	if _, said := resource.Apply(nil); said.Failed() || !h.process().Hosted {
		t.Errorf("then it is %+v; said: %s", h.process(), said)
	}
}
