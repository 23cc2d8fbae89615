package hostedprocess_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// releases applies one declaration after another to two hosts, and tracks their true state.
type releases struct {
	*world
	chance *rand.Rand
	object *providertest.Core
	story  []string
	// minutes is by how much the platform's clock is ahead.
	minutes atomic.Int64

	mu    sync.Mutex
	hosts map[int]*released
	polls int // of this apply, which is interrupted after too many
	cut   func(simulator.Call) bool
	end   func()
	// waived are specs that were applied with on_update = "register". killed: the last apply was killed. endless: the
	// platform never reports the end of an operation. frozen: the cached status shows nothing new. misled: it was frozen
	// in an apply without a ledger, which has no other evidence.
	waived                          map[string]bool
	killed, endless, frozen, misled bool
	// restarts are those that have reached a host, reloads how many executions were looked at for reloads.
	restarts, reloads int
	// goesBack: a rollback restarts again what the platform reported as failed.
	goesBack bool
	// others: another tool has registered. An old row may show that as long as the agent keeps the time.
	others bool
}

// released is the true state of a host.
type released struct {
	pid  int
	runs string // the spec that the process was started with
	// operated: a restart of this object started it. reported: an apply has ended with an error since. forgotten: a killed
	// apply has registered over what another tool had started, so nothing shows that any more.
	operated, reported, forgotten bool
}

// release is one apply.
type release struct {
	spec, operation, ensure string
	trouble                 string
	on                      int // the host that has the trouble
	rollback, unrefreshed   bool
	// team is a label, wave the size of a wave, failed and away how many hosts may fail or be away, hosts how many are
	// declared.
	team               string
	wave, failed, away int
	hosts              int
}

func (r release) String() string {
	var said strings.Builder
	fmt.Fprintf(&said, "apply %s %s", strings.TrimPrefix(r.spec, "./start.sh"), r.ensure)
	if r.operation != "restart" {
		said.WriteString(" on_update=" + r.operation)
	}
	if r.trouble != "" {
		fmt.Fprintf(&said, " %s on %d", r.trouble, r.on)
	}
	if r.rollback {
		said.WriteString(" rollback")
	}
	fmt.Fprintf(&said, " team=%s waves=%d failed=%d away=%d hosts=%d", r.team, r.wave, r.failed, r.away, r.hosts)
	if r.unrefreshed {
		said.WriteString(" -refresh=false")
	}
	return said.String()
}

const theirs = "another tool's"

var (
	specs    = []string{"./start.sh", "./start.sh -v", "./start.sh -z"}
	troubles = []string{
		"", "", "", "register-fails", "register-fails-and-took", "register-lost", "register-slow", "away", "fails", "fails-and-took", "lost", "not-sent", "slow", "slow-and-fails",
		"never-ends", "start-fails", "start-slow", "interrupted-registering", "interrupted-operating", "killed-registering", "killed-operating", "killed-afterwards",
		"killed-alone-registering", "killed-alone-operating", "killed-alone-afterwards",
	}
	betweens = []string{"", "", "", "revived", "refreshed", "hours", "down", "frozen", "thawed", "another-tool", "unregistered"}
)

// specOn returns the spec that a host is registered with.
func specOn(p simulator.Process) string {
	if p.Labels["owner"] == "other-team" {
		return theirs
	}
	for _, spec := range []string{specs[2], specs[1]} {
		if strings.Contains(string(p.Spec), spec) {
			return spec
		}
	}
	return specs[0]
}

// called records what runs after a call.
func (r *releases) called(call simulator.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(call.Op)
	if call.API == r.by.ResultAPI() {
		r.polls++
	}
	if r.end != nil && (r.polls > 60 || r.cut != nil && r.cut(call)) {
		r.end()
	}
}

