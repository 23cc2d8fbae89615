// Package interruption interrupts applies by Ctrl-C, by killing the provider or the CLI, and
// by losing connections. It checks that no host is lost and that no operation runs twice.
package interruption

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// interrupted stops the provider as Ctrl-C does, once isTime returns true. What runs then must end within a second.
func interrupted(p *providertest.Protocol, isTime func() bool, run func()) {
	p.T.Helper()
	stopped := make(chan time.Time, 1)
	go func() {
		for limit := time.Now().Add(30 * time.Second); !isTime() && time.Now().Before(limit); {
			<-time.After(time.Millisecond)
		}
		moment := time.Now()
		_, err := p.Server.StopProvider(context.WithoutCancel(p.T.Context()), nil)
		providertest.Check(p.T, err == nil, "%s", err)
		stopped <- moment
	}()
	run()
	took := time.Since(<-stopped)
	providertest.Check(p.T, took <= time.Second, "ended %s after the interrupt", took)
}

func hosted(hosts int, start string) map[string]any {
	config := providertest.FaceESB.Reference(start, hosts)
	config["ensure"], config["rollout"] = "registered", map[string]any{"batch_size": 1}
	return config
}

// An interrupt ends any step of the provider within a second, however long the step would take. No
// further wave begins, and what is known by then is kept.
//
// Promised in partial-failure.md: a create that Ctrl-C or its deadline cut off once a host was done | ends with a warning.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	const later = "not tried: interrupted before its wave"
	operation := func(trigger string) map[string]any {
		return providertest.Invocation("restart", 3, map[string]any{"rollout": map[string]any{"batch_size": 1}, "triggers": map[string]string{"t": trigger}})
	}
	left := map[string]string{"web-2": "interrupted", "web-3": "not_tried"}
	for name, c := range map[string]struct {
		object        string
		before, after map[string]any // after is nil for a destroy
		api           string         // the call that takes an hour for web-2
		attribute     string
		reasons       map[string]string // in the attribute
		said          string
	}{
		"create": {
			providertest.HostedType, nil, hosted(3, "./a.sh"), "register_proc_info", "out_of_sync",
			map[string]string{"web-2": "unconfirmed: interrupted", "web-3": "not_registered: " + later}, "WARNING: Hosted Process Created In Part",
		},
		"update": {
			providertest.HostedType, hosted(3, "./a.sh"), hosted(3, "./b.sh"), "update_proc_info", "out_of_sync",
			map[string]string{"web-2": "other_spec: interrupted", "web-3": "other_spec: " + later}, "ERROR: Unable to Update Hosted Process",
		},
		"destroy": {
			providertest.HostedType, hosted(3, "./a.sh"), nil, "unregister_proc_info", "hosts",
			map[string]string{"web-2": providertest.Address(2), "web-3": providertest.Address(3)}, "ERROR: Unable to Unregister Hosted Process",
		},
		"operate":       {providertest.ActionType, nil, operation("a"), "operate_proc_v2", "failed_hosts", left, "WARNING: Unable to Restart Process"},
		"operate-again": {providertest.ActionType, operation("a"), operation("b"), "operate_proc_v2", "failed_hosts", left, "ERROR: Unable to Restart Process"},
	} {
		for how, fault := range map[string]simulator.Fault{"no-verdict": {Takes: time.Hour}, "no-answer": {Delay: time.Hour}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				operates := c.object == providertest.ActionType
				sim := providertest.NewSim(t)
				resource := sim.Configured(t).CoreOf(c.object, &providertest.Kept{})
				if c.before != nil {
					resource.Apply(c.before)
				}
				fault.API, fault.Op = providertest.FaultOn(c.api)
				fault.Hosts = []string{providertest.Address(2)}
				sim.Inject(fault)
				sim.ResetCalls()
				run := resource.Apply
				if c.after == nil {
					run = resource.ApplyUnrefreshed
				}
				var said providertest.Diagnostics
				interrupted(resource.Protocol, func() bool {
					called := sim.Calls().Of(fault.API).On(providertest.Address(2))
					// If the request was accepted, wait for its task, so that the outcome is that of a polled task.
					return len(called) > 0 && (!operates || how == "no-answer" || polled(sim, called.Last().TaskID))
				}, func() { _, said = run(c.after) })

				got, want := resource.Reasons(c.attribute), maps.Clone(c.reasons)
				for key, reason := range got {
					got[key], _, _ = strings.Cut(reason, " (") // the agent's message follows
					if operates {
						got[key], _, _ = strings.Cut(reason, ": ")
					}
				}
				if operates && how == "no-answer" {
					want["web-2"] = "outcome_unknown"
				}
				providertest.Same(t, c.attribute, want, got)
				providertest.Check(t, strings.HasPrefix(said.String(), c.said) && len(providertest.ReasonRows(said.String())) == 2, "said: %s", said)
				calls := sim.Calls().Of(fault.API).On(providertest.Address(3))
				providertest.Check(t, len(calls) == 0, "the next wave began: %v", calls.APIs())
			})
		}
	}
}

