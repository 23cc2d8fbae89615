package fleet

import (
	"cmp"
	"slices"
)

// OnUpdate is what a changed spec does to the process on each host, once the host is
// registered with it.
type OnUpdate string

// What a changed spec does, the gentlest first.
const (
	UpdateRegister OnUpdate = "register"
	UpdateReload   OnUpdate = "reload"
	UpdateRestart  OnUpdate = "restart"
)

// OnUpdates are all of them.
func OnUpdates() []OnUpdate { return []OnUpdate{UpdateRegister, UpdateReload, UpdateRestart} }

// Operation is the operation that it runs, "" for none.
func (u OnUpdate) Operation() Operation {
	switch u {
	case UpdateReload:
		return Reload
	case UpdateRestart:
		return Restart
	default:
		return ""
	}
}

// Runs is what the process on a host runs, and what was tried of the operation of an update there. The
// zero value runs the spec that was last registered.
type Runs struct {
	// Spec is the hash of the spec that it was started with, "" for that which was last registered, and
	// SpecUnknown.
	Spec string `json:"spec,omitempty"`
	// PID is that of the process that runs Spec, 0 if it is not known. After TryUnseen it is the pid from
	// before the try, after TryFailed and TryUnsure the one that was seen then.
	PID int64 `json:"pid,omitempty"`
	// Tried is what became of the operation, for the declaration of state if it says nothing else.
	Tried Tried `json:"tried,omitempty"`
	// Task is that of a try whose end was not seen, for whatever declaration, if it is known. It is asked for
	// before anything is done to the host.
	Task Task `json:"task,omitzero"`
}

// SpecUnknown is a spec of which nothing is known.
const SpecUnknown = "?"

// Tried is what became of an operation, "" if it was not tried. What runs is known after TryWorked alone.
type Tried string

// What becomes of an operation that has not come out well.
const (
	// TryDue was not made, on a host that the last apply has registered as declared.
	TryDue Tried = "due"
	// TryEarlier was made for another declaration. It may have taken the process down, which is started then.
	TryEarlier Tried = "earlier"
	// TryFailed is tried again. It may have taken the process down, which is started then.
	TryFailed Tried = "failed"
	// TryUnseen has an end that was not seen. Its task tells it, or another pid than before shows that it
	// worked. Without both it is tried again.
	TryUnseen Tried = "unseen"
	// TryUnsure may have been made by an apply that was cut off. That was said, so it is made now, unless
	// another process runs since, which an apply that was cut off may have started as well.
	TryUnsure Tried = "unsure"
	// TryWorked worked, and the process was not seen to go on running. It is not tried again. A process that
	// does not run is started.
	TryWorked Tried = "worked"
)

// Unconfirmed reports whether the operation may have run.
func (r Runs) Unconfirmed() bool { return r.Tried == TryUnseen || r.Tried == TryUnsure }

// Due reports whether the operation is due for a declaration of spec.
func (r Runs) Due(spec string) bool { return r.Tried != "" || r.Spec != "" && r.Spec != spec }

// Redeclared is r once something else than before is declared. What was tried for before says nothing of
// that, but may have taken the process down. A process that a try has harmed may get another pid by itself.
func (r Runs) Redeclared(before string) Runs {
	switch r.Tried {
	case "", TryDue:
		return Runs{Spec: cmp.Or(r.Spec, before), PID: r.PID, Task: r.Task}
	case TryUnsure:
		return Runs{Spec: SpecUnknown}
	default:
		return Runs{Spec: SpecUnknown, Tried: TryEarlier, Task: r.Task}
	}
}

// Seen is r once something else was done on the host, and its agent has told a pid, 0 if it told none. Another
// process may run something else.
func (r Runs) Seen(pid int64) Runs {
	if r.Tried == TryUnseen {
		return r
	}
	if r.Spec != "" && (pid == 0 || pid != r.PID) {
		r.Spec = SpecUnknown
	}
	r.PID = pid
	return r
}

// next is what the operation of an update does on a host whose agent has answered.
type next int

