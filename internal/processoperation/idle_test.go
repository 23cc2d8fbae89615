package processoperation_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A stop that found nothing to stop has worked only if the agent confirms it. The agents of these hosts
// are asked once, and no others.
func TestProcessOperation_nothingToStop(t *testing.T) {
	t.Parallel()
	const running = "829, the platform says that it does not run, but its agent then reports that it runs"
	for name, op := range map[string]int{"stop": simulator.OpStop, "kill": simulator.OpKill} {
		for says, want := range map[string]string{"runs": running, "silent": "is not known", "stopped": ""} { // the answer of web-2's agent afterwards
			onFaces(t, name+"/"+says, faces, func(s trial) {
				t, by := s.t, s.by
				sim := hosted(t, by, 2)
				namespace, process := by.Process()
				second := []string{providertest.Address(2)}
				providertest.NoError(t, sim.StartProcess(providertest.Address(1), namespace, process))
				if says != "stopped" {
					providertest.NoError(t, sim.StartProcess(second[0], namespace, process))
					fault := notRunning(op)
					fault.Hosts = second
					sim.Inject(fault)
				}
				if says == "silent" {
					sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Hosts: second, Unreachable: "117"})
				}
				resource := operationOf(t, sim, by)
				_, said := resource.Apply(configOf(by, name, 2, nil))
				failed := resource.Reasons("failed_hosts")
				if want == "" && (len(said) > 0 || len(failed) > 0) || want != "" && (len(failed) != 1 || !strings.Contains(failed["web-2"], want)) {
					t.Errorf("failed_hosts %v, want web-2 %q; said: %s", failed, want, said)
				}
				if queries := sim.Calls().OfOp(simulator.OpQuery); len(queries) != 1 || !slices.Equal(queries[0].Hosts, second) {
					t.Errorf("asked %v, want only the second host", queries)
				}
				// A stopped process is unhosted as well, and nothing else is sent.
				sent := []string{operated(by, op, 1, 2)}
				if says == "stopped" {
					sent = append(sent, operated(by, simulator.OpUnhost, 2))
				}
				slices.Sort(sent)
				sim.Changed(t, sent...)
			})
		}
	}
}

// The agent has just said that it hosts the process. Unhosting after a stop that found nothing has worked
// only if the agent confirms it.
func TestProcessOperation_idleStaysHosted(t *testing.T) {
	t.Parallel()
	for name, lies := range map[string]bool{"stays": true, "ends": false} {
		onFaces(t, name, faces, func(s trial) {
			t, by := s.t, s.by
			sim := hosted(t, by, 1)
			if lies {
				sim.Inject(notRunning(simulator.OpUnhost))
			}
			_, said := operationOf(t, sim, by).Apply(configOf(by, "stop", 1, nil))
			namespace, name := by.Process()
			process, _ := sim.Process(providertest.Address(1), namespace, name)
			if process.Hosted != lies || said.Failed() != lies || strings.Contains(said.String(), "its agent reports afterwards that it is still hosted") != lies {
				t.Errorf("hosted: %t; said: %s", process.Hosted, said)
			}
		})
	}
}

func oneShot(by providertest.Face, operation string, hosts int) map[string]any {
	config := configOf(by, operation, hosts, nil)
	config["spec"].(map[string]any)["monitor_policy"] = map[string]any{"auto_type": 2} //nolint:forcetypeassert // it is a map
	return config
}

// A one-shot process has ended when its start is checked, and starting hosts it. It is unhosted again,
// unless another owner hosted it before.
//
// Promised in cookbook.md: The check after the start doesn't find it, and that counts as success.
// Promised in cookbook.md: The operation ends that hosting again, so that the agent doesn't run the
// process twice.
func TestProcessOperation_oneShot(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t := s.t
		sim := providertest.NewSim(t)
		providertest.NoError(t, sim.Host(providertest.Address(2), "web", "nginx"))
		operationOf(t, sim, s.by).Applied(oneShot(s.by, "start", 2))
		sim.Changed(t, providertest.Operated(simulator.OpStart, 1, 2), providertest.Operated(4, 1))
		for n, hosted := range map[int]bool{1: false, 2: true} {
			if process, _ := sim.Process(providertest.Address(n), "web", "nginx"); process.Hosted != hosted {
				t.Errorf("%s is %+v", providertest.Address(n), process)
			}
		}
		ran := slices.DeleteFunc(sim.Executions(), func(e simulator.Execution) bool { return e.Action != "start" })
		if len(ran) != 2 {
			t.Errorf("it was run %d times: %v", len(ran), ran)
		}
	})
}

