package gse

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A host that could not be unregistered is gone only if that is known, whatever the cached status says.
func TestFlow_releaseFails(t *testing.T) {
	t.Parallel()
	var (
		abnormal = procapi.CodeAgentAbnormal
		register = func(t *testing.T, p *Process, hosts []fleet.Host) {
			t.Helper()
			results := p.Register(t.Context(), hosts)
			results.Merge(p.Operate(t.Context(), fleet.Supervise, hosts, nil))
			wantDone(t, results)
		}
		perHost = func(api string) simulator.Fault { return simulator.Fault{API: api, Code: &abnormal} }
		whole   = func(api string) simulator.Fault { return simulator.Fault{API: api, HTTPStatus: 403} }
	)
	tests := map[string]struct {
		gateway  bool
		sim      *simulator.Server
		fault    func(api string) simulator.Fault
		never    bool // it was never registered
		away     bool // the agent does not answer
		specless bool
		want     fleet.Outcome // Verdict and Unreachable
	}{
		"esb":                   {false, &simulator.Server{}, perHost, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"esb-late-file":         {false, &simulator.Server{LagCalls: -1}, perHost, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"esb-whole":             {false, &simulator.Server{LagCalls: -1}, whole, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"esb-never-registered":  {false, &simulator.Server{}, perHost, true, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"esb-away":              {false, &simulator.Server{}, perHost, false, true, false, fleet.Outcome{Verdict: fleet.Failed, Unreachable: true}},
		"esb-specless":          {false, &simulator.Server{}, perHost, false, false, true, fleet.Outcome{Verdict: fleet.Failed}},
		"gateway":               {true, &simulator.Server{}, perHost, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"gateway-late-file":     {true, &simulator.Server{LagCalls: -1}, perHost, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"gateway-no-hosts":      {true, &simulator.Server{RowsWithoutHost: true, RowsWithoutAgentID: true}, perHost, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"gateway-whole":         {true, &simulator.Server{LagCalls: -1}, whole, false, false, false, fleet.Outcome{Verdict: fleet.Failed}},
		"gateway-not-hosted":    {true, &simulator.Server{}, perHost, true, false, false, fleet.Outcome{Verdict: fleet.Done}},
		"gateway-away":          {true, &simulator.Server{}, perHost, false, true, false, fleet.Outcome{Verdict: fleet.Failed, Unreachable: true}},
		"gateway-away-and-late": {true, &simulator.Server{LagCalls: -1}, perHost, false, true, false, fleet.Outcome{Verdict: fleet.Failed, Unreachable: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p *Process
			api := apiUnregister
			if test.gateway {
				p, api = gatewaySim(t, test.sim, 0), apiMulti
			} else {
				p = simProcess(t, test.sim, 0)
			}
			inventory := procapitest.Parse(t, "0:10.0.0.1")
			if !test.never {
				register(t, p, inventory)
			}
			test.sim.SetReachable("0:10.0.0.1", !test.away)
			test.sim.Inject(test.fault(api))
			if test.specless {
				p.spec = nil
			}
			got := fleet.Release(t.Context(), p, inventory, fleet.DestroyUnregister, nil, nil)[inventory[0]]
			if got.Verdict != test.want.Verdict || got.Unreachable != test.want.Unreachable {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			if left := at(test.sim, inventory[0]); left.Hosted == test.never {
				t.Errorf("left %+v", left)
			}
		})
	}
}
