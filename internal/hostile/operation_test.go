package hostile_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/providertest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// An operation that is under way takes place after whatever is done now: another one is not run before it
// has ended, or it would be undone. That also holds for on_destroy.
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
					t.Fatalf("nothing is kept; said: %s", said)
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

// On such a machine nothing is run for other processes either, whose turn may be before. Other machines are not kept waiting for ever.
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

// operation is an object that runs operations. Each of its runs has a provider of its own.
func (h hostile) operation() *providertest.Core {
	fresh := func() *providertest.Protocol { return providertest.ConfiguredWith(h.T, h.settings) }
	operation := fresh().CoreOf(h.by.TypeName(providertest.OnOperate), &providertest.Kept{})
	operation.Fresh = fresh
	return operation
}

// What the platform says is done, and the agent denies before and after, is not done.
func TestSaidDone_denied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ensure   string
		op, code int
	}{
		"hosted":          {"hosted", simulator.OpHost, simulator.CodeOK},
		"running-already": {"running", simulator.OpStart, simulator.CodeAlreadyRunning},
	} {
		plays(t, labelled, map[string]func(hostile){name: func(h hostile) {
			h.sim.Inject(simulator.Fault{API: "operate*", Op: &c.op, Code: &c.code})
			resource := h.object()
			if _, said := resource.Apply(h.config("./start.sh", c.ensure, "unregister")); !said.Failed() && len(resource.Reasons("out_of_sync")) == 0 {
				h.Errorf("all is well, and it is %+v", h.process())
			}
		}})
	}
}
