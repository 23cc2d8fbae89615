package job

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// resident is the process of the samples as one that is to stay.
func resident() Info {
	info := sampleInfo()
	info.Type, info.CycleTime = new(int64(TypeResident)), nil
	return info
}

func simProcess(t *testing.T, sim *simulator.Server, scope Scope, by Registration) *Process {
	t.Helper()
	sim.AppCode, sim.AppSecret = "esb_test", "xxx"
	client := newTestClient(t, procapitest.Serve(t, sim), func(cfg *bkapi.Config, opts *Options) {
		cfg.MaxRetries, opts.MaxHosts = 2, 2
	})
	return client.Process(scope, by, resident())
}

func on(t *testing.T, sim *simulator.Server, n int) simulator.Process {
	t.Helper()
	process, _ := sim.Process(host(n).Address(), "job", "key_test")
	return process
}

// A process is registered, brought up, found as declared, and released.
func TestFlow_life(t *testing.T) {
	t.Parallel()
	const count = 3
	scopes := map[string]Scope{"biz": bizScope, "scope": scope, "set": setScope}
	for name, scope := range scopes {
		for _, by := range Registrations() {
			for _, ensure := range fleet.Ensures() {
				shapes := []string{"", "no-isauto"}
				if by == RegisterByManage {
					shapes = shapes[:1] // agents that say nothing of hosting do not confirm it
				}
				for _, shape := range shapes {
					t.Run(name+"/"+string(by)+"/"+string(ensure)+"/"+shape, func(t *testing.T) {
						t.Parallel()
						sim := &simulator.Server{}
						sim.Inject(simulator.Fault{API: apiOperate, Op: new(simulator.OpQuery), ContentShape: shape})
						p := simProcess(t, sim, scope, by)
						want := fleet.Desired{Ensure: ensure, HasSpec: true}
						results := fleet.NewReconciliation(p, want, fleet.Change{Register: hosts(count), Order: hosts(count)}).Run(t.Context())
						if failures := results.Failures(); len(failures) > 0 {
							t.Fatal(failures)
						}
						for n := 1; n <= count; n++ {
							if got := on(t, sim, n); !got.Hosted || got.Running != (ensure == fleet.EnsureRunning) {
								t.Errorf("host %d: got %+v", n, got)
							}
						}
						report, err := fleet.Inspect(t.Context(), p, hosts(count), want, nil, nil)
						if err != nil || len(report.Drift) > 0 || len(report.Unreachable) > 0 {
							t.Errorf("got %+v, %v, want no drift", report, err)
						}
						if failures := p.Reregister(t.Context(), hosts(count)).Failures(); len(failures) > 0 {
							t.Error(failures)
						}
						if failures := fleet.Release(t.Context(), p, hosts(count), fleet.DestroyStop, nil, nil).Failures(); len(failures) > 0 {
							t.Error(failures)
						}
						for n := 1; n <= count; n++ {
							if got := on(t, sim, n); got.Hosted || got.Running {
								t.Errorf("host %d: got %+v, want nothing left", n, got)
							}
						}
					})
				}
			}
		}
	}
}

