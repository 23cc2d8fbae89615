package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// processInstance is one instance of a process on one host.
type processInstance struct {
	process  cmdb.Process
	key      string // the host's
	address  string
	declared declaration
}

// declaration is what hosts must have in common to be in one resource.
type declaration struct {
	name     string
	spec     processSpec
	priority int64
}

// declaredFields are the parts of a declaration, by their names in CMDB.
var declaredFields = []struct {
	name string
	of   func(declaration) any
}{
	{"bk_process_name", func(d declaration) any { return d.name }},
	{"bk_func_name", func(d declaration) any { return d.spec.procName }},
	{"work_path", func(d declaration) any { return d.spec.setupPath }},
	{"pid_file", func(d declaration) any { return d.spec.pidPath }},
	{"user", func(d declaration) any { return d.spec.user }},
	{"start_cmd", func(d declaration) any { return d.spec.startCmd }},
	{"stop_cmd", func(d declaration) any { return d.spec.stopCmd }},
	{"restart_cmd", func(d declaration) any { return d.spec.restartCmd }},
	{"reload_cmd", func(d declaration) any { return d.spec.reloadCmd }},
	{"face_stop_cmd", func(d declaration) any { return d.spec.killCmd }},
	{"bk_start_check_secs", func(d declaration) any { return d.spec.startCheckSecs }},
	{"timeout", func(d declaration) any { return d.spec.opTimeout }},
	{"priority", func(d declaration) any { return d.priority }},
}

// processGroup holds the instances with one key and one declaration.
type processGroup struct {
	first    cmdb.Process
	declared declaration
	hosts    map[string]string
	ids      []int64
}

// String names a group for people by its first instance.
func (g *processGroup) String() string {
	hosts := "1 host"
	if len(g.hosts) > 1 {
		hosts = fmt.Sprintf("%d hosts", len(g.hosts))
	}
	return fmt.Sprintf("%s as in %s (process %d)", hosts, g.first.Place, g.first.ID)
}

// processGroups holds groups by their keys in a for_each.
type processGroups struct {
	groups map[string]*processGroup
	// unusable describes processes that cannot be rendered, and clashes those that GSE cannot distinguish.
	unusable, clashes []string
	// differing describes elements whose hosts differ, and apart is the grouping that separates such hosts.
	differing []string
	apart     string
}

// newProcessGroups renders processes and groups them. found has the keys of their hosts. Processes on hosts
// without a key are left out: that is reported as an error already.
func newProcessGroups(processes []cmdb.Process, found *inventory, instIDs map[string]int64, groupBy string) *processGroups {
	g := &processGroups{groups: make(map[string]*processGroup)}
	var instances []processInstance
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
			name := instanceName(p, local)
			if other, twice := taken[[2]string{name, key}]; twice {
				g.clashes = append(g.clashes, fmt.Sprintf("%s and %s are both %s there", other, p, name))
				break
			}
			taken[[2]string{name, key}] = p
			instances = append(instances, processInstance{
				process: p, key: key, address: found.addresses[key],
				declared: declaration{name: name, spec: spec, priority: p.Priority},
			})
		}
	}
	g.group(instances, groupBy)
	return g
}

// grouping is a value of group_by. label returns what a key has after the name of the process.
type grouping struct {
	name  string
	label func(cmdb.Process) string
}

// groupings are sorted from coarse to fine. A key is made of a process's own name and place, so that neither
// its declaration nor any other process changes it.
var groupings = []grouping{
	{"name", func(cmdb.Process) string { return "" }},
	{defaultGroupBy, func(p cmdb.Process) string { return "@" + p.Place.ModuleName }},
	{"set", func(p cmdb.Process) string { return "@" + p.Place.String() }},
	{"process", func(p cmdb.Process) string { return fmt.Sprintf("@%s#%d", p.Place, p.ID) }},
}

const defaultGroupBy = "module"

func groupingNames() []string {
	names := make([]string, len(groupings))
	for i, one := range groupings {
		names[i] = one.name
	}
	return names
}

// group sorts instances into groups. A key whose instances differ has no group.
func (g *processGroups) group(instances []processInstance, groupBy string) {
	at := slices.Index(groupingNames(), groupBy)
	variants, alike := variantsOf(instances, groupings[at].label)
	for key, groups := range variants {
		if len(groups) > 1 {
			g.differing = append(g.differing, key+" differs in "+difference(groups))
			continue
		}
		g.groups[key] = groups[0]
	}
	slices.Sort(g.differing)
	for _, finer := range groupings[at+1:] {
		if alike {
			break
		}
		g.apart = finer.name
		_, alike = variantsOf(instances, finer.label)
	}
}

// variantsOf returns the groups of each key, one for each declaration, in the order of their processes. alike
// is true if each key has one group.
func variantsOf(instances []processInstance, label func(cmdb.Process) string) (variants map[string][]*processGroup, alike bool) {
	type variant struct {
		key string
		declaration
	}
	variants, alike = make(map[string][]*processGroup), true
	known := make(map[variant]*processGroup)
	for _, one := range instances {
		key := norm.NFC.String(one.declared.name + label(one.process))
		group := known[variant{key, one.declared}]
		if group == nil {
			group = &processGroup{first: one.process, declared: one.declared, hosts: make(map[string]string)}
			known[variant{key, one.declared}] = group
			variants[key] = append(variants[key], group)
			alike = alike && len(variants[key]) == 1
		}
		group.hosts[one.key] = one.address
		group.ids = append(group.ids, one.process.ID)
	}
	return variants, alike
}

// maxVariants is how many variants of an element one error names.
const maxVariants = 3

// difference says in which fields of CMDB variants differ, and where they are.
func difference(variants []*processGroup) string {
	var fields, places []string
	for _, field := range declaredFields {
		differs := func(g *processGroup) bool { return field.of(g.declared) != field.of(variants[0].declared) }
		if slices.ContainsFunc(variants, differs) {
			fields = append(fields, field.name)
		}
	}
	for _, variant := range variants[:min(maxVariants, len(variants))] {
		places = append(places, variant.String())
	}
	text := strings.Join(fields, ", ") + ": " + strings.Join(places, ", ")
	if more := len(variants) - maxVariants; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
