package cmdb_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

const (
	oneSet  = `{"bk_obj_id":"set","bk_inst_id":4,"child":[{"bk_obj_id":"module","bk_inst_id":5}]}`
	oneHost = `{"host":{"bk_host_id":1},"topo":[{"bk_set_id":4,"module":[{"bk_module_id":5}]}]}`
)

func treeOf(sets string) string {
	return `{"code":0,"data":[{"bk_obj_id":"biz","bk_inst_id":3,"child":[` + sets + `]}]}`
}

func listOf(rows ...string) string {
	return fmt.Sprintf(`{"code":0,"data":{"count":%d,"info":[%s]}}`, len(rows), strings.Join(rows, ","))
}

// A part of the topology that cannot be read is an error, because its hosts would be missing.
func TestSelect_topologyIncomplete(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tree, says string
	}{
		"whole":               {treeOf(oneSet), ""},
		"level-above":         {treeOf(`{"bk_obj_id":"zone","bk_inst_id":9,"child":[` + oneSet + `]}`), ""},
		"set-without-modules": {treeOf(oneSet + `,{"bk_obj_id":"set","bk_inst_id":6,"child":null}`), ""},
		"set-of-no-object":    {treeOf(oneSet + `,{"bk_inst_id":6,"bk_inst_name":"gz","child":[{"bk_obj_id":"module","bk_inst_id":7}]}`), "(gz) below"},
		"set-without-id":      {treeOf(oneSet + `,{"bk_obj_id":"set","bk_inst_name":"gz","child":[{"bk_obj_id":"module","bk_inst_id":7}]}`), "(gz) below"},
		"module-of-no-object": {treeOf(oneSet + `,{"bk_obj_id":"set","bk_inst_id":6,"child":[{"bk_inst_id":7,"bk_inst_name":"web"}]}`), "(web) below"},
		"module-without-id":   {treeOf(oneSet + `,{"bk_obj_id":"set","bk_inst_id":6,"child":[{"bk_obj_id":"module","bk_inst_name":"web"}]}`), "(web) below"},
		"module-outside":      {treeOf(oneSet + `,{"bk_obj_id":"module","bk_inst_id":7,"bk_inst_name":"web"}`), "(web) below"},
		"business-twice": {
			`{"code":0,"data":[{"bk_obj_id":"biz","bk_inst_id":3,"child":[` + strings.ReplaceAll(oneSet, "5", "7") + `]},{"bk_obj_id":"biz","bk_inst_id":3,"child":[` + oneSet + `]}]}`, "has biz 3 (), which was not asked for",
		},
	} {
		client := answering(t, map[string]string{"topoinst": test.tree, "list_hosts_topo": listOf(oneHost)})
		hosts, err := client.Select(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
		if test.says == "" {
			simtest.Check(t, err == nil && len(hosts) == 1, "%s: %d hosts, said %v", name, len(hosts), err)
			continue
		}
		simtest.Check(t, hosts == nil && err != nil && strings.Contains(err.Error(), test.says), "%s: %d hosts, said %v", name, len(hosts), err)
	}
}

// A set of an environment that has no id would be left out.
func TestSetsOf_withoutID(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{"null": `{"bk_set_id":null,"bk_set_env":"3"}`, "missing": `{"bk_set_env":"3"}`} {
		sets, err := answering(t, map[string]string{"": listOf(`{"bk_set_id":4,"bk_set_env":"3"}`, row)}).SetsOf(t.Context(), 3, "3")
		simtest.Check(t, sets == nil && err != nil && strings.Contains(err.Error(), "set 0 of environment"), "%s: %v, said %v", name, sets, err)
	}
}

