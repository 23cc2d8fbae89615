package processoperation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// entry returns an element of processes, with hosts by number.
func entry(name string, priority any, numbers ...int) map[string]any {
	hosts := make(map[string]string)
	for _, n := range numbers {
		hosts[providertest.HostKey(n)] = providertest.Address(n)
	}
	return map[string]any{"meta": map[string]any{"namespace": "web", "name": name}, "hosts": hosts, "spec": providertest.WholeSpec("./start.sh"), "priority": priority}
}

// stack declares a database on hosts 1 and 2 and, with a later priority, a web server and its log on 1 to 3.
func stack() map[string]any {
	return map[string]any{"db": entry("db", 1, 1, 2), "web": entry("web", 5, 1, 2, 3), "log": entry("log", 5, 1, 2, 3)}
}

// with returns a copy of processes with some replaced, or removed if nil.
func with(processes map[string]any, more map[string]any) map[string]any {
	processes = maps.Clone(processes)
	maps.Copy(processes, more)
	maps.DeleteFunc(processes, func(_ string, element any) bool { return element == nil })
	return processes
}

func operation(name string, processes map[string]any, more map[string]any) map[string]any {
	config := map[string]any{"operation": name, "processes": processes}
	maps.Copy(config, more)
	return config
}

// Host n is 10.0.0.n+1.
var (
	upwards   = []string{"0 db[2 3]", "0 log[2 3 4] web[2 3 4]"}
	restarted = []string{"7 log[2 3 4] web[2 3 4]", "7 db[2 3]"}
	// ascending reverses the order of an operation that would descend.
	ascending = map[string]any{"order": "ascending"}
)

