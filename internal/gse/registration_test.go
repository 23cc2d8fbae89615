package gse

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

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
	const all, address3 = "hosts 10.0.0.1 10.0.0.2 10.0.0.3", "0:10.0.0.3"
	done, taken := outcome(fleet.Done, 0), already(outcome(fleet.Failed, 850))
	asked := func(first, second, third fleet.Outcome, sent []string, steps ...exchange) scene {
		want := on12(first, second)
		want[address3] = third
		return scene{call: registering, hosts: append(host12[:2:2], address3), steps: steps, want: want, sent: sent}
	}
	play(t, map[string]scene{
		"at-once": asked(done, done, taken, []string{all}, register(said(v1(1), code(0), v1(2), code(0), v1(3), code(850)))),
		"in-progress": asked(done, again(taken), again(done), []string{all, "hosts 10.0.0.2 10.0.0.3", "hosts 10.0.0.2"},
			register(said(v1(1), code(0), v1(2), code(115), v1(3), code(115))), register(said(v1(2), code(115), v1(3), code(0))), register(said(v1(2), code(850)))),
		"missing": asked(again(done), again(done), again(outcome(fleet.Failed, 117)), []string{all, all, all},
			register("{}"), register("null"), register(said(v1(1), code(0), v1(2), code(0), v1(3), code(117)))),
		// A host that is not asked again cannot change its verdict.
		"settled-and-mentioned-again": asked(done, done, again(done), []string{all, "hosts 10.0.0.3"},
			register(said(v1(1), code(0), v1(2), code(0), v1(3), code(115))),
			register(said(v1(1), code(117), v1(3), code(0), "9:0:10.0.0.1:gse:proc-test", code(0)))),
		"keys-without-supplier": asked(done, done, done, []string{all}, register(said(v2(1), code(0), v2(2), code(0), v2(3), code(65535), v1(3), code(0)))),
	})
}

// A platform may refuse to update what is not registered, as a process that was only hosted. It is registered then,
// and whatever else the refusal means stays its reason.
func TestReregister_refused(t *testing.T) {
	t.Parallel()
	update := exchange{API: apiUpdate, Reply: procapitest.Data(said(v1(1), code(851), v1(2), code(0)))}
	done := outcome(fleet.Done, 0)
	anew := func(want fleet.Outcome, answer exchange) scene {
		return scene{
			call: procapitest.Reregister, hosts: host12, steps: []exchange{update, answer}, want: on12(want, done),
			sent: []string{"hosts 10.0.0.1 10.0.0.2", "hosts 10.0.0.1"},
		}
	}
	lost := fleet.Outcome{Verdict: fleet.Lost, Err: cmpopts.AnyError}
	play(t, map[string]scene{
		"not-registered": anew(done, register(said(v1(1), code(0)))),
		"registered":     anew(outcome(fleet.Failed, 851), register(said(v1(1), code(850)))),
		"lost":           anew(lost, exchange{API: apiRegister, Reply: procapitest.Gone}),
		"away":           {call: procapitest.Reregister, want: on1(outcome(fleet.Failed, 117)), steps: []exchange{{API: apiUpdate, Reply: procapitest.Data(said(v1(1), code(117)))}}},
	})
}

// A process without limits is hosted after its agent has reported that it is not hosted yet. It is unhosted as
// well as unregistered. Hosting sends no limits either.
func TestRegister_unlimited(t *testing.T) {
	t.Parallel()
	var (
		agent     = func(instance string) exchange { return result(said(agentSays(host12[0], instance)...)) }
		ended     = func(n int) exchange { return result(said(v2(1), code(n))) }
		done      = byTask(outcome(fleet.Done, 0))
		unlimited = func(call procapitest.Call, want fleet.Outcome, steps ...exchange) scene {
			return scene{edit: func(p *Process) { p.spec.Resource = nil }, call: call, steps: steps, want: on1(want)}
		}
	)
	play(t, map[string]scene{
		"register":        unlimited(procapitest.Register, wasIdle(done), accepted, agent(`{"pid":-1,"isAuto":false}`), accepted, ended(0)),
		"register-hosted": unlimited(procapitest.Register, takenAlready, accepted, agent(`{"pid":-1,"isAuto":true}`)),
		"reregister":      unlimited(procapitest.Reregister, done, accepted, ended(0)),
		"unregister": unlimited(procapitest.Unregister, already(outcome(fleet.Done, 829)),
			accepted, ended(0), exchange{API: apiUnregister, Reply: procapitest.Data(said(v1(1), code(829)))}),
		"not-unhosted": unlimited(procapitest.Unregister, byTask(outcome(fleet.Failed, 117)), accepted, ended(117)),
	})
	p, script := scripted(t, "esb", accepted, ended(0))
	p.spec.Resource = nil
	p.Reregister(t.Context(), hosts(1))
	body := string(script.Requests()[0])
	procapitest.Check(t, !strings.Contains(body, `"resource"`), "sent %s", body)
}

