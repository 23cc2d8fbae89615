// Package faultmatrix runs every operation with every fault of the platform and of the network that can
// affect it. It checks what is reported, what state has, and what was sent. It also checks what the next
// plan and apply do once the fault is gone. MATRIX.md is rendered from the same table.
package faultmatrix

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

type faultRun struct {
	t        *testing.T
	sim      *providertest.Sim
	face     face
	on       operation
	fault    fault
	cell     cell
	settings map[string]any // for the run that meets the fault
	kept     *providertest.Kept
	pids     []int // of the processes before the fault, if a row compares them

	asked atomic.Int64              // how often results were polled since the deadline was set
	over  atomic.Pointer[untilThen] // the deadline
}

// TestFaultMatrix runs every fault with every operation that it can affect, and checks what is reported, what state has and what was sent,
// and the next plan and apply once the fault is gone. With -short, as in make test, each face has a third of the cells.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	cells := matrixCells()
	if testing.Short() {
		cells = inTurn(cells)
	}
	atOnce(t, cells)
}

// atOnce runs cells, more of them concurrently than t.Parallel would, since all of them mostly wait for answers.
func atOnce[C interface {
	name() string
	Run(t *testing.T)
}](t *testing.T, cells []C) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for _, c := range cells {
		group.Go(func() error {
			t.Run(c.name(), c.Run)
			return nil
		})
	}
	_ = group.Wait()
}

// inTurn returns cells in which each operation meets each fault through one of the faces, which
// alternate over the operations and over the faults.
func inTurn(cells []matrixCell) []matrixCell {
	type meeting struct {
		fault string
		on    operation
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
	case onStatus, onCached:
		run.Status()
	case onImport, onList:
		run.find()
	default:
		run.change(run)
	}
	if c.fault.after != nil {
		c.fault.after(run)
	}
}

// way is how a cell is run: in the provider's protocol, or with a CLI.
type way interface {
	// applies applies what an operation needs first, and expects no message.
	applies(operation)
	// meets lets the operation meet the fault, and returns the diagnostics and the state after it.
	meets() met
	// next plans and applies once the fault is gone, and expects this kind of plan.
	next(want providertest.PlanKind)
	// settled expects an empty plan.
	settled()
}

type met struct {
	said           providertest.Diagnostics
	hosts, reasons map[string]string
}

func (r *faultRun) change(by way) {
	if before := r.setUp(); before != "" {
		by.applies(before)
	}
	m := by.meets()
	r.expectSaid(m.said)
	r.expectTries()
	r.expectState(m.hosts, m.reasons)
	acted := r.acted()
	if r.cell.ending == refused {
		clear(acted) // it was done by an earlier declaration
	}
	r.Repair()
	kind := r.nextPlan(acted)
	by.next(kind)
	same(r.t, "hosts that the next apply changes", r.nextTouched(acted), r.touched())
	if kind != providertest.PlanNothing {
		by.settled()
	}
	r.expectConverged(acted)
}

func (r *faultRun) applies(o operation) {
	if _, said := r.Run(r.sim.SettingsFor(r.face)).Apply(r.config(o)); len(said) > 0 {
		r.t.Fatalf("before the fault: %s", said)
	}
}

func (r *faultRun) meets() met {
	core, said := r.meet()
	return met{said, providertest.Texts(core.Attribute("hosts")), providertest.Texts(core.Attribute(r.reasonsName()))}
}

func (r *faultRun) next(want providertest.PlanKind) {
	kind, said := r.Run(r.sim.SettingsFor(r.face)).Apply(r.config(r.on))
	providertest.Check(r.t, kind == want && r.quiet(said), "the next plan: %s, want %s; its apply says:\n%s", kind, want, said)
}

func (r *faultRun) settled() {
	p, said := r.Run(r.sim.SettingsFor(r.face)).Plan(r.config(r.on))
	providertest.Check(r.t, p.Action == providertest.PlanNothing && len(said) == 0, "the plan after the next apply: %s\n%s", p.Action, said)
}

