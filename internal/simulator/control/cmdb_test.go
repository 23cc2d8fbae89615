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
		if status, got := c.SwitchOn(http.MethodPost, "cmdb", step.change); status != http.StatusOK {
			t.Errorf("%s: HTTP %d: %s", step.change, status, got)
		}
		_, got := c.SwitchOn(http.MethodGet, "cmdb", "")
		if got = strings.NewReplacer("\n", "", "  ", "", `", "`, `","`).Replace(got); !strings.Contains(got, step.modules) {
			t.Errorf("%s: %s", step.change, got)
		}
	}
	for change, want := range map[string]string{
		`{"action":"fill"}`:                            `"fill" is unknown`,
		`{"action":"empty","module":"shop/gz/none"}`:   "is not there",
		`{"action":"empty","modul":"shop/gz/nginx"}`:   "unknown field",
		`{"action":"change_host","host":"0:10.0.0.1"}`: "no host is declared",
	} {
		if status, got := c.SwitchOn(http.MethodPost, "cmdb", change); status != http.StatusBadRequest || !strings.Contains(got, want) {
			t.Errorf("%s: HTTP %d: %s", change, status, got)
		}
	}
}
