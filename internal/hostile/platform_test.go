// Package hostile tests the provider on a hostile platform. Each test is a case in which the provider
// once lost a host or stopped another owner's process. Or it reported something that it had not done.
package hostile_test

import (
	"errors"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) { providertest.Main(m) }

// hostile is a platform that does all that it can to have a host lost, and a process on one host there.
type hostile struct {
	*testing.T
	sim      *providertest.Sim
	by       providertest.Face
	settings map[string]any
	passed   *atomic.Int64 // hours, by the platform's clock
}

func (h hostile) clock() time.Time { return time.Now().Add(time.Duration(h.passed.Load()) * time.Hour) }

// labelled are the faces whose registrations carry labels.
var labelled = []providertest.Face{providertest.FaceESB, providertest.FaceGateway}

// plays plays cases, each on a platform of its own at each of some faces.
func plays(t *testing.T, at []providertest.Face, cases map[string]func(hostile)) {
	t.Helper()
	for name, play := range cases {
		for _, by := range at {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				play(newHostile(t, by))
			})
		}
	}
}

func newHostile(t *testing.T, by providertest.Face) hostile {
	t.Helper()
	sim := providertest.NewSim(t)
	return hostile{t, sim, by, sim.SettingsFor(by), new(atomic.Int64)}
}

// object is a resource object in a configuration of its own.
func (h hostile) object() *providertest.Core {
	return h.objectIn(&providertest.Kept{}, nil)
}

// applied is an object that is applied, and says nothing.
func (h hostile) applied(config map[string]any) *providertest.Core {
	h.Helper()
	resource := h.object()
	resource.Applied(config)
	return resource
}

// objectIn is the object in a run with other settings of the provider.
func (h hostile) objectIn(kept *providertest.Kept, settings map[string]any) *providertest.Core {
	all := maps.Clone(h.settings)
	maps.Copy(all, settings)
	return providertest.ConfiguredWith(h.T, all).CoreOf(h.by.TypeName(providertest.OnCreate), kept)
}

// fresh is an object of which each run has a provider of its own.
func (h hostile) fresh() *providertest.Core {
	resource := h.object()
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

func (h hostile) at(n int) simulator.Process {
	namespace, name := h.by.Process()
	p, _ := h.sim.Process(providertest.Address(n), namespace, name)
	return p
}

func (h hostile) process() simulator.Process { return h.at(1) }

func (h hostile) hide() { h.sim.Inject(simulator.Fault{API: "get_proc_status_v2", Missing: -1}) }

func (h hostile) onReregister(f simulator.Fault) { h.onEither("update_proc_info", simulator.OpHost, f) }

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

func (h hostile) onQuery(f simulator.Fault) {
	f.API, f.Op = "operate_proc_v2", new(simulator.OpQuery)
	h.sim.Inject(f)
}

func told(pid int, registered int64) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid, "isAuto": true, "register_time": registered}}}}}
}

// mum is an agent that answers and does not say whether it hosts the process.
func mum(pid int) any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": pid}}}}}
}

// untimed is an agent that hosts nothing, and reports no time.
func untimed() any {
	return map[string]any{"process": []any{map[string]any{"procname": "nginx", "instance": []any{map[string]any{"pid": -1, "isAuto": false}}}}}
}

func (h hostile) must(errs ...error) {
	h.Helper()
	if err := errors.Join(errs...); err != nil {
		h.Error(err) // not Fatal: the platform may be calling
	}
}

func (h hostile) started(name string) {
	h.Helper()
	h.must(h.sim.Host(name, "web", "nginx"), h.sim.StartProcess(name, "web", "nginx"))
}

// colleague has another team register, host and start the process, which no object did.
func (h hostile) colleague() {
	h.Helper()
	h.sim.Colleague(h.T, "web", "nginx", map[string]string{"owner": "other-team"}, 1)
	h.started(providertest.Address(1))
}

// another has another object register, host and start the process by a name of a machine.
func (h hostile) another(name string) {
	h.Helper()
	h.must(h.sim.Register(name, "web", "nginx", map[string]string{"tf_spec": "v1-0000000000000000", "tf_spec_owner": "ANOTHER"}, ""))
	h.started(name)
}

func (h hostile) unregister() {
	h.Helper()
	h.must(h.sim.Unregister(providertest.Address(1), "web", "nginx"))
}

// keeps fails the test where a destroy forgets what is there, and where what it kept cannot be
// unregistered once the platform is well again.
func (h hostile) keeps(resource *providertest.Core) {
	h.Helper()
	if _, said := resource.Apply(nil); resource.State.IsNull() && (h.process().Registered || h.process().Hosted) {
		h.Errorf("our own registration is forgotten: %+v; said: %s", h.process(), said)
	}
	h.sim.Repair()
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

// leaves fails the test where a destroy touches what another object has.
func (h hostile) leaves(resource *providertest.Core) {
	h.Helper()
	if _, said := resource.Apply(nil); !h.process().Running || !h.process().Hosted {
		h.Errorf("it is %+v; said: %s", h.process(), said)
	}
}

// remembers fails the test where a destroy that says that all is well forgets a host that is
// still hosted or registered.
func (h hostile) remembers(resource *providertest.Core, before ...any) {
	h.Helper()
	if _, said := resource.Apply(nil); !said.Failed() && resource.State.IsNull() && (h.process().Hosted || h.process().Registered || h.at(2).Hosted || h.at(2).Registered) {
		h.Errorf("they are %+v and %+v; before: %v; said: %s", h.process(), h.at(2), before, said)
	}
}
