package faultmatrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// matrixHosts is how many hosts each cell has: web-1, web-2 and web-3.
const matrixHosts = 3

type fault struct {
	name string
	// title and says are for the page: what happens, and words that identify a message about it.
	title, says string
	pattern     *pattern
	// except has the cells that differ from the pattern.
	except map[operation]cell
	faces  []face // all, if nil

	// fault is injected into the operation's target. arrange makes further or other faults, and may change the provider
	// block of the run. gone undoes what clearing the simulator's faults does not.
	fault   *simulator.Fault
	arrange func(r *faultRun)
	gone    func(r *faultRun)
	hit     []int // host numbers, all if nil
	// tasks: the fault is about tasks, so the registrations of the ESB do not meet it. repeats is
	// how often such a registration is called instead, if it differs from the cell.
	tasks   bool
	repeats int
	oneShot bool // the process ends by itself when its work is done

	// hosts is the number of hosts in its cells, if not matrixHosts. address returns how a configuration for
	// the operation names a host, if not by its address.
	hosts   int
	address func(o operation, n int) string
	// declare changes the configuration with which the operation meets the fault. With always, it changes all of the run.
	declare func(config map[string]any)
	always  bool
	// prepare prepares the platform before anything else.
	prepare func(r *faultRun)
	// between happens between the plan and its apply.
	between func(r *faultRun)
	// state is the state of the hit hosts in a status, if it does not follow from the ending.
	state fleet.State
	// unlisted are hosts that are missing in a list.
	unlisted []int
	// sends is the API that is called instead of the operation's own.
	sends string
	// hides are texts that no message shows.
	hides []string
	// after checks what is left in the end.
	after func(r *faultRun)
}

// pattern is the result of the operations affected by a fault of one kind.
type pattern struct {
	title, about string
	// cells has the operations that can meet such a fault.
	cells map[operation]cell
	never string // why the others cannot
}

type ending string

const (
	// well: no diagnostic, and everything is as declared.
	well ending = "well"
	// fails: an error. A create and a first operation leave nothing in state; an update and a destroy leave the hosts that were hit.
	fails ending = "fails"
	// stays: an error before anything was done, and state does not change.
	stays ending = "stays"
	// warns: a create or a first operation that did something, or may have: the hosts that were hit are in state with their
	// reason. A refresh keeps state. A destroy leaves the hosts that were hit as they are and removes them from state.
	warns ending = "warns"
	// taints: an error of a create that may have registered. The affected hosts are in state with their
	// reason, and Terraform taints the resource.
	taints ending = "taints"
	// refused: an error of validation or of the plan, before any call.
	refused ending = "refused"
	// drifts: a refresh finds the hosts that were hit changed.
	drifts ending = "drifts"
)

type cell struct {
	ending ending
	says   string // part of the diagnostics, if not the fault's
	reason string // beginning of the reasons of the hit hosts, in out_of_sync or failed_hosts
	// tries is how often the target is called, 0 if no request arrives. triesBy are the exceptions.
	tries   int
	triesBy map[face]int
	// timeUp: the deadline ends when the result has been polled enough times.
	timeUp bool
	// planned: the apply refuses what the plan cannot know yet.
	planned bool
	// touches are the hosts that the next apply calls, if not the hit ones.
	touches []int
	faces   []face // of the fault's, all if nil
}

func (f fault) cell(o operation, by face) (cell, bool) {
	c, ok := f.except[o]
	if !ok {
		c, ok = f.pattern.cells[o]
	}
	// A first run that may have worked but is not confirmed by any host is an error.
	if o.Operates() && c.ending == warns && f.hit == nil && (c.reason == outcomeUnknown || c.reason == noVerdict) {
		c.ending = taints
	}
	// So is a create after which no host is as declared.
	if o.Creates() && c.ending == warns && f.hit == nil {
		c.ending = taints
	}
	if n, differs := c.triesBy[by]; differs {
		c.tries = n
	}
	if f.repeats > 0 && by.Answers(o) {
		c.tries = f.repeats
	}
	if !ok || c.ending == "" || by.Target(o) == nil || (f.tasks && by.Answers(o)) || (c.faces != nil && !slices.Contains(c.faces, by)) {
		return cell{}, false
	}
	return c, true
}

