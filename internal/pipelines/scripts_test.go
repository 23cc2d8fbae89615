package pipelines_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// opaBinary builds OPA once, and returns its path.
var opaBinary = sync.OnceValues(func() (string, error) {
	var stderr strings.Builder
	build := exec.Command(filepath.Join("..", "..", "tools", "build"), "opa")
	build.Stderr = &stderr
	out, err := build.Output()
	if err != nil {
		return "", errors.Join(err, errors.New(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
})

func needOPA(t *testing.T) string {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("Acceptance tests skipped unless env 'TF_ACC' set")
	}
	opa, err := opaBinary()
	providertest.NoError(t, err)
	return opa
}

func examples(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "pipelines"))
	providertest.NoError(t, err)
	return dir
}

// pipeline is a working directory of a CI with a configuration and the scripts.
type pipeline struct {
	*providertest.CLI
	scripts string
}

// newPipeline returns one whose CLI finds the provider in a mirror, as users' CLIs do, and not by a
// development override, so that init works.
func newPipeline(t *testing.T, sim *providertest.Sim, config string) *pipeline {
	t.Helper()
	opa := needOPA(t)
	p := &pipeline{CLI: providertest.NewCLI(t, sim, config), scripts: examples(t)}
	p.UseMirror()
	cli := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if cli == "" {
		cli = "terraform"
	}
	p.Env = append(p.Env, "CLI="+cli, "OPA="+opa)
	return p
}

func (p *pipeline) script(code int, name string, env ...string) string {
	p.T.Helper()
	got, out := p.try(name, env...)
	if got != code {
		p.T.Fatalf("%s: exit code %d, want %d\n%s", name, got, code, out)
	}
	return out
}

func (p *pipeline) try(name string, env ...string) (int, string) {
	p.T.Helper()
	run := exec.CommandContext(p.T.Context(), "sh", filepath.Join(p.scripts, name))
	run.Dir, run.Env = p.Dir, append(slices.Clip(p.Env), env...)
	out, err := run.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.T.Fatal(err)
	}
	return run.ProcessState.ExitCode(), string(out)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s\n%s", err, text)
	}
	return value
}

// robot answers like WeCom's robots: it also refuses a message with status 200.
type robot struct {
	URL string

	mu    sync.Mutex
	got   []string
	takes int // bytes
}

func newRobot(t *testing.T) *robot {
	t.Helper()
	r := &robot{takes: 2048}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		providertest.Check(t, err == nil, "%s", err)
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(body) > r.takes {
			_, _ = io.WriteString(w, `{"errcode":40058,"errmsg":"text.content exceed max length 2048"}`)
			return
		}
		_, _ = io.WriteString(w, `{"errcode":0,"errmsg":"ok"}`)
		r.got = append(r.got, string(body))
	}))
	t.Cleanup(server.Close)
	r.URL = server.URL
	return r
}

// texts returns the messages, without the envelope of WeCom.
func (r *robot) texts(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := []string{}
	for _, body := range r.got {
		message := decode(t, []byte(body))
		text, _ := message["text"].(map[string]any)
		content, _ := text["content"].(string)
		providertest.Check(t, message["msgtype"] == "text" && content != "", "a robot could not read %s", body)
		texts = append(texts, content)
	}
	return texts
}

func fleetOf(hosts int) string {
	return providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts)}.String()
}

func applied(t *testing.T, hosts int) (*providertest.Sim, *pipeline) {
	t.Helper()
	sim := providertest.NewSim(t)
	p := newPipeline(t, sim, fleetOf(hosts))
	p.script(0, "plan.sh")
	p.script(0, "apply.sh")
	sim.ResetCalls()
	return sim, p
}

// A plan is checked, kept in a file that only its user can read, and applied.
func TestAccScripts(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := newPipeline(t, sim, fleetOf(3))

	p.script(0, "plan.sh")
	providertest.Says(t, p.script(0, "policy.sh"), "The policies allow this plan.")
	sim.Changed(t)
	for _, name := range []string{"tfplan", "tfplan.json", "tfplan.txt"} {
		info, err := os.Stat(filepath.Join(p.Dir, name))
		providertest.NoError(t, err)
		// Promised in pipelines.md: Only the user that ran the script may read its file.
		providertest.Check(t, info.Mode().Perm() == 0o600, "%s may be read by others: %s", name, info.Mode())
	}
	p.script(0, "apply.sh")
	for _, n := range providertest.HostNumbers(3) {
		process, found := sim.Process(providertest.Address(n), "web", "nginx")
		providertest.Check(t, found && process.Registered, "web-%d is not registered", n)
	}
}

