package processoperation_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A first run that may have worked, without confirmation by any host, is an error. State keeps it. After
// an untaint the agents are asked before anything runs again.
//
// Promised in partial-failure.md: If its first run certainly failed on every host, it ends with
// an error and saves nothing
// Promised in partial-failure.md: If some hosts may have succeeded but none is known to (answers were
// lost, or the time was up), it ends with an error as well. The resource is tainted.
// Promised in partial-failure.md: If some hosts succeeded, or Ctrl-C ended the run, it ends with
// a warning.
func TestProcessOperation_nothingConfirmed(t *testing.T) {
	t.Parallel()
	const lost = "outcome_unknown: the operation was sent and its answer got lost"
	deadline := map[string]any{"timeouts": map[string]any{"create": "2s"}}
	tolerant := map[string]any{"rollout": map[string]any{"batch_size": 1, "max_failed_hosts": 1}}
	on := func(n int, fault simulator.Fault) simulator.Fault {
		fault.Hosts = providertest.AddressList([]int{n})
		return fault
	}
	hour, fails := simulator.Fault{Takes: time.Hour}, simulator.Fault{Code: new(65535)}
	for name, c := range map[string]struct {
		faults  []simulator.Fault // of the start
		more    map[string]any
		status  string // of web-2 in state, "" if nothing is saved
		tainted bool
		says    string
		asks    bool     // the next apply asks the agents
		next    []string // calls of the next apply
	}{
		"every-answer-lost":  {faults: []simulator.Fault{{Drop: "after"}}, status: lost, tainted: true, asks: true},
		"every-answer-cut":   {faults: []simulator.Fault{{Drop: "mid"}}, status: "outcome_unknown", tainted: true, asks: true},
		"one-answer-lost":    {faults: []simulator.Fault{on(2, simulator.Fault{Drop: "after"})}, more: tolerant, status: lost, asks: true},
		"time-up-everywhere": {faults: []simulator.Fault{hour}, more: deadline, status: "no_verdict", tainted: true},
		"lost-or-failed":     {faults: []simulator.Fault{on(1, fails), on(2, hour)}, more: deadline, status: "no_verdict", tainted: true, next: []string{providertest.Operated(0, 1)}},
		"one-confirmed":      {faults: []simulator.Fault{on(2, hour)}, more: deadline, status: "no_verdict"},
		"failed-certainly":   {faults: []simulator.Fault{fails}, says: "web-1, web-2 (2 hosts): 65535", next: []string{providertest.Operated(0, 1, 2)}},
		"agents-away":        {faults: []simulator.Fault{{Code: new(117)}}, says: "web-1, web-2 (2 hosts): 117", next: []string{providertest.Operated(0, 1, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			var late atomic.Int64
			sim.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
			sim.Registered(t, 2)
			for _, fault := range c.faults {
				fault.API, fault.Op = "operate_proc_v2", new(simulator.OpStart)
				sim.Inject(fault)
			}
			resource := operationOf(t, sim, providertest.FaceESB)
			config := configOf(providertest.FaceESB, "start", 2, c.more)
			_, said := resource.Apply(config)
			if said.Failed() != (c.tainted || c.status == "") || resource.Tainted != c.tainted || resource.State.IsNull() != (c.status == "") {
				t.Fatalf("tainted: %t; state: %s; said: %s", resource.Tainted, resource.State, said)
			}
			if status := resource.Reasons("failed_hosts")["web-2"]; c.status != "" && status != c.status && !strings.HasPrefix(status, c.status+": ") {
				t.Errorf("state says %q, want %s", status, c.status)
			}
			if untaint := "`terraform untaint` of this resource makes the next apply ask first"; strings.Contains(said.String(), untaint) != c.tainted ||
				!strings.Contains(said.String(), "Unable to Start Process") || !strings.Contains(said.String(), c.says) {
				t.Errorf("said: %s", said)
			}
			if c.tainted {
				resource.Untaint()
			}
			late.Store(int64(2 * time.Hour))
			sim.Repair()
			resource.Applied(config)
			if asked := len(sim.Calls().OfOp(simulator.OpQuery)) > 0; asked != c.asks {
				t.Errorf("the agents were asked: %t", asked)
			}
			// The agents are asked about what had run, and it does not run again.
			sim.Changed(t, c.next...)
			if running, failed := pids(sim), resource.Reasons("failed_hosts"); len(running) != 2 || len(failed) > 0 {
				t.Errorf("running: %v, failed_hosts: %v", running, failed)
			}
		})
	}
}

// underWay is a run of an operation that ends while its tasks are in progress, and the state for the next
// run.
type underWay struct {
	*providertest.Core
	sim    *providertest.Sim
	op     int
	late   atomic.Int64 // how far the platform's clock is ahead
	polls  atomic.Int64 // of the result of the operation
	cut    func()       // ends the run
	wakeAt int64        // the poll at which the operation ends, if not 0
}

// interrupted applies a configuration whose operation takes an hour on hosts, and ends that apply once
// every task was polled. names are processes besides the face's.
func interrupted(t *testing.T, by providertest.Face, config map[string]any, op int, hosts []string, names ...string) *underWay {
	t.Helper()
	u := &underWay{sim: providertest.NewSim(t), op: op}
	u.sim.Now = func() time.Time { return time.Now().Add(time.Duration(u.late.Load())) }
	u.sim.OnCall = u.count
	namespace, own := by.Process()
	for _, name := range append(names, own) {
		for _, address := range providertest.AddressList([]int{1, 2, 3}) {
			fine(t, u.sim.Register(address, namespace, name, nil, "{}"))
			if op != simulator.OpStart {
				fine(t, u.sim.StartProcess(address, namespace, name))
			}
		}
	}
	u.Core = operationOf(t, u.sim, by)
	u.sim.Inject(simulator.Fault{API: "operate_*", Op: new(op), Hosts: hosts, Takes: time.Hour})
	u.Until, u.cut = context.WithCancel(t.Context())
	defer u.cut()
	u.Apply(config)
	u.Until = nil
	if u.State.IsNull() {
		t.Fatal("nothing is in state")
	}
	if u.Tainted {
		u.Untaint()
	}
	u.sim.ClearFaults()
	u.sim.ResetCalls()
	return u
}

func (u *underWay) count(call simulator.Call) {
	if !strings.HasPrefix(call.API, "get_proc") || call.Op != u.op {
		return
	}
	switch n := u.polls.Add(1); {
	case n == 5:
		u.cut()
	case u.wakeAt > 0 && n >= u.wakeAt:
		u.late.Store(int64(2 * time.Hour))
	}
}

// wakes makes the operation end while the next run waits for it.
func (u *underWay) wakes() { u.wakeAt = u.polls.Load() + 4 }

// ran counts the calls that reached agents since the interrupted run, by host.
func (u *underWay) ran(action string) map[string]int {
	times := make(map[string]int)
	for _, done := range u.sim.Executions() {
		if done.Action == action {
			times[done.Host]++
		}
	}
	return times
}

// An operation that is in progress when its run ends reaches each agent once. The next run asks for its
// task, and waits while it is in progress.
//
// Promised in partial-failure.md: Such an operation is asked for by its
// task, and never sent a second time while it is.
func TestProcessOperation_underWay(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]int{"start": simulator.OpStart, "stop": simulator.OpStop, "restart": simulator.OpRestart, "reload": simulator.OpReload, "kill": simulator.OpKill} {
		for _, by := range faces {
			for _, waits := range []bool{false, true} {
				t.Run(name+"/"+string(by)+map[bool]string{false: "/over", true: "/waited-for"}[waits], func(t *testing.T) {
					t.Parallel()
					config := configOf(by, name, 3, nil)
					u := interrupted(t, by, config, op, providertest.AddressList([]int{2, 3}))
					if waits {
						u.wakes()
					} else {
						u.late.Store(int64(2 * time.Hour))
					}

					kind, said := u.Apply(config)

					if kind != providertest.PlanUpdate || len(said) > 0 || len(u.Reasons("failed_hosts")) > 0 {
						t.Errorf("%s: %s", kind, said)
					}
					want := map[string]int{providertest.Address(2): 1, providertest.Address(3): 1}
					providertest.Same(t, "what reached agents", want, u.ran(name))
					u.sim.Changed(t)
					if kind, said := u.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
						t.Errorf("after it: %s %s", kind, said)
					}
				})
			}
		}
	}
}

