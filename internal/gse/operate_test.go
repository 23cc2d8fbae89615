package gse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// A request whose answer is lost is sent again only if it can be repeated without harm. Package procapi tests
// how a request can fail.
func TestOperate_accepting(t *testing.T) {
	t.Parallel()
	var (
		lost     = exchange{API: apiOperate, Reply: procapitest.Gone}
		unnamed  = exchange{API: apiOperate, Reply: procapitest.Data(`{"task_id":""}`)}
		finished = result(said(v2(1), code(0)))
		asked    = func(op fleet.Operation, want fleet.Verdict, steps ...exchange) scene {
			return scene{retries: 2, call: procapitest.Operate(op), steps: steps, want: on1(want)}
		}
	)
	play(t, map[string]scene{
		"start-lost":         asked(fleet.Start, fleet.Lost, lost),
		"host-lost":          asked(fleet.Supervise, fleet.Done, lost, accepted, finished),
		"unhost-lost":        asked(fleet.Unsupervise, fleet.Done, lost, accepted, finished),
		"host-lost-for-good": asked(fleet.Supervise, fleet.Failed, procapitest.Times(3, lost)),
		"result-lost":        asked(fleet.Start, fleet.Done, accepted, exchange{API: apiResult, Reply: procapitest.Gone}, finished),
		"start-no-task":      asked(fleet.Start, fleet.Lost, unnamed),
		"host-no-task":       asked(fleet.Supervise, fleet.Failed, unnamed),
	})
}

// Resume asks for earlier operations by task, host by host, and sends nothing. The task may be of an
// operation on more hosts, or on more processes. Package procapi tests how long it waits.
func TestResume(t *testing.T) {
	t.Parallel()
	const others = `"0:10.0.0.9:gse:proc-test":{"error_code":0},"0:10.0.0.1:gse:other":{"error_code":65535}`
	agent := procapitest.Parse(t, agentA)[0]
	about := func(key string, n int) exchange { return result("{" + others + `,"` + key + `":` + code(n) + "}") }
	pendingThen := func(key string) []exchange { return []exchange{about(key, 115), about(key, 0)} }
	for name, test := range map[string]struct {
		face  string
		host  fleet.Host
		task  fleet.Task
		wait  bool
		steps []exchange
		want  fleet.Verdict
	}{
		"waited-for":      {"esb", host(1), fleet.Task{Operation: fleet.Restart}, true, pendingThen(v2(1)), fleet.Done},
		"looked-at":       {"esb", host(1), fleet.Task{Operation: fleet.Restart}, false, []exchange{about(v2(1), 115)}, fleet.Pending},
		"started":         {"esb", host(1), fleet.Task{Operation: fleet.Start}, true, []exchange{about(v2(1), 828)}, fleet.Done},
		"other-form":      {"esb", host(1), fleet.Task{Operation: fleet.Restart}, true, []exchange{about(v1(1), 0)}, fleet.Done},
		"named-otherwise": {"esb", host(1), fleet.Task{Operation: fleet.Restart, As: "0:10.0.0.8"}, true, []exchange{about(v2(8), 0)}, fleet.Done},
		"gateway":         {"apigw", agent, fleet.Task{Operation: fleet.Restart}, true, pendingThen(agentA + ":gse:proc-test"), fleet.Done},
		"gateway-failed":  {"apigw", agent, fleet.Task{Operation: fleet.Reload}, true, []exchange{about(agentA+":gse:proc-test", 65535)}, fleet.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, test.face, test.steps...)
			test.task.ID = "T"
			got := p.Resume(t.Context(), map[fleet.Host]fleet.Task{test.host: test.task}, test.wait, nil)[test.host]
			if got.Verdict != test.want || got.TaskID != "T" {
				t.Errorf("got %+v, want verdict %d", got, test.want)
			}
			for _, body := range script.Requests() {
				if !strings.Contains(string(body), `"task_id":"T"`) {
					t.Errorf("asked %s", body)
				}
			}
		})
	}
}

