package poll

import (
	"context"
	"time"
)

// Clock tells the time and pauses. With a clock of its own, a test does not have to wait.
type Clock interface {
	Now() time.Time
	// Pause waits like the function [Pause].
	Pause(ctx context.Context, d time.Duration) error
}

// Wall is the real clock.
type Wall struct{}

// Now implements Clock.
func (Wall) Now() time.Time { return time.Now() }

// Pause implements Clock.
func (Wall) Pause(ctx context.Context, d time.Duration) error { return Pause(ctx, d) }
