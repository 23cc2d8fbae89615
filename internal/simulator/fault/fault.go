// Package fault implements the faults that a test injects: what they match, and how they change a response.
// The core implements how they change an operation.
package fault

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
)

// Fault changes the responses to matching requests or hosts. The control endpoint accepts its JSON form,
// with durations such as "500ms".
//
// The first block of fields is what a fault matches; the zero value matches everything. The others are
// its effects, by what they apply to:
//
//   - effects per request apply to one exchange;
//   - effects per host and per task are given to an operation on a host when
//     it is accepted (or at its next poll, if the fault is injected later) and
//     stay with it to its end. For first generation calls, an operation is the
//     series of repeated calls from the first 115 to the final result.
type Fault struct {
	// API is an API name or a path.Match pattern, such as "operate_proc_v2" or
	// "get_*". Effects per host of an operation match by the API that started
	// it or, if API names it, by the one that polls it.
	API string `json:"api,omitempty"`
	// Op is an op type. A result poll has the op of its task.
	Op *int `json:"op,omitempty"`
	// Hosts are addresses such as "0:10.0.0.1", or agent ids. A request matches if
	// any of its hosts does.
	Hosts     []string `json:"hosts,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	// Start is the start of the requested page of a list.
	Start *int   `json:"start,omitempty"`
	Name  string `json:"name,omitempty"`
	// Command is part of a command in the operation's spec, to simulate a bad release on any host.
	Command string `json:"command,omitempty"`
	// Skip skips the first matches, and Times ends the fault after that many applications; 0 means never.
	// Matches are requests for effects per request, tasks for Queued, and operations on one host (not
	// polls) for effects per host.
	Skip  int `json:"skip,omitempty"`
	Times int `json:"times,omitempty"`
	// Chance, if non-zero, is the probability that a match counts; see the Seed of the server.
	Chance float64 `json:"chance,omitempty"`

	// Effects per host.

	// Missing omits the host from that many responses, -1 for all. With an API that matches
	// get_proc_status_v2 or sync_proc_status, it omits the row of every match.
	Missing int `json:"missing,omitempty"`
	// Pending returns 115 for the host that many times, -1 for always; after Missing, if both are set. An
	// operation with a task takes effect when it is accepted, and only its result is late. A first
	// generation call takes effect when it returns its result, or at once with Apply. The repeated call
	// then finds its own effect.
	Pending int `json:"pending,omitempty"`
	// Code is the host's result. The operation then does not happen, unless Apply is true. Message and
	// Content accompany it; Content is any JSON value.
	Code    *int   `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Content any    `json:"content,omitempty"`
	Apply   bool   `json:"apply,omitempty"`
	// StillHosts hosts the process although its start failed with Code. A client observed isAuto true after
	// such a start, and the agent may restart it later.
	StillHosts bool `json:"still_hosts,omitempty"`
	// Dies makes the process of a virtual host die at the given query (op 2) after an operation that left
	// it running. With Revived the agent restarts it at once if it is hosted, with another pid. It dies
	// again after as many queries. Health is the output of its health_cmd from then on.
	Dies    int    `json:"dies,omitempty"`
	Revived bool   `json:"revived,omitempty"`
	Health  string `json:"health,omitempty"`
	// ContentShape changes the content. "object" is the JSON unpacked, "null" is null, "broken" is cut in
	// half, and "empty" is "". "no-instance" is a query's content with an empty instance list, and
	// "no-isauto" one without isAuto.
	ContentShape string `json:"content_shape,omitempty"`
	// Unreachable is the result of an unreachable agent: "117" at once, or "pending" for 115 forever. The
	// operation does not happen, and the cached status keeps its old row.
	Unreachable string `json:"unreachable,omitempty"`
	// ScriptStatus ends a script on the host before its output is complete. 3 is a timeout, 4 a stop, 6 a
	// restart of the agent.
	ScriptStatus int `json:"script_status,omitempty"`
	// Takes makes an operation take effect, and have its result, this long after it was accepted.
	Takes time.Duration `json:"-"`

	// Effects per task.

	// Queued returns code 1000115 for that many polls of the result, -1 for all; before Missing and Pending.
	// QueuedData is the data of those responses, null by default.
	Queued     int `json:"queued,omitempty"`
	QueuedData any `json:"queued_data,omitempty"`

	// Effects per request. Unless Apply is true, a request that is answered by
	// HTTPStatus or EnvelopeCode is not processed.

	// HTTPStatus, Header and Body replace the answer. Header alone adds to it.
	HTTPStatus int               `json:"http_status,omitempty"`
	Header     map[string]string `json:"header,omitempty"`
	Body       string            `json:"body,omitempty"`
	// EnvelopeCode and EnvelopeMessage answer 200 with result false, or without
	// result at the gateway.
	EnvelopeCode    *int   `json:"envelope_code,omitempty"`
	EnvelopeMessage string `json:"envelope_message,omitempty"`
	// Envelope replaces members of the envelope; null removes one. For example
	// {"code": "00", "result": null}.
	Envelope map[string]any `json:"envelope,omitempty"`
	// BodyBytes repeats Body up to this size. The bytes are generated while they are sent, so a gigabyte
	// needs no memory; see Sent of the recorded call.
	BodyBytes int64 `json:"body_bytes,omitempty"`
	// Replace replaces members of the answer, by path, with "*" for every member: {"data/*/error_code":
	// "zero"}.
	Replace map[string]any `json:"replace,omitempty"`
	// Backwards reverses the order of every list and of every object's members.
	Backwards bool `json:"backwards,omitempty"`
	// Drop closes the connection. "before" is before processing, "after" after it without an answer, and
	// "mid" in the middle of the answer. "reset" is after processing, with a TCP reset.
	Drop string `json:"drop,omitempty"`
	// Delay holds the request back before it is processed. With DelayMax the time is random between Delay
	// and DelayMax. Stall holds the answer back afterwards, and Drip waits before each byte of it.
	Delay    time.Duration `json:"-"`
	DelayMax time.Duration `json:"-"`
	Stall    time.Duration `json:"-"`
	Drip     time.Duration `json:"-"`
	// ExtraKeys are added to a result map.
	ExtraKeys map[string]any `json:"extra_keys,omitempty"`
	// FirstKeys are in a result map before its own results, and may repeat a key that follows. A client
	// that submits a host twice gets its key twice.
	FirstKeys map[string]any `json:"first_keys,omitempty"`
	// Keys names the hosts of a result map differently than the request did, if another name is known. At
	// the ESB these are "supplier" (cloud:supplier:ip) and "no-supplier" (cloud:ip), and at the gateway
	// "address" and "agent". From JOB they are "path" (setup_path/proc_name for a process with a
	// value_key) and "host-first" (cloud:ip:value_key).
	Keys string `json:"keys,omitempty"`
	// Rows sets the names of hosts in the gateway's cached status, whatever the platform's default is:
	// "both", "host", "agent" or "none".
	Rows string `json:"rows,omitempty"`
	// Page changes a page of a CMDB list. "repeat" repeats the previous page, "shrink" is half a page,
	// "empty" none of it, "larger" twice the requested size. "unfiltered" includes what a filter should have
	// excluded, and "shuffled" has another order. The count stays, or is off by CountOff.
	Page     string `json:"page,omitempty"`
	CountOff int    `json:"count_off,omitempty"`
	// JobStatus is the status beside JOB's results, which does not describe them.
	JobStatus *int `json:"job_status,omitempty"`
	// Spelling "errcode" names the members of a result errcode and errmsg.
	Spelling string `json:"spelling,omitempty"`
	// TaskID is answered in place of the real task id.
	TaskID *string `json:"task_id,omitempty"`
}

