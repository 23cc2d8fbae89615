package reference_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/reference"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

type object = map[string]any

const (
	hostedBlock       = "resource bk_hosted_process"
	operationBlock    = "resource bk_process_operation"
	actionBlock       = "action bk_process_operation"
	jobHostedBlock    = "resource bk_job_hosted_process"
	jobOperationBlock = "resource bk_job_process_operation"
)

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

func gate(output any) object {
	return object{"waves": []any{"1"}, "healthy": object{"stable_for": "1s", "output": output}}
}

// The diagnostics of configurations, besides those of TestMistakes. Unknown values pass.
//
// Promised in rolling-restart.md: A `rollout` without `waves` or `batch_size` brings a warning, because all hosts then
// go at once.
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
		"hosts-none":                {hostedBlock, object{"hosts": object{}}, "Attribute hosts must contain at least one host, and is empty. If the hosts come from CMDB or a variable, look there first. To unregister a hosted process everywhere, remove its resource"},
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

// A gate that never ends before the object's deadline fails every apply, and every create starts again. Unknown values pass.
//
// Promised in rollouts.md: A gate that `timeouts` would always cut off, because `stable_for` or `within` is longer, is an error of the plan.
func TestValidation_gateEnds(t *testing.T) {
	t.Parallel()
	const (
		atStable, atWithin = "Attribute rollout.healthy.stable_for: no host can be stable for ", "Attribute rollout.healthy.within: "
		byDefault          = " timeouts.%s, which is 10m0s by default; allow more there, such as "
	)
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		stable, within, deadline any
		says                     string // %s is the name of the deadline
	}{
		"below-default":       {"9m59s", nil, nil, ""},
		"default-cuts-within": {"6m", nil, nil, ""}, // within is not set
		"default":             {"10m", nil, nil, atStable + "10m0s before the end of" + byDefault + `"20m0s", or less here.`},
		"default-within":      {"1m", "11m", nil, atWithin + "11m0s is longer than" + byDefault + `"16m0s", or less here.`},
		"set":                 {"30s", nil, "6s", atStable + `30s before the end of timeouts.%s, which is 6s; allow more there, such as "10m30s", or less here.`},
		"set-within":          {"1s", "7s", "6s", atWithin + "7s is longer than timeouts.%s, which is 6s; "},
		"as-long":             {"1s", "6s", "6s", ""},
		"more-allowed":        {"20m", "25m", "30m", ""},
		"deadline-later":      {"1h", nil, later, ""},
		"stable-later":        {later, nil, nil, ""},
		"unreadable":          {"1h", nil, "x", "must be a duration"},
	} {
		for _, block := range []string{hostedBlock, jobHostedBlock, operationBlock, jobOperationBlock, actionBlock} {
			values, deadlines := object{"rollout": object{"batch_size": 1, "healthy": object{"stable_for": c.stable, "within": c.within}}}, []string{"create", "update"}
			switch block {
			case hostedBlock, jobHostedBlock:
				values["ensure"] = "running"
			case actionBlock:
				deadlines = []string{"invoke"}
				fallthrough
			default:
				values["operation"] = "start"
			}
			for _, deadline := range deadlines {
				if c.deadline != nil {
					values["timeouts."+deadline] = c.deadline
				}
			}
			said := p.ValidateBlock(block, configOf(block, values)).String()
			for _, deadline := range deadlines {
				providertest.Check(t, (c.says == "") == (said == "") && strings.Contains(said, strings.Replace(c.says, "%s", deadline, 1)), "%s: %s said %q of %s", name, block, said, deadline)
			}
		}
	}
	providertest.Silent(t, p.ValidateBlock(hostedBlock, configOf(hostedBlock, object{"ensure": "running", "timeouts": later, "rollout": object{"batch_size": 1, "healthy": object{"stable_for": "1h"}}})))
	for block, values := range map[string]object{hostedBlock: {"on_update": "restart", "spec.control.restart_cmd": "./r"}, operationBlock: {"operation": "start", "run_on_create": false}} {
		values["timeouts.create"], values["rollout"] = "1s", object{"batch_size": 1, "healthy": object{"stable_for": "5s"}}
		providertest.Silent(t, p.ValidateBlock(block, configOf(block, values))) // no gate runs on create
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
			plan, said := resource.Plan(configOf(jobHostedBlock, object{"scope": c.scope, "bk_biz_id": c.biz, "process.value_key": c.key}))
			providertest.Check(t, plan.Action == c.want && !said.Failed(), "%s, want %s; said: %s", plan.Action, c.want, said)
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
				kind, said := resource.Apply(configOf(block, values))
				providertest.Check(t, kind == providertest.PlanUpdate && len(said) == 0, "%v: %s %s", values, kind, said)
			}
			sim.Changed(t)
		})
	}
}

