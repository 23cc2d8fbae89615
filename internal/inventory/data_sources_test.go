package inventory_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

type object = map[string]any

const hostsType = "bk_hosts"

// business has two sets of two modules, and one module whose hosts have every possible fault.
const business = `{"businesses": [{"id": 3, "name": "game", "sets": [
  {"name": "gz-[1-2]", "modules": [
    {"name": "nginx", "hosts": [{"count": 2, "ip": "10.3.0.1", "name": "n[1-4]"}]},
    {"name": "db", "hosts": [{"ip": "10.3.1.1", "no_agent": true, "cloud": 7}], "shares": ["0:10.3.0.1"]}]},
  {"name": "mixed", "env": "1", "modules": [
    {"name": "windows", "hosts": [{"ip": "10.4.0.1", "fields": {"bk_os_type": "2"}}]},
    {"name": "nobody-knows", "hosts": [{"ip": "10.4.0.2", "fields": {"bk_os_type": null}}]},
    {"name": "no-address", "hosts": [{"name": "bare", "agent_id": "020000000052540000000117000000000001"}]},
    {"name": "no-cloud", "hosts": [{"ip": "10.4.0.4", "fields": {"bk_cloud_id": null}}]},
    {"name": "nothing", "hosts": [{"name": "bare2", "no_agent": true}]},
    {"name": "dynamic", "hosts": [{"ip": "10.4.0.6", "fields": {"bk_addressing": "dynamic"}}]},
    {"name": "dynamic-without-agent", "hosts": [{"ip": "10.4.0.7", "no_agent": true, "fields": {"bk_addressing": "dynamic"}}]},
    {"name": "odd-agent", "hosts": [{"ip": "10.4.0.8"}]},
    {"name": "odd-address", "hosts": [{"ip": "10.4.0.9"}]},
    {"name": "ipv6", "hosts": [{"ip": "2001:db8::1", "no_agent": true}]},
    {"name": "accents", "hosts": [{"ip": "10.4.2.1", "name": "caf\u00e9"}, {"ip": "10.4.2.2", "name": "cafe\u0301"}]},
    {"name": "caf\u00e9", "hosts": [{"ip": "10.4.2.3"}]}, {"name": "cafe\u0301", "hosts": [{"ip": "10.4.2.4"}]},
    {"name": "twins", "hosts": [{"ip": "10.4.1.1"}, {"ip": "10.4.1.2"}]},
    {"name": "steers", "hosts": [{"ip": "10.4.3.1", "name": "w\u001b[2Jeb"}]},
    {"name": "empty"}]}]}]}`

func serveBusiness(t *testing.T) *providertest.Sim {
	t.Helper()
	sim := providertest.NewSimOf(t, business)
	for host, fields := range map[string]object{ // hosts that cannot be addressed
		"0:10.4.0.8": {"bk_agent_id": "a b"}, "0:10.4.0.9": {"bk_host_innerip": "ten"}, "0:10.4.1.2": {"bk_host_innerip": "10.4.1.1"},
	} {
		providertest.NoError(t, sim.CMDB().ChangeHost(host, fields))
	}
	return sim
}

// in is a configuration of modules by name, with further attributes.
func in(module string, more ...object) object {
	config := object{"bk_biz_id": 3, "topology": object{"module": module}}
	for _, m := range more {
		maps.Copy(config, m)
	}
	return config
}

func agent(host int) string { return fmt.Sprintf("02000000005254%022d", host) }

