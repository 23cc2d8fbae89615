package platform_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

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
	namespace string // of the process demo on a host
	path      string // behind the endpoint
	gateway   bkapi.Gateway
	process   func(api *bkapi.Client, opts procapi.Options, labels map[string]string) fleet.Process
}

// faces are all faces, by their names in the simulator.
var faces = map[string]face{
	"esb":   {"demo", "", bkapi.ESB, newGSE(bkapi.ESB)},
	"apigw": {"demo", "/api/bk-gse/prod", bkapi.APIGW, newGSE(bkapi.APIGW)},
	"job":   {"job", "", bkapi.ESB, newJOB(job.RegisterByOperate, job.Scope{Type: "biz", ID: "1"})},
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
func (f face) at(t *testing.T, endpoint string, labels map[string]string) fleet.Process {
	t.Helper()
	api, err := bkapi.New(bkapi.Config{
		Endpoint: endpoint + f.path, Gateway: f.gateway, AppCode: "bk_test", AppSecret: "s3cret", Username: "admin",
		MaxRetries: 2, RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return f.process(api, procapi.Options{Backoff: poll.Backoff{First: time.Millisecond}}, labels)
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
		sim   *simulator.Server
	}{
		"esb":                       {faces["esb"], addresses, &simulator.Server{}},
		"gateway-mixed":             {faces["apigw"], []string{agentA, "0:10.0.0.1", agentB, "4:7:10.0.0.1"}, &simulator.Server{}},
		"gateway-rows-without-host": {faces["apigw"], []string{agentA, agentB}, &simulator.Server{RowsWithoutHost: true}},
		"job-scope":                 {faces["job"], addresses, &simulator.Server{}},
		"job-biz":                   {jobBy(job.RegisterByOperate, biz), addresses, &simulator.Server{}},
		"job-manage-set":            {jobBy(job.RegisterByManage, set), addresses, &simulator.Server{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := test.sim
			sim.AddHost(agentA, agentB)
			endpoint, inventory := procapitest.Serve(t, sim), procapitest.Parse(t, test.hosts...)
			for _, ensure := range fleet.Ensures() {
				want := fleet.Desired{Ensure: ensure, HasSpec: true}
				if test.face.namespace == "demo" {
					want.FingerprintLabel, want.Fingerprint = "tf_spec", "v1-0123456789abcdef"
				}
				p := test.face.at(t, endpoint, want.AllLabels())
				created := fleet.NewReconciliation(p, want, fleet.Change{Register: inventory, Order: inventory}).Run(t.Context())
				if wantDone(t, "create", created); len(created) != len(inventory) {
					t.Errorf("%s: got %d results", ensure, len(created))
				}
				for _, h := range inventory {
					hosted, running := ensure != fleet.EnsureRegistered || p.HostingRegisters(), ensure == fleet.EnsureRunning
					if got := test.face.on(sim, h); got.Hosted != hosted || got.Running != running || !maps.Equal(got.Labels, want.AllLabels()) {
						t.Errorf("%s on %s: got %+v", ensure, h, got)
					}
				}
				report, err := fleet.Inspect(t.Context(), p, inventory, want, nil, nil)
				if err != nil || len(report.Drift) > 0 || len(report.Unreachable) > 0 {
					t.Errorf("%s: got %+v, %v, want no drift", ensure, report, err)
				}
				wantDone(t, "register again", p.Reregister(t.Context(), inventory))
				released, _ := fleet.Release(t.Context(), p, inventory, fleet.DestroyStop, nil, nil)
				wantDone(t, "release", released)
				for _, h := range inventory {
					if got := test.face.on(sim, h); got.Registered || got.Hosted || got.Running {
						t.Errorf("%s on %s: got %+v, want nothing left", ensure, h, got)
					}
				}
			}
		})
	}
}

// The endpoint refuses connections, so nothing was sent and nothing ran. For no hosts there is no call.
func TestFaces_noConnectionAndNoHosts(t *testing.T) {
	t.Parallel()
	one := procapitest.Hosts(1)
	for name, f := range faces {
		p := f.at(t, procapitest.ClosedEndpoint(t), nil)
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
