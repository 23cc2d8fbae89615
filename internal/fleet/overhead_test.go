package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// overhead is what a rollout of waves takes beyond its operations, its pauses and the time
// for which processes have to be stable, where agents take so long to answer.
func overhead(t *testing.T, waves int, gate fleet.Gate, pause, operation, answer time.Duration) time.Duration {
	t.Helper()
	var took time.Duration
	synctest.Test(t, func(t *testing.T) {
		p := &slow{operation: operation, answer: answer}
		rollout := fleet.Rollout{Waves: fleet.BatchesOf(1), Pause: pause, Healthy: &gate}
		var list []fleet.Host
		for n := 1; n <= waves; n++ {
			list = append(list, host(n))
		}
		start := time.Now()
		if failures := fleet.Run(t.Context(), p, fleet.Restart, list, nil, rollout).Failures(); len(failures) > 0 {
			t.Errorf("failed: %v", byNumber(failures))
		}
		took = time.Since(start) - time.Duration(waves)*(operation+gate.StableFor) - time.Duration(waves-1)*pause
	})
	return took
}

// slow is a process whose platform takes its time.
type slow struct {
	process
	operation, answer time.Duration
}

func (p *slow) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
	<-time.After(p.operation)
	return p.process.Operate(ctx, op, hosts, observe)
}

func (p *slow) LiveStatus(_ context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	<-time.After(p.answer)
	return lives(time.Now(), nil)(hosts)
}

// Looking at processes adds at most a tenth of the time for which they have to be stable
// and 0.3 s to a wave, besides three answers: the first one, the last one, and one that came
// just too early. Looks every 5 s, as scripts wait, add up to 5 s whatever they wait for.
func TestGate_overhead(t *testing.T) {
	t.Parallel()
	table := fmt.Sprintf("\n%10s %8s %7s %12s %12s %12s\n", "stable_for", "waves", "answer", "adds", "a wave", "fixed at 5 s")
	for _, stable := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second, 31 * time.Second, 2 * time.Minute, 10 * time.Minute} {
		for _, answer := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, time.Second} {
			const waves = 5
			gate := fleet.Gate{StableFor: stable, Within: 2*stable + 5*time.Minute}
			adds := overhead(t, waves, gate, 10*time.Second, 4*time.Second, answer)
			every := 5 * time.Second
			fixed := answer - stable
			for fixed < answer {
				fixed += every + answer
			}
			each := adds / waves
			table += fmt.Sprintf("%10s %8d %7s %12s %12s %12s\n", stable, waves, answer, adds.Round(time.Millisecond), each.Round(time.Millisecond), fixed.Round(time.Millisecond))
			if most := stable/10 + 300*time.Millisecond + 3*answer; each > most {
				t.Errorf("stable for %s, answers in %s: %s more a wave, want at most %s", stable, answer, each, most)
			}
		}
	}
	t.Log(table)
}
