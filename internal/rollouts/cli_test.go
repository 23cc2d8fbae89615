package rollouts

import (
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const jobAddress = "bk_job_hosted_process.test"

// declaration is the HCL of a process on six hosts, by what it starts with.
type declaration func(start string) string

func gseOf(sim *providertest.Sim, more string) declaration {
	return func(start string) string {
		return sim.ProviderConfig() + providertest.HostedConfig{Hosts: providertest.HostsConfig(6), Start: start, More: more}.String()
	}
}

func jobOf(sim *providertest.Sim, more string) declaration {
	return func(start string) string {
		return sim.JobProvider() + providertest.JobConfig{Hosts: providertest.HostsConfig(6), Process: providertest.JobProcess(start), More: more}.String()
	}
}

// A release reaches the canary and the wave in which it fails; the next apply goes on with
// the host that failed and with those behind it.
//
// Promised in rolling-restart.md: a bad declaration gets no further than the wave in which it
// fails.
func TestAccOnUpdate(t *testing.T) {
	t.Parallel()
	const more = `
  ensure    = "running"
  on_update = "restart"
  rollout   = { canary = ["web-4"], waves = ["2"] }`
	for name, c := range map[string]struct {
		by                    providertest.Face
		of                    func(*providertest.Sim, string) declaration
		address               string
		restarts, reregisters string
	}{
		"gse": {providertest.FaceESB, gseOf, providertest.HostedAddress, "operate_proc_v2/7 ", "update_proc_info "},
		"job": {providertest.FaceJOB, jobOf, jobAddress, "operate_process/7 ", "operate_process/3 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := c.of(sim, more)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: config("./v1.sh")},
					{
						PreConfig: func() {
							sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2}), Code: new(simulator.CodeCommandFailed), Message: "no such file"})
							sim.ResetCalls()
						},
						Config:      config("./v2.sh"),
						ExpectError: providertest.Wrapped(`web-2 \(0:10.0.0.3\): 65535[\s\S]*web-3, web-5, web-6 \(3 hosts\): not tried: too many hosts had failed`),
					},
					{
						PreConfig: func() {
							for n, start := range map[int]string{1: "./v2.sh", 2: "./v2.sh", 3: "./v1.sh", 4: "./v2.sh", 5: "./v1.sh", 6: "./v1.sh"} {
								namespace, name := c.by.Process()
								if process, _ := sim.Process(providertest.Address(n), namespace, name); !providertest.StartsWith(process, start) || !process.Running {
									t.Errorf("web-%d is %+v", n, process)
								}
							}
							sim.Mend()
						},
						Config: config("./v2.sh"),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(c.address, plancheck.ResourceActionUpdate)},
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
						Check: sim.ExpectChanges(slices.Sorted(slices.Values([]string{
							c.reregisters + providertest.Addresses(3), c.reregisters + providertest.Addresses(5, 6),
							c.restarts + providertest.Addresses(2, 3), c.restarts + providertest.Addresses(5, 6),
						}))...),
					},
				},
			})
		})
	}
}

// A release that fails is taken back by the apply that brought it: the apply fails, the
// hosts have and run what they had, and the next plan shows the release again.
//
// Promised in rolling-restart.md: The apply fails and names what was tried and where each host
// stands, state keeps the previous declaration, and the next plan shows the same change again.
//
// Promised in reference: State keeps the previous declaration, the apply fails, and the next
// plan shows the same change again.
func TestAccRollback(t *testing.T) {
	t.Parallel()
	const more = `
  ensure    = "running"
  on_update = "restart"
  rollout   = { canary = ["web-4"], waves = ["2"], on_failure = "rollback" }`
	for name, c := range map[string]struct {
		by      providertest.Face
		of      func(*providertest.Sim, string) declaration
		address string
	}{
		"gse": {providertest.FaceESB, gseOf, providertest.HostedAddress},
		"job": {providertest.FaceJOB, jobOf, jobAddress},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			config := c.of(sim, more)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: providertest.Factories,
				Steps: []resource.TestStep{
					{Config: config("./v1.sh")},
					{
						PreConfig: func() {
							sim.Inject(simulator.Fault{
								API: "operate_*", Op: new(simulator.OpRestart), Hosts: providertest.AddressList([]int{2}), Code: new(simulator.CodeCommandFailed), Message: "no such file", Times: 1,
							})
							sim.ResetCalls()
						},
						Config:      config("./v2.sh"),
						ExpectError: providertest.Wrapped(`Hosted Process Rolled Back[\s\S]*web-2 \(0:10.0.0.3\): 65535[\s\S]*was restarted by it where it ran: web-1, web-2, web-4\.`),
					},
					{
						PreConfig: func() {
							for n, restarts := range map[int]int{1: 2, 2: 1, 3: 0, 4: 2, 5: 0, 6: 0} {
								namespace, name := c.by.Process()
								process, _ := sim.Process(providertest.Address(n), namespace, name)
								calls := len(sim.Calls().OfOp(simulator.OpRestart).On(providertest.Address(n)))
								if n == 2 {
									calls-- // the one that failed
								}
								if !providertest.StartsWith(process, "./v1.sh") || !process.Running || calls != restarts {
									t.Errorf("web-%d, restarted %d times, is %+v", n, calls, process)
								}
							}
						},
						Config:             config("./v2.sh"),
						PlanOnly:           true,
						ExpectNonEmptyPlan: true,
					},
					{
						PreConfig: sim.ResetCalls,
						Config:    config("./v1.sh"),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
						Check: sim.ExpectChanges(),
					},
				},
			})
		})
	}
}
