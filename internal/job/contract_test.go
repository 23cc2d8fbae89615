package job

import (
	"slices"
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// For each case of the contract, the client sends its request, and reads its answer as documented.
func TestContract(t *testing.T) {
	t.Parallel()
	const task = "GSETASK:20180315180551:1000"
	var (
		one  = []string{"0:10.0.0.1"}
		more = []string{"0:10.0.0.1", "3:2001:DB8::1"} // an unusual spelling

		begun    = map[string]fleet.Outcome{"0:10.0.0.1": {Verdict: fleet.Pending, TaskID: task}} // and no more is known
		begunAll = map[string]fleet.Outcome{"0:10.0.0.1": begun["0:10.0.0.1"], "3:2001:db8::1": begun["0:10.0.0.1"]}
		stopped  = map[string]fleet.Status{"0:10.0.0.1": {State: fleet.Stopped, PID: -1}}

		sent   = []exchange{procapitest.OfContract("job/" + apiOperate)}
		unread = exchange{API: apiResult, Reply: refusal(1, "no")} // the task, to see the id that the client asks for

		queried = Info{
			ProcName: "bk_gse_unifyTlogc", SetupPath: "/usr/local/gse/gseagent/plugins/unifyTlogc/sbin",
			PIDPath: "/usr/local/gse/gseagent/plugins/unifyTlogc/log/bk_gse_unifyTlogc.pid",
		}
	)
	// A registration has both members, and each endpoint gets its own one.
	both := sampleInfo()
	both.Contact = new("ops")
	account := both
	account.Account = new("nginx")
	tests := map[string]struct {
		of     string // the name of the case in the contract
		scope  Scope
		by     Registration
		info   Info
		hosts  []string
		call   procapitest.Call
		before []exchange // of the case's
		after  []exchange
		want   any // by host
	}{
		"manage-scope":       {"job/manage_proc", scope, RegisterByManage, both, one, procapitest.Register, nil, []exchange{unread}, begun},
		"manage-again":       {"job/manage_proc", scope, RegisterByManage, both, one, procapitest.Reregister, nil, []exchange{unread}, begun},
		"manage-biz":         {"job/manage_proc/biz", bizScope, RegisterByManage, both, one, procapitest.Register, nil, []exchange{unread}, begun},
		"manage-unregister":  {"job/manage_proc/unregister", scope, RegisterByManage, both, one, procapitest.Unregister, nil, []exchange{unread}, begun},
		"operate":            {"job/operate_process", bizScope, RegisterByOperate, operateInfo(), one, procapitest.Operate(fleet.Stop), nil, []exchange{unread}, begun},
		"operate-by-manage":  {"job/operate_process", bizScope, RegisterByManage, operateInfo(), one, procapitest.Operate(fleet.Stop), nil, []exchange{unread}, begun},
		"supplier-is-unsaid": {"job/operate_process", bizScope, RegisterByOperate, operateInfo(), []string{"0:9:10.0.0.1"}, procapitest.Operate(fleet.Stop), nil, []exchange{unread}, begun},
		"register":           {"job/operate_process/register", setScope, RegisterByOperate, account, more, procapitest.Register, nil, []exchange{unread}, begunAll},
		"register-default":   {"job/operate_process/register", setScope, "", account, more, procapitest.Register, nil, []exchange{unread}, begunAll},
		"register-again":     {"job/operate_process/register", setScope, RegisterByOperate, account, more, procapitest.Reregister, nil, []exchange{unread}, begunAll},
		"unregister":         {"job/operate_process/unregister", setScope, RegisterByOperate, account, more, procapitest.Unregister, nil, []exchange{unread}, begunAll},
		"result-scope":       {"job/get_proc_result", scope, RegisterByOperate, queried, one, procapitest.LiveStatus, sent, nil, stopped},
		"result-biz":         {"job/get_proc_result/biz", bizScope, RegisterByOperate, queried, one, procapitest.LiveStatus, sent, nil, stopped},
		"result-queued":      {"job/get_proc_result/queued", scope, RegisterByOperate, queried, one, procapitest.Operate(fleet.Stop), sent, []exchange{unread}, begun},
	}
	tried := make(map[string]bool)
	for name, test := range tests {
		tried[test.of] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := scripted(t, "", slices.Concat(test.before, []exchange{procapitest.OfContract(test.of)}, test.after)...)
			got := test.call(t.Context(), p.client.Process(test.scope, test.by, test.info), procapitest.Parse(t, test.hosts...))
			procapitest.WantRequest(t, test.of, script.Requests()[len(test.before)])
			procapitest.WantMade(t, test.want, got)
		})
	}
	for _, api := range []string{apiRunScript, apiScriptStatus, apiScriptLog} { // TestHostedFiles_contract
		tried["job/"+api] = true
	}
	procapitest.WantAllTried(t, contract.Cases("job"), tried)
}
