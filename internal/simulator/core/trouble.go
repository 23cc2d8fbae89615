package core

import "time"

// Faults say what goes wrong on the hosts. They are asked while the service is locked,
// so they must not call it.
type Faults interface {
	// OnHost lists what an operation on a host meets at api, which is the API that
	// started it or, of a poll, the one that asks. What it has met before, by Met, it
	// does not meet again: a fault that let it through when it was accepted must not
	// catch it at a poll.
	OnHost(met *Met, api string, op Affected) []Trouble
	// OnTask lists what keeps a task from having a result.
	OnTask(met *Met, api string, items []*Item) []Queue
	// HidesRow tells whether a status API leaves the row of a process out.
	HidesRow(api string, key ProcKey) bool
}

// Affected is an operation that a fault may meet.
type Affected struct {
	API  string // that started it
	Poll bool
	Item *Item
	Host HostKey
}

// Met are the faults that something has met, by number.
type Met []int

// Trouble is what a fault does to an operation on one host. The fields of the same names of the
// package fault's Fault describe them.
type Trouble struct {
	Missing, Pending int
	Unreachable      string
	Code             *int
	Message          string
	Content          any
	Apply            bool
	StillHosts       bool
	Shape            string
	Takes            time.Duration
	ScriptStatus     int
	Ailment
}

// Ailment is what ails the process of a virtual host after an operation that left it
// running.
type Ailment struct {
	Dies    int
	Revived bool
	Health  string
}

// Queue is what a fault does to the result of a task.
type Queue struct {
	Polls int // that say CodeTaskQueued, -1 for ever
	Data  any // of those answers
}

// noFaults is a good day.
type noFaults struct{}

func (noFaults) OnHost(*Met, string, Affected) []Trouble { return nil }
func (noFaults) OnTask(*Met, string, []*Item) []Queue    { return nil }
func (noFaults) HidesRow(string, ProcKey) bool           { return false }

// meetLocked hands an operation on a host the faults that it meets at api.
func (g *GSE) meetLocked(o *operation, api string, poll bool) {
	for _, trouble := range g.Faults.OnHost(&o.met, api, Affected{API: o.api, Poll: poll, Item: o.item, Host: o.target.Machine}) {
		o.suffer(trouble)
	}
}

// suffer gives an operation what a fault does to it. Counts add up, with -1,
// for ever, winning; where only one can be, the first one is.
func (o *operation) suffer(t Trouble) {
	o.missing = addPolls(o.missing, t.Missing)
	o.pending = addPolls(o.pending, t.Pending)
	if t.Takes > 0 && o.state == operationAccepted {
		o.due = o.accepted.Add(t.Takes)
	}
	if o.unreachable == "" {
		o.unreachable = t.Unreachable
	}
	if o.code == nil && t.Code != nil {
		o.code, o.instead = t.Code, t
	}
	o.apply = o.apply || t.Apply
	o.stillHosts = o.stillHosts || t.StillHosts
	if o.scriptStatus == 0 {
		o.scriptStatus = t.ScriptStatus
	}
	if o.shape == "" {
		o.shape = t.Shape
	}
	if o.ailment == (Ailment{}) {
		o.ailment = t.Ailment
	}
}

// ailLocked leaves the process that an operation has brought up with what ails it.
func (g *GSE) ailLocked(o *operation) {
	p := g.procs[o.key()]
	if o.ailment == (Ailment{}) || p == nil || !p.running {
		return
	}
	p.ailment, p.queriesLeft, p.health = o.ailment, o.ailment.Dies, o.ailment.Health
}

// askedLocked counts a query, at which an ailing process may die.
func (g *GSE) askedLocked(p *process) {
	if !p.running || p.ailment.Dies == 0 {
		return
	}
	if p.queriesLeft--; p.queriesLeft > 0 {
		return
	}
	p.stopped()
	if ails := p.ailment; p.hosted && ails.Revived {
		g.startedLocked(p, g.newPIDLocked())
		p.ailment, p.queriesLeft, p.health = ails, ails.Dies, ails.Health
	}
}

// meetQueueLocked is meetLocked for a task.
func (g *GSE) meetQueueLocked(t *task, api string) {
	for _, queue := range g.Faults.OnTask(&t.met, api, t.items) {
		t.queued = addPolls(t.queued, queue.Polls)
		t.data = queue.Data
	}
}

func addPolls(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// countdown reports whether one of n polls was left and takes it.
func countdown(n *int) bool {
	if *n == 0 {
		return false
	}
	if *n > 0 {
		*n--
	}
	return true
}
