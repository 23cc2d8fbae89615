package core

import "time"

// Faults decides what goes wrong on the hosts. Its methods are called while the service is locked, so
// they must not call it.
type Faults interface {
	// OnHost returns the faults that apply to an operation on a host. api is the API that started it or,
	// for a poll, the one that polls. Faults in met do not apply again. So a fault that did not apply
	// when the operation was accepted does not apply at a poll.
	OnHost(met *Met, api string, op Affected) []Trouble
	// OnTask returns the faults that delay the result of a task.
	OnTask(met *Met, api string, items []*Item) []Queue
	// HidesRow reports whether a status API omits the row of a process.
	HidesRow(api string, key ProcKey) bool
}

// Affected is an operation to which faults may apply.
type Affected struct {
	API  string // that started it
	Poll bool
	Item *Item
	Host HostKey
}

// Met lists the faults that were tested already, by number.
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

// Ailment is the fault of a virtual host's process after an operation that left it running.
type Ailment struct {
	Dies    int
	Revived bool
	Health  string
}

// Queue is what a fault does to the result of a task.
type Queue struct {
	Polls int // how many return CodeTaskQueued, -1 for no end
	Data  any // the data of those responses
}

type noFaults struct{}

func (noFaults) OnHost(*Met, string, Affected) []Trouble { return nil }
func (noFaults) OnTask(*Met, string, []*Item) []Queue    { return nil }
func (noFaults) HidesRow(string, ProcKey) bool           { return false }

// applyFaultsLocked applies the faults for api to an operation on a host.
func (g *GSE) applyFaultsLocked(o *operation, api string, poll bool) {
	for _, trouble := range g.Faults.OnHost(&o.met, api, Affected{API: o.api, Poll: poll, Item: o.item, Host: o.target.Machine}) {
		o.addTrouble(trouble)
	}
}

// addTrouble adds a fault's effects to an operation. Counts are added up, but -1 (no end) takes precedence. Of
// effects that exclude each other, the first one applies.
func (o *operation) addTrouble(t Trouble) {
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

// ailLocked applies an operation's ailment to the process that it left running.
func (g *GSE) ailLocked(o *operation) {
	p := g.procs[o.key()]
	if o.ailment == (Ailment{}) || p == nil || !p.running {
		return
	}
	p.ailment, p.queriesLeft, p.health = o.ailment, o.ailment.Dies, o.ailment.Health
}

// countQueryLocked counts a query. An ailing process dies at the last of its queries.
func (g *GSE) countQueryLocked(p *process) {
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

// applyTaskFaultsLocked applies the faults for api to a task.
func (g *GSE) applyTaskFaultsLocked(t *task, api string) {
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

// countdown reports whether any of n polls is left, and uses one up. -1 has no end.
func countdown(n *int) bool {
	if *n == 0 {
		return false
	}
	if *n > 0 {
		*n--
	}
	return true
}
