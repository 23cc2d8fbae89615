package hostedprocess_test

import (
	"fmt"
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
