package bkapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Kind says how far a call went.
type Kind string

// CodeNoPermission is what every system behind a gateway answers if the permission center refuses, whatever
// was asked. Source: CMDB, src/common/errInfo.go (CCNoPermission).
const CodeNoPermission = 9900403

// Every way in which a call can fail.
const (
	// KindRequest: the request could not be built; nothing was sent.
	KindRequest Kind = "request"
	// KindConnect: no connection (DNS, dial, TLS handshake); nothing was sent.
	KindConnect Kind = "connect"
	// KindTLS: there is a server, but it is not trusted. Its certificate is not accepted, or it
	// does not speak TLS 1.2 or later. Nothing was sent.
	KindTLS Kind = "tls"
	// KindLost: sent, but no usable answer (reset, timeout, half a body).
	KindLost Kind = "lost"
	// KindStatus: answered with an HTTP status other than 2xx.
	KindStatus Kind = "status"
	// KindRedirect: answered with a redirect, which is never followed.
	KindRedirect Kind = "redirect"
	// KindFormat: answered with something other than the platform's envelope.
	KindFormat Kind = "format"
	// KindRefused: the envelope refuses; see Code and Message.
	KindRefused Kind = "refused"
	// KindCanceled: our context ended before there was a verdict.
	KindCanceled Kind = "canceled"
)

// Error is the one type of error that [Client.Call] returns, always as a pointer. It contains no secret,
// even if the server echoed one.
type Error struct {
	// API is the name of the endpoint. URL is its address, without query and user.
	API string
	URL string
	// Gateway is the way into the platform that the call took.
	Gateway Gateway

	Kind Kind

	// Status, Code, Message and RequestID are from the answer, as far as there was one. If the context
	// ended during the wait for the next try, Status, Code and RequestID are from the try before, and Err
	// quotes it.
	Status    int
	Code      int64
	Message   string
	RequestID string

	// Attempts counts the tries, Elapsed is the time for all of them.
	Attempts int
	Elapsed  time.Duration

	// Repeatable is that of the API.
	Repeatable bool

	// Sent is false only if the server certainly did not get the request in any of the tries, or
	// refused all but the last (429).
	Sent bool

	// Stranger says that the endpoint looks wrong. Either nothing is there, or a server that does not
	// answer like the platform. No call of this client had another answer.
	Stranger bool

	// Older says that the envelope had bk_error_code in place of code.
	Older bool

	// Err is the cause, if there is one besides the server's message.
	Err error

	// reached says that a try before the last one may have had an effect.
	reached bool

	// retryAfter is how long the server asked us to wait.
	retryAfter time.Duration
}

// Error gives in one line the API, what happened and the platform's message.
func (e *Error) Error() string {
	var notes []string
	if e.Code != 0 {
		notes = append(notes, fmt.Sprintf("code %d", e.Code))
	}

	return withNotes(e.API+": "+e.brief(), append(notes, e.notes()...))
}

// Apart is Error in two parts. why is the same whenever that happens, and call names the tries and the
// request.
func (e *Error) Apart() (why, call string) {
	why = e.API + ": " + e.brief()
	if e.Code != 0 {
		why = withNotes(why, []string{fmt.Sprintf("code %d", e.Code)})
	}

	return why, strings.Join(e.notes(), ", ")
}

func (e *Error) notes() []string {
	var notes []string
	if e.Attempts > 1 {
		notes = append(notes, fmt.Sprintf("%d tries in %s", e.Attempts, e.Elapsed.Round(time.Millisecond)))
	}
	if e.Sent && e.RequestID != "" {
		notes = append(notes, "request id "+e.RequestID)
	}

	return notes
}

// withNotes is a text with notes in brackets.
func withNotes(text string, notes []string) string {
	if len(notes) == 0 {
		return text
	}

	return text + " (" + strings.Join(notes, ", ") + ")"
}

