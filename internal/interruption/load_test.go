package interruption

import (
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A fleet of 10000 hosts on a slow platform that fails one request in twenty. Creating, reading, changing
// one host and destroying take a bounded number of requests. There are never more of them at once or per
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
		hosts      = 10000
		concurrent = 5
		perSecond  = 15
		// Without a failure it is 102: 10 batches are registered, looked at, asked for,
		// started, looked at twice more and unregistered, each in one try.
		maxCalls = 250
	)
	busy(sim.Sim)
	kept := &providertest.Kept{}
	fleet := func() *providertest.Core {
		p := sim.ConfiguredFor(t, by, map[string]any{"max_concurrent_requests": concurrent, "requests_per_second": perSecond, "max_retries": nil})
		return p.CoreOf(by.TypeName(providertest.OnCreate), kept)
	}
	config := by.Reference("./start.sh", hosts)
	config["ensure"], config["on_partial_create"] = "running", "warn"
	created := converge(t, fleet, config)
	for _, e := range sim.Executions() {
		if e.Action == "start" && e.Code != simulator.CodeOK {
			t.Fatalf("it ran, and was started again: %+v", e)
		}
	}
	if running := running(sim.Sim); running != hosts {
		t.Errorf("%d hosts run after the create", running)
	}

	before := len(sim.Executions())
	addresses := config["hosts"].(map[string]string) //nolint:forcetypeassert // as Reference has them
	delete(addresses, providertest.HostKey(hosts))
	addresses[providertest.HostKey(hosts+1)] = providertest.Address(hosts + 1)
	changed := persist(t, fleet, config)
	for _, e := range sim.Executions()[before:] {
		if !slices.Contains([]string{providertest.Address(hosts), providertest.Address(hosts + 1)}, e.Host) {
			t.Fatalf("not requested: %+v", e)
		}
	}

	destroyed := persist(t, fleet, nil)
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
	if got := calls.MostWithin(time.Second); got > perSecond+1 { // the first and the last are a second apart
		t.Errorf("%d requests in a second, want %d", got, perSecond)
	}
	if tries := created + changed + destroyed; len(calls) > maxCalls*tries/3 {
		t.Errorf("%d requests, want at most %d for 3 tries", len(calls), maxCalls)
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

// persist repeats an apply until it succeeds, and says how often that was. Failures
// of one request in twenty leave something over now and then.
func persist(t *testing.T, fleet func() *providertest.Core, config map[string]any) int {
	t.Helper()
	for n := 1; ; n++ {
		_, said := fleet().Apply(config)
		if !said.Failed() {
			return n
		}
		if n == 5 {
			t.Fatalf("it fails %d times in a row\n%s", n, said)
		}
	}
}

// converge also has a plan with nothing left to do: what a create leaves over is no
// error.
func converge(t *testing.T, fleet func() *providertest.Core, config map[string]any) int {
	t.Helper()
	for n := 1; ; n++ {
		persist(t, fleet, config)
		plan, said := fleet().Plan(config)
		if plan.Action == providertest.PlanNothing && !said.Failed() {
			return n
		}
		if n == 5 {
			t.Fatalf("there is something left to do after %d applies\n%s", n, said)
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
