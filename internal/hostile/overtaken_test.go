package hostile_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// After another object had registered a host, this one has registered it again. If the cached status lacks its row, a
// destroy does not leave the host behind as the other's.
func TestOvertaken_noMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replaces bool // a start replaces the labels
		ensure   string
		others   string // the other object's start command
		again    func(hostile, *providertest.Core, map[string]any)
		end      func(hostile) // if nil, the cached status shows no row
	}{
		"its-answer-lost": {ensure: "hosted", others: "./other.sh", again: answerLost},
		"its-answer-lost-and-a-console": {ensure: "hosted", others: "./other.sh", again: answerLost, end: func(h hostile) {
			h.must(h.sim.Register(providertest.Address(1), "web", "nginx", map[string]string{"by": "console"}, ""))
		}},
		"started":         {ensure: "hosted", others: "./start.sh", again: raised},
		"started-anew":    {replaces: true, ensure: "hosted", others: "./start.sh", again: raised},
		"frozen":          {ensure: "hosted", others: "./other.sh", again: frozenAndSilent},
		"frozen-unhosted": {ensure: "registered", others: "./other.sh", again: frozenAndSilent},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.sim.StartReplaces = c.replaces
			first, second := h.object(), h.object()
			config := h.config("./start.sh", c.ensure, "unregister")
			first.Applied(config)
			second.Applied(h.config(c.others, c.ensure, "unregister"))
			c.again(h, first, config)
			first.Apply(config)
			if owner := h.process().Labels["tf_spec_owner"]; owner != first.Attribute("owner") {
				h.Fatalf("the owner is %v", owner)
			}
			if c.end != nil {
				c.end(h)
			} else {
				h.hide()
			}
			h.keeps(first)
		}})
	}
}

// raised refreshes, so the other's registration is seen, and then applies with a higher ensure.
func raised(h hostile, first *providertest.Core, _ map[string]any) {
	first.Refresh()
	first.Applied(h.config("./start.sh", "running", "unregister"))
}

func answerLost(h hostile, first *providertest.Core, config map[string]any) {
	h.onReregister(simulator.Fault{Drop: "after"})
	first.Apply(config)
	h.sim.Repair()
	first.Apply(config)
}

// frozenAndSilent registers again while the cached status shows the other's registration. As the agent does not answer,
// a refresh then takes that for the latest.
func frozenAndSilent(h hostile, first *providertest.Core, config map[string]any) {
	h.sim.FreezeStatus()
	first.Apply(config)
	h.onQuery(simulator.Fault{Code: new(simulator.CodeAgentAbnormal)})
	first.Refresh()
	h.sim.Repair()
	h.sim.ThawStatus()
	first.Apply(config)
}

// A process that another object had registered, and has unregistered, is not killed. That holds if registering again
// did not complete, for a destroy after a failed one, and for a tainted object.
//
// Promised in changing-hosts.md: a process that the cached status does not show is left running, with the warning *Processes Not Stopped*.
func TestOvertaken_still(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(hostile, *providertest.Core, map[string]any){
		"registering-anew-in-progress": func(h hostile, first *providertest.Core, config map[string]any) {
			config["timeouts"] = map[string]any{"update": "2s"}
			first.Refresh()
			// The fault is never removed, because a request still on its way at the deadline would register.
			h.onReregister(simulator.Fault{Takes: time.Hour, Code: new(simulator.CodeFailed)})
			first.Apply(config)
			h.passed.Add(2)
		},
		"a-destroy-that-failed": func(h hostile, first *providertest.Core, _ map[string]any) {
			first.Refresh()
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
			first.DestroyUnrefreshed()
			h.sim.Repair()
		},
		"tainted": func(_ hostile, first *providertest.Core, _ map[string]any) {
			first.Refresh()
			first.Tainted = true
		},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.sim.Now = h.clock
			first, second := h.object(), h.object()
			config := h.config("./start.sh", "hosted", "kill")
			first.Applied(config)
			second.Applied(h.config("./other.sh", "running", "unregister"))
			meanwhile(h, first, config)
			second.Applied(nil)
			pid := h.process().PID
			if !first.Tainted {
				h.spares(first)
			} else if _, said := first.Apply(config); said.Failed() || !h.process().Running || h.process().PID != pid || !strings.Contains(said.String(), "Processes Not Stopped") {
				h.Errorf("it is %+v; said: %s", h.process(), said)
			}
		}})
	}
}

// After a replacement whose destroy failed, only attributes are in state. A refresh with other default labels still
// knows the object's own registration by its owner.
func TestOvertaken_notByOneself(t *testing.T) {
	t.Parallel()
	h := newHostile(t, providertest.FaceGateway)
	first := h.object()
	config := h.config("./start.sh", "hosted", "unregister")
	h.sim.Inject(simulator.Fault{API: "operate_proc_multi", Op: new(simulator.OpHost), Drop: "after"})
	first.Apply(config)
	h.sim.Repair()
	h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
	first.ApplyUnrefreshed(config)
	h.sim.Repair()
	later := h.objectIn(first.Kept, map[string]any{"default_labels": map[string]string{"site": "y"}})
	said := later.Refresh()
	if later.State.IsNull() || !h.process().Hosted {
		t.Fatalf("it is %+v; said: %s", h.process(), said)
	}
	for host, reason := range later.Reasons("out_of_sync") {
		providertest.Check(t, !strings.HasPrefix(reason, "registered_by_other"), "%s: %s", host, reason)
	}
}

