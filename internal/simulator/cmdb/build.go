package cmdb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// created is the creation time of everything that a topology declares, as if created in one batch.
const created = "2024-03-01T10:00:00.000+08:00"

func (c *CMDB) addBusiness(declared Business) error {
	if declared.Name == "" {
		return errors.New("it has no name")
	}
	biz := &business{id: next(&c.last.business, declared.ID), denied: declared.NoPermission, levels: declared.Levels}
	biz.row = with(row{
		"bk_biz_id": biz.id, "bk_biz_name": declared.Name, "bk_biz_maintainer": "admin", "bk_supplier_account": "0",
		"life_cycle": "2", "time_zone": "Asia/Shanghai", "language": "1", "default": int64(0), "create_time": created,
	}, declared.Fields)
	c.businesses = append(c.businesses, biz)
	c.addIdle(biz)
	for _, t := range declared.Templates {
		c.addTemplate(biz, t)
	}
	for i := range declared.Sets {
		if err := c.addSets(biz, declared.Sets[i]); err != nil {
			return fmt.Errorf("set %q: %w", declared.Sets[i].Name, err)
		}
	}
	for _, hosts := range declared.Idle {
		run := &addresses{Hosts: hosts}
		if err := c.addHosts(biz.sets[0].modules[0], run); err != nil {
			return fmt.Errorf("idle: %w", err)
		}
	}
	if err := c.share(biz, declared.Sets); err != nil {
		return err
	}
	for _, g := range declared.Groups {
		if err := c.addGroup(biz, g); err != nil {
			return fmt.Errorf("group %q: %w", g.Name, err)
		}
	}
	for _, orphan := range declared.Orphans {
		h := c.named[orphan.Host]
		if h == nil {
			return fmt.Errorf("orphan on %s: %w", orphan.Host, errNoHost)
		}
		c.addInstance(biz, nil, h, orphan.Processes, nil)
	}
	return nil
}

// addIdle adds the set and the modules that every business has.
func (c *CMDB) addIdle(biz *business) {
	idle := c.newSet(biz, Set{Name: "idle pool"}, "idle pool")
	idle.row["default"] = int64(1)
	for i, name := range []string{"idle host", "fault host", "recycle host"} {
		m := c.newModule(idle, Module{Name: name})
		m.row["default"] = int64(i + 1)
	}
}

func (c *CMDB) addTemplate(biz *business, declared Template) {
	t := &template{id: next(&c.last.template, declared.ID)}
	t.row = row{
		"bk_biz_id": biz.id, "id": t.id, "name": declared.Name, "service_category_id": int64(2), "creator": "admin", "modifier": "admin",
		"create_time": created, "last_time": created, "bk_supplier_account": "0", "host_apply_enabled": false,
	}
	for _, p := range declared.Processes {
		pt := &processTemplate{id: next(&c.last.processTemplate, 0)}
		pt.row = processRow(p)
		t.processes = append(t.processes, pt)
	}
	biz.templates = append(biz.templates, t)
}

// addSets adds a set for each name in a range, with the same modules. Addresses continue from set to set.
func (c *CMDB) addSets(biz *business, declared Set) error {
	names, err := expand(declared.Name)
	if err != nil {
		return err
	}
	if len(declared.Under) != len(biz.levels) {
		return fmt.Errorf("under: want a name for each of the levels %q", biz.levels)
	}
	runs := make([][]*addresses, len(declared.Modules))
	for i, m := range declared.Modules {
		for _, hosts := range m.Hosts {
			runs[i] = append(runs[i], &addresses{Hosts: hosts})
		}
	}
	for n, name := range names {
		if n > 0 {
			declared.ID = 0
		}
		s := c.newSet(biz, declared, name)
		for i, m := range declared.Modules {
			if n > 0 {
				m.ID = 0
			}
			made := c.newModule(s, m)
			if m.Template != "" {
				if made.template = biz.template(m.Template); made.template == nil {
					return fmt.Errorf("module %q: no template is called %q", m.Name, m.Template)
				}
				made.row["service_template_id"] = made.template.id
			}
			for _, run := range runs[i] {
				if err := c.addHosts(made, run); err != nil {
					return fmt.Errorf("module %q: %w", m.Name, err)
				}
			}
		}
	}
	return nil
}

func (b *business) template(name string) *template {
	for _, t := range b.templates {
		if t.row["name"] == name {
			return t
		}
	}
	return nil
}

