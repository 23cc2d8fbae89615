package cmdb

import (
	"fmt"
	"maps"
	"slices"
)

// Codes of CMDB, from its errInfo.go.
const (
	CodeNotJSON      = 1199000
	CodeParamInvalid = 1199006
	CodeParamNotSet  = 1199010
	CodePageTooLong  = 1199059
	CodeNotFound     = 1199019
	CodeTooMany      = 1199089
	CodeNoPermission = 9900403
)

// Answer is CMDB's answer to a request.
type Answer struct {
	Code       int
	Message    string
	Data       any
	Permission any
	// Remarks are what no document allows in the request, whether CMDB accepts it or not.
	Remarks []string
}

// Bent is how a fault changes the answer of a list.
type Bent struct {
	// Page changes the page of a list. "repeat" is the previous page, "shrink" half a page, "empty" none,
	// and "larger" twice the limit. "unfiltered" ignores filters, and "shuffled" has another order.
	Page string
	// Count is added to the count.
	Count int
}

// refusal is an answer without data.
type refusal struct {
	code       int
	message    string
	permission any
}

func invalid(what string) *refusal {
	return &refusal{code: CodeParamInvalid, message: "'" + what + "' data parameter verification does not pass"}
}

func notSet(what string) *refusal {
	return &refusal{code: CodeParamNotSet, message: "'" + what + "' unassigned"}
}

func notJSON(what string) *refusal {
	return &refusal{code: CodeNotJSON, message: "Deserializing JSON data failed, " + what}
}

// question is one request that is being answered.
type question struct {
	c      *CMDB
	biz    *business // nil unless the API is about one
	params map[string]any
	page   page
	bent   Bent
	seed   uint64
}

// Answer answers an API by its name; Known reports which names exist. params are a decoded JSON object
// with numbers as written, including the variables of the path.
func (c *CMDB) Answer(name string, params map[string]any, bent Bent) Answer {
	api, known := apis[name]
	if !known {
		return Answer{Code: CodeNotFound, Message: "No relevant data found"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers++
	q := &question{c: c, params: plain(params).(map[string]any), bent: bent, seed: c.answers} //nolint:forcetypeassert // a map stays one
	data, refused := q.answer(api)
	ans := Answer{Message: "success", Data: data, Remarks: api.remarks(q)}
	if refused != nil {
		ans.Code, ans.Message, ans.Permission, ans.Data = refused.code, refused.message, refused.permission, nil
		if refused.code != CodeNoPermission && refused.code != CodeNotFound {
			ans.Remarks = append(ans.Remarks, refused.message)
		}
	}
	return ans
}

// Known reports whether there is an API with a name.
func Known(name string) bool { _, known := apis[name]; return known }

func (q *question) answer(a api) (any, *refusal) {
	for _, name := range slices.Sorted(maps.Keys(a.fields)) {
		v, given := q.params[name]
		if given && v != nil && !a.fields[name].fits(v) {
			return nil, notJSON(fmt.Sprintf("%s is not %s", name, a.fields[name]))
		}
	}
	for _, name := range a.required {
		if q.missing(name) {
			return nil, notSet(name)
		}
	}
	for name, most := range a.most {
		list, _ := q.params[name].([]any)
		switch {
		case len(list) <= most:
		case name == "bk_ids":
			return nil, &refusal{code: CodeTooMany, message: fmt.Sprintf("'%s' exceeds the maximum length %d", name, most)}
		default:
			return nil, invalid(name)
		}
	}
	if _, about := a.fields["bk_biz_id"]; about {
		id := q.id("bk_biz_id")
		if id <= 0 {
			return nil, invalid("bk_biz_id")
		}
		q.biz = q.c.business(id)
		if q.biz == nil {
			q.biz = &business{id: id}
		}
		if q.biz.denied {
			return nil, &refusal{code: CodeNoPermission, message: "You have no permission to access this resource", permission: permission(q.biz)}
		}
	}
	if a.page.documented > 0 {
		var refused *refusal
		if q.page, refused = readPage(q.params["page"], a.page); refused != nil {
			return nil, refused
		}
	}
	return a.answer(q)
}

// permission returns the permission that an application lacks to read a business.
func permission(biz *business) any {
	return row{
		"system_id": "bk_cmdb", "system_name": "CMDB",
		"actions": []any{row{
			"id": "find_business_resource", "name": "Business Access",
			"related_resource_types": []any{row{
				"system_id": "bk_cmdb", "system_name": "CMDB", "type": "biz", "type_name": "Business",
				"instances": []any{[]any{row{"type": "biz", "type_name": "Business", "id": fmt.Sprint(biz.id), "name": biz.row["bk_biz_name"]}}},
			}},
		}},
	}
}

// missing reports whether a parameter is absent or empty.
func (q *question) missing(name string) bool {
	switch v := q.params[name].(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	}
	return false
}

func (q *question) id(name string) int64    { id, _ := q.params[name].(int64); return id }
func (q *question) text(name string) string { text, _ := q.params[name].(string); return text }
func (q *question) flag(name string) bool   { flag, _ := q.params[name].(bool); return flag }

// ids returns the ids of a filter. nil filters nothing.
func (q *question) ids(name string) []int64 { return q.idsIn(q.params, name) }

func (q *question) idsIn(params map[string]any, name string) []int64 {
	list, _ := params[name].([]any)
	if q.bent.Page == "unfiltered" {
		return nil
	}
	var ids []int64
	for _, v := range list {
		if id, ok := v.(int64); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// keeps reports whether a filter by ids lets an id through.
func keeps(ids []int64, id int64) bool { return len(ids) == 0 || slices.Contains(ids, id) }

// filter returns a filter by properties, nil for none.
func (q *question) filter(name string) (*filter, *refusal) {
	v := q.params[name]
	if v == nil {
		return nil, nil //nolint:nilnil // a missing filter is no error
	}
	f, where := readFilter(v, 1)
	if where != "" {
		return nil, invalid(name + "." + where)
	}
	if q.bent.Page == "unfiltered" {
		return nil, nil //nolint:nilnil // the same
	}
	return f, nil
}

// fields returns the requested fields and always, nil for all.
func (q *question) fields(always ...string) []string {
	list, _ := q.params["fields"].([]any)
	if len(list) == 0 {
		return nil
	}
	fields := always
	for _, v := range list {
		if name, ok := v.(string); ok {
			fields = append(fields, name)
		}
	}
	return fields
}

func (r row) pick(fields []string) row {
	if fields == nil {
		return r
	}
	out := make(row, len(fields))
	for _, name := range fields {
		if v, has := r[name]; has {
			out[name] = v
		}
	}
	return out
}
