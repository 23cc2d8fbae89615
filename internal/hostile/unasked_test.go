package hostile_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// forget_unreachable does not forget a host whose agent was not asked or may be slow. A queue, a missing key and a
// failed request say nothing about an agent.
//
// Promised in changing-hosts.md: A host that is still in progress (115) stays as well, because its agent may be slow.
// Promised in changing-hosts.md: So does one that could not be asked: the query failed, is queued, or has no result for the host.
func TestUnasked_notForgotten(t *testing.T) {
	t.Parallel()
	const unasked, later = "its agent could not be asked", "may be slow"
	for name, c := range map[string]struct {
		query simulator.Fault
		says  string
	}{
		"queued":      {simulator.Fault{Queued: -1}, unasked},
		"missing":     {simulator.Fault{Missing: -1}, unasked},
		"in-progress": {simulator.Fault{Pending: -1}, later},
		"slow":        {simulator.Fault{Takes: 50 * time.Second}, later}, // a health_cmd may take that long
	} {
		for _, by := range labelled {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
					t.Helper()
					h := hostile{t, sim.Sim, by, nil, new(atomic.Int64)}
					resource := sim.ConfiguredFor(t, by).CoreOf(by.TypeName(providertest.OnCreate), &providertest.Kept{})
					resource.Applied(h.config("./start.sh", "running", "unregister", map[string]any{
						"forget_unreachable": true, "timeouts": map[string]any{"delete": "40s"},
					}))
					h.onQuery(c.query)
					said := resource.DestroyUnrefreshed()
					if resource.State.IsNull() || !h.process().Hosted || !strings.Contains(said.String(), c.says) || strings.Contains(said.String(), "set forget_unreachable") {
						t.Errorf("state is %s, and it is %+v; said: %s", resource.State, h.process(), said)
					}
				})
			})
		}
	}
}

// The machine of one host is gone. The other host has its own request, which fails, so its agent was never asked.
func TestUnasked_batchNotForgotten(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"forbidden": 403, "bad-gateway": 502} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.settings["max_hosts_per_request"] = 1
			resource := h.applied(h.config("./start.sh", "running", "unregister", map[string]any{
				"hosts": providertest.HostsOf(2), "forget_unreachable": true, "timeouts": map[string]any{"delete": "4s"},
			}))
			h.sim.SetReachable(providertest.Address(2), false)
			h.onQuery(simulator.Fault{Hosts: []string{providertest.Address(1)}, HTTPStatus: status})
			said := resource.DestroyUnrefreshed()
			left := providertest.Texts(resource.Attribute("hosts"))
			if len(left) != 1 || left["web-1"] == "" || !strings.Contains(said.String(), "its agent could not be asked") || !strings.Contains(said.String(), "Unreachable Hosts Forgotten") {
				h.Errorf("hosts are %v; said: %s", left, said)
			}
		}})
	}
}

// A registration took effect although the answer was an error. The destroy holds the host, because its agent cannot be
// asked and the cached status lags.
//
// Promised in changing-hosts.md: If the agent could not be asked, the host stays.
func TestUnasked_refusedIsHeld(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]simulator.Fault{
		"forbidden": {HTTPStatus: 403}, "bad-gateway": {HTTPStatus: 502}, "queued": {Queued: -1}, "missing": {Missing: -1},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			first := []string{providertest.Address(1)}
			h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: first, Code: new(simulator.CodeFailed), Apply: true, Times: 1})
			resource := h.object()
			_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{
				"adopt_existing": false, "hosts": providertest.HostsOf(2), "timeouts": map[string]any{"delete": "4s"},
			}))
			providertest.Check(h, resource.Reasons("out_of_sync")["web-1"] != "", "said: %s", said)
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: first, Missing: -1})
			h.onQuery(query)
			said = resource.DestroyUnrefreshed()
			left := providertest.Texts(resource.Attribute("hosts"))
			if left["web-1"] == "" || !h.process().Registered || !strings.Contains(said.String(), "its agent could not be asked") {
				h.Errorf("hosts are %v, and it is %+v; said: %s", left, h.process(), said)
			}
		}})
	}
}