// A canary that is not one of the hosts is rejected by the plan, for each object with a rollout.
func TestRollout_canaryNowhere(t *testing.T) {
	t.Parallel()
	const want = `Attribute rollout.canary[1]: "web-9" is not the key of a host in hosts. A canary is named by its key.`
	sim := providertest.NewSim(t)
	p := sim.Configured(t)
	values := object{"rollout": object{"canary": []string{"web-1", "web-9"}, "batch_size": 1}}
	_, hosted := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Apply(configOf(hostedBlock, values))
	_, operation := p.CoreOf(providertest.ActionType, &providertest.Kept{}).Apply(configOf(operationBlock, values))
	for by, said := range map[string]string{
		"hosted process": hosted.String(), "operation": operation.String(), "action": p.PlanAction(providertest.ActionType, configOf(actionBlock, values)),
	} {
		providertest.Check(t, strings.HasPrefix(said, "ERROR") && strings.Contains(said, want), "the %s said: %s", by, said)
	}
	providertest.Same(t, "calls", []string(nil), sim.Calls().APIs())
}

// settling is a process whose operations may take this long.
type settling struct{ fleet.Process }

func (settling) Settles() (command, startCheck, stopCheck time.Duration) {
	return 30 * time.Second, 7 * time.Second, 11 * time.Second
}

// A wave has time for its slowest host, unless wave_timeout is set.
//
// Promised in rolling-restart.md: by default, what an operation may take on a host plus two minutes.
// Promised in limits.md: `op_timeout` and 2 minutes; with a start or restart also `start_check_secs`, with a stop, kill or restart `stop_check_secs`
// Promised in reference: By default two minutes plus `op_timeout` (60 seconds if not set), `start_check_secs` (5; JOB: `start_check_end_time`) for a start, and `stop_check_secs` for a stop
// Promised in rollouts.md: `start_check_secs`, 5 by default, for a start or restart
// Promised in rollouts.md: `stop_check_secs`, if set, for a stop, kill or restart
// Promised in rollouts.md: The default is the sum of the operation's time and two minutes.
func TestTarget_Rollout_waveTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		runs      []fleet.Operation
		batchSize types.Int64
		timeout   types.String
		want      time.Duration
	}{
		"default":  {nil, types.Int64Value(1), types.StringNull(), 150 * time.Second},
		"reloads":  {[]fleet.Operation{fleet.Reload}, types.Int64Value(1), types.StringNull(), 150 * time.Second},
		"starts":   {[]fleet.Operation{fleet.Start}, types.Int64Value(1), types.StringNull(), 157 * time.Second},
		"stops":    {[]fleet.Operation{fleet.Start, fleet.Stop}, types.Int64Value(1), types.StringNull(), 161 * time.Second},
		"restarts": {[]fleet.Operation{fleet.Restart}, types.Int64Value(1), types.StringNull(), 168 * time.Second},
		"set":      {[]fleet.Operation{fleet.Start}, types.Int64Value(1), types.StringValue("10s"), 10 * time.Second},
		"one-wave": {[]fleet.Operation{fleet.Start}, types.Int64Null(), types.StringNull(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := reference.Target{Process: settling{}, Runs: c.runs}
			rollout, diags := target.Rollout(t.Context(), rolloutOf(map[string]attr.Value{"batch_size": c.batchSize, "wave_timeout": c.timeout}))
			providertest.Check(t, !diags.HasError() && rollout.WaveTimeout == c.want, "a wave has %s, want %s; said %v", rollout.WaveTimeout, c.want, diags)
		})
	}
}

var gateType = types.ObjectType{AttrTypes: map[string]attr.Type{"stable_for": types.StringType, "within": types.StringType, "output": types.StringType}}

// rolloutOf is a rollout with these values, and null for the others.
func rolloutOf(set map[string]attr.Value) types.Object {
	texts := types.ListType{ElemType: types.StringType}
	all := map[string]attr.Value{
		"waves": types.ListNull(types.StringType), "canary": types.ListNull(types.StringType), "batch_size": types.Int64Null(),
		"pause": types.StringNull(), "wave_timeout": types.StringNull(), "max_failed_hosts": types.StringNull(),
		"healthy": types.ObjectNull(gateType.AttrTypes), "on_failure": types.StringNull(),
	}
	maps.Copy(all, set)
	return types.ObjectValueMust(map[string]attr.Type{
		"waves": texts, "canary": texts, "batch_size": types.Int64Type, "pause": types.StringType, "wave_timeout": types.StringType, "max_failed_hosts": types.StringType,
		"healthy": gateType, "on_failure": types.StringType,
	}, all)
}

