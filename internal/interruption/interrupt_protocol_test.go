package interruption

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// stopWhen tells the provider to stop, as Ctrl-C does, when it is time. What it
// returns waits for that and gives the moment.
func stopWhen(p *providertest.Protocol, isTime func() bool) (stopped func() time.Time) {
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
		if _, err := p.Server.StopProvider(context.WithoutCancel(p.T.Context()), nil); err != nil {
			p.T.Error(err)
		}
	}()
	return func() time.Time { <-done; return moment }
}

// An interrupt ends any step of the provider within a second, however long the step would take. No
// further wave begins, and what is known by then is kept.
//
// Promised in partial-failure.md: a create that Ctrl-C or its deadline cut off once a host was
// done | ends with a warning.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	const later = "not tried: interrupted before its wave"
	hosted := func(start string) map[string]any {
		return map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(3), "spec": providertest.WholeSpec(start),
			"ensure": "registered", "rollout": map[string]any{"batch_size": 1},
		}
	}
	operation := func(trigger string) map[string]any {
		return providertest.Invocation("restart", 3, map[string]any{
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
			object: providertest.HostedType, after: hosted("./a.sh"), api: "register_proc_info", attribute: "out_of_sync",
			reasons: map[string]string{"web-2": "unconfirmed: interrupted", "web-3": "not_registered: " + later},
			said:    "WARNING: Hosted Process Created In Part",
		},
		"update": {
			object: providertest.HostedType, before: hosted("./a.sh"), after: hosted("./b.sh"), api: "update_proc_info", attribute: "out_of_sync",
			reasons: map[string]string{"web-2": "other_spec: interrupted", "web-3": "other_spec: " + later},
			said:    "ERROR: Unable to Update Hosted Process",
		},
		"destroy": {
			object: providertest.HostedType, before: hosted("./a.sh"), api: "unregister_proc_info", attribute: "hosts",
			reasons: map[string]string{"web-2": providertest.Address(2), "web-3": providertest.Address(3)},
			said:    "ERROR: Unable to Unregister Hosted Process",
		},
		"operate": {
			object: providertest.ActionType, after: operation("a"), api: "operate_proc_v2", attribute: "failed_hosts",
			reasons: map[string]string{"web-2": "interrupted", "web-3": "not_tried"},
			said:    "WARNING: Unable to Restart Process",
		},
		"operate-again": {
			object: providertest.ActionType, before: operation("a"), after: operation("b"), api: "operate_proc_v2", attribute: "failed_hosts",
			reasons: map[string]string{"web-2": "interrupted", "web-3": "not_tried"},
			said:    "ERROR: Unable to Restart Process",
		},
	} {
		for how, fault := range map[string]simulator.Fault{
			"no-verdict": {Takes: time.Hour},
			"no-answer":  {Delay: time.Hour},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				sim := providertest.NewSim(t)
				resource := sim.Configured(t).CoreOf(c.object, &providertest.Kept{})
				if c.before != nil {
					resource.Apply(c.before)
				}
				fault.API, fault.Op = providertest.FaultOn(c.api)
				fault.Hosts = []string{providertest.Address(2)}
				sim.Inject(fault)
				sim.ResetCalls()
				stopped := stopWhen(resource.Protocol, func() bool {
					called := sim.Calls().Of(fault.API).On(providertest.Address(2))
					if len(called) == 0 || c.object != providertest.ActionType || how == "no-answer" {
						return len(called) > 0
					}
					// What was accepted and what is not known differ: it must have its task.
					return polled(sim, called.Last().TaskID)
				})

				run := resource.Apply
				if c.after == nil {
					run = resource.ApplyUnrefreshed
				}
				_, diags := run(c.after)
				said := diags.String()

				if took := time.Since(stopped()); took > time.Second {
					t.Errorf("ended %s after the interrupt", took)
				}
				got := resource.Reasons(c.attribute)
				for key, reason := range got {
					// What was heard of a host stands behind.
					got[key], _, _ = strings.Cut(reason, " (")
					if c.object == providertest.ActionType {
						got[key], _, _ = strings.Cut(reason, ": ")
					}
				}
				want := maps.Clone(c.reasons)
				if c.object == providertest.ActionType && how == "no-answer" {
					want["web-2"] = "outcome_unknown"
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.attribute, diff)
				}
				if !strings.HasPrefix(said, c.said) || len(providertest.ReasonRows(said)) != 2 {
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
	op := simulator.OpQuery
	late := simulator.Fault{API: "operate_proc_v2", Op: &op, Takes: time.Hour}
	t.Run("refresh", func(t *testing.T) {
		t.Parallel()
		sim := providertest.NewSim(t)
		resource := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{})
		resource.Apply(map[string]any{
			"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"), "ensure": "running",
		})
		before := resource.State
		for _, n := range providertest.HostNumbers(2) {
			if err := sim.StopProcess(providertest.Address(n), "web", "nginx"); err != nil {
				t.Fatal(err)
			}
		}
		sim.Inject(late)
		sim.ResetCalls()
		stopped := stopWhen(resource.Protocol, func() bool { return len(sim.Calls().OfOp(op)) > 0 })
		said := resource.Refresh()
		if took := time.Since(stopped()); took > time.Second {
			t.Errorf("ended %s after the interrupt", took)
		}
		if !said.Failed() || !strings.Contains(said.String(), "Unable to Read Hosted Process") || !resource.State.Equal(before) {
			t.Errorf("said %q and state is %s", said, resource.State)
		}
	})
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		sim := providertest.NewSim(t)
		p := sim.Configured(t)
		sim.Inject(late)
		config := map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh")}
		stopped := stopWhen(p, func() bool { return len(sim.Calls().OfOp(op)) > 0 })
		resp, err := p.Server.ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{
			TypeName: "bk_process_status", Config: p.Dynamic(p.Schema.DataSourceSchemas["bk_process_status"], config),
		})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(stopped()); took > time.Second {
			t.Errorf("ended %s after the interrupt", took)
		}
		if said := providertest.Diagnostics(resp.Diagnostics); !said.Failed() {
			t.Errorf("it was reported as an answer: %s", said)
		}
	})
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
	registers := func(call simulator.Call) bool { return call.API == api && (op == nil || call.Op == *op) }
	sim.Inject(simulator.Fault{API: api, Op: op, Takes: time.Hour})

	said := sim.CutAt(registers).Apply(resource, map[string]any{
		"meta": map[string]any{"namespace": "web", "name": "nginx"}, "hosts": providertest.HostsOf(2), "spec": providertest.WholeSpec("./a.sh"), "ensure": "registered",
	})

	if !strings.HasPrefix(said.String(), "ERROR: Unable to Create Hosted Process") || !resource.Tainted {
		t.Errorf("tainted: %t; said: %s", resource.Tainted, said)
	}
	for _, key := range []string{"web-1", "web-2"} {
		if reason := resource.Reasons("out_of_sync")[key]; !strings.HasPrefix(reason, "unconfirmed: ") {
			t.Errorf("%s is %q", key, reason)
		}
	}
}
