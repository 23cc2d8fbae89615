package gse

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
	"github.com/blueking/terraform-provider-bk/internal/hostedspec"
	"github.com/blueking/terraform-provider-bk/internal/poll"
	"github.com/blueking/terraform-provider-bk/internal/procapi"
	"github.com/blueking/terraform-provider-bk/internal/procapi/procapitest"
)

const (
	runScript    = "async_execute_script"
	scriptResult = "get_execute_script_result"
)

var scriptAccepted = exchange{API: runScript, Reply: procapitest.Data(`{"result":{"task_id":"T"}}`)}

func screens(rows ...string) exchange {
	return exchange{API: scriptResult, Reply: procapitest.Data(`{"result":[` + strings.Join(rows, ",") + `]}`)}
}

// ended is the row of a host whose script printed this.
func ended(n int, screen string) string {
	return fmt.Sprintf(`{"bk_agent_id":"0:10.0.0.%d","atomic_task_id":0,"status":2,"error_code":0,"error_msg":"success","script_exit_code":0,"tag":"","screen":%s}`, n, strconv.Quote(screen))
}

// but returns a row with some members replaced.
func but(row string, members ...string) string {
	for _, member := range members {
		name, _, _ := strings.Cut(member, ":")
		before, after, _ := strings.Cut(row, name+":")
		_, after, _ = strings.Cut(after, ",")
		row = before + member + "," + after
	}
	return row
}

// file is the script's output for a file with a process of this name.
func file(name string) string {
	return "bk-hosted begin\n" + `{"proc":[{"valuekey":"ns:` + name + `"}]}` + "\nbk-hosted end\n"
}

func hostedFiles(t *testing.T, edit func(*bkapi.Config, *procapi.Options), steps ...exchange) (HostedFiles, *procapitest.Script) {
	t.Helper()
	script, url := procapitest.NewScript(t, "/api/v2/task/extensions/%s", steps...)
	return HostedFiles{Client: newTestClient(t, url, func(cfg *bkapi.Config, o *procapi.Options) {
		cfg.Gateway = bkapi.APIGW
		if edit != nil {
			edit(cfg, o)
		}
	})}, script
}

