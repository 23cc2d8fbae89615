package rollouts

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// faces are all ways into the platform.
var faces = []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB}

// stableRollout is a rollout in waves of two whose gate takes half a minute.
func stableRollout() map[string]any {
	return map[string]any{"batch_size": 2, "healthy": map[string]any{"stable_for": "30s", "within": "2m"}}
}

// run is one object, with the simulator that it works against.
type run struct {
	t     *testing.T
	face  providertest.Face
	sim   *providertest.Sim
	clock *providertest.Clock
	core  *providertest.Core
}

func begin(t *testing.T, face providertest.Face, typ string) *run {
	t.Helper()
	r := &run{t: t, face: face, sim: providertest.NewSim(t), clock: new(providertest.Clock)}
	r.core = providertest.ConfiguredBy(t, r.clock, r.sim.SettingsFor(face)).CoreOf(typ, &providertest.Kept{})
	return r
}

// executed are the hosts on which an action was carried out, in order, each as often as it
// was.
func (r *run) executed(action string) []string {
	var hosts []string
	for _, e := range r.sim.Executions() {
		if e.Action == action {
			hosts = append(hosts, strings.TrimPrefix(e.Host, "0:10.0.0."))
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (r *run) wantExecuted(action string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.executed(action)); diff != "" {
		r.t.Errorf("%s on hosts (-want +got):\n%s", action, diff)
	}
}

// revive has the agent of a host start the process anew: by now it is well.
func (r *run) revive(n int) {
	r.t.Helper()
	namespace, name := r.face.Process()
	if err := r.sim.KillProcess(providertest.Address(n), namespace, name); err != nil {
		r.t.Fatal(err)
	}
	r.sim.Tick()
}

// applied applies a configuration, which says nothing.
func (r *run) applied(config map[string]any) providertest.PlanKind {
	r.t.Helper()
	kind, said := r.core.Apply(config)
	if len(said) > 0 {
		r.t.Errorf("said: %s", said)
	}
	return kind
}

// cutAtPause is an apply that is interrupted at a pause.
func (r *run) cutAtPause(config map[string]any, pause int) providertest.Diagnostics {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	r.core.Until = ctx
	r.clock.OnPause = func(pauses int) {
		if pauses == pause {
			cancel()
		}
	}
	_, said := r.core.Apply(config)
	r.core.Until, r.clock.OnPause = nil, nil
	return said
}

// flaps has what an operation starts on web-2 die at its second look and be revived, again and
// again, as often as it says.
func (r *run) flaps(op, dies, times int) {
	r.sim.Inject(simulator.Fault{Op: &op, Dies: dies, Revived: true, Times: times, Hosts: []string{providertest.Address(2)}})
}

func (r *run) wantReasons(attribute string, want map[string]string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.core.Reasons(attribute)); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", attribute, diff)
	}
}

const tooMany = "too many hosts had failed before its wave"

// gated is a configuration of a face with that rollout.
func gated(face providertest.Face, hosts int, more map[string]any) map[string]any {
	config := face.Reference("./start.sh", hosts)
	config["rollout"] = stableRollout()
	maps.Copy(config, more)
	return config
}

// A process that dies and is restarted, again and again, passes the platform's check of the start but not
// the gate. The second wave does not begin.
func TestGate_operation(t *testing.T) {
	t.Parallel()
	onEach(t, "restart", faces, func(t *testing.T, face providertest.Face) {
		t.Helper()
		r := begin(t, face, face.TypeName(providertest.OnRestart))
		config := gated(face, 4, map[string]any{"operation": "restart"})
		r.flaps(simulator.OpRestart, 1, 0)
		_, said := r.core.Apply(config)
		if said.Severity() != "warning" || !strings.Contains(said.String(), "web-2 (0:10.0.0.3): not stable for 30s within 2m0s: it died and was started again and again") {
			t.Errorf("said: %s", said)
		}
		r.wantExecuted("restart", "2", "3")
		r.wantReasons("failed_hosts", map[string]string{
			"web-2": "failed: not stable for 30s within 2m0s: it died and was started again and again: pids seen: 32",
			"web-3": "not_tried: " + tooMany, "web-4": "not_tried: " + tooMany,
		})

		// Repaired, the others are restarted, and none of those that are well.
		r.sim.ClearFaults()
		r.sim.ResetCalls()
		r.applied(config)
		r.wantExecuted("restart", "3", "4", "5")
		r.wantReasons("failed_hosts", map[string]string{})
		if took := r.clock.Passed(); took < 90*time.Second+60*time.Second || took > 99*time.Second+66*time.Second {
			t.Errorf("took %s: want two gates that are passed in 30 s, and one that cannot be after 90 s", took)
		}
	})
}

