package processoperation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// With a CLI: the text of a plan says what will run, and a failure is an exit code with its reason.
// References to a hosted process work.
func TestAccProcessOperationResource_lifecycle(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(label string) string {
		return providertest.OperationConfig{
			Hosted:    providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: fmt.Sprintf("{ team = %q }", label), More: `ensure = "registered"`},
			Operation: "restart", More: "on_destroy = \"kill\"\n  triggers = { spec = bk_hosted_process.test.fingerprint }",
		}.String()
	}
	ran := func(op int, hosts ...int) {
		t.Helper()
		if changes := strings.Join(sim.Changes(), "\n"); !strings.Contains(changes, providertest.Operated(op, hosts...)) || strings.Count(changes, "operate_proc_v2/") != 1 {
			t.Errorf("called:\n%s\nwant %s", changes, providertest.Operated(op, hosts...))
		}
		sim.Repair()
	}
	cli := providertest.NewCLI(t, sim, config("a"))
	cli.Expect(0, "apply", "-auto-approve")
	ran(simulator.OpRestart, 1, 2)
	cli.Expect(0, "plan", "-detailed-exitcode")

	cli.Configure(config("b"))
	const line = `~ rollout_plan = "run 1: restart on 2 hosts: web-1, web-2" -> "run 2: restart on 2 hosts: web-1, web-2"`
	if out := cli.Expect(2, "plan", "-detailed-exitcode"); !strings.Contains(strings.Join(strings.Fields(out), " "), line) {
		t.Errorf("the plan does not say %q:\n%s", line, out)
	}
	sim.FailOperation(simulator.OpRestart, []int{2}, 65535, "no space left on device")
	if out := cli.Expect(1, "apply", "-auto-approve"); !strings.Contains(out, "Unable to Restart Process") || !strings.Contains(out, "no space left on device") {
		t.Errorf("said:\n%s", out)
	}
	ran(simulator.OpRestart, 1, 2)
	cli.Expect(0, "apply", "-auto-approve")
	ran(simulator.OpRestart, 2)
	cli.Expect(0, "destroy", "-auto-approve")
	ran(simulator.OpKill, 1, 2)
}

// Over JOB, a database that fails to start on a host delays the server there. The next apply continues,
// and a destroy stops both.
func TestAccProcesses_job(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	process := func(name string) string {
		return fmt.Sprintf(`{ proc_name = %q, setup_path = "/srv", pid_path = "/srv/%[1]s.pid", start_cmd = "./start.sh", stop_cmd = "./stop.sh", type = 1 }`, name)
	}
	hosts := providertest.HostsConfig(2)
	cli := providertest.NewCLI(t, sim, "")
	cli.ConfigureWith(providertest.ProviderBlock(fmt.Sprintf("job_endpoint = %q", sim.URL)), providertest.JobConfig{Hosts: hosts, Process: process("db")}.String()+fmt.Sprintf(`
resource "bk_job_process_operation" "test" {
  processes = {
    server = { bk_biz_id = 2, hosts = %s, process = %s, priority = 2 }
    db     = { declaration = bk_job_hosted_process.test.declaration, priority = 1 }
  }
  operation  = "start"
  on_destroy = "stop"
}
`, hosts, process("server")))
	on := func(op int, hosts ...int) string {
		return fmt.Sprintf("operate_process/%d %s", op, providertest.Addresses(hosts...))
	}
	sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Name: "/srv/db", Hosts: []string{providertest.Address(2)}, Code: new(65535)})
	cli.Expect(0, "apply", "-auto-approve")
	sim.Changed(t, on(simulator.OpStart, 1, 2), on(simulator.OpHost, 1, 2))
	sim.Repair()
	cli.Expect(0, "apply", "-auto-approve")
	sim.Changed(t, on(simulator.OpStart, 1, 2), on(simulator.OpStart, 2))
	cli.Expect(0, "plan", "-detailed-exitcode")
	sim.ResetCalls()
	cli.Expect(0, "destroy", "-auto-approve")
	sim.Changed(t, on(simulator.OpStop, 1, 2), on(simulator.OpStop, 1, 2), on(simulator.OpUnhost, 1, 2))
}
