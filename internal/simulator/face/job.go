package face

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// jobFace is JOB behind the ESB, under the name of either generation. It identifies processes without
// namespaces: see jobNamespace. If the public code of JOB 3.4 to 3.6 differs from the documents, the face
// follows the code.
type jobFace struct {
	esbFace
	component string // "job" or "jobv3"
}

var jobPath = regexp.MustCompile(`^/api/c/compapi/v2/(jobv3|job)/(.*?)/?$`)

func (jobFace) Name() string { return "job" }

func (f jobFace) Read(r *http.Request, api string, body []byte) (*Request, *Refusal) {
	fields, known := jobShapes[api]
	script := false
	if !known && f.component == "jobv3" {
		fields, script = jobScriptShapes[api]
	}
	tree, refused := f.readESB(r, f.component+"/"+api, known || script, body)
	if refused != nil {
		return nil, refused
	}
	if f.JobRemoved && !script {
		return nil, &Refusal{
			Status: http.StatusNotFound, Code: CodeAPINotFound,
			Message: "Not found, this JOB has no " + api,
		}
	}
	var found findings
	if p := fields.match("", tree, &found); p != nil {
		return nil, jobRefusal(p)
	}
	if hasBlankPath(tree) {
		// The field is optional in the document of manage_proc, but the server refuses the request
		// without naming the field.
		return nil, &Refusal{Status: http.StatusOK, Code: CodeJobIllegalParameter, Message: jobIllegalParameter}
	}
	translate := f.translate
	if script {
		translate = f.translateScript
	}
	req := translate(api, tree)
	req.Findings = found.texts()
	if p := f.overLimit(req); p != nil {
		return nil, jobRefusal(p)
	}
	return req, nil
}

const jobIllegalParameter = "Illegal parameter"

// jobRefusal refuses a request that no document allows. The real server names no field.
func jobRefusal(p *problem) *Refusal {
	return &Refusal{
		Status: http.StatusOK, Code: CodeJobIllegalParameter, Violation: true,
		Message: jobIllegalParameter + ": " + p.Error(),
	}
}

func (f jobFace) translate(api string, tree map[string]any) *Request {
	req := &Request{API: api, Verb: VerbOperate}
	if api == "get_proc_result" {
		req.Verb = VerbPoll
		req.TaskID = jsontree.String(tree["bk_gse_taskid"])
		return req
	}
	op := int(jsontree.Integer(tree["op_type"]))
	manage := api == "manage_proc" || jobAliases[api] == "manage_proc"
	if manage && !f.ManageProcBug {
		op = map[int]int{jobRegister: core.OpHost, jobUnregister: core.OpUnhost}[op]
	}
	infos, _ := tree["process_infos"].([]any)
	for _, v := range infos {
		info := jsontree.Object(v)
		sp := newJobSpec(info, !manage)
		req.Items = append(req.Items, &core.Item{
			Op: op, Namespace: jobNamespace, Name: jobKey(info),
			Spec: sp, ByBinary: true, Targets: targetsOf(info["ip_list"], nil),
		})
	}
	return req
}

func (jobFace) Data(req *Request, ans Answer) (code int, message string, data any) {
	if _, script := jobScriptShapes[req.API]; script {
		return jobScriptData(req, ans)
	}
	if req.Verb == VerbOperate {
		return core.CodeOK, "", map[string]any{"bk_gse_taskid": ans.TaskID}
	}
	status := core.CodeOK
	if ans.Queued {
		// JOB answers CodeTaskQueued with a success.
		status = core.CodePending
	}
	for _, r := range ans.Results {
		if r.Code == core.CodePending {
			status = core.CodePending
		}
	}
	if ans.Effects.JobStatus != nil {
		status = *ans.Effects.JobStatus
	}
	results := ans.resultMap(
		func(r core.Result) string { return jobResultKey(r, ans.Effects.Keys) },
		func(r core.Result) any { return unpack(fault.Render(r)) },
	)
	return core.CodeOK, core.CodeMessage(core.CodeOK), map[string]any{"status": status, "result": results}
}

// jobResultKey returns the process's key before its host; clients have also seen it after the host. Which
// of the two names of a process with a value_key is used depends on the agent.
func jobResultKey(r core.Result, keys string) string {
	switch {
	case keys == "host-first":
		return r.Target.CloudIP() + ":" + r.Name
	case keys == "path" && r.Spec != nil:
		return jobPathKey(r.Spec.SetupPath, r.Spec.ProcName) + ":" + r.Target.CloudIP()
	default:
		return r.Name + ":" + r.Target.CloudIP()
	}
}

// unpack returns GSE's content in JOB's form: an object for JSON, null for other text, and an empty text
// unchanged.
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

func (f jobFace) Envelope(code int, message string, data any, requestID string) map[string]any {
	body := f.esbFace.Envelope(code, message, data, requestID)
	body["permission"] = nil
	return body
}
