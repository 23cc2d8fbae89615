package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// update brings a process from what was last applied to what is declared.
type update struct {
	known // about the prior hosts
	leave

	h, prior  hostedProcess
	want      wanted
	operation fleet.Operation           // of on_update, "" for none
	due       map[fleet.Host]fleet.Runs // where operation is to run, with what runs there
	names     renaming
	outcome
}

// renaming is the hosts that get another name.
type renaming struct {
	// old has the old names by the new ones. open has those that are still registered by the old name. dropped
	// is the outcome of the old names.
	old, open map[fleet.Host]fleet.Host
	dropped   departure
}

// outcome is what became of an update.
type outcome struct {
	did      fleet.Change
	results  fleet.Results
	failures fleet.Results // the results of hosts that are not as declared
	found    fleet.Found
	// registered are the hosts that this update has registered as declared, or has adopted as they were found.
	registered map[fleet.Host]bool
	gone       departure     // the hosts that were to leave
	stuck      fleet.Results // the ones that could not leave
	// back is the outcome of the hosts that were to get the previous declaration back, nil if the update was
	// not rolled back. cannotGoBack is true if it should have been, and could not be.
	back         fleet.Results
	cannotGoBack bool
}

// run carries out the update. An error means that nothing was begun.
func (u *update) run(ctx context.Context, diags *diag.Diagnostics) error {
	u.h.announce(u.h.Hosts.Hosts(), u.prior.Hosts.Without(u.h.Hosts), u.known)
	defer u.h.hold(ctx, u.prior.Hosts, diags, "Unable to Update Hosted Process", "left as it is")()
	u.h.checkNames(ctx, diags)
	if diags.HasError() {
		return nil
	}
	renamed, refused := u.h.renames(ctx, u.prior.Hosts, u.known)
	diags.Append(refused...)
	if diags.HasError() {
		return nil
	}
	u.gone = u.prior.departure(u.known, u.leave)
	u.names = renaming{renamed, maps.Clone(renamed), u.gone}
	u.names.dropped.results = make(fleet.Results) // a host that is renamed does not leave
	change, err := u.change(ctx)
	if err != nil {
		return err
	}
	u.did = change
	reconciling, cancel := u.beforeRelease(ctx)
	defer cancel()
	reconciliation, results := u.h.reconcile(reconciling, "update", change)
	rollback := u.wantsBack(ctx, reconciliation, results) // before keepUnsure: a host that may have been operated has not failed
	u.keepDoubt(results)
	u.keepBoth(results)
	u.markNoLongerRegistered(results)
	keepUnsure(reconciliation.Found().Unsure, results)
	u.results, u.failures, u.found = results, results.Failures(), reconciliation.Found()
	u.registered = fleet.SetOf(fleet.Where(slices.Concat(change.Register, change.Reregister, change.AsFound), func(host fleet.Host) bool {
		_, keepsOld := u.names.open[host]
		return !keepsOld && isRegistered(u.failures[host])
	}))
	u.cannotGoBack = rollback && !u.canGoBack()
	if rollback && !u.cannotGoBack {
		u.h.doubt(ctx, u.failures)
		u.rollBack(ctx, reconciliation)
		return nil // hosts leave only once the change is done
	}
	u.release(ctx, results)
	maps.DeleteFunc(u.names.open, func(now, _ fleet.Host) bool { return u.prior.Hosts.Has(now) })
	u.stuck = u.gone.results.Failures()
	return nil
}

// beforeRelease bounds the steps before hosts leave. Unless waves have a timeout of their own, these steps
// share the time of the update with the release.
func (u *update) beforeRelease(ctx context.Context) (context.Context, context.CancelFunc) {
	if u.h.rollout.WaveTimeout > 0 || len(u.prior.Hosts.Without(u.h.Hosts)) == 0 {
		return context.WithCancel(ctx)
	}
	wave := fleet.Takes(u.h.Process, fleet.Start) + fleet.Besides
	return fleet.Share(ctx, wave, wave)
}

// ledger returns the object's ledger after the update, for the hosts that are left in state.
func (u *update) ledger(left fleet.Inventory) ledger {
	return ledger{declared: u.last.after(u.h.Desired), object: u.last.object, hosts: u.entries(left, u.failures, u.runsAfter)}
}

