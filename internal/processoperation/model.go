package processoperation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	actiontimeouts "github.com/hashicorp/terraform-plugin-framework-timeouts/action/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// model holds the values of an object that runs an operation: its processes, their hosts, and the operation.
type model interface {
	reference.Processes
	inputs() *inputValues
	// deadlines returns the timeouts, and the names of those that limit a run.
	deadlines() (timeouts types.Object, names []string)
}

// inputValues holds the values that resources and actions share, besides the process and its hosts.
type inputValues struct {
	Operation types.String `tfsdk:"operation"`
	Order     types.String `tfsdk:"order"`
	Rollout   types.Object `tfsdk:"rollout"`

	MaxUnreachable types.String `tfsdk:"max_unreachable_hosts"`
}

func (m *inputValues) inputs() *inputValues { return m }

func (m *inputValues) operation() fleet.Operation { return fleet.Operation(m.Operation.ValueString()) }

// order returns the order in which the operation takes priorities.
func (m *inputValues) order() fleet.Order {
	return cmp.Or(fleet.Order(m.Order.ValueString()), m.operation().Order())
}

// checkInputs rejects an operation without its command, an order for one process, and a gate that no host could
// pass. Unknown values pass.
func checkInputs(ctx context.Context, m model, config tfsdk.Config) diag.Diagnostics {
	var diags diag.Diagnostics
	operation, rollout := m.inputs().Operation, m.inputs().Rollout
	entries, _ := m.Entries(ctx)
	for _, entry := range entries {
		diags.Append(reference.CheckOperation(ctx, entry, config, operation)...)
	}
	if order := m.inputs().Order; !order.IsNull() && !order.IsUnknown() && slices.ContainsFunc(entries, func(e reference.Entry) bool { return e.Name == "" }) {
		reference.AddInvalid(&diags, path.Root("order"), "Invalid Order", "it sets in which order the operation takes several processes, but there is only one; leave it out, or set processes")
	}
	if gate := reference.GateOf(rollout); gate.IsNull() || gate.IsUnknown() || operation.IsNull() || operation.IsUnknown() {
		return diags
	}
	if !fleet.Operation(operation.ValueString()).LeavesRunning() {
		reference.AddInvalid(&diags, reference.GatePath(), "Invalid Health Gate", fmt.Sprintf(
			"after the operation %q the process is not meant to run, so there is nothing to watch; leave it out, or start, restart or reload", operation.ValueString()))
		return diags
	}
	timeouts, names := m.deadlines()
	diags.Append(reference.CheckGateEnds(rollout, timeouts, names...)...)
	for _, entry := range entries {
		diags.Append(reference.CheckGate(ctx, entry, config, rollout)...)
	}
	return diags
}

// checkPlanned checks what is known to a plan, but may be unknown to a validation: the provider block, and
// values of other objects.
func checkPlanned(ctx context.Context, p *platform.Platform, m model) diag.Diagnostics {
	diags := m.CheckOnce(ctx)
	entries, known := m.Entries(ctx)
	for _, entry := range entries {
		diags.Append(reference.CheckHosts(ctx, p, entry)...)
	}
	diags.Append(reference.CheckEntries(ctx, entries)...)
	if known {
		diags.Append(reference.CheckRolloutOf(ctx, entries, m.inputs().Rollout)...)
	}
	return diags
}

// resourceModel is the model of a resource, over either API.
type resourceModel interface {
	model
	values() *resourceValues
}

// resourceValues holds the values of a resource, besides the process and its hosts.
type resourceValues struct {
	inputValues
	Triggers        types.Map      `tfsdk:"triggers"`
	RunOnCreate     types.Bool     `tfsdk:"run_on_create"`
	OnPartialCreate types.String   `tfsdk:"on_partial_create"`
	OnDestroy       types.String   `tfsdk:"on_destroy"`
	Timeouts        timeouts.Value `tfsdk:"timeouts"`
	ID              types.String   `tfsdk:"id"`
	FailedHosts     types.Map      `tfsdk:"failed_hosts"`
	Unreachable     types.Map      `tfsdk:"unreachable"`
	RolloutPlan     types.String   `tfsdk:"rollout_plan"`
}

func (m *resourceValues) runsOnCreate() bool {
	return m.RunOnCreate.IsNull() || m.RunOnCreate.ValueBool()
}

