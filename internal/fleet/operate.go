package fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// turn is the operation of one process on the hosts of a wave. Agents are asked per process, before and after
// the operation. The operation itself may go to several processes in one call.
type turn struct {
	process Process
	op      Operation
	unsure  map[Host]Task // tasks left by an earlier run
	results Results
	due     []Host // hosts on which it has to run
	resumed []Host // hosts on which an earlier run has worked
	// bare are the hosts on which a one-shot process was not hosted before, and is not to be hosted
	// afterwards.
	bare map[Host]bool
}

// runsOnce reports whether the turn starts a process that ends by itself.
func (t *turn) runsOnce() bool { return t.process.OneShot() && t.op == Start }

// needsAfter returns the time that is needed after the operation.
func (t *turn) needsAfter() time.Duration {
	switch {
	case t.runsOnce():
		return 3 * Quick
	case t.op == Stop, t.op == Kill:
		return 2 * Quick
	}
	return 0
}

// before settles the hosts on which the operation must not run, or need not. later is what the operation needs, and
// what follows it, for all processes of the wave.
func (t *turn) before(ctx context.Context, hosts []Host, unsure map[Host]Task, later time.Duration, observe Observer) {
	t.results, t.bare, t.unsure = make(Results, len(hosts)), make(map[Host]bool), unsure
	doubtful := t.resume(ctx, Where(hosts, func(h Host) bool { _, is := unsure[h]; return is }), later+Quick, observe)
	for h, o := range askFirst(ctx, t.process, t.op, doubtful, later) {
		switch {
		case !o.OK():
			o.Underway = unsure[h]
		case t.runsOnce(): // the earlier run may have hosted the process
			t.resumed = append(t.resumed, h)
		}
		t.results[h] = o
	}
	t.due = Where(hosts, func(h Host) bool { _, settled := t.results[h]; return !settled })
	if t.runsOnce() && len(t.due) > 0 {
		t.askHosted(ctx, later)
	}
}

// resume settles the hosts on which an earlier run worked or is still under way. It returns those for which
// the task shows nothing. If the earlier run failed, the operation is due.
func (t *turn) resume(ctx context.Context, hosts []Host, later time.Duration, observe Observer) (doubtful []Host) {
	tasks := make(map[Host]Task)
	for _, h := range hosts {
		task := t.unsure[h]
		t.bare[h] = task.Bare
		switch {
		case task.Anew:
		case task.Worked:
			t.results[h] = Outcome{Verdict: Done, TaskID: task.ID}
			t.resumed = append(t.resumed, h)
		default:
			doubtful = append(doubtful, h)
			if task.ID != "" {
				tasks[h] = task
			}
		}
	}
	ctx, cancel := Share(ctx, Takes(t.process, t.op), later)
	defer cancel()
	ended := resume(ctx, t.process, tasks, func(ctx context.Context, open []Host) Results {
		return askFirst(ctx, t.process, t.op, open, Takes(t.process, t.op)).Where(func(_ Host, o Outcome) bool { return o.OK() })
	}, observe)
	for _, h := range doubtful {
		switch o, known := ended[h]; {
		case !known:
		case o.OK():
			t.results[h] = o
			t.resumed = append(t.resumed, h)
		case o.Verdict == Pending:
			t.results[h] = o
		}
	}
	return Where(doubtful, func(h Host) bool { o, known := ended[h]; return !known || o.Verdict == Lost })
}

// after takes the results of the operation and handles what it left behind.
func (t *turn) after(ctx context.Context, operated Results) {
	for _, h := range t.due {
		o, said := operated[h]
		if !said {
			o = Outcome{Verdict: Lost, Meaning: "no outcome came back for this host"}
		}
		t.results[h] = o.underWay(t.op, t.bare[h])
	}
	switch {
	case t.runsOnce():
		t.unhostAgain(ctx)
	case t.op == Stop, t.op == Kill:
		t.results.Merge(unhostIdle(ctx, t.process, t.results, foundIdle(t.results, slices.Concat(t.resumed, t.due))))
	}
	for h, o := range t.results { // what an earlier run left hosted stays hosted until something ends that
		if task := t.unsure[h]; task.Bare && t.bare[h] && !o.OK() && o.Underway == (Task{}) {
			o.Underway = task
			t.results[h] = o
		}
	}
}

// askHosted asks whether a one-shot process is hosted, because running it should leave that as it was. A
// start hosts the process, and the agent would run it again when it has ended (observed). If the agent does
// not answer, the process is not run. Agents that answer and do not say whether they host it never do, on some
// platforms. There the process is run, and not unhosted: it may have been hosted before.
func (t *turn) askHosted(ctx context.Context, later time.Duration) {
	before, err := askedBefore(ctx, t.process, t.due, later)
	if err != nil {
		t.results.Merge(Same(t.due, Outcome{Verdict: Failed, Err: err, Meaning: "not run, because whether it is hosted could not be asked"}))
		t.due = nil
		return
	}
	for _, h := range t.due {
		s := before[h]
		if s.State == Unknown {
			t.results[h] = Outcome{Verdict: Failed, Code: s.Code, Message: s.Message, Away: s.Away, Meaning: "not run, because its agent does not say whether it hosts it"}
		}
		left := t.bare[h] && !t.hostedSince(h, s) // an earlier run may have hosted it
		t.bare[h] = left || s.HostedKnown && !s.Hosted
	}
	t.due = Where(t.due, func(h Host) bool { return before[h].State != Unknown })
}

