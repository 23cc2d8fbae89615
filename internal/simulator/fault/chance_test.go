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

const statusBody = `{"meta":{"namespace":"web","name":"nginx"},` + oneHost + `}`

const oneHost = `"hosts":[{"ip":"10.0.0.1","bk_cloud_id":0}]`

// strikes shows which of n requests a fault with a chance has affected.
func strikes(t *testing.T, seed uint64, chance float64, n int) string {
	t.Helper()
	c := simtest.NewVirtual(t, &simulator.Server{Seed: seed})
	code := 7
	c.Sim.Inject(simulator.Fault{API: "get_proc_status_v2", EnvelopeCode: &code, Chance: chance})
	var pattern strings.Builder
	for range n {
		if c.Send("get_proc_status_v2", statusBody).Code == code {
			pattern.WriteByte('x')
		} else {
			pattern.WriteByte('.')
		}
	}
	return pattern.String()
}

func TestFault_chance(t *testing.T) {
	t.Parallel()
	first := strikes(t, 1, 0.3, 100)
	// For fewer than one in 10^9 seeds, 0.3 gives a number outside this range.
	if n := strings.Count(first, "x"); n < 5 || n > 65 {
		t.Errorf("%d of 100 requests were hit: %s", n, first)
	}
	if again := strikes(t, 1, 0.3, 100); again != first {
		t.Errorf("the same seed gives\n%s and\n%s", first, again)
	}
	if other := strikes(t, 2, 0.3, 100); other == first {
		t.Errorf("another seed gives the same: %s", other)
	}
	simtest.Want(t, "for certain gives", strikes(t, 3, 1, 5), "xxxxx")
}

func TestFault_delayMax(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := &simulator.Server{Seed: 1}
		sim.AddHost("0:10.0.0.1")
		sim.Inject(simulator.Fault{Delay: 50 * time.Millisecond, DelayMax: 500 * time.Millisecond})
		var shortest, longest time.Duration
		for i := range 50 {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/c/compapi/v2/gse/get_proc_status_v2/",
				strings.NewReader("{"+simtest.Credentials+","+strings.TrimPrefix(statusBody, "{")))
			req.Host, req.RemoteAddr = "127.0.0.1", "127.0.0.1:1"
			began := time.Now()
			rec := httptest.NewRecorder()
			sim.ServeHTTP(rec, req)
			took := time.Since(began)
			if took < 50*time.Millisecond || took >= 500*time.Millisecond {
				t.Fatalf("answered after %s: %s", took, rec.Body)
			}
			if i == 0 {
				shortest, longest = took, took
			}
			shortest, longest = min(shortest, took), max(longest, took)
		}
		if longest-shortest < 300*time.Millisecond {
			t.Errorf("all between %s and %s", shortest, longest)
		}
	})
}

func TestCalls_mostWithin(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var calls simulator.CallList
	for _, ms := range []int{0, 900, 1000, 1100, 1899, 3000} {
		calls = append(calls, simulator.Call{Start: began.Add(time.Duration(ms) * time.Millisecond)})
	}
	for span, want := range map[time.Duration]int{time.Second: 4, 901 * time.Millisecond: 3, time.Millisecond: 1, time.Minute: 6} {
		if got := calls.MostWithin(span); got != want {
			t.Errorf("%d within %s, want %d", got, span, want)
		}
	}
	if got := (simulator.CallList)(nil).MostWithin(time.Second); got != 0 {
		t.Errorf("%d of no calls", got)
	}
}
