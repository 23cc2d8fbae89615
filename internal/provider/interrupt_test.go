package provider

import (
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

	// With its second question the provider has seen the answer to the first, in
	// which web-4 has its verdict.
	out := cli.interrupt("apply", func() bool {
		tasks := slices.DeleteFunc(sim.Tasks(), func(task simulator.TaskInfo) bool { return task.Op != restart })
		return len(tasks) == 2 && tasks[1].Polls >= 2
	})
	for _, want := range []string{"web-3 (0:10.0.0.4): interrupted", "web-5 (0:10.0.0.6): not tried: interrupted before its wave"} {
		if !strings.Contains(out, want) {
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

// The same for a create, an update and a destroy in waves: the hosts of the first
// wave are done and are not called again.
func TestAccInterrupt_waves(t *testing.T) {
	t.Parallel()
	config := func(start string) string {
		return hostedConfig{hosts: hostsConfig(6), start: start, more: "ensure = \"registered\"\n  rollout = { batch_size = 2 }"}.String()
	}
	for name, c := range map[string]struct {
		api, before, after, command string
	}{
		"create":  {api: "register_proc_info", after: config("./a.sh"), command: "apply"},
		"update":  {api: "update_proc_info", before: config("./a.sh"), after: config("./b.sh"), command: "apply"},
		"destroy": {api: "unregister_proc_info", before: config("./a.sh"), after: config("./a.sh"), command: "destroy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			cli := newCLI(t, sim, c.before)
			if c.before != "" {
				cli.expect(0, "apply", "-auto-approve")
			}
			cli.configure(c.after)
			sim.ResetCalls()
			api, op := faultOn(c.api)
			sim.Inject(simulator.Fault{API: api, Op: op, Hosts: []string{testAddress(3)}, Pending: -1})

			out := cli.interrupt(c.command, func() bool { return len(sim.Calls().Of(api).On(testAddress(3))) > 0 })
			for _, host := range []int{5, 6} {
				if calls := sim.Calls().Of(api).On(testAddress(host)); len(calls) > 0 {
					t.Errorf("web-%d was called after the interrupt\n%s", host, out)
				}
			}
			sim.mend()
			cli.expect(0, c.command, "-auto-approve")
			for _, host := range []int{1, 2} {
				if calls := sim.Calls().Of(api).On(testAddress(host)); len(calls) > 0 {
					t.Errorf("web-%d was done before the interrupt and called again", host)
				}
			}
			if c.command == "apply" {
				cli.expect(0, "plan", "-detailed-exitcode")
			} else if left := sim.Processes(); len(left) > 0 {
				t.Errorf("still known to the platform: %v", left)
			}
		})
	}
}
