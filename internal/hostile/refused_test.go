package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A request that was sent twice, and refused the second time, may never have arrived: what is
// there is not what it wanted.
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

// A registration that failed by its code may have taken effect all the same: its agent
// tells, whatever the file does not.
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

// What an object has registered before its update was rolled back is its own, whatever its state does not say.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	for _, ensure := range []string{"registered", "hosted"} {
		plays(t, labelled[:1], map[string]func(hostile){"supplier-" + ensure: func(h hostile) {
			h.sim.SuppliersApart = true
			resource := h.applied(h.config("./start.sh", ensure, "unregister", inWaves))
			h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(2)}, Code: new(simulator.CodeFailed)})
			_, updated := h.objectIn(resource.Kept, map[string]any{"bk_supplier_id": 7}).Apply(h.config("./new.sh", ensure, "unregister", inWaves))
			h.sim.Repair()
			h.remembers(h.objectIn(resource.Kept, map[string]any{"bk_supplier_id": 0}), updated)
		}})
	}
}