func (m *resourceValues) deadlines() (types.Object, []string) {
	if m.runsOnCreate() {
		return m.Timeouts.Object, []string{"create", "update"}
	}
	return m.Timeouts.Object, []string{"update"}
}

func (m *resourceValues) values() *resourceValues { return m }

// actionModel is the model of an action, over either API.
type actionModel interface {
	model
	values() *actionValues
}

// actionValues holds the values of an action, besides the process and its hosts.
type actionValues struct {
	inputValues
	Timeouts actiontimeouts.Value `tfsdk:"timeouts"`
}

func (m *actionValues) deadlines() (types.Object, []string) {
	return m.Timeouts.Object, []string{"invoke"}
}

func (m *actionValues) values() *actionValues { return m }

// operation is a model converted for the clients, ready to run.
type operation struct {
	members  []member
	platform *platform.Platform
	name     fleet.Operation
	destroys bool // the operation is an on_destroy
	order    fleet.Order
	rollout  fleet.Rollout
	// maxUnreachable limits the hosts whose agents do not answer.
	maxUnreachable reference.MaxUnreachable
}

// several reports whether the object sets processes.
func (o operation) several() bool { return len(o.members) > 0 && o.members[0].name != "" }

// id returns the id of the object.
func (o operation) id() string {
	var ids []string
	for _, m := range o.members {
		ids = append(ids, m.ID)
	}
	return joinedIDs(ids)
}

// title returns the beginning of a sentence about the operation.
func (o operation) title() string {
	if len(o.members) > 1 {
		return fmt.Sprintf("%d processes", len(o.members))
	}
	return o.members[0].Title
}

// subject returns a short name of what the operation runs on.
func (o operation) subject() string {
	if len(o.members) > 1 {
		return o.title()
	}
	return o.id()
}

// open converts a model for the clients, with its own operation, or reports why it cannot.
func open(ctx context.Context, p *platform.Platform, m model, diags *diag.Diagnostics) operation {
	return openFor(ctx, p, m, m.inputs().operation(), m.inputs().order(), diags)
}

// openFor is open with another operation and its order of priorities.
func openFor(ctx context.Context, p *platform.Platform, m model, name fleet.Operation, order fleet.Order, diags *diag.Diagnostics) operation {
	o := operation{platform: p, name: name, order: order}
	if diags.HasError() {
		return o
	}
	if !p.Ready() {
		diags.Append(p.NotReady())
		return o
	}
	// Validators have checked these values. They are checked again, since a default in place of a value that
	// cannot be read would be another operation.
	entries, _ := m.Entries(ctx)
	if !slices.Contains(fleet.Operations(), o.name) {
		reference.AddInvalid(diags, path.Root("operation"), "Invalid Operation", fmt.Sprintf("%q is not an operation", o.name))
	}
	if !slices.Contains(fleet.Orders(), o.order) {
		reference.AddInvalid(diags, path.Root("order"), "Invalid Order", fmt.Sprintf("%q is not an order", o.order))
	}
	if len(entries) == 0 {
		reference.AddInvalid(diags, path.Root("processes"), "Invalid Process", "there is no process in it")
	}
	diags.Append(reference.CheckEntries(ctx, entries)...)
	for _, entry := range entries {
		target, d := entry.Open(ctx, p, "")
		diags.Append(d...)
		if !d.HasError() && !target.Desired.HasSpec {
			reference.AddMissingSpec(diags, entry)
		}
		o.members = append(o.members, member{target, entry.Name, entry.Priority})
	}
	var d diag.Diagnostics
	o.rollout, d = rolloutOf(ctx, o.members, o.name, m.inputs().Rollout)
	o.maxUnreachable = limitOf(p, m, o.members)
	o.rollout.Clock, o.rollout.MaxUnreachable = p.Clock, o.maxUnreachable.Hosts
	diags.Append(d...)
	return o
}

// checkRun refuses a run that is not for one of the processes, or that names a machine twice.
func (o operation) checkRun(ctx context.Context) diag.Diagnostics {
	var diags diag.Diagnostics
	if slices.ContainsFunc(o.members, func(m member) bool { return m.Process.OneShot() }) {
		reference.CheckOneShot(&diags, o.name)
	}
	if diags.HasError() {
		return diags
	}
	return o.checkNames(ctx)
}

