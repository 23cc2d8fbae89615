package histories

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// session is one run of Terraform, with one provider that plans and one that applies. It may be interrupted.
type session struct {
	*world
	ctx      context.Context
	cut      bool
	killed   bool // if it is cut, nothing is saved
	plans    *providertest.Protocol
	applies  *providertest.Protocol
	unforced bool // -refresh=false
}

func (w *world) session(s Step) (*session, func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	run := &session{world: w, ctx: ctx, cut: s.Cut > 0, killed: s.Killed, plans: w.provider(), applies: w.provider(), unforced: s.Blind}
	w.scissors.arm(s, cancel)
	return run, func() {
		w.scissors.arm(Step{}, nil)
		cancel()
	}
}

func (s *session) on(typ string, kept *providertest.Kept) *providertest.Core {
	core := s.plans.CoreOf(typ, kept)
	core.Until = s.ctx
	core.Fresh = func() *providertest.Protocol { return s.applies }
	return core
}

// apply applies a declaration to one object, or destroys the object if that is nil, and checks the result against the model.
func (s *session) apply(o *object, want *declaration, as Action) (failed bool) {
	if want != nil && len(want.Forms) == 0 {
		want = nil // hosts must not be empty, so the block is removed
	}
	u := unit{
		object: o.id, want: want, had: s.inState(o, "hosts"), hadAs: s.namesInState(o), replaced: want != nil && o.kept.Tainted,
		first: want != nil && !o.exists(), calm: !s.faulty && !s.cut, perName: s.history.EntryPerName, timeless: s.history.Switches.AgentsWithoutTimes,
		current: !s.faulty && !s.cut && !s.stale && !s.unforced, before: s.look(process),
	}
	if o.successor != nil {
		u.moves = s.inState(o.successor, "hosts")
	}
	if want != nil {
		o.onDestroy = append(o.onDestroy, want.OnDestroy)
	}
	u.letGo = slices.Clone(o.onDestroy)
	refused, owner := s.refuses(o, u), s.ownerOf(o)
	saved, updates := *o.kept, o.exists() && !o.kept.Tainted
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
	if s.killed && s.ended() && updates {
		*o.kept, u.killed = saved, true
	} else if want != nil {
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

// bury destroys the deposed objects, as every apply does first.
func (s *session) bury(c *config) {
	for len(c.deposed) > 0 && !s.ended() {
		o := c.deposed[0]
		o.successor = c.object
		if s.apply(o, nil, Destroy); !o.kept.State.IsNull() {
			return
		}
		c.deposed = c.deposed[1:]
	}
}

func (w *world) apply(c *config, s Step) (promised bool) {
	promised = s.Planned && !w.faulty && s.Cut == 0 && !s.Blind && !w.unsteady && w.plansNothing(c)
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

// plansNothing reports whether a plan is empty. It does not change state.
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
		current: !w.faulty && !w.stale, before: w.look(process), failed: true}
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
	if c.object.kept.State.IsNull() { // nothing was created, so the old object stays
		c.object = old
		return
	}
	c.deposed = append(c.deposed, old)
	if !failed {
		run.bury(c)
	}
}

// imports removes an object from state, imports what it owns, and applies. Nobody does that while the cached status is old,
// or where others have registered.
func (w *world) imports(c *config) {
	old, names := c.object, c.object.last
	if w.faulty || w.stale || w.history.SuppliersApart || len(c.want.Forms) == 0 || len(c.deposed) > 0 || !old.exists() || old.kept.Tainted || names == nil {
		return
	}
	var hosts []string
	forms := make(map[int]string)
	for key, name := range w.idle.CoreOf(providertest.HostedType, old.kept).Reasons("hosts") {
		if claim := w.model[machineOf(name)]; claim.owner != old.id || claim.unsure {
			return
		}
		hosts = append(hosts, key+"="+name)
		if strings.Count(name, ":") == 2 {
			forms[machineOf(name)] = BySupplier
		}
	}
	slices.Sort(hosts)
	run, done := w.session(Step{})
	defer done()
	imported := c.newObject()
	imported.last, imported.onDestroy = names, []string{"unregister"}
	before := w.look(process)
	w.sim.ResetCalls()
	if run.on(providertest.HostedType, imported.kept).Imports(fmt.Sprintf("%s:%s@%s", namespace, process, strings.Join(hosts, ","))).Failed() {
		return
	}
	imported.supplier = w.settings["bk_supplier_id"]
	w.supplied(imported, unit{want: &declaration{Forms: forms}}, nil)
	c.object = imported
	for machine, claim := range w.model {
		if claim.owner == old.id {
			claim.owner = imported.id
		}
		w.model[machine] = claim
	}
	w.unchanged(before)
	w.apply(c, Step{})
}

type operation struct {
	kept    *providertest.Kept
	name    string // "" before the first apply
	trigger string
	last    string // the key of the last apply
	// ran and tried map a machine to an operation and its trigger: ran if it succeeded there, tried if it reached the agent.
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
	if op.last != op.key() { // also if an earlier trigger comes back
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
			delete(op.ran, machine) // the ESB does not show that it is the same machine
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
			w.fail(&Breach{Invariant: DoesNoMore, Kind: "operated", Machine: machine, Text: "it was not asked for\n" + seen})
		case operated > 1:
			w.fail(&Breach{Invariant: ReachesOnce, Kind: op.name, Machine: machine, Text: "it reached the agent twice in one apply\n" + seen})
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

type generator struct {
	*rand.Rand
	without map[string]bool // steps, faults, and entries of knownBroken
	history History
	gateway string
}

func generate(chance *rand.Rand, without map[string]bool) History {
	g := &generator{Rand: chance, without: without, gateway: string(providertest.FaceGateway)}
	g.history = History{Machines: 1 + g.IntN(6)}
	g.history.EntryPerName = g.IntN(2) == 0
	g.history.SuppliersApart = g.IntN(4) == 0
	g.history.KeepsTime = KeepsTime{Reregistering: g.IntN(2) == 0, Starting: g.IntN(3) == 0, Hosting: g.IntN(3) == 0}
	for _, trait := range switchesOf(&g.history) {
		*trait.has = g.IntN(8) == 0
	}
	if g.history.Switches.RowsWithoutAgentID { // a row that has neither name shows nothing
		g.history.Switches.RowsWithoutHost = false
	}
	if g.history.SuppliersApart || g.IntN(3) == 0 { // the gateway has no supplier ids
		g.switchGateway()
	}
	if g.IntN(2) == 0 { // other users have registered
		g.add(Step{Do: Console, To: actRegister, Hosts: g.some(2)})
		g.add(Step{Do: Console, To: g.one(actStart, actStop), Hosts: g.history.Steps[len(g.history.Steps)-1].Hosts})
	}
	g.add(Step{Do: Join, On: A, Hosts: g.some(g.history.Machines), To: g.form()})
	if g.IntN(2) == 0 {
		g.add(Step{Do: SetEnsure, On: A, To: "running"})
	}
	g.apply(A)
	for range 4 + g.IntN(7) {
		g.next()
	}
	g.history.Verify = g.IntN(2) == 0
	if g.without["times-kept-by-others"] && g.history.severalRegister() {
		g.history.KeepsTime.Reregistering = false
	}
	if g.without["old-rows-without-times"] && g.history.Switches.AgentsWithoutTimes {
		g.history.Steps = slices.DeleteFunc(g.history.Steps, func(s Step) bool { return s.Do == Freeze || s.Do == SetLag })
	}
	if g.without["two-suppliers-of-one-machine"] && slices.ContainsFunc(g.history.Steps, func(s Step) bool { return s.On == B }) {
		g.history.SuppliersApart = false
	}
	return g.history
}

// severalRegister reports whether more than one object, or the console, may register.
func (h History) severalRegister() bool {
	return slices.ContainsFunc(h.Steps, func(s Step) bool {
		return s.On == B || s.Do == Console || s.Do == Recreate || s.Do == Taint || s.Do == Destroy
	})
}

func (g *generator) add(steps ...Step) { g.history.Steps = append(g.history.Steps, steps...) }

func (g *generator) one(values ...string) string { return values[g.IntN(len(values))] }

func (g *generator) some(most int) []int {
	all := g.Perm(g.history.Machines)
	hosts := all[:1+g.IntN(min(most, len(all)))]
	for i := range hosts {
		hosts[i]++
	}
	slices.Sort(hosts)
	return hosts
}

func (g *generator) form() string {
	if g.history.Switches.RowsWithoutAgentID { // the platform does not show what is registered under an agent id
		return g.one(ByAddress, BySupplier)
	}
	return g.one(ByAddress, ByAddress, BySupplier, ByAgent, ByAgent)
}

func (g *generator) config() string {
	if g.IntN(4) == 0 {
		return B
	}
	return A
}

func (g *generator) switchGateway() {
	if g.gateway = string(providertest.FaceESB); g.IntN(4) == 0 {
		g.gateway = string(providertest.FaceGateway)
	}
	g.add(Step{Do: SetGateway, To: g.gateway})
}

func (g *generator) apply(on string) {
	s := Step{Do: Apply, On: on, Planned: g.IntN(3) == 0}
	g.cut(&s)
	s.Blind = g.IntN(8) == 0
	g.add(s)
}

// cut ends some runs early. Many runs change nothing, and are not killed then.
func (g *generator) cut(s *Step) {
	switch chance := g.IntN(6); {
	case chance == 0:
		s.Cut, s.Late = 1+g.IntN(6), g.IntN(2) == 0
	case chance < 3 && !g.history.SuppliersApart && (!g.history.EntryPerName || !g.without["killed-rename"]):
		s.Cut, s.Late, s.Killed = 1+g.IntN(2), g.IntN(2) == 0, true
	}
}

// next adds a random step, in most cases followed by an apply.
func (g *generator) next() {
	var (
		on     = g.config()
		things = map[string]func(){
			"join":              func() { g.add(Step{Do: Join, On: on, Hosts: g.some(3), To: g.form()}) },
			"leave":             func() { g.add(Step{Do: Leave, On: on, Hosts: g.some(2)}) },
			"rename":            func() { g.add(Step{Do: Rename, On: on, Hosts: g.some(6), To: g.form()}) },
			"rekey":             func() { g.add(Step{Do: Rekey, On: on, Hosts: g.some(3)}) },
			"double":            func() { g.add(Step{Do: Double, On: on, Hosts: g.some(2)}) },
			"single":            func() { g.add(Step{Do: Single, On: on}) },
			"spec":              func() { g.add(Step{Do: SetSpec, On: on, To: g.one("./a.sh", "./b.sh")}) },
			"label":             func() { g.add(Step{Do: SetLabel, On: on, To: g.one("one", "two")}) },
			"default-label":     func() { g.add(Step{Do: SetDefault, To: g.one("x", "y")}) },
			"ensure":            func() { g.add(Step{Do: SetEnsure, On: on, To: g.one("registered", "hosted", "running")}) },
			"on-destroy":        func() { g.add(Step{Do: SetOnDestroy, On: on, To: g.one("unregister", "stop", "kill")}) },
			"waves":             func() { g.add(Step{Do: SetWaves, On: on, Times: g.IntN(3)}) },
			"adopt":             func() { g.add(Step{Do: SetAdopt, On: on, To: g.one("true", "false")}) },
			"provider-supplier": func() { g.add(Step{Do: SetSupplier, To: g.one("0", "2", "3")}) },
			"gateway":           g.switchGateway,
			"destroy":           func() { g.destroy(on) },
			"refresh":           func() { g.add(Step{Do: Refresh, On: on}) },
			"taint":             func() { g.add(Step{Do: Taint, On: on}) },
			"recreate":          func() { g.add(Step{Do: Recreate, On: on}) },
			"import":            func() { g.add(Step{Do: Import, On: on}) },
			"operate": func() {
				g.add(Step{Do: SetTrigger, To: g.one("one", "two", "three")}, Step{Do: Operate, To: g.one("restart", "restart", "reload")})
			},
			"operate-again":       func() { g.add(Step{Do: Operate}) },
			"console":             g.console,
			"console-registers":   func() { g.add(Step{Do: Console, To: actRegister, Hosts: g.some(2)}) },
			"console-unregisters": func() { g.add(Step{Do: Console, To: actUnregister, Hosts: g.some(2)}) },
			"upgrade":             func() { g.add(Step{Do: Upgrade, Hosts: g.some(6)}) },
			"fault":               g.fault,
			"host-fault":          g.fault,
			"repair":              func() { g.add(Step{Do: Repair}) },
			"lag":                 func() { g.add(Step{Do: SetLag, Times: g.IntN(4) - 1}) },
			"freeze":              func() { g.add(Step{Do: Freeze}) },
			"row-labels":          func() { g.add(Step{Do: RowLabels}) },
			"unreachable":         func() { g.add(Step{Do: Unreachable, Hosts: g.some(2)}) },
			"reachable":           func() { g.add(Step{Do: Reachable, Hosts: g.some(6)}) },
			"supervise":           func() { g.add(Step{Do: Supervise}) },
		}
	)
	names := slices.Sorted(maps.Keys(things))
	// These happen more often than others.
	names = append(names, "rename", "rename", "rename", "join", "leave", "leave", "fault", "console", "destroy")
	if g.history.SuppliersApart {
		names = append(names, "provider-supplier", "provider-supplier", "provider-supplier", "provider-supplier")
	}
	if name := g.one(names...); !g.without[name] {
		things[name]()
	}
	if g.IntN(3) > 0 {
		g.apply(on)
	}
}

func (g *generator) destroy(on string) {
	s := Step{Do: Destroy, On: on, Blind: g.IntN(2) == 0}
	g.cut(&s)
	g.add(s)
}

func (g *generator) console() {
	g.add(Step{Do: Console, To: g.one(actStart, actStop, actKill, actUnhost, actHost), Hosts: g.some(2)})
}

func (g *generator) fault() {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(faults)), func(name string) bool { return g.without[name] })
	s := Step{Do: Inject, To: g.one(names...), Times: g.IntN(4)}
	if g.IntN(2) == 0 {
		s.Hosts = g.some(2)
	}
	g.add(s)
}

// passing are faults that last until the deadline unless they pass by themselves, because the request is repeated until then.
var passing = map[string]bool{"register-late": true, "result-lost": true, "result-missing": true, "queued": true, "all-lost": true, "all-unsent": true}

// faults maps the name of a fault to what the simulator does. It may take several, because each face has its own names for a call.
var faults = map[string][]simulator.Fault{
	"register-fails":  onRegister(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent abnormal"}),
	"register-lost":   onRegister(simulator.Fault{Drop: "after"}),
	"register-unsent": onRegister(simulator.Fault{Drop: "before"}),
	"register-late":   onRegister(simulator.Fault{Pending: 2}),
	"release-fails":   onRelease(simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent abnormal"}),
	"release-refused": onRelease(simulator.Fault{EnvelopeCode: new(1306101), EnvelopeMessage: "no permission"}),
	"release-403":     onRelease(simulator.Fault{HTTPStatus: 403, Body: "no permission"}),
	"release-lost":    onRelease(simulator.Fault{Drop: "after"}),
	"operate-fails": {
		{API: "operate_proc_v2", Op: new(simulator.OpStart), Code: new(simulator.CodeCommandFailed)},
		{API: "operate_proc_v2", Op: new(simulator.OpRestart), Code: new(simulator.CodeCommandFailed)},
		{API: "operate_proc_v2", Op: new(simulator.OpStop), Code: new(simulator.CodeCommandFailed)},
	},
	"operate-lost": {
		{API: "operate_proc_v2", Op: new(simulator.OpStart), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpRestart), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpStop), Drop: "after"},
		{API: "operate_proc_v2", Op: new(simulator.OpReload), Drop: "after"},
	},
	"hosting-fails":  {{API: "operate_proc_v2", Op: new(simulator.OpHost), Code: new(simulator.CodeFailed)}},
	"query-fails":    {{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(simulator.CodeAgentAbnormal)}},
	"result-lost":    {{API: "get_proc_operate_result_v2", Drop: "after"}},
	"result-missing": {{API: "get_proc_operate_result_v2", Missing: 2}},
	"queued":         {{API: "get_proc_operate_result_v2", Queued: 2}},
	"status-503":     {{API: "get_proc_status_v2", HTTPStatus: 503}},
	"status-lost":    {{API: "get_proc_status_v2", Drop: "mid"}},
	"rows-hidden":    {{API: "get_proc_status_v2", Missing: -1}},
	"rows-unnamed":   {{API: "*proc_status*", Rows: "none"}},
	"rows-by-agent":  {{API: "*proc_status*", Rows: "agent"}},
	"rows-by-host":   {{API: "*proc_status*", Rows: "host"}},
	"backwards":      {{Backwards: true}},
	"all-lost":       {{Drop: "after"}},
	"all-unsent":     {{Drop: "before"}},
}

func onRegister(f simulator.Fault) []simulator.Fault {
	register, update, multi := f, f, f
	register.API, update.API = "register_proc_info", "update_proc_info"
	multi.API, multi.Op = "operate_proc_multi", new(simulator.OpHost)
	return []simulator.Fault{register, update, multi}
}

func onRelease(f simulator.Fault) []simulator.Fault {
	unregister, multi := f, f
	unregister.API = "unregister_proc_info"
	multi.API, multi.Op = "operate_proc_multi", new(simulator.OpUnhost)
	return []simulator.Fault{unregister, multi}
}
