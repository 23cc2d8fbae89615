package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Task is what a later run has to know about an operation that was sent to a host. By its id the platform
// reports how the operation ended.
type Task struct {
	ID        string    `json:"id"`
	Operation Operation `json:"operation"`
	// Bare is set for a one-shot process that was not hosted before, and is not to be hosted afterwards. It
	// may be set without an ID.
	Bare bool `json:"bare,omitempty"`
	// Worked is set if the operation worked and only what follows it is left to do.
	Worked bool `json:"worked,omitempty"`
	// Anew is set if the operation is to run whatever became of it. Only Bare counts then.
	Anew bool `json:"anew,omitempty"`
	// As is the name that the host had when the operation was sent, if it has another one now. The results
	// come under that name, which may be known nowhere else any more.
	As string `json:"as,omitempty"`
	// Fingerprint is that of the declaration that a hosting was sent for. Fresh is set if the process was not
	// hosted before.
	Fingerprint string `json:"fingerprint,omitempty"`
	Fresh       bool   `json:"fresh,omitempty"`
	// RegisterTime is the time of a registration by the agent's clock, 0 if unknown: of the one before a hosting, or
	// with Bare of the one that the operation has left.
	RegisterTime int64 `json:"register_time,omitempty"`
	// Was is the pid before the operation was sent, 0 if unknown. Another pid shows that it worked.
	Was int64 `json:"was,omitempty"`
}

// hosts reports whether the task has made the agent host the process. The agent must report a
// registration that was not there before, and the cached status must show it as sent by want's owner. Without
// labels the owner is not checked.
func (t Task) hosts(want Desired, live, row Status) bool {
	want.Fingerprint = t.Fingerprint
	since := t.Fresh || registeredSince(t.RegisterTime, live.RegisterTime)
	sent := want.FingerprintLabel == "" || want.Made(row) && !row.olderThan(live.RegisterTime)
	return live.Hosted && since && sent
}

// underWay notes the task of an operation whose end was not seen.
func (o Outcome) underWay(op Operation, bare bool) Outcome {
	if (o.TaskID != "" || bare) && (o.Verdict == Pending || o.Verdict == Lost) {
		o.Underway = Task{ID: o.TaskID, Operation: op, Bare: bare}
	}
	return o
}

// underWay notes the task on each host where the end of the operation was not seen.
func (r Results) underWay(op Operation) Results {
	for h, o := range r {
		r[h] = o.underWay(op, false)
	}
	return r
}

// hosting notes the task on each host where the end of registering was not seen. On fresh hosts the process was
// not hosted before.
func (r Results) hosting(want Desired, fresh map[Host]bool) Results {
	for h, o := range r.underWay(Supervise) {
		if o.Underway.ID != "" {
			o.Underway.Fingerprint, o.Underway.Fresh = want.Fingerprint, fresh[h]
			r[h] = o
		}
	}
	return r
}

