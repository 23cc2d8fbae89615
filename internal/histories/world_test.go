package histories

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

const (
	namespace = "web"
	process   = "nginx"
	bystander = "redis" // a process of other users, which no object declares
)

const (
	actStart      = "start"
	actStop       = "stop"
	actKill       = "kill"
	actRegister   = "register"
	actUnregister = "unregister"
	actHost       = "host"
	actUnhost     = "unhost"
)

// object is one resource object in Terraform: the current one of a configuration, or a deposed one.
type object struct {
	id   string
	kept *providertest.Kept
	last *declaration // the declaration of its last apply
	// onDestroy are the values of on_destroy that state may hold.
	onDestroy []string
	successor *object     // created before this one was destroyed
	supplier  any         // bk_supplier_id of the provider when it was created or imported, nil if that was not set
	suppliers map[int]any // the supplier id of each machine that it has by address
}

func (o *object) exists() bool { return o.kept.State.Type() != nil && !o.kept.State.IsNull() }

type config struct {
	name    string
	want    declaration
	object  *object
	deposed []*object
	objects int
}

func (c *config) objectsLeft() []*object { return append(slices.Clone(c.deposed), c.object) }

func (c *config) newObject() *object {
	c.objects++
	return &object{id: fmt.Sprintf("%s%d", c.name, c.objects), kept: &providertest.Kept{}, suppliers: make(map[int]any)}
}

type world struct {
	*recorder
	history  History
	sim      *providertest.Sim
	scissors scissors
	idle     *providertest.Protocol // only reads state
	settings map[string]any
	labels   map[string]string // default_labels
	configs  map[string]*config
	op       operation
	model    model
	step     int
	faulty   bool
	// unsteady: the file changes from one answer to the next without any event.
	unsteady bool
	// stale: the file may be outdated.
	stale    bool
	upgraded map[int]bool
	breach   *Breach
	meddle   map[Action]func(*world, *object)
}

// play plays a history and returns the first breach. meddle, which may be nil, makes the change that
// a provider with a defect would make, after each run of that action.
func play(h History, meddle map[Action]func(*world, *object)) *Breach {
	ctx, cancel := context.WithCancel(context.Background())
	w := &world{
		recorder: &recorder{ctx: ctx}, history: h, meddle: meddle,
		configs: make(map[string]*config), model: make(model), upgraded: make(map[int]bool),
		settings: map[string]any{"gateway": string(providertest.FaceGateway), "max_concurrent_requests": 1, "max_retries": 1},
	}
	if h.Verify {
		w.settings["verify"], w.settings["hosted_specs"] = "agent", map[string]any{"job_scope": map[string]any{"id": "3"}}
	}
	defer w.close()
	defer cancel()
	w.play()
	if w.breach == nil && len(w.failures) > 0 {
		w.breach = &Breach{Kind: "protocol", Step: w.step, Text: fmt.Sprint(w.failures)}
	}
	return w.breach
}

func (w *world) play() {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(stopped); !is {
				panic(r)
			}
		}
	}()
	w.begin()
	for i, step := range w.history.Steps {
		w.step = i + 1
		w.do(step)
	}
	w.step = len(w.history.Steps) + 1
	w.settle()
}

func (w *world) begin() {
	w.sim = providertest.NewSimBehind(w.recorder, func(sim http.Handler) http.Handler {
		server, _ := sim.(*simulator.Server)
		server.EntryPerName, server.SuppliersApart = w.history.EntryPerName, w.history.SuppliersApart
		keeps := w.history.KeepsTime
		server.ReregisteringKeepsTime, server.StartingKeepsTime, server.HostingKeepsTime = keeps.Reregistering, keeps.Starting, keeps.Hosting
		for _, trait := range switchesOf(&w.history) {
			if *trait.has {
				w.fine(server.With(trait.name))
			}
		}
		return w.scissors.before(sim)
	})
	for machine := 1; machine <= w.history.Machines; machine++ {
		w.sim.AddAgent(agentID(machine), address(machine))
		w.model[machine] = claim{}
	}
	for machine := 1; machine <= w.history.Machines; machine += 2 {
		w.fine(w.sim.Register(address(machine), namespace, bystander, map[string]string{"team": "one"}, `{"identity":{}}`))
		w.fine(w.sim.Host(address(machine), namespace, bystander))
		w.fine(w.sim.StartProcess(address(machine), namespace, bystander))
	}
	for _, name := range []string{A, B} {
		c := &config{name: name, want: newDeclaration()}
		c.object = c.newObject()
		w.configs[name] = c
	}
	w.op = operation{kept: &providertest.Kept{}, ran: make(map[int]string), tried: make(map[int]string), trigger: "one"}
	w.idle = providertest.NewProtocol(w.recorder)
}

func (w *world) fine(err error) {
	providertest.NoError(w, err)
}

func (w *world) provider() *providertest.Protocol {
	settings := maps.Clone(w.settings)
	if len(w.labels) > 0 {
		settings["default_labels"] = w.labels
	}
	return w.sim.Configured(w.recorder, settings)
}

