package fleet

import (
	"context"
	"maps"
	"slices"
	"time"
)

// brought is what came of bringing hosts up.
type brought struct {
	results Results
	started []Host
	// before is what the agents said, and seen that of hosts to which nothing was done after it.
	before, seen map[Host]Status
}

// patience is how long agents are asked at the most, however much time there is.
const patience = 2 * time.Minute

// bringUp hosts or starts what is not. The agents are asked: what is on file may be
// of a registration before this one, and say of a process that it runs although it
// was stopped since.
//
// Those that were stopped are started where no more than hosting is wanted as well.
func bringUp(ctx context.Context, p Process, want Desired, hosts []Host, stopped map[Host]bool, later time.Duration) brought {
	if want.Ensure == EnsureRegistered || len(hosts) == 0 {
		return brought{}
	}
	run := hosts
	if want.Ensure != EnsureRunning {
		run = pick(hosts, stopped)
	}
	starting := time.Duration(0)
	if len(run) > 0 {
		starting = Takes(p, Start)
	}
	status, err := askedBefore(ctx, p, hosts, starting+Quick+later)
	if err != nil {
		unread := brought{results: Same(hosts, Outcome{Verdict: Failed, Err: err, Meaning: "registered, but its status could not be read back"}), seen: make(map[Host]Status)}
		for _, h := range hosts {
			unread.seen[h] = Status{} // there is no use in asking once more
		}
		return unread
	}
	b := brought{results: make(Results), before: status, seen: maps.Clone(status)}
	b.start(ctx, p, run, Quick+later)
	bare := pickFunc(hosts, func(h Host) bool {
		if o, ok := b.results[h]; ok {
			// A start that worked has hosted it; one that found it running has not.
			return o.OK() && o.AlreadyDone
		}
		return !status[h].HostedKnown || !status[h].Hosted
	})
	if len(bare) > 0 {
		hosted := operateBefore(ctx, p, Supervise, bare, nil, later).hosting(want, func(h Host) bool { return status[h].HostedKnown && !status[h].Hosted })
		hosted.leave(bare, func(Host) Code { return NotHosted })
		b.results.Merge(hosted)
	}
	for _, h := range slices.Concat(b.started, bare) {
		delete(b.seen, h)
	}
	return b
}

// start starts the process where it does not run. It may run where that is not known: a start is
// for where it is known not to.
func (b *brought) start(ctx context.Context, p Process, hosts []Host, later time.Duration) {
	for _, h := range hosts {
		switch s := b.before[h]; s.State {
		case Unknown:
			b.results[h] = Outcome{Verdict: Failed, Code: s.Code, Message: s.Message, Meaning: "registered, but whether it runs is not known"}
		case Running:
		default:
			b.started = append(b.started, h)
		}
	}
	if len(b.started) > 0 {
		b.results.Merge(start(ctx, p, b.started, nil, later).underWay(Start))
	}
}
