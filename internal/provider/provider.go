package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/hostedprocess"
	"github.com/blueking/terraform-provider-bk/internal/hostfunction"
	"github.com/blueking/terraform-provider-bk/internal/inventory"
	"github.com/blueking/terraform-provider-bk/internal/processoperation"
	"github.com/blueking/terraform-provider-bk/internal/processstatus"
)

var (
	_ provider.Provider                  = (*bkProvider)(nil)
	_ provider.ProviderWithActions       = (*bkProvider)(nil)
	_ provider.ProviderWithFunctions     = (*bkProvider)(nil)
	_ provider.ProviderWithListResources = (*bkProvider)(nil)
)

type bkProvider struct{ Options }

func (p *bkProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "bk"
	resp.Version = p.Version
}

func (p *bkProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Hosts processes through BlueKing's GSE agent: registers them, operates them and reads their status.",
		Attributes:          attributesOf(newSettings().declared, ""),
	}
}

func (p *bkProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var block types.Object
	resp.Diagnostics.Append(req.Config.Get(ctx, &block)...)
	if resp.Diagnostics.HasError() {
		return
	}
	_, platform, diags := p.resolve(ctx, block, req.TerraformVersion)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if len(platform.Unknown) > 0 && req.ClientCapabilities.DeferralAllowed {
		// Everything that needs the platform waits for the next apply.
		resp.Deferred = &provider.Deferred{Reason: provider.DeferredReasonProviderConfigUnknown}
	}
	resp.ResourceData = platform
	resp.DataSourceData = platform
	resp.ActionData = platform
	resp.ListResourceData = platform
}

func (p *bkProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		hostedprocess.NewResource,
		processoperation.NewResource,
		hostedprocess.NewJobResource,
		processoperation.NewJobResource,
	}
}

func (p *bkProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		processstatus.NewDataSource,
		processstatus.NewJobDataSource,
		inventory.NewHostsDataSource,
		inventory.NewProcessesDataSource,
		processstatus.NewRegistrationsDataSource,
		processstatus.NewHostedSpecsDataSource,
	}
}

func (p *bkProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{
		processoperation.NewAction,
		processoperation.NewJobAction,
	}
}

func (p *bkProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{
		hostedprocess.NewListResource,
	}
}

func (p *bkProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		hostfunction.NewExpand,
		hostfunction.NewWaves,
		hostfunction.NewHost,
		hostfunction.NewHosts,
		hostfunction.NewMatch,
		hostfunction.NewParseHost,
	}
}
