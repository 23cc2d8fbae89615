package hostedprocess

import (
	"context"
	"fmt"
	"maps"
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
	// steps are those of an apply, on the hosts that stay or come.
	steps steps
	// adopts: registrations of others are taken over on hosts that join.
	adopts bool
	// changed are the hosts that stay and for which something else is declared than before.
	changed []fleet.Host
	ensure  fleet.Ensure // how far hosts that stay or come are brought up
	// operation, if any, runs on the operated hosts where the process runs.
	operation fleet.Operation
	operated  []fleet.Host
	leaves    leaves
}

// leaves are the hosts that are unregistered, and how.
type leaves struct {
	leave

	hosts []fleet.Host
	// going are hosts that may be renamed instead.
	going []fleet.Host
	// unsure are hosts whose registration may be another object's. refused are hosts that this object never
	// registered: that was refused, or not tried.
	unsure, refused []fleet.Host
}

// created returns the effect of a create.
func created(ctx context.Context, plan hostedModel) effect {
	next, _ := reference.InventoryOf(plan.HostsMap(ctx), 0) // invalid addresses are reported elsewhere
	values := plan.lifecycle()
	return effect{id: plan.Identifier(ctx).ValueString(), next: next, steps: steps{register: next.Hosts()}, adopts: values.AdoptExisting.ValueBool(), ensure: values.ensures()}
}

// destroyed returns the effect of a destroy.
func destroyed(ctx context.Context, state hostedModel, last ledger) effect {
	prior, _ := reference.InventoryOf(state.HostsMap(ctx), 0)
	values := state.lifecycle()
	return effect{id: state.Identifier(ctx).ValueString(), prior: prior, leaves: values.leave().of(prior.Hosts(), values.statuses(prior), last)}
}

// updated returns the effect of an update. changes reports whether what is registered changes.
func (r *hostedResource) updated(ctx context.Context, plan, state hostedModel, last ledger, changes bool) effect {
	after, before := plan.lifecycle(), state.lifecycle()
	e := effect{id: plan.Identifier(ctx).ValueString(), adopts: after.AdoptExisting.ValueBool(), ensure: after.ensures()}
	e.prior, _ = reference.InventoryOf(state.HostsMap(ctx), r.supplier(state)) // invalid addresses are reported elsewhere
	e.next, _ = reference.InventoryOf(plan.HostsMap(ctx), r.supplier(state))
	unreachable := reference.MaxUnreachableOf(r.platform, after.MaxUnreachable, e.next.Len())
	statuses, kept := diagnose.Within(unreachable.Hosts, before.statuses(e.prior)), e.next.Pick(e.prior.Has)
	e.steps = wantedOf(before, after, changes).stepsOn(kept, func(host fleet.Host) situation {
		return situationOf(statuses[host.WithoutSupplier()], last, host)
	})
	e.steps[register] = append(e.next.Without(e.prior), e.steps[register]...)
	e.leaves = after.leave().of(e.prior.Without(e.next), statuses, last)
	return e
}

// of returns what is done to hosts that leave, sorted by what is known of them.
func (how leave) of(hosts []fleet.Host, statuses map[fleet.HostID]diagnose.HostStatus, last ledger) leaves {
	l := leaves{leave: how, hosts: hosts}
	for _, host := range hosts {
		switch code := statuses[host.WithoutSupplier()].Code; {
		case code == fleet.NotRegistered:
			l.refused = append(l.refused, host)
		case unproven(code), last.isOvertaken(host):
			l.unsure = append(l.unsure, host)
		}
	}
	return l
}

// operating adds the hosts on which the operation of on_update will run, as the update decides it.
func (e effect) operating(operation fleet.Operation, still remains) effect {
	e.operation = operation
	e.operated = fleet.Where(e.touched(), func(host fleet.Host) bool { _, due := still.on(host); return due && e.prior.Has(host) })
	return e
}

// renames reports whether hosts that come may be hosts that go, under another name.
func (e effect) renames() bool { return len(fleet.OtherForm(e.leaves.hosts, e.next.Hosts())) > 0 }

// unnamed returns the effect while it is unknown which hosts are renamed.
func (e effect) unnamed() effect {
	e.steps = maps.Clone(e.steps)
	e.steps[rename], e.leaves.going = fleet.OtherForm(e.next.Without(e.prior), e.leaves.hosts), fleet.OtherForm(e.leaves.hosts, e.next.Hosts())
	coming, going := fleet.SetOf(e.steps[rename]), fleet.SetOf(e.leaves.going)
	e.steps[register] = fleet.Where(e.steps[register], func(host fleet.Host) bool { return !coming[host] })
	for _, hosts := range []*[]fleet.Host{&e.leaves.hosts, &e.leaves.unsure, &e.leaves.refused} {
		*hosts = fleet.Where(*hosts, func(host fleet.Host) bool { return !going[host] })
	}
	return e
}