func TestHostsDataSource(t *testing.T) {
	t.Parallel()
	nginx := object{"10.3.0.1": "0:10.3.0.1", "10.3.0.2": "0:10.3.0.2", "10.3.0.3": "0:10.3.0.3", "10.3.0.4": "0:10.3.0.4"}
	for name, c := range map[string]struct {
		gateway string
		config  object
		hosts   object
		modules object
		without []any
	}{
		"esb": {
			config: in("nginx"), hosts: nginx, without: []any{},
			modules: object{"gz-1/nginx": object{"10.3.0.1": "0:10.3.0.1", "10.3.0.2": "0:10.3.0.2"}, "gz-2/nginx": object{"10.3.0.3": "0:10.3.0.3", "10.3.0.4": "0:10.3.0.4"}},
		},
		"apigw": {
			gateway: "apigw", config: in("db", object{"key": "{bk_cloud_id}/{bk_host_innerip}"}),
			hosts: object{"0/10.3.0.1": agent(1), "7/10.3.1.1": "7:10.3.1.1", "7/10.3.1.2": "7:10.3.1.2"}, without: []any{"7/10.3.1.1", "7/10.3.1.2"},
			modules: object{"gz-1/db": object{"0/10.3.0.1": agent(1), "7/10.3.1.1": "7:10.3.1.1"}, "gz-2/db": object{"0/10.3.0.1": agent(1), "7/10.3.1.2": "7:10.3.1.2"}},
		},
		"apigw-by-address": {gateway: "apigw", config: in("nginx", object{"address": "ip"}), hosts: nginx, without: []any{}},
		"esb-by-agent":     {config: in("windows", object{"address": "agent_id"}), hosts: object{"10.4.0.1": agent(7)}},
		"dynamic-by-agent": {gateway: "apigw", config: in("dynamic"), hosts: object{"10.4.0.6": agent(12)}},
		"no-address":       {gateway: "apigw", config: in("no-address", object{"key": "{bk_host_name}"}), hosts: object{"bare": "020000000052540000000117000000000001"}},
		"ipv6":             {config: in("ipv6", object{"key": "{bk_host_innerip_v6}"}), hosts: object{"2001:db8::1": "0:2001:db8::1"}, without: []any{"2001:db8::1"}},
		"key":              {config: in("nginx", object{"key": "web-{bk_host_id}.{bk_host_name}", "topology": object{"set": "gz-1", "module": "nginx"}}), hosts: object{"web-1.n1": "0:10.3.0.1", "web-2.n2": "0:10.3.0.2"}},
		"linux":            {config: in("[windows, nobody-knows, db]", object{"filter": object{"os_type": "linux", "bk_cloud_id": 0}}), hosts: object{"10.3.0.1": "0:10.3.0.1"}},
		"windows":          {config: in("[windows, nobody-knows]", object{"filter": object{"os_type": "windows"}}), hosts: object{"10.4.0.1": "0:10.4.0.1"}},
		"cloud":            {config: in("[db, no-cloud]", object{"filter": object{"bk_cloud_id": 7}}), hosts: object{"10.3.1.1": "7:10.3.1.1", "10.3.1.2": "7:10.3.1.2"}},
		"host-name":        {config: in("nginx", object{"filter": object{"host_name": "n[2-3]"}}), hosts: object{"10.3.0.2": "0:10.3.0.2", "10.3.0.3": "0:10.3.0.3"}},
		"environment":      {config: object{"bk_biz_id": 3, "topology": object{"env": "1", "module": "win*"}}, hosts: object{"10.4.0.1": "0:10.4.0.1"}},
		"ids":              {config: object{"bk_biz_id": 3, "bk_host_ids": []any{2, 1}}, hosts: object{"10.3.0.1": "0:10.3.0.1", "10.3.0.2": "0:10.3.0.2"}},
		"accents": { // Terraform would keep one of two keys that it spells alike
			config: in("caf*"), hosts: object{"10.4.2.3": "0:10.4.2.3", "10.4.2.4": "0:10.4.2.4"},
			modules: object{"mixed/caf\u00e9": object{"10.4.2.3": "0:10.4.2.3", "10.4.2.4": "0:10.4.2.4"}},
		},
		"none-allowed": {config: in("empty", object{"min_hosts": 0}), hosts: object{}, modules: object{}, without: []any{}},
		"enough":       {config: in("nginx", object{"min_hosts": 4}), hosts: nginx},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := serveBusiness(t)
			values, said := sim.Configured(t, face(sim, c.gateway)).ReadData(hostsType, c.config)
			providertest.Silent(t, said)
			providertest.Same(t, "hosts", c.hosts, values["hosts"])
			providertest.Same(t, "number of hosts", len(c.hosts), values["host_count"])
			if c.modules != nil {
				providertest.Same(t, "hosts by module", c.modules, values["hosts_by_module"])
			}
			if c.without != nil {
				providertest.Same(t, "without agent", c.without, values["without_agent"])
			}
		})
	}
}

