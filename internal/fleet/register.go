package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FindAlike is the change without registering what is adopted and is as declared already: it carries
// nobody's fingerprint or owner, and its agent hosts it with the declared spec. The agent must know
// of no later registration than the cached status, which may be another object's. Nothing is known
// of hosts that cannot be read, and they are registered. Hosts that are renamed are registered too.
func (c Change) FindAlike(ctx context.Context, p Process, want Desired) Change {
	if !c.Adopt || !want.Verify || c.Rename != nil || len(c.Register) == 0 {
		return c
	}
	cached, err := p.CachedStatus(ctx, c.Register)
	if err != nil {
		return c
	}
	cached = WithKept(ctx, p, want, c.Register, cached)
	alike := Where(c.Register, func(h Host) bool { return want.AsFound(cached[h]) })
	if len(alike) == 0 {
		return c
	}
	live, err := LiveStatusWithin(ctx, p, Patience, alike)
	if err != nil {
		return c
	}
	found, times := make(map[Host]bool), maps.Clone(c.Times)
	if times == nil {
		times = make(map[Host]int64)
	}
	for _, h := range alike {
		if s, now := cached[h], live[h]; now.State != Unknown && now.State != "" && !s.olderThan(now.RegisterTime) {
			found[h], times[h] = true, s.RegisterTime
		}
	}
	c.Times, c.AsFound = times, In(c.Register, found)
	c.Register = Where(c.Register, func(h Host) bool { return !found[h] })
	return c
}

// claimed are those of the already registered hosts that are taken over: all that are adopted, this
// object's own, and those that another object leaves in the same run. It notes the outcome of the others.
func (v *visit) claimed(ctx context.Context, present []Host, later time.Duration) []Host {
	labelled := v.want.OwnerLabel() != ""
	if len(present) == 0 || v.change.Adopt && !labelled {
		return present
	}
	rows, err := cachedBefore(ctx, v.process, present, later+Quick)
	if v.change.Adopt { // whoever made it
		v.noteTaken(present, rows)
		return present
	}
	undated := dateByOtherName(ctx, v.process, present, v.registered)
	claims, others := v.meetAll(Where(present, func(h Host) bool { return labelled || !v.change.Sent[h] }), rows, err, undated)
	v.noteTaken(In(present, claims), rows)
	switch {
	case !labelled:
		maps.Copy(claims, v.change.Sent)
	case v.change.Leaving != nil && len(others) > 0:
		maps.Copy(claims, SetOf(v.change.Leaving(ctx, others)))
	}
	return In(present, claims)
}

// meetAll decides about each of the hosts, and notes their outcomes: which are claimed, and which are
// another's that may be leaving them.
func (v *visit) meetAll(present []Host, rows map[Host]Status, err error, undated map[Host]bool) (claims map[Host]bool, others map[Host]Owned) {
	claims, others = make(map[Host]bool), make(map[Host]Owned)
	for _, h := range present {
		o, claim := v.want.meet(v.registered[h], rows[h], err, undated[h])
		v.registered[h] = o
		owner := rows[h].Labels[v.want.OwnerLabel()]
		switch {
		case claim:
			claims[h] = true
		case o.Left == RegisteredByOther && o.Unread:
			others[h] = Owned{At: o.RegisterTime}
		case o.Left == RegisteredByOther && owner != "":
			others[h] = Owned{owner, o.RegisterTime}
		}
	}
	return claims, others
}

// noteTaken notes what the cached status shows of hosts that are taken over from somebody else, of those
// that name another owner or are not hosted.
func (r *Reconciliation) noteTaken(hosts []Host, rows map[Host]Status) {
	for _, h := range hosts {
		if s := rows[h]; r.want.OwnedByOther(s) || s.HostedKnown && !s.Hosted && !r.want.Owns(s) {
			r.found.Taken[h] = s
		}
	}
}

