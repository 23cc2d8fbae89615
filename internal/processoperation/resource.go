package processoperation

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

// runsKey is where private state keeps the number of runs.
const runsKey = "runs"

// baseResource implements the life cycle of a resource that runs an operation, over either API.
type baseResource struct {
	platform *platform.Platform
	newModel func() resourceModel
}

func (r *baseResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (r *baseResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config := r.newModel()
	resp.Diagnostics.Append(req.Config.Get(ctx, config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	entries, _ := config.Entries(ctx)
	for _, entry := range entries {
		resp.Diagnostics.Append(reference.CheckCommand(ctx, entry, req.Config, config.values().OnDestroy)...)
	}
	resp.Diagnostics.Append(checkInputs(ctx, config, req.Config)...)
	resp.Diagnostics.Append(reference.CheckEntries(ctx, entries)...)
}

func (r *baseResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan := r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	o := open(ctx, r.platform, plan, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, plan.values().Timeouts.Create, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	if !plan.values().runsOnCreate() {
		plan.values().recordRun(o, 0, make([]duty, len(o.members)))
		plan.values().record(o, nil, nil)
		resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
		return
	}
	if resp.Diagnostics.Append(o.checkRun(ctx)...); resp.Diagnostics.HasError() {
		return
	}

	due := everyHost(o.members)
	results := o.run(ctx, due)

	failures := results.failures()
	nowhere := failures.count() == results.count()
	if certainlyNot := nowhere && !failures.inDoubt() && !failures.leavesHosted(); certainlyNot {
		resp.Diagnostics.Append(runFailed(o, results, "Fix the cause and apply again. Nothing was saved, so the next apply runs on every host.", ""))
		return
	}
	failing, away := o.judge(failures, nil, nil)
	plan.values().recordRun(o, 1, due)
	plan.values().record(o, failing, away)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	resp.Diagnostics.Append(reference.SavePrivate(ctx, resp.Private, runsKey, 1)...)
	resp.Diagnostics.Append(saveDoubt(ctx, resp.Private, nil, newDoubt(o, due, results))...)
	switch unconfirmed := nowhere && !failures.interrupted() && !failures.worked(); {
	case failures.count() == 0:
	case unconfirmed:
		resp.Diagnostics.Append(nothingConfirmed(o, results, plan.values()))
	case failing.count() > 0:
		resp.Diagnostics.Append(createdInPart(o, results.but(away, o.members), plan.values()))
	}
	resp.Diagnostics.Append(away.warn(o, o.ranLater())...)
}

func (r *baseResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, state := r.newModel(), r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	o := open(ctx, r.platform, plan, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, plan.values().Timeouts.Update, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	if resp.Diagnostics.Append(o.checkRun(ctx)...); resp.Diagnostics.HasError() {
		return
	}
	runs, diags := reference.LoadPrivate[int](ctx, req.Private, runsKey)
	resp.Diagnostics.Append(diags...)
	number := runs + 1
	before, diags := loadDoubt(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	change := r.changeOf(ctx, plan, state)
	change.doubt = before.asDeclared(o.members)
	unclear, err := change.findRenamed(ctx, o.members)
	if err != nil {
		resp.Diagnostics.Append(namesUnknown(o, err))
		return
	}
	if len(unclear) > 0 {
		resp.Diagnostics.Append(namesNotSaid(o, unclear))
		return
	}

	due, was := change.due(), change.wasAway()
	unreached := was.unreached(o.members, due)
	o.rollout.Unreached = unreached.besides(machinesOf(o.members, due)).machines()
	results := o.run(ctx, due)

	failing, away := o.judge(results.failures(), unreached, was)
	plan.values().recordRun(o, number, due)
	plan.values().record(o, failing, away)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	if results.count() > 0 {
		resp.Diagnostics.Append(reference.SavePrivate(ctx, resp.Private, runsKey, number)...)
	}
	now := change.keptDoubt(unreached).with(newDoubt(o, due, results))
	resp.Diagnostics.Append(saveDoubt(ctx, resp.Private, before, now)...)
	resp.Diagnostics.Append(before.without(o.accountedFor(results, now, change.inState)).leftHosted()...)
	if failing.count() > 0 {
		resp.Diagnostics.Append(runFailed(o, results.with(failing).but(away, o.members), diagnose.RetriedAlone+o.raise(failing), o.applied()))
	}
	resp.Diagnostics.Append(away.warn(o, o.ranLater())...)
}

func (r *baseResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := r.newModel()
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	before, diags := loadDoubt(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	if state.values().OnDestroy.IsNull() {
		resp.Diagnostics.Append(before.leftHosted()...)
		return
	}
	ends := fleet.Operation(state.values().OnDestroy.ValueString())
	o := openFor(ctx, r.platform, state, ends, ends.Order(), &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.values().Timeouts.Delete, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	o.rollout.MaxUnreachable, o.maxUnreachable.Hosts = 0, 0 // no later apply would run it on unreachable hosts
	o.destroys = true

	// State may have a machine under two names, if that was unknown when they were added.
	duplicates, err := o.duplicates(ctx)
	if err != nil {
		resp.Diagnostics.Append(namesUnknown(o, err))
		return
	}
	if resp.Diagnostics.Append(o.checkApart(duplicates)...); resp.Diagnostics.HasError() {
		return
	}
	doubt, due := before.asDeclared(o.members), make([]duty, len(o.members))
	for i, m := range o.members {
		var hosts []fleet.Host
		for _, host := range m.Hosts.Hosts() {
			if _, double := duplicates[place{m.ID, host.WithoutSupplier()}]; !double {
				hosts = append(hosts, host)
			}
		}
		due[i] = doubt.dutyOfDestroy(o.name, m.ID, hosts)
	}
	results := o.run(ctx, due)
	o.addDuplicates(results, duplicates)

	failures := results.failures()
	now := doubt.without(o.done(results)).with(newDoubt(o, due, failures.mayHaveRun()))
	asInState := func(process string, host fleet.Host) place { return place{process, host.WithoutSupplier()} }
	resp.Diagnostics.Append(before.without(o.accountedFor(results, now, asInState)).leftHosted()...)
	if failures.count() == 0 {
		return
	}
	// Hosts on which it succeeded leave state, so that the next destroy runs only on the others.
	entries, _ := state.Entries(ctx)
	left := make(map[string]reference.HostMap)
	for i, m := range o.members {
		if len(failures[i]) > 0 {
			left[m.name] = reference.NewHostMap(reference.Only(maps.Collect(entries[i].HostsMap(ctx).Known()), m.Hosts, failures[i]))
		}
	}
	state.KeepHosts(ctx, left)
	state.values().recordDestroy(o, failures)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	resp.Diagnostics.Append(saveDoubt(ctx, resp.Private, before, now)...)
	resp.Diagnostics.Append(runFailed(o, results, diagnose.DestroyedAlone+givenUp, o.destroyed()))
}

// record writes the outcome of a run into the model.
func (m *resourceValues) record(o operation, failures outcome, away unreachable) {
	m.ID = types.StringValue(o.id())
	failed := make(map[string]string)
	for i, of := range failures {
		for key, status := range diagnose.StatusesByKey(o.members[i].Hosts, diagnose.OperationStatuses(of)) {
			failed[reference.HostKey(o.members[i].name, key)] = status
		}
	}
	m.FailedHosts = reference.StringMapValue(failed)
	m.Unreachable = reference.StringMapValue(away.byKey(o.members))
}

// recordDestroy writes what a destroy has not done into the model. If the user then keeps the resource, the
// operation runs where it was due before, and where on_destroy may have undone it.
func (m *resourceValues) recordDestroy(o operation, left outcome) {
	before := reference.StringMap(m.FailedHosts)
	m.record(o, left.mayHaveRun(), unreachableOf(o.members, reference.StringMap(m.Unreachable)).leftOf(o, left))
	failed := reference.StringMap(m.FailedHosts)
	for i, member := range o.members {
		for host := range left[i] {
			key := reference.HostKey(member.name, member.Hosts.Key(host))
			if status, was := before[key]; was && failed[key] == "" {
				failed[key] = status
			}
		}
	}
	m.FailedHosts = reference.StringMapValue(failed)
}

// addDuplicates adds the results of hosts that are a second name of another host of their process.
func (o operation) addDuplicates(results outcome, duplicates map[place]namedBefore) {
	for i, m := range o.members {
		for _, host := range m.Hosts.Hosts() {
			if first, double := duplicates[place{m.ID, host.WithoutSupplier()}]; double {
				results[i][host] = results[first.member][first.host]
			}
		}
	}
}