// Unhosting has worked if the agent confirms it. If the agent cannot be asked, it has worked only if
// there was something to stop.
func TestProcessOperation_oneShotStaysHosted(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"nothing-to-end": true, "ended": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const by = providertest.FaceESB
			sim := providertest.NewSim(t)
			sim.Registered(t, 1)
			if fails {
				sim.Inject(notRunning(simulator.OpUnhost))
			}
			sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Skip: 1, HTTPStatus: http.StatusBadGateway})
			config := oneShot(by, "start", 1)
			_, said := operationOf(t, sim, by).Apply(config)
			process, _ := sim.Process(providertest.Address(1), "web", "nginx")
			if process.Hosted != fails || (len(said) > 0) != fails || strings.Contains(said.String(), "whether it is still hosted is not known") != fails {
				t.Errorf("hosted: %t; said: %s", process.Hosted, said)
			}
		})
	}
}

// A one-shot process that was run, and is still hosted although it was not before, is unhosted by the next
// apply. It is run a second time only if it may not have run.
func TestProcessOperation_oneShotUnhostedLater(t *testing.T) {
	t.Parallel()
	refuses := func(op int) simulator.Fault {
		return simulator.Fault{API: "operate_*", Op: new(op), Code: new(simulator.CodeCommandFailed)}
	}
	for name, c := range map[string]struct {
		fault simulator.Fault // in the first run
		saved string          // the severity of its diagnostics
		sent  []string        // by the second run
		anew  bool            // other triggers make the operation run again
	}{
		"not-unhosted":       {refuses(simulator.OpUnhost), "warning", []string{providertest.Operated(4, 1)}, false},
		"for-other-triggers": {refuses(simulator.OpUnhost), "warning", []string{providertest.Operated(0, 1), providertest.Operated(4, 1)}, true},
		"answer-lost":        {simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Drop: "after"}, "error", []string{providertest.Operated(0, 1), providertest.Operated(4, 1)}, false},
	} {
		onFaces(t, name, gseFaces, func(s trial) {
			t := s.t
			sim := providertest.NewSim(t)
			sim.Registered(t, 1)
			sim.Inject(c.fault)
			resource, config := operationOf(t, sim, s.by), oneShot(s.by, "start", 1)
			if _, said := resource.Apply(config); said.Severity() != c.saved || len(resource.Reasons("failed_hosts")) != 1 {
				t.Fatalf("failed_hosts %v, said: %s", resource.Reasons("failed_hosts"), said)
			}
			sim.Repair()
			sim.ResetCalls()
			if resource.Tainted {
				resource.Untaint()
			}
			if c.anew {
				config["triggers"] = map[string]string{"run": "2"}
			}
			resource.Applied(config)
			process, _ := sim.Process(providertest.Address(1), "web", "nginx")
			if sim.Changed(t, c.sent...); process.Hosted {
				t.Errorf("it is %+v", process)
			}
			resource.Settled(config)
		})
	}
}

