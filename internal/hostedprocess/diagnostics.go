package hostedprocess

import (
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/gse"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// createFailed is the error of a create after which nothing is registered.
func createFailed(h hostedProcess, failures fleet.Results) diag.Diagnostic {
	todo := "Fix the cause and apply again. Nothing was saved, so the next apply begins anew."
	if advice := h.takenAdvice(failures); advice != "" {
		todo += advice
		if failures.Any(func(o fleet.Outcome) bool { return o.AlreadyDone && o.Owner == "" && !h.readLater(o) }) { // not another resource's
			todo += h.ImportAdvice
		}
	}
	if failures.Any(func(o fleet.Outcome) bool { return o.Away }) {
		todo += checkAddresses
	}
	return diag.NewErrorDiagnostic("Unable to Register Hosted Process", fmt.Sprintf("%s could not be registered on %s.\n\n%s\n%s",
		h.Title, diagnose.CountFailures(failures, h.Hosts.Len()), diagnose.Rows(h.Hosts, failures), todo))
}

// createPartial reports a create that failed on some hosts. It is a warning by default: after an error,
// Terraform would unregister the hosts on which it worked.
func createPartial(h hostedProcess, failures fleet.Results, as reference.OnPartialCreate, raise string) diag.Diagnostic {
	what := fmt.Sprintf("%s is not as declared on %s, which are in out_of_sync.\n\n%s\n",
		h.Title, diagnose.CountFailures(failures, h.Hosts.Len()), diagnose.Rows(h.Hosts, failures))
	taken := h.takenAdvice(failures) + raise
	if as == reference.PartialError {
		return diag.NewErrorDiagnostic("Hosted Process Created In Part", what+"Because on_partial_create is \"error\", Terraform now taints the resource, and the next "+
			"apply unregisters all hosts first, if its safety allows that. `terraform untaint` of this resource makes the next apply retry these hosts alone."+taken)
	}
	return diag.NewWarningDiagnostic("Hosted Process Created In Part", what+
		"The next plan shows an update that retries these hosts alone."+taken)
}

// createNowhere is the error of a create after which no host is as declared. Some hosts may be registered,
// which state must remember, so Terraform taints the resource.
func createNowhere(h hostedProcess, failures fleet.Results) diag.Diagnostic {
	const todo = "Fix the cause and apply again. What is or may be registered is in state, and Terraform taints the resource: the next apply unregisters what is " +
		"there of it and begins anew, if its safety allows that. After `terraform untaint` of this resource it retries these hosts as they are."
	return diag.NewErrorDiagnostic("Unable to Create Hosted Process", fmt.Sprintf("%s is not as declared on any of its %d hosts, as far as is known.\n\n%s\n%s%s",
		h.Title, h.Hosts.Len(), diagnose.Rows(h.Hosts, failures), todo, h.takenAdvice(failures)))
}

func updateFailed(h hostedProcess, tried int, failures fleet.Results, operation fleet.Operation, raise string) diag.Diagnostic {
	todo := diagnose.RetriedAlone + h.takenAdvice(failures) + unconfirmedAdvice(failures, operation) + raise
	return diag.NewErrorDiagnostic("Unable to Update Hosted Process", fmt.Sprintf("%s is not as declared on %s of this update.\n\n%s\n%s",
		h.Title, diagnose.CountFailures(failures, tried), diagnose.Rows(h.Hosts, failures), todo))
}

// unconfirmedAdvice says what the next apply does on hosts where the end of the operation of on_update was not
// seen. It returns "" if there are none.
func unconfirmedAdvice(failures fleet.Results, operation fleet.Operation) string {
	if !failures.Any(func(o fleet.Outcome) bool { return o.Left == fleet.OperationUnconfirmed }) {
		return ""
	}
	advice := fmt.Sprintf("\n\nWhere the end of the %[1]s was not seen, the next apply first asks the platform for its result, and waits for it if it is still under way. "+
		"If the platform reports no result, the %[1]s is sent again if the process has the same pid as before", operation)
	if operation == fleet.Reload {
		advice += ", which a reload often does not change"
	}
	return advice + ". To leave such hosts alone, apply " + waived + "."
}

// advice is what to do about a machine that is gone for good. silent is for one whose agent does not answer, as the
// platform says, and never ends the advice if the platform does not say so.
type advice struct{ silent, never string }

// For a host that was to leave, and for a destroy or a replacement. After these, the hosts that were unregistered are
// still in the configuration, but no longer in state. The destroy of a tainted object goes by state alone, whatever is
// applied.
var (
	goneLeaves = advice{
		"\n\nIf a machine is gone for good, set forget_unreachable = true to remove it from state without an answer of its agent.",
		", and create it again on the other hosts with adopt_existing = true.",
	}
	goneDestroyed = advice{
		"\n\nIf a machine is gone for good, set forget_unreachable = true to remove it from state without an answer of its agent. For that, reduce " +
			"hosts to the hosts named above, declare all else as it was, and apply that, whatever it says of these hosts. Then destroy or replace it again. With all of " +
			"its hosts, that apply would register the others anew. " + untaint + ". " + deposed + ".",
		" once no other host is left in it.",
	}
)

// goneUnknown says what to do if the platform does not report that an agent does not answer.
const goneUnknown = " An agent that is still in progress (115) may be slow, and a host whose agent could not be asked is not gone: do the same again later. " +
	"If a machine is gone for good and the platform never says so (117), remove the resource with terraform state rm"

// goneKept is said if forget_unreachable is set already.
const goneKept = "\n\nforget_unreachable is set, and forgets only hosts whose agents do not answer, as the platform says (117). It forgets no host whose agent answers " +
	"when it is asked once more."

// failed is the error about hosts that could not be unregistered. purpose is what they were to do, todo what to do, and
// gone the advice about machines that may be gone for good.
func (l departure) failed(purpose, todo string, gone advice) diag.Diagnostic {
	stuck := l.results.Failures()
	open := stuck.Any(mayBeGone)
	switch {
	case l.forget && open:
		todo += goneKept + goneUnknown + gone.never
	case stuck.Any(func(o fleet.Outcome) bool { return o.Unreachable }):
		todo += gone.silent
	case open:
		todo += "\n\n" + strings.TrimSpace(goneUnknown) + gone.never
	}
	return diag.NewErrorDiagnostic("Unable to Unregister Hosted Process", fmt.Sprintf("%s could not be unregistered on %s that were to %s.\n\n%s\n%s",
		l.Title, diagnose.CountFailures(stuck, len(l.results)), purpose, diagnose.Rows(l.Hosts, stuck), todo))
}

// judge returns the failures that fail an apply, and a warning of unreachable hosts if there are no more of them
// than allowed. statuses are what is known of all hosts.
func (h hostedProcess) judge(failures fleet.Results, statuses map[fleet.HostID]diagnose.HostStatus) (fleet.Results, diag.Diagnostics) {
	away := diagnose.CountUnreachable(statuses)
	if away == 0 || away > h.unreachable.Hosts {
		return failures, nil
	}
	check := ""
	if awayUnregistered(statuses) > 0 {
		check = checkAddresses
	}
	failing := failures.Where(func(host fleet.Host, o fleet.Outcome) bool {
		return !o.Away || !statuses[host.WithoutSupplier()].Away()
	})
	return failing, diag.Diagnostics{
		diag.NewWarningDiagnostic("Agents Not Reachable", diagnose.LeftUnreachable(h.Title, h.Hosts, statuses)+
			diagnose.AllowedUnreachable(h.unreachable.Set, diagnose.KeptUnreachable)+" Once an agent answers, the next plan shows what is left to do on its host."+check),
	}
}

// takenOver warns of hosts that an apply has taken over. results are the outcomes of the apply, taken is what
// the cached status showed before, and back is what state said of hosts that another object had taken over.
func (h hostedProcess) takenOver(results fleet.Results, taken map[fleet.Host]fleet.Status, back map[fleet.Host]diagnose.HostStatus) diag.Diagnostics {
	rows := make(fleet.Results)
	for host, s := range taken {
		by := fleet.Owned{Owner: s.Labels[h.Desired.OwnerLabel()], At: s.RegisterTime}
		if !isRegistered(results[host]) || h.object.Leaves(host.WithoutSupplier(), by) { // moved within this apply
			continue
		}
		before := "registered before" + fleet.ByOwner(by.Owner)
		if s.HostedKnown && !s.Hosted && (h.Desired.Ensure != fleet.EnsureRegistered || h.Process.HostingRegisters()) {
			before += "; it was not hosted, and is now"
		}
		rows[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: before}
	}
	for host, status := range back {
		rows[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: status.Text}
	}
	if len(rows) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Hosts Taken Over: "+h.ID, fmt.Sprintf(
		"%s was registered by somebody else on %s, and this apply has taken them over.\n\n%s\n"+
			"If a resource with that owner id still names them, it plans drift at its next refresh, and its apply takes them back. Declare each host in one resource only. "+
			"If the owner is an interrupted apply of this resource, the object that it replaces (create_before_destroy), or a resource that this apply takes the host "+
			"out of, nothing needs to be done.",
		h.Title, diagnose.CountHosts(len(rows), h.Hosts.Len()), diagnose.RowsInFull(h.Hosts, rows)))}
}

