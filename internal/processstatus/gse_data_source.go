package processstatus

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ datasource.DataSource              = (*processStatusDataSource)(nil)
	_ datasource.DataSourceWithConfigure = (*processStatusDataSource)(nil)
)

// statusMode is the source of a status.
type statusMode string

const (
	modeLive   statusMode = "live"
	modeCached statusMode = "cached"
)

var statusModes = []statusMode{modeLive, modeCached}

// NewDataSource returns bk_process_status.
func NewDataSource() datasource.DataSource { return &processStatusDataSource{} }

type processStatusDataSource struct{ platform *platform.Platform }

type processStatusModel struct {
	reference.GSEModel
	HostedProcess  types.Object `tfsdk:"hosted_process"`
	Mode           types.String `tfsdk:"mode"`
	UnhealthyCount types.Int64  `tfsdk:"unhealthy_count"`
	statusModel
}

// process returns the process of hosted_process, or of the other attributes if hosted_process is null.
func (m *processStatusModel) process(ctx context.Context) *reference.GSEModel {
	if m.HostedProcess.IsNull() {
		return &m.GSEModel
	}
	return reference.GSEOf(ctx, m.HostedProcess)
}

func (d *processStatusDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process_status"
}

func (d *processStatusDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := reference.DataSourceAttributes(reference.GSEAttributes(reference.Options{Whole: true}))
	attributes["mode"] = schema.StringAttribute{
		MarkdownDescription: "Source of the status. `" + string(modeLive) + "`: the agents; requires `spec`, and without one, as after an import, warns and takes what is cached. `" +
			string(modeCached) + "`: what the platform last knew, which may be minutes old. Defaults to `" + string(modeLive) + "`.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(reference.AsStrings(statusModes)...)},
	}
	maps.Copy(attributes, statusAttributes(ctx, "`unregistered`: the platform has no registration, and by mode `live` its agent neither hosts nor runs it."))
	attributes["unhealthy_count"] = schema.Int64Attribute{
		MarkdownDescription: "Number of hosts on which the process runs and its `health_cmd` printed nothing, as when it fails. Null if no " +
			"`health_cmd` is set, and in mode `" + string(modeCached) + "`. What a check printed is in `health` of each status.",
		Computed: true,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads the status of a process on each host. A host that does not answer is `unknown`, with the reason; only a call that " +
			"fails as a whole is an error.",
		Attributes: attributes,
	}
}

func (d *processStatusDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (d *processStatusDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var config processStatusModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(reference.CheckWhole(&config.GSEModel, config.HostedProcess)...)
	if resp.Diagnostics.HasError() {
		return
	}
	process, ask, fromCache := config.process(ctx), liveStatus, false
	switch cached := config.Mode.ValueString() == string(modeCached); {
	case cached:
		ask = fleet.Process.CachedStatus
	case !process.HasSpec(ctx):
		// A process that was imported and not yet applied has no spec, and an import reads the data sources
		// that depend on it.
		ask = fleet.Process.CachedStatus
		fromCache = true
	}
	resp.Diagnostics.Append(config.read(ctx, d.platform, process, ask)...)
	if fromCache && !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(statusFromCache(process.Identifier(ctx).ValueString()))
	}
	config.UnhealthyCount = types.Int64Null()
	if config.Mode.ValueString() != string(modeCached) && process.ChecksHealth(ctx) {
		config.UnhealthyCount = types.Int64Value(config.unhealthy)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
	}
}

// liveStatus returns the agents' status. An agent cannot distinguish a process that is not registered from one
// that is stopped. So for processes that it neither runs nor hosts, and without a registration time, the cached
// status is read as well. For others a row may be outdated, and is not read.
func liveStatus(p fleet.Process, ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) { //nolint:revive // as methods of fleet.Process are
	asking, cancel := fleet.Share(ctx, fleet.Patience, fleet.Quick) // a silent agent takes all of it
	defer cancel()
	statuses, err := p.LiveStatus(asking, hosts)
	if err != nil {
		return nil, err
	}
	var idle []fleet.Host
	for _, h := range hosts {
		if s := statuses[h]; s.State == fleet.Stopped && s.HostedKnown && !s.Hosted && s.RegisterTime == 0 {
			idle = append(idle, h)
		}
	}
	if len(idle) == 0 {
		return statuses, nil
	}
	rows, err := p.CachedStatus(ctx, idle)
	if err != nil && !fleet.Ended(err) { // if the deadline has passed, stopped is the best answer
		return nil, err
	}
	for _, h := range idle {
		if s := statuses[h]; rows[h].State == fleet.Unregistered {
			s.State = fleet.Unregistered
			statuses[h] = s
		}
	}
	return statuses, nil
}
