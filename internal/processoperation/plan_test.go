package processoperation_test

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The plan says what will run and on which hosts, and the next plan is empty.
//
// Promised in reference: One wave by default
// Promised in reference: By default all hosts go at once
// Promised in reference: No gate by default.
func TestProcessOperation_rolloutPlan(t *testing.T) {
	t.Parallel()
	const unknown = "(known after apply)"
	for name, c := range map[string]struct {
		before map[string]any // nil: the resource is created
		after  map[string]any
		want   string
		// applied is the rollout_plan in state at the end, if the plan could not know it.
		applied string
	}{
		"created":               {nil, nil, "run 1: restart on 4 hosts: web-1…web-4", ""},
		"created-in-waves":      {nil, map[string]any{"rollout": map[string]any{"batch_size": 3}}, "run 1: restart on 4 hosts in 2 waves of 3: web-1…web-4", ""},
		"created-in-one-wave":   {nil, map[string]any{"rollout": map[string]any{"batch_size": 4}}, "run 1: restart on 4 hosts: web-1…web-4", ""},
		"created-in-sizes":      {nil, map[string]any{"rollout": map[string]any{"waves": []string{"1", "50%"}}}, "run 1: restart on 4 hosts in 3 waves of 1, 2, 1: web-1…web-4", ""},
		"created-with-canary":   {nil, map[string]any{"rollout": map[string]any{"canary": []string{"web-4"}, "waves": []string{"100%"}}}, "run 1: restart on 4 hosts in 2 waves of 1, 3: web-1…web-4", ""},
		"created-not-run":       {nil, map[string]any{"run_on_create": false}, "runs nothing", ""},
		"one-host":              {nil, map[string]any{"hosts": providertest.HostsOf(1)}, "run 1: restart on 1 host: web-1", ""},
		"trigger":               {map[string]any{}, map[string]any{"triggers": map[string]string{"config": "b"}}, "run 2: restart on 4 hosts: web-1…web-4", ""},
		"trigger-after-not-run": {map[string]any{"run_on_create": false}, map[string]any{"triggers": map[string]string{"config": "b"}}, "run 1: restart on 4 hosts: web-1…web-4", ""},
		"operation":             {map[string]any{}, map[string]any{"operation": "reload"}, "run 2: reload on 4 hosts: web-1…web-4", ""},
		"added":                 {map[string]any{"hosts": providertest.HostsOf(2)}, nil, "run 2: restart on 2 hosts: web-3, web-4", ""},
		"removed":               {map[string]any{}, map[string]any{"hosts": providertest.HostsOf(2)}, "runs nothing", ""},
		"spec":                  {map[string]any{}, map[string]any{"spec": providertest.WholeSpec("./other.sh")}, "runs nothing", ""},
		"unknown-hosts":         {nil, map[string]any{"hosts": providertest.NotKnown{}}, unknown, "run 1: restart on 4 hosts: web-1…web-4"},
		"unknown-rollout":       {nil, map[string]any{"rollout": providertest.NotKnown{}}, unknown, "run 1: restart on 4 hosts: web-1…web-4"},
		"unknown-whether":       {nil, map[string]any{"run_on_create": providertest.NotKnown{}}, unknown, "run 1: restart on 4 hosts: web-1…web-4"},
		"unknown-hosts-later":   {map[string]any{"hosts": providertest.HostsOf(3)}, map[string]any{"hosts": providertest.NotKnown{}}, unknown, "run 2: restart on 1 host: web-4"},
		"unknown-trigger":       {map[string]any{}, map[string]any{"triggers": providertest.NotKnown{}}, unknown, "run 1: restart on 4 hosts: web-1…web-4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, convert := range map[string]func(*testing.T, map[string]any) map[string]any{
				"parts": asParts, "process": asProcess,
			} {
				_, resource := registered(t, providertest.FaceESB, 4)
				config := func(more map[string]any) map[string]any {
					whole := restartConfig(providertest.FaceESB, 4, more)
					if _, known := whole["hosts"].(map[string]string); !known {
						return whole
					}
					return convert(t, whole)
				}
				if c.before != nil {
					resource.Applied(config(c.before))
				}
				plan, said := resource.Plan(config(c.after))
				if len(said) > 0 {
					t.Fatalf("%s: %s", form, said)
				}
				got := unknown
				if value := plan.Planned(t)["rollout_plan"]; value.IsKnown() {
					got, _ = providertest.Plain(t, value).(string)
				}
				if got != c.want {
					t.Errorf("%s: planned %q, want %q", form, got, c.want)
				}
				// Terraform plans again during an apply, when all values are known.
				resolved := maps.Clone(c.after)
				maps.DeleteFunc(resolved, func(_ string, value any) bool { return value == providertest.NotKnown{} })
				if c.applied != "" || len(resolved) == len(c.after) {
					resource.Applied(config(resolved))
					providertest.Same(t, form+": applied", any(cmp.Or(c.applied, c.want)), resource.Attribute("rollout_plan"))
				}
				if again, said := resource.Plan(config(resolved)); again.Action != providertest.PlanNothing && len(resolved) == len(c.after) {
					t.Errorf("%s: the plan after it: %s %s", form, again.Action, said)
				}
			}
		})
	}
}

