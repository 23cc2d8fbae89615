package processoperation

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// operationResource is the life of a resource that runs an operation, whichever API it
// goes through.
type operationResource struct {
	platform *platform.Platform
	newModel func() operatedModel
}

func (r *operationResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (r *operationResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	config := r.newModel()
	resp.Diagnostics.Append(req.Config.Get(ctx, config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(config.Check(nil)...)
	resp.Diagnostics.Append(reference.CheckCommand(ctx, config, req.Config, config.run().Operation)...)
	resp.Diagnostics.Append(reference.CheckCommand(ctx, config, req.Config, config.run().OnDestroy)...)
}

func (r *operationResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return // a destroy needs no plan of ours
	}
	plan, state := r.newModel(), r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(reference.CheckHosts(r.platform, plan)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), plan.Identifier(ctx))...)
	if resp.Diagnostics.HasError() || req.State.Raw.IsNull() {
		return
	}

	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tasks, failed := types.ListUnknown(types.StringType), types.MapUnknown(types.StringType)
	if plan.HostsMap().IsFullyKnown() {
		due := r.due(plan, state)
		if len(due.hosts) == 0 {
			tasks = state.run().TaskIDs
		}
		if len(due.retried) == 0 {
			// A run that fails ends with an error, so what can be planned is success.
			failed = reference.StringMapValue(nil)
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("task_ids"), tasks)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("failed_hosts"), failed)...)
}

func (r *operationResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan := r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	o := r.open(ctx, plan, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, plan.run().Timeouts.Create, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	results := fleet.Run(ctx, o.Process, o.operation, o.Hosts.Hosts(), nil, o.rollout)

	failures := results.Failures()
	if len(failures) == len(results) && !anyInDoubt(failures) {
		resp.Diagnostics.Append(operationFailed(o, len(results), failures, "Mend the cause and apply again. Nothing was saved, so the next apply runs on every host."))
		return
	}
	plan.run().settle(o, results)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	if len(failures) > 0 {
		resp.Diagnostics.Append(operationPartial(o, failures, reference.OnPartialCreate(plan.run().OnPartialCreate.ValueString())))
	}
}

// Read asks nothing: an operation is an event, and how the process is now is
// what bk_process_status tells.
func (r *operationResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
}

func (r *operationResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, state := r.newModel(), r.newModel()
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	o := r.open(ctx, plan, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, plan.run().Timeouts.Update, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	due := r.due(plan, state)
	if len(due.hosts) == 0 {
		run := plan.run()
		run.ID, run.TaskIDs, run.FailedHosts = types.StringValue(o.ID), state.run().TaskIDs, reference.StringMapValue(nil)
		resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
		return
	}
	results := fleet.Run(ctx, o.Process, o.operation, due.hosts, due.unsure, o.rollout)

	plan.run().settle(o, results)
	resp.Diagnostics.Append(resp.State.Set(ctx, plan)...)
	if failures := results.Failures(); len(failures) > 0 {
		resp.Diagnostics.Append(operationFailed(o, len(results), failures, diagnose.RetriedAlone))
	}
}

func (r *operationResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := r.newModel()
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	if resp.Diagnostics.HasError() || state.run().OnDestroy.IsNull() {
		return
	}
	o := r.open(ctx, state, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.run().Timeouts.Delete, reference.DefaultChangeTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	o.operation = fleet.Operation(state.run().OnDestroy.ValueString())

	results := fleet.Run(ctx, o.Process, o.operation, o.Hosts.Hosts(), nil, o.rollout)

	failures := results.Failures()
	if len(failures) == 0 {
		return
	}
	// Hosts that are done leave the state, so that the next destroy asks only for
	// the others.
	hosts := state.HostsMap()
	*hosts = reference.NewHostMap(reference.Only(hosts.Known(), o.Hosts, failures))
	state.run().FailedHosts = reference.StringMapValue(nil)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	resp.Diagnostics.Append(operationFailed(o, len(results), failures, diagnose.DestroyedAlone))
}

// open converts a model for the clients, or says why it cannot.
func (r *operationResource) open(ctx context.Context, m operationModel, diags *diag.Diagnostics) processOperation {
	return openOperation(ctx, r.platform, m, diags)
}
