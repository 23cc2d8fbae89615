package processoperation

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func inventoryOf(t *testing.T, addresses map[string]string) fleet.Inventory {
	t.Helper()
	inventory, faults := fleet.NewInventory(maps.All(addresses), 0)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return inventory
}

// only returns the process of an object that has only one.
func only(hosts fleet.Inventory) member {
	return member{Target: reference.Target{ID: "web:nginx", Title: diagnose.ProcessTitle("web", "nginx"), Hosts: hosts}}
}

// same compares got with want.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// An operation that worked counts only for the host's current spec, even if another entry has the same process.
func TestDoubt_asDeclared(t *testing.T) {
	t.Parallel()
	entry := func(spec string, addresses map[string]string) member {
		m := only(inventoryOf(t, addresses))
		m.Desired.Spec = spec
		return m
	}
	members := []member{entry("old", map[string]string{"a": "0:10.0.0.1"}), entry("new", map[string]string{"b": "0:10.0.0.2"})}
	for name, c := range map[string]struct {
		address, watched string
		kept             bool
	}{
		"as-declared":           {"0:10.0.0.1", "old", true},
		"as-declared-elsewhere": {"0:10.0.0.1", "new", false},
		"second-as-declared":    {"0:10.0.0.2", "new", true},
		"second-otherwise":      {"0:10.0.0.2", "old", false},
		"nowhere":               {"0:10.0.0.1", "older", false},
		"not-watched":           {"0:10.0.0.1", "", true},
		"by-another-name":       {"0200000007525400f355781710390005465c", "old", true},
		"by-another-name-older": {"0200000007525400f355781710390005465c", "older", false},
	} {
		rest := doubt{"web:nginx": {c.address: {Watched: c.watched}}}.asDeclared(members)
		if _, kept := rest["web:nginx"][c.address]; kept != c.kept {
			t.Errorf("%s: kept %t, want %t", name, kept, c.kept)
		}
	}
}

// Codes decide which hosts run the operation, and which agents are asked first. The text with a code may be anything.
func TestChange_due(t *testing.T) {
	t.Parallel()
	prior := map[string]string{"a": "0:10.0.0.1", "b": "0:10.0.0.2", "c": "0:10.0.0.3"}
	type want struct{ Due, Unsure []string }
	for name, c := range map[string]struct {
		everywhere bool
		next       map[string]string
		failed     map[string]fleet.Code
		want       want
	}{
		"nothing":            {next: prior},
		"everywhere":         {everywhere: true, next: prior, failed: map[string]fleet.Code{"b": diagnose.OutcomeUnknown}, want: want{Due: []string{"a", "b", "c"}}},
		"added":              {next: map[string]string{"a": "0:10.0.0.1", "d": "0:10.0.0.4"}, want: want{Due: []string{"d"}}},
		"other-key":          {next: map[string]string{"z": "0:10.0.0.1"}},
		"failed":             {next: prior, failed: map[string]fleet.Code{"b": diagnose.Failed}, want: want{Due: []string{"b"}}},
		"not-tried":          {next: prior, failed: map[string]fleet.Code{"b": diagnose.NotTried}, want: want{Due: []string{"b"}}},
		"unknown":            {next: prior, failed: map[string]fleet.Code{"b": diagnose.OutcomeUnknown}, want: want{[]string{"b"}, []string{"b"}}},
		"no-verdict":         {next: prior, failed: map[string]fleet.Code{"b": diagnose.NoVerdict}, want: want{[]string{"b"}, []string{"b"}}},
		"interrupted":        {next: prior, failed: map[string]fleet.Code{"b": diagnose.Interrupted}, want: want{[]string{"b"}, []string{"b"}}},
		"failed-and-left":    {next: map[string]string{"a": "0:10.0.0.1"}, failed: map[string]fleet.Code{"b": diagnose.Failed}},
		"failed-and-respelt": {next: map[string]string{"b": "0:7:10.0.0.2"}, failed: map[string]fleet.Code{"b": diagnose.Interrupted}, want: want{[]string{"b"}, []string{"b"}}},
	} {
		for _, text := range []string{"", "x", "interrupted", "failed: x"} {
			t.Run(name+"/"+text, func(t *testing.T) {
				t.Parallel()
				kept := make(map[string]string)
				for key, code := range c.failed {
					kept[key] = diagnose.HostStatus{Code: code, Text: text}.String()
				}
				next := inventoryOf(t, c.next)
				change := newChange([]member{only(next)}, []member{only(inventoryOf(t, prior))}, kept)
				change.everywhere = c.everywhere
				due := change.due()[0]
				var got want
				for _, host := range due.hosts {
					key := next.Key(host)
					got.Due = append(got.Due, key)
					if _, unsure := due.unsure[host]; unsure {
						got.Unsure = append(got.Unsure, key)
					}
				}
				same(t, "hosts", c.want, got)
				retries := len(c.failed) > 0 && name != "failed-and-left"
				if change.retries() != retries {
					t.Errorf("retries: %t, want %t", !retries, retries)
				}
			})
		}
	}
}

