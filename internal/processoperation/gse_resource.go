package processoperation

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ resourceModel                       = (*gseResourceModel)(nil)
	_ resource.Resource                   = (*gseResource)(nil)
	_ resource.ResourceWithConfigure      = (*gseResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*gseResource)(nil)
	_ resource.ResourceWithValidateConfig = (*gseResource)(nil)
)

// NewResource returns bk_process_operation.
func NewResource() resource.Resource {
	return &gseResource{baseResource{newModel: func() resourceModel { return new(gseResourceModel) }}}
}

type gseResource struct {
	baseResource
}

type gseResourceModel struct {
	reference.GSEProcesses
	resourceValues
}

func (r *gseResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process_operation"
}

func (r *gseResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := reference.GSEAttributes(reference.Options{Several: true})
	maps.Copy(attributes, resourceAttributes(ctx))
	resp.Schema = schema.Schema{
		MarkdownDescription: "Starts, stops, restarts, reloads or kills a process, or several by their priorities, on its hosts, and waits for the results. It runs when it is " +
			"created, and on every host when `triggers`, `operation` or the process's name (`meta.namespace`, `meta.name`) changes. It runs on " +
			"added hosts only when `hosts` grows. A changed `spec` or label runs nothing by itself: put the `fingerprint` of " +
			"`bk_hosted_process` into `triggers` for that. A host that is [renamed](../guides/changing-hosts.md#when-a-machine-has-two-names) is the same host. " +
			"Destroying the resource does nothing unless `on_destroy` says so.",
		Attributes: attributes,
	}
}
