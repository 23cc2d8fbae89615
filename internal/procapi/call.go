package procapi

import (
	"errors"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Call says how to read the per-host codes of a request, because a code that is success for one request is a
// failure for another.
type Call struct {
	Name          string
	SuccessCodes  []int64 // codes other than 0 with which the host is in the requested state
	ConflictCodes []int64 // the process was already registered
	NotRepeatable bool    // running it twice has another effect than running it once
	MustTrack     bool    // if it may have had an effect, state must record that
}

// CallOf returns the call of an operation. oneShot matters for 836: a one-shot process is expected to have
// ended by the time that its start is checked.
func CallOf(op fleet.Operation, oneShot bool) Call {
	c := Call{Name: string(op), NotRepeatable: !Repeatable(op), MustTrack: op == fleet.Supervise}
	switch op {
	case fleet.Start:
		c.SuccessCodes = []int64{CodeAlreadyRunning}
		if oneShot {
			c.SuccessCodes = append(c.SuccessCodes, CodeCheckFailed)
		}
	case fleet.Stop, fleet.Kill, fleet.Unsupervise:
		c.SuccessCodes = []int64{CodeNotRunning}
	case fleet.Supervise:
		c.SuccessCodes = []int64{CodeRegistered}
	default: // only 0 is success
	}
	return c
}

// Outcome returns the outcome of a host's result. final is false while the host is in progress (115).
func (c Call) Outcome(r HostResult) (o fleet.Outcome, final bool) {
	o = fleet.Outcome{Code: r.Code, Message: r.Message, Meaning: Meaning(r.Code, r.Message)}
	switch {
	case r.Code == CodeInProgress:
		o.Verdict = fleet.Pending
		return o, false
	case r.Code == CodeOK:
		o.Verdict = fleet.Done
	case slices.Contains(c.SuccessCodes, r.Code):
		o.Verdict, o.AlreadyDone = fleet.Done, r.Code != CodeCheckFailed
	case slices.Contains(c.ConflictCodes, r.Code):
		o.Verdict, o.AlreadyDone = fleet.Failed, true
	case r.unreadable && (c.NotRepeatable || c.MustTrack):
		// The platform did not report a failure, so the operation must not be repeated automatically, and its
		// possible effect must not be forgotten.
		o = fleet.Outcome{Verdict: fleet.Lost, Message: r.Message, Meaning: "the platform's result could not be read"}
	default:
		o.Verdict, o.Ran = fleet.Failed, r.Code == CodeCheckFailed || r.Code == CodeCommandFailed
		o.Away = r.Code == CodeAgentAbnormal
	}
	return o, true
}

// Unfinished returns the outcome of a host for which a call ended with err before there was a verdict. sent
// says whether a request may have reached the platform, last is the host's last outcome.
func Unfinished(err error, sent bool, last fleet.Outcome) fleet.Outcome {
	last.Verdict, last.Err = fleet.Failed, err
	switch {
	case bkapi.IsOutcomeUnknown(err), bkapi.HasCode(err, CodeTaskQueued):
		last.Verdict = fleet.Lost
	case fleet.Ended(err) && sent:
		last.Verdict = fleet.Pending
	case fleet.Ended(err):
		last.Verdict = fleet.NotTried
	}
	return last
}

// Unconfirmed marks failed registrations that may have had an effect as Lost. A registration may be repeated,
// but must not be forgotten, or state would lack it. accepted says that the platform accepted an earlier
// request for the hosts without a verdict.
func Unconfirmed(results fleet.Results, accepted bool) fleet.Results {
	for h, o := range results {
		if o.Verdict == fleet.Failed && o.Err != nil && (accepted || bkapi.MayHaveActed(o.Err) || errors.Is(o.Err, errNoTask)) {
			o.Verdict = fleet.Lost
			results[h] = o
		}
	}
	return results
}

// InState corrects the results of registrations on hosts that remain in state whatever the result. If the agent
// of such a host became unreachable meanwhile, the host is unreachable like any other, and its result is not
// Lost.
func InState(results fleet.Results) fleet.Results {
	for h, o := range results {
		if o.Verdict == fleet.Lost && o.Code == CodeAgentAbnormal {
			o.Verdict, o.Away, o.Meaning = fleet.Failed, true, Meaning(o.Code, o.Message)
			results[h] = o
		}
	}
	return results
}

// AfterRemoval corrects the results of registrations whose predecessors have just been removed. A host that was
// not tried is no longer as it was, because it has no registration now. So it counts as failed.
func AfterRemoval(results fleet.Results) fleet.Results {
	for h, o := range results {
		if o.Verdict == fleet.NotTried {
			o.Verdict, o.Meaning = fleet.Failed, "its registration was removed, and it was not registered again"
			results[h] = o
		}
	}
	return results
}

// WasSent reports whether the server may have received the request that failed with err.
func WasSent(err error) bool {
	var failure *bkapi.Error
	return errors.As(err, &failure) && failure.Sent
}
