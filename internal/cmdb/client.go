package cmdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	json "github.com/go-json-experiment/json/v1"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
)

// Client calls one CMDB. It is safe for concurrent use.
type Client struct {
	api     *bkapi.Client
	gateway bkapi.Gateway
}

// NewClient returns a client that sends requests through api, to the ESB or to CMDB's own gateway.
func NewClient(api *bkapi.Client, gateway bkapi.Gateway) *Client {
	return &Client{api: api, gateway: gateway}
}

// endpoint is an API: its name, which the ESB uses, and its path at the gateway.
type endpoint struct{ name, path string }

var (
	searchBusiness  = endpoint{"search_business", "/api/v3/biz/search/{bk_supplier_account}"}
	searchTopology  = endpoint{"search_biz_inst_topo", "/api/v3/find/topoinst/biz/{bk_biz_id}"}
	searchSet       = endpoint{"search_set", "/api/v3/set/search/{bk_supplier_account}/{bk_biz_id}"}
	findModules     = endpoint{"find_module_batch", "/api/v3/findmany/module/bk_biz_id/{bk_biz_id}"}
	listHosts       = endpoint{"list_biz_hosts_topo", "/api/v3/hosts/app/{bk_biz_id}/list_hosts_topo"}
	listTemplates   = endpoint{"list_service_template", "/api/v3/findmany/proc/service_template"}
	searchGroups    = endpoint{"search_dynamic_group", "/api/v3/dynamicgroup/search/{bk_biz_id}"}
	executeGroup    = endpoint{"execute_dynamic_group", "/api/v3/dynamicgroup/data/{bk_biz_id}/{id}"}
	listProcesses   = endpoint{"list_process_related_info", "/api/v3/findmany/proc/process_related_info/biz/{bk_biz_id}"}
	listInstances   = endpoint{"list_service_instance_detail", "/api/v3/findmany/proc/service_instance/details"}
	supplierAccount = "0"
)

// params holds the parameters of a request. At the gateway, some of them are in the path.
type params map[string]any

func (p params) with(more params) params {
	merged := maps.Clone(p)
	maps.Copy(merged, more)
	return merged
}

// call calls an API. All calls to CMDB may be repeated.
func (c *Client) call(ctx context.Context, to endpoint, p params, out any) error {
	if strings.Contains(to.path, "{bk_supplier_account}") {
		p = p.with(params{"bk_supplier_account": supplierAccount})
	}
	api := bkapi.API{Name: to.name, Path: "api/c/compapi/v2/cc/" + to.name + "/", Repeatable: true}
	if c.gateway == bkapi.APIGW {
		api.Path, p = to.native(p)
	}
	var data json.RawMessage
	if _, err := c.api.Call(ctx, api, p, &data); err != nil || len(data) == 0 {
		return err
	}
	return decode(data, out, to.name, "data.")
}

// decode decodes a part of an API's answer. at is the path to that part, for errors.
func decode(data json.RawMessage, out any, api, at string) error {
	err := json.Unmarshal(data, out)
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) {
		return fmt.Errorf("the answer of %s has a field of another type than documented: %s is of type %s", api, strings.TrimSuffix(at+odd.Field, "."), odd.Value)
	}
	return err
}

// native returns the path at the gateway, and the parameters that remain for the body.
func (e endpoint) native(p params) (path string, body params) {
	path, body = e.path, maps.Clone(p)
	for name, value := range p {
		if place := "{" + name + "}"; strings.Contains(path, place) {
			path = strings.ReplaceAll(path, place, url.PathEscape(fmt.Sprint(value)))
			delete(body, name)
		}
	}
	return path, body
}

// refusedByESB are the codes with which the ESB itself refuses a call: the user or the application may not
// call the API, or it is missing or switched off. Source: paas2/esb/common/errors.py.
var refusedByESB = []int64{1306402, 1306403, 1306404, 1306405}

// IsProcessInfoRefused reports whether [Client.Processes] failed because the platform did not grant
// list_process_related_info, or does not have it. That API is hidden, so some sites cannot grant it.
// [Client.ProcessesOfInstances] does without it.
func IsProcessInfoRefused(err error) bool {
	var e *bkapi.Error
	if !errors.As(err, &e) || e.API != listProcesses.name || e.Stranger {
		return false
	}
	return IsNoPermission(err) || bkapi.DenialOf(err) == bkapi.DeniedPermission || e.Status == http.StatusNotFound ||
		e.Gateway == bkapi.ESB && slices.Contains(refusedByESB, e.Code)
}

// IsNoPermission reports whether CMDB refused a call for lack of permission. The error names the API.
func IsNoPermission(err error) bool {
	return bkapi.HasCode(err, bkapi.CodeNoPermission)
}
