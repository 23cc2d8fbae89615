package providertest

import (
	"context"
	"sync/atomic"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// Cut interrupts applies while they run.
type Cut struct {
	isTime func(simulator.Call) bool
	end    atomic.Pointer[context.CancelFunc]
}

// CutAt returns a Cut that interrupts an apply while a call for which isTime returns true waits for its
// response. The simulator must not have been called before.
func (s *Sim) CutAt(isTime func(simulator.Call) bool) *Cut {
	c := &Cut{isTime: isTime}
	s.OnCall = c.called
	return c
}

func (c *Cut) called(call simulator.Call) {
	if end := c.end.Load(); end != nil && c.isTime(call) {
		(*end)()
	}
}

// Apply calls the core's Apply and interrupts it at that call.
func (c *Cut) Apply(core *Core, config map[string]any) Diagnostics {
	core.T.Helper()
	ctx, end := context.WithCancel(core.T.Context())
	defer end()
	c.end.Store(&end)
	core.Until = ctx
	_, said := core.Apply(config)
	core.Until = nil
	c.end.Store(nil)
	return said
}
