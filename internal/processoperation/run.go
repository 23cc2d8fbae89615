package processoperation

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// dueHosts are the hosts on which an update has to run.
type dueHosts struct {
	hosts   []fleet.Host
	retried []fleet.Host        // those of them on which the last run failed
	unsure  map[fleet.Host]bool // those of them on which it may have worked
}

func (r *operationResource) due(plan, state operatedModel) dueHosts {
	supplier := 0
	if r.platform != nil {
		supplier = r.platform.Supplier
	}
	// Addresses were checked by the plan; what cannot be read is left out there.
	next, _ := reference.InventoryOf(*plan.HostsMap(), supplier)
	prior, _ := reference.InventoryOf(*state.HostsMap(), supplier)
	failed := diagnose.Reasons(reference.StringMap(state.run().FailedHosts), prior)
	again := !reference.SameDefinition(plan, state) || !plan.run().Operation.Equal(state.run().Operation) || !sameTriggers(plan.run().Triggers, state.run().Triggers)

	due := dueHosts{unsure: make(map[fleet.Host]bool)}
	for _, host := range next.Hosts() {
		reason, retried := failed[host]
		if retried {
			due.retried = append(due.retried, host)
			// Another operation, or the same with another spec, has not run yet.
			due.unsure[host] = !again && inDoubt(reason)
		}
		if again || retried || !prior.Has(host) {
			due.hosts = append(due.hosts, host)
		}
	}
	return due
}

// sameTriggers takes null and empty for the same: neither says anything.
func sameTriggers(a, b types.Map) bool {
	return a.Equal(b) || (len(a.Elements()) == 0 && len(b.Elements()) == 0 && !a.IsUnknown() && !b.IsUnknown())
}

// settle writes what became of a run into the model.
func (m *runModel) settle(o processOperation, results fleet.Results) {
	m.ID = types.StringValue(o.ID)
	tasks := make([]attr.Value, 0)
	for _, id := range results.TaskIDs() {
		tasks = append(tasks, types.StringValue(id))
	}
	m.TaskIDs = types.ListValueMust(types.StringType, tasks)
	m.FailedHosts = reference.StringMapValue(diagnose.ReasonsByKey(o.Hosts, diagnose.ReasonsBy(diagnose.Reason, results.Failures())))
}

// operationFailed is a run that ends with an error.
func operationFailed(o processOperation, tried int, failures fleet.Results, todo string) diag.Diagnostic {
	return diag.NewErrorDiagnostic(operationSummary(o.operation), o.story(tried, failures)+todo+doubtAdvice(failures))
}

// operationPartial is a first run that did some hosts, or may have.
func operationPartial(o processOperation, failures fleet.Results, as reference.OnPartialCreate) diag.Diagnostic {
	story := o.story(o.Hosts.Len(), failures)
	if as == reference.PartialError {
		return diag.NewErrorDiagnostic(operationSummary(o.operation), story+
			"Because on_partial_create is \"error\", Terraform now taints the resource and the next apply runs on every host again. "+
			"`terraform untaint` of this resource makes the next apply retry these hosts alone."+doubtAdvice(failures))
	}
	return diag.NewWarningDiagnostic(operationSummary(o.operation), story+
		"The next plan shows an update that retries these hosts alone."+doubtAdvice(failures))
}

func (o processOperation) story(tried int, failures fleet.Results) string {
	return fmt.Sprintf("%s: %s did not succeed on %s.\n\n%s\n",
		o.Title, o.operation, diagnose.CountHosts(len(failures), tried), diagnose.Rows(o.Hosts, failures))
}

func operationSummary(op fleet.Operation) string {
	return "Unable to " + diagnose.Sentence(string(op))[:len(op)] + " Process"
}

// doubtAdvice explains outcomes that nobody knows.
func doubtAdvice(failures fleet.Results) string {
	if !anyInDoubt(failures) {
		return ""
	}
	return "\n\nWhere the outcome is not known, the operation may have run or may still run. It is not sent again by itself. " +
		"The status data source tells how the process is now. For start, stop and kill the next apply asks first, and acts only where it must; " +
		"a restart or a reload it runs again."
}
