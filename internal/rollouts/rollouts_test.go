package rollouts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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

func play(t *testing.T, of release) {
	t.Helper()
	r := &run{newRollout(t, providertest.NewSim(t), of.face, providertest.OnRestart, of.hosts, nil), of}
	if of.hosted {
		r.typ = of.face.TypeName(providertest.OnRun)
	}
	r.clock = new(providertest.Clock)
	r.anew()
	r.sim.ReregisteringKeepsTime, r.sim.StartingKeepsTime, r.sim.HostingKeepsTime = of.keepsTime, of.keepsTime, of.keepsTime
	if of.update {
		if _, said := r.resource.Apply(of.good(earlierStart)); len(said) > 0 {
			t.Fatalf("the earlier release said: %s", said)
		}
		r.sim.ResetCalls()
		*r.clock = providertest.Clock{}
	}
	for _, fault := range of.faults() {
		r.sim.Inject(fault)
	}
	if of.lost {
		r.sim.Inject(simulator.Fault{API: "operate_*", Op: new(of.op()), Drop: "after", Times: 1})
	}
	r.config = of.config(badStart)
	said, cut := r.cutAtPause(of.interrupt)

	reached := r.touched(badStart)
	good := of.failure == "" && !of.lost
	switch {
	case good && !cut:
		providertest.Same(t, "hosts that the good release reached", providertest.HostNumbers(of.hosts), reached)
		if len(said) > 0 {
			t.Errorf("said: %s", said)
		}
	case of.failure != "" && !cut:
		providertest.Same(t, "hosts that the bad release reached", of.reach(), reached)
	case of.failure != "":
		for _, n := range reached {
			if !slices.Contains(of.reach(), n) {
				t.Errorf("host %d was reached", n)
			}
		}
	}
	if (!good || cut) && len(said) == 0 {
		t.Error("nothing was said")
	}
	r.asStateSays(cut)
	if of.rollback && of.failure != "" && !cut {
		r.wentBack()
	}

	// A good release comes after it, and nothing is in its way.
	r.sim.ClearFaults()
	if of.hosted && !of.update {
		for _, n := range reached { // a colleague has repaired it there
			if p, found := r.process(n); found && p.Hosted {
				r.revive(n)
			}
		}
	}
	r.sim.ResetCalls()
	if r.resource.Tainted {
		r.resource.Untaint()
	}
	if _, said := r.resource.Apply(of.good(repairedStart)); said.Failed() {
		t.Errorf("the good release said: %s", said)
	}
	r.touched(repairedStart)
	r.wantReasons(of.attribute(), nil)
	for n := 1; n <= of.hosts; n++ {
		if p, found := r.process(n); !found || !p.Running || of.hosted && !providertest.StartsWith(p, repairedStart) {
			t.Errorf("host %d is not as released in the end: %+v", n, p)
		}
	}
}

type run struct {
	*rollout
	of release
}

func (r *run) wentBack() {
	r.t.Helper()
	for n := 1; n <= r.hosts; n++ {
		if p, _ := r.process(n); !p.Running || !providertest.StartsWith(p, earlierStart) {
			r.t.Errorf("host %d did not go back: %+v", n, p)
		}
	}
	r.touched(earlierStart)
	if spec := fmt.Sprint(r.resource.State); !strings.Contains(spec, earlierStart) || strings.Contains(spec, badStart) {
		r.t.Error("state does not keep the earlier release")
	}
	r.wantReasons(r.of.attribute(), nil)
}

// touched are the hosts that were operated with a release's start command, by number. It fails the test
// where that happened twice.
func (r *run) touched(start string) []int {
	r.t.Helper()
	times := make(map[string]int)
	for _, call := range r.sim.Calls().OfOp(r.of.op()) {
		for _, host := range call.Hosts {
			if strings.Contains(string(call.Spec), start) {
				times[host]++
			}
		}
	}
	var numbers []int
	for _, n := range providertest.HostNumbers(r.hosts) {
		if count := times[providertest.Address(n)]; count > 0 {
			numbers = append(numbers, n)
			delete(times, providertest.Address(n))
			if count > 1 {
				r.t.Errorf("host %d was operated %d times", n, count)
			}
		}
	}
	if len(times) > 0 {
		r.t.Errorf("hosts were operated that were not named: %v", slices.Sorted(maps.Keys(times)))
	}
	return numbers
}

func (r *run) process(n int) (simulator.Process, bool) {
	return r.sim.Process(providertest.Address(n), r.namespace(), r.name())
}

// asStateSays compares what is true on the hosts with what state says of them.
func (r *run) asStateSays(cut bool) {
	r.t.Helper()
	of, touched := r.of, r.touched(badStart)
	if r.resource.State.IsNull() { // nothing was saved, which is for when nothing was done
		if len(touched) > 0 && of.hosted {
			r.t.Errorf("no state, and these were operated on: %v", touched)
		}
		return
	}
	if of.rollback && !cut && (of.failure != "" || of.lost) {
		return // it is another release that state reports
	}
	reasons := r.resource.Reasons(of.attribute())
	for n := 1; n <= of.hosts; n++ {
		reason, listed := reasons[providertest.HostKey(n)]
		p, _ := r.process(n)
		switch code, _, _ := strings.Cut(reason, ":"); {
		case !listed && (!p.Running || !slices.Contains(touched, n)):
			r.t.Errorf("host %d is well in state, and is %+v", n, p)
		case !listed && of.failure != "" && !cut:
			r.t.Errorf("host %d is well in state, and has a bad release", n)
		case (code == "not_registered" || code == "not_tried") && (p.Registered || p.Running || p.Hosted),
			code == "other_spec" && (!p.Running || strings.Contains(string(p.Spec), badStart)),
			code == "unhealthy" && !slices.Contains(touched, n):
			r.t.Errorf("host %d is %s in state, and is %+v", n, code, p)
		}
	}
}
