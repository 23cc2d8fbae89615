package gse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// Hosting replaces an existing registration, and the cached status may be outdated. So a host gets a request
// only if its agent reports that nothing is hosted.
func TestGateway_registerAsksFirst(t *testing.T) {
	t.Parallel()
	var (
		instance = func(text string) string { return agentSays("", text)[1] }
		hosted   = instance(`{"pid":-1,"isAuto":true}`)
		bare     = instance(`{"pid":-1,"isAuto":false}`)
		done     = wasIdle(byTask(outcome(fleet.Done, 0)))
		since    = byTask(already(outcome(fleet.Failed, 850)))
		unclear  = fleet.Outcome{Verdict: fleet.Failed, AlreadyDone: true, Meaning: "the process may be registered already: its agent does not say whether it hosts it"}
		silent   = fleet.Outcome{Verdict: fleet.Failed, Message: "the agent's answer is not JSON", Meaning: "not registered, because its agent does not say whether it already is"}

		away, registered = silent, takenAlready
	)
	registered.RegisterTime = 1600000000 // which the agent reports
	away.Code, away.Away, away.Message = procapi.CodeAgentAbnormal, true, "the agent is abnormal or not found: message 117"
	// sent are the hosts that are asked to host it; code is the answer for the first of them.
	asked := func(a, b string, sent []string, with int, wantA, wantB fleet.Outcome) scene {
		key := func(agent string) string { return agent + ":gse:proc-test" }
		s := scene{
			face: "apigw", call: procapitest.Register, hosts: []string{agentA, agentB}, want: map[string]fleet.Outcome{agentA: wantA, agentB: wantB},
			steps: []exchange{accepted, result(said(key(agentA), a, key(agentB), b))}, sent: []string{"agents " + agentA + " " + agentB},
		}
		if len(sent) > 0 {
			var answers []string
			for i, agent := range sent {
				answers = append(answers, key(agent), code([]int{with, 0}[i]))
			}
			s.steps, s.sent = append(s.steps, hosting, result(said(answers...))), append(s.sent, "agents "+strings.Join(sent, " "))
		}
		return s
	}
	both, onlyA, onlyB := []string{agentA, agentB}, []string{agentA}, []string{agentB}
	play(t, map[string]scene{
		"none-is":       asked(bare, bare, both, 0, done, done),
		"one-is":        asked(hosted, bare, onlyB, 0, takenAlready, done),
		"all-are":       asked(hosted, hosted, nil, 0, takenAlready, takenAlready),
		"hosting-fails": asked(hosted, bare, onlyB, 117, takenAlready, byTask(outcome(fleet.Failed, 117))),
		"hosted-since":  asked(bare, bare, both, 850, since, done),
		// It runs, but is not hosted.
		"runs":                      asked(instance(`{"pid":7,"isAuto":false}`), hosted, onlyA, 0, byTask(outcome(fleet.Done, 0)), takenAlready),
		"not-hosted-but-registered": asked(instance(`{"pid":-1,"isAuto":false,"register_time":1600000000}`), hosted, nil, 0, registered, takenAlready),
		// An agent that does not say whether it hosts the process does not block the registration.
		"agent-not-clear":  asked(instance(`{"pid":-1}`), bare, onlyB, 0, unclear, done),
		"agent-away":       asked(bare, code(117), onlyA, 0, done, away),
		"agent-unreadable": asked(bare, code(0), onlyA, 0, done, silent),
	})
}

// A process that is hosted but not registered is not in the cached status, so the agents are asked at the ESB
// as well. If a process is registered but not hosted, the platform refuses.
func TestRegister_asksFirst(t *testing.T) {
	t.Parallel()
	registered := outcome(fleet.Failed, 850)
	registered.AlreadyDone, registered.RegisterTime = true, 1600000000 // the time later shows whether the cached status is of this registration
	known := takenAlready
	known.RegisterTime = registered.RegisterTime
	asked := func(says string, with int, want fleet.Outcome, sent string) scene {
		agents := said(append(agentSays(host12[0], says), agentSays(host12[1], `{"pid":-1,"isAuto":false}`)...)...)
		return scene{
			call: procapitest.Register, hosts: host12, steps: []exchange{accepted, result(agents), register(said(v1(1), code(with), v1(2), code(0)))},
			want: on12(want, wasIdle(outcome(fleet.Done, 0))), sent: []string{"hosts 10.0.0.1 10.0.0.2", sent},
		}
	}
	play(t, map[string]scene{
		"hosted":     asked(`{"pid":-1,"isAuto":true}`, 0, takenAlready, "hosts 10.0.0.2"),
		"runs":       asked(`{"pid":7,"isAuto":false}`, 0, outcome(fleet.Done, 0), "hosts 10.0.0.1 10.0.0.2"),
		"not-said":   asked(`{"pid":-1}`, 0, outcome(fleet.Done, 0), "hosts 10.0.0.1 10.0.0.2"),
		"known":      asked(`{"pid":7,"register_time":1600000000}`, 0, known, "hosts 10.0.0.2"),
		"registered": asked(`{"pid":-1,"isAuto":false,"register_time":1600000000}`, 850, registered, "hosts 10.0.0.1 10.0.0.2"),
	})
}

