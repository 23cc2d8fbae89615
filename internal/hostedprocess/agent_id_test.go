package hostedprocess_test

import (
	"fmt"
	"slices"
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
			run(t, sim, 2)
			before, _ := sim.Process(providertest.Address(2), "web", "nginx")
			cli := providertest.NewCLI(t, sim, "")
			block := providertest.ProviderBlock(`gateway = "apigw"`)
			cli.ConfigureWith(block, providertest.HostedConfig{Hosts: providertest.HostsConfig(2), More: "on_destroy = \"kill\""}.String())
			if out := cli.Expect(0, "apply", "-auto-approve"); !strings.Contains(out, "adopt_existing = true") {
				t.Errorf("said:\n%s", out)
			}
			if p, _ := sim.Process(providertest.Address(2), "web", "nginx"); !cmp.Equal(before, p) {
				t.Errorf("the colleague's process was %+v and is %+v", before, p)
			}
			sim.ThawStatus()
			cli.ConfigureWith(block, providertest.HostedConfig{Hosts: providertest.HostsConfigOf(1)}.String())
			cli.Expect(0, "apply", "-auto-approve")
			if p, _ := sim.Process(providertest.Address(2), "web", "nginx"); !cmp.Equal(before, p) {
				t.Errorf("once it was taken out of hosts, the colleague's process was %+v and is %+v", before, p)
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

// A machine that is called otherwise is the same machine: nothing is stopped, started,
// restarted or unhosted for good. One under both of its names is refused before anything
// is called.
func TestAccOwnership_renamed(t *testing.T) {
	t.Parallel()
	for name, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.EntryPerName = perName
			agents := []string{"0200000007525400f355781710390005465c", "0200000007525400f355781710390005465d"}
			byAgent := "{\n"
			for i, id := range agents {
				sim.AddAgent(id, providertest.Address(i+1))
				byAgent += fmt.Sprintf("web-%d = %q\n", i+1, id)
			}
			byAgent += "}"
			provider := "provider \"bk\" {\n  gateway = \"apigw\"\n}\n"
			process := func(hosts string) string {
				return providertest.HostedConfig{Hosts: hosts, More: "ensure = \"running\"\n  on_destroy = \"stop\""}.String() + `
resource "bk_process_operation" "restart" {
  meta      = bk_hosted_process.test.meta
  hosts     = bk_hosted_process.test.hosts
  spec      = bk_hosted_process.test.spec
  operation = "restart"
}
`
			}
			cli := providertest.NewCLI(t, sim, "")
			refused := func() {
				t.Helper()
				sim.ResetCalls()
				cli.ConfigureWith(provider, process("{ web-1 = \""+providertest.Address(1)+"\", twin = \""+agents[0]+"\" }"))
				if out := words(cli.Expect(1, "apply", "-auto-approve")); !strings.Contains(out, "name each machine once") {
					t.Errorf("said:\n%s", out)
				}
				if calls := sim.Changes(); len(calls) > 0 {
					t.Errorf("called %v", calls)
				}
			}
			refused()
			cli.ConfigureWith(provider, process(providertest.HostsConfig(2)))
			cli.Expect(0, "apply", "-auto-approve")
			before := pids(t, sim, 2)
			some := "{ web-1 = \"" + agents[0] + "\", web-2 = \"" + providertest.Address(2) + "\" }"
			for _, hosts := range []string{some, byAgent, providertest.HostsConfig(2)} {
				sim.ResetCalls()
				cli.ConfigureWith(provider, process(hosts))
				cli.Expect(0, "apply", "-auto-approve")
				if after := pids(t, sim, 2); !slices.Equal(before, after) {
					t.Errorf("processes %v became %v", before, after)
				}
				for _, m := range sim.Machines() {
					for _, p := range m.Processes {
						if !p.Hosted || !p.Running {
							t.Errorf("it is %+v", p)
						}
					}
				}
				cli.Expect(0, "plan", "-detailed-exitcode")
			}
			refused() // web-2 leaves in it, and is not stopped
			if after := pids(t, sim, 2); !slices.Equal(before, after) {
				t.Errorf("processes %v became %v", before, after)
			}
		})
	}
}

// A console has unregistered a machine by the name that the configuration takes from it. It is
// registered by the new one, and the agent that hosts it for that reason does not keep the old
// one in state.
func TestAccOwnership_renamedOnceUnregistered(t *testing.T) {
	t.Parallel()
	const agent = "0200000007525400f355781710390005465c"
	sim := providertest.NewSim(t)
	sim.EntryPerName = true
	sim.AddAgent(agent, providertest.Address(1))
	cli := providertest.NewCLI(t, sim, "")
	by := func(name string) {
		cli.ConfigureWith("provider \"bk\" {\n  gateway = \"apigw\"\n}\n", providertest.HostedConfig{Hosts: fmt.Sprintf("{ web-1 = %q, web-2 = %q }", name, providertest.Address(2))}.String())
	}
	by(agent)
	cli.Expect(0, "apply", "-auto-approve")
	if err := sim.Unregister(agent, "web", "nginx"); err != nil {
		t.Fatal(err)
	}
	by(providertest.Address(1))
	cli.Expect(0, "apply", "-auto-approve")
	cli.Expect(0, "plan", "-detailed-exitcode")
	if p := sim.Machine(agent).Process("web", "nginx"); !p.Hosted || len(p.Entries) != 1 || p.Entries[0].Host != providertest.Address(1) {
		t.Errorf("it is %+v", p)
	}
	cli.Expect(0, "destroy", "-auto-approve")
	if p := sim.Machine(agent).Process("web", "nginx"); p.Hosted || len(p.Entries) != 0 {
		t.Errorf("it is %+v", p)
	}
}

