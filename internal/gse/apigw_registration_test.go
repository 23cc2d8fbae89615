package gse

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

var takenAlready = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: "the process is registered already"}

// agentSays is an agent's answer to a query, as a pair for said.
func agentSays(address, instance string) []string {
	return []string{address + ":gse:proc-test", `{"error_code":0,"error_msg":"success","content":` + asText(one(instance)) + `}`}
}

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
	tests := map[string]struct {
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
	}
	for name, test := range tests {
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
			script, url := newGateway(t, steps...)
			results := gatewayProcess(t, url, sampleSpec()).Register(t.Context(), procapitest.Parse(t, both...))
			if diff := cmp.Diff(map[string]fleet.Outcome{agentA: test.wantA, agentB: test.wantB}, procapitest.ByAddress(results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			var sent []string
			for i, body := range script.Requests() {
				if strings.Contains(string(body), `"task_id"`) {
					continue
				}
				if sent = append(sent, selectorOf(t, body)); strings.Contains(string(body), `"op_type":2,`) != (i == 0) {
					t.Errorf("request %d is %s, want a question first and no other", i, body)
				}
			}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("hosts asked, and registered (-want +got):\n%s", diff)
			}
		})
	}
}

// An agent that does not answer costs only its own host: it uses up no time of the others.
func TestGatewayFlow_registerPatience(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := gatewaySim(t, sim, 0)
	p.client.askPatience = 3 * time.Second // the others have to be asked within it on a busy machine, too
	sim.Inject(simulator.Fault{API: apiOperate, Hosts: []string{agentB}, Pending: -1})
	began := time.Now()
	results := procapitest.ByAddress(p.Register(t.Context(), procapitest.Parse(t, agentA, agentB)))
	if waited := time.Since(began); waited > 30*time.Second {
		t.Errorf("waited for %s", waited)
	}
	if got := results[agentA]; !got.OK() {
		t.Errorf("%s: got %+v, want it to be registered", agentA, got)
	}
	if got := results[agentB]; got.Verdict != fleet.Failed || got.AlreadyDone || got.TaskID != "" {
		t.Errorf("%s: got %+v, want it not to be registered", agentB, got)
	}
	if n := len(sim.Calls().Of(apiMulti).On(agentB)); n > 0 {
		t.Errorf("%s was sent %d requests", agentB, n)
	}
}

// An apply that is interrupted while the agents are asked registers nothing.
func TestGateway_registerInterrupted(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded} {
		_, url := newGateway(t, accepted, procapitest.Times(procapitest.ForEver, queued))
		ctx, end := procapitest.Ending(t, cause)
		client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) {
			cfg.Gateway = bkapi.APIGW
			cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
				if n == 2 {
					end()
				}
			})
		})
		h := procapitest.Parse(t, agentA)
		got := client.Process(sampleMeta, sampleSpec()).Register(ctx, h)[h[0]]
		if got.Verdict != fleet.NotTried || !errors.Is(got.Err, cause) || got.Meaning == "" {
			t.Errorf("%v: got %+v, want it not to be tried", cause, got)
		}
	}
}

// A cached status that is late, or whose rows name no host, does not hide a process of another owner.
func TestGatewayFlow_registerUnderABadFile(t *testing.T) {
	t.Parallel()
	for name, sim := range map[string]*simulator.Server{"lag": {LagCalls: -1}, "rows-without-host": {RowsWithoutHost: true}, "rows-without-any": {RowsWithoutHost: true, RowsWithoutAgentID: true}} {
		p := gatewaySim(t, sim, 0)
		inventory := procapitest.Parse(t, "0:10.0.0.1")
		theirs := map[string]string{"owner": "another"}
		if err := sim.Register("0:10.0.0.1", "gse", "proc-test", theirs, `{}`); err != nil {
			t.Fatal(err)
		}
		got := p.Register(t.Context(), inventory)[inventory[0]]
		if got.OK() || !got.AlreadyDone || sim.Calls().Count(apiMulti) > 0 || !maps.Equal(at(sim, inventory[0]).Labels, theirs) {
			t.Errorf("%s: got %+v, want it to be another's", name, got)
		}
	}
}

