package bkapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that a server may ask for. A longer one is the result of a wrong clock, and
// the user would wait in vain.
const maxRetryAfter = time.Hour

type retryPolicy struct {
	max     int
	waitMin time.Duration
	waitMax time.Duration
}

// passingStatus reports whether a status stands for a temporary error, and does not show what happened to the
// request.
func passingStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout,
		http.StatusInternalServerError,
		http.StatusBadGateway,
		http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// worthRetry implements the retry table of the package documentation. badForms is the number of answers of this
// call that had no envelope, including this one.
func worthRetry(e *Error, badForms int) bool {
	if e.Stranger {
		return false
	}

	switch e.Kind {
	case KindConnect:
		return true
	case KindStatus:
		return e.TurnedAway() || (e.Repeatable && passingStatus(e.Status))
	case KindRefused:
		return e.TurnedAway() || (e.Repeatable && esbTrouble(e.Code))
	case KindLost:
		return e.Repeatable
	case KindFormat:
		return e.Repeatable && badForms <= 1
	default:
		return false
	}
}

// checkRetry judges an attempt and decides whether to make another. If not, it returns the *Error of the call.
func (c *call) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	var none *unanswered
	switch isUnanswered := errors.As(err, &none); {
	case isUnanswered && none.noTurn:
		return false, c.interrupted(ctx, none.err)
	case err != nil && !isUnanswered && c.current.response == nil:
		return false, c.newError(KindRequest, err)
	}

	ans := c.answerOf(resp, err)
	reply, failure := c.judge(ctx, ans)
	c.client.logAttempt(ctx, c, ans, reply, failure, time.Since(c.current.began))
	if failure == nil {
		c.answered, c.older = reply.requestID, reply.older

		return false, nil
	}
	c.last = failure
	if c.shouldRetry(ctx, failure) {
		return true, nil
	}

	return false, failure
}

// shouldRetry reports whether to make another attempt, and sets the wait before it.
func (c *call) shouldRetry(ctx context.Context, failure *Error) bool {
	if ctx.Err() != nil {
		return false
	}
	if failure.Kind == KindFormat {
		c.badForms++
	}
	if !worthRetry(failure, c.badForms) || c.attempts > c.client.retry.max {
		return false
	}

	c.wait = c.client.retry.wait(c.attempts, failure.retryAfter)

	// A wait beyond the deadline could only end in "deadline exceeded", later and without the reason.
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= c.wait {
		return false
	}

	if failure.Sent && !failure.TurnedAway() {
		c.reached = true
	}
	c.client.logRetry(ctx, c, failure)

	return true
}

func (c *call) backoff(_, _ time.Duration, _ int, _ *http.Response) time.Duration {
	return c.wait
}

// wait returns the wait after the given attempt, counted from 1. It doubles with each attempt, and is drawn
// from the upper half, so that requests that failed together are not repeated together. If the server asks for
// a wait of at least waitMin, that one is used.
func (p retryPolicy) wait(attempt int, asked time.Duration) time.Duration {
	if asked > 0 && asked >= p.waitMin {
		return asked
	}

	longest := p.waitMin
	for range attempt {
		if longest >= p.waitMax/2 {
			longest = p.waitMax

			break
		}
		longest *= 2
	}
	shortest := max(p.waitMin, longest/2)

	return shortest + time.Duration(rand.Float64()*float64(longest-shortest))
}

// retryAfter returns the wait that the server asks for, in either form of the header, or 0 if it asks for none.
func retryAfter(ans answer, now time.Time) time.Duration {
	if ans.status != http.StatusTooManyRequests && ans.status != http.StatusServiceUnavailable {
		return 0
	}

	value := strings.TrimSpace(ans.header.Get("Retry-After"))
	var asked time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		asked = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		asked = date.Sub(now)
	}

	return min(max(asked, 0), maxRetryAfter)
}
