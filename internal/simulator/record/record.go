// Package record keeps the requests to the faces, without secrets, and their results.
package record

import (
	"slices"
	"sync"
	"time"
)

// Book keeps the requests, and what no document allows in them. Its zero value is empty.
type Book struct {
	mu          sync.Mutex
	calls       []*Call
	seq         int
	violations  []string
	inFlight    int
	maxInFlight int
	answers     []answer
	answerBytes int
}

type answer struct {
	seq  int
	body []byte
}

// keptAnswers is how many bytes of answers are kept, at most. The oldest are dropped first.
const keptAnswers = 16 << 20

// Enter counts a request as in progress until Leave.
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

// Add records a call as it arrives; from then on it belongs to the record. If limit is not zero, the
// oldest calls beyond it are dropped.
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

// Started records the task that a call has started.
func (b *Book) Started(call *Call, taskID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	call.TaskID = taskID
}

// Answered keeps the body of a call's answer, which must not be changed.
func (b *Book) Answered(call *Call, body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, answer{call.Seq, body})
	b.answerBytes += len(body)
	for b.answerBytes > keptAnswers {
		b.answerBytes -= len(b.answers[0].body)
		b.answers = b.answers[1:]
	}
}

// Exchange returns one call and both bodies without their secrets. A body that is not kept is nil. found
// is false if there is no such call.
func (b *Book) Exchange(seq int) (call Call, request, response any, found bool) {
	b.mu.Lock()
	i := slices.IndexFunc(b.calls, func(c *Call) bool { return c.Seq == seq })
	if i < 0 {
		b.mu.Unlock()
		return Call{}, nil, nil, false
	}
	call = b.calls[i].clone()
	var body []byte
	if j := slices.IndexFunc(b.answers, func(a answer) bool { return a.seq == seq }); j >= 0 {
		body = b.answers[j].body
	}
	b.mu.Unlock()
	return call, show(call.Body), show(body), true
}

// Line is a call in one line.
type Line struct {
	Seq       int       `json:"seq"`
	Face      string    `json:"face"`
	API       string    `json:"api"`
	Op        int       `json:"op"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	Hosts     int       `json:"hosts"`
	Host      string    `json:"host,omitempty"` // the first
	Done      bool      `json:"done"`
	Status    int       `json:"status"` // 0 if no answer was sent
	Code      int       `json:"code"`
	Message   string    `json:"message,omitempty"`
	Start     time.Time `json:"start"`
	Millis    float64   `json:"ms"`
}

// Lines returns the calls after a number, at most the latest most of them, and the calls in open, which
// were in progress. last is the number of the last call.
func (b *Book) Lines(after, most int, open map[int]bool) (lines []Line, last int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.calls {
		if open[c.Seq] || (c.Seq > after && c.Seq > b.seq-most) {
			lines = append(lines, c.line())
		}
	}
	return lines, b.seq
}

func (c *Call) line() Line {
	l := Line{
		Seq: c.Seq, Face: c.Face, API: c.API, Op: c.Op, Namespace: c.Namespace, Name: c.Name, Hosts: len(c.Hosts),
		Done: !c.End.IsZero(), Status: c.Status, Code: c.Code, Message: c.Message, Start: c.Start,
	}
	if len(c.Hosts) > 0 {
		l.Host = c.Hosts[0]
	}
	if l.Done {
		l.Millis = float64(c.End.Sub(c.Start).Microseconds()) / 1000
	}
	return l
}

// Sent records how many bytes of a body were sent.
func (b *Book) Sent(call *Call, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	call.Sent = bytes
}

// Complete finishes a call and returns a copy of it. Status 0 means that no answer was sent.
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

// Reset deletes the recorded calls and the largest number in flight.
func (b *Book) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.answers, b.answerBytes = nil, nil, 0
	b.maxInFlight = b.inFlight
}

// InFlight returns the number of requests in progress.
func (b *Book) InFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight
}

// MaxInFlight returns the largest number of requests in progress at the same time.
func (b *Book) MaxInFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.maxInFlight
}

// Violate records what no document allows in a request, as "api: path: what is wrong".
func (b *Book) Violate(violation string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = append(b.violations, violation)
}

// Violations returns the violations.
func (b *Book) Violations() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.violations)
}

// ResetViolations deletes the violations.
func (b *Book) ResetViolations() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = nil
}
