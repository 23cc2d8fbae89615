package processoperation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// rounds runs an operation on two hosts several times, and tracks their true state.
type rounds struct {
	*testing.T
	sim      *providertest.Sim
	by       providertest.Face
	settings map[string]any
	object   *providertest.Core
	story    []string
	minutes  atomic.Int64 // by which the platform's clock is ahead

	mu   sync.Mutex
	pid  map[int]int
	ran  map[int]bool // restarted by this run, without a diagnostic since
	done map[int]bool // restarted by this run
	// reached has the hosts to which an operation was sent in this apply. sent is how often one was sent in this run, and
	// excuses counts the troubles in it after which it may be sent again.
	reached map[int]bool
	sent    map[int]int
	excuses int
	polls   int
	cut     func(simulator.Call) bool
	end     func()
	endless bool // the platform never reports the end of an operation
}

var runTroubles = []string{
	"", "", "fails", "fails-and-took", "lost", "not-sent", "slow", "slow-and-fails", "never-ends", "away", "interrupted", "forgotten",
}

var runOps = map[string]int{
	"start": simulator.OpStart, "stop": simulator.OpStop, "restart": simulator.OpRestart, "reload": simulator.OpReload, "kill": simulator.OpKill,
}

func (r *rounds) at(n int) simulator.Process {
	namespace, name := r.by.Process()
	p, _ := r.sim.Process(providertest.Address(n), namespace, name)
	return p
}

func (r *rounds) do(act func(host, namespace, name string) error, n int) {
	r.Helper()
	namespace, name := r.by.Process()
	providertest.NoError(r, act(providertest.Address(n), namespace, name))
}

func (r *rounds) called(call simulator.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(call.Op == simulator.OpRestart && call.API != r.by.ResultAPI(), true)
	for n := 1; n <= 2; n++ {
		if call.Op != simulator.OpQuery && call.API != r.by.ResultAPI() && slices.Contains(call.Hosts, providertest.Address(n)) {
			r.reached[n] = true
			r.sent[n] += map[bool]int{true: 1}[call.Op == simulator.OpRestart]
			if r.sent[n] > 1+r.excuses {
				r.Errorf("host %d got the operation %d times", n, r.sent[n])
			}
		}
	}
	if call.API == r.by.ResultAPI() {
		r.polls++
	}
	if r.end != nil && (r.polls > 60 || r.cut != nil && r.cut(call)) {
		r.end()
	}
}

// look records what runs. sent: a restart has just been sent. late: one that was sent before may take effect.
func (r *rounds) look(sent, late bool) {
	for n := 1; n <= 2; n++ {
		pid := r.at(n).PID
		if pid == r.pid[n] {
			continue
		}
		if sent && pid > 0 {
			if r.ran[n] {
				r.Errorf("host %d was restarted twice, without a diagnostic in between", n)
			}
			r.ran[n] = true
		}
		r.done[n] = r.done[n] || pid > 0 && (sent || late)
		r.pid[n] = pid
	}
}

func (r *rounds) befall(trouble string, op, n int) {
	fault := func(f simulator.Fault) {
		f.API, f.Op, f.Hosts = "operate_*", &op, providertest.AddressList([]int{n})
		r.sim.Inject(f)
	}
	failing := simulator.Fault{Code: new(simulator.CodeCommandFailed), Message: "no such file"}
	polls := 0
	patience := func(c simulator.Call) bool {
		if c.API == r.by.ResultAPI() && c.Op == op {
			polls++
		}
		return polls >= 8
	}
	switch trouble {
	case "fails":
		fault(failing)
	case "fails-and-took":
		failing.Apply = true
		fault(failing)
	case "lost":
		fault(simulator.Fault{Drop: "after"})
	case "not-sent":
		fault(simulator.Fault{Drop: "before"})
	case "slow":
		fault(simulator.Fault{Takes: time.Hour})
		r.cut = patience
	case "slow-and-fails":
		failing.Takes = time.Hour
		fault(failing)
		r.cut = patience
	case "never-ends":
		r.endless = true
		r.sim.Inject(simulator.Fault{API: r.by.ResultAPI(), Op: &op, Hosts: providertest.AddressList([]int{n}), Code: new(115)})
		r.cut = patience
	case "forgotten":
		fault(simulator.Fault{Missing: -1})
		r.cut = patience
	case "away":
		r.sim.SetReachable(providertest.Address(n), false)
	case "interrupted":
		r.cut = func(c simulator.Call) bool { return c.Op == op && c.API != r.by.ResultAPI() }
	}
}

