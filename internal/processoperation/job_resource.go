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
	_ resourceModel                         = (*jobResourceModel)(nil)
	_ resource.Resource                     = (*jobResource)(nil)
	_ resource.ResourceWithConfigure        = (*jobResource)(nil)
	_ resource.ResourceWithConfigValidators = (*jobResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*jobResource)(nil)
	_ resource.ResourceWithValidateConfig   = (*jobResource)(nil)
)

type jobResourceModel struct {
	reference.JobProcesses
	resourceValues
}

// NewJobResource returns bk_job_process_operation.
func NewJobResource() resource.Resource {
	return &jobResource{baseResource{newModel: func() resourceModel { return new(jobResourceModel) }}}
}

type jobResource struct {
	baseResource
}

func (r *jobResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_job_process_operation"
}

func (r *jobResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := reference.JobAttributes(reference.Options{Several: true})
	maps.Copy(attributes, resourceAttributes(ctx))
	attributes["id"] = schema.StringAttribute{
		MarkdownDescription: "Scope and key of the process, such as `biz:1:/usr/sbin/nginx`. " + idsOfSeveral,
		Computed:            true,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: reference.JobNote + "Starts, stops, restarts, reloads or kills a process, or several by their priorities, on its hosts through BlueKing JOB, and " +
			"waits for the result of each. It runs when it is created, and on every host when `triggers`, `operation` or the process's name (its `id`) changes. It runs on added " +
			"hosts only when `hosts` grows. Any other change of `process` runs nothing by itself: put what it depends on into `triggers`. " +
			"Destroying the resource does nothing unless `on_destroy` says so.",
		Attributes: attributes,
	}
}

func (r *jobResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.Conflicting(path.MatchRoot("scope"), path.MatchRoot("bk_biz_id"))}
}
