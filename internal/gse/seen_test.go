package gse

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// The client reads every answer that platforms were seen to give.
func TestSeen(t *testing.T) {
	t.Parallel()
	const (
		local   = "0:127.0.0.1"
		agent   = "020000000052540000000117000000000001"
		address = "11:10.0.0.8"
		taken   = "Fail to register, for the process info already exists."
		failed  = "Script exit code non-zero. Error msessage: []"
		numbers = "10000"
		o2      = "O2:20250915084846:C31CCF11B43D47C299C5A3886825B176:54190323"
	)
	var (
		one     = Meta{Namespace: "nodeman", Name: "sub_870_host_1_host_exp001"}
		two     = Meta{Namespace: "nodeman", Name: "sub_870_host_1_host_exp002"}
		nodemgr = Meta{Namespace: "bk-nodemgr", Name: "bkmonitorbeat"}
		bscp    = Meta{Namespace: "GSEKIT_BIZ_3", Name: "http-server-test1_1"}
		unread  = []exchange{{API: apiResult, Reply: refusal(1, "null")}}
		begun   = []exchange{accepted}
		asTask  = func(o fleet.Outcome) fleet.Outcome { o.TaskID = "T"; return o }
		waiting = func(id string) fleet.Outcome { return fleet.Outcome{Verdict: fleet.Pending, TaskID: id} }
	)
	tests := map[string]struct {
		meta          Meta
		hosts         []string
		call          procapitest.Call
		before, after []exchange
		want          any
	}{
		"esb/register_proc_info/nodeman":                {two, []string{local}, procapitest.Register, bareOn(two, local), nil, procapitest.Each([]string{local}, wasIdle(fleet.Outcome{}))},
		"esb/update_proc_info/nodeman":                  {two, []string{local}, procapitest.Reregister, nil, nil, procapitest.Each([]string{local}, fleet.Outcome{})},
		"esb/unregister_proc_info/nodeman":              {two, []string{local}, procapitest.Unregister, nil, nil, procapitest.Each([]string{local}, fleet.Outcome{})},
		"esb/update_proc_info/registered":               {one, []string{local}, procapitest.Reregister, nil, nil, procapitest.Each([]string{local}, fleet.Outcome{Message: "success"})},
		"esb/operate_proc_v2/nodeman":                   {two, []string{local}, procapitest.Operate(fleet.Start), nil, unread, procapitest.Each([]string{local}, waiting("GSETASK:20190813145456:8"))},
		"esb/operate_proc_v2/number":                    {two, []string{local}, procapitest.Operate(fleet.Start), nil, unread, procapitest.Each([]string{local}, waiting(numbers))},
		"esb/get_proc_operate_result_v2/value":          {two, []string{local}, procapitest.Operate(fleet.Start), begun, nil, procapitest.Each([]string{local}, asTask(fleet.Outcome{Message: "success"}))},
		"esb/get_proc_operate_result_v2/registered":     {two, []string{local}, procapitest.Operate(fleet.Supervise), begun, nil, procapitest.Each([]string{local}, asTask(fleet.Outcome{AlreadyDone: true, Code: 850, Message: taken}))},
		"esb/get_proc_status_v2/bare":                   {Meta{Namespace: "nodeman", Name: "test_proc"}, []string{local}, procapitest.CachedStatus, nil, nil, procapitest.Each([]string{local}, fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, Labels: map[string]string{"proc_name": "test_proc"}, Version: "1.1.13"})},
		"esb/get_proc_operate_result_v2/handling":       {two, []string{local}, procapitest.Operate(fleet.Stop), begun, unread, procapitest.Each([]string{local}, asTask(fleet.Outcome{Verdict: fleet.Pending, Code: 115, Message: "handling"}))},
		"esb/get_proc_operate_result_v2/queued":         {two, []string{local}, procapitest.Operate(fleet.Stop), begun, unread, procapitest.Each([]string{local}, waiting("T"))},
		"esb/get_proc_operate_result_v2/script":         {two, []string{local}, procapitest.Operate(fleet.Start), begun, nil, procapitest.Each([]string{local}, asTask(fleet.Outcome{Verdict: fleet.Failed, Ran: true, Code: 65535, Message: failed}))},
		"esb/get_proc_operate_result_v2/idle":           {two, []string{local}, procapitest.Operate(fleet.Stop), begun, nil, procapitest.Each([]string{local}, asTask(fleet.Outcome{AlreadyDone: true, Code: 829, Message: "process is not running, no need to stop"}))},
		"apigw/get_proc_operate_result_v2/done":         {nodemgr, []string{agent}, procapitest.Operate(fleet.Supervise), begun, nil, procapitest.Each([]string{agent}, asTask(fleet.Outcome{}))},
		"apigw/get_proc_operate_result_v2/running":      {nodemgr, []string{agent}, procapitest.Operate(fleet.Start), begun, nil, procapitest.Each([]string{agent}, asTask(fleet.Outcome{AlreadyDone: true, Code: 828, Message: "operate proc failed"}))},
		"apigw/get_proc_operate_result_v2/stopped":      {nodemgr, []string{agent}, procapitest.Operate(fleet.Unsupervise), begun, nil, procapitest.Each([]string{agent}, asTask(fleet.Outcome{AlreadyDone: true, Code: 829, Message: "operate proc failed"}))},
		"apigw/get_proc_operate_result_v2/bscp":         {bscp, []string{agent}, procapitest.Operate(fleet.Start), begun, nil, procapitest.Each([]string{agent}, asTask(fleet.Outcome{Message: "success"}))},
		"apigw/get_proc_operate_result_v2/bscp address": {bscp, []string{address}, procapitest.Operate(fleet.Start), begun, nil, procapitest.Each([]string{address}, asTask(fleet.Outcome{Message: "success"}))},
		"apigw/operate_proc_multi/nodeman":              {nodemgr, []string{agent}, procapitest.Reregister, nil, unread, procapitest.Each([]string{agent}, waiting(o2))},
		"apigw/operate_proc_v2/nodeman":                 {nodemgr, []string{agent}, procapitest.Operate(fleet.Start), nil, unread, procapitest.Each([]string{agent}, waiting(o2))},
	}
	tried := make(map[string]bool)
	for name, test := range tests {
		id := name
		if name == "apigw/get_proc_operate_result_v2/bscp address" {
			id = "apigw/get_proc_operate_result_v2/bscp"
		}
		tried[id] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, _ := atFace(t, contract.Answer(id).Face, slices.Concat(test.before, []exchange{procapitest.Seen(id)}, test.after)...)
			procapitest.WantMade(t, test.want, test.call(t.Context(), client.Process(test.meta, sampleSpec()), procapitest.Parse(t, test.hosts...)))
		})
	}
	procapitest.WantAllTried(t, contract.Answered(), tried)
}

