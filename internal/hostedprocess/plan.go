package hostedprocess

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *hostedResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	plan, state := r.newModel(), r.newModel()
	switch {
	case req.Plan.Raw.IsNull() && req.State.Raw.IsNull():
		return // the object is gone already
	case req.Plan.Raw.IsNull():
		resp.Diagnostics.Append(r.planDestroy(ctx, req)...)
		return // there is nothing to compute
	}
	resp.Diagnostics.Append(reference.Get(ctx, tfsdk.State(req.Plan), plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	id := plan.Identifier(ctx)
	resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "id", id)...)
	whole, value := plan.setWhole(ctx) // is known without a platform
	resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, whole, value)...)
	resp.Diagnostics.Append(reference.CheckHosts(ctx, r.platform, plan)...)
	resp.Diagnostics.Append(reference.CheckRollout(plan.HostsMap(ctx), plan.lifecycle().Rollout)...)
	if resp.Diagnostics.HasError() {
		return
	}
	desired, known := r.planSent(ctx, plan, resp)
	settled, diags := reference.Settled(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	settled = settled && known
	if !settled {
		resp.Diagnostics.Append(reference.PlanUnsettled(ctx, &resp.Plan)...)
	}
	if req.State.Raw.IsNull() {
		// In a replacement Terraform (1.11) forgets what the schema marks as sensitive, and would print it. The
		// first of its two plans is given the state, and hands on the ledger, by which the second knows that it
		// is a replacement.
		if kept, _ := req.Private.GetKey(ctx, ledgerKey); len(kept) > 0 {
			resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, whole, types.StringUnknown())...)
		}
		resp.Diagnostics.Append(loadRefused(ctx, req.Private)...)
		resp.Diagnostics.Append(planRollout(ctx, created(ctx, plan), plan, types.StringNull(), settled, false, req, resp)...)
		return
	}

	resp.Diagnostics.Append(reference.Get(ctx, req.State, state)...)
	last := loadLedger(ctx, req.Private, state.lifecycle())
	if resp.Diagnostics.HasError() {
		return
	}
	if !state.HasSpec(ctx) {
		resp.Diagnostics.Append(keysRenamed(ctx, plan, state)...)
	}
	gone := destroyed(ctx, state, last)
	refused := gone.forbidden(ctx, state.lifecycle().Safety, plan.lifecycle().Safety)
	resp.Diagnostics.Append(saveRefused(ctx, req.Private, resp.Private, refused)...)
	if plan.replaces(ctx, state) {
		if resp.Diagnostics.Append(refused...); !refused.HasError() {
			resp.Diagnostics.Append(gone.replaced(created(ctx, plan))...)
		}
		return
	}
	r.planUpdate(ctx, req, resp, planned{plan, state, last, desired, known, settled})
}

// refusedKey is where a plan keeps why its object must not be replaced. With -replace Terraform plans twice:
// first as without it, and then without any state but private state. It prints only the errors of the second
// plan.
const refusedKey = "replace_refused"

// saveRefused saves the reasons.
func saveRefused(ctx context.Context, before reference.PrivateReader, to reference.PrivateWriter, refused diag.Diagnostics) diag.Diagnostics {
	reasons := make([][2]string, 0, len(refused))
	for _, d := range refused.Errors() {
		reasons = append(reasons, [2]string{d.Summary(), d.Detail()})
	}
	return reference.KeepPrivate(ctx, before, to, refusedKey, reasons, len(reasons) == 0)
}

// loadRefused returns the saved reasons as errors.
func loadRefused(ctx context.Context, from reference.PrivateReader) diag.Diagnostics {
	reasons, diags := reference.LoadPrivate[[][2]string](ctx, from, refusedKey)
	for _, reason := range reasons {
		diags.AddError(reason[0], reason[1])
	}
	return diags
}

// planned is a change of an object that stays.
type planned struct {
	plan, state    hostedModel
	last           ledger
	desired        fleet.Desired
	known, settled bool // whether desired is known, and whether every value of the configuration is
}