// A host that is another owner's by state may have become this object's, so it is not forgotten before the cached status
// was read.
func TestOvertaken_unread(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"destroyed": func(h hostile) {
		h.colleague()
		first := h.object()
		first.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}))
		if reason := first.Reasons("out_of_sync")["web-1"]; !strings.HasPrefix(reason, "registered_by_other") {
			h.Fatalf("it is %q", reason)
		}
		h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
		said := first.DestroyUnrefreshed()
		providertest.Check(h, !first.State.IsNull() && first.Reasons("hosts")["web-1"] != "", "it is forgotten; said: %s", said)
	}})
}

var inWaves = map[string]any{"hosts": providertest.HostsOf(2), "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}

// behind is by how many seconds the agents' clocks may be behind the platform's.
const behind = -100_000_000

// skewed applies a resource whose agent reports an earlier registration time than the cached status. The second query
// reads that time.
func (h hostile) skewed(resource *providertest.Core, config map[string]any) {
	h.onQuery(simulator.Fault{Skip: 1, Code: new(0), Content: agentReports(-1, 1795000000+behind)})
	resource.Applied(config)
	h.sim.Repair()
}

// frozenBehind returns an object that registered over another one, while the agents' clocks are behind and the cached
// status still shows the other.
func (h hostile) frozenBehind() *providertest.Core {
	first, second := h.fresh(), h.object()
	second.Applied(h.config("./other.sh", "hosted", "unregister"))
	h.sim.FreezeStatus()
	h.skewed(first, h.config("./start.sh", "hosted", "unregister"))
	h.onQuery(simulator.Fault{Code: new(0), Content: agentReports(-1, 1795000000+behind)})
	return first
}

// A process that another object has registered since is not killed, whatever the clocks and the cached status say.
func TestOvertaken_lostAnswer(t *testing.T) {
	t.Parallel()
	one, two := map[string]any{"spec_fingerprint_label": "one"}, map[string]any{"spec_fingerprint_label": "two"}
	plays(t, labelled, map[string]func(hostile){
		// The cached status shows the other's earlier registration, and this object's own is not forgotten.
		"clock-behind": func(h hostile) { h.keeps(h.frozenBehind()) },
		"clock-behind-and-the-row-gone": func(h hostile) {
			first := h.frozenBehind()
			first.Refresh()
			h.sim.ThawStatus()
			h.hide()
			h.keeps(first)
		},
		// The cached status shows this object's earlier registration.
		"clock-behind-and-overtaken": func(h hostile) {
			first, second := h.fresh(), h.object()
			h.skewed(first, h.config("./start.sh", "hosted", "kill"))
			h.sim.FreezeStatus()
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.onQuery(simulator.Fault{Code: new(0), Content: agentReports(h.process().PID, 1795000000+behind+60)})
			h.leaves(first)
		},
		// Times may be numbers of any size.
		"in-nanoseconds": func(h hostile) {
			const at = 1795000000_000000000
			first, second := h.fresh(), h.object()
			h.onQuery(simulator.Fault{Skip: 1, Code: new(0), Content: agentReports(-1, at)})
			first.Applied(h.config("./start.sh", "hosted", "kill"))
			h.sim.Repair()
			h.sim.FreezeStatus()
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos/*/register_time": at}})
			h.onQuery(simulator.Fault{Code: new(0), Content: agentReports(h.process().PID, at+1)})
			h.leaves(first)
		},
		// A replica of the cached status that is older than what a refresh has seen shows nothing.
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
			_, said := first.Apply(nil)
			providertest.Check(h, h.process().Running, "it is %+v; said: %s", h.process(), said)
		},
		// A cached status that cannot be read does not show the owner.
		"cached-status-garbled": func(h hostile) {
			first, second := h.object(), h.object()
			first.Applied(h.config("./start.sh", "registered", "kill"))
			second.Applied(h.config("./other.sh", "running", "unregister"))
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Replace: map[string]any{"data/proc_infos": []any{"garbled"}}})
			h.leaves(first)
		},
		// spec_fingerprint_label has changed since. What another object has registered with the new label is not this object's.
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
		// The owner is checked again before every wave of a destroy. Another object registers the second host while the first
		// is unregistered.
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

// The cached status lags and shows this object's earlier registration, and the agent no longer reports times. The other
// owner's process is not killed.
func TestOvertaken_timeNotReported(t *testing.T) {
	t.Parallel()
	cases := make(map[string]func(hostile))
	for name, query := range map[string]simulator.Fault{
		"broken":      {ContentShape: "broken"},
		"no-instance": {ContentShape: "no-instance"},
		"untimed":     {Code: new(0), Content: agentReports(1001, 0)},
		"pid-only":    {Code: new(0), Content: agentReportsPID(1001)},
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

// Another object registers the process after the agent was asked, and the cached status shows that. Its process is not
// stopped.
func TestOvertaken_whileAsked(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"stop": func(h hostile) {
		resource := h.applied(h.config("./start.sh", "running", "stop"))
		var once sync.Once
		h.sim.OnCall = func(call simulator.Call) {
			if call.API == h.by.ResultAPI() && call.Op == simulator.OpQuery {
				once.Do(func() { h.another(providertest.Address(1)) })
			}
		}
		said := resource.DestroyUnrefreshed()
		providertest.Check(h, !said.Failed() && h.process().Hosted && h.process().Running && strings.Contains(said.String(), "Hosts Belong To Another Resource"),
			"it is %+v; said: %s", h.process(), said)
	}})
}
