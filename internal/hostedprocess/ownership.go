package hostedprocess

import (
	"context"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// patience is how long agents are asked before their hosts are let go. One that says
// nothing does not keep the others.
const patience = 2 * time.Minute

// meaningUnread: whose a registration is could not be found out.
const meaningUnread = "who registered it could not be read"

// meaningNameUnread: whether it is a machine that was registered by its other name since
// could not be found out.
const meaningNameUnread = "whether another resource has just registered it by another name could not be asked"

// meaningRefused: what an agent has may be of a registration that took effect all the same.
const meaningRefused = "registering it was refused, its agent has the process all the same, and whose that is could not be read; apply once more before it goes"

// ours are the hosts on which the registration is this object's, as far as the platform's
// file and state say, and what is on file. What is not known cannot go.
func (l letting) ours(ctx context.Context, hosts []fleet.Host) ([]fleet.Host, map[fleet.Host]fleet.Status) {
	hosts = l.notReplaced(hosts)
	if l.last.FingerprintLabel == "" || len(hosts) == 0 {
		// Without labels nobody can tell, and what was registered counts as ours.
		refused := keep(hosts, func(host fleet.Host) bool { return l.statuses[host.WithoutSupplier()].Code == diagnose.NotRegistered })
		l.askRefused(ctx, refused)
		return keep(hosts, func(host fleet.Host) bool {
			code := l.statuses[host.WithoutSupplier()].Code
			return code != diagnose.RegisteredByOther && code != diagnose.NotRegistered
		}), nil
	}
	onFile, err := l.Process.CachedStatus(ctx, hosts)
	var ours, owned, strange, unsure, lapsed, refused []fleet.Host
	for _, host := range hosts {
		status := l.statuses[host.WithoutSupplier()]
		file := onFile[host]
		// What this object registered in this run is its own, although the file lags.
		other := l.last.namesAnother(l.Desired, file) && l.registrant(host.WithoutSupplier()) == ""
		foreign := status.Code == diagnose.RegisteredByOther
		overtaken := l.last.isOvertaken(host)
		doubtful := overtaken || unproven(status.Code)
		told := file.State != fleet.Unregistered && file.State != fleet.Unknown && file.Labels != nil
		switch {
		case other && !foreign:
			owned = append(owned, host)
		case other:
		case err != nil:
			l.gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningUnread}
		case !doubtful, told && l.last.ours(l.Desired, file) && (!overtaken || file.RegisterTime > l.last.Overtaken[host.Address()]):
			ours = append(ours, host)
		case foreign: // somebody else's
		case told: // somebody else's by what is on file
			strange = append(strange, host)
		case status.Code == diagnose.NotRegistered && file.State == fleet.Unregistered:
			refused = append(refused, host)
		case overtaken && file.State == fleet.Unregistered && status.Code != diagnose.Unconfirmed:
			lapsed = append(lapsed, host)
		case file.State == fleet.Unknown && !l.Process.HostingRegisters():
			// An agent cannot tell what is registered and not hosted from what never was.
			l.gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningUnread}
		default:
			unsure = append(unsure, host)
		}
	}
	l.gone.owned = append(l.gone.owned, l.leaveAlone(ctx, owned, onFile)...)
	l.leaveAlone(ctx, strange, onFile)
	l.askAgents(ctx, unsure)
	l.askAgents(ctx, lapsed)
	l.askRefused(ctx, refused)
	l.gone.lapsed = append(l.gone.lapsed, keep(lapsed, func(host fleet.Host) bool { _, stays := l.gone.results[host]; return !stays })...)
	return ours, onFile
}

// registrant is the owner who registered the process on a host last in this run, "" where
// nobody did.
func (h hostedProcess) registrant(host fleet.HostID) string {
	if h.owners == nil {
		return ""
	}
	return h.owners.Of(h.ID, host).Owner
}

// notReplaced leaves out the hosts that another object has registered in this run. That
// takes no label, and no file.
func (l letting) notReplaced(hosts []fleet.Host) []fleet.Host {
	return keep(hosts, func(host fleet.Host) bool { return !l.replaced(host, host.WithoutSupplier()) })
}

