package hostedprocess_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Promised in from-gsekit.md: Where a host fails, the apply ends with a warning, the host stands
// in `out_of_sync`, and the next apply tries that host alone.
// Promised in partial-failure.md: So a create that did part of its work ends with a warning, and
// the work that is left shows in the next plan.
//
// Promised in troubleshooting.md: apply again: only those are called.
func TestAccHostedProcessResource_partialCreate(t *testing.T) {
	t.Parallel()
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(c.Hosts), More: `ensure = "registered"`}.String()
			bad := providertest.Failing(c.Hosts, c.Failing)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{
						PreConfig:          func() { sim.FailHosts("register_proc_info", bad, 117, "agent is away") },
						Config:             config,
						ExpectNonEmptyPlan: true, // the apply exits 0, the next plan 2
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionUpdate)},
						},
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", fmt.Sprint(c.Failing)),
							resource.TestCheckResourceAttr(providertest.HostedAddress, fmt.Sprintf("out_of_sync.web-%d", c.Hosts),
								"not_registered: 117, the agent is abnormal or not found"),
							sim.ExpectHostCalls(map[string]int{"register_proc_info": c.Hosts}),
						),
					},
					{
						// Still failing: an update ends with an error and keeps an exact state.
						PreConfig:   sim.ResetCalls,
						Config:      config,
						ExpectError: providertest.Wrapped(fmt.Sprintf(`is not as declared on %d of %d hosts?`, c.Failing, c.Failing)),
					},
					{
						PreConfig: sim.Mend,
						Config:    config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionUpdate)},
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "0"),
							sim.ExpectHostCalls(map[string]int{"register_proc_info": c.Failing, "update_proc_info": 0}),
						),
					},
				},
			})
		})
	}
}

// Promised in partial-failure.md: With `on_partial_create = "error"` the warnings in this table
// are errors, and the resource is tainted.
// Promised in partial-failure.md: `on_partial_create = "error"` ends the create with an error.
// Promised in reference: with an error, after which Terraform taints the resource and the next
// apply unregisters every host and begins anew.
func TestAccHostedProcessResource_partialCreateAsError(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: `on_partial_create = "error"`}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.FailHosts("register_proc_info", []int{2}, 117, "agent is away") },
				Config:      config,
				ExpectError: regexp.MustCompile(`Hosted Process Created In Part`),
			},
			{
				// Tainted, as documented: everything that was registered is unregistered, and
				// all is begun anew.
				PreConfig: sim.Mend,
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionDestroyBeforeCreate)},
				},
				Check: sim.ExpectHostCalls(map[string]int{"unregister_proc_info": 2, "register_proc_info": 3}),
			},
		},
	})
}

func TestAccHostedProcessResource_createFailsEverywhere(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.FailHosts("register_proc_info", []int{1, 2}, 117, "agent is away") },
				Config:      config,
				ExpectError: regexp.MustCompile(`Unable to Register Hosted Process[\s\S]*web-1, web-2 \(2 hosts\): 117`),
			},
			{
				PreConfig: sim.Mend,
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionCreate)},
				},
				Check: sim.ExpectHostCalls(map[string]int{"unregister_proc_info": 0, "register_proc_info": 2}),
			},
		},
	})
}

// A postcondition makes an apply with failures exit 1, without taint.
//
// Promised in partial-failure.md: A postcondition makes the apply fail with exit code 1 and
// taints nothing.
func TestAccHostedProcessResource_partialCreatePostcondition(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: `
  lifecycle {
    postcondition {
      condition     = length(self.out_of_sync) == 0
      error_message = "Not on every host: ${join(", ", keys(self.out_of_sync))}."
    }
  }`}.String()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.FailHosts("register_proc_info", []int{2}, 117, "agent is away") },
				Config:      config,
				ExpectError: regexp.MustCompile(`Not on every host: web-2`),
			},
			{
				PreConfig: sim.Mend,
				Config:    config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionUpdate)},
				},
				Check: sim.ExpectHostCalls(map[string]int{"unregister_proc_info": 0, "register_proc_info": 1}),
			},
		},
	})
}

func TestAccHostedProcessResource_partialUpdate(t *testing.T) {
	t.Parallel()
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			before := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(c.Hosts), More: `ensure = "registered"`}.String()
			after := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(c.Hosts), Start: "./other.sh", More: `ensure = "registered"`}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: before},
					{
						PreConfig: func() {
							sim.FailHosts("update_proc_info", providertest.Failing(c.Hosts, c.Failing), 117, "agent is away")
						},
						Config:      after,
						ExpectError: regexp.MustCompile(`Unable to Update Hosted Process`),
					},
					{
						PreConfig: sim.Mend,
						Config:    after,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
						Check: sim.ExpectHostCalls(map[string]int{"register_proc_info": 0, "update_proc_info": c.Failing}),
					},
				},
			})
		})
	}
}

