package cmdb_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	type top = cmdb.Topology
	direct := []string{"search_biz_inst_topo", "list_biz_hosts_topo", "search_biz_inst_topo"} // again, because hosts may have moved meanwhile
	for name, c := range map[string]struct {
		scope cmdb.Scope
		want  string
		calls []string
	}{
		"all": {
			cmdb.Scope{Business: 3, Topology: &top{}},
			"3.0.1 gz-1/nginx-a sh-1/nginx-b, 3.0.2 gz-1/nginx-a, 3.1.1 gz-1/db, 3.0.3 gz-2/nginx-a, 3.0.4 gz-2/nginx-a, 3.1.2 gz-2/db, 3.0.5 gz-3/nginx-a, 3.0.6 gz-3/nginx-a, 3.1.3 gz-3/db, 3.2.1 sh-1/nginx-b", direct,
		},
		"set-and-module": {cmdb.Scope{Business: 3, Topology: &top{Set: expr("gz-[1-2]"), Module: expr("nginx*")}}, "3.0.1 gz-1/nginx-a, 3.0.2 gz-1/nginx-a, 3.0.3 gz-2/nginx-a, 3.0.4 gz-2/nginx-a", direct},
		"environment":    {cmdb.Scope{Business: 3, Topology: &top{Environment: "1"}}, "3.0.1 sh-1/nginx-b, 3.2.1 sh-1/nginx-b", []string{"search_biz_inst_topo", "search_set", "list_biz_hosts_topo", "search_biz_inst_topo", "search_set"}},
		"levels-above":   {cmdb.Scope{Business: 6, Topology: &top{Set: expr("s")}}, "6.0.1 s/m, 6.0.2 s/m", nil},
		"empty-module":   {cmdb.Scope{Business: 3, Topology: &top{Module: expr("empty")}}, "", nil},
		"bare":           {cmdb.Scope{Business: 4, Topology: &top{}}, "", []string{"search_biz_inst_topo", "search_biz_inst_topo"}},
		"template": {
			cmdb.Scope{Business: 3, Template: "nginx"},
			"3.0.1 gz-1/nginx-a, 3.0.2 gz-1/nginx-a, 3.0.3 gz-2/nginx-a, 3.0.4 gz-2/nginx-a, 3.0.5 gz-3/nginx-a, 3.0.6 gz-3/nginx-a",
			[]string{"list_service_template", "search_biz_inst_topo", "find_module_batch", "list_biz_hosts_topo", "list_service_template", "search_biz_inst_topo", "find_module_batch"},
		},
		"template-by-id":      {cmdb.Scope{Business: 3, Template: "71"}, "", nil},
		"group-of-sets":       {cmdb.Scope{Business: 3, Group: "one set"}, "3.0.1 sh-1/nginx-b, 3.2.1 sh-1/nginx-b", []string{"search_dynamic_group", "execute_dynamic_group", "list_biz_hosts_topo", "search_dynamic_group", "execute_dynamic_group"}},
		"group-of-hosts":      {cmdb.Scope{Business: 3, Group: "g2"}, "3.0.2 gz-1/nginx-a, 3.9.1 idle pool/idle host", nil},
		"group-that-is-empty": {cmdb.Scope{Business: 3, Group: "nobody"}, "", []string{"search_dynamic_group", "execute_dynamic_group", "search_dynamic_group", "execute_dynamic_group"}},
		"ids":                 {cmdb.Scope{Business: 3, HostIDs: []int64{4, 3, 4}}, "3.0.1 gz-1/nginx-a sh-1/nginx-b, 3.0.2 gz-1/nginx-a", []string{"list_biz_hosts_topo"}},
	} {
		for _, gateway := range bkapi.Gateways() {
			t.Run(name+"-"+string(gateway), func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				hosts, err := serve(t, sim, gateway, world).Select(t.Context(), c.scope)
				simtest.Must(t, err)
				simtest.Want(t, "selected", found(hosts), c.want)
				if c.calls != nil {
					simtest.Want(t, "called", sim.Calls().APIs(), c.calls)
				}
			})
		}
	}
}

