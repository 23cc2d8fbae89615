package core

import (
	"fmt"
	"strconv"
	"time"
)

// operation is one item on one host, from acceptance to verdict.
type operation struct {
	api    string
	item   *Item
	target Target

	accepted time.Time
	due      time.Time // when it takes effect, if not at once
	settled  time.Time
	state    operationState
	verdict  verdict

	// The effects of faults on it.
	met              Met
	missing, pending int // remaining responses, -1 for no end
	unreachable      string
	code             *int
	instead          Trouble // the fault that set code
	apply            bool
	stillHosts       bool
	shape            string
	ailment          Ailment

	answers      int // how many included it, if it runs a script
	scriptStatus int // 0 if the script ends by itself

	busy *instance // the process that is busy until the verdict, if any
}

type operationState int

const (
	operationAccepted operationState = iota
	operationRunning                 // commands run on a local host
	operationSettled
)

func (o *operation) key() ProcKey { return ProcKey{o.target.Key, o.item.Namespace, o.item.Name} }

// Result is an operation as one answer shows it.
type Result struct {
	Target          Target
	Namespace, Name string
	AgentID         string // of the host, if one is known
	Spec            *Spec
	Code            int
	Message         string
	content         any    // a document is still to be encoded, see [Result.Text]
	Shape           string // how a fault changes the content
}

// task is what an asynchronous call starts.
type task struct {
	id       string
	items    []*Item
	entries  []*operation
	byHost   map[HostKey]*operation // entries by host, if they run a script
	accepted time.Time
	polls    int
	queued   int // remaining polls that return CodeTaskQueued, -1 for no end
	data     any // the data of those answers
	met      Met
}

// TaskInfo is a copy of the simulator's data about one task.
type TaskInfo struct {
	ID string `json:"id"`
	// Op is the op type of the task's first item.
	Op       int       `json:"op"`
	Accepted time.Time `json:"accepted"`
	// Settled is when the last host got its verdict, zero until then. Faults that count polls delay the
	// result, not this time.
	Settled time.Time `json:"settled"`
	Polls   int       `json:"polls"`
	Hosts   int       `json:"hosts"`
}

// Tasks returns the tasks in the order they were accepted.
func (g *GSE) Tasks() []TaskInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	out := make([]TaskInfo, 0, len(g.taskOrder))
	for _, id := range g.taskOrder {
		t := g.tasks[id]
		info := TaskInfo{ID: id, Op: t.items[0].Op, Accepted: t.accepted, Polls: t.polls, Hosts: len(t.entries)}
		for _, o := range t.entries {
			if o.state != operationSettled {
				info.Settled = time.Time{}
				break
			}
			if o.settled.After(info.Settled) {
				info.Settled = o.settled
			}
		}
		out = append(out, info)
	}
	return out
}

// TaskItems returns the items of a task, nil if the task is unknown.
func (g *GSE) TaskItems(id string) []*Item {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.tasks[id]; t != nil {
		return t.items
	}
	return nil
}

// KnowsTask reports whether there is such a task.
func (g *GSE) KnowsTask(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tasks[id] != nil
}

// ExpireTask makes the server forget a task, as the real one does some time after the end; see
// ExpiredEmpty for the answers to its polls. How long the real server keeps a task is unknown.
func (g *GSE) ExpireTask(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expireLocked(id)
}

func (g *GSE) expireLocked(id string) {
	delete(g.tasks, id)
	for i, other := range g.taskOrder {
		if other == id {
			g.taskOrder = append(g.taskOrder[:i:i], g.taskOrder[i+1:]...)
			return
		}
	}
}

// firstNumber precedes the numbers of JOB's job instances. Each has one step, with the next number.
const firstNumber = int64(20_000_000_000)

// Operate accepts operations and returns the id of their task.
func (g *GSE) Operate(api string, items []*Item) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settleLocked()
	now := g.now()
	g.taskSeq++
	t := &task{
		// In the newer of the two forms that clients have seen.
		id:       fmt.Sprintf("GSETASK:S:%s:%d", now.Format("20060102150405.000000"), g.taskSeq),
		items:    items,
		accepted: now,
	}
	if items[0].Numbered {
		t.id = strconv.FormatInt(firstNumber+2*int64(g.taskSeq), 10)
	}
	g.applyTaskFaultsLocked(t, api)
	for _, it := range items {
		it.taskID = t.id
		for _, target := range it.Targets {
			o := &operation{api: api, item: it, target: target, accepted: now}
			g.applyFaultsLocked(o, api, false)
			t.entries = append(t.entries, o)
			g.beginLocked(o)
			g.markBusyLocked(o)
		}
	}
	g.tasks[t.id] = t
	g.taskOrder = append(g.taskOrder, t.id)
	if g.MaxTasks > 0 && len(g.taskOrder) > g.MaxTasks {
		g.expireLocked(g.taskOrder[0])
	}
	return t.id
}

// beginLocked starts an operation, at once or when it is due.
func (g *GSE) beginLocked(o *operation) {
	if o.due.After(g.now()) {
		g.due = append(g.due, o)
		return
	}
	g.carryOutLocked(o, g.now())
}