// brief says what happened, without the API and without the number and time of tries.
func (e *Error) brief() string {
	text := e.summary()
	if e.Message != "" {
		text += ": " + oneLine(e.Message)
	}
	if e.Err != nil {
		text += ": " + oneLine(e.Err.Error())
	}

	return text
}

// summary is the part of the message that depends only on the kind.
func (e *Error) summary() string {
	switch e.Kind {
	case KindRequest:
		return "the request cannot be built"
	case KindConnect:
		return "no connection to " + e.URL
	case KindTLS:
		return "the server at " + e.URL + " is not to be trusted"
	case KindLost, KindStatus, KindRedirect, KindFormat:
		if e.Stranger {
			return strings.TrimSpace("what answers at " + e.URL + " is not the platform: " + e.status())
		}

		return e.answered()
	case KindRefused:
		return "refused by the platform"
	case KindCanceled:
		return "stopped before the answer was in"
	default:
		return "failed at " + e.URL
	}
}

// answered is the summary of an answer that says nothing about the request.
func (e *Error) answered() string {
	switch e.Kind {
	case KindLost:
		return "no usable answer from " + e.URL + " after the request was sent"
	case KindStatus:
		return e.status() + " from " + e.URL
	case KindRedirect:
		return fmt.Sprintf("HTTP %d from %s", e.Status, e.URL)
	default:
		return "the answer from " + e.URL + " is not one of the platform's"
	}
}

// status is the HTTP status of the answer, "" if there was none.
func (e *Error) status() string {
	if e.Status == 0 {
		return ""
	}

	return strings.TrimSpace(fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status)))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	return e.Err
}

// HasCode reports whether the platform answered with this code, in an envelope or with an HTTP status.
func HasCode(err error, code int64) bool {
	var e *Error

	return errors.As(err, &e) && code != 0 && e.Code == code
}

// IsTransient reports whether the same call may succeed later and can safely be made again. It is never
// true together with [IsOutcomeUnknown].
func IsTransient(err error) bool {
	var e *Error

	return errors.As(err, &e) && e.transient() && !e.outcomeUnknown()
}

// IsOutcomeUnknown reports whether it is not known if the server has acted on a request that must not be
// repeated. To go on, read the live state first.
func IsOutcomeUnknown(err error) bool {
	var e *Error

	return errors.As(err, &e) && e.outcomeUnknown()
}

// MayHaveActed is [IsOutcomeUnknown] that includes repeatable requests: one of the tries may have had its
// effect.
func MayHaveActed(err error) bool {
	var e *Error

	return errors.As(err, &e) && e.mayHaveActed()
}

// transient reports whether the cause of e may go away by itself. It does not say whether the call may be
// repeated.
func (e *Error) transient() bool {
	if e.Stranger {
		return false
	}

	switch e.Kind {
	case KindConnect, KindLost, KindFormat:
		return true
	case KindStatus:
		return e.TurnedAway() || passingStatus(e.Status)
	case KindRefused:
		return e.TurnedAway() || esbTrouble(e.Code)
	default:
		return false
	}
}

// TurnedAway reports whether the server was too busy to pass the request on, so nothing was done.
func (e *Error) TurnedAway() bool {
	switch e.Kind {
	case KindStatus:
		return e.Status == http.StatusTooManyRequests
	case KindRefused:
		return e.Code == esbRateLimit
	default:
		return false
	}
}

func (e *Error) outcomeUnknown() bool { return !e.Repeatable && e.mayHaveActed() }

func (e *Error) mayHaveActed() bool {
	if e.reached || !e.Sent || e.Stranger {
		return e.reached
	}

	switch e.Kind {
	case KindLost, KindFormat, KindCanceled:
		return true
	case KindStatus:
		// A gateway sends 502 or 504 for a backend that may be working, and some send 408. Any other 4xx
		// means that the request was not accepted.
		return e.Status >= http.StatusInternalServerError || e.Status == http.StatusRequestTimeout
	case KindRefused:
		return esbTrouble(e.Code)
	default:
		return false
	}
}