// What an earlier run has left hosted is not unhosted if somebody has hosted it since.
func TestProcessOperation_oneShotHostedSince(t *testing.T) {
	t.Parallel()
	unhosting := simulator.Fault{API: "operate_*", Op: new(simulator.OpUnhost), Code: new(simulator.CodeCommandFailed)}
	silent := simulator.Fault{API: "operate_*", Op: new(simulator.OpQuery), Code: new(117)}
	for name, c := range map[string]struct {
		fault  simulator.Fault // in the first run
		sent   []string        // by the second run
		anew   bool            // other triggers make the operation run again
		silent bool            // the agent is silent in the second run
	}{
		"not-unhosted":       {fault: unhosting},
		"agent-silent":       {fault: unhosting, silent: true},
		"for-other-triggers": {fault: unhosting, sent: []string{providertest.Operated(0, 1)}, anew: true},
		"answer-lost":        {fault: simulator.Fault{API: "operate_*", Op: new(simulator.OpStart), Drop: "after"}, sent: []string{providertest.Operated(0, 1)}},
	} {
		onFaces(t, name, gseFaces, func(s trial) {
			t := s.t
			sim := providertest.NewSim(t)
			sim.Registered(t, 1)
			sim.Inject(c.fault)
			resource, config := operationOf(t, sim, s.by), oneShot(s.by, "start", 1)
			resource.Apply(config)
			sim.Repair()
			providertest.NoError(t, sim.Host(providertest.Address(1), "web", "nginx"))
			if resource.Tainted {
				resource.Untaint()
			}
			if c.anew {
				config["triggers"] = map[string]string{"run": "2"}
			}
			if c.silent {
				sim.Inject(silent)
				sim.ResetCalls()
				if _, said := resource.Apply(config); len(resource.Reasons("failed_hosts")) != 1 {
					t.Errorf("said: %s", said)
				}
				sim.Changed(t)
				sim.Repair()
			}
			sim.ResetCalls()
			resource.Applied(config)
			process, _ := sim.Process(providertest.Address(1), "web", "nginx")
			if sim.Changed(t, c.sent...); !process.Hosted {
				t.Errorf("it is %+v", process)
			}
			resource.Settled(config)
		})
	}
}

// A restart of a one-shot process is refused before any call, also if its kind is known only in the apply.
func TestProcessOperation_oneShotRestarted(t *testing.T) {
	t.Parallel()
	const refused = "a process that ends by itself (auto_type or type 2) is not restarted: start it"
	onFaces(t, "", gseFaces, func(s trial) {
		sim := hosted(s.t, s.by, 1)
		config := oneShot(s.by, "restart", 1)
		providertest.Says(s.t, operationOf(s.t, sim, s.by).Validate(config).String(), "Attribute operation", refused)
		later := oneShot(s.by, "restart", 1)
		later["spec"].(map[string]any)["monitor_policy"] = providertest.NotKnown{} //nolint:forcetypeassert // it is a map
		_, said := operationOf(s.t, sim, s.by).ApplyResolved(later, config)
		providertest.Says(s.t, said.String(), refused)
		sim.Changed(s.t)
	})
}

// A one-shot process may have run and be hosted whatever code its start ended with, so it is unhosted. If
// that fails, the run reports it, and a later run unhosts the process.
//
// Promised in cookbook.md: It does so even if the start failed.
// Promised in cookbook.md: A host where that fails is in `failed_hosts`, and the next apply ends the hosting, unless the process was hosted anew since.
func TestProcessOperation_oneShotFailed(t *testing.T) {
	t.Parallel()
	second := providertest.AddressList([]int{2})
	for name, c := range map[string]struct {
		fault simulator.Fault // of the start on the second host
		stays bool            // it cannot be unhosted in the first run
		sent  []string        // by the second run
	}{
		"terminated":   {simulator.Fault{Code: new(126), Apply: true}, false, []string{providertest.Operated(0, 2), providertest.Operated(4, 2)}},
		"unknown-code": {simulator.Fault{Code: new(65534), Apply: true}, false, []string{providertest.Operated(0, 2), providertest.Operated(4, 2)}},
		"stays":        {simulator.Fault{Code: new(126), Apply: true}, true, []string{providertest.Operated(0, 2), providertest.Operated(4, 2)}},
		"away":         {simulator.Fault{Code: new(117)}, false, []string{providertest.Operated(0, 2), providertest.Operated(4, 2)}},
	} {
		c.fault.API, c.fault.Op, c.fault.Hosts = "operate_*", new(simulator.OpStart), second
		onFaces(t, name, gseFaces, func(s trial) {
			t := s.t
			sim := providertest.NewSim(t)
			sim.Registered(t, 2)
			sim.Inject(c.fault)
			if c.stays {
				sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpUnhost), Hosts: second, Code: new(65535)})
			}
			resource, config := operationOf(t, sim, s.by), oneShot(s.by, "start", 2)
			_, said := resource.Apply(config)
			if process, _ := sim.Process(second[0], "web", "nginx"); process.Hosted != c.stays || strings.Contains(said.String(), "it could not be unhosted, so the agent may run it again") != c.stays {
				t.Errorf("hosted: %t; said: %s", process.Hosted, said)
			}
			if unhosted := len(sim.Calls().OfOp(simulator.OpUnhost).On(second[0])); (unhosted > 0) != (name != "away") {
				t.Errorf("unhosted %d times", unhosted)
			}
			sim.Repair()
			sim.ResetCalls()
			resource.Applied(config)
			sim.Changed(t, c.sent...)
			if process, _ := sim.Process(second[0], "web", "nginx"); process.Hosted {
				t.Errorf("it is %+v", process)
			}
		})
	}
}

