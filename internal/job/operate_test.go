package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// These are JOB's answers while a task is in progress, after each of which the client asks again. The status of
// a result is reserved, so only the results of the hosts count. Package procapi tests the wait itself.
func TestOperate_waits(t *testing.T) {
	t.Parallel()
	raw := func(body string) exchange { return exchange{API: apiResult, Reply: procapitest.Data(body)} }
	// status is that of the last answer.
	after := func(early exchange, status string) scene {
		last := raw(`{"status":` + status + `,"result":` + said(key(1), code(65535), key(2), `{"errcode":828,"errmsg":"message 828","content":{}}`) + `}`)
		return scene{
			call: procapitest.Operate(fleet.Start), steps: []exchange{accepted, procapitest.Times(3, early), last},
			want: on(ran(outcome(fleet.Failed, 65535)), already(outcome(fleet.Done, 828))),
		}
	}
	play(t, map[string]scene{
		"status-0":    after(raw(`{"status":0,"result":`+said(key(1), code(65535), key(2), code(115))+`}`), "0"),
		"queued":      after(queued, "115"),
		"queued-text": after(raw(`{"status":"115","result":""}`), `"?"`),
		"queued-code": after(oldQueued, "null"),
		"no-data":     after(raw("null"), "0"),
		"no-result":   after(raw("{}"), "0"),
		"list":        after(raw("[]"), "0"),
		"gse-trouble": after(gseTrouble, "0"),
	})
}

// A request whose answer is lost is sent again only if it can safely be repeated. A request to manage_proc
// never is. Package procapi tests how a request can fail.
func TestProcess_accepting(t *testing.T) {
	t.Parallel()
	var (
		lost    = exchange{API: apiOperate, Reply: procapitest.Gone}
		unnamed = exchange{API: apiOperate, Reply: procapitest.Data(`{"bk_gse_taskid":""}`)}
		other   = exchange{API: apiOperate, Reply: procapitest.Data(`{"task_id":"T"}`)}
		trouble = exchange{API: apiOperate, Reply: refusal(codeGSEError, "GSE error")}
		manage  = func(reply http.HandlerFunc) exchange { return exchange{API: apiManage, Reply: reply} }
		start   = procapitest.Operate(fleet.Start)
		sent    = func(by Registration, call procapitest.Call, want fleet.Verdict, steps ...exchange) scene {
			return scene{by: by, retries: 2, call: call, steps: steps, want: on(want, want)}
		}
	)
	play(t, map[string]scene{
		"start-lost":            sent("", start, fleet.Lost, lost),
		"host-lost":             sent("", procapitest.Operate(fleet.Supervise), fleet.Done, lost, accepted, codes(0, 0)),
		"register-lost":         sent(RegisterByOperate, procapitest.Register, fleet.Done, lost, accepted, codes(0, 0)),
		"reregister-lost":       sent(RegisterByOperate, procapitest.Reregister, fleet.Done, lost, accepted, codes(0, 0)),
		"unregister-lost":       sent(RegisterByOperate, procapitest.Unregister, fleet.Done, lost, accepted, codes(0, 0)),
		"result-lost":           sent("", start, fleet.Done, accepted, exchange{API: apiResult, Reply: procapitest.Gone}, codes(0, 0)),
		"manage-lost":           sent(RegisterByManage, procapitest.Register, fleet.Lost, manage(procapitest.Gone)),
		"unmanage-lost":         sent(RegisterByManage, procapitest.Unregister, fleet.Lost, manage(procapitest.Gone)),
		"manage-no-task":        sent(RegisterByManage, procapitest.Register, fleet.Lost, manage(procapitest.Data(`{"bk_gse_taskid":""}`))),
		"register-no-task":      sent(RegisterByOperate, procapitest.Register, fleet.Lost, unnamed),
		"start-other-task-name": sent("", start, fleet.Lost, other),
		"start-gse-trouble":     sent("", start, fleet.Lost, trouble),
		"manage-gse-trouble":    sent(RegisterByManage, procapitest.Register, fleet.Lost, manage(refusal(codeGSEError, "GSE error"))),
		"register-gse-trouble":  sent(RegisterByOperate, procapitest.Register, fleet.Lost, trouble),
	})
}

