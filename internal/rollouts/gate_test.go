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

func (r *run) wantReasons(attribute string, want map[string]string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.core.Reasons(attribute)); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", attribute, diff)
	}
}

const tooMany = "too many hosts had failed before its wave"

// What dies and is revived, again and again, passes the platform's check of the start, and
// not the gate: the second wave is not begun.
func TestGate_operation(t *testing.T) {
	t.Parallel()
	flapping := simulator.Fault{Op: new(simulator.OpRestart), Dies: 1, Revived: true, Hosts: []string{providertest.Address(2)}}
	for _, face := range faces {
		t.Run(string(face), func(t *testing.T) {
			t.Parallel()
			r := begin(t, face, face.TypeName(providertest.OnRestart))
			config := face.Reference("./start.sh", 4)
			config["operation"], config["rollout"] = "restart", stableRollout()

			r.sim.Inject(flapping)
			_, said := r.core.Apply(config)
			if said.Severity() != "warning" || !strings.Contains(said.String(), "web-2 (0:10.0.0.3): not stable for 30s within 2m0s: it died and was started again and again") {
				t.Errorf("said: %s", said)
			}
			r.wantExecuted("restart", "2", "3")
			r.wantReasons("failed_hosts", map[string]string{
				"web-2": "failed: not stable for 30s within 2m0s: it died and was started again and again: pids seen: 32",
				"web-3": "not_tried: " + tooMany, "web-4": "not_tried: " + tooMany,
			})

			// Mended, the others are restarted, and none of those that are well.
			r.sim.ClearFaults()
			r.sim.ResetCalls()
			if _, said := r.core.Apply(config); len(said) > 0 {
				t.Errorf("said: %s", said)
			}
			r.wantExecuted("restart", "3", "4", "5")
			r.wantReasons("failed_hosts", map[string]string{})
			if took := r.clock.Passed(); took < 90*time.Second+60*time.Second || took > 99*time.Second+66*time.Second {
				t.Errorf("took %s: want two gates that are passed in 30 s, and one that cannot be after 90 s", took)
			}
		})
	}
}

// A health command is part of a gate of GSE's: what it prints has to match.
func TestGate_output(t *testing.T) {
	t.Parallel()
	r := begin(t, providertest.FaceESB, providertest.ActionType)
	config := providertest.FaceESB.Reference("./start.sh", 2)
	spec, _ := config["spec"].(map[string]any)
	control, _ := spec["control"].(map[string]any)
	control["health_cmd"] = "./health.sh"
	rollout := stableRollout()
	rollout["healthy"] = map[string]any{"stable_for": "30s", "within": "2m", "output": "^ok"}
	config["operation"], config["rollout"] = "start", rollout
	r.sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Health: "ok: 3 ports\n", Hosts: []string{providertest.Address(1)}})
	r.sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Health: "not ok: disk full\n", Hosts: []string{providertest.Address(2)}})
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

// A hosted process that is to run is watched after its start. What does not pass stays
// unhealthy for a refresh, however well it looks at that moment, until it has passed: then
// it is not started once more.
func TestGate_hosted(t *testing.T) {
	t.Parallel()
	for _, face := range faces {
		t.Run(string(face), func(t *testing.T) {
			t.Parallel()
			r := begin(t, face, face.TypeName(providertest.OnRun))
			good := face.Reference("./start.sh", 4)
			good["ensure"], good["rollout"] = "running", stableRollout()
			r.sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Dies: 2, Revived: true, Hosts: []string{providertest.Address(2)}})
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

			// It is revived by now, and well.
			r.sim.ClearFaults()
			namespace, name := face.Process()
			if err := r.sim.KillProcess(providertest.Address(2), namespace, name); err != nil {
				t.Fatal(err)
			}
			r.sim.Tick()
			r.sim.ResetCalls()
			if kind, said := r.core.Apply(good); len(said) > 0 || kind != providertest.PlanUpdate {
				t.Errorf("%s, said: %s", kind, said)
			}
			r.wantReasons("out_of_sync", map[string]string{})
			r.wantExecuted("start", "4", "5")
			if kind, said := r.core.Apply(good); len(said) > 0 || kind != providertest.PlanNothing {
				t.Errorf("then %s, said: %s", kind, said)
			}
		})
	}
}

// What an interrupt cuts off at the gate is watched by the next apply, and not started
// again.
func TestGate_interrupted(t *testing.T) {
	t.Parallel()
	r := begin(t, providertest.FaceESB, providertest.HostedType)
	config := providertest.FaceESB.Reference("./start.sh", 5)
	config["ensure"], config["rollout"] = "running", stableRollout()
	ctx, cancel := context.WithCancel(t.Context())
	r.core.Until = ctx
	r.clock.OnPause = func(pauses int) {
		if pauses == 13 { // at the second gate
			cancel()
		}
	}
	if _, said := r.core.Apply(config); said.Severity() != "warning" {
		t.Errorf("said: %s", said)
	}
	const (
		cut     = "unhealthy: interrupted (it was operated on, and was not yet known to be stable)"
		stopped = "not_registered: not tried: interrupted before its wave"
	)
	r.wantReasons("out_of_sync", map[string]string{"web-3": cut, "web-4": cut, "web-5": stopped})

	r.core.Until, r.clock.OnPause = nil, nil
	if _, said := r.core.Apply(config); len(said) > 0 {
		t.Errorf("said: %s", said)
	}
	r.wantExecuted("start", "2", "3", "4", "5", "6")
	r.wantReasons("out_of_sync", map[string]string{})
}

// What stops a process on destroy is not watched, though its rollout has a gate.
func TestGate_onDestroy(t *testing.T) {
	t.Parallel()
	r := begin(t, providertest.FaceESB, providertest.ActionType)
	config := providertest.FaceESB.Reference("./start.sh", 2)
	maps.Copy(config, map[string]any{"operation": "start", "rollout": stableRollout(), "on_destroy": "stop"})
	if _, said := r.core.Apply(config); len(said) > 0 {
		t.Fatalf("said: %s", said)
	}
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
	for name, command := range map[string]string{"same-spec": "./start.sh", "another-spec": "./start.sh -v"} {
		for _, face := range faces {
			t.Run(name+"/"+string(face), func(t *testing.T) {
				t.Parallel()
				r := begin(t, face, face.TypeName(providertest.OnRestart))
				restart := func(command string) map[string]any {
					config := face.Reference(command, 2)
					config["operation"], config["rollout"] = "restart", stableRollout()
					return config
				}
				ctx, cancel := context.WithCancel(t.Context())
				r.core.Until = ctx
				r.clock.OnPause = func(pauses int) {
					if pauses == 3 { // at the gate
						cancel()
					}
				}
				r.core.Apply(restart("./start.sh"))
				r.core.Until, r.clock.OnPause = nil, nil
				if r.core.Tainted {
					r.core.Untaint()
				}
				if _, said := r.core.Apply(restart(command)); len(said) > 0 {
					t.Errorf("said: %s", said)
				}
				times := []string{"2", "3"}
				if command != "./start.sh" {
					times = []string{"2", "2", "3", "3"}
				}
				r.wantExecuted("restart", times...)
				r.wantReasons("failed_hosts", map[string]string{})
			})
		}
	}
}
