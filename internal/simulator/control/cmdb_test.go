package control_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestControl_cmdb(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, `{"businesses":[{"name":"shop","sets":[{"name":"gz","modules":[{"name":"nginx","processes":[{"bk_process_name":"nginx"}],"hosts":[{"ip":"10.0.0.1"}]},{"name":"bare"}]}]}]}`)
	for _, step := range []struct{ change, modules string }{
		{`{"action":"add","module":"shop/gz/nginx","hosts":{"ip":"10.0.0.2"}}`, `"shop/gz/nginx": ["0:10.0.0.1","0:10.0.0.2"]`},
		{`{"action":"share","module":"shop/gz/bare","host":"0:10.0.0.2"}`, `"shop/gz/bare": ["0:10.0.0.2"]`},
		{`{"action":"remove","host":"0:10.0.0.1"}`, `"shop/gz/nginx": ["0:10.0.0.2"]`},
		{`{"action":"change_process","module":"shop/gz/nginx","process":"nginx","fields":{"proc_num":4}}`, ""},
		{`{"action":"change_host","host":"0:10.0.0.2","fields":{"bk_os_type":null}}`, ""},
		{`{"action":"empty","module":"shop/gz/nginx"}`, `"shop/gz/nginx": []`},
	} {
		c.Switch("POST", "cmdb", step.change, http.StatusOK, "")
		_, got := c.SwitchOn("GET", "cmdb", "")
		if got = strings.NewReplacer("\n", "", "  ", "", `", "`, `","`).Replace(got); !strings.Contains(got, step.modules) {
			t.Errorf("%s: %s", step.change, got)
		}
	}
	c.Switch("POST", "cmdb", `{"action":"fill"}`, http.StatusBadRequest, `"fill" is unknown`)
	c.Switch("POST", "cmdb", `{"action":"empty","module":"shop/gz/none"}`, http.StatusBadRequest, "is not there")
	c.Switch("POST", "cmdb", `{"action":"empty","modul":"shop/gz/nginx"}`, http.StatusBadRequest, "unknown field")
	c.Switch("POST", "cmdb", `{"action":"change_host","host":"0:10.0.0.1"}`, http.StatusBadRequest, "no host is declared")
}
