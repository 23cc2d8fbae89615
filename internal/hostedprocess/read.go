package hostedprocess

import (
	"context"
	"maps"
	"slices"

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
	// This comes first, because a state without identity (an older Terraform, or OpenTofu before 1.12) must not
	// fail if the resource turns out to be gone.
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
	held := last.comparedWith(h)
	report, err := fleet.Inspect(ctx, h.Process, h.Hosts.Hosts(), held, inDoubt(h.Hosts.Hosts(), held, state.statuses(h.Hosts)), last.times(h.Hosts.Hosts()))
	if err = diagnose.UnlessInterrupted(ctx, err); err != nil {
		resp.Diagnostics.Append(diagnose.CallFailed("Unable to Read Hosted Process",
			h.Title+" could not be looked up. Its state is kept as it was.", err))
		return
	}
	if model.vanishes() && gone(ctx, h, report, state, last) {
		resp.State.RemoveResource(ctx)
		return
	}
	if imported := !last.kept && state.Fingerprint.IsNull(); imported {
		resp.Diagnostics.Append(r.completeImport(ctx, model, h, last, report)...)
	}
	if last.owner != "" {
		state.Owner = types.StringValue(last.owner)
	}
	model.setWhole(ctx)
	operation := state.operation()
	statuses := driftStatuses(h.Hosts.Hosts(), report, held, last.orElse(h.Desired, state.Fingerprint.ValueString()), state.statuses(h.Hosts), operation != "")
	seen, changed := last.seen(h.Desired, h.Hosts.Hosts(), report.Cached, report.Live)
	seen.overtaken(h, report, statuses)
	if operation != "" && seen.drifted(h, operation, report, statuses, state.statuses(h.Hosts)) {
		changed = true
	}
	if changed && last.kept {
		resp.Diagnostics.Append(seen.save(ctx, resp.Private)...)
	}
	h.unreachableSince(statuses, report, state.statuses(h.Hosts))
	state.setStatuses(h.Hosts, h.within(statuses))
	resp.Diagnostics.Append(reference.Set(ctx, &resp.State, model)...)
	resp.Diagnostics.Append(saveSilent(ctx, req.Private, resp.Private, report.Unreachable)...)
	resp.Diagnostics.Append(hostedSpecWarnings(h, report)...)
	resp.Diagnostics.Append(h.notAnswering(report, statuses)...)
}

// notAnswering warns of the hosts whose agents did not answer, unless statuses say something else of them.
func (h hostedProcess) notAnswering(report fleet.Report, statuses map[fleet.HostID]diagnose.HostStatus) diag.Diagnostics {
	_, diags := h.judge(nil, statuses)
	allowed := len(diags) > 0
	maps.DeleteFunc(report.Unreachable, func(host fleet.Host, _ fleet.Status) bool {
		status := statuses[host.WithoutSupplier()]
		return status.Code != "" || allowed && status.Away()
	})
	if len(report.Unreachable) > 0 {
		diags.Append(unreachable(h, report.Unreachable, h.raise(statuses)))
	}
	return diags
}

// completeImport adds what the first refresh after an import learned.
func (r *hostedResource) completeImport(ctx context.Context, model hostedModel, h hostedProcess, last ledger, report fleet.Report) diag.Diagnostics {
	diags := model.complete(ctx, r.platform, h, report)
	if h.Desired.HasSpec {
		model.setSent(r.openAs(ctx, model, last, &diags).Desired)
	}
	return diags
}

// unreachableSince adds to statuses the hosts whose agents did not answer. was is what state said before.
func (h hostedProcess) unreachableSince(statuses map[fleet.HostID]diagnose.HostStatus, report fleet.Report, was map[fleet.HostID]diagnose.HostStatus) {
	for host, s := range report.Unreachable {
		id := host.WithoutSupplier()
		code := statuses[id].Code
		if inDoubt := code == fleet.Unconfirmed || code == fleet.OperationUnconfirmed; !inDoubt && (s.Away || was[id].Away() && !s.Refused && !s.Unread) {
			said := fleet.Outcome{Verdict: fleet.Failed, Code: s.Code, Meaning: s.Message}
			statuses[id] = diagnose.Unanswered(h.now(), code, said, was[id])
		}
	}
}

// overtaken adds to statuses the hosts that are as declared, but that another object has registered since, with
// the same declaration.
func (l ledger) overtaken(h hostedProcess, report fleet.Report, statuses map[fleet.HostID]diagnose.HostStatus) {
	for host, row := range report.Cached {
		_, out := statuses[host.WithoutSupplier()]
		_, unasked := report.Unreachable[host]
		if !out && !unasked && l.isOvertaken(host) && l.namesAnother(h.Desired, row) {
			statuses[host.WithoutSupplier()] = diagnose.Overtaken(row.Labels[h.Desired.OwnerLabel()])
		}
	}
}

