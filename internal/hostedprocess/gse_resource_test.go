package hostedprocess_test

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

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestAccHostedProcessResource_basic(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	create := sim.Step(sim.ProviderConfig()+providertest.HostedConfig{Hosts: providertest.HostsConfig(3)}.String(), plancheck.ResourceActionCreate,
		"operate_proc_v2/3 "+providertest.Addresses(1, 2, 3), "register_proc_info "+providertest.Addresses(1, 2, 3))
	create.ConfigStateChecks = []statecheck.StateCheck{
		statecheck.ExpectKnownValue(providertest.HostedAddress, tfjsonpath.New("id"), knownvalue.StringExact("web:nginx")),
		statecheck.ExpectKnownValue(providertest.HostedAddress, tfjsonpath.New("ensure"), knownvalue.StringExact("hosted")),
		statecheck.ExpectKnownValue(providertest.HostedAddress, tfjsonpath.New("out_of_sync"), knownvalue.MapSizeExact(0)),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
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
	sim := providertest.NewSim(t)
	config := func(c providertest.HostedConfig) string { return sim.ProviderConfig() + c.String() }
	three := providertest.HostsConfig(3)
	reordered := "{\n web-3 = \"0:10.0.0.4\"\n web-1 = \"0:10.0.0.2\"\n web-2 = \"0:10.0.0.3\"\n }"
	renamed := strings.ReplaceAll(three, "web-2", "frontend-2")
	respelt := strings.ReplaceAll(renamed, "0:10.0.0.2", "0:0:10.0.0.2")

	// Hosting sends the timeout, and at the gateway registering is hosting.
	var timeoutSent []string
	if providertest.Gateway == bkapi.APIGW {
		timeoutSent = []string{"update_proc_info " + providertest.Addresses(1, 2, 5)}
	}

	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			sim.Step(config(providertest.HostedConfig{Hosts: three}), plancheck.ResourceActionCreate,
				"operate_proc_v2/3 "+providertest.Addresses(1, 2, 3), "register_proc_info "+providertest.Addresses(1, 2, 3)),
			sim.Step(config(providertest.HostedConfig{Hosts: three}), noop),
			sim.Step(config(providertest.HostedConfig{Hosts: reordered}), noop),
			sim.Step(config(providertest.HostedConfig{Hosts: renamed}), update),
			sim.Step(config(providertest.HostedConfig{Hosts: respelt}), update),
			sim.Step(config(providertest.HostedConfig{Hosts: three}), update),
			sim.Step(config(providertest.HostedConfig{Hosts: providertest.HostsConfig(4)}), update,
				"operate_proc_v2/3 "+providertest.Addresses(4), "register_proc_info "+providertest.Addresses(4)),
			sim.Step(config(providertest.HostedConfig{Hosts: three}), update,
				"unregister_proc_info "+providertest.Addresses(4)),
			sim.Step(config(providertest.HostedConfig{Hosts: three, Start: "./start.sh --again"}), update,
				"update_proc_info "+providertest.Addresses(1, 2, 3)),
			sim.Step(config(providertest.HostedConfig{Hosts: three, Start: "./start.sh --again", Labels: `{ team = "sre" }`}), update,
				"update_proc_info "+providertest.Addresses(1, 2, 3)),
			sim.Step(config(providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1, 2, 5), Start: "./start.sh", Labels: `{ team = "sre" }`}), update,
				"operate_proc_v2/3 "+providertest.Addresses(5), "register_proc_info "+providertest.Addresses(5),
				"unregister_proc_info "+providertest.Addresses(3), "update_proc_info "+providertest.Addresses(1, 2)),
			sim.Step(config(providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1, 2, 5), Labels: `{ team = "sre" }`, More: `ensure = "registered"`}), update),
			sim.Step(config(providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1, 2, 5), Labels: `{ team = "sre" }`, More: `on_destroy = "stop"`}), update),
			sim.Step(config(providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1, 2, 5), Labels: `{ team = "sre" }`}), update),
			sim.Step(strings.ReplaceAll(config(providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1, 2, 5), Labels: `{ team = "sre" }`}), `auto_type = 1`, `auto_type = 1, op_timeout = 90`), update, timeoutSent...),
			sim.Step(strings.ReplaceAll(config(providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1)}), `"nginx"`+"\n    labels", `"proxy"`+"\n    labels"), replace,
				"operate_proc_v2/3 "+providertest.Addresses(1), "register_proc_info "+providertest.Addresses(1), "unregister_proc_info "+providertest.Addresses(1, 2, 5)),
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
			sim := providertest.NewSim(t)
			config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts)}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
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
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(5)}.String()
	drift := func(change func() error) func() {
		return func() {
			if err := change(); err != nil {
				t.Error(err)
			}
			sim.ResetCalls()
		}
	}
	mended := func(change func() error, changes ...string) resource.TestStep {
		step := sim.Step(config, update, changes...)
		step.PreConfig = drift(change)
		return step
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config},
			mended(func() error { return sim.Unregister(providertest.Address(2), "web", "nginx") },
				"operate_proc_v2/3 "+providertest.Addresses(2), "register_proc_info "+providertest.Addresses(2)),
			mended(func() error { return sim.Unhost(providertest.Address(3), "web", "nginx") },
				"operate_proc_v2/3 "+providertest.Addresses(3)),
			mended(func() error {
				return sim.Register(providertest.Address(4), "web", "nginx", map[string]string{"who": "somebody"}, `{"identity":{}}`)
			}, "update_proc_info "+providertest.Addresses(4)),
			{
				// The reasons, as a plan shows them.
				PreConfig: drift(func() error {
					return errors.Join(sim.Unregister(providertest.Address(1), "web", "nginx"), sim.Unhost(providertest.Address(3), "web", "nginx"),
						sim.Register(providertest.Address(5), "web", "nginx", nil, `{"identity":{}}`))
				}),
				RefreshState:       true,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "3"),
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.web-1", "unregistered: the platform no longer knows the process here"),
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.web-3", "not_hosted: not hosted"),
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.web-5", "other_spec: registered anew by another tool"),
				),
			},
			{
				// A refresh sees that somebody else mended it; nothing is left to do.
				PreConfig: func() {
					spec, _ := sim.Process(providertest.Address(2), "web", "nginx")
					for _, n := range []int{1, 5} {
						if err := sim.Register(providertest.Address(n), "web", "nginx", spec.Labels, string(spec.Spec)); err != nil {
							t.Error(err)
						}
						if err := sim.Host(providertest.Address(n), "web", "nginx"); err != nil {
							t.Error(err)
						}
					}
					if err := sim.Host(providertest.Address(3), "web", "nginx"); err != nil {
						t.Error(err)
					}
					sim.ResetCalls()
				},
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionNoop)},
				},
				Check: sim.ExpectChanges(),
			},
		},
	})
}