// leftHosted returns a one-shot process that a first run on a host has left hosted.
func leftHosted(t *testing.T, by providertest.Face, start simulator.Fault, more map[string]any) (*providertest.Sim, *providertest.Core, map[string]any, providertest.Diagnostics) {
	t.Helper()
	sim := providertest.NewSim(t)
	sim.Registered(t, 2)
	second := providertest.AddressList([]int{2})
	if start.Code != nil {
		start.API, start.Op = "operate_*", new(simulator.OpStart)
		sim.Inject(start)
		second = nil
	}
	sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpUnhost), Hosts: second, Code: new(65535)})
	resource, config := operationOf(t, sim, by), oneShot(by, "start", 2)
	maps.Copy(config, more)
	_, said := resource.Apply(config)
	if process, _ := sim.Process(providertest.Address(2), "web", "nginx"); !process.Hosted {
		t.Fatalf("it is not hosted; said: %s", said)
	}
	sim.Repair()
	sim.ResetCalls()
	return sim, resource, config, said
}

// A first run that failed everywhere and left the process hosted is kept in state, with that fact.
func TestProcessOperation_oneShotFailedEverywhere(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t := s.t
		sim, resource, config, said := leftHosted(t, s.by, simulator.Fault{Code: new(simulator.CodeCommandFailed), Message: "boom", StillHosts: true}, nil)
		providertest.Says(t, said.String(), "ERROR", "it could not be unhosted, so the agent may run it again", "`terraform untaint` of this resource makes the next apply ask first, and unhost the process where this run has hosted it.")
		if !resource.Tainted {
			t.Fatalf("it is not tainted; said: %s", said)
		}
		resource.Untaint()
		resource.Applied(config)
		sim.Changed(t, providertest.Operated(0, 1, 2), providertest.Operated(4, 1, 2))
		if process, _ := sim.Process(providertest.Address(2), "web", "nginx"); process.Hosted {
			t.Errorf("it is %+v", process)
		}
	})
}

// A process that a run has left hosted is unhosted by an on_destroy that ends hosting. If nothing will unhost
// it any more, a warning names the hosts.
//
// Promised in cookbook.md: If the host leaves before that, or the resource is destroyed without
// `on_destroy`, a warning names it.
func TestProcessOperation_oneShotGivenUp(t *testing.T) {
	t.Parallel()
	const warning = "the process web:nginx on 0:10.0.0.3, and could not unhost it"
	for name, c := range map[string]struct {
		ends   string // on_destroy
		change map[string]any
		warns  bool
		sent   []string
	}{
		"destroyed":               {warns: true},
		"destroyed-started":       {ends: "start", sent: []string{providertest.Operated(0, 1, 2), providertest.Operated(4, 1, 2)}},
		"destroyed-stopped":       {ends: "stop", sent: []string{providertest.Operated(1, 1, 2), providertest.Operated(4, 2)}},
		"destroyed-and-forgotten": {ends: "stop", sent: []string{providertest.Operated(1, 1, 2), providertest.Operated(4, 2)}},
		"leaves":                  {change: map[string]any{"hosts": providertest.HostsOf(1)}, warns: true},
		"retried":                 {change: map[string]any{"timeouts": map[string]any{"update": "20m"}}, sent: []string{providertest.Operated(4, 2)}},
	} {
		onFaces(t, name, gseFaces, func(s trial) {
			t, more := s.t, make(map[string]any)
			if c.ends != "" {
				more["on_destroy"] = c.ends
			}
			sim, resource, config, _ := leftHosted(t, s.by, simulator.Fault{}, more)
			if strings.HasSuffix(name, "forgotten") { // a start that has worked is over, even if its task is forgotten
				sim.Inject(simulator.Fault{API: "get_proc*result*", Op: new(simulator.OpStart), EnvelopeCode: new(1306403)})
			}
			next := config
			if maps.Copy(config, c.change); c.change == nil {
				next = nil
			}
			_, said := resource.Apply(next)
			if strings.Contains(said.String(), warning) != c.warns || said.Failed() || !c.warns && len(said) > 0 {
				t.Errorf("said: %s", said)
			}
			sim.Changed(t, c.sent...)
			if process, _ := sim.Process(providertest.Address(2), "web", "nginx"); process.Hosted != c.warns {
				t.Errorf("it is %+v", process)
			}
		})
	}
}

