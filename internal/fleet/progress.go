package fleet

import (
	"context"
	"sync"
)

// Progress is how far a rollout has come.
type Progress struct {
	Wave, Waves int
	// Hosts is all of them; Done and Failed are those with a verdict so far. What
	// is in neither is under way, or its turn has not come.
	Hosts, Done, Failed int
}

// settledKey is where a context carries what is to be told of settled hosts.
type settledKey struct{}

// withSettled asks whoever runs an operation under ctx to tell which hosts have
// their verdict while others still run. It travels in the context, as
// [net/http/httptrace] does, because the loop that learns of it lies under every
// layer of the clients, and is nobody's business in between.
func withSettled(ctx context.Context, tell func(Results)) context.Context {
	if tell == nil {
		return ctx
	}
	return context.WithValue(ctx, settledKey{}, tell)
}

// Settled is called by the clients with the verdicts of hosts, as soon as there
// are some, and as often as they like: whoever runs the rollout may be watching.
// It does not keep results.
func Settled(ctx context.Context, results Results) {
	if tell, ok := ctx.Value(settledKey{}).(func(Results)); ok && len(results) > 0 {
		tell(results)
	}
}

// tally counts verdicts for whoever watches a rollout.
type tally struct {
	watch func(Progress)

	mu  sync.Mutex
	now Progress
	ok  map[Host]bool
}

func newTally(watch func(Progress), hosts, waves int) *tally {
	if watch == nil {
		return nil
	}
	return &tally{watch: watch, now: Progress{Waves: waves, Hosts: hosts}, ok: make(map[Host]bool, hosts)}
}

func (t *tally) begin(wave int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Wave = wave
	t.watch(t.now)
}

// count takes the latest verdicts, which win: a stop that turns out to have left
// the process hosted is done first and failed afterwards.
func (t *tally) count(results Results) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.now
	for host, outcome := range results {
		was, counted := t.ok[host]
		switch {
		case counted && was:
			t.now.Done--
		case counted:
			t.now.Failed--
		}
		t.ok[host] = outcome.OK()
		if outcome.OK() {
			t.now.Done++
		} else {
			t.now.Failed++
		}
	}
	if t.now != before {
		t.watch(t.now)
	}
}
