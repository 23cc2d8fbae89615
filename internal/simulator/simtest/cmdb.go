package simtest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// CMDBPaths are the paths of CMDB's APIs behind the gateway, with %biz for the business and %id for a
// dynamic group.
var CMDBPaths = map[string]string{
	"search_business":               "biz/search/0",
	"search_biz_inst_topo":          "find/topoinst/biz/%biz",
	"search_set":                    "set/search/0/%biz",
	"find_module_batch":             "findmany/module/bk_biz_id/%biz",
	"list_biz_hosts":                "hosts/app/%biz/list_hosts",
	"list_biz_hosts_topo":           "hosts/app/%biz/list_hosts_topo",
	"find_host_by_topo":             "findmany/hosts/by_topo/biz/%biz",
	"find_host_by_service_template": "findmany/hosts/by_service_templates/biz/%biz",
	"search_dynamic_group":          "dynamicgroup/search/%biz",
	"execute_dynamic_group":         "dynamicgroup/data/%biz/%id",
	"list_service_instance_detail":  "findmany/proc/service_instance/details",
	"list_process_instance":         "findmany/proc/process_instance",
	"list_process_detail_by_ids":    "findmany/proc/process_instance/detail/biz/%biz",
	"list_service_template":         "findmany/proc/service_template",
	"list_proc_template":            "findmany/proc/proc_template",
	"list_process_related_info":     "findmany/proc/process_related_info/biz/%biz",
}

// CMDBPath returns the path of an API for a business, or for a dynamic group of it.
func CMDBPath(api string, biz int64, group string) string {
	path := strings.NewReplacer("%biz", strconv.FormatInt(biz, 10), "%id", group).Replace(CMDBPaths[api])
	return "/api/bk-cmdb/prod/api/v3/" + path
}

// NewCMDB serves the CMDB of a topology.
func NewCMDB(t *testing.T, topology string, change ...func(*simulator.Server)) *Client {
	t.Helper()
	declared, err := simulator.ParseTopology([]byte(topology))
	Must(t, err)
	sim := &simulator.Server{Topology: declared}
	for _, change := range change {
		change(sim)
	}
	return NewClient(t, sim)
}

// Ask sends a request to CMDB behind the ESB and behind the gateway, which must answer the same.
func (c *Client) Ask(api, body string) Reply {
	c.T.Helper()
	got := c.AskESB(api, body)
	again := c.AskGateway(api, body)
	delete(got.Body, "request_id")
	Want(c.T, api+" at the gateway", again.Body, got.Body)
	return got
}

// AskESB sends a request to CMDB behind the ESB, with credentials.
func (c *Client) AskESB(api, body string) Reply {
	c.T.Helper()
	return c.Request(http.MethodPost, "/api/c/compapi/v2/cc/"+api+"/", Signed(body), nil)
}

// AskGateway sends a request to CMDB behind the gateway, which needs no user for it.
func (c *Client) AskGateway(api, body string) Reply {
	c.T.Helper()
	var params struct {
		Biz   int64  `json:"bk_biz_id"`
		Group string `json:"id"`
	}
	_ = json.Unmarshal([]byte(body), &params) // a test may send a bad body
	return c.Request(http.MethodPost, CMDBPath(api, params.Biz, params.Group), body, map[string]string{
		"X-Bkapi-Authorization": `{"bk_app_code":"bk_test","bk_app_secret":"s3cret"}`,
	})
}
