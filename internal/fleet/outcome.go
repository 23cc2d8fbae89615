package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// Verdict is the result of one call for one host.
type Verdict int

const (
	// Done means that the host is as asked, whether the call made it so or it was so before.
	Done Verdict = iota
	// Failed means that the platform refused or reported a failure for this host.
	Failed
	// Pending means that the call ended, by its deadline or by an interrupt, before the
	// platform had a verdict for this host. The operation may still finish.
	Pending
	// Lost means that the request may have reached the platform and no answer came back.
	// Whether the operation ran is not known, so it must not be repeated blindly.
	Lost
	// NotTried means that nothing was sent for this host.
	NotTried
)

// Outcome is what happened to one host in one call.
type Outcome struct {
	Verdict Verdict
	// Code is the platform's per-host code, 0 if there is none. Meaning says it in words. Message
	// is the platform's own text. For a failed command that is the command's output.
	Code    int64
	Meaning string
	Message string
	// AlreadyDone: the platform said that there was nothing to do (828, 829, 850).
	AlreadyDone bool
	// Ran: the agent ran the operation, and so knows what a failed one left behind.
	Ran bool
	// Repeated: the call was made more than once for this host, so "already done" may be the effect
	// of an earlier one.
	Repeated bool
	// Unreachable: the agent did not answer when it was asked, before or after the call. The
	// process may be there.
	Unreachable bool
	// Away: nothing was done, because the agent does not answer. The platform said so of this host.
	Away bool
	// Blocked: not tried, because an earlier process on this host failed.
	Blocked bool
	// WasIdle: before it was registered its agent said that the process is neither hosted nor
	// running.
	WasIdle bool
	// Unread: the platform refused to register because of a registration whose owner could
	// not be read.
	Unread bool
	// Owner is whom somebody else's registration names as its owner, "" if nobody.
	Owner string
	// RegisterTime is the agent's, if it refused to register because of a registration and gave its
	// time.
	RegisterTime int64
	// Left is what is still not as desired after a [Reconciliation] or a [Gate]; empty where the
	// host is.
	Left      Code
	TaskID    string
	RequestID string
	// Underway is the operation whose end was not seen, or after which something is left to do. The
	// next run asks for it. It is zero if there is none, or nothing to ask by.
	Underway Task
	// Err is set if the whole call failed and the platform said nothing of this host in particular.
	// Hosts of one call share the same Err.
	Err error
}

// OK reports whether the host is as it was asked to be.
func (o Outcome) OK() bool { return o.Verdict == Done }

// MayHaveRun reports whether the operation may have had an effect. It had none if nothing was sent, the
// agent is away, or its call failed as a whole. A call whose answer was lost is Lost.
func (o Outcome) MayHaveRun() bool {
	return o.Verdict != NotTried && (o.Verdict != Failed || o.Ran || !o.Away && o.Err == nil)
}

// Untold is the outcome of a host whose agent was asked and did not answer the question. s is its
// answer, err says why it could not be asked.
func Untold(s Status, err error, meaning string) Outcome {
	return Outcome{
		Verdict: Failed, Err: err, Code: s.Code, Message: s.Message, Meaning: meaning,
		Unreachable: err == nil && s.Silent(), Away: err == nil && s.Away,
	}
}

// Results are the outcomes of one call by host.
type Results map[Host]Outcome

// Same gives every host the same outcome.
func Same(hosts []Host, o Outcome) Results {
	results := make(Results, len(hosts))
	for _, h := range hosts {
		results[h] = o
	}
	return results
}

// Merge adds the results of a later call, which win.
func (r Results) Merge(later Results) { maps.Copy(r, later) }

// Failures are the outcomes that are not OK.
func (r Results) Failures() Results {
	failures := make(Results)
	for h, o := range r {
		if !o.OK() {
			failures[h] = o
		}
	}
	return failures
}

// Away are the hosts whose agents do not answer. A refusal, a failed command, a failed call and an
// unknown outcome are different.
func (r Results) Away() []Host {
	var away []Host
	for h, o := range r {
		if o.Away && !o.OK() && o.Err == nil && o.Verdict != Pending && o.Verdict != Lost {
			away = append(away, h)
		}
	}
	return away
}

// without are the results of all other hosts.
func (r Results) without(hosts []Host) Results {
	others := maps.Clone(r)
	for _, h := range hosts {
		delete(others, h)
	}
	return others
}

// Succeeded are the hosts of the list whose outcome is OK, in the list's order.
func (r Results) Succeeded(hosts []Host) []Host {
	return slices.DeleteFunc(slices.Clone(hosts), func(h Host) bool {
		o, known := r[h]
		return !known || !o.OK()
	})
}

// TaskIDs are the tasks that the results name, sorted, each once.
func (r Results) TaskIDs() []string { return r.distinct(func(o Outcome) string { return o.TaskID }) }

// RequestIDs are the requests that the results name, sorted, each once.
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

// Interrupted reports whether err is the end of a context by the user's hand
// rather than by a deadline.
func Interrupted(err error) bool { return errors.Is(err, context.Canceled) }

// Ended reports whether err is the end of a context, by hand or by its deadline.
func Ended(err error) bool { return Interrupted(err) || errors.Is(err, context.DeadlineExceeded) }

// Code says what is left to do on a host, "" for nothing. State keeps it, and the next apply
// decides by it alone: the list is closed, and a code that was released keeps its meaning.
type Code string

// The codes of out_of_sync.
const (
	// NotRegistered was never registered by the object, NoLongerRegistered was and is no more.
	NotRegistered      Code = "not_registered"
	NoLongerRegistered Code = "unregistered"
	// Unconfirmed may be registered: the answer was lost.
	Unconfirmed Code = "unconfirmed"
	// RegisteredByOther is registered by another owner. It is not replaced or removed unless it is
	// adopted.
	RegisteredByOther Code = "registered_by_other"
	OtherSpec         Code = "other_spec"
	OtherLabels       Code = "other_labels"
	NotHosted         Code = "not_hosted"
	NotRunning        Code = "not_running"
	// Unhealthy is as declared, but did not pass the gate of its rollout. No inspection finds it,
	// because it takes a while to show.
	Unhealthy Code = "unhealthy"
	// NotOperated is registered as declared, and the operation of on_update is still due.
	// OperationUnconfirmed may have been operated: the end of that was not seen.
	NotOperated          Code = "not_operated"
	OperationUnconfirmed Code = "operation_unconfirmed"
	// Started is OtherLabels of a registration that a start has replaced with less than is
	// declared. It is for messages, and never in state.
	Started Code = "registered_by_start"
	// Anew is OtherSpec of a registration without a fingerprint, which another tool made. It is for
	// messages, and never in state.
	Anew Code = "registered_anew"
	// HostedOtherwise is OtherSpec of a process that its agent hosts with another spec, as its own
	// file shows. It is for messages, and never in state.
	HostedOtherwise Code = "hosted_otherwise"
)

// Codes are those of out_of_sync.
func Codes() []Code {
	return []Code{
		NotRegistered, NoLongerRegistered, Unconfirmed, RegisteredByOther, OtherSpec, OtherLabels, NotHosted, NotRunning, Unhealthy,
		NotOperated, OperationUnconfirmed,
	}
}
