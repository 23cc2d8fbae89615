package tape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// codes are the fields whose numbers are compared. For other numbers, and for texts, only the type is
// compared, because pids, times, versions and tasks always differ.
var codes = []string{"code", "error_code", "bk_error_code", "errorCode", "status", "status_code", "auto_type", "op_type"}

// inProgress are the codes of an operation in progress. How long that lasts is not compared.
var inProgress = []string{"115", "1000115"}

// comparison collects differences between a response of the platform and one of the simulator.
type comparison struct{ found []Difference }

func (c *comparison) differ(where, platform, simulator string) {
	c.found = append(c.found, Difference{Where: where, Platform: platform, Simulator: simulator})
}

func (c *comparison) compare(where, member string, tape, sim any) {
	if text, ok := tape.(string); ok {
		c.texts(where, member, text, sim)
		return
	}
	if a, b := kindOf(tape), kindOf(sim); a != b {
		c.differ(where, a, b)
		return
	}
	switch tape := tape.(type) {
	case map[string]any:
		other, _ := sim.(map[string]any)
		c.objects(where, tape, other)
	case []any:
		other, _ := sim.([]any)
		c.arrays(where, member, tape, other)
	case json.Number:
		if slices.Contains(codes, member) && fmt.Sprint(tape) != fmt.Sprint(sim) {
			c.differ(where, fmt.Sprint(tape), fmt.Sprint(sim))
		}
	case bool:
		if fmt.Sprint(tape) != fmt.Sprint(sim) {
			c.differ(where, fmt.Sprint(tape), fmt.Sprint(sim))
		}
	}
}

// texts compares the content of texts that are JSON.
func (c *comparison) texts(where, member, tape string, sim any) {
	other, ok := sim.(string)
	if !ok {
		c.differ(where, kindOf(tape), kindOf(sim))
		return
	}
	inner, isJSON := container(tape)
	against, otherJSON := container(other)
	switch {
	case isJSON && otherJSON:
		c.compare(where+" (JSON in it)", member, inner, against)
	case isJSON != otherJSON:
		c.differ(where, contentOf(tape, isJSON), contentOf(other, otherJSON))
	}
}

func contentOf(text string, isJSON bool) string {
	switch {
	case isJSON:
		return "a text that holds JSON"
	case strings.TrimSpace(text) == "":
		return "an empty text"
	}
	return "a text that holds no JSON"
}

// objects compares the codes first. If they differ, other differences are only a consequence.
func (c *comparison) objects(where string, tape, sim map[string]any) {
	for _, name := range []string{"code", "bk_error_code", "error_code", "errorCode"} {
		a, b := tape[name], sim[name]
		if a == nil || b == nil {
			continue
		}
		if slices.Contains(inProgress, fmt.Sprint(a)) || slices.Contains(inProgress, fmt.Sprint(b)) {
			return
		}
		if before := len(c.found); fmt.Sprint(a) != fmt.Sprint(b) {
			if c.compare(inside(where, name), name, a, b); len(c.found) == before {
				c.differ(inside(where, name), fmt.Sprint(a), fmt.Sprint(b))
			}
			return
		}
	}
	sim = c.sameKeys(where, tape, sim)
	for _, name := range sortedKeys(tape) {
		if value, ok := sim[name]; ok {
			c.compare(inside(where, name), name, tape[name], value)
		} else {
			c.differ(inside(where, name), kindOf(tape[name]), "absent")
		}
	}
	for _, name := range sortedKeys(sim) {
		if _, ok := tape[name]; !ok {
			c.differ(inside(where, name), "absent", kindOf(sim[name]))
		}
	}
}

// sameKeys returns sim with the platform's keys for hosts whose keys have another form. That difference is
// reported separately.
func (c *comparison) sameKeys(where string, tape, sim map[string]any) map[string]any {
	renamed := maps.Clone(sim)
	for _, name := range sortedKeys(tape) {
		for _, other := range sortedKeys(sim) {
			if _, both := sim[name]; !both && name != other && strings.Contains(name, ":") && cloud.ReplaceAllString(name, "") == cloud.ReplaceAllString(other, "") {
				renamed[name] = sim[other]
				delete(renamed, other)
				c.differ(where+" (keys)", formOf(name), formOf(other))
			}
		}
	}
	return renamed
}

// formOf returns the form in which a key names a host.
func formOf(key string) string {
	return [3]string{"host:…", "cloud:host:…", "cloud:supplier:host:…"}[strings.Count(cloud.FindString(key), ":")]
}

// inside returns the path of a field. The keys of a map by host all have the same path.
func inside(where, name string) string {
	if strings.ContainsAny(name, ":") {
		name = "*"
	}
	return strings.TrimPrefix(where+"."+name, ".")
}

// arrays compares rows of the same host and process, and the others in order.
func (c *comparison) arrays(where, member string, tape, sim []any) {
	where += "[]"
	var lone []any
	left := slices.Clone(sim)
	for _, item := range tape {
		i := slices.IndexFunc(left, func(other any) bool { return rowOf(other) == rowOf(item) })
		if i < 0 {
			lone = append(lone, item)
			continue
		}
		c.compare(where, member, item, left[i])
		left = slices.Delete(left, i, i+1)
	}
	for i, item := range lone[:min(len(lone), len(left))] {
		c.compare(where, member, item, left[i])
	}
	for _, item := range lone[min(len(lone), len(left)):] {
		c.differ(where, kindOf(item), "absent")
	}
	for _, item := range left[min(len(lone), len(left)):] {
		c.differ(where, "absent", kindOf(item))
	}
}

// rowOf returns the host and process of an item.
func rowOf(item any) string {
	object, ok := item.(map[string]any)
	if !ok {
		return fmt.Sprint(item)
	}
	var row strings.Builder
	for _, name := range []string{"ip", "bk_host_ip", "bk_cloud_id", "bk_agent_id", "namespace", "name", "procName", "proc_name"} {
		fmt.Fprintf(&row, "%v;", object[name])
	}
	for _, name := range []string{"host", "meta"} {
		if inner, ok := object[name].(map[string]any); ok {
			row.WriteString(rowOf(inner))
		}
	}
	return row.String()
}

func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "an array"
	default:
		_ = value
		return "an object"
	}
}
