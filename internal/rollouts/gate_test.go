package rollouts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const tooMany = "too many hosts had failed before its wave"

// gated returns an object with a rollout in waves of two and a gate of half a minute, on the test's clock.
func gated(t *testing.T, by providertest.Face, on providertest.Operation, hosts int, more map[string]any) *rollout {
	t.Helper()
	r := newRollout(t, providertest.NewSim(t), by, on, hosts, map[string]any{
		"rollout": map[string]any{"batch_size": 2, "healthy": map[string]any{"stable_for": "30s", "within": "2m"}},
	})
	r.set(more)
	r.clock = new(providertest.Clock)
	r.newProvider()
	return r
}

// revive makes the agent of a host start the process again, so that it is healthy.
func (r *rollout) revive(n int) {
	r.t.Helper()
	providertest.NoError(r.t, r.sim.KillProcess(providertest.Address(n), r.namespace, r.name))
	r.sim.Tick()
}

func (r *rollout) cutAtPause(pause int) (said providertest.Diagnostics, cut bool) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	r.resource.Until = ctx
	r.clock.OnPause = func(pauses int) {
		if pauses == pause {
			cut = true
			cancel()
		}
	}
	_, said = r.resource.Apply(r.config)
	r.resource.Until, r.clock.OnPause = nil, nil
	return said, cut
}

// flaps makes what the operation starts on web-2 die at its second look and be revived, as many times as given.
func (r *rollout) flaps(op, dies, times int) {
	r.sim.Inject(simulator.Fault{Op: &op, Dies: dies, Revived: true, Times: times, Hosts: []string{providertest.Address(2)}})
}

func (r *rollout) warned() {
	r.t.Helper()
	_, said := r.resource.Apply(r.config)
	providertest.Check(r.t, said.Severity() == "warning", "want a warning, said: %s", said)
}

// The output of a health command at a gate of GSE must match.
func TestGate_output(t *testing.T) {
	t.Parallel()
	r := gated(t, providertest.FaceESB, providertest.OnOperate, 2, map[string]any{
		"operation": "start", "rollout": map[string]any{"healthy": map[string]any{"stable_for": "30s", "within": "2m", "output": "^ok"}},
	})
	spec, _ := r.config["spec"].(map[string]any)
	control, _ := spec["control"].(map[string]any)
	control["health_cmd"] = "./health.sh"
	for n, health := range map[int]string{1: "ok: 3 ports\n", 2: "not ok: disk full\n"} {
		r.sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Health: health, Hosts: []string{providertest.Address(n)}})
	}
	r.warned()
	r.wantReasons("failed_hosts", map[string]string{
		"web-2": `failed: not stable for 30s within 2m0s: what its health_cmd printed does not match "^ok": not ok: disk full`,
	})
}

// A hosted process that must run is watched after its start. If it fails, a refresh reports it as
// unhealthy until it has passed, even if it looks healthy at that moment. It is not started again then.
func TestGate_hosted(t *testing.T) {
	t.Parallel()
	onEach(t, "start", faces, func(t *testing.T, face providertest.Face) {
		t.Helper()
		r := gated(t, face, providertest.OnRun, 4, map[string]any{"ensure": "running"})
		r.flaps(simulator.OpStart, 2, 0)
		r.warned()
		unhealthy := map[string]string{
			"web-2": "unhealthy: not stable for 30s within 2m0s: it died and was started again and again: pids seen: 17",
			"web-3": "not_registered: not tried: " + tooMany, "web-4": "not_registered: not tried: " + tooMany,
		}
		r.wantReasons("out_of_sync", unhealthy)
		r.wantExecuted("start", 1, 2)
		said := r.resource.Refresh()
		providertest.Check(t, len(said) == 0, "a refresh said: %s", said)
		r.wantReasons("out_of_sync", unhealthy)

		r.sim.Repair()
		r.revive(2)
		r.apply("")
		r.wantExecuted("start", 3, 4)
		r.wantSettled()
	})
}

