package fleet

import (
	"context"
	"errors"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// OnDestroy is what happens to the process itself when it is unregistered.
type OnDestroy string

// What is done to the process before its host is unregistered.
const (
	DestroyUnregister OnDestroy = "unregister"
	DestroyStop       OnDestroy = "stop"
	DestroyKill       OnDestroy = "kill"
)

// OnDestroys are all of them, the gentlest first.
func OnDestroys() []OnDestroy { return []OnDestroy{DestroyUnregister, DestroyStop, DestroyKill} }

// Release unregisters the hosts of a wave, after stopping or killing the process if that is asked
// for. On the spared hosts it goes on running. A host whose process did not stop stays registered.
// Then the agents are asked about three kinds of hosts: not stopped (see askStuck), not
// unregistered (see settleStuck), and unregistered (see unhostUnregistered).
//
// was is what agents said just before. Hosting by a later registration than that is another object's.
// idle are the hosts on which there was nothing to stop or kill.
func Release(ctx context.Context, p Process, hosts []Host, first OnDestroy, spared map[Host]bool, was map[Host]Status) (results Results, idle []Host) {
	if err := poll.Pause(ctx, 0); err != nil {
		return Same(hosts, Outcome{Verdict: NotTried, Err: err, Meaning: stopReason(err)}), nil
	}
	results = Same(hosts, Outcome{Verdict: Done})
	if ends := Where(hosts, func(h Host) bool { return !spared[h] }); len(ends) > 0 {
		switch first {
		case DestroyStop:
			results.Merge(operateBefore(ctx, p, Stop, ends, nil, Besides))
		case DestroyKill:
			results.Merge(operateBefore(ctx, p, Kill, ends, nil, Besides))
		default: // it goes on running
		}
		askStuck(ctx, p, ends, results)
		idle = foundIdle(results, ends)
		_, amiss := askIdle(ctx, p, results, idle, Besides-Quick)
		results.Merge(amiss)
	}
	stopped := results.Succeeded(hosts)
	if len(stopped) == 0 {
		return results, idle
	}
	unregistered := unregister(ctx, p, stopped)
	gone := Where(stopped, func(h Host) bool {
		// Where to unregister is to unhost, the agents have done it themselves. What was not hosted
		// before has nothing to end.
		hosted := !was[h].HostedKnown || was[h].Hosted
		return unregistered[h].OK() && hosted && (unregistered[h].AlreadyDone || !p.HostingRegisters())
	})
	settleStuck(ctx, p, stopped, unregistered)
	unhostUnregistered(ctx, p, gone, was, unregistered)
	results.Merge(unregistered)
	return results, idle
}

// unregister is Unregister as a step: the agents are asked afterwards, and hosting that goes on is
// ended.
func unregister(ctx context.Context, p Process, hosts []Host) Results {
	ctx, cancel := Share(ctx, Quick, 2*Quick)
	defer cancel()
	return p.Unregister(ctx, hosts)
}

// unhostUnregistered ends the hosting that is left on hosts where nothing is registered any more.
// If registering is more than hosting, a process may be hosted without a registration. Its agent
// would go on restarting it, with no owner. If registering is hosting, an agent that goes on
// hosting shows that unregistering failed. If the platform unregistered nothing, and the agent
// cannot be asked, the outcome is open.
func unhostUnregistered(ctx context.Context, p Process, gone []Host, was map[Host]Status, results Results) {
	if len(gone) == 0 {
		return
	}
	live, err := LiveStatusWithin(ctx, p, Aftermath, gone)
	if errors.Is(err, ErrNoSpec) {
		return // nobody can be asked, and what the platform says is all there is
	}
	var hosted []Host
	for _, h := range gone {
		switch s, absent := live[h], results[h].AlreadyDone; {
		case absent && (err != nil || s.State == Unknown):
			results[h] = Untold(s, err, "not registered, and whether its agent hosts it all the same could not be asked")
		case s.Hosted && registeredSince(was[h].RegisterTime, s.RegisterTime):
			results[h] = Outcome{Verdict: Failed, Meaning: "unregistered, and its agent hosts the process by a registration that was made meanwhile; somebody else's is left alone"}
		case s.Hosted, absent && !s.HostedKnown && !p.HostingRegisters():
			hosted = append(hosted, h)
		}
	}
	switch {
	case len(hosted) == 0:
	case p.HostingRegisters():
		results.Merge(Same(hosted, Outcome{Verdict: Failed, Meaning: "the platform says that nothing is hosted there, and its agent says afterwards that it hosts the process"}))
	default:
		results.Merge(unhost(ctx, p, hosted, live))
	}
}

// askStuck asks the agents of hosts that could not be stopped or unregistered, and notes which of
// them do not answer. A call that failed as a whole shows nothing.
func askStuck(ctx context.Context, p Process, hosts []Host, results Results) map[Host]Status {
	stuck := Where(hosts, func(h Host) bool { return results[h].Verdict == Failed && results[h].Err == nil })
	if len(stuck) == 0 {
		return nil
	}
	live, err := LiveStatusWithin(ctx, p, Aftermath, stuck)
	if err != nil {
		return nil
	}
	for _, h := range stuck {
		o := results[h]
		o.Unreachable = live[h].Silent()
		results[h] = o
	}
	return live
}

// settleStuck settles hosts that could not be unregistered by what their agents say. If registering
// is hosting, a host that neither hosts nor runs the process has nothing to unregister. Otherwise
// the failure stays. An agent cannot distinguish a process that is registered, but neither hosted
// nor running, from none, and a cached status without a row may lag.
func settleStuck(ctx context.Context, p Process, hosts []Host, results Results) {
	for h, s := range askStuck(ctx, p, hosts, results) {
		known := s.State != Unknown && s.HostedKnown
		if p.HostingRegisters() && known && s.State != Running && !s.Hosted && s.RegisterTime == 0 {
			results[h] = Outcome{Verdict: Done, AlreadyDone: true}
		}
	}
}
