package hostedprocess

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

var (
	_ list.ListResource              = (*hostedProcessListResource)(nil)
	_ list.ListResourceWithConfigure = (*hostedProcessListResource)(nil)
)

// NewListResource returns the list resource bk_hosted_process.
func NewListResource() list.ListResource { return &hostedProcessListResource{} }

type hostedProcessListResource struct{ platform *platform.Platform }

type hostedProcessListModel struct {
	Namespace  types.String `tfsdk:"namespace"`
	NamePrefix types.String `tfsdk:"name_prefix"`
}

func (l *hostedProcessListResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_hosted_process"
}

func (l *hostedProcessListResource) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Lists the processes of a namespace that are registered with the platform, whoever registered them. " +
			"A namespace that the platform does not know is empty. The platform's list may lag by minutes.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				MarkdownDescription: "Namespace whose processes are listed.",
				Required:            true,
				Validators:          []validator.String{reference.NameValidator(":")},
			},
			"name_prefix": schema.StringAttribute{
				MarkdownDescription: "What the names of the processes begin with. All of the namespace by default.",
				Optional:            true,
			},
		},
	}
}

func (l *hostedProcessListResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	l.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (l *hostedProcessListResource) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var config hostedProcessListModel
	diags := req.Config.Get(ctx, &config)
	if !diags.HasError() && !l.platform.Ready() {
		diags.Append(l.platform.NotReady())
	}
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		ctx, cancel := context.WithTimeout(ctx, reference.DefaultReadTimeout)
		defer cancel()
		namespace, prefix := config.Namespace.ValueString(), config.NamePrefix.ValueString()
		rows, err := l.platform.GSE.List(ctx, namespace, l.platform.Supplier)
		unplaced := (*gse.UnplacedError)(nil)
		if err != nil && !errors.As(err, &unplaced) { // some hosts of a process would look like all of them
			push(list.ListResult{Diagnostics: diag.Diagnostics{diagnose.CallFailed("Unable to List Hosted Processes",
				"The processes of namespace \""+namespace+"\" could not be listed.", err)}})
			return
		}
		// Warnings come first, because nothing reads results beyond the limit.
		if err != nil && unplaced.MayHavePrefix(prefix) && !push(list.ListResult{Diagnostics: diag.Diagnostics{listedInPart(unplaced)}}) {
			return
		}
		processes := l.processes(rows, namespace, prefix)
		if req.Limit > 0 {
			processes = processes[:min(int(req.Limit), len(processes))]
		}
		if req.IncludeResource {
			if diags := readSpecs(ctx, l.platform, processes...); len(diags) > 0 && !push(list.ListResult{Diagnostics: diags}) {
				return
			}
		}
		for _, found := range processes {
			if !push(l.result(ctx, req, found)) {
				return
			}
		}
	}
}

// processes returns the processes of rows with their hosts, sorted by name.
func (l *hostedProcessListResource) processes(rows []gse.Row, namespace, prefix string) []*foundProcess {
	byName := make(map[string]*foundProcess)
	for _, row := range rows {
		if !strings.HasPrefix(row.Name, prefix) {
			continue
		}
		if byName[row.Name] == nil {
			byName[row.Name] = newFoundProcess(namespace, row.Name)
		}
		byName[row.Name].add(row, l.platform)
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *foundProcess) int { return strings.Compare(a.name, b.name) })
}

func (l *hostedProcessListResource) result(ctx context.Context, req list.ListRequest, found *foundProcess) list.ListResult {
	result := req.NewListResult(ctx)
	result.DisplayName = bkapi.Printable(found.id())
	result.Diagnostics.Append(result.Identity.Set(ctx, found.identity())...)
	if req.IncludeResource {
		result.Diagnostics.Append(found.write(ctx, result.Resource, l.platform)...)
	}
	return result
}