func TestHostedFiles(t *testing.T) {
	t.Parallel()
	web := file("web")
	for name, c := range map[string]struct {
		steps []exchange
		why   string // "" if host 1 has ns:web
	}{
		"at once":                    {[]exchange{scriptAccepted, screens(ended(1, web))}, ""},
		"a while at status 1":        {[]exchange{scriptAccepted, procapitest.Times(3, screens(but(ended(1, web[:20]), `"status":1`))), screens(ended(1, web))}, ""},
		"no exit code yet":           {[]exchange{scriptAccepted, screens(but(ended(1, ""), `"status":1`, `"script_exit_code":-1`)), screens(ended(1, web))}, ""},
		"a while received":           {[]exchange{scriptAccepted, screens(but(ended(1, ""), `"status":0`)), screens(ended(1, web))}, ""},
		"whole, whatever the status": {[]exchange{scriptAccepted, screens(but(ended(1, web), `"status":0`))}, ""},
		"a while at 115":             {[]exchange{scriptAccepted, screens(but(ended(1, ""), `"error_code":115`)), screens(ended(1, web))}, ""},
		"not in the first answer":    {[]exchange{scriptAccepted, screens(), screens(ended(9, web)), screens(ended(1, web))}, ""},
		"rows of other steps":        {[]exchange{scriptAccepted, screens(ended(1, web), but(ended(1, ""), `"atomic_task_id":1`, `"status":5`, `"script_exit_code":1`))}, ""},
		"in pages":                   {[]exchange{scriptAccepted, screens(ended(1, web[:20])), screens(ended(1, web[20:30])), screens(ended(1, web[30:]))}, ""},
		"answer lost":                {[]exchange{{API: runScript, Reply: procapitest.Gone}, scriptAccepted, {API: scriptResult, Reply: procapitest.Gone}, screens(ended(1, web))}, ""},
		"a page unread":              {[]exchange{scriptAccepted, screens(ended(1, web[:20])), {API: scriptResult, Reply: refusal(1011003)}}, "the answer could not be obtained: get_extensions_execute_script_result: refused"},
		"cut off":                    {[]exchange{scriptAccepted, screens(ended(1, web[:30])), screens(ended(1, ""))}, "what the script printed was cut off"},
		"offset ignored":             {[]exchange{scriptAccepted, screens(ended(1, web[:30])), screens(ended(1, web[:30]))}, "what the script printed was cut off"},
		"null screen":                {[]exchange{scriptAccepted, screens(strings.Replace(ended(1, ""), `""}`, `null}`, 1))}, "the script printed nothing that it should"},
		"unknown code":               {[]exchange{scriptAccepted, screens(but(ended(1, ""), `"error_code":1020`, `"error_msg":"s3cret"`))}, "the platform could not run the script: *** (code 1020, request id req-1)"},
		"exit code":                  {[]exchange{scriptAccepted, screens(but(ended(1, "canary"), `"status":5`, `"script_exit_code":126`))}, "the script ended with exit code 126 (request id req-1)"},
		"timeout":                    {[]exchange{scriptAccepted, screens(but(ended(1, "canary"), `"status":3`))}, "the script took longer than 60 seconds (status 3, request id req-1)"},
		"agent restarted":            {[]exchange{scriptAccepted, screens(but(ended(1, ""), `"status":6`))}, "the agent was restarted while the script ran (status 6, request id req-1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader, _ := hostedFiles(t, func(cfg *bkapi.Config, _ *procapi.Options) { cfg.MaxRetries = 1 }, c.steps...)
			got := reader.ReadHosted(t.Context(), hosts(1), false)[host(1)]
			want := []hostedspec.Entry{{Namespace: "ns", Name: "web"}}
			if c.why != "" {
				want = nil
			}
			if !cmp.Equal(want, got.Entries) || (c.why == "") != (got.Why == "") || !strings.Contains(got.Reason(), c.why) || strings.Contains(got.Reason(), "canary") {
				t.Errorf("got %+v, want %q", got, c.why)
			}
		})
	}
	t.Run("polled no faster", func(t *testing.T) {
		t.Parallel()
		ctx, end := procapitest.Ending(t, context.DeadlineExceeded)
		reader, _ := hostedFiles(t, func(cfg *bkapi.Config, o *procapi.Options) {
			o.Backoff = poll.Backoff{First: time.Hour}
			cfg.Logger = procapitest.OnCall(apiScriptResult, func(int) { time.AfterFunc(20*time.Millisecond, end) })
		}, scriptAccepted, screens(but(ended(1, ""), `"status":1`), but(ended(2, ""), `"error_code":115`), ended(3, web)))
		got := reader.ReadHosted(ctx, hosts(3), false)
		procapitest.Check(t, got[host(1)].Reason() == "the agent had not answered (task T)" && got[host(3)].Why == "", "got %+v", got)
	})
}

// Hosts that have been read are not asked again, and a page is as large as the remaining hosts allow.
// A row under an address that two agents have belongs to neither.
func TestHostedFiles_sharedAddress(t *testing.T) {
	t.Parallel()
	for want, agents := range map[int][]string{1: {agentA}, 0: {agentA, agentB}} {
		files, _ := hostedFiles(t, nil, screens(ended(1, file("web"))))
		run := &scriptRun{client: files.Client, hosts: procapitest.Parse(t, agents...), screens: make(map[fleet.Host]string)}
		for _, h := range run.hosts {
			files.Client.learn(h.WithoutSupplier(), host(1).WithoutSupplier(), false)
		}
		readings, err := run.look(t.Context(), "T", run.hosts)
		if procapitest.NoError(t, err); len(readings) != want {
			t.Errorf("of %d agents: got %v", len(agents), readings)
		}
	}
}

