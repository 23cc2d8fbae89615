package job

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/poll"
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

// For any answer of JOB, results that can be read are kept, and no other host gets one.
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
			procapitest.Check(t, strings.Contains(string(raw), `"`), "%s has no key %q", raw, key)
			_, final := procapi.CallOf(fleet.Start, false).Outcome(result)
			procapitest.Check(t, final != (result.Code == procapi.CodeInProgress), "%s: final %t with code %d", raw, final, result.Code)
		}
	})
}

// A result is looked for under each form of key that the document or a client has, and under no other. An empty
// value_key must not produce a key of the address alone.
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

var scriptAccepted = exchange{API: apiRunScript, Reply: procapitest.Data(`{"job_instance_name":"x","job_instance_id":20000000001,"step_instance_id":20000000002}`)}

// ends is an answer about a job with hosts 1, 2, … in these states.
func ends(finished bool, states ...int) exchange {
	rows := make([]string, len(states))
	for i, state := range states {
		rows[i] = fmt.Sprintf(`{"ip":"10.0.0.%d","bk_cloud_id":0,"status":%d,"tag":"","exit_code":0,"error_code":0}`, i+1, state)
	}
	return exchange{API: apiScriptStatus, Reply: procapitest.Data(fmt.Sprintf(
		`{"finished":%t,"job_instance":{"status":3},"step_instance_list":[{"step_instance_id":20000000002,"step_ip_result_list":[%s]}]}`, finished, strings.Join(rows, ",")))}
}

// logs is an answer with what hosts 1, 2, … printed.
func logs(printed ...string) exchange {
	rows := make([]string, len(printed))
	for i, text := range printed {
		rows[i] = fmt.Sprintf(`{"ip":"10.0.0.%d","bk_cloud_id":0,"bk_host_id":1,"log_content":%s}`, i+1, strconv.Quote(text))
	}
	return exchange{API: apiScriptLog, Reply: procapitest.Data(`{"log_type":1,"script_task_logs":[` + strings.Join(rows, ",") + `]}`)}
}

const printedWeb = "[2018-03-15 14:39:30][PID:56875] job_start\nbk-hosted begin\n" + `{"proc":[{"valuekey":"ns:web"}]}` + "\nbk-hosted end\n"

func TestHostedFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps []exchange
		why   string // "" if host 1 has ns:web
	}{
		"at once":        {[]exchange{scriptAccepted, ends(true, 9), logs(printedWeb)}, ""},
		"after a while":  {[]exchange{scriptAccepted, ends(false), ends(false, 5), ends(false, 7), ends(true, 9), logs(printedWeb)}, ""},
		"log comes late": {[]exchange{scriptAccepted, ends(true, 9), logs(""), ends(true, 9), logs(), ends(true, 9), logs(printedWeb)}, ""},
		"answers lost": {[]exchange{
			{API: apiRunScript, Reply: procapitest.Gone}, scriptAccepted, {API: apiScriptStatus, Reply: procapitest.Gone}, ends(true, 9), {API: apiScriptLog, Reply: procapitest.Gone}, logs(printedWeb),
		}, ""},
		"log in parts":   {[]exchange{scriptAccepted, ends(true, 9), logs(printedWeb[:60]), ends(true, 9), logs(printedWeb[:90]), ends(true, 9), logs(printedWeb)}, ""},
		"log of others":  {[]exchange{scriptAccepted, ends(true, 9), logs("job_start\n"), ends(true, 9), logs("job_start\n")}, "printed nothing that it should"},
		"agent abnormal": {[]exchange{scriptAccepted, ends(true, 1)}, "the agent is abnormal or not found (code 117, request id req-1)"},
		"failed":         {[]exchange{scriptAccepted, ends(true, 11)}, "JOB did not run the script to its end (status 11, exit code 0, code 0, request id req-1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := retrying(t, 1, "", c.steps...)
			got := HostedFiles{Client: p.client, Scope: scope}.ReadHosted(t.Context(), hosts(1), false)[host(1)]
			want := []hostedspec.Entry{{Namespace: "ns", Name: "web"}}
			if c.why != "" {
				want = nil
			}
			procapitest.Check(t, cmp.Equal(want, got.Entries) && (c.why == "") == (got.Why == "") && strings.Contains(got.Reason(), c.why),
				"got %+v, want %q", got, c.why)
		})
	}
}

