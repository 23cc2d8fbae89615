package hostedprocess

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// names are hosts that did not leave, but are called otherwise now: by agent id in place
// of an address, or the other way round.
type names struct {
	// now is the new name of a machine by the old one.
	now map[fleet.Host]fleet.Host
	// ours are the new names of machines on which the registration is ours.
	ours map[fleet.Host]bool
	// unresolved are hosts that left while others of the other form came, with those: nothing
	// tells whether they are the same machines.
	unresolved map[fleet.Host][]fleet.Host
}

// renamed finds them among the hosts that left and those that are declared. perhaps are the
// names that came while hosts could not leave, see applied.PerhapsNamed.
func (h hostedProcess) renamed(ctx context.Context, prior fleet.Inventory, perhaps map[string][]string) (names, error) {
	found := names{now: make(map[fleet.Host]fleet.Host), ours: make(map[fleet.Host]bool), unresolved: make(map[fleet.Host][]fleet.Host)}
	removed := prior.Without(h.Hosts)
	suspects := otherForm(removed, h.Hosts.Hosts())
	if len(suspects) == 0 {
		return found, nil
	}
	others, err := h.Process.OtherNames(ctx, append(suspects, otherForm(h.Hosts.Hosts(), removed)...))
	if err != nil {
		return found, fmt.Errorf("asking whether hosts are called by another name now: %w", err)
	}
	byID := make(map[fleet.HostID]fleet.Host, h.Hosts.Len())
	for _, host := range h.Hosts.Hosts() {
		byID[host.WithoutSupplier()] = host
		if other, known := others[host]; known {
			byID[other] = host
		}
	}
	for _, old := range removed {
		host, same := byID[old.WithoutSupplier()]
		if other, known := others[old]; !same && known {
			host, same = byID[other]
		}
		if same {
			found.now[old] = host
			continue
		}
		came := keep(otherForm(h.Hosts.Hosts(), []fleet.Host{old}), func(host fleet.Host) bool {
			other, known := others[host]
			another := known && other != old.WithoutSupplier() // it is told to be another machine
			return !another && (!prior.Has(host) || slices.Contains(perhaps[old.Address()], host.Address()))
		})
		if _, known := others[old]; !known && len(came) > 0 {
			found.unresolved[old] = came
		}
	}
	return found, nil
}

// claimNames finds the new names under which our registrations are to be made once more. A
// platform may keep an entry for each name: under the new one there may be none yet, or
// somebody else's.
func (u *update) claimNames(ctx context.Context, n names) error {
	if len(n.now) == 0 {
		return nil
	}
	unmoved := newReleased() // nothing is let go here
	renamed := letting{u.prior, u.leave, &unmoved}.stillOurs(ctx, slices.Collect(maps.Keys(n.now)))
	var ours, both []fleet.Host // by their old names, and by both
	for _, old := range renamed {
		if now := n.now[old]; !u.prior.Hosts.Has(now) || u.statuses[now.WithoutSupplier()].Code == diagnose.Unconfirmed {
			ours = append(ours, old)
			both = append(both, old, now)
		}
	}
	onFile, err := u.h.Process.CachedStatus(ctx, both)
	if err != nil {
		return fmt.Errorf("reading the cached status: %w", err)
	}
	held := u.last.held(u.h.Desired)
	for _, old := range ours {
		was, file := onFile[old], onFile[n.now[old]]
		// What a console registered over ours stays ours, whichever name it is asked for by,
		// and what an operation hosted by the new name is beside ours by the old one.
		same := file.RegisterTime > 0 && file.RegisterTime == was.RegisterTime && maps.Equal(file.Labels, was.Labels)
		operated := !u.last.ownedByOther(u.h.Desired, file) && (held.Carries(file) || u.h.Desired.Carries(file) || held.CarryOne(was, file))
		theirs := file.State != fleet.Unregistered && file.Labels != nil && !same && !operated && !u.last.ours(u.h.Desired, file)
		n.ours[n.now[old]] = u.last.FingerprintLabel == "" || !theirs
	}
	return nil
}

