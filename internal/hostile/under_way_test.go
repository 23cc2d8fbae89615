package hostile_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// slow is a platform on which an operation takes an hour, and an object whose applies are interrupted while they wait.
type slow struct {
	hostile
	*providertest.Slow
	first *providertest.Core
}

func newSlow(t *testing.T, by providertest.Face, op int) *slow {
	t.Helper()
	sim := providertest.NewSlow(t, op)
	s := &slow{Slow: sim, hostile: hostile{T: t, sim: sim.Sim, by: by, settings: sim.SettingsFor(by)}}
	s.first = s.fresh()
	return s
}

// sends applies a configuration that sends the operation, and is interrupted while it waits.
func (s *slow) sends(config map[string]any) {
	s.Hangs()
	if said := s.Cut(s.first, config, 5); len(said) == 0 {
		s.Fatal("the operation was not under way")
	}
	s.Repair()
}

// hindered fails the test if an apply changes anything while the operation is under way, or succeeds.
func (s *slow) hindered(config map[string]any) {
	said := s.Cut(s.first, config, 5)
	providertest.Check(s, said.Failed() && !s.first.State.IsNull(), "it was removed from the resource; said: %s", said)
	s.Changed(s)
}

// An operation that is under way may take effect later, so no host is unregistered before it has ended.
//
// Promised in changing-hosts.md: nothing is sent there, and the host stays in state.
func TestUnderWay_destroyed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		by        providertest.Face
		op        int
		ensure    string
		onDestroy string
		before    bool // it was registered before, and the operation is of a changed spec
	}{
		"hosting":             {providertest.FaceGateway, simulator.OpHost, "hosted", "unregister", false},
		"hosting-and-killed":  {providertest.FaceGateway, simulator.OpHost, "hosted", "kill", false},
		"hosting-anew":        {providertest.FaceGateway, simulator.OpHost, "hosted", "unregister", true},
		"hosting-at-the-esb":  {providertest.FaceESB, simulator.OpHost, "hosted", "unregister", false},
		"starting":            {providertest.FaceGateway, simulator.OpStart, "running", "stop", false},
		"starting-at-the-esb": {providertest.FaceESB, simulator.OpStart, "running", "stop", false},
		"restarting":          {providertest.FaceGateway, simulator.OpRestart, "running", "stop", true},
		"hosting-at-job":      {providertest.FaceJOB, simulator.OpHost, "running", "unregister", false},
		"starting-at-job":     {providertest.FaceJOB, simulator.OpStart, "running", "unregister", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(t, c.by, c.op)
			if c.before {
				s.first.Applied(s.config("./before.sh", c.ensure, c.onDestroy))
			}
			s.sends(s.config("./start.sh", c.ensure, c.onDestroy, map[string]any{"on_update": "restart"}))
			s.hindered(nil)
			s.Ends()
			if _, said := s.first.Apply(nil); said.Failed() || s.process().Registered || s.process().Hosted || c.onDestroy != "unregister" && s.process().Running {
				t.Errorf("it is %+v; said: %s", s.process(), said)
			}
			s.Ends()
			p := s.process()
			providertest.Check(t, !p.Registered && !p.Hosted, "it came back: %+v", p)
		})
	}
}

// A host that leaves stays in state until its operation has ended, and each later apply still knows of it.
func TestUnderWay_leaves(t *testing.T) {
	t.Parallel()
	s := newSlow(t, providertest.FaceGateway, simulator.OpHost)
	config := s.config("./start.sh", "hosted", "unregister")
	s.first.Applied(config)
	both := s.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{"web-1": providertest.Address(1), "web-2": providertest.Address(2)}})
	s.sends(both)
	for range 2 {
		s.hindered(config)
	}
	s.Ends()
	s.first.Applied(config)
	providertest.Check(t, !s.at(2).Hosted && s.process().Hosted, "they are %+v and %+v", s.process(), s.at(2))
}