// Nights without drift, with drift, with a platform that refuses, and without a robot.
func TestAccScripts_nights(t *testing.T) {
	t.Parallel()
	sim, p := applied(t, 3)
	// Promised in pipelines.md: `NOTIFY_URL` (not set by default)
	robot := newRobot(t)
	night := "NOTIFY_URL=" + robot.URL

	p.script(0, "drift.sh", night)
	providertest.Same(t, "reported without drift", []string{}, robot.texts(t))

	providertest.NoError(t, sim.Unregister(providertest.Address(2), "web", "nginx"))
	// Promised in pipelines.md: drift.sh exits with 2
	providertest.Says(t, p.script(2, "drift.sh", night), "Not as declared: bk_hosted_process.test: update bk_hosted_process.test: web-2: unregistered")
	want := []string{"Not as declared:\nbk_hosted_process.test: update\nbk_hosted_process.test: web-2: unregistered"}
	providertest.Same(t, "drift reported", want, robot.texts(t))

	// Promised in pipelines.md: with 1 if that cannot be found out.
	sim.Inject(simulator.Fault{HTTPStatus: http.StatusForbidden})
	providertest.Says(t, p.script(1, "drift.sh", night), "Nobody knows whether there is drift")
	// The same if no file can be written.
	p.script(1, "drift.sh", night, "PLAN=nowhere/drift")
	sim.ClearFaults()
	reported := robot.texts(t)
	providertest.Check(t, len(reported) == 3 && strings.Contains(reported[2], "failed") && strings.Contains(reported[1], "failed"), "report of a failed search: %q", reported)

	// The result does not depend on the robot.
	providertest.Says(t, p.script(2, "drift.sh", "NOTIFY_URL=http://127.0.0.1:1"), "Nobody could be notified.")
}

// A message is no longer than a robot accepts, and a robot's refusal is reported.
func TestAccScripts_nightOfManyHosts(t *testing.T) {
	t.Parallel()
	sim, p := applied(t, 61)
	robot := newRobot(t)
	for _, n := range providertest.HostNumbers(60) {
		providertest.NoError(t, sim.Unregister(providertest.Address(n), "web", "nginx"))
	}
	said := p.script(2, "drift.sh", "NOTIFY_URL="+robot.URL)
	providertest.Says(t, said, "web-60: unregistered")
	providertest.Check(t, !strings.Contains(said, "Nobody could be notified"), "%s", said)
	texts := robot.texts(t)
	providertest.Check(t, len(texts) == 1 && strings.HasPrefix(texts[0], "Not as declared:\n") && strings.HasSuffix(texts[0], "\nand 41 more") && strings.Count(texts[0], "\n") == 21,
		"what was reported: %q", texts)

	robot.mu.Lock()
	robot.takes = 100
	robot.mu.Unlock()
	providertest.Says(t, p.script(2, "drift.sh", "NOTIFY_URL="+robot.URL), "Nobody could be notified", "exceed max length")
}

// Long names take more bytes, so a message has fewer of them.
func TestAccScripts_nightOfLongNames(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	p := newPipeline(t, sim, strings.ReplaceAll(fleetOf(20), "web-", strings.Repeat("广州", 20)+"-"))
	p.script(0, "plan.sh")
	p.script(0, "apply.sh")
	robot := newRobot(t)
	for _, n := range providertest.HostNumbers(20) {
		providertest.NoError(t, sim.Unregister(providertest.Address(n), "web", "nginx"))
	}
	p.script(2, "drift.sh", "NOTIFY_URL="+robot.URL)
	texts := robot.texts(t)
	providertest.Check(t, len(texts) == 1 && strings.HasSuffix(texts[0], " more") && strings.Count(texts[0], "unregistered") > 5, "what was reported: %q", texts)
}

// A plan made for an earlier state is not applied.
func TestAccScripts_oldPlan(t *testing.T) {
	t.Parallel()
	sim, p := applied(t, 3)
	providertest.NoError(t, sim.Unregister(providertest.Address(2), "web", "nginx"))
	p.script(1, "apply.sh")
	sim.Changed(t)

	p.script(0, "plan.sh")
	p.script(0, "apply.sh")
	sim.Changed(t, providertest.OnGateway([]string{"operate_proc_v2/3 " + providertest.Addresses(2), "register_proc_info " + providertest.Addresses(2)})...)
	p.script(0, "drift.sh")
}

// A plan that the policies refuse is not applied, even if they were not evaluated before.
func TestAccScripts_refused(t *testing.T) {
	t.Parallel()
	sim, p := applied(t, 4)
	p.Configure(fleetOf(2))
	p.script(0, "plan.sh")
	// Promised in pipelines.md: `policy.sh` exits with 1 and says why
	providertest.Says(t, p.script(1, "policy.sh"), "The policies refuse this plan.", "takes away 2 of its 4 hosts: web-3 (0:10.0.0.4), web-4 (0:10.0.0.5)")
	// Promised in pipelines.md: `apply.sh` runs the policies once more
	providertest.Says(t, p.script(1, "apply.sh"), "takes away 2 of its 4 hosts")

	// Promised in pipelines.md: a plan that cannot be judged is refused
	providertest.Says(t, p.script(1, "apply.sh", "OPA=/nowhere/opa"), "could not be asked, so nothing is allowed")
	for text, want := range map[string]string{
		"{}": "This is not the JSON of a plan",
		`{"format_version": "1.2", "planned_values": {}, "errored": true}`:                                                                "The plan ended with an error",
		`{"format_version": "1.2", "planned_values": {}, "resource_changes": [{"address": "bk_x.y", "mode": "managed", "type": "bk_x"}]}`: "do not know the type bk_x",
		"[":         "could not be asked",
		`["never"]`: "This is not the JSON of a plan",
	} {
		p.Write("tfplan.json", text)
		providertest.Says(t, p.script(1, "policy.sh"), want)
	}
	sim.Changed(t)

	// If planning fails, no earlier plan is left to apply.
	p.Configure("resource \"bk_hosted_process\" \"test\" {}\n")
	p.script(1, "plan.sh")
	p.script(1, "apply.sh")
	sim.Changed(t)
}