const (
	// passBy: it does not run, and is left so.
	passBy next = iota
	operate
	// startAgain: it does not run, and a try may have taken it down.
	startAgain
	// ranAlready: what runs is what is declared, or an earlier try worked.
	ranAlready
	// pidUntold: its agent does not say with which pid it runs, which would tell whether a try worked.
	pidUntold
	// mayHaveRun: an apply that was cut off may have run it, and the platform does not tell.
	mayHaveRun
)

// next decides it.
func (r Runs) next(o Operate, h Host, want Desired, live Status) next {
	if live.State != Running {
		return r.nextDown()
	}
	another := r.PID > 0 && live.PID > 0 && live.PID != r.PID
	switch {
	case r.Tried == TryWorked, r.Tried == TryUnseen && another:
		return ranAlready
	case r.Tried == TryUnseen && r.PID > 0 && live.PID <= 0:
		return pidUntold
	}
	if trace, asked := o.Traces[h]; asked && r.Tried != TryUnseen {
		return trace.next(r, o, want, live)
	}
	return operate
}

// nextDown decides it for a process that does not run.
func (r Runs) nextDown() next {
	if r.Tried == "" || r.Tried == TryDue || r.Tried == TryUnsure {
		return passBy
	}
	return startAgain
}

// Trace is what may show that an apply which was cut off has already run the operation of an update
// on a host. State is from before such an apply. The agent is asked in the host's wave.
type Trace struct {
	// RegisterTime is what the agent said after the last apply that is in state, 0 if that is not known.
	RegisterTime int64
	// Lost: nothing is known of the last apply, because the provider was killed in one.
	Lost bool
	// Registered: the last apply in state registered the host as it is declared now.
	Registered bool
	// Row is the platform's cached row.
	Row Status
}

// next decides by the process as the last apply in state has seen it. Times are compared only if one agent gave both.
func (t Trace) next(r Runs, o Operate, want Desired, live Status) next {
	var (
		same    = r.PID > 0 && live.PID == r.PID
		ours    = t.RegisterTime != 0 && live.RegisterTime == t.RegisterTime // the registration is that of the last apply in state
		runsOn  = same || ours && r.PID == 0
		restart = o.Operation == Restart
	)
	switch {
	case restart && r.Spec == want.Spec && runsOn, restart && t.Registered && ours && !same && live.startedSince():
		return ranAlready
	case r.Spec == want.Spec, restart && same:
		return operate
	}
	return t.fromRow(r, o, want, live)
}

// fromRow decides by the agent's current answer and by the cached status. A process that was started after its
// host was registered as declared runs that declaration. The reverse does not hold: a start may renew the
// time of the registration. A process that a try has harmed may get another pid by itself.
func (t Trace) fromRow(r Runs, o Operate, want Desired, live Status) next {
	row, rowIsCurrent, harmed := t.Row, t.Row.RegisterTime == live.RegisterTime, r.Tried == TryEarlier
	if want.mayBeOfBefore(row, o.Before.Earlier) && (!harmed || !rowIsCurrent) {
		row, rowIsCurrent = Status{}, false
	}
	var (
		declared = want.Made(row) // the host is registered as declared today
		another  = registeredSince(t.RegisterTime, live.RegisterTime)
	)
	switch {
	case declared && another && rowIsCurrent && live.startedSince():
		return ranAlready
	case declared, another && !rowIsCurrent, t.lostSince(o.Before, live):
		return mayHaveRun
	case !harmed && o.Operation == Restart && want.FingerprintLabel != "" && row.PID != live.PID: // started since the row was written
		return mayHaveRun
	}
	return operate
}

// startedSince reports whether the process was started after its host was registered.
func (s Status) startedSince() bool { return s.StartTime > s.RegisterTime }

// mayBeOfBefore reports whether a row of d may be from before, as d is a declaration that comes back.
func (d Desired) mayBeOfBefore(row Status, earlier []string) bool {
	return slices.Contains(earlier, d.Fingerprint) && d.Made(row)
}

// lostSince reports whether nothing is known of the last apply, and the cached status does not show
// what it registered.
func (t Trace) lostSince(before Desired, live Status) bool {
	return t.Lost && (!before.Ours(t.Row) || t.Row.olderThan(live.RegisterTime))
}