// entries returns the ledger entries of the hosts that are left in state. Each follows from the host's previous
// entry and its outcome.
func (u *update) entries(left fleet.Inventory, failures fleet.Results, runs func(fleet.Host, fleet.Runs) fleet.Runs) map[fleet.HostID]entry {
	entries := make(map[fleet.HostID]entry, left.Len())
	for _, host := range left.Hosts() {
		e := u.last.on(host).afterApply(host, failures[host], u.found) // the zero value if it did not fail
		e.Leaving = u.gone.begun[host]
		e.Last = cmp.Or(e.Last, u.last.Fingerprint)
		if o := failures[host]; unconfirmed(o) {
			e.Before = !o.Unread && u.wasRegistered(host)
		}
		if u.registered[host] {
			e.Overtaken, e.Last = 0, u.h.Desired.Fingerprint
		}
		if o, went := u.back[host]; went && isRegistered(o) {
			e.Last = u.prior.Desired.Fingerprint
		}
		_, stuck := u.stuck[host]
		switch {
		case stuck, u.leftAlone(host): // the host was not updated
			if u.remains().changes() {
				e.Runs = e.Runs.Redeclared(u.prior.Desired.Spec)
			}
		default:
			e.Runs = runs(host, e.Runs)
		}
		if e.Runs.PID != 0 {
			e.Started = 0
		}
		entries[host.WithoutSupplier()] = e
	}
	return entries
}

// keepDoubt keeps a host uncertain if something is registered there and its owner could not be read. An earlier
// apply of this object may have sent that registration, so it need not be another object's. Without labels an
// uncertain registration counts as this object's, so a host that joins does not become uncertain.
func (u *update) keepDoubt(results fleet.Results) {
	labelled := u.h.Desired.FingerprintLabel != ""
	for host, o := range results {
		code := u.statuses[host.WithoutSupplier()].Code
		if o.Unread && code != fleet.RegisteredByOther && (labelled || u.prior.Hosts.Has(host)) {
			results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningUnread, Unread: true, Left: fleet.NotRegistered, RequestID: o.RequestID, Err: o.Err}
		}
	}
}

// keepBoth settles machines that state has by both of their names, one of which leaves and could not be unregistered.
// Nothing was done by the other name, so that host is as it was, or has the previous declaration.
func (u *update) keepBoth(results fleet.Results) {
	for now, old := range u.names.open {
		if !u.prior.Hosts.Has(now) {
			continue
		}
		o, code := results[now], u.statuses[now.WithoutSupplier()].Code
		u.gone.results[old] = o
		if o.Left = code; !unheld(code) && !u.last.registeredAs(u.h.Desired) {
			o.Left = fleet.OtherSpec
		}
		if results[now] = o; o.Left == "" {
			delete(results, now)
		}
	}
}

// wasRegistered reports whether this object was registered on a host before, by this name or the old one, whatever has
// become of that: what runs there is its own.
func (u *update) wasRegistered(host fleet.Host) bool {
	dropped, renamed := u.names.dropped.results[u.names.old[host]]
	was := u.prior.Hosts.Has(host) || renamed && dropped.OK()
	return was && u.claimOn(host)&(ownership.Registered|ownership.Overtaken) != 0
}

// markNoLongerRegistered replaces NotRegistered by NoLongerRegistered on hosts where this object was registered
// before. It does not if an answer was lost, as the host may be registered again.
func (u *update) markNoLongerRegistered(results fleet.Results) {
	for host, o := range results {
		e := u.last.on(host)
		awaited := o.Underway.ID != "" && (o.Underway == e.Task || o.Underway == e.Runs.Task) // so nothing new was sent
		known := o.Verdict == fleet.Failed && !o.Unread || o.Verdict == fleet.NotTried || awaited
		if known && o.Left == fleet.NotRegistered && u.wasRegistered(host) {
			o.Left = fleet.NoLongerRegistered
			results[host] = o
		}
	}
}