// face is the provider block for a gateway, "" for the ESB.
func face(sim *providertest.Sim, gateway string) object {
	if gateway == "" {
		return object{"gateway": "esb"}
	}
	return object{"gateway": gateway, "cmdb_endpoint": sim.URL + "/api/bk-cmdb/prod"}
}

// Promised in reference: An answer that is not whole is an error, never fewer hosts.
// Promised in reference: A host without it is an error
// Promised in reference: One that the business does not have is an error.
// Promised in reference: Two hosts with one key are an error that names both.
// Promised in reference: Fewer are an error, so that a module that was emptied, or a wrong
// scope, does not make a plan that removes everything.
// Promised in limits.md: | From CMDB | `bk_hosts` takes the first inner IPv4 address, and the IPv6 address if there is
// none: such a host needs another `key` than the default |.
func TestHostsDataSource_refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gateway string
		config  object
		fault   *simulator.Fault
		want    string
		path    string // of the endpoint, in place of CMDB's own
	}{
		// A gateway URL from which CMDB's URL does not follow has no default.
		"endpoint":       {config: in("nginx"), path: "/api/gse/prod", want: "Set cmdb_endpoint to the URL of CMDB's gateway"},
		"endpoint-twice": {config: in("nginx"), path: "/bk-gse/bk-gse", want: "Set cmdb_endpoint to the URL of CMDB's gateway"},
		// An error of CMDB's gateway is not about the endpoint of GSE, although its URL comes from there.
		"not-there":          {path: "/api/bk-gse/prod", config: in("nginx"), fault: &simulator.Fault{API: "search_biz_inst_topo", HTTPStatus: 404, Body: `{"code":1640401,"message":"API not found"}`}, want: "Check the provider's cmdb_endpoint, and whether gateway"},
		"business":           {config: in("nginx", object{"bk_biz_id": 4}), want: "Not Found in CMDB: There is no business 4; there are 3 (game)."},
		"group":              {config: object{"bk_biz_id": 3, "dynamic_group": "web"}, want: `Not Found in CMDB: Business 3 has no dynamic group "web".`},
		"host":               {config: object{"bk_biz_id": 3, "bk_host_ids": []any{1, 99}}, want: "Not Found in CMDB: Business 3 has no host 99."},
		"empty":              {config: in("empty"), want: "Too Few Hosts: Business 3 has 0 hosts in this scope; min_hosts requires 1."},
		"too-few":            {config: in("nginx", object{"min_hosts": 5}), want: "Too Few Hosts: Business 3 has 4 hosts in this scope; min_hosts requires 5."},
		"no-address-for-key": {gateway: "apigw", config: in("no-address"), want: "  host 9 (bare): CMDB has no bk_host_innerip for it, which its key contains\n"},
		"no-cloud":           {config: in("no-cloud"), want: "  host 10 (10.4.0.4): CMDB has no bk_cloud_id for it\n"},
		"no-agent":           {gateway: "apigw", config: in("db", object{"address": "agent_id"}), want: "  host 3 (10.3.1.1): CMDB has no agent id for it\n  host 6 (10.3.1.2): CMDB has no agent id for it\n"},
		"nothing":            {gateway: "apigw", config: in("nothing", object{"key": "{bk_host_id}"}), want: "(bare2): CMDB has no inner address for it\n"},
		"dynamic-at-the-esb": {config: in("dynamic"), want: "(10.4.0.6): its addresses are dynamic, so they may be another host's later, and the ESB does not accept agent ids\n"},
		"dynamic-by-address": {gateway: "apigw", config: in("dynamic", object{"address": "ip"}), want: "(10.4.0.6): its addresses are dynamic, so they may be another host's later\n"},
		"dynamic-no-agent":   {gateway: "apigw", config: in("dynamic-without-agent"), want: "(10.4.0.7): its addresses are dynamic, so they may be another host's later\n"},
		"ipv6":               {config: in("ipv6"), want: "Hosts Without Name: These hosts are in scope, and cannot be addressed or have no key:\n\n"},
		"odd-agent":          {gateway: "apigw", config: in("odd-agent"), want: `(10.4.0.8): its agent id "a b" is not valid` + "\n"},
		"odd-address":        {config: in("odd-address"), want: `its inner address "ten" is not an IP address` + "\n"},
		"key-steers":         {config: in("steers", object{"key": "{bk_host_name}"}), want: `its key "w\x1b[2Jeb" has a character that cannot be printed` + "\n"},
		"key-twice":          {config: in("nginx", object{"key": "{bk_cloud_id}"}), want: "Hosts With One Name: Hosts can only be told apart by keys and addresses:\n\n  host 1 (10.3.0.1) and host 2 (10.3.0.2) both have the key \"0\"\n"},
		"key-twice-accents":  {config: in("accents", object{"key": "{bk_host_name}"}), want: "(10.4.2.1) and host 18 (10.4.2.2) both have the key \"caf\u00e9\"\n"},
		"page":               {config: in("nginx"), fault: &simulator.Fault{API: "list_biz_hosts_topo", Page: "empty"}, want: "Unable to Read Hosts: The page of list_biz_hosts_topo from row 0 on has only 0 of 4 rows."},
		"unfiltered":         {config: in("db"), fault: &simulator.Fault{API: "list_biz_hosts_topo", Page: "unfiltered"}, want: "CMDB ignored the filter."},
		"permission":         {config: in("nginx"), fault: &simulator.Fault{API: "search_biz_inst_topo", EnvelopeCode: new(9900403)}, want: "Apply for the API search_biz_inst_topo for the application (app_code), in the ESB's system CC, and in the permission center"},
		"permission-gateway": {gateway: "apigw", config: in("nginx"), fault: &simulator.Fault{API: "list_biz_hosts_topo", EnvelopeCode: new(9900403)}, want: "Apply for the API list_biz_hosts_topo for the application (app_code), in the API gateway bk-cmdb, and in"},
		"call-failed":        {config: in("nginx"), fault: &simulator.Fault{API: "list_biz_hosts_topo", HTTPStatus: 500}, want: "Unable to Read Hosts: CMDB could not be asked for the hosts of business 3."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := serveBusiness(t)
			if c.fault != nil {
				sim.Inject(*c.fault)
			}
			settings := face(sim, c.gateway)
			if c.path != "" {
				settings = object{"gateway": "apigw", "endpoint": sim.URL + c.path, "cmdb_endpoint": nil}
			}
			values, said := sim.Configured(t, settings).ReadData(hostsType, c.config)
			if values != nil || !strings.Contains(flat(said), c.want) {
				t.Errorf("read %v; said:\n%s\nwant:\n%s", values, flat(said), c.want)
			}
		})
	}
}

