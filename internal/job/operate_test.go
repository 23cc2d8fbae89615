package job

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

var (
	queued     = exchange{API: apiResult, Reply: procapitest.Data(`{"status":115,"result":{}}`)}
	oldQueued  = exchange{API: apiResult, Reply: refusal(1000115, "redis reply is not string")}
	gseTrouble = exchange{API: apiResult, Reply: refusal(codeGSEError, "GSE error")}
)

// JOB's answers while a task is in progress: after each of them the client asks again. Package procapi
// tests the wait itself. The status of a result is reserved: only the results of the hosts count. The
// script begins with the one request that starts the operation.
func TestOperate_waits(t *testing.T) {
	t.Parallel()
	raw := func(body string) exchange { return exchange{API: apiResult, Reply: procapitest.Data(body)} }
	for name, early := range map[string]exchange{
		"status-0-and-empty":      raw(`{"status":0,"result":{}}`),
		"status-0-and-unfinished": raw(`{"status":0,"result":` + said(key(1), code(65535), key(2), code(115)) + `}`),
		"queued":                  queued,
		"queued-null":             raw(`{"status":115,"result":null}`),
		"queued-text":             raw(`{"status":"115","result":""}`),
		"queued-code":             oldQueued,
		"no-data":                 raw("null"),
		"no-result":               raw("{}"),
		"list":                    raw("[]"),
		"missing":                 result(said(key(1), code(65535))),
		"gse-trouble":             gseTrouble,
		"bad-gateway":             {API: apiResult, Reply: procapitest.Answer(http.StatusBadGateway, "<html>")},
	} {
		for status, last := range map[string]string{"115": `{"status":115,`, "0": `{"status":0,`, "odd": `{"status":"?",`, "null": `{"status":null,`} {
			t.Run(name+"/finished-with-"+status, func(t *testing.T) {
				t.Parallel()
				finished := raw(last + `"result":` + said(key(1), code(65535), key(2), `{"errcode":828,"errmsg":"message 828","content":{}}`) + `}`)
				_, url := newScript(t, accepted, procapitest.Times(3, early), finished)
				results := quick(t, url).Process(bizScope, "", operateInfo()).Operate(t.Context(), fleet.Start, hosts(2), nil)
				procapitest.WantResults(t, map[int]fleet.Outcome{1: ran(outcome(fleet.Failed, 65535)), 2: already(outcome(fleet.Done, 828))}, results)
			})
		}
	}
}

// Once an operation was accepted, it stays accepted, however the wait ends.
func TestOperate_waitEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		last    exchange // repeated
		meaning string
		says    string
	}{
		"queued":      {queued, "the task was still queued", "still queued"},
		"queued-code": {oldQueued, "the task was still queued", "1000115"},
		"status-0":    {exchange{API: apiResult, Reply: procapitest.Data(`{"status":0,"result":{}}`)}, "the platform's result did not mention the host", ""},
		"gse-trouble": {gseTrouble, "the platform's result could not be read", "1210001"},
		"not-found":   {exchange{API: apiResult, Reply: procapitest.Answer(http.StatusNotFound, `{"code":1306404,"message":"not found"}`)}, "the platform's result could not be read", "HTTP 404"},
		"refused":     {exchange{API: apiResult, Reply: refusal(1000126, "terminated")}, "the platform's result could not be read", "1000126"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
			// The end of the context may interrupt any of the last answers: they are all the same.
			polls, last := 0, test.last.Reply
			test.last.Times, test.last.Reply = procapitest.ForEver, procapitest.After(func() {
				if polls++; polls == 5 {
					end()
				}
			}, last)
			_, url := newScript(t, accepted, result(said(key(1), code(0))), test.last)
			results := quick(t, url).Process(scope, "", operateInfo()).Operate(ctx, fleet.Kill, hosts(2), nil)
			got := results[host(2)]
			if !results[host(1)].OK() || got.Verdict != fleet.Pending || got.Meaning != test.meaning || got.TaskID != "T" || got.Err == nil {
				t.Fatalf("got %+v, want host 1 done and host 2 pending, %q", results, test.meaning)
			}
			if !strings.Contains(got.Err.Error(), test.says) {
				t.Errorf("got error %v, want %q", got.Err, test.says)
			}
		})
	}
}

