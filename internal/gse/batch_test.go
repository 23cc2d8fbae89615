package gse

import (
	"context"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// 2500 hosts are three requests. In each of the three, one host's agent is unreachable. Its result must
// not be mixed up with another's.
func TestProcess_batches(t *testing.T) {
	t.Parallel()
	broken := map[int]bool{7: true, 1007: true, 2500: true}
	tests := map[string]struct {
		call func(fleet.Process, context.Context, []fleet.Host) fleet.Results
		api  string
	}{
		"register": {func(p fleet.Process, ctx context.Context, h []fleet.Host) fleet.Results {
			return registerOnly(ctx, p.(*Process), h) //nolint:forcetypeassert // this client's
		}, apiRegister},
		"reregister": {fleet.Process.Reregister, apiUpdate},
		"unregister": {fleet.Process.Unregister, apiUnregister},
		"operate":    {start, apiOperate},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{MaxHostsPerRequest: 1000}
			p := simProcess(t, sim, 1000)
			for n := range broken {
				sim.SetReachable(host(n).Address(), false)
			}
			all := hosts(2500)
			results := test.call(p, t.Context(), all)
			if calls := sim.Calls(); calls.Count(test.api) != 3 || calls.HostCalls(test.api) != 2500 {
				t.Errorf("got %d requests with %d hosts, want 3 with 2500", calls.Count(test.api), calls.HostCalls(test.api))
			}
			if len(results) != len(all) {
				t.Fatalf("got %d results", len(results))
			}
			for h, o := range results {
				if wrong := o.Code == procapi.CodeAgentAbnormal; wrong != broken[procapitest.NumberOf(h)] {
					t.Errorf("host %d: got %+v", procapitest.NumberOf(h), o)
				}
			}
		})
	}
}

func TestStatus_batches(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{MaxHostsPerRequest: 1000}
	p := simProcess(t, sim, 1000)
	all := hosts(2500)
	if failures := p.Operate(t.Context(), fleet.Start, all[:1500], nil).Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
	sim.ResetCalls()
	cached, err := p.CachedStatus(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	live, err := p.LiveStatus(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		registered, now := fleet.Unregistered, fleet.Stopped
		if procapitest.NumberOf(h) <= 1500 {
			registered, now = fleet.Running, fleet.Running
		}
		if cached[h].State != registered || live[h].State != now {
			t.Fatalf("host %d: got %s cached and %s live, want %s and %s", procapitest.NumberOf(h), cached[h].State, live[h].State, registered, now)
		}
	}
	calls := sim.Calls()
	if calls.Count(apiStatus) != 3 || calls.Count(apiOperate) != 3 || len(live) != 2500 || len(cached) != 2500 {
		t.Errorf("got %d and %d requests, want 3 each", calls.Count(apiStatus), calls.Count(apiOperate))
	}
}

// Each batch has its own task, and an error of one batch affects no other.
func TestOperate_oneBatchIsRefused(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := simProcess(t, sim, 2)
	refused := 1306000
	sim.Inject(simulator.Fault{API: apiOperate, Hosts: []string{host(3).Address()}, EnvelopeCode: &refused})
	results := p.Operate(t.Context(), fleet.Start, hosts(6), nil)
	for n := 1; n <= 6; n++ {
		got := results[host(n)]
		if bad := n == 3 || n == 4; got.OK() == bad || bkapi.HasCode(got.Err, 1306000) != bad {
			t.Errorf("host %d: got %+v", n, got)
		}
	}
	if ids := results.TaskIDs(); len(ids) != 2 {
		t.Errorf("got tasks %v, want two", ids)
	}
}

func TestNewClient_defaults(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{MaxHostsPerRequest: procapi.DefaultMaxHosts}
	client := newTestClient(t, procapitest.Serve(t, sim), func(_ *bkapi.Config, opts *procapi.Options) { *opts = procapi.Options{} })
	results := client.Process(sampleMeta, sampleSpec()).Register(t.Context(), hosts(procapi.DefaultMaxHosts+1))
	if failures := results.Failures(); len(failures) > 0 || len(results) != procapi.DefaultMaxHosts+1 {
		t.Errorf("got %d results, failures %v", len(results), failures)
	}
	if n := sim.Calls().Count(apiRegister); n != 2 {
		t.Errorf("got %d requests, want 2", n)
	}
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
	for name, newProcess := range map[string]func(*testing.T, *simulator.Server, int) *Process{
		"esb":     func(t *testing.T, sim *simulator.Server, n int) *Process { t.Helper(); return simProcess(t, sim, n) },
		"gateway": gatewaySim,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p := newProcess(t, sim, 0)
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
	p := gatewaySim(t, sim, 2)
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
	p, other := simProcess(t, sim, 0), simProcess(t, &simulator.Server{}, 0)
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
