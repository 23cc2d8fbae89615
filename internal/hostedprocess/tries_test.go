package hostedprocess_test

import (
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// The record of a tried operation is kept as long as it is needed and no longer, whatever comes next.
func TestTries(t *testing.T) {
	t.Parallel()
	restart := attribute("on_update", "restart")
	rollsBack := func(hosts int) map[string]any {
		return attribute("rollout", map[string]any{"batch_size": hosts, "on_failure": "rollback"})
	}
	// another tool registers and starts its own process on web-2
	anothers := func(w *world) int {
		w.do(w.sim.StopProcess, 2)
		w.colleague(2)
		return w.at(2).PID
	}
	started := func(w *world, more ...map[string]any) *providertest.Core {
		o := w.object()
		o.Applied(w.declares(2, more...))
		w.do(w.sim.StartProcess, 1, 2)
		return o
	}
	// web-2 is unregistered, and the answer to registering it again is lost. The next apply replaces the process.
	registeringLost := func(w *world, first map[string]any, next func(*providertest.Core, map[string]any) (providertest.PlanKind, providertest.Diagnostics)) {
		o := started(w, restart)
		w.do(w.sim.Unregister, 2)
		pid := w.at(2).PID
		w.on("register_proc_info", simulator.Fault{Drop: "after"}, 2)
		o.Protocol = w.open()
		o.Apply(first)
		w.repair()
		providertest.Same(w, "out_of_sync", "unconfirmed", codes(o)["web-2"])
		o.Protocol = w.open()
		next(o, w.changed(2, restart))
		providertest.Check(w, w.at(2).PID != pid, "out_of_sync: %v, and the previous process still runs", codes(o))
	}

	for name, c := range map[string]struct {
		faces []providertest.Face
		play  func(*world)
	}{
		"another-tool-after-an-unconfirmed-try": {gse, func(w *world) {
			o, _, pass := w.restarting()
			w.repair()
			pass()
			pid := anothers(w)
			o.Protocol = w.open()
			o.Refresh()
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart))
			providertest.Check(w, w.at(2).PID != pid, "out_of_sync: %v, and the other tool's process still runs", codes(o))
		}},
		"another-tool-and-a-rollback": {gse, func(w *world) {
			o := started(w, restart, rollsBack(2))
			pid := anothers(w)
			w.on("update_proc_info", once(failing), 2)
			o.Protocol = w.open()
			_, said := o.Apply(w.changed(2, restart, rollsBack(2)))
			providertest.Check(w, w.at(2).PID != pid || tells(said, "it did not run with the previous declaration either"), "said: %s", said)
		}},
		"unregistered-and-refused-once": {each, func(w *world) {
			o := started(w, restart)
			w.do(w.sim.Unregister, 2)
			pid := w.at(2).PID
			w.on("register_proc_info", failing, 2)
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart))
			w.repair()
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart))
			providertest.Check(w, w.at(2).PID != pid, "out_of_sync: %v, and the previous process still runs", codes(o))
		}},
		"unregistered-and-the-answer-was-lost": {gse, func(w *world) {
			registeringLost(w, w.changed(2, restart), (*providertest.Core).Apply)
		}},
		"unregistered-lost-and-not-refreshed": {gse, func(w *world) { // so it is still unconfirmed
			registeringLost(w, w.changed(2, restart), (*providertest.Core).ApplyUnrefreshed)
		}},
		"unregistered-lost-then-changed": {gse, func(w *world) { // the previous declaration runs, though it may not be registered
			registeringLost(w, w.declares(2, restart), (*providertest.Core).ApplyUnrefreshed)
		}},
		"not-rolled-back-and-revived": {gse, func(w *world) {
			running, pass := attribute("ensure", "running"), w.passing()
			o := w.object()
			o.Applied(w.declares(2, restart, running, rollsBack(1)))
			pass()
			w.onOp(simulator.OpRestart, failing, 2)
			w.on("update_proc_info", after(failing), 1)
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart, running, rollsBack(1)))
			w.repair()
			pass()
			w.do(w.sim.KillProcess, 1)
			w.sim.Tick()
			pid := w.at(1).PID
			o.Protocol = w.open()
			_, said := o.Apply(w.declares(2, restart, running, rollsBack(1)))
			providertest.Check(w, w.at(1).PID != pid || said.Failed(), "out_of_sync: %v, and web-1 runs what was rolled back", codes(o))
		}},
		"dies-before-each-apply-after-a-kill": {gse, func(w *world) {
			pass := w.passing()
			o := started(w, restart)
			pass()
			kept := *o.Kept
			w.sim.FreezeStatus()
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart))
			*o.Kept = kept // killed with Terraform
			for range 3 {
				pass()
				w.do(w.sim.KillProcess, 1, 2)
				w.sim.Tick()
				o.Protocol = w.open()
				if _, said := o.Apply(w.changed(2, restart)); !said.Failed() {
					return
				}
				w.sim.ThawStatus()
			}
			w.Errorf("never in sync: %v", codes(o))
		}},
		"unregistered-refused-and-destroyed": {each, func(w *world) {
			stops := attribute("on_destroy", "stop")
			o := started(w, stops)
			w.do(w.sim.Unregister, 2)
			w.on("register_proc_info", failing, 2)
			o.Protocol = w.open()
			o.Apply(w.declares(2, stops))
			w.repair()
			o.Protocol = w.open()
			o.Applied(nil)
			providertest.Check(w, !w.at(2).Running, "web-2 still runs")
		}},
		"taken-down-and-rolled-back-without-an-operation": {each, func(w *world) {
			o := started(w, restart)
			w.onOp(simulator.OpRestart, failing, 2)
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart))
			w.repair()
			w.do(w.sim.StopProcess, 2)
			w.on("update_proc_info", failing, 1)
			o.Protocol = w.open()
			_, said := o.Apply(startedBy(w.by, "./start.sh -z", 2, attribute("on_update", "register"), rollsBack(1)))
			providertest.Says(w, said.String(), "Rolled Back")
			w.repair()
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart))
			providertest.Check(w, w.at(2).Running, "web-2 does not run; %v", codes(o))
		}},
		"neither-registered-nor-rolled-back": {gse, func(w *world) {
			running := attribute("ensure", "running")
			o := w.object()
			o.Applied(w.declares(2, restart, running, rollsBack(2)))
			pid := w.at(1).PID
			w.on("update_proc_info", failing, 1)
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart, running, rollsBack(2)))
			w.repair()
			o.Protocol = w.open()
			o.Apply(w.declares(2, restart, running, rollsBack(2)))
			providertest.Check(w, w.at(1).PID == pid, "process %d became %d", pid, w.at(1).PID)
		}},
		"labels-are-rolled-back-where-it-was-just-started": {each, func(w *world) {
			running := attribute("ensure", "running")
			o := w.object()
			o.Applied(w.declares(2, restart, running, rollsBack(1)))
			w.do(w.sim.StopProcess, 1)
			w.on("update_proc_info", once(failing), 2)
			config := w.declares(2, restart, running, rollsBack(1))
			config["meta"] = labelled(map[string]any{"team": "sre"})["meta"]
			w.sim.ResetCalls()
			o.Protocol = w.open()
			o.Apply(config)
			providertest.Check(w, w.sim.Calls().OfOp(simulator.OpRestart).HostCalls("operate_*") == 0, "restarted: %v", w.sim.Changes())
		}},
		"start-under-way-beside-a-restart-that-is-over": {[]providertest.Face{gateway}, func(w *world) { // its agents know whether it is registered
			o, cut, pass := w.restarting()
			w.repair()
			pass()
			on := func(ensure string) map[string]any {
				return w.changed(2, attribute("on_update", "register"), attribute("ensure", ensure))
			}
			o.Protocol = w.open()
			o.Applied(on("hosted"))
			w.do(w.sim.StopProcess, 2)
			w.onOp(simulator.OpStart, simulator.Fault{Takes: 5 * time.Hour}, 2)
			cut.Apply(o, on("running"))
			w.do(w.sim.StopProcess, 1, 2)
			w.do(w.sim.Unregister, 1, 2)
			o.Protocol = w.open()
			o.Refresh()
			providertest.Check(w, !o.State.IsNull(), "no longer in state, and a start may still take effect")
		}},
		"start-under-way-and-rolled-back": {each, func(w *world) {
			cut, pass := w.polled()
			o := w.object()
			o.Applied(w.declares(2))
			w.onOp(simulator.OpStart, simulator.Fault{Takes: time.Hour, Times: 1}, 2)
			o.Protocol = w.open()
			_, said := o.Apply(w.changed(2, attribute("ensure", "running"), attribute("rollout", map[string]any{"batch_size": 2, "wave_timeout": "1s", "on_failure": "rollback"})))
			providertest.Says(w, said.String(), "Rolled Back")
			said = cut.Apply(o, nil)
			w.repair()
			pass()
			p := w.at(2)
			providertest.Check(w, said.Failed() || !p.Hosted && !p.Running, "destroyed, and web-2 is hosted %t, running %t", p.Hosted, p.Running)
		}},
		"hosting-never-ends-and-reverted": {[]providertest.Face{gateway}, func(w *world) { // hosting registers
			more := attribute("rollout", map[string]any{"batch_size": 1, "wave_timeout": "1s"})
			o := w.object()
			o.Applied(w.declares(2, more))
			w.on("update_proc_info", simulator.Fault{Unreachable: "pending", Times: 1}, 2)
			for _, config := range []map[string]any{w.changed(2, more), w.declares(2, more)} {
				o.Protocol = w.open()
				o.Apply(config)
			}
			w.repair()
			o.Protocol = w.open()
			_, said := o.Apply(w.declares(2, more))
			o.Protocol = w.open()
			plan, _ := o.Plan(w.declares(2, more))
			providertest.Check(w, plan.Action == providertest.PlanNothing && !said.Failed(), "as declared, but it plans %s; said: %s", plan.Action, said)
		}},
		"killed-after-two-that-failed": {gse, func(w *world) {
			w.sim.StartingKeepsTime = true
			running, pass := attribute("ensure", "running"), w.passing()
			o := w.object()
			o.Applied(w.declares(2, restart, running))
			pass()
			w.onOp(simulator.OpRestart, failing, 1)
			for range 2 {
				o.Protocol = w.open()
				o.Apply(w.changed(2, restart, running))
			}
			w.repair()
			kept := *o.Kept
			pass()
			o.Protocol = w.open()
			o.Applied(w.changed(2, restart, running))
			*o.Kept = kept // killed with Terraform
			pid := w.at(1).PID
			o.Protocol = w.open()
			o.Apply(w.changed(2, restart, running))
			providertest.Check(w, w.at(1).PID == pid, "process %d became %d", pid, w.at(1).PID)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			through(t, c.faces, c.play)
		})
	}
}
