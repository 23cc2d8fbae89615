package provider_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// logged is the log of a command with the variables that the page about logs names.
func logged(c *providertest.CLI, variables string, code int, args ...string) []string {
	c.T.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "logs.md.tmpl"))
	if err != nil {
		c.T.Fatal(err)
	}
	if !strings.Contains(string(page), "`"+variables+"`") {
		c.T.Errorf("the page does not name %s", variables)
	}
	file := filepath.Join(c.Dir, "bk.log")
	before := c.Env
	c.Env = append(append(c.Env, strings.Fields(variables)...), "TF_LOG_PATH="+file)
	c.Expect(code, args...)
	c.Env = before
	text, err := os.ReadFile(file)
	if err != nil {
		c.T.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		c.T.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// linesWith are the lines that contain a text.
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
	const hosts = 1000
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
		for _, line := range lines {
			if strings.Contains(line, "module=bk.gse") && len(line) > 1000 {
				t.Errorf("%s: a line of %d characters: %s", name, len(line), line)
			}
		}
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{created, `operation begins: process=web:nginx operation=register hosts=1000 which=web-1…web-1000`},
		{created, `operation over: process=web:nginx operation=register took=\S+ outcome="1000 hosts: 1000 done" tasks=GSETASK`},
		{created, `operation begins: process=web:nginx operation=restart hosts=1000`},
		{created, `wave begins: process=web:nginx operation=restart wave=1/100 after=\S+ done=0/1000 failed=0 unknown=0`},
		{created, `wave begins: process=web:nginx operation=restart wave=100/100 after=\S+ done=990/1000 failed=0 unknown=0`},
		{created, `operation over: process=web:nginx operation=restart took=\S+ outcome="1000 hosts: 1000 done" tasks="GSETASK.* and 90 more"`},
		{updated, `operation begins: process=web:nginx operation=update hosts=1000`},
		{updated, `operation over: process=web:nginx operation=update took=`},
		{updated, `outcome="1000 hosts: 999 done, 1 failed" tasks=.* reasons="web-2 \(0:10.0.0.3\): 65535, the command failed"`},
		{destroyed, `operation begins: process=web:nginx operation=unregister hosts=1000`},
		{destroyed, `operation over: process=web:nginx operation=unregister took=\S+ outcome="1000 hosts: 1000 done"`},
		{calls, `called API: api=(update_proc_info|operate_proc_multi) code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="1000 from `},
		{calls, `called API: api=operate_proc_v2 code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="10 from \S+ to \S+" operation=restart task_id=GSETASK`},
		{calls, `called API: api=get_proc_operate_result_v2 code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="10 from \S+ to \S+" operation=restart task_id=GSETASK`},
		{calls, `task over: task_id=\S+ operation=restart hosts="10 from \S+ to \S+" codes="0 \(10 hosts\)"`},
		{bodies, `calling API: api=get_proc_status_v2 .*body=`},
	} {
		if found := regexp.MustCompile(c.want).FindString(strings.Join(c.lines, "\n")); found == "" {
			t.Errorf("no line of the log is like %s:\n%s", c.want, strings.Join(linesWith(c.lines, "module=bk.gse")[:3], "\n"))
		}
	}
	// The lines that the page about logs asks for have the documented form.
	page, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "logs.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`called API: api=operate_proc_v2 code=0 ms=\d+ request_id=\w+ process=web:nginx hosts="10 from \S+ to \S+" operation=restart task_id=GSETASK`,
		`task over: task_id=\S+ operation=restart hosts="10 from \S+ to \S+" codes="0 \(\d+ hosts\)`,
	} {
		shown := regexp.MustCompile(line)
		if !shown.Match(page) || !shown.MatchString(strings.Join(calls, "\n")) {
			t.Errorf("a line like %s stands on the page: %t; in the log: %t", line, shown.Match(page), shown.MatchString(strings.Join(calls, "\n")))
		}
	}
	if told := len(linesWith(calls, "called API")); told != len(made) {
		t.Errorf("%d calls are logged, and %d were made", told, len(made))
	}
	for _, lines := range [][]string{created, updated, calls} {
		if found := slices.Concat(linesWith(lines, "calling API"), linesWith(lines, "module=sdk.framework"), linesWith(lines, "timeout configuration not found")); len(found) > 0 {
			t.Errorf("not asked for: %s", found[0])
		}
		// The other lines are about how Terraform starts and ends the provider's processes.
		for _, line := range lines {
			if strings.Contains(line, "terraform-provider-bk: ") && !regexp.MustCompile("module=bk.gse|mTLS|plugin address|Response contains").MatchString(line) {
				t.Errorf("a line of the SDK: %s", line)
			}
		}
	}
	if found := linesWith(created, "called API"); len(found) > 0 {
		t.Errorf("not asked for: %s", found[0])
	}
}

// A refused connection is one call and one line of the log, whatever max_retries is.
//
// Promised in index.md: An address that has accepted no connection yet is tried once.
func TestAccLogs_refused(t *testing.T) {
	t.Parallel()
	cli := providertest.NewCLI(t, providertest.NewSim(t), providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Start: "./start.sh"}.String())
	cli.Env = append(cli.Env, "BK_ENDPOINT="+procapitest.ClosedEndpoint(t), "BK_GATEWAY=esb")
	lines := linesWith(logged(cli, "TF_LOG_PROVIDER=DEBUG", 1, "apply", "-auto-approve"), "API:")
	if len(lines) != 1 || !strings.Contains(lines[0], "called API: ") || !strings.Contains(lines[0], "kind=connect") {
		t.Errorf("want one call:\n%s", strings.Join(lines, "\n"))
	}
}
