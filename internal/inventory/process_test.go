package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// Promised in from-gsekit.md: an error that names process and field.
// Promised in reference: any other template syntax is an error that names the process and the field.
func TestRender(t *testing.T) {
	t.Parallel()
	process := cmdb.Process{ID: 7, Name: "nginx", FuncName: "nginx-bin", Place: cmdb.Place{SetName: "gz-1", ModuleName: "web"}}
	const known = " is not one of the names FuncID, LocalInstID, LocalInstID0, ModuleName, SetName, bk_module_name, bk_process_name, bk_set_name, local_inst_id, local_inst_id0"
	for name, c := range map[string]struct {
		text, want, fault string
		instID            int64
	}{
		"nothing":         {text: "", want: ""},
		"no-template":     {text: "/data/nginx -c $HOME/$1 100% # x", want: "/data/nginx -c $HOME/$1 100% # x"},
		"names":           {text: "${bk_set_name}/${bk_module_name}/${bk_process_name}_${local_inst_id}.${local_inst_id0}", want: "gz-1/web/nginx_2.1"},
		"older-names":     {text: "${SetName}/${ModuleName}/${FuncID}_${LocalInstID}.${LocalInstID0}", want: "gz-1/web/nginx_2.1"},
		"blanks":          {text: "${ bk_set_name }", want: "gz-1"},
		"inst-id":         {text: "${inst_id} ${inst_id_0} ${InstID} ${InstID0}", want: "12 11 12 11", instID: 12},
		"inst-id-unknown": {text: "x ${inst_id}", fault: "${inst_id} is not in CMDB, because GSEKit keeps it in its own database; set it in inst_ids"},
		"of-bscp":         {text: "${module_inst_seq}", fault: "${module_inst_seq}" + known},
		"misspelt":        {text: "${bk_set_nam}", fault: "${bk_set_nam}" + known},
		"expression":      {text: "${local_inst_id + 1}", fault: `it has "${", and only ${name} can be rendered`},
		"unclosed":        {text: "${bk_set_name", fault: `it has "${", and only ${name} can be rendered`},
		"block":           {text: "<% x = 1 %>", fault: `it has "<%", and only ${name} can be rendered`},
		"control-line":    {text: "a\n  % if x:", fault: `it has "%", and only ${name} can be rendered`},
		"comment":         {text: "## x\na", fault: `it has "##", and only ${name} can be rendered`},
		"continued-line":  {text: "a \\\nb", fault: `it has "\\", and only ${name} can be rendered`},
		"shell-variable":  {text: "echo ${HOME}", fault: "${HOME}" + known},
	} {
		names := renderNames(process, 2)
		if c.instID != 0 {
			addInstID(names, c.instID)
		}
		got, err := render(c.text, names)
		if got != c.want || (err == nil) != (c.fault == "") || (err != nil && err.Error() != c.fault) {
			t.Errorf("%s: rendered %q, said %v; want %q, %s", name, got, err, c.want, c.fault)
		}
	}
}

func whole(id int64, change func(*cmdb.Process)) cmdb.Process {
	p := cmdb.Process{
		ID: id, Name: "nginx", FuncName: "nginx", WorkPath: "/data", PIDFile: "/run/nginx.pid", User: "root", StartCmd: "./start.sh",
		Host: cmdb.Host{ID: id, CloudID: new(int64), IP: "10.0.0.1"}, Place: cmdb.Place{SetID: 1, SetName: "gz-1", ModuleID: 2, ModuleName: "web"},
	}
	p.Host.IP = fmt.Sprintf("10.0.0.%d", id)
	if change != nil {
		change(&p)
	}
	return p
}

