package rollouts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What an update does on running hosts, one in each wave, and what the following updates do.
//
// Promised in rolling-restart.md: a bad declaration gets no further than the wave in which it fails.
//
// Promised in rollouts.md: Such hosts are registered and not operated, and the apply fails with `operation_unconfirmed`.
func TestOnUpdate_onEachHost(t *testing.T) {
	t.Parallel()
	plays(t, map[string]scenario{
		// A host is restarted before the next one is touched. A process that does not run is not started.
		"restart": {faces, 3, nil, func(r *rollout) {
			r.rest(3)
			r.update("./v2.sh", "", "v2 restart", "v2 restart", "v2 down")
			providertest.Same(r.t, "restarted in this order", providertest.AddressList([]int{1, 2}), called(r.sim.Calls().OfOp(simulator.OpRestart)))
			r.wantSettled()
		}},
		// Neither changed labels nor hosts that join operate anything.
		"labels-and-a-new-host": {withLabels, 2, nil, func(r *rollout) {
			r.hosts = 3
			r.declare("./v1.sh")
			r.label("sre")
			r.apply("", "v1", "v1", "v1 down")
			r.wantSettled()
		}},
		// A rollout that stops leaves the remaining hosts as they were. The next apply continues there and operates on each host once.
		"goes-on": {faces, 4, nil, func(r *rollout) {
			r.fail(2)
			r.update("./v2.sh", "on 3 of 4 hosts", "v2 restart", "v2", "v1", "v1")
			r.wantPlanned("register anew 4 hosts, restart what runs on 4 hosts: web-1…web-4\nin 4 waves of 1")
			r.wantLeft(map[string]string{"web-2": "not_operated", "web-3": "other_spec", "web-4": "other_spec"})

			r.sim.Repair()
			r.apply("", "v2", "v2 restart", "v2 restart", "v2 restart")
			r.wantPlanned("register anew 2 hosts: web-3, web-4\nrestart what runs on 3 hosts: web-2…web-4\nhost what is not hosted on 1 host: web-2\nin 3 waves of 1")
			r.wantSettled()
		}},
		// Going back to the old spec restarts only the hosts that had the new one. The plan does not know which processes run.
		"goes-back": {withLabels, 4, nil, func(r *rollout) {
			r.fail(2)
			r.update("./v2.sh", "on 3 of 4 hosts")
			r.sim.Repair()
			r.update("./v1.sh", "", "v1 restart", "v1 restart", "v1", "v1")
			r.wantPlanned("again: register anew 4 hosts, restart what runs on 4 hosts: web-1…web-4\nin 4 waves of 1")
			r.wantSettled()
		}},
		// A killed provider saves nothing. A process that it may have restarted is not restarted again
		// without notice: the next apply reports it, and the one after that restarts.
		"killed": {faces, 2, nil, func(r *rollout) {
			before := *r.kept
			r.fail(2)
			r.update("./v2.sh", "on 1 of 2 hosts")
			r.sim.Repair()
			*r.kept = providertest.Kept{State: before.State, Identity: before.Identity} // private state is not kept then
			r.apply("it is unknown whether an interrupted apply has operated it", "v2", "v2")
			r.wantPlanned("register anew what differs on 2 hosts, restart what runs on 2 hosts, host what is not hosted on 2 hosts: web-1, web-2\nin 2 waves of 1")
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "operation_unconfirmed"})

			r.apply("", "v2 restart", "v2 restart")
			r.wantSettled()
		}},
		// Another owner's spec is replaced, and the process is restarted, since the spec that it was started with is unknown.
		"drift": {withLabels, 2, nil, func(r *rollout) {
			r.sim.Colleague(r.t, "web", "nginx", map[string]string{"by": "console"}, 2)
			r.apply("", "v1", "v1 restart")
			r.wantSettled()
		}},
		// Once the cached status has shown the new registration, an earlier spec there is drift again.
		"registered-back": {withLabels, 2, map[string]any{"ensure": "running"}, func(r *rollout) {
			before, _ := r.sim.Process(providertest.Address(2), "web", "nginx")
			r.update("./v2.sh", "")
			r.wantSettled()
			providertest.NoError(r.t, r.sim.Register(providertest.Address(2), "web", "nginx", before.Labels, ""))
			r.apply("")
			r.wantPlanned("register anew 1 host, restart what runs on 1 host, start what does not run on 1 host: web-2")
			r.wantSettled()
		}},
	})
}

