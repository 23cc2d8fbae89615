package gse

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// Which host a row belongs to. At the gateway, clients disagree on whether a row has an address, and on
// where the agent id is. A row that has only the other name of a host is placed once that name is known.
// Until then no host is reported as not registered. On the ESB, hosts have addresses, and a row without
// one may belong to any host.
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
	for name, test := range map[string]struct {
		face  string
		hosts []string
		rows  []string
		after []exchange
		want  []fleet.State // of each host
	}{
		"supplier-unsaid":        {"esb", []string{"0:5:10.0.0.1"}, row(where1), nil, running},
		"no-cloud-of-one":        {"esb", []string{"5:10.0.0.1", "0:10.0.0.2"}, row(noCloud), nil, []fleet.State{fleet.Running, fleet.Unregistered}},
		"no-cloud-of-two":        {"esb", []string{addressA, "5:10.0.0.1"}, row(noCloud), nil, []fleet.State{fleet.Unknown, fleet.Unknown}},
		"agent-id-for-addresses": {"esb", two, append(row(idAlone), cachedRow(2, 1)), nil, []fleet.State{fleet.Unknown, fleet.Running}},
		"name-for-addresses":     {"esb", two, append(row(`"host":{"ip":"web-1","bk_cloud_id":0}`), cachedRow(2, 1)), nil, []fleet.State{fleet.Unknown, fleet.Running}},

		"agent-no-host":         {"apigw", agent, row(idAlone), nil, running},
		"agent-empty-host":      {"apigw", agent, row(idAlone + `,"host":{"ip":"","bk_cloud_id":0}`), nil, running},
		"agent-null-host":       {"apigw", agent, row(idAlone + `,"host":null`), nil, running},
		"agent-in-host":         {"apigw", agent, row(idInHost), nil, running},
		"agent-in-host-beside":  {"apigw", agent, row(idInHost + "," + noID), nil, running},
		"agent-with-address":    {"apigw", agent, row(idAlone + "," + where1), nil, running},
		"agent-of-another":      {"apigw", agent, row(otherID), nil, absent},
		"agent-asked-no-id":     {"apigw", agent, row(noID + "," + where1), nil, unsure},
		"agent-short":           {"apigw", agent, row(`"bk_agent_id":"0200"`), nil, unsure},
		"agent-is-an-address":   {"apigw", addressed, row(`"bk_agent_id":"0:10.0.0.1"`), nil, running},
		"agent-of-an-address":   {"apigw", addressed, row(`"bk_agent_id":"0:10.0.0.2"`), nil, absent},
		"address-no-id":         {"apigw", addressed, row(noID + "," + where1), nil, running},
		"address-id-missing":    {"apigw", addressed, row(where1), nil, running},
		"address-with-id":       {"apigw", addressed, row(idAlone + "," + where1), nil, running},
		"address-and-gone":      {"apigw", addressed, []string{gatewayRow(idAlone, 0)}, nil, absent},
		"no-name":               {"apigw", agent, row(noID), nil, unsure},
		"unregistered":          {"apigw", agent, []string{gatewayRow(idAlone, 0)}, nil, absent},
		"another-process-of-it": {"apigw", agent, []string{strings.Replace(gatewayRow(idAlone, 1), "proc-test", "proc", 1)}, nil, absent},

		"agent-has-both-names":   {"apigw", two, row(idAlone), asked(append(named("0:10.0.0.2", `"ip":"10.0.0.2"`), bothNames...)...), []fleet.State{fleet.Running, fleet.Unregistered}},
		"no-answer":              {"apigw", two, row(idAlone), asked(append(away1, away2...)...), []fleet.State{fleet.Unknown, fleet.Unknown}},
		"agents-cannot-be-asked": {"apigw", addressed, row(idAlone), []exchange{{API: apiOperate, Reply: refusal(1306000)}}, unsure},
		"row-of-unknown-host":    {"apigw", addressed, row(noID), asked(bothNames...), unsure},
		"a-row-of-its-own":       {"apigw", two, append(row(noID), cachedRow(1, 2)), asked(away2...), []fleet.State{fleet.Stopped, fleet.Unknown}},
		// Rows give each other's names, in any order.
		"another-row-has-both-names": {"apigw", two, append(row(idAlone), gatewayRow(idAlone+","+where1, 2)), nil, []fleet.State{fleet.Stopped, fleet.Unregistered}},
		// The row's host is known, and is not one that was asked about.
		"row-of-a-known-host":        {"apigw", addressed, row(otherID + `,"host":{"ip":"10.0.0.2","bk_cloud_id":0}`), nil, absent},
		"row-of-a-host-known-by-now": {"apigw", addressed, append(row(otherID+`,"host":{"ip":"10.0.0.2","bk_cloud_id":0}`), row(otherID)...), nil, absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := append([]exchange{cached(test.rows...)}, test.after...)
			p, script := scripted(t, test.face, steps...)
			if test.after == nil && slices.Contains(test.want, fleet.Unknown) {
				p.spec = nil // so that no agent can be asked
			}
			inventory := procapitest.Parse(t, test.hosts...)
			got, err := p.CachedStatus(t.Context(), inventory)
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range inventory {
				if status := got[h]; status.State != test.want[i] || (status.State == fleet.Unknown) != (status.Message != "") {
					t.Errorf("%s: got %+v, want %s", h, status, test.want[i])
				}
			}
			// The agents of a fleet are asked for their names once, not with every read.
			if n := len(script.Requests()); n != len(steps) || len(got) != len(inventory) {
				t.Errorf("got %d requests for %d statuses, want %d for %d", n, len(got), len(steps), len(inventory))
			}
		})
	}
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
		for order, rows := range map[string][]string{"": {test.one, test.other}, "-backwards": {test.other, test.one}} {
			t.Run(name+order, func(t *testing.T) {
				t.Parallel()
				p, _ := scripted(t, "esb", cached(rows...))
				got, err := p.CachedStatus(t.Context(), hosts(1))
				if err != nil || got[host(1)].State != test.want || (test.want == fleet.Unknown) != (got[host(1)].Message != "") {
					t.Errorf("got %+v, %v, want %s", got[host(1)], err, test.want)
				}
			})
		}
	}
}

// The agents of a fleet are asked for their names once, not with every read of the cached status.
func TestGateway_placingAsksOnce(t *testing.T) {
	t.Parallel()
	row := cached(gatewayRow(`"bk_agent_id":""`, 1))
	p, _ := scripted(t, "apigw", row, accepted, result(said(v2(1), code(117))), row)
	for range 2 {
		if got, err := p.CachedStatus(t.Context(), hosts(1)); err != nil || got[host(1)].State != fleet.Unknown {
			t.Errorf("got %v, %v", got, err)
		}
	}
}
