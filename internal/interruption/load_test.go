package interruption

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A fleet of 10000 hosts on a platform that fails one request in twenty and takes
// its time with every one: it is created, looked at, changed by one host and
// destroyed with a bounded number of requests, and never with more of them at once
// or in a second than the provider block allows.
func TestAccLoad(t *testing.T) {
	t.Parallel()
	const (
		hosts      = 10000
		concurrent = 8
		perSecond  = 15
		// What the limiter lets go in even steps may arrive in a bunch where the machine
		// is busy. Without a limit, twice as many arrive as are let through here.
		arrivals = perSecond * 3 / 2
		// Without a failure it is 102: 10 batches are registered, looked at, asked for,
		// started, looked at twice more and unregistered.
		maxCalls = 250
	)
	sim := providertest.NewSim(t)
	busy(sim)
	config := func(numbers []int) string {
		return providertest.HostedConfig{Hosts: providertest.HostsConfigOf(numbers...), More: "ensure = \"running\"\n  on_partial_create = \"warn\""}.String()
	}
	provider := sim.ProviderConfig(fmt.Sprintf("max_concurrent_requests = %d\n  requests_per_second = %d", concurrent, perSecond))
	cli := providertest.NewCLI(t, sim, "")
	numbers := providertest.HostNumbers(hosts)
	cli.ConfigureWith(provider, config(numbers))
	created := converge(cli)
	for _, e := range sim.Executions() {
		if e.Action == "start" && e.Code != simulator.CodeOK {
			t.Fatalf("it ran, and was started again: %+v", e)
		}
	}
	if running := running(sim); running != hosts {
		t.Errorf("%d hosts run after the create", running)
	}

	before := len(sim.Executions())
	numbers[hosts-1]++
	cli.ConfigureWith(provider, config(numbers))
	changed := persist(cli, "apply")
	for _, e := range sim.Executions()[before:] {
		if !slices.Contains([]string{providertest.Address(hosts), providertest.Address(hosts + 1)}, e.Host) {
			t.Fatalf("nobody asked for %+v", e)
		}
	}

	destroyed := persist(cli, "destroy")
	for _, process := range sim.Processes() {
		if process.Registered || process.Hosted {
			t.Fatalf("left after the destroy: %+v", process)
		}
	}
	calls := sim.Calls()
	t.Logf("%d requests, at most %d at once and %d in a second; tries to create: %d, to change: %d, to destroy: %d",
		len(calls), sim.MaxInFlight(), calls.MostWithin(time.Second), created, changed, destroyed)
	if got := sim.MaxInFlight(); got > concurrent || got < 2 {
		t.Errorf("%d requests at once, want up to %d", got, concurrent)
	}
	if got := calls.MostWithin(time.Second); got > arrivals {
		t.Errorf("%d requests in a second, want %d", got, perSecond)
	}
	if len(calls) > maxCalls {
		t.Errorf("%d requests, want at most %d", len(calls), maxCalls)
	}
}

// busy makes every request take 50 to 500 ms and one in twenty fail, in one way or
// another.
func busy(s *providertest.Sim) {
	s.Inject(simulator.Fault{Delay: 50 * time.Millisecond, DelayMax: 500 * time.Millisecond})
	for _, fault := range []simulator.Fault{
		{Drop: "before"}, {Drop: "after"}, {Drop: "mid"},
		{HTTPStatus: 502, Body: "<html>Bad Gateway</html>"},
		{HTTPStatus: 429, Header: map[string]string{"Retry-After": "0"}},
	} {
		fault.Chance = 0.01
		s.Inject(fault)
	}
}

// persist repeats a command until it succeeds, and tells how often that was. Failures
// of one request in twenty leave something over now and then.
func persist(c *providertest.CLI, command string) int {
	c.T.Helper()
	for n := 1; ; n++ {
		code, said := c.Run(command, "-auto-approve")
		if code == 0 {
			return n
		}
		if n == 5 {
			c.T.Fatalf("%s fails %d times in a row\n%s", command, n, said)
		}
	}
}

// converge also has a plan with nothing left to do: what a create leaves over is no
// error.
func converge(c *providertest.CLI) int {
	c.T.Helper()
	for n := 1; ; n++ {
		persist(c, "apply")
		code, said := c.Run("plan", "-detailed-exitcode")
		if code == 0 {
			return n
		}
		if n == 5 {
			c.T.Fatalf("there is something left to do after %d applies\n%s", n, said)
		}
	}
}

func running(s *providertest.Sim) int {
	n := 0
	for _, process := range s.Processes() {
		if process.Running {
			n++
		}
	}
	return n
}