// Every pipeline is valid YAML, and runs existing scripts in the right order.
func TestAccYAML(t *testing.T) {
	t.Parallel()
	opa := needOPA(t)
	dir := examples(t)
	runs := map[string][]string{}
	for _, system := range []string{"bkci", "gitlab", "atlantis"} {
		hidden, err := filepath.Glob(filepath.Join(dir, system, ".*.yml"))
		providertest.NoError(t, err)
		visible, err := filepath.Glob(filepath.Join(dir, system, "*"))
		providertest.NoError(t, err)
		for _, file := range append(visible, hidden...) {
			name := system + "/" + filepath.Base(file)
			parsed, err := exec.CommandContext(t.Context(), opa, "eval", "--format=raw", "--data=file:"+file, "data.file").CombinedOutput()
			if err != nil {
				t.Errorf("%s: %s", name, parsed)
				continue
			}
			text := providertest.ReadFile(t, file)
			runs[name] = []string{}
			for _, run := range regexp.MustCompile(`(?m)\bsh (\S+/)(\S+)$`).FindAllStringSubmatch(text, -1) {
				runs[name] = append(runs[name], run[2])
				_, err := os.Stat(filepath.Join(dir, run[2]))
				providertest.Check(t, err == nil, "%s: %s", name, err)
			}
		}
	}
	want := map[string][]string{
		"bkci/hosted-processes.yml": {"plan.sh", "policy.sh", "apply.sh"},
		"bkci/drift.yml":            {"drift.sh"},
		"gitlab/.gitlab-ci.yml":     {"plan.sh", "policy.sh", "apply.sh", "drift.sh"},
		"atlantis/repos.yaml":       {"plan.sh", "policy.sh", "apply.sh"},
		"atlantis/atlantis.yaml":    {},
	}
	providertest.Same(t, "what the pipelines run", want, runs)
}

// Only jobs on reviewed code get the secret.
func TestAccYAML_secret(t *testing.T) {
	t.Parallel()
	holds(t, map[string]string{
		"bkci/hosted-processes.yml": `data.file.on.push.branches == ["main"]; count(data.file.on) == 1`,
		"gitlab/.gitlab-ci.yml":     `[rule["if"] | some rule in data.file.workflow.rules] == ["$CI_PIPELINE_SOURCE == \"schedule\"", "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"]; data.file.plan.artifacts.access == "maintainer"`,
		"atlantis/repos.yaml":       `"approved" in data.file.repos[0].plan_requirements`,
	})
}

// A person approves between plan and apply.
func TestAccYAML_approval(t *testing.T) {
	t.Parallel()
	holds(t, map[string]string{
		"bkci/hosted-processes.yml": `some i; data.file.stages[i].name == "apply"; i > 0; count(data.file.stages[i]["check-in"].reviews.flows[0].reviewers) > 0`,
		"gitlab/.gitlab-ci.yml":     `data.file.apply.rules[1] == {"when": "manual"}; data.file.apply.needs == ["plan"]`,
		"atlantis/repos.yaml":       `"approved" in data.file.repos[0].apply_requirements; not data.file.repos[0].allow_custom_workflows`,
	})
}

// holds evaluates queries on the pipelines' files. A query of one expression is defined even if that is false.
func holds(t *testing.T, queries map[string]string) {
	t.Helper()
	opa := needOPA(t)
	dir := examples(t)
	for name, query := range queries {
		eval := exec.CommandContext(t.Context(), opa, "eval", "--fail", "--data=file:"+filepath.Join(dir, name), query+"; true")
		out, err := eval.CombinedOutput()
		providertest.Check(t, err == nil, "%s: %s does not hold: %s\n%s", name, query, err, out)
	}
}

// The policies are well-formed and formatted; the scripts are POSIX shell.
func TestAccPolicies_wellFormed(t *testing.T) {
	t.Parallel()
	opa := needOPA(t)
	dir := examples(t)
	check := func(command string, args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput()
		providertest.Check(t, err == nil, "%s: %s\n%s", filepath.Base(command), err, out)
	}
	check(opa, "check", "--strict", filepath.Join(dir, "policy"))
	check(opa, "fmt", "--fail", "--list", filepath.Join(dir, "policy"))
	scripts := providertest.Glob(t, filepath.Join(dir, "*.sh"))
	for _, script := range scripts {
		check("sh", "-n", script)
	}
}
