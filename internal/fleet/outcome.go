package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// Verdict is the result of a call for one host.
type Verdict int

const (
	// Done means that the host is as requested, by this call or already before it.
	Done Verdict = iota
	// Failed means that the platform refused the request, or reported a failure, for this host.
	Failed
	// Pending means that the call ended, by its deadline or an interrupt, before the platform reported a
	// result for this host. The operation may still finish.
	Pending
	// Lost means that the request may have reached the platform, but no answer came back. The operation may
	// have run, so it must not be repeated blindly.
	Lost
	// NotTried means that nothing was sent for this host.
	NotTried
)

// Outcome is what a call did on one host.
type Outcome struct {
	Verdict Verdict
	// Code is the platform's code for this host, 0 if there is none, and Meaning explains it. Message is the
	// platform's own text, or the output of a command that failed.
	Code    int64
	Meaning string
	Message string
	// AlreadyDone is set if the platform said that there was nothing to do (828, 829, 850).
	AlreadyDone bool
	// Ran is set if the agent ran the operation, and so knows what a failed one left behind.
	Ran bool
	// Repeated is set if the call was made more than once for this host, so that AlreadyDone may be the
	// effect of an earlier one.
	Repeated bool
	// Unreachable is set if the agent was asked, before or after the call, and did not answer. The process
	// may still be there.
	Unreachable bool
	// Away is set if the host failed because its agent does not answer, or had not answered by the deadline.
	Away bool
	// Blocked is set if the host was not tried because an earlier process failed on it.
	Blocked bool
	// WasIdle is set if the agent said, before the process was registered, that it neither hosts nor runs it.
	WasIdle bool
	// Unread is set if a registration was in the way and its owner could not be read.
	Unread bool
	// Owner is the owner that the registration in the way names, "" if it names none.
	Owner string
	// RegisterTime is the time of the registration that was in the way, by the agent's clock, 0 if unknown.
	RegisterTime int64
	// Left is what is still to be done after a [Reconciliation] or a [Gate], "" if nothing is.
	Left      Code
	TaskID    string
	RequestID string
	// Underway is an operation that the next run asks for: its end was not seen, or something is left to do
	// after it. It is zero if there is none, or nothing by which to ask for it.
	Underway Task
	// Err is set if the whole call failed and the platform said nothing about this host in particular. All
	// hosts of the call share it.
	Err error
}

// OK reports whether the host is as requested.
func (o Outcome) OK() bool { return o.Verdict == Done }

// MayHaveRun reports whether the operation may have had an effect. It had none if nothing was sent, the agent
// does not answer, or the call failed as a whole. A call whose answer was lost is Lost, and may have had one.
func (o Outcome) MayHaveRun() bool {
	return o.Verdict != NotTried && (o.Verdict != Failed || o.Ran || !o.Away && o.Err == nil)
}

// Unanswered is the outcome of a host whose agent did not answer a question. s is what is known of the agent, and
// err is not nil if it could not be asked.
func Unanswered(s Status, err error, meaning string) Outcome {
	return Outcome{
		Verdict: Failed, Err: err, Code: s.Code, Message: s.Message, Meaning: meaning,
		Unreachable: err == nil && s.Silent(), Away: err == nil && s.Away,
	}
}

// Results are the outcomes of a call by host.
type Results map[Host]Outcome

// Same returns the same outcome for every host.
func Same(hosts []Host, o Outcome) Results {
	results := make(Results, len(hosts))
	for _, h := range hosts {
		results[h] = o
	}
	return results
}

// Merge adds the results of a later call. They replace earlier ones.
func (r Results) Merge(later Results) { maps.Copy(r, later) }

// Any reports whether any outcome is so.
func (r Results) Any(is func(Outcome) bool) bool {
	for _, o := range r {
		if is(o) {
			return true
		}
	}
	return false
}

