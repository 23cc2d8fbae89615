package procapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// answer is one answer of a platform about a task: results by host and code, or an error.
type answer struct {
	codes map[string]int64
	err   error
}

func said(codes map[string]int64) answer { return answer{codes: codes} }

func failing(err error) answer { return answer{err: err} }

var (
	taskQueued = &bkapi.Error{API: "result", Kind: bkapi.KindRefused, Code: CodeTaskQueued, Repeatable: true, Sent: true}
	badGateway = &bkapi.Error{API: "result", Kind: bkapi.KindStatus, Status: http.StatusBadGateway, Repeatable: true, Sent: true}
	noSuchTask = &bkapi.Error{API: "result", Kind: bkapi.KindRefused, Code: 1, Repeatable: true, Sent: true}
	notFound   = &bkapi.Error{API: "result", Kind: bkapi.KindStatus, Status: http.StatusNotFound, Code: 1000404, Repeatable: true, Sent: true}
	denied     = &bkapi.Error{API: "result", Gateway: bkapi.ESB, Kind: bkapi.KindRefused, Code: 1306403, Repeatable: true, Sent: true}
)

// platform gives its answers in turn, and repeats the last.
type platform struct {
	t       *testing.T
	answers []answer
	resent  bool
	sent    int
	asked   int
}

func (p *platform) tasks() Tasks {
	return Tasks{
		Options: Options{}.OrDefaults(),
		// The second key is the right one, so that both are looked up.
		Keys: func(h fleet.Host) iter.Seq[string] { return slices.Values([]string{"not " + h.Address(), h.Address()}) },
		Result: func(_ context.Context, task string) (ResultMap, bkapi.Reply, error) {
			if task != "T" {
				p.t.Errorf("asked for task %q", task)
			}
			now := p.answers[min(p.asked, len(p.answers)-1)]
			p.asked++
			results := make(ResultMap)
			for key, code := range now.codes {
				results[key] = HostResult{Code: code, Content: `{"process":{"instance":{"pid":42}}}`}
			}
			return results, bkapi.Reply{RequestID: "req-1"}, now.err
		},
	}
}

func (p *platform) request() Request {
	return Request{Call: CallOf(fleet.Start, false), Send: func(context.Context) (string, bkapi.Reply, error) {
		p.sent++
		return "T", bkapi.Reply{Resent: p.resent}, nil
	}}
}

const one1, two2 = "0:10.0.0.1", "0:10.0.0.2"

func TestTasks_Submit_waits(t *testing.T) {
	t.Parallel()
	var (
		none  = said(nil)
		both  = said(map[string]int64{one1: 0, two2: 0})
		first = said(map[string]int64{one1: 0})
		busy  = said(map[string]int64{one1: 0, two2: 115})
		fatal = errors.New("GSE is away")
	)
	for name, test := range map[string]struct {
		answers []answer
		second  int64 // code of host two2
	}{
		"at-once":               {[]answer{both}, 0},
		"missing":               {[]answer{none, first, first, both}, 0},
		"missing-in-turn":       {[]answer{first, said(map[string]int64{two2: 0})}, 0},
		"in-progress":           {[]answer{busy, busy, busy, both}, 0},
		"queued-by-code":        {[]answer{failing(taskQueued), failing(taskQueued), both}, 0},
		"queued-in-other-words": {[]answer{failing(ErrQueued), failing(ErrQueued), both}, 0},
		"bad-gateway":           {[]answer{failing(badGateway), first, failing(badGateway), both}, 0},
		"passing-by-request":    {[]answer{failing(fatal), both}, 0},
		"keys-of-others":        {[]answer{said(map[string]int64{"0:10.0.0.9": 0, "10.0.0.1": 65535}), both}, 0},
		"first-verdict-is-kept": {[]answer{busy, said(map[string]int64{one1: 65535, two2: 117})}, 117},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &platform{t: t, answers: test.answers}
				tasks := p.tasks()
				tasks.Passing = func(err error) bool { return errors.Is(err, fatal) }
				both := procapitest.Parse(t, one1, two2)
				request, kept := p.request(), Contents{}
				request.Contents = &kept
				got := tasks.Submit(t.Context(), request, both)
				statuses, err := kept.Statuses(both, got)
				if first := statuses[both[0]]; err != nil || first.State != fleet.Running || first.Unread || statuses[both[1]].State != first.State && test.second == 0 {
					t.Errorf("contents: got %+v, %v", statuses, err)
				}
				want := fleet.Results{
					both[0]: {TaskID: "T", RequestID: "req-1"},
					both[1]: {TaskID: "T", RequestID: "req-1", Code: test.second, Meaning: Meaning(test.second, "")},
				}
				if test.second != 0 {
					o := want[both[1]]
					o.Verdict, o.Meaning = fleet.Lost, meaningLostOnTheWay // and not unreachable: it was in progress before
					want[both[1]] = o
				}
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(fleet.Host{}), cmpopts.EquateComparable(both[0].IP())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if p.sent != 1 || p.asked != len(test.answers) {
					t.Errorf("sent %d times, asked %d times for %d answers", p.sent, p.asked, len(test.answers))
				}
			})
		})
	}
}

