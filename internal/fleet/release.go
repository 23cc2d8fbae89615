package fleet

import (
	"context"
	"errors"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// OnDestroy is what happens to the process itself when it is unregistered.
type OnDestroy string

// The values of OnDestroy.
const (
	DestroyUnregister OnDestroy = "unregister"
	DestroyStop       OnDestroy = "stop"
	DestroyKill       OnDestroy = "kill"
)

// OnDestroys returns all values of OnDestroy, the gentlest first.
func OnDestroys() []OnDestroy { return []OnDestroy{DestroyUnregister, DestroyStop, DestroyKill} }

// Operation returns the operation that ends the process first, "" for none.
func (d OnDestroy) Operation() Operation {
	if d == DestroyUnregister {
		return ""
	}
	return Operation(d) // they have the same names
}

// Release unregisters the hosts of a wave, and first stops or kills the process if first says so. On spared
// hosts it keeps running. They are unregistered before anything is stopped, because one of them may be another
// name of a machine on which the process is stopped, and would start it again. A host whose process did not stop
// stays registered. Afterwards Release asks the agents of hosts that could not be stopped (askStuck) or
// unregistered (settleStuck), and of those that were (unhostUnregistered).
//
// was is what agents reported just before. A later registration that hosts the process is another object's.
// idle are the hosts on which there was nothing to stop or kill.
func Release(ctx context.Context, p Process, hosts []Host, first OnDestroy, spared map[Host]bool, was map[Host]Status) (results Results, idle []Host) {
	if err := poll.Pause(ctx, 0); err != nil {
		return NotBegun(hosts, err), nil
	}
	op := first.Operation()
	ends := Where(hosts, func(h Host) bool { return !spared[h] })
	if op != "" && len(ends) > 0 && len(ends) < len(hosts) {
		releasing, cancel := Share(ctx, 3*Quick, Takes(p, op)+Besides)
		defer cancel()
		results, _ = Release(releasing, p, In(hosts, spared), DestroyUnregister, nil, was)
		others, idle := Release(ctx, p, ends, first, nil, was)
		results.Merge(others)
		return results, idle
	}
	results = Same(hosts, Outcome{Verdict: Done})
	ended := make(map[Host]bool)
	if len(ends) > 0 {
		if op != "" {
			ended = SetOf(ends)
			results.Merge(operateBefore(ctx, p, op, ends, nil, Besides))
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
	for h, o := range unregistered {
		if o.Verdict == NotTried && ended[h] { // it is not as it was
			o.Verdict, o.Meaning = Failed, "its process was ended, and it was not unregistered"
			unregistered[h] = o
		}
	}
	gone := Where(stopped, func(h Host) bool {
		// If unregistering is unhosting, the agents have done it themselves. If the process was not hosted
		// before, there is nothing to end.
		hosted := !was[h].HostedKnown || was[h].Hosted
		return unregistered[h].OK() && hosted && (unregistered[h].AlreadyDone || !p.HostingRegisters())
	})
	settleStuck(ctx, p, stopped, unregistered)
	unhostUnregistered(ctx, p, gone, was, unregistered)
	results.Merge(unregistered)
	return results, idle
}

// unregister is Unregister as a step. It leaves time to ask the agents afterwards, and to end hosting that
// goes on.
func unregister(ctx context.Context, p Process, hosts []Host) Results {
	ctx, cancel := Share(ctx, Quick, 2*Quick)
	defer cancel()
	return p.Unregister(ctx, hosts)
}

// unhostUnregistered handles hosts where nothing is registered any more and the agent may still host the
// process. If registering is more than hosting, the agent would go on restarting a process without an owner:
// its hosting is ended. If registering is hosting, hosting that goes on shows that unregistering failed. If the
// agent cannot be asked, the result is unknown.
func unhostUnregistered(ctx context.Context, p Process, gone []Host, was map[Host]Status, results Results) {
	if len(gone) == 0 {
		return
	}
	live, err := LiveStatusWithin(ctx, p, Patience, gone)
	if errors.Is(err, ErrNoSpec) {
		return // there is only the platform's word
	}
	var hosted []Host
	for _, h := range gone {
		switch s := live[h]; {
		case err != nil, s.State == Unknown:
			results[h] = Unanswered(s, err, "not registered, and whether its agent hosts it all the same could not be asked")
		case s.Hosted && registeredSince(was[h].RegisterTime, s.RegisterTime):
			results[h] = Outcome{Verdict: Failed, Meaning: "unregistered, but its agent hosts the process by a registration made in the meantime; another owner's is left alone"}
		case s.Hosted && p.HostingRegisters():
			results[h] = Outcome{Verdict: Failed, Meaning: "the platform says that nothing is hosted there, but its agent then reports that it hosts the process"}
		case !p.HostingRegisters() && (s.Hosted || !s.HostedKnown):
			hosted = append(hosted, h)
		}
	}
	if len(hosted) > 0 {
		results.Merge(unhost(ctx, p, hosted, live))
	}
}

// askStuck asks the agents of hosts that could not be stopped or unregistered, and sets Unreachable if they
// do not answer. It ignores calls that failed as a whole.
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

// settleStuck settles hosts that could not be unregistered by what their agents report. If registering is
// hosting, a host that neither hosts nor runs the process has nothing to unregister. Otherwise the failure
// stays: an agent cannot tell an unregistered process from one that is registered but neither hosted nor
// running, and a row may be missing from the cached status because it lags.
func settleStuck(ctx context.Context, p Process, hosts []Host, results Results) {
	for h, s := range askStuck(ctx, p, hosts, results) {
		known := s.State != Unknown && s.HostedKnown
		if p.HostingRegisters() && known && s.State != Running && !s.Hosted && s.RegisterTime == 0 {
			results[h] = Outcome{Verdict: Done, AlreadyDone: true}
		}
	}
}