func (c *CMDB) newSet(biz *business, declared Set, name string) *set {
	s := &set{id: next(&c.last.set, declared.ID), biz: biz}
	parent := biz.id
	for _, at := range c.levelsOf(biz, declared.Under) {
		s.under = append(s.under, at.id)
		parent = at.id
	}
	s.row = with(row{
		"bk_biz_id": biz.id, "bk_set_id": s.id, "bk_set_name": name, "bk_set_env": cmp.Or(declared.Env, "3"), "bk_parent_id": parent,
		"bk_service_status": "1", "bk_supplier_account": "0", "default": int64(0), "create_time": created, "last_time": created,
	}, declared.Fields)
	biz.sets = append(biz.sets, s)
	if lowest := c.levelsOf(biz, declared.Under); len(lowest) > 0 {
		at := lowest[len(lowest)-1]
		at.sets = append(at.sets, s)
	}
	return s
}

// levelsOf returns the levels above a set, top down, and creates missing ones.
func (c *CMDB) levelsOf(biz *business, names []string) []*level {
	var path []*level
	at := &biz.above
	for i, name := range names {
		var found *level
		for _, l := range *at {
			if l.name == name {
				found = l
			}
		}
		if found == nil {
			found = &level{id: next(&c.last.level, 0), model: biz.levels[i], name: name}
			*at = append(*at, found)
		}
		path = append(path, found)
		at = &found.levels
	}
	return path
}

func (c *CMDB) newModule(s *set, declared Module) *module {
	m := &module{id: next(&c.last.module, declared.ID), set: s, processes: declared.Processes}
	m.row = with(row{
		"bk_biz_id": s.biz.id, "bk_set_id": s.id, "bk_module_id": m.id, "bk_module_name": declared.Name, "bk_module_type": "1", "bk_parent_id": s.id,
		"service_template_id": int64(0), "service_category_id": int64(2), "bk_supplier_account": "0", "default": int64(0),
		"create_time": created, "last_time": created,
	}, declared.Fields)
	s.modules = append(s.modules, m)
	return m
}

// addresses are hosts of which some were created already.
type addresses struct {
	Hosts
	made int
	next netip.Addr
}

func (c *CMDB) addHosts(m *module, run *addresses) error {
	if run.AgentID != "" && run.Count > 1 {
		return errors.New("agent_id: several hosts cannot have one")
	}
	names, err := expand(run.Name)
	if err != nil {
		return err
	}
	if run.made == 0 && run.IP != "" {
		if run.next, err = netip.ParseAddr(run.IP); err != nil {
			return fmt.Errorf("ip: %w", err)
		}
	}
	for range max(run.Count, 1) {
		h := c.newHost(run, names[run.made%len(names)])
		if err := c.register(h); err != nil {
			return err
		}
		c.enter(m, h, run.Labels, !run.NoInstance)
		run.made++
		run.next = run.next.Next()
	}
	return nil
}

func (c *CMDB) newHost(run *addresses, name string) *host {
	wanted := int64(0)
	if run.made == 0 {
		wanted = run.ID
	}
	h := &host{id: next(&c.last.host, wanted)}
	agentID := run.AgentID
	if agentID == "" && !run.NoAgent {
		agentID = fmt.Sprintf("02000000005254%022d", h.id)
	}
	h.row = row{
		"bk_host_id": h.id, "bk_cloud_id": run.Cloud, "bk_host_innerip": "", "bk_host_innerip_v6": "", "bk_agent_id": agentID,
		"bk_addressing": "static", "bk_host_name": name, "bk_os_type": "1", "bk_mac": "", "operator": nil, "bk_bak_operator": nil,
		"bk_isp_name": nil, "bk_province_name": nil, "bk_state_name": nil, "bk_supplier_account": "0", "create_time": created,
	}
	switch {
	case run.next.Is4():
		h.row["bk_host_innerip"] = run.next.String()
	case run.next.Is6():
		h.row["bk_host_innerip_v6"] = run.next.String()
	}
	with(h.row, run.Fields)
	return h
}

// enter adds a host to a module, with a service instance there if the host may have one.
func (c *CMDB) enter(m *module, h *host, labels map[string]string, instance bool) {
	h.modules = append(h.modules, m)
	m.hosts = append(m.hosts, h)
	if instance && (m.template != nil || m.processes != nil) {
		c.addInstance(m.set.biz, m, h, m.processes, labels)
	}
}

