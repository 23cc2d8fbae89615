package processoperation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// needs114 skips the test if the installed CLI has neither actions nor queries. It checks for the command
// that came with them rather than for the version, which for OpenTofu means something else.
func needs114(c *providertest.CLI) {
	c.T.Helper()
	has114.once.Do(func() {
		code, out := c.Run("query", "-help")
		has114.queries = code == 0 || strings.Contains(out, "Usage: terraform [global options] query")
	})
	if !has114.queries {
		c.T.Skip("this command line has neither actions nor queries, which Terraform has from 1.14 on")
	}
}

var has114 struct {
	once    sync.Once
	queries bool
}

func TestAccExamples_actions(t *testing.T) {
	t.Parallel()
	for action, c := range map[string]struct{ hosted, message, call, again string }{
		"bk_process_operation": {providertest.HostedExample, "restart web:nginx: 2/2 done, 0 failed, wave 1/1 (", "operate_proc_v2/7 0:10.0.0.1 0:10.0.0.2", "operate_proc_v2/7 0:10.0.0.2"},
		"bk_job_process_operation": {
			providertest.JobHostedExample, ": 2/2 done, 0 failed, wave 1/1 (", "operate_process/7 0:10.0.0.1 0:10.0.0.2", "operate_process/7 0:10.0.0.2",
		},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, providertest.ReadExample(t, c.hosted)+providertest.ReadExample(t, "actions/"+action+"/action.tf"))
			cli.Env = append(cli.Env, "BK_JOB_ENDPOINT"+"="+sim.URL)
			needs114(cli)
			cli.Expect(0, "apply", "-auto-approve")
			sim.ResetCalls()
			out := cli.Expect(0, "apply", "-auto-approve", "-invoke=action."+action+".restart")
			providertest.Says(t, out, c.message)
			sim.Changed(t, c.call)

			// The message prints one line that runs the action on the remaining hosts.
			sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Hosts: []string{"0:10.0.0.2"}, Code: new(65535), Message: "disk full", Times: 1})
			_, out = cli.Run("apply", "-auto-approve", "-invoke=action."+action+".restart")
			left := regexp.MustCompile(`(?s)hosts=\{.*?\n  \}`).FindString(out)
			sim.ResetCalls()
			cli.Expect(0, "apply", "-auto-approve", "-invoke=action."+action+".restart", "-var="+left)
			sim.Changed(t, c.again)
		})
	}
}

// The example's trigger runs the action only when the configuration changes. Its failure fails the apply
// with the reason.
func TestAccProcessOperationAction_trigger(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	example := providertest.ReadExample(t, "actions/bk_process_operation/action.tf")
	config := func(workers string) string {
		return strings.Replace(example, "worker_processes 4", "worker_processes "+workers, 1)
	}
	cli := providertest.NewCLI(t, sim, providertest.ReadExample(t, providertest.HostedExample))
	needs114(cli)
	cli.Write("action.tf", config("4"))
	cli.Expect(0, "apply", "-auto-approve")
	if calls := sim.Calls().OfOp(7); len(calls) > 0 {
		t.Errorf("it ran without a change: %v", calls.APIs())
	}
	cli.Write("action.tf", config("8"))
	sim.ResetCalls()
	cli.Expect(0, "apply", "-auto-approve")
	sim.Changed(t, "operate_proc_v2/7 0:10.0.0.1 0:10.0.0.2")
	sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Code: new(65535), Message: "sh: ./nginx: not found"})
	cli.Write("action.tf", config("16"))
	out := cli.Expect(1, "apply", "-auto-approve")
	providertest.Says(t, out, "0/2 done, 2 failed, wave 1/1", "web-1, web-2 (2 hosts): 65535", `"web-1" = "0:10.0.0.1", "web-2" = "0:10.0.0.2"`, "sh: ./nginx: not found", "Task: GSETASK")
}

func TestAccHostedProcessListResource_query(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", map[string]string{"team": "sre"}, 1, 2)
	sim.Colleague(t, "web", "redis", nil, 1)
	cli := providertest.NewCLI(t, sim, "")
	needs114(cli)
	cli.Write("list.tfquery.hcl", providertest.ReadExample(t, "list-resources/bk_hosted_process/list-resource.tfquery.hcl"))
	out := cli.Expect(0, "query", "-generate-config-out=found.tf")
	if !strings.Contains(out, "name=nginx,namespace=web") || strings.Contains(out, "redis") {
		t.Errorf("it found\n%s", out)
	}
	found, err := os.ReadFile(filepath.Join(cli.Dir, "found.tf"))
	providertest.NoError(t, err)
	providertest.Says(t, string(found), `resource "bk_hosted_process" "web_0"`, `"`+providertest.Address(2)+`" = "`+providertest.Address(2)+`"`, `team = "sre"`, "identity = {")
}

func TestAccExamples_importByIdentity(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.Colleague(t, "web", "nginx", map[string]string{"team": "sre"}, 1, 2)
	cli := providertest.NewCLI(t, sim, providertest.ReadExample(t, providertest.HostedExample)+providertest.ReadExample(t, "resources/bk_hosted_process/import-by-identity.tf"))
	code, out := cli.Run("plan")
	if strings.Contains(out, `argument named "identity" is not expected here`) {
		t.Skip("this command line imports by id alone; Terraform and OpenTofu import by identity from 1.12 on")
	}
	if code != 0 || !strings.Contains(out, "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy.") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

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
