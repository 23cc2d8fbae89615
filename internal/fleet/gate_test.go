package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/fleet/fleettest"
)

// life returns the status of a process, given the time since its start.
type life func(since time.Duration) fleet.Status

func runs(pid int64, health string) fleet.Status {
	return fleet.Status{State: fleet.Running, PID: pid, Health: health}
}

func steady(time.Duration) fleet.Status { return runs(7, "") }

func dead(time.Duration) fleet.Status { return fleet.Status{State: fleet.Stopped, PID: -1} }

func silent(time.Duration) fleet.Status {
	return fleet.Status{State: fleet.Unknown, Code: 117, Message: "agent not online"}
}

// flaps dies and is revived at this interval.
func flaps(every time.Duration) life {
	return func(since time.Duration) fleet.Status { return runs(100+int64(since/every), "") }
}

// from returns before until the moment, and after from then on.
func from(before life, moment time.Duration, after life) life {
	return func(since time.Duration) fleet.Status {
		if since < moment {
			return before(since)
		}
		return after(since)
	}
}

func printing(health string) life {
	return func(time.Duration) fleet.Status { return runs(7, health) }
}

// lives makes the agents report a life for each host, steady by default.
func lives(start time.Time, by map[int]life) func([]fleet.Host) (map[fleet.Host]fleet.Status, error) {
	return func(hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
		statuses := make(map[fleet.Host]fleet.Status)
		for _, h := range hosts {
			statuses[h] = steady(0)
			if l := by[number(h)]; l != nil {
				statuses[h] = l(time.Since(start))
			}
		}
		return statuses, nil
	}
}

const gatePrefix = "not stable for 10s within 1m0s: "

// A host passes if it ran with one pid for long enough, in time, and its health command printed what is wanted.
// For any other host the outcome says what was wrong.
//
// Promised in rollouts.md: A host that cannot become stable any more fails at once
// Promised in reference: A command that fails counts as empty output
// Promised in reference: Not checked by default.
func TestRun_gate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		life    life
		output  string
		took    time.Duration // how long the host was watched
		meaning string        // "" if it passes
		message string
		code    int64
	}{
		"steady":             {life: steady, took: 10 * time.Second},
		"dead":               {life: dead, took: 51 * time.Second, meaning: "it was never seen to run"},
		"no-pid":             {life: func(time.Duration) fleet.Status { return runs(0, "") }, took: 51 * time.Second, meaning: "its agent reports that it runs, but not its pid"},
		"starts-late":        {life: from(dead, 20*time.Second, steady), took: 30 * time.Second},
		"starts-too-late":    {life: from(dead, 51*time.Second, steady), took: 51 * time.Second, meaning: "it began to run too late for that"},
		"dies-at-once":       {life: from(steady, 5*time.Second, dead), took: 51 * time.Second, meaning: "it did not run when its agent was last asked"},
		"revived-once":       {life: from(steady, 5*time.Second, flaps(time.Hour)), took: 15 * time.Second},
		"flaps-fast":         {life: flaps(time.Second), took: 51 * time.Second, meaning: "it died and was started again and again", message: "pids seen: 52"},
		"flaps-slowly":       {life: flaps(9 * time.Second), took: 54 * time.Second, meaning: "it died and was started again and again", message: "pids seen: 7"},
		"revived-at-the-end": {life: from(steady, 9*time.Second, from(dead, 52*time.Second, flaps(time.Hour))), took: 51 * time.Second, meaning: "it did not run when its agent was last asked"},
		"flaps-and-dead": {
			life: from(flaps(20*time.Second), 8*time.Second, from(dead, 20*time.Second, from(flaps(20*time.Second), 25*time.Second, dead))), took: 51 * time.Second,
			meaning: "it died and was started again; it did not run when its agent was last asked", message: "pids seen: 2",
		},
		"silent":              {life: silent, took: 51 * time.Second, meaning: "its agent did not report its state when it was last asked", message: "agent not online", code: 117},
		"silent-for-a-while":  {life: from(steady, 2*time.Second, from(silent, 30*time.Second, steady)), took: 30 * time.Second},
		"silent-at-the-end":   {life: from(steady, 9*time.Second, silent), took: time.Minute, meaning: "its agent did not report its state when it was last asked", message: "agent not online", code: 117},
		"output":              {life: printing("ok: 3 ports"), output: "^ok", took: 10 * time.Second},
		"output-later":        {life: from(printing("starting"), 12*time.Second, printing("ok")), output: "^ok", took: 22 * time.Second},
		"output-of-another":   {life: printing("not ok"), output: "^ok", took: 51 * time.Second, meaning: `what its health_cmd printed does not match "^ok"`, message: "not ok"},
		"output-nothing":      {life: printing(""), output: "^ok", took: 51 * time.Second, meaning: `its health_cmd printed nothing, or failed, and "^ok" is wanted`},
		"output-turns-sour":   {life: from(printing("ok"), 9*time.Second, printing("disk full")), output: "^ok", took: 51 * time.Second, meaning: `what its health_cmd printed does not match "^ok"`, message: "disk full"},
		"output-not-asked":    {life: printing("not ok"), took: 10 * time.Second},
		"output-while-silent": {life: from(printing("ok"), 5*time.Second, from(silent, 9*time.Second, printing("ok"))), output: "^ok", took: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				gate := &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute}
				if test.output != "" {
					gate.Output = regexp.MustCompile(test.output)
				}
				p := &process{live: lives(start, map[int]life{1: test.life})}
				p.operate = doneOps(byOp{fleet.Restart: {1: {TaskID: "t1", Message: "success"}}})
				results := runOne(t.Context(), p, fleet.Restart, hosts(1), nil, fleet.Rollout{Healthy: gate})
				want := fleet.Outcome{TaskID: "t1", Message: "success"}
				if test.meaning != "" {
					want = fleet.Outcome{
						Verdict: fleet.Failed, Left: fleet.Unhealthy, Meaning: gatePrefix + test.meaning,
						Message: test.message, Code: test.code, TaskID: "t1", Ran: true,
					}
				}
				wantResults(t, byHost{1: want}, results)
				fleettest.Same(t, "took", test.took, time.Since(start))
			})
		})
	}
}

