package hostedprocess_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// registerForeign registers a process of somebody else on a host.
func registerForeign(t *testing.T, s *providertest.Sim, n int) {
	t.Helper()
	if err := s.Register(providertest.Address(n), "web", "nginx", map[string]string{"owner": "other-team"}, `{"identity":{}}`); err != nil {
		t.Error(err)
	}
}

// A registration that was there before the resource stays its owner's: it is not
// taken over by a later apply, nor removed by a destroy, until it is adopted.
func TestAccHostedProcessResource_foreignOwner(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway looks before it registers, so no register call is there to be counted")
	untouched := func(sim *providertest.Sim) error {
		process, known := sim.Process(providertest.Address(2), "web", "nginx")
		if !known || process.Labels["owner"] != "other-team" {
			return fmt.Errorf("the process of the other team is now %+v", process)
		}
		return nil
	}
	for name, last := range map[string]func(*providertest.Sim, string) resource.TestStep{
		"leaves": func(sim *providertest.Sim, _ string) resource.TestStep {
			return resource.TestStep{
				PreConfig: sim.ResetCalls,
				Config:    sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1), More: `on_destroy = "kill"`}.String(),
				Check:     sim.ExpectChanges(),
			}
		},
		"destroyed": func(sim *providertest.Sim, config string) resource.TestStep {
			return resource.TestStep{
				PreConfig: sim.ResetCalls, Config: config, Destroy: true,
				Check: sim.ExpectChanges("operate_proc_v2/9 "+providertest.Addresses(1), "unregister_proc_info "+providertest.Addresses(1)),
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: `on_destroy = "kill"`}.String()
			reason := resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.web-2",
				"registered_by_other: 850, the process is registered already")
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{PreConfig: func() { registerForeign(t, sim, 2) }, Config: config, ExpectNonEmptyPlan: true, Check: reason},
					{RefreshState: true, ExpectNonEmptyPlan: true, Check: reason},
					{Config: config, ExpectError: providertest.Wrapped(`Unable to Update Hosted Process[\s\S]*web-2 \(0:10.0.0.3\): 850[\s\S]*adopt_existing = true`)},
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
		sim := providertest.NewSim(t)
		config := providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}
		adopting := providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "adopt_existing = true"}
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: providertest.Factories,
			Steps: []resource.TestStep{
				{PreConfig: func() { registerForeign(t, sim, 2) }, Config: sim.ProviderConfig() + config.String(), ExpectNonEmptyPlan: true},
				sim.Step(sim.ProviderConfig()+adopting.String(), plancheck.ResourceActionUpdate,
					"operate_proc_v2/3 "+providertest.Addresses(2), "register_proc_info "+providertest.Addresses(2), "update_proc_info "+providertest.Addresses(2)),
			},
		})
	})
}

// Another supplier id is the same host, registered anew and never unregistered.
func TestAccHostedProcessResource_supplierChanges(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(address string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{Hosts: fmt.Sprintf("{ a = %q }", address)}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("0:10.0.0.2")},
			sim.Step(config("0:2:10.0.0.2"), plancheck.ResourceActionUpdate, "update_proc_info "+providertest.Addresses(1)),
		},
	})
}

// Without a fingerprint nothing on file proves that a registration was made good,
// so what failed stays until an apply has done it.
func TestAccHostedProcessResource_failureIsRemembered(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(start string) string {
		return sim.ProviderConfig(`spec_fingerprint_label = ""`) + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Start: start}.String()
	}
	mended := sim.Step(config("./b.sh"), plancheck.ResourceActionUpdate, "update_proc_info "+providertest.Addresses(2))
	mended.PreConfig = sim.Mend
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("./a.sh")},
			{
				PreConfig:   func() { sim.FailHosts("update_proc_info", []int{2}, 65535, "disk full") },
				Config:      config("./b.sh"),
				ExpectError: providertest.Wrapped(`disk full`),
			},
			mended,
		},
	})
}

// A create that the deadline cut off everywhere is an error, but it may have registered:
// state remembers it, tainted.
func TestAccHostedProcessResource_createCutOff(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := sim.ProviderConfig(`spec_fingerprint_label = ""`) +
		providertest.HostedConfig{Hosts: providertest.HostsConfig(1), More: "ensure = \"registered\"\n  timeouts = { create = \"2s\" }"}.String()
	api, op := providertest.FaultOn("register_proc_info")
	mended := resource.TestStep{
		PreConfig: sim.Mend, Config: config,
		ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(providertest.HostedAddress, plancheck.ResourceActionDestroyBeforeCreate)},
			PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
		},
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				PreConfig:   func() { sim.Inject(simulator.Fault{API: api, Op: op, Pending: -1, Apply: true}) },
				Config:      config,
				ExpectError: providertest.Wrapped(`not as declared on any of its 1 hosts[\s\S]*web-1 \(0:10\.0\.0\.2\): no verdict when the time was up`),
			},
			mended,
		},
	})
}