// comparing returns the effect of an update that looks at all hosts that stay before it decides.
func (e effect) comparing() effect {
	stays := make(steps)
	for which, hosts := range e.steps {
		stays[which] = fleet.Where(hosts, func(host fleet.Host) bool { return !e.prior.Has(host) })
	}
	stays[compare] = e.next.Pick(e.prior.Has)
	e.steps = stays
	return e
}

// callsNothing reports whether no host is called. describe then returns "".
func (e effect) callsNothing() bool {
	return !slices.ContainsFunc(slices.Concat(e.brings(), e.leaves.parts()), part.calls)
}

// describe returns the effect in the words of rollout_plan: a line for each thing that is done, and one for the
// waves. It returns "" if nothing is done.
func (e effect) describe(rollout fleet.Rollout) string {
	lines, last := linesOf(e.next, e.brings()), linesOf(e.prior, e.leaves.parts())
	if len(lines) > 0 {
		lines = append(lines, wavesOf(rollout, e.next, e.touched())...)
	}
	if len(last) > 0 {
		if len(lines) > 0 {
			last[0] = "then " + last[0]
		}
		lines = append(append(lines, last...), wavesOf(rollout, e.prior, e.leaves.hosts)...)
	}
	return diagnose.Lines(lines)
}

// part is one thing that is done, and the hosts to which it is done.
type part struct {
	does  string
	hosts []fleet.Host
}

func (p part) calls() bool { return len(p.hosts) > 0 }

// linesOf returns the lines of parts. Consecutive parts with the same hosts share a line, which names the hosts
// once.
func linesOf(inventory fleet.Inventory, parts []part) []string {
	var lines []string
	before, named := []fleet.Host(nil), ""
	for _, p := range parts {
		if !p.calls() {
			continue
		}
		hosts := fleet.In(inventory.Hosts(), fleet.SetOf(p.hosts)) // in the order of their keys
		does := p.does + " " + diagnose.Hosts(len(hosts))
		if i := len(lines) - 1; slices.Equal(before, hosts) {
			lines[i] = strings.TrimSuffix(lines[i], named) + ", " + does + named
			continue
		}
		before, named = hosts, ": "+keysOf(inventory, hosts)
		lines = append(lines, does+named)
	}
	return lines
}

// brings returns what is done to hosts that stay or come, in the order in which it is done. Registering a host
// includes hosting the process there, as far as ensure asks for it.
func (e effect) brings() []part {
	var hosted, started []fleet.Host
	come := "register"
	if e.adopts {
		come = "register or take over"
	}
	if e.ensure != fleet.EnsureRegistered {
		hosted = e.steps.of(compare, settle)
		if e.adopts {
			hosted = append(e.steps.of(register, rename), hosted...)
		}
	}
	if e.ensure == fleet.EnsureRunning {
		started = e.steps.of(touching...)
	}
	return []part{
		{come, e.steps[register]},
		{"register what is nobody else's on", e.steps[registerUnowned]},
		{"rename or register", e.steps[rename]},
		{"register anew what differs on", e.steps[compare]},
		{"register anew", e.steps[reregister]},
		{string(e.operation) + " what runs on", e.operated},
		{"host what is not hosted on", hosted},
		{"start what does not run on", started},
	}
}

// parts returns what is done to hosts that leave.
func (l leaves) parts() []part {
	const ours = " what is this resource's on"
	ends, unregister := wordsOf(l.first), wordsOf(fleet.DestroyUnregister)
	if l.forget {
		ends, unregister = ends+" or forget", unregister+" or forget"
	}
	unproven := slices.Concat(l.unsure, l.refused)
	unsure := fleet.SetOf(unproven)
	sure := fleet.Where(l.hosts, func(host fleet.Host) bool { return !unsure[host] })
	going := part{ends + " what is not renamed on", l.going}
	if ends == unregister {
		return []part{{ends, sure}, {ends + ours, unproven}, going}
	}
	return []part{{ends, sure}, {ends + ours, l.unsure}, {unregister + ours, l.refused}, going}
}

// touching are the steps that call a host.
var touching = append(slices.Clone(registering), rename, compare, reregister, settle)

// touched returns the hosts that are called, in the order of their keys.
func (e effect) touched() []fleet.Host {
	return fleet.In(e.next.Hosts(), fleet.SetOf(e.steps.of(touching...)))
}

// wavesOf returns a line that says in which waves hosts go, or none for a single wave.
func wavesOf(rollout fleet.Rollout, inventory fleet.Inventory, hosts []fleet.Host) []string {
	waves := strings.TrimPrefix(diagnose.InWaves(rollout.Sizes(hosts)), " ")
	if waves == "" {
		return nil
	}
	if canary := fleet.Where(hosts, func(host fleet.Host) bool { return rollout.Canary[host] }); len(canary) > 0 && len(canary) < len(hosts) {
		waves += ", first the canary " + keysOf(inventory, canary)
	}
	return []string{waves}
}