// A registration that is in progress (115) takes effect, and then its agent is away (117). The host is kept, as it may
// be registered.
func TestUnasked_pendingThenAway(t *testing.T) {
	t.Parallel()
	plays(t, labelled, map[string]func(hostile){"destroyed": func(h hostile) {
		first := []string{providertest.Address(1)}
		h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{
			Hosts: first, Times: 1, Pending: 1, Code: new(simulator.CodeAgentAbnormal), Apply: true,
		})
		h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: first, Missing: -1})
		resource := h.object()
		_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{
			"adopt_existing": false, "hosts": providertest.HostsOf(2), "timeouts": map[string]any{"create": "3s"},
		}))
		providertest.Check(h, strings.HasPrefix(resource.Reasons("out_of_sync")["web-1"], "unconfirmed"), "out of sync %v; said: %s", resource.Reasons("out_of_sync"), said)
		h.sim.SetReachable(first[0], false)
		_, said = resource.Apply(nil)
		providertest.Check(h, !resource.State.IsNull() && h.process().Registered, "it is %+v; said: %s", h.process(), said)
	}})
}

// A host of another team is taken over. That takes effect, and its agent is away (117), at once or while it is in
// progress (115). The host is kept, as its registration may be this object's.
func TestUnasked_takenOverThenAway(t *testing.T) {
	t.Parallel()
	for name, pending := range map[string]int{"at-once": 0, "in-progress": 1} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.colleague()
			h.onReregister(simulator.Fault{Times: 1, Pending: pending, Code: new(simulator.CodeAgentAbnormal), Apply: true})
			h.onQuery(simulator.Fault{Unreachable: "117", Skip: 1}) // it has said that the process is hosted
			resource := h.object()
			_, said := resource.Apply(h.config("./start.sh", "hosted", "unregister"))
			left := resource.Reasons("out_of_sync")["web-1"]
			providertest.Check(h, strings.HasPrefix(left, "unconfirmed"), "out of sync %q; said: %s", left, said)
			h.lags()
			h.keeps(resource)
		}})
	}
}

// The answer to registering a host was lost. The next apply does not try it again, cannot ask its agent, or is refused
// there. None of that shows that the host is not registered.
func TestUnasked_unconfirmedStaysSo(t *testing.T) {
	t.Parallel()
	second := []string{providertest.Address(2)}
	for name, next := range map[string]func(hostile){
		"not-tried": func(h hostile) {
			h.onReregister(simulator.Fault{Hosts: []string{providertest.Address(1)}, Code: new(simulator.CodeFailed)})
		},
		"forbidden": func(h hostile) { h.onQuery(simulator.Fault{Hosts: second, HTTPStatus: 403, Skip: 1}) }, // the refresh asks first
		"refused": func(h hostile) {
			h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: second, Code: new(simulator.CodeFailed)})
		},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			more := map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2), "rollout": map[string]any{"batch_size": 1}}
			h.onEither("register_proc_info", simulator.OpHost, simulator.Fault{Hosts: second, Drop: "after"})
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "unregister", more))
			hides := func() {
				h.sim.Repair()
				h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: second, Missing: -1})
			}
			hides()
			next(h)
			_, said := resource.Apply(h.config("./new.sh", "hosted", "unregister", more))
			left := resource.Reasons("out_of_sync")["web-2"]
			providertest.Check(h, strings.HasPrefix(left, "unconfirmed"), "out of sync %q; said: %s", left, said)
			hides()
			h.onQuery(simulator.Fault{Hosts: second, Unreachable: "117"})
			said = resource.DestroyUnrefreshed()
			providertest.Check(h, resource.Reasons("hosts")["web-2"] != "" || !h.at(2).Registered, "it is %+v; said: %s", h.at(2), said)
		}})
	}
}
