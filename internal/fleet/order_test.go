package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// joint is a fleet.Joint with a name. Its calls are lines of a shared log, such as "start a[1 2] b[1]".
type joint struct {
	process

	name string
	log  *jointLog
	// fails has the outcomes of hosts on which an operation fails.
	fails byHost
}

type jointLog struct {
	mu    sync.Mutex
	calls []string
	at    []time.Duration
	began time.Time
	then  func(call string)
}

func (l *jointLog) add(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls, l.at = append(l.calls, call), append(l.at, time.Since(l.began))
	if l.then != nil {
		l.then(call)
	}
}

func (j *joint) on(hosts []fleet.Host) string {
	var numbers []int
	for _, h := range hosts {
		numbers = append(numbers, number(h))
	}
	return j.name + fmt.Sprint(numbers)
}

func (j *joint) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	j.log.add("live " + j.on(hosts))
	return j.process.LiveStatus(ctx, hosts)
}

func (j *joint) Operate(_ context.Context, op fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
	j.log.add(string(op) + " " + j.on(hosts))
	results := done(j.fails)(hosts)
	observe.Notify(results)
	return results
}

func (j *joint) OperateJointly(_ context.Context, op fleet.Operation, parts []fleet.Part) []fleet.Results {
	call, all := string(op), make([]fleet.Results, len(parts))
	for i, part := range parts {
		other := part.Process.(*joint) //nolint:forcetypeassert // there are no others here
		call += " " + other.on(part.Hosts)
		all[i] = done(other.fails)(part.Hosts)
		part.Observe.Notify(all[i])
	}
	j.log.add(call)
	return all
}

// A host without an outcome may have failed, so its later processes are not tried.
func TestRun_severalNoOutcome(t *testing.T) {
	t.Parallel()
	forgets := &process{operate: func(context.Context, fleet.Operation, []fleet.Host, fleet.Observer) fleet.Results {
		return fleet.Results{host(1): well}
	}}
	later := &process{}
	results := fleet.Run(t.Context(), fleet.Start, fleet.Ascending, []fleet.Member{
		{Process: forgets, Priority: 1, Hosts: hosts(1, 2)}, {Process: later, Priority: 2, Hosts: hosts(1, 2)},
	}, hosts(1, 2), fleet.Rollout{MaxFailed: fleet.UpTo(1)})
	lost := fleet.Outcome{Verdict: fleet.Lost, Meaning: "no outcome came back for this host"}
	wantResults(t, byHost{1: well, 2: lost}, results[0])
	later.wantCalls(t, "start 1")
	wantResults(t, byHost{1: well, 2: lost}, runOne(t.Context(), forgets, fleet.Start, hosts(1, 2), nil, fleet.Rollout{}))
}

// separate hides fleet.Joint, like a platform that takes one process per call.
type separate struct{ fleet.Process }

// The order is that of GSEKit and BSCP.
func TestOperation_order(t *testing.T) {
	t.Parallel()
	orders := make(map[fleet.Operation]fleet.Order)
	for _, op := range fleet.Operations() {
		orders[op] = op.Order()
	}
	want := map[fleet.Operation]fleet.Order{
		fleet.Start: fleet.Ascending, fleet.Reload: fleet.Ascending, fleet.Kill: fleet.Ascending,
		fleet.Stop: fleet.Descending, fleet.Restart: fleet.Descending,
	}
	fleettest.Same(t, "orders", want, orders)
}