// The next wave begins when the hosts of this one have passed the gate. A host that does not pass counts as
// failed, and the others of its wave do not.
func TestRun_gateHoldsWaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &process{denies: true, live: lives(start, map[int]life{3: dead})}
		var began []time.Duration
		p.operate = func(_ context.Context, _ fleet.Operation, hosts []fleet.Host, _ fleet.Observer) fleet.Results {
			began = append(began, time.Since(start))
			return fleet.Same(hosts, fleet.Outcome{Verdict: fleet.Done})
		}
		rollout := fleet.Rollout{
			Waves: fleet.BatchesOf(2), WaveTimeout: time.Second, Pause: time.Second,
			Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute},
		}
		results := runOne(t.Context(), p, fleet.Start, hosts(1, 2, 3, 4, 5, 6), nil, rollout)
		fleettest.Same(t, "waves began", []time.Duration{0, 11 * time.Second}, began)
		notTried := fleet.Outcome{Verdict: fleet.NotTried, Meaning: fleet.StoppedByFailures}
		wantResults(t, byHost{
			1: {}, 2: {}, 4: {}, 5: notTried, 6: notTried,
			3: {Verdict: fleet.Failed, Left: fleet.Unhealthy, Ran: true, Meaning: gatePrefix + "it was never seen to run"},
		}, results)
	})
}

// The gate watches neither hosts that failed before it nor processes that are to be stopped or only hosted.
func TestGate_watchesWhatIsMeantToRun(t *testing.T) {
	t.Parallel()
	rollout := fleet.Rollout{Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute}}
	failed := byHost{1: {Verdict: fleet.Failed}}
	for name, test := range map[string]struct {
		act   func(context.Context, *process)
		calls []string
	}{
		"failed": {func(ctx context.Context, p *process) {
			p.operate = doneOps(byOp{fleet.Reload: failed})
			runOne(ctx, p, fleet.Reload, hosts(1), nil, rollout)
		}, []string{"reload 1"}},
		"stop": {func(ctx context.Context, p *process) {
			runOne(ctx, p, fleet.Stop, hosts(1), nil, rollout)
		}, []string{"stop 1"}},
		"kill": {func(ctx context.Context, p *process) {
			runOne(ctx, p, fleet.Kill, hosts(1), nil, rollout)
		}, []string{"kill 1"}},
		"hosted": {func(ctx context.Context, p *process) {
			fleet.NewReconciliation(p, fleet.Desired{Ensure: fleet.EnsureHosted}, fleet.Change{Register: hosts(1), Order: hosts(1), Rollout: rollout}).Run(ctx)
		}, []string{"register 1", "live 1"}},
		"restarted": {func(ctx context.Context, p *process) { // as if it were meant to run
			fleet.NewReconciliation(p, fleet.Desired{Ensure: fleet.EnsureHosted}, fleet.Change{
				Settle: hosts(1), Order: hosts(1), Rollout: rollout, Operate: fleet.Operate{Operation: fleet.Restart, Runs: map[fleet.Host]fleet.Runs{host(1): {}}},
			}).Run(ctx)
		}, append([]string{"live 1", "restart 1", "live 1"}, slices.Repeat([]string{"live 1"}, 11)...)},
		"released": {func(ctx context.Context, p *process) {
			p.hostingRegisters = true
			release(ctx, p, hosts(1), fleet.DestroyStop, nil, rollout)
		}, []string{"stop 1", "unregister 1"}},
		"running": {func(ctx context.Context, p *process) {
			p.register = done(byHost{2: {Verdict: fleet.Failed}})
			fleet.NewReconciliation(p, fleet.Desired{Ensure: fleet.EnsureRunning}, fleet.Change{Register: hosts(1, 2), Order: hosts(1, 2), Rollout: rollout}).Run(ctx)
		}, append([]string{"register 1 2", "live 1"}, slices.Repeat([]string{"live 1"}, 11)...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &process{}
				test.act(t.Context(), p)
				p.wantCalls(t, test.calls...)
			})
		})
	}
}

