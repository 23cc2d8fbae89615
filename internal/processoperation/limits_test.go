package processoperation_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A machine whose agent is away for one process counts once, if another process runs on it.
func TestProcessOperation_oneMachineUnreachableTwice(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceESB
	for name, c := range map[string]struct {
		web  []int // the hosts of the second process
		away []int // the machines that are away for it
		most string
		says string
	}{
		"the-same":  {web: []int{1, 2, 3, 4}, away: []int{1}, most: "1"},
		"another":   {web: []int{1, 2, 3, 4, 5}, away: []int{1, 2}, most: "1", says: "not tried: too many hosts had failed"},
		"elsewhere": {web: []int{2, 3, 4}, away: []int{1, 2}, most: "1", says: "not tried: too many hosts had failed"},
		"allowed":   {web: []int{2, 3, 4}, away: []int{1, 2}, most: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			for _, process := range []string{"db", "web"} {
				for _, address := range providertest.AddressList(providertest.HostNumbers(5)) {
					providertest.NoError(t, sim.Register(address, "web", process, nil, "{}"), sim.StartProcess(address, "web", process))
				}
			}
			resource := operationOf(t, sim, by)
			more := map[string]any{"max_unreachable_hosts": c.most, "rollout": map[string]any{"batch_size": 2}}
			sim.SetReachable(providertest.Address(1), false)
			resource.Apply(operation("restart", map[string]any{"db": entry("db", 1, 1, 2, 3, 4)}, more))
			if unreachable := resource.Reasons("unreachable"); len(unreachable) != 1 {
				t.Fatalf("unreachable: %v", unreachable)
			}
			for _, n := range c.away {
				sim.SetReachable(providertest.Address(n), false)
			}
			_, said := resource.Apply(operation("restart", map[string]any{"db": entry("db", 1, 1, 2, 3, 4), "web": entry("web", 5, c.web...)}, more))
			if said.Failed() != (c.says != "") || !strings.Contains(said.String(), c.says) {
				t.Errorf("said: %s", said)
			}
		})
	}
}

// A first run that worked everywhere, and was still being watched when the time was up, is kept as such.
// The next apply watches on, and runs nothing.
//
// Promised in partial-failure.md: If some hosts succeeded, or Ctrl-C ended the run, it ends with
// a warning.
func TestProcessOperation_watchedWhenTimeIsUp(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t := s.t
		sim, resource := registered(t, s.by, 2)
		sim.ResetCalls()
		gate := func(stable string) map[string]any {
			return map[string]any{"batch_size": 1, "healthy": map[string]any{"stable_for": stable}}
		}
		config := restartConfig(s.by, 2, map[string]any{"timeouts": map[string]any{"create": "2s"}, "rollout": gate("1500ms")}) // of two waves
		_, said := resource.Apply(config)
		if resource.Tainted || said.Severity() != "warning" || !strings.HasPrefix(resource.Reasons("failed_hosts")["web-2"], "no_verdict: ") {
			t.Fatalf("tainted: %t; failed_hosts %v; said: %s", resource.Tainted, resource.Reasons("failed_hosts"), said)
		}
		sim.Changed(t, providertest.Operated(simulator.OpRestart, 1), providertest.Operated(simulator.OpRestart, 2))
		sim.ResetCalls()
		config["rollout"] = gate("1s")
		resource.Applied(config)
		sim.Changed(t)
	})
}

// A machine that leaves does not count among the unreachable ones, which may be a share of those that stay.
func TestProcessOperation_unreachableLeaves(t *testing.T) {
	t.Parallel()
	onFaces(t, "", faces, func(s trial) {
		sim, resource := registered(s.t, s.by, 10)
		operationOf(s.t, sim, s.by).Applied(configOf(s.by, "start", 10, nil))
		for _, n := range []int{9, 10} {
			sim.SetReachable(providertest.Address(n), false)
		}
		more := map[string]any{"max_unreachable_hosts": "20%"}
		resource.Apply(restartConfig(s.by, 10, more))
		before := resource.Reasons("unreachable")
		sim.ResetCalls()
		if kind, said := resource.Apply(restartConfig(s.by, 9, more)); kind != providertest.PlanUpdate || said.Failed() {
			s.t.Errorf("%s, said: %s", kind, said)
		}
		sim.Changed(s.t)
		providertest.Same(s.t, "unreachable", map[string]string{"web-9": before["web-9"]}, resource.Reasons("unreachable"))
	})
}

// A refresh asks an agent once, and waits for it once, for all processes there. They count as reachable together, so
// that none runs before its predecessors.
func TestProcesses_agentAskedOnce(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		sim := providertest.NewSlow(s.t, simulator.OpQuery)
		resource := operationOf(s.t, sim.Sim, s.by)
		sim.SetReachable(providertest.Address(2), false)
		resource.Apply(operation("restart", stack(), map[string]any{"order": "ascending", "max_unreachable_hosts": 1}))
		providertest.Same(s.t, "unreachable", 3, len(resource.Reasons("unreachable")))
		sim.SetReachable(providertest.Address(2), true)
		sim.Hangs()
		sim.EndsWhileAsked()
		sim.ResetCalls()
		providertest.Silent(s.t, resource.Refresh())
		providertest.Same(s.t, "failed_hosts", 3, len(resource.Reasons("failed_hosts")))
		providertest.Same(s.t, "questions", 1, len(sim.Calls().OfOp(simulator.OpQuery).Of("operate_*")))
	})
}

