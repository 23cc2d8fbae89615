package fleet

import (
	"cmp"
	"slices"
)

// OnUpdate is what a changed spec does to the process on a host that was registered with it.
type OnUpdate string

// The values of OnUpdate, the gentlest first.
const (
	UpdateRegister OnUpdate = "register"
	UpdateReload   OnUpdate = "reload"
	UpdateRestart  OnUpdate = "restart"
)

// OnUpdates returns all values of OnUpdate.
func OnUpdates() []OnUpdate { return []OnUpdate{UpdateRegister, UpdateReload, UpdateRestart} }

// Operation returns the operation that u runs, "" for none.
func (u OnUpdate) Operation() Operation {
	if u == UpdateRegister {
		return ""
	}
	return Operation(u) // they have the same names
}

// Runs says which spec the process on a host runs, and what became of the operation of on_update there. The
// zero value means that it runs the spec that was last registered.
type Runs struct {
	// Spec is the hash of the spec that the process was started with. "" means the spec that was last
	// registered, SpecUnknown an unknown one.
	Spec string `json:"spec,omitempty"`
	// PID is the pid of the process that runs Spec, 0 if unknown. With TryUnseen it is the pid before the
	// try, with TryFailed and TryUnsure the pid that was last seen.
	PID int64 `json:"pid,omitempty"`
	// Sent is set if registering another declaration than Spec was sent and failed: a process that was started since
	// may run that.
	Sent bool `json:"sent,omitempty"`
	// Tried is what became of the operation for the declaration in state, unless its value says otherwise.
	Tried Tried `json:"tried,omitempty"`
	// Task is the task of a try whose end was not seen, for any declaration, if it is known. Its result is
	// asked for before anything is done to the host.
	Task Task `json:"task,omitzero"`
}

// SpecUnknown stands for an unknown spec.
const SpecUnknown = "?"

// Tried is what became of an operation, "" if it was not tried. Of the tries, only TryWorked shows what runs.
type Tried string

// The values of Tried.
const (
	// TryDue: the operation was not tried yet. The last apply registered the host as declared.
	TryDue Tried = "due"
	// TryEarlier: it was tried for another declaration. If that stopped the process, it is started.
	TryEarlier Tried = "earlier"
	// TryFailed: it failed and is tried again. If it stopped the process, it is started.
	TryFailed Tried = "failed"
	// TryUnseen: its end was not seen. The task shows how it ended, or a new pid that it worked. Otherwise it
	// is tried again.
	TryUnseen Tried = "unseen"
	// TryUnsure: an interrupted apply may have run it, and the user was told so. The next apply runs it,
	// unless the process was started again since, possibly by another interrupted apply.
	TryUnsure Tried = "unsure"
	// TryWorked: it worked, but the process was not seen to stay up. It is not tried again. If the process
	// does not run, it is started.
	TryWorked Tried = "worked"
)

// Unconfirmed reports whether the operation may have run.
func (r Runs) Unconfirmed() bool { return r.Tried == TryUnseen || r.Tried == TryUnsure }

// Due reports whether the operation is due if spec is declared.
func (r Runs) Due(spec string) bool { return r.Tried != "" || r.Spec != "" && r.Spec != spec }

// Redeclared returns r for a new declaration; before is the spec declared so far. Earlier tries do not count for
// it, but may have stopped the process. Their pid is dropped, as a process that they harmed may get a new one by
// itself.
func (r Runs) Redeclared(before string) Runs {
	switch r.Tried {
	case "", TryDue:
		return Runs{Spec: cmp.Or(r.Spec, before), PID: r.PID, Sent: r.Sent, Task: r.Task}
	case TryUnsure:
		return Runs{Spec: SpecUnknown}
	default:
		return Runs{Spec: SpecUnknown, Tried: TryEarlier, Task: r.Task}
	}
}

// Seen returns r after something else was done on the host. pid is what the agent then reported, 0 if
// nothing. A process with another pid may run another spec.
func (r Runs) Seen(pid int64) Runs {
	if r.Tried == TryUnseen {
		return r
	}
	if r.Spec != "" && (pid == 0 || pid != r.PID) {
		r.Spec = SpecUnknown
	}
	r.PID, r.Sent = pid, r.Spec != "" && r.Spec != SpecUnknown
	return r
}

// next is what on_update does on a host whose agent has answered.
type next int

const (
	// leaveStopped: the process does not run, and is left stopped.
	leaveStopped next = iota
	operate
	// startAgain: the process does not run, and a try may have stopped it.
	startAgain
	// ranAlready: the process runs what is declared, or an earlier try worked.
	ranAlready
	// pidUnknown: the agent does not report the pid, which would show whether a try worked.
	pidUnknown
	// mayHaveRun: an interrupted apply may have run the operation, and nothing shows whether it did.
	mayHaveRun
	// overtaken is mayHaveRun on a host that is no longer registered as it was when the try was sent.
	overtaken
)

// next returns what the operation does on a host whose agent reports live.
func (r Runs) next(o Operate, h Host, want Desired, live Status) next {
	if live.State != Running {
		return r.nextStopped()
	}
	trace, asked := o.Traces[h]
	switch {
	case r.Tried == TryWorked:
		return ranAlready
	case r.Tried == TryUnseen:
		return r.nextUnseen(trace, want, live)
	case asked:
		return trace.next(r, o, want, live)
	}
	return operate
}

