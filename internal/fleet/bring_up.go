package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// brought is the result of bringing hosts up.
type brought struct {
	results Results
	started []Host
	// before is what the agents said. seen is the same, for hosts to which nothing was done after
	// it.
	before, seen map[Host]Status
}

// patience is how long agents are asked at the most, however much time there is.
const patience = 2 * time.Minute

// bringing is what is known of hosts that are brought up.
type bringing struct {
	// stopped are started where no more than hosting is wanted as well.
	stopped map[Host]bool
	// idle are hosts that were just registered, as they are known to be since.
	idle  map[Host]Status
	later time.Duration // what the steps after it need
}

// asRegistered are the hosts whose state after registering is known, because their agents were
// asked just before. The documents of the ESB do not say whether registering hosts the process. To
// host it once more does no harm.
func (r Results) asRegistered(p Process) map[Host]Status {
	known := make(map[Host]Status)
	for h, o := range r {
		if o.WasIdle {
			known[h] = Status{State: Stopped, HostedKnown: true, Hosted: p.HostingRegisters()}
		}
	}
	return known
}

// status is the state of hosts. Agents are asked, unless they just said that something is to be
// done. The cached status may be of an earlier registration, and show a process as running although
// it was stopped since. run are the hosts on which the process is to run.
func (b bringing) status(ctx context.Context, p Process, hosts, run []Host) (map[Host]Status, error) {
	due, starting := setOf(run), time.Duration(0)
	if len(run) > 0 {
		starting = Takes(p, Start)
	}
	unsure := pickFunc(hosts, func(h Host) bool { s, known := b.idle[h]; return !known || s.Hosted && !due[h] })
	if len(unsure) == 0 {
		return b.idle, nil
	}
	asked, err := askedBefore(ctx, p, unsure, starting+Quick+b.later)
	status := maps.Clone(b.idle)
	maps.Copy(status, asked)
	return status, err
}

// bringUp hosts or starts what is not.
func bringUp(ctx context.Context, p Process, want Desired, hosts []Host, as bringing) brought {
	if want.Ensure == EnsureRegistered || len(hosts) == 0 {
		return brought{}
	}
	run := hosts
	if want.Ensure != EnsureRunning {
		run = pick(hosts, as.stopped)
	}
	status, err := as.status(ctx, p, hosts, run)
	if err != nil {
		unread := brought{results: Same(hosts, Outcome{Verdict: Failed, Err: err, Meaning: "registered, but its status could not be read back"}), seen: make(map[Host]Status)}
		for _, h := range hosts {
			unread.seen[h] = Status{} // there is no use in asking once more
		}
		return unread
	}
	b := brought{results: make(Results), before: status, seen: maps.Clone(status)}
	b.start(ctx, p, run, Quick+as.later)
	bare := pickFunc(hosts, func(h Host) bool {
		if o, ok := b.results[h]; ok {
			// A start that worked has hosted it; one that found it running has not.
			return o.OK() && o.AlreadyDone
		}
		return !status[h].HostedKnown || !status[h].Hosted
	})
	if len(bare) > 0 {
		hosted := operateBefore(ctx, p, Supervise, bare, nil, as.later).hosting(want, func(h Host) bool { return status[h].HostedKnown && !status[h].Hosted })
		hosted.leave(bare, func(Host) Code { return NotHosted })
		b.results.Merge(hosted)
	}
	for _, h := range slices.Concat(b.started, bare) {
		delete(b.seen, h)
	}
	return b
}

// start starts the process where it is known not to run. If that is not known, it may run.
func (b *brought) start(ctx context.Context, p Process, hosts []Host, later time.Duration) {
	for _, h := range hosts {
		switch s := b.before[h]; s.State {
		case Unknown:
			b.results[h] = Outcome{Verdict: Failed, Code: s.Code, Message: s.Message, Away: s.Away, Meaning: "registered, but whether it runs is not known"}
		case Running:
		default:
			b.started = append(b.started, h)
		}
	}
	if len(b.started) > 0 {
		b.results.Merge(start(ctx, p, b.started, nil, later).underWay(Start))
	}
}
