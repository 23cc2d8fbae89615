package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
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

// inLines has the objects of an API as HCL: what a hosted process has besides its hosts, and how
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
	create, change             map[string]int // numbers of lines by their beginning
	applied                    string         // part of the last apply's output
}{
	// An operation and a status refer to the process in one line, and say on how many hosts they run.
	// For each of them, a changed declaration is one line, which says that it runs nothing.
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

// The plans of three processes of 20 hosts are readable, over either API. No plan prints a secret in a command.
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

// expectLines limits the lines of a plan, outputs included, and counts lines by their content after white space.
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
// Promised in reference: Only what the configuration marks as sensitive is sensitive then, so that outputs may use this data source.
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

// logged returns the log of a command with the variables that the page about logs names.
func logged(c *providertest.CLI, variables string, code int, args ...string) []string {
	c.T.Helper()
	providertest.Check(c.T, strings.Contains(logsPage(c.T), "`"+variables+"`"), "the page does not name %s", variables)
	file := filepath.Join(c.Dir, "bk.log")
	run := *c
	run.Env = append(append(slices.Clip(c.Env), strings.Fields(variables)...), "TF_LOG_PATH="+file)
	run.Expect(code, args...)
	lines := strings.Split(strings.TrimSuffix(providertest.ReadFile(c.T, file), "\n"), "\n")
	providertest.NoError(c.T, os.Remove(file))
	return lines
}

func logsPage(t *testing.T) string {
	t.Helper()
	return providertest.ReadFile(t, "../../templates/guides/logs.md.tmpl")
}

func linesWith(lines []string, text string) []string {
	var found []string
	for _, line := range lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// The log of an operation on a thousand hosts is readable: the steps at INFO, and each call in a line at DEBUG.
func TestAccLogs(t *testing.T) {
	t.Parallel()
	const (
		hosts    = 1000
		operated = `called API: api=operate_proc_v2 code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="10 from \S+ to \S+" operation=restart task_id=GSETASK`
		over     = `task over: task_id=\S+ operation=restart hosts="10 from \S+ to \S+" codes="0 \(\d+ hosts\)`
	)
	sim := providertest.NewSim(t)
	config := func(run string) string {
		return providertest.OperationConfig{
			Hosted:    providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts), Start: "./start.sh " + run, More: `rollout = { waves = ["100%"] }`},
			Operation: "restart",
			More:      "triggers = { run = " + run + " }\n rollout = { batch_size = 10, max_failed_hosts = 5 }",
		}.String()
	}
	cli := providertest.NewCLI(t, sim, config("1"))

	const steps = "TF_LOG_PROVIDER=INFO"
	created := logged(cli, steps, 0, "apply", "-auto-approve")
	restart := 7
	sim.Inject(simulator.Fault{Op: &restart, Hosts: []string{providertest.Address(2)}, Code: new(65535), Message: "disk full"})
	cli.Configure(config("2"))
	updated := logged(cli, steps, 1, "apply", "-auto-approve")
	sim.ClearFaults()
	cli.Configure(config("3"))
	sim.ResetCalls()
	calls := logged(cli, "TF_LOG_PROVIDER=DEBUG", 0, "apply", "-auto-approve")
	made := sim.Calls()
	bodies := logged(cli, "TF_LOG_PROVIDER=TRACE", 0, "plan")
	// The subsystem's level shows fewer of these lines, and never more.
	for variables, own := range map[string]string{steps: "DEBUG", "TF_LOG_PROVIDER=DEBUG": "INFO"} {
		narrowed := *cli
		narrowed.Env = append(slices.Clip(cli.Env), "TF_LOG_PROVIDER_BK_GSE="+own)
		if found := linesWith(logged(&narrowed, variables, 0, "plan"), "called API"); len(found) > 0 {
			t.Errorf("%s, and these lines at %s: %s", variables, own, found[0])
		}
	}
	destroyed := logged(cli, steps, 0, "destroy", "-auto-approve")

	for name, lines := range map[string][]string{"create": created, "update": updated, "destroy": destroyed} {
		providertest.Check(t, len(lines) < 100, "%s: %d lines at INFO:\n%s", name, len(lines), strings.Join(lines, "\n"))
		if i := slices.IndexFunc(linesWith(lines, "module=bk.gse"), func(line string) bool { return len(line) > 1000 }); i >= 0 {
			t.Errorf("%s: line %d of the provider is too long", name, i)
		}
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{created, `operation begins: process=web:nginx operation=register hosts=1000 which=web-1…web-1000`},
		{created, `operation over: process=web:nginx operation=register took=\S+ outcome="1000 hosts: 1000 done" tasks=GSETASK`},
		{created, `operation over: process=web:nginx operation=restart took=\S+ outcome="1000 hosts: 1000 done" tasks="GSETASK.* and 90 more"`},
		{updated, `outcome="1000 hosts: 999 done, 1 failed" tasks=.* reasons="web-2 \(0:10.0.0.3\): 65535, the command failed"`},
		{destroyed, `operation over: process=web:nginx operation=unregister took=\S+ outcome="1000 hosts: 1000 done"`},
		{calls, `called API: api=(update_proc_info|operate_proc_multi) code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="1000 from `},
		{calls, operated},
		{calls, `called API: api=get_proc_operate_result_v2 code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="10 from \S+ to \S+" operation=restart task_id=GSETASK`},
		{calls, over},
		{bodies, `calling API: api=get_proc_status_v2 .*body=`},
	} {
		if found := regexp.MustCompile(c.want).FindString(strings.Join(c.lines, "\n")); found == "" {
			t.Errorf("no line of the log is like %s:\n%s", c.want, strings.Join(linesWith(c.lines, "module=bk.gse")[:3], "\n"))
		}
	}
	// The lines that the page about logs asks for have the documented form.
	for _, line := range []string{operated, over} {
		providertest.Check(t, regexp.MustCompile(line).MatchString(logsPage(t)), "no line on the page is like %s", line)
	}
	if logged := len(linesWith(calls, "called API")); logged != len(made) {
		t.Errorf("%d calls are logged, and %d were made", logged, len(made))
	}
	notAsked := linesWith(created, "called API")
	for _, lines := range [][]string{created, updated, calls} {
		notAsked = slices.Concat(notAsked, linesWith(lines, "calling API"), linesWith(lines, "module=sdk.framework"), linesWith(lines, "timeout configuration not found"))
		// The other lines are about how Terraform starts and ends the provider's processes.
		for _, line := range linesWith(lines, "terraform-provider-bk: ") {
			if !regexp.MustCompile("module=bk.gse|mTLS|plugin address|Response contains").MatchString(line) {
				notAsked = append(notAsked, line)
			}
		}
	}
	if len(notAsked) > 0 {
		t.Errorf("not asked for: %s", notAsked[0])
	}
}