// What kept this client from real platforms. Agent ids are opaque and keep their case in requests,
// results and listings. An agent id may be an address, a task id may be a number, and a base URL may end
// in slashes.
func TestSeen_realNames(t *testing.T) {
	t.Parallel()
	const odd, upper = "020000000052540000000117000000000u", "0200000000525400AB000117000000000O"
	for _, id := range []string{odd, upper} {
		row := fmt.Sprintf(`{"meta":{"namespace":"gse","name":"proc-test"},"bk_agent_id":%q,"status":1}`, id)
		script, url := newGateway(t,
			exchange{API: apiOperate, Reply: procapitest.Data(`{"task_id":10000}`)},
			result(said(id+":gse:proc-test", code(0))),
			page("2", row, `{"meta":{"namespace":"gse","name":"proc-test"},"bk_agent_id":"11:10.0.0.8","status":1}`),
		)
		p := newTestClient(t, url+"//", overGateway).Process(sampleMeta, sampleSpec())
		results := procapitest.ByAddress(p.Operate(t.Context(), fleet.Start, procapitest.Parse(t, id), nil))
		if got := results[id]; !got.OK() || got.TaskID != "10000" {
			t.Errorf("%s: got %+v", id, results)
		}
		requests := script.Requests()
		if sent := selectorOf(t, requests[0]); sent != "agents "+id || !strings.Contains(string(requests[1]), `"10000"`) {
			t.Errorf("%s: sent %s, then %s", id, sent, requests[1])
		}
		var listed []string
		if err := p.client.List(t.Context(), "gse", 0, func(row Row) bool {
			listed = append(listed, row.Host.Address())
			return true
		}); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{id, "11:10.0.0.8"}, listed); diff != "" {
			t.Errorf("listed (-want +got):\n%s", diff)
		}
	}
}
