package job

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// What the codes of registrations mean. For manage_proc, agents confirm what it says that it did.
func TestRegistration(t *testing.T) {
	t.Parallel()
	done, taken, idle := outcome(fleet.Done, 0), already(outcome(fleet.Failed, 850)), already(outcome(fleet.Done, 829))
	for by, first := range map[Registration]exchange{RegisterByOperate: accepted, RegisterByManage: registered} {
		for name, test := range map[string]struct {
			call        procapitest.Call
			one, two    int        // codes
			back        []exchange // of manage_proc
			want, want2 fleet.Outcome
		}{
			"register":         {procapitest.Register, 0, 0, foundOn(hostedInstance, 1, 2), done, done},
			"register-taken":   {procapitest.Register, 850, 0, foundOn(hostedInstance, 2), taken, done},
			"reregister":       {procapitest.Reregister, 0, 117, foundOn(hostedInstance, 1), done, outcome(fleet.Failed, 117)},
			"unregister":       {procapitest.Unregister, 829, 0, foundOn(unhostedInstance, 1, 2), idle, done},
			"unregister-fails": {procapitest.Unregister, 850, 117, nil, outcome(fleet.Failed, 850), outcome(fleet.Failed, 117)},
		} {
			t.Run(string(by)+"/"+name, func(t *testing.T) {
				t.Parallel()
				steps := []exchange{first, result(said(key(1), code(test.one), key(2), code(test.two)))}
				if by == RegisterByManage {
					steps = append(steps, test.back...)
				}
				p, _ := scripted(t, by, steps...)
				want := map[string]fleet.Outcome{host(1).Address(): test.want, host(2).Address(): test.want2}
				procapitest.WantEqual(t, "result", want, test.call(t.Context(), p, hosts(2)))
			})
		}
	}
}

// On the hosts for which manage_proc reports success, the agents are asked whether they host the process.
// If an agent does not say, the effect is not known.
func TestRegistration_readBack(t *testing.T) {
	t.Parallel()
	var (
		done   = outcome(fleet.Done, 0)
		denied = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningManageBug, TaskID: "T"}
		// answers are the answers of both agents.
		answers = func(first, second string) []exchange {
			return []exchange{accepted, result(said(key(1), first, key(2), second))}
		}
		hosted   = answered(hostedInstance)
		unhosted = answered(unhostedInstance)
		// With lost the process may be registered, and with stuck it may still be.
		lost  = fleet.Outcome{Verdict: fleet.Lost, Meaning: meaningManageUnseen, TaskID: "T"}
		stuck = fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningManageUnseen, TaskID: "T"}
		// The same, if the agents could not be asked.
		lostUnasked, stuckUnasked = lost, stuck
		away, blank               = lost, lost
		stopped                   = outcome(fleet.Failed, 829)
	)
	stopped.Meaning = meaningManageBug
	lostUnasked.Err, stuckUnasked.Err = cmpopts.AnyError, cmpopts.AnyError
	away.Message = "the agent is abnormal or not found: message 117"
	blank.Message = "the agent's answer is not JSON"
	const register, unregister, query = 1, 2, 2
	failed := func(n int) fleet.Outcome { return outcome(fleet.Failed, n) }
	claims := func(one, two int) exchange { return result(said(key(1), code(one), key(2), code(two))) }
	for name, test := range map[string]struct {
		op       int
		claim    exchange
		back     []exchange
		one, two fleet.Outcome
		lookAt   []int
	}{
		"register":                 {register, claims(0, 0), answers(hosted, hosted), done, done, []int{1, 2}},
		"register-denied":          {register, claims(0, 0), answers(unhosted, hosted), denied, done, []int{1, 2}},
		"register-running":         {register, claims(0, 0), answers(answered(`{"pid":42,"isAuto":false}`), hosted), denied, done, []int{1, 2}},
		"register-stopped":         {register, claims(829, 0), foundOn(hostedInstance, 2), stopped, done, []int{2}}, // the answer of a manage_proc that stops
		"unregister":               {unregister, claims(0, 0), answers(unhosted, unhosted), done, done, []int{1, 2}},
		"unregister-denied":        {unregister, claims(0, 0), answers(unhosted, hosted), done, denied, []int{1, 2}},
		"unregister-nothing-there": {unregister, claims(829, 829), answers(unhosted, hosted), already(outcome(fleet.Done, 829)), denied, []int{1, 2}},
		"one-claimed":              {register, claims(117, 0), foundOn(unhostedInstance, 2), failed(117), denied, []int{2}},
		"none-claimed":             {register, claims(117, 117), nil, failed(117), failed(117), nil},
		"hosting-unsaid":           {register, claims(0, 0), answers(answered(documentedInstance), hosted), lost, done, []int{1, 2}},
		"unhosting-unsaid":         {unregister, claims(0, 0), answers(answered(documentedInstance), unhosted), stuck, done, []int{1, 2}},
		"agent-unknown":            {register, claims(0, 0), answers(code(117), unhosted), away, denied, []int{1, 2}},
		"unreadable":               {register, claims(0, 0), answers(`{"error_code":0,"content":""}`, hosted), blank, done, []int{1, 2}},
		"query-refused":            {register, claims(0, 0), []exchange{{API: apiOperate, Reply: refusal(1, "no")}}, lostUnasked, lostUnasked, []int{1, 2}},
		"query-unread":             {unregister, claims(0, 0), []exchange{accepted, {API: apiResult, Reply: refusal(1, "no")}}, stuckUnasked, stuckUnasked, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, RegisterByManage, append([]exchange{registered, test.claim}, test.back...)...)
			call := p.Register
			if test.op == unregister {
				call = p.Unregister
			}
			procapitest.WantResults(t, map[int]fleet.Outcome{1: test.one, 2: test.two}, call(t.Context(), hosts(2)))
			want := []asked{{test.op, []int{1, 2}}}
			if test.lookAt != nil {
				want = append(want, asked{query, test.lookAt})
			}
			wantAsked(t, script, want...)
		})
	}
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
			procapitest.WantResults(t, map[int]fleet.Outcome{1: outcome(fleet.Done, 0), 2: outcome(fleet.Done, 0), 3: outcome(fleet.Failed, 117)},
				p.Reregister(t.Context(), hosts(3)))
			wantAsked(t, script, test.want...)
		})
	}
}

