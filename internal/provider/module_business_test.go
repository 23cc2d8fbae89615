package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// shop is a business of 10 process instances on 7 hosts.
const shop = `{"businesses": [{"id": 3, "name": "shop",
  "templates": [
    {"name": "gateway", "processes": [{"bk_process_name": "gateway", "bk_func_name": "gateway", "user": "shop", "priority": 20, "proc_num": 1,
      "work_path": "/opt/gateway", "pid_file": "/run/gateway.pid", "start_cmd": "./start.sh", "stop_cmd": "./stop.sh", "reload_cmd": "./reload.sh"}]},
    {"name": "worker", "processes": [{"bk_process_name": "worker", "bk_func_name": "worker", "user": "shop", "priority": 3, "proc_num": 2,
      "work_path": "/opt/worker", "pid_file": "/run/worker_${local_inst_id}.pid", "start_cmd": "./start.sh ${local_inst_id}", "stop_cmd": "./stop.sh"}]}],
  "sets": [{"name": "gz-[1-2]", "modules": [
    {"name": "gateway", "template": "gateway", "hosts": [{"count": 2, "ip": "10.0.1.1"}]},
    {"name": "worker", "template": "worker", "hosts": [{"ip": "10.0.2.1"}]}]},
    {"name": "sz-1", "modules": [{"name": "worker", "template": "worker", "hosts": [{"ip": "10.0.3.1"}]}]}]}]}`

// shopRun is the shop as GSEKit runs it: every instance hosted and running on its host.
func shopRun(t *testing.T) *providertest.Sim {
	t.Helper()
	topology, err := simulator.ParseTopology([]byte(shop))
	if err != nil {
		t.Fatal(err)
	}
	sim := providertest.NewSim(t)
	sim.Topology = topology
	for host, names := range map[string][]string{
		"0:10.0.1.1": {"gateway_1"}, "0:10.0.1.2": {"gateway_1"}, "0:10.0.1.3": {"gateway_1"}, "0:10.0.1.4": {"gateway_1"},
		"0:10.0.2.1": {"worker_1", "worker_2"}, "0:10.0.2.2": {"worker_1", "worker_2"}, "0:10.0.3.1": {"worker_1", "worker_2"},
	} {
		for _, name := range names {
			const namespace = "GSEKIT_BIZ_3"
			process, _, _ := strings.Cut(name, "_")
			labels := map[string]string{"bk_process_name": process}
			spec := fmt.Sprintf(`{"identity":{"proc_name":%[1]q,"setup_path":"/opt/%[1]s","pid_path":"/run/%[1]s.pid","user":"shop"},`+
				`"control":{"start_cmd":"./start.sh"},"alive_monitor_policy":{"auto_type":1}}`, process)
			if err := sim.Register(host, namespace, name, labels, spec); err != nil {
				t.Fatal(err)
			}
			if err := sim.Host(host, namespace, name); err != nil {
				t.Fatal(err)
			}
			if err := sim.StartProcess(host, namespace, name); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sim
}

// runningPIDs are the pids of all processes that run and are hosted.
func runningPIDs(sim *providertest.Sim) map[string]int {
	pids := make(map[string]int)
	for _, p := range sim.Processes() {
		if p.Running && p.Hosted {
			pids[p.Name+" on "+p.Host] = p.PID
		}
	}
	return pids
}

// operatedHosts is the number of hosts with a start, stop, restart, reload or kill.
func operatedHosts(sim *providertest.Sim) int {
	hosts := 0
	for _, op := range []int{simulator.OpStart, simulator.OpStop, simulator.OpRestart, simulator.OpReload, simulator.OpKill} {
		hosts += sim.Calls().OfOp(op).HostCalls("operate_*")
	}
	return hosts
}

func businessModule(arguments string) string {
	return `
module "shop" {
  source    = "../modules/business"
  bk_biz_id = 3
  ` + arguments + `
}
output "start_order" { value = module.shop.start_order }
output "out_of_sync" { value = module.shop.out_of_sync }
`
}

// A business is adopted without a restart; then CMDB gains a host, and loses a module.
//
// Promised in gsekit-words.md: `ensure = "hosted"` of
// [bk_hosted_process](../resources/hosted_process.md), which is the default; a destroy ends it.
func TestAccModule_business(t *testing.T) {
	t.Parallel()
	sim := shopRun(t)
	pids := runningPIDs(sim)
	if len(pids) != 10 {
		t.Fatalf("%d processes run before anything is done, want 10: %v", len(pids), pids)
	}
	cli := newExampleCLI(t, sim, "demo")
	config := businessModule("topology = { set = \"gz-*\" }\nmin_hosts_by_module = { worker = 2 }")
	cli.Configure(config)
	cli.Expect(0, "get")
	if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "Resources: 3 added, 0 changed, 0 destroyed") {
		t.Errorf("output of the apply:\n%s", out)
	}
	if diff := cmp.Diff(pids, runningPIDs(sim)); diff != "" {
		t.Errorf("pids (-before +after):\n%s", diff)
	}
	for _, p := range sim.Processes() {
		if _, ours := p.Labels["tf_spec"]; ours == strings.HasPrefix(p.Host, "0:10.0.3.") {
			t.Errorf("%s on %s has the labels %v", p.Name, p.Host, p.Labels)
		}
	}
	cli.Expect(0, "plan", "-detailed-exitcode")

	var order, wrong any
	decode(t, cli.Expect(0, "output", "-json", "start_order"), &order)
	decode(t, cli.Expect(0, "output", "-json", "out_of_sync"), &wrong)
	want := []any{
		map[string]any{"priority": 3.0, "processes": []any{"worker_1", "worker_2"}},
		map[string]any{"priority": 20.0, "processes": []any{"gateway_1"}},
	}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("start order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{}, wrong); diff != "" {
		t.Errorf("out of sync (-want +got):\n%s", diff)
	}

	if err := sim.CMDB().Empty("shop/gz-2/worker"); err != nil {
		t.Fatal(err)
	}
	if out := cli.Expect(1, "plan"); !strings.Contains(strings.Join(strings.Fields(out), " "), "min_hosts requires 2") {
		t.Errorf("output of the plan:\n%s", out)
	}
	// Its processes are unregistered only with the setting for it, and keep running.
	cli.Configure(businessModule("topology = { set = \"gz-*\" }"))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "destroy", "-auto-approve")
	if n := operatedHosts(sim); n != 0 {
		t.Errorf("%d operations", n)
	}
	running := 0
	for _, p := range sim.Processes() {
		if p.Running {
			running++
		}
	}
	if running != len(pids) {
		t.Errorf("%d processes run after the destroy, want %d", running, len(pids))
	}
}

