package gse

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const label = "tf_spec"

// declaredProcess is a process on a simulator that carries its fingerprint, and the desired state that it
// is compared with.
func declaredProcess(t *testing.T, sim *simulator.Server, ensure fleet.Ensure) (*Process, fleet.Desired) {
	t.Helper()
	p := simProcess(t, sim, 0)
	return p, declare(t, p, ensure)
}

// declare gives a process its fingerprint.
func declare(t *testing.T, p *Process, ensure fleet.Ensure) fleet.Desired {
	t.Helper()
	want := fleet.Desired{
		Ensure: ensure, FingerprintLabel: label, Fingerprint: fingerprint(t, sampleSpec()),
		Labels: sampleMeta.Labels, Owner: "us", HasSpec: true,
	}
	p.meta.Labels = want.AllLabels()
	return want
}

// wantAPIs checks which APIs were called, repetitions apart.
func wantAPIs(t *testing.T, sim *simulator.Server, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Compact(sim.Calls().APIs())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// wantCounts checks how often each API of a face was called, and no other.
func wantCounts(t *testing.T, sim *simulator.Server, face string, each map[string]int, batches int) {
	t.Helper()
	want, got := make(map[string]int), make(map[string]int)
	for api, n := range each {
		want[api] = n * batches
	}
	for _, call := range sim.Calls() {
		got[call.API]++
		if call.Face != face {
			t.Errorf("%s was called at %s", call.API, call.Path)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func reconcile(t *testing.T, p *Process, want fleet.Desired, hosts []fleet.Host, adopt bool) fleet.Results {
	t.Helper()
	return fleet.NewReconciliation(p, want, fleet.Change{Register: hosts, Order: hosts, Adopt: adopt}).Run(t.Context())
}

func TestFlow_drift(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		disturb func(*simulator.Server, string) error
		want    fleet.Code
	}{
		"none":     {func(*simulator.Server, string) error { return nil }, ""},
		"unhosted": {func(s *simulator.Server, at string) error { return s.Unhost(at, "gse", "proc-test") }, fleet.NotHosted},
		"killed":   {func(s *simulator.Server, at string) error { return s.KillProcess(at, "gse", "proc-test") }, fleet.NotRunning},
		"replaced": {func(s *simulator.Server, at string) error {
			return s.Register(at, "gse", "proc-test", map[string]string{label: "v1-ffffffffffffffff"}, `{"identity":{"proc_name":"other"}}`)
		}, fleet.OtherSpec},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p, want := declaredProcess(t, sim, fleet.EnsureRunning)
			wantDone(t, reconcile(t, p, want, hosts(2), false))
			if err := test.disturb(sim, host(2).Address()); err != nil {
				t.Fatal(err)
			}
			report, err := fleet.Inspect(t.Context(), p, hosts(2), want, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if report.Drift[host(2)] != test.want || report.Drift[host(1)] != "" || len(report.Unreachable) > 0 {
				t.Errorf("got %+v, want %q on host 2 alone", report, test.want)
			}
		})
	}
}

// The cached status lags, so the agent's answer counts.
//
// Promised in how-it-works.md: The cached status raises a suspicion, and the agent confirms it.
func TestFlow_lag(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, want := declaredProcess(t, sim, fleet.EnsureRunning)
	sim.FreezeStatus()
	results := reconcile(t, p, want, hosts(2), false)
	wantDone(t, results)
	sim.ResetCalls()
	report, err := fleet.Inspect(t.Context(), p, hosts(2), want, nil, nil)
	if err != nil || len(report.Drift) > 0 {
		t.Errorf("got %+v, %v, want no drift: the file is old", report, err)
	}
	wantAPIs(t, sim, apiStatus, apiOperate, apiResult)
	sim.SetReachable(host(1).Address(), false)
	report, err = fleet.Inspect(t.Context(), p, hosts(2), want, nil, nil)
	if _, away := report.Unreachable[host(1)]; err != nil || !away || len(report.Drift) > 0 {
		t.Errorf("got %+v, %v, want host 1 to be unreachable", report, err)
	}
}

// Whatever happened to the first call, the process is registered once, and no other owner is reported.
func TestFlow_registeredTwice(t *testing.T) {
	t.Parallel()
	tests := map[string]simulator.Fault{
		"answer-lost":            {API: apiRegister, Drop: "after", Times: 1},
		"half-an-answer":         {API: apiRegister, Drop: "mid", Times: 1},
		"in-progress":            {API: apiRegister, Pending: 3},
		"in-progress-but-done":   {API: apiRegister, Pending: 1, Apply: true, Times: 2},
		"left-out-of-the-answer": {API: apiRegister, Missing: 2},
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p, want := declaredProcess(t, sim, fleet.EnsureHosted)
			sim.Inject(fault)
			if failures := reconcile(t, p, want, hosts(2), false).Failures(); len(failures) > 0 {
				t.Error(failures)
			}
			if sim.Calls().Count(apiRegister) < 2 {
				t.Error("the fault did not happen")
			}
		})
	}
}