// A retry after a lost answer: the 850 may be our own, and an endpoint that is missing now may have
// acted. An endpoint that was missing at once has done nothing.
func TestRegister_resent(t *testing.T) {
	t.Parallel()
	var (
		answer  = func(reply http.HandlerFunc) exchange { return exchange{API: apiOperate, Reply: reply} }
		gone    = answer(procapitest.Answer(http.StatusNotFound, ""))
		lost    = answer(procapitest.Gone)
		known   = answer(refusal(esbBackendError, "Status Code: 404, Error Message: ..."))
		tooMany = answer(procapitest.Answer(http.StatusTooManyRequests, "{}"))
		taken   = already(outcome(fleet.Failed, 850))
		again   = taken
	)
	again.Repeated = true
	for name, test := range map[string]struct {
		steps []exchange
		want  fleet.Outcome
	}{
		"taken-after-a-lost-answer": {[]exchange{lost, accepted, result(said(key(1), code(850)))}, again},
		"taken-when-turned-away":    {[]exchange{tooMany, accepted, result(said(key(1), code(850)))}, taken},
		"gone-at-once":              {[]exchange{gone}, fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningRemoved, Err: cmpopts.AnyError}},
		"gone-behind-the-esb":       {[]exchange{known, known}, fleet.Outcome{Verdict: fleet.Failed, Meaning: meaningRemoved, Err: cmpopts.AnyError}},
		"gone-after-a-lost-answer":  {[]exchange{lost, gone}, fleet.Outcome{Verdict: fleet.Lost, Meaning: meaningRemoved, Err: cmpopts.AnyError}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := retrying(t, 1, "", test.steps...)
			procapitest.WantResults(t, map[int]fleet.Outcome{1: test.want}, p.Register(t.Context(), hosts(1)))
		})
	}
}
