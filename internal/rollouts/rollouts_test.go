package rollouts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// With any fleet and any waves, a bad release reaches the hosts of the first waves, until more have failed than allowed. It reaches
// no others. No host is operated on twice. State is correct for each host, and a later good release succeeds everywhere.
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
	r.newProvider()
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
		providertest.Check(t, len(said) == 0, "said: %s", said)
	case of.failure != "" && !cut:
		providertest.Same(t, "hosts that the bad release reached", of.reach(), reached)
	case of.failure != "":
		for _, n := range reached {
			providertest.Check(t, slices.Contains(of.reach(), n), "host %d was reached", n)
		}
	}
	if (!good || cut) && len(said) == 0 {
		t.Error("nothing was said")
	}
	r.asStateSays(cut)
	if of.rollback && of.failure != "" && !cut {
		r.wentBack()
	}

	// A good release follows, without faults.
	r.sim.ClearFaults()
	if of.hosted && !of.update {
		for _, n := range reached { // as if repaired by hand
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
		p, _ := r.process(n)
		providertest.Check(r.t, p.Running && providertest.StartsWith(p, earlierStart), "host %d did not go back: %+v", n, p)
	}
	r.touched(earlierStart)
	spec := fmt.Sprint(r.resource.State)
	providertest.Check(r.t, strings.Contains(spec, earlierStart) && !strings.Contains(spec, badStart), "state does not keep the earlier release")
	r.wantReasons(r.of.attribute(), nil)
}

// touched returns the numbers of the hosts that were operated on with a release's start command. A host operated on twice fails the test.
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
			providertest.Check(r.t, count <= 1, "host %d was operated %d times", n, count)
		}
	}
	providertest.Check(r.t, len(times) == 0, "hosts were operated that were not named: %v", slices.Sorted(maps.Keys(times)))
	return numbers
}

func (r *run) process(n int) (simulator.Process, bool) {
	return r.sim.Process(providertest.Address(n), r.namespace, r.name)
}

// asStateSays compares the real state of the hosts with Terraform's state.
func (r *run) asStateSays(cut bool) {
	r.t.Helper()
	of, touched := r.of, r.touched(badStart)
	if r.resource.State.IsNull() { // nothing was saved, which is right only if nothing was done
		if len(touched) > 0 && of.hosted {
			r.t.Errorf("no state, and these were operated on: %v", touched)
		}
		return
	}
	if of.rollback && !cut && (of.failure != "" || of.lost) {
		return // state is about another release
	}
	reasons := r.resource.Reasons(of.attribute())
	for n := 1; n <= of.hosts; n++ {
		reason, listed := reasons[providertest.HostKey(n)]
		p, _ := r.process(n)
		switch code, _, _ := strings.Cut(reason, ":"); {
		case !listed && (!p.Running || !slices.Contains(touched, n)):
			r.t.Errorf("host %d is not out of sync in state, and is %+v", n, p)
		case !listed && of.failure != "" && !cut:
			r.t.Errorf("host %d is not out of sync in state, and has a bad release", n)
		case (code == "not_registered" || code == "not_tried") && (p.Registered || p.Running || p.Hosted),
			code == "other_spec" && (!p.Running || strings.Contains(string(p.Spec), badStart)),
			code == "unhealthy" && !slices.Contains(touched, n):
			r.t.Errorf("host %d is %s in state, and is %+v", n, code, p)
		}
	}
}

// Start commands of releases. The faults match that of the bad one; the others come before and after it.
const (
	badStart      = "./start-bad.sh"
	earlierStart  = "./start-earlier.sh"
	repairedStart = "./start-repaired.sh"
)

const (
	failsAtOnce = "fails-at-once" // its start command fails
	diesLater   = "dies-later"    // after the platform's own check
	flaps       = "flaps"         // it is revived and dies, repeatedly
)

type release struct {
	face   providertest.Face
	hosted bool // run by a hosted process, otherwise by an operation
	// update: the fleet runs an earlier release, which the hosted process restarts with this one. rollback: a failure is rolled back.
	update, rollback bool
	hosts            int

	canary    []int // numbers of hosts
	waves     []string
	maxFailed int
	stableFor int // seconds
	slack     int // seconds that a host has beyond that

	failure string // "" for a good release
	dies    int    // at which look of the gate
	// keepsTime: agents keep the registration time, whatever is called.
	keepsTime bool
	// lost: the answer to the first operating call is lost.
	lost bool
	// interrupt, if not 0, is the pause at which the user presses Ctrl-C.
	interrupt int
}