// Promised in reference: An expression that matches nothing is an error.
func TestSelect_unknown(t *testing.T) {
	t.Parallel()
	type top = cmdb.Topology
	const businesses = "; there are 2 (web), 3 (game), 4 (bare), 6 (deep)"
	for name, c := range map[string]struct {
		scope cmdb.Scope
		want  string
	}{
		"business-by-topology": {cmdb.Scope{Business: 33, Topology: &top{}}, "there is no business 33; there are 3 (game), 2 (web), 4 (bare), 6 (deep)"},
		"business-by-template": {cmdb.Scope{Business: 9, Template: "nginx"}, "there is no business 9" + businesses},
		"business-by-group":    {cmdb.Scope{Business: 9, Group: "g1"}, "there is no business 9" + businesses},
		"business-by-id":       {cmdb.Scope{Business: 9, HostIDs: []int64{3}}, "there is no business 9" + businesses},
		"set":                  {cmdb.Scope{Business: 3, Topology: &top{Set: expr("sz-[1-3]")}}, `business 3 has no set "sz-[1-3]"; there are sh-1, gz-1, gz-2, gz-3`},
		"set-of-environment":   {cmdb.Scope{Business: 3, Topology: &top{Environment: "1", Set: expr("gz-1")}}, `business 3 has no set "gz-1" in environment "1"; there are sh-1`},
		"environment":          {cmdb.Scope{Business: 3, Topology: &top{Environment: "2"}}, `business 3 has no set in environment "2"; there are gz-1, gz-2, gz-3, sh-1`},
		"module":               {cmdb.Scope{Business: 3, Topology: &top{Set: expr("gz*"), Module: expr("nginx")}}, `business 3 has no module "nginx" in these sets; there are nginx-a, db`},
		"template":             {cmdb.Scope{Business: 3, Template: "ngin"}, `business 3 has no service template "ngin"; there are nginx (70), redis (71), redis (72)`},
		"template-twice":       {cmdb.Scope{Business: 3, Template: "redis"}, `business 3 has 2 of the name "redis" for a service template: give its id, one of 71, 72`},
		"group":                {cmdb.Scope{Business: 3, Group: "by id"}, `business 3 has no dynamic group "by id"; there are by name (g2), one set (g1), nobody (g3), twice (g4), twice (g5)`},
		"group-twice":          {cmdb.Scope{Business: 3, Group: "twice"}, `business 3 has 2 of the name "twice" for a dynamic group: give its id, one of g4, g5`},
		"host":                 {cmdb.Scope{Business: 3, HostIDs: []int64{3, 1, 9999}}, `business 3 has no host 1, 9999`},
		"built-in-module":      {cmdb.Scope{Business: 3, Topology: &top{Module: expr("idle host")}}, `business 3 has no module "idle host" in these sets; there are db, empty, nginx-a, nginx-b`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts, err := serve(t, &simulator.Server{}, bkapi.ESB, world).Select(t.Context(), c.scope)
			if err == nil || err.Error() != c.want || hosts != nil {
				t.Errorf("selected %s, said %v; want %s", found(hosts), err, c.want)
			}
		})
	}
}