// change returns the difference that the update has to make. A host that is as declared is not in it, and so is
// not called.
func (u *update) change(ctx context.Context) (fleet.Change, error) {
	change := fleet.Change{
		// New hosts are treated as in a create, and so are new names.
		Register: u.h.Hosts.Pick(u.joins),
		Order:    u.h.Hosts.Hosts(),
		Adopt:    u.want.adopts,
		Rollout:  u.h.rollout,
	}
	if len(u.names.old) > 0 {
		change.Rename = u.dropOld
	}
	kept := u.h.Hosts.Pick(func(h fleet.Host) bool { return !u.joins(h) })
	rows, live, err := u.lookUp(ctx, kept)
	if err != nil {
		return change, err
	}
	decided := u.want.stepsOn(kept, func(host fleet.Host) situation {
		s := situationOf(u.statuses[host.WithoutSupplier()], u.last, host)
		if !u.last.kept {
			s = s.lookedUp(u.h.Desired, rows[host], live[host])
		}
		s.absent = s.absent || u.h.anyName(host, u.h.object.LeftByOther)
		return s
	})
	change.Register = append(change.Register, decided.of(registering...)...)
	change.Reregister, change.Settle = decided[reregister], decided[settle]
	for _, host := range decided[keepAsIs] {
		if u.statuses[host.WithoutSupplier()].Away() {
			change.Rollout.Unreached++
		}
	}
	u.due = u.stillDue(change.Hosts())
	change.Operation, change.Runs, change.Before = u.operation, u.due, u.last.lastSent(u.prior.Desired)
	change.Times = u.last.times(change.Settle)
	if change.Traces, err = u.traces(ctx, rows); err != nil {
		return change, err
	}
	change.Underway = u.last.hostings(change.Hosts())
	if u.prior.Desired.HasSpec {
		change.Prior = u.prior.Process
	}
	change.Sent = u.sent(kept)
	return change.FindAlike(ctx, u.h.Process, u.h.Desired), nil
}

// joins reports whether a host was not registered before by its present name.
func (u *update) joins(host fleet.Host) bool {
	_, renamed := u.names.old[host]
	return renamed || !u.prior.Hosts.Has(host)
}

// sent returns the hosts that an earlier apply has registered, or may have.
func (u *update) sent(kept []fleet.Host) map[fleet.Host]bool {
	return fleet.SetOf(fleet.Where(kept, func(host fleet.Host) bool {
		code := u.statuses[host.WithoutSupplier()].Code
		return code != fleet.NotRegistered && code != fleet.RegisteredByOther
	}))
}

// lookUp returns the cached status of hosts, and what their agents say, if their last registration is not known: in
// the first apply after an import, and after the provider was killed.
func (u *update) lookUp(ctx context.Context, hosts []fleet.Host) (rows, live map[fleet.Host]fleet.Status, _ error) {
	if u.last.kept || len(hosts) == 0 {
		return nil, nil, nil
	}
	rows, err := u.h.Process.CachedStatus(ctx, hosts)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the cached status: %w", err)
	}
	if u.h.Desired.FingerprintLabel != "" { // otherwise no row shows that a host is as declared
		live, _ = fleet.LiveStatusWithin(ctx, u.prior.Process, fleet.Aftermath, hosts) // without an answer the rows count
	}
	return fleet.WithKept(ctx, u.h.Process, u.h.Desired, hosts, rows), live, nil
}

// release unregisters the hosts that leave, by their previous declaration. The failures of the update count
// toward the limits of the rollout here as well.
func (u *update) release(ctx context.Context, done fleet.Results) {
	removed := u.gone.notReplaced(leaving(u.prior.Hosts.Without(u.h.Hosts), u.names.old))
	rollout := u.h.rollout
	if rollout.InWaves() && ctx.Err() == nil { // an interrupt is the reason for what failed
		failed := u.did.Rollout.Failed(done)
		if failed > rollout.MaxFailed.Of(len(done)) {
			u.gone.results.Merge(fleet.Same(removed, fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}))
			return
		}
		rollout.MaxFailed = fleet.UpTo(rollout.MaxFailed.Of(len(done)+len(removed)) - failed)
	}
	u.gone.release(ctx, removed, rollout)
}

// leaving returns those of the removed hosts that are not renamed.
func leaving(removed []fleet.Host, renamed map[fleet.Host]fleet.Host) []fleet.Host {
	old := fleet.SetOf(slices.Collect(maps.Values(renamed)))
	return fleet.Where(removed, func(host fleet.Host) bool { return !old[host] })
}

