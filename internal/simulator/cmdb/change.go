package cmdb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Add puts new hosts into a module, which is named "business/set/module", and returns
// them.
func (c *CMDB) Add(path string, hosts Hosts) ([]Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.moduleAt(path)
	if err != nil {
		return nil, err
	}
	before := len(m.hosts)
	if err := c.addHosts(m, &addresses{Hosts: hosts}); err != nil {
		return nil, err
	}
	var added []Machine
	for _, h := range m.hosts[before:] {
		added = append(added, h.machine())
	}
	return added, nil
}

// Share puts a host that is there into a further module, with a service instance.
func (c *CMDB) Share(path, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.moduleAt(path)
	if err != nil {
		return err
	}
	h := c.named[name]
	if h == nil {
		return fmt.Errorf("%s: %w", name, errNoHost)
	}
	if !h.of(m.set.biz) {
		return fmt.Errorf("%s: %w", name, errOtherBusiness)
	}
	if !slices.Contains(h.modules, m) {
		c.enter(m, h, nil, true)
	}
	return nil
}

// Empty moves the hosts of a module that are in no other one to the idle ones, and ends
// their service instances there.
func (c *CMDB) Empty(path string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.moduleAt(path)
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

// Remove takes a host out of CMDB.
func (c *CMDB) Remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.named[name]
	if h == nil {
		return fmt.Errorf("%s: %w", name, errNoHost)
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

// ChangeHost replaces fields of a host. Its agent knows nothing of it, and what it is
// called here stays.
func (c *CMDB) ChangeHost(name string, fields map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.named[name]
	if h == nil {
		return fmt.Errorf("%s: %w", name, errNoHost)
	}
	h.row = with(maps.Clone(h.row), fields)
	return nil
}

// ChangeProcess replaces fields of every process of a name in a module.
func (c *CMDB) ChangeProcess(path, name string, fields map[string]any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, err := c.moduleAt(path)
	if err != nil {
		return err
	}
	found := false
	for _, in := range m.set.biz.instances {
		for _, p := range in.processes {
			if in.module == m && p.row["bk_process_name"] == name {
				p.row, found = with(maps.Clone(p.row), fields), true
			}
		}
	}
	if !found {
		return fmt.Errorf("no process of %s is called %q", path, name)
	}
	return nil
}

// Modules are the hosts of every module, by its path. A host is "cloud:ip" or, without an
// address of its own, its agent id.
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

// moduleAt is the module of a path, which names a business, a set and a module.
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
	return nil, fmt.Errorf("module %q is not there", path)
}