// keepNames keeps old names in state where the new one could not be registered: a
// platform may have an entry for each, and what state does not name is nobody's. Where
// something came of the new name, state names both.
func (u *update) keepNames(n names, done fleet.Results) {
	for was, is := range n.now {
		o, touched := done[is]
		if !touched || o.OK() || u.statuses[was.WithoutSupplier()].Code == diagnose.RegisteredByOther {
			continue
		}
		if stands(o) || mayHaveWorked(o) {
			u.besides[was] = o
			continue
		}
		u.unnamed[is] = was
	}
}

// mayHaveWorked reports whether a registration that did not succeed may have taken effect: its
// answer was lost, or its end was not seen.
func mayHaveWorked(o fleet.Outcome) bool {
	return o.Verdict == fleet.Lost || o.Verdict == fleet.Pending || o.Verdict == fleet.Failed && o.Err != nil
}

// perhapsNamed is applied.PerhapsNamed from now on, for the hosts that are in state.
func (u *update) perhapsNamed(hosts fleet.Inventory) map[string][]string {
	named := make(map[string][]string)
	for was, came := range u.unresolved {
		for _, host := range came {
			if hosts.Has(was) && hosts.Has(host) {
				named[was.Address()] = append(named[was.Address()], host.Address())
			}
		}
	}
	return named
}

// otherForm are those of the hosts that are named in another form than some of others.
func otherForm(hosts, others []fleet.Host) []fleet.Host {
	var byID, byAddress bool
	for _, h := range others {
		byID, byAddress = byID || h.AgentID() != "", byAddress || h.AgentID() == ""
	}
	var found []fleet.Host
	for _, h := range hosts {
		if (h.AgentID() != "" && byAddress) || (h.AgentID() == "" && byID) {
			found = append(found, h)
		}
	}
	return found
}

// dropNames unregisters the old names of machines whose new name is registered. Where the
// platform keeps one entry for both names, that undoes the new one as well: so it is asked
// for afterwards, and put back.
func (u *update) dropNames(ctx context.Context, n names, done fleet.Results) {
	var old []fleet.Host
	for was, is := range n.now {
		if o, touched := done[is]; !touched || o.OK() { // the old name goes once the new one stands
			old = append(old, was)
		}
	}
	l := letting{u.prior, u.leave, &u.gone}
	ours := l.stillOurs(ctx, l.unhindered(ctx, old))
	if len(ours) > 0 {
		u.gone.results.Merge(u.prior.Process.Unregister(ctx, ours))
	}
	var again []fleet.Host
	for _, was := range ours {
		again = append(again, n.now[was])
	}
	for was, came := range n.unresolved {
		if o, left := u.gone.results[was]; left && o.OK() {
			again = append(again, came...) // whichever of them it may have been
		}
	}
	slices.SortFunc(again, func(a, b fleet.Host) int { return strings.Compare(a.String(), b.String()) })
	again = slices.Compact(again)
	for _, host := range again {
		delete(u.registered, host.Address())
	}
	stood := keep(again, func(host fleet.Host) bool { o, touched := done[host]; return !touched || o.OK() })
	done.Merge(putBack(ctx, u.h.Process, stood))
}

// putBack registers hosts once more that are not hosted any more since they lost another name.
// Of hosts that still are, it gives no outcome.
func putBack(ctx context.Context, p fleet.Process, hosts []fleet.Host) fleet.Results {
	if len(hosts) == 0 {
		return nil
	}
	live, err := fleet.LiveStatusWithin(ctx, p, patience, hosts)
	results := make(fleet.Results)
	var again []fleet.Host
	for _, host := range hosts {
		switch s := live[host]; {
		case err != nil, s.State == fleet.Unknown: // it is not Unreachable: nothing of it may be forgotten
			results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Code: s.Code, Message: s.Message, Left: fleet.NotHosted,
				Meaning: "its old name was unregistered, and whether it is still hosted under the new one could not be asked"}
		case !s.HostedKnown, !s.Hosted:
			again = append(again, host)
		}
	}
	if len(again) == 0 {
		return results
	}
	for host, o := range p.Reregister(ctx, again) {
		if !o.OK() {
			o.Left = fleet.NotRegistered
			o.Meaning = strings.TrimSuffix("its old name was unregistered, and the new one could not be put back: "+o.Meaning, ": ")
		}
		results[host] = o
	}
	return results
}