// Without adopt_existing, GSEKit's registrations do not change.
func TestAccModule_businessLeftAlone(t *testing.T) {
	t.Parallel()
	sim := shopRun(t)
	before := sim.Processes()
	cli := newExampleCLI(t, sim, "demo")
	cli.Configure(businessModule("adopt_existing = false"))
	cli.Expect(0, "get")
	if out := cli.Expect(1, "apply", "-auto-approve"); !strings.Contains(out, "adopt_existing") {
		t.Errorf("output of the apply:\n%s", out)
	}
	if diff := cmp.Diff(before, sim.Processes()); diff != "" {
		t.Errorf("processes (-before +after):\n%s", diff)
	}
}

// Resources and the status accept the output of bk_cmdb_processes unchanged.
func TestAccCMDBProcesses_forEach(t *testing.T) {
	t.Parallel()
	sim := shopRun(t)
	pids := runningPIDs(sim)
	cli := newExampleCLI(t, sim, "demo")
	cli.Configure(`
data "bk_cmdb_processes" "shop" {
  bk_biz_id    = 3
  topology     = {}
  process_name = "gateway"
}
resource "bk_hosted_process" "shop" {
  for_each       = data.bk_cmdb_processes.shop.processes
  meta           = each.value.meta
  hosts          = each.value.hosts
  spec           = each.value.spec
  adopt_existing = true
}
resource "bk_process_operation" "shop" {
  for_each   = data.bk_cmdb_processes.shop.processes
  meta       = each.value.meta
  hosts      = each.value.hosts
  spec       = each.value.spec
  operation  = "reload"
  depends_on = [bk_hosted_process.shop]
}
data "bk_process_status" "shop" {
  for_each = data.bk_cmdb_processes.shop.processes
  meta     = each.value.meta
  hosts    = each.value.hosts
  spec     = each.value.spec
}
output "running" { value = { for key, status in data.bk_process_status.shop : key => status.running_count } }
`)
	cli.Expect(0, "apply", "-auto-approve")
	if got := strings.TrimSpace(cli.Expect(0, "output", "-json", "running")); got != `{"gateway_1":4}` {
		t.Errorf("running: %s", got)
	}
	if diff := cmp.Diff(pids, runningPIDs(sim)); diff != "" {
		t.Errorf("pids (-before +after):\n%s", diff)
	}
	if got := sim.Calls().OfOp(simulator.OpReload).HostCalls("operate_*"); got != 4 || operatedHosts(sim) != got {
		t.Errorf("%d reloads, %d operations; want 4 of each", got, operatedHosts(sim))
	}
	cli.Expect(0, "plan", "-detailed-exitcode")

	// The way back to GSEKit.
	cli.Expect(0, "state", "rm", "bk_hosted_process.shop")
	if diff := cmp.Diff(pids, runningPIDs(sim)); diff != "" {
		t.Errorf("pids (-before +after):\n%s", diff)
	}
}

