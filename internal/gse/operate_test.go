package gse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// A request whose answer is lost is sent again only if it can safely be repeated. Package procapi tests how a
// request can fail.
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

// Resume asks for the results of earlier operations by task, host by host, and sends no operation. The task may
// be of an operation on more hosts or more processes. Package procapi tests how long it waits.
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
			procapitest.Check(t, got.Verdict == test.want && got.TaskID == "T", "got %+v, want verdict %d", got, test.want)
			for _, body := range script.Requests() {
				procapitest.Check(t, strings.Contains(string(body), `"task_id":"T"`), "asked %s", body)
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
				p.client.learn(h.WithoutSupplier(), host(9).WithoutSupplier(), false)
			}
			for _, h := range test.hosts {
				tasks[h] = fleet.Task{ID: "T", Operation: fleet.Restart}
			}
			for h, got := range p.Resume(t.Context(), tasks, true, nil) {
				procapitest.WantEqual(t, fmt.Sprintf("verdict of %s: %+v", h, got), test.want, got.Verdict)
			}
		})
	}
}

// A start that does not carry the limits may replace the registration, so it has labels of its own.
func TestProcess_WithStartLabels(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face  string
		op    fleet.Operation
		spec  *Spec
		takes bool
	}{
		"start": {"esb", fleet.Start, sampleSpec(), true}, "restart": {"esb", fleet.Restart, sampleSpec(), true}, "stop": {"esb", fleet.Stop, sampleSpec(), false},
		"unlimited": {"esb", fleet.Start, unlimitedSpec(), false}, "gateway": {"apigw", fleet.Start, sampleSpec(), false},
	} {
		p, script := scripted(t, c.face, accepted, result(said(v2(1), code(0))))
		p.spec = c.spec
		p.WithStartLabels(map[string]string{"tf_spec": "v1-x-started"}).Operate(t.Context(), c.op, hosts(1), nil)
		if body := string(script.Requests()[0]); strings.Contains(body, "v1-x-started") != c.takes || strings.Contains(body, `"proc_name":"proc-test"}`) == c.takes {
			t.Errorf("%s: sent %s", name, body)
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
		"register":       {registering, []exchange{register(said(v1(1), failed))}},
		"operate":        {operate, answer(failed)},
		"no-result":      {operate, answer(long)},
		"task":           {operate, []exchange{{API: apiOperate, Reply: procapitest.Data(fmt.Sprintf(`{"task_id":%q}`, echoed))}, result(said(v2(1), code(0)))}},
		"cached-version": {procapitest.CachedStatus, []exchange{cached(strings.Replace(cachedRow(1, 1), `"status"`, `"version":"`+echoed+`","status"`, 1))}},
		"live-version":   {procapitest.LiveStatus, live(one(`{"pid":42,"isAuto":true,"version":"` + echoed + `"}`))},
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

// Five hosts are three requests. At the gateway, hosts named by agent id have requests of their own,
// because the platform ignores addresses beside agent ids. Two hosts are away, and each gets its own result.
func TestProcess_batches(t *testing.T) {
	t.Parallel()
	faces := map[string]struct {
		hosts, away, there []string
		requests           []string
	}{
		"esb": {
			[]string{"0:10.0.0.1", "0:10.0.0.2", "0:10.0.0.3", "0:10.0.0.4", "0:10.0.0.5"},
			[]string{"0:10.0.0.2", "0:10.0.0.5"}, []string{"0:10.0.0.1", "0:10.0.0.3", "0:10.0.0.4"},
			[]string{"hosts 10.0.0.1 10.0.0.2", "hosts 10.0.0.3 10.0.0.4", "hosts 10.0.0.5"},
		},
		"apigw": {
			[]string{agentA, "0:10.0.0.1", "0:10.0.0.2", agentB, "0:10.0.0.3"},
			[]string{agentB, "0:10.0.0.3"}, []string{agentA, "0:10.0.0.1", "0:10.0.0.2"},
			[]string{"agents " + agentA + " " + agentB, "hosts 10.0.0.1 10.0.0.2", "hosts 10.0.0.3"},
		},
	}
	calls := map[string]struct {
		call       procapitest.Call
		esb, apigw string // the API
		started    bool   // before, on the hosts that are there
	}{
		"register":      {procapitest.Register, apiOperate, apiOperate, false}, // the agents are asked first
		"reregister":    {procapitest.Reregister, apiUpdate, apiMulti, false},
		"unregister":    {procapitest.Unregister, apiUnregister, apiMulti, false},
		"operate":       {procapitest.Operate(fleet.Start), apiOperate, apiOperate, false},
		"live-status":   {procapitest.LiveStatus, apiOperate, apiOperate, true},
		"cached-status": {procapitest.CachedStatus, apiStatus, apiStatus, true},
	}
	for face, f := range faces {
		for name, c := range calls {
			t.Run(face+"/"+name, func(t *testing.T) {
				t.Parallel()
				sim := &simulator.Server{MaxHostsPerRequest: 2}
				p, inventory := simAt(t, face, sim, 2), procapitest.Parse(t, f.hosts...)
				for _, host := range f.away {
					sim.SetReachable(host, false)
				}
				if c.started {
					start(p, t.Context(), inventory)
				}
				sim.ResetCalls()
				procapitest.WantEqual(t, "hosts reached", f.there, reached(c.call(t.Context(), p, inventory)))
				var requests []string
				for _, call := range sim.Calls().Of(map[string]string{"esb": c.esb, "apigw": c.apigw}[face]) {
					requests = append(requests, selectorOf(t, call.Body))
				}
				slices.Sort(requests)
				procapitest.WantEqual(t, "requests", f.requests, requests)
			})
		}
	}
}

// reached are the hosts on which a call did something, or found the process, or learned their names.
func reached(made any) []string {
	var addresses []string
	switch made := made.(type) {
	case map[string]fleet.Outcome:
		for address, o := range made {
			if o.OK() {
				addresses = append(addresses, address)
			}
		}
	case map[string]fleet.Status:
		for address, s := range made {
			if s.State == fleet.Running || s.State == fleet.Stopped {
				addresses = append(addresses, address)
			}
		}
	case error:
		addresses = []string{made.Error()}
	case map[string]fleet.HostID:
		addresses = slices.Collect(maps.Keys(made))
	}
	slices.Sort(addresses)
	return addresses
}

// jointly is processes a and b, and one of another client.
func jointly(client *Client, names ...string) []fleet.Part {
	var parts []fleet.Part
	for _, name := range names {
		spec := sampleSpec()
		if name == "once" {
			spec.MonitorPolicy.AutoType = AutoOneShot
		}
		parts = append(parts, fleet.Part{Process: client.Process(Meta{Namespace: "gse", Name: name, Labels: sampleMeta.Labels}, spec)})
	}
	return parts
}

// An operation on several processes is one call and one task on either face. Each host of each process gets its own result.
func TestOperateJointly(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"esb", "apigw"} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			sim := &simulator.Server{}
			p := simAt(t, face, sim, 0)
			start := simulator.OpStart
			sim.Inject(simulator.Fault{Op: &start, Name: "b", Hosts: []string{"0:10.0.0.2"}, Code: new(65535), Message: "no such file", Pending: 2})
			parts := jointly(p.client, "a", "b", "once")
			procapitest.Check(t, !parts[0].Process.OneShot() && parts[2].Process.OneShot(), "the last one alone is a one-shot process")
			seen := make(fleet.Results)
			parts[0].Hosts, parts[1].Hosts, parts[2].Hosts = hosts(2), hosts(3)[1:], hosts(1)
			parts[1].Observe = func(results fleet.Results) { seen.Merge(results) }
			all := p.OperateJointly(t.Context(), fleet.Start, parts)
			calls := sim.Calls()
			procapitest.Check(t, calls.Count(apiMulti) == 1 && calls.Count(apiOperate) == 0,
				"%d and %d calls", calls.Count(apiMulti), calls.Count(apiOperate))
			// A one-shot process ends before its start is checked.
			want := []map[int]int64{{1: 0, 2: 0}, {2: 65535, 3: 0}, {1: 836}}
			for i, results := range all {
				procapitest.WantEqual(t, fmt.Sprintf("results of part %d", i), len(want[i]), len(results))
				for h, o := range results {
					code := want[i][procapitest.NumberOf(h)]
					procapitest.Check(t, o.Code == code && o.OK() != (code == 65535) && o.TaskID != "", "part %d, %s: %+v", i, h, o)
				}
			}
			procapitest.WantEqual(t, "hosts observed", 2, len(seen))
			for at, runs := range map[string]bool{"0:10.0.0.1 a": true, "0:10.0.0.2 a": true, "0:10.0.0.3 b": true, "0:10.0.0.2 b": false, "0:10.0.0.1 b": false, "0:10.0.0.3 a": false} {
				address, name, _ := strings.Cut(at, " ")
				process, _ := sim.Process(address, "gse", name)
				procapitest.Check(t, process.Running == runs, "%s: %+v", at, process)
			}
		})
	}
}

