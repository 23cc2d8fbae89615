package provider_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

// consoleHost is the host that a user operates in GSEKit's console.
const consoleHost = "0:10.0.1.1"

// consoleOperates runs an operation on gateway_1 on consoleHost as GSEKit's console does, and waits for its end.
func consoleOperates(t *testing.T, sim *providertest.Sim, gateway string, op int) {
	t.Helper()
	console := &simtest.Client{T: t, URL: sim.URL, Sim: sim.Server}
	on := map[string]string{"esb": simtest.CloudHosts("10.0.1.1"), "apigw": simtest.Agents(consoleHost)}[gateway]
	started := console.OnFace(gateway, "operate_proc_v2", fmt.Sprintf(`{"op_type":%d,%s,`+
		`"meta":{"namespace":"GSEKIT_BIZ_3","name":"gateway_1","labels":{"bk_process_name":"gateway","bk_process_id":"1"}},`+
		`"spec":{"identity":{"index_key":"","proc_name":"gateway","setup_path":"/opt/gateway","pid_path":"/run/gateway.pid","user":"shop"},`+
		`"control":{"start_cmd":"./start.sh","stop_cmd":"./stop.sh","restart_cmd":"./restart.sh","reload_cmd":"./reload.sh","kill_cmd":"./kill.sh"},`+
		`"alive_monitor_policy":{"auto_type":1,"start_check_secs":5,"op_timeout":60}}}`, op, on))
	console.Eventually("the end of an operation of the console", func() bool {
		verdicts := console.OnFace(gateway, "get_proc_operate_result_v2", fmt.Sprintf(`{"task_id":%q}`, started.Data["task_id"])).Data
		for key := range verdicts {
			if simtest.VerdictOf(t, verdicts, key).Code == simulator.CodeOK {
				return true
			}
		}
		return false
	})
}

// What GSEKit's console does to an adopted process, what the next plan shows, and what an apply then
// does. It is the table of the guide "From GSEKit or BSCP".
func TestConsole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ensure    string
		ops       []int
		want      string // out_of_sync of the host
		atGateway string // if it differs
		runs      bool   // before the apply
		started   bool   // by the apply
	}{
		"restart":        {ensure: "hosted", ops: []int{simulator.OpRestart}, runs: true},
		"reload":         {ensure: "hosted", ops: []int{simulator.OpReload}, runs: true},
		"stop":           {ensure: "hosted", ops: []int{simulator.OpStop}, want: "not_hosted: not hosted"},
		"stop-running":   {ensure: "running", ops: []int{simulator.OpStop}, want: "not_hosted: not running, not hosted", started: true},
		"kill":           {ensure: "hosted", ops: []int{simulator.OpKill}, want: "not_hosted: not hosted"},
		"stop-and-start": {ensure: "hosted", ops: []int{simulator.OpStop, simulator.OpStart}, runs: true},
		"host":           {ensure: "hosted", ops: []int{simulator.OpHost}, runs: true, want: "other_spec: registered anew by another tool"},
		"unhost": {
			ensure: "hosted", ops: []int{simulator.OpUnhost}, runs: true, want: "not_hosted: not hosted",
			atGateway: "unregistered: the platform no longer knows the process here",
		},
	} {
		for _, face := range providertest.Through(t, name, []providertest.Face{providertest.FaceESB, providertest.FaceGateway}) {
			gateway := string(face)
			t.Run(name+"/"+gateway, func(t *testing.T) {
				t.Parallel()
				sim := shopRun(t)
				p := sim.Configured(t, map[string]any{"gateway": gateway, "cmdb_endpoint": map[string]string{"esb": sim.URL, "apigw": sim.URL + "/api/bk-cmdb/prod"}[gateway]})
				config := merged(readGateway(t, p), map[string]any{"adopt_existing": true, "ensure": c.ensure})
				resource := p.CoreOf(providertest.HostedType, &providertest.Kept{})
				resource.Apply(config)
				for _, op := range c.ops {
					consoleOperates(t, sim, gateway, op)
				}
				left, _ := sim.Process(consoleHost, "GSEKIT_BIZ_3", "gateway_1")
				resource.Refresh()

				want := map[string]string{}
				if c.want != "" {
					want["10.0.1.1"] = c.want
				}
				if gateway == "apigw" && c.atGateway != "" {
					want["10.0.1.1"] = c.atGateway
				}
				providertest.Same(t, "out of sync", want, resource.Reasons("out_of_sync"))
				if left.Running != c.runs {
					t.Errorf("before the apply it runs: %t", left.Running)
				}
				resource.Apply(config)
				repaired, _ := sim.Process(consoleHost, "GSEKIT_BIZ_3", "gateway_1")
				if started := repaired.PID != left.PID; started != c.started || !repaired.Hosted {
					t.Errorf("the apply made %+v of %+v", repaired, left)
				}
				if kind, said := resource.Apply(config); kind.Changes() || said.String() != "" {
					t.Errorf("the plan after it is not empty: %s", said)
				}
			})
		}
	}
}

// readGateway is gateway_1 as bk_cmdb_processes reads it, for a resource.
func readGateway(t *testing.T, p *providertest.Protocol) map[string]any {
	t.Helper()
	values, said := p.ReadData("bk_cmdb_processes", map[string]any{"bk_biz_id": 3, "topology": map[string]any{}, "process_name": "gateway"})
	if said.String() != "" {
		t.Fatal(said)
	}
	processes, _ := values["processes"].(map[string]any)
	read, _ := processes["gateway_1"].(map[string]any)
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
