package hostedprocess

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// effect is what a change of a resource does to hosts.
type effect struct {
	id          string
	prior, next fleet.Inventory
	// register, reregister and settle are those of a fleet.Change, removed hosts leave. unowned
	// are registered unless another owner has them still.
	register, unowned, reregister, settle, removed []fleet.Host
	// changed hosts stay, and what is declared for them is something else than before.
	changed []fleet.Host
	// asks: more or something else is asked of those that stay, and not the same once more.
	asks bool
	// ensure is how far those that stay are brought up, leaving how the others are unregistered.
	ensure  fleet.Ensure
	leaving fleet.OnDestroy
	// unsure are the removed hosts on which the registration may not be ours, refused those
	// on which we never came to register.
	unsure, refused []fleet.Host
	// operation, if there is one, runs on the operated ones of these where the process runs.
	operation fleet.Operation
	operated  []fleet.Host
}

// created is the effect of a create.
func created(ctx context.Context, plan hostedModel) effect {
	next, _ := reference.InventoryOf(plan.HostsMap(ctx), 0) // what cannot be read is reported elsewhere
	return effect{id: plan.Identifier(ctx).ValueString(), next: next, register: next.Hosts(), ensure: plan.lifecycle().ensures()}
}

// destroyed is the effect of a destroy.
func destroyed(ctx context.Context, state hostedModel) effect {
	prior, _ := reference.InventoryOf(state.HostsMap(ctx), 0)
	return effect{id: state.Identifier(ctx).ValueString(), prior: prior, removed: prior.Hosts()}
}

// updated is the effect of an update, in which what is registered changes or not.
func (r *hostedResource) updated(ctx context.Context, plan, state hostedModel, last ledger, changes bool) effect {
	after, before := plan.lifecycle(), state.lifecycle()
	e := effect{id: plan.Identifier(ctx).ValueString(), ensure: after.ensures(), leaving: fleet.OnDestroy(after.OnDestroy.ValueString())}
	e.prior = last.inventory(state.HostsMap(ctx), r.supplier())
	e.next, _ = reference.InventoryOf(plan.HostsMap(ctx), 0)
	e.next = e.next.Keeping(e.prior)
	e.register = e.next.Without(e.prior)
	unreachable := reference.MaxUnreachableOf(r.platform, after.MaxUnreachable, e.next.Len())
	statuses, want := diagnose.Within(unreachable.Hosts, before.statuses(e.prior)), wanted{
		changes: changes, raises: raises(before.ensures(), e.ensure), adopts: after.AdoptExisting.ValueBool(),
	}
	e.asks = want.changes || want.raises
	for _, host := range e.next.Pick(e.prior.Has) {
		if changes {
			e.changed = append(e.changed, host)
		}
		switch want.stepOn(standingOf(statuses[host.WithoutSupplier()], last.isOvertaken(host))) {
		case register:
			e.register = append(e.register, host)
		case registerUnowned:
			e.unowned = append(e.unowned, host)
		case reregister:
			e.reregister = append(e.reregister, host)
		case settle:
			e.settle = append(e.settle, host)
		case keepAsIs:
		}
	}
	return e.removing(e.prior.Without(e.next), statuses, last)
}

// removing is the effect with hosts that leave.
func (e effect) removing(hosts []fleet.Host, statuses map[fleet.HostID]diagnose.HostStatus, last ledger) effect {
	e.removed = hosts
	for _, host := range hosts {
		switch code := statuses[host.WithoutSupplier()].Code; {
		case code == fleet.NotRegistered:
			e.refused = append(e.refused, host)
		case unproven(code), last.isOvertaken(host):
			e.unsure = append(e.unsure, host)
		}
	}
	return e
}

// operating is the effect with where the operation of on_update will run, as the update
// decides it.
func (e effect) operating(operation fleet.Operation, still remains) effect {
	e.operation = operation
	for _, host := range e.touched() {
		if _, due := still.on(host); due && e.prior.Has(host) {
			e.operated = append(e.operated, host)
		}
	}
	return e
}

// renames reports whether hosts that come may be hosts that go, by another name.
func (e effect) renames() bool { return len(otherForm(e.removed, e.next.Hosts())) > 0 }

// callsNothing reports whether no host is to be called.
func (e effect) callsNothing() bool { return e.describe(fleet.Rollout{}) == "" }