func polled(s *providertest.Sim, task string) bool {
	return slices.ContainsFunc(s.Tasks(), func(t simulator.TaskInfo) bool { return t.ID == task && t.Polls > 0 })
}

// An interrupted query has no result, so state does not change.
func TestInterrupt_questions(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*providertest.Core) providertest.Diagnostics{
		"refresh": (*providertest.Core).Refresh,
		"status": func(p *providertest.Core) providertest.Diagnostics {
			_, said := p.ReadData("bk_process_status", providertest.FaceESB.Reference("./a.sh", 2))
			return said
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
			config := hosted(2, "./a.sh")
			config["ensure"] = "running"
			resource.Applied(config)
			before := resource.State
			for _, n := range providertest.HostNumbers(2) {
				providertest.NoError(t, sim.StopProcess(providertest.Address(n), "web", "nginx"))
			}
			sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Takes: time.Hour})
			sim.ResetCalls()
			var said providertest.Diagnostics
			interrupted(resource.Protocol, func() bool { return len(sim.Calls().OfOp(simulator.OpQuery)) > 0 }, func() { said = ask(resource) })
			providertest.Check(t, said.Failed() && strings.Contains(said.String(), "Unable to Read") && resource.State.Equal(before),
				"said %q and state is %s", said, resource.State)
		})
	}
}

// A create that is interrupted before any host was done may have registered some hosts.
//
// Promised in partial-failure.md: a create that no host confirmed, and that may have registered some (answers
// were lost, or Ctrl-C came before any host was done) | ends with an error, exit code 1 | the hosts; those
// in doubt in `out_of_sync` as `unconfirmed`; the resource is tainted.
func TestInterrupt_beforeAny(t *testing.T) {
	t.Parallel()
	sim := providertest.NewSim(t)
	resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
	api, op := providertest.FaultOn("register_proc_info")
	sim.Inject(simulator.Fault{API: api, Op: op, Takes: time.Hour})
	config := hosted(2, "./a.sh")
	delete(config, "rollout")
	said := sim.CutAt(func(call simulator.Call) bool { return call.API == api && (op == nil || call.Op == *op) }).Apply(resource, config)
	providertest.Check(t, strings.HasPrefix(said.String(), "ERROR: Unable to Create Hosted Process") && resource.Tainted,
		"tainted: %t; said: %s", resource.Tainted, said)
	for _, key := range []string{"web-1", "web-2"} {
		reason := resource.Reasons("out_of_sync")[key]
		providertest.Check(t, strings.HasPrefix(reason, "unconfirmed: "), "%s is %q", key, reason)
	}
}

// Connections are lost at random on any call: before a request is accepted, after it was carried out, and in the middle
// of its answer. No operation is sent to a host twice in one apply, however many connections are lost and however often it is
// applied. A possible effect is never reported as none. The histories test the same for hosted processes.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for objects, by := range map[string]providertest.Face{"gse": providertest.Face(providertest.Gateway), "job": providertest.FaceJOB} {
		for name, round := range map[string]func(*lossRound){"operation": (*lossRound).operation, "action": (*lossRound).action} {
			t.Run(objects+"/"+name, func(t *testing.T) {
				t.Parallel()
				if by == providertest.FaceJOB {
					providertest.ESBOnly(t, "JOB is behind it whatever the gateway")
				}
				providertest.InRounds(t, 30, func(t *testing.T, chance *rand.Rand) {
					t.Helper()
					round(newLossRound(t, by, chance))
				})
			})
		}
	}
}

