package inventory

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ datasource.DataSource                     = (*hostsDataSource)(nil)
	_ datasource.DataSourceWithConfigure        = (*hostsDataSource)(nil)
	_ datasource.DataSourceWithConfigValidators = (*hostsDataSource)(nil)
)

// NewHostsDataSource returns bk_hosts.
func NewHostsDataSource() datasource.DataSource { return &hostsDataSource{} }

type hostsDataSource struct{ asker }

type hostsModel struct {
	question
	Filter *filterModel `tfsdk:"filter"`

	Hosts         reference.HostMap  `tfsdk:"hosts"`
	HostsByModule reference.HostMaps `tfsdk:"hosts_by_module"`
	WithoutAgent  []string           `tfsdk:"without_agent"`
	HostCount     types.Int64        `tfsdk:"host_count"`
}

func (d *hostsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_hosts"
}

func (d *hostsDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := questionAttributes(ctx)
	attributes["filter"] = filterAttribute()
	attributes["hosts"] = reference.ComputedHosts("Map of host key to host address, for the `hosts` of resources.")
	attributes["hosts_by_module"] = reference.ComputedHostMaps("The same by module: a map of `<set>/<module>` to such a map. A host stands under each module " +
		"that it is in and that is in scope; modules without hosts are left out. Modules of one name in sets of one name are one.")
	attributes["without_agent"] = schema.ListAttribute{
		ElementType: types.StringType, Computed: true,
		MarkdownDescription: "Keys of hosts of which CMDB knows no agent id: they have no agent, or one older than GSE 2.0.",
	}
	attributes["host_count"] = schema.Int64Attribute{MarkdownDescription: "Number of hosts.", Computed: true}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads from CMDB which hosts a business has, ready for the `hosts` of resources. An answer that is not whole is an error, never fewer hosts.",
		Attributes:          attributes,
	}
}

func (d *hostsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var config hostsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(config.read(ctx, d.platform)...)
	if !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
	}
}

// read reads the hosts from CMDB and sets the computed values.
func (m *hostsModel) read(ctx context.Context, p *platform.Platform) diag.Diagnostics {
	scope, limit, diags := m.ask(ctx, p)
	if diags.HasError() {
		return diags
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	all, err := p.CMDB.Select(ctx, scope)
	if err != nil {
		diags.Append(selectFailed(scope.Business, err))
		return diags
	}
	hosts, err := m.Filter.hosts(all)
	if err != nil {
		diags.Append(diagnose.Bug(err))
		return diags
	}
	if least := m.least(); int64(len(hosts)) < least {
		diags.Append(tooFew(scope.Business, len(hosts), len(all), least))
		return diags
	}
	m.fromAPI(newInventory(hosts, m.naming(p.Gateway)), &diags)
	return diags
}

func (m *hostsModel) fromAPI(found *inventory, diags *diag.Diagnostics) {
	diags.Append(found.faults()...)
	m.Hosts = reference.NewHostMap(found.addresses)
	m.HostsByModule = reference.NewHostMaps(found.byModule)
	m.WithoutAgent = found.withoutAgent
	m.HostCount = types.Int64Value(int64(len(found.addresses)))
}
