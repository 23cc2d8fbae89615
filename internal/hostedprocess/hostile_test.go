package hostedprocess_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// hostile is a platform that does all that it can to have a host lost, and a process on one
// host there.
type hostile struct {
	*testing.T
	sim      *providertest.Sim
	by       providertest.Face
	settings map[string]any
}

// onHostile plays a test on the ESB and on the API gateway.
func onHostile(t *testing.T, play func(hostile)) {
	t.Helper()
	for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			play(newHostile(t, by))
		})
	}
}

func newHostile(t *testing.T, by providertest.Face) hostile {
	t.Helper()
	sim := providertest.NewSim(t)
	return hostile{t, sim, by, sim.SettingsFor(by)}
}

// object is a resource object in a configuration of its own.
func (h hostile) object() *providertest.Core {
	return providertest.ConfiguredWith(h.T, h.settings).CoreOf(providertest.HostedType, &providertest.Kept{})
}

// config declares the process on the host. more replaces what it says.
func (h hostile) config(start, ensure, onDestroy string, more ...map[string]any) map[string]any {
	config := h.by.Reference(start, 1)
	config["ensure"], config["on_destroy"], config["adopt_existing"] = ensure, onDestroy, true
	for _, replaced := range more {
		maps.Copy(config, replaced)
	}
	return config
}

func (h hostile) process() simulator.Process {
	p, _ := h.sim.Process(providertest.Address(1), "web", "nginx")
	return p
}

// hide has the file show no row any more.
func (h hostile) hide() { h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Missing: -1}) }

// onReregister is a fault of what registers anew.
func (h hostile) onReregister(f simulator.Fault) { h.onEither("update_proc_info", simulator.OpHost, f) }

// onRelease is a fault of what unregisters.
func (h hostile) onRelease(f simulator.Fault) {
	h.onEither("unregister_proc_info", simulator.OpUnhost, f)
}

// onEither is a fault of a call of the ESB, and of the operation that does it at the gateway.
func (h hostile) onEither(api string, op int, f simulator.Fault) {
	f.API = api
	h.sim.Inject(f)
	f.API, f.Op = "operate_proc_multi", &op
	h.sim.Inject(f)
}

// colleague has another team register, host and start the process, which no object did.
func (h hostile) colleague() {
	h.Helper()
	h.sim.Colleague(h.T, "web", "nginx", map[string]string{"owner": "other-team"}, 1)
	for _, err := range []error{h.sim.Host(providertest.Address(1), "web", "nginx"), h.sim.StartProcess(providertest.Address(1), "web", "nginx")} {
		if err != nil {
			h.Fatal(err)
		}
	}
}

func (h hostile) unregister() {
	h.Helper()
	if err := h.sim.Unregister(providertest.Address(1), "web", "nginx"); err != nil {
		h.Fatal(err)
	}
}

// keeps fails the test where a destroy forgets what is there.
func (h hostile) keeps(resource *providertest.Core) {
	h.Helper()
	if _, said := resource.Apply(nil); !said.Failed() && resource.State.IsNull() && (h.process().Registered || h.process().Hosted) {
		h.Errorf("our own registration is forgotten: %+v; said: %s", h.process(), said)
	}
}

// spares fails the test where a destroy stops what runs, or does not end.
func (h hostile) spares(resource *providertest.Core) {
	h.Helper()
	if _, said := resource.Apply(nil); said.Failed() || !h.process().Running {
		h.Errorf("it is %+v; said: %s", h.process(), said)
	}
}

