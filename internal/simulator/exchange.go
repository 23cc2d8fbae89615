package simulator

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/simulator/cmdb"
	"github.com/blueking/terraform-provider-bk/internal/simulator/core"
	"github.com/blueking/terraform-provider-bk/internal/simulator/face"
	"github.com/blueking/terraform-provider-bk/internal/simulator/fault"
	"github.com/blueking/terraform-provider-bk/internal/simulator/record"
)

// bodyLimit is far more than 1,000 hosts need, and keeps a faulty client from using up the memory.
const bodyLimit = 64 << 20

// exchange passes one request through a face, the faults and the core.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request, f face.Face, api string) {
	call := &record.Call{
		Face: f.Name(), API: api, Method: r.Method, Path: r.URL.Path, Op: core.NoOp,
		RequestID: requestID(r), Header: record.PickHeader(r.Header), Start: s.now(),
	}
	s.record.Enter()
	defer s.record.Leave()

	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		// The client closed the connection or sent too much, so there is no response to send.
		panic(http.ErrAbortHandler)
	}
	call.Body = record.Redact(body)
	req, refused := f.Read(r, api, body)
	if refused != nil {
		s.record.Add(call, s.MaxCalls)
		if refused.Violation {
			s.record.Violate(api + ": " + refused.Message)
		}
		s.send(w, r, call, refusalReply(f, refused, call.RequestID))
		return
	}
	s.core.Resolve(req.Items)
	about := s.about(req)
	if req.TaskID != "" {
		call.DescribePoll(req.TaskID, about)
	} else {
		call.Describe(req.Items)
	}
	for _, finding := range req.Findings {
		s.record.Violate(api + ": " + finding)
	}
	for _, it := range req.Items {
		if it.Illegal() {
			s.record.Violate(fmt.Sprintf("%s: op_type: %d does not exist", api, it.Op))
		}
	}
	s.record.Add(call, s.MaxCalls)
	s.answer(w, r, f, req, call, s.faults.OnRequest(api, about, req.PageStart()))
}

func refusalReply(f face.Face, refused *face.Refusal, requestID string) reply {
	rep := reply{
		status: refused.Status, header: refused.Header, body: refused.Body,
		code: refused.Code, message: refused.Message,
	}
	if rep.body == nil {
		rep.body = f.Envelope(refused.Code, refused.Message, nil, requestID)
	}
	return rep
}

// about returns the items of a request, or for a poll those of its task.
func (s *Server) about(req *face.Request) []*core.Item {
	switch req.Verb {
	case face.VerbPoll, face.VerbTask, face.VerbScript, face.VerbLog:
		return s.core.TaskItems(req.TaskID)
	case face.VerbSync:
		return []*core.Item{{Op: core.NoOp, Namespace: req.Namespace}}
	default:
		return req.Items
	}
}

// answer answers a request that its face has translated.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, f face.Face, req *face.Request, call *record.Call, fx fault.Effects) {
	if !s.hold(r, fx.Delay) || fx.Drop == "before" {
		s.complete(call, 0, 0, "")
		panic(http.ErrAbortHandler)
	}
	rep := reply{status: http.StatusOK, header: fx.Header, wire: fx.Wire}
	instead := fx.Status != 0 || fx.EnvelopeCode != nil
	var ans face.Answer
	if !instead || fx.Apply {
		ans = s.perform(req, fx)
		if ans.TaskID != "" {
			s.record.Started(call, ans.TaskID)
		}
	}
	switch {
	case fx.Status != 0:
		rep.status, rep.text = fx.Status, fx.Body
		if rep.text == "" {
			rep.text = http.StatusText(fx.Status) + "\n"
		}
	case fx.EnvelopeCode != nil:
		rep.code, rep.message = *fx.EnvelopeCode, fx.EnvelopeMessage
		rep.body = f.Envelope(rep.code, rep.message, nil, call.RequestID)
	default:
		var data any
		rep.code, rep.message, data = f.Data(req, ans)
		rep.body = f.Envelope(rep.code, rep.message, data, call.RequestID)
		if ans.CMDB.Permission != nil {
			rep.body["permission"] = ans.CMDB.Permission
		}
	}
	for name, v := range fx.Envelope {
		if v == nil {
			delete(rep.body, name)
		} else if rep.body != nil {
			rep.body[name] = v
		}
	}
	if !s.hold(r, fx.Stall) || fx.Drop == "after" {
		s.complete(call, 0, rep.code, rep.message)
		panic(http.ErrAbortHandler)
	}
	if fx.Drop == "reset" {
		s.complete(call, 0, rep.code, rep.message)
		resetConnection(w)
		return
	}
	s.send(w, r, call, rep)
}

// hold waits for d, and reports whether the client is still waiting.
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
	case <-s.core.Closing():
	}
	return true
}

// perform calls the core.
func (s *Server) perform(req *face.Request, fx fault.Effects) face.Answer {
	ans := face.Answer{Effects: fx}
	switch req.Verb {
	case face.VerbAnswer:
		ans.Results = s.core.Answer(req.API, req.Items[0])
	case face.VerbOperate:
		ans.TaskID = s.core.Operate(req.API, req.Items)
		if fx.TaskID != nil {
			ans.TaskID = *fx.TaskID
		}
	case face.VerbPoll:
		ans.Results, ans.QueuedData, ans.Queued = s.core.Poll(req.API, req.TaskID)
	case face.VerbScript:
		ans.Scripts, ans.QueuedData, ans.Queued = s.core.PollScript(req.API, req.TaskID, targetsOf(req))
		ans.Unknown = !s.core.KnowsTask(req.TaskID)
	case face.VerbLog:
		var known bool
		ans.Scripts, known = s.core.ScriptLog(req.TaskID, targetsOf(req))
		ans.Unknown = !known
	case face.VerbTask:
		ans.Results = s.core.TaskResults(req.API, req.TaskID)
	case face.VerbAgents:
		ans.Agents = s.core.Agents(req.API, req.Items[0].Targets)
	case face.VerbStatus:
		ans.Rows = s.core.Status(req.API, req.Items[0])
	case face.VerbUpgrade:
		ans.Success, ans.Failed = s.core.Upgrade(req.API, req.Items[0].Targets, req.AgentIDs)
	case face.VerbAsk:
		ans.CMDB = s.cmdb.Answer(req.API, req.Params, cmdb.Bent{Page: fx.Page, Count: fx.CountOff})
		for _, remark := range ans.CMDB.Remarks {
			s.record.Violate(req.API + ": " + remark)
		}
	case face.VerbSync:
		ans.Rows, ans.Total = s.core.Sync(req.API, req.Namespace, req.Start, req.Limit)
	}
	return ans
}

// targetsOf returns the hosts that a query about a task names, nil for all.
func targetsOf(req *face.Request) []core.Target {
	if len(req.Items) == 0 {
		return nil
	}
	return req.Items[0].Targets
}

// complete finishes the record of a call. Status 0 means that no response was sent.
func (s *Server) complete(call *record.Call, status, code int, message string) {
	done := s.record.Complete(call, status, code, message, s.now())
	s.play.Saw(done)
	if s.OnCall != nil {
		s.OnCall(done)
	}
}
