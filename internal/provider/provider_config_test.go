package provider_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// statusOnly is the least configuration that makes one call.
const statusOnly = `
data "bk_process_status" "test" {
  meta  = { namespace = "web", name = "nginx" }
  hosts = { a = "0:10.0.0.1" }
  mode  = "cached"
}
`

func TestAccProvider_settings(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	for name, c := range map[string]struct{ settings, want string }{
		"no-endpoint":       {`app_code = "a", app_secret = "b", username = "c"`, `endpoint is not set. Set it in the provider block, or set the environment variable BK_ENDPOINT`},
		"endpoint-relative": {`endpoint = "paas.example.com", app_code = "a", app_secret = "b", username = "c"`, `is not an absolute http or https URL`},
		"no-secret":         {`endpoint = "https://127.0.0.1:1", app_code = "a", username = "c"`, `app_secret is not set`},
		"no-user":           {`endpoint = "https://127.0.0.1:1", app_code = "a", app_secret = "b"`, `No user is set on whose behalf`},
		"two-users":         {`endpoint = "https://127.0.0.1:1", app_code = "a", app_secret = "b", username = "c", token = "d"`, `More than one user identity is set: username, token`},
		"endpoint-user":     {`endpoint = "https://me:pw@127.0.0.1:1", app_code = "a", app_secret = "b", username = "c"`, `Attribute endpoint: has user information`},
		"job-relative":      {`endpoint = "https://127.0.0.1:1", app_code = "a", app_secret = "b", username = "c", job_endpoint = "jobs.example.com"`, `"jobs.example.com" is not an absolute http or https URL`},
		"job-user":          {`endpoint = "https://127.0.0.1:1", app_code = "a", app_secret = "b", username = "c", job_endpoint = "https://me:pw@127.0.0.1:1"`, `Attribute job_endpoint: has user information`},
		"retry-order":       {`endpoint = "https://127.0.0.1:1", app_code = "a", app_secret = "b", username = "c", retry_wait_min = "2s", retry_wait_max = "1s"`, `Attribute retry_wait_max: less than retry_wait_min.`},
		"gateway":           {`gateway = "soap"`, `gateway value must be one of`},
		"job-api":           {`job_api = "jobv9"`, `job_api value must be one of`},
		"supplier":          {`bk_supplier_id = -1`, `at least 0`},
		"retry-wait":        {`retry_wait_min = "1"`, `Invalid Duration`},
		"max-hosts":         {`max_hosts_per_request = 0`, `between 1 and`},
		"rate":              {`requests_per_second = 0`, `Invalid Rate[\s\S]*more than 0 and at most 100000 requests per second; got 0. To set no limit`},
		"no-ca-file":        {`endpoint = "https://127.0.0.1:1", app_code = "a", app_secret = "b", username = "c", ca_cert_file = "/nonexistent.pem"`, `no such file`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{{
					Config:      providertest.ProviderBlock(c.settings) + statusOnly,
					ExpectError: providertest.Wrapped(c.want),
				}},
			})
		})
	}
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("calls were made: %v", calls.APIs())
	}
}

