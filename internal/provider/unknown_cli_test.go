package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// A value that another resource computes is unknown in the plan. If it is then equal, no host is called;
// if it differs, one apply is sufficient.
func TestAccUnknown(t *testing.T) {
	t.Parallel()
	const release, hosts = "terraform_data.u.output", 2
	labels := providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts), Labels: "{ release = " + release + " }"}
	command := providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts), Start: "./start.sh ${" + release + "}", More: "on_update = \"restart\"\n  rollout = { batch_size = 1 }"}
	for name, c := range map[string]struct{ block, config string }{
		"label":   {"", labels.String()},
		"command": {"", command.String()},
		"default": {"default_labels = { release = " + release + " }", providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts)}.String()},
		"trigger": {"", providertest.OperationConfig{
			Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts)}, Operation: "restart", More: "triggers = { release = " + release + " }",
		}.String()},
		"job": {"", providertest.JobConfig{Hosts: providertest.HostsConfig(hosts), Process: providertest.JobProcess("./start.sh ${" + release + "}")}.String() + `
resource "bk_job_process_operation" "test" {
  declaration = bk_job_hosted_process.test.declaration
  operation   = "restart"
  triggers    = { release = bk_job_hosted_process.test.fingerprint }
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, "")
			cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
			for i, step := range []struct {
				release, again string
				calls          bool
			}{{"a", "1", true}, {"a", "2", false}, {"b", "2", true}} {
				cli.ConfigureWith("provider \"bk\" {\n"+c.block+"\n}\n", fmt.Sprintf("resource \"terraform_data\" \"u\" {\n  input = %q\n  triggers_replace = %q\n}\n", step.release, step.again)+c.config)
				sim.ResetCalls()
				cli.Expect(0, "apply", "-auto-approve")
				if changes := sim.Changes(); (len(changes) > 0) != step.calls {
					t.Errorf("apply %d called:\n%s", i+1, strings.Join(changes, "\n"))
				}
				cli.Expect(0, "plan", "-detailed-exitcode")
			}
		})
	}
}