// The apply finds out whether a joining host is one that left, so the plan does not say on which hosts it runs.
func TestProcessOperation_rolloutPlanOfRenamedHosts(t *testing.T) {
	t.Parallel()
	sim, resource := registered(t, providertest.FaceGateway, 2)
	sim.AddAgent(agentID, "0:10.0.0.2")
	resource.Applied(restartOn(providertest.FaceGateway, map[string]string{"a": "0:10.0.0.2"}))
	config := restartOn(providertest.FaceGateway, map[string]string{"a": agentID})
	plan, said := resource.Plan(config)
	if value := plan.Planned(t)["rollout_plan"]; value.IsKnown() || len(said) > 0 {
		t.Errorf("planned %s: %s", value, said)
	}
	resource.Applied(config)
	providertest.Same(t, "rollout_plan", any("runs nothing"), resource.Attribute("rollout_plan"))
}

// With run_on_create = false a create makes no call and is not retried, and hosts that join are recorded.
// Later changes run on the others as usual.
func TestProcessOperation_runOnCreate(t *testing.T) {
	t.Parallel()
	three, again, all := providertest.HostsOf(3), map[string]string{"config": "b"}, []string{providertest.Operated(7, 1, 2)}
	for name, c := range map[string]struct {
		create any
		more   map[string]any
		first  []string // calls of the create
		want   []string // calls of the change
	}{
		"not-set":             {nil, nil, all, nil},
		"true":                {true, nil, all, nil},
		"false":               {false, nil, nil, nil},
		"then-trigger":        {false, map[string]any{"triggers": again}, nil, all},
		"then-added":          {false, map[string]any{"hosts": three}, nil, nil},
		"then-both":           {false, map[string]any{"hosts": three, "triggers": again}, nil, all},
		"then-renamed":        {false, map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx2"}}, nil, nil},
		"then-added-and-true": {false, map[string]any{"hosts": three, "run_on_create": true}, nil, []string{providertest.Operated(7, 3)}},
		"then-true":           {false, map[string]any{"run_on_create": true}, nil, nil},
		"then-restored":       {false, map[string]any{"triggers": map[string]string{"config": "a"}}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, resource := registered(t, providertest.FaceESB, 3)
			sim.ResetCalls()
			config := restartConfig(providertest.FaceESB, 2, map[string]any{"run_on_create": c.create, "triggers": map[string]string{"config": "a"}})
			resource.Applied(config)
			sim.Changed(t, c.first...)
			resource.Settled(config)
			sim.ResetCalls()
			maps.Copy(config, c.more)
			resource.Applied(config)
			sim.Changed(t, c.want...)
		})
	}
}