// Each way in which a call can fail gives one diagnostic: what happened, at which
// URL, the request id, and what to do; and no secret.
//
// Promised in reference: only a call that fails as a whole is an error.
func TestAccProvider_callFails(t *testing.T) {
	t.Parallel()
	code := 1306000
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  string
	}{
		"result-false":  {simulator.Fault{EnvelopeCode: &code, EnvelopeMessage: "System error"}, `refused by the platform: System error \(code 1306000, request id \w+\)\.[\s\S]*URL: http://127[\s\S]*quote the request id`},
		"html-page":     {simulator.Fault{HTTPStatus: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html><title>Login</title></html>"}, `is not the platform: HTTP 200 OK[\s\S]*text/html[\s\S]*a login page or a proxy stands in between`},
		"forbidden":     {simulator.Fault{HTTPStatus: 403, Body: `{"code": 1640301, "message": "app has no permission"}`}, `HTTP 403 Forbidden from http://127[\s\S]*app has no permission[\s\S]*does not let it call get_proc_status_v2`},
		"not-found":     {simulator.Fault{HTTPStatus: 404, Body: `404`}, `is not the platform: HTTP 404 Not Found[\s\S]*and gateway, which is (esb|apigw) now`},
		"too-large":     {simulator.Fault{HTTPStatus: 413}, `Lower max_hosts_per_request`},
		"rate-limited":  {simulator.Fault{HTTPStatus: 429}, `HTTP 429[\s\S]*Set requests_per_second`},
		"bad-gateway":   {simulator.Fault{HTTPStatus: 502, Body: "<html>" + longPage + "</html>"}, `HTTP 502 Bad Gateway[\s\S]*5 tries`},
		"lost":          {simulator.Fault{Drop: "after"}, `no usable answer from[\s\S]*5 tries`},
		"redirect":      {simulator.Fault{HTTPStatus: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/login"}}, `redirect to http://127.0.0.1:1 not followed`},
		"broken-answer": {simulator.Fault{Drop: "mid"}, `no usable answer from`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(c.fault)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{{
					Config:      sim.ProviderConfig() + statusOnly,
					ExpectError: providertest.Wrapped(`Unable to Read Process Status[\s\S]*` + c.want),
				}},
			})
		})
	}
}

func TestAccProvider_wrongSecret(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config:      providertest.ProviderBlock(fmt.Sprintf(`endpoint = %q, app_code = %q, app_secret = "wrong", username = "admin"`, sim.URL, simulator.DefaultAppCode)) + statusOnly,
			ExpectError: providertest.Wrapped(`refused by the platform[\s\S]*check app_code and app_secret`),
		}},
	})
	sim.ResetViolations() // a wrong secret is what was to be refused
}

func TestAccProvider_noConnection(t *testing.T) {
	t.Parallel()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config:      providertest.ProviderBlock(`endpoint = "http://127.0.0.1:1", app_code = "a", app_secret = "b", username = "c", max_retries = 1, retry_wait_min = "1ms"`) + statusOnly,
			ExpectError: providertest.Wrapped(`no connection to http://127.0.0.1:1/[\s\S]*connection refused[\s\S]*Check that the provider's endpoint is correct`),
		}},
	})
}

func TestAccProvider_tls(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	sim.Admit(netip.MustParsePrefix("10.0.0.0/8"))
	server := httptest.NewTLSServer(http.Handler(sim))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	block := func(more string) string {
		return providertest.ProviderBlock(fmt.Sprintf(`endpoint = %q, app_code = %q, app_secret = %q, username = "admin", max_retries = 0%s`,
			server.URL, simulator.DefaultAppCode, simulator.DefaultAppSecret, more)) + statusOnly
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: block(""), ExpectError: providertest.Wrapped(`certificate[\s\S]*set ca_cert_file to that authority's certificate`)},
			{Config: block(fmt.Sprintf(", ca_cert_file = %q", file))},
			{Config: block(", insecure_skip_verify = true")},
		},
	})
}

// The environment serves where the configuration says nothing, and an identity
// in the configuration wins over one in the environment.
func TestAccProvider_environment(t *testing.T) {
	sim := providertest.NewSim(t)
	t.Setenv("BK_ENDPOINT", sim.URL)
	t.Setenv("BK_APP_CODE", simulator.DefaultAppCode)
	t.Setenv("BK_APP_SECRET", simulator.DefaultAppSecret)
	t.Setenv("BK_TOKEN", "some-login-token")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: statusOnly},
			{Config: providertest.ProviderBlock(`username = "admin"`) + statusOnly},
		},
	})
}

// Settings that another resource has yet to give do not fail the plan.
func TestAccProvider_unknownSettings(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	block := fmt.Sprintf(`
resource "terraform_data" "secret" {
  input = %q
}
`, simulator.DefaultAppSecret) + providertest.ProviderBlock(fmt.Sprintf(
		`endpoint = %q, app_code = %q, app_secret = terraform_data.secret.output, username = "admin"`, sim.URL, simulator.DefaultAppCode))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{
			Config: block + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String(),
			Check:  resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "0"),
		}},
	})
}