// nameless is a platform that knows no other names of its hosts.
type nameless struct{ fleet.Process }

func (nameless) OtherNames(context.Context, []fleet.Host) (map[fleet.Host]fleet.HostID, error) {
	return nil, nil
}

// Hosts that get other names, and of which the platform says nothing, cost memory by their number, and not by its
// square. Each of those that left may be each of those that joined.
func TestChange_findRenamedUnclear(t *testing.T) { //nolint:paralleltest // it counts allocations
	const n = 1000
	addresses, agents := make(map[string]string, n), make(map[string]string, n)
	for i := range n {
		key := fmt.Sprintf("web-%d", i)
		addresses[key], agents[key] = fmt.Sprintf("0:10.0.%d.%d", i/250, i%250), fmt.Sprintf("020000000752540%021d", i)
	}
	next := only(inventoryOf(t, agents))
	next.Process = nameless{}
	change := newChange([]member{next}, []member{only(inventoryOf(t, addresses))}, nil)
	var unclear map[fleet.HostID][]fleet.Host
	allocated := testing.AllocsPerRun(1, func() { unclear, _ = change.findRenamed(t.Context(), change.next) })
	if allocated > n {
		t.Errorf("%g allocations", allocated)
	}
	joined := next.Hosts.Hosts()
	for host, came := range unclear {
		same(t, "may be "+host.Address(), len(joined), len(came))
	}
	same(t, "unclear", n, len(unclear))
}

// Doubt about a host is kept until its task has a verdict, also while the host is not tried.
func TestDoubtOf(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 1)
	o, task := operation{members: []member{only(inventory)}, name: fleet.Restart}, fleet.Task{ID: "T", Operation: fleet.Restart, As: "0:10.0.0.8"}
	known := []duty{{unsure: map[fleet.Host]inDoubt{hosts[0]: {Task: task}}}}
	for name, c := range map[string]struct {
		outcome fleet.Outcome
		before  []duty
		want    fleet.Task
	}{
		"done":              {fleet.Outcome{}, known, fleet.Task{}},
		"failed":            {fleet.Outcome{Verdict: fleet.Failed}, known, fleet.Task{}},
		"not-tried":         {fleet.Outcome{Verdict: fleet.NotTried}, known, task},
		"not-tried-at-all":  {fleet.Outcome{Verdict: fleet.NotTried}, []duty{{}}, fleet.Task{}},
		"under-way":         {fleet.Outcome{Verdict: fleet.Pending, Underway: task}, []duty{{}}, task},
		"watched-when-over": {fleet.Outcome{Verdict: fleet.Pending, Left: fleet.Unhealthy, TaskID: "U"}, known, fleet.Task{ID: "U", Operation: fleet.Restart}},
		"watched-again":     {fleet.Outcome{Verdict: fleet.Pending, Left: fleet.Unhealthy, TaskID: "T"}, known, task}, // with the name that it was sent to
	} {
		if got := newDoubt(o, c.before, outcome{{hosts[0]: c.outcome}})["web:nginx"][hosts[0].WithoutSupplier().Address()]; got.Task != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

// Promised in rolling-restart.md: The apply ends with an error that counts separately the hosts that failed, those
// whose outcome is unknown and those that were not tried.
func TestRunFailed(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 2)
	o := operation{members: []member{only(inventory)}, name: fleet.Restart}
	got := runFailed(o, outcome{{hosts[1]: {}, hosts[0]: {
		Verdict: fleet.Failed, Code: 65535, Meaning: "the command failed", Message: "sh: ./restart.sh: not found", TaskID: "GSETASK:7", RequestID: "r7",
	}}}, diagnose.RetriedAlone, o.applied())
	if got.Summary() != "Unable to Restart Process" {
		t.Errorf("summary %q", got.Summary())
	}
	want := `Process "nginx" in namespace "web": restart on 2 hosts: 1 done, 1 failed.

  h01 (0:10.0.0.1): 65535, the command failed
      sh: ./restart.sh: not found

Task: GSETASK:7
Request: r7

Fix the cause and apply again: only these hosts are called.`
	same(t, "detail", want, got.Detail())
}

