package cmdb

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// CMDB holds businesses and answers requests about them.
type CMDB struct {
	mu         sync.Mutex
	businesses []*business
	hosts      []*host
	named      map[string]*host // by "cloud:ip" and by agent id
	last       counters
	answers    uint64 // the number of answers so far, the seed for the order of ties
	admit      func(agentID, addr string) error
	changes    []Change // since the topology
	changed    func()
}

// counters are the last ids assigned.
type counters struct{ business, template, processTemplate, set, module, host, level, instance, process, group int64 }

// next returns the wanted id, or if it is 0 the one after the greatest so far.
func next(last *int64, wanted int64) int64 {
	if wanted == 0 {
		wanted = *last + 1
	}
	*last = max(*last, wanted)
	return wanted
}

// row is an object as CMDB returns it: texts, integers, nil and what was declared.
type row map[string]any

func (r row) id(name string) int64 { id, _ := r[name].(int64); return id }

type business struct {
	id        int64
	row       row
	denied    bool
	levels    []string
	above     []*level
	templates []*template
	sets      []*set
	groups    []*group
	instances []*instance
}

// level is an instance of a level above the sets, with the instances below it.
type level struct {
	id     int64
	model  string
	name   string
	levels []*level
	sets   []*set
}

type template struct {
	id        int64
	row       row
	processes []*processTemplate
}

type processTemplate struct {
	id  int64
	row row
}

type set struct {
	id      int64
	row     row
	biz     *business
	under   []int64 // ids of the levels above
	modules []*module
}

type module struct {
	id        int64
	row       row
	set       *set
	template  *template
	processes []map[string]any // nil for a module without service instances
	hosts     []*host
}

func (m *module) name() string { text, _ := m.row["bk_module_name"].(string); return text }

type host struct {
	id      int64
	row     row
	modules []*module
}

type instance struct {
	id        int64
	row       row // without its processes
	name      string
	labels    map[string]string
	host      *host
	module    *module // nil for an orphan
	moduleID  int64
	processes []*process
}

type process struct {
	id         int64
	templateID int64
	row        row
	instance   *instance
}

type group struct {
	row  row
	from Group
}

// New returns the CMDB that a topology declares.
func New(topology Topology) (*CMDB, error) {
	c := &CMDB{named: make(map[string]*host), changed: func() {}}
	for _, declared := range topology.Businesses {
		if err := c.addBusiness(declared); err != nil {
			return nil, fmt.Errorf("topology: business %q: %w", declared.Name, err)
		}
	}
	if err := c.twice(); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return c, nil
}

// twice returns an error for each id that two objects have.
func (c *CMDB) twice() error {
	seen := make(map[string]bool)
	see := func(kind string, id int64) error {
		key := kind + " " + strconv.FormatInt(id, 10)
		if seen[key] {
			return errors.New(key + " is declared twice")
		}
		seen[key] = true
		return nil
	}
	var errs []error
	for _, biz := range c.businesses {
		errs = append(errs, see("business", biz.id))
		for _, t := range biz.templates {
			errs = append(errs, see("template", t.id))
		}
		for _, s := range biz.sets {
			errs = append(errs, see("set", s.id))
		}
		for _, m := range biz.modules() {
			errs = append(errs, see("module", m.id))
		}
		for _, in := range biz.instances {
			for _, p := range in.processes {
				errs = append(errs, see("process", p.id))
			}
		}
	}
	for _, h := range c.hosts {
		errs = append(errs, see("host", h.id))
	}
	return errors.Join(errs...)
}

// Machine is a host as its agent identifies it.
type Machine struct {
	AgentID string // "" if it has none
	Address string // "cloud:ip", "" if several hosts have it
}

// OnChange makes CMDB call changed after every later change. changed must not call CMDB.
func (c *CMDB) OnChange(changed func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
}

// Admit calls admit for every host, including those added later. A name that a host lacks is "".
func (c *CMDB) Admit(admit func(agentID, addr string) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.admit = admit
	for _, h := range c.hosts {
		if err := admit(h.machine().AgentID, h.machine().Address); err != nil {
			return err
		}
	}
	return nil
}

// machine omits a dynamic address, which several hosts may have.
func (h *host) machine() Machine {
	machine := Machine{AgentID: h.text("bk_agent_id")}
	address := first(h.text("bk_host_innerip"))
	if address == "" {
		address = first(h.text("bk_host_innerip_v6"))
	}
	if address != "" && h.text("bk_addressing") != "dynamic" {
		machine.Address = strconv.FormatInt(h.row.id("bk_cloud_id"), 10) + ":" + address
	}
	return machine
}

func (h *host) text(name string) string { text, _ := h.row[name].(string); return text }

func (m Machine) names() []string {
	return slices.DeleteFunc([]string{m.AgentID, m.Address}, func(name string) bool { return name == "" })
}

// register adds a host under its names.
func (c *CMDB) register(h *host) error {
	for _, name := range h.machine().names() {
		if c.named[name] != nil {
			return fmt.Errorf("host %s exists already", name)
		}
	}
	for _, name := range h.machine().names() {
		c.named[name] = h
	}
	c.hosts = append(c.hosts, h)
	if c.admit == nil {
		return nil
	}
	return c.admit(h.machine().AgentID, h.machine().Address)
}

func (c *CMDB) business(id int64) *business {
	for _, biz := range c.businesses {
		if biz.id == id {
			return biz
		}
	}
	return nil
}

func (b *business) modules() []*module {
	var modules []*module
	for _, s := range b.sets {
		modules = append(modules, s.modules...)
	}
	return modules
}

// hosts returns the hosts of the business's modules, without duplicates, sorted by id.
func (b *business) hosts() []*host {
	var hosts []*host
	for _, m := range b.modules() {
		hosts = append(hosts, m.hosts...)
	}
	slices.SortFunc(hosts, func(a, b *host) int { return int(a.id - b.id) })
	return slices.Compact(hosts)
}

// of reports whether a host belongs to a business.
func (h *host) of(biz *business) bool { return len(h.modules) > 0 && h.modules[0].set.biz == biz }

var (
	errNoHost        = errors.New("no host is declared by that name")
	errOtherBusiness = errors.New("that host belongs to another business")
)
