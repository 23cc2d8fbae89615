package fault_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

var statusBody = `{"meta":{"namespace":"web","name":"nginx"},` + simtest.CloudHosts("10.0.0.1") + `}`

// strikes shows which of n requests a fault with a chance has affected.
func strikes(t *testing.T, seed uint64, chance float64, n int) string {
	t.Helper()
	c := simtest.NewVirtual(t, &simulator.Server{Seed: seed})
	c.Sim.Inject(simulator.Fault{API: "get_proc_status_v2", EnvelopeCode: new(7), Chance: chance})
	pattern := ""
	for range n {
		pattern += map[int]string{7: "x", 0: "."}[c.Send("get_proc_status_v2", statusBody).Code]
	}
	return pattern
}

func TestFault_chance(t *testing.T) {
	t.Parallel()
	first := strikes(t, 1, 0.3, 100)
	// For fewer than one in 10^9 seeds, 0.3 gives a number outside this range.
	if n := strings.Count(first, "x"); n < 5 || n > 65 {
		t.Errorf("%d of 100 requests were hit: %s", n, first)
	}
	simtest.Want(t, "the same seed", strikes(t, 1, 0.3, 100), first)
	if other := strikes(t, 2, 0.3, 100); other == first {
		t.Errorf("another seed gives the same: %s", other)
	}
	simtest.Want(t, "for certain", strikes(t, 3, 1, 5), "xxxxx")
}

func TestFault_delayMax(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := &simulator.Server{Seed: 1}
		sim.AddHost("0:10.0.0.1")
		sim.Inject(simulator.Fault{Delay: 50 * time.Millisecond, DelayMax: 500 * time.Millisecond})
		shortest, longest := time.Hour, time.Duration(0)
		for range 50 {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/c/compapi/v2/gse/get_proc_status_v2/",
				strings.NewReader(simtest.Signed(statusBody)))
			req.Host, req.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
			began := time.Now()
			sim.ServeHTTP(httptest.NewRecorder(), req)
			shortest, longest = min(shortest, time.Since(began)), max(longest, time.Since(began))
		}
		if shortest < 50*time.Millisecond || longest >= 500*time.Millisecond || longest-shortest < 300*time.Millisecond {
			t.Errorf("all between %s and %s", shortest, longest)
		}
	})
}
