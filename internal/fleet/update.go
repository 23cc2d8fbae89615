package fleet

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// OnUpdate is what a changed spec does to the process on each host, once the host is
// registered with it.
type OnUpdate string

// What a changed spec does, the gentlest first.
const (
	UpdateRegister OnUpdate = "register"
	UpdateReload   OnUpdate = "reload"
	UpdateRestart  OnUpdate = "restart"
)

// OnUpdates are all of them.
func OnUpdates() []OnUpdate { return []OnUpdate{UpdateRegister, UpdateReload, UpdateRestart} }

// Operation is the operation that it runs, "" for none.
func (u OnUpdate) Operation() Operation {
	switch u {
	case UpdateReload:
		return Reload
	case UpdateRestart:
		return Restart
	default:
		return ""
	}
}

// Due is a host whose process runs something else than is declared. The zero value is one
// on which nothing was tried yet.
type Due struct {
	// PID is that of the process before an earlier try, 0 if there was none. A try may have
	// taken the process down, so it is started then.
	PID int64 `json:"pid,omitempty"`
	// InDoubt: the earlier try may have worked, which another pid shows. It was of the same
	// declaration.
	InDoubt bool `json:"in_doubt,omitempty"`
	// Operated: the earlier try worked, and the process was not seen to go on running. It is
	// operated again only if it does not run. It was of the same declaration.
	Operated bool `json:"operated,omitempty"`
	// Task is that of a try in doubt, if it is known. It is asked before the pid.
	Task Task `json:"task,omitzero"`
}

// hindered asks for the end of hostings and starts that an earlier run has sent. It returns the
// hosts on which one is still under way. For the others, the agents are asked.
func (r *Reconciliation) hindered(ctx context.Context, hosts []Host, later time.Duration, observe Observer) Results {
	tasks := make(map[Host]Task)
	for _, h := range hosts {
		if task, sent := r.change.Underway[h]; sent && (task.Operation == Supervise || r.want.Ensure == EnsureRunning) {
			tasks[h] = task
		}
	}
	ctx, cancel := Share(ctx, Takes(r.process, Start), later)
	defer cancel()
	still := StillUnderWay(ctx, r.process, Patience, tasks, r.tookEffect, observe)
	for h := range tasks {
		_, goesOn := still[h]
		r.found.Ended[h] = !goesOn
	}
	return still
}

// tookEffect gives the hosts on which what was sent has taken effect.
func (r *Reconciliation) tookEffect(ctx context.Context, hosts []Host) Results {
	live, _ := LiveStatusWithin(ctx, r.prior(), Patience, hosts) // who says nothing has not shown it
	return TookEffect(ctx, r.prior(), r.want, r.change.Underway, hosts, live)
}

// resume asks for the end of earlier tries whose tasks are known. It returns the hosts on which one
// is still under way. If one worked, the host is in resumed from then on. If one failed, the host
// is not in doubt any more.
func (r *Reconciliation) resume(ctx context.Context, due []Host, later time.Duration, observe Observer) Results {
	tasks := make(map[Host]Task)
	for _, h := range due {
		if d := r.change.Due[h]; d.InDoubt && d.Task.ID != "" {
			tasks[h] = d.Task
		}
	}
	ctx, cancel := Share(ctx, Takes(r.process, r.change.Operation), later)
	defer cancel()
	still := make(Results)
	for h, o := range resume(ctx, r.process, tasks, r.worked, observe) {
		d := r.change.Due[h]
		switch o.Verdict {
		case Done:
			r.resumed[h] = o
		case Failed:
			r.change.Due[h] = Due{PID: d.PID}
		case Pending:
			still[h] = o
		default: // the pid tells
		}
	}
	return still
}

// worked gives the hosts whose process has another pid than before an earlier try.
func (r *Reconciliation) worked(ctx context.Context, hosts []Host) Results {
	results := make(Results)
	live, _ := LiveStatusWithin(ctx, r.prior(), Patience, hosts) // who says nothing has not shown that it worked
	for _, h := range hosts {
		if now, was := live[h], r.change.Due[h].PID; now.State == Running && now.PID > 0 && was > 0 && now.PID != was {
			results[h] = Outcome{Verdict: Done, AlreadyDone: true}
		}
	}
	return results
}

