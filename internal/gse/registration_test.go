package gse

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func register(reply string) exchange {
	return exchange{API: apiRegister, Reply: procapitest.Data(reply)}
}

// registerOnly makes the call without asking the agents first.
func registerOnly(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.registration(ctx, callRegister, p.spec, hosts)
}

// registering is that call as a step of a table.
var registering = procapitest.Act(func(p fleet.Process, ctx context.Context, hosts []fleet.Host) fleet.Results {
	return registerOnly(ctx, p.(*Process), hosts) //nolint:forcetypeassert // this client's
})

// There is no task to ask for: the call is repeated for the hosts that have no verdict yet.
func TestRegister_repeats(t *testing.T) {
	t.Parallel()
	taken := fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Code: 850, Message: "message 850", Meaning: "the process is registered already", RequestID: "req-1"}
	for name, test := range map[string]struct {
		steps []exchange
		want  map[int]fleet.Outcome
		asked [][]int // hosts of each request
	}{
		"at-once": {
			[]exchange{register(said(v1(1), code(0), v1(2), code(0), v1(3), code(850)))},
			map[int]fleet.Outcome{1: outcome(fleet.Done, 0), 2: outcome(fleet.Done, 0), 3: taken},
			[][]int{{1, 2, 3}},
		},
		"in-progress": {
			[]exchange{
				register(said(v1(1), code(0), v1(2), code(115), v1(3), code(115))),
				register(said(v1(2), code(115), v1(3), code(0))),
				register(said(v1(2), code(850))),
			},
			map[int]fleet.Outcome{1: outcome(fleet.Done, 0), 2: again(taken), 3: again(outcome(fleet.Done, 0))},
			[][]int{{1, 2, 3}, {2, 3}, {2}},
		},
		"missing": {
			[]exchange{register("{}"), register("null"), register(said(v1(1), code(0), v1(2), code(0), v1(3), code(117)))},
			map[int]fleet.Outcome{1: again(outcome(fleet.Done, 0)), 2: again(outcome(fleet.Done, 0)), 3: again(outcome(fleet.Failed, 117))},
			[][]int{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}},
		},
		// A host that is not asked again cannot change its verdict.
		"settled-and-mentioned-again": {
			[]exchange{
				register(said(v1(1), code(0), v1(2), code(0), v1(3), code(115))),
				register(said(v1(1), code(117), v1(3), code(0), "9:0:10.0.0.1:gse:proc-test", code(0))),
			},
			map[int]fleet.Outcome{1: outcome(fleet.Done, 0), 2: outcome(fleet.Done, 0), 3: again(outcome(fleet.Done, 0))},
			[][]int{{1, 2, 3}, {3}},
		},
		"keys-without-supplier": {
			[]exchange{register(said(v2(1), code(0), v2(2), code(0), v2(3), code(65535), v1(3), code(0)))},
			map[int]fleet.Outcome{1: outcome(fleet.Done, 0), 2: outcome(fleet.Done, 0), 3: outcome(fleet.Done, 0)},
			[][]int{{1, 2, 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, "esb", test.steps...)
			results := registerOnly(t.Context(), p, hosts(3))
			procapitest.WantResults(t, test.want, results)
			procapitest.WantEqual(t, "hosts asked", test.asked, hostsOf(t, script.Requests()))
		})
	}
}

// A process without limits is hosted, once its agent has said that it is not hosted yet. It is unhosted
// as well as unregistered. What hosting sends has no limits either.
func TestRegister_unlimited(t *testing.T) {
	t.Parallel()
	const address = "0:10.0.0.1"
	agent := func(instance string) exchange { return result(said(agentSays(address, instance)...)) }
	ended := func(n int) exchange { return result(said(v2(1), code(n))) }
	idle := already(outcome(fleet.Done, 829))
	for name, test := range map[string]struct {
		call  procapitest.Call
		steps []exchange
		want  fleet.Outcome
	}{
		"register":        {procapitest.Register, []exchange{accepted, agent(`{"pid":-1,"isAuto":false}`), accepted, ended(0)}, wasIdle(byTask(outcome(fleet.Done, 0)))},
		"register-hosted": {procapitest.Register, []exchange{accepted, agent(`{"pid":-1,"isAuto":true}`)}, takenAlready},
		"reregister":      {procapitest.Reregister, []exchange{accepted, ended(0)}, byTask(outcome(fleet.Done, 0))},
		"unregister":      {procapitest.Unregister, []exchange{accepted, ended(0), {API: apiUnregister, Reply: procapitest.Data(said(v1(1), code(829)))}}, idle},
		"not-unhosted":    {procapitest.Unregister, []exchange{accepted, ended(117)}, byTask(outcome(fleet.Failed, 117))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, "esb", test.steps...)
			p.spec.Resource = nil
			procapitest.WantEqual(t, "result", map[string]fleet.Outcome{address: test.want}, test.call(t.Context(), p, hosts(1)))
			for _, body := range script.Requests() {
				if strings.Contains(string(body), `"resource"`) {
					t.Errorf("sent %s", body)
				}
			}
		})
	}
}