// A host of another owner keeps what it has, unless it is adopted. The ESB reports the owner when it is
// asked to register; behind the gateway its agent does.
func TestFlow_createAgain(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hosts    []string // the second belongs to another owner
		api      string
		sent     int // requests that register
		toOthers int // those of them for the second host
		code     int64
	}{
		"esb":   {[]string{"0:10.0.0.1", "0:10.0.0.2", "0:10.0.0.3"}, apiRegister, 2, 2, procapi.CodeRegistered},
		"apigw": {[]string{agentA, agentB, "0:10.0.0.1"}, apiMulti, 2, 0, 0},
	}
	for face, test := range tests {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p := simAt(t, face, sim, 0)
			want := declare(t, p, fleet.EnsureHosted)
			inventory := procapitest.Parse(t, test.hosts...)
			taken, theirs := inventory[1], map[string]string{"owner": "another"}
			if err := sim.Register(taken.Address(), "gse", "proc-test", theirs, `{}`); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second create finds the hosts of the first, which are its own
				results := reconcile(t, p, want, inventory, false)
				if got := results[taken]; got.OK() || !got.AlreadyDone || got.Left != fleet.RegisteredByOther || got.TaskID != "" || got.Code != test.code {
					t.Errorf("got %+v, want it to be another's", got)
				}
				if failures := results.Failures(); len(failures) != 1 || !maps.Equal(at(sim, taken).Labels, theirs) {
					t.Errorf("failures: %v", failures)
				}
			}
			if calls := sim.Calls().Of(test.api); len(calls) != test.sent || len(calls.On(taken.Address())) != test.toOthers {
				t.Errorf("got %d requests, %d of them for %s", len(calls), len(calls.On(taken.Address())), taken)
			}
			wantDone(t, reconcile(t, p, want, inventory, true))
			if got := at(sim, taken); !maps.Equal(got.Labels, want.AllLabels()) {
				t.Errorf("got %+v, want it to be adopted", got)
			}
		})
	}
}

// A stop that finds nothing to stop leaves hosting on, which would restart the process. So the process is
// unhosted as well.
func TestFlow_stopOfIdle(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, want := declaredProcess(t, sim, fleet.EnsureHosted)
	wantDone(t, reconcile(t, p, want, hosts(2), false))
	results := fleet.Run(t.Context(), p, fleet.Stop, hosts(2), nil, fleet.Rollout{})
	if failures := results.Failures(); len(failures) > 0 || at(sim, host(1)).Hosted || at(sim, host(2)).Hosted {
		t.Errorf("got %v, want the hosts to be unhosted", failures)
	}
}

// The supplier's id may be in any key of a result, and may be missing from any.
func TestFlow_supplierInKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"supplier", "no-supplier"} {
		sim := &simulator.Server{}
		p, want := declaredProcess(t, sim, fleet.EnsureHosted)
		sim.Inject(simulator.Fault{Keys: keys})
		if failures := reconcile(t, p, want, hosts(2), false).Failures(); len(failures) > 0 || !at(sim, host(2)).Hosted {
			t.Errorf("%s: %v", keys, failures)
		}
	}
}
