package processoperation

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// invoked is how an action ends: with nothing to say, with a warning where no
// more hosts failed than may, else with an error.
func invoked(o processOperation, results fleet.Results) diag.Diagnostics {
	failures := results.Failures()
	if len(failures) == 0 {
		return nil
	}
	story := o.story(len(results), failures)
	if len(failures) <= o.rollout.MaxFailed && !cutShort(failures) {
		return diag.Diagnostics{diag.NewWarningDiagnostic(operationSummary(o.operation), story+
			"That is no more than rollout.max_failed_hosts allows, so the action goes for done. An action keeps nothing: no later plan will "+
			"show these hosts."+actionDoubt(failures))}
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(operationSummary(o.operation), story+
		"Mend the cause and invoke the action again, with these hosts alone in `hosts` if the others are to be left in peace. An action keeps "+
		"nothing: no later plan will show these hosts."+actionDoubt(failures))}
}

// cutShort tells whether a run ended before it was through: however few hosts are
// left, that was not what was allowed.
func cutShort(failures fleet.Results) bool {
	for _, o := range failures {
		if o.Verdict == fleet.NotTried || fleet.Interrupted(o.Err) {
			return true
		}
	}
	return false
}

func actionDoubt(failures fleet.Results) string {
	if !anyInDoubt(failures) {
		return ""
	}
	return "\n\nWhere the outcome is not known, the operation may have run or may still run. It is not sent again by itself. " +
		"The status data source tells how the process is now."
}