// raise says which max_unreachable_hosts would have been enough. It returns "" if the present one is. For hosts
// on which nothing is registered it advises to check the address, which a larger number would only hide.
func (h hostedProcess) raise(statuses map[fleet.HostID]diagnose.HostStatus) string {
	away := diagnose.CountUnreachable(statuses)
	if away <= h.unreachable.Hosts {
		return ""
	}
	unregistered, advice := awayUnregistered(statuses), ""
	if unregistered > 0 {
		advice = checkAddresses
	}
	if unregistered < away {
		advice += diagnose.RaiseUnreachable(away, h.unreachable.Hosts, h.unreachable.Set)
	}
	return advice
}

// checkAddresses is said of hosts on which nothing is registered and whose agents do not answer: the platform
// reports the same for an address that it does not know.
const checkAddresses = "\n\nWhere nothing is registered and no agent answers, the address may be wrong: check it and its bk_cloud_id, then the agent in NodeMan."

// awayUnregistered counts the hosts whose agents do not answer and on which nothing is registered.
func awayUnregistered(statuses map[fleet.HostID]diagnose.HostStatus) int {
	never := maps.Clone(statuses)
	maps.DeleteFunc(never, func(_ fleet.HostID, s diagnose.HostStatus) bool { return s.Code != fleet.NotRegistered })
	return diagnose.CountUnreachable(never)
}

