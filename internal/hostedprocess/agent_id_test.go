package hostedprocess_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// agents are the agent ids of machines 1 and 2 in tests about names.
var agents = map[string]string{"web-1": "0200000007525400f355781710390005465c", "web-2": "0200000007525400f355781710390005465d"}

// newNames is a world through the gateway in which machines 1 and 2 have agent ids too.
func newNames(t *testing.T, entryPerName bool) *world {
	t.Helper()
	w := newWorld(t, gateway)
	w.sim.EntryPerName = entryPerName
	for n := 1; n <= 2; n++ {
		w.sim.AddAgent(agents[providertest.HostKey(n)], providertest.Address(n))
	}
	return w
}

// Over the gateway a fleet may name hosts by agent id and by address. One request
// never mixes the two, because the platform would ignore the addresses.
func TestGateway_agentIDs(t *testing.T) {
	t.Parallel()
	first, second := agents["web-1"], agents["web-2"]
	w := newWorld(t, gateway)
	w.sim.TenantID, w.settings["tenant_id"], w.settings["endpoint"] = "acme", "acme", w.sim.URL+"/api/bk-gse/prod"
	w.sim.AdmitAgents = true
	config := w.declares(0, attribute("hosts", map[string]string{"a": first, "b": second, "c": "0:10.0.0.2"}))
	w.play(w.object(),
		step{name: "created", config: config, kind: providertest.PlanCreate, calls: []string{"update_proc_info " + first + " " + second, "update_proc_info 0:10.0.0.2"}},
		step{
			name: "one is unregistered", config: config, calls: []string{"update_proc_info " + second},
			befalls: func(w *world) {
				if err := w.sim.Unregister(second, "web", "nginx"); err != nil {
					t.Fatal(err)
				}
			},
		},
	)
	status, said := w.open().ReadData("bk_process_status", map[string]any{"meta": config["meta"], "hosts": config["hosts"], "spec": config["spec"]})
	if len(said) > 0 || status["stopped_count"] != 3 {
		t.Errorf("status is %v; said: %s", status, said)
	}
}

// A machine that is called otherwise is the same machine: nothing is stopped, started,
// restarted or unhosted for good. One under both of its names is refused before anything
// is called.
func TestOwnership_renamed(t *testing.T) {
	t.Parallel()
	for name, perName := range map[string]bool{"one-entry": false, "entry-per-name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newNames(t, perName)
			declared := func(hosts map[string]string) map[string]any {
				return w.declares(0, map[string]any{"ensure": "running", "on_destroy": "stop", "hosts": hosts})
			}
			twice := step{name: "one machine twice", config: declared(map[string]string{"web-1": providertest.Address(1), "twin": agents["web-1"]}), says: "name each machine once", fails: true, hosts: map[string]string{}}
			resource := w.object()
			created := twice
			created.kind = providertest.PlanCreate
			w.play(resource, created, step{name: "by address", config: declared(addresses(1, 2)), kind: providertest.PlanCreate, anyCalls: true})
			before := pids(w.sim, 2)
			for _, hosts := range []map[string]string{{"web-1": agents["web-1"], "web-2": providertest.Address(2)}, agents, addresses(1, 2)} {
				w.play(resource, step{name: "named otherwise", config: declared(hosts), anyCalls: true})
				for _, m := range w.sim.Machines() {
					for _, p := range m.Processes {
						if !p.Hosted || !p.Running {
							t.Errorf("it is %+v", p)
						}
					}
				}
			}
			twice.hosts = addresses(1, 2) // web-2 leaves in it, and is not stopped
			w.play(resource, twice)
			if after := pids(w.sim, 2); !slices.Equal(before, after) {
				t.Errorf("processes %v became %v", before, after)
			}
		})
	}
}

// A machine that another configuration has registered since by its agent id goes on running
// what that one declares, although the platform keeps an entry for its address as well.
func TestOwnership_theOtherName(t *testing.T) {
	t.Parallel()
	w := newNames(t, true)
	more := map[string]any{"ensure": "running", "on_destroy": "kill", "adopt_existing": true}
	second := w.declares(0, more, attribute("hosts", map[string]string{"a": agents["web-1"]}))
	first, other := w.object(), w.object()
	first.Applied(w.declares(1, more))
	other.Applied(second)
	before := pids(w.sim, 1)
	w.play(first, step{name: "destroyed", says: "registered by another resource since, as " + agents["web-1"]})
	if after, p := pids(w.sim, 1), w.sim.Machine(agents["web-1"]).Process("web", "nginx"); !slices.Equal(before, after) || !p.Hosted {
		t.Errorf("processes %v became %v; it is %+v", before, after, p)
	}
	w.play(other, step{name: "the other", config: second, kind: providertest.PlanNothing})
}

// A host on which a start is under way is not renamed.
func TestHostedProcess_startUnderWayRenamed(t *testing.T) {
	t.Parallel()
	w := newNames(t, false)
	var polls atomic.Int64
	cut := w.sim.CutAt(func(call simulator.Call) bool {
		return call.API == w.by.ResultAPI() && call.Op == simulator.OpStart && polls.Add(1)%5 == 0
	})
	running := attribute("ensure", "running")
	resource := w.object()
	resource.Applied(w.declares(1))
	w.onOp(simulator.OpStart, simulator.Fault{Takes: time.Hour})
	cut.Apply(resource, w.declares(1, running))
	w.sim.ResetCalls()
	resource.Protocol = w.open()
	_, said := resource.Apply(w.declares(0, running, attribute("hosts", map[string]string{"web-1": agents["web-1"]})))
	if changes := w.sim.Changes(); len(changes) > 0 || !said.Failed() || !strings.Contains(said.String(), "Hosts Cannot Be Renamed Now") {
		t.Errorf("changed %v; said: %s", changes, said)
	}
}

// Where the names of hosts cannot be asked, nothing is done to hosts that are named in both
// ways: two of them may be one machine.
func TestHostedProcess_namesUnread(t *testing.T) {
	t.Parallel()
	const agent, by = "0200000007525400f355781710390005465c", providertest.FaceGateway
	mixed := fleetOf(by, 2, map[string]any{"hosts": map[string]string{"web-1": providertest.Address(1), "web-2": agent}})
	for name, before := range map[string]map[string]any{"create": nil, "update": fleetOf(by, 1, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSim(t)
			sim.AddAgent(agent, providertest.Address(2))
			resource := hostedBy(t, sim, by)
			if before != nil {
				resource.Applied(before)
			}
			sim.ResetCalls()
			resource.Between = func() { sim.Inject(simulator.Fault{API: "get_proc_status_v2", HTTPStatus: 403}) }
			_, said := resource.Apply(mixed)
			if !said.Failed() || !strings.Contains(said.String(), "Unable to Tell Hosts Apart") || !strings.Contains(said.String(), "whether two of them are one machine could not be asked") {
				t.Errorf("said: %s", said)
			}
			if calls := sim.Changes(); len(calls) > 0 || resource.State.IsNull() != (before == nil) {
				t.Errorf("called %v; state is %s", calls, resource.State)
			}
			sim.Repair()
			resource.Between = nil
			resource.Tainted = false
			resource.Applied(mixed)
		})
	}
}
