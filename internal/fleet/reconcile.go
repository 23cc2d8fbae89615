package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Change describes what has to be done to bring hosts to the desired state.
type Change struct {
	Moves
	Operate
	Inherited

	// Register holds hosts on which the process is not known to be registered. On those of Reregister
	// something else is registered. On those of Settle at most hosting, running or the operation is
	// missing. Those of AsFound are registered as desired by another tool, and become this object's in their wave.
	Register, Reregister, Settle, AsFound []Host
	// Adopt makes the reconciliation take over registrations that anyone else made.
	Adopt bool
	// Order is the order of the hosts in the waves. Hosts of the change that it lacks are not touched.
	Order   []Host
	Rollout Rollout
}

// Moves describes what other objects of the same run do on these hosts.
type Moves struct {
	// Leaving returns those of found that another object has registered and is leaving. They are taken over.
	// If Leaving is nil, none are.
	Leaving func(ctx context.Context, found map[Host]Owned) []Host
	// Stopped are hosts of Register on which the process ran until another object stopped it. It is started
	// again.
	Stopped map[Host]bool
}

// Operate is the operation that runs on hosts once they are registered.
type Operate struct {
	// Operation runs on the hosts of Runs. If it is "", nothing runs.
	Operation Operation
	Runs      map[Host]Runs
	// Traces are for the hosts of Runs on which an interrupted apply may have run it, or a try whose end was not
	// seen. Before is what was declared before.
	Traces map[Host]Trace
	Before Desired
}

// Inherited is what an earlier apply left on these hosts.
type Inherited struct {
	// Prior is the process as the hosts have it now. The hosts of Runs are asked through it before they are
	// changed: an agent finds a process by the paths of its spec.
	Prior Process
	// Underway are hostings and starts whose end was not seen. They are asked for before anything is done to
	// their hosts.
	Underway map[Host]Task
	// Times are when hosts were registered, by their agents' clocks, if known.
	Times map[Host]int64
	// Rename unregisters the hosts that are registered by another name, and returns those on which that
	// failed. It is nil if Register has no such hosts.
	Rename func(ctx context.Context, hosts []Host) Results
	// Sent are hosts of Register that an earlier apply has, or may have, registered, according to state.
	// Without labels nothing else shows whose registration it is.
	Sent map[Host]bool
}

// Owned is a registration by another object. Owner is the object's id, "" if the cached status is outdated or
// cannot be read. At is the agent's time, 0 if unknown.
type Owned struct {
	Owner string
	At    int64
}

// Reconciliation brings hosts to the desired state wave by wave, and can take that back.
type Reconciliation struct {
	process Process
	want    Desired
	change  Change
	steps   map[Host]step

	changed [][]Host // the registered hosts of each wave
	// resumed are the hosts on which an earlier try of the operation turned out to have worked. nexts holds
	// what the operation does on hosts.
	resumed Results
	nexts   map[Host]next
	// worked are the hosts on which the operation worked.
	worked map[Host]bool
	// underway are hostings and starts sent by Run whose end was not seen.
	underway map[Host]Task
	found    Found
}

// Found is what a reconciliation has learnt about its hosts, besides their outcomes.
type Found struct {
	// Registered is when hosts whose registration was changed were registered, by their agents' clocks, 0 if
	// unknown.
	Registered map[Host]int64
	// Running is the pid of the process on hosts to which something was done, 0 if it does not run or is
	// unknown.
	Running map[Host]int64
	// Started is when the process was started that then runs, by the agent's clock, 0 if that is unknown.
	Started map[Host]int64
	// Operated are the hosts on which the process was operated or started after they were registered, with
	// its pid before that.
	Operated map[Host]int64
	// Ended are the hosts on which the tasks that an earlier run had sent have ended.
	Ended map[Host]bool
	// Unsure are the hosts of Runs on which the operation was not run, with the pid of the process: an
	// interrupted apply may have run it, and the platform does not show that.
	Unsure map[Host]int64
	// Taken are hosts that were taken over from another owner, or were not hosted, with their cached status
	// before.
	Taken map[Host]Status
	// TookOver is set if an existing registration was replaced.
	TookOver bool
	// OutOfTime is set if a host failed because the time for the whole run was up, or reserved for other
	// hosts.
	OutOfTime bool
}

// Found returns what the reconciliation has learnt so far.
func (r *Reconciliation) Found() Found { return r.found }

