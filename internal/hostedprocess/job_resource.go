package hostedprocess

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/job"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ hostedModel                           = (*jobHostedProcessModel)(nil)
	_ resource.Resource                     = (*jobHostedProcessResource)(nil)
	_ resource.ResourceWithConfigure        = (*jobHostedProcessResource)(nil)
	_ resource.ResourceWithConfigValidators = (*jobHostedProcessResource)(nil)
	_ resource.ResourceWithImportState      = (*jobHostedProcessResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*jobHostedProcessResource)(nil)
	_ resource.ResourceWithValidateConfig   = (*jobHostedProcessResource)(nil)
)

type jobHostedProcessModel struct {
	reference.JobModel
	RegistrationAPI types.String `tfsdk:"registration_api"`
	lifecycleModel
}

func (m *jobHostedProcessModel) Open(ctx context.Context, p *platform.Platform, owner string) (reference.Target, diag.Diagnostics) {
	m.Registration = job.Registration(m.RegistrationAPI.ValueString())
	return m.JobModel.Open(ctx, p, owner)
}

// Check also refuses what the agents could not run.
func (m *jobHostedProcessModel) Check(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	return append(m.JobModel.Check(ctx, p), m.CheckPeriod(ctx)...)
}

// resourceIdentity is nil: the platform finds a process only by its whole definition and its hosts.
func (m *jobHostedProcessModel) resourceIdentity(context.Context) (any, diag.Diagnostics) {
	return nil, nil
}

func (m *jobHostedProcessModel) replaces(ctx context.Context, state hostedModel) bool {
	was, ok := state.(*jobHostedProcessModel)
	if !ok || !m.Identifier(ctx).Equal(state.Identifier(ctx)) {
		return true
	}
	for _, name := range []string{"proc_name", "setup_path", "value_key"} {
		now, before := m.Process.Attributes()[name], was.Process.Attributes()[name]
		if none := reference.Unset(now) && reference.Unset(before); !none && !now.Equal(before) {
			return true
		}
	}
	return false
}

func (m *jobHostedProcessModel) supplierID() *types.Int64 { return nil }

func (m *jobHostedProcessModel) setSent(d fleet.Desired) map[string]attr.Value {
	m.Fingerprint = types.StringValue(d.Fingerprint)
	return map[string]attr.Value{"fingerprint": m.Fingerprint}
}

func (m *jobHostedProcessModel) setWhole(ctx context.Context) (string, types.String) {
	m.SetDeclaration(ctx)
	return "declaration", m.Declaration
}

// NewJobResource returns the resource bk_job_hosted_process.
func NewJobResource() resource.Resource {
	return &jobHostedProcessResource{hostedResource{newModel: func() hostedModel { return new(jobHostedProcessModel) }}}
}

type jobHostedProcessResource struct {
	hostedResource
}

func (r *jobHostedProcessResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_job_hosted_process"
}

func (r *jobHostedProcessResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := reference.JobAttributes(reference.Options{ReplaceOnRename: true, Registers: true})
	maps.Copy(attributes, lifecycleAttributes(ctx, "process", "`process`", "JOB does not store it. Only within one run does it separate objects, "+
		"so that with `create_before_destroy` the old one leaves the hosts to the new one."))
	attributes["registration_api"] = reference.ChoiceAttribute(job.RegisterByOperate, job.Registrations(),
		"API that registers. `"+string(job.RegisterByOperate)+"`: operations 3 and 4. `"+string(job.RegisterByManage)+
			"`: operations 1 and 2, which some releases of JOB (3.4 to 3.6, by their code) "+
			"take for a stop and a query. It counts as done where the agents confirm it. Defaults to `"+string(job.RegisterByOperate)+"`.")
	attributes["id"] = schema.StringAttribute{
		MarkdownDescription: "Scope and key of the process, such as `biz:1:/usr/sbin/nginx`.",
		Computed:            true,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: reference.JobNote + "Hosts a process on machines through BlueKing JOB: has the agents revive it when it dies, finds and repairs drift host " +
			"by host. JOB keeps no list of processes. So registered means hosted (`ensure = \"registered\"` and `\"hosted\"` are the same), and what it is " +
			"hosted with cannot be seen. A process that is hosted already is taken over, unless this release of JOB reports that (850). " +
			"It cannot be imported: adopt it by creating it. Destroying it unhosts the process, which goes on running unless `on_destroy` says otherwise.",
		Attributes: reference.Typed(attributes),
	}
}

// ImportState says why there is no import, in place of the framework's request to contact the developer.
func (r *jobHostedProcessResource) ImportState(_ context.Context, _ resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resp.Diagnostics.AddError("Import Not Supported",
		"JOB cannot be asked which processes there are or how they are defined, so there is nothing to import. Write the resource with adopt_existing = true and apply it: "+
			"a process that is hosted already is taken over, and is not restarted.")
}

func (r *jobHostedProcessResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("scope"), path.MatchRoot("bk_biz_id"))}
}

func (r *jobHostedProcessResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config jobHostedProcessModel
	resp.Diagnostics.Append(reference.Get(ctx, tfsdk.State(req.Config), &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(config.Check(ctx, nil)...)
	resp.Diagnostics.Append(checkLifecycleCommands(ctx, &config, req.Config)...)
	owner, ok := config.Process.Attributes()["proc_owner"].(types.String)
	if config.RegistrationAPI.ValueString() == string(job.RegisterByManage) && ok && reference.Unset(owner) {
		reference.AddInvalid(&resp.Diagnostics, path.Root("process").AtName("proc_owner"), "Missing Owner", "manage_proc requires an owner, which is not set")
	}
	if kind, ok := config.Process.Attributes()["type"].(types.Int64); ok {
		if kind.IsNull() {
			kind = types.Int64Value(job.TypePeriodic) // the server's default
		}
		resp.Diagnostics.Append(config.checkResident("type", kind, job.TypeResident)...)
	}
}
