package bkapi

import (
	"context"
	"fmt"

	"golang.org/x/time/rate"
)

// Limits bounds how many requests are sent at once and how many start per second. Terraform works on ten
// resources at a time, and each of them sends batches. So the bounds belong to the provider instance, and all
// its clients share them.
type Limits struct {
	slots chan struct{}
	rate  *rate.Limiter
}

// NewLimits allows maxConcurrent requests at once and perSecond new ones each second. Zero or less means no
// bound.
func NewLimits(maxConcurrent int, perSecond float64) *Limits {
	l := &Limits{}
	if maxConcurrent > 0 {
		l.slots = make(chan struct{}, maxConcurrent)
	}
	if perSecond > 0 {
		// A burst of one spaces requests evenly. With a larger burst, all batches of a fleet could start at
		// once, against the user's limit.
		l.rate = rate.NewLimiter(rate.Limit(perSecond), 1)
	}

	return l
}

// acquire waits for a turn and returns a function that ends it. A call holds its turn during one attempt, but
// not while it waits for the next.
func (l *Limits) acquire(ctx context.Context) (release func(), err error) {
	// If a slot is free and ctx has ended, the select below would pick one of the two at random.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l == nil {
		return func() {}, nil
	}

	release = func() {}
	if l.slots != nil {
		select {
		case l.slots <- struct{}{}:
			release = func() { <-l.slots }
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}

	// The slot comes first, although a request that waits for the rate here delays all others just the same. In
	// the other order, requests that had passed the rate limiter would queue for slots and leave in a burst.
	if l.rate != nil {
		if err := l.rate.Wait(ctx); err != nil {
			release()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			// The limiter returns at once if the deadline would pass before the request's turn.
			return nil, fmt.Errorf("no request was allowed before the deadline at %g requests per second: %w",
				float64(l.rate.Limit()), context.DeadlineExceeded)
		}
	}

	return release, nil
}
