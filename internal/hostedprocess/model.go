package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// hostedModel is the model of a resource that keeps a process registered.
type hostedModel interface {
	reference.Model
	lifecycle() *lifecycleModel
	// resourceIdentity returns nil if the resource has no identity.
	resourceIdentity(ctx context.Context) (any, diag.Diagnostics)
	// replaces reports whether the model is another object than the one in state.
	replaces(ctx context.Context, state hostedModel) bool
	// supplierID returns the attribute bk_supplier_id, nil if the resource has none.
	supplierID() *types.Int64
	// setSent writes what registering sends into the attributes that show it, and returns them by name.
	setSent(d fleet.Desired) map[string]attr.Value
	// setWhole writes the whole declaration into the attribute that hands it on, and returns the attribute's
	// name and value.
	setWhole(ctx context.Context) (attribute string, value types.String)
}

// lifecycleModel is what these resources have in common.
type lifecycleModel struct {
	Ensure            types.String   `tfsdk:"ensure"`
	AdoptExisting     types.Bool     `tfsdk:"adopt_existing"`
	MaxUnreachable    types.String   `tfsdk:"max_unreachable_hosts"`
	OnPartialCreate   types.String   `tfsdk:"on_partial_create"`
	OnDestroy         types.String   `tfsdk:"on_destroy"`
	ForgetUnreachable types.Bool     `tfsdk:"forget_unreachable"`
	OnUpdate          types.String   `tfsdk:"on_update"`
	Rollout           types.Object   `tfsdk:"rollout"`
	Safety            types.Object   `tfsdk:"safety"`
	Timeouts          timeouts.Value `tfsdk:"timeouts"`
	ID                types.String   `tfsdk:"id"`
	Fingerprint       types.String   `tfsdk:"fingerprint"`
	Owner             types.String   `tfsdk:"owner"`
	OutOfSync         types.Map      `tfsdk:"out_of_sync"`
	Unreachable       types.Map      `tfsdk:"unreachable"`
	RolloutPlan       types.String   `tfsdk:"rollout_plan"`
}

func (m *lifecycleModel) lifecycle() *lifecycleModel { return m }

func (m *lifecycleModel) ensures() fleet.Ensure { return fleet.Ensure(m.Ensure.ValueString()) }

// operation returns the operation of on_update, "" for none.
func (m *lifecycleModel) operation() fleet.Operation {
	return fleet.OnUpdate(m.OnUpdate.ValueString()).Operation()
}

// statuses returns what out_of_sync and unreachable say of the hosts.
func (m *lifecycleModel) statuses(hosts fleet.Inventory) map[fleet.HostID]diagnose.HostStatus {
	statuses := diagnose.Statuses(reference.StringMap(m.OutOfSync), hosts, fleet.NotRegistered)
	maps.Copy(statuses, diagnose.Unreachable(reference.StringMap(m.Unreachable), hosts))
	return statuses
}

// setStatuses writes statuses into out_of_sync and unreachable.
func (m *lifecycleModel) setStatuses(hosts fleet.Inventory, statuses map[fleet.HostID]diagnose.HostStatus) {
	m.OutOfSync = reference.StringMapValue(diagnose.StatusesByKey(hosts, statuses))
	m.Unreachable = reference.StringMapValue(diagnose.UnreachableByKey(hosts, statuses))
}

// checkLifecycleCommands refuses settings that need a command which is not declared.
func checkLifecycleCommands(ctx context.Context, m hostedModel, config tfsdk.Config) diag.Diagnostics {
	diags := checkGate(ctx, m, config)
	diags.Append(reference.CheckHosting(ctx, m, config, m.lifecycle().Ensure)...)
	// The values of on_destroy and on_update that run a command have the name of the operation.
	diags.Append(reference.CheckCommand(ctx, m, config, m.lifecycle().OnDestroy)...)
	diags.Append(reference.CheckCommand(ctx, m, config, m.lifecycle().OnUpdate)...)
	return diags
}

// checkResident refuses settings that need a resident process if kind is another one. attribute is the name of kind.
func (m *lifecycleModel) checkResident(attribute string, kind types.Int64, resident int64) diag.Diagnostics {
	var diags diag.Diagnostics
	if kind.IsNull() || kind.IsUnknown() || kind.ValueInt64() == resident {
		return diags
	}
	if m.ensures() == fleet.EnsureRunning {
		diags.Append(diagnose.About(path.Root("ensure"), diag.NewErrorDiagnostic("Invalid Ensure",
			fmt.Sprintf("Only a resident process (%[1]s %[2]d) goes on running; with %[1]s %[3]d, ensure must be %[4]q or %[5]q.",
				attribute, resident, kind.ValueInt64(), fleet.EnsureHosted, fleet.EnsureRegistered))))
	}
	if m.operation() != "" {
		diags.Append(diagnose.About(path.Root("on_update"), diag.NewErrorDiagnostic("Invalid On Update",
			fmt.Sprintf("Only a resident process (%[1]s %[2]d) is there to be operated when its spec changes; with %[1]s %[3]d, on_update must be %[4]q, which is the default.",
				attribute, resident, kind.ValueInt64(), fleet.UpdateRegister))))
	}
	return diags
}

