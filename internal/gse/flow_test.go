package gse

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const label = "tf_spec"

// declaredProcess is a process on a simulator that carries its fingerprint, and
// what it is held against.
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
		Labels: sampleMeta.Labels, HasSpec: true,
	}
	p.meta.Labels = want.AllLabels()
	return want
}

// on is the process on host n.
func on(sim *simulator.Server, n int) simulator.Process {
	process, _ := sim.Process(host(n).Address(), "gse", "proc-test")
	return process
}

func wantAPIs(t *testing.T, sim *simulator.Server, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Compact(sim.Calls().APIs())); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func reconcile(t *testing.T, p *Process, want fleet.Desired, n int) fleet.Results {
	t.Helper()
	return fleet.NewReconciliation(p, want, fleet.Change{Register: hosts(n), Order: hosts(n)}).Run(t.Context())
}

// A process is registered, brought up, found as declared, and released.
func TestFlow_life(t *testing.T) {
	t.Parallel()
	tests := map[fleet.Ensure]struct {
		hosted, running bool
		create          []string
	}{
		fleet.EnsureRegistered: {false, false, []string{apiOperate, apiResult, apiRegister}},
		fleet.EnsureHosted:     {true, false, []string{apiOperate, apiResult, apiRegister, apiOperate, apiResult, apiOperate, apiResult}},
		fleet.EnsureRunning:    {true, true, []string{apiOperate, apiResult, apiRegister, apiOperate, apiResult, apiOperate, apiResult}},
	}
	for ensure, test := range tests {
		t.Run(string(ensure), func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p, want := declaredProcess(t, sim, ensure)
			if failures := reconcile(t, p, want, 3).Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
			wantAPIs(t, sim, test.create...)
			for n := 1; n <= 3; n++ {
				if got := on(sim, n); !got.Registered || got.Hosted != test.hosted || got.Running != test.running || !maps.Equal(got.Labels, want.AllLabels()) {
					t.Errorf("host %d: got %+v", n, got)
				}
			}
			sim.ResetCalls()
			report, err := fleet.Inspect(t.Context(), p, hosts(3), want, nil, nil)
			if err != nil || len(report.Drift) > 0 || len(report.Unreachable) > 0 {
				t.Errorf("got %+v, %v, want no drift", report, err)
			}
			wantAPIs(t, sim, apiStatus)
			if failures := fleet.Release(t.Context(), p, hosts(3), fleet.DestroyStop, nil, nil).Failures(); len(failures) > 0 {
				t.Error(failures)
			}
			for n := 1; n <= 3; n++ {
				if got := on(sim, n); got.Registered || got.Hosted || got.Running {
					t.Errorf("host %d: got %+v, want nothing left", n, got)
				}
			}
		})
	}
}

func TestFlow_drift(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		disturb func(*simulator.Server, string) error
		want    fleet.Drift
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
			if failures := reconcile(t, p, want, 2).Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
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

// The cached status lags: the agent's own word counts.
func TestFlow_lag(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, want := declaredProcess(t, sim, fleet.EnsureRunning)
	sim.FreezeStatus()
	results := reconcile(t, p, want, 2)
	if failures := results.Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
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

// Whatever became of the first call, the process ends up registered once and
// nobody else is blamed for it.
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
			if failures := reconcile(t, p, want, 2).Failures(); len(failures) > 0 {
				t.Error(failures)
			}
			if sim.Calls().Count(apiRegister) < 2 {
				t.Error("the fault did not happen")
			}
		})
	}
}

func TestFlow_createAgain(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, want := declaredProcess(t, sim, fleet.EnsureHosted)
	if err := sim.Register(host(2).Address(), "gse", "proc-test", map[string]string{"owner": "another"}, `{}`); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second create finds the hosts of the first, which are its own
		results := reconcile(t, p, want, 3)
		if got := results[host(2)]; got.OK() || got.Code != procapi.CodeRegistered || got.Left != fleet.Foreign || !got.AlreadyDone {
			t.Errorf("host 2: got %+v, want it to be another's", got)
		}
		if failures := results.Failures(); len(failures) != 1 {
			t.Errorf("failures: %v", failures)
		}
	}
	results := fleet.NewReconciliation(p, want, fleet.Change{Register: hosts(3), Order: hosts(3), Adopt: true}).Run(t.Context())
	if failures := results.Failures(); len(failures) > 0 || !maps.Equal(on(sim, 2).Labels, want.AllLabels()) {
		t.Errorf("got %v, want host 2 to be adopted", failures)
	}
}

// A start whose answer is lost is sent once. The next run asks before it acts.
func TestFlow_lostAnswer(t *testing.T) {
	t.Parallel()
	start := simulator.OpStart
	for _, drop := range []string{"before", "after"} {
		t.Run(drop, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p, _ := declaredProcess(t, sim, fleet.EnsureRunning)
			sim.Inject(simulator.Fault{API: apiOperate, Op: &start, Drop: drop, Times: 1})
			results := fleet.Run(t.Context(), p, fleet.Start, hosts(2), nil, fleet.Rollout{})
			for n := 1; n <= 2; n++ {
				if results[host(n)].Verdict != fleet.Lost {
					t.Errorf("host %d: got %+v, want Lost", n, results[host(n)])
				}
			}
			if n := sim.Calls().OfOp(start).Count(apiOperate); n != 1 {
				t.Errorf("the start was sent %d times", n)
			}
			results = fleet.Run(t.Context(), p, fleet.Start, hosts(2), map[fleet.Host]fleet.Task{host(1): {}, host(2): {}}, fleet.Rollout{})
			if failures := results.Failures(); len(failures) > 0 || !on(sim, 1).Running || !on(sim, 2).Running {
				t.Errorf("failures: %v", failures)
			}
			want := map[string]int{"before": 2, "after": 1}[drop]
			if n := sim.Calls().OfOp(start).Count(apiOperate); n != want {
				t.Errorf("in all, the start was sent %d times, want %d", n, want)
			}
		})
	}
}