// Only start depends on the kind of process: a one-shot process has ended when its start is checked.
func TestOperate_oneShot(t *testing.T) {
	t.Parallel()
	of := func(kind *int64, want fleet.Verdict) scene {
		return scene{
			edit: func(info *Info) { info.Type = kind }, call: procapitest.Operate(fleet.Start),
			steps: []exchange{accepted, codes(836, 836)}, want: on(want, want),
		}
	}
	play(t, map[string]scene{
		"one-shot": of(new(int64(TypeOneShot)), fleet.Done),
		"resident": of(new(int64(TypeResident)), fleet.Failed),
		"periodic": of(new(int64(TypePeriodic)), fleet.Failed),
		"unsaid":   of(nil, fleet.Failed),
	})
}

// JOB cannot name a host by its agent id, so nothing is sent for such a host. The other hosts do not wait for it.
func TestProcess_agentIDs(t *testing.T) {
	t.Parallel()
	const agent = "0200000007525400f355781710390005465c"
	mixed := procapitest.Parse(t, agent, "0:10.0.0.1")
	finished := result(said(key(1), answered(`{"pid":42}`)))
	p, _ := scripted(t, "", accepted, finished, accepted, finished, accepted, finished)
	for name, results := range map[string]fleet.Results{
		"register": p.Register(t.Context(), mixed),
		"start":    p.Operate(t.Context(), fleet.Start, mixed, nil),
		"alone":    p.Operate(t.Context(), fleet.Start, mixed[:1], nil),
	} {
		got := results[mixed[0]]
		procapitest.Check(t, got.Verdict == fleet.Failed && strings.Contains(got.Meaning, "not by agent id") && got.Err == nil, "%s: got %+v", name, got)
		if name != "alone" && !results[mixed[1]].OK() {
			t.Errorf("%s: got %+v", name, results[mixed[1]])
		}
	}
	statuses, err := p.CachedStatus(t.Context(), mixed)
	procapitest.Check(t, err == nil && statuses[mixed[1]].State == fleet.Running, "got %v, %v", statuses, err)
	if got := statuses[mixed[0]]; got.State != fleet.Unknown || !strings.Contains(got.Message, "not by agent id") {
		t.Errorf("got %+v", got)
	}
}

// Resume asks for earlier operations by task and in their scope, and sends nothing. Package procapi tests how long it waits.
func TestResume(t *testing.T) {
	t.Parallel()
	about := func(n int) exchange { return result(said(key(1), code(n), key(9), code(0))) }
	for name, test := range map[string]struct {
		wait  bool
		steps []exchange
		want  fleet.Verdict
	}{
		"waited-for":  {true, []exchange{about(115), gseTrouble, about(115), about(0)}, fleet.Done},
		"looked-at":   {false, []exchange{about(115)}, fleet.Pending},
		"gse-trouble": {true, []exchange{procapitest.Times(procapitest.ForEver, gseTrouble)}, fleet.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, "", test.steps...)
			got := p.Resume(t.Context(), map[fleet.Host]fleet.Task{host(1): {ID: "T", Operation: fleet.Restart}}, test.wait, nil)[host(1)]
			procapitest.Check(t, got.Verdict == test.want && got.TaskID == "T", "got %+v, want verdict %d", got, test.want)
			for _, body := range script.Requests() {
				procapitest.Check(t, strings.Contains(string(body), `"bk_gse_taskid":"T"`) && strings.Contains(string(body), "bk_scope_id"), "asked %s", body)
			}
		})
	}
}

func TestProcess_repeatsNoSecret(t *testing.T) {
	t.Parallel()
	_, url := newScript(t, accepted, result(said(key(1), `{"error_code":65535,"error_msg":"sent: s3cret"}`)))
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.AppSecret = "s3cret" })
	results := client.Process(scope, "", operateInfo()).Operate(t.Context(), fleet.Start, hosts(1), nil)
	got := results[host(1)].Message
	procapitest.Check(t, strings.Contains(got, "sent: ***"), "got %q", got)
}

