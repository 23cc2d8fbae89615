package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// threeProcesses are three hosted processes of 20 hosts, each with an operation and a
// status that refer to it as given; NAME stands for its name.
func threeProcesses(start, reference string) string {
	var config strings.Builder
	for _, name := range []string{"access", "game", "rank"} {
		fmt.Fprintf(&config, `
resource "bk_hosted_process" %[1]q {
  meta  = { namespace = "web", name = %[1]q }
  hosts = { for i in range(1, 21) : format("web-%%02d", i) => "0:10.0.0.${i}" }
  spec  = %[2]s
}

resource "bk_process_operation" %[1]q {
  %[3]s
  operation = "restart"
}

data "bk_process_status" %[1]q {
  %[3]s
  depends_on = [bk_process_operation.%[1]s]
}
`, name, providertest.SpecConfig(start), strings.ReplaceAll(reference, "NAME", name))
	}
	return config.String()
}

// planned is what a plan prints between its first and its last words, on any CLI.
func planned(t *testing.T, out string) string {
	t.Helper()
	between := regexp.MustCompile(`(?s)will perform the following actions:\n(.*)\nPlan: `).FindStringSubmatch(out)
	if between == nil {
		t.Fatalf("no plan in\n%s", out)
	}
	return between[1]
}

// A person can read the plan of three processes of 20 hosts: an operation and a status name
// theirs in one line, and say on how many hosts they run.
func TestAccPlanLines(t *testing.T) {
	t.Parallel()
	const (
		inParts = "meta = bk_hosted_process.NAME.meta\n  hosts = bk_hosted_process.NAME.hosts\n  spec = bk_hosted_process.NAME.spec"
		whole   = "process = bk_hosted_process.NAME.process"
	)
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, threeProcesses("./start.sh", inParts))
	long := planned(t, cli.Expect(0, "plan"))
	cli.Configure(threeProcesses("./start.sh", whole))
	short := planned(t, cli.Expect(0, "plan"))
	t.Logf("a plan of three processes: %d lines in parts, %d lines with process", strings.Count(long, "\n"), strings.Count(short, "\n"))
	if lines := strings.Count(short, "\n"); lines >= 250 {
		t.Errorf("the plan has %d lines\n%s", lines, short)
	}
	expectLines(t, short, `+ process            = (sensitive value)`, 9)
	expectLines(t, short, `+ rollout_plan      = "run 1: restart on 20 hosts: web-01…web-20"`, 3)

	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")

	// A changed declaration is one line of what depends on it, which says that it runs
	// nothing.
	cli.Configure(threeProcesses("./start.sh -q", whole))
	changed := planned(t, cli.Expect(0, "plan"))
	t.Logf("a changed command of all three: %d lines", strings.Count(changed, "\n"))
	expectLines(t, changed, `~ process           = (sensitive value)`, 6)
	expectLines(t, changed, `~ rollout_plan      = "run 1: restart on 20 hosts: web-01…web-20" -> "runs nothing"`, 3)
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// expectLines counts the lines that say something, whatever white space they begin with.
func expectLines(t *testing.T, plan, line string, want int) {
	t.Helper()
	got := 0
	for printed := range strings.Lines(plan) {
		if strings.Join(strings.Fields(printed), " ") == strings.Join(strings.Fields(line), " ") {
			got++
		}
	}
	if got != want {
		t.Errorf("%d lines %q, want %d, in\n%s", got, line, want, plan)
	}
}

// A secret in a command stays one on its way through the process.
func TestAccPlanLines_secret(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, `
variable "key" {
  default   = "k3y-of-the-vault"
  sensitive = true
}
`+threeProcesses("./start.sh --key ${var.key}", "process = bk_hosted_process.NAME.process"))
	for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"show"}} {
		if out := cli.Expect(0, args...); strings.Contains(out, "k3y-of-the-vault") {
			t.Errorf("%s prints the secret:\n%s", args[0], out)
		}
	}
}
