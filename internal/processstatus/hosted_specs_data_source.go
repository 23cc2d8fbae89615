package processstatus

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ datasource.DataSource              = (*hostedSpecsDataSource)(nil)
	_ datasource.DataSourceWithConfigure = (*hostedSpecsDataSource)(nil)
)

// NewHostedSpecsDataSource returns bk_hosted_specs.
func NewHostedSpecsDataSource() datasource.DataSource { return &hostedSpecsDataSource{} }

type hostedSpecsDataSource struct{ platform *platform.Platform }

type hostedSpecsModel struct {
	Namespace  types.String      `tfsdk:"namespace"`
	Hosts      reference.HostMap `tfsdk:"hosts"`
	OS         types.String      `tfsdk:"os"`
	Timeouts   timeouts.Value    `tfsdk:"timeouts"`
	Specs      reference.Objects `tfsdk:"specs"`
	Unreadable types.Map         `tfsdk:"unreadable"`
}

// Operating systems of hosts. All hosts of one data source have the same.
const (
	osLinux   = "linux"
	osWindows = "windows"
)

func (d *hostedSpecsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_hosted_specs"
}

func (d *hostedSpecsDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads what agents really host in a namespace, whoever registered it, from the agents' own files. A read-only script runs on each " +
			"host, as the provider's `hosted_specs` says.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				MarkdownDescription: "Namespace whose processes are read. Those of others are left out.",
				Required:            true,
				Validators:          []validator.String{reference.NameValidator(":")},
			},
			"hosts": reference.HostsOfDataSource(),
			"os": schema.StringAttribute{
				MarkdownDescription: "System of all these hosts, which decides on script, path and account. " + reference.OneOf([]string{osLinux, osWindows}) + " Defaults to `" + osLinux + "`.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf(osLinux, osWindows)},
			},
			"timeouts": reference.DataSourceTimeouts(ctx, "the whole read, after which a host that has not answered is `unreadable`"),
			"specs": reference.ComputedNestedObjects("What each agent hosts, by host key and process name, as `spec` of `bk_hosted_process` wants it. A blank field, or 0, is null. "+
				"`written_at` is when the agent wrote it, in epoch seconds. A host that hosts nothing has an empty map.", specsType),
			"unreadable": schema.MapAttribute{
				MarkdownDescription: "Why an agent's file was not read, by host key. `specs` lacks these hosts, and a warning names them.",
				Computed:            true,
				ElementType:         types.StringType,
			},
		},
	}
}

