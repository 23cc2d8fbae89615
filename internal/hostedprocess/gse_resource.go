package hostedprocess

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ hostedModel                         = (*hostedProcessModel)(nil)
	_ resource.Resource                   = (*hostedProcessResource)(nil)
	_ resource.ResourceWithConfigure      = (*hostedProcessResource)(nil)
	_ resource.ResourceWithIdentity       = (*hostedProcessResource)(nil)
	_ resource.ResourceWithImportState    = (*hostedProcessResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*hostedProcessResource)(nil)
	_ resource.ResourceWithValidateConfig = (*hostedProcessResource)(nil)
)

// NewResource makes bk_hosted_process.
func NewResource() resource.Resource {
	return &hostedProcessResource{hostedResource{newModel: func() hostedModel { return new(hostedProcessModel) }}}
}

type hostedProcessResource struct {
	hostedResource
}

func (r *hostedProcessResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_hosted_process"
}

func (r *hostedProcessResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := reference.GSEAttributes(reference.Options{ReplaceOnRename: true, Registers: true})
	maps.Copy(attributes, lifecycleAttributes(ctx, "What it registers carries the id in a label beside the fingerprint, named after "+
		"`spec_fingerprint_label` with `_owner` behind it (`tf_spec_owner`), and only what carries it, or no such label, is unregistered, stopped or killed."))
	attributes["labels_all"] = schema.MapAttribute{
		MarkdownDescription: "All labels that registering sends, the provider's `default_labels` among them, without those that carry the fingerprint and " +
			"the owner.",
		Computed:    true,
		ElementType: types.StringType,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Hosts a process on machines: registers it with the platform, has the agents revive it when it dies, finds and mends " +
			"drift host by host. Destroying it unregisters it; the process itself goes on running unless `on_destroy` says otherwise.",
		Attributes: attributes,
	}
}

func (r *hostedProcessResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{Description: "Namespace of the process.", RequiredForImport: true},
			"name":      identityschema.StringAttribute{Description: "Name of the process.", RequiredForImport: true},
		},
	}
}
