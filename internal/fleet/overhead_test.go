package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// slow is a process on a slow platform: operations take time, and so does each answer.
type slow struct {
	process
	operation time.Duration
	answers   []time.Duration // in turn, repeated
	asked     int
}

func (p *slow) answer() {
	<-time.After(p.answers[p.asked%len(p.answers)])
	p.asked++
}

func (p *slow) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
	start, longest := time.Now(), poll.DefaultBackoff()
	longest.Jitter = 0
	_ = poll.Until(ctx, longest, func(context.Context) (bool, error) {
		p.answer()
		return time.Since(start) >= p.operation, nil
	})
	return p.process.Operate(ctx, op, hosts, observe)
}

func (p *slow) LiveStatus(_ context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	p.answer()
	return lives(time.Now(), nil)(hosts)
}

// slowWave is a wave of a rollout on a slow platform.
type slowWave struct {
	operation, stable time.Duration
	answers           []time.Duration
}

// adds returns what a wave takes beyond its operation, its pause, and the time for which processes must be stable.
func (w slowWave) adds(t *testing.T) time.Duration {
	t.Helper()
	const waves, pause = 5, 10 * time.Second
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		p := &slow{operation: w.operation, answers: w.answers}
		rollout := fleet.Rollout{Waves: fleet.BatchesOf(1), Pause: pause, Healthy: &fleet.Gate{StableFor: w.stable, Within: 2*w.stable + 5*time.Minute}}
		start := time.Now()
		failures := runOne(t.Context(), p, fleet.Restart, hosts(1, 2, 3, 4, 5), nil, rollout).Failures()
		fleettest.Check(t, len(failures) == 0, "failed: %v", byNumber(failures))
		took = time.Since(start) - (waves-1)*pause
	})
	return took/waves - w.operation - w.stable
}

// addsFixed returns the same for a client that asks at a fixed interval, for the operation and then the process.
func (w slowWave) addsFixed(every time.Duration) time.Duration {
	answer := w.answers[0]
	noticed := answer
	for noticed < w.operation {
		noticed += every + answer
	}
	asked := time.Duration(0)
	for asked < answer+w.stable {
		asked += answer + every
	}
	return noticed - w.operation + asked + answer - w.stable
}

var (
	operationsTake = []time.Duration{500 * time.Millisecond, 2 * time.Second, 20 * time.Second}
	stableFor      = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 31 * time.Second, 2 * time.Minute, 10 * time.Minute}
)

// Promised in measurements.md: a wave takes at most a tenth and 0.3 s longer than its operation and
// `stable_for`. That is the wait for the operation, as above, and two answers.
func TestRollout_overhead(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, operation := range operationsTake {
		for _, stable := range stableFor {
			for _, answers := range [][]time.Duration{{20 * ms}, {50 * ms}, {100 * ms}, {20 * ms, 90 * ms, 10 * ms, 100 * ms, 40 * ms}} {
				adds := slowWave{operation, stable, answers}.adds(t)
				if most := (operation+stable)/10 + 300*ms; adds > most {
					t.Errorf("operation of %s, stable for %s, answers in %s: %s more a wave, want at most %s", operation, stable, answers, adds, most)
				}
			}
		}
	}
}

// A gate takes two answers more than the time for which a process must be stable: the first that shows it running,
// and one after that time.
func TestGate_overhead(t *testing.T) {
	t.Parallel()
	for _, stable := range stableFor {
		for _, answer := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, time.Second, 4 * time.Second} {
			// The end of the operation takes an answer as well.
			adds := (slowWave{0, stable, []time.Duration{answer}}).adds(t)
			fleettest.Check(t, adds == 3*answer, "stable for %s, answers in %s: %s more a wave, want %s", stable, answer, adds, 3*answer)
		}
	}
}

func TestRollout_overheadPage(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, operation := range operationsTake {
		for _, stable := range stableFor[2:5] {
			w := slowWave{operation, stable, []time.Duration{50 * time.Millisecond}}
			fmt.Fprintf(&table, "| %g s | %g s | %.2f |", operation.Seconds(), stable.Seconds(), w.adds(t).Seconds())
			for _, every := range []time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second} {
				fmt.Fprintf(&table, " %.1f |", w.addsFixed(every).Seconds())
			}
			table.WriteString("\n")
		}
	}
	for _, name := range []string{"measurements.md.tmpl", "zh-measurements.md.tmpl"} {
		page, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", name))
		fleettest.NoError(t, err)
		fleettest.Check(t, strings.Contains(string(page), "|---|---|---|---|---|---|\n"+table.String()+"\n"),
			"%s should have the table\n%s", name, table.String())
	}
}

// What a run that ends early costs grows with its hosts, and not with their square, which takes minutes.
func TestRun_manyNotTried(t *testing.T) {
	t.Parallel()
	all := make([]fleet.Host, 20000)
	for i := range all {
		all[i] = fleet.NewHost(0, 0, netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))
	}
	fails := func(_ context.Context, _ fleet.Operation, on []fleet.Host, _ fleet.Observer) fleet.Results {
		return fleet.Same(on, fleet.Outcome{Verdict: fleet.Failed, Code: 65535})
	}
	var members []fleet.Member
	for priority := range int64(3) {
		members = append(members, fleet.Member{Process: separate{&process{operate: fails}}, Priority: priority, Hosts: all})
	}
	began := time.Now()
	for _, results := range fleet.Run(t.Context(), fleet.Restart, fleet.Ascending, members, all, fleet.Rollout{Waves: fleet.BatchesOf(1)}) {
		fleettest.Same(t, "failures", len(all), len(results.Failures()))
	}
	took := time.Since(began)
	fleettest.Check(t, took < 30*time.Second, "took %s", took)
}

// A plan builds the inventory of every resource more than once.
func BenchmarkInventory10000(b *testing.B) {
	addresses := make(map[string]string, 10000)
	for i := range 10000 {
		addresses[fmt.Sprintf("web-%d", i)] = fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255)
	}
	b.ReportAllocs()
	for b.Loop() {
		if inventory, faults := fleet.NewInventory(maps.All(addresses), 0); len(faults) > 0 || inventory.Len() != 10000 {
			b.Fatal(faults)
		}
	}
}

func BenchmarkInspect10000(b *testing.B) {
	all := make([]fleet.Host, 10000)
	statuses := make(map[fleet.Host]fleet.Status, len(all))
	for i := range all {
		h, err := fleet.ParseHost(fmt.Sprintf("0:10.%d.%d.%d", i>>16, i>>8&255, i&255), 0)
		fleettest.NoError(b, err)
		all[i], statuses[h] = h, row(fleet.Running, true, 5)
	}
	b.ReportAllocs()
	for b.Loop() {
		if report, err := fleet.Inspect(b.Context(), onFile{nil, statuses}, all, desired(fleet.EnsureRunning), nil, nil, nil); err != nil || len(report.Drift) > 0 {
			b.Fatal(report.Drift, err)
		}
	}
}

// onFile is a fleet.Process that has only a cached status.
type onFile struct {
	fleet.Process

	statuses map[fleet.Host]fleet.Status
}

func (f onFile) SharedStatus(context.Context, []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return f.statuses, nil
}