// The output of hosts that have finished is read while others still run, once per host. JOB does not know agent
// ids.
func TestHostedFiles_requests(t *testing.T) {
	t.Parallel()
	agent := procapitest.Parse(t, "020000000052540000000117000000000001")[0]
	p, script := scripted(t, "", scriptAccepted, ends(false, 9, 7), logs(printedWeb), ends(true, 9, 9), logs(printedWeb, printedWeb))
	got := HostedFiles{Client: p.client, Scope: scope}.ReadHosted(t.Context(), append(hosts(2), agent), true)
	procapitest.Check(t, got[host(1)].Why == "" && got[host(2)].Why == "" && got[agent].Why == meaningNoAgent, "got %+v", got)
	requests := script.Requests()
	procapitest.WantEqual(t, "requests: the script, and twice what became of it and its output", 5, len(requests))
	encoded := base64.StdEncoding.EncodeToString([]byte(hostedspec.PowerShellScript))
	for _, part := range []string{encoded, base64.StdEncoding.EncodeToString([]byte(hostedspec.DefaultWindowsPath)), `"script_language":5`, `"account_alias":"Administrator"`} {
		procapitest.Check(t, strings.Contains(string(requests[0]), part), "the script is run by %s, without %s", requests[0], part)
	}
	for i, ip := range map[int]string{2: "10.0.0.1", 4: "10.0.0.2"} {
		if body := string(requests[i]); !strings.Contains(body, `"ip":"`+ip+`"`) || strings.Count(body, `"ip":`) != 1 {
			t.Errorf("the output is asked for by %s, want that of %s alone", body, ip)
		}
	}
}

func TestHostedFiles_contract(t *testing.T) {
	t.Parallel()
	cases := []string{"job/" + apiRunScript, "job/" + apiScriptStatus, "job/" + apiScriptLog}
	p, script := scripted(t, "", procapitest.OfContract(cases[0]), procapitest.OfContract(cases[1]), procapitest.OfContract(cases[2]))
	got := HostedFiles{Client: p.client, Scope: scope}.ReadHosted(t.Context(), hosts(1), false)[host(1)]
	want := []hostedspec.Entry{{Namespace: "GSEKIT_BIZ_3", Name: "nginx_1", StartCmd: "./start.sh"}}
	procapitest.Check(t, got.Why == "" && cmp.Equal(want, got.Entries), "got %+v", got)
	for i, of := range cases {
		procapitest.WantRequest(t, of, script.Requests()[i])
	}
}

// Neither the log, at any level, nor an error contains what the script printed.
func TestHostedFiles_logsNothingOfAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"read":        logs("canary\n" + printedWeb).Reply,
		"no envelope": procapitest.Answer(http.StatusOK, `"canary`),
		"an error":    procapitest.Answer(http.StatusBadGateway, "canary"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			_, url := newScript(t, scriptAccepted, ends(true, 9), exchange{API: apiScriptLog, Reply: answer}, exchange{API: apiScriptLog, Reply: refusal(1, ""), Times: procapitest.ForEver})
			reader := HostedFiles{Scope: scope, Client: newTestClient(t, url, func(cfg *bkapi.Config, o *Options) {
				cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: bkapi.LevelTrace}))
				o.Logger, cfg.MaxRetries = cfg.Logger, 1
			})}
			got := reader.ReadHosted(t.Context(), hosts(1), false)[host(1)]
			procapitest.Check(t, !strings.Contains(log.String()+got.Why, "canary") && strings.Contains(log.String(), "task_id=20000000001"),
				"logged %s\nsaid %s", &log, got.Why)
		})
	}
}

