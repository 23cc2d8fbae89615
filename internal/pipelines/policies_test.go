package pipelines_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// planned is a change of a configuration, and the expected judgement of its plan.
type planned struct {
	config string
	// refused has a part of each reason, and is empty if the plan is allowed.
	refused []string
}

// fleetPlan is an existing fleet with changes that may be planned for it.
type fleetPlan struct {
	before string
	plans  map[string]planned
}

const (
	inWaves    = `rollout = { waves = ["1", "10%"] }`
	inBatches  = `rollout = { batch_size = 50 }`
	oneBatch   = `rollout = { batch_size = 150 }`
	oneWave    = `rollout = { waves = ["100%"] }`
	recorded   = "run_on_create = false"
	onlyCanary = `rollout = { canary = ["web-1"] }`
)

func hosted(hosts string, start, more string) string {
	return providertest.HostedConfig{Hosts: hosts, Start: start, More: more}.String()
}

// operated returns a fleet with an operation that refers to it in one value.
func operated(fleet, operation, more string) string {
	return fleet + fmt.Sprintf("resource \"bk_process_operation\" \"test\" {\n  process = bk_hosted_process.test.process\n  operation = %q\n  %s\n}\n", operation, more)
}

// twoOperated returns two fleets with one operation on both. The first one has 150 hosts.
func twoOperated(others int, more string) string {
	log := strings.ReplaceAll(hosted(providertest.HostsConfig(others), "", ""), `"nginx"`, `"log"`)
	_, log, _ = strings.Cut(log, "resource ")
	return hosted(providertest.HostsConfig(150), "", "") + "resource " + strings.Replace(log, `"test"`, `"log"`, 1) +
		fmt.Sprintf("resource \"bk_process_operation\" \"test\" {\n  processes = {\n    web = { process = bk_hosted_process.test.process, priority = 2 }\n    log = { process = bk_hosted_process.log.process, priority = 1 }\n  }\n  operation = \"restart\"\n  %s\n}\n", more)
}

func renamed(n int) string { return strings.ReplaceAll(providertest.HostsConfig(n), "web-", "www-") }

func operatedJob(hosts int, operation, more string) string {
	process := strings.Replace(providertest.JobProcess("./start.sh"), "type ", "kill_cmd = \"./kill.sh\"\n    type ", 1)
	return providertest.JobConfig{Hosts: providertest.HostsConfig(hosts), Process: process}.String() +
		fmt.Sprintf("resource \"bk_job_process_operation\" \"test\" {\n  declaration = bk_job_hosted_process.test.declaration\n  operation = %q\n  %s\n}\n", operation, more)
}

const (
	restart150 = "bk_process_operation.test: would reach 150 hosts at once: web-1 (0:10.0.0.2), web-10 (0:10.0.0.11), "
	andMore    = "and 140 more. Beyond 100 hosts, declare waves: rollout = { waves"
	again150   = "bk_hosted_process.test: would reach 150 hosts at once"
	kill3      = "bk_process_operation.test: the operation is a kill of web-1 (0:10.0.0.2), web-2 (0:10.0.0.3), web-3 (0:10.0.0.4). Declare operation = \"stop\""
)

