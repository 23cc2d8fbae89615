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
	Away

	// Canary are hosts of a first wave of their own.
	Canary map[Host]bool
	// Waves are the sizes of the waves of the other hosts.
	Waves Waves
	// Silent are hosts whose agents did not answer when they were last asked. They go right after
	// the first wave. There they count while most hosts are still to come, and the first wave shows
	// whether the change is good.
	Silent map[HostID]bool
	// Pause is how long to wait between two waves.
	Pause time.Duration
	// WaveTimeout bounds what is done to each wave, 0 means no bound: a host without a
	// verdict by then is Pending, and counts for MaxFailed. The gate comes after it, and has a
	// bound of its own.
	WaveTimeout time.Duration
	// Healthy, if non-nil, is the gate that the hosts of a wave pass before it counts as
	// settled.
	Healthy *Gate
	// MaxFailed is how many hosts may fail in all before no further wave starts.
	MaxFailed Tolerance
	// Watch, if non-nil, is told how far the rollout has come: at the start of
	// every wave, and whenever a count changes. It is never called twice at once,
	// and not after Run has returned; the hosts wait while it runs.
	Watch func(Progress)
	// Clock is the clock of pauses and gates. Nil is the real one.
	Clock poll.Clock
}

// Away is what a rollout allows of hosts whose agents do not answer.
type Away struct {
	// MaxUnreachable is how many of them are not counted as failed.
	MaxUnreachable int
	// Unreached is how many of them are known from before, and are not among the hosts of the rollout.
	Unreached int
}

// InWaves reports whether hosts may go in more than one wave.
func (r Rollout) InWaves() bool { return len(r.Waves) > 0 || len(r.Canary) > 0 }

// Wave describes the wave that is about to start.
type Wave struct {
	Number int
	Hosts  []Host
	// observe takes verdicts of the wave before it is over.
	observe Observer
	// timed: the wave ends at a time of its own, and not when the time for everything is up.
	timed bool
}

// Run calls act for one wave of hosts after the other. A wave starts only when every host of the
// previous one has settled and the pause is over. No more than MaxFailed hosts may have failed, and
// ctx must go on. Hosts of waves that did not start come back NotTried, with the reason as their
// Meaning.
func (r Rollout) Run(ctx context.Context, hosts []Host, act func(context.Context, Wave) Results) Results {
	r.Healthy = nil
	return r.gated(ctx, nil, hosts, act, nil)
}

// gated is Run with the gate behind each wave, for the hosts that came out well and are
// meant to run the process.
func (r Rollout) gated(ctx context.Context, p Process, hosts []Host, act func(context.Context, Wave) Results, meant func(Host) bool) Results {
	results := make(Results, len(hosts))
	if len(hosts) == 0 {
		return results
	}
	waves := r.cut(hosts)
	tally := newTally(r.Watch, len(hosts), len(waves))
	observe := Observer(tally.count)
	if r.Healthy != nil {
		// What worked is not done before it has passed the gate.
		observe = func(results Results) { tally.count(results.Failures()) }
	}
	for i, wave := range waves {
		if reason, err := r.hold(ctx, i, results, len(hosts)); reason != "" {
			for _, rest := range waves[i:] {
				results.Merge(Same(rest, Outcome{Verdict: NotTried, Meaning: reason, Err: err}))
			}
			break
		}
		tally.begin(i + 1)
		settled := r.bounded(ctx, act, Wave{Number: i + 1, Hosts: wave, observe: observe})
		if r.Healthy != nil {
			watched := Where(settled.Succeeded(wave), meant)
			tally.count(settled.without(watched))
			tally.watching(len(watched))
			settled.Merge(r.Healthy.pass(ctx, p, r.clock(), watched, settled, tally.left))
			tally.watching(0)
		}
		tally.count(settled)
		results.Merge(settled)
	}
	return results
}

func (r Rollout) clock() poll.Clock {
	if r.Clock == nil {
		return poll.Wall{}
	}
	return r.Clock
}

// Reasons why a wave did not start.
const (
	StoppedByFailures  = "not tried: too many hosts had failed before its wave"
	StoppedByInterrupt = "not tried: interrupted before its wave"
	StoppedByDeadline  = "not tried: the time was up before its wave"
)

// Sizes are how many of these hosts each wave has.
func (r Rollout) Sizes(hosts []Host) []int {
	var sizes []int
	for _, wave := range r.cut(hosts) {
		sizes = append(sizes, len(wave))
	}
	return sizes
}

// cut cuts hosts into waves, the canary first.
func (r Rollout) cut(hosts []Host) [][]Host {
	var waves [][]Host
	rest := Where(hosts, func(h Host) bool { return !r.Canary[h] })
	sizes := r.Waves.Sizes(len(rest), len(hosts))
	if canary := In(hosts, r.Canary); len(canary) > 0 {
		waves = append(waves, canary)
		rest = r.silentBehind(0, rest)
	} else if len(sizes) > 1 {
		rest = r.silentBehind(sizes[0], rest)
	}
	for _, size := range sizes {
		waves = append(waves, rest[:size:size])
		rest = rest[size:]
	}
	return waves
}

// silentBehind puts the silent hosts behind the first of those that are not.
func (r Rollout) silentBehind(first int, hosts []Host) []Host {
	silent := Where(hosts, func(h Host) bool { return r.Silent[h.WithoutSupplier()] })
	others := Where(hosts, func(h Host) bool { return !r.Silent[h.WithoutSupplier()] })
	first = min(first, len(others))
	return slices.Concat(others[:first], silent, others[first:])
}

// bounded acts on a wave for as long as a wave may take, and leaves time for the gate.
func (r Rollout) bounded(ctx context.Context, act func(context.Context, Wave) Results, wave Wave) Results {
	if r.Healthy != nil {
		var cancel context.CancelFunc
		ctx, cancel = Share(ctx, Besides, r.Healthy.StableFor+Quick)
		defer cancel()
	}
	if r.WaveTimeout > 0 {
		deadline, limited := ctx.Deadline()
		wave.timed = !limited || time.Until(deadline) > r.WaveTimeout
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.WaveTimeout)
		defer cancel()
	}
	return act(ctx, wave)
}

func (r Rollout) hold(ctx context.Context, started int, results Results, all int) (string, error) {
	// The end of ctx comes first: it fails the wave under way, and is the reason.
	if err := poll.Pause(ctx, 0); err != nil {
		return stopReason(err), err
	}
	if started == 0 {
		return "", nil
	}
	if r.Failed(results) > r.MaxFailed.Of(all) {
		return StoppedByFailures, nil
	}
	if err := r.clock().Pause(ctx, r.Pause); err != nil {
		return stopReason(err), err
	}
	return "", nil
}

// Failed is how many hosts have failed. Hosts whose agents do not answer are among them if there
// are more of these than allowed, earlier ones included.
func (r Rollout) Failed(results Results) int {
	failed, away := len(results.Failures()), len(results.Away())
	if r.Unreached+away > r.MaxUnreachable {
		return failed + r.Unreached
	}
	return failed - away
}

func stopReason(err error) string {
	if Interrupted(err) {
		return StoppedByInterrupt
	}
	return StoppedByDeadline
}