// An operation that was in progress when its agent became unreachable may have taken effect. A query has no
// effect.
func TestVerdicts_awayInProgress(t *testing.T) {
	t.Parallel()
	lost := fleet.Outcome{Verdict: fleet.Lost, Code: CodeAgentAbnormal, Meaning: meaningLostOnTheWay}
	for name, c := range map[string]struct {
		call Call
		want fleet.Outcome
	}{
		"query":    {Call{Name: "query"}, fleet.Outcome{Verdict: fleet.Failed, Code: CodeAgentAbnormal, Meaning: Meaning(CodeAgentAbnormal, ""), Away: true}},
		"restart":  {CallOf(fleet.Restart, false), lost},
		"host":     {CallOf(fleet.Supervise, false), lost},
		"register": {Call{Name: "register", MustTrack: true}, lost},
	} {
		host := procapitest.Parse(t, one1)
		v := NewVerdicts(c.call, (&platform{t: t}).tasks().Keys, func(s string) string { return s }, host)
		for _, code := range []int64{CodeInProgress, CodeAgentAbnormal} {
			v.Take(ResultMap{one1: {Code: code}}, Source{})
		}
		procapitest.WantEqual(t, name, c.want, v.Results[host[0]])
	}
}

// An agent that was in progress when the time ran out counts as one that does not answer. It does not if a
// query has failed since, whether the time ran out between two requests or during one.
func TestTasks_Submit_inProgressAtTheEnd(t *testing.T) {
	t.Parallel()
	busy := said(map[string]int64{one1: 115})
	for name, c := range map[string]struct {
		answers []answer
		away    bool
	}{
		"in-progress": {[]answer{busy}, true}, "bad-gateway": {[]answer{busy, failing(badGateway)}, false},
	} {
		for _, during := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/during-a-request-%t", name, during), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					p := &platform{t: t, answers: c.answers}
					tasks, kept := p.tasks(), Contents{}
					answers := tasks.Result
					tasks.Result = func(ctx context.Context, task string) (ResultMap, bkapi.Reply, error) {
						if during && p.asked == len(c.answers) {
							<-ctx.Done()
							return nil, bkapi.Reply{}, &bkapi.Error{Kind: bkapi.KindCanceled, Err: ctx.Err(), Sent: true}
						}
						return answers(ctx, task)
					}
					request, one := p.request(), procapitest.Parse(t, one1)
					request.Contents = &kept
					statuses, err := kept.Statuses(one, tasks.Submit(ctx, request, one))
					if got := statuses[one[0]]; got.Away != c.away || err != nil {
						t.Errorf("got %+v, %v", got, err)
					}
				})
			})
		}
	}
}

