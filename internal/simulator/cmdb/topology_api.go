package cmdb

import (
	"regexp"
	"slices"
)

func (q *question) searchBusiness() (any, *refusal) {
	if q.params["condition"] != nil && q.params["biz_property_filter"] != nil {
		return nil, invalid("condition and biz_property_filter cannot be set at the same time")
	}
	f, refused := q.filter("biz_property_filter")
	if refused != nil {
		return nil, refused
	}
	condition, _ := q.params["condition"].(map[string]any)
	var rows []row
	for _, biz := range q.c.businesses {
		// Only businesses that may be read are listed.
		if !biz.denied && f.holds(biz.row) && q.has(biz.row, condition, like("(?i)", "")) {
			rows = append(rows, biz.row)
		}
	}
	found := q.list(rows, "bk_biz_id", "bk_biz_id")
	found["info"] = picked(q.pageOf(found), q.fields("default"))
	return found, nil
}

// has reports whether a row meets a condition in the oldest form, which has values by field. How a text
// matches there differs between APIs.
func (q *question) has(r row, condition map[string]any, text func(have, want any) bool) bool {
	if q.bent.Page == "unfiltered" {
		return true
	}
	for field, want := range condition {
		switch want := want.(type) {
		case map[string]any:
			for operator, value := range want {
				if ok, err := (Condition{Field: field, Operator: operator, Value: value}).holds(r); !ok || err != nil {
					return false
				}
			}
		case string:
			if !text(r[field], regexp.QuoteMeta(want)) {
				return false
			}
		default:
			if !isPlain(want) || !equal(r[field], want) {
				return false
			}
		}
	}
	return true
}

// searchTopology returns the tree, without built-in sets and modules.
func (q *question) searchTopology() (any, *refusal) {
	if q.biz.row == nil {
		return []row{}, nil
	}
	var children []row
	for _, l := range q.biz.above {
		children = append(children, l.node())
	}
	if len(q.biz.levels) == 0 {
		children = setNodes(q.biz.sets)
	}
	return []row{node("biz", "business", q.biz.id, q.biz.row["bk_biz_name"], children)}, nil
}

func node(model, shown string, id int64, name any, children []row) row {
	if children == nil {
		children = []row{}
	}
	return row{"bk_obj_id": model, "bk_obj_name": shown, "bk_inst_id": id, "bk_inst_name": name, "default": int64(0), "child": children}
}

func (l *level) node() row {
	var children []row
	for _, below := range l.levels {
		children = append(children, below.node())
	}
	return node(l.model, l.model, l.id, l.name, append(children, setNodes(l.sets)...))
}

func setNodes(sets []*set) []row {
	var nodes []row
	for _, s := range sets {
		if s.row.id("default") != 0 {
			continue
		}
		var modules []row
		for _, m := range s.modules {
			modules = append(modules, node("module", "module", m.id, m.row["bk_module_name"], nil))
		}
		nodes = append(nodes, node("set", "set", s.id, s.row["bk_set_name"], modules))
	}
	return nodes
}

func (q *question) searchSet() (any, *refusal) {
	if q.params["condition"] != nil && q.params["filter"] != nil {
		return nil, invalid("condition and filter cannot be set at the same time")
	}
	f, refused := q.filter("filter")
	if refused != nil {
		return nil, refused
	}
	condition, _ := q.params["condition"].(map[string]any)
	var rows []row
	for _, s := range q.biz.sets {
		if f.holds(s.row) && q.has(s.row, condition, like("^", "$")) {
			rows = append(rows, s.row)
		}
	}
	found := q.list(rows, "bk_set_id", "bk_set_id")
	found["info"] = picked(q.pageOf(found), q.fields("default"))
	return found, nil
}

// findModules returns modules. Their order is not guaranteed: here it is the latest first.
func (q *question) findModules() (any, *refusal) {
	ids := q.ids("bk_ids")
	rows := []row{}
	for _, m := range q.biz.modules() {
		if keeps(ids, m.id) {
			rows = append(rows, m.row.pick(q.fields("default")))
		}
	}
	slices.Reverse(rows)
	return rows, nil
}

func (q *question) listTemplates() (any, *refusal) {
	ids := q.ids("service_template_ids")
	var rows []row
	for _, t := range q.biz.templates {
		name, _ := t.row["name"].(string)
		search := q.text("search")
		if keeps(ids, t.id) && (search == "" || name == search || !q.flag("is_exact") && like("", "")(name, search)) {
			rows = append(rows, t.row)
		}
	}
	return q.list(rows, "id", "id"), nil
}

// listProcessTemplates returns all process templates of a service template, or the requested ones.
func (q *question) listProcessTemplates() (any, *refusal) {
	if q.id("service_template_id") == 0 && q.missing("process_template_ids") {
		return nil, notSet("service_template_id")
	}
	ids := q.ids("process_template_ids")
	rows := []row{}
	for _, t := range q.biz.templates {
		if wanted := q.id("service_template_id"); wanted != 0 && wanted != t.id {
			continue
		}
		for _, pt := range t.processes {
			if keeps(ids, pt.id) {
				rows = append(rows, row{
					"id": pt.id, "bk_process_name": pt.row["bk_process_name"], "bk_biz_id": q.biz.id, "service_template_id": t.id, "property": wrapped(pt.row),
					"creator": "admin", "modifier": "admin", "create_time": created, "last_time": created, "bk_supplier_account": "0",
				})
			}
		}
	}
	return row{"count": len(rows), "info": rows}, nil
}

// wrapped returns values in a template's form: each with a flag that says whether it is locked.
func wrapped(r map[string]any) row {
	out := make(row, len(r))
	for name, v := range r {
		if binds, ok := v.([]any); ok {
			each := make([]any, 0, len(binds))
			for i, bind := range binds {
				members, _ := bind.(map[string]any)
				one := wrapped(members)
				one["row_id"] = i + 1
				each = append(each, one)
			}
			v = each
		}
		out[name] = row{"value": v, "as_default_value": true}
	}
	return out
}