// The plan of a destroy says what on_destroy runs, on which hosts and in which waves.
func TestProcessOperation_planOfDestroy(t *testing.T) {
	t.Parallel()
	stops := map[string]any{"on_destroy": "stop", "run_on_create": false, "rollout": map[string]any{"batch_size": 1}}
	for name, c := range map[string]struct {
		config map[string]any
		want   string
	}{
		"nothing": {restartConfig(providertest.FaceESB, 2, map[string]any{"run_on_create": false}), ""},
		"stop":    {restartConfig(providertest.FaceESB, 2, stops), "web:nginx: the destroy of this operation runs: stop on 2 hosts in 2 waves of 1: web-1, web-2 To run nothing, take on_destroy out"},
		"long": {
			restartConfig(providertest.FaceESB, 0, map[string]any{"on_destroy": "stop", "run_on_create": false, "hosts": map[string]string{
				"one-long-name-of-a-host": "0:10.0.0.1", "two-long-names-of-a-host": "0:10.0.0.2", "three-long-names-of-a-host": "0:10.0.0.3", "four-long-names-of-a-host": "0:10.0.0.4",
			}}),
			"web:nginx: the destroy of this operation runs: stop on 4 hosts: four-long-names-of-a-host, one-long-name-of-a-host, three-long-names-of-a-host, two-long-names-of-a-host To",
		},
		"several": {operation("start", stack(), stops), "runs: stop priority 5, log, web, on 3 hosts in 3 waves of 1: web-1…web-3 then priority 1, db, on 2 hosts in 2 waves of 1: web-1, web-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource := operationOf(t, providertest.NewSim(t), providertest.FaceESB)
			resource.Applied(c.config)
			if _, said := resource.Plan(nil); said.Failed() || (len(said) > 0) != (c.want != "") || !strings.Contains(strings.Join(strings.Fields(said.String()), " "), c.want) {
				t.Errorf("said: %s", said)
			}
		})
	}
}

// A destroy that failed on a host keeps that host in the process, and continues with it later.
func TestProcessOperation_processOfAFailedDestroy(t *testing.T) {
	t.Parallel()
	sim, resource := registered(t, providertest.FaceESB, 3)
	resource.Applied(asProcess(t, restartConfig(providertest.FaceESB, 3, map[string]any{"on_destroy": "stop", "run_on_create": false})))
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Unreachable: "117"})
	if _, said := resource.Apply(nil); !said.Failed() {
		t.Fatal("the destroy did not fail")
	}
	process, _ := resource.Attribute("process").(string)
	providertest.Same(t, "hosts in state", map[string]string{"web-2": providertest.Address(2)}, providertest.Texts(fromJSON(t, process)["hosts"]))
	sim.Repair()
	sim.ResetCalls()
	resource.Destroyed()
	sim.Changed(t, providertest.Operated(1, 2))
}

// A plan that takes down more than a hundred hosts at once brings a warning, unless waves are set.
func TestProcessOperation_manyAtOnce(t *testing.T) {
	t.Parallel()
	waves := func(size any) map[string]any { return map[string]any{"rollout": map[string]any{"batch_size": size}} }
	for name, c := range map[string]struct {
		operation string
		hosts     int
		more      map[string]any
		warns     bool
	}{
		"restart":       {"restart", 101, nil, true},
		"stop":          {"stop", 101, nil, true},
		"kill":          {"kill", 101, nil, true},
		"start":         {"start", 101, nil, false},
		"reload":        {"reload", 101, nil, false},
		"hundred":       {"restart", 100, nil, false},
		"waves":         {"restart", 101, waves(10), false},
		"all-at-once":   {"restart", 101, waves(101), false},
		"unknown-waves": {"restart", 101, waves(providertest.NotKnown{}), false},
		"no-waves":      {"restart", 101, waves(nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := providertest.NewSim(t).Configured(t)
			config := restartConfig(providertest.FaceESB, 0, map[string]any{"hosts": manyHosts(c.hosts), "operation": c.operation})
			maps.Copy(config, c.more)
			planned := func(config map[string]any) string {
				_, said := p.CoreOf(providertest.ActionType, &providertest.Kept{}).Plan(config)
				return said.String()
			}
			for on, text := range map[string]string{
				"resource": planned(config), "process": planned(asProcess(t, config)), "action": p.PlanAction(providertest.ActionType, config),
			} {
				warned := strings.Contains(text, c.operation+" goes to "+fmt.Sprint(c.hosts)+" hosts at the same time: web-001…web-")
				if warned != c.warns || strings.Contains(text, "ERROR") {
					t.Errorf("%s: %q", on, text)
				}
			}
		})
	}
}