// The ESB tells what it had registered. A process that was only hosted it does not count, and without a spec
// its agent cannot be asked. So such a host is kept, unless our own first call may have removed the registration.
func TestUnregister_withoutSpec(t *testing.T) {
	t.Parallel()
	unregister := func(reply http.HandlerFunc) exchange { return exchange{API: apiUnregister, Reply: reply} }
	idle := unregister(procapitest.Data(said(v1(1), code(829))))
	for name, test := range map[string]struct {
		steps []exchange
		want  fleet.Verdict
	}{
		"registered":         {[]exchange{unregister(procapitest.Data(said(v1(1), code(0))))}, fleet.Done},
		"not-registered":     {[]exchange{idle, cached()}, fleet.Failed},
		"file-not-read":      {[]exchange{idle, {API: apiStatus, Reply: refusal(1306000)}}, fleet.Failed},
		"repeated":           {[]exchange{unregister(procapitest.Gone), idle, cached()}, fleet.Done},
		"repeated-and-there": {[]exchange{unregister(procapitest.Gone), idle, cached(cachedRow(1, 1))}, fleet.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := configured(t, "esb", retrying(1), test.steps...)
			p.spec = nil
			got := p.Unregister(t.Context(), hosts(1))[host(1)]
			if got.Verdict != test.want || strings.Contains(got.Meaning, "no registration to take away") != (test.want == fleet.Failed) {
				t.Errorf("got %+v, want verdict %d", got, test.want)
			}
		})
	}
}

// On the ESB, hosting registers a process without limits. For a process whose spec is not known, the
// answer is no.
func TestProcess_HostingRegisters(t *testing.T) {
	t.Parallel()
	limited, unlimited := sampleSpec(), sampleSpec()
	unlimited.Resource = nil
	p, _ := scripted(t, "esb")
	for spec, want := range map[*Spec]bool{nil: false, limited: false, unlimited: true} {
		if got := p.client.Process(sampleMeta, spec).HostingRegisters(); got != want {
			t.Errorf("%+v: got %t", spec, got)
		}
	}
}

// hostsOf are the hosts of each request, by number.
func hostsOf(t *testing.T, bodies []json.RawMessage) [][]int {
	t.Helper()
	lists := make([][]int, len(bodies))
	for i, body := range bodies {
		for _, ip := range strings.Fields(selectorOf(t, body))[1:] {
			lists[i] = append(lists[i], procapitest.NumberOf(procapitest.Parse(t, "0:"+ip)[0]))
		}
	}
	return lists
}

// A retry after a lost answer is a repetition too: the 850 may be our own. A retry after a refusal is
// not.
func TestRegister_resent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first http.HandlerFunc
		want  bool
	}{
		"lost":        {procapitest.Gone, true},
		"turned-away": {procapitest.Answer(http.StatusTooManyRequests, "{}"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := configured(t, "esb", retrying(1), exchange{API: apiRegister, Reply: test.first}, register(said(v1(1), code(850))))
			got := registerOnly(t.Context(), p, hosts(1))[host(1)]
			if got.Verdict != fleet.Failed || !got.AlreadyDone || got.Repeated != test.want {
				t.Errorf("got %+v, want registered already, Repeated %t", got, test.want)
			}
		})
	}
}

