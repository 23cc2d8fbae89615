package simulator

import (
	"slices"
	"sync"
	"time"
)

// Record keeps what was asked and what no document allows of it. Its zero value is
// empty.
type Record struct {
	mu          sync.Mutex
	calls       []*Call
	seq         int
	violations  []string
	inFlight    int
	maxInFlight int
}

// Enter counts a request that came in, Leave one that is done.
func (r *Record) Enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight++
	r.maxInFlight = max(r.maxInFlight, r.inFlight)
}

// Leave undoes Enter.
func (r *Record) Leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
}

// Add records a call as it arrives; from then on it belongs to the record. The oldest
// beyond limit are forgotten, if that is not zero.
func (r *Record) Add(call *Call, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	call.Seq = r.seq
	r.calls = append(r.calls, call)
	if limit > 0 && len(r.calls) > limit {
		r.calls = r.calls[len(r.calls)-limit:]
	}
}

// Started notes the task that a call has started.
func (r *Record) Started(call *Call, taskID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call.TaskID = taskID
}

// Sent notes how many bytes of a body have left.
func (r *Record) Sent(call *Call, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	call.Sent = bytes
}

// Complete finishes a call and returns a copy of it. Status 0 is for an answer that
// never left.
func (r *Record) Complete(call *Call, status, code int, message string, end time.Time) Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	call.Status, call.Code, call.Message, call.End = status, code, message, end
	return call.clone()
}

// Calls returns the recorded calls.
func (r *Record) Calls() CallList {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(CallList, 0, len(r.calls))
	for _, call := range r.calls {
		out = append(out, call.clone())
	}
	return out
}

// Reset forgets the recorded calls and the largest number in flight.
func (r *Record) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
	r.maxInFlight = r.inFlight
}

// MaxInFlight returns the largest number of requests under way at the same moment.
func (r *Record) MaxInFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.maxInFlight
}

// Violate records a request that no document allows, as "api: path: what is wrong".
func (r *Record) Violate(violation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, violation)
}

// Violations lists them.
func (r *Record) Violations() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.violations)
}

// ResetViolations forgets them.
func (r *Record) ResetViolations() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = nil
}
