package processoperation_test

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// sameIDs replaces the ids of tasks and requests by fixed ones.
func sameIDs(text string) string {
	text = regexp.MustCompile(`GSETASK:[^\s,]+`).ReplaceAllString(text, "GSETASK")
	return regexp.MustCompile(`Request: .*`).ReplaceAllString(text, "Request: ID")
}

func progressOf(operation string, lines ...string) []string {
	for i, line := range lines {
		lines[i] = operation + " web:nginx: " + line + " (0s)"
	}
	return lines
}

// Promised in reference: It ends with an error if more hosts failed than
// `rollout.max_failed_hosts` allows.
// Promised in reference: and with a warning if fewer did.
// Promised in reference: The action ends with a warning that names them.
func TestProcessOperationAction(t *testing.T) {
	t.Parallel()
	const (
		command   = "65535, the command failed\n      sh: ./restart.sh: not found\n"
		ids       = "\nTask: GSETASK\nRequest: ID\n\n"
		keeps     = "An action keeps no state: no later plan will show these hosts. "
		again     = "Fix the cause and invoke the action again. " + keeps + "To leave the others untouched, name these alone:\n\n  hosts={\n    "
		tolerated = " allows, so the action counts as done. " + keeps + "To invoke it on them alone:\n\n  hosts={\n    \"web-2\" = \"0:10.0.0.3\"\n  }"
		about     = "\n\nProcess \"nginx\" in namespace \"web\": "
	)
	waves, tolerant := map[string]any{"batch_size": 2}, map[string]any{"batch_size": 2, "max_failed_hosts": 1}
	oneOfThree := []string{"0/3 done, 0 failed, wave 1/2", "1/3 done, 1 failed, wave 1/2", "1/3 done, 1 failed, wave 2/2", "2/3 done, 1 failed, wave 2/2"}
	late := simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Pending: 1}
	silent := simulator.Fault{Op: new(simulator.OpRestart), Hosts: []string{providertest.Address(2)}, Unreachable: "117"}
	for name, c := range map[string]struct {
		operation string
		hosts     int
		more      map[string]any
		faults    []simulator.Fault
		progress  []string
		end       string
		calls     []string
	}{
		"in-waves": {
			"start", 3, map[string]any{"rollout": waves}, []simulator.Fault{late},
			[]string{"0/3 done, 0 failed, wave 1/2", "1/3 done, 0 failed, wave 1/2", "2/3 done, 0 failed, wave 1/2", "2/3 done, 0 failed, wave 2/2", "3/3 done, 0 failed, wave 2/2"},
			"", []string{providertest.Operated(0, 1, 2), providertest.Operated(0, 3)},
		},
		"already-as-wanted": { // the status that a stop reads afterwards is not progress
			"stop", 2, nil, nil, []string{"0/2 done, 0 failed, wave 1/1", "2/2 done, 0 failed, wave 1/1"}, "", []string{providertest.Operated(1, 1, 2)},
		},
		"a-failure-stops-it": {
			"restart", 5, map[string]any{"rollout": waves}, []simulator.Fault{broken(2)}, []string{"0/5 done, 0 failed, wave 1/3", "1/5 done, 1 failed, wave 1/3"},
			"ERROR: Unable to Restart Process" + about + "restart on 5 hosts: 1 done, 1 failed, 3 not tried.\n\n  web-2 (0:10.0.0.3): " + command +
				"  web-3…web-5 (3 hosts): not tried: too many hosts had failed before its wave\n" + ids + again +
				`"web-2" = "0:10.0.0.3", "web-3" = "0:10.0.0.4", "web-4" = "0:10.0.0.5", "web-5" = "0:10.0.0.6"` + "\n  }",
			[]string{providertest.Operated(7, 1, 2)},
		},
		"tolerated": {
			"restart", 3, map[string]any{"rollout": tolerant}, []simulator.Fault{broken(2)}, oneOfThree,
			"WARNING: Unable to Restart Process" + about + "restart on 3 hosts: 2 done, 1 failed.\n\n  web-2 (0:10.0.0.3): " + command + ids +
				"That is no more than rollout.max_failed_hosts" + tolerated,
			[]string{providertest.Operated(7, 1, 2), providertest.Operated(7, 3)},
		},
		"unreachable": {
			"restart", 3, map[string]any{"rollout": waves, "max_unreachable_hosts": "34%"}, []simulator.Fault{silent}, oneOfThree,
			"WARNING: Agents Not Reachable" + about + "the agents of 1 of 3 hosts do not answer.\n\n  web-2 (0:10.0.0.3): 117, the agent is abnormal or not found\n\n" +
				`That is no more than max_unreachable_hosts = "34%"` + tolerated,
			[]string{providertest.Operated(7, 1, 2), providertest.Operated(7, 3)},
		},
		"unreachable-too-many": { // an action brings no host up to date later
			"restart", 2, nil, []simulator.Fault{silent}, []string{"0/2 done, 0 failed, wave 1/1", "1/2 done, 1 failed, wave 1/1"},
			"ERROR: Unable to Restart Process" + about + "restart on 2 hosts: 1 done, 1 failed.\n\n  web-2 (0:10.0.0.3): 117, the agent is abnormal or not found\n" + ids + again +
				"\"web-2\" = \"0:10.0.0.3\"\n  }\n\nThe agents of 1 host do not answer, and max_unreachable_hosts = \"0\" allows 0. " +
				"With 1 or more, an apply or action goes on without such hosts, and a warning names them.",
			[]string{providertest.Operated(7, 1, 2)},
		},
		"more-than-tolerated": {
			"restart", 2, map[string]any{"rollout": tolerant}, []simulator.Fault{broken(1), broken(2)}, []string{"0/2 done, 0 failed, wave 1/1", "0/2 done, 2 failed, wave 1/1"},
			"ERROR: Unable to Restart Process" + about + "restart on 2 hosts: 0 done, 2 failed.\n\n  web-1, web-2 (2 hosts): " + command + ids + again +
				`"web-1" = "0:10.0.0.2", "web-2" = "0:10.0.0.3"` + "\n  }",
			[]string{providertest.Operated(7, 1, 2)},
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
			providertest.Same(t, "progress", progressOf(c.operation, slices.Clone(c.progress)...), progress)
			providertest.Same(t, "end", c.end, strings.TrimRight(sameIDs(end), "\n"))
			sim.Changed(t, c.calls...)
		})
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
	hosts := func(hosts map[string]string) map[string]any { return map[string]any{"hosts": hosts} }
	labels := func(name string) map[string]any {
		return map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]string{name: "mine"}}}
	}
	rollout := func(rollout map[string]any) map[string]any { return map[string]any{"rollout": rollout} }
	for name, c := range map[string]struct {
		operation      string
		more           map[string]any
		validate, plan string // parts of the diagnostics
	}{
		"command-missing":   {"reload", nil, noReload, noReload},
		"no-hosts":          {"start", hosts(map[string]string{}), "Attribute hosts must contain at least one host", noHost},
		"unknown-operation": {"resurrect", nil, "Attribute operation value must be one of", ""},
		"host-twice":        {"start", hosts(map[string]string{"a": "0:10.0.0.1", "b": "0:0:10.0.0.1"}), `is the same host as`, "is the same host as"},
		"wave-of-none":      {"start", rollout(map[string]any{"batch_size": 0}), "Attribute rollout.batch_size value must be at least 1", ""},
		"odd-pause":         {"start", rollout(map[string]any{"batch_size": 1, "pause": "soon"}), "Invalid Duration", ""},
		"agent-id":          {"start", hosts(map[string]string{"a": strings.Repeat("0a", 16)}), "", agentID},
		"reserved-label":    {"start", labels("tf_spec"), "", `writes the fingerprint of the spec into the label "tf_spec"`},
		"reserved-owner":    {"start", labels("tf_spec_owner"), "", `writes the owner of the registration into the label "tf_spec_owner"`},
		"hosts-not-known":   {"start", map[string]any{"hosts": providertest.NotKnown{}}, "", ""},
		"spec-not-known":    {"reload", map[string]any{"spec": providertest.NotKnown{}}, "", ""},
		"gate-not-known":    {"stop", rollout(map[string]any{"batch_size": 1, "healthy": providertest.NotKnown{}}), "", ""},
		"any-gated":         {"start", map[string]any{"operation": providertest.NotKnown{}, "rollout": map[string]any{"batch_size": 1, "healthy": map[string]any{"stable_for": "9s"}}}, "", ""},
		"meta-not-known":    {"start", map[string]any{"meta": providertest.NotKnown{}, "rollout": providertest.NotKnown{}}, "", ""},
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
			if c.validate == "" {
				if _, said := p.CoreOf(providertest.ActionType, &providertest.Kept{}).Plan(config); (c.plan == "") != (len(said) == 0) || !strings.Contains(said.String(), c.plan) {
					t.Errorf("the plan of a resource said %q, want %q", said, c.plan)
				}
			}
			if c.plan != "" {
				if progress, end := p.Invoke(t.Context(), providertest.ActionType, config); len(progress) > 0 || !strings.Contains(end, cmp.Or(c.validate, c.plan)) {
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
	providertest.Same(t, "progress", progressOf("restart", "0/4 done, 0 failed, wave 1/2", "1/4 done, 0 failed, wave 1/2"), progress)
	providertest.Says(t, end, "restart on 4 hosts: 1 done, 1 outcome unknown, 2 not tried.", "web-2 (0:10.0.0.3): interrupted", "web-3, web-4 (2 hosts): not tried: interrupted before its wave",
		"Task: GSETASK", "Where the outcome is not known, the operation may have run")
}

func TestProcessOperationAction_timeout(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Registered(t, 2)
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Takes: time.Hour})
	_, end := sim.Configured(t).Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 2, map[string]any{"timeouts": map[string]any{"invoke": "2s"}}))
	providertest.Says(t, end, "restart on 2 hosts: 1 done, 1 outcome unknown.", "web-2 (0:10.0.0.3): no verdict when the time was up")
}

