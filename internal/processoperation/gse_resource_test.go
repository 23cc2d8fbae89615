package processoperation_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// operationStep is step for the operation: what it expects of the plan is about
// the operation, and it counts operations alone.
func operationStep(s *providertest.Sim, config string, action plancheck.ResourceActionType, changes ...string) resource.TestStep {
	step := s.Step(config, action, changes...)
	step.ConfigPlanChecks.PreApply = []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.OperationAddress, action)}
	return step
}

func TestAccProcessOperationResource_lifecycle(t *testing.T) {
	t.Parallel()
	const create, update, noop = plancheck.ResourceActionCreate, plancheck.ResourceActionUpdate, plancheck.ResourceActionNoop
	sim := providertest.NewSim(t)
	// A stop and a kill unhost, which a resource that wants it hosted would mend.
	hosted := providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: `ensure = "registered"`}
	config := func(c providertest.OperationConfig) string {
		c.Hosted = hosted
		return sim.ProviderConfig() + c.String()
	}
	two := "{ for k, v in bk_hosted_process.test.hosts : k => v if k != \"web-3\" }"
	destroy := resource.TestStep{
		PreConfig: sim.ResetCalls,
		Config:    sim.ProviderConfig() + hosted.String(),
		Check:     sim.ExpectChanges("operate_proc_v2/9 " + providertest.Addresses(1, 2)),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: sim.ProviderConfig() + hosted.String()},
			operationStep(sim, config(providertest.OperationConfig{Operation: "start"}), create, "operate_proc_v2/0 "+providertest.Addresses(1, 2, 3)),
			operationStep(sim, config(providertest.OperationConfig{Operation: "start"}), noop),
			operationStep(sim, config(providertest.OperationConfig{Operation: "start", More: `triggers = { config = "a" }`}), update, "operate_proc_v2/0 "+providertest.Addresses(1, 2, 3)),
			operationStep(sim, config(providertest.OperationConfig{Operation: "restart", More: `triggers = { config = "a" }`}), update, "operate_proc_v2/7 "+providertest.Addresses(1, 2, 3)),
			operationStep(sim, config(providertest.OperationConfig{Operation: "restart", More: `triggers = { config = "b" }`}), update, "operate_proc_v2/7 "+providertest.Addresses(1, 2, 3)),
			operationStep(sim, config(providertest.OperationConfig{Operation: "reload", More: `triggers = { config = "b" }`}), update, "operate_proc_v2/8 "+providertest.Addresses(1, 2, 3)),
			operationStep(sim, config(providertest.OperationConfig{Operation: "reload", More: `triggers = { config = "b" }`, Hosts: two}), update),
			operationStep(sim, config(providertest.OperationConfig{Operation: "reload", More: `triggers = { config = "b" }`}), update, "operate_proc_v2/8 "+providertest.Addresses(3)),
			operationStep(sim, config(providertest.OperationConfig{Operation: "reload", Hosts: two, More: "triggers = { config = \"b\" }\n  on_destroy = \"kill\""}), update),
			destroy,
		},
	})
}

func TestAccProcessOperationResource_alreadyAsWanted(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(operation string) string {
		return sim.ProviderConfig() + providertest.OperationConfig{Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: `ensure = "registered"`}, Operation: operation}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("start"), Check: resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "0")},
			// Running already: 828 is what was wanted.
			operationStep(sim, config("start")+`# again`, plancheck.ResourceActionNoop),
			{
				PreConfig: func() {
					if err := sim.StopProcess(providertest.Address(1), "web", "nginx"); err != nil {
						t.Error(err)
					}
					// Not running and hosted all the same, as a failed start leaves it.
					if err := sim.Host(providertest.Address(1), "web", "nginx"); err != nil {
						t.Error(err)
					}
					sim.ResetCalls()
				},
				Config: config("stop"),
				// On the gateway unhosting is unregistering, which the resource mends.
				ExpectNonEmptyPlan: providertest.Gateway == bkapi.APIGW,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "0"),
					// The stop that found nothing to stop leaves hosting on; it is removed.
					sim.ExpectChanges("operate_proc_v2/1 "+providertest.Addresses(1, 2), "operate_proc_v2/4 "+providertest.Addresses(1)),
				),
			},
		},
	})
}