func TestAccHostedProcessResource_disappears(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String()
	step := sim.Step(config, plancheck.ResourceActionCreate,
		"operate_proc_v2/3 "+providertest.Addresses(1, 2), "register_proc_info "+providertest.Addresses(1, 2))
	step.PreConfig = func() {
		for n := range 2 {
			if err := sim.Unregister(providertest.Address(n+1), "web", "nginx"); err != nil {
				t.Error(err)
			}
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps:                    []resource.TestStep{{Config: config}, step},
	})
}

func TestAccHostedProcessResource_import(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: `{ team = "sre" }`}.String()
	byID := func(id string) resource.TestStep {
		return resource.TestStep{
			ResourceName: providertest.HostedAddress, ImportState: true, ImportStateId: id, ImportStatePersist: false,
			ImportStateCheck:  nil,
			ImportStateVerify: true,
			// The platform never returns a spec, an import cannot know the keys, and what is
			// sent as labels is not known before the first apply.
			ImportStateVerifyIgnore: []string{"spec", "hosts", "labels_all", "process", "rollout_plan"},
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config},
			byID("web:nginx"),
			byID("web:nginx@0:10.0.0.2,0:10.0.0.3"),
			{ResourceName: providertest.HostedAddress, ImportState: true, ImportStateId: "web", ExpectError: regexp.MustCompile(`"web" is not an import id; an import id is`)},
			{ResourceName: providertest.HostedAddress, ImportState: true, ImportStateId: "web:other", ExpectError: regexp.MustCompile(`Hosted Process Not Found`)},
			{ResourceName: providertest.HostedAddress, ImportState: true, ImportStateId: "web:nginx@10.0.0.1", ExpectError: regexp.MustCompile(`has no\s+bk_cloud_id`)},
		},
	})
}

