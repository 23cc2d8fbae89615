package providertest

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Slow is a simulator on which an operation takes an hour, by a clock that the test sets. It counts the polls
// for the result.
type Slow struct {
	*Sim
	op     int
	passed atomic.Int64
	polls  atomic.Int64
	// then, if set, is called with the number of each poll.
	then atomic.Pointer[func(int64)]
}

// NewSlow returns a Slow for an operation, given by its op type.
func NewSlow(tb testing.TB, op int) *Slow {
	tb.Helper()
	s := &Slow{Sim: NewSim(tb), op: op}
	s.Now = func() time.Time { return time.Now().Add(time.Duration(s.passed.Load())) }
	s.OnCall = s.count
	return s
}

func (s *Slow) count(call simulator.Call) {
	if !strings.HasPrefix(call.API, "get_proc") || call.Op != s.op {
		return
	}
	n := s.polls.Add(1)
	if then := s.then.Load(); then != nil {
		(*then)(n)
	}
}

// Hangs makes the operation take an hour on hosts by number, or on all if there are none.
func (s *Slow) Hangs(hosts ...int) {
	s.Inject(simulator.Fault{API: "operate_*", Op: &s.op, Hosts: AddressList(hosts), Takes: time.Hour})
}

// Ends ends the operations that are in progress.
func (s *Slow) Ends() { s.passed.Add(int64(2 * time.Hour)) }

// EndsWhileAsked ends them at the fourth poll from now.
func (s *Slow) EndsWhileAsked() { s.onPoll(4, s.Ends) }

// Fails ends them, and the next result of each of these hosts is a failure.
func (s *Slow) Fails(hosts ...int) {
	for _, n := range hosts {
		s.Inject(simulator.Fault{API: "get_proc*", Op: &s.op, Hosts: AddressList([]int{n}), Code: new(simulator.CodeCommandFailed), Times: 1})
	}
	s.Ends()
}

// Forgets makes the simulator forget its tasks.
func (s *Slow) Forgets() {
	for _, task := range s.Tasks() {
		s.ExpireTask(task.ID)
	}
}

// onPoll calls do once, at the n-th poll from now.
func (s *Slow) onPoll(n int64, do func()) {
	at := s.polls.Load() + n
	then := func(polls int64) {
		if polls == at {
			do()
		}
	}
	s.then.Store(&then)
}

// Cut applies a configuration and interrupts the apply at the n-th poll from now.
func (s *Slow) Cut(core *Core, config map[string]any, n int64) Diagnostics {
	core.T.Helper()
	ctx, end := context.WithCancel(core.T.Context())
	defer end()
	s.onPoll(n, end)
	core.Until = ctx
	_, said := core.Apply(config)
	core.Until = nil
	return said
}
