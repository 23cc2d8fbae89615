package rollouts

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// What an update does on hosts that run, one in each wave, and what the updates after it do.
//
// Promised in rolling-restart.md: a bad declaration gets no further than the wave in which it
// fails.
//
// Promised in rollouts.md: Such hosts are registered and not operated, and the apply fails with `operation_unconfirmed`.
func TestOnUpdate_onEachHost(t *testing.T) {
	t.Parallel()
	plays(t, map[string]scenario{
		// A host is restarted before the next one is touched, and what does not run is left so.
		"restart": {faces, 3, nil, func(r *rollout) {
			r.rest(3)
			r.update("./v2.sh", "", "v2 restart", "v2 restart", "v2 down")
			providertest.Same(r.t, "restarted in this order", providertest.AddressList([]int{1, 2}), called(r.sim.Calls().OfOp(simulator.OpRestart)))
			r.wantSettled()
		}},
		"reload": {faces, 2, map[string]any{"on_update": "reload"}, func(r *rollout) {
			r.update("./v2.sh", "", "v2 reload", "v2 reload")
			r.wantSettled()
		}},
		"register": {faces, 2, map[string]any{"on_update": "register"}, func(r *rollout) {
			r.update("./v2.sh", "", "v2", "v2")
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
		// A rollout that stops leaves the hosts behind it as they were; the next apply goes on
		// from there and operates each host once.
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
		// Who goes back to the old spec restarts what had the new one, and nothing else.
		"goes-back": {twoFaces, 4, nil, func(r *rollout) {
			r.fail(2)
			r.update("./v2.sh", "on 3 of 4 hosts")
			r.sim.Repair()
			r.update("./v1.sh", "", "v1 restart", "v1 restart", "v1", "v1")
			r.wantPlanned("register anew 4 hosts: web-1…web-4\nrestart what runs on 2 hosts: web-1, web-2\nin 4 waves of 1")
			r.wantSettled()
		}},
		// A restart that took the process down is made good by a start, by the next declaration as well.
		"taken-down": {twoFaces, 2, nil, func(r *rollout) {
			r.fail(1)
			r.update("./v2.sh", "on 2 of 2 hosts")
			r.rest(1)
			r.sim.Repair()
			r.update("./v3.sh", "", "v3 start", "v3 restart")
			r.wantSettled()
		}},
		// Another pid tells that a restart happened whose answer was lost, the same one that it did not.
		"answer-lost-and-it-happened": {twoFaces, 2, nil, func(r *rollout) { r.losesAnswer("after", "v2") }},
		"answer-lost-and-it-did-not":  {twoFaces, 2, nil, func(r *rollout) { r.losesAnswer("before", "v2 restart") }},
		// A killed provider saves nothing. What it may have restarted is not restarted again
		// unasked: the apply after it says so, and the one after that restarts.
		"killed": {faces, 2, nil, func(r *rollout) {
			before := *r.kept
			r.fail(2)
			r.update("./v2.sh", "on 1 of 2 hosts")
			r.sim.Repair()
			*r.kept = providertest.Kept{State: before.State, Identity: before.Identity} // private state is not kept then
			r.apply("whether an apply that was cut off has operated it already is not known", "v2", "v2")
			r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "operation_unconfirmed"})

			r.apply("", "v2 restart", "v2 restart")
			r.wantSettled()
		}},
		// What a killed provider never came to is restarted by the next apply, where the platform tells.
		"killed-before": {withLabels, 2, nil, func(r *rollout) {
			r.kept.Private = nil
			r.update("./v2.sh", "", "v2 restart", "v2 restart")
			r.wantSettled()
		}},
		// Another owner's spec is replaced, and the process restarted, since the spec by which it runs is not known.
		"drift": {withLabels, 2, nil, func(r *rollout) {
			r.sim.Colleague(r.t, "web", "nginx", map[string]string{"by": "console"}, 2)
			r.apply("", "v1", "v1 restart")
			r.wantSettled()
		}},
		// Once the file has shown what was registered, what was there before is drift again.
		"registered-back": {withLabels, 2, map[string]any{"ensure": "running"}, func(r *rollout) {
			before, _ := r.sim.Process(providertest.Address(2), "web", "nginx")
			r.update("./v2.sh", "")
			r.wantSettled()
			r.must(r.sim.Register(providertest.Address(2), "web", "nginx", before.Labels, ""))
			r.apply("")
			r.wantPlanned("register anew 1 host, restart what runs on 1 host, start what does not run on 1 host: web-2")
			r.wantSettled()
		}},
	})
}

// losesAnswer loses the answer to the restart of the first host, before or after it happened.
func (r *rollout) losesAnswer(drop, after string) {
	r.t.Helper()
	r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{1}), Drop: drop})
	r.update("./v2.sh", "on 2 of 2 hosts")
	r.wantLeft(map[string]string{"web-1": "operation_unconfirmed", "web-2": "other_spec"})
	r.sim.Repair()
	r.apply("", after, "v2 restart")
	r.wantSettled()
}
