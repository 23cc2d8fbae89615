package cmdb_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// A host that joins or leaves between two lists that depend on each other is no error. The lists are read again.
func TestScope_changedBetweenLists(t *testing.T) {
	t.Parallel()
	const (
		tree  = `[{"bk_obj_id":"biz","bk_inst_id":3,"child":[{"bk_obj_id":"set","bk_inst_id":4,"child":[{"bk_obj_id":"module","bk_inst_id":1}]}]}]`
		group = `{"count":1,"info":[{"id":"g","name":"g","bk_obj_id":"host"}]}`
		biz   = `{"count":1,"info":[{"bk_biz_id":3}]}`
	)
	rows := func(row string, n int) string {
		var info []string
		for i := range n {
			info = append(info, fmt.Sprintf(row, i+1))
		}
		return fmt.Sprintf(`{"count":%d,"info":[%s]}`, n, strings.Join(info, ","))
	}
	for name, c := range map[string]struct {
		during       string // the request before whose answer the number of hosts changes
		before, then int
		read         func(context.Context, *cmdb.Client) (int, error)
	}{
		"joins": {"service_instance", 1, 2, func(ctx context.Context, c *cmdb.Client) (int, error) {
			all, err := c.ProcessesOfInstances(ctx, cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
			return len(all), err
		}},
		"leaves-a-group": {"list_hosts_topo", 2, 1, func(ctx context.Context, c *cmdb.Client) (int, error) {
			all, err := c.Select(ctx, cmdb.Scope{Business: 3, Group: "g"})
			return len(all), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hosts atomic.Int64
			hosts.Store(int64(c.before))
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, c.during) {
					hosts.Store(int64(c.then))
				}
				n, data := int(hosts.Load()), biz
				for path, answer := range map[string]string{
					"topoinst": tree, "dynamicgroup/search": group, "dynamicgroup/data": rows(`{"bk_host_id":%d}`, n),
					"list_hosts_topo":  rows(`{"host":{"bk_host_id":%d},"topo":[{"bk_set_id":4,"module":[{"bk_module_id":1}]}]}`, n),
					"service_instance": rows(`{"id":%d,"bk_host_id":%[1]d,"bk_module_id":1,"process_instances":[{"process":{"bk_process_id":%[1]d}}]}`, n),
				} {
					if strings.Contains(r.URL.Path, path) {
						data = answer
					}
				}
				_, _ = fmt.Fprintf(w, `{"code":0,"data":%s}`, data)
			}))
			t.Cleanup(server.Close)
			if n, err := c.read(t.Context(), newClient(t, server.URL, bkapi.APIGW)); err != nil || n != c.then {
				t.Errorf("read %d, said %v, want %d", n, err, c.then)
			}
		})
	}
}