func keysOf(inventory fleet.Inventory, hosts []fleet.Host) string {
	keys := make([]string, len(hosts))
	for i, host := range hosts {
		keys[i] = inventory.Key(host)
	}
	return diagnose.Keys(keys)
}

// safetyModel is the attribute safety, which limits how far a change may go.
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
	raiseBefore = "and apply that first: a destroy has no configuration, so what was applied last counts. " + untaint +
		". " + keyGone + ", and raise the number in the same change. " + deposed
)

// untaint is the way out of a destroy of which the provider was shown no plan.
const untaint = "Where Terraform has tainted the resource, `terraform untaint` comes before"

// deposed is the way out of a destroy that nothing can be applied before. An object that create_before_destroy has replaced
// keeps the settings that it had.
const deposed = "If it is the deposed object that create_before_destroy left, remove the resource with terraform state rm, and create it again on all of its hosts with adopt_existing = true"

// keyGone is what to do if nothing can be applied first. Terraform moves nothing to a key that is in state already.
const keyGone = "Where its key is gone from for_each, undo that first. Or, if a new key has its hosts, add a `moved` block to that key"

// unregisters returns the hosts that leave and that this object may have registered.
func (l leaves) unregisters() []fleet.Host {
	refused := fleet.SetOf(l.refused)
	return fleet.Where(l.hosts, func(host fleet.Host) bool { return !refused[host] })
}

// within returns an error for each safety limit that the effect exceeds.
func (e effect) within(ctx context.Context, safety types.Object, raise string) diag.Diagnostics {
	m, diags := safetyOf(ctx, safety)
	for _, limit := range []struct {
		name, does string
		value      types.String
		hosts      []fleet.Host
	}{
		{"max_removed_hosts", "unregisters", m.MaxRemovedHosts, e.leaves.unregisters()},
		{"max_changed_hosts", "registers something else on", m.MaxChangedHosts, e.changed},
	} {
		tolerance, err := fleet.ParseTolerance(limit.value.ValueString())
		if err != nil || len(limit.hosts) <= tolerance.Of(e.prior.Len()) {
			continue
		}
		diags.AddError("Change Goes Too Far", fmt.Sprintf("%s: this change %s %s, and safety.%s = %q allows %d: %s. "+
			"If that is what you want, set safety.%[4]s to %[8]d or more %[9]s.",
			e.id, limit.does, diagnose.CountHosts(len(limit.hosts), e.prior.Len()), limit.name, limit.value.ValueString(), tolerance.Of(e.prior.Len()),
			keysOf(e.prior, limit.hosts), len(limit.hosts), raise))
	}
	return diags
}

// forbidden returns an error if any of these forbids destroying or replacing the object. A replacement may begin with
// the destroy, before limits are known that are unknown in the plan: those in state hold as well. If no host is to be
// unregistered, there is nothing to protect.
func (e effect) forbidden(ctx context.Context, safeties ...types.Object) diag.Diagnostics {
	if len(e.leaves.unregisters()) == 0 {
		return nil
	}
	var diags diag.Diagnostics
	protects := false
	for _, safety := range safeties {
		m, d := safetyOf(ctx, safety)
		diags.Append(d...)
		protects = protects || m.DeletionProtection.ValueBool()
	}
	if protects {
		diags.AddError("Deletion Protected", fmt.Sprintf("%s is protected by safety.deletion_protection, and this would unregister %s: %s. If Terraform has tainted the "+
			"resource, run `terraform untaint` first: then the next apply is an update. If unregistering is what you want, set safety.deletion_protection = false and apply "+
			"that before. "+keyGone+", with safety.max_removed_hosts raised in the same change if hosts leave: then it is not destroyed. "+deposed+".",
			e.id, diagnose.Hosts(len(e.leaves.hosts)), keysOf(e.prior, e.leaves.hosts)))
	}
	for _, safety := range safeties {
		if !diags.HasError() {
			diags.Append(e.within(ctx, safety, raiseBefore)...)
		}
	}
	return diags
}

