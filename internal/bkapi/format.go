package bkapi

import (
	"fmt"
	"io"
	"log/slog"

	json "github.com/go-json-experiment/json/v1"
)

// Format writes the configuration without its secrets, for any verb: sooner or later it is printed, at
// least in a panic.
func (cfg Config) Format(state fmt.State, verb rune) {
	type formatted Config // has no methods, which ends the recursion
	for _, secret := range []*string{&cfg.AppSecret, &cfg.Token, &cfg.AccessToken} {
		if *secret != "" {
			*secret = redacted
		}
	}
	cfg.Endpoint = urlPassword.ReplaceAllString(cfg.Endpoint, "://"+redacted+"@")
	_, _ = fmt.Fprintf(state, fmt.FormatString(state, verb), formatted(cfg))
}

// LogValue is for loggers what Format is for fmt.
func (cfg Config) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("%+v", cfg))
}

// MarshalJSON is for JSON what Format is for fmt.
func (cfg Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(fmt.Sprintf("%+v", cfg))
}

// Format names only the endpoint.
func (c *Client) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "client of "+c.endpoint)
}

// Redact makes a text of the platform safe to display. Any member of an answer may echo the credentials,
// and contain characters that control a terminal.
func (c *Client) Redact(text string) string {
	return c.redact.text(text)
}
