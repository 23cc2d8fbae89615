package rollouts

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // plans are short-lived
	providertest.Main(m)
}

type rollout struct {
	t        *testing.T
	sim      *providertest.Sim
	by       providertest.Face
	hosts    int
	kept     *providertest.Kept
	resource *providertest.Core
	config   map[string]any
	typ      string
	// by which the platform knows the process
	namespace, name string
	clock           *providertest.Clock // of gates and pauses, nil for the real one
}

var faces = []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB}

// begun applies ./v1.sh to hosts where it is started, one host in each wave, and forgets the calls.
func begun(t *testing.T, by providertest.Face, hosts int, more map[string]any) *rollout {
	t.Helper()
	return begunAt(t, providertest.NewSim(t), by, hosts, more)
}

func begunAt(t *testing.T, sim *providertest.Sim, by providertest.Face, hosts int, more map[string]any) *rollout {
	t.Helper()
	r := newRollout(t, sim, by, providertest.OnCreate, hosts, map[string]any{"rollout": map[string]any{"batch_size": 1}, "on_update": "restart"})
	r.set(more)
	r.runs()
	return r
}

func newRollout(t *testing.T, sim *providertest.Sim, by providertest.Face, on providertest.Operation, hosts int, more map[string]any) *rollout {
	t.Helper()
	r := &rollout{t: t, sim: sim, by: by, hosts: hosts, kept: &providertest.Kept{}, config: by.Reference("./v1.sh", hosts), typ: by.TypeName(on)}
	r.namespace, r.name = by.Process()
	r.set(more)
	r.anew()
	return r
}

// runs creates the object, starts its process on each host, and forgets the calls.
func (r *rollout) runs() {
	r.t.Helper()
	r.resource.Applied(r.config)
	for n := 1; n <= r.hosts; n++ {
		providertest.NoError(r.t, r.sim.StartProcess(providertest.Address(n), r.namespace, r.name))
	}
	r.sim.ResetCalls()
}

type scenario struct {
	at    []providertest.Face
	hosts int
	more  map[string]any // of the configuration
	play  func(*rollout)
}

func plays(t *testing.T, scenarios map[string]scenario) {
	t.Helper()
	for name, s := range scenarios {
		for _, by := range providertest.Through(t, name, s.at) {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				s.play(begun(t, by, s.hosts, s.more))
			})
		}
	}
}

// The faces whose registrations carry labels, and two that have nothing in common: what does not depend on the face is played on these.
var (
	withLabels = []providertest.Face{providertest.FaceESB, providertest.FaceGateway}
	twoFaces   = []providertest.Face{providertest.FaceESB, providertest.FaceJOB}
)

// anew goes on with a provider that has learnt nothing.
func (r *rollout) anew() {
	r.t.Helper()
	if settings := r.sim.SettingsFor(r.by); r.clock == nil {
		r.resource = providertest.ConfiguredWith(r.t, settings).CoreOf(r.typ, r.kept)
	} else {
		r.resource = providertest.ConfiguredBy(r.t, r.clock, settings).CoreOf(r.typ, r.kept)
	}
}

func (r *rollout) declare(start string) {
	maps.Copy(r.config, r.by.Reference(start, r.hosts))
}

// apply applies the configuration. The error says said, "" for none. want is what is seen of each host then, if it is given.
func (r *rollout) apply(said string, want ...string) string {
	r.t.Helper()
	r.sim.ResetCalls()
	r.anew()
	_, diags := r.resource.Apply(r.config)
	providertest.Check(r.t, diags.Failed() == (said != "") && strings.Contains(diags.String(), said), "want %q, said: %s", said, diags)
	if len(want) > 0 {
		r.want(want...)
	}
	return diags.String()
}

func (r *rollout) update(start, said string, want ...string) string {
	r.t.Helper()
	r.declare(start)
	return r.apply(said, want...)
}

func (r *rollout) set(attributes map[string]any) { maps.Copy(r.config, attributes) }

func (r *rollout) label(team string) {
	r.set(map[string]any{"meta": map[string]any{"namespace": "web", "name": "nginx", "labels": map[string]any{"team": team}}})
}

func (r *rollout) fail(hosts ...int) { r.sim.Inject(failing(simulator.OpRestart, hosts...)) }

func (r *rollout) failOnce(host int) {
	fault := failing(simulator.OpRestart, host)
	fault.Times = 1
	r.sim.Inject(fault)
}

func failing(op int, hosts ...int) simulator.Fault {
	return simulator.Fault{API: "operate_*", Op: &op, Hosts: providertest.AddressList(hosts), Code: new(simulator.CodeCommandFailed), Message: "no such file"}
}

// rest stops the process on a host, where it stays hosted.
func (r *rollout) rest(host int) {
	r.t.Helper()
	providertest.NoError(r.t, r.sim.StopProcess(providertest.Address(host), r.namespace, r.name))
	providertest.NoError(r.t, r.sim.Host(providertest.Address(host), r.namespace, r.name))
}

// seen is what each host is registered with, and what reached its agent in the last apply, such as "v2 restart".
func (r *rollout) seen() []string {
	seen := make([]string, r.hosts)
	for n := 1; n <= r.hosts; n++ {
		process := r.sim.Machine(providertest.Address(n)).Process(r.namespace, r.name)
		text := ""
		for _, entry := range process.Entries {
			for _, version := range []string{"v1", "v2", "v3"} {
				if strings.Contains(entry.Spec, "./"+version+".sh") {
					text += version
				}
			}
		}
		for _, o := range process.Operations {
			if o.Action == "start" || o.Action == "restart" || o.Action == "reload" {
				text += " " + o.Action
				if o.Times > 1 {
					text += fmt.Sprintf(" %d times", o.Times)
				}
			}
		}
		if !process.Running {
			text += " down"
		}
		seen[n-1] = text
	}
	return seen
}

func (r *rollout) want(want ...string) {
	r.t.Helper()
	providertest.Same(r.t, "what is registered with and reached each host", want, r.seen())
}

func (r *rollout) wantLeft(want map[string]string) {
	r.t.Helper()
	got := make(map[string]string)
	for key, reason := range r.resource.Reasons("out_of_sync") {
		got[key], _, _ = strings.Cut(reason, ":")
	}
	providertest.Same(r.t, "out_of_sync", want, got)
}

func (r *rollout) wantReasons(attribute string, want map[string]string) {
	r.t.Helper()
	providertest.Same(r.t, attribute, want, r.resource.Reasons(attribute))
	providertest.Check(r.t, !r.resource.State.IsNull(), "nothing is in state")
}

func (r *rollout) wantExecuted(action string, want ...int) {
	r.t.Helper()
	var hosts []string
	for _, e := range r.sim.Executions() {
		if e.Action == action {
			hosts = append(hosts, e.Host)
		}
	}
	slices.Sort(hosts)
	providertest.Same(r.t, action+" on hosts", providertest.AddressList(want), hosts)
}

func (r *rollout) wantPlanned(want string) {
	r.t.Helper()
	providertest.Same(r.t, "rollout_plan", any(want), r.resource.Attribute("rollout_plan"))
}

func (r *rollout) wantSettled() {
	r.t.Helper()
	r.anew()
	r.sim.ResetCalls()
	if kind, said := r.resource.Apply(r.config); kind != providertest.PlanNothing || len(said) > 0 || len(r.sim.Changes()) > 0 {
		r.t.Errorf("something was left to do: %s %v\n%s", kind, r.sim.Changes(), said)
	}
	r.wantLeft(map[string]string{})
}
