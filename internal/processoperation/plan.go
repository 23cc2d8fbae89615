package processoperation

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *baseResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	plan, state := r.newModel(), r.newModel()
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
		resp.Diagnostics.Append(planDestroy(ctx, state)...)
		return // a destroy has nothing to compute
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(checkPlanned(ctx, r.platform, plan)...)
	resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "id", identifier(ctx, plan))...)
	if resp.Diagnostics.HasError() {
		return
	}
	settled, diags := reference.Settled(ctx, req.Config)
	resp.Diagnostics.Append(diags...)
	if req.State.Raw.IsNull() {
		planned := run{number: 1, members: membersOf(ctx, plan, 0)}
		planned.duties = make([]duty, len(planned.members))
		if plan.values().runsOnCreate() {
			planned.duties = everyHost(planned.members)
		}
		resp.Diagnostics.Append(planned.plan(ctx, plan, settled, "", resp)...)
		return
	}

	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	// While the provider block is unknown, so is its max_unreachable_hosts.
	limitUnknown := !r.platform.Ready() && plan.values().MaxUnreachable.IsNull()
	if limitUnknown && settled && len(state.values().Unreachable.Elements()) > 0 {
		settled = false
		resp.Diagnostics.Append(reference.PlanUnsettled(ctx, &resp.Plan)...)
	}
	change := r.changeOf(ctx, plan, state)
	retries := change.retries()
	nothing := !retries && sameInputs(ctx, plan, state)
	if settled {
		// A run that fails ends with an error, so a plan may assume success.
		failed, unreachable := reference.StringMapValue(nil), state.values().Unreachable
		if retries {
			failed = types.MapUnknown(types.StringType)
		}
		if !nothing { // whatever the limit, since the provider block may have another one when it is applied
			unreachable = types.MapUnknown(types.StringType)
		}
		resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "failed_hosts", failed)...)
		resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "unreachable", unreachable)...)
		if nothing {
			// rollout_plan keeps the last run.
			resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "rollout_plan", state.values().RolloutPlan)...)
			return
		}
	}
	if change.mayRename() {
		// The update asks the platform which hosts are only renamed.
		resp.Diagnostics.Append(reference.SetPlanned(ctx, &resp.Plan, "rollout_plan", types.StringUnknown())...)
		return
	}
	number, diags := reference.LoadPrivate[int](ctx, req.Private, runsKey)
	resp.Diagnostics.Append(diags...)
	planned := run{number: number + 1, members: change.next, duties: change.due()}
	resp.Diagnostics.Append(planned.plan(ctx, plan, settled, state.values().RolloutPlan.ValueString(), resp)...)
}

// sameInputs reports whether a plan has the values of state.
func sameInputs(ctx context.Context, plan, state resourceModel) bool {
	to, from := plan.values(), state.values()
	return reference.SameProcesses(ctx, plan, state) && to.Operation.Equal(from.Operation) && to.Order.Equal(from.Order) && to.Triggers.Equal(from.Triggers) && to.Rollout.Equal(from.Rollout) && to.MaxUnreachable.Equal(from.MaxUnreachable) &&
		to.RunOnCreate.Equal(from.RunOnCreate) && to.OnPartialCreate.Equal(from.OnPartialCreate) && to.OnDestroy.Equal(from.OnDestroy) && to.Timeouts.Equal(from.Timeouts)
}

// run is what an apply does, as rollout_plan describes it.
type run struct {
	// number counts the runs of a resource, so that rollout_plan also changes if the same run is repeated. It is
	// 0 for an on_destroy.
	number    int
	operation fleet.Operation
	order     fleet.Order
	members   []member
	duties    []duty
	rollout   fleet.Rollout
}

// runsNothing is the rollout_plan of an apply that only records.
const runsNothing = "runs nothing"

// String returns rollout_plan. Each line differs from those before, because it has the number of the run.
func (r run) String() string { return diagnose.Lines(r.lines()) }