// An operation whose answer is lost is not sent again, unless it can be repeated without harm. Through
// manage_proc nothing can.
func TestProcess_accepting(t *testing.T) {
	t.Parallel()
	type call func(*Process, context.Context, []fleet.Host) fleet.Results
	operate := func(op fleet.Operation) call {
		return func(p *Process, ctx context.Context, hosts []fleet.Host) fleet.Results {
			return p.Operate(ctx, op, hosts, nil)
		}
	}
	var (
		start    = func(reply http.HandlerFunc) exchange { return exchange{API: apiOperate, Reply: reply} }
		manage   = func(reply http.HandlerFunc) exchange { return exchange{API: apiManage, Reply: reply} }
		finished = result(said(key(1), code(0)))
		sent     = "after the request was sent"
	)
	for name, test := range map[string]struct {
		by    Registration
		call  call
		steps []exchange
		want  fleet.Verdict
		says  string
	}{
		"start-lost":        {"", operate(fleet.Start), []exchange{start(procapitest.Gone)}, fleet.Lost, sent},
		"host-lost":         {"", operate(fleet.Supervise), []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"unhost-lost":       {"", operate(fleet.Unsupervise), []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"register-lost":     {RegisterByOperate, (*Process).Register, []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"reregister-lost":   {RegisterByOperate, (*Process).Reregister, []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"unregister-lost":   {RegisterByOperate, (*Process).Unregister, []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"manage-lost":       {RegisterByManage, (*Process).Register, []exchange{manage(procapitest.Gone)}, fleet.Lost, sent},
		"manage-again-lost": {RegisterByManage, (*Process).Reregister, []exchange{manage(procapitest.Gone)}, fleet.Lost, sent},
		"unmanage-lost":     {RegisterByManage, (*Process).Unregister, []exchange{manage(procapitest.Gone)}, fleet.Lost, sent},
		"manage-too-many": {RegisterByManage, (*Process).Register, append([]exchange{
			manage(procapitest.Answer(http.StatusTooManyRequests, "{}")), registered, finished,
		}, foundOn(hostedInstance, 1)...), fleet.Done, ""},
		"manage-no-task":        {RegisterByManage, (*Process).Register, []exchange{manage(procapitest.Data(`{"bk_gse_taskid":""}`))}, fleet.Lost, "named no task"},
		"register-no-task":      {RegisterByOperate, (*Process).Register, []exchange{start(procapitest.Data(`{"bk_gse_taskid":""}`))}, fleet.Lost, "named no task"},
		"start-no-task":         {"", operate(fleet.Start), []exchange{start(procapitest.Data("null"))}, fleet.Lost, "named no task"},
		"start-other-task-name": {"", operate(fleet.Start), []exchange{start(procapitest.Data(`{"task_id":"T"}`))}, fleet.Lost, "named no task"},
		// JOB before it had scopes, by the public code of a client.
		"start-older-task": {"", operate(fleet.Start), []exchange{start(procapitest.Answer(http.StatusOK,
			`{"result":true,"code":"00","message":"","data":{"errorCode":0,"gseTaskId":"GSETASK:20170413215154:8239","errorMessage":"success"}}`))}, fleet.Lost, "named no task"},
		"start-refused":        {"", operate(fleet.Start), []exchange{start(refusal(1241002, "illegal parameter"))}, fleet.Failed, "1241002"},
		"start-gse-trouble":    {"", operate(fleet.Start), []exchange{start(refusal(codeGSEError, "GSE error"))}, fleet.Lost, "1210001"},
		"manage-gse-trouble":   {RegisterByManage, (*Process).Register, []exchange{manage(refusal(codeGSEError, "GSE error"))}, fleet.Lost, "1210001"},
		"register-gse-trouble": {RegisterByOperate, (*Process).Register, []exchange{start(refusal(codeGSEError, "GSE error"))}, fleet.Lost, "1210001"},
		"bad-gateway":          {"", operate(fleet.Start), []exchange{start(procapitest.Answer(http.StatusBadGateway, "<html>"))}, fleet.Lost, "HTTP 502"},
		"bus-lost-it":          {"", operate(fleet.Start), []exchange{start(refusal(1306201, "Status Code: 502"))}, fleet.Lost, "1306201"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, test.steps...)
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.MaxRetries = 2 })
			got := test.call(client.Process(scope, test.by, operateInfo()), t.Context(), hosts(1))[host(1)]
			if got.Verdict != test.want || (got.Err == nil) != (test.want == fleet.Done) {
				t.Fatalf("got %+v, want verdict %d", got, test.want)
			}
			if got.Err != nil && !strings.Contains(got.Err.Error(), test.says) {
				t.Errorf("got %v, want %q", got.Err, test.says)
			}
		})
	}
}

// Only start depends on the kind of process: a one-shot process has ended when its start is checked.
func TestOperate_oneShot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind *int64
		want fleet.Verdict
	}{
		"one-shot": {new(int64(TypeOneShot)), fleet.Done},
		"resident": {new(int64(TypeResident)), fleet.Failed},
		"periodic": {new(int64(TypePeriodic)), fleet.Failed},
		"unsaid":   {nil, fleet.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, accepted, result(said(key(1), code(836))))
			info := operateInfo()
			info.Type = test.kind
			if got := quick(t, url).Process(scope, "", info).Operate(t.Context(), fleet.Start, hosts(1), nil)[host(1)]; got.Verdict != test.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// JOB cannot name a host by its agent id, so nothing is sent for such a host. The other hosts do not wait
// for it.
func TestProcess_agentIDs(t *testing.T) {
	t.Parallel()
	const agent = "0200000007525400f355781710390005465c"
	mixed := procapitest.Parse(t, agent, "0:10.0.0.1")
	finished := result(said(key(1), answered(`{"pid":42}`)))
	_, url := newScript(t, accepted, finished, accepted, finished, accepted, finished)
	p := quick(t, url).Process(scope, "", operateInfo())
	for name, results := range map[string]fleet.Results{
		"register": p.Register(t.Context(), mixed),
		"start":    p.Operate(t.Context(), fleet.Start, mixed, nil),
		"alone":    p.Operate(t.Context(), fleet.Start, mixed[:1], nil),
	} {
		got := results[mixed[0]]
		if got.Verdict != fleet.Failed || !strings.Contains(got.Meaning, "not by agent id") || got.Err != nil {
			t.Errorf("%s: got %+v", name, got)
		}
		if name != "alone" && !results[mixed[1]].OK() {
			t.Errorf("%s: got %+v", name, results[mixed[1]])
		}
	}
	statuses, err := p.CachedStatus(t.Context(), mixed)
	if err != nil || statuses[mixed[1]].State != fleet.Running {
		t.Errorf("got %v, %v", statuses, err)
	}
	if got := statuses[mixed[0]]; got.State != fleet.Unknown || !strings.Contains(got.Message, "not by agent id") {
		t.Errorf("got %+v", got)
	}
}

// Resume asks for earlier operations by task and in their scope, and sends nothing.
func TestResume(t *testing.T) {
	t.Parallel()
	forEver := func(e exchange) []exchange { return []exchange{procapitest.Times(procapitest.ForEver, e)} }
	about := func(n int) exchange { return result(said(key(1), code(n), key(9), code(0))) }
	for name, test := range map[string]struct {
		wait  bool
		steps []exchange
		want  fleet.Verdict
	}{
		"waited-for":  {true, []exchange{about(115), gseTrouble, about(115), about(0)}, fleet.Done},
		"looked-at":   {false, []exchange{about(115)}, fleet.Pending},
		"queued":      {true, forEver(queued), fleet.Lost},
		"gse-trouble": {true, forEver(gseTrouble), fleet.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, test.steps...)
			p := quick(t, url).Process(bizScope, "", operateInfo())
			got := p.Resume(t.Context(), map[fleet.Host]fleet.Task{host(1): {ID: "T", Operation: fleet.Restart}}, test.wait, nil)[host(1)]
			if got.Verdict != test.want || got.TaskID != "T" {
				t.Errorf("got %+v, want verdict %d", got, test.want)
			}
			for _, body := range script.Requests() {
				if !strings.Contains(string(body), `"bk_gse_taskid":"T"`) || !strings.Contains(string(body), "bk_biz_id") {
					t.Errorf("asked %s", body)
				}
			}
		})
	}
}
