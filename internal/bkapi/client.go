package bkapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// Client calls the APIs of one endpoint with one identity. It is safe for concurrent use.
type Client struct {
	endpoint    string
	setting     string
	gateway     Gateway
	credentials []byte
	tenantID    string
	userAgent   string

	retry     retryPolicy
	timeout   time.Duration
	limits    *Limits
	maxBytes  int64
	transport *http.Transport
	redact    redactor
	log       *slog.Logger

	// connected is set once a connection was made, and answered once the platform has answered. Until then the
	// endpoint may be wrong.
	connected, answered atomic.Bool
}

// API is one endpoint of the platform.
type API struct {
	// Name is used in messages and logs: "register_proc_info".
	Name string
	// Path is joined to Config.Endpoint: "api/c/compapi/v2/gse/register_proc_info/".
	Path string
	// Repeatable says that two calls have the same effect as one. It depends on the endpoint: every call is a
	// POST, so the verb says nothing.
	Repeatable bool
	// Private says that an answer may contain secrets of other owners, so no error quotes it.
	Private bool
}

// Reply describes a successful call, apart from its data.
type Reply struct {
	// RequestID is the platform's id of the request, or ours if the platform sent none.
	RequestID string
	// Attempts is the number of attempts, Elapsed the time for all of them.
	Attempts int
	Elapsed  time.Duration
	// Resent says that an earlier attempt may have reached the server. An answer of "already exists" may then
	// be an effect of this call.
	Resent bool
	// Older says that the envelope had bk_error_code in place of code.
	Older bool
}

// New returns a client, or a [ConfigError] for the first invalid field. It sends nothing.
func New(cfg Config) (*Client, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}

	transport, err := newTransport(cfg)
	if err != nil {
		return nil, err
	}
	creds, err := marshalCredentials(cfg)
	if err != nil {
		return nil, err
	}

	c := &Client{
		endpoint:    strings.TrimRight(cfg.Endpoint, "/"),
		setting:     cfg.Setting,
		gateway:     cfg.Gateway,
		credentials: creds,
		tenantID:    cfg.TenantID,
		userAgent:   cfg.UserAgent,
		retry:       retryPolicy{max: cfg.MaxRetries, waitMin: cfg.RetryWaitMin, waitMax: cfg.RetryWaitMax},
		timeout:     cfg.RequestTimeout,
		limits:      cfg.Limits,
		maxBytes:    cfg.MaxResponseBytes,
		transport:   transport,
		redact:      newRedactor(cfg.AppSecret, cfg.Token, cfg.AccessToken),
		log:         cfg.Logger,
	}
	if c.maxBytes == 0 {
		c.maxBytes = DefaultMaxResponseBytes
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}

	return c, nil
}

// Close closes idle connections. The client remains usable.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
}

// Call posts in, which must marshal to a JSON object, and decodes the data of the answer into out, which may be
// nil. It replaces *out, so nothing of an earlier answer remains. If the call fails or returns no data, *out
// does not change. Every error is an [*Error].
func (c *Client) Call(ctx context.Context, api API, in, out any) (Reply, error) {
	call := &call{
		client:    c,
		api:       api,
		url:       c.endpoint + "/" + strings.TrimLeft(api.Path, "/"),
		requestID: newRequestID(),
		out:       out,
		started:   time.Now(),
	}

	req, err := call.newRequest(ctx, in)
	if err != nil {
		return Reply{}, call.finish(call.newError(KindRequest, err))
	}

	// go-retryablehttp runs the loop, and call.checkRetry decides. It has no logger, because a call writes its
	// own log lines.
	loop := retryablehttp.Client{
		HTTPClient: &http.Client{Transport: call, CheckRedirect: keepRedirects},
		RetryMax:   c.retry.max,
		CheckRetry: call.checkRetry,
		Backoff:    call.backoff,
		// Keep the last error, which the library would replace with its own.
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	if _, err := loop.Do(req); err != nil { //nolint:bodyclose // checkRetry reads and closes it
		var failure *Error
		switch {
		case errors.As(err, &failure):
		case ctx.Err() != nil: // while waiting for the next attempt
			failure = call.interrupted(ctx, ctx.Err())
		default:
			failure = call.newError(KindRequest, err)
		}

		return Reply{}, call.finish(failure)
	}

	return Reply{
		RequestID: call.answered,
		Attempts:  call.attempts,
		Elapsed:   time.Since(call.started),
		Resent:    call.reached,
		Older:     call.older,
	}, nil
}

// newRequest returns the request that every attempt of the call sends.
func (c *call) newRequest(ctx context.Context, in any) (*retryablehttp.Request, error) {
	if err := checkOut(c.out); err != nil {
		return nil, err
	}

	body, err := marshalRequest(in)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	c.client.logBody(ctx, c, body)

	if c.client.gateway == ESB {
		body = joinObjects(c.client.credentials, body)
	}

	req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, c.url, body)
	if err != nil {
		return nil, err
	}
	c.client.setHeaders(req.Header, c.requestID)

	return req, nil
}

// newRequestID returns 32 hexadecimal characters, the form that the platform's own clients send.
func newRequestID() string {
	var id [16]byte
	// crypto/rand.Read never returns an error: it ends the program instead.
	_, _ = rand.Read(id[:])

	return hex.EncodeToString(id[:])
}
