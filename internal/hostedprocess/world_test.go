package hostedprocess_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const (
	esb     = providertest.FaceESB
	gateway = providertest.FaceGateway
	job     = providertest.FaceJOB
)

// world is a platform and the settings with which the provider reaches it.
type world struct {
	*testing.T
	sim      *providertest.Sim
	by       providertest.Face
	settings map[string]any
}

func newWorld(t *testing.T, by providertest.Face) *world {
	t.Helper()
	sim := providertest.NewSim(t)
	return &world{t, sim, by, sim.SettingsFor(by)}
}

// through runs a test in a new world for each face, or with -short for one of them.
func through(t *testing.T, faces []providertest.Face, play func(*world)) {
	t.Helper()
	for _, by := range providertest.Through(t, "", faces) {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			play(newWorld(t, by))
		})
	}
}

var (
	gse  = []providertest.Face{esb, gateway}
	each = []providertest.Face{esb, gateway, job}
)

func (w *world) open() *providertest.Protocol {
	w.Helper()
	return providertest.ConfiguredWith(w.T, w.settings)
}

// object returns a resource object in its own configuration. Each step that is played has its own run of the provider.
func (w *world) object() *providertest.Core {
	w.Helper()
	return w.open().CoreOf(w.by.TypeName(providertest.OnCreate), &providertest.Kept{})
}

// objectOfCLI returns an object whose applies have another run of the provider than their plans.
func (w *world) objectOfCLI() *providertest.Core {
	w.Helper()
	object := w.object()
	object.Fresh = w.open
	return object
}

func (w *world) at(n int) simulator.Process {
	namespace, name := w.by.Process()
	p, _ := w.sim.Process(providertest.Address(n), namespace, name)
	return p
}

// do acts on the process on hosts by number, as from a console.
func (w *world) do(act func(host, namespace, name string) error, hosts ...int) {
	w.Helper()
	namespace, name := w.by.Process()
	for _, n := range hosts {
		providertest.NoError(w, act(providertest.Address(n), namespace, name))
	}
}

// colleague registers, hosts and starts the process for another team.
func (w *world) colleague(hosts ...int) {
	w.Helper()
	namespace, name := w.by.Process()
	w.sim.Colleague(w.T, namespace, name, map[string]string{"owner": "other-team"}, hosts...)
	w.do(w.sim.Host, hosts...)
	w.do(w.sim.StartProcess, hosts...)
}

// on injects a fault of an API, given by its ESB name, on hosts by number, or on all if there are none.
func (w *world) on(api string, f simulator.Fault, hosts ...int) {
	f.API, f.Op = w.by.FaultOn(api)
	f.Hosts = providertest.AddressList(hosts)
	w.sim.Inject(f)
}

// onOp injects a fault of an operation, which may be the query that asks agents.
func (w *world) onOp(op int, f simulator.Fault, hosts ...int) {
	f.API, f.Op, f.Hosts = "operate_*", &op, providertest.AddressList(hosts)
	w.sim.Inject(f)
}

func (w *world) repair() { w.sim.Repair() }

// away is the fault of an agent that does not answer.
var away = simulator.Fault{Code: new(simulator.CodeAgentAbnormal), Message: "agent is away"}

// step is one apply and its expected results.
type step struct {
	name     string
	settings map[string]any        // of the provider, from now on
	befalls  func(*world)          // before it
	config   map[string]any        // nil destroys
	kind     providertest.PlanKind // by default PlanUpdate or PlanDestroy
	calls    []string              // that change something, by their ESB names
	left     map[string]string     // codes of out_of_sync
	away     map[string]string     // codes of unreachable, of which each plan warns
	hosts    map[string]string     // in state; by default those of the configuration
	says     string                // parts of the diagnostics, as for tells; by default there are none
	fails    bool
	takes    string // part of the warning about hosts taken over
	anyCalls bool
}

// play applies the steps to an object in order. After a step that succeeds, a plan must be empty.
func (w *world) play(object *providertest.Core, steps ...step) {
	w.Helper()
	for _, s := range steps {
		maps.Copy(w.settings, s.settings)
		if s.befalls != nil {
			s.befalls(w)
		}
		w.sim.ResetCalls()
		object.Protocol = w.open()
		kind, said := object.Apply(s.config)
		w.expect(object, s, kind, said)
		if s.config == nil || s.fails || len(s.left) > 0 || kind == providertest.PlanNothing {
			continue
		}
		w.sim.ResetCalls()
		before := object.State
		if plan, said := object.Plan(s.config); !object.State.Equal(before) || plan.Action != providertest.PlanNothing || len(said) != min(len(s.away), 1) || said.Failed() || len(w.sim.Changes()) > 0 {
			w.Errorf("%s: something is left to do: %s %v\n%s", s.name, plan.Action, w.sim.Changes(), said)
		}
	}
}

