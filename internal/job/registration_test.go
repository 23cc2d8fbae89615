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
	registration := func(call procapitest.Call, answer exchange, want any, back []exchange) map[Registration]scene {
		return map[Registration]scene{
			RegisterByOperate: {by: RegisterByOperate, call: call, steps: []exchange{accepted, answer}, want: want},
			RegisterByManage:  {by: RegisterByManage, call: call, steps: append([]exchange{registered, answer}, back...), want: want},
		}
	}
	for name, by := range map[string]map[Registration]scene{
		"register":         registration(procapitest.Register, codes(0, 0), on(done, done), foundOn(hostedInstance, 1, 2)),
		"register-taken":   registration(procapitest.Register, codes(850, 0), on(taken, done), foundOn(hostedInstance, 2)),
		"reregister":       registration(procapitest.Reregister, codes(0, 117), on(done, outcome(fleet.Failed, 117)), foundOn(hostedInstance, 1)),
		"unregister":       registration(procapitest.Unregister, codes(829, 0), on(idle, done), foundOn(unhostedInstance, 1, 2)),
		"unregister-fails": registration(procapitest.Unregister, codes(850, 117), on(outcome(fleet.Failed, 850), outcome(fleet.Failed, 117)), nil),
	} {
		play(t, map[string]scene{name + "-by-operate": by[RegisterByOperate], name + "-by-manage": by[RegisterByManage]})
	}
}

// On the hosts for which manage_proc reports success, the agents are asked whether they host the process.
// If an agent does not say, the effect is not known.
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

// A retry after a lost answer: the 850 may be our own, and an endpoint that is missing now may have
// acted. An endpoint that was missing at once has done nothing.
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
