package face

import (
	"bytes"
	"slices"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// gseData returns the data of GSE's own answers, which the ESB and the gateway pass on. They differ in the
// keys of results and in the form of rows.
func gseData(req *Request, ans Answer, rows any, key func(core.Result) string) (code int, message string, data any) {
	if ans.Queued {
		// The text of the result store, as clients have logged it.
		return CodeTaskQueued, "redis reply is not string", ans.QueuedData
	}
	switch req.Verb {
	case VerbOperate:
		data = map[string]any{"task_id": ans.TaskID}
	case VerbAgents:
		return agentsData(req.API, ans.Agents)
	case VerbTask:
		data = taskState(req, ans.Results)
	case VerbUpgrade:
		data = map[string]any{"success": ans.Success, "failed": ans.Failed}
	case VerbStatus:
		data = map[string]any{"proc_infos": rows}
	case VerbSync:
		data = map[string]any{"count": ans.Total, "proc_infos": rows}
	default:
		data = ans.resultMap(key, fault.Render)
	}
	return core.CodeOK, core.CodeMessage(core.CodeOK), data
}

// resultMap returns the result map of a poll or of a call that answers per host.
func (ans Answer) resultMap(key func(core.Result) string, content func(core.Result) any) any {
	codeName, messageName := "error_code", "error_msg"
	if ans.Effects.Spelling == "errcode" {
		codeName, messageName = "errcode", "errmsg"
	}
	out := make(map[string]any, len(ans.Results)+len(ans.Effects.ExtraKeys))
	for _, r := range ans.Results {
		out[key(r)] = map[string]any{
			codeName: r.Code, messageName: r.Message, "content": content(r),
		}
	}
	for key, v := range ans.Effects.ExtraKeys {
		out[key] = v
	}
	if ans.Effects.FirstKeys != nil {
		return twoObjects{ans.Effects.FirstKeys, out}
	}
	return out
}

// twoObjects are encoded as one object. A key that both have occurs twice.
type twoObjects [2]map[string]any

func (o twoObjects) MarshalJSON() ([]byte, error) {
	first, err := jsontree.Encode(o[0])
	if err != nil {
		return nil, err
	}
	rest, err := jsontree.Encode(o[1])
	if err != nil || len(o[0]) == 0 {
		return rest, err
	}
	if len(o[1]) == 0 {
		return first, nil
	}
	first, rest = bytes.TrimSpace(first), bytes.TrimSpace(rest)
	return slices.Concat(first[:len(first)-1], []byte{','}, rest[1:]), nil
}
