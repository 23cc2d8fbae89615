package platform_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// This package imports all clients of the process APIs, so what holds for each of them is tested here
// once. What is specific to one client is tested in its package.

// face is one way to reach a process.
type face struct {
	operate, result string // names of APIs
	namespace       string // of the process demo on a host
	path            string // behind the endpoint
	gateway         bkapi.Gateway
	process         func(api *bkapi.Client, opts procapi.Options, labels map[string]string) fleet.Process
}

// faces are all faces, by their names in the simulator.
var faces = map[string]face{
	"esb":   {"operate_proc_v2", "get_proc_operate_result_v2", "demo", "", bkapi.ESB, newGSE(bkapi.ESB)},
	"apigw": {"operate_proc_v2", "get_proc_operate_result_v2", "demo", "/api/bk-gse/prod", bkapi.APIGW, newGSE(bkapi.APIGW)},
	"job":   {"operate_process", "get_proc_result", "job", "", bkapi.ESB, newJOB(job.RegisterByOperate, job.Scope{Type: "biz", ID: "1"})},
}

func newGSE(gateway bkapi.Gateway) func(*bkapi.Client, procapi.Options, map[string]string) fleet.Process {
	return func(api *bkapi.Client, opts procapi.Options, labels map[string]string) fleet.Process {
		return gse.NewClient(api, gateway, opts).Process(gse.Meta{Namespace: "demo", Name: "demo", Labels: labels}, &gse.Spec{
			Identity:      gse.Identity{ProcName: "demo", SetupPath: "/usr/sbin", PIDPath: "/run/demo.pid", User: "root"},
			Control:       gse.Control{StartCmd: new("./start.sh"), StopCmd: new("./stop.sh"), RestartCmd: new("./restart.sh")},
			Resource:      &gse.Resource{CPU: 30, Mem: 12.5},
			MonitorPolicy: gse.MonitorPolicy{AutoType: gse.AutoResident},
		})
	}
}

func newJOB(by job.Registration, scope job.Scope) func(*bkapi.Client, procapi.Options, map[string]string) fleet.Process {
	return func(api *bkapi.Client, opts procapi.Options, _ map[string]string) fleet.Process {
		client := job.NewClient(api, job.Options{MaxHosts: opts.MaxHosts, Backoff: opts.Backoff, Logger: opts.Logger})
		return client.Process(scope, by, job.Info{
			ProcName: "demo", ProcOwner: new("root"), SetupPath: "/usr/sbin", PIDPath: "/run/demo.pid", ValueKey: new("demo"), Type: new(int64(job.TypeResident)),
			StartCmd: new("./start.sh"), StopCmd: new("./stop.sh"), RestartCmd: new("./restart.sh"),
		})
	}
}

