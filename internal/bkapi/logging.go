package bkapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// LevelTrace is the level of request bodies, below [slog.LevelDebug].
const LevelTrace = slog.LevelDebug - 4

// maxLoggedBytes bounds a request body in the log.
const maxLoggedBytes = 16 << 10

// fieldsKey is the key of log fields in a context.
type fieldsKey struct{}

// WithLogFields returns a context in which every call is logged with these fields as well. Only the caller
// knows what a call is for.
func WithLogFields(ctx context.Context, fields ...slog.Attr) context.Context {
	return context.WithValue(ctx, fieldsKey{}, append(logFields(ctx), fields...))
}

func logFields(ctx context.Context) []slog.Attr {
	fields, _ := ctx.Value(fieldsKey{}).([]slog.Attr)

	return slices.Clip(fields)
}

// logBody logs the request of the caller, before the credentials are added. It redacts them all the same,
// because a start command may contain the same token.
func (c *Client) logBody(ctx context.Context, call *call, body []byte) {
	if !c.log.Enabled(ctx, LevelTrace) {
		return
	}

	c.log.LogAttrs(ctx, LevelTrace, "calling API",
		slog.String("api", call.api.Name),
		slog.String("url", call.url),
		slog.String("request_id", call.requestID),
		slog.String("body", cut(c.redact.text(string(body)), maxLoggedBytes)),
	)
}

// logAttempt writes one line for each attempt, without values that are the same for most attempts. It never
// logs the body of an answer. The caller may decode an answer into a [slog.LogValuer], which chooses what to
// log.
func (c *Client) logAttempt(
	ctx context.Context, call *call, ans answer, env envelope, failure *Error, took time.Duration,
) {
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}

	code, requestID := env.code, call.requestIDOf(ans, env)
	if failure != nil {
		code, requestID = failure.Code, failure.RequestID
	}

	attrs := []slog.Attr{
		slog.String("api", call.api.Name),
		slog.Int64("code", code),
		slog.Int64("ms", took.Milliseconds()),
		slog.String("request_id", requestID),
	}
	if call.attempts > 1 {
		attrs = append(attrs, slog.Int("attempt", call.attempts))
	}
	if ans.status != http.StatusOK {
		attrs = append(attrs, slog.Int("status", ans.status))
	}
	attrs = append(attrs, logFields(ctx)...)
	if out, ok := call.out.(slog.LogValuer); ok && failure == nil {
		for _, attr := range out.LogValue().Group() {
			attrs = append(attrs, slog.String(attr.Key, c.Redact(attr.Value.String())))
		}
	}
	if failure != nil {
		attrs = append(attrs, slog.String("kind", string(failure.Kind)))
	}

	c.log.LogAttrs(ctx, slog.LevelDebug, "called API", attrs...)
}

func (c *Client) logRetry(ctx context.Context, call *call, failure *Error) {
	c.log.LogAttrs(ctx, slog.LevelWarn, "repeating API call",
		slog.String("api", call.api.Name),
		slog.Int("attempt", call.attempts),
		slog.Int64("wait_ms", call.wait.Milliseconds()),
		slog.String("request_id", failure.RequestID),
		slog.String("reason", failure.brief()),
	)
}
