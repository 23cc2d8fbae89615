package procapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
)

// ErrQueued is returned by Tasks.Result for a task that has not begun, if the platform indicates that by
// something other than CodeTaskQueued.
var ErrQueued = errors.New("the task is still queued")

var errNoTask = errors.New("the platform accepted the operation and named no task, so its result cannot be asked for")

// Tasks follows the operations of one process to their end.
type Tasks struct {
	Options Options
	Keys    Keys
	// Result asks once for the result of a task.
	Result func(ctx context.Context, task string) (ResultMap, bkapi.Reply, error)
	// Passing, if non-nil, reports whether an error of Result is temporary. It adds to [bkapi.IsTransient].
	Passing func(error) bool
}

// Request is one operation on the hosts of one batch.
type Request struct {
	Call       Call
	Repeatable bool
	// Send sends the request and returns the id of its task.
	Send func(ctx context.Context) (task string, reply bkapi.Reply, err error)
	// Contents, if non-nil, collects the contents of the results. Only a query needs them.
	Contents *Contents
	// Observe receives verdicts while other hosts are still pending.
	Observe fleet.Observer
	// StartCheck is how long after a start agents check whether the process runs, so no host finishes sooner.
	// It is 0 if the operation starts nothing.
	StartCheck time.Duration
}

// taskOverhead is the time that a task takes in addition to the start check, to reach the agents and for their
// answers to return.
const taskOverhead = 100 * time.Millisecond

// Part is the share of one process in a request for several processes.
type Part struct {
	Call    Call
	Keys    Keys
	Hosts   []fleet.Host
	Observe fleet.Observer
}

// Submit sends an operation once and waits for its result.
func (t Tasks) Submit(ctx context.Context, r Request, hosts []fleet.Host) fleet.Results {
	return t.SubmitParts(ctx, r, []Part{{Call: r.Call, Keys: t.Keys, Hosts: hosts, Observe: r.Observe}})[0]
}

// SubmitParts is like Submit for several processes in one request, which becomes one task. It returns the
// results in the order of parts.
func (t Tasks) SubmitParts(ctx context.Context, r Request, parts []Part) []fleet.Results {
	ctx = bkapi.WithLogFields(ctx, slog.String("operation", r.Call.Name))
	task, reply, err := r.Send(ctx)
	if err != nil {
		return same(parts, Unfinished(err, WasSent(err), fleet.Outcome{}))
	}
	if task == "" {
		noTask := fleet.Outcome{Verdict: fleet.Lost, RequestID: reply.RequestID, Err: errNoTask}
		if r.Repeatable {
			noTask.Verdict = fleet.Failed
		}
		return same(parts, noTask)
	}
	w := t.newWait(task)
	w.request, w.resent = r, reply.Resent
	for _, part := range parts {
		w.parts = append(w.parts, waitingPart{part.Hosts, part.Observe, NewVerdicts(part.Call, part.Keys, t.Options.Redact, part.Hosts)})
	}
	return w.run(ctx)
}

func same(parts []Part, o fleet.Outcome) []fleet.Results {
	all := make([]fleet.Results, len(parts))
	for i, part := range parts {
		all[i] = fleet.Same(part.Hosts, o)
	}
	return all
}

func codesOf(results fleet.Results) string {
	counts := make(map[int64]int)
	for _, o := range results {
		counts[o.Code]++
	}
	var texts []string
	for _, code := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%d (%d hosts)", code, counts[code]))
	}
	return strings.Join(texts, ", ")
}

type wait struct {
	Tasks
	request Request
	task    string
	// shown is the task id for display. kept is the whole id, for outcomes: a later run asks by it.
	shown, kept string
	resent      bool
	resumed     bool // an earlier run sent the operation
	once        bool // ask only once
	parts       []waitingPart
	looks       int
	// answers counts consecutive answers that are results or say that the task is queued. refusals counts
	// consecutive refusals to report the task. byGateway says that a gateway itself sent one of the refusals.
	answers, refusals int
	byGateway         bool
	passing           error // the error of the last query, if it had one
}

// newWait returns a wait without hosts. If the task id contains a secret or control characters, its redacted
// form is kept in its place.
func (t Tasks) newWait(task string) *wait {
	redacted := t.Options.Redact(task)
	w := &wait{Tasks: t, task: task, shown: excerpt(redacted), kept: task}
	if redacted != task {
		w.kept = w.shown
	}
	return w
}

type waitingPart struct {
	hosts    []fleet.Host
	observe  fleet.Observer
	verdicts *Verdicts
}

