package processoperation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A stop that found nothing to stop has worked only if the agent confirms it. The agents of these hosts
// are asked once, and no others.
func TestProcessOperation_nothingToStop(t *testing.T) {
	t.Parallel()
	const away, running = "is not known", "829, said not to run, and its agent says afterwards that it runs"
	for name, op := range map[string]int{"stop": simulator.OpStop, "kill": simulator.OpKill} {
		for _, by := range faces {
			for says, want := range map[string]string{"runs": running, "silent": away, "stopped": ""} { // the answer of web-2's agent afterwards
				t.Run(fmt.Sprintf("%s/%s/%s", by, name, says), func(t *testing.T) {
					t.Parallel()
					sim := hosted(t, by, 2)
					namespace, process := by.Process()
					for _, n := range map[string][]int{"runs": {1, 2}, "silent": {1, 2}, "stopped": {1}}[says] {
						fine(t, sim.StartProcess(providertest.Address(n), namespace, process))
					}
					second := []string{providertest.Address(2)}
					if says != "stopped" {
						fault := notRunning(op)
						fault.Hosts = second
						sim.Inject(fault)
					}
					if says == "silent" {
						sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: second, Unreachable: "117"})
					}
					resource := operationOf(t, sim, by)
					_, said := resource.Apply(configOf(by, name, 2, nil))
					failed := resource.Reasons("failed_hosts")
					if want == "" && (len(said) > 0 || len(failed) > 0) || want != "" && (len(failed) != 1 || !strings.Contains(failed["web-2"], want)) {
						t.Errorf("failed_hosts %v, want web-2 %q; said: %s", failed, want, said)
					}
					queries := sim.Calls().OfOp(simulator.OpQuery)
					if len(queries) != 1 || strings.Join(queries[0].Hosts, " ") != providertest.Address(2) {
						t.Errorf("asked %v, want the second host alone", queries)
					}
					// A stopped process is unhosted as well, and nothing else is sent.
					sent := []string{operated(by, op, 1, 2)}
					if says == "stopped" {
						sent = append(sent, operated(by, simulator.OpUnhost, 2))
					}
					slices.Sort(sent)
					sim.Changed(t, sent...)
				})
			}
		}
	}
}

// The agent has just said that it hosts the process. Unhosting after a stop that found nothing has worked
// only if the agent confirms it.
func TestProcessOperation_idleStaysHosted(t *testing.T) {
	t.Parallel()
	for _, by := range faces {
		for _, lies := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", by, lies), func(t *testing.T) {
				t.Parallel()
				sim := hosted(t, by, 1)
				if lies {
					sim.Inject(notRunning(simulator.OpUnhost))
				}
				_, said := operationOf(t, sim, by).Apply(configOf(by, "stop", 1, nil))
				namespace, name := by.Process()
				process, _ := sim.Process(providertest.Address(1), namespace, name)
				if process.Hosted != lies || said.Failed() != lies || strings.Contains(said.String(), "asked afterwards, it is hosted all the same") != lies {
					t.Errorf("hosted: %t; said: %s", process.Hosted, said)
				}
			})
		}
	}
}