// Where returns the outcomes for which keep is true.
func (r Results) Where(keep func(Host, Outcome) bool) Results {
	kept := make(Results)
	for h, o := range r {
		if keep(h, o) {
			kept[h] = o
		}
	}
	return kept
}

// Failures returns the outcomes that are not OK.
func (r Results) Failures() Results {
	return r.Where(func(_ Host, o Outcome) bool { return !o.OK() })
}

// Away returns the outcomes of hosts that failed because their agents do not answer. A refusal, a failed command,
// a failed call or an unknown outcome is not among them.
func (r Results) Away() Results {
	return r.Where(func(_ Host, o Outcome) bool { return o.onlyAway() })
}

func (o Outcome) onlyAway() bool {
	return o.Away && !o.OK() && o.Err == nil && o.Verdict != Pending && o.Verdict != Lost
}

// Succeeded returns those of hosts whose outcome is OK, in the same order.
func (r Results) Succeeded(hosts []Host) []Host {
	return Where(hosts, func(h Host) bool { o, known := r[h]; return known && o.OK() })
}

// TaskIDs returns the distinct task ids of the results, sorted.
func (r Results) TaskIDs() []string { return r.distinct(func(o Outcome) string { return o.TaskID }) }

// RequestIDs returns the distinct request ids of the results, sorted.
func (r Results) RequestIDs() []string {
	return r.distinct(func(o Outcome) string { return o.RequestID })
}

func (r Results) distinct(of func(Outcome) string) []string {
	seen := make(map[string]bool)
	for _, o := range r {
		if v := of(o); v != "" {
			seen[v] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Interrupted reports whether err is that of a canceled context rather than of a passed deadline.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// Ended reports whether err is that of a context, canceled or past its deadline.
func Ended(err error) bool { return Interrupted(err) || errors.Is(err, context.DeadlineExceeded) }

// Code is what is left to do on a host, "" for nothing. State keeps it, and the next apply decides by it
// alone. So the list is closed, and a released code never changes its meaning.
type Code string

// The codes of out_of_sync.
const (
	// NotRegistered: the object never registered it. NoLongerRegistered: the object did, and the registration
	// is gone.
	NotRegistered      Code = "not_registered"
	NoLongerRegistered Code = "unregistered"
	// Unconfirmed: the answer to registering was lost, so the host may be registered.
	Unconfirmed Code = "unconfirmed"
	// RegisteredByOther: another owner registered it. The registration is neither replaced nor removed unless
	// it is adopted.
	RegisteredByOther Code = "registered_by_other"
	OtherSpec         Code = "other_spec"
	OtherLabels       Code = "other_labels"
	NotHosted         Code = "not_hosted"
	NotRunning        Code = "not_running"
	// Unhealthy: it is as declared, but did not pass the gate of its rollout. A refresh cannot detect that,
	// because it shows only over time.
	Unhealthy Code = "unhealthy"
	// NotOperated: it is registered as declared, but the operation of on_update is still due.
	// OperationUnconfirmed: the operation may have run, but its end was not seen.
	NotOperated          Code = "not_operated"
	OperationUnconfirmed Code = "operation_unconfirmed"
	// Started is OtherLabels for a registration that a start replaced with less than is declared. It is used
	// in messages, never in state.
	Started Code = "registered_by_start"
	// Anew is OtherSpec for a registration without a fingerprint, made by another tool. It is used in
	// messages, never in state.
	Anew Code = "registered_anew"
	// HostedOtherwise is OtherSpec for a process that its agent, as its own file shows, hosts with another
	// spec. It is used in messages, never in state.
	HostedOtherwise Code = "hosted_otherwise"
)

// Codes returns the codes of out_of_sync.
func Codes() []Code {
	return []Code{
		NotRegistered, NoLongerRegistered, Unconfirmed, RegisteredByOther, OtherSpec, OtherLabels, NotHosted, NotRunning, Unhealthy,
		NotOperated, OperationUnconfirmed,
	}
}
