package cmdb_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop has two sets with two modules of two hosts each, a set with one host, and an idle host.
const shop = `{"businesses":[{"id":3,"name":"shop","templates":[{"name":"nginx","processes":[{"bk_process_name":"nginx","proc_num":2,"priority":1}]}],
	"sets":[
		{"name":"gz-[1-2]","modules":[
			{"name":"nginx","template":"nginx","hosts":[{"count":2,"ip":"10.0.0.1","name":"web-[01-04]","labels":{"az":"1"}}]},
			{"name":"worker","processes":[{"bk_process_name":"worker"}],"hosts":[{"count":2,"ip":"10.0.1.1","no_agent":true,"fields":{"bk_os_type":null}}],"shares":["0:10.0.0.1"]}]},
		{"name":"lab","env":"1","modules":[{"name":"bare","processes":[],"hosts":[{"cloud":7,"fields":{"bk_host_innerip":"10.0.9.1,10.0.9.2","bk_addressing":"dynamic"}}]}]}],
	"idle":[{"ip":"10.0.8.1"}],
	"groups":[
		{"name":"web","object":"host","conditions":[{"bk_obj_id":"module","field":"bk_module_name","operator":"$eq","value":"nginx"},{"bk_obj_id":"set","field":"bk_set_name","operator":"$in","value":["gz-1"]}]},
		{"name":"web sets","object":"set","conditions":[{"bk_obj_id":"set","field":"bk_set_name","operator":"$regex","value":"^gz"}]}],
	"orphans":[{"host":"0:10.0.0.1","processes":[{"bk_process_name":"ghost"}]}]}]}`

// values returns the values of one member of every row of an answer.
func values(t *testing.T, got simtest.Reply, path ...string) string {
	t.Helper()
	rows, ok := got.Body["data"].([]any)
	if got.Data != nil {
		rows, ok = got.Data["info"].([]any)
	}
	if got.Code != 0 || !ok {
		t.Fatalf("no rows: %v", got.Body)
	}
	var out []string
	for _, v := range rows {
		for _, name := range path {
			members, _ := v.(map[string]any)
			v = members[name]
		}
		out = append(out, fmt.Sprint(v))
	}
	return strings.Join(out, " ")
}

const hostPage = `"fields":["bk_host_innerip"],"page":{"start":0,"limit":500}}`

// tree returns a business's topology as text: each node before those below it.
func tree(t *testing.T, c *simtest.Client, biz int) string {
	t.Helper()
	var below func(v any) string
	below = func(v any) string {
		node, _ := v.(map[string]any)
		text := fmt.Sprintf(" %v:%v", node["bk_obj_id"], node["bk_inst_name"])
		children, _ := node["child"].([]any)
		for _, child := range children {
			text += below(child)
		}
		return text
	}
	root, _ := c.Ask("search_biz_inst_topo", fmt.Sprintf(`{"bk_biz_id":%d}`, biz)).Body["data"].([]any)
	return below(root[0])
}