// Agents check that a process runs once the time of its start check is over. The platform is asked just after
// that, and no more often than without a start check.
func TestTasks_Submit_startCheck(t *testing.T) {
	t.Parallel()
	steady := poll.DefaultBackoff()
	steady.Jitter = 0
	for name, check := range map[string]time.Duration{"1s": time.Second, "2s": 2 * time.Second, "default": 5 * time.Second, "1m": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			noticed := func(startCheck time.Duration) (late time.Duration, asked int) {
				synctest.Test(t, func(t *testing.T) {
					began, host := time.Now(), procapitest.Parse(t, one1)
					p := &platform{t: t}
					tasks := p.tasks()
					tasks.Options.Backoff = steady
					tasks.Result = func(context.Context, string) (ResultMap, bkapi.Reply, error) {
						asked++
						if time.Since(began) < check {
							return nil, bkapi.Reply{}, ErrQueued
						}
						return ResultMap{one1: {}}, bkapi.Reply{}, nil
					}
					request := p.request()
					request.StartCheck = startCheck
					if failures := tasks.Submit(t.Context(), request, host).Failures(); len(failures) > 0 {
						t.Errorf("failed: %v", failures)
					}
					late = time.Since(began) - check
				})
				return late, asked
			}
			late, asked := noticed(check)
			if _, without := noticed(0); late > taskOverhead || asked > without {
				t.Errorf("noticed after %s and %d answers, want at most %s and %d", late, asked, taskOverhead, without)
			}
		})
	}
}

// However the wait ends, known verdicts are kept, and the operation is not sent again. An error that will not
// pass ends it at once.
func TestTasks_Submit_ends(t *testing.T) {
	t.Parallel()
	const (
		silent = "the platform's result did not mention the host"
		unread = "the platform's result could not be read"
	)
	first, busy := said(map[string]int64{one1: 0}), said(map[string]int64{one1: 0, two2: 115})
	for how, cause := range map[string]error{"deadline": context.DeadlineExceeded, "interrupt": context.Canceled} {
		for name, test := range map[string]struct {
			answers []answer // the last is repeated
			code    int64
			meaning string
			says    string
			cause   error // if it is not the context's end
		}{
			"missing":                {[]answer{first}, 0, silent, "", nil},
			"in-progress":            {[]answer{busy}, 115, "still in progress", "", nil},
			"in-progress-then-gone":  {[]answer{busy, said(nil)}, 115, "still in progress", "", nil},
			"queued-by-code":         {[]answer{first, failing(taskQueued)}, 0, "the task was still queued", "1000115", nil},
			"queued-in-other-words":  {[]answer{first, failing(ErrQueued)}, 0, "the task was still queued", "still queued", nil},
			"bad-gateway":            {[]answer{first, failing(badGateway)}, 0, unread, "HTTP 502", nil},
			"bad-gateway-and-better": {[]answer{failing(badGateway), first}, 0, silent, "", nil},
			"refused":                {[]answer{first, failing(noSuchTask)}, 0, unread, "code 1", noSuchTask},
		} {
			t.Run(how+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if how == "interrupt" {
						ctx, cancel = context.WithCancel(t.Context())
						time.AfterFunc(time.Minute, cancel)
					}
					defer cancel()
					p := &platform{t: t, answers: test.answers}
					both := procapitest.Parse(t, one1, two2)
					results := p.tasks().Submit(ctx, p.request(), both)
					if !results[both[0]].OK() || p.sent != 1 || (ctx.Err() == nil) != (test.cause != nil) || test.cause != nil && p.asked != len(test.answers) {
						t.Errorf("got %+v after %d sends, want done after one: %v", results[both[0]], p.sent, ctx.Err())
					}
					got := results[both[1]]
					if got.Verdict != fleet.Pending || got.Code != test.code || got.Meaning != test.meaning || got.TaskID != "T" {
						t.Errorf("got %+v, want pending, code %d, %q", got, test.code, test.meaning)
					}
					want := cause
					if test.cause != nil {
						want = test.cause
					}
					if text := got.Err.Error(); !errors.Is(got.Err, want) || !strings.Contains(text, "task T") || !strings.Contains(text, test.says) {
						t.Errorf("got error %v, want %v and %q", got.Err, want, test.says)
					}
				})
			})
		}
	}
}

