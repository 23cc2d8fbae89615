package processoperation_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

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
			sim := providertest.NewSlow(t, simulator.OpStart)
			sim.Registered(t, 2)
			for _, fault := range c.faults {
				fault.API, fault.Op = "operate_proc_v2", new(simulator.OpStart)
				sim.Inject(fault)
			}
			resource := operationOf(t, sim.Sim, providertest.FaceESB)
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
			sim.Ends()
			sim.Repair()
			resource.Applied(config)
			if asked := len(sim.Calls().OfOp(simulator.OpQuery)) > 0; asked != c.asks {
				t.Errorf("the agents were asked: %t", asked)
			}
			// The agents are asked about what had run, and it does not run again.
			sim.Changed(t, c.next...)
			if running, failed := pids(sim.Sim), resource.Reasons("failed_hosts"); len(running) != 2 || len(failed) > 0 {
				t.Errorf("running: %v, failed_hosts: %v", running, failed)
			}
		})
	}
}

// Promised in partial-failure.md: Later runs that fail end with an error
// Promised in partial-failure.md: A start that *fails*, in its command or in the check after it, has a known outcome,
// and the next apply retries it.
func TestProcessOperation_partial(t *testing.T) {
	t.Parallel()
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim, resource := registered(t, providertest.FaceESB, c.Hosts)
			bad := providertest.Failing(c.Hosts, c.Failing)
			// apply runs the operation for a trigger, on these hosts.
			apply := func(step, trigger string, kind providertest.PlanKind, severity string, hosts ...int) providertest.Diagnostics {
				t.Helper()
				sim.ResetCalls()
				planned, said := resource.Apply(asProcess(t, restartConfig(providertest.FaceESB, c.Hosts, map[string]any{
					"triggers": map[string]string{"config": trigger}, "rollout": map[string]any{"waves": []string{"100%"}}, // otherwise many hosts bring a warning
				})))
				if planned != kind || said.Severity() != severity || resource.Tainted {
					t.Errorf("%s: %s, tainted: %t, said: %s", step, planned, resource.Tainted, said)
				}
				restarted := sim.Calls().OfOp(simulator.OpRestart)
				if restarted.HostCalls("operate_proc_v2") != len(hosts) || len(restarted.On(providertest.Address(hosts[0]))) != 1 {
					t.Errorf("%s: ran on %d hosts, want %d", step, restarted.HostCalls("operate_proc_v2"), len(hosts))
				}
				return said
			}
			fail := func() { sim.FailOperation(simulator.OpRestart, bad, 65535, "sh: ./restart.sh: not found") }
			const because = "failed: 65535, the command failed: sh: ./restart.sh: not found"
			fail()
			apply("the first run fails on some", "a", providertest.PlanCreate, "warning", providertest.HostNumbers(c.Hosts)...)
			if failed := resource.Reasons("failed_hosts"); len(failed) != c.Failing || failed[providertest.HostKey(bad[0])] != because {
				t.Errorf("failed_hosts: %v", failed)
			}
			sim.Repair()
			apply("a retry", "a", providertest.PlanUpdate, "", bad...)
			if want := "run 2: restart on 1 host: web-5"; c.Failing == 1 && resource.Attribute("rollout_plan") != want {
				t.Errorf("rollout_plan: %v, want %q", resource.Attribute("rollout_plan"), want)
			}
			fail()
			said := apply("a later run fails on some", "b", providertest.PlanUpdate, "error", providertest.HostNumbers(c.Hosts)...).String()
			if !strings.Contains(said, "Unable to Restart Process") || !strings.Contains(said, "sh: ./restart.sh: not found") {
				t.Errorf("said: %s", said)
			}
			sim.Repair()
			apply("a retry of the later run", "b", providertest.PlanUpdate, "", bad...)
			providertest.Same(t, "failed_hosts", map[string]string{}, resource.Reasons("failed_hosts"))
		})
	}
}

// underWay is a restart or another operation whose run was interrupted, and the state for the next run.
type underWay struct {
	*providertest.Slow
	*providertest.Core
	by     providertest.Face
	config map[string]any
}

// interrupted applies a configuration whose operation takes an hour on hosts, and interrupts it once every task was
// polled. names are processes besides the face's.
func interrupted(t *testing.T, by providertest.Face, op int, config map[string]any, hosts []int, names ...string) *underWay {
	t.Helper()
	u := &underWay{Slow: providertest.NewSlow(t, op), by: by, config: config}
	namespace, own := by.Process()
	for _, name := range append(names, own) {
		for _, address := range providertest.AddressList([]int{1, 2, 3}) {
			providertest.NoError(t, u.Register(address, namespace, name, nil, "{}"))
			if op != simulator.OpStart {
				providertest.NoError(t, u.StartProcess(address, namespace, name))
			}
		}
	}
	u.Core = operationOf(t, u.Sim, by)
	u.Hangs(hosts...)
	u.Cut(u.Core, config, 5)
	if u.State.IsNull() {
		t.Fatal("nothing is in state")
	}
	if u.Tainted {
		u.Untaint()
	}
	u.ClearFaults()
	u.ResetCalls()
	return u
}