// A count that is only that of its page does not end a list.
func TestSelect_countOfThePage(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]int{"full": 500, "more": 600} {
		var requests atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			var question struct {
				Page struct {
					Start, Limit int
				} `json:"page"`
			}
			if err := json.NewDecoder(r.Body).Decode(&question); err != nil {
				t.Error(err)
			}
			var rows []string
			for n := question.Page.Start; n < min(question.Page.Start+question.Page.Limit, total); n++ {
				rows = append(rows, fmt.Sprintf(`{"host":{"bk_host_id":%d},"topo":[{"bk_set_id":3,"module":[{"bk_module_id":7}]}]}`, n+1))
			}
			answer := listOf(rows...)
			if total == 500 {
				answer = strings.Replace(answer, fmt.Sprintf(`"count":%d`, len(rows)), `"count":500`, 1)
			}
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		hosts, err := newClient(t, server.URL, bkapi.APIGW).HostsInModules(t.Context(), 3, []int64{7})
		if total == 500 {
			simtest.Check(t, err == nil && len(hosts) == 500 && requests.Load() == 2, "%s: %d hosts in %d requests, said %v", name, len(hosts), requests.Load(), err)
			continue
		}
		simtest.Check(t, hosts == nil && err != nil && strings.Contains(err.Error(), "does not count as many rows as the first"), "%s: %d hosts, said %v", name, len(hosts), err)
	}
}

// CMDB reads the place and the host of a process after the process. If one of them moves meanwhile, its row has 0 for
// them, and the list is read again.
func TestProcesses_movedMeanwhile(t *testing.T) {
	t.Parallel()
	const (
		whole = `{"set":{"bk_set_id":4},"module":{"bk_module_id":5},"host":{"bk_host_id":1},"process":{"bk_process_id":8,"bk_process_name":"web"}}`
		says  = "has process 8 (web) without its set, module or host"
	)
	for name, row := range map[string]string{
		"place": `{"set":{"bk_set_id":0},"module":{"bk_module_id":0},"host":{"bk_host_id":1},"process":{"bk_process_id":8,"bk_process_name":"web"}}`,
		"set":   strings.Replace(whole, `"bk_set_id":4`, `"bk_set_id":0`, 1),
		"host":  strings.Replace(whole, `"bk_host_id":1`, `"bk_host_id":0`, 1),
	} {
		for _, times := range []int64{1, 9} {
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.Contains(r.URL.Path, "topoinst"):
					_, _ = io.WriteString(w, treeOf(oneSet))
				case asked.Add(1) <= times:
					_, _ = io.WriteString(w, listOf(row))
				default:
					_, _ = io.WriteString(w, listOf(whole))
				}
			}))
			t.Cleanup(server.Close)
			processes, err := newClient(t, server.URL, bkapi.APIGW).Processes(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
			if times == 1 {
				simtest.Check(t, err == nil && len(processes) == 1, "%s: %v, said %v", name, processes, err)
				continue
			}
			simtest.Check(t, processes == nil && err != nil && strings.Contains(err.Error(), says), "%s: %v, said %v", name, processes, err)
		}
	}
}

// A service instance that does not name its host may be that of any host.
func TestProcessesOfInstances_withoutHost(t *testing.T) {
	t.Parallel()
	client := answering(t, map[string]string{
		"list_hosts_topo":  listOf(oneHost),
		"service_instance": listOf(`{"id":1,"bk_host_id":null,"bk_module_id":5,"process_instances":[{"process":{"bk_process_id":8}}]}`),
	})
	processes, err := client.ProcessesOfInstances(t.Context(), cmdb.Scope{Business: 3, HostIDs: []int64{1}})
	simtest.Check(t, processes == nil && err != nil && strings.Contains(err.Error(), "service instance 1"), "%v, said %v", processes, err)
}

// An expression is compared with names as Terraform writes them, which composes characters.
func TestSelect_composedNames(t *testing.T) {
	t.Parallel()
	client := answering(t, map[string]string{
		"topoinst":        treeOf(strings.Replace(oneSet, `"bk_inst_id":4`, "\"bk_inst_id\":4,\"bk_inst_name\":\"cafe\u0301\"", 1)),
		"list_hosts_topo": listOf(oneHost),
	})
	hosts, err := client.Select(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{Set: expr("caf\u00e9")}})
	simtest.Check(t, err == nil && len(hosts) == 1, "%d hosts, said %v", len(hosts), err)
}