// unreachable warns of hosts that look changed, or of which JOB says nothing, and whose agents could not be asked. Hosts
// in out_of_sync are not among them.
func unreachable(h hostedProcess, hosts map[fleet.Host]fleet.Status, raise string) diag.Diagnostic {
	failures := make(fleet.Results, len(hosts))
	for host, status := range hosts {
		failures[host] = fleet.Outcome{Verdict: fleet.Failed, Code: status.Code, Meaning: status.Message}
	}
	return diag.NewWarningDiagnostic("Agents Not Reachable", fmt.Sprintf("%s may have changed on %s, and the agents there could not be asked. "+
		"That is no drift: state stays as it was.\n\n%s\nCheck the agents on these hosts in NodeMan.%s",
		h.Title, diagnose.CountHosts(len(hosts), h.Hosts.Len()), diagnose.Rows(h.Hosts, failures), raise))
}

// takenAdvice says what to do about hosts on which the process was registered already, in a paragraph for each
// case. It returns "" if there are none.
func (h hostedProcess) takenAdvice(failures fleet.Results) string {
	already := func(o fleet.Outcome) bool { return o.Verdict == fleet.Failed && o.AlreadyDone && !h.readLater(o) }
	advice := ""
	if failures.Any(func(o fleet.Outcome) bool { return already(o) && o.Owner != "" }) {
		advice += "\n\nIf an owner is named, another bk_hosted_process has the host: the one with that attribute owner. Such a host is neither changed nor unregistered. " +
			"Take it out of hosts in one of the two. adopt_existing = true is only for a resource that is gone: otherwise the two take the host from each other in turn."
	}
	if failures.Any(func(o fleet.Outcome) bool { return already(o) && o.Owner == "" }) {
		advice += "\n\nWhere it is registered already, somebody else did that; such a host is neither changed nor unregistered. " +
			"Set adopt_existing = true to take those hosts over, or take them out of hosts."
	}
	if failures.Any(h.readLater) {
		advice += "\n\nWhere it could not be read who registered it, the host is neither changed nor unregistered. Apply again later: the cached " +
			"status may be minutes late. Or set adopt_existing = true to take such hosts over, whoever registered them, or take them out of hosts."
	}
	return advice
}

// readLater reports whether a registration was in the way whose owner may be read later. Without labels, nothing shows one.
func (h hostedProcess) readLater(o fleet.Outcome) bool {
	return o.Unread && (h.Desired.FingerprintLabel != "" || o.Err != nil)
}

// listedLate ends the message of an import that finds no registration.
const listedLate = "Check the namespace, the name and the hosts. The platform's cached status may lack a registration of the last minutes: import it later, or create the " +
	"resource with adopt_existing = true, which takes over what is registered."

// importMissing reports an import of hosts on which the process is not registered. It is an error if that is
// all of them.
func importMissing(title string, named fleet.Inventory, missing []fleet.Host) diag.Diagnostic {
	if len(missing) == named.Len() {
		return diag.NewErrorDiagnostic("Hosted Process Not Found", fmt.Sprintf("%s is not registered on any of the hosts that the import names: %s. "+
			"Nothing was imported. %s", title, keysOf(named, missing), listedLate))
	}
	return diag.NewWarningDiagnostic("Hosts Imported Without Registration", fmt.Sprintf("%s is not registered on %s that the import names: %s. They are in out_of_sync, "+
		"and the next apply registers it there. To leave them out, import the others alone.\n\nThe platform's cached status may lack a registration of the last minutes. "+
		"Somebody else's is not replaced, unless adopt_existing is set.", title, diagnose.CountHosts(len(missing), named.Len()), keysOf(named, missing)))
}

