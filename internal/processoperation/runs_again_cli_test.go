package processoperation_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// operated wants operations since the record began, as Sim.Changes lists them.
func operated(t *testing.T, sim *providertest.Sim, want ...string) {
	t.Helper()
	var got []string
	for _, change := range sim.Changes() {
		if strings.HasPrefix(change, "operate_proc_v2/") {
			got = append(got, change)
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	sim.ResetCalls()
}

// A label or a limit that changes restarts nothing; named in triggers, it does.
func TestAccRunsAgain_changedDeclaration(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	config := func(label, limit, triggers string) string {
		return strings.ReplaceAll(providertest.OperationConfig{
			Hosted:    providertest.HostedConfig{Hosts: providertest.HostsConfig(2), Labels: fmt.Sprintf("{ team = %q }", label), More: `ensure = "registered"`},
			Operation: "restart", More: triggers,
		}.String(), "cpu = 30", "cpu = "+limit)
	}
	const fingerprint = "triggers = { spec = bk_hosted_process.test.fingerprint }"
	cli := providertest.NewCLI(t, sim, config("a", "30", ""))
	restart := "operate_proc_v2/7 " + providertest.Addresses(1, 2)
	cli.Expect(0, "apply", "-auto-approve")
	operated(t, sim, restart)
	cli.Configure(config("b", "50", ""))
	cli.Expect(0, "apply", "-auto-approve")
	operated(t, sim)
	cli.Configure(config("b", "50", fingerprint))
	cli.Expect(0, "apply", "-auto-approve")
	operated(t, sim, restart)
	cli.Configure(config("c", "50", fingerprint))
	cli.Expect(0, "apply", "-auto-approve")
	operated(t, sim, restart)
}

// What failed on a host is retried, and nothing else runs, when all are respelt with a
// supplier id.
func TestAccRunsAgain_respeltHosts(t *testing.T) {
	t.Parallel()
	providertest.ESBOnly(t, "the gateway knows no supplier ids")
	sim := providertest.NewSim(t)
	config := func(supplier string) string {
		hosts := strings.ReplaceAll(providertest.HostsConfig(2), `"0:`, `"0:`+supplier)
		return providertest.OperationConfig{Hosted: providertest.HostedConfig{Hosts: hosts, More: `ensure = "registered"`}, Operation: "restart"}.String()
	}
	cli := providertest.NewCLI(t, sim, config(""))
	sim.FailOperation(simulator.OpRestart, []int{2}, 65535, "no space left on device")
	cli.Expect(0, "apply", "-auto-approve")
	sim.Mend()
	sim.ResetCalls()
	cli.Configure(config("0:"))
	cli.Expect(0, "apply", "-auto-approve")
	operated(t, sim, "operate_proc_v2/7 "+providertest.Addresses(2))
}

// One machine under two names is not operated twice.
func TestAccRunsAgain_oneMachineTwice(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	sim.AddAgent(agentID, providertest.Address(1))
	registerAll(t, sim, 2)
	cli := providertest.NewCLI(t, sim, "")
	cli.ConfigureWith(providertest.ProviderBlock(`gateway = "apigw"`), fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = { namespace = "web", name = "nginx" }
  hosts     = { a = %q, b = %q, c = %q }
  spec      = %s
  operation = "restart"
}
`, agentID, providertest.Address(1), providertest.Address(2), providertest.SpecConfig("./start.sh")))
	sim.ResetCalls()
	if out := cli.Expect(1, "apply", "-auto-approve"); !strings.Contains(strings.Join(strings.Fields(out), " "), "name the same machine") {
		t.Errorf("said:\n%s", out)
	}
	operated(t, sim)
}

// A first run that came to no end on any host is red, and is remembered: once it is
// untainted, the platform is asked what became of it, and nothing runs again.
func TestAccRunsAgain_firstRunTimedOut(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	var late atomic.Bool
	sim.Now = func() time.Time {
		if late.Load() {
			return time.Now().Add(2 * time.Hour)
		}
		return time.Now()
	}
	registerAll(t, sim, 2)
	sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpRestart), Takes: time.Hour})
	cli := providertest.NewCLI(t, sim, fmt.Sprintf(`
resource "bk_process_operation" "test" {
  meta      = { namespace = "web", name = "nginx" }
  hosts     = %s
  spec      = %s
  operation = "restart"
  timeouts  = { create = "1s" }
}
`, providertest.HostsConfig(2), providertest.SpecConfig("./start.sh")))
	sim.ResetCalls()
	cli.Expect(1, "apply", "-auto-approve")
	operated(t, sim, "operate_proc_v2/7 "+providertest.Addresses(1, 2))
	if _, status := cli.InState(); status != "tainted" {
		t.Errorf("the status in state is %q", status)
	}
	late.Store(true)
	sim.Mend()
	cli.Expect(0, "untaint", providertest.OperationAddress)
	cli.Expect(0, "apply", "-auto-approve")
	operated(t, sim)
	cli.Expect(0, "plan", "-detailed-exitcode")
}
