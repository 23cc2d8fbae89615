package gse

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

// sampleRow has every member that a document gives a row.
const sampleRow = `{
  "meta": {"namespace": "gse", "name": "proc-test", "labels": {"proc_name": "proc-test"}},
  "host": {"ip": "10.0.0.1", "bk_cloud_id": 1, "bk_supplier_id": 2},
  "flag": 1, "status": 1, "isauto": true, "message": "", "pid": 1234, "version": "1.0.1\n",
  "register_time": 1600000000, "last_start_time": 1600000001, "report_time": 1600000002,
  "cpu_usage": 1.5, "mem_usage": 0.5, "fd": 10, "disk": 0, "net": 0
}`

// quiet is a client that only reads rows.
var quiet = &Client{opts: procapi.Options{}.OrDefaults()}

func TestProcRow(t *testing.T) {
	t.Parallel()
	var (
		at     = "1:2:10.0.0.1"
		labels = map[string]string{"proc_name": "proc-test"}
		where  = `"host":{"ip":"10.0.0.1","bk_cloud_id":1,"bk_supplier_id":2}`
	)
	for name, test := range map[string]struct {
		row  string
		at   string // "" if the row names no host
		want fleet.Status
	}{
		"every-member": {sampleRow, at, fleet.Status{
			State: fleet.Running, Hosted: true, HostedKnown: true, Labels: labels, PID: 1234, Version: "1.0.1",
			CPUUsage: 1.5, MemUsage: 0.5, RegisterTime: 1600000000, StartTime: 1600000001,
		}},
		"numbers-as-text": {
			`{"host":{"ip":"10.0.0.1","bk_cloud_id":"1","bk_supplier_id":"2"},"status":"2","isauto":"0","pid":"-1","cpu_usage":"1.5","mem_usage":"0.5","register_time":"1600000000"}`, at,
			fleet.Status{State: fleet.Stopped, HostedKnown: true, PID: -1, CPUUsage: 1.5, MemUsage: 0.5, RegisterTime: 1600000000},
		},
		"status-unexplained": {`{` + where + `,"status":7}`, at, fleet.Status{State: fleet.Unknown, Message: "the platform's row has status 7, which no document explains"}},
		"status-missing":     {`{` + where + `,"flag":1}`, at, fleet.Status{State: fleet.Unknown, Message: "the platform's row has no status"}},
		"status-null":        {`{` + where + `,"status":null}`, at, fleet.Status{State: fleet.Unknown, Message: "the platform's row has no status"}},
		// Another client of the platform sends its process id as a label that is a number.
		"labels-number": {`{` + where + `,"status":1,"meta":{"labels":{"bk_process_id":12,"none":null}}}`, at, fleet.Status{State: fleet.Running, Labels: map[string]string{"bk_process_id": "12", "none": ""}}},
		"no-supplier":   {`{"host":{"ip":"10.0.0.1","bk_cloud_id":1},"status":1}`, "1:9:10.0.0.1", fleet.Status{State: fleet.Running}},
		"ipv6":          {`{"host":{"ip":"2001:DB8::0:1","bk_cloud_id":0,"bk_supplier_id":0},"status":1}`, "0:0:[2001:db8::1]", fleet.Status{State: fleet.Running}},
		"ipv4-mapped":   {`{"host":{"ip":"::ffff:10.0.0.1","bk_cloud_id":0,"bk_supplier_id":0},"status":1}`, "0:0:10.0.0.1", fleet.Status{State: fleet.Running}},
		"no-host":       {`{"status":1}`, "", fleet.Status{State: fleet.Running}},
		"odd-ip":        {`{"host":{"ip":7,"bk_cloud_id":0},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"no-cloud":      {`{"host":{"ip":"10.0.0.1"},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"odd-cloud":     {`{"host":{"ip":"10.0.0.1","bk_cloud_id":"default area"},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"half-a-cloud":  {`{"host":{"ip":"10.0.0.1","bk_cloud_id":0.9},"status":1}`, "", fleet.Status{State: fleet.Running}},
		"cloud-beside":  {`{"host":{"ip":"10.0.0.1"},"bk_agent_id":"1:10.0.0.1","status":1}`, "1:9:10.0.0.1", fleet.Status{State: fleet.Running}},
	} {
		var row procRow
		if err := json.Unmarshal([]byte(test.row), &row); err != nil {
			t.Fatal(name, err)
		}
		if h, ok := row.byAddress(9); ok != (test.at != "") || ok && h.String() != test.at {
			t.Errorf("%s: host: got %s, %t, want %q", name, h, ok, test.at)
		}
		procapitest.WantEqual(t, name+" status", test.want, quiet.statusOf(row))
	}
}

func FuzzProcRow(f *testing.F) {
	for _, seed := range []string{
		sampleRow, `{"status":"1","isauto":"True"}`, `{"host":{"ip":"::ffff:10.0.0.1","bk_cloud_id":1e999},"status":1.5}`,
		`{"meta":{"labels":{"a":1}},"status":null,"cpu_usage":"nan"}`, `{"meta":[],"host":"10.0.0.1"}`, `[]`, `null`,
		`{"bk_agent_id":"0200000007525400f355781710390005465c","host":{"bk_agent_id":7},"status":2}`,
	} {
		f.Add([]byte(`{"count":1,"proc_infos":[` + seed + `]}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var page statusAnswer
		if err := json.Unmarshal(raw, &page); err != nil {
			t.Skip()
		}
		for _, row := range page.ProcInfos.rows {
			procapitest.WantSound(t, quiet.statusOf(row))
			if h, ok := row.byAddress(0); ok && !h.IP().IsValid() {
				t.Errorf("host %s without an IP", h)
			}
			if h, ok := row.byAgent(); ok && h.AgentID() == "" {
				t.Errorf("host %s without an agent id", h)
			}
		}
	})
}

func TestCachedStatus(t *testing.T) {
	t.Parallel()
	var (
		running = fleet.Status{State: fleet.Running}
		stopped = fleet.Status{State: fleet.Stopped}
		absent  = fleet.Status{State: fleet.Unregistered}
		unread  = fleet.Status{State: fleet.Unknown, Unread: true, Message: "the cached status could not be read"}
	)
	file := func(first, second fleet.Status, answer exchange) scene {
		return scene{call: procapitest.CachedStatus, hosts: host12, steps: []exchange{answer}, want: on12(first, second)}
	}
	play(t, map[string]scene{
		"rows":             file(running, stopped, cached(cachedRow(2, 2), cachedRow(1, 1))),
		"no-row":           file(running, absent, cached(cachedRow(1, 1))),
		"no-rows":          file(absent, absent, cached()),
		"null":             file(absent, absent, exchange{API: apiStatus, Reply: procapitest.Data("null")}),
		"null-rows":        file(absent, absent, exchange{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":null}`)}),
		"nothing":          file(absent, absent, exchange{API: apiStatus, Reply: procapitest.Data(`{}`)}),
		"another-answer":   file(unread, unread, exchange{API: apiStatus, Reply: procapitest.Data(`{"list":[1,2]}`)}),
		"one-object":       file(running, absent, exchange{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":` + cachedRow(1, 1) + `}`)}),
		"no-namespace":     file(unread, running, cached(strings.Replace(cachedRow(1, 1), `"namespace":"gse",`, "", 1), cachedRow(2, 1))),
		"no-name":          file(unread, running, cached(strings.Replace(cachedRow(1, 1), `,"name":"proc-test"`, "", 1), cachedRow(2, 1))),
		"broken-row":       file(unread, running, cached(`{"meta":7,"host":[]}`, `3`, cachedRow(2, 1))),
		"no-list":          file(unread, unread, exchange{API: apiStatus, Reply: procapitest.Data(`{"proc_infos":"none"}`)}),
		"another-host":     file(running, absent, cached(cachedRow(1, 1), cachedRow(9, 2))),
		"another-process":  file(absent, absent, cached(strings.Replace(cachedRow(1, 1), "proc-test", "proc", 1))),
		"another-space":    file(absent, absent, cached(strings.Replace(cachedRow(1, 1), `"gse"`, `"gse2"`, 1))),
		"another-supplier": file(running, absent, cached(strings.Replace(cachedRow(1, 1), `"bk_cloud_id":0`, `"bk_cloud_id":0,"bk_supplier_id":5`, 1))),
	})
}

// If one batch fails, no status is returned: a host that was not asked about must not look unregistered.
func TestCachedStatus_fails(t *testing.T) {
	t.Parallel()
	p, _ := configured(t, "esb", func(_ *bkapi.Config, opts *procapi.Options) { opts.MaxHosts = 1 },
		cached(cachedRow(1, 1)), exchange{API: apiStatus, Reply: refusal(1306000)})
	got, err := p.CachedStatus(t.Context(), hosts(2))
	procapitest.Check(t, got == nil && bkapi.HasCode(err, 1306000), "got %v, %v, want the error alone", got, err)
}

// The cached status lags, so the agent's answer counts.
//
// Promised in how-it-works.md: The cached status raises a suspicion, and the agent confirms it.
func TestFlow_lag(t *testing.T) {
	t.Parallel()
	sim := &simulator.Server{}
	p := simAt(t, "esb", sim, 0)
	want := fleet.Desired{Ensure: fleet.EnsureRunning, Labels: sampleMeta.Labels, HasSpec: true}
	sim.FreezeStatus()
	wantDone(t, fleet.NewReconciliation(p, want, fleet.Change{Register: hosts(2), Order: hosts(2)}).Run(t.Context()))
	sim.SetReachable(host(1).Address(), false)
	sim.ResetCalls()
	report, err := fleet.Inspect(t.Context(), p, hosts(2), want, nil, nil, nil)
	if _, away := report.Unreachable[host(1)]; err != nil || !away || len(report.Unreachable) > 1 || len(report.Drift) > 0 {
		t.Errorf("got %+v, %v, want host 1 to be unreachable, and no drift: the file is old", report, err)
	}
	procapitest.WantEqual(t, "calls", []string{apiStatus, apiOperate, apiResult}, slices.Compact(sim.Calls().APIs()))
}

// The test checks which host a row belongs to. Clients of the gateway disagree on whether a row has an address,
// and on where the agent id is. A row that has only the other name of a host is placed once that name is known.
// Until then no host is reported as not registered. On the ESB, hosts have addresses, and a row without one may
// belong to any host.
func TestCachedStatus_placing(t *testing.T) {
	t.Parallel()
	const (
		addressA = "0:10.0.0.1"
		where1   = `"host":{"ip":"10.0.0.1","bk_cloud_id":0}`
		noCloud  = `"host":{"ip":"10.0.0.1"}`
		idAlone  = `"bk_agent_id":"` + agentA + `"`
		otherID  = `"bk_agent_id":"` + agentB + `"`
		noID     = `"bk_agent_id":""`
		idInHost = `"host":{"ip":"","bk_agent_id":"` + agentA + `"}`
	)
	var (
		agent     = []string{agentA}
		addressed = []string{addressA}
		two       = []string{addressA, "0:10.0.0.2"}
		running   = []fleet.State{fleet.Running}
		absent    = []fleet.State{fleet.Unregistered}
		unsure    = []fleet.State{fleet.Unknown}
		row       = func(where string) []string { return []string{gatewayRow(where, 1)} }
		asked     = func(pairs ...string) []exchange { return []exchange{accepted, result(said(pairs...))} }
		bothNames = named(addressA, idAlone)
		away1     = []string{v2(1), code(117)}
		away2     = []string{v2(2), code(117)}
	)
	// want are the states of the hosts, in their order.
	placed := func(face string, hosts, rows []string, after []exchange, want []fleet.State) scene {
		s := scene{face: face, call: procapitest.CachedStatus, hosts: hosts, steps: append([]exchange{cached(rows...)}, after...)}
		if face == "apigw" && after == nil && slices.Contains(want, fleet.Unknown) {
			s.edit = withoutSpec // so that no agent can be asked
		}
		states := make(map[string]fleet.State)
		for i, h := range procapitest.Parse(t, hosts...) {
			states[h.Address()] = want[i]
		}
		s.want = states
		return s
	}
	play(t, map[string]scene{
		"supplier-unsaid":        placed("esb", []string{"0:5:10.0.0.1"}, row(where1), nil, running),
		"no-cloud-of-one":        placed("esb", []string{"5:10.0.0.1", "0:10.0.0.2"}, row(noCloud), nil, []fleet.State{fleet.Running, fleet.Unregistered}),
		"no-cloud-of-two":        placed("esb", []string{addressA, "5:10.0.0.1"}, row(noCloud), nil, []fleet.State{fleet.Unknown, fleet.Unknown}),
		"agent-id-for-addresses": placed("esb", two, append(row(idAlone), cachedRow(2, 1)), nil, []fleet.State{fleet.Unknown, fleet.Running}),
		"name-for-addresses":     placed("esb", two, append(row(`"host":{"ip":"web-1","bk_cloud_id":0}`), cachedRow(2, 1)), nil, []fleet.State{fleet.Unknown, fleet.Running}),

		"agent-no-host":         placed("apigw", agent, row(idAlone), nil, running),
		"agent-empty-host":      placed("apigw", agent, row(idAlone+`,"host":{"ip":"","bk_cloud_id":0}`), nil, running),
		"agent-null-host":       placed("apigw", agent, row(idAlone+`,"host":null`), nil, running),
		"agent-in-host":         placed("apigw", agent, row(idInHost), nil, running),
		"agent-in-host-beside":  placed("apigw", agent, row(idInHost+","+noID), nil, running),
		"agent-with-address":    placed("apigw", agent, row(idAlone+","+where1), nil, running),
		"agent-of-another":      placed("apigw", agent, row(otherID), nil, absent),
		"agent-asked-no-id":     placed("apigw", agent, row(noID+","+where1), nil, unsure),
		"agent-short":           placed("apigw", agent, row(`"bk_agent_id":"0200"`), nil, unsure),
		"agent-is-an-address":   placed("apigw", addressed, row(`"bk_agent_id":"0:10.0.0.1"`), nil, running),
		"agent-of-an-address":   placed("apigw", addressed, row(`"bk_agent_id":"0:10.0.0.2"`), nil, absent),
		"address-no-id":         placed("apigw", addressed, row(noID+","+where1), nil, running),
		"address-id-missing":    placed("apigw", addressed, row(where1), nil, running),
		"address-with-id":       placed("apigw", addressed, row(idAlone+","+where1), nil, running),
		"address-and-gone":      placed("apigw", addressed, []string{gatewayRow(idAlone, 0)}, nil, absent),
		"no-name":               placed("apigw", agent, row(noID), nil, unsure),
		"unregistered":          placed("apigw", agent, []string{gatewayRow(idAlone, 0)}, nil, absent),
		"another-process-of-it": placed("apigw", agent, []string{strings.Replace(gatewayRow(idAlone, 1), "proc-test", "proc", 1)}, nil, absent),

		"agent-has-both-names":   placed("apigw", two, row(idAlone), asked(append(named("0:10.0.0.2", `"ip":"10.0.0.2"`), bothNames...)...), []fleet.State{fleet.Running, fleet.Unregistered}),
		"no-answer":              placed("apigw", two, row(idAlone), asked(append(away1, away2...)...), []fleet.State{fleet.Unknown, fleet.Unknown}),
		"agents-cannot-be-asked": placed("apigw", addressed, row(idAlone), []exchange{{API: apiOperate, Reply: refusal(1306000)}}, unsure),
		"row-of-unknown-host":    placed("apigw", addressed, row(noID), asked(bothNames...), unsure),
		"a-row-of-its-own":       placed("apigw", two, append(row(noID), cachedRow(1, 2)), asked(away2...), []fleet.State{fleet.Stopped, fleet.Unknown}),
		// Rows give each other's names, in any order.
		"another-row-has-both-names": placed("apigw", two, append(row(idAlone), gatewayRow(idAlone+","+where1, 2)), nil, []fleet.State{fleet.Stopped, fleet.Unregistered}),
		// The row's host is known, and is not one that was asked about.
		"row-of-a-known-host":        placed("apigw", addressed, row(otherID+`,"host":{"ip":"10.0.0.2","bk_cloud_id":0}`), nil, absent),
		"row-of-a-host-known-by-now": placed("apigw", addressed, append(row(otherID+`,"host":{"ip":"10.0.0.2","bk_cloud_id":0}`), row(otherID)...), nil, absent),
	})
}

// Of two rows of one host, the later registration counts, in any order.
func TestCachedStatus_twoRows(t *testing.T) {
	t.Parallel()
	at := func(status, time int, labels string) string {
		return strings.Replace(strings.Replace(cachedRow(1, status), `}`, `,"labels":`+labels+`}`, 1), `"status"`, `"register_time":`+strconv.Itoa(time)+`,"status"`, 1)
	}
	for name, test := range map[string]struct {
		one, other string
		want       fleet.State
	}{
		"later":               {at(2, 200, `{}`), at(1, 100, `{}`), fleet.Stopped},
		"later-is-gone":       {at(0, 200, `{}`), at(1, 100, `{}`), fleet.Unregistered},
		"earlier-is-gone":     {at(1, 200, `{}`), at(0, 100, `{}`), fleet.Running},
		"one-is-gone":         {at(1, 0, `{}`), at(0, 0, `{}`), fleet.Running},
		"they-agree":          {at(1, 0, `{"a":"b"}`), at(1, 0, `{"a":"b"}`), fleet.Running},
		"they-contradict":     {at(1, 100, `{}`), at(2, 100, `{}`), fleet.Unknown},
		"of-different-owners": {at(1, 0, `{"tf_spec_owner":"a"}`), at(1, 0, `{"tf_spec_owner":"b"}`), fleet.Unknown},
	} {
		play(t, map[string]scene{
			name:                {call: procapitest.CachedStatus, steps: []exchange{cached(test.one, test.other)}, want: on1(test.want)},
			name + "-backwards": {call: procapitest.CachedStatus, steps: []exchange{cached(test.other, test.one)}, want: on1(test.want)},
		})
	}
}

// The agents of a fleet are asked for their names once, not with every read of the cached status.
func TestGateway_placingAsksOnce(t *testing.T) {
	t.Parallel()
	row := cached(gatewayRow(`"bk_agent_id":""`, 1))
	p, _ := scripted(t, "apigw", row, accepted, result(said(v2(1), code(117))), row)
	for range 2 {
		got, err := p.CachedStatus(t.Context(), hosts(1))
		procapitest.Check(t, err == nil && got[host(1)].State == fleet.Unknown, "got %v, %v", got, err)
	}
}

// A process that reads the cached status while another one asks the agents of the same hosts waits for their names.
func TestGateway_placingAsksTogether(t *testing.T) {
	t.Parallel()
	var (
		row    = gatewayRow(`"bk_agent_id":"`+agentA+`"`, 1)
		other  = cached(strings.Replace(row, "proc-test", "other", 1))
		names  = result(said(named("0:10.0.0.1", `"bk_agent_id":"`+agentA+`"`)...))
		read   = make(chan struct{})
		second = make(chan any)
		p      *Process
	)
	asking := func() {
		second <- procapitest.CachedStatus(t.Context(), p.client.Process(Meta{Namespace: "gse", Name: "other"}, sampleSpec()), hosts(1))
	}
	p, _ = scripted(t, "apigw", cached(row),
		exchange{API: apiOperate, Reply: func(w http.ResponseWriter, r *http.Request) {
			go asking()
			<-read
			accepted.Reply(w, r)
		}},
		exchange{API: apiStatus, Reply: func(w http.ResponseWriter, r *http.Request) {
			other.Reply(w, r)
			close(read)
		}}, names)
	procapitest.WantOf(t, on1(fleet.Running), procapitest.CachedStatus(t.Context(), p, hosts(1)))
	procapitest.WantOf(t, on1(fleet.Running), <-second)
}

// Without a spec no agent can be asked. A process with one then still asks.
func TestGateway_placingAsksWithASpec(t *testing.T) {
	t.Parallel()
	row := cached(gatewayRow(`"bk_agent_id":"`+agentA+`"`, 1))
	p, _ := scripted(t, "apigw", row, row, accepted, result(said(named("0:10.0.0.1", `"bk_agent_id":"`+agentA+`"`)...)))
	for _, asking := range []struct {
		process *Process
		want    fleet.State
	}{{p.client.Process(sampleMeta, nil), fleet.Unknown}, {p, fleet.Running}} {
		got, err := asking.process.CachedStatus(t.Context(), hosts(1))
		procapitest.Check(t, err == nil && got[host(1)].State == asking.want, "got %v, %v, want %s", got, err, asking.want)
	}
}

// The key of the other generation names the host too, unless it may be another host's key. For IPv6, the
// first form of one host is the second form of another.
func TestKeys_otherGeneration(t *testing.T) {
	t.Parallel()
	failed := code(procapi.CodeCommandFailed)
	forEver := func(e exchange) exchange { return procapitest.Times(procapitest.ForEver, e) }
	for address, want := range map[string]fleet.Verdict{"0:10.0.0.1": fleet.Failed, "0:2001:db8::1": fleet.Done} {
		form2, form1, hosts := address+":gse:proc-test", "0:"+address+":gse:proc-test", []string{address}
		play(t, map[string]scene{
			"operate-" + address: {
				call: procapitest.Operate(fleet.Start), hosts: hosts, want: map[string]fleet.Verdict{address: want},
				steps: []exchange{accepted, result(said(form1, failed)), forEver(result(said(form2, code(0))))},
			},
			"register-" + address: {
				call: registering, hosts: hosts, want: map[string]fleet.Verdict{address: want},
				steps: []exchange{register(said(form2, failed)), forEver(register(said(form1, code(0))))},
			},
		})
	}
}

// The gateway may answer about a host by its other name. The client knows that name from a row, or asks
// for it at once. A destroy may have read nothing yet, and after unhosting no row has the other name.
func TestGateway_keysOfOtherNames(t *testing.T) {
	t.Parallel()
	file := cached(gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 1))
	for address, other := range map[string]string{agentA: "0:10.0.0.1", "0:10.0.0.1": agentA} {
		answer := result(said(other+":gse:proc-test", code(0)))
		for name, test := range map[string]struct {
			calls []procapitest.Call
			steps []exchange
		}{
			"first-operation":   {[]procapitest.Call{procapitest.Operate(fleet.Start)}, []exchange{accepted, result("{}"), answer, file}},
			"known-from-a-look": {[]procapitest.Call{procapitest.CachedStatus, procapitest.Operate(fleet.Start)}, []exchange{file, accepted, answer}},
			"first-unregister":  {[]procapitest.Call{procapitest.Unregister}, []exchange{file, hosting, answer}},
		} {
			p, _ := scripted(t, "apigw", test.steps...)
			var made any
			for _, call := range test.calls {
				made = call(t.Context(), p, procapitest.Parse(t, address))
			}
			procapitest.WantEqual(t, name+" of "+address, map[string]fleet.Outcome{address: byTask(outcome(fleet.Done, 0))}, made)
		}
	}
}

// A reinstalled machine has another agent id, and the cached status may still have a row of its old one. The
// result under the new one is found.
func TestGateway_keysOfReinstalledMachine(t *testing.T) {
	t.Parallel()
	row := func(id string) string {
		return gatewayRow(`"bk_agent_id":"`+id+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 1)
	}
	for name, file := range map[string]exchange{"old-first": cached(row(agentA), row(agentB)), "old-last": cached(row(agentB), row(agentA))} {
		p, _ := scripted(t, "apigw", file, accepted, result(said(agentB+":gse:proc-test", code(0))))
		procapitest.CachedStatus(t.Context(), p, hosts(1))
		procapitest.WantEqual(t, name, on1(byTask(outcome(fleet.Done, 0))), procapitest.Operate(fleet.Start)(t.Context(), p, hosts(1)))
	}
}

// named is an agent's answer under key, with these members beside the process, as a pair for said.
func named(key, members string) []string {
	content := asText(`{` + members + `,"process":[{"instance":[{"pid":-1,"isAuto":false}]}]}`)
	return []string{key + ":gse:proc-test", `{"error_code":0,"content":` + content + `}`}
}

// A row may have both names of a host. If none has, the agents are asked.
func TestGateway_otherNames(t *testing.T) {
	t.Parallel()
	const addressA = "0:10.0.0.1"
	var (
		both    = gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 1)
		another = strings.Replace(both, agentA, agentB, 1)
		noCloud = gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"10.0.0.1"}`, 1)
		refused = refusal(1306000)
		asked   = func(pairs ...string) []exchange { return []exchange{cached(), accepted, result(said(pairs...))} }
	)
	for name, test := range map[string]struct {
		host  string
		steps []exchange
		want  string // "" if no answer has it
		fails bool
	}{
		"row-of-agent":            {agentA, []exchange{cached(both)}, addressA, false},
		"rows-of-two-agents":      {addressA, []exchange{cached(another, both), accepted, result(said(named(agentB, `"ip":"10.0.0.1","bk_cloud_id":0`)...))}, agentB, false},
		"rows-of-two-agents-away": {addressA, []exchange{cached(another, both), accepted, result(said(v2(1), code(117)))}, "", false},
		"row-without-cloud":       {addressA, []exchange{cached(noCloud), accepted, result(said(addressA+":gse:proc-test", code(117)))}, "", false},
		"agent-without-cloud":     {agentA, []exchange{cached(noCloud), accepted, result(said(agentA+":gse:proc-test", code(117)))}, "", false},
		"row-of-address":          {addressA, []exchange{cached(both)}, agentA, false},
		"content-of-address":      {addressA, asked(named(addressA, `"ip":"10.0.0.1","bk_agent_id":"`+agentA+`"`)...), agentA, false},
		"content-of-agent":        {agentA, asked(named(agentA, `"ip":"10.0.0.1","bk_cloud_id":0`)...), addressA, false},
		"content-and-other-key":   {addressA, asked(named(agentA, `"ip":"10.0.0.1","bk_cloud_id":0`)...), agentA, false},
		"other-key-and-agent":     {agentA, asked(named(addressA, `"ip":"10.0.0.1","bk_agent_id":"`+agentA+`"`)...), addressA, false},
		"content-without-cloud":   {agentA, asked(named(agentA, `"ip":"10.0.0.1"`)...), "", false},
		"content-without-agent":   {addressA, asked(named(addressA, `"ip":"10.0.0.1","bk_cloud_id":0`)...), "", false},
		"content-of-another-name": {addressA, asked(append(named(addressA, `"ip":"10.0.0.1"`), "x"+agentA+":gse:proc", `{"error_code":0,"content":{"ip":"10.0.0.1","bk_cloud_id":0}}`)...), "", false},
		"key-of-the-other-form":   {addressA, asked(append(named(addressA, `"ip":"10.0.0.1"`), named("0:"+addressA, `"bk_agent_id":"`+agentA+`"`)...)...), "", false},
		"agent-away":              {addressA, asked(addressA+":gse:proc-test", code(117)), "", false},
		"file-closed":             {addressA, []exchange{{API: apiStatus, Reply: refused}}, "", true},
		"agents-not-asked":        {addressA, []exchange{cached(), {API: apiOperate, Reply: refused}}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "apigw", test.steps...)
			h := procapitest.Parse(t, test.host)
			want := make(map[fleet.Host]fleet.HostID)
			if test.want != "" {
				want[h[0]] = procapitest.Parse(t, test.want)[0].WithoutSupplier()
			}
			got, err := p.OtherNames(t.Context(), h)
			if (err != nil) != test.fails || !cmp.Equal(want, got, cmpopts.EquateComparable(fleet.Host{}, fleet.HostID{}), cmpopts.EquateEmpty()) {
				t.Fatalf("got %v, %v, want %v", got, err, want)
			}
			if test.want == "" {
				return
			}
			// The client does not ask for a name that it knows.
			if again, err := p.OtherNames(t.Context(), h); err != nil || len(again) != 1 {
				t.Errorf("again: got %v, %v", again, err)
			}
		})
	}
}

// An answer that names another agent makes the status unknown.
func TestGateway_contentOfAnotherAgent(t *testing.T) {
	t.Parallel()
	answer := func(key, id string, want fleet.State) scene {
		return scene{
			face: "apigw", call: procapitest.LiveStatus, hosts: []string{agentA}, want: map[string]fleet.State{agentA: want},
			steps: []exchange{accepted, result(said(named(key, `"bk_agent_id":"`+id+`"`)...))},
		}
	}
	play(t, map[string]scene{
		"its-own":       answer(agentA, agentA, fleet.Stopped),
		"unsaid":        answer(agentA, "", fleet.Stopped),
		"address":       answer(agentA, "0:10.0.0.1", fleet.Stopped),
		"another":       answer(agentA, agentB, fleet.Unknown),
		"by-other-name": answer("0:10.0.0.1", agentA, fleet.Stopped),
	})
}

// A host whose result had another agent's content has not answered under its own name, so that its other name is
// looked up before it is unregistered.
func TestGateway_namesAfterAnotherAgentsAnswer(t *testing.T) {
	t.Parallel()
	p, _ := scripted(t, "apigw", accepted, result(said(named(agentA, `"bk_agent_id":"`+agentB+`"`)...)),
		cached(gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 1)), hosting, result(said("0:10.0.0.1:gse:proc-test", code(0))))
	host := procapitest.Parse(t, agentA)
	procapitest.LiveStatus(t.Context(), p, host)
	procapitest.WantEqual(t, "unregister", map[string]fleet.Outcome{agentA: byTask(outcome(fleet.Done, 0))}, procapitest.Unregister(t.Context(), p, host))
}

// Without a spec there is no query, and for hosts with one name there is no call.
func TestOtherNames_notAsked(t *testing.T) {
	t.Parallel()
	p, _ := scripted(t, "apigw", cached())
	p.spec = nil
	if got, err := p.OtherNames(t.Context(), hosts(1)); err != nil || len(got) > 0 {
		t.Errorf("without a spec: got %v, %v", got, err)
	}
	p, _ = scripted(t, "esb")
	if got, err := p.OtherNames(t.Context(), hosts(1)); err != nil || got != nil {
		t.Errorf("ESB: got %v, %v", got, err)
	}
}