// An operation runs in this order, on these hosts, and in this many calls.
//
// Promised in reference: By default as GSEKit and BSCP do it.
func TestProcesses_order(t *testing.T) {
	t.Parallel()
	two := entry("web", 5, 1, 2)
	start := func(more map[string]any) map[string]any { return operation("start", with(stack(), more), nil) }
	started, restart, restartUp := start(nil), operation("restart", stack(), nil), operation("restart", stack(), ascending)
	restartedUp := []string{"7 db[2 3]", "7 log[2 3 4] web[2 3 4]"}
	one := map[string]any{"operation": "start", "meta": entry("web", 5)["meta"], "spec": entry("web", 5)["spec"], "hosts": entry("web", 5, 1, 2)["hosts"]}
	for name, c := range map[string]struct {
		before, after map[string]any // of a start of the stack; if before is nil, it is created
		want          []string
		plan          string
	}{
		"created": {nil, started, upwards, "run 1: start priority 1, db, on 2 hosts: web-1, web-2\nrun 1: then priority 5, log, web, on 3 hosts: web-1…web-3"},
		"stopped": {
			nil, operation("stop", stack(), nil), []string{"1 log[2 3 4] web[2 3 4]", "1 db[2 3]"},
			"run 1: stop priority 5, log, web, on 3 hosts: web-1…web-3\nrun 1: then priority 1, db, on 2 hosts: web-1, web-2",
		},
		"in-waves": {
			nil, operation("restart", stack(), map[string]any{"rollout": map[string]any{"waves": []any{"1", "*2"}, "canary": []any{"web-3"}}}),
			[]string{"7 log[4] web[4]", "7 log[2] web[2]", "7 log[3] web[3]", "7 db[2]", "7 db[3]"},
			"run 1: restart priority 5, log, web, on 3 hosts in 3 waves of 1: web-1…web-3\nrun 1: then priority 1, db, on 2 hosts in 2 waves of 1: web-1, web-2",
		},
		"started-down": {
			nil, operation("start", stack(), map[string]any{"order": "descending"}), []string{"0 log[2 3 4] web[2 3 4]", "0 db[2 3]"},
			"run 1: start priority 5, log, web, on 3 hosts: web-1…web-3\nrun 1: then priority 1, db, on 2 hosts: web-1, web-2",
		},
		"restarted-up":     {nil, restartUp, restartedUp, "run 1: restart priority 1, db, on 2 hosts: web-1, web-2\nrun 1: then priority 5, log, web, on 3 hosts: web-1…web-3"},
		"killed":           {started, operation("kill", stack(), nil), []string{"9 db[2 3]", "9 log[2 3 4] web[2 3 4]"}, ""},
		"reloaded":         {started, operation("reload", stack(), nil), []string{"8 db[2 3]", "8 log[2 3 4] web[2 3 4]"}, ""},
		"order-alone":      {restart, restartUp, nil, "runs nothing"},
		"order-left-out":   {restartUp, restart, nil, "runs nothing"},
		"order-and-reason": {started, restartUp, restartedUp, ""},
		"not-on-create":    {nil, operation("start", stack(), map[string]any{"run_on_create": false}), nil, "runs nothing"},
		"triggered": {
			restart, operation("restart", stack(), map[string]any{"triggers": map[string]string{"a": "b"}}), restarted,
			"run 2: restart priority 5, log, web, on 3 hosts: web-1…web-3\nrun 2: then priority 1, db, on 2 hosts: web-1, web-2",
		},
		"other-operation":         {started, restart, restarted, ""},
		"other-order":             {started, start(map[string]any{"db": entry("db", 9, 1, 2)}), nil, "runs nothing"},
		"process-added":           {start(map[string]any{"log": nil}), started, []string{"0 log[2 3 4]"}, "run 2: start priority 5, log, on 3 hosts: web-1…web-3"},
		"process-removed":         {started, start(map[string]any{"db": nil}), nil, "runs nothing"},
		"process-renamed":         {started, start(map[string]any{"db": nil, "database": entry("db", 1, 1, 2)}), nil, "runs nothing"},
		"process-named-otherwise": {started, start(map[string]any{"db": entry("db2", 1, 1, 2)}), []string{"0 db2[2 3]"}, ""},
		"process-split":           {started, start(map[string]any{"web": entry("web", 5, 1), "web@b": entry("web", 7, 2, 3)}), nil, "runs nothing"},
		"host-added":              {start(map[string]any{"web": two}), started, []string{"0 web[4]"}, "run 2: start priority 5, web, on 1 host: web-3"},
		"host-removed":            {started, start(map[string]any{"web": two}), nil, "runs nothing"},
		"hosts-added-in-order": {
			operation("start", map[string]any{"db": entry("db", 1, 1), "web": entry("web", 5, 1)}, nil),
			operation("start", map[string]any{"db": entry("db", 1, 1, 2), "web": entry("web", 5, 1, 2)}, nil), []string{"0 db[3]", "0 web[3]"}, "",
		},
		"from-one-process": {one, started, []string{"0 db[2 3]", "0 log[2 3 4] web[4]"}, ""},
		"to-one-process":   {started, one, nil, "runs nothing"},
		"given-as-process": {started, start(map[string]any{"web": asProcess(t, entry("web", 5, 1, 2, 3))}), nil, "runs nothing"},
	} {
		onWays(t, name, func(w way) {
			t, sim, resource := w.t, w.sim, w.resource
			if c.before != nil {
				resource.Applied(w.config(c.before))
			}
			sim.ResetCalls()
			after := w.config(c.after)
			plan, said := resource.Plan(after)
			if got := providertest.Plain(t, plan.Planned(t)["rollout_plan"]); c.plan != "" && got != c.plan {
				t.Errorf("plan %q, want %q", got, c.plan)
			}
			providertest.Silent(t, said)
			resource.Applied(after)
			w.expect(c.want...)
			resource.Settled(after)
		})
	}
}

