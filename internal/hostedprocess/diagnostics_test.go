package hostedprocess

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

func TestCreatePartial(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 3)
	h := hostedProcess{Target: reference.Target{
		Title: diagnose.ProcessTitle("web", "nginx"), Hosts: inventory, ImportAdvice: " Or import.",
	}}
	failures := fleet.Results{hosts[1]: {
		Verdict: fleet.Failed, AlreadyDone: true, Code: 850, Meaning: "the process is registered already", Left: fleet.RegisteredByOther, RequestID: "r1",
	}}
	want := `Process "nginx" in namespace "web" is not as declared on 1 of 3 hosts, which are in out_of_sync.

  h02 (0:10.0.0.2): 850, the process is registered already

Request: r1

The next plan shows an update that retries these hosts alone.

Where it is registered already, somebody else did that; such a host is neither changed nor unregistered. Set adopt_existing = true to take those hosts over, or take them out of hosts.`
	if diff := cmp.Diff(want, createPartial(h, failures, reference.PartialWarn, "").Detail()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := h.statusesOf(failures, nil)[hosts[1].WithoutSupplier()].String(); got != "registered_by_other: 850, the process is registered already; set adopt_existing = true to take it over" {
		t.Errorf("status %q", got)
	}
}

// A refresh tells anew what it finds, and keeps why an apply failed.
func TestDriftStatuses_texts(t *testing.T) {
	t.Parallel()
	_, hosts := fleettest.Inventory(t, 1)
	var (
		id      = hosts[0].WithoutSupplier()
		neither = fleet.Report{
			Drift:   map[fleet.Host]fleet.Code{hosts[0]: fleet.NotHosted},
			Differs: map[fleet.Host][]fleet.Code{hosts[0]: {fleet.NotHosted, fleet.NotRunning}},
		}
	)
	for before, want := range map[string]string{
		"":                       "not_hosted: not running, not hosted",
		"not_hosted: not hosted": "not_hosted: not running, not hosted",
		"not_hosted: 117, the agent is abnormal or not found: agent is away": "not_hosted: 117, the agent is abnormal or not found: agent is away",
		"not_running: not running": "not_hosted: not running, not hosted",
	} {
		known := make(map[fleet.HostID]diagnose.HostStatus)
		if before != "" {
			known[id] = diagnose.ParseHostStatus(before, fleet.NotRegistered)
		}
		if got := driftStatuses(hosts, neither, fleet.Desired{}, ledger{}, known)[id].String(); got != want {
			t.Errorf("state that says %q says %q after a refresh, want %q", before, got, want)
		}
	}
}

