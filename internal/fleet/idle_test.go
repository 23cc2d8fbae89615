package fleet_test

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// restUnasked is a host that a stop is said to have found at rest, and that could not be
// asked.
var restUnasked = fleet.Outcome{Verdict: fleet.Failed, Err: errDown, Meaning: "said not to run, but whether it does, or is still hosted, could not be asked"}

// restUnknown is one whose agent does not say so.
func restUnknown(s fleet.Status) fleet.Outcome {
	return fleet.Outcome{Verdict: fleet.Failed, Code: s.Code, Message: s.Message, Unreachable: s.Silent(), Meaning: "said not to run, but whether it does, or is still hosted, is not known"}
}

// runsAfter is one whose agent says that the process runs, hostedAfter one that is still hosted.
func runsAfter(o fleet.Outcome) fleet.Outcome {
	o.Verdict, o.AlreadyDone, o.Meaning = fleet.Failed, false, "said not to run, and its agent says afterwards that it runs"
	return o
}

func hostedAfter(o fleet.Outcome) fleet.Outcome {
	o.Verdict, o.AlreadyDone, o.Meaning = fleet.Failed, false, "asked afterwards, it is hosted all the same"
	return o
}

// Of an unhosting that found nothing to end, the agent has the last word.
func TestRun_unhostsNothing(t *testing.T) {
	t.Parallel()
	idle, notSaid := live(fleet.Stopped, true, 5), hostedAfter(noop)
	notSaid.Meaning = "said not to run, and whether it is still hosted is not known"
	for name, test := range map[string]struct {
		after map[fleet.Host]fleet.Status
		err   error
		want  fleet.Outcome
	}{
		"unhosted":   {map[fleet.Host]fleet.Status{host(1): live(fleet.Stopped, false, 5)}, nil, noop},
		"hosted":     {map[fleet.Host]fleet.Status{host(1): idle}, nil, hostedAfter(noop)},
		"not-said":   {map[fleet.Host]fleet.Status{host(1): hostingUnknown(idle)}, nil, notSaid},
		"silent":     {map[fleet.Host]fleet.Status{host(1): {State: fleet.Unknown}}, nil, notSaid},
		"not-asked":  {nil, errDown, notSaid},
		"says-later": {map[fleet.Host]fleet.Status{host(1): {State: fleet.Unknown, Hosted: false, HostedKnown: true}}, nil, notSaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := process{operate: doneOps(byOp{fleet.Kill: {1: noop}, fleet.Unsupervise: {1: noop}})}
			asked := false
			p.live = func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
				if asked {
					return test.after, test.err
				}
				asked = true
				return map[fleet.Host]fleet.Status{host(1): idle}, nil
			}
			results := fleet.Run(t.Context(), &p, fleet.Kill, hosts(1), nil, fleet.Rollout{})
			p.wantCalls(t, "kill 1", "live 1", "unhost 1", "live 1")
			wantResults(t, byHost{1: test.want}, results)
		})
	}
}
