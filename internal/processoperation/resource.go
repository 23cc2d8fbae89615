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

// operatedResource is the life of a resource that runs an operation, whichever
// API it goes through: M is its model.
type operatedResource[M any, P interface {
	*M
	operatedModel
}] struct{ platform *platform.Platform }

func (r *operatedResource[M, P]) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.platform = platform.From(req.ProviderData, &resp.Diagnostics)
}

func (r *operatedResource[M, P]) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var model M
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	config := P(&model)
	resp.Diagnostics.Append(config.Check(nil)...)
	resp.Diagnostics.Append(reference.CheckCommand(ctx, config, req.Config, config.run().Operation)...)
	resp.Diagnostics.Append(reference.CheckCommand(ctx, config, req.Config, config.run().OnDestroy)...)
}

func (r *operatedResource[M, P]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return // a destroy needs no plan of ours
	}
	var model, was M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan := P(&model)
	resp.Diagnostics.Append(reference.CheckHosts(r.platform, plan)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("id"), plan.Identifier(ctx))...)
	if resp.Diagnostics.HasError() || req.State.Raw.IsNull() {
		return
	}

	resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tasks, failed := types.ListUnknown(types.StringType), types.MapUnknown(types.StringType)
	if plan.HostsMap().IsFullyKnown() {
		due := r.due(plan, &was)
		if len(due.hosts) == 0 {
			tasks = P(&was).run().TaskIDs
		}
		if len(due.retried) == 0 {
			// A run that fails ends with an error, so what can be planned is success.
			failed = reference.StringMapValue(nil)
		}
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("task_ids"), tasks)...)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("failed_hosts"), failed)...)
}

func (r *operatedResource[M, P]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var model M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &model)...)
	plan := P(&model).run()
	o, ctx, cancel := r.begin(ctx, &model, plan.Timeouts.Create, &resp.Diagnostics)
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
	plan.settle(o, results)
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	if len(failures) > 0 {
		resp.Diagnostics.Append(operationPartial(o, failures, reference.OnPartialCreate(plan.OnPartialCreate.ValueString())))
	}
}

// Read asks nothing: an operation is an event, and how the process is now is
// what bk_process_status tells.
func (r *operatedResource[M, P]) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
}

func (r *operatedResource[M, P]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var model, was M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &model)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &was)...)
	plan := P(&model).run()
	o, ctx, cancel := r.begin(ctx, &model, plan.Timeouts.Update, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}

	due := r.due(&model, &was)
	if len(due.hosts) == 0 {
		plan.ID, plan.TaskIDs, plan.FailedHosts = types.StringValue(o.ID), P(&was).run().TaskIDs, reference.StringMapValue(nil)
		resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
		return
	}
	results := fleet.Run(ctx, o.Process, o.operation, due.hosts, due.unsure, o.rollout)

	plan.settle(o, results)
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	if failures := results.Failures(); len(failures) > 0 {
		resp.Diagnostics.Append(operationFailed(o, len(results), failures, diagnose.RetriedAlone))
	}
}

func (r *operatedResource[M, P]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var model M
	resp.Diagnostics.Append(req.State.Get(ctx, &model)...)
	state := P(&model).run()
	if resp.Diagnostics.HasError() || state.OnDestroy.IsNull() {
		return
	}
	o, ctx, cancel := r.begin(ctx, &model, state.Timeouts.Delete, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	o.operation = fleet.Operation(state.OnDestroy.ValueString())

	results := fleet.Run(ctx, o.Process, o.operation, o.Hosts.Hosts(), nil, o.rollout)

	failures := results.Failures()
	if len(failures) == 0 {
		return
	}
	// Hosts that are done leave the state, so that the next destroy asks only for
	// the others.
	hosts := P(&model).HostsMap()
	*hosts = reference.NewHostMap(reference.Only(hosts.Known(), o.Hosts, failures))
	state.FailedHosts = reference.StringMapValue(nil)
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	resp.Diagnostics.Append(operationFailed(o, len(results), failures, diagnose.DestroyedAlone))
}

func (r *operatedResource[M, P]) begin(ctx context.Context, m P, timeout reference.TimeoutOf, diags *diag.Diagnostics) (processOperation, context.Context, context.CancelFunc) {
	return reference.Begin[operationModel](ctx, r.platform, m, operationToAPI, timeout, reference.DefaultChangeTimeout, diags)
}
