package inventory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/datasourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/expression"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// scopeModel selects hosts of a business.
type scopeModel struct {
	BizID           types.Int64    `tfsdk:"bk_biz_id"`
	Topology        *topologyModel `tfsdk:"topology"`
	DynamicGroup    types.String   `tfsdk:"dynamic_group"`
	ServiceTemplate types.String   `tfsdk:"service_template"`
	HostIDs         []int64        `tfsdk:"bk_host_ids"`
}

type topologyModel struct {
	Env    types.String `tfsdk:"env"`
	Set    types.String `tfsdk:"set"`
	Module types.String `tfsdk:"module"`
}

// environments are CMDB's bk_set_env.
var environments = []string{"1", "2", "3"}

// scopeAttributes declares the attributes of scopeModel.
func scopeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"bk_biz_id": schema.Int64Attribute{
			CustomType:          reference.WholeNumber{},
			MarkdownDescription: "ID of the business in CMDB.",
			Required:            true,
			Validators:          []validator.Int64{int64validator.AtLeast(1)},
		},
		"topology": schema.SingleNestedAttribute{
			MarkdownDescription: "Hosts by the names of their sets and modules, as [expressions of GSEKit](../functions/match.md). What is left out means all, apart from idle, faulty and recycled hosts. " +
				"An expression that matches nothing is an error. One of `topology`, `dynamic_group`, `service_template` and `bk_host_ids` is required.",
			Optional: true,
			Attributes: map[string]schema.Attribute{
				"env": schema.StringAttribute{
					MarkdownDescription: "Environment of the sets: `\"1\"` test, `\"2\"` experience, `\"3\"` production.",
					Optional:            true,
					Validators:          []validator.String{stringvalidator.OneOf(environments...)},
				},
				"set":    expressionAttribute("Expression for the names of sets."),
				"module": expressionAttribute("Expression for the names of modules."),
			},
		},
		"dynamic_group": schema.StringAttribute{
			MarkdownDescription: "Hosts that a dynamic group finds, or those of the sets that it finds. Its ID, or its name if only one has it.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"service_template": schema.StringAttribute{
			MarkdownDescription: "Hosts in modules that were made from a service template. Its ID, or its name if only one has it.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		},
		"bk_host_ids": schema.ListAttribute{
			MarkdownDescription: "Hosts by their IDs in CMDB. One that the business does not have is an error.",
			ElementType:         reference.WholeNumber{},
			Optional:            true,
			Validators: []validator.List{
				reference.NoNulls{}, listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), listvalidator.ValueInt64sAre(int64validator.AtLeast(1)),
			},
		},
	}
}

// oneScope requires one way to name hosts.
func oneScope() datasource.ConfigValidator {
	return datasourcevalidator.ExactlyOneOf(
		path.MatchRoot("topology"), path.MatchRoot("dynamic_group"), path.MatchRoot("service_template"), path.MatchRoot("bk_host_ids"))
}

// scope returns the request to CMDB. All values are known and have been checked.
func (m *scopeModel) scope() (cmdb.Scope, error) {
	scope := cmdb.Scope{
		Business: m.BizID.ValueInt64(), Group: m.DynamicGroup.ValueString(), Template: m.ServiceTemplate.ValueString(), HostIDs: m.HostIDs,
	}
	if m.Topology == nil {
		return scope, nil
	}
	set, err := parseExpression(m.Topology.Set)
	if err != nil {
		return scope, err
	}
	module, err := parseExpression(m.Topology.Module)
	scope.Topology = &cmdb.Topology{Environment: m.Topology.Env.ValueString(), Set: set, Module: module}
	return scope, err
}

// parseExpression returns nil if text is null.
func parseExpression(text types.String) (*expression.Expression, error) {
	if text.IsNull() {
		return nil, nil //nolint:nilnil // nothing was asked for
	}
	return expression.Parse(text.ValueString())
}

func expressionAttribute(description string) schema.StringAttribute {
	return schema.StringAttribute{MarkdownDescription: description, Optional: true, Validators: []validator.String{expressionValidator{}}}
}

// expressionValidator accepts what expression.Parse accepts, except an empty expression, which matches no name.
type expressionValidator struct{}

func (expressionValidator) Description(context.Context) string {
	return "must be an expression: " + expression.Forms
}

func (v expressionValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (expressionValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	switch text := req.ConfigValue; {
	case text.IsNull(), text.IsUnknown():
	case text.ValueString() == "":
		reference.AddInvalid(&resp.Diagnostics, req.Path, summaryInvalidExpression, "an empty expression matches no name. For all, leave it out")
	default:
		if _, err := parseExpression(text); err != nil {
			reference.AddInvalid(&resp.Diagnostics, req.Path, summaryInvalidExpression, err.Error())
		}
	}
}

// filterModel selects among the hosts in scope.
type filterModel struct {
	OSType   types.String `tfsdk:"os_type"`
	CloudID  types.Int64  `tfsdk:"bk_cloud_id"`
	HostName types.String `tfsdk:"host_name"`
}

// systems are the names of CMDB's bk_os_type.
var systems = map[string]string{"linux": "1", "windows": "2", "aix": "3", "darwin": "8"}

func filterAttribute() schema.Attribute {
	names := slices.Sorted(maps.Keys(systems))
	return schema.SingleNestedAttribute{
		MarkdownDescription: "Leaves out hosts that are in scope. A host for which CMDB has no such field is left out as well.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"os_type": schema.StringAttribute{
				MarkdownDescription: "Operating system (`bk_os_type`). One of `" + strings.Join(names, "`, `") + "`.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf(names...)},
			},
			"bk_cloud_id": schema.Int64Attribute{
				CustomType:          reference.WholeNumber{},
				MarkdownDescription: "ID of the cloud area.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AtLeast(0)},
			},
			"host_name": expressionAttribute("Expression for the names of hosts (`bk_host_name`)."),
		},
	}
}

// hosts returns the hosts that match the filter. It is applied here and not by CMDB, which ignores values that
// it does not know.
func (f *filterModel) hosts(all []cmdb.Host) ([]cmdb.Host, error) {
	if f == nil {
		return all, nil
	}
	names, err := parseExpression(f.HostName)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(h cmdb.Host) bool {
		switch {
		case !f.OSType.IsNull() && h.OS != systems[f.OSType.ValueString()]:
		case !f.CloudID.IsNull() && (h.CloudID == nil || *h.CloudID != f.CloudID.ValueInt64()):
		case names != nil && !names.Match(h.Name):
		default:
			return false
		}
		return true
	}), nil
}