func TestRun_several(t *testing.T) {
	t.Parallel()
	var (
		failed   = fleet.Outcome{Verdict: fleet.Failed, Code: 65535}
		tooMany  = fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}
		byOther  = fleet.Outcome{Verdict: fleet.NotTried, Blocked: true, Meaning: "not tried: the operation did not succeed on this host for a process that comes before"}
		gone     = fleet.Outcome{Verdict: fleet.Failed, Code: 117, Away: true}
		byAway   = fleet.Outcome{Verdict: fleet.NotTried, Blocked: true, Away: true, Meaning: byOther.Meaning}
		found    = fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true}
		allWell  = map[string]byHost{"db": {1: well, 2: well}, "web": {1: well, 2: well, 3: well}, "log": {1: well, 2: well, 3: well}}
		inOrder  = []string{"start db[1 2]", "start log[1 2 3] web[1 2 3]"}
		backward = []string{"stop log[1 2 3] web[1 2 3]", "stop db[1 2]"}
	)
	for name, test := range map[string]struct {
		op      fleet.Operation
		order   fleet.Order // the operation's own by default
		rollout fleet.Rollout
		fails   map[string]byHost
		unsure  map[string][]int
		alone   bool // the platform takes one process per call
		calls   []string
		results map[string]byHost
	}{
		"up":             {op: fleet.Start, calls: inOrder, results: allWell},
		"down":           {op: fleet.Stop, calls: backward, results: allWell},
		"up-by-choice":   {op: fleet.Stop, order: fleet.Ascending, results: allWell, calls: []string{"stop db[1 2]", "stop log[1 2 3] web[1 2 3]"}},
		"down-by-choice": {op: fleet.Start, order: fleet.Descending, results: allWell, calls: []string{"start log[1 2 3] web[1 2 3]", "start db[1 2]"}},
		"one-a-call":     {op: fleet.Start, alone: true, calls: []string{"start db[1 2]", "start log[1 2 3]", "start web[1 2 3]"}, results: allWell},
		"waves-of-machines": {
			op: fleet.Start, rollout: fleet.Rollout{Waves: waves("1", "100%")},
			calls: []string{"start db[1]", "start db[2]", "start log[1] web[1]", "start log[2 3] web[2 3]"}, results: allWell,
		},
		"canary": {
			op: fleet.Start, rollout: fleet.Rollout{Canary: map[fleet.Host]bool{host(3): true}},
			calls: []string{"start db[1 2]", "start log[3] web[3]", "start log[1 2] web[1 2]"}, results: allWell,
		},
		"fails": {
			op: fleet.Start, fails: map[string]byHost{"db": {2: failed}}, calls: inOrder[:1],
			results: map[string]byHost{"db": {1: well, 2: failed}, "web": {1: tooMany, 2: tooMany, 3: tooMany}, "log": {1: tooMany, 2: tooMany, 3: tooMany}},
		},
		"fails-in-a-wave": {
			op: fleet.Start, rollout: fleet.Rollout{Waves: fleet.BatchesOf(1)}, fails: map[string]byHost{"log": {1: failed}},
			calls: []string{"start db[1]", "start db[2]", "start log[1] web[1]"},
			results: map[string]byHost{
				"db": {1: well, 2: well}, "web": {1: well, 2: tooMany, 3: tooMany}, "log": {1: failed, 2: tooMany, 3: tooMany},
			},
		},
		"failure-allowed": {
			op: fleet.Start, rollout: fleet.Rollout{MaxFailed: fleet.UpTo(1)}, fails: map[string]byHost{"db": {2: failed}},
			calls:   []string{"start db[1 2]", "start log[1 3] web[1 3]"},
			results: map[string]byHost{"db": {1: well, 2: failed}, "web": {1: well, 2: byOther, 3: well}, "log": {1: well, 2: byOther, 3: well}},
		},
		// A third of three machines is one, even if the first priority is only on two.
		"share-allowed": {
			op: fleet.Start, rollout: fleet.Rollout{MaxFailed: tolerance("34%")}, fails: map[string]byHost{"db": {2: failed}},
			calls:   []string{"start db[1 2]", "start log[1 3] web[1 3]"},
			results: map[string]byHost{"db": {1: well, 2: failed}, "web": {1: well, 2: byOther, 3: well}, "log": {1: well, 2: byOther, 3: well}},
		},
		// Two processes that fail on one machine count as one failed machine.
		"counted-by-machine": {
			op: fleet.Stop, rollout: fleet.Rollout{MaxFailed: fleet.UpTo(1)}, fails: map[string]byHost{"web": {1: failed}, "log": {1: failed}},
			calls:   []string{backward[0], "stop db[2]"},
			results: map[string]byHost{"db": {1: byOther, 2: well}, "web": {1: failed, 2: well, 3: well}, "log": {1: failed, 2: well, 3: well}},
		},
		"allowed-in-all": {
			op: fleet.Start, rollout: fleet.Rollout{Waves: fleet.BatchesOf(1), MaxFailed: fleet.UpTo(1)}, fails: map[string]byHost{"db": {1: failed}, "web": {2: failed}},
			calls: []string{"start db[1]", "start db[2]", "start log[2] web[2]"},
			results: map[string]byHost{
				"db": {1: failed, 2: well}, "web": {1: byOther, 2: failed, 3: tooMany}, "log": {1: byOther, 2: well, 3: tooMany},
			},
		},
		// A machine that is only away is not given a later process before the earlier one, even if others stop the run.
		"away-and-others-fail": {
			op: fleet.Start, rollout: fleet.Rollout{Away: fleet.Away{MaxUnreachable: 1}}, fails: map[string]byHost{"db": {1: failed, 2: gone}}, calls: inOrder[:1],
			results: map[string]byHost{"db": {1: failed, 2: gone}, "web": {1: tooMany, 2: byAway, 3: tooMany}, "log": {1: tooMany, 2: byAway, 3: tooMany}},
		},
		"unsure-is-asked-by-itself": {
			op: fleet.Start, unsure: map[string][]int{"web": {1}},
			calls:   []string{"start db[1 2]", "live web[1]", "start log[1 2 3] web[2 3]"},
			results: map[string]byHost{"db": {1: well, 2: well}, "web": {1: found, 2: well, 3: well}, "log": {1: well, 2: well, 3: well}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, members := &jointLog{}, []fleet.Member(nil)
			names := []string{"log", "db", "web"}
			for i, name := range names {
				m := fleet.Member{Process: &joint{name: name, log: log, fails: test.fails[name]}, Priority: []int64{7, 2, 7}[i], Hosts: hosts(1, 2, 3)}
				if name == "db" {
					m.Hosts = hosts(1, 2)
				}
				if test.alone {
					m.Process = separate{m.Process}
				}
				m.Unsure = make(map[fleet.Host]fleet.Task)
				for _, n := range test.unsure[name] {
					m.Unsure[host(n)] = fleet.Task{}
				}
				members = append(members, m)
			}
			var last fleet.Progress
			test.rollout.Watch = func(p fleet.Progress) { last = p }
			if test.order == "" {
				test.order = test.op.Order()
			}
			all := fleet.Run(t.Context(), test.op, test.order, members, hosts(1, 2, 3), test.rollout)
			done, failures := 0, 0
			for i, results := range all {
				wantResults(t, test.results[names[i]], results)
				done += len(results) - len(results.Failures())
				for _, o := range results {
					if o.Verdict == fleet.Failed {
						failures++
					}
				}
			}
			fleettest.Check(t, last.Hosts == 8 && last.Done == done && last.Failed == failures,
				"told of %+v, want %d of 8 done and %d failed", last, done, failures)
			if test.alone {
				slices.Sort(log.calls) // those of one priority go at once
			}
			fleettest.Same(t, "calls", test.calls, log.calls)
		})
	}
}