func flat(said providertest.Diagnostics) string {
	return strings.Replace(said.String(), "\n\n", ": ", 1)
}

// What is wrong without CMDB is reported before any call.
func TestHostsDataSource_invalid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config object
		want   string
	}{
		"fits":              {in("nginx*"), ""},
		"unknown":           {object{"bk_biz_id": providertest.NotKnown{}, "topology": providertest.NotKnown{}, "key": providertest.NotKnown{}, "min_hosts": providertest.NotKnown{}}, ""},
		"unknown-parts":     {object{"bk_biz_id": 3, "topology": object{"set": providertest.NotKnown{}}, "filter": object{"host_name": providertest.NotKnown{}}}, ""},
		"fraction":          {in("*", object{"bk_biz_id": 2.5}), "bk_biz_id: the value must be a whole number, such as 3; got 2.5."},
		"no-scope":          {object{"bk_biz_id": 3}, "Exactly one of these attributes must be configured: [topology,dynamic_group,service_template,bk_host_ids]"},
		"two-scopes":        {in("*", object{"dynamic_group": "a"}), "Exactly one of these attributes must be configured"},
		"expression":        {in("gz-[1-3"), `Invalid Expression: Attribute topology.module: "gz-[1-3" cannot be read from character 4 on: a [ without its ].`},
		"expression-empty":  {in(""), "an empty expression matches no name. For all, leave it out"},
		"expression-filter": {in("*", object{"filter": object{"host_name": "["}}), `Attribute filter.host_name: "[" cannot be read from character 1 on`},
		"environment":       {object{"bk_biz_id": 3, "topology": object{"env": "prod"}}, `topology.env value must be one of: ["1" "2" "3"]`},
		"business":          {in("*", object{"bk_biz_id": 0}), "bk_biz_id value must be at least 1"},
		"min-hosts":         {in("*", object{"min_hosts": -1}), "min_hosts value must be at least 0"},
		"address":           {in("*", object{"address": "host"}), `address value must be one of: ["auto" "agent_id" "ip"]`},
		"system":            {in("*", object{"filter": object{"os_type": "beos"}}), "filter.os_type value must be one of"},
		"ids-none":          {object{"bk_biz_id": 3, "bk_host_ids": []any{}}, "at least 1 elements"},
		"ids-twice":         {object{"bk_biz_id": 3, "bk_host_ids": []any{7, 7}}, "This attribute contains duplicate values of: 7"},
		"ids-null":          {object{"bk_biz_id": 3, "bk_host_ids": []any{1, nil}}, "Attribute bk_host_ids[1]: it is null; leave it out."},
		"ids-fraction":      {object{"bk_biz_id": 3, "bk_host_ids": []any{1.5}}, "Attribute bk_host_ids[0]: the value must be a whole number, such as 2; got 1.5."},
		"ids-negative":      {object{"bk_biz_id": 3, "bk_host_ids": []any{-1}}, "value must be at least 1"},
		"group-empty":       {object{"bk_biz_id": 3, "dynamic_group": ""}, "string length must be at least 1"},
		"key-open":          {in("*", object{"key": "{bk_host_id"}), "Invalid Host Key: Attribute key: a { without its }."},
		"key-closed":        {in("*", object{"key": "bk_host_id}"}), "Invalid Host Key: Attribute key: a } without its {."},
		"key-field":         {in("*", object{"key": "{ip}"}), "Invalid Host Key: Attribute key: {ip} is not a field of a host; it must be one of `bk_host_innerip`"},
		"key-constant":      {in("*", object{"key": "web"}), "Invalid Host Key: Attribute key: without a field in braces every host would have the same key"},
	} {
		said := flat(providertest.NewProtocol(t).ValidateData(hostsType, c.config))
		if (c.want == "") != (said == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: said:\n%s\nwant:\n%s", name, said, c.want)
		}
	}
}

