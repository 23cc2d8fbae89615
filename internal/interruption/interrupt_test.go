package interruption

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Ctrl-C stops before the next wave, keeps what is done, and does not wait for
// what is under way. The next apply asks how that ended, and does the rest.
func TestAccInterrupt_operation(t *testing.T) {
	t.Parallel()
	const restart = 7
	sim := providertest.NewSim(t)
	var ahead atomic.Int64
	sim.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	op := restart
	late := sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Hosts: []string{providertest.Address(3)}, Takes: time.Hour})
	cli := providertest.NewCLI(t, sim, providertest.OperationConfig{
		Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(6), More: `ensure = "registered"`}, Operation: "restart",
		More: "rollout = { batch_size = 2 }",
	}.String())

	// With its second question the provider has seen the answer to the first, in
	// which web-4 has its verdict.
	out := cli.Interrupt("apply", func() bool {
		tasks := slices.DeleteFunc(sim.Tasks(), func(task simulator.TaskInfo) bool { return task.Op != restart })
		return len(tasks) == 2 && tasks[1].Polls >= 2
	})
	for _, want := range []string{"web-3 (0:10.0.0.4): interrupted", "web-5, web-6 (2 hosts): not tried: interrupted before its wave"} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not say %q:\n%s", want, out)
		}
	}
	if waves := len(sim.Calls().OfOp(restart).Of("operate_*")); waves != 2 {
		t.Errorf("%d waves were sent, want 2", waves)
	}

	sim.ClearFault(late)
	sim.ResetCalls()
	ahead.Store(int64(2 * time.Hour))
	cli.Expect(2, "plan", "-detailed-exitcode")
	cli.Expect(0, "apply", "-auto-approve")
	// Of the second wave web-4 had its verdict before the interrupt, and web-3 was restarted
	// after it.
	if diff := cmp.Diff([]string{"operate_proc_v2/7 " + providertest.Addresses(5), "operate_proc_v2/7 " + providertest.Addresses(6)}, sim.Changes()); diff != "" {
		t.Errorf("calls of the next apply (-want +got):\n%s", diff)
	}
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// The same for a create, an update and a destroy in waves: the hosts of the first
// wave are done and are not called again.
func TestAccInterrupt_waves(t *testing.T) {
	t.Parallel()
	config := func(start string) string {
		return providertest.HostedConfig{Hosts: providertest.HostsConfig(6), Start: start, More: "ensure = \"registered\"\n  rollout = { batch_size = 2 }"}.String()
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
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, c.before)
			if c.before != "" {
				cli.Expect(0, "apply", "-auto-approve")
			}
			cli.Configure(c.after)
			sim.ResetCalls()
			api, op := providertest.FaultOn(c.api)
			sim.Inject(simulator.Fault{API: api, Op: op, Hosts: []string{providertest.Address(3)}, Pending: -1})

			out := cli.Interrupt(c.command, func() bool { return len(sim.Calls().Of(api).On(providertest.Address(3))) > 0 })
			for _, host := range []int{5, 6} {
				if calls := sim.Calls().Of(api).On(providertest.Address(host)); len(calls) > 0 {
					t.Errorf("web-%d was called after the interrupt\n%s", host, out)
				}
			}
			sim.Repair()
			cli.Expect(0, c.command, "-auto-approve")
			for _, host := range []int{1, 2} {
				if calls := sim.Calls().Of(api).On(providertest.Address(host)); len(calls) > 0 {
					t.Errorf("web-%d was done before the interrupt and called again", host)
				}
			}
			if c.command == "apply" {
				cli.Expect(0, "plan", "-detailed-exitcode")
			} else if left := sim.Processes(); len(left) > 0 {
				t.Errorf("still known to the platform: %v", left)
			}
		})
	}
}
