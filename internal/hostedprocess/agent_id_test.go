package hostedprocess_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Over the gateway a fleet may name hosts by agent id and by address. One request
// never mixes the two, because the platform would ignore the addresses.
func TestAccGateway_agentIDs(t *testing.T) {
	t.Parallel()
	const (
		first  = "0200000007525400f355781710390005465c"
		second = "0200000007525400f355781710390005465d"
	)
	sim := providertest.NewSim(t)
	sim.TenantID = "acme"
	sim.AdmitAgents = true
	block := providertest.ProviderBlock(fmt.Sprintf(`gateway = "apigw", endpoint = "%s/api/bk-gse/prod", app_code = %q, app_secret = %q, username = "admin", tenant_id = "acme"`,
		sim.URL, simulator.DefaultAppCode, simulator.DefaultAppSecret))
	config := block + providertest.HostedConfig{Hosts: fmt.Sprintf("{ a = %q, b = %q, c = \"0:10.0.0.2\" }", first, second)}.String() + providertest.StatusConfig(providertest.WithSpec)
	changes := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if diff := cmp.Diff(want, sim.Changes()); diff != "" {
				return fmt.Errorf("calls that change something (-want +got):\n%s", diff)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: providertest.Factories,
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: resource.ComposeAggregateTestCheckFunc(
					changes("operate_proc_multi/3 "+first+" "+second, "operate_proc_multi/3 0:10.0.0.2"),
					resource.TestCheckResourceAttr(providertest.StatusAddress, "stopped_count", "3"),
					resource.TestCheckResourceAttr(providertest.StatusAddress, "statuses.a.hosted", "true"),
				),
			},
			{
				PreConfig: func() {
					if err := sim.Unregister(second, "web", "nginx"); err != nil {
						t.Error(err)
					}
					sim.ResetCalls()
				},
				Config: config,
				Check:  changes("operate_proc_multi/3 " + second),
			},
		},
	})
}

// Through the gateway, where hosting replaces, somebody else's process is left alone
// although nothing on file names its host by address, or nothing is on file yet; and it
// is seen when somebody replaces ours.
func TestAccGateway_leavesOthersAlone(t *testing.T) {
	t.Parallel()
	for name, lags := range map[string]bool{"rows-by-agent-id": false, "file-lags": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.RowsWithoutHost = true
			sim.AddAgent("0200000007525400f355781710390005465c", providertest.Address(1))
			sim.AddAgent("0200000007525400f355781710390005465d", providertest.Address(2))
			if lags {
				sim.FreezeStatus()
			}
			theirs := map[string]string{"team": "other"}
			sim.Colleague(t, "web", "nginx", theirs, 2)
			if err := sim.Host(providertest.Address(2), "web", "nginx"); err != nil {
				t.Fatal(err)
			}
			cli := providertest.NewCLI(t, sim, "")
			block := providertest.ProviderBlock(`gateway = "apigw"`)
			cli.ConfigureWith(block, providertest.HostedConfig{Hosts: providertest.HostsConfig(2)}.String())
			if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "adopt_existing = true") {
				t.Errorf("said:\n%s", out)
			}
			if p, _ := sim.Process(providertest.Address(2), "web", "nginx"); !maps.Equal(p.Labels, theirs) || !p.Hosted {
				t.Errorf("the colleague's process is %+v now", p)
			}
			sim.ThawStatus()
			cli.ConfigureWith(block, providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1)}.String())
			cli.Expect(0, "apply", "-auto-approve")
			if p, _ := sim.Process(providertest.Address(2), "web", "nginx"); !maps.Equal(p.Labels, theirs) || !p.Hosted {
				t.Errorf("once it was taken out of hosts, the colleague's process is %+v", p)
			}
			sim.Colleague(t, "web", "nginx", theirs, 1)
			if out := cli.Expect(2, "plan", "-detailed-exitcode"); !strings.Contains(out, "other_spec") {
				t.Errorf("the plan does not tell:\n%s", out)
			}
		})
	}
}
