package bkapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// How much of a server's text an error keeps.
const (
	maxMessageBytes = 2000
	maxExcerptBytes = 120
)

// newError returns an error of this call for which there was no answer.
func (c *call) newError(kind Kind, cause error) *Error {
	return &Error{
		API:        c.api.Name,
		URL:        c.url,
		Setting:    c.client.setting,
		Gateway:    c.client.gateway,
		Kind:       kind,
		RequestID:  c.requestID,
		Repeatable: c.api.Repeatable,
		Err:        c.client.redact.error(cause),
	}
}

// answerError returns the error of an attempt whose request was sent.
func (c *call) answerError(kind Kind, ans answer, cause error) *Error {
	failure := c.newError(kind, cause)
	failure.Sent = true
	failure.Status = ans.status
	failure.RequestID = c.requestIDOf(ans, envelope{})
	failure.retryAfter = retryAfter(ans, time.Now())

	return failure
}

// statusError returns the error for a status other than 2xx. It has the platform's code and message if the body
// contains them, and otherwise a line of the body.
func (c *call) statusError(ans answer) *Error {
	failure := c.answerError(KindStatus, ans, nil)

	env, err := parseEnvelope(ans.body)
	switch {
	case err == nil:
		c.client.answered.Store(true)
		failure.Code, failure.Message = env.code, c.words(env.message)
		failure.RequestID = c.requestIDOf(ans, env)
	case len(ans.body) > 0:
		failure.Err = errors.New(c.excerpt(ans))
		failure.Stranger = isForeign(err) && !c.client.answered.Load() && !ownPage(ans.status)
	}

	return failure
}

// ownPage reports whether a proxy in front of the platform may answer with this status and a page of its own.
// It does so if the backend is down, or if requests are too many or too long.
func ownPage(status int) bool {
	return passingStatus(status) || status == http.StatusTooManyRequests || status == http.StatusRequestEntityTooLarge
}

// redirectError names the target of a redirect, which is a login page or the same host with another scheme. It
// omits the path, since that of a login page contains the original URL and sometimes more.
func redirectError(from, location string) error {
	base, err := url.Parse(from)
	if err != nil {
		return errors.New("redirect not followed")
	}
	target, err := base.Parse(location)
	if err != nil {
		return errors.New("redirect not followed: its target is not a URL")
	}

	return fmt.Errorf("redirect to %s://%s not followed: credentials are sent to the endpoint only",
		target.Scheme, target.Host)
}

// interrupted returns the error for a context that has ended, or is about to. If there was an attempt before,
// it quotes the error of that attempt, which is the reason for the wait.
func (c *call) interrupted(ctx context.Context, err error) *Error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if c.last == nil {
		return c.newError(KindCanceled, err)
	}

	failure := c.newError(KindCanceled, fmt.Errorf("%w; the attempt before: %s", err, c.last.brief()))
	failure.Status, failure.Code, failure.RequestID = c.last.Status, c.last.Code, c.last.RequestID

	return failure
}

// finish adds the number of attempts and their total time to the last error.
func (c *call) finish(failure *Error) *Error {
	failure.Attempts = c.attempts
	failure.Elapsed = time.Since(c.started)
	failure.Sent, failure.reached = failure.Sent || c.reached, c.reached

	return failure
}

// requestIDOf returns the id by which the platform identifies the request, or ours if it returned none.
func (c *call) requestIDOf(ans answer, env envelope) string {
	for _, id := range []string{ans.header.Get(headerRequestID), env.requestID} {
		if id != "" {
			return cut(oneLine(c.client.redact.text(id)), maxExcerptBytes)
		}
	}

	return c.requestID
}

func (c *call) words(message string) string {
	return cut(c.client.redact.text(message), maxMessageBytes)
}

// excerpt describes a body that could not be read: its content type and its beginning. Secrets are removed
// before the text is shortened, which could leave half of one.
func (c *call) excerpt(ans answer) string {
	begin := bytes.TrimSpace(ans.body[:min(len(ans.body), maxErrorBytes)])
	if len(begin) == 0 {
		return "empty body"
	}

	kind := ans.header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	kind = oneLine(c.client.redact.text(kind))
	if c.api.Private {
		return fmt.Sprintf("%s of %d bytes", kind, len(ans.body))
	}

	return fmt.Sprintf("%s beginning %q", kind, cut(oneLine(c.client.redact.text(string(begin))), maxExcerptBytes))
}
