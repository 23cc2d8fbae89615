package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Rollout says how a change spreads over hosts. The zero value does all hosts
// at once.
type Rollout struct {
	// BatchSize is the number of hosts in a wave; 0 means all.
	BatchSize int
	// Pause is how long to wait between two waves.
	Pause time.Duration
	// MaxFailed is how many hosts may fail in all before no further wave starts.
	MaxFailed int
	// Watch, if non-nil, is told how far the rollout has come: at the start of
	// every wave, and whenever a count changes. It is never called twice at once,
	// and not after Run has returned; the hosts wait while it runs.
	Watch func(Progress)
}

// Wave describes the wave that is about to start.
type Wave struct {
	Number, Of int
	Hosts      []Host
	// observe takes verdicts of the wave before it is over.
	observe Observer
}

// Run calls act for one wave of hosts after the other. A wave starts only when
// every host of the one before has settled, the pause is over, no more than
// MaxFailed hosts have failed, and ctx goes on. Hosts of waves that did not
// start come back NotTried, with the reason as their message.
func (r Rollout) Run(ctx context.Context, hosts []Host, act func(context.Context, Wave) Results) Results {
	results := make(Results, len(hosts))
	if len(hosts) == 0 {
		return results
	}
	size := r.BatchSize
	if size <= 0 {
		size = len(hosts)
	}
	waves := slices.Collect(slices.Chunk(hosts, size))
	tally := newTally(r.Watch, len(hosts), len(waves))
	for i, wave := range waves {
		if reason, err := r.hold(ctx, i, results); reason != "" {
			for _, rest := range waves[i:] {
				results.Merge(Same(rest, Outcome{Verdict: NotTried, Meaning: reason, Err: err}))
			}
			break
		}
		tally.begin(i + 1)
		settled := act(ctx, Wave{Number: i + 1, Of: len(waves), Hosts: wave, observe: tally.count})
		tally.count(settled)
		results.Merge(settled)
	}
	return results
}

// Reasons why a wave did not start.
const (
	StoppedByFailures  = "not tried: too many hosts had failed before its wave"
	StoppedByInterrupt = "not tried: interrupted before its wave"
	StoppedByDeadline  = "not tried: the time was up before its wave"
)

func (r Rollout) hold(ctx context.Context, started int, results Results) (string, error) {
	// The end of ctx comes first: it fails the wave under way, and is the reason.
	if err := poll.Pause(ctx, 0); err != nil {
		return stopReason(err), err
	}
	if started == 0 {
		return "", nil
	}
	if len(results.Failures()) > r.MaxFailed {
		return StoppedByFailures, nil
	}
	if err := poll.Pause(ctx, r.Pause); err != nil {
		return stopReason(err), err
	}
	return "", nil
}

func stopReason(err error) string {
	if Interrupted(err) {
		return StoppedByInterrupt
	}
	return StoppedByDeadline
}
