package gse

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Five hosts are three requests. At the gateway, hosts named by agent id have requests of their own,
// because the platform ignores addresses beside agent ids. Two hosts are away, and each gets its own result.
func TestProcess_batches(t *testing.T) {
	t.Parallel()
	faces := map[string]struct {
		hosts, away, there []string
		requests           []string
	}{
		"esb": {
			[]string{"0:10.0.0.1", "0:10.0.0.2", "0:10.0.0.3", "0:10.0.0.4", "0:10.0.0.5"},
			[]string{"0:10.0.0.2", "0:10.0.0.5"}, []string{"0:10.0.0.1", "0:10.0.0.3", "0:10.0.0.4"},
			[]string{"hosts 10.0.0.1 10.0.0.2", "hosts 10.0.0.3 10.0.0.4", "hosts 10.0.0.5"},
		},
		"apigw": {
			[]string{agentA, "0:10.0.0.1", "0:10.0.0.2", agentB, "0:10.0.0.3"},
			[]string{agentB, "0:10.0.0.3"}, []string{agentA, "0:10.0.0.1", "0:10.0.0.2"},
			[]string{"agents " + agentA + " " + agentB, "hosts 10.0.0.1 10.0.0.2", "hosts 10.0.0.3"},
		},
	}
	calls := map[string]struct {
		call       procapitest.Call
		esb, apigw string // the API
		started    bool   // before, on the hosts that are there
	}{
		"register":      {procapitest.Register, apiOperate, apiOperate, false}, // the agents are asked first
		"reregister":    {procapitest.Reregister, apiUpdate, apiMulti, false},
		"unregister":    {procapitest.Unregister, apiUnregister, apiMulti, false},
		"operate":       {procapitest.Operate(fleet.Start), apiOperate, apiOperate, false},
		"live-status":   {procapitest.LiveStatus, apiOperate, apiOperate, true},
		"cached-status": {procapitest.CachedStatus, apiStatus, apiStatus, true},
	}
	for face, f := range faces {
		for name, c := range calls {
			t.Run(face+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{MaxHostsPerRequest: 2}
				p, inventory := simAt(t, face, sim, 2), procapitest.Parse(t, f.hosts...)
				for _, host := range f.away {
					sim.SetReachable(host, false)
				}
				if c.started {
					start(p, t.Context(), inventory)
				}
				sim.ResetCalls()
				procapitest.WantEqual(t, "hosts reached", f.there, reached(c.call(t.Context(), p, inventory)))
				var requests []string
				for _, call := range sim.Calls().Of(map[string]string{"esb": c.esb, "apigw": c.apigw}[face]) {
					requests = append(requests, selectorOf(t, call.Body))
				}
				slices.Sort(requests)
				procapitest.WantEqual(t, "requests", f.requests, requests)
			})
		}
	}
}

// reached are the hosts on which a call did something, or found the process, or learned their names.
func reached(made any) []string {
	var addresses []string
	switch made := made.(type) {
	case map[string]fleet.Outcome:
		for address, o := range made {
			if o.OK() {
				addresses = append(addresses, address)
			}
		}
	case map[string]fleet.Status:
		for address, s := range made {
			if s.State == fleet.Running || s.State == fleet.Stopped {
				addresses = append(addresses, address)
			}
		}
	case map[string]fleet.HostID:
		addresses = slices.Collect(maps.Keys(made))
	}
	slices.Sort(addresses)
	return addresses
}

// jointly is processes a and b, and one of another client.
func jointly(client *Client, names ...string) []fleet.Part {
	var parts []fleet.Part
	for _, name := range names {
		spec := sampleSpec()
		if name == "once" {
			spec.MonitorPolicy.AutoType = AutoOneShot
		}
		parts = append(parts, fleet.Part{Process: client.Process(Meta{Namespace: "gse", Name: name, Labels: sampleMeta.Labels}, spec)})
	}
	return parts
}