// timed is a platform with two options. It may keep the time of a registration when the process is
// registered again, started or hosted. And its cached status may stay unchanged.
type timed struct {
	by            providertest.Face
	keeps, frozen bool
}

// allTimed are all such platforms at the ESB. The gateway only differs in the call that registers, which is
// played with an agent that keeps the time and a cached status that does not change.
var allTimed = []timed{
	{by: providertest.FaceESB}, {by: providertest.FaceESB, keeps: true}, {by: providertest.FaceESB, frozen: true},
	{by: providertest.FaceESB, keeps: true, frozen: true}, {by: providertest.FaceGateway, keeps: true, frozen: true},
}

func onTimed(t *testing.T, name string, hosts int, more map[string]any, play func(*rollout, timed)) {
	t.Helper()
	for _, p := range allTimed {
		t.Run(fmt.Sprintf("%s/%s,keeps-times=%t,frozen=%t", name, p.by, p.keeps, p.frozen), func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.ReregisteringKeepsTime, sim.StartingKeepsTime, sim.HostingKeepsTime = p.keeps, p.keeps, p.keeps
			r := begunAt(t, sim, p.by, hosts, more)
			if p.frozen {
				sim.FreezeStatus()
			}
			play(r, p)
		})
	}
}

// An update that registered and operated is complete, whatever earlier picture the cached status shows.
func TestOnUpdate_notRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"registered", "restart"}, {"hosted", "reload"}, {"running", "restart"}, {"running", "reload"}} {
		ensure, operation := c[0], c[1]
		onTimed(t, ensure+","+operation, 2, map[string]any{"ensure": ensure, "on_update": operation}, func(r *rollout, p timed) {
			if ensure == "registered" && p.by == providertest.FaceGateway {
				r.t.Skip("the gateway registers by hosting")
			}
			r.update("./v2.sh", "", "v2 "+operation, "v2 "+operation)
			r.wantSettled()

			r.label("sre")
			r.apply("", "v2", "v2")
			r.wantSettled()

			r.update("./v1.sh", "") // with the earlier label
			r.want("v1 "+operation, "v1 "+operation)
			r.wantSettled()
			r.sim.ThawStatus()
			r.wantSettled()
		})
	}
}

// A provider that is killed together with Terraform does not change state. Hosts that it did not reach are operated on. For the
// others the apply reports that the outcome is unknown, so none is operated on again without being named.
//
// Promised in rolling-restart.md: Otherwise the apply names these hosts and fails; the next one restarts them.
func TestOnUpdate_killed(t *testing.T) {
	t.Parallel()
	for operation, op := range map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload} {
		onTimed(t, operation, 4, map[string]any{"ensure": "running", "on_update": operation}, func(r *rollout, p timed) {
			before := *r.kept
			r.sim.Inject(failing(op, 2))
			r.update("./v2.sh", "on 3 of 4 hosts", "v2 "+operation, "v2", "v1", "v1")
			r.sim.ClearFaults()
			*r.kept = before

			if operation == "reload" && p.keeps && p.frozen {
				// The pid is the same, and neither the agent nor the cached status shows a registration.
				// Only in this case is a reload repeated.
				r.apply("", "v2 reload", "v2 reload", "v2 reload", "v2 reload")
				return
			}
			said := r.apply("whether an interrupted apply")
			if operation == "restart" { // another pid shows which were restarted
				r.want("v2", "v2 restart", "v2 restart", "v2 restart")
				r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
			}
			for n, seen := range r.seen() {
				if key := providertest.HostKey(n + 1); n < 2 && strings.Contains(seen, operation) == strings.Contains(said, key) {
					r.t.Errorf("%s: %s; said: %s", key, seen, said)
				}
			}
			r.apply("")
			r.wantSettled()
		})
	}
}

var secondIsSilent = providertest.AddressList([]int{1, 4, 2, 3})

// called returns the hosts in the order in which changing calls reached them.
func called(calls simulator.CallList) []string {
	var order []string
	for _, call := range calls {
		if strings.HasPrefix(call.API, "get_") || call.Op == simulator.OpQuery || call.API == "sync_proc_status" {
			continue
		}
		for _, host := range call.Hosts {
			if !slices.Contains(order, host) {
				order = append(order, host)
			}
		}
	}
	return order
}

