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
		got := c.Request(http.MethodPost, path, `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1}}`, map[string]string{"X-Bkapi-Authorization": simtest.GatewayAuth})
		simtest.Want(t, path, []int{got.Status, got.Code}, []int{http.StatusOK, 0})
		simtest.Want(t, path, slices.Sorted(maps.Keys(got.Body)), []string{"code", "data", "message"})
		if got.Header.Get("X-Bkapi-Request-Id") == "" {
			t.Errorf("%s: no request id", path)
		}
		last := c.Sim.Calls().Last()
		simtest.Want(t, path, last.Face+" "+last.API, "apigw sync_proc_status")
	}
}

func TestGateway_notFound(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	for _, route := range []string{
		"POST /api/v2/proc/register_proc_info",
		"POST /api/v2/proc/unregister_proc_info",
		"POST /api/v2/proc/list_agent_state",
		"POST /api/v2/cluster/sync_proc_status",
		"POST /api/v2/task/async_execute_script",
		"POST /api/v2/proc/operate_proc",
		"POST /api/v2/sync_proc_status",
		"GET /api/v2/proc/sync_proc_status",
	} {
		method, path, _ := strings.Cut(route, " ")
		got := c.Request(method, simtest.GatewayStage+path, `{}`, nil)
		simtest.Want(t, route, []int{got.Status, got.Code}, []int{http.StatusNotFound, simulator.CodeGatewayAPINotFound})
		simtest.Want(t, route, got.Message, fmt.Sprintf("API not found [method=%q path=%q]", method, simtest.GatewayStage+path))
		simtest.Want(t, route+": violations", len(c.Sim.Violations()), 1)
		c.Sim.ResetViolations()
	}
}
