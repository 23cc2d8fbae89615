package histories

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// session is one run of Terraform: a provider that plans and another that applies, and when it is cut off.
type session struct {
	*world
	ctx      context.Context
	cut      bool
	plans    *providertest.Protocol
	applies  *providertest.Protocol
	unforced bool // -refresh=false
}

func (w *world) session(s Step) (*session, func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	run := &session{world: w, ctx: ctx, cut: s.Cut > 0, plans: w.provider(), applies: w.provider(), unforced: s.Blind}
	w.scissors.arm(s.Cut, s.Late, cancel)
	return run, func() {
		w.scissors.arm(0, false, nil)
		cancel()
	}
}

func (s *session) on(typ string, kept *providertest.Kept) *providertest.Core {
	core := s.plans.CoreOf(typ, kept)
	core.Until = s.ctx
	core.Fresh = func() *providertest.Protocol { return s.applies }
	return core
}

// apply brings one object to what a configuration says, or destroys it where that is nil, and holds what came of it against the model.
func (s *session) apply(o *object, want *declaration, as Action) (failed bool) {
	if want != nil && len(want.Forms) == 0 {
		want = nil // hosts may not be empty: the block is gone
	}
	u := unit{
		object: o.id, want: want, had: s.inState(o, "hosts"), hadAs: s.namesInState(o), replaced: want != nil && o.kept.Tainted,
		first: want != nil && !o.exists(), calm: !s.faulty && !s.cut, perName: s.history.EntryPerName,
		heard: !s.faulty && !s.cut && !s.stale && !s.unforced, before: s.look(process),
	}
	if want != nil {
		o.onDestroy = append(o.onDestroy, want.OnDestroy)
	}
	u.letGo = slices.Clone(o.onDestroy)
	refused, owner := s.refuses(o, u), s.ownerOf(o)
	s.sim.ResetCalls()
	var (
		core = s.on(providertest.HostedType, o.kept)
		said providertest.Diagnostics
		kind providertest.PlanKind
	)
	switch {
	case want == nil && s.unforced:
		said = core.DestroyUnrefreshed()
	case want == nil:
		kind, said = core.Apply(nil)
	case s.unforced:
		kind, said = core.ApplyUnrefreshed(want.hosted())
	default:
		kind, said = core.Apply(want.hosted())
	}
	if meddle := s.meddle[as]; meddle != nil {
		meddle(s.world, o)
	}
	if want != nil {
		o.last = want.copied()
	}
	u.failed, u.said = said.Failed(), fmt.Sprintf("%s: %s", kind, said)
	u.after, u.done = s.look(process), s.executions()
	s.fail(s.refusal(u, kind, refused, said.String()))
	s.supplied(o, u, owner)
	u.named, u.outOfSync = s.inState(o, "hosts"), s.inState(o, "out_of_sync")
	u.replaced = u.replaced || kind == providertest.PlanReplace
	if want != nil && !u.failed && !s.cut {
		o.onDestroy = []string{want.OnDestroy}
	}
	s.fail(s.model.judge(u))
	return u.failed
}

func (s *session) ended() bool { return s.ctx.Err() != nil }

// bury destroys what was deposed, which every apply does first.
func (s *session) bury(c *config) {
	for len(c.deposed) > 0 && !s.ended() {
		o := c.deposed[0]
		if s.apply(o, nil, Destroy); !o.kept.State.IsNull() {
			return
		}
		c.deposed = c.deposed[1:]
	}
}

func (w *world) apply(c *config, s Step) (promised bool) {
	promised = s.Planned && !w.faulty && s.Cut == 0 && !s.Blind && !w.unsteady && w.plansNothing(c)
	w.resupply(c.object)
	before := w.look(process)
	run, done := w.session(s)
	defer done()
	run.bury(c)
	if !run.ended() {
		run.apply(c.object, &c.want, Apply)
	}
	if promised {
		w.unchanged(before)
	}
	return promised
}

// plansNothing reports whether a plan has nothing to do. It leaves no trace in state.
func (w *world) plansNothing(c *config) bool {
	if len(c.deposed) > 0 || len(c.want.Forms) == 0 {
		return false
	}
	kept := *c.object.kept
	plan, said := w.provider().CoreOf(providertest.HostedType, &kept).Plan(c.want.hosted())
	return !said.Failed() && plan.Action == providertest.PlanNothing
}

func (w *world) unchanged(before map[int]Truth) {
	after, done := w.look(process), w.executions()
	for machine := 1; machine <= w.history.Machines; machine++ {
		if !reflect.DeepEqual(before[machine], after[machine]) || len(done[machine]) > 0 {
			w.fail(&Breach{Invariant: PlansTheTruth, Kind: "changed", Machine: machine, Text: "the plan was empty\n" + seen(before[machine], after[machine], done[machine], "")})
		}
	}
}

