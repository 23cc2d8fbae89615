package gse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// gatewaySim is process gse:proc-test behind the gateway of a simulator that
// knows agentA and agentB besides.
func gatewaySim(t *testing.T, sim *simulator.Server, maxHosts int) *Process {
	t.Helper()
	sim.AddHost(agentA, agentB)
	client := newTestClient(t, procapitest.Serve(t, sim)+stage, func(cfg *bkapi.Config, opts *procapi.Options) {
		cfg.Gateway, cfg.MaxRetries, opts.MaxHosts = bkapi.APIGW, 2, maxHosts
	})
	return client.Process(sampleMeta, sampleSpec())
}

func at(sim *simulator.Server, h fleet.Host) simulator.Process {
	process, _ := sim.Process(h.Address(), "gse", "proc-test")
	return process
}

// A process is registered, which hosts it, brought up, found as declared, and
// released, whichever way its hosts are named.
func TestGatewayFlow_life(t *testing.T) {
	t.Parallel()
	fleets := map[string]struct {
		hosts           []string
		batches         int
		rowsWithoutHost bool
	}{
		"agents":              {[]string{agentA, agentB}, 1, false},
		"agents-without-host": {[]string{agentA, agentB}, 1, true},
		"addresses":           {[]string{"0:10.0.0.1", "4:10.0.0.1"}, 1, false},
		"mixed":               {[]string{agentA, "0:10.0.0.1", agentB, "4:7:10.0.0.1"}, 2, false},
	}
	// Requests of a fleet that is named in one way.
	create := map[fleet.Ensure]map[string]int{
		fleet.EnsureRegistered: {apiMulti: 1, apiOperate: 1, apiResult: 2},
		fleet.EnsureHosted:     {apiMulti: 1, apiOperate: 2, apiResult: 3},
		fleet.EnsureRunning:    {apiMulti: 1, apiOperate: 3, apiResult: 4},
	}
	for name, test := range fleets {
		for ensure, calls := range create {
			t.Run(fmt.Sprintf("%s/%s", name, ensure), func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{RowsWithoutHost: test.rowsWithoutHost}
				p := gatewaySim(t, sim, 0)
				want := declare(t, p, ensure)
				inventory := procapitest.Parse(t, test.hosts...)
				results := fleet.NewReconciliation(p, want, fleet.Change{Register: inventory, Order: inventory}).Run(t.Context())
				if failures := results.Failures(); len(failures) > 0 || len(results) != len(inventory) {
					t.Fatalf("got %d results, failures %v", len(results), failures)
				}
				wantCounts(t, sim, calls, test.batches)
				for _, h := range inventory {
					if got := at(sim, h); !got.Registered || !got.Hosted || got.Running != (ensure == fleet.EnsureRunning) || !maps.Equal(got.Labels, want.AllLabels()) {
						t.Errorf("%s: got %+v", h, got)
					}
				}
				sim.ResetCalls()
				report, err := fleet.Inspect(t.Context(), p, inventory, want, nil, nil)
				if err != nil || len(report.Drift) > 0 || len(report.Unreachable) > 0 {
					t.Errorf("got %+v, %v, want no drift", report, err)
				}
				wantCounts(t, sim, map[string]int{apiStatus: 1}, test.batches)
				if failures := fleet.Release(t.Context(), p, inventory, fleet.DestroyStop, nil, nil).Failures(); len(failures) > 0 {
					t.Error(failures)
				}
				for _, h := range inventory {
					if got := at(sim, h); got.Registered || got.Hosted || got.Running {
						t.Errorf("%s: got %+v, want nothing left", h, got)
					}
				}
			})
		}
	}
}

