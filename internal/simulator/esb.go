package simulator

import (
	"net/http"
	"strconv"
	"strings"
)

// esbFace is GSE behind the ESB, first and second generation: everything is
// POST, credentials travel in the body, and every error of the platform is a
// 200 with result false. Codes and order of checks are those of the open source
// ESB (TencentBlueKing/legacy-bk-paas, paas2/esb).
type esbFace struct{}

func (esbFace) name() string { return "esb" }

func (esbFace) read(s *Server, r *http.Request, api string, body []byte) (*request, *refusal) {
	if !strings.HasPrefix(r.URL.Path, esbPrefix) {
		return nil, &refusal{
			status: http.StatusNotFound, code: CodeAPINotFound, violation: true,
			message: "The content does not exist: no face answers " + r.URL.Path,
		}
	}
	fields, known := requestShapes[api]
	tree, refused := s.readESB(r, "gse/"+api, known, body)
	if refused != nil {
		return nil, refused
	}
	if p := object(with(fields, credentialFields)).match("", tree); p != nil {
		return nil, unreadable(p.Error())
	}
	req := translate(api, tree)
	for _, it := range req.items {
		// The first generation's keys cannot hold an IPv6 address.
		it.ipv4 = req.verb == verbAnswer
	}
	if p := s.overLimit(req); p != nil {
		return nil, unreadable(p.Error())
	}
	return req, nil
}

// readESB does what the ESB does for every system behind it, and returns the
// body with the credentials still in it.
func (s *Server) readESB(r *http.Request, component string, known bool, body []byte) (map[string]any, *refusal) {
	if !known {
		return nil, &refusal{
			status: http.StatusOK, code: CodeAPINotFound, violation: true,
			message: "Not found, component class not found: " + component,
		}
	}
	if r.Method != http.MethodPost {
		return nil, &refusal{
			status: http.StatusMethodNotAllowed, code: CodeAPINotFound, violation: true,
			message: "Not found, the component does not take " + r.Method,
		}
	}
	decoded, err := decodeTree(body)
	if err != nil {
		return nil, unreadable("the body is not JSON: " + err.Error())
	}
	tree, ok := decoded.(map[string]any)
	if !ok {
		return nil, unreadable("the body is not a JSON object")
	}
	if refused := s.refuseESB(tree); refused != nil {
		return nil, refused
	}
	return tree, nil
}

func unreadable(what string) *refusal {
	return &refusal{
		status: http.StatusOK, code: CodeArgumentError, violation: true,
		message: "Parameters error, " + what,
	}
}

// overLimit refuses a request with more hosts than MaxHostsPerRequest.
func (s *Server) overLimit(req *request) *problem {
	if s.MaxHostsPerRequest <= 0 {
		return nil
	}
	for _, it := range req.items {
		if len(it.targets) > s.MaxHostsPerRequest {
			return &problem{"hosts", strconv.Itoa(len(it.targets)) + " hosts are more than " + strconv.Itoa(s.MaxHostsPerRequest)}
		}
	}
	return nil
}

// firstGeneration are the APIs that answer per host directly.
var firstGeneration = map[string]int{
	"register_proc_info":   opRegister,
	"update_proc_info":     opUpdate,
	"unregister_proc_info": opUnregister,
}

// translate turns a checked body into a request.
func translate(api string, tree map[string]any) *request {
	req := &request{api: api}
	switch api {
	case "operate_proc_v2":
		req.verb = verbOperate
		req.items = []*item{itemOf(tree)}
	case "operate_proc_multi":
		req.verb = verbOperate
		list, _ := tree["proc_operate_req"].([]any)
		for _, v := range list {
			req.items = append(req.items, itemOf(objectOf(v)))
		}
	case "get_proc_operate_result_v2":
		req.verb = verbPoll
		req.taskID = stringOf(tree["task_id"])
	case "get_proc_status_v2":
		req.verb = verbStatus
		req.items = []*item{itemOf(tree)}
	case "sync_proc_status":
		page := objectOf(tree["page"])
		req.verb = verbSync
		req.namespace = stringOf(objectOf(tree["meta"])["namespace"])
		req.start, req.limit = int(integerOf(page["start"])), int(integerOf(page["limit"]))
	default:
		it := itemOf(tree)
		it.op = firstGeneration[api]
		req.verb = verbAnswer
		req.items = []*item{it}
	}
	return req
}

func (esbFace) data(req *request, ans answer) (code int, message string, data any) {
	if req.verb == verbSync {
		// Its document has the supplier, unlike get_proc_status_v2's.
		for i := range ans.rows {
			ans.rows[i].Host.SupplierID = &ans.rows[i].supplier
		}
	}
	return gseData(req, ans, func(r result) string { return esbKey(req.verb, r, ans.keys) })
}

// esbKey is the key of a result map: the first generation's has the supplier,
// unless a fault asks for the other form.
func esbKey(v verb, r result, keys string) string {
	host := r.target.cloudIP()
	if keys == "supplier" || (v == verbAnswer && keys != "no-supplier") {
		host = strconv.FormatInt(r.target.cloud, 10) + ":" + strconv.FormatInt(r.target.supplier, 10) + ":" + r.target.spelling
	}
	return host + ":" + r.namespace + ":" + r.name
}

// envelope is what the ESB makes of a backend's answer: result says whether
// code is 0.
func (esbFace) envelope(code int, message string, data any, requestID string) map[string]any {
	return map[string]any{
		"result": code == 0, "code": code, "message": message, "data": data, "request_id": requestID,
	}
}
