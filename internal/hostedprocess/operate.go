package hostedprocess

import (
	"cmp"
	"context"
	"fmt"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// registeredOnly is what may be left to do on a host that is registered as declared.
var registeredOnly = map[fleet.Code]bool{
	fleet.NotHosted: true, fleet.NotRunning: true, fleet.Unhealthy: true, fleet.NotOperated: true, fleet.OperationUnconfirmed: true,
}

// isRegistered reports whether a host is registered as declared, whatever else is left to do.
func isRegistered(o fleet.Outcome) bool { return o.OK() || registeredOnly[o.Left] }

// specChanges reports whether the agents are to run something else. A changed label or op_timeout
// is nothing that they run.
func (u *update) specChanges() bool {
	return u.prior.Desired.HasSpec && u.prior.Desired.Spec != u.h.Desired.Spec
}

// stillDue are the hosts of the update on which the operation is to run. They run another spec than
// is declared, or are not known to run that one.
func (u *update) stillDue(hosts []fleet.Host) map[fleet.Host]fleet.Due {
	if u.operation == "" || !u.prior.Desired.HasSpec {
		return nil
	}
	all, still := make(map[fleet.Host]fleet.Due), u.remains()
	for _, host := range hosts {
		if _, renamed := u.names.old[host]; renamed || !u.prior.Hosts.Has(host) {
			continue
		}
		if due, is := still.on(host); is {
			all[host] = due
		}
	}
	return all
}

// remains says where the operation of on_update is due: what was left of it, and whether there is a
// new reason.
type remains struct {
	last     ledger
	statuses map[fleet.HostID]diagnose.HostStatus
	spec     string // that is declared
	changes  bool   // that is another one than before
}

func (u *update) remains() remains {
	return remains{u.last, u.statuses, u.h.Desired.Spec, u.specChanges()}
}

// on reports whether it is due on a host, and what of it was tried there.
func (r remains) on(host fleet.Host) (fleet.Due, bool) {
	status := r.statuses[host.WithoutSupplier()]
	if unproven(status.Code) { // and so is what runs there
		return fleet.Due{}, false
	}
	e := r.last.on(host)
	due, begun := e.Due, e.IsDue
	// A trace of an operation for another declaration says nothing of this one.
	if r.changes {
		due.InDoubt, due.Operated, due.Task = false, false, fleet.Task{}
	}
	switch status.Code {
	case fleet.NotOperated, fleet.OperationUnconfirmed:
		return due, true
	case fleet.OtherSpec: // its wave looks whether the process is that of Runs
		return due, true
	default:
		return due, begun || r.changes
	}
}

// meaningCutOff: an apply that is killed saves nothing.
const meaningCutOff = "registered and not operated: since the last apply that is in state it was started, or registered, and whether an apply that was " +
	"cut off has operated it already is not known; apply once more to operate it, or once with on_update = \"register\" if you know that it has been"

// traces are those of the hosts on which the operation may have run in an apply that was cut off. Where the
// last apply in state tried it already, only a restart for the same declaration shows that. onFile is their
// cached status, nil if it was not read yet.
func (u *update) traces(ctx context.Context, onFile map[fleet.Host]fleet.Status) (map[fleet.Host]fleet.Trace, error) {
	repeated := u.operation == fleet.Restart && !u.specChanges()
	fresh := u.h.Hosts.Pick(func(host fleet.Host) bool {
		due, is := u.due[host]
		switch code := u.statuses[host.WithoutSupplier()].Code; {
		case !is, !u.prior.Hosts.Has(host), due.InDoubt, due.Operated, code == fleet.OperationUnconfirmed:
			return false
		case code == fleet.NotOperated:
			return repeated && due.PID > 0
		default:
			return !u.last.on(host).IsDue
		}
	})
	if len(fresh) == 0 {
		return nil, nil
	}
	if onFile == nil {
		var err error
		if onFile, err = u.h.Process.CachedStatus(ctx, fresh); err != nil {
			return nil, fmt.Errorf("reading the cached status: %w", err)
		}
	}
	traces := make(map[fleet.Host]fleet.Trace, len(fresh))
	for _, host := range fresh {
		e := u.last.on(host)
		traces[host] = fleet.Trace{
			PID: cmp.Or(e.PID, e.Due.PID), RegisterTime: e.At, Lost: !u.last.known && u.last.owner != "", File: onFile[host],
			Registered: u.statuses[host.WithoutSupplier()].Code == fleet.NotOperated, Ran: e.Runs != "" && e.Runs == u.h.Desired.Spec,
		}
	}
	return traces, nil
}

// keepUnsure says of hosts that were not operated because an apply which was cut off may have
// done it.
func (u *update) keepUnsure(notTold []fleet.Host, results fleet.Results) {
	for _, host := range notTold {
		delete(u.due, host)
		if o := results[host]; o.OK() {
			results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningCutOff, Left: fleet.OperationUnconfirmed}
		}
	}
}

// untouched reports whether nothing was sent to a host, by its outcome: an agent that does not answer when it
// is asked first gets nothing. What was refused may have taken effect.
func untouched(o fleet.Outcome) bool {
	return o.Verdict == fleet.NotTried || o.Away && o.TaskID == "" && o.RequestID == ""
}

// dueAfter is the entry of a host with what is left of the operation, for the next apply.
func (u *update) dueAfter(host fleet.Host, e entry) entry {
	before := e
	e.IsDue, e.Due, e.Runs = false, fleet.Due{}, ""
	if _, stuck := u.stuck[host]; stuck { // it may come back
		e.IsDue, e.Due = before.IsDue, before.Due
	}
	o, failed := u.failures[host]
	due, was := u.due[host]
	tried := o.Left == fleet.OperationUnconfirmed || was && (due.PID > 0 || !untouched(o))
	switch {
	case !failed, o.Left == fleet.NotHosted, o.Left == fleet.NotRunning:
	case o.Left == fleet.Unhealthy && was:
		e.IsDue, e.Due = true, fleet.Due{PID: u.found.Operated[host].PID, Operated: true}
	case o.Left == fleet.Unhealthy:
	case tried:
		e.IsDue, e.Due = true, triedOnce(due, u.found.Operated[host].PID, o)
	default:
		return u.notTried(host, before, e)
	}
	return e
}

// notTried is the entry e of a host to which nothing was sent, with what was there before. What runs there is
// not known where the operation was due already.
func (u *update) notTried(host fleet.Host, before, e entry) entry {
	due, was := u.due[host]
	switch behind := u.failures[host].Left == fleet.OtherSpec; {
	case was && behind && !before.IsDue:
		e.Runs = cmp.Or(before.Runs, u.prior.Desired.Spec)
	case was:
		e.IsDue, e.Due = true, due
	case behind && u.operation != "":
		e.Runs = u.h.Desired.Spec
	}
	return e
}

// triedOnce is what is due on a host after a try with the outcome o. pid is that of the process before
// it, 0 if it did not run.
func triedOnce(due fleet.Due, pid int64, o fleet.Outcome) fleet.Due {
	due.PID = cmp.Or(pid, due.PID)
	due.InDoubt = o.Left == fleet.OperationUnconfirmed || due.InDoubt && o.Left != fleet.NotOperated
	if o.Verdict != fleet.NotTried && o.Left != fleet.OtherSpec { // the operation had its turn
		due.Task = o.Underway
	}
	return due
}