// NewReconciliation returns a reconciliation that has not begun.
func NewReconciliation(p Process, want Desired, c Change) *Reconciliation {
	c.Runs, c.Traces = maps.Clone(c.Runs), maps.Clone(c.Traces) // the fate of earlier tries is noted there
	return &Reconciliation{
		process: p, want: want, change: c, steps: c.steps(), resumed: make(Results), nexts: make(map[Host]next), worked: make(map[Host]bool), underway: make(map[Host]Task),
		found: Found{Registered: make(map[Host]int64), Running: make(map[Host]int64), Started: make(map[Host]int64), Operated: make(map[Host]int64), Unsure: make(map[Host]int64), Ended: make(map[Host]bool), Taken: make(map[Host]Status)},
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

// Hosts returns all hosts of the change.
func (c Change) Hosts() []Host { return slices.Concat(c.Register, c.Reregister, c.Settle, c.AsFound) }

func (c Change) steps() map[Host]step {
	steps := make(map[Host]step)
	for which, hosts := range map[step][]Host{register: c.Register, registerAnew: c.Reregister, settle: c.Settle, keepFound: c.AsFound} {
		for _, h := range hosts {
			steps[h] = which
		}
	}
	return steps
}

// Run brings the hosts to the desired state, and returns the outcome of each.
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

// agentsKnow reports whether agents know something that is kept: the time of the registration, which is of
// use only with labels, or the pid.
func (r *Reconciliation) agentsKnow() bool {
	return r.want.FingerprintLabel != "" || r.change.Operation != ""
}

// left returns what is left to do on a host on which nothing was done.
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
	return r.leftOnceRegistered(h)
}

// leftOnceRegistered returns what is left to do on a host that is registered, and no more.
func (r *Reconciliation) leftOnceRegistered(Host) Code {
	if r.want.Ensure == EnsureRunning {
		return NotRunning
	}
	return NotHosted
}

// leave sets what is left to do on hosts that are not OK, unless it is set already.
func (r Results) leave(hosts []Host, left func(Host) Code) {
	for _, h := range hosts {
		if o := r[h]; !o.OK() && o.Left == "" {
			o.Left = left(h)
			r[h] = o
		}
	}
}

// operated returns the outcome of an operation, with what is left of the operation if it is not OK.
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

// due returns those of hosts on which the operation is to run.
func (r *Reconciliation) due(hosts []Host) []Host {
	return Where(hosts, func(h Host) bool { _, due := r.change.Runs[h]; return due && r.change.Operation != "" })
}

// TooManyFailed reports whether more hosts failed than the rollout tolerates.
func (r *Reconciliation) TooManyFailed(results Results) bool {
	return r.change.Rollout.Failed(results) > r.change.Rollout.MaxFailed.Of(len(results))
}

// Changed returns the hosts that are, or may be, registered as desired by this reconciliation.
func (r *Reconciliation) Changed() []Host { return slices.Concat(r.changed...) }

// Back brings the changed hosts for which can is true back to was, the last wave first, and runs the
// operation again where Run has run it for another spec or in vain. A host on which something that Run sent is still under way stays as
// it is. Back goes on after failures, until ctx ends.
func (r *Reconciliation) Back(ctx context.Context, was Desired, can func(Host) bool) Results {
	hosts, runs := Where(r.Changed(), can), make(map[Host]Runs)
	for h := range r.found.Operated {
		_, due := r.change.Runs[h]
		if was.Spec != r.want.Spec || due && !r.worked[h] { // otherwise it was only started, or runs that spec by now
			runs[h] = Runs{Spec: SpecUnknown, Tried: TryFailed} // with TryFailed, a stopped process is started
		}
	}
	back := NewReconciliation(r.change.Prior, was, Change{
		Reregister: hosts, Operate: Operate{Operation: r.change.Operation, Runs: runs}, Inherited: Inherited{Prior: r.process, Underway: r.underway},
	})
	results := make(Results, len(hosts))
	for _, wave := range slices.Backward(r.changed) {
		wave = Where(wave, can)
		if err := poll.Pause(ctx, 0); err != nil {
			results.Merge(NotBegun(wave, err))
			continue
		}
		results.Merge(r.change.Rollout.bounded(ctx, back.wave, Wave{Hosts: wave}))
	}
	results.leave(hosts, back.left)
	maps.Copy(r.found.Registered, back.found.Registered)
	maps.Copy(r.found.Running, back.found.Running)
	maps.Copy(r.found.Started, back.found.Started)
	maps.Copy(r.found.Operated, back.found.Operated)
	return results
}