// Requests are filled: 5 hosts of two processes, 2 per request, are three requests. Hosts of one process
// that are named in two ways are in two items.
func TestOperateJointly_batches(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{MaxHostsPerRequest: 2}
	p := simAt(t, "apigw", sim, 2)
	parts := jointly(p.client, "a", "b")
	parts[0].Hosts = procapitest.Parse(t, "0:10.0.0.1", agentA, "0:10.0.0.2")
	parts[1].Hosts = procapitest.Parse(t, agentA, agentB)
	all := p.OperateJointly(t.Context(), fleet.Restart, parts)
	for i, results := range all {
		procapitest.Check(t, len(results) == len(parts[i].Hosts) && len(results.Failures()) == 0, "part %d: %+v", i, results)
	}
	if calls := sim.Calls(); calls.Count(apiMulti) != 3 || calls.HostCalls(apiMulti) != 5 {
		t.Errorf("%d requests with %d hosts", calls.Count(apiMulti), calls.HostCalls(apiMulti))
	}
}

// If the answer is lost, the outcome is unknown for every host of every process, and the request is not
// repeated. The process of another client has a request of its own.
func TestOperateJointly_lost(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p, other := simAt(t, "esb", sim, 0), simAt(t, "esb", &simulator.Server{}, 0)
	sim.Inject(simulator.Fault{API: apiMulti, Drop: "after"})
	parts := append(jointly(p.client, "a", "b"), jointly(other.client, "c")...)
	for i := range parts {
		parts[i].Hosts = hosts(2)
	}
	all := p.OperateJointly(t.Context(), fleet.Start, parts)
	for i, results := range all {
		for h, o := range results {
			lost := o.Verdict == fleet.Lost
			procapitest.Check(t, lost == (i < 2), "part %d, %s: %+v", i, h, o)
		}
	}
	n := sim.Calls().Count(apiMulti)
	procapitest.Check(t, n == 1 && len(all[2]) == 2, "%d calls", n)
}

