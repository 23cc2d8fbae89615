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

// simProcess is process gse:proc-test on a simulator.
func simProcess(tb testing.TB, sim *simulator.Server, maxHosts int) *Process {
	tb.Helper()
	client := newTestClient(tb, procapitest.Serve(tb, sim), func(cfg *bkapi.Config, opts *procapi.Options) {
		cfg.MaxRetries, opts.MaxHosts = 2, maxHosts
	})
	return client.Process(sampleMeta, sampleSpec())
}

// simAt is that process at a face of it.
func simAt(t *testing.T, face string, sim *simulator.Server, maxHosts int) *Process {
	t.Helper()
	if face == "apigw" {
		return gatewaySim(t, sim, maxHosts)
	}
	return simProcess(t, sim, maxHosts)
}

// gatewaySim is process gse:proc-test behind the gateway of a simulator that also knows agentA and
// agentB.
func gatewaySim(t *testing.T, sim *simulator.Server, maxHosts int) *Process {
	t.Helper()
	sim.AddHost(agentA, agentB)
	client := newTestClient(t, procapitest.Serve(t, sim)+stage, func(cfg *bkapi.Config, opts *procapi.Options) {
		cfg.Gateway, cfg.MaxRetries, opts.MaxHosts = bkapi.APIGW, 2, maxHosts
	})
	return client.Process(sampleMeta, sampleSpec())
}

// at is that process on a host.
func at(sim *simulator.Server, h fleet.Host) simulator.Process {
	process, _ := sim.Process(h.Address(), "gse", "proc-test")
	return process
}

// start calls Start.
func start(p fleet.Process, ctx context.Context, hosts []fleet.Host) fleet.Results { //nolint:revive // as methods of a type are written
	return p.Operate(ctx, fleet.Start, hosts, nil)
}

// wantDone fails the test if any host failed.
func wantDone(t *testing.T, results fleet.Results) {
	t.Helper()
	if failures := results.Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
}