// lossRound is one simulator whose connections are often lost, with its providers.
type lossRound struct {
	*testing.T
	by       providertest.Face
	sim      *providertest.Sim
	settings map[string]any
	chance   *rand.Rand
	hosts    int
	does     string // the operation
	config   map[string]any
}

func newLossRound(t *testing.T, by providertest.Face, chance *rand.Rand) *lossRound {
	t.Helper()
	r := &lossRound{T: t, by: by, sim: providertest.NewSim(t), chance: chance, hosts: 1 + chance.IntN(5)}
	r.sim.Seed = chance.Uint64()
	concurrent := 1 + chance.IntN(4)
	r.settings = map[string]any{"max_hosts_per_request": 1 + chance.IntN(r.hosts), "max_concurrent_requests": concurrent, "max_retries": chance.IntN(4)}
	r.does = []string{"start", "stop", "restart", "kill"}[chance.IntN(4)]
	r.config = by.Reference("./start.sh", r.hosts)
	r.config["operation"] = r.does
	if chance.IntN(2) == 0 {
		r.config["rollout"] = map[string]any{"batch_size": 1 + chance.IntN(r.hosts), "max_failed_hosts": chance.IntN(r.hosts)}
	}
	t.Cleanup(func() {
		most := r.sim.MaxInFlight()
		providertest.Check(t, most <= concurrent, "%d requests at once, want up to %d", most, concurrent)
	})
	return r
}

func (r *lossRound) begin() {
	namespace, name := r.by.Process()
	for _, address := range providertest.AddressList(providertest.HostNumbers(r.hosts)) {
		if r.by != providertest.FaceJOB {
			providertest.NoError(r, r.sim.Register(address, namespace, name, nil, "{}"))
		}
		if r.chance.IntN(2) == 0 {
			providertest.NoError(r, r.sim.Host(address, namespace, name), r.sim.StartProcess(address, namespace, name))
		}
	}
}

func (r *lossRound) provider() *providertest.Protocol { return r.sim.Configured(r.T, r.settings) }

// newProviders starts the providers of the next run, one for the plan and one for the apply.
func (r *lossRound) newProviders(resource *providertest.Core) {
	applies := r.provider()
	resource.Protocol, resource.Fresh = r.provider(), func() *providertest.Protocol { return applies }
}

// lossy makes connections fail, with a random probability, on any call or on those of one kind.
func (r *lossRound) lossy() {
	r.sim.Repair()
	chance := []float64{0.02, 0.1, 0.25}[r.chance.IntN(3)]
	api := []string{"*", "*", "operate_*", "get_*"}[r.chance.IntN(4)]
	for _, when := range []string{"before", "after", "mid"} {
		r.sim.Inject(simulator.Fault{API: api, Drop: when, Chance: chance})
	}
}

func (r *lossRound) processes() map[string]simulator.Process {
	found := make(map[string]simulator.Process)
	namespace, name := r.by.Process()
	for key, address := range providertest.HostsOf(r.hosts) {
		found[key], _ = r.sim.Process(address, namespace, name)
	}
	return found
}

// operated returns the hosts that were operated on, and whether that succeeded. A host operated on twice fails the test.
func (r *lossRound) operated(said string) map[string]bool {
	operated := make(map[string]bool)
	for key, address := range providertest.HostsOf(r.hosts) {
		for _, e := range r.sim.Executions() {
			if e.Host != address || !slices.Contains([]string{"start", "stop", "restart", "reload", "kill"}, e.Action) {
				continue
			}
			_, before := operated[key]
			providertest.Check(r, !before, "%s was operated twice in one apply: %v\n%s", key, r.sim.Executions(), said)
			operated[key] = e.Code == simulator.CodeOK
		}
	}
	return operated
}

