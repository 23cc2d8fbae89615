//go:build unix

package interruption

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// The CLI and its provider are killed together at any call of a rolling restart, and state does not
// change. No host is restarted again unless an apply has named it in an error before. That holds for any
// times that the agents report and any age of the cached status.
//
// The long job runs 200 rounds: BK_TEST_ROUNDS sets their number.
func TestAccKill_rollout(t *testing.T) {
	t.Parallel()
	providertest.InRounds(t, 3, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		k := newKiller(t)
		k.victim, k.moment = "both", []string{"before", "after", "answered"}[chance.IntN(3)]
		keeps, frozen := chance.IntN(2) == 0, chance.IntN(2) == 0
		k.sim.ReregisteringKeepsTime, k.sim.StartingKeepsTime, k.sim.HostingKeepsTime = keeps, keeps, keeps
		waves := []string{`["2"]`, `["1", "*2"]`, `["100%"]`}[chance.IntN(3)]
		config := func(start string) string {
			return providertest.HostedConfig{
				Hosts: providertest.HostsConfigOf(1, 2, 3, 4, 5, 6), Labels: `{ team = "sre" }`, Start: start,
				More: fmt.Sprintf("ensure = \"running\"\n  on_update = \"restart\"\n  rollout = { waves = %s }", waves),
			}.String()
		}
		provider := k.sim.ProviderConfig("")
		k.cli.ConfigureWith(provider, config("./a.sh"))
		k.cli.Expect(0, "apply", "-auto-approve")
		if frozen {
			k.sim.FreezeStatus()
		}
		k.cli.ConfigureWith(provider, config("./b.sh"))
		k.sim.ResetCalls()
		at, gone := k.Run(2+chance.IntN(24), "apply", "-auto-approve")
		gone()
		t.Logf("killed %s %q; keeps times: %t, frozen: %t, waves %s", k.moment, at, keeps, frozen, waves)

		unconfirmed := "" // in state, which an apply that failed has left
		for range 2 {
			exit, out := k.cli.Run("apply", "-auto-approve")
			restarts := make(map[string]int)
			for _, e := range k.sim.Executions() {
				if e.Action == "restart" {
					restarts[e.Host]++
				}
			}
			for n := 1; n <= 6; n++ {
				if restarts[providertest.Address(n)] > 1 && !strings.Contains(unconfirmed, fmt.Sprintf(`"web-%d" = "operation_unconfirmed`, n)) {
					t.Errorf("web-%d was restarted %d times, and no apply had named it\n%s", n, restarts[providertest.Address(n)], out)
				}
			}
			if exit == 0 {
				break
			}
			_, unconfirmed = k.cli.Run("show")
		}
		k.cli.Expect(0, "plan", "-detailed-exitcode")
		for n := 1; n <= 6; n++ {
			p, _ := k.sim.Process(providertest.Address(n), "web", "nginx")
			if !p.Running || !providertest.StartsWith(p, "./b.sh") {
				t.Errorf("web-%d is %+v", n, p)
			}
		}
	})
}
