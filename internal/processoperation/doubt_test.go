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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A first run that may have worked and that no host confirms is an error. State keeps it,
// and once it is untainted the agents are asked before anything runs again.
//
// Promised in partial-failure.md: If its first run certainly failed on every host, it ends with
// an error and saves nothing
// Promised in partial-failure.md: If no host is known to have succeeded but some may have (every
// answer was lost, or the time was up), it ends with an error as well, and the resource is
// tainted
// Promised in partial-failure.md: If some hosts succeeded, or Ctrl-C ended the run, it ends with
// a warning.
// Promised in reference: A first run that is known to have succeeded on no host ends with an
// error either way.
func TestProcessOperation_nothingConfirmed(t *testing.T) {
	t.Parallel()
	start := simulator.OpStart
	deadline := map[string]any{"timeouts": map[string]any{"create": "2s"}}
	one := []string{providertest.Address(1)}
	for name, c := range map[string]struct {
		faults  []simulator.Fault
		more    map[string]any
		code    string // of web-2 in state, "" where nothing is saved
		tainted bool
		byTask  bool // what became of it tells the task
		next    []string
	}{
		"every-answer-lost":  {faults: []simulator.Fault{{Op: &start, Drop: "after"}}, code: "outcome_unknown", tainted: true},
		"every-answer-cut":   {faults: []simulator.Fault{{Op: &start, Drop: "mid"}}, code: "outcome_unknown", tainted: true},
		"time-up-everywhere": {faults: []simulator.Fault{{Op: &start, Takes: time.Hour}}, more: deadline, code: "no_verdict", tainted: true, byTask: true},
		"lost-or-failed": {
			faults: []simulator.Fault{{API: "operate_proc_v2", Op: &start, Hosts: one, Code: new(65535)}, {API: "operate_proc_v2", Op: &start, Hosts: []string{providertest.Address(2)}, Takes: time.Hour}},
			more:   deadline, code: "no_verdict", tainted: true, byTask: true, next: []string{"operate_proc_v2/0 " + providertest.Addresses(1)},
		},
		"one-confirmed":    {faults: []simulator.Fault{{Op: &start, Hosts: []string{providertest.Address(2)}, Takes: time.Hour}}, more: deadline, code: "no_verdict", next: []string{"operate_proc_v2/0 " + providertest.Addresses(2)}},
		"failed-certainly": {faults: []simulator.Fault{{Op: &start, Code: new(65535)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			var late atomic.Int64
			sim.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
			sim.Registered(t, 2)
			for _, fault := range c.faults {
				fault.API = "operate_proc_v2"
				sim.Inject(fault)
			}
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB)).CoreOf("bk_process_operation", &providertest.Kept{})
			config := restartConfig(providertest.FaceESB, 2, map[string]any{"operation": "start"})
			maps.Copy(config, c.more)
			_, said := resource.Apply(config)
			if said.Failed() != (c.tainted || c.code == "") || resource.Tainted != c.tainted {
				t.Fatalf("tainted: %t; said: %s", resource.Tainted, said)
			}
			if resource.State.IsNull() != (c.code == "") {
				t.Errorf("state is %s", resource.State)
			}
			if status := resource.Reasons("failed_hosts")["web-2"]; c.code != "" && status != c.code && !strings.HasPrefix(status, c.code+": ") {
				t.Errorf("state says %q, want %s", status, c.code)
			}
			if strings.Contains(said.String(), "`terraform untaint` of this resource makes the next apply ask first") != c.tainted {
				t.Errorf("said: %s", said)
			}
			if !c.tainted {
				return
			}
			resource.Untaint()
			late.Store(int64(2 * time.Hour))
			sim.Mend()
			sim.ResetCalls()
			if _, said := resource.Apply(config); len(said) > 0 {
				t.Errorf("the next apply: %s", said)
			}
			if asked := len(sim.Calls().OfOp(simulator.OpQuery)) > 0; asked == c.byTask {
				t.Errorf("the agents were asked: %t", asked)
			}
			// What had run is found by asking, and not run again.
			if diff := cmp.Diff(c.next, sim.Changes(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("calls of the next apply (-want +got):\n%s", diff)
			}
		})
	}
}

// underWay is a run of an operation that ends while its tasks are under way, and what the
// next one meets.
type underWay struct {
	*providertest.Core
	sim    *providertest.Sim
	op     int
	late   atomic.Int64 // by how much the platform's clock is ahead
	polls  atomic.Int64 // of the result of the operation
	cut    func()       // ends the run
	wakeAt int64        // the poll at which the operation comes to its end, if not 0
}

