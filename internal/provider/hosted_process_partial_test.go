package provider

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestAccHostedProcessResource_partialCreate(t *testing.T) {
	t.Parallel()
	for name, c := range partialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(c.hosts), more: `ensure = "registered"`}.String()
			bad := failing(c.hosts, c.failing)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{
						PreConfig:          func() { sim.inject("register_proc_info", bad, 117, "agent is away") },
						Config:             config,
						ExpectNonEmptyPlan: true, // the apply exits 0, the next plan 2
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionUpdate)},
						},
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(testResource, "out_of_sync.%", fmt.Sprint(c.failing)),
							resource.TestCheckResourceAttr(testResource, fmt.Sprintf("out_of_sync.web-%d", c.hosts),
								"not registered: 117, the agent is abnormal or not found"),
							sim.expectHostCalls(map[string]int{"register_proc_info": c.hosts}),
						),
					},
					{
						// Still failing: an update ends with an error and keeps an exact state.
						PreConfig:   sim.ResetCalls,
						Config:      config,
						ExpectError: wrapped(fmt.Sprintf(`is not as declared on %d of %d hosts`, c.failing, c.failing)),
					},
					{
						PreConfig: sim.mend,
						Config:    config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionUpdate)},
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(testResource, "out_of_sync.%", "0"),
							sim.expectHostCalls(map[string]int{"register_proc_info": c.failing, "update_proc_info": 0}),
						),
					},
				},
			})
		})
	}
}

func TestAccHostedProcessResource_partialCreateAsError(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(3), more: `on_partial_create = "error"`}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.inject("register_proc_info", []int{2}, 117, "agent is away") },
				Config:      config,
				ExpectError: regexp.MustCompile(`Hosted Process Created In Part`),
			},
			{
				// Tainted, as documented: everything is unregistered and begun anew.
				PreConfig: sim.mend,
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionDestroyBeforeCreate)},
				},
				Check: sim.expectHostCalls(map[string]int{"unregister_proc_info": 3, "register_proc_info": 3}),
			},
		},
	})
}

func TestAccHostedProcessResource_createFailsEverywhere(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(2)}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.inject("register_proc_info", []int{1, 2}, 117, "agent is away") },
				Config:      config,
				ExpectError: regexp.MustCompile(`Unable to Register Hosted Process[\s\S]*web-1 \(0:10\.0\.0\.2\): 117`),
			},
			{
				PreConfig: sim.mend,
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionCreate)},
				},
				Check: sim.expectHostCalls(map[string]int{"unregister_proc_info": 0, "register_proc_info": 2}),
			},
		},
	})
}

// A postcondition makes an apply with failures exit 1, without taint.
func TestAccHostedProcessResource_partialCreatePostcondition(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(3), more: `
  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${join(", ", keys(self.out_of_sync))}."
    }
  }`}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.inject("register_proc_info", []int{2}, 117, "agent is away") },
				Config:      config,
				ExpectError: regexp.MustCompile(`Not on every host: web-2`),
			},
			{
				PreConfig: sim.mend,
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionUpdate)},
				},
				Check: sim.expectHostCalls(map[string]int{"unregister_proc_info": 0, "register_proc_info": 1}),
			},
		},
	})
}

func TestAccHostedProcessResource_partialUpdate(t *testing.T) {
	t.Parallel()
	for name, c := range partialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			before := sim.providerConfig() + hostedConfig{hosts: hostsConfig(c.hosts), more: `ensure = "registered"`}.String()
			after := sim.providerConfig() + hostedConfig{hosts: hostsConfig(c.hosts), start: "./other.sh", more: `ensure = "registered"`}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{Config: before},
					{
						PreConfig:   func() { sim.inject("update_proc_info", failing(c.hosts, c.failing), 117, "agent is away") },
						Config:      after,
						ExpectError: regexp.MustCompile(`Unable to Update Hosted Process`),
					},
					{
						PreConfig: sim.mend,
						Config:    after,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
						Check: sim.expectHostCalls(map[string]int{"register_proc_info": 0, "update_proc_info": c.failing}),
					},
				},
			})
		})
	}
}

func TestAccHostedProcessResource_partialDelete(t *testing.T) {
	t.Parallel()
	for name, c := range partialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(c.hosts), more: `ensure = "registered"`}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() {
							sim.inject("unregister_proc_info", failing(c.hosts, c.failing), 117, "agent is away")
						},
						Config:      config,
						Destroy:     true,
						ExpectError: regexp.MustCompile(`Unable to Unregister Hosted Process`),
					},
					{
						PreConfig: sim.mend,
						Config:    config,
						Destroy:   true,
						Check:     sim.expectHostCalls(map[string]int{"unregister_proc_info": c.failing}),
					},
				},
			})
		})
	}
}

