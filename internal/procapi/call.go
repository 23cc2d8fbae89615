package procapi

import (
	"errors"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// Call is which request a per-host code answers: the same code is success for
// one and failure for another.
type Call struct {
	Name          string
	SuccessCodes  []int64 // the host was as wanted already
	ConflictCodes []int64 // somebody was there before
	RunOnce       bool    // to repeat it is not as good as to run it once
	MustTrack     bool    // what it may have done must not be forgotten
}

// CallOf is the call of an operation. oneShot decides about 836: a one-shot process should have
// ended when its start or restart is checked.
func CallOf(op fleet.Operation, oneShot bool) Call {
	c := Call{Name: string(op), RunOnce: !Repeatable(op), MustTrack: op == fleet.Supervise}
	switch op {
	case fleet.Start:
		c.SuccessCodes = []int64{CodeAlreadyRunning}
		if oneShot {
			c.SuccessCodes = append(c.SuccessCodes, CodeCheckFailed)
		}
	case fleet.Restart:
		if oneShot {
			c.SuccessCodes = []int64{CodeCheckFailed}
		}
	case fleet.Stop, fleet.Kill, fleet.Unsupervise:
		c.SuccessCodes = []int64{CodeNotRunning}
	case fleet.Supervise:
		c.SuccessCodes = []int64{CodeRegistered}
	default: // nothing but 0 is success
	}
	return c
}

// Outcome turns a result into the verdict on its host. final is false while the
// host is still in progress.
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
	case r.unreadable && (c.RunOnce || c.MustTrack):
		// The platform did not say that it failed. So it must not be run again unasked, and its
		// effect not be forgotten.
		o = fleet.Outcome{Verdict: fleet.Lost, Message: r.Message, Meaning: "the platform's result could not be read"}
	default:
		o.Verdict, o.Ran = fleet.Failed, r.Code == CodeCheckFailed || r.Code == CodeCommandFailed
		o.Away = r.Code == CodeAgentAbnormal
	}
	return o, true
}

// Unfinished is the outcome of hosts for which a call ended without a verdict.
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

// Unconfirmed marks registrations whose effect is not known. They may be repeated, but not be
// forgotten, or a registration would be in no state. accepted says that the platform took an
// earlier request for the hosts that have no verdict.
func Unconfirmed(results fleet.Results, accepted bool) fleet.Results {
	for h, o := range results {
		if o.Verdict == fleet.Failed && o.Err != nil && (accepted || bkapi.MayHaveActed(o.Err) || errors.Is(o.Err, errNoTask)) {
			o.Verdict = fleet.Lost
			results[h] = o
		}
	}
	return results
}

// WasSent reports whether the server may have seen the request that failed so.
func WasSent(err error) bool {
	var failure *bkapi.Error
	return errors.As(err, &failure) && failure.Sent
}
