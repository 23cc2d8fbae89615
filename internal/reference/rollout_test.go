package reference_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// Terraform drops a misspelt batch_size before the provider sees it, so a rollout without waves remains.
//
// Promised in rolling-restart.md: A `rollout` without `waves` or `batch_size` brings a warning,
// as all hosts go at once then.
func TestRollout_withoutWaves(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		rollout map[string]any
		warned  bool
	}{
		"none":        {},
		"empty":       {rollout: map[string]any{}, warned: true},
		"no-batch":    {rollout: map[string]any{"max_failed_hosts": 1}, warned: true},
		"canary-only": {rollout: map[string]any{"canary": []string{"web-1"}, "pause": "1s"}, warned: true},
		"batch":       {rollout: map[string]any{"batch_size": 1}},
		"waves":       {rollout: map[string]any{"waves": []string{"1", "*2"}, "wave_timeout": "1m", "max_failed_hosts": "5%"}},
		"waves-later": {rollout: map[string]any{"waves": providertest.NotKnown{}}},
		"batch-later": {rollout: map[string]any{"batch_size": providertest.NotKnown{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := providertest.HostedConfigOf(map[string]string{"web-1": "0:10.0.0.1"})
			if c.rollout != nil {
				config["rollout"] = c.rollout
			}
			said := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Validate(config).String()
			if warned := strings.HasPrefix(said, "WARNING: Rollout Without Waves"); warned != c.warned || (!warned && said != "") {
				t.Errorf("said %q", said)
			}
		})
	}
}

