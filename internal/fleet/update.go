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
// is still under way. If one worked, the host is in resumed from then on. If one failed, that is known
// from then on.
func (r *Reconciliation) resume(ctx context.Context, due []Host, later time.Duration, observe Observer) Results {
	tasks := make(map[Host]Task)
	for _, h := range due {
		if task := r.change.Runs[h].Underway(); task.ID != "" {
			tasks[h] = task
		}
	}
	ctx, cancel := Share(ctx, Takes(r.process, r.change.Operation), later)
	defer cancel()
	still := make(Results)
	for h, o := range resume(ctx, r.process, tasks, r.worked, observe) {
		switch o.Verdict {
		case Done:
			r.resumed[h], r.nexts[h] = o, ranAlready
		case Failed:
			r.change.Runs[h] = Runs{Spec: SpecUnknown, PID: r.change.Runs[h].PID, Tried: TryFailed}
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
		if now, was := live[h], r.change.Runs[h].PID; now.State == Running && now.PID > 0 && was > 0 && now.PID != was {
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
		runs[h] = Runs{Spec: SpecUnknown, Tried: TryFailed}
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