// importEarlier warns of hosts that are registered under another supplier id as well.
func importEarlier(f *foundProcess) diag.Diagnostics {
	if len(f.earlier) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Hosts Registered Under Two Supplier IDs", fmt.Sprintf("%s is registered on some hosts under more than one bk_supplier_id. "+
		"The later registration is imported, and this resource leaves the earlier one alone: %s. To remove an earlier one, import it by that address into a resource of its own, and destroy that. "+
		"An agent hosts one process, and may stop hosting it then: plan this resource afterwards, and apply what that finds.",
		f.title(), diagnose.Keys(f.earlier)))}
}

// importUnplaced is the error of an import that would or may leave hosts out: a destroy would not unregister
// them.
func importUnplaced(f *foundProcess, unplaced *gse.UnplacedError) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unable to Import Hosted Process", f.title()+" may be on hosts that the platform does not name: "+
		diagnose.Sentence(unplaced.Error())+"\n\nNothing was imported, since those hosts would be missing. Import "+
		"it with all of its hosts: "+bkapi.Printable(f.id())+"@0:10.0.0.1,0:10.0.0.2.")
}

// listedInPart warns of a list that lacks rows.
func listedInPart(unplaced *gse.UnplacedError) diag.Diagnostic {
	return diag.NewWarningDiagnostic("Hosted Processes Listed In Part", diagnose.Sentence(unplaced.Error())+
		"\n\nThese rows are left out: a process may be missing from the list, or have more hosts than are listed.")
}

// hostedSpecWarnings returns the warnings of a refresh that read the agents' own files: hosts whose file could not
// be read, and entries that start the process again after it was stopped. A host whose agent does not answer
// has a warning of its own.
func hostedSpecWarnings(h hostedProcess, report fleet.Report) diag.Diagnostics {
	unread, beside := make(fleet.Results), make(fleet.Results)
	for host, status := range report.Cached {
		_, silent := report.Unreachable[host]
		switch kept := status.Kept; {
		case kept == nil || silent:
		case kept.Why != "":
			unread[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: kept.Why}
		case len(kept.Beside) > 0:
			beside[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: "its agent also hosts " + strings.Join(kept.Beside, ", ")}
		}
	}
	var diags diag.Diagnostics
	if len(unread) > 0 {
		diags.AddWarning("Hosted Spec Not Verified", fmt.Sprintf("%s: what its agents host could not be read on %s. That is not taken for drift: there only the "+
			"labels are compared.\n\n%s\nThe guide \"Verify what agents host\" lists what it needs: a script API and its permission, the path and the account in "+
			"hosted_specs. With verify = \"labels\" no file is read.", h.Title, diagnose.CountHosts(len(unread), h.Hosts.Len()), diagnose.Rows(h.Hosts, unread)))
	}
	if len(beside) > 0 {
		diags.AddWarning("Hosted Twice", fmt.Sprintf("%s has the PID file of another entry on %s. If the process is stopped, that entry starts it again.\n\n%s\n"+
			"One of the two was left behind where the name or the namespace of a running process was changed. Unregister that one alone: import its process and destroy it. If the platform "+
			"does not list that process, create it with adopt_existing = true first. Neither stops anything while on_destroy is \"unregister\".", h.Title, diagnose.CountHosts(len(beside), h.Hosts.Len()), diagnose.Rows(h.Hosts, beside)))
	}
	return diags
}

// hostedAgain warns of hosts that the last apply registered anew, and whose agents host another spec all the
// same.
func hostedAgain(does effect, statuses map[fleet.HostID]diagnose.HostStatus) diag.Diagnostics {
	hosts, found := does.prior, make(fleet.Results)
	for _, host := range hosts.Hosts() {
		if status := statuses[host.WithoutSupplier()]; status.HostedOtherwise() {
			found[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: status.Text}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic("Hosted Otherwise Again", fmt.Sprintf("%s: the last apply registered hosts anew, and this plan does so again. On %s the "+
		"agents host another spec than the declared one:\n\n%s\nEither somebody changed the agents' files since, or the agents keep these fields in their own way. "+
		"Then every apply finds the same: declare what is hosted, or set verify = \"labels\".", does.id, diagnose.CountHosts(len(found), hosts.Len()), diagnose.Rows(hosts, found)))}
}