func (c *CMDB) addInstance(biz *business, m *module, h *host, processes []map[string]any, labels map[string]string) {
	in := &instance{id: next(&c.last.instance, 0), host: h, module: m, labels: labels,
		name: cmp.Or(first(h.text("bk_host_innerip")), strconv.FormatInt(h.id, 10))}
	if m != nil {
		in.moduleID = m.id
		if m.template != nil {
			for _, pt := range m.template.processes {
				c.addProcess(biz, in, pt.id, pt.made())
			}
		}
	}
	for _, declared := range processes {
		c.addProcess(biz, in, 0, processRow(declared))
	}
	if len(in.processes) > 0 {
		in.name += "_" + fmt.Sprint(in.processes[0].row["bk_func_name"])
	}
	in.row = row{
		"bk_biz_id": biz.id, "id": in.id, "name": in.name, "labels": nil, "service_template_id": int64(0), "bk_host_id": h.id, "bk_module_id": in.moduleID,
		"creator": "admin", "modifier": "admin", "create_time": created, "last_time": created, "bk_supplier_account": "0", "service_category_id": int64(2),
	}
	if labels != nil {
		in.row["labels"] = labels
	}
	if m != nil && m.template != nil {
		in.row["service_template_id"] = m.template.id
	}
	biz.instances = append(biz.instances, in)
}

// made returns a process from a template. Each of its bindings names its row in the template.
func (pt *processTemplate) made() row {
	binds, ok := pt.row["bind_info"].([]any)
	if !ok {
		return pt.row
	}
	made := make([]any, 0, len(binds))
	for i, v := range binds {
		bind := row{"template_row_id": i + 1}
		declared, _ := v.(map[string]any)
		maps.Copy(bind, declared)
		made = append(made, bind)
	}
	r := maps.Clone(pt.row)
	r["bind_info"] = made
	return r
}

func (c *CMDB) addProcess(biz *business, in *instance, templateID int64, from row) {
	p := &process{id: next(&c.last.process, from.id("bk_process_id")), templateID: templateID, row: maps.Clone(from), instance: in}
	p.row["bk_process_id"], p.row["service_instance_id"] = p.id, in.id
	p.row["bk_biz_id"], p.row["bk_supplier_account"] = biz.id, "0"
	p.row["create_time"], p.row["last_time"] = created, created
	in.processes = append(in.processes, p)
}

// processFields are null unless they are declared.
var processFields = strings.Fields(`bk_process_name bk_func_name bk_start_param_regex work_path pid_file user start_cmd stop_cmd restart_cmd
	reload_cmd face_stop_cmd proc_num priority timeout bk_start_check_secs auto_start description bind_info`)

func processRow(declared map[string]any) row {
	r := make(row, len(processFields)+len(declared))
	for _, name := range processFields {
		r[name] = nil
	}
	with(r, declared)
	if r["bk_func_name"] == nil {
		r["bk_func_name"] = r["bk_process_name"]
	}
	return r
}

// share adds hosts to further modules.
func (c *CMDB) share(biz *business, sets []Set) error {
	for _, s := range sets {
		for _, m := range s.Modules {
			for _, name := range m.Shares {
				h := c.named[name]
				if h == nil {
					return fmt.Errorf("module %q shares %s: %w", m.Name, name, errNoHost)
				}
				if !h.of(biz) {
					return fmt.Errorf("module %q shares %s: %w", m.Name, name, errOtherBusiness)
				}
				names, _ := expand(s.Name) // it was expanded before
				for _, made := range biz.sets {
					for _, into := range made.modules {
						if into.name() == m.Name && slices.Contains(names, fmt.Sprint(made.row["bk_set_name"])) {
							c.enter(into, h, nil, true)
						}
					}
				}
			}
		}
	}
	return nil
}

func (c *CMDB) addGroup(biz *business, declared Group) error {
	if declared.Object != "host" && declared.Object != "set" {
		return fmt.Errorf("object: %q is neither host nor set", declared.Object)
	}
	for _, cond := range declared.Conditions {
		if _, err := cond.holds(nil); err != nil {
			return err
		}
	}
	id := cmp.Or(declared.ID, fmt.Sprintf("%020x", 0xc0ffee00+next(&c.last.group, 0)))
	biz.groups = append(biz.groups, &group{from: declared, row: row{
		"bk_biz_id": biz.id, "id": id, "name": declared.Name, "bk_obj_id": declared.Object, "info": row{"condition": declared.shown(), "variable_condition": nil},
		"create_user": "admin", "modify_user": "admin", "create_time": created, "last_time": created,
	}})
	return nil
}
