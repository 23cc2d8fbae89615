package processoperation_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// sameIDs replaces the ids of tasks and requests by fixed ones.
func sameIDs(text string) string {
	text = regexp.MustCompile(`GSETASK:[^\s,]+`).ReplaceAllString(text, "GSETASK")
	return regexp.MustCompile(`Request: .*`).ReplaceAllString(text, "Request: ID")
}

// Promised in reference: It ends with an error if more hosts failed than
// `rollout.max_failed_hosts` allows.
// Promised in reference: and with a warning if fewer did.
// Promised in reference: The action ends with a warning that names them.
func TestProcessOperationAction(t *testing.T) {
	t.Parallel()
	waves := map[string]any{"rollout": map[string]any{"batch_size": 2}}
	tolerant := map[string]any{"rollout": map[string]any{"batch_size": 2, "max_failed_hosts": 1}}
	late := simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Pending: 1}
	for name, c := range map[string]struct {
		operation string
		hosts     int
		more      map[string]any
		faults    []simulator.Fault
		progress  []string
		end       string
		calls     []string
	}{
		"every-host": {
			operation: "start", hosts: 3,
			progress: []string{
				"start web:nginx: 0/3 done, 0 failed, wave 1/1 (0s)",
				"start web:nginx: 3/3 done, 0 failed, wave 1/1 (0s)",
			},
			calls: []string{providertest.Operated(0, 1, 2, 3)},
		},
		"in-waves": {
			operation: "start", hosts: 3, more: waves, faults: []simulator.Fault{late},
			progress: []string{
				"start web:nginx: 0/3 done, 0 failed, wave 1/2 (0s)",
				"start web:nginx: 1/3 done, 0 failed, wave 1/2 (0s)",
				"start web:nginx: 2/3 done, 0 failed, wave 1/2 (0s)",
				"start web:nginx: 2/3 done, 0 failed, wave 2/2 (0s)",
				"start web:nginx: 3/3 done, 0 failed, wave 2/2 (0s)",
			},
			calls: []string{providertest.Operated(0, 1, 2), providertest.Operated(0, 3)},
		},
		"already-as-wanted": {
			// The status that a stop reads afterwards is not progress.
			operation: "stop", hosts: 2,
			progress: []string{
				"stop web:nginx: 0/2 done, 0 failed, wave 1/1 (0s)",
				"stop web:nginx: 2/2 done, 0 failed, wave 1/1 (0s)",
			},
			calls: []string{providertest.Operated(1, 1, 2)},
		},
		"a-failure-stops-it": {
			operation: "restart", hosts: 5, more: waves,
			faults: []simulator.Fault{broken(2)},
			progress: []string{
				"restart web:nginx: 0/5 done, 0 failed, wave 1/3 (0s)",
				"restart web:nginx: 1/5 done, 1 failed, wave 1/3 (0s)",
			},
			end: `ERROR: Unable to Restart Process

Process "nginx" in namespace "web": restart on 5 hosts: 1 done, 1 failed, 3 not tried.

  web-2 (0:10.0.0.3): 65535, the command failed
      sh: ./restart.sh: not found
  web-3…web-5 (3 hosts): not tried: too many hosts had failed before its wave

Task: GSETASK
Request: ID

Fix the cause and invoke the action again. An action keeps no state: no later plan will show these hosts. To leave the others untouched, name these alone:

  hosts={
    "web-2" = "0:10.0.0.3", "web-3" = "0:10.0.0.4", "web-4" = "0:10.0.0.5", "web-5" = "0:10.0.0.6"
  }`,
			calls: []string{providertest.Operated(7, 1, 2)},
		},
		"tolerated": {
			operation: "restart", hosts: 3, more: tolerant,
			faults: []simulator.Fault{broken(2)},
			progress: []string{
				"restart web:nginx: 0/3 done, 0 failed, wave 1/2 (0s)",
				"restart web:nginx: 1/3 done, 1 failed, wave 1/2 (0s)",
				"restart web:nginx: 1/3 done, 1 failed, wave 2/2 (0s)",
				"restart web:nginx: 2/3 done, 1 failed, wave 2/2 (0s)",
			},
			end: `WARNING: Unable to Restart Process

Process "nginx" in namespace "web": restart on 3 hosts: 2 done, 1 failed.

  web-2 (0:10.0.0.3): 65535, the command failed
      sh: ./restart.sh: not found

Task: GSETASK
Request: ID

That is no more than rollout.max_failed_hosts allows, so the action counts as done. An action keeps no state: no later plan will show these hosts. To invoke it on them alone:

  hosts={
    "web-2" = "0:10.0.0.3"
  }`,
			calls: []string{providertest.Operated(7, 1, 2), providertest.Operated(7, 3)},
		},
		"unreachable": {
			operation: "restart", hosts: 3, more: map[string]any{"rollout": map[string]any{"batch_size": 2}, "max_unreachable_hosts": "34%"},
			faults: []simulator.Fault{{Op: new(simulator.OpRestart), Hosts: []string{providertest.Address(2)}, Unreachable: "117"}},
			progress: []string{
				"restart web:nginx: 0/3 done, 0 failed, wave 1/2 (0s)",
				"restart web:nginx: 1/3 done, 1 failed, wave 1/2 (0s)",
				"restart web:nginx: 1/3 done, 1 failed, wave 2/2 (0s)",
				"restart web:nginx: 2/3 done, 1 failed, wave 2/2 (0s)",
			},
			end: `WARNING: Agents Not Reachable

Process "nginx" in namespace "web": the agents of 1 of 3 hosts do not answer.

  web-2 (0:10.0.0.3): 117, the agent is abnormal or not found

That is no more than max_unreachable_hosts = "34%" allows, so the action counts as done. An action keeps no state: no later plan will show these hosts. To invoke it on them alone:

  hosts={
    "web-2" = "0:10.0.0.3"
  }`,
			calls: []string{providertest.Operated(7, 1, 2), providertest.Operated(7, 3)},
		},
		"more-than-tolerated": {
			operation: "restart", hosts: 2, more: tolerant,
			faults: []simulator.Fault{broken(1), broken(2)},
			progress: []string{
				"restart web:nginx: 0/2 done, 0 failed, wave 1/1 (0s)",
				"restart web:nginx: 0/2 done, 2 failed, wave 1/1 (0s)",
			},
			end: `ERROR: Unable to Restart Process

Process "nginx" in namespace "web": restart on 2 hosts: 0 done, 2 failed.

  web-1, web-2 (2 hosts): 65535, the command failed
      sh: ./restart.sh: not found

Task: GSETASK
Request: ID

Fix the cause and invoke the action again. An action keeps no state: no later plan will show these hosts. To leave the others untouched, name these alone:

  hosts={
    "web-1" = "0:10.0.0.2", "web-2" = "0:10.0.0.3"
  }`,
			calls: []string{providertest.Operated(7, 1, 2)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Registered(t, c.hosts)
			for _, fault := range c.faults {
				sim.Inject(fault)
			}
			config := providertest.Invocation(c.operation, c.hosts, c.more)
			p := sim.Configured(t)
			if said := p.ValidateAction(providertest.ActionType, config) + p.PlanAction(providertest.ActionType, config); said != "" {
				t.Errorf("said before anything ran: %s", said)
			}
			if calls := sim.Calls(); len(calls) > 0 {
				t.Errorf("called before anything ran: %v", calls.APIs())
			}

			progress, end := p.Invoke(t.Context(), providertest.ActionType, config)

			providertest.Same(t, "progress", c.progress, progress)
			providertest.Same(t, "end", c.end, strings.TrimRight(sameIDs(end), "\n"))
			sim.Changed(t, c.calls...)
		})
	}
}