// What is found on host 2, as far as its agent says it, and what is done about it.
func TestFlow_drift(t *testing.T) {
	t.Parallel()
	const start, host3 = simulator.OpStart, simulator.OpHost
	var (
		nothing = func(*simulator.Server, string) error { return nil }
		unhost  = func(s *simulator.Server, at string) error { return s.Unhost(at, "job", "key_test") }
		kill    = func(s *simulator.Server, at string) error { return s.KillProcess(at, "job", "key_test") }
		both    = func(s *simulator.Server, at string) error { return errors.Join(unhost(s, at), kill(s, at)) }
	)
	tests := map[string]struct {
		ensure  fleet.Ensure
		shape   string // of the agents' answers
		disturb func(*simulator.Server, string) error
		drift   fleet.Drift
		repair  []int // operations
	}{
		"none":                    {fleet.EnsureRunning, "", nothing, "", nil},
		"none-but-hosting-unsaid": {fleet.EnsureRunning, "no-isauto", nothing, "", nil},
		"stopped-is-enough":       {fleet.EnsureHosted, "", kill, "", nil},
		"unsaid-is-enough":        {fleet.EnsureRegistered, "no-isauto", kill, "", nil},
		"unhosted":                {fleet.EnsureHosted, "", unhost, fleet.NotRegistered, []int{host3}},
		"unhosted-and-stopped":    {fleet.EnsureRegistered, "", both, fleet.NotRegistered, []int{host3}},
		"stopped":                 {fleet.EnsureRunning, "", kill, fleet.NotRunning, []int{start}},
		"stopped-hosting-unsaid":  {fleet.EnsureRunning, "no-isauto", kill, fleet.NotRunning, []int{start}},
		"neither":                 {fleet.EnsureRunning, "", both, fleet.NotRegistered, []int{host3, start}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p := simProcess(t, sim, scope, "")
			results := p.Register(t.Context(), hosts(2))
			results.Merge(p.Operate(t.Context(), fleet.Start, hosts(2), nil))
			if failures := results.Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
			if err := test.disturb(sim, host(2).Address()); err != nil {
				t.Fatal(err)
			}
			sim.Inject(simulator.Fault{API: apiOperate, Op: new(simulator.OpQuery), ContentShape: test.shape})
			want := fleet.Desired{Ensure: test.ensure, HasSpec: true}
			report, err := fleet.Inspect(t.Context(), p, hosts(2), want, nil, nil)
			if err != nil || report.Drift[host(2)] != test.drift || report.Drift[host(1)] != "" {
				t.Fatalf("got %+v, %v, want %q on host 2 alone", report, err, test.drift)
			}
			change := fleet.Change{Order: hosts(2)[1:]}
			switch test.drift {
			case "":
			case fleet.NotRegistered:
				change.Register = change.Order
			default:
				change.Settle = change.Order
			}
			sim.ResetCalls()
			if failures := fleet.NewReconciliation(p, want, change).Run(t.Context()).Failures(); len(failures) > 0 {
				t.Errorf("repair: %v", failures)
			}
			var repair []int
			for _, call := range sim.Calls().Of(apiOperate) {
				if call.Op != simulator.OpQuery {
					repair = append(repair, call.Op)
				}
			}
			if diff := cmp.Diff(test.repair, repair); diff != "" {
				t.Errorf("repair (-want +got):\n%s", diff)
			}
		})
	}
}

// The oddities of JOB's answers change nothing.
func TestFlow_odd(t *testing.T) {
	t.Parallel()
	tests := map[string]simulator.Fault{
		"queued":        {API: apiOperate, Queued: 3},
		"missing":       {API: apiOperate, Missing: 3},
		"pending":       {API: apiOperate, Pending: 3},
		"pending-alone": {API: apiOperate, Pending: 3, Hosts: []string{"0:10.0.0.2"}},
		"status-0":      {API: apiResult, JobStatus: new(0)},
		"status-115":    {API: apiResult, JobStatus: new(115)},
		"path-keys":     {API: apiResult, Keys: "path"},
		"host-first":    {API: apiResult, Keys: "host-first"},
		"errcode":       {API: apiResult, Spelling: "errcode"},
		"more-keys":     {API: apiResult, ExtraKeys: map[string]any{"key_test:0:10.9.9.9": map[string]any{"error_code": 117}}},
		"bad-gateway":   {API: apiResult, HTTPStatus: 502, Times: 2},
		"gse-trouble":   {API: apiResult, EnvelopeCode: new(codeGSEError), Times: 2},
		"half-a-poll":   {API: apiResult, Drop: "mid", Times: 2},
	}
	for name, fault := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			sim.Inject(fault)
			p := simProcess(t, sim, scope, "")
			if failures := p.Register(t.Context(), hosts(3)).Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
			if failures := p.Operate(t.Context(), fleet.Start, hosts(3), nil).Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
			statuses, err := p.CachedStatus(t.Context(), hosts(3))
			if err != nil {
				t.Fatal(err)
			}
			for h, s := range statuses {
				if s.State != fleet.Running || !s.Hosted {
					t.Errorf("%s: got %+v", h, s)
				}
			}
			if got := len(sim.Calls().Of(apiOperate)); got != 6 {
				t.Errorf("sent %d operations, want 3 in two batches each", got)
			}
		})
	}
}

// A start whose answer is lost is sent once. The next run asks before it acts.
func TestFlow_lostAnswer(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	start := simulator.OpStart
	sim.Inject(simulator.Fault{API: apiOperate, Op: &start, Drop: "after", Times: 1})
	p := simProcess(t, sim, scope, "")
	results := fleet.Run(t.Context(), p, fleet.Start, hosts(1), nil, fleet.Rollout{})
	if got := results[host(1)]; got.Verdict != fleet.Lost {
		t.Fatalf("got %+v, want it to be lost", got)
	}
	results = fleet.Run(t.Context(), p, fleet.Start, hosts(1), map[fleet.Host]fleet.Task{host(1): {}}, fleet.Rollout{})
	if got := results[host(1)]; !got.OK() || !got.AlreadyDone {
		t.Errorf("got %+v, want it to be found running", got)
	}
	starts := slices.DeleteFunc(sim.Calls().Of(apiOperate), func(c simulator.Call) bool { return c.Op != start })
	if len(starts) != 1 {
		t.Errorf("sent %d starts, want one", len(starts))
	}
}

