// Package interruption cuts applies off: by Ctrl-C, by killing the provider or the CLI, and
// by losing connections. It checks that no host is lost and no operation runs twice.
package interruption

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// interrupted tells the provider to stop, as Ctrl-C does, when it is time. What runs then has to end within a second.
func interrupted(p *providertest.Protocol, isTime func() bool, run func()) {
	p.T.Helper()
	stopped := make(chan time.Time, 1)
	go func() {
		for limit := time.Now().Add(30 * time.Second); !isTime() && time.Now().Before(limit); {
			<-time.After(time.Millisecond)
		}
		moment := time.Now()
		if _, err := p.Server.StopProvider(context.WithoutCancel(p.T.Context()), nil); err != nil {
			p.T.Error(err)
		}
		stopped <- moment
	}()
	run()
	if took := time.Since(<-stopped); took > time.Second {
		p.T.Errorf("ended %s after the interrupt", took)
	}
}

func hosted(hosts int, start string) map[string]any {
	config := providertest.FaceESB.Reference(start, hosts)
	config["ensure"], config["rollout"] = "registered", map[string]any{"batch_size": 1}
	return config
}

// An interrupt ends any step of the provider within a second, however long the step would take. No
// further wave begins, and what is known by then is kept.
//
// Promised in partial-failure.md: a create that Ctrl-C or its deadline cut off once a host was
// done | ends with a warning.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	const later = "not tried: interrupted before its wave"
	operation := func(trigger string) map[string]any {
		return providertest.Invocation("restart", 3, map[string]any{"rollout": map[string]any{"batch_size": 1}, "triggers": map[string]string{"t": trigger}})
	}
	left := map[string]string{"web-2": "interrupted", "web-3": "not_tried"}
	for name, c := range map[string]struct {
		object        string
		before, after map[string]any // the latter is nil for a destroy
		api           string         // that host web-2 takes an hour for
		attribute     string
		reasons       map[string]string // in that attribute
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
					// What was accepted and what is not known differ: it must have its task.
					return len(called) > 0 && (!operates || how == "no-answer" || polled(sim, called.Last().TaskID))
				}, func() { _, said = run(c.after) })

				got, want := resource.Reasons(c.attribute), maps.Clone(c.reasons)
				for key, reason := range got {
					got[key], _, _ = strings.Cut(reason, " (") // what its agent said follows
					if operates {
						got[key], _, _ = strings.Cut(reason, ": ")
					}
				}
				if operates && how == "no-answer" {
					want["web-2"] = "outcome_unknown"
				}
				providertest.Same(t, c.attribute, want, got)
				if !strings.HasPrefix(said.String(), c.said) || len(providertest.ReasonRows(said.String())) != 2 {
					t.Errorf("said: %s", said)
				}
				if calls := sim.Calls().Of(fault.API).On(providertest.Address(3)); len(calls) > 0 {
					t.Errorf("the next wave began: %v", calls.APIs())
				}
			})
		}
	}
}

func polled(s *providertest.Sim, task string) bool {
	return slices.ContainsFunc(s.Tasks(), func(t simulator.TaskInfo) bool { return t.ID == task && t.Polls > 0 })
}

// An interrupted query has no result: state does not change.
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
			if !said.Failed() || !strings.Contains(said.String(), "Unable to Read") || !resource.State.Equal(before) {
				t.Errorf("said %q and state is %s", said, resource.State)
			}
		})
	}
}

// A create that is cut off before any host was done may have registered some.
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
	if !strings.HasPrefix(said.String(), "ERROR: Unable to Create Hosted Process") || !resource.Tainted {
		t.Errorf("tainted: %t; said: %s", resource.Tainted, said)
	}
	for _, key := range []string{"web-1", "web-2"} {
		if reason := resource.Reasons("out_of_sync")[key]; !strings.HasPrefix(reason, "unconfirmed: ") {
			t.Errorf("%s is %q", key, reason)
		}
	}
}
