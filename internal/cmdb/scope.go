package cmdb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/expression"
)

// Scope selects hosts of a business. One of Topology, Group, Template and HostIDs is set.
type Scope struct {
	Business int64
	Topology *Topology
	// Group and Template are ids or names.
	Group    string
	Template string
	HostIDs  []int64
}

// Topology selects modules by expressions. A nil expression matches all.
type Topology struct {
	// Environment is CMDB's number of an environment, "" for all.
	Environment string
	Set, Module *expression.Expression
}

// target is what a scope resolves to: ids of modules, of sets or of hosts.
type target struct{ modules, sets, hosts []int64 }

func (t target) ofHosts() bool { return t.modules == nil && t.sets == nil }

// located is a target, and its hosts if they determine which modules are read.
type located struct {
	target

	hosts []Host
}

// Select returns the hosts of a scope, sorted by id. Their places are those in the scope, or all if the
// scope names hosts. A scope without hosts is not an error. One that names something that does not exist is
// an [UnknownError].
func (c *Client) Select(ctx context.Context, s Scope) ([]Host, error) {
	return settled(listHosts.name, func() (target, error) { return c.resolve(ctx, s) }, func(to target) ([]Host, error) { return c.hostsIn(ctx, s, to) })
}

func (c *Client) hostsIn(ctx context.Context, s Scope, to target) ([]Host, error) {
	switch {
	case to.modules != nil:
		return c.HostsInModules(ctx, s.Business, to.modules)
	case to.sets != nil:
		return c.HostsInSets(ctx, s.Business, to.sets)
	}
	return c.knownHosts(ctx, s, to.hosts)
}

// resolve turns names and expressions into ids. Exactly one list of the target is not nil.
func (c *Client) resolve(ctx context.Context, s Scope) (target, error) {
	switch {
	case s.Topology != nil:
		modules, err := c.selectModules(ctx, s)
		return target{modules: modules}, err
	case s.Group != "":
		return c.selectGroup(ctx, s)
	case s.Template != "":
		modules, err := c.selectTemplate(ctx, s)
		return target{modules: modules}, err
	}
	return target{hosts: s.HostIDs}, nil
}

// knownHosts returns hosts by their ids. If the business does not exist, the error says so and does not
// name the hosts.
func (c *Client) knownHosts(ctx context.Context, s Scope, ids []int64) ([]Host, error) {
	hosts, err := c.HostsByID(ctx, s.Business, ids)
	if err != nil {
		return nil, c.orUnknown(ctx, s.Business, err)
	}
	return hosts, nil
}

// placed returns an error if CMDB did not return the modules of a host. Every host of a business is in one,
// so processes would be missing.
func placed(hosts []Host) error {
	for _, h := range hosts {
		if h.unplaced {
			return &UnplacedError{API: listHosts.name, Host: h.String()}
		}
	}
	return nil
}

// selectModules returns the modules that match a topology's expressions. An expression that matches nothing
// is an error.
func (c *Client) selectModules(ctx context.Context, s Scope) ([]int64, error) {
	sets, err := c.Topology(ctx, s.Business)
	if err != nil {
		return nil, err
	}
	all := sets
	if env := s.Topology.Environment; env != "" {
		ids, err := c.SetsOf(ctx, s.Business, env)
		if err != nil {
			return nil, err
		}
		sets = slices.DeleteFunc(slices.Clone(sets), func(set Set) bool { return !slices.Contains(ids, set.ID) })
		if len(sets) == 0 {
			return nil, &UnknownError{What: "set", Name: fmt.Sprintf("in environment %q", env), Business: s.Business, Nearby: setNames(all)}
		}
	}
	if e := s.Topology.Set; e != nil {
		matching := slices.DeleteFunc(slices.Clone(sets), func(set Set) bool { return !e.Match(set.Name) })
		if len(matching) == 0 {
			return nil, &UnknownError{What: "set", Name: strconv.Quote(e.String()) + s.Topology.within(), Business: s.Business, Nearby: setNames(sets)}
		}
		sets = matching
	}
	modules := []int64{}
	var names []string
	for _, set := range sets {
		for _, m := range set.Modules {
			names = append(names, m.Name)
			if e := s.Topology.Module; e == nil || e.Match(m.Name) {
				modules = append(modules, m.ID)
			}
		}
	}
	if e := s.Topology.Module; len(modules) == 0 && e != nil {
		return nil, &UnknownError{What: "module", Name: strconv.Quote(e.String()) + " in these sets", Business: s.Business, Nearby: distinct(names)}
	}
	slices.Sort(modules) // the order of the tree has no meaning
	return modules, nil
}

