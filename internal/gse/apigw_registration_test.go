package gse

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
)

var takenAlready = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: "the process is registered already"}

// Hosting replaces what is there, so a host with a registration gets no request.
func TestGateway_registerLooksFirst(t *testing.T) {
	t.Parallel()
	row := func(agent string, status int) string { return gatewayRow(`"bk_agent_id":"`+agent+`"`, status) }
	done := byTask(outcome(fleet.Done, 0))
	tests := map[string]struct {
		steps []exchange
		want  map[string]fleet.Outcome
		asked []string // hosts of operate_proc_multi
	}{
		"none-is": {
			[]exchange{cached(), hosting, result(said(agentA+":gse:proc-test", code(0), agentB+":gse:proc-test", code(0)))},
			map[string]fleet.Outcome{agentA: done, agentB: done}, []string{"agents " + agentA + " " + agentB},
		},
		"one-is": {
			[]exchange{cached(row(agentA, 2)), hosting, result(said(agentB+":gse:proc-test", code(0)))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: done}, []string{"agents " + agentB},
		},
		"all-are": {
			[]exchange{cached(row(agentA, 1), row(agentB, 2))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: takenAlready}, nil,
		},
		"one-was": {
			[]exchange{cached(row(agentA, 1), row(agentB, 0)), hosting, result(said(agentB+":gse:proc-test", code(117)))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: byTask(outcome(fleet.Failed, 117))}, []string{"agents " + agentB},
		},
		// Something is on file, whatever it is.
		"unexplained": {
			[]exchange{cached(row(agentA, 7), row(agentB, 1))},
			map[string]fleet.Outcome{agentA: takenAlready, agentB: takenAlready}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newGateway(t, test.steps...)
			results := gatewayProcess(t, url, sampleSpec()).Register(t.Context(), parse(t, agentA, agentB))
			if diff := cmp.Diff(test.want, byAddress(results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			var asked []string
			for _, body := range script.requests() {
				if strings.Contains(string(body), "proc_operate_req") {
					asked = append(asked, selectorOf(t, body))
				}
			}
			if diff := cmp.Diff(test.asked, asked); diff != "" {
				t.Errorf("hosts asked (-want +got):\n%s", diff)
			}
		})
	}
}

// Where one cannot look, nothing is registered.
func TestGateway_registerCannotLook(t *testing.T) {
	t.Parallel()
	const unread = "not registered, because whether it is already could not be read"
	refused := exchange{api: apiStatus, reply: refusal(1306000, "null")}
	tests := map[string]struct {
		steps []exchange // none for a context that has ended
		want  fleet.Verdict
	}{
		"refused":      {[]exchange{refused}, fleet.Failed},
		"lost":         {[]exchange{{api: apiStatus, reply: gone}}, fleet.Failed},
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
			results := gatewayProcess(t, url, sampleSpec()).Register(ctx, parse(t, agentA, agentB))
			if len(results) != 2 {
				t.Errorf("got %d results", len(results))
			}
			for h, o := range results {
				if o.Verdict != test.want || o.Err == nil || o.Meaning != unread {
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
		got := byAddress(actsOf(p)[act](t.Context(), parse(t, agentA, "0:10.0.0.1")))
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
	lost := exchange{api: apiMulti, reply: gone}
	tests := map[string]struct {
		act   string
		steps []exchange
		code  int
	}{
		"register":   {"register", []exchange{cached(), lost, hosting}, procapi.CodeRegistered},
		"reregister": {"reregister", []exchange{lost, hosting}, procapi.CodeRegistered},
		"unregister": {"unregister", []exchange{lost, hosting}, procapi.CodeNotRunning},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, url := newGateway(t, append(test.steps, result(said(agentA+":gse:proc-test", code(test.code))))...)
			client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) { cfg.Gateway, cfg.MaxRetries = bkapi.APIGW, 1 })
			p := client.Process(sampleMeta, sampleSpec())
			got := actsOf(p)[test.act](t.Context(), parse(t, agentA))[parse(t, agentA)[0]]
			if !got.OK() || !got.AlreadyDone || !got.Repeated || got.TaskID != "T" {
				t.Errorf("got %+v, want done, perhaps by the first request", got)
			}
		})
	}
}

// A wait that ends leaves hosting pending: the platform has accepted it.
func TestGateway_ends(t *testing.T) {
	t.Parallel()
	_, url := newGateway(t, cached(), hosting, times(forEver, queued))
	ctx, end := ending(t, context.DeadlineExceeded)
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *procapi.Options) {
		cfg.Gateway = bkapi.APIGW
		cfg.Logger = onCall(apiResult, func(n int) {
			if n == 3 {
				end()
			}
		})
	})
	results := client.Process(sampleMeta, sampleSpec()).Register(ctx, parse(t, agentA))
	want := map[string]fleet.Outcome{agentA: {Verdict: fleet.Pending, TaskID: "T", Meaning: "the task was still queued", Err: context.DeadlineExceeded}}
	if diff := cmp.Diff(want, byAddress(results), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}
