package fleet

import (
	"context"
	"time"
)

// foundIdle returns the hosts on which, as the platform says, there was nothing to stop or kill.
func foundIdle(results Results, hosts []Host) []Host {
	return Where(hosts, func(h Host) bool { return results[h].OK() && results[h].AlreadyDone })
}

// askIdle asks the agents of hosts that foundIdle returned. It returns their answers, and the outcomes of
// hosts on which the process is not known to be stopped.
func askIdle(ctx context.Context, p Process, found Results, hosts []Host, later time.Duration) (map[Host]Status, Results) {
	if len(hosts) == 0 {
		return nil, nil
	}
	status, err := askedBefore(ctx, p, hosts, later)
	if err != nil {
		return nil, Same(hosts, Outcome{Verdict: Failed, Err: err, Meaning: "the platform says that it does not run, but its agent could not be asked whether it runs or is still hosted"})
	}
	results := make(Results)
	for _, h := range hosts {
		switch s := status[h]; s.State {
		case Unknown:
			results[h] = Unanswered(s, nil, "the platform says that it does not run, but whether it runs or is still hosted is not known")
		case Running:
			o := found[h]
			o.Verdict, o.AlreadyDone, o.Meaning = Failed, false, "the platform says that it does not run, but its agent then reports that it runs"
			results[h] = o
		default: // stopped
		}
	}
	return status, results
}

// unhostIdle ends the hosting on hosts whose process was not running. A stop that finds nothing to stop
// leaves hosting on (observed in a client's logs), and the agent would start the process again.
func unhostIdle(ctx context.Context, p Process, found Results, hosts []Host) Results {
	status, results := askIdle(ctx, p, found, hosts, Quick)
	// If the answer does not mention hosting, unhosting does no harm.
	hosted := Where(hosts, func(h Host) bool {
		_, amiss := results[h]
		return !amiss && (status[h].Hosted || !status[h].HostedKnown)
	})
	if len(hosted) > 0 {
		results.Merge(unhost(ctx, p, hosted, status))
	}
	return results
}

// unhost ends the hosting on hosts. If an agent reported hosting and the platform finds none to end, the
// agent is asked again.
func unhost(ctx context.Context, p Process, hosts []Host, before map[Host]Status) Results {
	results := operateBefore(ctx, p, Unsupervise, hosts, nil, Quick)
	doubted := Where(hosts, func(h Host) bool { return results[h].OK() && results[h].AlreadyDone && before[h].Hosted })
	if len(doubted) == 0 {
		return results
	}
	after, _ := LiveStatusWithin(ctx, p, Aftermath, doubted) // an agent that does not answer has not confirmed it
	for _, h := range doubted {
		results[h] = results[h].unhosted(after[h])
	}
	return results
}

// unhosted returns the outcome of unhosting after the agent was asked. If the agent does not say, it is
// enough that the platform ended the hosting, but not that it found none to end.
func (o Outcome) unhosted(s Status) Outcome {
	known := s.State != Unknown && s.HostedKnown
	switch {
	case !o.OK(), known && !s.Hosted:
		return o
	case known:
		o.Meaning = "its agent reports afterwards that it is still hosted"
	case o.AlreadyDone:
		o.Meaning = "the platform says that it does not run, but whether it is still hosted is not known"
	default:
		return o
	}
	o.Verdict, o.AlreadyDone = Failed, false
	return o
}
