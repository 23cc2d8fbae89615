package gse

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

var takenAlready = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: "the process is registered already"}

// told is what the agent of a host answers to a query, as a pair of said.
func told(address, instance string) []string {
	return []string{address + ":gse:proc-test", `{"error_code":0,"error_msg":"success","content":` + asText(one(instance)) + `}`}
}

// Hosting replaces what is there, so a host with a registration gets no request.
// What is on file counts where the agent does not deny it.
func TestGateway_registerLooksFirst(t *testing.T) {
	t.Parallel()
	const (
		hosted = `{"pid":-1,"isAuto":true}`
		bare   = `{"pid":-1,"isAuto":false}`
	)
	var (
		row   = func(agent string, status int) string { return gatewayRow(`"bk_agent_id":"`+agent+`"`, status) }
		key   = func(agent string) string { return agent + ":gse:proc-test" }
		done  = byTask(outcome(fleet.Done, 0))
		onA   = "agents " + agentA
		onB   = "agents " + agentB
		onAll = onA + " " + agentB
	)
	tests := map[string]struct {
		steps   []exchange
		want    map[string]fleet.Outcome
		queried []string // hosts of operation 2
		asked   []string // hosts of operate_proc_multi
	}{
		"none-is": {
			[]exchange{cached(), hosting, result(said(key(agentA), code(0), key(agentB), code(0)))},
			map[string]fleet.Outcome{agentA: done, agentB: done}, nil, []string{onAll},
		},
		"none-is-any-more": {
			[]exchange{cached(row(agentA, 0), row(agentB, 0)), hosting, result(said(key(agentA), code(0), key(agentB), code(0)))},
			map[string]fleet.Outcome{agentA: done, agentB: done}, nil, []string{onAll},
		},
		"one-is": {
			[]exchange{cached(row(agentA, 2)), accepted, result(said(told(agentA, hosted)...)), hosting, result(said(key(agentB), code(0)))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: done}, []string{onA}, []string{onB},
		},
		"all-are": {
			[]exchange{cached(row(agentA, 1), row(agentB, 2)), accepted, result(said(slices.Concat(told(agentA, hosted), told(agentB, hosted))...))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: takenAlready}, []string{onAll}, nil,
		},
		"one-was": {
			[]exchange{cached(row(agentA, 1), row(agentB, 0)), accepted, result(said(told(agentA, hosted)...)), hosting, result(said(key(agentB), code(117)))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: byTask(outcome(fleet.Failed, 117))}, []string{onA}, []string{onB},
		},
		// Something is on file, whatever it is.
		"unexplained": {
			[]exchange{cached(row(agentA, 7), row(agentB, 1)), accepted, result(said(slices.Concat(told(agentA, hosted), told(agentB, hosted))...))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: takenAlready}, []string{onAll}, nil,
		},
		"stale": {
			[]exchange{
				cached(row(agentA, 1), row(agentB, 1)), accepted, result(said(slices.Concat(told(agentA, bare), told(agentB, hosted))...)),
				hosting, result(said(key(agentA), code(0))),
			},
			map[string]fleet.Outcome{agentA: done, agentB: takenAlready}, []string{onAll}, []string{onA},
		},
		"not-hosted-but-registered": {
			[]exchange{
				cached(row(agentA, 1), row(agentB, 1)), accepted,
				result(said(slices.Concat(told(agentA, `{"pid":-1,"isAuto":false,"register_time":1600000000}`), told(agentB, hosted))...)),
			},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: takenAlready}, []string{onAll}, nil,
		},
		// An agent that does not say whether it hosts the process denies nothing.
		"agent-not-clear": {
			[]exchange{
				cached(row(agentA, 1), row(agentB, 1)), accepted,
				result(said(append(told(agentA, `{"pid":-1}`), key(agentB), code(117))...)),
			},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: takenAlready}, []string{onAll}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newGateway(t, test.steps...)
			results := gatewayProcess(t, url, sampleSpec()).Register(t.Context(), procapitest.Parse(t, agentA, agentB))
			if diff := cmp.Diff(test.want, procapitest.ByAddress(results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			var queried, asked []string
			for _, body := range script.Requests() {
				switch text := string(body); {
				case strings.Contains(text, "proc_operate_req"):
					asked = append(asked, selectorOf(t, body))
				case strings.Contains(text, `"op_type":2,`):
					queried = append(queried, selectorOf(t, body))
				}
			}
			if diff := cmp.Diff(test.queried, queried); diff != "" {
				t.Errorf("hosts queried (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("hosts asked (-want +got):\n%s", diff)
			}
		})
	}
}