// A host that does not pass is registered and started, so only its health is left for the next apply.
func TestReconcile_gateLeavesUnhealthy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rollout := fleet.Rollout{Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute}}
		p := &process{live: lives(time.Now(), map[int]life{2: flaps(time.Second)})}
		want := fleet.Desired{Ensure: fleet.EnsureRunning}
		change := fleet.Change{Reregister: hosts(1, 2), Order: hosts(1, 2), Rollout: rollout}
		results := fleet.NewReconciliation(p, want, change).Run(t.Context())
		o := results[host(2)]
		fleettest.Check(t, results[host(1)].OK() && o.Verdict == fleet.Failed && o.Left == fleet.Unhealthy, "got %+v", byNumber(results))
	})
}

// An agent that does not answer delays each look, but does not change the verdict of other hosts.
func TestRun_gateWithSilentAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &patient{process: process{live: lives(start, nil)}, silent: host(2)}
		rollout := fleet.Rollout{Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: 20 * time.Second}}
		results := runOne(t.Context(), p, fleet.Restart, hosts(1, 2), nil, rollout)
		fleettest.Check(t, results[host(1)].OK() && results[host(2)].Verdict == fleet.Failed, "got %+v", byNumber(results))
		took := time.Since(start)
		fleettest.Check(t, took <= 20*time.Second+rollout.Healthy.StableFor/4, "took %s", took)
	})
}

// patient waits for the silent agent until the context ends.
type patient struct {
	process
	silent fleet.Host
}

func (p *patient) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	statuses, err := p.process.LiveStatus(ctx, hosts)
	if slices.Contains(hosts, p.silent) {
		<-ctx.Done()
		statuses[p.silent] = fleet.Status{State: fleet.Unknown}
	}
	return statuses, err
}

// However little time a gate leaves, a slow answer does not make a host fail that runs all the time.
func TestRun_gateWithSlowAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		life life
		want bool
	}{"steady": {steady, true}, "dies": {from(steady, 8*time.Second, dead), false}, "starts-late": {from(dead, 2*time.Second, steady), false}, "revived": {flaps(9 * time.Second), false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				p := &answersSlowly{process: process{live: lives(start, map[int]life{1: c.life})}, takes: 3 * time.Second}
				results := runOne(t.Context(), p, fleet.Restart, hosts(1), nil, fleet.Rollout{Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: 11 * time.Second}})
				fleettest.Same(t, "passed", c.want, results[host(1)].OK())
				took := time.Since(start)
				fleettest.Check(t, took <= 16*time.Second, "took %s", took)
			})
		})
	}
}

// answersSlowly answers after some time, as far as it is given that.
type answersSlowly struct {
	process
	takes time.Duration
}

func (p *answersSlowly) LiveStatus(ctx context.Context, hosts []fleet.Host) (map[fleet.Host]fleet.Status, error) {
	statuses, err := p.process.LiveStatus(ctx, hosts)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(p.takes):
	}
	return statuses, err
}

// A call that fails shows nothing. The gate asks again, and reports if no call ever succeeded.
func TestRun_gateWhenTheCallFails(t *testing.T) {
	t.Parallel()
	refused := errors.New("503")
	for name, test := range map[string]struct {
		err  error
		want error
	}{
		"refused": {refused, refused},
		// The gate set this deadline itself, so it is not reported as the user's timeout.
		"no-time": {context.DeadlineExceeded, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rollout := fleet.Rollout{Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute}}
				p := &process{live: cannotSay(test.err)}
				wantResults(t, byHost{1: {
					Verdict: fleet.Failed, Left: fleet.Unhealthy, Ran: true, Err: test.want,
					Meaning: gatePrefix + "its agent did not report its state when it was last asked",
				}}, runOne(t.Context(), p, fleet.Restart, hosts(1), nil, rollout))
			})
		})
	}
}

