package gse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/contract"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// For each case of the contract, the client sends its request, and reads its answer as documented.
func TestContract(t *testing.T) {
	t.Parallel()
	list := func(ctx context.Context, p fleet.Process, _ []fleet.Host) any {
		rows, err := p.(*Process).client.List(ctx, "gse", 0) //nolint:forcetypeassert // this client's
		statuses := make(map[fleet.Host]fleet.Status)
		for _, row := range rows {
			statuses[row.Host] = row.Status
		}
		return procapitest.OrError(statuses, err)
	}
	var (
		supplied = []string{"1:2:10.0.0.1"}
		address  = []string{"1:10.0.0.1"}
		six      = []string{"1:10.0.0.1", "1:10.0.0.2", "1:10.0.0.3", "1:10.0.0.4", "1:10.0.0.5", "1:10.0.0.6"}
		mixed    = []string{"0:2001:DB8::0:1", "3:7:10.0.0.1"} // an unusual spelling, and a supplier
		agents   = []string{agentA, agentB}
		minimal  = Meta{Namespace: "web", Name: "nginx"}

		unread  = []exchange{{API: apiResult, Reply: refusal(1)}} // the task, to see the id that the client asks for
		sent    = func(face string) []exchange { return []exchange{procapitest.OfContract(face + "/" + apiOperate)} }
		inCache = fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, Labels: sampleMeta.Labels, PID: 4437, Version: "1.2.19", CPUUsage: 0.1, MemUsage: 0.1, RegisterTime: 1441006057, StartTime: 1441006057}
		running = fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 4437, Version: "1.2.19", CPUUsage: 0.1, MemUsage: 0.5, RegisterTime: 1441006057, StartTime: 1441006057}
		stopped = fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1, Version: "1.2.19", RegisterTime: 1441006057, StartTime: 1441006057}
		unsaid  = inCache // a row that does not say whether it is hosted
	)
	unsaid.Hosted, unsaid.HostedKnown = false, false
	tests := map[string]struct {
		of     string // the name of the case in the contract
		meta   Meta
		spec   *Spec
		hosts  []string
		call   procapitest.Call
		before []exchange // of the case's
		after  []exchange
		want   any // by host
	}{
		"register":                {"esb/register_proc_info", sampleMeta, sampleSpec(), supplied, procapitest.Register, bareOn(sampleMeta, address...), nil, procapitest.Each(address, wasIdle(doneNow))},
		"register-minimal":        {"esb/register_proc_info/minimal", minimal, minimalSpec(), []string{"0:10.0.0.2", "3:7:10.0.0.1"}, procapitest.Register, bareOn(minimal, "0:10.0.0.2", "3:10.0.0.1"), nil, procapitest.Each([]string{"0:10.0.0.2", "3:10.0.0.1"}, wasIdle(doneNow))},
		"update":                  {"esb/update_proc_info", sampleMeta, sampleSpec(), supplied, procapitest.Reregister, nil, nil, procapitest.Each(address, doneNow)},
		"unregister":              {"esb/unregister_proc_info", sampleMeta, sampleSpec(), supplied, procapitest.Unregister, nil, nil, procapitest.Each(address, doneNow)},
		"unregister-without-spec": {"esb/unregister_proc_info", sampleMeta, nil, supplied, procapitest.Unregister, nil, nil, procapitest.Each(address, doneNow)},
		"operate":                 {"esb/operate_proc_v2", sampleMeta, sampleSpec(), address, procapitest.Operate(fleet.Start), nil, unread, procapitest.Each(address, begun)},
		"operate-supplied":        {"esb/operate_proc_v2", sampleMeta, sampleSpec(), supplied, procapitest.Operate(fleet.Start), nil, unread, procapitest.Each(address, begun)},
		// Hosting makes the agent enforce the limits, so it must carry them, although the document of the operation does not list them.
		"host":            {"esb/operate_proc_v2/host", sampleMeta, sampleSpec(), address, procapitest.Operate(fleet.Supervise), nil, unread, procapitest.Each(address, begun)},
		"operate-minimal": {"esb/operate_proc_v2/minimal", minimal, minimalSpec(), mixed, procapitest.Operate(fleet.Kill), nil, unread, procapitest.Each([]string{"0:2001:db8::1", "3:10.0.0.1"}, begun)},
		"result":          {"esb/get_proc_operate_result_v2", sampleMeta, sampleSpec(), address, procapitest.Operate(fleet.Start), sent("esb"), nil, procapitest.Each(address, done)},
		"result-query":    {"esb/get_proc_operate_result_v2/query", sampleMeta, sampleSpec(), address, procapitest.LiveStatus, sent("esb"), nil, procapitest.Each(address, running)},
		"result-queued":   {"esb/get_proc_operate_result_v2/queued", sampleMeta, sampleSpec(), address, procapitest.Operate(fleet.Start), sent("esb"), unread, procapitest.Each(address, begun)},
		"result-mixed": {"esb/get_proc_operate_result_v2/mixed", sampleMeta, sampleSpec(), six, procapitest.Operate(fleet.Start), sent("esb"), unread, map[string]fleet.Outcome{
			six[0]: done,
			six[1]: {Verdict: fleet.Pending, Code: 115, Message: "handling", TaskID: sampleTask},
			six[2]: {Verdict: fleet.Done, AlreadyDone: true, Code: 828, Message: "process is already running", TaskID: sampleTask},
			six[3]: {Verdict: fleet.Failed, Ran: true, Code: 836, Message: "start check failed: process is not running", TaskID: sampleTask},
			six[4]: {Verdict: fleet.Failed, Ran: true, Code: 65535, Message: "./start.sh: line 3: ulimit: open files: cannot modify limit\nproc-test: bind: address already in use\n", TaskID: sampleTask},
			six[5]: {Verdict: fleet.Failed, Code: 117, Away: true, Message: "can not find connection by ip 10.0.0.6", TaskID: sampleTask},
		}},
		"status": {"esb/get_proc_status_v2", sampleMeta, nil, supplied, procapitest.CachedStatus, nil, nil, procapitest.Each(address, inCache)},
		"list":   {"esb/sync_proc_status", sampleMeta, nil, nil, list, nil, nil, procapitest.Each(address, unsaid)},

		"gateway-register":           {"apigw/operate_proc_multi", minimal, minimalSpec(), mixed, procapitest.Register, bareOn(minimal, "0:2001:db8::1", "3:10.0.0.1"), unread, procapitest.Each([]string{"0:2001:db8::1", "3:10.0.0.1"}, begun)},
		"gateway-reregister":         {"apigw/operate_proc_multi", minimal, minimalSpec(), mixed, procapitest.Reregister, nil, unread, procapitest.Each([]string{"0:2001:db8::1", "3:10.0.0.1"}, begun)},
		"gateway-register-agents":    {"apigw/operate_proc_multi/agents", sampleMeta, sampleSpec(), agents, procapitest.Register, bareOn(sampleMeta, agents...), unread, procapitest.Each(agents, begun)},
		"gateway-reregister-agents":  {"apigw/operate_proc_multi/agents", sampleMeta, sampleSpec(), agents, procapitest.Reregister, nil, unread, procapitest.Each(agents, begun)},
		"gateway-unregister-address": {"apigw/operate_proc_multi/unhost", sampleMeta, sampleSpec(), supplied, procapitest.Unregister, []exchange{cached()}, unread, procapitest.Each(address, begun)},
		"gateway-unregister-agents":  {"apigw/operate_proc_multi/unhost-agents", minimal, minimalSpec(), agents, procapitest.Unregister, []exchange{cached()}, unread, procapitest.Each(agents, begun)},
		"gateway-operate":            {"apigw/operate_proc_v2", sampleMeta, sampleSpec(), agents, procapitest.Operate(fleet.Start), nil, unread, procapitest.Each(agents, begun)},
		"gateway-operate-address":    {"apigw/operate_proc_v2/hosts", minimal, minimalSpec(), mixed, procapitest.Operate(fleet.Kill), nil, unread, procapitest.Each([]string{"0:2001:db8::1", "3:10.0.0.1"}, begun)},
		"gateway-result":             {"apigw/get_proc_operate_result_v2", sampleMeta, sampleSpec(), agents, procapitest.LiveStatus, sent("apigw"), nil, map[string]fleet.Status{agentA: running, agentB: stopped}},
		"gateway-result-address":     {"apigw/get_proc_operate_result_v2/hosts", sampleMeta, sampleSpec(), address, procapitest.Operate(fleet.Start), sent("apigw"), nil, procapitest.Each(address, done)},
		"gateway-result-queued":      {"apigw/get_proc_operate_result_v2/queued", sampleMeta, sampleSpec(), agents, procapitest.Operate(fleet.Start), sent("apigw"), unread, procapitest.Each(agents, begun)},
		"gateway-status":             {"apigw/get_proc_status_v2", sampleMeta, nil, agents, procapitest.CachedStatus, nil, nil, map[string]fleet.Status{agentA: inCache, agentB: {State: fleet.Unregistered}}},
		"gateway-status-address":     {"apigw/get_proc_status_v2/hosts", sampleMeta, nil, address, procapitest.CachedStatus, nil, nil, procapitest.Each(address, inCache)},
		"gateway-list":               {"apigw/sync_proc_status", sampleMeta, nil, nil, list, nil, nil, procapitest.Each(agents[:1], inCache)},
	}
	tried := make(map[string]bool)
	for name, test := range tests {
		tried[test.of] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := slices.Concat(test.before, []exchange{procapitest.OfContract(test.of)}, test.after)
			p, script := scripted(t, contract.Get(test.of).Face, steps...)
			got := test.call(t.Context(), p.client.Process(test.meta, test.spec), procapitest.Parse(t, test.hosts...))
			procapitest.WantRequest(t, test.of, script.Requests()[len(test.before)])
			procapitest.WantMade(t, test.want, got)
		})
	}
	tried["apigw/"+runScript], tried["apigw/"+scriptResult] = true, true // TestHostedFiles_contract
	procapitest.WantAllTried(t, contract.Cases("esb", "apigw"), tried)
}