// StillUnderWay asks for the results of hostings and operations that an earlier run has sent, for at most
// Patience, or three quarters of the remaining time if that is shorter. It returns the hosts on which they may
// yet take effect, as far as the platform and the agents know. asked is the process by which the agents are
// asked, and want what was declared.
func StillUnderWay(ctx context.Context, p, asked Process, want Desired, tasks map[Host]Task, observe Observer) Results {
	patience := Patience
	if deadline, bounded := ctx.Deadline(); bounded {
		patience = min(patience, time.Until(deadline)*3/4)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return resume(ctx, p, tasks, tookEffect(asked, want, tasks), observe).pending()
}

// tookEffect returns a function that asks agents whether tasks have taken effect although the platform does not
// say so: the process was started, or the agent hosts it by the task. On the other hosts the task is Pending, and
// Unreachable if the agent does not answer.
func tookEffect(asked Process, want Desired, tasks map[Host]Task) func(context.Context, []Host) Results {
	return func(ctx context.Context, hosts []Host) Results {
		live, err := LiveStatusWithin(ctx, asked, Patience, hosts)
		hosted := Where(hosts, func(h Host) bool { return tasks[h].Operation == Supervise && live[h].Hosted })
		var rows map[Host]Status
		if len(hosted) > 0 && want.FingerprintLabel != "" {
			rows, _ = asked.CachedStatus(ctx, hosted)
		}
		results := make(Results, len(hosts))
		for _, h := range hosts {
			task, now := tasks[h], live[h]
			started := now.State == Running && (task.Operation == Start || task.Was > 0 && now.PID > 0 && now.PID != task.Was)
			if started || task.hosts(want, now, rows[h]) {
				results[h] = Outcome{Verdict: Done, AlreadyDone: true}
			} else {
				results[h] = Outcome{Verdict: Pending, Unreachable: err == nil && now.Silent()}
			}
		}
		return results
	}
}

// resume asks for the results of operations that an earlier run has sent, before any of them is sent again.
// If the platform says that one is still under way, resume waits for it, unless the agent shows that it
// worked (worked asks the agents). On Done and Failed hosts the operation has ended so, on Pending ones it
// goes on. For Lost hosts the task shows nothing.
func resume(ctx context.Context, p Process, tasks map[Host]Task, worked func(context.Context, []Host) Results, observe Observer) Results {
	if len(tasks) == 0 {
		return nil
	}
	results := p.Resume(ctx, tasks, false, nil)
	if open := slices.Collect(maps.Keys(results.pending())); len(open) > 0 {
		results.Merge(worked(ctx, open))
	}
	if open := results.pending(); len(open) > 0 {
		rest := maps.Clone(tasks)
		maps.DeleteFunc(rest, func(h Host, _ Task) bool { _, pending := open[h]; return !pending })
		for h, o := range p.Resume(ctx, rest, true, observe) {
			o.Unreachable = open[h].Unreachable
			results[h] = o
		}
	}
	for h, o := range results.pending() {
		o.Underway = tasks[h]
		results[h] = o
	}
	return results
}

func (r Results) pending() Results {
	return r.Where(func(_ Host, o Outcome) bool { return o.Verdict == Pending })
}

// resumeUnderway asks for the results of hostings and starts that an earlier run has sent. It returns the
// hosts on which one is still under way, as far as the platform and the agents know.
func (r *Reconciliation) resumeUnderway(ctx context.Context, hosts []Host, later time.Duration, observe Observer) Results {
	tasks := make(map[Host]Task)
	for _, h := range hosts {
		if task, sent := r.change.Underway[h]; sent {
			tasks[h] = task
		}
	}
	ctx, cancel := Share(ctx, Takes(r.process, Start), later)
	defer cancel()
	still := StillUnderWay(ctx, r.process, r.prior(), r.want, tasks, observe)
	for h := range tasks {
		o, goesOn := still[h]
		if r.found.Ended[h] = !goesOn; goesOn {
			o.Meaning = tasks[h].goesOn()
			still[h] = o
		}
	}
	return still
}

// goesOn says that the task is still under way, and how to end that: by what tookEffect accepts.
func (t Task) goesOn() string {
	byHand := "restart"
	switch t.Operation {
	case Supervise:
		return "hosting it by an earlier apply is still under way; if that never ends, remove the resource with terraform state rm, and create it again with adopt_existing = true"
	case Start:
		byHand = "start"
	default: // only a new pid shows that it worked
	}
	return "a " + string(t.Operation) + " of an earlier apply is still under way; if that never ends, " + byHand + " the process by hand, and apply again"
}

// resumeTries asks for the results of earlier tries whose tasks are known. It returns the hosts on which a
// try is still under way. For the current declaration it notes a try that worked in resumed, and one that
// failed in change.Runs.
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
	for h, o := range resume(ctx, r.process, tasks, tookEffect(r.prior(), r.want, tasks), observe) {
		switch runs := r.change.Runs[h]; {
		case o.Verdict == Pending:
			if runs.Tried != TryUnseen {
				o.Meaning = tasks[h].goesOn()
			}
			still[h] = o
		case runs.Tried != TryUnseen: // the try was for another declaration
		case o.Verdict == Done:
			r.resumed[h], r.nexts[h] = o, ranAlready
		case o.Verdict == Failed:
			r.change.Runs[h] = Runs{Spec: SpecUnknown, PID: runs.PID, Tried: TryFailed}
			delete(r.change.Traces, h) // it did not run, whatever the pid is now
		default: // the pid shows whether it worked
		}
	}
	return still
}

// prior returns the process as the hosts have it now.
func (r *Reconciliation) prior() Process {
	if r.change.Prior != nil {
		return r.change.Prior
	}
	return r.process
}
