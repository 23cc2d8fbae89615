package providertest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Clock is a clock for rollouts that advances only by pauses, between waves and between two checks of the
// process. They take none of the test's time.
type Clock struct {
	mu     sync.Mutex
	passed time.Duration
	pauses int
	// OnPause, if not nil, is called at each pause, with the number of pauses so far.
	OnPause func(pauses int)
}

// Now implements poll.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(c.passed)
}

// Pause implements poll.Clock.
func (c *Clock) Pause(ctx context.Context, d time.Duration) error {
	if err := poll.Pause(ctx, 0); err != nil || d <= 0 {
		return err
	}
	c.mu.Lock()
	c.passed += d
	c.pauses++
	pauses, then := c.pauses, c.OnPause
	c.mu.Unlock()
	if then != nil {
		then(pauses)
	}
	return poll.Pause(ctx, 0)
}

// Passed returns the total time of all pauses.
func (c *Clock) Passed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// ConfiguredBy is ConfiguredWith, with the test's own clock for rollouts.
func ConfiguredBy(tb testing.TB, clock *Clock, settings map[string]any) *Protocol {
	tb.Helper()
	return configured(tb, newProtocol(tb, clock), settings)
}