// A host whose agent did not answer the last refresh is next after the first wave.
func TestSilent_hosted(t *testing.T) {
	t.Parallel()
	onEach(t, "update", withLabels, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r := begun(t, by, 4, map[string]any{"on_update": "register", "rollout": map[string]any{"batch_size": 1, "max_failed_hosts": "4"}})
		providertest.NoError(r.t, r.sim.Unregister(providertest.Address(4), r.namespace, r.name))
		r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: []string{providertest.Address(4)}, Unreachable: "117"})
		r.declare("./v2.sh")
		r.sim.ResetCalls()
		r.newProvider()
		r.resource.Apply(r.config)
		providertest.Same(t, "the order of the waves", secondIsSilent, called(r.sim.Calls()))
		providertest.Same(t, "web-1", "v2", r.seen()[0])

		r.sim.Repair()
		r.apply("")
		r.update("./v3.sh", "")
		providertest.Same(t, "the order once it answers again", providertest.AddressList([]int{1, 2, 3, 4}), called(r.sim.Calls()))
	})
}

// A host from which an operation got no result is next after the first wave of the next run.
func TestSilent_operation(t *testing.T) {
	t.Parallel()
	r := newRollout(t, providertest.NewSim(t), providertest.FaceESB, providertest.OnRestart, 4, map[string]any{
		"operation": "restart", "rollout": map[string]any{"batch_size": 1, "wave_timeout": "1s", "max_failed_hosts": "1"},
	})
	for _, address := range providertest.AddressList(providertest.HostNumbers(4)) {
		providertest.NoError(r.t, running(r.sim, r.by, address))
	}
	r.sim.Inject(simulator.Fault{API: "operate_*", Hosts: []string{providertest.Address(4)}, Unreachable: "pending"})
	r.resource.Apply(r.config)
	if reasons := r.resource.Reasons("failed_hosts"); len(reasons) != 1 {
		t.Fatal(reasons)
	}
	providertest.Same(t, "the first order", providertest.AddressList([]int{1, 2, 3, 4}), called(r.sim.Calls()))

	r.sim.Repair()
	r.set(map[string]any{"triggers": map[string]string{"run": "2"}})
	r.apply("")
	providertest.Same(t, "the next order", secondIsSilent, called(r.sim.Calls()))
}

// cutAtPoll applies the configuration, and interrupts it once the result has been polled that many times.
func (r *rollout) cutAtPoll(s *providertest.Slow, polls int64) providertest.Diagnostics {
	r.t.Helper()
	r.sim.ResetCalls()
	r.newProvider()
	return s.Cut(r.resource, r.config, polls)
}

// waitsInVain expects an apply that is interrupted while it waits for the operation in progress to fail and to send nothing.
func (r *rollout) waitsInVain(s *providertest.Slow, left map[string]string) {
	r.t.Helper()
	said := r.cutAtPoll(s, 4)
	providertest.Check(r.t, said.Failed(), "it succeeded: %s", said)
	r.wantLeft(left)
	changes := r.sim.Changes()
	providertest.Check(r.t, len(changes) == 0, "sent %v", changes)
}

func (r *rollout) wantSent(op, times int) {
	r.t.Helper()
	sent := r.sim.Calls().OfOp(op).On(providertest.Address(1)).Of("operate_*")
	providertest.Check(r.t, len(sent) == times, "sent %v, want it %d times", sent.APIs(), times)
}

var onUpdateOps = map[string]int{"restart": simulator.OpRestart, "reload": simulator.OpReload}

func failsFirst(s *providertest.Slow) { s.Fails(1) }

// beginsSlowly returns a rollout over two hosts whose apply ended while the operation of on_update was in progress on the first.
func beginsSlowly(t *testing.T, by providertest.Face, onUpdate string) (*rollout, *providertest.Slow) {
	t.Helper()
	s := providertest.NewSlow(t, onUpdateOps[onUpdate])
	r := begunAt(t, s.Sim, by, 2, map[string]any{"on_update": onUpdate})
	s.Hangs(1)
	r.declare("./v2.sh")
	if said := r.cutAtPoll(s, 4); !said.Failed() {
		t.Fatal("it succeeded")
	}
	r.want("v2", "v1")
	r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
	r.sim.ClearFaults()
	return r, s
}