// What the next run does if the outcome is unknown depends on the operation. Only one paragraph mentions it.
func TestOperation_failed_doubt(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 1)
	const doubt = "\n\nTime ran out. Where the outcome is not known, the operation may have run, or may still run. It is never sent again within the same run; " +
		"the status data source reports how the process is now."
	const slow = " If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout.\n\n"
	for name, c := range map[string]struct {
		operation fleet.Operation
		again     func(operation) string
		want      string
	}{
		"restart": {fleet.Restart, operation.applied, " The next apply asks the platform there first, and runs the restart again where it failed or nothing is known of it. If the platform never reports the outcome, changing triggers runs it anew on every host."},
		"reload":  {fleet.Reload, operation.applied, " The next apply asks the platform there first, and runs the reload again where it failed or nothing is known of it. If the platform never reports the outcome, changing triggers runs it anew on every host."},
		"start":   {fleet.Start, operation.applied, " The next apply asks the platform and the agent there first, and acts only where it must. If the platform never reports the outcome, changing triggers runs it anew on every host."},
		"kill":    {fleet.Kill, operation.applied, " The next apply asks the platform and the agent there first, and acts only where it must. If the platform never reports the outcome, changing triggers runs it anew on every host."},
		"destroy": {fleet.Stop, operation.destroyed, " The next destroy runs the stop there again, unless the platform says that it has worked."},
		"action":  {fleet.Stop, func(operation) string { return "" }, ""},
	} {
		o := operation{members: []member{only(inventory)}, name: c.operation}
		got := o.failed(outcome{{hosts[0]: {Verdict: fleet.Pending, Code: 115, Err: context.DeadlineExceeded}}}, c.again(o))
		if want := doubt + c.want + slow; !strings.HasSuffix(got, want) {
			t.Errorf("%s: said %q, which does not end with %q", name, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	type step struct {
		after  time.Duration
		latest fleet.Progress
	}
	wave := func(n, done, failed int) fleet.Progress {
		return fleet.Progress{Wave: n, Waves: 10, Hosts: 1000, Done: done, Failed: failed}
	}
	for name, c := range map[string]struct {
		steps []step
		last  time.Duration // between the last update and the end
		want  []string      // messages, with the second at which each was sent
	}{
		"nothing-happened": {last: 2 * time.Minute},
		"on-change": {
			steps: []step{{0, wave(1, 0, 0)}, {2 * time.Second, wave(1, 90, 1)}, {68 * time.Second, wave(9, 812, 3)}},
			want: []string{
				"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)",
				"2 restart web:nginx: 90/1000 done, 1 failed, wave 1/10 (2s)",
				"32 restart web:nginx: 90/1000 done, 1 failed, wave 1/10 (32s)",
				"62 restart web:nginx: 90/1000 done, 1 failed, wave 1/10 (1m2s)",
				"70 restart web:nginx: 812/1000 done, 3 failed, wave 9/10 (1m10s)",
			},
		},
		"silence": {
			steps: []step{{0, wave(1, 0, 0)}}, last: 65 * time.Second,
			want: []string{
				"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)",
				"30 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (30s)",
				"60 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (1m0s)",
			},
		},
		"a-burst-is-one-message": {
			steps: []step{{0, wave(1, 0, 0)}, {10 * time.Millisecond, wave(1, 1, 0)}, {10 * time.Millisecond, wave(1, 2, 0)}, {10 * time.Millisecond, wave(1, 3, 0)}},
			last:  5 * time.Second,
			want:  []string{"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)", "1 restart web:nginx: 3/1000 done, 0 failed, wave 1/10 (1s)"},
		},
		"unknown-is-not-failed": {
			steps: []step{{0, fleet.Progress{Wave: 10, Waves: 10, Hosts: 1000, Done: 997, Failed: 1, Unknown: 2}}},
			want:  []string{"0 restart web:nginx: 997/1000 done, 1 failed, 2 outcome unknown, wave 10/10 (0s)"},
		},
		"waits-at-the-gate": {
			steps: []step{{0, fleet.Progress{Wave: 9, Waves: 10, Hosts: 1000, Done: 800, Unknown: 2, Watched: 12}}},
			want:  []string{"0 restart web:nginx: 800/1000 done, 0 failed, 2 outcome unknown, waiting for 12 to be stable, wave 9/10 (0s)"},
		},
		"the-end-waits-for-nothing": {
			steps: []step{{0, wave(1, 0, 0)}, {10 * time.Millisecond, wave(10, 1000, 0)}},
			want:  []string{"0 restart web:nginx: 0/1000 done, 0 failed, wave 1/10 (0s)", "0 restart web:nginx: 1000/1000 done, 0 failed, wave 10/10 (0s)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					got   []string
					began = time.Now()
				)
				p := newProgress(platform.DefaultPace, "restart web:nginx", func(message string) {
					got = append(got, fmt.Sprintf("%d %s", int(time.Since(began).Seconds()), message))
				})
				for _, s := range c.steps {
					<-time.After(s.after)
					p.update(s.latest)
				}
				<-time.After(c.last)
				p.stop()
				sent := len(got)
				<-time.After(time.Hour)
				if len(got) != sent {
					t.Errorf("sent after the end: %q", got[sent:])
				}
				same(t, "messages", c.want, got)
			})
		})
	}
}

