package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// log records the waves that started, as numbers of hosts, and when.
type log struct {
	waves   [][]int
	numbers []int
	at      []time.Duration
}

// act returns a wave that fails the listed hosts, and then calls then if it is not nil.
func (l *log) act(started time.Time, failing map[int]bool, then func(wave int)) func(context.Context, fleet.Wave) fleet.Results {
	return func(_ context.Context, wave fleet.Wave) fleet.Results {
		results := make(fleet.Results)
		var numbers []int
		for _, h := range wave.Hosts {
			numbers = append(numbers, number(h))
			if failing[number(h)] {
				results[h] = fleet.Outcome{Verdict: fleet.Failed}
			} else {
				results[h] = fleet.Outcome{Verdict: fleet.Done}
			}
		}
		l.waves = append(l.waves, numbers)
		l.at = append(l.at, time.Since(started))
		l.numbers = append(l.numbers, wave.Number)
		if then != nil {
			then(wave.Number)
		}
		return results
	}
}

func waves(texts ...string) fleet.Waves {
	waves, err := fleet.ParseWaves(texts)
	if err != nil {
		panic(err)
	}
	return waves
}

func tolerance(text string) fleet.Tolerance {
	tolerance, err := fleet.ParseTolerance(text)
	if err != nil {
		panic(err)
	}
	return tolerance
}

// silentHosts returns the ids of hosts whose agents did not answer the last time.
func silentHosts(numbers ...int) map[fleet.HostID]bool {
	ids := make(map[fleet.HostID]bool)
	for _, h := range hosts(numbers...) {
		ids[h.WithoutSupplier()] = true
	}
	return ids
}

func set(numbers ...int) map[fleet.Host]bool {
	set := make(map[fleet.Host]bool)
	for _, h := range hosts(numbers...) {
		set[h] = true
	}
	return set
}

// A wave ends at its timeout. A host without a verdict by then has failed, and the next wave has its own time.
func TestRollout_Run_waveTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var ended []time.Duration
		rollout := fleet.Rollout{Waves: fleet.BatchesOf(1), WaveTimeout: time.Minute, MaxFailed: fleet.UpTo(1)}
		results := rollout.Run(t.Context(), hosts(1, 2, 3), func(ctx context.Context, wave fleet.Wave) fleet.Results {
			outcome := fleet.Outcome{Verdict: fleet.Done}
			if number(wave.Hosts[0]) < 3 {
				<-ctx.Done()
				outcome = fleet.Outcome{Verdict: fleet.Pending, Err: ctx.Err()}
			}
			ended = append(ended, time.Since(start))
			return fleet.Same(wave.Hosts, outcome)
		})
		fleettest.Same(t, "waves ended", []time.Duration{time.Minute, 2 * time.Minute}, ended)
		o := results[hosts(3)[0]]
		fleettest.Check(t, o.Verdict == fleet.NotTried && o.Meaning == fleet.StoppedByFailures, "the third host is %+v", o)
	})
}

