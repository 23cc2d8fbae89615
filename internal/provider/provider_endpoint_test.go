package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Promised in security-model.md: The provider warns of such an endpoint, and follows no redirect.
func TestProvider_warnsOfPlainHTTP(t *testing.T) {
	t.Parallel()
	const (
		secure  = "https://paas.example.com"
		plain   = "http://paas.example.com"
		warning = "WARNING: Credentials Sent in the Clear\n\nConnections to the %s http"
	)
	for name, test := range map[string]struct {
		endpoint, job any
		warned        []string // attributes with a warning
	}{
		"https":        {secure, nil, nil},
		"plain":        {plain, nil, []string{"endpoint"}},
		"plain-port":   {plain + ":8080/path", nil, []string{"endpoint"}},
		"upper-case":   {"HTTP://PAAS.EXAMPLE.COM", nil, []string{"endpoint"}},
		"plain-job":    {secure, plain, []string{"job_endpoint"}},
		"both":         {plain, plain, []string{"endpoint", "job_endpoint"}},
		"private":      {"http://10.0.0.1", nil, []string{"endpoint"}},
		"any-address":  {"http://0.0.0.0", nil, []string{"endpoint"}},
		"lookalike":    {"http://localhost.example.com", nil, []string{"endpoint"}},
		"address-like": {"http://127.0.0.1.example.com", nil, []string{"endpoint"}},
		"localhost":    {"http://localhost:8091", "http://localhost:8091", nil},
		"loopback":     {"http://127.0.0.1:8091", "http://127.0.0.2", nil},
		"loopback-6":   {"http://[::1]:8091", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := providertest.NewProtocol(t).Configure(credentials(map[string]any{"endpoint": test.endpoint, "job_endpoint": test.job}))
			if got := strings.Count(said, "WARNING"); got != len(test.warned) || strings.Contains(said, "ERROR") {
				t.Errorf("%d warnings, want %d: %s", got, len(test.warned), said)
			}
			for _, attribute := range test.warned {
				providertest.Says(t, strings.ReplaceAll(said, "HTTP://", "http://"), fmt.Sprintf(warning, attribute))
			}
		})
	}
}

// Values from the environment get the same warnings as the configuration's.
func TestProvider_warnsOfEnvironment(t *testing.T) {
	t.Setenv("BK_ENDPOINT", "http://paas.example.com")
	t.Setenv("BK_JOB_ENDPOINT", "http://job.example.com")
	t.Setenv("BK_INSECURE_SKIP_VERIFY", "true")
	providertest.Says(t, providertest.NewProtocol(t).Configure(credentials(map[string]any{})),
		"Connections to the endpoint http://paas.example.com are not encrypted", "Connections to the job_endpoint http://job.example.com are not encrypted", "Certificate Not Verified")
}
