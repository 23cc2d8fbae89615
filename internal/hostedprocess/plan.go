package hostedprocess

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

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
	resp.Diagnostics.Append(reference.CheckHosts(r.platform, plan)...)
	if resp.Diagnostics.HasError() || req.State.Raw.IsNull() {
		return
	}

	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	last, everApplied, diags := loadApplied(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
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
	case everApplied && r.onlyProviderChanged(ctx, plan, state, last):
		outOfSync = types.MapUnknown(types.StringType)
		resp.Diagnostics.AddWarning("Labels Changed In The Provider Block",
			fmt.Sprintf("default_labels or spec_fingerprint_label is not what %s was registered with, so its %d hosts are registered again. "+
				"The plan shows it as a change of out_of_sync.", id.ValueString(), plan.HostsMap().Len()))
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("out_of_sync"), outOfSync)...)
}

// onlyProviderChanged tells whether registrations differ from the declaration
// although the resource's own definition did not change: no attribute of the
// resource would show that.
func (r *hostedResource) onlyProviderChanged(ctx context.Context, plan, state hostedModel, last applied) bool {
	if !r.platform.Ready() || !reference.SameDefinition(plan, state) {
		return false
	}
	o, diags := plan.Open(ctx, r.platform)
	return !diags.HasError() && !last.registeredAs(o.Desired)
}