// A host whose gate was interrupted is watched by the next apply, and not started again.
func TestGate_interrupted(t *testing.T) {
	t.Parallel()
	r := gated(t, providertest.FaceESB, providertest.OnRun, 5, map[string]any{"ensure": "running"})
	if said, _ := r.cutAtPause(13); said.Severity() != "warning" { // at the second gate
		t.Errorf("said: %s", said)
	}
	const cut = "unhealthy: interrupted (it was operated on, and was not yet known to be stable)"
	r.wantReasons("out_of_sync", map[string]string{"web-3": cut, "web-4": cut, "web-5": "not_registered: not tried: interrupted before its wave"})
	r.resource.Applied(r.config)
	r.wantExecuted("start", 1, 2, 3, 4, 5)
	r.wantReasons("out_of_sync", nil)
}

// A restart that succeeded, but was not watched to the end, is not sent again: the host is watched, even if
// the platform has forgotten the task. With another spec it is restarted.
func TestGate_interruptedRestart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command  string
		forgets  bool
		restarts []int
	}{
		"same-spec":    {"./v1.sh", false, []int{1, 2}},
		"forgotten":    {"./v1.sh", true, []int{1, 2}},
		"another-spec": {"./v2.sh", false, []int{1, 1, 2, 2}},
	} {
		onEach(t, name, faces, func(t *testing.T, face providertest.Face) {
			t.Helper()
			r := gated(t, face, providertest.OnRestart, 2, map[string]any{"operation": "restart"})
			r.cutAtPause(3) // at the gate
			if r.resource.Tainted {
				r.resource.Untaint()
			}
			if c.forgets {
				for _, task := range r.sim.Tasks() {
					r.sim.ExpireTask(task.ID)
				}
			}
			r.declare(c.command)
			r.resource.Applied(r.config)
			r.wantExecuted("restart", c.restarts...)
			r.wantReasons("failed_hosts", nil)
		})
	}
}

// If an update restarts a host that then does not keep running, the rollout ends. The next apply watches the host again, and
// does not restart it.
func TestGate_onUpdate(t *testing.T) {
	t.Parallel()
	onEach(t, "restart", faces, func(t *testing.T, face providertest.Face) {
		t.Helper()
		r := gated(t, face, providertest.OnCreate, 4, map[string]any{"on_update": "restart"})
		r.runs()
		r.flaps(simulator.OpRestart, 2, 1)
		r.update("./v2.sh", "Unable to Update Hosted Process", "v2 restart", "v2 restart", "v1", "v1")
		r.wantLeft(map[string]string{"web-2": "unhealthy", "web-3": "other_spec", "web-4": "other_spec"})

		r.sim.Repair()
		r.revive(2)
		r.apply("")
		r.wantExecuted("restart", 3, 4)
		r.wantSettled()
	})
}

func rollsBack(more map[string]any) map[string]any {
	rollout := map[string]any{"batch_size": 1, "on_failure": "rollback"}
	maps.Copy(rollout, more)
	return map[string]any{"rollout": rollout}
}

func (r *rollout) reregistered() []string {
	var hosts []string
	for _, call := range r.sim.Calls() {
		if call.API == "update_proc_info" || call.Op == simulator.OpHost && call.API != r.by.ResultAPI() && !strings.HasPrefix(call.API, "get_") {
			hosts = append(hosts, call.Hosts...)
		}
	}
	return hosts
}

// wantUnchanged expects nothing to do with the earlier configuration, and a plan of the same change with the new one.
func (r *rollout) wantUnchanged(start string) {
	r.t.Helper()
	r.newProvider()
	plan, said := r.resource.Plan(r.config)
	providertest.Check(r.t, plan.Action == providertest.PlanUpdate && !said.Failed(), "the change is planned as %s: %s", plan.Action, said)
	r.declare(start)
	r.wantSettled()
}

