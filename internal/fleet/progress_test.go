package fleet_test

import (
	"context"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// telling is a process that reports each host as soon as it settles, and of one twice. It does not know what became of host 2.
func telling() *process {
	return &process{
		live: says(byStatus{1: live(fleet.Stopped, false, 0), 2: {State: fleet.Unknown}}),
		operate: func(_ context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
			results := make(fleet.Results)
			for _, h := range hosts {
				outcome := fleet.Outcome{Verdict: fleet.Done, AlreadyDone: op == fleet.Stop}
				if verdict, unwell := (map[int]fleet.Verdict{4: fleet.Failed, 7: fleet.Lost, 8: fleet.Pending, 9: fleet.NotTried})[number(h)]; unwell {
					outcome = fleet.Outcome{Verdict: verdict}
				}
				results[h] = outcome
				observe.Tell(results)
				observe.Tell(results)
			}
			return results
		},
	}
}

func TestRun_progress(t *testing.T) {
	t.Parallel()
	wave := func(n, waves, hosts, done, failed int) fleet.Progress {
		return fleet.Progress{Wave: n, Waves: waves, Hosts: hosts, Done: done, Failed: failed}
	}
	for name, c := range map[string]struct {
		op      fleet.Operation
		rollout fleet.Rollout
		hosts   int
		want    []fleet.Progress
	}{
		"host-by-host": {
			op: fleet.Restart, rollout: fleet.Rollout{Waves: fleet.BatchesOf(2)}, hosts: 3,
			want: []fleet.Progress{wave(1, 2, 3, 0, 0), wave(1, 2, 3, 1, 0), wave(1, 2, 3, 2, 0), wave(2, 2, 3, 2, 0), wave(2, 2, 3, 3, 0)},
		},
		"waves-that-do-not-start-have-not-failed": {
			op: fleet.Restart, rollout: fleet.Rollout{Waves: fleet.BatchesOf(4)}, hosts: 6,
			want: []fleet.Progress{wave(1, 2, 6, 0, 0), wave(1, 2, 6, 1, 0), wave(1, 2, 6, 2, 0), wave(1, 2, 6, 3, 0), wave(1, 2, 6, 3, 1)},
		},
		"done-at-first-and-failed-in-the-end": {op: fleet.Stop, hosts: 2, want: []fleet.Progress{wave(1, 1, 2, 0, 0), wave(1, 1, 2, 1, 0), wave(1, 1, 2, 2, 0), wave(1, 1, 2, 1, 1)}},
		"what-nobody-knows-has-not-failed": {
			op: fleet.Restart, rollout: fleet.Rollout{Waves: fleet.BatchesOf(6), MaxFailed: fleet.UpTo(1)}, hosts: 9,
			want: []fleet.Progress{
				wave(1, 2, 9, 0, 0), wave(1, 2, 9, 1, 0), wave(1, 2, 9, 2, 0), wave(1, 2, 9, 3, 0), wave(1, 2, 9, 3, 1), wave(1, 2, 9, 4, 1), wave(1, 2, 9, 5, 1),
				wave(2, 2, 9, 5, 1), {Wave: 2, Waves: 2, Hosts: 9, Done: 5, Failed: 1, Unknown: 1}, {Wave: 2, Waves: 2, Hosts: 9, Done: 5, Failed: 1, Unknown: 2},
			},
		},
		"no-hosts": {op: fleet.Start},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []fleet.Progress
			c.rollout.Watch = func(p fleet.Progress) { got = append(got, p) }
			numbers := make([]int, c.hosts)
			for i := range numbers {
				numbers[i] = i + 1
			}
			fleet.Run(t.Context(), telling(), c.op, hosts(numbers...), nil, c.rollout)
			fleettest.Same(t, "result", c.want, got)
		})
	}
}
