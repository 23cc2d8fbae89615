package fleet

import (
	"context"
	"time"
)

// A wave is a row of steps, each of which waits for its slowest host. Agents are asked, and hosts
// are registered, operated and looked at. A host that does not answer fails at the step that waits
// for it, and later steps send it nothing. So that it fails alone, no step uses the time that later
// steps need for the other hosts.

// Quick is how long a step may take that runs no command on hosts, such as asking agents or
// registering.
const Quick = 30 * time.Second

// Patience is how long agents are asked at the most, however much time there is.
const Patience = 2 * time.Minute

// Aftermath is how long agents are asked once more, after something was done. Most have just answered.
const Aftermath = 15 * time.Second

// Besides is the time that a wave needs besides its operation: to ask agents before it, to
// register, to look at the outcome, and to host what is not hosted.
const Besides = 4 * Quick

// Takes is how long an operation may take on a host.
func Takes(p Process, op Operation) time.Duration {
	if op == Supervise || op == Unsupervise {
		return Quick
	}
	takes, _, stopCheck := p.Settles()
	if op.Stops() {
		takes += stopCheck
	}
	return takes + StartCheck(p, op)
}

// StartCheck is how long after the command of an operation the agent looks whether the process
// runs, 0 if the operation starts nothing.
func StartCheck(p Process, op Operation) time.Duration {
	if !op.Starts() {
		return 0
	}
	_, startCheck, _ := p.Settles()
	return startCheck
}

// Share bounds a step. own is the time that it needs, later the time that the steps after it need.
// It gets all that those do not need. If there is too little for all, it gets its share.
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
	ctx, cancelPatience := context.WithTimeout(ctx, Patience)
	defer cancelPatience()
	return p.LiveStatus(ctx, hosts)
}

// cachedBefore is CachedStatus as a step: JOB has no cached status, so it asks the agents.
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
