package bkapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxErrorBytes bounds how much is read of an answer with an error status. It is enough for an envelope and too
// little for a stream.
const maxErrorBytes = 64 << 10

// call is one Call with all of its attempts. It is used by one goroutine.
type call struct {
	client    *Client
	api       API
	url       string
	requestID string
	out       any
	started   time.Time

	attempts int
	current  attempt
	reached  bool // a failed attempt may have reached the server
	badForms int  // number of answers that were not an envelope
	wait     time.Duration
	last     *Error // of the last failed attempt
	answered string // request id of the answer, the platform's if it sent one
	older    bool   // the envelope has bk_error_code in place of code
}

type attempt struct {
	ctx      context.Context // of sending and reading
	began    time.Time
	response *http.Response
}

// unanswered is the error of a request that received no answer.
type unanswered struct {
	err    error
	noTurn bool // not sent, because the context ended while it waited for its turn
	sent   bool // there was a connection, so bytes may have been sent
}

func (e *unanswered) Error() string { return e.err.Error() }

func (e *unanswered) Unwrap() error { return e.err }

// answer is the result of one attempt.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	tooLong bool
	sent    bool // there was a connection, so bytes may have been sent
	err     error
}

// RoundTrip waits for its turn and sends the request, within the time for one attempt. The turn and that time
// end when the body of the answer is closed. The error is always an *unanswered.
func (c *call) RoundTrip(req *http.Request) (*http.Response, error) {
	release, err := c.client.limits.acquire(req.Context())
	if err != nil {
		_ = req.Body.Close()

		return nil, &unanswered{err: err, noTurn: true}
	}

	ctx, cancel := req.Context(), context.CancelFunc(func() {})
	if c.client.timeout > 0 {
		// A cause of our own distinguishes the end of this attempt from the end of the operation.
		ctx, cancel = context.WithTimeoutCause(ctx, c.client.timeout,
			fmt.Errorf("no answer within %s", c.client.timeout))
	}
	end := sync.OnceFunc(func() {
		cancel()
		release()
	})

	// GotConn is called after dialing, proxy and TLS handshake, and before the first byte of the request. Until
	// then nothing was sent. A kept-alive connection may turn out to be dead before anything was written. In
	// that case net/http asks for another connection (GetConn), and again nothing was sent.
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) {
			sent.Store(true)
			c.client.connected.Store(true)
		},
	})

	c.attempts++
	c.current = attempt{ctx: ctx, began: time.Now()}
	resp, err := c.client.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = causeOf(ctx, err)
		end()

		return nil, &unanswered{err: err, sent: sent.Load()}
	}
	resp.Body = &attemptBody{resp.Body, end}
	c.current.response = resp

	return resp, nil
}

// attemptBody is the body of an answer. Closing it ends the attempt.
type attemptBody struct {
	io.ReadCloser

	end func()
}

// Close closes the connection, or keeps it for the next request.
func (b *attemptBody) Close() error {
	defer b.end()

	return b.ReadCloser.Close()
}

// keepRedirects makes net/http return a redirect like any other answer.
func keepRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// arriving holds buffers for answers that are being read. An answer for a thousand hosts takes a megabyte, and
// often has no Content-Length.
var arriving = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (c *call) read(resp *http.Response) answer {
	body := resp.Body
	resp.Body = http.NoBody // nothing is left to read
	defer func() { _ = body.Close() }()

	limit := c.client.maxBytes
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		limit = min(limit, maxErrorBytes)
	}
	text := arriving.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is put there
	defer arriving.Put(text)
	text.Reset()
	_, err := text.ReadFrom(io.LimitReader(body, limit+1))
	if err != nil {
		err = causeOf(c.current.ctx, err)
	}

	return answer{
		status:  resp.StatusCode,
		header:  resp.Header,
		body:    bytes.Clone(text.Bytes()[:min(int64(text.Len()), limit)]),
		tooLong: int64(text.Len()) > limit,
		sent:    true,
		err:     err,
	}
}

// answerOf returns the answer to an attempt, or the reason why there is none.
func (c *call) answerOf(resp *http.Response, err error) answer {
	var none *unanswered
	switch {
	case resp != nil:
		return c.read(resp)
	case errors.As(err, &none):
		return answer{sent: none.sent, err: none.err}
	default:
		// If the target of a redirect is not a valid URL, net/http closes the answer and returns an error in
		// its place.
		return answer{status: c.current.response.StatusCode, header: c.current.response.Header, sent: true}
	}
}

