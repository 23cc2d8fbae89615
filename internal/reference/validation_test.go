package reference_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

type object = map[string]any

// Objects of configurations.
const (
	hostedBlock       = "resource bk_hosted_process"
	operationBlock    = "resource bk_process_operation"
	actionBlock       = "action bk_process_operation"
	jobHostedBlock    = "resource bk_job_hosted_process"
	jobOperationBlock = "resource bk_job_process_operation"
)

// later is a value that is not known yet.
var later = providertest.NotKnown{}

// configOf is a valid configuration of an object, with other values by their paths.
func configOf(block string, values object) object {
	face := providertest.FaceESB
	if strings.Contains(block, "bk_job_") {
		face = providertest.FaceJOB
	}
	config := face.Reference("./start.sh", 2)
	if strings.HasSuffix(block, "operation") {
		config["operation"] = "start"
	}
	for path, value := range values {
		set(config, path, value)
	}
	return config
}

// set sets a value at a path with dots. It makes the objects that are not there.
func set(config object, path string, value any) {
	name, below, inside := strings.Cut(path, ".")
	if !inside {
		config[name] = value
		return
	}
	inner, ok := config[name].(object)
	if !ok {
		inner = object{}
		config[name] = inner
	}
	set(inner, below, value)
}

// gate is a rollout with a health gate.
func gate(output any) object {
	return object{"waves": []any{"1"}, "healthy": object{"stable_for": "1s", "output": output}}
}