func fleetPlans() map[string]fleetPlan {
	three, many, more := providertest.HostsConfig(3), providertest.HostsConfig(150), providertest.HostsConfig(251)
	waved := func(hosts string, more string) string {
		return operated(hosted(hosts, "", more), "restart", inBatches)
	}
	return map[string]fleetPlan{
		"nothing-yet": {plans: map[string]planned{
			"a-small-fleet":            {config: operated(hosted(three, "", ""), "start", "")},
			"a-large-one":              {config: hosted(many, "", "")},
			"restart-at-once":          {operated(hosted(many, "", ""), "restart", ""), []string{restart150 + "web-100 (0:10.0.0.101)"}},
			"restart-in-parts":         {providertest.OperationConfig{Hosted: providertest.HostedConfig{Hosts: many}, Operation: "restart"}.String(), []string{andMore}},
			"restart-in-waves":         {config: operated(hosted(many, "", ""), "restart", inWaves)},
			"restart-in-batches":       {config: operated(hosted(many, "", ""), "restart", inBatches)},
			"restart-in-one-batch":     {operated(hosted(many, "", ""), "restart", oneBatch), []string{restart150}},
			"restart-in-one-wave":      {operated(hosted(many, "", ""), "restart", oneWave), []string{restart150}},
			"restart-after-a-canary":   {operated(hosted(many, "", ""), "restart", onlyCanary), []string{restart150}},
			"restart-for-later":        {config: operated(hosted(many, "", ""), "restart", recorded)},
			"kill":                     {operated(hosted(three, "", ""), "kill", ""), []string{kill3}},
			"kill-over-job":            {operatedJob(3, "kill", ""), []string{"bk_job_process_operation.test: the operation is a kill of web-1"}},
			"job-at-once":              {operatedJob(150, "restart", ""), []string{"bk_job_process_operation.test: would reach 150 hosts at once"}},
			"job-in-waves":             {config: operatedJob(150, "restart", inWaves)},
			"hosts-not-known":          {unknownHosts(""), []string{"bk_process_operation.test: would reach hosts that are not known before the apply"}},
			"hosts-not-known-in-waves": {config: unknownHosts(inWaves)},
			"hosts-not-known-recorded": {config: unknownHosts(recorded)},
		}},
		"many-hosts": {before: waved(many, ""), plans: map[string]planned{
			"no-change":              {config: waved(many, "")},
			"registered-anew":        {operated(hosted(many, "./start.sh -q", ""), "restart", inBatches), []string{again150}},
			"registered-in-waves":    {config: operated(hosted(many, "./start.sh -q", inWaves), "restart", inBatches)},
			"replaced":               {strings.Replace(waved(many, ""), `"nginx"`, `"httpd"`, 1), []string{again150, "bk_hosted_process.test: takes away 150 of its 150 hosts"}},
			"other-keys":             {config: waved(renamed(150), "")},
			"a-tenth-leaves":         {config: waved(providertest.HostsConfig(135), "")},
			"more-than-a-tenth":      {waved(providertest.HostsConfig(134), ""), []string{"bk_hosted_process.test: takes away 16 of its 150 hosts: web-135 (0:10.0.0.136), "}},
			"one-joins":              {config: operated(hosted(providertest.HostsConfig(151), "", ""), "restart", "")},
			"runs-again-at-once":     {operated(hosted(many, "", ""), "restart", `triggers = { run = "2" }`), []string{restart150}},
			"runs-again-in-batches":  {config: operated(hosted(many, "", ""), "restart", `triggers = { run = "2" }`+"\n"+inBatches)},
			"killed-instead":         {operated(hosted(many, "", ""), "kill", inBatches), []string{"bk_process_operation.test: the operation is a kill of web-1 (0:10.0.0.2), "}},
			"killed-when-it-leaves":  {waved(providertest.HostsConfig(149), `on_destroy = "kill"`), []string{`bk_hosted_process.test: on_destroy kills on web-150 (0:10.0.0.151). Declare and apply on_destroy = "stop" first`}},
			"stopped-when-it-leaves": {config: waved(providertest.HostsConfig(149), `on_destroy = "stop"`)},
			"hosts-not-known-kill":   {strings.Replace(unknownHosts(inWaves), "\n  spec ", "\n  on_destroy = \"kill\"\n  spec ", 1), []string{"bk_hosted_process.test: on_destroy kills, where they leave, on hosts that are not known", "may leave", "bk_hosted_process.test: would reach hosts that are not known"}},
			"hosts-not-known":        {unknownHosts(inWaves), []string{"bk_hosted_process.test: has hosts that are not known before the apply", "bk_hosted_process.test: would reach hosts that are not known"}},
			"started":                {operated(hosted(many, "", `ensure = "running"`), "restart", inBatches), []string{again150}},
			"operation-destroyed":    {config: hosted(many, "", "")},
			"destroyed":              {"", []string{"bk_hosted_process.test: takes away 150 of its 150 hosts"}},
		}},
		"for-later": {before: operated(hosted(many, "", ""), "restart", recorded), plans: map[string]planned{
			"many-join":         {config: operated(hosted(more, "", ""), "restart", recorded)},
			"many-join-and-run": {operated(hosted(more, "", ""), "restart", ""), []string{"bk_process_operation.test: would reach 101 hosts at once: web-151 (0:10.0.0.152), "}},
			"many-join-a-run":   {operated(hosted(more, "", ""), "restart", recorded+"\ntriggers = { run = 2 }"), []string{restart150}},
			"hosts-not-known":   {unknownHosts(recorded), []string{"may leave", "bk_hosted_process.test: would reach hosts that are not known", "bk_process_operation.test: would reach hosts that are not known"}},
		}},
		"two-processes": {before: twoOperated(1, recorded), plans: map[string]planned{
			"no-change":     {config: twoOperated(1, recorded)},
			"one-grows":     {twoOperated(150, ""), []string{"bk_process_operation.test: would reach 150 hosts at once"}},
			"grows-batched": {config: twoOperated(150, inBatches)},
		}},
		"on-destroy-kill": {before: operated(hosted(three, "", `on_destroy = "kill"`), "start", `on_destroy = "kill"`), plans: map[string]planned{
			"no-change":           {config: operated(hosted(three, "", `on_destroy = "kill"`), "start", `on_destroy = "kill"`)},
			"operation-destroyed": {hosted(three, "", `on_destroy = "kill"`), []string{"bk_process_operation.test: on_destroy kills on web-1 (0:10.0.0.2), web-2"}},
			"destroyed": {"", []string{"bk_hosted_process.test: on_destroy kills on web-1", "bk_hosted_process.test: takes away 3 of its 3 hosts: web-1 (0:10.0.0.2), web-2 (0:10.0.0.3), web-3 (0:10.0.0.4)",
				"bk_process_operation.test: on_destroy kills on"}},
			"kill-taken-back": {config: operated(hosted(three, "", `on_destroy = "stop"`), "start", "")},
			"forgotten":       {config: "removed {\n  from = bk_hosted_process.test\n  lifecycle {\n    destroy = false\n  }\n}\nremoved {\n  from = bk_process_operation.test\n  lifecycle {\n    destroy = false\n  }\n}\n"},
		}},
		"job": {before: operatedJob(3, "start", ""), plans: map[string]planned{
			"no-change": {config: operatedJob(3, "start", "")},
			"destroyed": {"", []string{"bk_job_hosted_process.test: takes away 3 of its 3 hosts"}},
		}},
	}
}

