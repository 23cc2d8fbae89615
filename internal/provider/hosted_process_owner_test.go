package provider

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// registerForeign registers a process of somebody else on a host.
func registerForeign(s *testSim, t *testing.T, n int) {
	t.Helper()
	if err := s.Register(testAddress(n), "web", "nginx", map[string]string{"owner": "other-team"}, `{"identity":{}}`); err != nil {
		t.Error(err)
	}
}

// A registration that was there before the resource stays its owner's: it is not
// taken over by a later apply, nor removed by a destroy, until it is adopted.
func TestAccHostedProcessResource_foreignOwner(t *testing.T) {
	t.Parallel()
	esbOnly(t, "the gateway looks before it registers, so no register call is there to be counted")
	untouched := func(sim *testSim) error {
		process, known := sim.Process(testAddress(2), "web", "nginx")
		if !known || process.Labels["owner"] != "other-team" {
			return fmt.Errorf("the process of the other team is now %+v", process)
		}
		return nil
	}
	for name, last := range map[string]func(*testSim, string) resource.TestStep{
		"leaves": func(sim *testSim, _ string) resource.TestStep {
			return resource.TestStep{
				PreConfig: sim.ResetCalls,
				Config:    sim.providerConfig() + hostedConfig{hosts: hostsConfigOf(1), more: `on_destroy = "kill"`}.String(),
				Check:     sim.expectChanges(),
			}
		},
		"destroyed": func(sim *testSim, config string) resource.TestStep {
			return resource.TestStep{
				PreConfig: sim.ResetCalls, Config: config, Destroy: true,
				Check: sim.expectChanges("operate_proc_v2/9 "+addresses(1), "unregister_proc_info "+addresses(1)),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			config := sim.providerConfig() + hostedConfig{hosts: hostsConfig(2), more: `on_destroy = "kill"`}.String()
			reason := resource.TestCheckResourceAttr(testResource, "out_of_sync.web-2",
				"registered by somebody else: 850, the process is registered already")
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{PreConfig: func() { registerForeign(sim, t, 2) }, Config: config, ExpectNonEmptyPlan: true, Check: reason},
					{RefreshState: true, ExpectNonEmptyPlan: true, Check: reason},
					{Config: config, ExpectError: wrapped(`Unable to Update Hosted Process[\s\S]*web-2 \(0:10.0.0.3\): 850[\s\S]*adopt_existing = true`)},
					last(sim, config),
				},
			})
			if err := untouched(sim); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		sim := newSim(t)
		config := hostedConfig{hosts: hostsConfig(2)}
		adopting := hostedConfig{hosts: hostsConfig(2), more: "adopt_existing = true"}
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: testFactories,
			Steps: []resource.TestStep{
				{PreConfig: func() { registerForeign(sim, t, 2) }, Config: sim.providerConfig() + config.String(), ExpectNonEmptyPlan: true},
				sim.step(sim.providerConfig()+adopting.String(), plancheck.ResourceActionUpdate,
					"operate_proc_v2/3 "+addresses(2), "register_proc_info "+addresses(2), "update_proc_info "+addresses(2)),
			},
		})
	})
}

// Another supplier id is the same host, registered anew and never unregistered.
func TestAccHostedProcessResource_supplierChanges(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(address string) string {
		return sim.providerConfig() + hostedConfig{hosts: fmt.Sprintf("{ a = %q }", address)}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config("0:10.0.0.2")},
			sim.step(config("0:2:10.0.0.2"), plancheck.ResourceActionUpdate, "update_proc_info "+addresses(1)),
		},
	})
}

// Without a fingerprint nothing on file proves that a registration was made good,
// so what failed stays until an apply has done it.
func TestAccHostedProcessResource_failureIsRemembered(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(start string) string {
		return sim.providerConfig(`spec_fingerprint_label = ""`) + hostedConfig{hosts: hostsConfig(2), start: start}.String()
	}
	mended := sim.step(config("./b.sh"), plancheck.ResourceActionUpdate, "update_proc_info "+addresses(2))
	mended.PreConfig = sim.mend
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config("./a.sh")},
			{
				PreConfig:   func() { sim.inject("update_proc_info", []int{2}, 65535, "disk full") },
				Config:      config("./b.sh"),
				ExpectError: wrapped(`disk full`),
			},
			mended,
		},
	})
}

// A create that the deadline cut off may have registered: state remembers it.
func TestAccHostedProcessResource_createCutOff(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := sim.providerConfig(`spec_fingerprint_label = ""`) +
		hostedConfig{hosts: hostsConfig(1), more: "ensure = \"registered\"\n  timeouts = { create = \"2s\" }"}.String()
	api, op := faultOn("register_proc_info")
	mended := resource.TestStep{
		PreConfig: sim.mend, Config: config,
		ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(testResource, plancheck.ResourceActionUpdate)},
			PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
		},
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				PreConfig:          func() { sim.Inject(simulator.Fault{API: api, Op: op, Pending: -1, Apply: true}) },
				Config:             config,
				ExpectNonEmptyPlan: true,
				Check: resource.TestCheckResourceAttr(testResource, "out_of_sync.web-1",
					"registration not confirmed: no verdict when the time was up (115, still in progress)"),
			},
			mended,
		},
	})
}

