package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
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
	switch {
	case req.Plan.Raw.IsNull() && req.State.Raw.IsNull():
		return // the object is gone already
	case req.Plan.Raw.IsNull():
		resp.Diagnostics.Append(r.planDestroy(ctx, req)...)
		return // there is nothing to compute
	}
	p := planning{hostedResource: r, ModifyPlanResponse: resp, req: req, plan: r.newModel(), state: r.newModel()}
	p.Diagnostics.Append(reference.Get(ctx, tfsdk.State(req.Plan), p.plan)...)
	if p.Diagnostics.HasError() {
		return
	}
	p.set(ctx, "id", p.plan.Identifier(ctx))
	whole, value := p.plan.setWhole(ctx) // is known without a platform
	p.set(ctx, whole, value)
	p.Diagnostics.Append(reference.CheckHosts(ctx, r.platform, p.plan)...)
	p.Diagnostics.Append(reference.CheckRollout(p.plan.HostsMap(ctx), p.plan.lifecycle().Rollout)...)
	if p.Diagnostics.HasError() {
		return
	}
	p.desired, p.known = p.sent(ctx)
	settled, diags := reference.Settled(ctx, req.Config)
	p.Diagnostics.Append(diags...)
	if p.settled = settled && p.known; !p.settled {
		p.Diagnostics.Append(reference.PlanUnsettled(ctx, &p.Plan)...)
	}
	if req.State.Raw.IsNull() {
		p.create(ctx, whole)
		return
	}

	p.Diagnostics.Append(reference.Get(ctx, req.State, p.state)...)
	p.last = loadLedger(ctx, req.Private, p.state.lifecycle())
	if p.Diagnostics.HasError() {
		return
	}
	if !p.state.HasSpec(ctx) {
		p.Diagnostics.Append(keysRenamed(ctx, p.plan, p.state)...)
	}
	gone := destroyed(ctx, p.state, p.last)
	refused := gone.forbidden(ctx, p.state.lifecycle().Safety, p.plan.lifecycle().Safety)
	p.Diagnostics.Append(saveRefused(ctx, req.Private, resp.Private, refused)...)
	switch {
	case !p.plan.replaces(ctx, p.state):
		p.sameHosts = p.plan.HostsMap(ctx).SameAs(p.state.HostsMap(ctx))
		p.update(ctx)
	case refused.HasError():
		p.Diagnostics.Append(refused...)
	default:
		p.Diagnostics.Append(append(refused, gone.replaced(created(ctx, p.plan))...)...)
	}
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

// planning is one call of ModifyPlan for an object that comes or stays.
type planning struct {
	*hostedResource
	*resource.ModifyPlanResponse

	req            resource.ModifyPlanRequest
	plan, state    hostedModel // state is empty for an object that comes
	last           ledger
	desired        fleet.Desired
	known, settled bool // whether desired is known, and whether every value of the configuration is
	sameHosts      bool // whether plan and state have the same hosts, by the same keys
}

// set plans a value of an attribute.
func (p planning) set(ctx context.Context, name string, value attr.Value) {
	p.Diagnostics.Append(reference.SetPlanned(ctx, &p.Plan, name, value)...)
}

// create plans a create. whole is the attribute that hands the declaration on.
func (p planning) create(ctx context.Context, whole string) {
	// In a replacement Terraform (1.11) forgets what the schema marks as sensitive, and would print it. The
	// first of its two plans is given the state, and hands on the ledger, by which the second knows that it
	// is a replacement.
	if kept, _ := p.req.Private.GetKey(ctx, ledgerKey); len(kept) > 0 {
		p.set(ctx, whole, types.StringUnknown())
	}
	if p.plan.supplierID() != nil && p.platform.Ready() {
		p.set(ctx, "bk_supplier_id", supplierValue(p.platform.Supplier))
	}
	p.Diagnostics.Append(loadRefused(ctx, p.req.Private)...)
	p.rollout(ctx, created(ctx, p.plan))
}