// unknownHosts returns a fleet with an operation, whose hosts are unknown before the apply.
func unknownHosts(rollout string) string {
	hosts := "terraform_data.hosts.output"
	return "resource \"terraform_data\" \"hosts\" {\n  input = { web-1 = \"0:10.0.0.2\" }\n}\n" +
		operated(hosted(hosts, "", ""), "restart", rollout)
}

// Promised in pipelines.md: Each reason names the resource and its hosts.
func TestAccPolicies(t *testing.T) {
	t.Parallel()
	for name, fleet := range fleetPlans() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			p := newPipeline(t, sim, fleet.before)
			p.Env = append(p.Env, "BK_JOB_ENDPOINT="+sim.URL)
			p.Expect(0, "init")
			if fleet.before != "" {
				p.Expect(0, "apply", "-auto-approve")
			}
			sim.ResetCalls()
			for _, plan := range slices.Sorted(maps.Keys(fleet.plans)) {
				p.Configure(fleet.plans[plan].config)
				p.plan()
				p.expectReasons(plan, fleet.plans[plan].refused)
			}
			sim.Changed(t)
		})
	}
}

func (p *pipeline) plan(flags ...string) {
	p.T.Helper()
	p.Expect(0, append([]string{"plan", "-out=tfplan"}, flags...)...)
	p.Write("tfplan.json", p.Expect(0, "show", "-json", "tfplan"))
}

// expectReasons evaluates the policies on the plan. There must be exactly the expected reasons.
func (p *pipeline) expectReasons(name string, want []string) {
	p.T.Helper()
	code, said := p.try("policy.sh")
	lines := strings.Split(strings.TrimSpace(said), "\n")
	reasons := lines[1:] // after the line that says whether the plan is allowed
	providertest.Check(p.T, code == min(len(want), 1), "%s: exit code %d: %s", name, code, said)
	providertest.Check(p.T, len(reasons) == len(want), "%s: %d reasons, want %d: %s", name, len(reasons), len(want), strings.Join(reasons, "\n"))
	for _, part := range want {
		if !slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(reason, part) }) {
			p.T.Errorf("%s: no reason says %q: %s", name, part, strings.Join(reasons, "\n"))
		}
	}
}

// An apply that repairs hosts, or retries them, counts as a change of these hosts.
func TestAccPolicies_leftOver(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	many := providertest.HostsConfig(150)
	config := func(more string) string { return operated(hosted(many, "", more), "restart", more) }
	failed := providertest.HostNumbers(150)[:101]
	sim.FailOperation(simulator.OpRestart, failed, 65535, "disk full")
	p := newPipeline(t, sim, config(""))
	p.Expect(0, "init")
	p.Expect(0, "apply", "-auto-approve")
	sim.ClearFaults()

	p.plan()
	p.expectReasons("failed", []string{"bk_process_operation.test: would reach 101 hosts at once: web-1 (0:10.0.0.2)"})
	for _, n := range failed {
		providertest.NoError(t, sim.Unregister(providertest.Address(n), "web", "nginx"))
	}
	p.plan()
	p.expectReasons("unregistered", []string{"bk_hosted_process.test: would reach 101 hosts at once", "bk_process_operation.test: would reach 101 hosts at once"})
	p.Configure(config(inBatches))
	p.plan()
	p.expectReasons("in-batches", nil)
}

