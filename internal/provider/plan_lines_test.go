package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// inLines are the objects of an API as HCL. They are what a hosted process has besides its hosts, and how
// an operation and a status refer to it. NAME is replaced by its name, START by its command.
type inLines struct{ prefix, is, whole string }

var linesOf = map[string]inLines{
	"gse": {
		"bk_", "meta = { namespace = \"web\", name = \"NAME\" }\n  spec = " + providertest.SpecConfig("START"),
		"process = bk_hosted_process.NAME.process",
	},
	"job": {
		"bk_job_", `scope = { type = "biz", id = "2" }
  process = {
    proc_name = "NAME", setup_path = "/srv/web", pid_path = "/srv/web/NAME.pid", type = 1
    start_cmd = "START", stop_cmd = "./stop.sh", restart_cmd = "./restart.sh"
  }`,
		"declaration = bk_job_hosted_process.NAME.declaration",
	},
}

// threeProcesses are three hosted processes of 20 hosts, each with an operation and a status that refer
// to it.
func (l inLines) threeProcesses(start string) string {
	var config strings.Builder
	for _, name := range []string{"access", "game", "rank"} {
		text := fmt.Sprintf(`
resource "%[1]shosted_process" "NAME" {
  hosts = { for i in range(1, 21) : format("web-%%02d", i) => "0:10.0.0.${i}" }
  %[2]s
}

resource "%[1]sprocess_operation" "NAME" {
  %[3]s
  operation = "restart"
}

data "%[1]sprocess_status" "NAME" {
  %[3]s
  depends_on = [%[1]sprocess_operation.NAME]
}

output "NAME" {
  value = { for host, status in data.%[1]sprocess_status.NAME.statuses : host => status.state if status.state != "running" }
}
`, l.prefix, l.is, l.whole)
		config.WriteString(strings.NewReplacer("NAME", name, "START", start).Replace(text))
	}
	return config.String()
}

// shortest are three processes of 20 hosts with the fewest lines of a plan. The resource itself finds
// stopped processes, and restarts what a release changes.
func (l inLines) shortest(start string) string {
	var config strings.Builder
	for _, name := range []string{"access", "game", "rank"} {
		text := fmt.Sprintf(`
resource "%[1]shosted_process" "NAME" {
  hosts = { for i in range(1, 21) : format("web-%%02d", i) => "0:10.0.0.${i}" }
  %[2]s
  ensure    = "running"
  on_update = "restart"
}

output "NAME" {
  value = %[1]shosted_process.NAME.out_of_sync
}
`, l.prefix, l.is)
		config.WriteString(strings.NewReplacer("NAME", name, "START", start).Replace(text))
	}
	return config.String()
}

// planned is the output of a plan between its first and its last line, for any CLI.
func planned(t *testing.T, out string) string {
	t.Helper()
	between := regexp.MustCompile(`(?s)will perform the following actions:\n(.*?)(?:\n─────|\z)`).FindStringSubmatch(out)
	if between == nil {
		t.Fatalf("no plan in\n%s", out)
	}
	return between[1]
}

// The plan of three processes of 20 hosts is readable, over either API. An operation and a status name
// their process in one line, and say on how many hosts they run.
func TestAccPlanLines(t *testing.T) {
	t.Parallel()
	for api, l := range linesOf {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, l.threeProcesses("./start.sh"))
			cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
			short := planned(t, cli.Expect(0, "plan"))
			expectAtMost(t, short, 280)
			attribute, _, _ := strings.Cut(l.whole, " ")
			expectLines(t, short, `+ `+attribute+` = (sensitive value)`, 9)
			expectLines(t, short, `+ rollout_plan      = "run 1: restart on 20 hosts: web-01…web-20"`, 3)

			cli.Expect(0, "apply", "-auto-approve")
			cli.Expect(0, "plan", "-detailed-exitcode")

			// A changed declaration is one line of each object that depends on it, which says that it
			// runs nothing.
			cli.Configure(l.threeProcesses("./start.sh -q"))
			changed := planned(t, cli.Expect(0, "plan"))
			expectAtMost(t, changed, 130)
			expectLines(t, regexp.MustCompile(`(access|game|rank) +=`).ReplaceAllString(changed, "NAME ="), `~ NAME = {} -> (known after apply)`, 3)
			expectLines(t, changed, `~ `+attribute+` = (sensitive value)`, 6)
			expectLines(t, changed, `~ rollout_plan      = "run 1: restart on 20 hosts: web-01…web-20" -> "runs nothing"`, 3)
			cli.Expect(0, "apply", "-auto-approve")
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}

