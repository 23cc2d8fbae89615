package provider

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// stopWhen tells the provider to stop, as Ctrl-C does, when it is time. What it
// returns waits for that and gives the moment.
func stopWhen(p *protocol, isTime func() bool) (stopped func() time.Time) {
	var (
		done   = make(chan struct{})
		moment time.Time
		limit  = time.Now().Add(30 * time.Second)
	)
	go func() {
		defer close(done)
		for !isTime() && time.Now().Before(limit) {
			<-time.After(time.Millisecond)
		}
		moment = time.Now()
		if _, err := p.server.StopProvider(context.WithoutCancel(p.t.Context()), nil); err != nil {
			p.t.Error(err)
		}
	}()
	return func() time.Time { <-done; return moment }
}

// Whatever the provider is at and however long that would take, an interrupt ends
// it within a second, no further wave begins, and what is known by then is kept.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	const later = "not tried: interrupted before its wave"
	hosted := func(start string) map[string]any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(3), "spec": wholeSpec(start),
			"ensure": "registered", "rollout": map[string]any{"batch_size": 1},
		}
	}
	operation := func(trigger string) map[string]any {
		return invocation("restart", 3, map[string]any{
			"rollout": map[string]any{"batch_size": 1}, "triggers": map[string]string{"t": trigger},
		})
	}
	for name, c := range map[string]struct {
		object        string
		before, after map[string]any // the latter is nil for a destroy
		api           string         // that host web-2 takes an hour for
		attribute     string
		reasons       map[string]string // in that attribute
		said          string
	}{
		"create": {
			object: testList, after: hosted("./a.sh"), api: "register_proc_info", attribute: "out_of_sync",
			reasons: map[string]string{"web-2": "registration not confirmed: interrupted", "web-3": "not registered: " + later},
			said:    "WARNING: Hosted Process Created In Part",
		},
		"update": {
			object: testList, before: hosted("./a.sh"), after: hosted("./b.sh"), api: "update_proc_info", attribute: "out_of_sync",
			reasons: map[string]string{"web-2": "registered with another spec: interrupted", "web-3": "registered with another spec: " + later},
			said:    "ERROR: Unable to Update Hosted Process",
		},
		"destroy": {
			object: testList, before: hosted("./a.sh"), api: "unregister_proc_info", attribute: "hosts",
			reasons: map[string]string{"web-2": testAddress(2), "web-3": testAddress(3)},
			said:    "ERROR: Unable to Unregister Hosted Process",
		},
		"operate": {
			object: testAction, after: operation("a"), api: "operate_proc_v2", attribute: "failed_hosts",
			reasons: map[string]string{"web-2": "interrupted", "web-3": later},
			said:    "WARNING: Unable to Restart Process",
		},
		"operate-again": {
			object: testAction, before: operation("a"), after: operation("b"), api: "operate_proc_v2", attribute: "failed_hosts",
			reasons: map[string]string{"web-2": "interrupted", "web-3": later},
			said:    "ERROR: Unable to Restart Process",
		},
	} {
		for how, fault := range map[string]simulator.Fault{
			"no-verdict": {Takes: time.Hour},
			"no-answer":  {Delay: time.Hour},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				sim := newSim(t)
				resource := sim.configured(t).coreOf(c.object, &kept{})
				if c.before != nil {
					resource.apply(c.before)
				}
				fault.API, fault.Op = faultOn(c.api)
				fault.Hosts = []string{testAddress(2)}
				sim.Inject(fault)
				sim.ResetCalls()
				stopped := stopWhen(resource.protocol, func() bool {
					called := sim.Calls().Of(fault.API).On(testAddress(2))
					if len(called) == 0 || c.object != testAction || how == "no-answer" {
						return len(called) > 0
					}
					// What was accepted and what is not known differ: it must have its task.
					return polled(sim, called.Last().TaskID)
				})

				run := resource.apply
				if c.after == nil {
					run = resource.applyUnrefreshed
				}
				_, diags := run(c.after)
				said := diags.String()

				if took := time.Since(stopped()); took > time.Second {
					t.Errorf("ended %s after the interrupt", took)
				}
				got := resource.reasons(c.attribute)
				for key, reason := range got {
					// What was heard of a host stands behind.
					got[key], _, _ = strings.Cut(reason, " (")
				}
				want := maps.Clone(c.reasons)
				if c.object == testAction && how == "no-answer" {
					want["web-2"] = "outcome unknown"
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.attribute, diff)
				}
				if !strings.HasPrefix(said, c.said) || len(told(said)) != 2 {
					t.Errorf("said: %s", said)
				}
				if calls := sim.Calls().Of(fault.API).On(testAddress(3)); len(calls) > 0 {
					t.Errorf("the next wave began: %v", calls.APIs())
				}
			})
		}
	}
}

func polled(s *testSim, task string) bool {
	return slices.ContainsFunc(s.Tasks(), func(t simulator.TaskInfo) bool { return t.ID == task && t.Polls > 0 })
}

// A question that is interrupted is an answer that nobody has: state stays as it was.
func TestInterrupt_questions(t *testing.T) {
	t.Parallel()
	op := simulator.OpQuery
	late := simulator.Fault{API: "operate_proc_v2", Op: &op, Takes: time.Hour}
	t.Run("refresh", func(t *testing.T) {
		t.Parallel()
		sim := newSim(t)
		resource := sim.configured(t).coreOf(testList, &kept{})
		resource.apply(map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh"), "ensure": "running",
		})
		before := resource.state
		for _, n := range hostNumbers(2) {
			if err := sim.StopProcess(testAddress(n), "web", "nginx"); err != nil {
				t.Fatal(err)
			}
		}
		sim.Inject(late)
		sim.ResetCalls()
		stopped := stopWhen(resource.protocol, func() bool { return len(sim.Calls().OfOp(op)) > 0 })
		said := resource.refresh()
		if took := time.Since(stopped()); took > time.Second {
			t.Errorf("ended %s after the interrupt", took)
		}
		if !said.failed() || !strings.Contains(said.String(), "Unable to Read Hosted Process") || !resource.state.Equal(before) {
			t.Errorf("said %q and state is %s", said, resource.state)
		}
	})
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		sim := newSim(t)
		p := sim.configured(t)
		sim.Inject(late)
		config := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": hostsOf(2), "spec": wholeSpec("./a.sh")}
		stopped := stopWhen(p, func() bool { return len(sim.Calls().OfOp(op)) > 0 })
		resp, err := p.server.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{
			TypeName: "bk_process_status", Config: p.dynamic(p.schema.DataSourceSchemas["bk_process_status"], config),
		})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(stopped()); took > time.Second {
			t.Errorf("ended %s after the interrupt", took)
		}
		if said := diagnostics(resp.Diagnostics); !said.failed() {
			t.Errorf("it was told as an answer: %s", said)
		}
	})
}