// A gateway that does not replace a hosting is made to: what it says is hosted already
// is unhosted and hosted again. A host that cannot be unhosted stays as it is.
func TestHostedProcess_gatewayHostsOnce(t *testing.T) {
	t.Parallel()
	hosting := func(op string, numbers ...int) string {
		return "operate_proc_multi/" + op + " " + providertest.Addresses(numbers...)
	}
	for name, c := range map[string]struct {
		fails []int // to be unhosted
		calls []string
		left  map[string]string
	}{
		"all": {nil, []string{hosting("3", 1, 2, 3), hosting("4", 1, 2, 3), hosting("3", 1, 2, 3)}, map[string]string{}},
		"one-cannot-be-unhosted": {
			[]int{2}, []string{hosting("3", 1, 2, 3), hosting("4", 1, 2, 3), hosting("3", 1, 3)},
			map[string]string{"web-2": "other_spec"},
		},
		"none-can-be-unhosted": {
			[]int{1, 2, 3}, []string{hosting("3", 1, 2, 3), hosting("4", 1, 2, 3)},
			map[string]string{"web-1": "other_spec", "web-2": "other_spec", "web-3": "other_spec"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.HostingOnce = true
			resource := providertest.ConfiguredWith(t, sim.SettingsFor(providertest.FaceGateway)).CoreOf(providertest.HostedType, &providertest.Kept{})
			resource.Applied(providertest.FaceGateway.Reference("./a.sh", 3))
			if len(c.fails) > 0 {
				sim.Inject(simulator.Fault{
					API: "operate_proc_multi", Op: new(simulator.OpUnhost), Hosts: providertest.AddressList(c.fails), Code: new(65535),
				})
			}
			sim.ResetCalls()

			_, said := resource.Apply(providertest.FaceGateway.Reference("./b.sh", 3))

			var calls []string
			for _, call := range sim.Calls().Of("operate_proc_multi") {
				calls = append(calls, call.API+"/"+map[int]string{3: "3", 4: "4"}[call.Op]+" "+strings.Join(call.Hosts, " "))
			}
			if diff := cmp.Diff(c.calls, calls); diff != "" {
				t.Errorf("calls in their order (-want +got):\n%s", diff)
			}
			if said.Failed() != (len(c.fails) > 0) {
				t.Errorf("said: %s", said)
			}
			left := map[string]string{}
			for key, reason := range resource.Reasons("out_of_sync") {
				left[key], _, _ = strings.Cut(reason, ":")
				if !strings.Contains(reason, "65535") {
					t.Errorf("%s: %s", key, reason)
				}
			}
			if diff := cmp.Diff(c.left, left); diff != "" {
				t.Errorf("out_of_sync (-want +got):\n%s", diff)
			}
			for key, address := range providertest.HostsOf(3) {
				process, _ := sim.Process(address, "web", "nginx")
				start := "./b.sh"
				if _, failed := c.left[key]; failed {
					start = "./a.sh"
				}
				if !process.Hosted || !providertest.StartsWith(process, start) {
					t.Errorf("%s should be hosted with %s and is %+v", key, start, process)
				}
			}
		})
	}
}