// The hosts on which it runs now count. A change that runs on few or none does not warn, and a destroy
// does if it stops the process.
//
// Promised in rolling-restart.md: A plan that stops, restarts or kills a process on more than
// 100 hosts at once brings a warning.
func TestProcessOperation_manyAtOnceLater(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after map[string]any // a nil after is a destroy
		warns         bool
	}{
		"created-not-run": {nil, map[string]any{"run_on_create": false}, false},
		"trigger":         {map[string]any{"run_on_create": false}, map[string]any{"triggers": map[string]string{"n": "2"}}, true},
		"added":           {map[string]any{"run_on_create": false, "hosts": manyHosts(90)}, map[string]any{"run_on_create": true}, false},
		"many-added":      {map[string]any{"run_on_create": false, "hosts": manyHosts(10)}, map[string]any{"run_on_create": true}, true},
		"many-recorded":   {map[string]any{"run_on_create": false, "hosts": manyHosts(10)}, map[string]any{}, false},
		"destroy":         {map[string]any{"run_on_create": false}, nil, false},
		"destroy-stops":   {map[string]any{"run_on_create": false, "on_destroy": "stop"}, nil, true},
		"destroy-waves":   {map[string]any{"run_on_create": false, "on_destroy": "stop", "rollout": map[string]any{"batch_size": 9}}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := operationOf(t, sim, providertest.FaceESB)
			config := restartConfig(providertest.FaceESB, 0, map[string]any{"hosts": manyHosts(120)})
			if c.before != nil {
				maps.Copy(config, c.before)
				resource.Applied(config)
				config["hosts"] = manyHosts(120)
			}
			maps.Copy(config, c.after)
			if c.after == nil {
				config = nil
			}
			_, said := resource.Plan(config)
			if warned := strings.Contains(said.String(), "Many Hosts At Once"); warned != c.warns || said.Failed() {
				t.Errorf("%q", said)
			}
		})
	}
}

// A host on which the first process failed is not tried for the others. That is one failed machine, as many as allowed.
func TestProcesses_actionTolerates(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB))
	restart, code := simulator.OpRestart, 65535
	sim.Inject(simulator.Fault{Op: &restart, Name: "db", Hosts: []string{providertest.Address(2)}, Code: &code})
	more := map[string]any{"rollout": map[string]any{"waves": []any{"100%"}, "max_failed_hosts": "1"}}
	_, end := p.Invoke(t.Context(), providertest.ActionType, operation("restart", stack(), more))
	if !strings.Contains(end, "WARNING: Unable to Restart Process") || !strings.Contains(end, "so the action counts as done") {
		t.Errorf("it should count as done, with a warning:\n%s", end)
	}
}

// The plan of a replacement does not show what on_destroy runs, so the error that taints the resource says it.
//
// Promised in partial-failure.md: The next apply runs on every host again, after any `on_destroy`, and does
// not ask the agents.
func TestProcessOperation_replacementRunsOnDestroy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start simulator.Fault // in the first run
		more  map[string]any
	}{
		"in-part":     {simulator.Fault{Hosts: providertest.AddressList([]int{2}), Code: new(65535)}, map[string]any{"on_partial_create": "error"}},
		"unconfirmed": {simulator.Fault{Drop: "after"}, nil},
	} {
		for ends, says := range map[string]string{"": "the next apply runs on every host again", "restart": "the next apply runs on_destroy (restart) and then the start on every host"} {
			onFaces(t, strings.TrimSuffix(name+"/"+ends, "/"), faces, func(s trial) {
				sim := hosted(s.t, s.by, 2)
				resource, config, want := operationOf(s.t, sim, s.by), configOf(s.by, "start", 2, c.more), []string{operated(s.by, simulator.OpStart, 1, 2)}
				if ends != "" {
					config["on_destroy"], want = ends, append(want, operated(s.by, simulator.OpRestart, 1, 2))
				}
				c.start.API, c.start.Op = "operate_*", new(simulator.OpStart)
				sim.Inject(c.start)
				_, said := resource.Apply(config)
				providertest.Fails(s.t, said, says)
				sim.Repair()
				resource.Applied(config)
				sim.Changed(s.t, want...)
				providertest.Same(s.t, "processes", 2, len(pids(sim)))
			})
		}
	}
}