// An incomplete list is an error, whatever is missing.
func TestSelect_pages(t *testing.T) {
	t.Parallel()
	const many = `{"businesses": [{"id": 3, "name": "game", "sets": [{"name": "gz-[1-2]", "modules": [{"name": "m", "hosts": [{"count": 500, "ip": "10.3.0.1"}]}]}],
	  "idle": [{"count": 700, "ip": "10.4.0.1"}], "groups": [{"id": "g", "name": "g", "object": "host"}]}]}`
	for name, c := range map[string]struct {
		scope cmdb.Scope
		fault simulator.Fault
		want  string
	}{
		"repeats":     {want: "the page of list_biz_hosts_topo from row 499 on does not begin with row 500, the last one before it", fault: simulator.Fault{Page: "repeat", Start: new(499)}},
		"shrinks":     {want: "the page of list_biz_hosts_topo from row 0 on has only 250 of 500 rows", fault: simulator.Fault{Page: "shrink"}},
		"is-empty":    {want: "the page of list_biz_hosts_topo from row 0 on has only 0 of 500 rows", fault: simulator.Fault{Page: "empty"}},
		"is-larger":   {want: "the page of list_biz_hosts_topo from row 0 on has 1000 rows where there are 500", fault: simulator.Fault{Page: "larger"}},
		"counts-less": {want: "the page of list_biz_hosts_topo from row 499 on has 500 rows where there are 300", fault: simulator.Fault{CountOff: -201}},
		"counts-more": {want: "the page of list_biz_hosts_topo from row 998 on has only 2 of 3 rows", fault: simulator.Fault{CountOff: 1}},
		"counts-wild": {want: "the page of list_biz_hosts_topo from row 0 on counts 2000001000 rows; more than 1000000 are not read", fault: simulator.Fault{CountOff: 2_000_000_000}},
		"unfiltered":  {want: "the answer of list_biz_hosts_topo has host 1001 (10.4.0.1), which was not asked for: CMDB ignored the filter", fault: simulator.Fault{Page: "unfiltered"}},
		"fails":       {want: "list_biz_hosts_topo: refused by the platform: broken (code 1199000", fault: simulator.Fault{EnvelopeCode: new(1199000), EnvelopeMessage: "broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			client := serve(t, sim, bkapi.ESB, many)
			c.fault.API = "list_biz_hosts_topo"
			sim.Inject(c.fault)
			hosts, err := client.Select(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || hosts != nil {
				t.Errorf("%d hosts, said %v; want %s", len(hosts), err, c.want)
			}
		})
	}
}

// If one host leaves and another joins while the pages are read, the count stays the same. The host between the
// pages is not left out.
func TestSelect_movedWithin(t *testing.T) {
	t.Parallel()
	var gone atomic.Int64 // hosts with the lowest ids
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var question struct {
			Page struct {
				Start int64 `json:"start"`
			} `json:"page"`
		}
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
			t.Error(err)
		}
		var rows []string
		for n := question.Page.Start; n < min(question.Page.Start+500, 501); n++ {
			rows = append(rows, fmt.Sprintf(`{"host":{"bk_host_id":%d},"topo":[{"bk_set_id":3,"module":[{"bk_module_id":7}]}]}`, 1+gone.Load()+n))
		}
		_, _ = fmt.Fprintf(w, `{"code":0,"data":{"count":501,"info":[%s]}}`, strings.Join(rows, ","))
		gone.CompareAndSwap(0, 1)
	}))
	t.Cleanup(server.Close)
	hosts, err := newClient(t, server.URL, bkapi.APIGW).HostsInModules(t.Context(), 3, []int64{7})
	if err != nil || !slices.ContainsFunc(hosts, func(h cmdb.Host) bool { return h.ID == 501 }) {
		t.Errorf("%d hosts, said %v", len(hosts), err)
	}
}

// If any request of a scope fails, the result is an error, and never fewer hosts or processes.
func TestScope_questionFails(t *testing.T) {
	t.Parallel()
	type asks = func(*cmdb.Client, cmdb.Scope) (int, error)
	for what, ask := range map[string]asks{
		"hosts": func(c *cmdb.Client, s cmdb.Scope) (int, error) {
			all, err := c.Select(t.Context(), s)
			return len(all), err
		},
		"processes": func(c *cmdb.Client, s cmdb.Scope) (int, error) {
			all, err := c.Processes(t.Context(), s)
			return len(all), err
		},
	} {
		for name, scope := range map[string]cmdb.Scope{
			"topology":       {Business: 3, Topology: &cmdb.Topology{Set: expr("gz*"), Module: expr("nginx*")}},
			"environment":    {Business: 3, Topology: &cmdb.Topology{Environment: "1"}},
			"template":       {Business: 3, Template: "nginx"},
			"group-of-sets":  {Business: 3, Group: "one set"},
			"group-of-hosts": {Business: 3, Group: "g2"},
			"ids":            {Business: 3, HostIDs: []int64{3, 4}},
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{}
				client := serve(t, sim, bkapi.ESB, world)
				if n, err := ask(client, scope); err != nil || n == 0 {
					t.Fatalf("%d, said %v", n, err)
				}
				for _, api := range sim.Calls().APIs() {
					sim.ClearFaults()
					sim.Inject(simulator.Fault{API: api, EnvelopeCode: new(1199000), EnvelopeMessage: "broken"})
					if n, err := ask(client, scope); n > 0 || err == nil || !strings.Contains(err.Error(), api+": refused by the platform: broken") {
						t.Errorf("%s fails: %d, said %v", api, n, err)
					}
				}
			})
		}
	}
}