// planUpdate plans what an update does to hosts.
func (r *hostedResource) planUpdate(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse, p planned) {
	plan, state, last, desired, settled := p.plan, p.state, p.last, p.desired, p.settled
	changes := last.kept && p.known && !last.registeredAs(desired)
	does := r.updated(ctx, plan, state, last, changes)
	does.changed = append(does.changed, r.changedWithoutLedger(ctx, p, does)...)
	if r.platform.Ready() && plan.hasSuppliers(r.platform) {
		resp.Diagnostics.Append(checkSuppliers(plan.HostsMap(ctx), does.prior)...)
	}
	k := known{last, state.lifecycle().statuses(does.prior)}
	words := does.unnamed() // the apply asks again whether hosts are renamed, and may get another answer
	does, diags := r.withoutRenames(ctx, plan, does, k)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(does.owned(plan.lifecycle().AdoptExisting, k.statuses)...)
	if plan.HostsMap(ctx).IsFullyKnown() {
		resp.Diagnostics.Append(does.within(ctx, plan.lifecycle().Safety, raiseWithIt)...)
		resp.Diagnostics.Append(does.warnings(plan.lifecycle())...)
	}
	sameHosts := plan.HostsMap(ctx).SameAs(state.HostsMap(ctx))
	if settled {
		outOfSync, unreachable := r.planStatuses(ctx, plan, state, does, changes, last.kept || same(req.Plan.Raw, req.State.Raw, sameHosts))
		resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "out_of_sync", outOfSync)...)
		resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "unreachable", unreachable)...)
	}
	if !last.kept && (!does.callsNothing() || !same(req.Plan.Raw, req.State.Raw, sameHosts)) {
		words = words.comparing()
	}
	if operation := plan.lifecycle().operation(); operation != "" && p.known {
		words = words.operating(operation, r.remains(ctx, state, k, desired))
	}
	resp.Diagnostics.Append(planRollout(ctx, words, plan, state.lifecycle().RolloutPlan, settled, sameHosts, req, resp)...)
	resp.Diagnostics.Append(planOwner(ctx, state, sameHosts, req, resp)...)
	resp.Diagnostics.Append(hostedAgain(ctx, does, k.statuses, resp)...)
}

// changedWithoutLedger returns the hosts that stay, if the ledger is lost (the provider was killed, or the object
// was imported), state has a spec and the declaration differs from it. The update may change fewer hosts.
func (r *hostedResource) changedWithoutLedger(ctx context.Context, p planned, does effect) []fleet.Host {
	if p.last.kept || !p.known || !p.state.HasSpec(ctx) {
		return nil
	}
	prior, readable := r.prior(ctx, p.state, p.last)
	if !readable || p.last.orElse(prior.Desired, p.state.lifecycle().Fingerprint.ValueString()).registeredAs(p.desired) {
		return nil
	}
	return does.next.Pick(does.prior.Has)
}

// planOwner plans the owner of an import, which has none before its first update.
func planOwner(ctx context.Context, state hostedModel, sameHosts bool, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	if !state.lifecycle().Owner.IsNull() || same(resp.Plan.Raw, req.State.Raw, sameHosts) {
		return nil
	}
	return reference.SetPlanned(ctx, &resp.Plan, "owner", types.StringUnknown())
}

// planStatuses plans out_of_sync and unreachable. Terraform plans an update if a planned value differs from
// state, and unknown differs from anything. So out_of_sync is unknown if hosts are to be repaired, or if an
// update registers again, which may fail. Unreachable hosts cause no update as long as there are no more than
// allowed. If predicted is false, only the update can tell.
func (r *hostedResource) planStatuses(ctx context.Context, plan, state hostedModel, does effect, changes, predicted bool) (outOfSync, unreachable types.Map) {
	before, unknown := state.lifecycle(), types.MapUnknown(types.StringType)
	outOfSync, unreachable = before.OutOfSync, before.Unreachable
	if unreachable.IsNull() { // a state that was not refreshed may be older than this attribute
		unreachable = reference.StringMapValue(nil)
	}
	limit, away := reference.MaxUnreachableOf(r.platform, plan.lifecycle().MaxUnreachable, does.next.Len()).Hosts, len(unreachable.Elements())
	repairs := changes || len(outOfSync.Elements()) > 0 || away > limit // beyond the limit, unreachable hosts have failed
	if repairs {
		outOfSync = unknown
	}
	sameKeys := plan.HostsMap(ctx).SameAs(state.HostsMap(ctx))
	// The limit does not decide this: the provider block may have another one in the apply.
	if repairs || !predicted || !does.callsNothing() || away > 0 && !sameKeys {
		unreachable = unknown
	}
	return outOfSync, unreachable
}

// planRollout plans rollout_plan, which is unknown until everything else is known. before is the value in
// state, from the last change. It stays if nothing changes.
func planRollout(ctx context.Context, e effect, plan hostedModel, before types.String, known, sameHosts bool, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	const at = "rollout_plan"
	if !known {
		return reference.SetPlanned(ctx, &resp.Plan, at, types.StringUnknown())
	}
	if e.callsNothing() {
		diags := reference.SetPlanned(ctx, &resp.Plan, at, before)
		if !same(resp.Plan.Raw, req.State.Raw, sameHosts) {
			diags.Append(reference.SetPlanned(ctx, &resp.Plan, at, types.StringValue(diagnose.Again(callsNoHost, before.ValueString())))...)
		}
		return diags
	}
	rollout, diags := reference.Target{Hosts: e.next}.Rollout(ctx, plan.lifecycle().Rollout)
	diags.Append(reference.SetPlanned(ctx, &resp.Plan, at, types.StringValue(diagnose.Again(e.describe(rollout), before.ValueString())))...)
	return diags
}

