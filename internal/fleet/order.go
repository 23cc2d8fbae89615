package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// Member is one of the processes of an operation.
type Member struct {
	Process  Process
	Priority int64
	// Hosts are the hosts on which the operation is due. Unsure are those of them on which an earlier run may
	// have worked although its end was not seen, with its task if known. The platform is asked for the task,
	// and the agents for the state. A host that is as requested is left alone.
	Hosts  []Host
	Unsure map[Host]Task
}

// meaningBlocked is the meaning of outcomes that are Blocked.
const meaningBlocked = "not tried: the operation did not succeed on this host for a process that comes before"

// Order is the direction in which an operation takes the priorities.
type Order string

// The values of Order.
const (
	Ascending  Order = "ascending"
	Descending Order = "descending"
)

// Orders returns both values of Order.
func Orders() []Order { return []Order{Ascending, Descending} }

// Order returns the direction that GSEKit (get_op_type_order in TencentBlueKing/bk-process-config-manager)
// and BSCP use for the operation.
func (op Operation) Order() Order {
	if op == Stop || op == Restart {
		return Descending
	}
	return Ascending
}

// Stages orders processes by their priorities. It returns their indices, those of the same priority together.
func Stages(order Order, priorities []int64) [][]int {
	distinct := slices.Compact(slices.Sorted(slices.Values(priorities)))
	if order == Descending {
		slices.Reverse(distinct)
	}
	stages := make([][]int, len(distinct))
	for i, priority := range priorities {
		at := slices.Index(distinct, priority)
		stages[at] = append(stages[at], i)
	}
	return stages
}

// Run runs an operation on processes. Those of one priority go together, in waves of machines. The next
// priority begins only if no more than MaxFailed machines in all have failed, and leaves failed machines
// alone. all has each machine once, in the order of the waves. Run returns one Results per member, in the
// order of members.
func Run(ctx context.Context, op Operation, order Order, members []Member, all []Host, rollout Rollout) []Results {
	if !op.LeavesRunning() {
		rollout.Healthy = nil
	}
	r := orderedRun{op: op, members: members, rollout: rollout, results: make([]Results, len(members)), failed: make(Results)}
	priorities, turns := make([]int64, len(members)), 0
	for i, m := range members {
		r.results[i] = make(Results, len(m.Hosts))
		priorities[i] = m.Priority
		turns += len(m.Hosts)
	}
	stages, waves := Stages(order, priorities), 0
	for _, stage := range stages {
		waves += len(rollout.Sizes(r.machines(stage, all)))
	}
	r.tally = newTally(rollout.Watch, turns, waves)
	allowed := rollout.MaxFailed.Of(len(r.machines(slices.Concat(stages...), all)))
	for n, stage := range stages {
		machines := r.machines(stage, all)
		if len(machines) == 0 {
			continue
		}
		later := time.Duration(0)
		for _, to := range stages[n+1:] {
			later += r.needs(to)
		}
		r.stage(ctx, stage, machines, allowed, later)
		r.waves += len(rollout.Sizes(machines))
	}
	return r.results
}

// orderedRun is one call of Run.
type orderedRun struct {
	op      Operation
	members []Member
	rollout Rollout
	results []Results
	failed  Results // the outcomes of machines on which something has failed
	waves   int     // number of waves in earlier stages
	tally   *tally
}

// machines returns the machines of the members of a stage.
func (r *orderedRun) machines(stage []int, all []Host) []Host {
	var on []Host
	for _, i := range stage {
		on = append(on, r.members[i].Hosts...)
	}
	return sameMachines(all, on)
}

// stage runs the members of one priority, wave by wave. later is what the later stages need. A wave with a
// timeout limits itself.
func (r *orderedRun) stage(ctx context.Context, stage []int, machines []Host, allowed int, later time.Duration) {
	if r.rollout.WaveTimeout == 0 {
		var cancel context.CancelFunc
		ctx, cancel = Share(ctx, r.needs(stage), later)
		defer cancel()
	}
	// The end of ctx also makes hosts fail, and is then the reason.
	stopped := r.rollout.Failed(r.failed) > allowed && poll.Pause(ctx, 0) == nil
	var going []Host
	skipped := make(map[HostID]Outcome)
	for _, machine := range machines {
		id := machine.WithoutSupplier()
		before, failed := r.failed[machine]
		switch {
		case before.onlyAway(), failed && !stopped:
			skipped[id] = Outcome{Verdict: NotTried, Blocked: true, Away: before.onlyAway(), Meaning: meaningBlocked}
		case stopped:
			skipped[id] = Outcome{Verdict: NotTried, Meaning: StoppedByFailures}
		default:
			going = append(going, machine)
		}
	}
	defer r.skip(stage, skipped)
	if len(going) == 0 {
		return
	}
	rollout, away := r.rollout, len(r.failed.Away())
	rollout.Watch, rollout.WaveTimeout = nil, 0 // orderedRun.wave applies the timeout
	rollout.MaxFailed, rollout.Unreached = UpTo(allowed-len(r.failed)+away), r.rollout.Unreached+away
	if r.waves > 0 {
		_ = rollout.clock().Pause(ctx, rollout.Pause) // if ctx has ended, the first wave does not start, and says why
	}
	results := rollout.Run(ctx, going, func(ctx context.Context, wave Wave) Results {
		r.tally.begin(r.waves + wave.Number)
		return r.wave(ctx, stage, wave.Hosts)
	})
	for machine, o := range results.Failures() {
		if r.failed[machine] = o; o.Verdict == NotTried {
			skipped[machine.WithoutSupplier()] = o
		}
	}
}

