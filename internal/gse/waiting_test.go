package gse

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

var (
	queued     = exchange{API: apiResult, Reply: refusal(procapi.CodeTaskQueued, "null")}
	badGateway = exchange{API: apiResult, Reply: procapitest.Answer(http.StatusBadGateway, "<html>Bad Gateway</html>")}
)

// Every script begins with the one request that starts the operation, so a
// second one would fail its test.
func TestOperate_waits(t *testing.T) {
	t.Parallel()
	var (
		both   = result(said(v2(1), code(0), v2(2), code(0)))
		second = result(said(v2(2), code(0)))
		done   = map[int]fleet.Outcome{1: byTask(outcome(fleet.Done, 0)), 2: byTask(outcome(fleet.Done, 0))}
		late   = func(e exchange) []exchange { return []exchange{procapitest.Times(7, e), both} }
	)
	tests := map[string]struct {
		steps []exchange
		want  map[int]fleet.Outcome
	}{
		"at-once":               {[]exchange{both}, done},
		"in-progress":           {late(result(said(v2(1), code(115), v2(2), code(115)))), done},
		"in-progress-alone":     {[]exchange{procapitest.Times(7, result(said(v2(1), code(0), v2(2), code(115)))), both}, done},
		"missing":               {late(result("{}")), done},
		"missing-alone":         {[]exchange{procapitest.Times(7, result(said(v2(1), code(0)))), both}, done},
		"missing-in-turn":       {[]exchange{result(said(v2(1), code(0))), second}, done},
		"in-progress-then-gone": {[]exchange{result(said(v2(1), code(115), v2(2), code(0))), result("{}"), both}, done},
		"queued":                {late(queued), done},
		"queued-with-object":    {late(exchange{API: apiResult, Reply: refusal(procapi.CodeTaskQueued, "{}")}), done},
		"queued-code-as-text": {late(exchange{API: apiResult, Reply: procapitest.Answer(http.StatusOK,
			`{"code":"1000115","message":"queued","data":null}`)}), done},
		"queued-after-a-verdict": {[]exchange{result(said(v2(1), code(0))), queued, second}, done},
		"null-data":              {late(result("null")), done},
		"text-data":              {late(result(`""`)), done},
		"list-data":              {late(result("[]")), done},
		"bad-gateway-between":    {[]exchange{badGateway, result(said(v2(1), code(0))), badGateway, second}, done},
		"too-many-between":       {[]exchange{{API: apiResult, Reply: procapitest.Answer(http.StatusTooManyRequests, "{}")}, both}, done},
		"hang-up-between":        {[]exchange{{API: apiResult, Reply: procapitest.Gone}, both}, done},
		"login-page-between":     {[]exchange{{API: apiResult, Reply: procapitest.Answer(http.StatusOK, "<html>")}, both}, done},
		"bus-error-between":      {[]exchange{{API: apiResult, Reply: refusal(1306201, "null")}, both}, done},
		"keys-of-others": {[]exchange{
			result(said("0:10.0.0.9:gse:proc-test", code(65535), "0:7:10.0.0.1:gse:proc-test", code(65535), "10.0.0.1:gse:proc-test", code(65535), v2(1)+"2", code(65535), "", code(65535))),
			both,
		}, done},
		"mixed": {
			[]exchange{result(said(v2(1), code(65535), v2(2), code(828)))},
			map[int]fleet.Outcome{
				1: byTask(ran(outcome(fleet.Failed, 65535))),
				2: byTask(fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true, Code: 828, Message: "message 828", Meaning: "the process is running already", RequestID: "req-1"}),
			},
		},
		"first-verdict-is-kept": {
			[]exchange{result(said(v2(1), code(0), v2(2), code(115))), result(said(v2(1), code(65535), v2(2), code(117)))},
			map[int]fleet.Outcome{1: byTask(outcome(fleet.Done, 0)), 2: byTask(outcome(fleet.Failed, 117))},
		},
		"first-failure-is-kept": {
			[]exchange{result(said(v2(1), code(65535), v2(2), code(115))), both},
			map[int]fleet.Outcome{1: byTask(ran(outcome(fleet.Failed, 65535))), 2: byTask(outcome(fleet.Done, 0))},
		},
		"null-verdict": {
			[]exchange{result(said(v2(1), "null", v2(2), "{}")), both}, done,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, append([]exchange{accepted}, test.steps...)...)
			results := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(t.Context(), fleet.Start, hosts(2), nil)
			procapitest.WantResults(t, test.want, results)
		})
	}
}

