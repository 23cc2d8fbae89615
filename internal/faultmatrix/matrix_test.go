package faultmatrix

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// faultRun is one cell on its way.
type faultRun struct {
	t        *testing.T
	sim      *providertest.Sim
	face     providertest.Face
	on       providertest.Operation
	fault    fault
	cell     cell
	settings map[string]any // of the run that meets the fault
	kept     *providertest.Kept
	pids     []int // of the processes before the fault, where a row looks at them

	asked atomic.Int64              // so often for results, since there is a deadline
	over  atomic.Pointer[untilThen] // the deadline
}

// Every fault with every operation that it can affect: what is reported, what state has, and what was
// sent. It also tests what the next plan and apply do once the fault is gone. With -short, as in make
// test, a face has every third of them.
//
//nolint:paralleltest // the cells are parallel by another way than t.Parallel, which would keep those that wait from waiting together
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	var working, waiting errgroup.Group
	working.SetLimit(8) // more than there are processors, since all wait for answers
	cells := matrixCells()
	if testing.Short() {
		cells = inTurn(cells)
	}
	for _, c := range cells {
		group := &working
		if c.fault.slow {
			group = &waiting
		}
		group.Go(func() error {
			t.Run(c.name(), func(t *testing.T) { c.Run(t) })
			return nil
		})
	}
	_ = errors.Join(working.Wait(), waiting.Wait())
}

// inTurn are cells in which each operation meets each fault through one of the faces. Which one
// goes round, over the operations and over the faults.
func inTurn(cells []matrixCell) []matrixCell {
	type meeting struct {
		fault string
		on    providertest.Operation
	}
	met := make(map[meeting][]matrixCell)
	for _, c := range cells {
		met[meeting{c.fault.name, c.on}] = append(met[meeting{c.fault.name, c.on}], c)
	}
	var turns []matrixCell
	for row, f := range faultTable() {
		for column, on := range operations {
			if by := met[meeting{f.name, on}]; len(by) > 0 {
				turns = append(turns, by[(row+column)%len(by)])
			}
		}
	}
	return turns
}

func (c matrixCell) Run(t *testing.T) {
	t.Helper()
	sim := providertest.NewSim(t)
	run := &faultRun{t: t, sim: sim, face: c.by, on: c.on, fault: c.fault, cell: c.cell, settings: sim.SettingsFor(c.by), kept: &providertest.Kept{}}
	sim.OnCall = run.count
	if c.fault.prepare != nil {
		c.fault.prepare(run)
	}
	switch c.on {
	case providertest.OnStatus, providertest.OnCached:
		run.Status()
	case providertest.OnImport, providertest.OnList:
		run.find()
	default:
		run.change()
	}
	if c.fault.after != nil {
		c.fault.after(run)
	}
}

// change runs an operation on a resource.
func (r *faultRun) change() {
	r.t.Helper()
	r.begin()
	core, said := r.meet()
	r.expectSaid(said)
	r.expectTries()
	r.expectState(providertest.Texts(core.Attribute("hosts")), providertest.Texts(core.Attribute(r.reasonsName())))
	acted := r.acted()
	if r.cell.ending == refused {
		clear(acted) // what an earlier declaration did is not this one's
	}
	r.Repair()

	core = r.Run(r.sim.SettingsFor(r.face))
	kind, said := core.Apply(r.config(r.on))
	if want := r.nextPlan(acted); kind != want {
		r.t.Errorf("the next plan: %s, want %s", kind, want)
	}
	if len(said) > 0 {
		r.t.Errorf("the next apply says:\n%s", said)
	}
	if diff := gocmp.Diff(r.nextTouched(acted), r.touched()); diff != "" {
		r.t.Errorf("hosts that the next apply changes (-want +got):\n%s\ncalls: %v", diff, r.sim.Changes())
	}
	if kind != providertest.PlanNothing {
		if p, said := core.Plan(r.config(r.on)); p.Action != providertest.PlanNothing || len(said) > 0 {
			r.t.Errorf("the plan after the next apply: %s\n%s", p.Action, said)
		}
	}
	r.expectConverged(acted)
}

// Begin brings the process to where the operation starts from.
func (r *faultRun) begin() {
	r.t.Helper()
	if before := r.setUp(); before != "" {
		r.applyBefore(before)
	}
}

// applyBefore is an apply before the fault.
func (r *faultRun) applyBefore(o providertest.Operation) {
	r.t.Helper()
	if _, said := r.Run(r.sim.SettingsFor(r.face)).Apply(r.config(o)); len(said) > 0 {
		r.t.Fatalf("before the fault: %s", said)
	}
}

// setUp brings the platform to where the operation starts from, and gives what is to
// be applied before it, "" for nothing.
func (r *faultRun) setUp() (before providertest.Operation) {
	r.t.Helper()
	switch r.on {
	case providertest.OnRead, providertest.OnAsk, providertest.OnUpdate, providertest.OnDelete, providertest.OnReadOwner:
		return providertest.OnCreate
	case providertest.OnReadRun, providertest.OnKeepRun:
		return providertest.OnRun
	case providertest.OnStop, providertest.OnKill, providertest.OnRestart, providertest.OnReload:
		r.startAll()
	default: // nothing was there
	}
	return ""
}

