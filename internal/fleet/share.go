package fleet

import (
	"context"
	"time"
)

// A wave is a row of steps, each of which waits for its slowest host: its agents are asked,
// it is registered, operated, and looked at. A host that does not answer fails at the step
// that waits for it, and what was not sent to it then is not sent at all. So that it fails
// alone, no step uses up the time that the steps after it need for the other hosts.

// Quick is how long a step may take that runs no command on hosts, such as asking agents or
// registering.
const Quick = 30 * time.Second

// Besides is what a wave needs besides its operation: to ask agents before it, to register,
// to look at what came of it, and to host what is not hosted.
const Besides = 4 * Quick

// Takes is how long an operation may take on a host.
func Takes(p Process, op Operation) time.Duration {
	if op == Supervise || op == Unsupervise {
		return Quick
	}
	command, startCheck := p.Settles()
	if op.Starts() {
		return command + startCheck
	}
	return command
}

// Share bounds a step: own is the time that it needs, later the time that the steps after it
// need. It gets all that those do not need, and where there is too little for all, its
// share of that.
func Share(ctx context.Context, own, later time.Duration) (context.Context, context.CancelFunc) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, share(time.Until(deadline), own, later))
}

func share(left, own, later time.Duration) time.Duration {
	part := own.Seconds() / (own + later).Seconds()
	return max(left-later, time.Duration(part*float64(left)))
}

// askedBefore is LiveStatus as a step. An agent that has not answered by its end is not known.
func askedBefore(ctx context.Context, p Process, hosts []Host, later time.Duration) (map[Host]Status, error) {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	ctx, cancelPatience := context.WithTimeout(ctx, patience)
	defer cancelPatience()
	return p.LiveStatus(ctx, hosts)
}

// cachedBefore is CachedStatus as a step: where there is no file, the agents are asked.
func cachedBefore(ctx context.Context, p Process, hosts []Host, later time.Duration) (map[Host]Status, error) {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	return p.CachedStatus(ctx, hosts)
}

// operateBefore is Operate as a step.
func operateBefore(ctx context.Context, p Process, op Operation, hosts []Host, observe Observer, later time.Duration) Results {
	ctx, cancel := Share(ctx, Takes(p, op), later)
	defer cancel()
	return p.Operate(ctx, op, hosts, observe)
}

// takes is how long what a wave operates or starts may take.
func (r *Reconciliation) takes(hosts []Host) time.Duration {
	takes := time.Duration(0)
	if r.want.Ensure == EnsureRunning || len(r.change.Stopped) > 0 {
		takes = Takes(r.process, Start)
	}
	if len(r.due(hosts)) > 0 {
		takes = max(takes, Takes(r.process, r.change.Operation))
	}
	return takes
}

// needs is how long a step without a command needs for hosts, nothing for none.
func needs(hosts []Host) time.Duration {
	if len(hosts) == 0 {
		return 0
	}
	return Quick
}

// reregister is Reregister as a step.
func reregister(ctx context.Context, p Process, hosts []Host, later time.Duration) Results {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	return p.Reregister(ctx, hosts)
}
