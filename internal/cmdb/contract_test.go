package cmdb_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/expression"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// corpus answers with cases of the contract, in their order, and keeps the requests.
type corpus struct {
	mu    sync.Mutex
	cases []contract.Case
	asked [][]byte
}

func (c *corpus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	c.asked = append(c.asked, body)
	if err != nil || len(c.asked) > len(c.cases) {
		http.Error(w, "there is no such case", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(c.cases[len(c.asked)-1].Response)
}

// Each request is as in the contract, and each answer there can be read, through both faces.
func TestContract(t *testing.T) {
	t.Parallel()
	var (
		ctx     = t.Context()
		tree    = []string{"search_biz_inst_topo"}
		refused = []string{"list_biz_hosts/limit"}

		web   = cmdb.Group{ID: "c0ffee0000000000a1", Name: "web", Object: "host"}
		sets  = cmdb.Group{ID: "c0ffee0000000000a2", Name: "production", Object: "set"}
		place = cmdb.Place{SetID: 11, SetName: "gz-1", ModuleID: 60, ModuleName: "nginx"}
		host  = cmdb.Host{ID: 4, CloudID: new(int64(0)), IP: "10.0.0.8", AgentID: "020000000052540000000117000000000001", Name: "web-1", OS: "1", Places: []cmdb.Place{place}}
		odd   = cmdb.Host{ID: 5, CloudID: new(int64(1)), IP: "10.0.0.9", IPv6: "2001:db8::9", Dynamic: true,
			Places: []cmdb.Place{{SetID: 11, SetName: "gz-1", ModuleID: 61, ModuleName: "odd"}}}
		process = cmdb.Process{ID: 45, Name: "nginx", Host: cmdb.Host{ID: 4, CloudID: new(int64(0)), IP: "10.0.0.8", AgentID: host.AgentID}, Place: place,
			FuncName: "nginx", WorkPath: "/opt/nginx", PIDFile: "/run/nginx-${local_inst_id}.pid", User: "root", StartCmd: "./start.sh", StopCmd: "./stop.sh",
			ReloadCmd: "./reload.sh", FaceStop: "./kill.sh", ProcNum: 2, Priority: 1}
		short = cmdb.Process{ID: 45, Name: "nginx", Host: process.Host, Place: place, FuncName: "nginx", ProcNum: 2, Priority: 1}

		topology = func(c *cmdb.Client) any { return orError(c.Topology(ctx, 3)) }
		groups   = func(c *cmdb.Client) any { return orError(c.Groups(ctx, 3)) }
		hosts    = func(c *cmdb.Client) any { return orError(c.HostsInModules(ctx, 3, []int64{60})) }
		modules  = func(c *cmdb.Client) any {
			return orError(c.Processes(ctx, cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}}))
		}
		instances = func(c *cmdb.Client) any {
			return orError(c.ProcessesOfInstances(ctx, cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}}))
		}
		nobody     = func(c *cmdb.Client) any { return orError(c.Topology(ctx, 9)) }
		production = func(c *cmdb.Client) any { return orError(c.SetsOf(ctx, 3, "3")) }
		templates  = func(c *cmdb.Client) any { return orError(c.TemplatesOf(ctx, 3, []int64{60})) }
		service    = func(c *cmdb.Client) any { return orError(c.Templates(ctx, 3)) }
		members    = func(g cmdb.Group) func(*cmdb.Client) any {
			return func(c *cmdb.Client) any { return orError(c.Members(ctx, 3, g)) }
		}
		shop = []cmdb.Set{{ID: 11, Name: "gz-1", Modules: []cmdb.Module{{ID: 60, Name: "nginx"}}}}
	)
	tests := map[string]struct {
		before []string // cases of the requests before, which are repeated after it
		ask    func(*cmdb.Client) any
		want   any
		// answer: the client does not send the request of this case, but reads its answer.
		answer bool
	}{
		"search_biz_inst_topo":                {ask: topology, want: shop},
		"search_biz_inst_topo/older":          {ask: topology, want: shop},
		"search_business/all":                 {before: refused, ask: nobody, want: "there is no business 9; there are 3 (shop)"},
		"search_business":                     {before: refused, ask: nobody, want: "there is no business 9; there are 3 (shop)", answer: true},
		"search_business/condition":           {before: refused, ask: nobody, want: "there is no business 9; there are 3 (shop)", answer: true},
		"search_set":                          {ask: production, want: []int64{10, 11}, answer: true},
		"search_set/environment":              {ask: production, want: []int64{10, 11}, answer: true},
		"search_set/ids":                      {ask: production, want: []int64{10, 11}},
		"find_module_batch":                   {ask: templates, want: map[int64]int64{60: 50}, answer: true},
		"find_module_batch/templates":         {ask: templates, want: map[int64]int64{60: 50}},
		"list_biz_hosts_topo":                 {ask: hosts, want: []cmdb.Host{host}, answer: true},
		"list_biz_hosts_topo/modules":         {ask: hosts, want: []cmdb.Host{host}},
		"list_biz_hosts_topo/sets":            {ask: func(c *cmdb.Client) any { return orError(c.HostsInSets(ctx, 3, []int64{11})) }, want: []cmdb.Host{host, odd}},
		"list_biz_hosts_topo/hosts":           {ask: func(c *cmdb.Client) any { return orError(c.HostsByID(ctx, 3, []int64{5})) }, want: []cmdb.Host{odd}},
		"list_biz_hosts/permission":           {ask: topology, want: "search_biz_inst_topo: refused by the platform: You have no permission to access this resource (code 9900403", answer: true},
		"list_biz_hosts/empty":                {ask: hosts, want: "the page of list_biz_hosts_topo from row 0 on has only 0 of 1 rows", answer: true},
		"list_service_template":               {ask: service, want: []cmdb.Template{{ID: 50, Name: "nginx"}}, answer: true},
		"list_service_template/ids":           {ask: service, want: []cmdb.Template{{ID: 50, Name: "nginx"}}, answer: true},
		"list_service_template/all":           {ask: service, want: []cmdb.Template{{ID: 50, Name: "nginx"}}},
		"search_dynamic_group":                {ask: groups, want: []cmdb.Group{web}, answer: true},
		"search_dynamic_group/sets":           {ask: groups, want: []cmdb.Group{sets}, answer: true},
		"search_dynamic_group/all":            {ask: groups, want: []cmdb.Group{web, sets}},
		"execute_dynamic_group":               {ask: members(web), want: []int64{4}, answer: true},
		"execute_dynamic_group/sets":          {ask: members(sets), want: []int64{11}, answer: true},
		"execute_dynamic_group/fields":        {ask: members(web), want: "execute_dynamic_group: refused by the platform: 'fields' unassigned (code 1199010", answer: true},
		"execute_dynamic_group/host-ids":      {ask: members(web), want: []int64{4}},
		"execute_dynamic_group/set-ids":       {ask: members(sets), want: []int64{11}},
		"list_process_related_info":           {before: tree, ask: modules, want: []cmdb.Process{short}, answer: true},
		"list_process_related_info/filter":    {before: tree, ask: modules, want: []cmdb.Process{short}, answer: true},
		"list_process_related_info/orphan":    {before: tree, ask: modules, want: "the page of list_process_related_info from row 0 on has process 46 (ghost) without its set, module or host", answer: true},
		"list_process_related_info/ignored":   {before: tree, ask: modules, want: "the page of list_process_related_info from row 0 on has only 1 of 2 rows", answer: true},
		"list_service_instance_detail":        {before: slices.Concat(tree, []string{"list_biz_hosts_topo/modules"}), ask: instances, want: []cmdb.Process{process}, answer: true},
		"list_service_instance_detail/module": {before: slices.Concat(tree, []string{"list_biz_hosts_topo/modules"}), ask: instances, want: []cmdb.Process{process}},
		"list_service_instance_detail/none": {
			before: []string{"list_biz_hosts_topo/hosts"}, answer: true, want: []cmdb.Process(nil),
			ask: func(c *cmdb.Client) any {
				return orError(c.ProcessesOfInstances(ctx, cmdb.Scope{Business: 3, HostIDs: []int64{5}}))
			},
		},
		"list_service_instance_detail/both": {before: slices.Concat(tree, []string{"list_biz_hosts_topo/modules"}), ask: instances, answer: true,
			want: "list_service_instance_detail: refused by the platform: 'bk_host_id and bk_host_list can't both be set' data parameter verification does not pass (code 1199006"},
		"list_process_related_info/modules": {before: tree, ask: modules, want: []cmdb.Process{process}},
		"list_process_related_info/sets": {
			before: []string{"search_dynamic_group/all", "execute_dynamic_group/set-ids"},
			ask: func(c *cmdb.Client) any {
				return orError(c.Processes(ctx, cmdb.Scope{Business: 3, Group: "production"}))
			},
			want: []cmdb.Process{process},
		},
	}
	for name, test := range tests {
		for gateway, face := range map[bkapi.Gateway]string{bkapi.ESB: "cmdb/", bkapi.APIGW: "cmdb-apigw/"} {
			if gateway == bkapi.ESB && strings.HasSuffix(name, "/older") {
				continue // the ESB has only one spelling
			}
			t.Run(face+name, func(t *testing.T) {
				t.Parallel()
				served := &corpus{}
				after := test.before
				if _, fails := test.want.(string); fails {
					after = []string{name, name} // a list that moved is read again
				}
				for _, id := range slices.Concat(test.before, []string{name}, after) {
					served.cases = append(served.cases, contract.Get(face+id))
				}
				server := httptest.NewServer(served)
				t.Cleanup(server.Close)
				got := test.ask(newClient(t, server.URL, gateway))
				simtest.Want(t, "made of the answer", got, test.want)
				if test.answer {
					return
				}
				golden, asked := served.cases[len(test.before)], served.asked[len(test.before)]
				simtest.Want(t, "request", objectOf(t, asked), objectOf(t, golden.Request))
			})
		}
	}
	asked := make(map[string]bool) // endpoints that the client uses
	for name, test := range tests {
		endpoint, _, _ := strings.Cut(name, "/")
		asked[endpoint] = asked[endpoint] || !test.answer
	}
	for _, c := range contract.Cases("cmdb", "cmdb-apigw") {
		name := path.Join(c.Endpoint, c.Name)
		if _, tried := tests[name]; !tried && asked[c.Endpoint] {
			t.Errorf("%s is not tried", c.ID())
		}
	}
}