// What is said of a configuration, beside the mistakes of TestMistakes. Unknown values pass.
//
// Promised in rolling-restart.md: A `rollout` without `waves` or `batch_size` brings a warning, as all hosts go at once then.
func TestValidation(t *testing.T) {
	t.Parallel()
	const (
		noWaves    = "WARNING: Rollout Without Waves"
		noRollback = `Attribute rollout.on_failure: an operation can only "stop": there is no declaration before it that hosts could go back to.`
		resident   = "Only a resident process"
		kind       = "spec.monitor_policy.auto_type"
		partial    = `["warn" "error"]`
	)
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		block  string
		values object
		says   string // "" for nothing
	}{
		// A gate needs a process that keeps running. A gate that compares output needs a command that prints it.
		"gate":                      {operationBlock, object{"rollout": gate("ok"), "spec.control.health_cmd": "./health.sh"}, ""},
		"gate-command-later":        {operationBlock, object{"rollout": gate("ok"), "spec.control.health_cmd": later}, ""},
		"gate-commands-later":       {operationBlock, object{"rollout": gate("ok"), "spec.control": later}, ""},
		"gate-output-later":         {operationBlock, object{"rollout": gate(later)}, ""},
		"gate-no-output":            {operationBlock, object{"rollout": gate(nil)}, ""},
		"gate-operation-later":      {operationBlock, object{"rollout": gate(nil), "operation": later}, ""},
		"gate-later":                {operationBlock, object{"rollout": object{"waves": []any{"1"}, "healthy": later}, kind: 2}, ""},
		"gate-none":                 {operationBlock, object{"rollout": object{"waves": []any{"1"}}, kind: 2}, ""},
		"gate-one-shot":             {operationBlock, object{"rollout": gate(nil), kind: 2}, "only a resident process goes on running"},
		"gate-job-later":            {jobOperationBlock, object{"rollout": gate(later)}, ""},
		"rollout-none":              {hostedBlock, nil, ""},
		"rollout-empty":             {hostedBlock, object{"rollout": object{}}, noWaves}, // Terraform drops a misspelt batch_size
		"rollout-no-batch":          {hostedBlock, object{"rollout.max_failed_hosts": 1}, noWaves},
		"rollout-canary-only":       {hostedBlock, object{"rollout.canary": []string{"web-1"}, "rollout.pause": "1s"}, noWaves},
		"rollout-batch":             {hostedBlock, object{"rollout.batch_size": 1}, ""},
		"rollout-waves":             {hostedBlock, object{"rollout": object{"waves": []string{"1", "*2"}, "wave_timeout": "1m", "max_failed_hosts": "5%"}}, ""},
		"rollout-waves-later":       {hostedBlock, object{"rollout.waves": later}, ""},
		"rollout-batch-later":       {hostedBlock, object{"rollout.batch_size": later}, ""},
		"rollout-no-wave":           {hostedBlock, object{"rollout.waves": []string{}}, "Attribute rollout.waves list must contain at least 1 elements"},
		"rollout-both":              {hostedBlock, object{"rollout.waves": []string{"1"}, "rollout.batch_size": 1}, "rollout.batch_size"},
		"rollout-odd-failures":      {hostedBlock, object{"rollout.waves": []string{"1"}, "rollout.max_failed_hosts": "few"}, `"few" is neither a number of hosts`},
		"rollout-short-timeout":     {hostedBlock, object{"rollout.waves": []string{"1"}, "rollout.wave_timeout": "1ms"}, "Attribute rollout.wave_timeout: the value must be a duration of at least 1s"},
		"rollout-idle-pause":        {hostedBlock, object{"rollout.pause": "1s"}, "Attribute rollout.pause: without waves, batch_size or canary there is one wave of all hosts"},
		"rollout-idle-timeout":      {hostedBlock, object{"rollout.wave_timeout": "1m"}, "Attribute rollout.wave_timeout: without waves, batch_size or canary there is one wave"},
		"rollout-canary-twice":      {hostedBlock, object{"rollout.canary": []string{"web-1", "web-1"}, "rollout.batch_size": 1}, `duplicate values of: "web-1"`},
		"on-failure-retry":          {hostedBlock, object{"rollout.waves": []string{"1"}, "rollout.on_failure": "retry"}, "rollout.on_failure value must be one of"},
		"on-failure-stop":           {operationBlock, object{"rollout.batch_size": 1, "rollout.on_failure": "stop"}, ""},
		"on-failure-rollback":       {operationBlock, object{"rollout.batch_size": 1, "rollout.on_failure": "rollback"}, noRollback},
		"on-failure-unknown":        {operationBlock, object{"rollout.batch_size": 1, "rollout.on_failure": "retry"}, noRollback},
		"on-failure-stop-action":    {actionBlock, object{"rollout.batch_size": 1, "rollout.on_failure": "stop"}, ""},
		"on-failure-back-action":    {actionBlock, object{"rollout.batch_size": 1, "rollout.on_failure": "rollback"}, noRollback},
		"entry":                     {operationBlock, object{"meta": nil, "hosts": nil, "spec": nil, "processes": object{"a": entry("nginx", 1)}}, ""},
		"entry-nothing":             {operationBlock, object{"meta": nil, "hosts": nil, "spec": nil, "processes": object{"a": object{"priority": 1}}}, `processes["a"]`},
		"hosts-none":                {hostedBlock, object{"hosts": object{}}, "must contain at least one host"},
		"running-periodic":          {hostedBlock, object{"ensure": "running", kind: 0}, resident},
		"running-resident":          {hostedBlock, object{"ensure": "running", kind: 1}, ""},
		"running-one-shot":          {hostedBlock, object{"ensure": "running", kind: 2}, resident},
		"running-no-kind":           {hostedBlock, object{"ensure": "running", kind: nil}, kind},
		"running-kind-later":        {hostedBlock, object{"ensure": "running", kind: later}, ""},
		"running-job-periodic":      {jobHostedBlock, object{"ensure": "running", "process.type": 0, "process.cycle_time": 60}, resident},
		"running-job-resident":      {jobHostedBlock, object{"ensure": "running", "process.type": 1}, ""},
		"running-job-one-shot":      {jobHostedBlock, object{"ensure": "running", "process.type": 2}, resident},
		"running-job-no-kind":       {jobHostedBlock, object{"ensure": "running", "process.type": nil, "process.cycle_time": 60}, resident}, // the default is periodic
		"running-job-kind-later":    {jobHostedBlock, object{"ensure": "running", "process.type": later}, ""},
		"running-no-start":          {hostedBlock, object{"ensure": "running", "spec.control.start_cmd": nil}, ".start_cmd: "},
		"running-empty-start":       {hostedBlock, object{"ensure": "running", "spec.control.start_cmd": ""}, ".start_cmd: "},
		"running-start-later":       {hostedBlock, object{"ensure": "running", "spec.control.start_cmd": later}, ""},
		"running-commands-later":    {hostedBlock, object{"ensure": "running", "spec.control": later}, ""},
		"running-job-0-is-no-limit": {jobHostedBlock, object{"ensure": "running", "process.stop_cmd": nil, "process.cpu_lmt": 0, "process.mem_lmt": 0}, ""},
		"running-job-no-start":      {jobHostedBlock, object{"ensure": "running", "process.start_cmd": nil}, ".start_cmd: "},
		"running-job-empty-start":   {jobHostedBlock, object{"ensure": "running", "process.start_cmd": ""}, ".start_cmd: "},
		"running-job-start-later":   {jobHostedBlock, object{"ensure": "running", "process.start_cmd": later}, ""},
		"registered-start-alone":    {hostedBlock, object{"ensure": "registered", "spec.control": object{"start_cmd": "./start.sh"}}, ""},
		"partial-create-hosted":     {hostedBlock, object{"on_partial_create": "ignore"}, partial},
		"partial-create-operation":  {operationBlock, object{"on_partial_create": "ignore"}, partial},
		"partial-create-job":        {jobHostedBlock, object{"on_partial_create": "ignore"}, partial},
		"partial-create-job-op":     {jobOperationBlock, object{"on_partial_create": "ignore"}, partial},
		"cpu-least":                 {hostedBlock, object{"spec.resource.cpu": 1}, ""},
		"cpu-most":                  {hostedBlock, object{"spec.resource.cpu": 100}, ""},
		"cpu-negative":              {hostedBlock, object{"spec.resource.cpu": -1}, "Attribute spec.resource.cpu: the value must be more than 0 and at most 100 percent of the whole machine; got "},
		"cpu-too-much":              {hostedBlock, object{"spec.resource.cpu": 100.5}, "Attribute spec.resource.cpu: the value must be more than 0 and at most 100 percent of the whole machine; got "},
	} {
		said := p.ValidateBlock(c.block, configOf(c.block, c.values)).String()
		providertest.Check(t, strings.Contains(said, c.says) && (c.says == "") == (said == ""), "%s: said %q", name, said)
	}
}

