package face

import (
	"errors"
	"strings"
	"unicode"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// The script API of the gateway has no public document: this is what BSCP, nodemgr and JOB send and
// read. The meanings of status and error_code are JOB's.

// Status of a script on one host. A failed script also has its exit code. The numbers for scripts that
// did not complete are nodemgr's; see the ScriptStatus of a fault.
const (
	scriptRunning   = 1
	scriptSucceeded = 2
	scriptFailed    = 5
)

var atomicIDShape = countShape

var scriptAgentShape = object(map[string]field{
	"bk_agent_id":     required(*agentIDListShape.elem),
	"bk_container_id": optional(textShape),
	"user":            required(nameShape),
	"pwd":             optional(textShape),
})

var scriptShape = object(map[string]field{
	"script_name":      required(nameShape),
	"script_store_dir": required(absolutePathShape),
	"script_content":   required(nameShape),
})

var atomicTaskShape = object(map[string]field{
	"atomic_task_id": required(atomicIDShape),
	"command":        required(nameShape),
	"timeout_seconds": required(shape{kind: kindInteger, check: func(v any) (string, string) {
		if jsontree.Integer(v) < 1 {
			return "", "must be at least 1"
		}
		return "", ""
	}}),
})

var atomicRelationShape = object(map[string]field{
	"atomic_task_id":     required(atomicIDShape),
	"atomic_task_id_idx": required(list(atomicIDShape)),
})

var screenShape = object(map[string]field{
	"atomic_task_id": required(atomicIDShape),
	"offset":         required(countShape),
	"limit":          optional(countShape),
})

var agentTaskShape = object(map[string]field{
	"bk_agent_id":     required(*agentIDListShape.elem),
	"bk_container_id": optional(textShape),
	"atomic_tasks":    required(some(screenShape)),
})

// some returns the shape of a list that is not empty.
func some(elem shape) shape { return shape{kind: kindList, elem: &elem, check: notEmpty} }

var executeScriptShape = shape{kind: kindObject, fields: map[string]field{
	"agents":                 required(some(scriptAgentShape)),
	"scripts":                required(some(scriptShape)),
	"atomic_tasks":           required(some(atomicTaskShape)),
	"atomic_tasks_relations": required(list(atomicRelationShape)),
}, check: func(v any) (string, string) {
	if _, where, err := gatewayScript(jsontree.Object(v)); err != nil {
		return where, err.Error()
	}
	return "", ""
}}

var scriptResultShape = object(map[string]field{
	"task_id":     required(nameShape),
	"agent_tasks": required(some(agentTaskShape)),
})

// gatewayScript returns the script of a request, or an error and its place in the request.
func gatewayScript(tree map[string]any) (script *core.Script, where string, err error) {
	scripts, _ := tree["scripts"].([]any)
	tasks, _ := tree["atomic_tasks"].([]any)
	if len(scripts) != 1 || len(tasks) != 1 {
		return nil, "scripts", errors.New("the simulator runs one script by one atomic task")
	}
	sent, task := jsontree.Object(scripts[0]), jsontree.Object(tasks[0])
	file := strings.TrimRight(jsontree.String(sent["script_store_dir"]), `/\`)
	if strings.HasPrefix(file, "/") {
		file += "/"
	} else {
		file += `\`
	}
	file += jsontree.String(sent["script_name"])
	words, err := words(jsontree.String(task["command"]))
	if err != nil {
		return nil, "atomic_tasks[0].command", err
	}
	for len(words) > 0 && words[0] != file {
		words = words[1:] // an interpreter and its flags
	}
	if len(words) == 0 {
		return nil, "atomic_tasks[0].command", errors.New("it does not run the script, " + file)
	}
	script, err = core.NewScript(jsontree.String(sent["script_content"]), words[1:])
	return script, "scripts[0].script_content", err
}

// words splits a command as a shell does. It accepts no special characters but quotes.
func words(command string) ([]string, error) {
	var found []string
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && unicode.IsSpace(r):
			if begun {
				found = append(found, word.String())
			}
			word.Reset()
			begun = false
		case quote == 0 && strings.ContainsRune("$`;|&<>()*?[]#~!", r):
			return nil, errors.New("a shell would not take " + string(r) + " as it is; quote it")
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		found = append(found, word.String())
	}
	return found, nil
}

// page is the part of a screen that a poll requests.
type page struct{ offset, limit int }

func scriptItem(tree map[string]any) *core.Item {
	script, _, _ := gatewayScript(tree)
	agents, _ := tree["agents"].([]any)
	ids := make([]any, len(agents))
	for i, v := range agents {
		ids[i] = jsontree.Object(v)["bk_agent_id"]
	}
	return &core.Item{Op: core.OpScript, Script: script, Targets: targetsOf(nil, ids)}
}

// screensOf returns the hosts of a checked get_execute_script_result, and the requested part of each
// screen.
func screensOf(tree map[string]any) (*core.Item, map[string]page) {
	it := &core.Item{Op: core.NoOp}
	pages := make(map[string]page)
	tasks, _ := tree["agent_tasks"].([]any)
	for _, v := range tasks {
		task := jsontree.Object(v)
		id := jsontree.String(task["bk_agent_id"])
		asked, _ := task["atomic_tasks"].([]any)
		for _, v := range asked {
			screen := jsontree.Object(v)
			if jsontree.Integer(screen["atomic_task_id"]) == 0 { // the only one there is
				pages[id] = page{int(jsontree.Integer(screen["offset"])), int(jsontree.Integer(screen["limit"]))}
				it.Targets = append(it.Targets, core.AgentTarget(id))
			}
		}
	}
	return it, pages
}

// scriptRow is a script on one host, in one answer.
type scriptRow struct {
	AgentID      string `json:"bk_agent_id"`
	ContainerID  string `json:"bk_container_id"`
	AtomicTaskID int    `json:"atomic_task_id"`
	Status       int    `json:"status"`
	ErrorCode    int    `json:"error_code"`
	ErrorMsg     string `json:"error_msg"`
	StartTime    int64  `json:"start_time"` // in milliseconds
	EndTime      int64  `json:"end_time"`
	ExitCode     int    `json:"script_exit_code"`
	Tag          string `json:"tag"`
	Screen       string `json:"screen"`
}

func (f gatewayFace) scriptRows(req *Request, results []core.ScriptResult) []scriptRow {
	rows := make([]scriptRow, 0, len(results))
	for _, r := range results {
		asked := req.pages[r.Target.Agent]
		if f.ScreenPage > 0 && (asked.limit == 0 || asked.limit > f.ScreenPage) {
			asked.limit = f.ScreenPage
		}
		row := scriptRow{
			AgentID: r.Target.Agent, Status: scriptSucceeded, ErrorCode: r.Code, ErrorMsg: r.Message,
			StartTime: r.Start.UnixMilli(), EndTime: r.End.UnixMilli(), ExitCode: r.Screen.Exit, Screen: r.Screen.Page(asked.offset, asked.limit),
		}
		switch {
		case r.Running && r.Answers == 1: // both forms have been seen
			row.Status, row.ErrorCode, row.ErrorMsg, row.EndTime = scriptRunning, core.CodeOK, "", 0
		case r.Running:
			row.Status, row.EndTime = scriptRunning, 0
		case r.Status != 0:
			row.Status = r.Status
		case r.Code != core.CodeOK || r.Screen.Exit != 0:
			row.Status = scriptFailed
		}
		rows = append(rows, row)
	}
	return rows
}
