package rollouts

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// With any fleet and any waves, a bad release reaches the hosts of the first waves, until more have
// failed than allowed. It reaches no others. No host is operated on twice. State is correct for each
// host, and a later good release succeeds everywhere.
func TestRollouts(t *testing.T) {
	t.Parallel()
	providertest.InRounds(t, 50, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		r := draw(chance)
		defer func() {
			if t.Failed() {
				t.Logf("%+v", r)
			}
		}()
		play(t, r)
	})
}

func play(t *testing.T, r release) {
	t.Helper()
	run := begin(t, r.face, r.typeName())
	run.sim.ReregisteringKeepsTime, run.sim.StartingKeepsTime, run.sim.HostingKeepsTime = r.keepsTime, r.keepsTime, r.keepsTime
	config := r.config(badStart)
	if r.update {
		if _, said := run.core.Apply(r.good(earlierStart)); len(said) > 0 {
			t.Fatalf("the earlier release said: %s", said)
		}
		run.sim.ResetCalls()
		*run.clock = providertest.Clock{}
	}
	for _, fault := range r.faults() {
		run.sim.Inject(fault)
	}
	if r.lost {
		run.sim.Inject(simulator.Fault{API: "operate_*", Op: new(r.op()), Drop: "after", Times: 1})
	}
	cut := false
	if r.interrupt > 0 {
		ctx, cancel := context.WithCancel(t.Context())
		run.core.Until = ctx
		run.clock.OnPause = func(pauses int) {
			if pauses == r.interrupt {
				cut = true
				cancel()
			}
		}
	}
	_, said := run.core.Apply(config)
	run.core.Until, run.clock.OnPause = nil, nil

	reached := run.touched(r.op(), badStart)
	wanted := r.reach()
	good := r.failure == "" && !r.lost
	switch {
	case cut:
		run.within(reached, r)
	case good:
		run.equal("hosts that the good release reached", everyHost(r), reached)
		if len(said) > 0 {
			t.Errorf("said: %s", said)
		}
	case r.failure != "":
		run.equal("hosts that the bad release reached", wanted, reached)
	default:
		run.within(reached, r)
	}
	if (r.failure != "" || r.lost || cut) && len(said) == 0 {
		t.Error("nothing was said")
	}
	run.asStateSays(r, cut)
	if r.rollback && r.failure != "" && !cut {
		run.wentBack(r)
	}

	// A good release comes after it, and nothing is in its way.
	run.sim.ClearFaults()
	if r.hosted && !r.update {
		for _, n := range reached { // a colleague has repaired it there
			if p, found := run.process(n); found && p.Hosted {
				run.revive(n)
			}
		}
	}
	run.sim.ResetCalls()
	if run.core.Tainted {
		run.core.Untaint()
	}
	if _, said := run.core.Apply(r.good(mendedStart)); said.Failed() {
		t.Errorf("the good release said: %s", said)
	}
	run.touched(r.op(), mendedStart)
	if left := run.core.Reasons(r.attribute()); len(left) > 0 {
		t.Errorf("after the good release: %v", left)
	}
	for n := 1; n <= r.hosts; n++ {
		if p, found := run.process(n); !found || !p.Running || r.hosted && !strings.Contains(string(p.Spec), mendedStart) {
			t.Errorf("host %d is not as released in the end: %+v", n, p)
		}
	}
}

func everyHost(r release) []int { return providertest.HostNumbers(r.hosts) }

// within fails the test if hosts were reached that a bad release would not have been.
func (r *run) within(reached []int, of release) {
	r.t.Helper()
	if of.failure == "" {
		return // there is nothing to stop it
	}
	for _, n := range reached {
		if !slices.Contains(of.reach(), n) {
			r.t.Errorf("host %d was reached", n)
		}
	}
}

func (r *run) equal(what string, want, got []int) {
	r.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wentBack fails the test unless every host is as it was before a release.
func (r *run) wentBack(of release) {
	r.t.Helper()
	for n := 1; n <= of.hosts; n++ {
		if p, _ := r.process(n); !p.Running || !strings.Contains(string(p.Spec), earlierStart) {
			r.t.Errorf("host %d did not go back: %+v", n, p)
		}
	}
	r.touched(of.op(), earlierStart)
	if spec := fmt.Sprint(r.core.State); !strings.Contains(spec, earlierStart) || strings.Contains(spec, badStart) {
		r.t.Error("state does not keep the earlier release")
	}
	if left := r.core.Reasons(of.attribute()); len(left) > 0 {
		r.t.Errorf("taken back, and out of sync: %v", left)
	}
}

// touched are the hosts to which an operation was sent with a release's start command, by
// number. It fails the test where that happened twice.
func (r *run) touched(op int, start string) []int {
	r.t.Helper()
	times := make(map[string]int)
	for _, call := range r.sim.Calls().OfOp(op) {
		if !strings.Contains(string(call.Spec), start) {
			continue
		}
		for _, host := range call.Hosts {
			times[host]++
		}
	}
	var numbers []int
	for n := 1; len(times) > 0 && n < 600; n++ {
		if count := times[providertest.Address(n)]; count > 0 {
			numbers = append(numbers, n)
			delete(times, providertest.Address(n))
			if count > 1 {
				r.t.Errorf("operation %d on host %d: %d times", op, n, count)
			}
		}
	}
	if len(times) > 0 {
		r.t.Errorf("operation %d on hosts that were not named: %v", op, slices.Sorted(maps.Keys(times)))
	}
	return numbers
}

func (r *run) process(n int) (simulator.Process, bool) {
	namespace, name := r.face.Process()
	return r.sim.Process(providertest.Address(n), namespace, name)
}

// asStateSays compares what is true on the hosts with what state says of them.
func (r *run) asStateSays(of release, cut bool) {
	r.t.Helper()
	if r.core.State.IsNull() {
		// Nothing was saved, which is for when nothing was done.
		if touched := r.touched(of.op(), badStart); len(touched) > 0 && of.hosted {
			r.t.Errorf("no state, and these were operated on: %v", touched)
		}
		return
	}
	if of.rollback && !cut && (of.failure != "" || of.lost) {
		return // it is another release that state reports
	}
	reasons := r.core.Reasons(of.attribute())
	touched := r.touched(of.op(), badStart)
	for n := 1; n <= of.hosts; n++ {
		reason, listed := reasons[providertest.HostKey(n)]
		p, _ := r.process(n)
		switch code, _, _ := strings.Cut(reason, ":"); {
		case !listed && (!p.Running || !slices.Contains(touched, n)):
			r.t.Errorf("host %d is well in state, and is %+v", n, p)
		case !listed && of.failure != "" && !cut:
			r.t.Errorf("host %d is well in state, and has a bad release", n)
		case (code == "not_registered" || code == "not_tried") && (p.Registered || p.Running || p.Hosted):
			r.t.Errorf("host %d is %s in state, and is %+v", n, code, p)
		case code == "other_spec" && (!p.Running || strings.Contains(string(p.Spec), badStart)):
			r.t.Errorf("host %d is %s in state, and is %+v", n, code, p)
		case code == "unhealthy" && !slices.Contains(touched, n):
			r.t.Errorf("host %d is %s in state, and was never started", n, code)
		}
	}
}