func TestTasks_Submit_notAccepted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		repeatable bool
		err        error
		want       fleet.Verdict
	}{
		"no-task":            {false, nil, fleet.Lost},
		"no-task-repeatable": {true, nil, fleet.Failed},
		"lost":               {false, &bkapi.Error{API: "operate", Kind: bkapi.KindLost, Sent: true}, fleet.Lost},
		"refused":            {false, noSuchTask, fleet.Failed},
		"ended-before":       {false, &bkapi.Error{Kind: bkapi.KindCanceled, Err: context.Canceled}, fleet.NotTried},
		"ended-while-asking": {true, &bkapi.Error{Kind: bkapi.KindCanceled, Err: context.DeadlineExceeded, Repeatable: true, Sent: true}, fleet.Pending},
	} {
		p := &platform{t: t, answers: []answer{failing(noSuchTask)}}
		request := Request{Repeatable: test.repeatable, Send: func(context.Context) (string, bkapi.Reply, error) {
			return "", bkapi.Reply{RequestID: "req-1"}, test.err
		}}
		for h, o := range p.tasks().Submit(t.Context(), request, procapitest.Parse(t, one1, two2)) {
			if o.Verdict != test.want || o.Err == nil || p.asked != 0 {
				t.Errorf("%s: %s: got %+v after %d questions, want verdict %d", name, h, o, p.asked, test.want)
			}
		}
	}
}

// If the request was sent twice, "already" may be our own effect.
func TestTasks_Submit_repeated(t *testing.T) {
	t.Parallel()
	for _, resent := range []bool{false, true} {
		p := &platform{t: t, answers: []answer{said(map[string]int64{one1: 828})}, resent: resent}
		one := procapitest.Parse(t, one1)
		if got := p.tasks().Submit(t.Context(), p.request(), one)[one[0]]; got.Repeated != resent || !got.AlreadyDone {
			t.Errorf("resent %t: got %+v", resent, got)
		}
	}
}

// An observer gets a host's verdict at once, and nothing for a host without a verdict.
func TestTasks_Submit_observed(t *testing.T) {
	t.Parallel()
	p := &platform{t: t, answers: []answer{said(map[string]int64{two2: 115}), said(map[string]int64{one1: 0}), failing(badGateway), said(map[string]int64{two2: 117})}}
	request := p.request()
	var observed []map[string]int64
	request.Observe = func(results fleet.Results) {
		codes := make(map[string]int64)
		for h, o := range results {
			codes[h.Address()] = o.Code
		}
		observed = append(observed, codes)
	}
	tasks := p.tasks()
	tasks.Options.Backoff = poll.Backoff{First: time.Millisecond}
	tasks.Submit(t.Context(), request, procapitest.Parse(t, one1, two2))
	procapitest.WantEqual(t, "result", []map[string]int64{{one1: 0}, {one1: 0, two2: 117}}, observed)
}

