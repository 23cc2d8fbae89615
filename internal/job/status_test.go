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

// A result is found under each form of key in the document or in a client, and under no other.
func TestKeys(t *testing.T) {
	t.Parallel()
	const (
		linux   = "/data/nginx/bin"
		windows = `C:\gse\plugins`
	)
	for name, test := range map[string]struct {
		setupPath, valueKey, host string
		key                       string
		others                    []string
	}{
		"documented": {linux, "", "0:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", []string{
			"/data/nginx/bin/nginx:0:10.0.0.10", "/data/nginx/bin/nginx:1:10.0.0.1", "/data/nginx/bin/nginx2:0:10.0.0.1",
			"/data/nginx/bin/nginx", "nginx:0:10.0.0.1", "0:10.0.0.1", "", ":0:10.0.0.1",
		}},
		"slash-dropped":         {linux + "/", "", "0:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", nil},
		"slash-kept":            {linux + "/", "", "0:10.0.0.1", "/data/nginx/bin//nginx:0:10.0.0.1", nil},
		"slash-not-put-in":      {linux, "", "0:10.0.0.1", "/data/nginx/binnginx:0:10.0.0.1", nil},
		"path-last":             {linux, "", "0:10.0.0.1", "0:10.0.0.1:/data/nginx/bin/nginx", nil},
		"root":                  {"/", "", "0:10.0.0.1", "/nginx:0:10.0.0.1", nil},
		"value-key":             {linux, "key_test", "0:10.0.0.1", "key_test:0:10.0.0.1", []string{"other:0:10.0.0.1"}},
		"value-key-last":        {linux, "key_test", "0:10.0.0.1", "0:10.0.0.1:key_test", nil},
		"value-key-unused":      {linux, "key_test", "0:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", nil},
		"value-key-with-colons": {linux, "a:b", "3:10.0.0.1", "a:b:3:10.0.0.1", []string{"a:b:0:10.0.0.1"}},
		"windows":               {windows, "", "0:10.0.0.1", `C:\gse\plugins/nginx:0:10.0.0.1`, nil},
		"windows-backslash":     {windows + `\`, "", "0:10.0.0.1", `C:\gse\plugins\nginx:0:10.0.0.1`, nil},
		"windows-both":          {windows + `\`, "", "0:10.0.0.1", `C:\gse\plugins/nginx:0:10.0.0.1`, nil},
		"ipv6":                  {linux, "", "0:2001:DB8::0:1", "/data/nginx/bin/nginx:0:2001:db8::1", nil},
		"ipv6-last":             {linux, "", "0:2001:db8::1", "0:2001:db8::1:/data/nginx/bin/nginx", nil},
		"supplier":              {linux, "", "0:7:10.0.0.1", "/data/nginx/bin/nginx:0:10.0.0.1", []string{"/data/nginx/bin/nginx:0:7:10.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := Info{ProcName: "nginx", SetupPath: test.setupPath, PIDPath: "/run/nginx.pid"}
			if test.valueKey != "" {
				info.ValueKey = new(test.valueKey)
			}
			keys := slices.Collect(keysOf(info)(procapitest.Parse(t, test.host)[0]))
			if !slices.Contains(keys, test.key) {
				t.Errorf("%q is not among %q", test.key, keys)
			}
			for _, other := range test.others {
				if slices.Contains(keys, other) {
					t.Errorf("%q is among %q", other, keys)
				}
			}

			p, _ := scripted(t, "", accepted, result(said("0:10.9.9.9", code(117), test.key, code(0))))
			results := p.client.Process(scope, "", info).Operate(t.Context(), fleet.Start, procapitest.Parse(t, test.host), nil)
			if failures := results.Failures(); len(results) != 1 || len(failures) > 0 {
				t.Errorf("got %v", results)
			}
		})
	}
}

// An empty value_key is ignored: it must not make a key of the address alone.
func TestKeys_emptyValueKey(t *testing.T) {
	t.Parallel()
	keys := slices.Collect(keysOf(Info{ProcName: "nginx", SetupPath: "/data", ValueKey: new("")})(host(1)))
	for _, not := range []string{":0:10.0.0.1", "0:10.0.0.1:"} {
		if slices.Contains(keys, not) {
			t.Errorf("%q is among %q", not, keys)
		}
	}
}
