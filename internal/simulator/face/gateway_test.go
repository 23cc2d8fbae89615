package face_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestGateway_paths(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	for _, path := range []string{
		"/api/v2/proc/sync_proc_status",
		"/api/v2/proc/sync_proc_status/",
		"/api/bk-gse/prod/api/v2/proc/sync_proc_status",
		"/some/where/else/api/v2/proc/sync_proc_status/",
	} {
		got := c.Request(http.MethodPost, path, `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`,
			map[string]string{"X-Bkapi-Authorization": simtest.GatewayAuth})
		if got.Status != http.StatusOK || got.Code != 0 {
			t.Errorf("%s: HTTP %d %v", path, got.Status, got.Body)
		}
		if members := slices.Sorted(maps.Keys(got.Body)); !slices.Equal(members, []string{"code", "data", "message"}) {
			t.Errorf("%s: members %v", path, members)
		}
		if got.Header.Get("X-Bkapi-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
	for _, call := range c.Sim.Calls() {
		if call.Face != "apigw" || call.API != "sync_proc_status" {
			t.Errorf("call %s %s", call.Face, call.API)
		}
	}
}

func TestGateway_notFound(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	tests := [][2]string{
		{http.MethodPost, "/api/v2/proc/register_proc_info"},
		{http.MethodPost, "/api/v2/proc/unregister_proc_info"},
		{http.MethodPost, "/api/v2/cluster/list_agent_state"},
		{http.MethodPost, "/api/v2/sync_proc_status"},
		{http.MethodGet, "/api/v2/proc/sync_proc_status"},
	}
	for _, test := range tests {
		got := c.Request(test[0], simtest.GatewayStage+test[1], `{}`, nil)
		want := fmt.Sprintf("API not found [method=%q path=%q]", test[0], simtest.GatewayStage+test[1])
		if got.Status != http.StatusNotFound || got.Code != simulator.CodeGatewayAPINotFound || got.Message != want {
			t.Errorf("%v: HTTP %d %v", test, got.Status, got.Body)
		}
	}
	if got := len(c.Sim.Violations()); got != len(tests) {
		t.Errorf("%d violations, want %d: %q", got, len(tests), c.Sim.Violations())
	}
	c.Sim.ResetViolations()
}

func TestGateway_credentials(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		header string
		code   int
		reason string // empty for success
	}{
		"username":     {`{"bk_app_code":"app","bk_app_secret":"secret","bk_username":"admin"}`, 0, ""},
		"token":        {`{"bk_app_code":"app","bk_app_secret":"secret","bk_token":"tk"}`, 0, ""},
		"access-token": {`{"bk_app_code":"app","bk_app_secret":"secret","access_token":"at"}`, 0, ""},
		"ticket":       {`{"bk_app_code":"app","bk_app_secret":"secret","bk_ticket":"ti"}`, 0, ""},
		"token-alone":  {`{"access_token":"at"}`, 0, ""},
		"no-header":    {``, simulator.CodeAppUnverified, "app code cannot be empty"},
		"no-code":      {`{"bk_app_secret":"secret"}`, simulator.CodeAppUnverified, "app code cannot be empty"},
		"no-secret":    {`{"bk_app_code":"app"}`, simulator.CodeAppUnverified, "please provide bk_app_secret"},
		"wrong-code":   {`{"bk_app_code":"other","bk_app_secret":"secret","bk_username":"admin"}`, simulator.CodeAppUnverified, "app not found"},
		"wrong-secret": {`{"bk_app_code":"app","bk_app_secret":"guess","bk_username":"admin"}`, simulator.CodeAppUnverified, "bk_app_code or bk_app_secret is incorrect"},
		"no-user":      {`{"bk_app_code":"app","bk_app_secret":"secret"}`, simulator.CodeUserUnverified, "please provide a valid user identity"},
		"wrong-user":   {`{"bk_app_code":"app","bk_app_secret":"secret","bk_username":"eve"}`, simulator.CodeUserUnverified, "bk_username is invalid"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, as400 := range []bool{false, true} {
				c := simtest.NewClient(t, &simulator.Server{AppCode: "app", AppSecret: "secret", Username: "admin", UnverifiedStatus400: as400})
				// What the ESB takes is nothing to a gateway.
				got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status",
					`{"bk_app_code":"app","bk_app_secret":"secret","bk_username":"admin","task_id":""}`,
					map[string]string{"X-Bkapi-Authorization": test.header})
				if test.reason == "" {
					// It got as far as the body.
					if got.Status != http.StatusBadRequest || !strings.Contains(got.Message, "meta: required field is missing") {
						t.Errorf("HTTP %d %v", got.Status, got.Body)
					}
					c.Sim.ResetViolations()
					continue
				}
				status, code := http.StatusUnauthorized, test.code
				if as400 {
					status, code = http.StatusBadRequest, simulator.CodeInvalidArgs
				}
				_, hasResult := got.Body["result"]
				if got.Status != status || got.Code != code || !strings.Contains(got.Message, test.reason) || !hasResult || got.Body["code_name"] == nil {
					t.Errorf("HTTP %d %v, want %d %d with %q", got.Status, got.Body, status, code, test.reason)
				}
				if got.Header.Get("X-Bkapi-Error-Code") != fmt.Sprint(code) || got.Header.Get("X-Bkapi-Error-Message") != got.Message {
					t.Errorf("headers: %v", got.Header)
				}
			}
		})
	}
}

