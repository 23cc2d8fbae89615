package provider

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// operationStep is step for the operation: what it expects of the plan is about
// the operation, and it counts operations alone.
func operationStep(s *testSim, config string, action plancheck.ResourceActionType, changes ...string) resource.TestStep {
	step := s.step(config, action, changes...)
	step.ConfigPlanChecks.PreApply = []plancheck.PlanCheck{plancheck.ExpectResourceAction(testOperation, action)}
	return step
}

func TestAccProcessOperationResource_lifecycle(t *testing.T) {
	t.Parallel()
	const create, update, noop = plancheck.ResourceActionCreate, plancheck.ResourceActionUpdate, plancheck.ResourceActionNoop
	sim := newSim(t)
	// A stop and a kill unhost, which a resource that wants it hosted would mend.
	hosted := hostedConfig{hosts: hostsConfig(3), more: `ensure = "registered"`}
	config := func(c operationConfig) string {
		c.hosted = hosted
		return sim.providerConfig() + c.String()
	}
	two := "{ for k, v in bk_hosted_process.test.hosts : k => v if k != \"web-3\" }"
	destroy := resource.TestStep{
		PreConfig: sim.ResetCalls,
		Config:    sim.providerConfig() + hosted.String(),
		Check:     sim.expectChanges("operate_proc_v2/9 " + addresses(1, 2)),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: sim.providerConfig() + hosted.String()},
			operationStep(sim, config(operationConfig{operation: "start"}), create, "operate_proc_v2/0 "+addresses(1, 2, 3)),
			operationStep(sim, config(operationConfig{operation: "start"}), noop),
			operationStep(sim, config(operationConfig{operation: "start", more: `triggers = { config = "a" }`}), update, "operate_proc_v2/0 "+addresses(1, 2, 3)),
			operationStep(sim, config(operationConfig{operation: "restart", more: `triggers = { config = "a" }`}), update, "operate_proc_v2/7 "+addresses(1, 2, 3)),
			operationStep(sim, config(operationConfig{operation: "restart", more: `triggers = { config = "b" }`}), update, "operate_proc_v2/7 "+addresses(1, 2, 3)),
			operationStep(sim, config(operationConfig{operation: "reload", more: `triggers = { config = "b" }`}), update, "operate_proc_v2/8 "+addresses(1, 2, 3)),
			operationStep(sim, config(operationConfig{operation: "reload", more: `triggers = { config = "b" }`, hosts: two}), update),
			operationStep(sim, config(operationConfig{operation: "reload", more: `triggers = { config = "b" }`}), update, "operate_proc_v2/8 "+addresses(3)),
			operationStep(sim, config(operationConfig{operation: "reload", hosts: two, more: "triggers = { config = \"b\" }\n  on_destroy = \"kill\""}), update),
			destroy,
		},
	})
}

func TestAccProcessOperationResource_alreadyAsWanted(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(operation string) string {
		return sim.providerConfig() + operationConfig{hosted: hostedConfig{hosts: hostsConfig(2), more: `ensure = "registered"`}, operation: operation}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config("start"), Check: resource.TestCheckResourceAttr(testOperation, "failed_hosts.%", "0")},
			// Running already: 828 is what was wanted.
			operationStep(sim, config("start")+`# again`, plancheck.ResourceActionNoop),
			{
				PreConfig: func() {
					if err := sim.StopProcess(testAddress(1), "web", "nginx"); err != nil {
						t.Error(err)
					}
					// Not running and hosted all the same, as a failed start leaves it.
					if err := sim.Host(testAddress(1), "web", "nginx"); err != nil {
						t.Error(err)
					}
					sim.ResetCalls()
				},
				Config: config("stop"),
				// On the gateway unhosting is unregistering, which the resource mends.
				ExpectNonEmptyPlan: testGateway == bkapi.APIGW,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(testOperation, "failed_hosts.%", "0"),
					// The stop that found nothing to stop leaves hosting on; it is removed.
					sim.expectChanges("operate_proc_v2/1 "+addresses(1, 2), "operate_proc_v2/4 "+addresses(1)),
				),
			},
		},
	})
}

func TestAccProcessOperationResource_partial(t *testing.T) {
	t.Parallel()
	for name, c := range partialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			bad := failing(c.hosts, c.failing)
			config := func(trigger string) string {
				return sim.providerConfig() + operationConfig{
					hosted:    hostedConfig{hosts: hostsConfig(c.hosts), more: `ensure = "registered"`},
					operation: "restart", more: fmt.Sprintf("triggers = { config = %q }", trigger),
				}.String()
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{
						PreConfig:          func() { sim.inject("operate_proc_v2", bad, 65535, "sh: ./restart.sh: not found") },
						Config:             config("a"),
						ExpectNonEmptyPlan: true,
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(testOperation, "failed_hosts.%", fmt.Sprint(c.failing)),
							resource.TestCheckResourceAttr(testOperation, fmt.Sprintf("failed_hosts.web-%d", c.hosts), "65535, the command failed"),
							resource.TestCheckResourceAttr(testOperation, "task_ids.#", "1"),
						),
					},
					{
						PreConfig: sim.mend,
						Config:    config("a"),
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(testOperation, "failed_hosts.%", "0"),
							sim.expectHostCalls(map[string]int{"operate_proc_v2": c.failing}),
						),
					},
					{
						// A later run that fails is an error, and taints nothing.
						PreConfig:   func() { sim.inject("operate_proc_v2", bad, 65535, "sh: ./restart.sh: not found") },
						Config:      config("b"),
						ExpectError: regexp.MustCompile(`Unable to Restart Process[\s\S]*sh: ./restart.sh: not found`),
					},
					{
						PreConfig: sim.mend,
						Config:    config("b"),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testOperation, plancheck.ResourceActionUpdate)},
						},
						Check: sim.expectHostCalls(map[string]int{"operate_proc_v2": c.failing}),
					},
				},
			})
		})
	}
}