// A list that changes while it is read is read again.
func TestSelect_moved(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	client := serve(t, sim, bkapi.ESB, world)
	sim.Inject(simulator.Fault{API: "list_biz_hosts_topo", Page: "empty", Times: 2})
	hosts, err := client.Select(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{Set: expr("gz-1")}})
	if err != nil || len(hosts) != 3 {
		t.Errorf("%d hosts, said %v", len(hosts), err)
	}
	simtest.Want(t, "times that it was read", len(sim.Calls().Of("list_biz_hosts_topo")), 3)
}

// A host that moves from the modules of one request to those of another, while they are read, is not left out.
func TestSelect_movedBetween(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]int{"once": 1, "each-time": 9} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				mu          sync.Mutex
				home, moved = 501, 0
				answered    = make(chan bool, 9)
			)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				first := bytes.Contains(body, []byte(`"value":[1,`))
				if !first {
					<-answered // it moves after the first request was answered
				}
				mu.Lock()
				defer mu.Unlock()
				if first != (home == 1) {
					_, _ = io.WriteString(w, `{"code":0,"data":{"count":0,"info":[]}}`)
				} else {
					_, _ = fmt.Fprintf(w, `{"code":0,"data":{"count":1,"info":[{"host":{"bk_host_id":7},"topo":[{"bk_set_id":3,"module":[{"bk_module_id":%d}]}]}]}}`, home)
				}
				if first {
					if moved < moves {
						home, moved = 502-home, moved+1
					}
					answered <- true
				}
			}))
			t.Cleanup(server.Close)
			modules := make([]int64, 501)
			for i := range modules {
				modules[i] = int64(i + 1)
			}
			hosts, err := newClient(t, server.URL, bkapi.APIGW).HostsInModules(t.Context(), 3, modules)
			if failed := err != nil; failed != (moves > 1) || !failed && len(hosts) != 1 {
				t.Errorf("%d hosts, said %v", len(hosts), err)
			}
		})
	}
}

// CMDB returns the sets of a host in any order, which is no reason to read them again.
func TestSelect_setsInAnyOrder(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !bytes.Contains(body, []byte(`"value":[1,`)) {
			_, _ = io.WriteString(w, `{"code":0,"data":{"count":0,"info":[]}}`)
			return
		}
		first := calls.Add(1) % 2
		_, _ = fmt.Fprintf(w, `{"code":0,"data":{"count":1,"info":[{"host":{"bk_host_id":7},"topo":[
		  {"bk_set_id":%d,"module":[{"bk_module_id":%[1]d}]},{"bk_set_id":%d,"module":[{"bk_module_id":%[2]d}]}]}]}}`, 3+first, 4-first)
	}))
	t.Cleanup(server.Close)
	modules := make([]int64, 501) // two requests
	for i := range modules {
		modules[i] = int64(i + 1)
	}
	hosts, err := newClient(t, server.URL, bkapi.APIGW).HostsInModules(t.Context(), 3, modules)
	if err != nil || len(hosts) != 1 || len(hosts[0].Places) != 2 {
		t.Errorf("got %v, said %v", hosts, err)
	}
	simtest.Want(t, "readings", calls.Load(), 2)
}

