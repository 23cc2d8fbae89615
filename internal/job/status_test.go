package job

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

// Source: the sample of get_proc_result, which does not mention hosting.
const documentedInstance = `{"cpuUsageAve":0,"stat":"","phyMemUsage":0,"cmdline":"","freeVMem":"0","pid":-1,"threadCount":0,
	"cpuUsage":0,"elapsedTime":0,"processName":"gseagent","diskSize":-1,"stime":"0","startTime":"","usePhyMem":0,"utime":"0"}`

// An agent's answer, the status read from it, and its registration.
func TestStatus(t *testing.T) {
	t.Parallel()
	unreadable := fleet.Status{State: fleet.Unknown, Message: "the agent's answer is not JSON", Unread: true}
	for name, test := range map[string]struct {
		answer string
		live   fleet.Status
		cached fleet.State
	}{
		"hosted-running":     {answered(`{"pid":42,"isAuto":true}`), fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42}, fleet.Running},
		"hosted-stopped":     {answered(`{"pid":-1,"isAuto":true}`), fleet.Status{State: fleet.Stopped, Hosted: true, HostedKnown: true, PID: -1}, fleet.Stopped},
		"not-hosted-running": {answered(`{"pid":42,"isAuto":false}`), fleet.Status{State: fleet.Running, HostedKnown: true, PID: 42}, fleet.Unregistered},
		"not-hosted-stopped": {answered(`{"pid":-1,"isAuto":false}`), fleet.Status{State: fleet.Stopped, HostedKnown: true, PID: -1}, fleet.Unregistered},
		"unsaid-running":     {answered(`{"pid":42}`), fleet.Status{State: fleet.Running, PID: 42}, fleet.Running},
		"unsaid-stopped":     {answered(documentedInstance), fleet.Status{State: fleet.Stopped, PID: -1}, fleet.Stopped},
		"register-time":      {answered(`{"pid":-1,"isAuto":false,"register_time":1600000000}`), fleet.Status{State: fleet.Stopped, HostedKnown: true, PID: -1}, fleet.Unregistered},
		"several-names": {
			`{"error_code":0,"content":{"process":[{"procname":"gseagent","instance":[{"pid":42,"isAuto":true}]},{"procname":"redis","instance":[{"pid":99}]}]}}`,
			fleet.Status{State: fleet.Running, Hosted: true, HostedKnown: true, PID: 42}, fleet.Running,
		},
		"content-empty": {`{"error_code":0,"content":""}`, unreadable, fleet.Unknown},
		"broken-agent":  {`{"errcode":117,"errmsg":"no agent"}`, fleet.Status{State: fleet.Unknown, Code: 117, Message: "the agent is abnormal or not found: no agent", Away: true}, fleet.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := scripted(t, "", accepted, result(said(key(1), test.answer)), accepted, queued, result(said(key(1), test.answer)))
			live, err := p.LiveStatus(t.Context(), hosts(1))
			if diff := cmp.Diff(test.live, live[host(1)]); diff != "" || err != nil {
				t.Errorf("live (-want +got):\n%s%v", diff, err)
			}
			cached, err := p.CachedStatus(t.Context(), hosts(1))
			want := test.live
			want.State = test.cached
			if diff := cmp.Diff(want, cached[host(1)]); diff != "" || err != nil {
				t.Errorf("cached (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// For any answer of JOB, readable results are kept and no other host gets one.
func FuzzResultAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"status":115,"result":{"a":{"error_code":0,"content":{"process":[]}}}}`, `{"status":"115","result":null}`, `{"result":[]}`,
		`{"status":{},"result":{"a":null,"b":[],"c":{"errcode":"0"}}}`, `null`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var answer resultAnswer
		if err := json.Unmarshal(raw, &answer); err != nil {
			t.Skip()
		}
		if answer.queued() && len(answer.Result) > 0 {
			t.Errorf("queued with results: %s", raw)
		}
		for key, result := range answer.Result {
			if !strings.Contains(string(raw), `"`) {
				t.Errorf("%s has no key %q", raw, key)
			}
			if _, final := procapi.CallOf(fleet.Start, false).Outcome(result); final == (result.Code == procapi.CodeInProgress) {
				t.Errorf("%s: final %t with code %d", raw, final, result.Code)
			}
		}
	})
}

// A result is looked for under each form of key in the document or in a client, and under no other. An empty
// value_key must not make a key of the address alone.
func TestKeys(t *testing.T) {
	t.Parallel()
	const linux, windows = "/data/nginx/bin", `C:\gse\plugins`
	for name, test := range map[string]struct {
		setupPath   string
		valueKey    *string
		host, place string
		names       []string // each before the place, and then each after it
	}{
		"documented":        {linux, nil, "0:10.0.0.1", "0:10.0.0.1", []string{linux + "/nginx", linux + "/nginx", linux + "nginx"}},
		"slash":             {linux + "/", nil, "0:10.0.0.1", "0:10.0.0.1", []string{linux + "/nginx", linux + "//nginx", linux + "/nginx"}},
		"root":              {"/", nil, "0:10.0.0.1", "0:10.0.0.1", []string{"/nginx", "//nginx", "/nginx"}},
		"value-key":         {linux, new("a:b"), "3:10.0.0.1", "3:10.0.0.1", []string{"a:b", linux + "/nginx", linux + "/nginx", linux + "nginx"}},
		"value-key-empty":   {linux, new(""), "0:10.0.0.1", "0:10.0.0.1", []string{linux + "/nginx", linux + "/nginx", linux + "nginx"}},
		"windows":           {windows, nil, "0:10.0.0.1", "0:10.0.0.1", []string{windows + "/nginx", windows + "/nginx", windows + "nginx"}},
		"windows-backslash": {windows + `\`, nil, "0:10.0.0.1", "0:10.0.0.1", []string{windows + "/nginx", windows + `\/nginx`, windows + `\nginx`}},
		"ipv6":              {linux, nil, "0:2001:DB8::0:1", "0:2001:db8::1", []string{linux + "/nginx", linux + "/nginx", linux + "nginx"}},
		"supplier":          {linux, nil, "0:7:10.0.0.1", "0:10.0.0.1", []string{linux + "/nginx", linux + "/nginx", linux + "nginx"}},
	} {
		var before, after []string
		for _, process := range test.names {
			before, after = append(before, process+":"+test.place), append(after, test.place+":"+process)
		}
		info := Info{ProcName: "nginx", SetupPath: test.setupPath, ValueKey: test.valueKey}
		procapitest.WantEqual(t, name, append(before, after...), slices.Collect(keysOf(info)(procapitest.Parse(t, test.host)[0])))
	}
}