// The shortest form has few lines.
func TestAccPlanLines_shortest(t *testing.T) {
	t.Parallel()
	for api, l := range linesOf {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, l.shortest("./start.sh"))
			cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
			expectAtMost(t, planned(t, cli.Expect(0, "plan")), 200)
			cli.Expect(0, "apply", "-auto-approve")
			cli.Expect(0, "plan", "-detailed-exitcode")
			cli.Configure(l.shortest("./start.sh -q"))
			expectAtMost(t, planned(t, cli.Expect(0, "plan")), 80)
			if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "access = tomap({})") {
				t.Errorf("the outputs are\n%s", out)
			}
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}

// expectAtMost bounds the lines of a plan, outputs included.
func expectAtMost(t *testing.T, plan string, most int) {
	t.Helper()
	lines := strings.Count(plan, "\n")
	t.Logf("%d lines", lines)
	if lines > most {
		t.Errorf("the plan has %d lines, more than %d\n%s", lines, most, plan)
	}
}

// expectLines counts the lines with this content, after any white space.
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

// A status of a whole resource and an operation with its parts can be outputs. What the configuration
// marks as sensitive stays sensitive: Terraform then refuses the output, and does not print it.
//
// Promised in reference: Only what the configuration marks as sensitive is sensitive then, so
// that outputs may use this data source.
func TestAccOutputs_wholeStatus(t *testing.T) {
	t.Parallel()
	const secret = "k3y-of-the-vault"
	for api, l := range linesOf {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := fmt.Sprintf(`
variable "key" {
  default   = "`+secret+`"
  sensitive = true
}
resource "%[1]shosted_process" "NAME" {
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  %[2]s
}
data "%[1]sprocess_status" "NAME" {
  hosted_process = %[1]shosted_process.NAME
  depends_on     = [%[1]sprocess_operation.NAME]
}
resource "%[1]sprocess_operation" "NAME" {
  hosts = %[1]shosted_process.NAME.hosts
  %[2]s
  operation = "start"
}
output "whole" {
  value = [data.%[1]sprocess_status.NAME, %[1]sprocess_operation.NAME]
}
`, l.prefix, strings.ReplaceAll(l.is, "START", "./start.shKEY"))
			of := func(key string) string {
				return strings.NewReplacer("NAME", "nginx", "KEY", key).Replace(config)
			}
			cli := providertest.NewCLI(t, sim, of(" --key ${var.key}"))
			cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
			if out := cli.Expect(1, "plan"); !strings.Contains(out, "Output refers to sensitive values") || strings.Contains(out, secret) {
				t.Errorf("with a secret it printed\n%s", out)
			}
			cli.Configure(of(""))
			if out := cli.Expect(0, "apply", "-auto-approve"); strings.Contains(out, secret) {
				t.Errorf("it printed\n%s", out)
			}
			if out := cli.Expect(0, "output", "-json", "whole"); !strings.Contains(out, `"running_count":2`) || !strings.Contains(out, `"hosts":{"web-1":"0:10.0.0.1","web-2":"0:10.0.0.2"}`) {
				t.Errorf("the output is %s", out)
			}
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}

// A secret in a command stays sensitive inside the declaration.
func TestAccPlanLines_secret(t *testing.T) {
	t.Parallel()
	for api, l := range linesOf {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			cli := providertest.NewCLI(t, sim, `
variable "key" {
  default   = "k3y-of-the-vault"
  sensitive = true
}
`+l.threeProcesses("./start.sh --key ${var.key}"))
			cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
			for _, args := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"show"}, {"plan", "-destroy"}, {"destroy", "-auto-approve"}} {
				if out := cli.Expect(0, args...); strings.Contains(out, "k3y-of-the-vault") {
					t.Errorf("%s prints the secret:\n%s", args[0], out)
				}
			}
		})
	}
}
