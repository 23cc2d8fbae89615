package reference

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

// Settled reports whether a configuration has no unknown value. If it has one, Terraform plans again during
// the apply, and that plan must keep all known values of the first.
func Settled(ctx context.Context, config tfsdk.Config) (bool, diag.Diagnostics) {
	var hosts HostMap
	diags := config.GetAttribute(ctx, HostsPath(), &hosts) // config.Raw has hosts as one string, which is known
	return config.Raw.IsFullyKnown() && hosts.IsFullyKnown(), diags
}

// SetPlanned plans a value of an attribute at the top level. Plan.SetAttribute accepts any path, and for that
// copies the whole plan and looks up each attribute in it.
func SetPlanned(ctx context.Context, plan *tfsdk.Plan, name string, value attr.Value) diag.Diagnostics {
	raw, err := value.ToTerraformValue(ctx)
	var planned map[string]tftypes.Value
	if err = errors.Join(err, plan.Raw.As(&planned)); err != nil {
		return diag.Diagnostics{diagnose.Bug(err)}
	}
	if planned[name].Equal(raw) {
		return nil
	}
	attributes := maps.Clone(planned) // As returns the map that the value uses
	attributes[name] = raw
	if err := tftypes.ValidateValue(plan.Raw.Type(), attributes); err != nil {
		return diag.Diagnostics{diagnose.Bug(fmt.Errorf("planning %s: %w", name, err))}
	}
	plan.Raw = tftypes.NewValue(plan.Raw.Type(), attributes)
	return nil
}

// effects names the attributes that say what an apply does and how it ended. They may depend on any value of
// the configuration. Each of the other computed attributes depends on a few values.
var effects = []string{"failed_hosts", "out_of_sync", "rollout_plan", "unreachable"}

// PlanUnsettled makes the effects unknown in a plan that Terraform will make again.
func PlanUnsettled(ctx context.Context, plan *tfsdk.Plan) diag.Diagnostics {
	return PlanUnknown(ctx, plan, effects...)
}

// PlanUnknown makes attributes unknown. It leaves out those that the object does not have.
func PlanUnknown(ctx context.Context, plan *tfsdk.Plan, names ...string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, name := range names {
		attribute, has := plan.Schema.GetAttributes()[name]
		if !has {
			continue
		}
		typ := attribute.GetType()
		unknown, err := typ.ValueFromTerraform(ctx, tftypes.NewValue(typ.TerraformType(ctx), tftypes.UnknownValue))
		if err != nil {
			diags.Append(diagnose.Bug(err))
			continue
		}
		diags.Append(SetPlanned(ctx, plan, name, unknown)...)
	}
	return diags
}

// replaceIfUnknown is for an object with an attribute whose change forces replacement. The plan modifier of
// that attribute does not run while the whole object is unknown.
var replaceIfUnknown = []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(
	func(_ context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
		resp.RequiresReplace = req.PlanValue.IsUnknown()
	}, "This forces replacement while the whole object is unknown.", "")}
