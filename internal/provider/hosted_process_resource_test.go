package provider

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

func TestAccHostedProcessResource_basic(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	create := sim.step(sim.providerConfig()+hostedConfig{hosts: hostsConfig(3)}.String(), plancheck.ResourceActionCreate,
		"operate_proc_v2/3 "+addresses(1, 2, 3), "register_proc_info "+addresses(1, 2, 3))
	create.ConfigStateChecks = []statecheck.StateCheck{
		statecheck.ExpectKnownValue(testResource, tfjsonpath.New("id"), knownvalue.StringExact("web:nginx")),
		statecheck.ExpectKnownValue(testResource, tfjsonpath.New("ensure"), knownvalue.StringExact("hosted")),
		statecheck.ExpectKnownValue(testResource, tfjsonpath.New("out_of_sync"), knownvalue.MapSizeExact(0)),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		CheckDestroy: func(*terraform.State) error {
			if left := sim.Processes(); len(left) > 0 {
				return fmt.Errorf("still known to the platform: %v", left)
			}
			return nil
		},
		Steps: []resource.TestStep{create},
	})
}

// Every kind of update, and the calls that it makes and does not make.
func TestAccHostedProcessResource_updateDifference(t *testing.T) {
	t.Parallel()
	const noop, update, replace = plancheck.ResourceActionNoop, plancheck.ResourceActionUpdate, plancheck.ResourceActionDestroyBeforeCreate
	sim := newSim(t)
	config := func(c hostedConfig) string { return sim.providerConfig() + c.String() }
	three := hostsConfig(3)
	reordered := "{\n web-3 = \"0:10.0.0.4\"\n web-1 = \"0:10.0.0.2\"\n web-2 = \"0:10.0.0.3\"\n }"
	renamed := strings.ReplaceAll(three, "web-2", "frontend-2")
	respelt := strings.ReplaceAll(renamed, "0:10.0.0.2", "0:0:10.0.0.2")

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			sim.step(config(hostedConfig{hosts: three}), plancheck.ResourceActionCreate,
				"operate_proc_v2/3 "+addresses(1, 2, 3), "register_proc_info "+addresses(1, 2, 3)),
			sim.step(config(hostedConfig{hosts: three}), noop),
			sim.step(config(hostedConfig{hosts: reordered}), noop),
			sim.step(config(hostedConfig{hosts: renamed}), update),
			sim.step(config(hostedConfig{hosts: respelt}), update),
			sim.step(config(hostedConfig{hosts: three}), update),
			sim.step(config(hostedConfig{hosts: hostsConfig(4)}), update,
				"operate_proc_v2/3 "+addresses(4), "register_proc_info "+addresses(4)),
			sim.step(config(hostedConfig{hosts: three}), update,
				"unregister_proc_info "+addresses(4)),
			sim.step(config(hostedConfig{hosts: three, start: "./start.sh --again"}), update,
				"update_proc_info "+addresses(1, 2, 3)),
			sim.step(config(hostedConfig{hosts: three, start: "./start.sh --again", labels: `{ team = "sre" }`}), update,
				"update_proc_info "+addresses(1, 2, 3)),
			sim.step(config(hostedConfig{hosts: hostsConfigOf(1, 2, 5), start: "./start.sh", labels: `{ team = "sre" }`}), update,
				"operate_proc_v2/3 "+addresses(5), "register_proc_info "+addresses(5),
				"unregister_proc_info "+addresses(3), "update_proc_info "+addresses(1, 2)),
			sim.step(config(hostedConfig{hosts: hostsConfigOf(1, 2, 5), labels: `{ team = "sre" }`, more: `ensure = "registered"`}), update),
			sim.step(config(hostedConfig{hosts: hostsConfigOf(1, 2, 5), labels: `{ team = "sre" }`, more: `on_destroy = "stop"`}), update),
			sim.step(config(hostedConfig{hosts: hostsConfigOf(1, 2, 5), labels: `{ team = "sre" }`}), update),
			sim.step(strings.ReplaceAll(config(hostedConfig{hosts: hostsConfigOf(1, 2, 5), labels: `{ team = "sre" }`}), `auto_type = 1`, `auto_type = 1, op_timeout = 90`), update),
			sim.step(strings.ReplaceAll(config(hostedConfig{hosts: hostsConfigOf(1)}), `"nginx"`+"\n    labels", `"proxy"`+"\n    labels"), replace,
				"operate_proc_v2/3 "+addresses(1), "register_proc_info "+addresses(1), "unregister_proc_info "+addresses(1, 2, 5)),
		},
	})
}