// The ESB reports what it had registered. That does not include a process that was only hosted, and without a
// spec its agent cannot be asked. So such a host is kept, unless our own first call may have removed the
// registration.
func TestUnregister_withoutSpec(t *testing.T) {
	t.Parallel()
	var (
		lost   = exchange{API: apiUnregister, Reply: procapitest.Gone}
		answer = func(n int) exchange {
			return exchange{API: apiUnregister, Reply: procapitest.Data(said(v1(1), code(n)))}
		}
		kept       = outcome(fleet.Failed, 829)
		unregister = func(want any, steps ...exchange) scene {
			return scene{edit: withoutSpec, retries: 1, call: procapitest.Unregister, steps: steps, want: want}
		}
	)
	kept.Meaning = "there was no registration to remove, but the agent may still host the process, which cannot be checked or ended without a spec; " +
		"apply first, or remove it from state (terraform state rm) if nothing is hosted there"
	play(t, map[string]scene{
		"registered":         unregister(on1(fleet.Done), answer(0)),
		"not-registered":     unregister(on1(kept), answer(829), cached()),
		"file-not-read":      unregister(on1(fleet.Failed), answer(829), procapitest.Times(2, exchange{API: apiStatus, Reply: procapitest.Answer(http.StatusBadGateway, "")})),
		"repeated":           unregister(on1(fleet.Done), lost, answer(829), cached()),
		"repeated-and-there": unregister(on1(fleet.Failed), lost, answer(829), cached(cachedRow(1, 1))),
	})
}

// A registration that certainly failed can be forgotten; one that may have been made cannot. If a change of an existing registration is
// lost, the process is registered in either case, and the next apply repeats the change.
func TestRegister_fails(t *testing.T) {
	t.Parallel()
	var (
		began   = register(said(v1(1), code(0), v1(2), code(115)))
		refused = exchange{API: apiRegister, Reply: refusal(1306000)}
		failed  = on12(fleet.Failed, fleet.Failed)
		lost    = on12(fleet.Lost, fleet.Lost)
		begun   = on12(fleet.Done, fleet.Lost)
		answers = func(status int) exchange { return exchange{API: apiRegister, Reply: procapitest.Answer(status, "{}")} }
		asked   = func(call procapitest.Call, want any, steps ...exchange) scene {
			return scene{call: call, hosts: host12, steps: steps, want: want}
		}
	)
	play(t, map[string]scene{
		"refused":             asked(registering, failed, refused),
		"turned-away":         asked(registering, failed, answers(http.StatusTooManyRequests)),
		"lost":                asked(registering, lost, exchange{API: apiRegister, Reply: procapitest.Gone}),
		"bad-gateway":         asked(registering, lost, answers(http.StatusBadGateway)),
		"taken-and-refused":   asked(registering, begun, began, refused),
		"taken-and-forbidden": asked(registering, begun, began, answers(http.StatusForbidden)),
		"update-lost":         asked(procapitest.Reregister, failed, exchange{API: apiUpdate, Reply: procapitest.Gone}),
		"unregister-lost":     asked(procapitest.Unregister, failed, exchange{API: apiUnregister, Reply: procapitest.Gone}),
	})
}

// Whether the platform got the request decides what is reported of a host that has no verdict when the context ends.
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
				procapitest.Check(t, results[host(1)].OK() == test.settled && (got.Code == procapi.CodeInProgress) == test.settled,
					"host 1: got %+v, host 2: %+v", results[host(1)], got)
				procapitest.Check(t, got.Verdict == test.want && errors.Is(got.Err, cause), "host 2: got %+v, want verdict %d and %v", got, test.want, cause)
			})
		}
	}
}
