package poll

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// The first check is at once.
func TestUntil_delays(t *testing.T) {
	t.Parallel()
	steady := DefaultBackoff()
	steady.Jitter = 0
	for name, test := range map[string]struct {
		backoff Backoff
		want    []time.Duration
	}{
		"done-at-once": {DefaultBackoff(), nil},
		"grow-to-cap": {
			Backoff{First: time.Second, Max: 5 * time.Second, Factor: 2},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second},
		},
		"factor-below-one": {Backoff{First: time.Second, Max: 5 * time.Second, Factor: 0.5}, []time.Duration{time.Second, time.Second, time.Second}},
		"max-below-first":  {Backoff{First: time.Second, Factor: 2}, []time.Duration{time.Second, time.Second, time.Second}},
		"default":          {steady, []time.Duration{200 * time.Millisecond, 220 * time.Millisecond, 242 * time.Millisecond}},
		"cut-where-it-is-due": {
			Backoff{First: time.Second, Max: 5 * time.Second, Factor: 2, Due: 4 * time.Second},
			[]time.Duration{time.Second, 2 * time.Second, time.Second, 5 * time.Second},
		},
		"due-at-a-check": {
			Backoff{First: time.Second, Max: 5 * time.Second, Factor: 2, Due: 3 * time.Second},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []time.Duration
				last := time.Now()
				err := Until(t.Context(), test.backoff, func(context.Context) (bool, error) {
					if now := time.Now(); now != last {
						got = append(got, now.Sub(last).Round(time.Microsecond))
						last = now
					}
					return len(got) >= len(test.want), nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("delays (-want +got): %s", diff)
				}
			})
		})
	}
}

// The bounds of the default, and of a jitter that is not a fraction.
//
// Promised in limits.md: then after 0.2 s. Later pauses grow by a tenth, up to 5 s.
func TestBackoff_bounds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		backoff         Backoff
		check           int
		shortest, limit time.Duration
	}{
		"zero-value":       {Backoff{}, 0, 180 * time.Millisecond, 200 * time.Millisecond},
		"default-first":    {DefaultBackoff(), 0, 180 * time.Millisecond, 200 * time.Millisecond},
		"default-cap":      {DefaultBackoff(), 10_000, 4500 * time.Millisecond, 5 * time.Second},
		"jitter-below-0":   {Backoff{First: time.Second, Jitter: -1}, 0, time.Second, time.Second},
		"jitter-above-1":   {Backoff{First: time.Second, Jitter: 9}, 0, 0, time.Second},
		"jitter-of-a-half": {Backoff{First: time.Second, Jitter: 0.5}, 0, 500 * time.Millisecond, time.Second},
	} {
		low, high := test.limit, time.Duration(0)
		for range 10_000 {
			got := test.backoff.delay(test.check)
			if got < test.shortest || got > test.limit {
				t.Fatalf("%s: %s is not from %s to %s", name, got, test.shortest, test.limit)
			}
			low, high = min(low, got), max(high, got)
		}
		// The whole range is used.
		if slack := (test.limit - test.shortest) / 10; low > test.shortest+slack || high < test.limit-slack {
			t.Errorf("%s: from %s to %s, want from %s to %s", name, low, high, test.shortest, test.limit)
		}
	}
}

// TestUntil_overhead checks the promise of the package documentation.
func TestUntil_overhead(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 20 * time.Second, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			err := Until(t.Context(), DefaultBackoff(), func(context.Context) (bool, error) { return time.Since(start) >= takes, nil })
			if took, bound := time.Since(start), takes+takes/10+300*time.Millisecond; err != nil || took > bound {
				t.Errorf("%s: noticed after %s, want at most %s: %v", takes, took, bound, err)
			}
		})
	}
}

func TestUntil_ends(t *testing.T) {
	t.Parallel()
	errOwn := errors.New("the user pressed Ctrl-C")
	for name, test := range map[string]struct {
		after    time.Duration // when the operation ends
		deadline bool          // the context has a deadline of its own
		cause    error
		want     []error
		checks   int
	}{
		"canceled-in-delay":   {1500 * time.Millisecond, false, nil, []error{context.Canceled}, 2},
		"canceled-with-cause": {1500 * time.Millisecond, false, errOwn, []error{context.Canceled, errOwn}, 2},
		"deadline":            {2500 * time.Millisecond, true, nil, []error{context.DeadlineExceeded}, 3},
		"before-the-first":    {0, false, nil, []error{context.Canceled}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				switch {
				case test.deadline:
					deadline, stop := context.WithTimeout(ctx, test.after)
					defer stop()
					ctx = deadline
				case test.after == 0:
					cancel(test.cause)
				default:
					time.AfterFunc(test.after, func() { cancel(test.cause) })
				}
				start, checks := time.Now(), 0
				err := Until(ctx, Backoff{First: time.Second, Factor: 1}, func(got context.Context) (bool, error) {
					if checks++; got != ctx {
						t.Error("check got another context")
					}
					return false, nil
				})
				for _, want := range test.want {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v in it", err, want)
					}
				}
				if took := time.Since(start); took != test.after || checks != test.checks {
					t.Errorf("ended after %s and %d checks, want %s and %d", took, checks, test.after, test.checks)
				}
			})
		})
	}
}

// overtakenContext has ended when its Err is called, but its Done channel does not show it. So it is a
// context whose end select has seen too late, because the timer was ready as well.
type overtakenContext struct {
	context.Context
	end time.Time
}

func (c overtakenContext) Done() <-chan struct{} { return nil }

func (c overtakenContext) Err() error {
	if time.Now().Before(c.end) {
		return nil
	}
	return context.Canceled
}

func TestUntil_noCheckAfterCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := 0
		ctx := overtakenContext{t.Context(), time.Now().Add(1500 * time.Millisecond)}
		err := Until(ctx, Backoff{First: time.Second, Factor: 1}, func(context.Context) (bool, error) {
			checks++
			return checks > 9, nil
		})
		if !errors.Is(err, context.Canceled) || checks != 2 {
			t.Errorf("got %v after %d checks, want a cancelled wait after 2", err, checks)
		}
	})
}

func TestUntil_passesErrorOn(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			want, checks := fmt.Errorf("querying: %w", context.DeadlineExceeded), 0
			got := Until(t.Context(), DefaultBackoff(), func(context.Context) (bool, error) {
				checks++
				return done, want
			})
			if got != want || checks != 1 { //nolint:errorlint // the very same error
				t.Errorf("done %t: got %v after %d checks", done, got, checks)
			}
		})
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Pause(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("got %v after %s", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, d := range []time.Duration{time.Hour, 0, -1} {
			if err := Pause(ctx, d); !errors.Is(err, context.Canceled) {
				t.Errorf("Pause(%s) after cancel: %v", d, err)
			}
		}
		if err := Pause(t.Context(), 0); err != nil || time.Since(start) != time.Hour {
			t.Errorf("Pause(0): %v after %s", err, time.Since(start))
		}
	})
}
