package bkapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func TestNew_config(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"good":                 {func(*Config) {}, ""},
		"good-with-path":       {func(c *Config) { c.Endpoint = "https://bkapi.example.com/api/bk-gse/prod" }, ""},
		"no-endpoint":          {func(c *Config) { c.Endpoint = "" }, "Endpoint"},
		"endpoint-relative":    {func(c *Config) { c.Endpoint = "paas.example.com" }, "Endpoint"},
		"endpoint-scheme":      {func(c *Config) { c.Endpoint = "ftp://paas.example.com" }, "Endpoint"},
		"endpoint-no-host":     {func(c *Config) { c.Endpoint = "https://:443/x" }, "Endpoint"},
		"endpoint-query":       {func(c *Config) { c.Endpoint += "?s3cr3t" }, "Endpoint"},
		"endpoint-empty-query": {func(c *Config) { c.Endpoint += "?" }, "Endpoint"},
		"endpoint-fragment":    {func(c *Config) { c.Endpoint += "#" }, "Endpoint"},
		"endpoint-user":        {func(c *Config) { c.Endpoint = "https://u:s3cr3t@paas.example.com" }, "Endpoint"},
		"endpoint-unparsable":  {func(c *Config) { c.Endpoint = "https://u:s3cr3t@[::1" }, "Endpoint"},
		"no-gateway":           {func(c *Config) { c.Gateway = "" }, "Gateway"},
		"other-gateway":        {func(c *Config) { c.Gateway = "esb2" }, "Gateway"},
		"no-app-code":          {func(c *Config) { c.AppCode = "" }, "AppCode"},
		"no-app-secret":        {func(c *Config) { c.AppSecret = "" }, "AppSecret"},
		"no-user":              {func(c *Config) { c.Username = "" }, "Username"},
		"two-users":            {func(c *Config) { c.Token = "s3cr3t" }, "Token"},
		"two-tokens":           {func(c *Config) { c.Username, c.Token, c.AccessToken = "", "s3cr3t", "s3cr3t" }, "AccessToken"},
		"tenant-newline":       {func(c *Config) { c.TenantID = "a\nb" }, "TenantID"},
		"user-agent-newline":   {func(c *Config) { c.UserAgent = "a\r\nb" }, "UserAgent"},
		"retries":              {func(c *Config) { c.MaxRetries = -1 }, "MaxRetries"},
		"wait-min":             {func(c *Config) { c.RetryWaitMin = -1 }, "RetryWaitMin"},
		"wait-max":             {func(c *Config) { c.RetryWaitMin = time.Second }, "RetryWaitMax"},
		"timeout":              {func(c *Config) { c.RequestTimeout = -1 }, "RequestTimeout"},
		"max-bytes":            {func(c *Config) { c.MaxResponseBytes = -1 }, "MaxResponseBytes"},
		"ca-cert":              {func(c *Config) { c.CACert = []byte("s3cr3t") }, "CACert"},
	} {
		cfg := Config{Endpoint: "https://paas.example.com", Gateway: ESB, AppCode: "bk-test", AppSecret: "s3cr3t", Username: "admin"}
		test.set(&cfg)
		_, err := New(cfg)
		var field string
		if bad := (*ConfigError)(nil); errors.As(err, &bad) {
			field = bad.Field
		}
		procapitest.Check(t, field == test.want && (err == nil) == (test.want == ""), "%s: got %v, want a ConfigError for %q", name, err, test.want)
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: the value is quoted: %v", name, err)
		}
	}
}

func TestNew_transport(t *testing.T) {
	t.Parallel()
	made, err := Transport(Config{})
	transport, is := made.(*http.Transport)
	if !is || !transport.DisableCompression {
		t.Fatalf("got %v, %v", made, err)
	}
	// The environment is read once per process, so only the function can be checked.
	procapitest.Check(t, reflect.ValueOf(transport.Proxy).Pointer() == reflect.ValueOf(http.ProxyFromEnvironment).Pointer(),
		"the proxy is not taken from the environment")
	procapitest.Check(t, !transport.Protocols.HTTP2() && transport.Protocols.HTTP1(), "speaks %s, want HTTP/1 only", transport.Protocols)
	procapitest.Check(t, !transport.TLSClientConfig.InsecureSkipVerify, "the server is not verified")
}

// Limits of concurrent requests, of requests per second, and of both. A request that does not get its turn in time takes no slot.
func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := func(limits *Limits) func() {
			release, err := limits.acquire(t.Context())
			procapitest.NoError(t, err)
			return release
		}
		waits := func(limits *Limits) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := limits.acquire(ctx)
			procapitest.Check(t, errors.Is(err, context.DeadlineExceeded), "got %v, want the deadline", err)
		}
		start, fourPerSecond := time.Now(), NewLimits(0, 4)
		for range 9 {
			began(fourPerSecond)()
		}
		// The first starts at once, the other eight at intervals of a quarter of a second.
		took := time.Since(start).Round(time.Millisecond)
		procapitest.Check(t, took == 2*time.Second, "nine requests at four per second began within %s, want 2s", took)
		one, slowly := NewLimits(1, 0), NewLimits(1, 0.1)
		release := began(one)
		waits(one)
		release()
		began(one)()
		began(slowly)()
		waits(slowly)
		began(slowly)()
	})
}

