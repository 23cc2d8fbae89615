package ownership

// Known is what state and ledger know of a machine.
type Known struct {
	Claim Claim
	// At is the agent's registration time after this object's last call, 0 if it is unknown. Overtaken is the
	// time of another object's later registration in the cached status, 0 if there is none.
	At, Overtaken int64
}

// Compare classifies an agent's answer. at is its registration time, 0 if it gives none. idle reports that the
// agent does not host the process.
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

// Aged returns r, or its old form if the row is older than the agent's registration or from before this object
// was overtaken. at is the time of the row and live that of the agent, 0 if unknown. The clocks of platform and
// agent may differ, so if the ledger has a time, only a row with the agent's very time is current. But if that is
// the time of the ledger, a later row of another object may be of a registration after the agent's answer.
func (k Known) Aged(r Row, at, live int64) Row {
	if r&(Own|Others|Unlabelled) == 0 {
		return r
	}
	since := r == Others && live == k.At
	older := live != 0 && at != 0 && (at < live || k.At != 0 && at != live && !since)
	if older || r == Own && k.Overtaken != 0 && !k.regained(at) {
		return r << 1
	}
	return r
}

// regained reports whether a row that names this object, with that time, is later than the other object's
// registration. If registering again does not renew the time, the times are the same.
func (k Known) regained(at int64) bool {
	return at > k.Overtaken || k.At != 0 && at == k.At && k.Overtaken <= k.At
}

// OvertakenAfter returns Overtaken after a look at the cached status, which may be older than this object's own
// registration. at is the time of the row and live that of the agent, 0 if unknown. A missing row names no
// owner, and changes nothing.
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
