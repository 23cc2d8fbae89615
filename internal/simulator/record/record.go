// Package record keeps what was asked of the faces, without secrets, and what came of it.
package record

import (
	"slices"
	"sync"
	"time"
)

// Book keeps what was asked and what no document allows of it. Its zero value is
// empty.
type Book struct {
	mu          sync.Mutex
	calls       []*Call
	seq         int
	violations  []string
	inFlight    int
	maxInFlight int
}

// Enter counts a request that came in, Leave one that is done.
func (b *Book) Enter() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight++
	b.maxInFlight = max(b.maxInFlight, b.inFlight)
}

// Leave undoes Enter.
func (b *Book) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
}

// Add records a call as it arrives; from then on it belongs to the record. The oldest
// beyond limit are forgotten, if that is not zero.
func (b *Book) Add(call *Call, limit int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	call.Seq = b.seq
	b.calls = append(b.calls, call)
	if limit > 0 && len(b.calls) > limit {
		b.calls = b.calls[len(b.calls)-limit:]
	}
}

// Started notes the task that a call has started.
func (b *Book) Started(call *Call, taskID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	call.TaskID = taskID
}

// Sent notes how many bytes of a body have left.
func (b *Book) Sent(call *Call, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	call.Sent = bytes
}

// Complete finishes a call and returns a copy of it. Status 0 is for an answer that
// never left.
func (b *Book) Complete(call *Call, status, code int, message string, end time.Time) Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	call.Status, call.Code, call.Message, call.End = status, code, message, end
	return call.clone()
}

// Calls returns the recorded calls.
func (b *Book) Calls() CallList {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make(CallList, 0, len(b.calls))
	for _, call := range b.calls {
		out = append(out, call.clone())
	}
	return out
}

// Reset forgets the recorded calls and the largest number in flight.
func (b *Book) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = nil
	b.maxInFlight = b.inFlight
}

// MaxInFlight returns the largest number of requests under way at the same moment.
func (b *Book) MaxInFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.maxInFlight
}

// Violate records what no document allows of a request, as "api: path: what is wrong".
func (b *Book) Violate(violation string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = append(b.violations, violation)
}

// Violations lists them.
func (b *Book) Violations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.violations)
}

// ResetViolations forgets them.
func (b *Book) ResetViolations() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = nil
}
