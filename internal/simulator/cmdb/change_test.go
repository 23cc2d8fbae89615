package cmdb_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	c := simtest.NewCMDB(t, shop)
	cmdb := c.Sim.CMDB()
	hosts := func(module int) string {
		return values(t, c.Ask("list_biz_hosts", fmt.Sprintf(`{"bk_biz_id":3,"bk_module_ids":[%d],%s`, module, hostPage)), "bk_host_innerip")
	}
	instances := func(module int) string {
		return values(t, c.Ask("list_service_instance_detail", fmt.Sprintf(`{"bk_biz_id":3,"bk_module_id":%d,"page":{"start":0,"limit":200,"sort":"id"}}`, module)), "name")
	}
	simtest.Must(t, cmdb.Add("shop/gz-1/nginx", simulator.TopologyHosts{IP: "10.0.7.1", Count: 2}))
	simtest.Want(t, "hosts", hosts(4), "10.0.0.1 10.0.0.2 10.0.7.1 10.0.7.2")
	simtest.Want(t, "instances", instances(4), "10.0.0.1_nginx 10.0.0.2_nginx 10.0.7.1_nginx 10.0.7.2_nginx")
	simtest.Must(t, c.Sim.Register("0:10.0.7.1", "web", "nginx", nil, simtest.OperateSpec)) // a host that came later
	for name, err := range map[string]error{
		"again":      cmdb.Add("shop/gz-1/nginx", simulator.TopologyHosts{IP: "10.0.7.1"}),
		"no-module":  cmdb.Empty("shop/gz-1/none"),
		"no-set":     cmdb.Empty("shop/none/nginx"),
		"no-biz":     cmdb.Empty("none/gz-1/nginx"),
		"bad-path":   cmdb.Empty("shop"),
		"no-host":    cmdb.Remove("0:10.0.7.9"),
		"no-process": cmdb.ChangeProcess("shop/gz-1/nginx", "none", nil),
	} {
		simtest.Check(t, err != nil, "%s: no error", name)
	}
	simtest.Must(t,
		cmdb.ChangeHost("0:10.0.7.1", map[string]any{"bk_host_innerip": "10.0.7.1,10.0.7.11"}),
		cmdb.ChangeProcess("shop/gz-1/nginx", "nginx", map[string]any{"proc_num": 3}),
		cmdb.Share("shop/gz-1/worker", "0:10.0.7.1"),
		cmdb.Share("shop/gz-1/worker", "0:10.0.7.1"),
		cmdb.Remove("0:10.0.7.2"),
		cmdb.Empty("shop/gz-1/nginx"),
	)
	simtest.Want(t, "emptied", hosts(4), "")
	simtest.Want(t, "its instances", instances(4), "")
	simtest.Want(t, "idle", hosts(1), "10.0.0.2 10.0.8.1") // the others are elsewhere too
	simtest.Want(t, "instances where it is shared", instances(5), "10.0.1.1_worker 10.0.1.2_worker 10.0.0.1_worker 10.0.7.1_worker")
	simtest.Want(t, "shared", hosts(5), "10.0.0.1 10.0.1.1 10.0.1.2 10.0.7.1,10.0.7.11")
}

// Changes of CMDB are stored with the processes, including those of its new hosts.
func TestChanges_surviveARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "state.json")
	live := func(topology string) (*simtest.Client, error) {
		c := simtest.NewCMDB(t, topology, func(sim *simulator.Server) { sim.StateFile = file })
		return c, c.Sim.Start()
	}
	first, err := live(shop)
	simtest.Must(t, err)
	cmdb := first.Sim.CMDB()
	simtest.Must(t,
		cmdb.Add("shop/gz-1/nginx", simulator.TopologyHosts{IP: "10.0.7.1", Count: 2}),
		cmdb.Share("shop/gz-1/worker", "0:10.0.7.1"),
		cmdb.Remove("0:10.0.7.2"),
		cmdb.ChangeHost("0:10.0.7.1", map[string]any{"bk_os_type": nil, "bk_mem": 1.5}),
		cmdb.ChangeProcess("shop/gz-1/nginx", "nginx", map[string]any{"proc_num": 3}),
		first.Sim.Register("0:10.0.7.1", "web", "nginx", nil, simtest.OperateSpec),
	)
	first.Eventually("a save while it runs", func() bool {
		data, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(data), `"change_process"`) && strings.Contains(string(data), `"0:10.0.7.1"`)
	})
	simtest.Must(t, cmdb.Empty("shop/gz-1/nginx"), first.Sim.Close())
	second, err := live(shop)
	simtest.Must(t, err)
	for api, body := range map[string]string{
		"list_biz_hosts_topo":          `{"bk_biz_id":3,` + hostPage,
		"list_biz_hosts":               `{"bk_biz_id":3,"fields":["bk_host_id","bk_agent_id","bk_os_type","bk_mem"],"page":{"start":0,"limit":500,"sort":"bk_host_id"}}`,
		"list_service_instance_detail": `{"bk_biz_id":3,"page":{"start":0,"limit":200,"sort":"id"}}`,
	} {
		before := first.Ask(api, body).Body
		simtest.Want(t, api, second.Ask(api, body).Body, before)
	}
	p, _ := second.Sim.Process("0:10.0.7.1", "web", "nginx")
	simtest.Want(t, "a process on a host that was added is registered", p.Registered, true)
	simtest.Must(t, second.Sim.Close())
	if _, err := live(`{"businesses":[{"name":"other"}]}`); err == nil || !strings.Contains(err.Error(), "change 1 of CMDB (add)") {
		t.Errorf("with another topology: %v", err)
	}
}

// fifty is a topology with fifty hosts in a module.
const fifty = `{"businesses":[{"name":"b","sets":[{"name":"s","modules":[{"name":"m","processes":[],"hosts":[{"count":50,"ip":"10.1.0.1"}]}]}]}]}`

// Without an order, or with a fault, a request gets another order each time, with the same rows.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		api, sort, fault string
		stays            bool
	}{
		"unsorted": {"list_service_instance_detail", "", "", false}, // they were made at the same moment
		"sorted":   {"list_service_instance_detail", "id", "", true},
		"shuffled": {"list_service_instance_detail", "id", "shuffled", false},
	} {
		c := simtest.NewCMDB(t, fifty)
		c.Sim.Inject(simulator.Fault{Page: test.fault})
		order := func() []string {
			return strings.Fields(values(t, c.AskESB(test.api, `{"bk_biz_id":1,"page":{"start":0,"limit":1000,"sort":"`+test.sort+`"}}`), "id"))
		}
		first, second := order(), order()
		simtest.Want(t, name+": the order stays", slices.Equal(first, second), test.stays)
		slices.Sort(first)
		slices.Sort(second)
		simtest.Want(t, name, first, second)
	}
}
