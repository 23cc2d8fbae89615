package gse

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
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