// BenchmarkWaitOverhead measures what polling adds to an operation: the time from its end until the client notices, and the requests. The
// clock is twenty times as fast; the figures are given for a real one. Operations last from three quarters to five quarters of their
// nominal time, so that no interval fits by luck.
func BenchmarkWaitOverhead(b *testing.B) {
	const speed = 20
	fixed := func(interval time.Duration) poll.Backoff { return poll.Backoff{First: interval, Max: interval} }
	waits := []struct {
		name    string
		backoff poll.Backoff
	}{
		{"default", poll.DefaultBackoff()}, {"every-2s", fixed(2 * time.Second)},
		{"every-3s", fixed(3 * time.Second)}, {"every-5s", fixed(5 * time.Second)},
	}
	for _, nominal := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 20 * time.Second} {
		for _, wait := range waits {
			b.Run(fmt.Sprintf("%s/%s", nominal, wait.name), func(b *testing.B) {
				sim := &simulator.Server{}
				backoff := wait.backoff
				backoff.First /= speed
				backoff.Max /= speed
				client := newTestClient(b, procapitest.Serve(b, sim), func(_ *bkapi.Config, opts *procapi.Options) { opts.Backoff = backoff })
				p := client.Process(sampleMeta, sampleSpec())
				var added, taken time.Duration
				n := 0
				for b.Loop() {
					n++
					// Multiples of the golden ratio are spread evenly, whatever their number.
					_, spread := math.Modf(float64(n) * math.Phi)
					takes := time.Duration(float64(nominal) * (0.75 + spread/2) / speed)
					sim.ClearFaults()
					sim.Inject(simulator.Fault{API: apiOperate, Takes: takes})
					start := time.Now()
					if failures := p.Operate(b.Context(), fleet.Restart, hosts(1), nil).Failures(); len(failures) > 0 {
						b.Fatal(failures)
					}
					added += time.Since(start) - takes
					taken += takes
				}
				b.ReportMetric(0, "ns/op") // the time by the fast clock means nothing
				b.ReportMetric(speed*added.Seconds()*1000/float64(n), "added-ms/op")
				b.ReportMetric(100*added.Seconds()/taken.Seconds(), "added-%")
				b.ReportMetric(float64(sim.Calls().Count(apiResult))/float64(n), "polls/op")
			})
		}
	}
}
