package hostile_test

import (
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// inWaves are two hosts, one after the other.
var inWaves = map[string]any{"hosts": providertest.HostsOf(2), "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}

// behind is how far the agents' clocks may be behind the file's.
const behind = -100_000_000

// skewed has a resource apply what it registers, of which its agent tells another time than
// the cached status: so many seconds later. It is the second query that reads that back.
func (h hostile) skewed(resource *providertest.Core, config map[string]any, by int64) {
	h.Helper()
	h.onQuery(simulator.Fault{Skip: 1, Code: new(0), Content: told(-1, 1795000000+by)})
	resource.Applied(config)
	h.sim.Repair()
}

// frozenBehind is an object of ours that registered over another's while the agents' clocks are
// behind and the file shows what was before.
func (h hostile) frozenBehind() *providertest.Core {
	h.Helper()
	first, second := h.fresh(), h.object()
	second.Applied(h.config("./other.sh", "hosted", "unregister"))
	h.sim.FreezeStatus()
	h.skewed(first, h.config("./start.sh", "hosted", "unregister"), behind)
	h.onQuery(simulator.Fault{Code: new(0), Content: told(-1, 1795000000+behind)})
	return first
}

// What another object has registered since is not killed, whatever clocks and the file say.
func TestOvertaken_lostAnswer(t *testing.T) {
	t.Parallel()
	one, two := map[string]any{"spec_fingerprint_label": "one"}, map[string]any{"spec_fingerprint_label": "two"}
	plays(t, labelled, map[string]func(hostile){
		// The agents' clocks are ahead of the file's (or count milliseconds). A refresh has seen
		// what another object had registered, and has unregistered.
		"clock-ahead": func(h hostile) {
			first, second := h.fresh(), h.object()
			h.skewed(first, h.config("./start.sh", "hosted", "kill"), 10_000_000_000)
			second.Applied(h.config("./other.sh", "running", "unregister"))
			first.Refresh()
			second.Applied(nil)
			h.spares(first)
		},
		// The file shows the other's registration of before: our own is not forgotten.
		"clock-behind": func(h hostile) { h.keeps(h.frozenBehind()) },
		"clock-behind-and-the-row-gone": func(h hostile) {
			first := h.frozenBehind()
			first.Refresh()
			h.sim.ThawStatus()
			h.hide()
			h.keeps(first)
		},
		// The file shows our registration of before.
		"clock-behind-and-overtaken": func(h hostile) {
			first, second := h.fresh(), h.object()
			h.skewed(first, h.config("./start.sh", "hosted", "kill"), behind)
			h.sim.FreezeStatus()
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.onQuery(simulator.Fault{Code: new(0), Content: told(h.process().PID, 1795000000+behind+60)})
			h.leaves(first)
		},
		// A replica of the file that is older than what a refresh has seen says nothing.
		"older-replica": func(h hostile) {
			first, second := h.fresh(), h.object()
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
			if _, said := first.Apply(nil); !h.process().Running {
				h.Errorf("it is %+v; said: %s", h.process(), said)
			}
		},
		// A file that cannot be read does not say whose a registration is.
		"file-garbled": func(h hostile) {
			first, second := h.object(), h.object()
			first.Applied(h.config("./start.sh", "registered", "kill"))
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": []any{"garbled"}}})
			h.leaves(first)
		},
		// The provider's spec_fingerprint_label is another one by now: what another object has
		// registered with that is not this one's.
		"label-renamed": func(h hostile) {
			kept := &providertest.Kept{}
			h.objectIn(kept, one).Applied(h.config("./start.sh", "hosted", "kill", inWaves))
			h.objectIn(&providertest.Kept{}, two).Applied(h.config("./other.sh", "running", "unregister", inWaves))
			h.spares(h.objectIn(kept, two))
		},
		"label-renamed-and-rolled-back": func(h hostile) {
			kept := &providertest.Kept{}
			h.objectIn(kept, one).Applied(h.config("./start.sh", "hosted", "kill", inWaves))
			h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(2)}, Code: new(simulator.CodeFailed)})
			h.objectIn(kept, two).Apply(h.config("./new.sh", "hosted", "kill", inWaves))
			h.sim.Repair()
			h.objectIn(&providertest.Kept{}, two).Applied(h.config("./other.sh", "running", "unregister", inWaves))
			h.spares(h.objectIn(kept, two))
		},
		// Whose a host is is asked again before every wave of a destroy: another object has
		// registered the second one while the first was unregistered.
		"between-waves": func(h hostile) {
			first := h.fresh()
			first.Applied(h.config("./start.sh", "hosted", "kill", inWaves))
			var once sync.Once
			h.sim.OnCall = func(call simulator.Call) {
				if call.API == "unregister_proc_info" || call.Op == simulator.OpUnhost {
					once.Do(func() { h.another(providertest.Address(2)) })
				}
			}
			if _, said := first.Apply(nil); said.Failed() || !h.at(2).Running || !h.at(2).Hosted || h.process().Registered {
				h.Errorf("they are %+v and %+v; said: %s", h.process(), h.at(2), said)
			}
		},
	})
}

// The cached status lags and shows our earlier registration, and the agent does not report times any
// more. The other owner's process is not killed.
func TestOvertaken_timeNotReported(t *testing.T) {
	t.Parallel()
	cases := make(map[string]func(hostile))
	for name, query := range map[string]simulator.Fault{
		"broken":      {ContentShape: "broken"},
		"no-instance": {ContentShape: "no-instance"},
		"untimed":     {Code: new(0), Content: told(1001, 0)},
		"mum":         {Code: new(0), Content: mum(1001)},
	} {
		cases[name] = func(h hostile) {
			first, second := h.fresh(), h.object()
			first.Applied(h.config("./start.sh", "hosted", "kill"))
			h.sim.FreezeStatus()
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.onQuery(query)
			h.leaves(first)
		}
	}
	plays(t, []providertest.Face{providertest.FaceGateway}, cases)
}