func (r *releases) look(op int) {
	done := r.sim.Executions()
	for _, e := range done[r.reloads:] {
		for n, h := range r.hosts {
			if e.Action == "reload" && e.Code == simulator.CodeOK && e.Host == providertest.Address(n) && r.at(n).PID == h.pid {
				h.runs, h.operated, h.forgotten = specOn(r.at(n)), false, false
			}
		}
	}
	r.reloads = len(done)
	for n, h := range r.hosts {
		p := r.at(n)
		if p.PID == h.pid {
			continue
		}
		if op == simulator.OpRestart && p.Running {
			r.restarts++
		}
		spec, operated := specOn(p), op == simulator.OpRestart
		if op == simulator.OpRestart && p.Running && h.pid > 0 && h.operated && !h.reported && h.runs == spec && !r.goesBack && (!r.frozen || !r.others) {
			r.Errorf("host %d was restarted twice with %s, and no apply reported an error", n, spec)
		}
		h.pid, h.operated, h.reported, h.forgotten = p.PID, operated, false, false
		if p.Running {
			h.runs = spec
		}
	}
}

// befall injects the trouble of an apply.
// op returns the operation of on_update by its number.
func (r release) op() int {
	if r.operation == "reload" {
		return simulator.OpReload
	}
	return simulator.OpRestart
}

func (r *releases) befall(by release) {
	took := failing
	took.Apply = true
	slow := simulator.Fault{Takes: time.Hour}
	polls, operation := 0, by.op()
	api, op := r.by.FaultOn("update_proc_info")
	registering := func(c simulator.Call) bool { return c.API == api && (op == nil || c.Op == *op) }
	patience := func(c simulator.Call) bool {
		if c.API == r.by.ResultAPI() && c.Op != simulator.OpQuery {
			polls++
		}
		return polls >= 8
	}
	r.goesBack = by.rollback && by.trouble == "fails-and-took"
	switch by.trouble {
	case "register-fails":
		r.on("update_proc_info", failing, by.on)
	case "register-fails-and-took":
		r.on("update_proc_info", took, by.on)
	case "register-lost":
		r.on("update_proc_info", simulator.Fault{Drop: "after"}, by.on)
	case "register-slow":
		r.onOp(simulator.OpHost, slow, by.on)
		r.cut = patience
	case "away":
		r.sim.SetReachable(providertest.Address(by.on), false)
	case "fails":
		r.onOp(operation, failing, by.on)
	case "fails-and-took":
		r.onOp(operation, took, by.on)
	case "lost":
		r.onOp(operation, simulator.Fault{Drop: "after"}, by.on)
	case "not-sent":
		r.onOp(operation, simulator.Fault{Drop: "before"}, by.on)
	case "slow":
		r.onOp(operation, slow, by.on)
		r.cut = patience
	case "slow-and-fails":
		slow.Code, slow.Message = failing.Code, failing.Message
		r.onOp(operation, slow, by.on)
		r.cut = patience
	case "never-ends":
		r.endless = true
		r.sim.Inject(simulator.Fault{API: r.by.ResultAPI(), Op: &operation, Hosts: providertest.AddressList([]int{by.on}), Code: new(115)})
		r.cut = patience
	case "start-fails":
		r.onOp(simulator.OpStart, failing, by.on)
	case "start-slow":
		r.onOp(simulator.OpStart, slow, by.on)
		r.cut = patience
	}
	switch {
	case strings.HasSuffix(by.trouble, "-registering"):
		begun := false
		r.cut = func(c simulator.Call) bool {
			begun = begun || registering(c)
			return begun
		}
	case strings.HasSuffix(by.trouble, "-operating"):
		r.cut = func(c simulator.Call) bool { return c.Op == operation && c.API != r.by.ResultAPI() }
	}
}

func (r *releases) config(by release) map[string]any {
	rollout := map[string]any{"batch_size": by.wave, "max_failed_hosts": strconv.Itoa(by.failed)}
	if by.rollback {
		rollout["on_failure"] = "rollback"
	}
	return startedBy(r.by, by.spec, by.hosts, labelled(map[string]any{"team": by.team}), attribute("max_unreachable_hosts", strconv.Itoa(by.away)), attribute("ensure", by.ensure), attribute("on_update", by.operation), attribute("on_destroy", "stop"), attribute("rollout", rollout))
}

// run runs the provider until it ends or is interrupted.
func (r *releases) run(act func() providertest.Diagnostics) providertest.Diagnostics {
	ctx, end := context.WithCancel(r.Context())
	defer end()
	r.object.Protocol = r.open()
	r.mu.Lock()
	r.end, r.polls, r.object.Until = end, 0, ctx
	r.mu.Unlock()
	said := act()
	r.object.Until = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut, r.end = nil, nil
	r.look(simulator.OpQuery)
	return said
}