// setUp prepares the platform, and returns the operation that is to be applied first, or "".
func (r *faultRun) setUp() (before operation) {
	switch r.on {
	case onRead, onAsk, onUpdate, onDelete, onReadOwner:
		return onCreate
	case onReadRun, onKeepRun:
		return onRun
	case onStop, onKill, onRestart, onReload:
		r.startAll()
	default: // nothing exists yet
	}
	return ""
}

func (r *faultRun) Run(settings map[string]any) *providertest.Core {
	fresh := func() *providertest.Protocol { return providertest.ConfiguredWith(r.t, settings) }
	core := fresh().CoreOf(r.face.TypeName(r.on), r.kept)
	core.Fresh = fresh
	return core
}

func (r *faultRun) meet() (*providertest.Core, providertest.Diagnostics) {
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
	if r.on == onReadOwner {
		return core, core.DestroyUnrefreshed()
	}
	_, said := core.Apply(config)
	return core, said
}

// deadline starts to count polls, if the cell's time is to be up. The last one ends the returned context, without a clock.
func (r *faultRun) deadline() context.Context {
	if !r.cell.timeUp {
		return nil
	}
	ctx := &untilThen{Context: context.WithoutCancel(r.t.Context()), then: make(chan struct{})}
	r.over.Store(ctx)
	return ctx
}

// enough is the number of polls without a result for which there is time.
const enough = 4

func (r *faultRun) count(call simulator.Call) {
	at, over := *r.face.Target(r.on), r.over.Load()
	if !r.face.Answers(r.on) {
		at.API = r.face.ResultAPI()
	}
	about := at.Op == nil || call.Op == *at.Op || call.Op == -1 // -1: the task is unknown to the platform
	if over != nil && call.API == at.API && about && r.asked.Add(1) == enough {
		over.end()
	}
}

func (r *faultRun) FailHosts() {
	if r.on == onAsk { // a host without a row looks unregistered
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

// aim points a fault at the call that the operation depends on, and at the hosts that the row hits.
func (r *faultRun) aim(f *simulator.Fault) {
	at := r.face.Target(r.on)
	f.API, f.Op = at.API, at.Op
	if r.fault.hit != nil {
		f.Hosts = r.addresses(r.fault.hit)
	}
}

func (r *faultRun) Repair() {
	r.sim.Repair()
	if r.fault.gone != nil {
		r.fault.gone(r)
		r.sim.ResetCalls()
	}
}

func (r *faultRun) config(o operation) map[string]any {
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
		hosts[providertest.HostKey(n)] = r.addressFor(o, n)
	}
	config["hosts"] = hosts
	switch o {
	case onStatus:
	case onCached:
		config["mode"] = "cached"
	case onHost:
		config["ensure"] = "hosted"
	case onRun, onReadRun, onKeepRun:
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

func (r *faultRun) startAll() {
	r.registerAll()
	r.each(r.sim.StartProcess)
}

func (r *faultRun) registerAll() {
	r.each(func(address, namespace, name string) error {
		return r.sim.Register(address, namespace, name, nil, "{}")
	})
}

func (r *faultRun) each(do func(address, namespace, name string) error) {
	namespace, name := r.face.Process()
	for _, address := range r.addresses(providertest.HostNumbers(r.hosts())) {
		providertest.NoError(r.t, do(address, namespace, name))
	}
}

func (r *faultRun) second(do func(address, namespace, name string) error) {
	namespace, name := r.face.Process()
	providertest.NoError(r.t, do(r.address(2), namespace, name))
}

func (r *faultRun) unregisterSecond() {
	r.second(r.sim.Unhost)
	r.second(r.sim.Unregister)
}

// untilThen is a context whose deadline is reached when end is called, at once also for all contexts below it.
type untilThen struct {
	context.Context
	then chan struct{}

	mu    sync.Mutex
	below []func()
}

func (c *untilThen) Done() <-chan struct{} { return c.then }

func (c *untilThen) Err() error {
	select {
	case <-c.then:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// AfterFunc is called by package context for contexts below this one. Without it a goroutine would end them, later.
func (c *untilThen) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.below = append(c.below, f)
	return func() bool { return false } // it has ended already
}

func (c *untilThen) end() {
	close(c.then)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.below {
		f()
	}
}
