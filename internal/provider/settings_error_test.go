package provider

import (
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/diagnose"
)

// Errors of the clients' configuration use the names of the provider block.
func TestSettings_configError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"field":         {&bkapi.ConfigError{Field: "MaxRetries", Reason: "negative"}, `max_retries: Attribute max_retries: negative.`},
		"other-fields":  {&bkapi.ConfigError{Field: "Username", Reason: "one of Username, Token and AccessToken is required"}, `username: Attribute username: one of username, token and access_token is required.`},
		"part-of-other": {&bkapi.ConfigError{Field: "AccessToken", Reason: "not together with Token"}, `Attribute access_token: not together with token.`},
		"endpoint":      {&bkapi.ConfigError{Field: "Endpoint", Reason: "has a query"}, `Attribute job_endpoint: has a query.`},
		"no-setting":    {&bkapi.ConfigError{Field: "UserAgent", Reason: "has a control character"}, `UserAgent: has a control character.`},
		"another-error": {errors.New("encoding credentials"), "Encoding credentials."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newSettings().configError(test.err, "job_endpoint")
			said := got.Detail()
			if at, ok := got.(diag.DiagnosticWithPath); ok {
				said = at.Path().String() + ": " + said
			}
			if said != test.want || got.Summary() != diagnose.SummaryInvalidProvider {
				t.Errorf("said %q, want %q", said, test.want)
			}
		})
	}
}
