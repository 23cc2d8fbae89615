package gse

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// BenchmarkWaitOverhead measures what polling adds to an operation: the time from its end until the client notices, and the requests. The
// clock is twenty times as fast; the figures are given for a real one. Operations last from three quarters to five quarters of their
// nominal time, so that no interval fits by luck.
func BenchmarkWaitOverhead(b *testing.B) {
	const speed = 20
	fixed := func(interval time.Duration) poll.Backoff { return poll.Backoff{First: interval, Max: interval} }
	waits := []struct {
		name    string
		backoff poll.Backoff
	}{
		{"default", poll.DefaultBackoff()}, {"every-2s", fixed(2 * time.Second)},
		{"every-3s", fixed(3 * time.Second)}, {"every-5s", fixed(5 * time.Second)},
	}
	for _, nominal := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 20 * time.Second} {
		for _, wait := range waits {
			b.Run(fmt.Sprintf("%s/%s", nominal, wait.name), func(b *testing.B) {
				sim := &simulator.Server{}
				backoff := wait.backoff
				backoff.First /= speed
				backoff.Max /= speed
				client := newTestClient(b, procapitest.Serve(b, sim), func(_ *bkapi.Config, opts *procapi.Options) { opts.Backoff = backoff })
				p := client.Process(sampleMeta, sampleSpec())
				var added, taken time.Duration
				n := 0
				for b.Loop() {
					n++
					// Multiples of the golden ratio are spread evenly, whatever their number.
					_, spread := math.Modf(float64(n) * math.Phi)
					takes := time.Duration(float64(nominal) * (0.75 + spread/2) / speed)
					sim.ClearFaults()
					sim.Inject(simulator.Fault{API: apiOperate, Takes: takes})
					start := time.Now()
					if failures := p.Operate(b.Context(), fleet.Restart, hosts(1), nil).Failures(); len(failures) > 0 {
						b.Fatal(failures)
					}
					added += time.Since(start) - takes
					taken += takes
				}
				b.ReportMetric(0, "ns/op") // the time by the fast clock means nothing
				b.ReportMetric(speed*added.Seconds()*1000/float64(n), "added-ms/op")
				b.ReportMetric(100*added.Seconds()/taken.Seconds(), "added-%")
				b.ReportMetric(float64(sim.Calls().Count(apiResult))/float64(n), "polls/op")
			})
		}
	}
}