// describe is the effect in the words of rollout_plan, "" for none.
func (e effect) describe(rollout fleet.Rollout) string {
	var steps []string
	if does := e.brings(); does != "" {
		steps = append(steps, does+wavesOf(rollout, e.next, e.touched()))
	}
	if does := e.lets(); does != "" {
		steps = append(steps, does+wavesOf(rollout, e.prior, e.removed))
	}
	return strings.Join(steps, "; then ")
}

// part is something that is done, to so many hosts.
type part struct {
	does  string
	hosts int
}

// parts name those that are done to any host.
func parts(all ...part) string {
	var texts []string
	for _, p := range all {
		if p.hosts > 0 {
			texts = append(texts, p.does+" "+diagnose.Hosts(p.hosts))
		}
	}
	return strings.Join(texts, ", ")
}

// brings is what is done to hosts that stay or come, in the order in which it is done. To
// register is also to host there, as far as ensure asks for it.
func (e effect) brings() string {
	hosted, started, idle := len(e.settle), 0, 0
	switch e.ensure {
	case fleet.EnsureRegistered:
		hosted = 0
		idle = len(keep(e.settle, func(host fleet.Host) bool { return !slices.Contains(e.operated, host) }))
	case fleet.EnsureHosted:
	case fleet.EnsureRunning:
		started = len(e.register) + len(e.reregister) + len(e.settle)
	}
	called := parts(
		part{"register", len(e.register)},
		part{"register what is nobody else's on", len(e.unowned)},
		part{"register anew", len(e.reregister)},
		part{string(e.operation) + " what runs on", len(e.operated)},
		part{"host what is not hosted on", hosted},
		part{"start what does not run on", started},
	)
	if called != "" && idle > 0 { // they have their place in the waves
		called += ", " + parts(part{"leave alone", idle})
	}
	return called
}

// lets is what is done to hosts that leave.
func (e effect) lets() string {
	ends, unsure, refused := wordsOf(e.leaving), len(e.unsure), len(e.refused)
	const ours = " what is this resource's on"
	sure := len(e.removed) - unsure - refused
	if ends == wordsOf(fleet.DestroyUnregister) {
		return parts(part{ends, sure}, part{ends + ours, unsure + refused})
	}
	return parts(part{ends, sure}, part{ends + ours, unsure}, part{wordsOf(fleet.DestroyUnregister) + ours, refused})
}

// touched are the hosts that something is registered on, in the order of their keys.
func (e effect) touched() []fleet.Host {
	touched := make(map[fleet.Host]bool)
	for _, host := range slices.Concat(e.register, e.unowned, e.reregister, e.settle) {
		touched[host] = true
	}
	return e.next.Pick(func(host fleet.Host) bool { return touched[host] })
}

// wavesOf says in which waves hosts go, and which they are.
func wavesOf(rollout fleet.Rollout, inventory fleet.Inventory, hosts []fleet.Host) string {
	canary := slices.DeleteFunc(slices.Clone(hosts), func(host fleet.Host) bool { return !rollout.Canary[host] })
	text := diagnose.InWaves(rollout.Sizes(hosts))
	if len(canary) > 0 && len(canary) < len(hosts) {
		text += ", first the canary " + keysOf(inventory, canary)
	}
	return text + ": " + keysOf(inventory, hosts)
}

func keysOf(inventory fleet.Inventory, hosts []fleet.Host) string {
	keys := make([]string, len(hosts))
	for i, host := range hosts {
		keys[i] = inventory.Key(host)
	}
	return diagnose.Keys(keys)
}

// safetyModel is safety, which says how far a change may go.
type safetyModel struct {
	MaxRemovedHosts    types.String `tfsdk:"max_removed_hosts"`
	MaxChangedHosts    types.String `tfsdk:"max_changed_hosts"`
	DeletionProtection types.Bool   `tfsdk:"deletion_protection"`
}

func safetyOf(ctx context.Context, value types.Object) (safetyModel, diag.Diagnostics) {
	var m safetyModel
	if value.IsNull() || value.IsUnknown() {
		return m, nil
	}
	diags := value.As(ctx, &m, basetypes.ObjectAsOptions{})
	return m, diags
}

// How a limit is raised: in the change that needs it, or before a destroy, which has no
// configuration of its own.
const (
	raiseWithIt = "in the same change"
	raiseBefore = "and apply that first: a destroy has no configuration, so what was applied last counts"
)