func TestMain(m *testing.M) { providertest.Main(m) }

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
      {"name": "two", "shares": ["0:10.4.0.4"], "processes": [{"bk_process_name": "twin", "bk_func_name": "b", "work_path": "/b", "pid_file": "/b", "user": "root"}]},
      {"name": "caf-1", "hosts": [{"ip": "10.4.0.5"}], "processes": [{"bk_process_name": "caf\u00e9", "bk_func_name": "a", "work_path": "/a", "pid_file": "/a", "user": "root"}]},
      {"name": "caf-2", "shares": ["0:10.4.0.5"], "processes": [{"bk_process_name": "cafe\u0301", "bk_func_name": "a", "work_path": "/a", "pid_file": "/a", "user": "root"}]},
      {"name": "caf\u00e9", "hosts": [{"ip": "10.4.0.6"}], "processes": [{"bk_process_name": "c", "bk_func_name": "a", "work_path": "/a", "pid_file": "/a", "user": "root"}]},
      {"name": "cafe\u0301", "hosts": [{"ip": "10.4.0.7"}], "processes": [{"bk_process_name": "c", "bk_func_name": "b", "work_path": "/b", "pid_file": "/b", "user": "root"}]}]}],
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
		"topology":    {in("web"), map[string]string{"nginx_1@web": all, "nginx_2@web": all, "agent_1@web": all}},
		"template":    {object{"bk_biz_id": 3, "service_template": "web"}, map[string]string{"nginx_1@web": all, "nginx_2@web": all, "agent_1@web": all}},
		"group":       {object{"bk_biz_id": 3, "dynamic_group": "first"}, map[string]string{"nginx_1@web": "10.3.0.1", "nginx_2@web": "10.3.0.1", "agent_1@web": "10.3.0.1"}},
		"set-group":   {object{"bk_biz_id": 3, "dynamic_group": "sets", "process_name": "agent"}, map[string]string{"agent_1@web": "10.3.0.3 10.3.0.4"}},
		"ids":         {object{"bk_biz_id": 3, "bk_host_ids": []any{2}, "process_name": "n*"}, map[string]string{"nginx_1@web": "10.3.0.2", "nginx_2@web": "10.3.0.2"}},
		"process-ids": {in("web", object{"bk_process_ids": []any{1, 4}}), map[string]string{"nginx_1@web": "10.3.0.1", "nginx_2@web": "10.3.0.1", "agent_1@web": "10.3.0.2"}},
		"inst-ids":    {in("template", object{"inst_ids": object{"9": 3}}), map[string]string{"t_1@template": "10.4.0.1"}},
		"by-name":     {in("web", object{"group_by": "name", "process_name": "agent"}), map[string]string{"agent_1": all}},
		"by-set":      {in("web", object{"group_by": "set", "process_name": "agent"}), map[string]string{"agent_1@gz-1/web": "10.3.0.1 10.3.0.2", "agent_1@gz-2/web": "10.3.0.3 10.3.0.4"}},
		"accents":     {in("[caf\u00e9, cafe\u0301]", object{"group_by": "process"}), map[string]string{"c_1@odd/caf\u00e9#13": "10.4.0.6", "c_1@odd/caf\u00e9#14": "10.4.0.7"}},
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

