package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A redirect is not followed, and the error names its target.
//
// Promised in security-model.md: and follows no redirect.
// Promised in security-model.md: Redirects are not followed, so credentials go to the configured
// endpoint only.
func TestProvider_followsNoRedirect(t *testing.T) {
	t.Parallel()
	for _, gateway := range bkapi.Gateways() {
		for _, status := range []int{301, 302, 303, 307, 308} {
			t.Run(fmt.Sprintf("%s/%d", gateway, status), func(t *testing.T) {
				t.Parallel()
				var received atomic.Int64
				target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
				t.Cleanup(target.Close)
				sim := providertest.NewSim(t)
				sim.Inject(simulator.Fault{HTTPStatus: status, Header: map[string]string{"Location": target.URL + "/login?back=1"}})
				p := providertest.NewProtocol(t)
				settings := sim.Settings()
				settings["gateway"] = string(gateway)
				if said := p.Configure(settings); said != "" {
					t.Fatal(said)
				}
				said := p.CachedStatus(t.Context())
				for _, want := range []string{"redirect to " + target.URL + " not followed", "so that credentials go nowhere else"} {
					if !strings.Contains(said, want) {
						t.Errorf("said %q, want %q", said, want)
					}
				}
				if n := received.Load(); n > 0 {
					t.Errorf("the target got %d requests", n)
				}
				if n := len(sim.Calls()); n != 1 {
					t.Errorf("the endpoint got %d requests, want 1", n)
				}
			})
		}
	}
}

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
			said := providertest.NewProtocol(t).Configure(map[string]any{
				"endpoint": test.endpoint, "job_endpoint": test.job, "app_code": "a", "app_secret": "b", "username": "c",
			})
			if got := strings.Count(said, "WARNING"); got != len(test.warned) || strings.Contains(said, "ERROR") {
				t.Errorf("%d warnings, want %d: %s", got, len(test.warned), said)
			}
			for _, attribute := range test.warned {
				if want := fmt.Sprintf(warning, attribute); !strings.Contains(strings.ReplaceAll(said, "HTTP://", "http://"), want) {
					t.Errorf("said %q, want a warning of %s", said, attribute)
				}
			}
		})
	}
}

// An error about a URL does not quote the password in it.
func TestProvider_quotesNoPassword(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{
		"https://user:s3same@paas.example.com", "http://user:s3same@paas.example.com", "https://user:s3same@[::1", "ftp://user:s3same@paas.example.com",
		"user:s3same@paas.example.com", "https://user:s3same@", "https://paas.example.com/?token=s3same@", "https://s3same@paas.example.com",
	} {
		for _, attribute := range []string{"endpoint", "job_endpoint"} {
			settings := map[string]any{"endpoint": "https://paas.example.com", "app_code": "a", "app_secret": "b", "username": "c"}
			settings[attribute] = endpoint
			said := providertest.NewProtocol(t).Configure(settings)
			if !strings.Contains(said, "ERROR") || strings.Contains(said, "s3same") {
				t.Errorf("%s %s: said %q", attribute, endpoint, said)
			}
		}
	}
}

// Values from the environment get the same warnings as the configuration's.
func TestProvider_warnsOfEnvironment(t *testing.T) {
	t.Setenv("BK_ENDPOINT", "http://paas.example.com")
	t.Setenv("BK_JOB_ENDPOINT", "http://job.example.com")
	t.Setenv("BK_INSECURE_SKIP_VERIFY", "true")
	said := providertest.NewProtocol(t).Configure(map[string]any{"app_code": "a", "app_secret": "b", "username": "c"})
	for _, want := range []string{"Connections to the endpoint http://paas.example.com are not encrypted", "Connections to the job_endpoint http://job.example.com are not encrypted", "Certificate Not Verified"} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
	t.Setenv("BK_INSECURE_SKIP_VERIFY", "perhaps")
	if said := providertest.NewProtocol(t).Configure(map[string]any{"app_code": "a", "app_secret": "b", "username": "c"}); !strings.Contains(said, `ERROR: Invalid Provider Setting`) || !strings.Contains(said, "perhaps") {
		t.Errorf("said %q", said)
	}
}
