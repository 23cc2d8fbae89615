package interruption

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// otherSpec is what out_of_sync says where a refresh finds another spec.
const otherSpec = "other_spec: registered anew by another tool"

// One fleet of 500 hosts through a life: a create that fails on some, drift made
// by hand, a rolling restart that stops where it should, and a destroy.
func TestAccFleetWalk(t *testing.T) {
	t.Parallel()
	const hosts = 500
	var (
		sim       = providertest.NewSim(t)
		hosted    = providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts)}
		fleetOnly = sim.ProviderConfig() + hosted.String()
		restart   = sim.ProviderConfig() + providertest.OperationConfig{Hosted: hosted, Operation: "restart", More: `
  rollout = { batch_size = 50, max_failed_hosts = 2 }`}.String()
		failed     = []int{3, 77, 150, 222, 301, 444, 499}
		byHand     = []int{10, 20, 30}
		dead       = []int{1, 5, 15, 42} // in the first wave
		restarting = 7
	)
	reason := func(n int, want string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr(providertest.HostedAddress, fmt.Sprintf("out_of_sync.web-%d", n), want)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		CheckDestroy: func(*terraform.State) error {
			for _, p := range sim.Processes() {
				if p.Registered {
					return fmt.Errorf("%s is still registered", p.Host)
				}
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				PreConfig:          func() { sim.FailHosts("register_proc_info", failed, 117, "agent is away") },
				Config:             fleetOnly,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "7"),
					reason(77, "not_registered: 117, the agent is abnormal or not found"),
					sim.ExpectHostCalls(map[string]int{"register_proc_info": hosts}),
				),
			},
			{
				PreConfig: sim.Mend,
				Config:    fleetOnly,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "0"),
					sim.ExpectChanges("operate_proc_v2/3 "+providertest.Addresses(failed...), "register_proc_info "+providertest.Addresses(failed...)),
				),
			},
			{
				PreConfig: func() {
					for _, n := range byHand {
						if err := sim.Register(providertest.Address(n), "web", "nginx", map[string]string{"who": "somebody"}, `{"identity":{}}`); err != nil {
							t.Error(err)
						}
					}
				},
				RefreshState:       true,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "3"),
					reason(10, otherSpec), reason(20, otherSpec), reason(30, otherSpec),
				),
			},
			{
				PreConfig: sim.ResetCalls,
				Config:    fleetOnly,
				Check:     sim.ExpectChanges("update_proc_info " + providertest.Addresses(byHand...)),
			},
			{
				PreConfig: func() {
					sim.ResetCalls()
					sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: &restarting, Unreachable: "117", Hosts: providertest.AddressList(dead)})
				},
				Config:             restart,
				ExpectNonEmptyPlan: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					// Of the first wave all but the four came through; no other wave began.
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", fmt.Sprint(hosts-50+len(dead))),
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.web-42", "failed: 117, the agent is abnormal or not found"),
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.web-99", "not_tried: too many hosts had failed before its wave"),
					expectWaves(sim, restarting, 50),
				),
			},
			{
				PreConfig: sim.Mend,
				Config:    restart,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(providertest.OperationAddress, "failed_hosts.%", "0"),
					expectWaves(sim, restarting, append(slices.Repeat([]int{50}, 9), len(dead))...),
				),
			},
		},
	})
}

// expectWaves expects operations of one type with so many hosts each, in order.
func expectWaves(s *providertest.Sim, op int, sizes ...int) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var got []int
		for _, call := range s.Calls().OfOp(op).Of("operate_*") {
			got = append(got, len(call.Hosts))
		}
		if diff := cmp.Diff(sizes, got); diff != "" {
			return fmt.Errorf("waves (-want +got):\n%s", diff)
		}
		return nil
	}
}

func TestAccHostedProcessResource_ensureRunning(t *testing.T) {
	t.Parallel()
	const update = plancheck.ResourceActionUpdate
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(4), More: "ensure = \"running\"\n  rollout = { batch_size = 2 }"}.String()
	stopped := sim.Step(config, update, "operate_proc_v2/0 "+providertest.Addresses(3))
	stopped.PreConfig = func() {
		if err := sim.StopProcess(providertest.Address(3), "web", "nginx"); err != nil {
			t.Error(err)
		}
		sim.ResetCalls()
	}
	died := sim.Step(config, update, "operate_proc_v2/0 "+providertest.Addresses(2))
	died.PreConfig = func() {
		if err := sim.KillProcess(providertest.Address(2), "web", "nginx"); err != nil {
			t.Error(err)
		}
		sim.ResetCalls()
	}
	unhosted := sim.Step(config, update, "operate_proc_v2/3 "+providertest.Addresses(1))
	unhosted.PreConfig = func() {
		if err := sim.Unhost(providertest.Address(1), "web", "nginx"); err != nil {
			t.Error(err)
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			sim.Step(config, plancheck.ResourceActionCreate,
				"operate_proc_v2/0 "+providertest.Addresses(1, 2), "operate_proc_v2/0 "+providertest.Addresses(3, 4),
				"register_proc_info "+providertest.Addresses(1, 2), "register_proc_info "+providertest.Addresses(3, 4)),
			stopped, died, unhosted,
		},
	})
}

