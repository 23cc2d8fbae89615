package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Rollout says how a change spreads over hosts. The zero value changes all hosts at once.
type Rollout struct {
	Away

	// Canary holds hosts that form a first wave of their own.
	Canary map[Host]bool
	// Waves are the sizes of the waves of the other hosts.
	Waves Waves
	// Silent holds hosts whose agents did not answer when they were last asked. They go right after the first
	// wave: it still shows whether the change is good, and they fail while most hosts are yet to come.
	Silent map[HostID]bool
	// Pause is the time between two waves.
	Pause time.Duration
	// WaveTimeout limits what is done to each wave. 0 means no limit. A host without a result by then is
	// Pending, and counts for MaxFailed. The gate comes afterwards and has a limit of its own.
	WaveTimeout time.Duration
	// Healthy, if non-nil, is the gate that the hosts of a wave have to pass before the wave is settled.
	Healthy *Gate
	// MaxFailed is how many hosts may fail in all. If more fail, no further wave starts.
	MaxFailed Tolerance
	// Watch, if non-nil, is called with the progress at the start of each wave and whenever a count changes.
	// It is never called concurrently or after Run has returned. The hosts wait while it runs.
	Watch func(Progress)
	// Clock is used for pauses and gates. Nil means the real clock.
	Clock poll.Clock
}

// Away limits how many hosts with silent agents a rollout tolerates.
type Away struct {
	// MaxUnreachable is how many of them are not counted as failed.
	MaxUnreachable int
	// Unreached is how many of them were known before, and are not among the hosts of the rollout.
	Unreached int
}

// InWaves reports whether hosts may go in more than one wave.
func (r Rollout) InWaves() bool { return len(r.Waves) > 0 || len(r.Canary) > 0 }

// Wave is one wave of a rollout.
type Wave struct {
	Number int
	Hosts  []Host
	// observe is called with verdicts while the wave is under way.
	observe Observer
	// timed is set if the wave ends by WaveTimeout, before the time for the whole run is up.
	timed bool
}

// Run calls act for the waves of hosts, one after the other. The next wave starts after all hosts of the
// previous one have settled and the pause is over, if no more than MaxFailed hosts have failed and ctx has
// not ended. Hosts of waves that do not start are NotTried, with the reason as their Meaning.
func (r Rollout) Run(ctx context.Context, hosts []Host, act func(context.Context, Wave) Results) Results {
	r.Healthy = nil
	return r.gated(ctx, nil, hosts, act, nil)
}

// gated is Run with the gate after each wave, for hosts that are OK and for which meant is true.
func (r Rollout) gated(ctx context.Context, p Process, hosts []Host, act func(context.Context, Wave) Results, meant func(Host) bool) Results {
	results := make(Results, len(hosts))
	if len(hosts) == 0 {
		return results
	}
	waves := r.cut(hosts)
	tally := newTally(r.Watch, len(hosts), len(waves))
	observe := func(results Results) {
		if r.Healthy != nil { // a success counts only after the gate
			results = results.Failures()
		}
		tally.count(0, results)
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
			tally.count(0, settled.Where(func(h Host, o Outcome) bool { return !o.OK() || !meant(h) }))
			tally.watching(len(watched))
			settled.Merge(r.Healthy.pass(ctx, p, r.clock(), watched, settled, func(results Results) { tally.left(0, results) }))
			tally.watching(0)
		}
		tally.count(0, settled)
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

// The reasons why a wave did not start.
const (
	StoppedByFailures  = "not tried: too many hosts had failed before its wave"
	StoppedByInterrupt = "not tried: interrupted before its wave"
	StoppedByDeadline  = "not tried: the time was up before its wave"
)

// Sizes returns the number of hosts in each wave.
func (r Rollout) Sizes(hosts []Host) []int {
	var sizes []int
	for _, wave := range r.cut(hosts) {
		sizes = append(sizes, len(wave))
	}
	return sizes
}

// cut divides hosts into waves, the canary first.
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

// silentBehind places the silent hosts after the first of the others, of which first is the number.
func (r Rollout) silentBehind(first int, hosts []Host) []Host {
	silent := Where(hosts, func(h Host) bool { return r.Silent[h.WithoutSupplier()] })
	others := Where(hosts, func(h Host) bool { return !r.Silent[h.WithoutSupplier()] })
	first = min(first, len(others))
	return slices.Concat(others[:first], silent, others[first:])
}

// bounded calls act with the time limit of a wave, and leaves time for the gate.
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
	// Check ctx first: its end also makes hosts of the last wave fail, and is then the reason.
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

// Failed returns how many hosts have failed. Hosts whose agents do not answer count only if there are more of
// them than allowed, including those of Unreached.
func (r Rollout) Failed(results Results) int {
	failed, away := len(results.Failures()), len(results.Away())
	if r.Unreached+away > r.MaxUnreachable {
		return failed + r.Unreached
	}
	return failed - away
}

// NotBegun returns the outcomes of hosts to which nothing was sent, because err, that of a context, came first.
func NotBegun(hosts []Host, err error) Results {
	return Same(hosts, Outcome{Verdict: NotTried, Err: err, Meaning: stopReason(err)})
}

func stopReason(err error) string {
	if Interrupted(err) {
		return StoppedByInterrupt
	}
	return StoppedByDeadline
}