// A new declaration waits for the operation of the previous one, which would otherwise take effect last.
//
// Promised in changing-hosts.md: Until then the host is not registered again either.
func TestUnderWay_declaredAnew(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		s := newSlow(t, providertest.FaceGateway, simulator.OpHost)
		if before {
			s.first.Applied(s.config("./before.sh", "hosted", "unregister"))
		}
		s.sends(s.config("./start.sh", "hosted", "unregister"))
		if !before {
			s.first.Untaint()
		}
		anew := s.config("./anew.sh", "hosted", "unregister")
		s.hindered(anew)
		s.Ends()
		s.first.Applied(anew)
		s.Ends()
		p := s.process()
		providertest.Check(t, p.Hosted && strings.Contains(string(p.Spec), "anew.sh"), "it is %+v", p)
	}
}

// A platform may report a task as in progress forever although the agent shows its effect. Then the host can leave. It
// can also leave if its machine is gone and it may be forgotten.
func TestUnderWay_ends(t *testing.T) {
	t.Parallel()
	const result = "get_proc_operate_result_v2"
	lasts := func(s *slow) { // the platform reports it as in progress, although it has taken effect
		s.Ends()
		s.sim.Inject(simulator.Fault{API: result, Op: new(simulator.OpHost), Code: new(115), Apply: true})
	}
	within := func(limit string) map[string]any {
		return map[string]any{"timeouts": map[string]any{"delete": limit}}
	}
	for name, c := range map[string]struct {
		before func(*slow)
		more   map[string]any
		then   func(*slow)
		says   string
		stays  bool
	}{
		"took-effect":              {more: within("4s"), then: lasts},
		"took-effect-over-another": {before: func(s *slow) { s.colleague() }, more: within("4s"), then: lasts},
		// If the platform refuses to answer, the message says why.
		"refused": {then: func(s *slow) {
			s.sim.Inject(simulator.Fault{API: result, Op: new(simulator.OpHost), HTTPStatus: 403})
		}, says: "HTTP 403 Forbidden", stays: true},
		"gone": {more: map[string]any{"forget_unreachable": true, "timeouts": map[string]any{"delete": "2s"}}, then: func(s *slow) {
			s.onQuery(simulator.Fault{Code: new(simulator.CodeAgentAbnormal)})
		}, says: "Unreachable Hosts Forgotten"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(t, providertest.FaceGateway, simulator.OpHost)
			if c.before != nil {
				c.before(s)
			}
			s.sends(s.config("./start.sh", "hosted", "unregister", c.more))
			c.then(s)
			_, said := s.first.Apply(nil)
			if said.Failed() != c.stays || s.first.State.IsNull() == c.stays || s.process().Hosted || !strings.Contains(said.String(), c.says) {
				t.Errorf("it is %+v; said: %s", s.process(), said)
			}
		})
	}
}

// When a tainted object is replaced, its task is lost, so the platform cannot be asked. A warning says that what it has
// sent may still take effect.
//
// Promised in changing-hosts.md: its hosts leave, with the warning *Registration May Come Yet*.
func TestUnderWay_replaced(t *testing.T) {
	t.Parallel()
	s := newSlow(t, providertest.FaceGateway, simulator.OpHost)
	config := s.config("./start.sh", "hosted", "unregister")
	s.sends(config)
	kind, said := s.first.Apply(config)
	if kind != providertest.PlanReplace || said.Failed() || !s.process().Hosted || !strings.Contains(said.String(), "Registration May Come Yet") {
		t.Errorf("%s; it is %+v; said: %s", kind, s.process(), said)
	}
}

// A registration that never ends holds its host. The message names the way out, which works.
func TestUnderWay_neverEnds(t *testing.T) {
	t.Parallel()
	s := newSlow(t, providertest.FaceGateway, simulator.OpHost)
	config := s.config("./start.sh", "hosted", "unregister")
	s.sends(config)
	s.first.Untaint()
	_, said := s.first.Apply(s.config("./start.sh", "hosted", "unregister", map[string]any{"timeouts": map[string]any{"update": "2s"}}))
	providertest.Fails(t, said, "hosting it by an earlier apply is still under way; if that never ends, remove the resource with terraform state rm, and create it again with adopt_existing = true")

	another := s.object() // after terraform state rm
	another.Applied(config)
	p := s.sim.Machine(providertest.Address(1)).Process("web", "nginx")
	providertest.Check(t, p.Hosted && p.Entries[0].Labels["tf_spec_owner"] == another.Attribute("owner"), "it is %+v", p)
}

