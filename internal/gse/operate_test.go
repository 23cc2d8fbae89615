package gse

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// An operation whose answer is lost is not sent again, unless it can be repeated without harm.
func TestOperate_accepting(t *testing.T) {
	t.Parallel()
	const (
		once    = fleet.Restart // and every other operation that runs a command
		noIDYet = `{"task_id":""}`
	)
	start := func(reply http.HandlerFunc) exchange { return exchange{API: apiOperate, Reply: reply} }
	finished := result(said(v2(1), code(0)))
	tests := map[string]struct {
		op    fleet.Operation
		steps []exchange
		want  fleet.Verdict
		says  string
	}{
		"start-lost":           {fleet.Start, []exchange{start(procapitest.Gone)}, fleet.Lost, "after the request was sent"},
		"host-lost":            {fleet.Supervise, []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"unhost-lost":          {fleet.Unsupervise, []exchange{start(procapitest.Gone), accepted, finished}, fleet.Done, ""},
		"host-lost-for-good":   {fleet.Supervise, []exchange{procapitest.Times(3, start(procapitest.Gone))}, fleet.Failed, ""},
		"bad-gateway":          {once, []exchange{start(procapitest.Answer(http.StatusBadGateway, "<html>"))}, fleet.Lost, "HTTP 502"},
		"gateway-timeout":      {once, []exchange{start(procapitest.Answer(http.StatusGatewayTimeout, "<html>"))}, fleet.Lost, "HTTP 504"},
		"host-bad-gateway":     {fleet.Supervise, []exchange{start(procapitest.Answer(http.StatusBadGateway, "<html>")), accepted, finished}, fleet.Done, ""},
		"unreadable":           {once, []exchange{start(procapitest.Answer(http.StatusOK, `{"result":tr`))}, fleet.Lost, ""},
		"bus-lost-it":          {once, []exchange{start(refusal(1306208, "null"))}, fleet.Lost, ""},
		"too-many":             {once, []exchange{procapitest.Times(2, start(procapitest.Answer(http.StatusTooManyRequests, "{}"))), accepted, finished}, fleet.Done, ""},
		"too-many-for-good":    {once, []exchange{procapitest.Times(3, start(procapitest.Answer(http.StatusTooManyRequests, "{}")))}, fleet.Failed, "HTTP 429"},
		"forbidden":            {once, []exchange{start(procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no"}`))}, fleet.Failed, "HTTP 403"},
		"refused":              {once, []exchange{start(refusal(1306000, "null"))}, fleet.Failed, "1306000"},
		"empty-task-id":        {once, []exchange{start(procapitest.Data(noIDYet))}, fleet.Lost, "named no task"},
		"null-task-id":         {once, []exchange{start(procapitest.Data(`{"task_id":null}`))}, fleet.Lost, "named no task"},
		"no-task":              {once, []exchange{start(procapitest.Data("null"))}, fleet.Lost, "named no task"},
		"number-for-task-id":   {once, []exchange{start(procapitest.Data(`{"task_id":12345678901234567890}`)), finished}, fleet.Done, ""},
		"list-for-task-id":     {once, []exchange{start(procapitest.Data(`{"task_id":["T"]}`))}, fleet.Lost, ""},
		"host-empty-task-id":   {fleet.Supervise, []exchange{start(procapitest.Data(noIDYet))}, fleet.Failed, "named no task"},
		"unhost-empty-task-id": {fleet.Unsupervise, []exchange{start(procapitest.Data(noIDYet))}, fleet.Failed, "named no task"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, test.steps...)
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) { cfg.MaxRetries = 2 })
			got := client.Process(sampleMeta, sampleSpec()).Operate(t.Context(), test.op, hosts(1), nil)[host(1)]
			if got.Verdict != test.want || (got.Err == nil) != (test.want == fleet.Done) {
				t.Fatalf("got %+v, want verdict %d", got, test.want)
			}
			if got.Err != nil && !strings.Contains(got.Err.Error(), test.says) {
				t.Errorf("got %v, want %q", got.Err, test.says)
			}
		})
	}
}

