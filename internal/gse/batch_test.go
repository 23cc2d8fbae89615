package gse

import (
	"context"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// 2500 hosts are three requests. In each of the three there is a host whose
// agent is away, and its result must not be mixed up with another's.
func TestProcess_batches(t *testing.T) {
	t.Parallel()
	broken := map[int]bool{7: true, 1007: true, 2500: true}
	tests := map[string]struct {
		call func(context.Context, *Process, []fleet.Host) fleet.Results
		api  string
	}{
		"register":   {registerOnly, apiRegister},
		"reregister": {func(ctx context.Context, p *Process, h []fleet.Host) fleet.Results { return p.Reregister(ctx, h) }, apiUpdate},
		"unregister": {func(ctx context.Context, p *Process, h []fleet.Host) fleet.Results { return p.Unregister(ctx, h) }, apiUnregister},
		"operate": {func(ctx context.Context, p *Process, h []fleet.Host) fleet.Results {
			return p.Operate(ctx, fleet.Restart, h, nil)
		}, apiOperate},
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
			results := test.call(t.Context(), p, all)
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
		onFile, now := fleet.Unregistered, fleet.Stopped
		if procapitest.NumberOf(h) <= 1500 {
			onFile, now = fleet.Running, fleet.Running
		}
		if cached[h].State != onFile || live[h].State != now {
			t.Fatalf("host %d: got %s on file and %s live, want %s and %s", procapitest.NumberOf(h), cached[h].State, live[h].State, onFile, now)
		}
	}
	calls := sim.Calls()
	if calls.Count(apiStatus) != 3 || calls.Count(apiOperate) != 3 || len(live) != 2500 || len(cached) != 2500 {
		t.Errorf("got %d and %d requests, want 3 each", calls.Count(apiStatus), calls.Count(apiOperate))
	}
}

// Tasks of batches are told apart, and one batch's trouble is its own.
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
