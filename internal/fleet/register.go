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

// FindAlike moves to AsFound those hosts of Register that are adopted and as declared already: the
// registration carries no fingerprint or owner, and the agent's file shows the declared spec. The agent must
// not report a later registration than the cached status, as that may be another object's. A host that cannot
// be read stays in Register. If any host is renamed, c is returned unchanged.
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
	found, times := make(map[Host]bool), make(map[Host]int64)
	maps.Copy(times, c.Times)
	for _, h := range alike {
		if s, now := cached[h], live[h]; now.answered() && !s.olderThan(now.RegisterTime) {
			found[h], times[h] = true, s.RegisterTime
		}
	}
	c.Times, c.AsFound = times, In(c.Register, found)
	c.Register = Where(c.Register, func(h Host) bool { return !found[h] })
	return c
}

// claimed returns the already registered hosts that are taken over: all if they are adopted, else this
// object's own and those that another object leaves in the same run. It notes the outcomes of the others.
func (v *visit) claimed(ctx context.Context, present []Host, later time.Duration) []Host {
	labelled := v.want.OwnerLabel() != ""
	if len(present) == 0 || v.change.Adopt && !labelled {
		return present
	}
	rows, err := cachedBefore(ctx, v.process, present, later+Quick)
	if v.change.Adopt { // whoever registered them
		v.noteTaken(present, rows)
		return present
	}
	dateByOtherName(ctx, v.process, present, v.registered, rows)
	claims, others := v.resolveAllExisting(Where(present, func(h Host) bool { return labelled || !v.change.Sent[h] }), rows, err)
	v.noteTaken(In(present, claims), rows)
	switch {
	case !labelled:
		maps.Copy(claims, v.change.Sent)
	case v.change.Leaving != nil && len(others) > 0:
		maps.Copy(claims, SetOf(v.change.Leaving(ctx, others)))
	}
	return In(present, claims)
}

// resolveAllExisting decides about existing registrations and notes the outcomes. It returns those to take
// over, and those of other objects, which may be leaving them.
func (v *visit) resolveAllExisting(present []Host, rows map[Host]Status, err error) (claims map[Host]bool, others map[Host]Owned) {
	claims, others = make(map[Host]bool), make(map[Host]Owned)
	for _, h := range present {
		o, claim := v.want.resolveExisting(v.registered[h], rows[h], err)
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

// noteTaken notes the cached status of hosts that are about to be taken over, if it names another owner, or
// shows an unhosted process that is not this object's.
func (r *Reconciliation) noteTaken(hosts []Host, rows map[Host]Status) {
	for _, h := range hosts {
		if s := rows[h]; r.want.OwnedByOther(s) || s.HostedKnown && !s.Hosted && !r.want.Owns(s) {
			r.found.Taken[h] = s
		}
	}
}

// dateByOtherName adds the agents' times to results that have none. If the platform keeps an entry for each
// name of a machine, the registration may have been made under the other name, and the row of this name is
// then older. It drops the rows of hosts whose agents could not be asked by the other name.
func dateByOtherName(ctx context.Context, p Process, present []Host, results Results, rows map[Host]Status) {
	others := p.KnownNames(Where(present, func(h Host) bool { return results[h].RegisterTime == 0 }))
	if len(others) == 0 {
		return
	}
	var named []Host
	for _, h := range present {
		if other, known := others[h]; known {
			named = append(named, h.Named(other))
		}
	}
	live, err := LiveStatusWithin(ctx, p, Patience, named)
	for h, other := range others {
		s, o := live[h.Named(other)], results[h]
		o.RegisterTime = s.RegisterTime
		results[h] = o
		if err != nil || s.State == Unknown {
			delete(rows, h)
		}
	}
}

// resolveExisting decides about a registration that existed already. o is the outcome of registering, row the
// cached status, err why that could not be read. If claim is true, the host is to be taken over by registering
// it again: the last to register is the owner.
func (d Desired) resolveExisting(o Outcome, row Status, err error) (resolved Outcome, claim bool) {
	unread := err != nil || !row.ShowsLabels() || row.olderThan(o.RegisterTime)
	sent := d.Ours(row) || d.Owns(row)
	_, started := d.carried(row)
	switch {
	case o.Repeated && d.FingerprintLabel == "" && o.RegisterTime == 0:
		// As far as is known, the first request registered it. If the agent had reported the time of an earlier
		// registration, it did not.
		return Outcome{Verdict: Done, AlreadyDone: true}, false
	case o.Repeated && (unread || o.RegisterTime == 0 && !sent):
		return o.undecided(err), false
	case unread:
		o.Unread = true
		o.Meaning = cmp.Or(o.Meaning, "the process is registered already") + "; who registered it could not be read"
	case d.Made(row) && !started:
		return Outcome{Verdict: Done, AlreadyDone: true}, false
	case sent:
		// An interrupted create has registered this declaration, or this object an earlier one.
		return o, true
	default:
		o.Owner = row.Labels[d.OwnerLabel()]
		o.Meaning += cmp.Or(ByOwner(o.Owner), d.withLabels(row))
	}
	o.Err, o.Left = err, RegisteredByOther
	o.AlreadyDone = err == nil
	return o, false
}

// maxLabels is how many labels of another's registration are named.
const maxLabels = 5

// withLabels names the labels of a registration without an owner. They may show who made it.
func (d Desired) withLabels(s Status) string {
	var named []string
	for name, value := range s.Labels {
		if value != "" && name != d.FingerprintLabel {
			named = append(named, escaped(name)+"="+escaped(value))
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

// escaped returns a text that anyone may have written, with what is not printable escaped.
func escaped(text string) string { return strings.Trim(strconv.Quote(text), `"`) }

// ByOwner names the owner of a registration at the end of a sentence. It is "" if there is no owner.
func ByOwner(owner string) string {
	if owner == "" {
		return ""
	}
	return ", owner " + escaped(owner)
}

// undecided returns the outcome of a host that turned out to be registered when the request was repeated. The
// first request may have registered it, this object earlier, or another object. An old row does not show
// which, so the next apply asks again.
func (o Outcome) undecided(err error) Outcome {
	o.AlreadyDone, o.Verdict, o.Err, o.Left = false, Lost, err, NotRegistered
	o.Meaning = "registered already, and whether an earlier request of this apply did that could not be read"
	return o
}