// A restart that is still under way when the time is up reaches each agent once: the next
// run waits for it, whichever face it goes through.
func TestFlow_stillUnderWay(t *testing.T) {
	t.Parallel()
	restart := simulator.OpRestart
	for _, gateway := range []bool{false, true} {
		t.Run(fmt.Sprintf("gateway-%t", gateway), func(t *testing.T) {
			t.Parallel()
			var (
				late, waits atomic.Int64
				mu          sync.Mutex
				polled      = make(map[string]bool)
			)
			sim := &simulator.Server{Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) }}
			process := func() *Process {
				if gateway {
					return gatewaySim(t, sim, 1)
				}
				return simProcess(t, sim, 1)
			}
			ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
			sim.OnCall = func(call simulator.Call) {
				if call.API != apiResult || call.Op != restart {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if polled[call.TaskID] = true; len(polled) < 2 { // the other host's has not been sent yet
					return
				}
				if end(); waits.Add(1) == 10 { // while the next run waits
					late.Store(int64(2 * time.Hour))
				}
			}
			p := process()
			if failures := p.Operate(t.Context(), fleet.Start, hosts(2), nil).Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
			sim.Inject(simulator.Fault{Op: &restart, Takes: time.Hour})
			results := fleet.Run(ctx, p, fleet.Restart, hosts(2), nil, fleet.Rollout{})
			tasks := make(map[fleet.Host]fleet.Task)
			for h, o := range results {
				if tasks[h] = o.Underway; o.Verdict != fleet.Pending || o.Underway.ID == "" {
					t.Fatalf("%s: got %+v", h, o)
				}
			}

			results = fleet.Run(t.Context(), process(), fleet.Restart, hosts(2), tasks, fleet.Rollout{})

			if failures := results.Failures(); len(failures) > 0 {
				t.Errorf("failures: %v", failures)
			}
			restarts := 0
			for _, done := range sim.Executions() {
				if done.Action == "restart" {
					restarts++
				}
			}
			if sent := sim.Calls().OfOp(restart).Count(apiOperate); sent != 2 || restarts != 2 {
				t.Errorf("sent %d requests, and %d restarts reached agents, want one for each of two hosts", sent, restarts)
			}
		})
	}
}

// A stop that finds nothing to stop leaves hosting on, which would revive the
// process: hosting is taken away as well.
func TestFlow_stopOfIdle(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, want := declaredProcess(t, sim, fleet.EnsureHosted)
	if failures := reconcile(t, p, want, 2).Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
	results := fleet.Run(t.Context(), p, fleet.Stop, hosts(2), nil, fleet.Rollout{})
	if failures := results.Failures(); len(failures) > 0 || on(sim, 1).Hosted || on(sim, 2).Hosted {
		t.Errorf("got %v, want the hosts to be unhosted", failures)
	}
}

// The supplier's id may stand in any key of a result, and may be missing from any.
func TestFlow_supplierInKeys(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"supplier", "no-supplier"} {
		sim := &simulator.Server{}
		p, want := declaredProcess(t, sim, fleet.EnsureHosted)
		sim.Inject(simulator.Fault{Keys: keys})
		if failures := reconcile(t, p, want, 2).Failures(); len(failures) > 0 || !on(sim, 2).Hosted {
			t.Errorf("%s: %v", keys, failures)
		}
	}
}

func TestFlow_oneShot(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := simProcess(t, sim, 0)
	p.spec.MonitorPolicy.AutoType = AutoOneShot
	if got := p.Operate(t.Context(), fleet.Start, hosts(1), nil)[host(1)]; !got.OK() || got.AlreadyDone || got.Code != procapi.CodeCheckFailed {
		t.Errorf("got %+v, want 836 to be a success", got)
	}
}

// The addresses of IPv6 hosts are in the keys of results, colons and all.
func TestFlow_ipv6(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.AddHost("0:2001:db8::1")
	p := simProcess(t, sim, 0)
	h, err := fleet.ParseHost("0:2001:DB8::1", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Operate(t.Context(), fleet.Start, []fleet.Host{h}, nil)[h]; !got.OK() {
		t.Errorf("start: got %+v", got)
	}
	live, err := p.LiveStatus(t.Context(), []fleet.Host{h})
	if err != nil || live[h].State != fleet.Running {
		t.Errorf("live: got %+v, %v", live[h], err)
	}
	cached, err := p.CachedStatus(t.Context(), []fleet.Host{h})
	if err != nil || cached[h].State != fleet.Running {
		t.Errorf("cached: got %+v, %v", cached[h], err)
	}
}