// same reports whether a plan is what is in state. Their hosts are compared separately: each is one text, in
// any order.
func same(plan, state tftypes.Value, sameHosts bool) bool {
	var planned, stored map[string]tftypes.Value
	if plan.As(&planned) != nil || state.As(&stored) != nil {
		return false
	}
	return sameHosts && maps.EqualFunc(without(planned, "hosts"), without(stored, "hosts"), tftypes.Value.Equal)
}

// without returns a copy of a map without a key.
func without[V any](all map[string]V, key string) map[string]V {
	rest := maps.Clone(all)
	delete(rest, key)
	return rest
}

// callsNoHost is the rollout_plan of an apply that only changes state.
const callsNoHost = "calls no host"

// remains decides where the operation of on_update is due in an update to desired.
func (r *hostedResource) remains(ctx context.Context, state hostedModel, k known, desired fleet.Desired) remains {
	prior, readable := r.prior(ctx, state, k.last)
	if !readable {
		return remains{}
	}
	return remains{k, prior.Desired, desired.Spec}
}

// prior opens what was last applied, and reports whether that can be read. If it cannot, the update says why.
func (r *hostedResource) prior(ctx context.Context, state hostedModel, last ledger) (hostedProcess, bool) {
	var failed diag.Diagnostics
	h := r.openAs(ctx, state, last, &failed)
	return h, !failed.HasError()
}

// planDestroy refuses a destroy beyond the safety limits, and warns of one that no limit covers.
func (r *hostedResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest) diag.Diagnostics {
	state := r.newModel()
	diags := reference.Get(ctx, req.State, state)
	if diags.HasError() {
		return diags
	}
	gone, safety := destroyed(ctx, state, loadLedger(ctx, req.Private, state.lifecycle())), state.lifecycle().Safety
	return append(append(diags, gone.forbidden(ctx, safety)...), gone.unlimited(safety, r.destroyTitle(gone.id), limitDestroyed)...)
}

// namedDestroys is how many objects of one plan get a warning with their name in its summary.
const namedDestroys = 3

// destroyTitle returns the summary of the warning of a destroy. Of warnings with the same summary Terraform
// prints the first and counts the others. For each that it prints, it parses the file of the resource again:
// with 200 resources in one file, that took 20 times as long as the plan.
func (r *hostedResource) destroyTitle(id string) string {
	if r.platform != nil && r.platform.Owners != nil && r.platform.Owners.Destroys.Add(1) > namedDestroys {
		return noLimit
	}
	return noLimit + ": " + id
}

// withoutRenames returns the effect in which hosts that are renamed do not leave. It refuses renames that
// cannot be done.
func (r *hostedResource) withoutRenames(ctx context.Context, plan hostedModel, does effect, k known) (effect, diag.Diagnostics) {
	if !does.renames() || !plan.HostsMap(ctx).IsFullyKnown() || !r.platform.Ready() || !reference.DefinitionKnown(ctx, plan) {
		return does, nil
	}
	var diags diag.Diagnostics
	h := r.open(ctx, plan, k.last.owner, does.prior, &diags)
	if diags.HasError() {
		return does, diags
	}
	renamed, diags := h.renames(ctx, does.prior, k)
	does.leaves.hosts = leaving(does.leaves.hosts, renamed)
	return does, diags
}

// planSent plans the attributes that show what registering sends, so that a change of the provider block is a
// line of the plan. They are unknown as long as any part of it is.
func (r *hostedResource) planSent(ctx context.Context, plan hostedModel, resp *resource.ModifyPlanResponse) (fleet.Desired, bool) {
	var target reference.Target
	known := r.platform.Ready() && reference.DefinitionKnown(ctx, plan)
	if known {
		var diags diag.Diagnostics
		target, diags = plan.Open(ctx, r.platform, "")
		resp.Diagnostics.Append(diags...) // so that not only the apply reports it
		known = !diags.HasError()
	}
	if !known {
		resp.Diagnostics.Append(reference.PlanUnknown(ctx, &resp.Plan, "fingerprint", "labels_all")...)
		return fleet.Desired{}, false
	}
	for name, value := range plan.setSent(target.Desired) {
		resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, name, value)...)
	}
	return target.Desired, true
}

// keysRenamed warns of the first plan after an import, in which hosts with a new key look like hosts that
// leave.
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
	return diag.Diagnostics{diagnose.About(reference.HostsPath(), diag.NewWarningDiagnostic("Imported Hosts Get Other Keys", fmt.Sprintf(
		"%s: %s of an import have other keys in the configuration: %s. Each is a line that goes and a line that comes in this plan, but the host "+
			"stays, and a key that is renamed calls nothing. Of the %d hosts that were imported, %d leave. To import with keys, name them: "+
			"namespace:name@key=address,key=address.",
		plan.Identifier(ctx).ValueString(), diagnose.CountHosts(renamed, prior.Len()), example, prior.Len(), len(prior.Without(next)))))}
}
