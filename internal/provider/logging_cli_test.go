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

// logged is the log of a command with the variables that the page about logs names.
func logged(c *providertest.CLI, variables string, code int, args ...string) []string {
	c.T.Helper()
	if !strings.Contains(logsPage(c.T), "`"+variables+"`") {
		c.T.Errorf("the page does not name %s", variables)
	}
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

// The log of an operation on a thousand hosts is readable: the steps at INFO, and each call in a line at
// DEBUG.
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
		if len(lines) >= 100 {
			t.Errorf("%s: %d lines at INFO:\n%s", name, len(lines), strings.Join(lines, "\n"))
		}
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
		if !regexp.MustCompile(line).MatchString(logsPage(t)) {
			t.Errorf("no line on the page is like %s", line)
		}
	}
	if told := len(linesWith(calls, "called API")); told != len(made) {
		t.Errorf("%d calls are logged, and %d were made", told, len(made))
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