// Where one cannot look, or not ask the agents of what is on file, nothing is
// registered.
func TestGateway_registerCannotLook(t *testing.T) {
	t.Parallel()
	const (
		unread  = "not registered, because whether it is already could not be read"
		unasked = "not registered, because whether it is already could not be asked"
	)
	var (
		refused = exchange{API: apiStatus, Reply: refusal(1306000, "null")}
		onFile  = cached(gatewayRow(`"bk_agent_id":"`+agentA+`"`, 1)) // and agentB is not
	)
	tests := map[string]struct {
		steps   []exchange // none for a context that has ended
		want    fleet.Verdict
		meaning string
	}{
		"refused":       {[]exchange{refused}, fleet.Failed, unread},
		"lost":          {[]exchange{{API: apiStatus, Reply: procapitest.Gone}}, fleet.Failed, unread},
		"ended-before":  {nil, fleet.NotTried, unread},
		"query-refused": {[]exchange{onFile, {API: apiOperate, Reply: refusal(1306000, "null")}}, fleet.Failed, unasked},
		"query-lost":    {[]exchange{onFile, {API: apiOperate, Reply: procapitest.Gone}}, fleet.Failed, unasked},
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
				if o.Verdict != test.want || o.Err == nil || o.Meaning != test.meaning {
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
	for _, act := range []string{"reregister", "unregister"} {
		got := procapitest.ByAddress(actsOf(p)[act](t.Context(), procapitest.Parse(t, agentA, "0:10.0.0.1")))
		if diff := cmp.Diff(map[string]fleet.Outcome{agentA: want, "0:10.0.0.1": want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", act, diff)
		}
		if got := actsOf(p)[act](t.Context(), nil); len(got) > 0 {
			t.Errorf("%s: got %v for no host", act, got)
		}
	}
}

// Hosting and unhosting can be repeated without harm: what the second request
// finds is what the first one did.
func TestGateway_lostAnswer(t *testing.T) {
	t.Parallel()
	lost := exchange{API: apiMulti, Reply: procapitest.Gone}
	tests := map[string]struct {
		act   string
		steps []exchange
		code  int
	}{
		"register":   {"register", []exchange{cached(), lost, hosting}, procapi.CodeRegistered},
		"reregister": {"reregister", []exchange{lost, hosting}, procapi.CodeRegistered},
		"unregister": {"unregister", []exchange{cached(), lost, hosting}, procapi.CodeNotRunning},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newGateway(t, append(test.steps, result(said(agentA+":gse:proc-test", code(test.code))))...)
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) { cfg.Gateway, cfg.MaxRetries = bkapi.APIGW, 1 })
			p := client.Process(sampleMeta, sampleSpec())
			got := actsOf(p)[test.act](t.Context(), procapitest.Parse(t, agentA))[procapitest.Parse(t, agentA)[0]]
			if !got.OK() || !got.AlreadyDone || !got.Repeated || got.TaskID != "T" {
				t.Errorf("got %+v, want done, perhaps by the first request", got)
			}
		})
	}
}

// A wait that ends leaves hosting pending: the platform has accepted it.
func TestGateway_ends(t *testing.T) {
	t.Parallel()
	_, url := newGateway(t, cached(), hosting, procapitest.Times(procapitest.ForEver, queued))
	ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) {
		cfg.Gateway = bkapi.APIGW
		cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
			if n == 3 {
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
