package cmdb_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// A process whose service instance lost its module is in set 0, and is left out.
func TestProcesses_orphan(t *testing.T) {
	t.Parallel()
	const (
		tree = `{"code": 0, "data": [{"bk_obj_id": "biz", "bk_inst_id": 3, "child": [{"bk_obj_id": "set", "bk_inst_id": 4, "child": [{"bk_obj_id": "module", "bk_inst_id": 5}]}]}]}`
		rows = `{"code": 0, "data": {"count": 2, "info": [
	  {"set": {"bk_set_id": 0}, "module": {"bk_module_id": 0}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7}},
	  {"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 8}}]}}`
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "topoinst") {
			_, _ = io.WriteString(w, tree)
			return
		}
		_, _ = io.WriteString(w, rows)
	}))
	t.Cleanup(server.Close)
	processes, err := newClient(t, server.URL, bkapi.APIGW).Processes(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
	if err != nil || len(processes) != 1 || processes[0].ID != 8 {
		t.Errorf("%v, said %v", processes, err)
	}
}