func (w *world) expect(object *providertest.Core, s step, kind providertest.PlanKind, said providertest.Diagnostics) {
	w.Helper()
	want := s.kind
	switch {
	case want != "":
	case s.config == nil:
		want = providertest.PlanDestroy
	default:
		want = providertest.PlanUpdate
	}
	providertest.Check(w, kind == want && said.Failed() == s.fails && (len(said) == 0) == (s.says == "") && tells(said, s.says),
		"%s: %s, want %s; failed: %t; said: %s", s.name, kind, want, said.Failed(), said)
	if notices := words(object.Notices.String()); strings.Contains(notices, "Hosts Taken Over") != (s.takes != "") || !strings.Contains(notices, s.takes) {
		w.Errorf("%s: taken over: %q; said: %s", s.name, s.takes, notices)
	}
	if diff := cmp.Diff(w.by.Changes(s.calls...), w.sim.Changes(), cmpopts.EquateEmpty()); diff != "" && !s.anyCalls {
		w.Errorf("%s: calls that change something (-want +got):\n%s", s.name, diff)
	}
	providertest.Same(w, s.name+": out_of_sync", s.left, codes(object))
	away := make(map[string]string)
	for key, reason := range object.Reasons("unreachable") {
		away[key], _, _ = strings.Cut(reason, "since ")
		away[key] = strings.TrimSpace(away[key])
	}
	providertest.Same(w, s.name+": unreachable", s.away, away)
	hosts := s.hosts
	if declared, ok := s.config["hosts"].(map[string]string); ok && hosts == nil {
		hosts = declared
	}
	providertest.Same(w, s.name+": hosts in state", hosts, object.Reasons("hosts"))
}

func codes(object *providertest.Core) map[string]string {
	left := make(map[string]string)
	for key, reason := range object.Reasons("out_of_sync") {
		left[key], _, _ = strings.Cut(reason, ":")
	}
	return left
}

// codesOf maps the keys of hosts to the same code.
func codesOf(code string, hosts ...int) map[string]string {
	left := make(map[string]string)
	for _, n := range hosts {
		left[providertest.HostKey(n)] = code
	}
	return left
}

// addresses returns a hosts map of hosts by number.
func addresses(hosts ...int) map[string]string {
	named := make(map[string]string)
	for _, n := range hosts {
		named[providertest.HostKey(n)] = providertest.Address(n)
	}
	return named
}

// on returns a call with its hosts, as Sim.Changes writes it.
func on(api string, hosts ...int) string { return api + " " + providertest.Addresses(hosts...) }

// startedBy returns a configuration with a start command on hosts web-1 to web-n, and with more attributes.
func startedBy(by providertest.Face, start string, n int, more ...map[string]any) map[string]any {
	config := by.Reference(start, n)
	for _, m := range more {
		maps.Copy(config, m)
	}
	return config
}

func fleetOf(by providertest.Face, n int, more ...map[string]any) map[string]any {
	return startedBy(by, "./start.sh", n, more...)
}

// restartedBy is fleetOf with another start command, so that each host is registered again.
func restartedBy(by providertest.Face, n int, more ...map[string]any) map[string]any {
	return startedBy(by, "./start.sh -v", n, more...)
}

// declares is fleetOf with the world's face.
func (w *world) declares(n int, more ...map[string]any) map[string]any {
	return fleetOf(w.by, n, more...)
}

// changed is restartedBy with the world's face.
func (w *world) changed(n int, more ...map[string]any) map[string]any {
	return restartedBy(w.by, n, more...)
}

func attribute(name string, value any) map[string]any { return map[string]any{name: value} }

func labelled(labels map[string]any) map[string]any {
	return attribute("meta", map[string]any{"namespace": "web", "name": "nginx", "labels": labels})
}

// undoneOn returns the hosts that were unregistered, unhosted, stopped or killed, sorted.
func undoneOn(sim *providertest.Sim) []string {
	hosts := []string{}
	for _, call := range sim.Calls() {
		undoes := call.API == "unregister_proc_info" || call.Op == 1 || call.Op == 4 || call.Op == 9
		if undoes && call.API != "register_proc_info" && call.API != "update_proc_info" {
			hosts = append(hosts, call.Hosts...)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func pids(sim *providertest.Sim, n int) []int {
	var found []int
	for _, host := range providertest.HostNumbers(n) {
		found = append(found, sim.Machine(providertest.Address(host)).Process("web", "nginx").PID)
	}
	return found
}

// expectHosted fails the test if any of hosts 1 to n is not hosted.
func expectHosted(t *testing.T, sim *providertest.Sim, n int) {
	t.Helper()
	for _, host := range providertest.HostNumbers(n) {
		p, _ := sim.Process(providertest.Address(host), "web", "nginx")
		providertest.Check(t, p.Hosted, "web-%d is not hosted: %+v", host, p)
	}
}

func (w *world) expectNothing() {
	w.Helper()
	for _, p := range w.sim.Processes() {
		providertest.Check(w, !p.Registered && !p.Hosted, "left behind: %+v", p)
	}
}

// words returns the text without line breaks and a CLI's frame.
func words(out string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(out)), " ")
}

// tells reports whether the diagnostics contain the parts, separated by " … ", in that order.
func tells(said providertest.Diagnostics, parts string) bool {
	text, found := words(said.String()), true
	for part := range strings.SplitSeq(parts, " … ") {
		_, after, is := strings.Cut(text, part)
		text, found = after, found && is
	}
	return found
}

func TestMain(m *testing.M) { providertest.Main(m) }