// decode reads JSON of a CLI.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %s", err, text)
	}
}

// The module's operation follows the priorities of CMDB: workers are 3, the gateway is 20. If a priority
// fails, the next one waits, and the next apply continues with it.
func TestAccModule_businessInOrder(t *testing.T) {
	t.Parallel()
	sim := shopRun(t)
	cli := newExampleCLI(t, sim, "demo")
	config := func(operation, trigger string) string {
		return businessModule(fmt.Sprintf("operation = %q\n  triggers = { release = %q }\n  rollout = { waves = [\"1\", \"100%%\"], on_failure = \"rollback\" }", operation, trigger))
	}
	cli.Configure(config("stop", "1"))
	cli.Expect(0, "get")
	plan := strings.Join(strings.Fields(cli.Expect(0, "plan")), " ")
	if want := "run 1: stop priority 20, gateway_1, on 4 hosts in 2 waves of 1, 3: 10.0.1.1…10.0.1.4 run 1: then priority 3, worker_1, worker_2, on 3 hosts in 2 waves of 1, 2: 10.0.2.1, 10.0.2.2, 10.0.3.1"; !strings.Contains(plan, want) {
		t.Errorf("the plan does not say %q:\n%s", want, plan)
	}
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "apply", "-auto-approve") // hosts what a stop unhosts
	wantOrder(t, sim, simulator.OpStop, "gateway_1", "gateway_1", "worker_1 worker_2", "worker_1 worker_2")

	sim.ResetCalls()
	start, code := simulator.OpStart, 65535
	sim.Inject(simulator.Fault{Op: &start, Name: "worker_2", Hosts: []string{"0:10.0.2.2"}, Code: &code, Message: "no such file"})
	cli.Configure(config("start", "1"))
	if out := cli.Expect(1, "apply", "-auto-approve"); !strings.Contains(out, `"worker_2", priority 3: Process "worker_2" in namespace "GSEKIT_BIZ_3"`) {
		t.Errorf("output of the apply:\n%s", out)
	}
	wantOrder(t, sim, simulator.OpStart, "worker_1 worker_2", "worker_1 worker_2")
	state := strings.Join(strings.Fields(cli.Expect(0, "state", "show", "module.shop.bk_process_operation.this[0]")), " ")
	for _, want := range []string{`"worker_2/10.0.2.2" = "failed: 65535, the command failed`, `"gateway_1/10.0.1.4" = "not_tried: `} {
		if !strings.Contains(state, want) {
			t.Errorf("state does not say %q:\n%s", want, state)
		}
	}

	sim.Repair()
	sim.ResetCalls()
	cli.Expect(0, "apply", "-auto-approve")
	wantOrder(t, sim, simulator.OpStart, "worker_2", "gateway_1", "gateway_1")
	cli.Expect(0, "plan", "-detailed-exitcode")
	if running := runningPIDs(sim); len(running) != 10 {
		t.Errorf("%d processes run and are hosted: %v", len(running), running)
	}
	for order, want := range map[string]string{"": "priority 20, gateway_1", "order = \"ascending\"": "priority 3, worker_1, worker_2"} {
		cli.Configure(businessModule("operation = \"stop\"\n  rollout = { waves = [\"100%\"], healthy = { stable_for = \"30s\" } }\n  " + order))
		if plan := cli.Expect(0, "plan"); !strings.Contains(plan, "run 4: stop "+want) {
			t.Errorf("%s: the plan does not begin with %q:\n%s", order, want, plan)
		}
	}
}

// wantOrder compares the processes of one operation's calls, in order.
func wantOrder(t *testing.T, sim *providertest.Sim, op int, want ...string) {
	t.Helper()
	type item struct{ Meta struct{ Name string } }
	var got []string
	for _, call := range sim.Calls().OfOp(op) {
		var body struct {
			item
			Items []item `json:"proc_operate_req"`
		}
		if !strings.HasPrefix(call.API, "operate_") {
			continue
		}
		if err := json.Unmarshal(call.Body, &body); err != nil {
			t.Fatal(err)
		}
		names := []string{body.Meta.Name}
		for i, item := range body.Items {
			names = append(names[:min(i, len(names))], item.Meta.Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
