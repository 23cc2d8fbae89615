package procapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// ErrQueued is what Tasks.Result gives for a task that has not begun, where the
// platform says so in other ways than by CodeTaskQueued.
var ErrQueued = errors.New("the task is still queued")

var errNoTask = errors.New("the platform accepted the operation and named no task, so its result cannot be asked for")

// Tasks are how the operations of one process are followed to their end.
type Tasks struct {
	Options Options
	Keys    Keys
	// Result asks for the result of a task, once.
	Result func(ctx context.Context, task string) (ResultMap, bkapi.Reply, error)
	// Passing, if non-nil, tells of more errors of Result than
	// [bkapi.IsTransient] that they may pass.
	Passing func(error) bool
}

// Request is one operation for the hosts of one batch.
type Request struct {
	Call       Call
	Repeatable bool
	// Send sends it and gives the id of the task that it became.
	Send func(ctx context.Context) (task string, reply bkapi.Reply, err error)
}

// Submit sends an operation once and waits for its result. kept, if non-nil, gets
// the contents of the results, which only a query has a use for.
func (t Tasks) Submit(ctx context.Context, r Request, hosts []fleet.Host, kept *Contents) fleet.Results {
	task, reply, err := r.Send(ctx)
	if err != nil {
		return fleet.Same(hosts, Unfinished(err, WasSent(err), fleet.Outcome{}))
	}
	if task == "" {
		noTask := fleet.Outcome{Verdict: fleet.Lost, RequestID: reply.RequestID, Err: errNoTask}
		if r.Repeatable {
			noTask.Verdict = fleet.Failed
		}
		return fleet.Same(hosts, noTask)
	}
	t.Options.Logger.DebugContext(ctx, "task accepted", "task_id", t.Options.Redact(task), "operation", r.Call.Name, "hosts", len(hosts))
	return t.await(ctx, r.Call, task, reply.Resent, hosts, kept)
}

// await asks for the result of a task until every host has a verdict.
func (t Tasks) await(ctx context.Context, c Call, task string, resent bool, hosts []fleet.Host, kept *Contents) fleet.Results {
	var (
		results = make(fleet.Results, len(hosts))
		last    = make(fleet.Results)
		pending = hosts
		passing error
		shown   = t.Options.Redact(task)
	)
	err := poll.Until(ctx, t.Options.Backoff, func(ctx context.Context) (bool, error) {
		answers, reply, err := t.Result(ctx, task)
		switch {
		case err == nil:
			passing = nil
		case t.passes(err):
			passing = err
			t.Options.Logger.DebugContext(ctx, "task result not there yet", "task_id", shown, "reason", err.Error())
			return false, nil
		default:
			return false, err
		}
		if kept != nil {
			kept.keep(answers, pending, t.Keys, t.Options.Redact)
		}
		pending = c.Settle(answers, pending, t.Keys, func(o fleet.Outcome) fleet.Outcome {
			o.TaskID, o.RequestID, o.Repeated, o.Message = shown, reply.RequestID, resent, t.Options.Redact(o.Message)
			return o
		}, results, last)
		fleet.Settled(ctx, results)
		t.Options.Logger.Log(ctx, slog.LevelDebug-4, "task polled", "task_id", shown, "pending", len(pending), "answers", len(answers))
		return len(pending) == 0, nil
	})
	if err != nil {
		silence := silenceOf(err, passing)
		err = fmt.Errorf("asking for the result of task %s: %w", shown, err)
		if passing != nil && fleet.Ended(err) {
			err = fmt.Errorf("%w; the answer before: %w", err, passing)
		}
		for _, h := range pending {
			outcome, said := last[h]
			if !said {
				outcome.Meaning = silence
			}
			// The operation was accepted: whatever ended the wait, it may still run.
			outcome.Verdict, outcome.TaskID, outcome.Err = fleet.Pending, shown, err
			results[h] = outcome
		}
	}
	return results
}

// passes tells whether an answer without a result is worth another look.
func (t Tasks) passes(err error) bool {
	return isQueued(err) || bkapi.IsTransient(err) || (t.Passing != nil && t.Passing(err))
}

func isQueued(err error) bool { return errors.Is(err, ErrQueued) || bkapi.HasCode(err, CodeTaskQueued) }

// silenceOf says why nothing was heard of a host before err ended the wait.
// passing is what was wrong with the last answer, if anything was.
func silenceOf(err, passing error) string {
	switch {
	case isQueued(passing) && fleet.Ended(err):
		return "the task was still queued"
	case passing != nil, !fleet.Ended(err):
		return "the platform's result could not be read"
	}
	return "the platform's result did not mention the host"
}
