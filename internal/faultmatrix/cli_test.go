package faultmatrix

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// cliCells are the cells that every run tests with a real CLI, by name. There is one for each way in which Terraform
// handles a failure, which does not depend on the fault or the face. TestFaultMatrix tests what the provider does.
var cliCells = []string{
	"403/apigw/status", "403/esb/destroy-owner-read", "404-job/job/create", "agent-away/apigw/create-agents-asked",
	"agent-away/esb/refresh-agents-asked", "agent-away/esb/status", "agent-away/esb/update", "closed-after/esb/create", "closed-after/esb/restart",
	"command-failed/job/start", "cpu-zero/apigw/create", "host-twice/job/status", "login-page/job/refresh", "machine-gone/esb/destroy",
	"machine-twice/apigw/update", "names-unread/apigw/update", "pending-for-ever/esb/destroy", "stopped-during-plan/esb/update-running",
	"unknown-authority/esb/destroy", "unknown-authority/esb/update", "unregistered-during-plan-esb/esb/update", "unregistered/apigw/refresh",
}

func (c matrixCell) cliRun() *cliRun {
	return &cliRun{faultRun: &faultRun{face: c.by, on: c.on, fault: c.fault, cell: c.cell}}
}

// A real CLI does what the driver of TestFaultMatrix takes Terraform to do: exit codes, messages, state and the next plan.
//
// The long job runs every cell with it (BK_TEST_FAULTS=all).
func TestAccFaultMatrix(t *testing.T) {
	t.Parallel()
	if face(providertest.Gateway) != providertest.FaceESB {
		t.Skip("the matrix has all faces itself, and runs with the ESB's acceptance tests")
	}
	every := os.Getenv("BK_TEST_FAULTS")
	if every != "" && every != "all" {
		t.Fatalf("BK_TEST_FAULTS is %q, want all, or unset", every)
	}
	chosen := 0
	for _, c := range matrixCells() {
		is := slices.Contains(cliCells, c.name())
		if is {
			chosen++
		}
		if !c.on.OnCLI() || every == "" && !is {
			continue
		}
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			c.runCLI(t)
		})
	}
	providertest.Check(t, chosen == len(cliCells), "%d of %d cells are in the matrix", chosen, len(cliCells))
}

func (c matrixCell) runCLI(t *testing.T) {
	t.Helper()
	cli, sim := providertest.NewEmptyCLI(t), providertest.NewSim(t)
	run := c.cliRun()
	run.cli, run.t, run.sim, run.settings = cli, t, sim, sim.SettingsFor(c.by)
	if c.fault.prepare != nil {
		c.fault.prepare(run.faultRun)
	}
	if c.on.Reads() {
		run.Status()
	} else {
		run.change(run)
	}
	if c.fault.after != nil {
		c.fault.after(run.faultRun)
	}
}

type cliRun struct {
	*faultRun
	cli *providertest.CLI
}

func (r *cliRun) meets() met {
	run := r.meet()
	attributes, status := r.cli.InState()
	if r.on.Refreshes() && run.Code != 1 {
		attributes = r.cli.Planned("plan")
	}
	tainted := status == "tainted"
	providertest.Check(r.t, tainted == (r.cell.ending == taints), "the status in state is %q", status)
	return met{run.Said, providertest.Texts(attributes["hosts"]), providertest.Texts(attributes[r.reasonsName()])}
}

func (r *cliRun) next(want providertest.PlanKind) {
	r.Configure(r.on, r.config(r.on), r.sim.SettingsFor(r.face))
	r.expectPlan(want)
	if want == providertest.PlanNothing {
		return
	}
	applied := r.cli.RunJSON("apply", "plan")
	providertest.Check(r.t, applied.Code == 0 && r.quiet(applied.Said), "the next apply exits with %d\n%s", applied.Code, applied.Text)
}

func (r *cliRun) settled() {
	r.expectPlan(providertest.PlanNothing)
}

