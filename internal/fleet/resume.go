package fleet

import (
	"context"
	"time"
)

// Task is what a later run has to know of an operation on a host. The platform reports the end of what
// was sent by its id.
type Task struct {
	ID        string    `json:"id"`
	Operation Operation `json:"operation"`
	// Bare: a one-shot process was not hosted before, and is not to be afterwards. That is known also of
	// a task without an id.
	Bare bool `json:"bare,omitempty"`
	// Worked: it was seen to work, and what follows it is left to do.
	Worked bool `json:"worked,omitempty"`
	// Anew: it is to be run whatever became of it, and only Bare counts.
	Anew bool `json:"anew,omitempty"`
	// As is the name by which the operation was sent to its host, if the host has another name now.
	// Results come under the old name, which may not be known elsewhere any more.
	As string `json:"as,omitempty"`
	// Fingerprint is that of the declaration which a hosting was sent with. Fresh: the process
	// was not hosted before; RegisteredBefore is when it was registered before, by its agent's time, 0
	// where that is not known.
	Fingerprint      string `json:"fingerprint,omitempty"`
	Fresh            bool   `json:"fresh,omitempty"`
	RegisteredBefore int64  `json:"over,omitempty"`
	// Was is the pid before it was sent, 0 if that is not known. Another pid shows that it worked.
	Was int64 `json:"was,omitempty"`
}

// TookEffect reports whether a host is hosted by the task. Its agent reports a registration that was
// not there before, and the cached status shows it as sent by want's owner. Without labels its
// owner is not known.
func (t Task) TookEffect(want Desired, live, row Status) bool {
	want.Fingerprint = t.Fingerprint
	since := t.Fresh || registeredSince(t.RegisteredBefore, live.RegisterTime)
	sent := want.FingerprintLabel == "" || want.Ours(row) && (want.OwnerLabel() == "" || want.Owns(row)) && !row.olderThan(live.RegisterTime)
	return live.Hosted && since && sent
}

// underWay notes the task of an operation whose end was not seen.
func (o Outcome) underWay(op Operation, bare bool) Outcome {
	if (o.TaskID != "" || bare) && (o.Verdict == Pending || o.Verdict == Lost) {
		o.Underway = Task{ID: o.TaskID, Operation: op, Bare: bare}
	}
	return o
}

// underWay notes the tasks of an operation on hosts of which its end was not seen.
func (r Results) underWay(op Operation) Results {
	for h, o := range r {
		r[h] = o.underWay(op, false)
	}
	return r
}

// hosting notes the tasks of registrations of which the end was not seen. fresh tells the hosts on
// which the process was not hosted before.
func (r Results) hosting(want Desired, fresh func(Host) bool) Results {
	for h, o := range r.underWay(Supervise) {
		if o.Underway.ID != "" {
			o.Underway.Fingerprint, o.Underway.Fresh = want.Fingerprint, fresh(h)
			r[h] = o
		}
	}
	return r
}

func always(Host) bool { return true }
func never(Host) bool  { return false }

// StillUnderWay asks for the end of operations that an earlier run has sent. It asks for at most
// patience, or three quarters of the remaining time. It returns the hosts on which they may still
// take effect after what is done now. worked returns the hosts whose agents show that they worked.
func StillUnderWay(ctx context.Context, p Process, patience time.Duration, tasks map[Host]Task,
	worked func(context.Context, []Host) Results, observe Observer,
) Results {
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)*3/4)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	still := make(Results)
	for h, o := range resume(ctx, p, tasks, worked, observe) {
		if o.Verdict == Pending {
			still[h] = o
		}
	}
	return still
}

// TookEffect returns the hosts on which a task has taken effect, as their agents say, although the
// task itself does not. The process was started there, or is hosted by the task.
func TookEffect(ctx context.Context, p Process, want Desired, tasks map[Host]Task, hosts []Host, live map[Host]Status) Results {
	hosted := Where(hosts, func(h Host) bool { return tasks[h].Operation == Supervise && live[h].Hosted })
	var rows map[Host]Status
	if len(hosted) > 0 && want.FingerprintLabel != "" {
		rows, _ = p.CachedStatus(ctx, hosted)
	}
	results := make(Results)
	for _, h := range hosts {
		task, now := tasks[h], live[h]
		started := now.State == Running && (task.Operation == Start || task.Was > 0 && now.PID > 0 && now.PID != task.Was)
		if started || task.TookEffect(want, now, rows[h]) {
			results[h] = Outcome{Verdict: Done, AlreadyDone: true}
		}
	}
	return results
}