// The keys in failed_hosts of an operation on several processes are not those of hosts.
func TestAccPolicies_leftOverOfSeveral(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	failed := providertest.HostNumbers(150)[:101]
	sim.FailOperation(simulator.OpRestart, failed, 65535, "disk full")
	p := newPipeline(t, sim, twoOperated(1, ""))
	p.Expect(0, "init")
	p.Expect(0, "apply", "-auto-approve")
	sim.ClearFaults()
	p.plan()
	p.expectReasons("failed", []string{"bk_process_operation.test: would reach 150 hosts at once"})
	p.Configure(twoOperated(1, inBatches))
	p.plan()
	p.expectReasons("in-batches", nil)
}

// A replacement runs on_destroy, with the rollout in state.
func TestAccPolicies_replacedOperation(t *testing.T) {
	t.Parallel()
	config := func(more string) string {
		return operated(hosted(providertest.HostsConfig(150), "", ""), "restart", "on_destroy = \"stop\"\n"+recorded+"\n"+more)
	}
	p := newPipeline(t, providertest.NewSim(t), config(""))
	p.Expect(0, "init")
	p.Expect(0, "apply", "-auto-approve")
	replace := "-replace=bk_process_operation.test"
	p.plan(replace)
	p.expectReasons("at-once", []string{"bk_process_operation.test: would reach 150 hosts at once"})
	p.Configure(config(inBatches))
	p.plan(replace)
	p.expectReasons("at-once-by-state", []string{"bk_process_operation.test: would reach 150 hosts at once"})
	p.Expect(0, "apply", "-auto-approve")
	p.plan(replace)
	p.expectReasons("in-batches", nil)
}

// An exception names the address of a resource, for one policy.
func TestAccPolicies_exceptions(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, providertest.NewSim(t), operated(hosted(providertest.HostsConfig(150), "", ""), "kill", ""))
	ours := filepath.Join(t.TempDir(), "pipelines")
	providertest.NoError(t, os.CopyFS(ours, os.DirFS(p.scripts)))
	p.scripts = ours
	settings := filepath.Join(ours, "policy", "settings.json")
	text := providertest.ReadFile(t, settings)
	p.Expect(0, "init")
	p.plan()
	kill, waves := "is a kill of web-1 (0:10.0.0.2), ", "would reach 150 hosts at once"
	for _, c := range []struct {
		name, old, replacement string
		refused                []string
	}{
		{"none", "", "", []string{kill, waves}},
		{"kill", `"kill": []`, `"kill": ["bk_process_operation.test"]`, []string{waves}},
		{"waves", `"waves": []`, `"waves": ["bk_process_operation.test"]`, []string{kill}},
		{"another-address", `"kill": []`, `"kill": ["bk_process_operation.other"]`, []string{kill, waves}},
		{"limit", `"hosts_without_waves": 100`, `"hosts_without_waves": 150`, []string{kill}},
	} {
		edited := strings.Replace(text, c.old, c.replacement, 1)
		providertest.NoError(t, os.WriteFile(settings, []byte(edited), 0o600))
		p.expectReasons(c.name, c.refused)
	}
	// Without the settings, no plan can be judged.
	providertest.NoError(t, os.Remove(settings))
	providertest.Says(t, p.script(1, "policy.sh"), "settings.json does not have the limits")
}

