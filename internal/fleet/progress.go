package fleet

import "sync"

// Progress is how far a rollout has come.
type Progress struct {
	Wave, Waves int
	// Hosts is all of them; Done and Failed are those with a verdict so far, Unknown
	// those that will get none. What is nowhere is under way, or its turn has not come.
	Hosts, Done, Failed, Unknown int
	// Watched are hosts that have come out well, and are at the gate. They are not among
	// the Done.
	Watched int
}

// add counts n hosts more with a verdict.
func (p *Progress) add(v Verdict, n int) {
	switch v {
	case Done:
		p.Done += n
	case Failed:
		p.Failed += n
	case Pending, Lost:
		p.Unknown += n
	case NotTried:
	}
}

// Observer gets the verdicts on hosts while others of the same call still wait for theirs. It is
// called as soon as there are some, as often as the client likes, and from several goroutines. It
// keeps no results. A nil Observer is not called.
type Observer func(Results)

// Tell tells an observer, if there is one, what is new.
func (o Observer) Tell(results Results) {
	if o != nil && len(results) > 0 {
		o(results)
	}
}

// tally counts verdicts for whoever watches a rollout.
type tally struct {
	watch func(Progress)

	mu  sync.Mutex
	now Progress
	had map[tallied]Verdict
}

// tallied is what has a verdict: a host, and of several processes which one.
type tallied struct {
	member int
	host   Host
}

func newTally(watch func(Progress), hosts, waves int) *tally {
	if watch == nil {
		return nil
	}
	return &tally{watch: watch, now: Progress{Waves: waves, Hosts: hosts}, had: make(map[tallied]Verdict, hosts)}
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

// watching says how many hosts are at the gate now.
func (t *tally) watching(n int) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Watched != n {
		t.now.Watched = n
		if n > 0 { // at the end of a gate its verdicts follow
			t.watch(t.now)
		}
	}
}

// left takes verdicts of hosts that leave the gate.
func (t *tally) left(results Results) { t.leftFor(0, results) }

// leftFor is left for one of several processes.
func (t *tally) leftFor(member int, results Results) {
	if t == nil || len(results) == 0 {
		return
	}
	t.mu.Lock()
	t.now.Watched -= len(results)
	t.mu.Unlock()
	t.countFor(member, results)
}

// count takes the latest verdicts, which win: a stop that turns out to have left
// the process hosted is done first and failed afterwards.
func (t *tally) count(results Results) { t.countFor(0, results) }

// countFor is count for one of several processes.
func (t *tally) countFor(member int, results Results) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.now
	for host, outcome := range results {
		key := tallied{member, host}
		if was, before := t.had[key]; before {
			t.now.add(was, -1)
		}
		t.had[key] = outcome.Verdict
		t.now.add(outcome.Verdict, 1)
	}
	if t.now != before {
		t.watch(t.now)
	}
}