func (f fault) by() []face {
	if f.faces == nil {
		return faces
	}
	return f.faces
}

// alike returns rows with the pattern and the faces of the first, unless they have their own.
func alike(first fault, rows []fault) []fault {
	for i := range rows {
		rows[i].pattern = cmp.Or(rows[i].pattern, first.pattern)
		if rows[i].faces == nil {
			rows[i].faces = first.faces
		}
	}
	return rows
}

// injects returns a function that injects a fault into another call than the operation's own.
func injects(f simulator.Fault) func(*faultRun) {
	return func(r *faultRun) { r.sim.Inject(f) }
}

func faultTable() []fault {
	control := fault{name: "none", title: "Nothing (the control of this table)", pattern: patternControl}
	return append(slices.Concat(networkFaults(), statusFaults(), formFaults(), lateFaults(), hostFaults(), keyFaults(), idleFaults(), taskFaults(), ownerFaults(),
		ownershipFaults(), consoleFaults(), listFaults(), declaredFaults(), nameFaults(), selectorFaults()), control)
}

type (
	operation = providertest.Operation
	face      = providertest.Face
)

const (
	onCreate, onAskFirst, onConfirm, onHost, onRun = providertest.OnCreate, providertest.OnAskFirst, providertest.OnConfirm, providertest.OnHost, providertest.OnRun
	onRead, onAsk, onReadRun, onUpdate, onKeepRun  = providertest.OnRead, providertest.OnAsk, providertest.OnReadRun, providertest.OnUpdate, providertest.OnKeepRun
	onDelete, onReadOwner, onOperate, onWait       = providertest.OnDelete, providertest.OnReadOwner, providertest.OnOperate, providertest.OnWait
	onStop, onKill, onRestart, onReload            = providertest.OnStop, providertest.OnKill, providertest.OnRestart, providertest.OnReload
	onStatus, onCached, onImport, onList           = providertest.OnStatus, providertest.OnCached, providertest.OnImport, providertest.OnList
)

var operations = []operation{
	onCreate, onAskFirst, onConfirm, onHost, onRun, onRead, onAsk, onReadRun, onUpdate, onKeepRun, onDelete, onReadOwner, onOperate, onWait, onStop, onKill, onRestart, onReload,
	onStatus, onCached, onImport, onList,
}

var (
	faces          = []face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB}
	gseFaces       = faces[:2:2]
	withoutGateway = []face{providertest.FaceESB, providertest.FaceJOB}
	esbOnlyFace    = faces[:1:1]
	gatewayFace    = faces[1:2:2]
	jobFace        = faces[2:]
)

func (r *faultRun) resultKey(n int) string {
	namespace, name := r.face.Process()
	address := r.address(n)
	switch {
	case r.face == providertest.FaceJOB:
		return name + ":" + address
	case r.face.Answers(r.on):
		return "0:" + address + ":" + namespace + ":" + name
	}
	return address + ":" + namespace + ":" + name
}

func (r *faultRun) bendResult(members map[string]any, times int) {
	bent := simulator.Fault{API: r.face.ResultAPI(), Replace: members, Times: times}
	if r.face.Answers(r.on) {
		bent.API = r.face.Target(r.on).API
	}
	r.sim.Inject(bent)
}

func (r *faultRun) hosts() int { return cmp.Or(r.fault.hosts, matrixHosts) }

func (r *faultRun) address(n int) string { return r.addressFor(r.on, n) }

func (r *faultRun) addressFor(o operation, n int) string {
	if r.fault.address == nil {
		return providertest.Address(n)
	}
	return r.fault.address(o, n)
}