// lines returns what is done, with a line for each step. Without a number, lines have no prefix.
func (r run) lines() []string {
	steps := stepsOf(r.order, r.members, r.duties)
	if len(steps) == 0 {
		return []string{runsNothing}
	}
	prefix := ""
	if r.number > 0 {
		prefix = fmt.Sprintf("run %d: ", r.number)
	}
	text := fmt.Sprintf("%s%s ", prefix, r.operation)
	if len(steps[0].names) == 0 {
		return []string{text + steps[0].describe(r.rollout)}
	}
	var lines []string
	for i, s := range steps {
		if i == mostSteps {
			lines = append(lines, fmt.Sprintf("%sthen %d more priorities", prefix, len(steps)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%spriority %d, %s, %s", text, s.priority, diagnose.Keys(s.names), s.describe(r.rollout)))
		text = prefix + "then "
	}
	return lines
}

// mostSteps is how many steps are listed.
const mostSteps = 12

// step is the processes of one priority, which run together.
type step struct {
	priority int64
	names    []string // none for the only process of an object without processes
	machines []machine
}

// stepsOf returns the steps that have something to do, in order.
func stepsOf(order fleet.Order, members []member, duties []duty) []step {
	var steps []step
	for _, stage := range stagesOf(order, members) {
		var (
			due  []member
			does []duty
			s    step
		)
		for _, i := range stage {
			if len(duties[i].hosts) == 0 {
				continue
			}
			due, does = append(due, members[i]), append(does, duties[i])
			if s.priority = members[i].priority; members[i].name != "" {
				s.names = append(s.names, members[i].name)
			}
		}
		if s.machines = machinesOf(due, does); len(s.machines) > 0 {
			steps = append(steps, s)
		}
	}
	return steps
}

// describe says on which hosts a step runs, and in which waves.
func (s step) describe(rollout fleet.Rollout) string {
	return "on " + diagnose.Hosts(len(s.machines)) + diagnose.InWaves(rollout.Sizes(hostsOf(s.machines))) + ": " + diagnose.Keys(s.keys())
}

func (s step) keys() []string {
	keys := make([]string, len(s.machines))
	for i, m := range s.machines {
		keys[i] = m.key
	}
	return keys
}

// plan writes the run into rollout_plan, or unknown unless known is true. It warns of a run that takes down
// many hosts at once. before is the value in state, which describes the last run.
func (r run) plan(ctx context.Context, plan resourceModel, known bool, before string, resp *resource.ModifyPlanResponse) diag.Diagnostics {
	values := plan.values()
	r.operation, r.order = values.operation(), values.order()
	diags := manyInStep(identifier(ctx, plan), values.Rollout, values.Operation, stepsOf(r.order, r.members, r.duties))
	if !known {
		return append(diags, reference.SetPlanned(ctx, &resp.Plan, "rollout_plan", types.StringUnknown())...)
	}
	rollout, d := rolloutOf(ctx, r.members, r.operation, values.Rollout)
	r.rollout = rollout
	diags.Append(d...)
	diags.Append(reference.SetPlanned(ctx, &resp.Plan, "rollout_plan", types.StringValue(diagnose.Again(r.String(), before)))...)
	return diags
}

// recordRun writes a run into rollout_plan if it was unknown in the plan.
func (m *resourceValues) recordRun(o operation, number int, duties []duty) {
	if m.RolloutPlan.IsUnknown() {
		m.RolloutPlan = types.StringValue(run{number: number, operation: o.name, order: o.order, members: o.members, duties: duties, rollout: o.rollout}.String())
	}
}

// planDestroy warns of what on_destroy runs.
func planDestroy(ctx context.Context, state resourceModel) diag.Diagnostics {
	values, members := state.values(), membersOf(ctx, state, 0)
	ends := fleet.Operation(values.OnDestroy.ValueString())
	if ends == "" {
		return nil
	}
	if many := manyAtOnce(ctx, state, values.OnDestroy, ends.Order()); len(many) > 0 {
		return many
	}
	rollout, diags := rolloutOf(ctx, members, ends, values.Rollout)
	does := run{operation: ends, order: ends.Order(), members: members, duties: everyHost(members), rollout: rollout}.String()
	return append(diags, diagnose.About(path.Root("on_destroy"), diag.NewWarningDiagnostic("Operation On Destroy: "+identifier(ctx, state).ValueString(), fmt.Sprintf(
		"%s: the destroy of this operation runs: %s\n\nTo run nothing, take on_destroy out and apply that first, with no other hosts than these.", identifier(ctx, state).ValueString(), does))))
}

// fewHosts is how many hosts may be taken down at once without a warning.
const fewHosts = 100

// manyAtOnce is manyInStep for an operation on every host of a model.
func manyAtOnce(ctx context.Context, m model, operation types.String, order fleet.Order) diag.Diagnostics {
	members := membersOf(ctx, m, 0)
	return manyInStep(identifier(ctx, m), m.inputs().Rollout, operation, stepsOf(order, members, everyHost(members)))
}

// manyInStep warns of an operation that takes down many hosts without waves. A reload takes down none. If waves
// are set, the user has considered it.
func manyInStep(id types.String, rollout types.Object, operation types.String, steps []step) diag.Diagnostics {
	switch fleet.Operation(operation.ValueString()) {
	case fleet.Stop, fleet.Restart, fleet.Kill:
	default:
		return nil
	}
	at := slices.IndexFunc(steps, func(s step) bool { return len(s.machines) > fewHosts })
	if at < 0 || rollout.IsUnknown() || reference.HasWaves(rollout) {
		return nil
	}
	keys := steps[at].keys()
	return diag.Diagnostics{diagnose.About(path.Root("rollout"), diag.NewWarningDiagnostic("Many Hosts At Once", fmt.Sprintf(
		"%s: %s goes to %d hosts at the same time: %s. With waves, the first ones that fail end it before it reaches the others: set "+
			`rollout = { waves = ["1", "10%%"] }, for example. If all at once is what you want, waves = ["100%%"] says so.`,
		id.ValueString(), operation.ValueString(), len(keys), diagnose.Keys(keys))))}
}
