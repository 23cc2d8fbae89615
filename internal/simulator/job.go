package simulator

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// jobFace is JOB behind the ESB, under the name of either generation. It hosts
// processes by a path of its own that knows no namespaces: see jobNamespace.
// What it does with a request is taken from the public code of JOB 3.4 to 3.6,
// as far as that differs from the documents.
type jobFace struct {
	component string // "job" or "jobv3"
}

var jobPath = regexp.MustCompile(`^/api/c/compapi/v2/(jobv3|job)/(.*?)/?$`)

func (jobFace) name() string { return "job" }

func (f jobFace) read(s *Server, r *http.Request, api string, body []byte) (*request, *refusal) {
	fields, known := jobShapes[api]
	tree, refused := s.readESB(r, f.component+"/"+api, known, body)
	if refused != nil {
		return nil, refused
	}
	if s.JobRemoved {
		return nil, &refusal{
			status: http.StatusNotFound, code: CodeAPINotFound,
			message: "Not found, this JOB has no " + api,
		}
	}
	if p := fields.match("", tree); p != nil {
		return nil, jobRefusal(p)
	}
	if hasBlankPath(tree) {
		// The document of manage_proc says optional, the server says no, and it
		// does not say to what.
		return nil, &refusal{status: http.StatusOK, code: CodeJobIllegalParameter, message: jobIllegalParameter}
	}
	req := s.translateJob(api, tree)
	if p := s.overLimit(req); p != nil {
		return nil, jobRefusal(p)
	}
	return req, nil
}

const jobIllegalParameter = "Illegal parameter"

// jobRefusal refuses what no document allows. The real one names no field.
func jobRefusal(p *problem) *refusal {
	return &refusal{
		status: http.StatusOK, code: CodeJobIllegalParameter, violation: true,
		message: jobIllegalParameter + ": " + p.Error(),
	}
}

// translateJob turns a checked body into a request.
func (s *Server) translateJob(api string, tree map[string]any) *request {
	req := &request{api: api, verb: verbOperate}
	if api == "get_proc_result" {
		req.verb = verbPoll
		req.taskID = stringOf(tree["bk_gse_taskid"])
		return req
	}
	op := int(integerOf(tree["op_type"]))
	manage := api == "manage_proc" || jobAliases[api] == "manage_proc"
	if manage && !s.ManageProcBug {
		op = map[int]int{jobRegister: OpHost, jobUnregister: OpUnhost}[op]
	}
	infos, _ := tree["process_infos"].([]any)
	for _, v := range infos {
		info := objectOf(v)
		sp := newJobSpec(info, !manage)
		req.items = append(req.items, &item{
			op: op, namespace: jobNamespace, name: jobKey(info),
			spec: sp, targets: targetsOf(info["ip_list"], nil),
		})
	}
	return req
}

func (jobFace) data(req *request, ans answer) (code int, message string, data any) {
	if req.verb == verbOperate {
		return CodeOK, "", map[string]any{"bk_gse_taskid": ans.taskID}
	}
	status := CodeOK
	if ans.queued {
		// JOB makes a success of CodeTaskQueued.
		status = CodePending
	}
	for _, r := range ans.results {
		if r.code == CodePending {
			status = CodePending
		}
	}
	if ans.jobStatus != nil {
		status = *ans.jobStatus
	}
	results := ans.resultMap(
		func(r result) string { return jobResultKey(r, ans.keys) },
		func(r result) any { return unpack(r.render()) },
	)
	return CodeOK, codeMessage(CodeOK), map[string]any{"status": status, "result": results}
}

// jobResultKey is the process's key before its host; clients have also seen it
// behind. Which of the two names of a process with a value_key it is depends on
// the agent.
func jobResultKey(r result, keys string) string {
	switch {
	case keys == "host-first":
		return r.target.cloudIP() + ":" + r.name
	case keys == "path" && r.spec != nil:
		return jobPathKey(r.spec.setupPath, r.spec.procName) + ":" + r.target.cloudIP()
	default:
		return r.name + ":" + r.target.cloudIP()
	}
}

// unpack is what JOB makes of GSE's content: an object of what is JSON, null of
// what is not, and the empty text stays as it is.
func unpack(content any) any {
	text, isText := content.(string)
	if !isText || strings.TrimSpace(text) == "" {
		return content
	}
	var unpacked any
	if json.Unmarshal([]byte(text), &unpacked) != nil {
		return nil
	}
	return unpacked
}

func (jobFace) envelope(code int, message string, data any, requestID string) map[string]any {
	body := esbFace{}.envelope(code, message, data, requestID)
	body["permission"] = nil
	return body
}
