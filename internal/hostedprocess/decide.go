package hostedprocess

import (
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// step is what an apply does on a declared host. Plan and apply both decide it by stepsOn.
type step int

const (
	keepAsIs step = iota
	// A wave does the same for register and registerUnowned, which fails while the host still has another owner.
	register
	registerUnowned
	reregister
	// settle hosts, starts or operates, and does not register.
	settle
	// Only a plan has these two. With compare the apply decides once it has looked at the host. With rename the
	// platform decides whether a host that comes is the machine of one that goes.
	compare
	rename
)

// steps maps each step to its hosts.
type steps map[step][]fleet.Host

// of returns the hosts of some steps.
func (s steps) of(some ...step) []fleet.Host {
	var hosts []fleet.Host
	for _, which := range some {
		hosts = append(hosts, s[which]...)
	}
	return hosts
}

// registering are the steps for hosts on which no registration of this object is known.
var registering = []step{register, registerUnowned}

// wanted is what an update asks of the hosts that stay.
type wanted struct {
	changes bool // what is to be registered has changed
	raises  bool // ensure asks for more than before
	adopts  bool // adopt_existing
}

// wantedOf returns what an update from before to plan asks. changes is as in wanted.
func wantedOf(before, plan *lifecycleModel, changes bool) wanted {
	raises := slices.Index(fleet.Ensures(), plan.ensures()) > slices.Index(fleet.Ensures(), before.ensures())
	return wanted{changes: changes, raises: raises, adopts: plan.AdoptExisting.ValueBool()}
}

// situation is what is known of a host that stays: its code in out_of_sync, "" if it has none, and whether
// another object has registered it since this one did.
type situation struct {
	code      fleet.Code
	overtaken bool
	// away: its agent does not answer, which is no reason for an apply.
	away bool
	// inFlight: a request of an earlier apply may have registered something else there since, or may still do so.
	inFlight bool
	// looked: the ledger is lost, so the cached status was read. absent: it has no row of the host. other: the
	// row is not as declared.
	looked, absent, other bool
}

// situationOf returns what state and the ledger say of a host that stays.
func situationOf(status diagnose.HostStatus, last ledger, host fleet.Host) situation {
	return situation{code: status.Code, away: status.Away(), overtaken: last.isOvertaken(host), inFlight: last.otherInFlight(host)}
}

// lookedUp adds the row of a host in the cached status, for an object whose ledger is lost. live is what its agent
// says: a row that is older than the registration does not show it.
func (s situation) lookedUp(want fleet.Desired, row, live fleet.Status) situation {
	s.looked, s.absent = true, row.State == fleet.Unregistered
	older := row.RegisterTime > 0 && row.RegisterTime < live.RegisterTime
	s.other = older || !want.AsFound(row) && !want.Made(row)
	return s
}

// stepsOn decides what is done on the hosts that stay, for plan and apply alike.
func (w wanted) stepsOn(hosts []fleet.Host, known func(fleet.Host) situation) steps {
	decided := make(steps)
	for _, host := range hosts {
		which := w.stepOn(known(host))
		decided[which] = append(decided[which], host)
	}
	return decided
}

// stepOn decides it for one host.
func (w wanted) stepOn(s situation) step {
	out := s.code != ""
	switch {
	case s.away && !s.looked && !w.changes && !w.raises:
		return keepAsIs
	case s.code == fleet.RegisteredByOther && !w.adopts:
		return registerUnowned
	case unheld(s.code), s.absent:
		return register
	case w.changes, outdated(s.code), s.other:
		return reregister
	case (out || w.raises) && (s.overtaken || s.inFlight): // hosting or starting it alone would keep the other's registration
		return reregister
	case out, w.raises, s.looked:
		return settle
	default:
		return keepAsIs
	}
}

// unproven reports whether, by what state says, the registration on a host is not or may not be this object's.
func unproven(code fleet.Code) bool {
	return code == fleet.NotRegistered || code == fleet.Unconfirmed || code == fleet.RegisteredByOther
}

// unheld reports whether no registration of this object is known on a host with that code.
func unheld(code fleet.Code) bool { return unproven(code) || code == fleet.NoLongerRegistered }

// outdated reports whether a host with that code is registered, and not as declared.
func outdated(code fleet.Code) bool {
	return code == fleet.OtherSpec || code == fleet.OtherLabels
}

// refreshed is what a refresh found on a host, beside what state said before.
type refreshed struct {
	was, found diagnose.HostStatus // zero if the host is in sync
	away       bool                // its agent does not answer
	row        fleet.Status
	made       bool   // the row shows what is declared, registered by this object
	alike      bool   // the row shows what is declared, registered by another tool that names no owner
	ours       bool   // the row shows something that this object registered
	labelled   bool   // registrations carry labels
	unsaid     bool   // nothing shows whether the process is hosted
	owner      string // the owner that the row names
}

// status returns what state says of the host after the refresh. It keeps what a refresh cannot know better:
// hosts that could not be asked, earlier owners, and failed registrations that nothing shows as repaired. If
// the drift is the same, it keeps the reason why an apply failed.
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
	case same && r.was.FromRefresh():
		return r.found
	case r.away, same, missing && doubtful:
		return r.was
	default:
		return r.kept(missing)
	}
}

