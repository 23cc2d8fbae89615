package processoperation

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// runFailed is the error for a run that failed on some hosts. todo says what to do, and
// what the next run does; again, what that does where the outcome is not known.
func runFailed(o operation, tried int, failures fleet.Results, todo, again string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summary(o.name), o.failed(tried, failures, again)+todo)
}

// createdInPart is how a first run ends that succeeded on some hosts, or was interrupted
// when it may have.
func createdInPart(o operation, failures fleet.Results, as reference.OnPartialCreate) diag.Diagnostic {
	if as == reference.PartialError {
		return diag.NewErrorDiagnostic(summary(o.name), o.failed(o.Hosts.Len(), failures, "")+
			"Because on_partial_create is \"error\", Terraform now taints the resource and the next apply runs on every host again. "+
			"`terraform untaint` of this resource makes the next apply retry these hosts alone.")
	}
	return diag.NewWarningDiagnostic(summary(o.name), o.failed(o.Hosts.Len(), failures, o.applied())+
		"The next plan shows an update that retries these hosts alone.")
}

// nothingConfirmed is the error for a first run that may have worked, and of which no
// host said so.
func nothingConfirmed(o operation, failures fleet.Results) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summary(o.name), o.failed(o.Hosts.Len(), failures, "")+
		"No host is known to have succeeded, so Terraform now taints the resource, and the next apply runs on every host again without asking. "+
		"`terraform untaint` of this resource makes the next apply ask first.")
}

// invoked is how an action ends: with nothing to say; with a warning, if no more hosts
// failed than may; or else with an error.
// What an action leaves undone is nowhere but in its message, so that names every host.
// addresses are those of the configuration, by key; inOneValue is what has to be set for
// others to be taken.
func invoked(o operation, addresses map[string]string, inOneValue string, results fleet.Results) diag.Diagnostics {
	failures := results.Failures()
	if len(failures) == 0 {
		return nil
	}
	failed := o.failed(len(results), failures, "")
	setting := ""
	if inOneValue != "" {
		setting = ", with " + inOneValue
	}
	again := diagnose.HostsArgument(reference.Only(addresses, o.Hosts, failures))
	if len(failures) <= o.rollout.MaxFailed.Of(len(results)) && !cutShort(failures) {
		return diag.Diagnostics{diag.NewWarningDiagnostic(summary(o.name), failed+
			"That is no more than rollout.max_failed_hosts allows, so the action counts as done. An action keeps no state: no later plan will "+
			"show these hosts. To invoke it on them alone"+setting+":\n\n"+again)}
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(summary(o.name), failed+
		"Fix the cause and invoke the action again. An action keeps no state: no later plan will show these hosts. To leave the others "+
		"untouched, name these alone"+setting+":\n\n"+again)}
}

// cutShort reports whether a run ended before it was through: however few hosts are
// left, that is not what max_failed_hosts allows.
func cutShort(failures fleet.Results) bool {
	for _, o := range failures {
		if o.Verdict == fleet.NotTried || fleet.Interrupted(o.Err) {
			return true
		}
	}
	return false
}

// interrupted reports whether the user ended a run.
func interrupted(failures fleet.Results) bool {
	for _, o := range failures {
		if fleet.Interrupted(o.Err) {
			return true
		}
	}
	return false
}

func summary(name fleet.Operation) string {
	return "Unable to " + diagnose.Sentence(string(name))[:len(name)] + " Process"
}

// failed says how the hosts came out of the operation, on which it failed, and why; and
// where the outcome is not known, what the next run does there.
func (o operation) failed(tried int, failures fleet.Results, again string) string {
	const doubt = "Where the outcome is not known, the operation may have run, or may still run. It is never sent again within the same run; " +
		"the status data source reports how the process is now."
	return fmt.Sprintf("%s: %s on %s.\n\n%s\n", o.Title, o.name, diagnose.CountOutcomes(failures, tried), diagnose.RowsInDoubt(o.Hosts, failures, doubt+again))
}

// applied is what the next apply does where the outcome is not known, destroyed what the
// next destroy does.
func (o operation) applied() string {
	if fleet.AsksFirst(o.name) {
		return " The next apply asks the agent there first, and acts only where it must."
	}
	return " The next apply runs the " + string(o.name) + " there again."
}

func (o operation) destroyed() string {
	return " The next destroy runs the " + string(o.name) + " there again."
}