// within names the environment, if any, in which a set was searched for.
func (t Topology) within() string {
	if t.Environment == "" {
		return ""
	}
	return fmt.Sprintf(" in environment %q", t.Environment)
}

func setNames(sets []Set) []string {
	names := make([]string, len(sets))
	for i, set := range sets {
		names[i] = set.Name
	}
	return distinct(names)
}

func distinct(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// selectGroup executes a dynamic group. A group of sets selects the hosts of all their modules.
func (c *Client) selectGroup(ctx context.Context, s Scope) (target, error) {
	groups, err := c.Groups(ctx, s.Business)
	if err != nil {
		return target{}, c.orUnknown(ctx, s.Business, err)
	}
	names := make([]named, len(groups))
	for i, g := range groups {
		names[i] = named{id: g.ID, name: g.Name}
	}
	i, err := find("dynamic group", s.Group, s.Business, names)
	if err != nil {
		return target{}, c.orUnknown(ctx, s.Business, err)
	}
	group := groups[i]
	if group.Object != "host" && group.Object != "set" {
		return target{}, fmt.Errorf("dynamic group %q selects objects of type %q, and not hosts or sets", s.Group, group.Object)
	}
	ids, err := c.Members(ctx, s.Business, group)
	if group.Object == "set" {
		return target{sets: ids}, err
	}
	return target{hosts: ids}, err
}

// selectTemplate returns the modules that were created from a service template.
func (c *Client) selectTemplate(ctx context.Context, s Scope) ([]int64, error) {
	templates, err := c.Templates(ctx, s.Business)
	if err != nil {
		return nil, c.orUnknown(ctx, s.Business, err)
	}
	names := make([]named, len(templates))
	for i, t := range templates {
		names[i] = named{id: strconv.FormatInt(t.ID, 10), name: t.Name}
	}
	i, err := find("service template", s.Template, s.Business, names)
	if err != nil {
		return nil, c.orUnknown(ctx, s.Business, err)
	}
	modules, err := c.selectModules(ctx, Scope{Business: s.Business, Topology: &Topology{}})
	if err != nil {
		return nil, err
	}
	made, err := c.TemplatesOf(ctx, s.Business, modules)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(modules, func(id int64) bool { return made[id] != templates[i].ID }), nil
}

// named is something that has an id and a name.
type named struct{ id, name string }

// find returns the index of the item with the wanted id, or else name. A name that is not unique is an error.
func find(what, wanted string, biz int64, all []named) (int, error) {
	var (
		exist []string
		found []int
	)
	for i, one := range all {
		if one.id == wanted {
			return i, nil
		}
		if norm.NFC.String(one.name) == wanted { // as Terraform writes it
			found = append(found, i)
		}
		exist = append(exist, fmt.Sprintf("%s (%s)", one.name, one.id))
	}
	switch len(found) {
	case 0:
		return 0, &UnknownError{What: what, Name: strconv.Quote(wanted), Business: biz, Nearby: exist}
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, i := range found {
		ids = append(ids, all[i].id)
	}
	return 0, fmt.Errorf("business %d has %d of the name %q for a %s: give its id, one of %s", biz, len(found), wanted, what, strings.Join(ids, ", "))
}