// hostedSince reports whether somebody else has hosted the process since an earlier run may have left it hosted, by
// what its agent says. Without both times, it was that run.
func (t *turn) hostedSince(h Host, s Status) bool {
	return registeredSince(t.unsure[h].RegisterTime, s.RegisterTime)
}

// askResumed asks the agents of hosts that an earlier run may have left hosted, and leaves alone those that somebody
// has hosted since. It returns the outcomes of hosts whose agents do not say.
func (t *turn) askResumed(ctx context.Context) Results {
	unasked := make(Results)
	known := Where(In(t.resumed, t.bare), func(h Host) bool { return t.unsure[h].RegisterTime != 0 })
	if len(known) == 0 {
		return unasked
	}
	live, err := LiveStatusWithin(ctx, t.process, Quick, known)
	for _, h := range known {
		switch s := live[h]; {
		case !s.answered():
			unasked[h] = Unanswered(s, err, "whether somebody has hosted it since could not be asked")
		case t.hostedSince(h, s):
			delete(t.bare, h)
		}
	}
	return unasked
}

// hostedAt returns the time of the registration by which the agent hosts the process, 0 if it does not say.
func (s Status) hostedAt() int64 {
	if !s.Hosted {
		return 0
	}
	return s.RegisterTime
}

// unhostAgain ends the hosting that running a one-shot process began, and checks that. If it goes on, the
// next run ends it without running the process again. A failed start may have hosted the process as well. A
// start whose end was not seen may still do so.
func (t *turn) unhostAgain(ctx context.Context) {
	let, open := t.askResumed(ctx), In(slices.Concat(t.resumed, t.due), t.bare)
	hosts := Where(open, func(h Host) bool {
		_, unasked := let[h]
		return !unasked && (t.results[h].OK() || t.results[h].Verdict == Failed && t.results[h].MayHaveRun())
	})
	lost := Where(open, func(h Host) bool { return !t.results[h].OK() && t.results[h].Underway.Bare })
	if len(hosts) > 0 {
		let.Merge(operateBefore(ctx, t.process, Unsupervise, hosts, nil, Quick))
	}
	var after map[Host]Status
	if asked := slices.Concat(hosts, lost); len(asked) > 0 {
		after, _ = LiveStatusWithin(ctx, t.process, Aftermath, asked)
	}
	for _, h := range lost {
		o := t.results[h]
		o.Underway.RegisterTime = after[h].hostedAt()
		t.results[h] = o
	}
	for h := range let {
		o, ran := let[h].unhosted(after[h]), t.results[h]
		if o.OK() {
			delete(t.bare, h)
			continue
		}
		task := Task{ID: ran.TaskID, Operation: t.op, Bare: true, Worked: ran.OK(), RegisterTime: cmp.Or(after[h].hostedAt(), t.unsure[h].RegisterTime)}
		if ran.OK() {
			o.Meaning = strings.TrimSuffix("it was run, and is hosted now, so the agent may run it again: "+o.Meaning, ": ")
			o.Ran, o.Away = true, false
			if o.Verdict == NotTried { // only unhosting was not
				o.Verdict = Failed
			}
			ran = o
		} else {
			ran.Meaning = strings.TrimPrefix(ran.Meaning+"; it could not be unhosted, so the agent may run it again", "; ")
		}
		ran.Underway = task
		t.results[h] = ran
	}
}

// AsksFirst reports whether the agents can show if an earlier operation worked. A restart or a reload leaves
// nothing to see, so without a task it runs again.
func AsksFirst(op Operation) bool { return op != Restart && op != Reload }

// askFirst settles the hosts that already are as the operation would leave them, and those that cannot be
// asked.
func askFirst(ctx context.Context, p Process, op Operation, hosts []Host, later time.Duration) Results {
	if len(hosts) == 0 || !AsksFirst(op) {
		return nil
	}
	status, err := askedBefore(ctx, p, hosts, later)
	if err != nil {
		return Same(hosts, Outcome{Verdict: Lost, Err: err, Meaning: "whether an earlier " + string(op) + " worked could not be asked"})
	}
	results := make(Results)
	for _, h := range hosts {
		switch s := status[h]; {
		case s.State == Unknown:
			results[h] = Outcome{Verdict: Lost, Code: s.Code, Message: s.Message, Meaning: "whether an earlier " + string(op) + " worked is not known"}
		case op == Start && s.State == Running, op != Start && s.State != Running && s.HostedKnown && !s.Hosted:
			results[h] = Outcome{Verdict: Done, AlreadyDone: true}
		}
	}
	return results
}
