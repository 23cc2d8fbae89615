package provider

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Ctrl-C stops before the next wave, keeps what is done, and does not wait for
// what is under way. The next apply does the rest.
func TestAccInterrupt_operation(t *testing.T) {
	t.Parallel()
	const restart = 7
	sim := newSim(t)
	op := restart
	late := sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Hosts: []string{testAddress(3)}, Takes: time.Hour})
	cli := newCLI(t, sim, operationConfig{
		hosted: hostedConfig{hosts: hostsConfig(6), more: `ensure = "registered"`}, operation: "restart",
		more: "rollout = { batch_size = 2 }",
	}.String())

	apply, out := cli.command(t.Context(), "apply", "-auto-approve")
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	// With its second question the provider has seen the answer to the first, in
	// which web-4 has its verdict.
	eventually(t, "the second wave is asked for twice", func() bool {
		tasks := slices.DeleteFunc(sim.Tasks(), func(task simulator.TaskInfo) bool { return task.Op != restart })
		return len(tasks) == 2 && tasks[1].Polls >= 2
	})
	if err := apply.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	interrupted := time.Now()
	_ = apply.Wait() // the exit code of an interrupted apply is the CLI's business
	if took := time.Since(interrupted); took > 20*time.Second {
		t.Errorf("ended %s after the interrupt, and the platform would have taken an hour\n%s", took, out)
	}
	t.Logf("ended %s after the interrupt", time.Since(interrupted))
	for _, want := range []string{"web-3 (0:10.0.0.4): interrupted", "web-5 (0:10.0.0.6): not tried: interrupted before its wave"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
	if waves := len(sim.Calls().OfOp(restart).Of("operate_*")); waves != 2 {
		t.Errorf("%d waves were sent, want 2", waves)
	}

	sim.ClearFault(late)
	sim.ResetCalls()
	cli.expect(2, "plan", "-detailed-exitcode")
	cli.expect(0, "apply", "-auto-approve")
	// Of the second wave web-4 had its verdict before the interrupt.
	if diff := cmp.Diff([]string{"operate_proc_v2/7 " + addresses(3, 5), "operate_proc_v2/7 " + addresses(6)}, sim.changes()); diff != "" {
		t.Errorf("calls of the next apply (-want +got):\n%s", diff)
	}
	cli.expect(0, "plan", "-detailed-exitcode")
}
