package rollouts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// release is a hosted process of four hosts that run, whose update passes a gate.
func releaseBehindGate(t *testing.T, face providertest.Face, onFailure string) (*run, map[string]any) {
	t.Helper()
	r := begin(t, face, face.TypeName(providertest.OnCreate))
	config := face.Reference("./v1.sh", 4)
	rollout := stableRollout()
	rollout["on_failure"] = onFailure
	config["on_update"], config["rollout"] = "restart", rollout
	r.core.Applied(config)
	namespace, name := face.Process()
	for n := 1; n <= 4; n++ {
		if err := r.sim.StartProcess(providertest.Address(n), namespace, name); err != nil {
			t.Fatal(err)
		}
	}
	r.sim.ResetCalls()
	next := face.Reference("./v2.sh", 4)
	next["on_update"], next["rollout"] = config["on_update"], config["rollout"]
	return r, next
}

// flaps has what the next restart on web-2 starts die and be revived again and again.
func (r *run) flaps() {
	r.sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Dies: 2, Revived: true, Times: 1, Hosts: []string{providertest.Address(2)}})
}

// registered are the start commands that the hosts are registered with.
func (r *run) registered() string {
	var starts []string
	namespace, name := r.face.Process()
	for n := 1; n <= 4; n++ {
		process, _ := r.sim.Process(providertest.Address(n), namespace, name)
		for _, start := range []string{"v1", "v2"} {
			if providertest.StartsWith(process, "./"+start+".sh") {
				starts = append(starts, start)
			}
		}
	}
	return strings.Join(starts, " ")
}

// A release that is restarted well and does not go on running ends the rollout as well.
// The next apply watches it again, and does not restart it once more.
func TestGate_onUpdate(t *testing.T) {
	t.Parallel()
	for _, face := range faces {
		t.Run(string(face), func(t *testing.T) {
			t.Parallel()
			r, config := releaseBehindGate(t, face, "stop")
			r.flaps()

			_, said := r.core.Apply(config)

			if said.Severity() != "error" {
				t.Errorf("said: %s", said)
			}
			r.wantExecuted("restart", "2", "3")
			if got, want := r.registered(), "v2 v2 v1 v1"; got != want {
				t.Errorf("registered are %s, want %s", got, want)
			}
			left := r.core.Reasons("out_of_sync")
			if !strings.HasPrefix(left["web-2"], "unhealthy: ") || !strings.HasPrefix(left["web-3"], "other_spec: ") || len(left) != 3 {
				t.Errorf("out_of_sync: %v", left)
			}

			// It is well by now.
			r.sim.ClearFaults()
			namespace, name := face.Process()
			if err := r.sim.KillProcess(providertest.Address(2), namespace, name); err != nil {
				t.Fatal(err)
			}
			r.sim.Tick()
			r.sim.ResetCalls()
			if _, said := r.core.Apply(config); len(said) > 0 {
				t.Errorf("said: %s", said)
			}
			r.wantExecuted("restart", "4", "5")
			r.wantReasons("out_of_sync", map[string]string{})
			if kind, said := r.core.Apply(config); len(said) > 0 || kind != providertest.PlanNothing {
				t.Errorf("then %s, said: %s", kind, said)
			}
		})
	}
}

// It is rolled back where that is asked for.
func TestGate_rollback(t *testing.T) {
	t.Parallel()
	for _, face := range faces {
		t.Run(string(face), func(t *testing.T) {
			t.Parallel()
			r, config := releaseBehindGate(t, face, "rollback")
			r.flaps()

			_, said := r.core.Apply(config)

			if !strings.Contains(said.String(), "Hosted Process Rolled Back\n") || !strings.Contains(said.String(), "it died and was started again and again") {
				t.Errorf("said: %s", said)
			}
			if diff := cmp.Diff([]string{"2", "2", "3", "3"}, r.executed("restart")); diff != "" {
				t.Errorf("restarted (-want +got):\n%s", diff)
			}
			if got, want := r.registered(), "v1 v1 v1 v1"; got != want {
				t.Errorf("registered are %s, want %s", got, want)
			}
			r.wantReasons("out_of_sync", map[string]string{})
		})
	}
}
