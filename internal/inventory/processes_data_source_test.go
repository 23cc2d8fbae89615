package inventory_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const processesType = "bk_cmdb_processes"

// services has a template of two processes in two sets, and others that cannot be hosted.
const services = `{"businesses": [{"id": 3, "name": "game",
  "templates": [{"name": "web", "processes": [
    {"bk_process_name": "nginx", "bk_func_name": "nginx-bin", "work_path": "/data/${bk_module_name}", "pid_file": "/run/nginx_${local_inst_id}.pid", "user": "root",
     "start_cmd": "./start.sh ${local_inst_id}", "face_stop_cmd": "kill -9", "proc_num": 2, "priority": 5, "timeout": 30, "bk_start_check_secs": 7},
    {"bk_process_name": "agent", "bk_func_name": "agent", "work_path": "/srv", "pid_file": "/run/agent.pid", "user": "root"}]}],
  "sets": [
    {"name": "gz-[1-2]", "modules": [{"name": "web", "template": "web", "hosts": [{"count": 2, "ip": "10.3.0.1"}]}]},
    {"name": "odd", "modules": [
      {"name": "template", "hosts": [{"ip": "10.4.0.1"}], "processes": [{"bk_process_name": "t", "bk_func_name": "t", "work_path": "/", "pid_file": "/run/${inst_id}", "user": "root"}]},
      {"name": "null", "hosts": [{"ip": "10.4.0.2"}], "processes": [{"bk_process_name": "n"}]},
      {"name": "none", "hosts": [{"ip": "10.4.0.3"}], "processes": []},
      {"name": "one", "hosts": [{"ip": "10.4.0.4"}], "processes": [{"bk_process_name": "twin", "bk_func_name": "a", "work_path": "/a", "pid_file": "/a", "user": "root"}]},
      {"name": "two", "shares": ["0:10.4.0.4"], "processes": [{"bk_process_name": "twin", "bk_func_name": "b", "work_path": "/b", "pid_file": "/b", "user": "root"}]}]}],
  "groups": [{"id": "g", "name": "first", "object": "host", "conditions": [{"bk_obj_id": "host", "field": "bk_host_innerip", "operator": "$eq", "value": "10.3.0.1"}]},
    {"id": "s", "name": "sets", "object": "set", "conditions": [{"bk_obj_id": "set", "field": "bk_set_name", "operator": "$eq", "value": "gz-2"}]}],
  "orphans": [{"host": "0:10.3.0.1", "processes": [{"bk_process_name": "ghost", "bk_func_name": "ghost"}]}]}]}`

// Promised in permissions.md: `bk_cmdb_processes` then reads the same from service instances.
func TestProcessesDataSource(t *testing.T) {
	t.Parallel()
	all := "10.3.0.1 10.3.0.2 10.3.0.3 10.3.0.4"
	for name, c := range map[string]struct {
		config object
		want   map[string]string // hosts by key of the group
	}{
		"topology":    {in("web"), map[string]string{"nginx_1": all, "nginx_2": all, "agent_1": all}},
		"template":    {object{"bk_biz_id": 3, "service_template": "web"}, map[string]string{"nginx_1": all, "nginx_2": all, "agent_1": all}},
		"group":       {object{"bk_biz_id": 3, "dynamic_group": "first"}, map[string]string{"nginx_1": "10.3.0.1", "nginx_2": "10.3.0.1", "agent_1": "10.3.0.1"}},
		"set-group":   {object{"bk_biz_id": 3, "dynamic_group": "sets", "process_name": "agent"}, map[string]string{"agent_1": "10.3.0.3 10.3.0.4"}},
		"ids":         {object{"bk_biz_id": 3, "bk_host_ids": []any{2}, "process_name": "n*"}, map[string]string{"nginx_1": "10.3.0.2", "nginx_2": "10.3.0.2"}},
		"process-ids": {in("web", object{"bk_process_ids": []any{1, 4}}), map[string]string{"nginx_1": "10.3.0.1", "nginx_2": "10.3.0.1", "agent_1": "10.3.0.2"}},
		"inst-ids":    {in("template", object{"inst_ids": object{"9": 3}}), map[string]string{"t_1": "10.4.0.1"}},
		"none":        {in("none", object{"min_hosts": 0}), map[string]string{}},
		"none-named":  {in("none", object{"min_hosts": 0, "process_name": "nginx"}), map[string]string{}},
	} {
		for _, gateway := range []string{"", "apigw"} {
			t.Run(name+gateway, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSimOf(t, services)
				provider := sim.Configured(t, face(sim, gateway))
				values, said := provider.ReadData(processesType, c.config)
				providertest.Silent(t, said)
				got := make(map[string]string)
				processes, _ := values["processes"].(object)
				for key, process := range processes {
					group, _ := process.(object)
					hosts, _ := group["hosts"].(object)
					got[key] = strings.Join(sortedKeys(hosts), " ")
				}
				providertest.Same(t, "hosts by group", c.want, got)
				first, second := "list_process_related_info", "list_service_instance_detail"
				if sim.Calls().Count(first) == 0 || sim.Calls().Count(second) != 0 {
					t.Errorf("called %q", sim.Calls().APIs())
				}

				// If the first way is refused, the second has the same values.
				sim.ResetCalls()
				sim.Inject(refusal(gateway))
				other, said := provider.ReadData(processesType, c.config)
				providertest.Same(t, "the second way", values, other)
				providertest.Silent(t, said)
				if calls := sim.Calls(); calls.Count(first) != 1 || calls.Count(second) == 0 || calls.Count(second) > 2 {
					t.Errorf("called %q", calls.APIs())
				}
			})
		}
	}
}