func orError[T any](value T, err error) any {
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), ", request id")
		return text
	}
	return value
}

func objectOf(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var members map[string]any
	simtest.Must(t, json.Unmarshal(body, &members))
	return members
}

// world has two businesses that may be read and one that may not.
const world = `{"businesses": [
  {"id": 2, "name": "web", "sets": [{"name": "main", "modules": [{"name": "lb", "hosts": [{"count": 2, "ip": "10.2.0.1"}]}]}]},
  {"id": 3, "name": "game",
   "templates": [{"id": 70, "name": "nginx", "processes": [{"bk_process_name": "nginx", "bk_func_name": "nginx"}]}, {"id": 71, "name": "redis", "processes": []}, {"id": 72, "name": "redis", "processes": []}],
   "sets": [
     {"id": 31, "name": "gz-[1-3]", "modules": [
       {"id": 101, "name": "nginx-a", "template": "nginx", "hosts": [{"count": 2, "ip": "10.3.0.1", "name": "n[1-6]"}]},
       {"id": 110, "name": "db", "hosts": [{"count": 1, "ip": "10.3.1.1"}]}]},
     {"id": 41, "name": "sh-1", "env": "1", "modules": [{"name": "nginx-b", "hosts": [{"ip": "10.3.2.1"}], "shares": ["0:10.3.0.1"], "processes": [{"bk_process_name": "b", "bk_func_name": "b"}]}, {"name": "empty"}]}],
   "idle": [{"count": 3, "ip": "10.3.9.1"}],
   "groups": [
     {"id": "g1", "name": "one set", "object": "set", "conditions": [{"bk_obj_id": "set", "field": "bk_set_name", "operator": "$eq", "value": "sh-1"}]},
     {"id": "g2", "name": "by name", "object": "host", "conditions": [{"bk_obj_id": "host", "field": "bk_host_innerip", "operator": "$in", "value": ["10.3.0.2", "10.3.9.1"]}]},
     {"id": "g3", "name": "nobody", "object": "host", "conditions": [{"bk_obj_id": "host", "field": "bk_host_innerip", "operator": "$eq", "value": "10.9.9.9"}]},
     {"id": "g4", "name": "twice", "object": "host"}, {"id": "g5", "name": "twice", "object": "host"}]},
  {"id": 4, "name": "bare"},
  {"id": 5, "name": "secret", "no_permission": true},
  {"id": 6, "name": "deep", "levels": ["region", "zone"], "sets": [
     {"name": "s", "under": ["south", "a"], "modules": [{"name": "m", "hosts": [{"ip": "10.6.0.1"}]}]},
     {"name": "s", "under": ["north", "b"], "modules": [{"name": "m", "hosts": [{"ip": "10.6.0.2"}]}]}]}
]}`

