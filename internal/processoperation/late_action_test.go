package processoperation_test

import (
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
)

// Terraform validates and plans an action while values of other objects are unknown, and does neither
// again before it invokes the action. So the action itself refuses what a validation would.
func TestProcessOperationAction_knownLate(t *testing.T) {
	t.Parallel()
	notKnown := providertest.NotKnown{}
	rollout := func(name string, value any) map[string]any {
		rollout := map[string]any{name: value}
		if name != "waves" && name != "batch_size" {
			rollout["waves"] = []any{"1"}
		}
		return map[string]any{"rollout": rollout}
	}
	gate := func(stable any) any { return map[string]any{"stable_for": stable} }
	spec := func(timeout any) map[string]any {
		spec := providertest.Spec("./start.sh")
		spec["monitor_policy"] = map[string]any{"auto_type": 1, "op_timeout": timeout}
		return map[string]any{"spec": spec}
	}
	attribute := func(name string, value any) map[string]any { return map[string]any{name: value} }
	for name, c := range map[string]struct {
		planned, invoked map[string]any
		says             string
	}{
		"operation":     {attribute("operation", notKnown), attribute("operation", "stopp"), `Attribute operation value must be one of`},
		"no-operation":  {attribute("operation", notKnown), attribute("operation", ""), `Attribute operation value must be one of`},
		"order":         {attribute("order", notKnown), attribute("order", "up"), `Attribute order value must be one of`},
		"waves":         {rollout("waves", []any{notKnown}), rollout("waves", []any{"1 "}), `"1 " is not the size of a wave`},
		"no-waves":      {rollout("waves", notKnown), rollout("waves", []any{}), "Attribute rollout.waves list must contain at least 1 elements"},
		"batch":         {rollout("batch_size", notKnown), rollout("batch_size", 0), "Attribute rollout.batch_size value must be at least 1"},
		"two-sizes":     {rollout("batch_size", notKnown), map[string]any{"rollout": map[string]any{"batch_size": 1, "waves": []any{"1"}}}, `Attribute "rollout.waves" cannot be specified when "rollout.batch_size"`},
		"canary":        {rollout("canary", []any{notKnown}), rollout("canary", []any{"nobody"}), `"nobody" is not the key of a host`},
		"pause":         {rollout("pause", notKnown), rollout("pause", "5"), "Attribute rollout.pause: the value must be a duration"},
		"stable":        {rollout("healthy", gate(notKnown)), rollout("healthy", gate("soon")), "Attribute rollout.healthy.stable_for: the value must be a duration"},
		"failed-hosts":  {rollout("max_failed_hosts", notKnown), rollout("max_failed_hosts", "few"), `"few" is neither a number of hosts`},
		"unreachable":   {attribute("max_unreachable_hosts", notKnown), attribute("max_unreachable_hosts", "many"), `"many" is neither a number of hosts`},
		"spec":          {spec(notKnown), spec(-1), "Attribute spec.monitor_policy.op_timeout value must be"},
		"timeout":       {attribute("timeouts", map[string]any{"invoke": notKnown}), attribute("timeouts", map[string]any{"invoke": "soon"}), "timeouts.invoke"},
		"no-process":    {map[string]any{"meta": nil, "hosts": nil, "spec": nil, "processes": notKnown}, map[string]any{"meta": nil, "hosts": nil, "spec": nil, "processes": map[string]any{}}, "there is no process in it; name at least one"},
		"null-process":  {map[string]any{"meta": nil, "hosts": nil, "spec": nil, "processes": notKnown}, map[string]any{"meta": nil, "hosts": nil, "spec": nil, "processes": map[string]any{"a": nil}}, "the process is null; leave it out"},
		"nothing-to-do": {map[string]any{"meta": nil, "hosts": nil, "spec": nil, "processes": notKnown}, map[string]any{"meta": nil, "hosts": nil, "spec": nil}, "set "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.Registered(t, 3)
			p := sim.Configured(t)
			planned := providertest.Invocation("restart", 3, c.planned)
			if said := p.ValidateAction(providertest.ActionType, planned) + p.PlanAction(providertest.ActionType, planned); strings.Contains(said, "ERROR") {
				t.Errorf("the plan said %q", said)
			}
			sim.ResetCalls()
			progress, end := p.Invoke(t.Context(), providertest.ActionType, providertest.Invocation("restart", 3, c.invoked))
			if len(progress) > 0 || !strings.Contains(end, "ERROR") || !strings.Contains(end, c.says) {
				t.Errorf("progress %q, ended with %q, want %q", progress, end, c.says)
			}
			if calls := sim.Calls(); len(calls) > 0 {
				t.Errorf("called: %v", calls.APIs())
			}
		})
	}
}