// apply applies a release, and checks that it is not reported as done where it does not run.
func (r *releases) apply(by release) (well bool, said providertest.Diagnostics) {
	r.Helper()
	by.unrefreshed = by.unrefreshed && !r.killed && !r.drifts() // otherwise it would change nothing
	r.story = append(r.story, by.String())
	r.minutes.Add(1)
	before := *r.object.Kept
	r.misled = r.misled || r.frozen && len(before.Private) == 0
	r.befall(by)
	said = r.run(func() (said providertest.Diagnostics) {
		if by.unrefreshed {
			_, said = r.object.ApplyUnrefreshed(r.config(by))
		} else {
			_, said = r.object.Apply(r.config(by))
		}
		return said
	})
	r.repair()
	r.reloads = 0 // executions are forgotten
	r.sim.SetReachable(providertest.Address(by.on), true)
	r.killed = strings.HasPrefix(by.trouble, "killed")
	if r.killed {
		*r.object.Kept = before
		if strings.HasPrefix(by.trouble, "killed-alone") {
			r.object.Private = nil
		}
		for _, h := range r.hosts {
			h.forgotten = h.forgotten || h.runs == theirs
		}
		return false, said
	}
	well = len(said) == 0 && len(codes(r.object)) == 0
	for n, h := range r.hosts {
		h.reported = h.reported || said.Failed()
		if by.operation == "register" {
			h.operated = false // earlier tries no longer count
		}
		unseen := h.forgotten || h.runs == theirs && r.frozen || r.misled || r.waived[by.spec]
		if well && n <= by.hosts && h.pid > 0 && !unseen && h.runs != by.spec && by.operation != "register" {
			r.Errorf("reported as done with %s, and %s runs on host %d", by.spec, h.runs, n)
		}
	}
	switch {
	case by.operation == "register":
		r.waived[by.spec] = true
	case well && !r.waived[by.spec]:
		clear(r.waived)
	}
	return well, said
}

// drifts reports whether another tool has changed a host.
func (r *releases) drifts() bool {
	for n, h := range r.hosts {
		if p := r.at(n); h.runs == theirs || !p.Registered {
			return true
		}
	}
	return false
}