// A machine that another configuration has registered since by its agent id goes on running
// what that one declares, although the platform keeps an entry for its address as well.
func TestAccOwnership_theOtherName(t *testing.T) {
	t.Parallel()
	const agent = "0200000007525400f355781710390005465c"
	sim := providertest.NewSim(t)
	sim.EntryPerName = true
	sim.AddAgent(agent, providertest.Address(1))
	cli := func(hosts string) *providertest.CLI {
		c := providertest.NewCLI(t, sim, "")
		c.ConfigureWith(providertest.ProviderBlock(`gateway = "apigw"`), providertest.HostedConfig{
			Hosts: hosts, More: "ensure = \"running\"\n  on_destroy = \"kill\"\n  adopt_existing = true",
		}.String())
		c.Expect(0, "apply", "-auto-approve")
		return c
	}
	first := cli(providertest.HostsConfigOf(1))
	second := cli(fmt.Sprintf("{ a = %q }", agent))
	before := pids(t, sim, 1)
	if out := words(first.Expect(0, "destroy", "-auto-approve")); !strings.Contains(out, "Machines Belong To Another Resource") || !strings.Contains(out, "since, as "+agent) {
		t.Errorf("the first said nothing:\n%s", out)
	}
	expectHosted(t, sim, 1)
	if after := pids(t, sim, 1); !slices.Equal(before, after) {
		t.Errorf("processes %v became %v", before, after)
	}
	second.Expect(0, "plan", "-detailed-exitcode")
}

// Where the names of hosts cannot be asked, nothing is done to hosts that are named in both
// ways: two of them may be one machine.
func TestHostedProcess_namesUnread(t *testing.T) {
	t.Parallel()
	const agent, by = "0200000007525400f355781710390005465c", providertest.FaceGateway
	mixed := fleetOf(by, 2, map[string]any{"hosts": map[string]string{"web-1": providertest.Address(1), "web-2": agent}})
	for name, before := range map[string]map[string]any{"create": nil, "update": fleetOf(by, 1, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.AddAgent(agent, providertest.Address(2))
			resource := hostedBy(t, sim, by)
			if before != nil {
				resource.Applied(before)
			}
			sim.ResetCalls()
			resource.Between = func() { sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403}) }
			_, said := resource.Apply(mixed)
			if !said.Failed() || !strings.Contains(said.String(), "Unable to Tell Hosts Apart") || !strings.Contains(said.String(), "whether two of them are one machine could not be asked") {
				t.Errorf("said: %s", said)
			}
			if calls := sim.Changes(); len(calls) > 0 || resource.State.IsNull() != (before == nil) {
				t.Errorf("called %v; state is %s", calls, resource.State)
			}
			sim.Mend()
			resource.Between = nil
			resource.Tainted = false
			resource.Applied(mixed)
		})
	}
}

// A host that leaves is not stopped while nothing tells whether it is the machine that
// another name has come for; it is once it leaves in an apply of its own.
func TestHostedProcess_mayBeRenamed(t *testing.T) {
	t.Parallel()
	const agent, by = "0200000007525400f355781710390005465c", providertest.FaceGateway
	sim := providertest.NewSim(t)
	sim.AdmitAgents, sim.RowsWithoutHost = true, true
	config := fleetOf(by, 2, map[string]any{"ensure": "running", "on_destroy": "stop"})
	resource := hostedBy(t, sim, by)
	resource.Applied(config)
	next := with(config, "hosts", map[string]string{"web-1": agent, "web-2": providertest.Address(2)})
	for try := 1; try <= 2; try++ { // it is told by nothing the second time either
		_, said := resource.Apply(next)
		if !said.Failed() || !strings.Contains(words(said.String()), providertest.Address(1)+"): not stopped, because nothing tells whether it is the machine") {
			t.Errorf("try %d: said: %s", try, said)
		}
		if undone := letGo(sim); len(undone) > 0 {
			t.Errorf("try %d: let go of %v", try, undone)
		}
	}
	if diff := cmp.Diff(map[string]string{"web-1": agent, "0:0:10.0.0.2": providertest.Address(1), "web-2": providertest.Address(2)}, resource.Reasons("hosts")); diff != "" {
		t.Errorf("hosts in state (-want +got):\n%s", diff)
	}
	resource.Applied(with(config, "hosts", map[string]string{"web-2": providertest.Address(2)}))
	for name, runs := range map[string]bool{providertest.Address(1): false, providertest.Address(2): true, agent: false} {
		if p, _ := sim.Process(name, "web", "nginx"); p.Running != runs || p.Hosted != runs {
			t.Errorf("%s has %+v", name, p)
		}
	}
}
