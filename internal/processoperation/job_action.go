package processoperation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/actionvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ invokedModel                      = (*jobProcessInvocationModel)(nil)
	_ action.Action                     = (*jobProcessOperationAction)(nil)
	_ action.ActionWithConfigure        = (*jobProcessOperationAction)(nil)
	_ action.ActionWithConfigValidators = (*jobProcessOperationAction)(nil)
	_ action.ActionWithModifyPlan       = (*jobProcessOperationAction)(nil)
	_ action.ActionWithValidateConfig   = (*jobProcessOperationAction)(nil)
)

type jobProcessInvocationModel struct {
	reference.JobModel
	invocationModel
}

// NewJobAction makes the action bk_job_process_operation.
func NewJobAction() action.Action {
	return &jobProcessOperationAction{operationAction{newModel: func() invokedModel { return new(jobProcessInvocationModel) }}}
}

type jobProcessOperationAction struct {
	operationAction
}

func (a *jobProcessOperationAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_job_process_operation"
}

func (a *jobProcessOperationAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	attributes := reference.ActionAttributes(reference.JobAttributes(false))
	maps.Copy(attributes, invocationAttributes(ctx))
	resp.Schema = schema.Schema{
		MarkdownDescription: reference.JobNote + "Starts, stops, restarts, reloads or kills a process on its hosts through BlueKing JOB when it is invoked, tells " +
			"how far it has come, and ends with the result of each host. It does what the resource of the same name does, and keeps nothing.",
		Attributes: attributes,
	}
}

func (a *jobProcessOperationAction) ConfigValidators(context.Context) []action.ConfigValidator {
	return []action.ConfigValidator{actionvalidator.ExactlyOneOf(path.MatchRoot("scope"), path.MatchRoot("bk_biz_id"))}
}