// A registration that certainly failed can be forgotten; one that may have been made cannot. If a change
// of an existing registration is lost, the process is registered in either case, and the next apply
// repeats the change.
func TestRegister_fails(t *testing.T) {
	t.Parallel()
	began := register(said(v1(1), code(0), v1(2), code(115)))
	answers := func(api string, status int) exchange {
		return exchange{API: api, Reply: procapitest.Answer(status, "{}")}
	}
	refused := exchange{API: apiRegister, Reply: refusal(1306000)}
	for name, test := range map[string]struct {
		call  procapitest.Call
		steps []exchange
		first bool // host 1 has its verdict
		want  fleet.Verdict
	}{
		"refused":             {registering, []exchange{refused}, false, fleet.Failed},
		"turned-away":         {registering, []exchange{answers(apiRegister, http.StatusTooManyRequests)}, false, fleet.Failed},
		"lost":                {registering, []exchange{{API: apiRegister, Reply: procapitest.Gone}}, false, fleet.Lost},
		"bad-gateway":         {registering, []exchange{answers(apiRegister, http.StatusBadGateway)}, false, fleet.Lost},
		"taken-and-refused":   {registering, []exchange{began, refused}, true, fleet.Lost},
		"taken-and-forbidden": {registering, []exchange{began, answers(apiRegister, http.StatusForbidden)}, true, fleet.Lost},
		"update-lost":         {procapitest.Reregister, []exchange{{API: apiUpdate, Reply: procapitest.Gone}}, false, fleet.Failed},
		"unregister-lost":     {procapitest.Unregister, []exchange{{API: apiUnregister, Reply: procapitest.Gone}}, false, fleet.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "esb", test.steps...)
			results, _ := test.call(t.Context(), p, hosts(3)).(map[string]fleet.Outcome)
			for h, o := range results {
				want := test.want
				if h == host(1).Address() && test.first {
					want = fleet.Done
				}
				if o.Verdict != want || (o.Err == nil) != (want == fleet.Done) {
					t.Errorf("%s: got %+v, want verdict %d", h, o, want)
				}
			}
			if len(results) != 3 {
				t.Errorf("got %d results", len(results))
			}
		})
	}
}

// Whether the platform got the request decides what is reported of a host that has no verdict when the
// context ends.
func TestRegister_ends(t *testing.T) {
	t.Parallel()
	halfway := register(said(v1(1), code(0), v1(2), code(115)))
	hangs := exchange{API: apiRegister} // until the context ends
	for how, cause := range map[string]error{"deadline": context.DeadlineExceeded, "interrupt": context.Canceled} {
		for name, test := range map[string]struct {
			steps   []exchange
			endAt   int // after so many answers, 0 for never, -1 for before the first request
			want    fleet.Verdict
			settled bool // host 1 has its verdict, and host 2 was in progress
		}{
			"before":                {nil, -1, fleet.NotTried, false},
			"during-first-request":  {[]exchange{hangs}, 0, fleet.Pending, false},
			"between":               {[]exchange{procapitest.Times(procapitest.ForEver, halfway)}, 3, fleet.Pending, true},
			"during-second-request": {[]exchange{halfway, hangs}, 0, fleet.Pending, true},
			"never-mentioned":       {[]exchange{procapitest.Times(procapitest.ForEver, register("{}"))}, 3, fleet.Pending, false},
		} {
			t.Run(how+"/"+name, func(t *testing.T) {
				t.Parallel()
				ctx, end := procapitest.Ending(t, cause)
				if test.endAt < 0 {
					end()
				}
				if last := len(test.steps) - 1; test.endAt == 0 {
					test.steps[last].Reply = procapitest.Hang(end)
				}
				p, _ := configured(t, "esb", func(cfg *bkapi.Config, _ *procapi.Options) {
					cfg.Logger = procapitest.OnCall(apiRegister, func(n int) {
						if n == test.endAt {
							end()
						}
					})
				}, test.steps...)
				results := registerOnly(ctx, p, hosts(2))
				got := results[host(2)]
				if results[host(1)].OK() != test.settled || (got.Code == procapi.CodeInProgress) != test.settled {
					t.Errorf("host 1: got %+v, host 2: %+v", results[host(1)], got)
				}
				if got.Verdict != test.want || !errors.Is(got.Err, cause) {
					t.Errorf("host 2: got %+v, want verdict %d and %v", got, test.want, cause)
				}
			})
		}
	}
}