// A health command is part of a gate of GSE's: what it prints has to match.
func TestGate_output(t *testing.T) {
	t.Parallel()
	r := begin(t, providertest.FaceESB, providertest.ActionType)
	config := gated(providertest.FaceESB, 2, map[string]any{"operation": "start"})
	spec, _ := config["spec"].(map[string]any)
	control, _ := spec["control"].(map[string]any)
	control["health_cmd"] = "./health.sh"
	rollout, _ := config["rollout"].(map[string]any)
	rollout["healthy"] = map[string]any{"stable_for": "30s", "within": "2m", "output": "^ok"}
	for n, health := range map[int]string{1: "ok: 3 ports\n", 2: "not ok: disk full\n"} {
		r.sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Health: health, Hosts: []string{providertest.Address(n)}})
	}
	if _, said := r.core.Apply(config); said.Severity() != "warning" {
		t.Errorf("said: %s", said)
	}
	r.wantReasons("failed_hosts", map[string]string{
		"web-2": `failed: not stable for 30s within 2m0s: what its health_cmd printed does not match "^ok": not ok: disk full`,
	})
}

// An action ends with an error that names the hosts which did not pass.
func TestGate_action(t *testing.T) {
	t.Parallel()
	sim, clock := providertest.NewSim(t), new(providertest.Clock)
	sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Dies: 2, Hosts: []string{providertest.Address(1)}})
	p := providertest.ConfiguredBy(t, clock, sim.Settings())
	messages, said := p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 4, map[string]any{"rollout": stableRollout()}))
	if !strings.HasPrefix(said, "ERROR") || !strings.Contains(said, "web-1 (0:10.0.0.2): not stable for 30s within 2m0s: it did not run when its agent was last asked") {
		t.Errorf("said: %s", said)
	}
	want := []string{
		"restart web:nginx: 0/4 done, 0 failed, wave 1/2 (0s)",
		"restart web:nginx: 0/4 done, 0 failed, waiting for 2 to be stable, wave 1/2 (0s)",
		"restart web:nginx: 1/4 done, 0 failed, waiting for 1 to be stable, wave 1/2 (0s)",
		"restart web:nginx: 1/4 done, 1 failed, wave 1/2 (0s)",
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A hosted process that must run is watched after its start. If it fails, a refresh reports it as
// unhealthy until it has passed, even if it looks healthy at that moment. It is not started again then.
func TestGate_hosted(t *testing.T) {
	t.Parallel()
	onEach(t, "start", faces, func(t *testing.T, face providertest.Face) {
		t.Helper()
		r := begin(t, face, face.TypeName(providertest.OnRun))
		good := gated(face, 4, map[string]any{"ensure": "running"})
		r.flaps(simulator.OpStart, 2, 0)
		if _, said := r.core.Apply(good); said.Severity() != "warning" {
			t.Errorf("said: %s", said)
		}
		unhealthy := map[string]string{
			"web-2": "unhealthy: not stable for 30s within 2m0s: it died and was started again and again: pids seen: 17",
			"web-3": "not_registered: not tried: " + tooMany, "web-4": "not_registered: not tried: " + tooMany,
		}
		r.wantReasons("out_of_sync", unhealthy)
		r.wantExecuted("start", "2", "3")
		if said := r.core.Refresh(); len(said) > 0 {
			t.Errorf("a refresh said: %s", said)
		}
		r.wantReasons("out_of_sync", unhealthy)

		r.sim.ClearFaults()
		r.revive(2)
		r.sim.ResetCalls()
		if kind := r.applied(good); kind != providertest.PlanUpdate {
			t.Errorf("it was to %s", kind)
		}
		r.wantReasons("out_of_sync", map[string]string{})
		r.wantExecuted("start", "4", "5")
		if kind := r.applied(good); kind != providertest.PlanNothing {
			t.Errorf("then it was to %s", kind)
		}
	})
}

// What an interrupt cuts off at the gate is watched by the next apply, and not started
// again.
func TestGate_interrupted(t *testing.T) {
	t.Parallel()
	r := begin(t, providertest.FaceESB, providertest.HostedType)
	config := gated(providertest.FaceESB, 5, map[string]any{"ensure": "running"})
	if said := r.cutAtPause(config, 13); said.Severity() != "warning" { // at the second gate
		t.Errorf("said: %s", said)
	}
	const (
		cut     = "unhealthy: interrupted (it was operated on, and was not yet known to be stable)"
		stopped = "not_registered: not tried: interrupted before its wave"
	)
	r.wantReasons("out_of_sync", map[string]string{"web-3": cut, "web-4": cut, "web-5": stopped})
	r.applied(config)
	r.wantExecuted("start", "2", "3", "4", "5", "6")
	r.wantReasons("out_of_sync", map[string]string{})
}

// What stops a process on destroy is not watched, though its rollout has a gate.
func TestGate_onDestroy(t *testing.T) {
	t.Parallel()
	r := begin(t, providertest.FaceESB, providertest.ActionType)
	r.applied(gated(providertest.FaceESB, 2, map[string]any{"operation": "start", "on_destroy": "stop"}))
	passed := r.clock.Passed()
	if said := r.core.DestroyUnrefreshed(); len(said) > 0 || r.clock.Passed() != passed {
		t.Errorf("the destroy took %s, and said: %s", r.clock.Passed()-passed, said)
	}
	r.wantExecuted("stop", "2", "3")
}

// A restart that has worked, and was not watched to its end, is not sent again: its task tells,
// and the host is watched. With another spec it has to be.
func TestGate_cutOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command  string
		restarts []string
	}{
		"same-spec":    {"./start.sh", []string{"2", "3"}},
		"another-spec": {"./start.sh -v", []string{"2", "2", "3", "3"}},
	} {
		onEach(t, name, faces, func(t *testing.T, face providertest.Face) {
			t.Helper()
			r := begin(t, face, face.TypeName(providertest.OnRestart))
			restart := map[string]any{"operation": "restart"}
			r.cutAtPause(gated(face, 2, restart), 3) // at the gate
			if r.core.Tainted {
				r.core.Untaint()
			}
			again := face.Reference(c.command, 2)
			maps.Copy(restart, again)
			r.applied(gated(face, 2, restart))
			r.wantExecuted("restart", c.restarts...)
			r.wantReasons("failed_hosts", map[string]string{})
		})
	}
}