// A changed spec goes out in waves; what did not get its turn is out of sync,
// with the call that it needs, and not more.
func TestAccHostedProcessResource_rollout(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(start string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(6), Start: start, More: "rollout = { batch_size = 2 }"}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("./a.sh")},
			{
				PreConfig:   func() { sim.FailHosts("update_proc_info", []int{3}, 117, "agent is away") },
				Config:      config("./b.sh"),
				ExpectError: providertest.Wrapped(`web-3 \(0:10.0.0.4\): 117[\s\S]*web-5, web-6 \(2 hosts\): not tried: too many hosts had failed`),
			},
			{
				PreConfig: sim.Mend,
				Config:    config("./b.sh"),
				Check:     sim.ExpectChanges("update_proc_info "+providertest.Addresses(3, 5), "update_proc_info "+providertest.Addresses(6)),
			},
		},
	})
}

func TestAccHostedProcessResource_defaultLabels(t *testing.T) {
	t.Parallel()
	const update = plancheck.ResourceActionUpdate
	sim := providertest.NewSim(t)
	config := func(defaults string) string {
		return sim.ProviderConfig("default_labels = "+defaults) + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: `{ team = "sre" }`}.String()
	}
	labelled := func(step resource.TestStep, want map[string]string) resource.TestStep {
		changes := step.Check
		step.Check = func(s *terraform.State) error {
			process, _ := sim.Process(providertest.Address(1), "web", "nginx")
			if !regexp.MustCompile(`^v1-[0-9a-f]{16}$`).MatchString(process.Labels["tf_spec"]) {
				return fmt.Errorf("the fingerprint is %q", process.Labels["tf_spec"])
			}
			delete(process.Labels, "tf_spec")
			delete(process.Labels, "tf_spec_owner") // each object has its own
			if diff := cmp.Diff(want, process.Labels); diff != "" {
				return fmt.Errorf("labels (-want +got):\n%s", diff)
			}
			return changes(s)
		}
		return step
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			labelled(sim.Step(config(`{ env = "prod", team = "none" }`), plancheck.ResourceActionCreate,
				"operate_proc_v2/3 "+providertest.Addresses(1, 2), "register_proc_info "+providertest.Addresses(1, 2)), map[string]string{"env": "prod", "team": "sre"}),
			labelled(sim.Step(config(`{ env = "test", team = "none" }`), update,
				"update_proc_info "+providertest.Addresses(1, 2)), map[string]string{"env": "test", "team": "sre"}),
			// A default that the resource's own label hides changes nothing.
			labelled(sim.Step(config(`{ env = "test", team = "other" }`), plancheck.ResourceActionNoop), map[string]string{"env": "test", "team": "sre"}),
		},
	})
}

func TestAccHostedProcessResource_fingerprintOff(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig(`spec_fingerprint_label = ""`) + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: `ensure = "registered"`}.String()
	unseen := sim.Step(config, plancheck.ResourceActionNoop)
	unseen.PreConfig = func() {
		if err := sim.Register(providertest.Address(1), "web", "nginx", nil, `{"identity":{}}`); err != nil {
			t.Error(err)
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			sim.Step(config, plancheck.ResourceActionCreate, "register_proc_info "+providertest.Addresses(1, 2)),
			unseen,
		},
	})
}

// A registration that the cached status does not show yet is not drift.
func TestAccHostedProcessResource_laggingStatus(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(start string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Start: start}.String()
	}
	lagging := sim.Step(config("./b.sh"), plancheck.ResourceActionUpdate, "update_proc_info "+providertest.Addresses(1, 2))
	lagging.PreConfig = func() { sim.FreezeStatus(); sim.ResetCalls() }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("./a.sh")},
			lagging,
			{PreConfig: sim.ThawStatus, Config: config("./b.sh"), ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
			}},
		},
	})
}

func TestAccHostedProcessResource_onDestroy(t *testing.T) {
	t.Parallel()
	for how, op := range map[string]string{"stop": "operate_proc_v2/1", "kill": "operate_proc_v2/9"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(3), More: fmt.Sprintf("ensure = \"running\"\n  on_destroy = %q", how)}.String()
			two := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: fmt.Sprintf("ensure = \"running\"\n  on_destroy = %q", how)}.String()
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: config},
					sim.Step(two, plancheck.ResourceActionUpdate, op+" "+providertest.Addresses(3), "unregister_proc_info "+providertest.Addresses(3)),
					{
						PreConfig: sim.ResetCalls, Config: two, Destroy: true,
						Check: sim.ExpectChanges(op+" "+providertest.Addresses(1, 2), "unregister_proc_info "+providertest.Addresses(1, 2)),
					},
				},
			})
		})
	}
}

// An import whose hosts carry the declared fingerprint calls none of them.
func TestAccHostedProcessResource_importThenApply(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: `{ "0:10.0.0.2" = "0:10.0.0.2", "0:10.0.0.3" = "0:10.0.0.3" }`, Labels: `{ team = "sre" }`}.String()
	imported := config + `
import {
  to = bk_hosted_process.test
  id = "web:nginx"
}
`
	var own []simulator.Process
	step := sim.Step(imported, plancheck.ResourceActionUpdate, "update_proc_info "+providertest.Addresses(2))
	step.PreConfig = func() {
		for _, p := range own {
			if err := sim.Register(p.Host, p.Namespace, p.Name, p.Labels, string(p.Spec)); err != nil {
				t.Error(err)
			}
			if err := sim.Host(p.Host, p.Namespace, p.Name); err != nil {
				t.Error(err)
			}
		}
		// One of the two was registered by somebody else.
		if err := sim.Register(providertest.Address(2), "web", "nginx", map[string]string{"team": "sre"}, `{"identity":{}}`); err != nil {
			t.Error(err)
		}
		sim.ResetCalls()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config, Check: func(*terraform.State) error { own = sim.Processes(); return nil }},
			{Config: config, Destroy: true},
			step,
		},
	})
}
