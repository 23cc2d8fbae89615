package gse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// operateRequest is the body of operate_proc_v2.
type operateRequest struct {
	Meta Meta `json:"meta"`
	target
	OpType int         `json:"op_type"`
	Spec   operateSpec `json:"spec"`
}

// task is `data` of operate_proc_v2 and the body of get_proc_operate_result_v2.
type task struct {
	ID string `json:"task_id"`
}

// query is the operation that asks for the status; users do not ask for it by
// that name.
const query fleet.Operation = "query"

// opTypes are the numbers of operate_proc_v2 (`op_type`); 5 and 6 do not exist.
var opTypes = map[fleet.Operation]int{
	fleet.Start: 0, fleet.Stop: 1, query: 2, fleet.HostIt: 3, fleet.Unhost: 4,
	fleet.Restart: 7, fleet.Reload: 8, fleet.Kill: 9,
}

// repeatable tells whether running an operation twice is as good as once.
func repeatable(op fleet.Operation) bool {
	return op == query || op == fleet.HostIt || op == fleet.Unhost
}

var errNoTask = errors.New("the platform accepted the operation and named no task, so its result cannot be asked for")

// Operate implements fleet.Process.
func (p *Process) Operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host) fleet.Results {
	results, _ := p.operate(ctx, op, hosts)
	return results
}

// operate also gives the contents of the results, which only a query has a use
// for.
func (p *Process) operate(ctx context.Context, op fleet.Operation, hosts []fleet.Host) (fleet.Results, *contents) {
	kept := &contents{}
	api := p.client.face.endpoint(apiOperate, repeatable(op))
	return p.inBatches(ctx, hosts, func(ctx context.Context, batch []fleet.Host) fleet.Results {
		return p.submit(ctx, api, callOf(op, p.spec), p.request(op, batch), batch, kept)
	}), kept
}

func (p *Process) request(op fleet.Operation, hosts []fleet.Host) operateRequest {
	request := operateRequest{Meta: p.meta, target: targetOf(hosts), OpType: opTypes[op], Spec: p.spec.forOperate()}
	if op == fleet.HostIt {
		// The document has no limits here, and clients send them. Hosting makes the
		// agent enforce them, so it must not do without.
		request.Spec.Resource = p.spec.Resource
	}
	return request
}

// submit sends an operation once and waits for its result.
func (p *Process) submit(ctx context.Context, api bkapi.API, c call, request any, hosts []fleet.Host, kept *contents) fleet.Results {
	var accepted task
	reply, err := p.client.api.Call(ctx, api, request, &accepted)
	if err != nil {
		return fleet.Same(hosts, unfinished(err, wasSent(err), fleet.Outcome{}))
	}
	if accepted.ID == "" {
		noTask := fleet.Outcome{Verdict: fleet.Lost, RequestID: reply.RequestID, Err: errNoTask}
		if api.Repeatable {
			noTask.Verdict = fleet.Failed
		}
		return fleet.Same(hosts, noTask)
	}
	p.client.opts.Logger.DebugContext(ctx, "task accepted", "task_id", accepted.ID, "operation", c.name, "hosts", len(hosts))
	return p.await(ctx, c, accepted, hosts, kept)
}

// await asks for the result of a task until every host has a verdict.
func (p *Process) await(ctx context.Context, c call, t task, hosts []fleet.Host, kept *contents) fleet.Results {
	var (
		api     = p.client.face.endpoint(apiResult, true)
		key     = func(h fleet.Host) string { return keyV2(h, p.meta) }
		results = make(fleet.Results, len(hosts))
		last    = make(fleet.Results)
		pending = hosts
		passing error
	)
	err := poll.Until(ctx, p.client.opts.Backoff, func(ctx context.Context) (bool, error) {
		var answers resultMap
		reply, err := p.client.api.Call(ctx, api, t, &answers)
		switch {
		case err == nil:
			passing = nil
		case bkapi.HasCode(err, CodeTaskQueued), bkapi.IsTransient(err):
			passing = err
			p.client.opts.Logger.DebugContext(ctx, "task result not there yet", "task_id", t.ID, "reason", err.Error())
			return false, nil
		default:
			return false, err
		}
		before := pending
		pending = c.settle(answers, pending, key, func(o fleet.Outcome) fleet.Outcome {
			o.TaskID, o.RequestID = t.ID, reply.RequestID
			return o
		}, results, last)
		if c.name == string(query) {
			kept.keep(answers, before, key)
		}
		p.client.opts.Logger.Log(ctx, slog.LevelDebug-4, "task polled", "task_id", t.ID, "pending", len(pending), "answers", len(answers))
		return len(pending) == 0, nil
	})
	if err != nil {
		silence := silenceOf(err, passing)
		err = fmt.Errorf("asking for the result of task %s: %w", t.ID, err)
		if passing != nil && fleet.Ended(err) {
			err = fmt.Errorf("%w; the answer before: %w", err, passing)
		}
		for _, h := range pending {
			outcome, said := last[h]
			if !said {
				outcome.Meaning = silence
			}
			// The operation was accepted: whatever ended the wait, it may still run.
			outcome.Verdict, outcome.TaskID, outcome.Err = fleet.Pending, t.ID, err
			results[h] = outcome
		}
	}
	return results
}

// silenceOf says why nothing was heard of a host before err ended the wait.
// passing is what was wrong with the last answer, if anything was.
func silenceOf(err, passing error) string {
	switch {
	case bkapi.HasCode(passing, CodeTaskQueued) && fleet.Ended(err):
		return "the task was still queued"
	case passing != nil, !fleet.Ended(err):
		return "the platform's result could not be read"
	}
	return "the platform's result did not mention the host"
}

// wasSent tells whether the server may have seen the request that failed so.
func wasSent(err error) bool {
	var failure *bkapi.Error
	return errors.As(err, &failure) && failure.Sent
}
