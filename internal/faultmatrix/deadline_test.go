package faultmatrix

import (
	"context"
	"sync"
)

// untilThen is a context whose deadline comes when it is told to, at once and for
// all contexts below it.
type untilThen struct {
	context.Context
	then chan struct{}

	mu    sync.Mutex
	below []func()
}

func (c *untilThen) Done() <-chan struct{} { return c.then }

func (c *untilThen) Err() error {
	select {
	case <-c.then:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// AfterFunc is how package context hands on the end of a context that is not its
// own. Without it a goroutine would, later.
func (c *untilThen) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.below = append(c.below, f)
	return func() bool { return false } // what ends twice has ended
}

func (c *untilThen) end() {
	close(c.then)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.below {
		f()
	}
}