// The remaining hosts cannot be set beside a declaration, so the message says what to replace it with.
func TestProcessOperationAction_inOneValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face     providertest.Face
		wrapped  string // the attribute that has everything, or "" for separate attributes
		entry    bool   // it is in processes
		expected string
	}{
		"parts":       {providertest.FaceESB, "", false, "name these alone:\n\n  hosts={"},
		"process":     {providertest.FaceESB, "process", false, "name these alone, with meta, hosts and spec in the place of process:\n\n  hosts={"},
		"declaration": {providertest.FaceJOB, "declaration", false, "name these alone, with process, hosts and either scope or bk_biz_id in the place of declaration:\n\n  hosts={"},
		"entry":       {providertest.FaceESB, "process", true, "name these alone, with meta, hosts and spec in the place of process:\n\n  \"web\":\n  hosts={"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(simulator.Fault{API: c.face.Target(providertest.OnOperate).API, Code: new(65535)})
			config := c.face.Reference("./start.sh", 2)
			if c.wrapped != "" {
				config = map[string]any{c.wrapped: asJSON(t, config)}
			}
			if c.entry {
				config["priority"] = 1
				config = map[string]any{"processes": map[string]any{"web": config}}
			}
			config["operation"] = "start"
			progress, end := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).Invoke(t.Context(), c.face.TypeName(providertest.OnOperate), config)
			providertest.Says(t, end, c.expected)
			if c.face == providertest.FaceESB { // one entry is not several processes
				providertest.Says(t, progress[0], "start web:nginx: 0/2 done")
			}
		})
	}
}