// A reinstalled machine has another agent id, and the old agent's cached status has the same address. If
// both agents are asked for, a result under that address belongs to neither.
func TestResume_oneResultForTwoHosts(t *testing.T) {
	t.Parallel()
	both := procapitest.Parse(t, agentA, agentB)
	for name, test := range map[string]struct {
		hosts []fleet.Host
		want  fleet.Verdict
	}{"both": {both, fleet.Lost}, "first": {both[:1], fleet.Done}, "second": {both[1:], fleet.Done}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "apigw", procapitest.Times(procapitest.ForEver, result(said(v2(9), code(0)))))
			tasks := make(map[fleet.Host]fleet.Task)
			for _, h := range both {
				p.client.learn(h.WithoutSupplier(), host(9).WithoutSupplier())
			}
			for _, h := range test.hosts {
				tasks[h] = fleet.Task{ID: "T", Operation: fleet.Restart}
			}
			for h, got := range p.Resume(t.Context(), tasks, true, nil) {
				if got.Verdict != test.want {
					t.Errorf("%s: got %+v, want verdict %d", h, got, test.want)
				}
			}
		})
	}
}

// A one-shot process has ended when its start is checked (836).
func TestOperate_oneShot(t *testing.T) {
	t.Parallel()
	for kind, want := range map[int64]fleet.Verdict{AutoPeriodic: fleet.Failed, AutoResident: fleet.Failed, AutoOneShot: fleet.Done} {
		for _, op := range []fleet.Operation{fleet.Start, fleet.Restart} {
			p, _ := scripted(t, "esb", accepted, result(said(v2(1), code(procapi.CodeCheckFailed))))
			p.spec.MonitorPolicy.AutoType = kind
			if got := p.Operate(t.Context(), op, hosts(1), nil)[host(1)]; got.Verdict != want || p.OneShot() != (want == fleet.Done) {
				t.Errorf("%s with auto_type %d: got %+v, want verdict %d", op, kind, got, want)
			}
		}
	}
}

// echoed is a platform's message that repeats the secret of quick's clients.
const echoed = `sent: s3cret`

// What the client reports of a host contains no secret, whichever call the platform answered.
func TestProcess_repeatsNoSecret(t *testing.T) {
	t.Parallel()
	failed := fmt.Sprintf(`{"error_code":65535,"error_msg":%q}`, echoed)
	long := `"` + strings.Repeat("x", 190) + echoed + `"` // no result, and quoted up to the secret's middle
	answer := func(raw string) []exchange { return []exchange{accepted, result(said(v2(1), raw))} }
	live := func(content string) []exchange { return answer(`{"error_code":0,"content":` + asText(content) + `}`) }
	operate := procapitest.Operate(fleet.Start)
	for name, test := range map[string]struct {
		call  procapitest.Call
		steps []exchange
	}{
		"register":            {procapitest.Reregister, []exchange{{API: apiUpdate, Reply: procapitest.Data(said(v1(1), failed))}}},
		"operate":             {operate, answer(failed)},
		"no-result":           {operate, answer(long)},
		"task":                {operate, []exchange{{API: apiOperate, Reply: procapitest.Data(fmt.Sprintf(`{"task_id":%q}`, echoed))}, result(said(v2(1), code(0)))}},
		"cached-version":      {procapitest.CachedStatus, []exchange{cached(strings.Replace(cachedRow(1, 1), `"status"`, `"version":"`+echoed+`","status"`, 1))}},
		"live-version":        {procapitest.LiveStatus, live(one(`{"pid":42,"isAuto":true,"version":"` + echoed + `"}`))},
		"unreadable":          {procapitest.LiveStatus, live(echoed)},
		"unreadable-and-long": {procapitest.LiveStatus, live(strings.Repeat("x", 193) + echoed)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "esb", test.steps...)
			switch made := test.call(t.Context(), p, hosts(1)).(type) {
			case map[string]fleet.Outcome:
				wantNoSecret(t, made[host(1).Address()].Message+made[host(1).Address()].TaskID)
			case map[string]fleet.Status:
				wantNoSecret(t, made[host(1).Address()].Version+made[host(1).Address()].Message)
			default:
				t.Error(made)
			}
		})
	}
}

// wantNoSecret checks that text has what surrounds the secret, and no part of the secret.
func wantNoSecret(t *testing.T, text string) {
	t.Helper()
	if before, after, found := strings.Cut(text, "sent: "); !found && !strings.HasSuffix(text, "sent…") || strings.HasPrefix(after, "s") {
		t.Errorf("got %q and %q", before, after)
	}
}
