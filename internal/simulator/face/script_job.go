package face

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// Scripts through JOB follow the ESB documents of jobv3, which older releases and 3.7 share.

// CodeJobNoInstance is JOB's answer about an unknown job instance, from its public code.
const CodeJobNoInstance = 1244006

// Status of a job and of its step, and of the step on one host.
const (
	jobRunning   = 2
	jobSucceeded = 3
	jobFailed    = 4

	jobHostAway      = 1
	jobHostRunning   = 7
	jobHostSucceeded = 9
	jobHostFailed    = 11
)

// jobLogOfScript is the log type of a script.
const jobLogOfScript = 1

var jobServersShape = shape{kind: kindObject, fields: map[string]field{
	"ip_list":            optional(hostsShape(false)),
	"host_id_list":       optional(list(integerShape)),
	"dynamic_group_list": optional(list(shape{kind: kindMap, elem: &textShape})),
	"topo_node_list":     optional(list(shape{kind: kindMap, elem: &textShape})),
}, check: func(v any) (string, string) {
	if hosts, _ := jsontree.Object(v)["ip_list"].([]any); len(hosts) == 0 {
		return "ip_list", "the simulator knows hosts by address alone; name some"
	}
	return "", ""
}}

// jobScriptShapes are the bodies, without credentials, by API name.
var jobScriptShapes = map[string]shape{
	"fast_execute_script": jobScriptShape(),
	"get_job_instance_status": jobShape(map[string]field{
		"job_instance_id":  required(integerShape),
		"return_ip_result": optional(shape{kind: kindBool}),
	}),
	"batch_get_job_instance_ip_log": jobShape(map[string]field{
		"job_instance_id":  required(integerShape),
		"step_instance_id": required(integerShape),
		"ip_list":          required(jobLogHostsShape),
	}),
}

// mostLogs is the maximum number of hosts in one request for logs, by JOB's public code.
const mostLogs = 500

var jobLogHostsShape = shape{kind: kindList, elem: hostsShape(false).elem, check: func(v any) (string, string) {
	if hosts, _ := v.([]any); len(hosts) > mostLogs {
		return "", "must have 500 elements at most"
	}
	return notEmpty(v)
}}

func jobScriptShape() shape {
	s := jobShape(map[string]field{
		"script_content":     required(nameShape),
		"script_param":       optional(textShape),
		"script_language":    required(integerShape),
		"task_name":          optional(textShape),
		"account_alias":      optional(nameShape),
		"account_id":         optional(integerShape),
		"is_param_sensitive": optional(integerShape),
		"target_server":      required(jobServersShape),
		"timeout": optional(shape{kind: kindInteger, check: func(v any) (string, string) {
			if n := jsontree.Integer(v); n < 1 || n > 86400 {
				return "", "must be between 1 and 86400"
			}
			return "", ""
		}}),
	})
	s.check = func(v any) (string, string) {
		body := jsontree.Object(v)
		if path, problem := oneScope(v); problem != "" {
			return path, problem
		}
		if body["account_alias"] == nil && body["account_id"] == nil {
			return "account_alias", missingField + ", or account_id"
		}
		if _, where, err := jobScript(body); err != nil {
			return where, err.Error()
		}
		return "", ""
	}
	return s
}

// jobScript returns the script of a request, or an error and its place in the request.
func jobScript(body map[string]any) (script *core.Script, where string, err error) {
	content, err := base64.StdEncoding.DecodeString(jsontree.String(body["script_content"]))
	if err != nil {
		return nil, "script_content", errors.New("it is not in base64")
	}
	param, err := base64.StdEncoding.DecodeString(jsontree.String(body["script_param"]))
	if err != nil {
		return nil, "script_param", errors.New("it is not in base64")
	}
	args, err := words(string(param))
	if err != nil {
		return nil, "script_param", err
	}
	script, err = core.NewScript(string(content), args)
	if err == nil && script.Language() != int(jsontree.Integer(body["script_language"])) {
		return nil, "script_language", errors.New("it is " + strconv.Itoa(script.Language()) + " for this script")
	}
	return script, "script_content", err
}

func (f jobFace) translateScript(api string, tree map[string]any) *Request {
	req := &Request{API: api, TaskID: strconv.FormatInt(jsontree.Integer(tree["job_instance_id"]), 10)}
	switch api {
	case "fast_execute_script":
		script, _, _ := jobScript(tree)
		servers := jsontree.Object(tree["target_server"])
		return &Request{API: api, Verb: VerbOperate, Items: []*core.Item{{
			Op: core.OpScript, Script: script, Numbered: true, Targets: targetsOf(servers["ip_list"], nil),
		}}}
	case "get_job_instance_status":
		req.Verb = VerbScript
		req.eachHost, _ = tree["return_ip_result"].(bool)
	default:
		req.Verb = VerbLog
		req.Items = []*core.Item{{Op: core.NoOp, Targets: targetsOf(tree["ip_list"], nil)}}
		req.stepID = jsontree.Integer(tree["step_instance_id"])
	}
	return req
}

type jobInstance struct {
	ID         int64  `json:"job_instance_id"`
	ScopeType  string `json:"bk_scope_type"`
	ScopeID    string `json:"bk_scope_id"`
	Name       string `json:"name"`
	Status     int    `json:"status"`
	CreateTime int64  `json:"create_time"` // in milliseconds
	StartTime  int64  `json:"start_time"`
	EndTime    int64  `json:"end_time"`
	TotalTime  int64  `json:"total_time"`
}