// at is a process behind an endpoint.
func (f face) at(t *testing.T, endpoint string, maxHosts int, labels map[string]string) fleet.Process {
	t.Helper()
	api, err := bkapi.New(bkapi.Config{
		Endpoint: endpoint + f.path, Gateway: f.gateway, AppCode: "bk_test", AppSecret: "s3cret", Username: "admin",
		MaxRetries: 2, RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return f.process(api, procapi.Options{MaxHosts: maxHosts, Backoff: poll.Backoff{First: time.Millisecond}}, labels)
}

// on is the simulator's process on a host.
func (f face) on(sim *simulator.Server, h fleet.Host) simulator.Process {
	process, _ := sim.Process(h.Address(), f.namespace, "demo")
	return process
}

// wantDone fails the test if any host failed.
func wantDone(t *testing.T, what string, results fleet.Results) {
	t.Helper()
	if failures := results.Failures(); len(failures) > 0 {
		t.Fatalf("%s: %v", what, failures)
	}
}

// A process is registered, started, found as declared, reregistered and unregistered, however its hosts
// are named.
func TestFaces_life(t *testing.T) {
	t.Parallel()
	const agentA, agentB = "0200000007525400f355781710390005465c", "02000000075254005d52cc171039000570a1"
	var (
		addresses = []string{"0:10.0.0.1", "0:10.0.0.2", "4:10.0.0.1"}
		set, biz  = job.Scope{Type: "biz_set", ID: "7"}, job.Scope{BizID: new(int64(1))}
		jobBy     = func(by job.Registration, scope job.Scope) face {
			f := faces["job"]
			f.process = newJOB(by, scope)
			return f
		}
	)
	for name, test := range map[string]struct {
		face  face
		hosts []string
		sim   func(*simulator.Server)
		calls map[fleet.Ensure]map[string]int // of a create, if it matters
	}{
		"esb": {faces["esb"], addresses, nil, map[fleet.Ensure]map[string]int{
			fleet.EnsureRegistered: {"register_proc_info": 1, "operate_proc_v2": 2, "get_proc_operate_result_v2": 2},
			fleet.EnsureHosted:     {"register_proc_info": 1, "operate_proc_v2": 3, "get_proc_operate_result_v2": 3},
			fleet.EnsureRunning:    {"register_proc_info": 1, "operate_proc_v2": 3, "get_proc_operate_result_v2": 3},
		}},
		"gateway": {faces["apigw"], []string{agentA, agentB}, nil, map[fleet.Ensure]map[string]int{
			fleet.EnsureRegistered: {"operate_proc_multi": 1, "operate_proc_v2": 2, "get_proc_operate_result_v2": 3},
			fleet.EnsureHosted:     {"operate_proc_multi": 1, "operate_proc_v2": 2, "get_proc_operate_result_v2": 3},
			fleet.EnsureRunning:    {"operate_proc_multi": 1, "operate_proc_v2": 3, "get_proc_operate_result_v2": 4},
		}},
		"gateway-rows-without-host": {faces["apigw"], []string{agentA, agentB}, func(s *simulator.Server) { s.RowsWithoutHost = true }, nil},
		"gateway-addresses":         {faces["apigw"], addresses, nil, nil},
		"gateway-mixed":             {faces["apigw"], []string{agentA, "0:10.0.0.1", agentB, "4:7:10.0.0.1"}, nil, nil},
		"job-scope":                 {faces["job"], addresses, nil, nil},
		"job-biz":                   {jobBy(job.RegisterByOperate, biz), addresses, nil, nil},
		"job-manage-set":            {jobBy(job.RegisterByManage, set), addresses, nil, nil},
		"job-manage-biz":            {jobBy(job.RegisterByManage, biz), addresses, nil, nil},
		"job-hosting-unsaid": {jobBy(job.RegisterByOperate, set), addresses, func(s *simulator.Server) {
			s.Inject(simulator.Fault{API: "operate_process", Op: new(simulator.OpQuery), ContentShape: "no-isauto"})
		}, nil},
	} {
		for _, ensure := range fleet.Ensures() {
			t.Run(name+"/"+string(ensure), func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				sim.AddHost(agentA, agentB)
				if test.sim != nil {
					test.sim(sim)
				}
				want := fleet.Desired{Ensure: ensure, HasSpec: true}
				if test.face.namespace == "demo" {
					want.FingerprintLabel, want.Fingerprint = "tf_spec", "v1-0123456789abcdef"
				}
				p, inventory := test.face.at(t, procapitest.Serve(t, sim), 0, want.AllLabels()), procapitest.Parse(t, test.hosts...)

				created := fleet.NewReconciliation(p, want, fleet.Change{Register: inventory, Order: inventory}).Run(t.Context())
				if wantDone(t, "create", created); len(created) != len(inventory) {
					t.Errorf("got %d results", len(created))
				}
				if test.calls != nil {
					wantCalls(t, sim, test.calls[ensure])
				}
				for _, h := range inventory {
					hosted, running := ensure != fleet.EnsureRegistered || p.HostingRegisters(), ensure == fleet.EnsureRunning
					if got := test.face.on(sim, h); got.Hosted != hosted || got.Running != running || !maps.Equal(got.Labels, want.AllLabels()) {
						t.Errorf("%s: got %+v", h, got)
					}
				}

				sim.ResetCalls()
				report, err := fleet.Inspect(t.Context(), p, inventory, want, nil, nil)
				if err != nil || len(report.Drift) > 0 || len(report.Unreachable) > 0 {
					t.Errorf("got %+v, %v, want no drift", report, err)
				}
				if test.calls != nil {
					wantCalls(t, sim, map[string]int{"get_proc_status_v2": 1})
				}

				wantDone(t, "register again", p.Reregister(t.Context(), inventory))
				wantDone(t, "release", fleet.Release(t.Context(), p, inventory, fleet.DestroyStop, nil, nil))
				for _, h := range inventory {
					if got := test.face.on(sim, h); got.Registered || got.Hosted || got.Running {
						t.Errorf("%s: got %+v, want nothing left", h, got)
					}
				}
			})
		}
	}
}

// wantCalls checks how often each API was called, and no other.
func wantCalls(t *testing.T, sim *simulator.Server, want map[string]int) {
	t.Helper()
	got := make(map[string]int)
	for _, api := range sim.Calls().APIs() {
		got[api]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A start whose answer is lost is sent once. The next run reads the state before it acts.
func TestFaces_lostAnswer(t *testing.T) {
	t.Parallel()
	start := simulator.OpStart
	for name, f := range faces {
		for drop, sent := range map[string]int{"before": 2, "after": 1} {
			t.Run(name+"/"+drop, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				p, two := f.at(t, procapitest.Serve(t, sim), 0, nil), procapitest.Hosts(2)
				sim.Inject(simulator.Fault{API: f.operate, Op: &start, Drop: drop, Times: 1})
				results := fleet.Run(t.Context(), p, fleet.Start, two, nil, fleet.Rollout{})
				for _, h := range two {
					if results[h].Verdict != fleet.Lost {
						t.Errorf("%s: got %+v, want Lost", h, results[h])
					}
				}
				if n := sim.Calls().OfOp(start).Count(f.operate); n != 1 {
					t.Errorf("the start was sent %d times", n)
				}
				wantDone(t, "next run", fleet.Run(t.Context(), p, fleet.Start, two, map[fleet.Host]fleet.Task{two[0]: {}, two[1]: {}}, fleet.Rollout{}))
				if n := sim.Calls().OfOp(start).Count(f.operate); n != sent || !f.on(sim, two[0]).Running || !f.on(sim, two[1]).Running {
					t.Errorf("in all, the start was sent %d times, want %d, and both hosts run", n, sent)
				}
			})
		}
	}
}

// A restart that is still in progress at the deadline reaches each agent once: the next run waits for it.
func TestFaces_stillUnderWay(t *testing.T) {
	t.Parallel()
	restart := simulator.OpRestart
	for name, f := range faces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				late, waits atomic.Int64
				mu          sync.Mutex
				polled      = make(map[string]bool)
			)
			sim := &simulator.Server{Now: func() time.Time { return time.Now().Add(time.Duration(late.Load())) }}
			ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
			sim.OnCall = func(call simulator.Call) {
				if call.API != f.result || call.Op != restart {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if polled[call.TaskID] = true; len(polled) < 2 { // the request for the other host has not been sent yet
					return
				}
				if end(); waits.Add(1) == 10 { // while the next run waits
					late.Store(int64(2 * time.Hour))
				}
			}
			endpoint, two := procapitest.Serve(t, sim), procapitest.Hosts(2)
			p := f.at(t, endpoint, 1, nil)
			wantDone(t, "start", p.Operate(t.Context(), fleet.Start, two, nil))
			sim.Inject(simulator.Fault{Op: &restart, Takes: time.Hour})
			tasks := make(map[fleet.Host]fleet.Task)
			for h, o := range fleet.Run(ctx, p, fleet.Restart, two, nil, fleet.Rollout{}) {
				if tasks[h] = o.Underway; o.Verdict != fleet.Pending || o.Underway.ID == "" {
					t.Fatalf("%s: got %+v", h, o)
				}
			}

			wantDone(t, "next run", fleet.Run(t.Context(), f.at(t, endpoint, 1, nil), fleet.Restart, two, tasks, fleet.Rollout{}))

			restarts := 0
			for _, done := range sim.Executions() {
				if done.Action == "restart" {
					restarts++
				}
			}
			if sent := sim.Calls().OfOp(restart).Count(f.operate); sent != 2 || restarts != 2 {
				t.Errorf("sent %d requests, and %d restarts reached agents, want one for each of two hosts", sent, restarts)
			}
		})
	}
}

// The endpoint refuses connections, so nothing was sent and nothing ran. For no hosts there is no call.
func TestFaces_noConnectionAndNoHosts(t *testing.T) {
	t.Parallel()
	one := procapitest.Hosts(1)
	for name, f := range faces {
		p := f.at(t, procapitest.ClosedEndpoint(t), 0, nil)
		for what, call := range map[string]procapitest.Call{
			"register": procapitest.Register, "reregister": procapitest.Reregister, "unregister": procapitest.Unregister,
			"start": procapitest.Operate(fleet.Start), "host": procapitest.Operate(fleet.Supervise),
			"cached status": procapitest.CachedStatus, "live status": procapitest.LiveStatus,
		} {
			switch made := call(t.Context(), p, one).(type) {
			case error:
			case map[string]fleet.Outcome:
				if got := made[one[0].Address()]; got.Verdict != fleet.Failed || got.Err == nil {
					t.Errorf("%s: %s: got %+v, want a plain failure", name, what, got)
				}
			default:
				t.Errorf("%s: %s: got %+v, want an error", name, what, made)
			}
			if made := call(t.Context(), p, nil); fmt.Sprint(made) != "map[]" {
				t.Errorf("%s: %s of no host: got %v", name, what, made)
			}
		}
	}
}
