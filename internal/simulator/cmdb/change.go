package cmdb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is one change of CMDB, in requests and in the state file. Each action uses some of the members.
type Change struct {
	Action string `json:"action"`
	// Module is "business/set/module".
	Module  string         `json:"module,omitempty"`
	Host    string         `json:"host,omitempty"` // "cloud:ip" or an agent id
	Hosts   Hosts          `json:"hosts,omitzero"`
	Process string         `json:"process,omitempty"`
	Fields  map[string]any `json:"fields,omitempty"`
}

var actions = map[string]func(*CMDB, Change) error{
	"add":            (*CMDB).addLocked,
	"share":          (*CMDB).shareLocked,
	"empty":          (*CMDB).emptyLocked,
	"remove":         (*CMDB).removeLocked,
	"change_host":    (*CMDB).changeHostLocked,
	"change_process": (*CMDB).changeProcessLocked,
}

// Apply makes a change, and keeps it for the state file.
func (c *CMDB) Apply(change Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.applyLocked(change)
}

func (c *CMDB) applyLocked(change Change) error {
	apply := actions[change.Action]
	if apply == nil {
		return fmt.Errorf("action: %q is unknown", change.Action)
	}
	if err := apply(c, change); err != nil {
		return err
	}
	c.changes = append(c.changes, change)
	c.changed()
	return nil
}

// Add adds new hosts to a module.
func (c *CMDB) Add(module string, hosts Hosts) error {
	return c.Apply(Change{Action: "add", Module: module, Hosts: hosts})
}

// Share adds an existing host to a further module, with a service instance.
func (c *CMDB) Share(module, host string) error {
	return c.Apply(Change{Action: "share", Module: module, Host: host})
}

// Empty moves the hosts that are only in this module to the idle module, and deletes their service
// instances here.
func (c *CMDB) Empty(module string) error { return c.Apply(Change{Action: "empty", Module: module}) }

// Remove removes a host from CMDB.
func (c *CMDB) Remove(host string) error { return c.Apply(Change{Action: "remove", Host: host}) }

// ChangeHost replaces fields of a host. The host's agent does not change, and it keeps its name here.
func (c *CMDB) ChangeHost(host string, fields map[string]any) error {
	return c.Apply(Change{Action: "change_host", Host: host, Fields: fields})
}

// ChangeProcess replaces fields of every process of a name in a module.
func (c *CMDB) ChangeProcess(module, process string, fields map[string]any) error {
	return c.Apply(Change{Action: "change_process", Module: module, Process: process, Fields: fields})
}

// MarshalJSON encodes the changes since the topology.
func (c *CMDB) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return json.Marshal(c.changes)
}

// UnmarshalJSON makes encoded changes again. Ids are the same, because they are assigned in order.
func (c *CMDB) UnmarshalJSON(raw []byte) error {
	var changes []Change
	if err := json.Unmarshal(raw, &changes); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, change := range changes {
		if err := c.applyLocked(change); err != nil {
			return fmt.Errorf("change %d of CMDB (%s), which the topology does not fit: %w", i+1, change.Action, err)
		}
	}
	return nil
}

func (c *CMDB) addLocked(change Change) error {
	m, err := c.moduleAt(change.Module)
	if err != nil {
		return err
	}
	return c.addHosts(m, &addresses{Hosts: change.Hosts})
}

func (c *CMDB) shareLocked(change Change) error {
	m, err := c.moduleAt(change.Module)
	if err != nil {
		return err
	}
	h, err := c.hostNamed(change.Host)
	if err != nil {
		return err
	}
	if !h.of(m.set.biz) {
		return fmt.Errorf("%s: %w", change.Host, errOtherBusiness)
	}
	if !slices.Contains(h.modules, m) {
		c.enter(m, h, nil, true)
	}
	return nil
}

func (c *CMDB) emptyLocked(change Change) error {
	m, err := c.moduleAt(change.Module)
	if err != nil {
		return err
	}
	for _, h := range m.hosts {
		h.leave(m)
		if len(h.modules) == 0 {
			idle := m.set.biz.sets[0].modules[0]
			h.modules, idle.hosts = []*module{idle}, append(idle.hosts, h)
		}
	}
	m.hosts = nil
	biz := m.set.biz
	biz.instances = slices.DeleteFunc(biz.instances, func(in *instance) bool { return in.module == m })
	return nil
}

func (c *CMDB) removeLocked(change Change) error {
	h, err := c.hostNamed(change.Host)
	if err != nil {
		return err
	}
	for _, m := range h.modules {
		m.hosts = slices.DeleteFunc(m.hosts, func(other *host) bool { return other == h })
	}
	for _, biz := range c.businesses {
		biz.instances = slices.DeleteFunc(biz.instances, func(in *instance) bool { return in.host == h })
	}
	c.hosts = slices.DeleteFunc(c.hosts, func(other *host) bool { return other == h })
	maps.DeleteFunc(c.named, func(_ string, other *host) bool { return other == h })
	return nil
}

func (c *CMDB) changeHostLocked(change Change) error {
	h, err := c.hostNamed(change.Host)
	if err != nil {
		return err
	}
	h.row = with(maps.Clone(h.row), change.Fields)
	return nil
}

func (c *CMDB) changeProcessLocked(change Change) error {
	m, err := c.moduleAt(change.Module)
	if err != nil {
		return err
	}
	found := false
	for _, in := range m.set.biz.instances {
		for _, p := range in.processes {
			if in.module == m && p.row["bk_process_name"] == change.Process {
				p.row, found = with(maps.Clone(p.row), change.Fields), true
			}
		}
	}
	if !found {
		return fmt.Errorf("no process of %s is called %q", change.Module, change.Process)
	}
	return nil
}

func (c *CMDB) hostNamed(name string) (*host, error) {
	if h := c.named[name]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("%s: %w", name, errNoHost)
}

// Changes returns the number of changes since the topology.
func (c *CMDB) Changes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.changes)
}

// Modules returns the hosts of every module, by its path. A host is "cloud:ip" or, without an address of
// its own, its agent id.
func (c *CMDB) Modules() map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	modules := make(map[string][]string)
	for _, biz := range c.businesses {
		for _, m := range biz.modules() {
			path := fmt.Sprintf("%v/%v/%s", biz.row["bk_biz_name"], m.set.row["bk_set_name"], m.name())
			names := []string{}
			for _, h := range m.hosts {
				names = append(names, cmp.Or(h.machine().Address, h.machine().AgentID))
			}
			modules[path] = names
		}
	}
	return modules
}

func (h *host) leave(m *module) {
	h.modules = slices.DeleteFunc(h.modules, func(other *module) bool { return other == m })
}

// moduleAt returns the module of a path, which names a business, a set and a module.
func (c *CMDB) moduleAt(path string) (*module, error) {
	names := strings.Split(path, "/")
	if len(names) != 3 {
		return nil, fmt.Errorf("module %q: want business/set/module", path)
	}
	for _, biz := range c.businesses {
		for _, m := range biz.modules() {
			if biz.row["bk_biz_name"] == names[0] && m.set.row["bk_set_name"] == names[1] && m.name() == names[2] {
				return m, nil
			}
		}
	}
	return nil, fmt.Errorf("module %q does not exist", path)
}