func TestAccHostedProcessResource_partialDelete(t *testing.T) {
	t.Parallel()
	for name, c := range providertest.PartialCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(c.Hosts), More: `ensure = "registered"`}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() {
							sim.FailHosts("unregister_proc_info", providertest.Failing(c.Hosts, c.Failing), 117, "agent is away")
						},
						Config:      config,
						Destroy:     true,
						ExpectError: regexp.MustCompile(`Unable to Unregister Hosted Process`),
					},
					{
						PreConfig: sim.Mend,
						Config:    config,
						Destroy:   true,
						Check:     sim.ExpectHostCalls(map[string]int{"unregister_proc_info": c.Failing}),
					},
				},
			})
		})
	}
}

// A host that could not be unregistered stays in state until it is.
func TestAccHostedProcessResource_partialRemoval(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(hosts string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{Hosts: hosts}.String()
	}
	moved := `{ web-1 = "0:10.0.0.2", web-2 = "0:10.0.0.9" }` // web-2 is another machine now
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config(providertest.HostsConfig(2))},
			{
				PreConfig:   func() { sim.FailHosts("unregister_proc_info", []int{2}, 117, "agent is away") },
				Config:      config(moved),
				ExpectError: regexp.MustCompile(`Unable to Unregister Hosted Process[\s\S]*web-2 \(0:10\.0\.0\.3\): 117`),
			},
			{
				PreConfig: sim.Mend,
				Config:    config(moved),
				Check:     sim.ExpectChanges("unregister_proc_info " + providertest.Addresses(2)),
			},
		},
	})
}

// Promised in drift-in-ci.md: a host that had to be asked and whose agent did not answer counts
// as it was.
func TestAccHostedProcessResource_unreachableIsNotDrift(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]string{"says-117": "117", "never-answers": "pending"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: `timeouts = { read = "2s" }`}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig: func() {
							if err := sim.Unregister(providertest.Address(2), "web", "nginx"); err != nil {
								t.Error(err)
							}
							sim.Inject(simulator.Fault{API: "operate_proc_v2", Hosts: []string{providertest.Address(2)}, Unreachable: look})
							sim.ResetCalls()
						},
						Config: config,
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionNoop)},
						},
						Check: resource.ComposeAggregateTestCheckFunc(
							resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "0"),
							sim.ExpectChanges(),
						),
					},
					{PreConfig: sim.Mend, Config: config, Destroy: true},
				},
			})
		})
	}
}

// Promised in partial-failure.md: A host on which the process is registered already fails a
// create (`the process is registered already`).
func TestAccHostedProcessResource_existing(t *testing.T) {
	t.Parallel()
	occupy := func(t *testing.T, sim *providertest.Sim) func() {
		t.Helper()
		return func() {
			if err := sim.Register(providertest.Address(2), "web", "nginx", map[string]string{"who": "somebody"}, `{"identity":{}}`); err != nil {
				t.Error(err)
			}
			sim.ResetCalls()
		}
	}
	t.Run("is-an-error-with-both-ways-out", func(t *testing.T) {
		t.Parallel()
		sim := providertest.NewSim(t)
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: providertest.Factories,
			Steps: []resource.TestStep{{
				PreConfig: func() {
					occupy(t, sim)()
					if err := sim.Register(providertest.Address(1), "web", "nginx", nil, `{}`); err != nil {
						t.Error(err)
					}
				},
				Config:      sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String(),
				ExpectError: providertest.Wrapped(`the process is registered already[\s\S]*adopt_existing = true[\s\S]*import[\s\S]*web:nginx`),
			}},
		})
	})
	t.Run("is-adopted", func(t *testing.T) {
		t.Parallel()
		sim := providertest.NewSim(t)
		changes := []string{"operate_proc_v2/3 " + providertest.Addresses(1, 2, 3), "register_proc_info " + providertest.Addresses(1, 2, 3), "update_proc_info " + providertest.Addresses(2)}
		if providertest.Gateway == bkapi.APIGW { // which looks before it registers
			changes = []string{"register_proc_info " + providertest.Addresses(1, 3), "update_proc_info " + providertest.Addresses(2)}
		}
		step := sim.Step(sim.ProviderConfig()+providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: "adopt_existing = true"}.String(), plancheck.ResourceActionCreate, changes...)
		step.PreConfig = occupy(t, sim)
		resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: providertest.Factories, Steps: []resource.TestStep{step}})
	})
}

// A create that was cut off before its state was saved finds its own work.
func TestAccHostedProcessResource_ownFingerprint(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String()
	var own []simulator.Process
	// The agents say that it is hosted, so nothing is registered over; the call puts the
	// owner id of the new object on file.
	again := sim.Step(config, plancheck.ResourceActionCreate, "update_proc_info "+providertest.Addresses(1, 2))
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
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config, Check: func(*terraform.State) error { own = slices.Clone(sim.Processes()); return nil }},
			{Config: config, Destroy: true},
			again,
		},
	})
}
