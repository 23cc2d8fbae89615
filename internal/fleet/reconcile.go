package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Change says what is not yet as desired.
type Change struct {
	Moves
	Operate
	Inherited

	// Register holds hosts on which the process is not known to be registered. Reregister holds
	// those where something else is registered. Settle holds those where only hosting or running
	// may be missing. AsFound holds those that another tool has registered as is desired. They
	// become this object's in their wave.
	Register, Reregister, Settle, AsFound []Host
	// Adopt takes over registrations that somebody else made.
	Adopt bool
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
	// Operation runs on the hosts of Runs, none if it is "".
	Operation Operation
	Runs      map[Host]Runs
	// Traces are for those of them on which an apply that was cut off may have run it. Before is what
	// was declared before.
	Traces map[Host]Trace
	Before Desired
}

// Inherited is what an earlier apply left on these hosts.
type Inherited struct {
	// Prior is the process as the hosts have it. Before anything is changed, the hosts of
	// Runs are asked by it: an agent finds a process by the paths of its spec.
	Prior Process
	// Underway are hostings and starts whose end was not seen. They are asked for before anything is
	// done to their hosts.
	Underway map[Host]Task
	// Times are when hosts were registered, by their agents' time, where that is known.
	Times map[Host]int64
	// Rename unregisters those of the hosts of a wave that are registered by another name, and
	// gives those on which that failed. Nil where there are none in Register.
	Rename func(ctx context.Context, hosts []Host) Results
	// Sent are hosts of Register that an earlier apply has registered, or may have, as far as state
	// knows. Without labels nothing else shows whose the registration there is.
	Sent map[Host]bool
}

// Owned is a registration that another object made. It has the object's id, "" if the cached status
// is late or cannot be read. It has the agent's time, 0 if that is not known.
type Owned struct {
	Owner string
	At    int64
}

// Reconciliation makes hosts as desired, wave by wave, and can take that back.
type Reconciliation struct {
	process Process
	want    Desired
	change  Change
	steps   map[Host]step

	changed [][]Host // the hosts of each wave that were registered
	// resumed are the hosts on which an earlier try of the operation turned out to have
	// worked. nexts are what it does on the others.
	resumed Results
	nexts   map[Host]next
	// underway are hostings and starts of Run whose end was not seen.
	underway map[Host]Task
	found    Found
}

// Found is what a reconciliation has learnt of its hosts, beside their outcomes.
type Found struct {
	// Registered is when hosts were registered to whose registration something was done, by their
	// agents' time; 0 where that is not known.
	Registered map[Host]int64
	// Running is the pid of the process on hosts to which something was done; 0 where it does not
	// run, or that is not known.
	Running map[Host]int64
	// Operated are the hosts that were operated or started once they were registered, with the pid of
	// the process before that.
	Operated map[Host]int64
	// Ended are the hosts on which what an earlier run had sent has come to an end.
	Ended map[Host]bool
	// Unsure are the hosts of Runs on which the operation was not run, with the pid of the process. An
	// apply that was cut off may have run it, and the platform does not say.
	Unsure map[Host]int64
	// Taken are hosts that were taken over from another owner, or were not hosted, with what the
	// cached status showed of them before.
	Taken map[Host]Status
	// TookOver: a registration that was there before was replaced.
	TookOver bool
	// OutOfTime: a host has failed because the time for everything was to be up, be it left to other
	// hosts.
	OutOfTime bool
}

// Found is what it has learnt so far.
func (r *Reconciliation) Found() Found { return r.found }

// NewReconciliation returns one that has not begun.
func NewReconciliation(p Process, want Desired, c Change) *Reconciliation {
	c.Runs = maps.Clone(c.Runs) // what becomes of earlier tries is noted there
	return &Reconciliation{
		process: p, want: want, change: c, steps: c.steps(), resumed: make(Results), nexts: make(map[Host]next), underway: make(map[Host]Task),
		found: Found{Registered: make(map[Host]int64), Running: make(map[Host]int64), Operated: make(map[Host]int64), Unsure: make(map[Host]int64), Ended: make(map[Host]bool), Taken: make(map[Host]Status)},
	}
}

// step is what is done to a host first.
type step int

const (
	register step = iota + 1
	registerAnew
	settle
	keepFound
)

// Hosts are all that it concerns.
func (c Change) Hosts() []Host { return slices.Concat(c.Register, c.Reregister, c.Settle, c.AsFound) }