// An interrupt ends the watch at once, and the outcome is pending: neither done nor failed.
func TestRun_gateInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(4500*time.Millisecond, cancel)
		rollout := fleet.Rollout{Waves: fleet.BatchesOf(1), Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute}}
		p := &process{live: lives(start, nil)}
		results := runOne(ctx, p, fleet.Restart, hosts(1, 2), nil, rollout)
		wantResults(t, byHost{
			1: {Verdict: fleet.Pending, Left: fleet.Unhealthy, Err: context.Canceled, Meaning: "it was operated on, and was not yet known to be stable"},
			2: {Verdict: fleet.NotTried, Err: context.Canceled, Meaning: fleet.StoppedByInterrupt},
		}, results)
		fleettest.Same(t, "took", 4500*time.Millisecond, time.Since(start))
	})
}

func TestRun_gateProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []fleet.Progress
		rollout := fleet.Rollout{Healthy: &fleet.Gate{StableFor: 10 * time.Second, Within: time.Minute}, Watch: func(p fleet.Progress) { seen = append(seen, p) }}
		p := &process{live: lives(time.Now(), map[int]life{2: from(dead, 5*time.Second, steady), 3: dead})}
		p.operate = func(_ context.Context, _ fleet.Operation, hosts []fleet.Host, observe fleet.Observer) fleet.Results {
			results := fleet.Same(hosts, fleet.Outcome{Verdict: fleet.Done})
			results[host(4)] = fleet.Outcome{Verdict: fleet.Failed}
			observe.Notify(results)
			return results
		}
		runOne(t.Context(), p, fleet.Restart, hosts(1, 2, 3, 4), nil, rollout)
		at := fleet.Progress{Wave: 1, Waves: 1, Hosts: 4}
		with := func(done, failed, watched int) fleet.Progress {
			p := at
			p.Done, p.Failed, p.Watched = done, failed, watched
			return p
		}
		want := []fleet.Progress{with(0, 0, 0), with(0, 1, 0), with(0, 1, 3), with(1, 1, 2), with(2, 1, 1), with(2, 2, 0)}
		fleettest.Same(t, "result", want, seen)
	})
}

func TestWaves_Sizes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waves      []string
		count, all int
		want       []int
	}{
		"none":               {nil, 7, 7, []int{7}},
		"none-of-none":       {nil, 0, 0, nil},
		"no-hosts":           {[]string{"1"}, 0, 0, nil},
		"one-size-repeats":   {[]string{"3"}, 8, 8, []int{3, 3, 2}},
		"larger-than-all":    {[]string{"50"}, 8, 8, []int{8}},
		"exactly-all":        {[]string{"4"}, 8, 8, []int{4, 4}},
		"as-designed":        {[]string{"1", "10%", "*2"}, 1000, 1000, []int{1, 100, 200, 400, 299}},
		"more-each-time":     {[]string{"1", "+2"}, 16, 16, []int{1, 3, 5, 7}},
		"times-repeats":      {[]string{"1", "*3"}, 41, 41, []int{1, 3, 9, 27, 1}},
		"share-rounds-up":    {[]string{"10%"}, 11, 11, []int{2, 2, 2, 2, 2, 1}},
		"share-is-never-0":   {[]string{"1%"}, 3, 3, []int{1, 1, 1}},
		"all-of-them":        {[]string{"100%"}, 3, 3, []int{3}},
		"share-of-more":      {[]string{"10%"}, 40, 100, []int{10, 10, 10, 10}},
		"relative-to-share":  {[]string{"10%", "+5"}, 40, 100, []int{10, 15, 15}},
		"ends-before-growth": {[]string{"2", "100%"}, 2, 2, []int{2}},
		"huge-factor":        {[]string{"9999999", "*9999999"}, 10000001, 10000001, []int{9999999, 2}},
	} {
		fleettest.Same(t, name+": sizes", c.want, waves(c.waves...).Sizes(c.count, c.all))
	}
	fleettest.Same(t, "batches of 2 are", []int{2, 2, 1}, fleet.BatchesOf(2).Sizes(5, 5))
}

