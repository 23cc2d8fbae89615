package processoperation

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// baseResource is the life cycle of a resource that runs an operation, over either API.
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
	resp.Diagnostics.Append(config.Check(ctx, nil)...)
	resp.Diagnostics.Append(checkInputs(ctx, config, req.Config)...)
	resp.Diagnostics.Append(reference.CheckCommand(ctx, config, req.Config, config.values().OnDestroy)...)
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
		plan.values().recordRun(o, 0, nil)
		plan.values().record(o, nil)
		resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
		return
	}
	if resp.Diagnostics.Append(o.checkNames(ctx)...); resp.Diagnostics.HasError() {
		return
	}

	results := o.run(ctx, o.Hosts.Hosts(), nil)

	failures := results.Failures()
	if len(failures) == len(results) && !diagnose.InDoubt(failures) {
		resp.Diagnostics.Append(runFailed(o, len(results), failures, "Fix the cause and apply again. Nothing was saved, so the next apply runs on every host.", ""))
		return
	}
	plan.values().recordRun(o, 1, o.Hosts.Hosts())
	plan.values().record(o, failures)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	resp.Diagnostics.Append(saveRuns(ctx, resp.Private, 1)...)
	switch {
	case len(failures) == 0:
	case len(failures) == len(results) && !interrupted(failures):
		resp.Diagnostics.Append(nothingConfirmed(o, failures))
	default:
		resp.Diagnostics.Append(createdInPart(o, failures, reference.OnPartialCreate(plan.values().OnPartialCreate.ValueString())))
	}
}

// Read asks nothing: an operation is an event. bk_process_status reports how the process
// is now.
func (r *baseResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
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
	if resp.Diagnostics.Append(o.checkNames(ctx)...); resp.Diagnostics.HasError() {
		return
	}
	runs, diags := runsSoFar(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	number := runs + 1
	change := r.changeOf(ctx, plan, state)
	if err := change.findRenamed(ctx, o.Process); err != nil {
		resp.Diagnostics.Append(namesUnknown(o, err))
		return
	}

	hosts, unsure := change.due()
	results := o.run(ctx, hosts, unsure)

	failures := results.Failures()
	plan.values().recordRun(o, number, hosts)
	plan.values().record(o, failures)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	if len(hosts) > 0 {
		resp.Diagnostics.Append(saveRuns(ctx, resp.Private, number)...)
	}
	if len(failures) > 0 {
		resp.Diagnostics.Append(runFailed(o, len(results), failures, diagnose.RetriedAlone, o.applied()))
	}
}

func (r *baseResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := r.newModel()
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	if resp.Diagnostics.HasError() || state.values().OnDestroy.IsNull() {
		return
	}
	o := open(ctx, r.platform, state, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.values().Timeouts.Delete, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	o.name = fleet.Operation(state.values().OnDestroy.ValueString())

	// State may hold one machine by two names that nobody told apart when they came.
	twins, err := o.twins(ctx)
	if err != nil {
		resp.Diagnostics.Append(namesUnknown(o, err))
		return
	}
	results := o.run(ctx, slices.DeleteFunc(o.Hosts.Hosts(), func(host fleet.Host) bool { _, double := twins[host]; return double }), nil)
	for host, first := range twins {
		results[host] = results[first]
	}

	failures := results.Failures()
	if len(failures) == 0 {
		return
	}
	// Hosts that are done leave the state, so that the next destroy runs only on the
	// others.
	state.SetHosts(ctx, reference.NewHostMap(reference.Only(state.HostsMap(ctx).Known(), o.Hosts, failures)))
	state.values().FailedHosts = reference.StringMapValue(nil)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	resp.Diagnostics.Append(runFailed(o, len(results), failures, diagnose.DestroyedAlone, o.destroyed()))
}

// record writes what became of a run into the model.
func (m *resourceValues) record(o operation, failures fleet.Results) {
	m.ID = types.StringValue(o.ID)
	m.FailedHosts = reference.StringMapValue(diagnose.StatusesByKey(o.Hosts, diagnose.OperationStatuses(failures)))
}
