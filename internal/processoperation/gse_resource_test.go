package processoperation_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Promised in partial-failure.md: Later runs that fail end with an error
// Promised in partial-failure.md: A start that *fails* (its command, or the check after it) is
// certain, and retried by the next apply.
func TestProcessOperation_partial(t *testing.T) {
	t.Parallel()
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			registerAll(t, sim, c.Hosts)
			bad := providertest.Failing(c.Hosts, c.Failing)
			resource := operationOf(t, sim, providertest.FaceESB)
			// apply runs the operation for a trigger, on these hosts.
			apply := func(step, trigger string, kind providertest.PlanKind, severity string, hosts ...int) providertest.Diagnostics {
				t.Helper()
				sim.ResetCalls()
				planned, said := resource.Apply(asProcess(t, restartConfig(providertest.FaceESB, c.Hosts, map[string]any{
					"triggers": map[string]string{"config": trigger}, "rollout": map[string]any{"waves": []string{"100%"}}, // otherwise many hosts bring a warning
				})))
				if planned != kind || said.Severity() != severity || resource.Tainted {
					t.Errorf("%s: %s, tainted: %t, said: %s", step, planned, resource.Tainted, said)
				}
				restarted := sim.Calls().OfOp(simulator.OpRestart)
				if restarted.HostCalls("operate_proc_v2") != len(hosts) || len(restarted.On(providertest.Address(hosts[0]))) != 1 {
					t.Errorf("%s: ran on %d hosts, want %d", step, restarted.HostCalls("operate_proc_v2"), len(hosts))
				}
				return said
			}
			fail := func() { sim.FailOperation(simulator.OpRestart, bad, 65535, "sh: ./restart.sh: not found") }
			const because = "failed: 65535, the command failed: sh: ./restart.sh: not found"

			fail()
			apply("the first run fails on some", "a", providertest.PlanCreate, "warning", providertest.HostNumbers(c.Hosts)...)
			if failed := resource.Reasons("failed_hosts"); len(failed) != c.Failing || failed[providertest.HostKey(bad[0])] != because {
				t.Errorf("failed_hosts: %v", failed)
			}
			sim.Repair()
			apply("a retry", "a", providertest.PlanUpdate, "", bad...)
			if want := "run 2: restart on 1 host: web-5"; c.Failing == 1 && resource.Attribute("rollout_plan") != want {
				t.Errorf("rollout_plan: %v, want %q", resource.Attribute("rollout_plan"), want)
			}
			fail()
			said := apply("a later run fails on some", "b", providertest.PlanUpdate, "error", providertest.HostNumbers(c.Hosts)...).String()
			if !strings.Contains(said, "Unable to Restart Process") || !strings.Contains(said, "sh: ./restart.sh: not found") {
				t.Errorf("said: %s", said)
			}
			sim.Repair()
			apply("a retry of the later run", "b", providertest.PlanUpdate, "", bad...)
			providertest.Same(t, "failed_hosts", map[string]string{}, resource.Reasons("failed_hosts"))
		})
	}
}

// The operation waits for a late result, and nothing is sent twice.
func TestProcessOperation_waits(t *testing.T) {
	t.Parallel()
	start := new(simulator.OpStart)
	for name, fault := range map[string]simulator.Fault{
		"in-progress":     {Op: start, Pending: 3},
		"queued":          {Op: start, Queued: 3},
		"queued-empty":    {Op: start, Queued: 3, QueuedData: map[string]any{}},
		"left-out":        {Op: start, Hosts: []string{providertest.Address(2)}, Missing: 3},
		"bad-gateway":     {API: "get_proc_operate_result_v2", Op: start, HTTPStatus: 502, Body: "<html>Bad Gateway</html>", Times: 8},
		"unknown-host":    {API: "get_proc_operate_result_v2", Op: start, ExtraKeys: map[string]any{"0:9.9.9.9:web:nginx": map[string]any{"error_code": 1}}},
		"other-spelling":  {API: "get_proc_operate_result_v2", Op: start, Spelling: "errcode"},
		"content-is-null": {API: "operate_proc_v2", Op: start, ContentShape: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Registered(t, 3)
			sim.Inject(fault)
			resource := sim.Configured(t).CoreOf("bk_process_operation", &providertest.Kept{})
			resource.Applied(restartConfig(providertest.FaceESB, 3, map[string]any{"operation": "start"}))
			providertest.Same(t, "failed_hosts", map[string]string{}, resource.Reasons("failed_hosts"))
			sim.Changed(t, providertest.Operated(simulator.OpStart, 1, 2, 3))
			if running := pids(sim); len(running) != 3 {
				t.Errorf("running: %v", running)
			}
		})
	}
}
