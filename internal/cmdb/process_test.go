package cmdb_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// A process whose service instance lost its module is in set 0, and is left out. A row
// that does not say its set is no such process, and one that nobody asked for fails.
func TestProcesses_rows(t *testing.T) {
	t.Parallel()
	const (
		tree = `{"code": 0, "data": [{"bk_obj_id": "biz", "bk_inst_id": 3, "child": [{"bk_obj_id": "set", "bk_inst_id": 4, "child": [{"bk_obj_id": "module", "bk_inst_id": 5}]}]}]}`
		rest = `"module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7, "bk_process_name": "nginx"}}`
		says = "the answer of list_process_related_info does not say in which set process 7 (nginx) of host 1"
		more = "which was not asked for: CMDB ignored the filter"
	)
	for name, test := range map[string]struct{ row, says string }{
		"set-0":       {`{"set": {"bk_set_id": 0}, "module": {"bk_module_id": 0}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7}}`, ""},
		"no-set":      {`{` + rest, says},
		"set-null":    {`{"set": null, ` + rest, says},
		"id-null":     {`{"set": {"bk_set_id": null}, ` + rest, says},
		"id-misspelt": {`{"set": {"bk_set": 4}, ` + rest, says},
		"elsewhere":   {`{"set": {"bk_set_id": 9}, "module": {"bk_module_id": 6}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 7}}`, more},
		"no-host":     {`{"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "process": {"bk_process_id": 7}}`, more},
		"no-id":       {`{"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}}`, more},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "topoinst") {
					_, _ = io.WriteString(w, tree)
					return
				}
				_, _ = io.WriteString(w, `{"code": 0, "data": {"count": 2, "info": [`+test.row+`,
	  {"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 8}}]}}`)
			}))
			t.Cleanup(server.Close)
			processes, err := newClient(t, server.URL, bkapi.APIGW).Processes(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
			if test.says != "" {
				if processes != nil || err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%v, said %v", processes, err)
				}
				return
			}
			if err != nil || len(processes) != 1 || processes[0].ID != 8 {
				t.Errorf("%v, said %v", processes, err)
			}
		})
	}
}

// Another way to processes is for a platform that does not grant the first one or does not
// have it, and for no other trouble.
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
		if got := cmdb.IsProcessInfoRefused(fmt.Errorf("reading: %w", &test.err)); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if cmdb.IsProcessInfoRefused(nil) {
		t.Error("nothing was refused")
	}
}
