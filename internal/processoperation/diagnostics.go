package processoperation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// runFailed returns the error for a run that failed on some hosts. todo says what to do, and what the next run
// does. again says what the next run does if the outcome is unknown.
func runFailed(o operation, results outcome, todo, again string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(summary(o.name), o.failed(results, again)+todo)
}

// createdInPart returns the diagnostic for a first run that succeeded on some hosts, or was interrupted and may
// have succeeded.
func createdInPart(o operation, results outcome, values *resourceValues) diag.Diagnostic {
	if reference.OnPartialCreate(values.OnPartialCreate.ValueString()) == reference.PartialError {
		return diag.NewErrorDiagnostic(summary(o.name), o.failed(results, "")+
			"Because on_partial_create is \"error\", Terraform now taints the resource and the next apply runs "+o.replaced(values)+". "+
			"`terraform untaint` of this resource makes the next apply retry these hosts alone.")
	}
	return diag.NewWarningDiagnostic(summary(o.name), o.failed(results, o.applied())+
		"The next plan shows an update that retries these hosts alone."+o.raise(results))
}

// nothingConfirmed returns the error for a first run that may have worked, although no host confirmed it.
func nothingConfirmed(o operation, results outcome, values *resourceValues) diag.Diagnostic {
	more := ""
	if results.leavesHosted() {
		more = ", and unhost the process where this run has hosted it"
	}
	return diag.NewErrorDiagnostic(summary(o.name), o.failed(results, "")+
		"No host is known to have succeeded, so Terraform now taints the resource, and the next apply runs "+o.replaced(values)+" without asking. "+
		"`terraform untaint` of this resource makes the next apply ask first"+more+".")
}

// replaced says what the next apply runs if the resource is tainted. Its plan does not show the on_destroy.
func (o operation) replaced(values *resourceValues) string {
	if values.OnDestroy.IsNull() {
		return "on every host again"
	}
	return fmt.Sprintf("on_destroy (%s) and then the %s on every host", values.OnDestroy.ValueString(), o.name)
}

// invoked returns the diagnostic of an action: none, a warning if no more hosts failed than allowed, or an
// error. It names all hosts that are left, since nothing else does. addresses are those of the configuration,
// by key, for each process. inOneValue is what has to be set in place of a declaration.
func invoked(o operation, addresses []map[string]string, inOneValue string, results outcome) diag.Diagnostics {
	failures := results.failures()
	if failures.count() == 0 {
		return nil
	}
	failed := o.failed(results, "")
	setting := ""
	if inOneValue != "" {
		setting = ", with " + inOneValue
	}
	var arguments []string
	for i, m := range o.members {
		if len(failures[i]) == 0 {
			continue
		}
		argument := diagnose.HostsArgument(reference.Only(addresses[i], m.Hosts, failures[i]))
		if m.name != "" {
			argument = fmt.Sprintf("  %q:\n%s", m.name, argument)
		}
		arguments = append(arguments, argument)
	}
	again := strings.Join(arguments, "\n")
	failing, away := o.judge(failures, nil, nil)
	if failing.count() == 0 {
		return away.warn(o, "the action counts as done. An action keeps no state: no later plan will show these hosts. To invoke it on them alone"+setting+":\n\n"+again)
	}
	if failing.machines() <= o.rollout.MaxFailed.Of(results.machines()) && !failing.cutShort() {
		return diag.Diagnostics{diag.NewWarningDiagnostic(summary(o.name), failed+
			"That is no more than rollout.max_failed_hosts allows, so the action counts as done. An action keeps no state: no later plan will "+
			"show these hosts. To invoke it on them alone"+setting+":\n\n"+again)}
	}
	return diag.Diagnostics{diag.NewErrorDiagnostic(summary(o.name), failed+
		"Fix the cause and invoke the action again. An action keeps no state: no later plan will show these hosts. To leave the others "+
		"untouched, name these alone"+setting+":\n\n"+again+o.raise(failing))}
}

func summary(name fleet.Operation) string {
	return "Unable to " + diagnose.WithoutStop(diagnose.Sentence(string(name))) + " Process"
}

// failed says, process by process, on which hosts the operation failed and why. again is what the next run does
// if the outcome is unknown.
func (o operation) failed(results outcome, again string) string {
	if !o.several() {
		return o.members[0].failed(o.name, results[0], again)
	}
	var text strings.Builder
	var well []string
	for _, stage := range o.stages() {
		for _, i := range stage {
			m := o.members[i]
			switch {
			case len(results[i].Failures()) > 0:
				fmt.Fprintf(&text, "%q, priority %d: %s", m.name, m.priority, m.failed(o.name, results[i], again))
			case len(results[i]) > 0:
				well = append(well, strconv.Quote(m.name))
			}
		}
	}
	if len(well) > 0 {
		fmt.Fprintf(&text, "Done on all hosts: %s.\n\n", strings.Join(well, ", "))
	}
	return text.String()
}

// failed returns the text about one process.
func (m member) failed(name fleet.Operation, results fleet.Results, again string) string {
	const doubt = "Where the outcome is not known, the operation may have run, or may still run. It is never sent again within the same run; " +
		"the status data source reports how the process is now."
	failures := results.Failures()
	return fmt.Sprintf("%s: %s on %s.\n\n%s\n", m.Title, name, diagnose.CountOutcomes(failures, len(results)), diagnose.RowsInDoubt(m.Hosts, failures, doubt+again))
}

// stages returns the members by priority, in the order in which the operation takes them.
func (o operation) stages() [][]int { return stagesOf(o.order, o.members) }

func stagesOf(order fleet.Order, members []member) [][]int {
	priorities := make([]int64, len(members))
	for i, m := range members {
		priorities[i] = m.priority
	}
	return fleet.Stages(order, priorities)
}

// applied says what the next apply does if the outcome is unknown.
func (o operation) applied() string {
	const anew = " If the platform never reports the outcome, changing triggers runs it anew on every host."
	if fleet.AsksFirst(o.name) {
		return " The next apply asks the platform and the agent there first, and acts only where it must." + anew
	}
	return " The next apply asks the platform there first, and runs the " + string(o.name) + " again where it failed or nothing is known of it." + anew
}

// givenUp says how to destroy without on_destroy. In an apply with all hosts, those that have left state would join.
const givenUp = " To leave them as they are, for instance if a machine is gone for good, `terraform state rm` of this resource forgets it and runs nothing."

// destroyed says what the next destroy does if the outcome is unknown.
func (o operation) destroyed() string {
	return " The next destroy runs the " + string(o.name) + " there again, unless the platform says that it has worked."
}
