package gse

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

var takenAlready = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: "the process is registered already"}

// Hosting replaces what is there, and the cached status may be late. So a host gets a request only where
// its agent says that nothing is hosted.
func TestGateway_registerAsksFirst(t *testing.T) {
	t.Parallel()
	var (
		instance = func(text string) string { return agentSays("", text)[1] }
		hosted   = instance(`{"pid":-1,"isAuto":true}`)
		bare     = instance(`{"pid":-1,"isAuto":false}`)
		done     = wasIdle(byTask(outcome(fleet.Done, 0)))
		both     = []string{agentA, agentB}

		registered = takenAlready // with the time that the agent reports
		since      = byTask(already(outcome(fleet.Failed, 850)))
		unclear    = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: "the process may be registered already: its agent does not say whether it hosts it"}
		silent     = func(code int64, message string) fleet.Outcome {
			return fleet.Outcome{Verdict: fleet.Failed, Code: code, Message: message, Away: code == procapi.CodeAgentAbnormal, Meaning: "not registered, because its agent does not say whether it already is"}
		}
	)
	registered.RegisterTime = 1600000000
	for name, test := range map[string]struct {
		a, b         string   // the answers of the agents
		asked        []string // hosts of the request that hosts
		code         int      // of the first of them; the other's is 0
		wantA, wantB fleet.Outcome
	}{
		"none-is":       {bare, bare, both, 0, done, done},
		"one-is":        {hosted, bare, both[1:], 0, takenAlready, done},
		"all-are":       {hosted, hosted, nil, 0, takenAlready, takenAlready},
		"hosting-fails": {hosted, bare, both[1:], 117, takenAlready, byTask(outcome(fleet.Failed, 117))},
		"hosted-since":  {bare, bare, both, 850, since, done},
		// It runs, but is not hosted.
		"runs":                      {instance(`{"pid":7,"isAuto":false}`), hosted, both[:1], 0, byTask(outcome(fleet.Done, 0)), takenAlready},
		"not-hosted-but-registered": {instance(`{"pid":-1,"isAuto":false,"register_time":1600000000}`), hosted, nil, 0, registered, takenAlready},
		// An agent that does not say whether it hosts the process does not block the registration.
		"agent-not-clear":  {instance(`{"pid":-1}`), bare, both[1:], 0, unclear, done},
		"agent-away":       {bare, code(117), both[:1], 0, done, silent(117, "the agent is abnormal or not found: message 117")},
		"agent-unreadable": {bare, code(0), both[:1], 0, done, silent(0, "the agent's answer is not JSON")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := func(agent string) string { return agent + ":gse:proc-test" }
			steps := []exchange{accepted, result(said(key(agentA), test.a, key(agentB), test.b))}
			want := []string{"agents " + strings.Join(both, " ")}
			if len(test.asked) > 0 {
				var answers []string
				for i, agent := range test.asked {
					answers = append(answers, key(agent), code([]int{test.code, 0}[i]))
				}
				steps = append(steps, hosting, result(said(answers...)))
				want = append(want, "agents "+strings.Join(test.asked, " "))
			}
			p, script := scripted(t, "apigw", steps...)
			results := p.Register(t.Context(), procapitest.Parse(t, both...))
			procapitest.WantEqual(t, "results", map[string]fleet.Outcome{agentA: test.wantA, agentB: test.wantB}, procapitest.ByAddress(results))
			var sent []string
			for i, body := range script.Requests() {
				if strings.Contains(string(body), `"task_id"`) {
					continue
				}
				if sent = append(sent, selectorOf(t, body)); strings.Contains(string(body), `"op_type":2,`) != (i == 0) {
					t.Errorf("request %d is %s, want a question first and no other", i, body)
				}
			}
			procapitest.WantEqual(t, "hosts asked, and registered", want, sent)
		})
	}
}