// startsSlowly returns a create over two hosts, interrupted while the start was in progress on the first. The second one runs.
func startsSlowly(t *testing.T, by providertest.Face) (*rollout, *providertest.Slow) {
	t.Helper()
	s := providertest.NewSlow(t, simulator.OpStart)
	r := newRollout(t, s.Sim, by, providertest.OnRun, 2, ensure("running"))
	s.Hangs(1)
	if said := r.cutAtPoll(s, 4); said.Failed() {
		t.Fatalf("said: %s", said)
	}
	r.want("v1 down", "v1 start")
	r.wantLeft(map[string]string{"web-1": "not_running"})
	r.sim.ClearFaults()
	return r, s
}

func onEach(t *testing.T, name string, at []providertest.Face, play func(*testing.T, providertest.Face)) {
	t.Helper()
	for _, by := range providertest.Through(t, name, at) {
		t.Run(name+"/"+string(by), func(t *testing.T) {
			t.Parallel()
			play(t, by)
		})
	}
}

// An operation of on_update that is in progress when its apply ends reaches its agent once. The next
// apply polls its task, and waits while it is in progress.
//
// Promised in rolling-restart.md: The next apply waits for a restart that was still under way.
func TestOnUpdate_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at       []providertest.Face
		onUpdate string
		then     func(*providertest.Slow)
		sent     int    // further operations on the first host
		first    string // its state after that
	}{
		"restart-waited-for": {faces, "restart", (*providertest.Slow).EndsWhileAsked, 0, "v2 restart"},
		"restart-failed":     {twoFaces, "restart", failsFirst, 1, "v2 restart restart"},
		"restart-forgotten":  {twoFaces, "restart", (*providertest.Slow).Forgets, 1, "v2 restart"},
		"reload-over":        {faces, "reload", (*providertest.Slow).Ends, 0, "v2 reload"},
	} {
		onEach(t, name, c.at, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := beginsSlowly(t, by, c.onUpdate)
			c.then(s)
			r.apply("", c.first, "v2 "+c.onUpdate)
			r.wantSent(onUpdateOps[c.onUpdate], c.sent)
			r.wantSettled()
		})
	}
	// An apply that waits in vain keeps the task, and the next one polls it again.
	onEach(t, "for-long", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		r, s := beginsSlowly(t, by, "reload")
		r.waitsInVain(s, map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
		s.Ends()
		r.apply("", "v2 reload", "v2 reload")
		r.wantSettled()
	})
}

// The same holds for the start of ensure = "running".
func TestEnsureRunning_underWay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		then func(*providertest.Slow)
		sent int // further operations
	}{
		"over": {(*providertest.Slow).Ends, 0}, "waited-for": {(*providertest.Slow).EndsWhileAsked, 0}, "failed-and-runs": {failsFirst, 0}, "forgotten": {(*providertest.Slow).Forgets, 1},
	} {
		onEach(t, name, faces, func(t *testing.T, by providertest.Face) {
			t.Helper()
			r, s := startsSlowly(t, by)
			c.then(s)
			r.apply("", "v1 start", "v1")
			r.wantSent(simulator.OpStart, c.sent)
			r.wantExecuted("start", 1)
			r.wantSettled()
		})
	}
}

// An operation in progress when a rollback ends is also waited for, by an apply of the declaration that was rolled back to.
func TestRollback_underWay(t *testing.T) {
	t.Parallel()
	onEach(t, "restart", faces, func(t *testing.T, by providertest.Face) {
		t.Helper()
		s := providertest.NewSlow(t, simulator.OpRestart)
		r := begunAt(t, s.Sim, by, 2, rollsBack(nil))
		r.declare("./v2.sh")
		r.failOnce(2)
		s.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{1}), Command: "./v1.sh", Takes: time.Hour})
		said := r.cutAtPoll(s, 12)
		providertest.Check(t, strings.Contains(said.String(), "Rolled Back In Part"), "said: %s", said)
		r.wantLeft(map[string]string{"web-1": "operation_unconfirmed"})
		r.sim.ClearFaults()
		s.Ends()
		r.update("./v1.sh", "", "v1 restart", "v1")
		r.wantSent(simulator.OpRestart, 0)
		r.wantSettled()
	})
}