// The sum of a file has 32 hexadecimal digits, if it is set.
func TestValidation_md5(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	const sum = "0123456789abcdef0123456789abcdef"
	for md5, taken := range map[any]bool{
		sum: true, strings.ToUpper(sum): true, later: true, nil: true, "": true,
		sum[1:]: false, sum + "0": false, sum[1:] + "g": false, " ": false,
	} {
		said := p.ValidateBlock(hostedBlock, configOf(hostedBlock, object{"spec.configmap": []any{object{"md5": md5}}}))
		if (len(said) == 0) != taken || !taken && (len(said) > 1 || !strings.Contains(said.String(), "must be 32 hexadecimal characters")) {
			t.Errorf("%v: %s", md5, said)
		}
	}
}

// Another scope or key of JOB is another registration. A business is the same in both forms.
func TestValidation_jobScope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scope, biz, key any // instead of the scope biz 2 and of no value_key
		want            providertest.PlanKind
	}{
		"as-it-was":        {object{"type": "biz", "id": "2"}, nil, nil, providertest.PlanNothing},
		"older-spelling":   {nil, 2, nil, providertest.PlanUpdate},
		"another-business": {object{"type": "biz", "id": "3"}, nil, nil, providertest.PlanReplace},
		"older-and-other":  {nil, 3, nil, providertest.PlanReplace},
		"set-of-the-same":  {object{"type": "biz_set", "id": "2"}, nil, nil, providertest.PlanReplace},
		"key-not-known":    {object{"type": "biz", "id": "2"}, nil, later, providertest.PlanReplace},
		"not-known":        {object{"type": "biz", "id": later}, nil, nil, providertest.PlanReplace},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceJOB)).CoreOf("bk_job_hosted_process", &providertest.Kept{})
			resource.Applied(configOf(jobHostedBlock, nil))
			if plan, said := resource.Plan(configOf(jobHostedBlock, object{"scope": c.scope, "bk_biz_id": c.biz, "process.value_key": c.key})); plan.Action != c.want || said.Failed() {
				t.Errorf("%s, want %s; said: %s", plan.Action, c.want, said)
			}
		})
	}
}

