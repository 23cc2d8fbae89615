package gse

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

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
		refused = refusal(1306000, "null")
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
	for name, test := range map[string]struct {
		key, members string
		unknown      bool
	}{
		"its-own":       {agentA, `"bk_agent_id":"` + agentA + `"`, false},
		"unsaid":        {agentA, `"bk_agent_id":""`, false},
		"address":       {agentA, `"bk_agent_id":"0:10.0.0.1"`, false},
		"another":       {agentA, `"bk_agent_id":"` + agentB + `"`, true},
		"by-other-name": {"0:10.0.0.1", `"bk_agent_id":"` + agentA + `"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "apigw", accepted, result(said(named(test.key, test.members)...)))
			h := procapitest.Parse(t, agentA)[0]
			got, err := p.LiveStatus(t.Context(), []fleet.Host{h})
			if unknown := got[h].Message == "the answer is that of agent "+agentB; err != nil || unknown != test.unknown || (got[h].State == fleet.Unknown) != test.unknown {
				t.Errorf("got %+v, %v", got[h], err)
			}
		})
	}
}

// Without a spec there is no query, and for hosts with one name there is no call.
func TestOtherNames_notAsked(t *testing.T) {
	t.Parallel()
	p, script := scripted(t, "apigw", cached())
	p.spec = nil
	if got, err := p.OtherNames(t.Context(), hosts(1)); err != nil || len(got) > 0 {
		t.Errorf("without a spec: got %v, %v", got, err)
	}
	if n := len(script.Requests()); n != 1 {
		t.Errorf("without a spec: got %d requests, want one for the rows", n)
	}
	p, script = scripted(t, "esb")
	if got, err := p.OtherNames(t.Context(), hosts(1)); err != nil || got != nil {
		t.Errorf("ESB: got %v, %v", got, err)
	}
	if n := len(script.Requests()); n != 0 {
		t.Errorf("ESB: got %d requests, want none", n)
	}
}