// update plans what an update does to hosts.
func (p planning) update(ctx context.Context) {
	plan, state := p.plan.lifecycle(), p.state.lifecycle()
	changes := p.last.kept && p.known && !p.last.registeredAs(p.desired)
	does := p.updated(ctx, p.plan, p.state, p.last, changes)
	if changes || p.changesWithoutLedger(ctx) {
		does.changed = does.next.Pick(does.prior.Has)
	}
	if p.platform.Ready() && p.plan.supplierID() != nil {
		p.Diagnostics.Append(checkSuppliers(does.next, does.prior)...)
	}
	k := known{p.last, state.statuses(does.prior)}
	words := p.words(ctx, does, k)
	does = p.withoutRenames(ctx, does, k)
	p.Diagnostics.Append(does.owned(plan.AdoptExisting, k.statuses)...)
	if p.plan.HostsMap(ctx).IsFullyKnown() {
		p.Diagnostics.Append(does.within(ctx, plan.Safety, raiseWithIt)...)
		p.Diagnostics.Append(does.warnings(plan)...)
	}
	if p.settled {
		p.statuses(ctx, does, changes)
	}
	again := diagnose.IsAgain(p.rollout(ctx, words))
	if state.Owner.IsNull() && !p.same(p.Plan) { // an import has none before its first update
		p.set(ctx, "owner", types.StringUnknown())
	}
	if again {
		p.Diagnostics.Append(hostedAgain(does, k.statuses)...)
	}
}

// words returns the effect that rollout_plan describes. The apply asks again whether hosts are renamed, and may get another
// answer. Without a ledger it compares hosts first.
func (p planning) words(ctx context.Context, does effect, k known) effect {
	does = does.unnamed()
	if !p.last.kept && (!does.callsNothing() || !p.same(p.req.Plan)) {
		does = does.comparing()
	}
	if operation := p.plan.lifecycle().operation(); operation != "" && p.known {
		if prior, readable := p.prior(ctx); readable {
			does = does.operating(operation, remains{k, prior.Desired, p.desired.Spec})
		}
	}
	return does
}

// changesWithoutLedger reports whether hosts that stay may be registered anew, if the ledger is lost (the provider
// was killed, or the object was imported), state has a spec and the declaration differs from it. The update may
// change fewer hosts.
func (p planning) changesWithoutLedger(ctx context.Context) bool {
	if p.last.kept || !p.known || !p.state.HasSpec(ctx) {
		return false
	}
	prior, readable := p.prior(ctx)
	return readable && !p.last.orElse(prior.Desired, p.state.lifecycle().Fingerprint.ValueString()).registeredAs(p.desired)
}

// prior opens what was last applied, and reports whether that can be read. If it cannot, the update says why.
func (p planning) prior(ctx context.Context) (hostedProcess, bool) {
	var failed diag.Diagnostics
	h := p.openAs(ctx, p.state, p.last, &failed)
	return h, !failed.HasError()
}

// statuses plans out_of_sync and unreachable. Terraform plans an update if a planned value differs from
// state, and unknown differs from anything. So out_of_sync is unknown if hosts are to be repaired, or if an
// update registers again, which may fail. Unreachable hosts cause no update as long as there are no more than
// allowed. Without a ledger, only an update can tell.
func (p planning) statuses(ctx context.Context, does effect, changes bool) {
	before, unknown := p.state.lifecycle(), types.MapUnknown(types.StringType)
	outOfSync, unreachable := before.OutOfSync, before.Unreachable
	if unreachable.IsNull() { // a state that was not refreshed may be older than this attribute
		unreachable = reference.StringMapValue(nil)
	}
	limit, away := reference.MaxUnreachableOf(p.platform, p.plan.lifecycle().MaxUnreachable, does.next.Len()).Hosts, len(unreachable.Elements())
	repairs := changes || len(outOfSync.Elements()) > 0 || away > limit // beyond the limit, unreachable hosts have failed
	if repairs {
		outOfSync = unknown
	}
	predicted := p.last.kept || p.same(p.req.Plan)
	// The limit does not decide this: the provider block may have another one in the apply.
	if repairs || !predicted || !does.callsNothing() || away > 0 && !p.sameHosts {
		unreachable = unknown
	}
	p.set(ctx, "out_of_sync", outOfSync)
	p.set(ctx, "unreachable", unreachable)
}