func (r *faultRun) addresses(numbers []int) []string {
	addresses := make([]string, len(numbers))
	for i, n := range numbers {
		addresses[i] = r.address(n)
	}
	return addresses
}

func (r *faultRun) keysOf(addresses []string) []string {
	var keys []string
	for n := 1; n <= r.hosts(); n++ {
		if slices.Contains(addresses, r.address(n)) {
			keys = append(keys, providertest.HostKey(n))
		}
	}
	return keys
}

func (r *faultRun) at(n int) simulator.Process {
	namespace, name := r.face.Process()
	p, _ := r.sim.Process(r.address(n), namespace, name)
	return p
}

func setAutoType(config map[string]any, autoType int) {
	if process, ok := config["process"].(map[string]any); ok {
		process["type"] = autoType
	}
	if spec, ok := config["spec"].(map[string]any); ok {
		spec["monitor_policy"] = map[string]any{"auto_type": autoType}
	}
}

type typedCell struct {
	on     operation
	member string
	value  any
}

// A value of another type in any member of any answer: state is kept, no operation is sent twice, and the next apply converges.
func TestFaultMatrix_types(t *testing.T) {
	t.Parallel()
	const (
		envelope = "result code message data request_id "
		results  = envelope + "data/* data/*/error_code data/*/error_msg data/*/content data/task_id"
		rows     = envelope + "data/proc_infos data/proc_infos/* data/proc_infos/*/meta data/proc_infos/*/meta/namespace data/proc_infos/*/meta/labels" +
			" data/proc_infos/*/host data/proc_infos/*/host/ip data/proc_infos/*/status data/proc_infos/*/isauto"
	)
	var cells []typedCell
	for on, members := range map[operation]string{
		onCreate: results, onRead: rows, onUpdate: results, onDelete: results, onReadOwner: rows, onOperate: results, onStatus: results,
	} {
		for _, member := range strings.Fields(members) {
			cells = append(cells, typedCell{on, member, "text"}, typedCell{on, member, []any{1}}, typedCell{on, member, nil})
		}
	}
	atOnce(t, cells)
}

func (c typedCell) name() string {
	return fmt.Sprintf("%s/%s/%v", c.on.Path(), strings.ReplaceAll(c.member, "/", "."), c.value)
}

func (c typedCell) Run(t *testing.T) {
	t.Helper()
	sim := providertest.NewSim(t)
	r := &faultRun{t: t, sim: sim, face: providertest.FaceESB, on: c.on, settings: sim.SettingsFor(providertest.FaceESB), kept: &providertest.Kept{}, cell: cell{timeUp: true}}
	sim.OnCall = r.count
	r.fault.arrange = func(r *faultRun) {
		replace := map[string]any{c.member: c.value}
		r.sim.Inject(simulator.Fault{API: r.face.Target(r.on).API, Replace: replace})
		if !r.face.Answers(r.on) && r.on != onRead && r.on != onReadOwner {
			r.sim.Inject(simulator.Fault{API: r.face.ResultAPI(), Replace: replace})
		}
	}
	if c.on == onStatus {
		r.startAll()
		r.FailHosts()
		p := providertest.ConfiguredWith(t, r.settings)
		p.Until = r.deadline()
		values, said := p.ReadData(r.face.TypeName(onStatus), r.config(onStatus))
		for key, state := range providertest.StatesOf(values) {
			providertest.Check(t, state == "running" || state == "unknown" && len(said) > 0, "%s is %s; said:\n%s", key, state, said)
		}
		return
	}
	if before := r.setUp(); before != "" {
		r.applies(before)
	}
	core, said := r.meet()
	providertest.Check(t, !c.on.Refreshes() || !core.State.IsNull(), "state is dropped; said:\n%s", said)
	if c.on.Operates() {
		r.expectOnce()
	}
	r.Repair()
	core = r.Run(r.sim.SettingsFor(r.face))
	_, said = core.Apply(r.config(r.on))
	providertest.Check(t, len(said) == 0, "the next apply says:\n%s", said)
	r.expectConverged(nil)
}