// A process that was hosted but not registered is in no cached status, so the ESB's agents are asked as well.
// A process that is registered but not hosted is the platform's to refuse.
func TestRegister_asksFirst(t *testing.T) {
	t.Parallel()
	registered := outcome(fleet.Failed, 850)
	registered.AlreadyDone, registered.RegisterTime = true, 1600000000 // the time later shows whether the cached status is of this registration
	for name, test := range map[string]struct {
		says string // the agent of host 1
		code int    // of its registration
		want fleet.Outcome
		sent [][]int // hosts of the registration
	}{
		"hosted":     {`{"pid":-1,"isAuto":true}`, 0, takenAlready, [][]int{{2}}},
		"runs":       {`{"pid":7,"isAuto":false}`, 0, outcome(fleet.Done, 0), [][]int{{1, 2}}},
		"not-said":   {`{"pid":-1}`, 0, outcome(fleet.Done, 0), [][]int{{1, 2}}},
		"registered": {`{"pid":-1,"isAuto":false,"register_time":1600000000}`, 850, registered, [][]int{{1, 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agents := said(append(agentSays(host(1).Address(), test.says), agentSays(host(2).Address(), `{"pid":-1,"isAuto":false}`)...)...)
			p, script := scripted(t, "esb", accepted, result(agents), register(said(v1(1), code(test.code), v1(2), code(0))))
			procapitest.WantResults(t, map[int]fleet.Outcome{1: test.want, 2: wasIdle(outcome(fleet.Done, 0))}, p.Register(t.Context(), hosts(2)))
			procapitest.WantEqual(t, "hosts registered", test.sent, hostsOf(t, script.Requests()[2:]))
		})
	}
}

// Where the agents cannot be asked, or have not answered when the apply is interrupted, nothing is registered.
func TestGateway_registerCannotAsk(t *testing.T) {
	t.Parallel()
	refused := func(reply http.HandlerFunc) []exchange { return []exchange{{API: apiOperate, Reply: reply}} }
	for name, test := range map[string]struct {
		steps   []exchange
		ends    error // how the context ends: before, or while the agents are asked
		want    fleet.Verdict
		meaning string
	}{
		"refused":          {refused(refusal(1306000)), nil, fleet.Failed, "the agents could not be asked whether it already is"},
		"lost":             {refused(procapitest.Gone), nil, fleet.Failed, "the agents could not be asked whether it already is"},
		"no-permission":    {refused(procapitest.Answer(http.StatusForbidden, `{"code":1640301,"message":"no"}`)), nil, fleet.Failed, "the platform does not let the application ask first"},
		"wrong-secret":     {refused(procapitest.Answer(http.StatusUnauthorized, `{"code":1640101,"message":"no"}`)), nil, fleet.Failed, "the platform does not accept the credentials"},
		"not-the-platform": {refused(procapitest.Answer(http.StatusOK, "<html>")), nil, fleet.Failed, "the platform was not reached"},
		"ended-before":     {nil, context.Canceled, fleet.NotTried, "the agents could not be asked whether it already is"},
		"interrupted":      {[]exchange{accepted, procapitest.Times(procapitest.ForEver, queued)}, context.Canceled, fleet.NotTried, "its agent had not said whether it already is"},
		"deadline":         {[]exchange{accepted, procapitest.Times(procapitest.ForEver, queued)}, context.DeadlineExceeded, fleet.NotTried, "its agent had not said whether it already is"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := procapitest.Ending(t, test.ends)
			if test.steps == nil {
				end()
			}
			p, _ := configured(t, "apigw", func(cfg *bkapi.Config, _ *procapi.Options) {
				cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
					if n == 2 {
						end()
					}
				})
			}, test.steps...)
			results := p.Register(ctx, procapitest.Parse(t, agentA, agentB))
			if len(results) != 2 {
				t.Errorf("got %d results", len(results))
			}
			for h, o := range results {
				if o.Verdict != test.want || o.Meaning != "not registered, because "+test.meaning || o.Err == nil || test.ends != nil && !errors.Is(o.Err, test.ends) {
					t.Errorf("%s: got %+v, want verdict %d, %q", h, o, test.want, test.meaning)
				}
			}
		})
	}
}

// Operation 4 has a spec in its body, and an import has none to send.
func TestGateway_withoutSpec(t *testing.T) {
	t.Parallel()
	p, _ := scripted(t, "apigw")
	p.spec = nil
	addresses := []string{agentA, "0:10.0.0.1"}
	want := fleet.Outcome{Verdict: fleet.NotTried, Meaning: "not tried: this gateway wants the spec, which is not known before the first apply after an import"}
	for name, act := range map[string]procapitest.Call{"register": procapitest.Register, "reregister": procapitest.Reregister, "unregister": procapitest.Unregister} {
		for _, asked := range [][]string{addresses, nil} {
			procapitest.WantEqual(t, name, procapitest.Each(asked, want), act(t.Context(), p, procapitest.Parse(t, asked...)))
		}
	}
}