// An invalid rollout is rejected before anything runs, and the error names valid values.
func TestRollout_refused(t *testing.T) {
	t.Parallel()
	p := providertest.NewProtocol(t)
	for name, c := range map[string]struct {
		rollout map[string]any
		want    string
	}{
		"empty-wave":    {map[string]any{"waves": []string{"0"}}, `Attribute rollout.waves[0]: "0" is a wave that never grows or has no hosts; the least is 1.`},
		"no-wave":       {map[string]any{"waves": []string{}}, "Attribute rollout.waves list must contain at least 1 elements"},
		"times-one":     {map[string]any{"waves": []string{"1", "*1"}}, `"*1" is as large as the wave before`},
		"more-than-all": {map[string]any{"waves": []string{"110%"}}, `"110%" is more than all hosts`},
		"both":          {map[string]any{"waves": []string{"1"}, "batch_size": 1}, "rollout.batch_size"},
		"failures":      {map[string]any{"waves": []string{"1"}, "max_failed_hosts": "101%"}, `Attribute rollout.max_failed_hosts: "101%" is more than all hosts; the most is 100%.`},
		"no-failures":   {map[string]any{"waves": []string{"1"}, "max_failed_hosts": "few"}, `"few" is neither a number of hosts`},
		"timeout":       {map[string]any{"waves": []string{"1"}, "wave_timeout": "1ms"}, "Attribute rollout.wave_timeout: the value must be a duration of at least 1s"},
		"idle-pause":    {map[string]any{"pause": "1s"}, "Attribute rollout.pause: without waves, batch_size or canary there is one wave of all hosts"},
		"idle-timeout":  {map[string]any{"wave_timeout": "1m"}, "Attribute rollout.wave_timeout: without waves, batch_size or canary there is one wave"},
		"on-failure":    {map[string]any{"waves": []string{"1"}, "on_failure": "retry"}, "rollout.on_failure value must be one of"},
		"canary-twice":  {map[string]any{"canary": []string{"web-1", "web-1"}, "batch_size": 1}, `duplicate values of: "web-1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := providertest.HostedConfigOf(map[string]string{"web-1": "0:10.0.0.1"})
			config["rollout"] = c.rollout
			said := p.CoreOf(providertest.HostedType, &providertest.Kept{}).Validate(config).String()
			if !strings.Contains(said, "ERROR") || !strings.Contains(said, c.want) {
				t.Errorf("said: %s\nwant: %s", said, c.want)
			}
		})
	}
}

// A canary that is not one of the hosts is rejected by the plan, for each object with a rollout.
func TestRollout_canaryNowhere(t *testing.T) {
	t.Parallel()
	const want = `Attribute rollout.canary[1]: "web-9" is not the key of a host in hosts. A canary is named by its key.`
	sim := providertest.NewSim(t)
	rollout := map[string]any{"canary": []string{"web-1", "web-9"}, "batch_size": 1}
	config := providertest.HostedConfigOf(providertest.HostsOf(2))
	config["rollout"] = rollout
	if _, said := sim.Configured(t).CoreOf(providertest.HostedType, &providertest.Kept{}).Apply(config); !said.Failed() || !strings.Contains(said.String(), want) {
		t.Errorf("the hosted process said: %s", said)
	}
	invocation := providertest.Invocation("restart", 2, map[string]any{"rollout": rollout})
	if said := sim.Configured(t).PlanAction(providertest.ActionType, invocation); !strings.Contains(said, want) {
		t.Errorf("the action said: %s", said)
	}
	if _, said := sim.Configured(t).CoreOf(providertest.ActionType, &providertest.Kept{}).Apply(invocation); !said.Failed() || !strings.Contains(said.String(), want) {
		t.Errorf("the operation said: %s", said)
	}
	if calls := sim.Calls(); len(calls) > 0 {
		t.Errorf("calls were made: %v", calls)
	}
}

// An operation has no previous declaration, and the error says which object has.
func TestRollout_noRollback(t *testing.T) {
	t.Parallel()
	const want = `Attribute rollout.on_failure: an operation can only "stop": there is no declaration before it that hosts could go back to.`
	for onFailure, refused := range map[string]bool{"stop": false, "rollback": true, "retry": true} {
		t.Run(onFailure, func(t *testing.T) {
			t.Parallel()
			p := providertest.NewProtocol(t)
			invocation := providertest.Invocation("restart", 2, map[string]any{"rollout": map[string]any{"batch_size": 1, "on_failure": onFailure}})
			for object, said := range map[string]string{
				"action":   p.ValidateAction(providertest.ActionType, invocation),
				"resource": p.CoreOf(providertest.ActionType, &providertest.Kept{}).Validate(invocation).String(),
			} {
				if strings.Contains(said, want) != refused || !refused && said != "" {
					t.Errorf("the %s said: %s", object, said)
				}
			}
		})
	}
}

// settling is a process whose operations may take this long.
type settling struct{ fleet.Process }

func (settling) Settles() (command, startCheck time.Duration) {
	return 30 * time.Second, 7 * time.Second
}

// A wave has time for its slowest host, unless wave_timeout is set.
//
// Promised in rolling-restart.md: by default what an operation may take on a host and two
// minutes more.
// Promised in limits.md: `op_timeout` and 2 minutes; with a start or restart also
// `start_check_secs`.
// Promised in reference: By default two minutes plus `op_timeout` (60 seconds if not set), and `start_check_secs` (5) where processes are started
// Promised in rollouts.md: `start_check_secs`, 5 by default, where processes are started or restarted
// Promised in rollouts.md: The default is the sum of the operation's time and two minutes.
func TestTarget_Rollout_waveTimeout(t *testing.T) {
	t.Parallel()
	texts := types.ListType{ElemType: types.StringType}
	gate := types.ObjectType{AttrTypes: map[string]attr.Type{"stable_for": types.StringType, "within": types.StringType, "output": types.StringType}}
	for name, c := range map[string]struct {
		starts    bool
		batchSize types.Int64
		timeout   types.String
		want      time.Duration
	}{
		"default":  {false, types.Int64Value(1), types.StringNull(), 150 * time.Second},
		"starts":   {true, types.Int64Value(1), types.StringNull(), 157 * time.Second},
		"set":      {true, types.Int64Value(1), types.StringValue("10s"), 10 * time.Second},
		"one-wave": {true, types.Int64Null(), types.StringNull(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := reference.Target{Process: settling{}, Starts: c.starts}
			rollout, diags := target.Rollout(t.Context(), types.ObjectValueMust(map[string]attr.Type{
				"waves": texts, "canary": texts, "batch_size": types.Int64Type, "pause": types.StringType, "wave_timeout": types.StringType, "max_failed_hosts": types.StringType,
				"healthy": gate, "on_failure": types.StringType,
			}, map[string]attr.Value{
				"waves": types.ListNull(types.StringType), "canary": types.ListNull(types.StringType), "batch_size": c.batchSize,
				"pause": types.StringNull(), "wave_timeout": c.timeout, "max_failed_hosts": types.StringNull(),
				"healthy": types.ObjectNull(gate.AttrTypes), "on_failure": types.StringNull(),
			}))
			if diags.HasError() || rollout.WaveTimeout != c.want {
				t.Errorf("a wave has %s, want %s; said %v", rollout.WaveTimeout, c.want, diags)
			}
		})
	}
}