// The task under way is kept as long as its host is in state, whatever is applied meanwhile.
func TestUnderWay_known(t *testing.T) {
	t.Parallel()
	const one, two = "web-1", "web-2"
	on := func(hosts ...string) map[string]any {
		named := make(map[string]string)
		for _, host := range hosts {
			named[host] = map[string]string{one: providertest.Address(1), two: providertest.Address(2)}[host]
		}
		return map[string]any{"hosts": named, "on_update": "restart"}
	}
	failsOnce := func(s *slow) {
		s.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpHost), Code: new(simulator.CodeFailed), Times: 1})
	}
	for name, c := range map[string]struct {
		op   int
		play func(*slow)
	}{
		"sent-over-what-was-under-way": {simulator.OpHost, func(s *slow) {
			s.first.Applied(s.config("./before.sh", "hosted", "unregister"))
			s.sends(s.config("./one.sh", "hosted", "unregister"))
			s.Ends()
			s.sends(s.config("./two.sh", "hosted", "unregister"))
		}},
		"a-colleague-hosts-it": {simulator.OpHost, func(s *slow) {
			s.sends(s.config("./start.sh", "hosted", "unregister"))
			s.colleague()
		}},
		"rolled-back": {simulator.OpHost, func(s *slow) {
			s.first.Applied(s.config("./start.sh", "hosted", "unregister", on(one)))
			s.sends(s.config("./start.sh", "hosted", "unregister", on(one, two)))
			failsOnce(s)
			s.first.Apply(s.config("./new.sh", "hosted", "unregister", on(one), map[string]any{"rollout": map[string]any{"on_failure": "rollback"}}))
		}},
		"hosted-only": {simulator.OpStart, func(s *slow) {
			s.sends(s.config("./start.sh", "running", "stop"))
			s.first.Untaint()
			s.Cut(s.first, s.config("./start.sh", "hosted", "stop"), 5) // waits for the start
		}},
		"renamed-and-not-tried": {simulator.OpHost, func(s *slow) {
			s.sim.AddAgent(agent, providertest.Address(1))
			s.first.Applied(s.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{"b": providertest.Address(2)}}))
			s.sends(s.config("./start.sh", "hosted", "unregister", map[string]any{"hosts": map[string]string{"b": providertest.Address(2), "c": providertest.Address(1)}}))
			failsOnce(s)
			s.first.Apply(s.config("./new.sh", "hosted", "unregister", map[string]any{
				"hosts": map[string]string{"b": providertest.Address(2), "c": agent}, "rollout": map[string]any{"waves": []any{"1"}},
			}))
		}},
		"left-and-came-back": {simulator.OpRestart, func(s *slow) {
			s.first.Applied(s.config("./before.sh", "running", "stop", on(one, two)))
			s.Hangs(1)
			for _, hosts := range []map[string]any{on(one, two), on(two), on(one, two), on(one, two)} {
				said := s.Cut(s.first, s.config("./start.sh", "running", "stop", hosts), 5)
				providertest.Check(t, said.Failed(), "it is over: %v", hosts)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(t, providertest.FaceGateway, c.op)
			c.play(s)
			s.Repair()
			if said := s.Cut(s.first, nil, 5); !said.Failed() || s.first.State.IsNull() {
				t.Errorf("it was removed from the resource; said: %s", said)
			}
			s.Ends()
			if _, said := s.first.Apply(nil); said.Failed() || !s.first.State.IsNull() {
				t.Errorf("said: %s", said)
			}
			s.Ends()
			for _, p := range s.sim.Processes() {
				providertest.Check(t, !p.Hosted, "left behind: %+v", p)
			}
		})
	}
}

// calling returns a proxy that adds a text to the task ids of a platform.
func calling(more string) func(http.Handler) http.Handler {
	const plain = "GSETASK:"
	return func(sim http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // the platform refuses a truncated body
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(body, []byte(plain+more), []byte(plain)))), -1
			answer := httptest.NewRecorder()
			sim.ServeHTTP(answer, r)
			maps.Copy(w.Header(), answer.Header())
			w.Header().Del("Content-Length")
			w.WriteHeader(answer.Code)
			_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte(plain), []byte(plain+more))) // the client may have gone
		})
	}
}