// An update that is restarted well and does not go on running ends the rollout, or is rolled back
// where that is asked for. Otherwise the next apply watches it again, and does not restart it
// once more.
func TestGate_onUpdate(t *testing.T) {
	t.Parallel()
	onEach(t, "stop", faces, func(t *testing.T, face providertest.Face) {
		t.Helper()
		r, config := releaseBehindGate(t, face, "stop")
		if _, said := r.core.Apply(config); said.Severity() != "error" {
			t.Errorf("said: %s", said)
		}
		r.wantExecuted("restart", "2", "3")
		r.wantRegistered("./v2.sh", "./v2.sh", "./v1.sh", "./v1.sh")
		left := r.core.Reasons("out_of_sync")
		if !strings.HasPrefix(left["web-2"], "unhealthy: ") || !strings.HasPrefix(left["web-3"], "other_spec: ") || len(left) != 3 {
			t.Errorf("out_of_sync: %v", left)
		}

		r.sim.ClearFaults()
		r.revive(2)
		r.sim.ResetCalls()
		r.applied(config)
		r.wantExecuted("restart", "4", "5")
		r.wantReasons("out_of_sync", map[string]string{})
		if kind := r.applied(config); kind != providertest.PlanNothing {
			t.Errorf("then it was to %s", kind)
		}
	})
	onEach(t, "rollback", faces, func(t *testing.T, face providertest.Face) {
		t.Helper()
		r, config := releaseBehindGate(t, face, "rollback")
		_, said := r.core.Apply(config)
		if !strings.Contains(said.String(), "Hosted Process Rolled Back\n") || !strings.Contains(said.String(), "it died and was started again and again") {
			t.Errorf("said: %s", said)
		}
		r.wantExecuted("restart", "2", "2", "3", "3")
		r.wantRegistered("./v1.sh", "./v1.sh", "./v1.sh", "./v1.sh")
		r.wantReasons("out_of_sync", map[string]string{})
	})
}

// releaseBehindGate is a hosted process of four hosts that run, and its update that passes a gate
// and flaps on web-2.
func releaseBehindGate(t *testing.T, face providertest.Face, onFailure string) (*run, map[string]any) {
	t.Helper()
	r := begin(t, face, face.TypeName(providertest.OnCreate))
	config := gated(face, 4, map[string]any{"on_update": "restart"})
	rollout, _ := config["rollout"].(map[string]any)
	rollout["on_failure"] = onFailure
	maps.Copy(config, face.Reference("./v1.sh", 4))
	r.core.Applied(config)
	namespace, name := face.Process()
	for n := 1; n <= 4; n++ {
		if err := r.sim.StartProcess(providertest.Address(n), namespace, name); err != nil {
			t.Fatal(err)
		}
	}
	r.sim.ResetCalls()
	r.flaps(simulator.OpRestart, 2, 1)
	maps.Copy(config, face.Reference("./v2.sh", 4))
	return r, config
}

// wantRegistered compares the start commands that the hosts are registered with.
func (r *run) wantRegistered(starts ...string) {
	r.t.Helper()
	for i, start := range starts {
		if p, _ := r.process(i + 1); !providertest.StartsWith(p, start) {
			r.t.Errorf("web-%d is not registered with %s: %+v", i+1, start, p)
		}
	}
}
