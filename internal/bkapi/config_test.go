package bkapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		cfg := Config{
			Endpoint: "https://paas.example.com", Gateway: ESB,
			AppCode: "bk-test", AppSecret: "s3cr3t", Username: "admin",
		}
		test.set(&cfg)
		_, err := New(cfg)
		var field string
		if bad := (*ConfigError)(nil); errors.As(err, &bad) {
			field = bad.Field
		}
		if field != test.want || (err == nil) != (test.want == "") {
			t.Errorf("%s: got %v, want a ConfigError for %q", name, err, test.want)
		}
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
	if reflect.ValueOf(transport.Proxy).Pointer() != reflect.ValueOf(http.ProxyFromEnvironment).Pointer() {
		t.Error("the proxy is not taken from the environment")
	}
	if transport.Protocols.HTTP2() || !transport.Protocols.HTTP1() {
		t.Errorf("speaks %s, want HTTP/1 only", transport.Protocols)
	}
	if transport.TLSClientConfig.InsecureSkipVerify {
		t.Error("the server is not verified")
	}
}

// Limits of requests at once, of requests per second, and of both: a request that has no turn in time keeps no slot.
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
			if _, err := limits.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the deadline", err)
			}
		}
		start, fourPerSecond := time.Now(), NewLimits(0, 4)
		for range 9 {
			began(fourPerSecond)()
		}
		// The first starts at once, the other eight at intervals of a quarter of a second.
		if took := time.Since(start).Round(time.Millisecond); took != 2*time.Second {
			t.Errorf("nine requests at four per second began within %s, want 2s", took)
		}
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
		if got := retryAfter(answer{status: test.status, header: header}, now); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"1", "-1", "9223372036854775808", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "soon", ""} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ans := answer{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {value}}}
		if wait := retryAfter(ans, time.Unix(0, 0)); wait < 0 || wait > maxRetryAfter {
			t.Errorf("%q is a wait of %s", value, wait)
		}
	})
}