// run asks for the result until every host has a verdict, and returns the outcome of each.
func (w *wait) run(ctx context.Context) []fleet.Results {
	backoff := w.Options.Backoff
	if w.request.StartCheck > 0 {
		backoff.Due = w.request.StartCheck + taskOverhead
	}
	err := poll.Until(bkapi.WithLogFields(ctx, slog.String("task_id", w.shown)), backoff, w.ask)
	silence := noResultReason(err, w.passing)
	// A failed query does not show that the platform has forgotten the task, and neither does a gateway's
	// refusal.
	forgotten := w.resumed && (err == nil && w.answers >= enoughLooks || isRefused(err) && !w.byGateway && !isByGateway(err))
	if err != nil {
		err = fmt.Errorf("asking for the result of task %s: %w", w.shown, err)
		if w.passing != nil && fleet.Ended(err) {
			err = fmt.Errorf("%[2]w; the answer before: %[1]w", w.passing, err) // errors.As finds the answer's [*bkapi.Error]
		}
	}
	all := make([]fleet.Results, len(w.parts))
	for i, part := range w.parts {
		all[i] = part.verdicts.Results
		for _, h := range part.verdicts.Pending {
			outcome, said := part.verdicts.last[h]
			if !said {
				outcome.Meaning = silence
			}
			// The operation was accepted, so it may still run, whatever ended the wait.
			outcome.Verdict, outcome.TaskID, outcome.Err = fleet.Pending, w.kept, err
			if forgotten && !said {
				outcome.Verdict = fleet.Lost
			}
			all[i][h] = outcome
		}
		w.Options.Logger.DebugContext(ctx, "task over", "task_id", w.shown, "operation", w.request.Call.Name, "hosts", HostsField(part.hosts).Value.String(), "codes", codesOf(all[i]))
	}
	return all
}

func (w *wait) ask(ctx context.Context) (done bool, err error) {
	w.looks++
	answers, reply, err := w.Result(ctx, w.task)
	switch {
	case err == nil:
		w.passing, w.refusals, w.byGateway = nil, 0, false
		w.answers++
	case w.passes(err):
		w.passing, w.refusals, w.byGateway = err, 0, false
		if isQueued(err) {
			w.answers++
		} else {
			w.answers = 0
		}
		w.Options.Logger.Log(ctx, bkapi.LevelTrace, "task result not there yet", "task_id", w.shown, "reason", err.Error())
		return w.over(), nil
	case w.resumed && isRefused(err) && w.refusals < enoughLooks-1:
		// A platform in trouble may also refuse, but one that has forgotten the task refuses every time.
		w.refusals++
		w.passing, w.answers, w.byGateway = err, 0, w.byGateway || isByGateway(err)
		return w.once, nil
	default:
		return false, err
	}
	pending := 0
	for _, part := range w.parts {
		answers := lookUp(answers, part.verdicts.Pending, part.verdicts.keys)
		if w.request.Contents != nil {
			w.request.Contents.keep(ctx, part.verdicts.Pending, answers, w.Options)
		}
		part.verdicts.take(answers, Source{TaskID: w.kept, RequestID: reply.RequestID, Repeated: w.resent})
		part.observe.Notify(part.verdicts.Results)
		pending += len(part.verdicts.Pending)
	}
	w.Options.Logger.Log(ctx, bkapi.LevelTrace, "task polled", "task_id", w.shown, "pending", pending, "answers", len(answers))
	return w.over(), nil
}

// over reports whether there is nothing left to wait for. It gives up on an earlier run's task that the
// platform may have forgotten (see enoughLooks).
func (w *wait) over() bool {
	for _, part := range w.parts {
		for _, h := range part.verdicts.Pending {
			_, said := part.verdicts.last[h]
			if !w.once && (said || !w.resumed || w.looks < enoughLooks) {
				return false
			}
		}
	}
	return true
}

func (t Tasks) passes(err error) bool {
	return isQueued(err) || bkapi.IsTransient(err) || (t.Passing != nil && t.Passing(err))
}

// isRefused reports whether the platform answered that it has no result. A missing permission does not count,
// nor does a proxy's own page, which has no code.
func isRefused(err error) bool {
	var failure *bkapi.Error
	if !errors.As(err, &failure) {
		return false
	}
	if failure.Code == bkapi.CodeNoPermission {
		return false
	}
	switch failure.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	client := failure.Status >= http.StatusBadRequest && failure.Status < http.StatusInternalServerError
	return failure.Kind == bkapi.KindRefused || failure.Kind == bkapi.KindStatus && failure.Code != 0 && client
}

// isByGateway reports whether a gateway itself refused. That says nothing about a task: the gateway may lack
// the permission or the API, or be in trouble.
func isByGateway(err error) bool {
	var failure *bkapi.Error
	return errors.As(err, &failure) && failure.ByGateway()
}

func isQueued(err error) bool { return errors.Is(err, ErrQueued) || bkapi.HasCode(err, CodeTaskQueued) }

// noResultReason returns why a host had no result when err ended the wait. passing is the error of the last query,
// if it had one.
func noResultReason(err, passing error) string {
	switch {
	case isQueued(passing) && (err == nil || fleet.Ended(err)):
		return "the task was still queued"
	case passing != nil, err != nil && !fleet.Ended(err):
		return "the platform's result could not be read"
	}
	return "the platform's result did not mention the host"
}
