package fleet

import "context"

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