func TestAccProcessOperationResource_failsEverywhere(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + operationConfig{hosted: hostedConfig{hosts: hostsConfig(2)}, operation: "start"}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					code, op := 117, 0
					sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Code: &code, Message: "agent is away"})
				},
				Config:      config,
				ExpectError: regexp.MustCompile(`Unable to Start Process[\s\S]*web-1 \(0:10\.0\.0\.2\): 117[\s\S]*Task: GSETASK`),
			},
			{
				PreConfig: sim.mend,
				Config:    config,
				Check:     sim.expectChanges("operate_proc_v2/0 " + addresses(1, 2)),
			},
		},
	})
}

// What the platform does not say at once is waited for, and nothing is sent twice.
func TestAccProcessOperationResource_waits(t *testing.T) {
	t.Parallel()
	op := 0
	for name, fault := range map[string]simulator.Fault{
		"in-progress":     {Op: &op, Pending: 3},
		"queued":          {Op: &op, Queued: 3},
		"queued-empty":    {Op: &op, Queued: 3, QueuedData: map[string]any{}},
		"left-out":        {Op: &op, Hosts: []string{testAddress(2)}, Missing: 3},
		"late":            {Op: &op, Takes: 200 * time.Millisecond},
		"bad-gateway":     {API: "get_proc_operate_result_v2", Op: &op, HTTPStatus: 502, Body: "<html>Bad Gateway</html>", Times: 8},
		"unknown-host":    {API: "get_proc_operate_result_v2", Op: &op, ExtraKeys: map[string]any{"0:9.9.9.9:web:nginx": map[string]any{"error_code": 1}}},
		"other-spelling":  {API: "get_proc_operate_result_v2", Op: &op, Spelling: "errcode"},
		"content-is-null": {API: "operate_proc_v2", Op: &op, ContentShape: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			sim.Inject(fault)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{{
					Config: sim.providerConfig() + operationConfig{hosted: hostedConfig{hosts: hostsConfig(3)}, operation: "start"}.String(),
					Check: resource.ComposeAggregateTestCheckFunc(
						resource.TestCheckResourceAttr(testOperation, "failed_hosts.%", "0"),
						sim.expectChanges("operate_proc_v2/0 "+addresses(1, 2, 3), "operate_proc_v2/3 "+addresses(1, 2, 3), "register_proc_info "+addresses(1, 2, 3)),
					),
				}},
			})
		})
	}
}

// An answer that gets lost leaves the outcome open. The operation is not sent
// again; the next apply asks first, and finds it done.
func TestAccProcessOperationResource_lostAnswer(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	op := 0
	config := sim.providerConfig() + operationConfig{hosted: hostedConfig{hosts: hostsConfig(2)}, operation: "start"}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				PreConfig:          func() { sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Drop: "after"}) },
				Config:             config,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(testOperation, "failed_hosts.web-1", "outcome unknown (the operation was sent and its answer got lost)"),
					sim.expectChanges("operate_proc_v2/0 "+addresses(1, 2), "operate_proc_v2/3 "+addresses(1, 2), "register_proc_info "+addresses(1, 2)),
				),
			},
			{
				PreConfig: sim.mend,
				Config:    config,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(testOperation, "failed_hosts.%", "0"),
					sim.expectChanges(),
				),
			},
		},
	})
}

func TestAccProcessOperationResource_validation(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(c operationConfig) string {
		c.hosted = hostedConfig{hosts: hostsConfig(1)}
		return sim.providerConfig() + c.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config(operationConfig{operation: "pause"}), ExpectError: regexp.MustCompile(`operation value must be\s+one of`)},
			{Config: config(operationConfig{operation: "start", hosts: "{}"}), ExpectError: regexp.MustCompile(`at least 1 elements`)},
			{
				Config: sim.providerConfig() + fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = { namespace = "web", name = "nginx" }
  hosts     = { a = "0:10.0.0.1" }
  operation = "reload"
  spec      = %s
}`, regexp.MustCompile(`reload_cmd.*`).ReplaceAllString(specConfig("./start.sh"), "")),
				ExpectError: regexp.MustCompile(`spec.control.reload_cmd:\s+the\s+operation\s+"reload"\s+runs\s+this\s+command`),
			},
			{Config: config(operationConfig{operation: "start", more: `rollout = { batch_size = 0 }`}), ExpectError: regexp.MustCompile(`at least 1`)},
			{Config: config(operationConfig{operation: "start", more: `rollout = { pause = "soon" }`}), ExpectError: regexp.MustCompile(`Invalid Duration`)},
		},
	})
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("calls were made for configurations that are refused: %v", calls.APIs())
	}
}
