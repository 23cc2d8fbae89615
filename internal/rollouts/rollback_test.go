package rollouts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// rollsBack has a rollout go back, one host in each wave.
func rollsBack(more map[string]any) map[string]any {
	rollout := map[string]any{"batch_size": 1, "on_failure": "rollback"}
	maps.Copy(rollout, more)
	return map[string]any{"rollout": rollout}
}

// reregistered are the hosts that were registered anew, in the order of the calls.
func (r *rollout) reregistered() []string {
	var hosts []string
	for _, call := range r.sim.Calls() {
		if call.API == "update_proc_info" || call.Op == simulator.OpHost && call.API != r.by.ResultAPI() && !strings.HasPrefix(call.API, "get_") {
			hosts = append(hosts, call.Hosts...)
		}
	}
	return hosts
}

// wantUnchanged expects that the configuration of before has nothing left to do, and that the change shows again.
func (r *rollout) wantUnchanged(start string) {
	r.t.Helper()
	r.anew()
	if plan, said := r.resource.Plan(r.config); plan.Action != providertest.PlanUpdate || said.Failed() {
		r.t.Errorf("the change is planned as %s: %s", plan.Action, said)
	}
	r.declare(start)
	r.wantSettled()
}

// When more hosts fail than may, those that were changed get the previous declaration
// back, the last one first, and are operated once more. Nothing behind them is touched.
//
// Promised in rolling-restart.md: The apply fails and names what was tried and how each host ended.
// State keeps the previous declaration, so the next plan shows the same change again.
//
// Promised in reference: the hosts that it changed also get the previous declaration back, and the apply fails
// Promised in how-it-works.md: Ctrl-C or a deadline stops before the next wave and rolls nothing
// back.
func TestRollback_onEachHost(t *testing.T) {
	t.Parallel()
	plays(t, map[string]scenario{
		"all": {faces, 4, rollsBack(nil), func(r *rollout) {
			fingerprint := r.resource.Attribute("fingerprint")
			r.failOnce(3)
			said := r.update("./v2.sh", "Hosted Process Rolled Back", "v1 restart restart", "v1 restart restart", "v1 restart", "v1")
			r.wantLeft(map[string]string{})
			providertest.Same(r.t, "registered in this order", providertest.AddressList([]int{1, 2, 3, 3, 2, 1}), r.reregistered())
			r.says(said, "on 2 of 4 hosts", "web-3 (0:10.0.0.4): 65535", "web-4 (0:10.0.0.5): not tried", "declaration again, and the process was restarted by it where it ran: web-1…web-3.")
			providertest.Same(r.t, "the fingerprint in state", fingerprint, r.resource.Attribute("fingerprint"))
			r.wantUnchanged("./v1.sh")
		}},
		// Fewer failures than may be are no reason to go back.
		"within-tolerance": {twoFaces, 3, rollsBack(map[string]any{"max_failed_hosts": "1"}), func(r *rollout) {
			r.failOnce(2)
			r.update("./v2.sh", "Unable to Update Hosted Process", "v2 restart", "v2", "v2 restart")
			r.wantLeft(map[string]string{"web-2": "not_operated"})
			r.apply("", "v2", "v2 restart", "v2")
			r.wantSettled()
		}},
		// Hosts that join a rollout which goes back stay, with the previous declaration; hosts
		// that were to leave have not left.
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
		// Without on_update the registration goes back, and nothing is operated.
		"registers": {faces, 3, map[string]any{"on_update": nil, "rollout": rollsBack(nil)["rollout"]}, func(r *rollout) {
			target := r.by.Target(providertest.OnUpdate)
			r.sim.Inject(simulator.Fault{API: target.API, Op: target.Op, Hosts: providertest.AddressList([]int{2}), Code: new(117), Times: 1})
			r.update("./v2.sh", "Hosted Process Rolled Back", "v1", "v1", "v1")
			r.wantUnchanged("./v1.sh")
		}},
		// A host that an earlier rollout did not come to cannot go back to what it never had.
		"behind": {twoFaces, 4, nil, func(r *rollout) {
			r.failOnce(2)
			r.update("./v2.sh", "Unable to Update Hosted Process", "v2 restart", "v2", "v1", "v1")
			r.set(rollsBack(nil))
			r.failOnce(4)
			said := r.update("./v3.sh", "it did not have the previous declaration either", "v2 restart restart", "v2 restart restart", "v3 restart", "v3")
			r.wantLeft(map[string]string{"web-3": "other_spec", "web-4": "other_spec"})
			r.says(said, "Rolled Back In Part")
		}},
		// A deadline rolls nothing back.
		"not-after-a-deadline": {twoFaces, 2, rollsBack(nil), func(r *rollout) {
			r.set(map[string]any{"timeouts": map[string]any{"update": "3s"}})
			r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Pending: -1})
			said := r.update("./v2.sh", "Unable to Update Hosted Process")
			// How far it came by then is the machine's to say.
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
			r.anew()
			r.sim.ResetCalls()
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				providertest.Eventually(r.t, "a restart", func() bool { return len(r.sim.Calls().OfOp(simulator.OpRestart)) > 0 })
				_, _ = r.resource.Server.StopProvider(r.t.Context(), nil)
			}()
			if _, said := r.resource.Apply(r.config); !said.Failed() || strings.Contains(said.String(), "Rolled Back") {
				r.t.Errorf("said: %s", said)
			}
			<-stopped
			providertest.Same(r.t, "registered", providertest.AddressList([]int{1}), r.reregistered())
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
		}},
	})
}