// checkGate refuses a health gate that no host could pass, or that applies to none.
func checkGate(ctx context.Context, m hostedModel, config tfsdk.Config) diag.Diagnostics {
	var diags diag.Diagnostics
	ensure, onUpdate, gate := m.lifecycle().Ensure, m.lifecycle().OnUpdate, reference.GateOf(m.lifecycle().Rollout)
	if gate.IsNull() || gate.IsUnknown() || ensure.IsUnknown() || onUpdate.IsUnknown() {
		return diags
	}
	if m.lifecycle().ensures() != fleet.EnsureRunning && m.lifecycle().operation() == "" {
		reference.AddInvalid(&diags, reference.GatePath(), "Invalid Health Gate", fmt.Sprintf(
			"it watches processes that are meant to run, and this resource starts none; set ensure = %q or on_update = %q, or leave it out", fleet.EnsureRunning, fleet.UpdateRestart))
		return diags
	}
	deadlines := []string{"update"}
	if m.lifecycle().ensures() == fleet.EnsureRunning {
		deadlines = []string{"create", "update"}
	}
	return append(reference.CheckGate(ctx, m, config, m.lifecycle().Rollout), reference.CheckGateEnds(m.lifecycle().Rollout, m.lifecycle().Timeouts.Object, deadlines...)...)
}

// hostedProcess is a model in the form that the clients need.
type hostedProcess struct {
	reference.Target
	platform *platform.Platform
	rollout  fleet.Rollout
	rollback bool            // on_failure
	object   platform.Object // as other objects of this run know it
	// unreachable is how many hosts may be unreachable.
	unreachable reference.MaxUnreachable
}

// openAs converts the model of what was applied.
func (r *hostedResource) openAs(ctx context.Context, m hostedModel, last ledger, diags *diag.Diagnostics) hostedProcess {
	h := r.open(ctx, m, last.owner, diags)
	h.object.ID = cmp.Or(last.object, last.owner)
	return h
}

// open converts a model for the clients, or says why it cannot. owner is the id of the resource object.
func (r *hostedResource) open(ctx context.Context, m hostedModel, owner string, diags *diag.Diagnostics) hostedProcess {
	var h hostedProcess
	if diags.HasError() {
		return h
	}
	if !r.platform.Ready() {
		diags.Append(r.platform.NotReady())
		return h
	}
	p := r.platform.WithSupplier(r.supplier(m))
	h.platform = p
	var d diag.Diagnostics
	h.Target, d = m.Open(ctx, p, owner)
	diags.Append(d...)
	h.object = platform.Object{Owners: p.Owners, Process: h.OnHost, ID: owner}
	h.Desired.Ensure = m.lifecycle().ensures()
	h.unreachable = reference.MaxUnreachableOf(p, m.lifecycle().MaxUnreachable, h.Hosts.Len())
	h.rollback = reference.RollsBack(m.lifecycle().Rollout)
	h.Runs = []fleet.Operation{fleet.Stop, fleet.Operation(m.lifecycle().OnUpdate.ValueString())} // hosts that leave are stopped
	if h.Desired.Ensure == fleet.EnsureRunning {
		h.Runs = append(h.Runs, fleet.Start)
	}
	h.rollout, d = h.Rollout(ctx, m.lifecycle().Rollout)
	h.rollout.Clock, h.rollout.MaxUnreachable = p.Clock, h.unreachable.Hosts
	diags.Append(d...)
	return h
}

// supplier returns the bk_supplier_id of an object's hosts whose addresses have none. It is the provider's until the
// object has its own.
func (r *hostedResource) supplier(m hostedModel) int {
	switch id := m.supplierID(); {
	case id != nil && !id.IsUnknown():
		return int(id.ValueInt64())
	case r.platform == nil:
		return 0
	}
	return r.platform.Supplier
}

// supplierValue returns the attribute bk_supplier_id. It is null for 0, which nearly all platforms have, so that plans do
// not show it.
func supplierValue(id int) types.Int64 {
	if id == 0 {
		return types.Int64Null()
	}
	return types.Int64Value(int64(id))
}

// within returns statuses in which at most as many hosts as allowed count as unreachable.
func (h hostedProcess) within(statuses map[fleet.HostID]diagnose.HostStatus) map[fleet.HostID]diagnose.HostStatus {
	return diagnose.Within(h.unreachable.Hosts, statuses)
}

// hold keeps other objects of this provider from changing the process on the same hosts, and those of prior, until
// release is called. If it cannot, diags says that this is why nothing was done.
func (h hostedProcess) hold(ctx context.Context, prior fleet.Inventory, diags *diag.Diagnostics, summary, notDone string) (release func()) {
	release, err := h.object.Hold(ctx, append(h.Hosts.Hosts(), prior.Hosts()...), h.Process.OtherNames)
	if err != nil {
		diags.Append(diagnose.CallFailed(summary, h.Title+" was "+notDone+", because another resource was still changing it.", err))
		return func() {}
	}
	return release
}