// A silent agent costs its own host alone, and only for a while: not the time until the deadline.
func TestAsking_patience(t *testing.T) {
	t.Parallel()
	const (
		addressA = "0:10.0.0.1"
		other    = "0:10.0.0.2"
		enough   = 2 * time.Second // for an agent that answers, on a busy machine
		short    = 100 * time.Millisecond
	)
	names := procapitest.Call(func(ctx context.Context, p fleet.Process, hosts []fleet.Host) any {
		return procapitest.OrError(p.OtherNames(ctx, hosts))
	})
	for name, test := range map[string]struct {
		call     procapitest.Call
		patience time.Duration
		silent   []string
		answered []string // hosts that the call did or read something for
	}{
		"register":      {procapitest.Register, enough, []string{other}, []string{addressA}},
		"names":         {names, enough, []string{other}, []string{addressA}},
		"names-of-none": {names, short, []string{addressA, other}, nil},
		"cached-status": {procapitest.CachedStatus, short, []string{addressA, other}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{RowsWithoutHost: true}
			p := simAt(t, "apigw", sim, 0)
			p.client.askPatience = test.patience
			sim.AddAgent(agentA, addressA)
			if name == "cached-status" { // a row that only an agent can say the host of
				if err := sim.Register(addressA, sampleMeta.Namespace, sampleMeta.Name, nil, "{}"); err != nil {
					t.Fatal(err)
				}
			}
			sim.Inject(simulator.Fault{API: apiOperate, Hosts: test.silent, Pending: -1})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			var answered []string
			switch made := test.call(ctx, p, procapitest.Parse(t, addressA, other)).(type) {
			case map[string]fleet.Outcome:
				for address, o := range made {
					if o.OK() {
						answered = append(answered, address)
					}
				}
			case map[string]fleet.HostID:
				answered = slices.Collect(maps.Keys(made))
			case map[string]fleet.Status:
				for address, s := range made {
					if s.State != fleet.Unknown {
						answered = append(answered, address)
					}
				}
			default:
				t.Error(made)
			}
			if waited := time.Since(began); waited > 20*time.Second || !slices.Equal(answered, test.answered) {
				t.Errorf("waited %s for %q, want an answer of %q", waited, answered, test.answered)
			}
			if calls := sim.Calls(); len(calls.Of(apiMulti).On(other)) > 0 || calls.Count(apiOperate) != 1 {
				t.Errorf("got calls %v, want one question", calls.APIs())
			}
		})
	}
}

// Hosting and unhosting can be repeated without harm. The second request may find what the first one did,
// or what was there before. So a new process is judged by the cached status of then, and an earlier one
// is hosted once more.
func TestGateway_lostAnswer(t *testing.T) {
	t.Parallel()
	lost := exchange{API: apiMulti, Reply: procapitest.Gone}
	ended := func(with int) exchange { return result(said(agentA+":gse:proc-test", code(with))) }
	for name, test := range map[string]struct {
		act   string
		steps []exchange
		want  fleet.Outcome
	}{
		"register": {"register", []exchange{accepted, result(said(agentSays(agentA, `{"pid":-1,"isAuto":false}`)...)), lost, hosting, ended(procapi.CodeRegistered)},
			fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Repeated: true, Code: procapi.CodeRegistered}},
		"reregister": {"reregister", []exchange{lost, hosting, ended(procapi.CodeRegistered), hosting, ended(procapi.CodeOK), hosting, ended(procapi.CodeOK)},
			fleet.Outcome{Verdict: fleet.Done}},
		"unregister": {"unregister", []exchange{cached(), lost, hosting, ended(procapi.CodeNotRunning)},
			fleet.Outcome{Verdict: fleet.Done, AlreadyDone: true, Repeated: true, Code: procapi.CodeNotRunning}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := configured(t, "apigw", retrying(1), test.steps...)
			got := actsOf(p)[test.act](t.Context(), procapitest.Parse(t, agentA))[procapitest.Parse(t, agentA)[0]]
			if got.Verdict != test.want.Verdict || got.AlreadyDone != test.want.AlreadyDone || got.Repeated != test.want.Repeated || got.Code != test.want.Code {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// actsOf are the registrations of a process.
func actsOf(p *Process) map[string]func(context.Context, []fleet.Host) fleet.Results {
	return map[string]func(context.Context, []fleet.Host) fleet.Results{
		"register": p.Register, "reregister": p.Reregister, "unregister": p.Unregister,
	}
}
