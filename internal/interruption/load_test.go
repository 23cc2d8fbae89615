// Package interruption cuts applies off: by Ctrl-C, by killing the provider or the CLI, and
// by losing connections. It checks that no host is lost and no operation runs twice.
package interruption

import (
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// A fleet in ten requests, on a slow platform that fails one of twenty. Creating, reading, changing one
// host and destroying take a bounded number of requests. There are never more of them at once or per
// second than the provider block allows.
func TestLoad(t *testing.T) {
	t.Parallel()
	for _, by := range providertest.Through(t, "", []providertest.Face{providertest.FaceESB, providertest.FaceGateway}) {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			providertest.InTime(t, func(t *testing.T, sim *providertest.Timed) {
				t.Helper()
				underLoad(t, sim, by)
			})
		})
	}
}

func underLoad(t *testing.T, sim *providertest.Timed, by providertest.Face) {
	t.Helper()
	const (
		hosts, perRequest     = 2000, 200
		concurrent, perSecond = 5, 15
		// Without a failure it is 122: 10 batches are registered, looked at, asked for, started, looked at
		// twice more, unregistered, and refreshed four times, each in one try.
		maxCalls = 250
	)
	busy(sim.Sim)
	kept, tries := &providertest.Kept{}, 0
	fleet := func() *providertest.Core {
		return sim.ConfiguredFor(t, by, map[string]any{
			"max_hosts_per_request": perRequest, "max_concurrent_requests": concurrent, "requests_per_second": perSecond, "max_retries": nil,
		}).CoreOf(by.TypeName(providertest.OnCreate), kept)
	}
	// apply repeats an apply until nothing is left to do: the failures leave something over now and then.
	apply := func(config map[string]any) {
		t.Helper()
		var said providertest.Diagnostics
		for range 5 {
			tries++
			if _, said = fleet().Apply(config); said.Failed() {
				continue
			}
			if plan, said := fleet().Plan(config); plan.Action == providertest.PlanNothing && !said.Failed() {
				return
			}
		}
		t.Fatalf("something is left to do after 5 applies\n%s", said)
	}
	config := by.Reference("./start.sh", hosts)
	config["ensure"], config["on_partial_create"] = "running", "warn"
	apply(config)
	for _, e := range sim.Executions() {
		if e.Action == "start" && e.Code != simulator.CodeOK {
			t.Fatalf("it ran, and was started again: %+v", e)
		}
	}
	if running := slices.DeleteFunc(sim.Processes(), func(p simulator.Process) bool { return !p.Running }); len(running) != hosts {
		t.Errorf("%d hosts run after the create", len(running))
	}

	before := len(sim.Executions())
	addresses := config["hosts"].(map[string]string) //nolint:forcetypeassert // as Reference has them
	delete(addresses, providertest.HostKey(hosts))
	addresses[providertest.HostKey(hosts+1)] = providertest.Address(hosts + 1)
	apply(config)
	for _, e := range sim.Executions()[before:] {
		if !slices.Contains(providertest.AddressList([]int{hosts, hosts + 1}), e.Host) {
			t.Fatalf("not requested: %+v", e)
		}
	}

	apply(nil)
	for _, process := range sim.Processes() {
		if process.Registered || process.Hosted {
			t.Fatalf("left after the destroy: %+v", process)
		}
	}
	calls := sim.Calls()
	t.Logf("%d requests in %d applies, at most %d at once and %d in a second", len(calls), tries, sim.MaxInFlight(), calls.MostWithin(time.Second))
	if got := sim.MaxInFlight(); got > concurrent || got < 2 {
		t.Errorf("%d requests at once, want up to %d", got, concurrent)
	}
	if got := calls.MostWithin(time.Second); got > perSecond+1 { // the first and the last are a second apart
		t.Errorf("%d requests in a second, want %d", got, perSecond)
	}
	if len(calls) > maxCalls*tries/3 {
		t.Errorf("%d requests, want at most %d for 3 applies", len(calls), maxCalls)
	}
}

// busy makes every request take 50 to 500 ms and one in twenty fail, in one way or another.
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