// Unset values take the times of GSE's documents.
func TestInfo_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info           Info
		command, check time.Duration
	}{
		"not-set": {Info{}, 60 * time.Second, 5 * time.Second},
		"set":     {Info{OpTimeout: new(int64(7)), StartCheckEndTime: new(int64(30))}, 7 * time.Second, 30 * time.Second},
	} {
		command, check, stop := c.info.Settles()
		procapitest.Check(t, command == c.command && check == c.check && stop == 0, "%s: got %s and %s, want %s and %s", name, command, check, c.command, c.check)
	}
}

// The agents of hosts for which manage_proc reports success are asked whether they host the process. If an
// agent does not say, the effect is unknown.
func TestRegistration_readBack(t *testing.T) {
	t.Parallel()
	var (
		hosted, unhosted, unsaid = answered(hostedInstance), answered(unhostedInstance), answered(documentedInstance)
		// answers are the answers of both agents.
		answers = func(first, second string) []exchange {
			return []exchange{accepted, result(said(key(1), first, key(2), second))}
		}
		done   = outcome(fleet.Done, 0)
		denied = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningManageBug, TaskID: "T"}
		// With lost the process may be registered, and with stuck it may still be.
		lost  = fleet.Outcome{Verdict: fleet.Lost, Meaning: meaningManageUnseen, TaskID: "T"}
		stuck = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningManageUnseen, TaskID: "T"}
		// The same, if the agents could not be asked.
		lostUnasked, stuckUnasked = lost, stuck
		away, blank               = lost, lost
		stopped                   = outcome(fleet.Failed, 829)
		failed                    = outcome(fleet.Failed, 117)
	)
	stopped.Meaning = meaningManageBug
	lostUnasked.Err, stuckUnasked.Err = cmpopts.AnyError, cmpopts.AnyError
	away.Message = "the agent is abnormal or not found: message 117"
	blank.Message = "the agent's answer is not JSON"
	const query = 2
	managed := func(op int, claim exchange, back []exchange, first, second fleet.Outcome, lookAt ...int) scene {
		s := scene{
			by: RegisterByManage, call: map[int]procapitest.Call{1: procapitest.Register, 2: procapitest.Unregister}[op],
			steps: append([]exchange{registered, claim}, back...), want: on(first, second), asked: []asked{{op, []int{1, 2}}},
		}
		if len(lookAt) > 0 {
			s.asked = append(s.asked, asked{query, lookAt})
		}
		return s
	}
	play(t, map[string]scene{
		"register":                 managed(1, codes(0, 0), answers(hosted, hosted), done, done, 1, 2),
		"register-denied":          managed(1, codes(0, 0), answers(unhosted, hosted), denied, done, 1, 2),
		"register-running":         managed(1, codes(0, 0), answers(answered(`{"pid":42,"isAuto":false}`), hosted), denied, done, 1, 2),
		"register-stopped":         managed(1, codes(829, 0), foundOn(hostedInstance, 2), stopped, done, 2), // the answer of a manage_proc that stops
		"unregister":               managed(2, codes(0, 0), answers(unhosted, unhosted), done, done, 1, 2),
		"unregister-denied":        managed(2, codes(0, 0), answers(unhosted, hosted), done, denied, 1, 2),
		"unregister-nothing-there": managed(2, codes(829, 829), answers(unhosted, hosted), already(outcome(fleet.Done, 829)), denied, 1, 2),
		"one-claimed":              managed(1, codes(117, 0), foundOn(unhostedInstance, 2), failed, denied, 2),
		"none-claimed":             managed(1, codes(117, 117), nil, failed, failed),
		"hosting-unsaid":           managed(1, codes(0, 0), answers(unsaid, hosted), lost, done, 1, 2),
		"unhosting-unsaid":         managed(2, codes(0, 0), answers(unsaid, unhosted), stuck, done, 1, 2),
		"agent-unknown":            managed(1, codes(0, 0), answers(code(117), unhosted), away, denied, 1, 2),
		"unreadable":               managed(1, codes(0, 0), answers(`{"error_code":0,"content":""}`, hosted), blank, done, 1, 2),
		"query-refused":            managed(1, codes(0, 0), []exchange{{API: apiOperate, Reply: refusal(1, "no")}}, lostUnasked, lostUnasked, 1, 2),
		"query-unread":             managed(2, codes(0, 0), []exchange{accepted, {API: apiResult, Reply: refusal(1, "no")}}, stuckUnasked, stuckUnasked, 1, 2),
	})
}

