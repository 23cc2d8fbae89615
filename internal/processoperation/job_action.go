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
	_ actionModel                       = (*jobActionModel)(nil)
	_ action.Action                     = (*jobAction)(nil)
	_ action.ActionWithConfigure        = (*jobAction)(nil)
	_ action.ActionWithConfigValidators = (*jobAction)(nil)
	_ action.ActionWithModifyPlan       = (*jobAction)(nil)
	_ action.ActionWithValidateConfig   = (*jobAction)(nil)
)

type jobActionModel struct {
	reference.JobProcesses
	actionValues
}

// NewJobAction returns the action bk_job_process_operation.
func NewJobAction() action.Action {
	return &jobAction{baseAction{newModel: func() actionModel { return new(jobActionModel) }}}
}

type jobAction struct {
	baseAction
}

func (a *jobAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_job_process_operation"
}

func (a *jobAction) Schema(ctx context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	attributes := reference.ActionAttributes(reference.JobAttributes(reference.Options{Several: true}))
	maps.Copy(attributes, actionAttributes(ctx))
	resp.Schema = schema.Schema{
		MarkdownDescription: reference.JobNote + "Starts, stops, restarts, reloads or kills a process, or several by their priorities, on its hosts through BlueKing JOB when it is " +
			"invoked. It reports its progress, and ends with the result of each host. It does what the resource of the same name does, and keeps no state.",
		Attributes: attributes,
	}
}

func (a *jobAction) ConfigValidators(context.Context) []action.ConfigValidator {
	return []action.ConfigValidator{actionvalidator.Conflicting(path.MatchRoot("scope"), path.MatchRoot("bk_biz_id"))}
}
