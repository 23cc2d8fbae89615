package cmdb_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// What comes with a business is in some trees (with_default), and was not selected.
func TestTopology_builtIn(t *testing.T) {
	t.Parallel()
	const tree = `{"bk_error_code": 0, "bk_error_msg": "success", "data": [{"bk_obj_id": "biz", "bk_inst_id": 3, "bk_inst_name": "game", "default": 0, "child": [
	  {"bk_obj_id": "set", "bk_inst_id": 1, "bk_inst_name": "idle pool", "default": 1, "child": [{"bk_obj_id": "module", "bk_inst_id": 2, "bk_inst_name": "idle host", "default": 1, "child": null}]},
	  {"bk_obj_id": "set", "bk_inst_id": 4, "bk_inst_name": "gz-1", "default": 0, "child": [
	    {"bk_obj_id": "module", "bk_inst_id": 5, "bk_inst_name": "nginx", "default": 0, "child": null}, {"bk_obj_id": "module", "bk_inst_id": 6, "bk_inst_name": "recycled", "default": 3}]}]}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tree) }))
	t.Cleanup(server.Close)
	sets, err := newClient(t, server.URL, bkapi.APIGW).Topology(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []cmdb.Set{{ID: 4, Name: "gz-1", Modules: []cmdb.Module{{ID: 5, Name: "nginx"}}}}
	if diff := cmp.Diff(want, sets); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"code": 0, "data": {"count": 2, "info": [{"bk_module_id": 5, "service_template_id": 70}, `+test.module+`]}}`)
			}))
			t.Cleanup(server.Close)
			templates, err := newClient(t, server.URL, bkapi.APIGW).TemplatesOf(t.Context(), 3, []int64{5, 6})
			if (err != nil) != (test.says != "") || err != nil && err.Error() != test.says {
				t.Errorf("%v, said %v, want %q", templates, err, test.says)
			}
		})
	}
}
