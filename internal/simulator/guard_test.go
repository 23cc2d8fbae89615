package simulator_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// What a web page or another machine might send. Each body would have an effect.
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
	}{
		"loopback":      {"127.0.0.1:8091", "127.0.0.1:40000", nil, true},
		"localhost":     {"localhost:8091", "[::1]:40000", nil, true},
		"mapped":        {"[::ffff:127.0.0.1]:8091", "[::ffff:127.0.0.1]:40000", nil, true},
		"typed":         {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Sec-Fetch-Site": "none"}, true},
		"no-name":       {"", "127.0.0.1:40000", nil, false},
		"rebound-name":  {"evil.example.com:8091", "127.0.0.1:40000", nil, false},
		"lookalike":     {"127.0.0.1.evil.example.com:8091", "127.0.0.1:40000", nil, false},
		"localhost.com": {"localhost.evil.example.com", "127.0.0.1:40000", nil, false},
		"any-address":   {"0.0.0.0:8091", "127.0.0.1:40000", nil, false},
		"other-machine": {"127.0.0.1:8091", "192.0.2.1:40000", nil, false},
		"web-page":      {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "https://evil.example.com"}, false},
		"sandboxed":     {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "null"}, false},
		"local-page":    {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Origin": "http://127.0.0.1:3000"}, false},
		"no-origin":     {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Sec-Fetch-Site": "cross-site"}, false},
		"other-port":    {"127.0.0.1:8091", "127.0.0.1:40000", map[string]string{"Sec-Fetch-Site": "same-site"}, false},
	}
	for driver, request := range drivers {
		for name, test := range tests {
			t.Run(driver+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				sim.AddHost("0:10.0.0.1")
				req := httptest.NewRequestWithContext(t.Context(), request.method, request.path, strings.NewReader(request.body))
				req.Host, req.RemoteAddr = test.host, test.remote
				// As a form has it: anything else a browser would ask for first.
				req.Header.Set("Content-Type", "text/plain")
				req.Header.Set("X-Bkapi-Authorization", request.authorization)
				for name, value := range test.header {
					req.Header.Set(name, value)
				}
				rec := httptest.NewRecorder()
				sim.ServeHTTP(rec, req)
				if got := rec.Code == http.StatusOK; got != test.answered {
					t.Errorf("HTTP %d: %s", rec.Code, rec.Body)
				}
				if !test.answered && (len(sim.Calls()) > 0 || len(sim.Processes()) > 0) {
					t.Errorf("it had an effect: %v, %v", sim.Calls().APIs(), sim.Processes())
				}
				if test.answered && driver != "control" && len(sim.Calls()) != 1 {
					t.Errorf("calls: %v", sim.Calls().APIs())
				}
			})
		}
	}
}

// With a secret of its own, nothing moves the simulator without it.
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

// What the index shows can be pasted: with the credentials where it needs them.
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