// What is wrong without CMDB is reported before any call.
func TestProcessesDataSource_invalid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config object
		want   string
	}{
		"fits":          {object{"bk_process_ids": []any{1}, "inst_ids": object{"7": 3}}, ""},
		"unknown":       {object{"bk_process_ids": []any{1, providertest.NotKnown{}}, "inst_ids": object{"7": providertest.NotKnown{}}}, ""},
		"ids-null":      {object{"bk_process_ids": []any{nil}}, "Attribute bk_process_ids[0]: it is null; leave it out."},
		"ids-fraction":  {object{"bk_process_ids": []any{1.5}}, "Attribute bk_process_ids[0]: the value must be a whole number, such as 2; got 1.5."},
		"inst-null":     {object{"inst_ids": object{"7": nil}}, `Attribute inst_ids["7"]: it is null; leave it out.`},
		"inst-fraction": {object{"inst_ids": object{"7": 1.5}}, `Attribute inst_ids["7"]: the value must be a whole number, such as 2; got 1.5.`},
		"inst-key":      {object{"inst_ids": object{"nginx": 1}}, `must be the bk_process_id of a process, such as 42, got: nginx`},
		"group-by":      {object{"group_by": "host"}, `value must be one of: ["name" "module" "set" "process"]`},
		"inst-zero":     {object{"inst_ids": object{"7": 0}}, `value must be at least 1`},
	} {
		said := flat(providertest.NewProtocol(t).ValidateData(processesType, in("*", c.config)))
		if (c.want == "") != (said == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: said:\n%s\nwant:\n%s", name, said, c.want)
		}
	}
}

// A read that times out is an error and keeps nothing: part of an answer would look like all of it.
//
// Promised in reference: When one expires, the read fails, because a partial result would look complete.
func TestDataSources_deadline(t *testing.T) {
	t.Parallel()
	sim := serveBusiness(t)
	sim.Inject(simulator.Fault{Delay: 10 * time.Second})
	for typ, config := range map[string]object{hostsType: in("nginx"), processesType: in("nginx"), "bk_registrations": {"namespace": "web"}} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			config["timeouts"] = object{"read": "50ms"}
			values, said := sim.Configured(t, face(sim, "")).ReadData(typ, config)
			providertest.Check(t, said.Failed() && values == nil, "%v; said: %s", values, said)
		})
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
	providertest.Same(t, "nginx_2", want, processes["nginx_2@web"])
}