type jobStep struct {
	ID           int64     `json:"step_instance_id"`
	Type         int       `json:"type"`
	Name         string    `json:"name"`
	Status       int       `json:"status"`
	CreateTime   int64     `json:"create_time"`
	StartTime    int64     `json:"start_time"`
	EndTime      int64     `json:"end_time"`
	TotalTime    int64     `json:"total_time"`
	ExecuteCount int       `json:"execute_count"`
	Hosts        []jobHost `json:"step_ip_result_list,omitempty"`
}

type jobHost struct {
	HostID    int64  `json:"bk_host_id"`
	IP        string `json:"ip"`
	Cloud     int64  `json:"bk_cloud_id"`
	Status    int    `json:"status"`
	Tag       string `json:"tag"`
	ExitCode  int    `json:"exit_code"`
	ErrorCode int    `json:"error_code"`
	StartTime int64  `json:"start_time"`
	EndTime   int64  `json:"end_time"`
	TotalTime int64  `json:"total_time"`
}

const jobName = "API fast execution script"

func jobScriptData(req *Request, ans Answer) (code int, message string, data any) {
	switch {
	case req.Verb == VerbOperate:
		id, err := strconv.ParseInt(ans.TaskID, 10, 64)
		if err != nil { // a fault set it
			return core.CodeOK, "success", map[string]any{"job_instance_id": ans.TaskID}
		}
		return core.CodeOK, "success", map[string]any{"job_instance_name": jobName, "job_instance_id": id, "step_instance_id": id + 1}
	case ans.Unknown:
		return CodeJobNoInstance, "task instance does not exist", nil
	case req.Verb == VerbLog:
		return core.CodeOK, "", jobLog(req, ans.Scripts)
	}
	return core.CodeOK, "", jobStatus(req, ans)
}

func jobStatus(req *Request, ans Answer) any {
	id, _ := strconv.ParseInt(req.TaskID, 10, 64)
	job := jobInstance{ID: id, ScopeType: "biz", ScopeID: "1", Name: jobName, Status: jobSucceeded}
	if ans.Queued || len(ans.Scripts) == 0 { // no host has reported anything
		job.Status = jobRunning
	}
	hosts := make([]jobHost, 0, len(ans.Scripts))
	for _, r := range ans.Scripts {
		h := jobHostOf(r)
		hosts = append(hosts, h)
		switch {
		case h.Status == jobHostRunning:
			job.Status = jobRunning
		case h.Status != jobHostSucceeded && job.Status == jobSucceeded:
			job.Status = jobFailed
		}
		job.CreateTime, job.StartTime, job.EndTime = h.StartTime, h.StartTime, max(job.EndTime, h.EndTime)
	}
	finished := job.Status != jobRunning
	if !finished {
		job.EndTime = 0
	} else {
		job.TotalTime = job.EndTime - job.StartTime
	}
	step := jobStep{
		ID: id + 1, Type: 1, Name: jobName, Status: job.Status,
		CreateTime: job.CreateTime, StartTime: job.StartTime, EndTime: job.EndTime, TotalTime: job.TotalTime,
	}
	if req.eachHost {
		step.Hosts = hosts
	}
	return map[string]any{"finished": finished, "job_instance": job, "step_instance_list": []jobStep{step}}
}

func jobHostOf(r core.ScriptResult) jobHost {
	h := jobHost{
		HostID: hostID(r), IP: r.Target.Spelling, Cloud: r.Target.Cloud, Status: jobHostSucceeded,
		ExitCode: r.Screen.Exit, ErrorCode: r.Code, StartTime: r.Start.UnixMilli(), EndTime: r.End.UnixMilli(),
	}
	h.TotalTime = h.EndTime - h.StartTime
	switch {
	case r.Running:
		h.Status, h.EndTime, h.TotalTime = jobHostRunning, 0, 0
	case r.Code == core.CodeAgentAbnormal:
		h.Status = jobHostAway
	case r.Code != core.CodeOK || r.Screen.Exit != 0 || r.Status != 0:
		h.Status = jobHostFailed
	}
	return h
}

// jobLog returns the screens. The screen of a host on which nothing ran is the reason.
func jobLog(req *Request, results []core.ScriptResult) any {
	logs := make([]map[string]any, 0, len(results))
	for _, r := range results {
		text := r.Screen.Text
		if !r.Running && r.Code != core.CodeOK {
			text = r.Message
		}
		logs = append(logs, map[string]any{"bk_host_id": hostID(r), "ip": r.Target.Spelling, "bk_cloud_id": r.Target.Cloud, "log_content": text})
	}
	id := json.Number(req.TaskID)
	return map[string]any{"log_type": jobLogOfScript, "job_instance_id": id, "step_instance_id": req.stepID, "script_task_logs": logs}
}

// hostID makes a number from a host's address, in place of the one that CMDB has: an invention.
func hostID(r core.ScriptResult) int64 {
	address := r.Target.IP.As16()
	return 1 + (int64(address[13])<<16 | int64(address[14])<<8 | int64(address[15])) + r.Target.Cloud<<24
}