func (r *cliRun) expectPlan(kind providertest.PlanKind) {
	args := []string{"plan", "-detailed-exitcode", "-out=plan"}
	if r.on.Destroys() {
		args = append(args, "-destroy")
	}
	code := kind.ExitCode()
	if planned := r.cli.RunJSON(args...); planned.Code != code || planned.Action != kind || len(planned.Said) > 0 {
		r.t.Errorf("the plan exits with %d, want %d; its action: %s, want %s\n%s", planned.Code, code, planned.Action, kind, planned.Text)
	}
}

func (r *cliRun) applies(before operation) {
	r.Configure(before, r.config(before), r.sim.SettingsFor(r.face))
	if begun := r.cli.RunJSON("apply", "-auto-approve"); begun.Code != 0 || len(begun.Said) > 0 {
		r.t.Fatalf("before the fault: %s", begun.Text)
	}
}

func (r *cliRun) meet() providertest.JSONRun {
	r.sim.ResetCalls()
	r.FailHosts()
	r.Configure(r.on, r.declared(), r.settings)
	args := r.Command()
	if args[0] == "plan" {
		args = append(args, "-out=plan")
	}
	var planned providertest.JSONRun
	if r.fault.between != nil {
		plan := []string{"plan", "-out=plan"}
		if r.on.Destroys() {
			plan = append(plan, "-destroy")
		}
		planned = r.cli.RunJSON(plan...)
		r.fault.between(r.faultRun)
	}
	met := r.cli.RunJSON(args...)
	if r.fault.between != nil {
		met.Action, met.Said = planned.Action, append(planned.Said, met.Said...)
	}
	if want := r.ExitCode(); met.Code != want {
		r.t.Errorf("%s exits with %d, want %d\n%s", strings.Join(args, " "), met.Code, want, met.Text)
	}
	if want := r.meetingPlan(); met.Action != want {
		r.t.Errorf("%s plans: %s, want %s\n%s", strings.Join(args, " "), met.Action, want, met.Text)
	}
	if r.cell.tries == enough && r.cell.timeUp {
		// With a real clock, there is time for several polls, but not for a known number.
		r.cell.tries = max(2, len(r.face.Target(r.on).Calls(r.sim.Calls())))
	}
	return met
}

func (r *cliRun) meetingPlan() providertest.PlanKind {
	switch {
	case r.cell.ending == drifts:
		return providertest.PlanUpdate
	case r.cell.ending == stays && !r.cell.planned, r.cell.ending == refused, r.on.Refreshes(), r.on.Reads():
		return providertest.PlanNothing
	case r.on.Updates():
		return providertest.PlanUpdate
	case r.on.Destroys():
		return providertest.PlanDestroy
	default:
		return providertest.PlanCreate
	}
}

func (r *cliRun) Status() {
	r.startAll()
	met := r.meet()
	r.expectSaid(met.Said)
	r.expectTries()
	var values map[string]any
	if met.Code == 0 {
		values = r.cli.Planned("plan")
	}
	r.expectStates(values)
	r.Repair()
	r.Configure(r.on, r.config(r.on), r.sim.SettingsFor(r.face))
	r.expectPlan(providertest.PlanNothing)
	r.expectRunning(r.cli.Planned("plan"))
}

func (r *cliRun) Configure(o operation, config, settings map[string]any) {
	if o.Destroys() {
		config = r.config(onCreate) // a resource that is destroyed is still configured
	}
	configured := providertest.Object{Block: "resource", Typ: r.face.TypeName(o), Config: config}
	if o.Reads() {
		configured.Block = "data"
	}
	if r.cell.timeUp {
		configured.Config["timeouts"] = map[string]any{r.on.Method(): "4s"}
	}
	r.cli.ConfigureJSON(settings, configured)
}

func (r *faultRun) Command() []string {
	switch {
	case r.on.Refreshes(), r.on.Reads():
		return []string{"plan", "-detailed-exitcode"}
	case r.fault.between != nil:
		return []string{"apply", "plan"}
	case r.on == onReadOwner:
		return []string{"destroy", "-auto-approve", "-refresh=false"}
	case r.on.Destroys():
		return []string{"destroy", "-auto-approve"}
	default:
		return []string{"apply", "-auto-approve"}
	}
}

func (r *faultRun) ExitCode() int {
	return map[ending]int{refused: 1, fails: 1, stays: 1, taints: 1, drifts: 2}[r.cell.ending]
}
