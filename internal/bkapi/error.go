package bkapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Kind says how far a failed call got.
type Kind string

// CodeNoPermission is the code that any system behind a gateway returns if the permission center refuses a
// call. Source: CMDB, src/common/errInfo.go (CCNoPermission).
const CodeNoPermission = 9900403

// The kinds of failure.
const (
	// KindRequest: the request could not be built. Nothing was sent.
	KindRequest Kind = "request"
	// KindConnect: there was no connection (DNS, dial, TLS handshake). Nothing was sent.
	KindConnect Kind = "connect"
	// KindTLS: there is a server, but it is not trusted. Its certificate is not accepted, or it does not speak
	// TLS 1.2 or later. Nothing was sent.
	KindTLS Kind = "tls"
	// KindLost: the request was sent, but no usable answer was received (reset, timeout, half a body).
	KindLost Kind = "lost"
	// KindStatus: the HTTP status was not 2xx.
	KindStatus Kind = "status"
	// KindRedirect: the answer was a redirect, which is never followed.
	KindRedirect Kind = "redirect"
	// KindFormat: the answer was not an envelope of the platform.
	KindFormat Kind = "format"
	// KindRefused: the envelope refuses the call; see Code and Message.
	KindRefused Kind = "refused"
	// KindCanceled: the caller's context ended before there was a verdict.
	KindCanceled Kind = "canceled"
)

// Error is the only type of error that [Client.Call] returns, always as a pointer. It contains no secret, even
// if the server echoed one.
type Error struct {
	// API is the name of the endpoint. URL is its address, without query or user.
	API string
	URL string
	// Setting is that of the configuration.
	Setting string
	// Gateway is the gateway that the call went through.
	Gateway Gateway

	Kind Kind

	// Status, Code, Message and RequestID are those of the answer, if there was one. If the context ended
	// during the wait for the next attempt, Status, Code and RequestID are from the attempt before, and Err
	// quotes it.
	Status    int
	Code      int64
	Message   string
	RequestID string

	// Attempts is the number of attempts, Elapsed the time for all of them.
	Attempts int
	Elapsed  time.Duration

	// Repeatable is that of the API.
	Repeatable bool

	// Sent is false only if the server certainly did not receive the request in any attempt, or refused all but
	// the last (429).
	Sent bool

	// Stranger says that the endpoint looks wrong: nothing is there, or the server there does not answer like
	// the platform. No call of this client has had a better answer.
	Stranger bool

	// Older says that the envelope had bk_error_code in place of code.
	Older bool

	// Err is the cause, if there is one in addition to the server's message.
	Err error

	// reached says that an attempt before the last one may have had an effect.
	reached bool

	// retryAfter is the wait that the server asked for.
	retryAfter time.Duration
}

// Error returns the API, what happened and the platform's message in one line.
func (e *Error) Error() string {
	var notes []string
	if e.Code != 0 {
		notes = append(notes, fmt.Sprintf("code %d", e.Code))
	}

	return withNotes(e.API+": "+e.brief(), append(notes, e.notes()...))
}

// Apart returns the text of Error in two parts. why is the same for every call that failed in this way, and
// call describes this call by its attempts and request id.
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
	if e.retryAfter > 0 {
		notes = append(notes, fmt.Sprintf("it asks for a wait of %s", e.retryAfter.Round(time.Second)))
	}
	if e.Sent && e.RequestID != "" {
		notes = append(notes, "request id "+e.RequestID)
	}

	return notes
}

func withNotes(text string, notes []string) string {
	if len(notes) == 0 {
		return text
	}

	return text + " (" + strings.Join(notes, ", ") + ")"
}

// brief says what happened, without the API, the code, the attempts and the request id.
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

// summary returns the part of the text that comes before the platform's message and the cause.
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
		return "stopped before the answer arrived"
	default:
		return "failed at " + e.URL
	}
}

// answered returns the summary of a failure in which nothing is known about the request itself.
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

// HasCode reports whether the platform returned this code in an envelope, whatever the HTTP status.
func HasCode(err error, code int64) bool {
	var e *Error

	return errors.As(err, &e) && code != 0 && e.Code == code
}

// IsTransient reports whether the same call may succeed later and can safely be made again. It is never true
// together with [IsOutcomeUnknown].
func IsTransient(err error) bool {
	var e *Error

	return errors.As(err, &e) && e.transient() && !e.outcomeUnknown()
}

// IsOutcomeUnknown reports whether the server may have acted on a request that must not be repeated. Before
// going on, the caller should read the live state.
func IsOutcomeUnknown(err error) bool {
	var e *Error

	return errors.As(err, &e) && e.outcomeUnknown()
}

// MayHaveActed is like [IsOutcomeUnknown], but includes repeatable requests: an attempt may have had its
// effect.
func MayHaveActed(err error) bool {
	var e *Error

	return errors.As(err, &e) && e.mayHaveActed()
}

// transient reports whether the cause of e may disappear by itself. It does not say whether the call may be
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

// TurnedAway reports whether the server was too busy to pass the request on. Nothing was done in that case.
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
		// A gateway sends 502 or 504 for a backend that may still be working, and some gateways send 408. Any
		// other 4xx means that the request was not accepted.
		return e.Status >= http.StatusInternalServerError || e.Status == http.StatusRequestTimeout
	case KindRefused:
		return esbTrouble(e.Code)
	default:
		return false
	}
}
