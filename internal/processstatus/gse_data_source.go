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
	Mode           types.String `tfsdk:"mode"`
	UnhealthyCount types.Int64  `tfsdk:"unhealthy_count"`
	statusModel
}

func (d *processStatusDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process_status"
}

func (d *processStatusDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := reference.DataSourceAttributes(reference.GSEAttributes(reference.Options{OptionalSpec: true}))
	attributes["mode"] = schema.StringAttribute{
		MarkdownDescription: "Source of the status. `" + string(modeLive) + "`: the agents, which takes a moment and requires `spec`; without one, as after an import, the read warns and takes what is cached. `" +
			string(modeCached) + "`: the last status that the platform knows, which is quick and may be minutes old. Defaults to `" + string(modeLive) + "`.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(reference.AsStrings(statusModes)...)},
	}
	maps.Copy(attributes, statusAttributes(ctx, "An agent cannot tell a process that is not registered from one that is stopped, so `unregistered` occurs only in mode `cached`."))
	attributes["unhealthy_count"] = schema.Int64Attribute{
		MarkdownDescription: "Number of hosts on which the process runs and its `health_cmd` printed nothing, as it does where it fails. Null if no " +
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
	if resp.Diagnostics.HasError() {
		return
	}
	ask := fleet.Process.LiveStatus
	switch cached := config.Mode.ValueString() == string(modeCached); {
	case cached:
		ask = fleet.Process.CachedStatus
	case !config.HasSpec(ctx):
		// A process that was imported and not applied yet has none, and an import reads the
		// data sources that depend on it.
		ask = fleet.Process.CachedStatus
		resp.Diagnostics.Append(statusFromFile(config.Identifier(ctx).ValueString()))
	}
	resp.Diagnostics.Append(config.read(ctx, d.platform, &config, ask)...)
	config.UnhealthyCount = types.Int64Null()
	if config.Mode.ValueString() != string(modeCached) && config.ChecksHealth(ctx) {
		config.UnhealthyCount = types.Int64Value(config.unhealthy)
	}
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
	}
}
