package provider

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// faultRun is one cell on its way.
type faultRun struct {
	t        *testing.T
	sim      *testSim
	face     face
	on       operation
	fault    fault
	cell     cell
	settings map[string]any // of the run that meets the fault
	kept     *kept

	asked atomic.Int64              // so often for results, since there is a deadline
	over  atomic.Pointer[untilThen] // the deadline
}

// Every fault on every operation that can meet it: what is said, what state holds,
// what was sent, and what the next plan and apply do once the fault has gone.
//
//nolint:paralleltest // the cells are parallel by another way than t.Parallel, which would keep those that wait from waiting together
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	var working, waiting errgroup.Group
	working.SetLimit(8) // more than there are processors, since all wait for answers
	for _, c := range matrixCells() {
		group := &working
		if c.fault.slow {
			group = &waiting
		}
		group.Go(func() error {
			t.Run(c.name(), func(t *testing.T) { c.run(t) })
			return nil
		})
	}
	_ = errors.Join(working.Wait(), waiting.Wait())
}

func (c matrixCell) run(t *testing.T) {
	t.Helper()
	sim := newSim(t)
	run := &faultRun{t: t, sim: sim, face: c.by, on: c.on, fault: c.fault, cell: c.cell, settings: sim.settingsFor(c.by), kept: &kept{}}
	sim.OnCall = run.count
	if c.on == onStatus {
		run.status()
		return
	}
	run.change()
}

// change runs an operation on a resource.
func (r *faultRun) change() {
	r.t.Helper()
	r.begin()
	core, said := r.meet()
	r.expectSaid(said)
	r.expectTries()
	r.expectState(texts(core.attribute("hosts")), texts(core.attribute(r.reasonsName())))
	acted := r.acted()
	r.mend()

	core = r.run(r.sim.settingsFor(r.face))
	kind, said := core.apply(r.config(r.on))
	if want := r.nextPlan(acted); kind != want {
		r.t.Errorf("the next plan: %s, want %s", kind, want)
	}
	if len(said) > 0 {
		r.t.Errorf("the next apply says:\n%s", said)
	}
	if diff := gocmp.Diff(r.nextTouched(acted), r.touched()); diff != "" {
		r.t.Errorf("hosts that the next apply changes (-want +got):\n%s\ncalls: %v", diff, r.sim.changes())
	}
	if kind != planNothing {
		if p, said := core.plan(r.config(r.on)); p.action != planNothing || len(said) > 0 {
			r.t.Errorf("the plan after the next apply: %s\n%s", p.action, said)
		}
	}
	r.expectConverged()
}

// begin brings the process to where the operation starts from.
func (r *faultRun) begin() {
	r.t.Helper()
	if !slices.Contains([]operation{onRead, onAsk, onUpdate, onDelete}, r.on) {
		return
	}
	core := r.run(r.sim.settingsFor(r.face))
	if _, said := core.apply(r.config(onCreate)); len(said) > 0 {
		r.t.Fatalf("before the fault: %s", said)
	}
}

// run is a run of Terraform: a provider of its own.
func (r *faultRun) run(settings map[string]any) *core {
	r.t.Helper()
	return configuredWith(r.t, settings).coreOf(r.face.typeName(r.on), r.kept)
}

// meet lets the operation meet the fault.
func (r *faultRun) meet() (*core, diagnostics) {
	r.t.Helper()
	r.sim.ResetCalls()
	r.inject()
	core := r.run(r.settings)
	core.until = r.deadline()
	if r.on.refreshes() {
		return core, core.refresh()
	}
	_, said := core.apply(r.config(r.on))
	return core, said
}

// deadline begins to count calls. Where the time is up with the last of them, that is
// what ends the context that it gives: no clock has a part in it.
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

// count is told of every call before it is answered.
func (r *faultRun) count(call simulator.Call) {
	at, over := *r.face.target(r.on), r.over.Load()
	if !r.face.answers(r.on) {
		at.api = r.face.resultAPI()
	}
	about := at.op == nil || call.Op == *at.op || call.Op == -1 // of a task that the platform does not know
	if over != nil && call.API == at.api && about && r.asked.Add(1) == enough {
		over.end()
	}
}

func (r *faultRun) inject() {
	if r.on == onAsk { // a host without a row looks unregistered
		r.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Hosts: testAddresses(r.hit()), Missing: -1})
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
	at := r.face.target(r.on)
	f.API, f.Op = at.api, at.op
	if r.fault.hit != nil {
		f.Hosts = testAddresses(r.fault.hit)
	}
}

// mend ends the fault.
func (r *faultRun) mend() {
	r.sim.mend()
	if r.fault.gone != nil {
		r.fault.gone(r)
		r.sim.ResetCalls()
	}
}

// config is the configuration with which an operation is asked for, nil for a
// destroy.
func (r *faultRun) config(o operation) map[string]any {
	if o == onDelete {
		return nil
	}
	start := "./start.sh"
	if o == onUpdate {
		start = "./other.sh"
	}
	config := r.face.reference(start, matrixHosts)
	switch o {
	case onOperate, onWait:
		config["operation"] = "start"
	case onStatus:
	default:
		config["ensure"] = "registered"
	}
	if r.fault.oneShot {
		setAutoType(config, 2)
	}
	return config
}

func (r *faultRun) hit() []int {
	if r.fault.hit == nil {
		return hostNumbers(matrixHosts)
	}
	return r.fault.hit
}

// startAll has the process run on every host.
func (r *faultRun) startAll() {
	r.t.Helper()
	namespace, name := r.face.process()
	for _, n := range hostNumbers(matrixHosts) {
		err := errors.Join(r.sim.Register(testAddress(n), namespace, name, nil, "{}"), r.sim.StartProcess(testAddress(n), namespace, name))
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// status reads the data source.
func (r *faultRun) status() {
	r.t.Helper()
	r.startAll()
	r.inject()
	read := func(p *protocol) (map[string]any, diagnostics) {
		return p.readData(r.face.typeName(onStatus), r.config(onStatus))
	}
	meeting := configuredWith(r.t, r.settings)
	meeting.until = r.deadline()
	values, said := read(meeting)
	r.expectSaid(said)
	r.expectTries()
	r.expectStates(values)
	r.mend()
	values, said = read(configuredWith(r.t, r.sim.settingsFor(r.face)))
	if len(said) > 0 {
		r.t.Errorf("said once the fault has gone:\n%s", said)
	}
	r.expectRunning(values)
}

// expectStates looks at what the data source gives, nothing where it failed.
func (r *faultRun) expectStates(values map[string]any) {
	r.t.Helper()
	want := keyed(hostNumbers(matrixHosts), "running")
	switch r.cell.ending {
	case fails:
		want = nil
	case warns:
		maps.Copy(want, keyed(r.hit(), "unknown"))
	default:
	}
	if diff := gocmp.Diff(want, statesOf(values)); diff != "" {
		r.t.Errorf("states (-want +got):\n%s", diff)
	}
	if changes := r.sim.changes(); len(changes) > 0 {
		r.t.Errorf("a question changed something: %v", changes)
	}
}

// expectRunning is for when the fault has gone.
func (r *faultRun) expectRunning(values map[string]any) {
	r.t.Helper()
	if diff := gocmp.Diff(keyed(hostNumbers(matrixHosts), "running"), statesOf(values)); diff != "" {
		r.t.Errorf("states once the fault has gone (-want +got):\n%s", diff)
	}
}