type faultJSON Fault

type faultDurations struct {
	*faultJSON
	Takes    string `json:"takes,omitempty"`
	Delay    string `json:"delay,omitempty"`
	DelayMax string `json:"delay_max,omitempty"`
	Stall    string `json:"stall,omitempty"`
	Drip     string `json:"drip,omitempty"`
}

// faultDuration is a duration and its text.
type faultDuration struct {
	text *string
	as   *time.Duration
}

func (d *faultDurations) each(f *Fault) []faultDuration {
	return []faultDuration{{&d.Takes, &f.Takes}, {&d.Delay, &f.Delay}, {&d.DelayMax, &f.DelayMax}, {&d.Stall, &f.Stall}, {&d.Drip, &f.Drip}}
}

// MarshalJSON writes durations as strings.
func (f Fault) MarshalJSON() ([]byte, error) {
	out := faultDurations{faultJSON: (*faultJSON)(&f)}
	for _, d := range out.each(&f) {
		if *d.as != 0 {
			*d.text = d.as.String()
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON rejects unknown members, so that a misspelt one is noticed.
func (f *Fault) UnmarshalJSON(data []byte) error {
	*f = Fault{}
	in := faultDurations{faultJSON: (*faultJSON)(f)}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return err
	}
	for _, d := range in.each(f) {
		if *d.text == "" {
			continue
		}
		parsed, err := time.ParseDuration(*d.text)
		if err != nil {
			return err
		}
		*d.as = parsed
	}
	return nil
}

// Validate returns an error if the fault is invalid.
func (f Fault) Validate() error {
	if _, err := path.Match(f.API, ""); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	for _, addr := range f.Hosts {
		if _, err := core.ParseTarget(addr); err != nil {
			return err
		}
	}
	for _, choice := range []struct {
		name, value string
		allowed     []string
	}{
		{"content_shape", f.ContentShape, []string{"", "object", "null", "broken", "empty", "no-instance", "no-isauto"}},
		{"unreachable", f.Unreachable, []string{"", "117", "pending"}},
		{"drop", f.Drop, []string{"", "before", "after", "mid", "reset"}},
		{"keys", f.Keys, []string{"", "supplier", "no-supplier", "address", "agent", "path", "host-first"}},
		{"spelling", f.Spelling, []string{"", "errcode"}},
		{"page", f.Page, []string{"", "repeat", "shrink", "empty", "larger", "unfiltered", "shuffled"}},
		{"rows", f.Rows, []string{"", "both", "host", "agent", "none"}},
	} {
		if !slices.Contains(choice.allowed, choice.value) {
			return fmt.Errorf("%s: %q is none of %q", choice.name, choice.value, choice.allowed)
		}
	}
	if f.HTTPStatus != 0 && (f.HTTPStatus < 200 || f.HTTPStatus > 599) {
		return fmt.Errorf("http_status: %d is not an HTTP status of an answer; want 200 to 599", f.HTTPStatus)
	}
	if f.ScriptStatus != 0 && (f.ScriptStatus < 3 || f.ScriptStatus > 6) {
		return fmt.Errorf("script_status: %d is not the status of a script that did not finish; want 3 to 6", f.ScriptStatus)
	}
	if f.Chance < 0 || f.Chance > 1 {
		return fmt.Errorf("chance: %v is not between 0 and 1", f.Chance)
	}
	return nil
}

func (f Fault) perRequest() bool {
	return f.HTTPStatus != 0 || f.EnvelopeCode != nil || f.Envelope != nil || f.Drop != "" || f.Delay != 0 || f.DelayMax != 0 ||
		f.ExtraKeys != nil || f.FirstKeys != nil || f.Keys != "" || f.Rows != "" || f.Page != "" || f.CountOff != 0 || f.JobStatus != nil || f.Spelling != "" || f.TaskID != nil || f.Header != nil ||
		f.Replace != nil || f.Backwards || f.Stall != 0 || f.Drip != 0
}

func (f Fault) perHost() bool {
	return f.Missing != 0 || f.Pending != 0 || f.Code != nil || f.Unreachable != "" || f.Takes != 0 ||
		f.ContentShape != "" || f.Dies != 0 || f.Health != "" || f.ScriptStatus != 0
}