type exchange = procapitest.Exchange

var (
	host  = procapitest.Host
	hosts = procapitest.Hosts
	said  = procapitest.Said
	code  = procapitest.Code
)

var (
	bizScope = Scope{BizID: new(int64(1))}
	scope    = Scope{Type: "biz", ID: "1"}
	setScope = Scope{Type: "biz_set", ID: "7"}
)

func sampleInfo() Info {
	return Info{
		ProcName: "nginx", ProcOwner: new("root"), SetupPath: "/data/home/nginx/bin/", PIDPath: "/data/var/run/nginx/",
		CfgPath: new("/data/etc/nginx.conf"), LogPath: new("/data/logs/nginx/"),
		StartCmd: new("echo start"), StopCmd: new("echo stop"), RestartCmd: new("echo restart"),
		ReloadCmd: new("echo reload"), KillCmd: new("echo kill"),
		FuncID: new(""), InstanceID: new(""), ValueKey: new("key_test"),
		Type: new(int64(TypeOneShot)), CPULmt: new(int64(20)), MemLmt: new(int64(30)), CycleTime: new(int64(10)),
		InstanceNum: new(int64(2)), StartCheckBeginTime: new(int64(5)), StartCheckEndTime: new(int64(5)), OpTimeout: new(int64(5)),
	}
}

func operateInfo() Info {
	return Info{
		ProcName: "gseagent", SetupPath: "/usr/local/xxx", PIDPath: "/usr/local/xxx",
		Account: new("root"), Contact: new("root"), CPULmt: new(int64(50)), MemLmt: new(int64(30)),
	}
}

func newScript(t *testing.T, steps ...exchange) (*procapitest.Script, string) {
	t.Helper()
	return procapitest.NewScript(t, "/api/c/compapi/v2/jobv3/%s/", steps...)
}

// scripted is the process of operateInfo, of a JOB that is scripted.
func scripted(t *testing.T, by Registration, steps ...exchange) (*Process, *procapitest.Script) {
	t.Helper()
	return retrying(t, 0, by, steps...)
}

// retrying is that process of a client that tries a request again so many times.
func retrying(t *testing.T, times int, by Registration, steps ...exchange) (*Process, *procapitest.Script) {
	t.Helper()
	script, url := newScript(t, steps...)
	client := newTestClient(t, url, func(cfg *bkapi.Config, _ *Options) { cfg.MaxRetries = times })
	return client.Process(scope, by, operateInfo()), script
}

// scene is a call for hosts 1 and 2 of the process of operateInfo, of a JOB that is scripted, and what is made of the answers.
type scene struct {
	by      Registration
	edit    func(*Info)
	retries int
	call    procapitest.Call
	steps   []exchange
	want    any     // see procapitest.WantOf
	asked   []asked // nil, or the requests
}

func play(t *testing.T, scenes map[string]scene) {
	t.Helper()
	for name, s := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, script := retrying(t, s.retries, s.by, s.steps...)
			if s.edit != nil {
				s.edit(&p.info)
			}
			procapitest.WantOf(t, s.want, s.call(t.Context(), p, hosts(2)))
			if s.asked != nil {
				wantAsked(t, script, s.asked...)
			}
		})
	}
}

func on[V any](first, second V) map[string]V {
	return map[string]V{host(1).Address(): first, host(2).Address(): second}
}

// codes is one answer about task T, with these codes for hosts 1 and 2.
func codes(first, second int) exchange {
	return result(said(key(1), code(first), key(2), code(second)))
}

func newTestClient(t *testing.T, endpoint string, edit func(*bkapi.Config, *Options)) *Client {
	t.Helper()
	cfg := bkapi.Config{
		Endpoint: endpoint, Gateway: bkapi.ESB,
		AppCode: "esb_test", AppSecret: "xxx", Token: "xxx",
		RetryWaitMin: time.Millisecond, RetryWaitMax: time.Millisecond,
	}
	opts := Options{Backoff: poll.Backoff{First: time.Millisecond}}
	if edit != nil {
		edit(&cfg, &opts)
	}
	api, err := bkapi.New(cfg)
	procapitest.NoError(t, err)
	t.Cleanup(api.Close)
	return NewClient(api, opts)
}

