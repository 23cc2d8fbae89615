package fault

import (
	"encoding/json"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/jsontree"
)

// Render returns the content of a result as it is sent.
func Render(r core.Result) any { return reshape(r.Text(), r.Shape) }

// reshape changes a content in one of the ways that clients have seen.
func reshape(content any, how string) any {
	doc, isText := content.(string)
	switch how {
	case "empty":
		return ""
	case "null":
		return nil
	case "broken":
		if isText {
			return doc[:len(doc)/2]
		}
	case "object":
		var unpacked any
		if isText && json.Unmarshal([]byte(doc), &unpacked) == nil {
			return unpacked
		}
	case "no-instance":
		return eachProcess(content, func(process map[string]any) { process["instance"] = []any{} })
	case "no-isauto":
		return eachProcess(content, func(process map[string]any) {
			instances, _ := process["instance"].([]any)
			for _, v := range instances {
				delete(jsontree.Object(v), "isAuto")
			}
		})
	}
	return content
}

// eachProcess changes the processes in the content of a query.
func eachProcess(content any, change func(map[string]any)) any {
	doc, isText := content.(string)
	var unpacked map[string]any
	if !isText || json.Unmarshal([]byte(doc), &unpacked) != nil {
		return content
	}
	processes, _ := unpacked["process"].([]any)
	for _, v := range processes {
		if process := jsontree.Object(v); process != nil {
			change(process)
		}
	}
	return core.EncodeContent(unpacked)
}