// refusal is how a platform refuses an API that is not granted.
func refusal(gateway string) simulator.Fault {
	fault := simulator.Fault{API: "list_process_related_info", EnvelopeCode: new(1306403), EnvelopeMessage: "APP permission is insufficient"}
	if gateway == "apigw" {
		fault = simulator.Fault{API: fault.API, HTTPStatus: 403, Body: `{"code":1640301,"message":"App has no permission to the resource"}`}
	}
	return fault
}

// A group has the spec that GSEKit sends.
func TestProcessesDataSource_group(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSimOf(t, services)
	values, said := sim.Configured(t, face(sim, "")).ReadData(processesType, in("web"))
	providertest.Silent(t, said)
	processes, _ := values["processes"].(object)
	want := object{
		"meta":  object{"namespace": "GSEKIT_BIZ_3", "name": "nginx_2", "labels": object{"bk_process_name": "nginx"}},
		"hosts": object{"10.3.0.1": "0:10.3.0.1", "10.3.0.2": "0:10.3.0.2", "10.3.0.3": "0:10.3.0.3", "10.3.0.4": "0:10.3.0.4"},
		"spec": object{
			"identity":       object{"proc_name": "nginx-bin", "setup_path": "/data/web", "pid_path": "/run/nginx_2.pid", "user": "root"},
			"control":        object{"start_cmd": "./start.sh 2", "stop_cmd": nil, "restart_cmd": nil, "reload_cmd": nil, "kill_cmd": "kill -9"},
			"monitor_policy": object{"auto_type": 1, "start_check_secs": 7, "op_timeout": 30},
		},
		"priority": 5, "bk_process_ids": []any{1, 3, 5, 7},
	}
	providertest.Same(t, "nginx_2", want, processes["nginx_2"])
}

