package inventory_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

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
    {"name": "twins", "hosts": [{"ip": "10.4.1.1"}, {"ip": "10.4.1.2"}]},
    {"name": "empty"}]}]}]}`

// serveBusiness is a simulator that knows the business.
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

// agent is the agent id that the simulator makes of a host id.
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
		"none-allowed":     {config: in("empty", object{"min_hosts": 0}), hosts: object{}, modules: object{}, without: []any{}},
		"enough":           {config: in("nginx", object{"min_hosts": 4}), hosts: nginx},
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
func TestHostsDataSource_refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gateway string
		config  object
		fault   *simulator.Fault
		want    string
	}{
		"business":           {config: in("nginx", object{"bk_biz_id": 4}), want: "Not Found in CMDB: There is no business 4; there are 3 (game)."},
		"set":                {config: object{"bk_biz_id": 3, "topology": object{"set": "gz-[3-9]"}}, want: `Not Found in CMDB: Business 3 has no set "gz-[3-9]"; there are gz-1, gz-2, mixed.`},
		"group":              {config: object{"bk_biz_id": 3, "dynamic_group": "web"}, want: `Not Found in CMDB: Business 3 has no dynamic group "web".`},
		"template":           {config: object{"bk_biz_id": 3, "service_template": "web"}, want: `Not Found in CMDB: Business 3 has no service template "web".`},
		"host":               {config: object{"bk_biz_id": 3, "bk_host_ids": []any{1, 99}}, want: "Not Found in CMDB: Business 3 has no host 99."},
		"empty":              {config: in("empty"), want: "Too Few Hosts: Business 3 has 0 hosts in this scope; min_hosts requires 1."},
		"too-few":            {config: in("nginx", object{"min_hosts": 5}), want: "Too Few Hosts: Business 3 has 4 hosts in this scope; min_hosts requires 5."},
		"all-filtered":       {config: in("nginx", object{"filter": object{"os_type": "aix"}}), want: "Too Few Hosts: Of 4 hosts that business 3 has in this scope, 0 pass the filter; min_hosts requires 1."},
		"no-address":         {config: in("no-address", object{"key": "{bk_host_id}"}), want: "  host 9 (bare): CMDB has no inner address for it\n"},
		"no-address-for-key": {gateway: "apigw", config: in("no-address"), want: "  host 9 (bare): CMDB has no bk_host_innerip for it, which its key is made of\n"},
		"no-cloud":           {config: in("no-cloud"), want: "  host 10 (10.4.0.4): CMDB has no bk_cloud_id for it\n"},
		"no-agent":           {gateway: "apigw", config: in("db", object{"address": "agent_id"}), want: "  host 3 (10.3.1.1): CMDB has no agent id for it\n  host 6 (10.3.1.2): CMDB has no agent id for it\n"},
		"nothing":            {gateway: "apigw", config: in("nothing", object{"key": "{bk_host_id}"}), want: "(bare2): CMDB has no inner address for it\n"},
		"dynamic-at-the-esb": {config: in("dynamic"), want: "(10.4.0.6): its addresses are dynamic, so that they may be another host's later, and the ESB takes no agent ids\n"},
		"dynamic-by-address": {gateway: "apigw", config: in("dynamic", object{"address": "ip"}), want: "(10.4.0.6): its addresses are dynamic, so that they may be another host's later\n"},
		"dynamic-no-agent":   {gateway: "apigw", config: in("dynamic-without-agent"), want: "(10.4.0.7): its addresses are dynamic, so that they may be another host's later\n"},
		"odd-agent":          {gateway: "apigw", config: in("odd-agent"), want: `(10.4.0.8): its agent id "a b" is not one` + "\n"},
		"odd-address":        {config: in("odd-address"), want: `its inner address "ten" is not an IP address` + "\n"},
		"key-twice":          {config: in("nginx", object{"key": "{bk_cloud_id}"}), want: "Hosts With One Name: Hosts can only be told apart by keys and addresses:\n\n  host 1 (10.3.0.1) and host 2 (10.3.0.2) both have the key \"0\"\n"},
		"host-twice":         {config: in("twins", object{"key": "{bk_host_id}"}), want: `(10.4.1.1) both have the address 0:10.4.1.1` + "\n"},
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
			values, said := sim.Configured(t, face(sim, c.gateway)).ReadData(hostsType, c.config)
			if values != nil || !strings.Contains(flat(said), c.want) {
				t.Errorf("read %v; said:\n%s\nwant:\n%s", values, flat(said), c.want)
			}
		})
	}
}

// flat is the summary, followed by the detail.
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
		"ids-negative":      {object{"bk_biz_id": 3, "bk_host_ids": []any{-1}}, "value must be at least 1"},
		"group-empty":       {object{"bk_biz_id": 3, "dynamic_group": ""}, "string length must be at least 1"},
		"key-open":          {in("*", object{"key": "{bk_host_id"}), "Invalid Host Key: Attribute key: a { without its }."},
		"key-closed":        {in("*", object{"key": "bk_host_id}"}), "Invalid Host Key: Attribute key: a } without its {."},
		"key-field":         {in("*", object{"key": "{ip}"}), "Invalid Host Key: Attribute key: {ip} is no field of a host; it must be one of `bk_host_innerip`"},
		"key-constant":      {in("*", object{"key": "web"}), "Invalid Host Key: Attribute key: without a field in braces every host would have the same key"},
	} {
		said := flat(providertest.NewProtocol(t).ValidateData(hostsType, c.config))
		if (c.want == "") != (said == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: said:\n%s\nwant:\n%s", name, said, c.want)
		}
	}
}

// A gateway URL from which CMDB's URL does not follow has no default.
func TestHostsDataSource_endpoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, want string
	}{
		"derived":   {"/api/bk-gse/prod", ""},
		"not-named": {"/api/gse/prod", "Set cmdb_endpoint to the URL of CMDB's gateway"},
		"twice":     {"/bk-gse/bk-gse", "Set cmdb_endpoint to the URL of CMDB's gateway"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := serveBusiness(t)
			_, said := sim.Configured(t, object{"gateway": "apigw", "endpoint": sim.URL + c.path, "cmdb_endpoint": nil}).ReadData(hostsType, in("nginx"))
			if text := said.String(); (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
				t.Errorf("said:\n%s\nwant:\n%s", text, c.want)
			}
		})
	}
}

func TestMain(m *testing.M) { providertest.Main(m) }
