package hostedprocess

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *hostedResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	model := r.newModel()
	resp.Diagnostics.Append(reference.Get(ctx, req.State, model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	state := model.lifecycle()
	resp.Diagnostics.Append(saveIdentity(ctx, resp.Identity, model)...)
	if r.platform != nil && len(r.platform.Unknown) > 0 {
		resp.Diagnostics.Append(diagnose.NotRefreshed(r.platform.Unknown))
		return
	}
	last := loadLedger(ctx, req.Private, state)
	h := r.openAs(ctx, model, last, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.Timeouts.Read, reference.DefaultReadTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	f := refresh{hostedProcess: h, known: known{last, state.statuses(h.Hosts)}, held: last.comparedWith(h), operation: state.operation()}
	if err := diagnose.UnlessInterrupted(ctx, f.inspect(ctx, loadSilent(ctx, req.Private))); err != nil {
		resp.Diagnostics.Append(diagnose.CallFailed("Unable to Read Hosted Process",
			h.Title+" could not be looked up. Its state is kept as it was.", err))
		return
	}
	if imported := !last.kept && state.Fingerprint.IsNull(); imported && h.Desired.HasSpec {
		model.setSent(h.Desired)
	}
	if last.owner != "" {
		state.Owner = types.StringValue(last.owner)
	}
	model.setWhole(ctx)
	f.compare(last.orElse(h.Desired, state.Fingerprint.ValueString()))
	if seen, changed := f.learn(); changed && last.kept {
		resp.Diagnostics.Append(seen.save(ctx, resp.Private)...)
	}
	f.unreachableSince()
	state.setStatuses(h.Hosts, h.within(f.found))
	resp.Diagnostics.Append(reference.Set(ctx, &resp.State, model)...)
	resp.Diagnostics.Append(saveSilent(ctx, req.Private, resp.Private, f.report.Unreachable)...)
	resp.Diagnostics.Append(hostedSpecWarnings(h, f.report)...)
	resp.Diagnostics.Append(f.notAnswering()...)
}

// refresh is a comparison of hosts with what was last registered.
type refresh struct {
	hostedProcess
	known // what was known before

	held      fleet.Desired   // what hosts are compared with
	operation fleet.Operation // of on_update, "" for none
	report    fleet.Report
	found     map[fleet.HostID]diagnose.HostStatus // what state says afterwards
}

// inspect compares the hosts. The agents of hosts in doubt are asked whatever the cached status shows, which may be
// older than what an apply saw. Of these hosts, state says that something is missing or not as declared. Or
// unregistering them was begun, or their agents did not answer. An outdated cached status may show an earlier
// registration of this object, by its labels. silent are hosts whose agents did not answer the last refresh.
func (f *refresh) inspect(ctx context.Context, silent map[fleet.HostID]bool) (err error) {
	hosts, inDoubt, away := f.Hosts.Hosts(), make(map[fleet.Host]bool), make(map[fleet.Host]bool)
	for _, host := range hosts {
		status := f.statuses[host.WithoutSupplier()]
		missing := unheld(status.Code) || status.Code == fleet.NotHosted || status.Code == fleet.NotRunning
		inDoubt[host] = missing || outdated(status.Code) && f.held.FingerprintLabel != "" || status.Away() || f.last.on(host).Leaving
		away[host] = status.Away() || silent[host.WithoutSupplier()]
	}
	f.report, err = fleet.Inspect(ctx, f.Process, hosts, f.held, inDoubt, away, f.last.times(hosts))
	return err
}

// notAnswering warns of the hosts whose agents did not answer, unless state says something else of them.
func (f *refresh) notAnswering() diag.Diagnostics {
	_, diags := f.judge(nil, f.found)
	allowed := len(diags) > 0
	maps.DeleteFunc(f.report.Unreachable, func(host fleet.Host, _ fleet.Status) bool {
		status := f.found[host.WithoutSupplier()]
		return status.Code != "" || allowed && status.Away()
	})
	if len(f.report.Unreachable) > 0 {
		diags.Append(unreachable(f.hostedProcess, f.report.Unreachable, f.raise(f.found)))
	}
	return diags
}

// unreachableSince adds the hosts whose agents did not answer.
func (f *refresh) unreachableSince() {
	for host, s := range f.report.Unreachable {
		id := host.WithoutSupplier()
		code, was := f.found[id].Code, f.statuses[id]
		if inDoubt := code == fleet.Unconfirmed || code == fleet.OperationUnconfirmed; !inDoubt && (s.Away || was.Away() && !s.Refused && !s.Unread) {
			said := fleet.Outcome{Verdict: fleet.Failed, Code: s.Code, Meaning: s.Message}
			f.found[id] = diagnose.Unanswered(f.platform.Clock.Now(), code, said, was)
		}
	}
}

// learn returns the ledger after the refresh, and whether that is another one.
func (f *refresh) learn() (seen ledger, changed bool) {
	seen, changed = f.last.seen(f.Desired, f.Hosts.Hosts(), f.report.Cached, f.report.Live)
	f.overtaken(seen)
	return seen, f.drifted(seen) || changed
}

// overtaken adds the hosts that are as declared, but that another object has registered since, with the same
// declaration. seen is the ledger after the refresh.
func (f *refresh) overtaken(seen ledger) {
	for host, row := range f.report.Cached {
		_, out := f.found[host.WithoutSupplier()]
		_, unasked := f.report.Unreachable[host]
		if !out && !unasked && seen.isOvertaken(host) && seen.namesAnother(f.Desired, row) {
			f.found[host.WithoutSupplier()] = diagnose.Overtaken(row.Labels[f.Desired.OwnerLabel()])
		}
	}
}

// drifted updates the ledger for hosts on which another spec was found. What runs there is then unknown,
// whatever was tried before, unless the process is the same and the operation would give it another pid. It
// reports whether it changed anything.
func (f *refresh) drifted(seen ledger) bool {
	if f.operation == "" {
		return false
	}
	changed := false
	for host, row := range f.report.Cached {
		id := host.WithoutSupplier()
		e, kept := seen.hosts[id]
		another := f.statuses[id].Code != fleet.OtherSpec || row.Labels != nil && !seen.ours(f.Desired, row)
		same := f.operation == fleet.Restart && e.Runs.PID > 0 && f.report.Live[host].PID == e.Runs.PID
		if !kept || !another || same || f.found[id].Code != fleet.OtherSpec {
			continue
		}
		runs := e.Runs.Redeclared(fleet.SpecUnknown)
		if runs.Spec = fleet.SpecUnknown; runs != e.Runs {
			e.Runs, changed = runs, true
			seen.hosts[id] = e
		}
	}
	return changed
}

// comparedWith returns what refreshed hosts are compared with.
func (l ledger) comparedWith(h hostedProcess) fleet.Desired {
	held := h.Desired
	switch {
	case l.kept:
		held = l.lastSent(h.Desired)
	case !h.Desired.HasSpec:
		held.FingerprintLabel = "" // this resource has registered nothing yet
	}
	return held
}

// compare finds what state says of hosts afterwards. What it said before still holds for a host that the report
// lacks. last is the ledger, or what stands for a lost one. If it is lost, the operation of on_update stays due where
// an interrupted apply has repaired everything else.
func (f *refresh) compare(last ledger) {
	f.found = make(map[fleet.HostID]diagnose.HostStatus)
	for _, host := range f.Hosts.Hosts() {
		row, held := f.report.Cached[host], f.held
		was, out := f.statuses[host.WithoutSupplier()]
		found, runs := f.driftOn(host), last.on(host).Runs
		due := runs.Due(held.Spec) && runs.Tried != fleet.TryWorked || f.operation != "" && !last.kept && mayRunAnother[was.Code]
		if !out && found.Code == "" && !due {
			continue
		}
		if was.Away() {
			was = was.AnswersAgain()
		}
		_, away := f.report.Unreachable[host]
		status := refreshed{
			was: was, found: found, away: away, row: row, made: last.on(host).made(held, row, f.report.Live[host]), alike: held.AsFound(row), ours: last.ours(held, row),
			labelled: held.FingerprintLabel != "", owner: row.Labels[held.OwnerLabel()], unsaid: !f.report.SaysHosted(host),
		}.status()
		if status.Code == "" && due { // it is registered as declared after all, but not operated
			status = diagnose.StillDue(runs)
		}
		if status.Code != "" {
			f.found[host.WithoutSupplier()] = status
		}
	}
}

// driftOn returns how a host differs from what was last registered, and who registered it if that is another
// owner. An import becomes the owner that it found.
func (f *refresh) driftOn(host fleet.Host) diagnose.HostStatus {
	differs, drifted := f.report.Drift[host]
	if !drifted {
		return diagnose.HostStatus{}
	}
	row := f.report.Cached[host]
	status := diagnose.Drifted(differs, row.Kept)
	if owner := row.Labels[f.held.OwnerLabel()]; outdated(status.Code) && f.held.OwnedByOther(row) && owner != f.last.owner {
		status.Text += fleet.ByOwner(owner)
	}
	return status
}

// silentKey is where private state keeps the hosts whose agents did not answer the last refresh. They are no drift and
// cause no plan; only the order of waves depends on them, and how long their agents are asked.
const silentKey = "silent"

func saveSilent(ctx context.Context, before reference.PrivateReader, to reference.PrivateWriter, unreachable map[fleet.Host]fleet.Status) diag.Diagnostics {
	silent := make(map[fleet.HostID]bool, len(unreachable))
	for host := range unreachable {
		silent[host.WithoutSupplier()] = true
	}
	return reference.KeepPrivate(ctx, before, to, silentKey, silent, len(silent) == 0)
}

func loadSilent(ctx context.Context, from reference.PrivateReader) map[fleet.HostID]bool {
	silent, _ := reference.LoadPrivate[map[fleet.HostID]bool](ctx, from, silentKey) // fails only for the framework's own keys
	return silent
}