func TestRollout_Run_waves(t *testing.T) {
	t.Parallel()
	six := hosts(1, 2, 3, 4, 5, 6)
	for name, test := range map[string]struct {
		rollout  fleet.Rollout
		hosts    []fleet.Host
		failing  map[int]bool
		waves    [][]int
		notTried map[int]bool
	}{
		"no-hosts":        {fleet.Rollout{Waves: fleet.BatchesOf(2)}, nil, nil, nil, nil},
		"zero-value":      {fleet.Rollout{}, hosts(3, 1, 2), nil, [][]int{{3, 1, 2}}, nil},
		"negative-size":   {fleet.Rollout{Waves: fleet.BatchesOf(-1)}, hosts(1, 2), nil, [][]int{{1, 2}}, nil},
		"one-by-one":      {fleet.Rollout{Waves: fleet.BatchesOf(1)}, hosts(2, 1, 3), nil, [][]int{{2}, {1}, {3}}, nil},
		"remainder":       {fleet.Rollout{Waves: fleet.BatchesOf(2)}, hosts(1, 2, 3, 4, 5), nil, [][]int{{1, 2}, {3, 4}, {5}}, nil},
		"larger-than-all": {fleet.Rollout{Waves: fleet.BatchesOf(9)}, hosts(1, 2), nil, [][]int{{1, 2}}, nil},
		"a-failure-stops": {fleet.Rollout{Waves: fleet.BatchesOf(2)}, hosts(1, 2, 3, 4, 5), map[int]bool{1: true}, [][]int{{1, 2}}, map[int]bool{3: true, 4: true, 5: true}},
		"as-many-as-may":  {fleet.Rollout{Waves: fleet.BatchesOf(2), MaxFailed: fleet.UpTo(1)}, hosts(1, 2, 3, 4, 5), map[int]bool{1: true}, [][]int{{1, 2}, {3, 4}, {5}}, nil},
		"failures-add-up": {fleet.Rollout{Waves: fleet.BatchesOf(2), MaxFailed: fleet.UpTo(1)}, hosts(1, 2, 3, 4, 5), map[int]bool{1: true, 4: true}, [][]int{{1, 2}, {3, 4}}, map[int]bool{5: true}},
		"share-may-fail":  {fleet.Rollout{Waves: fleet.BatchesOf(2), MaxFailed: tolerance("40%")}, hosts(1, 2, 3, 4, 5), map[int]bool{1: true, 2: true}, [][]int{{1, 2}, {3, 4}, {5}}, nil},
		"share-rounds-down": {
			fleet.Rollout{Waves: fleet.BatchesOf(2), MaxFailed: tolerance("39%")}, hosts(1, 2, 3, 4, 5), map[int]bool{1: true, 2: true},
			[][]int{{1, 2}}, map[int]bool{3: true, 4: true, 5: true},
		},
		"canary":           {fleet.Rollout{Canary: set(3, 9), Waves: waves("1", "*2")}, hosts(1, 2, 3, 4, 5), nil, [][]int{{3}, {1}, {2, 4}, {5}}, nil},
		"canary-alone":     {fleet.Rollout{Canary: set(2)}, hosts(1, 2, 3), nil, [][]int{{2}, {1, 3}}, nil},
		"canary-is-all":    {fleet.Rollout{Canary: set(1, 2), Waves: waves("1")}, hosts(1, 2), nil, [][]int{{1, 2}}, nil},
		"canary-fails":     {fleet.Rollout{Canary: set(2), Waves: waves("50%")}, hosts(1, 2, 3), map[int]bool{2: true}, [][]int{{2}}, map[int]bool{1: true, 3: true}},
		"share-of-all":     {fleet.Rollout{Canary: set(1), Waves: waves("50%")}, hosts(1, 2, 3, 4), nil, [][]int{{1}, {2, 3}, {4}}, nil},
		"last-wave-failed": {fleet.Rollout{Waves: fleet.BatchesOf(2)}, hosts(1, 2, 3), map[int]bool{3: true}, [][]int{{1, 2}, {3}}, nil},
		// Silent hosts come early, but after the first wave.
		"silent-behind-the-first-wave": {fleet.Rollout{Waves: waves("2"), Silent: silentHosts(1, 6)}, six, nil, [][]int{{2, 3}, {1, 6}, {4, 5}}, nil},
		"silent-behind-the-canary":     {fleet.Rollout{Waves: waves("2"), Canary: set(3), Silent: silentHosts(6)}, six, nil, [][]int{{3}, {6, 1}, {2, 4}, {5}}, nil},
		"silent-in-the-canary":         {fleet.Rollout{Waves: waves("5"), Canary: set(6), Silent: silentHosts(6)}, six, nil, [][]int{{6}, {1, 2, 3, 4, 5}}, nil},
		"all-but-one-silent":           {fleet.Rollout{Waves: waves("3"), Silent: silentHosts(1, 2, 3, 4, 6)}, six, nil, [][]int{{5, 1, 2}, {3, 4, 6}}, nil},
		"all-silent":                   {fleet.Rollout{Waves: waves("3"), Silent: silentHosts(1, 2, 3, 4, 5, 6)}, six, nil, [][]int{{1, 2, 3}, {4, 5, 6}}, nil},
		"one-wave-and-a-silent-host":   {fleet.Rollout{Silent: silentHosts(1)}, six, nil, [][]int{{1, 2, 3, 4, 5, 6}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log log
			results := test.rollout.Run(t.Context(), test.hosts, log.act(time.Now(), test.failing, nil))
			fleettest.Same(t, "waves", test.waves, log.waves)
			for i, number := range log.numbers {
				fleettest.Same(t, "number", i+1, number)
			}
			want := make(byHost)
			for _, h := range test.hosts {
				switch n := number(h); {
				case test.notTried[n]:
					want[n] = fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}
				case test.failing[n]:
					want[n] = fleet.Outcome{Verdict: fleet.Failed}
				default:
					want[n] = fleet.Outcome{Verdict: fleet.Done}
				}
			}
			wantResults(t, want, results)
		})
	}
}