// carryOutLocked makes an operation take effect.
func (g *GSE) carryOutLocked(o *operation, at time.Time) {
	if o.item.ByRegistration {
		o.item = g.registeredItemLocked(o)
	}
	switch {
	case o.unreachable == "pending":
		// It never settles, because it is not carried out.
		return
	case o.item.IPv4 && !o.target.IP.Is4():
		// The first generation's keys cannot contain an IPv6 address, and clients use only IPv4 there.
		g.settleOperationLocked(o, newVerdict(CodeFailed).because("ip %s is not an IPv4 address", o.target.Spelling), at)
	case o.unreachable != "" || !g.answersLocked(o.target):
		g.settleOperationLocked(o, newVerdict(CodeAgentAbnormal), at)
	case o.code != nil && !o.apply:
		if o.stillHosts && o.item.Op == OpStart {
			g.beforeChangeLocked(o.key())
			g.commandHostsLocked(g.processLocked(o.item, o.target), o.item)
			g.changedLocked()
		}
		g.settleOperationLocked(o, newVerdict(*o.code), at)
	case o.item.ByRegistration && o.item.Spec == nil:
		g.settleOperationLocked(o, newVerdict(CodeNotRegistered), at)
	case g.isLocal(o.target) && g.needsAgent(o.item):
		g.runLocked(o)
	default:
		g.settleOperationLocked(o, g.applyLocked(o.item, o.target), at)
		if o.item.Op == OpStart || o.item.Op == OpRestart || o.item.Op == OpReload {
			g.ailLocked(o)
		}
	}
}

// registeredItemLocked returns the item of an operation with the spec and labels of the registration, if
// there is one.
func (g *GSE) registeredItemLocked(o *operation) *Item {
	it := *o.item
	if p := g.findLocked(o.key()); p != nil {
		it.Spec, it.Labels = p.spec, p.labels
	}
	return &it
}

func (g *GSE) settleOperationLocked(o *operation, v verdict, at time.Time) {
	o.state = operationSettled
	o.settled = at
	o.verdict = v
	g.noteLocked(o)
}

// settleLocked carries out operations that are due. It is called before any access to the state, so that
// no timer is needed and the time of an effect is exact.
func (g *GSE) settleLocked() {
	if len(g.due) == 0 {
		return
	}
	now := g.now()
	var later []*operation
	for _, o := range g.due {
		if o.due.After(now) {
			later = append(later, o)
			continue
		}
		g.carryOutLocked(o, o.due)
	}
	g.due = later
}

// Poll returns the results of a task, nil while it is queued.
func (g *GSE) Poll(api, id string) (results []Result, data any, queued bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.tasks[id]; t != nil && t.items[0].Script != nil {
		id = "" // a script has results of another kind
	}
	results, _, data, queued = g.pollLocked(api, id)
	return results, data, queued
}

// TaskResults is like Poll, but hosts that are omitted from the answer are included, as in progress.
func (g *GSE) TaskResults(api, id string) []Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	results, missing, _, queued := g.pollLocked(api, id)
	if queued {
		return nil
	}
	return append(results, missing...)
}

func (g *GSE) pollLocked(api, id string) (results, missing []Result, data any, queued bool) {
	g.settleLocked()
	t := g.tasks[id]
	if t == nil {
		if g.ExpiredEmpty {
			return []Result{}, nil, nil, false
		}
		return nil, nil, nil, true
	}
	t.polls++
	g.applyTaskFaultsLocked(t, api)
	if countdown(&t.queued) {
		return nil, nil, t.data, true
	}
	results = make([]Result, 0, len(t.entries))
	for _, o := range t.entries {
		g.applyFaultsLocked(o, api, true)
		r, ok := g.reportLocked(o)
		if !ok {
			r.Code, r.Message = CodePending, CodeMessage(CodePending)
			missing = append(missing, r)
			continue
		}
		results = append(results, r)
	}
	return results, missing, nil, false
}

// reportLocked returns an operation as one answer shows it, and false if the answer omits it.
func (g *GSE) reportLocked(o *operation) (Result, bool) {
	r := Result{
		Target: o.target, Namespace: o.item.Namespace, Name: o.item.Name,
		AgentID: g.agentIDLocked(o.target), Spec: o.item.Spec,
	}
	switch {
	case countdown(&o.missing):
		return r, false
	case countdown(&o.pending), o.state != operationSettled:
		v := newVerdict(CodePending)
		r.Code, r.Message, r.content = v.code, v.message, v.content
		return r, true
	}
	r.Code, r.Message, r.content = o.verdict.code, o.verdict.message, o.verdict.content
	if o.code != nil {
		r.Code = *o.code
		r.Message = CodeMessage(r.Code)
		if o.instead.Message != "" {
			r.Message = o.instead.Message
		}
		if o.instead.Content != nil {
			r.content = o.instead.Content
		}
	}
	r.Shape = o.shape
	return r, true
}