// Run is a run of Terraform: a provider of its own.
func (r *faultRun) Run(settings map[string]any) *providertest.Core {
	r.t.Helper()
	fresh := func() *providertest.Protocol { return providertest.ConfiguredWith(r.t, settings) }
	core := fresh().CoreOf(r.face.TypeName(r.on), r.kept)
	core.Fresh = fresh
	return core
}

// meet lets the operation meet the fault.
func (r *faultRun) meet() (*providertest.Core, providertest.Diagnostics) {
	r.t.Helper()
	r.sim.ResetCalls()
	r.FailHosts()
	core := r.Run(r.settings)
	core.Until = r.deadline()
	if r.on.Refreshes() {
		return core, core.Refresh()
	}
	config := r.declared()
	if said := core.Validate(config); said.Failed() {
		return core, said
	}
	if r.fault.between != nil {
		core.Between = func() { r.fault.between(r) }
	}
	if r.on == providertest.OnReadOwner {
		return core, core.DestroyUnrefreshed()
	}
	_, said := core.Apply(config)
	return core, said
}

// deadline begins to count calls. If the time is up with the last of them, that call ends the context
// that it returns, without a clock.
func (r *faultRun) deadline() context.Context {
	if !r.cell.timeUp {
		return nil
	}
	ctx := &untilThen{Context: context.WithoutCancel(r.t.Context()), then: make(chan struct{})}
	r.over.Store(ctx)
	return ctx
}

// enough is how many questions without an answer there is time for.
const enough = 4

// count is given every call before it is answered.
func (r *faultRun) count(call simulator.Call) {
	at, over := *r.face.Target(r.on), r.over.Load()
	if !r.face.Answers(r.on) {
		at.API = r.face.ResultAPI()
	}
	about := at.Op == nil || call.Op == *at.Op || call.Op == -1 // of a task that the platform does not know
	if over != nil && call.API == at.API && about && r.asked.Add(1) == enough {
		over.end()
	}
}

func (r *faultRun) FailHosts() {
	if r.on == providertest.OnAsk { // a host without a row looks unregistered
		r.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: r.addresses(r.hit()), Missing: -1})
	}
	if r.fault.fault != nil {
		injected := *r.fault.fault
		r.aim(&injected)
		r.sim.Inject(injected)
	}
	if r.fault.arrange != nil {
		r.fault.arrange(r)
	}
}

// aim points a fault at what the operation depends on, and at the hosts that the
// cell says are hit.
func (r *faultRun) aim(f *simulator.Fault) {
	at := r.face.Target(r.on)
	f.API, f.Op = at.API, at.Op
	if r.fault.hit != nil {
		f.Hosts = r.addresses(r.fault.hit)
	}
}

// Repair ends the fault.
func (r *faultRun) Repair() {
	r.sim.Repair()
	if r.fault.gone != nil {
		r.fault.gone(r)
		r.sim.ResetCalls()
	}
}

// config is the configuration with which an operation is asked for, nil for a
// destroy.
func (r *faultRun) config(o providertest.Operation) map[string]any {
	if o.Destroys() {
		return nil
	}
	start := "./start.sh"
	if o.Updates() {
		start = "./other.sh"
	}
	config := r.face.Reference(start, matrixHosts)
	hosts := make(map[string]string)
	for _, n := range providertest.HostNumbers(r.hosts()) {
		if o.Updates() || !slices.Contains(r.fault.joins, n) {
			hosts[providertest.HostKey(n)] = r.addressFor(o, n)
		}
	}
	config["hosts"] = hosts
	switch o {
	case providertest.OnStatus:
	case providertest.OnCached:
		config["mode"] = "cached"
	case providertest.OnHost:
		config["ensure"] = "hosted"
	case providertest.OnRun, providertest.OnReadRun, providertest.OnKeepRun:
		config["ensure"] = "running"
	default:
		if o.Operates() {
			config["operation"] = providertest.Commands[o].Name
		} else {
			config["ensure"] = "registered"
		}
	}
	if r.fault.oneShot {
		setAutoType(config, 2)
	}
	if r.fault.always {
		r.fault.declare(config)
	}
	return config
}

// declared is the configuration of the run that meets the fault.
func (r *faultRun) declared() map[string]any {
	config := r.config(r.on)
	if r.fault.declare != nil && config != nil {
		r.fault.declare(config)
	}
	return config
}

func (r *faultRun) hit() []int {
	if r.fault.hit == nil {
		return providertest.HostNumbers(r.hosts())
	}
	return r.fault.hit
}

// startAll has the process run on every host, hosted.
func (r *faultRun) startAll() {
	r.t.Helper()
	namespace, name := r.Process()
	r.each(func(address string) error {
		return errors.Join(r.sim.Register(address, namespace, name, nil, "{}"), r.sim.StartProcess(address, namespace, name))
	})
}

// each does something on every host.
func (r *faultRun) each(do func(address string) error) {
	r.t.Helper()
	for _, address := range r.addresses(providertest.HostNumbers(r.hosts())) {
		if err := do(address); err != nil {
			r.t.Fatal(err)
		}
	}
}
