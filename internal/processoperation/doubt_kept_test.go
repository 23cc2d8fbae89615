package processoperation_test

import (
	"fmt"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// If an earlier run may have worked on a host whose agent is away, the platform is asked once the agent
// answers, whatever updates there were meanwhile.
func TestProcessOperation_doubtOfUnreachable(t *testing.T) {
	t.Parallel()
	second := []string{providertest.Address(2)}
	for name, between := range map[string]map[string]any{
		"no-update": nil, "other-timeouts": {"timeouts": map[string]any{"update": "20m"}}, "other-limit": {"max_unreachable_hosts": "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceESB
			u := &underWay{Slow: providertest.NewSlow(t, simulator.OpRestart), by: by}
			for _, process := range []string{"db", "web"} {
				for _, address := range providertest.AddressList([]int{1, 2}) {
					providertest.NoError(t, u.Register(address, "web", process, nil, "{}"), u.StartProcess(address, "web", process))
				}
			}
			u.Core = operationOf(t, u.Sim, by)
			config := operation("restart", map[string]any{"db": entry("db", 1, 1, 2), "web": entry("web", 5, 1, 2)}, map[string]any{"max_unreachable_hosts": "1"})
			u.Hangs(2)
			u.Cut(u.Core, config, 5) // web comes first, and hangs on the second host
			u.ClearFaults()
			u.Ends()
			config["order"] = "ascending"
			u.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpRestart), Name: "db", Hosts: second, Code: new(117)})
			u.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: second, Code: new(117)})
			u.Apply(config)
			if unreachable := u.Reasons("unreachable"); len(unreachable) != 2 {
				t.Fatalf("unreachable: %v", unreachable)
			}
			if between != nil {
				for attribute, value := range between {
					config[attribute] = value
				}
				u.Apply(config)
			}
			u.Repair()
			u.ResetCalls()
			u.Applied(config)
			u.Changed(t, providertest.Operated(simulator.OpRestart, 2)) // db only: web is not restarted twice
		})
	}
}

// If an operation ran on a host and the next step does not reach the agent, the host has failed. It does not
// count as unreachable, because something was done.
func TestProcessOperation_oneShotLeftByAnAgent(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t := s.t
		sim := providertest.NewSim(t)
		sim.Registered(t, 3)
		second := providertest.AddressList([]int{2})
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpUnhost), Hosts: second, Code: new(117)})
		resource, config := operationOf(t, sim, s.by), oneShot(s.by, "start", 2)
		config["max_unreachable_hosts"] = "1"
		_, said := resource.Apply(config)
		providertest.Says(t, said.String(), "it was run, and is hosted now, so the agent may run it again: ")
		if failed, away := resource.Reasons("failed_hosts"), resource.Reasons("unreachable"); len(failed) != 1 || len(away) != 0 {
			t.Errorf("failed_hosts %v, unreachable %v", failed, away)
		}
		config["hosts"] = providertest.HostsOf(3)
		resource.Apply(config)
		sim.Repair()
		sim.ResetCalls()
		resource.Applied(config)
		sim.Changed(t, providertest.Operated(simulator.OpUnhost, 2))
	})
}

// A restart that worked and was being watched is not sent again once the platform has forgotten its task.
// That holds for an on_destroy as well.
func TestProcessOperation_watchedAndForgotten(t *testing.T) {
	t.Parallel()
	for name, destroys := range map[string]bool{"apply": false, "destroy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceESB
			sim := providertest.NewSlow(t, simulator.OpQuery)
			providertest.NoError(t, sim.Register(providertest.Address(1), "web", "nginx", nil, "{}"), sim.StartProcess(providertest.Address(1), "web", "nginx"))
			resource := operationOf(t, sim.Sim, by)
			config := restartConfig(by, 1, map[string]any{"on_destroy": "restart"})
			resource.Applied(config)
			config["rollout"] = map[string]any{"waves": []string{"100%"}, "healthy": map[string]any{"stable_for": "5s", "within": "2m"}}
			next := config
			if destroys {
				resource.Applied(config)
				next = nil
			} else {
				config["triggers"] = map[string]string{"run": "2"}
			}
			sim.Cut(resource, next, 3)
			sim.Forgets()
			for range 2 { // each run keeps the task for the next one
				sim.ResetCalls()
				if said := sim.Cut(resource, next, 3); len(sim.Changes()) > 0 {
					t.Errorf("sent %v; said: %s", sim.Changes(), said)
				}
			}
		})
	}
}

// JOB returns the same for a task that it has forgotten as for a GSE that fails. With other triggers the operation
// runs anew, as the messages say, and then any operation does.
func TestProcessOperation_neverSaid(t *testing.T) {
	t.Parallel()
	const by = providertest.FaceJOB
	sim := providertest.NewSlow(t, simulator.OpRestart)
	sim.Registered(t, 1)
	providertest.NoError(t, sim.StartProcess(providertest.Address(1), "web", "nginx"))
	resource, config := operationOf(t, sim.Sim, by), restartConfig(by, 1, nil)
	resource.Applied(config)
	forgotten := sim.Inject(simulator.Fault{API: "get_proc_result", Op: new(simulator.OpRestart), EnvelopeCode: new(1210001)})
	config["triggers"] = map[string]string{"run": "2"}
	providertest.Says(t, sim.Cut(resource, config, 5).String(), "If the platform never reports the outcome, changing triggers runs it anew on every host.")
	sim.ResetCalls()
	config["operation"] = "reload"
	providertest.Says(t, sim.Cut(resource, config, 5).String(), `If it never does, apply operation = "restart" with other triggers, which runs it anew, and then this one`)
	sim.Changed(t)
	sim.OnCall = func(call simulator.Call) { // tasks sent now are not forgotten
		if call.API == "operate_process" {
			sim.ClearFault(forgotten)
		}
	}
	config["operation"], config["triggers"] = "restart", map[string]string{"run": "3"}
	resource.Applied(config)
	sim.Changed(t, by.Changes(providertest.Operated(simulator.OpRestart, 1))...)
	sim.ResetCalls()
	config["operation"] = "reload"
	resource.Applied(config)
	sim.Changed(t, by.Changes(providertest.Operated(simulator.OpReload, 1))...)
}

// What an abandoned destroy has sent, and whose end the platform never reports, is run anew in the same way.
func TestProcessOperation_neverSaidOfDestroy(t *testing.T) {
	t.Parallel()
	for operation, ends := range map[string]string{"start": "stop", "restart": "restart"} {
		onFaces(t, operation, faces, func(s trial) {
			op := runOps[ends]
			sim := providertest.NewSlow(s.t, op)
			namespace, name := s.by.Process()
			providertest.NoError(s.t, sim.Register(providertest.Address(1), namespace, name, nil, "{}"), sim.StartProcess(providertest.Address(1), namespace, name))
			resource, config := operationOf(s.t, sim.Sim, s.by), configOf(s.by, operation, 1, map[string]any{"on_destroy": ends})
			resource.Applied(config)
			sim.Hangs()
			sim.Cut(resource, nil, 5)
			sim.ClearFaults()
			sim.ResetCalls()
			providertest.Says(s.t, sim.Cut(resource, config, 5).String(), fmt.Sprintf("If it never does, apply operation = %q with other triggers", ends))
			sim.Changed(s.t)
			config["operation"], config["triggers"] = ends, map[string]string{"run": "2"}
			resource.Applied(config)
			sim.Changed(s.t, operated(s.by, op, 1))
			config["operation"] = operation
			resource.Applied(config)
			resource.Settled(config)
		})
	}
}
