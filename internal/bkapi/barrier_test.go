package bkapi_test

import "sync"

// barrier releases requests in groups of a given size.
type barrier struct {
	mu   sync.Mutex
	size int
	here int
	open chan struct{}
}

func newBarrier(size int) *barrier {
	return &barrier{size: size, open: make(chan struct{})}
}

func (b *barrier) wait() {
	b.mu.Lock()
	open := b.open
	if b.here++; b.here == b.size {
		b.here, b.open = 0, make(chan struct{})
		close(open)
	}
	b.mu.Unlock()

	<-open
}
