package processoperation

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// operationModel is the model of whatever runs an operation.
type operationModel interface {
	reference.Model
	inputs() *operationInputs
}

// operationInputs are what every such object takes beside the reference.
type operationInputs struct {
	Operation types.String `tfsdk:"operation"`
	Rollout   types.Object `tfsdk:"rollout"`
}

func (m *operationInputs) inputs() *operationInputs { return m }

// operatedModel is the model of a resource that runs an operation.
type operatedModel interface {
	operationModel
	run() *runModel
}

// runModel is what such resources have in common.
type runModel struct {
	operationInputs
	Triggers        types.Map      `tfsdk:"triggers"`
	OnPartialCreate types.String   `tfsdk:"on_partial_create"`
	OnDestroy       types.String   `tfsdk:"on_destroy"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
	ID              types.String   `tfsdk:"id"`
	TaskIDs         types.List     `tfsdk:"task_ids"`
	FailedHosts     types.Map      `tfsdk:"failed_hosts"`
}

func (m *runModel) run() *runModel { return m }

type processOperationModel struct {
	reference.GSEModel
	runModel
}

// processOperation is a model as the clients need it.
type processOperation struct {
	reference.Target
	operation fleet.Operation
	rollout   fleet.Rollout
}

// openOperation converts a model for the clients, or says why it cannot.
func openOperation(ctx context.Context, p *platform.Platform, m operationModel, diags *diag.Diagnostics) processOperation {
	o := processOperation{operation: fleet.Operation(m.inputs().Operation.ValueString())}
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
	o.rollout, d = reference.RolloutToAPI(ctx, m.inputs().Rollout)
	diags.Append(d...)
	return o
}

// inDoubt tells whether a reason leaves open that the operation worked.
func inDoubt(reason string) bool {
	return strings.HasPrefix(reason, diagnose.ReasonUnknown) || strings.HasPrefix(reason, diagnose.ReasonTimeUp) || strings.HasPrefix(reason, diagnose.ReasonInterrupted)
}

// anyInDoubt is the same for outcomes.
func anyInDoubt(results fleet.Results) bool {
	for _, o := range results {
		if inDoubt(diagnose.Reason(o)) {
			return true
		}
	}
	return false
}