// Waves are numbered across all priorities, with a pause between any two.
func TestRun_severalInWaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &jointLog{began: time.Now()}
		members := []fleet.Member{
			{Process: &joint{name: "a", log: log}, Priority: 1, Hosts: hosts(1, 2)}, {Process: &joint{name: "b", log: log}, Priority: 2, Hosts: hosts(1)},
		}
		var begun []string
		watch := func(p fleet.Progress) {
			if of := fmt.Sprintf("%d/%d", p.Wave, p.Waves); !slices.Contains(begun, of) {
				begun = append(begun, of)
			}
		}
		fleet.Run(t.Context(), fleet.Restart, fleet.Ascending, members, hosts(1, 2), fleet.Rollout{Waves: fleet.BatchesOf(1), Pause: time.Minute, Watch: watch})
		fleettest.Same(t, strings.Join(log.calls, ", ")+" began at", []time.Duration{0, time.Minute, 2 * time.Minute}, log.at)
		fleettest.Same(t, "waves", "1/3 2/3 3/3", strings.Join(begun, " "))
	})
}

// lasting is a process whose operations take long. If one was sent before, it is still under way.
type lasting struct {
	process

	takes time.Duration
	had   time.Duration // the time that the operation was given
}

func (l *lasting) Settles() (command, startCheck, stopCheck time.Duration) { return l.takes, 0, 0 }

func (l *lasting) Resume(ctx context.Context, tasks map[fleet.Host]fleet.Task, wait bool, _ fleet.Observer) fleet.Results {
	if wait {
		<-ctx.Done()
	}
	return fleet.Same(slices.Collect(maps.Keys(tasks)), fleet.Outcome{Verdict: fleet.Pending})
}

func (l *lasting) Operate(ctx context.Context, _ fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
	deadline, _ := ctx.Deadline()
	l.had = time.Until(deadline)
	return fleet.Same(hosts, well)
}

// An earlier operation that is still under way for a quick process leaves a slow one of the same priority its time.
func TestRun_severalLeaveTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quick, slow := &lasting{takes: time.Second}, &lasting{takes: 10 * time.Minute}
		fleet.Run(t.Context(), fleet.Reload, fleet.Ascending, []fleet.Member{
			{Process: quick, Hosts: hosts(1), Unsure: tasks{host(1): {ID: "T", Operation: fleet.Reload}}}, {Process: slow, Hosts: hosts(2)},
		}, hosts(1, 2), fleet.Rollout{WaveTimeout: slow.takes + fleet.Besides})
		fleettest.Check(t, slow.had >= slow.takes, "it had %s of %s", slow.had, slow.takes)
	})
}