// causeOf returns the cause of an attempt that ran out of time, in place of its error. net/http's "context
// deadline exceeded" would be mistaken for the deadline of the operation.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	return err
}

// judge decides the result of an attempt. Nothing else does.
func (c *call) judge(ctx context.Context, ans answer) (envelope, *Error) {
	switch {
	case ans.status == 0 && ctx.Err() != nil:
		failure := c.interrupted(ctx, ctx.Err())
		failure.Sent = ans.sent

		return envelope{}, failure
	case ans.status == 0 && !ans.sent && isUntrusted(ans.err):
		return envelope{}, c.newError(KindTLS, ans.err)
	case ans.status == 0 && !ans.sent:
		failure := c.newError(KindConnect, ans.err)
		failure.Stranger = !c.client.connected.Load()

		return envelope{}, failure
	case ans.status == 0:
		failure := c.answerError(KindLost, ans, ans.err)
		failure.Stranger = isNoHTTP(ans.err) && !c.client.answered.Load()

		return envelope{}, failure
	case ans.status >= 300 && ans.status <= 399 && ans.header.Get("Location") != "":
		failure := c.answerError(KindRedirect, ans, redirectError(c.url, ans.header.Get("Location")))
		failure.Stranger = !c.client.answered.Load()

		return envelope{}, failure
	case ans.status < 200 || ans.status > 299:
		return envelope{}, c.statusError(ans)
	case ans.err != nil && ctx.Err() != nil:
		failure := c.interrupted(ctx, ctx.Err())
		failure.Sent, failure.Status = true, ans.status

		return envelope{}, failure
	case ans.err != nil:
		return envelope{}, c.answerError(KindLost, ans, fmt.Errorf("reading the answer: %w", ans.err))
	case ans.tooLong:
		return envelope{}, c.answerError(KindFormat, ans, fmt.Errorf("longer than %d bytes: %s", len(ans.body), c.excerpt(ans)))
	}

	return c.judgeEnvelope(ans)
}

// judgeEnvelope decides the result of a complete answer with a status of 2xx. The platform also refuses
// requests with HTTP 200.
func (c *call) judgeEnvelope(ans answer) (envelope, *Error) {
	if env, read := readAtOnce(ans.body, c.out); read {
		c.client.answered.Store(true)
		env.requestID = c.requestIDOf(ans, env)

		return env, nil
	}
	env, err := parseEnvelope(ans.body)
	if err != nil {
		failure := c.answerError(KindFormat, ans, fmt.Errorf("%w: %s", err, c.excerpt(ans)))
		failure.Stranger = isForeign(err) && !c.client.answered.Load()

		return env, failure
	}
	c.client.answered.Store(true)
	env.requestID = c.requestIDOf(ans, env)

	if !env.ok {
		failure := c.answerError(KindRefused, ans, nil)
		failure.Code, failure.Message, failure.RequestID, failure.Older = env.code, c.words(env.message), env.requestID, env.older

		return env, failure
	}
	if err := decodeData(env.data, c.out); err != nil {
		failure := c.answerError(KindFormat, ans, fmt.Errorf("decoding data: %w: %s", err, c.excerpt(ans)))
		failure.RequestID = env.requestID

		return env, failure
	}

	return env, nil
}

// isUntrusted reports whether there is a server that is not trusted. A retry would not change that.
func isUntrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError

	return errors.As(err, &certificate) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch) || isOutdated(err)
}

// isNoHTTP reports whether the server speaks a protocol other than HTTP. net/http has no type for that error.
func isNoHTTP(err error) bool {
	return strings.HasPrefix(reasonOf(err), "malformed HTTP ")
}

// isOutdated reports whether the server and the client have no TLS version in common. Neither the server's
// alert nor the error of crypto/tls has a type of its own.
func isOutdated(err error) bool {
	return strings.HasPrefix(reasonOf(err), "tls: ") && strings.Contains(reasonOf(err), "protocol version")
}

// reasonOf returns the text of the innermost error of a chain. The errors around it quote text of other origin.
func reasonOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