// An operation carries the whole spec, so the platform decides whether to accept hosts that are not
// registered. A refusal is reported host by host, and a stop finds nothing to stop.
func TestProcessOperationAction_notRegistered(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := sim.Configured(t)
	if _, end := p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("stop", 2, nil)); end != "" {
		t.Errorf("a stop ended with %s", end)
	}
	refused := simulator.CodeNotRegistered
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Code: &refused, Message: "process is not registered"})
	_, end := p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 2, nil))
	for _, want := range []string{
		"ERROR: Unable to Restart Process", "restart on 2 hosts: 0 done, 2 failed.",
		"web-1, web-2 (2 hosts): 851", "process is not registered", "Task: GSETASK",
	} {
		if !strings.Contains(end, want) {
			t.Errorf("the end does not say %q:\n%s", want, end)
		}
	}
}

// What cannot work is rejected before anything runs.
func TestProcessOperationAction_refused(t *testing.T) {
	t.Parallel()
	const (
		noReload = `Attribute spec.control.reload_cmd: the operation "reload" runs this command, which is not set.`
		noHost   = "Attribute hosts: there is no host to run the operation on."
		agentID  = "only GSE's API gateway accepts agent ids"
	)
	for name, c := range map[string]struct {
		operation      string
		more           map[string]any
		validate, plan string // parts of the diagnostics
	}{
		"command-missing":   {operation: "reload", validate: noReload, plan: noReload},
		"no-hosts":          {operation: "start", more: map[string]any{"hosts": map[string]string{}}, validate: "Attribute hosts must contain at least one host", plan: noHost},
		"unknown-operation": {operation: "resurrect", validate: "Attribute operation value must be one of"},
		"host-twice":        {operation: "start", more: map[string]any{"hosts": map[string]string{"a": "0:10.0.0.1", "b": "0:0:10.0.0.1"}}, validate: `is the same host as`, plan: "is the same host as"},
		"wave-of-none":      {operation: "start", more: map[string]any{"rollout": map[string]any{"batch_size": 0}}, validate: "Attribute rollout.batch_size value must be at least 1"},
		"odd-pause":         {operation: "start", more: map[string]any{"rollout": map[string]any{"batch_size": 1, "pause": "soon"}}, validate: "Invalid Duration"},
		"agent-id":          {operation: "start", more: map[string]any{"hosts": map[string]string{"a": strings.Repeat("0a", 16)}}, plan: agentID},
		"hosts-not-known":   {operation: "start", more: map[string]any{"hosts": providertest.NotKnown{}}},
		"spec-not-known":    {operation: "reload", more: map[string]any{"spec": providertest.NotKnown{}}},
		"meta-not-known":    {operation: "start", more: map[string]any{"meta": providertest.NotKnown{}, "rollout": providertest.NotKnown{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "agent-id" && providertest.Gateway == "apigw" {
				t.Skip("the API gateway understands agent ids")
			}
			sim := providertest.NewSim(t)
			p := sim.Configured(t)
			config := providertest.Invocation(c.operation, 2, c.more)
			for when, got := range map[string]struct{ said, want string }{
				"validate": {p.ValidateAction(providertest.ActionType, config), c.validate},
				"resource": {p.CoreOf(providertest.ActionType, &providertest.Kept{}).Validate(config).String(), c.validate},
				"plan":     {p.PlanAction(providertest.ActionType, config), c.plan},
			} {
				if (got.want == "") != (got.said == "") || !strings.Contains(got.said, got.want) {
					t.Errorf("%s said %q, want %q", when, got.said, got.want)
				}
			}
			if c.plan != "" {
				if progress, end := p.Invoke(t.Context(), providertest.ActionType, config); len(progress) > 0 || !strings.Contains(end, c.plan) {
					t.Errorf("progress %q, ended with %q", progress, end)
				}
			}
			if calls := sim.Calls(); len(calls) > 0 {
				t.Errorf("called: %v", calls.APIs())
			}
		})
	}
}

// Terraform stops a provider on Ctrl-C: the message says what was done, and the rest does not begin.
//
// Promised in reference: or if it was interrupted.
func TestProcessOperationAction_interrupted(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Registered(t, 4)
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Takes: time.Hour})
	p := sim.Configured(t)
	var (
		progress []string
		end      string
		over     = make(chan struct{})
	)
	go func() {
		defer close(over)
		progress, end = p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 4, map[string]any{"rollout": map[string]any{"batch_size": 2}}))
	}()
	providertest.Eventually(t, "the first wave is asked for", func() bool { return len(sim.Calls().Of("get_proc_operate_result_v2")) > 1 })
	interrupted := time.Now()
	if _, err := p.Server.StopProvider(context.WithoutCancel(t.Context()), nil); err != nil {
		t.Fatal(err)
	}
	if !p.Over.Load() {
		t.Error("the provider counts as stopped before the action reported its end, which Terraform then does not read")
	}
	<-over
	if took := time.Since(interrupted); took > time.Second {
		t.Errorf("ended %s after the interrupt", took)
	}
	if diff := cmp.Diff([]string{
		"restart web:nginx: 0/4 done, 0 failed, wave 1/2 (0s)",
		"restart web:nginx: 1/4 done, 0 failed, wave 1/2 (0s)",
	}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"restart on 4 hosts: 1 done, 1 outcome unknown, 2 not tried.", "web-2 (0:10.0.0.3): interrupted", "web-3, web-4 (2 hosts): not tried: interrupted before its wave",
		"Task: GSETASK", "Where the outcome is not known, the operation may have run",
	} {
		if !strings.Contains(end, want) {
			t.Errorf("the end does not say %q:\n%s", want, end)
		}
	}
}

