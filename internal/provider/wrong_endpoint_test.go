package provider_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// answers answers every request like this.
func answers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// The first request finds an endpoint that is not the platform: nothing is repeated, saved or tainted.
// The same is true of an application that a gateway does not accept.
//
// Promised in index.md: An address that has accepted no connection yet is tried once.
// Promised in security-model.md: and follows no redirect.
// Promised in security-model.md: Redirects are not followed, so credentials go to the configured
// endpoint only.
func TestWrongEndpoint(t *testing.T) {
	t.Parallel()
	const stranger = "is not the platform: "
	for name, c := range map[string]struct {
		there http.HandlerFunc // nil if no server listens
		said  []string
	}{
		"nobody":   {nil, []string{"no connection to http://127.0.0.1:", "connection refused.", "Check that the provider's endpoint is correct"}},
		"page":     {answers(http.StatusOK, "text/html", "<html><title>Login</title></html>"), []string{stranger + "HTTP 200 OK", "<title>Login</title>", "Check the provider's endpoint"}},
		"page-404": {answers(http.StatusNotFound, "text/html", "<html>404 nginx</html>"), []string{"HTTP 404 Not Found", "404 nginx"}},
		"page-405": {answers(http.StatusMethodNotAllowed, "text/html", "<html>405</html>"), []string{stranger + "HTTP 405 Method Not Allowed", "Check the provider's endpoint"}},
		"redirect": {
			http.RedirectHandler("https://login.example.com/?c_url=x", http.StatusFound).ServeHTTP,
			[]string{stranger + "HTTP 302 Found", "redirect to https://login.example.com not followed", "If the redirect leads to the platform", "so that credentials go nowhere else"},
		},
		"other-service": {answers(http.StatusOK, "application/json", `{"status":"UP"}`), []string{stranger + "HTTP 200 OK", "UP", "Check the provider's endpoint"}},
		"other-data":    {answers(http.StatusOK, "application/json", `{"data":[{"id":1}]}`), []string{stranger + "HTTP 200 OK", "Check the provider's endpoint"}},
		"wrong-secret": {
			answers(http.StatusUnauthorized, "application/json", `{"code":1640101,"message":"App authentication failed [reason=\"app_secret is wrong\"]","data":null,"result":false}`),
			[]string{"App authentication failed", "Check app_code and app_secret."},
		},
		"not-granted": {
			answers(http.StatusForbidden, "application/json", `{"code":1640301,"message":"App has no permission to the resource","data":null,"result":false}`),
			[]string{"App has no permission", "check that the application may call this one"},
		},
	} {
		for _, face := range providertest.Through(t, name, []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB}) {
			t.Run(name+"/"+string(face), func(t *testing.T) {
				t.Parallel()
				var calls atomic.Int64
				endpoint := procapitest.ClosedEndpoint(t)
				if c.there != nil {
					server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						calls.Add(1)
						c.there(w, r)
					}))
					t.Cleanup(server.Close)
					endpoint = server.URL
				}
				settings := (&providertest.Sim{URL: endpoint}).SettingsFor(face)
				// A test cannot wait this long, so a retry shows.
				settings["max_retries"], settings["retry_wait_min"], settings["retry_wait_max"] = nil, "1h", "1h"
				check := func(by, said string) {
					t.Helper()
					providertest.Says(t, said, append(c.said, endpoint+"/")...)
					providertest.SaysNot(t, said, "outcome unknown", "could not be asked", "tries in", simulator.DefaultAppSecret)
					if got := calls.Swap(0); c.there != nil && got != 1 {
						t.Errorf("%s: %d requests, want 1", by, got)
					}
				}
				config := func(more map[string]any) map[string]any { return merged(face.Reference("./start.sh", 3), more) }

				for on, more := range map[providertest.Operation]map[string]any{
					providertest.OnCreate: nil, providertest.OnRun: {"ensure": "running"}, providertest.OnRestart: {"operation": "restart"},
				} {
					core := providertest.ConfiguredWith(t, settings).CoreOf(face.TypeName(on), &providertest.Kept{})
					_, said := core.Apply(config(more))
					check(string(on), said.String())
					if !said.Failed() || !core.State.IsNull() || core.Tainted {
						t.Errorf("%s: failed %t, in state %t, tainted %t", on, said.Failed(), !core.State.IsNull(), core.Tainted)
					}
				}
				_, said := providertest.ConfiguredWith(t, settings).ReadData(face.TypeName(providertest.OnStatus), config(nil))
				check("status", said.String())
				_, end := providertest.ConfiguredWith(t, settings).Invoke(t.Context(), face.TypeName(providertest.OnRestart), config(map[string]any{"operation": "restart"}))
				check("action", end)
			})
		}
	}
}

// A call that the platform itself fails gives one diagnostic, with what happened and what to do.
//
// Promised in reference: only a call that fails as a whole is an error.
func TestProvider_callFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  string
	}{
		"result-false":  {simulator.Fault{EnvelopeCode: new(1306000), EnvelopeMessage: "System error"}, `refused by the platform: System error \(code 1306000, request id \w+\)\.[\s\S]*URL: http://127[\s\S]*quote the request id`},
		"too-large":     {simulator.Fault{HTTPStatus: 413}, `Lower max_hosts_per_request`},
		"rate-limited":  {simulator.Fault{HTTPStatus: 429}, `HTTP 429[\s\S]*Set requests_per_second`},
		"bad-gateway":   {simulator.Fault{HTTPStatus: 502, Body: "<html>" + strings.Repeat("nothing to see here ", 100) + "</html>"}, `HTTP 502 Bad Gateway[\s\S]*5 tries`},
		"lost":          {simulator.Fault{Drop: "after"}, `no usable answer from[\s\S]*5 tries`},
		"broken-answer": {simulator.Fault{Drop: "mid"}, `no usable answer from`},
	} {
		for _, by := range providertest.Through(t, name, []providertest.Face{providertest.FaceESB, providertest.FaceGateway}) {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				sim.Inject(c.fault)
				status := merged(by.Reference("./start.sh", 1), map[string]any{"mode": "cached", "spec": nil})
				_, said := providertest.ConfiguredWith(t, merged(sim.SettingsFor(by), map[string]any{"max_retries": nil})).ReadData(by.TypeName(providertest.OnStatus), status)
				if len(said) != 1 || !said.Failed() || !regexp.MustCompile(`^ERROR: Unable to Read Process Status[\s\S]*`+c.want).MatchString(said.String()) {
					t.Errorf("said: %s", said)
				}
			})
		}
	}
}