// A host that moves to a new module while its scope is read is not left out, nor are its processes, whether the scope names modules or hosts. If
// such moves never end, the result is an error.
func TestScope_movedToNewModule(t *testing.T) {
	t.Parallel()
	byModule, byHost := cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}}, cmdb.Scope{Business: 3, HostIDs: []int64{7}}
	hosts := func(c *cmdb.Client, s cmdb.Scope) (int, error) {
		all, err := c.Select(t.Context(), s)
		return len(all), err
	}
	processes := func(c *cmdb.Client, s cmdb.Scope) (int, error) {
		all, err := c.Processes(t.Context(), s)
		return len(all), err
	}
	instances := func(c *cmdb.Client, s cmdb.Scope) (int, error) {
		all, err := c.ProcessesOfInstances(t.Context(), s)
		return len(all), err
	}
	for name, c := range map[string]struct {
		read   func(*cmdb.Client, cmdb.Scope) (int, error)
		scope  cmdb.Scope
		during string // the request before whose answer host 7 moves to another new module
	}{
		"hosts":             {hosts, byModule, "list_hosts_topo"},
		"processes":         {processes, byModule, "process_related_info"},
		"processes-of-host": {processes, byHost, "process_related_info"},
		"instances":         {instances, byModule, "service_instance"},
		"instances-of-host": {instances, byHost, "service_instance"},
	} {
		for moves, moved := range map[int64]string{0: "", 1: "-once", 99: "-each-time"} {
			t.Run(name+moved, func(t *testing.T) {
				t.Parallel()
				var module atomic.Int64 // of the host
				module.Store(1)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					if strings.Contains(r.URL.Path, c.during) && module.Load() <= moves {
						module.Add(1)
					}
					in, row := module.Load(), ""
					switch {
					case strings.Contains(r.URL.Path, "topoinst"):
						modules := `{"bk_obj_id":"module","bk_inst_id":100}`
						for id := range in {
							modules += fmt.Sprintf(`,{"bk_obj_id":"module","bk_inst_id":%d}`, id+1)
						}
						_, _ = fmt.Fprintf(w, `{"code":0,"data":[{"bk_obj_id":"biz","bk_inst_id":3,"child":[{"bk_obj_id":"set","bk_inst_id":4,"child":[%s]}]}]}`, modules)
						return
					case strings.Contains(r.URL.Path, "list_hosts_topo"):
						row = fmt.Sprintf(`{"host":{"bk_host_id":7},"topo":[{"bk_set_id":4,"module":[{"bk_module_id":%d}]}]}`, in)
					case strings.Contains(r.URL.Path, "process_related_info"):
						row = fmt.Sprintf(`{"set":{"bk_set_id":4},"module":{"bk_module_id":%d},"host":{"bk_host_id":7},"process":{"bk_process_id":8}}`, in)
					case strings.Contains(r.URL.Path, "service_instance"):
						row = fmt.Sprintf(`{"id":9,"bk_host_id":7,"bk_module_id":%d,"process_instances":[{"process":{"bk_process_id":8}}]}`, in)
					}
					asked := regexp.MustCompile(`bk_module_id.*[^0-9]`+fmt.Sprint(in)+`[],}]`).Match(body) || bytes.Contains(body, []byte("host_property_filter"))
					if !asked {
						_, _ = io.WriteString(w, `{"code":0,"data":{"count":0,"info":[]}}`)
						return
					}
					_, _ = fmt.Fprintf(w, `{"code":0,"data":{"count":1,"info":[%s]}}`, row)
				}))
				t.Cleanup(server.Close)
				n, err := c.read(newClient(t, server.URL, bkapi.APIGW), c.scope)
				var never *cmdb.ListError
				if errors.As(err, &never) != (moves > 1) || moves <= 1 && (err != nil || n != 1) {
					t.Errorf("read %d, said %v", n, err)
				}
			})
		}
	}
}