// A later run queries exactly the task id that the platform returned, whatever it looks like. With another id the task
// would seem to be forgotten.
func TestUnderWay_oddTask(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"long": strings.Repeat("0123456789", 30), "spaced": "S  "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := providertest.NewSimBehind(t, calling(more))
			h := hostile{t, sim, providertest.FaceGateway, sim.SettingsFor(providertest.FaceGateway), new(atomic.Int64)}
			h.sim.Now = h.clock
			h.sim.Inject(simulator.Fault{API: "operate_*", Op: new(simulator.OpHost), Takes: time.Hour})
			resource := h.fresh()
			resource.Apply(h.config("./start.sh", "hosted", "unregister", map[string]any{"timeouts": map[string]any{"create": "3s", "delete": "3s"}}))
			h.sim.Repair()
			if _, said := resource.Apply(nil); !said.Failed() || resource.State.IsNull() || strings.Contains(said.String(), strings.Repeat("0123456789", 30)) {
				t.Errorf("it is forgotten, or its whole id is printed; said: %s", said)
			}
		})
	}
}

// No other operation runs before one under way has ended, which would undo it. That also holds for on_destroy.
func TestOperation_another(t *testing.T) {
	t.Parallel()
	runs := func(operation string) map[string]any { return map[string]any{"operation": operation} }
	for name, c := range map[string]struct {
		op          int
		first, then map[string]any // nil is a destroy
		running     bool           // at the end
	}{
		"stopped":   {simulator.OpStart, runs("start"), runs("stop"), false},
		"killed":    {simulator.OpRestart, runs("restart"), runs("kill"), false},
		"started":   {simulator.OpStop, runs("stop"), runs("start"), true},
		"destroyed": {simulator.OpStart, map[string]any{"operation": "start", "on_destroy": "stop"}, nil, false},
	} {
		for _, by := range []providertest.Face{providertest.FaceESB, providertest.FaceGateway, providertest.FaceJOB} {
			t.Run(name+"/"+string(by), func(t *testing.T) {
				t.Parallel()
				s := newSlow(t, by, c.op)
				ensure := "hosted"
				if c.op != simulator.OpStart {
					ensure = "running"
				}
				s.first.Applied(s.config("./start.sh", ensure, "unregister"))
				operation := s.operation()
				config := func(more map[string]any) map[string]any {
					if more == nil {
						return nil
					}
					all := by.Reference("./start.sh", 1)
					maps.Copy(all, more)
					return all
				}
				s.Hangs()
				if said := s.Cut(operation, config(c.first), 5); operation.State.IsNull() {
					t.Fatalf("nothing is in state; said: %s", said)
				}
				s.Repair()
				for range 2 {
					s.sim.ResetCalls()
					said := s.Cut(operation, config(c.then), 5)
					providertest.Check(t, said.Failed() && !operation.State.IsNull(), "it was run; said: %s", said)
					s.Changed(t)
				}
				s.Ends()
				if _, said := operation.Apply(config(c.then)); said.Failed() {
					t.Errorf("said: %s", said)
				}
				s.Ends()
				providertest.Same(t, fmt.Sprintf("it is %+v", s.process()), c.running, s.process().Running)
			})
		}
	}
}

// Nor does an operation run for other processes on that machine, which may come earlier in the order. Other machines do
// not wait.
func TestOperation_anotherBeside(t *testing.T) {
	t.Parallel()
	s := newSlow(t, providertest.FaceGateway, simulator.OpStart)
	s.sim.Registered(t, 2)
	process := func(name string, priority, hosts int) map[string]any {
		one := s.by.Reference("./start.sh", hosts)
		one["meta"], one["priority"] = map[string]any{"namespace": "web", "name": name}, priority
		return one
	}
	config := func(operation string) map[string]any {
		return map[string]any{
			"operation": operation, "processes": map[string]any{"db": process("db", 1, 1), "nginx": process("nginx", 2, 2)},
			"timeouts": map[string]any{"update": "8s"},
		}
	}
	operation := s.operation()
	s.sim.Inject(simulator.Fault{API: "operate_*", Name: "db", Takes: time.Hour})
	s.Cut(operation, config("start"), 5)
	s.Repair()
	s.sim.ResetCalls()
	_, said := operation.Apply(config("stop"))
	s.Changed(t, providertest.Operated(simulator.OpStop, 2))
	failed := slices.Sorted(maps.Keys(operation.Reasons("failed_hosts")))
	providertest.Check(t, said.Failed() && slices.Equal(failed, []string{"db/web-1", "nginx/web-1"}), "failed on %v; said: %s", failed, said)
}