// doubted returns the status of a host whose registration was uncertain and that now has one: another object's,
// or an earlier one of this object. A row without labels does not show whose it is.
func (r refreshed) doubted() diagnose.HostStatus {
	switch {
	case !r.row.ShowsLabels():
		return r.was
	case !r.ours:
		return diagnose.TakenByOther(r.owner)
	default:
		return r.found
	}
}

// kept returns the status of a host that no longer differs, or differs in another way than before.
func (r refreshed) kept(missing bool) diagnose.HostStatus {
	// A host that is registered, but not hosted, running or operated, differs less. That is repaired along with
	// the rest.
	lesser := r.found.Code == "" || registeredOnly[r.found.Code]
	keep := false
	switch r.was.Code {
	case fleet.RegisteredByOther:
		return r.foreign(missing)
	case fleet.NotOperated, fleet.OperationUnconfirmed, fleet.Unhealthy: // if it runs now, it may not keep running
		keep = lesser
	case fleet.NotHosted, fleet.NotRunning:
		keep = r.stillDown()
	default:
		keep = lesser && !r.registered()
	}
	if keep {
		return r.was
	}
	return r.found
}

// registered reports whether a host that was not registered as declared is now.
func (r refreshed) registered() bool {
	switch r.was.Code { //nolint:exhaustive // the others may also be repaired by another tool
	case fleet.NotRegistered, fleet.Unconfirmed:
		return r.made
	case fleet.OtherSpec: // a file that could not be read does not show that the agent hosts what is declared
		return (r.made || r.alike) && !r.row.Kept.Unread()
	}
	return r.made || r.alike
}

// stillDown reports whether a host that was not hosted, or not running, remains so. Both are repaired alike, and only
// the apply knows the reason.
func (r refreshed) stillDown() bool {
	switch r.found.Code { //nolint:exhaustive // any other code is worse
	case "":
		return r.was.Code == fleet.NotHosted && r.unsaid
	case fleet.NotHosted, fleet.NotRunning:
		return !r.was.FromRefresh()
	}
	return false
}

// foreign returns the status of a host that another owner has registered. A row may show another owner than before, or
// one that could not be read then.
func (r refreshed) foreign(missing bool) diagnose.HostStatus {
	switch {
	case missing:
		return diagnose.NeverOurs()
	case r.made:
		return r.found
	case r.labelled && !r.ours && r.row.ShowsLabels() && !r.was.NamesOwner(r.owner):
		return diagnose.TakenByOther(r.owner)
	default:
		return r.was
	}
}
