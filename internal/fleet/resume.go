package fleet

import (
	"context"
	"time"
)

// Task is an operation that was sent and whose end was not seen. By its id the platform
// tells how it ended.
type Task struct {
	ID        string    `json:"id"`
	Operation Operation `json:"operation"`
	// Bare: a one-shot process was not hosted before, and is not to be afterwards.
	Bare bool `json:"bare,omitempty"`
	// As is the name by which the operation was sent to its host, where the host has another
	// one now: results come under that, and nothing may tell it any more.
	As string `json:"as,omitempty"`
	// Fresh: the process was not hosted before. Over is when it was registered before, by its
	// agent's time, 0 where that is not known.
	Fresh bool  `json:"fresh,omitempty"`
	Over  int64 `json:"over,omitempty"`
}

// CameAbout reports whether an agent shows that the host was hosted by the task.
func (t Task) CameAbout(s Status) bool {
	return s.Hosted && (t.Fresh || t.Over != 0 && s.RegisterTime != 0 && s.RegisterTime != t.Over)
}

// SentTo is the task for a host that has another name now.
func (t Task) SentTo(was Host) Task {
	if t.ID != "" && t.As == "" {
		t.As = was.WithoutSupplier().Address()
	}
	return t
}

// underWay notes the task of an operation whose end was not seen.
func (o Outcome) underWay(op Operation, bare bool) Outcome {
	if o.TaskID != "" && (o.Verdict == Pending || o.Verdict == Lost) {
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

// fresh notes of what is under way that the hosts were not hosted before.
func (r Results) fresh() Results {
	for h, o := range r {
		o.Underway.Fresh = o.Underway.ID != ""
		r[h] = o
	}
	return r
}

// StillUnderWay asks how operations ended that an earlier run has sent, for so long or for half
// of the time that is left, and gives the hosts on which they are still under way: they would
// take place after whatever is done there now. worked gives the hosts whose agents show all the
// same that they worked.
func StillUnderWay(ctx context.Context, p Process, patience time.Duration, tasks map[Host]Task,
	worked func(context.Context, []Host) Results, observe Observer,
) Results {
	ctx, cancel := within(ctx, patience)
	defer cancel()
	still := make(Results)
	for h, o := range resume(ctx, p, tasks, worked, observe) {
		if o.Verdict == Pending {
			still[h] = o
		}
	}
	return still
}

// resume asks how operations ended that an earlier run has sent, before any of them is sent
// again. Those that the platform says are still under way are waited for, unless their
// agents show that they worked: worked is asked for such hosts. Who comes back Done or
// Failed has ended so, and who comes back Pending goes on; of the others, which are Lost,
// their tasks tell nothing.
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