// The task of an operation on several processes is polled for each of them.
func TestProcesses_underWay(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t, by := s.t, s.by
		config := operation("restart", stack(), ascending)
		u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{2, 3}), "db", "web", "log")
		left := []string{"db/web-2", "log/web-1", "log/web-2", "log/web-3", "web/web-1", "web/web-2", "web/web-3"}
		if diff := cmp.Diff(left, slices.Sorted(maps.Keys(u.Reasons("failed_hosts")))); diff != "" {
			t.Fatalf("failed_hosts (-want +got):\n%s", diff)
		}
		u.late.Store(int64(2 * time.Hour))
		if _, said := u.Apply(config); len(said) > 0 {
			t.Error(said)
		}
		want := map[string]int{providertest.Address(1): 2, providertest.Address(2): 3, providertest.Address(3): 2}
		providertest.Same(t, "what reached agents", want, u.ran("restart"))
		if sent := u.sim.Calls().OfOp(simulator.OpRestart).Of("operate_*"); len(sent) != 1 {
			t.Errorf("sent %v, want the processes whose turn had not come", sent.APIs())
		}
	})
}

// If the task says that the operation failed, or nothing, the operation runs again, as without a known
// task.
func TestProcessOperation_underWayNoMore(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *underWay){
		"failed": func(_ *testing.T, u *underWay) {
			u.sim.Inject(simulator.Fault{API: "get_proc*", Code: new(simulator.CodeCommandFailed), Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2, 3}), Times: 2})
			u.late.Store(int64(2 * time.Hour))
		},
		"forgotten": func(_ *testing.T, u *underWay) {
			for _, task := range u.sim.Tasks() {
				u.sim.ExpireTask(task.ID)
			}
		},
		"state-of-an-older-release": func(_ *testing.T, u *underWay) { u.Private = nil },
	} {
		onFaces(t, name, faces, func(s trial) {
			t, by := s.t, s.by
			config := restartConfig(by, 3, nil)
			u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{2, 3}))
			change(t, u)
			if kind, said := u.Apply(config); kind != providertest.PlanUpdate || len(said) > 0 {
				t.Errorf("%s: %s", kind, said)
			}
			u.sim.Changed(t, operated(by, simulator.OpRestart, 2, 3))
		})
	}
}

