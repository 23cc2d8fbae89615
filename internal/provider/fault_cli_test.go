package provider

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// cliCells are the cells that every run takes through a real CLI, by name, each with
// the plan that comes after. They are one of each operation, and of each ending by
// each face.
var cliCells = map[string]planKind{
	"403/esb/create":                      planCreate,
	"403/esb/refresh":                     planNothing,
	"agent-away/esb/create":               planUpdate,
	"agent-away/esb/update":               planUpdate,
	"agent-away/esb/destroy":              planDestroy,
	"agent-away/esb/refresh-agents-asked": planNothing,
	"agent-away/esb/status":               planNothing,
	"agent-away/esb/create-hosted":        planUpdate,
	"certificate-expired/esb/update":      planUpdate,
	"closed-after/esb/create":             planReplace,
	"closed-after/esb/destroy":            planNothing,
	"closed-after/esb/start":              planUpdate,
	"closed-after/esb/restart":            planUpdate,
	"closed-after/esb/status-cached":      planNothing,
	"command-failed/esb/create-running":   planUpdate,
	"host-twice/esb/update":               planUpdate,
	"pending-for-ever/esb/destroy":        planDestroy,
	"poison/esb/create":                   planCreate,
	"unregistered/esb/refresh":            planUpdate,

	"403/apigw/create-result-asked-for":         planNothing,
	"403/apigw/status":                          planNothing,
	"404/apigw/refresh":                         planNothing,
	"agent-away/apigw/update":                   planUpdate,
	"closed-after/apigw/create":                 planReplace,
	"closed-after/apigw/start-result-asked-for": planUpdate,
	"command-failed/apigw/kill":                 planUpdate,
	"cpu-zero/apigw/create":                     planCreate,
	"stopped-at-console/apigw/refresh-running":  planUpdate,
	"stopped-during-plan/apigw/update-running":  planNothing,
	"queued/apigw/start":                        planNothing,
	"unregistered/apigw/refresh":                planUpdate,

	"403/job/destroy":            planDestroy,
	"404-job/job/create":         planCreate,
	"agent-away/job/refresh":     planNothing,
	"closed-after/job/create":    planReplace,
	"command-failed/job/start":   planUpdate,
	"command-failed/job/reload":  planUpdate,
	"command-failed/job/stop":    planUpdate,
	"job-no-pid-path/job/create": planCreate,
	"login-page/job/refresh":     planNothing,
	"pending/job/start":          planNothing,
	"unregistered/job/refresh":   planUpdate,
}

// The choice holds one of each operation, and of each ending by each face that has it.
func TestFaultMatrix_cliCells(t *testing.T) {
	t.Parallel()
	missing, left := make(map[string]bool), maps.Clone(cliCells)
	kinds := func(c matrixCell) []string {
		return []string{string(c.on), fmt.Sprintf("%s by %s", c.cell.ending, c.by)}
	}
	for _, c := range matrixCells() {
		if !c.on.onCLI() {
			continue
		}
		for _, kind := range kinds(c) {
			missing[kind] = true
		}
	}
	for _, c := range matrixCells() {
		if _, chosen := cliCells[c.name()]; !chosen {
			continue
		}
		delete(left, c.name())
		for _, kind := range kinds(c) {
			delete(missing, kind)
		}
	}
	if len(missing) > 0 || len(left) > 0 {
		t.Errorf("not chosen: %v; chosen, and not in the matrix: %v", slices.Sorted(maps.Keys(missing)), slices.Sorted(maps.Keys(left)))
	}
}

// What the driver of TestFaultMatrix takes Terraform to do is what a CLI does: exit
// codes, messages, state and the next plan.
//
// The long job takes every cell through it: BK_TEST_FAULTS=all does.
func TestAccFaultMatrix(t *testing.T) {
	t.Parallel()
	if face(testGateway) != faceESB {
		t.Skip("the matrix has all faces by itself, and a run through the ESB takes them")
	}
	every := os.Getenv("BK_TEST_FAULTS")
	if every != "" && every != "all" {
		t.Fatalf("BK_TEST_FAULTS is %q, and can be all or nothing", every)
	}
	for _, c := range matrixCells() {
		if _, ok := cliCells[c.name()]; !c.on.onCLI() || (!ok && every == "") {
			continue
		}
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			c.runCLI(t)
		})
	}
}

func (c matrixCell) runCLI(t *testing.T) {
	t.Helper()
	cli, sim := newEmptyCLI(t), newSim(t)
	run := &cliRun{cli: cli, faultRun: &faultRun{t: t, sim: sim, face: c.by, on: c.on, fault: c.fault, cell: c.cell, settings: sim.settingsFor(c.by)}}
	if c.fault.prepare != nil {
		c.fault.prepare(run.faultRun)
	}
	if c.on.reads() {
		run.status()
	} else {
		next := run.change()
		if want, ok := cliCells[c.name()]; ok && next != want {
			t.Errorf("the next plan: %s, want %s", next, want)
		}
	}
	if c.fault.after != nil {
		c.fault.after(run.faultRun)
	}
}

// cliRun is a cell on its way through a CLI.
type cliRun struct {
	*faultRun
	cli *testCLI
}

