package gse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

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

// named is an agent's answer under key, with these members beside the process, as a pair for said.
func named(key, members string) []string {
	content := asText(`{` + members + `,"process":[{"instance":[{"pid":-1,"isAuto":false}]}]}`)
	return []string{key + ":gse:proc-test", `{"error_code":0,"content":` + content + `}`}
}

// A row has both names of a host. Where none has, the agents are asked.
func TestGateway_otherNames(t *testing.T) {
	t.Parallel()
	const addressA = "0:10.0.0.1"
	var (
		both    = gatewayRow(`"bk_agent_id":"`+agentA+`","host":{"ip":"10.0.0.1","bk_cloud_id":0}`, 1)
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

// What another agent says is ignored, under any key.
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
