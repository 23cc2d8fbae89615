package bkapi

import (
	"fmt"
	"io"
	"log/slog"

	json "github.com/go-json-experiment/json/v1"
)

// Format writes the configuration without its secrets, whatever the verb, because it may be printed, for
// example in a panic.
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

// LogValue does for loggers what Format does for fmt.
func (cfg Config) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("%+v", cfg))
}

// MarshalJSON does for JSON what Format does for fmt.
func (cfg Config) MarshalJSON() ([]byte, error) {
	return json.Marshal(fmt.Sprintf("%+v", cfg))
}

// Format writes only the endpoint.
func (c *Client) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "client of "+c.endpoint)
}

// Redact makes a text from the platform safe to display. Any member of an answer may echo the credentials, or
// contain characters that control a terminal.
func (c *Client) Redact(text string) string {
	return c.redact.text(text)
}
