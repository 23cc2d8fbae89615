package simulator

import (
	"bytes"
	"slices"
	"strconv"
)

// gseData is the data of GSE's own answers, which the ESB and the gateway pass
// on. They differ in how they name a process on a host.
func gseData(req *request, ans answer, key func(result) string) (code int, message string, data any) {
	if ans.queued {
		// In the words of the result store, as clients have logged them.
		return CodeTaskQueued, "redis reply is not string", ans.queuedData
	}
	switch req.verb {
	case verbOperate:
		data = map[string]any{"task_id": ans.taskID}
	case verbStatus:
		data = map[string]any{"proc_infos": ans.rows}
	case verbSync:
		data = map[string]any{"count": ans.total, "proc_infos": ans.rows}
	default:
		data = ans.resultMap(key, result.render)
	}
	return CodeOK, codeMessage(CodeOK), data
}

// resultMap is the result map of a poll or of a call that answers per host.
func (ans answer) resultMap(key func(result) string, content func(result) any) any {
	codeName, messageName := "error_code", "error_msg"
	if ans.errcode {
		codeName, messageName = "errcode", "errmsg"
	}
	out := make(map[string]any, len(ans.results)+len(ans.extra))
	for _, r := range ans.results {
		out[key(r)] = map[string]any{
			codeName: r.code, messageName: r.message, "content": content(r),
		}
	}
	for key, v := range ans.extra {
		out[key] = v
	}
	if ans.first != nil {
		return twoObjects{ans.first, out}
	}
	return out
}

// twoObjects are written as one, which has a key twice where both have it.
type twoObjects [2]map[string]any

func (o twoObjects) MarshalJSON() ([]byte, error) {
	first, err := encodeJSON(o[0])
	if err != nil {
		return nil, err
	}
	rest, err := encodeJSON(o[1])
	if err != nil || len(o[0]) == 0 {
		return rest, err
	}
	if len(o[1]) == 0 {
		return first, nil
	}
	first, rest = bytes.TrimSpace(first), bytes.TrimSpace(rest)
	return slices.Concat(first[:len(first)-1], []byte{','}, rest[1:]), nil
}

// cloudIP is the part of a key that names a host by its address, as it was
// spelt.
func (t target) cloudIP() string {
	return strconv.FormatInt(t.cloud, 10) + ":" + t.spelling
}