// steps are those of the hosts of a change.
func (c Change) steps() map[Host]step {
	steps := make(map[Host]step)
	for which, hosts := range map[step][]Host{register: c.Register, registerAnew: c.Reregister, settle: c.Settle, keepFound: c.AsFound} {
		for _, h := range hosts {
			steps[h] = which
		}
	}
	return steps
}

// Run makes hosts as desired, and gives the outcome of each.
func (r *Reconciliation) Run(ctx context.Context) Results {
	touched := Where(r.change.Order, func(h Host) bool { return r.steps[h] != 0 })
	rollout := r.change.Rollout
	if r.want.Ensure != EnsureRunning && r.change.Operation == "" {
		rollout.Healthy = nil // nothing here is meant to run
	}
	results := rollout.gated(ctx, r.process, touched, r.wave, r.meant)
	for h, o := range results {
		if o.Underway.ID != "" {
			r.underway[h] = o.Underway
		}
	}
	results.leave(touched, r.left)
	return results
}

// agentsKnow reports whether agents know something that is kept. That is the time of the
// registration (of no use without labels), or the pid.
func (r *Reconciliation) agentsKnow() bool {
	return r.want.FingerprintLabel != "" || r.change.Operation != ""
}

// left is what is left to do on a host on which nothing was done.
func (r *Reconciliation) left(h Host) Code {
	runs, isDue := r.change.Runs[h]
	switch {
	case r.steps[h] == register, r.steps[h] == keepFound:
		return NotRegistered
	case r.steps[h] == registerAnew:
		return OtherSpec
	case runs.Unconfirmed():
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

// operated is the outcome of an operation with what is left of it, where it did not come out well.
func (o Outcome) operated() Outcome {
	switch {
	case o.OK():
		return o
	case o.Verdict == Lost, o.Verdict == Pending:
		o.Left = OperationUnconfirmed
	default:
		o.Left = NotOperated
	}
	return o
}

// meant reports whether the process is meant to run on a host.
func (r *Reconciliation) meant(h Host) bool {
	_, operated := r.found.Operated[h]
	return operated || r.want.Ensure == EnsureRunning
}

// due are those of the hosts on which the operation is to run.
func (r *Reconciliation) due(hosts []Host) []Host {
	return Where(hosts, func(h Host) bool { _, due := r.change.Runs[h]; return due && r.change.Operation != "" })
}

// TooManyFailed reports whether more hosts failed than the rollout bears.
func (r *Reconciliation) TooManyFailed(results Results) bool {
	return r.change.Rollout.Failed(results) > r.change.Rollout.MaxFailed.Of(len(results))
}

// Changed are the hosts that are registered with what is desired, or may be.
func (r *Reconciliation) Changed() []Host { return slices.Concat(r.changed...) }

// Back gives those of the changed hosts that can go back what was declared before, the last
// wave first, and operates what Run has operated. A host on which what Run has sent is still under
// way stays as it is. It goes on whatever fails, as long as ctx does.
func (r *Reconciliation) Back(ctx context.Context, was Desired, can func(Host) bool) Results {
	hosts, runs := Where(r.Changed(), can), make(map[Host]Runs)
	for h := range r.found.Operated {
		if _, due := r.change.Runs[h]; due || was.Spec != r.want.Spec { // otherwise it was only started
			runs[h] = Runs{Spec: SpecUnknown, Tried: TryFailed} // so that what does not run is started
		}
	}
	back := NewReconciliation(r.change.Prior, was, Change{
		Reregister: hosts, Operate: Operate{Operation: r.change.Operation, Runs: runs}, Inherited: Inherited{Prior: r.process, Underway: r.underway},
	})
	results := make(Results, len(hosts))
	for _, wave := range slices.Backward(r.changed) {
		wave = Where(wave, can)
		if err := poll.Pause(ctx, 0); err != nil {
			results.Merge(Same(wave, Outcome{Verdict: NotTried, Err: err, Meaning: stopReason(err)}))
			continue
		}
		results.Merge(r.change.Rollout.bounded(ctx, back.wave, Wave{Hosts: wave}))
	}
	results.leave(hosts, back.left)
	maps.Copy(r.found.Registered, back.found.Registered)
	maps.Copy(r.found.Running, back.found.Running)
	maps.Copy(r.found.Operated, back.found.Operated)
	return results
}