// That another object had registered a host, and this one has since, is not forgotten: what
// the file does not show then is not let go as the other's.
func TestHostedProcess_overtakenNoMore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replaces bool // a start replaces the labels
		ensure   string
		others   string // their start command
		again    func(hostile, *providertest.Core, map[string]any)
		end      func(hostile) // nil where the file shows no row
	}{
		"its-answer-lost": {ensure: "hosted", others: "./other.sh", again: answerLost},
		"its-answer-lost-and-a-console": {ensure: "hosted", others: "./other.sh", again: answerLost, end: func(h hostile) {
			if err := h.sim.Register(providertest.Address(1), "web", "nginx", map[string]string{"by": "console"}, ""); err != nil {
				h.Fatal(err)
			}
		}},
		"started":         {ensure: "hosted", others: "./start.sh", again: raised},
		"started-anew":    {replaces: true, ensure: "hosted", others: "./start.sh", again: raised},
		"frozen":          {ensure: "hosted", others: "./other.sh", again: frozenAndMute},
		"frozen-unhosted": {ensure: "registered", others: "./other.sh", again: frozenAndMute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				h.sim.StartReplaces = c.replaces
				first, second := h.object(), h.object()
				config := h.config("./start.sh", c.ensure, "unregister")
				first.Applied(config)
				second.Applied(h.config(c.others, c.ensure, "unregister"))
				c.again(h, first, config)
				first.Apply(config)
				if owner := h.process().Labels["tf_spec_owner"]; owner != first.Attribute("owner") {
					h.Fatalf("the owner is %v", owner)
				}
				if c.end != nil {
					c.end(h)
				} else {
					h.hide()
				}
				h.keeps(first)
			})
		})
	}
}

// raised wants more than the other object's registration, which it has seen.
func raised(h hostile, first *providertest.Core, _ map[string]any) {
	first.Refresh()
	first.Applied(h.config("./start.sh", "running", "unregister"))
}

// answerLost registers anew, and loses the answer.
func answerLost(h hostile, first *providertest.Core, config map[string]any) {
	h.onReregister(simulator.Fault{Drop: "after"})
	first.Apply(config)
	h.sim.Mend()
	first.Apply(config)
}

// frozenAndMute registers anew while the file shows the other's registration, which a
// refresh then takes for the latest, as the agent says nothing.
func frozenAndMute(h hostile, first *providertest.Core, config map[string]any) {
	h.sim.FreezeStatus()
	first.Apply(config)
	h.sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(simulator.CodeAgentAbnormal)})
	first.Refresh()
	h.sim.Mend()
	h.sim.ThawStatus()
	first.Apply(config)
}

// What another object had, and has let go of, is not killed: not where registering anew came
// to no end, not by a destroy after one that failed, and not when the object is tainted.
//
// Promised in partial-failure.md: what is not on file any more is left running, with the warning *Processes Not Stopped*.
func TestHostedProcess_overtakenStill(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(hostile, *providertest.Core, map[string]any){
		"registering-anew-in-progress": func(h hostile, first *providertest.Core, config map[string]any) {
			config["timeouts"] = map[string]any{"update": "2s"}
			first.Refresh()
			h.onReregister(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
			first.Apply(config)
		},
		"a-destroy-that-failed": func(h hostile, first *providertest.Core, _ map[string]any) {
			first.Refresh()
			h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403})
			first.DestroyUnrefreshed()
		},
		"tainted": func(_ hostile, first *providertest.Core, _ map[string]any) {
			first.Refresh()
			first.Tainted = true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				first, second := h.object(), h.object()
				config := h.config("./start.sh", "hosted", "kill")
				first.Applied(config)
				second.Applied(h.config("./other.sh", "running", "unregister"))
				meanwhile(h, first, config)
				h.sim.Mend()
				second.Applied(nil)
				pid := h.process().PID
				if !first.Tainted {
					h.spares(first)
				} else if _, said := first.Apply(config); said.Failed() || !h.process().Running || h.process().PID != pid || !strings.Contains(said.String(), "Processes Not Stopped") {
					h.Errorf("it is %+v; said: %s", h.process(), said)
				}
			})
		})
	}
}