// restartInterrupted returns a restart of web-1 to web-n that is under way on the last two, or on the only one.
func restartInterrupted(t *testing.T, by providertest.Face, n int) *underWay {
	t.Helper()
	hosts := []int{2, 3}
	if n == 1 {
		hosts = []int{1}
	}
	return interrupted(t, by, simulator.OpRestart, restartConfig(by, n, nil), hosts)
}

func (u *underWay) applied(t *testing.T, sent ...string) {
	t.Helper()
	if kind, said := u.Apply(u.config); kind != providertest.PlanUpdate || len(said) > 0 || len(u.Reasons("failed_hosts")) > 0 {
		t.Errorf("%s; failed_hosts: %v; said: %s", kind, u.Reasons("failed_hosts"), said)
	}
	u.Changed(t, sent...)
}

// fails applies, and expects an error that contains says.
func (u *underWay) fails(t *testing.T, says string) {
	t.Helper()
	if _, said := u.Apply(u.config); !said.Failed() || !strings.Contains(said.String(), says) {
		t.Fatalf("want %q, said: %s", says, said)
	}
}

// ran counts the calls that reached agents since the run was interrupted, by host.
func (u *underWay) ran(action string) map[string]int {
	times := make(map[string]int)
	for _, done := range u.Executions() {
		if done.Action == action {
			times[done.Host]++
		}
	}
	return times
}

// An operation that is in progress when its run ends reaches each agent once. The next run asks for its
// task, and waits while it is in progress.
//
// Promised in partial-failure.md: The next apply asks for the task's result, and sends nothing again while it is under
// way.
func TestProcessOperation_underWay(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]int{"start": simulator.OpStart, "stop": simulator.OpStop, "restart": simulator.OpRestart, "reload": simulator.OpReload, "kill": simulator.OpKill} {
		for how, next := range map[string]func(*providertest.Slow){"over": (*providertest.Slow).Ends, "waited-for": (*providertest.Slow).EndsWhileAsked} {
			onFaces(t, name+"/"+how, faces, func(s trial) {
				u := interrupted(s.t, s.by, op, configOf(s.by, name, 3, nil), []int{2, 3})
				next(u.Slow)
				u.applied(s.t)
				providertest.Same(s.t, "what reached agents", map[string]int{providertest.Address(2): 1, providertest.Address(3): 1}, u.ran(name))
				u.Settled(u.config)
			})
		}
	}
}

// The task of an operation on several processes is polled for each of them.
func TestProcesses_underWay(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		u := interrupted(s.t, s.by, simulator.OpRestart, operation("restart", stack(), ascending), []int{2, 3}, "db", "web", "log")
		left := []string{"db/web-2", "log/web-1", "log/web-2", "log/web-3", "web/web-1", "web/web-2", "web/web-3"}
		providertest.Same(s.t, "failed_hosts", left, slices.Sorted(maps.Keys(u.Reasons("failed_hosts"))))
		u.Ends()
		if _, said := u.Apply(u.config); len(said) > 0 {
			s.t.Error(said)
		}
		providertest.Same(s.t, "what reached agents", map[string]int{providertest.Address(1): 2, providertest.Address(2): 3, providertest.Address(3): 2}, u.ran("restart"))
		if sent := u.Calls().OfOp(simulator.OpRestart).Of("operate_*"); len(sent) != 1 {
			s.t.Errorf("sent %v, want the processes whose turn had not come", sent.APIs())
		}
	})
}

