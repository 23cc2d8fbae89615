package face_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
	"github.com/blueking/terraform-provider-bk/internal/simulator/simtest"
)

func TestGateway_refusesWhatNoDocumentAllows(t *testing.T) {
	t.Parallel()
	operate := simtest.GatewayBody(0, "{}", simtest.Agents(simtest.AgentA, simtest.AgentB))
	status := `{` + simtest.Meta("{}") + `,` + simtest.Agents(simtest.AgentA) + `}`
	tests := map[string]struct {
		api, body string
		old, new  string
		want      string
	}{
		"no-selector":           {"get_proc_status_v2", status, `,` + simtest.Agents(simtest.AgentA), ``, "agent_id_list: required field is missing, or hosts"},
		"empty-agent-id":        {"operate_proc_v2", operate, simtest.AgentB, ``, "agent_id_list[1]: must not be empty"},
		"long-agent-id":         {"operate_proc_v2", operate, simtest.AgentB, strings.Repeat("0", 65), "agent_id_list[1]: must not be longer than 64 characters"},
		"no-agent-ids":          {"get_proc_status_v2", status, simtest.Agents(simtest.AgentA), `"agent_id_list":[]`, "agent_id_list: must not be empty"},
		"agent-id-not-a-string": {"get_proc_status_v2", status, simtest.Agents(simtest.AgentA), `"agent_id_list":[1]`, "agent_id_list[0]: want a string, got the number 1"},
		"no-hosts":              {"get_proc_status_v2", status, simtest.Agents(simtest.AgentA), `"hosts":[]`, "hosts: must not be empty"},
		"two-policies":          {"operate_proc_v2", operate, `"alive_monitor_policy"`, `"monitor_policy":{"auto_type":1},"alive_monitor_policy"`, "spec.monitor_policy: is another name of alive_monitor_policy, which is given too"},
		"no-spec":               {"operate_proc_v2", operate, `,"spec":` + simtest.OperateSpec, ``, "spec: required field is missing"},
		"no-spec-for-update":    {"update_proc_info", status, "", "", "spec: required field is missing"},
		"not-json":              {"get_proc_status_v2", "{", "", "", "the body is not JSON: unexpected EOF"},
		"not-an-object":         {"get_proc_status_v2", "[]", "", "", "want an object, got an array"},
		"page":                  {"sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1001}}`, "", "", "page.limit: must be between 1 and 1000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := simtest.NewGateway(t)
			body := simtest.Changed(t, test.body, test.old, test.new)
			got := c.Gateway(test.api, body)
			want := `Parameters error [reason="` + test.want + `"]`
			if got.Status != http.StatusBadRequest || got.Code != simulator.CodeInvalidArgs || got.Message != want {
				t.Errorf("got HTTP %d %v, want %q", got.Status, got.Body, want)
			}
			c.WantOneViolation(test.api + ": " + want)
		})
	}
}

func TestGateway_refusesAnOddHeader(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	for header, want := range map[string]string{
		`bk_test`: "X-Bkapi-Authorization is not JSON",
		`{"bk_app_code":"bk_test","bk_app_secret":12345678,"bk_username":"me"}`: "X-Bkapi-Authorization.bk_app_secret: want a string",
	} {
		got := c.Request(http.MethodPost, "/api/v2/proc/sync_proc_status", `{}`, map[string]string{"X-Bkapi-Authorization": header})
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Message, want) {
			t.Errorf("%s: HTTP %d %v", header, got.Status, got.Body)
		}
	}
	c.Sim.ResetViolations()
}

func TestGateway_acceptsBothSpellings(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t)
	operate := simtest.GatewayBody(simulator.OpQuery, "{}", simtest.Agents(simtest.AgentA))
	for _, change := range [][2]string{
		{`"alive_monitor_policy"`, `"monitor_policy"`}, // op_timeout stays in it
		{`"op_timeout":60`, `"crontab_rule":""`},
		{`"op_timeout":60`, `"crotab_rule":""`},
		{`"alive_monitor_policy"`, `"resource":{"cpu":1,"mem":1},"alive_monitor_policy"`},
		{simtest.AgentA, "not-a-real-agent-id"},
		{simtest.Agents(simtest.AgentA), simtest.CloudHosts("10.0.0.1")},
	} {
		body := strings.Replace(operate, change[0], change[1], 1)
		if got := c.Gateway("operate_proc_v2", body); body == operate || got.Status != http.StatusOK || got.Code != 0 {
			t.Errorf("%s: %v", change[1], got.Body)
		}
	}
}

func TestGateway_maxHostsPerRequest(t *testing.T) {
	t.Parallel()
	c := simtest.NewGateway(t, func(sim *simulator.Server) { sim.MaxHostsPerRequest = 1 })
	got := c.Gateway("operate_proc_v2", simtest.GatewayBody(simulator.OpQuery, "{}", simtest.Agents(simtest.AgentA, simtest.AgentB)))
	if got.Status != http.StatusBadRequest || !strings.Contains(got.Message, "2 hosts are more than 1") {
		t.Errorf("got HTTP %d %v", got.Status, got.Body)
	}
	c.Sim.ResetViolations()
}