// What another team had registered before, so that this object never did, is not killed when
// that team has unregistered it; nor when this object's update was rolled back on meeting it.
func TestHostedProcess_neverItsOwn(t *testing.T) {
	t.Parallel()
	t.Run("unregistered", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			h.colleague()
			resource := h.object()
			resource.Apply(h.config("./start.sh", "hosted", "kill", map[string]any{"adopt_existing": false, "hosts": providertest.HostsOf(2)}))
			h.unregister()
			h.spares(resource)
		})
	})
	t.Run("rolled-back", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			resource, more := h.object(), map[string]any{"adopt_existing": false, "rollout": map[string]any{"on_failure": "rollback", "waves": []any{"1"}}}
			resource.Applied(h.config("./start.sh", "hosted", "kill", more))
			h.unregister()
			resource.Between = h.colleague
			resource.Apply(h.config("./new.sh", "hosted", "kill", more))
			resource.Between = nil
			if h.spares(resource); !h.process().Registered {
				h.Error("the other team's process was unregistered")
			}
		})
	})
}

// A request that was sent twice, and refused the second time, may never have arrived: what is
// there is not what it wanted.
func TestHostedProcess_resentInVain(t *testing.T) {
	t.Parallel()
	t.Run("hosting", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t, providertest.FaceGateway)
		h.sim.HostingOnce = true
		resource := h.object()
		resource.Applied(h.config("./old.sh", "hosted", "unregister"))
		h.onReregister(simulator.Fault{Drop: "before", Times: 1})
		_, said := resource.Apply(h.config("./new.sh", "hosted", "unregister"))
		if !said.Failed() && len(resource.Reasons("out_of_sync")) == 0 && !providertest.StartsWith(h.process(), "./new.sh") {
			t.Errorf("it is %+v; said: %s", h.process(), said)
		}
	})
	t.Run("registering-without-labels", func(t *testing.T) {
		t.Parallel()
		h := newHostile(t, providertest.FaceESB)
		h.settings["spec_fingerprint_label"] = ""
		h.sim.Colleague(t, "web", "nginx", map[string]string{"owner": "other-team"}, 1)
		h.sim.Inject(simulator.Fault{API: "register_proc_info", Drop: "before", Times: 1})
		resource := h.object()
		_, said := resource.Apply(h.config("./start.sh", "registered", "unregister", map[string]any{"adopt_existing": false}))
		if resource.Apply(nil); !said.Failed() || !h.process().Registered {
			t.Errorf("it is %+v; said: %s", h.process(), said)
		}
	})
}

// No host is let go because a call says that nothing is there, because the time is up, or
// because the file shows no row: its agent answers, and tells.
func TestHostedProcess_goneBySayingSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more map[string]any
		turn func(hostile)
	}{
		"not-running": {nil, func(h hostile) {
			if h.by == providertest.FaceGateway { // agents know nothing of what the ESB unregisters
				h.onRelease(simulator.Fault{Code: new(simulator.CodeNotRunning)})
			}
		}},
		"forget-unreachable": {map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "2s"}}, func(h hostile) {
			h.onRelease(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
		}},
		"forget-unreachable-and-nobody-to-ask": {map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "2s"}}, func(h hostile) {
			h.onRelease(simulator.Fault{Pending: -1, Code: new(simulator.CodeFailed)})
			// The agents are asked before hosts are let go, and once the time is up.
			h.sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), HTTPStatus: 403, Skip: 1})
		}},
		"registered-alone": {map[string]any{"ensure": "registered"}, func(h hostile) {
			h.hide()
			untimed := map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
			if h.by == providertest.FaceESB {
				h.sim.Inject(simulator.Fault{API: "operate_proc_v2", Op: new(simulator.OpQuery), Code: new(0), Content: untimed})
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHostile(t, func(h hostile) {
				resource := h.object()
				resource.Applied(h.config("./start.sh", "hosted", "unregister", c.more))
				c.turn(h)
				h.keeps(resource)
			})
		})
	}
	t.Run("imported", func(t *testing.T) {
		t.Parallel()
		onHostile(t, func(h hostile) {
			h.object().Applied(h.config("./start.sh", "hosted", "unregister"))
			resource := h.object()
			resource.Imports("web:nginx")
			h.hide()
			if resource.Refresh(); resource.State.IsNull() {
				h.Error("it is gone from state by a file without a row")
			}
		})
	})
}
