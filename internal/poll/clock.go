package poll

import (
	"context"
	"time"
)

// Clock tells the time and lets it pass, for waits whose length is part of what they
// find out: a test need not sit them out.
type Clock interface {
	Now() time.Time
	// Pause waits as [Pause] does.
	Pause(ctx context.Context, d time.Duration) error
}

// Wall is the clock on the wall.
type Wall struct{}

// Now implements Clock.
func (Wall) Now() time.Time { return time.Now() }

// Pause implements Clock.
func (Wall) Pause(ctx context.Context, d time.Duration) error { return Pause(ctx, d) }