// A host keeps the time since which its agent does not answer while later runs do not reach it either.
func TestProcessOperation_unreachableSince(t *testing.T) {
	t.Parallel()
	const since = "since 2026-01-02T03:04:05Z: 117, the agent is abnormal or not found"
	for name, change := range map[string]map[string]any{
		"triggered": {"triggers": map[string]string{"run": "2"}},
		"another":   {"operation": "reload"},
		"recorded":  {"timeouts": map[string]any{"update": "20m"}},
	} {
		onFaces(t, name, faces, func(s trial) {
			sim, resource := registered(s.t, s.by, 2)
			sim.SetReachable(providertest.Address(2), false)
			config := restartConfig(s.by, 2, map[string]any{"max_unreachable_hosts": "1"})
			resource.Apply(config)
			attributes := providertest.AttributesOf(s.t, resource.State)
			attributes["unreachable"] = providertest.ValueOf(attributes["unreachable"].Type(), map[string]string{"web-2": since})
			resource.State = tftypes.NewValue(resource.State.Type(), attributes)
			maps.Copy(config, change)
			if _, said := resource.Apply(config); said.Failed() {
				s.t.Errorf("said: %s", said)
			}
			providertest.Same(s.t, "unreachable", map[string]string{"web-2": since}, resource.Reasons("unreachable"))
		})
	}
}

// Once more hosts are unreachable than allowed, those of before count as failed as well, and the error names them all.
func TestProcessOperation_tooManyUnreachable(t *testing.T) {
	t.Parallel()
	onFaces(t, "", faces, func(s trial) {
		sim, resource := registered(s.t, s.by, 2)
		more := map[string]any{"max_unreachable_hosts": "1"}
		sim.SetReachable(providertest.Address(2), false)
		resource.Apply(restartConfig(s.by, 2, more))
		sim.SetReachable(providertest.Address(3), false)
		_, said := resource.Apply(restartConfig(s.by, 3, more))
		providertest.Says(s.t, said.String(), "restart on 2 hosts: 0 done, 1 failed, 1 not tried.", "web-3 (0:10.0.0.4): 117", "web-2 (0:10.0.0.3): 117")
		providertest.Same(s.t, "failed_hosts", []string{"web-2", "web-3"}, slices.Sorted(maps.Keys(resource.Reasons("failed_hosts"))))
	})
}

// A process is not done on all hosts if the agent of one does not answer, even where that is allowed.
func TestProcesses_notDoneOnAllHosts(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		sim := providertest.NewSim(s.t)
		resource := operationOf(s.t, sim, s.by)
		processes := map[string]any{"db": entry("db", 1, 1, 2), "web": entry("web", 1, 1), "log": entry("log", 1, 1)}
		resource.Applied(operation("start", processes, nil))
		sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Name: "db", Hosts: []string{providertest.Address(2)}, Code: new(simulator.CodeAgentAbnormal)})
		sim.Inject(simulator.Fault{Op: new(simulator.OpRestart), Name: "web", Code: new(simulator.CodeCommandFailed)})
		_, said := resource.Apply(operation("restart", processes, map[string]any{"max_unreachable_hosts": "1"}))
		providertest.Check(s.t, strings.Contains(said.String(), `Done on all hosts: "log".`), "said: %s", said)
	})
}

// Hosts from which the last run got no result go right after the first wave, whether or not that many were allowed.
//
// Promised in rollouts.md: Hosts whose agents did not answer last time come right after the first wave, where they
// count for `max_failed_hosts` while most hosts are still to come.
func TestProcessOperation_silentGoEarly(t *testing.T) {
	t.Parallel()
	waves := []string{providertest.Operated(7, 1, 2), providertest.Operated(7, 3, 6), providertest.Operated(7, 4, 5)}
	for name, c := range map[string]struct {
		how         string // how the agent of web-6 does not answer
		most, later string // max_unreachable_hosts in the first run, and in the next one
		want        []string
	}{
		"allowed":    {"117", "1", "1", waves},
		"lowered":    {"117", "1", "0", waves[:2]},
		"no-verdict": {"pending", "0", "0", waves},
	} {
		onFaces(t, name, gseFaces, func(s trial) {
			sim, resource := registered(s.t, s.by, 6)
			config := restartConfig(s.by, 6, map[string]any{"max_unreachable_hosts": c.most, "rollout": map[string]any{"batch_size": 2, "wave_timeout": "1s"}})
			away := sim.Inject(simulator.Fault{API: "operate_*", Hosts: providertest.AddressList([]int{6}), Unreachable: c.how})
			if _, said := resource.Apply(config); len(said) == 0 {
				s.t.Fatal("the agent answers")
			}
			if c.how == "pending" {
				sim.ClearFault(away)
			}
			sim.ResetCalls()
			config["triggers"], config["max_unreachable_hosts"] = map[string]string{"run": "2"}, c.later
			resource.Apply(config)
			sim.Changed(s.t, c.want...)
		})
	}
}