func draw(chance *rand.Rand) release {
	r := release{
		face: pick(chance, faces...), hosted: chance.IntN(2) == 0, hosts: 20 + chance.IntN(40), stableFor: 10 + chance.IntN(50),
		slack: 1 + chance.IntN(60), failure: pick(chance, failsAtOnce, diesLater, diesLater, flaps, flaps, ""), dies: 1 + chance.IntN(3),
		keepsTime: chance.IntN(2) == 0,
	}
	r.update = r.hosted && chance.IntN(3) > 0
	r.rollback = r.update && chance.IntN(2) == 0
	if chance.IntN(25) == 0 {
		r.hosts = 100 + chance.IntN(401)
	}
	first := pick(chance, "1", "2", "5", "5%", "10%", "25%")
	r.waves = []string{first, pick(chance, "20%", "33%", "50%", "100%", "*3", "*4", "+20")}
	if chance.IntN(3) == 0 {
		r.waves = append(r.waves, "50%")
	}
	if chance.IntN(2) == 0 {
		for range 1 + chance.IntN(3) {
			r.canary = append(r.canary, 1+chance.IntN(r.hosts))
		}
		slices.Sort(r.canary)
		r.canary = slices.Compact(r.canary)
	}
	cut := r.cut()
	r.maxFailed = chance.IntN(len(cut[0]) + len(cut[min(1, len(cut)-1)]))
	switch chance.IntN(5) {
	case 0:
		r.interrupt = 1 + chance.IntN(25)
	case 1:
		r.lost = true
	}
	return r
}

func pick[T any](chance *rand.Rand, choices ...T) T { return choices[chance.IntN(len(choices))] }

// cut returns the numbers of the hosts of each wave, as documented. It is
// implemented again here, so that a wrong wave is noticed.
func (r release) cut() [][]int {
	var waves [][]int
	if len(r.canary) > 0 {
		waves = append(waves, r.canary)
	}
	var rest []int
	for n := 1; n <= r.hosts; n++ {
		if !slices.Contains(r.canary, n) {
			rest = append(rest, n)
		}
	}
	size := 0
	for i := 0; len(rest) > 0; i++ {
		text := r.waves[min(i, len(r.waves)-1)]
		number, _ := strconv.Atoi(text)
		switch {
		case text[0] == '+':
			size += number
		case text[0] == '*':
			number, _ = strconv.Atoi(text[1:])
			size *= number
		case text[len(text)-1] == '%':
			number, _ = strconv.Atoi(text[:len(text)-1])
			size = (r.hosts*number + 99) / 100
		default:
			size = number
		}
		size = min(size, len(rest))
		waves = append(waves, rest[:size])
		rest = rest[size:]
	}
	return waves
}

// reach returns the hosts that a bad release may reach: those of the waves until more have failed than allowed.
func (r release) reach() []int {
	var reached []int
	for _, wave := range r.cut() {
		reached = append(reached, wave...)
		if len(reached) > r.maxFailed {
			break
		}
	}
	slices.Sort(reached)
	return reached
}

func (r release) config(start string) map[string]any {
	config := r.face.Reference(start, r.hosts)
	rollout := map[string]any{
		"waves": r.waves, "max_failed_hosts": strconv.Itoa(r.maxFailed), "pause": "10s",
		"healthy": map[string]any{"stable_for": fmt.Sprintf("%ds", r.stableFor), "within": fmt.Sprintf("%ds", r.stableFor+r.slack)},
	}
	if len(r.canary) > 0 {
		var keys []string
		for _, n := range r.canary {
			keys = append(keys, providertest.HostKey(n))
		}
		rollout["canary"] = keys
	}
	if r.rollback {
		rollout["on_failure"] = "rollback"
	}
	config["rollout"] = rollout
	if r.update {
		config["on_update"] = "restart"
	}
	if r.hosted {
		config["ensure"] = "running"
	} else {
		config["operation"] = "restart"
	}
	return config
}

func (r release) good(start string) map[string]any {
	config := r.config(start)
	config["rollout"] = map[string]any{"waves": []string{"100%"}, "healthy": map[string]any{"stable_for": "1s"}}
	return config
}

func (r release) op() int {
	if r.hosted && !r.update {
		return simulator.OpStart
	}
	return simulator.OpRestart
}

func (r release) attribute() string {
	if r.hosted {
		return "out_of_sync"
	}
	return "failed_hosts"
}

func (r release) faults() []simulator.Fault {
	ails := simulator.Fault{API: "operate_*", Command: badStart}
	switch r.failure {
	case failsAtOnce:
		ails.Code, ails.Message = new(simulator.CodeCommandFailed), "start-bad.sh: no such file"
	case diesLater:
		ails.Dies = r.dies
	case flaps:
		ails.Dies, ails.Revived = r.dies, true
	default:
		return nil
	}
	var faults []simulator.Fault
	for _, op := range []int{simulator.OpStart, simulator.OpRestart} {
		ails.Op = new(op)
		faults = append(faults, ails)
	}
	return faults
}