// owned warns of hosts that another owner has registered: their update fails as long as that is so. statuses
// are what state says of hosts.
func (e effect) owned(adopt types.Bool, statuses map[fleet.HostID]diagnose.HostStatus) diag.Diagnostics {
	if len(e.steps[registerUnowned]) == 0 || adopt.IsUnknown() {
		return nil
	}
	rows, unread := make(fleet.Results, len(e.steps[registerUnowned])), ""
	for _, host := range e.steps[registerUnowned] {
		status := statuses[host.WithoutSupplier()]
		rows[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: status.WithoutAdvice()}
		if status.OwnerUnread() {
			unread = " Where who registered it could not be read, apply again before you decide."
		}
	}
	return diag.Diagnostics{diagnose.About(path.Root("adopt_existing"), diag.NewWarningDiagnostic("Hosts Of Another Owner", fmt.Sprintf(
		"%s is registered by somebody else on %s, and adopt_existing is not set. The apply leaves these hosts alone, and ends with an error while that is so.\n\n%s\n"+
			"If an owner is named, another bk_hosted_process has the host: take it out of hosts in one of the two. If none is named, set adopt_existing = true to take it "+
			"over, or take it out of hosts.%s",
		e.id, diagnose.CountHosts(len(rows), e.next.Len()), diagnose.Rows(e.next, rows), unread)))}
}

// fewHosts is how many hosts may be changed at once without a warning.
const fewHosts = 100

// manyAtOnce warns of a change of many hosts without waves: all agents get the new spec before the first host
// has shown that it works.
func (e effect) manyAtOnce(plan *lifecycleModel) diag.Diagnostics {
	hosts, inventory, does := e.changed, e.next, "registered with something else"
	if ends := e.leaves.first.Operation(); len(hosts) <= fewHosts && ends != "" {
		hosts, inventory, does = e.leaves.hosts, e.prior, "unregistered, with on_destroy = \""+string(ends)+"\","
	}
	if len(hosts) <= fewHosts || plan.Rollout.IsUnknown() || reference.HasWaves(plan.Rollout) {
		return nil
	}
	return diag.Diagnostics{diagnose.About(path.Root("rollout"), diag.NewWarningDiagnostic("Many Hosts At Once", fmt.Sprintf(
		"%s: %d hosts are %s at the same time: %s. With waves, the first ones that fail end it before it reaches the others: set "+
			`rollout = { waves = ["1", "10%%"] }, for example. If all at once is what you want, waves = ["100%%"] says so.`,
		e.id, len(hosts), does, keysOf(inventory, hosts))))}
}

// warnings returns the warnings of a plan that changes or removes hosts.
func (e effect) warnings(plan *lifecycleModel) diag.Diagnostics {
	if many := e.manyAtOnce(plan); len(many) > 0 {
		return many
	}
	return e.unlimited(plan.Safety, noLimit, limitRemoved)
}

// unlimited warns if more than one host leaves and no safety limits that. limit says what to set. Terraform
// prints only the first of several warnings with one summary, so for the first destroys of a plan, which have no
// rollout_plan, the summary names the process (see destroyTitle).
func (e effect) unlimited(safety types.Object, summary, limit string) diag.Diagnostics {
	if len(e.leaves.hosts) < 2 || !safety.IsNull() {
		return nil
	}
	return diag.Diagnostics{diagnose.About(path.Root("safety"), diag.NewWarningDiagnostic(summary, fmt.Sprintf(
		"%s: %s. No safety limits how many hosts may leave: %s", e.id, strings.Join(linesOf(e.prior, e.leaves.parts()), "; "), limit)))}
}

// What to set in safety, for a plan that removes hosts and for a destroy.
const (
	noLimit        = "Hosts Leave Without A Limit"
	limitRemoved   = `with safety = { max_removed_hosts = "1" }, for example, a plan that removes more is refused.`
	limitDestroyed = `with safety = { deletion_protection = true }, applied before, a destroy is refused.`
)

// replaced warns of a replacement. It says what is done, and whether the process runs meanwhile. next is the
// effect of the create.
func (e effect) replaced(next effect) diag.Diagnostics {
	if len(e.leaves.hosts) == 0 {
		return nil
	}
	meanwhile := "In between and after that, the old process goes on running where it runs, and no agent restarts it when it dies. " +
		`To have it stopped, set on_destroy = "stop" and apply that first.`
	if e.leaves.first.Operation() != "" {
		switch next.ensure {
		case fleet.EnsureRunning:
			meanwhile = "In between, the process does not run; then it is started. "
		case fleet.EnsureRegistered, fleet.EnsureHosted:
			meanwhile = fmt.Sprintf("In between and after that, the process does not run: with ensure = %q nothing starts it. ", next.ensure)
		default: // unknown until the apply
			meanwhile = "In between, the process does not run. "
		}
		meanwhile += `To leave it running, set on_destroy = "unregister" and apply that first.`
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Hosted Process Is Replaced: "+e.id, fmt.Sprintf(
		"%s: first %s; then %s. %s With create_before_destroy in lifecycle, the new process comes first.",
		e.id, strings.Join(linesOf(e.prior, e.leaves.parts()), "; "), strings.Join(linesOf(next.next, next.brings()), "; "), meanwhile))}
}
