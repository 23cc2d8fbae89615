package simulator_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Requests that a web page or another machine might send. Each body would have an effect.
var drivers = map[string]struct{ path, body string }{
	"esb":     {"/api/c/compapi/v2/gse/register_proc_info/", simtest.Signed(simtest.FirstBody("register_proc_info", "{}", "10.0.0.1"))},
	"gateway": {"/api/bk-gse/prod/api/v2/proc/operate_proc_v2", simtest.GatewayBody(simulator.OpHost, "{}", simtest.CloudHosts("10.0.0.1"))},
	"job":     {"/api/c/compapi/v2/jobv3/operate_process/", simtest.Signed(simtest.JobBody(1, simtest.JobInfo("", "10.0.0.1")))},
	"control": {"/_sim/faults", `{"http_status":500}`},
}

func TestServer_answersProgramsOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	const here, client = "127.0.0.1:8091", "127.0.0.1:40000"
	from := func(origin string) map[string]string { return map[string]string{"Origin": origin} }
	fetched := func(site string) map[string]string { return map[string]string{"Sec-Fetch-Site": site} }
	same := func(origin string) map[string]string {
		return map[string]string{"Origin": origin, "Sec-Fetch-Site": "same-origin"}
	}
	for name, test := range map[string]struct {
		host, remote string
		header       map[string]string
		answered     bool
		// page is for the simulator's own page, which may use only the control endpoint.
		page bool
	}{
		"loopback":      {here, client, nil, true, false},
		"localhost":     {"localhost:8091", "[::1]:40000", nil, true, false},
		"mapped":        {"[::ffff:127.0.0.1]:8091", "[::ffff:127.0.0.1]:40000", nil, true, false},
		"typed":         {here, client, fetched("none"), true, false},
		"no-name":       {"", client, nil, false, false},
		"rebound-name":  {"evil.example.com:8091", client, nil, false, false},
		"lookalike":     {"127.0.0.1.evil.example.com:8091", client, nil, false, false},
		"localhost.com": {"localhost.evil.example.com", client, nil, false, false},
		"any-address":   {"0.0.0.0:8091", client, nil, false, false},
		"other-machine": {here, "192.0.2.1:40000", nil, false, false},
		"web-page":      {here, client, from("https://evil.example.com"), false, false},
		"own-page":      {here, client, same("http://127.0.0.1:8091"), false, true},
		"by-name":       {"localhost:8091", client, from("http://localhost:8091"), false, true},
		"another-name":  {here, client, from("http://localhost:8091"), false, false},
		"another-wire":  {here, client, from("https://127.0.0.1:8091"), false, false},
		"rebound-page":  {"evil.example.com:8091", client, same("http://evil.example.com:8091"), false, false},
		"sandboxed":     {here, client, from("null"), false, false},
		"local-page":    {here, client, from("http://127.0.0.1:3000"), false, false},
		"no-origin":     {here, client, fetched("cross-site"), false, false},
		"other-port":    {here, client, fetched("same-site"), false, false},
	} {
		for driver, request := range drivers {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				sim.AddHost("0:10.0.0.1")
				rec := call(t, sim, http.MethodPost, request.path, request.body, func(req *http.Request) {
					req.Host, req.RemoteAddr = test.host, test.remote
					// As from a form: for any other type, a browser sends a preflight request.
					req.Header.Set("Content-Type", "text/plain")
					req.Header.Set("X-Bkapi-Authorization", simtest.GatewayAuth)
					for name, value := range test.header {
						req.Header.Set(name, value)
					}
				})
				answered := test.answered || test.page && driver == "control"
				simtest.Want(t, rec.Body.String(), rec.Code == http.StatusOK, answered)
				if !answered && (len(sim.Calls()) > 0 || len(sim.Processes()) > 0) {
					t.Errorf("it had an effect: %v, %v", sim.Calls().APIs(), sim.Processes())
				}
				if answered && driver != "control" {
					simtest.Want(t, "calls", len(sim.Calls()), 1)
				}
			})
		}
	}
}

