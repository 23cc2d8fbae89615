package simulator

import (
	"fmt"
	"time"
)

// entry is one operation on one host, from acceptance to verdict.
type entry struct {
	api    string
	item   *item
	target target

	accepted time.Time
	due      time.Time // when it takes effect, if not at once
	settled  time.Time
	state    entryState
	verdict  verdict

	// What faults did to it.
	met              []int
	missing, pending int // answers left, -1 for ever
	unreachable      string
	code             *int
	fault            *fault // that code comes from
	apply            bool
	stillHosts       bool
	shape            string
}

type entryState int

const (
	entryAccepted entryState = iota
	entryRunning             // commands run on a local host
	entrySettled
)

func (e *entry) key() procKey { return procKey{e.target.key, e.item.namespace, e.item.name} }

// result is an entry as one answer shows it.
type result struct {
	target          target
	namespace, name string
	agentID         string // of the host, if one is known
	spec            *spec
	verdict
	shape string // what a fault does to the content
}

// task is what an asynchronous call starts.
type task struct {
	id       string
	items    []*item
	entries  []*entry
	accepted time.Time
	polls    int
	queued   int // polls left that say CodeTaskQueued, -1 for ever
	data     any // of those answers
	met      []int
}

// TaskInfo is a copy of what the simulator holds about one task.
type TaskInfo struct {
	ID string `json:"id"`
	// Op is the op type of the task's first item.
	Op       int       `json:"op"`
	Accepted time.Time `json:"accepted"`
	// Settled is when the last host got its verdict, zero before. Faults that
	// count polls put off the report, not this.
	Settled time.Time `json:"settled"`
	Polls   int       `json:"polls"`
	Hosts   int       `json:"hosts"`
}

// Tasks returns the tasks in the order they were accepted.
func (s *Server) Tasks() []TaskInfo {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked()
	out := make([]TaskInfo, 0, len(s.taskOrder))
	for _, id := range s.taskOrder {
		t := s.tasks[id]
		info := TaskInfo{ID: id, Op: t.items[0].op, Accepted: t.accepted, Polls: t.polls, Hosts: len(t.entries)}
		for _, e := range t.entries {
			if e.state != entrySettled {
				info.Settled = time.Time{}
				break
			}
			if e.settled.After(info.Settled) {
				info.Settled = e.settled
			}
		}
		out = append(out, info)
	}
	return out
}

// ExpireTask makes the server forget a task, as it does some time after the
// end; see ExpiredEmpty for what its polls get. How long the real server keeps
// one is not known.
func (s *Server) ExpireTask(id string) {
	s.init()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked(id)
}

func (s *Server) expireLocked(id string) {
	delete(s.tasks, id)
	for i, other := range s.taskOrder {
		if other == id {
			s.taskOrder = append(s.taskOrder[:i:i], s.taskOrder[i+1:]...)
			return
		}
	}
}

// operateLocked accepts operations and returns the id of their task.
func (s *Server) operateLocked(api string, items []*item) string {
	now := s.now()
	s.taskSeq++
	t := &task{
		// In the newer of the two forms that clients have seen.
		id:       fmt.Sprintf("GSETASK:S:%s:%d", now.Format("20060102150405.000000"), s.taskSeq),
		items:    items,
		accepted: now,
	}
	s.handQueueLocked(t, api)
	for _, it := range items {
		for _, target := range it.targets {
			e := &entry{api: api, item: it, target: target, accepted: now}
			s.handFaultsLocked(e, api, false)
			t.entries = append(t.entries, e)
			s.beginLocked(e)
		}
	}
	s.tasks[t.id] = t
	s.taskOrder = append(s.taskOrder, t.id)
	if s.MaxTasks > 0 && len(s.taskOrder) > s.MaxTasks {
		s.expireLocked(s.taskOrder[0])
	}
	return t.id
}

// handQueueLocked is handFaultsLocked for Queued, which a whole task suffers.
func (s *Server) handQueueLocked(t *task, api string) {
	for _, f := range s.faults {
		if f.Queued == 0 || contains(t.met, f.id) || !f.matchesRequest(api, t.items) {
			continue
		}
		t.met = append(t.met, f.id)
		if f.tasks.take(f) {
			t.queued = addPolls(t.queued, f.Queued)
			t.data = f.QueuedData
		}
	}
}

// beginLocked starts an operation: at once, or when it is due.
func (s *Server) beginLocked(e *entry) {
	if e.due.After(s.now()) {
		s.due = append(s.due, e)
		return
	}
	s.carryOutLocked(e, s.now())
}

// carryOutLocked lets an operation take effect.
func (s *Server) carryOutLocked(e *entry, at time.Time) {
	switch {
	case e.unreachable == "pending":
		// It never settles: nobody carries it out.
		return
	case e.unreachable != "" || !s.answersLocked(e.target):
		s.settleEntryLocked(e, newVerdict(CodeAgentAbnormal), at)
	case e.code != nil && !e.apply:
		if e.stillHosts && e.item.op == OpStart {
			s.beforeChangeLocked(e.key())
			s.startHostsLocked(s.processLocked(e.item, e.target), e.item)
			s.changedLocked()
		}
		s.settleEntryLocked(e, newVerdict(*e.code), at)
	case s.isLocal(e.target) && s.needsAgent(e.item):
		s.runLocked(e)
	default:
		s.settleEntryLocked(e, s.applyLocked(e.item, e.target), at)
	}
}

func (s *Server) settleEntryLocked(e *entry, v verdict, at time.Time) {
	e.state = entrySettled
	e.settled = at
	e.verdict = v
}

// settleLocked carries out what has become due. It is called before anything
// looks at the state, so that no timer is needed and the moment of an effect is
// exact.
func (s *Server) settleLocked() {
	if len(s.due) == 0 {
		return
	}
	now := s.now()
	var later []*entry
	for _, e := range s.due {
		if e.due.After(now) {
			later = append(later, e)
			continue
		}
		s.carryOutLocked(e, e.due)
	}
	s.due = later
}

// pollLocked answers for one task. The results are nil while it is queued.
func (s *Server) pollLocked(api, id string) (results []result, data any, queued bool) {
	t := s.tasks[id]
	if t == nil {
		if s.ExpiredEmpty {
			return []result{}, nil, false
		}
		return nil, nil, true
	}
	t.polls++
	s.handQueueLocked(t, api)
	if countdown(&t.queued) {
		return nil, t.data, true
	}
	results = make([]result, 0, len(t.entries))
	for _, e := range t.entries {
		s.handFaultsLocked(e, api, true)
		if r, ok := s.reportLocked(e); ok {
			results = append(results, r)
		}
	}
	return results, nil, false
}

// reportLocked is what an entry shows in one answer, and false if it is left out.
func (s *Server) reportLocked(e *entry) (result, bool) {
	r := result{
		target: e.target, namespace: e.item.namespace, name: e.item.name,
		agentID: s.agentIDLocked(e.target), spec: e.item.spec,
	}
	switch {
	case countdown(&e.missing):
		return r, false
	case countdown(&e.pending), e.state != entrySettled:
		r.verdict = newVerdict(CodePending)
		return r, true
	}
	r.verdict = e.verdict
	if e.fault != nil {
		r.code = *e.code
		r.message = codeMessage(r.code)
		if e.fault.Message != "" {
			r.message = e.fault.Message
		}
		if e.fault.Content != nil {
			r.content = e.fault.Content
		}
	}
	r.shape = e.shape
	return r, true
}

func contains(ids []int, id int) bool {
	for _, other := range ids {
		if other == id {
			return true
		}
	}
	return false
}
