package hostedprocess

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *hostedResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return // a destroy needs no plan of ours
	}
	plan, state := r.newModel(), r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	id := plan.Identifier(ctx)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), id)...)
	whole, value := plan.setWhole(ctx) // needs no platform to be known
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(whole), value)...)
	resp.Diagnostics.Append(reference.CheckHosts(ctx, r.platform, plan)...)
	resp.Diagnostics.Append(reference.CheckRollout(plan.HostsMap(ctx), plan.lifecycle().Rollout)...)
	if resp.Diagnostics.HasError() {
		return
	}
	desired, known := r.planSent(ctx, plan, resp)
	if req.State.Raw.IsNull() {
		return
	}

	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	last, everApplied, diags := loadApplied(ctx, req.Private, state.lifecycle())
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !state.HasSpec(ctx) {
		resp.Diagnostics.Append(keysRenamed(ctx, plan, state)...)
	}
	// What is out of sync is mended by an update. Terraform plans one where a
	// planned value differs from state, and unknown differs from anything.
	outOfSync := state.lifecycle().OutOfSync
	switch {
	case len(outOfSync.Elements()) > 0:
		outOfSync = types.MapUnknown(types.StringType)
	case !r.platform.Ready() && !req.Plan.Raw.Equal(req.State.Raw):
		// What registering depends on in the provider block shows when the values
		// are there; a plan may not say something now that turns out otherwise.
		outOfSync = types.MapUnknown(types.StringType)
	case everApplied && known && !last.registeredAs(desired):
		// The update may find that a host cannot be registered anew.
		outOfSync = types.MapUnknown(types.StringType)
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("out_of_sync"), outOfSync)...)
}

// planSent plans the attributes that show what registering sends, so that a change of
// the provider block is a line of the plan. They are unknown while any part of it is.
func (r *hostedResource) planSent(ctx context.Context, plan hostedModel, resp *resource.ModifyPlanResponse) (fleet.Desired, bool) {
	unknown := map[string]any{}
	for name := range plan.sent() {
		unknown[name] = types.StringUnknown()
		if name == "labels_all" {
			unknown[name] = types.MapUnknown(types.StringType)
		}
	}
	var desired fleet.Desired
	known := r.platform.Ready() && reference.DefinitionKnown(ctx, plan)
	if known {
		target, diags := plan.Open(ctx, r.platform, "")
		known = !diags.HasError()
		desired = target.Desired
	}
	values := unknown
	if known {
		plan.setSent(desired)
		values = plan.sent()
	}
	for name, value := range values {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
	return desired, known
}

// keysRenamed warns of the first plan after an import, in which hosts that get another key
// look like hosts that leave.
func keysRenamed(ctx context.Context, plan, state hostedModel) diag.Diagnostics {
	next, _ := reference.InventoryOf(plan.HostsMap(ctx), 0)
	prior, _ := reference.InventoryOf(state.HostsMap(ctx), 0)
	renamed, example := 0, ""
	for key, host := range prior.All {
		now, stays := next.KeyOf(host.WithoutSupplier())
		if !stays || now == key {
			continue
		}
		if renamed++; example == "" {
			example = fmt.Sprintf("%q becomes %q", key, now)
		}
	}
	if renamed == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeWarningDiagnostic(reference.HostsPath(), "Imported Hosts Get Other Keys", fmt.Sprintf(
		"%s: %s of an import have other keys in the configuration: %s. Each is a line that goes and a line that comes in this plan, but the host "+
			"stays, and a key that is renamed calls nothing. Of the %d hosts that were imported, %d leave. To import with keys, name them: "+
			"namespace:name@key=address,key=address.",
		plan.Identifier(ctx).ValueString(), diagnose.CountHosts(renamed, prior.Len()), example, prior.Len(), len(prior.Without(next))))}
}