// resume asks for the end of operations that an earlier run has sent, before any of them is sent
// again. It waits for those that the platform says are still under way, unless their agents show
// that they worked (worked asks them). Done and Failed hosts have ended so, and Pending ones go on.
// Of the others, which are Lost, the tasks say nothing.
func resume(ctx context.Context, p Process, tasks map[Host]Task, worked func(context.Context, []Host) Results, observe Observer) Results {
	if len(tasks) == 0 {
		return nil
	}
	results := p.Resume(ctx, tasks, false, nil)
	var open []Host
	for h := range tasks {
		if results[h].Verdict == Pending {
			open = append(open, h)
		}
	}
	if len(open) > 0 {
		results.Merge(worked(ctx, open))
		rest := make(map[Host]Task)
		for _, h := range open {
			if results[h].Verdict == Pending {
				rest[h] = tasks[h]
			}
		}
		if len(rest) > 0 {
			results.Merge(p.Resume(ctx, rest, true, observe))
		}
	}
	for h, o := range results {
		if o.Verdict == Pending {
			o.Underway = tasks[h]
			results[h] = o
		}
	}
	return results
}

// hindered asks for the end of hostings and starts that an earlier run has sent. It returns the
// hosts on which one goes on, as far as the platform and the agents know.
func (r *Reconciliation) hindered(ctx context.Context, hosts []Host, later time.Duration, observe Observer) Results {
	tasks := make(map[Host]Task)
	for _, h := range hosts {
		if task, sent := r.change.Underway[h]; sent {
			tasks[h] = task
		}
	}
	ctx, cancel := Share(ctx, Takes(r.process, Start), later)
	defer cancel()
	still := StillUnderWay(ctx, r.process, Patience, tasks, r.tookEffect(tasks), observe)
	for h := range tasks {
		o, goesOn := still[h]
		if r.found.Ended[h] = !goesOn; goesOn && tasks[h].Operation == Start {
			o.Meaning = "a start of an earlier apply is still under way; if that never ends, start the process by hand, and apply again"
			still[h] = o
		}
	}
	return still
}

// tookEffect gives the hosts on which these tasks have taken effect, as their agents show.
func (r *Reconciliation) tookEffect(tasks map[Host]Task) func(context.Context, []Host) Results {
	return func(ctx context.Context, hosts []Host) Results {
		live, _ := LiveStatusWithin(ctx, r.prior(), Patience, hosts) // who says nothing has not shown it
		return TookEffect(ctx, r.prior(), r.want, tasks, hosts, live)
	}
}

// resumeTries asks for the end of earlier tries whose tasks are known. It returns the hosts on which one
// is still under way. If one for this declaration worked, the host is in resumed from then on. If one
// failed, that is known from then on.
func (r *Reconciliation) resumeTries(ctx context.Context, due []Host, later time.Duration, observe Observer) Results {
	tasks := make(map[Host]Task)
	for _, h := range due {
		if task := r.change.Runs[h].Task; task.ID != "" {
			tasks[h] = task
		}
	}
	ctx, cancel := Share(ctx, Takes(r.process, r.change.Operation), later)
	defer cancel()
	still := make(Results)
	for h, o := range resume(ctx, r.process, tasks, r.tookEffect(tasks), observe) {
		switch runs := r.change.Runs[h]; {
		case o.Verdict == Pending:
			if runs.Tried != TryUnseen {
				o.Meaning = "a " + string(tasks[h].Operation) + " of an earlier apply is still under way; if that never ends, restart the process by hand, and apply again"
			}
			still[h] = o
		case runs.Tried != TryUnseen: // it was for another declaration
		case o.Verdict == Done:
			r.resumed[h], r.nexts[h] = o, ranAlready
		case o.Verdict == Failed:
			r.change.Runs[h] = Runs{Spec: SpecUnknown, PID: runs.PID, Tried: TryFailed}
		default: // the pid tells
		}
	}
	return still
}

// prior is the process as the hosts have it.
func (r *Reconciliation) prior() Process {
	if r.change.Prior != nil {
		return r.change.Prior
	}
	return r.process
}
