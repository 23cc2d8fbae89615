package gse

import (
	"context"
	"errors"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

// askPatience limits how long agents are asked before registering, and for their names. Otherwise an agent that
// does not answer would use up the time of the others.
const askPatience = 30 * time.Second

const meaningRegistered = "the process is registered already"

// askAgents asks the agents, since the cached status may be outdated or not name the host. It returns the hosts
// on which the process is free to be registered, the answers of their agents, and the outcomes of the other
// hosts. A host whose agent does not answer is left alone.
func (p *Process) askAgents(ctx context.Context, hosts []fleet.Host, judge func(fleet.Status) (taken bool, meaning string)) (
	free []fleet.Host, live map[fleet.Host]fleet.Status, results fleet.Results,
) {
	live, err := fleet.LiveStatusWithin(ctx, p, p.client.askPatience, hosts)
	if err != nil {
		return nil, nil, fleet.Same(hosts, procapi.Unfinished(err, false, fleet.Outcome{Meaning: meaningNotAsked(err)}))
	}
	results = make(fleet.Results, len(hosts))
	for _, h := range hosts {
		now := live[h]
		taken, meaning := judge(now)
		switch {
		case now.State == fleet.Unknown && ctx.Err() != nil:
			results[h] = fleet.Outcome{Verdict: fleet.NotTried, Err: ctx.Err(), Meaning: "not registered, because its agent had not said whether it already is"}
		case now.State == fleet.Unknown:
			results[h] = fleet.Outcome{
				Verdict: fleet.Failed, Code: now.Code, Message: now.Message, Away: now.Away,
				Meaning: "not registered, because its agent does not say whether it already is",
			}
		case taken:
			results[h] = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: meaning, RegisterTime: now.RegisterTime}
		default:
			free = append(free, h)
		}
	}
	return free, live, results
}

// noteIdle sets WasIdle for the hosts whose agents had reported that the process was neither hosted nor
// running.
func noteIdle(results fleet.Results, live map[fleet.Host]fleet.Status) {
	for h, o := range results {
		s := live[h]
		o.WasIdle = o.OK() && !o.AlreadyDone && s.State == fleet.Stopped && s.HostedKnown && !s.Hosted
		results[h] = o
	}
}

// meaningNotAsked returns the meaning of an outcome if the provider could not ask whether the process is
// registered already.
func meaningNotAsked(err error) string {
	var failure *bkapi.Error
	switch denied := bkapi.DenialOf(err); {
	case denied == bkapi.DeniedPermission:
		return "not registered, because the platform does not let the application ask first"
	case denied != bkapi.NotDenied:
		return "not registered, because the platform does not accept the credentials"
	case errors.As(err, &failure) && failure.Stranger:
		return "not registered, because the platform was not reached"
	}
	return "not registered, because the agents could not be asked whether it already is"
}
