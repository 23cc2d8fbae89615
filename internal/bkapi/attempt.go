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

// maxErrorBytes bounds what is read of an answer whose status is an error: enough for an envelope, too
// little for a stream.
const maxErrorBytes = 64 << 10

// call is one Call with all of its tries. One goroutine uses it.
type call struct {
	client    *Client
	api       API
	url       string
	requestID string
	out       any
	started   time.Time

	attempts int
	current  attempt
	reached  bool // a try that failed may have reached the server
	badForms int  // how many answers were not an envelope
	wait     time.Duration
	last     *Error // of the last failed try
	answered string // the platform's request id
	older    bool   // the answer's envelope has the older member names
}

// attempt is the attempt under way.
type attempt struct {
	ctx      context.Context // of sending and reading
	began    time.Time
	response *http.Response
}

// unanswered is the error of a request that got no answer.
type unanswered struct {
	err    error
	noTurn bool // not sent, because its turn did not come
	sent   bool // there was a connection, so bytes may have been sent
}

func (e *unanswered) Error() string { return e.err.Error() }

func (e *unanswered) Unwrap() error { return e.err }

// answer is the result of one try.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	tooLong bool
	sent    bool // there was a connection, so bytes may have been sent
	err     error
}

// RoundTrip waits for its turn and sends, within the time for one try. The turn and the time end when the
// answer's body is closed. Its error is an *unanswered.
func (c *call) RoundTrip(req *http.Request) (*http.Response, error) {
	release, err := c.client.limits.acquire(req.Context())
	if err != nil {
		_ = req.Body.Close()

		return nil, &unanswered{err: err, noTurn: true}
	}

	ctx, cancel := req.Context(), context.CancelFunc(func() {})
	if c.client.timeout > 0 {
		// With a cause of our own, the end of this try is not mistaken for the end of the operation.
		ctx, cancel = context.WithTimeoutCause(ctx, c.client.timeout,
			fmt.Errorf("no answer within %s", c.client.timeout))
	}
	end := sync.OnceFunc(func() {
		cancel()
		release()
	})

	// GotConn comes after dial, proxy and TLS handshake, and before the first byte of the request. Before
	// it, nothing was sent. A kept-alive connection may turn out to be dead before anything was written.
	// Then net/http asks for another one (GetConn), and again nothing was sent.
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

// attemptBody is an answer's body. Closing it ends the try.
type attemptBody struct {
	io.ReadCloser

	end func()
}

// Close closes the connection, or keeps it for the next request.
func (b *attemptBody) Close() error {
	defer b.end()

	return b.ReadCloser.Close()
}

// keepRedirects treats redirects like any other answer.
func keepRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// arriving are buffers for answers while they arrive. One for a thousand hosts has a megabyte, and often
// does not say so before.
var arriving = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read reads and closes an answer.
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

// answerOf is the answer of a try, or why there is none.
func (c *call) answerOf(resp *http.Response, err error) answer {
	var none *unanswered
	switch {
	case resp != nil:
		return c.read(resp)
	case errors.As(err, &none):
		return answer{sent: none.sent, err: none.err}
	default:
		// net/http closes an answer whose redirect has no valid URL, and returns an error instead of it.
		return answer{status: c.current.response.StatusCode, header: c.current.response.Header, sent: true}
	}
}

// causeOf replaces the error of a try that ran out of time by its cause. net/http's "context deadline
// exceeded" would be mistaken for the operation's own deadline.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}

	return err
}

// judge is the only place that decides the result of a try.
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

// judgeEnvelope judges an answer that arrived whole and with status 2xx. The platform refuses with HTTP
// 200 as well.
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

// isUntrusted reports whether there is a server that is not trusted, which no retry will change.
func isUntrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError

	return errors.As(err, &certificate) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch) || isOutdated(err)
}

// isNoHTTP reports whether the server speaks another protocol. net/http has no type for that error.
func isNoHTTP(err error) bool {
	return strings.HasPrefix(reasonOf(err), "malformed HTTP ")
}

// isOutdated reports whether a server has no TLS version in common with us. Neither the server's alert
// nor the error of crypto/tls has a type of its own.
func isOutdated(err error) bool {
	return strings.HasPrefix(reasonOf(err), "tls: ") && strings.Contains(reasonOf(err), "protocol version")
}

// reasonOf is the last error of a chain. The errors around it quote what others have said.
func reasonOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