// A destroy that has unhosted a process and fails on another host has ended what an earlier run left there.
func TestProcessOperation_oneShotDestroyedInTwoSteps(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t := s.t
		sim, resource, _, _ := leftHosted(t, s.by, simulator.Fault{}, map[string]any{"on_destroy": "stop"})
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStop), Hosts: providertest.AddressList([]int{1}), Code: new(simulator.CodeCommandFailed)})
		if _, said := resource.Apply(nil); !said.Failed() || strings.Contains(said.String(), "Process Left Hosted") {
			t.Errorf("said: %s", said)
		}
		if process, _ := sim.Process(providertest.Address(2), "web", "nginx"); process.Hosted {
			t.Fatalf("it is %+v", process)
		}
		sim.Repair()
		resource.Destroyed()
	})
}

// A one-shot process that a destroy has run is not run again by the next destroy if only unhosting it failed.
func TestProcessOperation_oneShotRunByDestroy(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simulator.Fault{
		"refused":    {HTTPStatus: http.StatusForbidden, Body: `{"code":1640301,"message":"no"}`},
		"no-gateway": {HTTPStatus: http.StatusNotFound},
		"failed":     {Code: new(simulator.CodeCommandFailed)},
		"away":       {Code: new(117)},
	} {
		fault.API, fault.Op = "operate_*", new(simulator.OpUnhost)
		onFaces(t, name, gseFaces, func(s trial) {
			t := s.t
			sim := providertest.NewSim(t)
			sim.Registered(t, 2)
			config := oneShot(s.by, "start", 2)
			config["run_on_create"], config["on_destroy"] = false, "start"
			resource := operationOf(t, sim, s.by)
			resource.Applied(config)
			sim.Inject(fault)
			if _, said := resource.Apply(nil); !said.Failed() || !strings.Contains(said.String(), "it was run, and is hosted now, so the agent may run it again") {
				t.Errorf("said: %s", said)
			}
			sim.Repair()
			sim.ResetCalls()
			resource.Destroyed()
			sim.Changed(t, providertest.Operated(4, 1, 2))
		})
	}
}

// A stop that fails leaves a process hosted that an earlier run left hosted. State keeps that until it is unhosted.
func TestProcessOperation_oneShotNotStoppedEither(t *testing.T) {
	t.Parallel()
	onFaces(t, "", gseFaces, func(s trial) {
		t := s.t
		sim, resource, config, _ := leftHosted(t, s.by, simulator.Fault{}, nil)
		sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpStop), Code: new(simulator.CodeCommandFailed)})
		config["operation"] = "stop"
		if _, said := resource.Apply(config); !said.Failed() {
			t.Fatalf("said: %s", said)
		}
		sim.Repair()
		sim.ResetCalls()
		config["operation"] = "start"
		resource.Applied(config)
		sim.Changed(t, providertest.Operated(0, 1, 2), providertest.Operated(4, 1, 2))
	})
}