// operation returns an object that runs operations, with a new run of the provider for each apply.
func (h hostile) operation() *providertest.Core {
	fresh := func() *providertest.Protocol { return providertest.ConfiguredWith(h.T, h.settings) }
	operation := fresh().CoreOf(h.by.TypeName(providertest.OnOperate), &providertest.Kept{})
	operation.Fresh = fresh
	return operation
}

// A call that the platform reports as done does not count if the agent denies it before and after.
func TestSaidDone_denied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ensure   string
		op, code int
	}{
		"hosted":          {"hosted", simulator.OpHost, simulator.CodeOK},
		"running-already": {"running", simulator.OpStart, simulator.CodeAlreadyRunning},
		"started":         {"running", simulator.OpStart, simulator.CodeOK},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.sim.Inject(simulator.Fault{API: "operate*", Op: &c.op, Code: &c.code})
			resource := h.object()
			if _, said := resource.Apply(h.config("./start.sh", c.ensure, "unregister")); !said.Failed() && len(resource.Reasons("out_of_sync")) == 0 {
				h.Errorf("the apply succeeded, and it is %+v", h.process())
			}
		}})
	}
	// Only at the gateway does hosting register.
	plays(t, []providertest.Face{providertest.FaceGateway}, map[string]func(hostile){"registered": func(h hostile) {
		h.sim.Inject(simulator.Fault{API: "operate*", Op: new(simulator.OpHost), Code: new(simulator.CodeOK)})
		resource := h.object()
		config := h.config("./start.sh", "registered", "unregister")
		_, said := resource.Apply(config)
		providertest.Check(h, said.Failed() && len(resource.Reasons("out_of_sync")) == 1, "out_of_sync: %v; said: %s", resource.Reasons("out_of_sync"), said)
		h.sim.Repair()
		resource.Untaint()
		resource.Apply(config)
		providertest.Check(h, len(resource.Reasons("out_of_sync")) == 0 && h.process().Registered, "out_of_sync: %v; %+v", resource.Reasons("out_of_sync"), h.process())
	}})
}

// An operation that never ends holds a host that leaves. The message names the way out that works for it: by hand if the
// agent can show that it is over, and otherwise none but to forget the resource.
func TestUnderWay_leavesNever(t *testing.T) {
	t.Parallel()
	const byHand, last = "restart the process there by hand and try again. As a last resort, ", "use `terraform state rm` and check the host"
	for name, c := range map[string]struct {
		op     int
		before bool
		hand   bool
	}{
		"hosting":    {op: simulator.OpHost, before: true},
		"starting":   {op: simulator.OpStart, hand: true},
		"restarting": {op: simulator.OpRestart, before: true, hand: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSlow(t, providertest.FaceGateway, c.op)
			more := map[string]any{"on_update": "restart", "timeouts": map[string]any{"delete": "2s"}}
			if c.before {
				s.first.Applied(s.config("./before.sh", "running", "unregister", more))
			}
			s.sends(s.config("./start.sh", "running", "unregister", more))
			_, said := s.first.Apply(nil)
			providertest.Fails(t, said, "the platform has not said that this is over. Try again once it is over. If that never happens, "+map[bool]string{true: byHand}[c.hand]+last)
			s.must(s.sim.StopProcess(providertest.Address(1), "web", "nginx"), s.sim.StartProcess(providertest.Address(1), "web", "nginx"))
			if _, said := s.first.Apply(nil); said.Failed() == c.hand {
				t.Errorf("restarted by hand, it says: %s", said)
			}
		})
	}
}
