package provider_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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
	sim := providertest.NewSimOf(t, shop)
	gateway, worker := []string{"gateway_1"}, []string{"worker_1", "worker_2"}
	for host, names := range map[string][]string{
		"0:10.0.1.1": gateway, "0:10.0.1.2": gateway, "0:10.0.1.3": gateway, "0:10.0.1.4": gateway, "0:10.0.2.1": worker, "0:10.0.2.2": worker, "0:10.0.3.1": worker,
	} {
		for _, name := range names {
			const namespace = "GSEKIT_BIZ_3"
			process, _, _ := strings.Cut(name, "_")
			spec := fmt.Sprintf(`{"identity":{"proc_name":%[1]q,"setup_path":"/opt/%[1]s","pid_path":"/run/%[1]s.pid","user":"shop"},`+
				`"control":{"start_cmd":"./start.sh"},"alive_monitor_policy":{"auto_type":1}}`, process)
			providertest.NoError(t, sim.Register(host, namespace, name, map[string]string{"bk_process_name": process}, spec))
			providertest.NoError(t, sim.Host(host, namespace, name), sim.StartProcess(host, namespace, name))
		}
	}
	return sim
}

func runningPIDs(sim *providertest.Sim) map[string]int {
	pids := make(map[string]int)
	for _, p := range sim.Processes() {
		if p.Running && p.Hosted {
			pids[p.Name+" on "+p.Host] = p.PID
		}
	}
	return pids
}