// notRenamed leaves out the hosts that another object has registered in this run by the
// other name of the machine. To let go of one name may be to let go of both.
func (l letting) notRenamed(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	if l.owners == nil {
		return hosts
	}
	suspects := otherForm(hosts, l.owners.OfOthers(l.ID, l.last.Owner))
	if len(suspects) == 0 {
		return hosts
	}
	others, err := l.Process.OtherNames(ctx, suspects)
	if err != nil {
		l.gone.results.Merge(fleet.Same(suspects, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningNameUnread}))
		return keep(hosts, func(host fleet.Host) bool { return !slices.Contains(suspects, host) })
	}
	return keep(hosts, func(host fleet.Host) bool {
		other, known := others[host]
		if !known || !l.replaced(host, other) {
			return true
		}
		l.gone.twins[host] = l.owners.Of(l.ID, other)
		return false
	})
}

// dropTwins lets go of the old names of machines that another object has registered in this
// run by the other one, where the platform shows both registrations: it keeps an entry for each
// name, and nobody else would let go of the old one. That the file has the new one, which is
// of this run, shows that it does not lag. Where letting go of the old one may have undone the
// new one as well, it is put back.
func (l letting) dropTwins(ctx context.Context) {
	if l.last.FingerprintLabel == "" || len(l.gone.twins) == 0 {
		return
	}
	both := make([]fleet.Host, 0, 2*len(l.gone.twins))
	for old, claim := range l.gone.twins {
		both = append(both, old, claim.Host)
	}
	onFile, err := l.Process.CachedStatus(ctx, both)
	if err != nil {
		return // they are left alone, as is said
	}
	held := l.last.held(l.Desired)
	for old, claim := range l.gone.twins {
		if !held.Owns(onFile[old]) || onFile[claim.Host].Labels[held.OwnerLabel] != claim.Owner {
			continue
		}
		o := l.Process.Unregister(ctx, []fleet.Host{old})[old]
		l.gone.owned = keep(l.gone.owned, func(host fleet.Host) bool { return host != old })
		l.gone.results[old] = o
		if o.Verdict == fleet.Failed && o.Err == nil {
			continue // the platform refused, and undid nothing
		}
		if again, asked := putBack(ctx, claim.With, []fleet.Host{claim.Host})[claim.Host]; asked && !again.OK() {
			l.gone.results[old] = again
		}
	}
}

// replaced reports whether another object has registered a host in this run by a name of
// its machine, and notes that it was left alone.
func (l letting) replaced(host fleet.Host, name fleet.HostID) bool {
	registrant := l.registrant(name)
	if registrant == "" || registrant == l.last.Owner {
		return false
	}
	if l.statuses[host.WithoutSupplier()].Code != diagnose.RegisteredByOther {
		l.gone.owned = append(l.gone.owned, host)
	}
	return true
}

// leaveAlone gives the hosts that are somebody else's, as is on file. Where the agent
// knows of a later registration than the file, that may well be ours; and where it does
// not answer, nobody knows how old the file is: these are failures.
func (l letting) leaveAlone(ctx context.Context, hosts []fleet.Host, onFile map[fleet.Host]fleet.Status) []fleet.Host {
	if len(hosts) == 0 || !l.Desired.HasSpec { // no agent can be asked, and nothing was registered by this object yet
		return hosts
	}
	live, err := fleet.LiveStatusWithin(ctx, l.Process, patience, hosts)
	registered := l.last.registeredAt()
	return keep(hosts, func(host fleet.Host) bool {
		s := live[host]
		switch {
		case err != nil, s.State == fleet.Unknown:
			l.gone.results[host] = fleet.Untold(s, err, meaningUnread+": what is on file is somebody else's and may be old, and its agent did not answer")
		case s.RegisterTime > onFile[host].RegisterTime, s.RegisterTime != 0 && s.RegisterTime == registered[host.Address()]:
			l.gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningUnread + ": what is on file is older than the registration"}
		default:
			return true
		}
		return false
	})
}