// If the task cannot be polled, the operation may still be in progress. It is not sent again, and the
// following run polls it.
func TestProcessOperation_underWayUnasked(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"forbidden":   {HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"message":"App has no permission to the resource"}`},
		"bad-gateway": {HTTPStatus: http.StatusBadGateway, Body: "<html>502</html>"},
	} {
		onFaces(t, name, faces, func(s trial) {
			t, by := s.t, s.by
			config := restartConfig(by, 1, nil)
			u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{1}))
			unasked := fault
			unasked.API, unasked.Op = "get_proc*", new(simulator.OpRestart)
			u.sim.Inject(unasked)
			if _, said := u.Apply(config); !said.Failed() || !strings.Contains(said.String(), "the platform's result could not be read") {
				t.Errorf("said: %s", said)
			}
			u.sim.Repair()
			u.late.Store(int64(2 * time.Hour))
			if _, said := u.Apply(config); len(said) > 0 || len(u.Reasons("failed_hosts")) > 0 {
				t.Errorf("the apply after that: %s", said)
			}
			u.sim.Changed(t)
		})
	}
}

// If a run ends before it tries a host, its earlier operation stays unconfirmed, and the next run asks.
func TestProcessOperation_underWayNotTried(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	config := restartConfig(by, 3, nil)
	u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{2, 3}))
	config["rollout"] = map[string]any{"batch_size": 1}
	u.sim.Inject(simulator.Fault{API: "get_proc*", Code: new(simulator.CodeCommandFailed), Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2}), Times: 1})
	u.sim.Inject(simulator.Fault{API: "operate_*", Code: new(simulator.CodeCommandFailed), Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2})})
	u.late.Store(int64(2 * time.Hour))
	if _, said := u.Apply(config); !said.Failed() {
		t.Fatal("it went well")
	}
	if status := u.Reasons("failed_hosts")["web-3"]; !strings.HasPrefix(status, "not_tried") {
		t.Fatalf("web-3 is %q", status)
	}
	u.sim.Repair()
	if _, said := u.Apply(config); len(said) > 0 {
		t.Error(said)
	}
	u.sim.Changed(t, providertest.Operated(7, 2))
}

// The result of a task says nothing about a later run whose answer was lost.
func TestProcessOperation_underWayForgotten(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	config := restartConfig(by, 1, nil)
	u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{1}))
	u.late.Store(int64(2 * time.Hour))
	u.Applied(config)
	config["triggers"] = map[string]string{"run": "2"}
	u.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Drop: "before"})
	if _, said := u.Apply(config); !said.Failed() {
		t.Fatal("it went well")
	}
	u.sim.Repair()
	u.Applied(config)
	u.sim.Changed(t, providertest.Operated(simulator.OpRestart, 1))
}

// A run for other triggers is another operation: it does not wait for the earlier one.
func TestProcessOperation_underWayAnotherRun(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	config := restartConfig(by, 3, nil)
	u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{2, 3}))
	config["triggers"] = map[string]string{"run": "2"}
	if _, said := u.Apply(config); len(said) > 0 {
		t.Error(said)
	}
	u.sim.Changed(t, providertest.Operated(7, 1, 2, 3))
}