func TestHostedFiles_requests(t *testing.T) {
	t.Parallel()
	agent := procapitest.Parse(t, "020000000052540000000117000000000001")[0]
	both := []fleet.Host{host(1), agent}
	reader, script := hostedFiles(t, nil, scriptAccepted,
		screens(ended(1, file("a")), strings.Replace(ended(1, file("b")[:20]), "0:10.0.0.1", agent.Address(), 1)),
		screens(strings.Replace(ended(1, file("b")[20:]), "0:10.0.0.1", agent.Address(), 1)))
	reader.Source = hostedspec.Source{WindowsPath: `d:\gse\agent\etc\.proc`, WindowsAccount: "system"}
	got := reader.ReadHosted(t.Context(), both, true)
	procapitest.Check(t, got[host(1)].Entries[0].Name == "a" && got[agent].Entries[0].Name == "b", "got %+v", got)
	var sent []map[string]any
	for _, raw := range script.Requests() {
		var body map[string]any
		procapitest.NoError(t, json.Unmarshal(raw, &body))
		sent = append(sent, body)
	}
	want := []map[string]any{
		{
			"agents": []any{
				map[string]any{"bk_agent_id": "0:10.0.0.1", "bk_container_id": "", "user": "system", "pwd": ""},
				map[string]any{"bk_agent_id": agent.Address(), "bk_container_id": "", "user": "system", "pwd": ""},
			},
			"scripts": []any{map[string]any{"script_name": "read_hosted.ps1", "script_store_dir": `C:\Windows\Temp\bk_terraform`, "script_content": hostedspec.PowerShellScript}},
			"atomic_tasks": []any{map[string]any{
				"atomic_task_id": 0.0, "timeout_seconds": 60.0,
				"command": `powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File C:\Windows\Temp\bk_terraform\read_hosted.ps1 d:\gse\agent\etc\.proc`,
			}},
			"atomic_tasks_relations": []any{map[string]any{"atomic_task_id": 0.0, "atomic_task_id_idx": []any{}}},
		},
		{"task_id": "T", "agent_tasks": []any{asked("0:10.0.0.1", 0), asked(agent.Address(), 0)}},
		{"task_id": "T", "agent_tasks": []any{asked(agent.Address(), 20)}},
	}
	procapitest.WantEqual(t, "result", want, sent)
}

func asked(agent string, offset float64) map[string]any {
	return map[string]any{"bk_agent_id": agent, "bk_container_id": "", "atomic_tasks": []any{map[string]any{"atomic_task_id": 0.0, "offset": offset, "limit": float64(4 << 20)}}}
}

func TestHostedFiles_contract(t *testing.T) {
	t.Parallel()
	cases := []string{"apigw/" + runScript, "apigw/" + scriptResult}
	reader, script := hostedFiles(t, nil, procapitest.OfContract(cases[0]), procapitest.OfContract(cases[1]))
	agents := procapitest.Parse(t, agentA, agentB)
	got := reader.ReadHosted(t.Context(), agents, false)
	want := hostedspec.Entry{
		Namespace: "GSEKIT_BIZ_3", Name: "nginx_1", ProcName: "nginx", SetupPath: "/usr/sbin", PIDPath: "/run/nginx-1.pid", User: "root",
		StartCmd: "nginx -c /etc/nginx/nginx-1.conf", StopCmd: "nginx -c /etc/nginx/nginx-1.conf -s stop",
		RestartCmd: "nginx -c /etc/nginx/nginx-1.conf -s reload", ReloadCmd: "nginx -c /etc/nginx/nginx-1.conf -s reload", KillCmd: "kill -9 $(cat /run/nginx-1.pid)",
		AutoType: 1, HasAutoType: true, StartCheckSecs: 10, OpTimeout: 10, WrittenAt: 1782360282,
	}
	procapitest.WantEqual(t, "result", map[fleet.Host]hostedspec.Reading{agents[0]: {Entries: []hostedspec.Entry{want}}, agents[1]: {}}, got)
	for i, of := range cases {
		procapitest.WantRequest(t, of, script.Requests()[i])
	}
}

// Neither the log, at any level, nor an error contains what the script printed.
func TestHostedFiles_logsNothingOfAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"pages":       screens(ended(1, "canary")).Reply,
		"no envelope": procapitest.Answer(http.StatusOK, `"canary`),
		"no data":     procapitest.Data(`["canary"]`),
		"an error":    procapitest.Answer(http.StatusBadGateway, "canary"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			reader, _ := hostedFiles(t, func(cfg *bkapi.Config, o *procapi.Options) {
				cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: bkapi.LevelTrace}))
				o.Logger, cfg.MaxRetries = cfg.Logger, 1
			}, scriptAccepted, procapitest.Times(2, exchange{API: scriptResult, Reply: answer}), exchange{API: scriptResult, Reply: refusal(1), Times: procapitest.ForEver})
			got := reader.ReadHosted(t.Context(), hosts(1), false)[host(1)]
			procapitest.Check(t, !strings.Contains(log.String()+got.Why, "canary") && strings.Contains(log.String(), "task_id=T"),
				"logged %s\nsaid %s", &log, got.Why)
		})
	}
}
