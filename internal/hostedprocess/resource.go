package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// hostedResource is the life cycle of a resource that keeps a process registered, through either API.
type hostedResource struct {
	platform *platform.Platform
	newModel func() hostedModel
}

func (r *hostedResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (r *hostedResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	model := r.newModel()
	resp.Diagnostics.Append(reference.Get(ctx, tfsdk.State(req.Plan), model)...)
	plan := model.lifecycle()
	plan.Owner = types.StringValue(newOwner())
	if id := model.supplierID(); id != nil {
		*id = supplierValue(r.supplier(model))
	}
	h := r.open(ctx, model, plan.Owner.ValueString(), &resp.Diagnostics)
	resp.Diagnostics.Append(model.Check(ctx, r.platform)...) // the plan may not have known the provider's settings
	ctx, cancel := reference.WithDeadline(ctx, plan.Timeouts.Create, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	h.announce(h.Hosts.Hosts(), nil, known{})
	saved := false
	defer func() {
		if !saved { // state does not keep the hosts
			h.object.Withdraw()
		}
	}()
	defer h.hold(ctx, fleet.Inventory{}, &resp.Diagnostics, "Unable to Register Hosted Process", "not registered")()
	h.checkNames(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}

	if plan.RolloutPlan.IsUnknown() {
		plan.RolloutPlan = types.StringValue(created(ctx, model).describe(h.rollout))
	}
	hosts := h.Hosts.Hosts()
	operation := plan.operation()
	change := fleet.Change{Register: hosts, Order: hosts, Adopt: plan.AdoptExisting.ValueBool(), Rollout: h.rollout}
	reconciliation, results := h.reconcile(ctx, "register", change.FindAlike(ctx, h.Process, h.Desired))

	if !results.Any(mayBeRegistered) {
		h.doubt(ctx, results)
	}
	failures := results.Failures()
	if !results.Any(mayBeRegistered) {
		resp.State.RemoveResource(ctx)
		resp.Diagnostics.Append(createFailed(h, failures))
		return
	}
	saved = true
	resp.Diagnostics.Append(saveIdentity(ctx, resp.Identity, model)...)
	plan.ID = types.StringValue(h.ID)
	model.setSent(h.Desired)
	model.setWhole(ctx)
	statuses := h.statusesOf(failures, nil)
	plan.setStatuses(h.Hosts, h.within(statuses))
	resp.Diagnostics.Append(reference.Set(ctx, &resp.State, model)...)
	u := update{h: h, operation: operation, outcome: outcome{failures: failures, found: reconciliation.Found()}}
	resp.Diagnostics.Append(u.ledger(h.Hosts).save(ctx, resp.Private)...)
	resp.Diagnostics.Append(h.takenOver(results, u.found.Taken, nil)...)
	failing, warning := h.judge(failures, statuses)
	switch {
	case len(failures) == len(results) && !u.found.TookOver:
		resp.Diagnostics.Append(createNowhere(h, failures))
	case len(failing) > 0:
		resp.Diagnostics.Append(warning...)
		resp.Diagnostics.Append(createPartial(h, failing, reference.OnPartialCreate(plan.OnPartialCreate.ValueString()), h.raise(statuses)))
	default:
		resp.Diagnostics.Append(warning...)
	}
}

func (r *hostedResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	model, before := r.newModel(), r.newModel()
	resp.Diagnostics.Append(reference.Get(ctx, tfsdk.State(req.Plan), model)...)
	resp.Diagnostics.Append(reference.Get(ctx, req.State, before)...)
	plan := model.lifecycle()
	last := loadLedger(ctx, req.Private, before.lifecycle())
	if !last.kept {
		last.object = newOwner()
	}
	owner := cmp.Or(last.owner, newOwner())
	plan.Owner = types.StringValue(owner)
	// Hosts that leave are unregistered by their previous declaration. If it can no longer be read, nothing is
	// begun: those hosts would be forgotten.
	prior := r.openAs(ctx, before, last, &resp.Diagnostics)
	h := r.open(ctx, model, owner, &resp.Diagnostics)
	h.object.ID = prior.object.ID
	resp.Diagnostics.Append(model.Check(ctx, r.platform)...)
	ctx, cancel := reference.WithDeadline(ctx, plan.Timeouts.Update, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	last = last.orElse(prior.Desired, prior.Desired.Fingerprint)
	h.rollout.Silent = loadSilent(ctx, req.Private)
	if !prior.Desired.HasSpec { // imported and never applied: its hosts are unregistered by what is declared now
		prior.Process = h.Process
	}
	statuses := h.within(before.lifecycle().statuses(prior.Hosts))
	u := update{
		h: h, prior: prior,
		want:      wantedOf(before.lifecycle(), plan, last.kept && !last.registeredAs(h.Desired)),
		known:     known{last, statuses},
		leave:     plan.leave(),
		operation: plan.operation(),
	}
	if err := u.run(ctx, &resp.Diagnostics); err != nil {
		resp.Diagnostics.Append(diagnose.CallFailed("Unable to Update Hosted Process", h.Title+
			" was left as it is, because its status could not be read.", err))
	}
	if resp.Diagnostics.HasError() {
		h.object.Withdraw()
		return
	}
	if u.back != nil {
		resp.Diagnostics.Append(u.saveRolledBack(ctx, model, before, resp)...)
		return
	}

	resp.Diagnostics.Append(saveIdentity(ctx, resp.Identity, model)...)
	plan.ID = types.StringValue(h.ID)
	if plan.RolloutPlan.IsUnknown() {
		plan.RolloutPlan = types.StringNull() // not reached: the last plan before an apply knows everything
	}
	model.setSent(h.Desired)
	model.SetHosts(ctx, u.withStuck(model.HostsMap(ctx), before.HostsMap(ctx)))
	model.setWhole(ctx)
	statuses = u.statusesAfter()
	left, _ := reference.InventoryOf(model.HostsMap(ctx), h.platform.Supplier)
	plan.setStatuses(left, h.within(statuses))
	resp.Diagnostics.Append(reference.Set(ctx, &resp.State, model)...)
	resp.Diagnostics.Append(u.ledger(left).save(ctx, resp.Private)...)
	resp.Diagnostics.Append(u.diagnostics(statuses)...)
}

func (r *hostedResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	model := r.newModel()
	resp.Diagnostics.Append(reference.Get(ctx, req.State, model)...)
	state := model.lifecycle()
	last := loadLedger(ctx, req.Private, state)
	// Terraform does not show the provider a plan of the destroy of a tainted object.
	resp.Diagnostics.Append(r.destroys(ctx, model, last).forbidden(ctx, state.Safety)...)
	h := r.openAs(ctx, model, last, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.Timeouts.Delete, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	last = last.orElse(h.Desired, state.Fingerprint.ValueString())
	k, l := known{last, state.statuses(h.Hosts)}, state.leave()
	if !h.Desired.HasSpec {
		l.first = fleet.DestroyUnregister // imported and never applied: no operation works without a spec
	}
	h.announce(nil, h.Hosts.Hosts(), k)
	defer h.hold(ctx, fleet.Inventory{}, &resp.Diagnostics, "Unable to Unregister Hosted Process", "not unregistered")()
	if resp.Diagnostics.HasError() {
		return
	}

	h.rollout.Silent = loadSilent(ctx, req.Private)
	gone := h.departure(k, l)
	gone.release(ctx, h.Hosts.Hosts(), h.rollout)

	resp.Diagnostics.Append(gone.warnings()...)
	stuck := gone.results.Failures()
	if len(stuck) == 0 {
		return
	}
	// Hosts that were unregistered leave state, so that the next destroy is about the others alone.
	model.SetHosts(ctx, reference.NewHostMap(reference.Only(maps.Collect(model.HostsMap(ctx).Known()), h.Hosts, stuck)))
	state.OutOfSync = reference.StringMapValue(reference.Only(reference.StringMap(state.OutOfSync), h.Hosts, stuck))
	state.Unreachable = reference.StringMapValue(reference.Only(reference.StringMap(state.Unreachable), h.Hosts, stuck))
	resp.Diagnostics.Append(reference.Set(ctx, &resp.State, model)...)
	if last.kept {
		resp.Diagnostics.Append(last.leaving(gone.begun).save(ctx, resp.Private)...)
	}
	resp.Diagnostics.Append(gone.failed("be destroyed", diagnose.DestroyedAlone, goneDestroyed))
}

// reconcile brings hosts to what is declared, and notes which of them this object has registered.
func (h hostedProcess) reconcile(ctx context.Context, operation string, change fleet.Change) (*fleet.Reconciliation, fleet.Results) {
	var reconciliation *fleet.Reconciliation
	logged := platform.Run{Process: h.ID, Operation: operation, Keys: h.Hosts, Rollout: change.Rollout}
	results := h.platform.Logged(ctx, logged, change.Hosts(), func(ctx context.Context, rollout fleet.Rollout) fleet.Results {
		change.Rollout = rollout
		reconciliation = fleet.NewReconciliation(h.Process, h.Desired, h.moving(change))
		return reconciliation.Run(ctx)
	})
	h.object.Registered(fleet.Where(change.Hosts(), func(host fleet.Host) bool {
		o, tried := results[host]
		return tried && isRegistered(o)
	}))
	return reconciliation, results
}

// checkNames refuses two names of one machine, unless there is an error already.
func (h hostedProcess) checkNames(ctx context.Context, diags *diag.Diagnostics) {
	hosts := h.Hosts.Hosts()
	if diags.HasError() || len(fleet.OtherForm(hosts, hosts)) == 0 {
		return
	}
	others, err := h.Process.OtherNames(ctx, hosts)
	if err != nil {
		diags.Append(diagnose.CallFailed("Unable to Tell Hosts Apart", h.Title+
			" was left as it is, because some of its hosts are named by agent id and some by address, and whether two of them are one machine could not be asked.", err))
		return
	}
	for key, host := range h.Hosts.All {
		if twin, found := h.Hosts.Find(others[host]); found && host.AgentID() != "" {
			reference.AddInvalid(diags, reference.HostsPath().AtMapKey(key), diagnose.SummaryInvalidHost,
				fmt.Sprintf("%q is the agent id of the host under key %q; name each machine once", host.AgentID(), h.Hosts.Key(twin)))
		}
	}
}

// saveIdentity saves the identity of model. It does nothing for a resource without one.
func saveIdentity(ctx context.Context, to *tfsdk.ResourceIdentity, model hostedModel) diag.Diagnostics {
	identity, diags := model.resourceIdentity(ctx)
	if to == nil || identity == nil {
		return diags
	}
	return append(diags, to.Set(ctx, identity)...)
}

// doubt asks the agents of hosts on which registering was refused. If an agent has the process all the same, or
// could not be asked, registering may have taken effect. If it does not answer, the refusal counts.
func (h hostedProcess) doubt(ctx context.Context, results fleet.Results) {
	refused := h.Hosts.Pick(func(host fleet.Host) bool {
		o := results[host]
		return o.Verdict == fleet.Failed && o.Err == nil && o.Left == fleet.NotRegistered && !o.AlreadyDone && !o.Unread
	})
	if len(refused) == 0 {
		return
	}
	live, err := fleet.LiveStatusWithin(ctx, h.Process, fleet.Aftermath, refused)
	for _, host := range refused {
		o := results[host]
		switch s := live[host]; {
		case err != nil, !s.Asked():
			o.Verdict, o.Meaning = fleet.Lost, "refused, and whether its agent has the process all the same could not be asked"
		case s.Hosted, s.RegisterTime > 0:
			o.Verdict, o.Meaning = fleet.Lost, "refused, and its agent has the process all the same"
		}
		results[host] = o
	}
}

// mayBeRegistered reports whether a create left something on a host that state must remember: it is or may be
// registered.
func mayBeRegistered(o fleet.Outcome) bool {
	return o.OK() || (o.Left != fleet.NotRegistered && o.Left != fleet.RegisteredByOther) || o.Verdict == fleet.Pending || o.Verdict == fleet.Lost
}

// unconfirmed reports whether a host that is not known to be registered may be.
func unconfirmed(o fleet.Outcome) bool {
	return o.Left == fleet.NotRegistered && (o.Unread || o.Verdict == fleet.Pending || o.Verdict == fleet.Lost)
}

// statusesOf returns what state says of failures: what is left to do, by which the next update chooses its
// call, and why the last attempt failed. was is what state said before.
func (h hostedProcess) statusesOf(failures fleet.Results, was map[fleet.HostID]diagnose.HostStatus) map[fleet.HostID]diagnose.HostStatus {
	statuses := make(map[fleet.HostID]diagnose.HostStatus, len(failures))
	for host, o := range failures {
		said := o
		said.Unread = h.readLater(o)
		id, status := host.WithoutSupplier(), diagnose.LeftStatus(o.Left, said)
		// A failure to register does not show what became of an earlier request.
		uncertain := was[id].Code == fleet.Unconfirmed && (o.Left == fleet.NotRegistered || o.Left == fleet.NoLongerRegistered)
		down := o.Left == fleet.NotHosted || o.Left == fleet.NotRunning
		switch {
		case uncertain, unconfirmed(o):
			status.Code = fleet.Unconfirmed
		case down && was[id].Code == fleet.Unhealthy: // until it passes its gate
			status.Code = fleet.Unhealthy
		}
		statuses[id] = status
	}
	for host := range failures.Away() {
		id := host.WithoutSupplier()
		if was[id].Code == fleet.Unconfirmed { // the host is as uncertain as before
			statuses[id] = diagnose.HostStatus{Code: was[id].Code, Text: statuses[id].Text}
			continue
		}
		statuses[id] = diagnose.Unanswered(h.platform.Clock.Now(), statuses[id].Code, failures[host], was[id])
	}
	return statuses
}
