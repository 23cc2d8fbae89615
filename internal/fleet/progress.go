package fleet

import "sync"

// Progress is how far a rollout has come.
type Progress struct {
	Wave, Waves int
	// Hosts counts all hosts. Done and Failed count those with a verdict so far, Unknown those that will get
	// none. The others are under way or still to come.
	Hosts, Done, Failed, Unknown int
	// Watched counts hosts that are OK and at the gate. They are not in Done.
	Watched int
}

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

// Observer gets verdicts on hosts while other hosts of the call still wait for theirs. Clients call it as
// often as they like, from several goroutines. It must not keep the results. A nil Observer is not called.
type Observer func(Results)

// Notify calls o with new results if o is not nil and there are any.
func (o Observer) Notify(results Results) {
	if o != nil && len(results) > 0 {
		o(results)
	}
}

// tally counts verdicts and reports them to watch.
type tally struct {
	watch func(Progress)

	mu  sync.Mutex
	now Progress
	had map[tallied]Verdict
}

// tallied identifies a verdict: by host, and by member, which is 0 if there is only one process.
type tallied struct {
	member int
	host   Host
}

func newTally(watch func(Progress), hosts, waves int) *tally {
	if watch == nil {
		watch = func(Progress) {}
	}
	return &tally{watch: watch, now: Progress{Waves: waves, Hosts: hosts}, had: make(map[tallied]Verdict, hosts)}
}

func (t *tally) begin(wave int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Wave = wave
	t.watch(t.now)
}

// watching sets how many hosts are at the gate.
func (t *tally) watching(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now.Watched != n {
		t.now.Watched = n
		if n > 0 { // after the gate, verdicts follow at once
			t.watch(t.now)
		}
	}
}

// left takes the verdicts of hosts that leave the gate.
func (t *tally) left(member int, results Results) {
	t.mu.Lock()
	t.now.Watched -= len(results)
	t.mu.Unlock()
	t.count(member, results)
}

// count adds verdicts. The latest one of a host replaces earlier ones: a stop that is found to have left the
// process hosted is first Done and then Failed.
func (t *tally) count(member int, results Results) {
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
