package hostedprocess

import (
	"context"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// looks is how often the platform's file is read for hosts whose agents know of a later
// registration than it. With the default backoff that takes three minutes.
const looks = 60

// meaningOutdated: whose the latest registration is could not be found out.
const meaningOutdated = "its agent knows of a later registration, and whose that is cannot be told while the platform's file has not heard of it yet, which may take minutes"

// meaningSilent: nobody knows how old the platform's file is.
const meaningSilent = meaningUnread + ": its agent did not answer, or did not say when that was"

// claim finds out on which hosts the registration is still this object's. The file says
// whose it was when the file was written; the agents say when it was made.
type claim struct {
	letting

	open       []fleet.Host                // not decided
	still      map[fleet.Host]bool         // decided: ours
	live       map[fleet.Host]fleet.Status // nil before the agents were asked
	onFile     map[fleet.Host]fleet.Status // at the last look
	others     map[fleet.Host]fleet.HostID // the other names of the machines
	otherwise  map[fleet.Host]fleet.Status // what agents that know of none say by those
	registered map[string]int64            // applied.Registered
	looked     int
}

// stillOurs are the hosts on which the registration is this object's, and nobody's who
// registered since. Where the agent knows of a later registration than the file, the file
// is awaited.
func (l letting) stillOurs(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	if l.last.FingerprintLabel == "" { // nobody can tell
		ours, _ := l.ours(ctx, hosts)
		return ours
	}
	c := claim{letting: l, open: hosts, still: make(map[fleet.Host]bool), registered: l.last.registeredAt()}
	err := c.decide(ctx)
	for _, host := range c.open {
		l.gone.results[host] = fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: c.undecided(host)}
	}
	for host := range c.still {
		l.gone.registered[host] = c.live[host].RegisterTime
	}
	return keep(hosts, func(host fleet.Host) bool { return c.still[host] })
}

// decide takes no more than half of the time that is left: what is decided has to go yet.
func (c *claim) decide(ctx context.Context) error {
	waits, cancel := ctx, context.CancelFunc(func() {})
	if deadline, bounded := ctx.Deadline(); bounded {
		waits, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
	}
	defer cancel()
	err := poll.Until(waits, c.platform.Backoff, c.look)
	if ctx.Err() == nil {
		return nil // only the wait is over
	}
	return err
}

// undecided is why it is not known whose a registration is.
func (c *claim) undecided(host fleet.Host) string {
	switch {
	case c.onFile[host].Unread:
		return meaningUnread
	case c.live[host].RegisterTime == 0 && c.otherwise[host].RegisterTime == 0:
		return meaningSilent
	}
	return meaningOutdated
}

// look reads the file, and is done when nothing is open or it has looked often enough.
func (c *claim) look(ctx context.Context) (done bool, _ error) {
	ours, onFile := c.ours(ctx, c.open)
	c.open, c.onFile = nil, onFile
	if c.live == nil {
		ours = c.ask(ctx, ours)
		c.others = c.Process.KnownNames(ours)
		c.otherwise = c.byOtherName(ctx, ours, c.live)
	}
	ours, beside := c.beside(ctx, ours)
	for _, host := range ours {
		own, theirs := onFile[host], beside[host]
		told, hostedOtherwise := c.otherwise[host]
		overtaken := c.last.ownedByOther(c.Desired, theirs) && own.RegisterTime < theirs.RegisterTime &&
			c.registrant(c.others[host]) == "" // a machine that this object has renamed is its own
		switch {
		case overtaken && c.live[host].RegisterTime <= theirs.RegisterTime:
			c.gone.beside[host] = c.others[host]
		case overtaken && own.State != fleet.Unknown: // the file is to catch up
			c.open = append(c.open, host)
		case hostedOtherwise: // whatever the file has by this name, the agent has nothing
			if c.holds(host.Named(c.others[host]), theirs, told) {
				c.still[host] = true // what the machine hosts is this object's, by the other name
			} else {
				c.open = append(c.open, host)
			}
		case c.current(host, own):
			c.still[host] = true
		default:
			c.open = append(c.open, host)
		}
	}
	c.looked++
	return len(c.open) == 0 || c.looked == looks, nil
}

// ask asks the agents when the process was registered, and gives the hosts whose agents
// answer.
func (c *claim) ask(ctx context.Context, hosts []fleet.Host) []fleet.Host {
	c.live = make(map[fleet.Host]fleet.Status)
	if len(hosts) == 0 || !c.Desired.HasSpec { // no agent can be asked
		return hosts
	}
	live, err := fleet.LiveStatusWithin(ctx, c.Process, patience, hosts)
	return keep(hosts, func(host fleet.Host) bool {
		s := live[host]
		if err != nil || s.State == fleet.Unknown && !s.Unread {
			c.gone.results[host] = fleet.Untold(s, err, meaningSilent)
			return false
		}
		c.live[host] = s
		return true
	})
}

// beside is what the platform has on file about hosts by the other names of their machines,
// where it keeps an entry for each name. To let go of one is to let go of both, as an agent
// hosts one process. It leaves out the hosts of which that could not be read.
func (c *claim) beside(ctx context.Context, hosts []fleet.Host) ([]fleet.Host, map[fleet.Host]fleet.Status) {
	var named, twins []fleet.Host
	for _, host := range hosts {
		if other, known := c.others[host]; known {
			named, twins = append(named, host), append(twins, host.Named(other))
		}
	}
	if len(named) == 0 {
		return hosts, nil
	}
	onFile, err := c.Process.CachedStatus(ctx, twins)
	if err != nil {
		c.gone.results.Merge(fleet.Same(named, fleet.Outcome{Verdict: fleet.Failed, Err: err, Meaning: meaningUnread}))
		return keep(hosts, func(host fleet.Host) bool { _, known := c.others[host]; return !known }), nil
	}
	beside := make(map[fleet.Host]fleet.Status, len(named))
	for i, host := range named {
		beside[host] = onFile[twins[i]]
	}
	return hosts, beside
}

// current reports whether nobody has registered on a host since this object did, or since
// the platform's file was written. An agent that tells no time has no registration, or
// answers in a way of its own; then what is on file counts.
func (c *claim) current(host fleet.Host, onFile fleet.Status) bool {
	at, ours := c.live[host].RegisterTime, c.registered[host.Address()]
	switch live := c.live[host]; {
	case at == 0 && ours != 0 && (live.Unread || live.Hosted || !live.HostedKnown):
		return false // it told before
	case at == 0, at == ours:
		return true
	case onFile.State == fleet.Unknown: // a row that cannot be placed never will be
		return ours == 0 && !onFile.Unread
	case onFile.State == fleet.Unregistered:
		return false
	case ours != 0: // two clocks are not compared, so it is the very same or waited for
		return onFile.RegisterTime == 0 || onFile.RegisterTime == at
	default:
		return onFile.RegisterTime == 0 || onFile.RegisterTime >= at
	}
}
