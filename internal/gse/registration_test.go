package gse

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

func again(o fleet.Outcome) fleet.Outcome {
	o.Repeated = true
	return o
}

func register(reply string) exchange {
	return exchange{API: apiRegister, Reply: procapitest.Data(reply)}
}

// A process that was hosted but not registered is in no cached status, so the agents are asked before it
// is registered.
func TestRegister_asksFirst(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		says  string // the agent of host 1
		code  int    // of its registration
		want  fleet.Outcome
		asked [][]int // hosts of the registration
	}{
		"hosted":   {agentSays(host(1).Address(), `{"pid":-1,"isAuto":true}`)[1], 0, takenAlready, [][]int{{2}}},
		"bare":     {agentSays(host(1).Address(), `{"pid":-1,"isAuto":false}`)[1], 0, wasIdle(outcome(fleet.Done, 0)), [][]int{{1, 2}}},
		"runs":     {agentSays(host(1).Address(), `{"pid":7,"isAuto":false}`)[1], 0, outcome(fleet.Done, 0), [][]int{{1, 2}}},
		"not-said": {agentSays(host(1).Address(), `{"pid":-1}`)[1], 0, outcome(fleet.Done, 0), [][]int{{1, 2}}},
		"away": {code(117), 0, fleet.Outcome{
			Verdict: fleet.Failed, Code: 117, Away: true, Message: "the agent is abnormal or not found: message 117",
			Meaning: "not registered, because its agent does not say whether it already is",
		}, [][]int{{2}}},
		// The time of registration later shows whether the cached status is of this registration.
		"registered": {agentSays(host(1).Address(), `{"pid":-1,"isAuto":false,"register_time":1600000000}`)[1], 850, fleet.Outcome{
			Verdict: fleet.Failed, AlreadyDone: true, Code: 850, Message: "message 850", Meaning: "the process is registered already",
			RequestID: "req-1", RegisterTime: 1600000000,
		}, [][]int{{1, 2}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := said(append(agentSays(host(2).Address(), `{"pid":-1,"isAuto":false}`), v2(1), test.says)...)
			script, url := newScript(t, accepted, result(answer), register(said(v1(1), code(test.code), v1(2), code(0))))
			results := quick(t, url).Process(sampleMeta, sampleSpec()).Register(t.Context(), hosts(2))
			procapitest.WantResults(t, map[int]fleet.Outcome{1: test.want, 2: wasIdle(outcome(fleet.Done, 0))}, results)
			if diff := cmp.Diff(test.asked, hostsOf(t, script.Requests()[2:])); diff != "" {
				t.Errorf("hosts registered (-want +got):\n%s", diff)
			}
		})
	}
}

// registerOnly makes the call without asking the agents first.
func registerOnly(ctx context.Context, p *Process, hosts []fleet.Host) fleet.Results {
	return p.registration(ctx, callRegister, p.spec, hosts)
}

// There is no task to ask for: the call is repeated for the hosts that have no verdict yet.
func TestRegister_repeats(t *testing.T) {
	t.Parallel()
	taken := fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Code: 850, Message: "message 850", Meaning: "the process is registered already", RequestID: "req-1"}
	tests := map[string]struct {
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
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, test.steps...)
			results := registerOnly(t.Context(), quick(t, url).Process(sampleMeta, sampleSpec()), hosts(3))
			procapitest.WantResults(t, test.want, results)
			if diff := cmp.Diff(test.asked, hostsOf(t, script.Requests())); diff != "" {
				t.Errorf("hosts asked (-want +got):\n%s", diff)
			}
		})
	}
}

