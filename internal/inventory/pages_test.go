package inventory_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A page that fails, repeats, shrinks or has too many rows is an error of either data source on either
// gateway. It never makes the map smaller.
func TestDataSources_brokenPages(t *testing.T) {
	t.Parallel()
	const many = `{"businesses": [{"id": 3, "name": "game", "sets": [{"name": "gz", "modules": [
	  {"name": "web", "hosts": [{"count": 600, "ip": "10.3.0.1"}], "processes": [{"bk_process_name": "a", "bk_func_name": "a", "work_path": "/srv", "pid_file": "/run/a.pid", "user": "root"}]},
	  {"name": "db", "hosts": [{"count": 10, "ip": "10.5.0.1"}], "processes": [{"bk_process_name": "b"}]}]}]}]}`
	lists := map[string]string{hostsType: "list_biz_hosts_topo", processesType: "list_process_related_info"}
	for name, c := range map[string]struct {
		fault simulator.Fault
		want  string
	}{
		"fails":       {simulator.Fault{EnvelopeCode: new(1199000), EnvelopeMessage: "broken"}, "refused by the platform: broken (code 1199000"},
		"repeats":     {simulator.Fault{Page: "repeat"}, "500 rows where there are 100"},
		"shrinks":     {simulator.Fault{Page: "shrink"}, "from row 0 on has only 250 of 500 rows"},
		"is-empty":    {simulator.Fault{Page: "empty"}, "from row 0 on has only 0 of 500 rows"},
		"is-larger":   {simulator.Fault{Page: "larger"}, "from row 0 on has 600 rows where there are 500"},
		"counts-less": {simulator.Fault{CountOff: -101}, "from row 0 on has 500 rows where there are 499"},
		"counts-more": {simulator.Fault{CountOff: 1}, "from row 500 on has only 100 of 101 rows"},
		"unfiltered":  {simulator.Fault{Page: "unfiltered"}, "which was not asked for: CMDB ignored the filter"},
	} {
		for typ, api := range lists {
			for _, gateway := range []string{"", "apigw"} {
				t.Run(name+"/"+typ+gateway, func(t *testing.T) {
					t.Parallel()
					sim := serve(t, many)
					fault := c.fault
					fault.API = api
					sim.Inject(fault)
					values, said := sim.Configured(t, face(sim, gateway)).ReadData(typ, in("web"))
					if text := said.String(); values != nil || !strings.Contains(text, "Unable to Read Hosts") || !strings.Contains(text, c.want) || !strings.Contains(text, api) {
						t.Errorf("read %d values; said:\n%s\nwant:\n%s", len(values), text, c.want)
					}
				})
			}
		}
	}
}
