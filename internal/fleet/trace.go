package fleet

import "slices"

// Trace is what may show that an apply which was cut off has already run the operation of an
// update on a host. State is from before such an apply, and the agent is asked in the host's
// wave.
type Trace struct {
	// PID and RegisterTime are what the agent told after the last apply that is in state, 0
	// where that is not known.
	PID, RegisterTime int64
	// Lost: nothing is known of the last apply, because the provider was killed in one.
	Lost bool
	// File is the platform's cached row.
	File Status
}

// standing is how a host stands to the operation of an update.
type standing int

const (
	toOperate standing = iota
	operatedBefore
	notTold // the platform does not tell which of the two
)

// standing decides by what the agent answers now and by the file. A process that was started
// after its host was registered as declared runs that. The reverse does not hold: a start may
// renew the time of the registration. Times are compared only where they are one agent's.
func (t Trace) standing(operation Operation, want, before Desired, live Status) standing {
	file := t.File
	if slices.Contains(before.Earlier, want.Fingerprint) {
		file = Status{} // a declaration that comes back: its row may be from the first time
	}
	var (
		restart  = operation == Restart
		declared = want.Made(file) // the host is registered as declared today
		another  = t.RegisterTime != 0 && live.RegisterTime != 0 && live.RegisterTime != t.RegisterTime
		isInFile = file.RegisterTime == live.RegisterTime
	)
	switch {
	case live.State != Running: // the operation passes it by
		return toOperate
	case restart && t.PID != 0 && live.PID == t.PID: // the process of before
		return toOperate
	case declared && another && isInFile && live.StartTime > live.RegisterTime:
		return operatedBefore
	case declared, another && !isInFile:
		return notTold
	case t.Lost && (!before.Ours(file) || file.olderThan(live.RegisterTime)):
		return notTold
	case restart && want.FingerprintLabel != "" && file.PID != live.PID: // started since the file was written
		return notTold
	}
	return toOperate
}