// What the next runs do with a task, on each face.
func TestProcessOperation_underWayThen(t *testing.T) {
	t.Parallel()
	refused := func(fault simulator.Fault) *simulator.Fault {
		fault.API, fault.Op = "get_proc*", new(simulator.OpRestart)
		return &fault
	}
	for name, c := range map[string]struct {
		hosts int
		fault *simulator.Fault
		then  func(*underWay)
		says  string // error of a first run, before the one that succeeds
		sent  []int
	}{
		// If the task shows that the operation failed, or shows nothing, the operation runs again.
		"failed":                    {hosts: 3, then: func(u *underWay) { u.Fails(2, 3) }, sent: []int{2, 3}},
		"forgotten":                 {hosts: 3, then: func(u *underWay) { u.Forgets() }, sent: []int{2, 3}},
		"state-of-an-older-release": {hosts: 3, then: func(u *underWay) { u.Private = nil }, sent: []int{2, 3}},
		// A failing platform refuses requests once or twice. That does not mean that the task is forgotten.
		"refused-once": {hosts: 1, fault: refused(simulator.Fault{EnvelopeCode: new(1306000), EnvelopeMessage: "system error", Times: 2}), then: func(u *underWay) { u.EndsWhileAsked() }},
		// Some platforms report a forgotten task with an HTTP status: here once, and then during a whole wait.
		"not-found": {hosts: 1, fault: refused(simulator.Fault{HTTPStatus: http.StatusNotFound, Body: `{"code":1000404,"message":"task not found","data":null}`, Times: 31}), then: func(*underWay) {}, sent: []int{1}},
		// If the task cannot be polled, it may still be in progress, and the following run polls it.
		"forbidden":   {hosts: 1, fault: refused(simulator.Fault{HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"message":"App has no permission to the resource"}`}), says: "the platform's result could not be read"},
		"bad-gateway": {hosts: 1, fault: refused(simulator.Fault{HTTPStatus: http.StatusBadGateway, Body: "<html>502</html>"}), says: "the platform's result could not be read"},
	} {
		onFaces(t, name, faces, func(s trial) {
			u := restartInterrupted(s.t, s.by, c.hosts)
			if c.fault != nil {
				u.Inject(*c.fault)
			}
			if c.says != "" {
				u.fails(s.t, c.says)
				u.Repair()
				u.Ends()
			} else {
				c.then(u)
			}
			var sent []string
			if c.sent != nil {
				sent = []string{operated(s.by, simulator.OpRestart, c.sent...)}
			}
			u.applied(s.t, sent...)
		})
	}
}

// A permission that has lapsed shows nothing about a task. The ESB reports it with HTTP 200, and each API is
// granted separately.
func TestProcessOperation_underWayDenied(t *testing.T) {
	t.Parallel()
	onFaces(t, "", []providertest.Face{providertest.FaceESB, providertest.FaceJOB}, func(s trial) {
		u := restartInterrupted(s.t, s.by, 1)
		u.Inject(simulator.Fault{API: "get_proc*", Op: new(simulator.OpRestart), EnvelopeCode: new(1306403), EnvelopeMessage: "APP permission is insufficient"})
		u.fails(s.t, "APP permission is insufficient")
		if sent := u.Calls().OfOp(simulator.OpRestart).Of("operate_*"); len(sent) > 0 {
			s.t.Errorf("sent %v", sent.APIs())
		}
		u.Repair()
		u.Ends()
		u.applied(s.t)
	})
}

// If a run ends before it tries a host, its earlier operation stays unconfirmed, and the next run asks.
func TestProcessOperation_underWayNotTried(t *testing.T) {
	t.Parallel()
	u := restartInterrupted(t, providertest.FaceESB, 3)
	u.config["rollout"] = map[string]any{"batch_size": 1}
	u.Inject(simulator.Fault{API: "operate_*", Code: new(simulator.CodeCommandFailed), Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2})})
	u.Fails(2)
	u.fails(t, "")
	if status := u.Reasons("failed_hosts")["web-3"]; !strings.HasPrefix(status, "not_tried") {
		t.Fatalf("web-3 is %q", status)
	}
	u.Repair()
	u.applied(t, providertest.Operated(7, 2))
}

// The result of a task says nothing about a later run whose answer was lost.
func TestProcessOperation_underWayForgotten(t *testing.T) {
	t.Parallel()
	u := restartInterrupted(t, providertest.FaceESB, 1)
	u.Ends()
	u.applied(t)
	u.config["triggers"] = map[string]string{"run": "2"}
	u.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Drop: "before"})
	u.fails(t, "")
	u.Repair()
	u.applied(t, providertest.Operated(simulator.OpRestart, 1))
}

// A task is polled with the name by which the operation was sent to its host. That is so even if the host
// was renamed several runs ago, and its earlier name is not known any more.
func TestProcessOperation_underWayRenamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after string }{
		"to-agent-id": {providertest.Address(1), agentID},
		"to-address":  {agentID, providertest.Address(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSlow(t, simulator.OpRestart)
			sim.EntryPerName = true
			sim.AddAgent(agentID, providertest.Address(1))
			providertest.NoError(t, sim.Register(c.before, "web", "nginx", nil, "{}"), sim.StartProcess(c.before, "web", "nginx"))
			resource := operationOf(t, sim.Sim, providertest.FaceGateway)
			resource.Fresh = func() *providertest.Protocol { return operationOf(t, sim.Sim, providertest.FaceGateway).Protocol }
			named := func(host string) map[string]any {
				return restartConfig(providertest.FaceGateway, 0, map[string]any{"hosts": map[string]string{"web-1": host}})
			}
			sim.Hangs()
			sim.Cut(resource, named(c.before), 5)
			if resource.Tainted {
				resource.Untaint()
			}
			sim.Repair()
			if said := sim.Cut(resource, named(c.after), 5); !said.Failed() {
				t.Fatalf("it is over; said: %s", said)
			}
			sim.Ends()
			resource.Applied(named(c.after))
			sim.Changed(t)
		})
	}
}