// The test checks why the status of a host is unknown, and when the query as a whole fails instead. If another
// host got an answer, the reason is the error of the failed batch.
func TestContents_Statuses_reasons(t *testing.T) {
	t.Parallel()
	var (
		refused  = &bkapi.Error{API: "operate", Kind: bkapi.KindRefused, Code: 7, Message: "no permission", Sent: true}
		words    = refused.Error()
		timeUp   = fmt.Errorf("asking: %w", context.DeadlineExceeded)
		meantime = fmt.Errorf("asking: %w", &bkapi.Error{Kind: bkapi.KindCanceled, Err: context.DeadlineExceeded, Sent: true})
		abnormal = "the agent is abnormal or not found"
	)
	for name, test := range map[string]struct {
		outcome fleet.Outcome
		want    fleet.Status
		failed  bool // if no other host got an answer
	}{
		"late":                      {fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Err: timeUp}, fleet.Status{Message: "the agent had not answered"}, false},
		"late-in-progress":          {fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Code: 115, Meaning: "still in progress", Message: "busy", Err: timeUp}, fleet.Status{Code: 115, Message: "still in progress: busy", Away: true, Late: true}, false},
		"late-during-a-request":     {fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Code: 115, Meaning: "still in progress", Message: "busy", Err: meantime}, fleet.Status{Code: 115, Message: "still in progress: busy", Away: true, Late: true}, false},
		"late-and-explained":        {fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Meaning: "still in progress", Err: timeUp}, fleet.Status{Message: "still in progress"}, false},
		"late-without-task":         {fleet.Outcome{Verdict: fleet.Pending, Err: timeUp}, fleet.Status{Message: "the agent had not answered"}, true},
		"result-refused":            {fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Meaning: "could not be read", Err: refused}, fleet.Status{Message: "could not be read: " + words}, true},
		"result-refused-with-words": {fleet.Outcome{Verdict: fleet.Pending, TaskID: "T", Meaning: "could not be read", Message: "words", Err: refused}, fleet.Status{Message: "could not be read: words"}, true},
		"agent-says-no":             {fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: abnormal, Message: "no heartbeat", Away: true}, fleet.Status{Code: 117, Message: abnormal + ": no heartbeat", Away: true}, false},
		"agent-says-the-same":       {fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: abnormal, Message: "agent abnormal or not found", Away: true}, fleet.Status{Code: 117, Message: abnormal, Away: true}, false},
		"agent-says-its-address":    {fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: abnormal, Message: "agent abnormal or not found: 10.0.0.2", Away: true}, fleet.Status{Code: 117, Message: abnormal, Away: true}, false},
		"agent-is-silent":           {fleet.Outcome{Verdict: fleet.Failed, Code: 117, Meaning: abnormal, Away: true}, fleet.Status{Code: 117, Message: abnormal, Away: true}, false},
		"no-meaning":                {fleet.Outcome{Verdict: fleet.Failed, Code: -1, Message: "away"}, fleet.Status{Code: -1, Message: "away", Refused: true}, false},
		"call-refused":              {fleet.Outcome{Verdict: fleet.Failed, Err: refused}, fleet.Status{Message: words}, true},
		"lost":                      {fleet.Outcome{Verdict: fleet.Lost, Err: refused}, fleet.Status{Message: words}, true},
		"not-tried":                 {fleet.Outcome{Verdict: fleet.NotTried, Err: timeUp}, fleet.Status{Message: timeUp.Error()}, true},
	} {
		var kept Contents
		both := procapitest.Parse(t, one1, two2)
		test.want.State = fleet.Unknown
		statuses, err := kept.Statuses(both[1:], fleet.Results{both[1]: test.outcome})
		if failed := err != nil; failed != test.failed || (failed && !errors.Is(err, test.outcome.Err)) {
			t.Errorf("%s: alone: got %v, want an error: %t", name, err, test.failed)
		}
		if diff := cmp.Diff(test.want, statuses[both[1]]); diff != "" && !test.failed {
			t.Errorf("%s: alone (-want +got):\n%s", name, diff)
		}
		for _, answered := range []fleet.Outcome{{Verdict: fleet.Done}, {Verdict: fleet.Failed, Code: 117}} {
			statuses, err := kept.Statuses(both, fleet.Results{both[0]: answered, both[1]: test.outcome})
			if diff := cmp.Diff(test.want, statuses[both[1]]); diff != "" || err != nil {
				t.Errorf("%s: beside an answer (-want +got): %v\n%s", name, err, diff)
			}
		}
	}
}