func (d *hostedSpecsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (d *hostedSpecsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var config hostedSpecsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !d.platform.Ready() {
		resp.Diagnostics.Append(d.platform.NotReady())
		return
	}
	if why, none := d.platform.GSE.Hosted.(procapi.Unread); none {
		resp.Diagnostics.AddError("Unable to Read Hosted Specs", "What agents host cannot be read: "+diagnose.Sentence(string(why)))
		return
	}
	limit, diags := config.Timeouts.Read(ctx, reference.DefaultReadTimeout)
	resp.Diagnostics.Append(diags...)
	hosts, diags := reference.InventoryOf(config.Hosts, d.platform.Supplier)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	readings := d.platform.GSE.ReadHosted(ctx, hosts.Hosts(), config.OS.ValueString() == osWindows)
	if err := diagnose.UnlessInterrupted(ctx, nil); err != nil {
		resp.Diagnostics.AddError("Unable to Read Hosted Specs", diagnose.Sentence(err.Error()))
		return
	}
	resp.Diagnostics.Append(config.fromAPI(hosts, readings)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
}

// specsType is the type of specs.
var specsType = tftypes.Map{ElementType: tftypes.Map{ElementType: tftypes.Object{AttributeTypes: map[string]tftypes.Type{
	"identity":       objectOf(tftypes.String, "proc_name", "setup_path", "pid_path", "user"),
	"control":        objectOf(tftypes.String, "start_cmd", "stop_cmd", "restart_cmd", "reload_cmd", "kill_cmd", "version_cmd", "health_cmd"),
	"resource":       objectOf(tftypes.Number, "cpu", "mem"),
	"monitor_policy": objectOf(tftypes.Number, "auto_type", "start_check_secs", "op_timeout"),
	"written_at":     tftypes.Number,
}}}}

func objectOf(t tftypes.Type, names ...string) tftypes.Object {
	attributes := make(map[string]tftypes.Type, len(names))
	for _, name := range names {
		attributes[name] = t
	}
	return tftypes.Object{AttributeTypes: attributes}
}

// fromAPI sets the computed values.
func (m *hostedSpecsModel) fromAPI(hosts fleet.Inventory, readings map[fleet.Host]hostedspec.Reading) diag.Diagnostics {
	var diags diag.Diagnostics
	specs, unreadable, failures := make(map[string]any), make(map[string]string), make(fleet.Results)
	for key, host := range hosts.All {
		reading, names := readings[host], make(spellings)
		for _, e := range reading.Entries {
			if e.Namespace != m.Namespace.ValueString() {
				continue
			}
			names.add(e.Name)
			if e.Why != "" {
				reading.Why = bkapi.Printable(e.Key()) + ": " + e.Why
			}
		}
		if alike := names.alike(); len(alike) > 0 {
			reading.Why = "it hosts processes whose names Terraform spells alike: " + strings.Join(alike, "; ")
		}
		if reading.Why != "" {
			unreadable[key] = reading.Why
			failures[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: reading.Reason()}
			continue
		}
		specs[key] = specsOf(m.Namespace.ValueString(), reading.Entries)
	}
	var err error
	if m.Specs, err = reference.NewNestedObjects(specs); err != nil {
		diags.AddError(diagnose.SummaryBug, err.Error())
	}
	m.Unreadable = reference.StringMapValue(unreadable)
	if len(failures) > 0 {
		diags.AddWarning("Hosted Specs Not Read", fmt.Sprintf("What agents host was not read on %s.\n\n%s\nNothing is known of these hosts. See unreadable.",
			diagnose.CountHosts(len(failures), hosts.Len()), diagnose.Rows(hosts, failures)))
	}
	return diags
}

// specsOf returns the processes of a namespace by name. Of two entries with the same name, the one written
// later counts.
func specsOf(namespace string, entries []hostedspec.Entry) map[string]any {
	byName := make(map[string]hostedspec.Entry)
	for _, e := range entries {
		if before, twice := byName[e.Name]; e.Namespace == namespace && (!twice || before.WrittenAt <= e.WrittenAt) {
			byName[e.Name] = e
		}
	}
	values := make(map[string]any, len(byName))
	for name, e := range byName {
		values[name] = specValue(e)
	}
	return values
}

func specValue(e hostedspec.Entry) map[string]any {
	var limits any
	if e.CPU != 0 || e.Mem != 0 {
		limits = map[string]any{"cpu": orNull(e.CPU), "mem": orNull(e.Mem)}
	}
	var autoType any
	if e.HasAutoType {
		autoType = e.AutoType
	}
	return map[string]any{
		"identity": map[string]any{"proc_name": orNull(e.ProcName), "setup_path": orNull(e.SetupPath), "pid_path": orNull(e.PIDPath), "user": orNull(e.User)},
		"control": map[string]any{
			"start_cmd": orNull(e.StartCmd), "stop_cmd": orNull(e.StopCmd), "restart_cmd": orNull(e.RestartCmd), "reload_cmd": orNull(e.ReloadCmd),
			"kill_cmd": orNull(e.KillCmd), "version_cmd": orNull(e.VersionCmd), "health_cmd": orNull(e.HealthCmd),
		},
		"resource":       limits,
		"monitor_policy": map[string]any{"auto_type": autoType, "start_check_secs": orNull(e.StartCheckSecs), "op_timeout": orNull(e.OpTimeout)},
		"written_at":     orNull(e.WrittenAt),
	}
}

func orNull[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}