// skip sets these outcomes for the members without one.
func (r *orderedRun) skip(stage []int, outcomes map[HostID]Outcome) {
	for _, i := range stage {
		for _, h := range r.members[i].Hosts {
			o, skipped := outcomes[h.WithoutSupplier()]
			if _, known := r.results[i][h]; skipped && !known {
				r.results[i][h] = o
			}
		}
	}
}

// wave runs the operation for the members of a stage on some machines, passes these through the gate, and
// returns the outcome of each machine.
func (r *orderedRun) wave(ctx context.Context, stage []int, machines []Host) Results {
	turns := make([]turn, len(stage))
	r.rollout.bounded(ctx, func(ctx context.Context, wave Wave) Results {
		r.operate(ctx, stage, wave.Hosts, turns)
		return nil
	}, Wave{Hosts: machines})
	r.watch(ctx, stage, turns)
	settled := make(map[HostID]Outcome, len(machines))
	for n, t := range turns {
		r.results[stage[n]].Merge(t.results)
		for h, o := range t.results {
			if worst, known := settled[h.WithoutSupplier()]; !known || worst.OK() || worst.Away && !o.OK() {
				settled[h.WithoutSupplier()] = o
			}
		}
	}
	results := make(Results, len(machines))
	for _, machine := range machines {
		results[machine] = settled[machine.WithoutSupplier()]
	}
	return results
}

func (r *orderedRun) operate(ctx context.Context, stage []int, machines []Host, turns []turn) {
	after := time.Duration(0)
	for n, i := range stage {
		turns[n] = turn{process: r.members[i].Process, op: r.op}
		after = max(after, turns[n].needsAfter())
	}
	atOnce(len(stage), func(n int) {
		i := stage[n]
		turns[n].before(ctx, sameMachines(r.members[i].Hosts, machines), r.members[i].Unsure, r.takes(stage)+after, func(results Results) { r.count(i, results) })
		r.count(i, turns[n].results)
	})
	var (
		parts []Part
		of    []int // the index in turns of each part
	)
	for n, t := range turns {
		if len(t.due) > 0 {
			parts = append(parts, Part{t.process, t.due, func(results Results) { r.count(stage[n], results) }})
			of = append(of, n)
		}
	}
	operated := make([]Results, len(turns))
	operating, cancel := Share(ctx, r.takes(stage), after)
	defer cancel()
	for n, results := range operateAll(operating, r.op, parts) {
		operated[of[n]] = results
	}
	atOnce(len(turns), func(n int) {
		turns[n].after(ctx, operated[n])
		r.count(stage[n], turns[n].results)
	})
}

func (r *orderedRun) takes(stage []int) time.Duration {
	longest := time.Duration(0)
	for _, i := range stage {
		longest = max(longest, Takes(r.members[i].Process, r.op))
	}
	return longest
}

// needs returns how long a stage of one wave needs.
func (r *orderedRun) needs(stage []int) time.Duration {
	needs := r.takes(stage) + Besides
	if r.rollout.Healthy != nil {
		needs += r.rollout.Healthy.StableFor
	}
	return needs
}

// count adds the verdicts of a member. If there is a gate, a success counts only after it.
func (r *orderedRun) count(member int, results Results) {
	if r.rollout.Healthy != nil {
		results = results.Failures()
	}
	r.tally.count(member, results)
}

// watch passes the hosts of a wave through the gate, each process separately.
func (r *orderedRun) watch(ctx context.Context, stage []int, turns []turn) {
	if r.rollout.Healthy == nil {
		return
	}
	watched, all := make([][]Host, len(turns)), 0
	for n, t := range turns {
		watched[n] = t.results.Succeeded(r.members[stage[n]].Hosts)
		all += len(watched[n])
	}
	r.tally.watching(all)
	atOnce(len(turns), func(n int) {
		left := func(results Results) { r.tally.left(stage[n], results) }
		turns[n].results.Merge(r.rollout.Healthy.pass(ctx, turns[n].process, r.rollout.clock(), watched[n], turns[n].results, left))
		r.tally.count(stage[n], turns[n].results)
	})
	r.tally.watching(0)
}

// operateAll runs an operation on several processes, in one call if the platform supports that.
func operateAll(ctx context.Context, op Operation, parts []Part) []Results {
	if len(parts) > 1 {
		if joint, ok := parts[0].Process.(Joint); ok {
			return joint.OperateJointly(ctx, op, parts)
		}
	}
	results := make([]Results, len(parts))
	atOnce(len(parts), func(n int) {
		results[n] = parts[n].Process.Operate(ctx, op, parts[n].Hosts, parts[n].Observe)
	})
	return results
}

// atOnce calls act with 0 to n-1, concurrently, and waits.
func atOnce(n int, act func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { act(i) })
	}
	wg.Wait()
}

// sameMachines returns those of hosts that are among others, with any supplier id.
func sameMachines(hosts, others []Host) []Host {
	ids := make(map[HostID]bool, len(others))
	for _, h := range others {
		ids[h.WithoutSupplier()] = true
	}
	return Where(hosts, func(h Host) bool { return ids[h.WithoutSupplier()] })
}