// A restart that is still under way when the time is up reaches each agent once: the next
// run waits for it.
func TestFlow_stillUnderWay(t *testing.T) {
	t.Parallel()
	var (
		late, waits atomic.Int64
		mu          sync.Mutex
		polled      = make(map[string]bool)
		restart     = simulator.OpRestart
	)
	sim := &simulator.Server{Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) }}
	ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
	sim.OnCall = func(call simulator.Call) {
		if call.API != apiResult || call.Op != restart {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if polled[call.TaskID] = true; len(polled) < 2 { // the other batch has not been sent yet
			return
		}
		if end(); waits.Add(1) == 10 { // while the next run waits
			late.Store(int64(2 * time.Hour))
		}
	}
	p := simProcess(t, sim, scope, "")
	if failures := p.Operate(t.Context(), fleet.Start, hosts(3), nil).Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
	sim.Inject(simulator.Fault{Op: &restart, Takes: time.Hour})
	tasks := make(map[fleet.Host]fleet.Task)
	for h, o := range fleet.Run(ctx, p, fleet.Restart, hosts(3), nil, fleet.Rollout{}) {
		if tasks[h] = o.Underway; o.Verdict != fleet.Pending || o.Underway.ID == "" {
			t.Fatalf("%s: got %+v", h, o)
		}
	}

	results := fleet.Run(t.Context(), simProcess(t, sim, scope, ""), fleet.Restart, hosts(3), tasks, fleet.Rollout{})

	if failures := results.Failures(); len(failures) > 0 {
		t.Errorf("failures: %v", failures)
	}
	restarts := slices.DeleteFunc(sim.Executions(), func(e simulator.Execution) bool { return e.Action != "restart" })
	if sent := len(sim.Calls().OfOp(restart).Of(apiOperate)); sent != 2 || len(restarts) != 3 {
		t.Errorf("sent %d requests, and %d restarts reached agents, want two batches and three hosts", sent, len(restarts))
	}
}

// On a server with the bug of manage_proc, registering stops the process and
// unregistering asks about it, and both claim success. Neither is believed;
// operation 3 mends what the first one did.
func TestFlow_manageProcBug(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{ManageProcBug: true}
	p := simProcess(t, sim, scope, RegisterByManage)
	if failures := p.Operate(t.Context(), fleet.Start, hosts(1), nil).Failures(); len(failures) > 0 {
		t.Fatal(failures)
	}
	if got := p.Register(t.Context(), hosts(1))[host(1)]; got.Verdict != fleet.Failed || got.Meaning != meaningManageBug || got.TaskID == "" {
		t.Errorf("register: got %+v, want the bug to be named", got)
	}
	statuses, err := p.CachedStatus(t.Context(), hosts(1))
	if err != nil || statuses[host(1)].State != fleet.Unregistered {
		t.Errorf("got %v, %v, want it not to be registered", statuses, err)
	}
	want := fleet.Desired{Ensure: fleet.EnsureRunning, HasSpec: true}
	if failures := fleet.NewReconciliation(p, want, fleet.Change{Settle: hosts(1), Order: hosts(1)}).Run(t.Context()).Failures(); len(failures) > 0 {
		t.Error(failures)
	}
	if got := on(t, sim, 1); !got.Running || !got.Hosted {
		t.Errorf("got %+v, want it up", got)
	}
	if got := p.Unregister(t.Context(), hosts(1))[host(1)]; got.Verdict != fleet.Failed || got.Meaning != meaningManageBug || got.TaskID == "" {
		t.Errorf("unregister: got %+v, want the bug to be named", got)
	}
	if got := on(t, sim, 1); !got.Running || !got.Hosted {
		t.Errorf("got %+v, want it still up", got)
	}
}

func TestFlow_removed(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{JobRemoved: true}
	p := simProcess(t, sim, scope, "")
	results := p.Operate(t.Context(), fleet.Restart, hosts(1), nil)
	results.Merge(p.Register(t.Context(), []fleet.Host{host(2)}))
	for h, o := range results {
		if o.Verdict != fleet.Failed || !IsRemoved(o.Err) {
			t.Errorf("%s: got %+v", h, o)
		}
	}
	if _, err := p.CachedStatus(t.Context(), hosts(1)); !IsRemoved(err) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{apiOperate, apiOperate, apiOperate}, sim.Calls().APIs()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
