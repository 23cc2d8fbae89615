package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Change says what is not yet as desired.
type Change struct {
	Moves
	Operate
	Earlier

	// Register holds hosts on which the process is not known to be registered. Reregister holds
	// those where something else is registered. Settle holds those where only hosting or running
	// may be missing.
	Register, Reregister, Settle []Host
	// Adopt takes over registrations that somebody else made.
	Adopt bool
	// Rename unregisters those of the hosts of a wave that are registered by another name, and
	// gives those on which that failed. Nil where there are none in Register.
	Rename func(ctx context.Context, hosts []Host) Results
	// Order gives the waves their order; hosts of the change that it leaves out
	// are not touched.
	Order   []Host
	Rollout Rollout
}

// Moves are what other objects of the same run do on these hosts.
type Moves struct {
	// Leaving returns those of hosts that another object has registered and is leaving. They are
	// taken over. Nil returns none.
	Leaving func(ctx context.Context, found map[Host]Owned) []Host
	// Stopped are hosts of Register on which the process ran until another object stopped it. It is
	// started again.
	Stopped map[Host]bool
}

// Operate is what runs on hosts once they are registered.
type Operate struct {
	// Operation runs on the hosts of Due, none if it is "".
	Operation Operation
	Due       map[Host]Due
	// Traces are for hosts of Due on which nothing was tried, as far as state knows. Before is
	// what was declared before.
	Traces map[Host]Trace
	Before Desired
}

// Earlier is what an earlier apply left on these hosts.
type Earlier struct {
	// Prior is the process as the hosts have it. Before anything is changed, the hosts of
	// Due are asked by it: an agent finds a process by the paths of its spec.
	Prior Process
	// Underway are hostings and starts whose end was not seen. They are asked for before anything is
	// done to their hosts.
	Underway map[Host]Task
	// Times are when hosts were registered, by their agents' time, where that is known.
	Times map[Host]int64
}

// Owned is a registration that another object made. It has the object's id, "" if the cached status
// is late or cannot be read. It has the agent's time, 0 if that is not known.
type Owned struct {
	Owner string
	At    int64
}

// Reconciliation makes hosts as desired, wave by wave, and can take that back.
type Reconciliation struct {
	process                      Process
	want                         Desired
	change                       Change
	register, reregister, settle map[Host]bool

	// changed are the hosts of each wave that were registered, operated those that were
	// operated or started then, with the pid from before.
	changed  [][]Host
	operated map[Host]Due
	// resumed are the hosts on which an earlier try of the operation turned out to have
	// worked.
	resumed Results
	found   Found
}

// Found is what a reconciliation has learnt of its hosts, beside their outcomes.
type Found struct {
	// Registered is when hosts were registered to whose registration something was done, by their
	// agents' time; 0 where that is not known.
	Registered map[Host]int64
	// Running is the pid of the process on hosts to which something was done; 0 where it does not
	// run, or that is not known.
	Running map[Host]int64
	// Ended are the hosts on which what an earlier run had sent has come to an end.
	Ended map[Host]bool
	// Unsure are the hosts of Due on which the operation was not run. An apply that was cut off may
	// have run it, and the platform does not say.
	Unsure []Host
	// Taken are hosts that were taken over from another owner, or were not hosted, with what the
	// cached status showed of them before.
	Taken map[Host]Status
	// OutOfTime: a host has failed because the time for everything was to be up, be it left to other
	// hosts.
	OutOfTime bool
}

// Found is what it has learnt so far.
func (r *Reconciliation) Found() Found { return r.found }

// NewReconciliation returns one that has not begun.
func NewReconciliation(p Process, want Desired, c Change) *Reconciliation {
	c.Due = maps.Clone(c.Due) // what becomes of earlier tries is noted there
	return &Reconciliation{
		process: p, want: want, change: c, operated: make(map[Host]Due), resumed: make(Results),
		register: setOf(c.Register), reregister: setOf(c.Reregister), settle: setOf(c.Settle),
		found: Found{Registered: make(map[Host]int64), Running: make(map[Host]int64), Ended: make(map[Host]bool), Taken: make(map[Host]Status)},
	}
}

// Run makes hosts as desired, and gives the outcome of each.
func (r *Reconciliation) Run(ctx context.Context) Results {
	touched := pickFunc(r.change.Order, func(h Host) bool { return r.register[h] || r.reregister[h] || r.settle[h] })
	rollout := r.change.Rollout
	if r.want.Ensure != EnsureRunning && r.change.Operation == "" {
		rollout.Healthy = nil // nothing here is meant to run
	}
	results := rollout.gated(ctx, r.process, touched, r.wave, r.meant)
	for h, o := range results {
		if o.Left == Unhealthy {
			o.PID = r.operated[h].PID
			results[h] = o
		}
	}
	results.leave(touched, r.left)
	return results
}

