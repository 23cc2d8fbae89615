package processoperation

import (
	"context"
	"fmt"

	actiontimeouts "github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// model holds the values of an object that runs an operation: which process, on which
// hosts, and what to do.
type model interface {
	reference.Model
	inputs() *inputValues
}

// inputValues are the values that resources and actions share, beside the process and its hosts.
type inputValues struct {
	Operation types.String `tfsdk:"operation"`
	Rollout   types.Object `tfsdk:"rollout"`
}

func (m *inputValues) inputs() *inputValues { return m }

// checkInputs refuses an operation without its command, and a gate that nothing could
// pass. What is not known yet passes.
func checkInputs(ctx context.Context, m model, config tfsdk.Config) diag.Diagnostics {
	operation, rollout := m.inputs().Operation, m.inputs().Rollout
	diags := reference.CheckCommand(ctx, m, config, operation)
	if gate := reference.GateOf(rollout); gate.IsNull() || gate.IsUnknown() || operation.IsNull() || operation.IsUnknown() {
		return diags
	}
	if !fleet.Operation(operation.ValueString()).LeavesRunning() {
		reference.AddInvalid(&diags, reference.GatePath(), "Invalid Health Gate", fmt.Sprintf(
			"after the operation %q the process is not meant to run, so there is nothing to watch; leave it out, or start, restart or reload", operation.ValueString()))
		return diags
	}
	return append(diags, reference.CheckGate(ctx, m, config, rollout)...)
}

// resourceModel is the model of a resource, over either API.
type resourceModel interface {
	model
	values() *resourceValues
}

// resourceValues are the values of a resource, beside the process and its hosts.
type resourceValues struct {
	inputValues
	Triggers        types.Map      `tfsdk:"triggers"`
	RunOnCreate     types.Bool     `tfsdk:"run_on_create"`
	OnPartialCreate types.String   `tfsdk:"on_partial_create"`
	OnDestroy       types.String   `tfsdk:"on_destroy"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
	ID              types.String   `tfsdk:"id"`
	FailedHosts     types.Map      `tfsdk:"failed_hosts"`
	RolloutPlan     types.String   `tfsdk:"rollout_plan"`
}

func (m *resourceValues) runsOnCreate() bool {
	return m.RunOnCreate.IsNull() || m.RunOnCreate.ValueBool()
}

func (m *resourceValues) values() *resourceValues { return m }

// actionModel is the model of an action, over either API.
type actionModel interface {
	model
	values() *actionValues
}

// actionValues are the values of an action, beside the process and its hosts.
type actionValues struct {
	inputValues
	Timeouts actiontimeouts.Value `tfsdk:"timeouts"`
}

func (m *actionValues) values() *actionValues { return m }

// operation is a model in the clients' terms, ready to run.
type operation struct {
	reference.Target
	platform *platform.Platform
	name     fleet.Operation
	rollout  fleet.Rollout
}

// open converts a model for the clients, or reports why it cannot.
func open(ctx context.Context, p *platform.Platform, m model, diags *diag.Diagnostics) operation {
	o := operation{platform: p, name: fleet.Operation(m.inputs().Operation.ValueString())}
	if diags.HasError() {
		return o
	}
	if !p.Ready() {
		diags.Append(p.NotReady())
		return o
	}
	var d diag.Diagnostics
	o.Target, d = m.Open(ctx, p, "")
	diags.Append(d...)
	if !diags.HasError() && !o.Desired.HasSpec {
		reference.AddMissingSpec(diags)
	}
	o.Starts = o.name.Starts()
	o.rollout, d = o.Rollout(ctx, m.inputs().Rollout)
	o.rollout.Clock = p.Clock
	diags.Append(d...)
	return o
}

// run runs the operation on hosts. Those in unsure are asked first.
func (o operation) run(ctx context.Context, hosts []fleet.Host, unsure map[fleet.Host]bool) fleet.Results {
	logged := platform.Run{Process: o.ID, Operation: string(o.name), Keys: o.Hosts, Rollout: o.rollout}
	return o.platform.Logged(ctx, logged, hosts, func(ctx context.Context, rollout fleet.Rollout) fleet.Results {
		return fleet.Run(ctx, o.Process, o.name, hosts, unsure, rollout)
	})
}
