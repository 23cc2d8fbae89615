package rollouts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Start commands of releases. The faults match that of the bad one; the others come before and after it.
const (
	badStart      = "./start-bad.sh"
	earlierStart  = "./start-earlier.sh"
	repairedStart = "./start-repaired.sh"
)

const (
	failsAtOnce = "fails-at-once" // its command does
	diesLater   = "dies-later"    // after the platform's own check
	flaps       = "flaps"         // and is revived, again and again
)

type release struct {
	face   providertest.Face
	hosted bool // run by a hosted process, or else by an operation
	// update: the fleet runs an earlier release, which the hosted process restarts with this one.
	// rollback: a failure is rolled back.
	update, rollback bool
	hosts            int

	canary    []int // numbers of hosts
	waves     []string
	maxFailed int
	stableFor int // seconds
	slack     int // seconds that a host has beyond that

	failure string // "" for a good release
	dies    int    // at which look
	// keepsTime: agents keep the time of a registration, whatever is called.
	keepsTime bool
	// lost: the answer to the first call that operates gets lost.
	lost bool
	// interrupt, if not 0, is the pause at which the user presses Ctrl-C.
	interrupt int
}

func draw(chance *rand.Rand) release {
	r := release{
		face: pick(chance, faces...), hosted: chance.IntN(2) == 0, hosts: 20 + chance.IntN(40),
		stableFor: 10 + chance.IntN(50), slack: 1 + chance.IntN(60),
		failure: pick(chance, failsAtOnce, diesLater, diesLater, flaps, flaps, ""), dies: 1 + chance.IntN(3),
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

// cut are the hosts of each wave, by number, as the documentation says it. It is written
// down here once more, so that a wave that is cut wrongly is not expected.
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

// reach are the hosts that a bad release gets to: those of the waves until more have failed than may.
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

// good is a release without a fault. It need not go slowly.
func (r release) good(start string) map[string]any {
	config := r.config(start)
	config["rollout"] = map[string]any{"waves": []string{"100%"}, "healthy": map[string]any{"stable_for": "1s"}}
	return config
}

// op is what it does on each host, and attribute where its failures stand.
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

// faults are what makes a bad release bad, wherever it gets to.
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