// An operation on several processes is one call and one task on either face. Each host of each process
// gets its own result.
func TestOperateJointly(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"esb", "apigw"} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p := simAt(t, face, sim, 0)
			start := simulator.OpStart
			sim.Inject(simulator.Fault{Op: &start, Name: "b", Hosts: []string{"0:10.0.0.2"}, Code: new(65535), Message: "no such file", Pending: 2})
			parts := jointly(p.client, "a", "b", "once")
			seen := make(fleet.Results)
			parts[0].Hosts, parts[1].Hosts, parts[2].Hosts = hosts(2), hosts(3)[1:], hosts(1)
			parts[1].Observe = func(results fleet.Results) { seen.Merge(results) }
			all := p.OperateJointly(t.Context(), fleet.Start, parts)
			calls := sim.Calls()
			if calls.Count(apiMulti) != 1 || calls.Count(apiOperate) != 0 {
				t.Errorf("%d and %d calls", calls.Count(apiMulti), calls.Count(apiOperate))
			}
			// A one-shot process ends before its start is checked.
			want := []map[int]int64{{1: 0, 2: 0}, {2: 65535, 3: 0}, {1: 836}}
			for i, results := range all {
				if len(results) != len(want[i]) {
					t.Errorf("part %d: %d results", i, len(results))
				}
				for h, o := range results {
					code := want[i][procapitest.NumberOf(h)]
					if o.Code != code || o.OK() == (code == 65535) || o.TaskID == "" {
						t.Errorf("part %d, %s: %+v", i, h, o)
					}
				}
			}
			if len(seen) != 2 {
				t.Errorf("%d hosts observed", len(seen))
			}
			for at, runs := range map[string]bool{"0:10.0.0.1 a": true, "0:10.0.0.2 a": true, "0:10.0.0.3 b": true, "0:10.0.0.2 b": false, "0:10.0.0.1 b": false, "0:10.0.0.3 a": false} {
				address, name, _ := strings.Cut(at, " ")
				if process, _ := sim.Process(address, "gse", name); process.Running != runs {
					t.Errorf("%s: %+v", at, process)
				}
			}
		})
	}
}

// Requests are filled: 5 hosts of two processes, 2 per request, are three requests. Hosts of one process
// that are named in two ways are in two items.
func TestOperateJointly_batches(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{MaxHostsPerRequest: 2}
	p := simAt(t, "apigw", sim, 2)
	parts := jointly(p.client, "a", "b")
	parts[0].Hosts = procapitest.Parse(t, "0:10.0.0.1", agentA, "0:10.0.0.2")
	parts[1].Hosts = procapitest.Parse(t, agentA, agentB)
	all := p.OperateJointly(t.Context(), fleet.Restart, parts)
	for i, results := range all {
		if len(results) != len(parts[i].Hosts) || len(results.Failures()) > 0 {
			t.Errorf("part %d: %+v", i, results)
		}
	}
	if calls := sim.Calls(); calls.Count(apiMulti) != 3 || calls.HostCalls(apiMulti) != 5 {
		t.Errorf("%d requests with %d hosts", calls.Count(apiMulti), calls.HostCalls(apiMulti))
	}
}

// If the answer is lost, the outcome is unknown for every host of every process, and the request is not
// repeated. The process of another client has a request of its own.
func TestOperateJointly_lost(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, other := simAt(t, "esb", sim, 0), simAt(t, "esb", &simulator.Server{}, 0)
	sim.Inject(simulator.Fault{API: apiMulti, Drop: "after"})
	parts := append(jointly(p.client, "a", "b"), jointly(other.client, "c")...)
	for i := range parts {
		parts[i].Hosts = hosts(2)
	}
	all := p.OperateJointly(t.Context(), fleet.Start, parts)
	for i, results := range all {
		for h, o := range results {
			if lost := o.Verdict == fleet.Lost; lost != (i < 2) {
				t.Errorf("part %d, %s: %+v", i, h, o)
			}
		}
	}
	if n := sim.Calls().Count(apiMulti); n != 1 || len(all[2]) != 2 {
		t.Errorf("%d calls", n)
	}
}