// A host that could not be unregistered stays in state until it is.
func TestAccHostedProcessResource_partialRemoval(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(hosts string) string { return sim.providerConfig() + hostedConfig{hosts: hosts}.String() }
	moved := `{ web-1 = "0:10.0.0.2", web-2 = "0:10.0.0.9" }` // web-2 is another machine now
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config(hostsConfig(2))},
			{
				PreConfig:   func() { sim.inject("unregister_proc_info", []int{2}, 117, "agent is away") },
				Config:      config(moved),
				ExpectError: regexp.MustCompile(`Unable to Unregister Hosted Process[\s\S]*web-2 \(0:10\.0\.0\.3\): 117`),
			},
			{
				PreConfig: sim.mend,
				Config:    config(moved),
				Check:     sim.expectChanges("unregister_proc_info " + addresses(2)),
			},
		},
	})
}

func TestAccHostedProcessResource_unreachableIsNotDrift(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]string{"says-117": "117", "never-answers": "pending"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(3), more: `timeouts = { read = "2s" }`}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() {
							if err := sim.Unregister(testAddress(2), "web", "nginx"); err != nil {
								t.Error(err)
							}
							sim.Inject(simulator.Fault{API: "operate_proc_v2", Hosts: []string{testAddress(2)}, Unreachable: look})
							sim.ResetCalls()
						},
						Config: config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionNoop)},
						},
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(testResource, "out_of_sync.%", "0"),
							sim.expectChanges(),
						),
					},
				},
			})
		})
	}
}

func TestAccHostedProcessResource_existing(t *testing.T) {
	t.Parallel()
	occupy := func(t *testing.T, sim *testSim) func() {
		t.Helper()
		return func() {
			if err := sim.Register(testAddress(2), "web", "nginx", map[string]string{"who": "somebody"}, `{"identity":{}}`); err != nil {
				t.Error(err)
			}
			sim.ResetCalls()
		}
	}
	t.Run("is-an-error-with-both-ways-out", func(t *testing.T) {
		t.Parallel()
		sim := newSim(t)
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: testFactories,
			Steps: []resource.TestStep{{
				PreConfig: func() {
					occupy(t, sim)()
					if err := sim.Register(testAddress(1), "web", "nginx", nil, `{}`); err != nil {
						t.Error(err)
					}
				},
				Config:      sim.providerConfig() + hostedConfig{hosts: hostsConfig(2)}.String(),
				ExpectError: wrapped(`the process is registered already[\s\S]*adopt_existing = true[\s\S]*import[\s\S]*web:nginx`),
			}},
		})
	})
	t.Run("is-adopted", func(t *testing.T) {
		t.Parallel()
		sim := newSim(t)
		changes := []string{"operate_proc_v2/3 " + addresses(1, 2, 3), "register_proc_info " + addresses(1, 2, 3), "update_proc_info " + addresses(2)}
		if testGateway == bkapi.APIGW { // which looks before it registers
			changes = []string{"register_proc_info " + addresses(1, 3), "update_proc_info " + addresses(2)}
		}
		step := sim.step(sim.providerConfig()+hostedConfig{hosts: hostsConfig(3), more: "adopt_existing = true"}.String(), plancheck.ResourceActionCreate, changes...)
		step.PreConfig = occupy(t, sim)
		resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: testFactories, Steps: []resource.TestStep{step}})
	})
}

// A create that was cut off before its state was saved finds its own work.
func TestAccHostedProcessResource_ownFingerprint(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(2)}.String()
	var own []simulator.Process
	changes := []string{"register_proc_info " + addresses(1, 2)}
	if testGateway == bkapi.APIGW { // which looks before it registers
		changes = nil
	}
	again := sim.step(config, plancheck.ResourceActionCreate, changes...)
	again.PreConfig = func() {
		for _, p := range own {
			if err := sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)); err != nil {
				t.Error(err)
			}
			if err := sim.Host(p.Host, p.Namespace, p.Name); err != nil {
				t.Error(err)
			}
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config, Check: func(*terraform.State) error { own = slices.Clone(sim.Processes()); return nil }},
			{Config: config, Destroy: true},
			again,
		},
	})
}
