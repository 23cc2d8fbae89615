package simulator_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestGateway_paths(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	for _, path := range []string{
		"/api/v2/proc/sync_proc_status",
		"/api/v2/proc/sync_proc_status/",
		"/api/bk-gse/prod/api/v2/proc/sync_proc_status",
		"/some/where/else/api/v2/proc/sync_proc_status/",
	} {
		got := c.request(http.MethodPost, path, `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`,
			map[string]string{"X-Bkapi-Authorization": gatewayAuth})
		if got.status != http.StatusOK || got.code != 0 {
			t.Errorf("%s: HTTP %d %v", path, got.status, got.body)
		}
		if members := slices.Sorted(maps.Keys(got.body)); !slices.Equal(members, []string{"code", "data", "message"}) {
			t.Errorf("%s: members %v", path, members)
		}
		if got.header.Get("X-Bkapi-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
	}
	for _, call := range c.sim.Calls() {
		if call.Face != "apigw" || call.API != "sync_proc_status" {
			t.Errorf("call %s %s", call.Face, call.API)
		}
	}
}

func TestGateway_notFound(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	tests := [][2]string{
		{http.MethodPost, "/api/v2/proc/register_proc_info"},
		{http.MethodPost, "/api/v2/proc/unregister_proc_info"},
		{http.MethodPost, "/api/v2/cluster/list_agent_state"},
		{http.MethodPost, "/api/v2/sync_proc_status"},
		{http.MethodGet, "/api/v2/proc/sync_proc_status"},
	}
	for _, test := range tests {
		got := c.request(test[0], gatewayStage+test[1], `{}`, nil)
		want := fmt.Sprintf("API not found [method=%q path=%q]", test[0], gatewayStage+test[1])
		if got.status != http.StatusNotFound || got.code != simulator.CodeGatewayAPINotFound || got.message != want {
			t.Errorf("%v: HTTP %d %v", test, got.status, got.body)
		}
	}
	if got := len(c.sim.Violations()); got != len(tests) {
		t.Errorf("%d violations, want %d: %q", got, len(tests), c.sim.Violations())
	}
	c.sim.ResetViolations()
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
				c := newClient(t, &simulator.Server{AppCode: "app", AppSecret: "secret", Username: "admin", UnverifiedStatus400: as400})
				// What the ESB takes is nothing to a gateway.
				got := c.request(http.MethodPost, "/api/v2/proc/sync_proc_status",
					`{"bk_app_code":"app","bk_app_secret":"secret","bk_username":"admin"}`,
					map[string]string{"X-Bkapi-Authorization": test.header})
				if test.reason == "" {
					// It got as far as the body.
					if got.status != http.StatusBadRequest || !strings.Contains(got.message, "unknown field") {
						t.Errorf("HTTP %d %v", got.status, got.body)
					}
					c.sim.ResetViolations()
					continue
				}
				status, code := http.StatusUnauthorized, test.code
				if as400 {
					status, code = http.StatusBadRequest, simulator.CodeInvalidArgs
				}
				_, hasResult := got.body["result"]
				if got.status != status || got.code != code || !strings.Contains(got.message, test.reason) || !hasResult || got.body["code_name"] == nil {
					t.Errorf("HTTP %d %v, want %d %d with %q", got.status, got.body, status, code, test.reason)
				}
				if got.header.Get("X-Bkapi-Error-Code") != fmt.Sprint(code) || got.header.Get("X-Bkapi-Error-Message") != got.message {
					t.Errorf("headers: %v", got.header)
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
			c := newClient(t, &simulator.Server{TenantID: test.want})
			got := c.request(http.MethodPost, "/api/v2/proc/sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`,
				map[string]string{"X-Bkapi-Authorization": gatewayAuth, "X-Bk-Tenant-Id": test.given})
			if got.status != test.status || (got.status == 403) != (got.code == simulator.CodeCrossTenant) {
				t.Errorf("HTTP %d %v", got.status, got.body)
			}
		})
	}
}

func TestFaces_credentialsOfTheOther(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	header := map[string]string{"X-Bkapi-Authorization": gatewayAuth}
	sync := `"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`
	for _, path := range []string{"gse/sync_proc_status/", "jobv3/get_proc_result/", "job/get_proc_result"} {
		got := c.request(http.MethodPost, "/api/c/compapi/v2/"+path, "{"+sync, header)
		if got.status != http.StatusOK || got.code != simulator.CodeSystemError || !strings.Contains(got.message, "[bk_app_code] cannot be empty") {
			t.Errorf("%s: HTTP %d %v", path, got.status, got.body)
		}
	}
	got := c.request(http.MethodPost, "/api/v2/proc/sync_proc_status", "{"+credentials+","+sync, nil)
	if got.status != http.StatusUnauthorized || got.code != simulator.CodeAppUnverified {
		t.Errorf("gateway: HTTP %d %v", got.status, got.body)
	}
}