// The page is available to a browser on this machine, not in a frame of another page, and runs only its
// own script. It is not recorded as a call. If the page asks for the secret, the browser does not ask
// again.
func TestServer_servesItsPage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, site, mode string
		status           int
		header           string
		want             string
	}{
		"page":    {"/", "none", "navigate", http.StatusOK, "Content-Security-Policy", "default-src 'none'; script-src 'sha256-"},
		"framed":  {"/", "cross-site", "navigate", http.StatusForbidden, "Content-Security-Policy", ""},
		"by-hand": {"/_sim/", "none", "navigate", http.StatusUnauthorized, "WWW-Authenticate", "Basic realm="},
		"by-page": {"/_sim/stream", "same-origin", "cors", http.StatusUnauthorized, "WWW-Authenticate", ""},
	} {
		sim := &simulator.Server{AppSecret: "0wn-s3cret"}
		rec := call(t, sim, http.MethodGet, test.path, "", func(req *http.Request) {
			req.Header.Set("Sec-Fetch-Site", test.site)
			req.Header.Set("Sec-Fetch-Mode", test.mode)
		})
		if got := rec.Header().Get(test.header); rec.Code != test.status || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: HTTP %d, %s: %s", name, rec.Code, test.header, got)
		}
		body := rec.Body.String()
		if strings.Contains(body, "0wn-s3cret") || len(sim.Calls()) > 0 {
			t.Errorf("%s: a secret or a call: %v", name, sim.Calls().APIs())
		}
		if name == "page" && (strings.Contains(body, "src=") || strings.Contains(body, "@import") || !strings.Contains(body, "<title>")) {
			t.Error("the page loads something")
		}
	}
}

// With a secret of its own, no request without it changes the simulator.
func TestControl_wantsOwnSecret(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sim          *simulator.Server
		user, secret string
		status       int
	}{
		"default":        {&simulator.Server{}, "", "", http.StatusOK},
		"default-named":  {&simulator.Server{AppSecret: simulator.DefaultAppSecret}, "", "", http.StatusOK},
		"given":          {&simulator.Server{AppSecret: "own"}, simulator.DefaultAppCode, "own", http.StatusOK},
		"given-code":     {&simulator.Server{AppCode: "app", AppSecret: "own"}, "app", "own", http.StatusOK},
		"none":           {&simulator.Server{AppSecret: "own"}, "", "", http.StatusUnauthorized},
		"wrong":          {&simulator.Server{AppSecret: "own"}, simulator.DefaultAppCode, "other", http.StatusUnauthorized},
		"default-secret": {&simulator.Server{AppSecret: "own"}, simulator.DefaultAppCode, simulator.DefaultAppSecret, http.StatusUnauthorized},
		"wrong-code":     {&simulator.Server{AppSecret: "own"}, "app", "own", http.StatusUnauthorized},
	} {
		rec := call(t, test.sim, http.MethodDelete, "/_sim/calls", "", func(req *http.Request) {
			if test.user != "" {
				req.SetBasicAuth(test.user, test.secret)
			}
		})
		simtest.Want(t, name, rec.Code, test.status)
	}
}

// The index shows commands that can be pasted, with the credentials if needed.
func TestControl_indexToPaste(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"":    "\n    curl -s http://127.0.0.1/_sim/processes\n",
		"own": "\n    curl -s -u \"$BK_APP_CODE:$BK_APP_SECRET\" http://127.0.0.1/_sim/processes\n",
	} {
		rec := call(t, &simulator.Server{AppSecret: secret}, http.MethodGet, "/_sim/", "", func(req *http.Request) {
			if secret != "" {
				req.SetBasicAuth(simulator.DefaultAppCode, secret)
			}
		})
		simtest.WantIn(t, "index", rec.Body.String(), want)
	}
}

// call passes a request to a server, from a program on this machine unless prepare says otherwise.
func call(t *testing.T, sim *simulator.Server, method, path, body string, prepare func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	req.RemoteAddr = "127.0.0.1:40000"
	prepare(req)
	rec := httptest.NewRecorder()
	sim.ServeHTTP(rec, req)
	return rec
}