// A process without limits is hosted, once its agent has said that it is not hosted yet. It is unhosted
// as well as unregistered. What hosting sends has no limits either.
func TestRegister_unlimited(t *testing.T) {
	t.Parallel()
	const key = "0:10.0.0.1:gse:proc-test"
	done := result(said(key, code(0)))
	for name, test := range map[string]struct {
		steps []exchange
		call  func(*Process) fleet.Results
		want  fleet.Outcome
	}{
		"register": {
			[]exchange{accepted, result(said(agentSays("0:10.0.0.1", `{"pid":-1,"isAuto":false}`)...)), accepted, done},
			func(p *Process) fleet.Results { return p.Register(t.Context(), hosts(1)) }, wasIdle(byTask(outcome(fleet.Done, 0))),
		},
		"register-hosted": {
			[]exchange{accepted, result(said(agentSays("0:10.0.0.1", `{"pid":-1,"isAuto":true}`)...))},
			func(p *Process) fleet.Results { return p.Register(t.Context(), hosts(1)) }, takenAlready,
		},
		"reregister": {[]exchange{accepted, done}, func(p *Process) fleet.Results { return p.Reregister(t.Context(), hosts(1)) }, byTask(outcome(fleet.Done, 0))},
		"unregister": {
			[]exchange{accepted, done, {API: apiUnregister, Reply: procapitest.Data(said(v1(1), code(829)))}},
			func(p *Process) fleet.Results { return p.Unregister(t.Context(), hosts(1)) },
			fleet.Outcome{AlreadyDone: true, Code: 829, Message: "message 829", Meaning: "the process is not running", RequestID: "req-1"},
		},
		"not-unhosted": {
			[]exchange{accepted, result(said(key, code(117)))},
			func(p *Process) fleet.Results { return p.Unregister(t.Context(), hosts(1)) }, byTask(outcome(fleet.Failed, 117)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newScript(t, test.steps...)
			spec := sampleSpec()
			spec.Resource = nil
			p := quick(t, url).Process(sampleMeta, spec)
			procapitest.WantResults(t, map[int]fleet.Outcome{1: test.want}, test.call(p))
			for _, body := range script.Requests() {
				if strings.Contains(string(body), `"resource"`) {
					t.Errorf("sent %s", body)
				}
			}
			if !p.HostingRegisters() {
				t.Error("hosting is said not to register it")
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
	_, url := newScript(t)
	for spec, want := range map[*Spec]bool{nil: false, limited: false, unlimited: true} {
		if got := quick(t, url).Process(sampleMeta, spec).HostingRegisters(); got != want {
			t.Errorf("%+v: got %t", spec, got)
		}
	}
}

// hostsOf are the hosts of each request, by number.
func hostsOf(t *testing.T, bodies []json.RawMessage) [][]int {
	t.Helper()
	lists := make([][]int, len(bodies))
	for i, body := range bodies {
		var request struct {
			Hosts []struct {
				IP string `json:"ip"`
			} `json:"hosts"`
		}
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		for _, h := range request.Hosts {
			parsed, err := fleet.ParseHost("0:"+h.IP, 0)
			if err != nil {
				t.Fatal(err)
			}
			lists[i] = append(lists[i], procapitest.NumberOf(parsed))
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
			_, url := newScript(t, exchange{API: apiRegister, Reply: test.first}, register(said(v1(1), code(850))))
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) { cfg.MaxRetries = 1 })
			got := registerOnly(t.Context(), client.Process(sampleMeta, sampleSpec()), hosts(1))[host(1)]
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
	for name, test := range map[string]struct {
		act   func(fleet.Process, context.Context, []fleet.Host) fleet.Results // nil calls Register
		steps []exchange
		first bool // host 1 has its verdict
		want  fleet.Verdict
	}{
		"refused":             {nil, []exchange{{API: apiRegister, Reply: refusal(1306000, "null")}}, false, fleet.Failed},
		"turned-away":         {nil, []exchange{{API: apiRegister, Reply: procapitest.Answer(http.StatusTooManyRequests, "{}")}}, false, fleet.Failed},
		"forbidden":           {nil, []exchange{{API: apiRegister, Reply: procapitest.Answer(http.StatusForbidden, "{}")}}, false, fleet.Failed},
		"lost":                {nil, []exchange{{API: apiRegister, Reply: procapitest.Gone}}, false, fleet.Lost},
		"bad-gateway":         {nil, []exchange{{API: apiRegister, Reply: procapitest.Answer(http.StatusBadGateway, "")}}, false, fleet.Lost},
		"taken-and-refused":   {nil, []exchange{began, {API: apiRegister, Reply: refusal(1306000, "null")}}, true, fleet.Lost},
		"taken-and-forbidden": {nil, []exchange{began, {API: apiRegister, Reply: procapitest.Answer(http.StatusForbidden, "{}")}}, true, fleet.Lost},
		"update-lost":         {fleet.Process.Reregister, []exchange{{API: apiUpdate, Reply: procapitest.Gone}}, false, fleet.Failed},
		"unregister-lost":     {fleet.Process.Unregister, []exchange{{API: apiUnregister, Reply: procapitest.Gone}}, false, fleet.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newScript(t, test.steps...)
			p := quick(t, url).Process(sampleMeta, sampleSpec())
			if test.act == nil {
				test.act = func(_ fleet.Process, ctx context.Context, hosts []fleet.Host) fleet.Results {
					return registerOnly(ctx, p, hosts)
				}
			}
			results := test.act(p, t.Context(), hosts(3))
			if results[host(1)].OK() != test.first {
				t.Errorf("host 1: got %+v", results[host(1)])
			}
			for n := 2; n <= 3; n++ {
				if got := results[host(n)]; got.Verdict != test.want || got.Err == nil {
					t.Errorf("host %d: got %+v, want verdict %d and the reason", n, got, test.want)
				}
			}
		})
	}
}

// Whether the platform got the request decides what is reported of a host that has no verdict when the
// context ends.
func TestRegister_ends(t *testing.T) {
	t.Parallel()
	halfway := register(said(v1(1), code(0), v1(2), code(115)))
	tests := map[string]struct {
		steps   func(end func()) []exchange
		endAt   int // after so many answers, 0 for never, -1 for before the first request
		want    fleet.Verdict
		settled bool // host 1 has its verdict, and host 2 was in progress
	}{
		"before":               {func(func()) []exchange { return nil }, -1, fleet.NotTried, false},
		"during-first-request": {func(end func()) []exchange { return []exchange{{API: apiRegister, Reply: procapitest.Hang(end)}} }, 0, fleet.Pending, false},
		"between":              {func(func()) []exchange { return []exchange{procapitest.Times(procapitest.ForEver, halfway)} }, 3, fleet.Pending, true},
		"during-second-request": {
			func(end func()) []exchange {
				return []exchange{halfway, {API: apiRegister, Reply: procapitest.Hang(end)}}
			}, 0, fleet.Pending, true,
		},
		"never-mentioned": {func(func()) []exchange { return []exchange{procapitest.Times(procapitest.ForEver, register("{}"))} }, 3, fleet.Pending, false},
	}
	for how, cause := range map[string]error{"deadline": context.DeadlineExceeded, "interrupt": context.Canceled} {
		for name, test := range tests {
			t.Run(how+"/"+name, func(t *testing.T) {
				t.Parallel()
				ctx, end := procapitest.Ending(t, cause)
				if test.endAt < 0 {
					end()
				}
				_, url := newScript(t, test.steps(end)...)
				client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) {
					cfg.Logger = procapitest.OnCall(apiRegister, func(n int) {
						if n == test.endAt {
							end()
						}
					})
				})
				results := registerOnly(ctx, client.Process(sampleMeta, sampleSpec()), hosts(2))
				if results[host(1)].OK() != test.settled {
					t.Errorf("host 1: got %+v", results[host(1)])
				}
				got := results[host(2)]
				if inProgress := got.Code == procapi.CodeInProgress; inProgress != test.settled {
					t.Errorf("host 2: got code %d", got.Code)
				}
				if got.Verdict != test.want || !errors.Is(got.Err, cause) {
					t.Errorf("host 2: got %+v, want verdict %d and %v", got, test.want, cause)
				}
			})
		}
	}
}
