package processoperation_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// oneShot is an operation on a one-shot process.
func oneShot(by providertest.Face, operation string, hosts int) map[string]any {
	config := configOf(by, operation, hosts, nil)
	config["spec"].(map[string]any)["monitor_policy"] = map[string]any{"auto_type": 2} //nolint:forcetypeassert // it is made so
	return config
}

// A one-shot process has ended when its start is checked, and starting hosts it. It is unhosted again,
// unless another owner hosted it before.
//
// Promised in cookbook.md: The check after the start doesn't find it, and that counts as success.
// Promised in cookbook.md: The operation ends that hosting again, so that the agent doesn't run
// it twice.
func TestProcessOperation_oneShot(t *testing.T) {
	t.Parallel()
	for _, face := range gseFaces {
		for _, operation := range []string{"start", "restart"} {
			t.Run(fmt.Sprintf("%s-%s", face, operation), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				fine(t, sim.Host(providertest.Address(2), "web", "nginx"))
				config := oneShot(face, operation, 2)
				operationOf(t, sim, face).Applied(config)
				op := map[string]string{"start": "0", "restart": "7"}[operation]
				want := []string{"operate_proc_v2/" + op + " " + providertest.Addresses(1, 2), providertest.Operated(4, 1)}
				if op == "7" {
					want[0], want[1] = want[1], want[0] // the calls are sorted
				}
				sim.Changed(t, want...)
				for n, hosted := range map[int]bool{1: false, 2: true} {
					if process, _ := sim.Process(providertest.Address(n), "web", "nginx"); process.Hosted != hosted {
						t.Errorf("%s is %+v", providertest.Address(n), process)
					}
				}
				var ran []string
				for _, done := range sim.Executions() {
					ran = append(ran, done.Action)
				}
				if n := strings.Count(strings.Join(ran, " "), operation); n != 2 {
					t.Errorf("it was run %d times: %v", n, ran)
				}
			})
		}
	}
}

// Unhosting has worked if the agent confirms it. If the agent cannot be asked, it has worked only if
// there was something to stop.
func TestProcessOperation_oneShotStaysHosted(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"nothing-to-end": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceESB
			sim := providertest.NewSim(t)
			sim.Registered(t, 1)
			if fails {
				sim.Inject(notRunning(simulator.OpUnhost))
			}
			sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Skip: 1, HTTPStatus: http.StatusBadGateway})
			config := oneShot(by, "start", 1)
			_, said := operationOf(t, sim, by).Apply(config)
			process, _ := sim.Process(providertest.Address(1), "web", "nginx")
			if process.Hosted != fails || said.Failed() != fails || strings.Contains(said.String(), "whether it is still hosted is not known") != fails {
				t.Errorf("hosted: %t; said: %s", process.Hosted, said)
			}
		})
	}
}

// A restart that did not stop the running process did not run it again. A failed check (836) does not
// show that, because a one-shot process always fails it.
func TestProcessOperation_oneShotNotStopped(t *testing.T) {
	t.Parallel()
	for _, by := range gseFaces {
		for _, fails := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", by, fails), func(t *testing.T) {
				t.Parallel()
				sim := hosted(t, by, 1)
				fine(t, sim.StartProcess(providertest.Address(1), "web", "nginx"))
				sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Code: new(836), Message: "stop process failed", Apply: !fails})
				config := oneShot(by, "restart", 1)
				_, said := operationOf(t, sim, by).Apply(config)
				if said.Failed() != fails || strings.Contains(said.String(), "so it was not run anew") != fails {
					t.Errorf("said: %s", said)
				}
			})
		}
	}
}
