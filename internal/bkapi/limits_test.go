package bkapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimits_rate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := NewLimits(0, 4)
		start := time.Now()
		for range 9 {
			release, err := limits.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			release()
		}

		// The first starts at once, the other eight at intervals of a quarter of a second.
		if took := time.Since(start).Round(time.Millisecond); took != 2*time.Second {
			t.Errorf("nine requests at four per second began within %s, want 2s", took)
		}
	})
}

func TestLimits_slots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := NewLimits(1, 0)
		release, err := limits.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := limits.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("second request: %v, want the deadline", err)
		}

		release()
		if _, err := limits.acquire(t.Context()); err != nil {
			t.Errorf("third request: %v", err)
		}
	})
}

func TestLimits_slotIsGivenBackWhenTheRateHasNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := NewLimits(1, 0.1)
		release, err := limits.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		release()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := limits.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
		release, err = limits.acquire(t.Context())
		if err != nil {
			t.Fatalf("the slot was kept: %v", err)
		}
		release()
	})
}

func TestLimits_none(t *testing.T) {
	t.Parallel()
	for _, limits := range []*Limits{nil, NewLimits(0, 0), NewLimits(-1, -1)} {
		for range 100 {
			if _, err := limits.acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
