package simulator_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/simulator"
)

func TestGateway_refusesWhatNoDocumentAllows(t *testing.T) {
	t.Parallel()
	operate := gatewayBody(0, "{}", agents(agentA, agentB))
	multi := `{"proc_operate_req":[` + operate + `,` + operate + `]}`
	status := `{` + meta("{}") + `,` + agents(agentA) + `}`
	tests := map[string]struct {
		api, body string
		old, new  string
		want      string
	}{
		"credentials-in-the-body": {"operate_proc_v2", operate, `{"meta"`, `{"bk_app_code":"bk_test","meta"`, "bk_app_code: unknown field"},
		"both-selectors":          {"operate_proc_v2", operate, `"op_type"`, cloudHosts("10.0.0.1") + `,"op_type"`, "hosts: is ignored beside agent_id_list"},
		"both-in-an-item":         {"operate_proc_multi", multi, `"op_type"`, cloudHosts("10.0.0.1") + `,"op_type"`, "proc_operate_req[0].hosts: is ignored beside agent_id_list"},
		"no-selector":             {"get_proc_status_v2", status, `,` + agents(agentA), ``, "agent_id_list: required field is missing, or hosts"},
		"empty-agent-id":          {"operate_proc_v2", operate, agentB, ``, "agent_id_list[1]: must not be empty"},
		"long-agent-id":           {"operate_proc_v2", operate, agentB, strings.Repeat("0", 65), "agent_id_list[1]: must not be longer than 64 characters"},
		"no-agent-ids":            {"get_proc_status_v2", status, agents(agentA), `"agent_id_list":[]`, "agent_id_list: must not be empty"},
		"agent-id-not-a-string":   {"get_proc_status_v2", status, agents(agentA), `"agent_id_list":[1]`, "agent_id_list[0]: want a string, got the number 1"},
		"no-hosts":                {"get_proc_status_v2", status, agents(agentA), `"hosts":[]`, "hosts: must not be empty"},
		"supplier":                {"get_proc_status_v2", status, agents(agentA), supplierHosts("10.0.0.1"), "hosts[0].bk_supplier_id: unknown field"},
		"two-policies":            {"operate_proc_v2", operate, `"alive_monitor_policy"`, `"monitor_policy":{"auto_type":1},"alive_monitor_policy"`, "spec.monitor_policy: is another name of alive_monitor_policy, which is given too"},
		"no-spec":                 {"operate_proc_v2", operate, `,"spec":` + operateSpec, ``, "spec: required field is missing"},
		"no-spec-for-update":      {"update_proc_info", status, "", "", "spec: required field is missing"},
		"op-type-in-update":       {"update_proc_info", operate, "", "", "op_type: unknown field"},
		"not-json":                {"get_proc_status_v2", "{", "", "", "the body is not JSON: unexpected EOF"},
		"not-an-object":           {"get_proc_status_v2", "[]", "", "", "want an object, got an array"},
		"page":                    {"sync_proc_status", `{"meta":{"namespace":"web"},"page":{"start":0,"limit":1001}}`, "", "", "page.limit: must be between 1 and 1000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newGateway(t)
			body := changed(t, test.body, test.old, test.new)
			got := c.gateway(test.api, body)
			want := `Parameters error [reason="` + test.want + `"]`
			if got.status != http.StatusBadRequest || got.code != simulator.CodeInvalidArgs || got.message != want {
				t.Errorf("got HTTP %d %v, want %q", got.status, got.body, want)
			}
			c.wantOneViolation(test.api + ": " + want)
		})
	}
}

func TestGateway_refusesAnOddHeader(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	for header, want := range map[string]string{
		`bk_test`: "X-Bkapi-Authorization is not JSON",
		`{"bk_app_code":"bk_test","bk_app_secret":"s3cret","bk_user":"admin"}`:  "X-Bkapi-Authorization.bk_user: unknown field",
		`{"bk_app_code":"bk_test","bk_app_secret":12345678,"bk_username":"me"}`: "X-Bkapi-Authorization.bk_app_secret: want a string",
	} {
		got := c.request(http.MethodPost, "/api/v2/proc/sync_proc_status", `{}`, map[string]string{"X-Bkapi-Authorization": header})
		if got.status != http.StatusBadRequest || !strings.Contains(got.message, want) {
			t.Errorf("%s: HTTP %d %v", header, got.status, got.body)
		}
	}
	c.sim.ResetViolations()
}

func TestGateway_acceptsBothSpellings(t *testing.T) {
	t.Parallel()
	c := newGateway(t)
	operate := gatewayBody(simulator.OpQuery, "{}", agents(agentA))
	for _, change := range [][2]string{
		{`"alive_monitor_policy"`, `"monitor_policy"`}, // op_timeout stays in it
		{`"op_timeout":60`, `"crontab_rule":""`},
		{`"op_timeout":60`, `"crotab_rule":""`},
		{`"alive_monitor_policy"`, `"resource":{"cpu":1,"mem":1},"alive_monitor_policy"`},
		{agentA, "not-a-real-agent-id"},
		{agents(agentA), cloudHosts("10.0.0.1")},
	} {
		body := strings.Replace(operate, change[0], change[1], 1)
		if got := c.gateway("operate_proc_v2", body); body == operate || got.status != http.StatusOK || got.code != 0 {
			t.Errorf("%s: %v", change[1], got.body)
		}
	}
}

func TestGateway_maxHostsPerRequest(t *testing.T) {
	t.Parallel()
	c := newGateway(t, func(sim *simulator.Server) { sim.MaxHostsPerRequest = 1 })
	got := c.gateway("operate_proc_v2", gatewayBody(simulator.OpQuery, "{}", agents(agentA, agentB)))
	if got.status != http.StatusBadRequest || !strings.Contains(got.message, "2 hosts are more than 1") {
		t.Errorf("got HTTP %d %v", got.status, got.body)
	}
	c.sim.ResetViolations()
}
