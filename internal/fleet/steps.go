package fleet

import (
	"context"
	"time"
)

// A wave is a series of steps: its agents are asked, its hosts are registered, operated and looked at. Each
// step waits for the slowest host. A host that does not answer fails at the step that waits for it, and later
// steps send it nothing. So that only that host fails, no step uses the time that later steps need for the
// others.

// Quick is how long a step may take that runs no command on hosts, such as asking agents or registering.
const Quick = 30 * time.Second

// Patience is how long agents are asked at most, however much time there is.
const Patience = 2 * time.Minute

// Aftermath is how long agents are asked again after a change. Most have just answered.
const Aftermath = 15 * time.Second

// Besides is the time that a wave needs in addition to its operation: to ask agents first, to register, to
// look at the result, and to host what is not hosted.
const Besides = 4 * Quick

// Takes returns how long an operation may take on a host.
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

// StartCheck returns how long after the command of an operation the agent checks that the process runs, 0 if
// the operation starts nothing.
func StartCheck(p Process, op Operation) time.Duration {
	if !op.Starts() {
		return 0
	}
	_, startCheck, _ := p.Settles()
	return startCheck
}

// Share limits a step that needs the time own. The step gets all the time except later, which the steps after
// it need. If there is too little for all, it gets its proportional share.
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

// askedBefore is LiveStatus as a step. An agent that has not answered by its end has no known state.
func askedBefore(ctx context.Context, p Process, hosts []Host, later time.Duration) (map[Host]Status, error) {
	ctx, cancel := Share(ctx, Quick, later)
	defer cancel()
	ctx, cancelPatience := context.WithTimeout(ctx, Patience)
	defer cancelPatience()
	return p.LiveStatus(ctx, hosts)
}

// cachedBefore is CachedStatus as a step. It is one because JOB has no cached status and asks the agents.
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

// needs returns how long a step without a command needs, 0 if there are no hosts.
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