// wave registers the hosts of a wave, runs the operation where it is due, and hosts or
// starts what is not.
func (r *Reconciliation) wave(ctx context.Context, wave Wave) Results {
	last := time.Duration(0) // what the last look needs
	if r.agentsKnow() {
		last = Quick
	}
	after := last // what the steps after the operation need
	if r.want.Ensure != EnsureRegistered {
		after += 2 * Quick
	}
	later := r.takes(wave.Hosts) + after // what those after registering need
	before, results := r.askBefore(ctx, wave.Hosts, later+Quick, wave.observe)
	if r.change.Rename != nil {
		results.Merge(r.change.Rename(ctx, pickFunc(wave.Hosts, func(h Host) bool { _, unasked := results[h]; return !unasked })))
	}
	hosts := pickFunc(wave.Hosts, func(h Host) bool { _, settled := results[h]; return !settled })
	fresh, again := pick(hosts, r.register), pick(hosts, r.reregister)
	registered := r.registerAll(ctx, fresh, later+needs(again))
	results.Merge(registered)
	if len(again) > 0 {
		results.Merge(reregister(ctx, r.process, again, later).hosting(r.want, never))
	}
	sent := r.sent(hosts, results)
	made := results.Succeeded(sent)
	r.changed = append(r.changed, sent)
	results.Merge(Same(pick(hosts, r.settle), Outcome{Verdict: Done}))
	results.Merge(r.operate(ctx, results.Succeeded(hosts), before, wave.observe, after))
	up := results.Succeeded(hosts)
	brought := bringUp(ctx, r.process, r.want, up, bringing{r.change.Stopped, registered.asRegistered(r.process), last})
	results.Merge(brought.results)
	touched := union(sent, up)
	r.keepTimes(touched, made, before, brought, r.look(ctx, touched, brought.seen))
	for _, h := range brought.started {
		if _, operated := r.operated[h]; !operated {
			r.operated[h] = Due{}
		}
	}
	results.tookOver(registered)
	results.leave(up, r.bare)
	for _, o := range results {
		r.found.OutOfTime = r.found.OutOfTime || !wave.timed && !o.OK() && Ended(o.Err)
	}
	return results
}

// look asks the agents of hosts that were not asked since something was done there. A host that
// does not answer is not known, and nothing that was done depends on it.
func (r *Reconciliation) look(ctx context.Context, hosts []Host, seen map[Host]Status) map[Host]Status {
	unseen := pickFunc(hosts, func(h Host) bool { _, known := seen[h]; return !known })
	if len(unseen) == 0 || !r.agentsKnow() {
		return seen
	}
	all, _ := LiveStatusWithin(ctx, r.process, aftermath, unseen)
	all = maps.Clone(all)
	if all == nil {
		all = make(map[Host]Status)
	}
	maps.Copy(all, seen)
	return all
}

// agentsKnow reports whether agents know something that is kept. That is the time of the
// registration (of no use without labels), or the pid.
func (r *Reconciliation) agentsKnow() bool {
	return r.want.FingerprintLabel != "" || r.change.Operation != ""
}

// keepTimes keeps when hosts were registered, and what ran there after the last call. made are the
// hosts that were registered here. If that failed, the agent's time may be another object's. To
// host or to start may register again. So if the agent had the time of this object's registration
// before, its time afterwards is this object's as well.
func (r *Reconciliation) keepTimes(hosts, made []Host, before map[Host]Status, brought brought, last map[Host]Status) {
	registered := setOf(made)
	for _, h := range hosts {
		was, asked := before[h]
		if !asked {
			was = brought.before[h]
		}
		if registered[h] || was.RegisterTime != 0 && was.RegisterTime == r.change.Times[h] {
			r.found.Registered[h] = last[h].RegisterTime
		}
		r.found.Running[h] = max(last[h].PID, 0)
	}
}

// union are the hosts of either list, each once.
func union(a, b []Host) []Host {
	in := setOf(a)
	return append(slices.Clone(a), pickFunc(b, func(h Host) bool { return !in[h] })...)
}

// left is what is left to do on a host on which nothing was done.
func (r *Reconciliation) left(h Host) Code {
	due, isDue := r.change.Due[h]
	switch {
	case r.register[h]:
		return NotRegistered
	case r.reregister[h]:
		return OtherSpec
	case isDue && due.InDoubt:
		return OperationUnconfirmed
	case isDue && r.change.Operation != "":
		return NotOperated
	}
	return r.bare(h)
}

// bare is what is left to do on a host on which the process is registered and no more.
func (r *Reconciliation) bare(Host) Code {
	if r.want.Ensure == EnsureRunning {
		return NotRunning
	}
	return NotHosted
}

// tookOver keeps what registering found, whatever came after it.
func (r Results) tookOver(registered Results) {
	for h, o := range registered {
		if o.TookOver {
			kept := r[h]
			kept.TookOver = true
			r[h] = kept
		}
	}
}

// leave says of hosts that did not come out well what is left to do there,
// unless that is said already.
func (r Results) leave(hosts []Host, left func(Host) Code) {
	for _, h := range hosts {
		if o := r[h]; !o.OK() && o.Left == "" {
			o.Left = left(h)
			r[h] = o
		}
	}
}

func setOf(hosts []Host) map[Host]bool {
	set := make(map[Host]bool, len(hosts))
	for _, h := range hosts {
		set[h] = true
	}
	return set
}

func pick(hosts []Host, set map[Host]bool) []Host {
	return pickFunc(hosts, func(h Host) bool { return set[h] })
}

func pickFunc(hosts []Host, keep func(Host) bool) []Host {
	var picked []Host
	for _, h := range hosts {
		if keep(h) {
			picked = append(picked, h)
		}
	}
	return picked
}