// The installed CLIs may not have actions, which came with Terraform 1.14. So the test adds to a real
// plan what Terraform writes about actions, in the format of its package jsonplan.
func TestAccPolicies_actions(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, providertest.NewSim(t), hosted(providertest.HostsConfig(3), "", ""))
	p.Expect(0, "init")
	p.plan()
	text := providertest.ReadFile(t, p.Dir, "tfplan.json")
	hosts := func(n int) map[string]string {
		all := make(map[string]string, n)
		for _, number := range providertest.HostNumbers(n) {
			all[fmt.Sprintf("web-%d", number)] = providertest.Address(number)
		}
		return all
	}
	for name, c := range map[string]struct {
		in      string
		values  map[string]any
		refused []string
	}{
		"restart":          {"action_invocations", map[string]any{"operation": "restart", "hosts": hosts(3)}, nil},
		"kill":             {"action_invocations", map[string]any{"operation": "kill", "hosts": hosts(3)}, []string{"the action is, or may be, a kill of web-1 (0:10.0.0.2), "}},
		"not-known":        {"action_invocations", map[string]any{"hosts": hosts(3)}, []string{"the action is, or may be, a kill of web-1"}},
		"at-once":          {"action_invocations", map[string]any{"operation": "restart", "hosts": hosts(101)}, []string{"would reach 101 hosts at once"}},
		"in-waves":         {"action_invocations", map[string]any{"operation": "restart", "hosts": hosts(101), "rollout": map[string]any{"batch_size": 10}}, nil},
		"hosts-not-known":  {"action_invocations", map[string]any{"operation": "restart"}, []string{"would reach hosts that are not known before the apply"}},
		"deferred-kill":    {"deferred_action_invocations", map[string]any{"operation": "kill", "hosts": hosts(3)}, []string{"the action is, or may be, a kill"}},
		"one-value-a-kill": {"action_invocations", map[string]any{"operation": "kill", "process": `{"hosts": {"web-7": "0:10.0.0.8"}}`}, []string{"a kill of web-7 (0:10.0.0.8)"}},
		// Several processes in one operation, declared each or in one value.
		"several-processes": {"action_invocations", map[string]any{"operation": "restart", "processes": map[string]any{
			"a": map[string]any{"hosts": hosts(60)}, "b": `{"hosts": {"db-1": "0:10.1.0.1"}}`, "c": map[string]any{"process": `{"hosts": {"db-2": "0:10.1.0.2"}}`, "priority": 2},
			"d": map[string]any{"hosts": hosts(99)},
		}}, []string{"would reach 101 hosts at once"}},
		"several-over-job": {"action_invocations", map[string]any{"operation": "kill", "processes": map[string]any{
			"a": map[string]any{"declaration": `{"hosts": {"db-1": "0:10.1.0.1"}}`, "priority": 1},
			"b": map[string]any{"process": map[string]any{"proc_name": "db"}, "hosts": map[string]any{"db-2": "0:10.1.0.2"}, "priority": 2},
		}}, []string{"a kill of db-1 (0:10.1.0.1), db-2 (0:10.1.0.2)"}},
	} {
		invocation := map[string]any{"address": "action.bk_process_operation.x", "type": "bk_process_operation", "name": "x", "config_values": c.values}
		if c.in == "deferred_action_invocations" {
			invocation = map[string]any{"reason": "provider_config_unknown", "action_invocation": invocation}
		}
		p.write(text, c.in, invocation)
		p.expectReasons(name, c.refused)
	}
}

// An action's hosts may also be known only in part.
func TestAccPolicies_actionsPartlyKnown(t *testing.T) {
	t.Parallel()
	p := newPipeline(t, providertest.NewSim(t), hosted(providertest.HostsConfig(3), "", ""))
	p.Expect(0, "init")
	p.plan()
	text := providertest.ReadFile(t, p.Dir, "tfplan.json")
	notKnown := []string{"would reach hosts that are not known before the apply"}
	known := map[string]any{"operation": "restart", "hosts": map[string]string{"web-1": "0:10.0.0.2"}}
	inWaves := map[string]any{"operation": "restart", "hosts": known["hosts"], "rollout": map[string]any{"batch_size": 10}}
	for name, c := range map[string]struct {
		values  map[string]any
		unknown map[string]any
		refused []string
	}{
		"a-host":          {known, map[string]any{"hosts": map[string]any{"web-2": true}}, notKnown},
		"a-process":       {known, map[string]any{"processes": map[string]any{"a": map[string]any{"hosts": true}}}, notKnown},
		"a-host-in-waves": {inWaves, map[string]any{"hosts": map[string]any{"web-2": true}}, nil},
		"all-hosts-known": {known, map[string]any{"hosts": map[string]any{}, "spec": map[string]any{"control": true}}, nil},
	} {
		p.write(text, "action_invocations", map[string]any{
			"address": "action.bk_process_operation.x", "type": "bk_process_operation", "config_values": c.values, "config_unknown": c.unknown,
		})
		p.expectReasons(name, c.refused)
	}
}

// write writes a plan with an added invocation.
func (p *pipeline) write(text, in string, invocation map[string]any) {
	p.T.Helper()
	plan := decode(p.T, []byte(text))
	plan[in] = []any{invocation}
	edited, err := json.Marshal(plan)
	providertest.NoError(p.T, err)
	p.Write("tfplan.json", string(edited))
}
