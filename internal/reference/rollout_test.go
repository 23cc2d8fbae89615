package reference_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/reference"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

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

func (settling) Settles() (command, startCheck time.Duration) {
	return 30 * time.Second, 7 * time.Second
}

// A wave has time for its slowest host, unless wave_timeout is set.
//
// Promised in rolling-restart.md: by default what an operation may take on a host and two minutes more.
// Promised in limits.md: `op_timeout` and 2 minutes; with a start or restart also `start_check_secs`.
// Promised in reference: By default two minutes plus `op_timeout` (60 seconds if not set), and `start_check_secs` (5) where processes are started
// Promised in rollouts.md: `start_check_secs`, 5 by default, where processes are started or restarted
// Promised in rollouts.md: The default is the sum of the operation's time and two minutes.
func TestTarget_Rollout_waveTimeout(t *testing.T) {
	t.Parallel()
	texts := types.ListType{ElemType: types.StringType}
	gate := types.ObjectType{AttrTypes: map[string]attr.Type{"stable_for": types.StringType, "within": types.StringType, "output": types.StringType}}
	for name, c := range map[string]struct {
		starts    bool
		batchSize types.Int64
		timeout   types.String
		want      time.Duration
	}{
		"default":  {false, types.Int64Value(1), types.StringNull(), 150 * time.Second},
		"starts":   {true, types.Int64Value(1), types.StringNull(), 157 * time.Second},
		"set":      {true, types.Int64Value(1), types.StringValue("10s"), 10 * time.Second},
		"one-wave": {true, types.Int64Null(), types.StringNull(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := reference.Target{Process: settling{}, Starts: c.starts}
			rollout, diags := target.Rollout(t.Context(), types.ObjectValueMust(map[string]attr.Type{
				"waves": texts, "canary": texts, "batch_size": types.Int64Type, "pause": types.StringType, "wave_timeout": types.StringType, "max_failed_hosts": types.StringType,
				"healthy": gate, "on_failure": types.StringType,
			}, map[string]attr.Value{
				"waves": types.ListNull(types.StringType), "canary": types.ListNull(types.StringType), "batch_size": c.batchSize,
				"pause": types.StringNull(), "wave_timeout": c.timeout, "max_failed_hosts": types.StringNull(),
				"healthy": types.ObjectNull(gate.AttrTypes), "on_failure": types.StringNull(),
			}))
			if diags.HasError() || rollout.WaveTimeout != c.want {
				t.Errorf("a wave has %s, want %s; said %v", rollout.WaveTimeout, c.want, diags)
			}
		})
	}
}

// The object's max_unreachable_hosts counts before the provider's.
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
// Promised in reference: with an error; Terraform taints the resource, and the next apply runs on every host again.
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
