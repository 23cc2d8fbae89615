package record

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
)

// Call is one recorded request.
type Call struct {
	// Seq counts calls from 1, in the order they arrived.
	Seq  int    `json:"seq"`
	Face string `json:"face"` // "esb", "apigw" or "job"
	API  string `json:"api"`  // the last path segment, such as "operate_proc_v2"
	// Method and Path are as sent.
	Method string `json:"method"`
	Path   string `json:"path"`
	// RequestID is the X-Bkapi-Request-Id of the request, or a generated one.
	RequestID string `json:"request_id"`
	// Op is the op type of the first item or of the polled task, -1 if there is none. For JOB's
	// manage_proc it is the one that reaches the agent.
	Op        int    `json:"op"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Hosts are those of all items, as "cloud:ip", or as an agent id if the request used that. For a poll
	// it is empty.
	Hosts []string `json:"hosts,omitempty"`
	// TaskID is the task that was started or polled.
	TaskID string            `json:"task_id,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Spec is the first item's spec as canonical JSON.
	Spec json.RawMessage `json:"spec,omitempty"`
	// Body is the request with its secrets replaced by "***". It is shared
	// between copies and must not be changed.
	Body json.RawMessage `json:"body,omitempty"`
	// Header has the headers that clients of BlueKing set themselves.
	Header map[string]string `json:"header,omitempty"`
	// Status is the HTTP status, 0 while the call is in progress or if it was dropped. Code and Message
	// are the envelope's.
	Status  int    `json:"status"`
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
	// Sent is how many bytes of the body were sent, if a fault set its length.
	Sent int64 `json:"sent,omitempty"`
	// Start is when the call arrived, End when its answer was ready.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// CallList is a record of calls, oldest first.
type CallList []Call

// Of returns the calls of one API, or of those that a path.Match pattern such
// as "operate_*" matches.
func (c CallList) Of(api string) CallList {
	var out CallList
	for _, call := range c {
		if ok, err := path.Match(api, call.API); ok && err == nil {
			out = append(out, call)
		}
	}
	return out
}

// OfOp returns the operations of one op type, over all faces.
func (c CallList) OfOp(op int) CallList {
	var out CallList
	for _, call := range c {
		// A poll also has the op of its task, but no spec.
		if call.Op == op && op != core.NoOp && call.Spec != nil {
			out = append(out, call)
		}
	}
	return out
}

// Count returns how many calls of an API there are.
func (c CallList) Count(api string) int { return len(c.Of(api)) }

// HostCalls returns the total number of host entries in the calls of an API.
func (c CallList) HostCalls(api string) int {
	n := 0
	for _, call := range c.Of(api) {
		n += len(call.Hosts)
	}
	return n
}

// On returns the calls that name a host, given as "cloud:ip", or as an agent id if the calls use that.
func (c CallList) On(host string) CallList {
	var out CallList
	for _, call := range c {
		if slices.Contains(call.Hosts, host) {
			out = append(out, call)
		}
	}
	return out
}

// Last returns the latest call, or the zero Call if there is none.
func (c CallList) Last() Call {
	if len(c) == 0 {
		return Call{}
	}
	return c[len(c)-1]
}

// MostWithin returns the largest number of calls that arrived within any interval of length span.
func (c CallList) MostWithin(span time.Duration) int {
	arrivals := make([]time.Time, 0, len(c))
	for _, call := range c {
		arrivals = append(arrivals, call.Start)
	}
	slices.SortFunc(arrivals, time.Time.Compare)
	largest, first := 0, 0
	for last, at := range arrivals {
		for at.Sub(arrivals[first]) >= span {
			first++
		}
		largest = max(largest, last-first+1)
	}
	return largest
}

// APIs returns the API names in order, so that a test can check a sequence.
func (c CallList) APIs() []string {
	out := make([]string, 0, len(c))
	for _, call := range c {
		out = append(out, call.API)
	}
	return out
}

func (c *Call) clone() Call {
	out := *c
	out.Hosts = slices.Clone(c.Hosts)
	out.Labels = maps.Clone(c.Labels)
	out.Header = maps.Clone(c.Header)
	return out
}

// Describe sets the fields that describe a request.
func (c *Call) Describe(items []*core.Item) {
	if len(items) == 0 {
		return
	}
	first := items[0]
	c.Op = max(first.Op, core.NoOp)
	c.Namespace, c.Name, c.Labels = first.Namespace, first.Name, first.Labels
	if first.Spec != nil {
		c.Spec = first.Spec.Raw
	}
	for _, it := range items {
		for _, t := range it.Targets {
			c.Hosts = append(c.Hosts, t.Name())
		}
	}
}

// DescribePoll sets the fields that describe a poll.
func (c *Call) DescribePoll(taskID string, items []*core.Item) {
	c.TaskID = taskID
	if len(items) > 0 {
		first := items[0]
		c.Op, c.Namespace, c.Name = first.Op, first.Namespace, first.Name
	}
}