func TestInBatches(t *testing.T) {
	t.Parallel()
	all := procapitest.Parse(t, one1, two2, "0:10.0.0.3")
	results := InBatches(t.Context(), slices.Chunk(all, 2), func(_ context.Context, batch []fleet.Host) fleet.Results {
		return fleet.Same(batch, fleet.Outcome{Code: int64(len(batch))})
	})
	for i, want := range []int64{2, 2, 1} {
		if got := results[all[i]].Code; got != want {
			t.Errorf("%s: got a batch of %d, want %d", all[i], got, want)
		}
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Resume asks for the result of an earlier run's operation, once or until it is over, and sends no operation.
// It waits for a host in progress. For a host that the task does not mention it waits only for a while, since a
// forgotten task may look like a queued one.
func TestTasks_Resume(t *testing.T) {
	t.Parallel()
	var (
		none  = said(nil)
		first = said(map[string]int64{one1: 0})
		both  = said(map[string]int64{one1: 0, two2: 0})
		busy  = said(map[string]int64{one1: 0, two2: 115})
		later = func(a answer, n int) []answer {
			return append(slices.Repeat([]answer{a}, n), both)
		}
		queued = failing(taskQueued)
	)
	const unread = "the platform's result could not be read"
	for name, c := range map[string]struct {
		answers []answer // the last is repeated
		wait    bool
		want    fleet.Verdict // of the second host
		meaning string
		asked   int
		err     bool
	}{
		"look-done":        {[]answer{both}, false, fleet.Done, "", 1, false},
		"look-failed":      {[]answer{said(map[string]int64{one1: 0, two2: 65535})}, false, fleet.Failed, Meaning(65535, ""), 1, false},
		"look-away":        {[]answer{said(map[string]int64{one1: 0, two2: 117})}, false, fleet.Lost, meaningLostOnTheWay, 1, false},
		"look-in-progress": {[]answer{busy}, false, fleet.Pending, "still in progress", 1, false},
		"look-missing":     {[]answer{first}, false, fleet.Pending, "the platform's result did not mention the host", 1, false},
		"look-queued":      {[]answer{failing(taskQueued)}, false, fleet.Pending, "the task was still queued", 1, false},
		"look-bad-gateway": {[]answer{failing(badGateway)}, false, fleet.Pending, unread, 1, false},
		"look-refused":     {[]answer{failing(noSuchTask)}, false, fleet.Pending, unread, 1, false},

		"done":                    {[]answer{both}, true, fleet.Done, "", 1, false},
		"in-progress-for-long":    {later(busy, 30), true, fleet.Done, "", 31, false},
		"in-progress-then-gone":   {append([]answer{busy}, later(none, 30)...), true, fleet.Done, "", 32, false},
		"missing-at-first":        {later(first, enoughLooks-1), true, fleet.Done, "", enoughLooks, false},
		"queued-at-first":         {later(failing(taskQueued), enoughLooks-1), true, fleet.Done, "", enoughLooks, false},
		"missing":                 {[]answer{first}, true, fleet.Lost, "the platform's result did not mention the host", enoughLooks, false},
		"empty":                   {[]answer{none}, true, fleet.Lost, "the platform's result did not mention the host", enoughLooks, false},
		"queued":                  {[]answer{failing(taskQueued)}, true, fleet.Lost, "the task was still queued", enoughLooks, false},
		"queued-in-other-words":   {[]answer{failing(ErrQueued)}, true, fleet.Lost, "the task was still queued", enoughLooks, false},
		"bad-gateway":             {[]answer{failing(badGateway)}, true, fleet.Pending, unread, enoughLooks, false},
		"refused":                 {[]answer{failing(noSuchTask)}, true, fleet.Lost, unread, enoughLooks, true},
		"refused-at-first":        {later(failing(noSuchTask), enoughLooks-1), true, fleet.Done, "", enoughLooks, false},
		"bad-gateway-then-queued": {append(slices.Repeat([]answer{failing(badGateway)}, enoughLooks-1), queued), true, fleet.Pending, "the task was still queued", enoughLooks, false},
		"refused-then-queued":     {append(slices.Repeat([]answer{failing(noSuchTask)}, enoughLooks-1), queued), true, fleet.Pending, "the task was still queued", enoughLooks, false},
		"bad-gateway-in-between":  {append([]answer{queued, failing(badGateway)}, queued), true, fleet.Pending, "the task was still queued", enoughLooks, false},
		"not-found":               {[]answer{failing(notFound)}, true, fleet.Lost, unread, enoughLooks, true},
		"bad-request-at-first":    {later(failing(&bkapi.Error{Kind: bkapi.KindStatus, Status: http.StatusBadRequest, Code: 1000400}), enoughLooks-1), true, fleet.Done, "", enoughLooks, false},
		"not-found-by-a-proxy":    {[]answer{failing(&bkapi.Error{Kind: bkapi.KindStatus, Status: http.StatusNotFound})}, true, fleet.Pending, unread, 1, true},
		"no-such-api":             {[]answer{failing(&bkapi.Error{Gateway: bkapi.APIGW, Kind: bkapi.KindStatus, Status: http.StatusNotFound, Code: 1640401})}, true, fleet.Pending, unread, enoughLooks, true},
		"forbidden":               {[]answer{failing(&bkapi.Error{Kind: bkapi.KindStatus, Status: http.StatusForbidden, Code: 1000403})}, true, fleet.Pending, unread, 1, true},
		"no-permission":           {[]answer{failing(&bkapi.Error{Kind: bkapi.KindRefused, Status: http.StatusOK, Code: bkapi.CodeNoPermission})}, true, fleet.Pending, unread, 1, true},
		"denied-by-esb":           {[]answer{failing(denied)}, true, fleet.Pending, unread, enoughLooks, true},
		"denied-and-refused":      {[]answer{failing(denied), failing(noSuchTask)}, true, fleet.Pending, unread, enoughLooks, true},
		"refused-after-an-answer": {append([]answer{failing(denied), first}, failing(noSuchTask)), true, fleet.Lost, unread, enoughLooks + 2, true},
		"in-progress-to-refused":  {[]answer{busy, failing(noSuchTask)}, true, fleet.Pending, "still in progress", enoughLooks + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &platform{t: t, answers: c.answers}
				hosts := procapitest.Parse(t, one1, two2)
				got := p.tasks().Resume(t.Context(), Resumption{Task: "T", Call: CallOf(fleet.Start, false), Hosts: hosts, Wait: c.wait})[hosts[1]]
				if got.Verdict != c.want || got.Meaning != c.meaning || got.TaskID != "T" || (got.Err != nil) != c.err {
					t.Errorf("got %+v, want verdict %d, %q", got, c.want, c.meaning)
				}
				if p.asked != c.asked || p.sent > 0 {
					t.Errorf("asked %d times, want %d; sent %d times", p.asked, c.asked, p.sent)
				}
			})
		})
	}
}

