package hostedprocess_test

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// A start that is under way is not sent once more because its host is called otherwise by
// then.
func TestHostedProcess_startUnderWayRenamed(t *testing.T) {
	t.Parallel()
	const agentID = "0200000007525400b95ba81710390009e1d7"
	for name, after := range map[string]string{"same-name": providertest.Address(1), "renamed": agentID} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceGateway
			sim := providertest.NewSim(t)
			var late, polls atomic.Int64
			sim.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
			sim.AddAgent(agentID, providertest.Address(1))
			anew := func() *providertest.Protocol { return providertest.ConfiguredWith(t, sim.SettingsFor(by)) }
			process := anew().CoreOf(providertest.HostedType, &providertest.Kept{})
			process.Fresh = anew
			config := by.Reference("./start.sh", 1)
			config["ensure"] = "running"
			cut := sim.CutAt(func(call simulator.Call) bool {
				return call.API == "get_proc_operate_result_v2" && call.Op == simulator.OpStart && polls.Add(1)%5 == 0
			})
			sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Takes: time.Hour})
			cut.Apply(process, config)
			if process.Tainted {
				process.Untaint()
			}
			config["hosts"] = map[string]string{"web-1": after}
			cut.Apply(process, config)
			late.Store(int64(2 * time.Hour))
			if _, said := process.Apply(config); said.Failed() || len(process.Reasons("out_of_sync")) > 0 {
				t.Errorf("%v; said: %s", process.Reasons("out_of_sync"), said)
			}
			if sent := sim.Calls().OfOp(simulator.OpStart).Of("operate_*"); len(sent) != 1 {
				t.Errorf("sent %d starts", len(sent))
			}
		})
	}
}