// checkReported compares the message about an operation with what was done: a host that was operated on is either done or in doubt.
func (r *lossRound) checkReported(rows map[string]string, said string) {
	operated := r.operated(said)
	for key, process := range r.processes() {
		reason, failing := rows[key]
		switch {
		case failing && open(reason):
			providertest.Check(r, strings.Contains(said, "Where the outcome is not known"), "%s: %s, but the message does not say what to do\n%s", key, reason, said)
		case failing && operated[key]:
			r.Errorf("%s was operated and is reported as %q\n%s", key, reason, said)
		case failing:
		case r.does == "start" && !process.Running, (r.does == "stop" || r.does == "kill") && (process.Running || process.Hosted):
			r.Errorf("%s is reported as done and is %+v\n%s", key, process, said)
		}
	}
}

func (r *lossRound) operation() {
	r.begin()
	resource := r.provider().CoreOf(r.by.TypeName(providertest.OnOperate), &providertest.Kept{})
	for range 4 {
		r.lossy()
		r.apply(resource)
	}
	r.sim.Repair()
	if r.apply(resource); len(resource.Reasons("failed_hosts")) > 0 {
		r.Errorf("no connection is lost any more, and failed_hosts is still %v", resource.Reasons("failed_hosts"))
	}
	kind, said := resource.Apply(r.config)
	providertest.Check(r, kind == providertest.PlanNothing && len(said) == 0, "there was something left to do: %s", said)
}

func (r *lossRound) apply(resource *providertest.Core) {
	first := resource.State.IsNull()
	before, earlier := r.processes(), resource.Reasons("failed_hosts")
	r.newProviders(resource)
	kind, diags := resource.Apply(r.config)
	said := diags.String()

	rows, kept := providertest.ReasonRows(said), resource.Reasons("failed_hosts")
	switch {
	case resource.State.IsNull() && len(rows) != r.hosts:
		r.Errorf("nothing is in state, although %d of %d hosts succeeded\n%s", r.hosts-len(rows), r.hosts, said)
	case resource.Tainted && (!first || len(rows) != r.hosts):
		r.Errorf("it is tainted, so it will run on every host again\n%s", said)
	case resource.Tainted:
		resource.Untaint() // as the error says, so that the next apply asks first
	}
	for key, reason := range rows {
		if status, ok := kept[key]; !resource.State.IsNull() && (!ok || inDoubt(status) != open(reason)) {
			r.Errorf("%s is reported as %q and kept as %q", key, reason, status)
		}
	}
	if !resource.State.IsNull() && len(kept) != len(rows) {
		r.Errorf("%v are reported and %v kept", rows, kept)
	}
	r.checkReported(rows, said)
	operated := r.operated(said)
	for key, process := range before {
		_, sent := operated[key]
		reason, again := earlier[key]
		_, failing := rows[key]
		asWanted := r.does == "start" && process.Running || r.does != "start" && r.does != "restart" && !process.Running && !process.Hosted
		switch {
		case sent && again && inDoubt(reason) && asWanted:
			r.Errorf("%s was as wanted, but its agent was not asked before it was operated on again\n%s", key, said)
		case sent && !first && !again:
			r.Errorf("%s was done, and operated again\n%s", key, said)
		case !operated[key] && kind.Changes() && r.does == "restart" && !failing && (first || again):
			r.Errorf("%s is reported as restarted and was not\n%s", key, said)
		}
	}
}

func (r *lossRound) action() {
	r.begin()
	for range 4 {
		r.lossy()
		_, end := r.provider().Invoke(r.Context(), r.by.TypeName(providertest.OnOperate), r.config)
		r.checkReported(providertest.ReasonRows(end), end)
	}
}

// inDoubt reports whether a reason in state leaves open whether the operation succeeded. open does so for the reason in a message.
func inDoubt(status string) bool {
	code, _, _ := strings.Cut(status, ": ")
	return slices.Contains([]string{"outcome_unknown", "no_verdict", "interrupted"}, code)
}

func open(reason string) bool {
	return slices.ContainsFunc([]string{"outcome unknown", "no verdict when the time was up", "interrupted"}, func(words string) bool {
		return strings.HasPrefix(reason, words)
	})
}