// A rollout that cannot be read is an error, not one wave of all hosts. A plan may not know all of it.
func TestTarget_Rollout_unreadable(t *testing.T) {
	t.Parallel()
	gate := func(name, value string) attr.Value {
		values := map[string]attr.Value{"stable_for": types.StringValue("9s"), "within": types.StringNull(), "output": types.StringNull()}
		values[name] = types.StringValue(value)
		return types.ObjectValueMust(gateType.AttrTypes, values)
	}
	list := func(sizes ...attr.Value) attr.Value { return types.ListValueMust(types.StringType, sizes) }
	for name, c := range map[string]struct {
		attribute string
		value     attr.Value
		refused   bool
	}{
		"size":          {"waves", list(types.StringValue("1 ")), true},
		"no-size":       {"waves", list(), true},
		"unknown-first": {"waves", list(types.StringUnknown(), types.StringValue("+5")), false},
		"batch":         {"batch_size", types.Int64Value(0), true},
		"unknown-batch": {"batch_size", types.Int64Unknown(), false},
		"pause":         {"pause", types.StringValue("5"), true},
		"no-pause":      {"pause", types.StringValue(""), true},
		"unknown-pause": {"pause", types.StringUnknown(), false},
		"timeout":       {"wave_timeout", types.StringValue("soon"), true},
		"tolerance":     {"max_failed_hosts", types.StringValue("few"), true},
		"gate":          {"healthy", types.ObjectUnknown(gateType.AttrTypes), false},
		"stable":        {"healthy", gate("stable_for", "soon"), true},
		"within":        {"healthy", gate("within", ""), true},
		"output":        {"healthy", gate("output", "("), true},
		"readable":      {"healthy", gate("output", "ok"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := reference.Target{}.Rollout(t.Context(), rolloutOf(map[string]attr.Value{c.attribute: c.value}))
			providertest.Check(t, diags.HasError() == c.refused, "refused: %t; said %v", diags.HasError(), diags)
		})
	}
}

// The object's max_unreachable_hosts takes precedence over the provider's.
func TestMaxUnreachableOf(t *testing.T) {
	t.Parallel()
	null, half := types.StringNull(), types.StringValue("50%")
	p := &platform.Platform{MaxUnreachable: "3"}
	for got, want := range map[reference.MaxUnreachable]reference.MaxUnreachable{
		reference.MaxUnreachableOf(nil, null, 9): {Set: "0"}, reference.MaxUnreachableOf(p, null, 9): {Set: "3", Hosts: 3}, reference.MaxUnreachableOf(p, half, 9): {Set: "50%", Hosts: 4},
	} {
		providertest.Same(t, "result", want, got)
	}
}

// A first apply that failed on some hosts ends as on_partial_create says, and by default as with "warn".
// After an error Terraform taints the resource.
//
// Promised in reference: `warn`: with a warning; the next apply retries those in
// Promised in reference: with an error; Terraform taints the resource, and the next apply runs on every
// host again, after `on_destroy`.
func TestOnPartialCreate(t *testing.T) {
	t.Parallel()
	for object, c := range map[string]struct {
		face      providertest.Face
		on        providertest.Operation
		attribute string
	}{
		"bk_hosted_process":        {providertest.FaceESB, providertest.OnCreate, "out_of_sync"},
		"bk_process_operation":     {providertest.FaceESB, providertest.OnOperate, "failed_hosts"},
		"bk_job_hosted_process":    {providertest.FaceJOB, providertest.OnCreate, "out_of_sync"},
		"bk_job_process_operation": {providertest.FaceJOB, providertest.OnOperate, "failed_hosts"},
	} {
		for setting, taints := range map[string]bool{"": false, "warn": false, "error": true} {
			t.Run(object+"-"+setting, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				first := c.face.Target(c.on)
				sim.Inject(simulator.Fault{API: first.API, Op: first.Op, Hosts: []string{providertest.Address(2)}, Code: new(65535)})
				resource := providertest.ConfiguredWith(t, sim.SettingsFor(c.face)).CoreOf(object, &providertest.Kept{})
				config := c.face.Reference("./start.sh", 2)
				if c.on == providertest.OnOperate {
					config["operation"] = "start"
				}
				if setting != "" {
					config["on_partial_create"] = setting
				}
				providertest.Silent(t, resource.Validate(config))
				_, said := resource.Apply(config)
				want := map[bool]string{false: "warning", true: "error"}[taints]
				if len(said) != 1 || said.Severity() != want || strings.Contains(said.String(), `on_partial_create is "error"`) != taints || resource.Tainted != taints {
					t.Errorf("tainted: %t, said: %s", resource.Tainted, said)
				}
				failing := resource.Reasons(c.attribute)
				providertest.Check(t, len(failing) == 1 && strings.Contains(failing["web-2"], "65535"), "%s is %v", c.attribute, failing)
				if kept, declared := resource.Attribute("on_partial_create"), map[bool]string{true: "error", false: "warn"}[taints]; kept != declared {
					t.Errorf("on_partial_create is %v in state", kept)
				}
				if taints {
					return
				}
				sim.Repair()
				sim.ResetCalls()
				kind, said := resource.Apply(config)
				changes := strings.Join(sim.Changes(), "\n")
				if kind != providertest.PlanUpdate || len(said) > 0 || !strings.Contains(changes, providertest.Address(2)) || strings.Contains(changes, providertest.Address(1)) {
					t.Errorf("the next apply, which is for web-2 alone: %s\n%s\n%s", kind, changes, said)
				}
			})
		}
	}
}
