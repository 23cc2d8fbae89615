package processoperation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ operatedModel                         = (*jobProcessOperationModel)(nil)
	_ resource.Resource                     = (*jobProcessOperationResource)(nil)
	_ resource.ResourceWithConfigure        = (*jobProcessOperationResource)(nil)
	_ resource.ResourceWithConfigValidators = (*jobProcessOperationResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*jobProcessOperationResource)(nil)
	_ resource.ResourceWithValidateConfig   = (*jobProcessOperationResource)(nil)
)

type jobProcessOperationModel struct {
	reference.JobModel
	runModel
}

// NewJobResource makes bk_job_process_operation.
func NewJobResource() resource.Resource {
	return &jobProcessOperationResource{operationResource{newModel: func() operatedModel { return new(jobProcessOperationModel) }}}
}

type jobProcessOperationResource struct {
	operationResource
}

func (r *jobProcessOperationResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_job_process_operation"
}

func (r *jobProcessOperationResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := reference.JobAttributes(false)
	maps.Copy(attributes, runAttributes(ctx))
	attributes["id"] = schema.StringAttribute{
		MarkdownDescription: "Scope and key of the process, such as `biz:1:/usr/sbin/nginx`.",
		Computed:            true,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: reference.JobNote + "Starts, stops, restarts, reloads or kills a process on its hosts through BlueKing JOB, and waits for the result of " +
			"each. It runs when it is created, again on every host when `triggers`, `operation`, `scope`, `bk_biz_id` or `process` change, and on added " +
			"hosts alone when only `hosts` grew. Destroying it does nothing unless `on_destroy` says so.",
		Attributes: attributes,
	}
}

func (r *jobProcessOperationResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("scope"), path.MatchRoot("bk_biz_id"))}
}