// What the provider block has yet to learn is not planned as settled.
func TestAccHostedProcessResource_labelsKnownLater(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(revision string, hosts int) string {
		return fmt.Sprintf("resource \"terraform_data\" \"r\" {\n  input            = %[1]q\n  triggers_replace = %[1]q\n}\n", revision) +
			sim.ProviderConfig("default_labels = { rev = terraform_data.r.id }") + providertest.HostedConfig{Hosts: providertest.HostsConfig(hosts)}.String()
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config("a", 2)},
			{Config: config("b", 3), Check: resource.TestCheckResourceAttr(providertest.HostedAddress, "out_of_sync.%", "0")},
		},
	})
}

// A host that never came to be registered can leave, and be destroyed.
func TestAccHostedProcessResource_neverRegistered(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(*providertest.Sim) resource.TestStep{
		"leaves": func(sim *providertest.Sim) resource.TestStep {
			return resource.TestStep{Config: sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String()}
		},
		"destroyed": func(sim *providertest.Sim) resource.TestStep {
			return resource.TestStep{Config: sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String(), Destroy: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{
						PreConfig: func() {
							sim.Inject(simulator.Fault{Hosts: []string{providertest.Address(2)}, Unreachable: "117", API: "[ruo]*"})
						},
						Config:             sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String(),
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
	sim := providertest.NewSim(t)
	config := func(ensure string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: fmt.Sprintf("ensure = %q", ensure)}.String()
	}
	raised := resource.TestStep{
		PreConfig: func() {
			for n := range 2 {
				if err := sim.StartProcess(providertest.Address(n+1), "web", "nginx"); err != nil {
					t.Error(err)
				}
			}
			sim.FreezeStatus()
			if err := sim.StopProcess(providertest.Address(2), "web", "nginx"); err != nil {
				t.Error(err)
			}
			sim.ResetCalls()
		},
		Config: config("running"),
		Check:  sim.ExpectChanges(raisedChanges()...),
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{{Config: config("registered")}, raised, {
			PreConfig: sim.ThawStatus, // a destroy goes by who registered last
			Config:    config("running"),
			PlanOnly:  true,
		}},
	})
}

// raisedChanges are the calls of a raised ensure. On the gateway registering is
// hosting, so what runs is hosted already.
func raisedChanges() []string {
	if providertest.Gateway == bkapi.APIGW {
		return []string{"operate_proc_v2/0 " + providertest.Addresses(2)}
	}
	return []string{"operate_proc_v2/0 " + providertest.Addresses(2), "operate_proc_v2/3 " + providertest.Addresses(1)}
}

// Hosts that leave are stopped as they were registered, and only while the
// rollout's patience lasts.
func TestAccHostedProcessResource_leavingHosts(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(hosts int, start string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{
			Hosts: providertest.HostsConfig(hosts), Start: start, More: "ensure = \"running\"\n  on_destroy = \"stop\"\n  rollout = { batch_size = 1 }",
		}.String()
	}
	oldSpec := func(*terraform.State) error {
		stop := sim.Calls().OfOp(simulator.OpStop).Last()
		if !strings.Contains(string(stop.Spec), "./a.sh") {
			return fmt.Errorf("a host that left was stopped with the new spec: %s", stop.Spec)
		}
		return nil
	}
	mended := resource.TestStep{PreConfig: sim.Mend, Config: config(2, "./b.sh"), Check: resource.ComposeAggregateTestCheckFunc(
		sim.ExpectChanges("operate_proc_v2/1 "+providertest.Addresses(3), "unregister_proc_info "+providertest.Addresses(3), "update_proc_info "+providertest.Addresses(1), "update_proc_info "+providertest.Addresses(2)))}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{Config: config(4, "./a.sh")},
			{PreConfig: sim.ResetCalls, Config: config(3, "./a.sh"), Check: oldSpec},
			{
				PreConfig:   func() { sim.FailHosts("update_proc_info", []int{1}, 117, "agent is away") },
				Config:      config(2, "./b.sh"),
				ExpectError: providertest.Wrapped(`web-3 \(0:10.0.0.4\): not tried: too many hosts had failed`),
			},
			mended,
		},
	})
}

