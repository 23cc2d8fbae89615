package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// dawdling is a process of which one call takes all the time that it is given. Its first host then has no answer.
type dawdling struct {
	process

	slow, calls int // the number of that call, and that of the last one, 0 if all calls follow a change
	began       []string
	short       []string // calls after the slow one that have less time than they need
}

// spend notes a call, and whether it has the time that it needs. If it is the slow one, it ends with ctx, and spend
// returns true.
func (d *dawdling) spend(ctx context.Context, name string, needs time.Duration) bool {
	d.began = append(d.began, name)
	deadline, _ := ctx.Deadline()
	if left := time.Until(deadline); len(d.began) > d.slow && left < needs {
		d.short = append(d.short, fmt.Sprintf("%s (%d.) has %s of %s", name, len(d.began), left, needs))
	}
	if len(d.began) != d.slow {
		return false
	}
	<-ctx.Done()
	return true
}

func (d *dawdling) changes(ctx context.Context, name string, needs time.Duration, on []fleet.Host, results fleet.Results) fleet.Results {
	if d.spend(ctx, name, needs) {
		results[on[0]] = fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Err: ctx.Err()}
	}
	return results
}

func (d *dawdling) Register(ctx context.Context, on []fleet.Host) fleet.Results {
	return d.changes(ctx, "register", fleet.Quick, on, d.process.Register(ctx, on))
}

func (d *dawdling) Reregister(ctx context.Context, on []fleet.Host) fleet.Results {
	return d.changes(ctx, "reregister", fleet.Quick, on, d.process.Reregister(ctx, on))
}

func (d *dawdling) Unregister(ctx context.Context, on []fleet.Host) fleet.Results {
	return d.changes(ctx, "unregister", fleet.Quick, on, d.process.Unregister(ctx, on))
}

func (d *dawdling) Operate(ctx context.Context, op fleet.Operation, on []fleet.Host, observe fleet.Observer) fleet.Results {
	return d.changes(ctx, string(op), fleet.Takes(d, op), on, d.process.Operate(ctx, op, on, observe))
}

func (d *dawdling) Resume(ctx context.Context, tasks map[fleet.Host]fleet.Task, wait bool, observe fleet.Observer) fleet.Results {
	results := d.process.Resume(ctx, tasks, wait, observe)
	if wait {
		on := slices.Collect(maps.Keys(tasks))
		return d.changes(ctx, "wait", fleet.Takes(d, tasks[on[0]].Operation), on, results)
	}
	return results
}

func (d *dawdling) CachedStatus(ctx context.Context, on []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	if d.spend(ctx, "cached", 0) { // existing registrations are rare, and read at once
		return nil, ctx.Err()
	}
	return d.process.CachedStatus(ctx, on)
}

func (d *dawdling) LiveStatus(ctx context.Context, on []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	needs := fleet.Quick
	if d.calls == 0 || len(d.began)+1 == d.calls { // something was done before
		needs = fleet.Aftermath
	}
	slow := d.spend(ctx, "live", needs)
	statuses, err := d.process.LiveStatus(ctx, on)
	if slow {
		statuses[on[0]] = fleet.Status{State: fleet.Unknown, Away: true, Late: true}
	}
	return statuses, err
}

// However long a step of a wave takes, the later steps have the time that they need, if there is enough for all.
func TestReconciliation_slowStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ensure  fleet.Ensure
		stopped map[fleet.Host]bool
		time    time.Duration
	}{
		"running":            {fleet.EnsureRunning, nil, 12 * time.Minute},
		"hosted-and-stopped": {fleet.EnsureHosted, map[fleet.Host]bool{host(7): true, host(8): true}, 12 * time.Minute},
		"registered":         {fleet.EnsureRegistered, nil, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 1
			for slow := 0; slow <= calls; slow++ {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), c.time)
					defer cancel()
					d := &dawdling{slow: slow, calls: calls}
					d.register = done(byHost{3: taken, 4: taken})
					d.cached = says(byStatus{3: row(fleet.Running, true, 5), 4: row(fleet.Running, true, 5)})
					d.live = says(byStatus{7: live(fleet.Stopped, true, 5), 8: live(fleet.Stopped, true, 5), 9: live(fleet.Running, false, 5), 10: live(fleet.Running, false, 5)})
					d.look = byHost{9: {Verdict: fleet.Pending}, 11: {Verdict: fleet.Pending}, 12: {Verdict: fleet.Pending}}
					tried := fleet.Runs{Spec: "old", Tried: fleet.TryUnseen, Task: fleet.Task{ID: "T", Operation: fleet.Restart}}
					change := fleet.Change{
						Register: hosts(1, 2, 3, 4), Reregister: hosts(5, 6, 11, 12), Settle: hosts(7, 8, 9, 10), Order: hosts(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
						Moves: fleet.Moves{Stopped: c.stopped},
						Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{
							host(5): {Spec: "old"}, host(6): {Spec: "old"}, host(7): {Spec: "old", Tried: fleet.TryFailed}, host(11): tried, host(12): tried,
						}},
						Inherited: fleet.Inherited{Underway: tasks{host(9): {ID: "U", Operation: fleet.Supervise}}, Rename: func(ctx context.Context, _ []fleet.Host) fleet.Results {
							d.spend(ctx, "rename", fleet.Besides)
							return nil
						}},
					}
					fleet.NewReconciliation(d, desired(c.ensure), change).Run(ctx)
					if slow == 0 {
						calls = len(d.began)
						return
					}
					fleettest.Check(t, len(d.short) == 0, "with call %d of %v slow: %v", slow, d.began, d.short)
				})
			}
			fleettest.Check(t, calls >= 10, "%d calls", calls)
		})
	}
}

// However long a step of a release takes, the later steps have the time that they need.
func TestRelease_slowStep(t *testing.T) {
	t.Parallel()
	calls := 1
	for slow := 0; slow <= calls; slow++ {
		synctest.Test(t, func(t *testing.T) {
			d := &dawdling{slow: slow}
			ctx, cancel := context.WithTimeout(t.Context(), fleet.Takes(d, fleet.Stop)+fleet.Besides)
			defer cancel()
			d.operate = doneOps(byOp{fleet.Stop: {2: noop, 3: away}})
			d.unregister = done(byHost{4: away, 5: {Verdict: fleet.Done, AlreadyDone: true}, 6: {Verdict: fleet.Done, AlreadyDone: true}})
			fleet.Release(ctx, d, hosts(1, 2, 3, 4, 5, 6, 7, 8), fleet.DestroyStop, nil, nil)
			if slow == 0 {
				calls = len(d.began)
				return
			}
			fleettest.Check(t, len(d.short) == 0, "with call %d of %v slow: %v", slow, d.began, d.short)
		})
	}
	fleettest.Check(t, calls == 7, "%d calls", calls)
}