// change runs an operation on a resource, and gives what the plan after it does.
func (r *cliRun) change() planKind {
	r.t.Helper()
	r.begin()
	met := r.meet()
	r.expectSaid(met.said)
	r.expectTries()
	attributes, status := r.cli.inState()
	if r.on.refreshes() && met.code != 1 {
		attributes = r.cli.planned("plan")
	}
	r.expectState(texts(attributes["hosts"]), texts(attributes[r.reasonsName()]))
	if tainted := status == "tainted"; tainted != (r.cell.ending == taints) {
		r.t.Errorf("the status in state is %q", status)
	}
	acted := r.acted()
	if r.cell.ending == refused {
		clear(acted) // what an earlier declaration did is not this one's
	}
	r.mend()

	r.configure(r.on, r.config(r.on), r.sim.settingsFor(r.face))
	kind := r.nextPlan(acted)
	r.expectPlan(kind)
	if kind != planNothing {
		if applied := r.cli.tell("apply", "plan"); applied.code != 0 || len(applied.said) > 0 {
			r.t.Errorf("the next apply exits with %d\n%s", applied.code, applied.text)
		}
	}
	if diff := gocmp.Diff(r.nextTouched(acted), r.touched()); diff != "" {
		r.t.Errorf("hosts that the next apply changes (-want +got):\n%s\ncalls: %v", diff, r.sim.changes())
	}
	if kind != planNothing {
		r.expectPlan(planNothing)
	}
	r.expectConverged(acted)
	return kind
}

// expectPlan plans, keeps the plan and wants what it does.
func (r *cliRun) expectPlan(kind planKind) {
	r.t.Helper()
	args := []string{"plan", "-detailed-exitcode", "-out=plan"}
	if r.on == onDelete {
		args = append(args, "-destroy")
	}
	code := kind.exitCode()
	if planned := r.cli.tell(args...); planned.code != code || planned.action != kind || len(planned.said) > 0 {
		r.t.Errorf("the plan exits with %d, want %d; its action: %s, want %s\n%s", planned.code, code, planned.action, kind, planned.text)
	}
}

// Begin brings the process to where the operation starts from.
func (r *cliRun) begin() {
	r.t.Helper()
	before := r.setUp()
	if before == "" {
		return
	}
	r.configure(before, r.config(before), r.sim.settingsFor(r.face))
	if begun := r.cli.tell("apply", "-auto-approve"); begun.code != 0 || len(begun.said) > 0 {
		r.t.Fatalf("before the fault: %s", begun.text)
	}
}

// meet lets the operation meet the fault.
func (r *cliRun) meet() printed {
	r.t.Helper()
	r.sim.ResetCalls()
	r.inject()
	r.configure(r.on, r.declared(), r.settings)
	args := r.command()
	if args[0] == "plan" {
		args = append(args, "-out=plan")
	}
	var planned printed
	if r.fault.between != nil {
		plan := []string{"plan", "-out=plan"}
		if r.on == onDelete {
			plan = append(plan, "-destroy")
		}
		planned = r.cli.tell(plan...)
		r.fault.between(r.faultRun)
	}
	met := r.cli.tell(args...)
	if r.fault.between != nil {
		met.action, met.said = planned.action, append(planned.said, met.said...)
	}
	if want := r.exitCode(); met.code != want {
		r.t.Errorf("%s exits with %d, want %d\n%s", strings.Join(args, " "), met.code, want, met.text)
	}
	if want := r.meetingPlan(); met.action != want {
		r.t.Errorf("%s plans: %s, want %s\n%s", strings.Join(args, " "), met.action, want, met.text)
	}
	if r.cell.tries == enough && r.cell.timeUp {
		// A real clock says how often there is time to ask: more than once, that is.
		r.cell.tries = max(2, len(r.face.target(r.on).calls(r.sim.Calls())))
	}
	return met
}

// meetingPlan is the plan of the run that meets the fault.
func (r *cliRun) meetingPlan() planKind {
	switch {
	case r.cell.ending == drifts:
		return planUpdate
	case r.cell.ending == stays, r.cell.ending == refused, r.on.refreshes(), r.on.reads():
		return planNothing
	case r.on.updates():
		return planUpdate
	case r.on == onDelete:
		return planDestroy
	default:
		return planCreate
	}
}

// status reads the data source, in a plan.
func (r *cliRun) status() {
	r.t.Helper()
	r.startAll()
	r.sim.ResetCalls()
	met := r.meet()
	r.expectSaid(met.said)
	r.expectTries()
	var values map[string]any
	if met.code == 0 {
		values = r.cli.planned("plan")
	}
	r.expectStates(values)
	r.mend()
	r.configure(r.on, r.config(r.on), r.sim.settingsFor(r.face))
	r.expectPlan(planNothing)
	r.expectRunning(r.cli.planned("plan"))
}

// configure writes the configuration of an operation.
func (r *cliRun) configure(o operation, config, settings map[string]any) {
	r.t.Helper()
	if o == onDelete {
		config = r.config(onCreate) // what is destroyed is still configured
	}
	configured := object{"resource", r.face.typeName(o), config}
	if o.reads() {
		configured.block = "data"
	}
	if r.cell.timeUp {
		configured.config["timeouts"] = map[string]any{r.on.method(): "4s"}
	}
	r.cli.configureJSON(settings, configured)
}

// command is what meets the fault.
func (r *faultRun) command() []string {
	switch {
	case r.on.refreshes(), r.on.reads():
		return []string{"plan", "-detailed-exitcode"}
	case r.fault.between != nil:
		return []string{"apply", "plan"}
	case r.on == onDelete:
		return []string{"destroy", "-auto-approve"}
	default:
		return []string{"apply", "-auto-approve"}
	}
}

func (r *faultRun) exitCode() int {
	switch r.cell.ending {
	case refused, fails, stays, taints:
		return 1
	case drifts:
		return 2
	default:
		return 0
	}
}