// rollout plans rollout_plan, which is unknown until everything else is known, and returns it. It stays as the last
// change has set it if nothing changes.
func (p planning) rollout(ctx context.Context, e effect) string {
	const at = "rollout_plan"
	before, does := p.state.lifecycle().RolloutPlan, callsNoHost
	switch {
	case !p.settled:
		p.set(ctx, at, types.StringUnknown())
		return ""
	case !e.callsNothing():
		rollout, diags := reference.Target{Hosts: e.next}.Rollout(ctx, p.plan.lifecycle().Rollout)
		p.Diagnostics.Append(diags...)
		does = e.describe(rollout)
	default:
		if p.set(ctx, at, before); p.same(p.Plan) {
			return before.ValueString()
		}
	}
	text := diagnose.Again(does, before.ValueString())
	p.set(ctx, at, types.StringValue(text))
	return text
}

// same reports whether a plan is what is in state. Their hosts are compared separately: each is one text, in
// any order.
func (p planning) same(plan tfsdk.Plan) bool {
	var planned, stored map[string]tftypes.Value
	if !p.sameHosts || plan.Raw.As(&planned) != nil || p.req.State.Raw.As(&stored) != nil {
		return false
	}
	besides := maps.Clone(planned) // As returns the map that the value uses
	besides["hosts"] = stored["hosts"]
	return maps.EqualFunc(besides, stored, tftypes.Value.Equal)
}

// callsNoHost is the rollout_plan of an apply that only changes state.
const callsNoHost = "calls no host"

// destroys returns the effect of a destroy. Hosts that another object has registered in this run stay, as after
// create_before_destroy: Terraform plans the destroy of a deposed object once more in the apply.
func (r *hostedResource) destroys(ctx context.Context, state hostedModel, last ledger) effect {
	gone := destroyed(ctx, state, last)
	var failed diag.Diagnostics
	if h := r.openAs(ctx, state, last, &failed); !failed.HasError() {
		gone.leaves.hosts = h.notReplaced(gone.leaves.hosts)
	}
	return gone
}

// planDestroy refuses a destroy beyond the safety limits, and warns of one that no limit covers.
func (r *hostedResource) planDestroy(ctx context.Context, req resource.ModifyPlanRequest) diag.Diagnostics {
	state := r.newModel()
	diags := reference.Get(ctx, req.State, state)
	if diags.HasError() {
		return diags
	}
	gone, safety := r.destroys(ctx, state, loadLedger(ctx, req.Private, state.lifecycle())), state.lifecycle().Safety
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
func (p planning) withoutRenames(ctx context.Context, does effect, k known) effect {
	if !does.renames() || !p.plan.HostsMap(ctx).IsFullyKnown() || !p.platform.Ready() || !reference.DefinitionKnown(ctx, p.plan) {
		return does
	}
	var failed diag.Diagnostics
	h := p.open(ctx, p.plan, k.last.owner, &failed)
	if failed.HasError() {
		p.Diagnostics.Append(failed...)
		return does
	}
	renamed, refused := h.renames(ctx, does.prior, k)
	p.Diagnostics.Append(refused...)
	does.leaves.hosts = leaving(does.leaves.hosts, renamed)
	return does
}

// sent plans the attributes that show what registering sends, so that a change of the provider block is a
// line of the plan. They are unknown as long as any part of it is.
func (p planning) sent(ctx context.Context) (fleet.Desired, bool) {
	var target reference.Target
	known := p.platform.Ready() && reference.DefinitionKnown(ctx, p.plan)
	if known {
		var diags diag.Diagnostics
		target, diags = p.plan.Open(ctx, p.platform, "")
		p.Diagnostics.Append(diags...) // so that not only the apply reports it
		known = !diags.HasError()
	}
	if !known {
		p.Diagnostics.Append(reference.PlanUnknown(ctx, &p.Plan, "fingerprint", "labels_all")...)
		return fleet.Desired{}, false
	}
	for name, value := range p.plan.setSent(target.Desired) {
		p.set(ctx, name, value)
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
		if now := next.Key(host); next.Has(host) && now != key {
			renamed++
			example = cmp.Or(example, fmt.Sprintf("%q becomes %q", key, now))
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
