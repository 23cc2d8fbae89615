package hostile_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Two hosts are to be stopped, and run nothing. The agent of one does not say whether that
// is so, and the other is unregistered before the time is up.
func TestMute_stopped(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"destroyed": func(h hostile) {
		resource := h.object()
		resource.Applied(h.config("./start.sh", "hosted", "stop", map[string]any{"hosts": providertest.HostsOf(2), "timeouts": map[string]any{"delete": "8s"}}))
		// Before that the agents are asked when the process was registered.
		h.onQuery(simulator.Fault{Hosts: []string{providertest.Address(2)}, Pending: -1, Skip: 1})
		_, said := resource.Apply(nil)
		if left := providertest.Texts(resource.Attribute("hosts")); !said.Failed() || len(left) != 1 || left["web-2"] == "" {
			h.Errorf("hosts are %v; said: %s", left, said)
		}
		if h.process().Registered || h.process().Hosted {
			h.Errorf("it is %+v", h.process())
		}
	}})
}

// Two hosts are renamed where the platform keeps an entry for each name, and to unregister the
// old one is to unhost the machine. The agent of one does not say whether it is hosted still,
// and the other is hosted again before the time is up.
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
	if first := h.sim.Machine(providertest.Address(1)).Process("web", "nginx"); !released || !said.Failed() || !first.Hosted {
		t.Errorf("released: %t; it is %+v; said: %s", released, first, said)
	}
}
