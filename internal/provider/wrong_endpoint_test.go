package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
		"redirect": {http.RedirectHandler("https://login.example.com/?c_url=x", http.StatusFound).ServeHTTP,
			[]string{stranger + "HTTP 302 Found", "redirect to https://login.example.com not followed", "If the redirect leads to the platform"}},
		"other-service": {answers(http.StatusOK, "application/json", `{"status":"UP"}`), []string{stranger + "HTTP 200 OK", "UP", "Check the provider's endpoint"}},
		"other-data":    {answers(http.StatusOK, "application/json", `{"data":[{"id":1}]}`), []string{stranger + "HTTP 200 OK", "Check the provider's endpoint"}},
		"wrong-secret": {answers(http.StatusUnauthorized, "application/json", `{"code":1640101,"message":"App authentication failed [reason=\"app_secret is wrong\"]","data":null,"result":false}`),
			[]string{"App authentication failed", "Check app_code and app_secret."}},
		"not-granted": {answers(http.StatusForbidden, "application/json", `{"code":1640301,"message":"App has no permission to the resource","data":null,"result":false}`),
			[]string{"App has no permission", "check that the application may call this one"}},
	} {
		for _, face := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
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
				gateway := "esb"
				if face == providertest.FaceGateway {
					gateway = "apigw"
				}
				fresh := func() *providertest.Protocol {
					calls.Store(0)
					return providertest.ConfiguredWith(t, map[string]any{
						"endpoint": endpoint, "app_code": simulator.DefaultAppCode, "app_secret": simulator.DefaultAppSecret, "username": "admin",
						// A test cannot wait this long, so a retry shows.
						"gateway": gateway, "retry_wait_min": "1h", "retry_wait_max": "1h",
					})
				}
				check := func(by string, said fmt.Stringer) {
					t.Helper()
					for _, want := range append(c.said, endpoint+"/") {
						if !strings.Contains(said.String(), want) {
							t.Errorf("%s does not say %q:\n%s", by, want, said)
						}
					}
					for _, wrong := range []string{"outcome unknown", "could not be asked", "tries in", simulator.DefaultAppSecret} {
						if strings.Contains(said.String(), wrong) {
							t.Errorf("%s says %q:\n%s", by, wrong, said)
						}
					}
					if want := int64(1); c.there != nil && calls.Load() != want {
						t.Errorf("%s: %d requests, want %d", by, calls.Load(), want)
					}
				}

				for _, on := range []providertest.Operation{providertest.OnCreate, providertest.OnRun, providertest.OnRestart} {
					core := fresh().CoreOf(face.TypeName(on), &providertest.Kept{})
					config := face.Reference("./start.sh", 3)
					switch on {
					case providertest.OnRestart:
						config["operation"] = "restart"
					case providertest.OnRun:
						config["ensure"] = "running"
					default:
					}
					_, said := core.Apply(config)
					check(string(on), said)
					if !said.Failed() || !core.State.IsNull() || core.Tainted {
						t.Errorf("%s: failed %t, in state %t, tainted %t", on, said.Failed(), !core.State.IsNull(), core.Tainted)
					}
				}

				p := fresh()
				_, said := p.ReadData(face.TypeName(providertest.OnStatus), face.Reference("./start.sh", 3))
				check("status", said)

				config := face.Reference("./start.sh", 3)
				config["operation"] = "restart"
				_, end := fresh().Invoke(t.Context(), face.TypeName(providertest.OnRestart), config)
				check("action", text(end))
			})
		}
	}
}

// text is an error with this text.
type text string

func (t text) String() string { return string(t) }
