package hostedprocess

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// hostedResource is the life of a resource that keeps a process registered,
// whichever API it goes through.
type hostedResource struct {
	platform *platform.Platform
	newModel func() hostedModel
}

func (r *hostedResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (r *hostedResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	model := r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, model)...)
	plan := model.lifecycle()
	h := r.open(ctx, model, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, plan.Timeouts.Create, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	hosts := h.Hosts.Hosts()
	results := fleet.Reconcile(ctx, h.Process, h.Desired, fleet.Change{
		Register: hosts, Order: hosts, Adopt: func(fleet.Host) bool { return plan.AdoptExisting.ValueBool() }, Rollout: h.rollout,
	})

	failures := results.Failures()
	if !anyRegistered(results) {
		resp.State.RemoveResource(ctx)
		resp.Diagnostics.Append(createFailed(h, failures))
		return
	}
	identity, diags := model.resourceIdentity(ctx)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, identity)...)
	plan.ID = types.StringValue(h.ID)
	plan.OutOfSync = reference.StringMapValue(diagnose.ReasonsByKey(h.Hosts, diagnose.ReasonsBy(stateReason, failures)))
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	resp.Diagnostics.Append(saveApplied(ctx, resp.Private, appliedAs(h.Desired))...)
	if len(failures) > 0 {
		diagnostic := createPartial(h, failures, reference.OnPartialCreate(plan.OnPartialCreate.ValueString()))
		if nothingConfirmed(results) {
			diagnostic = createUnconfirmed(h, failures)
		}
		resp.Diagnostics.Append(diagnostic)
	}
}

func (r *hostedResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	model, before := r.newModel(), r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, model)...)
	resp.Diagnostics.Append(req.State.Get(ctx, before)...)
	plan, state := model.lifecycle(), before.lifecycle()
	last, everApplied, diags := loadApplied(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	h := r.open(ctx, model, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, plan.Timeouts.Update, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	// Hosts that leave are released as they were registered. Where that cannot be
	// read any more nothing is begun, or they would be forgotten.
	past := r.open(ctx, before, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	prior := past.Hosts
	if !everApplied && past.Desired.HasSpec {
		last, everApplied = appliedAs(past.Desired), true
	}

	was := diagnose.WithoutSupplier(diagnose.Reasons(reference.StringMap(state.OutOfSync), prior))
	change, found, err := h.change(ctx, hostedPast{
		hosts:      prior,
		outOfSync:  was,
		ensure:     fleet.Ensure(state.Ensure.ValueString()),
		applied:    last,
		hasApplied: everApplied,
		adopts:     plan.AdoptExisting.ValueBool(),
	})
	if err != nil {
		resp.Diagnostics.Append(diagnose.CallFailed("Unable to Update Hosted Process", h.Title+
			" was left as it is, because its status could not be read.", err))
		return
	}
	results := fleet.Reconcile(ctx, h.Process, h.Desired, change)
	for host := range found.unread {
		results[host] = fleet.Outcome{Verdict: fleet.Failed, Left: fleet.NotRegistered, Meaning: meaningUnread}
	}
	released := h.releaseRemoved(ctx, past, last, diagnose.Reasons(reference.StringMap(state.OutOfSync), prior), fleet.OnDestroy(plan.OnDestroy.ValueString()), results)

	failures, stuck := results.Failures(), released.Failures()
	identity, diags := model.resourceIdentity(ctx)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, identity)...)
	plan.ID = types.StringValue(h.ID)
	hosts := model.HostsMap()
	*hosts = withStuck(*hosts, *before.HostsMap(), prior, stuck)
	reasons := updateReasons(failures, was)
	maps.Copy(reasons, stuckReasons(stuck, was, !last.registeredAs(h.Desired)))
	left, _ := reference.InventoryOf(*hosts, r.platform.Supplier)
	plan.OutOfSync = reference.StringMapValue(diagnose.ReasonsByKey(left, reasons))
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	applied := appliedAs(h.Desired)
	applied.Earlier = last.earlier(h.Desired, reasons)
	resp.Diagnostics.Append(saveApplied(ctx, resp.Private, applied)...)
	if len(failures) > 0 {
		resp.Diagnostics.Append(updateFailed(h, len(results), failures))
	}
	if len(stuck) > 0 {
		resp.Diagnostics.Append(releaseFailed(h, prior, len(released), stuck, "leave the resource", diagnose.RetriedAlone))
	}
}

func (r *hostedResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	model := r.newModel()
	resp.Diagnostics.Append(req.State.Get(ctx, model)...)
	state := model.lifecycle()
	last, everApplied, diags := loadApplied(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	h := r.open(ctx, model, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.Timeouts.Delete, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	if !everApplied {
		last = appliedAs(h.Desired)
	}
	first := fleet.OnDestroy(state.OnDestroy.ValueString())
	if !h.Desired.HasSpec {
		first = fleet.DestroyUnregister // imported and never applied: nothing can be operated without a spec
	}
	results := h.release(ctx, h.Hosts.Hosts(), last, diagnose.Reasons(reference.StringMap(state.OutOfSync), h.Hosts), first, h.rollout)

	stuck := results.Failures()
	if len(stuck) == 0 {
		return
	}
	// Hosts that are done leave the state, so that the next destroy asks only for
	// the others.
	hosts := model.HostsMap()
	*hosts = reference.NewHostMap(reference.Only(hosts.Known(), h.Hosts, stuck))
	state.OutOfSync = reference.StringMapValue(reference.Only(reference.StringMap(state.OutOfSync), h.Hosts, stuck))
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	resp.Diagnostics.Append(releaseFailed(h, h.Hosts, len(results), stuck, "be destroyed", diagnose.DestroyedAlone))
}
