package gse

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Five hosts are three requests: two by address, and one by agent id.
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

// The gateway may answer about a host by its other name. The client knows that name from a row, or asks
// for it at once. A destroy may have read nothing yet, and after unhosting no row has the other name.
func TestGatewayFlow_keyFallback(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		registered, looked bool // before
		act                func(fleet.Process, context.Context, []fleet.Host) fleet.Results
	}{
		"first-operation":   {false, false, start},
		"known-from-a-look": {true, true, start},
		"first-unregister":  {true, false, fleet.Process.Unregister},
	}
	for name, test := range tests {
		for address, keys := range map[string]string{agentA: "address", "0:10.0.0.1": "agent"} {
			t.Run(name+"/by-"+keys, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				sim.AddAgent(agentA, "0:10.0.0.1")
				inventory := procapitest.Parse(t, address)
				if test.registered {
					wantDone(t, gatewaySim(t, sim, 0).Register(t.Context(), inventory))
				}
				p := gatewaySim(t, sim, 0) // a client that has read nothing yet
				if test.looked {
					if _, err := p.CachedStatus(t.Context(), inventory); err != nil {
						t.Fatal(err)
					}
				}
				sim.Inject(simulator.Fault{API: apiResult, Keys: keys})
				sim.ResetCalls()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				wantDone(t, test.act(p, ctx, inventory))
				if n := sim.Calls().Count(apiStatus); (n == 1) == test.looked {
					t.Errorf("the other name was asked for %d times", n)
				}
			})
		}
	}
}
