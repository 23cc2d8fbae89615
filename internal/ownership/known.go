package ownership

// Known is what state and ledger know of a machine.
type Known struct {
	Claim Claim
	// At is the agent's time of the registration after this object's last call, 0 if it is not
	// known. Overtaken is the time of another object's later registration in the cached status.
	At, Overtaken int64
}

// Compare classifies the agent's time of the registration, 0 if the agent gives none. idle says
// that the agent does not host the process.
func (k Known) Compare(at int64, idle bool) Answer {
	switch {
	case at == 0 && idle:
		return Idle
	case at == 0 && k.At == 0:
		return Untimed
	case at == 0:
		return TimeLost
	case at == k.At:
		return SameTime
	case k.At == 0:
		return NewTime
	default:
		return OtherTime
	}
}

// Aged is a row, or its old form. at is the time of the row, and live that of the agent, each 0 if
// it is not known. The clocks of platform and agent may differ. So if the ledger has a time, only
// that very time is current.
func (k Known) Aged(r Row, at, live int64) Row {
	if r&(Own|Others|Unlabelled) == 0 {
		return r
	}
	older := live != 0 && at != 0 && (at < live || k.At != 0 && at != live)
	if older || r == Own && k.Overtaken != 0 && !k.regained(at) {
		return r << 1
	}
	return r
}

// regained reports whether an own row of that time is later than another object's registration. If
// a registration does not renew the time, both have the same.
func (k Known) regained(at int64) bool {
	return at > k.Overtaken || k.At != 0 && at == k.At && k.Overtaken <= k.At
}

// OvertakenAfter is Overtaken after a look at the cached status, which may be older than this
// object's own registration. at is the time of the row, and live that of the agent, each 0 if it is
// not known. A missing row has no owner and changes nothing.
func (k Known) OvertakenAfter(r Row, at, live int64) int64 {
	since := live != 0 && k.At != 0 && live != k.At
	switch {
	case r == Others && (since || at >= k.At):
		return max(k.Overtaken, at, 1) // some rows have no time
	case r == Own && k.Overtaken != 0 && k.regained(at):
		return 0
	}
	return k.Overtaken
}