func (w *world) fail(b *Breach) {
	if b == nil {
		return
	}
	b.Step = w.step
	w.breach = b
	panic(stopped{})
}

func (w *world) look(name string) map[int]Truth {
	truths := make(map[int]Truth)
	for machine := 1; machine <= w.history.Machines; machine++ {
		truths[machine] = Truth{Namespace: namespace, Name: name, PID: -1}
	}
	for _, m := range w.sim.Machines() {
		p := m.Process(namespace, name)
		p.Operations = nil
		if len(p.Entries) == 0 {
			p.Entries = nil // so that an empty slice equals nil
		}
		truths[machineOf(m.Host)] = p
	}
	return truths
}

func (w *world) executions() map[int][]simulator.Execution {
	done := make(map[int][]simulator.Execution)
	for _, e := range w.sim.Executions() {
		if e.Name == process {
			machine := machineOf(e.Host)
			done[machine] = append(done[machine], e)
		}
	}
	return done
}

// inState returns the machines in an object's state whose keys are in the given map, such as hosts or out_of_sync.
func (w *world) inState(o *object, attribute string) map[int]bool {
	core := w.idle.CoreOf(providertest.HostedType, o.kept)
	hosts, keys := core.Reasons("hosts"), core.Reasons(attribute)
	machines := make(map[int]bool)
	for key := range keys {
		machines[machineOf(hosts[key])] = true
	}
	return machines
}

func (w *world) namesInState(o *object) map[string]bool {
	names := make(map[string]bool)
	for _, name := range w.idle.CoreOf(providertest.HostedType, o.kept).Reasons("hosts") {
		if machine := machineOf(name); name != agentID(machine) {
			name = address(machine)
		}
		names[name] = true
	}
	return names
}

func (w *world) objectsOn(machine int) []string {
	var ids []string
	for _, o := range w.objects() {
		if w.inState(o, "hosts")[machine] {
			ids = append(ids, o.id)
		}
	}
	return ids
}

func (w *world) objects() []*object {
	return slices.Concat(w.configs[A].objectsLeft(), w.configs[B].objectsLeft())
}

// inDoubt reports whether a state names a machine and is unsure whether its process is registered.
func (w *world) inDoubt(machine int) bool {
	for _, o := range w.objects() {
		core := w.idle.CoreOf(providertest.HostedType, o.kept)
		hosts := core.Reasons("hosts")
		for key, reason := range core.Reasons("out_of_sync") {
			if machineOf(hosts[key]) == machine && strings.HasPrefix(reason, "unconfirmed") {
				return true
			}
		}
	}
	return false
}

func (w *world) byAgent() bool {
	for _, c := range w.configs {
		for _, form := range c.want.Forms {
			if form == ByAgent {
				return true
			}
		}
	}
	names := slices.Collect(maps.Values(w.idle.CoreOf(providertest.ActionType, w.op.kept).Reasons("hosts")))
	for _, o := range w.objects() {
		names = slices.AppendSeq(names, maps.Keys(w.namesInState(o)))
	}
	return slices.ContainsFunc(names, func(name string) bool { return name == agentID(machineOf(name)) })
}

// nameFound is the name under which a console finds the process: the first one if there are two.
func (w *world) nameFound(machine int) string {
	truth := w.look(process)[machine]
	if len(truth.Entries) == 0 {
		return address(machine)
	}
	return truth.Entries[0].Host
}

// scissors stand before the platform and end an apply at one of its calls. The client has left before
// the answer arrives, so every replay is the same.
type scissors struct {
	mu   sync.Mutex
	left int // calls until the interruption, 0 for none
	late bool
	only bool // calls that change something are counted, and no others
	end  func()
}

func (s *scissors) arm(step Step, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.late, s.only, s.end = step.Cut, step.Late, step.Killed, end
}

func (s *scissors) due(r *http.Request) (end func(), late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || s.only && !changes(r) {
		return nil, false
	}
	if s.left--; s.left > 0 {
		return nil, false
	}
	return s.end, s.late
}

// changes reports whether a call may change something on a host. The query is an operation, too.
func changes(r *http.Request) bool {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	name := path.Base(r.URL.Path)
	return !strings.HasPrefix(name, "get_") && !strings.Contains(name, "script") && !bytes.Contains(body, []byte(`"op_type":2`))
}

func (s *scissors) before(platform http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		end, late := s.due(r)
		if end == nil {
			platform.ServeHTTP(w, r)
			return
		}
		if late {
			platform.ServeHTTP(httptest.NewRecorder(), r)
		} else {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		end()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second): // how its context ends does not matter
		}
		panic(http.ErrAbortHandler)
	})
}

// recorder is the testing.TB of one replay. Failures are kept, not reported, because a history that fails is replayed to shrink it.
type recorder struct {
	testing.TB // only the methods below are used
	ctx        context.Context
	failures   []string
	cleanups   []func()
}

// stopped is the panic of a replay that cannot go on.
type stopped struct{}

func (r *recorder) Helper()                  {}
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any)        { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	panic(stopped{})
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stopped{})
}

func (r *recorder) close() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}
