package hostedprocess

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func (r *hostedResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	model := r.newModel()
	resp.Diagnostics.Append(req.State.Get(ctx, model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	state := model.lifecycle()
	// First of all, because a state without identity (an older Terraform, or
	// OpenTofu before 1.12) must not fail where the resource turns out to be gone.
	identity, diags := model.resourceIdentity(ctx)
	resp.Diagnostics.Append(diags...)
	resp.Diagnostics.Append(setIdentity(ctx, resp.Identity, identity)...)
	if r.platform != nil && len(r.platform.Unknown) > 0 {
		resp.Diagnostics.Append(diagnose.NotRefreshed(r.platform.Unknown))
		return
	}
	last, everApplied, diags := loadApplied(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	h := r.open(ctx, model, &resp.Diagnostics)
	ctx, cancel := reference.WithDeadline(ctx, state.Timeouts.Read, reference.DefaultReadTimeout, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	held := h.Desired
	switch {
	case everApplied:
		held = last.held(h.Desired)
	case !h.Desired.HasSpec:
		held.FingerprintLabel = "" // nothing was registered by this resource yet
	}

	report, err := fleet.Inspect(ctx, h.Process, h.Hosts.Hosts(), held)
	if err = diagnose.UnlessInterrupted(ctx, err); err != nil {
		resp.Diagnostics.Append(diagnose.CallFailed("Unable to Read Hosted Process",
			h.Title+" could not be looked up. Its state is kept as it was.", err))
		return
	}
	if model.vanishes() && allGone(report, h.Hosts.Len()) {
		resp.State.RemoveResource(ctx)
		return
	}
	if !h.Desired.HasSpec {
		model.complete(ctx, r.platform, report)
	}
	state.OutOfSync = reference.StringMapValue(diagnose.ReasonsByKey(h.Hosts, driftReasons(report, held, last, diagnose.Reasons(reference.StringMap(state.OutOfSync), h.Hosts))))
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
	if len(report.Unreachable) > 0 {
		resp.Diagnostics.Append(unreachable(h, report.Unreachable))
	}
}

func allGone(report fleet.Report, hosts int) bool {
	gone := 0
	for _, drift := range report.Drift {
		if drift == fleet.NotRegistered {
			gone++
		}
	}
	return gone == hosts
}

// driftReasons keeps the longer story that state tells of the same drift, and
// all that a refresh cannot know better: hosts that could not be asked, owners who
// were there before us, and registrations that failed where nothing on file proves
// that they were made good.
func driftReasons(report fleet.Report, held fleet.Desired, last applied, known map[fleet.Host]string) map[fleet.Host]string {
	reasons := make(map[fleet.Host]string)
	for host, drift := range report.Drift {
		reasons[host] = string(drift)
	}
	for host, story := range known {
		found, drifted := report.Drift[host]
		_, unreachable := report.Unreachable[host]
		switch told := fleet.ParseDrift(story); {
		case unconfirmed(story) && drifted && found != fleet.NotRegistered && held.FingerprintLabel != "":
			// Whoever registered it, it was not us; or it was, with what we sent before.
			if !last.ours(held, report.Cached[host]) {
				reasons[host] = string(fleet.Foreign)
			}
		case unreachable, drifted && found == told:
			reasons[host] = story
		case told == fleet.Foreign:
			if found != fleet.NotRegistered && !held.Ours(report.Cached[host]) {
				reasons[host] = story
			}
		case told == fleet.NotRegistered, told == fleet.OtherSpec, told == fleet.OtherLabels:
			// That it is not hosted or does not run is less, and mended along with it.
			lesser := !drifted || found == fleet.NotHosted || found == fleet.NotRunning
			if lesser && !held.Ours(report.Cached[host]) {
				reasons[host] = story
			}
		}
	}
	return reasons
}