// Resume asks for earlier operations by task, host by host, and sends nothing. The task may be of an
// operation on more hosts, or on more processes.
func TestResume(t *testing.T) {
	t.Parallel()
	const others = `"0:10.0.0.9:gse:proc-test":{"error_code":0},"0:10.0.0.1:gse:other":{"error_code":65535}`
	agent := procapitest.Parse(t, agentA)[0]
	about := func(key string, code string) exchange { return result("{" + others + `,"` + key + `":` + code + "}") }
	pendingThen := func(key string) []exchange { return []exchange{about(key, code(115)), about(key, code(0))} }
	for name, test := range map[string]struct {
		gateway bool
		host    fleet.Host
		op      fleet.Operation
		wait    bool
		steps   []exchange
		want    fleet.Verdict
		as      string // how the request named the host
	}{
		"done":            {false, host(1), fleet.Restart, true, []exchange{about(v2(1), code(0))}, fleet.Done, ""},
		"failed":          {false, host(1), fleet.Restart, true, []exchange{about(v2(1), code(65535))}, fleet.Failed, ""},
		"waited-for":      {false, host(1), fleet.Restart, true, pendingThen(v2(1)), fleet.Done, ""},
		"looked-at":       {false, host(1), fleet.Restart, false, []exchange{about(v2(1), code(115))}, fleet.Pending, ""},
		"started":         {false, host(1), fleet.Start, true, []exchange{about(v2(1), code(828))}, fleet.Done, ""},
		"other-form":      {false, host(1), fleet.Restart, true, []exchange{about("0:0:10.0.0.1:gse:proc-test", code(0))}, fleet.Done, ""},
		"left-out":        {false, host(1), fleet.Restart, true, []exchange{procapitest.Times(procapitest.ForEver, result("{"+others+"}"))}, fleet.Lost, ""},
		"queued":          {false, host(1), fleet.Restart, true, []exchange{procapitest.Times(procapitest.ForEver, queued)}, fleet.Lost, ""},
		"forbidden":       {false, host(1), fleet.Restart, true, []exchange{{API: apiResult, Reply: procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no"}`)}}, fleet.Pending, ""},
		"named-otherwise": {false, host(1), fleet.Restart, true, []exchange{about("0:10.0.0.8:gse:proc-test", code(0))}, fleet.Done, "0:10.0.0.8"},
		"gateway":         {true, agent, fleet.Restart, true, pendingThen(agentA + ":gse:proc-test"), fleet.Done, ""},
		"gateway-failed":  {true, agent, fleet.Reload, true, []exchange{about(agentA+":gse:proc-test", code(65535))}, fleet.Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				script *procapitest.Script
				p      *Process
			)
			if test.gateway {
				s, url := newGateway(t, test.steps...)
				script, p = s, gatewayProcess(t, url, sampleSpec())
			} else {
				s, url := newScript(t, test.steps...)
				script, p = s, quick(t, url).Process(sampleMeta, sampleSpec())
			}
			got := p.Resume(t.Context(), map[fleet.Host]fleet.Task{test.host: {ID: "T", Operation: test.op, As: test.as}}, test.wait, nil)[test.host]
			if got.Verdict != test.want || got.TaskID != "T" {
				t.Errorf("got %+v, want verdict %d", got, test.want)
			}
			for _, body := range script.Requests() {
				if !strings.Contains(string(body), `"task_id":"T"`) {
					t.Errorf("asked %s", body)
				}
			}
		})
	}
}

// A reinstalled machine has another agent id, and the old agent's cached status has the same address. If
// both agents are asked for, a result under that address belongs to neither.
func TestResume_oneResultForTwoHosts(t *testing.T) {
	t.Parallel()
	both := procapitest.Parse(t, agentA, agentB)
	for name, test := range map[string]struct {
		hosts []fleet.Host
		want  fleet.Verdict
	}{"both": {both, fleet.Lost}, "first": {both[:1], fleet.Done}, "second": {both[1:], fleet.Done}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newGateway(t, procapitest.Times(procapitest.ForEver, result(`{"`+v2(9)+`":`+code(0)+`}`)))
			p := gatewayProcess(t, url, sampleSpec())
			tasks := make(map[fleet.Host]fleet.Task)
			for _, h := range both {
				p.client.learn(h.WithoutSupplier(), host(9).WithoutSupplier())
			}
			for _, h := range test.hosts {
				tasks[h] = fleet.Task{ID: "T", Operation: fleet.Restart}
			}
			for h, got := range p.Resume(t.Context(), tasks, true, nil) {
				if got.Verdict != test.want {
					t.Errorf("%s: got %+v, want verdict %d", h, got, test.want)
				}
			}
		})
	}
}

// A one-shot process has ended when its start is checked (836).
func TestOperate_oneShot(t *testing.T) {
	t.Parallel()
	for kind, want := range map[int64]fleet.Verdict{AutoPeriodic: fleet.Failed, AutoResident: fleet.Failed, AutoOneShot: fleet.Done} {
		for _, op := range []fleet.Operation{fleet.Start, fleet.Restart} {
			_, url := newScript(t, accepted, result(said(v2(1), code(procapi.CodeCheckFailed))))
			spec := sampleSpec()
			spec.MonitorPolicy.AutoType = kind
			p := quick(t, url).Process(sampleMeta, spec)
			if got := p.Operate(t.Context(), op, hosts(1), nil)[host(1)]; got.Verdict != want || p.OneShot() != (want == fleet.Done) {
				t.Errorf("%s with auto_type %d: got %+v, want verdict %d", op, kind, got, want)
			}
		}
	}
}

// The platform may have received a request that was under way when the context ended. It has not received
// a request that was not sent.
func TestOperate_endedBeforeItWasAccepted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		op     fleet.Operation
		before bool // the context ends before the request
		want   fleet.Verdict
	}{
		"start-before": {fleet.Start, true, fleet.NotTried},
		"host-before":  {fleet.Supervise, true, fleet.NotTried},
		"start-during": {fleet.Start, false, fleet.Lost},
		"kill-during":  {fleet.Kill, false, fleet.Lost},
		"host-during":  {fleet.Supervise, false, fleet.Pending},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var steps []exchange
			if test.before {
				cancel()
			} else {
				steps = []exchange{{API: apiOperate, Reply: procapitest.Hang(cancel)}}
			}
			_, url := newScript(t, steps...)
			got := quick(t, url).Process(sampleMeta, sampleSpec()).Operate(ctx, test.op, hosts(1), nil)[host(1)]
			if got.Verdict != test.want || !errors.Is(got.Err, context.Canceled) {
				t.Errorf("got %+v, want verdict %d and %v", got, test.want, context.Canceled)
			}
		})
	}
}