// prior is the process as the hosts have it.
func (r *Reconciliation) prior() Process {
	if r.change.Prior != nil {
		return r.change.Prior
	}
	return r.process
}

// judge leaves a host out of the operation that has run there already, or may have, in an
// apply that was cut off.
func (r *Reconciliation) judge(h Host, live Status) {
	trace, fresh := r.change.Traces[h]
	if !fresh {
		return
	}
	switch trace.repeats(r.change.Operation, r.want, r.change.Before, live) {
	case already:
		r.change.Due[h] = Due{PID: live.PID, Operated: true}
	case notKnown:
		delete(r.change.Due, h)
		r.found.Unsure = append(r.found.Unsure, h)
	case notYet:
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
	return Where(hosts, func(h Host) bool { _, due := r.change.Due[h]; return due && r.change.Operation != "" })
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
	hosts := Where(r.Changed(), can)
	back := NewReconciliation(r.change.Prior, was, Change{
		Reregister: hosts, Operate: Operate{Operation: r.change.Operation, Due: r.found.Operated}, Inherited: Inherited{Prior: r.process, Underway: r.underway},
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

// Trace is what may show that an apply which was cut off has already run the operation of an update
// on a host. State is from before such an apply. The agent is asked in the host's wave.
type Trace struct {
	// PID and RegisterTime are what the agent said after the last apply that is in state, 0 if that
	// is not known.
	PID, RegisterTime int64
	// Lost: nothing is known of the last apply, because the provider was killed in one.
	Lost bool
	// Registered: the last apply in state registered the host as it is declared now. Ran: the process of
	// PID runs what is declared now, as the host did not get what was declared in between.
	Registered, Ran bool
	// File is the platform's cached row.
	File Status
}

// repetition says whether an operation on a host has run already.
type repetition int

const (
	notYet repetition = iota
	already
	notKnown // the platform does not tell which of the two
)

// repeats says whether the operation of an update would repeat that of an apply which was cut off, by the
// agent's current answer and the cached status. A process that was started
// after its host was registered as declared runs that declaration. The reverse does not hold: a
// start may renew the time of the registration. Times are compared only if one agent gave both.
func (t Trace) repeats(operation Operation, want, before Desired, live Status) repetition {
	if known, decided := t.repeatsByProcess(operation == Restart, live); decided {
		return known
	}
	file := t.File
	if want.mayBeOfBefore(file, before.Earlier) {
		file = Status{}
	}
	var (
		restart  = operation == Restart
		declared = want.Made(file) // the host is registered as declared today
		another  = registeredSince(t.RegisterTime, live.RegisterTime)
		isInFile = file.RegisterTime == live.RegisterTime
	)
	switch {
	case declared && another && isInFile && live.StartTime > live.RegisterTime:
		return already
	case declared, another && !isInFile, t.lostSince(before, live):
		return notKnown
	case restart && want.FingerprintLabel != "" && file.PID != live.PID: // started since the file was written
		return notKnown
	}
	return notYet
}

// repeatsByProcess decides by the process alone, as the last apply in state has seen it, where that is enough.
func (t Trace) repeatsByProcess(restart bool, live Status) (_ repetition, decided bool) {
	same := t.PID != 0 && live.PID == t.PID
	ours := t.RegisterTime != 0 && live.RegisterTime == t.RegisterTime // the registration is that of the last apply in state
	switch {
	case live.State != Running: // the operation passes it by
		return notYet, true
	case restart && t.Ran && (same || ours && t.PID == 0):
		return already, true
	case t.Ran, restart && same:
		return notYet, true
	case restart && t.Registered && ours && live.StartTime > live.RegisterTime:
		return already, true
	}
	return notYet, false
}

// mayBeOfBefore reports whether a row of d may be from before, as d is a declaration that comes back.
func (d Desired) mayBeOfBefore(file Status, earlier []string) bool {
	return slices.Contains(earlier, d.Fingerprint) && d.Made(file)
}

// lostSince reports whether nothing is known of the last apply, and the file does not show what it
// registered.
func (t Trace) lostSince(before Desired, live Status) bool {
	return t.Lost && (!before.Ours(t.File) || t.File.olderThan(live.RegisterTime))
}
