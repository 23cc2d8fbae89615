package gse

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// newSim serves a simulator that knows every host of 10.0.0.0/8. A request that
// no document describes fails the test.
func newSim(tb testing.TB, sim *simulator.Server) string {
	tb.Helper()
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	server := httptest.NewServer(sim)
	tb.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			tb.Error(err)
		}
		for _, violation := range sim.Violations() {
			tb.Errorf("violation: %s", violation)
		}
	})
	return server.URL
}

// simProcess is process gse:proc-test on a simulator.
func simProcess(tb testing.TB, sim *simulator.Server, maxHosts int) *Process {
	tb.Helper()
	client := newTestClient(tb, newSim(tb, sim), func(cfg *bkapi.Config, opts *procapi.Options) {
		cfg.MaxRetries, opts.MaxHosts = 2, maxHosts
	})
	return client.Process(sampleMeta, sampleSpec())
}
