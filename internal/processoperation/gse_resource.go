package processoperation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ operatedModel                       = (*processOperationModel)(nil)
	_ resource.Resource                   = (*processOperationResource)(nil)
	_ resource.ResourceWithConfigure      = (*processOperationResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*processOperationResource)(nil)
	_ resource.ResourceWithValidateConfig = (*processOperationResource)(nil)
)

// NewResource makes bk_process_operation.
func NewResource() resource.Resource {
	return &processOperationResource{operationResource{newModel: func() operatedModel { return new(processOperationModel) }}}
}

type processOperationResource struct {
	operationResource
}

func (r *processOperationResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process_operation"
}

func (r *processOperationResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := reference.GSEAttributes(reference.Options{})
	maps.Copy(attributes, runAttributes(ctx))
	resp.Schema = schema.Schema{
		MarkdownDescription: "Starts, stops, restarts, reloads or kills a process on its hosts, and waits for the result of each. It runs when it is " +
			"created, again on every host when `triggers`, `operation`, `meta` or `spec` change, and on added hosts alone when only `hosts` grew. " +
			"Destroying it does nothing unless `on_destroy` says so.",
		Attributes: attributes,
	}
}