func TestRetryPolicy_wait(t *testing.T) {
	t.Parallel()
	p := retryPolicy{waitMin: time.Second, waitMax: 30 * time.Second}
	for name, test := range map[string]struct {
		policy          retryPolicy
		attempt         int
		asked           time.Duration
		atLeast, atMost time.Duration
	}{
		"first":            {p, 1, 0, time.Second, 2 * time.Second},
		"third":            {p, 3, 0, 4 * time.Second, 8 * time.Second},
		"capped":           {p, 6, 0, 15 * time.Second, 30 * time.Second},
		"thousandth":       {p, 1000, 0, 15 * time.Second, 30 * time.Second},
		"asked":            {p, 1, time.Minute, time.Minute, time.Minute},
		"asked-for-little": {p, 1, time.Millisecond, time.Second, 2 * time.Second},
		"one-length":       {retryPolicy{waitMin: time.Second, waitMax: time.Second}, 4, 0, time.Second, time.Second},
		"none":             {retryPolicy{}, 4, 0, 0, 0},
	} {
		for range 200 {
			if got := test.policy.wait(test.attempt, test.asked); got < test.atLeast || got > test.atMost {
				t.Fatalf("%s: got %s, want %s to %s", name, got, test.atLeast, test.atMost)
			}
		}
	}
}

// Promised in limits.md: A platform that answers HTTP 429 is given the pause that it asks for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		status int
		value  string
		want   time.Duration
	}{
		"seconds":         {429, "7", 7 * time.Second},
		"with-blanks":     {429, " 7 ", 7 * time.Second},
		"unavailable":     {503, "7", 7 * time.Second},
		"date":            {429, "Wed, 01 May 2024 12:00:30 GMT", 30 * time.Second},
		"date-in-past":    {429, "Wed, 01 May 2024 11:00:30 GMT", 0},
		"missing":         {429, "", 0},
		"negative":        {429, "-7", 0},
		"nonsense":        {429, "soon", 0},
		"too-long":        {429, "86400", time.Hour},
		"overflows":       {429, "99999999999999999999", 0},
		"date-too-far":    {429, "Wed, 01 May 2030 12:00:30 GMT", time.Hour},
		"other-status":    {502, "7", 0},
		"status-is-a-yes": {200, "7", 0},
	} {
		header := http.Header{}
		header.Set("Retry-After", test.value)
		procapitest.WantEqual(t, name, test.want, retryAfter(answer{status: test.status, header: header}, now))
	}
}