func TestParseWaves_refuses(t *testing.T) {
	t.Parallel()
	const noSize = ` is not the size of a wave, which is ` + fleet.WaveForms
	const relative = ` is relative to the wave before, and the first wave has none; begin with a number or a percentage`
	for name, c := range map[string]struct {
		waves []string
		want  string
	}{
		"nothing":           {[]string{""}, `""` + noSize},
		"word":              {[]string{"1", "half"}, `"half"` + noSize},
		"space":             {[]string{"1 %"}, `"1 %"` + noSize},
		"negative":          {[]string{"-1"}, `"-1"` + noSize},
		"fraction":          {[]string{"0.5"}, `"0.5"` + noSize},
		"relative-share":    {[]string{"1", "+10%"}, `"+10%"` + noSize},
		"too-long":          {[]string{"12345678"}, `"12345678"` + noSize},
		"none":              {[]string{"0"}, `"0" is a wave that never grows or has no hosts; the least is 1`},
		"none-in-percent":   {[]string{"0%"}, `"0%" is a wave that never grows or has no hosts; the least is 1`},
		"never-grows":       {[]string{"1", "+0"}, `"+0" is a wave that never grows or has no hosts; the least is 1`},
		"times-none":        {[]string{"1", "*0"}, `"*0" is a wave that never grows or has no hosts; the least is 1`},
		"times-one":         {[]string{"1", "*1"}, `"*1" is as large as the wave before, and the last size repeats by itself; leave it out, or write *2 or more`},
		"more-than-all":     {[]string{"101%"}, `"101%" is more than all hosts; the most is 100%`},
		"begins-with-plus":  {[]string{"+1"}, `"+1"` + relative},
		"begins-with-times": {[]string{"*2"}, `"*2"` + relative},
	} {
		waves, err := fleet.ParseWaves(c.waves)
		fleettest.Check(t, err != nil && err.Error() == c.want, "%s: got %v, %v\nwant %s", name, waves, err, c.want)
	}
}

func TestTolerance(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[int]int{
		"0":    {0: 0, 10: 0},
		"3":    {0: 3, 2: 3, 1000: 3},
		"0%":   {1000: 0},
		"10%":  {0: 0, 9: 0, 10: 1, 19: 1, 1000: 100},
		"100%": {7: 7},
	} {
		tolerance, err := fleet.ParseTolerance(text)
		fleettest.NoError(t, err)
		for all, want := range want {
			fleettest.Same(t, fmt.Sprintf("%s of %d hosts are", text, all), want, tolerance.Of(all))
		}
	}
	const neither = ` is neither a number of hosts ("3") nor a share of all hosts ("10%")`
	for text, want := range map[string]string{
		"": `""` + neither, "-1": `"-1"` + neither, "some": `"some"` + neither, "1.5": `"1.5"` + neither, "+1": `"+1"` + neither,
		"101%": `"101%" is more than all hosts; the most is 100%`,
	} {
		_, err := fleet.ParseTolerance(text)
		fleettest.Check(t, err != nil && err.Error() == want, "%q: %v, want %s", text, err, want)
	}
	fleettest.Same(t, "up to 2", 2, fleet.UpTo(2).Of(1000))
}

// A step gets the time that later steps do not need, or its share if that is more.
func TestShare(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct{ left, own, later, want time.Duration }{
		"plenty":        {600 * s, 30 * s, 120 * s, 480 * s},
		"just-enough":   {150 * s, 30 * s, 120 * s, 30 * s},
		"too-little":    {50 * s, 30 * s, 120 * s, 10 * s},
		"nothing-later": {50 * s, 30 * s, 0, 50 * s},
		"time-is-up":    {-s, 30 * s, 120 * s, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				whole, cancel := context.WithTimeout(t.Context(), c.left)
				defer cancel()
				step, cancelStep := fleet.Share(whole, c.own, c.later)
				defer cancelStep()
				<-step.Done()
				fleettest.Same(t, "the step had", c.want, time.Since(began))
			})
		})
	}
}

// Only operations that start the process include the check that it runs, and only those that stop it the check
// that it has stopped.
func TestTakes(t *testing.T) {
	t.Parallel()
	const command, start, stop = time.Minute, 5 * time.Second, 2 * time.Second
	for op, want := range map[fleet.Operation]time.Duration{
		fleet.Start: command + start, fleet.Restart: command + start + stop, fleet.Stop: command + stop, fleet.Reload: command, fleet.Kill: command + stop,
		fleet.Supervise: fleet.Quick, fleet.Unsupervise: fleet.Quick,
	} {
		fleettest.Same(t, "takes "+string(op), want, fleet.Takes(&process{}, op))
	}
}

func TestShare_unbounded(t *testing.T) {
	t.Parallel()
	step, cancel := fleet.Share(t.Context(), fleet.Quick, fleet.Quick)
	defer cancel()
	deadline, bounded := step.Deadline()
	fleettest.Check(t, !bounded, "the step ends at %s", deadline)
}
