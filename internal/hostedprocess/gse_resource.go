package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
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

// NewResource returns the resource bk_hosted_process.
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
	maps.Copy(attributes, lifecycleAttributes(ctx, "spec", "`spec` (except `op_timeout`) or a label", "Registrations carry it in a label (`tf_spec_owner`)."))
	attributes["verify"] = schema.StringAttribute{
		MarkdownDescription: "What is compared with `spec`. `" + string(fleet.VerifyLabels) + "`: the registered fingerprint. `" + string(fleet.VerifyAgent) +
			"`: also [what the agent really hosts](../guides/verify.md), field by field. Defaults to the provider's `verify`.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(reference.AsStrings(fleet.Verifies())...)},
	}
	attributes["labels_all"] = schema.MapAttribute{
		MarkdownDescription: "All registered labels, `default_labels` included, without fingerprint and owner.",
		Computed:            true,
		ElementType:         types.StringType,
	}
	attributes["bk_supplier_id"] = schema.Int64Attribute{
		MarkdownDescription: "The provider's at create or import, unless 0.",
		Computed:            true,
		PlanModifiers:       []planmodifier.Int64{int64planmodifier.UseStateForUnknown()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Hosts a process on machines: registers it with the platform, has the agents restart it when it dies, and repairs " +
			"drift host by host. Destroying it unregisters it; the process runs on unless `on_destroy` says otherwise.",
		Attributes: reference.Typed(attributes),
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

func (r *hostedProcessResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config hostedProcessModel
	resp.Diagnostics.Append(reference.Get(ctx, tfsdk.State(req.Config), &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(checkLifecycleCommands(ctx, &config, req.Config)...)
	var autoType types.Int64
	at := path.Root("spec").AtName("monitor_policy").AtName("auto_type")
	if diags := req.Config.GetAttribute(ctx, at, &autoType); diags.HasError() {
		return // the spec is not known yet
	}
	resp.Diagnostics.Append(config.checkResident("auto_type", autoType, gse.AutoResident)...)
}

// ModifyPlan adds the check that only GSE needs: hosts that the ESB does not accept.
func (r *hostedProcessResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !req.Plan.Raw.IsNull() && r.platform.Ready() && r.platform.Gateway == bkapi.ESB {
		var hosts reference.HostMap
		resp.Diagnostics.Append(req.Plan.GetAttribute(ctx, reference.HostsPath(), &hosts)...)
		resp.Diagnostics.Append(checkESBHosts(hosts)...)
	}
	r.hostedResource.ModifyPlan(ctx, req, resp)
}

// checkESBHosts refuses IPv6 addresses. The ESB's calls that register do not accept them (those that operate
// do), and no document gives another name for such a host.
func checkESBHosts(hosts reference.HostMap) diag.Diagnostics {
	inventory, _ := reference.InventoryOf(hosts, 0) // invalid addresses are reported elsewhere
	var diags diag.Diagnostics
	for key, host := range inventory.All {
		if host.IP().Is6() {
			reference.AddInvalid(&diags, reference.HostsPath().AtMapKey(key), diagnose.SummaryInvalidHost, fmt.Sprintf(
				"%q has an IPv6 address, and the ESB registers processes by IPv4 alone; give the host's IPv4 address, or go through the API gateway (gateway = \"apigw\")",
				host.Address()))
		}
	}
	return diags
}

type hostedProcessModel struct {
	reference.GSEModel
	Verify     types.String `tfsdk:"verify"`
	LabelsAll  types.Map    `tfsdk:"labels_all"`
	SupplierID types.Int64  `tfsdk:"bk_supplier_id"`
	lifecycleModel
}

// Check refuses what the ESB cannot do: register a process without limits and not host it, and run scripts.
func (m *hostedProcessModel) Check(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	diags := m.GSEModel.Check(ctx, p)
	if p.Ready() && p.Gateway == bkapi.ESB && m.Ensure.ValueString() == string(fleet.EnsureRegistered) && m.Unlimited() {
		diags.Append(diagnose.About(path.Root("ensure"), diag.NewErrorDiagnostic("Invalid Ensure", fmt.Sprintf("Through the ESB, ensure = %q requires limits: register_proc_info takes no "+
			"process without spec.resource, which can only be hosted. Set spec.resource, or ensure = %q.", fleet.EnsureRegistered, fleet.EnsureHosted))))
	}
	if p.Ready() && m.verify(p) == fleet.VerifyAgent && p.CannotReadHosted() != "" {
		diags.Append(diagnose.About(path.Root("verify"), diag.NewErrorDiagnostic("Invalid Verify", fmt.Sprintf("verify = %q reads a file on each host: %s. "+
			"Or set verify = %q.", fleet.VerifyAgent, p.CannotReadHosted(), fleet.VerifyLabels))))
	}
	return diags
}

// verify returns verify of the resource, or else of the provider.
func (m *hostedProcessModel) verify(p *platform.Platform) fleet.Verify {
	return cmp.Or(fleet.Verify(m.Verify.ValueString()), p.Verify)
}

// Open adds whether more is compared than the cached status.
func (m *hostedProcessModel) Open(ctx context.Context, p *platform.Platform, owner string) (reference.Target, diag.Diagnostics) {
	target, diags := m.GSEModel.Open(ctx, p, owner)
	target.Desired.Verify = m.verify(p) == fleet.VerifyAgent
	return target, diags
}

func (m *hostedProcessModel) setSent(d fleet.Desired) map[string]attr.Value {
	m.Fingerprint, m.LabelsAll = types.StringValue(d.Fingerprint), reference.StringMapValue(d.Labels)
	return map[string]attr.Value{"fingerprint": m.Fingerprint, "labels_all": m.LabelsAll}
}

func (m *hostedProcessModel) setWhole(ctx context.Context) (string, types.String) {
	m.SetProcess(ctx)
	return "process", m.Process
}

type hostedProcessIdentityModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

func (m *hostedProcessModel) resourceIdentity(ctx context.Context) (any, diag.Diagnostics) {
	meta, diags := reference.MetaToAPI(ctx, m.Meta)
	return hostedProcessIdentityModel{Namespace: types.StringValue(meta.Namespace), Name: types.StringValue(meta.Name)}, diags
}

func (m *hostedProcessModel) replaces(ctx context.Context, state hostedModel) bool {
	return !m.Identifier(ctx).Equal(state.Identifier(ctx))
}

func (m *hostedProcessModel) supplierID() *types.Int64 { return &m.SupplierID }