func TestProcessOperationAction_timeout(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Registered(t, 2)
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Takes: time.Hour})
	_, end := sim.Configured(t).Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 2, map[string]any{"timeouts": map[string]any{"invoke": "2s"}}))
	for _, want := range []string{"restart on 2 hosts: 1 done, 1 outcome unknown.", "web-2 (0:10.0.0.3): no verdict when the time was up"} {
		if !strings.Contains(end, want) {
			t.Errorf("the end does not say %q:\n%s", want, end)
		}
	}
}

// The action over JOB is the same one: only the process's attributes differ.
func TestJobProcessOperationAction(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := sim.Configured(t, map[string]any{"job_endpoint": sim.URL})
	config := map[string]any{
		"bk_biz_id": 2,
		"process":   map[string]any{"proc_name": "nginx", "setup_path": "/srv/web", "pid_path": "/srv/web/nginx.pid", "account": "root", "type": 1, "start_cmd": "./start.sh", "stop_cmd": "./stop.sh"},
		"hosts":     providertest.HostsOf(2),
		"operation": "start",
		"rollout":   map[string]any{"batch_size": 1},
	}
	const name = "bk_job_process_operation"
	if said := p.ValidateAction(name, config) + p.PlanAction(name, config); said != "" {
		t.Errorf("said before anything ran: %s", said)
	}
	progress, end := p.Invoke(t.Context(), name, config)
	if end != "" {
		t.Errorf("it ended with %s", end)
	}
	if diff := cmp.Diff([]string{
		"start biz:2:/srv/web/nginx: 0/2 done, 0 failed, wave 1/2 (0s)",
		"start biz:2:/srv/web/nginx: 1/2 done, 0 failed, wave 1/2 (0s)",
		"start biz:2:/srv/web/nginx: 1/2 done, 0 failed, wave 2/2 (0s)",
		"start biz:2:/srv/web/nginx: 2/2 done, 0 failed, wave 2/2 (0s)",
	}, progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	sim.Changed(t, "operate_process/0 "+providertest.Addresses(1), "operate_process/0 "+providertest.Addresses(2))
	config["operation"] = "reload"
	if said := p.ValidateAction(name, config); !strings.Contains(said, "Attribute process.reload_cmd") {
		t.Errorf("a missing command gives %q", said)
	}
}

// The remaining hosts cannot be set beside a declaration, so the message says what has to replace it.
func TestProcessOperationAction_inOneValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face     providertest.Face
		wrapped  string // the attribute that has everything, "" for the parts
		action   string
		expected string
	}{
		"parts":       {providertest.FaceESB, "", "bk_process_operation", "name these alone:\n\n  hosts={"},
		"process":     {providertest.FaceESB, "process", "bk_process_operation", "name these alone, with meta, hosts and spec in the place of process:\n\n  hosts={"},
		"declaration": {providertest.FaceJOB, "declaration", "bk_job_process_operation", "name these alone, with process, hosts and either scope or bk_biz_id in the place of declaration:\n\n  hosts={"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(simulator.Fault{API: c.face.Target(providertest.OnOperate).API, Code: new(65535)})
			config := c.face.Reference("./start.sh", 2)
			if c.wrapped != "" {
				text, err := json.Marshal(config)
				if err != nil {
					t.Fatal(err)
				}
				config = map[string]any{c.wrapped: string(text)}
			}
			config["operation"] = "start"
			_, end := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).Invoke(t.Context(), c.action, config)
			if !strings.Contains(end, c.expected) {
				t.Errorf("the action ended with %q, want %q", end, c.expected)
			}
		})
	}
}