// Promised in from-gsekit.md: an error, as they could not be revived.
func TestSpecOf(t *testing.T) {
	t.Parallel()
	p := cmdb.Process{
		Name: "web", FuncName: "nginx", WorkPath: "/a/${local_inst_id}", PIDFile: "/b/${local_inst_id}", User: "u", StartCmd: "c${local_inst_id}", StopCmd: "d${local_inst_id}",
		RestartCmd: "e${local_inst_id}", ReloadCmd: "f${local_inst_id}", FaceStop: "g${local_inst_id}", Timeout: 7, StartCheckSecs: 8, ProcNum: 3, Priority: 4,
	}
	want := processSpec{procName: "nginx", setupPath: "/a/2", pidPath: "/b/2", user: "u", startCmd: "c2", stopCmd: "d2", restartCmd: "e2", reloadCmd: "f2", killCmd: "g2", opTimeout: 7, startCheckSecs: 8}
	if got, err := specOf(p, renderNames(p, 2)); err != nil || got != want {
		t.Errorf("%+v, said %v", got, err)
	}
	p.Timeout, p.StartCheckSecs = 0, 0
	want.opTimeout, want.startCheckSecs = 60, 5
	if got, err := specOf(p, renderNames(p, 2)); err != nil || got != want {
		t.Errorf("without times: %+v, said %v", got, err)
	}
	for field, empty := range map[string]func(*cmdb.Process){
		"bk_func_name": func(p *cmdb.Process) { p.FuncName = "" }, "work_path": func(p *cmdb.Process) { p.WorkPath = "" },
		"pid_file": func(p *cmdb.Process) { p.PIDFile = "" }, "user": func(p *cmdb.Process) { p.User = "" },
	} {
		p := whole(1, empty)
		if _, err := specOf(p, nil); err == nil || err.Error() != field+" is empty, which a hosted process cannot do without" {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

func TestProcessGroups(t *testing.T) {
	t.Parallel()
	type groups = map[string][]string // addresses and ids
	in := func(set, module string) func(*cmdb.Process) {
		return func(p *cmdb.Process) { p.Place.SetName, p.Place.ModuleName = set, module }
	}
	both := func(changes ...func(*cmdb.Process)) func(*cmdb.Process) {
		return func(p *cmdb.Process) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	port := func(p *cmdb.Process) { p.StartCmd = "./other.sh" }
	bySet := func(p *cmdb.Process) { p.StartCmd = "${bk_set_name}" }
	inTwoSets := []cmdb.Process{whole(1, bySet), whole(2, both(in("gz-2", "web"), bySet))}
	for name, c := range map[string]struct {
		processes []cmdb.Process
		instIDs   map[string]int64
		groupBy   string
		want      groups
		unusable  string
		clashes   string
		differing string
		apart     string
	}{
		"none":       {},
		"by-name":    {processes: []cmdb.Process{whole(1, nil), whole(2, in("gz-2", "db"))}, groupBy: "name", want: groups{"nginx_1": {"0:10.0.0.1", "0:10.0.0.2", "1 2"}}},
		"by-module":  {processes: []cmdb.Process{whole(1, nil), whole(2, in("gz-2", "web")), whole(3, both(in("gz-1", "db"), port))}, want: groups{"nginx_1@web": {"0:10.0.0.1", "0:10.0.0.2", "1 2"}, "nginx_1@db": {"0:10.0.0.3", "3"}}},
		"by-set":     {processes: append(inTwoSets, whole(3, bySet)), groupBy: "set", want: groups{"nginx_1@gz-1/web": {"0:10.0.0.1", "0:10.0.0.3", "1 3"}, "nginx_1@gz-2/web": {"0:10.0.0.2", "2"}}},
		"by-process": {processes: []cmdb.Process{whole(1, nil), whole(2, port)}, groupBy: "process", want: groups{"nginx_1@gz-1/web#1": {"0:10.0.0.1", "1"}, "nginx_1@gz-1/web#2": {"0:10.0.0.2", "2"}}},
		"names-differ": {
			processes: []cmdb.Process{whole(1, nil), whole(2, in("gz-1", "db")), whole(3, both(in("gz-1", "db"), func(p *cmdb.Process) { p.Priority, p.StartCmd = 2, "x" }))}, groupBy: "name",
			differing: "nginx_1 differs in start_cmd, priority: 2 hosts as in gz-1/web (process 1), 1 host as in gz-1/db (process 3)", apart: "process",
		},
		"modules-differ": {
			processes: append(inTwoSets, whole(3, both(in("gz-3", "web"), bySet)), whole(4, both(in("gz-4", "web"), bySet)), whole(5, both(in("gz-5", "web"), bySet)), whole(6, in("gz-1", "db"))),
			want:      groups{"nginx_1@db": {"0:10.0.0.6", "6"}},
			differing: "nginx_1@web differs in start_cmd: 1 host as in gz-1/web (process 1), 1 host as in gz-2/web (process 2), 1 host as in gz-3/web (process 3), and 2 more", apart: "set",
		},
		"one-key-of-two-names": {
			processes: []cmdb.Process{whole(1, both(in("gz-1", "c"), func(p *cmdb.Process) { p.Name = "a_1@b" })), whole(2, both(in("gz-1", "b_1@c"), func(p *cmdb.Process) { p.Name = "a" }))},
			differing: "a_1@b_1@c differs in bk_process_name: 1 host as in gz-1/c (process 1), 1 host as in gz-1/b_1@c (process 2)", apart: "set",
		},
		"instances": {processes: []cmdb.Process{whole(1, func(p *cmdb.Process) { p.ProcNum = 2 }), whole(2, nil)}, want: groups{"nginx_1@web": {"0:10.0.0.1", "0:10.0.0.2", "1 2"}, "nginx_2@web": {"0:10.0.0.1", "1"}}},
		"inst-ids":  {processes: []cmdb.Process{whole(1, func(p *cmdb.Process) { p.ProcNum, p.PIDFile = 2, "/run/${inst_id}" })}, instIDs: map[string]int64{"1": 5}, want: groups{"nginx_1@web": {"0:10.0.0.1", "1", "/run/5"}, "nginx_2@web": {"0:10.0.0.1", "1", "/run/6"}}},
		"template": {
			processes: []cmdb.Process{whole(1, func(p *cmdb.Process) { p.StopCmd, p.ProcNum = "${x}", 3 }), whole(2, nil)},
			want:      groups{"nginx_1@web": {"0:10.0.0.2", "2"}},
			unusable:  "process 1 (nginx) of host 1 (10.0.0.1) in gz-1/web: stop_cmd: ${x} is not one of the names",
		},
		"same-name-on-one-host": {
			processes: []cmdb.Process{whole(1, nil), whole(2, func(p *cmdb.Process) { p.Host = whole(1, nil).Host; p.Place.ModuleName = "db" })},
			want:      groups{"nginx_1@web": {"0:10.0.0.1", "1"}},
			clashes:   "process 1 (nginx) of host 1 (10.0.0.1) in gz-1/web and process 2 (nginx) of host 1 (10.0.0.1) in gz-1/db are both nginx_1 there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format, err := parseKey(defaultKey)
			if err != nil {
				t.Fatal(err)
			}
			if c.groupBy == "" {
				c.groupBy = defaultGroupBy
			}
			g := newProcessGroups(c.processes, newInventory(hostsOf(c.processes), naming{key: format, by: byIP}), c.instIDs, c.groupBy)
			got := make(groups)
			for key, group := range g.groups {
				if c.instIDs != nil {
					group.hosts["pid"] = group.declared.spec.pidPath
				}
				got[key] = described(group)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if got := strings.Join(g.unusable, "\n"); !strings.HasPrefix(got, c.unusable) || (c.unusable == "") != (got == "") {
				t.Errorf("unusable: %s", got)
			}
			if got := strings.Join(g.clashes, "\n"); got != c.clashes {
				t.Errorf("clashes: %s", got)
			}
			if got := strings.Join(g.differing, "\n"); got != c.differing || g.apart != c.apart {
				t.Errorf("differing: %s; apart by %q", got, g.apart)
			}
		})
	}
}

// described is a group's addresses, its ids and, if the test set it, its pid file.
func described(group *processGroup) []string {
	var texts, pid []string
	for _, key := range slices.Sorted(maps.Keys(group.hosts)) {
		if key == "pid" {
			pid = []string{group.hosts[key]}
			continue
		}
		texts = append(texts, group.hosts[key])
	}
	return slices.Concat(texts, []string{strings.Trim(fmt.Sprint(group.ids), "[]")}, pid)
}

// Whatever may differ between hosts is named.
func TestProcessGroups_fields(t *testing.T) {
	t.Parallel()
	format, _ := parseKey(defaultKey)
	for field, edit := range map[string]func(*cmdb.Process){
		"bk_func_name": func(p *cmdb.Process) { p.FuncName = "x" }, "work_path": func(p *cmdb.Process) { p.WorkPath = "x" },
		"pid_file": func(p *cmdb.Process) { p.PIDFile = "x" }, "user": func(p *cmdb.Process) { p.User = "x" },
		"start_cmd": func(p *cmdb.Process) { p.StartCmd = "x" }, "stop_cmd": func(p *cmdb.Process) { p.StopCmd = "x" },
		"restart_cmd": func(p *cmdb.Process) { p.RestartCmd = "x" }, "reload_cmd": func(p *cmdb.Process) { p.ReloadCmd = "x" },
		"face_stop_cmd": func(p *cmdb.Process) { p.FaceStop = "x" }, "priority": func(p *cmdb.Process) { p.Priority = 7 },
		"bk_start_check_secs": func(p *cmdb.Process) { p.StartCheckSecs = 7 }, "timeout": func(p *cmdb.Process) { p.Timeout = 7 },
	} {
		processes := []cmdb.Process{whole(1, nil), whole(2, edit)}
		g := newProcessGroups(processes, newInventory(hostsOf(processes), naming{key: format, by: byIP}), nil, defaultGroupBy)
		if want := []string{"nginx_1@web differs in " + field + ": 1 host as in gz-1/web (process 1), 1 host as in gz-1/web (process 2)"}; !slices.Equal(g.differing, want) {
			t.Errorf("%s: differing %q", field, g.differing)
		}
	}
}

// A key is made of the process's name and place: no edit of a spec, a priority or an option, and no other process in scope, changes it.
func TestProcessGroups_keys(t *testing.T) {
	t.Parallel()
	format, _ := parseKey(defaultKey)
	for name, edit := range map[string]func(*cmdb.Process){
		"spec":     func(p *cmdb.Process) { p.StartCmd = "./other.sh" },
		"priority": func(p *cmdb.Process) { p.Priority = 9 },
		"option":   func(p *cmdb.Process) { p.Timeout = 7 },
	} {
		for _, edited := range [][]int64{nil, {1, 2}, {3}, {1, 2, 3}} {
			var processes []cmdb.Process
			for id := int64(1); id <= 3; id++ {
				p := whole(id, nil)
				if slices.Contains(edited, id) {
					edit(&p)
				}
				if id == 3 {
					p.Place = cmdb.Place{SetID: 1, SetName: "gz-1", ModuleID: 3, ModuleName: "db"}
				}
				processes = append(processes, p)
			}
			g := newProcessGroups(processes, newInventory(hostsOf(processes), naming{key: format, by: byIP}), nil, defaultGroupBy)
			if got := slices.Sorted(maps.Keys(g.groups)); !slices.Equal(got, []string{"nginx_1@db", "nginx_1@web"}) {
				t.Errorf("%s of %d edited: keys %q", name, edited, got)
			}
		}
	}
}

// A process that CMDB gives twice, with two specs, is refused in every grouping.
func TestProcessGroups_oneProcessTwice(t *testing.T) {
	t.Parallel()
	format, err := parseKey(defaultKey)
	if err != nil {
		t.Fatal(err)
	}
	first, second := whole(1, nil), whole(2, func(p *cmdb.Process) { p.StartCmd = "./other.sh" })
	second.ID = first.ID
	both := []cmdb.Process{first, second}
	for _, groupBy := range groupingNames() {
		g := newProcessGroups(both, newInventory(hostsOf(both), naming{key: format, by: byIP}), nil, groupBy)
		if len(g.differing) == 0 || len(g.groups) > 0 {
			t.Errorf("%s: differing %q, groups %v", groupBy, g.differing, g.groups)
		}
	}
}
