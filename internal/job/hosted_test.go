package job

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

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
			if !cmp.Equal(want, got.Entries) || (c.why == "") != (got.Why == "") || !strings.Contains(got.Reason(), c.why) {
				t.Errorf("got %+v, want %q", got, c.why)
			}
		})
	}
}

// The output of hosts that are done is read while others still run, once per host. JOB does not know
// agent ids.
func TestHostedFiles_requests(t *testing.T) {
	t.Parallel()
	agent := procapitest.Parse(t, "020000000052540000000117000000000001")[0]
	p, script := scripted(t, "", scriptAccepted, ends(false, 9, 7), logs(printedWeb), ends(true, 9, 9), logs(printedWeb, printedWeb))
	got := HostedFiles{Client: p.client, Scope: scope}.ReadHosted(t.Context(), append(hosts(2), agent), true)
	if got[host(1)].Why != "" || got[host(2)].Why != "" || got[agent].Why != meaningNoAgent {
		t.Errorf("got %+v", got)
	}
	credentials := map[string]any{"bk_app_code": "esb_test", "bk_app_secret": "xxx", "bk_token": "xxx", "bk_scope_type": "biz", "bk_scope_id": "1"}
	with := func(more map[string]any) map[string]any {
		for k, v := range credentials {
			more[k] = v
		}
		return more
	}
	ip := func(ip string) map[string]any { return map[string]any{"bk_cloud_id": 0.0, "ip": ip} }
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	status := with(map[string]any{"job_instance_id": 20000000001.0, "return_ip_result": true})
	want := []map[string]any{
		with(map[string]any{
			"task_name": "terraform: read_hosted.ps1", "script_content": encoded(hostedspec.PowerShellScript), "script_param": encoded(hostedspec.DefaultWindowsPath),
			"script_language": 5.0, "timeout": 60.0, "account_alias": "Administrator", "target_server": map[string]any{"ip_list": []any{ip("10.0.0.1"), ip("10.0.0.2")}},
		}),
		status,
		with(map[string]any{"job_instance_id": 20000000001.0, "step_instance_id": 20000000002.0, "ip_list": []any{ip("10.0.0.1")}}),
		status,
		with(map[string]any{"job_instance_id": 20000000001.0, "step_instance_id": 20000000002.0, "ip_list": []any{ip("10.0.0.2")}}),
	}
	var sent []map[string]any
	for _, raw := range script.Requests() {
		var body map[string]any
		procapitest.NoError(t, json.Unmarshal(raw, &body))
		sent = append(sent, body)
	}
	procapitest.WantEqual(t, "result", want, sent)
}

func TestHostedFiles_contract(t *testing.T) {
	t.Parallel()
	cases := []string{"job/" + apiRunScript, "job/" + apiScriptStatus, "job/" + apiScriptLog}
	p, script := scripted(t, "", procapitest.OfContract(cases[0]), procapitest.OfContract(cases[1]), procapitest.OfContract(cases[2]))
	got := HostedFiles{Client: p.client, Scope: scope}.ReadHosted(t.Context(), hosts(1), false)[host(1)]
	if want := []hostedspec.Entry{{Namespace: "GSEKIT_BIZ_3", Name: "nginx_1", StartCmd: "./start.sh"}}; got.Why != "" || !cmp.Equal(want, got.Entries) {
		t.Errorf("got %+v", got)
	}
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
			if strings.Contains(log.String()+got.Why, "canary") || !strings.Contains(log.String(), "task_id=20000000001") {
				t.Errorf("logged %s\nsaid %s", &log, got.Why)
			}
		})
	}
}
