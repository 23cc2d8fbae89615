package gse

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

const (
	agentA = "0200000007525400f355781710390005465c"
	agentB = "02000000075254005d52cc171039000570a1"

	stage = "/api/bk-gse/prod"
)

// newGateway is a script of the API gateway, and its address with the stage.
func newGateway(t *testing.T, steps ...exchange) (*procapitest.Script, string) {
	t.Helper()
	s, url := procapitest.NewScript(t, stage+"/api/v2/proc/%s", steps...)
	return s, url + stage
}

func overGateway(cfg *bkapi.Config, _ *procapi.Options) { cfg.Gateway = bkapi.APIGW }

// gatewayProcess is process gse:proc-test behind the gateway at endpoint.
func gatewayProcess(t *testing.T, endpoint string, spec *Spec) *Process {
	t.Helper()
	return newTestClient(t, endpoint, overGateway).Process(sampleMeta, spec)
}

// hosting is an operation of operate_proc_multi that became task T.
var hosting = exchange{API: apiMulti, Reply: procapitest.Data(`{"task_id":"T"}`)}

// actsOf are the registrations of a process.
func actsOf(p *Process) map[string]func(context.Context, []fleet.Host) fleet.Results {
	return map[string]func(context.Context, []fleet.Host) fleet.Results{
		"register": p.Register, "reregister": p.Reregister, "unregister": p.Unregister,
	}
}

// The platform ignores hosts beside agent_id_list, so they go separately.
func TestGateway_mixedFleet(t *testing.T) {
	t.Parallel()
	var (
		looked = procapitest.Times(2, cached())
		refuse = func(api string) exchange { return procapitest.Times(2, exchange{API: api, Reply: refusal(1, "null")}) }
	)
	tests := map[string]struct {
		call  procapitest.Call
		steps []exchange
	}{
		"register":      {procapitest.Register, []exchange{refuse(apiOperate)}},
		"reregister":    {procapitest.Reregister, []exchange{refuse(apiMulti)}},
		"unregister":    {procapitest.Unregister, []exchange{looked, refuse(apiMulti)}},
		"operate":       {procapitest.Operate(fleet.Start), []exchange{refuse(apiOperate)}},
		"live-status":   {procapitest.LiveStatus, []exchange{refuse(apiOperate)}},
		"cached-status": {procapitest.CachedStatus, []exchange{looked}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, url := newGateway(t, test.steps...)
			test.call(t.Context(), gatewayProcess(t, url, sampleSpec()), procapitest.Parse(t, agentA, "0:10.0.0.1", agentB, "0:10.0.0.2"))
			var got []string
			for _, body := range script.Requests() {
				got = append(got, selectorOf(t, body))
			}
			slices.Sort(got)
			want := slices.Repeat([]string{"agents " + agentA + " " + agentB}, len(got)/2)
			want = append(want, slices.Repeat([]string{"hosts 10.0.0.1 10.0.0.2"}, len(got)/2)...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// selectorOf is the member by which a request names its hosts, and their names.
func selectorOf(t *testing.T, body []byte) string {
	t.Helper()
	type selector struct {
		Hosts []struct {
			IP string `json:"ip"`
		} `json:"hosts"`
		AgentIDs []string `json:"agent_id_list"`
	}
	var request struct {
		selector
		Requests []selector `json:"proc_operate_req"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	named := request.selector
	if len(request.Requests) > 0 {
		named = request.Requests[0]
	}
	if len(request.Requests) > 1 || (len(named.Hosts) > 0) == (len(named.AgentIDs) > 0) {
		t.Errorf("want one list of hosts in %s", body)
	}
	if len(named.AgentIDs) > 0 {
		return "agents " + strings.Join(named.AgentIDs, " ")
	}
	text := "hosts"
	for _, h := range named.Hosts {
		text += " " + h.IP
	}
	return text
}

// The key of a result names a host as the request did.
func TestGateway_keys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		host  string
		noise string // a key of something else
		key   string
	}{
		"agent":         {agentA, agentB + ":gse:proc-test", agentA + ":gse:proc-test"},
		"agent-v1":      {agentA, "0:0:" + agentA + ":gse:proc-test", agentA + ":gse:proc-test"},
		"address":       {"0:10.0.0.1", agentA + ":gse:proc-test", "0:10.0.0.1:gse:proc-test"},
		"with-supplier": {"3:7:10.0.0.1", "3:8:10.0.0.1:gse:proc-test", "3:10.0.0.1:gse:proc-test"},
		"ipv6":          {"0:2001:DB8::0:1", "0:2001:db8::2:gse:proc-test", "0:2001:db8::1:gse:proc-test"},
	}
	for name, test := range tests {
		for act, first := range map[string][]exchange{"register": append(bareOn(sampleMeta, procapitest.Parse(t, test.host)[0].Address()), hosting), "reregister": {hosting}, "unregister": {cached(), hosting}} {
			t.Run(name+"/"+act, func(t *testing.T) {
				t.Parallel()
				_, url := newGateway(t, append(first,
					// The client looks up once which host that other name may belong to.
					result(said(test.noise, code(65535))), cached(), result(said(test.noise, code(65535), test.key, code(0))))...)
				p := gatewayProcess(t, url, sampleSpec())
				got := actsOf(p)[act](t.Context(), procapitest.Parse(t, test.host))
				done := byTask(outcome(fleet.Done, 0))
				done.WasIdle = act == "register"
				want := map[string]fleet.Outcome{procapitest.Parse(t, test.host)[0].Address(): done}
				if diff := cmp.Diff(want, procapitest.ByAddress(got)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// bareOn is a query whose answer is that nothing is hosted on these addresses.
func bareOn(m Meta, addresses ...string) []exchange {
	var pairs []string
	for _, address := range addresses {
		pairs = append(pairs, address+":"+m.Namespace+":"+m.Name, `{"error_code":0,"content":`+asText(one(`{"pid":-1,"isAuto":false}`))+`}`)
	}
	return []exchange{accepted, result(said(pairs...))}
}

// gatewayRow is a row of gse:proc-test with these members for its host.
func gatewayRow(where string, status int) string {
	return fmt.Sprintf(`{"meta":{"namespace":"gse","name":"proc-test"},%s,"status":%d}`, where, status)
}