// If the caller ends the wait, the task does not count as forgotten.
func TestTasks_Resume_timeUp(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{"in-progress": said(map[string]int64{two2: 115}), "missing": said(nil), "queued": failing(taskQueued)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				p := &platform{t: t, answers: []answer{a}}
				hosts := procapitest.Parse(t, two2)
				got := p.tasks().Resume(ctx, Resumption{Task: "T", Call: CallOf(fleet.Start, false), Hosts: hosts, Wait: true})[hosts[0]]
				if got.Verdict != fleet.Pending || !errors.Is(got.Err, context.DeadlineExceeded) || !strings.Contains(got.Err.Error(), "task T") {
					t.Errorf("got %+v, want pending", got)
				}
			})
		})
	}
}

// One host is in progress, and the task does not mention the other. The wait for the first does not
// change the verdict on the second.
func TestTasks_Resume_sideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := said(map[string]int64{one1: 115})
		p := &platform{t: t, answers: append(slices.Repeat([]answer{busy}, 40), said(map[string]int64{one1: 0}))}
		hosts := procapitest.Parse(t, one1, two2)
		var observed int
		results := p.tasks().Resume(t.Context(), Resumption{
			Task: "T", Call: CallOf(fleet.Start, false), Hosts: hosts, Wait: true, Observe: func(fleet.Results) { observed++ },
		})
		if !results[hosts[0]].OK() || results[hosts[1]].Verdict != fleet.Lost || observed != 1 {
			t.Errorf("got %+v, observed verdicts %d times", results, observed)
		}
	})
}

func TestByTask(t *testing.T) {
	t.Parallel()
	hosts := procapitest.Parse(t, one1, two2, "0:10.0.0.3")
	restart := fleet.Task{ID: "T", Operation: fleet.Restart}
	over := restart
	over.RegisterTime, over.Fresh = 5, true
	groups := 0
	for group := range ByTask(map[fleet.Host]fleet.Task{hosts[0]: restart, hosts[1]: over, hosts[2]: {ID: "T", Operation: fleet.Start}}) {
		groups++
		if alone := group[0] == hosts[2]; alone != (len(group) == 1) {
			t.Errorf("together: %v", group)
		}
	}
	if groups != 2 {
		t.Errorf("got %d groups, want 2", groups)
	}
}
