package hostile_test

import (
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// inWaves are two hosts, one after the other.
var inWaves = map[string]any{"hosts": providertest.HostsOf(2), "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}

// skewed has a resource apply what it registers, of which its agent tells another time than
// the platform's file: so many seconds later. It is the second query that reads that back.
func (h hostile) skewed(resource *providertest.Core, config map[string]any, by int64) {
	h.Helper()
	h.onQuery(simulator.Fault{Skip: 1, Code: new(0), Content: told(-1, 1795000000+by)})
	resource.Applied(config)
	h.sim.Mend()
}

// The agents' clocks are ahead of the file's (or count milliseconds). What another object
// had registered, as a refresh has seen, and has let go of, is not killed.
func TestOvertaken_clockAhead(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		first, second := h.freshly(h.object()), h.object()
		h.skewed(first, h.config("./start.sh", "hosted", "kill"), 10_000_000_000)
		second.Applied(h.config("./other.sh", "running", "unregister"))
		first.Refresh()
		second.Applied(nil)
		h.spares(first)
	})
}

// The agents' clocks are behind the file's, and the file lags.
func TestOvertaken_clockBehind(t *testing.T) {
	t.Parallel()
	const behind = -100_000_000
	// It shows the other's registration of before: our own is not forgotten.
	for name, refresh := range map[string]bool{"destroyed-at-once": false, "refreshed-and-row-gone": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				first, second := h.freshly(h.object()), h.object()
				second.Applied(h.config("./other.sh", "hosted", "unregister"))
				h.sim.FreezeStatus()
				h.skewed(first, h.config("./start.sh", "hosted", "unregister"), behind)
				h.onQuery(simulator.Fault{Code: new(0), Content: told(-1, 1795000000+behind)})
				if refresh {
					first.Refresh()
					h.sim.ThawStatus()
					h.hide()
				}
				h.keeps(first)
			})
		})
	}
	// It shows our registration of before: the other's is not killed.
	t.Run("overtaken", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			first, second := h.freshly(h.object()), h.object()
			h.skewed(first, h.config("./start.sh", "hosted", "kill"), behind)
			h.sim.FreezeStatus()
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.onQuery(simulator.Fault{Code: new(0), Content: told(h.process().PID, 1795000000+behind+60)})
			_, said := first.Apply(nil)
			if !h.process().Running || !h.process().Hosted {
				h.Errorf("it is %+v; said: %s", h.process(), said)
			}
		})
	})
}

// The file lags and shows our registration of before, and an agent that told us its time
// then tells none now: the other's process is not killed.
func TestOvertaken_timeUntold(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]simulator.Fault{
		"broken":      {ContentShape: "broken"},
		"no-instance": {ContentShape: "no-instance"},
		"untimed":     {Code: new(0), Content: told(1001, 0)},
		"mum":         {Code: new(0), Content: mum(1001)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t, providertest.FaceGateway)
			first, second := h.freshly(h.object()), h.object()
			first.Applied(h.config("./start.sh", "hosted", "kill"))
			h.sim.FreezeStatus()
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.onQuery(query)
			_, said := first.Apply(nil)
			if !h.process().Running || !h.process().Hosted {
				h.Errorf("it is %+v; said: %s", h.process(), said)
			}
		})
	}
}

// Replicas of the file: one that is older than what a refresh has seen says nothing.
func TestOvertaken_olderReplica(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		first, second := h.freshly(h.object()), h.object()
		first.Applied(h.config("./start.sh", "hosted", "kill"))
		old := h.process()
		second.Applied(h.config("./other.sh", "running", "unregister"))
		first.Refresh()
		second.Applied(nil)
		row := map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": old.Labels}, "host": map[string]any{"ip": "10.0.0.2", "bk_cloud_id": 0},
			"status": 2, "isauto": true, "pid": -1, "register_time": old.RegisterTime,
		}
		h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": []any{row}}})
		_, said := first.Apply(nil)
		if !h.process().Running {
			h.Errorf("it is %+v; said: %s", h.process(), said)
		}
	})
}

// A file that cannot be read does not say whose a registration is.
func TestOvertaken_fileUnread(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"garbled": {API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": []any{"garbled"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				first, second := h.object(), h.object()
				first.Applied(h.config("./start.sh", "registered", "kill"))
				second.Applied(h.config("./other.sh", "running", "unregister"))
				h.sim.Inject(fault)
				_, said := first.Apply(nil)
				if !h.process().Running || !h.process().Hosted {
					h.Errorf("it is %+v; said: %s", h.process(), said)
				}
			})
		})
	}
}

// The provider's spec_fingerprint_label is another one by now: what another object has
// registered with that is not this one's.
func TestOvertaken_label(t *testing.T) {
	t.Parallel()
	one, two := map[string]any{"spec_fingerprint_label": "one"}, map[string]any{"spec_fingerprint_label": "two"}
	for name, meanwhile := range map[string]func(hostile, *providertest.Kept){
		"renamed": func(hostile, *providertest.Kept) {},
		"renamed-and-rolled-back": func(h hostile, kept *providertest.Kept) {
			h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(2)}, Code: new(simulator.CodeFailed)})
			h.elsewhere(kept, two).Apply(h.config("./new.sh", "hosted", "kill", inWaves))
			h.sim.Mend()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				kept := &providertest.Kept{}
				h.elsewhere(kept, one).Applied(h.config("./start.sh", "hosted", "kill", inWaves))
				meanwhile(h, kept)
				h.elsewhere(&providertest.Kept{}, two).Applied(h.config("./other.sh", "running", "unregister", inWaves))
				h.spares(h.elsewhere(kept, two))
			})
		})
	}
}

// Whose a host is is asked again before every wave of a destroy: another object has registered
// the second one while the first was let go.
func TestOvertaken_betweenWaves(t *testing.T) {
	t.Parallel()
	onHostile(t, func(h hostile) {
		first := h.freshly(h.object())
		first.Applied(h.config("./start.sh", "hosted", "kill", inWaves))
		var once sync.Once
		h.sim.OnCall = func(call simulator.Call) {
			if call.API == "unregister_proc_info" || call.Op == simulator.OpUnhost {
				once.Do(func() { h.other(2) })
			}
		}
		if _, said := first.Apply(nil); said.Failed() || !h.at(2).Running || !h.at(2).Hosted || h.process().Registered {
			h.Errorf("they are %+v and %+v; said: %s", h.process(), h.at(2), said)
		}
	})
}

// other has another object register, host and start the process.
func (h hostile) other(n int) {
	h.Helper()
	labels := map[string]string{"tf_spec": "v1-0000000000000000", "tf_spec_owner": "ANOTHER"}
	for _, err := range []error{
		h.sim.Register(providertest.Address(n), "web", "nginx", labels, ""), h.sim.Host(providertest.Address(n), "web", "nginx"),
		h.sim.StartProcess(providertest.Address(n), "web", "nginx"),
	} {
		if err != nil {
			h.Error(err)
		}
	}
}
