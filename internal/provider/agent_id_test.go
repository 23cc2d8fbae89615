package provider

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

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
	sim := newSim(t)
	sim.TenantID = "acme"
	sim.AdmitAgents = true
	block := providerBlock(fmt.Sprintf(`gateway = "apigw", endpoint = "%s/api/bk-gse/prod", app_code = %q, app_secret = %q, username = "admin", tenant_id = "acme"`,
		sim.url, simulator.DefaultAppCode, simulator.DefaultAppSecret))
	config := block + hostedConfig{hosts: fmt.Sprintf("{ a = %q, b = %q, c = \"0:10.0.0.2\" }", first, second)}.String() + statusConfig(withSpec)
	changes := func(want ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if diff := cmp.Diff(want, sim.changes()); diff != "" {
				return fmt.Errorf("calls that change something (-want +got):\n%s", diff)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: testFactories,
		Steps: []resource.TestStep{
			{
				Config: config,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: resource.ComposeAggregateTestCheckFunc(
					changes("operate_proc_multi/3 "+first+" "+second, "operate_proc_multi/3 0:10.0.0.2"),
					resource.TestCheckResourceAttr(testStatus, "stopped_count", "3"),
					resource.TestCheckResourceAttr(testStatus, "statuses.a.hosted", "true"),
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