const sampleTask = "GSETASK:XXXXXXXXXX"

var (
	doneNow = fleet.Outcome{Verdict: fleet.Done, Message: "success"}
	done    = fleet.Outcome{Verdict: fleet.Done, Message: "success", TaskID: sampleTask}
	begun   = fleet.Outcome{Verdict: fleet.Pending, TaskID: sampleTask} // and no more is known
)

// The client reads every answer that was observed on a platform.
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
		unread  = []exchange{{API: apiResult, Reply: refusal(1)}}
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
			p, _ := scripted(t, contract.Answer(id).Face, slices.Concat(test.before, []exchange{procapitest.Seen(id)}, test.after)...)
			procapitest.WantMade(t, test.want, test.call(t.Context(), p.client.Process(test.meta, sampleSpec()), procapitest.Parse(t, test.hosts...)))
		})
	}
	procapitest.WantAllTried(t, contract.Answered(), tried)
}

// The test fixes the form of the fingerprint. A change makes every host of every user look changed, and
// requires another fleet.FingerprintVersion. OpTimeout does not count, because it is sent only with operations.
func TestSpec_fingerprintGolden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec      *Spec
		labels    map[string]string
		canonical string
		want      string
	}{
		"full": {
			sampleSpec(), sampleMeta.Labels,
			`{"labels":{"proc_name":"proc-test"},"spec":{"configmap":[{"md5":"","path":""}],` +
				`"control":{"health_cmd":"./health.sh","kill_cmd":"./kill.sh","reload_cmd":"./reload.sh","restart_cmd":"./restart.sh",` +
				`"start_cmd":"./start.sh","stop_cmd":"./stop.sh","version_cmd":"./version.sh"},` +
				`"identity":{"config_path":"/data/gsetest/proc-test.conf","index_key":"","log_path":"/data/gsetest/logs/",` +
				`"pid_path":"/data/gsetest/proc-test.pid","proc_name":"proc-test","setup_path":"/data/gsetest/","user":"root"},` +
				`"monitor_policy":{"auto_type":1,"crontab_rule":"","start_check_secs":5,"start_interval":20,"start_retries":3,"stop_check_secs":5},` +
				`"resource":{"cpu":10,"disk":100,"fd":10000,"mem":10,"net":0},"warn_report_policy":{"report_id":0}}}`,
			"v1-fc999435bf64c718",
		},
		"minimal": {
			minimalSpec(), nil,
			`{"labels":{},"spec":{"control":{},"identity":{"pid_path":"/run/nginx.pid","proc_name":"nginx","setup_path":"/usr/sbin","user":"root"},` +
				`"monitor_policy":{"auto_type":0},"resource":{"cpu":30,"mem":12.5}}}`,
			"v1-1f30f7ac62bd7de1",
		},
		"unlimited": {
			unlimitedSpec(), nil,
			`{"labels":{},"spec":{"control":{},"identity":{"pid_path":"/run/nginx.pid","proc_name":"nginx","setup_path":"/usr/sbin","user":"root"},` +
				`"monitor_policy":{"auto_type":0}}}`,
			"v1-8707758e070ead43",
		},
	} {
		got, err := fleet.Fingerprint(test.spec, test.labels)
		sum := sha256.Sum256([]byte(test.canonical))
		documented := fleet.FingerprintVersion + hex.EncodeToString(sum[:])[:16]
		procapitest.Check(t, err == nil && got == test.want && got == documented,
			"%s: got %s, %v, want %s, and the canonical form has %s", name, got, err, test.want, documented)
	}
}

// Unset values take the documented times.
func TestSpec_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec                 *Spec
		command, start, stop time.Duration
	}{
		"no-spec": {nil, 60 * time.Second, 5 * time.Second, 0},
		"not-set": {&Spec{}, 60 * time.Second, 5 * time.Second, 0},
		"set":     {&Spec{OpTimeout: new(int64(7)), MonitorPolicy: MonitorPolicy{StartCheckSecs: new(int64(30)), StopCheckSecs: new(int64(9))}}, 7 * time.Second, 30 * time.Second, 9 * time.Second},
	} {
		command, start, stop := c.spec.Settles()
		procapitest.Check(t, command == c.command && start == c.start && stop == c.stop, "%s: got %s, %s and %s, want %s, %s and %s", name, command, start, stop, c.command, c.start, c.stop)
	}
}
