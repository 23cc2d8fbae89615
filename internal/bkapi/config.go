package bkapi

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Gateway says how credentials are sent to the platform.
type Gateway string

// The two gateways of BlueKing.
const (
	// ESB is the older bus: credentials are members of the JSON body.
	ESB Gateway = "esb"
	// APIGW is the API gateway: credentials are a JSON object in a header.
	APIGW Gateway = "apigw"
)

// Gateways returns every gateway, the default one first.
func Gateways() []Gateway {
	return []Gateway{ESB, APIGW}
}

// DefaultMaxResponseBytes bounds an answer if Config sets no bound. A result for 1,000 hosts is about 1 MiB.
const DefaultMaxResponseBytes = 64 << 20

// Config configures a [Client]. Endpoint, Gateway, AppCode, AppSecret and exactly one of Username, Token and
// AccessToken are required.
type Config struct {
	// Endpoint is the absolute http or https URL that API paths are joined to.
	// It may have a path, but no query, fragment or user information.
	Endpoint string
	// Setting names the user's setting that Endpoint comes from, for advice about errors.
	Setting string
	Gateway Gateway

	AppCode     string
	AppSecret   string
	Username    string
	Token       string
	AccessToken string

	// TenantID is sent as X-Bk-Tenant-Id if it is set.
	TenantID  string
	UserAgent string

	// MaxRetries is the maximum number of retries, so a call makes at most MaxRetries+1 attempts. Zero means none.
	MaxRetries int
	// RetryWaitMin and RetryWaitMax bound the wait before a retry, unless the server asks for a longer one. If
	// RetryWaitMin is zero there is no wait.
	RetryWaitMin time.Duration
	RetryWaitMax time.Duration

	// RequestTimeout limits one attempt, including reading the answer. The context limits the whole call. Zero
	// means no limit.
	RequestTimeout time.Duration

	// Limits is shared by all clients of one provider instance. Nil means no limits.
	Limits *Limits

	// CACert holds PEM certificates to trust in addition to those of the system.
	CACert             []byte
	InsecureSkipVerify bool

	// MaxResponseBytes bounds an answer after decompression. Zero means DefaultMaxResponseBytes.
	MaxResponseBytes int64

	// Dial makes connections. Nil means [net.Dialer.DialContext].
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`

	// Logger receives a line for each attempt. Nil discards them.
	Logger *slog.Logger
}

// ConfigError names the invalid field of a [Config] and the reason. It never quotes the value, which may
// contain a secret.
type ConfigError struct {
	Field  string
	Reason string
}

// Error returns the name of the field and the reason.
func (e *ConfigError) Error() string {
	return e.Field + ": " + e.Reason
}

// validate returns an error for the first invalid field.
func (cfg Config) validate() error {
	if err := validateEndpoint(cfg.Endpoint); err != nil {
		return err
	}

	switch {
	case !slices.Contains(Gateways(), cfg.Gateway):
		return &ConfigError{"Gateway", `neither "esb" nor "apigw"`}
	case cfg.AppCode == "":
		return &ConfigError{"AppCode", "required"}
	case cfg.AppSecret == "":
		return &ConfigError{"AppSecret", "required"}
	case cfg.MaxRetries < 0:
		return &ConfigError{"MaxRetries", "negative"}
	case cfg.RetryWaitMin < 0:
		return &ConfigError{"RetryWaitMin", "negative"}
	case cfg.RetryWaitMax < cfg.RetryWaitMin:
		return &ConfigError{"RetryWaitMax", "less than RetryWaitMin"}
	case cfg.RequestTimeout < 0:
		return &ConfigError{"RequestTimeout", "negative"}
	case cfg.MaxResponseBytes < 0:
		return &ConfigError{"MaxResponseBytes", "negative"}
	case hasControl(cfg.TenantID):
		return &ConfigError{"TenantID", "has a control character"}
	case hasControl(cfg.UserAgent):
		return &ConfigError{"UserAgent", "has a control character"}
	}

	return cfg.validateUser()
}

// validateUser allows exactly one identity, because the gateways differ in which of two they use.
func (cfg Config) validateUser() error {
	var set []string
	for _, user := range []struct{ field, value string }{
		{"Username", cfg.Username},
		{"Token", cfg.Token},
		{"AccessToken", cfg.AccessToken},
	} {
		if user.value != "" {
			set = append(set, user.field)
		}
	}

	switch len(set) {
	case 0:
		return &ConfigError{"Username", "one of Username, Token and AccessToken is required"}
	case 1:
		return nil
	default:
		return &ConfigError{set[1], "not together with " + set[0]}
	}
}

func validateEndpoint(endpoint string) error {
	// The error of url.Parse is dropped, because it quotes the URL, which may contain a password.
	u, err := url.Parse(endpoint)

	switch {
	case endpoint == "":
		return &ConfigError{"Endpoint", "required"}
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return &ConfigError{"Endpoint", "not an absolute http or https URL"}
	case u.User != nil:
		return &ConfigError{"Endpoint", "has user information; credentials have fields of their own"}
	case u.RawQuery != "" || u.ForceQuery:
		return &ConfigError{"Endpoint", "has a query"}
	case u.Fragment != "" || strings.HasSuffix(endpoint, "#"):
		return &ConfigError{"Endpoint", "has a fragment"}
	}

	return nil
}

// hasControl reports whether s has a control character and so cannot be the value of a header.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