// askAgents settles hosts of which nobody knows whether they were registered. What is
// not hosted was not, or is no more; what is hosted may be anybody's.
func (l letting) askAgents(ctx context.Context, hosts []fleet.Host) {
	if len(hosts) == 0 {
		return
	}
	live, err := fleet.LiveStatusWithin(ctx, l.Process, patience, hosts)
	otherwise := l.heldOtherwise(ctx, hosts, live)
	for _, host := range hosts {
		s := live[host]
		if err == nil && s.State != fleet.Unknown && s.HostedKnown && !s.Hosted && s.RegisterTime == 0 || otherwise[host] {
			if l.unkept && l.Process.HostingRegisters() && !otherwise[host] && l.statuses[host.WithoutSupplier()].Code == diagnose.Unconfirmed {
				l.gone.unseen = append(l.gone.unseen, host)
			}
			continue
		}
		l.gone.results[host] = fleet.Untold(s, err, meaningUnread)
	}
}

// askRefused keeps hosts whose registration was refused, and of which the platform has nothing
// on file, where their agents say that it took effect all the same, or that somebody's did.
func (l letting) askRefused(ctx context.Context, hosts []fleet.Host) {
	if len(hosts) == 0 || !l.Desired.HasSpec {
		return
	}
	live, _ := fleet.LiveStatusWithin(ctx, l.Process, patience, hosts) // who does not answer was refused
	otherwise := l.heldOtherwise(ctx, hosts, live)
	for _, host := range hosts {
		if s := live[host]; (s.Hosted || s.RegisterTime > 0) && !otherwise[host] {
			l.gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningRefused}
		}
	}
}

// heldOtherwise are hosts of which the agents know no registration, and which are hosted
// all the same because this object has registered the machine by its other name.
func (l letting) heldOtherwise(ctx context.Context, hosts []fleet.Host, live map[fleet.Host]fleet.Status) map[fleet.Host]bool {
	told := l.byOtherName(ctx, hosts, live)
	if len(told) == 0 {
		return nil
	}
	by := twins(l.Process.KnownNames(hosts))
	var named []fleet.Host
	for _, host := range hosts {
		if _, asked := told[host]; asked {
			named = append(named, by[host])
		}
	}
	onFile, err := l.Process.CachedStatus(ctx, named)
	if err != nil {
		return nil // nothing shows it
	}
	otherwise := make(map[fleet.Host]bool)
	for host, status := range told {
		otherwise[host] = l.holds(by[host], onFile[by[host]], status)
	}
	return otherwise
}

// twins are hosts by the other names of their machines.
func twins(others map[fleet.Host]fleet.HostID) map[fleet.Host]fleet.Host {
	by := make(map[fleet.Host]fleet.Host, len(others))
	for host, other := range others {
		by[host] = host.Named(other)
	}
	return by
}

// byOtherName is what the agents say by the other names of machines that are hosted, of hosts
// of which they know no registration: nothing where one does not answer. One that tells no
// times by either name is left out: it would tell none of this registration either.
func (l letting) byOtherName(ctx context.Context, hosts []fleet.Host, live map[fleet.Host]fleet.Status) map[fleet.Host]fleet.Status {
	hosted := keep(hosts, func(host fleet.Host) bool { return live[host].Hosted && live[host].RegisterTime == 0 })
	by := twins(l.Process.KnownNames(hosted))
	var asked []fleet.Host
	for _, host := range hosted {
		if twin, known := by[host]; known {
			asked = append(asked, twin)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	answers, err := fleet.LiveStatusWithin(ctx, l.Process, patience, asked)
	told := make(map[fleet.Host]fleet.Status)
	for host, twin := range by {
		if s := answers[twin]; err != nil || s.State == fleet.Unknown || s.RegisterTime != 0 {
			told[host] = s
		}
	}
	return told
}

// holds reports whether a host is one of this object's: in state, or registered by it in this
// run, on file as its own, and with the very registration that its agent tells of.
func (l letting) holds(host fleet.Host, onFile, told fleet.Status) bool {
	known := slices.ContainsFunc(l.Hosts.Hosts(), func(h fleet.Host) bool { return h.WithoutSupplier() == host.WithoutSupplier() }) ||
		l.last.Owner != "" && l.registrant(host.WithoutSupplier()) == l.last.Owner
	latest := told.Hosted && (told.RegisterTime == onFile.RegisterTime || told.RegisterTime == l.last.registeredAt()[host.Address()])
	return known && latest && l.last.held(l.Desired).Owns(onFile)
}