// Nothing is registered if the agents cannot be asked, or have not answered when the apply is interrupted.
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
			procapitest.WantEqual(t, "results", 2, len(results))
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
	want := fleet.Outcome{Verdict: fleet.NotTried, Meaning: "not tried: this gateway wants the spec, which is not known before the first apply after an import"}
	scenes := make(map[string]scene)
	for name, call := range map[string]procapitest.Call{"register": procapitest.Register, "reregister": procapitest.Reregister, "unregister": procapitest.Unregister} {
		for _, hosts := range [][]string{{agentA, "0:10.0.0.1"}, {}} {
			scenes[fmt.Sprintf("%s-%d", name, len(hosts))] = scene{face: "apigw", edit: withoutSpec, call: call, hosts: hosts, want: procapitest.Each(hosts, want)}
		}
	}
	play(t, scenes)
}

func withoutSpec(p *Process) { p.spec = nil }

// An agent that does not answer fails only its own host, and takes only part of the time until the deadline.
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
		reached  []string
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
				procapitest.NoError(t, sim.Register(addressA, sampleMeta.Namespace, sampleMeta.Name, nil, "{}"))
			}
			sim.Inject(simulator.Fault{API: apiOperate, Hosts: test.silent, Pending: -1})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			procapitest.WantEqual(t, "hosts reached", test.reached, reached(test.call(ctx, p, procapitest.Parse(t, addressA, other))))
			waited := time.Since(began)
			procapitest.Check(t, waited <= 20*time.Second, "waited %s", waited)
			calls := sim.Calls()
			procapitest.Check(t, len(calls.Of(apiMulti).On(other)) == 0 && calls.Count(apiOperate) == 1, "got calls %v, want one question", calls.APIs())
		})
	}
}

// Hosting and unhosting can be repeated safely. The second request may find the effect of the first, or an
// earlier registration. So a new process is judged by the cached status from before, and an earlier one is
// hosted once more.
func TestGateway_lostAnswer(t *testing.T) {
	t.Parallel()
	lost := exchange{API: apiMulti, Reply: procapitest.Gone}
	ended := func(with int) exchange { return result(said(v2(1), code(with))) }
	idle := result(said(agentSays(host12[0], `{"pid":-1,"isAuto":false}`)...))
	otherwise := byTask(outcome(fleet.Failed, 850))
	otherwise.Meaning = "hosted already, although it was just unhosted, so the hosted spec is unknown"
	play(t, map[string]scene{
		"register": {
			face: "apigw", retries: 1, call: procapitest.Register, steps: []exchange{accepted, idle, lost, hosting, ended(850)},
			want: on1(again(byTask(already(outcome(fleet.Failed, 850))))),
		},
		"refused": {face: "apigw", call: procapitest.Register, steps: []exchange{accepted, idle, {API: apiMulti, Reply: refusal(1306000)}}, want: on1(fleet.Failed)},
		"reregister": {
			face: "apigw", retries: 1, call: procapitest.Reregister, steps: []exchange{lost, hosting, ended(850), hosting, ended(0), hosting, ended(0)},
			want: on1(byTask(outcome(fleet.Done, 0))),
		},
		"hosted-again-meanwhile": {
			face: "apigw", call: procapitest.Reregister, steps: []exchange{hosting, ended(850), hosting, ended(0), hosting, ended(850)},
			want: on1(otherwise),
		},
		"hosted-again-by-the-first-request": {
			face: "apigw", retries: 1, call: procapitest.Reregister, steps: []exchange{hosting, ended(850), hosting, ended(0), lost, hosting, ended(850)},
			want: on1(again(byTask(already(outcome(fleet.Done, 850))))),
		},
		"unregister": {
			face: "apigw", retries: 1, call: procapitest.Unregister, steps: []exchange{cached(), lost, hosting, ended(829)},
			want: on1(again(byTask(already(outcome(fleet.Done, 829))))),
		},
	})
}

// If the time is up after a process was unhosted to be hosted again, it is no longer hosted. So it is not as it
// was before.
func TestGateway_endsUnhosted(t *testing.T) {
	t.Parallel()
	ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
	ended := func(with int) exchange { return result(said(v2(1), code(with))) }
	p, _ := configured(t, "apigw", func(cfg *bkapi.Config, _ *procapi.Options) {
		cfg.Logger = procapitest.OnCall(apiResult, func(n int) {
			if n == 2 {
				end()
			}
		})
	}, hosting, ended(850), hosting, ended(0))
	got := p.Reregister(ctx, hosts(1))[host(1)]
	if got.Verdict != fleet.Failed || got.Meaning != "its registration was removed, and it was not registered again" || !errors.Is(got.Err, context.DeadlineExceeded) {
		t.Errorf("got %+v", got)
	}
}
