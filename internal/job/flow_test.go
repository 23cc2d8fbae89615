package job

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// resident is the process of the samples as a permanent one.
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

// The client reads through JOB what agents host, or says why not.
func TestFlow_hostedFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  string // in Why, "" if it is read
	}{
		"at once":         {},
		"slow":            {simulator.Fault{Pending: 3}, ""},
		"queued":          {simulator.Fault{Queued: 2}, ""},
		"left out":        {simulator.Fault{Missing: -1}, "JOB did not run the script to its end"},
		"away":            {simulator.Fault{Unreachable: "117"}, "the agent is abnormal or not found"},
		"agent restarted": {simulator.Fault{Pending: 1, ScriptStatus: 6}, "JOB did not run the script to its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p := simProcess(t, sim, scope, RegisterByOperate)
			hosts := hosts(3)
			if failures := p.Register(t.Context(), hosts).Failures(); len(failures) > 0 {
				t.Fatal(failures)
			}
			c.fault.API, c.fault.Hosts = apiRunScript, []string{hosts[1].Address()}
			sim.Inject(c.fault)
			readings := HostedFiles{Client: p.client, Scope: scope}.ReadHosted(t.Context(), hosts, false)
			for i, h := range hosts {
				got := readings[h]
				if failed := i == 1 && c.want != ""; failed != (got.Why != "") || failed && !strings.Contains(got.Why, c.want) || !failed && (len(got.Entries) != 1 || got.Entries[0].ProcName != p.info.ProcName) {
					t.Errorf("%s: got %+v", h, got)
				}
			}
		})
	}
}

// The drift on host 2, as far as its agent shows it, and its repair.
func TestFlow_drift(t *testing.T) {
	t.Parallel()
	const start, host3 = simulator.OpStart, simulator.OpHost
	var (
		nothing = func(*simulator.Server, string) error { return nil }
		unhost  = func(s *simulator.Server, at string) error { return s.Unhost(at, "job", "key_test") }
		kill    = func(s *simulator.Server, at string) error { return s.KillProcess(at, "job", "key_test") }
		both    = func(s *simulator.Server, at string) error { return errors.Join(unhost(s, at), kill(s, at)) }
	)
	for name, test := range map[string]struct {
		ensure  fleet.Ensure
		shape   string // of the agents' answers
		disturb func(*simulator.Server, string) error
		drift   fleet.Code
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
	} {
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

// Unusual answers of JOB change nothing.
func TestFlow_odd(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
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
	} {
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

// A server with the bug of manage_proc stops the process on registering, queries it on unregistering, and
// reports success for both. The provider believes neither; operation 3 repairs what the first one did.
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

// Promised in beliefs.md: The `bk_job_*` objects fail.
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
