package main

import (
	"cmp"
	"slices"
	"time"
)

// row is a step of a scenario, with all its runs.
type row struct {
	scenario, step string
	hosts          int
	provider       []sample
	floor          []usage
}

// sample is one run of one step with the provider.
type sample struct {
	usage
	traffic
}

func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func of[T cmp.Ordered](samples []sample, value func(sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = value(s)
	}
	return median(values)
}

func (r *row) wall() time.Duration {
	return of(r.provider, func(s sample) time.Duration { return s.wall })
}
func (r *row) busy() time.Duration {
	return of(r.provider, func(s sample) time.Duration { return s.busy })
}
func (r *row) floorTime() time.Duration {
	return floorOf(r, func(u usage) time.Duration { return u.wall })
}

func floorOf(r *row, value func(usage) time.Duration) time.Duration {
	values := make([]time.Duration, len(r.floor))
	for i, u := range r.floor {
		values[i] = value(u)
	}
	return median(values)
}

// cpuRatio returns a step's CPU time, including the CLI's, as a multiple of the floor's. Other load affects
// it less than the wall time.
func (r *row) cpuRatio() float64 {
	took := of(r.provider, func(s sample) time.Duration { return s.cpu })
	return float64(took) / float64(floorOf(r, func(u usage) time.Duration { return u.cpu }))
}

// statePerHost returns the largest of all runs, in bytes.
func (r *row) statePerHost() float64 {
	return float64(worst(r.provider, func(s sample) int64 { return s.state })) / float64(r.hosts)
}

// own returns the wall time without the simulator's.
func (r *row) own() time.Duration {
	return of(r.provider, func(s sample) time.Duration { return s.wall - s.busy })
}

// peak, calls and statusCalls return the largest values of all runs.
func (r *row) peak() int64 { return worst(r.provider, func(s sample) int64 { return s.peak }) }
func (r *row) calls() int  { return worst(r.provider, func(s sample) int { return s.calls }) }
func (r *row) statusCalls() int {
	return worst(r.provider, func(s sample) int { return s.statusCalls })
}

func worst[T cmp.Ordered](samples []sample, value func(sample) T) T {
	worst := value(samples[0])
	for _, s := range samples {
		worst = max(worst, value(s))
	}
	return worst
}

// ratio returns a step's wall time as a multiple of the floor's.
func (r *row) ratio() float64 { return float64(r.wall()) / float64(r.floorTime()) }

// ownRatio is ratio without the simulator's time.
func (r *row) ownRatio() float64 { return float64(r.own()) / float64(r.floorTime()) }