// within refuses an effect that goes beyond what is safe.
func (e effect) within(ctx context.Context, safety types.Object, raise string) diag.Diagnostics {
	m, diags := safetyOf(ctx, safety)
	for _, limit := range []struct {
		name, does string
		value      types.String
		hosts      []fleet.Host
		of         fleet.Inventory
	}{
		{"max_removed_hosts", "unregisters", m.MaxRemovedHosts, e.removed, e.prior},
		{"max_changed_hosts", "registers something else on", m.MaxChangedHosts, e.changed, e.prior},
	} {
		if limit.value.IsNull() || limit.value.IsUnknown() {
			continue
		}
		tolerance, err := fleet.ParseTolerance(limit.value.ValueString())
		if err != nil || len(limit.hosts) <= tolerance.Of(limit.of.Len()) {
			continue
		}
		diags.AddError("Change Goes Too Far", fmt.Sprintf("%s: this change %s %s, and safety.%s = %q allows %d: %s. "+
			"If that is what you want, set safety.%[4]s to %[8]d or more %[9]s.",
			e.id, limit.does, diagnose.CountHosts(len(limit.hosts), limit.of.Len()), limit.name, limit.value.ValueString(), tolerance.Of(limit.of.Len()),
			keysOf(limit.of, limit.hosts), len(limit.hosts), raise))
	}
	return diags
}

// protected refuses to destroy or replace what is protected.
func (e effect) protected(ctx context.Context, safety types.Object) diag.Diagnostics {
	m, diags := safetyOf(ctx, safety)
	if m.DeletionProtection.ValueBool() {
		diags.AddError("Deletion Protected", fmt.Sprintf("%s is protected by safety.deletion_protection, and this would unregister %s: %s. If that is what you want, "+
			"set safety.deletion_protection = false and apply that first. Where Terraform has tainted the resource, `terraform untaint` comes before.",
			e.id, diagnose.Hosts(len(e.removed)), keysOf(e.prior, e.removed)))
	}
	return diags
}

// owned warns of hosts that another owner has registered: their update fails while that is so.
// statuses are what state says of hosts.
func (e effect) owned(adopt types.Bool, statuses map[fleet.HostID]diagnose.HostStatus) diag.Diagnostics {
	if len(e.unowned) == 0 || adopt.IsUnknown() {
		return nil
	}
	rows := make(fleet.Results, len(e.unowned))
	for _, host := range e.unowned {
		rows[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: statuses[host.WithoutSupplier()].Text}
	}
	return diag.Diagnostics{diagnose.About(path.Root("adopt_existing"), diag.NewWarningDiagnostic("Hosts Of Another Owner", fmt.Sprintf(
		"%s is registered by somebody else on %s, and adopt_existing is not set. The apply leaves these hosts alone, and ends with an error while that is so.\n\n%s\n"+
			"Set adopt_existing = true to take them over, or take them out of hosts.",
		e.id, diagnose.CountHosts(len(rows), e.next.Len()), diagnose.Rows(e.next, rows))))}
}

// fewHosts is how many hosts may be changed at once without a warning.
const fewHosts = 100

// manyAtOnce warns of a change of many hosts without waves: the agents have a new spec
// before the first host has shown that it is any good.
func (e effect) manyAtOnce(plan *lifecycleModel) diag.Diagnostics {
	hosts, inventory, does := e.changed, e.next, "registered with something else"
	if ends := fleet.OnDestroy(plan.OnDestroy.ValueString()); len(hosts) <= fewHosts && (ends == fleet.DestroyStop || ends == fleet.DestroyKill) {
		hosts, inventory, does = e.removed, e.prior, "unregistered, with on_destroy = \""+string(ends)+"\","
	}
	if len(hosts) <= fewHosts || plan.Rollout.IsUnknown() || reference.HasWaves(plan.Rollout) {
		return nil
	}
	return diag.Diagnostics{diagnose.About(path.Root("rollout"), diag.NewWarningDiagnostic("Many Hosts At Once", fmt.Sprintf(
		"%s: %d hosts are %s at the same time: %s. With waves, the first ones that fail end it before it reaches the others: set "+
			`rollout = { waves = ["1", "10%%"] }, for example. If all at once is what you want, waves = ["100%%"] says so.`,
		e.id, len(hosts), does, keysOf(inventory, hosts))))}
}