// No object accepts a deadline of zero.
func TestTimeouts_ahead(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	tried := 0
	for block, schema := range p.Blocks() {
		providertest.EachAttribute(schema.Block.Attributes, func(path string, _ *tfprotov6.SchemaAttribute) {
			limit, is := strings.CutPrefix(path, "timeouts.")
			if !is {
				return
			}
			tried++
			for _, over := range []string{"0s", "-1m", "soon"} {
				if said := p.ValidateBlock(block, object{"timeouts": object{limit: over}}).String(); !strings.Contains(said, "Attribute timeouts."+limit) || !strings.Contains(said, over) {
					t.Errorf("%s: timeouts.%s = %q is let in: %s", block, limit, over, said)
				}
			}
		})
	}
	want := 2*4 + 2*3 + 6 + 2
	providertest.Check(t, tried == want, "%d deadlines were tried, want %d", tried, want)
}

func TestMain(m *testing.M) { providertest.Main(m) }

// missingCommands are ways in which an object runs an operation: the object, and the setting that names the operation.
var missingCommands = map[string]struct{ block, setting string }{
	"operation":      {operationBlock, "operation"},
	"action":         {actionBlock, "operation"},
	"on-destroy":     {operationBlock, "on_destroy"},
	"hosted":         {hostedBlock, "on_destroy"},
	"job-operation":  {jobOperationBlock, "operation"},
	"job-action":     {"action bk_job_process_operation", "operation"},
	"job-on-destroy": {jobOperationBlock, "on_destroy"},
	"job-hosted":     {jobHostedBlock, "on_destroy"},
}

// An operation whose command is not set is rejected by the plan, at the path of the command. It passes if
// the command is set or not known yet. A stop through JOB brings a warning.
func TestMissingCommand(t *testing.T) {
	t.Parallel()
	for name, c := range missingCommands {
		p := providertest.NewProtocol(t)
		for operation := range mappedOperations {
			if strings.HasSuffix(name, "hosted") && operation != "stop" && operation != "kill" {
				continue
			}
			// The object's other operation needs a command that is set.
			other := map[string]string{"start": "stop", "stop": "start", "restart": "start", "reload": "start", "kill": "start"}[operation]
			warned := operation == "stop" && (name == "job-operation" || name == "job-action")
			commands := map[bool]string{true: "process.", false: "spec.control."}[strings.HasPrefix(name, "job")]
			for command, missing := range map[any]bool{nil: true, "": true, "./some.sh": false, later: false} {
				values := object{commands + operation + "_cmd": command}
				if strings.HasSuffix(c.block, "operation") {
					values["operation"] = other
				}
				values[c.setting] = operation
				said := p.ValidateBlock(c.block, configOf(c.block, values))
				if said.Failed() != (missing && !warned) || missing && !strings.Contains(said.String(), "."+operation+"_cmd: ") {
					t.Errorf("%s: %s = %s with the command %v: %s", name, c.setting, operation, command, said)
				}
			}
		}
	}
}

// An empty text counts as not set: setting or removing one registers nothing and replaces nothing.
func TestEmptyIsNone(t *testing.T) {
	t.Parallel()
	for block, empty := range map[string]object{
		hostedBlock:    {"spec.identity.index_key": "", "spec.configmap": []any{object{"path": "", "md5": ""}}},
		jobHostedBlock: {"process.value_key": "", "process.func_id": "", "process.cfg_path": ""},
	} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceESB)).CoreOf(strings.TrimPrefix(block, "resource "), &providertest.Kept{})
			resource.Applied(configOf(block, nil))
			sim.ResetCalls()
			for _, values := range []object{empty, nil} {
				if kind, said := resource.Apply(configOf(block, values)); kind != providertest.PlanUpdate || len(said) > 0 {
					t.Errorf("%v: %s %s", values, kind, said)
				}
			}
			sim.Changed(t)
		})
	}
}