// If JOB refuses to register a registered process, it is removed first, on those hosts only.
func TestReregister_replaces(t *testing.T) {
	t.Parallel()
	const query = 2
	for by, test := range map[Registration]struct {
		first              exchange
		hosted, gone, anew []exchange
		want               []asked
	}{
		RegisterByOperate: {first: accepted, want: []asked{{3, []int{1, 2, 3}}, {4, []int{2, 3}}, {3, []int{2}}}},
		RegisterByManage: {
			registered, foundOn(hostedInstance, 1), foundOn(unhostedInstance, 2), foundOn(hostedInstance, 2),
			[]asked{{1, []int{1, 2, 3}}, {query, []int{1}}, {2, []int{2, 3}}, {query, []int{2}}, {1, []int{2}}, {query, []int{2}}},
		},
	} {
		t.Run(string(by), func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, by, slices.Concat(
				[]exchange{test.first, result(said(key(1), code(0), key(2), code(850), key(3), code(850)))}, test.hosted,
				[]exchange{test.first, result(said(key(2), code(0), key(3), code(117)))}, test.gone,
				[]exchange{test.first, result(said(key(2), code(0)))}, test.anew)...)
			want := on(outcome(fleet.Done, 0), outcome(fleet.Done, 0))
			want[host(3).Address()] = outcome(fleet.Failed, 117)
			procapitest.WantOf(t, want, procapitest.Reregister(t.Context(), p, hosts(3)))
			wantAsked(t, script, test.want...)
		})
	}
}

// A host whose agent becomes unreachable while it registers again is unreachable like any other: it stays in state.
// One that is still registered after it was unregistered has nobody else's registration.
func TestReregister_second(t *testing.T) {
	t.Parallel()
	done, still, repeated := outcome(fleet.Done, 0), outcome(fleet.Failed, 850), already(outcome(fleet.Done, 850))
	still.Meaning, repeated.Repeated = meaningStillRegistered, true
	unregistered := []exchange{accepted, codes(0, 850), accepted, result(said(key(2), code(0)))}
	anew := []exchange{accepted, result(said(key(2), code(850)))}
	lost := exchange{API: apiOperate, Reply: procapitest.Gone}
	play(t, map[string]scene{
		"away-meanwhile":   {call: procapitest.Reregister, steps: []exchange{accepted, codes(0, 115), codes(0, 117)}, want: on(done, outcome(fleet.Failed, 117))},
		"still-registered": {call: procapitest.Reregister, steps: slices.Concat(unregistered, anew), want: on(done, still)},
		"by-a-lost-answer": {retries: 1, call: procapitest.Reregister, steps: slices.Concat(unregistered, []exchange{lost}, anew), want: on(done, repeated)},
	})
}

// If the time is up after the process was unregistered, it is no longer registered.
func TestReregister_endsUnregistered(t *testing.T) {
	t.Parallel()
	ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
	answer := func(n int) exchange { return result(said(key(1), code(n))) }
	_, url := newScript(t, accepted, answer(850), accepted, answer(0))
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) {
		cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
			if n == 2 {
				end()
			}
		})
	})
	got := client.Process(scope, RegisterByOperate, operateInfo()).Reregister(ctx, hosts(1))[host(1)]
	if got.Verdict != fleet.Failed || got.Meaning != "its registration was removed, and it was not registered again" || !errors.Is(got.Err, context.DeadlineExceeded) {
		t.Errorf("got %+v", got)
	}
}