// The pause is counted from the end of a wave. There is none before the first wave, after the last or after too
// many failures.
func TestRollout_Run_pauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing map[int]bool
		began   []time.Duration
		took    time.Duration
	}{
		"between":             {nil, []time.Duration{0, 70 * time.Second, 140 * time.Second}, 150 * time.Second},
		"not-after-a-failure": {map[int]bool{1: true}, []time.Duration{0}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var log log
				rollout := fleet.Rollout{Waves: fleet.BatchesOf(1), Pause: time.Minute}
				rollout.Run(t.Context(), hosts(1, 2, 3), log.act(start, c.failing, func(int) { <-time.After(10 * time.Second) }))
				fleettest.Same(t, "starts", c.began, log.at)
				fleettest.Same(t, "took", c.took, time.Since(start))
			})
		})
	}
}

// The context ends after 90 seconds, by interrupt or deadline, in the pause after a wave or in a wave of 50 seconds.
func TestRollout_Run_ends(t *testing.T) {
	t.Parallel()
	stop := errors.New("SIGTERM")
	const when = 90 * time.Second
	for how, test := range map[string]struct {
		end    func(context.Context) (context.Context, context.CancelFunc)
		reason string
		cause  error
	}{
		"interrupt": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(when, cancel)
			return ctx, cancel
		}, fleet.StoppedByInterrupt, context.Canceled},
		"interrupt-with-cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(when, func() { cancel(stop) })
			return ctx, func() { cancel(nil) }
		}, fleet.StoppedByInterrupt, stop},
		"deadline": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, when)
		}, fleet.StoppedByDeadline, context.DeadlineExceeded},
	} {
		for moment, c := range map[string]struct {
			pause, wave time.Duration
			failing     map[int]bool
			began       int // number of waves that began
		}{
			"in-pause":         {time.Minute, 0, nil, 2},
			"in-wave":          {time.Minute, 50 * time.Second, nil, 1},
			"in-wave-no-pause": {0, 50 * time.Second, nil, 2},
			// The wave failed when its time was up, and the reason for the others is the end of the context.
			"in-wave-that-fails": {0, 50 * time.Second, map[int]bool{2: true}, 2},
		} {
			t.Run(how+"/"+moment, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					ctx, cancel := test.end(t.Context())
					defer cancel()
					var log log
					rollout := fleet.Rollout{Waves: fleet.BatchesOf(1), Pause: c.pause}
					results := rollout.Run(ctx, hosts(1, 2, 3, 4), log.act(start, c.failing, func(int) { <-time.After(c.wave) }))
					fleettest.Same(t, "waves", [][]int{{1}, {2}}[:c.began], log.waves)
					for n := c.began + 1; n <= 4; n++ {
						if o := results[host(n)]; o.Verdict != fleet.NotTried || o.Meaning != test.reason || !errors.Is(o.Err, test.cause) {
							t.Errorf("host %d: got %+v, want NotTried, %q and %v", n, o, test.reason, test.cause)
						}
					}
					took := time.Since(start)
					fleettest.Check(t, took <= 100*time.Second, "took %s, want an end at once", took)
				})
			})
		}
	}
}

