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
		pushed := int64(0)
		one := func(found *foundProcess) bool {
			pushed++
			return push(l.result(ctx, req, found)) && pushed != req.Limit
		}
		if !req.IncludeResource {
			pushTrouble(push, config, l.names(ctx, config, one))
			return
		}
		processes, err := l.whole(ctx, config)
		// Warnings come first, because nothing reads results beyond the limit.
		if !pushTrouble(push, config, err) {
			return
		}
		if req.Limit > 0 {
			processes = processes[:min(int(req.Limit), len(processes))]
		}
		diags := readSpecs(ctx, l.platform, processes...)
		for _, found := range processes {
			diags.Append(importEarlier(found)...)
		}
		if len(diags) > 0 && !push(list.ListResult{Diagnostics: diags}) {
			return
		}
		for _, found := range processes {
			if !one(found) {
				return
			}
		}
	}
}

// names yields each process at its first row, which has all that is needed. Pages beyond the limit are not
// read.
func (l *hostedProcessListResource) names(ctx context.Context, config hostedProcessListModel, yield func(*foundProcess) bool) error {
	seen := make(map[string]bool)
	return l.platform.GSE.Each(ctx, config.Namespace.ValueString(), l.platform.Supplier, func(row gse.Row) bool {
		if seen[row.Name] || !strings.HasPrefix(row.Name, config.NamePrefix.ValueString()) {
			return true
		}
		seen[row.Name] = true
		return yield(&foundProcess{namespace: config.Namespace.ValueString(), name: row.Name})
	})
}

// whole returns processes with their hosts, sorted by name. Any page may hold another host of any process, so
// all pages are read first. With a gse.UnplacedError it returns the processes whose hosts are known.
func (l *hostedProcessListResource) whole(ctx context.Context, config hostedProcessListModel) ([]*foundProcess, error) {
	byName := make(map[string]*foundProcess)
	err := l.platform.GSE.List(ctx, config.Namespace.ValueString(), l.platform.Supplier, func(row gse.Row) bool {
		if !strings.HasPrefix(row.Name, config.NamePrefix.ValueString()) {
			return true
		}
		found, known := byName[row.Name]
		if !known {
			found = newFoundProcess(config.Namespace.ValueString(), row.Name)
			byName[row.Name] = found
		}
		found.add(row, l.platform)
		return true
	})
	if unplaced := (*gse.UnplacedError)(nil); err != nil && !errors.As(err, &unplaced) {
		return nil, err // some hosts of a process would look like all of them
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *foundProcess) int { return strings.Compare(a.name, b.name) }), err
}

// pushTrouble pushes a diagnostic if a list failed or lacks rows, and reports whether to go on.
func pushTrouble(push func(list.ListResult) bool, config hostedProcessListModel, err error) bool {
	var unplaced *gse.UnplacedError
	switch {
	case err == nil:
		return true
	case !errors.As(err, &unplaced):
		push(list.ListResult{Diagnostics: diag.Diagnostics{diagnose.CallFailed("Unable to List Hosted Processes",
			"The processes of namespace \""+config.Namespace.ValueString()+"\" could not be listed.", err)}})
		return false
	case !unplaced.MayHavePrefix(config.NamePrefix.ValueString()):
		return true
	default:
		return push(list.ListResult{Diagnostics: diag.Diagnostics{listedInPart(unplaced)}})
	}
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