// What the provider block has yet to learn is not planned as settled.
func TestAccHostedProcessResource_labelsKnownLater(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(revision string, hosts int) string {
		return fmt.Sprintf("resource \"terraform_data\" \"r\" {\n  input            = %[1]q\n  triggers_replace = %[1]q\n}\n", revision) +
			sim.providerConfig("default_labels = { rev = terraform_data.r.id }") + hostedConfig{hosts: hostsConfig(hosts)}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config("a", 2)},
			{Config: config("b", 3), Check: resource.TestCheckResourceAttr(testResource, "out_of_sync.%", "0")},
		},
	})
}

// A host that never came to be registered can leave, and be destroyed.
func TestAccHostedProcessResource_neverRegistered(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(*testSim) resource.TestStep{
		"leaves": func(sim *testSim) resource.TestStep {
			return resource.TestStep{Config: sim.providerConfig() + hostedConfig{hosts: hostsConfig(1)}.String()}
		},
		"destroyed": func(sim *testSim) resource.TestStep {
			return resource.TestStep{Config: sim.providerConfig() + hostedConfig{hosts: hostsConfig(2)}.String(), Destroy: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := newSim(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: testFactories,
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							sim.Inject(simulator.Fault{Hosts: []string{testAddress(2)}, Unreachable: "117", API: "[ruo]*"})
						},
						Config:             sim.providerConfig() + hostedConfig{hosts: hostsConfig(2)}.String(),
						ExpectNonEmptyPlan: true,
					},
					last(sim),
				},
			})
		})
	}
}

// A raised ensure asks the agents: what is on file may be older than a stop.
func TestAccHostedProcessResource_ensureRaised(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(ensure string) string {
		return sim.providerConfig() + hostedConfig{hosts: hostsConfig(2), more: fmt.Sprintf("ensure = %q", ensure)}.String()
	}
	raised := resource.TestStep{
		PreConfig: func() {
			for n := range 2 {
				if err := sim.StartProcess(testAddress(n+1), "web", "nginx"); err != nil {
					t.Error(err)
				}
			}
			sim.FreezeStatus()
			if err := sim.StopProcess(testAddress(2), "web", "nginx"); err != nil {
				t.Error(err)
			}
			sim.ResetCalls()
		},
		Config: config("running"),
		Check:  sim.expectChanges(raisedChanges()...),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps:                    []resource.TestStep{{Config: config("registered")}, raised},
	})
}

// raisedChanges are the calls of a raised ensure. On the gateway registering is
// hosting, so what runs is hosted already.
func raisedChanges() []string {
	if testGateway == bkapi.APIGW {
		return []string{"operate_proc_v2/0 " + addresses(2)}
	}
	return []string{"operate_proc_v2/0 " + addresses(2), "operate_proc_v2/3 " + addresses(1)}
}

// Hosts that leave are stopped as they were registered, and only while the
// rollout's patience lasts.
func TestAccHostedProcessResource_leavingHosts(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	config := func(hosts int, start string) string {
		return sim.providerConfig() + hostedConfig{
			hosts: hostsConfig(hosts), start: start, more: "ensure = \"running\"\n  on_destroy = \"stop\"\n  rollout = { batch_size = 1 }",
		}.String()
	}
	oldSpec := func(*terraform.State) error {
		stop := sim.Calls().OfOp(simulator.OpStop).Last()
		if !strings.Contains(string(stop.Spec), "./a.sh") {
			return fmt.Errorf("a host that left was stopped with the new spec: %s", stop.Spec)
		}
		return nil
	}
	mended := resource.TestStep{PreConfig: sim.mend, Config: config(2, "./b.sh"), Check: resource.ComposeAggregateTestCheckFunc(
		sim.expectChanges("operate_proc_v2/1 "+addresses(3), "unregister_proc_info "+addresses(3), "update_proc_info "+addresses(1), "update_proc_info "+addresses(2)))}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{Config: config(4, "./a.sh")},
			{PreConfig: sim.ResetCalls, Config: config(3, "./a.sh"), Check: oldSpec},
			{
				PreConfig:   func() { sim.inject("update_proc_info", []int{1}, 117, "agent is away") },
				Config:      config(2, "./b.sh"),
				ExpectError: wrapped(`web-3 \(0:10.0.0.4\): not tried: too many hosts had failed`),
			},
			mended,
		},
	})
}

// A replacement is hosted and started anew although the platform's file still
// tells of the registration before it.
func TestAccHostedProcessResource_replaceWhileStatusLags(t *testing.T) {
	t.Parallel()
	sim := newSim(t)
	cli := newCLI(t, sim, hostedConfig{hosts: hostsConfig(2), more: "ensure = \"running\"\n  on_destroy = \"stop\""}.String())
	cli.expect(0, "apply", "-auto-approve")
	sim.FreezeStatus()
	cli.expect(0, "apply", "-auto-approve", "-replace=bk_hosted_process.test")
	for n := range 2 {
		if process, _ := sim.Process(testAddress(n+1), "web", "nginx"); !process.Hosted || !process.Running {
			t.Errorf("web-%d is %+v", n+1, process)
		}
	}
	sim.ThawStatus()
	cli.expect(0, "plan", "-detailed-exitcode")
}