// wantCounts checks how often each API of the gateway was called, and no other.
func wantCounts(t *testing.T, sim *simulator.Server, each map[string]int, batches int) {
	t.Helper()
	want, got := make(map[string]int), make(map[string]int)
	for api, n := range each {
		want[api] = n * batches
	}
	for _, call := range sim.Calls() {
		got[call.API]++
		if call.Face != "apigw" {
			t.Errorf("%s was called at %s", call.API, call.Path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Five hosts are three requests: two of addresses, and one of agents.
func TestGatewayFlow_batches(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{MaxHostsPerRequest: 2}
	p := gatewaySim(t, sim, 2)
	sim.SetReachable(agentB, false)
	sim.SetReachable("0:10.0.0.3", false)
	inventory := procapitest.Parse(t, agentA, "0:10.0.0.1", "0:10.0.0.2", agentB, "0:10.0.0.3")
	results := p.Reregister(t.Context(), inventory)
	for h, o := range results {
		if away := h == inventory[3] || h == inventory[4]; away != (o.Code == procapi.CodeAgentAbnormal) || o.OK() == away {
			t.Errorf("%s: got %+v", h, o)
		}
	}
	var got []string
	for _, call := range sim.Calls().Of(apiMulti) {
		got = append(got, selectorOf(t, call.Body))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"agents " + agentA + " " + agentB, "hosts 10.0.0.1 10.0.0.2", "hosts 10.0.0.3"}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(results) != len(inventory) || len(results.TaskIDs()) != 3 {
		t.Errorf("got %d results of tasks %v", len(results), results.TaskIDs())
	}
}

// A host of somebody else's keeps what it has, unless it is adopted.
func TestGatewayFlow_createAgain(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := gatewaySim(t, sim, 0)
	want := declare(t, p, fleet.EnsureHosted)
	inventory := procapitest.Parse(t, agentA, agentB, "0:10.0.0.1")
	theirs := map[string]string{"owner": "another"}
	if err := sim.Register(agentB, "gse", "proc-test", theirs, `{}`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second create finds the hosts of the first, which are its own
		results := fleet.NewReconciliation(p, want, fleet.Change{Register: inventory, Order: inventory}).Run(t.Context())
		if got := results[inventory[1]]; got.OK() || !got.AlreadyDone || got.Left != fleet.Foreign || got.TaskID != "" {
			t.Errorf("%s: got %+v, want it to be another's", agentB, got)
		}
		if failures := results.Failures(); len(failures) != 1 || !maps.Equal(at(sim, inventory[1]).Labels, theirs) {
			t.Errorf("failures: %v", failures)
		}
	}
	if calls := sim.Calls(); calls.Count(apiMulti) != 2 || len(calls.Of(apiMulti).On(agentB)) > 0 {
		t.Errorf("got %d requests, %d of them for %s", calls.Count(apiMulti), len(calls.Of(apiMulti).On(agentB)), agentB)
	}
	results := fleet.NewReconciliation(p, want, fleet.Change{Register: inventory, Order: inventory, Adopt: true}).Run(t.Context())
	if failures := results.Failures(); len(failures) > 0 || !maps.Equal(at(sim, inventory[1]).Labels, want.AllLabels()) {
		t.Errorf("got %v, want %s to be adopted", failures, agentB)
	}
}

// An import can look, and cannot unregister: there is no spec to send.
func TestGatewayFlow_withoutSpec(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := gatewaySim(t, sim, 0)
	inventory := procapitest.Parse(t, agentA, "0:10.0.0.1")
	if failures := p.Register(t.Context(), inventory).Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
	sim.ResetCalls()
	p.spec = nil
	statuses, err := p.CachedStatus(t.Context(), inventory)
	if err != nil {
		t.Fatal(err)
	}
	results := p.Unregister(t.Context(), inventory)
	for _, h := range inventory {
		if statuses[h].State != fleet.Stopped || !statuses[h].Hosted {
			t.Errorf("%s: got %+v on file", h, statuses[h])
		}
		if results[h].Verdict != fleet.NotTried || !at(sim, h).Registered {
			t.Errorf("%s: got %+v, want it left alone", h, results[h])
		}
	}
	wantCounts(t, sim, map[string]int{apiStatus: 1}, 2)
}

// A host with an agent id and an address is found by whichever it was asked for,
// since its rows have both.
func TestGatewayFlow_twoNames(t *testing.T) {
	t.Parallel()
	names := []string{"0200000007525400b95ba81710390009e1d7", "0:10.0.0.9"}
	sim := &simulator.Server{}
	sim.AddAgent(names[0], names[1])
	p := gatewaySim(t, sim, 0)
	for _, name := range names {
		h := procapitest.Parse(t, name)
		if got := p.Reregister(t.Context(), h)[h[0]]; !got.OK() {
			t.Errorf("%s: got %+v", name, got)
		}
		cached, err := p.CachedStatus(t.Context(), h)
		if err != nil || !cached[h[0]].Hosted {
			t.Errorf("%s: got %+v on file, %v", name, cached[h[0]], err)
		}
		live, err := p.LiveStatus(t.Context(), h)
		if err != nil || !live[h[0]].Hosted {
			t.Errorf("%s: got %+v live, %v", name, live[h[0]], err)
		}
	}
	if n := len(sim.Processes()); n != 1 {
		t.Errorf("got %d processes, want one under two names", n)
	}
}

// The other name of a host is asked for where no row has told it yet: the answer to
// the very first operation may go by it.
func TestGatewayFlow_keyFallbackAtOnce(t *testing.T) {
	t.Parallel()
	for address, keys := range map[string]string{agentA: "address", "0:10.0.0.1": "agent"} {
		sim := &simulator.Server{}
		sim.AddAgent(agentA, "0:10.0.0.1")
		p := gatewaySim(t, sim, 0)
		sim.Inject(simulator.Fault{API: apiResult, Keys: keys})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if results := p.Operate(ctx, fleet.Start, procapitest.Parse(t, address), nil); len(results.Failures()) > 0 {
			t.Errorf("%s: a result by %s was not understood: %v", address, keys, results)
		}
		cancel()
		if n := sim.Calls().Count(apiStatus); n != 1 {
			t.Errorf("%s: the other name was asked for %d times", address, n)
		}
	}
}

// Whoever destroys is a provider that has read nothing yet, and once a host is
// unhosted no row tells its other name.
func TestGatewayFlow_unregisterByOtherName(t *testing.T) {
	t.Parallel()
	for address, keys := range map[string]string{agentA: "address", "0:10.0.0.1": "agent"} {
		sim := &simulator.Server{}
		sim.AddAgent(agentA, "0:10.0.0.1")
		inventory := procapitest.Parse(t, address)
		if results := gatewaySim(t, sim, 0).Register(t.Context(), inventory); len(results.Failures()) > 0 {
			t.Fatal(results)
		}
		sim.Inject(simulator.Fault{API: apiResult, Keys: keys})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if results := gatewaySim(t, sim, 0).Unregister(ctx, inventory); len(results.Failures()) > 0 {
			t.Errorf("%s: a result by %s was not understood: %v", address, keys, results)
		}
		cancel()
	}
}

// A gateway that answers about a host by its other name is understood as soon as a
// row has told both.
func TestGatewayFlow_keyFallback(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddAgent(agentA, "0:10.0.0.1")
	p := gatewaySim(t, sim, 0)
	inventory := procapitest.Parse(t, agentA)
	if results := p.Register(t.Context(), inventory); len(results.Failures()) > 0 {
		t.Fatal(results)
	}
	if _, err := p.CachedStatus(t.Context(), inventory); err != nil {
		t.Fatal(err)
	}
	sim.Inject(simulator.Fault{API: apiResult, Keys: "address"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if results := p.Operate(ctx, fleet.Start, inventory, nil); len(results.Failures()) > 0 {
		t.Errorf("a result by address was not understood: %v", results)
	}
}
