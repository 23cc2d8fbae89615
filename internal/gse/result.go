package gse

import (
	"encoding/json"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// hostResult is one value of a result map. The English document of
// get_proc_operate_result spells two fields errcode and errmsg.
type hostResult struct {
	code    int64
	message string
	content json.RawMessage
}

func (r *hostResult) UnmarshalJSON(raw []byte) error {
	var wire struct {
		ErrorCode number          `json:"error_code"`
		ErrCode   number          `json:"errcode"`
		ErrorMsg  text            `json:"error_msg"`
		ErrMsg    text            `json:"errmsg"`
		Content   json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		*r = hostResult{code: -1, message: "unreadable result: " + excerpt(string(raw))}
		return nil //nolint:nilerr // one unreadable host must not fail the others
	}
	if !wire.ErrorCode.known {
		wire.ErrorCode = wire.ErrCode
	}
	if wire.ErrorMsg == "" {
		wire.ErrorMsg = wire.ErrMsg
	}
	*r = hostResult{code: wire.ErrorCode.int(), message: string(wire.ErrorMsg), content: wire.Content}
	if !wire.ErrorCode.known {
		*r = hostResult{code: -1, message: "a result without a code: " + excerpt(string(raw))}
	}
	return nil
}

// call is which request a per-host code answers: the same code is success for
// one and failure for another.
type call struct {
	name     string
	alright  []int64 // codes that mean the host was as wanted already
	existing []int64 // codes that mean somebody was there before
}

var (
	callRegister   = call{name: apiRegister, existing: []int64{CodeRegistered}}
	callUpdate     = call{name: apiUpdate}
	callUnregister = call{name: apiUnregister, alright: []int64{CodeNotRunning}}
)

// callOf is the call of an operation. spec decides about 836: a one-shot process
// has ended when its start is checked, which is what it is for.
func callOf(op fleet.Operation, spec *Spec) call {
	c := call{name: string(op)}
	switch op {
	case fleet.Start:
		c.alright = []int64{CodeAlreadyRunning}
		if spec != nil && spec.MonitorPolicy.AutoType == AutoOneShot {
			c.alright = append(c.alright, CodeCheckFailed)
		}
	case fleet.Stop, fleet.Kill, fleet.Unhost:
		c.alright = []int64{CodeNotRunning}
	case fleet.HostIt:
		c.alright = []int64{CodeRegistered}
	default: // nothing but 0 is success
	}
	return c
}

// outcome turns a final result into the verdict on its host. ok is false while
// the host is still in progress.
func (c call) outcome(r hostResult) (o fleet.Outcome, ok bool) {
	o = fleet.Outcome{Code: r.code, Message: r.message, Meaning: Meaning(r.code, r.message)}
	switch {
	case r.code == CodeInProgress:
		o.Verdict = fleet.Pending
		return o, false
	case r.code == CodeOK:
		o.Verdict = fleet.Done
	case slices.Contains(c.alright, r.code):
		o.Verdict, o.AlreadyDone = fleet.Done, r.code != CodeCheckFailed
	case slices.Contains(c.existing, r.code):
		o.Verdict, o.AlreadyDone = fleet.Failed, true
	default:
		o.Verdict = fleet.Failed
	}
	return o, true
}