// between does something to a host between two applies.
func (r *releases) between(what string, n int) {
	if what != "" {
		r.story = append(r.story, fmt.Sprintf("%s %d", what, n))
	}
	switch what {
	case "revived":
		if r.at(n).Running {
			r.do(r.sim.KillProcess, n)
		}
		r.sim.Tick()
	case "down":
		if r.at(n).Running {
			r.do(r.sim.StopProcess, n)
		}
	case "another-tool":
		if r.at(n).Running {
			r.do(r.sim.StopProcess, n)
		}
		r.colleague(n)
		r.others = true
	case "unregistered": // what would show who started the process is gone too
		r.do(r.sim.Unregister, n)
		h := r.hosts[n]
		h.reported, h.forgotten = true, h.runs == theirs
	case "refreshed":
		r.run(r.object.Refresh)
	case "frozen":
		r.sim.FreezeStatus()
		r.frozen = true
	case "thawed":
		r.sim.ThawStatus()
		r.frozen = false
	case "hours":
		r.minutes.Add(120)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(simulator.OpQuery)
}

// Whatever befalls a sequence of releases, none is reported as done that does not run, none is restarted twice without
// an error in between, and the last one gets applied. A destroy leaves nothing behind that may still take effect.
func TestOnUpdate_releases(t *testing.T) {
	t.Parallel()
	providertest.InRounds(t, 100, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		one := func(of ...string) string { return of[chance.IntN(len(of))] }
		r := &releases{world: newWorld(t, gse[chance.IntN(len(gse))]), chance: chance, hosts: map[int]*released{1: {}, 2: {}}, waived: make(map[string]bool)}
		r.sim.StartingKeepsTime, r.sim.ReregisteringKeepsTime, r.sim.HostingKeepsTime = chance.IntN(2) == 0, chance.IntN(2) == 0, chance.IntN(2) == 0
		r.sim.Now = func() time.Time { return time.Now().Add(time.Duration(r.minutes.Load()) * time.Minute) }
		r.object = r.world.object()
		defer func() {
			if t.Failed() {
				t.Logf("%s keeps times: starting %t, reregistering %t, hosting %t: %s", r.by, r.sim.StartingKeepsTime, r.sim.ReregisteringKeepsTime, r.sim.HostingKeepsTime, strings.Join(r.story, " | "))
			}
		}()
		by := release{spec: specs[0], operation: "restart", ensure: one("hosted", "running"), on: 1, team: "one", wave: 1, hosts: 2}
		r.object.Applied(r.config(by))
		if by.ensure == "hosted" {
			r.do(r.sim.StartProcess, 1, 2)
		}
		r.sim.OnCall = r.called
		r.look(simulator.OpQuery)
		killed, left, late := "", false, false
		for range 2 + chance.IntN(4) {
			if chance.IntN(3) > 0 && !r.killed {
				by.spec = one(specs...)
			}
			by.operation = one("restart", "restart", "restart", "restart", "restart", "reload", "register")
			by.team, by.wave, by.failed, by.away = one(by.team, by.team, by.team, "one", "two"), 1+chance.IntN(2), chance.IntN(5)/4, chance.IntN(3)/2
			if by.hosts = 2; chance.IntN(8) == 0 && !r.others && !r.frozen {
				by.hosts, left = 1, true
			}
			by.ensure = one(by.ensure, by.ensure, "hosted", "running")
			by.trouble, by.on, by.rollback, by.unrefreshed = one(troubles...), 1+chance.IntN(2), chance.IntN(3) == 0, chance.IntN(4) == 0
			// Nothing shows what runs after two kills with different declarations, nor after one if a host goes back to what it ran.
			kills := strings.HasPrefix(by.trouble, "killed")
			switch {
			case late && strings.HasPrefix(by.trouble, "killed-alone"): // a registration that is still to come would be known nowhere
				by.trouble = ""
			case kills && left: // state does not name what joins in a killed apply
				by.trouble = ""
			case kills && killed == "":
				killed = by.spec
			case kills && killed != by.spec:
				by.trouble = ""
			case by.trouble == "away", by.trouble == "slow-and-fails": // or where a restart has failed late
				killed = "never"
			}
			late = late || by.trouble == "register-slow"
			r.apply(by)
			what, n := one(betweens...), 1+chance.IntN(2)
			if what == "another-tool" && left { // a host that has left, or could not join again, is theirs then
				n = 1
			}
			r.between(what, n)
			if t.Failed() {
				return
			}
		}
		r.minutes.Add(180)
		r.between("thawed", 0)
		by.operation, by.trouble, by.rollback, by.unrefreshed = "restart", "", false, false
		if chance.IntN(2) == 0 {
			r.ends()
			return
		}
		r.getsThere(by)
	})
}

// getsThere applies the last release until it is done, and checks that nothing is left to do.
func (r *releases) getsThere(by release) {
	for range 4 {
		well, said := r.apply(by)
		if well {
			if len(r.object.Private) == 0 { // nothing was applied since a kill, and Core returns maps in any order
				return
			}
			r.object.Protocol = r.open()
			if plan, said := r.object.Plan(r.config(by)); plan.Action != providertest.PlanNothing || len(said) > 0 {
				r.Errorf("then it plans %s; said: %s", plan.Action, said)
			}
			return
		}
		r.story = append(r.story, "("+words(said.String())+")")
	}
	for key, code := range codes(r.object) {
		theirs := r.others && code == "registered_by_other" // where nothing of this object was registered any more
		if !r.endless && !theirs {                          // an endless one must be restarted by hand
			r.Errorf("never as declared: %s %s", key, code)
		}
	}
}

// ends destroys the object, and checks that nothing that an apply has sent takes effect later.
func (r *releases) ends() {
	r.story = append(r.story, "destroy")
	var said providertest.Diagnostics
	for range 2 {
		said = r.run(func() providertest.Diagnostics { _, said := r.object.Apply(nil); return said })
		if !said.Failed() {
			break
		}
	}
	r.minutes.Add(600)
	r.sim.Tick()
	for n := range r.hosts {
		if p := r.at(n); !said.Failed() && (p.Registered || p.Hosted || p.Running && len(said) == 0) {
			r.Errorf("destroyed, and host %d is registered %t, hosted %t, running %t; said: %s", n, p.Registered, p.Hosted, p.Running, said)
		}
	}
}