// A failure holds back later priorities. State names process and host, and the next apply continues from
// there, in order.
func TestProcesses_failed(t *testing.T) {
	t.Parallel()
	onWays(t, "", func(w way) {
		t, sim, resource := w.t, w.sim, w.resource
		restart, code := simulator.OpRestart, 65535
		sim.Inject(simulator.Fault{Op: &restart, Name: w.name("db"), Hosts: []string{providertest.Address(2)}, Code: &code, Message: "no such file"})
		_, said := resource.Apply(w.config(operation("restart", stack(), ascending)))
		providertest.Says(t, said.String(),
			`"db", priority 1: `+w.title("db")+": restart on 2 hosts: 1 done, 1 failed.",
			"web-2 (0:10.0.0.3): 65535, the command failed", `"log", priority 5: `+w.title("log")+": restart on 3 hosts: 0 done, 3 not tried.",
			"The next plan shows an update that retries these hosts alone.",
		)
		notTried := "not_tried: too many hosts had failed before its wave"
		want := map[string]string{"db/web-2": "failed: 65535, the command failed: no such file"}
		for n := 1; n <= 3; n++ {
			want[fmt.Sprintf("web/web-%d", n)], want[fmt.Sprintf("log/web-%d", n)] = notTried, notTried
		}
		providertest.Same(t, "failed_hosts", want, resource.Reasons("failed_hosts"))
		sim.Repair()
		sim.ResetCalls()
		// An entry and a host with other keys are still the same.
		renamed := entry("db", 1, 1)
		renamed["hosts"] = map[string]string{"web-1": providertest.Address(1), "other": providertest.Address(2)}
		resource.Applied(w.config(operation("restart", with(stack(), map[string]any{"db": nil, "database": renamed}), ascending)))
		w.expect("7 db[3]", "7 log[2 3 4] web[2 3 4]")
		if left := resource.Reasons("failed_hosts"); len(left) > 0 {
			t.Errorf("failed_hosts %v", left)
		}
		// Nothing is reported of processes on which nothing ran.
		renamed["hosts"] = providertest.HostsOf(3)
		sim.Inject(simulator.Fault{Op: &restart, Name: w.name("db"), Hosts: []string{providertest.Address(3)}, Code: &code})
		if _, said = resource.Apply(w.config(operation("restart", with(stack(), map[string]any{"db": nil, "database": renamed}), ascending))); !said.Failed() || strings.Contains(said.String(), "Done on") {
			t.Errorf("said: %s", said)
		}
	})
}

// A machine whose agent does not answer delays no other machine, and none of its processes has failed.
func TestProcesses_unreachable(t *testing.T) {
	t.Parallel()
	onWays(t, "", func(w way) {
		t, sim, resource := w.t, w.sim, w.resource
		sim.SetReachable(providertest.Address(2), false)
		config := w.config(operation("restart", stack(), map[string]any{"order": "ascending", "max_unreachable_hosts": 1}))
		_, said := resource.Apply(config)
		if said.Failed() || !strings.Contains(said.String(), "Agents Not Reachable") {
			t.Errorf("said: %s", said)
		}
		w.expect("7 db[2 3]", "7 log[2 4] web[2 4]")
		away := slices.Sorted(maps.Keys(resource.Reasons("unreachable")))
		providertest.Same(t, "unreachable", []string{"db/web-2", "log/web-2", "web/web-2"}, away)
		providertest.Same(t, "failed_hosts", 0, len(resource.Reasons("failed_hosts")))
		sim.SetReachable(providertest.Address(2), true)
		sim.ResetCalls()
		resource.Applied(config)
		w.expect("7 db[3]", "7 log[3] web[3]")
	})
}