// apply applies a run, and checks that it is not reported as done on a host on which it is not.
func (r *rounds) apply(config map[string]any, operation, trouble string, n int) (well bool, said providertest.Diagnostics) {
	r.Helper()
	r.story = append(r.story, strings.TrimSpace(fmt.Sprintf("%s %s %s", operation, trouble, map[bool]string{true: fmt.Sprint("on ", n)}[trouble != ""])))
	r.minutes.Add(1)
	if trouble != "" && trouble != "slow" {
		r.excuses++
	}
	r.befall(trouble, runOps[operation], n)
	ctx, end := context.WithCancel(r.Context())
	defer end()
	r.object.Protocol = providertest.ConfiguredWith(r.T, r.settings)
	r.mu.Lock()
	r.end, r.polls, r.reached, r.object.Until = end, 0, make(map[int]bool), ctx
	r.mu.Unlock()
	_, said = r.object.Apply(config)
	r.object.Until = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut, r.end = nil, nil
	r.look(false, false)
	r.sim.Repair()
	r.sim.SetReachable(providertest.Address(n), true)
	well = len(said) == 0 && len(r.object.Reasons("failed_hosts"))+len(r.object.Reasons("unreachable")) == 0
	for host := 1; host <= 2; host++ {
		r.ran[host] = r.ran[host] && len(said) == 0
		up := r.at(host).Running
		switch {
		case !well, operation != "restart" && !r.reached[host]:
		case operation == "start" && !up, (operation == "stop" || operation == "kill") && up, operation == "restart" && !r.done[host]:
			r.Errorf("%s is reported as done on host %d, which runs %t; restarted %t", operation, host, up, r.done[host])
		}
	}
	return well, said
}

// Whatever befalls a sequence of runs, none is reported as done that was not, none restarts twice without a diagnostic,
// and the last one succeeds.
func TestProcessOperation_runsInARow(t *testing.T) {
	t.Parallel()
	providertest.InRounds(t, 60, func(t *testing.T, chance *rand.Rand) {
		t.Helper()
		one := func(of ...string) string { return of[chance.IntN(len(of))] }
		by := faces[chance.IntN(len(faces))]
		sim := providertest.NewSim(t)
		r := &rounds{T: t, sim: sim, by: by, settings: sim.SettingsFor(by), pid: make(map[int]int), ran: make(map[int]bool), done: make(map[int]bool), sent: make(map[int]int)}
		sim.StartingKeepsTime, sim.HostingKeepsTime = chance.IntN(2) == 0, chance.IntN(2) == 0
		sim.Now = func() time.Time { return time.Now().Add(time.Duration(r.minutes.Load()) * time.Minute) }
		r.object = operationOf(t, sim, by)
		defer func() {
			if t.Failed() {
				t.Logf("%s: %s", by, strings.Join(r.story, " | "))
			}
		}()
		for n := 1; n <= 2; n++ {
			r.do(func(host, namespace, name string) error { return sim.Register(host, namespace, name, nil, "{}") }, n)
			r.do(sim.Host, n)
			r.do(sim.StartProcess, n)
		}
		r.look(false, false)
		sim.OnCall = r.called
		operation, run := "restart", 0
		for range 2 + chance.IntN(4) {
			if chance.IntN(2) == 0 {
				operation = one("restart", "restart", "restart", "start", "stop", "kill", "reload")
				run++
				clear(r.ran)
				clear(r.done)
				clear(r.sent)
				r.excuses = 0
			}
			config := configOf(by, operation, 2, map[string]any{"triggers": map[string]string{"run": fmt.Sprint(run)}})
			r.apply(config, operation, one(runTroubles...), 1+chance.IntN(2))
			n := 1 + chance.IntN(2)
			switch between := one("", "", "revived", "down", "up", "hours"); between {
			case "revived":
				if r.at(n).Running {
					r.do(sim.KillProcess, n)
				}
				sim.Tick()
			case "down":
				if r.at(n).Running {
					r.do(sim.StopProcess, n)
				}
			case "up":
				if p := r.at(n); p.Registered && !p.Running {
					r.do(sim.StartProcess, n)
				}
			case "hours":
				r.minutes.Add(120)
				r.look(false, true)
			}
			r.look(false, false)
			if t.Failed() {
				return
			}
		}
		r.minutes.Add(180)
		r.look(false, true)
		for range 3 {
			config := configOf(by, operation, 2, map[string]any{"triggers": map[string]string{"run": fmt.Sprint(run)}})
			well, said := r.apply(config, operation, "", 1)
			if well {
				return
			}
			r.story = append(r.story, "("+said.String()+")")
		}
		down := operation == "reload" && (!r.at(1).Running || !r.at(2).Running) // there is nothing to reload
		if !r.endless && !down {
			t.Errorf("the operation never succeeds")
		}
	})
}