// dateByOtherName completes results with agents' times where they have none. If the platform keeps an entry for
// each name of a machine, one may have been made under the other name. The row of this name is then
// older. It returns the hosts whose agents could not be asked by that name.
func dateByOtherName(ctx context.Context, p Process, present []Host, results Results) (undated map[Host]bool) {
	others := p.KnownNames(Where(present, func(h Host) bool { return results[h].RegisterTime == 0 }))
	if len(others) == 0 {
		return nil
	}
	undated = make(map[Host]bool)
	var named []Host
	for _, h := range present {
		if other, known := others[h]; known {
			named = append(named, h.Named(other))
		}
	}
	live, err := LiveStatusWithin(ctx, p, Patience, named)
	for h, other := range others {
		s, o := live[h.Named(other)], results[h]
		o.RegisterTime, undated[h] = s.RegisterTime, err != nil || s.State == Unknown
		results[h] = o
	}
	return undated
}

// meet decides what a registration that was there already is: o is what registering
// said, row what the cached status shows, unless reading it failed. undated: the agent could not be asked when
// that was. Whoever registers last owns, so what is to be taken over is claimed by registering it once more.
func (d Desired) meet(o Outcome, row Status, err error, undated bool) (met Outcome, claim bool) {
	unread := err != nil || undated || row.namesNobody() || row.olderThan(o.RegisterTime)
	sent := d.Ours(row) || d.Owns(row)
	switch {
	case o.Repeated && d.FingerprintLabel == "" && o.RegisterTime == 0:
		// As far as is known, the first request registered it. If the agent knew of an earlier
		// registration, it did not.
		return Outcome{Verdict: Done, AlreadyDone: true}, false
	case o.Repeated && (unread || o.RegisterTime == 0 && !sent):
		return o.undecided(err), false
	case unread:
		o.Unread = true
		o.Meaning = cmp.Or(o.Meaning, "the process is registered already") + "; by whom could not be read"
	case d.madeBefore(row):
		return Outcome{Verdict: Done, AlreadyDone: true}, false
	case sent:
		// An earlier create of this declaration that was cut off, or an earlier
		// declaration of this object.
		return o, true
	default:
		o.Owner = row.Labels[d.OwnerLabel()]
		o.Meaning += cmp.Or(ByOwner(o.Owner), d.withLabels(row))
	}
	return o.another(err), false
}

// maxLabels is how many labels of somebody else's registration are named.
const maxLabels = 5

// withLabels names the labels of a registration without an owner: they tell who may have made it.
func (d Desired) withLabels(s Status) string {
	var named []string
	for name, value := range s.Labels {
		if value != "" && name != d.FingerprintLabel {
			named = append(named, quotedInside(name)+"="+quotedInside(value))
		}
	}
	if len(named) == 0 {
		return ""
	}
	slices.Sort(named)
	if len(named) > maxLabels {
		named = append(named[:maxLabels], "…")
	}
	return ", with the labels " + strings.Join(named, ", ")
}

// quotedInside is a text that anybody may have written, without what is not to be printed.
func quotedInside(text string) string { return strings.Trim(strconv.Quote(text), `"`) }

// ByOwner names the owner of a registration at the end of a sentence, "" where it has none.
func ByOwner(owner string) string {
	if owner == "" {
		return ""
	}
	return ", owner " + quotedInside(owner)
}

// another is the outcome of a host on which somebody else's registration was there before.
func (o Outcome) another(err error) Outcome {
	o.Err, o.Left = err, RegisteredByOther
	o.AlreadyDone = o.AlreadyDone && err == nil
	return o
}

// madeBefore reports whether a registration is the very one that is desired, and this object's where
// registrations name their owner.
func (d Desired) madeBefore(s Status) bool {
	_, started := d.carried(s)
	return d.Ours(s) && (d.OwnerLabel() == "" || d.Owns(s)) && !started
}

// undecided is the outcome of a host that was registered before a repeated request. Another object
// may have registered it, this one earlier, or the first request. An old row does not show which,
// so the next apply asks again.
func (o Outcome) undecided(err error) Outcome {
	o.AlreadyDone, o.Verdict, o.Err, o.Left = false, Lost, err, NotRegistered
	o.Meaning = "registered already, and whether by an earlier request of this apply could not be read"
	return o
}

// namesNobody reports whether a row has no owner.
func (s Status) namesNobody() bool {
	return s.State == Unregistered || s.State == Unknown || s.Labels == nil
}
