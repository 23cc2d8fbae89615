package cmdb

import "slices"

// listHosts returns the hosts in a module that matches the conditions on sets and modules.
func (q *question) listHosts() (any, *refusal) {
	sets, refused := q.conditions("set_cond", "set")
	if refused != nil {
		return nil, refused
	}
	modules, refused := q.conditions("module_cond", "module")
	if refused != nil {
		return nil, refused
	}
	for _, pair := range [][2]string{{"bk_set_ids", "set_cond"}, {"bk_module_ids", "module_cond"}} {
		if !q.missing(pair[0]) && !q.missing(pair[1]) {
			return nil, invalid(pair[0] + " and " + pair[1] + " can't both be set")
		}
	}
	f, refused := q.filter("host_property_filter")
	if refused != nil {
		return nil, refused
	}
	setIDs, moduleIDs := q.ids("bk_set_ids"), q.ids("bk_module_ids")
	return q.hosts(func(h *host) bool {
		return f.holds(h.row) && h.in(func(m *module) bool {
			return keeps(setIDs, m.set.id) && keeps(moduleIDs, m.id) && passes(sets, "set", m.set.row) && passes(modules, "module", m.row)
		})
	}), nil
}

// in reports whether a host is in a module that passes.
func (h *host) in(passes func(*module) bool) bool { return slices.ContainsFunc(h.modules, passes) }

// hosts returns a page of the business's hosts that pass.
func (q *question) hosts(passes func(*host) bool) row {
	found := q.whole(passes)
	found["info"] = picked(q.pageOf(found), q.fields())
	return found
}

// whole is hosts with every field.
func (q *question) whole(passes func(*host) bool) row {
	var rows []row
	for _, h := range q.biz.hosts() {
		if passes(h) || q.bent.Page == "unfiltered" {
			rows = append(rows, h.row)
		}
	}
	return q.list(rows, "bk_host_id", "bk_host_id")
}

func (q *question) listHostsTopology() (any, *refusal) {
	var filters [3]*filter
	for i, name := range []string{"set_property_filter", "module_property_filter", "host_property_filter"} {
		var refused *refusal
		if filters[i], refused = q.filter(name); refused != nil {
			return nil, refused
		}
	}
	found := q.whole(func(h *host) bool {
		return filters[2].holds(h.row) && h.in(func(m *module) bool { return filters[0].holds(m.set.row) && filters[1].holds(m.row) })
	})
	byID := make(map[int64]*host)
	for _, h := range q.biz.hosts() {
		byID[h.id] = h
	}
	rows := []row{}
	for _, r := range q.pageOf(found) {
		rows = append(rows, row{"host": r.pick(q.fields()), "topo": byID[r.id("bk_host_id")].topology()})
	}
	found["info"] = rows
	return found, nil
}

// topology returns every module of a host, not only the requested ones.
func (h *host) topology() []row {
	var sets []row
	for _, m := range h.modules {
		at := slices.IndexFunc(sets, func(r row) bool { return r.id("bk_set_id") == m.set.id })
		if at < 0 {
			at = len(sets)
			sets = append(sets, row{"bk_set_id": m.set.id, "bk_set_name": m.set.row["bk_set_name"], "module": []row{}})
		}
		modules, _ := sets[at]["module"].([]row)
		sets[at]["module"] = append(modules, row{"bk_module_id": m.id, "bk_module_name": m.row["bk_module_name"]})
	}
	return sets
}

func (q *question) findHostsBelow() (any, *refusal) {
	model, id := q.text("bk_obj_id"), q.id("bk_inst_id")
	if model == "biz" || model == "host" {
		return nil, invalid("bk_obj_id")
	}
	if id < 0 {
		return nil, invalid("bk_inst_id")
	}
	return q.nullIfEmpty(q.hosts(func(h *host) bool {
		return h.in(func(m *module) bool {
			switch model {
			case "set":
				return m.set.id == id
			case "module":
				return m.id == id
			}
			at := slices.Index(q.biz.levels, model)
			return at >= 0 && at < len(m.set.under) && m.set.under[at] == id
		})
	})), nil
}

func (q *question) findHostsOfTemplate() (any, *refusal) {
	templates, modules := q.ids("bk_service_template_ids"), q.ids("bk_module_ids")
	return q.nullIfEmpty(q.hosts(func(h *host) bool {
		return h.in(func(m *module) bool {
			return m.template != nil && slices.Contains(templates, m.template.id) && keeps(modules, m.id)
		})
	})), nil
}

// nullIfEmpty replaces an empty page by null, as the older of these APIs do.
func (q *question) nullIfEmpty(found row) row {
	if info, ok := found["info"].([]row); ok && len(info) == 0 {
		found["info"] = nil
	}
	return found
}

func (q *question) searchGroups() (any, *refusal) {
	condition, _ := q.params["condition"].(map[string]any)
	var rows []row
	for _, g := range q.biz.groups {
		if q.has(g.row, condition, like("", "")) {
			rows = append(rows, g.row)
		}
	}
	return q.counted(q.list(rows, "id", "create_time")), nil
}

// counted sets the count to 0 if the request disables it.
func (q *question) counted(found row) row {
	if q.flag("disable_counter") {
		found["count"] = 0
	}
	return found
}

// executeGroup returns the hosts of a group, or the sets of a group of sets.
func (q *question) executeGroup() (any, *refusal) {
	at := slices.IndexFunc(q.biz.groups, func(g *group) bool { return g.row["id"] == q.text("id") })
	if at < 0 {
		return nil, &refusal{code: CodeNotFound, message: "No relevant data found"}
	}
	conditions := q.biz.groups[at].from.Conditions
	if q.biz.groups[at].from.Object == "set" {
		var rows []row
		for _, s := range q.biz.sets {
			if passes(conditions, "set", s.row) || q.bent.Page == "unfiltered" {
				rows = append(rows, s.row)
			}
		}
		found := q.list(rows, "bk_set_id", "create_time")
		found["info"] = picked(q.pageOf(found), q.fields("default"))
		return q.counted(found), nil
	}
	var rows []row
	for _, h := range q.biz.hosts() {
		if q.bent.Page == "unfiltered" || passes(conditions, "host", h.row) && h.in(func(m *module) bool {
			return passes(conditions, "set", m.set.row) && passes(conditions, "module", m.row)
		}) {
			rows = append(rows, h.row)
		}
	}
	found := q.list(rows, "bk_host_id", "create_time")
	found["info"] = picked(q.pageOf(found), q.fields())
	return q.counted(found), nil
}

func (q *question) pageOf(found row) []row { rows, _ := found["info"].([]row); return rows }
