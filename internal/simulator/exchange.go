package simulator

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// face is one dialect of the API. It translates and decides nothing.
type face interface {
	name() string
	// read checks the credentials and the body and translates them.
	read(s *Server, r *http.Request, api string, body []byte) (*request, *refusal)
	// data is the data member of an answer of the core, with its code and message.
	data(req *request, ans answer) (code int, message string, data any)
	// envelope wraps an answer.
	envelope(code int, message string, data any, requestID string) map[string]any
}

// request is what every face translates to.
type request struct {
	api   string
	verb  verb
	items []*item

	taskID       string // of a poll
	namespace    string // of a sync
	start, limit int    // of a sync
}

type verb int

const (
	verbAnswer  verb = iota // carry out items and answer per host
	verbOperate             // carry out items as a task
	verbPoll
	verbStatus
	verbSync
)

// answer is what the core says to a request.
type answer struct {
	taskID  string
	results []result
	rows    []row
	total   int

	queued     bool // the task has no results yet
	queuedData any

	// What faults ask of the face.
	extra     map[string]any // result keys to add
	first     map[string]any // and to put before the others
	keys      string
	jobStatus *int
	errcode   bool // the older spelling of error_code

	rowsWithoutHost bool
}

// refusal is an answer that a face gives by itself.
type refusal struct {
	status    int
	code      int
	message   string
	violation bool // no document allows the request
	header    map[string]string
	body      map[string]any // in place of an envelope
}

// bodyLimit is far beyond 1,000 hosts, and keeps a mistake from eating memory.
const bodyLimit = 64 << 20

// exchange takes one request through a face, the faults and the core.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, f face, api string) {
	call := &Call{
		Face: f.name(), API: api, Method: r.Method, Path: r.URL.Path, Op: noOp,
		RequestID: requestID(r), Header: pickHeader(r.Header), Start: s.now(),
	}
	s.enter()
	defer s.leave()

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		// The client went away or sent too much: there is nothing to answer.
		panic(http.ErrAbortHandler)
	}
	call.Body = redact(body)
	req, refused := f.read(s, r, api, body)

	s.mu.Lock()
	if req != nil {
		for _, it := range req.items {
			for i, t := range it.targets {
				it.targets[i] = s.resolveLocked(t)
			}
		}
		call.describe(req.items)
		for _, it := range req.items {
			if it.illegal() {
				s.violations = append(s.violations, fmt.Sprintf("%s: op_type: %d does not exist", api, it.op))
			}
		}
	}
	if req != nil && req.verb == verbPoll {
		s.describePollLocked(call, req)
	}
	s.recordLocked(call)
	if refused != nil && refused.violation {
		s.violations = append(s.violations, api+": "+refused.message)
	}
	var faults []*fault
	if req != nil {
		faults = s.requestFaultsLocked(api, s.itemsLocked(req))
	}
	s.mu.Unlock()

	if refused != nil {
		rep := reply{
			status: refused.status, header: refused.header, body: refused.body,
			code: refused.code, message: refused.message,
		}
		if rep.body == nil {
			rep.body = f.envelope(refused.code, refused.message, nil, call.RequestID)
		}
		s.send(w, r, call, rep)
		return
	}
	s.answer(w, r, f, req, call, combine(faults))
}

// answer gives the answer to a request that its face understood.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, f face, req *request, call *Call, fx effects) {
	if !s.hold(r, fx.delay) || fx.drop == "before" {
		s.complete(call, 0, 0, "")
		panic(http.ErrAbortHandler)
	}
	rep := reply{status: http.StatusOK, header: fx.header, wire: fx.wire}
	instead := fx.status != 0 || fx.envelopeCode != nil
	var ans answer
	if !instead || fx.apply {
		ans = s.perform(req, fx)
		s.mu.Lock()
		if ans.taskID != "" {
			call.TaskID = ans.taskID
		}
		s.mu.Unlock()
	}
	switch {
	case fx.status != 0:
		rep.status, rep.text = fx.status, fx.body
		if rep.text == "" {
			rep.text = http.StatusText(fx.status) + "\n"
		}
	case fx.envelopeCode != nil:
		rep.code, rep.message = *fx.envelopeCode, fx.envelopeMessage
		rep.body = f.envelope(rep.code, rep.message, nil, call.RequestID)
	default:
		var data any
		rep.code, rep.message, data = f.data(req, ans)
		rep.body = f.envelope(rep.code, rep.message, data, call.RequestID)
	}
	for name, v := range fx.envelope {
		if v == nil {
			delete(rep.body, name)
		} else if rep.body != nil {
			rep.body[name] = v
		}
	}
	if !s.hold(r, fx.stall) || fx.drop == "after" {
		s.complete(call, 0, rep.code, rep.message)
		panic(http.ErrAbortHandler)
	}
	if fx.drop == "reset" {
		s.complete(call, 0, rep.code, rep.message)
		resetConnection(w)
		return
	}
	s.send(w, r, call, rep)
}

// hold waits, and reports whether the client still does.
func (s *Server) hold(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return false
	case <-s.closing:
	}
	return true
}

// perform lets the core answer.
func (s *Server) perform(req *request, fx effects) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settleLocked()
	ans := answer{
		extra: fx.extraKeys, first: fx.firstKeys, keys: fx.keys, jobStatus: fx.jobStatus, errcode: fx.spelling == "errcode",
		rowsWithoutHost: s.RowsWithoutHost,
	}
	switch req.verb {
	case verbAnswer:
		ans.results = s.answerLocked(req.api, req.items[0])
	case verbOperate:
		ans.taskID = s.operateLocked(req.api, req.items)
		if fx.taskID != nil {
			ans.taskID = *fx.taskID
		}
	case verbPoll:
		ans.results, ans.queuedData, ans.queued = s.pollLocked(req.api, req.taskID)
	case verbStatus:
		ans.rows = s.statusLocked(req.api, req.items[0])
	case verbSync:
		ans.rows, ans.total = s.syncLocked(req.api, req.namespace, req.start, req.limit)
	}
	return ans
}

// itemsLocked are the items that a request is about: a poll is about those of
// its task.
func (s *Server) itemsLocked(req *request) []*item {
	if req.verb == verbPoll {
		if t := s.tasks[req.taskID]; t != nil {
			return t.items
		}
		return nil
	}
	if req.verb == verbSync {
		return []*item{{op: noOp, namespace: req.namespace}}
	}
	return req.items
}

func (s *Server) describePollLocked(call *Call, req *request) {
	call.TaskID = req.taskID
	if t := s.tasks[req.taskID]; t != nil {
		first := t.items[0]
		call.Op, call.Namespace, call.Name = first.op, first.namespace, first.name
	}
}

func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.maxInFlight = max(s.maxInFlight, s.inFlight)
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}