// onlyOp returns the count for Sim.ExpectOperated of one operation on that many hosts, and no other.
func onlyOp(op, hosts int) map[int]int {
	only := map[int]int{simulator.OpStart: 0, simulator.OpStop: 0, simulator.OpRestart: 0, simulator.OpReload: 0, simulator.OpKill: 0}
	only[op] = hosts
	return only
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
	providertest.Says(t, cli.Expect(0, "apply", "-auto-approve"), "Resources: 3 added, 0 changed, 0 destroyed")
	providertest.Same(t, "pids", pids, runningPIDs(sim))
	for _, p := range sim.Processes() {
		if _, ours := p.Labels["tf_spec"]; ours == strings.HasPrefix(p.Host, "0:10.0.3.") {
			t.Errorf("%s on %s has the labels %v", p.Name, p.Host, p.Labels)
		}
	}
	cli.Expect(0, "plan", "-detailed-exitcode")

	providertest.Same(t, "start order", `[{"priority":3,"processes":["worker_1@worker","worker_2@worker"]},{"priority":20,"processes":["gateway_1@gateway"]}]`, cli.Output("start_order"))
	providertest.Same(t, "out of sync", "{}", cli.Output("out_of_sync"))

	providertest.NoError(t, sim.CMDB().Empty("shop/gz-2/worker"))
	providertest.Says(t, cli.Expect(1, "plan"), "min_hosts requires 2")
	// Its processes are unregistered only with the setting for it, and keep running.
	cli.Configure(businessModule("topology = { set = \"gz-*\" }"))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "destroy", "-auto-approve")
	sim.ExpectOperated(t, onlyOp(simulator.OpStart, 0))
	for _, p := range sim.Processes() {
		providertest.Check(t, p.Running, "%s on %s does not run after the destroy", p.Name, p.Host)
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
	providertest.Says(t, cli.Expect(0, "plan"), "run 1: stop priority 20, gateway_1@gateway, on 4 hosts in 2 waves of 1, 3: 10.0.1.1…10.0.1.4 "+
		"run 1: then priority 3, worker_1@worker, worker_2@worker, on 3 hosts in 2 waves of 1, 2: 10.0.2.1, 10.0.2.2, 10.0.3.1")
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "apply", "-auto-approve") // hosts what a stop unhosts
	wantOrder(t, sim, simulator.OpStop, "gateway_1", "gateway_1", "worker_1 worker_2", "worker_1 worker_2")

	sim.ResetCalls()
	sim.Inject(simulator.Fault{Op: new(simulator.OpStart), Name: "worker_2", Hosts: []string{"0:10.0.2.2"}, Code: new(65535), Message: "no such file"})
	cli.Configure(config("start", "1"))
	providertest.Says(t, cli.Expect(1, "apply", "-auto-approve"), `"worker_2@worker", priority 3: Process "worker_2" in namespace "GSEKIT_BIZ_3"`)
	wantOrder(t, sim, simulator.OpStart, "worker_1 worker_2", "worker_1 worker_2")
	providertest.Says(t, cli.Expect(0, "state", "show", "module.shop.bk_process_operation.this[0]"), `"worker_2@worker/10.0.2.2" = "failed: 65535, the command failed`, `"gateway_1@gateway/10.0.1.4" = "not_tried: `)

	sim.Repair()
	sim.ResetCalls()
	cli.Expect(0, "apply", "-auto-approve")
	wantOrder(t, sim, simulator.OpStart, "worker_2", "gateway_1", "gateway_1")
	cli.Expect(0, "plan", "-detailed-exitcode")
	if running := runningPIDs(sim); len(running) != 10 {
		t.Errorf("%d processes run and are hosted: %v", len(running), running)
	}
	for order, want := range map[string]string{"": "priority 20, gateway_1@gateway", "order = \"ascending\"": "priority 3, worker_1@worker, worker_2@worker"} {
		cli.Configure(businessModule("operation = \"stop\"\n  rollout = { waves = [\"100%\"], healthy = { stable_for = \"30s\" } }\n  " + order))
		providertest.Says(t, cli.Expect(0, "plan"), "run 4: stop "+want)
	}
}

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
		providertest.NoError(t, json.Unmarshal(call.Body, &body))
		names := []string{body.Meta.Name}
		for i, item := range body.Items {
			names = append(names[:min(i, len(names))], item.Meta.Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	providertest.Same(t, "calls", want, got)
}

// readGateway is gateway_1 as bk_cmdb_processes reads it, for a resource.
func readGateway(t *testing.T, p *providertest.Protocol) map[string]any {
	t.Helper()
	values, said := p.ReadData("bk_cmdb_processes", map[string]any{"bk_biz_id": 3, "topology": map[string]any{}, "process_name": "gateway"})
	if said.String() != "" {
		t.Fatal(said)
	}
	processes, _ := values["processes"].(map[string]any)
	read, _ := processes["gateway_1@gateway"].(map[string]any)
	return map[string]any{"meta": read["meta"], "hosts": read["hosts"], "spec": read["spec"]}
}

// Resources and the status accept the output of bk_cmdb_processes unchanged, and adopt without a restart.
func TestCMDBProcesses_declaration(t *testing.T) {
	t.Parallel()
	sim := shopRun(t)
	p := sim.Configured(t)
	read, pids := readGateway(t, p), runningPIDs(sim)
	p.CoreOf(providertest.HostedType, &providertest.Kept{}).Applied(merged(read, map[string]any{"adopt_existing": true}))
	p.CoreOf(providertest.ActionType, &providertest.Kept{}).Applied(merged(read, map[string]any{"operation": "reload"}))
	values, said := p.ReadData("bk_process_status", read)
	providertest.Same(t, "said of the status", "", said.String())
	providertest.Same(t, "running", 4, values["running_count"])
	providertest.Same(t, "pids", pids, runningPIDs(sim))
	sim.ExpectOperated(t, onlyOp(simulator.OpReload, 4))
}

// monitored is a business with the same process in two modules, each in two sets.
const monitored = `{"businesses": [{"id": 3, "name": "game",
  "templates": [
    {"name": "db", "processes": [{"bk_process_name": "exporter", "bk_func_name": "exporter", "user": "root", "work_path": "/opt/exporter", "pid_file": "/run/exporter.pid", "start_cmd": "./start.sh"}]},
    {"name": "web", "processes": [{"bk_process_name": "exporter", "bk_func_name": "exporter", "user": "root", "work_path": "/opt/exporter", "pid_file": "/run/exporter.pid", "start_cmd": "./start.sh"}]}],
  "sets": [{"name": "gz-[1-2]", "modules": [
    {"name": "db", "template": "db", "hosts": [{"ip": "10.0.1.1"}]},
    {"name": "web", "template": "web", "hosts": [{"ip": "10.0.2.1"}]}]}]}]}`

// A process that is edited in one module of CMDB is updated there. One that is edited in one of two sets is an error. Neither unregisters a host.
func TestAccCMDBProcesses_edited(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSimOf(t, monitored)
	cli := newExampleCLI(t, sim, "demo")
	cli.Configure(businessModule(""))
	cli.Expect(0, "get")
	cli.Expect(0, "apply", "-auto-approve")

	sim.ResetCalls()
	for _, set := range []string{"gz-1", "gz-2"} {
		providertest.NoError(t, sim.CMDB().ChangeProcess("game/"+set+"/web", "exporter", map[string]any{"start_cmd": "./start.sh -v", "priority": 9}))
	}
	providertest.Says(t, cli.Expect(0, "plan"), "Plan: 0 to add, 1 to change, 0 to destroy.")
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")

	providertest.NoError(t, sim.CMDB().ChangeProcess("game/gz-2/db", "exporter", map[string]any{"priority": 7}))
	providertest.Says(t, cli.Expect(1, "apply", "-auto-approve"), "exporter_1@db differs in priority: 1 host as in gz-1/db (process 1), 1 host as in gz-2/db (process 3)")
	providertest.Check(t, sim.Calls().Count("unregister_proc_info") == 0, "called %q", sim.Calls().APIs())
}
