package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Until calls check at once and then after each delay of b, until check reports done, check fails, or ctx
// ends. It returns nil when done, and check's error unchanged. When ctx ends it returns [context.Cause].
// In that error, errors.Is finds [context.Canceled] or [context.DeadlineExceeded], whatever the cause is.
// check gets ctx and is never called after ctx has ended.
func Until(ctx context.Context, b Backoff, check func(context.Context) (done bool, err error)) error {
	n, began := -1, time.Now()

	return UntilBy(ctx, Wall{}, func(ctx context.Context) (time.Duration, bool, error) {
		done, err := check(ctx)
		n++

		return b.delayAfter(n, time.Since(began)), done, err
	})
}

// UntilBy is [Until] with the given clock and with the delays that check returns.
func UntilBy(ctx context.Context, clock Clock, check func(context.Context) (delay time.Duration, done bool, err error)) error {
	wait := time.Duration(0)
	for {
		if err := clock.Pause(ctx, wait); err != nil {
			return err
		}

		delay, done, err := check(ctx)
		if err != nil || done {
			return err
		}

		wait = delay
	}
}

// Pause waits for d, or until ctx ends, which it reports as [Until] does. If d is not positive, it only
// checks whether ctx has ended.
func Pause(ctx context.Context, d time.Duration) error {
	if err := ended(ctx); err != nil || d <= 0 {
		return err
	}

	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-timer.C:
	}

	// Check again in either case: when both are ready, select picks one at random, and a cancelled wait
	// must not act once more.
	return ended(ctx)
}

// ended returns why ctx ended, and nil if it has not ended.
func ended(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}

	cause := context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}

	return fmt.Errorf("%w: %w", err, cause)
}