// An interrupt ends the run in any priority.
func TestRun_severalInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	log := &jointLog{then: func(string) { cancel() }}
	members := []fleet.Member{
		{Process: &joint{name: "a", log: log}, Priority: 1, Hosts: hosts(1)}, {Process: &joint{name: "b", log: log}, Priority: 2, Hosts: hosts(1, 2)},
	}
	all := fleet.Run(ctx, fleet.Restart, fleet.Ascending, members, hosts(1, 2), fleet.Rollout{MaxFailed: fleet.UpTo(9)})
	interrupted := fleet.Outcome{Verdict: fleet.NotTried, Err: context.Canceled, Meaning: fleet.StoppedByInterrupt}
	wantResults(t, byHost{1: well}, all[0])
	wantResults(t, byHost{1: interrupted, 2: interrupted}, all[1])
	fleettest.Same(t, "calls", []string{"restart a[1]"}, log.calls, cmpopts.EquateEmpty())
}

// The failures that an interrupt causes are not the reason why later priorities are not tried.
func TestRun_severalInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cut := fleet.Outcome{Verdict: fleet.Pending, Err: context.Canceled}
	gone := fleet.Outcome{Verdict: fleet.Failed, Code: 117, Away: true}
	log := &jointLog{then: func(string) { cancel() }}
	members := []fleet.Member{
		{Process: &joint{name: "a", log: log, fails: byHost{1: cut, 2: gone}}, Priority: 1, Hosts: hosts(1, 2)},
		{Process: &joint{name: "b", log: log}, Priority: 2, Hosts: hosts(1, 2, 3)},
	}
	all := fleet.Run(ctx, fleet.Restart, fleet.Ascending, members, hosts(1, 2, 3), fleet.Rollout{})
	blocked := fleet.Outcome{Verdict: fleet.NotTried, Blocked: true, Meaning: "not tried: the operation did not succeed on this host for a process that comes before"}
	blockedAway := blocked
	blockedAway.Away = true
	wantResults(t, byHost{1: blocked, 2: blockedAway, 3: {Verdict: fleet.NotTried, Err: context.Canceled, Meaning: fleet.StoppedByInterrupt}}, all[1])
}

// There is no pause before a priority that has no machine to go to.
func TestRun_severalBlockedWithoutPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, began := &jointLog{}, time.Now()
		failed := fleet.Outcome{Verdict: fleet.Failed, Code: 65535}
		members := []fleet.Member{
			{Process: &joint{name: "a", log: log, fails: byHost{1: failed}}, Priority: 1, Hosts: hosts(1)},
			{Process: &joint{name: "b", log: log}, Priority: 2, Hosts: hosts(1)},
			{Process: &joint{name: "c", log: log}, Priority: 3, Hosts: hosts(2)},
		}
		fleet.Run(t.Context(), fleet.Start, fleet.Ascending, members, hosts(1, 2),
			fleet.Rollout{Waves: fleet.BatchesOf(1), Pause: time.Minute, MaxFailed: fleet.UpTo(1)})
		fleettest.Same(t, "calls", []string{"start a[1]", "start c[2]"}, log.calls)
		fleettest.Same(t, "took", time.Minute, time.Since(began))
	})
}

// Each process passes the gate by itself. One that does not pass blocks the processes after it.
func TestRun_severalAtTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &jointLog{}
		dies := process{live: answer(live(fleet.Stopped, true, 5))}
		members := []fleet.Member{
			{Process: &joint{name: "a", log: log}, Priority: 1, Hosts: hosts(1)}, {Process: &joint{name: "b", log: log, process: dies}, Priority: 1, Hosts: hosts(1)},
			{Process: &joint{name: "c", log: log}, Priority: 2, Hosts: hosts(1)},
		}
		gate := fleet.Gate{StableFor: 10 * time.Second, Within: 20 * time.Second}
		var last fleet.Progress
		all := fleet.Run(t.Context(), fleet.Start, fleet.Start.Order(), members, hosts(1), fleet.Rollout{Healthy: &gate, WaveTimeout: time.Second, Watch: func(p fleet.Progress) { last = p }})
		fleettest.Check(t, all[0][host(1)].OK() && all[1][host(1)].Left == fleet.Unhealthy && all[2][host(1)].Verdict == fleet.NotTried, "results %+v", all)
		fleettest.Check(t, last.Done == 1 && last.Failed == 1 && last.Watched == 0, "progress %+v", last)
		calls := slices.DeleteFunc(log.calls, func(call string) bool { return strings.HasPrefix(call, "live") })
		fleettest.Check(t, slices.Equal(calls, []string{"start a[1] b[1]"}), "calls %v", calls)
	})
}
