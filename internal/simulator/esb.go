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
	if !known {
		return nil, &refusal{
			status: http.StatusOK, code: CodeAPINotFound, violation: true,
			message: "Not found, component class not found: gse/" + api,
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
	if message := s.refuseCredentials(tree); message != "" {
		return nil, &refusal{status: http.StatusOK, code: CodeSystemError, message: message}
	}
	if p := object(with(fields, credentialFields)).match("", tree); p != nil {
		return nil, unreadable(p.Error())
	}
	req := translate(api, tree)
	if p := s.overLimit(req); p != nil {
		return nil, unreadable(p.Error())
	}
	return req, nil
}

func unreadable(what string) *refusal {
	return &refusal{
		status: http.StatusOK, code: CodeArgumentError, violation: true,
		message: "Parameters error, " + what,
	}
}

var credentialFields = map[string]field{
	"bk_app_code":   optional(textShape),
	"bk_app_secret": optional(textShape),
	"bk_username":   optional(textShape),
	"bk_token":      optional(textShape),
	"access_token":  optional(textShape),
}

// refuseCredentials says what is wrong with the credentials in a body, nothing
// if they are good. The ESB lets bk_username in only for applications on its
// white list; the simulator's one application is on it.
func (s *Server) refuseCredentials(body map[string]any) string {
	get := func(name string) string { return stringOf(body[name]) }
	wantCode, wantSecret := s.AppCode, s.AppSecret
	if wantCode == "" {
		wantCode = DefaultAppCode
	}
	if wantSecret == "" {
		wantSecret = DefaultAppSecret
	}
	switch code, secret := get("bk_app_code"), get("bk_app_secret"); {
	case code == "":
		return "APP Code [bk_app_code] cannot be empty"
	case secret == "":
		return "APP Secret [bk_app_secret] cannot be empty"
	case code != wantCode:
		return "Invalid APP Code [bk_app_code=" + code + "], it is not registered"
	case secret != wantSecret:
		return "APP Secret verification failed for APP Code [bk_app_code=" + code + "]"
	}
	given := false
	for _, user := range []struct{ name, want string }{
		{"access_token", s.AccessToken}, {"bk_token", s.Token}, {"bk_username", s.Username},
	} {
		value := get(user.name)
		if value == "" {
			continue
		}
		if user.want != "" && value != user.want {
			return "User authentication failed, " + user.name + " is not valid"
		}
		given = true
	}
	if !given {
		return "User authentication failed, a user identity such as bk_token or bk_username must be given"
	}
	return ""
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

func (esbFace) data(req *request, ans answer) any {
	switch req.verb {
	case verbOperate:
		return map[string]any{"task_id": ans.taskID}
	case verbStatus:
		return map[string]any{"proc_infos": ans.rows}
	case verbSync:
		return map[string]any{"count": ans.total, "proc_infos": ans.rows}
	default:
		return esbResults(req.verb, ans)
	}
}

// esbResults is the result map of a poll or of a first generation call.
func esbResults(v verb, ans answer) map[string]any {
	codeName, messageName := "error_code", "error_msg"
	if ans.errcode {
		codeName, messageName = "errcode", "errmsg"
	}
	out := make(map[string]any, len(ans.results)+len(ans.extra))
	for _, r := range ans.results {
		out[esbKey(v, r)] = map[string]any{
			codeName: r.code, messageName: r.message, "content": r.render(),
		}
	}
	for key, v := range ans.extra {
		out[key] = v
	}
	return out
}

// esbKey is the key of a result map: the first generation's has the supplier.
func esbKey(v verb, r result) string {
	key := strconv.FormatInt(r.target.cloud, 10) + ":"
	if v == verbAnswer {
		key += strconv.FormatInt(r.target.supplier, 10) + ":"
	}
	return key + r.target.spelling + ":" + r.namespace + ":" + r.name
}

// envelope is what the ESB makes of a backend's answer: result says whether
// code is 0.
func (esbFace) envelope(code int, message string, data any, requestID string) map[string]any {
	return map[string]any{
		"result": code == 0, "code": code, "message": message, "data": data, "request_id": requestID,
	}
}