// runOn runs the operation on the hosts of duties.
func (o operation) runOn(ctx context.Context, duties []duty) outcome {
	o.rollout.Silent = make(map[fleet.HostID]bool)
	for _, duty := range duties {
		for _, host := range duty.silent {
			o.rollout.Silent[host] = true
		}
	}
	logged := platform.Run{Process: o.subject(), Operation: string(o.name), Rollout: o.rollout}
	parts := make([]platform.Part, len(o.members))
	members := make([]fleet.Member, len(o.members))
	for i, m := range o.members {
		parts[i] = platform.Part{Name: m.name, Keys: m.Hosts, Hosts: duties[i].hosts}
		members[i] = fleet.Member{Process: m.Process, Priority: m.priority, Hosts: duties[i].hosts, Unsure: duties[i].tasks()}
	}
	machines := hostsOf(machinesOf(o.members, duties))
	return o.platform.LoggedParts(ctx, logged, parts, func(ctx context.Context, rollout fleet.Rollout) []fleet.Results {
		return fleet.Run(ctx, o.name, o.order, members, machines, rollout)
	})
}

// outcome has the results of a run for each member.
type outcome []fleet.Results

// failures returns the results that are not done.
func (o outcome) failures() outcome {
	failures := make(outcome, len(o))
	for i, results := range o {
		failures[i] = results.Failures()
	}
	return failures
}

// but returns the results without failures of unreachable hosts. A process that has no other failures has no results
// then: it is not done on all of its hosts.
func (o outcome) but(away unreachable, members []member) outcome {
	others := make(outcome, len(o))
	for i, results := range o {
		others[i] = maps.Clone(results)
		maps.DeleteFunc(others[i], func(host fleet.Host, one fleet.Outcome) bool {
			_, is := away[place{members[i].ID, host.WithoutSupplier()}]
			return is && !one.OK()
		})
		if len(others[i]) < len(results) && len(others[i].Failures()) == 0 {
			others[i] = nil
		}
	}
	return others
}

// with returns the results with those of others in place of their own.
func (o outcome) with(others outcome) outcome {
	all := make(outcome, len(o))
	for i, results := range o {
		all[i] = maps.Clone(results)
		all[i].Merge(others[i])
	}
	return all
}

// mayHaveRun returns the results of operations that may have had an effect.
func (o outcome) mayHaveRun() outcome {
	ran := make(outcome, len(o))
	for i, results := range o {
		ran[i] = maps.Clone(results)
		maps.DeleteFunc(ran[i], func(_ fleet.Host, one fleet.Outcome) bool {
			may := one.MayHaveRun() || one.Verdict == fleet.Failed && bkapi.MayHaveActed(one.Err)
			return !may
		})
	}
	return ran
}

// count returns the number of results.
func (o outcome) count() int {
	n := 0
	for _, results := range o {
		n += len(results)
	}
	return n
}

// machines counts the machines with results.
func (o outcome) machines() int {
	ids := make(map[fleet.HostID]bool)
	for _, results := range o {
		for host := range results {
			ids[host.WithoutSupplier()] = true
		}
	}
	return len(ids)
}

// anyOf reports whether is holds for any result.
func (o outcome) anyOf(is func(fleet.Outcome) bool) bool {
	for _, results := range o {
		for _, one := range results {
			if is(one) {
				return true
			}
		}
	}
	return false
}

// inDoubt reports whether the operation may have worked on any of these hosts, whatever its result.
func (o outcome) inDoubt() bool { return slices.ContainsFunc(o, diagnose.InDoubt) }

// worked reports whether an operation was seen to work on a host that counts as failed for a later reason: a
// one-shot process is still hosted, or the host was still being watched.
func (o outcome) worked() bool {
	return o.anyOf(func(one fleet.Outcome) bool {
		return one.Underway.Worked || one.Verdict == fleet.Pending && one.Left == fleet.Unhealthy
	})
}

// leavesHosted reports whether a one-shot process that was not hosted before may have been left hosted.
func (o outcome) leavesHosted() bool {
	return o.anyOf(func(one fleet.Outcome) bool { return one.Underway.Bare })
}

// interrupted reports whether the user ended the run.
func (o outcome) interrupted() bool {
	return o.anyOf(func(one fleet.Outcome) bool { return fleet.Interrupted(one.Err) })
}

// cutShort reports whether the run ended early. max_failed_hosts does not excuse that, however few hosts are
// left.
func (o outcome) cutShort() bool {
	return o.anyOf(func(one fleet.Outcome) bool {
		return fleet.Interrupted(one.Err) || (one.Verdict == fleet.NotTried && !one.Blocked)
	})
}
