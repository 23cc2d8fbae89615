package cmdb

import (
	"maps"
	"slices"
)

// listInstances returns service instances with their processes. The API sorts them by creation time, but
// many were created at the same time, so their order is not defined.
func (q *question) listInstances() (any, *refusal) {
	if q.id("bk_host_id") != 0 && !q.missing("bk_host_list") {
		return nil, invalid("bk_host_id and bk_host_list can't both be set")
	}
	selectors, refused := q.selectors()
	if refused != nil {
		return nil, refused
	}
	hosts, ids := q.ids("bk_host_list"), q.ids("service_instance_ids")
	if id := q.id("bk_host_id"); id != 0 {
		hosts = []int64{id}
	}
	moduleID := q.id("bk_module_id")
	var rows []row
	instances := make(map[int64]*instance)
	for _, in := range q.biz.instances {
		passes := (moduleID == 0 || moduleID == in.moduleID) && keeps(hosts, in.host.id) && keeps(ids, in.id) && selected(selectors, in.labels)
		if passes || q.bent.Page == "unfiltered" {
			rows = append(rows, in.row)
			instances[in.id] = in
		}
	}
	found := q.list(rows, "id", "-create_time")
	detailed := []row{}
	for _, r := range q.pageOf(found) {
		detailed = append(detailed, q.detail(instances[r.id("id")]))
	}
	found["info"] = detailed
	return found, nil
}

// detail returns an instance with its processes, null for none.
func (q *question) detail(in *instance) row {
	r := maps.Clone(in.row)
	r["process_instances"] = nil
	var processes []row
	for _, p := range in.processes {
		shown := maps.Clone(p.row)
		delete(shown, "service_instance_id")
		processes = append(processes, row{"process": shown, "relation": q.relation(p)})
	}
	if processes != nil {
		r["process_instances"] = processes
	}
	return r
}

func (q *question) relation(p *process) row {
	return row{
		"bk_biz_id": q.biz.id, "bk_process_id": p.id, "service_instance_id": p.instance.id, "process_template_id": p.templateID,
		"bk_host_id": p.instance.host.id, "bk_supplier_account": "0",
	}
}

type selector struct {
	key, operator string
	values        []string
}

// selectors reads filters by labels.
func (q *question) selectors() ([]selector, *refusal) {
	list, _ := q.params["selectors"].([]any)
	var selectors []selector
	for _, v := range list {
		given, _ := v.(map[string]any)
		var s selector
		s.key, _ = given["key"].(string)
		s.operator, _ = given["operator"].(string)
		values, _ := given["values"].([]any)
		for _, value := range values {
			text, ok := value.(string)
			if !ok {
				return nil, notJSON("selectors.values is not a list of texts")
			}
			s.values = append(s.values, text)
		}
		wanted := map[string]bool{"=": len(s.values) == 1, "!=": len(s.values) == 1, "in": len(s.values) > 0, "notin": len(s.values) > 0, "exists": len(s.values) == 0, "!": len(s.values) == 0}
		if s.key == "" || !wanted[s.operator] {
			return nil, invalid("selectors")
		}
		selectors = append(selectors, s)
	}
	return selectors, nil
}

func selected(selectors []selector, labels map[string]string) bool {
	for _, s := range selectors {
		value, has := labels[s.key]
		among := has && slices.Contains(s.values, value)
		passes := map[string]bool{"=": among, "in": among, "!=": !among, "notin": !among, "exists": has, "!": !has}
		if !passes[s.operator] {
			return false
		}
	}
	return true
}

func (q *question) listProcessesOfInstance() (any, *refusal) {
	rows := []row{}
	for _, in := range q.biz.instances {
		if in.id != q.id("service_instance_id") {
			continue
		}
		for _, p := range in.processes {
			rows = append(rows, row{"property": p.row, "relation": q.relation(p)})
		}
	}
	return rows, nil
}

func (q *question) listProcesses() (any, *refusal) {
	ids := q.ids("bk_process_ids")
	rows := []row{}
	for _, p := range q.processes() {
		if keeps(ids, p.id) {
			rows = append(rows, p.row.pick(q.fields("bk_process_id")))
		}
	}
	return rows, nil
}

func (q *question) processes() []*process {
	var processes []*process
	for _, in := range q.biz.instances {
		processes = append(processes, in.processes...)
	}
	return processes
}

// listRelated returns processes with everything above them. It ignores "process", although its document
// has it.
func (q *question) listRelated() (any, *refusal) {
	f, refused := q.filter("process_property_filter")
	if refused != nil {
		return nil, refused
	}
	within := func(name, list string) []int64 {
		members, _ := q.params[name].(map[string]any)
		return q.idsIn(members, list)
	}
	sets, modules, instances := within("set", "bk_set_ids"), within("module", "bk_module_ids"), within("service_instance", "ids")
	processes := make(map[int64]*process)
	var rows []row
	for _, p := range q.processes() {
		m := p.instance.module
		passes := keeps(instances, p.instance.id) && keeps(modules, p.instance.moduleID)
		if len(sets) > 0 {
			passes = passes && m != nil && slices.Contains(sets, m.set.id)
		}
		if passes && f.holds(p.row) {
			processes[p.id] = p
			rows = append(rows, p.row)
		}
	}
	found := q.list(rows, "bk_process_id", "bk_process_id")
	related := []row{}
	for _, r := range q.pageOf(found) {
		related = append(related, q.related(processes[r.id("bk_process_id")]))
	}
	found["info"] = related
	return found, nil
}

func (q *question) related(p *process) row {
	h := p.instance.host.row
	r := row{
		"set":              row{"bk_set_id": 0, "bk_set_name": "", "bk_set_env": ""},
		"module":           row{"bk_module_id": 0, "bk_module_name": ""},
		"host":             h.pick([]string{"bk_host_id", "bk_cloud_id", "bk_host_innerip", "bk_host_innerip_v6", "bk_addressing", "bk_agent_id"}),
		"service_instance": row{"id": p.instance.id, "name": p.instance.name},
		"process_template": row{"id": p.templateID},
		"process":          p.row.pick(q.fields("bk_process_id", "bk_process_name", "bk_func_id")),
	}
	if m := p.instance.module; m != nil {
		env, _ := m.set.row["bk_set_env"].(string)
		r["set"] = row{"bk_set_id": m.set.id, "bk_set_name": m.set.row["bk_set_name"], "bk_set_env": env}
		r["module"] = row{"bk_module_id": m.id, "bk_module_name": m.row["bk_module_name"]}
	}
	return r
}
