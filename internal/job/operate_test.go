package job

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// JOB's answers while a task is in progress: after each of them the client asks again. The status of a result
// is reserved: only the results of the hosts count. Package procapi tests the wait itself.
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

// A request whose answer is lost is sent again only if it can be repeated without harm. Through manage_proc
// nothing can. Package procapi tests how a request can fail.
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

// Three hosts are two requests of at most two.
func TestProcess_batches(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{AppCode: "esb_test", AppSecret: "xxx"}
	p := newTestClient(t, procapitest.Serve(t, sim), func(_ *bkapi.Config, opts *Options) { opts.MaxHosts = 2 }).Process(scope, "", operateInfo())
	results := p.Register(t.Context(), hosts(3))
	statuses, err := p.CachedStatus(t.Context(), hosts(3))
	for _, h := range hosts(3) {
		if got := statuses[h]; !results[h].OK() || got.State != fleet.Stopped || !got.Hosted {
			t.Errorf("%s: got %+v, %+v, %v", h, results[h], got, err)
		}
	}
	if n := len(sim.Calls().Of(apiOperate)); n != 4 {
		t.Errorf("sent %d operations, want two in two batches each", n)
	}
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

// JOB cannot name a host by its agent id, so nothing is sent for such a host. The other hosts do not wait
// for it.
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
		if got.Verdict != fleet.Failed || !strings.Contains(got.Meaning, "not by agent id") || got.Err != nil {
			t.Errorf("%s: got %+v", name, got)
		}
		if name != "alone" && !results[mixed[1]].OK() {
			t.Errorf("%s: got %+v", name, results[mixed[1]])
		}
	}
	statuses, err := p.CachedStatus(t.Context(), mixed)
	if err != nil || statuses[mixed[1]].State != fleet.Running {
		t.Errorf("got %v, %v", statuses, err)
	}
	if got := statuses[mixed[0]]; got.State != fleet.Unknown || !strings.Contains(got.Message, "not by agent id") {
		t.Errorf("got %+v", got)
	}
}

// Resume asks for earlier operations by task and in their scope, and sends nothing. Package procapi tests how
// long it waits.
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
			if got.Verdict != test.want || got.TaskID != "T" {
				t.Errorf("got %+v, want verdict %d", got, test.want)
			}
			for _, body := range script.Requests() {
				if !strings.Contains(string(body), `"bk_gse_taskid":"T"`) || !strings.Contains(string(body), "bk_scope_id") {
					t.Errorf("asked %s", body)
				}
			}
		})
	}
}

// What the client reports of a host contains no secret.
func TestProcess_repeatsNoSecret(t *testing.T) {
	t.Parallel()
	_, url := newScript(t, accepted, result(said(key(1), `{"error_code":65535,"error_msg":"sent: s3cret"}`)))
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.AppSecret = "s3cret" })
	results := client.Process(scope, "", operateInfo()).Operate(t.Context(), fleet.Start, hosts(1), nil)
	if got := results[host(1)].Message; !strings.Contains(got, "sent: ***") {
		t.Errorf("got %q", got)
	}
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
		if command, check := c.info.Settles(); command != c.command || check != c.check {
			t.Errorf("%s: got %s and %s, want %s and %s", name, command, check, c.command, c.check)
		}
	}
}