// Where the agents cannot be asked, nothing is registered.
func TestGateway_registerCannotAsk(t *testing.T) {
	t.Parallel()
	const meaning = "not registered, because the agents could not be asked whether it already is"
	tests := map[string]struct {
		steps []exchange // none for a context that has ended
		want  fleet.Verdict
	}{
		"refused":      {[]exchange{{API: apiOperate, Reply: refusal(1306000, "null")}}, fleet.Failed},
		"lost":         {[]exchange{{API: apiOperate, Reply: procapitest.Gone}}, fleet.Failed},
		"ended-before": {nil, fleet.NotTried},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.steps == nil {
				cancel()
			}
			_, url := newGateway(t, test.steps...)
			results := gatewayProcess(t, url, sampleSpec()).Register(ctx, procapitest.Parse(t, agentA, agentB))
			if len(results) != 2 {
				t.Errorf("got %d results", len(results))
			}
			for h, o := range results {
				if o.Verdict != test.want || o.Err == nil || o.Meaning != meaning {
					t.Errorf("%s: got %+v, want verdict %d", h, o, test.want)
				}
			}
		})
	}
}

// Operation 4 has a spec in its body, and an import has none to send.
func TestGateway_withoutSpec(t *testing.T) {
	t.Parallel()
	_, url := newGateway(t)
	p := gatewayProcess(t, url, nil)
	want := fleet.Outcome{Verdict: fleet.NotTried, Meaning: "not tried: this gateway wants the spec, which is not known before the first apply after an import"}
	for _, act := range []string{"register", "reregister", "unregister"} {
		got := procapitest.ByAddress(actsOf(p)[act](t.Context(), procapitest.Parse(t, agentA, "0:10.0.0.1")))
		if diff := cmp.Diff(map[string]fleet.Outcome{agentA: want, "0:10.0.0.1": want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", act, diff)
		}
		if got := actsOf(p)[act](t.Context(), nil); len(got) > 0 {
			t.Errorf("%s: got %v for no host", act, got)
		}
	}
}

// Hosting and unhosting can be repeated without harm. The second request may find what the first one did,
// or what was there before. So a new process is judged by the cached status of then, and an earlier one
// is hosted once more.
func TestGateway_lostAnswer(t *testing.T) {
	t.Parallel()
	lost := exchange{API: apiMulti, Reply: procapitest.Gone}
	ended := func(with int) exchange { return result(said(agentA+":gse:proc-test", code(with))) }
	tests := map[string]struct {
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
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newGateway(t, test.steps...)
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) { cfg.Gateway, cfg.MaxRetries = bkapi.APIGW, 1 })
			p := client.Process(sampleMeta, sampleSpec())
			got := actsOf(p)[test.act](t.Context(), procapitest.Parse(t, agentA))[procapitest.Parse(t, agentA)[0]]
			if got.Verdict != test.want.Verdict || got.AlreadyDone != test.want.AlreadyDone || got.Repeated != test.want.Repeated || got.Code != test.want.Code {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// A wait that ends leaves hosting pending: the platform has accepted it.
func TestGateway_ends(t *testing.T) {
	t.Parallel()
	_, url := newGateway(t, accepted, result(said(agentSays(agentA, `{"pid":-1,"isAuto":false}`)...)), hosting, procapitest.Times(procapitest.ForEver, queued))
	ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) {
		cfg.Gateway = bkapi.APIGW
		cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
			if n == 4 { // the first is of the query
				end()
			}
		})
	})
	results := client.Process(sampleMeta, sampleSpec()).Register(ctx, procapitest.Parse(t, agentA))
	want := map[string]fleet.Outcome{agentA: {Verdict: fleet.Pending, TaskID: "T", Meaning: "the task was still queued", Err: context.DeadlineExceeded}}
	if diff := cmp.Diff(want, procapitest.ByAddress(results), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