// Promised in partial-failure.md: Later runs that fail end with an error
// Promised in partial-failure.md: A start that *fails* (its command, or the check after it) is
// certain, and retried by the next apply.
func TestAccProcessOperationResource_partial(t *testing.T) {
	t.Parallel()
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			bad := providertest.Failing(c.Hosts, c.Failing)
			config := func(trigger string) string {
				return sim.ProviderConfig() + providertest.OperationConfig{
					Hosted:    providertest.HostedConfig{Hosts: providertest.HostsConfig(c.Hosts), More: `ensure = "registered"`},
					Operation: "restart", More: fmt.Sprintf("triggers = { config = %q }", trigger),
				}.String()
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{
						PreConfig:          func() { sim.FailOperation(simulator.OpRestart, bad, 65535, "sh: ./restart.sh: not found") },
						Config:             config("a"),
						ExpectNonEmptyPlan: true,
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", fmt.Sprint(c.Failing)),
							resource.TestCheckResourceAttr(providertest.OperationAddress, fmt.Sprintf("failed_hosts.web-%d", c.Hosts), "failed: 65535, the command failed: sh: ./restart.sh: not found"),
						),
					},
					{
						PreConfig: sim.Mend,
						Config:    config("a"),
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "0"),
							sim.ExpectHostCalls(map[string]int{"operate_proc_v2": c.Failing}),
						),
					},
					{
						// A later run that fails is an error, and taints nothing.
						PreConfig:   func() { sim.FailHosts("operate_proc_v2", bad, 65535, "sh: ./restart.sh: not found") },
						Config:      config("b"),
						ExpectError: regexp.MustCompile(`Unable to Restart Process[\s\S]*sh: ./restart.sh: not found`),
					},
					{
						PreConfig: sim.Mend,
						Config:    config("b"),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.OperationAddress, plancheck.ResourceActionUpdate)},
						},
						Check: sim.ExpectHostCalls(map[string]int{"operate_proc_v2": c.Failing}),
					},
				},
			})
		})
	}
}

func TestAccProcessOperationResource_failsEverywhere(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.OperationConfig{Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}, Operation: "start"}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					code, op := 117, 0
					sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Code: &code, Message: "agent is away"})
				},
				Config:      config,
				ExpectError: regexp.MustCompile(`Unable to Start Process[\s\S]*web-1, web-2 \(2 hosts\): 117[\s\S]*Task: GSETASK`),
			},
			{
				PreConfig: sim.Mend,
				Config:    config,
				Check:     sim.ExpectChanges("operate_proc_v2/0 " + providertest.Addresses(1, 2)),
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
		"left-out":        {Op: &op, Hosts: []string{providertest.Address(2)}, Missing: 3},
		"late":            {Op: &op, Takes: 200 * time.Millisecond},
		"bad-gateway":     {API: "get_proc_operate_result_v2", Op: &op, HTTPStatus: 502, Body: "<html>Bad Gateway</html>", Times: 8},
		"unknown-host":    {API: "get_proc_operate_result_v2", Op: &op, ExtraKeys: map[string]any{"0:9.9.9.9:web:nginx": map[string]any{"error_code": 1}}},
		"other-spelling":  {API: "get_proc_operate_result_v2", Op: &op, Spelling: "errcode"},
		"content-is-null": {API: "operate_proc_v2", Op: &op, ContentShape: "null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Inject(fault)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{{
					Config: sim.ProviderConfig() + providertest.OperationConfig{Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(3)}, Operation: "start"}.String(),
					Check: resource.ComposeAggregateTestCheckFunc(
						resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "0"),
						sim.ExpectChanges("operate_proc_v2/0 "+providertest.Addresses(1, 2, 3), "operate_proc_v2/3 "+providertest.Addresses(1, 2, 3), "register_proc_info "+providertest.Addresses(1, 2, 3)),
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
	sim := providertest.NewSim(t)
	op := 0
	config := sim.ProviderConfig() + providertest.OperationConfig{
		Hosted: providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}, Operation: "start", More: `rollout = { batch_size = 1, max_failed_hosts = 1 }`,
	}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				PreConfig: func() {
					sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &op, Hosts: []string{providertest.Address(1)}, Drop: "after"})
				},
				Config:             config,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "1"),
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.web-1", "outcome_unknown: the operation was sent and its answer got lost"),
				),
			},
			{
				PreConfig: func() { sim.Mend(); sim.ResetCalls() },
				Config:    config,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "0"),
					sim.ExpectChanges(),
				),
			},
		},
	})
}

func TestAccProcessOperationResource_validation(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(c providertest.OperationConfig) string {
		c.Hosted = providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}
		return sim.ProviderConfig() + c.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config(providertest.OperationConfig{Operation: "pause"}), ExpectError: regexp.MustCompile(`operation value must be\s+one of`)},
			{Config: config(providertest.OperationConfig{Operation: "start", Hosts: "{}"}), ExpectError: regexp.MustCompile(`at least one host`)},
			{
				Config: sim.ProviderConfig() + fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = { namespace = "web", name = "nginx" }
  hosts     = { a = "0:10.0.0.1" }
  operation = "reload"
  spec      = %s
}`, regexp.MustCompile(`reload_cmd.*`).ReplaceAllString(providertest.SpecConfig("./start.sh"), "")),
				ExpectError: regexp.MustCompile(`spec.control.reload_cmd:\s+the\s+operation\s+"reload"\s+runs\s+this\s+command`),
			},
			{Config: config(providertest.OperationConfig{Operation: "start", More: `rollout = { batch_size = 0 }`}), ExpectError: regexp.MustCompile(`at least 1`)},
			{Config: config(providertest.OperationConfig{Operation: "start", More: `rollout = { batch_size = 1, pause = "soon" }`}), ExpectError: regexp.MustCompile(`Invalid Duration`)},
		},
	})
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("calls were made for configurations that are refused: %v", calls.APIs())
	}
}