// After a retry, the 850 may be the effect of our own lost request, and an endpoint that is missing now may
// have acted. An endpoint that was missing at once has done nothing.
func TestRegister_resent(t *testing.T) {
	t.Parallel()
	var (
		answer   = func(reply http.HandlerFunc) exchange { return exchange{API: apiOperate, Reply: reply} }
		gone     = answer(procapitest.Answer(http.StatusNotFound, ""))
		lost     = answer(procapitest.Gone)
		known    = answer(refusal(esbBackendError, "Status Code: 404, Error Message: ..."))
		tooMany  = answer(procapitest.Answer(http.StatusTooManyRequests, "{}"))
		taken    = already(outcome(fleet.Failed, 850))
		again    = taken
		removed  = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningRemoved, Err: cmpopts.AnyError}
		perhaps  = fleet.Outcome{Verdict: fleet.Lost, Meaning: meaningRemoved, Err: cmpopts.AnyError}
		register = func(want fleet.Outcome, steps ...exchange) scene {
			return scene{retries: 1, call: procapitest.Register, steps: steps, want: on(want, want)}
		}
	)
	again.Repeated = true
	play(t, map[string]scene{
		"taken-after-a-lost-answer": register(again, lost, accepted, codes(850, 850)),
		"taken-when-turned-away":    register(taken, tooMany, accepted, codes(850, 850)),
		"gone-at-once":              register(removed, gone),
		"gone-behind-the-esb":       register(removed, known, known),
		"gone-after-a-lost-answer":  register(perhaps, lost, gone),
	})
}