func TestGateway_tenant(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want, given string
		status      int
	}{
		"none":         {"", "", 200},
		"any":          {"", "system", 200},
		"right":        {"system", "system", 200},
		"missing":      {"system", "", 403},
		"another-one":  {"system", "other", 403},
		"case-matters": {"system", "System", 403},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewClient(t, &simulator.Server{TenantID: test.want})
			got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`,
				map[string]string{"X-Bkapi-Authorization": simtest.GatewayAuth, "X-Bk-Tenant-Id": test.given})
			if got.Status != test.status || (got.Status == 403) != (got.Code == simulator.CodeCrossTenant) {
				t.Errorf("HTTP %d %v", got.Status, got.Body)
			}
		})
	}
}

// The ESB reads the gateway's header first, and the older spellings of its own members.
// A gateway reads no credentials in a body.
func TestFaces_credentialsOfTheOther(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	sync := `"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`
	poll := `"bk_biz_id":2,"bk_gse_taskid":"GSETASK:1"}`
	older := `"app_code":"bk_test","app_secret":"s3cret","username":"admin",`
	for path, body := range map[string]string{"gse/sync_proc_status/": sync, "jobv3/get_proc_result/": poll, "job/get_proc_result": poll} {
		for name, test := range map[string]struct {
			before string
			header string
			code   int
		}{
			"header":       {"", simtest.GatewayAuth, 0},
			"header-first": {`"bk_app_code":"bk_test","bk_app_secret":"s3cret","bk_username":"admin",`, `{"bk_app_code":"other"}`, simulator.CodeSystemError},
			"older":        {older, "", 0},
			"neither":      {"", "", simulator.CodeSystemError},
		} {
			got := c.Request(http.MethodPost, "/api/c/compapi/v2/"+path, "{"+test.before+body, map[string]string{"X-Bkapi-Authorization": test.header})
			if got.Status != http.StatusOK || got.Code != test.code {
				t.Errorf("%s with %s: HTTP %d %v", path, name, got.Status, got.Body)
			}
		}
	}
	c.Sim.ResetViolations() // no document has the older spellings
	got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status", "{"+simtest.Credentials+","+sync, nil)
	if got.Status != http.StatusUnauthorized || got.Code != simulator.CodeAppUnverified {
		t.Errorf("gateway: HTTP %d %v", got.Status, got.Body)
	}
}

func TestGateway_refusesAnOddHeader(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	for header, want := range map[string]string{
		`bk_test`: "X-Bkapi-Authorization is not JSON",
		`{"bk_app_code":"bk_test","bk_app_secret":12345678,"bk_username":"me"}`: "X-Bkapi-Authorization.bk_app_secret: want a string",
	} {
		got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status", `{}`, map[string]string{"X-Bkapi-Authorization": header})
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Message, want) {
			t.Errorf("%s: HTTP %d %v", header, got.Status, got.Body)
		}
	}
	c.Sim.ResetViolations()
}
