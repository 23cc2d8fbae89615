package hostedprocess

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// registeredOnly holds the codes of what may be left to do on a host that is registered as declared.
var registeredOnly = map[fleet.Code]bool{
	fleet.NotHosted: true, fleet.NotRunning: true, fleet.Unhealthy: true, fleet.NotOperated: true, fleet.OperationUnconfirmed: true,
}

// mayRunAnother holds the codes of hosts whose process may run another spec than the declared one. With a ledger
// only OtherSpec counts, as the ledger knows what runs on the other hosts.
var mayRunAnother = map[fleet.Code]bool{
	fleet.OtherSpec: true, fleet.NoLongerRegistered: true, fleet.NotOperated: true, fleet.OperationUnconfirmed: true,
}

// isRegistered reports whether a host is registered as declared, whatever else is left to do.
func isRegistered(o fleet.Outcome) bool { return o.OK() || registeredOnly[o.Left] }

// stillDue returns the hosts of the update on which the operation is to run, with what runs there.
func (u *update) stillDue(hosts []fleet.Host) map[fleet.Host]fleet.Runs {
	if u.operation == "" {
		return nil
	}
	all, still := make(map[fleet.Host]fleet.Runs), u.remains()
	for _, host := range hosts {
		if runs, due := still.on(host); due && u.prior.Hosts.Has(host) {
			all[host] = runs
		}
	}
	return all
}

// remains decides where the operation of on_update is due: where an earlier one is left to do, or where there
// is a new reason for it.
type remains struct {
	known

	prior fleet.Desired
	spec  string // the spec that is declared now
}

func (u *update) remains() remains {
	return remains{u.known, u.prior.Desired, u.h.Desired.Spec}
}

// changes reports whether the agents are to run another spec. A changed label or op_timeout changes nothing
// that they run.
func (r remains) changes() bool { return r.prior.HasSpec && r.prior.Spec != r.spec }

// on reports whether the operation is due on a host, and what runs there.
func (r remains) on(host fleet.Host) (fleet.Runs, bool) {
	code, runs := r.statuses[host.WithoutSupplier()].Code, r.last.on(host).Runs
	lost := code == fleet.Unconfirmed && (runs.Spec != "" || runs.Tried != "") // the host was this object's before
	if unproven(code) && !lost || !r.prior.HasSpec {                           // what runs there is not known to be this object's
		return fleet.Runs{}, false
	}
	if r.changes() {
		runs = runs.Redeclared(r.prior.Spec)
	}
	behind := code == fleet.OtherSpec || !r.last.kept && mayRunAnother[code]
	switch {
	case behind && !r.last.kept:
		runs.Spec = cmp.Or(runs.Spec, fleet.SpecUnknown)
	case behind && runs.Spec == "": // whatever was registered since, the process that ran then runs what it was started with
		runs.Spec, runs.Sent = r.prior.Spec, true
	}
	return runs, behind || r.changes() || runs.Due(r.spec)
}

// meaningInterrupted is said of a host that an apply may have operated before it was killed: it saved nothing.
const meaningInterrupted = "it was started or registered after the last apply in state, and it is unknown whether an interrupted apply " +
	"has operated it; apply once more to operate it, or " + waived + " if you know that it was operated"

// waived is how to apply so that an operation that is due does not run. A gate needs a process that is started or operated.
const waived = "once with on_update = \"register\" (and without rollout.healthy, unless ensure is \"running\")"

// traces returns what may show, for the hosts where the operation is due, that an interrupted apply has run it
// already. State is from before such an apply. A host needs no trace if its last try worked. Nor does it if the
// last apply in state registered it as it is declared now, unless a restart would have changed its known pid.
// A reload needs none if that apply ended while it registered the host so: it explains what has changed since.
// After a try whose end was not seen, a trace shows whether the pid can tell. rows are the cached status, nil if it
// was not read yet.
func (u *update) traces(ctx context.Context, rows map[fleet.Host]fleet.Status) (map[fleet.Host]fleet.Trace, error) {
	registered := func(host fleet.Host) bool { // by the last apply in state, as it is declared now
		tried := u.due[host].Tried
		return (tried == fleet.TryDue || tried == fleet.TryFailed || tried == fleet.TryUnsure) && u.statuses[host.WithoutSupplier()].Code != fleet.OtherSpec
	}
	asked := u.h.Hosts.Pick(func(host fleet.Host) bool {
		runs, due := u.due[host]
		switch {
		case !due, runs.Tried == fleet.TryWorked, u.operation == fleet.Reload && u.last.registering(host, u.h.Desired):
			return false
		case runs.Tried == fleet.TryUnseen:
			return runs.PID > 0
		case registered(host):
			return u.operation == fleet.Restart && runs.PID > 0
		default:
			return true
		}
	})
	if len(asked) == 0 {
		return nil, nil
	}
	if rows == nil {
		var err error
		if rows, err = u.h.Process.CachedStatus(ctx, asked); err != nil {
			return nil, fmt.Errorf("reading the cached status: %w", err)
		}
	}
	alike := u.alike(rows)
	traces := make(map[fleet.Host]fleet.Trace, len(asked))
	for _, host := range asked {
		traces[host] = fleet.Trace{
			RegisterTime: u.last.on(host).At, Started: u.last.on(host).Started, Lost: !u.last.kept && u.last.owner != "", Row: rows[host],
			Alike: alike[host], Registered: registered(host),
		}
	}
	return traces, nil
}