// stuckStatuses returns what state says of hosts that could not leave, and might come back. If this object had
// no registration there, state keeps saying so, as that decides what may be done to the host. The other hosts
// did not get a changed declaration.
func (u *update) stuckStatuses() map[fleet.HostID]diagnose.HostStatus {
	statuses := make(map[fleet.HostID]diagnose.HostStatus)
	changed := !u.last.registeredAs(u.h.Desired)
	for host, o := range u.stuck {
		id := host.WithoutSupplier()
		status, out := u.statuses[id]
		switch {
		case unheld(status.Code):
			statuses[id] = status
		case changed:
			statuses[id] = diagnose.LeftStatus(fleet.OtherSpec, o)
		case out:
			statuses[id] = status
		}
	}
	return statuses
}

// leftAlone reports whether nothing was done to a host because its agent does not answer.
func (u *update) leftAlone(host fleet.Host) bool {
	_, tried := u.results[host]
	return !tried && u.statuses[host.WithoutSupplier()].Away()
}

// statusesAfter returns what state says of the hosts after the update.
func (u *update) statusesAfter() map[fleet.HostID]diagnose.HostStatus {
	statuses := u.h.statusesOf(u.failures, u.statuses)
	for _, host := range u.h.Hosts.Hosts() {
		if u.leftAlone(host) {
			statuses[host.WithoutSupplier()] = u.statuses[host.WithoutSupplier()]
		}
	}
	maps.Copy(statuses, u.stuckStatuses())
	return statuses
}

// diagnostics returns the warnings and errors of the update. statuses is what state says after it.
func (u *update) diagnostics(statuses map[fleet.HostID]diagnose.HostStatus) diag.Diagnostics {
	diags := u.gone.warnings()
	diags.Append(u.h.takenOver(u.results, u.found.Taken, u.retaken())...)
	declared := maps.Clone(statuses)
	for host := range u.stuck { // these have an error of their own
		delete(declared, host.WithoutSupplier())
	}
	failures, warning := u.h.judge(u.failures, declared)
	diags.Append(warning...)
	if len(failures) > 0 {
		advice := u.h.raise(statuses)
		if u.cannotGoBack {
			advice += notRolledBack
		}
		diags.Append(updateFailed(u.h, len(u.results), failures, u.operation, advice))
	}
	if len(u.stuck) > 0 {
		diags.Append(u.gone.failed("leave the resource", diagnose.RetriedAlone, goneLeaves))
	}
	return diags
}

// retaken returns the hosts that another object had registered since the last apply and that this update took
// back, with what state said of them.
func (u *update) retaken() map[fleet.Host]diagnose.HostStatus {
	back := make(map[fleet.Host]diagnose.HostStatus)
	for _, host := range u.did.Reregister {
		if status := u.statuses[host.WithoutSupplier()]; u.last.isOvertaken(host) && status.Code == fleet.OtherLabels && u.results[host].OK() {
			back[host] = status
		}
	}
	return back
}

// withStuck keeps hosts in state that could not be unregistered, so that the next plan shows them leaving
// again. If the plan gave the key of one to another host, its address becomes its key. A host that could not be
// renamed keeps its old name.
func (u *update) withStuck(hosts, before reference.HostMap) reference.HostMap {
	if len(u.stuck)+len(u.names.open) == 0 {
		return hosts
	}
	all, was := maps.Collect(hosts.Known()), maps.Collect(before.Known())
	for now, old := range u.names.open {
		all[u.h.Hosts.Key(now)] = was[u.prior.Hosts.Key(old)]
	}
	for host := range u.stuck {
		key := u.prior.Hosts.Key(host)
		all[freeKey(all, key, host)] = was[key]
	}
	return reference.NewHostMap(all)
}

// freeKey returns a key for a host that stays in state: its own, or one made of its address if its own is
// taken.
func freeKey(taken map[string]string, key string, host fleet.Host) string {
	if _, found := taken[key]; !found {
		return key
	}
	key = host.String()
	for _, found := taken[key]; found; _, found = taken[key] {
		key += "+"
	}
	return key
}