func TestTopology_levelsAboveSets(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"b","levels":["region","zone"],"sets":[
		{"name":"s1","under":["south","gz"],"modules":[{"name":"m","hosts":[{"ip":"10.0.0.1"}]}]},{"name":"s2","under":["south","sz"],"modules":[{"name":"m","hosts":[{"ip":"10.0.0.2"}]}]}]}]}`)
	simtest.Want(t, "tree", tree(t, c, 1), " biz:b region:south zone:gz set:s1 module:m zone:sz set:s2 module:m")
	below := func(model string, id int) string {
		return values(t, c.Ask("find_host_by_topo", fmt.Sprintf(`{"bk_biz_id":1,"bk_obj_id":%q,"bk_inst_id":%d,%s`, model, id, hostPage)), "bk_host_innerip")
	}
	simtest.Want(t, "below a region", below("region", 1), "10.0.0.1 10.0.0.2")
	simtest.Want(t, "below a zone", below("zone", 3), "10.0.0.2")
}

func TestTopology_hostsAreThoseOfTheProcessService(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, shop)
	register := func(host string) error { return c.Sim.Register(host, "web", "nginx", nil, simtest.OperateSpec) }
	simtest.Must(t, register("020000000052540000000000000000000001"))
	_, there := c.Sim.Process("0:10.0.0.1", "web", "nginx")
	simtest.Check(t, there, "the address is another machine than the agent id")
	simtest.Must(t, register("0:10.0.1.4"), register("0:10.0.8.1"), register("020000000052540000000000000000000009"))
	// A dynamic address, which several hosts may have, names none of them.
	simtest.WantError(t, register("7:10.0.9.1"), "")
}

func TestParseTopology_refuses(t *testing.T) {
	t.Parallel()
	// Each returns a topology with one business, set or module that has these members.
	business := func(members string) string { return `{"businesses":[{"name":"a",` + members + `}]}` }
	set := func(members string) string { return business(`"sets":[{"name":"s",` + members + `}]`) }
	module := func(members string) string { return set(`"modules":[{"name":"m",` + members + `}]`) }
	for text, want := range map[string]string{
		`[]`:                  "cannot unmarshal",
		`{} {}`:               "more than one JSON document",
		`{"business":[]}`:     `unknown field "business"`,
		`{"businesses":[{}]}`: "it has no name",
		`{"businesses":[{"id":1,"name":"a"},{"id":1,"name":"b"}]}`:                                                         "business 1 is declared twice",
		business(`"sets":[{"name":"s[3-1]"}]`):                                                                             "the range is empty or too long",
		business(`"sets":[{"name":"s[1-9999999]"}]`):                                                                       "the range is empty or too long",
		business(`"sets":[{"name":"s[1-2000][1-2000]"}]`):                                                                  "the ranges are too long",
		business(`"sets":[{"id":5,"name":"s"},{"id":5,"name":"t"}]`):                                                       "set 5 is declared twice",
		business(`"orphans":[{"host":"0:10.0.0.1"}]`):                                                                      "orphan on 0:10.0.0.1: no host",
		business(`"groups":[{"name":"g","object":"module"}]`):                                                              "neither host nor set",
		business(`"groups":[{"name":"g","object":"set","conditions":[{"bk_obj_id":"set","field":"f","operator":"$gt"}]}]`): "is none of $eq",
		set(`"under":["x"]`):                                          "under: want a name for each of the levels",
		module(`"template":"t"`):                                      `no template is called "t"`,
		module(`"hosts":[{"ip":"10.0.0"}]`):                           "ip: ",
		module(`"hosts":[{"ip":"10.0.0.1"},{"ip":"10.0.0.1"}]`):       "host 0:10.0.0.1 exists already",
		module(`"hosts":[{"count":2,"agent_id":"0123456789abcdef"}]`): "several hosts cannot have one",
		module(`"shares":["0:10.0.0.1"]`):                             "shares 0:10.0.0.1: no host is declared",
		`{"businesses":[{"name":"a","sets":[{"name":"s","modules":[{"name":"m","hosts":[{"ip":"10.0.0.1"}]}]}]},{"name":"b","sets":[{"name":"s","modules":[{"name":"m","shares":["0:10.0.0.1"]}]}]}]}`: "that host belongs to another business",
	} {
		_, err := simulator.ParseTopology([]byte(text))
		simtest.Check(t, err != nil && strings.Contains(err.Error(), want), "%s: %v, want %q", text, err, want)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, shop)
	cmdb := c.Sim.CMDB()
	hosts := func(module int) string {
		return values(t, c.Ask("list_biz_hosts", fmt.Sprintf(`{"bk_biz_id":3,"bk_module_ids":[%d],%s`, module, hostPage)), "bk_host_innerip")
	}
	instances := func(module int) string {
		return values(t, c.Ask("list_service_instance_detail", fmt.Sprintf(`{"bk_biz_id":3,"bk_module_id":%d,"page":{"start":0,"limit":200,"sort":"id"}}`, module)), "name")
	}
	simtest.Must(t, cmdb.Add("shop/gz-1/nginx", simulator.TopologyHosts{IP: "10.0.7.1", Count: 2}))
	simtest.Want(t, "hosts", hosts(4), "10.0.0.1 10.0.0.2 10.0.7.1 10.0.7.2")
	simtest.Want(t, "instances", instances(4), "10.0.0.1_nginx 10.0.0.2_nginx 10.0.7.1_nginx 10.0.7.2_nginx")
	simtest.Must(t, c.Sim.Register("0:10.0.7.1", "web", "nginx", nil, simtest.OperateSpec)) // a host that was added later
	for name, err := range map[string]error{
		"again":      cmdb.Add("shop/gz-1/nginx", simulator.TopologyHosts{IP: "10.0.7.1"}),
		"no-module":  cmdb.Empty("shop/gz-1/none"),
		"no-set":     cmdb.Empty("shop/none/nginx"),
		"no-biz":     cmdb.Empty("none/gz-1/nginx"),
		"bad-path":   cmdb.Empty("shop"),
		"no-host":    cmdb.Remove("0:10.0.7.9"),
		"no-process": cmdb.ChangeProcess("shop/gz-1/nginx", "none", nil),
	} {
		simtest.Check(t, err != nil, "%s: no error", name)
	}
	simtest.Must(t,
		cmdb.ChangeHost("0:10.0.7.1", map[string]any{"bk_host_innerip": "10.0.7.1,10.0.7.11"}),
		cmdb.ChangeProcess("shop/gz-1/nginx", "nginx", map[string]any{"proc_num": 3}),
		cmdb.Share("shop/gz-1/worker", "0:10.0.7.1"),
		cmdb.Share("shop/gz-1/worker", "0:10.0.7.1"),
		cmdb.Remove("0:10.0.7.2"),
		cmdb.Empty("shop/gz-1/nginx"),
	)
	simtest.Want(t, "emptied", hosts(4), "")
	simtest.Want(t, "its instances", instances(4), "")
	simtest.Want(t, "idle", hosts(1), "10.0.0.2 10.0.8.1") // the other hosts are in another module as well
	simtest.Want(t, "instances where it is shared", instances(5), "10.0.1.1_worker 10.0.1.2_worker 10.0.0.1_worker 10.0.7.1_worker")
	simtest.Want(t, "shared", hosts(5), "10.0.0.1 10.0.1.1 10.0.1.2 10.0.7.1,10.0.7.11")
}

// Changes of CMDB are stored with the processes, including those of its new hosts.
func TestChanges_surviveARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	live := func(topology string) (*simtest.Client, error) {
		c := simtest.NewCMDB(t, topology, func(sim *simulator.Server) { sim.StateFile = file })
		return c, c.Sim.Start()
	}
	first, err := live(shop)
	simtest.Must(t, err)
	cmdb := first.Sim.CMDB()
	simtest.Must(t,
		cmdb.Add("shop/gz-1/nginx", simulator.TopologyHosts{IP: "10.0.7.1", Count: 2}),
		cmdb.Share("shop/gz-1/worker", "0:10.0.7.1"),
		cmdb.Remove("0:10.0.7.2"),
		cmdb.ChangeHost("0:10.0.7.1", map[string]any{"bk_os_type": nil, "bk_mem": 1.5}),
		cmdb.ChangeProcess("shop/gz-1/nginx", "nginx", map[string]any{"proc_num": 3}),
		first.Sim.Register("0:10.0.7.1", "web", "nginx", nil, simtest.OperateSpec),
	)
	first.Eventually("a save while it runs", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), `"change_process"`) && strings.Contains(string(data), `"0:10.0.7.1"`)
	})
	simtest.Must(t, cmdb.Empty("shop/gz-1/nginx"), first.Sim.Close())
	second, err := live(shop)
	simtest.Must(t, err)
	for api, body := range map[string]string{
		"list_biz_hosts_topo":          `{"bk_biz_id":3,` + hostPage,
		"list_biz_hosts":               `{"bk_biz_id":3,"fields":["bk_host_id","bk_agent_id","bk_os_type","bk_mem"],"page":{"start":0,"limit":500,"sort":"bk_host_id"}}`,
		"list_service_instance_detail": `{"bk_biz_id":3,"page":{"start":0,"limit":200,"sort":"id"}}`,
	} {
		before := first.Ask(api, body).Body
		simtest.Want(t, api, second.Ask(api, body).Body, before)
	}
	p, _ := second.Sim.Process("0:10.0.7.1", "web", "nginx")
	simtest.Want(t, "a process on a host that was added is registered", p.Registered, true)
	simtest.Must(t, second.Sim.Close())
	if _, err := live(`{"businesses":[{"name":"other"}]}`); err == nil || !strings.Contains(err.Error(), "change 1 of CMDB (add)") {
		t.Errorf("with another topology: %v", err)
	}
}

const fifty = `{"businesses":[{"name":"b","sets":[{"name":"s","modules":[{"name":"m","processes":[],"hosts":[{"count":50,"ip":"10.1.0.1"}]}]}]}]}`

// Without an order, or with a fault, the same rows come in another order each time.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		api, sort, fault string
		stays            bool
	}{
		"unsorted": {"list_service_instance_detail", "", "", false}, // they were made at the same moment
		"sorted":   {"list_service_instance_detail", "id", "", true},
		"shuffled": {"list_service_instance_detail", "id", "shuffled", false},
	} {
		c := simtest.NewCMDB(t, fifty)
		c.Sim.Inject(simulator.Fault{Page: test.fault})
		order := func() []string {
			return strings.Fields(values(t, c.AskESB(test.api, `{"bk_biz_id":1,"page":{"start":0,"limit":1000,"sort":"`+test.sort+`"}}`), "id"))
		}
		first, second := order(), order()
		simtest.Want(t, name+": the order stays", slices.Equal(first, second), test.stays)
		slices.Sort(first)
		slices.Sort(second)
		simtest.Want(t, name, first, second)
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, shop)
	rule := func(field, operator, value string) string {
		return fmt.Sprintf(`{"field":%q,"operator":%q,"value":%s}`, field, operator, value)
	}
	all := func(condition string, rules ...string) string {
		return fmt.Sprintf(`{"condition":%q,"rules":[%s]}`, condition, strings.Join(rules, ","))
	}
	first, second := rule("bk_host_id", "equal", "1"), rule("bk_host_id", "equal", "2")
	for name, test := range map[string]struct{ filter, ids string }{
		"equal":              {all("AND", first), "1"},
		"and":                {all("AND", first, second), ""},
		"or":                 {all("OR", first, second), "1 2"},
		"nested":             {all("AND", all("OR", first, second), rule("bk_host_id", "greater", "1")), "2"},
		"in":                 {all("AND", rule("bk_host_id", "in", "[2,3]")), "2 3"},
		"not-in":             {all("AND", rule("bk_host_id", "not_in", "[1,2,3,4,5,6,7]")), "8 9 10"},
		"null":               {all("AND", rule("bk_os_type", "is_null", "null")), "3 4 7 8"},
		"not-equal-null":     {all("AND", rule("bk_os_type", "not_equal", `"1"`)), "3 4 7 8"},
		"begins-with":        {all("AND", rule("bk_host_name", "begins_with", `"web-0"`)), "1 2 5 6"},
		"contains-any-case":  {all("AND", rule("bk_host_name", "contains", `"WEB"`)), "1 2 5 6"},
		"ends-with":          {all("AND", rule("bk_host_name", "ends_with", `"4"`)), "6"},
		"second-address":     {all("AND", rule("bk_host_innerip", "equal", `"10.0.9.2"`)), "9"},
		"none-of-addresses":  {all("AND", rule("bk_host_id", "equal", "9"), rule("bk_host_innerip", "not_equal", `"10.0.9.2"`)), ""},
		"less":               {all("AND", rule("bk_host_id", "less_or_equal", "2")), "1 2"},
		"less-not-equal":     {all("AND", rule("bk_host_id", "less", "2")), "1"},
		"text-is-not-less":   {all("AND", rule("bk_host_name", "less", "5")), ""},
		"exists":             {all("AND", rule("bk_no_such", "exist", "null")), ""},
		"number-is-no-text":  {all("AND", rule("bk_host_id", "equal", `"1"`)), ""},
		"text-is-no-number":  {all("AND", rule("bk_cloud_id", "in", `["0"]`)), ""},
		"another-cloud-area": {all("AND", rule("bk_cloud_id", "equal", "7")), "9"},
	} {
		got := c.Ask("list_biz_hosts", `{"bk_biz_id":3,"host_property_filter":`+test.filter+`,"fields":["bk_host_id"],"page":{"start":0,"limit":500}}`)
		simtest.Want(t, name, values(t, got, "bk_host_id"), test.ids)
	}
	deep := all("AND", all("OR", all("AND", all("OR", first))))
	for filter, where := range map[string]string{
		all("XOR", first): "condition", all("AND"): "rules", deep: "rules[0].rules[0].rules[0].rules",
		all("AND", rule("bk_host_id", "between", "[1,2]")): "rules[0].operator",
		all("AND", rule("", "equal", "1")):                 "rules[0].field",
		all("AND", rule("bk_host_id", "in", `[1,"2"]`)):    "rules[0].value",
		all("AND", rule("bk_host_name", "contains", `""`)): "rules[0].value",
	} {
		got := c.AskESB("list_biz_hosts", `{"bk_biz_id":3,"host_property_filter":`+filter+`,"fields":["bk_host_id"],"page":{"start":0,"limit":500}}`)
		simtest.Want(t, filter, got.Message, "'host_property_filter."+where+"' data parameter verification does not pass")
	}
	c.Sim.ResetViolations()
}

func TestList_byOtherThings(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, shop)
	page := `"page":{"start":0,"limit":200,"sort":"id"}}`
	for _, test := range []struct{ api, params, path, want string }{
		{"list_biz_hosts", `"bk_set_ids":[2],"bk_module_ids":[4,6],` + hostPage, "bk_host_innerip", "10.0.0.1 10.0.0.2"},
		{"list_biz_hosts", `"bk_module_ids":[` + strings.Repeat("4,", 499) + `4],` + hostPage, "bk_host_innerip", "10.0.0.1 10.0.0.2"},
		{"list_biz_hosts", `"module_cond":[{"field":"bk_module_name","operator":"$ne","value":"nginx"}],"bk_set_ids":[2],` + hostPage, "bk_host_innerip", "10.0.0.1 10.0.1.1 10.0.1.2"},
		{"list_biz_hosts", `"fields":["bk_host_id"],"page":{"start":8,"limit":5,"sort":"-bk_host_id"}}`, "bk_host_id", "2 1"},
		{"find_host_by_topo", `"bk_obj_id":"module","bk_inst_id":4,` + hostPage, "bk_host_innerip", "10.0.0.1 10.0.0.2"},
		{"find_host_by_service_template", `"bk_service_template_ids":[1],"bk_module_ids":[6],` + hostPage, "bk_host_innerip", "10.0.0.3 10.0.0.4"},
		{"list_proc_template", `"service_template_id":1}`, "service_template_id", "1"},
		{"list_proc_template", `"process_template_ids":[1]}`, "bk_process_name", "nginx"},
		{"list_proc_template", `"service_template_id":9}`, "id", ""},
		{"search_set", `"condition":{"bk_set_env":{"$ne":"1"}},"fields":["bk_set_name"],"page":{"start":0,"limit":200}}`, "bk_set_name", "idle pool gz-1 gz-2"},
		{"search_set", `"condition":{"bk_set_env":"1"},"fields":["bk_set_name"],"page":{"start":0,"limit":200}}`, "bk_set_name", "lab"},
		{"search_set", `"filter":{"condition":"AND","rules":[{"field":"bk_set_name","operator":"in","value":["gz-2"]}]},"fields":["bk_set_id"],"page":{"start":0,"limit":200}}`, "bk_set_id", "3"},
		{"find_module_batch", `"bk_ids":[4,5],"fields":["bk_module_name"]}`, "bk_module_name", "worker nginx"},
		{"search_dynamic_group", `"condition":{"name":"web"},` + page, "name", "web web sets"},
		{"list_service_template", `"search":"ngin",` + page, "name", "nginx"},
		{"list_service_template", `"search":"ngin","is_exact":true,` + page, "name", ""},
		{"list_service_instance_detail", `"bk_module_id":4,` + page, "id", "1 2"},
		{"list_service_instance_detail", `"bk_host_list":[1],` + page, "id", "1 10 11 12"},
		{"list_service_instance_detail", `"service_instance_ids":[2,3],` + page, "id", "2 3"},
		{"list_service_instance_detail", `"selectors":[{"key":"az","operator":"=","values":["1"]}],` + page, "id", "1 2 5 6"},
		{"list_service_instance_detail", `"selectors":[{"key":"az","operator":"!","values":[]}],"bk_module_id":4,` + page, "id", ""},
		{"list_process_related_info", `"set":{"bk_set_ids":[3]},"module":{"bk_module_ids":[5,6]},"fields":["bk_process_id"],"page":{"start":0,"limit":500}}`, "module", "map[bk_module_id:6 bk_module_name:nginx] map[bk_module_id:6 bk_module_name:nginx]"},
		{"list_process_related_info", `"service_instance":{"ids":[3]},"fields":["bk_process_id"],` + `"page":{"start":0,"limit":500}}`, "service_instance", "map[id:3 name:10.0.1.1_worker]"},
	} {
		simtest.Want(t, test.api+" "+test.params, values(t, c.Ask(test.api, `{"bk_biz_id":3,`+test.params), test.path), test.want)
	}
	simtest.Want(t, "business by a part of its name", values(t, c.Ask("search_business", `{"condition":{"bk_biz_name":"SHO"},"page":{"start":0,"limit":200}}`), "bk_biz_id"), "3")
	topology := c.Ask("list_biz_hosts_topo", `{"bk_biz_id":3,"module_property_filter":{"condition":"AND","rules":[{"field":"bk_module_id","operator":"equal","value":4}]},"fields":["bk_host_id"],"page":{"start":0,"limit":1}}`)
	simtest.Want(t, "every module of a host", values(t, topology, "topo"),
		"[map[bk_set_id:2 bk_set_name:gz-1 module:[map[bk_module_id:4 bk_module_name:nginx] map[bk_module_id:5 bk_module_name:worker]]] map[bk_set_id:3 bk_set_name:gz-2 module:[map[bk_module_id:7 bk_module_name:worker]]]]")
	simtest.Want(t, "processes of an instance without any", values(t, c.Ask("list_service_instance_detail", `{"bk_biz_id":3,"bk_module_id":8,`+page), "process_instances"), "<nil>")
	group := func(id, params string) simtest.Reply {
		return c.Ask("execute_dynamic_group", `{"bk_biz_id":3,"id":"`+id+`",`+params)
	}
	ids := strings.Fields(values(t, c.Ask("search_dynamic_group", `{"bk_biz_id":3,`+page), "id"))
	simtest.Want(t, "group of hosts", values(t, group(ids[0], `"fields":["bk_host_id"],"page":{"start":0,"limit":200,"sort":"bk_host_id"}}`), "bk_host_id"), "1 2")
	simtest.Want(t, "group of sets", values(t, group(ids[1], `"fields":["bk_set_id"],"page":{"start":0,"limit":200,"sort":"bk_set_id"}}`), "bk_set_id"), "2 3")
	if got := group(ids[0], `"disable_counter":true,"fields":["bk_host_id"],"page":{"start":0,"limit":200,"sort":"bk_host_id"}}`); got.Data["count"] != 0.0 {
		t.Errorf("a count that was not requested: %v", got.Body)
	}
	if got := group("none", `"fields":["bk_host_id"],"page":{"start":0,"limit":200}}`); got.Code != 1199019 {
		t.Errorf("unknown group: %v", got.Body)
	}
}

func TestAnswer_ignoresWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, shop)
	for _, test := range []struct{ api, params, violation string }{
		{"list_biz_hosts", `"bk_module_id":[4],` + hostPage, "bk_module_id: unknown field, which CMDB ignores"},
		{"list_biz_hosts_topo", `"bk_module_ids":[4],` + hostPage, "bk_module_ids: unknown field, which CMDB ignores"},
		{"list_process_related_info", `"process":{"bk_process_names":["x"]},` + hostPage, "process: unknown field, which CMDB ignores"},
		{"list_biz_hosts", `"page":{"start":0,"limit":500}}`, "fields: required field is missing"},
		{"list_biz_hosts", `"fields":["bk_host_id"],"page":{"start":0,"limit":501}}`, "page.limit: must be between 1 and 500"},
		{"search_set", `"fields":["bk_set_id"]}`, "page: required field is missing"},
		{"search_dynamic_group", `"page":{"start":0,"limit":1000}}`, "page.limit: must be between 1 and 200"},
	} {
		got := c.AskGateway(test.api, `{"bk_biz_id":3,`+test.params)
		all := map[string]float64{"search_set": 3, "search_dynamic_group": 2}[test.api]
		if all == 0 {
			all = 10
		}
		info, _ := got.Data["info"].([]any)
		count, _ := got.Data["count"].(float64)
		simtest.Check(t, got.Code == 0 && count >= all && len(info) > 0, "%s %s: %v", test.api, test.params, got.Body)
		violations := c.Sim.Violations()
		simtest.Check(t, len(violations) > 0 && violations[len(violations)-1] == test.api+": "+test.violation, "%s %s: %q", test.api, test.params, violations)
		c.Sim.ResetViolations()
	}
}

func TestAnswer_refuses(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, strings.Replace(shop, `"businesses":[`, `"businesses":[{"id":4,"name":"closed","no_permission":true},`, 1))
	many := strings.TrimSuffix(strings.Repeat("1,", 501), ",")
	for _, test := range []struct {
		api, body string
		code      int
		message   string
	}{
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":["x"],"page":{"start":0,"limit":0}}`, 1199006, "page.limit"},
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":["x"],"page":{"start":0,"limit":-1}}`, 1199006, "page.limit"},
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":["x"],"page":{"start":-1,"limit":1}}`, 1199006, "page.start"},
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":["x"],"page":{"start":0,"limit":1001}}`, 1199006, "page.limit"},
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":["x"],"page":{"start":"0","limit":1}}`, 1199000, "page.start is not an integer"},
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":["x"]}`, 1199006, "page.limit"},
		{"list_biz_hosts", `{"bk_biz_id":3,"fields":"x","page":{"start":0,"limit":1}}`, 1199000, "fields is not a list of texts"},
		{"list_biz_hosts", `{"bk_biz_id":3,"bk_module_ids":["4"],"fields":["x"],"page":{"start":0,"limit":1}}`, 1199000, "bk_module_ids is not a list of integers"},
		{"list_biz_hosts", `{"bk_biz_id":3,"bk_module_ids":[` + many + `],"fields":["x"],"page":{"start":0,"limit":1}}`, 1199006, "bk_module_ids"},
		{"list_biz_hosts", `{"bk_biz_id":3,"bk_module_ids":[4],"module_cond":[{"field":"a","operator":"$eq","value":1}],"fields":["x"],"page":{"start":0,"limit":1}}`, 1199006, "can't both be set"},
		{"list_biz_hosts", `{"bk_biz_id":3,"set_cond":[{"field":"a","operator":"$in","value":[1]}],"fields":["x"],"page":{"start":0,"limit":1}}`, 1199006, "set_cond"},
		{"list_biz_hosts", `{"bk_biz_id":0,"fields":["x"],"page":{"start":0,"limit":1}}`, 1199006, "bk_biz_id"},
		{"list_service_instance_detail", `{"bk_biz_id":3,"page":{"start":0,"limit":1001}}`, 1199059, "page limit is exceeded"},
		{"list_service_instance_detail", `{"bk_biz_id":3,"bk_host_id":1,"bk_host_list":[1],"page":{"start":0,"limit":1}}`, 1199006, "can't both be set"},
		{"list_service_instance_detail", `{"bk_biz_id":3,"selectors":[{"key":"az","operator":"in","values":[]}],"page":{"start":0,"limit":1}}`, 1199006, "selectors"},
		{"list_service_instance_detail", `{"bk_biz_id":3,"selectors":[{"key":"az","operator":"notin","values":[]}],"page":{"start":0,"limit":1}}`, 1199006, "selectors"},
		{"list_proc_template", `{"bk_biz_id":3}`, 1199010, "service_template_id"},
		{"execute_dynamic_group", `{"bk_biz_id":3,"id":"x","page":{"start":0,"limit":1}}`, 1199010, "'fields' unassigned"},
		{"find_host_by_topo", `{"bk_biz_id":3,"bk_obj_id":"biz","bk_inst_id":3,"fields":["x"],"page":{"start":0,"limit":1}}`, 1199006, "bk_obj_id"},
		{"execute_dynamic_group", `{"bk_biz_id":3,"id":"x","fields":["x"],"page":{"start":0,"limit":1001}}`, 1199006, "page.limit"},
		{"find_module_batch", `{"bk_biz_id":3,"bk_ids":[` + many + `],"fields":["x"]}`, 1199089, "bk_ids"},
		{"find_module_batch", `{"bk_biz_id":3,"bk_ids":[],"fields":["x"]}`, 1199010, "bk_ids"},
		{"list_biz_hosts", `{"bk_biz_id":4,"fields":["x"],"page":{"start":0,"limit":1}}`, 9900403, "no permission"},
	} {
		got := c.Ask(test.api, test.body)
		if got.Status != http.StatusOK || got.Code != test.code || !strings.Contains(got.Message, test.message) || got.Body["result"] != false {
			t.Errorf("%s %s: %v", test.api, test.body, got.Body)
		}
		violated := len(c.Sim.Violations()) > 0
		simtest.Check(t, violated != (test.code == 9900403), "%s %s: violations %q", test.api, test.body, c.Sim.Violations())
		c.Sim.ResetViolations()
	}
	simtest.Want(t, "businesses that may be read", values(t, c.Ask("search_business", `{"page":{"start":0,"limit":200}}`), "bk_biz_name"), "shop")
	permission := fmt.Sprint(c.Ask("search_biz_inst_topo", `{"bk_biz_id":4}`).Body["permission"])
	simtest.WantIn(t, "permission", permission, "find_business_resource", "closed")
	simtest.Want(t, "a business that nobody knows", values(t, c.Ask("list_biz_hosts", `{"bk_biz_id":99,`+hostPage), "bk_host_id"), "")
}
