package inventory

import (
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// processInstance is one instance of a process on one host.
type processInstance struct {
	process  cmdb.Process
	name     string
	key      string // the host's
	address  string
	declared declaration
}

// declaration is what must be equal for hosts to be one resource.
type declaration struct {
	spec     processSpec
	priority int64
}

// processGroup is the instances of one name with equal declarations.
type processGroup struct {
	name        string
	processName string
	declared    declaration
	hosts       map[string]string
	ids         []int64
}

// processGroups are groups by the key of a for_each.
type processGroups struct {
	groups map[string]*processGroup
	// unusable are processes that cannot be rendered, clashes those that GSE could not distinguish.
	unusable, clashes []string
}

// newProcessGroups renders processes and groups them. found has the names of their hosts. Processes of
// hosts without a name are left out, because that is reported as an error already.
func newProcessGroups(processes []cmdb.Process, found *inventory, instIDs map[string]int64) *processGroups {
	g := &processGroups{groups: make(map[string]*processGroup)}
	byName := make(map[string][]processInstance)
	taken := make(map[[2]string]cmdb.Process)
	for _, p := range processes {
		key, named := found.keys[p.Host.ID]
		if !named {
			continue
		}
		for local := int64(1); local <= instancesOf(p); local++ {
			names := renderNames(p, local)
			if first, given := instIDs[strconv.FormatInt(p.ID, 10)]; given {
				addInstID(names, first+local-1)
			}
			spec, err := specOf(p, names)
			if err != nil {
				g.unusable = append(g.unusable, fmt.Sprintf("%s: %s", p, err))
				break
			}
			one := processInstance{
				process: p, name: instanceName(p, local), key: key, address: found.addresses[key],
				declared: declaration{spec: spec, priority: p.Priority},
			}
			if other, twice := taken[[2]string{one.name, key}]; twice {
				g.clashes = append(g.clashes, fmt.Sprintf("%s and %s are both %s there", other, p, one.name))
				break
			}
			taken[[2]string{one.name, key}] = p
			byName[one.name] = append(byName[one.name], one)
		}
	}
	for name, instances := range byName {
		g.add(name, instances)
	}
	return g
}

// labels are ways to distinguish groups of one name, the shortest first. A label tells where a process is, so that a process
// which changes everywhere keeps its keys. Which label is used depends on the declarations: when a process
// changes in some places, keys are renamed.
var labels = []func(cmdb.Process) string{
	func(cmdb.Process) string { return "" },
	func(p cmdb.Process) string { return "@" + p.Place.ModuleName },
	func(p cmdb.Process) string { return "@" + p.Place.String() },
	func(p cmdb.Process) string { return fmt.Sprintf("@%s#%d", p.Place, p.ID) },
}

// add groups the instances of a name by the first label for which declarations within a group are equal.
func (g *processGroups) add(name string, instances []processInstance) {
	for _, label := range labels {
		groups, alike := groupsBy(label, name, instances)
		if !alike {
			continue
		}
		for key, group := range groups {
			g.groups[key] = group
		}
		return
	}
}

func groupsBy(label func(cmdb.Process) string, name string, instances []processInstance) (groups map[string]*processGroup, alike bool) {
	groups = make(map[string]*processGroup)
	for _, one := range instances {
		key := norm.NFC.String(name + label(one.process))
		group := groups[key]
		if group == nil {
			group = &processGroup{name: name, processName: one.process.Name, declared: one.declared, hosts: make(map[string]string)}
			groups[key] = group
		}
		if group.declared != one.declared {
			return nil, false
		}
		group.hosts[one.key] = one.address
		if !slices.Contains(group.ids[max(0, len(group.ids)-1):], one.process.ID) { // sorted by id
			group.ids = append(group.ids, one.process.ID)
		}
	}
	return groups, true
}
