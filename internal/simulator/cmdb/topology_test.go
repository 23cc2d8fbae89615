package cmdb_test

import (
	"fmt"
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

// shop has two sets with two modules of two hosts each, and a host apart.
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

// values are those of one member of every row of an answer.
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

// tree is a business's topology: each node before those below it.
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
	// An address that several hosts may have names none of them.
	simtest.WantError(t, register("7:10.0.9.1"), "")
}

func TestParseTopology_refuses(t *testing.T) {
	t.Parallel()
	// business has these members, set is its only set, module the only module of that.
	business := func(members string) string { return `{"businesses":[{"name":"a",` + members + `}]}` }
	set := func(members string) string { return business(`"sets":[{"name":"s",` + members + `}]`) }
	module := func(members string) string { return set(`"modules":[{"name":"m",` + members + `}]`) }
	for text, want := range map[string]string{
		`[]`:                  "cannot unmarshal",
		`{} {}`:               "more than one JSON document",
		`{"business":[]}`:     `unknown field "business"`,
		`{"businesses":[{}]}`: "it has no name",
		`{"businesses":[{"id":1,"name":"a"},{"id":1,"name":"b"}]}`:                                                         "business 1 is there twice",
		business(`"sets":[{"name":"s[3-1]"}]`):                                                                             "the range is empty or too long",
		business(`"sets":[{"name":"s[1-9999999]"}]`):                                                                       "the range is empty or too long",
		business(`"sets":[{"name":"s[1-2000][1-2000]"}]`):                                                                  "the ranges are too long",
		business(`"sets":[{"id":5,"name":"s"},{"id":5,"name":"t"}]`):                                                       "set 5 is there twice",
		business(`"orphans":[{"host":"0:10.0.0.1"}]`):                                                                      "orphan on 0:10.0.0.1: no host",
		business(`"groups":[{"name":"g","object":"module"}]`):                                                              "neither host nor set",
		business(`"groups":[{"name":"g","object":"set","conditions":[{"bk_obj_id":"set","field":"f","operator":"$gt"}]}]`): "is none of $eq",
		set(`"under":["x"]`):                                          "under: want a name for each of the levels",
		module(`"template":"t"`):                                      `no template is called "t"`,
		module(`"hosts":[{"ip":"10.0.0"}]`):                           "ip: ",
		module(`"hosts":[{"ip":"10.0.0.1"},{"ip":"10.0.0.1"}]`):       "host 0:10.0.0.1 is there twice",
		module(`"hosts":[{"count":2,"agent_id":"0123456789abcdef"}]`): "several hosts cannot have one",
		module(`"shares":["0:10.0.0.1"]`):                             "shares 0:10.0.0.1: no host is declared",
		`{"businesses":[{"name":"a","sets":[{"name":"s","modules":[{"name":"m","hosts":[{"ip":"10.0.0.1"}]}]}]},{"name":"b","sets":[{"name":"s","modules":[{"name":"m","shares":["0:10.0.0.1"]}]}]}]}`: "that host is another business's",
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
	simtest.Must(t, c.Sim.Register("0:10.0.7.1", "web", "nginx", nil, simtest.OperateSpec)) // a host that came later
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
	simtest.Want(t, "idle", hosts(1), "10.0.0.2 10.0.8.1") // the others are elsewhere too
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

// fifty is a topology with fifty hosts in a module.
const fifty = `{"businesses":[{"name":"b","sets":[{"name":"s","modules":[{"name":"m","processes":[],"hosts":[{"count":50,"ip":"10.1.0.1"}]}]}]}]}`

// Without an order, or with a fault, a request gets another order each time, with the same rows.
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