// A fleet of n hosts in sync costs ceil(n / max_hosts_per_request) status calls a
// refresh.
func TestAccHostedProcessResource_refreshCalls(t *testing.T) {
	t.Parallel()
	for hosts, calls := range map[int]int{1: 1, 1000: 1, 2500: 3} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(hosts)}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{Config: config},
					{
						PreConfig:    sim.ResetCalls,
						RefreshState: true,
						Check: func(*terraform.State) error {
							if diff := cmp.Diff(slices.Repeat([]string{"get_proc_status_v2"}, calls), sim.Calls().APIs()); diff != "" {
								return fmt.Errorf("calls of a refresh (-want +got):\n%s", diff)
							}
							return nil
						},
					},
				},
			})
		})
	}
}

func TestAccHostedProcessResource_driftIsMended(t *testing.T) {
	t.Parallel()
	const update = plancheck.ResourceActionUpdate
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(5)}.String()
	drift := func(change func() error) func() {
		return func() {
			if err := change(); err != nil {
				t.Error(err)
			}
			sim.ResetCalls()
		}
	}
	mended := func(change func() error, changes ...string) resource.TestStep {
		step := sim.step(config, update, changes...)
		step.PreConfig = drift(change)
		return step
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config},
			mended(func() error { return sim.Unregister(testAddress(2), "web", "nginx") },
				"operate_proc_v2/3 "+addresses(2), "register_proc_info "+addresses(2)),
			mended(func() error { return sim.Unhost(testAddress(3), "web", "nginx") },
				"operate_proc_v2/3 "+addresses(3)),
			mended(func() error {
				return sim.Register(testAddress(4), "web", "nginx", map[string]string{"who": "somebody"}, `{"identity":{}}`)
			}, "update_proc_info "+addresses(4)),
			{
				// The reasons, as a plan shows them.
				PreConfig: drift(func() error {
					return errors.Join(sim.Unregister(testAddress(1), "web", "nginx"), sim.Unhost(testAddress(3), "web", "nginx"),
						sim.Register(testAddress(5), "web", "nginx", nil, `{"identity":{}}`))
				}),
				RefreshState:       true,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(testResource, "out_of_sync.%", "3"),
					resource.TestCheckResourceAttr(testResource, "out_of_sync.web-1", "not registered"),
					resource.TestCheckResourceAttr(testResource, "out_of_sync.web-3", "registered but not hosted"),
					resource.TestCheckResourceAttr(testResource, "out_of_sync.web-5", "registered with another spec"),
				),
			},
			{
				// A refresh sees that somebody else mended it; nothing is left to do.
				PreConfig: func() {
					spec, _ := sim.Process(testAddress(2), "web", "nginx")
					for _, n := range []int{1, 5} {
						if err := sim.Register(testAddress(n), "web", "nginx", spec.Labels, string(spec.Spec)); err != nil {
							t.Error(err)
						}
						if err := sim.Host(testAddress(n), "web", "nginx"); err != nil {
							t.Error(err)
						}
					}
					if err := sim.Host(testAddress(3), "web", "nginx"); err != nil {
						t.Error(err)
					}
					sim.ResetCalls()
				},
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionNoop)},
				},
				Check: sim.expectChanges(),
			},
		},
	})
}

func TestAccHostedProcessResource_disappears(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(2)}.String()
	step := sim.step(config, plancheck.ResourceActionCreate,
		"operate_proc_v2/3 "+addresses(1, 2), "register_proc_info "+addresses(1, 2))
	step.PreConfig = func() {
		for n := range 2 {
			if err := sim.Unregister(testAddress(n+1), "web", "nginx"); err != nil {
				t.Error(err)
			}
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps:                    []resource.TestStep{{Config: config}, step},
	})
}

func TestAccHostedProcessResource_import(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(2), labels: `{ team = "sre" }`}.String()
	byID := func(id string) resource.TestStep {
		return resource.TestStep{
			ResourceName: testResource, ImportState: true, ImportStateId: id, ImportStatePersist: false,
			ImportStateCheck:  nil,
			ImportStateVerify: true,
			// The platform never returns a spec, and an import cannot know the keys.
			ImportStateVerifyIgnore: []string{"spec", "hosts"},
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config},
			byID("web:nginx"),
			byID("web:nginx@0:10.0.0.2,0:10.0.0.3"),
			{ResourceName: testResource, ImportState: true, ImportStateId: "web", ExpectError: regexp.MustCompile(`"web" is not an import id; an import id is`)},
			{ResourceName: testResource, ImportState: true, ImportStateId: "web:other", ExpectError: regexp.MustCompile(`Hosted Process Not Found`)},
			{ResourceName: testResource, ImportState: true, ImportStateId: "web:nginx@10.0.0.1", ExpectError: regexp.MustCompile(`has no\s+bk_cloud_id`)},
		},
	})
}
