package face

import (
	"cmp"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// gatewayFace is GSE 2.0 behind the API gateway. A header has the credentials, hosts may be named by
// agent ids, and an answer of GSE has no result. A refusal by the gateway itself has an HTTP status; its
// form is that of the open source gateway (TencentBlueKing/blueking-apigateway-apisix). It is an
// invention that bk-gse's gateway answers a malformed body through its own bk-request-validation.
//
// There is no register_proc_info and no unregister_proc_info: clients use op 3 and op 4 instead. So op 3
// registers and hosts, and replaces the spec and the labels. Op 4 removes the registration and the
// hosting.
type gatewayFace struct{ Settings }

// gatewayPrefix is the part of a path after the address of the gateway's stage.
const gatewayPrefix = "/api/v2/"

const (
	authorizationHeader = "X-Bkapi-Authorization"
	tenantHeader        = "X-Bk-Tenant-Id"
)

// gatewayAPI returns the name of the API in a path, or, if its folder is wrong, the folder and the name.
func gatewayAPI(address string) string {
	_, rest, _ := strings.Cut(address, gatewayPrefix)
	rest = strings.TrimSuffix(rest, "/")
	folder, name := path.Split(rest)
	if folder = strings.TrimSuffix(folder, "/"); folder == gatewayFolder(name) || folder == "proc" {
		return name
	}
	return rest
}

// gatewayFolders are the folders of APIs that are not about processes.
var gatewayFolders = map[string]string{
	"list_agent_state": "cluster", "list_agent_info": "cluster", "get_task_state": "task",
	"async_execute_script": scriptFolder, "get_execute_script_result": scriptFolder,
}

const scriptFolder = "task/extensions"

func gatewayFolder(api string) string { return cmp.Or(gatewayFolders[api], "proc") }

func (gatewayFace) Name() string { return "apigw" }

func (f gatewayFace) Read(r *http.Request, api string, raw []byte) (*Request, *Refusal) {
	body, known := gatewayShapes[api]
	known = known && strings.Contains(r.URL.Path, gatewayPrefix+gatewayFolder(api)+"/"+api)
	if !known || r.Method != http.MethodPost {
		// A gateway answers the same for an unknown name and an unknown method.
		refused := gatewayRefusal(http.StatusNotFound, CodeGatewayAPINotFound, "API_NOT_FOUND",
			"API not found [method="+strconv.Quote(r.Method)+" path="+strconv.Quote(r.URL.Path)+"]", "")
		refused.Violation = true
		return nil, refused
	}
	var found findings
	if refused := f.refuseAuthorization(r.Header, &found); refused != nil {
		return nil, refused
	}
	if refused := f.refuseTenant(r.Header.Get(tenantHeader)); refused != nil {
		return nil, refused
	}
	tree, err := jsontree.Decode(raw)
	if err != nil {
		return nil, misfit("the body is not JSON: " + err.Error())
	}
	if p := body.match("", tree, &found); p != nil {
		return nil, misfit(p.Error())
	}
	req := translate(api, jsontree.Object(tree))
	req.Findings = found.texts()
	for _, it := range req.Items {
		it.Whole = true
	}
	if p := f.overLimit(req); p != nil {
		return nil, misfit(p.Error())
	}
	return req, nil
}

func (f gatewayFace) refuseAuthorization(header http.Header, found *findings) *Refusal {
	given := header.Get(authorizationHeader)
	if given == "" {
		return f.refuseGateway(nil)
	}
	tree, err := jsontree.Decode([]byte(given))
	if err != nil {
		return misfit(authorizationHeader + " is not JSON: " + err.Error())
	}
	if p := object(credentialFields).match(authorizationHeader, tree, found); p != nil {
		return misfit(p.Error())
	}
	return f.refuseGateway(jsontree.Object(tree))
}

// refuseTenant acts as bk-tenant-validate for an application of all tenants and a gateway of one.
func (f gatewayFace) refuseTenant(given string) *Refusal {
	reason := ""
	switch {
	case f.TenantID == "" || given == f.TenantID:
		return nil
	case given == "":
		reason = "Cross-tenant calls are not allowed: header X-Bk-Tenant-Id is required and should not be empty."
	default:
		reason = "Cross-tenant calls are not allowed: gateway belongs to tenant " + f.TenantID + ", header tenant_id is " + given + "."
	}
	return gatewayRefusal(http.StatusForbidden, CodeCrossTenant, "CROSS_TENANT_FORBIDDEN", "Cross tenant forbidden", reason)
}

// misfit refuses a request that no document allows.
func misfit(what string) *Refusal {
	refused := invalidArgs(what)
	refused.Violation = true
	return refused
}

func invalidArgs(reason string) *Refusal {
	return gatewayRefusal(http.StatusBadRequest, CodeInvalidArgs, "INVALID_ARGS", "Parameters error", reason)
}

func gatewayRefusal(status, code int, codeName, message, reason string) *Refusal {
	if reason != "" {
		message += ` [reason="` + reason + `"]`
	}
	return &Refusal{
		Status: status, Code: code, Message: message,
		Header: map[string]string{
			"X-Bkapi-Error-Code":    strconv.Itoa(code),
			"X-Bkapi-Error-Message": strings.Map(headerRune, message),
		},
		Body: map[string]any{
			"code": code, "code_name": codeName, "message": message, "data": nil, "result": false,
		},
	}
}

// headerRune drops characters that would end a header.
func headerRune(r rune) rune {
	if r < ' ' {
		return -1
	}
	return r
}

func (f gatewayFace) Data(req *Request, ans Answer) (code int, message string, data any) {
	switch {
	case req.Verb == VerbScript && !ans.Queued:
		return core.CodeOK, "", map[string]any{"result": f.scriptRows(req, ans.Scripts)}
	case req.API == "async_execute_script":
		return core.CodeOK, "", map[string]any{"result": map[string]any{"task_id": ans.TaskID}}
	}
	return gseData(req, ans, f.rows(ans.Rows, ans.Effects.Rows), func(r core.Result) string { return gatewayKey(r, ans.Effects.Keys) })
}

func gatewayKey(r core.Result, keys string) string {
	return gatewayHost(r, keys) + ":" + r.Namespace + ":" + r.Name
}

// gatewayHost returns the host's name in the request, or its other name if a fault says so and it has one.
func gatewayHost(r core.Result, keys string) string {
	host := r.Target.Agent
	switch {
	case keys == "address" && r.Target.IP.IsValid(), host == "" && (keys != "agent" || r.AgentID == ""):
		host = r.Target.CloudIP()
	case keys == "agent" && r.AgentID != "":
		host = r.AgentID
	}
	return host
}

// Envelope returns GSE's own envelope, which the gateway passes on unchanged.
func (gatewayFace) Envelope(code int, message string, data any, _ string) map[string]any {
	return map[string]any{"code": code, "message": message, "data": data}
}