// nextUnseen is next for a try whose end was not seen. Another pid shows that it worked, unless something else has
// started the process.
func (r Runs) nextUnseen(trace Trace, want Desired, live Status) next {
	switch {
	case r.PID <= 0, live.PID == r.PID:
		return operate
	case live.PID <= 0:
		return pidUnknown
	case trace.overtaken(want, live):
		return overtaken
	}
	return ranAlready
}

// nextStopped is next for a process that does not run.
func (r Runs) nextStopped() next {
	if r.Tried == "" || r.Tried == TryDue || r.Tried == TryUnsure {
		return leaveStopped
	}
	return startAgain
}

// Trace is what may show that an interrupted apply, which left nothing in state, has already run the
// operation on a host. The agent is asked in the host's wave.
type Trace struct {
	// RegisterTime is the agent's time after the last apply that is in state, 0 if unknown.
	RegisterTime int64
	// Started is when the process was started that ran after that apply, by the agent's clock. It is 0 if that is
	// unknown or was before RegisterTime.
	Started int64
	// Lost is set if nothing is known about the last apply, because the provider was killed in it.
	Lost bool
	// Registered is set if the last apply in state registered the host as it is declared now.
	Registered bool
	// Row is the host's row in the cached status. Alike is set if it shows the declared spec with other labels, registered
	// by this object.
	Row   Status
	Alike bool
}

// shows reports whether the row shows that this object has registered the declared spec.
func (t Trace) shows(want Desired) bool { return t.Alike || want.Made(t.Row) }

// next decides by comparing the process with what the last apply in state saw. It compares times only if the
// same agent reported both.
func (t Trace) next(r Runs, o Operate, want Desired, live Status) next {
	var (
		same    = t.same(r.PID, live)
		ours    = t.RegisterTime != 0 && live.RegisterTime == t.RegisterTime // the registration is still that of the last apply in state
		restart = o.Operation == Restart
	)
	switch {
	case restart && r.Spec == want.Spec && (same || !r.Sent && t.startedAs(want, live)), restart && t.Registered && ours && !same && live.startedSince():
		return ranAlready
	case restart && same, !restart && r.Spec == want.Spec:
		return operate
	}
	return t.fromRow(r, o, want, live)
}

// startedAs reports whether the process was started while its host was registered as declared, as far as the platform
// shows.
func (t Trace) startedAs(want Desired, live Status) bool {
	return live.PID > 0 && t.Row.PID == live.PID && t.shows(want) && !registeredSince(t.RegisterTime, live.RegisterTime)
}

// same reports whether the process is the one that ran after the last apply in state, by its pid, 0 if unknown. Without
// a pid, the time when it was started decides.
func (t Trace) same(pid int64, live Status) bool {
	if pid > 0 {
		return live.PID == pid
	}
	return live.StartTime != 0 && (live.StartTime == t.Started || live.StartTime < t.RegisterTime)
}

// fromRow decides by the agent's answer and the cached status. A process that was started after its host was
// registered as declared runs that declaration. The reverse does not hold, because a start may renew the time
// of the registration. The pid of a process that an earlier try harmed shows nothing, as it may change by
// itself.
func (t Trace) fromRow(r Runs, o Operate, want Desired, live Status) next {
	var (
		row          = t.Row
		declared     = t.shows(want) // the host is registered as declared now
		rowIsCurrent = row.RegisterTime == live.RegisterTime
		harmed       = r.Tried == TryEarlier
		another      = registeredSince(t.RegisterTime, live.RegisterTime)
	)
	carried, _ := want.carried(row)
	if declared && slices.Contains(o.Before.Earlier, carried) && (!harmed || !rowIsCurrent) { // it may be of then
		row, declared, rowIsCurrent = Status{}, false, false
	}
	switch {
	case declared && another && rowIsCurrent && live.startedSince():
		return ranAlready
	case declared, another && !rowIsCurrent, t.lostSince(o.Before, live):
		return mayHaveRun
	case !harmed && o.Operation == Restart && want.FingerprintLabel != "" && row.PID != live.PID:
		// It was started since the row was written. The time of the registration does not show by whom: an update may
		// have kept it.
		return mayHaveRun
	}
	return operate
}

// overtaken reports whether a host that was registered as declared no longer is. The agent does not report the time
// of that registration, and the cached status has none, or shows that the agent's present one is another.
func (t Trace) overtaken(want Desired, live Status) bool {
	known := live.RegisterTime != 0
	if known && live.RegisterTime == t.RegisterTime {
		return false
	}
	current := known && t.Row.RegisterTime == live.RegisterTime
	return t.Row.State == Unregistered || current && t.Row.ShowsLabels() && want.FingerprintLabel != "" && !want.carries(t.Row)
}

// startedSince reports whether the process was started after it was registered.
func (s Status) startedSince() bool { return s.StartTime > s.RegisterTime }

// lostSince reports whether nothing is known about the last apply, and the cached status does not show the
// registration of before as the current one.
func (t Trace) lostSince(before Desired, live Status) bool {
	return t.Lost && (!before.Ours(t.Row) || t.Row.olderThan(live.RegisterTime))
}
