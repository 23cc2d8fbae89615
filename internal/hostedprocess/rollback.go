package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/platform"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// wantsBack reports whether the hosts that the update has changed are to get the previous declaration back: too
// many have failed, the declaration has changed, and no interrupt or deadline ended the update.
func (u *update) wantsBack(ctx context.Context, r *fleet.Reconciliation, results fleet.Results) bool {
	return u.h.rollback && ctx.Err() == nil && !r.Found().OutOfTime && r.TooManyFailed(results) && !u.last.registeredAs(u.h.Desired)
}

// canGoBack reports whether the previous declaration can be registered again as it was. It is unknown after
// an import and after the provider was killed, and its labels may be gone from the provider block.
func (u *update) canGoBack() bool {
	return u.last.kept && u.prior.Desired.HasSpec && u.last.registeredAs(u.prior.Desired)
}

// notRolledBack says why hosts keep what the update registered.
const notRolledBack = "\n\nNot rolled back, because what was registered before this update cannot be registered again as it was: nothing is known of the last apply " +
	"(as after an import, or if the provider was killed in it), or default_labels or the label's name have changed since."

// meaningBehind is said of a host that is not known to have run the previous declaration before the update.
const meaningBehind = "it did not run with the previous declaration either"

func (u *update) rollBack(ctx context.Context, r *fleet.Reconciliation) {
	found := r.Found()
	still, before := u.remains(), u.prior.Desired.Spec
	had := func(host fleet.Host) bool {
		runs, _ := still.on(host)
		_, operated := found.Operated[host] // it is operated once more on the way back
		_, unsure := found.Unsure[host]
		behind := u.statuses[host.WithoutSupplier()].Code == fleet.OtherSpec && runs.Spec != fleet.SpecUnknown && runs.Spec != before
		return !unsure && !behind && (operated || !runs.Due(before))
	}
	logged := platform.Run{Process: u.h.ID, Operation: "roll back", Keys: u.h.Hosts}
	changed := r.Changed()
	u.back = u.h.platform.Logged(ctx, logged, changed, func(ctx context.Context, _ fleet.Rollout) fleet.Results {
		return r.Back(ctx, u.prior.Desired, had)
	})
	behind := fleet.Where(changed, func(host fleet.Host) bool { return !had(host) })
	u.back.Merge(fleet.Same(behind, fleet.Outcome{Verdict: fleet.NotTried, Meaning: meaningBehind, Left: fleet.OtherSpec}))
}

// saveRolledBack saves the previous declaration. Hosts that joined stay in state, because this object owns what
// was registered there.
func (u *update) saveRolledBack(ctx context.Context, plan, before hostedModel, resp *resource.UpdateResponse) diag.Diagnostics {
	doubtful := u.failures.Where(func(_ fleet.Host, o fleet.Outcome) bool { return unconfirmed(o) })
	ours := maps.Clone(u.back)
	ours.Merge(doubtful)
	joined := fleet.Where(slices.Collect(maps.Keys(ours)), func(host fleet.Host) bool { return !u.prior.Hosts.Has(host) })

	statuses := maps.Clone(u.statuses)
	for host := range u.back {
		id := host.WithoutSupplier()
		if delete(statuses, id); u.statuses[id].Code == fleet.Unhealthy { // going back passes no gate
			statuses[id] = diagnose.HostStatus{Code: fleet.Unhealthy, Text: u.statuses[id].Text}
		}
	}
	foreign := u.failures.Where(func(_ fleet.Host, o fleet.Outcome) bool { return o.Left == fleet.RegisteredByOther })
	maps.Copy(statuses, u.h.statusesOf(foreign, nil))
	maps.Copy(statuses, u.h.statusesOf(ours.Failures(), u.statuses))

	diags := saveIdentity(ctx, resp.Identity, before)
	before.SetHosts(ctx, u.withJoined(before.HostsMap(ctx), plan.HostsMap(ctx), joined))
	hosts, _ := reference.InventoryOf(before.HostsMap(ctx), u.h.platform.Supplier)
	before.lifecycle().setStatuses(hosts, u.h.within(statuses))
	diags.Append(reference.Set(ctx, &resp.State, before)...)
	diags.Append(u.ledgerBack(hosts).save(ctx, resp.Private)...)
	diags.Append(u.rollbackError(joined))
	return append(diags, u.h.takenOver(u.results, u.found.Taken, u.retaken())...)
}

