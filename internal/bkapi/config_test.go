package bkapi

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
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
	transport, err := newTransport(Config{})
	if err != nil {
		t.Fatal(err)
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