// Filters have at most 500 ids. A host in the modules of two requests is selected once. If several requests are needed, all are repeated,
// because a host may move between them.
func TestSelect_manyModules(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	client := serve(t, sim, bkapi.ESB, `{"businesses": [{"id": 3, "name": "game", "sets": [
	  {"name": "a-[1-600]", "modules": [{"name": "m", "hosts": [{"count": 1, "ip": "10.3.0.1"}]}]},
	  {"name": "z", "modules": [{"name": "m", "shares": ["0:10.3.0.1", "0:10.3.2.88"]}]}]}]}`)
	hosts, err := client.Select(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
	if err != nil || len(hosts) != 600 {
		t.Fatalf("%d hosts, said %v", len(hosts), err)
	}
	simtest.Want(t, "the first", found(hosts[:1]), "3.0.1 a-1/m z/m")
	simtest.Want(t, "pages", len(sim.Calls().Of("list_biz_hosts_topo")), 6) // a full page is followed by another one
}

// An empty field is null, and several addresses are one text.
func TestSelect_fields(t *testing.T) {
	t.Parallel()
	client := serve(t, &simulator.Server{}, bkapi.ESB, `{"businesses": [{"id": 3, "name": "game", "sets": [{"name": "s", "modules": [{"name": "m", "hosts": [
	  {"ip": "10.0.0.1", "agent_id": "020000000052540000000117000000000001", "name": "web-1", "cloud": 7, "fields": {"bk_host_innerip": "10.0.0.1,10.1.0.1", "bk_host_innerip_v6": "2001:db8::1,2001:db8::2"}},
	  {"ip": "10.0.0.2", "fields": {"bk_host_innerip": null, "bk_host_innerip_v6": null, "bk_agent_id": null, "bk_host_name": null, "bk_os_type": null, "bk_cloud_id": null, "bk_addressing": null}},
	  {"ip": "10.0.0.3", "no_agent": true, "fields": {"bk_addressing": "dynamic"}}]}]}]}]}`)
	hosts, err := client.Select(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
	simtest.Must(t, err)
	for i := range hosts {
		hosts[i].Places = nil
	}
	want := []cmdb.Host{
		{ID: 1, CloudID: new(int64(7)), IP: "10.0.0.1", IPv6: "2001:db8::1", AgentID: "020000000052540000000117000000000001", Name: "web-1", OS: "1"},
		{ID: 2},
		{ID: 3, CloudID: new(int64(0)), IP: "10.0.0.3", Dynamic: true, OS: "1"},
	}
	simtest.Want(t, "hosts", hosts, want)
}

// An answer of CMDB with a field of an undocumented type is an error that says so, and is not requested again.
func TestSelect_types(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ row, count, says string }{
		"text-for-number":  {`{"host": {"bk_host_id": 1, "bk_cloud_id": "0"}}`, "1", "data.info.0.host.bk_cloud_id is of type string"},
		"list-for-text":    {`{"host": {"bk_host_id": 1, "bk_host_innerip": ["10.0.0.1"]}}`, "1", "data.info.0.host.bk_host_innerip is of type array"},
		"object-for-list":  {`{"host": {"bk_host_id": 1}, "topo": {}}`, "1", "data.info.0.topo is of type object"},
		"text-for-count":   {`{"host": {"bk_host_id": 1}}`, `"1"`, "data.count is of type string"},
		"part-of-a-number": {`{"host": {"bk_host_id": 1.5}}`, "1", "data.info.0.host.bk_host_id is of type number 1.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				_, _ = io.WriteString(w, `{"code": 0, "data": {"count": `+c.count+`, "info": [`+c.row+`]}}`)
			}))
			t.Cleanup(server.Close)
			hosts, err := newClient(t, server.URL, bkapi.APIGW, retrying).HostsByID(t.Context(), 3, []int64{1})
			says := "the answer of list_biz_hosts_topo has a field of another type than documented: " + c.says
			if err == nil || !strings.HasPrefix(err.Error(), says) || hosts != nil || calls.Load() != 1 {
				t.Errorf("%d calls, %d hosts, said %v; want %s", calls.Load(), len(hosts), err, says)
			}
		})
	}
}

// Service instances are refused if a field has another type, or if two of them have the same process.
func TestProcesses_instances(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, second, says string }{
		"one-process-twice": {`{"bk_process_id":8,"priority":1}`, `{"bk_process_id":8,"start_cmd":"x"}`, "process 8 in two service instances"},
		"text-for-number": {
			`{"bk_process_id":8,"priority":"1"}`, `{"bk_process_id":9}`,
			"the answer of list_service_instance_detail about service instance 1 has a field of another type than documented: process_instances.0.process.priority is of type string",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				info := `{"host":{"bk_host_id":1},"topo":[{"bk_set_id":4,"module":[{"bk_module_id":5}]}]},{"host":{"bk_host_id":2},"topo":[{"bk_set_id":4,"module":[{"bk_module_id":5}]}]}`
				if strings.Contains(r.URL.Path, "service_instance") {
					info = `{"id":1,"bk_host_id":1,"bk_module_id":5,"process_instances":[{"process":` + c.first + `}]},{"id":2,"bk_host_id":2,"bk_module_id":5,"process_instances":[{"process":` + c.second + `}]}`
				}
				_, _ = io.WriteString(w, `{"result":true,"code":0,"data":{"count":2,"info":[`+info+`]}}`)
			}))
			t.Cleanup(server.Close)
			_, err := newClient(t, server.URL, bkapi.ESB).ProcessesOfInstances(t.Context(), cmdb.Scope{Business: 3, HostIDs: []int64{1, 2}})
			simtest.Check(t, err != nil && strings.Contains(err.Error(), c.says), "got %v, want %q", err, c.says)
		})
	}
}

