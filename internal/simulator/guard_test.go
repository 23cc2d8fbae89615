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
var drivers = map[string]struct{ method, path, body, authorization string }{
	"esb": {method: http.MethodPost, path: "/api/c/compapi/v2/gse/register_proc_info/", body: "{" + simtest.Credentials + "," + simtest.FirstBody("register_proc_info", "{}", "10.0.0.1")[1:]},
	"gateway": {
		method: http.MethodPost, path: "/api/bk-gse/prod/api/v2/proc/operate_proc_v2", authorization: "{" + simtest.Credentials + "}",
		body: `{` + simtest.Meta("{}") + `,"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}],"op_type":3,"spec":` + simtest.OperateSpec + `}`,
	},
	"job":     {method: http.MethodPost, path: "/api/c/compapi/v2/jobv3/operate_process/", body: "{" + simtest.Credentials + "," + simtest.JobBody(1, simtest.JobInfo("", "10.0.0.1"))[1:]},
	"control": {method: http.MethodPost, path: "/_sim/faults", body: `{"http_status":500}`},
}

func TestServer_answersProgramsOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		host, remote string
		header       map[string]string
		answered     bool
		// page is for the simulator's own page, which may use only the control endpoint.
		page bool
	}{
		"loopback":      {"127.0.0.1:8091", "127.0.0.1:40000", nil, true, false},
		"localhost":     {"localhost:8091", "[::1]:40000", nil, true, false},
		"mapped":        {"[::ffff:127.0.0.1]:8091", "[::ffff:127.0.0.1]:40000", nil, true, false},
		"typed":         {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Sec-Fetch-Site": "none"}, true, false},
		"no-name":       {"", "127.0.0.1:40000", nil, false, false},
		"rebound-name":  {"evil.example.com:8091", "127.0.0.1:40000", nil, false, false},
		"lookalike":     {"127.0.0.1.evil.example.com:8091", "127.0.0.1:40000", nil, false, false},
		"localhost.com": {"localhost.evil.example.com", "127.0.0.1:40000", nil, false, false},
		"any-address":   {"0.0.0.0:8091", "127.0.0.1:40000", nil, false, false},
		"other-machine": {"127.0.0.1:8091", "192.0.2.1:40000", nil, false, false},
		"web-page":      {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "https://evil.example.com"}, false, false},
		"own-page":      {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "http://127.0.0.1:8091", "Sec-Fetch-Site": "same-origin"}, false, true},
		"by-name":       {"localhost:8091", "127.0.0.1:40000", map[string]string{"Origin": "http://localhost:8091"}, false, true},
		"another-name":  {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "http://localhost:8091"}, false, false},
		"another-wire":  {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "https://127.0.0.1:8091"}, false, false},
		"rebound-page":  {"evil.example.com:8091", "127.0.0.1:40000", map[string]string{"Origin": "http://evil.example.com:8091", "Sec-Fetch-Site": "same-origin"}, false, false},
		"sandboxed":     {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "null"}, false, false},
		"local-page":    {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "http://127.0.0.1:3000"}, false, false},
		"no-origin":     {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Sec-Fetch-Site": "cross-site"}, false, false},
		"other-port":    {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Sec-Fetch-Site": "same-site"}, false, false},
	}
	for driver, request := range drivers {
		for name, test := range tests {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				sim.AddHost("0:10.0.0.1")
				req := httptest.NewRequestWithContext(t.Context(), request.method, request.path, strings.NewReader(request.body))
				req.Host, req.RemoteAddr = test.host, test.remote
				// As from a form: for any other type, a browser sends a preflight request.
				req.Header.Set("Content-Type", "text/plain")
				req.Header.Set("X-Bkapi-Authorization", request.authorization)
				for name, value := range test.header {
					req.Header.Set(name, value)
				}
				rec := httptest.NewRecorder()
				sim.ServeHTTP(rec, req)
				answered := test.answered || test.page && driver == "control"
				if got := rec.Code == http.StatusOK; got != answered {
					t.Errorf("HTTP %d: %s", rec.Code, rec.Body)
				}
				if !answered && (len(sim.Calls()) > 0 || len(sim.Processes()) > 0) {
					t.Errorf("it had an effect: %v, %v", sim.Calls().APIs(), sim.Processes())
				}
				if answered && driver != "control" && len(sim.Calls()) != 1 {
					t.Errorf("calls: %v", sim.Calls().APIs())
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
		path, site string
		status     int
		header     string
		want       string
	}{
		"page":    {"/", "none", http.StatusOK, "Content-Security-Policy", "default-src 'none'; script-src 'sha256-"},
		"framed":  {"/", "cross-site", http.StatusForbidden, "Content-Security-Policy", ""},
		"by-hand": {"/_sim/", "none", http.StatusUnauthorized, "WWW-Authenticate", "Basic realm="},
		"by-page": {"/_sim/stream", "same-origin", http.StatusUnauthorized, "WWW-Authenticate", ""},
	} {
		sim := &simulator.Server{AppSecret: "0wn-s3cret"}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+test.path, nil)
		req.RemoteAddr = "127.0.0.1:40000"
		req.Header.Set("Sec-Fetch-Site", test.site)
		req.Header.Set("Sec-Fetch-Mode", map[bool]string{true: "cors", false: "navigate"}[test.site == "same-origin"])
		rec := httptest.NewRecorder()
		sim.ServeHTTP(rec, req)
		if got := rec.Header().Get(test.header); rec.Code != test.status || !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: HTTP %d, %s: %s", name, rec.Code, test.header, got)
		}
		if strings.Contains(rec.Body.String(), "0wn-s3cret") || len(sim.Calls()) > 0 {
			t.Errorf("%s: a secret or a call: %v", name, sim.Calls().APIs())
		}
		if name == "page" && (strings.Contains(rec.Body.String(), "src=") || strings.Contains(rec.Body.String(), "@import") || !strings.Contains(rec.Body.String(), "<title>")) {
			t.Error("the page loads something")
		}
	}
}

// With a secret of its own, no request without it changes the simulator.
func TestControl_wantsOwnSecret(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
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
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := httptest.NewRequestWithContext(t.Context(), http.MethodDelete, "http://127.0.0.1/_sim/calls", nil)
			req.RemoteAddr = "127.0.0.1:40000"
			if test.user != "" {
				req.SetBasicAuth(test.user, test.secret)
			}
			rec := httptest.NewRecorder()
			test.sim.ServeHTTP(rec, req)
			if rec.Code != test.status {
				t.Errorf("HTTP %d: %s", rec.Code, rec.Body)
			}
		})
	}
}

// The index shows commands that can be pasted, with the credentials if needed.
func TestControl_indexToPaste(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"":    "\n    curl -s http://127.0.0.1/_sim/processes\n",
		"own": "\n    curl -s -u \"$BK_APP_CODE:$BK_APP_SECRET\" http://127.0.0.1/_sim/processes\n",
	} {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/_sim/", nil)
		req.RemoteAddr = "127.0.0.1:40000"
		if secret != "" {
			req.SetBasicAuth(simulator.DefaultAppCode, secret)
		}
		rec := httptest.NewRecorder()
		(&simulator.Server{AppSecret: secret}).ServeHTTP(rec, req)
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("with the secret %q there is no %s in\n%s", secret, want, rec.Body)
		}
	}
}