// If more hosts fail than allowed, the changed hosts get the previous declaration
// back, the last one first, and are operated on once more. Hosts of later waves are not touched.
//
// Promised in rolling-restart.md: The apply fails and names what was tried and how each host ended.
// State keeps the previous declaration, so the next plan shows the same change again.
//
// Promised in reference: the hosts that it changed also get the previous declaration back, and the apply fails
// Promised in how-it-works.md: Ctrl-C or a deadline stops before the next wave and rolls nothing back.
func TestRollback_onEachHost(t *testing.T) {
	t.Parallel()
	plays(t, map[string]scenario{
		"all": {faces, 4, rollsBack(nil), func(r *rollout) {
			fingerprint := r.resource.Attribute("fingerprint")
			r.failOnce(3)
			said := r.update("./v2.sh", "Hosted Process Rolled Back", "v1 restart restart", "v1 restart restart", "v1 restart", "v1")
			r.wantLeft(map[string]string{})
			providertest.Same(r.t, "registered in this order", providertest.AddressList([]int{1, 2, 3, 3, 2, 1}), r.reregistered())
			providertest.Says(r.t, said, "on 2 of 4 hosts", "web-3 (0:10.0.0.4): 65535", "web-4 (0:10.0.0.5): not tried", "declaration again, and the process was restarted by it where it ran: web-1…web-3.")
			providertest.Same(r.t, "the fingerprint in state", fingerprint, r.resource.Attribute("fingerprint"))
			r.wantUnchanged("./v1.sh")
		}},
		// As long as no more hosts fail than allowed, nothing is rolled back.
		"within-tolerance": {twoFaces, 3, rollsBack(map[string]any{"max_failed_hosts": "1"}), func(r *rollout) {
			r.failOnce(2)
			r.update("./v2.sh", "Unable to Update Hosted Process", "v2 restart", "v2", "v2 restart")
			r.wantLeft(map[string]string{"web-2": "not_operated"})
			r.apply("", "v2", "v2 restart", "v2")
			r.wantSettled()
		}},
		// If a rollout with joining and leaving hosts is rolled back, the joining hosts stay, with the previous declaration, and none leaves.
		"hosts-come-and-go": {faces, 3, rollsBack(nil), func(r *rollout) {
			r.hosts = 4
			r.declare("./v2.sh")
			hosts := providertest.HostsOf(4)
			delete(hosts, "web-3")
			r.set(map[string]any{"hosts": hosts})
			r.set(rollsBack(map[string]any{"canary": []string{"web-4"}}))
			r.failOnce(2)
			r.apply("These hosts joined and are in state now", "v1 restart restart", "v1 restart", "v1", "v1 down")
			r.wantReasons("hosts", providertest.HostsOf(4))
			r.apply("", "v2 restart", "v2 restart", "", "v2 down")
			r.wantSettled()
		}},
		// A host that an earlier rollout did not reach cannot go back to a declaration that it never had.
		"behind": {twoFaces, 4, nil, func(r *rollout) {
			r.failOnce(2)
			r.update("./v2.sh", "Unable to Update Hosted Process", "v2 restart", "v2", "v1", "v1")
			r.set(rollsBack(nil))
			r.failOnce(4)
			said := r.update("./v3.sh", "it did not run with the previous declaration either", "v2 restart restart", "v2 restart restart", "v3 restart", "v3")
			r.wantLeft(map[string]string{"web-3": "other_spec", "web-4": "other_spec"})
			providertest.Says(r.t, said, "Rolled Back In Part")
		}},
		// A deadline rolls nothing back.
		"not-after-a-deadline": {twoFaces, 2, rollsBack(nil), func(r *rollout) {
			r.set(map[string]any{"timeouts": map[string]any{"update": "3s"}})
			r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Pending: -1})
			said := r.update("./v2.sh", "Unable to Update Hosted Process")
			// How far it got by then depends on the speed of the machine.
			if hosts := r.reregistered(); len(hosts) != len(slices.Compact(slices.Sorted(slices.Values(hosts)))) || strings.Contains(said, "Rolled Back") {
				r.t.Errorf("registered: %v; said: %s", hosts, said)
			}
			r.sim.Repair()
			delete(r.config, "timeouts")
			r.apply("")
			r.wantSettled()
		}},
		// Nor does an interrupt.
		"not-after-an-interrupt": {twoFaces, 2, rollsBack(nil), func(r *rollout) {
			r.declare("./v2.sh")
			r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Pending: -1})
			r.newProvider()
			r.sim.ResetCalls()
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				providertest.Eventually(r.t, "a restart", func() bool { return len(r.sim.Calls().OfOp(simulator.OpRestart)) > 0 })
				_, _ = r.resource.Server.StopProvider(r.t.Context(), nil)
			}()
			_, said := r.resource.Apply(r.config)
			providertest.Check(r.t, said.Failed() && !strings.Contains(said.String(), "Rolled Back"), "said: %s", said)
			<-stopped
			providertest.Same(r.t, "registered", providertest.AddressList([]int{1}), r.reregistered())
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
		}},
	})
}