func TestHostedDiagnostics(t *testing.T) {
	t.Parallel()
	inventory, hosts := fleettest.Inventory(t, 3)
	h := hostedProcess{Target: reference.Target{
		ID: "web:nginx", Title: diagnose.ProcessTitle("web", "nginx"), Hosts: inventory, ImportAdvice: " Or import it.",
	}}
	away := fleet.Results{hosts[1]: {
		Verdict: fleet.Failed, Code: 117, Meaning: "the agent is abnormal or not found", Message: "agent is away", Left: fleet.NotRegistered, RequestID: "r1",
	}}
	taken := fleet.Results{hosts[1]: {Verdict: fleet.Failed, AlreadyDone: true, Code: 850, Left: fleet.RegisteredByOther}}
	unread := fleet.Results{hosts[1]: {Verdict: fleet.Failed, AlreadyDone: true, Unread: true, Code: 850, Meaning: "by whom could not be read", Left: fleet.RegisteredByOther}}
	unanswered := away[hosts[1]]
	unanswered.Unreachable = true
	silentOnes := fleet.Results{hosts[1]: unanswered}
	unconfirmed := fleet.Results{hosts[1]: away[hosts[1]]}
	o := unconfirmed[hosts[1]]
	o.Left = fleet.OperationUnconfirmed
	unconfirmed[hosts[1]] = o
	const title, again = `Process "nginx" in namespace "web" `, "\nFix the cause and apply again: only these hosts are called."
	const row = "  h02 (0:10.0.0.2): 117, the agent is abnormal or not found\n      agent is away\n\nRequest: r1\n"
	unseen := func(operation, more string) string {
		return title + "is not as declared on 1 of 2 hosts of this update.\n\n" + row + again + "\n\n" +
			"Where nobody saw how the " + operation + " ended, the next apply asks the platform for its result first, and waits for it where it is still under way. " +
			"Where the platform tells nothing of it, it is sent again if the process has the same pid as before" + more + ". " +
			"To leave such hosts alone, apply once with on_update = \"register\"."
	}
	silent := fleet.Status{State: fleet.Unknown, Code: 117, Message: "away"}
	one, both := map[fleet.Host]fleet.Status{hosts[2]: silent}, map[fleet.Host]fleet.Status{hosts[1]: silent, hosts[2]: silent}
	never := map[fleet.HostID]diagnose.HostStatus{hosts[2].WithoutSupplier(): {Code: fleet.NotRegistered}}
	outOfSync := map[fleet.HostID]diagnose.HostStatus{hosts[2].WithoutSupplier(): {Code: fleet.OtherSpec}}
	for name, c := range map[string]struct {
		got           diag.Diagnostic
		summary, want string
	}{
		"create-failed": {
			createFailed(h, away), "Unable to Register Hosted Process",
			title + "could not be registered on 1 of 3 hosts.\n\n" + row +
				"\nFix the cause and apply again. Nothing was saved, so the next apply begins anew.",
		},
		"create-taken": {
			createFailed(h, taken), "Unable to Register Hosted Process",
			title + "could not be registered on 1 of 3 hosts.\n\n  h02 (0:10.0.0.2): 850\n\n" +
				"Fix the cause and apply again. Nothing was saved, so the next apply begins anew." + takenAdvice(taken) + " Or import it.",
		},
		"create-unread": {
			createFailed(h, unread), "Unable to Register Hosted Process",
			title + "could not be registered on 1 of 3 hosts.\n\n  h02 (0:10.0.0.2): 850, by whom could not be read\n\n" +
				"Fix the cause and apply again. Nothing was saved, so the next apply begins anew.\n\n" +
				"Where it could not be read who registered it, the host is neither changed nor unregistered. Apply again later: the cached " +
				"status may be minutes late. Or set adopt_existing = true to take such hosts over, whoever registered them, or take them out of hosts. Or import it.",
		},
		"update-not-sent": {
			updateFailed(h, 2, fleet.Results{hosts[1]: {Verdict: fleet.NotTried, Err: context.DeadlineExceeded}}, fleet.Restart, ""), "Unable to Update Hosted Process",
			title + "is not as declared on 1 of 2 hosts (1 not tried) of this update.\n\n  h02 (0:10.0.0.2): not tried: the time was up before it was sent\n\nTime ran out. " +
				"If the platform is just slow, raise the timeouts of this object, or rollout.wave_timeout.\n" + again,
		},
		"create-partial-as-error": {
			createPartial(h, away, reference.PartialError, ""), "Hosted Process Created In Part",
			title + "is not as declared on 1 of 3 hosts, which are in out_of_sync.\n\n" + row +
				"\nBecause on_partial_create is \"error\", Terraform now taints the resource and the next apply unregisters all hosts first. " +
				"`terraform untaint` of this resource makes the next apply retry these hosts alone.",
		},
		"update-failed": {
			updateFailed(h, 2, away, "", ""), "Unable to Update Hosted Process",
			title + "is not as declared on 1 of 2 hosts of this update.\n\n" + row + again,
		},
		"update-unconfirmed":        {updateFailed(h, 2, unconfirmed, fleet.Restart, ""), "Unable to Update Hosted Process", unseen("restart", "")},
		"update-unconfirmed-reload": {updateFailed(h, 2, unconfirmed, fleet.Reload, ""), "Unable to Update Hosted Process", unseen("reload", ", which a reload may well leave")},
		"release-silent": {
			releaseFailed(h, inventory, 3, silentOnes, "be destroyed", diagnose.DestroyedAlone, goneDestroyed), "Unable to Unregister Hosted Process",
			title + "could not be unregistered on 1 of 3 hosts that were to be destroyed.\n\n" + row +
				"\nFix the cause and destroy again: only these hosts are called.\n\nIf a machine is gone for good, set forget_unreachable = true to remove it from state " +
				"without an answer of its agent: reduce hosts to the hosts named above, apply, and destroy again. With all of its hosts, that apply would register the others anew.",
		},
		"release-failed": {
			releaseFailed(h, inventory, 3, away, "be destroyed", diagnose.DestroyedAlone, goneDestroyed), "Unable to Unregister Hosted Process",
			title + "could not be unregistered on 1 of 3 hosts that were to be destroyed.\n\n" + row +
				"\nFix the cause and destroy again: only these hosts are called.",
		},
		"unreachable": {
			unreachable(h, one, nil, ""),
			"Agents Not Reachable",
			title + "looks changed on 1 of 3 hosts whose agents could not be asked, so that is not taken for drift and state is kept.\n\n  h03 (0:10.0.0.3): 117, away\n\nCheck the agents on these hosts.",
		},
		"unreachable-never-registered": {
			unreachable(h, one, never, ""),
			"Agents Not Reachable",
			title + "is not registered on 1 of 3 hosts whose agents could not be asked, so that is not taken for drift and state is kept.\n\n  h03 (0:10.0.0.3): 117, away\n\nCheck the agents on these hosts.",
		},
		"unreachable-out-of-sync": {
			unreachable(h, one, outOfSync, ""),
			"Agents Not Reachable",
			title + "is out of sync on 1 of 3 hosts whose agents could not be asked, so out_of_sync is kept as it was.\n\n  h03 (0:10.0.0.3): 117, away\n\nCheck the agents on these hosts.",
		},
		"unreachable-some-out-of-sync": {
			unreachable(h, both, outOfSync, ""),
			"Agents Not Reachable",
			title + "looks changed or is out of sync on 2 of 3 hosts whose agents could not be asked, so out_of_sync is kept as it was.\n\n  h02, h03 (2 hosts): 117, away\n\nCheck the agents on these hosts.",
		},
		"unreachable-some-never-registered": {
			unreachable(h, both, never, ""),
			"Agents Not Reachable",
			title + "looks changed or is not registered on 2 of 3 hosts whose agents could not be asked, so that is not taken for drift and state is kept.\n\n  h02, h03 (2 hosts): 117, away\n\nCheck the agents on these hosts.",
		},
	} {
		severity := diag.SeverityError
		if c.summary == "Agents Not Reachable" {
			severity = diag.SeverityWarning
		}
		if c.got.Severity() != severity || c.got.Summary() != c.summary {
			t.Errorf("%s: %s %q, want %s %q", name, c.got.Severity(), c.got.Summary(), severity, c.summary)
		}
		if diff := cmp.Diff(c.want, c.got.Detail()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
