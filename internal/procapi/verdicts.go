package procapi

import "github.com/blueking/terraform-provider-bk/internal/fleet"

// Verdicts collects the outcomes of the hosts of one call, answer by answer. It keeps the first final verdict
// of a host, whatever later answers say.
type Verdicts struct {
	Results fleet.Results // of hosts with a final verdict
	Pending []fleet.Host  // hosts without one

	call   Call
	keys   Keys
	redact func(string) string
	last   fleet.Results // the last outcome of pending hosts
	// begun says that every host may already have been in progress before the first answer.
	begun bool
}

// meaningLostOnTheWay is used if the platform reports the agent's present state in place of the result of the
// operation.
const meaningLostOnTheWay = "its agent became unreachable while it ran"

// NewVerdicts returns Verdicts in which all hosts are pending.
func NewVerdicts(call Call, keys Keys, redact func(string) string, hosts []fleet.Host) *Verdicts {
	return &Verdicts{
		Results: make(fleet.Results, len(hosts)), Pending: hosts,
		call: call, keys: keys, redact: redact, last: make(fleet.Results),
	}
}

// Source identifies the request that an answer belongs to.
type Source struct {
	TaskID    string
	RequestID string
	// Repeated says that the call was made more than once, so an answer may reflect an earlier attempt.
	Repeated bool
}

// Take records one answer.
func (v *Verdicts) Take(answers ResultMap, from Source) {
	v.take(lookUp(answers, v.Pending, v.keys), from)
}

func (v *Verdicts) take(answers []hostAnswer, from Source) {
	var pending []fleet.Host
	for i, h := range v.Pending {
		if !answers[i].found {
			pending = append(pending, h)
			continue
		}
		outcome, final := v.call.Outcome(answers[i].HostResult)
		outcome.TaskID, outcome.RequestID, outcome.Repeated = from.TaskID, from.RequestID, from.Repeated
		outcome.Message = v.redact(outcome.Message)
		if _, begun := v.last[h]; (begun || v.begun) && (v.call.NotRepeatable || v.call.MustTrack) && outcome.Away {
			outcome.Verdict, outcome.Away, outcome.Meaning = fleet.Lost, false, meaningLostOnTheWay
		}
		if final {
			v.Results[h] = outcome
		} else {
			v.last[h] = outcome
			pending = append(pending, h)
		}
	}
	v.Pending = pending
}

// End returns all results after a call that ended with err. sent says whether any request for the hosts without
// a verdict may have reached the platform.
func (v *Verdicts) End(err error, sent bool) fleet.Results {
	for _, h := range v.Pending {
		v.Results[h] = Unfinished(err, sent, v.last[h])
	}
	return v.Results
}