// After a lost answer the outcome is unknown for all processes of the call. The next apply asks each
// agent, and starts nothing twice.
func TestProcesses_lost(t *testing.T) {
	t.Parallel()
	onWays(t, "", func(w way) {
		t, sim, resource := w.t, w.sim, w.resource
		start := simulator.OpStart
		// With GSE the second call is for log and web; with JOB each has its own.
		sim.Inject(simulator.Fault{Op: &start, API: "operate_proc*", Skip: 1, Drop: "after"})
		config := w.config(operation("start", stack(), nil))
		resource.Apply(config)
		if left := resource.Reasons("failed_hosts"); len(left) != 6 || !strings.HasPrefix(left["log/web-3"], "outcome_unknown") {
			t.Errorf("failed_hosts %v", left)
		}
		sim.Repair()
		sim.ResetCalls()
		before := pids(sim)
		resource.Applied(config)
		if diff := cmp.Diff(before, pids(sim)); diff != "" || len(before) != 8 {
			t.Errorf("pids of %d processes (-before +after):\n%s", len(before), diff)
		}
		calls := w.operations()
		slices.Sort(calls) // the processes are asked concurrently
		providertest.Same(t, "calls", []string{"2 log[2 3 4]", "2 web[2 3 4]"}, calls)
	})
}

// A canary goes first in a retry as well, whatever supplier ids the processes name its machine with.
func TestProcesses_canaryRetried(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		sim := providertest.NewSim(s.t)
		resource := operationOf(s.t, sim, s.by)
		web := entry("web", 1)
		web["hosts"] = map[string]string{"web-1": "0:7:10.0.0.2", "web-2": "0:7:10.0.0.3"}
		config := operation("start", map[string]any{"db": entry("db", 1, 1, 2), "web": web}, map[string]any{"rollout": map[string]any{"canary": []any{"web-2"}, "waves": []any{"100%"}}})
		sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Name: "web", Code: new(65535)})
		resource.Apply(config)
		providertest.Same(s.t, "failed_hosts", []string{"db/web-1", "web/web-1", "web/web-2"}, slices.Sorted(maps.Keys(resource.Reasons("failed_hosts"))))
		sim.Repair()
		sim.ResetCalls()
		resource.Applied(config)
		if first := sim.Calls().OfOp(simulator.OpStart); len(first) < 2 || !slices.Equal(first[0].Hosts, []string{providertest.Address(2)}) {
			s.t.Errorf("the first of %d calls went to %v, want only the canary", len(first), first[0].Hosts)
		}
	})
}

// A destroy that fails for some processes keeps only those, whether or not they are in one value.
func TestProcesses_destroy(t *testing.T) {
	t.Parallel()
	for name, web := range map[string]map[string]any{"parts": entry("web", 5, 1, 2, 3), "one-value": asProcess(t, entry("web", 5, 1, 2, 3))} {
		onWays(t, name, func(w way) {
			t, sim, resource := w.t, w.sim, w.resource
			// The order is that of the operation, not of on_destroy.
			resource.Applied(w.config(operation("start", with(stack(), map[string]any{"web": web}), map[string]any{"on_destroy": "stop", "order": "ascending"})))
			stop, code := simulator.OpStop, 65535
			sim.Inject(simulator.Fault{Op: &stop, Name: w.name("web"), Hosts: []string{providertest.Address(2)}, Code: &code})
			sim.ResetCalls()
			if _, said := resource.Apply(nil); !said.Failed() {
				t.Errorf("it ended with %s", said)
			}
			left, _ := resource.Attribute("processes").(map[string]any)
			providertest.Same(t, "processes", []string{"db", "web"}, slices.Sorted(maps.Keys(left)))
			w.expect("1 log[2 3 4] web[2 3 4]")
			sim.Repair()
			sim.ResetCalls()
			resource.Destroyed()
			w.expect("1 web[3]", "1 db[2 3]")
		})
	}
}