// Promised in from-gsekit.md: A process that cannot be taken over is an error that names it.
// Promised in reference: Hosts of one element that differ, for example while a template is synchronized set by set, are
// an error that names the fields and the places:
// Promised in from-gsekit.md: A command or path that names `inst_id`, `inst_id_0`, `InstID` or
// `InstID0` is an error that names the process.
// Promised in reference: An answer that is not whole is an error, never fewer processes.
// Promised in reference: One that is not in scope is an error.
// Promised in reference: Hosts of one element that differ in spec or priority are an error.
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
		"steers":     {config: in("*", object{"bk_biz_id": 9}), fault: &simulator.Fault{API: "search_business", Replace: map[string]any{"data/info": []any{object{"bk_biz_id": 3, "bk_biz_name": "ga\u009b2Jme"}}}}, want: "there are 3 (ga2Jme)."},
		"group":      {config: object{"bk_biz_id": 3, "dynamic_group": "second"}, want: `Not Found in CMDB: Business 3 has no dynamic group "second"; there are sets (s), first (g).`},
		"process":    {config: in("web", object{"process_name": "apache*"}), want: `Not Found in CMDB: Business 3 has no process "apache*" in this scope; there are agent, nginx.`},
		"process-id": {config: in("web", object{"bk_process_ids": []any{1, 9, 99}}), want: "Not Found in CMDB: Business 3 has no process id 9, 99 in this scope."},
		"empty":      {config: in("none"), want: "Too Few Hosts: Business 3 has 0 hosts with such processes in this scope; min_hosts requires 1."},
		"too-few":    {config: in("web", object{"min_hosts": 5}), want: "Too Few Hosts: Business 3 has 4 hosts with such processes in this scope; min_hosts requires 5."},
		"inst-id":    {config: in("template"), want: "  process 9 (t) of host 5 (10.4.0.1) in odd/template: pid_file: ${inst_id} is not in CMDB, because GSEKit keeps it in its own database; set it in inst_ids\n"},
		"null":       {config: in("null"), want: "is empty, which a hosted process cannot do without\n"},
		"many": {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", Replace: map[string]any{"data/info/*/process/proc_num": 1_000_000}},
			want: "proc_num is 1000000, and a host can have at most 1000 instances\n"},
		"nameless": {config: in("web", object{"process_name": "nginx*"}), fault: &simulator.Fault{API: "list_process_related_info", Replace: map[string]any{"data/info/*/process/bk_process_name": nil}},
			want: "bk_process_name is empty, which a hosted process cannot do without\n"},
		"no-agent":           {config: in("web", object{"address": "agent_id"}), host: object{"bk_agent_id": ""}, want: "  host 1 (10.3.0.1): CMDB has no agent id for it\n"},
		"name-twice":         {config: in("[one, two]"), want: "Processes With One Name: GSE tells processes on a host apart by their names:\n\n  process 11 (twin) of host 8 (10.4.0.4) in odd/one and process 15 (twin) of host 8 (10.4.0.4) in odd/two are both twin_1 there\n"},
		"name-twice-accents": {config: in("caf-*"), want: "in odd/caf-2 are both caf\u00e9_1 there\n"},
		"host-twice":         {config: in("web", object{"key": "{bk_host_id}"}), host: object{"bk_host_innerip": "10.3.0.2"}, want: "Hosts With One Name: Hosts can only be told apart by keys and addresses:\n\n  host 1 (10.3.0.2) and host 2 (10.3.0.2) both have the address 0:10.3.0.2\n"},
		"steering":           {config: in("web", object{"key": "{bk_host_id}"}), host: object{"bk_host_innerip": "10.3.\x1b[2J0.1"}, want: `  host 1 (10.3.[2J0.1): its inner address "10.3.\x1b[2J0.1" is not an IP address` + "\n"},
		"page":               {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", Page: "empty"}, want: "The page of list_process_related_info from row 0 on has only 0 of 8 rows."},
		"unfiltered":         {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", Page: "unfiltered"}, want: "has process 17 (ghost) without its set, module or host."},
		"permission":         {config: in("web"), fault: &simulator.Fault{API: "list_[ps]*", EnvelopeCode: new(9900403)}, want: "Apply for the API list_process_related_info"},
		"neither-way":        {config: in("web"), fault: &simulator.Fault{API: "list_[ps]*", EnvelopeCode: new(9900403)}, want: "Apply for the API list_service_instance_detail"},
		"in-trouble":         {config: in("web"), fault: &simulator.Fault{API: "list_process_related_info", EnvelopeCode: new(1199006), EnvelopeMessage: "broken"}, want: "broken"},
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
