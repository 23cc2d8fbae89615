package hostedprocess

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/ownership"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// looks is how often the cached status is read while it is older than a registration. With the default backoff
// that takes three minutes.
const looks = 60

// meanings say why a host is held.
var meanings = map[ownership.Reason]string{
	ownership.Unreadable: meaningUnread,
	ownership.NoAnswer:   meaningSilent,
	ownership.Outdated: "its agent knows of a later registration than the platform's cached status shows, so whose that is cannot be read yet; " +
		"the cached status may take minutes",
	ownership.TookEffect: "registering it was refused, its agent has the process all the same, and whose that is could not be read; apply once more before you remove it",
}

const (
	meaningUnread = "who registered it could not be read"
	meaningSilent = meaningUnread + ": its agent did not answer, or gave no registration time"
	// meaningTimeLost is said if the agent gave a time before.
	meaningTimeLost = meaningUnread + ": its agent gives no registration time any more; with the host in hosts, change a label and apply, which records that, and try again"
)

// meaningTakesOver follows TookEffect if there are no labels: nothing shows an owner then, and registering once
// more replaces what is there.
const meaningTakesOver = " if this resource registered it. If another tool did, do not: that would take it over, and then end it. Keep the host out of hosts, and try again once the other tool has given it up"

// sight is what is known of one host that is to be unregistered.
type sight struct {
	ownership.Known
	evidence ownership.Evidence
	live     fleet.Status
	liveErr  error
	row      fleet.Status
	rowErr   error
	// otherName is the machine's other name, if the platform has reported one. otherRow is the row of that
	// name.
	otherName fleet.Host
	otherRow  fleet.Status
}

// observation is what is known of hosts that are to be unregistered, as far as the decision needs it.
type observation struct {
	departure

	hosts  []fleet.Host
	sights map[fleet.Host]*sight
	looked int
}

