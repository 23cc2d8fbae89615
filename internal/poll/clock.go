package poll

import (
	"context"
	"time"
)

// Clock is the time, and a pause, for waits whose length matters. A test can use its own clock and need
// not wait.
type Clock interface {
	Now() time.Time
	// Pause waits as [Pause] does.
	Pause(ctx context.Context, d time.Duration) error
}

// Wall is the real clock.
type Wall struct{}

// Now implements Clock.
func (Wall) Now() time.Time { return time.Now() }

// Pause implements Clock.
func (Wall) Pause(ctx context.Context, d time.Duration) error { return Pause(ctx, d) }
