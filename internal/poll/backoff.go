package poll

import (
	"math"
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait between checks. The first check is made at once. The delay after check n,
// counted from 0, is First × Factor^n, but at most Max. Each delay is then shortened at random by up to
// the fraction Jitter, so that waits that began together drift apart. It is never lengthened, so the
// bounds hold with and without jitter.
//
// Due is when the work is likely to end, counted from the first check, or 0 if unknown. A delay that would go
// past Due ends at it.
//
// The zero value means [DefaultBackoff]. A Factor below 1 counts as 1, and a Max below First as First, so
// a delay never shrinks.
type Backoff struct {
	First  time.Duration
	Max    time.Duration
	Factor float64
	Jitter float64
	Due    time.Duration
}

// DefaultBackoff starts at 200 ms and grows by a tenth up to 5 s. So polling adds at most 10 % and 0.2 s
// to an operation.
func DefaultBackoff() Backoff {
	return Backoff{First: 200 * time.Millisecond, Max: 5 * time.Second, Factor: 1.1, Jitter: 0.1}
}

// delayAfter returns how long to wait after check n, given the time waited since the first check began.
func (b Backoff) delayAfter(n int, waited time.Duration) time.Duration {
	delay := b.delay(n)
	if left := b.Due - waited; left > 0 {
		delay = min(delay, left)
	}
	return delay
}

// delay returns how long to wait after check n, without regard to Due.
func (b Backoff) delay(n int) time.Duration {
	if b == (Backoff{Due: b.Due}) {
		b = DefaultBackoff()
	}

	// Compute in floating point until Max is applied: in a long wait, First × Factor^n overflows a Duration.
	delay := float64(b.First) * math.Pow(max(b.Factor, 1), float64(n))
	delay = min(delay, float64(max(b.Max, b.First)))

	jitter := min(max(b.Jitter, 0), 1)

	return time.Duration(delay * (1 - jitter*rand.Float64()))
}
