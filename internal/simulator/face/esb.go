package face

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// esbFace is GSE behind the ESB, first and second generation. Every request is a POST, the body has the
// credentials, and every error of the platform is a 200 with result false. Codes and order of checks are
// those of the open source ESB (TencentBlueKing/legacy-bk-paas, paas2/esb).
type esbFace struct{ Settings }

func (esbFace) Name() string { return "esb" }

func (f esbFace) Read(r *http.Request, api string, raw []byte) (*Request, *Refusal) {
	if !strings.HasPrefix(r.URL.Path, esbPrefix) {
		return nil, &Refusal{
			Status: http.StatusNotFound, Code: CodeAPINotFound, Violation: true,
			Message: "The content does not exist: no face answers " + r.URL.Path,
		}
	}
	body, known := requestShapes[api]
	tree, refused := f.readESB(r, "gse/"+api, known, raw)
	if refused != nil {
		return nil, refused
	}
	var found findings
	if p := body.match("", tree, &found); p != nil {
		return nil, unreadable(p.Error())
	}
	req := translate(api, tree)
	req.Findings = found.texts()
	for _, it := range req.Items {
		// The first generation's keys cannot contain an IPv6 address.
		it.IPv4 = req.Verb == VerbAnswer || it.ByRegistration
	}
	if p := f.overLimit(req); p != nil {
		return nil, unreadable(p.Error())
	}
	return req, nil
}

// readESB makes the ESB's own checks, and returns the body with the credentials still in it.
func (f esbFace) readESB(r *http.Request, component string, known bool, body []byte) (map[string]any, *Refusal) {
	if !known {
		return nil, &Refusal{
			Status: http.StatusOK, Code: CodeAPINotFound, Violation: true,
			Message: "Not found, component class not found: " + component,
		}
	}
	if r.Method != http.MethodPost {
		return nil, &Refusal{
			Status: http.StatusMethodNotAllowed, Code: CodeAPINotFound, Violation: true,
			Message: "Not found, the component does not take " + r.Method,
		}
	}
	decoded, err := jsontree.Decode(body)
	if err != nil {
		return nil, unreadable("the body is not JSON: " + err.Error())
	}
	tree, ok := decoded.(map[string]any)
	if !ok {
		return nil, unreadable("the body is not a JSON object")
	}
	if refused := f.refuseESB(esbCredentials(r.Header, tree)); refused != nil {
		return nil, refused
	}
	return tree, nil
}

func unreadable(what string) *Refusal {
	return &Refusal{
		Status: http.StatusOK, Code: CodeArgumentError, Violation: true,
		Message: "Parameters error, " + what,
	}
}

// firstGeneration are the APIs that answer per host directly.
var firstGeneration = map[string]int{
	"register_proc_info":   core.OpRegister,
	"update_proc_info":     core.OpUpdate,
	"unregister_proc_info": core.OpUnregister,
}

// translate turns a checked body into a request.
func translate(api string, tree map[string]any) *Request {
	req := &Request{API: api}
	switch api {
	case "operate_proc_v2":
		req.Verb = VerbOperate
		req.Items = []*core.Item{itemOf(tree)}
	case "operate_proc":
		it := itemOf(tree)
		it.ByRegistration = true
		req.Verb = VerbOperate
		req.Items = []*core.Item{it}
	case "operate_proc_multi":
		req.Verb = VerbOperate
		list, _ := tree["proc_operate_req"].([]any)
		for _, v := range list {
			req.Items = append(req.Items, itemOf(jsontree.Object(v)))
		}
	case "get_proc_operate_result", "get_proc_operate_result_v2":
		req.Verb = VerbPoll
		req.TaskID = jsontree.String(tree["task_id"])
	case "get_proc_status", "get_proc_status_v2":
		req.Verb = VerbStatus
		req.Items = []*core.Item{itemOf(tree)}
	case "sync_proc_status":
		page := jsontree.Object(tree["page"])
		req.Verb = VerbSync
		req.Namespace = jsontree.String(jsontree.Object(tree["meta"])["namespace"])
		req.Start, req.Limit = int(jsontree.Integer(page["start"])), int(jsontree.Integer(page["limit"]))
	case "list_agent_state", "list_agent_info", "get_agent_info", "get_agent_status":
		req.Verb = VerbAgents
		req.Items = []*core.Item{itemOf(tree)}
	case "get_task_state":
		req.Verb = VerbTask
		req.TaskID = jsontree.String(tree["task_id"])
		ids, _ := tree["agent_id_list"].([]any)
		for _, id := range ids {
			req.AgentIDs = append(req.AgentIDs, jsontree.String(id))
		}
	case "async_execute_script":
		req.Verb = VerbOperate
		req.Items = []*core.Item{scriptItem(tree)}
	case "get_execute_script_result":
		req.Verb = VerbScript
		req.TaskID = jsontree.String(tree["task_id"])
		it, pages := screensOf(tree)
		req.Items, req.pages = []*core.Item{it}, pages
	case "upgrade_to_agent_id":
		req.Verb = VerbUpgrade
		req.Items, req.AgentIDs = upgradeOf(tree)
	default:
		it := itemOf(tree)
		it.Op = firstGeneration[api]
		req.Verb = VerbAnswer
		req.Items = []*core.Item{it}
	}
	return req
}

func (esbFace) Data(req *Request, ans Answer) (code int, message string, data any) {
	// sync_proc_status's document has the supplier, unlike get_proc_status_v2's.
	return gseData(req, ans, esbRows(ans.Rows, req.API != "get_proc_status_v2"), func(r core.Result) string { return esbKey(req, r, ans.Effects.Keys) })
}

// esbKey returns the key of a result. The first generation's has the supplier, unless a fault sets the
// other form.
func esbKey(req *Request, r core.Result, keys string) string {
	host := r.Target.CloudIP()
	first := req.Verb == VerbAnswer || req.API == "get_proc_operate_result"
	if keys == "supplier" || (first && keys != "no-supplier") {
		host = strconv.FormatInt(r.Target.Cloud, 10) + ":" + strconv.FormatInt(r.Target.Supplier, 10) + ":" + r.Target.Spelling
	}
	return host + ":" + r.Namespace + ":" + r.Name
}

// Envelope returns the ESB's envelope for a backend's answer: result says whether code is 0.
func (esbFace) Envelope(code int, message string, data any, requestID string) map[string]any {
	return map[string]any{
		"result": code == 0, "code": code, "message": message, "data": data, "request_id": requestID,
	}
}