// The action does the same, and its message says what to set to run it on the failed hosts only.
func TestProcesses_action(t *testing.T) {
	t.Parallel()
	onWays(t, "", func(w way) {
		t, sim, p := w.t, w.sim, w.resource
		restart, code := simulator.OpRestart, 65535
		sim.Inject(simulator.Fault{Op: &restart, Name: w.name("web"), Hosts: []string{providertest.Address(2)}, Code: &code})
		progress, end := p.Invoke(t.Context(), w.face.TypeName(providertest.OnRestart), w.config(operation("restart", stack(), ascending)))
		w.expect("7 db[2 3]", "7 log[2 3 4] web[2 3 4]")
		if last := progress[len(progress)-1]; last != "restart 3 processes: 7/8 done, 1 failed, wave 2/2 (0s)" {
			t.Errorf("progress %q", last)
		}
		providertest.Says(t, end, "ERROR: Unable to Restart Process", "web-2 (0:10.0.0.3): 65535", `Done on all hosts: "db", "log".`, "  \"web\":\n  hosts={\n    \"web-2\" = \"0:10.0.0.3\"\n  }")
	})
}

// A plan with unknown values does not promise a result that may change.
func TestProcesses_unknown(t *testing.T) {
	t.Parallel()
	notKnown := providertest.NotKnown{}
	priority, hosts, name := entry("web", notKnown, 1), entry("web", 1, 1), entry("web", 1, 1)
	hosts["hosts"] = map[string]any{"web-1": notKnown}
	name["meta"] = map[string]any{"namespace": "web", "name": notKnown}
	whole := map[string]any{"process": notKnown, "priority": 1}
	for name, processes := range map[string]any{
		"all": notKnown, "element": map[string]any{"a": notKnown, "b": entry("web", 1, 1)}, "priority": map[string]any{"a": priority},
		"host": map[string]any{"a": hosts}, "name": map[string]any{"a": name}, "process": map[string]any{"a": whole},
	} {
		onWays(t, name, func(w way) {
			t, resource := w.t, w.resource
			config := w.config(map[string]any{"operation": "start", "processes": processes})
			plan, said := resource.Plan(config)
			providertest.Silent(t, said)
			if plan.Planned(t)["rollout_plan"].IsKnown() {
				t.Error("rollout_plan is known")
			}
			if known := plan.Planned(t)["id"].IsKnown(); known != (name == "host") {
				t.Errorf("id is known: %t", known)
			}
		})
	}
}

