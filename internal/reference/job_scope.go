package reference

import (
	"context"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/job"
)

// scopeType is a kind of scope in JOB.
type scopeType string

var scopeTypes = []scopeType{"biz", "biz_set"}

const scopeNote = "Changing this forces replacement, except when switching between `bk_biz_id` and a `scope` that names the same business."

// scopeMoves reports whether a plan changes the scope. A bk_biz_id and a scope may name the same business:
// JOB's documents changed from one form to the other.
func scopeMoves(ctx context.Context, plan tfsdk.Plan, state tfsdk.State) bool {
	var next, prior jobParts
	for _, from := range []struct {
		get func(context.Context, path.Path, any) diag.Diagnostics
		to  *jobParts
	}{{plan.GetAttribute, &next}, {state.GetAttribute, &prior}} {
		if from.get(ctx, path.Root("scope"), &from.to.scope).HasError() || from.get(ctx, path.Root("bk_biz_id"), &from.to.bizID).HasError() {
			return true
		}
	}
	if !Known(ctx, next.scope, next.bizID) {
		return true
	}
	_, nextName, _ := next.scopeToAPI(ctx)
	_, priorName, _ := prior.scopeToAPI(ctx)
	return nextName != priorName
}

func jobScopeAttribute(replaces bool) schema.SingleNestedAttribute {
	attribute := schema.SingleNestedAttribute{
		MarkdownDescription: "Resource scope that the hosts belong to. Set either this or `bk_biz_id`.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"type": schema.StringAttribute{
				MarkdownDescription: "Whether the scope is a business or a set of businesses. " + OneOf(scopeTypes),
				Required:            true,
				Validators:          []validator.String{stringvalidator.OneOf(AsStrings(scopeTypes)...)},
			},
			"id": schema.StringAttribute{
				MarkdownDescription: "ID of the business or business set.",
				Required:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
		},
	}
	if replaces {
		attribute.MarkdownDescription += " " + scopeNote
		attribute.PlanModifiers = []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(
			func(ctx context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
				resp.RequiresReplace = scopeMoves(ctx, req.Plan, req.State)
			}, scopeNote, scopeNote)}
	}
	return attribute
}

func jobBizIDAttribute(replaces bool) schema.Int64Attribute {
	attribute := schema.Int64Attribute{
		CustomType:          WholeNumber{},
		MarkdownDescription: "ID of the business that the hosts belong to, for older releases of JOB.",
		Optional:            true,
		Validators:          []validator.Int64{int64validator.AtLeast(1)},
	}
	if replaces {
		attribute.MarkdownDescription += " " + scopeNote
		attribute.PlanModifiers = []planmodifier.Int64{int64planmodifier.RequiresReplaceIf(
			func(ctx context.Context, req planmodifier.Int64Request, resp *int64planmodifier.RequiresReplaceIfFuncResponse) {
				resp.RequiresReplace = scopeMoves(ctx, req.Plan, req.State)
			}, scopeNote, scopeNote)}
	}
	return attribute
}

type jobScopeModel struct {
	Type types.String `tfsdk:"type"`
	ID   types.String `tfsdk:"id"`
}

// scopeToAPI also returns the name of the scope in ids and messages, such as "biz:2".
func (p jobParts) scopeToAPI(ctx context.Context) (scope job.Scope, name string, diags diag.Diagnostics) {
	if p.scope.IsNull() {
		return job.Scope{BizID: p.bizID.ValueInt64Pointer()}, "biz:" + strconv.FormatInt(p.bizID.ValueInt64(), 10), nil
	}
	var s jobScopeModel
	diags = As(ctx, p.scope, &s)
	return job.Scope{Type: s.Type.ValueString(), ID: s.ID.ValueString()}, s.Type.ValueString() + ":" + s.ID.ValueString(), diags
}