// alike returns the hosts whose rows show that this object has registered the declared spec with other labels.
func (u *update) alike(rows map[fleet.Host]fleet.Status) map[fleet.Host]bool {
	made, alike := make(map[string]bool), make(map[fleet.Host]bool) // made is by fingerprint
	for host, row := range rows {
		if !u.h.Desired.Owns(row) {
			continue
		}
		carried := row.Labels[u.h.Desired.FingerprintLabel]
		if _, known := made[carried]; !known {
			made[carried] = u.h.Desired.Alike(row, u.h.Spec)
		}
		alike[host] = made[carried]
	}
	return alike
}

// keepUnsure fails the hosts that were not operated because an interrupted apply may have done so already.
func keepUnsure(unsure map[fleet.Host]int64, results fleet.Results) {
	for host := range unsure {
		switch o := results[host]; {
		case o.OK():
			results[host] = fleet.Outcome{Verdict: fleet.Failed, Meaning: "registered and not operated: " + meaningInterrupted, Left: fleet.OperationUnconfirmed}
		default:
			o.Meaning, o.Away = strings.TrimPrefix(o.Meaning+"; ", "; ")+meaningInterrupted, false // not Away: max_unreachable_hosts must not excuse this
			results[host] = o
		}
	}
}

// untouched reports whether an outcome shows that nothing was sent to its host. An agent that does not answer
// when it is asked beforehand is sent nothing. A request that was refused may have taken effect.
func untouched(o fleet.Outcome) bool {
	return o.Verdict == fleet.NotTried || o.Away && o.TaskID == "" && o.RequestID == ""
}

// operationOver reports whether an outcome leaves nothing of the operation to do, whatever else it leaves.
func operationOver(o fleet.Outcome) bool {
	return o.OK() || o.Left == fleet.Unhealthy || o.Left == fleet.NotHosted || o.Left == fleet.NotRunning
}

// runsAfter returns what runs on a host after the update, and what is left of the operation.
func (u *update) runsAfter(host fleet.Host, before fleet.Runs) fleet.Runs {
	o := u.failures[host] // the zero value, Done, if it did not fail
	runs, due := u.due[host]
	_, operated := u.found.Operated[host]
	was, unsure := u.found.Unsure[host]
	pid, seen := u.found.Running[host]
	if !seen {
		pid = before.PID
	}
	switch {
	case u.operation == "":
		return fleet.Runs{Task: before.Task}
	case unsure:
		return fleet.Runs{Spec: fleet.SpecUnknown, PID: cmp.Or(u.found.Running[host], was), Tried: fleet.TryUnsure}
	case o.Left == fleet.Unhealthy && due:
		return fleet.Runs{PID: pid, Tried: fleet.TryWorked}
	case operationOver(o):
		return u.runsOn(host, before, pid)
	case operated && !untouched(o):
		return u.tried(host, o)
	case !due:
		runs = before
	}
	if seen {
		runs = runs.Seen(pid)
	}
	return u.untried(host, o, runs)
}

// runsOn returns what runs on a host on which nothing of the operation is left to do.
func (u *update) runsOn(host fleet.Host, before fleet.Runs, pid int64) fleet.Runs {
	runs := fleet.Runs{PID: pid, Task: before.Task}
	if _, due := u.due[host]; due { // an earlier try is over as well
		runs.Task = fleet.Task{}
	}
	return runs
}

// untried returns what runs on a host on which the operation was not run. If it is not due, the declared spec
// runs there already.
func (u *update) untried(host fleet.Host, o fleet.Outcome, runs fleet.Runs) fleet.Runs {
	switch {
	case o.Left == fleet.OtherSpec:
		runs.Spec = cmp.Or(runs.Spec, u.h.Desired.Spec)
	case unconfirmed(o) && u.wasRegistered(host): // what is registered later may be another declaration
		runs.Spec = cmp.Or(runs.Spec, u.prior.Desired.Spec)
	case o.Left != fleet.NotOperated || !u.registered[host]:
	case runs.Tried == "":
		runs.Tried = fleet.TryDue
	case runs.Tried == fleet.TryEarlier:
		runs.Tried = fleet.TryFailed
	}
	return runs
}

// tried returns what runs on a host on which the operation was tried, with the outcome o.
func (u *update) tried(host fleet.Host, o fleet.Outcome) fleet.Runs {
	if o.Left == fleet.OperationUnconfirmed {
		return fleet.Runs{Spec: fleet.SpecUnknown, PID: u.found.Operated[host], Tried: fleet.TryUnseen, Task: o.Underway}
	}
	return fleet.Runs{Spec: fleet.SpecUnknown, PID: cmp.Or(u.found.Running[host], u.found.Operated[host]), Tried: fleet.TryFailed}
}
