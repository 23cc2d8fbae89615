package face_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
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
		{http.MethodPost, "/api/v2/proc/list_agent_state"},
		{http.MethodPost, "/api/v2/cluster/sync_proc_status"},
		{http.MethodPost, "/api/v2/task/async_execute_script"},
		{http.MethodPost, "/api/v2/proc/operate_proc"},
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