// A replacement is hosted and started anew although the platform's file still
// tells of the registration before it.
func TestAccHostedProcessResource_replaceWhileStatusLags(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	cli := providertest.NewCLI(t, sim, providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "ensure = \"running\"\n  on_destroy = \"stop\""}.String())
	cli.Expect(0, "apply", "-auto-approve")
	sim.FreezeStatus()
	cli.Expect(0, "apply", "-auto-approve", "-replace=bk_hosted_process.test")
	for n := range 2 {
		if process, _ := sim.Process(providertest.Address(n+1), "web", "nginx"); !process.Hosted || !process.Running {
			t.Errorf("web-%d is %+v", n+1, process)
		}
	}
	sim.ThawStatus()
	cli.Expect(0, "plan", "-detailed-exitcode")
}

// What another object registered and let go of is not stopped by the first, if that has heard
// of it. What it has registered again since is, and so is what it never heard of: that looks
// like its own that somebody has unregistered.
//
// Promised in partial-failure.md: What runs there was the other's and is not stopped or killed, if an apply of the first object,
// with or without changes, or a `terraform apply -refresh-only` has seen the other's registration;.
func TestHostedProcess_overtakenAndLetGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heard, again bool
		stopped      bool
	}{
		"heard":                {true, false, false},
		"heard-and-registered": {true, true, true},
		"never-heard":          {false, false, true},
	} {
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
			for way, leaves := range map[string]bool{"destroyed": false, "leaves": true} {
				t.Run(name+"/"+string(by)+"/"+way, func(t *testing.T) {
					t.Parallel()
					sim := providertest.NewSim(t)
					open := func() *providertest.Core {
						return providertest.ConfiguredWith(t, sim.SettingsFor(by)).CoreOf(providertest.HostedType, &providertest.Kept{})
					}
					config, others := by.Reference("./start.sh", 2), by.Reference("./start.sh", 2)
					config["ensure"], config["on_destroy"] = "running", "kill"
					others["hosts"] = providertest.HostsOf(1)
					first, second := open(), open()
					first.Applied(config)
					second.Applied(others)
					if c.heard {
						first.Refresh()
					}
					second.Applied(nil)
					if c.again {
						first.Applied(config)
						if err := sim.Unregister(providertest.Address(1), "web", "nginx"); err != nil {
							t.Fatal(err)
						}
					}

					end := map[string]any(nil)
					if leaves {
						end = by.Reference("./start.sh", 2)
						end["ensure"], end["on_destroy"] = "running", "kill"
						end["hosts"] = map[string]string{"web-2": providertest.Address(2)}
					}
					_, said := first.Apply(end)

					overtaken, _ := sim.Process(providertest.Address(1), "web", "nginx")
					own, _ := sim.Process(providertest.Address(2), "web", "nginx")
					if said.Failed() || overtaken.Running == c.stopped || own.Running != leaves ||
						strings.Contains(said.String(), "Hosts Last Registered By Another Resource") == c.stopped {
						t.Errorf("%+v and %+v; said: %s", overtaken, own, said)
					}
				})
			}
		}
	}
}

// A tainted object that is replaced does not know any more under which bk_supplier_id it
// registered, and is not taken for gone where the platform finds nothing under another.
func TestAccRegisteredWith_supplierForgotten(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway knows no supplier ids")
	sim := providertest.NewSim(t)
	sim.SuppliersApart = true
	config := providertest.HostedConfig{Hosts: providertest.HostsConfig(1)}.String()
	cli := providertest.NewCLI(t, sim, "")
	cli.ConfigureWith(providertest.ProviderBlock("bk_supplier_id = 3"), config)
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "taint", "bk_hosted_process.test")
	cli.ConfigureWith(providertest.ProviderBlock("bk_supplier_id = 5"), config)
	if out := words(cli.Expect(1, "apply", "-auto-approve")); !strings.Contains(out, "set bk_supplier_id to what it was then") {
		t.Errorf("said:\n%s", out)
	}
	cli.ConfigureWith(providertest.ProviderBlock("bk_supplier_id = 3"), config)
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	cli.Expect(0, "destroy", "-auto-approve")
	if p, _ := sim.Process(providertest.Address(1), "web", "nginx"); p.Registered {
		t.Errorf("it is %+v", p)
	}
}