// A wave of on_destroy has the time that on_destroy needs, not that of operation.
func TestOpenFor_waveTimeout(t *testing.T) {
	t.Parallel()
	model := new(gseResourceModel)
	model.Process = types.StringValue(`{"meta": {"namespace": "web", "name": "nginx"}, "hosts": {"a": "0:10.0.0.1", "b": "0:10.0.0.2"}, "spec": {
		"identity": {"proc_name": "nginx", "setup_path": "/srv", "pid_path": "/srv/pid", "user": "root"}, "control": {"start_cmd": "a", "stop_cmd": "b"},
		"monitor_policy": {"auto_type": 1, "op_timeout": 60, "start_check_secs": 300}}}`)
	model.Operation, model.OnDestroy = types.StringValue("stop"), types.StringValue("start")
	model.Rollout = rolloutInWaves()
	for operation, want := range map[fleet.Operation]time.Duration{fleet.Stop: 3 * time.Minute, fleet.Start: 8 * time.Minute} {
		var diags diag.Diagnostics
		o := openFor(t.Context(), &platform.Platform{GSE: new(gse.Client)}, model, operation, operation.Order(), &diags)
		if diags.HasError() || o.rollout.WaveTimeout != want {
			t.Errorf("a wave of %s has %s, want %s; said %v", operation, o.rollout.WaveTimeout, want, diags)
		}
	}
}

// rolloutInWaves is a rollout that sets only batch_size.
func rolloutInWaves() types.Object {
	list, gate := types.ListType{ElemType: types.StringType}, types.ObjectType{AttrTypes: map[string]attr.Type{"stable_for": types.StringType, "within": types.StringType, "output": types.StringType}}
	return types.ObjectValueMust(map[string]attr.Type{
		"waves": list, "canary": list, "batch_size": types.Int64Type, "pause": types.StringType, "wave_timeout": types.StringType, "max_failed_hosts": types.StringType,
		"healthy": gate, "on_failure": types.StringType,
	}, map[string]attr.Value{
		"waves": types.ListNull(types.StringType), "canary": types.ListNull(types.StringType), "batch_size": types.Int64Value(1), "pause": types.StringNull(),
		"wave_timeout": types.StringNull(), "max_failed_hosts": types.StringNull(), "healthy": types.ObjectNull(gate.AttrTypes), "on_failure": types.StringNull(),
	})
}