func TestParseEnvelope(t *testing.T) {
	t.Parallel()
	for _, success := range []string{
		`{"result":true,"code":"0","data":1}`, `{"result":true,"code":"00","data":1}`, `{"result":true,"code":"","data":1}`,
		`{"result":true,"code":null,"data":1}`, `{"result":true,"data":1}`, `{"code":0.0,"data":1}`, `{"result":null,"code":0,"data":1}`,
		`{"result":true,"code":0,"error":null,"data":1}`, `{"result":true,"code":0,"error":"","data":1}`,
		`{"result":true,"code":0,"permission":null,"data":1}`, " \n{\"code\":0,\"data\":1}\n ",
	} {
		got, err := parseEnvelope([]byte(success))
		diff := cmp.Diff(envelope{ok: true, data: []byte("1")}, got, cmp.AllowUnexported(envelope{}))
		procapitest.Check(t, err == nil && diff == "", "%s: %v (-want +got): %s", success, err, diff)
	}
	for name, test := range map[string]struct {
		body string
		want envelope
	}{
		"esb":     {`{"result":true,"code":0,"message":"ok","data":1}`, envelope{ok: true, message: "ok"}},
		"gateway": {`{"code":0,"message":"ok","data":1}`, envelope{ok: true, message: "ok"}},
		"legacy":  {`{"bk_error_code":0,"bk_error_msg":"ok","data":1}`, envelope{ok: true, message: "ok", older: true}},

		"success-is-false":   {`{"code":0,"success":false,"message":"no","data":1}`, envelope{message: "no"}},
		"queued":             {`{"result":false,"code":1000115,"message":"redis","data":1}`, envelope{code: 1000115, message: "redis"}},
		"gateway-no":         {`{"code":1640301,"message":"no","data":1}`, envelope{code: 1640301, message: "no"}},
		"false-with-zero":    {`{"result":false,"code":0,"message":"no","data":1}`, envelope{message: "no"}},
		"false-without-code": {`{"result":false,"message":"no","data":1}`, envelope{message: "no"}},
		"false-as-text":      {`{"result":"false","code":"","data":1}`, envelope{}},
		"true-with-code":     {`{"result":true,"code":7,"data":1}`, envelope{code: 7}},
		"code-as-text":       {`{"code":"1000115","data":1}`, envelope{code: 1000115}},
		"code-as-float":      {`{"code":1.000115e6,"data":1}`, envelope{code: 1000115}},
		"code-negative":      {`{"code":-1,"data":1}`, envelope{code: -1}},
		"code-a-word":        {`{"code":"DENIED","message":"no","data":1}`, envelope{message: "DENIED no"}},
		"code-a-bool":        {`{"code":true,"data":1}`, envelope{message: "true"}},
		"message-object":     {`{"code":7,"message":{"ip":["bad"]},"data":1}`, envelope{code: 7, message: `{"ip":["bad"]}`}},
		"message-null":       {`{"code":7,"message":null,"data":1}`, envelope{code: 7}},
		"legacy-no":          {`{"bk_error_code":115,"bk_error_msg":"no","data":1}`, envelope{code: 115, message: "no", older: true}},
		"legacy-behind-code": {`{"code":"","bk_error_code":"115","data":1}`, envelope{code: 115}},
		"legacy-against-0":   {`{"code":0,"bk_error_code":115,"data":1}`, envelope{code: 115}},
		"gateway-error":      {`{"error":{"code":"UNAUTHENTICATED","message":"no"},"data":1}`, envelope{message: "UNAUTHENTICATED no"}},
		"gateway-code":       {`{"error":{"code":1642901},"data":1}`, envelope{code: 1642901}},
		"request-id":         {`{"code":7,"request_id":"r1","data":1}`, envelope{code: 7, requestID: "r1"}},
	} {
		got, err := parseEnvelope([]byte(test.body))
		if err != nil {
			t.Fatal(name, err)
		}
		test.want.data = []byte("1")
		procapitest.WantEqual(t, name, test.want, got, cmp.AllowUnexported(envelope{}))
	}
}

// An answer without result and code is accepted if it has a message and data that is not empty.
func TestParseEnvelope_bare(t *testing.T) {
	t.Parallel()
	got, err := parseEnvelope([]byte(`{"message":"ok","data":{"a":1}}`))
	procapitest.Check(t, err == nil && got.ok && string(got.data) == `{"a":1}`, "got %+v, %v", got, err)
}

func TestParseEnvelope_isNone(t *testing.T) {
	t.Parallel()
	deep := `{"code":0,"data":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + "}"
	for _, body := range []string{
		"", " \r\n", "<html></html>", `[{"code":0}]`, `"ok"`, "null", "{}", `{"message":"not found"}`, `{"data":1}`,
		`{"error":null}`, `{"error":"boom"}`,
		`{"success":false,"message":"login required","data":null}`, `{"status":500,"message":"upstream timed out","data":{}}`,
		`{"message":"no route to backend","data":null}`, `{"message":"ok","data":1}`, `{"success":true,"message":"ok","data":{"a":1}}`, `{"result":true,"code":0,"data":{"a":`, `{"code":0}{"code":0}`, deep,
	} {
		got, err := parseEnvelope([]byte(body))
		procapitest.Check(t, err != nil, "%.40s: got %+v, want an error", body, got)
	}
}

func FuzzParseEnvelope(f *testing.F) {
	f.Add([]byte(`{"result":true,"code":"00","message":null,"data":{},"error":{"code":1}}`))
	f.Add([]byte(`{"code":1e400}`))
	f.Add([]byte(`{"code":0,"data":{"a":{"n":1,"s":"x"},"b":null},"request_id":"r"}`))
	f.Add([]byte(`{"result":true,"data":{"a":{"n":"1"}},"error":{"message":"m","data":1}}`))
	f.Add([]byte(`{"Code":0,"DATA":{"a":{}},"message":"m"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		type data map[string]*struct {
			N int
			S string
		}
		var atOnce, out data
		plain, read := readAtOnce(body, &atOnce)
		env, err := parseEnvelope(body)
		if err == nil && env.ok && env.code != 0 {
			t.Errorf("ok with code %d", env.code)
		}
		if err == nil {
			err = decodeData(env.data, &out)
		}
		env.data = nil
		if twice := bytes.Count(bytes.ToLower(body), []byte("data")) > 1 || bytes.ContainsAny(body, `\ſ`); !read || twice {
			return
		}
		diff := cmp.Diff(env, plain, cmp.AllowUnexported(envelope{})) + cmp.Diff(out, atOnce)
		procapitest.Check(t, err == nil && diff == "", "read at once and in two steps: %v %s", err, diff)
	})
}