// drifted updates the ledger for hosts on which another spec was found. What runs there is then unknown,
// whatever was tried before, unless the process is the same and the operation would give it another pid. It
// reports whether it changed anything. was is what state said before.
func (l ledger) drifted(h hostedProcess, operation fleet.Operation, report fleet.Report, statuses, was map[fleet.HostID]diagnose.HostStatus) bool {
	found := false
	for host, row := range report.Cached {
		id := host.WithoutSupplier()
		e, kept := l.hosts[id]
		another := was[id].Code != fleet.OtherSpec || row.Labels != nil && !l.ours(h.Desired, row)
		same := operation == fleet.Restart && e.Runs.PID > 0 && report.Live[host].PID == e.Runs.PID
		if !kept || !another || same || statuses[id].Code != fleet.OtherSpec {
			continue
		}
		runs := e.Runs.Redeclared(fleet.SpecUnknown)
		if runs.Spec = fleet.SpecUnknown; runs != e.Runs {
			e.Runs, found = runs, true
			l.hosts[id] = e
		}
	}
	return found
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

// gone reports whether the process is registered on no host, and can be removed from state without doing
// anything first. If the ledger is lost, what a killed apply has sent is unknown.
func gone(ctx context.Context, h hostedProcess, report fleet.Report, state *lifecycleModel, last ledger) bool {
	return last.kept && state.leave().first.Operation() == "" && agentsDecide(h, last) && allGone(report, state.statuses(h.Hosts), h) && !mayCome(ctx, h, last)
}

// inDoubt returns the hosts whose registration is unproven or not as declared, and those whose agents did not
// answer. An outdated cached status may show an earlier registration of this object, by its labels.
func inDoubt(hosts []fleet.Host, held fleet.Desired, statuses map[fleet.HostID]diagnose.HostStatus) map[fleet.Host]bool {
	doubt := make(map[fleet.Host]bool)
	for _, host := range hosts {
		status := statuses[host.WithoutSupplier()]
		doubt[host] = unproven(status.Code) || outdated(status.Code) && held.FingerprintLabel != "" || status.Away()
	}
	return doubt
}

// agentsDecide reports whether agents can show that nothing is left; a missing row in the cached status is not
// sufficient. Without a spec no agent can be asked. Some agents do not know a process that is registered but
// not hosted. An agent that has never given a registration time does not show that there is no registration.
func agentsDecide(h hostedProcess, last ledger) bool {
	untimed := func(host fleet.Host) bool { return last.on(host).At == 0 }
	return h.Desired.HasSpec && (h.Process.HostingRegisters() || h.Desired.Ensure != fleet.EnsureRegistered && !slices.ContainsFunc(h.Hosts.Hosts(), untimed))
}

// allGone reports whether nothing is left on any host. Each agent must say that it does not host the process.
// If registering is not hosting, no agent can rule out a registration whose answer was lost.
func allGone(report fleet.Report, known map[fleet.HostID]diagnose.HostStatus, h hostedProcess) bool {
	return !slices.ContainsFunc(h.Hosts.Hosts(), func(host fleet.Host) bool {
		doubtful := known[host.WithoutSupplier()].Code == fleet.Unconfirmed && !h.Process.HostingRegisters()
		return report.Drift[host] != fleet.NotRegistered || !report.Live[host].HostedKnown || doubtful
	})
}

// mayCome reports whether a request of an earlier run may still host or start the process, or has done so since
// the agents were asked.
func mayCome(ctx context.Context, h hostedProcess, last ledger) bool {
	sent := h.Process.Resume(ctx, last.hostings(h.Hosts.Hosts()), false, nil)
	if sent.Any(func(o fleet.Outcome) bool { return o.Verdict != fleet.Failed }) {
		return true
	}
	tried := h.Process.Resume(ctx, last.tries(h.Hosts.Hosts()), false, nil)
	return tried.Any(func(o fleet.Outcome) bool { return o.Verdict == fleet.Pending }) // one of which the platform says nothing may be long over
}

// driftStatuses returns what state says of hosts after a refresh. known is what it said before, and still holds
// for a host that the report lacks. operates reports whether on_update is an operation. If the ledger is lost,
// the operation stays due where an interrupted apply has repaired everything else.
func driftStatuses(hosts []fleet.Host, report fleet.Report, held fleet.Desired, last ledger, known map[fleet.HostID]diagnose.HostStatus, operates bool) map[fleet.HostID]diagnose.HostStatus {
	statuses := make(map[fleet.HostID]diagnose.HostStatus)
	for _, host := range hosts {
		row := report.Cached[host]
		was, out := known[host.WithoutSupplier()]
		found, runs := driftOn(host, report, held, last), last.on(host).Runs
		due := runs.Due(held.Spec) && runs.Tried != fleet.TryWorked || operates && !last.kept && mayRunAnother[was.Code]
		if !out && found.Code == "" && !due {
			continue
		}
		if was.Away() {
			was = was.AnswersAgain()
		}
		_, away := report.Unreachable[host]
		status := refreshed{
			was: was, found: found, away: away, row: row, made: held.MadeNow(row, report.Live[host].RegisterTime, last.on(host).At), alike: held.AsFound(row), ours: last.ours(held, row),
			labelled: held.FingerprintLabel != "", owner: row.Labels[held.OwnerLabel()],
		}.status()
		if status.Code == "" && due { // it is registered as declared after all, but not operated
			status = diagnose.StillDue(runs)
		}
		if status.Code != "" {
			statuses[host.WithoutSupplier()] = status
		}
	}
	return statuses
}

// driftOn returns how a host differs from what was last registered, and who registered it if that is another
// owner. An import becomes the owner that it found.
func driftOn(host fleet.Host, report fleet.Report, held fleet.Desired, last ledger) diagnose.HostStatus {
	drift, drifted := report.Drift[host]
	if !drifted {
		return diagnose.HostStatus{}
	}
	row := report.Cached[host]
	status := diagnose.Drifted(drift, report.Differs[host], row.Kept)
	if owner := row.Labels[held.OwnerLabel()]; outdated(status.Code) && held.OwnedByOther(row) && owner != last.owner {
		status.Text += fleet.ByOwner(owner)
	}
	return status
}