// interrupted applies a configuration whose operation takes an hour on hosts, and ends that
// apply once all has been asked for. The processes have names besides that of the face.
func interrupted(t *testing.T, by providertest.Face, config map[string]any, op int, hosts []string, names ...string) *underWay {
	t.Helper()
	u := &underWay{sim: providertest.NewSim(t), op: op}
	u.sim.Now = func() time.Time { return time.Now().Add(time.Duration(u.late.Load())) }
	u.sim.OnCall = u.count
	namespace, own := by.Process()
	for _, name := range append(names, own) {
		for _, address := range providertest.AddressList([]int{1, 2, 3}) {
			if err := u.sim.Register(address, namespace, name, nil, "{}"); err != nil {
				t.Fatal(err)
			}
			if op != simulator.OpStart {
				if err := u.sim.StartProcess(address, namespace, name); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	u.Core = providertest.ConfiguredWith(t, u.sim.SettingsFor(by)).CoreOf(by.TypeName(providertest.OnOperate), &providertest.Kept{})
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

// wakes has the operation come to its end while the next run waits for it.
func (u *underWay) wakes() { u.wakeAt = u.polls.Load() + 4 }

// ran counts what reached agents since the interrupted run, by host.
func (u *underWay) ran(action string) map[string]int {
	times := make(map[string]int)
	for _, done := range u.sim.Executions() {
		if done.Action == action {
			times[done.Host]++
		}
	}
	return times
}

// An operation that is still under way when its run ends reaches each agent once: the next
// run asks for its task, and waits for it where it still is.
//
// Promised in partial-failure.md: an operation that was still under way is asked for by its
// task, and never sent a second time while it is.
func TestProcessOperation_underWay(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]int{"start": simulator.OpStart, "stop": simulator.OpStop, "restart": simulator.OpRestart, "reload": simulator.OpReload, "kill": simulator.OpKill} {
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
			for _, waits := range []bool{false, true} {
				t.Run(name+"/"+string(by)+map[bool]string{false: "/over", true: "/waited-for"}[waits], func(t *testing.T) {
					t.Parallel()
					config := by.Reference("./start.sh", 3)
					config["operation"] = name
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
					if diff := cmp.Diff(want, u.ran(name)); diff != "" {
						t.Errorf("what reached agents (-want +got):\n%s", diff)
					}
					if changes := u.sim.Changes(); len(changes) > 0 {
						t.Errorf("sent %v", changes)
					}
					if kind, said := u.Apply(config); kind != providertest.PlanNothing || len(said) > 0 {
						t.Errorf("after it: %s %s", kind, said)
					}
				})
			}
		}
	}
}

// The task of an operation on several processes is asked for each of them.
func TestProcesses_underWay(t *testing.T) {
	t.Parallel()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
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
			if diff := cmp.Diff(want, u.ran("restart")); diff != "" {
				t.Errorf("what reached agents (-want +got):\n%s", diff)
			}
			if sent := u.sim.Calls().OfOp(simulator.OpRestart).Of("operate_*"); len(sent) != 1 {
				t.Errorf("sent %v, want the processes whose turn had not come", sent.APIs())
			}
		})
	}
}

// Where the task of an operation tells that it failed, or nothing, the operation is run
// again, as where no task is known.
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
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				config := by.Reference("./start.sh", 3)
				config["operation"] = "restart"
				u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{2, 3}))
				change(t, u)
				if kind, said := u.Apply(config); kind != providertest.PlanUpdate || len(said) > 0 {
					t.Errorf("%s: %s", kind, said)
				}
				operate := "operate_proc_v2/7 "
				if by == providertest.FaceJOB {
					operate = "operate_process/7 "
				}
				if diff := cmp.Diff([]string{operate + providertest.Addresses(2, 3)}, u.sim.Changes()); diff != "" {
					t.Errorf("sent (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Where nobody can be asked for the task, nothing says that the operation is over: it is not
// sent again, and asked for by the run after that.
func TestProcessOperation_underWayUnasked(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"forbidden":   {HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"message":"App has no permission to the resource"}`},
		"bad-gateway": {HTTPStatus: http.StatusBadGateway, Body: "<html>502</html>"},
	} {
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				config := by.Reference("./start.sh", 1)
				config["operation"] = "restart"
				u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{1}))
				unasked := fault
				unasked.API, unasked.Op = "get_proc*", new(simulator.OpRestart)
				u.sim.Inject(unasked)
				if _, said := u.Apply(config); !said.Failed() || !strings.Contains(said.String(), "the platform's result could not be read") {
					t.Errorf("said: %s", said)
				}
				u.sim.Mend()
				u.late.Store(int64(2 * time.Hour))
				if _, said := u.Apply(config); len(said) > 0 || len(u.Reasons("failed_hosts")) > 0 {
					t.Errorf("the apply after that: %s", said)
				}
				if sent := u.sim.Changes(); len(sent) > 0 {
					t.Errorf("sent again: %v", sent)
				}
			})
		}
	}
}

// What is in doubt still is when a run ends before its turn: the run after that asks.
func TestProcessOperation_underWayNotTried(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	config := by.Reference("./start.sh", 3)
	config["operation"] = "restart"
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
	u.sim.Mend()
	if _, said := u.Apply(config); len(said) > 0 {
		t.Error(said)
	}
	if diff := cmp.Diff([]string{"operate_proc_v2/7 " + providertest.Addresses(2)}, u.sim.Changes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// Another run, for other triggers, is another operation: nothing of the one before is waited
// for.
func TestProcessOperation_underWayAnotherRun(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	config := by.Reference("./start.sh", 3)
	config["operation"] = "restart"
	u := interrupted(t, by, config, simulator.OpRestart, providertest.AddressList([]int{2, 3}))
	config["triggers"] = map[string]string{"run": "2"}
	if _, said := u.Apply(config); len(said) > 0 {
		t.Error(said)
	}
	if diff := cmp.Diff([]string{"operate_proc_v2/7 " + providertest.Addresses(1, 2, 3)}, u.sim.Changes()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