// Promised in from-gsekit.md: A process that cannot be taken over is an error that names it.
// Promised in from-gsekit.md: A command or path that names `inst_id`, `inst_id_0`, `InstID` or
// `InstID0` is an error that names the process.
// Promised in reference: An answer that is not whole is an error, never fewer processes.
// Promised in reference: One that is not in scope is an error.
// Promised in reference: GSEKit keeps these numbers to itself, so templates with `inst_id`,
// `inst_id_0`, `InstID`, `InstID0` are an error without it.
// Promised in reference: One that no process in scope matches is an error.
func TestProcessesDataSource_refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config object
		host   object // fields of the first host in CMDB
		fault  *simulator.Fault
		second bool // the first API for processes is refused
		want   string
	}{
		"steers":      {config: in("*", object{"bk_biz_id": 9}), fault: &simulator.Fault{API: "search_business", Replace: map[string]any{"data/info": []any{object{"bk_biz_id": 3, "bk_biz_name": "ga\u009b2Jme"}}}}, want: "there are 3 (ga2Jme)."},
		"group":       {config: object{"bk_biz_id": 3, "dynamic_group": "second"}, want: `Not Found in CMDB: Business 3 has no dynamic group "second"; there are sets (s), first (g).`},
		"template":    {config: object{"bk_biz_id": 3, "service_template": "db"}, want: `Not Found in CMDB: Business 3 has no service template "db"; there are web (1).`},
		"process":     {config: in("web", object{"process_name": "apache*"}), want: `Not Found in CMDB: Business 3 has no process "apache*" in this scope; there are agent, nginx.`},
		"process-id":  {config: in("web", object{"bk_process_ids": []any{1, 9, 99}}), want: "Not Found in CMDB: Business 3 has no process id 9, 99 in this scope."},
		"empty":       {config: in("none"), want: "Too Few Hosts: Business 3 has 0 hosts in this scope; min_hosts requires 1."},
		"too-few":     {config: in("web", object{"min_hosts": 5}), want: "Too Few Hosts: Business 3 has 4 hosts in this scope; min_hosts requires 5."},
		"inst-id":     {config: in("template"), want: "  process 9 (t) of host 5 (10.4.0.1) in odd/template: pid_file: ${inst_id} is not in CMDB, as GSEKit keeps it; give it in inst_ids\n"},
		"null":        {config: in("null"), want: "is empty, which a hosted process cannot do without\n"},
		"no-agent":    {config: in("web", object{"address": "agent_id"}), host: object{"bk_agent_id": ""}, want: "  host 1 (10.3.0.1): CMDB has no agent id for it\n"},
		"name-twice":  {config: in("[one, two]"), want: "Processes With One Name: GSE tells processes on a host apart by their names:\n\n  process 11 (twin) of host 8 (10.4.0.4) in odd/one and process 12 (twin) of host 8 (10.4.0.4) in odd/two are both twin_1 there\n"},
		"host-twice":  {config: in("web", object{"key": "{bk_host_id}"}), host: object{"bk_host_innerip": "10.3.0.2"}, want: "Hosts With One Name: Hosts can only be told apart by keys and addresses:\n\n  host 1 (10.3.0.2) and host 2 (10.3.0.2) both have the address 0:10.3.0.2\n"},
		"steering":    {config: in("web"), host: object{"bk_host_innerip": "10.3.\x1b[2J0.1"}, want: `  host 1 (10.3.[2J0.1): its inner address "10.3.\x1b[2J0.1" is not an IP address` + "\n"},
		"page":        {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", Page: "empty"}, want: "The page of list_process_related_info from row 0 on has only 0 of 8 rows."},
		"unfiltered":  {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", Page: "unfiltered"}, want: "The answer of list_process_related_info has process 9 (t) of host 5 (10.4.0.1) in odd/template, which was not asked for: CMDB ignored the filter."},
		"permission":  {config: in("web"), fault: &simulator.Fault{API: "list_[ps]*", EnvelopeCode: new(9900403)}, want: "Apply for the API list_process_related_info"},
		"neither-way": {config: in("web"), fault: &simulator.Fault{API: "list_[ps]*", EnvelopeCode: new(9900403)}, want: "Apply for the API list_service_instance_detail"},
		"in-trouble":  {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", EnvelopeCode: new(1199006), EnvelopeMessage: "broken"}, want: "broken"},
		"not-tree":    {config: in("web"), fault: &simulator.Fault{API: "search_biz_inst_topo", EnvelopeCode: new(9900403)}, want: "Apply for the API search_biz_inst_topo"},
		"second-page": {config: in("web"), second: true, fault: &simulator.Fault{API: "list_service_instance_detail", Page: "empty"},
			want: "The page of list_service_instance_detail from row 0 on has only 0 of 2 rows."},
		"second-unfiltered": {config: in("web"), second: true, fault: &simulator.Fault{API: "list_service_instance_detail", Page: "unfiltered"}, want: "which was not asked for: CMDB ignored the filter."},
		"second-moved": {config: in("web"), second: true, fault: &simulator.Fault{API: "list_service_instance_detail", Replace: map[string]any{"data/info/*/bk_host_id": 77}},
			want: "of host 77 in module 4, where list_biz_hosts_topo has no such host."},
		"second-odd": {config: in("web"), second: true, fault: &simulator.Fault{API: "list_service_instance_detail", Replace: map[string]any{"data/info/*/process_instances": 7}},
			want: "list_service_instance_detail about service instance"},
		"expression": {config: in("web", object{"process_name": "a[1-"}), want: `Attribute process_name: "a[1-" cannot be read from character 2 on: a [ without its ].`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSimOf(t, services)
			if c.fault != nil {
				sim.Inject(*c.fault)
			}
			if c.second {
				sim.Inject(refusal(""))
			}
			if c.host != nil {
				providertest.NoError(t, sim.CMDB().ChangeHost("0:10.3.0.1", c.host))
			}
			p := sim.Configured(t, face(sim, ""))
			if said := flat(p.ValidateData(processesType, c.config)); said != "" {
				providertest.Says(t, said, c.want)
				return
			}
			values, said := p.ReadData(processesType, c.config)
			if values != nil || !strings.Contains(flat(said), c.want) {
				t.Errorf("read %v; said:\n%s\nwant:\n%s", values, flat(said), c.want)
			}
			if refused := c.second || c.fault != nil && c.fault.API == "list_[ps]*"; !refused && sim.Calls().Count("list_service_instance_detail") > 0 {
				t.Errorf("nothing refused the first way, and the second was gone: %q", sim.Calls().APIs())
			}
		})
	}
}

func sortedKeys(of object) []string { return slices.Sorted(maps.Keys(of)) }