// The wait ends before every host has a verdict: the finished are kept, and the
// others are pending, because the operation was accepted.
func TestOperate_endsBeforeItSettles(t *testing.T) {
	t.Parallel()
	silent := "the platform's result did not mention the host"
	tests := map[string]struct {
		steps   []exchange // the last is repeated for ever
		code    int64
		meaning string // of host 2
		says    string // what its error says besides how the wait ended
		both    bool   // host 1 has no verdict either
	}{
		"missing":           {[]exchange{result(said(v2(1), code(0)))}, 0, silent, "", false},
		"in-progress":       {[]exchange{result(said(v2(1), code(0), v2(2), code(115)))}, 115, "still in progress", "", false},
		"missing-after-115": {[]exchange{result(said(v2(1), code(0), v2(2), code(115))), result("{}")}, 115, "still in progress", "", false},
		"queued":            {[]exchange{queued}, 0, "the task was still queued", "1000115", true},
		"bad-gateway":       {[]exchange{badGateway}, 0, "the platform's result could not be read", "HTTP 502", true},
		"bad-gateway-after-verdict": {
			[]exchange{result(said(v2(1), code(0))), badGateway}, 0, "the platform's result could not be read", "HTTP 502", false,
		},
		"recovered": {[]exchange{queued, badGateway, result(said(v2(1), code(0)))}, 0, silent, "", false},
	}
	for how, cause := range map[string]error{"deadline": context.DeadlineExceeded, "interrupt": context.Canceled} {
		for name, test := range tests {
			t.Run(how+"/"+name, func(t *testing.T) {
				t.Parallel()
				steps := slices.Clone(test.steps)
				steps[len(steps)-1].Times = procapitest.ForEver
				_, url := newScript(t, append([]exchange{accepted}, steps...)...)
				ctx, end := procapitest.Ending(t, cause)
				client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) {
					cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
						if n == 5 {
							end()
						}
					})
				})
				results := client.Process(sampleMeta, sampleSpec()).Operate(ctx, fleet.Start, hosts(2), nil)
				if first := results[host(1)]; first.OK() == test.both {
					t.Errorf("host 1: got %+v", first)
				}
				got := results[host(2)]
				if got.Verdict != fleet.Pending || got.Code != test.code || got.Meaning != test.meaning || got.TaskID != "T" {
					t.Errorf("host 2: got %+v, want pending, code %d, %q", got, test.code, test.meaning)
				}
				if !errors.Is(got.Err, cause) || !strings.Contains(got.Err.Error(), test.says) {
					t.Errorf("host 2: got error %v, want %v and %q", got.Err, cause, test.says)
				}
				if fleet.Interrupted(got.Err) != (how == "interrupt") {
					t.Errorf("host 2: Interrupted(%v) is wrong", got.Err)
				}
			})
		}
	}
}

// An error that will not pass ends the wait at once, and the operation may still
// be running.
func TestOperate_resultRefused(t *testing.T) {
	t.Parallel()
	first := result(said(v2(1), code(0)))
	forbidden := exchange{API: apiResult, Reply: procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`)}
	tests := map[string]struct {
		steps []exchange
		says  string
	}{
		"forbidden":        {[]exchange{first, forbidden}, "no permission"},
		"forbidden-queued": {[]exchange{first, queued, forbidden}, "no permission"},
		"not-found":        {[]exchange{first, {API: apiResult, Reply: procapitest.Answer(http.StatusNotFound, `{"code":1306404,"message":"not found"}`)}}, "HTTP 404"},
		"refused":          {[]exchange{first, {API: apiResult, Reply: refusal(1306000, "null")}}, "1306000"},
		"other-number":     {[]exchange{first, {API: apiResult, Reply: refusal(1011003, "null")}}, "1011003"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, append([]exchange{accepted}, test.steps...)...)
			results := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(t.Context(), fleet.Start, hosts(2), nil)
			got := results[host(2)]
			if !results[host(1)].OK() || got.Verdict != fleet.Pending || got.Err == nil || got.Meaning != "the platform's result could not be read" {
				t.Fatalf("got %+v, want host 1 done and host 2 pending", results)
			}
			if text := got.Err.Error(); !strings.Contains(text, "task T") || !strings.Contains(text, test.says) {
				t.Errorf("got %q, want the task and %q", text, test.says)
			}
		})
	}
}

// A client that waits an hour between polls still ends when it is told to.
func TestOperate_interruptsTheWait(t *testing.T) {
	t.Parallel()
	_, url := newScript(t, accepted, result(said(v2(1), code(0), v2(2), code(115))))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := newTestClient(t, url, func(cfg *bkapi.Config, opts *procapi.Options) {
		opts.Backoff = poll.Backoff{First: 1 << 42}
		cfg.Logger = procapitest.OnCall(apiResult, func(int) { cancel() })
	})
	results := client.Process(sampleMeta, sampleSpec()).Operate(ctx, fleet.Start, hosts(2), nil)
	pending := byTask(outcome(fleet.Pending, 115))
	pending.Err = context.Canceled
	procapitest.WantResults(t, map[int]fleet.Outcome{1: byTask(outcome(fleet.Done, 0)), 2: pending}, results)
}

func TestOperate_interruptsAPoll(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, url := newScript(t, accepted, result(said(v2(1), code(0))), exchange{API: apiResult, Reply: procapitest.Hang(cancel)})
	results := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(ctx, fleet.Start, hosts(2), nil)
	procapitest.WantResults(t, map[int]fleet.Outcome{
		1: byTask(outcome(fleet.Done, 0)),
		2: {Verdict: fleet.Pending, TaskID: "T", Meaning: "the platform's result did not mention the host", Err: context.Canceled},
	}, results)
}
