package processstatus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/datasource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ datasource.DataSource              = (*registrationsDataSource)(nil)
	_ datasource.DataSourceWithConfigure = (*registrationsDataSource)(nil)
)

// NewRegistrationsDataSource returns bk_registrations.
func NewRegistrationsDataSource() datasource.DataSource { return &registrationsDataSource{} }

type registrationsDataSource struct{ platform *platform.Platform }

type registrationsModel struct {
	Namespace     types.String   `tfsdk:"namespace"`
	Expected      types.Map      `tfsdk:"expected"`
	Timeouts      timeouts.Value `tfsdk:"timeouts"`
	Registrations types.Map      `tfsdk:"registrations"`
	Orphans       types.Map      `tfsdk:"orphans"`
	Unplaced      types.List     `tfsdk:"unplaced"`
}

func (d *registrationsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_registrations"
}

func (d *registrationsDataSource) Schema(ctx context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Reads what is registered in a namespace, whoever registered it. The platform's list is its cached status, which may lag by " +
			"minutes; a namespace that it does not know is empty.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				MarkdownDescription: "Namespace whose registrations are read.",
				Required:            true,
				Validators:          []validator.String{reference.NameValidator(":")},
			},
			"expected": schema.MapAttribute{
				MarkdownDescription: "What is expected to be registered: the `hosts` of each process, by the name of the process. `orphans` is what else there is.",
				Optional:            true,
				ElementType:         hostsByNameType.ElemType,
				Validators:          []validator.Map{expectedValidator{}},
			},
			"timeouts": reference.ReadTimeouts(ctx),
			"registrations": schema.MapNestedAttribute{
				MarkdownDescription: "Registrations by the name of the process.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"hosts": schema.MapNestedAttribute{
						MarkdownDescription: "Registrations of the process by host address.",
						Computed:            true,
						NestedObject:        schema.NestedAttributeObject{Attributes: registrationAttributes()},
					},
				}},
			},
			"orphans": schema.MapAttribute{
				MarkdownDescription: "What is registered and not `expected`: host addresses by host address, as `hosts` wants them, by the name of the process. " +
					"A host that may be an expected one under another name is left out, with a warning. Null unless `expected` is set.",
				Computed:    true,
				ElementType: hostsByNameType.ElemType,
			},
			"unplaced": schema.ListAttribute{
				MarkdownDescription: "Names of the processes of which the platform lists registrations without a host. These are not in " +
					"`registrations`, and a warning names them.",
				Computed:    true,
				ElementType: types.StringType,
			},
		},
	}
}

func registrationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"state":  schema.StringAttribute{MarkdownDescription: "One of `running`, `stopped`, `unknown`.", Computed: true},
		"hosted": schema.BoolAttribute{MarkdownDescription: "Whether the agent restarts the process when it dies. Null if the list does not say.", Computed: true},
		"labels": schema.MapAttribute{
			MarkdownDescription: "All labels of the registration. Null if the list does not say.", Computed: true, ElementType: types.StringType,
		},
		"fingerprint": schema.StringAttribute{
			MarkdownDescription: "Fingerprint that this provider registered it with, by the label that `spec_fingerprint_label` names. Null without that " +
				"label, as after a registration by another tool.",
			Computed: true,
		},
		"owner": schema.StringAttribute{
			MarkdownDescription: "ID of the resource object that registered it last, by the label with `_owner` behind that name. Null if there is none.",
			Computed:            true,
		},
	}
}

func (d *registrationsDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	d.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (d *registrationsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var config registrationsModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !d.platform.Ready() {
		resp.Diagnostics.Append(d.platform.NotReady())
		return
	}
	expected, diags := expectedHosts(config.Expected, d.platform.Supplier)
	resp.Diagnostics.Append(diags...)
	limit, diags := config.Timeouts.Read(ctx, reference.DefaultReadTimeout)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	found, names := make(registered), make(spellings)
	namespace := config.Namespace.ValueString()
	rows, err := d.platform.GSE.List(ctx, namespace, d.platform.Supplier)
	for _, row := range rows {
		found.add(row)
		names.add(row.Name)
	}
	unplaced := (*gse.UnplacedError)(nil)
	if err != nil && !errors.As(err, &unplaced) {
		// An incomplete list could not be told from a complete one.
		resp.Diagnostics.Append(diagnose.CallFailed("Unable to Read Registrations", fmt.Sprintf("Namespace %q could not be listed.", namespace), err))
		return
	}
	if alike := names.alike(); len(alike) > 0 {
		resp.Diagnostics.Append(namesAlike(alike))
	}
	resp.Diagnostics.Append(config.fromAPI(found, expected, unplaced, d.platform)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, config)...)
}

// listedInPart returns the warning about rows that name no host.
func listedInPart(unplaced *gse.UnplacedError) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Registrations Listed In Part", diagnose.Sentence(unplaced.Error())+
		"\n\nThere may be more registrations than these. Ask the platform's administrators why it does not say on which hosts they are.")
}

// namesAlike returns the warning about processes whose names are equal to Terraform.
func namesAlike(rows []string) diag.Diagnostic {
	if more := len(rows) - maxNamed; more > 0 {
		rows = append(rows[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return diag.NewWarningDiagnostic("Names Spelt Alike", fmt.Sprintf(
		"Some names of processes differ only in how their characters are composed, and are one name to Terraform:\n\n  %s\n\n"+
			"Their hosts are listed together under that name. A resource registers the composed spelling, and does not find any other.", strings.Join(rows, "\n  ")))
}

// maxNamed is how many rows a warning names.
const maxNamed = 10

// orphansUnclear returns the warning about hosts that may be expected under another name.
func orphansUnclear(rows []string) diag.Diagnostic {
	if more := len(rows) - maxNamed; more > 0 {
		rows = append(rows[:maxNamed:maxNamed], fmt.Sprintf("and %d more", more))
	}
	return diag.NewWarningDiagnostic("Orphans Not Told Apart", fmt.Sprintf(
		"Some registrations may be of expected hosts, which are known by an address here and by an agent id there:\n\n  %s\n\n"+
			"They are not among the orphans. Name the hosts in expected as the list does.", strings.Join(rows, "\n  ")))
}
