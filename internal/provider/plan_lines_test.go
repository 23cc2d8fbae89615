package provider_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// secretKey is a variable with a secret.
const (
	theSecret = "k3y-of-the-vault"
	secretKey = `
variable "key" {
  default   = "` + theSecret + `"
  sensitive = true
}
`
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

// fill replaces PREFIX, IS, WHOLE, START and NAME in a configuration.
func (l inLines) fill(config, start, name string) string {
	config = strings.NewReplacer("PREFIX", l.prefix, "IS", l.is, "WHOLE", l.whole).Replace(config)
	return strings.NewReplacer("NAME", name, "START", start).Replace(config)
}

// planShapes are ways to declare a process, with what the plans of three of them have.
var planShapes = map[string]struct {
	config                     string
	mostToCreate, mostToChange int
	create, change             map[string]int // lines that they have, with their numbers
	applied                    string         // part of the last apply's output
}{
	// An operation and a status refer to the process. They name it in one line, and say on how many hosts they run.
	// A changed declaration is one line of each, which says that it runs nothing.
	"operated": {
		config: `
resource "PREFIXhosted_process" "NAME" {
  hosts = { for i in range(1, 21) : format("web-%02d", i) => "0:10.0.0.${i}" }
  IS
}
resource "PREFIXprocess_operation" "NAME" {
  WHOLE
  operation = "restart"
}
data "PREFIXprocess_status" "NAME" {
  WHOLE
  depends_on = [PREFIXprocess_operation.NAME]
}
output "NAME" {
  value = { for host, status in data.PREFIXprocess_status.NAME.statuses : host => status.state if status.state != "running" }
}
`,
		mostToCreate: 280, create: map[string]int{
			`+ ATTRIBUTE = (sensitive value)`: 9, `+ rollout_plan = "run 1: restart on 20 hosts: web-01…web-20"`: 3,
		},
		mostToChange: 130, change: map[string]int{
			`~ NAME = {} -> (known after apply)`: 3, `~ ATTRIBUTE = (sensitive value)`: 6,
			`~ rollout_plan = "run 1: restart on 20 hosts: web-01…web-20" -> "runs nothing"`: 3,
		},
	},
	// The resource itself finds stopped processes, and restarts what a release changes.
	"shortest": {
		config: `
resource "PREFIXhosted_process" "NAME" {
  hosts = { for i in range(1, 21) : format("web-%02d", i) => "0:10.0.0.${i}" }
  IS
  ensure    = "running"
  on_update = "restart"
}
output "NAME" { value = PREFIXhosted_process.NAME.out_of_sync }
`,
		mostToCreate: 200, mostToChange: 80, applied: "access = tomap({})",
	},
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

// The plans of three processes of 20 hosts are readable, over either API. A secret in a command is printed by none.
func TestAccPlanLines(t *testing.T) {
	t.Parallel()
	for api, l := range linesOf {
		for shape, c := range planShapes {
			t.Run(api+"/"+shape, func(t *testing.T) {
				t.Parallel()
				cli := newLinesCLI(t)
				configure := func(start string) {
					text := secretKey
					for _, name := range []string{"access", "game", "rank"} {
						text += l.fill(c.config, start+" --key ${var.key}", name)
					}
					cli.Configure(text)
				}
				run := func(args ...string) string {
					out := cli.Expect(0, args...)
					providertest.SaysNot(t, out, theSecret)
					return out
				}
				attribute, _, _ := strings.Cut(l.whole, " ")
				configure("./start.sh")
				expectLines(t, planned(t, run("plan")), c.mostToCreate, attribute, c.create)
				run("apply", "-auto-approve")
				run("plan", "-detailed-exitcode")
				configure("./start.sh -q")
				expectLines(t, planned(t, run("plan")), c.mostToChange, attribute, c.change)
				providertest.Says(t, run("apply", "-auto-approve"), c.applied)
				run("plan", "-detailed-exitcode")
				run("show")
				run("plan", "-destroy")
				run("destroy", "-auto-approve")
			})
		}
	}
}

func newLinesCLI(t *testing.T) *providertest.CLI {
	t.Helper()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, "")
	cli.Env = append(cli.Env, "BK_JOB_ENDPOINT="+sim.URL)
	return cli
}

// expectLines bounds the lines of a plan, outputs included, and counts those with some content, after any white
// space.
func expectLines(t *testing.T, plan string, most int, attribute string, want map[string]int) {
	t.Helper()
	if lines := strings.Count(plan, "\n"); lines > most {
		t.Errorf("the plan has %d lines, more than %d\n%s", lines, most, plan)
	}
	got := make(map[string]int)
	for line := range strings.Lines(regexp.MustCompile(`(access|game|rank) +=`).ReplaceAllString(plan, "NAME =")) {
		got[strings.Join(strings.Fields(line), " ")]++
	}
	for line, n := range want {
		if line = strings.ReplaceAll(line, "ATTRIBUTE", attribute); got[line] != n {
			t.Errorf("%d lines %q, want %d, in\n%s", got[line], line, n, plan)
		}
	}
}

// A status of a whole resource and an operation with its parts can be outputs. What the configuration
// marks as sensitive stays sensitive: Terraform then refuses the output, and does not print it.
//
// Promised in reference: Only what the configuration marks as sensitive is sensitive then, so
// that outputs may use this data source.
func TestAccOutputs_wholeStatus(t *testing.T) {
	t.Parallel()
	const config = secretKey + `
resource "PREFIXhosted_process" "NAME" {
  hosts = { web-1 = "0:10.0.0.1", web-2 = "0:10.0.0.2" }
  IS
}
data "PREFIXprocess_status" "NAME" {
  hosted_process = PREFIXhosted_process.NAME
  depends_on     = [PREFIXprocess_operation.NAME]
}
resource "PREFIXprocess_operation" "NAME" {
  hosts = PREFIXhosted_process.NAME.hosts
  IS
  operation = "start"
}
output "whole" { value = [data.PREFIXprocess_status.NAME, PREFIXprocess_operation.NAME] }
`
	for api, l := range linesOf {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			cli := newLinesCLI(t)
			cli.Configure(l.fill(config, "./start.sh --key ${var.key}", "nginx"))
			out := cli.Expect(1, "plan")
			providertest.Says(t, out, "Output refers to sensitive values")
			providertest.SaysNot(t, out, theSecret)
			cli.Configure(l.fill(config, "./start.sh", "nginx"))
			providertest.SaysNot(t, cli.Expect(0, "apply", "-auto-approve"), theSecret)
			providertest.Says(t, cli.Expect(0, "output", "-json", "whole"), `"running_count":2`, `"hosts":{"web-1":"0:10.0.0.1","web-2":"0:10.0.0.2"}`)
			cli.Expect(0, "plan", "-detailed-exitcode")
		})
	}
}
