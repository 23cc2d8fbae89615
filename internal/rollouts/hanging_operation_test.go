package rollouts

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// operates are the steps of an operation at which web-2 hangs, by the operation's name.
var operates = map[string]hang{
	"restart":       {each: running, op: simulator.OpRestart, once: []string{"restart"}},
	"reload":        {each: running, op: simulator.OpReload, once: []string{"reload"}},
	"start":         {op: simulator.OpStart, once: []string{"start"}},
	"stop":          {each: running, op: simulator.OpStop, once: []string{"stop"}},
	"kill":          {each: running, op: simulator.OpKill, once: []string{"kill"}},
	"restart/gated": {each: running, op: simulator.OpRestart, gate: true, once: []string{"restart"}},
	"restart/gate":  {each: running, ask: true, gate: true, once: []string{"restart"}},
	// A process that does not run may be hosted: its agent is asked, and it is unhosted.
	"stop/of-idle":     {each: idle, op: simulator.OpStop, once: []string{"stop", "unhost"}},
	"stop/ask-idle":    {each: idle, ask: true, once: []string{"stop", "unhost"}},
	"stop/unhost-idle": {each: idle, op: simulator.OpUnhost, once: []string{"stop", "unhost"}},
	// A process that ends by itself is not hosted afterwards where it was not before.
	"start/one-shot":        {faces: gseAlone, config: oneShot, op: simulator.OpStart, once: []string{"start", "unhost"}},
	"start/ask-one-shot":    {faces: gseAlone, config: oneShot, ask: true, once: []string{"start", "unhost"}},
	"start/unhost-one-shot": {faces: gseAlone, config: oneShot, op: simulator.OpUnhost, once: []string{"start", "unhost"}},
}

func idle(sim *providertest.Sim, by providertest.Face, host string) error {
	namespace, name := by.Process()
	return sim.Host(host, namespace, name)
}

func running(sim *providertest.Sim, by providertest.Face, host string) error {
	namespace, name := by.Process()
	if err := sim.Host(host, namespace, name); err != nil {
		return err
	}
	return sim.StartProcess(host, namespace, name)
}

// oneShot is a process that ends by itself.
var oneShot = func() map[string]any {
	spec, _ := providertest.FaceESB.Reference("./v1.sh", 0)["spec"].(map[string]any)
	spec["monitor_policy"] = map[string]any{"auto_type": 2}
	return map[string]any{"spec": spec}
}()

// The same with an operation.
func TestHanging_operation(t *testing.T) {
	t.Parallel()
	for step, h := range operates {
		name, _, _ := strings.Cut(step, "/")
		h.everywhere(t, step, func(t *testing.T, sim *providertest.Timed, by providertest.Face, b bound) {
			t.Helper()
			h.prepare(t, sim, by)
			config := h.declared(by, b, h.config, "./v1.sh", hangingHosts)
			config["operation"] = name
			h.apply(t, sim, by, b, by.TypeName(providertest.OnRestart), &providertest.Kept{}, config)
		})
	}
}

func (h hang) prepare(t *testing.T, sim *providertest.Timed, by providertest.Face) {
	t.Helper()
	for n := 1; n <= hangingHosts && h.each != nil; n++ {
		if err := h.each(sim.Sim, by, providertest.Address(n)); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Minute) // that was before
}

// And with an operation on several processes, in one stage or in several.
func TestHanging_processes(t *testing.T) {
	t.Parallel()
	for step, priorities := range map[string][]int{"one-stage": {1, 1}, "stages": {1, 2}, "stages-down": {2, 1}} {
		h := hang{op: simulator.OpRestart, once: []string{"restart"}}
		h.everywhere(t, step, func(t *testing.T, sim *providertest.Timed, by providertest.Face, b bound) {
			t.Helper()
			processes := make(map[string]any)
			for n, name := range []string{"nginx", "redis"} {
				one := by.Reference("./v1.sh", hangingHosts)
				for _, called := range []string{"meta", "process"} {
					if names, is := one[called].(map[string]any); is {
						names = maps.Clone(names)
						for _, key := range []string{"name", "proc_name"} {
							if _, has := names[key]; has {
								names[key] = name
							}
						}
						one[called] = names
					}
				}
				one["priority"] = priorities[n]
				processes[name] = one
			}
			config := h.declared(by, b, nil, "./v1.sh", hangingHosts)
			for _, of := range []string{"meta", "process", "spec", "scope", "hosts"} {
				delete(config, of)
			}
			config["operation"], config["processes"] = "restart", processes
			if b.rollout == nil { // or the stages after it do not begin
				config["rollout"] = map[string]any{"max_failed_hosts": "1"}
			}
			h.apply(t, sim, by, b, by.TypeName(providertest.OnRestart), &providertest.Kept{}, config)
		})
	}
}
