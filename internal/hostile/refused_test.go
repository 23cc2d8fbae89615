package hostile_test

import (
	"encoding/json"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A request that was sent twice, and refused the second time, may never have arrived: what is
// there is not what it wanted.
func TestRefused_resentInVain(t *testing.T) {
	t.Parallel()
	t.Run("hosting", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t, providertest.FaceGateway)
		h.sim.HostingOnce = true
		resource := h.object()
		resource.Applied(h.config("./old.sh", "hosted", "unregister"))
		h.onReregister(simulator.Fault{Drop: "before", Times: 1})
		_, said := resource.Apply(h.config("./new.sh", "hosted", "unregister"))
		if !said.Failed() && len(resource.Reasons("out_of_sync")) == 0 && !providertest.StartsWith(h.process(), "./new.sh") {
			t.Errorf("it is %+v; said: %s", h.process(), said)
		}
	})
	t.Run("registering-without-labels", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t, providertest.FaceESB)
		h.settings["spec_fingerprint_label"] = ""
		h.sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 1)
		h.sim.Inject(simulator.Fault{API: "register_proc_info", Drop: "before", Times: 1})
		resource := h.object()
		_, said := resource.Apply(h.config("./start.sh", "registered", "unregister", map[string]any{"adopt_existing": false}))
		if resource.Apply(nil); !said.Failed() || !h.process().Registered {
			t.Errorf("it is %+v; said: %s", h.process(), said)
		}
	})
}

// A registration that failed by its code may have taken effect all the same: its agent
// tells, whatever the file does not.
func TestRefused_tookEffect(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"failed": simulator.CodeFailed, "agent": simulator.CodeAgentAbnormal, "check": 836, "terminated": 126} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: &code, Apply: true, Times: 1})
				resource := h.object()
				_, created := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(2)}))
				h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{providertest.Address(1)}, Missing: -1}) // it lags
				_, said := resource.Apply(nil)
				if !said.Failed() && resource.State.IsNull() && (h.process().Hosted || h.process().Registered) {
					h.Errorf("it is %+v; created: %s; said: %s", h.process(), created, said)
				}
			})
		})
	}
}

// A registration that failed by its code took effect, is tried again while the file lags,
// and is not forgotten.
func TestRefused_tookEffectAndAgain(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed), Apply: true, Times: 1})
		resource := h.object()
		config := h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(2), "adopt_existing": false})
		resource.Apply(config)
		h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: []string{providertest.Address(1)}, Missing: -1}) // it lags
		_, again := resource.Apply(config)
		reasons := resource.Reasons("out_of_sync")
		_, said := resource.Apply(nil)
		if !said.Failed() && resource.State.IsNull() && (h.process().Hosted || h.process().Registered) {
			h.Errorf("it is %+v; %v; again: %s; said: %s", h.process(), reasons, again, said)
		}
	})
}

// One host, whose registration failed by its code and took effect: no state names it.
func TestRefused_created(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Code: new(simulator.CodeFailed), Apply: true, Times: 1})
		resource := h.object()
		_, created := resource.Apply(h.config("./start.sh", "hosted", "unregister"))
		if resource.State.IsNull() && h.process().Registered {
			h.Errorf("no state names it: %+v; created: %s", h.process(), created)
		}
	})
}

// An object whose state is of a release without owner is rolled back, and what it has
// registered with a new owner is its own.
func TestRolledBack_withoutOwner(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		resource := h.freshly(h.object()) // each run has a provider of its own
		more := map[string]any{"hosts": providertest.HostsOf(2), "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}
		resource.Applied(h.config("./start.sh", "hosted", "unregister", more))
		resource.ForgetOwner()
		strip(h.T, resource.Kept, "owner")
		for n := 1; n <= 2; n++ {
			p := h.at(n)
			labels := map[string]string{"tf_spec": p.Labels["tf_spec"]}
			if err := h.sim.Register(providertest.Address(n), "web", "nginx", labels, ""); err != nil {
				h.Fatal(err)
			}
		}
		// the second host is refused, and so is the way back of the first
		h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(2)}, Code: new(simulator.CodeFailed)})
		h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed), Skip: 1})
		_, updated := resource.ApplyUnrefreshed(h.config("./new.sh", "hosted", "unregister", more))
		h.sim.Mend()
		_, said := resource.Apply(nil)
		if !said.Failed() && resource.State.IsNull() && (h.process().Hosted || h.at(2).Hosted) {
			h.Errorf("they are %+v and %+v; updated: %s; said: %s", h.process(), h.at(2), updated, said)
		}
	})
}

// strip takes members out of what is kept beside state.
func strip(t *testing.T, kept *providertest.Kept, members ...string) {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(kept.Private, &all); err != nil {
		t.Fatal(err)
	}
	for key, raw := range all {
		var encoded []byte
		if json.Unmarshal(raw, &encoded) != nil {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(encoded, &fields) != nil || fields["owner"] == nil {
			continue
		}
		for _, member := range members {
			delete(fields, member)
		}
		encoded, _ = json.Marshal(fields)
		all[key], _ = json.Marshal(encoded)
	}
	kept.Private, _ = json.Marshal(all)
}

// A provider died in an update of an object whose state has no owner: the host that leaves
// in the next one is not recognised, and may well be ours.
func TestRolledBack_ownerUnknown(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		resource := h.freshly(h.object()) // each run has a provider of its own
		resource.Applied(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(2)}))
		resource.ForgetOwner()
		resource.Private = nil
		_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": providertest.HostsOf(1)}))
		hosts := providertest.Texts(resource.Attribute("hosts"))
		if _, kept := hosts["web-2"]; !said.Failed() && !kept && h.at(2).Hosted {
			h.Errorf("it is %+v; hosts are %v; said: %s", h.at(2), hosts, said)
		}
	})
}

// A change of bk_supplier_id that is rolled back.
func TestRolledBack_supplier(t *testing.T) {
	t.Parallel()
	for _, ensure := range []string{"registered", "hosted"} {
		t.Run(ensure, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, providertest.FaceESB)
			h.sim.SuppliersApart = true
			resource := h.object()
			more := map[string]any{"hosts": providertest.HostsOf(2), "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}
			resource.Applied(h.config("./start.sh", ensure, "unregister", more))
			h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(2)}, Code: new(simulator.CodeFailed)})
			with := func(id int) func() *providertest.Protocol {
				return func() *providertest.Protocol {
					settings := h.sim.SettingsFor(h.by)
					settings["bk_supplier_id"] = id
					return providertest.ConfiguredWith(h.T, settings)
				}
			}
			renewed := with(7)().CoreOf(providertest.HostedType, resource.Kept)
			_, updated := renewed.Apply(h.config("./new.sh", ensure, "unregister", more))
			h.sim.Mend()
			again := with(0)().CoreOf(providertest.HostedType, resource.Kept)
			_, said := again.Apply(nil)
			if !said.Failed() && again.State.IsNull() && (h.process().Registered || h.process().Hosted || h.at(2).Registered) {
				h.Errorf("they are %+v and %+v; updated: %s; said: %s", h.process(), h.at(2), updated, said)
			}
		})
	}
}