// observe asks the agents and reads the cached status, as far as ownership depends on them. It waits while the
// cached status is older than a registration.
func (l departure) observe(ctx context.Context, hosts []fleet.Host) (observation, error) {
	o := observation{departure: l, hosts: hosts, sights: make(map[fleet.Host]*sight, len(hosts))}
	face := ownership.ESB
	switch {
	case l.last.FingerprintLabel == "" && l.Desired.FingerprintLabel == "":
		face = ownership.Blind
	case l.Process.HostingRegisters():
		face = ownership.Gateway
	}
	for _, host := range hosts {
		e := l.last.on(host)
		s := &sight{Known: ownership.Known{Claim: l.claimOn(host), At: e.At, Overtaken: e.Overtaken}}
		s.evidence = ownership.Evidence{Face: face, Claim: s.Claim, Answer: ownership.Unasked, Row: ownership.Unread}
		o.sights[host] = s
	}
	// Waiting takes at most half of the remaining time: the rest is for acting on the decision.
	waits, cancel := ctx, context.CancelFunc(func() {})
	if deadline, bounded := ctx.Deadline(); bounded {
		waits, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	defer cancel()
	err := poll.Until(waits, l.platform.Backoff, o.look)
	if ctx.Err() != nil {
		return o, err
	}
	if o.looked > 1 { // a registration may have changed hands during the wait
		o.ask(ctx, slices.Concat(o.having(ownership.Ours), o.having(ownership.Wait)))
	}
	return o, nil // any error is the end of the wait
}

// claimOn returns what state and the ledger say of the registration on a host.
func (k known) claimOn(host fleet.Host) ownership.Claim {
	switch code := k.statuses[host.WithoutSupplier()].Code; {
	case code == fleet.NotRegistered:
		return ownership.Refused
	case code == fleet.Unconfirmed && !k.last.on(host).Before:
		return ownership.Unconfirmed
	case code == fleet.RegisteredByOther:
		return ownership.Foreign
	case k.last.isOvertaken(host):
		return ownership.Overtaken
	default:
		return ownership.Registered
	}
}

// verdict returns the decision about a host by what is known so far.
func (o *observation) verdict(host fleet.Host) (ownership.Verdict, ownership.Reason) {
	return ownership.Decide(o.sights[host].evidence)
}

// having returns the hosts with a verdict.
func (o *observation) having(wanted ownership.Verdict) []fleet.Host {
	return fleet.Where(o.hosts, func(host fleet.Host) bool { v, _ := o.verdict(host); return v == wanted })
}

// look finds out what the decision needs. It is done when no host waits for the cached status, or when that was
// read often enough.
func (o *observation) look(ctx context.Context) (done bool, _ error) {
	if o.looked > 0 {
		o.read(ctx, o.having(ownership.Wait))
	}
	for {
		asked, unread := o.having(ownership.AskAgent), o.having(ownership.AskRow)
		if len(asked)+len(unread) == 0 {
			break
		}
		o.ask(ctx, asked)
		o.read(ctx, unread)
	}
	o.looked++
	return len(o.having(ownership.Wait)) == 0 || o.looked == looks, nil
}

// ask asks the agents of hosts.
func (o *observation) ask(ctx context.Context, hosts []fleet.Host) {
	if len(hosts) == 0 {
		return
	}
	live, err := fleet.LiveStatusWithin(ctx, o.Process, fleet.Patience, hosts)
	for _, host := range hosts {
		s := o.sights[host]
		s.live, s.liveErr = live[host], err
		switch {
		case errors.Is(err, fleet.ErrNoSpec):
			s.evidence.Answer = ownership.NoSpec
		case err != nil, !s.live.Asked():
			s.evidence.Answer = ownership.AskFailed
		case s.live.State == fleet.Unknown && !s.live.Unread:
			s.evidence.Answer = ownership.Silent
		default:
			s.evidence.Answer = s.Compare(s.live.RegisterTime, s.live.HostedKnown && !s.live.Hosted)
		}
		if s.evidence.Row != ownership.Unread { // the answer shows whether the row is old
			o.place(host)
		}
	}
}

// read reads the cached status of hosts.
func (o *observation) read(ctx context.Context, hosts []fleet.Host) {
	if len(hosts) == 0 {
		return
	}
	rows, err := o.Process.CachedStatus(ctx, hosts)
	twins := make(map[fleet.Host]fleet.Host)
	for host, name := range o.Process.KnownNames(hosts) {
		twins[host] = host.Named(name)
	}
	var beside map[fleet.Host]fleet.Status
	if err == nil && len(twins) > 0 {
		beside, err = o.Process.CachedStatus(ctx, slices.Collect(maps.Values(twins)))
	}
	for _, host := range hosts {
		s := o.sights[host]
		s.row, s.rowErr, s.otherName = rows[host], err, twins[host]
		s.otherRow = beside[s.otherName]
		o.place(host)
	}
}

// place classifies the row of a host that was read.
func (o *observation) place(host fleet.Host) {
	s := o.sights[host]
	kind := ownership.Unlabelled
	switch {
	case s.rowErr != nil, s.row.State == fleet.Unknown && s.row.Unread:
		kind = ownership.Failed
	case s.row.State == fleet.Unregistered:
		kind = ownership.Absent
	case s.row.State == fleet.Unknown, s.row.Labels == nil && s.Claim != ownership.Registered:
		kind = ownership.Unplaced
	case o.last.namesAnother(o.Desired, s.row):
		kind = ownership.Others
	case o.last.lastSent(o.Desired).Owns(s.row):
		kind = ownership.Own
	}
	s.evidence.Row = s.Aged(kind, s.row.RegisterTime, s.live.RegisterTime)
	// What this object registered under the other name in this run is its own.
	if overtaken := s.row.RegisterTime < s.otherRow.RegisterTime && s.live.RegisterTime <= s.otherRow.RegisterTime &&
		o.last.namesAnother(o.Desired, s.otherRow) && o.object.Registrant(s.otherName.WithoutSupplier()) != o.object.ID; overtaken {
		s.evidence.Row = ownership.Beside
	}
}

// stillOurs returns the hosts whose registration is this object's, and notes the outcome of the others.
func (l departure) stillOurs(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	o, err := l.observe(ctx, l.notReplaced(l.notRenamed(ctx, hosts)))
	return fleet.Where(o.hosts, func(host fleet.Host) bool {
		s := o.sights[host]
		verdict, why := o.verdict(host)
		switch verdict {
		case ownership.Ours:
			l.was[host] = s.live
			return true
		case ownership.Theirs:
			l.theirs(host, s)
		case ownership.Nobodys:
			l.nobodys(host, s.Claim)
		default:
			l.results[host] = s.holdOutcome(why, err)
		}
		return false
	})
}

// theirs notes a host whose registration is not this object's, unless state said so already.
func (l departure) theirs(host fleet.Host, s *sight) {
	switch {
	case s.Claim == ownership.Foreign:
	case s.evidence.Row == ownership.Beside:
		l.note(besides, host, left("registered by another resource since, as "+s.otherName.Address()))
	case s.evidence.Row == ownership.Others:
		l.note(anothers, host, left(meaningAnothers))
	default:
		l.note(unowned, host, left("registered without an owner"))
	}
}

const meaningAnothers = "registered by another resource since"

// nobodys notes a host on which nothing is registered, if a warning has to say more of it.
func (l departure) nobodys(host fleet.Host, claim ownership.Claim) {
	switch {
	case claim == ownership.Overtaken:
		l.note(lapsed, host, left(meaningAnothers+", and not in the cached status now"))
	case claim == ownership.Unconfirmed && l.last.on(host).Task.ID == "" && l.Process.HostingRegisters():
		l.note(unseen, host, left("not hosted now, and how registering it ended was not seen"))
	}
}

// holdOutcome returns the outcome of a host whose owner cannot be determined. err is why the wait for the
// cached status was given up.
func (s *sight) holdOutcome(why ownership.Reason, err error) fleet.Outcome {
	if s.evidence.Answer == ownership.Silent {
		return fleet.Unanswered(s.live, s.liveErr, meanings[why])
	}
	if s.evidence.Answer == ownership.AskFailed {
		return fleet.Unanswered(s.live, s.liveErr, meaningUnread+": its agent could not be asked")
	}
	if why == ownership.NoAnswer && !s.live.Unread {
		return fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningTimeLost}
	}
	if why == ownership.Unreadable && s.rowErr != nil {
		err = s.rowErr
	}
	meaning := meanings[why]
	if why == ownership.TookEffect && s.evidence.Face == ownership.Blind {
		meaning += meaningTakesOver
	}
	return fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaning}
}