func refusal(code int, message string) http.HandlerFunc {
	return procapitest.Refusal(code, message, "null")
}

var (
	// accepted and registered are accepted operations with task T.
	accepted   = exchange{API: apiOperate, Reply: procapitest.Data(`{"bk_gse_taskid":"T"}`)}
	registered = exchange{API: apiManage, Reply: procapitest.Data(`{"bk_gse_taskid":"T"}`)}
)

var (
	queued     = exchange{API: apiResult, Reply: procapitest.Data(`{"status":115,"result":{}}`)}
	oldQueued  = exchange{API: apiResult, Reply: refusal(1000115, "redis reply is not string")}
	gseTrouble = exchange{API: apiResult, Reply: refusal(codeGSEError, "GSE error")}
)

// result is one answer about task T, with the status of the document's sample.
func result(body string) exchange {
	return exchange{API: apiResult, Reply: procapitest.Data(`{"status":115,"result":` + body + `}`)}
}

// foundOn is the query after a manage_proc, with the answers of these hosts' agents.
func foundOn(instance string, numbers ...int) []exchange {
	pairs := make([]string, 0, 2*len(numbers))
	for _, n := range numbers {
		pairs = append(pairs, key(n), answered(instance))
	}
	return []exchange{accepted, result(said(pairs...))}
}

// key is the result key of host n and the process of operateInfo, from the document rather than from the code under test.
func key(n int) string { return fmt.Sprintf("/usr/local/xxx/gseagent:0:10.0.0.%d", n) }

// answered is the result of a query about one instance.
func answered(instance string) string {
	return `{"error_code":0,"error_msg":"success","content":` + contentOf(instance) + `}`
}

// Instances in an agent's answer.
const (
	hostedInstance   = `{"pid":-1,"isAuto":true}`
	unhostedInstance = `{"pid":-1,"isAuto":false}`
)

func contentOf(instance string) string {
	return `{"ip":"10.0.0.1","timezone":8,"process":[{"procname":"gseagent","instance":[` + instance + `]}]}`
}

func outcome(verdict fleet.Verdict, n int) fleet.Outcome {
	message := fmt.Sprintf("message %d", n)
	return fleet.Outcome{
		Verdict: verdict, Code: int64(n), Message: message, Meaning: procapi.Meaning(int64(n), message),
		TaskID: "T", RequestID: "req-1", Away: n == procapi.CodeAgentAbnormal && verdict == fleet.Failed,
	}
}

// ran is an outcome that the agent itself reported.
func ran(o fleet.Outcome) fleet.Outcome {
	o.Ran = true
	return o
}

func already(o fleet.Outcome) fleet.Outcome {
	o.AlreadyDone = true
	return o
}

type asked struct {
	OpType int
	Hosts  []int
}

func wantAsked(t *testing.T, s *procapitest.Script, want ...asked) {
	t.Helper()
	var got []asked
	for _, raw := range s.Requests() {
		var body struct {
			OpType *int `json:"op_type"`
			Infos  []struct {
				IPList []struct {
					IP string `json:"ip"`
				} `json:"ip_list"`
			} `json:"process_infos"`
		}
		procapitest.NoError(t, json.Unmarshal(raw, &body))
		if body.OpType == nil {
			continue // a poll
		}
		request := asked{OpType: *body.OpType}
		for _, address := range body.Infos[0].IPList {
			request.Hosts = append(request.Hosts, procapitest.NumberOf(procapitest.Parse(t, "0:"+address.IP)[0]))
		}
		got = append(got, request)
	}
	procapitest.WantEqual(t, "asked", want, got)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