func (w *world) destroy(c *config, s Step) (failed bool) {
	if len(c.deposed) == 0 && !c.object.exists() {
		return false
	}
	w.resupply(c.object)
	run, done := w.session(s)
	defer done()
	run.bury(c)
	if !run.ended() {
		return run.apply(c.object, nil, Destroy)
	}
	return true
}

func (w *world) refresh(c *config) {
	run, done := w.session(Step{})
	defer done()
	o := c.object
	u := unit{object: o.id, want: o.last, had: w.inState(o, "hosts"), hadAs: w.namesInState(o), perName: w.history.EntryPerName,
		heard: !w.faulty && !w.stale, before: w.look(process), failed: true}
	w.sim.ResetCalls()
	u.said = run.on(providertest.HostedType, o.kept).Refresh().String()
	u.after, u.done, u.named = w.look(process), w.executions(), w.inState(o, "hosts")
	w.fail(w.model.judge(u))
}

func (w *world) recreate(c *config, s Step) {
	if len(c.want.Forms) == 0 || !c.object.exists() {
		return
	}
	run, done := w.session(s)
	defer done()
	run.bury(c)
	if run.ended() {
		return
	}
	old := c.object
	c.object = c.newObject()
	failed := run.apply(c.object, &c.want, Apply)
	if c.object.kept.State.IsNull() { // nothing came to be: the old one is restored
		c.object = old
		return
	}
	c.deposed = append(c.deposed, old)
	if !failed {
		run.bury(c)
	}
}

type operation struct {
	kept    *providertest.Kept
	name    string // "" before it is first applied
	trigger string
	last    string // its key when it was last applied
	// ran and tried are the operation and its trigger: those known to have been done on a machine, and those seen there.
	ran, tried map[int]string
}

func (o *operation) key() string { return o.name + " " + o.trigger }

func (w *world) operate(s Step) {
	var (
		d  = &w.configs[A].want
		op = &w.op
	)
	if s.To != "" {
		op.name = s.To
	}
	if len(d.Forms) == 0 || op.name == "" {
		return
	}
	if op.last != op.key() { // also where what triggered it before comes back
		clear(op.ran)
	}
	op.last = op.key()
	for machine := range op.ran {
		if !d.has(machine) {
			delete(op.ran, machine)
			delete(op.tried, machine)
		}
	}
	for _, name := range w.idle.CoreOf(providertest.ActionType, op.kept).Reasons("hosts") {
		if machine := machineOf(name); name == agentID(machine) && w.gateway() == providertest.FaceESB {
			delete(op.ran, machine) // the platform does not show there that it is the same machine
		}
	}
	run, done := w.session(s)
	defer done()
	before := w.look(process)
	w.sim.ResetCalls()
	core := run.on(providertest.ActionType, op.kept)
	_, said := core.Apply(map[string]any{
		"meta": d.meta(), "hosts": d.hosts(), "spec": providertest.WholeSpec(d.Start), "operation": op.name, "triggers": map[string]string{"t": op.trigger},
	})
	if meddle := w.meddle[Operate]; meddle != nil {
		meddle(w, nil)
	}
	w.judgeOperation(d, before, said.String(), core.Reasons("failed_hosts"))
}

func (w *world) judgeOperation(d *declaration, before map[int]Truth, said string, failed map[string]string) {
	var (
		op          = &w.op
		after, done = w.look(process), w.executions()
		failing     = make(map[int]bool)
	)
	for key, name := range d.hosts() {
		if _, fails := failed[key]; fails {
			failing[machineOf(name)] = true
		}
	}
	for machine := 1; machine <= w.history.Machines; machine++ {
		operated := 0
		for _, e := range done[machine] {
			if e.Action == op.name {
				operated++
			}
		}
		seen := fmt.Sprintf("%s\nfailed_hosts: %v", seen(before[machine], after[machine], done[machine], said), failed)
		switch {
		case operated > 0 && !d.has(machine), operated == 0 && !reflect.DeepEqual(before[machine], after[machine]), len(done[machine]) > operated:
			w.fail(&Breach{Invariant: DoesNoMore, Kind: "operated", Machine: machine, Text: "nobody asked for it\n" + seen})
		case operated > 1:
			w.fail(&Breach{Invariant: ReachesOnce, Kind: op.name, Machine: machine, Text: "the agent heard of it twice in one apply\n" + seen})
		case operated > 0 && op.ran[machine] == op.key():
			w.fail(&Breach{Invariant: ReachesOnce, Kind: "again", Machine: machine, Text: "it ran already, and nothing triggered it\n" + seen})
		}
		if operated > 0 {
			op.tried[machine] = op.key()
			if last := done[machine][len(done[machine])-1]; last.Code == simulator.CodeOK && !failing[machine] {
				op.ran[machine] = op.key()
			}
		}
		w.model.note(machine, after[machine])
	}
}