// A dynamic group may list its members in another order each time.
func TestScope_groupInAnyOrder(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := `{"host":{"bk_host_id":1},"topo":[]},{"host":{"bk_host_id":2},"topo":[]}`
		switch {
		case strings.Contains(r.URL.Path, "execute_dynamic_group"):
			info = `{"bk_host_id":1},{"bk_host_id":2}`
			if asked.Add(1)%2 == 0 {
				info = `{"bk_host_id":2},{"bk_host_id":1}`
			}
		case strings.Contains(r.URL.Path, "dynamic_group"):
			info = `{"id":"g","name":"g","bk_obj_id":"host"}`
		}
		count := strings.Count(info, "},{") + 1
		_, _ = io.WriteString(w, fmt.Sprintf(`{"result":true,"code":0,"data":{"count":%d,"info":[%s]}}`, count, info))
	}))
	t.Cleanup(server.Close)
	hosts, err := newClient(t, server.URL, bkapi.ESB).Select(t.Context(), cmdb.Scope{Business: 3, Group: "g"})
	simtest.Check(t, err == nil && len(hosts) == 2, "%d hosts, %v", len(hosts), err)
}

// A row without its set, module or host is an error, and so is a row that was not requested.
func TestProcesses_rows(t *testing.T) {
	t.Parallel()
	const (
		tree = `{"code": 0, "data": [{"bk_obj_id": "biz", "bk_inst_id": 3, "child": [{"bk_obj_id": "set", "bk_inst_id": 4, "child": [{"bk_obj_id": "module", "bk_inst_id": 5}]}]}]}`
		rest = `"module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7, "bk_process_name": "nginx"}}`
		says = "the page of list_process_related_info from row 0 on has process 7 (nginx) without its set, module or host"
		more = "which was not asked for: CMDB ignored the filter"
	)
	for name, test := range map[string]struct{ row, says string }{
		"set-0":       {`{"set": {"bk_set_id": 0}, "module": {"bk_module_id": 0}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7, "bk_process_name": "nginx"}}`, says},
		"whole":       {`{"set": {"bk_set_id": 4}, ` + rest, ""},
		"no-set":      {`{` + rest, says},
		"set-null":    {`{"set": null, ` + rest, says},
		"id-null":     {`{"set": {"bk_set_id": null}, ` + rest, says},
		"id-misspelt": {`{"set": {"bk_set": 4}, ` + rest, says},
		"elsewhere":   {`{"set": {"bk_set_id": 9}, "module": {"bk_module_id": 6}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7}}`, more},
		"no-host":     {`{"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "process": {"bk_process_id": 7, "bk_process_name": "nginx"}}`, says},
		"no-id":       {`{"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}}`, more},
	} {
		client := answering(t, map[string]string{"topoinst": tree, "process": `{"code": 0, "data": {"count": 2, "info": [` + test.row + `,
	  {"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 8}}]}}`})
		processes, err := client.Processes(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
		if test.says == "" && (err != nil || len(processes) != 2) {
			t.Errorf("%s: %v, said %v", name, processes, err)
		}
		if test.says != "" && (processes != nil || err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, said %v", name, processes, err)
		}
	}
}

// Every host of a business is in a module. If CMDB does not say in which one, processes would be missing, so that is an error.
func TestProcesses_ofUnplacedHosts(t *testing.T) {
	t.Parallel()
	const placed = `[{"bk_set_id": 4, "module": [{"bk_module_id": 5}]}]`
	for name, test := range map[string]struct {
		topo string
		says bool
	}{
		"placed": {placed, false}, "null": {"null", true}, "empty": {"[]", true}, "set-alone": {`[{"bk_set_id": 4, "module": null}]`, true},
		"set-beside-another": {`[{"bk_set_id": 4, "module": [{"bk_module_id": 5}]}, {"bk_set_id": 6, "module": null}]`, true},
	} {
		client := answering(t, map[string]string{
			"topo": `{"code": 0, "data": {"count": 2, "info": [{"host": {"bk_host_id": 1}, "topo": ` + placed + `}, {"host": {"bk_host_id": 2}, "topo": ` + test.topo + `}]}}`,
			"process": `{"code": 0, "data": {"count": 1, "info": [
	  {"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 8}}]}}`,
			"service_instance": `{"code": 0, "data": {"count": 0, "info": []}}`,
		})
		scope := cmdb.Scope{Business: 3, HostIDs: []int64{1, 2}}
		_, err := client.Processes(t.Context(), scope)
		_, byInstances := client.ProcessesOfInstances(t.Context(), scope)
		for _, err := range []error{err, byInstances} {
			if unplaced := (*cmdb.UnplacedError)(nil); errors.As(err, &unplaced) != test.says || !test.says && err != nil {
				t.Errorf("%s: said %v", name, err)
			}
		}
		hosts, err := client.Select(t.Context(), scope)
		simtest.Must(t, err)
		simtest.Check(t, len(hosts) == 2, "%s: %d hosts", name, len(hosts))
	}
}

// Processes are read in another way if the platform does not grant or have the first API, and for no other error.
func TestIsProcessInfoRefused(t *testing.T) {
	t.Parallel()
	const first = "list_process_related_info"
	for name, test := range map[string]struct {
		err  bkapi.Error
		want bool
	}{
		"gateway-403":     {bkapi.Error{API: first, Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 403, Code: 1640301}, true},
		"gateway-404":     {bkapi.Error{API: first, Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 404, Code: 1640401}, true},
		"cmdb":            {bkapi.Error{API: first, Gateway: bkapi.APIGW, Kind: bkapi.KindRefused, Status: 200, Code: 9900403}, true},
		"esb-user":        {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Status: 200, Code: 1306402}, true},
		"esb-application": {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Status: 200, Code: 1306403}, true},
		"esb-unknown":     {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Status: 200, Code: 1306404}, true},
		"esb-inactive":    {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Status: 200, Code: 1306405}, true},
		"another-api":     {bkapi.Error{API: "search_biz_inst_topo", Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 403, Code: 1640301}, false},
		"another-server":  {bkapi.Error{API: first, Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 404, Stranger: true}, false},
		"credentials":     {bkapi.Error{API: first, Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 401, Code: 1640101}, false},
		"arguments":       {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Status: 200, Code: 1306406}, false},
		"esb-trouble":     {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Status: 200, Code: 1306201}, false},
		"gateway-trouble": {bkapi.Error{API: first, Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: 502}, false},
		"lost":            {bkapi.Error{API: first, Gateway: bkapi.ESB, Kind: bkapi.KindLost}, false},
	} {
		simtest.Want(t, name, cmdb.IsProcessInfoRefused(fmt.Errorf("reading: %w", &test.err)), test.want)
	}
	simtest.Want(t, "nothing was refused", cmdb.IsProcessInfoRefused(nil), false)
}

// A module without a template has the template 0. A module without that field could have any template.
func TestTemplatesOf_unreported(t *testing.T) {
	t.Parallel()
	const says = "the answer of find_module_batch does not say of which service template module 6 is"
	for name, test := range map[string]struct{ module, says string }{
		"of-none":  {`{"bk_module_id": 6, "service_template_id": 0}`, ""},
		"missing":  {`{"bk_module_id": 6}`, says},
		"null":     {`{"bk_module_id": 6, "service_template_id": null}`, says},
		"misspelt": {`{"bk_module_id": 6, "template_id": 70}`, says},
	} {
		answer := `{"code": 0, "data": {"count": 2, "info": [{"bk_module_id": 5, "service_template_id": 70}, ` + test.module + `]}}`
		templates, err := answering(t, map[string]string{"": answer}).TemplatesOf(t.Context(), 3, []int64{5, 6})
		if (err != nil) != (test.says != "") || err != nil && err.Error() != test.says {
			t.Errorf("%s: %v, said %v, want %q", name, templates, err, test.says)
		}
	}
}