// withJoined adds hosts of the plan to those of state, under their own keys if these are free.
func (u *update) withJoined(hosts, planned reference.HostMap, joined []fleet.Host) reference.HostMap {
	all, addresses := maps.Collect(hosts.Known()), maps.Collect(planned.Known())
	for _, host := range joined {
		key := u.h.Hosts.Key(host)
		all[freeKey(all, key, host)] = addresses[key]
	}
	return reference.NewHostMap(all)
}

// ledgerBack returns the ledger with the previous declaration.
func (u *update) ledgerBack(hosts fleet.Inventory) ledger {
	now := u.last
	now.declared = u.last.after(u.h.Desired).after(u.prior.Desired)
	now.hosts = u.entries(hosts, u.failedAtLast(), u.runsBack)
	return now
}

// runsBack returns what runs on a host after going back, and what is left of the operation.
func (u *update) runsBack(host fleet.Host, before fleet.Runs) fleet.Runs {
	o, went := u.back[host]
	_, operated := u.found.Operated[host]
	switch {
	case !went:
		return before
	case operationOver(o) && before.Tried == fleet.TryWorked: // it was not seen to stay up then, nor is it now
		return fleet.Runs{PID: u.found.Running[host], Tried: fleet.TryWorked}
	case operationOver(o):
		return u.runsOn(host, before, u.found.Running[host])
	case o.Verdict == fleet.NotTried && u.results[host].OK(): // it keeps what the update did
		return fleet.Runs{Spec: u.h.Desired.Spec, PID: u.found.Running[host], Task: before.Task}
	case operated:
		return u.tried(host, o)
	default:
		before.Spec = cmp.Or(before.Spec, u.prior.Desired.Spec)
		return before.Seen(u.found.Running[host])
	}
}

// failedAtLast returns the failures of the update that going back has not repaired. A request that was sent
// while going back replaces an earlier one.
func (u *update) failedAtLast() fleet.Results {
	failures := maps.Clone(u.failures)
	for host, o := range u.back {
		switch {
		case o.OK():
			delete(failures, host)
		case o.Underway.ID != "":
			failures[host] = o
		}
	}
	return failures
}

// rollbackError says what was tried, and how it ended on each host.
func (u *update) rollbackError(joined []fleet.Host) diag.Diagnostic {
	failures := u.back.Failures()
	summary, where := "Hosted Process Rolled Back", ""
	if done := u.back.Succeeded(slices.Collect(maps.Keys(u.back))); len(done) > 0 {
		operated := ""
		if u.operation != "" && u.remains().changes() {
			operated = ", and the process was " + operatedAs[u.operation] + " by it where it ran"
		}
		where = fmt.Sprintf("Because on_failure is \"rollback\", hosts that this update had changed have the previous declaration again%s: %s.\n", operated, keysOf(u.h.Hosts, done))
	}
	if len(failures) > 0 {
		summary = "Hosted Process Rolled Back In Part"
		where += fmt.Sprintf("Not rolled back, and in out_of_sync, on %s:\n\n%s", diagnose.CountFailures(failures, len(u.back)), diagnose.Rows(u.h.Hosts, failures))
	}
	if len(u.back) == 0 {
		where = "No host had been changed by then, so there was nothing to roll back.\n"
	}
	if len(joined) > 0 {
		where += fmt.Sprintf("These hosts joined and are in state now, as the process is or may be registered there: %s.\n", keysOf(u.h.Hosts, joined))
	}
	return diag.NewErrorDiagnostic(summary, fmt.Sprintf("%s could not be updated on %s of this update.\n\n%s\n%s"+
		"\nState keeps the previous declaration, hosts that were to leave have stayed, and the next plan shows the same change again.%s",
		u.h.Title, diagnose.CountFailures(u.failures, len(u.results)), diagnose.Rows(u.h.Hosts, u.failures), where, u.h.raise(u.statusesAfter())))
}

// operatedAs says what an operation of on_update did.
var operatedAs = map[fleet.Operation]string{fleet.Reload: "reloaded", fleet.Restart: "restarted"}