// Answers of a platform that lacks such an endpoint, or seems to.
//
// Promised in beliefs.md: The `bk_job_*` objects fail.
func TestIsRemoved(t *testing.T) {
	t.Parallel()
	// The sentence is the ESB's: RequestThirdPartyException in paas2/esb/common/errors.py, with its text for a status.
	bus := func(status string) http.HandlerFunc {
		return refusal(1306201, "Request third-party interface error, Component request third-party system [JOBV3] "+
			"interface [operate_process] error: Status Code: "+status+", please try again later")
	}
	for name, test := range map[string]struct {
		reply http.HandlerFunc
		want  bool
	}{
		"http-404":           {procapitest.Answer(http.StatusNotFound, `{"status":404,"error":"Not Found"}`), true},
		"http-404-page":      {procapitest.Answer(http.StatusNotFound, "<html>"), true},
		"http-404-with-code": {procapitest.Answer(http.StatusNotFound, `{"result":false,"code":1306404,"message":"not found"}`), true},
		"no-component":       {refusal(1306404, "Not found, component class not found"), true},
		"no-channel":         {refusal(1306405, "Not found, inactive channel"), true},
		"backend-404":        {bus("404, Error Message: Third-party system does not find this interface"), true},
		"backend-502":        {bus("502, Error Message: Third-party system Bad Gateway"), false},
		"http-502":           {procapitest.Answer(http.StatusBadGateway, "404"), false},
		"http-403":           {procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no permission"}`), false},
		"refused":            {refusal(1241002, "illegal parameter, Status Code: 404"), false},
		"gse-trouble":        {refusal(codeGSEError, "GSE error"), false},
		"lost":               {procapitest.Gone, false},
	} {
		p, _ := scripted(t, "", exchange{API: apiOperate, Reply: test.reply})
		got := p.Operate(t.Context(), fleet.Start, hosts(1), nil)[host(1)]
		procapitest.Check(t, got.Err != nil && IsRemoved(fmt.Errorf("wrapped: %w", got.Err)) == test.want, "%s: got %t of %v", name, !test.want, got.Err)
		// At a missing endpoint nothing can have begun, whatever the code means otherwise.
		if test.want && (got.Verdict != fleet.Failed || !strings.Contains(got.Meaning, "does not have the process API")) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	for _, err := range []error{nil, errors.New("HTTP 404"), &bkapi.Error{Kind: bkapi.KindConnect}} {
		procapitest.Check(t, !IsRemoved(err), "got true of %v", err)
	}
}

// For each case of the contract, the client sends its request, and reads its answer as documented.
func TestContract(t *testing.T) {
	t.Parallel()
	const task = "GSETASK:20180315180551:1000"
	var (
		one  = []string{"0:10.0.0.1"}
		more = []string{"0:10.0.0.1", "3:2001:DB8::1"} // an unusual spelling

		begun    = map[string]fleet.Outcome{"0:10.0.0.1": {Verdict: fleet.Pending, TaskID: task}} // and no more is known
		begunAll = map[string]fleet.Outcome{"0:10.0.0.1": begun["0:10.0.0.1"], "3:2001:db8::1": begun["0:10.0.0.1"]}
		stopped  = map[string]fleet.Status{"0:10.0.0.1": {State: fleet.Stopped, PID: -1}}

		sent   = []exchange{procapitest.OfContract("job/" + apiOperate)}
		unread = exchange{API: apiResult, Reply: refusal(1, "no")} // the task, to see the id that the client asks for

		queried = Info{
			ProcName: "bk_gse_unifyTlogc", SetupPath: "/usr/local/gse/gseagent/plugins/unifyTlogc/sbin",
			PIDPath: "/usr/local/gse/gseagent/plugins/unifyTlogc/log/bk_gse_unifyTlogc.pid",
		}
	)
	// A registration has both members, and each endpoint gets its own one.
	both := sampleInfo()
	both.Contact = new("ops")
	account := both
	account.Account = new("nginx")
	tests := map[string]struct {
		of     string // the name of the case in the contract
		scope  Scope
		by     Registration
		info   Info
		hosts  []string
		call   procapitest.Call
		before []exchange // of the case's
		after  []exchange
		want   any // by host
	}{
		"manage-scope":       {"job/manage_proc", scope, RegisterByManage, both, one, procapitest.Register, nil, []exchange{unread}, begun},
		"manage-again":       {"job/manage_proc", scope, RegisterByManage, both, one, procapitest.Reregister, nil, []exchange{unread}, begun},
		"manage-biz":         {"job/manage_proc/biz", bizScope, RegisterByManage, both, one, procapitest.Register, nil, []exchange{unread}, begun},
		"manage-unregister":  {"job/manage_proc/unregister", scope, RegisterByManage, both, one, procapitest.Unregister, nil, []exchange{unread}, begun},
		"operate":            {"job/operate_process", bizScope, RegisterByOperate, operateInfo(), one, procapitest.Operate(fleet.Stop), nil, []exchange{unread}, begun},
		"operate-by-manage":  {"job/operate_process", bizScope, RegisterByManage, operateInfo(), one, procapitest.Operate(fleet.Stop), nil, []exchange{unread}, begun},
		"supplier-is-unsaid": {"job/operate_process", bizScope, RegisterByOperate, operateInfo(), []string{"0:9:10.0.0.1"}, procapitest.Operate(fleet.Stop), nil, []exchange{unread}, begun},
		"register":           {"job/operate_process/register", setScope, RegisterByOperate, account, more, procapitest.Register, nil, []exchange{unread}, begunAll},
		"register-default":   {"job/operate_process/register", setScope, "", account, more, procapitest.Register, nil, []exchange{unread}, begunAll},
		"register-again":     {"job/operate_process/register", setScope, RegisterByOperate, account, more, procapitest.Reregister, nil, []exchange{unread}, begunAll},
		"unregister":         {"job/operate_process/unregister", setScope, RegisterByOperate, account, more, procapitest.Unregister, nil, []exchange{unread}, begunAll},
		"result-scope":       {"job/get_proc_result", scope, RegisterByOperate, queried, one, procapitest.LiveStatus, sent, nil, stopped},
		"result-biz":         {"job/get_proc_result/biz", bizScope, RegisterByOperate, queried, one, procapitest.LiveStatus, sent, nil, stopped},
		"result-queued":      {"job/get_proc_result/queued", scope, RegisterByOperate, queried, one, procapitest.Operate(fleet.Stop), sent, []exchange{unread}, begun},
	}
	tried := make(map[string]bool)
	for name, test := range tests {
		tried[test.of] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, "", slices.Concat(test.before, []exchange{procapitest.OfContract(test.of)}, test.after)...)
			got := test.call(t.Context(), p.client.Process(test.scope, test.by, test.info), procapitest.Parse(t, test.hosts...))
			procapitest.WantRequest(t, test.of, script.Requests()[len(test.before)])
			procapitest.WantMade(t, test.want, got)
		})
	}
	for _, api := range []string{apiRunScript, apiScriptStatus, apiScriptLog} { // TestHostedFiles_contract
		tried["job/"+api] = true
	}
	procapitest.WantAllTried(t, contract.Cases("job"), tried)
}
