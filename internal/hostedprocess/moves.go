package hostedprocess

import (
	"context"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// A host may move between two objects of one process in one apply. Terraform applies both concurrently, in any
// order, so each announces what it will do before it does so.

// looksForLeaver is how often an object that finds another object's registration on a host looks whether that
// object is leaving it. With the default backoff that takes three seconds.
const looksForLeaver = 10

// announce says on which hosts this object registers the process, and which of its hosts leave. It does not
// offer a host whose registration may not be its own.
func (h hostedProcess) announce(joins, leaves []fleet.Host, k known) {
	left := make(map[fleet.Host]fleet.Owned, len(leaves))
	for _, host := range leaves {
		if k.claimOn(host) == ownership.Registered {
			left[host] = fleet.Owned{Owner: k.last.owner, At: k.last.on(host).At}
		}
	}
	h.object.Announce(joins, left)
}

// anyName reports whether something is so of a host by any name of its machine that the platform has given so far.
func (h hostedProcess) anyName(host fleet.Host, is func(fleet.HostID) bool) bool {
	other, known := h.Process.KnownNames([]fleet.Host{host})[host]
	return is(host.WithoutSupplier()) || known && is(other)
}

// taking returns a function that finds, among hosts with another object's registration, those which that object
// is leaving. It may not have announced so yet, so the function looks again, looksForLeaver times in all waves
// together.
func (h hostedProcess) taking() func(context.Context, map[fleet.Host]fleet.Owned) []fleet.Host {
	looked := 0
	return func(ctx context.Context, found map[fleet.Host]fleet.Owned) []fleet.Host {
		var taken []fleet.Host
		look := func(context.Context) (done bool, _ error) {
			taken = nil
			for host, by := range found {
				if h.anyName(host, func(id fleet.HostID) bool { return h.object.Leaves(id, by) }) {
					taken = append(taken, host)
				}
			}
			looked++
			return len(taken) == len(found) || looked >= looksForLeaver, nil
		}
		_ = poll.Until(ctx, h.platform.Backoff, look) // an error only means that the wait is over
		return taken
	}
}

// moving adds to a change what other objects of this run do on its hosts.
func (h hostedProcess) moving(change fleet.Change) fleet.Change {
	change.Leaving = h.taking()
	change.Stopped = fleet.SetOf(fleet.Where(change.Register, func(host fleet.Host) bool {
		return h.anyName(host, h.object.WasStopped) && !h.Process.OneShot()
	}))
	return change
}

// noteStopped notes on which hosts a running process was stopped, for an object that registers it there later
// in this run.
func (l departure) noteStopped(hosts []fleet.Host) {
	if l.first.Operation() == "" {
		return
	}
	l.object.Stopped(fleet.Where(hosts, func(host fleet.Host) bool {
		return l.was[host].State == fleet.Running && !l.spared[host] && l.results[host].Verdict != fleet.NotTried
	}))
}

// meaningNameUnread is said of a host that another object may have registered under another name in this run.
const meaningNameUnread = "whether another resource has just registered it by another name could not be asked"

// notReplaced leaves out the hosts that another object has registered in this run. It needs no label and no
// cached status. No message mentions them, as the configuration moves them.
func (h hostedProcess) notReplaced(hosts []fleet.Host) []fleet.Host {
	return fleet.Where(hosts, func(host fleet.Host) bool { return !h.object.Replaced(host.WithoutSupplier()) })
}

// notRenamed leaves out the hosts that another object has registered in this run under the machine's other
// name. Unregistering one name may unregister both.
func (l departure) notRenamed(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	suspects := fleet.OtherForm(hosts, l.object.OfOthers())
	if len(suspects) == 0 {
		return hosts
	}
	others, err := l.Process.OtherNames(ctx, suspects)
	if err != nil {
		l.results.Merge(fleet.Same(suspects, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningNameUnread}))
		return fleet.Where(hosts, func(host fleet.Host) bool { return !slices.Contains(suspects, host) })
	}
	return fleet.Where(hosts, func(host fleet.Host) bool {
		other, known := others[host]
		if !known || !l.object.Replaced(other) {
			return true
		}
		if l.statuses[host.WithoutSupplier()].Code != fleet.RegisteredByOther {
			l.note(anothers, host, left(meaningAnothers))
		}
		return false
	})
}
