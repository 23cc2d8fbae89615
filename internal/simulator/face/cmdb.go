package face

import (
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// cmdbESBPrefix is the path of CMDB's APIs behind the ESB. There the body has everything: the
// credentials, and the variables of the native path.
const cmdbESBPrefix = "/api/c/compapi/v2/cc/"

// cmdbPrefix is the part of CMDB's paths after the address of its gateway's stage.
const cmdbPrefix = "/api/v3/"

// cmdbPaths are the native paths of CMDB's APIs, by their names behind the ESB.
var cmdbPaths = map[string]string{
	"search_business":               "biz/search/{bk_supplier_account}",
	"search_biz_inst_topo":          "find/topoinst/biz/{bk_biz_id}",
	"search_set":                    "set/search/{bk_supplier_account}/{bk_biz_id}",
	"find_module_batch":             "findmany/module/bk_biz_id/{bk_biz_id}",
	"list_biz_hosts":                "hosts/app/{bk_biz_id}/list_hosts",
	"list_biz_hosts_topo":           "hosts/app/{bk_biz_id}/list_hosts_topo",
	"find_host_by_topo":             "findmany/hosts/by_topo/biz/{bk_biz_id}",
	"find_host_by_service_template": "findmany/hosts/by_service_templates/biz/{bk_biz_id}",
	"search_dynamic_group":          "dynamicgroup/search/{bk_biz_id}",
	"execute_dynamic_group":         "dynamicgroup/data/{bk_biz_id}/{id}",
	"list_service_instance_detail":  "findmany/proc/service_instance/details",
	"list_process_instance":         "findmany/proc/process_instance",
	"list_process_detail_by_ids":    "findmany/proc/process_instance/detail/biz/{bk_biz_id}",
	"list_service_template":         "findmany/proc/service_template",
	"list_proc_template":            "findmany/proc/proc_template",
	"list_process_related_info":     "findmany/proc/process_related_info/biz/{bk_biz_id}",
}

// cmdbPatterns match native paths, by the names of their APIs.
var cmdbPatterns = func() map[string]*regexp.Regexp {
	patterns := make(map[string]*regexp.Regexp, len(cmdbPaths))
	variable := regexp.MustCompile(`\\\{(\w+)\\\}`)
	for name, path := range cmdbPaths {
		patterns[name] = regexp.MustCompile(`/api/v3/` + variable.ReplaceAllString(regexp.QuoteMeta(path), `(?P<$1>[^/]+)`) + `/?$`)
	}
	return patterns
}()

// nativeCMDB returns the name of an API by its native path, and the variables in the path.
func nativeCMDB(path string) (name string, variables map[string]string) {
	for name, pattern := range cmdbPatterns {
		found := pattern.FindStringSubmatch(path)
		if found == nil {
			continue
		}
		variables := make(map[string]string)
		for i, variable := range pattern.SubexpNames() {
			if variable != "" {
				variables[variable] = found[i]
			}
		}
		return name, variables
	}
	_, rest, _ := strings.Cut(path, cmdbPrefix)
	return strings.TrimSuffix(rest, "/"), nil
}

// cmdbFace is CMDB behind the ESB, which passes on CMDB's own answers with the permission in them.
type cmdbFace struct{ esbFace }

func (f cmdbFace) Read(r *http.Request, api string, body []byte) (*Request, *Refusal) {
	_, known := cmdbPaths[api]
	tree, refused := f.readESB(r, "cc/"+api, known, body)
	if refused != nil {
		return nil, refused
	}
	params := maps.Clone(tree)
	for name := range credentialFields {
		delete(params, name)
	}
	return &Request{API: api, Verb: VerbAsk, Params: params}, nil
}

func (cmdbFace) Data(_ *Request, ans Answer) (code int, message string, data any) { return ans.Asked() }

func (cmdbFace) Envelope(code int, message string, data any, requestID string) map[string]any {
	return map[string]any{
		"result": code == 0, "code": code, "message": message, "data": data, "permission": nil, "request_id": requestID,
	}
}

// cmdbGatewayFace is CMDB behind the API gateway. It requires an application but no user. Its answers
// have result, as behind the ESB.
type cmdbGatewayFace struct{ gatewayFace }

func (f cmdbGatewayFace) Read(r *http.Request, _ string, raw []byte) (*Request, *Refusal) {
	name, variables := nativeCMDB(r.URL.Path)
	if _, known := cmdbPaths[name]; !known || r.Method != http.MethodPost {
		refused := gatewayRefusal(http.StatusNotFound, CodeGatewayAPINotFound, "API_NOT_FOUND",
			"API not found [method="+strconv.Quote(r.Method)+" path="+strconv.Quote(r.URL.Path)+"]", "")
		refused.Violation = true
		return nil, refused
	}
	var found findings
	if refused := f.refuseAuthorization(r.Header, &found); refused != nil && refused.Code != CodeUserUnverified {
		return nil, refused
	}
	if refused := f.refuseTenant(r.Header.Get(tenantHeader)); refused != nil {
		return nil, refused
	}
	params := make(map[string]any)
	// An API with everything in its path reads no body.
	if len(raw) > 0 || name != "search_biz_inst_topo" {
		tree, err := jsontree.Decode(raw)
		if err != nil {
			return nil, misfit("the body is not JSON: " + err.Error())
		}
		given, ok := tree.(map[string]any)
		if !ok {
			return nil, misfit("the body is not a JSON object")
		}
		params = maps.Clone(given)
		for credential := range credentialFields {
			if _, has := given[credential]; has {
				found.add(credential, "unknown field")
				delete(params, credential)
			}
		}
	}
	for variable, value := range variables {
		params[variable] = pathValue(variable, value)
	}
	return &Request{API: name, Verb: VerbAsk, Params: params, Findings: found.texts()}, nil
}

// pathValue returns a path's variable with its type in a body.
func pathValue(variable, value string) any {
	if variable != "bk_biz_id" {
		return value
	}
	id, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return value
	}
	return id
}

func (cmdbGatewayFace) Data(_ *Request, ans Answer) (code int, message string, data any) {
	return ans.Asked()
}

// Envelope names code and message as CMDB's API server does for a gateway. A server from before it
// supported gateways uses its own names.
func (f cmdbGatewayFace) Envelope(code int, message string, data any, _ string) map[string]any {
	if f.OldCMDB {
		return map[string]any{"result": code == 0, "bk_error_code": code, "bk_error_msg": message, "data": data, "permission": nil}
	}
	return map[string]any{"result": code == 0, "code": code, "message": message, "data": data, "permission": nil}
}
