package hostile_test

import (
	"maps"
	"sync/atomic"
	"testing"
	"time"

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
	passed   *atomic.Int64 // hours, by the platform's clock
}

// clock is the platform's, for tests in which an operation takes an hour.
func (h hostile) clock() time.Time { return time.Now().Add(time.Duration(h.passed.Load()) * time.Hour) }

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
	return hostile{t, sim, by, sim.SettingsFor(by), new(atomic.Int64)}
}

// object is a resource object in a configuration of its own.
func (h hostile) object() *providertest.Core {
	return providertest.ConfiguredWith(h.T, h.settings).CoreOf(providertest.HostedType, &providertest.Kept{})
}

func (h hostile) freshly(resource *providertest.Core) *providertest.Core {
	resource.Fresh = func() *providertest.Protocol { return providertest.ConfiguredWith(h.T, h.settings) }
	return resource
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

// at is the process on a host.
func (h hostile) at(n int) simulator.Process {
	p, _ := h.sim.Process(providertest.Address(n), "web", "nginx")
	return p
}

func (h hostile) process() simulator.Process { return h.at(1) }

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

// onQuery is a fault of the question to the agents.
func (h hostile) onQuery(f simulator.Fault) {
	f.API, f.Op = "operate_proc_v2", new(simulator.OpQuery)
	h.sim.Inject(f)
}

// told is what an agent says of the process that it hosts.
func told(pid int, registered int64) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid, "isAuto": true, "register_time": registered}}}}}
}

// mum is an agent that answers and does not say whether it hosts the process.
func mum(pid int) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid}}}}}
}

// elsewhere is the object in a run with other settings of the provider.
func (h hostile) elsewhere(kept *providertest.Kept, settings map[string]any) *providertest.Core {
	all := maps.Clone(h.settings)
	maps.Copy(all, settings)
	return providertest.ConfiguredWith(h.T, all).CoreOf(providertest.HostedType, kept)
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

// keeps fails the test where a destroy forgets what is there, and where what it kept cannot be
// let go once the platform is well again.
func (h hostile) keeps(resource *providertest.Core) {
	h.Helper()
	if _, said := resource.Apply(nil); resource.State.IsNull() && (h.process().Registered || h.process().Hosted) {
		h.Errorf("our own registration is forgotten: %+v; said: %s", h.process(), said)
	}
	h.sim.Mend()
	h.sim.ThawStatus()
	if _, said := resource.Apply(nil); said.Failed() || !resource.State.IsNull() || h.process().Registered || h.process().Hosted {
		h.Errorf("it is well again, and it is %+v; said: %s", h.process(), said)
	}
}

// spares fails the test where a destroy stops what runs, or does not end.
func (h hostile) spares(resource *providertest.Core) {
	h.Helper()
	if _, said := resource.Apply(nil); said.Failed() || !h.process().Running {
		h.Errorf("it is %+v; said: %s", h.process(), said)
	}
}