// processes excludes every other attribute that names a process, and must not be empty.
func TestProcesses_mistakes(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	gse, job := []providertest.Face{providertest.FaceESB}, []providertest.Face{providertest.FaceJOB}
	oneShot := `{"bk_biz_id": 2, "process": {"proc_name": "a", "setup_path": "/a", "pid_path": "/a/a", "type": 2, "start_cmd": "a"}, "hosts": {"a": "0:10.0.0.1"}}`
	leaveOut := func(name string) string {
		return "Attribute " + name + ": processes is set, and says which processes the operation is for; leave out " + name + "."
	}
	for name, c := range map[string]struct {
		only   []providertest.Face
		config map[string]any
		said   string
	}{
		"meta":        {gse, operation("start", stack(), map[string]any{"meta": entry("web", 1)["meta"]}), leaveOut("meta")},
		"process":     {gse, operation("start", stack(), map[string]any{"process": "{}"}), leaveOut("process")},
		"scope":       {job, operation("start", stack(), map[string]any{"scope": map[string]any{"type": "biz", "id": "2"}}), leaveOut("scope")},
		"bk_biz_id":   {job, operation("start", stack(), map[string]any{"bk_biz_id": 2}), leaveOut("bk_biz_id")},
		"declaration": {job, operation("start", stack(), map[string]any{"declaration": "{}"}), leaveOut("declaration")},
		"all-of-job": {
			job, operation("start", stack(), map[string]any{"bk_biz_id": 2, "process": map[string]any{"proc_name": "a", "setup_path": "/a", "pid_path": "/a/a", "type": 1, "start_cmd": "a"}}),
			"Attribute bk_biz_id: processes is set, and says which processes the operation is for; leave out bk_biz_id, process.",
		},
		"hosts":    {nil, operation("start", stack(), map[string]any{"hosts": providertest.HostsOf(1)}), leaveOut("hosts")},
		"empty":    {nil, operation("start", map[string]any{}, nil), "Attribute processes: there is no process in it; name at least one."},
		"no-hosts": {nil, operation("start", map[string]any{"a": with(entry("a", 1), map[string]any{"hosts": map[string]string{}})}, nil), `Attribute processes["a"].hosts must contain at least one host, and is empty`},
		"unordered": {
			gse, with(entry("web", nil, 1), map[string]any{"operation": "start", "order": "descending", "priority": nil}),
			"Attribute order: it sets in which order the operation takes several processes, but there is only one; leave it out, or set processes.",
		},
		"no-order": {nil, operation("start", stack(), map[string]any{"order": "up"}), `Attribute order value must be one of: ["ascending" "descending"], got: "up"`},
		"negative": {nil, operation("start", map[string]any{"a": entry("a", -1, 1)}, nil), `Attribute processes["a"].priority value must be at least 0, got: -1`},
		"two-scopes": {
			job, operation("start", map[string]any{"a": with(entry("a", 1, 1), map[string]any{"bk_biz_id": 2})}, nil),
			`"processes[\"a\"].bk_biz_id" cannot be specified when "processes[\"a\"].scope" is specified`,
		},
		"gate-of-one-shot": {
			job, operation("start", map[string]any{"a": map[string]any{"declaration": oneShot, "priority": 1}}, map[string]any{"rollout": map[string]any{"healthy": map[string]any{"stable_for": "30s"}}}),
			"Attribute rollout.healthy: only a resident process goes on running, and this one does not (type 2); leave it out.",
		},
	} {
		through := c.only
		if through == nil {
			through = ways
		}
		onFaces(t, name, through, func(s trial) {
			t, by := s.t, s.by
			typ, config := by.TypeName(providertest.OnRestart), way{t: t, face: by}.config(c.config)
			for object, said := range map[string]string{"resource": p.CoreOf(typ, &providertest.Kept{}).Validate(config).String(), "action": p.ValidateAction(typ, config)} {
				if !strings.Contains(said, c.said) || strings.Count(said, "ERROR") != 1 {
					t.Errorf("%s said:\n%s\nwant:\n%s", object, said, c.said)
				}
			}
		})
	}
}

// A canary is a host of any of the processes.
func TestProcesses_canary(t *testing.T) {
	t.Parallel()
	onWays(t, "", func(w way) {
		t, resource := w.t, w.resource
		canary := func(key string) map[string]any {
			return w.config(operation("start", stack(), map[string]any{"rollout": map[string]any{"canary": []any{key}, "batch_size": 9}}))
		}
		if _, said := resource.Plan(canary("web-3")); len(said) > 0 {
			t.Error(said)
		}
		if _, said := resource.Plan(canary("web-4")); !strings.Contains(said.String(), `"web-4" is not the key of a host in hosts`) {
			t.Error(said)
		}
	})
}

// More than 100 hosts of one priority are taken down at once, rather than hosts of all priorities together.
func TestProcesses_manyAtOnce(t *testing.T) {
	t.Parallel()
	onWays(t, "", func(w way) {
		t, resource := w.t, w.resource
		many := func(n int) map[string]any {
			one := entry("a", 1)
			one["hosts"] = manyHosts(n)
			other := maps.Clone(one)
			other["meta"], other["priority"] = map[string]any{"namespace": "web", "name": "b"}, 2
			return w.config(operation("restart", map[string]any{"a": one, "b": other}, nil))
		}
		if _, said := resource.Plan(many(100)); len(said) > 0 {
			t.Error(said)
		}
		if _, said := resource.Plan(many(101)); !strings.Contains(said.String(), w.id("a")+","+w.id("b")+": restart goes to 101 hosts at the same time: web-001…web-101.") {
			t.Errorf("said %s", said)
		}
	})
}
