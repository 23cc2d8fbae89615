package cmdb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		client := answering(t, map[string]string{"topoinst": tree, "process": `{"code": 0, "data": {"count": 2, "info": [` + test.row + `,
	  {"set": {"bk_set_id": 4}, "module": {"bk_module_id": 5}, "host": {"bk_host_id": 1}, "process": {"bk_process_id": 8}}]}}`})
		processes, err := client.Processes(t.Context(), cmdb.Scope{Business: 3, Topology: &cmdb.Topology{}})
		if test.says == "" && (err != nil || len(processes) != 1 || processes[0].ID != 8) {
			t.Errorf("%s: %v, said %v", name, processes, err)
		}
		if test.says != "" && (processes != nil || err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, said %v", name, processes, err)
		}
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

// What comes with a business is in some trees (with_default), and was not selected.
func TestTopology_builtIn(t *testing.T) {
	t.Parallel()
	const tree = `{"bk_error_code": 0, "bk_error_msg": "success", "data": [{"bk_obj_id": "biz", "bk_inst_id": 3, "bk_inst_name": "game", "default": 0, "child": [
	  {"bk_obj_id": "set", "bk_inst_id": 1, "bk_inst_name": "idle pool", "default": 1, "child": [{"bk_obj_id": "module", "bk_inst_id": 2, "bk_inst_name": "idle host", "default": 1, "child": null}]},
	  {"bk_obj_id": "set", "bk_inst_id": 4, "bk_inst_name": "gz-1", "default": 0, "child": [
	    {"bk_obj_id": "module", "bk_inst_id": 5, "bk_inst_name": "nginx", "default": 0, "child": null}, {"bk_obj_id": "module", "bk_inst_id": 6, "bk_inst_name": "recycled", "default": 3}]}]}]}`
	sets, err := answering(t, map[string]string{"": tree}).Topology(t.Context(), 3)
	want := []cmdb.Set{{ID: 4, Name: "gz-1", Modules: []cmdb.Module{{ID: 5, Name: "nginx"}}}}
	if diff := cmp.Diff(want, sets); diff != "" || err != nil {
		t.Errorf("sets (-want +got): %v\n%s", err, diff)
	}
}

// A module of no template says so by 0. One that says nothing may be of any.
func TestTemplatesOf_unsaid(t *testing.T) {
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
