package processstatus

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ datasource.DataSource                     = (*jobProcessStatusDataSource)(nil)
	_ datasource.DataSourceWithConfigure        = (*jobProcessStatusDataSource)(nil)
	_ datasource.DataSourceWithConfigValidators = (*jobProcessStatusDataSource)(nil)
)

// NewJobDataSource returns bk_job_process_status.
func NewJobDataSource() datasource.DataSource { return &jobProcessStatusDataSource{} }

type jobProcessStatusDataSource struct{ platform *platform.Platform }

type jobProcessStatusModel struct {
	reference.JobModel
	HostedProcess types.Object `tfsdk:"hosted_process"`
	statusModel
}

// process returns the process of hosted_process, or of the other attributes if hosted_process is null.
func (m *jobProcessStatusModel) process(ctx context.Context) *reference.JobModel {
	if m.HostedProcess.IsNull() {
		return &m.JobModel
	}
	return reference.JobOf(ctx, m.HostedProcess)
}

func (d *jobProcessStatusDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_job_process_status"
}

func (d *jobProcessStatusDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := reference.DataSourceAttributes(reference.JobAttributes(reference.Options{Whole: true}))
	maps.Copy(attributes, statusAttributes(ctx, "`unregistered` does not occur here: an agent cannot tell a process that is not registered from one that is stopped."))
	resp.Schema = schema.Schema{
		MarkdownDescription: reference.JobNote + "Reads the status of a process on each host through BlueKing JOB. The agents are always asked, as JOB caches no status. A host " +
			"that does not answer is `unknown`, with the reason; only a call that fails as a whole is an error.",
		Attributes: attributes,
	}
}

func (d *jobProcessStatusDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (d *jobProcessStatusDataSource) ConfigValidators(context.Context) []datasource.ConfigValidator {
	return []datasource.ConfigValidator{datasourcevalidator.Conflicting(path.MatchRoot("scope"), path.MatchRoot("bk_biz_id"))}
}

func (d *jobProcessStatusDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var config jobProcessStatusModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(reference.CheckWhole(&config.JobModel, config.HostedProcess)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(config.read(ctx, d.platform, config.process(ctx), fleet.Process.LiveStatus)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
	}
}
