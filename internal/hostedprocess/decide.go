package hostedprocess

import (
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// step is what an apply does on a host that is declared. Plan and apply decide it by stepsOn.
type step int

const (
	keepAsIs step = iota
	register
	// What a wave does on the first three is the same. registerUnowned registers, and fails where another owner still has it. takeOver registers over
	// another owner's registration.
	registerUnowned
	takeOver
	reregister
	// settle hosts, starts or operates, and does not register.
	settle
	// Only a plan has the last two. With compare the apply decides, after a look at the host. With
	// rename the platform decides whether a host that comes is one that goes.
	compare
	rename
)

// steps are hosts by what is done to them.
type steps map[step][]fleet.Host

// of are the hosts of some steps.
func (s steps) of(some ...step) []fleet.Host {
	var hosts []fleet.Host
	for _, which := range some {
		hosts = append(hosts, s[which]...)
	}
	return hosts
}

// registering are the steps that register what is not known to be registered.
var registering = []step{register, registerUnowned, takeOver}

// wanted is what an update asks of hosts that stay.
type wanted struct {
	changes bool // what is registered changes
	raises  bool // ensure asks for more than before
	adopts  bool // adopt_existing
}

// situation is what is known of a host that stays: the code of out_of_sync, "" if there is none, and
// whether another object has registered it since.
type situation struct {
	code      fleet.Code
	overtaken bool
	// away: its agent does not answer. That is no reason for an apply.
	away bool
	// late: what was sent before may have registered something else since, or may yet.
	late bool
	// looked: nothing is kept of the last apply, so the cached status was read. absent: it has no
	// row. other: its row is not as declared.
	looked, absent, other bool
}

// situationOf is what state and the ledger say of a host that stays.
func situationOf(status diagnose.HostStatus, last ledger, host fleet.Host) situation {
	return situation{code: status.Code, away: status.Away(), overtaken: last.isOvertaken(host), late: last.mayGetAnother(host)}
}

// lookedUp adds what the cached status shows of a host of which nothing is kept.
func (s situation) lookedUp(want fleet.Desired, row fleet.Status) situation {
	s.looked, s.absent = true, row.State == fleet.Unregistered
	s.other = !want.AsFound(row) && (!want.Ours(row) || want.OwnerLabel() != "" && !want.Owns(row))
	return s
}

// stepsOn decides what is to be done on hosts that stay: the one decision of plan and apply.
func (w wanted) stepsOn(hosts []fleet.Host, known func(fleet.Host) situation) steps {
	decided := make(steps)
	for _, host := range hosts {
		which := w.stepOn(known(host))
		decided[which] = append(decided[which], host)
	}
	return decided
}

// stepOn decides it of one.
func (w wanted) stepOn(s situation) step {
	out := s.code != ""
	switch {
	case s.away && !s.looked && !w.changes && !w.raises:
		return keepAsIs
	case s.code == fleet.RegisteredByOther && !w.adopts:
		return registerUnowned
	case s.code == fleet.RegisteredByOther:
		return takeOver
	case unheld(s.code), s.absent:
		return register
	case w.changes, outdated(s.code), s.other:
		return reregister
	case (out || w.raises) && (s.overtaken || s.late): // to host or start it as it is would leave half of the registration the other's
		return reregister
	case out, w.raises, s.looked:
		return settle
	default:
		return keepAsIs
	}
}

// unproven reports whether state says of a host that a registration there is not this object's, or
// does not know that it is.
func unproven(code fleet.Code) bool {
	return code == fleet.NotRegistered || code == fleet.Unconfirmed || code == fleet.RegisteredByOther
}

// unheld reports whether no registration of this object is known on a host of that code. outdated
// says that it is not as declared.
func unheld(code fleet.Code) bool { return unproven(code) || code == fleet.NoLongerRegistered }

func outdated(code fleet.Code) bool {
	return code == fleet.OtherSpec || code == fleet.OtherLabels
}

// refreshed is what a refresh found of a host, beside what state said before.
type refreshed struct {
	was, found diagnose.HostStatus // zero where it is in sync
	away       bool                // its agent does not answer
	row        fleet.Status
	made       bool // the cached status shows what is declared, registered by this object
	alike      bool // it shows what is declared, registered by another tool that names no owner
	ours       bool // it shows something that this object registered
	labelled   bool
	owner      string // that the cached status names
}

// status is what state says of the host then. For the same drift it keeps the longer text. It also
// keeps what a refresh cannot know better: hosts that could not be asked, earlier owners, and
// failed registrations that nothing shows as repaired.
func (r refreshed) status() diagnose.HostStatus {
	var (
		drifted  = r.found.Code != ""
		missing  = r.found.Code == fleet.NoLongerRegistered
		doubtful = r.was.Code == fleet.Unconfirmed || r.was.Code == fleet.NotRegistered
		same     = drifted && r.found.Code == r.was.Code
	)
	switch {
	case r.was.Code == "":
		return r.found
	case doubtful && drifted && !missing && r.labelled:
		return r.doubted()
	case same && r.was.ToldByRefresh():
		return r.found
	case r.away, same, missing && doubtful:
		return r.was
	default:
		return r.kept(missing)
	}
}

// doubted is the status of a host whose registration was uncertain, and on which something is
// registered: by another object, or with an earlier declaration. An old row does not show which.
func (r refreshed) doubted() diagnose.HostStatus {
	switch {
	case r.row.State == fleet.Unregistered, r.row.State == fleet.Unknown, r.row.Labels == nil:
		return r.was
	case !r.ours:
		return diagnose.TakenByOther(r.owner)
	default:
		return r.found
	}
}

// kept is the status of a host that differs in another way than before, or not any more.
func (r refreshed) kept(missing bool) diagnose.HostStatus {
	// Registered, but not hosted, not running or not operated, is a lesser difference. It is
	// repaired along with the rest.
	lesser := r.found.Code == "" || registeredOnly[r.found.Code]
	keep := false
	switch r.was.Code {
	case fleet.Unhealthy: // that it runs at this moment does not say that it goes on
		keep = r.found.Code == ""
	case fleet.RegisteredByOther:
		if missing {
			return diagnose.NeverOurs()
		}
		keep = !r.made
	case fleet.NotOperated, fleet.OperationUnconfirmed:
		keep = lesser
	case fleet.NotRegistered, fleet.Unconfirmed:
		keep = lesser && !r.made
	case fleet.NoLongerRegistered, fleet.OtherSpec, fleet.OtherLabels:
		keep = lesser && !r.made && !r.alike
	case fleet.NotHosted, fleet.NotRunning: // both are repaired alike, and only the apply knows why
		keep = (r.found.Code == fleet.NotHosted || r.found.Code == fleet.NotRunning) && !r.was.ToldByRefresh()
	default:
	}
	if keep {
		return r.was
	}
	return r.found
}