// Hosts whose agents do not answer count as failed once there are more than allowed, including those from before.
func TestRollout_Failed(t *testing.T) {
	t.Parallel()
	hosts := hosts(1, 2, 3, 4)
	results := fleet.Results{
		hosts[0]: {},
		hosts[1]: {Verdict: fleet.Failed, Code: 65535},
		hosts[2]: {Verdict: fleet.Failed, Code: 117, Away: true},
		hosts[3]: {Verdict: fleet.Pending, Away: true}, // its outcome is unknown
	}
	for name, c := range map[string]struct{ most, before, want int }{
		"none may be":          {0, 0, 3},
		"one may be":           {1, 0, 2},
		"one may be, and was":  {1, 1, 4},
		"two may be, one was":  {2, 1, 2},
		"two may be, two were": {2, 2, 5},
	} {
		got := (fleet.Rollout{Away: fleet.Away{MaxUnreachable: c.most, Unreached: c.before}}).Failed(results)
		fleettest.Check(t, got == c.want, "%s: %d have failed, want %d", name, got, c.want)
	}
}

// telling is a process that reports each host twice, as soon as it settles. The agent of host 2 does not report its state.
func telling() *process {
	return &process{
		live: says(byStatus{1: live(fleet.Stopped, false, 0), 2: {State: fleet.Unknown}}),
		operate: func(_ context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
			results := make(fleet.Results)
			for _, h := range hosts {
				outcome := fleet.Outcome{Verdict: fleet.Done, AlreadyDone: op == fleet.Stop}
				if verdict, unwell := (map[int]fleet.Verdict{4: fleet.Failed, 7: fleet.Lost, 8: fleet.Pending, 9: fleet.NotTried})[number(h)]; unwell {
					outcome = fleet.Outcome{Verdict: verdict}
				}
				results[h] = outcome
				observe.Notify(results)
				observe.Notify(results)
			}
			return results
		},
	}
}

func TestRun_progress(t *testing.T) {
	t.Parallel()
	wave := func(n, waves, hosts, done, failed int) fleet.Progress {
		return fleet.Progress{Wave: n, Waves: waves, Hosts: hosts, Done: done, Failed: failed}
	}
	for name, c := range map[string]struct {
		op      fleet.Operation
		rollout fleet.Rollout
		hosts   int
		want    []fleet.Progress
	}{
		"host-by-host": {
			op: fleet.Restart, rollout: fleet.Rollout{Waves: fleet.BatchesOf(2)}, hosts: 3,
			want: []fleet.Progress{wave(1, 2, 3, 0, 0), wave(1, 2, 3, 1, 0), wave(1, 2, 3, 2, 0), wave(2, 2, 3, 2, 0), wave(2, 2, 3, 3, 0)},
		},
		"waves-that-do-not-start-have-not-failed": {
			op: fleet.Restart, rollout: fleet.Rollout{Waves: fleet.BatchesOf(4)}, hosts: 6,
			want: []fleet.Progress{wave(1, 2, 6, 0, 0), wave(1, 2, 6, 1, 0), wave(1, 2, 6, 2, 0), wave(1, 2, 6, 3, 0), wave(1, 2, 6, 3, 1)},
		},
		"done-at-first-and-failed-in-the-end": {op: fleet.Stop, hosts: 2, want: []fleet.Progress{wave(1, 1, 2, 0, 0), wave(1, 1, 2, 1, 0), wave(1, 1, 2, 2, 0), wave(1, 1, 2, 1, 1)}},
		"unknown-has-not-failed": {
			op: fleet.Restart, rollout: fleet.Rollout{Waves: fleet.BatchesOf(6), MaxFailed: fleet.UpTo(1)}, hosts: 9,
			want: []fleet.Progress{
				wave(1, 2, 9, 0, 0), wave(1, 2, 9, 1, 0), wave(1, 2, 9, 2, 0), wave(1, 2, 9, 3, 0), wave(1, 2, 9, 3, 1), wave(1, 2, 9, 4, 1), wave(1, 2, 9, 5, 1),
				wave(2, 2, 9, 5, 1), {Wave: 2, Waves: 2, Hosts: 9, Done: 5, Failed: 1, Unknown: 1}, {Wave: 2, Waves: 2, Hosts: 9, Done: 5, Failed: 1, Unknown: 2},
			},
		},
		"no-hosts": {op: fleet.Start},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []fleet.Progress
			c.rollout.Watch = func(p fleet.Progress) { got = append(got, p) }
			numbers := make([]int, c.hosts)
			for i := range numbers {
				numbers[i] = i + 1
			}
			runOne(t.Context(), telling(), c.op, hosts(numbers...), nil, c.rollout)
			fleettest.Same(t, "result", c.want, got)
		})
	}
}