// answering returns a client of a gateway that has one answer for each API, whatever the request. An API is a part of a path.
func answering(t *testing.T, answers map[string]string) *cmdb.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for api, body := range answers {
			if strings.Contains(r.URL.Path, api) {
				_, _ = io.WriteString(w, body)
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return newClient(t, server.URL, bkapi.APIGW)
}

func serve(t *testing.T, sim *simulator.Server, gateway bkapi.Gateway, topology string) *cmdb.Client {
	t.Helper()
	parsed, err := simulator.ParseTopology([]byte(topology))
	simtest.Must(t, err)
	sim.Topology = parsed
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
		for _, violation := range sim.Violations() {
			t.Errorf("violation: %s", violation)
		}
	})
	url := server.URL
	if gateway == bkapi.APIGW {
		url += "/api/bk-cmdb/prod/"
	}
	return newClient(t, url, gateway)
}

// retrying tries once more, at once.
func retrying(config *bkapi.Config) { config.MaxRetries = 1 }

func newClient(t *testing.T, url string, gateway bkapi.Gateway, change ...func(*bkapi.Config)) *cmdb.Client {
	t.Helper()
	config := bkapi.Config{
		Endpoint: url, Gateway: gateway, AppCode: simulator.DefaultAppCode, AppSecret: simulator.DefaultAppSecret, Username: "admin",
		Limits: bkapi.NewLimits(8, 0),
	}
	for _, c := range change {
		c(&config)
	}
	api, err := bkapi.New(config)
	simtest.Must(t, err)
	t.Cleanup(api.Close)
	return cmdb.NewClient(api, gateway)
}

func expr(text string) *expression.Expression {
	parsed, err := expression.Parse(text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// found returns hosts with their places, in one text.
func found(hosts []cmdb.Host) string {
	var texts []string
	for _, h := range hosts {
		text := strings.TrimPrefix(h.IP, "10.")
		for _, p := range h.Places {
			text += " " + p.String()
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
